//! Against the voxel maps that the public C++ programs made of two real scans (in the data folder, if it is there).
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::io::Read;
use std::path::Path;

use e2bki::{Config, Frame, Pose, Semantics};
use e2bki_baselines::Baseline;

/// A voxel of theirs: centre and Dirichlet parameters.
type Voxel = ([f64; 3], Vec<f64>);

/// World positions and predicted classes of a frame.
fn input(folder: &Path, frame: usize) -> (Vec<[f32; 3]>, Vec<u32>) {
    let bytes = std::fs::read(folder.join(format!("input_frame{frame}.bin"))).unwrap();
    let words: Vec<[u8; 4]> = bytes.as_chunks::<4>().0.to_vec();
    let record = |record: &[[u8; 4]]| ([0, 1, 2].map(|i| f32::from_le_bytes(record[i])), u32::from_le_bytes(record[3]));
    words.chunks_exact(7).map(record).unzip()
}

fn theirs(folder: &Path, file: &str) -> Vec<Voxel> {
    let mut text = String::new();
    let bytes = std::fs::read(folder.join(file)).unwrap();
    flate2::read::GzDecoder::new(&bytes[..]).read_to_string(&mut text).unwrap();
    let row = |line: &str| {
        let values: Vec<f64> = line.split(',').map(|v| v.parse().unwrap()).collect();
        ([values[0], values[1], values[2]], values[4..].to_vec())
    };
    text.lines().skip(1).map(row).collect()
}

/// Differences of all α of all their voxels: absolute, and relative to the voxel's largest; and how many voxels of ours
/// they do not have.
fn differences(
    baseline: Baseline,
    classes: usize,
    file: &str,
    class_of: fn(u32) -> u32,
    shift: f32,
) -> Option<(Vec<f64>, Vec<f64>, usize)> {
    let folder = common::data("peers")?;
    let mut map = baseline.build(common::classes(classes), &Config::default()).unwrap();
    for frame in 0..2 {
        let (mut points, labels) = input(&folder, frame);
        points.iter_mut().for_each(|p| *p = p.map(|v| v + shift));
        let labels: Vec<u32> = labels.into_iter().map(class_of).collect();
        let report = map
            .insert(&Frame {
                points: &points,
                semantics: Semantics::Labels(&labels),
                world_from_sensor: Pose::IDENTITY,
            })
            .unwrap();
        assert_eq!(report.kept, points.len());
    }
    let theirs = theirs(&folder, file);
    let centers: Vec<[f64; 3]> = theirs.iter().map(|(c, _)| c.map(|v| v + f64::from(shift))).collect();
    let ours = map.query_voxels(&centers).unwrap();
    let (mut absolute, mut relative) = (Vec::new(), Vec::new());
    for (i, (_, alpha)) in theirs.iter().enumerate() {
        let difference = ours.alpha(i).zip(alpha).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        absolute.push(difference);
        relative.push(difference / alpha.iter().copied().fold(0.0, f64::max));
    }
    let extra = map.voxels().unwrap().centers.len() as i64 - theirs.len() as i64;
    Some((absolute, relative, extra.unsigned_abs() as usize))
}

fn share_below(values: &[f64], limit: f64) -> f64 {
    values.iter().filter(|v| **v <= limit).count() as f64 / values.len() as f64
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

#[test]
fn s_bki_is_the_published_program() {
    let Some((absolute, relative, extra)) =
        differences(Baseline::SBki, 20, "sbki_2frames_nods_nofree.csv.gz", |c| c, 0.0)
    else {
        return;
    };
    let (middle, close) = (median(&absolute), share_below(&relative, 1e-3));
    println!(
        "S-BKI: {} voxels, median |Δα| {middle:.1e}, {:.4} % within 1e-3, {extra} only in one",
        absolute.len(),
        100.0 * close
    );
    assert!(middle <= 1e-5 && close >= 0.999);
    assert!(extra < absolute.len() / 20, "{extra}");
}

#[test]
fn s_csm_is_the_published_program() {
    // Their voxels are centred on multiples of 0.2 m: half a voxel further, they are ours.
    let Some((absolute, _, extra)) = differences(Baseline::SCsm, 20, "scsm_2frames_nods_nofree.csv.gz", |c| c, 0.1)
    else {
        return;
    };
    let equal = share_below(&absolute, 1e-4);
    println!("S-CSM: {} voxels, {:.4} % with equal counts, {extra} only in one", absolute.len(), 100.0 * equal);
    // Points within rounding of a face fall to either side.
    assert!(equal >= 0.9995 && extra <= 10);
}

#[test]
fn see_csom_is_the_published_program() {
    let Some((absolute, relative, extra)) =
        differences(Baseline::SeeCsom, 21, "seecsom_2frames_nods_nofree.csv.gz", |c| c + 1, 0.0)
    else {
        return;
    };
    let (middle, close) = (median(&absolute), share_below(&relative, 1e-3));
    println!(
        "SEE-CSOM: {} voxels, median |Δα| {middle:.1e}, {:.4} % within 1e-3, {extra} only in one",
        absolute.len(),
        100.0 * close
    );
    assert!(close >= 0.999);
    assert!(extra < absolute.len() / 1000, "{extra}");
}
