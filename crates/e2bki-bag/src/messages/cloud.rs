//! `sensor_msgs/PointCloud2` of any field layout: padding, either byte order, organised or not.

use super::Header;
use crate::wire::{Broken, Read, Reader, Wire};

/// Most fields of a cloud.
const MOST_FIELDS: usize = 256;

/// How a field's numbers are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // the names say it
pub enum Number {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    F32,
    F64,
}

impl Number {
    fn of_code(code: u8) -> Option<Self> {
        let all = [Self::I8, Self::U8, Self::I16, Self::U16, Self::I32, Self::U32, Self::F32, Self::F64];
        all.get(usize::from(code).checked_sub(1)?).copied()
    }

    /// The number by which messages name it.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::I8 => 1,
            Self::U8 => 2,
            Self::I16 => 3,
            Self::U16 => 4,
            Self::I32 => 5,
            Self::U32 => 6,
            Self::F32 => 7,
            Self::F64 => 8,
        }
    }

    /// Bytes of one.
    pub fn size(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::F64 => 8,
        }
    }

    /// Whether it holds whole numbers only.
    pub fn is_integer(self) -> bool {
        !matches!(self, Self::F32 | Self::F64)
    }
}

/// A field of every point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field<'a> {
    /// Its name.
    pub name: &'a str,
    /// How it is stored.
    pub number: Number,
    offset: usize,
}

/// A cloud as it was sent: fields, and bytes borrowed from the message.
#[derive(Debug, Clone)]
pub struct Cloud<'a> {
    /// Time and frame.
    pub header: Header<'a>,
    /// Rows: 1 for a cloud that is not organised.
    pub height: usize,
    /// Points of a row.
    pub width: usize,
    /// Fields of every point.
    pub fields: Vec<Field<'a>>,
    big_endian: bool,
    point_step: usize,
    row_step: usize,
    data: &'a [u8],
}

/// The fields that a mapper uses, one value for every slot of the cloud.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CloudFields {
    /// Positions in the frame of the sensor, metres; NaN where there was no return.
    pub points: Vec<[f32; 3]>,
    /// When each point was measured, seconds after the stamp.
    pub times: Option<Vec<f32>>,
    /// Beam of each point.
    pub rings: Option<Vec<u16>>,
    /// Label id of each point.
    pub labels: Option<Vec<u32>>,
}

impl<'a> Cloud<'a> {
    /// Reads a message; everything about its layout is checked here.
    pub fn read(wire: Wire, message: &'a [u8]) -> Read<Self> {
        let mut fields = Reader::new(wire, message)?;
        let header = Header::read(&mut fields)?;
        let (height, width) = (fields.u32()? as usize, fields.u32()? as usize);
        // Rows without points are no rows, however many were announced.
        let height = if width == 0 { 0 } else { height };
        // Name, offset, kind, count.
        let list = fields.list(13, |f| Ok((f.text()?, f.u32()?, f.u8()?, f.u32()?)))?;
        if list.len() > MOST_FIELDS {
            return Err(Broken(format!("{} fields; at most {MOST_FIELDS} are read", list.len())));
        }
        let big_endian = fields.bool()?;
        let (point_step, row_step) = (fields.u32()? as usize, fields.u32()? as usize);
        let data = fields.bytes()?;
        let row = width.checked_mul(point_step).filter(|row| *row <= row_step || height <= 1);
        let row = row.ok_or_else(|| Broken(format!("{width} points of {point_step} bytes in rows of {row_step}")))?;
        // Some drivers leave the length of a row at 0 in clouds of one row.
        let row_step = row_step.max(row);
        let needed = height.saturating_sub(1).checked_mul(row_step).and_then(|rows| rows.checked_add(row));
        if height > 0 && needed.is_none_or(|needed| needed > data.len()) {
            return Err(Broken(format!(
                "{height}×{width} points of {point_step} bytes announced, {} bytes sent",
                data.len()
            )));
        }
        let mut known = Vec::new();
        for (name, offset, code, count) in list {
            let Some(number) = Number::of_code(code) else {
                return Err(Broken(format!("field `{name}` is of kind {code}; 1 to 8 are known")));
            };
            let size = number.size() * count.max(1) as usize;
            if (offset as usize).checked_add(size).is_none_or(|end| end > point_step) {
                return Err(Broken(format!("field `{name}` lies outside of a point of {point_step} bytes")));
            }
            known.push(Field { name, number, offset: offset as usize });
        }
        Ok(Self { header, height, width, fields: known, big_endian, point_step, row_step, data })
    }

    /// Number of slots, with or without a return.
    pub fn len(&self) -> usize {
        self.height * self.width
    }

