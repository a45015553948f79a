//! A network in a node: pictures of a simulated drive find their scans, and the map is that of a recording of the messages.

#[cfg(test)]
mod common;

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use e2bki::Pose;
    use e2bki_bag::messages::{CameraInfo, Number, TransformMessage};
    use e2bki_bag::{BagWriter, Schema, compose, schemas};
    use e2bki_data::{ClassTable, Dataset, OpenOptions, SemanticsSource, channel_meaning};
    use e2bki_live::{CameraOptions, Clock, Inputs, Kind, Left, Node, NodeOptions, Output, PoseSource, Values};
    use e2bki_segment::infer::Segmenter;
    use e2bki_sim::{Drive, DriveOptions, Sensor, WorldKind};

    use crate::common::{CLASSES, Kept, START, eager, empty, nobody, options, states};

    const NETWORK: &str = "../../assets/networks/offroad-002.safetensors";
    const IMAGES: &str = "/camera/image_raw";
    const MS: u64 = 1_000_000;

    fn camera_options() -> CameraOptions {
        let network = Arc::new(Segmenter::open(Path::new(NETWORK)).unwrap());
        let table = ClassTable::open(CLASSES).unwrap();
        let remap = channel_meaning(Some("classes"), 7, &table, &"network").unwrap();
        CameraOptions { network, remap, topic: IMAGES.into(), occlusion_window: Some(5) }
    }

    fn with_network() -> NodeOptions {
        NodeOptions { camera: Some(camera_options()), ..options() }
    }

    fn inputs(values: Values) -> Inputs {
        Inputs::new(PoseSource::Tf("map".into()), 20, Clock::new(false)).with_images().with(values)
    }

    /// Clouds without labels, transforms, pictures 30 ms after their scans, which come another 40 ms later, and calibration.
    fn drive(frames: usize) -> Vec<(Kind, u64, Vec<u8>)> {
        let options = DriveOptions {
            columns: Some(256),
            image_width: 192,
            ..DriveOptions::new(WorldKind::Offroad, 5, Sensor::Os1_64)
        };
        let drive = Drive::new(options).unwrap();
        let rig = drive.rig();
        let transform = |stamp, parent: &str, child: &str, pose| {
            compose::transforms(&[TransformMessage { stamp, parent: parent.into(), child: child.into(), pose }])
        };
        let lidar_from_camera = Pose::from_matrix(rig.reported_sensor_from_camera.to_matrix()).unwrap();
        let mut all = vec![(Kind::FixedTransforms, START, transform(START, "lidar", "camera", lidar_from_camera))];
        for index in 0..frames {
            let stamp = START + (drive.time_of(index) * 1e9).round() as u64;
            let (frame, image) = (drive.frame(index), drive.image(index));
            let pose = Pose::from_matrix(frame.world_from_sensor).unwrap();
            all.push((Kind::Transforms, stamp, transform(stamp, "map", "lidar", pose)));
            let fields = [("x", Number::F32), ("y", Number::F32), ("z", Number::F32)];
            let data: Vec<u8> = frame.points.iter().flatten().flat_map(|v| v.to_le_bytes()).collect();
            all.push((Kind::Cloud, stamp, compose::cloud(stamp, "lidar", &fields, frame.points.len(), &data)));
            let (size, camera, lens) = ([image.width, image.height], &rig.camera, &rig.camera.distortion);
            let [cx, cy] = camera.center.map(|c| c - camera.pixel_center);
            let [fx, fy] = camera.focal;
            let info = CameraInfo {
                frame: "camera".into(),
                size,
                model: "plumb_bob".into(),
                distortion: vec![lens.k1, lens.k2, lens.p1, lens.p2, lens.k3],
                k: [fx, 0.0, cx, 0.0, fy, cy, 0.0, 0.0, 1.0],
                p: [0.0; 12],
            };
            all.push((Kind::CameraInfo, stamp, compose::camera_info(stamp, &info)));
            let taken = stamp + 30 * MS;
            let sent = compose::image(taken, "camera", size, "rgb8", image.rgb.as_flattened());
            all.push((Kind::Image, taken + 40 * MS, sent));
        }
        let last = START + (drive.time_of(frames) * 1e9).round() as u64;
        all.push((Kind::Transforms, last, transform(last, "map", "lidar", Pose::IDENTITY)));
        all.sort_by_key(|(kind, time, _)| (*time, *kind));
        all
    }

    fn recorded(messages: &[(Kind, u64, Vec<u8>)], path: &Path) -> e2bki::Mapper {
        let mut bag = BagWriter::create(path).unwrap();
        for (kind, time, message) in messages {
            let (topic, schema): (&str, Schema) = match kind {
                Kind::Cloud => ("/points", schemas::POINT_CLOUD),
                Kind::Transforms => ("/tf", schemas::TRANSFORMS),
                Kind::CameraInfo => ("/camera/camera_info", schemas::CAMERA_INFO),
                Kind::Image => (IMAGES, schemas::IMAGE),
                _ => ("/tf_static", schemas::TRANSFORMS),
            };
            bag.write(topic, schema, false, *time, message).unwrap();
        }
        bag.finish().unwrap();
        let options = OpenOptions {
            classes: Some(ClassTable::open(CLASSES).unwrap()),
            semantics: SemanticsSource::Images,
            network: Some(Arc::new(Segmenter::open(Path::new(NETWORK)).unwrap())),
            occlusion_window: Some(5),
            ..OpenOptions::default()
        };
        let dataset = Dataset::open(path, &options).unwrap();
        let (mut map, _) = empty();
        for index in 0..dataset.len() {
            map.insert(&dataset.load(index).unwrap().frame()).unwrap();
        }
        map
    }

    #[test]
    fn the_map_of_a_network_is_that_of_a_recording_of_the_same_messages() {
        let messages = drive(6);
        let folder = tempfile::tempdir().unwrap();
        let offline = recorded(&messages, &folder.path().join("drive.mcap"));
        let inputs = inputs(eager());
        let (outlet, mut map) = (Kept::default(), empty());
        let mut node = Node::new(&inputs, &outlet, with_network());
        for (kind, _, message) in &messages {
            inputs.take(*kind, message);
            while node.step(&mut map, &nobody()) {}
        }
        node.finish(&mut map);
        assert_eq!((node.account.mapped, node.account.late, node.account.lost()), (6, 0, 0), "{:?}", node.account.left);
        assert!(states(&map.0) == states(&offline));
        assert!(map.0.len() > 300, "{}", map.0.len());
        assert!(node.account.points[1] > node.account.points[0], "most points are outside of the picture");
        assert!(!node.account.looking.is_empty());
        node.tell_status(&map);
        let status = outlet.of(Output::Diagnostics).pop().unwrap();
        assert!(String::from_utf8_lossy(&status).contains("pictures: dropped"));
    }

    #[test]
    fn scans_without_a_picture_or_a_camera_are_left_out_with_the_reason() {
        let messages = drive(3);
        // What is left out, and what is said of it. Nobody waits for what does not come.
        let unhung = |kind: Kind| kind != Kind::FixedTransforms;
        let blind = |kind: Kind| kind != Kind::Image;
        let uncalibrated = |kind: Kind| kind != Kind::CameraInfo;
        let cases: [(&dyn Fn(Kind) -> bool, &str); 3] = [
            (&unhung, "where the camera of /camera/image_raw is on the robot is not known"),
            (&blind, "no picture of /camera/image_raw within 100 ms"),
            (&uncalibrated, "no CameraInfo of /camera/image_raw has come"),
        ];
        for (comes, why) in cases {
            let inputs = inputs(Values { wait: 0.0, ..eager() });
            let (outlet, mut map) = (Kept::default(), empty());
            let mut node = Node::new(&inputs, &outlet, with_network());
            for (kind, _, message) in messages.iter().filter(|(kind, ..)| comes(*kind)) {
                inputs.take(*kind, message);
            }
            node.finish(&mut map);
            let (count, reason) = &node.account.left[&Left::NoImage];
            assert!(*count == 3 && reason.contains(why), "{reason}");
            assert!(node.account.line().contains("3 without a picture"), "{}", node.account.line());
            assert!(map.0.is_empty());
        }
    }
}
