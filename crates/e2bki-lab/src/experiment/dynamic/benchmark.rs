//! The layout of the DynamicMap benchmark: `pcd/*.pcd`, points in the world with the sensor's pose as VIEWPOINT, and
//! `gt_cloud.pcd`, the points of all scans with an intensity of 1 where they move. It has no classes: every point is asked with
//! the weight of a class that can move, and with that of one that stays.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use e2bki::Pose;
use e2bki::free::{Counters, KAPPA_MOVABLE, KAPPA_STATIC, Settings, Sight, State, estimate};
use e2bki_data::parse;
use e2bki_eval::Table;

use super::super::context::Context;
use super::score::Share;
use crate::table;

/// Weights of hits.
const WEIGHTS: [(&str, f64); 2] = [("as what can move", KAPPA_MOVABLE), ("as what stays", KAPPA_STATIC)];

/// Scores of every sequence of a folder, or of the one that it is.
pub(super) fn table(context: &mut Context, root: &Path) -> Result<()> {
    let mut rows = Table::new(["sequence", "points are read", "scans", "SA", "DA", "AA"]);
    for sequence in sequences(root)? {
        let (scans, scores) = scores(&sequence, context.options.frames.unwrap_or(usize::MAX))?;
        let name = sequence.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        for ((weight, _), [sa, da]) in WEIGHTS.iter().zip(scores) {
            let percent = |v: f64| format!("{v:.2}");
            let scans = scans.to_string();
            rows.row([&name, *weight, &scans, &percent(sa), &percent(da), &percent((sa * da).sqrt())]);
        }
    }
    context.note(
        "Sequences in the layout of the DynamicMap benchmark. SA: points that stay and are called there; DA: points that move and are \
         called gone; AA: the root of their product, percent, of the points of `gt_cloud.pcd`. There are no classes: all points are read \
         with the weight that hits have for what can move, or for what stays.",
    )?;
    context.table(&rows)
}

fn sequences(root: &Path) -> Result<Vec<PathBuf>> {
    let is_one = |folder: &Path| folder.join("pcd").is_dir() && folder.join("gt_cloud.pcd").is_file();
    if is_one(root) {
        return Ok(vec![root.to_path_buf()]);
    }
    let entries = std::fs::read_dir(root).with_context(|| format!("cannot read {}", root.display()))?;
    let mut found: Vec<PathBuf> =
        entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|at| is_one(at)).collect();
    found.sort();
    if found.is_empty() {
        bail!(
            "{}: no sequence of the DynamicMap benchmark: a folder `pcd` and the file gt_cloud.pcd are expected in it or in its folders",
            root.display()
        );
    }
    Ok(found)
}

/// Number of scans, and SA and DA by weight, percent.
fn scores(sequence: &Path, most: usize) -> Result<(usize, [[f64; 2]; 2])> {
    let entries = std::fs::read_dir(sequence.join("pcd"))?.filter_map(|entry| Some(entry.ok()?.path()));
    let mut paths: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|e| e == "pcd")).collect();
    paths.sort();
    paths.truncate(most);
    if paths.is_empty() {
        bail!("{}: no scan in it", sequence.join("pcd").display());
    }
    let settings = Settings { max_range_m: 50.0, ..Settings::default() };
    let mut counters = Counters::default();
    let bar = table::progress(paths.len(), "scans");
    for path in &paths {
        let (points, pose) = scan(path)?;
        let sensor = estimate(&points).with_context(|| path.display().to_string())?;
        counters.add(&Sight::new(&sensor, &points, None, &pose, &settings)?)?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    let path = sequence.join("gt_cloud.pcd");
    let bytes = std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let cloud = parse::pcd(&bytes).map_err(|flaw| anyhow::anyhow!("{}: {flaw}", path.display()))?;
    let points = cloud.points().map_err(|flaw| anyhow::anyhow!("{}: {flaw}", path.display()))?;
    let Some(field) = cloud.field("intensity") else {
        bail!("{}: no field `intensity`, which says what moves", path.display());
    };
    let moving: Vec<bool> = cloud.column(field).map(|v| v == 1.0).collect();
    let scores = WEIGHTS.map(|(_, kappa)| {
        let [mut still, mut moved] = [Share::default(); 2];
        for (point, moves) in points.iter().zip(&moving) {
            let gone = counters.at(*point).state(kappa) == State::Free;
            if *moves { moved.count(gone) } else { still.count(!gone) }
        }
        [still.percent(), moved.percent()]
    });
    Ok((paths.len(), scores))
}

