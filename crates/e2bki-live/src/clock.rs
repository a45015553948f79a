//! The time that a node lives in: the system's, or that of a simulation.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// The clock of a node.
#[derive(Debug)]
pub struct Clock {
    begun: Instant,
    /// Latest time that a simulation told, nanoseconds; 0 before the first.
    simulated: Option<AtomicU64>,
}

impl Clock {
    /// The system's clock, or one that follows `/clock`.
    pub fn new(simulated: bool) -> Self {
        Self { begun: Instant::now(), simulated: simulated.then(AtomicU64::default) }
    }

    /// The simulation told the time; does nothing to the system's clock.
    pub fn tell(&self, time: u64) {
        if let Some(simulated) = &self.simulated {
            simulated.store(time, Ordering::Relaxed);
        }
    }

    /// Nanoseconds since 1970, or since whatever the simulation counts from.
    pub fn now(&self) -> u64 {
        match &self.simulated {
            Some(simulated) => simulated.load(Ordering::Relaxed),
            None => SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos() as u64),
        }
    }

    /// For how long things take, nanoseconds: setting the system's clock does not disturb it.
    pub fn ticks(&self) -> u64 {
        match &self.simulated {
            Some(_) => self.now(),
            None => self.begun.elapsed().as_nanos() as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Clock;

    #[test]
    fn a_simulation_tells_the_time() {
        let clock = Clock::new(true);
        assert_eq!((clock.now(), clock.ticks()), (0, 0));
        clock.tell(42);
        assert_eq!((clock.now(), clock.ticks()), (42, 42));
        let clock = Clock::new(false);
        clock.tell(42);
        assert!(clock.now() > 1_600_000_000_000_000_000 && clock.ticks() < 60_000_000_000);
    }
}
