//! PLY: text or binary of either order; the vertices only, which must come first and hold no lists.

use std::borrow::Cow;

use super::Parsed;
use super::scalar::Scalar;
use super::table::{Field, Table, text_rows};
use crate::error::Flaw;

/// Longest header that is looked through.
const MAX_HEADER: usize = 1 << 16;

/// The vertices of a PLY file.
pub fn ply(bytes: &[u8]) -> Parsed<Table<'_>> {
    let (header, body, lines) = split(bytes)?;
    let mut encoding = None;
    let mut count = None;
    let mut in_vertices = false;
    let mut fields: Vec<(String, Scalar)> = Vec::new();
    for (i, line) in header.lines().enumerate() {
        let bad = |what: &str| Flaw::at_line(i + 1, format!("{what}: `{}`", line.trim()));
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["format", name, _] => encoding = Some(name.to_string()),
            ["element", "vertex", _] if count.is_some() => return Err(bad("a second element of vertices")),
            ["element", "vertex", n] => {
                count = Some(n.parse::<usize>().map_err(|_| bad("not a number of vertices"))?);
                in_vertices = true;
            }
            ["element", ..] if count.is_none() => return Err(bad("the vertices must be the first element")),
            ["element", ..] => in_vertices = false,
            ["property", "list", ..] if in_vertices => return Err(bad("vertices with lists are not supported")),
            ["property", kind, name] if in_vertices => {
                fields.push((name.into(), scalar(kind).ok_or_else(|| bad("unknown type"))?));
            }
            ["property", ..] if in_vertices => return Err(bad("not a property")),
            _ => {}
        }
    }
    let Some(count) = count else { return Err(Flaw::new("its header has no line `element vertex N`")) };
    match encoding.as_deref() {
        Some("ascii") => {
            let text = std::str::from_utf8(body).map_err(|_| Flaw::new("says it is text, but is not UTF-8"))?;
            let values = text_rows(text, lines + 1, count, fields.len())?;
            Table::from_rows(fields.into_iter().map(|(name, _)| name).collect(), &values)
        }
        Some(order @ ("binary_little_endian" | "binary_big_endian")) => {
            let stride: usize = fields.iter().map(|(_, kind)| kind.size()).sum();
            let mut offset = 0;
            let mut placed = Vec::with_capacity(fields.len());
            for (name, kind) in fields {
                placed.push(Field { name, kind, offset, stride });
                offset += kind.size();
            }
            Table::new(count, placed, Cow::Borrowed(body), order == "binary_big_endian")
        }
        other => Err(Flaw::new(format!("unknown PLY format `{}`", other.unwrap_or("(none)")))),
    }
}

/// Header text, body, and the number of header lines.
fn split(bytes: &[u8]) -> Parsed<(&str, &[u8], usize)> {
    if !bytes.starts_with(b"ply") {
        return Err(Flaw::new("not a PLY file: it does not start with `ply`"));
    }
    let head = &bytes[..bytes.len().min(MAX_HEADER)];
    let end = head.windows(10).position(|w| w == b"end_header").ok_or_else(|| Flaw::new("no `end_header` line"))?;
    let newline = head[end..].iter().position(|b| *b == b'\n').ok_or_else(|| Flaw::new("nothing after the header"))?;
    let header = std::str::from_utf8(&bytes[..end]).map_err(|_| Flaw::new("its header is not text"))?;
    Ok((header, &bytes[end + newline + 1..], header.lines().count() + 1))
}

fn scalar(name: &str) -> Option<Scalar> {
    Some(match name {
        "char" | "int8" => Scalar::I8,
        "uchar" | "uint8" => Scalar::U8,
        "short" | "int16" => Scalar::I16,
        "ushort" | "uint16" => Scalar::U16,
        "int" | "int32" => Scalar::I32,
        "uint" | "uint32" => Scalar::U32,
        "float" | "float32" => Scalar::F32,
        "double" | "float64" => Scalar::F64,
        _ => return None,
    })
}
