//! A camera and where it is on the sensor: points to image coordinates.

use e2bki::Pose;

use super::lens::Lens;
use crate::error::Flaw;
use crate::parse::rigid;

/// Largest side of an image, pixels.
pub const MAX_SIDE: usize = 16_384;

/// Most pixels of an image: a few bytes are kept for each.
pub const MAX_PIXELS: usize = 1 << 26;

/// Refuses a size that no image of a camera has: some memory is taken for every pixel.
pub fn check_size(size: [usize; 2]) -> Result<[usize; 2], Flaw> {
    let [width, height] = size;
    let sides = size.iter().all(|side| (1..=MAX_SIDE).contains(side));
    if sides && width * height <= MAX_PIXELS {
        return Ok(size);
    }
    Err(Flaw::new(format!(
        "an image of {width}×{height} pixels; 1 to {MAX_SIDE} each way and {MAX_PIXELS} in all are possible"
    )))
}

/// A pinhole camera with a lens, mounted on the sensor. Camera axes: x right, y down, z along the view.
#[derive(Debug, Clone, PartialEq)]
pub struct Camera {
    /// Width and height of its images, pixels.
    pub size: [usize; 2],
    /// Focal lengths, pixels.
    pub focal: [f64; 2],
    /// Principal point, pixels.
    pub center: [f64; 2],
    /// The lens.
    pub lens: Lens,
    /// Sensor to camera.
    pub camera_from_sensor: Pose,
    /// Image coordinate of a pixel's centre less its index: 0.5 where the makers take the floor, 0 where they round.
    pub pixel_center: f64,
}

/// Where a point is in the image.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Projected {
    /// Position in pixels from the image's upper left corner: pixel i spans [i, i + 1).
    pub position: [f64; 2],
    /// Distance along the view, metres.
    pub depth: f64,
}

impl Projected {
    /// Column and row of the pixel.
    pub fn pixel(&self) -> [usize; 2] {
        self.position.map(|v| v as usize)
    }
}

impl Camera {
    /// A rectified camera of a 3×4 projection matrix (by rows) behind a transform. A fourth column moves the camera.
    pub fn from_projection(p: [f64; 12], size: [usize; 2], rectified_from_sensor: &Pose) -> Result<Self, Flaw> {
        let [fx, _, cx, a, _, fy, cy, b, _, _, w, c] = p;
        if fx <= 0.0 || fy <= 0.0 || (w - 1.0).abs() > 1e-6 || p[1] != 0.0 || p[4] != 0.0 {
            return Err(Flaw::new(format!("{p:?} is not the projection matrix of a rectified camera")));
        }
        // P = K [1 | t], so t = K⁻¹ times the last column.
        let t = [(a - cx * c) / fx, (b - cy * c) / fy, c];
        let moved = rigid(&[1.0, 0.0, 0.0, t[0], 0.0, 1.0, 0.0, t[1], 0.0, 0.0, 1.0, t[2]])?;
        let camera_from_sensor = moved.after(rectified_from_sensor).map_err(|e| Flaw::new(e.to_string()))?;
        Ok(Self {
            size,
            focal: [fx, fy],
            center: [cx, cy],
            lens: Lens::default(),
            camera_from_sensor,
            pixel_center: 0.0,
        })
    }

    /// Where a point of the sensor's frame is in the image; nothing if it is behind the camera or outside the image.
    pub fn project(&self, point: [f64; 3]) -> Option<Projected> {
        let [x, y, z] = self.camera_from_sensor.apply(point);
        // Closer than a millimetre there is no image; this also turns away what is not a number.
        if !(z > 1e-3 && z < f64::INFINITY) {
            return None;
        }
        let [x, y] = self.lens.bend([x / z, y / z])?;
        let position = [
            self.focal[0] * x + self.center[0] + 0.5 - self.pixel_center,
            self.focal[1] * y + self.center[1] + 0.5 - self.pixel_center,
        ];
        let inside = (0..2).all(|i| position[i] >= 0.0 && position[i] < self.size[i] as f64);
        inside.then_some(Projected { position, depth: z })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_projection_matrix_s_fourth_column_moves_the_camera() {
        let p = [700.0, 0.0, 600.0, -339.0, 0.0, 700.0, 180.0, 2.2, 0.0, 0.0, 1.0, 0.003];
        let camera = Camera::from_projection(p, [1241, 376], &Pose::IDENTITY).unwrap();
        let x = [1.5, -0.4, 9.0];
        let row = |k: usize| p[4 * k] * x[0] + p[4 * k + 1] * x[1] + p[4 * k + 2] * x[2] + p[4 * k + 3];
        let seen = camera.project(x).unwrap();
        // Pixels of KITTI are counted from their centres.
        assert!((seen.position[0] - 0.5 - row(0) / row(2)).abs() < 1e-9);
        assert!((seen.position[1] - 0.5 - row(1) / row(2)).abs() < 1e-9);
        assert!((seen.depth - row(2)).abs() < 1e-12);
        assert_eq!(camera.project([0.0, 0.0, -5.0]), None);
        assert_eq!(camera.project([f64::NAN, 0.0, 5.0]), None);
        assert_eq!(camera.project([90.0, 0.0, 5.0]), None);
        let skewed = [700.0, 3.0, 600.0, 0.0, 0.0, 700.0, 180.0, 0.0, 0.0, 0.0, 1.0, 0.0];
        assert!(Camera::from_projection(skewed, [1241, 376], &Pose::IDENTITY).is_err());
    }
}
