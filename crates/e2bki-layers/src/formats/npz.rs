//! Layers for NumPy: one array of rows × columns per layer, the probabilities of the classes, and where the cells are.

use std::path::{Path, PathBuf};

use e2bki_store::{Array, save_npz};

use crate::cell::LAYERS;
use crate::error::Result;
use crate::layers::Layers;

/// Writes all layers. Row 0 is the southernmost, as with an occupancy grid; `corner` is its south-western corner.
pub fn npz(layers: &Layers, classes: &[String], path: &Path) -> Result<PathBuf> {
    let grid = layers.grid();
    let [width, height] = grid.size;
    let floats = |values: &mut dyn Iterator<Item = f32>| values.flat_map(f32::to_le_bytes).collect::<Vec<u8>>();
    let mut arrays: Vec<Array> = LAYERS
        .iter()
        .map(|(name, _, _, value)| {
            Array::new(name, "<f4", &[height, width], floats(&mut layers.cells().iter().map(value)))
        })
        .collect();
    let count = layers.classes();
    let probability = floats(&mut (0..grid.len()).flat_map(|cell| layers.probability(cell).iter().copied()));
    arrays.push(Array::new("probability", "<f4", &[height, width, count], probability));
    let corner = grid.corner().into_iter().flat_map(f64::to_le_bytes).collect();
    arrays.push(Array::new("corner", "<f8", &[2], corner));
    arrays.push(Array::new("resolution", "<f8", &[1], grid.resolution.to_le_bytes().to_vec()));
    let names = classes.join("\n");
    arrays.push(Array::new("class_names", "|u1", &[names.len()], names.into_bytes()));
    save_npz(path, &arrays)?;
    Ok(path.to_path_buf())
}
