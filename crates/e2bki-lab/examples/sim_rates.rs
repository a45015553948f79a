//! Measures LiDAR frames and camera images per second, and the memory of a long drive.
//! Usage: `cargo run --release -p e2bki-lab --example sim_rates [frames]`

use std::time::Instant;

use e2bki_sim::{Drive, DriveOptions, Error, ErrorModel, Sensor, WorldKind};

/// Runs per second from the median time of one run, and the mean number of items made.
fn rate(count: usize, mut work: impl FnMut(usize) -> usize) -> (f64, usize) {
    work(0);
    let mut made = 0;
    let mut times: Vec<f64> = (1..=count)
        .map(|k| {
            let start = Instant::now();
            made += work(k);
            start.elapsed().as_secs_f64()
        })
        .collect();
    times.sort_by(f64::total_cmp);
    (1.0 / times[count / 2], made / count)
}

fn main() -> Result<(), Error> {
    let count = std::env::args().nth(1).and_then(|n| n.parse().ok()).filter(|n| *n > 0).unwrap_or(30);
    println!("{:<34} {:>9} {:>12}", "sensor", "per s", "items each");
    for (kind, name) in [(WorldKind::Offroad, "off-road"), (WorldKind::Urban, "urban")] {
        for (sensor, label, columns) in [
            (Sensor::Os1_64, "os1-64 64x1024", 1024),
            (Sensor::Os1_64, "os1-64 64x2048", 2048),
            (Sensor::Os1_128, "os1-128 128x1024", 1024),
            (Sensor::Hdl64e, "hdl-64e 64x2083", 2083),
        ] {
            let drive = Drive::new(DriveOptions { columns: Some(columns), ..DriveOptions::new(kind, 1, sensor) })?;
            let (per_s, points) = rate(count, |k| drive.frame(k).points.len());
            println!("{:<34} {per_s:>9.1} {points:>12}", format!("{name} {label}"));
            if columns == 1024 && sensor == Sensor::Os1_64 {
                let (model, frame) = (ErrorModel::for_drive(&drive, 1.0)?, drive.frame(0));
                let (per_s, values) = rate(count, |_| model.evidence(&frame).len());
                println!("{:<34} {per_s:>9.1} {values:>12}", format!("{name} error model, same frame"));
            }
        }
        for width in [640, 1408] {
            let mut options = DriveOptions::new(kind, 1, Sensor::Os1_64);
            options.image_width = width;
            if width == 640 {
                options.camera = e2bki_sim::CameraKind::Rellis;
            } else {
                options.camera = e2bki_sim::CameraKind::Kitti360;
            }
            let drive = Drive::new(options)?;
            let height = drive.rig().camera.height;
            let (per_s, pixels) = rate(count.min(20), |k| drive.image(k).rgb.len());
            println!("{:<34} {per_s:>9.1} {pixels:>12}", format!("{name} camera {width}x{height}"));
        }
    }
    let drive =
        Drive::new(DriveOptions { columns: Some(64), ..DriveOptions::new(WorldKind::Urban, 1, Sensor::Hdl64e) })?;
    let mut most = (0, 0);
    for k in (0..25_000).step_by(25) {
        drive.frame(k);
        most = most.max(drive.world().cached());
    }
    println!("25 000-frame drive, every 25th frame: at most {} tiles, {:.1} MB", most.1, most.0 as f64 / 1e6);
    Ok(())
}
