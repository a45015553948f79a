//! Maps one simulated drive with every method and prints a table: accuracy at the truth of frames that were not mapped.
//! Usage: `cargo run --release -p e2bki-baselines --example compare_methods`

use std::time::Instant;

use e2bki::{ClassSet, Config, Frame, Mapper, Pose, SemanticMapper, Semantics};
use e2bki_baselines::Baseline;
use e2bki_sim::{Drive, DriveOptions, ErrorModel, Sensor, VOID, WorldKind};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut options = DriveOptions::new(WorldKind::Urban, 7, Sensor::Hdl64e);
    options.columns = Some(1024);
    let drive = Drive::new(options)?;
    let model = ErrorModel::for_drive(&drive, 0.1)?;
    let classes = ClassSet::new(drive.classes().iter().map(|c| (c.name, c.color)))?;
    let config = Config::default().with(|c| c.input.max_range = 40.0);

    // Every other frame is mapped; the rest are asked about.
    let frames: Vec<_> = (0..12).map(|i| drive.frame(2 * i)).collect();
    let (mut asked, mut truth) = (Vec::new(), Vec::new());
    for frame in frames.iter().skip(1).step_by(2) {
        for (k, label) in frame.labels.iter().enumerate().filter(|(k, l)| **l != VOID && !frame.moving[*k]) {
            let p = frame.points[k];
            if p.iter().map(|v| v * v).sum::<f32>() < 1600.0 {
                asked.push(frame.world_point(k));
                truth.push(usize::from(*label));
            }
        }
    }
    println!("{:<10} {:>9} {:>9} {:>9} {:>9} {:>9}", "method", "ms/frame", "voxels", "MB", "found %", "right %");
    let mut methods: Vec<(&str, Box<dyn SemanticMapper>)> = Vec::new();
    for baseline in Baseline::ALL {
        methods.push((baseline.name(), baseline.build(classes.clone(), &config)?));
    }
    methods.push(("E2-BKI", Box::new(Mapper::new(classes, config)?)));
    for (name, mut map) in methods {
        let mut seconds = 0.0;
        let mut mapped = 0;
        for frame in frames.iter().step_by(2) {
            let evidence = model.evidence(frame);
            let frame = Frame {
                points: &frame.points,
                semantics: Semantics::Evidence(&evidence),
                world_from_sensor: Pose::from_matrix(frame.world_from_sensor)?,
                scan: None,
            };
            let start = Instant::now();
            map.insert(&frame)?;
            seconds += start.elapsed().as_secs_f64();
            mapped += 1;
        }
        let beliefs = map.query_voxels(&asked)?;
        let found = beliefs.iter().filter(|b| b.observed()).count();
        let right = beliefs.iter().zip(&truth).filter(|(b, t)| b.label() == Some(**t)).count();
        println!(
            "{name:<10} {:>9.1} {:>9} {:>9.1} {:>9.1} {:>9.1}",
            1e3 * seconds / f64::from(mapped),
            map.voxels()?.centers.len(),
            map.byte_size() as f64 / 1e6,
            100.0 * found as f64 / asked.len().max(1) as f64,
            100.0 * right as f64 / found.max(1) as f64,
        );
    }
    Ok(())
}
