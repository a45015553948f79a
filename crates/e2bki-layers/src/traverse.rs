//! Traversability: what a cell costs, how sure that is, and what the worst outcomes cost.
//!
//! A cell is an obstacle if something stands in it, its ground is too steep or has too high a step, or its class is one that
//! cannot be driven on; these are taken as independent. Otherwise it costs what its class and its geometry cost:
//! 1 − (1 − class)(1 − geometry). The outcomes are the classes by their probabilities, and the obstacle; the expected cost,
//! its standard deviation and the mean of the worst outcomes follow exactly.

use crate::costs::ClassCosts;
use crate::robot::Robot;

/// Uncertainty of a step, metres, and least uncertainty of a slope, degrees.
const STEP_STD_M: f64 = 0.03;
const SLOPE_STD_DEG: f64 = 1.0;
/// The most that passable geometry costs.
const MOST_GEOMETRY: f64 = 0.9;

/// Ground and obstacles of a cell, as far as they matter here. What is not known is not a number.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Geometry {
    /// Degrees.
    pub(crate) slope: f64,
    pub(crate) slope_std: f64,
    pub(crate) step: f64,
    pub(crate) roughness: f64,
    /// Probability that something stands in the cell.
    pub(crate) obstacle: f64,
}

/// The costs of a cell, 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Traversability {
    /// Probability that it cannot be driven on.
    pub(crate) lethal: f64,
    /// Expected cost.
    pub(crate) cost: f64,
    pub(crate) cost_std: f64,
    /// Mean cost of the worst share of outcomes.
    pub(crate) risk_cost: f64,
}

/// The distribution function of a normal variable, by its logistic approximation (within 0.01).
fn beyond(value: f64, limit: f64, std: f64) -> f64 {
    if value.is_finite() {
        1.0 / (1.0 + e2bki::maths::exp((-1.702 * (value - limit) / std).clamp(-50.0, 50.0)))
    } else {
        0.0
    }
}

/// The traversability of a cell with these probabilities of its classes, which sum to 1.
pub(crate) fn traversability(
    geometry: &Geometry,
    probability: &[f32],
    costs: &ClassCosts,
    robot: &Robot,
) -> Traversability {
    let too_steep = beyond(geometry.slope, robot.max_slope, geometry.slope_std.max(SLOPE_STD_DEG));
    let too_high = beyond(geometry.step, robot.step(), STEP_STD_M);
    let blocked = 1.0 - (1.0 - geometry.obstacle.clamp(0.0, 1.0)) * (1.0 - too_steep.max(too_high));
    let share = |value: f64, most: f64| if value.is_finite() { (value / most).clamp(0.0, 1.0) } else { 0.0 };
    let slope = share(geometry.slope, robot.max_slope);
    let hard =
        (slope * slope).max(share(geometry.step, robot.step())).max(share(geometry.roughness, robot.max_roughness));
    let hard = MOST_GEOMETRY * hard * hard;
    let (mut lethal, mut mean, mut square) = (blocked, blocked, blocked);
    let worst = 1.0 - robot.risk_aversion;
    let mut left = worst - blocked.min(worst);
    let mut tail = blocked.min(worst);
    for class in costs.order() {
        let p = f64::from(probability.get(*class).copied().unwrap_or(0.0)) * (1.0 - blocked);
        let value = 1.0 - (1.0 - f64::from(costs.cost(*class))) * (1.0 - hard);
        if costs.is_lethal(*class) {
            lethal += p;
        }
        mean += p * value;
        square += p * value * value;
        let taken = p.min(left);
        tail += taken * value;
        left -= taken;
    }
    let unit = |v: f64| v.clamp(0.0, 1.0);
    Traversability {
        lethal: unit(lethal),
        cost: unit(mean),
        cost_std: (square - mean * mean).max(0.0).sqrt(),
        risk_cost: unit(tail / worst).max(unit(mean)),
    }
}

