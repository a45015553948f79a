//! Loss of a batch and its gradient.

use rayon::prelude::*;

use super::options::Void;
use super::samples::class_of;
use crate::loss::{Loss, PixelLoss};
use crate::network::Tensor;

/// Pixels per chunk; sums are made chunk by chunk, so they do not depend on the number of threads.
const CHUNK: usize = 4096;

/// Mean loss of a batch's pixels, and its gradient. As in the paper, data term and divergence are both means over all
/// pixels that have either; `weight` is that of the divergence.
pub(super) fn loss(outputs: &Tensor, labels: &[u16], loss: Loss, void: Void, weight: f64) -> (PixelLoss, Tensor) {
    let (classes, plane) = (outputs.channels, outputs.plane());
    let counted = |label: u16| class_of(label, classes).is_some() || void == Void::Unsure;
    let count = labels.iter().filter(|label| counted(**label)).count().max(1) as f64;
    // Pixel by pixel, then transposed to channels.
    let mut rows = vec![0.0_f32; classes * plane];
    let chunks = rows.par_chunks_mut(CHUNK * classes).zip(labels.par_chunks(CHUNK)).enumerate();
    let of_chunk = |(chunk, (rows, labels)): (usize, (&mut [f32], &[u16]))| {
        let (mut x, mut g) = (vec![0.0_f32; classes], vec![0.0_f64; classes]);
        let mut sum = PixelLoss::default();
        for (i, (row, label)) in rows.chunks_exact_mut(classes).zip(labels).enumerate() {
            if !counted(*label) {
                continue;
            }
            let at = chunk * CHUNK + i;
            for (c, x) in x.iter_mut().enumerate() {
                *x = outputs.values[c * plane + at];
            }
            let one = loss.pixel(&x, class_of(*label, classes), weight, &mut g);
            sum.data += one.data;
            sum.divergence += one.divergence;
            for (row, g) in row.iter_mut().zip(&g) {
                *row = (g / count) as f32;
            }
        }
        sum
    };
    let sums: Vec<PixelLoss> = chunks.map(of_chunk).collect();
    let mut gradient = outputs.like(classes);
    gradient.values.par_chunks_mut(plane).enumerate().for_each(|(c, channel)| {
        for (g, row) in channel.iter_mut().zip(rows.chunks_exact(classes)) {
            *g = row[c];
        }
    });
    let mean = |value: fn(&PixelLoss) -> f64| sums.iter().map(value).sum::<f64>() / count;
    (PixelLoss { data: mean(|s| s.data), divergence: mean(|s| s.divergence) }, gradient)
}
