//! PNG and JPEG pictures, and label images of one channel.

use std::io::Cursor;

use image::{DynamicImage, ExtendedColorType, ImageDecoder, ImageReader, Limits, RgbImage};

use super::Parsed;
use crate::camera::{MAX_SIDE, check_size};
use crate::error::Flaw;

/// Most bytes that a byte of a picture can become: 1032 by deflate, 1365 by the sparsest JPEG, whose every block takes a bit.
const MAX_RATIO: u64 = 1400;

/// Ids of the pixels of an image, row by row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelImage {
    /// Columns.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Ids.
    pub ids: Vec<u16>,
}

impl LabelImage {
    /// Id of a pixel.
    pub fn at(&self, column: usize, row: usize) -> u16 {
        self.ids[row * self.width + column]
    }
}

fn limits() -> Limits {
    let mut limits = Limits::default();
    limits.max_image_width = Some(MAX_SIDE as u32);
    limits.max_image_height = Some(MAX_SIDE as u32);
    limits.max_alloc = Some(1 << 30);
    limits
}

fn reader(bytes: &[u8]) -> Parsed<ImageReader<Cursor<&[u8]>>> {
    let mut reader = ImageReader::new(Cursor::new(bytes)).with_guessed_format().map_err(flaw)?;
    if reader.format().is_none() {
        return Err(Flaw::new("is not a picture: neither PNG nor JPEG"));
    }
    reader.limits(limits());
    Ok(reader)
}

fn flaw(error: impl std::fmt::Display) -> Flaw {
    Flaw::new(format!("the picture cannot be read: {error}"))
}

/// Holds the size that a header declares against what is possible, and against the bytes that are there.
fn plausible(bytes: &[u8], (width, height): (u32, u32), color: ExtendedColorType) -> Parsed<[usize; 2]> {
    let size = check_size([width as usize, height as usize])?;
    let unpacked = u64::from(width) * u64::from(height) * u64::from(color.bits_per_pixel()) / 8;
    if unpacked > MAX_RATIO * bytes.len() as u64 {
        let what = format!("its header promises {width}×{height} pixels, which {} bytes cannot hold", bytes.len());
        return Err(Flaw::new(format!("{what}: the file is cut short")));
    }
    Ok(size)
}

fn decoded(bytes: &[u8]) -> Parsed<DynamicImage> {
    let mut decoder = reader(bytes)?.into_decoder().map_err(flaw)?;
    plausible(bytes, decoder.dimensions(), decoder.original_color_type())?;
    decoder.set_limits(limits()).map_err(flaw)?;
    DynamicImage::from_decoder(decoder).map_err(flaw)
}

/// A colour picture.
pub fn picture(bytes: &[u8]) -> Parsed<RgbImage> {
    Ok(decoded(bytes)?.into_rgb8())
}

/// Width and height, from the header alone.
pub fn picture_size(bytes: &[u8]) -> Parsed<[usize; 2]> {
    let decoder = reader(bytes)?.into_decoder().map_err(flaw)?;
    check_size([decoder.dimensions().0 as usize, decoder.dimensions().1 as usize])
}

/// A label image: one channel of 8 or 16 bits.
pub fn label_image(bytes: &[u8]) -> Parsed<LabelImage> {
    let (width, height, ids) = match decoded(bytes)? {
        DynamicImage::ImageLuma8(grey) => {
            (grey.width(), grey.height(), grey.into_raw().into_iter().map(u16::from).collect())
        }
        DynamicImage::ImageLuma16(grey) => (grey.width(), grey.height(), grey.into_raw()),
        other => {
            return Err(Flaw::new(format!(
                "a label image has one channel of ids, this has {:?}; is it the coloured version?",
                other.color()
            )));
        }
    };
    Ok(LabelImage { width: width as usize, height: height as usize, ids })
}