/// A scan in the sensor's coordinates, and the pose.
fn scan(path: &Path) -> Result<(Vec<[f32; 3]>, Pose)> {
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let flaw = |flaw: e2bki_data::Flaw| anyhow::anyhow!("{}: {flaw}", path.display());
    let Some(pose) = parse::pcd_viewpoint(&bytes).map_err(flaw)? else {
        bail!("{}: its header has no line `VIEWPOINT`, which is the pose of the sensor", path.display());
    };
    let sensor_from_world = pose.inverse();
    let points = parse::pcd(&bytes).and_then(|table| table.points()).map_err(flaw)?;
    Ok((points.into_iter().map(|p| sensor_from_world.apply(p).map(|v| v as f32)).collect(), pose))
}

#[cfg(test)]
mod tests {
    use super::super::drive::record;
    use super::super::score;
    use super::*;

    fn pcd(points: &[([f64; 3], bool)], viewpoint: &str) -> Vec<u8> {
        let n = points.len();
        let mut file = format!(
            "VERSION 0.7\nFIELDS x y z intensity\nSIZE 4 4 4 4\nTYPE F F F F\nCOUNT 1 1 1 1\nWIDTH {n}\nHEIGHT 1\n{viewpoint}POINTS {n}\nDATA binary\n"
        )
        .into_bytes();
        for (point, moves) in points {
            let values = point.iter().map(|v| *v as f32).chain([f32::from(u8::from(*moves))]);
            values.for_each(|v| file.extend(v.to_le_bytes()));
        }
        file
    }

    #[test]
    fn a_drive_in_the_benchmarks_layout_has_the_scores_of_the_drive() {
        let recorded = record(7, 12, 512).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let sequence = folder.path().join("00");
        std::fs::create_dir_all(sequence.join("pcd")).unwrap();
        let mut all = Vec::new();
        for (number, frame) in recorded.frames.iter().enumerate() {
            let points: Vec<([f64; 3], bool)> =
                (0..frame.points.len()).map(|i| (frame.world(i), frame.moving[i])).collect();
            let m = frame.pose.rotation();
            let w = 0.5 * (1.0 + m[0][0] + m[1][1] + m[2][2]).sqrt();
            assert!(w > 0.1, "a quaternion by its real part");
            let [i, j, k] = [m[2][1] - m[1][2], m[0][2] - m[2][0], m[1][0] - m[0][1]].map(|v| v / (4.0 * w));
            let [x, y, z] = frame.pose.translation();
            let viewpoint = format!("VIEWPOINT {x} {y} {z} {w} {i} {j} {k}\n");
            std::fs::write(sequence.join(format!("pcd/{number:06}.pcd")), pcd(&points, &viewpoint)).unwrap();
            all.extend(points);
        }
        assert!(sequences(folder.path()).unwrap_err().to_string().contains("gt_cloud.pcd"));
        std::fs::write(sequence.join("gt_cloud.pcd"), pcd(&all, "")).unwrap();
        assert_eq!(sequences(folder.path()).unwrap(), sequences(&sequence).unwrap());
        let (scans, [[sa, da], [stays, left]]) = scores(&sequence, usize::MAX).unwrap();
        assert_eq!(scans, 12);
        // With classes, in the same frames: what stays is read as such, what moves as what can move.
        let settings = Settings { max_range_m: 50.0, ..Settings::default() };
        let [with, found, ..] = score::accuracy(&recorded, &settings).unwrap();
        assert!(sa > 97.0 && sa <= stays && stays > 99.5 && (stays - with).abs() < 0.5, "{sa} {stays} {with}");
        // Movers that the network takes for something else are found too.
        assert!(left < da && da > found && da < found + 15.0, "{left} {da} {found}");
        std::fs::write(sequence.join("pcd/000000.pcd"), pcd(&all[..9], "")).unwrap();
        assert!(scores(&sequence, 1).unwrap_err().to_string().contains("VIEWPOINT"));
    }
}
