//! Robots that share their maps over a network that loses, doubles and reorders: everybody's map becomes the sum of all.

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use e2bki::random::Rng;
    use e2bki::{ClassSet, Config, Frame, Mapper, Pose, PrimitiveState, Semantics};
    use e2bki_live::share::{Message, Sharing};
    use e2bki_live::{LiveMap, MOST_BYTES};
    use e2bki_store::{Input, MergeOptions, merge, save_with};
    use proptest::prelude::*;

    const RATE: f64 = 1e6;

    /// Side of the cubes, and whether free space is counted.
    type Sort = (f64, bool);

    const USUAL: Sort = (0.25, true);

    fn empty((side, free_space): Sort) -> Mapper {
        let config = Config::default().with(|c| {
            c.clustering.cell_size = side;
            c.free_space.enabled = free_space;
        });
        Mapper::new(ClassSet::from_names(["ground", "tree", "car"]).unwrap(), config).unwrap()
    }

    /// The k-th scan of a robot, by 16 beams: things at different distances, some of them elsewhere in every scan.
    fn scan(map: &mut dyn LiveMap, robot: usize, k: usize) {
        let at = |i: usize| {
            let (beam, column) = (i % 16, i / 16);
            let range = 3.0 + ((column / 7 + beam / 4 + robot * 5 + k) % 7) as f32 * 0.7;
            let (azimuth, elevation) = (column as f32 * 0.0524 - 3.1, 0.26 - 0.035 * beam as f32);
            let [across, up] = [elevation.cos(), elevation.sin()];
            [range * across * azimuth.cos(), range * across * azimuth.sin(), range * up]
        };
        let points: Vec<[f32; 3]> = (0..16 * 120).map(at).collect();
        let labels: Vec<u32> = (0..points.len()).map(|i| ((i / 290 + k + robot) % 3) as u32).collect();
        let world_from_sensor = Pose::from_translation([0.4 * k as f64 + 0.9 * robot as f64, 0.1, 0.0]).unwrap();
        map.name_next_frame((100 * robot + k) as f64);
        let report = map
            .insert(&Frame { points: &points, semantics: Semantics::Labels(&labels), world_from_sensor, scan: None })
            .unwrap();
        assert!(report.free_space.is_none_or(|free| free.counted), "the scan shows a sensor");
    }

    struct Robot {
        map: (Mapper, u64),
        sharing: Sharing,
        inbox: Vec<Vec<u8>>,
        scans: usize,
    }

    impl Robot {
        fn new(name: &str, shares: bool, sort: Sort) -> Self {
            let map = empty(sort);
            let sharing = Sharing::new(name.into(), (shares, true), &map, RATE).unwrap();
            Self { map: (map, 0), sharing, inbox: Vec::new(), scans: 0 }
        }

        fn scan(&mut self, robot: usize) {
            scan(&mut self.map, robot, self.scans);
            self.scans += 1;
        }

        /// A round as the node makes it; returns what is said.
        fn round(&mut self, now: Duration) -> Vec<Vec<u8>> {
            let changes = self.map.changes();
            self.sharing.changed(&self.map.0, &changes);
            for message in std::mem::take(&mut self.inbox) {
                self.sharing.take(&mut self.map, &message, now);
            }
            self.map.changes();
            self.sharing.messages(&self.map.0, now)
        }
    }

    /// A network that does with messages what the numbers say, out of a hundred.
    struct Network {
        random: Rng,
        lost: usize,
        doubled: usize,
        delayed: usize,
        late: Vec<(usize, Vec<u8>)>,
    }

    impl Network {
        fn chance(&mut self, of_hundred: usize) -> bool {
            self.random.below(100) < of_hundred
        }

        fn carry(&mut self, robots: &mut [Option<Robot>], from: usize, messages: Vec<Vec<u8>>) {
            for message in messages {
                assert!(message.len() <= MOST_BYTES);
                for to in (0..robots.len()).filter(|to| *to != from) {
                    let copies = 1 + usize::from(self.chance(self.doubled));
                    for _ in 0..copies {
                        if self.chance(self.lost) {
                            continue;
                        }
                        if self.chance(self.delayed) {
                            self.late.push((to, message.clone()));
                        } else if let Some(robot) = &mut robots[to] {
                            robot.inbox.push(message.clone());
                        }
                    }
                }
            }
            // Some of what was held up comes now, in any order.
            for _ in 0..self.late.len() / 2 {
                let (to, message) = self.late.swap_remove(self.random.below(self.late.len()));
                if let Some(robot) = &mut robots[to] {
                    robot.inbox.push(message);
                }
            }
        }
    }

    fn round(robots: &mut [Option<Robot>], network: &mut Network, now: Duration) {
        for from in 0..robots.len() {
            if let Some(robot) = &mut robots[from] {
                let said = robot.round(now);
                network.carry(robots, from, said);
            }
        }
    }

    fn states(map: &Mapper) -> Vec<PrimitiveState> {
        map.states().collect()
    }

    fn assert_same(a: &Mapper, b: &Mapper) {
        assert_eq!(a.frames(), b.frames());
        assert!(states(a) == states(b), "{} primitives and {}", a.len(), b.len());
        assert!(a.live_voxels().eq(b.live_voxels()));
        let counts = |map: &Mapper| map.free_space().map(|counters| counters.to_bytes());
        assert!(counts(a) == counts(b), "other counts of free space");
        assert!(a.primitives().map(|p| p.is_gone()).eq(b.primitives().map(|p| p.is_gone())));
    }

    /// The map of all scans, as one mapper makes it.
    fn together(sort: Sort, scans: &[(usize, usize)]) -> Mapper {
        let mut all = (empty(sort), 0);
        for (robot, count) in scans {
            (0..*count).for_each(|k| scan(&mut all, *robot, k));
        }
        all.0
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn whatever_the_network_does_everybody_gets_the_sum(
            seed in any::<u64>(),
            (lost, doubled, delayed) in (0_usize..70, 0_usize..40, 0_usize..40),
            counts in prop::collection::vec(0_usize..5, 2..4),
            sort in prop::sample::select(vec![(0.25, true), (0.3, true), (0.3, false)]),
            (late, leaves) in (0_usize..6, any::<bool>()),
        ) {
            let mut network = Network { random: Rng::new(seed), lost, doubled, delayed, late: Vec::new() };
            // The last one only listens, and comes late.
            let mut robots: Vec<Option<Robot>> =
                (0..counts.len()).map(|i| Some(Robot::new(&format!("robot-{i}"), true, sort))).collect();
            robots.push(None);
            let mut now = Duration::ZERO;
            for k in 0..6 {
                for (i, count) in counts.iter().enumerate() {
                    if k < *count && let Some(robot) = &mut robots[i] {
                        robot.scan(i);
                    }
                }
                if k == late {
                    *robots.last_mut().unwrap() = Some(Robot::new("station", false, sort));
                }
                now += Duration::from_millis(500);
                round(&mut robots, &mut network, now);
            }
            // A quiet network from now on. Who leaves has told somebody all of it.
            (network.lost, network.doubled, network.delayed) = (0, 0, 0);
            for k in 0..60 {
                now += Duration::from_millis(500);
                round(&mut robots, &mut network, now);
                if k == 25 && leaves {
                    robots[0] = None;
                    *robots.last_mut().unwrap() = Some(Robot::new("another-station", false, sort));
                }
            }
            let scans: Vec<(usize, usize)> = counts.iter().copied().enumerate().collect();
            let expected = together(sort, &scans);
            for robot in robots.iter().flatten() {
                assert_same(&robot.map.0, &expected);
                prop_assert!(robot.sharing.exchange().complete() && robot.sharing.told_all());
                prop_assert_eq!((robot.sharing.traffic.refused, robot.sharing.traffic.failed), (0, 0));
            }
        }
    }

    #[test]
    fn the_file_of_a_shared_map_is_that_of_merge() {
        let folder = tempfile::tempdir().unwrap();
        let mut robots = [Some(Robot::new("a", true, USUAL)), Some(Robot::new("b", true, USUAL))];
        let mut network = Network { random: Rng::new(1), lost: 0, doubled: 0, delayed: 0, late: Vec::new() };
        let mut now = Duration::ZERO;
        for k in 0..10 {
            for i in 0..2 {
                if k < 4 + i {
                    robots[i].as_mut().unwrap().scan(i);
                }
            }
            now += Duration::from_secs(1);
            round(&mut robots, &mut network, now);
        }
        let mut inputs = Vec::new();
        for (i, name) in ["a", "b"].into_iter().enumerate() {
            let path = folder.path().join(format!("{name}.e2bki"));
            save_with(&together(USUAL, &[(i, 4 + i)]), &[name.to_string()], &path).unwrap();
            inputs.push(Input { path, world_from_map: Pose::IDENTITY });
        }
        let merged = folder.path().join("merged.e2bki");
        merge(&inputs, &MergeOptions::default(), &merged).unwrap();
        for robot in robots.iter().flatten() {
            let path = folder.path().join("shared.e2bki");
            save_with(&robot.map.0, &["a".to_string(), "b".to_string()], &path).unwrap();
            assert!(std::fs::read(&path).unwrap() == std::fs::read(&merged).unwrap(), "the files differ");
        }
    }

    #[test]
    fn a_map_that_is_emptied_is_withdrawn_everywhere() {
        let mut robots = [Some(Robot::new("a", true, USUAL)), Some(Robot::new("b", true, USUAL))];
        let mut network = Network { random: Rng::new(1), lost: 0, doubled: 0, delayed: 0, late: Vec::new() };
        let mut now = Duration::ZERO;
        for k in 0..12 {
            if k < 3 {
                (0..2).for_each(|i| robots[i].as_mut().unwrap().scan(i));
            }
            if k == 6 {
                let a = robots[0].as_mut().unwrap();
                a.map.reset().unwrap();
                a.sharing.emptied(&mut a.map).unwrap();
            }
            now += Duration::from_secs(1);
            round(&mut robots, &mut network, now);
        }
        let expected = together(USUAL, &[(1, 3)]);
        robots.iter().flatten().for_each(|robot| assert_same(&robot.map.0, &expected));
    }

    #[test]
    fn no_more_is_said_per_second_than_is_allowed() {
        // Regions of free space are larger than those of primitives.
        for (allowed, free_space) in [(20_000.0, false), (60_000.0, true)] {
            no_more_than(allowed, free_space);
        }
    }

    fn no_more_than(allowed: f64, free_space: bool) {
        let mut map = (empty((0.25, free_space)), 0);
        let mut sharing = Sharing::new("a".into(), (true, false), &map.0, allowed).unwrap();
        let (mut said, mut waited) = (0, false);
        for k in 0..60 {
            if k < 20 {
                scan(&mut map, 0, k);
            }
            let changes = map.changes();
            sharing.changed(&map.0, &changes);
            let messages = sharing.messages(&map.0, Duration::from_secs(k as u64));
            said += messages.iter().map(Vec::len).sum::<usize>();
            waited |= !sharing.told_all();
            // What may be saved up, and a message more.
            assert!(said as f64 <= allowed * (k as f64 + 4.0), "{said} bytes after {k} s");
        }
        assert_eq!(said as u64, sharing.traffic.sent_bytes);
        assert!(waited && sharing.told_all(), "{said} bytes");
    }

    #[test]
    fn maps_of_another_kind_are_left_out_and_the_difference_is_named() {
        let (mut ours, mut theirs) = (Robot::new("a", true, USUAL), Robot::new("b", true, (0.5, true)));
        theirs.scan(0);
        for s in 1..4 {
            ours.inbox = theirs.round(Duration::from_secs(s));
            ours.round(Duration::from_secs(s));
        }
        assert!(ours.map.0.is_empty() && ours.sharing.traffic.refused > 0);
        let notes = ours.sharing.notes();
        assert!(notes.iter().any(|n| n.contains("b is left out") && n.contains("cell_size = 0.5")), "{notes:?}");
        let paper = Mapper::new(ours.map.0.classes().clone(), Config::preset("paper-rellis").unwrap()).unwrap();
        assert!(Sharing::new("c".into(), (true, true), &paper, RATE).unwrap_err().to_string().contains("sum"));
    }

    proptest! {
        /// Changed bytes are refused, or change nothing but what a robot could have said; they never break a map.
        #[test]
        fn damaged_messages_never_break_a_map(place in any::<prop::sample::Index>(), bit in 0_u8..8, cut in any::<bool>()) {
            let (mut from, mut to) = (Robot::new("a", true, USUAL), Robot::new("b", true, USUAL));
            from.scan(0);
            for mut message in from.round(Duration::from_secs(1)) {
                let at = place.index(message.len());
                if cut { message.truncate(at) } else { message[at] ^= 1 << bit }
                if let Ok(read) = Message::decode(&message) {
                    prop_assert_eq!(Message::decode(&read.encode()).unwrap(), read);
                }
                to.inbox.push(message);
            }
            to.scan(1);
            to.round(Duration::from_secs(1));
            let left = states(&to.map.0);
            prop_assert!(left.iter().all(|state| state.check(3, u64::MAX).is_ok()));
        }
    }

    /// E2BKI_WIRE=drive.mcap cargo test --package e2bki-live --test share -- --ignored --nocapture
    #[test]
    #[ignore = "a measurement of a recording that E2BKI_WIRE names, 10 scans a second"]
    fn what_sharing_costs() {
        use e2bki_data::{ClassTable, Dataset, OpenOptions};
        let path = std::env::var("E2BKI_WIRE").unwrap();
        let classes = ClassTable::open(std::env::var("E2BKI_CLASSES").as_deref().unwrap_or("urban11")).unwrap();
        let options = OpenOptions { classes: Some(classes.clone()), ..OpenOptions::default() };
        let dataset = Dataset::open(std::path::Path::new(&path), &options).unwrap();
        for mbit in [1.0, 2.0, 4.0, 8.0, 1000.0] {
            let new = || (Mapper::new(classes.classes().clone(), Config::default()).unwrap(), 0_u64);
            let (mut map, mut other) = (new(), new());
            let mut sharing = Sharing::new("a".into(), (true, false), &map.0, mbit * 1e6 / 8.0).unwrap();
            let mut hearing = Sharing::new("b".into(), (false, true), &other.0, 1e6).unwrap();
            let (mut seconds, mut behind) = (0, Vec::new());
            let (mut used, mut heard) = (Duration::ZERO, Duration::ZERO);
            for index in 0..dataset.len() {
                map.insert(&dataset.load(index).unwrap().frame()).unwrap();
                if index % 10 == 9 {
                    seconds += 1;
                    let changes = map.changes();
                    let begun = std::time::Instant::now();
                    sharing.changed(&map.0, &changes);
                    let said = sharing.messages(&map.0, Duration::from_secs(seconds));
                    used += begun.elapsed();
                    let begun = std::time::Instant::now();
                    said.iter().for_each(|message| hearing.take(&mut other, message, Duration::from_secs(seconds)));
                    heard += begun.elapsed();
                    behind.push(1.0 - other.0.len() as f64 / map.0.len() as f64);
                }
            }
            let driven = sharing.traffic.sent_bytes as f64 * 8e-6 / seconds as f64;
            sharing.hurry();
            let last = sharing.messages(&map.0, Duration::from_secs(seconds + 1));
            last.iter().for_each(|message| hearing.take(&mut other, message, Duration::from_secs(seconds + 1)));
            let same = states(&map.0) == states(&other.0);
            let mean = behind.iter().sum::<f64>() / behind.len() as f64;
            println!(
                "{mbit} Mbit/s allowed: {driven:.2} sent on average over {seconds} s; primitives not told yet: {:.1} % on average, {:.1} % at \
                 the end; then the same map: {same}; {} primitives, {:.1} bytes each in all; {:.0} ms a second to say, {:.0} to hear",
                100.0 * mean,
                100.0 * behind.last().unwrap_or(&0.0),
                map.0.len(),
                sharing.exchange().byte_size() as f64 / map.0.len() as f64,
                used.as_secs_f64() * 1e3 / seconds as f64,
                heard.as_secs_f64() * 1e3 / seconds as f64,
            );
            assert!(same);
        }
    }
}
