//! A recording of a robot as a dataset: scans of one topic, poses and calibration from others. What is late, missing or out
//! of order is counted and said.

mod camera;
mod motion;
mod survey;
mod topics;

use std::path::Path;
use std::sync::Arc;

use e2bki::ClassSet;
use e2bki_bag::Bag;

use super::{Entry, Layout, sequences};
use crate::camera::{TimedMotion, shifted};
use crate::classes::ClassTable;
use crate::dataset::{CloudForm, OpenOptions, SemanticsSource};
use crate::error::{Error, Result};
use crate::files;
use crate::item::{CLOUD, Item, Message};
use motion::Motion;
use survey::{Survey, Timed};

/// Largest difference of the times of a scan and its image, nanoseconds.
const SAME_VIEW_NS: u64 = 100_000_000;

/// Largest difference of the times of a scan and a cloud of its labels, nanoseconds.
const SAME_SCAN_NS: u64 = 1_000_000;

/// An open recording, for what is read of it later.
#[derive(Debug)]
pub(crate) struct Recording {
    bag: Arc<Bag>,
    motion: Motion,
    /// Scans by their numbers.
    scans: Vec<Timed>,
}

pub(super) fn open(path: &Path, options: &OpenOptions) -> Result<Layout> {
    if options.split.is_some() {
        return Err(Error::Request("a recording has no division into train, val and test".into()));
    }
    let bag = Arc::new(Bag::open(path)?);
    let mut notes: Vec<String> = bag.notes().to_vec();
    let chosen = topics::choose(&bag, options, &mut notes)?;
    let mut survey = Survey::of(&bag, &chosen)?;
    if survey.scans.is_empty() {
        let why = survey.first_broken.as_deref().unwrap_or("it has no messages");
        let topic = &bag.topics()[chosen.cloud].name;
        return Err(Error::Missing(format!("{}: no cloud of {topic} can be read: {why}", path.display())));
    }
    let motion = Motion::choose(&bag, options.poses.as_deref(), &mut survey, &mut notes)?;
    let seen = chosen.image.or(chosen.image_labels).map(|i| bag.topics()[i].name.as_str());
    let camera = camera::camera(&survey, motion.tree(), seen);
    let (mut entries, mut without_pose, mut why) = (Vec::new(), Vec::new(), None);
    for (id, scan) in (0..).zip(&survey.scans) {
        let pose = match motion.of_scan(id, &scan.frame, scan.stamp) {
            Ok(pose) => pose,
            Err(unknown) => {
                without_pose.push(id);
                why.get_or_insert(unknown);
                continue;
            }
        };
        let item = |timed: Option<&Timed>| timed.map(|timed| Item::Message(Message::new(&bag, timed.entry)));
        entries.push(Entry {
            id,
            name: name_of(scan.stamp).into(),
            cloud: Item::Message(Message::new(&bag, scan.entry)),
            pose,
            labels: None,
            image: item(nearest(&survey.images, scan.stamp, SAME_VIEW_NS)),
            image_labels: item(nearest(&survey.image_labels, scan.stamp, SAME_VIEW_NS)),
            deskew: None,
            stamp_ns: Some(scan.stamp),
        });
    }
    if let Some(why) = why {
        let (left, all) = (without_pose.len(), survey.scans.len());
        notes.push(format!("{left} of {all} scans have no pose and are left out; the first because: {why}"));
    }
    say_of_the_clock(&survey, &motion, options, &mut notes);
    if let (Some(topic), true) = (seen, entries.iter().any(|e| e.image.is_none() && e.image_labels.is_none())) {
        let without = entries.iter().filter(|e| e.image.is_none() && e.image_labels.is_none()).count();
        notes.push(format!("{without} scans have no image of {topic} within {} ms", SAME_VIEW_NS / 1_000_000));
    }
    let labelled = survey.labels_in_cloud || chosen.image_labels.is_some();
    let (classes, recorded) = classes(&survey, labelled, options, &mut notes);
    let name = files::name(path);
    Ok(Layout {
        root: path.parent().unwrap_or(Path::new("")).to_path_buf(),
        folder: path.to_path_buf(),
        sequence: files::text_of(&name).into_owned(),
        sequences: sequences::shown(&[name]),
        without_pose,
        camera,
        cloud: CloudForm::KITTI,
        ids: options.semantic_ids.clone().unwrap_or_else(|| recorded.into()),
        classes,
        accumulated: None,
        labels_in_cloud: survey.labels_in_cloud,
        scan_places: format!("looked for messages of {CLOUD}"),
        truth_places: format!(
            "a field `label` of the points of {} and topics of label images; labels:TOPIC, probabilities:TOPIC and networks that look \
             at the images are other sources",
            bag.topics()[chosen.cloud].name
        ),
        notes,
        entries,
        recording: Some(Recording { bag: Arc::clone(&bag), motion, scans: survey.scans }),
    })
}

/// A time as text, seconds and nanoseconds.
fn name_of(stamp: u64) -> String {
    format!("{}.{:09}", stamp / 1_000_000_000, stamp % 1_000_000_000)
}

