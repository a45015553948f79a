//! `--record`: the map as messages of ROS 2 in an MCAP file, for RViz, Foxglove and planners.

mod driving;
mod layers;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use e2bki::{FrameReport, Mapper, Pose};
use e2bki_bag::compose::{self, Level, Status};
use e2bki_bag::messages::TransformMessage;
use e2bki_bag::{BagWriter, schemas};
use e2bki_data::LoadedFrame;

use crate::table;

/// Time of the first frame of drives without clocks, and from each frame to the next, nanoseconds.
const START_NS: u64 = 1_600_000_000_000_000_000;
const STEP_NS: u64 = 100_000_000;

/// Farther than this from the origin single precision is too coarse, metres: the map gets a frame of its own.
const FAR_M: f64 = 10_000.0;

/// Frame of the world, and of the sensor.
const WORLD: &str = "map";
const SENSOR: &str = "lidar";
/// Frame of the map where the world's origin is far away.
const NEAR: &str = "map_local";

/// A recording that is being written.
pub(crate) struct Recorder {
    bag: BagWriter,
    path: PathBuf,
    /// Frames between two pictures of the whole map; at the end only if there is none.
    every: Option<u64>,
    frames: u64,
    /// Place of the map's frame in the world.
    origin: [f64; 3],
    last: Option<(u64, [f64; 3])>,
    /// Why there are no layers for planners, once that was said.
    left_out: Option<String>,
}

impl Recorder {
    pub(crate) fn create(path: &Path, every: Option<u64>) -> Result<Self> {
        let bag = BagWriter::create(path)?;
        Ok(Self { bag, path: path.into(), every, frames: 0, origin: [0.0; 3], last: None, left_out: None })
    }

    fn frame_of_map(&self) -> &'static str {
        if self.origin == [0.0; 3] { WORLD } else { NEAR }
    }

    /// After a frame: where the sensor was, how it went, and now and then the map.
    pub(crate) fn frame(&mut self, map: &Mapper, frame: &LoadedFrame, report: &FrameReport) -> Result<()> {
        let stamp = frame.stamp_ns.unwrap_or(START_NS + self.frames * STEP_NS);
        let place = frame.world_from_sensor.translation();
        if self.frames == 0 {
            if place.iter().any(|v| v.abs() > FAR_M) {
                self.origin = place.map(f64::round);
                let near = moved(stamp, WORLD, NEAR, Pose::from_translation(self.origin)?);
                self.bag.write("/tf_static", schemas::TRANSFORMS, true, stamp, &compose::transforms(&[near]))?;
            }
            let info =
                compose::label_info(stamp, self.frame_of_map(), map.classes().names().iter().map(String::as_str));
            self.bag.write("/map/label_info", schemas::LABEL_INFO, true, stamp, &info)?;
        }
        let tf = compose::transforms(&[moved(stamp, WORLD, SENSOR, frame.world_from_sensor)]);
        self.bag.write("/tf", schemas::TRANSFORMS, false, stamp, &tf)?;
        let status = compose::diagnostics(stamp, &[status(map, frame, report)]);
        self.bag.write("/diagnostics", schemas::DIAGNOSTICS, false, stamp, &status)?;
        self.frames += 1;
        self.last = Some((stamp, place));
        match self.every {
            Some(every) if self.frames.is_multiple_of(every) => self.map(map),
            _ => Ok(()),
        }
    }

    /// The whole map.
    fn map(&mut self, map: &Mapper) -> Result<()> {
        let Some((stamp, place)) = self.last else { return Ok(()) };
        let (frame, origin) = (self.frame_of_map(), self.origin);
        let costs = driving::costs(map);
        let mut shown = layers::all(map, costs.as_ref().ok(), stamp, frame, origin, place)?;
        match costs {
            Ok(costs) => shown.extend(driving::all(map, costs, stamp, frame, origin, place)?),
            Err(error) if self.left_out.is_none() => {
                let path = self.path.display();
                let line = format!("warning: {path} is without /map/occupancy, /map/layers and /map/costmap: {error}");
                table::say(&line);
                self.left_out = Some(line);
            }
            Err(_) => {}
        }
        for (topic, schema, message) in shown {
            self.bag.write(topic, schema, true, stamp, &message)?;
        }
        Ok(())
    }

    /// The whole map once more, and the end of the file.
    pub(crate) fn finish(mut self, map: &Mapper) -> Result<PathBuf> {
        if self.every.is_none_or(|every| !self.frames.is_multiple_of(every)) {
            self.map(map)?;
        }
        let path = self.path.clone();
        self.bag.finish().with_context(|| format!("cannot end {}", path.display()))?;
        Ok(path)
    }
}

