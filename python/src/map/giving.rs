//! A map for others: files, tables, pictures, the viewer.

use std::path::PathBuf;

use e2bki_store::{CostTable, ExportOptions, Format};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::PyMap;
use crate::arrays;
use crate::errors::{Failure, Result};

#[pymethods]
impl PyMap {
    /// save(path, *, sources=()) -> None
    ///
    /// Saves the map to a file, whole or not at all. sources: names of the drives that went in, so that none is merged
    /// twice unnoticed.
    #[pyo3(signature = (path, *, sources = Vec::new()))]
    fn save(&self, py: Python<'_>, path: PathBuf, sources: Vec<String>) -> Result<()> {
        self.read(py, |map| e2bki_store::save_with(map, &sources, path))??;
        Ok(())
    }

    /// export(path, *, format=None, resolution=None, costs=None, max_uncertainty=1.0, gone=False) -> list[pathlib.Path]
    ///
    /// Writes the map in the format of another program; returns the files written. format: see `e2bki.EXPORTS`, told
    /// from the ending if not given; resolution: side of voxels and cells, metres; costs: {class: 0 … 100} and
    /// max_uncertainty: for cost grids; gone: also what was seen through since and is no longer there.
    #[pyo3(signature = (path, *, format = None, resolution = None, costs = None, max_uncertainty = 1.0, gone = false))]
    #[allow(clippy::too_many_arguments)]
    fn export(
        &self,
        py: Python<'_>,
        path: PathBuf,
        format: Option<&str>,
        resolution: Option<f64>,
        costs: Option<&Bound<'_, PyDict>>,
        max_uncertainty: f64,
        gone: bool,
    ) -> Result<Vec<PathBuf>> {
        let format = match format {
            Some(name) => Format::by_name(name)?,
            None => Format::of_path(&path)?,
        };
        let mut table = CostTable::default();
        for (name, cost) in costs.into_iter().flat_map(|costs| costs.iter()) {
            table.add(&format!("{name}={cost}"))?;
        }
        table.fall_back(&e2bki_layers::with_known_costs(self.classes.clone())?);
        let options = ExportOptions { resolution, costs: table, max_uncertainty, gone };
        Ok(self.read(py, |map| e2bki_store::export(map, format, path, &options))??)
    }

    /// to_pandas() -> pandas.DataFrame
    ///
    /// The primitives, one row each. Needs pandas.
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.call_method0("primitives")?.call_method0("to_pandas")
    }

    /// to_arrow() -> pyarrow.Table
    ///
    /// The primitives, one row each. Needs pyarrow.
    fn to_arrow<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.call_method0("primitives")?.call_method0("to_arrow")
    }

    /// plot_bev(*, value="class", resolution=None, ax=None) -> matplotlib.axes.Axes
    ///
    /// Draws the map from above: value "class", "u", "u_sem", "u_spa", "variance" or "confidence"; resolution in metres.
    /// Needs matplotlib.
    #[pyo3(signature = (*, value = "class", resolution = None, ax = None))]
    fn plot_bev<'py>(
        slf: &Bound<'py, Self>,
        value: &str,
        resolution: Option<f64>,
        ax: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("e2bki._plot")?.call_method1("plot_bev", (slf, value, resolution, ax))
    }

    /// view(**options) -> Viewer
    ///
    /// Shows the map in the browser; see `e2bki.view`.
    #[pyo3(signature = (**options))]
    fn view<'py>(slf: &Bound<'py, Self>, options: Option<&Bound<'py, PyDict>>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("e2bki")?.getattr("view")?.call((slf,), options)
    }

    /// report(path, *, title="A map", trajectory=None) -> None
    ///
    /// Writes a report to look at, one HTML file: what the map holds, how it looks from above, its memory and
    /// parameters. trajectory: (N, 3) metres, where the sensor went.
    #[pyo3(signature = (path, *, title = "A map", trajectory = None))]
    fn report(&self, py: Python<'_>, path: PathBuf, title: &str, trajectory: Option<&Bound<'_, PyAny>>) -> Result<()> {
        let trajectory = trajectory.map(|t| arrays::rows_f64::<3>(t, "trajectory")).transpose()?.unwrap_or_default();
        self.read(py, |map| e2bki_cli::report_map(map, title, &trajectory, &path))?
            .map_err(|e| Failure::value(format!("{e:#}")))
    }
}
