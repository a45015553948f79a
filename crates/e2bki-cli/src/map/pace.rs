//! `--rate`: frames no faster than a robot would bring them, to watch a drive as it happened or to leave the machine to others.

use std::time::{Duration, Instant};

use crate::interrupt::Interruptible;

/// Longest sleep at a time: somebody may ask for the end meanwhile.
const NAP: Duration = Duration::from_millis(50);

/// Frames per second: 0.01 to 1000.
pub(crate) fn parse_rate(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(rate) if (0.01..=1000.0).contains(&rate) => Ok(rate),
        _ => Err(format!("`{text}` is no number of frames per second; allowed: 0.01 to 1000")),
    }
}

/// When the next frame is due, if it matters.
pub(crate) struct Pace {
    period: Option<Duration>,
    due: Instant,
}

impl Pace {
    pub(crate) fn new(rate: Option<f64>, now: Instant) -> Self {
        let period = rate.map(|rate| Duration::from_secs_f64(1.0 / rate));
        Self { period, due: now }
    }

    /// Time to wait before the next frame. What was late is not made up for in a burst.
    fn ahead(&mut self, now: Instant) -> Duration {
        let Some(period) = self.period else { return Duration::ZERO };
        let wait = self.due.saturating_duration_since(now);
        self.due = self.due.max(now) + period;
        wait
    }

    /// Waits until the next frame is due. Returns whether the run is to stop before it.
    pub(crate) fn stops(&mut self, run: &Interruptible) -> bool {
        let now = Instant::now();
        let until = now + self.ahead(now);
        while !run.asked_to_stop() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            std::thread::sleep(left.min(NAP));
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_at_their_rate_and_lateness_is_not_made_up_for() {
        let start = Instant::now();
        let after = |seconds: f64| start + Duration::from_secs_f64(seconds);
        let mut pace = Pace::new(Some(4.0), start);
        assert_eq!(pace.ahead(start), Duration::ZERO);
        assert_eq!(pace.ahead(after(0.125)), Duration::from_millis(125));
        assert_eq!(pace.ahead(after(0.5)), Duration::ZERO);
        // Two periods late: from here on as if it had been due now.
        assert_eq!(pace.ahead(after(1.25)), Duration::ZERO);
        assert_eq!(pace.ahead(after(1.25)), Duration::from_millis(250));
        let mut hurried = Pace::new(None, start);
        assert_eq!([0.0, 0.0, 7.0].map(|seconds| hurried.ahead(after(seconds))), [Duration::ZERO; 3]);
    }

    #[test]
    fn rates_are_positive_numbers() {
        assert_eq!(parse_rate("10"), Ok(10.0));
        assert_eq!(parse_rate(" 0.5 "), Ok(0.5));
        for bad in ["", "0", "-1", "nan", "inf", "1e-9", "1e9", "fast"] {
            assert!(parse_rate(bad).is_err(), "{bad}");
        }
    }
}