    /// Whether there are no slots.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The first field that has one of these names.
    pub fn field(&self, names: &[&str]) -> Option<&Field<'a>> {
        names.iter().find_map(|name| self.fields.iter().find(|field| field.name == *name))
    }

    fn slots(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let (data, width, point, row) = (self.data, self.width, self.point_step, self.row_step);
        (0..self.height).flat_map(move |y| (0..width).map(move |x| &data[y * row + x * point..][..point]))
    }

    /// A field of every slot.
    pub fn column(&self, field: &Field<'_>) -> impl Iterator<Item = f64> + use<'a> {
        let (number, offset, big) = (field.number, field.offset, self.big_endian);
        self.slots().map(move |slot| value(number, &slot[offset..], big))
    }

    /// The fields that a mapper uses.
    pub fn decode(&self) -> Read<CloudFields> {
        let axis = |name: &str| {
            self.field(&[name]).ok_or_else(|| {
                let names: Vec<&str> = self.fields.iter().map(|field| field.name).collect();
                Broken(format!("no field `{name}`; it has {}", names.join(", ")))
            })
        };
        let axes = [axis("x")?, axis("y")?, axis("z")?];
        let plain = !self.big_endian && axes.iter().all(|field| field.number == Number::F32);
        let points = if plain {
            let offsets = [axes[0].offset, axes[1].offset, axes[2].offset];
            let f32_at =
                |slot: &[u8], at: usize| f32::from_le_bytes([slot[at], slot[at + 1], slot[at + 2], slot[at + 3]]);
            self.slots().map(|slot| offsets.map(|at| f32_at(slot, at))).collect()
        } else {
            let get =
                |slot: &[u8], field: &Field<'_>| value(field.number, &slot[field.offset..], self.big_endian) as f32;
            self.slots().map(|slot| axes.map(|field| get(slot, field))).collect()
        };
        let ring = self.field(&["ring", "channel", "line", "row"]);
        let label = self.field(&["label", "class", "class_id", "semantic", "semantic_id", "sem_label"]);
        Ok(CloudFields {
            points,
            times: self.times(),
            rings: ring.map(|field| self.column(field).map(|v| v.clamp(0.0, 65_535.0) as u16).collect()),
            labels: label.map(|field| self.column(field).map(|v| if v >= 0.0 { v as u32 } else { u32::MAX }).collect()),
        })
    }

    /// Times after the stamp, by the conventions of the drivers: whole numbers are nanoseconds (Ouster `t`, Livox
    /// `offset_time`), fractions are seconds (Velodyne `time`), and values of an epoch (Hesai, RoboSense `timestamp`) are
    /// taken relative to the stamp.
    fn times(&self) -> Option<Vec<f32>> {
        let names = ["t", "time", "timestamp", "offset_time", "time_offset", "time_stamp", "timeStamp"];
        let field = self.field(&names)?;
        let stamp = self.header.stamp as f64 * 1e-9;
        let largest = self.column(field).filter(|v| v.is_finite()).fold(0.0_f64, |most, v| most.max(v.abs()));
        let (scale, origin) = match (field.number.is_integer(), largest) {
            (_, v) if v > 1e17 => (1e-9, stamp),   // nanoseconds since 1970
            (_, v) if v > 1e14 => (1e-6, stamp),   // microseconds since 1970
            (false, v) if v > 1e8 => (1.0, stamp), // seconds since 1970
            (true, _) => (1e-9, 0.0),
            (false, v) if v > 1e5 => (1e-9, 0.0),
            (false, v) if v > 10.0 => (1e-6, 0.0),
            (false, _) => (1.0, 0.0),
        };
        let seconds = self.column(field).map(|v| (v * scale - origin) as f32);
        // A time that is more than a turn away from the stamp says nothing about the motion during it.
        Some(seconds.map(|s| if s.abs() <= 1.0 { s } else { 0.0 }).collect())
    }
}

/// A number at the beginning of some bytes, which the caller has checked to be there.
fn value(number: Number, bytes: &[u8], big_endian: bool) -> f64 {
    fn take<const N: usize>(bytes: &[u8], big_endian: bool) -> [u8; N] {
        let mut taken = [0; N];
        taken.copy_from_slice(&bytes[..N]);
        if big_endian {
            taken.reverse();
        }
        taken
    }
    match number {
        Number::I8 => f64::from(bytes[0] as i8),
        Number::U8 => f64::from(bytes[0]),
        Number::I16 => f64::from(i16::from_le_bytes(take(bytes, big_endian))),
        Number::U16 => f64::from(u16::from_le_bytes(take(bytes, big_endian))),
        Number::I32 => f64::from(i32::from_le_bytes(take(bytes, big_endian))),
        Number::U32 => f64::from(u32::from_le_bytes(take(bytes, big_endian))),
        Number::F32 => f64::from(f32::from_le_bytes(take(bytes, big_endian))),
        Number::F64 => f64::from_le_bytes(take(bytes, big_endian)),
    }
}
