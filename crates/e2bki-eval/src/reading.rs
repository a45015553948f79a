//! How sure a map may be of its answers: its odds to the power of `agreement`, the inverse of a temperature, fitted to
//! answers whose truth is known. It changes how beliefs are read and nothing of what the map holds, and no answer becomes
//! another.

use e2bki::Belief;

/// Steps between the values that are tried, down and up from the configuration's own.
const STEP: f64 = 1.08;
const LADDER: std::ops::RangeInclusive<i32> = -36..=26;

/// Values that a configuration can have.
const RANGE: std::ops::RangeInclusive<f64> = 0.1..=10.0;

/// Answers that are looked at: more would not change one number.
const MOST: usize = 50_000;

/// The `agreement` with the least negative log-likelihood of answers that are right or wrong; the own one where none is
/// better, as where the map's doubt does not know it.
pub(crate) fn fit(answers: &[(Belief, bool)], own: f64) -> f64 {
    let step = answers.len().div_ceil(MOST).max(1);
    let loss = |agreement: f64| -> f64 {
        let one = |(belief, right): &(Belief, bool)| {
            let wrong = belief.read_with(agreement).uncertainty().clamp(1e-6, 1.0 - 1e-6);
            -if *right { 1.0 - wrong } else { wrong }.ln()
        };
        answers.iter().step_by(step).map(one).sum()
    };
    let (mut least, mut best) = (loss(own), own);
    for value in LADDER.map(|exponent| own * STEP.powi(exponent)).filter(|value| RANGE.contains(value)) {
        let found = loss(value);
        if found < least {
            // Two digits after the point: more would say more than is known.
            (least, best) = (found, (100.0 * value).round() / 100.0);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibration::Calibration;
    use e2bki::config::Doubt;
    use e2bki::{ClassSet, Config, Frame, Mapper, Pose, Semantics};

    /// Beliefs along a wall of which a source says with more or less certainty that it is `a`.
    fn beliefs(config: &Config) -> Vec<Belief> {
        let points: Vec<[f32; 3]> =
            (0..4000).map(|i| [2.0 + 0.1 * (i % 100) as f32, 5.0, 0.1 * (i / 100) as f32]).collect();
        let said = |p: &[f32; 3]| [0.35 + 0.06 * (p[0] - 2.0), 0.65 - 0.06 * (p[0] - 2.0)];
        let probabilities: Vec<f32> = points.iter().flat_map(said).collect();
        let semantics = Semantics::Probabilities(&probabilities);
        let frame = Frame { points: &points, semantics, world_from_sensor: Pose::IDENTITY, scan: None };
        let mut map = Mapper::new(ClassSet::from_names(["a", "b"]).unwrap(), config.clone()).unwrap();
        map.insert(&frame).unwrap();
        let places: Vec<[f64; 3]> = points.iter().map(|p| p.map(f64::from)).collect();
        map.query(&places).iter().filter(Belief::observed).collect()
    }

    /// Answers that are right as often as beliefs that are read with another `agreement` say.
    fn answers(beliefs: &[Belief], agreement: f64) -> Vec<(Belief, bool)> {
        let mut owed = 0.0;
        let one = |belief: &Belief| {
            owed += 1.0 - belief.read_with(agreement).uncertainty();
            let right = owed >= 1.0;
            owed -= f64::from(u8::from(right));
            (*belief, right)
        };
        beliefs.iter().map(one).collect()
    }

    #[test]
    fn what_answers_were_drawn_with_is_found_again() {
        let beliefs = beliefs(&Config::default());
        for true_value in [0.7, 1.5, 2.6] {
            let answers = answers(&beliefs, true_value);
            let found = fit(&answers, 1.5);
            assert!((found / true_value - 1.0).abs() < 0.12, "{true_value}: {found}");
            let ece = |agreement: f64| {
                let mut calibration = Calibration::default();
                let sure = |belief: &Belief| 1.0 - belief.read_with(agreement).uncertainty();
                answers.iter().for_each(|(belief, right)| calibration.add(*right, sure(belief)));
                calibration.ece().unwrap()
            };
            assert!(ece(found) <= ece(1.5) + 0.2 && ece(found) < 2.0, "{} {}", ece(found), ece(1.5));
        }
        assert!(beliefs.iter().all(|b| b.read_with(3.0).label() == b.label()), "no answer becomes another");
    }

    #[test]
    fn doubt_that_is_ignorance_has_no_agreement_to_learn() {
        let config = Config::default().with(|c| c.views.doubt = Doubt::Ignorance);
        assert_eq!(fit(&answers(&beliefs(&config), 1.5), 1.5), 1.5);
        assert_eq!(fit(&[], 1.5), 1.5);
    }
}
