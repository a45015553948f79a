//! One map to look at: whole, or as the snapshots that a running mapper sent.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use e2bki::{ClassSet, Config, Mapper, PrimitiveState};
use serde_json::{Value, json};

use crate::answer::answer;
use crate::error::Result;
use crate::pack::{self, Address, What};
use crate::tile::Tile;

/// Primitives reach at most this far above and below the means of their neighbours, metres.
const ABOVE_M: f64 = 32.0;

/// What is known of a tile without packing it.
#[derive(Debug, Clone, Copy)]
struct Known {
    version: u32,
    count: usize,
    heights: [f64; 2],
}

/// A tile of a growing map as it was at one moment: every primitive that reaches into it.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) tile: Tile,
    pub(crate) next_id: u64,
    pub(crate) states: Vec<PrimitiveState>,
}

enum Content {
    Whole(Box<Mapper>),
    Growing(Mutex<BTreeMap<Tile, Arc<Snapshot>>>),
}

/// A map to look at.
pub struct Scene {
    name: String,
    classes: ClassSet,
    config: Config,
    resolution: f64,
    frames: u64,
    content: Content,
    tiles: Mutex<BTreeMap<Tile, Known>>,
    trajectory: Mutex<Vec<[f64; 3]>>,
}

/// A lock whose holder panicked still guards whole values: every change is one insertion.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Scene {
    /// A map that does not change any more, with the places its sensor went through where they are known. Voxels have
    /// the map's own resolution unless another is given.
    pub fn of_map(name: impl Into<String>, map: Mapper, trajectory: Vec<[f64; 3]>, resolution: Option<f64>) -> Self {
        let mut tiles: BTreeMap<Tile, Known> = BTreeMap::new();
        for primitive in map.primitives() {
            let mean = primitive.mean();
            let fresh = Known { version: 1, count: 0, heights: [mean[2], mean[2]] };
            let known = tiles.entry(Tile::of(mean[0], mean[1])).or_insert(fresh);
            known.count += 1;
            known.heights = [known.heights[0].min(mean[2]), known.heights[1].max(mean[2])];
        }
        Self {
            name: name.into(),
            classes: map.classes().clone(),
            config: map.config().clone(),
            resolution: resolution.unwrap_or(map.config().resolution),
            frames: map.frames(),
            content: Content::Whole(Box::new(map)),
            tiles: Mutex::new(tiles),
            trajectory: Mutex::new(trajectory),
        }
    }

    /// A map that a running mapper will fill.
    pub(crate) fn growing(name: String, classes: ClassSet, config: Config) -> Self {
        let resolution = config.resolution;
        let content = Content::Growing(Mutex::default());
        let (tiles, trajectory) = (Mutex::default(), Mutex::default());
        Self { name, classes, config, resolution, frames: 0, content, tiles, trajectory }
    }

    /// The tile's bytes for the page; nothing where the map has no such tile.
    pub(crate) fn pack(&self, map: u8, tile: Tile, what: What) -> Result<Option<Vec<u8>>> {
        let Some(known) = lock(&self.tiles).get(&tile).copied() else { return Ok(None) };
        let at = Address { map, tile, version: known.version };
        let (part, next_id) = match (&self.content, what) {
            (Content::Whole(whole), What::Primitives) => {
                return Ok(Some(pack::primitives(whole, known.heights, whole.next_id(), at)));
            }
            (Content::Whole(whole), What::Voxels) => {
                (self.part(states_in(whole, tile, known.heights), whole.next_id())?, 0)
            }
            (Content::Growing(_), _) => {
                let Some(snapshot) = self.snapshot(tile) else { return Ok(None) };
                (self.part(snapshot.states.clone(), snapshot.next_id)?, snapshot.next_id)
            }
        };
        Ok(Some(match what {
            What::Primitives => pack::primitives(&part, known.heights, next_id, at),
            What::Voxels => pack::voxels(&part, known.heights, self.resolution, at)?,
        }))
    }

    /// The belief at a place.
    pub(crate) fn answer(&self, at: [f64; 3]) -> Result<Value> {
        match &self.content {
            Content::Whole(map) => Ok(answer(map, at)),
            Content::Growing(_) => {
                let (states, next_id) = self
                    .snapshot(Tile::of(at[0], at[1]))
                    .map_or_else(Default::default, |snapshot| (snapshot.states.clone(), snapshot.next_id));
                Ok(answer(&self.part(states, next_id)?, at))
            }
        }
    }

    /// A small map of some primitives: beliefs that depend on no others are those of the whole.
    fn part(&self, states: Vec<PrimitiveState>, next_id: u64) -> Result<Mapper> {
        let config = Config { live_voxels: false, ..self.config.clone() };
        Ok(Mapper::restore(self.classes.clone(), config, 0, next_id, states)?)
    }

    fn snapshot(&self, tile: Tile) -> Option<Arc<Snapshot>> {
        match &self.content {
            Content::Whole(_) => None,
            Content::Growing(snapshots) => lock(snapshots).get(&tile).cloned(),
        }
    }

    /// Replaces a tile of a growing map; returns its entry for the page.
    pub(crate) fn replace(&self, snapshot: Snapshot) -> Value {
        let tile = snapshot.tile;
        let (mut count, mut heights) = (0, [f64::INFINITY, f64::NEG_INFINITY]);
        for mean in snapshot.states.iter().map(|state| state.sums.mean()).filter(|mean| tile.holds(*mean)) {
            count += 1;
            heights = [heights[0].min(mean[2]), heights[1].max(mean[2])];
        }
        if let Content::Growing(snapshots) = &self.content {
            lock(snapshots).insert(tile, Arc::new(snapshot));
        }
        let mut tiles = lock(&self.tiles);
        let version = tiles.get(&tile).map_or(1, |known| known.version.wrapping_add(1));
        let heights = if count == 0 { [0.0; 2] } else { heights };
        let known = Known { version, count, heights };
        tiles.insert(tile, known);
        entry(tile, &known)
    }

    /// The sensor is here now.
    pub(crate) fn moved(&self, place: [f64; 3]) {
        lock(&self.trajectory).push(place);
    }

    /// All that the page has to know to begin.
    pub(crate) fn describe(&self) -> Value {
        let tiles: Vec<Value> = lock(&self.tiles).iter().map(|(tile, known)| entry(*tile, known)).collect();
        let classes = self.classes.names().iter().zip(self.classes.colors());
        let voxels = !matches!(self.config.posterior, e2bki::config::Posterior::Accumulate);
        json!({
            "name": self.name, "frames": self.frames, "resolution": self.resolution, "voxels": voxels,
            "classes": classes.map(|(name, color)| json!({"name": name, "color": color})).collect::<Vec<_>>(),
            "tiles": tiles, "trajectory": *lock(&self.trajectory),
        })
    }
}

/// x, y, version, primitives, lowest and highest mean.
fn entry(tile: Tile, known: &Known) -> Value {
    json!([tile.0[0], tile.0[1], known.version, known.count, known.heights[0], known.heights[1]])
}

/// What every primitive holds that reaches into a tile whose means lie between two heights.
pub(crate) fn states_in(map: &Mapper, tile: Tile, [low, high]: [f64; 2]) -> Vec<PrimitiveState> {
    let (low, high) = tile.bounds([low - ABOVE_M, high + ABOVE_M]);
    map.primitives_reaching(low, high).iter().map(e2bki::Primitive::state).collect()
}
