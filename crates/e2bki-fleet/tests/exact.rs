//! The same bytes whatever machine mapped a run and however much of it is there, and sums that are exact or refused.

#[cfg(test)]
mod drives;

#[cfg(test)]
mod tests {
    use std::path::Path;

    use e2bki::{Frame, Mapper, Pose, PrimitiveState, Semantics};
    use e2bki_fleet::{Fleet, Manifest, add, commit, plan, reduce_all, status};
    use e2bki_store::RollingMapper;

    use crate::drives::{
        Trial, alone, classes, config, drive, empty, exported, look, looking, name, trial, trial_with,
    };

    #[test]
    fn threads_and_memory_change_no_byte() {
        let folder = tempfile::tempdir().unwrap();
        let path = |what: &str, run| folder.path().join(format!("{what}-{run}.e2bki"));
        let whole = alone(&[0, 1, 2, 3], folder.path());
        let mut keys = Vec::new();
        for threads in [1, 2] {
            let Trial { folder: own, fleet } = &trial();
            let config = config().with(|c| c.run.threads = threads);
            for run in 0..4 {
                let mut map = Mapper::new(classes(), config.clone()).unwrap();
                drive(run, |frame| drop(map.insert(frame).unwrap()));
                e2bki_store::save_with(&map, &[name(run)], path("threads", run)).unwrap();
                keys.push(add(fleet, &name(run), &path("threads", run), None).unwrap().key);
            }
            commit(fleet, &[]).unwrap();
            assert!(exported(fleet, own.path()) == whole, "{threads} threads");
        }
        // The smaller budget holds a tile and little more: the others wait on the disk.
        for budget in [250_000, 50_000_000] {
            let Trial { folder: own, fleet } = &trial();
            for run in 0..4 {
                let aside = own.path().join(format!("aside-{run}"));
                let mut map = RollingMapper::create(classes(), config(), aside, budget).unwrap();
                drive(run, |frame| drop(map.insert(frame).unwrap()));
                let waits = map.len() - map.resident().len() as u64;
                assert_eq!(waits > 0, budget < 1_000_000, "{waits} primitives are on the disk with {budget} bytes");
                map.save_as(&[name(run)], path("memory", run)).unwrap();
                keys.push(add(fleet, &name(run), &path("memory", run), None).unwrap().key);
            }
            commit(fleet, &[]).unwrap();
            assert!(exported(fleet, own.path()) == whole, "{budget} bytes");
        }
        assert!(keys.chunks(4).all(|same| same == &keys[..4]), "{keys:?}");
    }

    /// A run in which the robot stood still for as many equal frames, as a file.
    fn parked(count: i64, run: u64, folder: &Path) -> std::path::PathBuf {
        let mut once = empty();
        let points: Vec<[f32; 3]> = (0..50).map(|i| [4.0 + 0.001 * i as f32, 0.1, 0.1]).collect();
        let frame = Frame {
            points: &points,
            semantics: Semantics::Labels(&[0; 50]),
            world_from_sensor: Pose::IDENTITY,
            scan: None,
        };
        once.insert(&frame).unwrap();
        let times = |mut state: PrimitiveState| {
            state.sums.weight *= count as f64;
            state.sums.range *= count as f64;
            state.sums.first = state.sums.first.map(|v| v * count as f64);
            state.sums.second = state.sums.second.map(|v| v.checked_mul(count).unwrap());
            state.log_evidence.iter_mut().for_each(|v| *v = v.checked_mul(count).unwrap());
            state
        };
        let states: Vec<PrimitiveState> = once.states().map(times).collect();
        let map = Mapper::restore(classes(), config(), count as u64, once.next_id(), states).unwrap();
        let path = folder.join(format!("parked-{run}.e2bki"));
        e2bki_store::save_with(&map, &[name(run)], &path).unwrap();
        path
    }

    fn log_evidence(fleet: &Fleet, folder: &Path) -> i64 {
        exported(fleet, folder);
        let map = e2bki_store::load(folder.join("exported.e2bki")).unwrap();
        map.states().flat_map(|state| state.log_evidence).max().unwrap()
    }

