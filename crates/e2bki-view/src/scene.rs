//! A scene: one map, static or as snapshots of a running mapper.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::body::Bytes;
use e2bki::free::Counters;
use e2bki::{Beliefs, ClassSet, Config, Mapper, PrimitiveState, SemanticMapper, Voxels};
use e2bki_layers::{Robot, Step};
use serde_json::{Value, json};

use crate::answer::{answer, belief};
use crate::cache::TileCache;
use crate::costs::{self, Driving};
use crate::encode::{self, Address, Layer};
use crate::error::Result;
use crate::instance::{Instance, instances};
use crate::live::Subscriber;
use crate::points::RawPoints;
use crate::tile::{Tile, entry};

/// Summary of a tile.
#[derive(Debug, Clone, Copy)]
struct TileInfo {
    version: u32,
    count: usize,
    heights: [f64; 2],
}

impl TileInfo {
    /// Counts an instance at a position.
    fn add(tiles: &mut BTreeMap<Tile, Self>, [x, y, z]: [f64; 3]) -> Tile {
        let tile = Tile::of(x, y);
        let known = tiles.entry(tile).or_insert(Self { version: 1, count: 0, heights: [z, z] });
        known.count += 1;
        known.heights = [known.heights[0].min(z), known.heights[1].max(z)];
        tile
    }
}

/// Snapshot of a tile of a live map: every primitive that reaches into it.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) tile: Tile,
    pub(crate) next_id: u64,
    pub(crate) states: Vec<PrimitiveState>,
    /// What was seen and seen through there, if the map knows it.
    pub(crate) free: Option<Counters>,
}

/// Number of encoded tiles of a live map, and the nanoseconds spent.
#[derive(Debug, Default)]
struct Packing {
    tiles: AtomicU64,
    nanoseconds: AtomicU64,
}

/// A map of another method, shared with its owner.
type Shared = Arc<Mutex<Box<dyn SemanticMapper>>>;

enum Content {
    /// A static map of primitives.
    Static { map: Box<Mapper>, packed: TileCache },
    /// Snapshots of a running mapper.
    Live { config: Box<Config>, snapshots: Mutex<BTreeMap<Tile, Arc<Snapshot>>>, packing: Packing },
    /// The voxels of another method by tile, and the method itself for queries.
    Voxels { map: Shared, voxels: Voxels, places: BTreeMap<Tile, Vec<u32>> },
}

/// A map in the viewer.
pub struct Scene {
    name: String,
    classes: ClassSet,
    resolution: f64,
    frames: u64,
    content: Content,
    tiles: Mutex<BTreeMap<Tile, TileInfo>>,
    points: Mutex<RawPoints>,
    trajectory: Mutex<Vec<[f64; 3]>>,
    /// Who is to drive there, if it is known what the classes cost.
    driving: Option<Driving>,
    /// A planned way: x, y, z and the risk there.
    way: Vec<[f64; 4]>,
}

