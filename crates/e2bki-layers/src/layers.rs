//! The layers of a grid, computed from a map and kept up to date with it.

use e2bki::free::State;
use e2bki::{Beliefs, Mapper, Moment, SemanticMapper};
use rayon::prelude::*;

use crate::cell::Cell;
use crate::costs::ClassCosts;
use crate::error::Result;
use crate::grid::Grid;
use crate::ground::{self, Floor, RowSums};
use crate::obstacle::Standing;
use crate::robot::Robot;
use crate::surfel::{self, Gone};
use crate::tiles::Tiles;
use crate::traverse::{Geometry, tempered, traversability};

/// What a grid is computed for.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The robot.
    pub robot: Robot,
    /// Costs of the map's classes.
    pub costs: ClassCosts,
    /// Surfaces of fewer points do not count as obstacles.
    pub min_points: f32,
}

impl Settings {
    /// Settings for a robot and the costs of a map's classes.
    pub fn new(robot: Robot, costs: ClassCosts) -> Self {
        Self { robot, costs, min_points: 2.0 }
    }
}

/// What bringing layers up to date took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refreshed {
    /// Cells that were computed anew.
    pub cells: usize,
    /// Whether that was all of them.
    pub everything: bool,
}

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
    rows: Vec<RowSums>,
    moment: Option<Moment>,
}

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
        let (gone, mut layers) = (Gone::of(map), Self::empty(grid, settings, map.classes().len()));
        for (block, surfel) in surfel::as_believed(map, method, &gone, &layers.settings.costs)? {
            layers.tiles.add(block, surfel);
        }
        let all = vec![true; layers.tiles.len()];
        layers.compute(&all, &all, &|places| Ok(method.query(places)?), false, &|_| None)?;
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
        let tiles = Tiles::of(&grid);
        Self {
            settings,
            classes,
            cells: vec![Cell::UNKNOWN; grid.len()],
            probability: vec![0.0; grid.len() * classes],
            sample: vec![f32::NAN; grid.len()],
            floors: vec![Floor::NONE; tiles.len()],
            ground: vec![f32::NAN; grid.len()],
            rows: vec![RowSums::default(); grid.len()],
            moment: None,
            tiles,
            grid,
        }
    }

    /// Brings the layers up to date with a map: only what changed since the last time is computed anew, with the same
    /// result as computing everything. A map that knows of free space is computed in full, since any beam may free any
    /// cell.
    pub fn refresh(&mut self, map: &Mapper) -> Result<Refreshed> {
        surfel::check(map.classes(), &self.settings.costs)?;
        let gone = Gone::of(map);
        let since = self.moment.as_ref().filter(|moment| map.has_been_at(moment) && !gone.is_known());
        let changes = since.map(|moment| map.changes_since(moment.number())).filter(|changes| !changes.everything);
        let query = |places: &[[f64; 3]]| Ok(map.query(places));
        let height = self.settings.robot.height;
        let free = |at: [f64; 3]| gone.is_known().then(|| gone.is_free([at[0], at[1], at[2] + 0.5 * height]));
        let refreshed = match changes {
            None => {
                self.tiles.clear();
                for (block, surfel) in surfel::of_primitives(map.primitives(), &gone, &self.settings.costs) {
                    self.tiles.add(block, surfel);
                }
                let all = vec![true; self.tiles.len()];
                self.compute(&all, &all, &query, true, &free)?
            }
            Some(changes) => {
                let mut surfaces = vec![false; self.tiles.len()];
                let mut views = surfaces.clone();
                for change in &changes.blocks {
                    if let Some(tile) = self.tiles.of_block(change.block).filter(|_| change.primitives) {
                        surfaces[tile] = true;
                        let there = map.primitives_in_blocks(change.block, change.block);
                        let there = surfel::of_primitives(there, &gone, &self.settings.costs);
                        self.tiles.put(change.block, there.into_iter().map(|(_, surfel)| surfel).collect());
                    }
                    if let Some((low, high)) = change.views {
                        self.tiles.mark(&mut views, low, high);
                    }
                }
                self.compute(&surfaces, &views, &query, true, &free)?
            }
        };
        self.moment = Some(map.moment());
        Ok(refreshed)
    }

    /// Computes everything that depends on marked tiles. Each step reads what the one before it wrote one tile farther.
    fn compute(
        &mut self,
        surfaces: &[bool],
        views: &[bool],
        query: &dyn Fn(&[[f64; 3]]) -> Result<Beliefs>,
        calibrated: bool,
        free: &(dyn Fn([f64; 3]) -> Option<bool> + Sync),
    ) -> Result<Refreshed> {
        let everything = surfaces.iter().all(|marked| *marked);
        let covered = self.tiles.grown(surfaces);
        self.find_samples(&marked(&covered));
        let admitted = self.tiles.grown(&covered);
        self.admit_ground(&marked(&admitted));
        let fitted = self.tiles.grown(&admitted);
        self.fit_ground(&marked(&fitted));
        let mut last = self.tiles.grown(&fitted);
        last.iter_mut().zip(views).for_each(|(last, view)| *last |= *view);
        let last = marked(&last);
        self.find_obstacles(&last);
        let cells = self.ask(&last, query, calibrated, free)?;
        Ok(Refreshed { cells, everything })
    }

    /// Runs over tiles in parallel and puts what comes of their cells into place.
    fn each<T: Send>(
        &mut self,
        tiles: &[usize],
        of_tile: impl Fn(&Self, usize) -> Vec<T> + Sync,
        mut put: impl FnMut(&mut Self, usize, T),
    ) {
        // A bounded number of tiles at a time: what is computed waits in memory to be put into place.
        for part in tiles.chunks(4096) {
            let found: Vec<Vec<T>> = part.par_iter().with_min_len(8).map(|tile| of_tile(self, *tile)).collect();
            for (tile, values) in part.iter().zip(found) {
                let patch = self.tiles.cells(&self.grid, *tile);
                for (cell, value) in patch.iter().zip(values) {
                    put(self, cell, value);
                }
            }
        }
    }

    fn find_samples(&mut self, tiles: &[usize]) {
        let lowest = |layers: &Self, tile: usize| {
            let patch = layers.tiles.cells(&layers.grid, tile);
            let mut found = vec![f32::NAN; patch.len()];
            for surfel in layers.tiles.surfels_near(tile).filter(|surfel| surfel.lethal < 0.5) {
                surfel.cover(&layers.grid, |cell, height, _| {
                    if let Some(k) = patch.find(cell) {
                        found[k] = found[k].min(height as f32);
                    }
                });
            }
            found
        };
        self.each(tiles, lowest, |layers, cell, height| layers.sample[cell] = height);
        for tile in tiles {
            let patch = self.tiles.cells(&self.grid, *tile);
            let samples = patch.iter().filter(|cell| self.sample[*cell].is_finite());
            self.floors[*tile] = samples.fold(Floor::NONE, |floor, cell| {
                if self.sample[cell] < floor.height {
                    Floor { at: self.grid.center(cell).map(|v| v as f32), height: self.sample[cell] }
                } else {
                    floor
                }
            });
        }
    }

    fn admit_ground(&mut self, tiles: &[usize]) {
        let admitted = |layers: &Self, tile: usize| {
            let floors: Vec<&Floor> = layers.tiles.around(tile).map(|other| &layers.floors[other]).collect();
            let patch = layers.tiles.cells(&layers.grid, tile);
            let one = |cell: usize| {
                let (at, height) = (layers.grid.center(cell).map(|v| v as f32), layers.sample[cell]);
                if floors.iter().all(|floor| floor.admits(at, height)) { height } else { f32::NAN }
            };
            patch.iter().map(one).collect()
        };
        self.each(tiles, admitted, |layers, cell, height| layers.ground[cell] = height);
    }

    fn fit_ground(&mut self, tiles: &[usize]) {
        let half = ground::half_window(&self.grid);
        let rows = |layers: &Self, tile: usize| {
            let patch = layers.tiles.cells(&layers.grid, tile);
            patch.iter().map(|cell| ground::row_sums(&layers.grid, &layers.ground, cell, half)).collect()
        };
        self.each(tiles, rows, |layers, cell, sums| layers.rows[cell] = sums);
        let fits = |layers: &Self, tile: usize| {
            let patch = layers.tiles.cells(&layers.grid, tile);
            patch.iter().map(|cell| Cell::of_ground(ground::fit(&layers.grid, &layers.rows, cell, half))).collect()
        };
        self.each(tiles, fits, |layers, cell, fitted: Cell| {
            let known = &mut layers.cells[cell];
            (known.height, known.height_std) = (fitted.height, fitted.height_std);
            (known.slope, known.slope_std, known.roughness) = (fitted.slope, fitted.slope_std, fitted.roughness);
        });
    }

    /// Steps between a cell's ground and that of the cells around it, with the plane taken out.
    fn step(&self, cell: usize) -> f32 {
        let off = |cell: usize| self.ground[cell] - self.cells[cell].height;
        let own = off(cell);
        let (width, rows) = (self.grid.size[0], self.grid.size[1]);
        let (column, row) = (cell % width, cell / width);
        let mut highest = f32::NAN;
        for y in row.saturating_sub(1)..(row + 2).min(rows) {
            for x in column.saturating_sub(1)..(column + 2).min(width) {
                let difference = (off(y * width + x) - own).abs();
                if difference.is_finite() && y * width + x != cell {
                    highest = highest.max(difference);
                }
            }
        }
        highest
    }

    fn find_obstacles(&mut self, tiles: &[usize]) {
        let standing = |layers: &Self, tile: usize| {
            let patch = layers.tiles.cells(&layers.grid, tile);
            let mut found = vec![Standing::NOTHING; patch.len()];
            let settings = &layers.settings;
            // Where no ground is known, as below a crown, the lowest around tells what hangs too high to block.
            let floor =
                layers.tiles.around(tile).map(|other| layers.floors[other].height).fold(f32::INFINITY, f32::min);
            let floor = if floor.is_finite() { floor } else { f32::NAN };
            for surfel in layers.tiles.surfels_near(tile).filter(|surfel| surfel.points >= settings.min_points) {
                surfel.cover(&layers.grid, |cell, height, half| {
                    if let Some(k) = patch.find(cell) {
                        let known = layers.cells[cell].height;
                        let ground = f64::from(if known.is_finite() { known } else { floor });
                        found[k].add(height - half - ground, height + half - ground, surfel.lethal, &settings.robot);
                    }
                });
            }
            patch.iter().zip(found).map(|(cell, standing)| (layers.step(cell), standing)).collect()
        };
        self.each(tiles, standing, |layers, cell, (step, standing)| {
            let known = &mut layers.cells[cell];
            known.step = step;
            known.obstacle = standing.probability;
            (known.obstacle_low, known.obstacle_high) = standing.range();
            known.overhang = standing.overhang();
        });
    }

    /// Classes at the ground, and all that follows from them.
    fn ask(
        &mut self,
        tiles: &[usize],
        query: &dyn Fn(&[[f64; 3]]) -> Result<Beliefs>,
        calibrated: bool,
        free: &(dyn Fn([f64; 3]) -> Option<bool> + Sync),
    ) -> Result<usize> {
        let mut count = 0;
        let all: Vec<usize> = tiles.iter().flat_map(|tile| self.tiles.cells(&self.grid, *tile).iter()).collect();
        for part in all.chunks(1 << 18) {
            let place = |cell: &usize| {
                let [x, y] = self.grid.center(*cell);
                [x, y, f64::from(self.cells[*cell].height)]
            };
            let asked: Vec<usize> = part.iter().copied().filter(|cell| self.cells[*cell].height.is_finite()).collect();
            let places: Vec<[f64; 3]> = asked.iter().map(place).collect();
            let beliefs = query(&places)?;
            let mut rows = vec![0.0_f32; asked.len() * self.classes];
            let done: Vec<Cell> = rows
                .par_chunks_mut(self.classes)
                .enumerate()
                .with_min_len(1024)
                .map(|(k, row)| self.judged(asked[k], (&beliefs, k), row, calibrated, free(places[k])))
                .collect();
            for cell in part {
                let known = self.cells[*cell];
                if !known.height.is_finite() {
                    self.cells[*cell] = known.without_ground();
                    self.probability[cell * self.classes..][..self.classes].fill(0.0);
                }
            }
            for ((cell, value), row) in asked.iter().zip(done).zip(rows.chunks_exact(self.classes)) {
                self.cells[*cell] = value;
                self.probability[cell * self.classes..][..self.classes].copy_from_slice(row);
            }
            count += part.len();
        }
        Ok(count)
    }

    /// A cell with the belief at its ground; the probabilities of its classes go to `row`.
    fn judged(
        &self,
        cell: usize,
        (beliefs, place): (&Beliefs, usize),
        row: &mut [f32],
        calibrated: bool,
        free: Option<bool>,
    ) -> Cell {
        let mut known = self.cells[cell];
        let belief = beliefs.get(place);
        if belief.observed() {
            row.iter_mut().zip(beliefs.expectation(place)).for_each(|(to, p)| *to = p as f32);
        } else {
            row.fill(1.0 / self.classes.max(1) as f32);
        }
        if let Some(label) = belief.label().filter(|_| calibrated) {
            tempered(row, label, belief.uncertainty());
        }
        known.class = belief.label().map_or(-1, |label| label as i32);
        known.confidence = belief.label().map_or(0.0, |label| row[label]);
        (known.u_sem, known.u_spa) = (belief.semantic_uncertainty() as f32, belief.spatial_uncertainty() as f32);
        known.u = belief.uncertainty() as f32;
        let geometry = Geometry {
            slope: f64::from(known.slope),
            slope_std: f64::from(known.slope_std),
            step: f64::from(known.step),
            roughness: f64::from(known.roughness),
            obstacle: f64::from(known.obstacle),
        };
        let found = traversability(&geometry, row, &self.settings.costs, &self.settings.robot);
        (known.lethal, known.cost) = (found.lethal as f32, found.cost as f32);
        (known.cost_std, known.risk_cost) = (found.cost_std as f32, found.risk_cost as f32);
        let seen = self.ground[cell].is_finite() || free.unwrap_or(known.slope.is_finite());
        known.state = match (known.lethal >= 0.5, belief.observed() && seen) {
            (true, _) => State::Occupied,
            (false, true) => State::Free,
            (false, false) => State::Unknown,
        };
        known
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

fn marked(marks: &[bool]) -> Vec<usize> {
    (0..marks.len()).filter(|tile| marks[*tile]).collect()
}
