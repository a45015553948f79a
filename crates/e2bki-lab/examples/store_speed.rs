//! How fast maps are saved and loaded, how large they are, and whether a drive of kilometres stays in its budget.
//!
//! `cargo run --release -p e2bki-lab --example store_speed -- [PRIMITIVES]`
//! `cargo run --release -p e2bki-lab --example store_speed -- drive [KILOMETRES] [MEGABYTES]`

use std::time::Instant;

use e2bki::{ClassSet, Config, Frame, Mapper, Pose, Semantics};
use e2bki_sim::{Drive, DriveOptions, ErrorModel, FRAME_S, Sensor, WorldKind};
use e2bki_store::{MapFile, RollingMapper, load, save};

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize, usual: f64| arguments.get(i).and_then(|text| text.parse().ok()).unwrap_or(usual);
    match arguments.first().map(String::as_str) {
        Some("drive") => budget(number(1, 5.0) * 1e3, (number(2, 64.0) * 1e6) as usize),
        _ => speed(number(0, 1e6) as usize),
    }
}

/// A map of real evidence from a coarse simulated drive, repeated along a road until it is large enough.
fn speed(primitives: usize) -> Outcome {
    let config = Config::default().with(|c| c.views.live_voxels = false);
    let (drive, network) = simulated(WorldKind::Offroad, 1024)?;
    let classes = ClassSet::new(drive.classes().iter().map(|class| (class.name, class.color)))?;
    let mut map = Mapper::new(classes, config)?;
    let frames: Vec<_> = (0..40).step_by(4).map(|i| drive.frame(i)).collect();
    let evidence: Vec<Vec<f32>> = frames.iter().map(|frame| network.evidence(frame)).collect();
    let mut shift = 0.0;
    while map.len() < primitives {
        for (frame, evidence) in frames.iter().zip(&evidence) {
            let mut pose = frame.world_from_sensor;
            pose[1][3] += shift;
            let world_from_sensor = Pose::from_matrix(pose)?;
            map.insert(&Frame {
                points: &frame.points,
                semantics: Semantics::Evidence(evidence),
                world_from_sensor,
                scan: None,
            })?;
        }
        shift += 300.0;
    }
    let path = std::env::temp_dir().join(format!("e2bki-speed-{}.e2bki", std::process::id()));
    let millions = map.len() as f64 / 1e6;
    let (_, saved) = timed(|| save(&map, &path))?;
    let (mut file, opened) = timed(|| MapFile::open(&path))?;
    let (count, read) = timed(|| file.read_tiles(|_| true).map(|states| states.len()))?;
    let (again, loaded) = timed(|| load(&path))?;
    println!("{} primitives, {} classes, {} tiles", count, map.classes().len(), file.tiles().len());
    println!("{:.1} MB, {:.1} bytes per primitive", file.bytes() as f64 / 1e6, file.bytes() as f64 / count as f64);
    println!("open {:.1} ms", opened.0 * 1e3);
    for (what, (wall, cpu)) in [("save, flushed", saved), ("read", read), ("load as a map", loaded)] {
        // The processor's time tells what two idle cores would do when other programs keep them busy.
        println!("{what}: {wall:.2} s, {:.2} million/s; {cpu:.2} s of processor time", millions / wall);
    }
    println!("same: {}", again.states().eq(map.states()));
    std::fs::remove_file(&path)?;
    Ok(())
}

/// A result with the seconds that it took, by the clock and of the processor (where the system tells).
fn timed<T>(work: impl FnOnce() -> e2bki_store::Result<T>) -> e2bki_store::Result<(T, (f64, f64))> {
    let processor = || -> f64 {
        let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
        let fields: Vec<f64> = text.split(' ').map(|field| field.parse().unwrap_or(0.0)).collect();
        fields.get(13..15).map_or(0.0, |ticks| (ticks[0] + ticks[1]) / 100.0)
    };
    let (start, before) = (Instant::now(), processor());
    let value = work()?;
    Ok((value, (start.elapsed().as_secs_f64(), processor() - before)))
}

fn simulated(world: WorldKind, columns: usize) -> Result<(Drive, ErrorModel), e2bki_sim::Error> {
    let mut options = DriveOptions::new(world, 7, Sensor::Os1_64);
    options.columns = Some(columns);
    let drive = Drive::new(options)?;
    let network = ErrorModel::for_drive(&drive, 0.3)?;
    Ok((drive, network))
}

/// The same drive with and without a budget.
fn budget(metres: f64, bytes: usize) -> Outcome {
    let (drive, network) = simulated(WorldKind::Urban, 256)?;
    let classes = ClassSet::new(drive.classes().iter().map(|class| (class.name, class.color)))?;
    let config = Config::default().with(|c| c.input.max_range = 40.0);
    let folder = std::env::temp_dir().join(format!("e2bki-drive-{}", std::process::id()));
    let mut rolling = RollingMapper::create(classes.clone(), config.clone(), &folder, bytes)?;
    let mut whole = Mapper::new(classes, config)?;
    let (mut driven, mut frames, mut last) = (0.0, 0_usize, None);
    let (mut with, mut without) = (0.0, 0.0);
    // One frame every two seconds of driving: about fifteen metres apart.
    let step = (2.0 / FRAME_S) as usize;
    while driven < metres {
        let frame = drive.frame(frames * step);
        let evidence = network.evidence(&frame);
        let world_from_sensor = Pose::from_matrix(frame.world_from_sensor)?;
        let place = world_from_sensor.translation();
        driven += last.replace(place).map_or(0.0, |l: [f64; 3]| (place[0] - l[0]).hypot(place[1] - l[1]));
        let frame =
            Frame { points: &frame.points, semantics: Semantics::Evidence(&evidence), world_from_sensor, scan: None };
        let start = Instant::now();
        rolling.insert(&frame)?;
        with += start.elapsed().as_secs_f64();
        let start = Instant::now();
        whole.insert(&frame)?;
        without += start.elapsed().as_secs_f64();
        frames += 1;
    }
    println!("{:.2} km, {frames} frames, {} primitives", driven / 1e3, whole.len());
    println!(
        "without a budget {:.1} MB, {:.1} ms a frame",
        whole.byte_size().total() as f64 / 1e6,
        without * 1e3 / frames as f64
    );
    println!(
        "budget {:.1} MB, peak {:.1} MB, {:.1} ms a frame",
        bytes as f64 / 1e6,
        rolling.peak_bytes() as f64 / 1e6,
        with * 1e3 / frames as f64
    );
    println!("under the budget: {}", rolling.peak_bytes() <= bytes);
    println!("same states: {}", rolling.into_map()?.states().eq(whole.states()));
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}
