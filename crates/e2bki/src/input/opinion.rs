//! One point's semantics as odds b/u per class, from every accepted form, with the rule for every improper value.
//!
//! Odds are the natural unit here: b/u = e/C for evidence e, and ln(1 + b/u) is what Dempster's rule adds.
//! Certainty (u → 0) is held at [`MAX_ODDS`]; a vacuous opinion (u = 1) has odds 0 and is not evidence.

use crate::maths::{exp, ln};

/// Largest odds b/u of one observation: u is never taken to be below 1e−12.
pub const MAX_ODDS: f32 = 1e12;

/// Least uncertainty of an opinion made from probabilities alone: a softmax never proves certainty.
pub const MIN_ENTROPY_UNCERTAINTY: f32 = 0.01;

/// Deviations below this are rounding, not mistakes, and are mended without being counted.
const TOLERANCE: f32 = 1e-3;

/// What became of one row of semantic values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Proper,
    Repaired,
    NonFinite,
    Improper,
    NoEvidence,
}

/// Odds from class evidence, with `offset` subtracted first (1 for Dirichlet parameters).
pub(super) fn from_evidence(row: &[f32], offset: f32, odds: &mut [f32]) -> Verdict {
    let per_class = 1.0 / row.len() as f32;
    // Without branches or what minds NaN, so that loops become vector instructions.
    if !row.iter().fold(true, |finite, value| finite & value.is_finite()) {
        return Verdict::NonFinite;
    }
    let (mut least, mut most): (f32, f32) = (0.0, 0.0);
    for (odds, value) in odds.iter_mut().zip(row) {
        let evidence = value - offset;
        let scaled = if evidence > 0.0 { evidence * per_class } else { 0.0 };
        *odds = if scaled < MAX_ODDS { scaled } else { MAX_ODDS };
        least = if evidence < least { evidence } else { least };
        most = if *odds > most { *odds } else { most };
    }
    judge(most > 0.0, least < -TOLERANCE)
}

/// Odds from logits of an evidential network: e = exp(clamp(x, −10, 10)).
pub(super) fn from_log_evidence(row: &[f32], odds: &mut [f32]) -> Verdict {
    let per_class = 1.0 / row.len() as f64;
    for (odds, value) in odds.iter_mut().zip(row) {
        if !value.is_finite() {
            return Verdict::NonFinite;
        }
        *odds = (exp(f64::from(value.clamp(-10.0, 10.0))) * per_class) as f32;
    }
    Verdict::Proper
}

/// Takes evidence down (or up) by a temperature.
pub(super) fn tempered(odds: &mut [f32], temperature: f64) {
    let share = 1.0 / temperature;
    odds.iter_mut().for_each(|odds| *odds = (f64::from(*odds) * share).min(f64::from(MAX_ODDS)) as f32);
}

/// Odds from logits of an ordinary network, through softmax at a temperature and entropy.
pub(super) fn from_softmax(row: &[f32], temperature: f64, odds: &mut [f32]) -> Verdict {
    let largest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    if row.iter().any(|v| !v.is_finite()) {
        return Verdict::NonFinite;
    }
    for (p, value) in odds.iter_mut().zip(row) {
        *p = exp(f64::from(value - largest) / temperature) as f32;
    }
    from_probabilities_in_place(odds)
}

/// Odds from probabilities alone, at a temperature: u is their entropy divided by ln C.
pub(super) fn from_probabilities(row: &[f32], temperature: f64, odds: &mut [f32]) -> Verdict {
    odds.copy_from_slice(row);
    let sum: f32 = row.iter().sum();
    if temperature != 1.0 {
        for p in odds.iter_mut().filter(|p| **p > 0.0 && p.is_finite()) {
            *p = exp(ln(f64::from(*p)) / temperature) as f32;
        }
    }
    match from_probabilities_in_place(odds) {
        Verdict::Proper if (sum - 1.0).abs() > TOLERANCE => Verdict::Repaired,
        other => other,
    }
}

