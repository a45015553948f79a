//! What stands in a cell, seen from the robot: between what it climbs and its height something blocks, above it does not.

use crate::robot::Robot;

/// What stands in a cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Standing {
    /// Probability of an obstacle.
    pub(crate) probability: f32,
    low: f32,
    high: f32,
    overhang: f32,
}

impl Standing {
    pub(crate) const NOTHING: Self =
        Self { probability: 0.0, low: f32::INFINITY, high: f32::NEG_INFINITY, overhang: f32::INFINITY };

    /// Adds a surface from one height above the ground to another that is an obstacle with some probability. Without a known
    /// ground (heights that are no numbers) any obstacle counts.
    pub(crate) fn add(&mut self, low: f64, high: f64, lethal: f32, robot: &Robot) {
        if low.is_nan() {
            self.probability = self.probability.max(if lethal >= 0.5 { lethal } else { 0.0 });
            return;
        }
        if low >= robot.height {
            self.overhang = self.overhang.min(low as f32);
            return;
        }
        if high <= robot.step() {
            return;
        }
        // Grass gives way; a trunk that was taken for grass does not stop at its height.
        let blocks = if high > robot.compliant_height.max(robot.step()) { 1.0 } else { lethal };
        self.probability = self.probability.max(blocks);
        if blocks >= 0.5 {
            self.low = self.low.min(low.max(0.0) as f32);
            self.high = self.high.max(high.min(robot.height) as f32);
        }
    }

    /// Lowest and highest point of what blocks, above the ground; not numbers if nothing does.
    pub(crate) fn range(&self) -> (f32, f32) {
        if self.low <= self.high { (self.low, self.high) } else { (f32::NAN, f32::NAN) }
    }

    /// Lowest point of what hangs above the robot; not a number if nothing does.
    pub(crate) fn overhang(&self) -> f32 {
        if self.overhang.is_finite() { self.overhang } else { f32::NAN }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_in_the_way_blocks() {
        let robot = Robot::default();
        let blocked = |low, high, lethal| {
            let mut standing = Standing::NOTHING;
            standing.add(low, high, lethal, &robot);
            standing.probability
        };
        assert_eq!(blocked(-0.05, 0.1, 0.9), 0.0, "a step that is climbed");
        assert_eq!(blocked(0.0, 0.3, 0.9), 0.9, "a stone");
        assert_eq!(blocked(0.0, 0.3, 0.1), 0.1, "grass");
        assert_eq!(blocked(0.5, 0.8, 0.1), 1.0, "too high for grass");
        assert_eq!(blocked(1.6, 3.0, 1.0), 0.0, "a branch above");
        assert_eq!(blocked(f64::NAN, f64::NAN, 0.8), 0.8);
        let mut both = Standing::NOTHING;
        both.add(0.3, 0.7, 0.9, &robot);
        both.add(1.7, 2.0, 0.9, &robot);
        assert_eq!((both.range(), both.overhang()), ((0.3, 0.7), 1.7));
        assert!(Standing::NOTHING.range().0.is_nan() && Standing::NOTHING.overhang().is_nan());
    }
}
