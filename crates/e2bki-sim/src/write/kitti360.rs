//! KITTI-360 layout: raw turns of the LiDAR, poses of the GPS/IMU, rectified images with ids, accumulated points.
//! LiDAR to world = pose · camera-to-pose · inverse(camera-to-LiDAR); the writer keeps that exact.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::Sequence;
use super::files::{Pixels, point_bytes, write_png, write_text, write_whole};
use super::ids::{has_instances, kitti360_color, raw_id};
use super::layout::{Layout, TRUE_POSES, split_of, write_true_poses};
use super::ply::{Accumulation, LabelledPoint};
use super::text::{date, rows3, rows4};
use crate::Error;
use crate::drive::{Drive, SimFrame, Split};
use crate::maths::{Rigid, Vec3, vec3};
use crate::sensor::SimImage;
use crate::write::Format;

/// Frames accumulated in one PLY file.
const WINDOW: usize = 100;

/// Rectifying rotation of camera 0: rectified from unrectified.
fn rectified_from_raw() -> Rigid {
    Rigid::from_rotation_vector(vec3(0.0032, -0.0004, 0.0071), Vec3::ZERO)
}

/// The GPS/IMU on the vehicle: x forward, y right, z down.
fn vehicle_from_imu() -> Rigid {
    Rigid::from_axes(vec3(1.0, 0.0, 0.0), vec3(0.0, -1.0, 0.0), vec3(0.0, 0.0, -1.0), vec3(-0.81, 0.32, 0.93))
}

fn drive_name(sequence: &str) -> String {
    format!("2013_05_28_drive_{sequence}_sync")
}

pub(super) struct Writer {
    out: PathBuf,
    drive: String,
    frames: usize,
    images: bool,
    still: Accumulation,
    moving: Accumulation,
}

impl Writer {
    pub(super) fn new(out: &Path, sequence: &Sequence, images: bool) -> Writer {
        Writer {
            out: out.to_path_buf(),
            drive: drive_name(&sequence.name),
            frames: sequence.frames,
            images,
            still: Accumulation::default(),
            moving: Accumulation::default(),
        }
    }

    fn scan(&self, index: usize) -> PathBuf {
        self.out.join("data_3d_raw").join(&self.drive).join(format!("velodyne_points/data/{index:010}.bin"))
    }

    fn image(&self, index: usize) -> PathBuf {
        self.out.join("data_2d_raw").join(&self.drive).join(format!("image_00/data_rect/{index:010}.png"))
    }

    fn truth(&self, kind: &str, index: usize) -> PathBuf {
        let folder = self.out.join("data_2d_semantics/train").join(&self.drive);
        folder.join(format!("image_00/{kind}/{index:010}.png"))
    }

    fn window(&self, kind: &str, index: usize) -> PathBuf {
        let first = index / WINDOW * WINDOW;
        let last = (first + WINDOW).min(self.frames) - 1;
        let folder = self.out.join("data_3d_semantics/train").join(&self.drive);
        folder.join(format!("{kind}/{first:010}_{last:010}.ply"))
    }

    /// Removes the short last window of an earlier run that had fewer frames.
    fn drop_stale_windows(&self) -> Result<(), Error> {
        for kind in ["static", "dynamic"] {
            let wanted: Vec<PathBuf> = (0..self.frames).step_by(WINDOW).map(|k| self.window(kind, k)).collect();
            let Some(Ok(entries)) = wanted.first().and_then(|p| p.parent()).map(std::fs::read_dir) else { continue };
            for path in entries.flatten().map(|e| e.path()).filter(|p| !wanted.contains(p)) {
                std::fs::remove_file(&path).map_err(Error::io("remove", &path))?;
            }
        }
        Ok(())
    }

