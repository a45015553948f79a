//! Exports say what the map says, in the sizes that their headers declare; the lossless one comes back.

use crate::common::{drive, fingerprint, map_of};
use e2bki::{Config, Mapper};
use e2bki_store::{CostTable, ExportOptions, Format, export, import_npz};

fn sample() -> Mapper {
    map_of(&drive(6, 3000), &Config::default()).0
}

/// Position of the first byte after a text.
fn after(bytes: &[u8], text: &str) -> usize {
    bytes.windows(text.len()).position(|window| window == text.as_bytes()).unwrap() + text.len()
}

#[test]
fn every_format_writes_files_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let map = sample();
    let mut costs = CostTable::default();
    for name in map.classes().names() {
        costs.add(&format!("{name}=0")).unwrap();
    }
    for (format, name, ending, _) in Format::ALL {
        assert_eq!(Format::by_name(name).unwrap(), format);
        let here = folder.path().join(name);
        std::fs::create_dir(&here).unwrap();
        let files = export(
            &map,
            format,
            here.join(format!("map.{ending}")),
            &ExportOptions { costs: costs.clone(), ..ExportOptions::default() },
        )
        .unwrap();
        assert_eq!(std::fs::read_dir(&here).unwrap().count(), files.len(), "{name}");
        assert!(files.iter().all(|file| std::fs::metadata(file).unwrap().len() > 0));
        // The same map is the same bytes.
        let again = export(
            &map,
            format,
            here.join(format!("map.{ending}")),
            &ExportOptions { costs: costs.clone(), ..ExportOptions::default() },
        )
        .unwrap();
        assert_eq!(files, again);
    }
    assert!(Format::by_name("obj").unwrap_err().to_string().contains("splat"));
    assert_eq!(Format::of_path(std::path::Path::new("a/b.LAS")).unwrap(), Format::Las);
    assert!(Format::of_path(std::path::Path::new("b")).is_err());
}

#[test]
fn binary_files_have_the_size_and_the_first_point_that_they_should() {
    let folder = tempfile::tempdir().unwrap();
    let map = sample();
    let path = folder.path().join("out");
    let make = |format| {
        export(&map, format, &path, &ExportOptions::default()).unwrap();
        std::fs::read(&path).unwrap()
    };
    let first = map.primitives().next().unwrap();
    let double = |bytes: &[u8], at: usize| f64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    let single = |bytes: &[u8], at: usize| f32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let bytes = make(Format::Ply);
    let start = after(&bytes, "end_header\n");
    assert_eq!(bytes.len() - start, map.len() * (24 + 3 + 2 + 36));
    assert_eq!([0, 8, 16].map(|at| double(&bytes, start + at)), first.mean());
    let bytes = make(Format::PlyEllipsoids);
    assert_eq!(bytes.len() - after(&bytes, "end_header\n"), map.len() * (12 * 27 + 20 * 13));
    let bytes = make(Format::Splat);
    let start = after(&bytes, "end_header\n");
    assert_eq!(bytes.len() - start, map.len() * 17 * 4);
    let color = f64::from(single(&bytes, start + 24)) * 0.282_094_791_773_878_14 + 0.5;
    assert!((color * 255.0 - f64::from(map.classes().colors()[first.label()][0])).abs() < 0.01);
    let opacity = 1.0 / (1.0 + f64::from(-single(&bytes, start + 36)).exp());
    assert!((opacity - (1.0 - first.uncertainty()).clamp(0.005, 0.995)).abs() < 1e-6);
    let bytes = make(Format::Pcd);
    let start = after(&bytes, "DATA binary\n");
    assert_eq!(bytes.len() - start, map.len() * 28);
    assert_eq!(single(&bytes, start), first.mean()[0] as f32);
    let bytes = make(Format::Las);
    assert_eq!(bytes.len(), 375 + 36 * map.len());
    let x = f64::from(i32::from_le_bytes(bytes[375..379].try_into().unwrap())) * 0.001 + double(&bytes, 155);
    assert!((x - first.mean()[0]).abs() < 6e-4);
    assert_eq!(u64::from_le_bytes(bytes[247..255].try_into().unwrap()), map.len() as u64);
}

