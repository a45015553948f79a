//! Accumulated labelled points of a window of frames, as KITTI-360's static and dynamic PLY files.
//! 28 bytes a static point, 32 a dynamic one (its frame number comes before the confidence).

use std::collections::BTreeSet;
use std::path::Path;

use super::files::write_whole;
use super::ids::kitti360_color;
use crate::Error;

/// One accumulated point.
#[derive(Debug, Clone, Copy)]
pub(super) struct LabelledPoint {
    pub position: [f64; 3],
    pub id: u16,
    pub instance: u32,
    pub visible: bool,
    /// Frame number, for dynamic points.
    pub frame: Option<u32>,
}

/// Points of one file, thinned to one per cell (and per frame for dynamic points).
#[derive(Debug, Default)]
pub(super) struct Accumulation {
    cells: BTreeSet<(i32, i32, i32, u32)>,
    bytes: Vec<u8>,
    count: usize,
}

/// Side of a thinning cell, metres.
const CELL_M: f64 = 0.1;

impl Accumulation {
    pub(super) fn push(&mut self, p: &LabelledPoint) {
        let [x, y, z] = p.position.map(|v| (v / CELL_M).floor() as i32);
        if !self.cells.insert((x, y, z, p.frame.map_or(0, |f| f + 1))) {
            return;
        }
        for v in p.position {
            self.bytes.extend_from_slice(&(v as f32).to_le_bytes());
        }
        self.bytes.extend_from_slice(&kitti360_color(p.id));
        self.bytes.extend_from_slice(&i32::from(p.id).to_le_bytes());
        let instance = i32::from(p.id) * 1000 + p.instance as i32;
        self.bytes.extend_from_slice(&instance.to_le_bytes());
        self.bytes.push(u8::from(p.visible));
        if let Some(frame) = p.frame {
            self.bytes.extend_from_slice(&(frame as i32).to_le_bytes());
        }
        self.bytes.extend_from_slice(&1.0_f32.to_le_bytes());
        self.count += 1;
    }

    /// Writes the file and empties the accumulation.
    pub(super) fn finish(&mut self, path: &Path, dynamic: bool) -> Result<(), Error> {
        let taken = std::mem::take(self);
        let timestamp = if dynamic { "property int timestamp\n" } else { "" };
        let mut file = format!(
            "ply\nformat binary_little_endian 1.0\nelement vertex {}\nproperty float x\nproperty float y\n\
             property float z\nproperty uchar red\nproperty uchar green\nproperty uchar blue\n\
             property int semantic\nproperty int instance\nproperty uchar visible\n{timestamp}\
             property float confidence\nend_header\n",
            taken.count
        )
        .into_bytes();
        file.extend_from_slice(&taken.bytes);
        write_whole(path, &file)
    }
}
