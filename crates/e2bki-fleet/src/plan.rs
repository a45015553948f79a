//! Which tiles a map needs, and which of them are still to be made.

use std::collections::{BTreeMap, BTreeSet};

use crate::add::{open, stored};
use crate::description::Fleet;
use crate::error::{Error, Result};
use crate::manifest::{Left, Manifest, Run, run_object, tile_object};
use crate::{Tile, digest};

/// A tile to be made of some runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// Which tile.
    pub tile: Tile,
    /// Its key: a hash of the runs' keys.
    pub key: String,
    /// Names and keys of the runs that have something in it, by key.
    pub inputs: Vec<(String, String)>,
    /// Whether it is in the store already.
    pub is_done: bool,
    /// What it can be made of with fewer parts than of all inputs, if there is such a tile.
    pub before: Option<Before>,
}

/// The tile of the map so far, which differs from one to be made by some runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Before {
    /// Its key.
    pub key: String,
    /// Runs in it that are to be taken out, names and keys.
    pub left: Vec<(String, String)>,
    /// Runs that are to be added to it.
    pub came: Vec<(String, String)>,
}

/// Tiles along a side of what is best given to one worker: scheduling and opening runs cost more than adding.
pub(crate) const BLOCK: i32 = 8;

impl Task {
    /// The block of 8 × 8 tiles that it is in: what is best given to one worker.
    pub fn block(&self) -> [i32; 2] {
        self.tile.map(|v| v.div_euclid(BLOCK))
    }
}

/// What is needed for the next manifest.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The manifest that it would follow.
    pub parent: Manifest,
    /// Runs that would be in the map, by name.
    pub runs: Vec<Run>,
    /// Runs that are out of it, by name.
    pub removed: Vec<Left>,
    /// The tiles, by coordinates.
    pub tasks: Vec<Task>,
}

impl Plan {
    /// The tiles that are not in the store yet.
    pub fn to_do(&self) -> impl Iterator<Item = &Task> {
        self.tasks.iter().filter(|task| !task.is_done)
    }

    /// What is to be done of one of `parts` shares, counted from 0. Blocks of tiles are dealt out by what they are made of, the
    /// largest first and each to whom has least, so that shares take as long as each other. Whether they are done makes no difference:
    /// shares stay the same while others work.
    pub fn share(&self, part: usize, parts: usize) -> Vec<Task> {
        let mut blocks: BTreeMap<[i32; 2], usize> = BTreeMap::new();
        for task in &self.tasks {
            *blocks.entry(task.block()).or_default() += task.inputs.len();
        }
        let mut blocks: Vec<([i32; 2], usize)> = blocks.into_iter().collect();
        // Stable: equal ones stay in the order of their places.
        blocks.sort_by_key(|(_, pieces)| std::cmp::Reverse(*pieces));
        let mut loads = vec![0; parts];
        let mut mine = BTreeSet::new();
        for (block, pieces) in blocks {
            let Some(least) = (0..parts).min_by_key(|part| loads[*part]) else { break };
            loads[least] += pieces;
            if least == part {
                mine.insert(block);
            }
        }
        self.to_do().filter(|task| mine.contains(&task.block())).cloned().collect()
    }

    /// The manifest that makes this the map.
    pub(crate) fn manifest(&self) -> Manifest {
        Manifest {
            number: self.parent.number + 1,
            parent: self.parent.number,
            runs: self.runs.clone(),
            removed: self.removed.clone(),
            tiles: self.tasks.iter().map(|task| (task.tile, task.key.clone())).collect(),
        }
    }
}

