//! Pictures: bird's-eye rasters, and primitives as shaded ellipsoids seen obliquely from above.

use e2bki::{Belief, Cells, Mapper};
use image::{Rgb, RgbImage};

/// Longest side of a picture in pixels.
const LONGEST: u32 = 1600;
/// Where nothing is known.
pub const BACKGROUND: [u8; 3] = [24, 26, 30];

/// Bounds of points: low and high corner.
fn bounds(points: impl Iterator<Item = [f64; 2]>) -> Option<([f64; 2], [f64; 2])> {
    points.fold(None, |so_far, p| {
        let (low, high) = so_far.unwrap_or((p, p));
        Some((std::array::from_fn(|i| low[i].min(p[i])), std::array::from_fn(|i| high[i].max(p[i]))))
    })
}

/// Cells from above, y up, with the trajectory drawn over them.
pub fn bev(cells: &Cells, trajectory: &[[f64; 3]], color: impl Fn(&Belief) -> [u8; 3]) -> RgbImage {
    let Some((low, high)) = bounds(cells.centers.iter().copied()) else { return RgbImage::new(1, 1) };
    let count = |i: usize| ((high[i] - low[i]) / cells.resolution).round() as u32 + 1;
    let (width, height) = (count(0), count(1));
    let scale = (LONGEST / width.max(height)).max(1);
    let mut picture = RgbImage::from_pixel(width * scale, height * scale, Rgb(BACKGROUND));
    let pixel = |x: f64, y: f64| {
        let column = ((x - low[0]) / cells.resolution + 0.5) * f64::from(scale);
        let row = (f64::from(height) - 0.5 - (y - low[1]) / cells.resolution) * f64::from(scale);
        (column as i64, row as i64)
    };
    for (center, belief) in cells.centers.iter().zip(cells.beliefs.iter()) {
        let (column, row) = pixel(center[0], center[1]);
        let half = i64::from(scale / 2);
        square(&mut picture, (column - half, row - half), i64::from(scale), color(&belief));
    }
    for p in trajectory {
        let (column, row) = pixel(p[0], p[1]);
        square(&mut picture, (column - 1, row - 1), 3, [255, 255, 255]);
    }
    picture
}

fn square(picture: &mut RgbImage, (left, top): (i64, i64), side: i64, color: [u8; 3]) {
    for row in top..top + side {
        for column in left..left + side {
            if (0..i64::from(picture.width())).contains(&column) && (0..i64::from(picture.height())).contains(&row) {
                picture.put_pixel(column as u32, row as u32, Rgb(color));
            }
        }
    }
}

/// Primitives around the end of a drive as ellipsoids, by orthographic projection from behind and above.
pub fn primitives(map: &Mapper, trajectory: &[[f64; 3]]) -> RgbImage {
    const REACH_M: f64 = 28.0;
    const WIDTH: u32 = 1400;
    const HEIGHT: u32 = 800;
    let center = trajectory.get(trajectory.len() / 2).copied().unwrap_or([0.0; 3]);
    // Viewing axes: right, up and towards the viewer, from azimuth 30° off the x axis and 35° above the ground.
    let (sin_a, cos_a, sin_e, cos_e) = (0.5, 0.866_025, 0.573_576, 0.819_152);
    let right = [sin_a, -cos_a, 0.0];
    let up = [cos_a * sin_e, sin_a * sin_e, cos_e];
    let towards = [-cos_a * cos_e, -sin_a * cos_e, sin_e];
    let dot = |a: [f64; 3], b: [f64; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    let scale = f64::from(WIDTH) / (2.0 * REACH_M);
    let mut picture = RgbImage::from_pixel(WIDTH, HEIGHT, Rgb(BACKGROUND));
    let mut depth = vec![f64::NEG_INFINITY; (WIDTH * HEIGHT) as usize];
    for p in map.primitives() {
        let ellipsoid = p.ellipsoid();
        let d: [f64; 3] = std::array::from_fn(|i| ellipsoid.center[i] - center[i]);
        // Drawn at two standard deviations: the kernel's own ellipsoid (10 % of the mass) would be specks.
        let grow = 2.6;
        let semi = ellipsoid.semi_axes.map(|a| a * grow);
        let project = |axis: [f64; 3]| -> [f64; 3] { std::array::from_fn(|k| semi[k] * dot(ellipsoid.axes[k], axis)) };
        let (r, u) = (project(right), project(up));
        let (sxx, syy, sxy) = (dot(r, r), dot(u, u), dot(r, u));
        let determinant = sxx * syy - sxy * sxy;
        if determinant <= 0.0 {
            continue;
        }
        let (x, y) = (dot(d, right), dot(d, up));
        // Light from above: the shortest axis is the surface normal.
        let normal = ellipsoid.axes[0];
        let shade = 0.55 + 0.45 * normal[2].abs();
        let base = map.classes().colors()[p.label()].map(|c| f64::from(c) * shade);
        let faded: [f64; 3] = std::array::from_fn(|c| base[c] * (1.0 - p.uncertainty()) + 60.0 * p.uncertainty());
        let (half_w, half_h) = (sxx.sqrt(), syy.sqrt());
        let column = |x: f64| ((x + REACH_M) * scale).floor();
        let row = |y: f64| (f64::from(HEIGHT) * 0.5 - y * scale).floor();
        let clamp = |v: f64, most: u32| v.clamp(0.0, f64::from(most)) as u32;
        for py in clamp(row(y + half_h), HEIGHT)..clamp(row(y - half_h) + 1.0, HEIGHT) {
            for px in clamp(column(x - half_w), WIDTH)..clamp(column(x + half_w) + 1.0, WIDTH) {
                let dx = (f64::from(px) + 0.5) / scale - REACH_M - x;
                let dy = (f64::from(HEIGHT) * 0.5 - f64::from(py) - 0.5) / scale - y;
                let q = (syy * dx * dx - 2.0 * sxy * dx * dy + sxx * dy * dy) / determinant;
                let at = (py * WIDTH + px) as usize;
                let z = dot(d, towards) + 0.02 * (1.0 - q);
                if q <= 1.0 && z > depth[at] {
                    depth[at] = z;
                    let rim = 1.0 - 0.35 * q;
                    picture.put_pixel(px, py, Rgb(faded.map(|c| (c * rim) as u8)));
                }
            }
        }
    }
    picture
}
