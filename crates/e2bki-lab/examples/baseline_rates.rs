//! Time per scan and bytes per new scan of every baseline on real scans.
//! Usage: `cargo run --release -p e2bki-lab --example baseline_rates SEQUENCE_DIR [REPETITIONS [dense]]`, where the
//! folder is a SemanticKITTI sequence with `velodyne/` and `predictions/` (or `labels/`). With `dense`, every point
//! has some evidence of every class, as a network gives it.

use std::path::Path;
use std::time::Instant;

use e2bki::{ClassSet, Config, Frame, Pose, Semantics};
use e2bki_baselines::Baseline;

type AnyError = Box<dyn std::error::Error>;

/// Raw ids of SemanticKITTI's 19 classes; class 0 takes the rest.
const RAW: [&[u32]; 20] = [
    &[],
    &[10, 252],
    &[11],
    &[15],
    &[18, 258],
    &[13, 16, 20, 256, 257, 259],
    &[30, 254],
    &[31, 253],
    &[32, 255],
    &[40, 60],
    &[44],
    &[48],
    &[49],
    &[50],
    &[51],
    &[70],
    &[71],
    &[72],
    &[80],
    &[81],
];

struct Scan {
    points: Vec<[f32; 3]>,
    labels: Vec<u32>,
    /// Empty unless asked for.
    evidence: Vec<f32>,
}

fn read(folder: &Path, index: usize) -> Result<Scan, AnyError> {
    let words = |path: &Path| -> Result<Vec<[u8; 4]>, AnyError> {
        Ok(std::fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?.as_chunks::<4>().0.to_vec())
    };
    let said_by = if folder.join("predictions").is_dir() { "predictions" } else { "labels" };
    let values = words(&folder.join(format!("velodyne/{index:06}.bin")))?;
    let ids = words(&folder.join(format!("{said_by}/{index:06}.label")))?;
    let mut scan = Scan { points: Vec::new(), labels: Vec::new(), evidence: Vec::new() };
    for (point, id) in values.chunks_exact(4).zip(ids) {
        let point = [0, 1, 2].map(|i| f32::from_le_bytes(point[i]));
        let id = u32::from_le_bytes(id) & 0xffff;
        // All within 50 m, as the published programs were measured.
        if point.iter().map(|v| v * v).sum::<f32>() < 2500.0 {
            scan.points.push(point);
            scan.labels.push(RAW.iter().position(|raw| raw.contains(&id)).unwrap_or(0) as u32);
        }
    }
    Ok(scan)
}

fn main() -> Result<(), AnyError> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("usage: baseline_rates SEQUENCE_DIR [REPETITIONS]")?;
    let repetitions: usize = arguments.next().map_or(Ok(5), |text| text.parse())?;
    let dense = arguments.next().is_some_and(|word| word == "dense");
    let folder = Path::new(&folder);
    let count = (0..10).take_while(|i| folder.join(format!("velodyne/{i:06}.bin")).is_file()).count();
    let mut scans = (0..count).map(|i| read(folder, i)).collect::<Result<Vec<_>, _>>()?;
    if scans.is_empty() {
        return Err(format!("{} holds no scan velodyne/000000.bin", folder.display()).into());
    }
    for scan in scans.iter_mut().filter(|_| dense) {
        let classes = RAW.len() as u32;
        let evidence = |(i, label): (usize, &u32)| {
            let strength = 1.0 + (i % 40) as f32;
            (0..classes).map(|c| if c == *label { strength } else { 0.05 }).collect::<Vec<_>>()
        };
        scan.evidence = scan.labels.iter().enumerate().flat_map(evidence).collect();
    }
    let classes = ClassSet::from_names((0..RAW.len()).map(|c| format!("class {c}")))?;
    let points: usize = scans.iter().map(|scan| scan.points.len()).sum();
    println!("{} scans, {} points each, 0.2 m, {} threads", scans.len(), points / count, rayon::current_num_threads());
    println!(
        "{:<10} {:>8} {:>10} {:>10} {:>8} {:>12} {:>12}",
        "method", "best ms", "median ms", "of it read", "voxels", "MB, 1st scan", "MB per scan"
    );
    for baseline in Baseline::ALL {
        let mut times = Vec::new();
        let mut reading = f64::INFINITY;
        let (mut first, mut all, mut voxels) = (0, 0, 0);
        for _ in 0..repetitions.max(1) {
            let mut map = baseline.build(classes.clone(), &Config::default())?;
            // Scans side by side along a line: each is new ground.
            for (i, scan) in scans.iter().enumerate() {
                let frame = Frame {
                    points: &scan.points,
                    semantics: if dense {
                        Semantics::Evidence(&scan.evidence)
                    } else {
                        Semantics::Labels(&scan.labels)
                    },
                    world_from_sensor: Pose::from_translation([120.0 * i as f64, 0.0, 0.0])?,
                    scan: None,
                };
                let start = Instant::now();
                let report = map.insert(&frame)?;
                times.push(1e3 * start.elapsed().as_secs_f64());
                reading = reading.min(1e3 * (report.timings.sanitise + report.timings.context).as_secs_f64());
                voxels = report.voxels_updated;
                if i == 0 {
                    first = map.byte_size();
                }
            }
            all = map.byte_size();
        }
        times.sort_by(f64::total_cmp);
        println!(
            "{:<10} {:>8.1} {:>10.1} {:>10.1} {:>8} {:>12.2} {:>12.2}",
            baseline.name(),
            times[0],
            times[times.len() / 2],
            reading,
            voxels,
            first as f64 / 1e6,
            all as f64 / 1e6 / count as f64
        );
    }
    Ok(())
}
