//! Where the sensor was at a time: by the tree of transforms, by a topic of poses, or by a file.

use std::collections::BTreeMap;
use std::path::Path;

use e2bki::Pose;
use e2bki_bag::messages::Stamped;
use e2bki_bag::{BEYOND_S, Bag, Track, Transforms, Unknown};

use super::survey::Survey;
use super::topics::{self, POSES};
use crate::error::{Error, Result};
use crate::files;
use crate::parse::{self, PoseRows};

/// Frame that most topics of poses speak of without saying so.
const BODY: &str = "base_link";

/// Where the sensor was.
#[derive(Debug)]
pub(super) struct Motion {
    tree: Transforms,
    by: By,
}

#[derive(Debug)]
enum By {
    /// Transforms to this frame.
    Tree(String),
    /// Poses of a frame of the tree, or of the sensor itself.
    Track(Track),
    /// Poses of the sensor by the numbers of scans; the track is for times between them.
    Scans(BTreeMap<u64, Pose>, Track),
    /// It stands still at the origin.
    Still,
}

/// Poses of a frame, or of the sensor itself.
fn track(body: Option<String>, poses: impl IntoIterator<Item = (u64, Pose)>) -> Track {
    let mut all = Track::new(body, BEYOND_S);
    poses.into_iter().for_each(|(stamp, pose)| all.add(stamp, pose));
    all
}

impl Motion {
    /// Chooses by what was asked for, or else by what there is: transforms that move, a topic of poses, transforms that do not.
    pub(super) fn choose(bag: &Bag, asked: Option<&str>, survey: &mut Survey, notes: &mut Vec<String>) -> Result<Self> {
        let sensor = survey.scans.first().map_or_else(String::new, |scan| scan.frame.to_string());
        let tree = std::mem::take(&mut survey.tree);
        let by = match asked {
            Some("none") => By::Still,
            Some("tf") => By::Tree(rooted(&tree, &sensor, bag)?),
            Some(text) if text.starts_with("tf:") => By::Tree(text[3..].to_string()),
            Some(text) => match topics::find(bag, text) {
                Some(_) => {
                    let number = topics::wanted(bag, text, &POSES, "--poses")?;
                    by_topic(bag, number, survey, &tree, &sensor, notes)?
                }
                None if Path::new(text).is_file() => by_file(Path::new(text), survey)?,
                None => {
                    return Err(Error::Request(format!(
                        "--poses {text}: neither `tf`, `tf:FRAME`, `none`, nor a file, nor a topic; topics of poses: {}",
                        tracks(bag, survey)
                    )));
                }
            },
            None => found(bag, survey, &tree, &sensor, notes)?,
        };
        Ok(Self { tree, by })
    }

    /// The sensor's pose at a time.
    pub(super) fn at(&self, sensor: &str, time: u64) -> std::result::Result<Pose, Unknown> {
        match &self.by {
            By::Tree(world) => self.tree.look_up(world, sensor, time),
            By::Track(track) | By::Scans(_, track) => track.at(&self.tree, sensor, time),
            By::Still => Ok(Pose::IDENTITY),
        }
    }

    /// The sensor's pose at a scan.
    pub(super) fn of_scan(&self, id: u64, sensor: &str, time: u64) -> std::result::Result<Pose, Unknown> {
        match &self.by {
            By::Scans(poses, _) => poses.get(&id).copied().ok_or_else(|| Unknown::Frame {
                frame: format!("scan {id}"),
                known: format!("{} poses in the file", poses.len()),
            }),
            _ => self.at(sensor, time),
        }
    }

    /// Whether the sensor moves at all.
    pub(super) fn moves(&self, sensor: &str) -> bool {
        match &self.by {
            By::Tree(_) => self.tree.moves(sensor),
            By::Track(..) | By::Scans(..) => true,
            By::Still => false,
        }
    }

    /// The transforms.
    pub(super) fn tree(&self) -> &Transforms {
        &self.tree
    }
}

/// Topics of poses, in words.
fn tracks(bag: &Bag, survey: &Survey) -> String {
    let names: Vec<&str> = survey.tracks.keys().map(|number| bag.topics()[*number].name.as_str()).collect();
    if names.is_empty() { "none".into() } else { names.join(", ") }
}

