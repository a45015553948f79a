//! Points in spatial order under an implicit tree of boxes, eight children to a node.
//!
//! Leaves are runs of eight points; node `i` of a level holds children `8i..8i + 8` of the level
//! below. Nothing is linked, so one SIMD test decides over all children of a node.

use super::bounds::Bounds;
use super::lanes::{Boxes, LANES, Lanes, tame};
use super::order::{Item, sort_spatially};

/// Points sorted into leaves, and the boxes above them.
pub(super) struct Tree {
    /// Original index of each sorted point.
    pub(super) order: Vec<u32>,
    /// Sorted points, eight to a leaf; the last leaf repeats its last point.
    pub(super) leaves: Vec<Lanes>,
    /// Boxes of the children of every node; level 0 is above the leaves, the last is the root.
    pub(super) levels: Vec<Vec<Boxes>>,
}

impl Tree {
    /// Tree over `points`; they must not be empty.
    pub(super) fn new(points: &[[f32; 3]]) -> Self {
        let mut items: Vec<Item> = points.iter().zip(0..).map(|(&p, index)| Item { at: tame(p), index }).collect();
        sort_spatially(&mut items);
        let leaves: Vec<Lanes> = items.chunks(LANES).map(leaf).collect();
        Self { order: items.iter().map(|item| item.index).collect(), levels: levels(&items), leaves }
    }

    /// Number of points.
    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    /// The sorted point number `i`.
    pub(super) fn point(&self, i: usize) -> [f32; 3] {
        self.leaves[i / LANES].get(i % LANES)
    }

    /// Labels of the sorted points, in the original order of the points.
    pub(super) fn unsort(&self, labels: &[[u32; LANES]]) -> Vec<u32> {
        let mut original = vec![0; self.len()];
        for (&index, &label) in self.order.iter().zip(labels.iter().flatten()) {
            original[index as usize] = label;
        }
        original
    }

    /// Number of filled lanes of a leaf: 8 but for the last one.
    pub(super) fn filled(&self, leaf: usize) -> usize {
        (self.len() - leaf * LANES).min(LANES)
    }

    /// Number of nodes at a level's child level (leaves for level 0).
    pub(super) fn children(&self, level: usize) -> usize {
        match level {
            0 => self.leaves.len(),
            _ => self.levels[level - 1].len(),
        }
    }
}

/// One leaf; `items` holds one to eight points.
fn leaf(items: &[Item]) -> Lanes {
    Lanes::gather(|lane| items[lane.min(items.len() - 1)].at)
}

/// Boxes of every level, from the leaves up to a single root.
fn levels(items: &[Item]) -> Vec<Vec<Boxes>> {
    let mut bounds: Vec<Bounds> =
        items.chunks(LANES).map(|leaf| Bounds::around(leaf.iter().map(|item| Bounds::at(item.at)))).collect();
    let mut levels = Vec::new();
    loop {
        levels.push(bounds.chunks(LANES).map(boxes).collect());
        bounds = bounds.chunks(LANES).map(|children| Bounds::around(children.iter().copied())).collect();
        if bounds.len() == 1 {
            return levels;
        }
    }
}

/// Side-by-side boxes of up to eight children; missing ones are empty boxes, infinitely far.
fn boxes(bounds: &[Bounds]) -> Boxes {
    let child = |lane: usize| bounds.get(lane).copied().unwrap_or(Bounds::EMPTY);
    Boxes { low: Lanes::gather(|lane| child(lane).low), high: Lanes::gather(|lane| child(lane).high) }
}
