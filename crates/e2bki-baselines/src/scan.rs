//! The points of a frame that a method uses: where they are and what they say.

use e2bki::EvidentialPoints;
use rayon::prelude::*;

use crate::lattice::Place;

/// Points per parallel task; fixed, so that results do not depend on the number of threads.
const CHUNK: usize = 4096;

/// Opinion of a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Says {
    /// Its most likely class, with weight 1.
    Label,
    /// Its belief b in every class, and its uncertainty u in the channel after the classes: p = b + u/C.
    Opinion,
    /// Its belief b in every class.
    Belief,
}

/// Selected points of a frame, in the frame's order.
#[derive(Debug)]
pub(crate) struct Scan {
    pub(crate) classes: usize,
    pub(crate) places: Vec<Place>,
    /// Uncertainty u of every point; 0 for hard labels.
    pub(crate) uncertainty: Vec<f32>,
    /// Where the channels of every point begin, and where the last end.
    starts: Vec<u32>,
    channels: Vec<u16>,
    weights: Vec<f32>,
}

impl Scan {
    /// The points of the given rows.
    pub(crate) fn new(points: &EvidentialPoints, rows: &[(u32, Place)], says: Says) -> Self {
        let classes = points.classes;
        let mut scan = Self {
            classes,
            places: rows.iter().map(|(_, place)| *place).collect(),
            uncertainty: Vec::with_capacity(rows.len()),
            starts: vec![0],
            channels: Vec::with_capacity(rows.len()),
            weights: Vec::with_capacity(rows.len()),
        };
        if says == Says::Label {
            scan.uncertainty = vec![0.0; rows.len()];
            scan.starts = (0..=rows.len() as u32).collect();
            scan.channels = rows.iter().map(|(row, _)| points.label[*row as usize]).collect();
            scan.weights = vec![1.0; rows.len()];
            return scan;
        }
        let parts: Vec<Part> = rows
            .par_chunks(CHUNK)
            .map(|rows| {
                let mut part = Part::default();
                rows.iter().for_each(|(row, _)| part.push(points, *row as usize, says));
                part
            })
            .collect();
        for part in parts {
            let begin = scan.channels.len() as u32;
            scan.starts.extend(part.ends.iter().map(|end| begin + end));
            scan.channels.extend_from_slice(&part.channels);
            scan.weights.extend_from_slice(&part.weights);
            scan.uncertainty.extend_from_slice(&part.uncertainty);
        }
        scan
    }

    /// Channels of a point with their weights.
    #[inline(always)]
    pub(crate) fn said(&self, point: usize) -> (&[u16], &[f32]) {
        let range = self.starts[point] as usize..self.starts[point + 1] as usize;
        (&self.channels[range.clone()], &self.weights[range])
    }
}

/// A run of points.
#[derive(Default)]
struct Part {
    ends: Vec<u32>,
    channels: Vec<u16>,
    weights: Vec<f32>,
    uncertainty: Vec<f32>,
}

impl Part {
    fn push(&mut self, points: &EvidentialPoints, row: usize, says: Says) {
        let u = points.uncertainty(row);
        let odds = points.odds(row);
        for (class, odds) in odds.iter().enumerate().filter(|(_, odds)| **odds > 0.0) {
            self.channels.push(class as u16);
            self.weights.push((f64::from(*odds) * u) as f32);
        }
        if says == Says::Opinion {
            self.channels.push(points.classes as u16);
            self.weights.push(u as f32);
        }
        self.ends.push(self.channels.len() as u32);
        self.uncertainty.push(u as f32);
    }
}