    #[test]
    fn beyond_what_a_float_tells_apart_sums_are_exact_and_beyond_64_bits_they_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let counts = [400_001, 1, 399_998, 3];
        let mut bytes = Vec::new();
        for order in [[0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2]] {
            let Trial { folder: own, fleet } = &trial();
            for (at, run) in order.into_iter().enumerate() {
                add(fleet, &name(run), &parked(counts[run as usize], run, own.path()), None).unwrap();
                if at % 2 == 1 {
                    commit(fleet, &[]).unwrap();
                }
            }
            let sum = log_evidence(fleet, own.path());
            let one = log_evidence_of_one(folder.path());
            assert!(sum > 1 << 53 && sum == one * counts.iter().sum::<i64>(), "{sum}");
            bytes.push(exported(fleet, own.path()));
        }
        assert!(bytes[0] == bytes[1] && bytes[0] == bytes[2]);

        // As much as a cube can hold, and then one frame more.
        let Trial { folder: own, fleet } = &trial();
        let most = ((1_i64 << 31) / 50).min((1_i64 << 62) / log_evidence_of_one(folder.path()));
        add(fleet, "full", &parked(most, 0, own.path()), None).unwrap();
        commit(fleet, &[]).unwrap();
        let before = exported(fleet, own.path());
        add(fleet, "more", &parked(1, 1, own.path()), None).unwrap();
        let refused = commit(fleet, &[]).unwrap_err().to_string();
        assert!(refused.contains("summed exactly"), "{refused}");
        assert_eq!(Manifest::latest(fleet).unwrap().number, 1);
        assert!(exported(fleet, own.path()) == before);
    }

    fn log_evidence_of_one(folder: &Path) -> i64 {
        let map = e2bki_store::load(parked(1, 9, folder)).unwrap();
        map.states().flat_map(|state| state.log_evidence).max().unwrap()
    }

    #[test]
    fn what_beams_passed_through_is_summed_with_the_rest() {
        let Trial { folder, fleet } = &trial_with(&looking());
        let mut whole = Mapper::new(classes(), looking()).unwrap();
        for run in [2, 0, 1] {
            let mut map = Mapper::new(classes(), looking()).unwrap();
            look(&mut map, run);
            let path = folder.path().join("run.e2bki");
            e2bki_store::save_with(&map, &[name(run)], &path).unwrap();
            add(fleet, &name(run), &path, None).unwrap();
            if run == 0 {
                commit(fleet, &[]).unwrap();
            }
        }
        (0..3).for_each(|run| look(&mut whole, run));
        assert!(whole.free_space().unwrap().cubes().any(|(_, tally)| tally.passes > 3), "no drive sees another's air");
        let path = folder.path().join("whole.e2bki");
        e2bki_store::save_with(&whole, &[name(0), name(1), name(2)], &path).unwrap();
        commit(fleet, &[]).unwrap();
        assert!(exported(fleet, folder.path()) == std::fs::read(&path).unwrap());
        // Runs that did not look do not belong.
        let blind = crate::drives::file_of(5, folder.path());
        let refused = add(fleet, "blind", &blind, None).unwrap_err().to_string();
        assert!(refused.contains("free_space.enabled"), "{refused}");
    }

    #[test]
    fn what_killed_programs_left_is_cleaned_up_and_never_read() {
        let one = trial();
        one.add(0);
        one.add(1);
        let Trial { folder, fleet } = &one;
        let store = Path::new(fleet.objects.name());
        // A tile of a plan that nobody committed, a file that nobody finished, and one that somebody is writing now.
        let waiting = plan(fleet, &[], &[]).unwrap().tasks;
        reduce_all(fleet, &waiting, || ()).unwrap();
        one.add(2);
        commit(fleet, &[]).unwrap();
        let unused = fleet.objects.list("tiles").unwrap().len() - Manifest::latest(fleet).unwrap().tiles.len();
        assert!(unused > 0);
        let (old, new) = (store.join("runs/run-1/half.e2bki#1"), store.join("tiles/0_0/half.e2bki#1"));
        std::fs::write(&old, b"half").unwrap();
        std::fs::write(&new, b"half").unwrap();
        let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(7200);
        std::fs::File::options().append(true).open(&old).unwrap().set_modified(long_ago).unwrap();
        std::fs::create_dir_all(store.join("probe")).unwrap();
        std::fs::write(store.join("probe/1"), b"first").unwrap();
        assert!(status(fleet).unwrap().waiting.is_empty());
        let cleaned = e2bki_fleet::clean(fleet).unwrap();
        assert_eq!((cleaned.unfinished, cleaned.unused), (1, unused + 1));
        assert!(!old.exists() && new.exists());
        assert!(exported(fleet, folder.path()) == alone(&[0, 1, 2], folder.path()));
        assert_eq!(e2bki_fleet::clean(fleet).unwrap().unused, 0);
    }
}