/// A lock whose holder panicked still guards whole values: every change is one insertion.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Scene {
    /// A static map, with the sensor's trajectory if it is known. Voxels have the map's own resolution unless another is
    /// given.
    pub fn of_map(name: impl Into<String>, map: Mapper, trajectory: Vec<[f64; 3]>, resolution: Option<f64>) -> Self {
        let mut tiles = BTreeMap::new();
        for primitive in map.primitives() {
            TileInfo::add(&mut tiles, primitive.mean());
        }
        let driving = Driving::of(map.classes(), &Robot::default()).ok();
        Self {
            name: name.into(),
            classes: map.classes().clone(),
            resolution: resolution.unwrap_or(map.config().views.resolution),
            frames: map.frames(),
            content: Content::Static { map: Box::new(map), packed: TileCache::default() },
            tiles: Mutex::new(tiles),
            points: Mutex::default(),
            trajectory: Mutex::new(trajectory),
            driving,
            way: Vec::new(),
        }
    }

    /// The current voxels of another method; queries are answered by the method itself.
    pub fn of_voxels(name: impl Into<String>, map: Shared, trajectory: Vec<[f64; 3]>) -> Result<Self> {
        let (classes, voxels) = {
            let map = lock(&map);
            (map.classes().clone(), map.voxels()?)
        };
        let mut tiles = BTreeMap::new();
        let mut places: BTreeMap<Tile, Vec<u32>> = BTreeMap::new();
        for (i, center) in (0..).zip(&voxels.centers) {
            places.entry(TileInfo::add(&mut tiles, *center)).or_default().push(i);
        }
        Ok(Self {
            name: name.into(),
            classes,
            resolution: voxels.resolution,
            frames: 0,
            content: Content::Voxels { map, voxels, places },
            tiles: Mutex::new(tiles),
            points: Mutex::default(),
            trajectory: Mutex::new(trajectory),
            driving: None,
            way: Vec::new(),
        })
    }

    /// Adds the points of frames.
    #[must_use]
    pub fn with_points(mut self, points: RawPoints) -> Self {
        self.points = Mutex::new(points);
        self
    }

    /// Shows what driving costs this robot instead of a usual one. Maps of other methods have no such layer.
    pub fn with_robot(mut self, robot: &Robot) -> Result<Self> {
        if !matches!(self.content, Content::Voxels { .. }) {
            self.driving = Some(Driving::of(&self.classes, robot)?);
        }
        Ok(self)
    }

    /// Draws a planned way, in the colour of its risk.
    #[must_use]
    pub fn with_way(mut self, steps: &[Step]) -> Self {
        let mut height = steps.iter().map(|step| step.at[2]).find(|z| z.is_finite()).unwrap_or(0.0);
        let mut place = |step: &Step| {
            // Where the ground is not known it is as high as it was before.
            height = if step.at[2].is_finite() { step.at[2] } else { height };
            [step.at[0], step.at[1], height, f64::from(step.risk)]
        };
        self.way = steps.iter().map(&mut place).collect();
        self
    }

    /// A live map, to be filled by a running mapper.
    pub(crate) fn live(name: String, classes: ClassSet, config: Config) -> Self {
        let resolution = config.views.resolution;
        let (snapshots, packing) = (Mutex::default(), Packing::default());
        let content = Content::Live { config: Box::new(config), snapshots, packing };
        let (tiles, points, trajectory) = (Mutex::default(), Mutex::default(), Mutex::default());
        let driving = Driving::of(&classes, &Robot::default()).ok();
        Self { name, classes, resolution, frames: 0, content, tiles, points, trajectory, driving, way: Vec::new() }
    }

    /// The encoded tile; `None` if the map has no such tile.
    pub(crate) fn pack(&self, map: u8, tile: Tile, what: Layer) -> Result<Option<Bytes>> {
        let begun = Instant::now();
        let packed = self.packed(map, tile, what);
        self.count_packing(begun);
        packed
    }

    /// Counts a tile of a live map that was encoded, or sent to a subscriber, since `begun`.
    pub(crate) fn count_packing(&self, begun: Instant) {
        if let Content::Live { packing, .. } = &self.content {
            packing.tiles.fetch_add(1, Ordering::Relaxed);
            packing.nanoseconds.fetch_add(begun.elapsed().as_nanos() as u64, Ordering::Relaxed);
        }
    }

    /// Number of encoded tiles of a live map, and the time spent.
    pub(crate) fn packing(&self) -> (u64, Duration) {
        let Content::Live { packing, .. } = &self.content else { return Default::default() };
        let nanoseconds = packing.nanoseconds.load(Ordering::Relaxed);
        (packing.tiles.load(Ordering::Relaxed), Duration::from_nanos(nanoseconds))
    }

    fn packed(&self, map: u8, tile: Tile, what: Layer) -> Result<Option<Bytes>> {
        if what == Layer::Points {
            return Ok(self.pack_points(map, tile)?.map(Bytes::from));
        }
        let Some(known) = lock(&self.tiles).get(&tile).copied() else { return Ok(None) };
        let at = Address { map, tile, version: known.version };
        if what == Layer::Costs {
            return self.pack_costs(known.heights, at);
        }
        let (part, next_id) = match (&self.content, what) {
            (Content::Voxels { voxels, places, .. }, _) => {
                let listed = places.get(&tile).map_or(&[][..], Vec::as_slice);
                return Ok((what == Layer::Voxels).then(|| encode::voxels(voxels, listed, known.heights, at).into()));
            }
            (Content::Static { map: whole, packed }, Layer::Primitives) => {
                let make = || encode::primitives(whole, known.heights, whole.next_id(), at);
                return Ok(Some(packed.get(tile, make)));
            }
            (Content::Static { map: whole, .. }, _) => {
                let heights = self.heights_around(tile);
                let states = states_in(whole, tile, heights);
                let free = counters_in(whole, tile, heights, &states);
                (self.part(whole.config(), states, free, whole.next_id())?, 0)
            }
            (Content::Live { config, snapshots, .. }, _) => {
                let Some(snapshot) = lock(snapshots).get(&tile).cloned() else { return Ok(None) };
                let Snapshot { states, free, next_id, .. } = &*snapshot;
                (self.part(config, states.clone(), free.clone(), *next_id)?, *next_id)
            }
        };
        let bytes = if what == Layer::Primitives {
            encode::primitives(&part, known.heights, next_id, at)
        } else {
            let voxels = part.voxels(self.resolution)?;
            let all: Vec<u32> = (0..voxels.centers.len() as u32).collect();
            encode::voxels(&voxels, &all, known.heights, at)
        };
        Ok(Some(bytes.into()))
    }

    /// Fills the cache with the tiles that a page requests first, while `wanted`.
    pub(crate) fn prepare(&self, map: u8, wanted: impl Fn() -> bool) {
        let Content::Static { packed, .. } = &self.content else { return };
        let tiles: Vec<Tile> = lock(&self.tiles).keys().copied().collect();
        for tile in tiles.into_iter().take_while(|_| packed.has_room() && wanted()) {
            // An error is reported when the tile is requested.
            drop(self.pack(map, tile, Layer::Primitives));
        }
    }

    /// Height range of the means of primitives that may reach into a tile: of the tile and its neighbours.
    fn heights_around(&self, Tile([x, y]): Tile) -> [f64; 2] {
        let tiles = lock(&self.tiles);
        let (from, to) = (x.saturating_sub(1), x.saturating_add(1));
        let near =
            (from..=to).flat_map(|x| tiles.range(Tile([x, y.saturating_sub(1)])..=Tile([x, y.saturating_add(1)])));
        near.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], (_, known)| {
            [low.min(known.heights[0]), high.max(known.heights[1])]
        })
    }

    /// The costs of a tile, if there are any. Those of a live map are of the snapshots as they are: at the edge of a tile they
    /// wait for its next one.
    fn pack_costs(&self, heights: [f64; 2], at: Address) -> Result<Option<Bytes>> {
        let Some(driving) = &self.driving else { return Ok(None) };
        let part = match &self.content {
            Content::Voxels { .. } => return Ok(None),
            Content::Static { map, .. } => {
                let heights = self.heights_around(at.tile);
                let states = costs::states_around(map, at.tile, heights);
                let free = counters_in(map, at.tile, heights, &states);
                self.part(map.config(), states, free, map.next_id())?
            }
            Content::Live { config, snapshots, .. } => {
                let Tile([x, y]) = at.tile;
                let near =
                    (-1..=1).flat_map(|i| (-1..=1).map(move |j| Tile([x.saturating_add(i), y.saturating_add(j)])));
                let near: Vec<Arc<Snapshot>> = {
                    let known = lock(snapshots);
                    near.filter_map(|tile| known.get(&tile).cloned()).collect()
                };
                let states = near.iter().flat_map(|snapshot| snapshot.states.iter().map(|state| (state.id, state)));
                let states: BTreeMap<u64, &PrimitiveState> = states.collect();
                let free = near.iter().find(|snapshot| snapshot.tile == at.tile).and_then(|own| own.free.clone());
                let next_id = near.iter().map(|snapshot| snapshot.next_id).max().unwrap_or(0);
                self.part(config, states.into_values().cloned().collect(), free, next_id)?
            }
        };
        let cells = driving.cells(&part, at.tile)?;
        Ok(Some(encode::costs(cells, costs::CELL_M, heights, at).into()))
    }

    fn pack_points(&self, map: u8, tile: Tile) -> Result<Option<Vec<u8>>> {
        let (found, frames) = {
            let points = lock(&self.points);
            (points.of(tile), points.frames())
        };
        let Some((version, seen)) = found else { return Ok(None) };
        let classes = self.classes.len();
        let seen: Vec<_> = seen.iter().filter(|p| usize::from(p.label) < classes).map(|p| (*p, p.at(tile))).collect();
        let places: Vec<[f64; 3]> = seen.iter().map(|(_, place)| *place).collect();
        let beliefs = self.beliefs(tile, &places)?;
        Ok(Some(encode::points(&seen, &beliefs, frames, Address { map, tile, version })))
    }

    /// Beliefs at positions in a tile.
    fn beliefs(&self, tile: Tile, places: &[[f64; 3]]) -> Result<Beliefs> {
        Ok(match &self.content {
            Content::Static { map, .. } => map.query(places),
            Content::Live { .. } => self.part_at(tile)?.query(places),
            Content::Voxels { map, .. } => lock(map).query(places)?,
        })
    }

    /// The belief at a position, with the primitives behind it if there are any.
    pub(crate) fn answer(&self, at: [f64; 3]) -> Result<Value> {
        let tile = Tile::of(at[0], at[1]);
        Ok(match &self.content {
            Content::Static { map, .. } => answer(map, at),
            Content::Live { .. } => answer(&self.part_at(tile)?, at),
            Content::Voxels { .. } => belief(&self.classes, &self.beliefs(tile, &[at])?, at),
        })
    }

    /// A small map of some primitives: where no others reach, its beliefs are those of the whole map.
    fn part(
        &self,
        config: &Config,
        states: Vec<PrimitiveState>,
        free: Option<Counters>,
        next_id: u64,
    ) -> Result<Mapper> {
        let config = config.clone().with(|c| c.views.live_voxels = false);
        let mut part = Mapper::restore(self.classes.clone(), config, 0, next_id, states)?;
        if let Some(counters) = free {
            part.set_free_space(counters);
        }
        Ok(part)
    }

    /// The part of a live map that reaches into a tile.
    fn part_at(&self, tile: Tile) -> Result<Mapper> {
        let Content::Live { config, snapshots, .. } = &self.content else {
            return self.part(&Config::default(), Vec::new(), None, 0);
        };
        match lock(snapshots).get(&tile).cloned() {
            Some(snapshot) => self.part(config, snapshot.states.clone(), snapshot.free.clone(), snapshot.next_id),
            None => self.part(config, Vec::new(), None, 0),
        }
    }

    /// The instances of a tile; empty if the map has no such tile, or no primitives.
    pub(crate) fn instances(&self, tile: Tile) -> Result<Vec<Instance>> {
        let Some(known) = lock(&self.tiles).get(&tile).copied() else { return Ok(Vec::new()) };
        Ok(match &self.content {
            Content::Static { map, .. } => instances(map, tile, known.heights),
            Content::Live { .. } => instances(&self.part_at(tile)?, tile, known.heights),
            Content::Voxels { .. } => Vec::new(),
        })
    }

    /// The sensor's trajectory.
    pub(crate) fn trajectory(&self) -> Vec<[f64; 3]> {
        lock(&self.trajectory).clone()
    }

    /// Sends the trajectory and every tile to a subscriber.
    pub fn send_to(&self, subscriber: &mut dyn Subscriber) -> Result<()> {
        let tiles: Vec<Tile> = lock(&self.tiles).keys().copied().collect();
        subscriber.trajectory(self.frames, &self.trajectory(), true);
        for tile in tiles {
            subscriber.tile(self.frames, tile, &self.instances(tile)?);
        }
        Ok(())
    }

    /// Replaces a tile of a live map; returns its entry for the page.
    pub(crate) fn replace(&self, snapshot: Snapshot) -> Value {
        let tile = snapshot.tile;
        let mut counted = BTreeMap::new();
        for mean in snapshot.states.iter().map(|state| state.sums.mean()).filter(|mean| tile.holds(*mean)) {
            TileInfo::add(&mut counted, mean);
        }
        if let Content::Live { snapshots, .. } = &self.content {
            lock(snapshots).insert(tile, Arc::new(snapshot));
        }
        let mut tiles = lock(&self.tiles);
        let version = tiles.get(&tile).map_or(1, |known| known.version.wrapping_add(1));
        let fresh = counted.remove(&tile).unwrap_or(TileInfo { version, count: 0, heights: [0.0; 2] });
        tiles.insert(tile, TileInfo { version, ..fresh });
        entry(tile, version, fresh.count, fresh.heights)
    }

    /// Adds points of a running mapper; returns the entries of the changed tiles.
    pub(crate) fn scanned(&self, sample: Vec<([f64; 3], u16)>) -> Vec<Value> {
        let mut points = lock(&self.points);
        let changed = points.take(sample);
        changed.iter().filter_map(|tile| points.entry(*tile)).collect()
    }

    /// Appends a sensor position to the trajectory.
    pub(crate) fn moved(&self, place: [f64; 3]) {
        lock(&self.trajectory).push(place);
    }

    /// The description that the page starts with.
    pub(crate) fn describe(&self) -> Value {
        let tiles: Vec<Value> =
            lock(&self.tiles).iter().map(|(tile, k)| entry(*tile, k.version, k.count, k.heights)).collect();
        let classes = self.classes.names().iter().zip(self.classes.colors());
        json!({
            "name": self.name, "frames": self.frames, "resolution": self.resolution,
            "primitives": !matches!(self.content, Content::Voxels { .. }),
            "way": self.way, "robot": self.driving.as_ref().map(Driving::describe),
            "classes": classes.map(|(name, color)| json!({"name": name, "color": color})).collect::<Vec<_>>(),
            "tiles": tiles, "points": lock(&self.points).entries(), "trajectory": *lock(&self.trajectory),
        })
    }
}

