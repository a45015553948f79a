//! How far each stage is from what the machine can do: the bytes it must move at least (everything read and written
//! once) and the operations it does, against measured bandwidth and arithmetic.

use std::time::Instant;

use anyhow::Result;
use e2bki::{ClassSet, Config};
use e2bki_eval::{LabelledFrame, Said};
use rayon::prelude::*;
use serde_json::{Value, json};

use super::measure::{Measured, every_frame};
use crate::table;

/// Operations per kernel value: rotation, 2.7 Newton steps of 30, distance and polynomial, four sums of mass times share.
const PER_KERNEL_VALUE: f64 = 140.0;
/// Operations per point summed into a primitive: transform, moments, range.
const PER_POINT: f64 = 45.0;
/// Operations per primitive derived anew: eigenvectors, form, opinion (and ten per class).
const PER_PRIMITIVE: f64 = 400.0;
/// Bytes of an index record.
const RECORD: f64 = 36.0;

pub(super) fn run(scans: &[LabelledFrame], classes: &ClassSet, threads: usize, repeats: usize) -> Result<Value> {
    let config = every_frame(&Config::default(), threads);
    let measured = Measured::new(scans, classes, &config, repeats)?;
    let (bandwidth, peak) = (bandwidth(), peak());
    let of = |value: fn(&e2bki::FrameReport) -> usize| measured.median(|report| value(report) as f64);
    let (points, clusters, folded) = (of(|r| r.kept), of(|r| r.clusters), of(|r| r.folded));
    let (voxels, values) = (of(|r| r.voxels_updated), of(|r| r.kernel_values));
    let (count, per_class) = (measured.map.len() as f64, classes.len() as f64);
    let primitive = measured.map.byte_size().primitives as f64 / count.max(1.0);
    let semantics = if matches!(scans[0].said, Said::Labels(_)) { 4.0 } else { 4.0 * per_class };
    // Bytes and operations of each stage, in the order of the stages.
    let model = [
        (points * (12.0 + semantics + 20.0), points * 10.0),
        (points * 32.0, points * 10.0),
        (points * 20.0 + clusters * primitive, points * PER_POINT + clusters * 10.0 * per_class),
        (
            folded * 3.0 * primitive + (clusters - folded) * 2.0 * primitive + clusters * 2.0 * RECORD,
            clusters * (PER_PRIMITIVE + 10.0 * per_class),
        ),
        (clusters * RECORD * 27.0, 0.0),
        (count * (100.0 + 4.0 * per_class) + voxels * 32.0, values * PER_KERNEL_VALUE),
    ];
    let heading = ["roofline: stage", "ms", "MB", "GB/s", "% of copy", "Gflop/s", "% of peak", "least ms"];
    let mut rows = vec![heading.map(str::to_string).to_vec()];
    let mut stages = Vec::new();
    for ((stage, ms), (bytes, operations)) in measured.stages().into_iter().zip(model) {
        let (moved, done) = (bytes / ms / 1e6, operations / ms / 1e6);
        let least = 1e3 * (bytes / bandwidth).max(operations / peak);
        let numbers = [ms, bytes / 1e6, moved, 1e11 * moved / bandwidth, done, 1e11 * done / peak, least];
        rows.push(std::iter::once(stage.to_string()).chain(numbers.map(|v| format!("{v:.1}"))).collect());
        stages.push(
            json!({"stage": stage, "median_ms": ms, "model_bytes": bytes, "operations": operations, "least_ms": least}),
        );
    }
    table::print(&rows)?;
    table::line(&format!(
        "this machine, {}: copies {:.1} GB/s, multiplies and adds {:.0} Gflop/s (f32); {:.0} points, {:.0} clusters, {:.0} \
         kernel values a frame\n",
        if threads == 0 { "all cores".into() } else { format!("{threads} threads of the frame, all cores here") },
        bandwidth / 1e9,
        peak / 1e9,
        points,
        clusters,
        values
    ))?;
    Ok(json!({"name": "roofline", "copy_bytes_per_second": bandwidth, "flops_per_second": peak, "stages": stages}))
}

/// Bytes read and written per second by a copy of 256 MB, all cores.
fn bandwidth() -> f64 {
    const WORDS: usize = 32 << 20;
    const PART: usize = 1 << 16;
    let from: Vec<u64> = (0..WORDS as u64).collect();
    let mut to = vec![1_u64; WORDS];
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let start = Instant::now();
        to.par_chunks_mut(PART).zip(from.par_chunks(PART)).for_each(|(to, from)| to.copy_from_slice(from));
        best = best.min(start.elapsed().as_secs_f64());
        std::hint::black_box(&to);
    }
    (2 * 8 * WORDS) as f64 / best
}

/// f32 operations per second of fused multiply-adds in the widest vectors that the engine uses, all cores.
fn peak() -> f64 {
    const ROUNDS: usize = 4_000_000;
    let cores = rayon::current_num_threads();
    let mut best = f64::INFINITY;
    let mut lanes = 1;
    for _ in 0..5 {
        let start = Instant::now();
        let widths: Vec<usize> =
            (0..cores).into_par_iter().map(|_| pulp::Arch::new().dispatch(Chains(ROUNDS))).collect();
        best = best.min(start.elapsed().as_secs_f64());
        lanes = widths[0];
    }
    (cores * ROUNDS * Chains::COUNT * lanes * 2) as f64 / best
}

/// Independent chains of multiply-adds, enough to keep every unit busy; returns the lanes of a vector.
struct Chains(usize);

impl Chains {
    const COUNT: usize = 12;
}

impl pulp::WithSimd for Chains {
    type Output = usize;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, simd: S) -> usize {
        // Values that the compiler cannot know, so that it must do the work.
        let (factor, term) = std::hint::black_box((simd.splat_f32s(0.999), simd.splat_f32s(0.001)));
        let mut sums = [simd.splat_f32s(1.0); Self::COUNT];
        for i in 0..Self::COUNT {
            sums[i] = simd.splat_f32s(std::hint::black_box(i as f32));
        }
        for _ in 0..self.0 {
            for i in 0..Self::COUNT {
                sums[i] = simd.mul_add_f32s(sums[i], factor, term);
            }
        }
        std::hint::black_box(sums);
        S::F32_LANES
    }
}
