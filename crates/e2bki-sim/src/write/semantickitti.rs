//! SemanticKITTI layout: only returns are stored, labels carry instances, poses are of camera 0.
//! Poses are relative to the first frame, in camera axes: LiDAR motion = Tr⁻¹ · T · Tr.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::Sequence;
use super::files::{Pixels, label_bytes, point_bytes, write_png, write_text, write_whole};
use super::ids::{has_instances, raw_id};
use super::layout::{Layout, TRUE_POSES, write_true_poses};
use super::text::{rows3, scientific_row, seconds};
use crate::Error;
use crate::drive::{Drive, SimFrame};
use crate::sensor::SimImage;
use crate::write::Format;

pub(super) struct Writer {
    folder: PathBuf,
    frames: usize,
    images: bool,
}

impl Writer {
    pub(super) fn new(out: &Path, sequence: &Sequence, images: bool) -> Writer {
        Writer { folder: out.join("sequences").join(&sequence.name), frames: sequence.frames, images }
    }

    fn paths(&self, index: usize) -> [PathBuf; 3] {
        [
            self.folder.join(format!("velodyne/{index:06}.bin")),
            self.folder.join(format!("labels/{index:06}.label")),
            self.folder.join(format!("image_2/{index:06}.png")),
        ]
    }
}

impl Layout for Writer {
    fn begin(&mut self, drive: &Drive) -> Result<(), Error> {
        let c = &drive.rig().camera;
        let projection = [c.focal[0], 0.0, c.center[0], 0.0, 0.0, c.focal[1], c.center[1], 0.0, 0.0, 0.0, 1.0, 0.0];
        let sensor_from_camera = drive.rig().reported_sensor_from_camera;
        let camera_from_sensor = sensor_from_camera.inverse();
        let mut calib = String::new();
        for k in 0..4 {
            writeln!(calib, "P{k}: {}", scientific_row(&projection)).ok();
        }
        let tr = camera_from_sensor.to_matrix();
        writeln!(calib, "Tr: {}", scientific_row(tr[..3].as_flattened())).ok();
        write_text(&self.folder.join("calib.txt"), &calib)?;
        let first_from_world = (drive.world_from_sensor(0) * sensor_from_camera).inverse();
        let (mut poses, mut times) = (String::new(), String::new());
        for index in 0..self.frames {
            let pose = first_from_world * drive.world_from_sensor(index) * sensor_from_camera;
            writeln!(poses, "{}", rows3(&pose)).ok();
            writeln!(times, "{}", seconds(drive.stamp_ns(index))).ok();
        }
        write_text(&self.folder.join("poses.txt"), &poses)?;
        // The world of these files is the first frame of the LiDAR.
        let world_from_drive = drive.world_from_sensor(0).inverse();
        write_true_poses(&self.folder.join(TRUE_POSES), drive, self.frames, &world_from_drive)?;
        write_text(&self.folder.join("times.txt"), &times)
    }

    fn is_done(&self, index: usize) -> bool {
        let count = if self.images { 3 } else { 2 };
        self.paths(index)[..count].iter().all(|p| p.is_file())
    }

    fn wants_scan(&self, _: usize) -> bool {
        false
    }

    fn take(&mut self, _: &Drive, frame: &SimFrame, image: Option<&SimImage>, _: bool) -> Result<(), Error> {
        let [scan, labels, picture] = self.paths(frame.index);
        let points = frame.points.iter().copied().zip(frame.intensity.iter().copied());
        write_whole(&scan, &point_bytes(points))?;
        let raw = (0..frame.points.len()).map(|k| {
            let id = u32::from(raw_id(frame.materials[k], frame.moving[k], Format::SemanticKitti));
            let instance = if has_instances(frame.materials[k]) { frame.objects[k] & 0xFFFF } else { 0 };
            instance << 16 | id
        });
        write_whole(&labels, &label_bytes(raw))?;
        match image {
            Some(image) => write_png(&picture, [image.width, image.height], &Pixels::Rgb(&image.rgb)),
            None => Ok(()),
        }
    }
}
