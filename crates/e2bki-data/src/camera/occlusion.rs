//! Which points the camera sees, where a nearer point does not hide them: LiDAR and camera look from different places.

use super::pinhole::Projected;

/// Farther behind the nearest point of the window than this share of its depth is hidden.
const MARGIN: f64 = 0.05;

/// Least margin, metres.
const LEAST_MARGIN_M: f64 = 0.3;

/// For each point whether it is seen: not clearly behind the nearest point within `window` pixels (odd, as 5 for ±2).
/// Points without a place in the image are not seen.
pub fn visible(points: &[Option<Projected>], size: [usize; 2], window: usize) -> Vec<bool> {
    let [width, height] = size;
    let reach = window / 2;
    let mut nearest = vec![f32::INFINITY; width * height];
    for point in points.iter().flatten() {
        let [column, row] = point.pixel();
        if column >= width || row >= height {
            continue;
        }
        for r in row.saturating_sub(reach)..=(row + reach).min(height - 1) {
            for place in &mut nearest[r * width..][column.saturating_sub(reach)..=(column + reach).min(width - 1)] {
                *place = place.min(point.depth as f32);
            }
        }
    }
    let seen = |point: &Option<Projected>| {
        point.is_some_and(|p| {
            let [column, row] = p.pixel();
            let front = nearest.get(row * width + column).map_or(f64::INFINITY, |d| f64::from(*d));
            p.depth <= front + (MARGIN * front).max(LEAST_MARGIN_M)
        })
    };
    points.iter().map(seen).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_far_point_beside_a_near_one_is_hidden() {
        let at = |x: f64, y: f64, depth: f64| Some(Projected { position: [x, y], depth });
        let points = [at(10.5, 10.5, 5.0), at(12.5, 10.5, 20.0), at(13.5, 10.5, 20.0), at(10.5, 9.5, 5.2), None];
        assert_eq!(visible(&points, [32, 16], 5), [true, false, true, true, false]);
        assert_eq!(visible(&points, [32, 16], 1), [true, true, true, true, false]);
    }
}
