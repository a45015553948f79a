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
        Self::of(place[0], place[1]) == *self
    }

    /// Lowest corner.
    pub fn corner(&self) -> [f64; 2] {
        self.0.map(|t| f64::from(t) * TILE_M)
    }

    /// Low and high corner of the tile between two heights.
    pub fn bounds(&self, heights: [f64; 2]) -> ([f64; 3], [f64; 3]) {
        let [x, y] = self.corner();
        ([x, y, heights[0]], [x + TILE_M, y + TILE_M, heights[1]])
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
    }
}
