//! Forgetting: a way of reading, by the time since a place was last seen. Nothing in the map changes by it.

use super::moments::Seen;
use super::state::State;
use crate::classes::ClassSet;
use crate::error::{Error, Result};
use crate::maths::exp;

/// How what is known fades while nobody looks.
///
/// After a half-life without being seen, existence is half as far from ½ (as likely there as not) as it was, and the
/// place is unknown. Places without a belief fade as the class with the shortest half-life does: it may have come there.
#[derive(Debug, Clone, PartialEq)]
pub struct Forgetting {
    as_of: f64,
    /// Of every class, seconds; infinite: never.
    half_life: Vec<f64>,
}

impl Forgetting {
    /// As of a time, seconds, with the half-life of every class, seconds (infinite: never forgotten).
    pub fn new(as_of: f64, half_life: Vec<f64>) -> Result<Self> {
        if !as_of.is_finite() {
            return Err(Error::Argument {
                name: "as_of",
                found: as_of.to_string(),
                allowed: "a time in seconds".into(),
            });
        }
        if let Some(wrong) = half_life.iter().find(|v| v.is_nan() || **v <= 0.0) {
            let allowed = "seconds above 0 for every class, or infinity".into();
            return Err(Error::Argument { name: "half_life", found: wrong.to_string(), allowed });
        }
        Ok(Self { as_of, half_life })
    }

    /// One half-life for the classes that can move, and one for all others.
    pub fn of_classes(as_of: f64, classes: &ClassSet, movable: f64, others: f64) -> Result<Self> {
        let of = |class| if classes.is_movable(class) { movable } else { others };
        Self::new(as_of, (0..classes.len()).map(of).collect())
    }

    /// How much is left of what was known of a class: 1 of what was just seen, ½ after a half-life. Where no time is
    /// known, nothing fades.
    pub fn left(&self, class: Option<usize>, seen: Option<Seen>) -> f64 {
        let shortest = || self.half_life.iter().copied().fold(f64::INFINITY, f64::min);
        let half_life = class.and_then(|class| self.half_life.get(class).copied()).unwrap_or_else(shortest);
        let age = seen.map_or(0.0, |seen| (self.as_of - f64::from(seen.last)).max(0.0));
        if half_life.is_finite() { exp(-std::f64::consts::LN_2 * age / half_life) } else { 1.0 }
    }

    /// Existence after fading.
    pub fn existence(&self, existence: f64, class: Option<usize>, seen: Option<Seen>) -> f64 {
        0.5 + (existence - 0.5) * self.left(class, seen)
    }

    /// The state after fading.
    pub fn state(&self, state: State, class: Option<usize>, seen: Option<Seen>) -> State {
        if self.left(class, seen) > 0.5 { state } else { State::Unknown }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_seen_for_a_half_life_is_unknown() {
        let classes = ClassSet::from_names(["road", "car"]).unwrap();
        let reading = |as_of| Forgetting::of_classes(as_of, &classes, 60.0, f64::INFINITY).unwrap();
        let seen = Some(Seen { first: 0, last: 100 });
        assert_eq!(reading(100.0).existence(0.9, Some(1), seen), 0.9);
        assert!((reading(160.0).existence(0.9, Some(1), seen) - 0.7).abs() < 1e-9);
        assert!((reading(160.0).existence(0.1, None, seen) - 0.3).abs() < 1e-9);
        assert_eq!(reading(1e9).existence(0.9, Some(0), seen), 0.9);
        assert_eq!(reading(159.0).state(State::Occupied, Some(1), seen), State::Occupied);
        assert_eq!(reading(161.0).state(State::Occupied, Some(1), seen), State::Unknown);
        assert_eq!(reading(161.0).state(State::Free, None, seen), State::Unknown);
        assert_eq!(reading(161.0).state(State::Occupied, Some(0), seen), State::Occupied);
        // A time before the last look is as the last look; no time at all never fades.
        assert_eq!(reading(3.0).left(Some(1), seen), 1.0);
        assert_eq!(reading(3e9).left(Some(1), None), 1.0);
        assert!(Forgetting::new(f64::NAN, vec![1.0]).is_err() && Forgetting::new(0.0, vec![0.0]).is_err());
    }
}
