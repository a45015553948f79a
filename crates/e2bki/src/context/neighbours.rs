//! Neighbours: what a point's neighbours in the scan believe, mixed into its own opinion.
//!
//! Neighbours were judged by the same network in the same picture, so that they are not independent witnesses: their
//! opinions are averaged, never multiplied. b′ = (1−κ)b + κb̄ and u′ likewise, where b̄ is the mean over the points of
//! the cube around a point and, with half the weight, of the six cubes that touch its faces. Classes are weighted by
//! their trust in the same pass. Labels follow b′.

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::cubes::Cubes;
use crate::groups::Clusters;
use crate::input::EvidentialPoints;
use crate::keys::VoxelKey;
use crate::maths::argmax;

/// Least ignorance that a mixed opinion keeps.
const LEAST: f32 = 1e-12;

/// A cube and those that touch its faces, with their weights.
const CUBES: [([i32; 3], f32); 7] = [
    ([0, 0, 0], 1.0),
    ([-1, 0, 0], 0.5),
    ([1, 0, 0], 0.5),
    ([0, -1, 0], 0.5),
    ([0, 1, 0], 0.5),
    ([0, 0, -1], 0.5),
    ([0, 0, 1], 0.5),
];

impl EvidentialPoints {
    /// Mixes every opinion with those of its neighbourhood, with a share of `context`; weighs classes by their `trust`.
    /// `of_rows` has the cube of every row of odds, and how many points share the row.
    pub(super) fn mix_with_neighbours(&mut self, cubes: &Cubes, of_rows: &[(u32, u32)], context: f32, trust: &[f32]) {
        let (classes, places) = (self.classes, &cubes.numbers.keys);
        let all: Vec<u32> = (0..of_rows.len() as u32).collect();
        let cube_of_row: Vec<u32> = of_rows.iter().map(|(cube, _)| *cube).collect();
        let rows_of = Clusters::of_numbers(&all, &cube_of_row, places.len());
        // Beliefs of every cube, and how many points have them.
        let stride = classes + 1;
        let mut sums = vec![0.0_f32; places.len() * stride];
        sums.par_chunks_mut(stride).enumerate().with_min_len(512).for_each(|(cube, sums)| {
            for row in rows_of.members(cube) {
                let odds = &self.odds[*row as usize * classes..][..classes];
                let points = of_rows[*row as usize].1 as f32;
                let scale = points / (1.0 + odds.iter().sum::<f32>());
                sums.iter_mut().zip(odds).for_each(|(sum, odds)| *sum += scale * odds);
                sums[classes] += points;
            }
        });
        // Found by a short hash: every cube asks for seven.
        let at: FxHashMap<VoxelKey, u32> = places.iter().map(|place| VoxelKey(*place)).zip(0..).collect();
        let mut means = vec![0.0_f32; places.len() * stride];
        means.par_chunks_mut(stride).zip(places).with_min_len(512).for_each(|(mean, place)| {
            for (offset, weight) in CUBES {
                let neighbour = VoxelKey(std::array::from_fn(|axis| place[axis].wrapping_add(offset[axis])));
                let Some(cube) = at.get(&neighbour) else { continue };
                let sums = &sums[*cube as usize * stride..][..stride];
                mean.iter_mut().zip(sums).for_each(|(mean, sum)| *mean += weight * sum);
            }
            let share = 1.0 / mean[classes];
            mean.iter_mut().for_each(|mean| *mean *= share);
        });
        let mut labels = vec![0_u16; of_rows.len()];
        let mixed = self.odds.par_chunks_mut(classes).zip(of_rows).zip(&mut labels).with_min_len(1024);
        mixed.for_each(|((odds, (cube, _)), label)| {
            mix(odds, &means[*cube as usize * stride..][..classes], context, trust);
            *label = argmax(odds) as u16;
        });
        self.relabel(labels);
    }
}

