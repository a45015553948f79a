//! How counts are read: free, occupied or unknown, and how likely what was hit is still there. Nothing is erased: the
//! weight κ of a hit acts when reading.

use super::counters::Tally;

/// Weight of a hit against a pass for classes that can move: seen through half as often as hit, and it is gone.
pub const KAPPA_MOVABLE: f64 = 0.5;
/// Weight of a hit for all other classes: a wall does not leave, but a pose may be wrong.
pub const KAPPA_STATIC: f64 = 4.0;

/// What is known of a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(u8)]
pub enum State {
    /// Nothing came back from it and no beam passed it.
    #[default]
    Unknown = 0,
    /// Beams passed it, at least κ times as often as it was hit.
    Free = 1,
    /// It was hit, and passed less often than that.
    Occupied = 2,
}

impl State {
    /// `unknown`, `free` or `occupied`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Free => "free",
            Self::Occupied => "occupied",
        }
    }
}

impl Tally {
    /// The state for classes whose hits weigh κ.
    pub fn state(self, kappa: f64) -> State {
        let (hits, passes) = (f64::from(self.hits), f64::from(self.passes));
        if passes >= 1.0 && passes >= kappa * hits {
            State::Free
        } else if hits >= 1.0 {
            State::Occupied
        } else {
            State::Unknown
        }
    }

    /// Whether something was there and is there no more: hit, and free.
    pub fn has_left(self, kappa: f64) -> bool {
        self.hits > 0 && self.state(kappa) == State::Free
    }

    /// Existence κH / (κH + P): from 0, all passed, to 1, all hit; nothing without a count.
    pub fn existence(self, kappa: f64) -> Option<f64> {
        let (hits, passes) = (kappa * f64::from(self.hits), f64::from(self.passes));
        (hits + passes > 0.0).then(|| hits / (hits + passes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_states_are_those_of_the_rule() {
        let tally = |hits, passes| Tally { hits, passes };
        assert_eq!(tally(0, 0).state(4.0), State::Unknown);
        assert_eq!(tally(0, 1).state(4.0), State::Free);
        assert_eq!(tally(1, 0).state(4.0), State::Occupied);
        assert_eq!(tally(1, 3).state(4.0), State::Occupied);
        assert_eq!(tally(1, 4).state(4.0), State::Free);
        assert_eq!(tally(2, 1).state(0.5), State::Free);
        assert_eq!(tally(3, 1).state(0.5), State::Occupied);
        assert_eq!(tally(u32::MAX, u32::MAX).state(4.0), State::Occupied);
        assert_eq!(tally(0, 0).existence(4.0), None);
        assert_eq!(tally(0, 7).existence(4.0), Some(0.0));
        assert_eq!(tally(7, 0).existence(4.0), Some(1.0));
        assert_eq!(tally(1, 4).existence(4.0), Some(0.5));
        assert!(tally(2, 1).has_left(0.5) && !tally(0, 1).has_left(0.5) && !tally(3, 1).has_left(0.5));
        // Free is e at most a half, with a pass.
        for hits in 0..20 {
            for passes in 0..40 {
                for kappa in [0.5, 1.0, 4.0] {
                    let tally = tally(hits, passes);
                    let free = passes > 0 && tally.existence(kappa).is_some_and(|e| e <= 0.5);
                    assert_eq!(tally.state(kappa) == State::Free, free, "{tally:?} {kappa}");
                }
            }
        }
    }
}
