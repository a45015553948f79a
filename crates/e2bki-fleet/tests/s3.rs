//! A fleet in a bucket of a real S3 server, which listens on loopback only: every byte as in a folder.

#[cfg(test)]
mod drives;
#[cfg(test)]
mod marker;
#[cfg(test)]
mod server;

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use e2bki_fleet::{
        Fleet, Manifest, Objects, Removal, add, commit, init_on, plan, reduce_all, remove, status, verify,
    };

    use crate::drives::{Trial, alone, alone_with, classes, config, exported, file_of, name, trial};
    use crate::marker;
    use crate::server::Server;

    /// A server with an empty bucket.
    struct Bucket {
        folder: tempfile::TempDir,
        server: Server,
    }

    fn bucket(one_at_a_time: bool) -> Bucket {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("served/maps")).unwrap();
        let server = Server::start(&folder.path().join("served"), 0, one_at_a_time).unwrap();
        Bucket { folder, server }
    }

    impl Bucket {
        /// As another machine would open it.
        fn objects(&self) -> Objects {
            Objects::open_with("s3://maps/city/north", self.server.options()).unwrap()
        }

        fn fleet(&self) -> Fleet {
            init_on(self.objects(), &classes(), &config()).unwrap()
        }
    }

    /// All files below a folder.
    fn files(folder: &Path) -> Vec<PathBuf> {
        let mut all = Vec::new();
        for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() { all.extend(files(&entry)) } else { all.push(entry) }
        }
        all
    }

    #[test]
    fn a_bucket_holds_the_bytes_of_a_folder() {
        let bucket = bucket(true);
        let (fleet, aside) = (bucket.fleet(), bucket.folder.path());
        let Trial { folder: _kept, fleet: local } = &trial();
        for run in [3, 0, 2, 1] {
            for fleet in [&fleet, local] {
                add(fleet, &name(run), &file_of(run, aside), None).unwrap();
            }
        }
        assert!(add(&fleet, &name(3), &file_of(3, aside), None).unwrap().was_there);
        let tasks = plan(&fleet, &[], &[]).unwrap().tasks;
        let (first, second) = tasks.split_at(tasks.len() / 2);
        for part in [second, first, second] {
            reduce_all(&Fleet::on(bucket.objects()).unwrap(), part, || ()).unwrap();
        }
        assert_eq!(commit(&fleet, &[]).unwrap().reduced, 0);
        commit(local, &[]).unwrap();
        assert!(exported(&fleet, aside) == alone(&[0, 1, 2, 3], aside));
        // Object by object, by name and by byte.
        let (there, here) = (fleet.objects.list("").unwrap(), local.objects.list("").unwrap());
        assert_eq!(there, here);
        for (object, _) in &there {
            assert!(fleet.objects.get(object).unwrap() == local.objects.get(object).unwrap(), "{object}");
        }
        assert!(verify(&fleet, true).unwrap().findings.is_empty());
        assert_eq!(status(&fleet).unwrap().tiles_to_do, 0);
        assert!(Objects::open_with("s3://maps/city/north", []).and_then(|objects| objects.list("")).is_err());
    }

    #[test]
    fn a_run_leaves_a_bucket_without_a_trace() {
        let bucket = bucket(true);
        let (fleet, aside) = (bucket.fleet(), bucket.folder.path());
        let unmarked = std::fs::read(file_of(1, aside)).unwrap();
        let mut marks = Vec::new();
        for run in 0..4 {
            let file = file_of(run, aside);
            if run == 1 {
                let mut map = e2bki_store::load(&file).unwrap();
                marks = marker::of(&map);
                marker::mark(&mut map).unwrap();
                e2bki_store::save_with(&map, &[name(1)], &file).unwrap();
            }
            add(&fleet, &name(run), &file, None).unwrap();
            commit(&fleet, &[]).unwrap();
        }
        let marked_run = std::fs::read(aside.join("1.e2bki")).unwrap();
        assert!(marker::count(&unmarked) == 0 && marker::count(&marked_run) > 0);
        // Files of the server that hold the marker: the run and a tile, while it is in the map.
        let marked = || -> usize {
            let holds = |file: &PathBuf| marker::count(&std::fs::read(file).unwrap()) > 0;
            files(&bucket.folder.path().join("served")).iter().filter(|file| holds(file)).count()
        };
        assert_eq!(marked(), 2);
        // One mapper's file, with the marker that the run has.
        let always = alone_with(&[0, 1, 2, 3], marks, aside);
        assert!(exported(&fleet, aside) == always);
        let removal = Removal { run: "run-1", reason: "asked to be forgotten", purge: false };
        remove(&fleet, &removal).unwrap();
        assert!(exported(&fleet, aside) == alone(&[0, 2, 3], aside));
        commit(&fleet, &[name(1)]).unwrap();
        assert_eq!(marked(), 2);
        assert!(exported(&fleet, aside) == always);

        // Somebody begins to reduce with the run, and ends when it has been purged.
        let late = plan(&fleet, &[], &[]).unwrap().tasks;
        for purge in [false, true] {
            remove(&fleet, &Removal { purge, ..removal.clone() }).unwrap();
        }
        assert!(reduce_all(&fleet, &late, || ()).is_err(), "of what?");
        assert!(exported(&fleet, aside) == alone(&[0, 2, 3], aside));
        // No file of the server has the marker, whatever its name.
        assert_eq!(marked(), 0);
        // And every tile is the sum of runs that are left.
        let manifests: Vec<Manifest> = Manifest::numbers(&fleet)
            .unwrap()
            .into_iter()
            .map(|number| Manifest::read(&fleet, number).unwrap())
            .filter(|manifest| !manifest.runs.iter().any(|run| run.name == "run-1"))
            .collect();
        for (object, _) in fleet.objects.list("tiles").unwrap() {
            assert!(manifests.iter().any(|m| m.tiles.values().any(|key| object.contains(key))), "{object}");
        }
        std::fs::write(aside.join("1.e2bki"), marked_run).unwrap();
        assert!(add(&fleet, &name(1), &aside.join("1.e2bki"), None).is_err());
        // Purging again is no error.
        remove(&fleet, &Removal { purge: true, ..removal }).unwrap();
        assert!(verify(&fleet, true).unwrap().findings.is_empty());
    }

    #[test]
    fn drivers_that_race_over_a_bucket_make_one_map() {
        let bucket = bucket(true);
        let (fleet, aside) = (bucket.fleet(), bucket.folder.path());
        std::thread::scope(|scope| {
            for driver in 0..3 {
                let bucket = &bucket;
                scope.spawn(move || {
                    let (fleet, own) = (bucket.fleet(), aside.join(driver.to_string()));
                    std::fs::create_dir(&own).unwrap();
                    for run in [driver, (driver + 1) % 3] {
                        add(&fleet, &name(run), &file_of(run, &own), None).unwrap();
                        commit(&fleet, &[]).unwrap();
                    }
                });
            }
        });
        assert!(exported(&fleet, aside) == alone(&[0, 1, 2], aside));
        let numbers = Manifest::numbers(&fleet).unwrap();
        assert!(numbers.iter().copied().eq(1..=numbers.len() as u64), "{numbers:?}");
    }

    #[test]
    fn a_server_that_lets_everybody_win_is_refused() {
        let bucket = bucket(false);
        let refused = init_on(bucket.objects(), &classes(), &config()).unwrap_err().to_string();
        assert!(refused.contains("does not honour conditional puts"), "{refused}");
        assert!(bucket.objects().list("").unwrap().is_empty());
    }
}
