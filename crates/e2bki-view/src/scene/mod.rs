//! A scene: one map, static, as snapshots of a running mapper, or tile by tile from where it is kept.

mod city;
mod pack;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::body::Bytes;
use e2bki::{ClassSet, Config, Mapper, SemanticMapper, Voxels};
use e2bki_layers::{Robot, Step};
use serde_json::{Value, json};

use crate::cache::TileCache;
use crate::costs::Driving;
use crate::encode::{self, Layer};
use crate::error::Result;
use crate::live::Subscriber;
use crate::points::RawPoints;
use crate::snapshots::{Snapshot, Snapshots};
use crate::tile::{Square, Tile, entry};

pub use city::{CityEntry, CitySource, CityTile};
pub(crate) use pack::{counters_in, states_in};

use city::City;

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
    Live { config: Box<Config>, snapshots: Mutex<Snapshots>, packing: Packing },
    /// A map of primitives that is larger than memory.
    City(Box<City>),
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

    /// A map that is larger than memory: of its tiles only those are read that a page looks at, and from afar coarser ones.
    pub fn of_city(
        name: impl Into<String>,
        classes: ClassSet,
        config: &Config,
        frames: u64,
        tiles: Vec<CityEntry>,
        source: Box<dyn CitySource>,
    ) -> Self {
        let driving = Driving::of(&classes, &Robot::default()).ok();
        let city = City::new(classes.clone(), config, tiles, source);
        Self {
            name: name.into(),
            classes,
            resolution: config.views.resolution,
            frames,
            content: Content::City(Box::new(city)),
            tiles: Mutex::default(),
            points: Mutex::default(),
            trajectory: Mutex::default(),
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

    /// Shows voxels of another size than the map's own, and the sensor's trajectory.
    #[must_use]
    pub fn with_view(mut self, trajectory: Vec<[f64; 3]>, resolution: Option<f64>) -> Self {
        self.resolution = resolution.unwrap_or(self.resolution);
        self.trajectory = Mutex::new(trajectory);
        self
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
        let (tiles, points, trajectory) = (Mutex::default(), Mutex::new(RawPoints::live()), Mutex::default());
        let driving = Driving::of(&classes, &Robot::default()).ok();
        Self { name, classes, resolution, frames: 0, content, tiles, points, trajectory, driving, way: Vec::new() }
    }

    /// The encoded tile; `None` if the map has no such tile.
    pub(crate) fn pack(&self, map: u8, square: Square, what: Layer) -> Result<Option<Bytes>> {
        let begun = Instant::now();
        let packed = self.packed(map, square, what);
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

    /// Fills the cache with the tiles that a page requests first, while `wanted`.
    pub(crate) fn prepare(&self, map: u8, wanted: impl Fn() -> bool) {
        let Content::Static { packed, .. } = &self.content else { return };
        let tiles: Vec<Tile> = lock(&self.tiles).keys().copied().collect();
        for tile in tiles.into_iter().take_while(|_| packed.has_room() && wanted()) {
            // An error is reported when the tile is requested.
            drop(self.pack(map, tile.into(), Layer::Primitives));
        }
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
        let Content::Live { snapshots, .. } = &self.content else { return Value::Null };
        let (number, gone) = lock(snapshots).insert(snapshot);
        let mut tiles = lock(&self.tiles);
        tiles.retain(|tile, _| !gone.contains(tile));
        // Never the same again, also of a tile that had to go meanwhile.
        let version = number as u32;
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
        let (tiles, levels): (Vec<Value>, u8) = match &self.content {
            Content::City(city) => (city.entries(), city.top()),
            _ => {
                let tiles = lock(&self.tiles);
                (tiles.iter().map(|(tile, k)| entry(*tile, k.version, k.count, k.heights)).collect(), 0)
            }
        };
        let classes = self.classes.names().iter().zip(self.classes.colors());
        let span = match &self.content {
            Content::Static { map, .. } => encode::span(map).map(|span| [span.first, span.last]),
            _ => None,
        };
        json!({
            "name": self.name, "frames": self.frames, "resolution": self.resolution, "span": span,
            "primitives": !matches!(self.content, Content::Voxels { .. }),
            "way": self.way, "robot": self.driving.as_ref().map(Driving::describe),
            "classes": classes.map(|(name, color)| json!({"name": name, "color": color})).collect::<Vec<_>>(),
            "tiles": tiles, "levels": levels, "points": lock(&self.points).entries(), "trajectory": *lock(&self.trajectory),
        })
    }
}
