//! The ground: the lowest traversable surface of every cell, freed of what stands out, and a plane through what is around.
//!
//! In cells of side r with samples z at offsets (i, j), the plane z = h + a·i + b·j is fitted by least squares over a window;
//! s² = Σ(z − plane)²/(n − 3). The standard deviation of the ground in the cell is s·√(1 + 1/n + mᵀC⁻¹m/n), with the mean
//! offset m and the covariance C of the offsets.

use crate::grid::Grid;
use crate::whole::{nearest, up};

/// Ground rises at most so much per metre: what stands out more is no ground.
const STEEPEST: f32 = 1.0;
/// … and may be rough by this much, metres.
const TOLERANCE_M: f32 = 0.15;
/// Noise of a ground sample, metres: s is at least this.
pub(crate) const NOISE_M: f64 = 0.02;
/// Rise per metre that is not unusual where no slope is known.
const USUAL_RISE: f64 = 0.2;
/// Half the window of the plane, metres, and at least one and a half cells.
const WINDOW_M: f64 = 0.6;

/// Heights and angles (degrees) are multiples of one in so many: far below their noise, so that a place that was seen often enough
/// stays as it is when it is seen once more.
const PER_METRE: f64 = 128.0;
const PER_METRE_STD: f64 = 512.0;
const PER_DEGREE: f64 = 16.0;

/// The nearest height of those that are in use.
pub(crate) fn rounded(height: f64) -> f64 {
    nearest(height * PER_METRE) / PER_METRE
}

/// The nearest standard deviation of a height, up.
pub(crate) fn rounded_std(std: f64) -> f64 {
    up(std * PER_METRE_STD) / PER_METRE_STD
}

/// The nearest angle.
pub(crate) fn rounded_angle(degrees: f64) -> f64 {
    nearest(degrees * PER_DEGREE) / PER_DEGREE
}

/// Half the window in which a plane is fitted, metres.
pub(crate) fn reach_m(resolution: f64) -> f64 {
    WINDOW_M.max(1.5 * resolution)
}

/// The lowest sample of a square of the ground.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Floor {
    pub(crate) at: [f32; 2],
    pub(crate) height: f32,
}

impl Floor {
    pub(crate) const NONE: Self = Self { at: [0.0; 2], height: f32::INFINITY };

    /// The lowest of samples; the first of equal ones.
    pub(crate) fn of(samples: impl Iterator<Item = ([f64; 2], f32)>) -> Self {
        samples.fold(
            Self::NONE,
            |floor, (at, height)| {
                if height < floor.height { Self { at: at.map(|v| v as f32), height } } else { floor }
            },
        )
    }

    /// Whether a sample is not so high above this one that it cannot be ground.
    pub(crate) fn admits(&self, at: [f32; 2], height: f32) -> bool {
        let away = (at[0] - self.at[0]).abs().max((at[1] - self.at[1]).abs());
        height <= self.height + STEEPEST * away + TOLERANCE_M
    }
}

/// Sums over the samples of one row of a window, about the cell's column: n, Σi, Σi², Σz, Σiz, Σz².
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct RowSums([f64; 6]);

/// Cells to each side of a window.
pub(crate) fn half_window(grid: &Grid) -> usize {
    // A hair more: 0.6 / 0.2 is a little less than 3.
    (reach_m(grid.resolution) / grid.resolution + 1e-9).floor() as usize
}

/// Sums of the window around a column of a row of the ground.
pub(crate) fn row_sums(row: &[f32], column: usize, half: usize) -> RowSums {
    let mut sums = [0.0; 6];
    for (other, z) in row.iter().enumerate().take(column + half + 1).skip(column.saturating_sub(half)) {
        let z = f64::from(*z);
        if z.is_finite() {
            let i = other as f64 - column as f64;
            for (sum, value) in sums.iter_mut().zip([1.0, i, i * i, z, i * z, z * z]) {
                *sum += value;
            }
        }
    }
    RowSums(sums)
}

/// The ground at a cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Fit {
    pub(crate) height: f64,
    pub(crate) height_std: f64,
    /// Rise per metre along x and y; not a number where there are too few samples.
    pub(crate) rise: [f64; 2],
    /// Standard deviation of the rise along the slope.
    pub(crate) rise_std: f64,
    pub(crate) roughness: f64,
}

