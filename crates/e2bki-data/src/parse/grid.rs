//! Per-pixel channels: logits, evidence or probabilities of an image, often coarser than the image.

use half::f16;

use super::Parsed;
use super::npy::Npy;
use crate::error::Flaw;

/// Most values of a grid: 64 channels of a 4-megapixel image.
const MAX_VALUES: usize = 1 << 28;

/// Most channels: classes of any network. An array of no points may declare any number of them.
pub(crate) const MAX_CHANNELS: usize = 65_536;

/// Cells that cover an image, read one by one: what a network said may lie in memory in any order, and little of it is asked for.
pub trait Cells: Send + Sync + std::fmt::Debug {
    /// Channels, rows and columns.
    fn shape(&self) -> [usize; 3];
    /// Writes the channels of a cell.
    fn read(&self, column: usize, row: usize, out: &mut [f32]);
}

/// Channels on a raster, held pixel by pixel so that one look-up touches neighbouring memory.
#[derive(Debug, Clone, PartialEq)]
pub struct Grid {
    /// Channels per cell.
    pub channels: usize,
    /// Rows.
    pub height: usize,
    /// Columns.
    pub width: usize,
    /// Values: row by row, cell by cell, all channels of a cell together.
    pub values: Vec<f32>,
}

impl Grid {
    /// From values in order channel, row, column.
    fn from_planes(shape: [usize; 3], planes: impl Iterator<Item = f32>) -> Parsed<Self> {
        let [channels, height, width] = shape;
        let cells = height * width;
        let mut values = vec![0.0; channels * cells];
        for (i, value) in planes.enumerate() {
            if let Some(place) = values.get_mut((i % cells) * channels + i / cells) {
                *place = value;
            }
        }
        Ok(Self { channels, height, width, values })
    }

    /// From an array of shape C×H×W (or 1×C×H×W).
    pub fn from_npy(array: &Npy<'_>) -> Parsed<Self> {
        let shape = match array.shape[..] {
            [c, h, w] | [1, c, h, w] => [c, h, w],
            _ => return Err(Flaw::new(format!("an array of channels×height×width expected, {:?} found", array.shape))),
        };
        checked(shape)?;
        Self::from_planes(shape, array.values().map(|v| v as f32))
    }

    /// Channels of a cell.
    pub fn cell(&self, column: usize, row: usize) -> &[f32] {
        let at = (row * self.width + column) * self.channels;
        &self.values[at..at + self.channels]
    }
}

impl Cells for Grid {
    fn shape(&self) -> [usize; 3] {
        [self.channels, self.height, self.width]
    }

    fn read(&self, column: usize, row: usize, out: &mut [f32]) {
        out.copy_from_slice(self.cell(column, row));
    }
}

/// Refuses more channels than a network can have.
pub(crate) fn check_channels(channels: usize) -> Parsed<usize> {
    if (1..=MAX_CHANNELS).contains(&channels) {
        return Ok(channels);
    }
    Err(Flaw::new(format!("{channels} channels; 1 to {MAX_CHANNELS} are read")))
}

fn checked(shape: [usize; 3]) -> Parsed<usize> {
    check_channels(shape[0])?;
    match shape.iter().try_fold(1_usize, |all, n| all.checked_mul(*n)) {
        Some(count) if (1..=MAX_VALUES).contains(&count) => Ok(count),
        _ => Err(Flaw::new(format!("{shape:?} is not a usable shape; 1 to {MAX_VALUES} values are read"))),
    }
}

/// The shape in a file name such as `000000_logits_20x47x155_f16.bin`: channels, height, width.
pub fn grid_shape(name: &str) -> Option<[usize; 3]> {
    name.split(['_', '.']).find_map(|part| {
        let numbers: Option<Vec<usize>> = part.split('x').map(|n| n.parse().ok()).collect();
        numbers?.try_into().ok()
    })
}

/// A headerless grid of little-endian half-precision numbers in order channel, row, column.
pub fn grid_f16(bytes: &[u8], shape: [usize; 3]) -> Parsed<Grid> {
    let count = checked(shape)?;
    let (words, rest) = bytes.as_chunks::<2>();
    if words.len() != count || !rest.is_empty() {
        let [c, h, w] = shape;
        return Err(Flaw::new(format!("{} bytes are not {c}×{h}×{w} half-precision numbers", bytes.len())));
    }
    Grid::from_planes(shape, words.iter().map(|w| f16::from_le_bytes(*w).to_f32()))
}
