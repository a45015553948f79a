//! `FrameReport`, `Dropped`, `Timings`: what became of a frame.

use e2bki::{Dropped, FrameReport, Timings};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Points of a frame that were not used, by reason.
#[pyclass(name = "Dropped", module = "e2bki", frozen, eq, get_all, from_py_object)]
#[derive(Clone, PartialEq)]
pub(crate) struct PyDropped {
    /// A coordinate is NaN or infinite.
    non_finite_point: usize,
    /// All coordinates are zero: no return.
    no_return: usize,
    /// Nearer than `min_range`.
    too_near: usize,
    /// Farther than `max_range`, or outside of the world's limits.
    too_far: usize,
    /// A semantic value is NaN or infinite.
    non_finite_semantics: usize,
    /// The semantic values cannot be made an opinion.
    improper_opinion: usize,
    /// The label is none of the classes.
    unlabelled: usize,
    /// No belief in any class.
    no_evidence: usize,
    /// All together.
    total: usize,
}

impl From<Dropped> for PyDropped {
    fn from(d: Dropped) -> Self {
        Self {
            total: d.total(),
            non_finite_point: d.non_finite_point,
            no_return: d.no_return,
            too_near: d.too_near,
            too_far: d.too_far,
            non_finite_semantics: d.non_finite_semantics,
            improper_opinion: d.improper_opinion,
            unlabelled: d.unlabelled,
            no_evidence: d.no_evidence,
        }
    }
}

impl PyDropped {
    fn by_reason(&self) -> [(&'static str, usize); 8] {
        [
            ("non_finite_point", self.non_finite_point),
            ("no_return", self.no_return),
            ("too_near", self.too_near),
            ("too_far", self.too_far),
            ("non_finite_semantics", self.non_finite_semantics),
            ("improper_opinion", self.improper_opinion),
            ("unlabelled", self.unlabelled),
            ("no_evidence", self.no_evidence),
        ]
    }
}

#[pymethods]
impl PyDropped {
    /// to_dict() -> dict[str, int]
    ///
    /// Counts by reason.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let all = PyDict::new(py);
        self.by_reason().iter().try_for_each(|(reason, count)| all.set_item(reason, count))?;
        Ok(all)
    }

    fn __repr__(&self) -> String {
        let some = self.by_reason().into_iter().filter(|(_, count)| *count > 0);
        let all: Vec<String> = some.map(|(reason, count)| format!(", {reason}={count}")).collect();
        format!("Dropped(total={}{})", self.total, all.concat())
    }
}

/// Seconds spent in each stage of an insertion.
#[pyclass(name = "Timings", module = "e2bki", frozen, eq, get_all, from_py_object)]
#[derive(Clone, PartialEq)]
pub(crate) struct PyTimings {
    /// Checking and converting the input, seconds.
    sanitise: f64,
    /// Agreement of hard labels, learned confusion, neighbours and class trust, seconds.
    context: f64,
    /// Grouping points, seconds.
    cluster: f64,
    /// Summing points into primitives and the uncertainty gate, seconds.
    fuse: f64,
    /// Adding primitives to the map, seconds.
    insert: f64,
    /// Pruning and merging, seconds.
    refine: f64,
    /// Updating the live voxels, seconds.
    view: f64,
    /// All stages, seconds.
    total: f64,
}

impl From<Timings> for PyTimings {
    fn from(t: Timings) -> Self {
        let [sanitise, context, cluster, fuse, insert, refine, view] =
            t.by_stage().map(|(_, duration)| duration.as_secs_f64());
        Self { sanitise, context, cluster, fuse, insert, refine, view, total: t.total().as_secs_f64() }
    }
}

impl PyTimings {
    fn by_stage(&self) -> [(&'static str, f64); 7] {
        [
            ("sanitise", self.sanitise),
            ("context", self.context),
            ("cluster", self.cluster),
            ("fuse", self.fuse),
            ("insert", self.insert),
            ("refine", self.refine),
            ("view", self.view),
        ]
    }
}

#[pymethods]
impl PyTimings {
    /// to_dict() -> dict[str, float]
    ///
    /// Seconds by stage.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let all = PyDict::new(py);
        self.by_stage().iter().try_for_each(|(stage, time)| all.set_item(stage, time))?;
        Ok(all)
    }

    fn __repr__(&self) -> String {
        let all = self.by_stage().map(|(stage, time)| format!("{stage} {:.2} ms", time * 1e3));
        format!("<e2bki.Timings: {}; total {:.2} ms>", all.join(", "), self.total * 1e3)
    }
}

/// Account of an inserted frame: received = kept + dropped.total, always.
#[pyclass(name = "FrameReport", module = "e2bki", frozen, get_all, from_py_object)]
#[derive(Clone)]
pub(crate) struct PyFrameReport {
    /// Points given.
    received: usize,
    /// Points used.
    kept: usize,
    /// Points not used, by reason.
    dropped: PyDropped,
    /// Points used after their opinion was made proper.
    repaired: usize,
    /// Primitives made of the frame's points.
    clusters: usize,
    /// Primitives stopped by the uncertainty gate.
    gated: usize,
    /// Primitives added to one of the same class in the same cube.
    folded: usize,
    /// Primitives not added because the map has as much there as can be summed exactly.
    saturated: usize,
    /// Primitives removed because a nearer one contradicts them.
    pruned: usize,
    /// Primitives absorbed by an agreeing neighbour.
    merged: usize,
    /// Primitives in the map afterwards.
    primitives: usize,
    /// Live voxels that were computed anew.
    voxels_updated: usize,
    /// Whether the frame was counted for free space.
    counted: bool,
    /// Points in space that was known to be free before the frame.
    moving: usize,
    /// Why the frame says nothing of free space, if that was asked and it does not.
    free_space_off: Option<String>,
    /// Seconds by stage.
    timings: PyTimings,
}

impl From<FrameReport> for PyFrameReport {
    fn from(r: FrameReport) -> Self {
        let free = r.free_space.unwrap_or_default();
        Self {
            received: r.received,
            kept: r.kept,
            dropped: r.dropped.into(),
            repaired: r.repaired,
            clusters: r.clusters,
            gated: r.gated,
            folded: r.folded,
            saturated: r.saturated,
            pruned: r.pruned,
            merged: r.merged,
            primitives: r.primitives,
            voxels_updated: r.voxels_updated,
            counted: free.counted,
            moving: free.moving,
            free_space_off: free.off,
            timings: r.timings.into(),
        }
    }
}

#[pymethods]
impl PyFrameReport {
    fn __repr__(&self) -> String {
        format!(
            "<e2bki.FrameReport: {} points received, {} kept; {} clusters, {} gated, {} folded, {} pruned, {} merged; \
             {} primitives, {:.1} ms>",
            self.received,
            self.kept,
            self.clusters,
            self.gated,
            self.folded,
            self.pruned,
            self.merged,
            self.primitives,
            self.timings.total * 1e3
        )
    }
}
