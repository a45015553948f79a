//! A city from afar: coarser levels of detail. A tile of a level is the sum of the four below it, in cubes of twice their side.
//!
//! ```text
//! STORE/levels/K/X_Y/<key>.e2bki   a tile of level K; the key is a hash of the keys of the tiles below
//! STORE/levels/index/<key>         all tiles of all levels of one map, and what is in each
//! ```
//!
//! Cubes nest, and sums add: a level made of the one below has the bytes of one made of the finest. They follow from the tiles
//! of a manifest, so no manifest names them, and they may be made at any time, twice, by anybody.

use std::collections::{BTreeMap, BTreeSet};

use e2bki::free::Counters;
use e2bki::{Config, PrimitiveState};
use e2bki_store::MapFile;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::add::{open, open_as};
use crate::description::Fleet;
use crate::error::{Error, Result};
use crate::manifest::{Manifest, tile_name, tile_object};
use crate::sum::{Part, Sum};
use crate::{Tile, digest};

/// The largest cubes: what the parameter allows.
const LARGEST_CELL_M: f64 = 10.0;

/// A tile of a level and what is in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LevelTile {
    /// 0 is the map itself.
    pub level: u8,
    /// Its coordinates in the grid of the level, whose tiles have 2^level times the side.
    pub tile: Tile,
    /// Its key.
    pub key: String,
    /// Primitives in it.
    pub rows: usize,
    /// The lowest and the highest mean of a primitive, metres; at the coarsest level those of the tiles below it, whose sums
    /// lie in between.
    pub heights: [f64; 2],
}

impl LevelTile {
    /// Whether an index that says this of a tile is right, given what was read.
    pub(crate) fn is_true_of(&self, read: &Self, coarsest: u8) -> bool {
        let within = self.heights[0] <= read.heights[0] && read.heights[1] <= self.heights[1];
        let heights = if self.level == coarsest { within } else { self.heights == read.heights };
        heights && Self { heights: read.heights, ..self.clone() } == *read
    }
}

/// What was made by [`make_levels`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Levelled {
    /// The coarsest level.
    pub top: u8,
    /// Tiles above the finest level.
    pub tiles: usize,
    /// How many of them had to be made.
    pub made: usize,
}

/// A tile to be made, and the tiles below it with their keys.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) key: String,
    below: Vec<(Tile, String)>,
}

/// The levels above the tiles of a manifest, from the first on.
pub(crate) fn pyramid(manifest: &Manifest, config: &Config) -> Vec<BTreeMap<Tile, Node>> {
    let mut levels: Vec<BTreeMap<Tile, Node>> = Vec::new();
    let mut below: BTreeMap<Tile, String> = manifest.tiles.clone();
    // One tile that has everything is the top.
    while below.len() > 1 && cell_of(config, levels.len() + 1) <= LARGEST_CELL_M {
        let mut level: BTreeMap<Tile, Node> = BTreeMap::new();
        for (tile, key) in below {
            let node = level.entry(tile.map(|v| v.div_euclid(2))).or_insert(Node { key: String::new(), below: vec![] });
            node.below.push((tile, key));
        }
        for node in level.values_mut() {
            let names = node.below.iter().map(|(tile, key)| format!("\n{} {key}", tile_name(*tile)));
            let text = format!("level {} of e2bki tiles{}", levels.len() + 1, names.collect::<String>());
            node.key = digest(text.as_bytes());
        }
        below = level.iter().map(|(tile, node)| (*tile, node.key.clone())).collect();
        levels.push(level);
    }
    levels
}

fn cell_of(config: &Config, level: usize) -> f64 {
    config.clustering.cell_size * f64::from(1_u32 << level.min(30))
}

/// The parameters of a level: its cubes are larger.
pub fn level_config(config: &Config, level: u8) -> Config {
    config.clone().with(|c| c.clustering.cell_size = cell_of(config, usize::from(level)))
}

/// Where a tile of a level is.
pub(crate) fn level_object(level: u8, tile: Tile, key: &str) -> String {
    match level {
        0 => tile_object(tile, key),
        _ => format!("levels/{level}/{}/{key}.e2bki", tile_name(tile)),
    }
}

pub(crate) fn index_object(manifest: &Manifest) -> String {
    let tiles = manifest.tiles.iter().map(|(tile, key)| format!("{} {key}\n", tile_name(*tile)));
    format!("levels/index/{}", digest(tiles.collect::<String>().as_bytes()))
}

