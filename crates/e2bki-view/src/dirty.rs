//! Tiles that changed since they were last sent, as the map announces its changes.

use std::collections::BTreeMap;

use e2bki::{Changes, Mapper};

use crate::tile::Tile;

/// Means lie at most this far above and below the cubic metres that their primitives are announced with, metres.
const ABOVE_M: f64 = 4.0;

/// Dirty tiles, and the number of the map's change up to which they are known.
#[derive(Debug, Default)]
pub(crate) struct DirtyTiles {
    /// The map's latest change that was looked at.
    cursor: u64,
    /// Changed since they were last sent, with the frame after which that was noticed.
    dirty: BTreeMap<Tile, u64>,
    /// Lowest and highest of what ever changed in a tile.
    heights: BTreeMap<Tile, [f64; 2]>,
}

impl DirtyTiles {
    /// Number of dirty tiles.
    pub(crate) fn len(&self) -> usize {
        self.dirty.len()
    }

    /// Dirty tiles, longest waiting first.
    pub(crate) fn in_order(&self) -> Vec<Tile> {
        let mut order: Vec<(u64, Tile)> = self.dirty.iter().map(|(tile, frame)| (*frame, *tile)).collect();
        order.sort_unstable();
        order.into_iter().map(|(_, tile)| tile).collect()
    }

    /// The tile was sent.
    pub(crate) fn remove(&mut self, tile: Tile) {
        self.dirty.remove(&tile);
    }

    /// Height range of the primitives that reach into a tile.
    pub(crate) fn heights(&self, Tile([x, y]): Tile) -> [f64; 2] {
        let around = (-1..=1).flat_map(|dx| (-1..=1).map(move |dy| (dx, dy)));
        let known = around.filter_map(|(dx, dy)| self.heights.get(&Tile([x.saturating_add(dx), y.saturating_add(dy)])));
        let [low, high] = known.fold([f64::INFINITY, f64::NEG_INFINITY], |a, b| [a[0].min(b[0]), a[1].max(b[1])]);
        [low - ABOVE_M, high + ABOVE_M]
    }

    /// Adds the tiles that changed since the last call; `frame` is the number of frames so far. Costs time in proportion to
    /// what changed, so that it need not be called for every frame.
    pub(crate) fn update(&mut self, map: &Mapper, frame: u64) {
        let changes = map.changes_since(self.cursor);
        self.cursor = changes.number;
        if changes.everything {
            return self.add_all(map, frame);
        }
        self.add(&changes, frame);
    }

    /// Of a map that is partly elsewhere: adds what a frame changed, and leaves out tiles that have gone, which the map in
    /// memory cannot show any more.
    pub(crate) fn update_part(&mut self, map: &Mapper, changes: &Changes, here: impl Fn([i32; 2]) -> bool, frame: u64) {
        self.cursor = map.change_number();
        if changes.everything {
            self.add_all(map, frame)
        } else {
            self.add(changes, frame)
        }
        self.dirty.retain(|tile, _| here(tile.0));
    }

    fn add(&mut self, changes: &Changes, frame: u64) {
        // Blocks come in ascending order: neighbours mostly concern the same tiles.
        let mut run: Option<([Tile; 2], [f64; 2])> = None;
        for change in &changes.blocks {
            let (low, high) = change.views.unwrap_or((change.block, change.block));
            let low: [i32; 3] = std::array::from_fn(|i| low[i].min(change.block[i]));
            let high: [i32; 3] = std::array::from_fn(|i| high[i].max(change.block[i]));
            let tile = |[x, y, _]: [i32; 3]| Tile::of(f64::from(x), f64::from(y));
            let (tiles, heights) = ([tile(low), tile(high)], [f64::from(low[2]), f64::from(high[2]) + 1.0]);
            match &mut run {
                Some((same, known)) if *same == tiles => *known = joined(*known, heights),
                _ => self.add_run(run.replace((tiles, heights)), frame),
            }
        }
        self.add_run(run, frame);
    }

    /// Marks every tile that has a primitive or had one.
    pub(crate) fn add_all(&mut self, map: &Mapper, frame: u64) {
        self.cursor = map.change_number();
        for tile in self.heights.keys() {
            self.dirty.entry(*tile).or_insert(frame);
        }
        for [x, y, z] in map.primitives().map(|primitive| primitive.mean()) {
            let tile = Tile::of(x, y);
            self.add_run(Some(([tile, tile], [z, z])), frame);
        }
    }

    fn add_run(&mut self, run: Option<([Tile; 2], [f64; 2])>, frame: u64) {
        let Some(([low, high], heights)) = run else { return };
        for tx in low.0[0]..=high.0[0] {
            for tile in (low.0[1]..=high.0[1]).map(|ty| Tile([tx, ty])) {
                self.dirty.entry(tile).or_insert(frame);
                let known = self.heights.entry(tile).or_insert(heights);
                *known = joined(*known, heights);
            }
        }
    }
}

fn joined(a: [f64; 2], b: [f64; 2]) -> [f64; 2] {
    [a[0].min(b[0]), a[1].max(b[1])]
}
