//! The state of a place seen from above: whether the space over the ground, between two heights, is free, occupied or
//! unknown. A robot asks for the heights that it takes up.

use rustc_hash::FxHashMap;

use super::counters::Tally;
use super::cubes::cube_of;
use super::settings::CUBE_M;
use super::space::{Existence, Known};
use super::state::State;
use crate::error::{Error, Result};
use crate::maths::floor_i32;

/// Heights above the ground that decide unless others are given, metres: above the ground's own cubes, as high as most
/// robots are.
pub const BAND_M: [f64; 2] = [0.5, 1.75];
/// Highest band, metres.
const MOST_M: f64 = 100.0;

/// The ground of a map, and what the hits of its cubes weigh.
#[derive(Debug, Clone)]
pub(crate) struct Above {
    band: [f64; 2],
    /// Height of the lowest thing that stays, by square metre.
    lowest: FxHashMap<[i32; 2], f64>,
    /// The largest weight of a hit among the classes that a cube holds.
    kappa: FxHashMap<[i32; 3], f32>,
}

impl Above {
    /// Of primitives, each by its mean, class, and whether it is gone.
    pub(crate) fn of(
        existence: &Existence<'_>,
        movable: impl Fn(usize) -> bool,
        primitives: impl Iterator<Item = ([f64; 3], usize, bool)>,
    ) -> Self {
        let mut above = Self { band: BAND_M, lowest: FxHashMap::default(), kappa: FxHashMap::default() };
        for (mean, class, gone) in primitives {
            let kappa = above.kappa.entry(cube_of(mean)).or_default();
            *kappa = kappa.max(existence.kappa_of(Some(class)));
            if !gone && !movable(class) {
                let lowest = above.lowest.entry(square([mean[0], mean[1]])).or_insert(mean[2]);
                *lowest = lowest.min(mean[2]);
            }
        }
        above
    }

    /// With other heights above the ground.
    pub(crate) fn set_band(&mut self, band: [f64; 2]) {
        self.band = band;
    }

    /// Height of the ground at a place: the median of the lowest things in the square metres around, so that neither a
    /// reflection from below nor a wall whose foot is hidden decides. Nothing where nothing was seen.
    pub(crate) fn ground(&self, place: [f64; 2]) -> Option<f64> {
        if place.iter().any(|v| !v.is_finite()) {
            return None;
        }
        let [x, y] = square(place);
        let around = (-1..=1).flat_map(|a| (-1..=1).map(move |b| [x.saturating_add(a), y.saturating_add(b)]));
        let mut heights: Vec<f64> = around.filter_map(|square| self.lowest.get(&square).copied()).collect();
        heights.sort_by(f64::total_cmp);
        heights.get(heights.len().saturating_sub(1) / 2).copied()
    }

    /// What is known of the space above a place: occupied if any cube of the band is, free if all are, else unknown. The
    /// counts are those of the cube that decides, the times those of all.
    pub(crate) fn known(&self, existence: &Existence<'_>, place: [f64; 2]) -> Known {
        let unknown = Known { tally: Tally::default(), seen: None, kappa: existence.kappa_of(None) };
        let Some(ground) = self.ground(place) else { return unknown };
        let [low, high] = self.band.map(|height| ground + height);
        let mut decides: Option<Known> = None;
        let mut seen = None;
        for z in floor_i32(low / CUBE_M)..=floor_i32((high - 1e-9) / CUBE_M) {
            let [x, y, _] = cube_of([place[0], place[1], low]);
            let mut known = existence.of_cube([x, y, z]);
            if let Some(kappa) = self.kappa.get(&[x, y, z]) {
                known.kappa = *kappa;
            }
            seen = match (seen, known.seen) {
                (Some(a), Some(b)) => Some(super::Seen::and(a, b)),
                (a, b) => a.or(b),
            };
            if decides.is_none_or(|other| weight(&known) > weight(&other)) {
                decides = Some(known);
            }
        }
        Known { seen, ..decides.unwrap_or(unknown) }
    }
}

/// How much a cube decides: occupied above unknown above free, and then by existence.
fn weight(known: &Known) -> (u8, f64) {
    let existence = known.tally.existence(f64::from(known.kappa)).unwrap_or(0.0);
    match known.state() {
        State::Occupied => (2, existence),
        State::Unknown => (1, 0.0),
        State::Free => (0, existence),
    }
}

/// Fails unless heights are a band above the ground.
pub(crate) fn checked(band: [f64; 2]) -> Result<[f64; 2]> {
    let [low, high] = band;
    if low < high && low >= -MOST_M && high <= MOST_M {
        return Ok(band);
    }
    let allowed = format!("two heights above the ground, the lower one first, from {} to {MOST_M} m", -MOST_M);
    Err(Error::Argument { name: "band", found: format!("{low}, {high}"), allowed })
}

fn square(place: [f64; 2]) -> [i32; 2] {
    place.map(floor_i32)
}
