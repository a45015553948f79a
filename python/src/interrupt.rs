//! Ctrl-C while Rust works: looked for between the steps of a change, and what became of the change is said.

use pyo3::prelude::*;

use crate::errors::Result;

/// The note on an interrupt before anything was changed.
pub(crate) const UNCHANGED: &str = "e2bki: the map is unchanged; the frame was not inserted";

/// The note on an interrupt that came too late to stop the change.
pub(crate) const CHANGED: &str = "e2bki: the frame is in the map; the interrupt came while the map was being changed";

/// Lets Python handle its signals; what its handler raises goes on with a note (from Python 3.11).
pub(crate) fn check(py: Python<'_>, note: &str) -> Result<()> {
    py.check_signals().map_err(|error| {
        error.value(py).call_method1("add_note", (note,)).ok();
        error.into()
    })
}

/// The same while Python goes on. It is for the main thread only, as all signals of Python are.
pub(crate) fn check_within(note: &str) -> Result<()> {
    Python::attach(|py| check(py, note))
}
