//! Training samples: the true classes of one frame, and the binned probabilities around them from the last frames.
//!
//! A filter's value depends on two distances only: 6 across (i² + j² for |i|, |j| ≤ 2) and 3 up. So a place keeps its
//! neighbours' probabilities summed by ring, 18 rows of C values, and every later pass over the sample is a product.

use std::borrow::Cow;
use std::collections::VecDeque;

use e2bki::{ClassSet, Config, Error, EvidentialPoints, Frame, Pose, Result};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::train::TrainOptions;
use crate::lattice::{Lattice, pack, unpack};
use crate::mapper::plain;
use crate::rules::FILTER_REACH;

/// Squares of the distances across, in voxels.
pub(super) const ACROSS: [i32; 6] = [0, 1, 2, 4, 5, 8];

/// Distances up, in voxels.
pub(super) const UP: usize = 3;

/// Rings of a filter.
pub(super) const RINGS: usize = ACROSS.len() * UP;

/// One training sample. Made by [`Window::push`].
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    pub(super) classes: usize,
    pub(super) resolution: f64,
    pub(super) prior: f64,
    /// For every place, for every ring, Σ p of every class.
    pub(super) rings: Vec<f32>,
    /// For every place, the number of points of every true class.
    pub(super) truth: Vec<f32>,
    /// Points of every true class in the frame, places left out included.
    pub(super) counts: Vec<u64>,
}

impl Sample {
    /// Number of voxels whose class is known.
    pub fn places(&self) -> usize {
        self.truth.len() / self.classes.max(1)
    }
}

/// Where training samples come from: a slice of them, or something that makes them when asked.
pub trait SampleSource {
    /// Number of samples.
    fn count(&self) -> usize;

    /// A sample.
    fn sample(&self, index: usize) -> Result<Cow<'_, Sample>>;
}

impl SampleSource for [Sample] {
    fn count(&self) -> usize {
        self.len()
    }

    fn sample(&self, index: usize) -> Result<Cow<'_, Sample>> {
        Ok(Cow::Borrowed(&self[index]))
    }
}

impl SampleSource for Vec<Sample> {
    fn count(&self) -> usize {
        self.len()
    }

    fn sample(&self, index: usize) -> Result<Cow<'_, Sample>> {
        Ok(Cow::Borrowed(&self[index]))
    }
}

/// The last frames of a drive, from which samples are made.
#[derive(Debug, Clone)]
pub struct Window {
    classes: usize,
    config: Config,
    options: TrainOptions,
    frames: VecDeque<(EvidentialPoints, Pose)>,
}

impl Window {
    /// An empty window. A new drive needs a new window.
    pub fn new(classes: &ClassSet, config: &Config, options: &TrainOptions) -> Result<Self> {
        config.check()?;
        options.check()?;
        Ok(Self { classes: classes.len(), config: plain(config), options: *options, frames: VecDeque::new() })
    }

    /// Adds a frame with the true class of every point (an id of C or more means unknown), and makes a sample of it and
    /// the frames before it, in the coordinates of its sensor.
    pub fn push(&mut self, frame: &Frame<'_>, truth: &[u32]) -> Result<Sample> {
        if truth.len() != frame.points.len() {
            let why = format!("one per point, {} points", frame.points.len());
            return Err(Error::Length { field: "truth", found: truth.len(), expected: frame.points.len(), why });
        }
        let (points, _) = EvidentialPoints::from_frame(frame, self.classes, &self.config)?;
        self.frames.push_back((points, frame.world_from_sensor));
        if self.frames.len() > self.options.window {
            self.frames.pop_front();
        }
        let lattice = Lattice { resolution: self.config.views.resolution, planar: false, shift: 0 };
        let bins = Bins::new(&self.frames, &frame.world_from_sensor.inverse(), &lattice, self.classes);
        let (places, truth, counts) = self.targets(frame, truth, &lattice);
        let mut rings = vec![0.0; places.len() * RINGS * self.classes];
        rings
            .par_chunks_mut(RINGS * self.classes)
            .zip(&places)
            .with_min_len(64)
            .for_each(|(rings, place)| bins.sum_rings(*place, rings));
        let (resolution, prior) = (self.config.views.resolution, self.config.kernel.prior);
        Ok(Sample { classes: self.classes, resolution, prior, rings, truth, counts })
    }

