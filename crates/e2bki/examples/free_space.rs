//! What a frame of free space costs: time by part, and memory.
//!
//!     cargo run --release -p e2bki --example free_space -- hdl-64e SCAN.bin …

use std::time::Instant;

use e2bki::free::{Counters, RangeImage, Sensor, Settings, Sight, estimate};
use e2bki::{ClassSet, Config, Frame, Mapper, Pose, Semantics};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Points of a scan of x, y, z, intensity as f32.
fn read(path: &str) -> Result<Vec<[f32; 3]>> {
    let value = |row: &[u8], i: usize| f32::from_le_bytes([row[4 * i], row[4 * i + 1], row[4 * i + 2], row[4 * i + 3]]);
    Ok(std::fs::read(path)?.chunks_exact(16).map(|row| std::array::from_fn(|i| value(row, i))).collect())
}

/// Prints the mean times of counting scans. With one thread (`RAYON_NUM_THREADS=1`) on a machine that does nothing else
/// the wall time is the processor's.
fn print(sensor: &str, paths: &[String]) -> Result<()> {
    let settings = Settings::default();
    let scans = paths.iter().map(|path| read(path)).collect::<Result<Vec<_>>>()?;
    let mut counters = Counters::default();
    let [mut guess, mut image, mut sight, mut add] = [0.0; 4];
    let model_of = |points: &[[f32; 3]]| if sensor == "auto" { estimate(points) } else { Sensor::named(sensor) };
    let model = model_of(&scans[0])?;
    println!("{} points, {} beams, {} columns", scans[0].len(), model.beams(), model.columns());
    let rounds = 6;
    for round in 0..rounds {
        for (number, points) in scans.iter().enumerate() {
            let pose = Pose::from_translation([0.75 * (number + round * scans.len()) as f64, 0.0, 0.0])?;
            let start = Instant::now();
            let model = model_of(points)?;
            let known = Instant::now();
            let made = RangeImage::new(&model, points, None)?;
            let imaged = Instant::now();
            let seen = Sight::of_image(&made, points, &pose, &settings)?;
            let looked = Instant::now();
            counters.add(&seen)?;
            add += looked.elapsed().as_secs_f64();
            guess += (known - start).as_secs_f64();
            image += (imaged - known).as_secs_f64();
            sight += (looked - imaged).as_secs_f64();
        }
    }
    let ms = |seconds: f64| 1e3 * seconds / (rounds * scans.len()) as f64;
    println!(
        "sensor {:.2} ms, image {:.2} ms, sight {:.2} ms, add {:.2} ms; {} blocks, {:.1} MB after {} frames",
        ms(guess),
        ms(image),
        ms(sight),
        ms(add),
        counters.keys().len(),
        counters.byte_size() as f64 / 1e6,
        counters.frames()
    );
    in_a_map(sensor, &scans)
}

/// The same as part of mapping, with what moves and what views must be told.
fn in_a_map(sensor: &str, scans: &[Vec<[f32; 3]>]) -> Result<()> {
    let config = Config::from_toml(&format!("[free_space]\nenabled = true\nsensor = \"{sensor}\"\n"))?;
    let mut map = Mapper::new(ClassSet::from_names(["anything", "else"])?, config)?;
    let (mut time, mut frames) = (0.0, 0);
    for round in 0..3 {
        for (number, points) in scans.iter().enumerate() {
            let world_from_sensor = Pose::from_translation([0.75 * (number + round * scans.len()) as f64, 0.0, 0.0])?;
            let labels = vec![0; points.len()];
            let report =
                map.insert(&Frame { points, semantics: Semantics::Labels(&labels), world_from_sensor, scan: None })?;
            if let Some(free) = report.free_space {
                time += 1e3 * free.time.as_secs_f64();
                frames += 1;
            }
        }
    }
    println!("in a map: {:.2} ms a frame", time / f64::from(frames));
    Ok(())
}

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.split_first() {
        Some((sensor, scans)) if !scans.is_empty() => print(sensor, scans),
        _ => Err("say SENSOR SCAN…, for instance hdl-64e 000000.bin".into()),
    }
}
