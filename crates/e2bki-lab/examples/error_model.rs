//! Prints the calibration of the segmentation-error model at several training-data fractions and draws it.
//! Usage: `cargo run --release -p e2bki-lab --example error_model [PLOT.png]`

use e2bki_sim::{Drive, ErrorModel, Split, Standard, VOID, plot_reliability, reliability};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let plot = std::env::args().nth(1);
    println!(
        "{:<14} {:>8} {:>8} {:>7} {:>7} {:>9} {:>9}",
        "drive", "fraction", "acc %", "mIoU %", "ECE %", "u right", "u wrong"
    );
    let mut drawn = Vec::new();
    for (name, standard) in [
        ("rellis-like", Standard::RellisLike),
        ("offroad-like", Standard::OffroadLike),
        ("kitti360-like", Standard::KittiLike),
    ] {
        let drive = Drive::standard(standard, Split::Test)?;
        let frames: Vec<_> = (0..60).step_by(10).map(|k| drive.frame(k)).collect();
        for fraction in [1.0, 0.5, 0.1, 0.02] {
            let model = ErrorModel::for_drive(&drive, fraction)?;
            let count = model.class_count();
            let evidence: Vec<f32> = frames.iter().flat_map(|f| model.evidence(f)).collect();
            let truth: Vec<u8> = frames.iter().flat_map(|f| f.labels.iter().copied()).collect();
            let table = reliability(&evidence, count, &truth, 15);
            let mut iou = vec![[0_usize; 2]; count];
            for (row, label) in evidence.chunks(count).zip(&truth).filter(|(_, l)| **l != VOID) {
                let best = (0..count).max_by(|a, b| row[*a].total_cmp(&row[*b])).unwrap_or(0);
                let label = usize::from(*label);
                iou[label][1] += 1;
                if best == label {
                    iou[label][0] += 1;
                } else {
                    iou[best][1] += 1;
                }
            }
            let present: Vec<f64> = iou.iter().filter(|c| c[0] > 0).map(|c| c[0] as f64 / c[1] as f64).collect();
            println!(
                "{name:<14} {fraction:>8} {:>8.1} {:>7.1} {:>7.1} {:>9.3} {:>9.3}",
                100.0 * table.accuracy,
                100.0 * present.iter().sum::<f64>() / present.len().max(1) as f64,
                100.0 * table.error,
                table.uncertainty[0],
                table.uncertainty[1]
            );
            if standard == Standard::RellisLike {
                drawn.push(table);
            }
        }
    }
    if let Some(path) = plot {
        plot_reliability(&drawn, path.as_ref())?;
    }
    Ok(())
}