/// Every object of the levels of a manifest, whether it is there or not.
pub(crate) fn level_objects(manifest: &Manifest, config: &Config) -> Vec<String> {
    let mut objects = vec![index_object(manifest)];
    for (level, tiles) in (1..).zip(pyramid(manifest, config)) {
        objects.extend(tiles.iter().map(|(tile, node)| level_object(level, *tile, &node.key)));
    }
    objects
}

/// The levels of the latest manifest, if they were made: all tiles, the finest first.
pub fn levels(fleet: &Fleet) -> Result<Option<Vec<LevelTile>>> {
    index(fleet, &Manifest::latest(fleet)?)
}

/// The index of the levels of a manifest, if they were made.
pub(crate) fn index(fleet: &Fleet, manifest: &Manifest) -> Result<Option<Vec<LevelTile>>> {
    let object = index_object(manifest);
    let Some(bytes) = fleet.objects.get(&object)? else { return Ok(None) };
    let damaged = |e: serde_json::Error| Error::Damaged {
        store: fleet.objects.name().into(),
        object: object.clone(),
        what: e.to_string(),
    };
    serde_json::from_slice(&bytes).map(Some).map_err(damaged)
}

/// Makes the levels of the latest manifest that are not there. `after_each` is called after each tile, with the number of all. A level with a cube
/// that would hold more than is exact is left out, and so are those above it.
pub fn make_levels(fleet: &Fleet, after_each: impl Fn(usize) + Sync) -> Result<Levelled> {
    let manifest = Manifest::latest(fleet)?;
    let levels = pyramid(&manifest, &fleet.config);
    if let Some(known) = index(fleet, &manifest)? {
        let tiles = known.iter().filter(|tile| tile.level > 0).count();
        return Ok(Levelled { top: top(&known), tiles, made: 0 });
    }
    let known = known(fleet, &manifest)?;
    let there: BTreeSet<String> = fleet.objects.list("levels")?.into_iter().map(|(name, _)| name).collect();
    let mut all: BTreeMap<(u8, Tile), LevelTile> = BTreeMap::new();
    let count = levels.iter().map(BTreeMap::len).sum();
    let mut made = Vec::new();
    'levels: for (level, tiles) in (1_u8..).zip(&levels) {
        let make = |(tile, node): (&Tile, &Node)| -> Result<(bool, Vec<LevelTile>)> {
            let object = level_object(level, *tile, &node.key);
            let below = node.below.iter().map(|(below, key)| (level - 1, *below, key));
            let names: Vec<(u8, Tile, &String)> = below.chain([(level, *tile, &node.key)]).collect();
            let found: Option<Vec<LevelTile>> = names.iter().map(|name| known.get(&named(*name)).cloned()).collect();
            let done = match found.filter(|_| there.contains(&object)) {
                Some(found) => (false, found),
                None => (true, make_tile(fleet, level, *tile, node)?),
            };
            after_each(count);
            Ok(done)
        };
        let done: Vec<Result<(bool, Vec<LevelTile>)>> = tiles.par_iter().map(make).collect();
        for (done, (tile, node)) in done.into_iter().zip(tiles) {
            match done {
                Ok((new, found)) => {
                    made.extend(new.then(|| level_object(level, *tile, &node.key)));
                    all.extend(found.into_iter().map(|tile| ((tile.level, tile.tile), tile)));
                }
                // Too much for one cube to hold: from farther away this level is what is seen.
                Err(Error::Engine(e2bki::Error::Merge(_))) => {
                    all.retain(|(other, _), _| *other < level);
                    break 'levels;
                }
                Err(error) => return Err(error),
            }
        }
    }
    if levels.is_empty() {
        for (tile, key) in &manifest.tiles {
            let part = tile_states(fleet, 0, *tile, key)?;
            all.insert((0, *tile), about(0, *tile, key, &part));
        }
    }
    let all: Vec<LevelTile> = all.into_values().collect();
    let text = serde_json::to_vec(&all).map_err(|e| Error::Refused(format!("cannot write the index: {e}")))?;
    fleet.objects.create(&index_object(&manifest), text)?;
    withdraw(fleet, &manifest, &made)?;
    let tiles = all.iter().filter(|tile| tile.level > 0).count();
    Ok(Levelled { top: top(&all), tiles, made: made.len() })
}

fn top(tiles: &[LevelTile]) -> u8 {
    tiles.iter().map(|tile| tile.level).max().unwrap_or(0)
}

fn named((level, tile, key): (u8, Tile, &String)) -> (u8, Tile, String) {
    (level, tile, key.clone())
}

