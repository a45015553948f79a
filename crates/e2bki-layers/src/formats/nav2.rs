//! Maps for Nav2's map server: a picture, north up, and a YAML file beside it. Unknown is never free.

use std::path::{Path, PathBuf};

use super::values::occupancy;
use super::{png, written};
use crate::error::{Error, Result};
use crate::layers::Layers;

/// How the map server reads the pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Nav2Mode {
    /// Free, occupied or unknown (PGM).
    #[default]
    Trinary,
    /// Costs from 0 to 100; unknown is transparent (PNG).
    Scale,
    /// Costs from 0 to 100 as they are; 255 is unknown (PGM).
    Raw,
}

impl Nav2Mode {
    /// The mode of that name.
    pub fn by_name(name: &str) -> Result<Self> {
        match name {
            "trinary" => Ok(Self::Trinary),
            "scale" => Ok(Self::Scale),
            "raw" => Ok(Self::Raw),
            _ => Err(Error::Refused(format!("unknown mode `{name}`; known: trinary, scale, raw"))),
        }
    }

    /// Its name in the YAML file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Trinary => "trinary",
            Self::Scale => "scale",
            Self::Raw => "raw",
        }
    }

    /// Between which shares of black costs lie: with `scale` all of them, so that no cost is lost.
    fn thresholds(self) -> (f64, f64) {
        match self {
            Self::Scale => (0.0, 1.0),
            Self::Trinary | Self::Raw => (0.196, 0.65),
        }
    }
}

/// Writes NAME.yaml and NAME.pgm (NAME.png for `scale`), whichever ending the path has; returns the files.
pub fn nav2(layers: &Layers, path: &Path, mode: Nav2Mode) -> Result<Vec<PathBuf>> {
    let grid = layers.grid();
    let [width, height] = grid.size;
    let values = occupancy(layers);
    let north_up = (0..height).rev().flat_map(|row| values[row * width..][..width].iter().copied());
    let yaml = path.with_extension("yaml");
    let picture = match mode {
        Nav2Mode::Scale => {
            let pixel = |v: i8| match u8::try_from(v) {
                Ok(v) => [(255.0 * (1.0 - f64::from(v) / 100.0)).round() as u8, 255],
                Err(_) => [127, 0],
            };
            let pixels: Vec<u8> = north_up.flat_map(pixel).collect();
            let image = image::ImageBuffer::<image::LumaA<u8>, _>::from_raw(width as u32, height as u32, pixels)
                .ok_or_else(|| Error::Refused("the picture is too large".into()))?;
            png(&path.with_extension("png"), image.into())?
        }
        Nav2Mode::Trinary | Nav2Mode::Raw => {
            let pixel = |v: i8| match (mode, u8::try_from(v)) {
                (Nav2Mode::Raw, Ok(cost)) => cost,
                (Nav2Mode::Raw, Err(_)) => 255,
                (_, Ok(100)) => 0,
                (_, Ok(_)) => 254,
                (_, Err(_)) => 205,
            };
            let mut bytes = format!("P5\n{width} {height}\n255\n").into_bytes();
            bytes.extend(north_up.map(pixel));
            written(&path.with_extension("pgm"), &bytes)?
        }
    };
    let name = picture.file_name().unwrap_or_default().to_string_lossy().into_owned();
    // Characters that mean something in YAML are quoted.
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c)) && !name.starts_with('-');
    let name = if plain { name } else { format!("{name:?}") };
    let ([x, y], (free, occupied)) = (grid.corner(), mode.thresholds());
    let text = format!(
        "image: {name}\nmode: {}\nresolution: {}\norigin: [{x}, {y}, 0]\nnegate: 0\noccupied_thresh: {occupied}\n\
         free_thresh: {free}\n",
        mode.name(),
        grid.resolution
    );
    Ok(vec![written(&yaml, text.as_bytes())?, picture])
}
