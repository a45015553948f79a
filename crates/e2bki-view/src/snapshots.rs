//! Snapshots of the tiles of a running mapper, in bounded memory: of a drive without end the viewer keeps the latest.

use std::collections::BTreeMap;
use std::sync::Arc;

use e2bki::PrimitiveState;
use e2bki::free::Counters;

use crate::tile::Tile;

/// Most bytes of snapshots. A page keeps the tiles that it has; one that comes later is shown what is left.
const MOST: usize = 64 << 20;

/// Snapshot of a tile: every primitive that reaches into it.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) tile: Tile,
    pub(crate) next_id: u64,
    pub(crate) states: Vec<PrimitiveState>,
    /// What was seen and seen through there, if the map knows it.
    pub(crate) free: Option<Counters>,
}

impl Snapshot {
    /// Bytes that it takes.
    fn byte_size(&self) -> usize {
        let evidence: usize = self.states.iter().map(|state| size_of_val(state.log_evidence.as_slice())).sum();
        let free = self.free.as_ref().map_or(0, Counters::byte_size);
        size_of::<Self>() + size_of_val(self.states.as_slice()) + evidence + free
    }
}

/// The latest snapshot of every tile, the longest unchanged ones left out where there are too many.
#[derive(Debug, Default)]
pub(crate) struct Snapshots {
    /// With the number of its insertion.
    tiles: BTreeMap<Tile, (u64, Arc<Snapshot>)>,
    /// Tiles by the number of their insertion.
    order: BTreeMap<u64, Tile>,
    inserted: u64,
    bytes: usize,
}

impl Snapshots {
    /// The tile's latest snapshot, if it is still here.
    pub(crate) fn get(&self, tile: Tile) -> Option<Arc<Snapshot>> {
        self.tiles.get(&tile).map(|(_, snapshot)| snapshot.clone())
    }

    /// Replaces a tile; returns the number of the insertion, and the tiles that had to go for it.
    pub(crate) fn insert(&mut self, snapshot: Snapshot) -> (u64, Vec<Tile>) {
        self.inserted += 1;
        let tile = snapshot.tile;
        self.remove(tile);
        self.bytes += snapshot.byte_size();
        self.tiles.insert(tile, (self.inserted, Arc::new(snapshot)));
        self.order.insert(self.inserted, tile);
        let mut gone = Vec::new();
        while self.bytes > MOST && self.order.len() > 1 {
            let Some((_, oldest)) = self.order.first_key_value() else { break };
            gone.push(*oldest);
            self.remove(*oldest);
        }
        (self.inserted, gone)
    }

    fn remove(&mut self, tile: Tile) {
        if let Some((number, old)) = self.tiles.remove(&tile) {
            self.order.remove(&number);
            self.bytes -= old.byte_size();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(x: i32, states: usize) -> Snapshot {
        let state = PrimitiveState {
            id: 0,
            muted: false,
            sums: e2bki::primitive::Sums { origin: [0; 3], weight: 1.0, first: [0.0; 3], second: [0; 6], range: 1.0 },
            log_evidence: vec![0; 10],
        };
        Snapshot { tile: Tile([x, 0]), next_id: 0, states: vec![state; states], free: None }
    }

    #[test]
    fn the_longest_unchanged_tiles_go_when_there_are_too_many() {
        let each = MOST / 4 / snapshot(0, 1000).byte_size() * 1000;
        let mut kept = Snapshots::default();
        for x in 0..3 {
            assert_eq!(kept.insert(snapshot(x, each)), (x as u64 + 1, vec![]));
        }
        // Seen again, tile 0 is the latest.
        assert_eq!(kept.insert(snapshot(0, each)), (4, vec![]));
        assert_eq!(kept.insert(snapshot(3, 2 * each)), (5, vec![Tile([1, 0])]));
        assert!(kept.get(Tile([1, 0])).is_none() && kept.get(Tile([0, 0])).is_some());
        assert!(kept.bytes <= MOST);
        // One that is too large by itself is shown all the same.
        let (_, gone) = kept.insert(snapshot(9, 6 * each));
        assert_eq!((gone.len(), kept.tiles.len()), (3, 1));
        assert_eq!(kept.bytes, kept.get(Tile([9, 0])).unwrap().byte_size());
    }
}