/// What is known of tiles from the index of the newest manifest that has one.
fn known(fleet: &Fleet, latest: &Manifest) -> Result<BTreeMap<(u8, Tile, String), LevelTile>> {
    let there: BTreeSet<String> = fleet.objects.list("levels/index")?.into_iter().map(|(name, _)| name).collect();
    if !there.is_empty() {
        for number in Manifest::numbers(fleet)?.into_iter().rev().filter(|number| *number < latest.number) {
            let manifest = Manifest::read(fleet, number)?;
            if there.contains(&index_object(&manifest)) {
                let tiles = index(fleet, &manifest)?.unwrap_or_default();
                return Ok(tiles.into_iter().map(|tile| (named((tile.level, tile.tile, &tile.key)), tile)).collect());
            }
        }
    }
    Ok(BTreeMap::new())
}

/// Makes a tile of a level and puts it into the store; returns what is in it and in those below.
fn make_tile(fleet: &Fleet, level: u8, tile: Tile, node: &Node) -> Result<Vec<LevelTile>> {
    let (bytes, found) = level_bytes(fleet, level, tile, node)?;
    fleet.objects.create(&level_object(level, tile, &node.key), bytes)?;
    Ok(found)
}

/// The file of a tile of a level; what is in those below and in itself, which is the last.
pub(crate) fn level_bytes(fleet: &Fleet, level: u8, tile: Tile, node: &Node) -> Result<(Vec<u8>, Vec<LevelTile>)> {
    let config = level_config(&fleet.config, level);
    let mut sum = Sum::new(config.clustering.cell_size);
    let mut found = Vec::new();
    for (below, key) in &node.below {
        let states = tile_states(fleet, level - 1, *below, key)?;
        found.push(about(level - 1, *below, key, &states));
        sum.add(Part { states, ..Part::default() })?;
    }
    let heights = found.iter().filter(|tile| tile.rows > 0).map(|tile| tile.heights);
    let heights = heights.reduce(|a, b| [a[0].min(b[0]), a[1].max(b[1])]).unwrap_or_default();
    let (bytes, rows) = sum.into_file(fleet, &config)?;
    found.push(LevelTile { level, tile, key: node.key.clone(), rows, heights });
    Ok((bytes, found))
}

pub(crate) fn about(level: u8, tile: Tile, key: &str, states: &[PrimitiveState]) -> LevelTile {
    let heights = states.iter().map(|state| state.sums.mean()[2]).map(|z| [z, z]);
    let heights = heights.reduce(|a, b| [a[0].min(b[0]), a[1].max(b[1])]).unwrap_or_default();
    LevelTile { level, tile, key: key.into(), rows: states.len(), heights }
}

/// A file of a level, opened.
fn open_level(fleet: &Fleet, level: u8, tile: Tile, key: &str) -> Result<MapFile> {
    let object = level_object(level, tile, key);
    if level == 0 { open(fleet, &object) } else { open_as(fleet, &object, &level_config(&fleet.config, level)) }
}

/// What a tile of a level holds: its primitives, and at level 0 of a fleet with free space what was seen through.
pub fn read_level_tile(fleet: &Fleet, about: &LevelTile) -> Result<(Vec<PrimitiveState>, Option<Counters>)> {
    let mut file = open_level(fleet, about.level, about.tile, &about.key)?;
    let states = checked_states(fleet, &mut file)?;
    let counts = fleet.config.free_space.enabled && about.level == 0;
    let counters = if counts { Some(file.header().free_space().transpose()?.unwrap_or_default()) } else { None };
    Ok((states, counters))
}

/// The primitives of a tile of a level, each checked.
pub(crate) fn tile_states(fleet: &Fleet, level: u8, tile: Tile, key: &str) -> Result<Vec<PrimitiveState>> {
    checked_states(fleet, &mut open_level(fleet, level, tile, key)?)
}

fn checked_states(fleet: &Fleet, file: &mut MapFile) -> Result<Vec<PrimitiveState>> {
    let states = file.read_tiles(|_| true)?;
    let next_id = file.header().next_id;
    states.iter().try_for_each(|state| state.check(fleet.classes.len(), next_id))?;
    Ok(states)
}

/// Removes what was made of a manifest again if a run of it was purged meanwhile.
fn withdraw(fleet: &Fleet, manifest: &Manifest, made: &[String]) -> Result<()> {
    let latest = Manifest::latest(fleet)?;
    let purged = |run: &crate::manifest::Run| latest.removed.iter().any(|left| left.purged && left.key == run.key);
    if !manifest.runs.iter().any(purged) {
        return Ok(());
    }
    let needed: BTreeSet<String> = level_objects(&latest, &fleet.config).into_iter().collect();
    let index = index_object(manifest);
    made.iter().chain([&index]).filter(|object| !needed.contains(*object)).try_for_each(|o| fleet.objects.remove(o))
}
