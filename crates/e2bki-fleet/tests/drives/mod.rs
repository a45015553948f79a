//! Drives of a small fleet, and the map that one machine makes of them.

#![allow(clippy::unwrap_used)] // a test may fail loudly
#![allow(dead_code)] // not every test needs all

use std::path::{Path, PathBuf};

use e2bki::{ClassSet, Config, Frame, Mapper, Pose, PrimitiveState, Semantics};
use e2bki_fleet::{Fleet, add, export, init};

pub(crate) fn classes() -> ClassSet {
    let classes = ClassSet::from_names(["road", "tree", "car"]).unwrap();
    classes.with_movable(&["tree"]).unwrap().with_costs([("road", 0), ("tree", 100)]).unwrap()
}

pub(crate) fn config() -> Config {
    Config::default().with(|c| c.views.live_voxels = false)
}

pub(crate) fn empty() -> Mapper {
    Mapper::new(classes(), config()).unwrap()
}

/// What a robot sees in one frame of a drive, and from where.
pub(crate) fn scan(run: u64, frame: u64) -> (Vec<[f32; 3]>, Vec<u32>, Pose) {
    let at = [(run * 20 + frame * 15) as f64, (run % 3) as f64 * 9.0, 0.0];
    let value = |i: u64, k: u64| ((run * 7919 + frame * 104_729 + i * 31 + k * 17) % 1000) as f32 * 0.01;
    let points: Vec<[f32; 3]> = (0..60).map(|i| [1.0 + value(i, 0), value(i, 1), 0.3 * value(i, 2)]).collect();
    let labels: Vec<u32> = (0..60).map(|i| ((i * 5 + run) % 3) as u32).collect();
    (points, labels, Pose::from_translation(at).unwrap())
}

/// Drives overlap: each goes over three tiles, two of which others see too.
pub(crate) fn drive(run: u64, mut insert: impl FnMut(&Frame<'_>)) {
    for frame in 0..4_u64 {
        let (points, labels, world_from_sensor) = scan(run, frame);
        insert(&Frame { points: &points, semantics: Semantics::Labels(&labels), world_from_sensor, scan: None });
    }
}

pub(crate) fn name(run: u64) -> String {
    format!("run-{run}")
}

/// Parameters of robots that count what their beams pass through.
pub(crate) fn looking() -> Config {
    config().with(|c| c.free_space.enabled = true)
}

/// A robot in a round room of 20 m: most tiles around hold nothing but air. Each drive is elsewhere.
pub(crate) fn look(map: &mut Mapper, run: u64) {
    for step in 0..3 {
        let (mut points, mut labels) = (Vec::new(), Vec::new());
        for beam in 0..32 {
            let elevation = (10.0 - 20.0 * f64::from(beam) / 31.0_f64).to_radians();
            for column in 0..512 {
                let azimuth = std::f64::consts::TAU * f64::from(column) / 512.0;
                let direction = [azimuth.cos() * elevation.cos(), azimuth.sin() * elevation.cos(), elevation.sin()];
                let ground = if direction[2] < 0.0 { -1.6 / direction[2] } else { f64::INFINITY };
                let wall = 40.0 / elevation.cos();
                points.push(direction.map(|v| (v * ground.min(wall)) as f32));
                labels.push(u32::from(wall < ground));
            }
        }
        let at = [run as f64 * 17.0 + 0.5 * f64::from(step), 3.0, 1.5];
        let world_from_sensor = Pose::from_translation(at).unwrap();
        map.insert(&Frame { points: &points, semantics: Semantics::Labels(&labels), world_from_sensor, scan: None })
            .unwrap();
    }
}

/// The map of some runs, made by one mapper.
pub(crate) fn alone(runs: &[u64], folder: &Path) -> Vec<u8> {
    alone_with(runs, Vec::new(), folder)
}

/// The same, with some primitives more.
pub(crate) fn alone_with(runs: &[u64], more: Vec<PrimitiveState>, folder: &Path) -> Vec<u8> {
    let mut map = empty();
    runs.iter().for_each(|run| drive(*run, |frame| drop(map.insert(frame).unwrap())));
    if !more.is_empty() {
        map.put_back_anew(more).unwrap();
    }
    let names: Vec<String> = runs.iter().map(|run| name(*run)).collect();
    let path = folder.join("alone.e2bki");
    e2bki_store::save_with(&map, &names, &path).unwrap();
    std::fs::read(path).unwrap()
}

pub(crate) fn file_of(run: u64, folder: &Path) -> PathBuf {
    let mut map = empty();
    drive(run, |frame| drop(map.insert(frame).unwrap()));
    let path = folder.join(format!("{run}.e2bki"));
    e2bki_store::save_with(&map, &[name(run)], &path).unwrap();
    path
}

pub(crate) fn exported(fleet: &Fleet, folder: &Path) -> Vec<u8> {
    let path = folder.join("exported.e2bki");
    export(fleet, None, &path).unwrap();
    std::fs::read(path).unwrap()
}

pub(crate) struct Trial {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) fleet: Fleet,
}

pub(crate) fn trial() -> Trial {
    trial_with(&config())
}

pub(crate) fn trial_with(config: &Config) -> Trial {
    let folder = tempfile::tempdir().unwrap();
    let fleet = init(folder.path().join("store").to_str().unwrap(), &classes(), config).unwrap();
    Trial { folder, fleet }
}

impl Trial {
    pub(crate) fn add(&self, run: u64) {
        add(&self.fleet, &name(run), &file_of(run, self.folder.path()), None).unwrap();
    }
}
