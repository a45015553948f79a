//! What is known of the points of some frames: ranges, angles of incidence, distances to neighbours.

use std::collections::HashMap;

use e2bki::primitive::symmetric_eigen;

/// Neighbours within this distance tell the surface of a point, metres.
const AROUND_M: f32 = 0.4;

/// A point in the camera's view.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen {
    pub(crate) range: f32,
    /// Angle between beam and surface normal, degrees; nothing where there are too few points to tell the surface.
    pub(crate) incidence: Option<f32>,
    /// Distance to the nearest other point of the frame, metres.
    pub(crate) spacing: Option<f32>,
    /// Class, by number; one that is none where it is not known.
    pub(crate) class: u32,
}

/// The points of some frames.
#[derive(Default)]
pub(crate) struct Sample {
    pub(crate) frames: usize,
    pub(crate) points: Vec<Seen>,
}

impl Sample {
    /// Adds the points of a frame with their classes.
    pub(crate) fn add(&mut self, points: &[[f32; 3]], classes: &[u32]) {
        self.frames += 1;
        let cell = |p: &[f32; 3]| p.map(|v| (v / AROUND_M).floor() as i32);
        let mut cells: HashMap<[i32; 3], Vec<usize>> = HashMap::new();
        for (i, point) in points.iter().enumerate() {
            cells.entry(cell(point)).or_default().push(i);
        }
        for (i, (point, class)) in points.iter().zip(classes).enumerate() {
            let range = length(*point);
            let near = neighbours(&cells, points, i, cell(point));
            let incidence = (near.len() >= 6).then(|| {
                let normal = normal(&near);
                let along: f64 = (0..3).map(|k| normal[k] * f64::from(point[k] / range)).sum();
                along.abs().min(1.0).acos().to_degrees() as f32
            });
            let spacing = near.iter().map(|d| length(*d)).min_by(f32::total_cmp);
            self.points.push(Seen { range, incidence, spacing, class: *class });
        }
    }

    /// Quantiles of what is known of those points that are looked at.
    pub(crate) fn quantiles<const N: usize>(&self, percent: [usize; N], of: impl Fn(&Seen) -> Option<f32>) -> [f32; N] {
        let mut values: Vec<f32> = self.points.iter().filter_map(of).collect();
        values.sort_by(f32::total_cmp);
        percent.map(|q| values.get(values.len() * q / 100).copied().unwrap_or(f32::NAN))
    }

    /// Share of the points that are so, percent.
    pub(crate) fn share(&self, so: impl Fn(&Seen) -> bool) -> f64 {
        100.0 * self.points.iter().filter(|seen| so(seen)).count() as f64 / self.points.len().max(1) as f64
    }
}

/// Other points within reach of a point, relative to it.
fn neighbours(
    cells: &HashMap<[i32; 3], Vec<usize>>,
    points: &[[f32; 3]],
    i: usize,
    [x, y, z]: [i32; 3],
) -> Vec<[f32; 3]> {
    let mut near = Vec::new();
    for (dx, dy, dz) in (0..27).map(|k| (k % 3 - 1, k / 3 % 3 - 1, k / 9 - 1)) {
        for j in cells.get(&[x + dx, y + dy, z + dz]).into_iter().flatten().filter(|j| **j != i) {
            let d: [f32; 3] = std::array::from_fn(|k| points[*j][k] - points[i][k]);
            if length(d) < AROUND_M {
                near.push(d);
            }
        }
    }
    near
}

/// Direction in which neighbours spread least.
fn normal(near: &[[f32; 3]]) -> [f64; 3] {
    let count = near.len() as f64;
    let mean: [f64; 3] = std::array::from_fn(|k| near.iter().map(|d| f64::from(d[k])).sum::<f64>() / count);
    let moment = |a: usize, b: usize| {
        near.iter().map(|d| (f64::from(d[a]) - mean[a]) * (f64::from(d[b]) - mean[b])).sum::<f64>() / count
    };
    symmetric_eigen([moment(0, 0), moment(1, 1), moment(2, 2), moment(0, 1), moment(0, 2), moment(1, 2)]).1[0]
}

fn length(p: [f32; 3]) -> f32 {
    (p[0] * p[0] + p[1] * p[1] + p[2] * p[2]).sqrt()
}
