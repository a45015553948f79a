//! What primitives hold, added up and taken out again without a map around them: for tiles of many drives, and for coarser
//! cubes made of finer ones.

use crate::cluster::cell_of;
use crate::error::{Error, Result};
use crate::maths::argmax;
use crate::primitive::MOST_QUANTA;
use crate::state::PrimitiveState;

impl PrimitiveState {
    /// What tells a primitive from all others of a map that is a sum: the cube of this side (metres) that holds its mean,
    /// by multiples of the side, and its class. Neither adding another of the same nor taking one out changes them.
    pub fn cube(&self, side: f64) -> ([i32; 3], usize) {
        (cell_of(self.sums.mean(), side), argmax(&self.log_evidence))
    }

    /// Adds what another one of the same cube and class holds. Fails, and leaves a state that means nothing, if the sum
    /// could not be exact.
    pub fn add(&mut self, other: &Self) -> Result<()> {
        let mean = other.sums.mean();
        let beyond = || {
            Error::Merge(format!(
                "around {mean:.2?} they would hold more points or evidence than can be summed exactly"
            ))
        };
        self.sums = self.sums.checked_add(&other.sums).ok_or_else(beyond)?;
        for (mine, theirs) in self.log_evidence.iter_mut().zip(&other.log_evidence) {
            *mine = mine.checked_add(*theirs).filter(|sum| *sum <= MOST_QUANTA).ok_or_else(beyond)?;
        }
        Ok(())
    }

    /// Takes out what another one holds that was added before; returns whether anything is left. Fails, and leaves a state
    /// that means nothing, if it surely was not added.
    pub fn take_out(&mut self, other: &Self) -> Result<bool> {
        let never = || Error::Merge(format!("around {:.2?} it was never added", other.sums.mean()));
        self.sums.add_times(&other.sums, -1).ok_or_else(never)?;
        for (mine, theirs) in self.log_evidence.iter_mut().zip(&other.log_evidence) {
            *mine = mine.checked_sub(*theirs).filter(|left| *left >= 0).ok_or_else(never)?;
        }
        if self.sums.is_zero() && self.log_evidence.iter().all(|quanta| *quanta == 0) {
            return Ok(false);
        }
        if self.sums.weight < 1.0 || self.sums.range < 0.0 {
            return Err(never());
        }
        self.sums.settle();
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::primitive::{Sums, block_of};
    use proptest::prelude::*;

    fn state(points: &[[f64; 3]], evidence: i64) -> PrimitiveState {
        let mut sums = Sums::about(block_of(points[0]));
        points.iter().for_each(|p| sums.add_point(*p, 3.0 + p[0].abs()));
        sums.settle();
        let count = points.len() as i64;
        PrimitiveState { id: 0, muted: false, sums, log_evidence: vec![evidence * count, 2 * evidence * count + 1] }
    }

    fn points() -> impl Strategy<Value = Vec<[f64; 3]>> {
        prop::collection::vec(prop::array::uniform3(0.0..8.0_f64), 1..30)
    }

    proptest! {
        /// Points anywhere in a cube of 8 m, so that the cubic metre of the mean changes.
        #[test]
        fn what_was_added_is_taken_out_to_the_last_bit(
            (a, b, c) in (points(), points(), points()),
            evidence in prop::array::uniform3(0..(1_i64 << 50)),
        ) {
            let [a, b, c] = [(a, evidence[0]), (b, evidence[1]), (c, evidence[2])].map(|(p, e)| state(&p, e));
            let sum = |parts: &[&PrimitiveState]| {
                let mut sum = parts[0].clone();
                parts[1..].iter().for_each(|part| sum.add(part).unwrap());
                sum
            };
            let mut all = sum(&[&a, &b, &c]);
            prop_assert_eq!(&all, &sum(&[&c, &b, &a]));
            prop_assert_eq!(all.cube(8.0), a.cube(8.0));
            prop_assert!(all.take_out(&b).unwrap());
            prop_assert_eq!(&all, &sum(&[&a, &c]));
            prop_assert!(all.take_out(&a).unwrap());
            prop_assert_eq!(&all, &c);
            prop_assert!(!all.take_out(&c).unwrap());
        }
    }

    #[test]
    fn what_was_never_added_and_what_is_too_much_is_refused() {
        let (one, more) = (state(&[[0.5; 3]], 1), state(&[[0.4; 3], [0.6; 3]], 1));
        assert!(one.clone().take_out(&more).is_err());
        let mut other = one.clone();
        other.log_evidence[0] += 1;
        assert!(more.clone().take_out(&PrimitiveState { log_evidence: vec![100, 0], ..one.clone() }).is_err());
        assert!(one.clone().take_out(&other).is_err());
        let full = PrimitiveState { log_evidence: vec![0, MOST_QUANTA], ..one.clone() };
        assert!(full.clone().add(&one).unwrap_err().to_string().contains("summed exactly"));
        let mut many = one.clone();
        many.sums.weight = (1_u64 << 31) as f64;
        assert!(many.add(&one).is_err());
    }
}
