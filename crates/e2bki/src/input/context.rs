//! Context: what a point's neighbours in the scan believe, mixed into its own opinion.
//!
//! Neighbours were judged by the same network in the same picture, so that they are not independent witnesses: their
//! opinions are averaged (averaging fusion), never multiplied. b′ = (1−κ)b + κb̄ and u′ likewise, where b̄ is the mean over
//! the points of the cube around a point, and of the cubes around that with half the weight for each axis they are off.

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::EvidentialPoints;
use crate::cluster::number;
use crate::maths::{argmax, floor_i32};

/// Least ignorance that a mixed opinion keeps.
const LEAST: f32 = 1e-12;

impl EvidentialPoints {
    /// Mixes every opinion with the mean of its neighbourhood, with a share of `context`; labels follow the opinions.
    pub(super) fn mix_with_neighbours(&mut self, side: f32, context: f32, class_trust: f64) {
        let classes = self.classes;
        let cubes: Vec<[i32; 3]> =
            self.position.par_iter().with_min_len(4096).map(|p| p.map(|v| floor_i32(f64::from(v / side)))).collect();
        let (cell_of, cells) = number(&cubes);
        // Beliefs and the number of points of every cell.
        let mut sums = vec![0.0_f32; cells * (classes + 1)];
        let mut places = vec![[0; 3]; cells];
        for (point, cell) in cell_of.iter().enumerate() {
            let cell = *cell as usize;
            places[cell] = cubes[point];
            let odds = self.odds(point);
            let u = 1.0 / (1.0 + odds.iter().sum::<f32>());
            let sums = &mut sums[cell * (classes + 1)..][..classes + 1];
            sums.iter_mut().zip(odds).for_each(|(sum, odds)| *sum += odds * u);
            sums[classes] += 1.0;
        }
        let mode = std::env::var("CTX").unwrap_or_default();
        let at: FxHashMap<[i32; 3], u32> = places.iter().enumerate().map(|(i, place)| (*place, i as u32)).collect();
        let blur = |cell: usize| {
            let mut mean = vec![0.0_f32; classes + 1];
            let [x, y, z] = places[cell];
            for dz in -1..=1_i32 {
                for dy in -1..=1_i32 {
                    for dx in -1..=1_i32 {
                        let off = dx.abs() + dy.abs() + dz.abs();
                        let weight = match mode.as_str() { "0" => [1.0, 0.0, 0.0, 0.0], "6" => [1.0, 0.5, 0.0, 0.0], "full" => [1.0; 4], _ => [1.0, 0.5, 0.25, 0.125] }[off as usize];
                        if weight == 0.0 { continue; }
                        let Some(other) = at.get(&[x + dx, y + dy, z + dz]) else { continue };
                        let row = &sums[*other as usize * (classes + 1)..][..classes + 1];
                        mean.iter_mut().zip(row).for_each(|(mean, sum)| *mean += weight * sum);
                    }
                }
            }
            let count = mean[classes];
            mean.iter_mut().for_each(|mean| *mean /= count);
            mean
        };
        let means: Vec<Vec<f32>> = (0..cells).into_par_iter().with_min_len(256).map(blur).collect();
        // Points that share a row share its cell too.
        let rows = self.odds.len() / classes;
        let mut cell_of_row = vec![0; rows];
        for (point, cell) in cell_of.iter().enumerate() {
            cell_of_row[self.row(point)] = *cell;
        }
        let mut trust = vec![[0.0_f64; 2]; classes];
        for (point, cell) in cell_of.iter().enumerate() {
            let label = usize::from(self.label[point]);
            let mean = &means[*cell as usize];
            let total: f32 = mean[..classes].iter().sum();
            if total > 0.0 {
                trust[label][0] += f64::from(mean[label] / total);
                trust[label][1] += 1.0;
            }
        }
        let trust: Vec<f32> = trust.iter().map(|[a, n]| if *n > 0.0 { (a / n).powf(class_trust) as f32 } else { 1.0 }).collect();
        let mut labels = vec![0_u16; rows];
        self.odds.par_chunks_mut(classes).zip(&cell_of_row).zip(&mut labels).with_min_len(1024).for_each(
            |((odds, cell), label)| {
                let mean = &means[*cell as usize];
                let u = 1.0 / (1.0 + odds.iter().sum::<f32>());
                let mut total = 0.0;
                for ((odds, mean), trust) in odds.iter_mut().zip(mean).zip(&trust) {
                    *odds = trust * ((1.0 - context) * *odds * u + context * mean);
                    total += *odds;
                }
                let per_ignorance = 1.0 / (1.0 - total).max(LEAST);
                odds.iter_mut().for_each(|odds| *odds *= per_ignorance);
                *label = argmax(odds) as u16;
            },
        );
        for point in 0..self.len() {
            self.label[point] = labels[self.row(point)];
        }
    }
}
