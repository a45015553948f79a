//! What other programs read: each file is read back here by that program's rules, written down anew.

#[cfg(test)]
mod tests {
    use std::path::Path;

    use e2bki::ClassSet;
    use e2bki::free::State;
    use e2bki_layers::{Cell, ClassCosts, Grid, LAYERS, Layers, Robot, Settings, UnknownClasses, formats};

    /// Seven by five cells: a slope of costs, an obstacle, and unknown places.
    fn sample() -> Layers {
        let classes = ClassSet::from_names(["road", "tree"]).unwrap().with_costs([("road", 0), ("tree", 100)]).unwrap();
        let costs = ClassCosts::of(&classes, &Robot::default(), UnknownClasses::Refuse).unwrap();
        let grid = Grid::covering([-1.0, 2.0], [0.75, 3.25], 0.25).unwrap();
        let cells = (0..grid.len())
            .map(|cell| match cell % 7 {
                5 => Cell { state: State::Occupied, lethal: 0.9, cost: 0.9, risk_cost: 0.9, ..Cell::UNKNOWN },
                6 => Cell::UNKNOWN,
                _ => Cell {
                    height: cell as f32,
                    state: State::Free,
                    lethal: 0.0,
                    cost: 0.02 * cell as f32,
                    risk_cost: 0.02 * cell as f32,
                    ..Cell::UNKNOWN
                },
            })
            .collect();
        Layers::from_cells(grid, Settings::new(Robot::default(), costs), cells).unwrap()
    }

    fn yaml(text: &str, key: &str) -> String {
        let line = text.lines().find(|line| line.starts_with(&format!("{key}:"))).unwrap();
        line.split_once(':').unwrap().1.trim().to_string()
    }

