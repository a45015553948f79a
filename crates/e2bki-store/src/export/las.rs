//! LAS 1.4, point format 7: millimetres, colour, classification = class id, intensity = 1 − u.

use std::path::Path;

use super::{Rows, written};
use crate::error::{Error, Result};

const HEADER_BYTES: u16 = 375;
const POINT_BYTES: u16 = 36;
const SCALE_M: f64 = 0.001;

pub(super) fn write(rows: &Rows<'_>, path: &Path) -> Result<()> {
    let map = rows.map;
    if map.classes().len() > 256 {
        let what = format!("LAS has room for 256 classes; this map has {}", map.classes().len());
        return Err(Error::Refused(what));
    }
    let (mut low, mut high) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
    for p in rows.iter() {
        for (i, v) in p.mean().into_iter().enumerate() {
            low[i] = low[i].min(v);
            high[i] = high[i].max(v);
        }
    }
    if rows.len() == 0 {
        (low, high) = ([0.0; 3], [0.0; 3]);
    }
    let offset = low.map(f64::floor);
    if (0..3).any(|i| (high[i] - offset[i]) / SCALE_M > f64::from(i32::MAX)) {
        return Err(Error::Refused("the map is wider than LAS can hold in millimetres: export a region".into()));
    }
    let header = header(rows.len() as u64, offset, low, high);
    written(path, |out| {
        out.write_all(&header)?;
        for p in rows.iter() {
            let mut point = Vec::with_capacity(usize::from(POINT_BYTES));
            for (i, v) in p.mean().into_iter().enumerate() {
                point.extend((((v - offset[i]) / SCALE_M).round() as i32).to_le_bytes());
            }
            point.extend((((1.0 - p.uncertainty()) * 65_535.0).round() as u16).to_le_bytes());
            // One return of one; no flags; the class; no user data; no scan angle; no source; no time.
            point.extend([0x11, 0, p.label() as u8, 0, 0, 0, 0, 0]);
            point.extend(0.0_f64.to_le_bytes());
            for channel in map.classes().colors()[p.label()] {
                point.extend((u16::from(channel) * 257).to_le_bytes());
            }
            out.write_all(&point)?;
        }
        Ok(())
    })
}

fn header(points: u64, offset: [f64; 3], low: [f64; 3], high: [f64; 3]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(usize::from(HEADER_BYTES));
    let text = |text: &str| -> [u8; 32] {
        let mut padded = [0; 32];
        padded[..text.len()].copy_from_slice(text.as_bytes());
        padded
    };
    bytes.extend(b"LASF");
    bytes.extend([0; 2]);
    // Coordinate reference systems, if any, are well-known text: required for point formats from 6 on.
    bytes.extend(16_u16.to_le_bytes());
    bytes.extend([0; 16]);
    bytes.extend([1, 4]);
    bytes.extend(text("e2bki"));
    bytes.extend(text(concat!("e2bki ", env!("CARGO_PKG_VERSION"))));
    // No date: the same map is the same file.
    bytes.extend([0; 4]);
    bytes.extend(HEADER_BYTES.to_le_bytes());
    bytes.extend(u32::from(HEADER_BYTES).to_le_bytes());
    bytes.extend(0_u32.to_le_bytes());
    bytes.push(7);
    bytes.extend(POINT_BYTES.to_le_bytes());
    bytes.extend([0; 24]);
    for v in [SCALE_M; 3].into_iter().chain(offset) {
        bytes.extend(v.to_le_bytes());
    }
    for i in 0..3 {
        bytes.extend(high[i].to_le_bytes());
        bytes.extend(low[i].to_le_bytes());
    }
    bytes.extend([0; 8]);
    bytes.extend([0; 8]);
    bytes.extend([0; 4]);
    bytes.extend(points.to_le_bytes());
    bytes.extend(points.to_le_bytes());
    bytes.extend([0; 14 * 8]);
    bytes
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_header_has_the_size_that_it_declares() {
        assert_eq!(super::header(3, [0.0; 3], [0.0; 3], [1.0; 3]).len(), usize::from(super::HEADER_BYTES));
    }
}
