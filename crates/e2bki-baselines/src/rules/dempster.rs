//! DST mapping: Dempster's rule over the discounted opinions of the points around a voxel, in its additive form.
//!
//! A point with beliefs b and uncertainty u counts as k·b at kernel value k; ignorance takes the rest, 1 − k(1−u).
//! Combining such opinions adds L_c = ln(1 + k b_c / (1 − k(1−u))) for every class, in any order; the voxel's opinion
//! is u = 1/(1 + Σ (e^{L_c} − 1)), b_c = u (e^{L_c} − 1). No clipping, so beliefs and ignorance always sum to 1.

use e2bki::maths::{exp, ln_of_normal};

use super::points::{Join, join_points};
use crate::grid::Grid;
use crate::lattice::Place;
use crate::scan::Scan;

/// Least ignorance of one discounted opinion: a certain point at distance 0 must not end all discussion.
const LEAST_IGNORANCE: f64 = 1e-12;

struct Combine;

impl Join for Combine {
    #[inline(always)]
    fn join(k: f32, share: &[f32], u: f32, row: &mut [f32]) {
        let k = f64::from(k.min(1.0));
        let odds_per_belief = k / (1.0 - k * (1.0 - f64::from(u))).max(LEAST_IGNORANCE);
        for (row, share) in row.as_chunks_mut::<4>().0.iter_mut().zip(share.as_chunks::<4>().0) {
            for lane in 0..4 {
                row[lane] += ln_of_normal(1.0 + f64::from(share[lane]) * odds_per_belief) as f32;
            }
        }
    }
}

/// Combines the opinions; `reach` gives the radius in voxels for a point's uncertainty.
pub(crate) fn add_opinions(grid: &mut Grid, scan: &Scan, places: &[Place], reach: impl Fn(f32) -> f32) -> usize {
    join_points::<Combine>(grid, scan, places, reach)
}

/// The opinion of a voxel as a row with Σk = 1: p of every class, 1, u.
pub(crate) fn combined(channels: &[u16], sums: &[f32], row: &mut [f32]) {
    let classes = row.len() - 2;
    let largest = sums.iter().copied().fold(0.0, f32::max);
    if largest <= 0.0 {
        return;
    }
    // All terms times e^{−largest}, so that none overflows.
    let scale = exp(-f64::from(largest));
    let term = |sum: f32| if sum < 1e-3 { expm1_of_small(sum) * scale } else { exp(f64::from(sum - largest)) - scale };
    let total = scale + sums.iter().map(|sum| term(*sum)).sum::<f64>();
    let u = scale / total;
    row[..classes].fill((u / classes as f64) as f32);
    for (channel, sum) in channels.iter().zip(sums) {
        row[usize::from(*channel)] = (term(*sum) / total + u / classes as f64) as f32;
    }
    (row[classes], row[classes + 1]) = (1.0, u as f32);
}

/// e^x − 1 for |x| below a thousandth, without cancellation.
fn expm1_of_small(x: f32) -> f64 {
    let x = f64::from(x);
    x * (1.0 + x * (0.5 + x * (1.0 / 6.0 + x / 24.0)))
}
