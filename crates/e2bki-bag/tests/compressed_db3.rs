//! SQLite recordings that are compressed as whole files: read as the plain ones are, and damage is told with the file's name.

#![cfg(feature = "db3")]

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use e2bki::{ClassSet, Config, Frame, Mapper, Pose, Semantics};
    use e2bki_bag::messages::{Cloud, Number};
    use e2bki_bag::{Bag, Kind, compose};
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    const STAMP: u64 = 1_700_000_000_000_000_000;

    /// A database of clouds, each of so many points; `journal` is how rosbag2 was told to write.
    fn database(path: &Path, clouds: u64, points: usize, journal: &str) {
        let db = rusqlite::Connection::open(path).unwrap();
        db.pragma_update(None, "journal_mode", journal).unwrap();
        db.execute_batch(
            "CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT, type TEXT, serialization_format TEXT);
             CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER, timestamp INTEGER, data BLOB);
             INSERT INTO topics VALUES (1, '/points', 'sensor_msgs/msg/PointCloud2', 'cdr');",
        )
        .unwrap();
        let fields = [("x", Number::F32), ("y", Number::F32), ("z", Number::F32), ("label", Number::U16)];
        for k in 0..clouds {
            let point = |i: usize| {
                let place = [2.0 + i as f32 * 0.01, k as f32 * 0.1, (i % 7) as f32 * 0.1];
                let label = (i % 2) as u16;
                [place.map(f32::to_le_bytes).as_flattened(), &label.to_le_bytes()].concat()
            };
            let data: Vec<u8> = (0..points).flat_map(point).collect();
            let message = compose::cloud(STAMP + k, "lidar", &fields, points, &data);
            let put = "INSERT INTO messages(topic_id, timestamp, data) VALUES (1, ?1, ?2)";
            db.execute(put, rusqlite::params![(STAMP + k) as i64, message]).unwrap();
        }
    }

    /// A folder of rosbag2 with one file, compressed or not.
    fn folder(plain: &Path, name: &str, compressed: bool) -> PathBuf {
        let folder = plain.parent().unwrap().join(name);
        std::fs::create_dir(&folder).unwrap();
        let (file, mode, format) =
            if compressed { ("drive_0.db3.zstd", "FILE", "zstd") } else { ("drive_0.db3", "", "") };
        let bytes = match compressed {
            true => compress_to_vec(std::fs::File::open(plain).unwrap(), CompressionLevel::Fastest),
            false => std::fs::read(plain).unwrap(),
        };
        std::fs::write(folder.join(file), bytes).unwrap();
        let text = format!(
            "rosbag2_bagfile_information:\n  version: 5\n  storage_identifier: sqlite3\n  relative_file_paths:\n    - {file}\n  \
             compression_format: '{format}'\n  compression_mode: '{mode}'\n"
        );
        std::fs::write(folder.join("metadata.yaml"), text).unwrap();
        folder
    }

    fn map(bag: &Bag) -> Mapper {
        let classes = ClassSet::from_names(["road", "tree"]).unwrap();
        let mut map = Mapper::new(classes, Config::default()).unwrap();
        for entry in bag.entries() {
            let data = bag.read(entry).unwrap();
            let cloud = Cloud::read(bag.wire(entry), &data).unwrap().decode().unwrap();
            let labels: Vec<u32> = cloud.labels.unwrap().iter().map(|label| *label as u32).collect();
            let frame = Frame {
                points: &cloud.points,
                semantics: Semantics::Labels(&labels),
                world_from_sensor: Pose::IDENTITY,
                scan: None,
            };
            map.insert(&frame).unwrap();
        }
        map
    }

    /// Files of ours that are left in the temporary folder.
    fn left() -> usize {
        let all = std::fs::read_dir(std::env::temp_dir()).unwrap().flatten();
        all.filter(|entry| entry.file_name().to_string_lossy().starts_with("e2bki-bag-")).count()
    }

    #[test]
    fn compressed_by_file_it_is_the_same_map() {
        let root = tempfile::tempdir().unwrap();
        for journal in ["DELETE", "WAL"] {
            let plain = root.path().join(format!("{journal}.db3"));
            database(&plain, 6, 300, journal);
            let [plain, packed] = [(false, "plain"), (true, "packed")]
                .map(|(compressed, name)| folder(&plain, &format!("{journal}-{name}"), compressed));
            let (plain, packed) = (Bag::open(plain).unwrap(), Bag::open(packed).unwrap());
            assert_eq!((packed.topics(), packed.entries().len()), (plain.topics(), 6));
            assert!(packed.notes().is_empty(), "{:?}", packed.notes());
            for (a, b) in plain.entries().iter().zip(packed.entries()) {
                assert_eq!((a.time, &*plain.read(a).unwrap()), (b.time, &*packed.read(b).unwrap()));
            }
            assert!(map(&plain).states().eq(map(&packed).states()));
        }
    }

    #[test]
    fn as_another_program_writes_it() {
        // Written by PyPI `rosbags` 0.11, five clouds, compression FILE and zstd.
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/rosbags-file-zstd");
        let bag = Bag::open(&folder).unwrap();
        assert_eq!((bag.kind(), bag.entries().len(), bag.notes()), (Kind::Folder, 5, &[][..]));
        let states = map(&bag);
        assert!(states.states().count() > 0);
        for entry in bag.entries() {
            let data = bag.read(entry).unwrap();
            let cloud = Cloud::read(bag.wire(entry), &data).unwrap().decode().unwrap();
            assert_eq!((cloud.points.len(), cloud.points[3][1]), (20, (entry.time - STAMP) as f32));
        }
        // The file alone is read too.
        let alone = Bag::open(folder.join("rosbags-file-zstd.db3.zstd")).unwrap();
        assert_eq!((alone.kind(), alone.entries().len()), (Kind::Db3, 5));
    }

    #[test]
    fn more_than_fits_goes_through_a_file_that_is_gone_afterwards() {
        let root = tempfile::tempdir().unwrap();
        let plain = root.path().join("large.db3");
        // 84 MB, which compress to little.
        database(&plain, 20, 300_000, "WAL");
        let before = left();
        let packed = folder(&plain, "packed", true);
        let (plain, packed) = (Bag::open(&plain).unwrap(), Bag::open(packed).unwrap());
        assert_eq!(packed.entries().len(), 20);
        #[cfg(unix)]
        assert_eq!(left(), before, "its name is given up while it is open");
        for (a, b) in plain.entries().iter().zip(packed.entries()) {
            assert!(*plain.read(a).unwrap() == *packed.read(b).unwrap());
        }
        drop(packed);
        assert_eq!(left(), before);
    }

    #[test]
    fn damage_is_told_with_the_name_of_the_file() {
        let root = tempfile::tempdir().unwrap();
        let plain = root.path().join("small.db3");
        database(&plain, 4, 50, "DELETE");
        let packed = folder(&plain, "packed", true);
        let file = packed.join("drive_0.db3.zstd");
        let whole = std::fs::read(&file).unwrap();
        let refused = |bytes: &[u8]| {
            std::fs::write(&file, bytes).unwrap();
            Bag::open(&packed).map(|bag| bag.entries().len()).map_err(|error| error.to_string())
        };
        for cut in [4, 5, 20, whole.len() / 2, whole.len() - 1] {
            let error = refused(&whole[..cut]).unwrap_err();
            assert!(error.contains("drive_0.db3.zstd"), "{cut}: {error}");
        }
        let error = refused(&[whole.as_slice(), b"and more"].concat()).unwrap_err();
        assert!(error.contains("drive_0.db3.zstd") && error.contains("Zstandard"), "{error}");
        // Whatever else happens to it: read, or refused with its name.
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x55;
            if let Err(error) = refused(&bytes) {
                assert!(error.contains("drive_0.db3.zstd"), "{at}: {error}");
            }
        }
        // A file that is no database although its name says so.
        let error = refused(&compress_to_vec(&b"something else"[..], CompressionLevel::Fastest)).unwrap_err();
        assert!(error.contains("drive_0.db3.zstd") && error.contains("SQLite"), "{error}");
    }
}
