//! One pass over a recording: stamps of scans and images, transforms, poses, calibration. Clouds stay where they are.

use std::collections::BTreeMap;
use std::sync::Arc;

use e2bki_bag::messages::{self, CameraInfo, Cloud, Stamped};
use e2bki_bag::{BEYOND_S, Bag, Entry, Transforms};

use super::topics::{self, CAMERA_INFO, Chosen, LABEL_INFO, ODOMETRY, OLD_TF, PATH, TF};
use crate::error::Result;

/// A message with the time of its header.
#[derive(Debug, Clone)]
pub(super) struct Timed {
    pub(super) stamp: u64,
    pub(super) frame: Arc<str>,
    pub(super) entry: Entry,
}

/// What the pass found.
#[derive(Debug)]
pub(super) struct Survey {
    pub(super) scans: Vec<Timed>,
    pub(super) images: Vec<Timed>,
    pub(super) image_labels: Vec<Timed>,
    pub(super) tree: Transforms,
    /// Poses by topic.
    pub(super) tracks: BTreeMap<usize, Vec<Stamped>>,
    pub(super) camera: Option<std::result::Result<CameraInfo, String>>,
    /// What the ids of labels mean.
    pub(super) names: Option<Vec<(u16, String)>>,
    /// Whether the points of the first scan have labels.
    pub(super) labels_in_cloud: bool,
    /// Times of the first and last point of the first scan that has such, seconds after its stamp.
    pub(super) sweep: Option<[f64; 2]>,
    /// Messages that cannot be read, and why the first cannot.
    pub(super) broken: usize,
    pub(super) first_broken: Option<String>,
    /// Transforms that are no rigid motions.
    pub(super) not_rigid: usize,
}

impl Survey {
    pub(super) fn of(bag: &Bag, chosen: &Chosen) -> Result<Self> {
        let mut survey = Self {
            scans: Vec::new(),
            images: Vec::new(),
            image_labels: Vec::new(),
            tree: Transforms::new(BEYOND_S),
            tracks: BTreeMap::new(),
            camera: None,
            names: None,
            labels_in_cloud: false,
            sweep: None,
            broken: 0,
            first_broken: None,
            not_rigid: 0,
        };
        // A path is told again and again as it grows: only its last telling is read.
        let mut last_paths: BTreeMap<usize, u64> = BTreeMap::new();
        for entry in bag.entries() {
            if bag.topics()[entry.topic].kind == PATH {
                last_paths.insert(entry.topic, entry.time);
            }
        }
        let mut frames = Frames::default();
        for entry in bag.entries() {
            let kind = bag.topics()[entry.topic].kind.as_str();
            let used = [Some(chosen.cloud), chosen.image, chosen.camera, chosen.image_labels]
                .contains(&Some(entry.topic))
                || matches!(kind, TF | OLD_TF | LABEL_INFO)
                || topics::POSES.contains(&kind);
            let superseded = last_paths.get(&entry.topic).is_some_and(|last| *last != entry.time);
            if !used || superseded {
                continue;
            }
            let data = bag.read(entry)?;
            let taken = survey.take(bag, chosen, entry, &data, &mut frames);
            if let Err(error) = taken {
                survey.broken += 1;
                survey.first_broken.get_or_insert_with(|| format!("{}: {error}", bag.topics()[entry.topic].name));
            }
        }
        for timed in [&mut survey.images, &mut survey.image_labels] {
            timed.sort_by_key(|image| image.stamp);
        }
        Ok(survey)
    }

    fn take(
        &mut self,
        bag: &Bag,
        chosen: &Chosen,
        entry: &Entry,
        data: &[u8],
        frames: &mut Frames,
    ) -> std::result::Result<(), e2bki_bag::wire::Broken> {
        let wire = bag.wire(entry);
        let topic = &bag.topics()[entry.topic];
        let mut timed = |stamp: u64, frame: &str| Timed { stamp, frame: frames.get(frame), entry: *entry };
        if entry.topic == chosen.cloud {
            let cloud = Cloud::read(wire, data)?;
            if self.scans.is_empty() || self.sweep.is_none() && self.scans.len() < 3 {
                let fields = cloud.decode()?;
                self.labels_in_cloud |= fields.labels.is_some();
                self.sweep = fields.times.as_deref().and_then(sweep);
            }
            self.scans.push(timed(cloud.header.stamp, cloud.header.frame));
        } else if Some(entry.topic) == chosen.image || Some(entry.topic) == chosen.image_labels {
            let header = messages::header(wire, data)?;
            let list = if Some(entry.topic) == chosen.image { &mut self.images } else { &mut self.image_labels };
            list.push(timed(header.stamp, header.frame));
        } else if topic.kind == CAMERA_INFO {
            if !matches!(self.camera, Some(Ok(_))) {
                self.camera = Some(CameraInfo::read(wire, data).map_err(|e| format!("{}: {e}", topic.name)));
            }
        } else if matches!(topic.kind.as_str(), TF | OLD_TF) {
            let (all, wrong) = messages::transforms(wire, data)?;
            self.not_rigid += wrong;
            let fixed = topic.name.ends_with("tf_static");
            all.into_iter().for_each(|transform| self.tree.add(transform, fixed));
        } else if topic.kind == LABEL_INFO {
            self.names.get_or_insert(messages::label_info(wire, data)?);
        } else {
            let track = self.tracks.entry(entry.topic).or_default();
            match topic.kind.as_str() {
                ODOMETRY => track.push(messages::odometry(wire, data)?),
                PATH => *track = messages::path(wire, data)?,
                _ => track.push(messages::pose(wire, data)?),
            }
        }
        Ok(())
    }
}

/// Times of the first and last point.
fn sweep(times: &[f32]) -> Option<[f64; 2]> {
    let least = times.iter().copied().fold(f32::INFINITY, f32::min);
    let most = times.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    (least < most).then_some([f64::from(least), f64::from(most)])
}

/// Names of frames, each held once.
#[derive(Default)]
struct Frames(BTreeMap<String, Arc<str>>);

impl Frames {
    fn get(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.0.get(name) {
            return Arc::clone(known);
        }
        let new: Arc<str> = name.into();
        self.0.insert(name.to_string(), Arc::clone(&new));
        new
    }
}
