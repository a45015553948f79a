//! Semantics as sums: Dempster's rule in closed form.
//!
//! For opinions over single classes and ignorance, Dempster's rule multiplies 1 + b^c/u. So the primitive keeps
//! L_c = Σ_n ln(1 + b_n^c/u_n); adding is fusing, in any order. From L:
//! u = 1/(1 + Σ_c expm1(L_c)), b^c = u·expm1(L_c), p^c = b^c + u/C. Nothing here divides by 1 − conflict.

use crate::maths::{argmax, exp, exp_within, ln, ln_of_normal};

/// Log-evidence is a multiple of this, so that sums are exact and order cannot matter.
pub const LOG_EVIDENCE_QUANTUM: f64 = 1.0 / 4_294_967_296.0;
const QUANTUM: f64 = LOG_EVIDENCE_QUANTUM;

/// A fused opinion.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Opinion {
    /// Uncertainty u in [0, 1]; underflows to 0 long before `ln_uncertainty` does.
    pub uncertainty: f64,
    /// ln u: what primitives are ranked by.
    pub ln_uncertainty: f64,
    /// Most likely class; the lowest id wins ties.
    pub label: usize,
}

/// ln(1 + b/u) of one class of one observation, rounded to the quantum of the sums.
///
/// Odds must be finite and not negative, as those of checked input are.
#[inline(always)]
pub fn log_evidence_of_odds(odds: f32) -> f64 {
    rounded_evidence(ln_of_normal(1.0 + f64::from(odds)))
}

/// Log-evidence rounded to the quantum of the sums.
#[inline(always)]
pub fn rounded_evidence(value: f64) -> f64 {
    const WHOLE: f64 = 6_755_399_441_055_744.0;
    ((value * (1.0 / QUANTUM) + WHOLE) - WHOLE) * QUANTUM
}

/// Log-evidence as a whole number of quanta, as primitives sum it. Exact for what is a multiple of the quantum.
#[inline(always)]
pub fn quanta_of(log_evidence: f64) -> i64 {
    (log_evidence * (1.0 / QUANTUM)) as i64
}

/// Log-evidence of a whole number of quanta, rounded once.
#[inline(always)]
pub(crate) fn log_evidence_of(quanta: i64) -> f64 {
    quanta as f64 * QUANTUM
}

/// The sum of two rows of log-evidence, if it is exact.
pub(crate) fn checked_sum(a: &[i64], b: &[i64]) -> Option<Vec<i64>> {
    let sum = |(a, b): (&i64, &i64)| a.checked_add(*b).filter(|sum| *sum <= super::sums::MOST_QUANTA);
    a.iter().zip(b).map(sum).collect()
}

/// How many independent witnesses `weight` points of one primitive are worth, as a share of them: 1/(1 + ρ(w−1)) for a
/// correlation ρ between the errors of any two. With ρ = 0 every point counts in full, as in the paper; otherwise there
/// are at most 1/ρ witnesses however many points there are.
pub fn witnesses_per_point(weight: f64, correlation: f64) -> f64 {
    1.0 / (1.0 + correlation * (weight - 1.0).max(0.0))
}

/// So many classes at most are told apart from those without evidence.
const FEW: usize = 8;

/// The classes with evidence, ascending, and what they have, if they are few; `None` if they are not.
#[inline(always)]
fn few_known(log_evidence: &[i64]) -> Option<([(usize, i64); FEW + 1], usize)> {
    let (mut some, mut known) = ([(0, 0); FEW + 1], 0);
    // Without a branch for every class: the next one takes the place of one without evidence.
    for (class, value) in log_evidence.iter().enumerate() {
        some[known.min(FEW)] = (class, *value);
        known += usize::from(*value != 0);
    }
    (known <= FEW && 4 * known <= log_evidence.len()).then_some((some, known))
}

