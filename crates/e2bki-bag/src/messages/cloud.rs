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

    fn rows(&self) -> impl Iterator<Item = std::slice::ChunksExact<'a, u8>> + use<'a> {
        let (data, line, point, row) = (self.data, self.width * self.point_step, self.point_step, self.row_step);
        // Only asked for by who has a field, and then a point has bytes.
        (0..self.height).map(move |y| data[y * row..][..line].chunks_exact(point.max(1)))
    }

    /// A field of every slot.
    pub fn column(&self, field: &Field<'_>) -> impl Iterator<Item = f64> + use<'a> {
        let (number, offset, big) = (field.number, field.offset, self.big_endian);
        self.rows().flatten().map(move |slot| value(number, &slot[offset..], big))
    }

    /// `N` bytes at a place of every slot, the lowest first, converted.
    fn gather<const N: usize, T>(&self, offset: usize, convert: impl Fn([u8; N]) -> T) -> Vec<T> {
        let taken = |slot: &[u8]| {
            let mut taken = [0; N];
            taken.copy_from_slice(&slot[offset..offset + N]);
            taken
        };
        let mut all = Vec::with_capacity(self.len());
        for row in self.rows() {
            if self.big_endian {
                all.extend(row.map(|slot| {
                    let mut bytes = taken(slot);
                    bytes.reverse();
                    convert(bytes)
                }));
            } else {
                all.extend(row.map(|slot| convert(taken(slot))));
            }
        }
        all
    }

    /// A field of every slot, converted: what kind of number it is is asked once, not for each.
    fn converted<T>(&self, field: &Field<'_>, convert: impl Fn(f64) -> T) -> Vec<T> {
        let at = field.offset;
        match field.number {
            Number::I8 => self.gather(at, |[b]| convert(f64::from(b as i8))),
            Number::U8 => self.gather(at, |[b]| convert(f64::from(b))),
            Number::I16 => self.gather(at, |b| convert(f64::from(i16::from_le_bytes(b)))),
            Number::U16 => self.gather(at, |b| convert(f64::from(u16::from_le_bytes(b)))),
            Number::I32 => self.gather(at, |b| convert(f64::from(i32::from_le_bytes(b)))),
            Number::U32 => self.gather(at, |b| convert(f64::from(u32::from_le_bytes(b)))),
            Number::F32 => self.gather(at, |b| convert(f64::from(f32::from_le_bytes(b)))),
            Number::F64 => self.gather(at, |b| convert(f64::from_le_bytes(b))),
        }
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
        let beside = axes[1].offset == axes[0].offset + 4 && axes[2].offset == axes[0].offset + 8;
        let points = if plain && beside {
            self.gather(axes[0].offset, |b: [u8; 12]| {
                [[b[0], b[1], b[2], b[3]], [b[4], b[5], b[6], b[7]], [b[8], b[9], b[10], b[11]]].map(f32::from_le_bytes)
            })
        } else {
            let [x, y, z] = axes.map(|field| self.converted(field, |v| v as f32));
            x.into_iter().zip(y).zip(z).map(|((x, y), z)| [x, y, z]).collect()
        };
        let ring = self.field(&["ring", "channel", "line", "row"]);
        let label = self.field(&["label", "class", "class_id", "semantic", "semantic_id", "sem_label"]);
        Ok(CloudFields {
            points,
            times: self.times(),
            rings: ring.map(|field| self.converted(field, |v| v.clamp(0.0, 65_535.0) as u16)),
            labels: label.map(|field| self.converted(field, |v| if v >= 0.0 { v as u32 } else { u32::MAX })),
        })
    }

    /// Times after the stamp, by the conventions of the drivers: whole numbers are nanoseconds (Ouster `t`, Livox
    /// `offset_time`), fractions are seconds (Velodyne `time`), and values of an epoch (Hesai, RoboSense `timestamp`) are
    /// taken relative to the stamp.
    fn times(&self) -> Option<Vec<f32>> {
        let names = ["t", "time", "timestamp", "offset_time", "time_offset", "time_stamp", "timeStamp"];
        let field = self.field(&names)?;
        let stamp = self.header.stamp as f64 * 1e-9;
        let values = self.converted(field, |v| v);
        let largest = values.iter().filter(|v| v.is_finite()).fold(0.0_f64, |most, v| most.max(v.abs()));
        let (scale, origin) = match (field.number.is_integer(), largest) {
            (_, v) if v > 1e17 => (1e-9, stamp),   // nanoseconds since 1970
            (_, v) if v > 1e14 => (1e-6, stamp),   // microseconds since 1970
            (false, v) if v > 1e8 => (1.0, stamp), // seconds since 1970
            (true, _) => (1e-9, 0.0),
            (false, v) if v > 1e5 => (1e-9, 0.0),
            (false, v) if v > 10.0 => (1e-6, 0.0),
            (false, _) => (1.0, 0.0),
        };
        let seconds = values.into_iter().map(|v| (v * scale - origin) as f32);
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const KINDS: [Number; 8] =
        [Number::I8, Number::U8, Number::I16, Number::U16, Number::I32, Number::U32, Number::F32, Number::F64];

    proptest! {
        /// Fields of any kind, byte order and place in points and rows with padding: what is decoded at once is what is read
        /// number by number.
        #[test]
        fn decoding_at_once_is_reading_one_by_one(
            kinds in prop::array::uniform5(0..8_usize),
            gaps in prop::array::uniform5(0..3_usize),
            (height, width, pad) in (1..4_usize, 1..6_usize, 0..5_usize),
            big_endian: bool,
            noise in prop::collection::vec(any::<u8>(), 2000),
        ) {
            let mut end = 0;
            let mut fields = Vec::new();
            for ((name, kind), gap) in ["x", "y", "z", "t", "label"].iter().zip(kinds).zip(gaps) {
                fields.push(Field { name, number: KINDS[kind], offset: end + gap });
                end += gap + KINDS[kind].size();
            }
            let row_step = width * end + pad;
            let header = Header { stamp: 1_700_000_000_000_000_000, frame: "lidar" };
            let data = &noise[..height * row_step];
            let cloud = Cloud { header, height, width, fields, big_endian, point_step: end, row_step, data };
            let decoded = cloud.decode().unwrap();
            let column = |name: &str| cloud.column(cloud.field(&[name]).unwrap()).collect::<Vec<f64>>();
            let [x, y, z, label] = ["x", "y", "z", "label"].map(column);
            prop_assert_eq!(decoded.points.len(), height * width);
            for i in 0..height * width {
                let expected = [x[i], y[i], z[i]].map(|v| (v as f32).to_bits());
                let nan = |bits: [u32; 3]| bits.map(|v| if f32::from_bits(v).is_nan() { 0x7fc0_0000 } else { v });
                prop_assert_eq!(nan(decoded.points[i].map(f32::to_bits)), nan(expected));
                let expected = if label[i] >= 0.0 { label[i] as u32 } else { u32::MAX };
                prop_assert_eq!(decoded.labels.as_ref().unwrap()[i], expected);
            }
            prop_assert_eq!(decoded.times.unwrap().len(), height * width);
        }
    }
}