/// The message whose time is nearest, if it is near enough; they are in order of time.
fn nearest(timed: &[Timed], stamp: u64, most: u64) -> Option<&Timed> {
    let at = timed.partition_point(|t| t.stamp < stamp);
    let near = timed[at.saturating_sub(1)..timed.len().min(at + 1)].iter().min_by_key(|t| t.stamp.abs_diff(stamp));
    near.filter(|t| t.stamp.abs_diff(stamp) <= most)
}

/// What was late, broken or out of order.
fn say_of_the_clock(survey: &Survey, motion: &Motion, options: &OpenOptions, notes: &mut Vec<String>) {
    let mut say = |count: usize, what: String| {
        if count > 0 {
            notes.push(what);
        }
    };
    let first = survey.first_broken.as_deref().unwrap_or_default();
    say(survey.broken, format!("{} messages cannot be read and are left out; the first is of {first}", survey.broken));
    say(survey.not_rigid, format!("{} transforms are no rigid motions and are left out", survey.not_rigid));
    let late = motion.tree().out_of_order();
    say(late, format!("{late} transforms came after later ones of the same frame; they are put in order"));
    let moved = motion.tree().moved_to_other_parents();
    say(moved, format!("{moved} times a frame was given another parent; only the last is used"));
    let scans = &survey.scans;
    let back = scans.windows(2).filter(|w| w[1].stamp < w[0].stamp).count();
    say(back, format!("the clock of the scans jumps back {back} times: a recording that was played in a loop?"));
    let away = |scan: &Timed| scan.stamp.abs_diff(scan.entry.time) > 1_000_000_000;
    let far = scans.iter().filter(|scan| away(scan)).count();
    say(
        usize::from(far == scans.len()),
        "the stamps of all scans are more than 1 s away from when they were recorded: the sensor has a clock of its own".into(),
    );
    say(
        far % scans.len().max(1),
        format!("{far} scans were recorded more than 1 s away from their stamps: delayed, or the clock was set"),
    );
    let (Some(sweep), true) = (survey.sweep, options.deskew.unwrap_or(true)) else { return };
    let Some(first) = scans.first() else { return };
    if motion.moves(&first.frame) {
        let known = |scan: &&Timed| sweep.iter().all(|s| motion.at(&scan.frame, shifted(scan.stamp, *s)).is_ok());
        let not = scans.len() - scans.iter().filter(known).count();
        let [from, to] = sweep.map(|s| s * 1e3);
        notes.push(format!(
            "points have times from {from:.0} to {to:.0} ms after the stamp: the motion during a scan is undone (--no-deskew if the \
             driver did so)"
        ));
        if not > 0 {
            notes.push(format!("{not} scans are left as they are, as the poses do not cover all of their times"));
        }
    }
}

/// The classes that the recording names, and the name of its ids.
fn classes(
    survey: &Survey,
    labelled: bool,
    options: &OpenOptions,
    notes: &mut Vec<String>,
) -> (Option<ClassTable>, &'static str) {
    if let Some(names) = &survey.names {
        match ClassTable::of_ids(names) {
            Ok((table, ids)) => return (Some(table), if options.classes.is_some() { "classes" } else { ids }),
            Err(error) => notes.push(format!("the names of the labels (LabelInfo) cannot be used: {error}")),
        }
    }
    let own = matches!(
        options.semantics,
        SemanticsSource::Nothing | SemanticsSource::GroundTruth | SemanticsSource::GroundTruthOf(_)
    );
    // Without labels there is nothing to tell apart; to look at the scans no classes are needed.
    let plain = ClassSet::from_names(["unlabelled"]).ok().map(ClassTable::plain);
    (plain.filter(|_| own && !labelled), "classes")
}

impl Recording {
    /// The motion during a scan; nothing where the sensor stands or poses do not cover the times of the points.
    pub(crate) fn motion_of(&self, entry: &Entry, times: &[f32]) -> Option<TimedMotion> {
        let scan = self.scans.get(usize::try_from(entry.id).ok()?)?;
        if !self.motion.moves(&scan.frame) {
            return None;
        }
        TimedMotion::of_points(times, scan.stamp, &entry.pose, |time| self.motion.at(&scan.frame, time).ok())
    }

    /// The messages of a topic that belong to the frames, with their type; nothing where there is no such topic.
    pub(crate) fn beside(&self, topic: &str, entries: &[Entry]) -> Result<Option<(String, Vec<Option<Item>>)>> {
        let Some(number) = topics::find(&self.bag, topic) else { return Ok(None) };
        let kind = self.bag.topics()[number].kind.clone();
        let mut timed = Vec::new();
        for entry in self.bag.of_topic(number) {
            let message = Message::new(&self.bag, *entry);
            let data = message.read()?;
            let header = e2bki_bag::messages::header(message.wire(), &data).map_err(|e| message.flaw(e))?;
            timed.push(Timed { stamp: header.stamp, frame: "".into(), entry: *entry });
        }
        timed.sort_by_key(|t| t.stamp);
        let most = if kind == CLOUD { SAME_SCAN_NS } else { SAME_VIEW_NS };
        let of = |entry: &Entry| {
            let scan = self.scans.get(usize::try_from(entry.id).ok()?)?;
            nearest(&timed, scan.stamp, most).map(|t| Item::Message(Message::new(&self.bag, t.entry)))
        };
        Ok(Some((kind, entries.iter().map(of).collect())))
    }
}
