//! Recordings as datasets: topics by type, poses from transforms and topics, semantics from fields and images, and what is said
//! of what is missing.

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use e2bki::Pose;
    use e2bki_bag::messages::{CameraInfo, Number, TransformMessage};
    use e2bki_bag::{BagWriter, Fields, compose, schemas};
    use e2bki_data::{ClassTable, Dataset, Error, Format, GroundTruth, OpenOptions, OwnedSemantics, SemanticsSource};

    const START: u64 = 1_700_000_000_000_000_000;
    const MS: u64 = 1_000_000;

    fn at(yaw: f64, place: [f64; 3]) -> Pose {
        let (s, c) = yaw.sin_cos();
        Pose::new([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]], place).unwrap()
    }

    fn transform(stamp: u64, parent: &str, child: &str, pose: Pose) -> TransformMessage {
        TransformMessage { stamp, parent: parent.into(), child: child.into(), pose }
    }

    /// Four points: two ahead, one without return, one NaN; labels 0 to 3; times of 0, 10, 20, 30 ms.
    fn cloud(stamp: u64, labels: bool, times: bool) -> Vec<u8> {
        let mut fields = vec![("x", Number::F32), ("y", Number::F32), ("z", Number::F32)];
        if labels {
            fields.push(("label", Number::U16));
        }
        if times {
            fields.push(("t", Number::U32));
        }
        let mut data = Vec::new();
        for (i, p) in [[5.0_f32, 1.0, 0.5], [6.0, -1.0, 0.0], [0.0; 3], [f32::NAN, 0.0, 0.0]].iter().enumerate() {
            p.iter().for_each(|v| data.extend(v.to_le_bytes()));
            if labels {
                data.extend((i as u16).to_le_bytes());
            }
            if times {
                data.extend((10_000_000 * i as u32).to_le_bytes());
            }
        }
        compose::cloud(stamp, "lidar", &fields, 4, &data)
    }

    /// Two points ahead and one behind.
    const RINGED: [[f32; 3]; 3] = [[5.0, 1.0, 0.5], [6.0, -1.0, 0.0], [-4.0, 0.0, 0.0]];

    /// These, with what is no return before them, from the beams 7, 3 and 9.
    fn ringed(stamp: u64) -> Vec<u8> {
        let fields = [("x", Number::F32), ("y", Number::F32), ("z", Number::F32), ("ring", Number::U16)];
        let mut data = Vec::new();
        for (p, ring) in [[f32::NAN; 3]].iter().chain(&RINGED).zip([1_u16, 7, 3, 9]) {
            p.iter().for_each(|v| data.extend(v.to_le_bytes()));
            data.extend(ring.to_le_bytes());
        }
        compose::cloud(stamp, "lidar", &fields, 4, &data)
    }

    fn odometry(stamp: u64, pose: &Pose) -> Vec<u8> {
        let mut fields = Fields::default();
        fields.header(stamp, "odom").text("base_link");
        let turn = e2bki_bag::Quaternion::of_matrix(pose.rotation()).values();
        pose.translation().into_iter().chain(turn).for_each(|v| {
            fields.f64(v);
        });
        (0..36 + 6 + 36).for_each(|_| {
            fields.f64(0.0);
        });
        fields.finish()
    }

    const ODOMETRY: e2bki_bag::Schema = e2bki_bag::Schema { name: "nav_msgs/msg/Odometry", text: "" };

    struct Drive {
        _folder: tempfile::TempDir,
        path: PathBuf,
        bag: Option<BagWriter>,
    }

    impl Drive {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("drive.mcap");
            let bag = Some(BagWriter::create(&path).unwrap());
            Self { _folder: folder, path, bag }
        }

        fn put(&mut self, topic: &str, schema: e2bki_bag::Schema, time: u64, message: &[u8]) {
            self.bag.as_mut().unwrap().write(topic, schema, false, time, message).unwrap();
        }

        fn tf(&mut self, topic: &str, transform: TransformMessage) {
            let time = transform.stamp;
            self.put(topic, schemas::TRANSFORMS, time, &compose::transforms(&[transform]));
        }

        fn done(&mut self) -> &Path {
            if let Some(bag) = self.bag.take() {
                bag.finish().unwrap();
            }
            &self.path
        }
    }

    fn classes() -> ClassTable {
        ClassTable::plain(e2bki::ClassSet::from_names(["road", "tree", "car"]).unwrap())
    }

    fn options(semantics: &str) -> OpenOptions {
        OpenOptions { classes: Some(classes()), semantics: semantics.parse().unwrap(), ..OpenOptions::default() }
    }

    fn close(a: &Pose, b: &Pose) -> bool {
        let flat =
            |p: &Pose| -> Vec<f64> { p.rotation().as_flattened().iter().copied().chain(p.translation()).collect() };
        flat(a).iter().zip(flat(b)).all(|(a, b)| (a - b).abs() < 1e-9)
    }

    #[test]
    fn transforms_labels_and_names_are_found_and_what_is_missing_is_counted() {
        let mut drive = Drive::new();
        let names = ["road", "tree", "car", "sky"];
        drive.put("/label_info", schemas::LABEL_INFO, START, &compose::label_info(START, "", names.into_iter()));
        drive.tf("/tf_static", transform(START, "base_link", "lidar", at(0.0, [0.5, 0.0, 1.0])));
        // Poses every 100 ms up to 900 ms; scans between them, two after their end, one whose clock jumped back.
        for k in 0..10 {
            drive.tf(
                "/tf",
                transform(START + 100 * MS * k, "odom", "base_link", at(0.1 * k as f64, [k as f64, 0.0, 0.0])),
            );
        }
        for k in [0, 1, 2, 3, 30, 31, 4] {
            let stamp = START + 100 * MS * k + 50 * MS;
            drive.put("/points", schemas::POINT_CLOUD, START + 600 * MS, &cloud(stamp, true, false));
        }
        let path = drive.done();
        assert_eq!(Format::detect(path).unwrap(), Format::Bag);
        let dataset = Dataset::open(path, &OpenOptions::default()).unwrap();
        assert_eq!((dataset.len(), dataset.skipped().without_pose.as_slice()), (5, [4_u64, 5].as_slice()));
        assert_eq!(dataset.classes().names(), names);
        let body = at(0.15, [1.5, 0.0, 0.0]);
        let expected = body.after(&at(0.0, [0.5, 0.0, 1.0])).unwrap();
        assert!(close(&dataset.world_from_sensor(1).unwrap(), &expected), "{:?}", dataset.world_from_sensor(1));
        let frame = dataset.load(1).unwrap();
        assert_eq!(frame.name, "1700000000.150000000");
        assert_eq!(frame.points, [[5.0, 1.0, 0.5], [6.0, -1.0, 0.0]]);
        assert_eq!((frame.counts.no_return, frame.counts.non_finite), (1, 1));
        assert_eq!(frame.semantics, OwnedSemantics::Labels(vec![0, 1]));
        let notes = dataset.notes().join("\n");
        for said in
            ["2 of 7 scans have no pose", "jumps back 1 times", "to `odom`", "2 scans were recorded more than 1 s away"]
        {
            assert!(notes.contains(said), "{said}: {notes}");
        }
    }

    #[test]
    fn odometry_topics_and_files_of_poses_serve_too() {
        let mut drive = Drive::new();
        drive.tf("/tf_static", transform(START, "base_link", "lidar", at(0.0, [0.0, 0.0, 1.0])));
        for k in 0..10 {
            let stamp = START + 100 * MS * k;
            drive.put("/odom", ODOMETRY, stamp, &odometry(stamp, &at(0.0, [2.0 * k as f64, 0.0, 0.0])));
            drive.put("/points", schemas::POINT_CLOUD, stamp, &cloud(stamp, true, false));
            drive.put(
                "/small",
                schemas::POINT_CLOUD,
                stamp,
                &compose::cloud(stamp, "lidar", &[("x", Number::F32)], 0, &[]),
            );
        }
        let path = drive.done().to_path_buf();
        let by_topic = Dataset::open(&path, &options("ground-truth")).unwrap();
        assert_eq!(by_topic.world_from_sensor(3).unwrap().translation(), [6.0, 0.0, 1.0]);
        let notes = by_topic.notes().join("\n");
        assert!(notes.contains("poses: /odom") && notes.contains("--topic chooses another: /small (10)"), "{notes}");
        let file = path.with_file_name("poses.tum");
        let rows: Vec<String> =
            (0..9).map(|k| format!("{}.{:03} {k} 5 0 0 0 0 1", START / 1_000_000_000, 100 * k)).collect();
        std::fs::write(&file, rows.join("\n")).unwrap();
        let with = |poses: &str| OpenOptions { poses: Some(poses.into()), ..options("ground-truth") };
        let by_file = Dataset::open(&path, &with(file.to_str().unwrap())).unwrap();
        assert!((by_file.world_from_sensor(3).unwrap().translation()[0] - 3.0).abs() < 1e-3);
        assert_eq!(by_file.len(), 10, "the last scan is 100 ms after the last pose: near enough");
        std::fs::write(&file, "1 0 0 1 0 1 0 0 0 0 1 0\n1 0 0 2 0 1 0 0 0 0 1 0\n").unwrap();
        let by_line = Dataset::open(&path, &with(file.to_str().unwrap())).unwrap();
        assert_eq!((by_line.len(), by_line.skipped().without_pose.len()), (2, 8));
        let still = Dataset::open(&path, &with("none")).unwrap();
        assert_eq!(still.world_from_sensor(7), Some(Pose::IDENTITY));
        let message = |poses: &str| Dataset::open(&path, &with(poses)).unwrap_err().to_string();
        assert!(message("/points").contains("nav_msgs/msg/Odometry"), "{}", message("/points"));
        assert!(message("/nowhere").contains("/odom"), "{}", message("/nowhere"));
    }

    #[test]
    fn the_motion_during_a_scan_is_undone_by_the_times_of_its_points() {
        let mut drive = Drive::new();
        for k in 0..20 {
            drive.tf("/tf", transform(START + 10 * MS * k, "odom", "lidar", at(0.0, [0.2 * k as f64, 0.0, 0.0])));
        }
        for k in [0, 5, 18] {
            let stamp = START + 10 * MS * k;
            drive.put("/points", schemas::POINT_CLOUD, stamp, &cloud(stamp, true, true));
        }
        let path = drive.done();
        let dataset = Dataset::open(path, &options("ground-truth")).unwrap();
        // 20 m/s: the second point, 10 ms after the first, was measured 0.2 m farther on.
        let points = dataset.load(1).unwrap().points;
        assert!((points[0][0] - 5.0).abs() < 1e-5 && (points[1][0] - 6.2).abs() < 1e-5, "{points:?}");
        let notes = dataset.notes().join("\n");
        assert!(notes.contains("the motion during a scan is undone"), "{notes}");
        let raw = OpenOptions { deskew: Some(false), ..options("ground-truth") };
        assert_eq!(Dataset::open(path, &raw).unwrap().load(1).unwrap().points[1], [6.0, -1.0, 0.0]);
    }

    #[test]
    fn images_give_labels_and_probabilities_by_their_calibration() {
        let mut drive = Drive::new();
        // The camera looks along x of the LiDAR: its z is x, its x is −y, its y is −z.
        let axes = [[0.0, 0.0, 1.0], [-1.0, 0.0, 0.0], [0.0, -1.0, 0.0]];
        drive.tf("/tf_static", transform(START, "lidar", "camera", Pose::new(axes, [0.0; 3]).unwrap()));
        let size = [20, 10];
        let info = CameraInfo {
            frame: "camera".into(),
            size,
            model: "plumb_bob".into(),
            distortion: vec![0.0; 5],
            k: [20.0, 0.0, 9.5, 0.0, 20.0, 4.5, 0.0, 0.0, 1.0],
            p: [0.0; 12],
        };
        for k in 0..3 {
            let stamp = START + 100 * MS * k;
            drive.tf("/tf", transform(stamp, "odom", "lidar", at(0.0, [k as f64, 0.0, 0.0])));
            let scan = if k == 2 { ringed(stamp) } else { cloud(stamp, false, false) };
            drive.put("/points", schemas::POINT_CLOUD, stamp, &scan);
            drive.put("/front/camera_info", schemas::CAMERA_INFO, stamp, &compose::camera_info(stamp, &info));
            let grey = compose::image(stamp + 20 * MS, "camera", size, "mono8", &[90; 200]);
            drive.put("/front/image_raw", schemas::IMAGE, stamp, &grey);
            // The left half is a tree, the right half a car.
            let ids: Vec<u8> = (0..200).map(|i| if i % 20 < 10 { 1 } else { 2 }).collect();
            drive.put("/front/labels", schemas::IMAGE, stamp, &compose::image(stamp, "camera", size, "mono8", &ids));
            let values = (0..200).flat_map(|i| if i % 20 < 10 { [0.1_f32, 0.7, 0.2] } else { [0.0, 0.25, 0.75] });
            let bytes: Vec<u8> = values.flat_map(f32::to_le_bytes).collect();
            drive.put(
                "/net/probabilities",
                schemas::IMAGE,
                stamp,
                &compose::image(stamp, "camera", size, "32FC3", &bytes),
            );
        }
        let path = drive.done();
        let camera = Dataset::open(path, &options("none")).unwrap().camera().unwrap().clone();
        assert_eq!((camera.size, camera.focal), (size, [20.0, 20.0]));
        // One metre to the left of five ahead: 20/5 = 4 pixels left of the centre.
        let seen = camera.project([5.0, 1.0, 0.5]).unwrap();
        assert!((seen.position[0] - 6.0).abs() < 1e-9 && (seen.position[1] - 3.0).abs() < 1e-9, "{seen:?}");
        for semantics in ["ground-truth", "labels:/front/labels"] {
            let dataset = Dataset::open(path, &options(semantics)).unwrap();
            assert_eq!(dataset.load(0).unwrap().semantics, OwnedSemantics::Labels(vec![1, 2]), "{semantics}");
            // The topic of the true labels is the truth by another name.
            assert!(dataset.source_name(semantics).starts_with("ground-truth"), "{semantics}");
        }
        let network = Dataset::open(path, &options("probabilities:/net/probabilities")).unwrap();
        assert_eq!(network.source_name("probabilities:/net/probabilities"), "probabilities:/net/probabilities");
        let frame = network.load(2).unwrap();
        let OwnedSemantics::Probabilities(values) = &frame.semantics else { panic!("{:?}", frame.semantics) };
        assert!((values[1] - 0.7).abs() < 1e-6 && (values[5] - 0.75).abs() < 1e-6, "{values:?}");
        // What is outside of the image has no class, and is a part of the scan all the same, with its beam.
        let scan = frame.scan.as_ref().unwrap();
        assert_eq!((frame.points.as_slice(), scan.points.as_slice()), (&RINGED[..2], &RINGED[..]));
        assert_eq!(scan.rings.as_deref(), Some(&[7, 3, 9][..]));
        assert_eq!(frame.frame().scan.unwrap().points, RINGED);
        let pictures = OpenOptions { pictures: true, ..options("none") };
        let frame = Dataset::open(path, &pictures).unwrap().load(0).unwrap();
        assert_eq!(frame.picture.unwrap().get_pixel(3, 3).0, [90; 3]);
        assert!(frame.image.unwrap().path().is_none());
        let wrong = Dataset::open(path, &options("labels:/front/camera_info")).unwrap_err().to_string();
        assert!(wrong.contains("CameraInfo"), "{wrong}");
    }

    #[test]
    fn a_recording_without_clouds_poses_or_labels_says_so_with_a_way_out() {
        let mut empty = Drive::new();
        empty.put("/odom", ODOMETRY, START, &odometry(START, &Pose::IDENTITY));
        let message = |path: &Path, options: &OpenOptions| Dataset::open(path, options).unwrap_err().to_string();
        let none = message(empty.done(), &OpenOptions::default());
        assert!(none.contains("no clouds") && none.contains("/odom (nav_msgs/msg/Odometry, 1)"), "{none}");
        let mut bare = Drive::new();
        bare.put("/points", schemas::POINT_CLOUD, START, &cloud(START, false, false));
        let path = bare.done();
        let poses = message(path, &OpenOptions::default());
        assert!(poses.contains("`lidar`") && poses.contains("--poses none"), "{poses}");
        let still = OpenOptions { poses: Some("none".into()), ..OpenOptions::default() };
        let labels = message(path, &still);
        assert!(labels.contains("field `label`") && labels.contains("--semantics"), "{labels}");
        let looked =
            OpenOptions { semantics: SemanticsSource::Nothing, ground_truth: GroundTruth::Auto, ..still.clone() };
        assert_eq!(Dataset::open(path, &looked).unwrap().load(0).unwrap().points.len(), 2);
        let topic = OpenOptions { topic: Some("/other".into()), ..still };
        assert!(message(path, &topic).contains("/points"));
        let text = path.with_file_name("notes.txt");
        std::fs::write(&text, "hello").unwrap();
        assert!(message(&text, &OpenOptions::default()).contains("MCAP"));
        let packets = path.with_file_name("drive.pcap");
        std::fs::write(&packets, b"\xd4\xc3\xb2\xa1").unwrap();
        assert!(matches!(Dataset::open(&packets, &OpenOptions::default()), Err(Error::Malformed { .. })));
        assert!(message(&packets, &OpenOptions::default()).contains("driver"));
    }

    #[test]
    fn real_recordings_are_datasets() {
        let Some(root) = e2bki_testdata::real("bags") else { return };
        let looked = |path: &str, poses: Option<&str>| {
            let options = OpenOptions {
                semantics: SemanticsSource::Nothing,
                ground_truth: GroundTruth::Auto,
                poses: poses.map(str::to_string),
                ..OpenOptions::default()
            };
            Dataset::open(&root.join(path), &options)
        };
        let ouster = looked("os1_128_n3", None).unwrap();
        assert_eq!(ouster.len(), 3);
        assert!((105_000..110_000).contains(&ouster.load(0).unwrap().points.len()));
        let clouds: Vec<usize> = ["sick_ros2_mcap", "rms_1xxx_lms_1xx_movement_off.bag"]
            .iter()
            .map(|path| looked(path, Some("none")).unwrap().len())
            .collect();
        assert_eq!(clouds[0], clouds[1]);
        let none = looked("nav2_turtlebot.mcap", None).unwrap_err().to_string();
        assert!(none.contains("no clouds"), "{none}");
    }
}
