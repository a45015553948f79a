//! Real recordings, where they are at hand: what is known of them is found again.

#[cfg(test)]
mod tests {
    use e2bki_bag::messages::{Cloud, odometry, transforms};
    use e2bki_bag::{Bag, Transforms};

    fn topic(bag: &Bag, name: &str) -> usize {
        bag.topics().iter().position(|topic| topic.name == name).unwrap_or_else(|| panic!("{:?}", bag.topics()))
    }

    #[test]
    fn whole_recordings_are_not_called_damaged() {
        let Some(root) = e2bki_testdata::real("bags") else { return };
        for name in ["os1_128_n3", "sick_ros2_mcap", "nav2_turtlebot.mcap", "rms_1xxx_lms_1xx_movement_off.bag"] {
            let bag = Bag::open(root.join(name)).unwrap();
            assert!(
                !bag.notes().iter().any(|note| note.contains("damaged") || note.contains("announces")),
                "{:?}",
                bag.notes()
            );
        }
    }

    #[test]
    fn three_scans_of_an_ouster_with_poses() {
        let Some(root) = e2bki_testdata::real("bags/os1_128_n3") else { return };
        let bag = Bag::open(&root).unwrap();
        let mut tree = Transforms::new(0.05);
        for name in ["/tf", "/tf_static"] {
            for entry in bag.of_topic(topic(&bag, name)) {
                let (all, wrong) = transforms(bag.wire(entry), &bag.read(entry).unwrap()).unwrap();
                assert_eq!(wrong, 0);
                all.into_iter().for_each(|transform| tree.add(transform, name == "/tf_static"));
            }
        }
        let clouds: Vec<_> = bag.of_topic(topic(&bag, "/ouster/points")).collect();
        assert_eq!(clouds.len(), 3);
        for entry in clouds {
            let data = bag.read(entry).unwrap();
            let cloud = Cloud::read(bag.wire(entry), &data).unwrap();
            assert_eq!(cloud.len(), 128 * 1024);
            let fields = cloud.decode().unwrap();
            let returns = fields.points.iter().filter(|p| p.iter().all(|v| v.is_finite()) && **p != [0.0; 3]).count();
            assert!((105_000..110_000).contains(&returns), "{returns}");
            let frame = cloud.header.frame;
            assert!(tree.look_up(tree.root_of(frame), frame, cloud.header.stamp).is_ok(), "{:?}", tree.frames());
        }
    }

    #[test]
    fn a_ros1_bag_and_its_conversion_hold_the_same_clouds() {
        let Some(root) = e2bki_testdata::real("bags") else { return };
        let old = Bag::open(root.join("rms_1xxx_lms_1xx_movement_off.bag")).unwrap();
        let new = Bag::open(root.join("sick_ros2_mcap")).unwrap();
        let clouds = |bag: &Bag| -> Vec<(u64, Vec<[u32; 3]>)> {
            let of_clouds = |topic: usize| bag.topics()[topic].kind == "sensor_msgs/msg/PointCloud2";
            let read = |entry: &e2bki_bag::Entry| {
                let data = bag.read(entry).unwrap();
                let cloud = Cloud::read(bag.wire(entry), &data).unwrap();
                (cloud.header.stamp, cloud.decode().unwrap().points.iter().map(|p| p.map(f32::to_bits)).collect())
            };
            let mut all: Vec<_> = bag.entries().iter().filter(|entry| of_clouds(entry.topic)).map(read).collect();
            all.sort();
            all
        };
        let (old, new) = (clouds(&old), clouds(&new));
        assert_eq!(old.len(), 336);
        assert_eq!(old, new);
    }

    #[test]
    fn odometry_of_a_turtlebot() {
        let Some(root) = e2bki_testdata::real("bags") else { return };
        let bag = Bag::open(root.join("nav2_turtlebot.mcap")).unwrap();
        let odom = bag.topics().iter().position(|topic| topic.kind == "nav_msgs/msg/Odometry").unwrap();
        assert_eq!(bag.topics()[odom].count, 2639);
        for entry in bag.of_topic(odom) {
            odometry(bag.wire(entry), &bag.read(entry).unwrap()).unwrap();
        }
        let kinds = |kind: &str| bag.topics().iter().filter(|t| t.kind == kind).map(|t| t.count).sum::<usize>();
        assert_eq!(kinds("tf2_msgs/msg/TFMessage"), 5422 + 1);
    }

    #[cfg(feature = "db3")]
    #[test]
    fn transforms_in_sqlite() {
        let Some(root) = e2bki_testdata::real("bags") else { return };
        let bag = Bag::open(root.join("tf_example/tf_example.db3")).unwrap();
        let count: usize = bag
            .entries()
            .iter()
            .filter(|entry| bag.topics()[entry.topic].kind == "tf2_msgs/msg/TFMessage")
            .map(|entry| transforms(bag.wire(entry), &bag.read(entry).unwrap()).unwrap().0.len())
            .sum();
        assert!(count > 100, "{count}");
    }
}
