//! Tiles: squares of the ground, the unit in which a map is sent to the browser.

use serde_json::{Value, json};

/// Side of a tile, metres.
const TILE_M: f64 = e2bki::TILE_M as f64;

/// A square of the ground with everything above and below it: x from 32 t₀ to 32 (t₀ + 1) metres, y likewise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tile(pub [i32; 2]);

impl Tile {
    /// The tile that holds a place.
    pub fn of(x: f64, y: f64) -> Self {
        // Saturates for what is not a place on Earth; such tiles hold nothing.
        Self([x, y].map(|v| {
            let (v, cut) = (v / TILE_M, (v / TILE_M) as i32);
            // Rounded down, without a call where the processor has no instruction for it.
            cut.saturating_sub(i32::from(f64::from(cut) > v))
        }))
    }

    /// Whether the tile holds a place.
    pub fn holds(&self, place: [f64; 3]) -> bool {
        Square::from(*self).holds(place)
    }

    /// Lowest corner.
    pub fn corner(&self) -> [f64; 2] {
        Square::from(*self).corner()
    }

    /// Low and high corner of the tile between two heights.
    pub fn bounds(&self, heights: [f64; 2]) -> ([f64; 3], [f64; 3]) {
        Square::from(*self).bounds(heights)
    }
}

/// A tile of a level of detail: at level 0 the tile itself, and of twice the side at each above.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Square {
    pub(crate) level: u8,
    pub(crate) tile: Tile,
}

impl From<Tile> for Square {
    fn from(tile: Tile) -> Self {
        Self { level: 0, tile }
    }
}

impl Square {
    /// How many tiles of level 0 are along its side.
    fn scale(&self) -> f64 {
        f64::from(1_u32 << self.level.min(16))
    }

    pub(crate) fn holds(&self, place: [f64; 3]) -> bool {
        Tile::of(place[0] / self.scale(), place[1] / self.scale()) == self.tile
    }

    pub(crate) fn corner(&self) -> [f64; 2] {
        self.tile.0.map(|t| f64::from(t) * TILE_M * self.scale())
    }

    pub(crate) fn bounds(&self, heights: [f64; 2]) -> ([f64; 3], [f64; 3]) {
        let ([x, y], side) = (self.corner(), TILE_M * self.scale());
        ([x, y, heights[0]], [x + side, y + side, heights[1]])
    }

    /// The eight around it.
    pub(crate) fn around(&self) -> Vec<Self> {
        let Tile([x, y]) = self.tile;
        let steps = (-1..=1).flat_map(|i| (-1..=1).map(move |j| (i, j))).filter(|step| *step != (0, 0));
        let beside = |(i, j): (i32, i32)| Self { tile: Tile([x.saturating_add(i), y.saturating_add(j)]), ..*self };
        let mut around: Vec<Self> = steps.map(beside).filter(|other| other != self).collect();
        around.sort_unstable();
        around.dedup();
        around
    }
}

/// A tile's entry for the page: x, y, version, count, lowest and highest z.
pub(crate) fn entry(tile: Tile, version: u32, count: usize, heights: [f64; 2]) -> Value {
    json!([tile.0[0], tile.0[1], version, count, heights[0], heights[1]])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_in_one_tile() {
        assert_eq!(Tile::of(0.0, -0.1), Tile([0, -1]));
        assert_eq!(Tile::of(31.99, 32.0), Tile([0, 1]));
        assert!(Tile([-1, 0]).holds([-32.0, 0.0, 1e9]));
        assert!(!Tile([-1, 0]).holds([-32.001, 0.0, 0.0]));
        assert_eq!(Tile::of(f64::NAN, f64::INFINITY), Tile([0, i32::MAX]));
        assert_eq!(Tile::of(f64::NEG_INFINITY, -1e300), Tile([i32::MIN; 2]));
        for v in [-64.0, -63.99, -32.0, -1e-300, 0.0, 31.999_999, 32.0, 1e6 + 0.5, -1e6 - 0.5] {
            assert_eq!(Tile::of(v, -v).0, [v, -v].map(|v| (v / TILE_M).floor() as i32));
        }
        assert_eq!(Tile([1, -1]).bounds([-2.0, 5.0]), ([32.0, -32.0, -2.0], [64.0, 0.0, 5.0]));
        let square = Square { level: 2, tile: Tile([1, -1]) };
        assert_eq!(square.bounds([0.0, 1.0]), ([128.0, -128.0, 0.0], [256.0, 0.0, 1.0]));
        assert!(square.holds([128.0, -0.1, 9.0]) && !square.holds([127.9, -0.1, 9.0]));
        assert_eq!(square.around().len(), 8);
        assert_eq!(Square::from(Tile([i32::MAX, 0])).around().len(), 5);
    }
}
