//! What is written is read back; no damage makes a reader panic.

#[cfg(test)]
mod tests {
    use e2bki_bag::messages::{Cloud, transforms};
    use e2bki_bag::{Bag, BagWriter, Fields, Kind, Schema};

    const CLOUD: Schema =
        Schema { name: "sensor_msgs/msg/PointCloud2", text: "std_msgs/Header header\nuint32 height\nuint32 width" };
    const TF: Schema = Schema { name: "tf2_msgs/msg/TFMessage", text: "geometry_msgs/TransformStamped[] transforms" };

    /// A cloud of two rows with padding, a time and a label in every point.
    fn cloud(stamp: u64, big_endian: bool) -> Vec<u8> {
        let mut fields = Fields::default();
        fields.header(stamp, "lidar").u32(2).u32(3).u32(5);
        for (name, offset, kind) in [("x", 0, 7), ("y", 4, 7), ("z", 8, 7), ("t", 16, 6), ("label", 20, 4)] {
            fields.text(name).u32(offset).u8(kind).u32(1);
        }
        let mut data = Vec::new();
        for i in 0..6_u32 {
            let put = |bytes: [u8; 4]| {
                if big_endian {
                    let mut b = bytes;
                    b.reverse();
                    b
                } else {
                    bytes
                }
            };
            for axis in 0..3 {
                data.extend(put((i as f32 + 0.25 * axis as f32).to_le_bytes()));
            }
            data.extend([0xff; 4]);
            data.extend(put((i * 1_000_000).to_le_bytes()));
            let label = (i as u16).to_le_bytes();
            data.extend(if big_endian { [label[1], label[0]] } else { label });
            data.extend([0; 2]);
            if i == 2 {
                data.extend([7; 8]); // rows are longer than their points
            }
        }
        data.extend([7; 8]);
        fields.u8(u8::from(big_endian)).u32(24).u32(80).bytes(&data).u8(1);
        fields.finish()
    }

    fn tf(stamp: u64) -> Vec<u8> {
        let mut fields = Fields::default();
        fields.u32(2);
        for q in [[0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 0.0]] {
            fields.header(stamp, "odom").text("base");
            [1.0, 2.0, 3.0].into_iter().chain(q).for_each(|v| {
                fields.f64(v);
            });
        }
        fields.finish()
    }

    fn written(messages: u64) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("drive.mcap");
        let mut bag = BagWriter::create(&path).unwrap();
        for i in 0..messages {
            bag.write("/points", CLOUD, false, 100 + i, &cloud(5_000_000_000 + i, i % 2 == 1)).unwrap();
            bag.write("/tf", TF, false, 100 + i, &tf(i)).unwrap();
        }
        bag.finish().unwrap();
        (folder, path)
    }

    #[test]
    fn clouds_and_transforms_survive() {
        let (_folder, path) = written(40);
        assert_eq!(Kind::detect(&path), Some(Kind::Mcap));
        let bag = Bag::open(&path).unwrap();
        assert!(bag.notes().is_empty(), "{:?}", bag.notes());
        let topics: Vec<(&str, usize)> = bag.topics().iter().map(|t| (t.name.as_str(), t.count)).collect();
        assert_eq!(topics, [("/points", 40), ("/tf", 40)]);
        for (i, entry) in bag.of_topic(0).enumerate() {
            let data = bag.read(entry).unwrap();
            let cloud = Cloud::read(bag.wire(entry), &data).unwrap();
            assert_eq!((cloud.header.stamp, cloud.header.frame), (5_000_000_000 + i as u64, "lidar"));
            let decoded = cloud.decode().unwrap();
            assert_eq!(decoded.points[4], [4.0, 4.25, 4.5]);
            assert_eq!(decoded.labels.unwrap(), [0, 1, 2, 3, 4, 5]);
            assert_eq!(decoded.times.unwrap()[5], 0.005);
        }
        let entry = bag.of_topic(1).next().unwrap();
        let (all, wrong) = transforms(bag.wire(entry), &bag.read(entry).unwrap()).unwrap();
        assert_eq!((all.len(), wrong), (1, 1));
        assert_eq!((all[0].parent.as_str(), all[0].pose.translation()), ("odom", [1.0, 2.0, 3.0]));
    }

    #[test]
    fn damaged_bags_are_errors_or_notes_and_never_panic() {
        let (folder, path) = written(12);
        let whole = std::fs::read(&path).unwrap();
        let broken = folder.path().join("broken.mcap");
        let mut seed = 7_u64;
        let mut random = |below: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as usize % below
        };
        let (mut refused, mut noted) = (0, 0);
        for _ in 0..2000 {
            let mut bytes = whole.clone();
            for _ in 0..1 + random(4) {
                let at = random(bytes.len());
                bytes[at] ^= 1 << random(8);
            }
            if random(10) == 0 {
                bytes.truncate(random(bytes.len()));
            }
            std::fs::write(&broken, &bytes).unwrap();
            match Bag::open(&broken) {
                Err(error) => {
                    refused += 1;
                    assert!(error.to_string().contains("broken.mcap"), "{error}");
                }
                Ok(bag) => {
                    noted += usize::from(!bag.notes().is_empty());
                    for entry in bag.entries() {
                        if let Ok(data) = bag.read(entry) {
                            Cloud::read(bag.wire(entry), &data).and_then(|cloud| cloud.decode()).ok();
                            transforms(bag.wire(entry), &data).ok();
                        }
                    }
                }
            }
        }
        assert!(refused > 20 && noted > 50, "{refused} refused, {noted} noted");
    }

    #[test]
    fn what_is_no_recording_is_said_with_a_way_out() {
        let folder = tempfile::tempdir().unwrap();
        let message = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            Bag::open(&path).unwrap_err().to_string()
        };
        assert!(message("a.pcap", b"\xd4\xc3\xb2\xa1rest").contains("driver"));
        assert!(message("a.txt", b"hello").contains("MCAP"));
        assert!(message("empty.mcap", b"").contains("no recording"));
        let empty = tempfile::tempdir().unwrap();
        assert!(Bag::open(empty.path()).unwrap_err().to_string().contains("metadata.yaml"));
        std::fs::write(
            folder.path().join("metadata.yaml"),
            "rosbag2_bagfile_information:\n  relative_file_paths: [gone.mcap]\n",
        )
        .unwrap();
        assert!(Bag::open(folder.path()).unwrap_err().to_string().contains("gone.mcap"));
    }
}
