//! What a frame of free space costs: time by part, and memory.
//!
//!     cargo run --release -p e2bki-lab --example free_space -- hdl-64e SCAN.bin …

use std::time::Instant;

use e2bki::Pose;
use e2bki::free::{Counters, RangeImage, Sensor, Settings, Sight, estimate};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Reads scans of x, y, z, intensity as f32 and prints the mean times of counting them. With one thread
/// (`RAYON_NUM_THREADS=1`) on a machine that does nothing else the wall time is the CPU time.
fn print(sensor: &str, scans: &[String]) -> Result<()> {
    let settings = Settings::default();
    let mut counters = Counters::default();
    let (mut image_ms, mut sight_ms, mut add_ms, mut frames, mut points_seen) = (0.0, 0.0, 0.0, 0.0, 0);
    for round in 0..6 {
        for (number, path) in scans.iter().enumerate() {
            let bytes = std::fs::read(path)?;
            let value =
                |row: &[u8], i: usize| f32::from_le_bytes([row[4 * i], row[4 * i + 1], row[4 * i + 2], row[4 * i + 3]]);
            let points: Vec<[f32; 3]> =
                bytes.chunks_exact(16).map(|row| std::array::from_fn(|i| value(row, i))).collect();
            let pose = Pose::from_translation([0.75 * number as f64, 0.0, 0.0])?;
            let model = if sensor == "auto" { estimate(&points)? } else { Sensor::named(sensor)? };
            if round == 0 && number == 0 {
                println!("{} points, {} beams, {} columns", points.len(), model.beams(), model.columns());
            }
            let start = Instant::now();
            let image = RangeImage::new(&model, &points, None)?;
            let made = Instant::now();
            let sight = Sight::of_image(&image, &points, &pose, &settings)?;
            let seen = Instant::now();
            if round == 0 {
                counters.add(&sight)?;
            } else {
                counters.add(&sight)?;
                counters.subtract(&sight)?;
            }
            let added = Instant::now();
            if round > 0 {
                image_ms += 1e3 * (made - start).as_secs_f64();
                sight_ms += 1e3 * (seen - made).as_secs_f64();
                frames += 1.0;
            } else {
                add_ms += 1e3 * (added - seen).as_secs_f64();
            }
            points_seen += points.len();
        }
    }
    println!(
        "image {:.2} ms, sight {:.2} ms, add {:.2} ms; {} points; {} blocks, {:.1} MB after {} frames",
        image_ms / frames,
        sight_ms / frames,
        add_ms / scans.len() as f64,
        points_seen,
        counters.keys().len(),
        counters.byte_size() as f64 / 1e6,
        counters.frames()
    );
    Ok(())
}

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.split_first() {
        Some((sensor, scans)) if !scans.is_empty() => print(sensor, scans),
        _ => Err("say SENSOR SCAN…, for instance hdl-64e 000000.bin".into()),
    }
}
