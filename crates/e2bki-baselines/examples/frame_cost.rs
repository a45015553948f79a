//! What a full scan costs in time and memory, beside S-BKI in the same run.
//!
//!     cargo run --release -p e2bki-baselines --example frame_cost -- DATA [repeats] [threads] [demand | live | hash]
//!
//! DATA is a sequence of SemanticKITTI with `velodyne/`, `predictions/`, `poses.txt` and `calib.txt`. Scans are mapped one
//! into the other (time), then each on new ground (memory); last a straight drive of seven soft classes (memory). With `demand`
//! only the time without views, with `live` only that with views in every frame, for a profiler; with `hash` hashes of
//! everything that views show after every scan: what makes a map faster must not change them.

use std::hash::{DefaultHasher, Hasher};
use std::path::Path;
use std::time::Instant;

use e2bki::cluster::Rng;
use e2bki::config::Update;
use e2bki::{ClassSet, Config, Frame, Mapper, Pose, Semantics};
use e2bki_baselines::Baseline;

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

/// Points farther away are left out, metres.
const MAX_RANGE_M: f32 = 50.0;

/// The 19 classes of a raw label of SemanticKITTI; what is none of them is dropped by the mapper.
fn class_of(raw: u32) -> u32 {
    match raw & 0xffff {
        10 | 252 => 0,
        11 => 1,
        15 => 2,
        18 | 258 => 3,
        13 | 16 | 20 | 256 | 257 | 259 => 4,
        30 | 254 => 5,
        31 | 253 => 6,
        32 | 255 => 7,
        40 | 60 => 8,
        44 => 9,
        48 => 10,
        49 => 11,
        50 => 12,
        51 => 13,
        70 => 14,
        71 => 15,
        72 => 16,
        80 => 17,
        81 => 18,
        _ => u32::MAX,
    }
}

struct Scan {
    points: Vec<[f32; 3]>,
    labels: Vec<u32>,
    pose: Pose,
}

impl Scan {
    fn frame(&self, world_from_sensor: Pose) -> Frame<'_> {
        Frame { points: &self.points, semantics: Semantics::Labels(&self.labels), world_from_sensor, scan: None }
    }
}

/// The twelve numbers of a line as a pose.
fn pose_of(line: &str) -> Fallible<Pose> {
    let v: Vec<f64> = line.split_whitespace().filter_map(|v| v.parse().ok()).collect();
    let row = |i: usize| v.get(4 * i..4 * i + 4).and_then(|row| row.try_into().ok()).ok_or("a pose has 12 numbers");
    Ok(Pose::from_matrix([row(0)?, row(1)?, row(2)?, [0.0, 0.0, 0.0, 1.0]])?)
}

