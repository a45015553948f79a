//! PNG and JPEG pictures, and label images of one channel.

use std::io::Cursor;

use image::{DynamicImage, ImageReader, Limits, RgbImage};

use super::Parsed;
use crate::error::Flaw;

/// Largest side of a picture.
const MAX_SIDE: u32 = 16_384;

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

fn reader(bytes: &[u8]) -> Parsed<ImageReader<Cursor<&[u8]>>> {
    let mut reader = ImageReader::new(Cursor::new(bytes)).with_guessed_format().map_err(flaw)?;
    if reader.format().is_none() {
        return Err(Flaw::new("is not a picture: neither PNG nor JPEG"));
    }
    let mut limits = Limits::default();
    limits.max_image_width = Some(MAX_SIDE);
    limits.max_image_height = Some(MAX_SIDE);
    limits.max_alloc = Some(1 << 30);
    reader.limits(limits);
    Ok(reader)
}

fn flaw(error: impl std::fmt::Display) -> Flaw {
    Flaw::new(format!("the picture cannot be read: {error}"))
}

/// A colour picture.
pub fn picture(bytes: &[u8]) -> Parsed<RgbImage> {
    Ok(reader(bytes)?.decode().map_err(flaw)?.into_rgb8())
}

/// Width and height, from the header alone.
pub fn picture_size(bytes: &[u8]) -> Parsed<[usize; 2]> {
    let (width, height) = reader(bytes)?.into_dimensions().map_err(flaw)?;
    Ok([width as usize, height as usize])
}

/// A label image: one channel of 8 or 16 bits.
pub fn label_image(bytes: &[u8]) -> Parsed<LabelImage> {
    let (width, height, ids) = match reader(bytes)?.decode().map_err(flaw)? {
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
