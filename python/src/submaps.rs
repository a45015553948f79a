//! Submaps as dictionaries.

use std::collections::BTreeMap;

use e2bki::Pose;
use e2bki::submaps::{Submap, SubmapChange};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays;
use crate::errors::Result;

/// What is said of a submap.
pub(crate) struct Described {
    id: u32,
    source: String,
    frames: u64,
    sums: usize,
    extent: ([f64; 3], [f64; 3]),
    pose: Pose,
    trust: f64,
}

impl Described {
    pub(crate) fn of(submap: &Submap) -> Self {
        let part = submap.part();
        Self {
            id: submap.id(),
            source: submap.source().into(),
            frames: submap.frame_count(),
            sums: part.len(),
            extent: part.extent().unwrap_or_default(),
            pose: submap.pose(),
            trust: submap.trust().factor(),
        }
    }

    pub(crate) fn dict(self, py: Python<'_>) -> Result<Bound<'_, PyDict>> {
        let all = PyDict::new(py);
        all.set_item("id", self.id)?;
        all.set_item("source", self.source)?;
        all.set_item("frames", self.frames)?;
        all.set_item("sums", self.sums)?;
        all.set_item("low", self.extent.0)?;
        all.set_item("high", self.extent.1)?;
        let (r, t) = (self.pose.rotation(), self.pose.translation());
        let row = |i: usize| if i < 3 { [r[i][0], r[i][1], r[i][2], t[i]] } else { [0.0, 0.0, 0.0, 1.0] };
        all.set_item("world_from_submap", arrays::to_rows(py, (0..4).map(row).collect())?)?;
        all.set_item("trust", self.trust)?;
        Ok(all)
    }
}

/// Where the sensor is on what poses are of, if that was said.
pub(crate) fn mounting(body_from_sensor: Option<&Bound<'_, PyAny>>) -> Result<Option<Pose>> {
    body_from_sensor.map(|motion| arrays::pose(Some(motion), "body_from_sensor")).transpose()
}

/// Poses of the sensor by number of submap or frame, `poses` being of what the sensor is mounted on if that was said.
pub(crate) fn poses_of<K: for<'a, 'py> FromPyObject<'a, 'py, Error = PyErr> + Ord>(
    poses: &Bound<'_, PyDict>,
    mounted: Option<Pose>,
    name: &str,
) -> Result<BTreeMap<K, Pose>> {
    let mut all = BTreeMap::new();
    for (number, pose) in poses.iter() {
        let pose = arrays::pose(Some(&pose), name)?;
        all.insert(number.extract::<K>()?, mounted.map_or(Ok(pose), |mounted| pose.after(&mounted))?);
    }
    Ok(all)
}

/// Refuses poses that are turned all along a drive, as those of another sensor are, unless it was said what they are of.
pub(crate) fn refuse_turned(degrees: Option<f64>, mounted: Option<Pose>) -> e2bki::Result<()> {
    match degrees.filter(|_| mounted.is_none()) {
        None => Ok(()),
        Some(degrees) => Err(e2bki::Error::Unsupported(format!(
            "these are not poses of the sensor: along the whole drive they go {degrees:.0}° elsewhere than its frames did, \
             in steps of the same length; say with `body_from_sensor` where the sensor is on what they are of \
             (numpy.eye(4) if they are right)"
        ))),
    }
}

/// What a change of submaps did.
pub(crate) fn changed(py: Python<'_>, done: SubmapChange) -> Result<Bound<'_, PyDict>> {
    let all = PyDict::new(py);
    all.set_item("submaps", done.submaps)?;
    all.set_item("altered", done.altered)?;
    all.set_item("made", done.made)?;
    all.set_item("removed", done.removed)?;
    Ok(all)
}
