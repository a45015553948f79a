//! Rectangles of tiles.

use e2bki::TILE_M;

/// Tiles from a low to a high corner, both included.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Area {
    pub(crate) low: [i32; 2],
    pub(crate) high: [i32; 2],
}

impl Area {
    /// Tiles that meet a box on the ground.
    pub(crate) fn around(low: [f64; 2], high: [f64; 2]) -> Self {
        let side = f64::from(TILE_M);
        Self { low: low.map(|v| (v / side).floor() as i32), high: high.map(|v| (v / side).floor() as i32) }
    }

    pub(crate) fn grown(self, tiles: i32) -> Self {
        Self { low: self.low.map(|v| v - tiles), high: self.high.map(|v| v + tiles) }
    }

    /// Tiles to go to it: how much it must grow to hold one.
    pub(crate) fn distance(&self, tile: [i32; 2]) -> i32 {
        (0..2).fold(0, |most, i| most.max(self.low[i] - tile[i]).max(tile[i] - self.high[i]))
    }

    pub(crate) fn holds(&self, tile: [i32; 2]) -> bool {
        (0..2).all(|i| (self.low[i]..=self.high[i]).contains(&tile[i]))
    }

    /// Its corners in the world. Boxes of the map include their high corner, which belongs to the next tile.
    pub(crate) fn corners(&self) -> ([f64; 3], [f64; 3]) {
        let edge = |v: i32| f64::from(v) * f64::from(TILE_M);
        let [x, y] = self.high.map(|v| edge(v + 1).next_down());
        ([edge(self.low[0]), edge(self.low[1]), f64::NEG_INFINITY], [x, y, f64::INFINITY])
    }
}
