//! Disturbed input: poses and camera calibrations that are a little wrong.

use anyhow::{Context as _, Result};
use e2bki::cluster::Rng;
use e2bki::{Beliefs, Cells, ClassSet, Frame, FrameReport, Pose, SemanticMapper, Voxels};
use e2bki_eval::{LabelledFrame, Said};
use rustc_hash::FxHashMap;

/// One sigma of every coordinate and angle of a pose.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PoseNoise {
    pub(super) position_m: f64,
    pub(super) angle_rad: f64,
}

/// A map whose frames come with wrong poses; it is asked about the true world.
pub(super) struct Displaced {
    pub(super) map: Box<dyn SemanticMapper>,
    pub(super) noise: PoseNoise,
    /// Frames so far: every method gets the same error for the same frame.
    pub(super) frames: u64,
}

impl Displaced {
    /// The error of the next pose: a small rotation, then a shift.
    fn error(&self) -> e2bki::Result<Pose> {
        let mut rng = Rng::new(0x90e ^ self.frames);
        // Twelve uniform values less six: a normal one, near enough.
        let mut normal = || (0..12).map(|_| rng.uniform()).sum::<f64>() - 6.0;
        let [a, b, c] = std::array::from_fn(|_| self.noise.angle_rad * normal());
        let shift = std::array::from_fn(|_| self.noise.position_m * normal());
        let about = |i: usize, j: usize, angle: f64| {
            let mut m = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
            (m[i][i], m[j][j], m[i][j], m[j][i]) = (angle.cos(), angle.cos(), -angle.sin(), angle.sin());
            Pose::new(m, [0.0; 3])
        };
        Pose::from_translation(shift)?.after(&about(0, 1, a)?.after(&about(1, 2, b)?.after(&about(2, 0, c)?)?)?)
    }
}

impl SemanticMapper for Displaced {
    fn insert(&mut self, frame: &Frame<'_>) -> e2bki::Result<FrameReport> {
        let world_from_sensor = frame.world_from_sensor.after(&self.error()?)?;
        self.frames += 1;
        self.map.insert(&Frame { world_from_sensor, ..*frame })
    }

    fn classes(&self) -> &ClassSet {
        self.map.classes()
    }

    fn resolution(&self) -> f64 {
        self.map.resolution()
    }

    fn query(&self, points: &[[f64; 3]]) -> e2bki::Result<Beliefs> {
        self.map.query(points)
    }

    fn query_voxels(&self, points: &[[f64; 3]]) -> e2bki::Result<Beliefs> {
        self.map.query_voxels(points)
    }

    fn query_bev(&self, points: &[[f64; 2]]) -> e2bki::Result<Beliefs> {
        self.map.query_bev(points)
    }

    fn query_bev_points(&self, points: &[[f64; 2]]) -> e2bki::Result<Beliefs> {
        self.map.query_bev_points(points)
    }

    fn voxels(&self) -> e2bki::Result<Voxels> {
        self.map.voxels()
    }

    fn bev(&self) -> e2bki::Result<Cells> {
        self.map.bev()
    }

    fn byte_size(&self) -> usize {
        self.map.byte_size()
    }
}

/// Directions are looked up in a grid of this many radians.
const STEP: f64 = 0.008;

/// The frame as a camera that is turned sideways by an angle, and up by half of it, without anybody knowing: every point
/// gets the opinion of the point that appears nearest to where it is thought to be. Points that would lie outside of
/// the picture keep theirs.
pub(super) fn miscalibrated(frame: &LabelledFrame, classes: usize, angle_rad: f64) -> Result<LabelledFrame> {
    let Said::Evidence(evidence) = &frame.said else { anyhow::bail!("only evidence can be moved in the picture") };
    let directions: Vec<[f64; 2]> = frame
        .points
        .iter()
        .map(|p| {
            let [x, y, z] = p.map(f64::from);
            [y.atan2(x), z.atan2((x * x + y * y).sqrt())]
        })
        .collect();
    let cell = |d: [f64; 2]| d.map(|v| (v / STEP).floor() as i32);
    let mut grid: FxHashMap<[i32; 2], Vec<usize>> = FxHashMap::default();
    for (i, direction) in directions.iter().enumerate() {
        grid.entry(cell(*direction)).or_default().push(i);
    }
    let mut moved = Vec::with_capacity(evidence.len());
    for (i, [azimuth, elevation]) in directions.iter().enumerate() {
        let wanted = [azimuth + angle_rad, elevation + 0.5 * angle_rad];
        let [column, row] = cell(wanted);
        let around = (-1..=1).flat_map(|a| (-1..=1).map(move |b| [column + a, row + b]));
        let away = |k: &usize| (0..2).map(|axis| (directions[*k][axis] - wanted[axis]).powi(2)).sum::<f64>();
        let nearest = around
            .filter_map(|cell| grid.get(&cell))
            .flatten()
            .copied()
            .min_by(|a, b| away(a).total_cmp(&away(b)).then(a.cmp(b)));
        let from = nearest.unwrap_or(i);
        moved.extend_from_slice(evidence.get(from * classes..(from + 1) * classes).context("evidence is missing")?);
    }
    Ok(LabelledFrame { said: Said::Evidence(moved), ..frame.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turned_camera_gives_points_the_opinion_of_those_beside_them() {
        // A wall 10 m ahead whose left half is of class 0 and whose right half is of class 1.
        let points: Vec<[f32; 3]> = (0..200).map(|i| [10.0, 0.02 * i as f32 - 2.0, 0.0]).collect();
        let truth: Vec<u32> = (0..200).map(|i| u32::from(i >= 100)).collect();
        let evidence: Vec<f32> = truth.iter().flat_map(|t| if *t == 0 { [9.0, 0.0] } else { [0.0, 9.0] }).collect();
        let frame = LabelledFrame { points, truth, said: Said::Evidence(evidence), world_from_sensor: Pose::IDENTITY };
        assert_eq!(miscalibrated(&frame, 2, 0.0).unwrap(), frame);
        let moved = miscalibrated(&frame, 2, 0.02).unwrap();
        let wrong = (0..200).filter(|i| moved.opinion(*i, 2).unwrap().0 != frame.truth[*i] as usize).count();
        // 0.02 rad at 10 m are 0.2 m, ten points.
        assert!((9..=11).contains(&wrong), "{wrong}");
    }

    #[test]
    fn every_map_gets_the_same_pose_errors() {
        let classes = ClassSet::from_names(["a", "b"]).unwrap();
        let noise = PoseNoise { position_m: 0.1, angle_rad: 0.01 };
        let map = || -> Box<dyn SemanticMapper> {
            Box::new(e2bki::Mapper::new(classes.clone(), e2bki::Config::default()).unwrap())
        };
        let (mut a, b) = (Displaced { map: map(), noise, frames: 0 }, Displaced { map: map(), noise, frames: 0 });
        let first = a.error().unwrap();
        assert_eq!(first, b.error().unwrap());
        a.frames = 1;
        assert_ne!(first, a.error().unwrap());
        let size = first.translation().iter().map(|v| v * v).sum::<f64>().sqrt();
        assert!(size > 0.0 && size < 0.6, "{size}");
    }
}
