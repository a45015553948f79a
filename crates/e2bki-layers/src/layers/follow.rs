//! What of the layers is out of date with a map, and what is done about it.

use e2bki::Mapper;
use rayon::prelude::*;

use super::marks::{BANDS, Marks};
use super::{Area, Asked, Layers, Refreshed};
use crate::error::Result;
use crate::surfel::{self, Surfel, Through};

/// Cubic metres that a thread takes at a time.
const AT_ONCE: usize = 32;

impl Layers {
    /// Brings the layers up to date with a map: only what changed since the last time is computed anew, with the same
    /// result as computing everything.
    pub fn refresh(&mut self, map: &Mapper) -> Result<Refreshed> {
        self.refresh_within(map, &Area::Everywhere)
    }

    /// Brings the layers of an area up to date with a map: those that somebody is about to read. Elsewhere it is only noted what
    /// changed, to be computed when an area there is asked for. What waits is said ([`Refreshed::waiting`], [`Self::is_waiting`]).
    pub fn refresh_within(&mut self, map: &Mapper, area: &Area) -> Result<Refreshed> {
        surfel::check(map.classes(), &self.settings.costs)?;
        // By a thread of the pool from the beginning: there are many short loops, and none of them has to be handed over to it.
        rayon::scope(|_| self.follow(map, area))
    }

    fn follow(&mut self, map: &Mapper, area: &Area) -> Result<Refreshed> {
        let since = self.moment.as_ref().filter(|moment| map.has_been_at(moment));
        let changes = since.map(|moment| map.changes_since(moment.number())).filter(|changes| !changes.everything);
        let (through, height) = (Through::of(map), self.settings.robot.height);
        let free = |at: [f64; 3]| through.is_known().then(|| through.is_free([at[0], at[1], at[2] + 0.5 * height]));
        let asked = Asked { query: &|places| Ok(map.query(places)), calibrated: true, free: &free };
        let everything = changes.is_none();
        let (cells, count) = match changes {
            None => {
                self.tiles.put_all(&surfel::of_map(map, &self.settings, &self.grid, &self.tiles));
                self.compute_all(&asked)?
            }
            Some(changes) => {
                self.late.note(&self.tiles, &changes);
                let touched = self.take_surfaces(map, area);
                self.compute(&touched, &asked, area)?
            }
        };
        let moved_on = self.moment.as_ref().is_none_or(|moment| moment.number() != map.change_number());
        if everything || map.free_space().is_some() || self.begin.is_some() {
            self.look(map, &asked, if everything { &Area::Everywhere } else { area }, everything || moved_on);
        }
        self.moment = Some(map.moment());
        let (waiting, oldest) = self.late.finish(&self.tiles, if everything { &Area::Everywhere } else { area });
        Ok(Refreshed { cells, asked: count, waiting, oldest, everything })
    }

    /// Takes over the surfaces of changed cubic metres as far as an area feels them; returns the cells that these cover or covered,
    /// of those that are others than before.
    fn take_surfaces(&mut self, map: &Mapper, area: &Area) -> Marks {
        let blocks = self.late.take_blocks(&self.tiles, area);
        let of_block = |(block, tile): &([i32; 3], usize)| {
            let there = surfel::of_block(map, *block, &self.settings, &self.grid);
            let before = self.tiles.surfels_of(*tile, *block);
            let mut covered = Vec::with_capacity(there.len());
            let mut cover = |surfel: &Surfel| covered.push(surfel.covered());
            if there.len() == before.len() {
                for (a, b) in there.iter().zip(before).filter(|(a, b)| a != b) {
                    cover(a);
                    // Most are where they were.
                    if a.covered() != b.covered() {
                        cover(b);
                    }
                }
            } else {
                there.iter().chain(before).for_each(cover);
            }
            ((!covered.is_empty()).then_some(there), covered)
        };
        let found = blocks.par_iter().with_min_len(AT_ONCE).with_max_len(AT_ONCE).map(of_block);
        let (surfels, covered): (Vec<_>, Vec<_>) = found.unzip();
        let (mut touched, tiles) = (Marks::none(&self.grid, &self.spare, 0..0), &mut self.tiles);
        let put = || {
            let differ = blocks.iter().zip(surfels).filter_map(|(block, surfels)| Some((block, surfels?)));
            differ.for_each(|((block, tile), surfels)| tiles.put(*tile, *block, &surfels));
        };
        let mark = || {
            for [columns, rows] in covered.into_iter().flatten() {
                touched.add_range(columns, rows);
            }
        };
        rayon::join(put, mark);
        touched
    }

    /// When the ground of an area was last seen, and the state of its cells that have no sample of their own, by what was seen
    /// through: a frame dates and passes through more than it changes, so that all are looked at.
    fn look(&mut self, map: &Mapper, asked: &Asked<'_>, area: &Area, moved_on: bool) {
        if moved_on {
            self.late.close_eyes();
            self.begin = map.free_space().and_then(|counters| counters.span()).map(|span| span.first);
        }
        let Some(counters) = map.free_space() else {
            self.cells.iter_mut().for_each(|cell| cell.last_seen = f32::NAN);
            self.late.take_unseen(&self.tiles, &Area::Everywhere);
            return;
        };
        let unseen = self.late.take_unseen(&self.tiles, area);
        let (grid, tiles, ground, begin) = (&self.grid, &self.tiles, &self.ground, self.begin);
        let bands = tiles.bands(grid, 1, &mut self.cells).into_par_iter().enumerate();
        bands.with_max_len(BANDS).for_each(|(band, cells)| {
            let (width, first) = (tiles.size()[0], tiles.rows_of(band).start * grid.size[0]);
            for tile in (band * width..(band + 1) * width).filter(|tile| unseen[*tile]) {
                for (index, [x, y]) in tiles.cells(tile).places(grid) {
                    let cell = &mut cells[index - first];
                    let at = [x, y, f64::from(cell.height)];
                    let seen = begin.and_then(|begin| Some((counters.seen(at)?, begin)));
                    cell.last_seen = seen.map_or(f32::NAN, |(seen, begin)| (seen.last - begin) as f32);
                    if cell.height.is_finite() && !ground[index].is_finite() {
                        cell.state = cell.state_if((asked.free)(at).unwrap_or(cell.slope.is_finite()));
                    }
                }
            }
        });
    }
}
