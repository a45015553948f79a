//! A small synthetic street for the tests: ground of two classes, a wall, poles and a bush, seen from a moving sensor.
// Each test program uses a part of this, and a test may fail loudly.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, clippy::expect_used)]

use e2bki::cluster::Rng;
use e2bki::{ClassSet, Config, Frame, FrameReport, Mapper, Pose, Semantics};

pub const CLASSES: usize = 5;

/// A frame with owned arrays.
pub struct OwnedFrame {
    pub points: Vec<[f32; 3]>,
    pub evidence: Vec<f32>,
    pub world_from_sensor: Pose,
}

impl OwnedFrame {
    pub fn borrow(&self) -> Frame<'_> {
        Frame {
            points: &self.points,
            semantics: Semantics::Evidence(&self.evidence),
            world_from_sensor: self.world_from_sensor,
            scan: None,
        }
    }
}

/// How many random cases a test tries: `E2BKI_CASES`, or so many.
pub fn cases(usual: u32) -> u32 {
    std::env::var("E2BKI_CASES").map_or(usual, |text| text.parse().expect("E2BKI_CASES is a number"))
}

pub fn classes() -> ClassSet {
    ClassSet::from_names(["road", "grass", "wall", "pole", "bush"]).unwrap()
}

pub fn mapper(config: &Config) -> Mapper {
    Mapper::new(classes(), config.clone()).unwrap()
}

/// World position and class of a random point of the street around `x`.
fn street(rng: &mut Rng, x: f64) -> ([f64; 3], usize) {
    let along = x + 24.0 * (rng.uniform() - 0.5);
    let noise = 0.02 * (rng.uniform() - 0.5);
    match rng.below(10) {
        0..=4 => {
            let y = 12.0 * (rng.uniform() - 0.5);
            ([along, y, noise], usize::from(y.abs() > 3.0))
        }
        5..=7 => ([along, 6.0 + noise, 3.0 * rng.uniform()], 2),
        8 => {
            let pole = (along / 4.0).floor() * 4.0;
            let angle = std::f64::consts::TAU * rng.uniform();
            ([pole + 0.1 * angle.cos(), 3.5 + 0.1 * angle.sin(), 4.0 * rng.uniform()], 3)
        }
        _ => {
            let bush = (along / 6.0).floor() * 6.0;
            let r = || 1.6 * 0.5;
            ([bush + r() * (rng.uniform() - 0.5), -5.0 + r() * (rng.uniform() - 0.5), r() * rng.uniform()], 4)
        }
    }
}

/// One frame of `count` points seen from `x` metres along the street; a tenth of the labels are wrong and say so weakly.
pub fn frame(seed: u64, x: f64, count: usize) -> OwnedFrame {
    let mut rng = Rng::new(seed);
    let world_from_sensor = Pose::new([[0.8, -0.6, 0.0], [0.6, 0.8, 0.0], [0.0, 0.0, 1.0]], [x, 0.0, 1.5]).unwrap();
    let (r, t) = (world_from_sensor.rotation(), world_from_sensor.translation());
    let mut points = Vec::new();
    let mut evidence = Vec::new();
    for _ in 0..count {
        let (world, class) = street(&mut rng, x);
        let d: [f64; 3] = std::array::from_fn(|i| world[i] - t[i]);
        points.push(std::array::from_fn(|i| (0..3).map(|k| r[k][i] * d[k]).sum::<f64>() as f32));
        let wrong = rng.below(10) == 0;
        let said = if wrong { rng.below(CLASSES) } else { class };
        let strength = if wrong { 3.0 } else { 20.0 };
        evidence.extend((0..CLASSES).map(|c| (rng.uniform() + if c == said { strength } else { 0.0 }) as f32));
    }
    OwnedFrame { points, evidence, world_from_sensor }
}

/// A drive of frames one metre apart.
pub fn drive(frames: usize, points: usize) -> Vec<OwnedFrame> {
    (0..frames).map(|i| frame(i as u64 + 1, i as f64, points)).collect()
}

pub fn map_of(frames: &[OwnedFrame], config: &Config) -> (Mapper, Vec<FrameReport>) {
    let mut map = mapper(config);
    let reports = frames.iter().map(|frame| map.insert(&frame.borrow()).unwrap()).collect();
    (map, reports)
}

/// Everything a map holds, bit for bit, but for ids, which files of sums do not keep: primitives, live voxels and beliefs at a few places.
pub fn fingerprint(map: &Mapper) -> Vec<u64> {
    let mut bits = Vec::new();
    for p in map.primitives() {
        bits.push(p.label() as u64);
        let s = p.sums();
        bits.extend(s.origin.map(|v| v as u64));
        bits.extend([s.weight, s.range].map(f64::to_bits));
        bits.extend(s.first.map(f64::to_bits));
        bits.extend(s.second.map(|v| v as u64));
        bits.extend(p.log_evidence().iter().map(|v| v.to_bits()));
        bits.extend(p.probability().iter().map(|v| u64::from(v.to_bits())));
    }
    for v in map.live_voxels() {
        bits.extend(v.center.map(f64::to_bits));
        bits.extend(belief_bits(&v.belief));
    }
    bits
}

pub fn belief_bits(b: &e2bki::Belief) -> [u64; 5] {
    [
        b.label().map_or(u64::MAX, |l| l as u64),
        b.evidence().to_bits(),
        b.confidence().to_bits(),
        b.variance().to_bits(),
        b.uncertainty().to_bits(),
    ]
}