fn moved(stamp: u64, parent: &str, child: &str, pose: Pose) -> TransformMessage {
    TransformMessage { stamp, parent: parent.into(), child: child.into(), pose }
}

fn status(map: &Mapper, frame: &LoadedFrame, report: &FrameReport) -> Status {
    let dropped = report.dropped.total() + frame.counts.dropped();
    let level = if report.kept == 0 { Level::Warn } else { Level::Ok };
    let mut values = vec![
        ("frame".to_string(), frame.id.to_string()),
        ("points kept".to_string(), report.kept.to_string()),
        ("primitives".to_string(), map.len().to_string()),
    ];
    let reasons = frame.counts.by_reason().into_iter().chain(report.dropped.by_reason());
    values.extend(reasons.filter(|(_, n)| *n > 0).map(|(why, n)| (format!("dropped: {why}"), n.to_string())));
    values.extend(
        report
            .timings
            .by_stage()
            .iter()
            .map(|(stage, time)| (format!("ms {stage}"), format!("{:.1}", time.as_secs_f64() * 1e3))),
    );
    Status { name: "e2bki".into(), level, message: format!("{} points kept, {dropped} dropped", report.kept), values }
}

#[cfg(test)]
mod tests {
    use super::*;
    use e2bki::{ClassSet, Config, Frame, Semantics};
    use e2bki_bag::Bag;

    fn recorded(names: [&str; 2], costs: &[(&str, u8)], path: &Path) -> (Option<String>, Vec<String>) {
        let classes = ClassSet::from_names(names).unwrap().with_costs(costs.iter().copied()).unwrap();
        let mut map = Mapper::new(classes, Config::default()).unwrap();
        let points = [[2.5, 0.1, 0.1], [2.6, 0.2, 0.1]];
        let semantics = Semantics::Labels(&[0, 1]);
        map.insert(&Frame { points: &points, semantics, world_from_sensor: Pose::IDENTITY, scan: None }).unwrap();
        let mut recorder = Recorder::create(path, Some(1)).unwrap();
        recorder.last = Some((START_NS, [0.0; 3]));
        recorder.map(&map).unwrap();
        let left_out = recorder.left_out.clone();
        recorder.bag.finish().unwrap();
        let topics = Bag::open(path).unwrap().topics().iter().map(|topic| topic.name.clone()).collect();
        (left_out, topics)
    }

    #[test]
    fn layers_that_are_left_out_are_said_with_the_classes_that_are_why() {
        let folder = tempfile::tempdir().unwrap();
        let (said, topics) =
            recorded(["paved", "grass"], &[("paved", 0), ("grass", 20)], &folder.path().join("known.mcap"));
        assert!(said.is_none() && topics.iter().any(|topic| topic == "/map/costmap"), "{said:?}, {topics:?}");
        let (said, topics) = recorded(["paved", "lava"], &[("paved", 0)], &folder.path().join("unknown.mcap"));
        let said = said.unwrap();
        assert!(said.contains("`lava`") && said.contains("/map/costmap"), "{said}");
        let of_costs = ["/map/occupancy", "/map/costmap", "/map/layers"];
        assert!(!topics.iter().any(|topic| of_costs.contains(&topic.as_str())), "{topics:?}");
        assert!(topics.iter().any(|topic| topic == "/map/grid_map"), "{topics:?}");
    }
}
