//! Camera geometry: pinhole with Brown lens distortion, or none for rectified images.
//! Camera axes: x right, y down, z along the view.

use crate::maths::{Vec3, vec3};

/// Brown distortion coefficients.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[allow(missing_docs)] // the field's usual names
pub struct Brown {
    pub k1: f64,
    pub k2: f64,
    pub p1: f64,
    pub p2: f64,
    pub k3: f64,
}

impl Brown {
    fn bend(&self, x: f64, y: f64) -> (f64, f64) {
        let r2 = x * x + y * y;
        let radial = 1.0 + r2 * (self.k1 + r2 * (self.k2 + r2 * self.k3));
        (
            x * radial + 2.0 * self.p1 * x * y + self.p2 * (r2 + 2.0 * x * x),
            y * radial + self.p1 * (r2 + 2.0 * y * y) + 2.0 * self.p2 * x * y,
        )
    }

    fn unbend(&self, x: f64, y: f64) -> (f64, f64) {
        let (mut a, mut b) = (x, y);
        for _ in 0..30 {
            let (u, v) = self.bend(a, b);
            (a, b) = (a + x - u, b + y - v);
        }
        (a, b)
    }
}

/// Intrinsics of a camera.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Camera {
    /// Image width, pixels.
    pub width: usize,
    /// Image height, pixels.
    pub height: usize,
    /// Focal lengths, pixels.
    pub focal: [f64; 2],
    /// Principal point, pixels.
    pub center: [f64; 2],
    /// Lens distortion; zero for rectified images.
    pub distortion: Brown,
    /// Image coordinate of a pixel's centre minus its index: 0.5 when readers take the floor, 0 when they round.
    pub pixel_center: f64,
}

impl Camera {
    /// The RELLIS-3D camera (1920 × 1200) shrunk to `width` pixels.
    pub fn rellis(width: usize) -> Camera {
        let k = width as f64 / 1920.0;
        Camera {
            width,
            height: (1200.0 * k).round() as usize,
            focal: [2813.643275 * k, 2808.326079 * k],
            center: [969.285772 * k, 624.049972 * k],
            distortion: Brown { k1: -0.134313, k2: -0.025905, p1: 0.002181, p2: 0.00084, k3: 0.0 },
            pixel_center: 0.5,
        }
    }

    /// The rectified KITTI-360 camera (1408 × 376) shrunk to `width` pixels.
    pub fn kitti360(width: usize) -> Camera {
        let k = width as f64 / 1408.0;
        Camera {
            width,
            height: (376.0 * k).round() as usize,
            focal: [552.554261 * k, 552.554261 * k],
            center: [682.049453 * k, 238.769549 * k],
            distortion: Brown::default(),
            pixel_center: 0.0,
        }
    }

    /// Image coordinates of a point in camera axes; `None` behind the camera or far outside the lens's field, where
    /// the distortion polynomial folds back.
    pub fn project(&self, p: Vec3) -> Option<[f64; 2]> {
        if p.z <= 1e-6 {
            return None;
        }
        let (x, y) = (p.x / p.z, p.y / p.z);
        let wide = |c: f64, size: usize, f: f64| 1.3 * c.max(size as f64 - c) / f;
        let far = x.abs() > wide(self.center[0], self.width, self.focal[0])
            || y.abs() > wide(self.center[1], self.height, self.focal[1]);
        if far {
            return None;
        }
        let (x, y) = self.distortion.bend(x, y);
        Some([self.focal[0] * x + self.center[0], self.focal[1] * y + self.center[1]])
    }

    /// The pixel `(column, row)` that image coordinates fall in, if inside the image.
    pub fn pixel(&self, [u, v]: [f64; 2]) -> Option<[usize; 2]> {
        let (i, j) = ((u + 0.5 - self.pixel_center).floor(), (v + 0.5 - self.pixel_center).floor());
        (i >= 0.0 && j >= 0.0 && i < self.width as f64 && j < self.height as f64).then_some([i as usize, j as usize])
    }

    /// Unit direction through the centre of a pixel.
    pub fn direction(&self, column: usize, row: usize) -> Vec3 {
        let x = (column as f64 + self.pixel_center - self.center[0]) / self.focal[0];
        let y = (row as f64 + self.pixel_center - self.center[1]) / self.focal[1];
        let (x, y) = if self.distortion == Brown::default() { (x, y) } else { self.distortion.unbend(x, y) };
        vec3(x, y, 1.0).unit()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pixel_s_direction_projects_back_into_it() {
        for camera in [Camera::rellis(640), Camera::rellis(1920), Camera::kitti360(1408)] {
            for row in (0..camera.height).step_by(17) {
                for column in (0..camera.width).step_by(13) {
                    let uv = camera.project(camera.direction(column, row) * 7.0).expect("in front");
                    assert_eq!(camera.pixel(uv), Some([column, row]));
                    assert!((uv[0] - column as f64 - camera.pixel_center).abs() < 1e-6);
                }
            }
        }
    }
}
