//! What the reach of a single class changes, and where it is best. One drive knows little of one class, so what it says is
//! shrunk toward no change by how much it differs between parts of the ground: as James and Stein do, and not yes or no.

use crate::halves::{Found, jackknife};

/// The factor by which reach is made longer and shorter to see what it changes.
pub(crate) const PROBE: f32 = 1.25;

/// The largest factor, and one over the smallest.
const FARTHEST: f64 = 1.5;

/// Most times as high as at first that the price of volume gets.
const DEAREST: f64 = 1e3;

/// Slope and curvature over the logarithm of the factor.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Curve {
    slope: f64,
    bend: f64,
}

impl Curve {
    /// Through values at a shorter, the same and a longer reach.
    fn through([down, own, up]: [f64; 3]) -> Self {
        let step = f64::from(PROBE).ln();
        Self { slope: (up - down) / (2.0 * step), bend: (up + down - 2.0 * own) / (step * step) }
    }

    fn at(self, log: f64) -> f64 {
        self.slope * log + 0.5 * self.bend * log * log
    }
}

/// What the factor of one class changes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Response {
    pub(crate) class: usize,
    worth: Curve,
    /// Standard error of the slope of worth.
    error: f64,
    /// In percent.
    volume: Curve,
}

impl Response {
    /// From what was found with a shorter, the same and a longer reach of a class, and the volumes.
    pub(crate) fn new(class: usize, found: [&Found; 3], volumes: [f64; 3]) -> Self {
        let worth = |without| Curve::through(found.map(|found| found.worth(without).total()));
        let (_, error) = jackknife(|without| worth(without).slope);
        Self { class, worth: worth(None), error, volume: Curve::through(volumes) }
    }

    /// The logarithm of the best factor at a price for volume.
    pub(crate) fn best(&self, price: f64) -> f64 {
        let slope = self.worth.slope - price * self.volume.slope;
        let bend = self.worth.bend - price * self.volume.bend;
        if slope.abs() <= self.error || slope == 0.0 {
            return 0.0;
        }
        let known = slope * (1.0 - (self.error / slope).powi(2));
        // Never farther than the limit, also where a curve bends upwards.
        known / (-bend).max(known.abs() / FARTHEST.ln())
    }
}

/// The least price, from one on, at which all together need no more volume than there is room for, in percent.
pub(crate) fn price_within(responses: &[Response], least: f64, room: f64) -> f64 {
    let needed = |price: f64| -> f64 { responses.iter().map(|of| of.volume.at(of.best(price))).sum() };
    let mut price = least;
    while needed(price) > room.max(0.0) && price < DEAREST * least {
        price *= 1.1;
    }
    price
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(slope: f64, bend: f64, error: f64, volume: f64) -> Response {
        let volume = Curve { slope: volume, bend: 0.0 };
        Response { class: 0, worth: Curve { slope, bend }, error, volume }
    }

    #[test]
    fn what_is_not_known_changes_nothing_and_what_is_little_known_changes_less() {
        let at = |error: f64| response(2.0, -10.0, error, 0.0).best(0.0);
        assert!((at(0.0) - 0.2).abs() < 1e-12, "the top of the parabola");
        assert!((at(1.0) - 0.75 * 0.2).abs() < 1e-12);
        assert_eq!((at(2.0), at(5.0), response(0.0, -10.0, 0.0, 0.0).best(0.0)), (0.0, 0.0, 0.0));
        // Curves that bend upwards, or hardly, end at the limit, on the better side.
        let limit = FARTHEST.ln();
        assert!((response(2.0, 5.0, 0.0, 0.0).best(0.0) - limit).abs() < 1e-12);
        assert!((response(-2.0, -0.1, 0.0, 0.0).best(0.0) + limit).abs() < 1e-12);
    }

    #[test]
    fn a_parabola_is_found_again_from_three_points() {
        let step = f64::from(PROBE).ln();
        let value = |log: f64| 7.0 + 3.0 * log - 4.0 * log * log;
        let curve = Curve::through([value(-step), value(0.0), value(step)]);
        assert!((curve.slope - 3.0).abs() < 1e-9 && (curve.bend + 8.0).abs() < 1e-9, "{curve:?}");
        assert!((curve.at(0.3) - (value(0.3) - 7.0)).abs() < 1e-9);
    }

    #[test]
    fn the_price_rises_until_the_volume_fits() {
        // Both would grow; the second gains less for its volume.
        let all = [response(4.0, -10.0, 0.0, 20.0), response(1.0, -10.0, 0.0, 20.0)];
        let volume = |price: f64| all.iter().map(|of| 20.0 * of.best(price)).sum::<f64>();
        let (ample, tight) = (price_within(&all, 0.01, 100.0), price_within(&all, 0.01, 3.0));
        assert_eq!(ample, 0.01);
        assert!(volume(ample) > 3.0 && volume(tight) <= 3.0 && tight > 0.01, "{tight}");
        assert!(all[0].best(tight) > 0.0 && all[1].best(tight) < 0.0, "one pays for the other");
    }
}
