//! Ground truth of all frames in cells of 0.05 m, a quarter of the evaluation voxel; cells whose points disagree are not
//! asked about.

use e2bki::Mapper;
use rustc_hash::FxHashMap;

use super::drive::SimulatedFrame;
use crate::score::{Score, Tally};

/// Side of a ground-truth cell.
const CELL_M: f64 = 0.05;
/// Points beyond this are not asked about: a simulated HDL-64E sees little there, and so does a map.
const MAX_RANGE_M: f32 = 50.0;
/// A cell whose points disagree.
const MIXED: u8 = 254;

/// Where the map is asked for a query.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum At {
    VoxelCentre,
    Point,
}

/// What is known of a ground-truth cell.
struct Cell {
    /// Sum of the points' positions within the cell, metres.
    sum: [f32; 3],
    points: u32,
    truth: u8,
    /// What the network said of the first point, and how sure it was.
    said: u8,
    confidence: f32,
}

/// Ground truth gathered from frames.
pub(crate) struct Queries {
    classes: usize,
    cells: FxHashMap<[i32; 3], Cell>,
}

impl Queries {
    pub(crate) fn new(classes: usize) -> Self {
        Self { classes, cells: FxHashMap::default() }
    }

    /// Adds a frame's true points.
    pub(crate) fn add(&mut self, frame: &SimulatedFrame) {
        let classes = self.classes;
        for (i, (point, truth)) in frame.points.iter().zip(&frame.truth).enumerate() {
            let range = point.iter().map(|v| v * v).sum::<f32>().sqrt();
            if usize::from(*truth) >= classes || range == 0.0 || range > MAX_RANGE_M {
                continue;
            }
            let world = frame.pose.apply(point.map(f64::from));
            let key = world.map(|v| (v / CELL_M).floor() as i32);
            let within: [f32; 3] = std::array::from_fn(|a| (world[a] - f64::from(key[a]) * CELL_M) as f32);
            let cell = self.cells.entry(key).or_insert_with(|| {
                let row = &frame.evidence[i * classes..(i + 1) * classes];
                let said = (0..classes).fold(0, |best, c| if row[c] > row[best] { c } else { best });
                let confidence = 1.0 - classes as f32 / (row.iter().sum::<f32>() + classes as f32);
                Cell { sum: [0.0; 3], points: 0, truth: *truth, said: said as u8, confidence }
            });
            (0..3).for_each(|a| cell.sum[a] += within[a]);
            cell.points += 1;
            if cell.truth != *truth {
                cell.truth = MIXED;
            }
        }
    }

    /// Cells whose points agree, in a fixed order.
    fn consistent(&self) -> Vec<(&[i32; 3], &Cell)> {
        let mut cells: Vec<_> = self.cells.iter().filter(|(_, cell)| cell.truth != MIXED).collect();
        cells.sort_unstable_by_key(|(key, _)| **key);
        cells
    }

    /// The network alone at the same places: what it said when it first saw each.
    pub(crate) fn score_network(&self) -> Score {
        let mut tally = Tally::new(self.classes);
        for (_, cell) in self.consistent() {
            tally.add(usize::from(cell.truth), Some((usize::from(cell.said), f64::from(cell.confidence))));
        }
        tally.score()
    }

    /// Asks the map at the centroid of every consistent cell, or at the centre of the voxel that holds it.
    pub(crate) fn score_map(&self, map: &Mapper, at: At) -> Score {
        let side = map.config().resolution;
        let mut tally = Tally::new(self.classes);
        // In portions, so that a long drive does not need all beliefs at once.
        for portion in self.consistent().chunks(1 << 18) {
            let places: Vec<[f64; 3]> = portion
                .iter()
                .map(|(key, cell)| {
                    let mean = |a: usize| f64::from(cell.sum[a]) / f64::from(cell.points);
                    let point: [f64; 3] = std::array::from_fn(|a| f64::from(key[a]) * CELL_M + mean(a));
                    match at {
                        At::Point => point,
                        At::VoxelCentre => point.map(|v| ((v / side).floor() + 0.5) * side),
                    }
                })
                .collect();
            for (belief, (_, cell)) in map.query(&places).iter().zip(portion) {
                tally.add(usize::from(cell.truth), belief.label().map(|label| (label, 1.0 - belief.uncertainty())));
            }
        }
        tally.score()
    }
}