/// Probabilities of the classes of which the most likely one is right with probability 1 − u: the others share u as they
/// share the rest of the expectation.
pub(crate) fn tempered(row: &mut [f32], label: usize, uncertainty: f64) {
    let sure = (1.0 - uncertainty).clamp(0.0, 1.0) as f32;
    let rest: f32 = row.iter().enumerate().filter(|(class, _)| *class != label).map(|(_, p)| *p).sum();
    let even = if row.len() > 1 { (1.0 - sure) / (row.len() - 1) as f32 } else { 0.0 };
    for (class, p) in row.iter_mut().enumerate() {
        *p = match class == label {
            true => sure,
            false if rest > 0.0 => *p * (1.0 - sure) / rest,
            false => even,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::costs::UnknownClasses;
    use e2bki::ClassSet;
    use proptest::prelude::*;

    fn costs() -> ClassCosts {
        let classes = ClassSet::from_names(["tree", "grass", "road"]).unwrap();
        let classes = classes.with_costs([("tree", 100), ("grass", 40), ("road", 0)]).unwrap();
        ClassCosts::of(&classes, &Robot::default(), UnknownClasses::Refuse).unwrap()
    }

    const FLAT: Geometry = Geometry { slope: 0.0, slope_std: 0.5, step: 0.0, roughness: 0.0, obstacle: 0.0 };

    #[test]
    fn the_expected_cost_is_that_of_the_classes_on_flat_ground() {
        let found = traversability(&FLAT, &[0.1, 0.4, 0.5], &costs(), &Robot::default());
        assert!((found.cost - (0.1 + 0.4 * 0.4)).abs() < 0.01 && (found.lethal - 0.1).abs() < 0.01, "{found:?}");
        let averse = Robot { risk_aversion: 0.8, ..Robot::default() };
        // The worst fifth: the tree's tenth and a tenth of grass.
        let found = traversability(&FLAT, &[0.1, 0.4, 0.5], &costs(), &averse);
        assert!((found.risk_cost - 0.7).abs() < 0.01, "{found:?}");
    }

    #[test]
    fn steep_or_blocked_is_lethal_and_what_is_not_known_is_not() {
        let road = [0.0, 0.0, 1.0];
        let lethal = |geometry: Geometry| traversability(&geometry, &road, &costs(), &Robot::default()).lethal;
        assert!(lethal(FLAT) < 0.01);
        assert!(lethal(Geometry { slope: 35.0, ..FLAT }) > 0.99);
        assert!((lethal(Geometry { slope: 25.0, ..FLAT }) - 0.5).abs() < 0.01);
        assert!(lethal(Geometry { step: 0.4, ..FLAT }) > 0.99);
        assert!(lethal(Geometry { obstacle: 1.0, ..FLAT }) > 0.999);
        assert!(lethal(Geometry { slope: f64::NAN, step: f64::NAN, roughness: f64::NAN, ..FLAT }) < 0.01);
    }

    proptest! {
        /// Against the distribution of outcomes written down, sorted and cut.
        #[test]
        fn the_worst_outcomes_are_those_of_the_sorted_list(
            raw in prop::array::uniform3(0.01..1.0_f32), obstacle in 0.0..1.0_f64, aversion in 0.0..0.99_f64, slope in 0.0..20.0_f64,
        ) {
            let sum: f32 = raw.iter().sum();
            let p = raw.map(|v| v / sum);
            let robot = Robot { risk_aversion: aversion, ..Robot::default() };
            let geometry = Geometry { slope, obstacle, ..FLAT };
            let found = traversability(&geometry, &p, &costs(), &robot);
            let blocked = {
                let alone = traversability(&geometry, &[0.0, 0.0, 1.0], &costs(), &robot);
                alone.lethal
            };
            let hard = 0.9 * (slope / 25.0).powi(4);
            let mut outcomes = vec![(1.0, blocked)];
            for (class, cost) in [1.0, 0.4, 0.0].into_iter().enumerate() {
                outcomes.push((1.0 - (1.0 - cost) * (1.0 - hard), f64::from(p[class]) * (1.0 - blocked)));
            }
            let mean: f64 = outcomes.iter().map(|(v, p)| v * p).sum();
            let variance: f64 = outcomes.iter().map(|(v, p)| (v - mean).powi(2) * p).sum();
            outcomes.sort_by(|a, b| b.0.total_cmp(&a.0));
            let (mut left, mut tail) = (1.0 - aversion, 0.0);
            for (value, p) in outcomes {
                tail += value * p.min(left);
                left -= p.min(left);
            }
            prop_assert!((found.cost - mean).abs() < 1e-5 && (found.cost_std - variance.sqrt()).abs() < 1e-3);
            prop_assert!((found.risk_cost - tail / (1.0 - aversion)).abs() < 1e-4);
            prop_assert!(found.risk_cost >= found.cost - 1e-9);
        }

        #[test]
        fn tempered_probabilities_sum_to_one(raw in prop::array::uniform4(0.0..1.0_f32), u in 0.0..1.0_f64) {
            let sum: f32 = raw.iter().sum();
            prop_assume!(sum > 0.01);
            let mut row = raw.map(|v| v / sum);
            let label = e2bki::maths::argmax(&row);
            tempered(&mut row, label, u);
            prop_assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-5);
            prop_assert!((f64::from(row[label]) - (1.0 - u)).abs() < 1e-5);
        }
    }
}