    /// Width, height, and grey with opacity of every pixel, of a PGM or a PNG.
    fn load_picture(path: &Path) -> (usize, usize, Vec<[u8; 2]>) {
        if path.extension().is_some_and(|ending| ending == "png") {
            let image = image::open(path).unwrap().to_luma_alpha8();
            return (image.width() as usize, image.height() as usize, image.pixels().map(|pixel| pixel.0).collect());
        }
        let bytes = std::fs::read(path).unwrap();
        let ends: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at] == b'\n').collect();
        let head = String::from_utf8_lossy(&bytes[..ends[2]]).into_owned();
        let numbers: Vec<usize> = head.split_whitespace().skip(1).map(|v| v.parse().unwrap()).collect();
        assert_eq!((head.starts_with("P5"), numbers[2]), (true, 255));
        (numbers[0], numbers[1], bytes[ends[2] + 1..].iter().map(|grey| [*grey, 255]).collect())
    }

    /// Reads a map as Nav2's `map_io.cpp` does: shade, share of black, thresholds by mode; from the top row to the bottom.
    fn load_nav2(path: &Path) -> (Vec<i8>, [f64; 2]) {
        let text = std::fs::read_to_string(path).unwrap();
        let (width, height, pixels) = load_picture(&path.with_file_name(yaml(&text, "image")));
        let number = |key: &str| yaml(&text, key).parse::<f64>().unwrap();
        let (free, occupied, mode) = (number("free_thresh"), number("occupied_thresh"), yaml(&text, "mode"));
        assert_eq!(yaml(&text, "negate"), "0");
        let mut data = vec![0_i8; width * height];
        for (k, [grey, alpha]) in pixels.into_iter().enumerate() {
            let (x, y, shade) = (k % width, k / width, f64::from(grey) / 255.0);
            let black = 1.0 - shade;
            let value = match mode.as_str() {
                "trinary" if black > occupied => 100,
                "trinary" if black < free => 0,
                "trinary" => -1,
                "scale" if alpha != 255 => -1,
                "scale" if black > occupied => 100,
                "scale" if black < free => 0,
                "scale" => ((black - free) / (occupied - free) * 100.0).round() as i8,
                "raw" if (shade * 255.0).round() <= 100.0 => (shade * 255.0).round() as i8,
                _ => -1,
            };
            data[width * (height - 1 - y) + x] = value;
        }
        let origin: Vec<f64> =
            yaml(&text, "origin").trim_matches(['[', ']']).split(',').map(|v| v.trim().parse().unwrap()).collect();
        (data, [origin[0], origin[1]])
    }

    #[test]
    fn nav2_reads_every_mode_as_it_was_meant() {
        let (folder, layers) = (tempfile::tempdir().unwrap(), sample());
        let expected = formats::occupancy(&layers);
        assert!(expected.contains(&-1) && expected.contains(&100) && expected.contains(&0));
        assert!(expected.iter().any(|v| (1..=99).contains(v)));
        for mode in ["trinary", "scale", "raw"] {
            let path = folder.path().join(format!("{mode}.yaml"));
            let files = formats::nav2(&layers, &path, formats::Nav2Mode::by_name(mode).unwrap()).unwrap();
            assert!(files.iter().all(|file| file.is_file()));
            let (found, origin) = load_nav2(&path);
            assert_eq!(origin, [-1.0, 2.0]);
            let meant: Vec<i8> = match mode {
                "trinary" => expected.iter().map(|v| if (0..100).contains(v) { 0 } else { *v }).collect(),
                _ => expected.clone(),
            };
            assert_eq!(found, meant, "{mode}");
        }
        assert!(formats::Nav2Mode::by_name("grey").unwrap_err().to_string().contains("trinary"));
    }

    #[test]
    fn a_grid_map_begins_at_its_highest_corner() {
        let layers = sample();
        let map = formats::grid_map(&layers, "height").unwrap();
        assert_eq!((map.rows, map.columns, map.data.len()), (7, 5, 35));
        // Column 0 is the northernmost row of ours, from east to west.
        assert!(map.data[0].is_nan() && map.data[1].is_nan() && map.data[2] == 32.0 && map.data[6] == 28.0);
        assert!((map.center[0] + 0.125).abs() < 1e-9 && (map.center[1] - 2.625).abs() < 1e-9);
        assert!(formats::grid_map(&layers, "depth").is_none());
    }

    struct Tiff(Vec<u8>);

    impl Tiff {
        fn word(&self, at: usize, bytes: usize) -> u64 {
            self.0[at..at + bytes].iter().rev().fold(0, |sum, b| sum << 8 | u64::from(*b))
        }

        /// Values of a tag: bytes of each, and where they are.
        fn tag(&self, tag: u64) -> Option<(usize, usize, usize)> {
            let first = self.word(4, 4) as usize;
            (0..self.word(first, 2) as usize).map(|k| first + 2 + 12 * k).find(|at| self.word(*at, 2) == tag).map(
                |at| {
                    let size = [0, 1, 1, 2, 4, 8, 0, 0, 0, 0, 0, 4, 8][self.word(at + 2, 2) as usize];
                    let count = self.word(at + 4, 4) as usize;
                    (size, count, if size * count <= 4 { at + 8 } else { self.word(at + 8, 4) as usize })
                },
            )
        }

        fn values(&self, tag: u64) -> Vec<u64> {
            let (size, count, at) = self.tag(tag).unwrap();
            (0..count).map(|k| self.word(at + k * size, size)).collect()
        }
    }

    #[test]
    fn a_geotiff_has_every_band_where_it_belongs() {
        let (folder, layers) = (tempfile::tempdir().unwrap(), sample());
        let path = folder.path().join("map.tif");
        let names = ["road".to_string(), "a<b".to_string()];
        let place = formats::Georeference { epsg: Some(32632), origin: [477_000.0, 5_430_000.0] };
        formats::geotiff(&layers, &names, &path, &place).unwrap();
        let tiff = Tiff(std::fs::read(&path).unwrap());
        assert_eq!((&tiff.0[..4], tiff.values(256)[0], tiff.values(257)[0]), (&b"II*\0"[..], 7, 5));
        let bands = LAYERS.len() + 2;
        assert_eq!((tiff.values(277)[0] as usize, tiff.values(258).len(), tiff.values(284)[0]), (bands, bands, 2));
        assert!(tiff.values(339).iter().all(|format| *format == 3));
        let (offsets, lengths) = (tiff.values(273), tiff.values(279));
        assert_eq!(offsets[bands - 1] + lengths[bands - 1], tiff.0.len() as u64);
        for (band, (_, _, _, value)) in LAYERS.iter().enumerate() {
            for row in 0..5 {
                for column in 0..7 {
                    let bits = tiff.word(offsets[band] as usize + 4 * (row * 7 + column), 4) as u32;
                    // The first row of the file is the northernmost.
                    let cell = &layers.cells()[(4 - row) * 7 + column];
                    assert_eq!(bits, value(cell).to_bits(), "band {band}");
                }
            }
        }
        let double = |bits: &u64| f64::from_bits(*bits);
        assert_eq!(tiff.values(33550).iter().map(double).collect::<Vec<_>>(), [0.25, 0.25, 0.0]);
        let tie: Vec<f64> = tiff.values(33922).iter().map(double).collect();
        assert_eq!(tie, [0.0, 0.0, 0.0, 476_999.0, 5_430_003.25, 0.0]);
        assert_eq!(tiff.values(34735), [1, 1, 0, 3, 1024, 0, 1, 1, 1025, 0, 1, 1, 3072, 0, 1, 32632]);
        let (_, count, at) = tiff.tag(42112).unwrap();
        let about = String::from_utf8_lossy(&tiff.0[at..at + count]).into_owned();
        assert!(about.contains(">height<") && about.contains("probability of a&lt;b"), "{about}");
        // Tags are in ascending order, as the format demands.
        let first = tiff.word(4, 4) as usize;
        let tags: Vec<u64> = (0..tiff.word(first, 2) as usize).map(|k| tiff.word(first + 2 + 12 * k, 2)).collect();
        assert!(tags.is_sorted());
        for wrong in [4326, 3, 0] {
            let place = formats::Georeference { epsg: Some(wrong), origin: [0.0; 2] };
            assert!(formats::geotiff(&layers, &names, &path, &place).unwrap_err().to_string().contains("projected"));
        }
    }

    #[test]
    fn arrays_and_pictures_are_written() {
        let (folder, layers) = (tempfile::tempdir().unwrap(), sample());
        let path = folder.path().join("map.npz");
        formats::npz(&layers, &["road".into(), "tree".into()], &path).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        assert!(
            text.contains("cost_std.npy")
                && text.contains("'shape': (5, 7), ")
                && text.contains("'shape': (5, 7, 2), ")
        );
        let files =
            formats::pictures(&layers, &["height", "state"], &[[1, 2, 3]; 2], &folder.path().join("map.png")).unwrap();
        let state = image::open(&files[1]).unwrap().to_rgb8();
        assert_eq!((state.width() % 7, state.height() % 5), (0, 0));
        assert_eq!(state.get_pixel(0, 0).0, [225, 230, 225]);
        let wrong = formats::pictures(&layers, &["depth"], &[], &path).unwrap_err().to_string();
        assert!(wrong.contains("depth") && wrong.contains("height"), "{wrong}");
    }
}