/// The plane through the samples around a cell, from the sums of the rows; nothing where there are none.
pub(crate) fn fit(grid: &Grid, rows: &[RowSums], [column, row]: [usize; 2], half: usize) -> Option<Fit> {
    let width = grid.size[0];
    let (mut n, mut si, mut sj, mut sii, mut sij, mut sjj) = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0);
    let (mut sz, mut siz, mut sjz, mut szz) = (0.0, 0.0, 0.0, 0.0);
    // Heights about one of them: sums of squares of heights above the sea would cancel badly.
    let mut about = None;
    for other in row.saturating_sub(half)..(row + half + 1).min(grid.size[1]) {
        let [rn, ri, rii, rz, riz, rzz] = rows[other * width + column].0;
        if rn == 0.0 {
            continue;
        }
        let base = *about.get_or_insert(rz / rn);
        let (rz, riz, rzz) = (rz - rn * base, riz - ri * base, rzz - 2.0 * base * rz + rn * base * base);
        let j = other as f64 - row as f64;
        n += rn;
        si += ri;
        sj += j * rn;
        sii += rii;
        sij += j * ri;
        sjj += j * j * rn;
        sz += rz;
        siz += riz;
        sjz += j * rz;
        szz += rzz;
    }
    let about = about?;
    let (mi, mj, mz) = (si / n, sj / n, sz / n);
    let (cii, cij, cjj) = (sii / n - mi * mi, sij / n - mi * mj, sjj / n - mj * mj);
    let (ciz, cjz, czz) = (siz / n - mi * mz, sjz / n - mj * mz, (szz / n - mz * mz).max(0.0));
    let determinant = cii * cjj - cij * cij;
    let side = grid.resolution;
    if n < 5.0 || determinant < 0.05 {
        let away = side * (mi * mi + mj * mj).sqrt();
        let variance = czz.max(NOISE_M * NOISE_M) + (USUAL_RISE * away).powi(2);
        let unknown = f64::NAN;
        let height_std = variance.sqrt();
        return Some(Fit { height: about + mz, height_std, rise: [unknown; 2], rise_std: unknown, roughness: unknown });
    }
    let a = (ciz * cjj - cjz * cij) / determinant;
    let b = (cjz * cii - ciz * cij) / determinant;
    let left = (czz - a * ciz - b * cjz).max(0.0) * n / (n - 3.0);
    let variance = left.max(NOISE_M * NOISE_M);
    let leverage = (mi * mi * cjj - 2.0 * mi * mj * cij + mj * mj * cii) / determinant;
    let rise_variance = variance * 0.5 * (cii + cjj) / (n * determinant);
    Some(Fit {
        height: about + mz - a * mi - b * mj,
        height_std: (variance * (1.0 + (1.0 + leverage) / n)).sqrt(),
        rise: [a / side, b / side],
        rise_std: rise_variance.sqrt() / side,
        roughness: left.sqrt(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fitted(grid: &Grid, ground: &[f32], cell: usize) -> Option<Fit> {
        let half = half_window(grid);
        let of_row = |row: &[f32]| (0..row.len()).map(|column| row_sums(row, column, half)).collect::<Vec<_>>();
        let rows: Vec<RowSums> = ground.chunks(grid.size[0]).flat_map(of_row).collect();
        fit(grid, &rows, [cell % grid.size[0], cell / grid.size[0]], half)
    }

    proptest! {
        /// Against the residuals summed one by one, and the gradient of their squares, which vanishes at the best plane.
        #[test]
        fn the_plane_is_the_best_one(
            heights in prop::collection::vec(prop::option::weighted(0.7, -0.3..0.3_f32), 81), base in -200.0..200.0_f32,
        ) {
            let grid = Grid { resolution: 0.2, low: [-3, 11], size: [9, 9] };
            let ground: Vec<f32> = heights.iter().map(|h| h.map_or(f32::NAN, |h| base + h)).collect();
            let cell = 4 * 9 + 4;
            let Some(fit) = fitted(&grid, &ground, cell) else {
                return Ok(());
            };
            if !fit.rise[0].is_finite() {
                return Ok(());
            }
            let (mut n, mut gradient, mut squares) = (0.0, [0.0; 3], 0.0);
            for (other, z) in ground.iter().enumerate().filter(|(_, z)| z.is_finite()) {
                let [dx, dy]: [f64; 2] = std::array::from_fn(|i| grid.center(other)[i] - grid.center(cell)[i]);
                if dx.abs() > 0.61 || dy.abs() > 0.61 {
                    continue;
                }
                let residual = f64::from(*z) - fit.height - fit.rise[0] * dx - fit.rise[1] * dy;
                n += 1.0;
                squares += residual * residual;
                for (g, v) in gradient.iter_mut().zip([1.0, dx, dy]) {
                    *g += residual * v;
                }
            }
            prop_assert!(gradient.iter().all(|g| g.abs() < 1e-6), "{gradient:?}");
            prop_assert!((fit.roughness - (squares / (n - 3.0)).sqrt()).abs() < 1e-6);
            prop_assert!(fit.height_std >= fit.roughness && fit.height_std >= NOISE_M);
        }
    }

    #[test]
    fn a_slope_is_found_and_too_few_samples_have_none() {
        let grid = Grid { resolution: 0.2, low: [0, 0], size: [9, 9] };
        let slope: Vec<f32> =
            (0..81).map(|c| (100.0 + 0.3 * grid.center(c)[0] - 0.1 * grid.center(c)[1]) as f32).collect();
        let fit = fitted(&grid, &slope, 40).unwrap();
        assert!((fit.rise[0] - 0.3).abs() < 1e-3 && (fit.rise[1] + 0.1).abs() < 1e-3, "{fit:?}");
        assert!((fit.height - (100.0 + 0.3 * 0.9 - 0.1 * 0.9)).abs() < 1e-4);
        let mut few = vec![f32::NAN; 81];
        assert!(fitted(&grid, &few, 40).is_none());
        (few[40], few[41]) = (1.0, 1.2);
        let fit = fitted(&grid, &few, 40).unwrap();
        assert!(fit.rise[0].is_nan() && (fit.height - 1.1).abs() < 1e-6);
    }

    #[test]
    fn what_stands_out_of_the_floor_is_no_ground() {
        let floor = Floor { at: [0.0; 2], height: 1.0 };
        assert!(floor.admits([0.5, 0.0], 1.6) && !floor.admits([0.5, 0.0], 1.7));
        assert!(Floor::NONE.admits([0.5, 0.0], 1e6));
    }
}
