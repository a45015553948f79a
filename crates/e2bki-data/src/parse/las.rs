//! LAS 1.0 to 1.4, point formats 0 to 10, uncompressed: positions and classification.

use super::Parsed;
use super::scalar::Scalar;
use super::table::Table;
use crate::error::Flaw;

/// The points of a LAS file as a table of x, y, z and `classification`.
pub fn las(bytes: &[u8]) -> Parsed<Table<'static>> {
    if !bytes.starts_with(b"LASF") {
        return Err(Flaw::new("not a LAS file: it does not start with `LASF`"));
    }
    if bytes.len() < 227 {
        return Err(Flaw::new("its header is cut short"));
    }
    let integer = |at: usize, kind: Scalar| kind.read(&bytes[at.min(bytes.len())..], false) as u64;
    let float = |at: usize| Scalar::F64.read(&bytes[at..], false);
    let minor = bytes[25];
    let format = bytes[104];
    if format & 0xC0 != 0 {
        return Err(Flaw::new("compressed (LAZ) points are not supported; convert the file to LAS"));
    }
    let (least, class_at) = match format {
        0 => (20, 15),
        1 => (28, 15),
        2 => (26, 15),
        3 => (34, 15),
        4 => (57, 15),
        5 => (63, 15),
        6..=10 => (30, 16),
        other => return Err(Flaw::new(format!("point format {other} is unknown; 0 to 10 are read"))),
    };
    let start = integer(96, Scalar::U32) as usize;
    let record = integer(105, Scalar::U16) as usize;
    let old_count = integer(107, Scalar::U32);
    let count = if minor >= 4 && bytes.len() >= 375 && old_count == 0 { integer(247, Scalar::U64) } else { old_count };
    if record < least {
        return Err(Flaw::new(format!("records of {record} bytes are too short for point format {format}")));
    }
    let scale: [f64; 3] = std::array::from_fn(|i| float(131 + 8 * i));
    let offset: [f64; 3] = std::array::from_fn(|i| float(155 + 8 * i));
    let body = bytes.get(start..).unwrap_or_default();
    if count > (body.len() / record) as u64 {
        return Err(Flaw::new(format!(
            "its header promises {count} points, but {} bytes of data hold {}: the file is cut short",
            body.len(),
            body.len() / record
        )));
    }
    let mut values = Vec::with_capacity(4 * count as usize);
    for point in body.chunks_exact(record).take(count as usize) {
        for axis in 0..3 {
            values.push(Scalar::I32.read(&point[4 * axis..], false) * scale[axis] + offset[axis]);
        }
        // The old formats keep flags in the three high bits.
        values.push(f64::from(if format < 6 { point[class_at] & 31 } else { point[class_at] }));
    }
    Table::from_rows(["x", "y", "z", "classification"].map(String::from).to_vec(), &values)
}
