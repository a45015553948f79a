//! Parsers of bytes.

use e2bki_data::camera::Sampler;
use e2bki_data::parse::{self, Table};
use e2bki_segment::network::Weights;

/// Headerless points.
pub(crate) fn points(data: &[u8]) {
    for fields in [3, 4, 5] {
        if let Ok(points) = parse::points(data, fields) {
            assert_eq!(points.len() * fields * 4, data.len());
        }
    }
}

/// Headerless labels.
pub(crate) fn labels(data: &[u8]) {
    if let Ok(labels) = parse::labels(data) {
        assert_eq!(labels.len() * 4, data.len());
    }
}

/// A NumPy array, and a grid of channels in one.
pub(crate) fn npy(data: &[u8]) {
    if let Ok(array) = parse::npy(data) {
        assert_eq!(array.values().len(), array.shape.iter().product::<usize>());
        if let Ok(grid) = parse::Grid::from_npy(&array) {
            assert_eq!(grid.values.len(), array.len());
        }
    }
}

fn table(table: &Table<'_>) {
    if let Ok(points) = table.points() {
        assert_eq!(points.len(), table.count);
    }
    if let Some(labels) = table.labels() {
        assert_eq!(labels.len(), table.count);
    }
    for field in &table.fields {
        // To the last record: all of them lie within the data.
        assert_eq!(table.column(field).count(), table.count);
    }
}

/// PLY.
pub(crate) fn ply(data: &[u8]) {
    if let Ok(read) = parse::ply(data) {
        table(&read);
    }
}

/// PCD.
pub(crate) fn pcd(data: &[u8]) {
    if let Ok(read) = parse::pcd(data) {
        table(&read);
    }
}

/// LAS.
pub(crate) fn las(data: &[u8]) {
    if let Ok(read) = parse::las(data) {
        assert_eq!(read.points().map(|p| p.len()), Ok(read.count));
        table(&read);
    }
}

/// A half-precision grid, its shape from the first bytes.
pub(crate) fn grid(data: &[u8]) {
    if let [c, h, w, rest @ ..] = data {
        let shape = [*c, *h, *w].map(usize::from);
        if let Ok(grid) = parse::grid_f16(rest, shape) {
            let sampler = Sampler::new(&grid, [shape[2] * 8 + 3, shape[1] * 8]);
            let (mut one, mut row) = (vec![0.0; grid.channels], vec![0.0; grid.channels]);
            for place in [[0.0, 0.0], [1e9, -4.0], [12.25, 7.5]] {
                sampler.at(place, &mut one, &mut row);
            }
        }
    }
    if let Ok(name) = std::str::from_utf8(data)
        && let Some(shape) = parse::grid_shape(name)
    {
        parse::grid_f16(data, shape).ok();
    }
}

/// Pictures and label images.
pub(crate) fn picture(data: &[u8]) {
    let size = parse::picture_size(data);
    if let Ok(picture) = parse::picture(data) {
        assert_eq!(size, Ok([picture.width() as usize, picture.height() as usize]));
    }
    if let Ok(image) = parse::label_image(data) {
        assert_eq!(image.ids.len(), image.width * image.height);
    }
}

/// Weights of a network.
pub(crate) fn safetensors(data: &[u8]) {
    if let Ok(weights) = Weights::from_bytes(data, "fuzz") {
        assert!(weights.plan().is_ok() && !weights.is_empty());
    }
}
