//! A map taken apart, corrected and merged.

use e2bki::Mapper;
use e2bki::submaps::{Submap, SubmapRule, Trust};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::PyMap;
use crate::arrays;
use crate::errors::{Failure, Result};
use crate::report::PyFrameReport;
use crate::submaps::{Described, changed, mounting, poses_of, refuse_turned};

#[pymethods]
impl PyMap {
    /// submaps() -> list[dict]
    ///
    /// What every stretch of a drive added, if that is kept: "id", "source", "frames", "sums" (cubes and classes),
    /// "low" and "high" (the box around it as it was inserted, metres), "world_from_submap" (the pose of its first frame
    /// by the latest correction) and "trust".
    fn submaps<'py>(&self, py: Python<'py>) -> Result<Vec<Bound<'py, PyDict>>> {
        let all =
            self.read(py, |map| map.submaps().map(|submaps| submaps.iter().map(Described::of).collect::<Vec<_>>()))?;
        all.unwrap_or_default().into_iter().map(|one| one.dict(py)).collect()
    }

    /// begin_submap(source=None) -> None
    ///
    /// The next frame begins a submap; with a source, of a drive of that name.
    #[pyo3(signature = (source = None))]
    fn begin_submap(&self, py: Python<'_>, source: Option<&str>) -> Result<()> {
        Ok(self.write(py, |map| match (source, map.submaps().map(|submaps| submaps.rule())) {
            (Some(source), Some(rule)) => map.keep_submaps(rule, source),
            _ => map.begin_submap(),
        })??)
    }

    /// remove(*, submaps=None, source=None) -> dict
    ///
    /// Takes submaps (ids) or all of a source out: the map is then exactly that of the others. Returns how many
    /// primitives were "altered", "made" and "removed". On an exception the map is unchanged.
    #[pyo3(signature = (*, submaps = None, source = None))]
    fn remove<'py>(
        &self,
        py: Python<'py>,
        submaps: Option<Vec<u32>>,
        source: Option<&str>,
    ) -> Result<Bound<'py, PyDict>> {
        if submaps.is_none() && source.is_none() {
            return Err(Failure::value("nothing to take out: give `submaps` or `source`"));
        }
        let done = self.write(py, |map| {
            let mut ids = submaps.unwrap_or_default();
            if let (Some(source), Some(submaps)) = (source, map.submaps()) {
                ids.extend(submaps.of_source(source)?);
            }
            let done = map.remove_submaps(&ids);
            self.show(|publisher| publisher.flush(map));
            done
        })?;
        changed(py, done?)
    }

    /// correct(poses, *, body_from_sensor=None) -> dict
    ///
    /// Moves submaps to corrected poses: {id: world_from_submap}, (4, 4) rigid motions, the pose of the first frame of
    /// each. Corrections start from how the map was inserted: the first poses give the first map again. Returns how many
    /// primitives were "altered", "made" and "removed". On an exception the map is unchanged. Poses that are plainly of
    /// another sensor are refused: body_from_sensor, a (4, 4) rigid motion, says where the sensor is on what they are of.
    #[pyo3(signature = (poses, *, body_from_sensor = None))]
    fn correct<'py>(
        &self,
        py: Python<'py>,
        poses: &Bound<'py, PyDict>,
        body_from_sensor: Option<&Bound<'py, PyAny>>,
    ) -> Result<Bound<'py, PyDict>> {
        let mounted = mounting(body_from_sensor)?;
        let all = poses_of::<u32>(poses, mounted, "world_from_submap")?;
        let done = self.write(py, |map| {
            refuse_turned(map.submaps().and_then(|submaps| submaps.turned_submaps(&all)), mounted)?;
            let done = map.correct(&all);
            self.show(|publisher| publisher.flush(map));
            done
        })?;
        changed(py, done?)
    }

    /// correct_frames(poses, *, source=None, body_from_sensor=None) -> dict
    ///
    /// As correct, from corrected poses of frames: {number: world_from_sensor}, of one source or of all. Everything moves
    /// along with the frames that saw it, so that drift within a submap is corrected too; key frames are enough.
    #[pyo3(signature = (poses, *, source = None, body_from_sensor = None))]
    fn correct_frames<'py>(
        &self,
        py: Python<'py>,
        poses: &Bound<'py, PyDict>,
        source: Option<&str>,
        body_from_sensor: Option<&Bound<'py, PyAny>>,
    ) -> Result<Bound<'py, PyDict>> {
        let mounted = mounting(body_from_sensor)?;
        let all = poses_of::<u64>(poses, mounted, "world_from_sensor")?;
        let done = self.write(py, |map| {
            refuse_turned(map.submaps().and_then(|submaps| submaps.turned_frames(source, &all)), mounted)?;
            let done = map.correct_frames(source, &all);
            self.show(|publisher| publisher.flush(map));
            done
        })?;
        changed(py, done?)
    }

    /// merge(other, *, trust=1.0) -> FrameReport
    ///
    /// Adds all primitives of another map of the same classes. trust: a factor of its log-evidence, from 1/256 to 16.
    #[pyo3(signature = (other, *, trust = 1.0))]
    fn merge(&self, py: Python<'_>, other: &Bound<'_, Self>, trust: f64) -> Result<PyFrameReport> {
        let trust = Trust::new(trust)?;
        // A copy, so that two locks are never held together: maps may be merged crosswise, or with themselves.
        let mut other = other.get().read(py, Mapper::clone)?;
        if trust != Trust::FULL {
            py.detach(|| -> e2bki::Result<()> {
                if other.submaps().is_none() {
                    other.keep_submaps(SubmapRule::Called, "merged")?;
                }
                let ids: Vec<u32> = other.submaps().into_iter().flat_map(|s| s.iter()).map(Submap::id).collect();
                other.trust_submaps(&ids, trust)?;
                Ok(())
            })?;
        }
        let merged = self.write(py, |map| {
            let merged = map.merge(&other);
            self.show(|publisher| publisher.flush(map));
            merged
        })?;
        Ok(merged?.into())
    }

    /// remove_outside(low, *, high) -> int
    ///
    /// Forgets every primitive whose mean lies outside of a box (two corners, metres); returns how many.
    #[pyo3(signature = (low, *, high))]
    fn remove_outside(&self, py: Python<'_>, low: &Bound<'_, PyAny>, high: &Bound<'_, PyAny>) -> Result<usize> {
        let (low, high) = (arrays::numbers::<3>(low, "low")?, arrays::numbers::<3>(high, "high")?);
        if (0..3).any(|i| low[i] > high[i] || low[i].is_nan() || high[i].is_nan()) {
            return Err(Failure::value(format!("`low` {low:?} must not be above `high` {high:?}")));
        }
        self.write(py, |map| {
            let removed = map.remove_outside(low, high);
            self.show(|publisher| publisher.flush(map));
            removed
        })
    }
}
