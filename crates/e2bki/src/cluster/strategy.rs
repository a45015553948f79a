//! From a frame's points to groups of them, by the configured strategy, class by class.

use rayon::prelude::*;

use super::cells::cells;
use super::{farthest_point, kmeans_plus_plus, random_sample, split_wide};
use crate::config::{ClusterCount, Clustering, Config};
use crate::groups::Clusters;
use crate::input::EvidentialPoints;
use crate::pose::Pose;

/// Clusters a frame. Random choices depend on the seed, the frame's number and the class only.
pub fn cluster(points: &EvidentialPoints, world_from_sensor: &Pose, frame: u64, config: &Config) -> Clusters {
    if config.clustering.method == Clustering::Cells {
        let (side, is_sum) = (config.clustering.cell_size, config.cubes_of_sum().is_some());
        let numbers = cells(&points.position, &points.label, world_from_sensor, side, is_sum);
        let count = numbers.iter().max().map_or(0, |last| *last as usize + 1);
        let all: Vec<u32> = (0..points.len() as u32).collect();
        return Clusters::of_numbers(&all, &numbers, count);
    }
    let mut by_class = vec![Vec::new(); points.classes];
    for (i, label) in points.label.iter().enumerate() {
        by_class[usize::from(*label)].push(i as u32);
    }
    let sizes: Vec<usize> = by_class.iter().map(Vec::len).collect();
    let counts = clusters_per_class(&sizes, config);
    let parts: Vec<Clusters> = by_class
        .par_iter()
        .enumerate()
        .with_max_len(1)
        .map(|(class, members)| {
            cluster_class(points, members, counts[class], seed_of(config.run.seed, frame, class), config)
        })
        .collect();
    Clusters::concat(&parts)
}

fn cluster_class(points: &EvidentialPoints, members: &[u32], count: usize, seed: u64, config: &Config) -> Clusters {
    let positions: Vec<[f32; 3]> = members.iter().map(|i| points.position[*i as usize]).collect();
    let mut numbers = match config.clustering.method {
        Clustering::KMeans => kmeans_plus_plus(&positions, count, seed, config.clustering.kmeans_iterations),
        Clustering::Fps => farthest_point(&positions, count, seed),
        Clustering::Random => random_sample(&positions, count, seed),
        Clustering::Cells => vec![0; members.len()],
    };
    let count = split_wide(&positions, &mut numbers, config.widest_cluster() as f32);
    Clusters::of_numbers(members, &numbers, count as usize)
}

/// Clusters for each class (docs/method.md#number-of-clusters): at least one for a class that has points, and no more than
/// it has points for.
fn clusters_per_class(sizes: &[usize], config: &Config) -> Vec<usize> {
    let total: usize = sizes.iter().sum();
    let most = |size: usize| (size / config.clustering.min_points_per_cluster.max(1)).max(usize::from(size > 0));
    match config.clustering.count {
        ClusterCount::PerClass => sizes.iter().map(|size| config.clustering.clusters.min(most(*size))).collect(),
        ClusterCount::Points => {
            sizes.iter().map(|size| size.div_ceil(config.clustering.points_per_cluster).min(*size)).collect()
        }
        ClusterCount::Total => {
            let quota = |size: usize| config.clustering.clusters as f64 * size as f64 / total.max(1) as f64;
            let mut counts: Vec<usize> = sizes.iter().map(|size| quota(*size) as usize).collect();
            let mut order: Vec<usize> = (0..sizes.len()).filter(|class| sizes[*class] > 0).collect();
            // Largest remainders first; the lower class wins ties.
            order.sort_by(|a, b| quota(sizes[*b]).fract().total_cmp(&quota(sizes[*a]).fract()).then(a.cmp(b)));
            let spare = config.clustering.clusters.saturating_sub(counts.iter().sum());
            order.iter().take(spare).for_each(|class| counts[*class] += 1);
            for (count, size) in counts.iter_mut().zip(sizes) {
                *count = (*count).clamp(usize::from(*size > 0), most(*size));
            }
            // One for every class may exceed the total: take back from the largest.
            while counts.iter().sum::<usize>() > config.clustering.clusters {
                match counts.iter_mut().filter(|count| **count > 1).max() {
                    Some(largest) => *largest -= 1,
                    None => break,
                }
            }
            counts
        }
    }
}

fn seed_of(seed: u64, frame: u64, class: usize) -> u64 {
    seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ frame.wrapping_mul(0xbf58_476d_1ce4_e5b9) ^ (class as u64) << 48
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_total_is_split_by_points_with_one_for_every_class() {
        let config = Config::preset("paper-rellis").unwrap().with(|c| c.clustering.count = ClusterCount::Total);
        let counts = clusters_per_class(&[4000, 3000, 590, 9, 0, 1], &config);
        assert!(counts.iter().sum::<usize>() <= 256);
        assert_eq!((counts[3], counts[4], counts[5]), (1, 0, 1));
        assert!(counts[0] > counts[1] && counts[1] > counts[2]);
        let few = clusters_per_class(&[50, 50, 50], &config.with(|c| c.clustering.clusters = 2));
        assert_eq!(few, [1, 1, 1]);
    }

    #[test]
    fn the_papers_count_is_for_each_class_without_a_cap_or_an_extent() {
        let config = Config::preset("paper-rellis").unwrap();
        let sizes = [4000, 256, 257, 9, 0, 1];
        assert_eq!(clusters_per_class(&sizes, &config), [256, 256, 256, 9, 0, 1]);
        let capped = config.clone().with(|c| c.clustering.min_points_per_cluster = 4);
        assert_eq!(clusters_per_class(&sizes, &capped), [256, 64, 64, 2, 0, 1]);
        // Two points 40 m apart: one cluster where one is asked for, split by an extent, and always beyond 50 m.
        let mut points = EvidentialPoints { classes: 1, label: vec![0; 2], ..EvidentialPoints::default() };
        for (apart, extent, expected) in
            [(40.0, f64::INFINITY, 1), (40.0, 20.0, 2), (49.9, 1e6, 1), (50.1, f64::INFINITY, 2)]
        {
            points.position = vec![[0.0; 3], [apart, 0.0, 0.0]];
            let config = config.clone().with(|c| {
                c.clustering.clusters = 1;
                c.clustering.max_extent = extent;
            });
            assert_eq!(cluster(&points, &Pose::IDENTITY, 0, &config).len(), expected, "{apart} {extent}");
        }
    }

    #[test]
    fn every_strategy_partitions_the_points_by_class() {
        let mut points = EvidentialPoints { classes: 3, ..EvidentialPoints::default() };
        for i in 0..500_u32 {
            let t = i as f32 * 0.37;
            points.position.push([t.sin() * 9.0, t.cos() * 7.0, (t * 0.1).sin()]);
            points.label.push((i % 3) as u16);
        }
        for name in Clustering::NAMES {
            for counting in ClusterCount::NAMES {
                let mut config = Config::default().with(|c| c.clustering.max_extent = 5.0);
                config.set_text("clustering", name).unwrap();
                config.set_text("cluster_count", counting).unwrap();
                let clusters = cluster(&points, &Pose::IDENTITY, 3, &config);
                let mut seen = vec![false; 500];
                for c in 0..clusters.len() {
                    let members = clusters.members(c);
                    assert!(!members.is_empty());
                    for i in members {
                        assert!(!std::mem::replace(&mut seen[*i as usize], true));
                        assert_eq!(points.label[*i as usize], points.label[members[0] as usize]);
                    }
                }
                assert!(seen.iter().all(|s| *s), "{name} {counting}");
            }
        }
    }
}
