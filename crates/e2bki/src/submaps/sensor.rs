//! Whether corrected poses are of the sensor that frames were seen by, or of something else on the same robot: poses of a
//! camera have every step of the drive as long, and in another direction.

use std::collections::BTreeMap;

use super::ledger::Submaps;
use super::record::Submap;
use crate::pose::Pose;

/// Steps of the drive that are compared are at least this long, metres: directions of shorter ones are noise.
const STEP_M: f64 = 1.0;
/// A shorter drive says nothing, metres.
const DRIVE_M: f64 = 10.0;
/// Poses of the same drive have steps as long as the frames', to this share, and as straight.
const SAME: f64 = 0.1;
/// No correction turns all steps of a drive by this angle, degrees.
const TURNED_DEG: f64 = 20.0;

impl Submaps {
    /// The angle in degrees by which corrected poses of frames, of one source or of all, are turned all along the drive, if
    /// they are plainly those of another sensor.
    pub fn turned_frames(&self, source: Option<&str>, poses: &BTreeMap<u64, Pose>) -> Option<f64> {
        let submaps = self.all.iter().filter(|submap| source.is_none_or(|source| submap.source == source));
        let frames = submaps.flat_map(|submap| &submap.frames);
        turned(frames.filter_map(|frame| Some((frame.world_from_sensor, *poses.get(&frame.number)?))))
    }

    /// The same for corrected poses of submaps.
    pub fn turned_submaps(&self, poses: &BTreeMap<u32, Pose>) -> Option<f64> {
        turned(poses.iter().filter_map(|(id, pose)| Some((self.get(*id).map(Submap::anchor)?, *pose))))
    }
}

/// The same for poses along a drive: as they were, and as they are given.
fn turned(mut poses: impl Iterator<Item = (Pose, Pose)>) -> Option<f64> {
    let (mut was, mut is) = poses.next()?;
    // Σ of the steps as the sensor sees them, of their lengths, and of the differences of these.
    let (mut before, mut after, mut way, mut other) = ([0.0; 3], [0.0; 3], 0.0, 0.0);
    for (next_was, next_is) in poses {
        let (a, b) = (step(&was, &next_was), step(&is, &next_is));
        if length(a) < STEP_M {
            continue;
        }
        for i in 0..3 {
            before[i] += a[i];
            after[i] += b[i];
        }
        way += length(a);
        other += (length(a) - length(b)).abs();
        (was, is) = (next_was, next_is);
    }
    let straight = length(before) > 0.5 * way && (length(before) - length(after)).abs() < SAME * way;
    let along: f64 = (0..3).map(|i| before[i] * after[i]).sum::<f64>() / (length(before) * length(after));
    let angle = along.clamp(-1.0, 1.0).acos().to_degrees();
    (way > DRIVE_M && other < SAME * way && straight && angle > TURNED_DEG).then_some(angle)
}

/// Where the second pose is, seen from the first.
fn step(from: &Pose, to: &Pose) -> [f64; 3] {
    from.inverse().apply(to.translation())
}

fn length(v: [f64; 3]) -> f64 {
    v.iter().map(|v| v * v).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A drive around a block: forwards, with turns.
    fn drive() -> Vec<Pose> {
        let (mut at, mut heading) = ([0.0, 0.0], 0.0_f64);
        let pose = |k: usize| {
            heading += if k % 40 > 30 { 0.157 } else { 0.0 };
            at = [at[0] + 0.8 * heading.cos(), at[1] + 0.8 * heading.sin()];
            let (s, c) = heading.sin_cos();
            Pose::new([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]], [at[0], at[1], 0.0]).unwrap()
        };
        (0..160).map(pose).collect()
    }

    fn found(given: impl Fn(usize, &Pose) -> Pose) -> Option<f64> {
        turned(drive().iter().enumerate().map(|(k, pose)| (*pose, given(k, pose))))
    }

    fn about_z(angle: f64, shift: [f64; 3]) -> Pose {
        let (s, c) = angle.sin_cos();
        Pose::new([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]], shift).unwrap()
    }

    #[test]
    fn poses_of_a_camera_are_noticed() {
        // Forward is x for the LiDAR and z for the camera, as in KITTI: Tr W Tr⁻¹, in the world of the first camera, or W Tr⁻¹.
        let camera = Pose::new([[0.0, -1.0, 0.0], [0.0, 0.0, -1.0], [1.0, 0.0, 0.0]], [0.05, -0.07, -0.27]).unwrap();
        let of_camera = |pose: &Pose| pose.after(&camera.inverse()).unwrap();
        let angle = found(|_, pose| camera.after(&of_camera(pose)).unwrap()).unwrap();
        assert!((angle - 90.0).abs() < 5.0, "{angle}");
        assert!(found(|_, pose| of_camera(pose)).is_some());
        // Looking backwards.
        let angle = found(|_, pose| pose.after(&about_z(std::f64::consts::PI, [0.0; 3])).unwrap()).unwrap();
        assert!(angle > 175.0, "{angle}");
    }

    #[test]
    fn corrections_are_not() {
        // The same, in another world, with drift of 20 m and 40°, with headings that were noise, and standing still.
        assert_eq!(found(|_, pose| *pose), None);
        assert_eq!(found(|_, pose| about_z(2.5, [1e5, -7.0, 3.0]).after(pose).unwrap()), None);
        let drift = |k: usize| about_z(0.7 * k as f64 / 160.0, [0.12 * k as f64, 0.05 * k as f64, 0.0]);
        assert_eq!(found(|k, pose| drift(k).after(pose).unwrap()), None);
        let noise = |k: usize| about_z((k * 7919 % 160) as f64 / 80.0 - 1.0, [0.0; 3]);
        let noisy = drive().into_iter().enumerate().map(|(k, pose)| (pose.after(&noise(k)).unwrap(), pose));
        assert_eq!(turned(noisy), None);
        assert_eq!(turned((0..100).map(|k| (Pose::IDENTITY, about_z(k as f64, [k as f64, 0.0, 0.0])))), None);
        // Too little to tell.
        let camera = Pose::new([[0.0, -1.0, 0.0], [0.0, 0.0, -1.0], [1.0, 0.0, 0.0]], [0.0; 3]).unwrap();
        let start = drive().into_iter().take(8).map(|pose| (pose, pose.after(&camera).unwrap()));
        assert_eq!(turned(start), None);
    }
}
