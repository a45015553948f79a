//! NumPy arrays (`.npy`), versions 1 to 3, numbers of any width, C order.

use super::Parsed;
use super::scalar::Scalar;
use crate::error::Flaw;

/// Most axes, as NumPy has it.
const MAX_AXES: usize = 64;

/// An array whose numbers are read when asked for.
#[derive(Debug, Clone)]
pub struct Npy<'a> {
    /// Length along each axis.
    pub shape: Vec<usize>,
    kind: Scalar,
    big_endian: bool,
    data: &'a [u8],
}

impl Npy<'_> {
    /// Number of values.
    pub fn len(&self) -> usize {
        self.data.len() / self.kind.size()
    }

    /// Whether it holds nothing.
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// Whether its numbers are integers.
    pub fn is_integer(&self) -> bool {
        !matches!(self.kind, Scalar::F16 | Scalar::F32 | Scalar::F64)
    }

    /// Values in order.
    pub fn values(&self) -> impl ExactSizeIterator<Item = f64> {
        self.data.chunks_exact(self.kind.size()).map(|b| self.kind.read(b, self.big_endian))
    }
}

/// An array.
pub fn npy(bytes: &[u8]) -> Parsed<Npy<'_>> {
    let short = || Flaw::new("its header is cut short");
    if !bytes.starts_with(b"\x93NUMPY") {
        return Err(Flaw::new("not a NumPy array: it does not start with \\x93NUMPY"));
    }
    let (length, start) = match bytes.get(6).ok_or_else(short)? {
        1 => (bytes.get(8..10).map(|b| usize::from(u16::from_le_bytes([b[0], b[1]]))), 10),
        2 | 3 => (bytes.get(8..12).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]) as usize), 12),
        other => return Err(Flaw::new(format!("NumPy format version {other} is unknown"))),
    };
    let length = length.ok_or_else(short)?;
    let header = bytes.get(start..).and_then(|b| b.get(..length)).ok_or_else(short)?;
    let header = std::str::from_utf8(header).map_err(|_| Flaw::new("its header is not text"))?;
    let after = |key: &str| {
        let at = header.find(&format!("'{key}'")).ok_or_else(|| Flaw::new(format!("its header lacks `{key}`")))?;
        Ok(header[at + key.len() + 2..].trim_start_matches([':', ' ']))
    };
    let descr = after("descr")?;
    let descr = descr.strip_prefix('\'').and_then(|d| d.split('\'').next()).unwrap_or("(a record)");
    let (kind, big_endian) = scalar(descr)
        .ok_or_else(|| Flaw::new(format!("numbers of type {descr} are not read; integers and floats are")))?;
    let shape = after("shape")?;
    let shape = shape.strip_prefix('(').and_then(|s| s.split(')').next()).ok_or_else(short)?;
    let axes = shape.split(',').map(str::trim).filter(|axis| !axis.is_empty());
    let shape = axes
        .map(|axis| axis.parse::<usize>().map_err(|_| Flaw::new(format!("`{axis}` is not a length of an axis"))))
        .collect::<Parsed<Vec<usize>>>()?;
    if shape.len() > MAX_AXES {
        return Err(Flaw::new(format!("{} axes; at most {MAX_AXES} are read", shape.len())));
    }
    if after("fortran_order")?.starts_with("True") && shape.iter().filter(|n| **n > 1).count() > 1 {
        return Err(Flaw::new("it is in Fortran order; save it with np.ascontiguousarray(a)"));
    }
    let size = shape.iter().try_fold(kind.size(), |all, n| all.checked_mul(*n));
    let data = &bytes[start + length..];
    match size.and_then(|size| data.get(..size)) {
        Some(data) => Ok(Npy { shape, kind, big_endian, data }),
        None => {
            Err(Flaw::new(format!("{} bytes do not hold an array of shape {shape:?}: it is cut short", data.len())))
        }
    }
}

fn scalar(descr: &str) -> Option<(Scalar, bool)> {
    let kind = match descr.get(1..)? {
        "i1" => Scalar::I8,
        "u1" | "b1" => Scalar::U8,
        "i2" => Scalar::I16,
        "u2" => Scalar::U16,
        "i4" => Scalar::I32,
        "u4" => Scalar::U32,
        "i8" => Scalar::I64,
        "u8" => Scalar::U64,
        "f2" => Scalar::F16,
        "f4" => Scalar::F32,
        "f8" => Scalar::F64,
        _ => return None,
    };
    match descr.as_bytes().first()? {
        b'<' | b'|' | b'=' => Some((kind, false)),
        b'>' => Some((kind, true)),
        _ => None,
    }
}