    fn accumulate(&mut self, drive: &Drive, frame: &SimFrame) -> Result<(), Error> {
        for (k, position) in drive.world_points(frame).into_iter().enumerate() {
            let instance = if has_instances(frame.materials[k]) { 1 + frame.objects[k] % 998 } else { 0 };
            let point = LabelledPoint {
                position,
                id: raw_id(frame.materials[k], false, Format::Kitti360),
                instance,
                visible: drive.pixel_of(frame.points[k]).is_some(),
                frame: frame.moving[k].then_some(frame.index as u32),
            };
            if frame.moving[k] { self.moving.push(&point) } else { self.still.push(&point) }
        }
        if (frame.index + 1).is_multiple_of(WINDOW) || frame.index + 1 == self.frames {
            let (still, moving) = (self.window("static", frame.index), self.window("dynamic", frame.index));
            self.moving.finish(&moving, true)?;
            self.still.finish(&still, false)?;
        }
        Ok(())
    }

    fn write_truth(&self, image: &SimImage, index: usize) -> Result<(), Error> {
        let size = [image.width, image.height];
        let ids: Vec<u8> = image.materials.iter().map(|m| raw_id(*m, false, Format::Kitti360) as u8).collect();
        let colors: Vec<[u8; 3]> = ids.iter().map(|id| kitti360_color(u16::from(*id))).collect();
        let instances: Vec<u16> = (0..ids.len())
            .map(|k| {
                let own = if has_instances(image.materials[k]) { 1 + image.objects[k] % 998 } else { 0 };
                u16::from(ids[k]) * 1000 + own as u16
            })
            .collect();
        let sure = vec![u16::MAX; ids.len()];
        write_png(&self.truth("semantic_rgb", index), size, &Pixels::Rgb(&colors))?;
        write_png(&self.truth("instance", index), size, &Pixels::Grey16(&instances))?;
        write_png(&self.truth("confidence", index), size, &Pixels::Grey16(&sure))?;
        write_png(&self.truth("semantic", index), size, &Pixels::Grey(&ids))
    }

    fn write_calibration(&self, drive: &Drive, imu_from_raw: &Rigid) -> Result<(), Error> {
        let folder = self.out.join("calibration");
        let sensor_from_raw = drive.rig().reported_sensor_from_camera * rectified_from_raw();
        write_text(&folder.join("calib_cam_to_velo.txt"), &format!("{}\n", rows3(&sensor_from_raw)))?;
        let right = |baseline: f64| *imu_from_raw * Rigid { translation: vec3(baseline, 0.0, 0.0), ..Rigid::IDENTITY };
        let mut cameras = String::new();
        for (k, baseline) in [0.0, 0.6].into_iter().enumerate() {
            writeln!(cameras, "image_{k:02}: {}", rows3(&right(baseline))).ok();
        }
        write_text(&folder.join("calib_cam_to_pose.txt"), &cameras)?;
        let sick = Rigid { translation: vec3(-0.4, 0.0, -0.07), ..Rigid::IDENTITY };
        write_text(&folder.join("calib_sick_to_velo.txt"), &format!("{}\n", rows3(&sick)))?;
        write_text(&folder.join("perspective.txt"), &perspective(drive))
    }
}

fn perspective(drive: &Drive) -> String {
    let c = &drive.rig().camera;
    let (w, h) = (c.width as f64, c.height as f64);
    let [fx, fy] = c.focal;
    let [cx, cy] = c.center;
    let r: Vec<String> = rectified_from_raw().rotation.as_flattened().iter().map(|v| format!("{v:.9}")).collect();
    let mut text = String::from("calib_time: 01-Jan-2013 00:00:00\ncorner_dist: 0.100000\n");
    for (k, baseline) in [0.0, 0.6].into_iter().enumerate() {
        writeln!(text, "S_{k:02}: {w:.6} {h:.6}").ok();
        writeln!(text, "K_{k:02}: {fx:.6} 0.000000 {cx:.6} 0.000000 {fy:.6} {cy:.6} 0.000000 0.000000 1.000000").ok();
        writeln!(text, "D_{k:02}: 0.000000 0.000000 0.000000 0.000000 0.000000").ok();
        writeln!(text, "R_{k:02}: 1.000000 0.000000 0.000000 0.000000 1.000000 0.000000 0.000000 0.000000 1.000000")
            .ok();
        writeln!(text, "T_{k:02}: {:.6} 0.000000 0.000000", -baseline).ok();
        writeln!(text, "S_rect_{k:02}: {w:.6} {h:.6}").ok();
        writeln!(text, "R_rect_{k:02}: {}", r.join(" ")).ok();
        let shift = -fx * baseline;
        writeln!(
            text,
            "P_rect_{k:02}: {fx:.6} 0.000000 {cx:.6} {shift:.6} 0.000000 {fy:.6} {cy:.6} 0.000000 0.000000 0.000000 1.000000 0.000000"
        )
        .ok();
    }
    text
}