fn from_probabilities_in_place(p: &mut [f32]) -> Verdict {
    let repaired = match normalise(p) {
        Ok(repaired) => repaired,
        Err(verdict) => return verdict,
    };
    let entropy: f64 = p.iter().filter(|p| **p > 0.0).map(|p| f64::from(-p) * ln(f64::from(*p))).sum();
    let classes = p.len() as f64;
    let u = if classes > 1.0 { (entropy / ln(classes)) as f32 } else { 0.0 };
    // Small probabilities fall below u/C by construction, so projecting them is the rule here, not a repair.
    match project(p, u.clamp(MIN_ENTROPY_UNCERTAINTY, 1.0)) {
        Verdict::Repaired if !repaired => Verdict::Proper,
        Verdict::Proper if repaired => Verdict::Repaired,
        other => other,
    }
}

/// Odds from expected probabilities and uncertainty.
pub(super) fn from_opinion(row: &[f32], u: f32, odds: &mut [f32]) -> Verdict {
    if !u.is_finite() {
        return Verdict::NonFinite;
    }
    odds.copy_from_slice(row);
    let sum: f32 = row.iter().sum();
    let mut repaired = !(-TOLERANCE..=1.0 + TOLERANCE).contains(&u) || (sum - 1.0).abs() > TOLERANCE;
    match normalise(odds) {
        Ok(changed) => repaired |= changed,
        Err(verdict) => return verdict,
    }
    match project(odds, u.clamp(0.0, 1.0)) {
        Verdict::Proper if repaired => Verdict::Repaired,
        other => other,
    }
}

/// Makes probabilities non-negative with sum 1; true if that was more than rounding.
fn normalise(p: &mut [f32]) -> Result<bool, Verdict> {
    let mut negative = false;
    for value in p.iter_mut() {
        if !value.is_finite() {
            return Err(Verdict::NonFinite);
        }
        negative |= *value < -TOLERANCE;
        *value = value.max(0.0);
    }
    // Scaled first, so that the sum of huge values cannot overflow.
    let largest = p.iter().copied().fold(0.0, f32::max);
    if largest <= 0.0 {
        return Err(Verdict::Improper);
    }
    p.iter_mut().for_each(|value| *value /= largest);
    let sum: f32 = p.iter().sum();
    p.iter_mut().for_each(|value| *value /= sum);
    Ok(negative)
}

/// Turns probabilities into odds: beliefs p − u/C, negative ones to zero, the rest scaled to sum 1 − u.
fn project(p: &mut [f32], u: f32) -> Verdict {
    let share = u / p.len() as f32;
    let mut negative = false;
    let mut sum = 0.0;
    for value in p.iter_mut() {
        let belief = *value - share;
        negative |= belief < -TOLERANCE;
        *value = belief.max(0.0);
        sum += *value;
    }
    if sum <= f32::EPSILON || u >= 1.0 {
        return Verdict::NoEvidence;
    }
    let scale = (1.0 - u) / sum / u.max(1.0 / MAX_ODDS);
    p.iter_mut().for_each(|value| *value = (*value * scale).min(MAX_ODDS));
    judge(true, negative)
}

