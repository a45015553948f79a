//! `e2bki correct`: submaps moved to where a pose graph or a loop closure says they are.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use e2bki::submaps::{SubmapChange, Submaps};
use e2bki::{Mapper, Pose};
use e2bki_data::parse::{Keyed, PoseRows, pose_rows, rigid};
use e2bki_store::WriteLock;

use crate::{merge, outputs, submaps, table};

/// Farthest that the time of a pose may be from that of its frame, seconds.
const SAME_TIME_S: f64 = 0.005;

/// What the poses of a file are of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Per {
    /// Frames, by the numbers they have in the dataset.
    Frame,
    /// Submaps: the pose of the first frame of each, by its id.
    Submap,
}

/// Move the submaps of a map to corrected poses
#[derive(Args)]
#[command(after_help = "Examples:\n  e2bki correct loop.e2bki --poses optimised.txt -o corrected.e2bki\n  \
    e2bki correct loop.e2bki --poses graph.g2o --per submap -o corrected.e2bki\n  \
    e2bki correct 08.e2bki --poses 08/poses.txt --calibration 08/calib.txt -o corrected.e2bki   # KITTI\n\n\
    Poses are world_from_sensor, as the frames had them when they were mapped (--calibration and --body-from-sensor make\n\
    them of poses of a camera or a base): TUM (time x y z qx qy qz qw), KITTI (12\n\
    numbers a line), with frame numbers (13 or 17 numbers), or g2o (VERTEX_SE3:QUAT). TUM poses belong to frames by their\n\
    times where frames have times, else the first is of frame 0, as in KITTI's files. Poses of frames correct the drift\n\
    within a submap too; poses of submaps move each as one piece. Corrections start from how the map was inserted: they\n\
    do not add up, and the first poses give the first map again.")]
pub(crate) struct Options {
    /// Map file with submaps
    map: PathBuf,
    /// Corrected poses
    #[arg(long, value_name = "FILE")]
    poses: PathBuf,
    /// What the poses are of
    #[arg(long, value_enum, default_value_t = Per::Frame)]
    per: Per,
    /// KITTI's calib.txt, where the poses are of its camera, in the world of the first one: `Tr` takes them to the LiDAR
    #[arg(long, value_name = "FILE")]
    calibration: Option<PathBuf>,
    /// Where the sensor is on what the poses are of (a base, an IMU): 12 numbers, or a file of them
    #[arg(long, value_name = "MOTION", conflicts_with = "calibration")]
    body_from_sensor: Option<String>,
    /// Correct the submaps of this drive only
    #[arg(long, value_name = "NAME")]
    source: Option<String>,
    /// Map file to write; it may be the same
    #[arg(short, long, value_name = "FILE")]
    out: PathBuf,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    outputs::check_file(&options.out)?;
    let _lock = WriteLock::of_file(&options.out)?;
    let name = options.poses.display();
    let text = std::fs::read_to_string(&options.poses).with_context(|| format!("cannot read {name}"))?;
    let rows = of_sensor(pose_rows(&text).with_context(|| format!("{name}"))?, options)?;
    let (mut map, header) = submaps::load(&options.map)?;
    let done = correct(&mut map, rows, options).with_context(|| format!("{name}"))?;
    let farthest = farthest(&map);
    submaps::save(&map, &header, &options.out)?;
    table::print(&[
        vec!["wrote".into(), options.out.display().to_string()],
        vec!["submaps moved".into(), done.submaps.to_string()],
        vec!["farthest from where it was inserted, metres".into(), format!("{farthest:.3}")],
        vec!["primitives altered".into(), done.altered.to_string()],
        vec!["primitives made".into(), done.made.to_string()],
        vec!["primitives removed".into(), done.removed.to_string()],
    ])
}

fn correct(map: &mut Mapper, rows: PoseRows, options: &Options) -> Result<SubmapChange> {
    let Some(all) = map.submaps() else { bail!("the map keeps no submaps") };
    if options.per == Per::Submap {
        let poses = by_submap(all, rows, options.source.as_deref())?;
        refuse_turned(all.turned_submaps(&poses), options)?;
        return Ok(map.correct(&poses)?);
    }
    let mut sources: Vec<&str> = all.iter().map(|submap| submap.source()).collect();
    sources.sort_unstable();
    sources.dedup();
    if options.source.is_none() && sources.len() > 1 {
        bail!(
            "the map is of several drives ({}), and frames are numbered in each: add --source NAME",
            sources.join(", ")
        );
    }
    let poses: BTreeMap<u64, Pose> = match rows {
        PoseRows::ByFrame(poses) => poses,
        PoseRows::ByLine(poses) => (0..).zip(poses).collect(),
        PoseRows::ByTime(poses) => by_time(all, poses, options.source.as_deref())?,
    };
    refuse_turned(all.turned_frames(options.source.as_deref(), &poses), options)?;
    Ok(map.correct_frames(options.source.as_deref(), &poses)?)
}

