//! Prints statistics of simulated scans beside those of real ones (where the real data is at hand), as Markdown.
//! Usage: `cargo run --release -p e2bki-lab --example scan_statistics`
//! Real data is looked for in the folder that `E2BKI_DATA` names.

use std::fs;
use std::path::{Path, PathBuf};

use e2bki_sim::{Drive, Error, Split, Standard};

/// A scan reduced to what is compared.
struct Column {
    name: String,
    beams: Option<usize>,
    ranges: Vec<f32>,
    /// Share of each class, in class order, then the share without class.
    classes: Vec<f64>,
}

fn simulated(standard: Standard, frame: usize) -> Result<Column, Error> {
    let drive = Drive::standard(standard, Split::Test)?;
    let scan = drive.frame(frame);
    let count = drive.classes().len();
    let mut classes = vec![0.0; count + 1];
    for label in &scan.labels {
        classes[usize::from(*label).min(count)] += 1.0 / scan.labels.len() as f64;
    }
    let ranges = scan.points.iter().map(|p| length(*p)).collect();
    Ok(Column { name: format!("simulated frame {frame}"), beams: Some(scan.slot_count), ranges, classes })
}

fn length(p: [f32; 3]) -> f32 {
    (p[0] * p[0] + p[1] * p[1] + p[2] * p[2]).sqrt()
}

/// A real scan with raw labels; `class` maps a raw id to a class index, or `None`.
fn real(
    name: &str,
    scan: &Path,
    labels: &Path,
    organised: bool,
    count: usize,
    class: fn(u32) -> Option<usize>,
) -> Option<Column> {
    let (scan, labels) = (fs::read(scan).ok()?, fs::read(labels).ok()?);
    let number = |c: &[u8]| f32::from_le_bytes([c[0], c[1], c[2], c[3]]);
    let mut column = Column {
        name: name.into(),
        beams: organised.then_some(scan.len() / 16),
        ranges: Vec::new(),
        classes: vec![0.0; count + 1],
    };
    for (p, l) in scan.chunks_exact(16).zip(labels.chunks_exact(4)) {
        let range = length([number(p), number(&p[4..]), number(&p[8..])]);
        if range > 0.0 {
            column.ranges.push(range);
            let raw = u32::from_le_bytes([l[0], l[1], l[2], l[3]]) & 0xFFFF;
            column.classes[class(raw).unwrap_or(count)] += 1.0;
        }
    }
    let total = column.ranges.len() as f64;
    column.classes.iter_mut().for_each(|c| *c /= total);
    Some(column)
}

fn rellis_class(raw: u32) -> Option<usize> {
    match raw {
        6 | 31 => Some(0),
        5 | 8 | 9 | 12 | 17 => Some(1),
        10 | 23 => Some(2),
        11 => Some(3),
        1 | 15 | 33 => Some(4),
        3 => Some(5),
        4 | 19 => Some(6),
        _ => None,
    }
}

fn kitti_class(raw: u32) -> Option<usize> {
    match raw {
        40 | 60 => Some(0),
        48 => Some(1),
        50 => Some(2),
        51 => Some(3),
        80 => Some(4),
        81 => Some(5),
        70 | 71 => Some(6),
        72 => Some(7),
        30..=32 | 253..=255 => Some(8),
        10 | 252 => Some(9),
        13 | 16 | 18 | 20 | 256..=259 => Some(10),
        _ => None,
    }
}

fn print(title: &str, class_names: &[&str], mut columns: Vec<Column>) {
    for column in &mut columns {
        column.ranges.sort_by(f32::total_cmp);
    }
    println!("\n{title}\n");
    println!("| |{}", columns.iter().map(|c| format!(" {} |", c.name)).collect::<String>());
    println!("|--|{}", "--|".repeat(columns.len()));
    let row = |name: &str, cell: &dyn Fn(&Column) -> String| {
        println!("| {name} |{}", columns.iter().map(|c| format!(" {} |", cell(c))).collect::<String>());
    };
    row("returns", &|c| c.ranges.len().to_string());
    row("share of beams with a return", &|c| {
        c.beams.map_or("–".into(), |b| format!("{:.1} %", 100.0 * c.ranges.len() as f64 / b as f64))
    });
    for (name, q) in [
        ("nearest", 0.0),
        ("10 % nearer than", 0.1),
        ("25 %", 0.25),
        ("50 %", 0.5),
        ("75 %", 0.75),
        ("90 %", 0.9),
        ("farthest", 1.0),
    ] {
        row(&format!("{name} (m)"), &|c| format!("{:.1}", c.ranges[((c.ranges.len() - 1) as f64 * q) as usize]));
    }
    for (low, high) in [(0, 5), (5, 10), (10, 15), (15, 20), (20, 30), (30, 50), (50, 200)] {
        row(&format!("{low}–{high} m"), &|c| {
            let inside = c.ranges.iter().filter(|r| (low as f32..high as f32).contains(*r)).count();
            format!("{:.1} %", 100.0 * inside as f64 / c.ranges.len() as f64)
        });
    }
    for (k, name) in class_names.iter().enumerate() {
        row(name, &|c| format!("{:.1} %", 100.0 * c.classes[k]));
    }
    row("no class", &|c| format!("{:.1} %", 100.0 * c.classes[class_names.len()]));
}

fn main() -> Result<(), Error> {
    let data = std::env::var_os("E2BKI_DATA").map(PathBuf::from).unwrap_or_default();
    for (title, standard, count) in
        [("OS1-64 (RELLIS-3D)", Standard::RellisLike, 7), ("HDL-64E (SemanticKITTI)", Standard::KittiLike, 11)]
    {
        let drive = Drive::standard(standard, Split::Test)?;
        let names: Vec<&str> = drive.classes().iter().map(|c| c.name).collect();
        let mut columns = vec![simulated(standard, 0)?, simulated(standard, 200)?];
        let found = if standard == Standard::RellisLike {
            let folder = data.join("rellis3d/Rellis-3D/00000");
            real(
                "real 00000/000104",
                &folder.join("os1_cloud_node_kitti_bin/000104.bin"),
                &folder.join("os1_cloud_node_semantickitti_label_id/000104.label"),
                true,
                count,
                rellis_class,
            )
        } else {
            let folder = data.join("semantickitti/sequences/08");
            let (scan, labels) = (folder.join("velodyne/000000.bin"), folder.join("labels/000000.label"));
            real("real 08/000000", &scan, &labels, false, count, kitti_class)
        };
        match found {
            Some(column) => columns.push(column),
            None => println!("No real scans in E2BKI_DATA ({}).", data.display()),
        }
        print(title, &names, columns);
    }
    Ok(())
}
