//! The drives, with a network's labels, and what may be wrong with them.

use anyhow::Result;
use e2bki::Pose;
use e2bki::free::Sensor;
use e2bki::random::Rng;
use e2bki_sim::{Drive, DriveOptions, ErrorModel, Sensor as Simulated, WorldKind};

/// One frame: all returns.
pub(super) struct Frame {
    pub(super) points: Vec<[f32; 3]>,
    pub(super) truth: Vec<u8>,
    pub(super) label: Vec<u8>,
    pub(super) moving: Vec<bool>,
    pub(super) pose: Pose,
    pub(super) true_pose: Pose,
    /// Where its beams came from, in the world.
    pub(super) origin: [f64; 3],
}

impl Frame {
    pub(super) fn world(&self, i: usize) -> [f64; 3] {
        self.pose.apply(self.points[i].map(f64::from))
    }

    pub(super) fn range(&self, i: usize) -> f64 {
        let [x, y, z] = self.points[i].map(f64::from);
        (x * x + y * y + z * z).sqrt()
    }
}

/// Names of the classes, frames and sensor of a drive.
pub(super) struct Recorded {
    pub(super) names: Vec<&'static str>,
    pub(super) frames: Vec<Frame>,
    pub(super) sensor: Sensor,
}

impl Recorded {
    pub(super) fn is(&self, label: u8, names: &[&str]) -> bool {
        self.names.get(usize::from(label)).is_some_and(|name| names.contains(name))
    }
}

/// Drives through a simulated town.
pub(super) fn record(seed: u64, frames: usize, columns: usize) -> Result<Recorded> {
    let mut options = DriveOptions::new(WorldKind::Urban, seed, Simulated::Hdl64e);
    options.columns = Some(columns);
    let drive = Drive::new(options)?;
    let errors = ErrorModel::for_drive(&drive, 0.3)?;
    let classes = drive.classes().len();
    let frames = (0..frames)
        .map(|index| {
            let frame = drive.frame(index);
            let evidence = errors.evidence(&frame);
            let label = evidence.chunks_exact(classes).map(|row| e2bki::maths::argmax(row) as u8).collect();
            let pose = Pose::from_matrix(frame.world_from_sensor)?;
            let (points, truth, moving) = (frame.points, frame.labels, frame.moving);
            Ok(Frame { points, truth, label, moving, pose, true_pose: pose, origin: pose.translation() })
        })
        .collect::<Result<Vec<_>>>()?;
    let sensor = Sensor::named("hdl-64e")?.with_columns(columns)?;
    Ok(Recorded { names: drive.classes().iter().map(|class| class.name).collect(), frames, sensor })
}

/// The same drive with poses that are wrong by so much, every frame by itself.
pub(super) fn with_noise(recorded: &mut Recorded, metres: f64, degrees: f64) -> Result<()> {
    let mut random = Rng::new(1);
    // The sum of twelve uniform numbers.
    let mut normal = || (0..12).map(|_| random.uniform()).sum::<f64>() - 6.0;
    for frame in &mut recorded.frames {
        let [a, b, c]: [f64; 3] = std::array::from_fn(|_| degrees.to_radians() * normal());
        let turn = Pose::new([[1.0, -c, b], [c, 1.0, -a], [-b, a, 1.0]], [0.0; 3])?;
        let turned = frame.true_pose.after(&turn)?;
        frame.pose = Pose::new(turned.rotation(), turned.translation().map(|v| v + metres * normal()))?;
    }
    Ok(())
}

/// The same drive as from poses that are off by so much along the way, forwards and backwards, with returns that are where they
/// were: as where the motion of a turn was undone, and beams came from elsewhere than the scan's one origin.
pub(super) fn with_other_origin(recorded: &mut Recorded, metres: f64) -> Result<()> {
    let places: Vec<[f64; 3]> = recorded.frames.iter().map(|frame| frame.origin).collect();
    for (number, frame) in recorded.frames.iter_mut().enumerate() {
        let last = (number + 1).min(places.len() - 1).max(1);
        let way: [f64; 3] = std::array::from_fn(|i| places[last][i] - places[last - 1][i]);
        let length = way.iter().map(|v| v * v).sum::<f64>().sqrt().max(f64::MIN_POSITIVE);
        // Mapped frames and those that are asked about are every other one: pairs of both.
        let side = if number / 2 % 2 == 0 { metres } else { -metres };
        let there = std::array::from_fn(|i| frame.pose.translation()[i] + side * way[i] / length);
        let moved = Pose::new(frame.pose.rotation(), there)?;
        let back = moved.inverse();
        for i in 0..frame.points.len() {
            frame.points[i] = back.apply(frame.world(i)).map(|v| v as f32);
        }
        (frame.pose, frame.true_pose) = (moved, moved);
    }
    Ok(())
}

/// The same drive seen by every `step`-th beam.
pub(super) fn with_fewer_beams(recorded: &mut Recorded, step: usize) -> Result<()> {
    let beams: Vec<f64> = recorded.sensor.elevations().iter().map(|e| f64::from(*e).to_degrees()).collect();
    for frame in &mut recorded.frames {
        let keep: Vec<bool> = (0..frame.points.len())
            .map(|i| {
                let elevation = (f64::from(frame.points[i][2]) / frame.range(i)).asin().to_degrees();
                let off = |row: &usize| (beams[*row] - elevation).abs();
                (0..beams.len()).min_by(|a, b| off(a).total_cmp(&off(b))).is_some_and(|row| row % step == 0)
            })
            .collect();
        let mut kept = keep.iter();
        frame.points.retain(|_| *kept.next().unwrap_or(&false));
        for list in [&mut frame.truth, &mut frame.label] {
            let mut kept = keep.iter();
            list.retain(|_| *kept.next().unwrap_or(&false));
        }
        let mut kept = keep.iter();
        frame.moving.retain(|_| *kept.next().unwrap_or(&false));
    }
    let fewer: Vec<f64> = beams.into_iter().step_by(step).collect();
    recorded.sensor = Sensor::new(&fewer, recorded.sensor.columns())?;
    Ok(())
}
