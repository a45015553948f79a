//! A loop driven with odometry drift, mapped in submaps and corrected by the true poses, against the map of the true poses.
//!
//! `cargo run --release -p e2bki-store --example correct -- [COLUMNS [FRAMES [METRES [FOLDER]]]]`; in FOLDER go pictures. With
//! `times` in the place of FOLDER it measures times and sizes alone.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use e2bki::submaps::SubmapRule;
use e2bki::{ClassSet, Config, Frame, Mapper, Pose, Semantics};
use e2bki_sim::{Drift, Drive, DriveOptions, ErrorModel, RouteKind, Sensor, VOID, WorldKind};
use e2bki_store::{ExportOptions, Format};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Points with a known class, in the true world.
type Truth = Vec<([f64; 3], u8)>;

fn main() -> Result<()> {
    let folder = std::env::args().nth(4);
    let times = folder.as_deref() == Some("times");
    let mut numbers = std::env::args().skip(1).take(3).map(|text| text.parse::<usize>());
    let mut next = |default: usize| numbers.next().transpose().map(|number| number.unwrap_or(default));
    let (columns, count, metres) = (next(256)?, next(1300)?, next(20)?);
    let mut options = DriveOptions::new(WorldKind::Urban, 11, Sensor::Hdl64e);
    options.columns = Some(columns);
    options.route = RouteKind::from_name("loop", 1000.0)?;
    options.drift = Drift { share: 0.01, angle_rad: 1.0_f64.to_radians() };
    let drive = Drive::new(options)?;
    let errors = ErrorModel::for_drive(&drive, 0.3)?;
    let classes = ClassSet::new(drive.classes().iter().map(|class| (class.name, class.color)))?;
    let config = Config::default().with(|c| {
        c.refinement.prune = false;
        c.input.max_range = 60.0;
    });

    let mut ideal = Mapper::new(classes.clone(), config.clone())?;
    let (mut drifted, mut plain) = (ideal.clone(), ideal.clone());
    drifted.keep_submaps(SubmapRule::Metres(metres as f64), "loop")?;
    let (mut keeping, mut not) = (Duration::ZERO, Duration::ZERO);
    let (mut poses, mut truth, mut farthest) = (BTreeMap::new(), Truth::new(), 0.0_f64);
    for index in 0..count {
        let frame = drive.frame(index);
        let evidence = errors.evidence(&frame);
        let (believed, real) =
            (Pose::from_matrix(frame.world_from_sensor)?, Pose::from_matrix(frame.true_world_from_sensor)?);
        let seen = |world_from_sensor| Frame {
            points: &frame.points,
            semantics: Semantics::Evidence(&evidence),
            world_from_sensor,
            scan: None,
        };
        let timed = |map: &mut Mapper, total: &mut Duration| {
            let start = Instant::now();
            let report = map.insert(&seen(believed));
            *total += start.elapsed();
            report
        };
        if !times {
            ideal.insert(&seen(real))?;
        }
        drifted.name_next_frame(index as u64, Some(frame.time_s));
        // In turns, so that neither is always the one with a warm cache.
        if index % 2 == 0 {
            timed(&mut drifted, &mut keeping)?;
            timed(&mut plain, &mut not)?;
        } else {
            timed(&mut plain, &mut not)?;
            timed(&mut drifted, &mut keeping)?;
        }
        poses.insert(index as u64, (believed, real));
        farthest = farthest.max(distance(believed.translation(), real.translation()));
        if index % 10 == 0 && !times {
            let known = (0..frame.points.len()).filter(|k| frame.labels[*k] != VOID && !frame.moving[*k]).step_by(7);
            truth.extend(known.map(|k| (real.apply(frame.points[k].map(f64::from)), frame.labels[k])));
        }
    }
    let each = |total: Duration| total.as_secs_f64() * 1e3 / count as f64;
    let submaps = drifted.submaps().map_or(0, |submaps| submaps.len());
    println!("{count} frames of {columns} columns; drift up to {farthest:.1} m; {submaps} submaps of {metres} m");
    println!(
        "insert: {:.2} ms a frame, {:.2} ms with contributions ({:+.1} %)",
        each(not),
        each(keeping),
        (each(keeping) / each(not) - 1.0) * 100.0
    );

    drop(plain);
    // As a map that goes on being built: nothing of it is known to anybody else.
    let mut corrected = drifted.clone();
    let true_poses: BTreeMap<u64, Pose> = poses.iter().map(|(number, (_, real))| (*number, *real)).collect();
    let start = Instant::now();
    let done = corrected.correct_frames(None, &true_poses)?;
    println!("correcting all: {:.3} s ({done:?})", start.elapsed().as_secs_f64());
    let start = Instant::now();
    corrected.query(&[[0.0; 3]]);
    println!("first look at it: {:.3} s", start.elapsed().as_secs_f64());
    let middle = submaps as u32 / 2;
    let there = corrected.submaps().and_then(|s| s.get(middle)).map(|s| s.pose()).ok_or("no submap")?;
    let moved = Pose::from_translation([0.1, 0.1, 0.0])?.after(&there)?;
    let mut one = corrected.clone();
    for pose in [moved, there, moved, there] {
        let start = Instant::now();
        let done = one.correct(&[(middle, pose)].into())?;
        println!(
            "correcting one: {:.1} ms ({} primitives)",
            start.elapsed().as_secs_f64() * 1e3,
            done.altered + done.made + done.removed
        );
    }
    drop(one);
    if times {
        return sizes(&corrected);
    }

    let mut pieces = drifted.clone();
    pieces.correct(&as_pieces(&drifted, &poses)?)?;
    let reference = labels(&ideal);
    let maps =
        [("true poses", &ideal), ("before", &drifted), ("corrected", &corrected), ("corrected as pieces", &pieces)];
    for (name, map) in maps {
        let own = labels(map);
        let common: Vec<bool> = own.iter().filter_map(|(k, v)| reference.get(k).map(|r| r == v)).collect();
        let same = common.iter().filter(|same| **same).count();
        let (miou, acc) = scores(map, &truth, classes.len());
        println!(
            "{name}: {} voxels ({:+.2} %), {} common, {:.2} % of them with the same label; mIoU {miou:.2}, Acc {acc:.2}",
            own.len(),
            (own.len() as f64 / reference.len() as f64 - 1.0) * 100.0,
            common.len(),
            100.0 * same as f64 / common.len().max(1) as f64,
        );
        if let Some(folder) = &folder {
            let path = std::path::Path::new(folder).join(format!("{}.png", name.replace(' ', "-")));
            let options = ExportOptions { resolution: Some(0.5), ..ExportOptions::default() };
            e2bki_store::export(map, Format::Bev, path, &options)?;
        }
    }
    sizes(&corrected)
}

