//! The world as the sensors meet it: tiles made on demand, kept while near, dropped when far.
//! Locks are held only to look up and store tiles, never while tiles are made or rays are cast.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rayon::prelude::*;

use super::landscape::Landscape;
use super::traffic::{Ego, Traffic};
use super::{Route, RouteWindow, Season, WorldProfile};
use crate::maths::Vec3;
use crate::scene::{SCENE_TILE_M, Tile, TileKey, View};

/// Looks at the world after which a tile that was in none of them is dropped: what lies behind the vehicle goes, and
/// threads that are at different places of a drive do not take each other's tiles.
const KEPT_LOOKS: u64 = 24;
/// Tiles kept at most, where looks jump about; those used longest ago go first. About four times what one view needs.
const KEPT_TILES: usize = 360;

/// Tiles, each with the number of the look that used it last.
#[derive(Default)]
struct Tiles {
    looks: u64,
    held: BTreeMap<TileKey, (u64, Arc<Tile>)>,
}

impl Tiles {
    fn get(&mut self, key: TileKey) -> Option<Arc<Tile>> {
        let (used, tile) = self.held.get_mut(&key)?;
        *used = self.looks;
        Some(Arc::clone(tile))
    }

    fn insert(&mut self, key: TileKey, tile: &Arc<Tile>) {
        self.held.entry(key).or_insert_with(|| (self.looks, Arc::clone(tile)));
    }

    /// Drops what has not been used for long.
    fn tidy(&mut self) {
        let oldest = self.looks.saturating_sub(KEPT_LOOKS);
        self.held.retain(|_, (used, _)| *used >= oldest);
        if self.held.len() > KEPT_TILES {
            let mut by_use: Vec<(u64, TileKey)> = self.held.iter().map(|(key, (used, _))| (*used, *key)).collect();
            by_use.sort();
            for (_, key) in &by_use[..self.held.len() - KEPT_TILES] {
                self.held.remove(key);
            }
        }
    }
}

/// A world without end.
pub struct World {
    route: Route,
    landscape: Arc<Landscape>,
    traffic: Option<Traffic>,
    tiles: Mutex<Tiles>,
}

impl World {
    /// The world of a seed.
    pub fn new(seed: u64, profile: &WorldProfile, season: Season, cruise: f64) -> World {
        let route = Route::new(seed, profile.kind(), cruise);
        let landscape = Arc::new(Landscape::new(seed, profile, season, &route));
        let traffic = match profile {
            WorldProfile::Urban(p) => Some(Traffic::new(seed, *p)),
            WorldProfile::Offroad(_) => None,
        };
        World { route, landscape, traffic, tiles: Mutex::default() }
    }

    /// The centre line of road or trail.
    pub fn route(&self) -> &Route {
        &self.route
    }

    fn make(&self, key: TileKey) -> Tile {
        let x = key.corner()[0];
        let window = RouteWindow::new(&self.route, x, x + SCENE_TILE_M);
        let solids = self.landscape.solids(key, &window);
        Tile::build(key, self.landscape.nodes(key, &window), solids)
    }

    /// Ground height at a world position.
    pub fn ground_height(&self, x: f64, y: f64) -> f64 {
        let key = TileKey::of(x, y);
        let found = self.lock().get(key);
        let tile = found.unwrap_or_else(|| {
            let tile = Arc::new(self.make(key));
            self.lock().insert(key, &tile);
            tile
        });
        tile.ground.height(x, y)
    }

    /// Everything within `reach_m` of `center` at `time`; traffic depends on where the vehicle is along the route.
    pub fn view(&self, center: Vec3, reach_m: f64, time: f64, ego: Ego) -> View {
        let middle = TileKey::of(center.x, center.y);
        let reach = (reach_m / SCENE_TILE_M).ceil().max(1.0) as i32;
        let low = TileKey { x: middle.x - reach, y: middle.y - reach };
        let across = (2 * reach + 1) as usize;
        let keys: Vec<TileKey> = (0..across * across)
            .map(|k| TileKey { x: low.x + (k % across) as i32, y: low.y + (k / across) as i32 })
            .collect();
        let known: Vec<Option<Arc<Tile>>> = {
            let mut tiles = self.lock();
            tiles.looks += 1;
            keys.iter().map(|key| tiles.get(*key)).collect()
        };
        let tiles: Vec<Arc<Tile>> =
            keys.par_iter().zip(known).map(|(key, tile)| tile.unwrap_or_else(|| Arc::new(self.make(*key)))).collect();
        {
            let mut held = self.lock();
            keys.iter().zip(&tiles).for_each(|(key, tile)| held.insert(*key, tile));
            held.tidy();
        }
        let movers = match &self.traffic {
            Some(traffic) => traffic.movers(&self.route, time, ego, reach_m, |x, y| self.ground_height(x, y)),
            None => Vec::new(),
        };
        let landscape = Arc::clone(&self.landscape);
        View::new(low, across, tiles, movers, Arc::new(move |p, sample| landscape.material(p, sample)))
    }

    fn lock(&self) -> MutexGuard<'_, Tiles> {
        self.tiles.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes held by tiles, and their number.
    pub fn cached(&self) -> (usize, usize) {
        let tiles = self.lock();
        (tiles.held.values().map(|(_, tile)| tile.byte_size()).sum(), tiles.held.len())
    }
}