    /// Voxels with known classes, what they are, and the points of each class in the whole frame.
    fn targets(&self, frame: &Frame<'_>, truth: &[u32], lattice: &Lattice) -> (Vec<[i32; 3]>, Vec<f32>, Vec<u64>) {
        let mut counts = vec![0; self.classes];
        let mut known: Vec<u128> = Vec::new();
        for (point, class) in frame.points.iter().zip(truth).filter(|(_, class)| (**class as usize) < self.classes) {
            let position = point.map(f64::from);
            let range = position.iter().map(|v| v * v).sum::<f64>().sqrt();
            let Some(place) = lattice.place(position) else { continue };
            if (self.config.input.min_range..=self.config.input.max_range).contains(&range) && range > 0.0 {
                counts[*class as usize] += 1;
                known.push(pack(place.voxel, *class));
            }
        }
        known.sort_unstable();
        let voxels: Vec<&[u128]> = known.chunk_by(|a, b| a >> 32 == b >> 32).collect();
        // Spread evenly if there are too many.
        let step = voxels.len().div_ceil(self.options.most_places).max(1);
        let mut places = Vec::new();
        let mut rows = Vec::new();
        for voxel in voxels.iter().step_by(step) {
            let begin = rows.len();
            rows.resize(begin + self.classes, 0.0);
            for packed in *voxel {
                rows[begin + *packed as u32 as usize] += 1.0;
            }
            places.extend(voxel.first().map(|packed| unpack(*packed).0));
        }
        (places, rows, counts)
    }
}

/// Σ p of the points of all frames by voxel.
struct Bins {
    classes: usize,
    rows: FxHashMap<[i32; 3], u32>,
    sums: Vec<f32>,
}

impl Bins {
    fn new(
        frames: &VecDeque<(EvidentialPoints, Pose)>,
        sensor_from_world: &Pose,
        lattice: &Lattice,
        classes: usize,
    ) -> Self {
        let mut bins = Self { classes, rows: FxHashMap::default(), sums: Vec::new() };
        for (points, world_from_sensor) in frames {
            for (i, position) in points.position.iter().enumerate() {
                let position = sensor_from_world.apply(world_from_sensor.apply(position.map(f64::from)));
                let Some(place) = lattice.place(position) else { continue };
                let next = bins.rows.len() as u32;
                let row = *bins.rows.entry(place.voxel).or_insert(next);
                if row == next {
                    bins.sums.resize(bins.sums.len() + classes, 0.0);
                }
                let u = points.uncertainty(i);
                let odds = points.odds(i);
                for (sum, odds) in bins.sums[row as usize * classes..][..classes].iter_mut().zip(odds) {
                    *sum += (u * (f64::from(*odds) + 1.0 / classes as f64)) as f32;
                }
            }
        }
        bins
    }

    fn sum_rings(&self, place: [i32; 3], rings: &mut [f32]) {
        let reach = -FILTER_REACH..=FILTER_REACH;
        for z in reach.clone() {
            for y in reach.clone() {
                for x in reach.clone() {
                    let Some(row) = self.rows.get(&[place[0] + x, place[1] + y, place[2] + z]) else { continue };
                    let across = ACROSS.iter().position(|square| *square == x * x + y * y).unwrap_or(0);
                    let ring = across * UP + z.unsigned_abs() as usize;
                    let sums = &self.sums[*row as usize * self.classes..][..self.classes];
                    rings[ring * self.classes..].iter_mut().zip(sums).for_each(|(ring, sum)| *ring += sum);
                }
            }
        }
    }
}
