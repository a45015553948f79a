//! A map that is larger than memory: tiles in levels of detail, each read when a page looks at it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

use axum::body::Bytes;
use e2bki::free::Counters;
use e2bki::{Config, Mapper, PrimitiveState};
use serde_json::{Value, json};

use super::{TileInfo, lock};
use crate::costs::{self, Driving};
use crate::encode::{self, Address, Age, Layer};
use crate::error::{Error, Result};
use crate::tile::{Square, Tile};

/// Bytes of tiles that are kept after they were read: neighbours are needed together.
const KEPT_BYTES: usize = 128 << 20;

/// What a tile of a city holds.
#[derive(Debug, Default)]
pub struct CityTile {
    /// Its primitives; their ids mean nothing.
    pub states: Vec<PrimitiveState>,
    /// What was seen and seen through, at level 0 of maps that know it.
    pub counters: Option<Counters>,
}

/// Where the tiles of a city come from.
pub trait CitySource: Send + Sync {
    /// The tile of a level, or why it cannot be read.
    fn read(&self, level: u8, tile: [i32; 2]) -> std::result::Result<CityTile, String>;
}

/// What is known of a tile of a city before it is read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CityEntry {
    /// 0 is the map itself; the tiles of a level have twice the side of those below, and so do their cubes.
    pub level: u8,
    /// Its coordinates in the grid of its level.
    pub tile: [i32; 2],
    /// Primitives in it.
    pub count: usize,
    /// Lowest and highest mean of a primitive, metres.
    pub heights: [f64; 2],
}

/// Tiles that were read, the last used at the end, and their bytes.
type Kept = (VecDeque<(Square, Arc<CityTile>)>, usize);

pub(crate) struct City {
    config: Config,
    classes: e2bki::ClassSet,
    tiles: BTreeMap<Square, TileInfo>,
    source: Box<dyn CitySource>,
    kept: Mutex<Kept>,
}

impl City {
    pub(crate) fn new(
        classes: e2bki::ClassSet,
        config: &Config,
        tiles: Vec<CityEntry>,
        source: Box<dyn CitySource>,
    ) -> Self {
        let config = config.clone().with(|c| c.views.live_voxels = false);
        let known = |entry: CityEntry| {
            let CityEntry { level, tile, count, heights } = entry;
            (Square { level, tile: Tile(tile) }, TileInfo { version: 1, count, heights })
        };
        let tiles = tiles.into_iter().filter(|entry| entry.count > 0).map(known).collect();
        Self { config, classes, tiles, source, kept: Mutex::default() }
    }

    /// The coarsest level.
    pub(crate) fn top(&self) -> u8 {
        self.tiles.keys().map(|square| square.level).max().unwrap_or(0)
    }

    /// Entries for the page: as those of other maps, and the level.
    pub(crate) fn entries(&self) -> Vec<Value> {
        let entry = |(square, known): (&Square, &TileInfo)| {
            let (Tile([x, y]), [low, high]) = (square.tile, known.heights);
            json!([x, y, known.version, known.count, low, high, square.level])
        };
        self.tiles.iter().map(entry).collect()
    }

    /// An encoded tile; `None` if there is none. What driving costs is told of the finest level only.
    pub(crate) fn pack(
        &self,
        map: u8,
        square: Square,
        what: Layer,
        resolution: f64,
        driving: Option<&Driving>,
    ) -> Result<Option<Bytes>> {
        let Some(known) = self.tiles.get(&square) else { return Ok(None) };
        let at = Address { map, square, version: known.version };
        let bytes = match (what, driving) {
            (Layer::Points, _) | (Layer::Costs, None) => return Ok(None),
            (Layer::Costs, Some(_)) if square.level > 0 => encode::costs(Vec::new(), costs::CELL_M, known.heights, at),
            (Layer::Costs, Some(driving)) => {
                let cells = driving.cells(&self.part(square)?, square.tile)?;
                encode::costs(cells, costs::CELL_M, known.heights, at)
            }
            (Layer::Primitives, _) => {
                encode::primitives(&self.part(square)?, known.heights, Age::Order(known.count as u64), at)
            }
            (Layer::Voxels, _) => {
                let voxels = self.part(square)?.voxels(resolution * f64::from(1_u32 << square.level.min(16)))?;
                let all: Vec<u32> = (0..voxels.centers.len() as u32).collect();
                encode::voxels(&voxels, &all, known.heights, at)
            }
        };
        Ok(Some(bytes.into()))
    }

    /// A map of everything that beliefs and costs in a tile depend on.
    pub(crate) fn part(&self, square: Square) -> Result<Mapper> {
        let side = self.config.clustering.cell_size * f64::from(1_u32 << square.level.min(16));
        let config = self.config.clone().with(|c| c.clustering.cell_size = side);
        // Kernels reach in from so far, and how they run may depend on others as far away from them.
        let margin = (2.0 * config.longest_influence()).max(costs::MARGIN_M);
        let ([x0, y0, _], [x1, y1, _]) = square.bounds([0.0; 2]);
        let near = |state: &PrimitiveState| {
            let [x, y, _] = state.sums.mean();
            (x0 - margin..x1 + margin).contains(&x) && (y0 - margin..y1 + margin).contains(&y)
        };
        let own = self.read(square)?;
        let mut states = own.states.clone();
        let mut counters: Vec<Counters> = own.counters.clone().into_iter().collect();
        for other in square.around().into_iter().filter(|other| self.tiles.contains_key(other)) {
            let other = self.read(other)?;
            states.extend(other.states.iter().filter(|state| near(state)).cloned());
            counters.extend(other.counters.clone());
        }
        // Those of the tile first: their numbers are below its count.
        states.iter_mut().zip(0..).for_each(|(state, id)| state.id = id);
        let count = states.len() as u64;
        let mut part = Mapper::restore(self.classes.clone(), config, 0, count, states)?;
        if !counters.is_empty() {
            part.set_free_space(Counters::of_columns(counters, 0)?);
        }
        Ok(part)
    }

    /// A map for the belief at a position: empty where nothing is.
    pub(crate) fn part_at(&self, tile: Tile) -> Result<Mapper> {
        let square = Square::from(tile);
        match self.tiles.contains_key(&square) {
            true => self.part(square),
            false => Ok(Mapper::new(self.classes.clone(), self.config.clone())?),
        }
    }

    /// A tile, read now or kept from before.
    fn read(&self, square: Square) -> Result<Arc<CityTile>> {
        {
            let mut kept = lock(&self.kept);
            let place = kept.0.iter().position(|(other, _)| *other == square);
            if let Some(found) = place.and_then(|place| kept.0.remove(place)) {
                kept.0.push_back(found.clone());
                return Ok(found.1);
            }
        }
        let read = self.source.read(square.level, square.tile.0).map_err(Error::City)?;
        let read = Arc::new(read);
        let mut kept = lock(&self.kept);
        if !kept.0.iter().any(|(other, _)| *other == square) {
            kept.1 += self.bytes(&read);
            kept.0.push_back((square, read.clone()));
            while kept.1 > KEPT_BYTES && kept.0.len() > 1 {
                if let Some((_, oldest)) = kept.0.pop_front() {
                    kept.1 = kept.1.saturating_sub(self.bytes(&oldest));
                }
            }
        }
        Ok(read)
    }

    fn bytes(&self, tile: &CityTile) -> usize {
        let state = size_of::<PrimitiveState>() + 8 * self.classes.len() + 16;
        tile.states.len() * state + tile.counters.as_ref().map_or(0, Counters::byte_size) + 256
    }
}
