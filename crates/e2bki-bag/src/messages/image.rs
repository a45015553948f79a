//! `sensor_msgs/Image` and `sensor_msgs/CompressedImage`.

use super::Header;
use crate::wire::{Broken, Read, Reader, Wire};

/// Most channels of an image of numbers.
const MOST_CHANNELS: usize = 4096;

/// An image as it was sent; bytes are borrowed from the message.
#[derive(Debug, Clone)]
pub struct Image<'a> {
    /// Time and frame.
    pub header: Header<'a>,
    /// Pixels of a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Name of the encoding, as in `rgb8`.
    pub encoding: &'a str,
    big_endian: bool,
    step: usize,
    data: &'a [u8],
}

impl<'a> Image<'a> {
    /// Reads a message.
    pub fn read(wire: Wire, message: &'a [u8]) -> Read<Self> {
        let mut fields = Reader::new(wire, message)?;
        let header = Header::read(&mut fields)?;
        let (height, width) = (fields.u32()? as usize, fields.u32()? as usize);
        let encoding = fields.text()?;
        let (big_endian, step) = (fields.bool()?, fields.u32()? as usize);
        let data = fields.bytes()?;
        // Rows without bytes are none: a number of them would cost time and no message.
        if height.checked_mul(step.max(1)).is_none_or(|needed| needed > data.len()) {
            return Err(Broken(format!("{height} rows of {step} bytes announced, {} bytes sent", data.len())));
        }
        Ok(Self { header, width, height, encoding, big_endian, step, data })
    }

    fn rows(&self, bytes_per_pixel: usize) -> Read<impl Iterator<Item = &'a [u8]> + use<'a>> {
        let row = self.width.checked_mul(bytes_per_pixel).filter(|row| *row <= self.step);
        let row = row.ok_or_else(|| {
            Broken(format!("{} pixels of `{}` in rows of {} bytes", self.width, self.encoding, self.step))
        })?;
        let (data, step) = (self.data, self.step);
        Ok((0..self.height).map(move |y| &data[y * step..][..row]))
    }

    /// Red, green and blue of every pixel.
    pub fn rgb(&self) -> Read<Vec<u8>> {
        let pick = |channels: usize, order: [usize; 3]| -> Read<Vec<u8>> {
            let rows = self.rows(channels)?;
            Ok(rows.flat_map(|row| row.chunks_exact(channels).flat_map(move |pixel| order.map(|c| pixel[c]))).collect())
        };
        match self.encoding {
            "rgb8" | "8UC3" => pick(3, [0, 1, 2]),
            "bgr8" => pick(3, [2, 1, 0]),
            "rgba8" => pick(4, [0, 1, 2]),
            "bgra8" => pick(4, [2, 1, 0]),
            "mono8" | "8UC1" => pick(1, [0, 0, 0]),
            other => Err(Broken(format!("encoding `{other}`; rgb8, bgr8, rgba8, bgra8 and mono8 are read as colours"))),
        }
    }

    /// Channels of an image of single-precision numbers, `32FC1`, `32FC20`, …; nothing for other encodings.
    pub fn float_channels(&self) -> Option<usize> {
        let count = self.encoding.strip_prefix("32FC")?;
        count.parse().ok().filter(|count| (1..=MOST_CHANNELS).contains(count))
    }

    /// The numbers of every pixel, all channels of a pixel together.
    pub fn floats(&self) -> Read<Vec<f32>> {
        let channels = self.float_channels().ok_or_else(|| {
            Broken(format!("encoding `{}`; 32FC1 to 32FC{MOST_CHANNELS} are read as values of classes", self.encoding))
        })?;
        let big = self.big_endian;
        let number = move |word: &[u8]| {
            let word = [word[0], word[1], word[2], word[3]];
            if big { f32::from_be_bytes(word) } else { f32::from_le_bytes(word) }
        };
        Ok(self.rows(4 * channels)?.flat_map(|row| row.chunks_exact(4).map(number)).collect())
    }

    /// Label ids of every pixel.
    pub fn labels(&self) -> Read<Vec<u16>> {
        let (big, of) = (self.big_endian, |pair: &[u8]| [pair[0], pair[1]]);
        match self.encoding {
            "mono8" | "8UC1" => Ok(self.rows(1)?.flat_map(|row| row.iter().map(|v| u16::from(*v))).collect()),
            "mono16" | "16UC1" => {
                let number =
                    move |pair: &[u8]| if big { u16::from_be_bytes(of(pair)) } else { u16::from_le_bytes(of(pair)) };
                Ok(self.rows(2)?.flat_map(|row| row.chunks_exact(2).map(number)).collect())
            }
            other => Err(Broken(format!("encoding `{other}`; mono8, 8UC1, mono16 and 16UC1 are read as labels"))),
        }
    }
}

/// A JPEG or PNG image as it was sent.
#[derive(Debug, Clone)]
pub struct CompressedImage<'a> {
    /// Time and frame.
    pub header: Header<'a>,
    /// What the publisher says of its format.
    pub format: &'a str,
    /// The bytes of the file.
    pub data: &'a [u8],
}

impl<'a> CompressedImage<'a> {
    /// Reads a message.
    pub fn read(wire: Wire, message: &'a [u8]) -> Read<Self> {
        let mut fields = Reader::new(wire, message)?;
        Ok(Self { header: Header::read(&mut fields)?, format: fields.text()?, data: fields.bytes()? })
    }
}
