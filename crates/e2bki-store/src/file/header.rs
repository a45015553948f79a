//! Header of a map file, as JSON that people and other programs can read.

use std::path::Path;
use std::sync::Arc;

use e2bki::free::Counters;
use e2bki::{ClassSet, Config, Mapper, TILE_M};
use serde::{Deserialize, Serialize};

use crate::FORMAT_VERSION;
use crate::error::{Error, Result};

/// Magic that identifies our files among all Parquet files.
const FORMAT: &str = "e2bki map";

/// Header of a map file: everything but the primitives.
#[derive(Debug, Clone, PartialEq)]
pub struct Header {
    /// Names and colours of the classes.
    pub classes: ClassSet,
    /// The parameters that the map was made with.
    pub config: Config,
    /// Frames inserted so far.
    pub frames: u64,
    /// The id that the next primitive gets.
    pub next_id: u64,
    /// The drives that went in: a name given by the user, or a hash of what was first saved. Sorted.
    pub sources: Vec<String>,
    /// Counters of free space as bytes, if the map has any.
    pub(crate) free_space: Option<Arc<[u8]>>,
}

/// One tile of a map file: a row group, and what is known of it without reading it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TileInfo {
    /// Coordinates: the tile covers x from 32 t₀ to 32 (t₀ + 1) metres, and y likewise.
    pub tile: [i32; 2],
    /// Primitives. A crowded tile is several entries.
    pub rows: u32,
    /// Where its record begins.
    pub offset: u64,
    /// Bytes of each column, in order, right after the record.
    pub lengths: Vec<u32>,
    /// XXH3 of the columns' bytes.
    pub hash: u64,
    /// Lowest corner of the box outside of which no belief depends on the tile, whole metres.
    pub low: [i32; 3],
    /// Its highest corner.
    pub high: [i32; 3],
}

impl TileInfo {
    /// Bytes of all columns.
    pub fn bytes(&self) -> u64 {
        self.lengths.iter().map(|length| u64::from(*length)).sum()
    }

    /// Whether a belief inside of a box can depend on the tile.
    pub fn matters_in(&self, low: [f64; 3], high: [f64; 3]) -> bool {
        (0..3).all(|i| f64::from(self.low[i]) <= high[i] && f64::from(self.high[i]) >= low[i])
    }
}

#[derive(Serialize, Deserialize)]
struct Version {
    format: String,
    version: u32,
}

#[derive(Serialize, Deserialize)]
struct Class {
    name: String,
    color: [u8; 3],
    /// Whether its things can move, where that does not follow from the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    movable: Option<bool>,
    /// What driving on it costs, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cost: Option<u8>,
}

/// The header as it is written.
#[derive(Serialize, Deserialize)]
struct Text {
    format: String,
    version: u32,
    written_by: String,
    tile_m: i32,
    classes: Vec<Class>,
    frames: u64,
    next_id: u64,
    sources: Vec<String>,
    config: String,
}

/// The index as it is written.
#[derive(Serialize, Deserialize)]
pub(super) struct Index {
    /// A copy of the header: a file may lose its beginning.
    pub(super) header: String,
    pub(super) footer_hash: u64,
    pub(super) footer_len: u32,
    pub(super) tiles: Vec<TileInfo>,
    /// Where the counters of free space are, in files that have them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) free_space: Option<u64>,
}

impl Header {
    /// The header of primitives that are no map in memory, of drives without names.
    pub fn new(classes: ClassSet, config: Config, frames: u64, counters: Option<&Counters>) -> Self {
        let free_space = counters.filter(|counters| !counters.is_empty()).map(|counters| counters.to_bytes().into());
        Self { classes, config, frames, next_id: 0, sources: Vec::new(), free_space }
    }

    /// The header of a map.
    pub fn of(map: &Mapper, sources: &[String]) -> Self {
        let counters = map.free_space().filter(|counters| !counters.is_empty());
        Self { free_space: counters.map(|counters| counters.to_bytes().into()), ..Self::of_tiles(map, sources) }
    }

    /// The header of a map whose counters of free space are kept elsewhere.
    pub(crate) fn of_tiles(map: &Mapper, sources: &[String]) -> Self {
        let mut sources = sources.to_vec();
        sources.sort();
        sources.dedup();
        let (classes, config) = (map.classes().clone(), map.config().clone());
        Self { classes, config, frames: map.frames(), next_id: map.next_id(), sources, free_space: None }
    }

