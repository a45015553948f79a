//! PCD version 0.7: text, binary, and binary compressed with LZF.

use std::borrow::Cow;

use super::Parsed;
use super::lzf;
use super::scalar::Scalar;
use super::table::{Field, Table, text_rows};
use super::transforms::from_quaternion;
use crate::error::Flaw;
use e2bki::Pose;

/// Most fields of a header, and most numbers of a point once fields of several numbers are counted as such.
const MAX_FIELDS: usize = 256;
const MAX_COLUMNS: usize = 4096;

/// Longest name of a field: a name is repeated for each number of its field.
const MAX_NAME: usize = 128;

#[derive(Default)]
struct Header {
    names: Vec<String>,
    sizes: Vec<usize>,
    kinds: Vec<String>,
    counts: Vec<usize>,
    width: Option<usize>,
    height: Option<usize>,
    points: Option<usize>,
}

/// The points of a PCD file. A field of COUNT n becomes n fields, `name`, `name_1`, `name_2`, …
pub fn pcd(bytes: &[u8]) -> Parsed<Table<'_>> {
    let mut header = Header::default();
    let mut rest = bytes;
    let mut number = 0;
    loop {
        number += 1;
        let Some(end) = rest.iter().take(1 << 16).position(|b| *b == b'\n') else {
            return Err(Flaw::new("not a PCD file: its header has no line `DATA`"));
        };
        let line = std::str::from_utf8(&rest[..end]).map_err(|_| Flaw::at_line(number, "is not text"))?.trim();
        rest = &rest[end + 1..];
        if let Some(encoding) = line.strip_prefix("DATA") {
            return body(&header, encoding.trim(), rest, number);
        }
        header.take(line, number)?;
    }
}

/// The pose of the sensor by the line VIEWPOINT of a PCD file, translation and quaternion w, x, y, z; nothing without that line.
pub fn pcd_viewpoint(bytes: &[u8]) -> Parsed<Option<Pose>> {
    for (number, line) in (1..).zip(bytes.split(|b| *b == b'\n').take(64)) {
        let line = std::str::from_utf8(line).unwrap_or_default().trim();
        if line.starts_with("DATA") {
            break;
        }
        if let Some(values) = line.strip_prefix("VIEWPOINT") {
            let bad = || Flaw::at_line(number, "VIEWPOINT must be seven numbers: x y z and a quaternion w x y z");
            let values: Vec<f64> = values.split_whitespace().map_while(|word| word.parse().ok()).collect();
            let &[x, y, z, qw, qx, qy, qz] = values.as_slice() else { return Err(bad()) };
            return from_quaternion([qw, qx, qy, qz], [x, y, z])
                .map(Some)
                .map_err(|flaw| Flaw::at_line(number, flaw.what));
        }
    }
    Ok(None)
}

impl Header {
    fn take(&mut self, line: &str, number: usize) -> Parsed<()> {
        let mut words = line.split_whitespace();
        let key = words.next().unwrap_or("");
        let words: Vec<&str> = words.collect();
        if words.len() > MAX_FIELDS {
            return Err(Flaw::at_line(number, format!("{} values; at most {MAX_FIELDS} are read", words.len())));
        }
        let integer =
            |word: &str| word.parse::<usize>().map_err(|_| Flaw::at_line(number, format!("`{word}` is not a count")));
        let integers = || words.iter().map(|w| integer(w)).collect::<Parsed<Vec<usize>>>();
        let first = || words.first().map_or_else(|| Err(Flaw::at_line(number, "a number is missing")), |w| integer(w));
        match key {
            "FIELDS" => {
                if let Some(long) = words.iter().find(|w| w.len() > MAX_NAME) {
                    let what = format!("a field's name has {} bytes; at most {MAX_NAME} are read", long.len());
                    return Err(Flaw::at_line(number, what));
                }
                self.names = words.iter().map(|w| w.to_string()).collect();
            }
            "SIZE" => self.sizes = integers()?,
            "TYPE" => self.kinds = words.iter().map(|w| w.to_string()).collect(),
            "COUNT" => self.counts = integers()?,
            "WIDTH" => self.width = Some(first()?),
            "HEIGHT" => self.height = Some(first()?),
            "POINTS" => self.points = Some(first()?),
            _ => {}
        }
        Ok(())
    }

