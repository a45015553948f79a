//! What planners want: layers of the ground and what driving there costs a robot, around it, kept up to date with the map.

use std::time::Instant;

use e2bki::Mapper;
use e2bki_bag::compose::{self, Layers as Message};
use e2bki_layers::{Area, Grid, LAYERS, Layer, Layers, Planner, Refreshed, Result, Settings};

use crate::account::Account;
use crate::outlet::Output;
use crate::picture::MOST_BYTES;

/// The ground of a cell is judged by what is around it, metres: the edge of a grid is not told of.
const EDGE_M: f64 = 6.0;

/// How far the robot may go before the grid is computed anew around it, as a share of the window's side.
const SLACK: f64 = 0.25;

/// Largest cost of what can be driven on.
const MOST_FREE: f32 = 99.0;

/// A rectangle of the ground: low x and y, high x and y, metres.
pub type Rectangle = [f64; 4];

/// What layers are for.
#[derive(Debug, Clone)]
pub struct PlanningOptions {
    /// The robot, and the costs of the classes.
    pub settings: Settings,
    /// Side of a cell, metres.
    pub cell: f64,
    /// Layers to tell.
    pub layers: Vec<Layer>,
}

impl PlanningOptions {
    /// Layers by their names; all where none is named.
    pub fn layers_of(names: &[String]) -> std::result::Result<Vec<Layer>, String> {
        if names.is_empty() {
            return Ok(LAYERS.to_vec());
        }
        let find = |name: &String| {
            let all = || LAYERS.map(|(known, ..)| known).join(", ");
            let known = LAYERS.into_iter().find(|(known, ..)| known == name);
            known.ok_or_else(|| format!("there is no layer `{name}`; there are {}", all()))
        };
        names.iter().map(find).collect()
    }
}

/// Layers that follow a map and a robot.
#[derive(Debug)]
pub struct Planning {
    options: PlanningOptions,
    layers: Option<Layers>,
    pub(crate) told: Option<Instant>,
    /// Whether the map has changed since they were told.
    pub(crate) pending: bool,
    /// Times that they were computed from nothing, and brought up to date.
    pub from_nothing: u64,
    /// See [`Self::from_nothing`].
    pub refreshed: u64,
}

impl Planning {
    /// Nothing is known yet.
    pub fn new(options: PlanningOptions) -> Self {
        Self { options, layers: None, told: None, pending: false, from_nothing: 0, refreshed: 0 }
    }

    /// The change of the map up to which they are right: what came before may be forgotten.
    pub fn number(&self) -> Option<u64> {
        self.layers.as_ref()?.number()
    }

    /// Brings them up to date in a rectangle, which is about to be told, as far as that looks around. What else the grid has is
    /// computed when the robot gets there.
    pub fn refresh(&mut self, map: &Mapper, window: Rectangle) -> Result<Refreshed> {
        let grown = |by: f64| {
            let [x, y, right, top] = window;
            ([x - by, y - by], [right + by, top + by])
        };
        let covers = |layers: &Layers| {
            let (low, high) = grown(EDGE_M);
            let inside = |place: [f64; 2]| layers.grid().cell(place).is_some();
            inside(low) && inside(high)
        };
        let done = match self.layers.as_mut().filter(|layers| covers(layers)) {
            Some(layers) => {
                let (low, high) = grown(EDGE_M);
                layers.refresh_within(map, &Area::Between(low, high))?
            }
            None => {
                let side = f64::max(window[2] - window[0], window[3] - window[1]);
                let (low, high) = grown(EDGE_M + SLACK * side);
                let grid = Grid::covering(low, high, self.options.cell)?;
                let layers = Layers::of(map, grid, self.options.settings.clone())?;
                let done = Refreshed { cells: grid.len(), asked: 0, waiting: 0, oldest: 0, everything: true };
                self.layers = Some(layers);
                done
            }
        };
        *(if done.everything { &mut self.from_nothing } else { &mut self.refreshed }) += 1;
        Ok(done)
    }

