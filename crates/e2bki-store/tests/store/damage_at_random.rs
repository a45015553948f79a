//! Maps damaged in many ways at random: what is recovered was in the map, what is whole is recovered, and the loss is stated.
//!
//! `E2BKI_DAMAGES` sets how many of each kind (default 60): `E2BKI_DAMAGES=1000 cargo test -p e2bki-store --test store damage_at_random`.

use std::collections::HashSet;
use std::path::Path;

use e2bki::random::Rng;
use e2bki::{Config, PrimitiveState};
use e2bki_store::{Folder, Header, MapFile, Recovered, check, recover};

use crate::common::{drive, map_of};
use crate::damage::sample;

fn damages() -> u64 {
    std::env::var("E2BKI_DAMAGES").ok().and_then(|text| text.parse().ok()).unwrap_or(60)
}

/// What makes a primitive the one it is, without its number.
type Contents = (String, Vec<i64>);

fn contents(state: &PrimitiveState) -> Contents {
    (format!("{:?}", state.sums), state.log_evidence.clone())
}

/// Damages bytes in one to three of the ways that disks, cables and editors have; returns the first and last byte concerned,
/// and whether everything behind moved.
fn damage(bytes: &mut Vec<u8>, random: &mut Rng) -> (usize, usize, bool) {
    let (mut first, mut last, mut moved) = (usize::MAX, 0, false);
    for _ in 0..1 + random.below(3) {
        let mut below = |bound: usize| random.below(bound.max(1));
        let at = below(bytes.len());
        let longest = 1 << (1 + below(12));
        let len = (1 + below(longest)).min(bytes.len() - at);
        match below(7) {
            0 => bytes[at] ^= 1_u8 << below(8),
            1 => bytes[at..at + len].fill(0),
            2 => bytes[at..at + len].iter_mut().for_each(|byte| *byte = below(256) as u8),
            3 => {
                bytes.truncate(at.max(1));
                last = usize::MAX;
            }
            4 => {
                bytes.drain(at..at + len);
                moved = true;
            }
            5 => {
                bytes.splice(at..at, vec![0xaa; len]);
                moved = true;
            }
            _ => {
                // A block that was written twice.
                let copy = bytes[at..at + len].to_vec();
                let to = below(bytes.len() - len + 1);
                bytes[to..to + len].copy_from_slice(&copy);
                (first, last) = (first.min(to), last.max(to + len));
            }
        }
        (first, last) = (first.min(at), last.max(at + len));
        if bytes.is_empty() {
            break;
        }
    }
    (first, last, moved)
}

/// Holds a recovery to the truth; returns what was recovered.
fn is_truthful(recovered: &Recovered, out: &Path, known: &HashSet<Contents>, round: u64) -> HashSet<Contents> {
    let states = MapFile::open(out).unwrap().read_tiles(|_| true).unwrap();
    let found: HashSet<Contents> = states.iter().map(contents).collect();
    assert_eq!((states.len() as u64, found.len()), (recovered.rows, states.len()), "round {round}: counted twice");
    assert!(found.is_subset(known), "round {round}: something that was never in the map");
    match recovered.rows_lost {
        Some(lost) => assert_eq!(recovered.rows + lost, known.len() as u64, "round {round}: {:?}", recovered.lost),
        None => assert!(!recovered.lost.is_empty(), "round {round}"),
    }
    let missing = known.len() as u64 - recovered.rows;
    assert!(missing == 0 || !recovered.lost.is_empty(), "round {round}: {missing} primitives lost in silence");
    assert!(check(out).unwrap().findings.is_empty(), "round {round}");
    found
}

#[test]
fn files_give_what_is_whole_and_state_the_rest() {
    let (bytes, states) = sample();
    let known: HashSet<Contents> = states.iter().map(contents).collect();
    assert_eq!(known.len(), states.len());
    let mut file = MapFile::of_bytes(bytes.clone(), "map").unwrap();
    let tiles = file.tiles().to_vec();
    let parts: Vec<(u64, u64, HashSet<Contents>)> = tiles
        .iter()
        .enumerate()
        .map(|(i, info)| {
            let end = tiles.get(i + 1).map_or(info.offset + 4096 + info.bytes(), |next| next.offset);
            let held = file.read_tiles(|other| other.offset == info.offset).unwrap();
            (info.offset, end, held.iter().map(contents).collect())
        })
        .collect();
    let folder = tempfile::tempdir().unwrap();
    let (path, out) = (folder.path().join("map"), folder.path().join("out"));
    let (mut refused, mut whole) = (0, 0);
    for round in 0..damages() {
        let mut random = Rng::new(round);
        let mut damaged = bytes.clone();
        let (first, last, moved) = damage(&mut damaged, &mut random);
        std::fs::write(&path, &damaged).unwrap();
        let untouched = |from: u64, to: u64| {
            let (first, last) = (first as u64, last as u64);
            to <= first || (!moved && from >= last)
        };
        match recover(&path, &out) {
            Ok(recovered) => {
                let found = is_truthful(&recovered, &out, &known, round);
                for (from, to, held) in parts.iter().filter(|(from, to, _)| untouched(*from, *to)) {
                    whole += 1;
                    assert!(held.is_subset(&found), "round {round}: the tile at bytes {from} to {to} was whole");
                }
            }
            Err(error) => {
                refused += 1;
                // Nothing can be saved without any header, of which the end of the file has a copy.
                let header = parts[0].0;
                assert!(!untouched(0, header) && last as u64 >= parts.last().unwrap().0, "round {round}: {error}");
            }
        }
    }
    assert!(whole > damages() / 2 && refused < damages() / 2, "{whole} whole tiles, {refused} refused");
}

#[test]
fn folders_give_what_is_whole_and_state_the_rest() {
    let folder = tempfile::tempdir().unwrap();
    let (path, copy, out) = (folder.path().join("map"), folder.path().join("copy"), folder.path().join("out"));
    let (map, _) = map_of(&drive(70, 120), &Config::default());
    Folder::create(&path, Header::of(&map, &[])).unwrap().save(&map).unwrap();
    let known: HashSet<Contents> = map.states().map(|state| contents(&state)).collect();
    let files: Vec<_> = {
        let mut files: Vec<_> = std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        files.sort();
        files
    };
    let mut recoveries = 0;
    for round in 0..damages() {
        let mut random = Rng::new(round);
        std::fs::remove_dir_all(&copy).ok();
        std::fs::create_dir(&copy).unwrap();
        let victim = random.below(files.len());
        let mut spared = HashSet::new();
        for (i, name) in files.iter().enumerate() {
            let mut bytes = std::fs::read(path.join(name)).unwrap();
            if i == victim {
                if random.below(4) == 0 {
                    continue;
                }
                damage(&mut bytes, &mut random);
            } else if name.to_string_lossy().starts_with("tile_") {
                let held = MapFile::open(path.join(name)).unwrap().read_tiles(|_| true).unwrap();
                spared.extend(held.iter().map(contents));
            }
            std::fs::write(copy.join(name), bytes).unwrap();
        }
        let recovered = recover(&copy, &out).unwrap();
        let found = is_truthful(&recovered, &out, &known, round);
        assert!(spared.is_subset(&found), "round {round}: a tile that was not touched");
        recoveries += 1;
    }
    assert_eq!(recoveries, damages());
}
