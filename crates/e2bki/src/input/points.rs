//! Evidential points: the checked form in which every frame enters the engine.

use rayon::prelude::*;

/// Points of a frame with proper opinions (paper: D′), in sensor coordinates.
#[derive(Debug, Clone, Default)]
pub struct EvidentialPoints {
    /// Number of classes.
    pub classes: usize,
    /// Position in sensor coordinates, metres.
    pub position: Vec<[f32; 3]>,
    /// Rows of odds b/u, `classes` values each.
    pub(crate) odds: Vec<f32>,
    /// The row of each point, where points share rows; otherwise each has its own.
    pub(crate) row_of: Option<Vec<u32>>,
    /// Most likely class; the lowest id wins ties.
    pub label: Vec<u16>,
    /// Distance from the sensor, metres.
    pub range: Vec<f32>,
}

impl EvidentialPoints {
    /// Number of points.
    pub fn len(&self) -> usize {
        self.position.len()
    }

    /// Makes room for so many points, with or without odds of their own.
    pub(super) fn reserve(&mut self, points: usize, with_odds: bool) {
        self.position.reserve_exact(points);
        self.label.reserve_exact(points);
        self.range.reserve_exact(points);
        self.odds.reserve_exact(if with_odds { points * self.classes } else { 0 });
    }

    /// Whether there are no points.
    pub fn is_empty(&self) -> bool {
        self.position.is_empty()
    }

    /// Odds b/u of every class of one point.
    pub fn odds(&self, point: usize) -> &[f32] {
        &self.odds[self.row(point) * self.classes..][..self.classes]
    }

    /// Number of the row that holds a point's odds.
    pub(crate) fn row(&self, point: usize) -> usize {
        self.row_of.as_ref().map_or(point, |rows| rows[point] as usize)
    }

    /// Whether points share rows of odds, most of which are zero then.
    pub(crate) fn share_rows(&self) -> bool {
        self.row_of.is_some()
    }

    /// Uncertainty u of one point.
    pub fn uncertainty(&self, point: usize) -> f64 {
        1.0 / (1.0 + self.odds(point).iter().map(|v| f64::from(*v)).sum::<f64>())
    }

    /// Labels of the rows of odds become those of their points.
    pub(crate) fn relabel(&mut self, labels: Vec<u16>) {
        match &self.row_of {
            None => self.label = labels,
            Some(rows) => {
                let of_point = rows.par_iter().with_min_len(4096).map(|row| labels[*row as usize]);
                of_point.collect_into_vec(&mut self.label);
            }
        }
    }
}
