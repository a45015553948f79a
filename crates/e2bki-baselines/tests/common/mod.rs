//! Small random clouds, and the update rules written once more in the plainest way: every voxel looks at every point.
// Each test program uses a part of this, and a test may fail loudly.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, clippy::expect_used)]

use std::collections::BTreeMap;

use e2bki::cluster::Rng;
use e2bki::kernel::sparse_kernel;
use e2bki::{ClassSet, Config, EvidentialPoints, Frame, Pose, Semantics};

/// A frame with owned arrays.
pub struct Cloud {
    pub points: Vec<[f32; 3]>,
    pub evidence: Vec<f32>,
    pub pose: Pose,
}

impl Cloud {
    /// Clumps of points around some centres, in a turned and moved frame; one clump in four is of mixed classes.
    pub fn random(seed: u64, count: usize, classes: usize, at: [f64; 3]) -> Self {
        let mut rng = Rng::new(seed);
        let pose = Pose::new([[0.8, -0.6, 0.0], [0.6, 0.8, 0.0], [0.0, 0.0, 1.0]], at).unwrap();
        let (mut points, mut evidence) = (Vec::new(), Vec::new());
        let (mut center, mut mixed, mut class) = ([0.0; 3], false, 0);
        for i in 0..count {
            if i % 9 == 0 {
                center = std::array::from_fn(|_| 2.5 * (rng.uniform() - 0.5));
                mixed = rng.below(4) == 0;
                class = rng.below(classes);
            }
            points.push(center.map(|v| (v + 0.5 * (rng.uniform() - 0.5)) as f32));
            let said = if mixed { rng.below(classes) } else { class };
            let strength = 30.0 * rng.uniform() + 0.2;
            evidence.extend((0..classes).map(|c| {
                let noise = if rng.below(2) == 0 { 0.1 * rng.uniform() } else { 0.0 };
                (noise + if c == said { strength } else { 0.0 }) as f32
            }));
        }
        Self { points, evidence, pose }
    }

    pub fn frame(&self) -> Frame<'_> {
        Frame {
            points: &self.points,
            semantics: Semantics::Evidence(&self.evidence),
            world_from_sensor: self.pose,
            scan: None,
        }
    }

    /// The points as a rule sees them: world position, label, beliefs, uncertainty.
    pub fn seen(&self, classes: usize, config: &Config) -> Vec<Seen> {
        let (points, _) = EvidentialPoints::from_frame(&self.frame(), classes, config).unwrap();
        (0..points.len())
            .map(|i| {
                let u = points.uncertainty(i);
                let odds = points.odds(i);
                Seen {
                    position: self.pose.apply(points.position[i].map(f64::from)),
                    label: points.label[i] as usize,
                    belief: odds.iter().map(|o| f64::from(*o) * u).collect(),
                    u,
                }
            })
            .collect()
    }
}

/// A point as a rule sees it.
#[derive(Clone)]
pub struct Seen {
    pub position: [f64; 3],
    pub label: usize,
    pub belief: Vec<f64>,
    pub u: f64,
}

impl Seen {
    pub fn probability(&self, class: usize) -> f64 {
        self.belief[class] + self.u / self.belief.len() as f64
    }

    /// Distance to a place, of the first axes only.
    pub fn distance(&self, to: [f64; 3], axes: usize) -> f64 {
        (0..axes).map(|a| (self.position[a] - to[a]).powi(2)).sum::<f64>().sqrt()
    }
}

/// A voxel's sums by class, by voxel index.
pub type Map = BTreeMap<[i64; 3], Vec<f64>>;

pub fn voxel_of(position: [f64; 3], resolution: f64, axes: usize) -> [i64; 3] {
    std::array::from_fn(|a| if a < axes { (position[a] / resolution).floor() as i64 } else { 0 })
}

pub fn center_of(voxel: [i64; 3], resolution: f64) -> [f64; 3] {
    voxel.map(|v| (v as f64 + 0.5) * resolution)
}

/// All voxels within `reach` voxels of a point, along every axis.
pub fn voxels_near(points: &[Seen], resolution: f64, reach: i64, axes: usize) -> Vec<[i64; 3]> {
    let mut voxels = std::collections::BTreeSet::new();
    for point in points {
        let [x, y, z] = voxel_of(point.position, resolution, axes);
        let up = if axes == 3 { reach } else { 0 };
        for dz in -up..=up {
            for dy in -reach..=reach {
                for dx in -reach..=reach {
                    voxels.insert([x + dx, y + dy, z + dz]);
                }
            }
        }
    }
    voxels.into_iter().collect()
}

/// α_c += Σ k(d, reach of the point) · weight of the class, over all points for every voxel.
pub fn kernel_map(
    points: &[Seen],
    config: &Config,
    axes: usize,
    reach: impl Fn(&Seen) -> f64,
    weight: impl Fn(&Seen, usize) -> f64,
) -> Map {
    let classes = points.first().map_or(0, |p| p.belief.len());
    let furthest = points.iter().map(&reach).fold(0.0, f64::max);
    let near = (furthest / config.views.resolution).ceil() as i64 + 1;
    let mut map = Map::new();
    for voxel in voxels_near(points, config.views.resolution, near, axes) {
        let center = center_of(voxel, config.views.resolution);
        let mut sums = vec![0.0; classes];
        for point in points {
            let k = sparse_kernel(point.distance(center, axes), reach(point));
            (0..classes).for_each(|c| sums[c] += k * weight(point, c));
        }
        if sums.iter().sum::<f64>() > 0.0 {
            map.insert(voxel, sums);
        }
    }
    map
}

pub fn one_hot(point: &Seen, class: usize) -> f64 {
    f64::from(u8::from(point.label == class))
}

pub fn classes(count: usize) -> ClassSet {
    ClassSet::from_names((0..count).map(|c| format!("class {c}"))).unwrap()
}
