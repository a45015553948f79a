//! Seeds that are maps. They are made and not kept: they are always of the format that is written now.

use std::path::PathBuf;

use e2bki::submaps::SubmapRule;
use e2bki::{ClassSet, Config, Frame, Mapper, Pose, Semantics};
use e2bki_store::{ExportOptions, Format};

use crate::maps::scratch;

/// A map of two classes without anything in it.
pub(crate) fn empty() -> Mapper {
    let classes = ClassSet::from_names(["road", "tree"]).unwrap_or_else(|e| panic!("{e}"));
    Mapper::new(classes, Config::default()).unwrap_or_else(|e| panic!("{e}"))
}

/// Adds two points at one of some places, a tile or more apart.
pub(crate) fn add(map: &mut Mapper, place: u8) {
    let corner = [f64::from(place % 4) * 24.0, f64::from(place / 4) * 24.0, 0.0];
    let world_from_sensor = Pose::from_translation(corner).unwrap_or_else(|e| panic!("{e}"));
    let frame = Frame {
        points: &[[2.0, 0.1, 0.3], [3.5, 0.4, 0.2]],
        semantics: Semantics::Labels(&[0, 1]),
        world_from_sensor,
        scan: None,
    };
    map.insert(&frame).unwrap_or_else(|e| panic!("{e}"));
}

fn small() -> Mapper {
    let mut map = empty();
    let points: Vec<[f32; 3]> = (0..40).map(|i| [2.0 + 1.6 * (i % 20) as f32, 0.1, 0.02 * i as f32]).collect();
    let labels: Vec<u32> = (0..40).map(|i| i / 20).collect();
    let frame =
        Frame { points: &points, semantics: Semantics::Labels(&labels), world_from_sensor: Pose::IDENTITY, scan: None };
    map.insert(&frame).unwrap_or_else(|e| panic!("{e}"));
    map
}

/// Adds points at some places.
pub(crate) fn add_some(map: &mut Mapper) {
    (0..3).for_each(|place| add(map, place));
}

/// Adds many cubes that are all alike, each with points in all corners: little to pack, and much to cut where it is moved.
pub(crate) fn add_alike(map: &mut Mapper) {
    let side = map.config().clustering.cell_size as f32;
    let corner = |cube: u16, i: u16| {
        let within = |bit: u16| if i >> bit & 1 == 0 { 0.02 } else { 0.98 };
        [within(0) + f32::from(cube % 16), within(1) + f32::from(cube / 16), within(2)].map(|v| v * side)
    };
    let points: Vec<[f32; 3]> = (0..256).flat_map(|cube| (0..64).map(move |i| corner(cube, i % 8))).collect();
    let semantics = Semantics::Labels(&vec![1; points.len()]);
    let world_from_sensor = Pose::from_translation([100.0, 0.0, 0.0]).unwrap_or_else(|e| panic!("{e}"));
    map.insert(&Frame { points: &points, semantics, world_from_sensor, scan: None }).unwrap_or_else(|e| panic!("{e}"));
}

/// A saved map of one submap, and the file of what that added.
pub(crate) fn with_submap(name: &str, fill: impl FnOnce(&mut Mapper)) -> (PathBuf, PathBuf) {
    let path = scratch(name);
    let mut map = empty();
    map.keep_submaps(SubmapRule::Called, "drive").unwrap_or_else(|e| panic!("{e}"));
    fill(&mut map);
    e2bki_store::save_with(&map, &["drive".into()], &path).unwrap_or_else(|e| panic!("{e}"));
    let files = std::fs::read_dir(e2bki_store::submaps_folder(&path)).unwrap_or_else(|e| panic!("{e}"));
    let mut files = files.flatten().map(|entry| entry.path());
    let part = files.find(|file| file.extension().is_some_and(|ending| ending == "part"));
    (path, part.unwrap_or_else(|| panic!("the submap was not written")))
}

/// Seeds of a target beside those of the corpus.
pub fn seeds(target: &str) -> Vec<Vec<u8>> {
    let path = scratch(if target == "npz" { "seed.npz" } else { "seed.e2bki" });
    match target {
        "map_file" | "map_resealed" => {
            e2bki_store::save_with(&small(), &["drive".into()], &path).unwrap_or_else(|e| panic!("{e}"));
        }
        "npz" => {
            let format = Format::of_path(&path).unwrap_or_else(|e| panic!("{e}"));
            e2bki_store::export(&small(), format, &path, &ExportOptions::default()).unwrap_or_else(|e| panic!("{e}"));
        }
        "submap" => {
            let ways: [fn(&mut Mapper); 2] = [add_some, add_alike];
            let part = |fill: fn(&mut Mapper)| {
                let (_, part) = with_submap("seed-submap.e2bki", fill);
                let bytes = std::fs::read(part).unwrap_or_else(|e| panic!("{e}"));
                // Less what goes before the text of a record.
                bytes.get(24..).unwrap_or_default().to_vec()
            };
            return ways.map(part).to_vec();
        }
        "share" => return crate::share::seeds(),
        other => return crate::bags::seeds(other),
    }
    let bytes = std::fs::read(&path).unwrap_or_else(|e| panic!("{e}"));
    std::fs::remove_file(&path).ok();
    vec![bytes]
}
