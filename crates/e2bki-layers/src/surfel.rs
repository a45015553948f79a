//! Pieces of surface: what a map holds, as far as layers need it.

use std::ops::Range;

use e2bki::free::{Counters, State};
use e2bki::{ClassSet, Mapper, Primitive, SemanticMapper};
use rayon::prelude::*;

use crate::costs::ClassCosts;
use crate::error::Result;
use crate::grid::Grid;
use crate::layers::Settings;
use crate::tiles::Patch;

/// Half a piece is never taken to be wider than this, metres: so far at most reaches a change.
pub(crate) const SPREAD_M: f64 = 1.0;
/// Half the range of a uniform distribution, in standard deviations: √3.
const HALF_RANGE: f64 = 1.732_050_807_568_877_2;
/// Variance below which a direction of the plane says nothing of a slope, m².
const THIN_M2: f64 = 4e-4;

/// Lengths in the plane, heights, rises and probabilities are whole numbers of one in so many. That is far below their noise, and a
/// piece that was seen often enough stays as it is when it is seen once more.
const PER_METRE: f64 = 64.0;
const PER_METRE_UP: f64 = 256.0;
const PER_RISE: f64 = 64.0;
const PER_SHARE: f32 = 128.0;

fn rounded(value: f64, per_unit: f64) -> f64 {
    (value * per_unit).round() / per_unit
}

/// A piece of surface.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Surfel {
    pub(crate) mean: [f64; 3],
    /// Half its box in the plane, metres.
    half: [f64; 2],
    /// Rise per metre of x and y.
    rise: [f64; 2],
    /// Half its height where it is asked at one place, and in all, metres.
    thick: f64,
    tall: f64,
    /// Probability that it is of a class that is an obstacle.
    pub(crate) lethal: f32,
    /// Whether it has enough points to be an obstacle.
    pub(crate) counts: bool,
}

impl Surfel {
    fn of_primitive(primitive: &Primitive<'_>, settings: &Settings) -> Self {
        let [xx, yy, zz, xy, xz, yz] = primitive.covariance();
        let (a, c) = (xx + THIN_M2, yy + THIN_M2);
        let determinant = a * c - xy * xy;
        let rise = [(xz * c - yz * xy) / determinant, (yz * a - xz * xy) / determinant];
        let left = (zz - rise[0] * xz - rise[1] * yz).max(0.0);
        let half = |variance: f64| rounded((HALF_RANGE * variance.max(0.0).sqrt()).min(SPREAD_M), PER_METRE);
        let rise = rise.map(|rise| rounded(rise, PER_RISE));
        let [x, y, z] = primitive.mean();
        let at = [x, y].map(|v| rounded(v, PER_METRE));
        // On its plane, where the rounded place is.
        let up = z + rise[0] * (at[0] - x) + rise[1] * (at[1] - y);
        Self {
            mean: [at[0], at[1], rounded(up, PER_METRE_UP)],
            half: [half(xx), half(yy)],
            rise,
            thick: rounded(HALF_RANGE * left.sqrt(), PER_METRE_UP),
            tall: rounded(HALF_RANGE * zz.max(0.0).sqrt(), PER_METRE_UP),
            lethal: lethal_share(&settings.costs, primitive.probability().iter().copied()),
            counts: primitive.weight() >= f64::from(settings.min_points),
        }
    }

    /// Whether its box meets a rectangle.
    pub(crate) fn meets(&self, low: [f64; 2], high: [f64; 2]) -> bool {
        (0..2).all(|i| self.mean[i] + self.half[i] >= low[i] && self.mean[i] - self.half[i] <= high[i])
    }

    /// Columns and rows of the cells that it covers: those whose centres are in its box, and the one that holds its mean.
    pub(crate) fn covered(&self, grid: &Grid) -> [Range<usize>; 2] {
        let own = grid.cell([self.mean[0], self.mean[1]]);
        let own = own.map(|cell| [cell % grid.size[0], cell / grid.size[0]]);
        std::array::from_fn(|i| {
            let found = grid.between(i, self.mean[i] - self.half[i], self.mean[i] + self.half[i]);
            // A box that meets no centre still has its own cell.
            own.filter(|_| found.is_empty()).map_or(found, |own| own[i]..own[i] + 1)
        })
    }