/// Poses of the sensor from poses of what it is mounted on.
fn of_sensor(rows: PoseRows, options: &Options) -> Result<PoseRows> {
    let (before, after) = if let Some(path) = &options.calibration {
        let name = path.display();
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {name}"))?;
        let camera_from_lidar = Keyed::parse(&text).numbers::<12>("Tr").and_then(|numbers| rigid(&numbers));
        let camera_from_lidar = camera_from_lidar.with_context(|| format!("{name}"))?;
        (camera_from_lidar.inverse(), camera_from_lidar)
    } else if let Some(motion) = &options.body_from_sensor {
        (Pose::IDENTITY, merge::motion_of(motion).context("--body-from-sensor")?)
    } else {
        return Ok(rows);
    };
    let of_one = |pose: Pose| before.after(&pose.after(&after)?);
    Ok(match rows {
        PoseRows::ByFrame(poses) => {
            let all = poses.into_iter().map(|(number, pose)| Ok((number, of_one(pose)?)));
            PoseRows::ByFrame(all.collect::<e2bki::Result<_>>()?)
        }
        PoseRows::ByLine(poses) => PoseRows::ByLine(poses.into_iter().map(of_one).collect::<e2bki::Result<_>>()?),
        PoseRows::ByTime(poses) => {
            let all = poses.into_iter().map(|(time, pose)| Ok((time, of_one(pose)?)));
            PoseRows::ByTime(all.collect::<e2bki::Result<_>>()?)
        }
    })
}

/// Refuses poses that are plainly of something else than the sensor, unless it was said what they are of.
fn refuse_turned(degrees: Option<f64>, options: &Options) -> Result<()> {
    match degrees {
        Some(degrees) if options.body_from_sensor.is_none() => bail!(
            "these are not poses of the sensor: along the whole drive they go {degrees:.0}° elsewhere than its frames did, \
             in steps of the same length. If they are of KITTI's camera, add --calibration calib.txt; else say with \
             --body-from-sensor where the sensor is on what they are of (\"1 0 0 0  0 1 0 0  0 0 1 0\" if they are right)"
        ),
        _ => Ok(()),
    }
}

/// Poses of submaps by their ids.
fn by_submap(all: &Submaps, rows: PoseRows, source: Option<&str>) -> Result<BTreeMap<u32, Pose>> {
    let ids: Vec<u32> = match source {
        Some(source) => all.of_source(source)?,
        None => all.iter().map(|submap| submap.id()).collect(),
    };
    let in_order = |poses: Vec<Pose>| {
        if poses.len() != ids.len() {
            bail!("{} poses for {} submaps; `e2bki submaps` lists them", poses.len(), ids.len());
        }
        Ok(ids.iter().copied().zip(poses).collect())
    };
    match rows {
        PoseRows::ByLine(poses) => in_order(poses),
        PoseRows::ByTime(poses) => in_order(poses.into_iter().map(|(_, pose)| pose).collect()),
        PoseRows::ByFrame(poses) => poses
            .into_iter()
            .map(|(id, pose)| Ok((u32::try_from(id).with_context(|| format!("there is no submap {id}"))?, pose)))
            .collect(),
    }
}

/// Poses of frames by their numbers, found by time; in order where no frame has a time.
fn by_time(all: &Submaps, mut poses: Vec<(f64, Pose)>, source: Option<&str>) -> Result<BTreeMap<u64, Pose>> {
    let wanted = all.iter().filter(|submap| source.is_none_or(|source| submap.source() == source));
    let frames: Vec<(u64, f64)> =
        wanted.flat_map(|submap| submap.frames()).filter_map(|frame| Some((frame.number, frame.time?))).collect();
    if frames.is_empty() {
        return Ok((0..).zip(poses.into_iter().map(|(_, pose)| pose)).collect());
    }
    poses.sort_by(|a, b| a.0.total_cmp(&b.0));
    let nearest = |(number, time): (u64, f64)| {
        let after = poses.partition_point(|(other, _)| *other < time);
        let near = poses[after.saturating_sub(1)..].iter().take(2);
        let best = near.min_by(|a, b| (a.0 - time).abs().total_cmp(&(b.0 - time).abs()))?;
        ((best.0 - time).abs() <= SAME_TIME_S).then_some((number, best.1))
    };
    let found: BTreeMap<u64, Pose> = frames.iter().copied().filter_map(nearest).collect();
    if found.is_empty() {
        bail!("no pose has the time of a frame, to {SAME_TIME_S} s; frames begin at {} s", frames[0].1);
    }
    Ok(found)
}

fn farthest(map: &Mapper) -> f64 {
    let submaps = map.submaps().into_iter().flat_map(|submaps| submaps.iter());
    let moved = submaps.map(|submap| {
        let (a, b) = (submap.pose().translation(), submap.anchor().translation());
        (0..3).map(|i| (a[i] - b[i]).powi(2)).sum::<f64>().sqrt()
    });
    moved.fold(0.0, f64::max)
}
