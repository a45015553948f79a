//! Parts of a scene as the page draws them: made when they are asked for.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::body::Bytes;
use e2bki::free::{CUBE_M, Counters};
use e2bki::{Beliefs, Config, Mapper, PrimitiveState};
use serde_json::Value;

use super::{Content, Scene, Snapshot, lock};
use crate::answer::{answer, belief};
use crate::costs;
use crate::encode::{self, Address, Age, Layer};
use crate::error::Result;
use crate::instance::{Instance, instances};
use crate::tile::{Square, Tile};

/// Kernels reach a little beyond the means.
const BEYOND_M: f64 = 1.0;

impl Scene {
    pub(super) fn packed(&self, map: u8, square: Square, what: Layer) -> Result<Option<Bytes>> {
        if let Content::City(city) = &self.content {
            return city.pack(map, square, what, self.resolution, self.driving.as_ref());
        }
        let tile = square.tile;
        if square.level > 0 {
            return Ok(None);
        }
        if what == Layer::Points {
            return Ok(self.pack_points(map, tile)?.map(Bytes::from));
        }
        let Some(known) = lock(&self.tiles).get(&tile).copied() else { return Ok(None) };
        let at = Address { map, square, version: known.version };
        if what == Layer::Costs {
            return self.pack_costs(known.heights, at);
        }
        let (part, next_id) = match (&self.content, what) {
            (Content::Voxels { voxels, places, .. }, _) => {
                let listed = places.get(&tile).map_or(&[][..], Vec::as_slice);
                return Ok((what == Layer::Voxels).then(|| encode::voxels(voxels, listed, known.heights, at).into()));
            }
            (Content::Static { map: whole, packed }, Layer::Primitives) => {
                let make = || encode::primitives(whole, known.heights, Age::of(whole), at);
                return Ok(Some(packed.get(tile, make)));
            }
            (Content::Static { map: whole, .. }, _) => {
                let heights = self.heights_around(tile);
                let states = states_in(whole, tile, heights);
                let free = counters_in(whole, tile, heights, &states);
                (self.part(whole.config(), states, free, whole.next_id())?, 0)
            }
            (Content::City(_), _) => return Ok(None),
            (Content::Live { config, snapshots, .. }, _) => {
                let Some(snapshot) = lock(snapshots).get(tile) else { return Ok(None) };
                let Snapshot { states, free, next_id, .. } = &*snapshot;
                (self.part(config, states.clone(), free.clone(), *next_id)?, *next_id)
            }
        };
        let bytes = if what == Layer::Primitives {
            encode::primitives(&part, known.heights, Age::Order(next_id), at)
        } else {
            let voxels = part.voxels(self.resolution)?;
            let all: Vec<u32> = (0..voxels.centers.len() as u32).collect();
            encode::voxels(&voxels, &all, known.heights, at)
        };
        Ok(Some(bytes.into()))
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
            Content::Voxels { .. } | Content::City(_) => return Ok(None),
            Content::Static { map, .. } => {
                let heights = self.heights_around(at.square.tile);
                let states = costs::states_around(map, at.square.tile, heights);
                let free = counters_in(map, at.square.tile, heights, &states);
                self.part(map.config(), states, free, map.next_id())?
            }
            Content::Live { config, snapshots, .. } => {
                let Tile([x, y]) = at.square.tile;
                let near =
                    (-1..=1).flat_map(|i| (-1..=1).map(move |j| Tile([x.saturating_add(i), y.saturating_add(j)])));
                let near: Vec<Arc<Snapshot>> = {
                    let known = lock(snapshots);
                    near.filter_map(|tile| known.get(tile)).collect()
                };
                let states = near.iter().flat_map(|snapshot| snapshot.states.iter().map(|state| (state.id, state)));
                let states: BTreeMap<u64, &PrimitiveState> = states.collect();
                let free =
                    near.iter().find(|snapshot| snapshot.tile == at.square.tile).and_then(|own| own.free.clone());
                let next_id = near.iter().map(|snapshot| snapshot.next_id).max().unwrap_or(0);
                self.part(config, states.into_values().cloned().collect(), free, next_id)?
            }
        };
        let cells = driving.cells(&part, at.square.tile)?;
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
        Ok(Some(encode::points(&seen, &beliefs, frames, Address { map, square: tile.into(), version })))
    }

    /// Beliefs at positions in a tile.
    fn beliefs(&self, tile: Tile, places: &[[f64; 3]]) -> Result<Beliefs> {
        Ok(match &self.content {
            Content::Static { map, .. } => map.query(places),
            Content::Live { .. } => self.part_at(tile)?.query(places),
            Content::City(city) => city.part_at(tile)?.query(places),
            Content::Voxels { map, .. } => lock(map).query(places)?,
        })
    }

    /// The belief at a position, with the primitives behind it if there are any.
    pub(crate) fn answer(&self, at: [f64; 3]) -> Result<Value> {
        let tile = Tile::of(at[0], at[1]);
        Ok(match &self.content {
            Content::Static { map, .. } => answer(map, at),
            Content::Live { .. } => answer(&self.part_around(tile, at)?, at),
            Content::City(city) => answer(&city.part_at(tile)?, at),
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
        match lock(snapshots).get(tile) {
            Some(snapshot) => self.part(config, snapshot.states.clone(), snapshot.free.clone(), snapshot.next_id),
            None => self.part(config, Vec::new(), None, 0),
        }
    }

    /// What the belief at a position in a tile depends on: a hundredth of the tile, of which a map would take tens of megabytes.
    fn part_around(&self, tile: Tile, at: [f64; 3]) -> Result<Mapper> {
        let Content::Live { config, snapshots, .. } = &self.content else { return self.part_at(tile) };
        let Some(snapshot) = lock(snapshots).get(tile) else { return self.part_at(tile) };
        // Kernels reach in from so far, and how they run may depend on others as far away from them.
        let margin = 2.0 * config.longest_influence();
        let near =
            |state: &&PrimitiveState| state.sums.mean().iter().zip(at).all(|(mean, at)| (mean - at).abs() <= margin);
        let states: Vec<PrimitiveState> = snapshot.states.iter().filter(near).cloned().collect();
        let free = snapshot.free.as_ref().map(|counters| {
            let means = states.iter().map(|state| state.sums.mean());
            let and_above = means.flat_map(|[x, y, z]| [[x, y, z], [x, y, z + CUBE_M]]);
            counters.part(at.map(|v| v - BEYOND_M), at.map(|v| v + BEYOND_M), and_above)
        });
        self.part(config, states, free, snapshot.next_id)
    }

    /// The instances of a tile; empty if the map has no such tile, or no primitives.
    pub(crate) fn instances(&self, tile: Tile) -> Result<Vec<Instance>> {
        let Some(known) = lock(&self.tiles).get(&tile).copied() else { return Ok(Vec::new()) };
        Ok(match &self.content {
            Content::Static { map, .. } => instances(map, tile.into(), known.heights),
            Content::Live { .. } => instances(&self.part_at(tile)?, tile.into(), known.heights),
            Content::Voxels { .. } | Content::City(_) => Vec::new(),
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
    let counters = map.free_space().filter(|counters| !counters.is_empty())?;
    let (low, high) = tile.bounds(heights);
    // What can move goes with what was above it.
    let means = states.iter().map(|state| state.sums.mean()).flat_map(|[x, y, z]| [[x, y, z], [x, y, z + CUBE_M]]);
    Some(counters.part(low.map(|v| v - BEYOND_M), high.map(|v| v + BEYOND_M), means))
}
