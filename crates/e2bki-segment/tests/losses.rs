//! Losses and special functions against values of 40 digits and finite differences.

#![allow(clippy::excessive_precision)] // values as they were computed

use e2bki_segment::special::{digamma, gamma, ln_gamma, trigamma};
use e2bki_segment::{DataTerm, EvidenceFunction, Loss, annealed};
use proptest::prelude::*;

/// x, lnΓ(x), ψ(x), ψ′(x), computed with mpmath at 40 digits.
const GAMMA: [(f64, f64, f64, f64); 13] = [
    (0.001, 6.9071788853838536825, -1000.5755719318103005, 1000001.642533195869),
    (0.1, 2.2527126517342059599, -10.423754940411076795, 101.43329915079275882),
    (0.5, 0.57236494292470008707, -1.9635100260214234794, 4.9348022005446793094),
    (1.0, 0.0, -0.57721566490153286061, 1.6449340668482264365),
    (1.0000454, -0.000026203895987872654915, -0.57714098737242828185, 1.6448249267735555071),
    (1.4616321449683623, -0.1214862905358496081, 0.0, 0.96767224544762120697),
    (2.0, 0.0, 0.42278433509846713939, 0.64493406684822643647),
    (3.7, 1.4280723266653879219, 1.1671535393615113859, 0.3100378576700383191),
    (8.999, 10.602462320025600987, 2.1405239590437172539, 0.11752580963061463359),
    (9.0, 10.604602902745250228, 2.1406414779556099965, 0.11751201469403142513),
    (50.25, 145.54187159633211797, 3.9070272970062796654, 0.020099825840728038722),
    (22027.5, 198244.45314831282468, 10.000024252670034763, 0.000045398828702421824553),
    (154192.0, 1687773.4632489226696, 11.945950615377176553, 6.4854418044865956968e-6),
];

#[test]
fn the_gamma_function_and_its_derivatives_are_right_to_13_digits() {
    for (x, ln, psi, psi_prime) in GAMMA {
        let close = |found: f64, expected: f64| (found - expected).abs() <= 1e-13 * expected.abs().max(1.0);
        let all = gamma(x);
        assert!(close(all.ln, ln), "lnΓ({x}) = {}", all.ln);
        assert!(close(all.digamma, psi), "ψ({x}) = {}", all.digamma);
        assert!(close(all.trigamma, psi_prime), "ψ′({x}) = {}", all.trigamma);
        assert_eq!((ln_gamma(x), digamma(x), trigamma(x)), (all.ln, all.digamma, all.trigamma));
    }
    for x in [0.0, -1.0, f64::NAN] {
        assert!(gamma(x).ln.is_nan() && gamma(x).digamma.is_nan() && gamma(x).trigamma.is_nan());
    }
}

/// Outputs whose evidence by softplus or ReLU is this.
fn relu_outputs(alpha: &[f64]) -> Vec<f32> {
    alpha.iter().map(|a| (a - 1.0) as f32).collect()
}

#[test]
fn the_divergence_is_right_to_12_digits() {
    let relu = Loss { activation: EvidenceFunction::Relu, ..Loss::default() };
    // The last α is of a true class: it counts as 1. Computed with mpmath at 40 digits.
    let cases: [(&[f64], Option<usize>, f64); 5] = [
        (&[1.0, 1.0, 1.0], None, 0.0),
        (&[77.0, 3.0, 1.0], Some(0), 0.62509280256138833415),
        (&[1.0, 3.0, 1.0], None, 0.62509280256138833415),
        (&[22027.5, 1.0, 5.0, 1.0, 1.0, 1.0, 1.0], None, 46.270261403332015993),
        (&[1.5; 11], None, 0.45250886891073834014),
    ];
    for (alpha, class, expected) in cases {
        let mut gradient = vec![0.0; alpha.len()];
        let found = relu.pixel(&relu_outputs(alpha), class, 1.0, &mut gradient).divergence;
        assert!((found - expected).abs() < 1e-10 * expected.max(1.0), "{alpha:?}: {found}, not {expected}");
    }
}

#[test]
fn the_data_terms_of_one_pixel_are_right() {
    for (data, expected) in [
        (DataTerm::Log, 0.53899650073268700512),
        (DataTerm::Digamma, 0.56987734487734487734),
        (DataTerm::Mse, 0.30769230769230769231),
    ] {
        let loss = Loss { data, activation: EvidenceFunction::Relu };
        let mut gradient = [0.0; 3];
        let found = loss.pixel(&[6.0, 2.0, 1.0], Some(0), 0.0, &mut gradient);
        assert!((found.data - expected).abs() < 1e-13, "{data:?}: {}", found.data);
        // Without its weight the divergence is not even computed.
        assert_eq!(found.divergence, 0.0);
        assert_eq!(loss.pixel(&[6.0, 2.0, 1.0], None, 0.0, &mut gradient).data, 0.0);
        assert_eq!(gradient, [0.0; 3]);
    }
    assert_eq!((annealed(1), annealed(60)), (1.0 / 120.0, 0.5));
}

proptest! {
    #[test]
    fn gradients_of_every_loss_are_finite_differences(
        outputs in prop::collection::vec(-6.0_f32..6.0, 2..12),
        class in 0_usize..14,
        weight in prop_oneof![Just(0.0), 0.01..1.0],
    ) {
        // Numbers whose neighbours at a step of 1/4096 single precision holds exactly.
        let outputs: Vec<f32> = outputs.iter().map(|x| (x * 65536.0).round() / 65536.0).collect();
        for data in DataTerm::ALL {
            for activation in EvidenceFunction::ALL {
                let loss = Loss { data, activation };
                let class = (class < outputs.len()).then_some(class);
                let mut gradient = vec![0.0; outputs.len()];
                let mut unused = gradient.clone();
                loss.pixel(&outputs, class, weight, &mut gradient);
                for c in 0..outputs.len() {
                    // ReLU has a kink at 0.
                    let h = 1.0_f32 / 4096.0;
                    if activation == EvidenceFunction::Relu && outputs[c].abs() <= 2.0 * h {
                        continue;
                    }
                    let mut at = |step: f32| {
                        let mut moved = outputs.clone();
                        moved[c] += step;
                        let one = loss.pixel(&moved, class, weight, &mut unused);
                        one.data + weight * one.divergence
                    };
                    let difference = (8.0 * (at(h) - at(-h)) - (at(2.0 * h) - at(-2.0 * h))) / (12.0 * f64::from(h));
                    let scale = gradient[c].abs().max(1.0);
                    prop_assert!((gradient[c] - difference).abs() < 1e-4 * scale,
                        "{loss:?} {class:?} {weight} by {c}: {} and {difference}", gradient[c]);
                }
            }
        }
    }
}
