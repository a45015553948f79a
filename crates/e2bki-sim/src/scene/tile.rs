//! One 32 m square of the world: its ground raster and the solids that reach into it, sorted into 4 m columns.
//! A tile is a pure function of the world's seed and its key, so it can be dropped and made again.

use super::ground::{CELLS, Ground};
use super::{GroundNode, Solid};

/// Side of a tile, metres.
pub(crate) const SCENE_TILE_M: f64 = 32.0;
/// Side of a column, metres.
pub(crate) const COLUMN_M: f64 = 4.0;
/// Columns along one side of a tile.
pub(super) const COLUMNS: usize = 8;
const COLUMN_CELLS: usize = CELLS / COLUMNS;

/// Integer position of a tile: its low corner is `SCENE_TILE_M` times the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TileKey {
    /// Index along x.
    pub x: i32,
    /// Index along y.
    pub y: i32,
}

impl TileKey {
    /// The tile that holds a world position.
    pub fn of(x: f64, y: f64) -> TileKey {
        TileKey { x: (x / SCENE_TILE_M).floor() as i32, y: (y / SCENE_TILE_M).floor() as i32 }
    }

    /// World position of the low corner.
    pub fn corner(self) -> [f64; 2] {
        [f64::from(self.x) * SCENE_TILE_M, f64::from(self.y) * SCENE_TILE_M]
    }
}

/// Contents of one column.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Column {
    /// Highest point of ground and solids.
    pub top: f64,
    /// Highest point of the ground.
    pub ground_top: f64,
    /// Range of `Tile::order`.
    pub first: u32,
    pub last: u32,
}

/// Entry of a column's list: which solid, the heights it spans, and an upright cylinder around it (tile-local centre
/// and radius). Most rays are turned away by these numbers without looking at the solid.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    pub solid: u32,
    pub low: f32,
    pub high: f32,
    pub center: [f32; 2],
    pub radius: f32,
}

/// One square of the world.
#[derive(Debug, Clone)]
pub struct Tile {
    /// Ground raster.
    pub ground: Ground,
    pub(super) solids: Vec<Solid>,
    pub(super) entries: Vec<Entry>,
    pub(super) columns: Vec<Column>,
    pub(super) top: f64,
}

impl Tile {
    /// Builds a tile from its ground function and candidate solids; solids that miss the tile are left out.
    pub fn build(key: TileKey, node: impl FnMut(f64, f64) -> GroundNode, candidates: Vec<Solid>) -> Tile {
        let corner = key.corner();
        let ground = Ground::build(corner, node);
        let mut lists: Vec<Vec<Entry>> = vec![Vec::new(); COLUMNS * COLUMNS];
        let mut solids = Vec::new();
        for solid in candidates {
            let (low, high) = solid.shape.bounds();
            let index = |v: f64, c: f64| ((v - c) / COLUMN_M).floor();
            let (i0, i1) = (index(low.x, corner[0]).max(0.0), index(high.x, corner[0]).min(COLUMNS as f64 - 1.0));
            let (j0, j1) = (index(low.y, corner[1]).max(0.0), index(high.y, corner[1]).min(COLUMNS as f64 - 1.0));
            if i0 > i1 || j0 > j1 {
                continue;
            }
            let middle = (low + high) * 0.5;
            let entry = Entry {
                solid: solids.len() as u32,
                low: low.z as f32 - 0.01,
                high: high.z as f32 + 0.01,
                center: [(middle.x - corner[0]) as f32, (middle.y - corner[1]) as f32],
                radius: solid.shape.flat_radius() as f32 + 0.01,
            };
            solids.push(solid);
            for j in j0 as usize..=j1 as usize {
                for i in i0 as usize..=i1 as usize {
                    lists[j * COLUMNS + i].push(entry);
                }
            }
        }
        let mut entries = Vec::new();
        let mut columns = Vec::with_capacity(lists.len());
        for (k, list) in lists.iter().enumerate() {
            let (i, j) = (k % COLUMNS * COLUMN_CELLS, k / COLUMNS * COLUMN_CELLS);
            let ground_top = ground.top(i, j, COLUMN_CELLS) + 1e-6;
            let top = list.iter().fold(ground_top, |t, e| t.max(f64::from(e.high)));
            let first = entries.len() as u32;
            entries.extend_from_slice(list);
            columns.push(Column { top, ground_top, first, last: entries.len() as u32 });
        }
        let top = columns.iter().fold(f64::NEG_INFINITY, |t, c| t.max(c.top));
        Tile { ground, solids, entries, columns, top }
    }

    /// Heap bytes held.
    pub fn byte_size(&self) -> usize {
        self.ground.byte_size()
            + self.solids.len() * size_of::<Solid>()
            + self.entries.len() * size_of::<Entry>()
            + self.columns.len() * size_of::<Column>()
    }
}