/// Poses of submaps that move as one piece, with the frame in their middle.
fn as_pieces(map: &Mapper, poses: &BTreeMap<u64, (Pose, Pose)>) -> Result<BTreeMap<u32, Pose>> {
    let mut found = BTreeMap::new();
    for submap in map.submaps().into_iter().flat_map(|submaps| submaps.iter()) {
        let middle = submap.frames().get(submap.frames().len() / 2).and_then(|frame| poses.get(&frame.number));
        let (believed, real) = middle.ok_or("a submap without frames")?;
        found.insert(submap.id(), real.after(&believed.inverse())?.after(&submap.anchor())?);
    }
    Ok(found)
}

fn distance(a: [f64; 3], b: [f64; 3]) -> f64 {
    (0..3).map(|i| (a[i] - b[i]).powi(2)).sum::<f64>().sqrt()
}

/// Labels of the live voxels.
fn labels(map: &Mapper) -> HashMap<[i64; 3], usize> {
    let side = map.config().views.resolution;
    let key = |center: [f64; 3]| center.map(|v| (v / side).floor() as i64);
    map.live_voxels().filter_map(|voxel| Some((key(voxel.center), voxel.belief.label()?))).collect()
}

/// mIoU and accuracy in percent, at points whose class is known; what is not observed is wrong.
fn scores(map: &Mapper, truth: &Truth, classes: usize) -> (f64, f64) {
    let places: Vec<[f64; 3]> = truth.iter().map(|(place, _)| *place).collect();
    let beliefs = map.query(&places);
    let (mut hit, mut said, mut real) = (vec![0_u64; classes], vec![0_u64; classes], vec![0_u64; classes]);
    for (i, (_, class)) in truth.iter().enumerate() {
        let class = usize::from(*class);
        real[class] += 1;
        if let Some(label) = beliefs.get(i).label() {
            said[label] += 1;
            hit[class] += u64::from(label == class);
        }
    }
    let iou = |c: usize| hit[c] as f64 / (said[c] + real[c] - hit[c]) as f64;
    let present: Vec<f64> = (0..classes).filter(|c| real[*c] > 0).map(iou).collect();
    let acc = hit.iter().sum::<u64>() as f64 / truth.len() as f64;
    (100.0 * present.iter().sum::<f64>() / present.len() as f64, 100.0 * acc)
}

/// Bytes on the disk.
fn sizes(map: &Mapper) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("loop.e2bki");
    let start = Instant::now();
    e2bki_store::save(map, &path)?;
    let (took, own) = (start.elapsed(), std::fs::metadata(&path)?.len());
    let listed = e2bki_store::list_submaps(&path)?;
    let (rows, bytes) = listed.iter().fold((0, 0), |(rows, bytes), one| (rows + one.rows, bytes + one.bytes));
    println!(
        "map: {} primitives, {:.1} MB; submaps: {rows} sums, {:.1} MB ({:.2} of the map's bytes); saved in {:.1} s",
        map.len(),
        own as f64 / 1e6,
        bytes as f64 / 1e6,
        bytes as f64 / own as f64,
        took.as_secs_f64()
    );
    let start = Instant::now();
    let again = e2bki_store::load_with_submaps(&path)?;
    println!(
        "loaded with its submaps in {:.1} s; the same: {}",
        start.elapsed().as_secs_f64(),
        again.states().eq(map.states())
    );
    Ok(())
}
