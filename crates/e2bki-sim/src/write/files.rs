//! Whole-file writes that either happen or leave nothing behind.
//! A reader, or a resumed run, never sees half a file.

use std::fs;
use std::io::Cursor;
use std::path::{Path, PathBuf};

use image::codecs::jpeg::JpegEncoder;
use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use image::{ExtendedColorType, ImageEncoder};

use crate::Error;

/// Creates a folder and its parents.
pub(super) fn create_folder(path: &Path) -> Result<(), Error> {
    fs::create_dir_all(path).map_err(Error::io("create", path))
}

/// Writes `bytes` under a temporary name, then renames it to `path`. Creates the folder if needed.
pub(super) fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    if let Some(folder) = path.parent()
        && !folder.is_dir()
    {
        create_folder(folder)?;
    }
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(".part");
    let part: PathBuf = path.with_file_name(name);
    let result = fs::write(&part, bytes)
        .map_err(Error::io("write", path))
        .and_then(|()| fs::rename(&part, path).map_err(Error::io("write", path)));
    if result.is_err() {
        // Best effort: the first error is the one to report.
        fs::remove_file(&part).ok();
    }
    result
}

/// Writes text only when it differs from what is there.
pub(super) fn write_text(path: &Path, text: &str) -> Result<(), Error> {
    match fs::read(path) {
        Ok(found) if found == text.as_bytes() => Ok(()),
        _ => write_whole(path, text.as_bytes()),
    }
}

/// Pixel data and its layout.
pub(super) enum Pixels<'a> {
    Rgb(&'a [[u8; 3]]),
    Grey(&'a [u8]),
    Grey16(&'a [u16]),
}

fn bytes_of(pixels: &Pixels<'_>) -> (Vec<u8>, ExtendedColorType) {
    match pixels {
        Pixels::Rgb(data) => (data.as_flattened().to_vec(), ExtendedColorType::Rgb8),
        Pixels::Grey(data) => (data.to_vec(), ExtendedColorType::L8),
        Pixels::Grey16(data) => (data.iter().flat_map(|v| v.to_ne_bytes()).collect(), ExtendedColorType::L16),
    }
}

/// Writes a PNG.
pub(super) fn write_png(path: &Path, size: [usize; 2], pixels: &Pixels<'_>) -> Result<(), Error> {
    let (data, color) = bytes_of(pixels);
    let mut out = Cursor::new(Vec::new());
    PngEncoder::new_with_quality(&mut out, CompressionType::Fast, FilterType::Sub)
        .write_image(&data, size[0] as u32, size[1] as u32, color)
        .map_err(|source| Error::Image { path: path.to_path_buf(), source })?;
    write_whole(path, &out.into_inner())
}

/// Writes a JPEG of high quality.
pub(super) fn write_jpeg(path: &Path, size: [usize; 2], pixels: &[[u8; 3]]) -> Result<(), Error> {
    let mut out = Cursor::new(Vec::new());
    JpegEncoder::new_with_quality(&mut out, 92)
        .write_image(pixels.as_flattened(), size[0] as u32, size[1] as u32, ExtendedColorType::Rgb8)
        .map_err(|source| Error::Image { path: path.to_path_buf(), source })?;
    write_whole(path, &out.into_inner())
}

/// Points as little-endian `x y z intensity`.
pub(super) fn point_bytes(points: impl Iterator<Item = ([f32; 3], f32)>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (p, intensity) in points {
        for value in [p[0], p[1], p[2], intensity] {
            bytes.extend_from_slice(&value.to_le_bytes());
        }
    }
    bytes
}

/// Labels as little-endian `u32`.
pub(super) fn label_bytes(labels: impl Iterator<Item = u32>) -> Vec<u8> {
    labels.flat_map(u32::to_le_bytes).collect()
}
