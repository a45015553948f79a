//! Damaged recordings of every kind: never a panic, never more memory than the file can hold, and what is lost is said.
//! `E2BKI_MUTATIONS` says how many of each kind are tried.

use peak_alloc::PeakAlloc;

#[global_allocator]
static PEAK: PeakAlloc = PeakAlloc;

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};
    use std::sync::{Mutex, PoisonError};

    use e2bki::Pose;
    use e2bki_bag::messages::{Cloud, Number, TransformMessage, transforms};
    use e2bki_bag::{Bag, BagWriter, compose, schemas};
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use super::PEAK;

    /// Messages of each topic.
    const COUNT: u64 = 12;

    /// What a recording of some kilobytes may take, bytes: decompressors have windows of megabytes.
    const MOST_MEMORY: usize = 48 << 20;

    /// Memory is counted for all threads at once.
    static ALONE: Mutex<()> = Mutex::new(());

    const STAMP: u64 = 1_700_000_000_000_000_000;

    fn cloud(k: u64) -> Vec<u8> {
        let fields = [("x", Number::F32), ("y", Number::F32), ("z", Number::F32), ("label", Number::U16)];
        let data: Vec<u8> = (0..14 * 40).map(|i| (i * 7 + k) as u8).collect();
        compose::cloud(STAMP + k, "lidar", &fields, 40, &data)
    }

    fn tf(k: u64) -> Vec<u8> {
        let pose = Pose::from_translation([k as f64, 0.0, 1.0]).unwrap();
        compose::transforms(&[TransformMessage {
            stamp: STAMP + k,
            parent: "odom".into(),
            child: "lidar".into(),
            pose,
        }])
    }

    fn mcap(path: &Path, messages: std::ops::Range<u64>) {
        let mut bag = BagWriter::create(path).unwrap();
        for k in messages {
            bag.write("/points", schemas::POINT_CLOUD, false, STAMP + k, &cloud(k)).unwrap();
            bag.write("/tf", schemas::TRANSFORMS, false, STAMP + k, &tf(k)).unwrap();
        }
        bag.finish().unwrap();
    }

    fn metadata(folder: &Path, files: &[&str], mode: &str) {
        let format = if mode.is_empty() { "" } else { "zstd" };
        let text = format!(
            "rosbag2_bagfile_information:\n  version: 5\n  storage_identifier: mcap\n  message_count: {}\n  \
             relative_file_paths: [{}]\n  compression_format: '{format}'\n  compression_mode: '{mode}'\n",
            2 * COUNT,
            files.join(", ")
        );
        std::fs::write(folder.join("metadata.yaml"), text).unwrap();
    }

    /// A record of ROS 1: a header of fields, and data.
    fn record(fields: &[(&str, &[u8])], data: &[u8]) -> Vec<u8> {
        let head: Vec<u8> = (fields.iter())
            .flat_map(|(name, value)| {
                let length = (name.len() + 1 + value.len()) as u32;
                [&length.to_le_bytes(), name.as_bytes(), b"=", value].concat()
            })
            .collect();
        [&(head.len() as u32).to_le_bytes(), head.as_slice(), &(data.len() as u32).to_le_bytes(), data].concat()
    }

    /// A cloud as ROS 1 serialises it.
    fn old_cloud(k: u64) -> Vec<u8> {
        let text = |text: &str| [&(text.len() as u32).to_le_bytes(), text.as_bytes()].concat();
        let mut all = [k as u32, 1_700_000_000, k as u32].map(u32::to_le_bytes).concat();
        all.extend(text("lidar"));
        all.extend([1_u32, 40, 3].map(u32::to_le_bytes).concat());
        for (axis, name) in ["x", "y", "z"].into_iter().enumerate() {
            all.extend([text(name), (4 * axis as u32).to_le_bytes().to_vec(), vec![7], vec![1, 0, 0, 0]].concat());
        }
        all.push(0);
        all.extend([12_u32, 480, 480].map(u32::to_le_bytes).concat());
        all.extend((0..480).map(|i| (i * 3 + k) as u8));
        all.push(1);
        all
    }

    fn ros1(path: &Path) {
        let connection = |id: u32, topic: &str, kind: &str| {
            let about = record(&[("topic", topic.as_bytes()), ("type", kind.as_bytes())], &[]);
            let about = &about[4..about.len() - 4];
            record(&[("op", &[7]), ("conn", &id.to_le_bytes()), ("topic", topic.as_bytes())], about)
        };
        let mut all = b"#ROSBAG V2.0\n".to_vec();
        let place = 4096_u64.to_le_bytes();
        let counts = [2_u32, 3].map(u32::to_le_bytes);
        let head = [("op", &[3][..]), ("index_pos", &place), ("conn_count", &counts[0]), ("chunk_count", &counts[1])];
        all.extend(record(&head, &[b' '; 100]));
        for (chunk, compression) in ["none", "bz2", "lz4"].into_iter().enumerate() {
            let mut inside = connection(0, "/points", "sensor_msgs/PointCloud2");
            inside.extend(connection(1, "/tf", "tf2_msgs/TFMessage"));
            for k in 4 * chunk as u64..4 * chunk as u64 + 4 {
                let time = [1_700_000_000_u32, k as u32].map(u32::to_le_bytes).concat();
                let of =
                    |id: u32, data: &[u8]| record(&[("op", &[2]), ("conn", &id.to_le_bytes()), ("time", &time)], data);
                inside.extend(of(0, &old_cloud(k)));
                inside.extend(of(1, &0_u32.to_le_bytes()));
            }
            let stored = match compression {
                "bz2" => {
                    let mut encoder = bzip2::read::BzEncoder::new(inside.as_slice(), bzip2::Compression::fast());
                    let mut stored = Vec::new();
                    std::io::Read::read_to_end(&mut encoder, &mut stored).unwrap();
                    stored
                }
                "lz4" => {
                    let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
                    std::io::Write::write_all(&mut encoder, &inside).unwrap();
                    encoder.finish().unwrap()
                }
                _ => inside.clone(),
            };
            let size = (inside.len() as u32).to_le_bytes();
            all.extend(record(&[("op", &[5]), ("compression", compression.as_bytes()), ("size", &size)], &stored));
        }
        std::fs::write(path, all).unwrap();
    }

    struct Random(u64);

    impl Random {
        fn below(&mut self, most: usize) -> usize {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) as usize % most.max(1)
        }

        /// Flips bits, writes great lengths, zeroes, doubles or loses a part, cuts the end off.
        fn damage(&mut self, bytes: &mut Vec<u8>) {
            for _ in 0..1 + self.below(4) {
                let at = self.below(bytes.len());
                let end = (at + 1 + self.below(64)).min(bytes.len());
                match self.below(12) {
                    0 => bytes[at..end.min(at + 4)].fill(0xff),
                    1 => bytes[at..end].fill(0),
                    2 => drop(bytes.drain(at..end)),
                    3 => {
                        let part = bytes[at..end].to_vec();
                        bytes.splice(at..at, part);
                    }
                    _ if !bytes.is_empty() => bytes[at] ^= 1 << self.below(8),
                    _ => {}
                }
            }
            if self.below(10) == 0 {
                bytes.truncate(self.below(bytes.len()));
            }
        }
    }

    /// Opens damaged copies of a recording, of which `files` can be damaged, and reads all that there is.
    fn try_all(path: &Path, files: &[PathBuf], every_loss_is_seen: bool) {
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let whole: Vec<Vec<u8>> = files.iter().map(|file| std::fs::read(file).unwrap()).collect();
        assert_eq!(Bag::open(path).unwrap().entries().len() as u64, 2 * COUNT);
        assert!(Bag::open(path).unwrap().notes().is_empty(), "{:?}", Bag::open(path).unwrap().notes());
        let tries: u32 = std::env::var("E2BKI_MUTATIONS").map_or(300, |text| text.parse().unwrap());
        let (mut random, mut refused, mut noted, mut most) = (Random(7), 0, 0, 0);
        for k in 0..tries {
            let chosen = random.below(files.len());
            let mut bytes = whole[chosen].clone();
            random.damage(&mut bytes);
            std::fs::write(&files[chosen], &bytes).unwrap();
            PEAK.reset_peak_usage();
            let before = PEAK.current_usage();
            match Bag::open(path) {
                Err(error) => {
                    refused += 1;
                    let name = path.file_name().unwrap().to_string_lossy();
                    assert!(error.to_string().contains(&*name), "{error}");
                }
                Ok(bag) => {
                    noted += usize::from(!bag.notes().is_empty());
                    let mut found = 0;
                    for entry in bag.entries() {
                        if let Ok(data) = bag.read(entry) {
                            found += 1;
                            Cloud::read(bag.wire(entry), &data).and_then(|cloud| cloud.decode()).ok();
                            transforms(bag.wire(entry), &data).ok();
                        }
                    }
                    let fewer = (bag.entries().len() as u64) < 2 * COUNT;
                    let said = !fewer || !bag.notes().is_empty();
                    assert!(said || !every_loss_is_seen, "{k}: {found} messages of {} and no word", 2 * COUNT);
                }
            }
            most = most.max(PEAK.peak_usage() - before);
            std::fs::write(&files[chosen], &whole[chosen]).unwrap();
        }
        println!("{tries} mutations: {refused} refused, {noted} with notes, at most {most} bytes of memory");
        assert!(most < MOST_MEMORY, "{most} bytes");
        assert!(refused + noted > tries as usize / 4, "{refused} refused, {noted} noted");
    }

    #[test]
    fn mcap_files() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("drive.mcap");
        mcap(&path, 0..COUNT);
        try_all(&path, std::slice::from_ref(&path), true);
    }

    #[test]
    fn folders_of_split_mcap_files() {
        let folder = tempfile::tempdir().unwrap();
        let names = ["drive_0.mcap", "drive_1.mcap"];
        mcap(&folder.path().join(names[0]), 0..COUNT / 2);
        mcap(&folder.path().join(names[1]), COUNT / 2..COUNT);
        metadata(folder.path(), &names, "");
        let files = [names[0], names[1], "metadata.yaml"].map(|name| folder.path().join(name));
        try_all(folder.path(), &files, true);
    }

    #[test]
    fn folders_of_compressed_mcap_files() {
        let folder = tempfile::tempdir().unwrap();
        let (plain, stored) = (folder.path().join("drive_0.mcap"), folder.path().join("drive_0.mcap.zstd"));
        mcap(&plain, 0..COUNT);
        std::fs::write(&stored, compress_to_vec(std::fs::File::open(&plain).unwrap(), CompressionLevel::Fastest))
            .unwrap();
        std::fs::remove_file(&plain).unwrap();
        metadata(folder.path(), &["drive_0.mcap.zstd"], "FILE");
        try_all(folder.path(), &[stored, folder.path().join("metadata.yaml")], true);
    }

    #[test]
    fn bags_of_ros1() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("drive.bag");
        ros1(&path);
        // It has no checksums: what a damaged length swallows is not seen.
        try_all(&path, std::slice::from_ref(&path), false);
    }

    #[cfg(feature = "db3")]
    #[test]
    fn databases() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("drive_0.db3");
        let db = rusqlite::Connection::open(&path).unwrap();
        db.execute_batch(
            "CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT, type TEXT, serialization_format TEXT);
             CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER, timestamp INTEGER, data BLOB);
             CREATE INDEX timestamp_idx ON messages (timestamp ASC);
             INSERT INTO topics VALUES (1, '/points', 'sensor_msgs/msg/PointCloud2', 'cdr'), (2, '/tf', 'tf2_msgs/msg/TFMessage', 'cdr');",
        )
        .unwrap();
        for k in 0..COUNT {
            for (topic, data) in [(1, cloud(k)), (2, tf(k))] {
                let put = "INSERT INTO messages(topic_id, timestamp, data) VALUES (?1, ?2, ?3)";
                db.execute(put, rusqlite::params![topic, (STAMP + k) as i64, data]).unwrap();
            }
        }
        drop(db);
        // Without checksums: rows that a damaged page loses at either end are not missed.
        try_all(&path, std::slice::from_ref(&path), false);
        // What the library in C takes is not counted above.
        if let Ok(status) = std::fs::read_to_string("/proc/self/status") {
            let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
            let peak: usize = peak.trim().trim_end_matches(" kB").parse().unwrap();
            assert!(peak * 1024 < 4 * MOST_MEMORY, "{peak} kB");
        }
        // The same folder without its metadata.yaml, as a recorder that is killed leaves it.
        let bag = Bag::open(folder.path()).unwrap();
        assert_eq!(bag.entries().len() as u64, 2 * COUNT);
        assert!(bag.notes()[0].contains("metadata.yaml"), "{:?}", bag.notes());
    }
}
