//! Reading datasets, projecting points into images, saving and loading maps.

use std::path::Path;
use std::time::Instant;

use anyhow::Result;
use e2bki::{ClassSet, Config, Frame, Mapper, Pose};
use e2bki_data::camera::Camera;
use e2bki_data::{Dataset, OpenOptions, SemanticsSource};
use e2bki_eval::LabelledFrame;
use e2bki_store::{Folder, Header, MapFile};
use serde_json::{Value, json};

use super::measure::median;
use crate::table;

/// Metres between copies of the same scans.
const APART_M: f64 = 150.0;

/// Saves and loads a map of at least so many primitives.
pub(super) fn store(scans: &[LabelledFrame], classes: &ClassSet, primitives: usize, repeats: usize) -> Result<Value> {
    let mut map = Mapper::new(classes.clone(), Config::default().with(|c| c.views.live_voxels = false))?;
    for i in 0.. {
        if map.len() >= primitives {
            break;
        }
        let copy = Pose::from_translation([0.0, APART_M * (i / scans.len()) as f64, 0.0])?;
        let frame = &scans[i % scans.len()];
        map.insert(&Frame { world_from_sensor: copy.after(&frame.world_from_sensor)?, ..frame.borrow() })?;
    }
    let path = std::env::temp_dir().join(format!("e2bki-bench-{}.e2bki", std::process::id()));
    let count = map.len() as f64;
    let [mut save, mut open, mut read, mut load]: [Vec<f64>; 4] = Default::default();
    let mut bytes = 0;
    for _ in 0..repeats.max(1) {
        save.push(timed(|| Ok(e2bki_store::save(&map, &path)?))?.1);
        let (mut file, opening) = timed(|| Ok(MapFile::open(&path)?))?;
        open.push(opening);
        bytes = file.bytes();
        read.push(timed(|| Ok(file.read_tiles(|_| true)?.len()))?.1);
        load.push(timed(|| Ok(e2bki_store::load(&path)?.len()))?.1);
    }
    std::fs::remove_file(&path)?;
    let [save, open, read, load] = [save, open, read, load].map(|mut times| median(&mut times));
    let folder = of_folder(&mut map, &scans[0], repeats)?;
    let rate = |seconds: f64| format!("{:.2} million/s", count / seconds / 1e6);
    table::print(&[
        vec![format!("store: {count} primitives, {} classes", classes.len()), String::new()],
        vec!["save, flushed to the disk".into(), rate(save)],
        vec!["open".into(), format!("{:.1} ms", 1e3 * open)],
        vec!["read".into(), rate(read)],
        vec!["load as a live map".into(), rate(load)],
        vec!["bytes per primitive".into(), format!("{:.1}", bytes as f64 / count)],
        vec![format!("save as a folder of {} tiles", folder.tiles), format!("{:.0} ms", 1e3 * folder.whole)],
        vec![
            format!("the same after one more frame, which changed {}", folder.changed),
            format!("{:.0} ms", 1e3 * folder.after_frame),
        ],
        vec!["the same when nothing changed".into(), format!("{:.1} ms", 1e3 * folder.unchanged)],
    ])?;
    Ok(json!({
        "name": "store", "primitives": count, "save_per_second": count / save, "open_ms": 1e3 * open,
        "read_per_second": count / read, "load_per_second": count / load, "bytes_per_primitive": bytes as f64 / count,
        "folder_tiles": folder.tiles, "folder_ms": 1e3 * folder.whole, "folder_changed": folder.changed,
        "folder_after_frame_ms": 1e3 * folder.after_frame, "folder_unchanged_ms": 1e3 * folder.unchanged,
    }))
}

/// What saving to a folder takes, seconds.
struct OfFolder {
    tiles: usize,
    whole: f64,
    /// Tiles that a frame changed.
    changed: usize,
    after_frame: f64,
    unchanged: f64,
}

/// Saves a map to a folder: the whole, what one more frame changed, and nothing.
fn of_folder(map: &mut Mapper, frame: &LabelledFrame, repeats: usize) -> Result<OfFolder> {
    let path = std::env::temp_dir().join(format!("e2bki-bench-folder-{}", std::process::id()));
    let [mut whole, mut after_frame, mut unchanged]: [Vec<f64>; 3] = Default::default();
    let (mut tiles, mut changed) = (0, 0);
    for _ in 0..repeats.max(1) {
        let mut folder = Folder::create(&path, Header::of(map, &[]))?;
        let (written, seconds) = timed(|| Ok(folder.save(map)?))?;
        tiles = written.written;
        whole.push(seconds);
        map.insert(&frame.borrow())?;
        let (written, seconds) = timed(|| Ok(folder.save(map)?))?;
        changed = written.written;
        after_frame.push(seconds);
        unchanged.push(timed(|| Ok(folder.save(map)?))?.1);
        drop(folder);
        std::fs::remove_dir_all(&path)?;
    }
    let [whole, after_frame, unchanged] = [whole, after_frame, unchanged].map(|mut times| median(&mut times));
    Ok(OfFolder { tiles, whole, changed, after_frame, unchanged })
}

/// Decodes the frames of a dataset, from the page cache and with one thread.
pub(super) fn decode(folder: &Path, repeats: usize) -> Result<Value> {
    let options = OpenOptions { semantics: SemanticsSource::Nothing, ..OpenOptions::default() };
    let dataset = Dataset::open(folder, &options)?;
    let frames = dataset.len().min(20);
    let (mut times, mut points) = (Vec::new(), 0);
    for _ in 0..=repeats.max(1) {
        let (count, seconds) = timed(|| (0..frames).try_fold(0, |sum, i| Ok(sum + dataset.load(i)?.points.len())))?;
        times.push(seconds / frames.max(1) as f64);
        points = count / frames.max(1);
    }
    let seconds = median(&mut times[1..]);
    table::line(&format!("decode: {:.0} frames/s of {points} points, one thread\n", 1.0 / seconds))?;
    Ok(json!({"name": "decode", "points": points, "median_ms": 1e3 * seconds, "per_second": 1.0 / seconds}))
}

/// Projects the points of a scan into a camera that looks ahead, with one thread.
pub(super) fn project(scans: &[LabelledFrame], repeats: usize) -> Result<Value> {
    // A camera of KITTI's kind: x ahead, y left, z up become depth, −x and −y of the image.
    let ahead = Pose::new([[0.0, -1.0, 0.0], [0.0, 0.0, -1.0], [1.0, 0.0, 0.0]], [0.0, -0.08, -0.27])?;
    let matrix = [718.9, 0.0, 607.2, 0.0, 0.0, 718.9, 185.2, 0.0, 0.0, 0.0, 1.0, 0.0];
    let camera = Camera::from_projection(matrix, [1241, 376], &ahead)?;
    let points = &scans[0].points;
    let (mut times, mut inside) = (Vec::new(), 0);
    for _ in 0..=repeats.max(3) {
        let start = Instant::now();
        inside = points.iter().filter(|p| camera.project(p.map(f64::from)).is_some()).count();
        times.push(start.elapsed().as_secs_f64());
    }
    let rate = points.len() as f64 / median(&mut times[1..]);
    table::line(&format!(
        "project: {:.1} million points/s, one thread, {inside} of {} in the image\n",
        rate / 1e6,
        points.len()
    ))?;
    Ok(json!({"name": "project", "points": points.len(), "inside": inside, "per_second": rate}))
}

fn timed<T>(work: impl FnOnce() -> Result<T>) -> Result<(T, f64)> {
    let start = Instant::now();
    let value = work()?;
    Ok((value, start.elapsed().as_secs_f64()))
}