fn judge(any: bool, repaired: bool) -> Verdict {
    match (any, repaired) {
        (false, _) => Verdict::NoEvidence,
        (true, true) => Verdict::Repaired,
        (true, false) => Verdict::Proper,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opinion(p: &[f32], u: f32) -> (Verdict, Vec<f32>) {
        let mut odds = vec![0.0; p.len()];
        (from_opinion(p, u, &mut odds), odds)
    }

    #[test]
    fn evidence_dirichlet_and_opinion_of_the_same_network_agree() {
        // e = (6, 2, 1): S = 12, u = 1/4, p = α/S.
        let (mut a, mut b) = ([0.0; 3], [0.0; 3]);
        assert_eq!(from_evidence(&[6.0, 2.0, 1.0], 0.0, &mut a), Verdict::Proper);
        assert_eq!(from_evidence(&[7.0, 3.0, 2.0], 1.0, &mut b), Verdict::Proper);
        let (verdict, c) = opinion(&[7.0 / 12.0, 3.0 / 12.0, 2.0 / 12.0], 0.25);
        assert_eq!((verdict, a), (Verdict::Proper, b));
        for (x, y) in a.iter().zip(c) {
            assert!((x - y).abs() < 1e-5, "{x} {y}");
        }
    }

    #[test]
    fn improper_opinions_follow_their_rule() {
        assert_eq!(opinion(&[0.5, f32::NAN], 0.1).0, Verdict::NonFinite);
        assert_eq!(opinion(&[0.5, 0.5], f32::INFINITY).0, Verdict::NonFinite);
        assert_eq!(opinion(&[0.0, 0.0], 0.1).0, Verdict::Improper);
        assert_eq!(opinion(&[0.9, 0.1], 1.0).0, Verdict::NoEvidence);
        assert_eq!(opinion(&[0.9, 0.9], 0.1).0, Verdict::Repaired);
        assert_eq!(opinion(&[1.2, -0.2], 0.1).0, Verdict::Repaired);
        assert_eq!(opinion(&[0.99, 0.01], 0.5).0, Verdict::Repaired);
        assert_eq!(opinion(&[0.9, 0.1], 1.5).0, Verdict::NoEvidence);
        let (verdict, odds) = opinion(&[1.0, 0.0], 0.0);
        assert_eq!((verdict, odds[0]), (Verdict::Proper, MAX_ODDS));
        assert_eq!(opinion(&[f32::MAX, f32::MAX], 0.2).0, Verdict::Repaired);
        let mut odds = [0.0; 2];
        assert_eq!(from_evidence(&[-5.0, 1.0], 0.0, &mut odds), Verdict::Repaired);
        assert_eq!(from_evidence(&[0.0, 0.0], 0.0, &mut odds), Verdict::NoEvidence);
    }

    #[test]
    fn entropy_gives_flat_probabilities_more_uncertainty_than_sharp_ones() {
        let uncertainty = |p: &[f32]| {
            let mut odds = vec![0.0; p.len()];
            from_probabilities(p, 1.0, &mut odds);
            1.0 / (1.0 + odds.iter().sum::<f32>())
        };
        assert!((uncertainty(&[1.0, 0.0, 0.0]) - MIN_ENTROPY_UNCERTAINTY).abs() < 1e-4);
        assert!(uncertainty(&[0.5, 0.3, 0.2]) > uncertainty(&[0.8, 0.1, 0.1]));
        let mut odds = [0.0; 2];
        assert_eq!(from_probabilities(&[0.5, 0.5], 1.0, &mut odds), Verdict::NoEvidence);
        assert_eq!(from_softmax(&[1e30, -1e30], 1.0, &mut odds), Verdict::Proper);
        assert_eq!(from_log_evidence(&[1e30, -1e30], &mut odds), Verdict::Proper);
        assert!((odds[0] - 11_013.233).abs() < 0.1);
    }
    #[test]
    fn temperature_flattens_every_form_and_keeps_its_order() {
        let (p, logits) = ([0.7_f32, 0.2, 0.1], [0.7_f32.ln(), 0.2_f32.ln(), 0.1_f32.ln()]);
        let uncertainty = |odds: &[f32]| 1.0 / (1.0 + odds.iter().sum::<f32>());
        let mut before = 0.0;
        for temperature in [0.5, 1.0, 2.0, 4.0] {
            let (mut a, mut b) = ([0.0; 3], [0.0; 3]);
            assert_eq!(from_probabilities(&p, temperature, &mut a), Verdict::Proper);
            assert_eq!(from_softmax(&logits, temperature, &mut b), Verdict::Proper);
            assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-4 * a.abs().max(1e-3)), "{a:?} {b:?}");
            assert!(a[0] > a[1] && a[1] >= a[2] && uncertainty(&a) > before);
            before = uncertainty(&a);
        }
        let mut odds = [6.0, 2.0, MAX_ODDS];
        tempered(&mut odds, 2.0);
        assert_eq!(odds, [3.0, 1.0, MAX_ODDS / 2.0]);
        tempered(&mut odds, 0.01);
        assert_eq!(odds[2], MAX_ODDS);
    }
}
