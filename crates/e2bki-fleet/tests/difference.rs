//! Tiles made of the tile before, by taking runs out and adding others: the bytes of tiles made of all runs.

#[cfg(test)]
mod drives;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use e2bki::Mapper;
    use e2bki_fleet::{Fleet, Removal, add, commit, plan, reduce_all, remove, verify};
    use proptest::prelude::*;

    use crate::drives::{Trial, alone, classes, exported, look, looking, name, trial, trial_with};

    const RUNS: u64 = 7;

    fn out(run: &str) -> Removal<'_> {
        Removal { run, reason: "trial", purge: false }
    }

    /// No tile differs from the sum of its runs.
    fn is_exact(fleet: &Fleet) -> bool {
        let found = verify(fleet, true).unwrap();
        found.remade > 0 && found.findings.is_empty()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(12))]

        /// Runs go out and in, one or several at a time, with commits in between or not.
        #[test]
        fn any_way_to_a_set_of_runs_gives_its_bytes(steps in prop::collection::vec((0..RUNS, any::<bool>()), 3..9)) {
            let one = trial();
            let Trial { folder, fleet } = &one;
            let mut inside: BTreeSet<u64> = (0..RUNS - 2).collect();
            inside.iter().for_each(|run| one.add(*run));
            let mut known = inside.clone();
            commit(fleet, &[]).unwrap();
            for (run, waits) in steps {
                // A fleet keeps at least one run.
                if inside.len() == 1 && inside.contains(&run) {
                    continue;
                }
                if inside.remove(&run) {
                    remove(fleet, &out(&name(run))).unwrap();
                } else if known.insert(run) {
                    one.add(run);
                    inside.insert(run);
                    if waits {
                        continue;
                    }
                    commit(fleet, &[]).unwrap();
                } else {
                    inside.insert(run);
                    commit(fleet, &[name(run)]).unwrap();
                }
            }
            commit(fleet, &[]).unwrap();
            let inside: Vec<u64> = inside.into_iter().collect();
            prop_assert!(exported(fleet, folder.path()) == alone(&inside, folder.path()));
            prop_assert!(is_exact(fleet));
        }
    }

    #[test]
    fn a_run_is_taken_out_of_the_tile_before_unless_that_is_not_there() {
        let one = trial();
        (0..RUNS).for_each(|run| one.add(run));
        let Trial { folder, fleet } = &one;
        let first = commit(fleet, &[]).unwrap();
        assert_eq!(first.changed, 0, "there was nothing before");
        let left = [name(2)];
        let removed = remove(fleet, &out(&left[0])).unwrap();
        assert!(removed.changed > 0 && removed.changed <= removed.reduced, "{removed:?}");
        let without = exported(fleet, folder.path());
        assert!(without == alone(&[0, 1, 3, 4, 5, 6], folder.path()) && is_exact(fleet));
        // It comes back: the tiles with it are still there.
        assert_eq!(commit(fleet, &left).unwrap().reduced, 0);

        // Without the tiles of either map all runs are added up: nothing to be taken out of.
        let tasks = |out: &[e2bki_fleet::Left]| plan(fleet, &[], out).unwrap().tasks;
        let leaving = e2bki_fleet::Left { name: name(2), key: key_of(fleet, 2), reason: String::new(), purged: false };
        for (object, _) in fleet.objects.list("tiles").unwrap() {
            fleet.objects.remove(&object).unwrap();
        }
        assert!(tasks(&[]).iter().chain(&tasks(std::slice::from_ref(&leaving))).all(|task| task.before.is_none()));
        // One who planned with a tile that somebody removed since makes it of all runs.
        commit(fleet, &[]).unwrap();
        let planned = tasks(&[leaving]);
        assert!(planned.iter().any(|task| task.before.is_some()));
        for (object, _) in fleet.objects.list("tiles").unwrap() {
            fleet.objects.remove(&object).unwrap();
        }
        assert!(reduce_all(fleet, &planned, || ()).unwrap().iter().all(|tile| !tile.changed));
        remove(fleet, &out(&left[0])).unwrap();
        assert!(exported(fleet, folder.path()) == without);
    }

    fn key_of(fleet: &Fleet, run: u64) -> String {
        let latest = e2bki_fleet::Manifest::latest(fleet).unwrap();
        latest.runs.iter().find(|other| other.name == name(run)).unwrap().key.clone()
    }

    #[test]
    fn what_beams_passed_through_is_taken_out_too() {
        let Trial { folder, fleet } = &trial_with(&looking());
        let path = folder.path().join("map.e2bki");
        let map_of = |runs: &[u64]| {
            let mut map = Mapper::new(classes(), looking()).unwrap();
            runs.iter().for_each(|run| look(&mut map, *run));
            let names: Vec<String> = runs.iter().map(|run| name(*run)).collect();
            e2bki_store::save_with(&map, &names, &path).unwrap();
            std::fs::read(&path).unwrap()
        };
        for run in 0..4 {
            map_of(&[run]);
            add(fleet, &name(run), &path, None).unwrap();
        }
        commit(fleet, &[]).unwrap();
        let removed = remove(fleet, &out(&name(1))).unwrap();
        assert!(removed.changed > 0, "{removed:?}");
        assert!(is_exact(fleet));
        assert!(exported(fleet, folder.path()) == map_of(&[0, 2, 3]));
    }
}
