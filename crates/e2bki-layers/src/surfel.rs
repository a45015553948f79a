//! Pieces of surface: what a map holds, as far as layers need it.

use std::ops::Range;

use e2bki::free::{Counters, State};
use e2bki::{ClassSet, Mapper, Piece, SemanticMapper};
use rayon::prelude::*;

use crate::costs::ClassCosts;
use crate::error::Result;
use crate::grid::Grid;
use crate::layers::Settings;
use crate::tiles::{Patch, Tiles};
use crate::whole::nearest;

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
    nearest(value * per_unit) / per_unit
}

/// First column and row of some cells, and those behind the last.
pub(crate) type Span = [[u32; 2]; 2];

/// A piece of surface.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Surfel {
    pub(crate) mean: [f64; 3],
    /// First column and row of the cells that it covers, and those behind the last: the cells whose centres are in its box, or the one
    /// that holds its mean.
    first: [u32; 2],
    end: [u32; 2],
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
    fn of_piece(piece: &Piece<'_>, settings: &Settings, grid: &Grid) -> Self {
        let [xx, yy, zz, xy, xz, yz] = piece.sums.covariance();
        let (a, c) = (xx + THIN_M2, yy + THIN_M2);
        let determinant = a * c - xy * xy;
        let rise = [(xz * c - yz * xy) / determinant, (yz * a - xz * xy) / determinant];
        let left = (zz - rise[0] * xz - rise[1] * yz).max(0.0);
        let half = |variance: f64| rounded((HALF_RANGE * variance.max(0.0).sqrt()).min(SPREAD_M), PER_METRE);
        let rise = rise.map(|rise| rounded(rise, PER_RISE));
        let [x, y, z] = piece.mean;
        let at = [x, y].map(|v| rounded(v, PER_METRE));
        // On its plane, where the rounded place is.
        let up = z + rise[0] * (at[0] - x) + rise[1] * (at[1] - y);
        let covered = covered(grid, at, [half(xx), half(yy)]);
        Self {
            mean: [at[0], at[1], rounded(up, PER_METRE_UP)],
            first: covered.clone().map(|range| range.start as u32),
            end: covered.map(|range| range.end as u32),
            rise,
            thick: rounded(HALF_RANGE * left.sqrt(), PER_METRE_UP),
            tall: rounded(HALF_RANGE * zz.max(0.0).sqrt(), PER_METRE_UP),
            lethal: lethal_share(&settings.costs, piece.probability.iter().copied()),
            counts: piece.sums.weight >= f64::from(settings.min_points),
        }
    }

    /// First column and row of the cells that it covers, and those behind the last.
    pub(crate) fn span(&self) -> Span {
        [self.first, self.end]
    }

    /// Columns and rows of the cells that it covers.
    pub(crate) fn covered(&self) -> [Range<usize>; 2] {
        std::array::from_fn(|i| self.first[i] as usize..self.end[i] as usize)
    }

    /// Calls for every cell of a patch that it covers, with the cell's number in the patch and in the grid, the height of its
    /// middle there and half of its height.
    pub(crate) fn cover(&self, grid: &Grid, patch: &Patch, mut each: impl FnMut(usize, usize, f64, f64)) {
        let [x, y, z] = self.mean;
        let [columns, rows] = self.covered();
        let both = |a: Range<usize>, b: Range<usize>| a.start.max(b.start)..a.end.min(b.end);
        let (columns, rows) = (both(columns, patch.columns()), both(rows, patch.rows()));
        for row in rows {
            let first = (row - patch.rows().start) * patch.columns().len();
            for column in columns.clone() {
                let [cx, cy] = grid.center_at([column, row]);
                let up = (self.rise[0] * (cx - x) + self.rise[1] * (cy - y)).clamp(-self.tall, self.tall);
                let cell = row * grid.size[0] + column;
                each(first + column - patch.columns().start, cell, z + up, self.thick);
            }
        }
    }
}

/// Columns and rows of the cells whose centres are in a box, by its middle and half its sides; if there are none, of the one that
/// holds the middle.
fn covered(grid: &Grid, middle: [f64; 2], half: [f64; 2]) -> [Range<usize>; 2] {
    let found = [0, 1].map(|i| grid.between(i, middle[i] - half[i], middle[i] + half[i]));
    if found.iter().all(|range| !range.is_empty()) {
        return found;
    }
    let own = grid.cell(middle).map(|cell| [cell % grid.size[0], cell / grid.size[0]]);
    let [columns, rows] = found;
    let or_own = |range: Range<usize>, i: usize| match own {
        Some(own) if range.is_empty() => own[i]..own[i] + 1,
        _ => range,
    };
    [or_own(columns, 0), or_own(rows, 1)]
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
pub(crate) fn of_block(map: &Mapper, block: [i32; 3], settings: &Settings, grid: &Grid) -> Vec<Surfel> {
    // As many as few cubic metres exceed.
    let mut there = Vec::with_capacity(32);
    map.pieces_of(block, |piece| there.push(Surfel::of_piece(piece, settings, grid)));
    there
}

/// The pieces of the cubic metres of a map that have a tile, ascending, without those that are gone.
pub(crate) fn of_map(map: &Mapper, settings: &Settings, grid: &Grid, tiles: &Tiles) -> Vec<([i32; 3], Vec<Surfel>)> {
    let blocks = map.occupied_blocks();
    let there = blocks.into_par_iter().with_min_len(64).filter(|block| tiles.of_block(*block).is_some());
    there.map(|block| (block, of_block(map, block, settings, grid))).collect()
}

/// The pieces of a map's primitives, of the classes that another method believes in at their middles.
pub(crate) fn as_believed(
    map: &Mapper,
    method: &dyn SemanticMapper,
    settings: &Settings,
    grid: &Grid,
    tiles: &Tiles,
) -> Result<Vec<([i32; 3], Vec<Surfel>)>> {
    let mut all = of_map(map, settings, grid, tiles);
    let means: Vec<[f64; 3]> = all.iter().flat_map(|(_, there)| there).map(|surfel| surfel.mean).collect();
    let beliefs = method.query(&means)?;
    for (i, surfel) in all.iter_mut().flat_map(|(_, there)| there).enumerate() {
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