    fn count(&self) -> Parsed<usize> {
        match (self.points, self.width, self.height) {
            (Some(points), _, _) => Ok(points),
            (None, Some(width), Some(height)) => {
                width.checked_mul(height).ok_or_else(|| Flaw::new("WIDTH × HEIGHT is too large"))
            }
            _ => Err(Flaw::new("its header has neither POINTS nor WIDTH and HEIGHT")),
        }
    }

    /// Name and type of each single number of a record.
    fn columns(&self) -> Parsed<Vec<(String, Scalar)>> {
        let n = self.names.len();
        let fits = |found: usize| found == n;
        let counts = self.counts.is_empty() || fits(self.counts.len());
        if n == 0 || !fits(self.sizes.len()) || !fits(self.kinds.len()) || !counts {
            return Err(Flaw::new("FIELDS, SIZE, TYPE and COUNT must have one value per field"));
        }
        let mut columns = Vec::new();
        for i in 0..n {
            let kind = scalar(&self.kinds[i], self.sizes[i]).ok_or_else(|| {
                Flaw::new(format!("field `{}`: no type {} of {} bytes", self.names[i], self.kinds[i], self.sizes[i]))
            })?;
            let repeat = self.counts.get(i).copied().unwrap_or(1);
            // Held against the room that is left, not added to what there is: a sum of what a file says may wrap.
            if repeat > MAX_COLUMNS - columns.len() {
                return Err(Flaw::new(format!(
                    "field `{}`: COUNT {repeat} makes more than {MAX_COLUMNS} numbers per point",
                    self.names[i]
                )));
            }
            for k in 0..repeat {
                let name = if k == 0 { self.names[i].clone() } else { format!("{}_{k}", self.names[i]) };
                columns.push((name, kind));
            }
        }
        Ok(columns)
    }
}

fn body<'a>(header: &Header, encoding: &str, data: &'a [u8], line: usize) -> Parsed<Table<'a>> {
    let (count, columns) = (header.count()?, header.columns()?);
    let record: usize = columns.iter().map(|(_, kind)| kind.size()).sum();
    let mut offset = 0;
    let mut place = |by_column: bool| -> Vec<Field> {
        let field = |(name, kind): &(String, Scalar)| {
            let field =
                Field { name: name.clone(), kind: *kind, offset, stride: if by_column { kind.size() } else { record } };
            offset += if by_column { kind.size().saturating_mul(count) } else { kind.size() };
            field
        };
        columns.iter().map(field).collect()
    };
    match encoding {
        "ascii" => {
            let text = std::str::from_utf8(data).map_err(|_| Flaw::new("says it is text, but is not UTF-8"))?;
            let values = text_rows(text, line + 1, count, columns.len())?;
            Table::from_rows(columns.iter().map(|(name, _)| name.clone()).collect(), &values)
        }
        "binary" => Table::new(count, place(false), Cow::Borrowed(data), false),
        "binary_compressed" => {
            let word = |at: usize| data.get(at..at + 4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]) as usize);
            let (Some(packed), Some(unpacked)) = (word(0), word(4)) else {
                return Err(Flaw::new("the compressed data is cut short"));
            };
            if count.checked_mul(record) != Some(unpacked) {
                return Err(Flaw::new(format!("{count} points of {record} bytes do not make {unpacked} bytes")));
            }
            let packed = data[8..].get(..packed).ok_or_else(|| Flaw::new("the compressed data is cut short"))?;
            // Fields of COUNT n are interleaved within their block; only single numbers are read from such files.
            if header.counts.iter().any(|n| *n > 1) {
                return Err(Flaw::new("compressed fields of COUNT above 1 are not supported; save it as binary"));
            }
            Table::new(count, place(true), Cow::Owned(lzf::decompress(packed, unpacked)?), false)
        }
        other => Err(Flaw::at_line(line, format!("unknown DATA `{other}`"))),
    }
}

fn scalar(kind: &str, size: usize) -> Option<Scalar> {
    Some(match (kind, size) {
        ("I", 1) => Scalar::I8,
        ("I", 2) => Scalar::I16,
        ("I", 4) => Scalar::I32,
        ("I", 8) => Scalar::I64,
        ("U", 1) => Scalar::U8,
        ("U", 2) => Scalar::U16,
        ("U", 4) => Scalar::U32,
        ("U", 8) => Scalar::U64,
        ("F", 4) => Scalar::F32,
        ("F", 8) => Scalar::F64,
        _ => return None,
    })
}
