//! The extension module of the Python package `e2bki`: arrays in, arrays out, the interpreter free while Rust works.
//!
//! One file per topic; the package around it (`python/e2bki`) only sorts the names into modules.

mod arrays;
mod baselines;
mod beliefs;
mod camera;
mod classes;
mod config;
mod data;
mod errors;
mod fleet;
mod frame;
mod gate;
mod interrupt;
mod layers;
mod map;
mod metrics;
mod primitives;
mod report;
mod sim;
mod store;
mod submaps;
mod threads;
mod view;

use std::ffi::OsString;

use pyo3::prelude::*;

/// run(arguments) -> int
///
/// Runs a command of the program `e2bki`, as run(["experiment", "table-full"]); returns its exit code. What it prints goes
/// to the standard output of the process.
#[pyfunction]
fn run(py: Python<'_>, arguments: Vec<OsString>) -> errors::Result<u8> {
    threads::work(py, || e2bki_cli::run(std::iter::once("e2bki".into()).chain(arguments)))
}

#[pymodule]
fn _e2bki(module: &Bound<'_, PyModule>) -> PyResult<()> {
    threads::start();
    let py = module.py();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("Error", py.get_type::<errors::Error>())?;
    module.add("DamagedMapError", py.get_type::<errors::DamagedMapError>())?;
    let exports = e2bki_store::Format::ALL.map(|(_, name, ending, about)| (name, (ending, about)));
    module.add("EXPORTS", std::collections::BTreeMap::from(exports))?;
    module.add_class::<classes::PyClasses>()?;
    module.add_class::<config::PyConfig>()?;
    module.add_class::<frame::PyFrame>()?;
    module.add_class::<report::PyDropped>()?;
    module.add_class::<report::PyTimings>()?;
    module.add_class::<report::PyFrameReport>()?;
    module.add_class::<beliefs::PyBeliefs>()?;
    module.add_class::<beliefs::PyVoxels>()?;
    module.add_class::<beliefs::PyCells>()?;
    module.add_class::<primitives::PyPrimitives>()?;
    module.add_class::<map::PyMap>()?;
    module.add_class::<store::PyRollingMap>()?;
    module.add_class::<baselines::PyBaseline>()?;
    module.add_class::<baselines::PyConvKernels>()?;
    module.add_class::<camera::PyCamera>()?;
    module.add_class::<data::PyDataset>()?;
    module.add_class::<data::PyFrames>()?;
    module.add_class::<sim::PyDrive>()?;
    module.add_class::<sim::PySimFrames>()?;
    module.add_class::<view::PyViewer>()?;
    module.add_function(wrap_pyfunction!(baselines::train_kernels, module)?)?;
    module.add_function(wrap_pyfunction!(data::class_tables, module)?)?;
    module.add_function(wrap_pyfunction!(data::alignment, module)?)?;
    module.add_function(wrap_pyfunction!(sim::simulate, module)?)?;
    module.add_function(wrap_pyfunction!(metrics::evaluate_beliefs, module)?)?;
    module.add_function(wrap_pyfunction!(metrics::evaluate_labels, module)?)?;
    module.add_function(wrap_pyfunction!(metrics::calibrate_source, module)?)?;
    module.add_function(wrap_pyfunction!(metrics::compare, module)?)?;
    module.add_function(wrap_pyfunction!(store::load, module)?)?;
    module.add_function(wrap_pyfunction!(store::import_npz, module)?)?;
    module.add_function(wrap_pyfunction!(store::info, module)?)?;
    module.add_function(wrap_pyfunction!(store::check, module)?)?;
    module.add_function(wrap_pyfunction!(store::recover, module)?)?;
    module.add_function(wrap_pyfunction!(store::merge_files, module)?)?;
    module.add_function(wrap_pyfunction!(fleet::fleet_init, module)?)?;
    module.add_function(wrap_pyfunction!(fleet::fleet_add, module)?)?;
    module.add_function(wrap_pyfunction!(fleet::fleet_plan, module)?)?;
    module.add_function(wrap_pyfunction!(fleet::fleet_reduce, module)?)?;
    module.add_function(wrap_pyfunction!(fleet::fleet_commit, module)?)?;
    module.add_function(wrap_pyfunction!(fleet::fleet_remove, module)?)?;
    module.add_function(wrap_pyfunction!(fleet::fleet_verify, module)?)?;
    module.add_function(wrap_pyfunction!(fleet::fleet_clean, module)?)?;
    module.add_function(wrap_pyfunction!(fleet::fleet_export, module)?)?;
    module.add_function(wrap_pyfunction!(fleet::fleet_levels, module)?)?;
    module.add_function(wrap_pyfunction!(fleet::fleet_status, module)?)?;
    module.add_function(wrap_pyfunction!(view::view, module)?)?;
    module.add_function(wrap_pyfunction!(run, module)?)
}