    /// The counters of free space, if the map has any; fails if their bytes are no counters.
    pub fn free_space(&self) -> Option<Result<Counters>> {
        self.free_space.as_ref().map(|bytes| Ok(Counters::from_bytes(bytes)?))
    }

    /// Bytes of the counters of free space.
    pub fn free_space_bytes(&self) -> usize {
        self.free_space.as_ref().map_or(0, |bytes| bytes.len())
    }

    /// Side of the cubes that tell the primitives of a map apart that is a sum, metres; nothing if it is not one.
    pub(crate) fn cubes(&self) -> Option<f64> {
        self.config.not_a_sum().is_none().then_some(self.config.clustering.cell_size)
    }

    /// The header as it stands in a file of so many primitives. Of a map that is a sum it says nothing of how the map came
    /// to be: ids are the numbers of rows, and how many threads worked or whether there was a live view is not told.
    pub(crate) fn in_file(&self, rows: u64) -> Self {
        let mut header = self.clone();
        if self.cubes().is_some() {
            let start = Config::default();
            header.next_id = rows;
            header.config.run.threads = start.run.threads;
            header.config.views.live_voxels = start.views.live_voxels;
            header.config.views.update = start.views.update;
        }
        header
    }

    pub(crate) fn to_json(&self) -> Result<String> {
        let classes = self.classes.names().iter().zip(self.classes.colors());
        let text = Text {
            format: FORMAT.into(),
            version: FORMAT_VERSION,
            written_by: format!("e2bki {}", env!("CARGO_PKG_VERSION")),
            tile_m: TILE_M,
            classes: classes
                .enumerate()
                .map(|(class, (name, color))| {
                    let movable = self.classes.is_movable(class);
                    let movable = (movable != ClassSet::is_movable_by_name(name)).then_some(movable);
                    Class { name: name.clone(), color: *color, movable, cost: self.classes.cost(class) }
                })
                .collect(),
            frames: self.frames,
            next_id: self.next_id,
            sources: self.sources.clone(),
            // Names without records, as in every file of this version: older programs read it too.
            config: self.config.to_flat_toml(),
        };
        serde_json::to_string(&text).map_err(|e| Error::Refused(format!("cannot write the header: {e}")))
    }

    /// Reads what [`Self::to_json`] wrote; `offset` is where it stands in the file.
    pub(crate) fn from_json(text: &[u8], path: &Path, offset: u64) -> Result<Self> {
        let damaged = |what: String| Error::Damaged { path: path.into(), part: "the header".into(), offset, what };
        let version: Version = serde_json::from_slice(text).map_err(|e| damaged(e.to_string()))?;
        if version.format != FORMAT {
            return Err(Error::Foreign { path: path.into(), what: format!("it says it is {:?}", version.format) });
        }
        if version.version > FORMAT_VERSION {
            return Err(Error::Newer { path: path.into(), found: version.version, known: FORMAT_VERSION });
        }
        let text: Text = serde_json::from_slice(text).map_err(|e| damaged(e.to_string()))?;
        if text.tile_m != TILE_M {
            return Err(damaged(format!("tiles of {} m; format version 1 has {TILE_M} m", text.tile_m)));
        }
        let movable: Vec<String> = text
            .classes
            .iter()
            .filter(|class| class.movable.unwrap_or_else(|| ClassSet::is_movable_by_name(&class.name)))
            .map(|class| class.name.clone())
            .collect();
        let costs: Vec<(String, u8)> =
            text.classes.iter().filter_map(|class| Some((class.name.clone(), class.cost?))).collect();
        let classes = ClassSet::new(text.classes.into_iter().map(|class| (class.name, class.color)))
            .and_then(|classes| classes.with_movable(&movable)?.with_costs(costs))
            .map_err(Error::contents(path))?;
        let config = Config::from_flat_toml(&text.config).map_err(Error::contents(path))?;
        Ok(Self {
            classes,
            config,
            frames: text.frames,
            next_id: text.next_id,
            sources: text.sources,
            free_space: None,
        })
    }
}
