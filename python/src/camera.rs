//! `Camera`: from points to pixels, and the values of a network's output there.

use e2bki_data::camera::{Brown, Camera, Lens, Projected, Sampler, check_size, visible};
use e2bki_data::parse::Grid;
use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::arrays;
use crate::errors::{Failure, Result};
use crate::threads;

/// A pinhole camera with a lens, mounted on the sensor. Camera axes: x right, y down, z along the view.
///
/// Camera(size, *, focal, center, distortion=(0, 0, 0, 0, 0), camera_from_sensor=None, pixel_center=0.5)
///     size: (width, height) pixels; focal, center: two numbers each, pixels; distortion: k1, k2, p1, p2, k3;
///     camera_from_sensor: (4, 4) rigid motion, metres; pixel_center: image coordinate of a pixel's centre less its
///     index, 0.5 or 0.
#[pyclass(name = "Camera", module = "e2bki.data", frozen, from_py_object)]
#[derive(Clone)]
pub(crate) struct PyCamera(pub(crate) Camera);

impl PyCamera {
    fn projected(&self, points: &[[f32; 3]]) -> Vec<Option<Projected>> {
        points.par_iter().with_min_len(4096).map(|p| self.0.project(p.map(f64::from))).collect()
    }
}

#[pymethods]
impl PyCamera {
    #[new]
    #[pyo3(signature = (size, *, focal, center, distortion = None, camera_from_sensor = None, pixel_center = 0.5))]
    fn new(
        size: [usize; 2],
        focal: [f64; 2],
        center: [f64; 2],
        distortion: Option<[f64; 5]>,
        camera_from_sensor: Option<&Bound<'_, PyAny>>,
        pixel_center: f64,
    ) -> Result<Self> {
        // The limit of every camera, read or made: memory is taken for each pixel.
        check_size(size).map_err(|flaw| Failure::value(format!("`size`: {}", flaw.what)))?;
        let all = focal.iter().chain(&center).chain([&pixel_center]).chain(distortion.iter().flatten());
        if all.clone().any(|v| !v.is_finite()) || focal.iter().any(|v| *v <= 0.0) {
            return Err(Failure::value("a camera's numbers must be finite and its focal lengths positive"));
        }
        let camera_from_sensor = arrays::pose(camera_from_sensor, "camera_from_sensor")?;
        let lens = distortion.map_or_else(Lens::default, |d| Brown::new(d).into());
        Ok(Self(Camera { size, focal, center, lens, camera_from_sensor, pixel_center }))
    }

    /// project(points) -> array
    ///
    /// Where points (N, 3) of the sensor's frame are in the image: (N, 3) float64 of column, row (pixels from the upper
    /// left corner) and depth (metres); NaN behind the camera and outside of the image.
    fn project<'py>(&self, py: Python<'py>, points: &Bound<'py, PyAny>) -> Result<Bound<'py, PyArray2<f64>>> {
        let points = arrays::rows_f32::<3>(points, "points")?;
        let rows = threads::work(py, || self.projected(&points).iter().map(place).collect())?;
        arrays::to_rows(py, rows)
    }

    /// visible(points, *, window=5) -> array
    ///
    /// Whether the camera sees each point (N, 3): inside of the image, and not clearly behind the nearest point within
    /// so many pixels. (N,) bool.
    #[pyo3(signature = (points, *, window = 5))]
    fn visible<'py>(
        &self,
        py: Python<'py>,
        points: &Bound<'py, PyAny>,
        window: usize,
    ) -> Result<Bound<'py, PyArray1<bool>>> {
        let points = arrays::rows_f32::<3>(points, "points")?;
        if window > 1001 {
            return Err(Failure::value(format!("`window` is {window} pixels; allowed: up to 1001")));
        }
        let seen = threads::work(py, || visible(&self.projected(&points), self.0.size, window))?;
        Ok(PyArray1::from_vec(py, seen))
    }

    /// sample(points, *, values) -> array
    ///
    /// Lifts a network's output onto points: values (C, H, W), often coarser than the image; points (N, 3) in the
    /// sensor's frame. (N, C) float32, bilinear; NaN outside of the image.
    #[pyo3(signature = (points, *, values))]
    fn sample<'py>(
        &self,
        py: Python<'py>,
        points: &Bound<'py, PyAny>,
        values: &Bound<'py, PyAny>,
    ) -> Result<Bound<'py, PyArray2<f32>>> {
        let points = arrays::rows_f32::<3>(points, "points")?;
        let (planes, [channels, height, width]) = arrays::cube_f32(values, "values", "(C, H, W)")?;
        if planes.is_empty() {
            return Err(Failure::value("`values` is empty"));
        }
        let sampled = threads::work(py, || {
            let cells = height * width;
            let mut grid = Grid { channels, height, width, values: vec![0.0; planes.len()] };
            for (channel, plane) in planes.chunks_exact(cells).enumerate() {
                plane.iter().enumerate().for_each(|(cell, value)| grid.values[cell * channels + channel] = *value);
            }
            let sampler = Sampler::new(&grid, self.0.size);
            let mut sampled = vec![f32::NAN; points.len() * channels];
            let rows = sampled.par_chunks_exact_mut(channels).zip(&points).with_min_len(4096);
            let look_up = |one: &mut Vec<f32>, (row, point): (&mut [f32], &[f32; 3])| {
                if let Some(at) = self.0.project(point.map(f64::from)) {
                    sampler.at(at.position, one, row);
                }
            };
            rows.for_each_init(|| vec![0.0; channels], look_up);
            sampled
        })?;
        arrays::to_matrix(py, sampled, [points.len(), channels])
    }

    /// Width and height, pixels.
    #[getter]
    fn size(&self) -> (usize, usize) {
        (self.0.size[0], self.0.size[1])
    }

    /// Focal lengths, pixels.
    #[getter]
    fn focal(&self) -> (f64, f64) {
        (self.0.focal[0], self.0.focal[1])
    }

    /// Principal point, pixels.
    #[getter]
    fn center(&self) -> (f64, f64) {
        (self.0.center[0], self.0.center[1])
    }

    /// Sensor to camera: (4, 4) float64, metres.
    #[getter]
    fn camera_from_sensor<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyArray2<f64>>> {
        arrays::to_pose(py, &self.0.camera_from_sensor)
    }

    fn __repr__(&self) -> String {
        let ([width, height], [fx, fy]) = (self.0.size, self.0.focal);
        format!("<e2bki.data.Camera: {width} × {height} pixels, focal lengths {fx:.1} and {fy:.1}>")
    }
}

/// Column, row and depth of a point; NaN where it is not in the image.
pub(crate) fn place(at: &Option<Projected>) -> [f64; 3] {
    at.map_or([f64::NAN; 3], |at| [at.position[0], at.position[1], at.depth])
}
