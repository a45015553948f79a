//! The seeds that are maps, made anew where the format changes: `cargo test -p e2bki-fuzz --test seeds -- --ignored`.

#[cfg(test)]
mod tests {
    use std::path::Path;

    use e2bki::{ClassSet, Config, Frame, Mapper, Pose, Semantics};
    use e2bki_store::{ExportOptions, Format};

    fn small() -> Mapper {
        let config = Config { live_voxels: false, ..Config::default() };
        let mut map = Mapper::new(ClassSet::from_names(["road", "tree"]).unwrap(), config).unwrap();
        let points: Vec<[f32; 3]> = (0..40).map(|i| [2.0 + 1.6 * (i % 20) as f32, 0.1, 0.02 * i as f32]).collect();
        let labels: Vec<u32> = (0..40).map(|i| i / 20).collect();
        let semantics = Semantics::Labels(&labels);
        map.insert(&Frame { points: &points, semantics, world_from_sensor: Pose::IDENTITY }).unwrap();
        map
    }

    #[test]
    #[ignore = "writes into the repository"]
    fn seeds_of_maps_are_made() {
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
        let map = small();
        for target in ["map_file", "map_resealed"] {
            std::fs::create_dir_all(corpus.join(target)).unwrap();
            e2bki_store::save_with(&map, &["drive".into()], corpus.join(target).join("small.e2bki")).unwrap();
        }
        std::fs::create_dir_all(corpus.join("npz")).unwrap();
        let format = Format::by_name("npz").unwrap();
        e2bki_store::export(&map, format, corpus.join("npz/small.npz"), &ExportOptions::default()).unwrap();
    }

    /// The seeds are of use only while they are read: past every check, to the primitives.
    #[test]
    fn seeds_of_maps_are_read() {
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
        let map = small();
        for path in ["map_file/small.e2bki", "map_resealed/small.e2bki"] {
            assert!(e2bki_store::load(corpus.join(path)).unwrap().states().eq(map.states()), "{path}");
        }
        assert!(e2bki_store::import_npz(corpus.join("npz/small.npz")).unwrap().states().eq(map.states()));
    }
}
