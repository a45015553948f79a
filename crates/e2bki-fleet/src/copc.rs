//! The fleet's map for geographic programs: a COPC file for every block of 256 m, and an index of them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use copc_core::Bounds;
use copc_writer::{CopcPointFields, CopcPointSource, CopcWriteMetadata, CopcWriterParams, write_source};
use e2bki::{ClassSet, Mapper};
use e2bki_store::Header;

use crate::Tile;
use crate::add::open;
use crate::description::Fleet;
use crate::error::{Error, Result};
use crate::manifest::{Manifest, tile_object};
use crate::plan::BLOCK;
use crate::vpc;

/// A file of [`export_city`].
#[derive(Debug, Clone, PartialEq)]
pub struct CityBlock {
    /// Its coordinates in the grid of blocks of 256 m.
    pub block: [i32; 2],
    /// Name of the file.
    pub file: String,
    /// Primitives in it.
    pub points: u64,
    /// Lowest corner of their means, metres.
    pub low: [f64; 3],
    /// Highest corner of their means, metres.
    pub high: [f64; 3],
}

/// What [`export_city`] wrote.
#[derive(Debug, Clone, PartialEq)]
pub struct City {
    /// The index of all files.
    pub index: PathBuf,
    /// The files.
    pub blocks: Vec<CityBlock>,
}

/// Writes the map of a manifest (the latest, if none is named) into a folder: every primitive is a point with the colour of
/// its class, `classification` and the extra dimensions `class` and `u`. `wkt` is the coordinate reference system, if the
/// map's coordinates are of one. Holds one block at a time.
pub fn export_city(fleet: &Fleet, number: Option<u64>, out: &Path, wkt: Option<&str>) -> Result<City> {
    if fleet.classes.len() > 256 {
        return Err(Error::Refused(format!("LAS has room for 256 classes; the fleet has {}", fleet.classes.len())));
    }
    let manifest = number.map_or_else(|| Manifest::latest(fleet), |number| Manifest::read(fleet, number))?;
    std::fs::create_dir_all(out).map_err(|source| cannot("create", out, source))?;
    let mut blocks: BTreeMap<[i32; 2], Vec<(Tile, &String)>> = BTreeMap::new();
    for (tile, key) in &manifest.tiles {
        blocks.entry(tile.map(|v| v.div_euclid(BLOCK))).or_default().push((*tile, key));
    }
    let metadata = metadata(wkt);
    let mut written = Vec::new();
    for (block, tiles) in blocks {
        let mut points = Points::new(&fleet.classes);
        for (tile, key) in tiles {
            points.add(&tile_map(fleet, tile, key)?);
        }
        if points.rows.is_empty() {
            continue;
        }
        let file = format!("{}_{}.copc.laz", block[0], block[1]);
        let (low, high) = points.bounds();
        let bounds = Bounds::new(low.into(), high.into());
        write_source(&out.join(&file), &points, true, bounds, &CopcWriterParams::default(), &metadata)
            .map_err(|error| Error::Refused(format!("{}: {error}", out.join(&file).display())))?;
        written.push(CityBlock { block, file, points: points.rows.len() as u64, low, high });
    }
    let index = out.join("city.vpc");
    let text = vpc::text(&written, &fleet.classes, wkt);
    std::fs::write(&index, text).map_err(|source| cannot("write", &index, source))?;
    // The library writes files that only their owner may read, as temporary ones; these are for others.
    let usual = std::fs::metadata(&index).map_err(|source| cannot("read", &index, source))?.permissions();
    for block in &written {
        let path = out.join(&block.file);
        std::fs::set_permissions(&path, usual.clone()).map_err(|source| cannot("write", &path, source))?;
    }
    Ok(City { index, blocks: written })
}

fn cannot(doing: &'static str, path: &Path, source: std::io::Error) -> Error {
    e2bki_store::Error::Io { doing, path: path.into(), source }.into()
}

/// A tile as a map by itself: all that is asked of a primitive here is its own.
fn tile_map(fleet: &Fleet, tile: Tile, key: &str) -> Result<Mapper> {
    let mut file = open(fleet, &tile_object(tile, key))?;
    let states = file.read_tiles(|_| true)?;
    let Header { frames, next_id, .. } = *file.header();
    let mut map = Mapper::restore(fleet.classes.clone(), fleet.config.clone(), frames, next_id, states)?;
    if let Some(counters) = file.header().free_space().transpose()? {
        map.set_free_space(counters);
    }
    Ok(map)
}