#[test]
fn numpy_archives_come_back_as_the_same_map() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("map.npz");
    let map = sample();
    export(&map, Format::Npz, &path, &ExportOptions::default()).unwrap();
    assert_eq!(fingerprint(&import_npz(&path).unwrap()), fingerprint(&map));
    let bytes = std::fs::read(&path).unwrap();
    for at in (0..bytes.len()).step_by(bytes.len() / 150) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x20;
        std::fs::write(&path, &damaged).unwrap();
        if let Ok(found) = import_npz(&path) {
            assert!(found.states().eq(map.states()), "byte {at}");
        }
    }
    for len in [0, 10, bytes.len() / 2, bytes.len() - 1] {
        std::fs::write(&path, &bytes[..len]).unwrap();
        assert!(import_npz(&path).is_err());
    }
}

#[test]
fn a_grid_tells_free_occupied_and_unknown_apart_and_lies_where_the_cells_are() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("costs.pgm");
    let map = sample();
    let mut costs = CostTable::default();
    for (class, name) in map.classes().names().iter().enumerate() {
        costs.add(&format!("{name}={}", if class < 2 { 0 } else { 100 })).unwrap();
    }
    let mut options = ExportOptions { resolution: Some(0.4), costs: costs.clone(), ..ExportOptions::default() };
    let read = |options: &ExportOptions| {
        let files = export(&map, Format::Grid, &path, options).unwrap();
        let bytes = std::fs::read(&files[0]).unwrap();
        let start = after(&bytes, "\n255\n");
        let text = String::from_utf8_lossy(&bytes[..start]).into_owned();
        let size: Vec<usize> = text.split_whitespace().skip(1).take(2).map(|v| v.parse().unwrap()).collect();
        assert_eq!(bytes.len() - start, size[0] * size[1]);
        (size[0], bytes[start..].to_vec(), std::fs::read_to_string(&files[1]).unwrap())
    };
    let (width, pixels, yaml) = read(&options);
    assert!(yaml.contains("image: costs.pgm\nmode: trinary\nresolution: 0.4\n"), "{yaml}");
    let origin: Vec<f64> =
        yaml.split(['[', ']']).nth(1).unwrap().split(',').map(|v| v.trim().parse().unwrap()).collect();
    let cells = map.bev(0.4).unwrap();
    let mut seen = 0;
    for (center, belief) in cells.centers.iter().zip(cells.beliefs.iter()) {
        let [column, up] = [0, 1].map(|i| ((center[i] - origin[i]) / 0.4).floor() as usize);
        let pixel = pixels[(pixels.len() / width - 1 - up) * width + column];
        let expected = belief.label().map_or(205, |label| if label < 2 { 254 } else { 0 });
        assert_eq!(pixel, expected);
        seen += usize::from(belief.observed());
    }
    assert_eq!(pixels.iter().filter(|pixel| **pixel != 205).count(), seen);
    // With a table: costs themselves, and what is too uncertain is unknown.
    costs.add("grass=30").unwrap();
    options = ExportOptions { costs, max_uncertainty: 0.2, ..options };
    let (_, pixels, yaml) = read(&options);
    assert!(yaml.contains("mode: raw"));
    assert!([0, 30, 100, 255].iter().all(|value| pixels.contains(value)));
    assert!(pixels.iter().filter(|pixel| **pixel != 255).count() < seen);
    // Named by its YAML: the picture is beside it, and not overwritten.
    let named = folder.path().join("named.yaml");
    let files = export(&map, Format::Grid, &named, &options).unwrap();
    assert_eq!(files, [folder.path().join("named.pgm"), named.clone()]);
    assert!(std::fs::read(&files[0]).unwrap().ends_with(&pixels));
    assert!(std::fs::read_to_string(&named).unwrap().contains("image: named.pgm\n"));
}
