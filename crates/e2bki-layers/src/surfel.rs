//! Pieces of surface: what a map holds, as far as layers need it.

use e2bki::free::{Counters, State};
use e2bki::{ClassSet, Mapper, Primitive, SemanticMapper};

use crate::costs::ClassCosts;
use crate::error::Result;
use crate::grid::Grid;

/// Half a piece is never taken to be wider than this, metres: so far at most reaches a change.
pub(crate) const SPREAD_M: f64 = 1.0;
/// Half the range of a uniform distribution, in standard deviations: √3.
const HALF_RANGE: f64 = 1.732_050_807_568_877_2;
/// Variance below which a direction of the plane says nothing of a slope, m².
const THIN_M2: f64 = 4e-4;

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
    /// Points in it.
    pub(crate) points: f32,
}

impl Surfel {
    fn of_primitive(primitive: &Primitive<'_>, costs: &ClassCosts) -> Self {
        let [xx, yy, zz, xy, xz, yz] = primitive.covariance();
        let (a, c) = (xx + THIN_M2, yy + THIN_M2);
        let determinant = a * c - xy * xy;
        let rise = [(xz * c - yz * xy) / determinant, (yz * a - xz * xy) / determinant];
        let left = (zz - rise[0] * xz - rise[1] * yz).max(0.0);
        let half = |variance: f64| (HALF_RANGE * variance.max(0.0).sqrt()).min(SPREAD_M);
        Self {
            mean: primitive.mean(),
            half: [half(xx), half(yy)],
            rise,
            thick: HALF_RANGE * left.sqrt(),
            tall: HALF_RANGE * zz.max(0.0).sqrt(),
            lethal: costs.lethal_share(primitive.probability().iter().copied()),
            points: primitive.weight() as f32,
        }
    }

    /// Calls for every cell that it covers, with its lower and upper height and the middle of them there: the cells whose
    /// centres are in its box, and the one that holds its mean.
    pub(crate) fn cover(&self, grid: &Grid, mut each: impl FnMut(usize, f64, f64)) {
        let [x, y, z] = self.mean;
        let columns = grid.between(0, x - self.half[0], x + self.half[0]);
        let rows = grid.between(1, y - self.half[1], y + self.half[1]);
        let own = grid.cell([x, y]);
        let mut seen_own = false;
        for row in rows {
            for column in columns.clone() {
                let cell = row * grid.size[0] + column;
                let [cx, cy] = grid.center(cell);
                let up = (self.rise[0] * (cx - x) + self.rise[1] * (cy - y)).clamp(-self.tall, self.tall);
                seen_own |= own == Some(cell);
                each(cell, z + up, self.thick);
            }
        }
        if let Some(cell) = own.filter(|_| !seen_own) {
            each(cell, z, self.thick);
        }
    }
}

/// How a map's free space speaks of its primitives.
pub(crate) struct Gone<'a> {
    counters: Option<&'a Counters>,
    kappa: Vec<f64>,
}

impl<'a> Gone<'a> {
    pub(crate) fn of(map: &'a Mapper) -> Self {
        let free = &map.config().free_space;
        let weight =
            |class: usize| if map.classes().is_movable(class) { free.movable_weight } else { free.static_weight };
        let kappa = (0..map.classes().len()).map(weight).collect();
        Self { counters: map.free_space().filter(|counters| !counters.is_empty()), kappa }
    }

    /// Whether the map knows of free space at all.
    pub(crate) fn is_known(&self) -> bool {
        self.counters.is_some()
    }

    fn is_gone(&self, primitive: &Primitive<'_>) -> bool {
        let kappa = self.kappa.get(primitive.label()).copied().unwrap_or(1.0);
        self.counters.is_some_and(|counters| counters.at(primitive.mean()).state(kappa) == State::Free)
    }

    /// Whether a place was seen through, whatever might be there.
    pub(crate) fn is_free(&self, place: [f64; 3]) -> bool {
        let most = self.kappa.iter().copied().fold(0.0, f64::max);
        self.counters.is_some_and(|counters| counters.at(place).state(most) == State::Free)
    }
}

/// The pieces of primitives, without those that are gone.
pub(crate) fn of_primitives<'m>(
    primitives: impl IntoIterator<Item = Primitive<'m>>,
    gone: &Gone<'_>,
    costs: &ClassCosts,
) -> Vec<([i32; 3], Surfel)> {
    let there = primitives.into_iter().filter(|primitive| !gone.is_gone(primitive));
    there.map(|primitive| (primitive.sums().origin, Surfel::of_primitive(&primitive, costs))).collect()
}

/// The pieces of a map's primitives, of the classes that another method believes in at their middles.
pub(crate) fn as_believed(
    map: &Mapper,
    method: &dyn SemanticMapper,
    gone: &Gone<'_>,
    costs: &ClassCosts,
) -> Result<Vec<([i32; 3], Surfel)>> {
    let mut all = of_primitives(map.primitives(), gone, costs);
    let means: Vec<[f64; 3]> = all.iter().map(|(_, surfel)| surfel.mean).collect();
    let beliefs = method.query(&means)?;
    for (i, (_, surfel)) in all.iter_mut().enumerate() {
        surfel.lethal = costs.lethal_share(beliefs.expectation(i).map(|p| p as f32));
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