/// Plans the map of all runs in the store, without those that were taken out; `again` names some of these to be taken in
/// again, `out` runs to be taken out now.
pub fn plan(fleet: &Fleet, again: &[String], out: &[Left]) -> Result<Plan> {
    let parent = Manifest::latest(fleet)?;
    let is_out = |left: &&Left| !again.contains(&left.name);
    let mut removed: Vec<Left> = parent.removed.iter().filter(is_out).cloned().collect();
    for left in out {
        removed.retain(|other| other.key != left.key);
        removed.push(left.clone());
    }
    removed.sort_by(|a, b| (&a.name, &a.key).cmp(&(&b.name, &b.key)));
    let known = stored(fleet)?;
    if let Some(name) = again.iter().find(|name| !known.iter().any(|(other, _)| other == *name)) {
        return Err(Error::Refused(format!("the run {name} is not in {}", fleet.objects.name())));
    }
    let mut by_name: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, key) in known {
        if !removed.iter().any(|left| left.key == key) {
            by_name.entry(name).or_default().push(key);
        }
    }
    let mut chosen = Vec::new();
    let mut names: BTreeMap<String, String> = BTreeMap::new();
    for (name, keys) in by_name {
        let key = choose(&name, keys, &parent)?;
        if let Some(other) = names.insert(key.clone(), name.clone()) {
            return Err(Error::Refused(format!("{name} and {other} are the same run: remove one of them")));
        }
        chosen.push((name, key));
    }
    let mut runs = Vec::with_capacity(chosen.len());
    let mut tiles: BTreeMap<Tile, Inputs> = BTreeMap::new();
    for (run, seen) in seen_by_all(fleet, &chosen)? {
        for tile in seen {
            tiles.entry(tile).or_default().push((run.name.clone(), run.key.clone()));
        }
        runs.push(run);
    }
    let there: BTreeSet<String> = fleet.objects.list("tiles")?.into_iter().map(|(name, _)| name).collect();
    let so_far = so_far(fleet, &parent, &tiles)?;
    let task = |(tile, mut inputs): (Tile, Inputs)| {
        inputs.sort_by(|a, b| a.1.cmp(&b.1));
        let key = tile_key(&inputs);
        let is_done = there.contains(&tile_object(tile, &key));
        let known = parent.tiles.get(&tile).filter(|key| !is_done && there.contains(&tile_object(tile, key)));
        let before = known.zip(so_far.get(&tile)).and_then(|(key, had)| before(key, had, &inputs));
        Task { tile, key, inputs, is_done, before }
    };
    let tasks = tiles.into_iter().map(task).collect();
    Ok(Plan { parent, runs, removed, tasks })
}

/// Names and keys of runs.
type Inputs = Vec<(String, String)>;

/// The runs of every tile of a manifest, as far as they are still there: those that stay, whose tiles are known, and those
/// that leave.
fn so_far(fleet: &Fleet, manifest: &Manifest, staying: &BTreeMap<Tile, Inputs>) -> Result<BTreeMap<Tile, Inputs>> {
    let known: BTreeSet<&str> = staying.values().flatten().map(|(_, key)| key.as_str()).collect();
    let is_in = |key: &str| manifest.runs.iter().any(|run| run.key == key);
    let mut tiles: BTreeMap<Tile, Inputs> = BTreeMap::new();
    for (tile, inputs) in staying {
        tiles.insert(*tile, inputs.iter().filter(|(_, key)| is_in(key)).cloned().collect());
    }
    for run in manifest.runs.iter().filter(|run| !known.contains(run.key.as_str())) {
        // One that was purged cannot be looked at, and the tiles that it was in are not what anything is made of.
        let Ok((run, seen)) = seen_by(fleet, &run.name, &run.key) else { continue };
        for tile in seen {
            tiles.entry(tile).or_default().push((run.name.clone(), run.key.clone()));
        }
    }
    tiles.values_mut().for_each(|inputs| inputs.sort_by(|a, b| a.1.cmp(&b.1)));
    Ok(tiles)
}

/// How a tile follows from the one of a key that was made of `had`, if that takes fewer parts than its inputs are.
fn before(key: &str, had: &Inputs, inputs: &Inputs) -> Option<Before> {
    // The key says what it was made of: only if nothing is missing from the list can it be used.
    if tile_key(had) != key {
        return None;
    }
    let without = |of: &Inputs, others: &Inputs| -> Inputs {
        // Both are in the order of their keys.
        let stays = |key: &String| others.binary_search_by(|(_, other)| other.cmp(key)).is_ok();
        of.iter().filter(|(_, key)| !stays(key)).cloned().collect()
    };
    let (left, came) = (without(had, inputs), without(inputs, had));
    (1 + left.len() + came.len() < inputs.len()).then(|| Before { key: key.into(), left, came })
}

/// Runs that are asked at the same time: a bucket takes a while to answer, and asking costs little.
const AT_ONCE: usize = 16;

/// A run, and the tiles that it has something in.
type Seen = (Run, BTreeSet<Tile>);