/// The opinion of summed log-evidence, in quanta, times a factor; writes the expected probabilities p (paper: p_j, u_j).
#[inline(always)] // so that logarithms which nobody asks for are left out
pub fn opinion_of(log_evidence: &[i64], factor: f64, probability: &mut [f32]) -> Opinion {
    let few = few_known(log_evidence);
    let some = few.as_ref().map(|(some, known)| &some[..*known]);
    let largest_known = some.and_then(|some| some.iter().rev().max_by_key(|(_, value)| *value));
    let label = match largest_known {
        Some((class, value)) if *value > 0 => *class,
        _ => argmax(log_evidence),
    };
    // Scaled by the largest term e^M, so that neither many points nor total conflict can overflow.
    let largest = factor * log_evidence_of(log_evidence[label]);
    let ignorance = exp(-largest);
    // Where a class has no evidence, this is zero to the bit: the same exponential less itself. So where most have none,
    // only those that have some are looked at.
    let belief = |value: i64| {
        let x = factor * log_evidence_of(value) - largest;
        let term = exp_within(x.max(-745.0));
        (if x < -745.0 { 0.0 } else { term }) - ignorance
    };
    let mut total = ignorance;
    if let Some(some) = some {
        let mut beliefs = [0.0; FEW];
        for (kept, (_, value)) in beliefs.iter_mut().zip(some) {
            // The largest exponential is 1.
            *kept = if *value == log_evidence[label] { 1.0 - ignorance } else { belief(*value) };
            total += *kept;
        }
        let (share, per_total) = (ignorance / log_evidence.len() as f64, 1.0 / total);
        probability.fill((share * per_total) as f32);
        for (belief, (class, _)) in beliefs.iter().zip(some) {
            probability[*class] = ((belief + share) * per_total) as f32;
        }
        return Opinion { uncertainty: ignorance / total, ln_uncertainty: -largest - ln(total), label };
    }
    // Exponentials are what this costs: those of the first classes are kept for the second pass.
    let mut beliefs = [0.0; 32];
    beliefs.iter_mut().zip(log_evidence).for_each(|(kept, value)| *kept = belief(*value));
    for (i, value) in log_evidence.iter().enumerate() {
        total += beliefs.get(i).copied().unwrap_or_else(|| belief(*value));
    }
    let (share, per_total) = (ignorance / log_evidence.len() as f64, 1.0 / total);
    for (i, (p, value)) in probability.iter_mut().zip(log_evidence).enumerate() {
        let belief = beliefs.get(i).copied().unwrap_or_else(|| belief(*value));
        *p = ((belief + share) * per_total) as f32;
    }
    Opinion { uncertainty: ignorance / total, ln_uncertainty: -largest - ln(total), label }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Dempster's pairwise rule as printed, made proper again by its own total after each step.
    fn fold_pairwise(opinions: &[(Vec<f64>, f64)]) -> (Vec<f64>, f64) {
        let (mut b, mut u) = opinions[0].clone();
        for (b2, u2) in &opinions[1..] {
            b = b.iter().zip(b2).map(|(x, y)| x * y + x * u2 + y * u).collect();
            u *= u2;
            let total: f64 = b.iter().sum::<f64>() + u;
            b.iter_mut().for_each(|x| *x /= total);
            u /= total;
        }
        (b, u)
    }

    fn summed(odds: &[Vec<f32>]) -> Vec<i64> {
        let mut sum = vec![0; odds[0].len()];
        for row in odds {
            sum.iter_mut().zip(row).for_each(|(sum, odds)| *sum += quanta_of(log_evidence_of_odds(*odds)));
        }
        sum
    }

    /// The opinion of log-evidence in its own unit.
    fn opinion(log_evidence: &[f64], factor: f64, probability: &mut [f32]) -> Opinion {
        opinion_of(&log_evidence.iter().map(|v| quanta_of(*v)).collect::<Vec<_>>(), factor, probability)
    }

    proptest! {
        #[test]
        fn closed_form_equals_the_pairwise_rule_in_any_order(
            rows in (1..7_usize).prop_flat_map(|c| prop::collection::vec(prop::collection::vec(0.0..9.0_f32, c), 1..25)),
        ) {
            let classes = rows[0].len();
            let opinions: Vec<_> = rows.iter().map(|row| {
                let u = 1.0 / (1.0 + row.iter().map(|v| f64::from(*v)).sum::<f64>());
                (row.iter().map(|v| u * f64::from(*v)).collect::<Vec<_>>(), u)
            }).collect();
            let (b, u) = fold_pairwise(&opinions);
            let log_evidence = summed(&rows);
            let mut p = vec![0.0; classes];
            let fused = opinion_of(&log_evidence, 1.0, &mut p);
            prop_assert!((fused.uncertainty - u).abs() < 1e-7);
            prop_assert!((fused.ln_uncertainty - u.ln()).abs() < 1e-6);
            for (p, b) in p.iter().zip(&b) {
                prop_assert!((f64::from(*p) - (b + u / classes as f64)).abs() < 1e-6);
            }
            let mut reversed = rows.clone();
            reversed.reverse();
            prop_assert_eq!(summed(&reversed), log_evidence);
        }
    }

    proptest! {
        /// Leaving out classes without evidence changes no bit: the same row with as many known classes as it takes to
        /// go the long way, whose evidence is nothing, gives the same opinion.
        #[test]
        fn few_known_classes_are_judged_as_many_are(
            known in prop::collection::vec((0..24_usize, prop_oneof![1..40_i64 << 32, 1..4000_i64 << 32]), 0..7), factor in 0.05..1.0_f64,
        ) {
            let mut row = vec![0; 24];
            known.iter().for_each(|(class, value)| row[*class] = *value);
            let (mut p, mut expected) = (vec![0.0; 24], vec![0.0_f32; 24]);
            let fused = opinion_of(&row, factor, &mut p);
            let largest = factor * log_evidence_of(row[argmax(&row)]);
            let ignorance = exp(-largest);
            let belief = |v: &i64| exp((factor * log_evidence_of(*v) - largest).max(-745.0)) * f64::from(u8::from(factor * log_evidence_of(*v) - largest >= -745.0)) - ignorance;
            let total = row.iter().fold(ignorance, |sum, v| sum + belief(v));
            expected.iter_mut().zip(&row).for_each(|(p, v)| *p = ((belief(v) + ignorance / 24.0) * (1.0 / total)) as f32);
            prop_assert_eq!(p, expected);
            prop_assert_eq!((fused.uncertainty, fused.label), (ignorance / total, argmax(&row)));
        }
    }

    #[test]
    fn correlated_points_are_worth_at_most_so_many_witnesses() {
        assert_eq!(witnesses_per_point(100.0, 0.0), 1.0);
        assert_eq!(witnesses_per_point(1.0, 0.4), 1.0);
        assert_eq!(witnesses_per_point(0.0, 0.4), 1.0);
        assert!((1e9 * witnesses_per_point(1e9, 0.4) - 2.5).abs() < 1e-6);
        // Two points of the same opinion that always err together are one.
        let one = opinion(&[0.7, 0.2], 1.0, &mut [0.0; 2]);
        let two = opinion(&[1.4, 0.4], witnesses_per_point(2.0, 1.0), &mut [0.0; 2]);
        assert!((one.uncertainty - two.uncertainty).abs() < 1e-9);
    }

    #[test]
    fn certainty_ignorance_and_total_conflict_are_safe() {
        let mut p = [0.0; 3];
        let vacuous = opinion(&[0.0; 3], 1.0, &mut p);
        assert_eq!((vacuous.uncertainty, vacuous.label), (1.0, 0));
        assert!(p.iter().all(|p| (p - 1.0 / 3.0).abs() < 1e-6));
        // Two certain opinions for different classes: half each, no ignorance.
        let certain = log_evidence_of_odds(crate::input::MAX_ODDS);
        let conflict = opinion(&[certain, certain, 0.0], 1.0, &mut p);
        assert!((p[0] - 0.5).abs() < 1e-6 && (p[1] - 0.5).abs() < 1e-6 && conflict.uncertainty < 1e-11);
        // A million points: u underflows, its logarithm does not.
        let many = opinion(&[1.0e6, 2.0e6, 0.0], 1.0, &mut p);
        assert_eq!((many.uncertainty, many.label, p[1]), (0.0, 1, 1.0));
        assert!((many.ln_uncertainty + 2.0e6).abs() < 1.0);
    }

    #[test]
    fn thirty_points_of_uncertainty_three_tenths_leave_almost_none() {
        let odds = (0.7 / 0.3) as f32;
        let fused = opinion(&[30.0 * log_evidence_of_odds(odds)], 1.0, &mut [0.0]);
        assert!(fused.uncertainty < 1e-15 && fused.uncertainty > 0.0);
        assert!((fused.ln_uncertainty - 30.0 * 0.3_f64.ln()).abs() < 1e-4);
    }
}