fn scans_of(folder: &Path) -> Fallible<Vec<Scan>> {
    let calibration = std::fs::read_to_string(folder.join("calib.txt"))?;
    let camera = pose_of(calibration.lines().find(|line| line.starts_with("Tr")).ok_or("calib.txt has no Tr")?)?;
    let mut scans = Vec::new();
    for (i, line) in std::fs::read_to_string(folder.join("poses.txt"))?.lines().enumerate() {
        let points = std::fs::read(folder.join(format!("velodyne/{i:06}.bin")))?;
        let labels = std::fs::read(folder.join(format!("predictions/{i:06}.label")))?;
        let pose = camera.inverse().after(&pose_of(line)?.after(&camera)?)?;
        let mut scan = Scan { points: Vec::new(), labels: Vec::new(), pose };
        for (point, label) in points.as_chunks::<16>().0.iter().zip(labels.as_chunks::<4>().0) {
            let value = |at: usize| f32::from_le_bytes([point[at], point[at + 1], point[at + 2], point[at + 3]]);
            let at = [value(0), value(4), value(8)];
            if at.iter().map(|v| v * v).sum::<f32>() < MAX_RANGE_M * MAX_RANGE_M {
                scan.points.push(at);
                scan.labels.push(class_of(u32::from_le_bytes(*label)));
            }
        }
        scans.push(scan);
    }
    Ok(scans)
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

fn ms(start: Instant) -> f64 {
    1e3 * start.elapsed().as_secs_f64()
}

fn config(update: Update, threads: usize) -> Config {
    Config::default().with(|c| (c.views.update, c.run.threads) = (update, threads))
}

/// Median milliseconds of a frame one by one, and in a stream, and of every stage.
fn time(scans: &[Scan], update: Update, (repeats, threads): (usize, usize), classes: &ClassSet) -> Fallible<[f64; 2]> {
    let (mut single, mut stream, mut stages) = (Vec::new(), Vec::new(), Vec::new());
    for repeat in 0..=repeats {
        let mut map = Mapper::new(classes.clone(), config(update, threads))?;
        for scan in scans {
            let start = Instant::now();
            let report = map.insert(&scan.frame(scan.pose))?;
            if repeat > 0 {
                single.push(ms(start));
                stages.push(report.timings.by_stage().map(|(name, time)| (name, 1e3 * time.as_secs_f64())));
            }
        }
        let mut map = Mapper::new(classes.clone(), config(update, threads))?;
        let mut ready = map.prepare(&scans[0].frame(scans[0].pose))?;
        for scan in &scans[1..] {
            let start = Instant::now();
            let (report, next) = map.insert_and_prepare(ready, &scan.frame(scan.pose));
            (_, ready) = (report?, next?);
            if repeat > 0 {
                stream.push(ms(start));
            }
        }
    }
    let names = stages.first().map(|stage| stage.map(|(name, _)| name)).unwrap_or_default();
    for (i, name) in names.iter().enumerate() {
        print!(" {name} {:.1}", median(&mut stages.iter().map(|stage| stage[i].1).collect::<Vec<_>>()));
    }
    println!();
    Ok([median(&mut single), median(&mut stream)])
}

/// Median milliseconds of S-BKI, one by one.
fn yardstick(scans: &[Scan], (repeats, threads): (usize, usize), classes: &ClassSet) -> Fallible<f64> {
    let mut times = Vec::new();
    for repeat in 0..=repeats {
        let mut map = Baseline::SBki.build(classes.clone(), &config(Update::EveryFrame, threads))?;
        for scan in scans {
            let start = Instant::now();
            map.insert(&scan.frame(scan.pose))?;
            if repeat > 0 {
                times.push(ms(start));
            }
        }
    }
    Ok(median(&mut times))
}

/// Megabytes that a scan on new ground adds, and bytes of a primitive by part.
fn memory(scans: &[Scan], update: Update, threads: usize, classes: &ClassSet) -> Fallible<()> {
    let mut map = Mapper::new(classes.clone(), config(update, threads))?;
    let mut first = 0;
    for (i, scan) in scans.iter().enumerate() {
        map.insert(&scan.frame(Pose::from_translation([120.0 * i as f64, 0.0, 0.0])?))?;
        if i == 0 {
            first = map.byte_size().total();
        }
    }
    let bytes = map.byte_size();
    let more = (bytes.total() - first) as f64 / (scans.len().max(2) - 1) as f64;
    let per = |part: usize| part as f64 / map.len() as f64;
    println!(
        "memory, {update:?}: {:.2} MB per new scan; bytes per primitive of {}: held {:.0}, derived {:.0}, index {:.0}, voxels {:.0}",
        more / 1e6,
        map.len(),
        per(bytes.primitives),
        per(bytes.derived),
        per(bytes.index),
        per(bytes.voxels)
    );
    Ok(())
}

/// Bytes of a primitive on a straight drive of `metres` frames, every class of which has some evidence.
fn line(metres: usize, update: Update) -> Fallible<()> {
    let mut map = Mapper::new(ClassSet::from_names((0..7).map(|c| format!("class {c}")))?, config(update, 0))?;
    for metre in 0..metres {
        let mut rng = Rng::new(metre as u64 + 1);
        let (mut points, mut evidence) = (Vec::new(), Vec::new());
        for _ in 0..2000 {
            let (x, y) = (3.0 * (2.0 * rng.uniform() - 1.0), 6.0 * (2.0 * rng.uniform() - 1.0));
            let wall = y.abs() > 4.0;
            let (y, z) = if wall { (4.0 * y.signum(), 3.0 * rng.uniform()) } else { (y, 0.02 * rng.uniform()) };
            points.push([x as f32, y as f32, (z - 1.5) as f32]);
            let patch = if wall { 5 + usize::from(y > 0.0) } else { metre / 7 % 5 };
            evidence.extend((0..7).map(|c| if c == patch { 12.0 } else { 0.3 * rng.uniform() as f32 }));
        }
        let world_from_sensor = Pose::from_translation([metre as f64, 0.0, 1.5])?;
        map.insert(&Frame {
            points: &points,
            semantics: Semantics::Evidence(&evidence),
            world_from_sensor,
            scan: None,
        })?;
    }
    let (bytes, per) = (map.byte_size(), |part: usize| part as f64 / map.len() as f64);
    println!(
        "drive of {metres} frames, seven soft classes, {update:?}: bytes per primitive of {}: held {:.0}, derived {:.0}, index {:.0}: \
         {:.0}; voxels {:.0}",
        map.len(),
        per(bytes.primitives),
        per(bytes.derived),
        per(bytes.index),
        per(bytes.primitives + bytes.derived + bytes.index),
        per(bytes.voxels)
    );
    Ok(())
}

fn queries(scans: &[Scan], (repeats, threads): (usize, usize), classes: &ClassSet) -> Fallible<f64> {
    let mut map = Mapper::new(classes.clone(), config(Update::EveryFrame, threads))?;
    scans.iter().take(5).try_for_each(|scan| map.insert(&scan.frame(scan.pose)).map(drop))?;
    let mut rng = Rng::new(1);
    let near = |rng: &mut Rng| {
        let at = scans[0].pose.apply(scans[0].points[rng.below(scans[0].points.len())].map(f64::from));
        at.map(|v| v + 0.4 * (rng.uniform() - 0.5))
    };
    let points: Vec<[f64; 3]> = (0..1_000_000).map(|_| near(&mut rng)).collect();
    let mut times = Vec::new();
    for _ in 0..=repeats {
        let start = Instant::now();
        let beliefs = map.query(&points);
        times.push(start.elapsed().as_secs_f64());
        drop(beliefs);
    }
    Ok(1.0 / median(&mut times[1..]))
}

/// Hashes of primitives (states, probabilities, surfaces) and of voxels, after every scan with views in every frame, and after
/// the last on demand.
fn hashes(scans: &[Scan], threads: usize, classes: &ClassSet) -> Fallible<()> {
    let mut live = Mapper::new(classes.clone(), config(Update::EveryFrame, threads))?;
    let mut late = Mapper::new(classes.clone(), config(Update::OnDemand, threads))?;
    for scan in scans {
        let report = live.insert(&scan.frame(scan.pose))?;
        late.insert(&scan.frame(scan.pose))?;
        print!("{} voxels computed, {} kernel values: ", report.voxels_updated, report.kernel_values);
        print_hashes(&live);
    }
    print!("on demand: ");
    print_hashes(&late);
    Ok(())
}

fn print_hashes(map: &Mapper) {
    let mut state = DefaultHasher::new();
    for primitive in map.primitives() {
        state.write(format!("{:?}", primitive.state()).as_bytes());
        primitive.probability().into_iter().chain(primitive.surface()).for_each(|v| state.write_u32(v.to_bits()));
        [primitive.uncertainty(), primitive.reach()].into_iter().for_each(|v| state.write_u64(v.to_bits()));
    }
    let (mut voxels, mut count) = (DefaultHasher::new(), 0);
    for voxel in map.live_voxels() {
        let belief = voxel.belief;
        voxel.center.into_iter().for_each(|v| voxels.write_u64(v.to_bits()));
        voxels.write_usize(belief.label().unwrap_or(usize::MAX));
        let values = [belief.evidence(), belief.confidence(), belief.uncertainty(), belief.semantic_uncertainty()];
        values.into_iter().for_each(|v| voxels.write_u64(v.to_bits()));
        count += 1;
    }
    println!("{} primitives {:016x}, {count} voxels {:016x}", map.len(), state.finish(), voxels.finish());
}

fn main() -> Fallible<()> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("the folder of a sequence of SemanticKITTI is missing")?;
    let repeats = arguments.next().map_or(Ok(3), |v| v.parse())?;
    let threads = arguments.next().map_or(Ok(0), |v| v.parse())?;
    let (scans, how) = (scans_of(Path::new(&folder))?, (repeats, threads));
    let classes = ClassSet::from_names((0..19).map(|c| format!("class {c}")))?;
    println!("{} scans of {} points", scans.len(), scans.first().map_or(0, |scan| scan.points.len()));
    match arguments.next().as_deref() {
        None => {}
        Some("demand") => return time(&scans, Update::OnDemand, how, &classes).map(drop),
        Some("live") => return time(&scans, Update::EveryFrame, how, &classes).map(drop),
        Some("hash") => return hashes(&scans, threads, &classes),
        Some(other) => return Err(format!("`{other}` is none of demand, live, hash").into()),
    }
    let yard = yardstick(&scans, how, &classes)?;
    println!("S-BKI {yard:.1} ms");
    for update in [Update::OnDemand, Update::EveryFrame] {
        let [single, stream] = time(&scans, update, how, &classes)?;
        println!("{update:?}: one by one {single:.1} ms, in a stream {stream:.1} ms, {:.2} times S-BKI", stream / yard);
    }
    memory(&scans, Update::OnDemand, threads, &classes)?;
    memory(&scans, Update::EveryFrame, threads, &classes)?;
    line(1000, Update::OnDemand)?;
    line(1000, Update::EveryFrame)?;
    println!("queries: {:.2} million/s", queries(&scans, how, &classes)?);
    Ok(())
}
