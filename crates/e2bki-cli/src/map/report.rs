//! Counts of frames and points, and the time of each stage.

use std::time::Duration;

use anyhow::Result;
use e2bki::{FrameReport, Timings};
use e2bki_data::{LoadedFrame, ReadCounts};
use serde_json::{Map as Object, Value, json};

use super::method::Map;
use super::source::Source;
use crate::table;

/// Sums over the frames of a run.
pub(crate) struct Account {
    chosen: usize,
    mapped: usize,
    counts: ReadCounts,
    dropped: Vec<(&'static str, usize)>,
    kept: usize,
    repaired: usize,
    primitives: usize,
    /// Frames of which free space could not say what they saw through, and why the first of them could not.
    no_free_space: (usize, Option<String>),
    read: Duration,
    /// Time the mapper waited for data.
    pub(crate) waited: Duration,
    timings: Timings,
    /// Time from the first frame to the last.
    pub(crate) elapsed: Duration,
}

/// The progress bar of a run, with room for the times of the stages.
pub(crate) fn bar(length: usize) -> indicatif::ProgressBar {
    let style = indicatif::ProgressStyle::with_template("mapping {bar:30} {pos}/{len} {per_sec} {eta}  {wide_msg}")
        .unwrap_or_else(|_| indicatif::ProgressStyle::default_bar());
    indicatif::ProgressBar::new(length as u64).with_style(style)
}

impl Account {
    pub(crate) fn new(chosen: usize) -> Self {
        Self {
            chosen,
            mapped: 0,
            counts: ReadCounts::default(),
            dropped: Vec::new(),
            kept: 0,
            repaired: 0,
            primitives: 0,
            no_free_space: (0, None),
            read: Duration::ZERO,
            waited: Duration::ZERO,
            timings: Timings::default(),
            elapsed: Duration::ZERO,
        }
    }

