//! GeoTIFF with one band of 32-bit numbers per layer, for QGIS and other geographic programs.

use std::path::{Path, PathBuf};

use super::written;
use crate::cell::LAYERS;
use crate::error::{Error, Result};
use crate::layers::Layers;

/// Where the map is on the Earth.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Georeference {
    /// Number of a projected coordinate system, as 32632 for UTM zone 32 north; none if not known.
    pub epsg: Option<u16>,
    /// Easting and northing of the map's origin in it, metres.
    pub origin: [f64; 2],
}

impl Georeference {
    /// Refuses what a metric grid cannot be in.
    pub fn check(&self) -> Result<()> {
        if let Some(epsg) = self.epsg.filter(|epsg| !(2000..=32766).contains(epsg) || (4000..=4999).contains(epsg)) {
            return Err(Error::Refused(format!(
                "EPSG {epsg} is not a projected coordinate system in metres, as 32632 (UTM zone 32 north) is"
            )));
        }
        if !self.origin.iter().all(|v| v.is_finite() && v.abs() < 1e8) {
            return Err(Error::Refused(format!("the origin {:?} is not a place", self.origin)));
        }
        Ok(())
    }
}

/// A field of the directory: tag, kind, number of values, their bytes.
struct Field(u16, u16, u32, Vec<u8>);

fn shorts(tag: u16, values: &[u16]) -> Field {
    Field(tag, 3, values.len() as u32, values.iter().flat_map(|v| v.to_le_bytes()).collect())
}

fn longs(tag: u16, values: &[u32]) -> Field {
    Field(tag, 4, values.len() as u32, values.iter().flat_map(|v| v.to_le_bytes()).collect())
}

fn doubles(tag: u16, values: &[f64]) -> Field {
    Field(tag, 12, values.len() as u32, values.iter().flat_map(|v| v.to_le_bytes()).collect())
}

fn text(tag: u16, value: &str) -> Field {
    let bytes: Vec<u8> = value.bytes().chain([0]).collect();
    Field(tag, 2, bytes.len() as u32, bytes)
}

/// Writes all layers, then the probability of every class, as bands that carry their names. Unknown is NaN.
pub fn geotiff(layers: &Layers, classes: &[String], path: &Path, place: &Georeference) -> Result<PathBuf> {
    place.check()?;
    let grid = layers.grid();
    let [width, height] = grid.size;
    let bands = LAYERS.len() + layers.classes();
    let band_bytes = 4 * grid.len();
    if (bands as u64) * (band_bytes as u64) > u64::from(u32::MAX) - (1 << 20) {
        return Err(Error::Refused("a TIFF file cannot be larger than 4 GB: take a smaller --region".into()));
    }
    let names = LAYERS.iter().map(|(name, ..)| (*name).to_string());
    let names: Vec<String> = names.chain(classes.iter().map(|name| format!("probability of {name}"))).collect();
    let corner = grid.corner();
    let top_left = [corner[0] + place.origin[0], corner[1] + height as f64 * grid.resolution + place.origin[1]];
    // Version, then keys as (id, where, count, value): the raster is of areas; the coordinate system.
    let mut keys: Vec<[u16; 4]> = vec![[1025, 0, 1, 1]];
    if let Some(epsg) = place.epsg {
        keys.insert(0, [1024, 0, 1, 1]);
        keys.push([3072, 0, 1, epsg]);
    }
    let mut directory = vec![1, 1, 0, keys.len() as u16];
    directory.extend(keys.into_iter().flatten());
    let samples = bands as u16;
    let fields = |first: u32| {
        let offsets: Vec<u32> = (0..bands).map(|band| first + (band * band_bytes) as u32).collect();
        vec![
            longs(256, &[width as u32]),
            longs(257, &[height as u32]),
            shorts(258, &vec![32; bands]),
            shorts(259, &[1]),
            shorts(262, &[1]),
            longs(273, &offsets),
            shorts(277, &[samples]),
            longs(278, &[height as u32]),
            longs(279, &vec![band_bytes as u32; bands]),
            // Band after band, each a raster of its own.
            shorts(284, &[2]),
            shorts(338, &vec![0; bands - 1]),
            shorts(339, &vec![3; bands]),
            doubles(33550, &[grid.resolution, grid.resolution, 0.0]),
            doubles(33922, &[0.0, 0.0, 0.0, top_left[0], top_left[1], 0.0]),
            shorts(34735, &directory),
            text(42112, &metadata(&names)),
            text(42113, "nan"),
        ]
    };
    // The directory has the same size wherever the bands are.
    let first = 8 + directory_bytes(&fields(0)).len() as u32;
    let mut bytes = b"II\x2a\x00\x08\x00\x00\x00".to_vec();
    bytes.extend(directory_bytes(&fields(first)));
    let north_up = || (0..height).rev().flat_map(|row| (0..width).map(move |column| row * width + column));
    for (_, _, _, value) in LAYERS {
        bytes.extend(north_up().flat_map(|cell| value(&layers.cells()[cell]).to_le_bytes()));
    }
    for class in 0..layers.classes() {
        let known = |cell: usize| layers.cells()[cell].height.is_finite();
        let p = |cell: usize| if known(cell) { layers.probability(cell)[class] } else { f32::NAN };
        bytes.extend(north_up().flat_map(|cell| p(cell).to_le_bytes()));
    }
    written(path, &bytes)
}

/// Names of the bands, in the words of GDAL.
fn metadata(names: &[String]) -> String {
    let escaped = |name: &str| name.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let item = |(band, name): (usize, &String)| {
        format!("<Item name=\"DESCRIPTION\" sample=\"{band}\" role=\"description\">{}</Item>", escaped(name))
    };
    let items: String = names.iter().enumerate().map(item).collect();
    format!("<GDALMetadata>{items}</GDALMetadata>")
}

/// The directory right after the header: entries of twelve bytes, then the values that do not fit into them.
fn directory_bytes(fields: &[Field]) -> Vec<u8> {
    let mut entries = (fields.len() as u16).to_le_bytes().to_vec();
    let after = 8 + 2 + 12 * fields.len() + 4;
    let mut values: Vec<u8> = Vec::new();
    for Field(tag, kind, count, bytes) in fields {
        entries.extend(tag.to_le_bytes());
        entries.extend(kind.to_le_bytes());
        entries.extend(count.to_le_bytes());
        if bytes.len() <= 4 {
            entries.extend(bytes.iter().copied().chain([0; 4]).take(4));
        } else {
            entries.extend(((after + values.len()) as u32).to_le_bytes());
            values.extend(bytes);
            // Values begin at even places.
            values.extend(vec![0; values.len() % 2]);
        }
    }
    entries.extend([0; 4]);
    entries.extend(values);
    entries
}
