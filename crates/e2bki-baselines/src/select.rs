//! Which points of a frame a method uses: the uncertainty gate, thinning, and the limits of the grid.

use e2bki::config::{Config, Gate};
use e2bki::{Error, EvidentialPoints, Pose, Result};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::lattice::{Lattice, Place};
use crate::options::Thinning;

/// Points with their places, and how many were left out.
#[derive(Debug, Default)]
pub(crate) struct Selected {
    pub(crate) rows: Vec<(u32, Place)>,
    /// Stopped by the uncertainty gate.
    pub(crate) gated: usize,
    /// Too far out for the grid's indices.
    pub(crate) outside: usize,
}

/// Selects points, in this order: gate (if the method has one), grid, thinning.
pub(crate) fn select(
    points: &EvidentialPoints,
    pose: &Pose,
    lattice: &Lattice,
    gate: Option<&Config>,
    thinning: Option<Thinning>,
) -> Selected {
    let limit = gate.map_or(f64::INFINITY, |config| threshold(points, config));
    let world = |row: usize| pose.apply(points.position[row].map(f64::from));
    let found: Vec<Option<Option<Place>>> = (0..points.len())
        .into_par_iter()
        .with_min_len(4096)
        .map(|row| {
            let passes = limit == f64::INFINITY || points.uncertainty(row) <= limit;
            passes.then(|| lattice.place(world(row)))
        })
        .collect();
    let mut selected = Selected::default();
    selected.rows.reserve(points.len());
    let mut filled: FxHashMap<[i32; 3], usize> = FxHashMap::default();
    for (row, found) in found.into_iter().enumerate() {
        match found {
            None => selected.gated += 1,
            Some(None) => selected.outside += 1,
            Some(Some(place)) => {
                if let Some(thinning) = thinning {
                    let cells = Lattice { resolution: thinning.cell, planar: false, shift: 0 };
                    let Some(cell) = cells.place(world(row)) else { continue };
                    let filled = filled.entry(cell.voxel).or_default();
                    *filled += 1;
                    if *filled > thinning.points {
                        continue;
                    }
                }
                selected.rows.push((row as u32, place));
            }
        }
    }
    selected
}

/// Largest uncertainty that passes. The dynamic gate takes the value at index ⌊N(1−ũ)⌋ in ascending order; ties pass.
fn threshold(points: &EvidentialPoints, config: &Config) -> f64 {
    let fixed = match config.fusion.gate {
        Gate::Static | Gate::Hybrid => config.fusion.max_uncertainty,
        _ => f64::INFINITY,
    };
    let index = (points.len() as f64 * (1.0 - config.fusion.drop_uncertain)) as usize;
    if !matches!(config.fusion.gate, Gate::Dynamic | Gate::Hybrid) || index >= points.len() {
        return fixed;
    }
    let mut values: Vec<f64> =
        (0..points.len()).into_par_iter().with_min_len(4096).map(|row| points.uncertainty(row)).collect();
    fixed.min(*values.select_nth_unstable_by(index, f64::total_cmp).1)
}

/// Refuses a thinning that cannot be done.
pub(crate) fn check(thinning: Option<Thinning>) -> Result<()> {
    let bad = |name, found: String, allowed: &str| Err(Error::Argument { name, found, allowed: allowed.into() });
    match thinning {
        Some(Thinning { points: 0, .. }) => bad("thinning.points", "0".into(), "1 or more"),
        Some(Thinning { cell, .. }) if !(0.005..=100.0).contains(&cell) => {
            bad("thinning.cell", cell.to_string(), "0.005 to 100 m")
        }
        _ => Ok(()),
    }
}
