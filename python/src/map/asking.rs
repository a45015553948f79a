//! What a map is asked: beliefs, primitives, voxels, grids, ways.

use std::time::Instant;

use e2bki::free::BAND_M;
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::PyMap;
use crate::arrays;
use crate::beliefs::{PyBeliefs, PyCells, PyVoxels, Source};
use crate::errors::Result;
use crate::layers::{self, Asked};
use crate::primitives::{Columns, PyPrimitives};

#[pymethods]
impl PyMap {
    /// query(points) -> Beliefs
    ///
    /// Beliefs at world positions: points (N, 3), metres. Positions that are not finite are unobserved.
    fn query(&self, py: Python<'_>, points: &Bound<'_, PyAny>) -> Result<PyBeliefs> {
        let points = arrays::rows_f64::<3>(points, "points")?;
        let (beliefs, seconds) = self.read(py, |map| {
            let start = Instant::now();
            (map.query(&points), start.elapsed().as_secs_f64())
        })?;
        Ok(PyBeliefs::new(Source::Full(beliefs), self.classes.clone()).timed(seconds))
    }

    /// query_bev(points, *, band=None) -> Beliefs
    ///
    /// Beliefs at world positions x, y seen from above: points (N, 2), metres. Their state is that of the space over the
    /// ground between the two heights of the band (0.5 and 1.75 m if not given).
    #[pyo3(signature = (points, *, band = None))]
    fn query_bev(&self, py: Python<'_>, points: &Bound<'_, PyAny>, band: Option<[f64; 2]>) -> Result<PyBeliefs> {
        let points = arrays::rows_f64::<2>(points, "points")?;
        let beliefs = self.read(py, |map| {
            Ok::<_, e2bki::Error>(map.birds_eye()?.with_band(band.unwrap_or(BAND_M))?.query(&points))
        })??;
        Ok(PyBeliefs::new(Source::Full(beliefs), self.classes.clone()))
    }

    /// moving(points, *, world_from_sensor) -> array
    ///
    /// For every point of a scan whether it is in space that is known to be free, so that it moves: (N,) bool. points (N, 3),
    /// metres, as the sensor saw them; all False without free space.
    #[pyo3(signature = (points, *, world_from_sensor))]
    fn moving<'py>(
        &self,
        py: Python<'py>,
        points: &Bound<'_, PyAny>,
        world_from_sensor: &Bound<'_, PyAny>,
    ) -> Result<Bound<'py, PyArray1<bool>>> {
        let points = arrays::rows_f32::<3>(points, "points")?;
        let pose = arrays::pose(Some(world_from_sensor), "world_from_sensor")?;
        let moving = self.read(py, |map| map.moving(&points, &pose))?;
        Ok(PyArray1::from_vec(py, moving))
    }

    /// primitives() -> Primitives
    ///
    /// The Gaussians of the map as arrays: by place and class, or oldest first in maps that are not sums.
    fn primitives(&self, py: Python<'_>) -> Result<PyPrimitives> {
        let columns = self.read(py, Columns::of)?;
        PyPrimitives::new(py, columns, self.classes.clone())
    }

    /// content_hash() -> str
    ///
    /// A hash of what the map holds, without the names of drives: maps of the same frames have the same hash, whatever the
    /// order of frames, threads and merges, if they are sums (as with the default parameters).
    fn content_hash(&self, py: Python<'_>) -> Result<String> {
        Ok(self.read(py, e2bki_store::content_hash_of)??)
    }

    /// voxels(*, resolution=None) -> Voxels
    ///
    /// Voxels of any side (metres; the configured one if not given) that hold evidence.
    #[pyo3(signature = (*, resolution = None))]
    fn voxels(&self, py: Python<'_>, resolution: Option<f64>) -> Result<Py<PyVoxels>> {
        let voxels = self.read(py, |map| map.voxels(resolution.unwrap_or(map.config().views.resolution)))??;
        PyVoxels::of(py, voxels, self.classes.clone())
    }

    /// live_voxels() -> Voxels
    ///
    /// The voxels that are kept up to date with every frame; of each only the most likely class is known.
    fn live_voxels(&self, py: Python<'_>) -> Result<Py<PyVoxels>> {
        let (resolution, (centers, beliefs)) = self.read(py, |map| {
            let voxels: (Vec<_>, Vec<_>) = map.live_voxels().map(|voxel| (voxel.center, voxel.belief)).unzip();
            (map.config().views.resolution, voxels)
        })?;
        PyVoxels::new(py, resolution, centers, Source::Best(beliefs), self.classes.clone())
    }

    /// bev(*, resolution=None, band=None) -> Cells
    ///
    /// Bird's-eye cells of any side (metres; the configured one if not given) that hold evidence. Their state is that of the
    /// space over the ground between the two heights of the band (0.5 and 1.75 m if not given).
    #[pyo3(signature = (*, resolution = None, band = None))]
    fn bev(&self, py: Python<'_>, resolution: Option<f64>, band: Option<[f64; 2]>) -> Result<Py<PyCells>> {
        let cells = self.read(py, |map| {
            map.birds_eye()?
                .with_band(band.unwrap_or(BAND_M))?
                .cells(resolution.unwrap_or(map.config().views.resolution))
        })??;
        PyCells::of(py, cells, self.classes.clone())
    }

    /// layers(*, resolution=0.2, region=None, robot=None, unknown="error") -> dict
    ///
    /// Grids for planners: every layer by name as an array of rows × columns, row 0 the southernmost, with "probability"
    /// (rows × columns × classes), "occupancy" (as in nav_msgs/OccupancyGrid), "corner" (x, y of the south-western corner)
    /// and "resolution". region: (x0, y0, x1, y1), metres; robot: a TOML file or a dict of its fields; unknown: "error" or
    /// "lethal", what to do with classes whose cost nobody has said.
    #[pyo3(signature = (*, resolution = 0.2, region = None, robot = None, unknown = "error"))]
    fn layers<'py>(
        &self,
        py: Python<'py>,
        resolution: f64,
        region: Option<&Bound<'py, PyAny>>,
        robot: Option<&Bound<'py, PyAny>>,
        unknown: &str,
    ) -> Result<Bound<'py, PyDict>> {
        let asked = Asked::new(resolution, region, robot, unknown)?;
        let found = self.read(py, |map| asked.compute(map))??;
        layers::to_dict(py, &found)
    }

    /// plan(start, goal, *, resolution=0.2, region=None, robot=None, unknown="error") -> dict
    ///
    /// The cheapest way between two places (x, y) for a robot: "points" (N, 3), "cost" and "risk" along it, the numbers of the
    /// points where it turns ("corners"), its "length", what it is "worth" in metres of best ground, and "max_risk".
    #[pyo3(signature = (start, goal, *, resolution = 0.2, region = None, robot = None, unknown = "error"))]
    #[allow(clippy::too_many_arguments)]
    fn plan<'py>(
        &self,
        py: Python<'py>,
        start: &Bound<'py, PyAny>,
        goal: &Bound<'py, PyAny>,
        resolution: f64,
        region: Option<&Bound<'py, PyAny>>,
        robot: Option<&Bound<'py, PyAny>>,
        unknown: &str,
    ) -> Result<Bound<'py, PyDict>> {
        let asked = Asked::new(resolution, region, robot, unknown)?;
        let (start, goal) = (arrays::numbers::<2>(start, "start")?, arrays::numbers::<2>(goal, "goal")?);
        let way = self.read(py, |map| e2bki_layers::plan(&asked.compute(map)?, start, goal))??;
        layers::way_dict(py, &way)
    }
}
