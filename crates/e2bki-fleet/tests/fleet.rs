//! A fleet as its users have it: many runs, many machines, one map.

#[cfg(test)]
mod drives;

#[cfg(test)]
mod tests {
    use std::path::Path;

    use e2bki::config::{Clustering, Posterior};
    use e2bki::{ClassSet, Frame, Mapper, Pose, Semantics};
    use e2bki_fleet::{
        Error, Fleet, Manifest, Removal, add, check_run, commit, init, plan, reduce, remove, status, verify,
    };
    use proptest::prelude::*;

    use crate::drives::{Trial, alone, classes, config, exported, file_of, name, trial};

    #[test]
    fn the_map_of_many_machines_is_that_of_one_and_what_leaves_leaves_no_trace() {
        let Trial { folder, fleet } = &trial();
        for run in [4, 0, 2] {
            add(fleet, &name(run), &file_of(run, folder.path()), None).unwrap();
        }
        // Tiles are made by others before the commit.
        for task in plan(fleet, &[], &[]).unwrap().tasks {
            reduce(fleet, &task).unwrap();
        }
        let first = commit(fleet, &[]).unwrap();
        assert_eq!((first.manifest.number, first.reduced, first.is_new), (1, 0, true));
        assert_eq!(exported(fleet, folder.path()), alone(&[0, 2, 4], folder.path()));
        let again = commit(fleet, &[]).unwrap();
        assert_eq!((again.manifest.number, again.is_new), (1, false));

        add(fleet, &name(1), &file_of(1, folder.path()), None).unwrap();
        assert_eq!(status(fleet).unwrap().waiting, [name(1)]);
        commit(fleet, &[]).unwrap();
        assert_eq!(exported(fleet, folder.path()), alone(&[0, 1, 2, 4], folder.path()));

        let removal = Removal { run: "run-2", reason: "bad calibration", purge: false };
        remove(fleet, &removal).unwrap();
        assert_eq!(exported(fleet, folder.path()), alone(&[0, 1, 4], folder.path()));
        assert_eq!(commit(fleet, &[]).unwrap().manifest.number, 3, "what was taken out stays out");
        commit(fleet, &[name(2)]).unwrap();
        assert_eq!(exported(fleet, folder.path()), alone(&[0, 1, 2, 4], folder.path()));

        let found = verify(fleet, true).unwrap();
        assert!(found.findings.is_empty() && found.remade > 3, "{found:?}");

        remove(fleet, &Removal { purge: true, ..removal }).unwrap();
        assert_eq!(exported(fleet, folder.path()), alone(&[0, 1, 4], folder.path()));
        let left = fleet.objects.list("").unwrap();
        assert!(!left.iter().any(|(object, _)| object.starts_with("runs/run-2")), "{left:?}");
        // Tiles that are left are those of manifests without the run.
        for (object, _) in left.iter().filter(|(object, _)| object.starts_with("tiles/")) {
            let named = Manifest::numbers(fleet).unwrap().into_iter().any(|number| {
                let manifest = Manifest::read(fleet, number).unwrap();
                !manifest.runs.iter().any(|run| run.name == "run-2")
                    && manifest.tiles.values().any(|key| object.contains(key))
            });
            assert!(named, "{object}");
        }
        assert!(verify(fleet, true).unwrap().findings.is_empty());
        let back = add(fleet, &name(2), &file_of(2, folder.path()), None).unwrap_err();
        assert!(back.to_string().contains("was purged (bad calibration)"), "{back}");
    }

    #[test]
    fn drivers_that_race_make_one_map() {
        let Trial { folder, fleet } = &trial();
        std::thread::scope(|scope| {
            for driver in 0..4 {
                let (folder, fleet) =
                    (folder.path().join(driver.to_string()), Fleet::open(fleet.objects.name()).unwrap());
                scope.spawn(move || {
                    std::fs::create_dir(&folder).unwrap();
                    for run in [driver, (driver + 1) % 4] {
                        add(&fleet, &name(run), &file_of(run, &folder), None).unwrap();
                        commit(&fleet, &[]).unwrap();
                    }
                });
            }
        });
        assert_eq!(exported(fleet, folder.path()), alone(&[0, 1, 2, 3], folder.path()));
        let numbers = Manifest::numbers(fleet).unwrap();
        assert!(numbers.iter().copied().eq(1..=numbers.len() as u64), "{numbers:?}");
    }

