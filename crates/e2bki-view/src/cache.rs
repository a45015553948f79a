//! Cache of encoded tiles of a static map.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use axum::body::Bytes;

use crate::tile::Tile;

/// Capacity in bytes: a map of six million primitives. Beyond it, tiles are encoded on every request.
const MOST: usize = 256 << 20;

/// Encoded tiles.
#[derive(Debug, Default)]
pub(crate) struct TileCache(Mutex<(BTreeMap<Tile, Bytes>, usize)>);

impl TileCache {
    /// The tile's bytes, from the cache or encoded now.
    pub(crate) fn get(&self, tile: Tile, make: impl FnOnce() -> Vec<u8>) -> Bytes {
        if let Some(bytes) = self.0.lock().unwrap_or_else(PoisonError::into_inner).0.get(&tile) {
            return bytes.clone();
        }
        let bytes = Bytes::from(make());
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.1 + bytes.len() <= MOST && kept.0.insert(tile, bytes.clone()).is_none() {
            kept.1 += bytes.len();
        }
        bytes
    }

    /// Whether there is room for more.
    pub(crate) fn has_room(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).1 < MOST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tile_is_made_once_and_too_much_is_not_kept() {
        let packed = TileCache::default();
        let tile = Tile([1, -2]);
        assert_eq!(packed.get(tile, || vec![1, 2]), packed.get(tile, || unreachable!("it is kept")));
        let large = || vec![0; MOST];
        assert_eq!(packed.get(Tile([0, 0]), large).len(), MOST);
        assert_eq!(packed.get(Tile([0, 0]), || vec![3]), vec![3]);
        assert!(packed.has_room());
    }
}