/// Mixes odds with mean beliefs.
fn mix(odds: &mut [f32], mean: &[f32], context: f32, trust: &[f32]) {
    let own = (1.0 - context) / (1.0 + odds.iter().sum::<f32>());
    let (mut total, mut trusted) = (0.0, 0.0);
    for ((odds, mean), trust) in odds.iter_mut().zip(mean).zip(trust) {
        let belief = own * *odds + context * mean;
        total += belief;
        *odds = trust * belief;
        trusted += *odds;
    }
    if trusted > 0.0 {
        let scale = total / trusted / (1.0 - total).max(LEAST);
        odds.iter_mut().for_each(|odds| *odds *= scale);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, Frame, Pose, Semantics};

    fn points(places: &[[f32; 3]], labels: &[u32], config: &Config) -> EvidentialPoints {
        let frame = Frame {
            points: places,
            semantics: Semantics::Labels(labels),
            world_from_sensor: Pose::IDENTITY,
            scan: None,
        };
        EvidentialPoints::from_frame(&frame, 3, config).unwrap().0
    }

    #[test]
    fn a_point_among_many_others_follows_them_and_a_lonely_one_does_not() {
        let mut places: Vec<[f32; 3]> = (0..20).map(|i| [5.05 + 0.01 * i as f32, 0.1, 0.1]).collect();
        places.push([9.0, 0.1, 0.1]);
        let mut labels = vec![0; 20];
        (labels[7], labels[13]) = (1, 1);
        labels.push(2);
        let of = |context: f64| {
            points(
                &places,
                &labels,
                &Config::default().with(|c| {
                    c.input.context = context;
                    c.input.class_trust = 0.0;
                }),
            )
        };
        let (alone, mixed) = (of(0.0), of(0.8));
        assert!(alone.label[7] == 1 && mixed.label[7] == 0 && mixed.label[13] == 0);
        assert_eq!((mixed.label[0], mixed.label[20]), (0, 2));
        // Averaging makes nobody surer than the surest, and leaves a lonely point as it was.
        let least = (0..21).map(|i| alone.uncertainty(i)).fold(1.0, f64::min);
        assert!((0..21).all(|i| mixed.uncertainty(i) >= least - 1e-6));
        assert!((mixed.uncertainty(20) - alone.uncertainty(20)).abs() < 1e-6);
    }

    #[test]
    fn learned_weights_move_belief_between_classes_and_make_no_ignorance() {
        let (places, weights) = ([[3.0, 0.1, 0.1], [9.0, 0.1, 0.1]], [0.25, 1.0, 2.0]);
        let evidence = [6.0, 3.0, 0.0, 1.0, 1.0, 4.0];
        let frame = Frame {
            points: &places,
            semantics: Semantics::Evidence(&evidence),
            world_from_sensor: Pose::IDENTITY,
            scan: None,
        };
        for context in [0.0, 0.8] {
            let plain = Config::default().with(|c| {
                c.input.context = context;
                c.input.class_trust = 0.0;
            });
            let weighted =
                plain.clone().with(|c| c.input.class_weights = crate::config::ClassFactors::new(weights.to_vec()));
            let of = |config: &Config| EvidentialPoints::from_frame(&frame, 3, config).unwrap().0;
            let (a, b) = (of(&plain), of(&weighted));
            for i in 0..2 {
                let shares: Vec<f32> = a.odds(i).iter().zip(weights).map(|(odds, weight)| odds * weight).collect();
                let scale = a.odds(i).iter().sum::<f32>() / shares.iter().sum::<f32>();
                let fits = |(found, share): (&f32, &f32)| (found - share * scale).abs() < 1e-4;
                assert!(b.odds(i).iter().zip(&shares).all(fits), "{:?} {shares:?}", b.odds(i));
                assert!((a.uncertainty(i) - b.uncertainty(i)).abs() < 1e-6);
            }
            assert_eq!((a.label[0], b.label[0]), (0, 1));
        }
    }

    #[test]
    fn means_match_a_brute_force_over_all_pairs() {
        let places: Vec<[f32; 3]> = (0..60)
            .map(|i| [3.0 + (i * 7 % 13) as f32 * 0.11, (i * 5 % 11) as f32 * 0.13, (i % 4) as f32 * 0.2])
            .collect();
        let evidence: Vec<f32> = (0..180).map(|i| (i * 37 % 19) as f32 * 0.4).collect();
        let frame = Frame {
            points: &places,
            semantics: Semantics::Evidence(&evidence),
            world_from_sensor: Pose::IDENTITY,
            scan: None,
        };
        let config = Config::default().with(|c| {
            c.input.context = 0.6;
            c.input.class_trust = 0.0;
        });
        let plain = EvidentialPoints::from_frame(&frame, 3, &config.clone().with(|c| c.input.context = 0.0)).unwrap().0;
        let mixed = EvidentialPoints::from_frame(&frame, 3, &config).unwrap().0;
        let side = config.input.label_neighbourhood as f32;
        let cube = |p: [f32; 3]| p.map(|v| (v / side).floor() as i32);
        let beliefs = |of: &EvidentialPoints, i: usize| -> [f64; 3] {
            std::array::from_fn(|c| f64::from(of.odds(i)[c]) * of.uncertainty(i))
        };
        assert_eq!(plain.len(), mixed.len());
        for i in 0..plain.len() {
            let (mut mean, mut total) = ([0.0; 3], 0.0);
            for j in 0..plain.len() {
                let (a, b) = (cube(plain.position[i]), cube(plain.position[j]));
                let off: Vec<i32> = (0..3).map(|axis| (a[axis] - b[axis]).abs()).collect();
                if off.iter().sum::<i32>() <= 1 {
                    let weight = 0.5_f64.powi(off.iter().sum());
                    (0..3).for_each(|c| mean[c] += weight * beliefs(&plain, j)[c]);
                    total += weight;
                }
            }
            for c in 0..3 {
                let expected = 0.4 * beliefs(&plain, i)[c] + 0.6 * mean[c] / total;
                assert!((beliefs(&mixed, i)[c] - expected).abs() < 1e-5, "{i} {c}");
            }
        }
    }
}
