//! What of the layers is out of date with a map.

use e2bki::{Changes, Mapper};
use rayon::prelude::*;

use super::marks::Marks;
use super::{Asked, Effort, Free, Layers, NOWHERE, Refreshed, Views};
use crate::error::Result;
use crate::surfel::{self, Surfel, Through};

impl Layers {
    /// Brings the layers up to date with a map: only what changed since the last time is computed anew, with the same
    /// result as computing everything.
    pub fn refresh(&mut self, map: &Mapper) -> Result<Refreshed> {
        self.refresh_some(map, &Effort::ALL)
    }

    /// The same in bounded time: ground, obstacles and classes are brought up to date as far as the effort goes. What waits is
    /// said ([`Refreshed::waiting`], [`Self::is_waiting`]), and [`Self::refresh`] leaves nothing waiting.
    pub fn refresh_some(&mut self, map: &Mapper, effort: &Effort) -> Result<Refreshed> {
        surfel::check(map.classes(), &self.settings.costs)?;
        let since = self.moment.as_ref().filter(|moment| map.has_been_at(moment));
        let changes = since.map(|moment| map.changes_since(moment.number())).filter(|changes| !changes.everything);
        let (through, height) = (Through::of(map), self.settings.robot.height);
        let free = |at: [f64; 3]| through.is_known().then(|| through.is_free([at[0], at[1], at[2] + 0.5 * height]));
        let asked = Asked { query: &|places| Ok(map.query(places)), calibrated: true, free: &free };
        let refreshed = match changes {
            None => {
                self.tiles.put_all(&surfel::of_map(map, &self.settings));
                self.compute_all(&asked)?
            }
            Some(changes) => {
                let (touched, views) = (self.take_surfaces(map, &changes, effort), self.views_of(&changes));
                self.compute(&touched, &views, &asked, effort)?
            }
        };
        // What beams passed through is announced only where something is: the state of all others is looked at.
        if through.is_known() && !refreshed.everything {
            self.look_through(&free);
        }
        self.look_back(map);
        self.moment = Some(map.moment());
        Ok(refreshed)
    }

    /// Takes over the surfaces of changed cubic metres, as far as the effort goes; returns the cells that these cover or covered,
    /// of those that are others than before.
    fn take_surfaces(&mut self, map: &Mapper, changes: &Changes, effort: &Effort) -> Marks {
        self.stale.begin(changes.primitive_blocks().filter_map(|block| Some((block, self.tiles.of_block(block)?))));
        let blocks = self.stale.take(&self.tiles, effort);
        let of_block = |(block, tile): &([i32; 3], usize)| {
            let there = surfel::of_block(map, *block, &self.settings);
            let before = self.tiles.surfels_of(*tile, *block);
            let mut covered = Vec::new();
            let mut cover = |surfel: &Surfel| covered.push(surfel.covered(&self.grid));
            if there.len() == before.len() {
                let differ = there.iter().zip(before).filter(|(a, b)| a != b);
                differ.for_each(|(a, b)| (cover(a), cover(b)).1);
            } else {
                there.iter().chain(before).for_each(cover);
            }
            (there, covered)
        };
        let found: Vec<_> = blocks.par_iter().with_min_len(32).map(of_block).collect();
        let mut touched = Marks::none(&self.grid);
        for ((block, tile), (surfels, covered)) in blocks.into_iter().zip(found) {
            if !covered.is_empty() {
                covered.into_iter().for_each(|[columns, rows]| touched.add_range(columns, rows));
                self.tiles.put(tile, block, &surfels);
            }
        }
        touched
    }

    /// Between which heights beliefs can differ in every tile.
    fn views_of(&self, changes: &Changes) -> Views {
        let mut views = vec![NOWHERE; self.tiles.len()];
        for (low, high) in changes.blocks.iter().filter_map(|change| change.views) {
            self.tiles.between(low, high, |tile| {
                let [from, to] = &mut views[tile];
                (*from, *to) = (from.min(low[2] as f32), to.max(high[2] as f32 + 1.0));
            });
        }
        views
    }

    /// When the ground of every cell was last seen. A frame dates more than it changes, so that all are looked at.
    fn look_back(&mut self, map: &Mapper) {
        let counters = map.free_space();
        let begin = counters.and_then(|counters| counters.span()).map(|span| span.first);
        let (Some(counters), Some(first)) = (counters, begin) else {
            if self.begin.take().is_some() {
                self.cells.iter_mut().for_each(|cell| cell.last_seen = f32::NAN);
            }
            return;
        };
        self.begin = begin;
        let grid = self.grid;
        self.cells.par_iter_mut().enumerate().with_min_len(4096).for_each(|(index, cell)| {
            let [x, y] = grid.center(index);
            let seen = counters.seen([x, y, f64::from(cell.height)]);
            cell.last_seen = seen.map_or(f32::NAN, |seen| (seen.last - first) as f32);
        });
    }

    /// The state of cells that have no sample of their own, by what was seen through.
    fn look_through(&mut self, free: Free<'_>) {
        let (grid, ground) = (self.grid, &self.ground);
        self.cells.par_iter_mut().enumerate().with_min_len(4096).for_each(|(index, cell)| {
            if cell.height.is_finite() && !ground[index].is_finite() {
                let [x, y] = grid.center(index);
                cell.state = cell.state_if(free([x, y, f64::from(cell.height)]).unwrap_or(cell.slope.is_finite()));
            }
        });
    }
}