/// The states of all primitives that beliefs in a tile depend on. `heights` is the range of means in the tile and its neighbours: the
/// search is by bounding box, so a primitive that reaches in from the side is found at the height of its mean.
pub(crate) fn states_in(map: &Mapper, tile: Tile, heights: [f64; 2]) -> Vec<PrimitiveState> {
    let (low, high) = tile.bounds(heights);
    // Kernels may depend on primitives around: then all are wanted whose kernels, or those beside them, may reach in.
    let margin = map.config().longest_influence() - map.config().longest_reach();
    let margin = if margin > 0.0 { map.config().longest_influence() } else { 0.0 };
    map.primitives_reaching(low.map(|v| v - margin), high.map(|v| v + margin))
        .iter()
        .map(e2bki::Primitive::state)
        .collect()
}

/// What was seen and seen through in a tile, and where those primitives are; nothing if the map does not know it.
pub(crate) fn counters_in(map: &Mapper, tile: Tile, heights: [f64; 2], states: &[PrimitiveState]) -> Option<Counters> {
    /// Kernels reach a little beyond the means.
    const BEYOND_M: f64 = 1.0;
    let counters = map.free_space().filter(|counters| !counters.is_empty())?;
    let (low, high) = tile.bounds(heights);
    let means = states.iter().map(|state| state.sums.mean());
    Some(counters.part(low.map(|v| v - BEYOND_M), high.map(|v| v + BEYOND_M), means))
}
