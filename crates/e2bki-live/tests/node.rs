//! A node without a network: messages in, messages out, and the same map as from a recording of the messages.

#[cfg(test)]
mod common;

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::mpsc::sync_channel;

    use e2bki_bag::compose;
    use e2bki_bag::messages::{Cloud, Number};
    use e2bki_bag::wire::{Reader, Wire};
    use e2bki_live::{
        Clock, Command, Inputs, Kind, Left, LiveMap, MOST_BYTES, Node, Output, PoseSource, Request, Values,
    };

    use crate::common::{Kept, S, START, cloud, drive, eager, empty, nobody, options, recorded, states, tf};

    #[test]
    fn the_map_is_that_of_a_recording_of_the_same_messages() {
        let messages = drive(12);
        let folder = tempfile::tempdir().unwrap();
        let offline = recorded(&messages, &folder.path().join("drive.mcap"));
        let inputs = Inputs::new(PoseSource::Tf("map".into()), 10, Clock::new(false)).with(eager());
        let (outlet, mut map) = (Kept::default(), empty());
        let mut node = Node::new(&inputs, &outlet, options());
        for (kind, _, message) in &messages {
            inputs.take(*kind, message);
            while node.step(&mut map, &nobody()) {}
        }
        node.finish(&mut map);
        assert_eq!((node.account.mapped, node.account.late, node.account.lost()), (12, 0, 0));
        assert!(states(&map.0) == states(&offline));
        assert!(map.0.len() > 1000);

        // Who heard all updates knows the voxels, and so does who joins at the end.
        let heard = |messages: Vec<Vec<u8>>| {
            let mut known = BTreeMap::new();
            for message in &messages {
                assert!(message.len() <= MOST_BYTES);
                let cloud = Cloud::read(Wire::Cdr, message).unwrap();
                let [x, y, z, class, p] = ["x", "y", "z", "class", "p"]
                    .map(|name| cloud.column(cloud.field(&[name]).unwrap()).collect::<Vec<_>>());
                for i in 0..cloud.len() {
                    let place = [x[i], y[i], z[i]].map(|v| (v as f32).to_bits());
                    if class[i] == 65535.0 {
                        known.remove(&place);
                    } else {
                        known.insert(place, (class[i] as usize, p[i] as f32));
                    }
                }
            }
            known
        };
        let voxels = offline.voxels(0.2).unwrap();
        let expected: BTreeMap<_, _> = (voxels.centers.iter().zip(voxels.beliefs.iter()))
            .map(|(center, belief)| {
                (center.map(|v| (v as f32).to_bits()), (belief.label().unwrap(), belief.confidence() as f32))
            })
            .collect();
        let updates = heard(outlet.of(Output::Updates));
        assert_eq!(updates.len(), expected.len());
        let close = |(place, (class, p)): (&[u32; 3], &(usize, f32))| {
            let (expected_class, expected_p) = expected[place];
            *class == expected_class && (p - expected_p).abs() < 1e-3
        };
        assert!(updates.iter().all(close));
        // Of pictures of the whole only the last counts: voxels may have gone since.
        let stamp = |message: &Vec<u8>| Cloud::read(Wire::Cdr, message).unwrap().header.stamp;
        let mut whole = outlet.of(Output::Voxels);
        let last = stamp(whole.last().unwrap());
        whole.retain(|message| stamp(message) == last);
        assert!(heard(whole) == updates);

        // The grid from above has the costs of the map's own view in its middle.
        let grids = outlet.of(Output::Occupancy);
        let mut grid = Reader::new(Wire::Cdr, grids.last().unwrap()).unwrap();
        grid.i32().unwrap();
        grid.u32().unwrap();
        assert_eq!(grid.text().unwrap(), "map");
        assert_eq!(outlet.of(Output::LabelInfo).len(), 1);
    }

    #[test]
    fn scans_that_wait_are_made_ready_ahead_and_none_is_lost() {
        let messages = drive(12);
        let folder = tempfile::tempdir().unwrap();
        let offline = recorded(&messages, &folder.path().join("drive.mcap"));
        let inputs = || {
            let inputs = Inputs::new(PoseSource::Tf("map".into()), 100, Clock::new(false)).with(eager());
            messages.iter().for_each(|(kind, _, message)| inputs.take(*kind, message));
            inputs
        };
        let (all, outlet, mut map) = (inputs(), Kept::default(), empty());
        let mut node = Node::new(&all, &outlet, options());
        while node.step(&mut map, &nobody()) {}
        node.finish(&mut map);
        assert_eq!((node.account.mapped, node.account.late, node.account.lost()), (12, 0, 0));
        assert!(states(&map.0) == states(&offline));

        // Stopped while one is on its way: it is in the map at the end.
        let (all, mut map) = (inputs(), empty());
        let mut node = Node::new(&all, &outlet, options());
        assert!(node.step(&mut map, &nobody()));
        assert_eq!((node.account.mapped, all.scans.len()), (1, 10));
        node.finish(&mut map);
        assert!(node.account.mapped == 12 && states(&map.0) == states(&offline));

        // Emptied while one is on its way: that one goes with the rest.
        let (all, mut map) = (inputs(), empty());
        let mut node = Node::new(&all, &outlet, options());
        assert!(node.step(&mut map, &nobody()));
        let (requests, asked) = sync_channel(1);
        requests.send(Request { command: Command::Reset, answer: sync_channel(1).0 }).unwrap();
        assert!(node.step(&mut map, &asked));
        assert!(map.0.is_empty() && map.0.frames() == 0 && node.account.mapped == 3);
        node.finish(&mut map);
        assert_eq!((node.account.mapped, map.0.frames()), (12, 9));
    }

    #[test]
    fn scans_without_pose_or_labels_are_left_out_with_a_reason_and_late_transforms_are_counted() {
        let inputs =
            Inputs::new(PoseSource::Tf("map".into()), 3, Clock::new(false)).with(Values { wait: 0.0, ..eager() });
        let (outlet, mut map) = (Kept::default(), empty());
        let mut node = Node::new(&inputs, &outlet, options());
        inputs.take(Kind::Cloud, &cloud(0, START));
        assert!(node.step(&mut map, &nobody()));
        let (count, reason) = &node.account.left[&Left::NoPose];
        assert!(*count == 1 && reason.contains("`map`"), "{reason}");
        // A transform up to a tenth of a second before is taken where none comes after it.
        inputs.take(Kind::FixedTransforms, &tf(START, "base", "lidar", 0.3, 0.1));
        inputs.take(Kind::Transforms, &tf(START, "map", "base", 0.3, 0.1));
        inputs.take(Kind::Cloud, &cloud(0, START + S / 20));
        assert!(node.step(&mut map, &nobody()));
        assert_eq!((node.account.mapped, node.account.late), (1, 2));
        let bare = compose::cloud(START, "lidar", &["x", "y", "z"].map(|n| (n, Number::F32)), 1, &[0; 12]);
        inputs.take(Kind::Cloud, &bare);
        assert!(node.step(&mut map, &nobody()));
        assert_eq!(node.account.left[&Left::NoLabels].0, 1);
        // More scans than may wait.
        for k in 0..5 {
            inputs.take(Kind::Cloud, &cloud(k, START));
        }
        node.finish(&mut map);
        assert_eq!((node.account.received, node.account.dropped, node.account.mapped), (8, 2, 4));
        node.tell_status(&map);
        assert_eq!(outlet.of(Output::Diagnostics).len(), 1);
    }

    #[test]
    fn a_busy_network_puts_updates_off_and_loses_nothing() {
        let inputs = Inputs::new(PoseSource::Tf("map".into()), 10, Clock::new(false)).with(eager());
        let (busy, free, mut map) = (Kept { busy: 100, ..Kept::default() }, Kept::default(), empty());
        inputs.take(Kind::Transforms, &tf(START, "map", "lidar", 0.0, 0.0));
        inputs.take(Kind::Transforms, &tf(START + S, "map", "lidar", 0.0, 0.0));
        inputs.take(Kind::Cloud, &cloud(0, START));
        let mut node = Node::new(&inputs, &busy, options());
        assert!(node.step(&mut map, &nobody()));
        assert_eq!((node.account.postponed, busy.of(Output::Updates).len()), (1, 0));
        let changes = map.changes();
        assert!(!changes.is_empty() && map.changes().is_empty());
        // Asked to: an empty map, and late joiners learn of nothing that was.
        let mut node = Node::new(&inputs, &free, options());
        inputs.take(Kind::Cloud, &cloud(1, START));
        assert!(node.step(&mut map, &nobody()));
        assert!(!free.of(Output::Updates).is_empty());
        let (requests, asked) = sync_channel(2);
        let (answer, answers) = sync_channel(2);
        for command in [Command::Reset, Command::Save] {
            requests.send(Request { command, answer: answer.clone() }).unwrap();
        }
        node.step(&mut map, &asked);
        assert_eq!(answers.recv().unwrap(), (true, "the map is empty".into()));
        assert!(!answers.recv().unwrap().0, "there is no file");
        assert!(map.0.is_empty());
        assert_eq!(Cloud::read(Wire::Cdr, free.of(Output::Voxels).last().unwrap()).unwrap().len(), 0);
    }

    #[test]
    fn points_that_somebody_asks_about_are_answered_and_a_region_is_shown_where_it_is_said() {
        let inputs = Inputs::new(PoseSource::Tf("map".into()), 10, Clock::new(false)).with(eager());
        let (outlet, mut map) = (Kept::default(), empty());
        inputs.parameters.set("region", &e2bki_live::Value::Numbers(vec![-4.0, -2.0, 6.0, 2.0])).unwrap();
        let mut node = Node::new(&inputs, &outlet, options());
        for (kind, _, message) in drive(3) {
            inputs.take(kind, &message);
        }
        while node.step(&mut map, &nobody()) {}
        // In the sensor's frame at the time of the first scan, in the map's, and in one that nobody knows.
        let place = map.0.primitives().next().unwrap().mean();
        let fields = [("x", Number::F32), ("y", Number::F32), ("z", Number::F32)];
        let data: Vec<u8> = place.iter().flat_map(|v| (*v as f32).to_le_bytes()).collect();
        for frame in ["map", "lidar", "moon"] {
            inputs.take(Kind::Questions, &compose::cloud(START + 7_000_000, frame, &fields, 1, &data));
        }
        node.step(&mut map, &nobody());
        let answers = outlet.of(Output::Answers);
        let clouds: Vec<Cloud<'_>> = answers.iter().map(|m| Cloud::read(Wire::Cdr, m).unwrap()).collect();
        assert_eq!(clouds.iter().map(|cloud| cloud.header.frame).collect::<Vec<_>>(), ["map", "lidar"]);
        let class = clouds[0].column(clouds[0].field(&["class"]).unwrap()).next().unwrap();
        let here = map.0.query(&[place.map(|v| f64::from(v as f32))]);
        assert_eq!(Some(class as usize), here.iter().next().unwrap().label());
        assert_eq!(node.account.unanswered, 1);
        // The grid is that of the region, 10 m by 4 m.
        let grids = outlet.of(Output::Occupancy);
        let mut fields = Reader::new(Wire::Cdr, grids.last().unwrap()).unwrap();
        for _ in 0..2 {
            fields.u32().unwrap();
        }
        fields.text().unwrap();
        let (_, _, side) = (fields.u32().unwrap(), fields.u32().unwrap(), f32::from_bits(fields.u32().unwrap()));
        let size = [fields.u32().unwrap(), fields.u32().unwrap()].map(|n| (n as f32 * side).round());
        assert_eq!(size, [10.0, 4.0]);
    }

    #[test]
    fn two_nodes_that_share_have_the_map_of_both() {
        let side = |name: &str| {
            let inputs = Inputs::new(PoseSource::Tf("map".into()), 10, Clock::new(false)).with(eager());
            let map = empty();
            let sharing = e2bki_live::Sharing::new(name.into(), (true, true), &map.0, 1e9).unwrap();
            (inputs, Kept::default(), map, sharing)
        };
        let (inputs_a, outlet_a, mut map_a, sharing_a) = side("a");
        let (inputs_b, outlet_b, mut map_b, sharing_b) = side("b");
        let (mut a, mut b) = (Node::new(&inputs_a, &outlet_a, options()), Node::new(&inputs_b, &outlet_b, options()));
        a.share(sharing_a);
        b.share(sharing_b);
        let messages = drive(6);
        for (number, (kind, _, message)) in messages.iter().enumerate() {
            // One robot sees the first half of the drive, the other the second.
            let half = if *kind == Kind::Cloud { Some(number < messages.len() / 2) } else { None };
            for (inputs, takes) in [(&inputs_a, half != Some(false)), (&inputs_b, half != Some(true))] {
                if takes {
                    inputs.take(*kind, message);
                }
            }
        }
        let mut told = [0, 0];
        for _ in 0..6 {
            while a.step(&mut map_a, &nobody()) | b.step(&mut map_b, &nobody()) {}
            for (number, (from, to)) in [(&outlet_a, &inputs_b), (&outlet_b, &inputs_a)].into_iter().enumerate() {
                let sent = from.of(Output::Shared);
                sent[told[number]..].iter().for_each(|message| to.take(Kind::Shared, message));
                told[number] = sent.len();
            }
        }
        a.finish(&mut map_a);
        b.finish(&mut map_b);
        let folder = tempfile::tempdir().unwrap();
        let whole = recorded(&messages, &folder.path().join("drive.mcap"));
        assert_eq!(states(&map_a.0), states(&whole));
        assert_eq!(states(&map_b.0), states(&whole));
        assert_eq!((map_a.0.frames(), map_b.0.frames()), (6, 6));
        assert!(a.part(&mut map_a) || a.sharing().is_some_and(|sharing| sharing.traffic.failed == 0));
    }

    #[test]
    fn the_whole_map_is_told_with_the_first_update_and_to_whoever_joins() {
        let values = Values { whole_every: 1e6, ..eager() };
        let inputs = Inputs::new(PoseSource::Tf("map".into()), 10, Clock::new(false)).with(values);
        let (outlet, mut map) = (Kept::default(), empty());
        let mut node = Node::new(&inputs, &outlet, options());
        let voxels = |from: usize| -> usize {
            let told = outlet.of(Output::Voxels);
            told[from..].iter().map(|message| Cloud::read(Wire::Cdr, message).unwrap().len()).sum()
        };
        let mut first = None;
        for (kind, _, message) in drive(5) {
            inputs.take(kind, &message);
            while node.step(&mut map, &nobody()) {}
            if first.is_none() && node.account.mapped == 1 {
                first = Some((outlet.of(Output::Voxels).len(), map.0.live_voxel_count()));
            }
        }
        let (messages, count) = first.unwrap();
        assert!(voxels(0) == count && count > 100, "with the first scan, long before the next is due");
        assert!(map.0.live_voxel_count() > count && outlet.of(Output::Voxels).len() == messages);
        // Who joins gets what has changed since, too, once.
        inputs.join();
        for _ in 0..3 {
            node.step(&mut map, &nobody());
            assert_eq!(voxels(messages), map.0.live_voxel_count());
        }
    }

    #[test]
    fn a_station_that_only_listens_gives_every_picture_a_time_of_its_own() {
        let robot = Inputs::new(PoseSource::Tf("map".into()), 20, Clock::new(false)).with(eager());
        let listening = Inputs::new(PoseSource::Tf("map".into()), 20, Clock::new(true)).with(eager());
        let (told, shown) = (Kept::default(), Kept::default());
        let (mut map, mut other) = (empty(), empty());
        let mut node = Node::new(&robot, &told, options());
        node.share(e2bki_live::Sharing::new("a".into(), (true, false), &map.0, 1e9).unwrap());
        let mut station = Node::new(&listening, &shown, options());
        station.share(e2bki_live::Sharing::new("s".into(), (false, true), &other.0, 1e9).unwrap());
        let mut sent = 0;
        for (number, (kind, _, message)) in drive(4).into_iter().enumerate() {
            robot.take(kind, &message);
            while node.step(&mut map, &nobody()) {}
            listening.clock.tell(START + number as u64 * S);
            let shared = told.of(Output::Shared);
            shared[sent..].iter().for_each(|message| listening.take(Kind::Shared, message));
            sent = shared.len();
            station.step(&mut other, &nobody());
        }
        assert_eq!(other.0.live_voxel_count(), map.0.live_voxel_count());
        let (mut last, mut pictures) = (0, BTreeMap::<u64, usize>::new());
        for message in shown.of(Output::Voxels) {
            let cloud = Cloud::read(Wire::Cdr, &message).unwrap();
            assert!(cloud.header.stamp >= last);
            last = cloud.header.stamp;
            *pictures.entry(last).or_default() += cloud.len();
        }
        assert!(pictures.len() >= 2, "{pictures:?}");
        assert_eq!(pictures.last_key_value().map(|(_, voxels)| *voxels), Some(other.0.live_voxel_count()));
    }
}
