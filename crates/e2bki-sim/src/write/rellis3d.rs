//! RELLIS-3D layout: organised scans with zeros for missing returns, poses of the LiDAR itself.
//! Camera–LiDAR calibration is camera to LiDAR; images are JPEG, labels PNG of raw ids.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::Sequence;
use super::files::{Pixels, label_bytes, point_bytes, write_jpeg, write_png, write_text, write_whole};
use super::ids::{raw_id, rellis_color};
use super::layout::{Layout, TRUE_POSES, split_of, write_true_poses};
use super::text::{rows3, scientific_row, seconds};
use crate::Error;
use crate::drive::{Drive, START_NS, SimFrame, Split};
use crate::maths::Rigid;
use crate::sensor::SimImage;
use crate::write::Format;

const SCANS: &str = "os1_cloud_node_kitti_bin";
const SCAN_LABELS: &str = "os1_cloud_node_semantickitti_label_id";
const IMAGES: &str = "pylon_camera_node";
const IMAGE_IDS: &str = "pylon_camera_node_label_id";
const IMAGE_COLORS: &str = "pylon_camera_node_label_color";

pub(super) struct Writer {
    out: PathBuf,
    sequence: Sequence,
    images: bool,
}

impl Writer {
    pub(super) fn new(out: &Path, sequence: &Sequence, images: bool) -> Writer {
        Writer { out: out.to_path_buf(), sequence: sequence.clone(), images }
    }

    fn file(&self, folder: &str, name: &str) -> PathBuf {
        self.out.join("Rellis-3D").join(&self.sequence.name).join(folder).join(name)
    }

    fn paths(&self, index: usize) -> [PathBuf; 5] {
        let clock = START_NS / 1_000_000 + (index as f64 * self.sequence.drive.frame_s * 1000.0).round() as u64;
        let frame = format!("frame{index:06}-{}_{:03}", clock / 1000, clock % 1000);
        [
            self.file(SCANS, &format!("{index:06}.bin")),
            self.file(SCAN_LABELS, &format!("{index:06}.label")),
            self.file(IMAGES, &format!("{frame}.jpg")),
            self.file(IMAGE_IDS, &format!("{frame}.png")),
            self.file(IMAGE_COLORS, &format!("{frame}.png")),
        ]
    }
}

impl Layout for Writer {
    fn begin(&mut self, drive: &Drive) -> Result<(), Error> {
        let name = &self.sequence.name;
        let (mut poses, mut times) = (String::new(), String::new());
        for index in 0..self.sequence.frames {
            writeln!(poses, "{}", rows3(&drive.world_from_sensor(index))).ok();
            writeln!(times, "{}", seconds(drive.stamp_ns(index))).ok();
        }
        write_text(&self.file("", "poses.txt"), &poses)?;
        write_text(&self.file("", "times.txt"), &times)?;
        write_true_poses(&self.file("", TRUE_POSES), drive, self.sequence.frames, &Rigid::IDENTITY)?;
        let c = &drive.rig().camera;
        let projection = [c.focal[0], 0.0, c.center[0], 0.0, 0.0, c.focal[1], c.center[1], 0.0, 0.0, 0.0, 1.0, 0.0];
        let mut calib = String::new();
        for k in 0..4 {
            calib += &format!("P{k}: {}\n", scientific_row(&projection));
        }
        let identity = [1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0];
        calib += &format!("Tr: {}\n", scientific_row(&identity));
        write_text(&self.file("", "calib.txt"), &calib)?;
        let intrinsics = self.out.join("Rellis_3D_cam_intrinsic/Rellis-3D").join(name).join("camera_info.txt");
        write_text(
            &intrinsics,
            &format!("{:.6} {:.6} {:.6} {:.6}\n", c.focal[0], c.focal[1], c.center[0], c.center[1]),
        )?;
        let transform = self.out.join("Rellis_3D_cam2lidar_20210224/Rellis_3D").join(name).join("transforms.yaml");
        let t = drive.rig().reported_sensor_from_camera;
        let (q, p) = (t.quaternion(), t.translation);
        let mut text = String::from("os1_cloud_node-pylon_camera_node:\n  q:\n");
        for (key, value) in ["w", "x", "y", "z"].iter().zip(q) {
            writeln!(text, "    {key}: {value:.10}").ok();
        }
        text.push_str("  t:\n");
        for (key, value) in ["x", "y", "z"].iter().zip(p.to_array()) {
            writeln!(text, "    {key}: {value:.10}").ok();
        }
        write_text(&transform, &text)
    }

    fn is_done(&self, index: usize) -> bool {
        let paths = self.paths(index);
        let count = if self.images { 5 } else { 2 };
        paths[..count].iter().all(|p| p.is_file())
    }

    fn wants_scan(&self, _: usize) -> bool {
        false
    }

    fn take(&mut self, _: &Drive, frame: &SimFrame, image: Option<&SimImage>, _: bool) -> Result<(), Error> {
        let [scan, labels, picture, ids, colors] = self.paths(frame.index);
        let mut slots = vec![([0.0_f32; 3], 0.0_f32); frame.slot_count];
        let mut raw = vec![0_u32; frame.slot_count];
        for (k, slot) in frame.slots.iter().enumerate() {
            slots[*slot as usize] = (frame.points[k], frame.intensity[k]);
            raw[*slot as usize] = u32::from(raw_id(frame.materials[k], frame.moving[k], Format::Rellis3d));
        }
        write_whole(&scan, &point_bytes(slots.into_iter()))?;
        write_whole(&labels, &label_bytes(raw.into_iter()))?;
        let Some(image) = image else { return Ok(()) };
        let size = [image.width, image.height];
        let raw: Vec<u8> = image.materials.iter().map(|m| raw_id(*m, false, Format::Rellis3d) as u8).collect();
        let color: Vec<[u8; 3]> = raw.iter().map(|id| rellis_color(u16::from(*id))).collect();
        let (a, b) = rayon::join(
            || write_jpeg(&picture, size, &image.rgb),
            || {
                write_png(&ids, size, &Pixels::Grey(&raw))?;
                write_png(&colors, size, &Pixels::Rgb(&color))
            },
        );
        a.and(b)
    }
}

/// `pt_train.lst`, `pt_val.lst`, `pt_test.lst`.
pub(super) fn write_lists(out: &Path, sequences: &[Sequence]) -> Result<(), Error> {
    for (split, file) in
        [(Split::Train, "pt_train.lst"), (Split::Validation, "pt_val.lst"), (Split::Test, "pt_test.lst")]
    {
        let mut text = String::new();
        for sequence in sequences {
            let name = &sequence.name;
            for index in (0..sequence.frames).filter(|k| split_of(sequence, *k) == split) {
                writeln!(text, "{name}/{SCANS}/{index:06}.bin {name}/{SCAN_LABELS}/{index:06}.label").ok();
            }
        }
        write_text(&out.join("Rellis-3D").join(file), &text)?;
    }
    Ok(())
}
