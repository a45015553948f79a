//! Coarser levels of detail are exact sums of what is below them, named by it, and gone with it.

#[cfg(test)]
mod drives;
#[cfg(test)]
mod marker;

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use e2bki::PrimitiveState;
    use e2bki_fleet::{
        Fleet, LevelTile, Removal, add, clean, commit, level_config, levels, make_levels, read_level_tile, remove,
        verify,
    };

    use crate::drives::{Trial, file_of, name, trial};
    use crate::marker;

    /// A cube of the world and a class.
    type Key = ([i64; 3], usize);
    /// Points, Σx, Σxxᵀ and Σrange about the corner of the world in quanta, and log-evidence.
    type Sums = ([i128; 11], Vec<i128>);

    fn quanta(metres: f64) -> i128 {
        (metres * 65_536.0) as i128
    }

    /// What a primitive holds, in another form than the program's.
    fn sums(state: &PrimitiveState) -> Sums {
        let s = &state.sums;
        let (w, o) = (s.weight as i128, s.origin.map(|v| quanta(f64::from(v))));
        let x = s.first.map(quanta);
        let mut all = [0; 11];
        all[0] = w;
        for i in 0..3 {
            all[1 + i] = x[i] + w * o[i];
        }
        for (k, (i, j)) in [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)].into_iter().enumerate() {
            all[4 + k] = i128::from(s.second[k]) + o[i] * x[j] + o[j] * x[i] + w * o[i] * o[j];
        }
        all[10] = quanta(s.range);
        (all, state.log_evidence.iter().map(|v| i128::from(*v)).collect())
    }

    /// Primitives by cube and class, added up by plain arithmetic.
    fn by_cube(states: impl IntoIterator<Item = PrimitiveState>, side: f64) -> BTreeMap<Key, Sums> {
        let mut cubes: BTreeMap<Key, Sums> = BTreeMap::new();
        for state in states {
            let class = (0..state.log_evidence.len()).rev().max_by_key(|c| state.log_evidence[*c]).unwrap();
            let cube = state.sums.mean().map(|v| (v / side).floor() as i64);
            let (all, evidence) = sums(&state);
            let there = cubes.entry((cube, class)).or_insert(([0; 11], vec![0; evidence.len()]));
            (0..11).for_each(|i| there.0[i] += all[i]);
            there.1.iter_mut().zip(evidence).for_each(|(sum, v)| *sum += v);
        }
        cubes
    }

    fn states_of(fleet: &Fleet, all: &[LevelTile], level: u8) -> Vec<PrimitiveState> {
        let of = all.iter().filter(|tile| tile.level == level);
        of.flat_map(|tile| read_level_tile(fleet, tile).unwrap().0).collect()
    }

    #[test]
    fn every_level_is_the_exact_sum_of_the_finest() {
        let one = trial();
        (0..6).for_each(|run| one.add(run));
        let fleet = &one.fleet;
        commit(fleet, &[]).unwrap();
        assert!(levels(fleet).unwrap().is_none());
        let made = make_levels(fleet, |_| ()).unwrap();
        let all = levels(fleet).unwrap().unwrap();
        assert!(made.top >= 3 && made.made == made.tiles, "{made:?}");
        let finest = states_of(fleet, &all, 0);
        let mut before = finest.len();
        for level in 0..=made.top {
            let side = level_config(&fleet.config, level).clustering.cell_size;
            assert_eq!(side, 0.25 * f64::from(1 << level));
            let states = states_of(fleet, &all, level);
            let expected = by_cube(finest.iter().cloned(), side);
            assert_eq!(states.len(), expected.len(), "one for every cube and class of level {level}");
            assert_eq!(by_cube(states.iter().cloned(), side), expected, "level {level}");
            assert!(level == 0 || states.len() < before, "level {level} is coarser");
            before = states.len();
        }
        for tile in &all {
            let (states, _) = read_level_tile(fleet, tile).unwrap();
            let side = 32.0 * f64::from(1 << tile.level);
            let heights: Vec<f64> = states.iter().map(|state| state.sums.mean()[2]).collect();
            assert!(states.iter().all(|s| (0..2).all(|i| (s.sums.mean()[i] / side).floor() as i32 == tile.tile[i])));
            assert_eq!(tile.rows, states.len());
            assert_eq!(tile.heights[0], heights.iter().copied().fold(f64::INFINITY, f64::min));
            assert_eq!(tile.heights[1], heights.iter().copied().fold(f64::NEG_INFINITY, f64::max));
        }
        assert_eq!(make_levels(fleet, |_| ()).unwrap().made, 0);
    }

    /// All objects under a name, with their bytes.
    fn objects(fleet: &Fleet, under: &str) -> BTreeMap<String, Vec<u8>> {
        let listed = fleet.objects.list(under).unwrap();
        listed.into_iter().map(|(name, _)| (name.clone(), fleet.objects.get(&name).unwrap().unwrap())).collect()
    }

    #[test]
    fn levels_follow_from_the_map_and_only_what_changed_is_made() {
        let (one, other) = (trial(), trial());
        (0..6).for_each(|run| one.add(run));
        commit(&one.fleet, &[]).unwrap();
        let all = make_levels(&one.fleet, |_| ()).unwrap();
        // The same in steps, with a run in between that leaves again.
        for runs in [&[5, 3][..], &[0, 1], &[2, 4, 9]] {
            runs.iter().for_each(|run| other.add(*run));
            commit(&other.fleet, &[]).unwrap();
            make_levels(&other.fleet, |_| ()).unwrap();
        }
        let leaves = Removal { run: &name(9), reason: "trial", purge: false };
        remove(&other.fleet, &leaves).unwrap();
        let last = make_levels(&other.fleet, |_| ()).unwrap();
        assert!(last.made < all.made && last.tiles == all.tiles, "{last:?}");
        let (expected, found) = (objects(&one.fleet, "levels"), objects(&other.fleet, "levels"));
        assert!(expected.iter().all(|(name, bytes)| found.get(name) == Some(bytes)));
    }

    #[test]
    fn a_run_that_is_purged_is_in_no_level() {
        let one = trial();
        (0..3).for_each(|run| one.add(run));
        let Trial { folder, fleet } = &one;
        commit(fleet, &[]).unwrap();
        make_levels(fleet, |_| ()).unwrap();
        let before = objects(fleet, "levels");
        let file = file_of(3, folder.path());
        let mut map = e2bki_store::load(&file).unwrap();
        marker::mark(&mut map).unwrap();
        e2bki_store::save_with(&map, &[name(3)], &file).unwrap();
        add(fleet, &name(3), &file, None).unwrap();
        commit(fleet, &[]).unwrap();
        let top = make_levels(fleet, |_| ()).unwrap().top;
        let marked = || objects(fleet, "").into_values().filter(|bytes| marker::count(bytes) > 0).count();
        assert_eq!(marked(), 2 + usize::from(top), "the run, its tile, and one of every level");
        remove(fleet, &Removal { run: &name(3), reason: "trial", purge: true }).unwrap();
        assert_eq!(marked(), 0);
        assert!(objects(fleet, "levels") == before);
        // Nothing of it is unused, and what nobody needs goes.
        assert_eq!(clean(fleet).unwrap().unused, 0);
        fleet.objects.create("levels/1/0_0/nobody.e2bki", b"nobody".to_vec()).unwrap();
        assert_eq!(clean(fleet).unwrap().unused, 1);
        assert!(objects(fleet, "levels") == before);
    }

    #[test]
    fn levels_are_verified_as_tiles_are() {
        let one = trial();
        (0..4).for_each(|run| one.add(run));
        let fleet = &one.fleet;
        commit(fleet, &[]).unwrap();
        assert_eq!(verify(fleet, true).unwrap().levels, 0, "none were made");
        let made = make_levels(fleet, |_| ()).unwrap();
        let found = verify(fleet, true).unwrap();
        assert!(found.findings.is_empty() && found.levels == made.tiles, "{found:?}");
        assert_eq!(found.remade, found.tiles + found.levels);

        let findings = |remake: bool| verify(fleet, remake).unwrap().findings;
        let all = levels(fleet).unwrap().unwrap();
        let about = |tile: &LevelTile| {
            let place = format!("level {}, tile {:?}: ", tile.level, tile.tile);
            move |findings: &[String], what: &str| {
                assert!(
                    findings.len() == 1 && findings[0].starts_with(&place) && findings[0].contains(what),
                    "{findings:?}"
                );
            }
        };
        let put = |object: &str, bytes: Vec<u8>| {
            fleet.objects.remove(object).unwrap();
            assert!(fleet.objects.create(object, bytes).unwrap());
        };
        let top = all.iter().max_by_key(|tile| tile.level).unwrap();
        let mut same_level: Vec<&LevelTile> = all.iter().filter(|tile| tile.level == 1).collect();
        same_level.sort_by_key(|tile| tile.rows);
        let (few, many) = (same_level[0], same_level[same_level.len() - 1]);
        assert!(few.rows < many.rows);
        let object =
            |tile: &LevelTile| format!("levels/{}/{}_{}/{}.e2bki", tile.level, tile.tile[0], tile.tile[1], tile.key);
        let whole = fleet.objects.get(&object(top)).unwrap().unwrap();

        // Missing.
        fleet.objects.remove(&object(top)).unwrap();
        about(top)(&findings(false), "not there");
        // Damaged.
        let mut damaged = whole.clone();
        damaged[whole.len() / 2] ^= 1;
        put(&object(top), damaged);
        about(top)(&findings(false), "damaged");
        put(&object(top), whole.clone());
        assert!(findings(true).is_empty());
        // Whole, but another one.
        let other = fleet.objects.get(&object(many)).unwrap().unwrap();
        let own = fleet.objects.get(&object(few)).unwrap().unwrap();
        put(&object(few), other);
        about(few)(&findings(false), "not what the index of levels says");
        put(&object(few), own);

        // An index that says other things, or nothing that can be read.
        let (index, text) = objects(fleet, "levels/index").into_iter().next().unwrap();
        let with = |tiles: Vec<LevelTile>| put(&index, serde_json::to_vec(&tiles).unwrap());
        let without = |left: &LevelTile| all.iter().filter(|tile| *tile != left).cloned().collect::<Vec<LevelTile>>();
        with(without(few));
        about(few)(&findings(false), "not in the index");
        let stranger = LevelTile { tile: [900, 900], ..few.clone() };
        with(all.iter().chain([&stranger]).cloned().collect());
        about(&stranger)(&findings(false), "not in the map");
        put(&index, b"[".to_vec());
        let unread = findings(false);
        assert!(
            unread.len() == 1 && unread[0].contains("levels of detail: ") && unread[0].contains(&index),
            "{unread:?}"
        );
        put(&index, text);
        assert!(findings(true).is_empty());
    }
}