impl Layout for Writer {
    fn begin(&mut self, drive: &Drive) -> Result<(), Error> {
        let imu_from_sensor = vehicle_from_imu().inverse() * drive.rig().vehicle_from_sensor;
        let sensor_from_imu = imu_from_sensor.inverse();
        let imu_from_raw = imu_from_sensor * drive.rig().reported_sensor_from_camera * rectified_from_raw();
        self.drop_stale_windows()?;
        self.write_calibration(drive, &imu_from_raw)?;
        let imu_from_rectified = imu_from_raw * rectified_from_raw().inverse();
        let (mut poses, mut cameras, mut clock) = (String::new(), String::new(), String::new());
        for index in 0..self.frames {
            let world_from_imu = drive.world_from_sensor(index) * sensor_from_imu;
            writeln!(poses, "{index} {}", rows3(&world_from_imu)).ok();
            writeln!(cameras, "{index} {}", rows4(&(world_from_imu * imu_from_rectified))).ok();
            writeln!(clock, "{}", date(drive.stamp_ns(index))).ok();
        }
        let folder = self.out.join("data_poses").join(&self.drive);
        write_text(&folder.join("poses.txt"), &poses)?;
        write_true_poses(&folder.join(TRUE_POSES), drive, self.frames, &Rigid::IDENTITY)?;
        write_text(&folder.join("cam0_to_world.txt"), &cameras)?;
        let raw = self.out.join("data_3d_raw").join(&self.drive).join("velodyne_points/timestamps.txt");
        write_text(&raw, &clock)?;
        if self.images {
            write_text(&self.out.join("data_2d_raw").join(&self.drive).join("image_00/timestamps.txt"), &clock)?;
        }
        Ok(())
    }

    fn is_done(&self, index: usize) -> bool {
        let pictures = !self.images || (self.image(index).is_file() && self.truth("semantic", index).is_file());
        pictures && self.scan(index).is_file()
    }

    fn wants_scan(&self, index: usize) -> bool {
        !self.window("static", index).is_file()
    }

    fn take(&mut self, drive: &Drive, frame: &SimFrame, image: Option<&SimImage>, done: bool) -> Result<(), Error> {
        if !done {
            let points = frame.points.iter().copied().zip(frame.intensity.iter().copied());
            write_whole(&self.scan(frame.index), &point_bytes(points))?;
            if let Some(image) = image {
                let size = [image.width, image.height];
                let picture = self.image(frame.index);
                let (a, b) = rayon::join(
                    || write_png(&picture, size, &Pixels::Rgb(&image.rgb)),
                    || self.write_truth(image, frame.index),
                );
                a.and(b)?;
            }
        }
        if self.wants_scan(frame.index) { self.accumulate(drive, frame) } else { Ok(()) }
    }
}

/// Lists of image and label pairs for each part, beside the labels.
pub(super) fn write_lists(out: &Path, sequences: &[Sequence]) -> Result<(), Error> {
    for (split, name) in [(Split::Train, "train"), (Split::Validation, "val"), (Split::Test, "test")] {
        let mut text = String::new();
        for sequence in sequences {
            let drive = drive_name(&sequence.name);
            for k in (0..sequence.frames).filter(|k| split_of(sequence, *k) == split) {
                writeln!(
                    text,
                    "data_2d_raw/{drive}/image_00/data_rect/{k:010}.png \
                     data_2d_semantics/train/{drive}/image_00/semantic/{k:010}.png"
                )
                .ok();
            }
        }
        write_text(&out.join(format!("data_2d_semantics/train/2013_05_28_drive_{name}_frames.txt")), &text)?;
    }
    Ok(())
}