    /// How they are doing, as diagnostics have it.
    pub fn values(&self, account: &Account) -> Vec<(String, String)> {
        let mut values = vec![
            ("layers: from nothing".to_string(), self.from_nothing.to_string()),
            ("layers: brought up to date".to_string(), self.refreshed.to_string()),
        ];
        values.extend(account.no_layers.iter().map(|why| ("layers: none, as".to_string(), why.clone())));
        values
    }

    /// Costs of a rectangle, and as much of the layers around a place as fits into a message.
    pub fn messages(
        &self,
        (stamp, frame, origin): (u64, &str, [f64; 3]),
        window: Rectangle,
        place: [f64; 2],
    ) -> Vec<(Output, Vec<u8>)> {
        let Some(layers) = &self.layers else { return Vec::new() };
        let (grid, cell) = (layers.grid(), self.options.cell);
        let planner = Planner::of(layers);
        let corner_of = |[column, row]: [usize; 2]| {
            let corner = grid.corner();
            [corner[0] + column as f64 * cell - origin[0], corner[1] + row as f64 * cell - origin[1]]
        };
        let cost = |index: usize| match planner.footprint_cost(index) {
            None => -1,
            Some(1.0..) => 100,
            Some(cost) => (MOST_FREE * cost).round().clamp(0.0, MOST_FREE) as i8,
        };
        let (first, size) = part(grid, window);
        let costs: Vec<i8> = cells(grid, first, size).map(cost).collect();
        let [x, y] = corner_of(first);
        let costmap = compose::occupancy_grid(stamp, frame, cell, [x, y, 0.0], size, &costs);

        // A square as large as a message allows, which is nowhere larger than the costs.
        let most = (MOST_BYTES - 4096) / (4 * self.options.layers.len().max(1) + 1);
        let half = 0.5 * cell * ((most as f64).sqrt().floor() - 1.0);
        let [x, y] = place;
        let [left, bottom, right, top] = window;
        let square = [left.max(x - half), bottom.max(y - half), right.min(x + half), top.min(y + half)];
        let inside = square[0] < square[2] && square[1] < square[3];
        let mut told = vec![(Output::Costmap, costmap)];
        if inside {
            let (first, size) = part(grid, square);
            let values = |value: fn(&e2bki_layers::Cell) -> f32| {
                cells(grid, first, size).map(|index| value(&layers.cells()[index])).collect::<Vec<f32>>()
            };
            let values: Vec<(&str, Vec<f32>)> =
                self.options.layers.iter().map(|(name, _, _, value)| (*name, values(*value))).collect();
            let message = Message { resolution: cell, corner: corner_of(first), size, layers: &values };
            told.push((Output::Layers, compose::grid_map(stamp, frame, &message)));
        }
        told
    }
}

/// The part of a grid that a rectangle takes: its first column and row, and its size, always the same for the same sides.
fn part(grid: &Grid, [left, bottom, right, top]: Rectangle) -> ([usize; 2], [usize; 2]) {
    let cell = grid.resolution;
    let first = |low: f64, axis: usize| ((low / cell).floor() as i64 - grid.low[axis]).max(0) as usize;
    let first = [first(left, 0), first(bottom, 1)];
    let first = [first[0].min(grid.size[0] - 1), first[1].min(grid.size[1] - 1)];
    let count = |side: f64, axis: usize| ((side / cell).round().max(1.0) as usize).min(grid.size[axis] - first[axis]);
    (first, [count(right - left, 0), count(top - bottom, 1)])
}

/// Numbers of the cells of a part, row by row from south to north.
fn cells(grid: &Grid, [column, row]: [usize; 2], [width, height]: [usize; 2]) -> impl Iterator<Item = usize> {
    let across = grid.size[0];
    (row..row + height).flat_map(move |row| (column..column + width).map(move |column| row * across + column))
}
