//! Ground truth in cells: what is known of each is its label, the number of its points and their sum, so that a drive of
//! any length takes memory by the space it covers and not by the points it saw.

use rustc_hash::FxHashMap;

use crate::queries::Queries;

/// Side of a ground-truth cell, metres: a quarter of the paper's voxel.
pub const CELL_M: f64 = 0.05;

/// Label of a cell whose points disagree.
const MIXED: u16 = u16::MAX;

#[derive(Debug, Clone, Copy)]
struct Cell<const D: usize> {
    /// Sum of the points' places within the cell, metres.
    sum: [f32; D],
    /// Points in the sum.
    count: u16,
    label: u16,
    said: Said,
}

/// The network's label of a cell's first point; its confidence in steps of 1/65535.
#[derive(Debug, Clone, Copy)]
struct Said {
    label: u16,
    confidence: u16,
}

/// Labelled points gathered in cells of a volume (`D` = 3) or a plane (`D` = 2).
#[derive(Debug, Clone)]
pub struct Cells<const D: usize> {
    side_m: f64,
    cells: FxHashMap<[i32; D], Cell<D>>,
}

impl<const D: usize> Default for Cells<D> {
    fn default() -> Self {
        Self::new(CELL_M)
    }
}

impl<const D: usize> Cells<D> {
    /// No cells yet, of a given side in metres.
    pub fn new(side_m: f64) -> Self {
        Self { side_m, cells: FxHashMap::default() }
    }

    /// Adds a point of a true class, with what the network said of it and how sure it was. Classes above 65534 and places
    /// that are not finite are left out.
    pub fn add(&mut self, place: [f64; D], class: usize, said: Option<(usize, f64)>) {
        let Some(label) = u16::try_from(class).ok().filter(|label| *label != MIXED) else { return };
        if place.iter().any(|v| !v.is_finite()) {
            return;
        }
        let key = place.map(|v| (v / self.side_m).floor() as i32);
        let cell = self.cells.entry(key).or_insert_with(|| Cell {
            sum: [0.0; D],
            count: 0,
            label,
            said: Said {
                label: said.and_then(|(l, _)| u16::try_from(l).ok()).unwrap_or(MIXED),
                confidence: said.map_or(0, |(_, sure)| (sure.clamp(0.0, 1.0) * 65535.0).round() as u16),
            },
        });
        if cell.label != label {
            cell.label = MIXED;
        }
        // The place of a cell seen 65535 times is known well enough.
        if let Some(count) = cell.count.checked_add(1) {
            cell.count = count;
            for axis in 0..D {
                cell.sum[axis] += (place[axis] - f64::from(key[axis]) * self.side_m) as f32;
            }
        }
    }

    /// Number of cells, those that disagree among them.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// Whether there are no cells.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// One query per cell whose points agree, at their centroid, by ascending cell.
    pub fn into_queries(self) -> Queries<D> {
        let mut cells: Vec<([i32; D], Cell<D>)> =
            self.cells.into_iter().filter(|(_, cell)| cell.label != MIXED).collect();
        cells.sort_unstable_by_key(|(key, _)| *key);
        let mut queries = Queries::default();
        for (key, cell) in cells {
            let place = std::array::from_fn(|axis| {
                f64::from(key[axis]) * self.side_m + f64::from(cell.sum[axis]) / f64::from(cell.count)
            });
            let said = (cell.said.label != MIXED)
                .then(|| (usize::from(cell.said.label), f64::from(cell.said.confidence) / 65535.0));
            queries.push(place, usize::from(cell.label), said);
        }
        queries
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_the_centroid_of_points_that_agree() {
        let mut cells = Cells::<3>::default();
        cells.add([1.01, 2.01, -0.01], 4, Some((3, 0.5)));
        cells.add([1.03, 2.02, -0.04], 4, Some((4, 1.0)));
        cells.add([9.0, 9.0, 9.0], 1, None);
        cells.add([9.01, 9.01, 9.01], 2, None); // disagrees
        cells.add([9.02, 9.02, 9.02], 1, None); // and that is not forgotten
        cells.add([-5.0, 0.0, 0.0], 0, None);
        cells.add([f64::NAN, 0.0, 0.0], 0, None);
        assert_eq!(cells.len(), 3);
        let queries = cells.into_queries();
        assert_eq!(queries.truths(), [0, 4]);
        let place = queries.places()[1];
        for (found, expected) in place.iter().zip([1.02, 2.015, -0.025]) {
            assert!((found - expected).abs() < 1e-6, "{place:?}");
        }
        assert_eq!(queries.said(0), None);
        let (label, sure) = queries.said(1).unwrap();
        assert!(label == 3 && (sure - 0.5).abs() < 1e-4);
    }

    #[test]
    fn a_cell_that_is_seen_without_end_keeps_its_place() {
        let mut cells = Cells::<2>::default();
        for _ in 0..70_000 {
            cells.add([0.03, 0.01], 0, None);
        }
        let place = cells.into_queries().places()[0];
        assert!((place[0] - 0.03).abs() < 1e-4 && (place[1] - 0.01).abs() < 1e-4, "{place:?}");
    }
}
