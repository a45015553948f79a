//! The mapper behind every baseline: select points, add them to the voxels by the rule, answer from the voxels.

use std::sync::Arc;
use std::time::Instant;

use e2bki::config::Config;
use e2bki::{Beliefs, Cells, ClassSet, Error, EvidentialPoints, Frame, FrameReport, Result, Voxels};
use rayon::prelude::*;

use crate::grid::Grid;
use crate::lattice::{Lattice, Place};
use crate::options::BuildOptions;
use crate::rule::Rule;
use crate::scan::Scan;
use crate::select;

/// A voxel map with its rule.
#[derive(Debug, Clone)]
pub(crate) struct VoxelMapper {
    classes: ClassSet,
    config: Config,
    options: BuildOptions,
    rule: Rule,
    solid: Grid,
    planar: Option<Grid>,
    pool: Option<Arc<rayon::ThreadPool>>,
}

impl VoxelMapper {
    pub(crate) fn new(classes: ClassSet, config: &Config, options: BuildOptions, rule: Rule) -> Result<Self> {
        config.check()?;
        select::check(options.thinning)?;
        if options.occupied_mass.is_nan() || options.occupied_mass < 0.0 {
            return Err(Error::BadValue {
                key: "occupied_mass".into(),
                found: options.occupied_mass.to_string(),
                allowed: "0 or more".into(),
            });
        }
        let pool = match config.run.threads {
            0 => None,
            threads => Some(Arc::new(
                rayon::ThreadPoolBuilder::new()
                    .num_threads(threads)
                    .build()
                    .map_err(|e| Error::Unsupported(format!("cannot start {threads} threads: {e}")))?,
            )),
        };
        let grid = |planar| Grid::new(Lattice { resolution: config.views.resolution, planar, shift: rule.shift() });
        let (solid, planar) = (grid(false), options.bev.then(|| grid(true)));
        let config = if options.context { config.clone() } else { plain(config) };
        Ok(Self { classes, config, options, rule, solid, planar, pool })
    }

    pub(crate) fn classes(&self) -> &ClassSet {
        &self.classes
    }

    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    pub(crate) fn insert(&mut self, frame: &Frame<'_>) -> Result<FrameReport> {
        frame.check(self.classes.len())?;
        match self.pool.clone() {
            Some(pool) => pool.install(|| self.insert_here(frame)),
            None => self.insert_here(frame),
        }
    }

    fn insert_here(&mut self, frame: &Frame<'_>) -> Result<FrameReport> {
        // 1. and 2. Check every value and make every point an opinion.
        let (points, mut report) = EvidentialPoints::from_frame(frame, self.classes.len(), &self.config)?;

        // 3. Choose the points, find their voxels, and take from their opinions what the rule asks for.
        let start = Instant::now();
        let gate = self.rule.is_gated().then_some(&self.config);
        let lattice = &self.solid.lattice;
        let selected = select::select(&points, &frame.world_from_sensor, lattice, gate, self.options.thinning);
        let scan = Scan::new(&points, &selected.rows, self.rule.says());
        report.kept -= selected.outside;
        report.dropped.too_far += selected.outside;
        report.gated = selected.gated;
        report.clusters = selected.rows.len();
        report.timings.cluster = start.elapsed();

        // 4. Add them to the voxels, and to the cells of the plane.
        let start = Instant::now();
        report.voxels_updated = self.rule.update(&mut self.solid, &scan, &scan.places);
        if let Some(planar) = &mut self.planar {
            let flat: Vec<Place> = scan.places.iter().map(|place| place.flat()).collect();
            self.rule.update(planar, &scan, &flat);
        }
        report.timings.view = start.elapsed();
        Ok(report)
    }

    pub(crate) fn query(&self, points: &[[f64; 3]]) -> Beliefs {
        self.beliefs_at(&self.solid, points)
    }

    pub(crate) fn query_bev(&self, points: &[[f64; 2]]) -> Result<Beliefs> {
        let points: Vec<[f64; 3]> = points.iter().map(|p| [p[0], p[1], 0.0]).collect();
        Ok(self.beliefs_at(self.plane()?, &points))
    }

    pub(crate) fn voxels(&self) -> Voxels {
        let (centers, beliefs) = self.beliefs_of(&self.solid);
        Voxels { resolution: self.config.views.resolution, centers, beliefs }
    }

    pub(crate) fn bev(&self) -> Result<Cells> {
        let (centers, beliefs) = self.beliefs_of(self.plane()?);
        let centers = centers.into_iter().map(|c| [c[0], c[1]]).collect();
        Ok(Cells { resolution: self.config.views.resolution, centers, beliefs })
    }

    pub(crate) fn byte_size(&self) -> usize {
        self.solid.byte_size() + self.planar.as_ref().map_or(0, Grid::byte_size)
    }

    fn plane(&self) -> Result<&Grid> {
        self.planar.as_ref().ok_or_else(|| {
            Error::Unsupported(
                "this map keeps no bird's-eye view; build it with `BuildOptions { bev: true, .. }` to have one".into(),
            )
        })
    }

    fn stride(&self) -> usize {
        self.classes.len() + 2
    }

    /// Writes what a voxel says into a row of zeros; nothing where it holds too little to be occupied.
    fn belief(&self, channels: &[u16], sums: &[f32], row: &mut [f32]) {
        self.rule.belief(channels, sums, row);
        if row[self.classes.len()] < self.options.occupied_mass {
            row.fill(0.0);
        }
    }

    fn beliefs(&self, rows: Vec<f32>) -> Beliefs {
        Beliefs::from_sums(self.classes.len(), self.config.kernel.prior, self.rule.sparsity(&self.config), rows)
    }

    fn beliefs_at(&self, grid: &Grid, points: &[[f64; 3]]) -> Beliefs {
        let mut rows = vec![0.0; points.len() * self.stride()];
        let mut write = || {
            rows.par_chunks_mut(self.stride()).zip(points).with_min_len(1024).for_each(|(row, point)| {
                if let Some((channels, sums)) = grid.at(*point) {
                    self.belief(channels, sums, row);
                }
            });
        };
        match &self.pool {
            Some(pool) => pool.install(write),
            None => write(),
        }
        self.beliefs(rows)
    }

    fn beliefs_of(&self, grid: &Grid) -> (Vec<[f64; 3]>, Beliefs) {
        let (mut centers, mut rows) = (Vec::new(), Vec::new());
        let mut row = vec![0.0; self.stride()];
        for (center, channels, sums) in grid.iter() {
            row.fill(0.0);
            self.belief(channels, sums, &mut row);
            if row[self.classes.len()] > 0.0 {
                centers.push(center);
                rows.extend_from_slice(&row);
            }
        }
        (centers, self.beliefs(rows))
    }
}

/// The configuration without what is E2-BKI's alone: these methods take every point at its word.
pub(crate) fn plain(config: &Config) -> Config {
    config.clone().with(|c| {
        c.input.context = 0.0;
        c.input.class_trust = 0.0;
    })
}