/// Runs by name and key, each with its tiles, in the order given.
fn seen_by_all(fleet: &Fleet, runs: &[(String, String)]) -> Result<Vec<Seen>> {
    let share = runs.len().div_ceil(AT_ONCE).max(1);
    let asked: Vec<Vec<Result<Seen>>> = std::thread::scope(|scope| {
        let ask = |share: &[(String, String)]| share.iter().map(|(name, key)| seen_by(fleet, name, key)).collect();
        let threads: Vec<_> = runs.chunks(share).map(|share| scope.spawn(move || ask(share))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap_or_default()).collect()
    });
    let seen: Vec<Seen> = asked.into_iter().flatten().collect::<Result<_>>()?;
    if seen.len() != runs.len() {
        return Err(Error::Refused("a run could not be looked at".into()));
    }
    Ok(seen)
}

/// A run, and the tiles that it has something in.
fn seen_by(fleet: &Fleet, name: &str, key: &str) -> Result<Seen> {
    let file = open(fleet, &run_object(name, key))?;
    let mut counters = file.header().free_space().transpose()?.unwrap_or_default();
    let run = Run { name: name.into(), key: key.into(), frames: file.header().frames, looks: counters.frames() };
    // Open space has counters and no primitives.
    let open_space = counters.take_columns(|_| true).into_keys();
    Ok((run, file.tiles().iter().map(|info| info.tile).chain(open_space).collect()))
}

/// Of several maps of one run, the one that is not in the map yet: somebody made it anew.
fn choose(name: &str, mut keys: Vec<String>, parent: &Manifest) -> Result<String> {
    if keys.len() > 1 {
        keys.retain(|key| !parent.runs.iter().any(|run| run.name == name && run.key == *key));
    }
    match <[String; 1]>::try_from(keys) {
        Ok([key]) => Ok(key),
        Err(keys) => Err(Error::Refused(format!(
            "the run {name} was added {} times since the last commit ({}): remove all but one object of it",
            keys.len(),
            keys.join(", ")
        ))),
    }
}

/// Names do not matter for what is in a tile.
fn tile_key(inputs: &[(String, String)]) -> String {
    let mut text = format!("tile of e2bki maps, format {}", e2bki_store::FORMAT_VERSION);
    for (_, key) in inputs {
        text.push('\n');
        text.push_str(key);
    }
    digest(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn task(tile: Tile, pieces: usize, is_done: bool) -> Task {
        let inputs = (0..pieces).map(|i| (format!("run-{i}"), format!("{i}"))).collect();
        Task { tile, key: String::new(), inputs, is_done, before: None }
    }

    proptest! {
        /// Every tile is in one share, whoever is done already; no share has more than another by more than a block.
        #[test]
        fn shares_are_even_and_leave_nothing(
            tiles in prop::collection::btree_map((-20..20_i32, -20..20_i32), (1..9_usize, any::<bool>()), 1..80),
            parts in 1..6_usize,
        ) {
            let of = |done: bool| {
                let tasks = tiles.iter().map(|((x, y), (pieces, is_done))| task([*x, *y], *pieces, done && *is_done));
                Plan { parent: Manifest::default(), runs: Vec::new(), removed: Vec::new(), tasks: tasks.collect() }
            };
            let shares: Vec<Vec<Task>> = (0..parts).map(|part| of(false).share(part, parts)).collect();
            let mut all: Vec<Tile> = shares.iter().flatten().map(|task| task.tile).collect();
            all.sort_unstable();
            prop_assert_eq!(all, tiles.keys().map(|(x, y)| [*x, *y]).collect::<Vec<_>>());
            let load = |tasks: &[Task]| tasks.iter().map(|task| task.inputs.len()).sum::<usize>();
            let mut blocks: BTreeMap<[i32; 2], usize> = BTreeMap::new();
            for task in shares.iter().flatten() {
                *blocks.entry(task.block()).or_default() += task.inputs.len();
            }
            let loads: Vec<usize> = shares.iter().map(|share| load(share)).collect();
            let largest = blocks.values().max().copied().unwrap_or(0);
            prop_assert!(loads.iter().max().unwrap() - loads.iter().min().unwrap() <= largest, "{:?}", loads);
            // Later, when some are done, a share holds those of its tiles that are not.
            for (part, share) in shares.iter().enumerate() {
                let left: Vec<Tile> = of(true).share(part, parts).iter().map(|task| task.tile).collect();
                let open = |task: &&Task| !tiles[&(task.tile[0], task.tile[1])].1;
                prop_assert_eq!(left, share.iter().filter(open).map(|task| task.tile).collect::<Vec<_>>());
            }
        }
    }
}