/// The root of the sensor's tree, where it has one.
fn rooted(tree: &Transforms, sensor: &str, bag: &Bag) -> Result<String> {
    if !tree.knows(sensor) {
        let frames = if tree.is_empty() { "there are no transforms".into() } else { tree.frames().join(", ") };
        return Err(Error::Missing(format!(
            "{}: no transform names the clouds' frame `{sensor}` ({frames})",
            bag.path().display()
        )));
    }
    Ok(tree.root_of(sensor).to_string())
}

fn found(bag: &Bag, survey: &mut Survey, tree: &Transforms, sensor: &str, notes: &mut Vec<String>) -> Result<By> {
    if tree.moves(sensor) {
        let world = tree.root_of(sensor).to_string();
        notes.push(format!("poses: transforms from `{sensor}` to `{world}`"));
        return Ok(By::Tree(world));
    }
    let rank = |number: &usize| POSES.iter().position(|kind| *kind == bag.topics()[*number].kind);
    let best = survey.tracks.iter().filter(|(_, poses)| !poses.is_empty()).map(|(number, _)| *number).min_by_key(rank);
    if let Some(number) = best {
        notes.push(format!("poses: {}, as no transforms move `{sensor}`", bag.topics()[number].name));
        return by_topic(bag, number, survey, tree, sensor, notes);
    }
    if tree.knows(sensor) && tree.root_of(sensor) != sensor {
        let world = tree.root_of(sensor).to_string();
        notes.push(format!("no transform from `{sensor}` to `{world}` moves: the sensor is taken to stand still"));
        return Ok(By::Tree(world));
    }
    let frames =
        if tree.is_empty() { "no transforms".into() } else { format!("transforms of {}", tree.frames().join(", ")) };
    Err(Error::Missing(format!(
        "{} has no poses of the clouds' frame `{sensor}`: {frames}, and no Odometry, PoseStamped or Path. Give --poses FILE \
         (TUM: time x y z qx qy qz qw, or KITTI), or --poses none for a sensor that stands still",
        bag.path().display()
    )))
}

fn by_topic(
    bag: &Bag,
    number: usize,
    survey: &mut Survey,
    tree: &Transforms,
    sensor: &str,
    notes: &mut Vec<String>,
) -> Result<By> {
    let name = &bag.topics()[number].name;
    let poses: Vec<Stamped> = survey.tracks.remove(&number).unwrap_or_default();
    let Some(first) = poses.first() else {
        return Err(Error::Missing(format!("{}: {name} holds no poses", bag.path().display())));
    };
    let said = first.child.clone().filter(|frame| !frame.is_empty());
    let body = said.clone().or_else(|| tree.knows(BODY).then(|| BODY.to_string()));
    let connected = |body: &String| body == sensor || tree.look_up(body, sensor, first.stamp).is_ok();
    let body = match body {
        Some(body) if connected(&body) => {
            if said.is_none() {
                notes
                    .push(format!("{name} does not say whose poses these are: they are taken to be those of `{body}`"));
            }
            Some(body).filter(|body| body != sensor)
        }
        other => {
            let whose = other.map_or(String::new(), |body| format!(" of `{body}`"));
            notes.push(format!(
                "no transform connects `{sensor}` with the poses{whose} of {name}: they are taken to be those of the sensor"
            ));
            None
        }
    };
    Ok(By::Track(track(body, poses.into_iter().map(|pose| (pose.stamp, pose.pose)))))
}

fn by_file(path: &Path, survey: &Survey) -> Result<By> {
    let stamps: Vec<u64> = survey.scans.iter().map(|scan| scan.stamp).collect();
    let by_scan = |poses: BTreeMap<u64, Pose>| {
        let timed = poses.iter().filter_map(|(id, pose)| Some((*stamps.get(usize::try_from(*id).ok()?)?, *pose)));
        let track = track(None, timed);
        By::Scans(poses, track)
    };
    match files::parse_text(path, parse::pose_rows)? {
        PoseRows::ByTime(rows) => {
            let stamp = |time: f64| (time.max(0.0) * 1e9).round() as u64;
            Ok(By::Track(track(None, rows.into_iter().map(|(time, pose)| (stamp(time), pose)))))
        }
        PoseRows::ByLine(rows) => Ok(by_scan((0..).zip(rows).collect())),
        PoseRows::ByFrame(rows) => Ok(by_scan(rows)),
    }
}
