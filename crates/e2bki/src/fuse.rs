//! Step 4, fuse: Gaussian initialisation, every cluster's points summed into a primitive.

use rayon::prelude::*;

use crate::cluster::Clusters;
use crate::config::Config;
use crate::input::EvidentialPoints;
use crate::keys::BlockKey;
use crate::map::{Batch, Core};
use crate::pose::Pose;
use crate::primitive::{
    AT_ONCE, Sums, block_of, log_evidence_of, log_evidence_of_odds, quanta_of, rounded_evidence, witnesses_per_point,
};

/// Logarithms taken together.
const LANES: usize = 4;

/// Primitives of a frame, one per cluster, with their opinions.
pub(crate) fn fuse(points: &EvidentialPoints, clusters: &Clusters, world_from_sensor: &Pose, config: &Config) -> Batch {
    let classes = points.classes;
    let (lifetime, of_frame) =
        (config.lifetime_correlation(), config.fusion.correlation - config.lifetime_correlation());
    let mut log_evidence = vec![0_i64; clusters.len() * classes];
    let order = order_of(points, clusters, world_from_sensor, config);
    let cores = order
        .into_par_iter()
        .zip(log_evidence.par_chunks_mut(classes))
        .with_min_len(256)
        .map_init(<(Vec<f64>, Vec<f32>)>::default, |(scratch, probability), (cluster, log_evidence)| {
            probability.resize(classes, 0.0);
            let members = clusters.members(cluster as usize);
            let world = |i: u32| world_from_sensor.apply(points.position[i as usize].map(f64::from));
            let mut sums = Sums::about(block_of(world(members[0])));
            // So many at a time as are exact in floating point.
            for members in members.chunks(AT_ONCE) {
                sums.add_points(members.iter().map(|i| (world(*i), f64::from(points.range[*i as usize]))));
                scratch.clear();
                scratch.resize(classes.next_multiple_of(LANES), 0.0);
                if points.share_rows() {
                    add_shared_rows(points, members, scratch);
                } else {
                    pulp::Arch::new().dispatch(OwnRows { points, members, log_evidence: &mut *scratch });
                }
                let row = log_evidence.iter_mut().zip(&*scratch);
                row.for_each(|(sum, value)| *sum = sum.saturating_add(quanta_of(*value)));
            }
            if of_frame > 0.0 {
                // What the points of this frame are worth together, rounded to the grid of all sums.
                let factor = witnesses_per_point(members.len() as f64, of_frame);
                log_evidence
                    .iter_mut()
                    .for_each(|value| *value = quanta_of(rounded_evidence(log_evidence_of(*value) * factor)));
            }
            sums.settle();
            let mut core = Core::of_sums(sums);
            core.judge(log_evidence, lifetime, probability);
            core
        })
        .collect();
    Batch { cores, log_evidence, ..Batch::default() }
}

/// The order in which clusters become rows: where rows only matter by their cube, along the curve on which the map keeps
/// its primitives too, so that neighbours in the world are neighbours in memory on both sides of an addition.
fn order_of(points: &EvidentialPoints, clusters: &Clusters, world_from_sensor: &Pose, config: &Config) -> Vec<u32> {
    let all = 0..clusters.len() as u32;
    if config.cubes_of_sum().is_none() {
        return all.collect();
    }
    let place = |cluster: u32| {
        let first = clusters.members(cluster as usize)[0] as usize;
        let block = block_of(world_from_sensor.apply(points.position[first].map(f64::from)));
        (BlockKey(block).along_curve(), cluster)
    };
    let mut order: Vec<(u64, u32)> = all.into_par_iter().with_min_len(1024).map(place).collect();
    order.par_sort_unstable();
    order.into_iter().map(|(_, cluster)| cluster).collect()
}

/// Adds the log-evidence of points that have rows of odds of their own.
struct OwnRows<'a> {
    points: &'a EvidentialPoints,
    members: &'a [u32],
    /// Sums of the classes, and room for as many more as make the number of them a multiple of [`LANES`].
    log_evidence: &'a mut [f64],
}

impl pulp::WithSimd for OwnRows<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let Self { points, members, log_evidence } = self;
        for i in members {
            let first = *i as usize * points.classes;
            // Into the row behind, if there is one: nobody looks at what that adds, and no class is left over.
            if let Some(odds) = points.odds.get(first..first + log_evidence.len()) {
                let lanes = log_evidence.as_chunks_mut::<LANES>().0.iter_mut().zip(odds.as_chunks::<LANES>().0);
                for (sums, odds) in lanes {
                    // All loads before the store, which could overlap for all that the compiler knows.
                    let (mut sum, odds) = (*sums, *odds);
                    for lane in 0..LANES {
                        sum[lane] += log_evidence_of_odds(odds[lane]);
                    }
                    *sums = sum;
                }
            } else {
                let row = log_evidence.iter_mut().zip(points.odds(*i as usize));
                row.for_each(|(sum, odds)| *sum += log_evidence_of_odds(*odds));
            }
        }
    }
}

/// Adds the log-evidence of points of which many share a row of odds: one logarithm per run of equal rows and class.
/// The sums are exact, so that n times a value is n additions of it.
fn add_shared_rows(points: &EvidentialPoints, members: &[u32], log_evidence: &mut [f64]) {
    for run in members.chunk_by(|a, b| points.row(*a as usize) == points.row(*b as usize)) {
        let row = log_evidence.iter_mut().zip(points.odds(run[0] as usize));
        for (sum, odds) in row.filter(|(_, odds)| **odds > 0.0) {
            *sum += run.len() as f64 * log_evidence_of_odds(*odds);
        }
    }
}

impl Core {
    /// A primitive of which only the sums are known yet.
    pub(crate) fn of_sums(sums: Sums) -> Self {
        Self {
            id: 0,
            sums,
            mean: sums.mean(),
            uncertainty: 1.0,
            ln_uncertainty: 0.0,
            label: 0,
            muted: false,
            gone: false,
            changed: false,
            alive: true,
        }
    }
}