fn metadata(wkt: Option<&str>) -> CopcWriteMetadata {
    let mut metadata = CopcWriteMetadata::default();
    metadata.wkt_crs = wkt.map(String::from);
    metadata.system_identifier = Some("e2bki".into());
    metadata.generating_software = Some(concat!("e2bki ", env!("CARGO_PKG_VERSION")).into());
    // Always the same date, as one is asked for: the same map is the same file.
    metadata.creation_date = Some((1, 1970));
    metadata
}

struct Row {
    mean: [f64; 3],
    class: u16,
    uncertainty: u16,
}

/// The primitives of a block as points.
struct Points {
    rows: Vec<Row>,
    colors: Vec<[u8; 3]>,
    records: Vec<las::Vlr>,
}

impl Points {
    fn new(classes: &ClassSet) -> Self {
        let records = vec![
            record(
                4,
                "extra bytes",
                [extra("class", "number of the class", 1.0), extra("u", "uncertainty", U)].concat(),
            ),
            record(0, "names of the classes", names(classes)),
        ];
        Self { rows: Vec::new(), colors: classes.colors().to_vec(), records }
    }

    fn add(&mut self, map: &Mapper) {
        let row = |p: e2bki::Primitive<'_>| Row {
            mean: p.mean(),
            class: p.label() as u16,
            uncertainty: (p.uncertainty() / U).round() as u16,
        };
        self.rows.extend(map.primitives().filter(|primitive| !primitive.is_gone()).map(row));
    }

    fn bounds(&self) -> ([f64; 3], [f64; 3]) {
        let (mut low, mut high) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
        for row in &self.rows {
            for i in 0..3 {
                low[i] = low[i].min(row.mean[i]);
                high[i] = high[i].max(row.mean[i]);
            }
        }
        (low, high)
    }
}

/// One step of the dimension `u`.
const U: f64 = 1.0 / 65_535.0;

impl CopcPointSource for Points {
    fn len(&self) -> usize {
        self.rows.len()
    }

    fn xyz(&self, index: usize) -> copc_core::Result<(f64, f64, f64)> {
        Ok(self.rows[index].mean.into())
    }

    fn fields_into(&self, index: usize, out: &mut CopcPointFields) -> copc_core::Result<()> {
        let row = &self.rows[index];
        let [red, green, blue] = self.colors[usize::from(row.class)].map(|channel| u16::from(channel) * 257);
        let mut extra_bytes = std::mem::take(&mut out.extra_bytes);
        extra_bytes.clear();
        extra_bytes.extend(row.class.to_le_bytes());
        extra_bytes.extend(row.uncertainty.to_le_bytes());
        *out = CopcPointFields {
            x: row.mean[0],
            y: row.mean[1],
            z: row.mean[2],
            intensity: u16::MAX - row.uncertainty,
            return_number: 1,
            number_of_returns: 1,
            classification: row.class as u8,
            red,
            green,
            blue,
            extra_bytes,
            ..CopcPointFields::default()
        };
        Ok(())
    }

    fn extra_byte_count(&self) -> u16 {
        4
    }

    fn extra_bytes_vlrs(&self) -> &[las::Vlr] {
        &self.records
    }
}

fn record(id: u16, description: &str, data: Vec<u8>) -> las::Vlr {
    las::Vlr { user_id: "LASF_Spec".into(), record_id: id, description: description.into(), data }
}

/// Describes an extra dimension of 16 bits without sign, with the size of a step (LAS 1.4, table 24).
fn extra(name: &str, description: &str, step: f64) -> Vec<u8> {
    let padded = |text: &str| -> [u8; 32] {
        let mut bytes = [0; 32];
        bytes.iter_mut().zip(text.bytes()).for_each(|(to, from)| *to = from);
        bytes
    };
    const UNSIGNED_16: u8 = 3;
    const HAS_STEP: u8 = 8;
    let mut bytes = vec![0, 0, UNSIGNED_16, if step == 1.0 { 0 } else { HAS_STEP }];
    bytes.extend(padded(name));
    bytes.extend([0; 4 + 3 * 24]);
    bytes.extend(step.to_le_bytes());
    bytes.extend([0; 16 + 24]);
    bytes.extend(padded(description));
    bytes
}

/// Names of the classes as LAS keeps them: 256 entries of a number and 15 letters.
fn names(classes: &ClassSet) -> Vec<u8> {
    let mut bytes = vec![0; 256 * 16];
    for (number, entry) in bytes.chunks_mut(16).enumerate() {
        entry[0] = number as u8;
        if let Some(name) = classes.names().get(number) {
            entry[1..].iter_mut().zip(name.bytes()).for_each(|(to, from)| *to = from);
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    #[test]
    fn descriptions_have_the_size_of_the_standard() {
        assert_eq!(super::extra("u", "uncertainty", super::U).len(), 192);
    }
}
