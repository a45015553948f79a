//! The loss of a batch and its gradient: the weighted mean of −ln(α_true / Σα) over points, by lengths of kernels.
//!
//! α_c = α0 + Σ_rings k(d_xy, ℓ_h) k(d_z, ℓ_z) R_c, and dk/dℓ = dk/dρ · (−d/ℓ²) with ρ = d/ℓ.

use std::f64::consts::TAU;

use e2bki::kernel::sparse_kernel;
use e2bki::maths::ln;
use rayon::prelude::*;

use super::kernels::ConvKernels;
use super::sample::{ACROSS, RINGS, Sample, UP};

/// Places per parallel task; fixed, so that results do not depend on the number of threads.
const CHUNK: usize = 256;

/// A loss, or sums towards one, with the derivatives by the horizontal, then the vertical lengths.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Loss {
    pub(super) value: f64,
    pub(super) weight: f64,
    pub(super) gradient: Vec<f64>,
}

impl Loss {
    fn zero(classes: usize) -> Self {
        Self { value: 0.0, weight: 0.0, gradient: vec![0.0; 2 * classes] }
    }

    fn add(&mut self, other: &Self) {
        self.value += other.value;
        self.weight += other.weight;
        self.gradient.iter_mut().zip(&other.gradient).for_each(|(a, b)| *a += b);
    }

    /// The weighted mean over some samples.
    pub(super) fn of<'a>(samples: impl Iterator<Item = &'a Sample>, kernels: &ConvKernels, weights: &[f64]) -> Self {
        let mut total = Self::zero(weights.len());
        for sample in samples {
            let factors: Vec<Factors> = (0..sample.classes).map(|class| Factors::new(kernels, class, sample)).collect();
            let parts: Vec<Self> = (0..sample.places().div_ceil(CHUNK))
                .into_par_iter()
                .map(|chunk| {
                    let mut sum = Self::zero(sample.classes);
                    let places = chunk * CHUNK..sample.places().min((chunk + 1) * CHUNK);
                    places.for_each(|place| sum.add_place(sample, place, &factors, weights));
                    sum
                })
                .collect();
            parts.iter().for_each(|part| total.add(part));
        }
        if total.weight > 0.0 {
            let per_weight = 1.0 / total.weight;
            total.value *= per_weight;
            total.gradient.iter_mut().for_each(|v| *v *= per_weight);
        }
        total
    }

    fn add_place(&mut self, sample: &Sample, place: usize, factors: &[Factors], weights: &[f64]) {
        let classes = sample.classes;
        let truth = &sample.truth[place * classes..][..classes];
        let rings = &sample.rings[place * RINGS * classes..][..RINGS * classes];
        // α of every class, with its derivatives by the two lengths.
        let alpha: Vec<[f64; 3]> = factors
            .iter()
            .enumerate()
            .map(|(class, factors)| {
                let mut sums = [sample.prior, 0.0, 0.0];
                for (ring, values) in factors.rings.iter().enumerate() {
                    let sum = f64::from(rings[ring * classes + class]);
                    (0..3).for_each(|i| sums[i] += values[i] * sum);
                }
                sums
            })
            .collect();
        let strength: f64 = alpha.iter().map(|a| a[0]).sum();
        let points = |class: usize| f64::from(truth[class]) * weights[class];
        let total: f64 = (0..classes).map(points).sum();
        self.weight += total;
        for (class, [alpha, across, up]) in alpha.iter().enumerate() {
            self.value += points(class) * (ln(strength) - ln(*alpha));
            let slope = total / strength - points(class) / alpha;
            self.gradient[class] += slope * across;
            self.gradient[classes + class] += slope * up;
        }
    }
}

/// Filter values of a class by ring, with their derivatives by the two lengths.
struct Factors {
    rings: [[f64; 3]; RINGS],
}

impl Factors {
    fn new(kernels: &ConvKernels, class: usize, sample: &Sample) -> Self {
        let (length_across, length_up) = (kernels.horizontal[class], kernels.vertical[class]);
        let rings = std::array::from_fn(|ring| {
            let across = sample.resolution * f64::from(ACROSS[ring / UP]).sqrt();
            let up = sample.resolution * (ring % UP) as f64;
            let (k_across, k_up) = (sparse_kernel(across, length_across), sparse_kernel(up, length_up));
            [k_across * k_up, slope(across, length_across) * k_up, k_across * slope(up, length_up)]
        });
        Self { rings }
    }
}

/// Derivative of the sparse kernel by its length.
fn slope(distance: f64, length: f64) -> f64 {
    let rho = distance / length;
    if rho >= 1.0 {
        return 0.0;
    }
    let angle = TAU * rho;
    let by_rho = -TAU / 3.0 * (1.0 - rho) * angle.sin() - 2.0 / 3.0 * (1.0 - angle.cos());
    by_rho * -distance / (length * length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use e2bki::cluster::Rng;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn gradients_agree_with_finite_differences(
            seed in any::<u64>(),
            lengths in prop::collection::vec(0.05..1.0_f64, 6),
        ) {
            let mut rng = Rng::new(seed);
            let (classes, places) = (3, 40);
            let sample = Sample {
                classes,
                resolution: 0.2,
                prior: 0.001,
                rings: (0..places * RINGS * classes).map(|_| rng.uniform() as f32).collect(),
                truth: (0..places * classes).map(|_| rng.below(3) as f32).collect(),
                counts: vec![1; classes],
            };
            let kernels = |l: &[f64]| ConvKernels { horizontal: l[..3].to_vec(), vertical: l[3..].to_vec() };
            let weights = [0.3, 1.0, 0.7];
            let loss = |l: &[f64]| Loss::of([&sample].into_iter(), &kernels(l), &weights);
            let exact = loss(&lengths);
            for i in 0..6 {
                let step = 1e-6;
                let (mut less, mut more) = (lengths.clone(), lengths.clone());
                less[i] -= step;
                more[i] += step;
                let difference = (loss(&more).value - loss(&less).value) / (2.0 * step);
                let tolerance = 1e-5 * difference.abs().max(1e-2);
                prop_assert!((exact.gradient[i] - difference).abs() < tolerance, "{i}: {} {difference}", exact.gradient[i]);
            }
        }
    }
}