    #[test]
    fn what_does_not_belong_is_refused_and_damage_is_found() {
        let one = trial();
        one.add(0);
        let Trial { folder, fleet } = &one;
        let same = add(fleet, "other", &file_of(0, folder.path()), None).unwrap_err();
        assert!(same.to_string().contains("same run as run-0"), "{same}");
        // Before its map is made, by what it will be made of.
        let key = fleet.objects.list("runs").unwrap()[0].0.clone();
        let key = key.rsplit('/').next().unwrap().trim_end_matches(".e2bki");
        assert!(check_run(fleet, "other", key).unwrap_err().to_string().contains("same run as run-0"));
        assert!(check_run(fleet, "run-0", key).is_ok() && check_run(fleet, "other", "another").is_ok());
        assert!(check_run(fleet, "a/b", "another").is_err());
        for bad in ["", "../up", "a/b", ".hidden"] {
            assert!(matches!(add(fleet, bad, &file_of(1, folder.path()), None), Err(Error::Refused(_))), "{bad}");
        }
        let mut foreign = Mapper::new(ClassSet::from_names(["road"]).unwrap(), config()).unwrap();
        foreign
            .insert(&Frame {
                points: &[[2.0, 0.0, 0.0]],
                semantics: Semantics::Labels(&[0]),
                world_from_sensor: Pose::IDENTITY,
                scan: None,
            })
            .unwrap();
        let path = folder.path().join("foreign.e2bki");
        e2bki_store::save(&foreign, &path).unwrap();
        assert!(add(fleet, "foreign", &path, None).unwrap_err().to_string().contains("classes"));
        let other = Mapper::new(classes().with_costs([("car", 3)]).unwrap(), config()).unwrap();
        e2bki_store::save(&other, &path).unwrap();
        assert!(add(fleet, "other", &path, None).unwrap_err().to_string().contains("costs"));
        let not_sums = [
            ("prune", config().with(|c| c.refinement.prune = true)),
            ("merge", config().with(|c| c.refinement.merge = true)),
            ("clustering", config().with(|c| c.clustering.method = Clustering::KMeans)),
            ("posterior", config().with(|c| c.views.posterior = Posterior::Accumulate)),
        ];
        for (word, not_a_sum) in not_sums {
            let refused = init(folder.path().join("b").to_str().unwrap(), &classes(), &not_a_sum).unwrap_err();
            assert!(refused.to_string().contains(word), "{refused}");
        }
        let odd = config().with(|c| c.clustering.cell_size = 0.3);
        assert!(
            init(folder.path().join("c").to_str().unwrap(), &classes(), &odd)
                .unwrap_err()
                .to_string()
                .contains("divide")
        );
        assert!(
            Fleet::open(folder.path().join("nothing").to_str().unwrap())
                .unwrap_err()
                .to_string()
                .contains("fleet init")
        );
        let missing = remove(fleet, &Removal { run: "nobody", reason: "", purge: false }).unwrap_err();
        assert!(missing.to_string().contains("no run nobody"), "{missing}");

        commit(fleet, &[]).unwrap();
        let (object, _) = fleet.objects.list("tiles").unwrap().into_iter().next().unwrap();
        let path = Path::new(fleet.objects.name()).join(&object);
        let mut bytes = std::fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(&path, bytes).unwrap();
        assert_eq!(verify(fleet, false).unwrap().findings.len(), 1);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20))]

        /// Runs in any order, in any commits, twice or more: the same map.
        #[test]
        fn any_grouping_is_the_same_map(order in Just((0..5_u64).collect::<Vec<_>>()).prop_shuffle(), commits in prop::collection::vec(any::<bool>(), 5)) {
            let one = trial();
            for (run, now) in order.iter().zip(commits) {
                one.add(*run);
                one.add(*run);
                if now {
                    commit(&one.fleet, &[]).unwrap();
                }
            }
            commit(&one.fleet, &[]).unwrap();
            prop_assert!(exported(&one.fleet, one.folder.path()) == alone(&[0, 1, 2, 3, 4], one.folder.path()));
        }
    }
}