    pub(crate) fn add(&mut self, frame: &LoadedFrame, report: &FrameReport) {
        self.mapped += 1;
        self.counts.add(&frame.counts);
        self.read += frame.read_time;
        self.timings.add(&report.timings);
        self.kept += report.kept;
        self.repaired += report.repaired;
        self.primitives = report.primitives;
        if let Some(why) = report.free_space.as_ref().and_then(|free| free.off.as_ref()) {
            self.no_free_space.0 += 1;
            self.no_free_space.1.get_or_insert_with(|| why.clone());
        }
        for (reason, count) in report.dropped.by_reason() {
            match self.dropped.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, sum)) => *sum += count,
                None => self.dropped.push((reason, count)),
            }
        }
    }

    /// Frames mapped so far.
    pub(crate) fn mapped(&self) -> usize {
        self.mapped
    }

    /// All drops, of reading and of mapping, by reason.
    fn drops(&self) -> Vec<(&'static str, usize)> {
        let mut all: Vec<(&'static str, usize)> = self.counts.by_reason().to_vec();
        for (reason, count) in &self.dropped {
            match all.iter_mut().find(|(known, _)| known == reason) {
                Some((_, sum)) => *sum += count,
                None => all.push((reason, *count)),
            }
        }
        all
    }

    fn per_frame_ms(&self, time: Duration) -> f64 {
        time.as_secs_f64() * 1e3 / self.mapped.max(1) as f64
    }

    /// Stages with milliseconds per frame.
    pub(crate) fn stages(&self) -> Vec<(&'static str, f64)> {
        let mut stages = vec![("read (other thread)", self.per_frame_ms(self.read))];
        stages.push(("wait for data", self.per_frame_ms(self.waited)));
        stages.extend(self.timings.by_stage().iter().map(|(stage, time)| (*stage, self.per_frame_ms(*time))));
        stages
    }

    /// Times so far, for the progress bar.
    pub(crate) fn live(&self) -> String {
        let part = |(stage, ms): &(&str, f64)| format!("{} {ms:.0}", stage.split(' ').next().unwrap_or(stage));
        format!("ms: {}", self.stages().iter().map(part).collect::<Vec<_>>().join(" "))
    }

    fn frames_per_second(&self) -> f64 {
        self.mapped as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }

    pub(crate) fn print(&self, dataset: &Source, map: &Map, method: &str) -> Result<()> {
        let skipped = dataset.skipped();
        table::line(&format!(
            "{} sequence {}: {} of {} frames mapped with {method}, {} classes ({}); {}{:.1} MB\n",
            dataset.format(),
            dataset.sequence(),
            self.mapped,
            dataset.len() + skipped.without_pose.len() + skipped.without_semantics.len(),
            dataset.classes().len(),
            dataset.table(),
            if self.primitives > 0 { format!("{} primitives, ", self.primitives) } else { String::new() },
            map.byte_size() as f64 / 1e6,
        ))?;
        for rows in self.tables(dataset) {
            table::print(&rows)?;
        }
        if let (count, Some(why)) = &self.no_free_space {
            table::line(&format!(
                "{count} of {} frames do not say what they saw through, only what they hit: {why}\n",
                self.mapped
            ))?;
        }
        let mut rows = vec![vec!["stage".to_string(), "ms per frame".to_string()]];
        rows.extend(self.stages().iter().map(|(stage, ms)| vec![stage.to_string(), format!("{ms:.1}")]));
        table::print(&rows)?;
        table::line(&format!(
            "{:.1} frames per second, reading included (a frame is prepared while the one before it is added)\n",
            self.frames_per_second()
        ))
    }

    /// Counts of the frames and of their points.
    pub(crate) fn tables(&self, dataset: &Source) -> [Vec<Vec<String>>; 2] {
        let skipped = dataset.skipped();
        let count = |name: &str, n: usize| vec![name.to_string(), n.to_string()];
        let frames = vec![
            vec!["frames".into(), "count".into()],
            count("mapped", self.mapped),
            count("not chosen", dataset.len() - self.chosen),
            count("skipped: no pose", skipped.without_pose.len()),
            count("skipped: no semantics", skipped.without_semantics.len()),
        ];
        let mut points = vec![vec!["points".into(), "count".into()], count("received", self.counts.slots)];
        let drops = self.drops();
        points.extend(drops.iter().filter(|(_, n)| *n > 0).map(|(why, n)| count(&format!("dropped: {why}"), *n)));
        points.push(count("kept", self.kept));
        if self.repaired > 0 {
            points.push(count("of these repaired", self.repaired));
        }
        [frames, points]
    }

    /// The numbers that matter most.
    pub(crate) fn figures(&self, map: &Map) -> [(&'static str, String); 5] {
        [
            ("frames mapped", self.mapped.to_string()),
            ("points kept", self.kept.to_string()),
            ("primitives", self.primitives.to_string()),
            ("map, MB", format!("{:.1}", map.byte_size() as f64 / 1e6)),
            ("frames per second", format!("{:.1}", self.frames_per_second())),
        ]
    }

    pub(crate) fn to_json(&self, dataset: &Source, map: &Map, method: &str) -> Value {
        let object = |pairs: Vec<(&'static str, Value)>| -> Object<String, Value> {
            pairs.into_iter().map(|(key, value)| (key.to_string(), value)).collect()
        };
        let skipped = dataset.skipped();
        json!({
            "format": dataset.format(), "sequence": dataset.sequence(), "method": method,
            "classes": dataset.classes().names(), "class_table": dataset.table(), "notes": dataset.notes(),
            "frames": {
                "mapped": self.mapped, "not_chosen": dataset.len() - self.chosen,
                "without_pose": skipped.without_pose, "without_semantics": skipped.without_semantics,
            },
            "points": {
                "received": self.counts.slots, "kept": self.kept, "repaired": self.repaired,
                "dropped": object(self.drops().into_iter().map(|(why, n)| (why, n.into())).collect()),
            },
            "stage_ms": object(self.stages().into_iter().map(|(stage, ms)| (stage, ms.into())).collect()),
            "seconds": self.elapsed.as_secs_f64(), "frames_per_second": self.frames_per_second(),
            "primitives": self.primitives, "bytes": map.byte_size(),
        })
    }
}
