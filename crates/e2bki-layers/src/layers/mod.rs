//! The layers of a grid, computed from a map and kept up to date with it.

mod due;
mod follow;
mod judge;
mod late;
mod marks;
mod settings;
mod standing;
mod surface;

use std::sync::Arc;

use e2bki::{Beliefs, Mapper, Moment, SemanticMapper};

pub use settings::{Area, Refreshed, Settings};

use crate::cell::Cell;
use crate::error::Result;
use crate::grid::Grid;
use crate::ground::{Floor, RowSums};
use crate::surfel;
use crate::tiles::Tiles;
use due::{Due, Wanted};
use late::Late;
use marks::{Marks, Spare};

/// Layers of a grid: a [`Cell`] and the probabilities of the classes for every cell, rows from south to north.
#[derive(Debug, Clone)]
pub struct Layers {
    grid: Grid,
    settings: Settings,
    classes: usize,
    cells: Vec<Cell>,
    probability: Vec<f32>,
    tiles: Tiles,
    /// Lowest traversable surface of every cell.
    sample: Vec<f32>,
    /// The lowest of these in every tile.
    floors: Vec<Floor>,
    /// Those of the samples that are ground.
    ground: Vec<f32>,
    /// Heights of the cells, once more: for steps, which look at the cells around.
    heights: Vec<f32>,
    rows: Vec<RowSums>,
    /// What is out of date with the map.
    late: Late,
    /// What every step has still to do, of what was taken over.
    due: Due,
    /// Memory for marks.
    spare: Arc<Spare>,
    /// The first second of the map.
    begin: Option<u32>,
    moment: Option<Moment>,
}

/// Whom beliefs are asked of, and how they are read.
struct Asked<'a> {
    query: &'a dyn Fn(&[[f64; 3]]) -> Result<Beliefs>,
    /// Whether the most likely class has the probability 1 − u.
    calibrated: bool,
    free: Free<'a>,
}

/// Says whether a place was seen through, if the map knows that.
type Free<'a> = &'a (dyn Fn([f64; 3]) -> Option<bool> + Sync);

/// Where beliefs can differ: the range of heights, by tile.
type Views = Vec<[f32; 2]>;

/// Nowhere.
const NOWHERE: [f32; 2] = [f32::INFINITY, f32::NEG_INFINITY];

impl Layers {
    /// The layers of a map.
    pub fn of(map: &Mapper, grid: Grid, settings: Settings) -> Result<Self> {
        surfel::check(map.classes(), &settings.costs)?;
        let mut layers = Self::empty(grid, settings, map.classes().len());
        layers.refresh(map)?;
        Ok(layers)
    }

    /// The same surfaces, of the classes that another method believes in, by its own expectations: to compare methods on one
    /// footing.
    pub fn as_believed(map: &Mapper, method: &dyn SemanticMapper, grid: Grid, settings: Settings) -> Result<Self> {
        surfel::check(map.classes(), &settings.costs)?;
        surfel::check(method.classes(), &settings.costs)?;
        let mut layers = Self::empty(grid, settings, map.classes().len());
        let surfels = surfel::as_believed(map, method, &layers.settings, &layers.grid, &layers.tiles)?;
        layers.tiles.put_all(&surfels);
        let asked = Asked { query: &|places| Ok(method.query(places)?), calibrated: false, free: &|_: [f64; 3]| None };
        layers.compute_all(&asked)?;
        Ok(layers)
    }

    /// Layers of cells that come from elsewhere, as from a simulator: to plan on them, or to write them. They follow no map.
    pub fn from_cells(grid: Grid, settings: Settings, cells: Vec<Cell>) -> Result<Self> {
        if cells.len() != grid.len() {
            return Err(crate::Error::Refused(format!("{} cells for a grid of {}", cells.len(), grid.len())));
        }
        let classes = settings.costs.len();
        Ok(Self { cells, ..Self::empty(grid, settings, classes) })
    }

    fn empty(grid: Grid, settings: Settings, classes: usize) -> Self {
        let (tiles, spare) = (Tiles::of(&grid), Arc::default());
        Self {
            settings,
            classes,
            cells: vec![Cell::UNKNOWN; grid.len()],
            probability: vec![0.0; grid.len() * classes],
            sample: vec![f32::NAN; grid.len()],
            floors: vec![Floor::NONE; tiles.len()],
            ground: vec![f32::NAN; grid.len()],
            heights: vec![f32::NAN; grid.len()],
            rows: vec![RowSums::default(); grid.len()],
            late: Late::none(&grid, &tiles),
            due: Due::nothing(&grid, &spare),
            spare,
            begin: None,
            moment: None,
            tiles,
            grid,
        }
    }

    fn compute_all(&mut self, asked: &Asked<'_>) -> Result<(usize, usize)> {
        self.late.clear();
        self.late.doubt_all();
        self.due = Due::nothing(&self.grid, &self.spare);
        self.compute(&Marks::all(&self.grid, &self.spare), asked, &Area::Everywhere)
    }

    /// Computes what an area shows of cells whose surfaces changed, and of beliefs. Each step says which of its results are others than
    /// before, and the next one starts from these alone, and from what it left undone. Returns how many cells were judged, and asked about.
    fn compute(&mut self, touched: &Marks, asked: &Asked<'_>, area: &Area) -> Result<(usize, usize)> {
        let wanted = Wanted::of(area, &self.grid, &self.tiles, &self.spare);
        let (samples, floors) = self.find_samples(touched, &wanted);
        let (admitted, mut changed) = self.admit_ground(samples, &floors, &wanted);
        let (raised, tilted) = self.fit_ground(&admitted, &wanted);
        changed.join(&tilted);
        changed.join(&self.find_obstacles(touched, &floors, admitted, &raised, &wanted));
        if touched.everything {
            changed = touched.clone();
        }
        let changed = self.due.costs.take_with(&changed, &wanted.read);
        self.judge(&raised, changed, asked, area)
    }

    /// The time of the map's first frame, whole seconds, from which [`Cell::last_seen`] counts; nothing in a map that does not know
    /// when places were seen.
    pub fn begin(&self) -> Option<f64> {
        self.begin.map(f64::from)
    }

    /// Number of the map's change up to which they are right; nothing where they follow no map.
    pub fn number(&self) -> Option<u64> {
        self.moment.as_ref().map(Moment::number)
    }

    /// Whether a cell may be as an earlier state of the map has it, since nobody wanted to read it; see [`Self::refresh_within`].
    pub fn is_waiting(&self, cell: usize) -> bool {
        self.late.has(self.tiles.of_cell(cell % self.grid.size[0], cell / self.grid.size[0]))
    }

    /// Where the cells are.
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// What the layers were computed for.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The cells, row by row from south to north.
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// Number of classes.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// Probability of every class in a cell; zeros where there is no ground.
    pub fn probability(&self, cell: usize) -> &[f32] {
        &self.probability[cell * self.classes..][..self.classes]
    }

    /// One layer by name (see [`crate::LAYERS`]), row by row from south to north.
    pub fn layer(&self, name: &str) -> Option<Vec<f32>> {
        let (_, _, _, value) = crate::LAYERS.iter().find(|(known, ..)| *known == name)?;
        Some(self.cells.iter().map(value).collect())
    }
}