    /// Calls for every cell of a patch that it covers, with the cell's number in the patch and in the grid, the height of its
    /// middle there and half of its height.
    pub(crate) fn cover(&self, grid: &Grid, patch: &Patch, mut each: impl FnMut(usize, usize, f64, f64)) {
        let [x, y, z] = self.mean;
        let [columns, rows] = self.covered(grid);
        let both = |a: Range<usize>, b: Range<usize>| a.start.max(b.start)..a.end.min(b.end);
        let (columns, rows) = (both(columns, patch.columns()), both(rows, patch.rows()));
        for row in rows {
            let first = (row - patch.rows().start) * patch.columns().len();
            for column in columns.clone() {
                let cell = row * grid.size[0] + column;
                let [cx, cy] = grid.center(cell);
                let up = (self.rise[0] * (cx - x) + self.rise[1] * (cy - y)).clamp(-self.tall, self.tall);
                each(first + column - patch.columns().start, cell, z + up, self.thick);
            }
        }
    }
}

/// What a map has seen through.
pub(crate) struct Through<'a> {
    counters: Option<&'a Counters>,
    /// The most that a hit counts.
    kappa: f64,
}

impl<'a> Through<'a> {
    pub(crate) fn of(map: &'a Mapper) -> Self {
        let free = &map.config().free_space;
        let weight =
            |class: usize| if map.classes().is_movable(class) { free.movable_weight } else { free.static_weight };
        let kappa = (0..map.classes().len()).map(weight).fold(0.0, f64::max);
        Self { counters: map.free_space().filter(|counters| !counters.is_empty()), kappa }
    }

    /// Whether the map knows of free space at all.
    pub(crate) fn is_known(&self) -> bool {
        self.counters.is_some()
    }

    /// Whether a place was seen through, whatever might be there.
    pub(crate) fn is_free(&self, place: [f64; 3]) -> bool {
        self.counters.is_some_and(|counters| counters.at(place).state(self.kappa) == State::Free)
    }
}

/// Share of obstacles in probabilities of the classes, rounded.
fn lethal_share(costs: &ClassCosts, probability: impl Iterator<Item = f32>) -> f32 {
    (costs.lethal_share(probability) * PER_SHARE).round() / PER_SHARE
}

/// The pieces of a cubic metre of a map, without those that are gone.
pub(crate) fn of_block(map: &Mapper, block: [i32; 3], settings: &Settings) -> Vec<Surfel> {
    let there = map.primitives_in_blocks(block, block).into_iter().filter(|primitive| !primitive.is_gone());
    there.map(|primitive| Surfel::of_primitive(&primitive, settings)).collect()
}

/// The pieces of a map, without those that are gone, by cubic metre.
pub(crate) fn of_map(map: &Mapper, settings: &Settings) -> Vec<([i32; 3], Surfel)> {
    let all: Vec<Primitive<'_>> = map.primitives().filter(|primitive| !primitive.is_gone()).collect();
    let one = |primitive: &Primitive<'_>| (primitive.sums().origin, Surfel::of_primitive(primitive, settings));
    let mut found: Vec<([i32; 3], Surfel)> = all.par_iter().with_min_len(1024).map(one).collect();
    // Stable: within a cubic metre they stay in the order of the map.
    found.par_sort_by_key(|(block, _)| *block);
    found
}

/// The pieces of a map's primitives, of the classes that another method believes in at their middles.
pub(crate) fn as_believed(
    map: &Mapper,
    method: &dyn SemanticMapper,
    settings: &Settings,
) -> Result<Vec<([i32; 3], Surfel)>> {
    let mut all = of_map(map, settings);
    let means: Vec<[f64; 3]> = all.iter().map(|(_, surfel)| surfel.mean).collect();
    let beliefs = method.query(&means)?;
    for (i, (_, surfel)) in all.iter_mut().enumerate() {
        surfel.lethal = lethal_share(&settings.costs, beliefs.expectation(i).map(|p| p as f32));
    }
    Ok(all)
}

/// Whether costs fit the classes of a map.
pub(crate) fn check(classes: &ClassSet, costs: &ClassCosts) -> Result<()> {
    if classes.len() == costs.len() {
        return Ok(());
    }
    Err(crate::Error::Refused(format!("costs of {} classes for a map of {}", costs.len(), classes.len())))
}
