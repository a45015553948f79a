//! Damaged, foreign and hostile files: an error, or exactly the same map; never a panic, never a different map.

use std::path::Path;

use crate::common::{drive, map_of};
use e2bki::{Config, PrimitiveState};
use e2bki_store::{Error, Folder, Header, MapFile, check, recover, save, save_with, write_atomically};
use proptest::prelude::*;

/// A map of a few tiles, as bytes, and what is in it.
pub(crate) fn sample() -> (Vec<u8>, Vec<PrimitiveState>) {
    sample_of(70, 120)
}

fn sample_of(frames: usize, points: usize) -> (Vec<u8>, Vec<PrimitiveState>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("map");
    let (map, _) = map_of(&drive(frames, points), &Config::default().with(|c| c.views.live_voxels = false));
    save_with(&map, &["drive".into()], &path).unwrap();
    // In a file rows are numbered tile by tile.
    let mut states: Vec<PrimitiveState> = map.states().collect();
    states.sort_by_key(|state| [0, 1].map(|i| state.sums.origin[i].div_euclid(32)));
    states.iter_mut().zip(0..).for_each(|(state, row)| state.id = row);
    (std::fs::read(&path).unwrap(), states)
}

fn sorted(mut states: Vec<PrimitiveState>) -> Vec<PrimitiveState> {
    states.sort_by_key(|state| state.id);
    states
}

/// What is read from bytes, if anything.
fn read(bytes: Vec<u8>) -> Result<Vec<PrimitiveState>, Error> {
    let mut file = MapFile::of_bytes(bytes, "map")?;
    Ok(sorted(file.read_tiles(|_| true)?))
}

#[test]
fn a_flipped_bit_anywhere_is_an_error_or_changes_nothing() {
    let (bytes, states) = sample_of(40, 40);
    let (mut refused, mut harmless) = (0, 0);
    // Both ends densely, where marks and lengths are; the rest in steps that meet every column and the index.
    let ends = (0..120).chain(bytes.len() - 120..bytes.len());
    for at in ends.chain((120..bytes.len() - 120).step_by(131)) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1 << (at % 8);
        match read(damaged) {
            Err(error) => {
                refused += 1;
                let text = error.to_string();
                assert!(text.contains("map") && !text.is_empty(), "{text}");
            }
            Ok(found) => {
                harmless += 1;
                assert_eq!(found, states, "byte {at} changed the map silently");
            }
        }
    }
    // Every byte is covered by a hash or compared with what it must be.
    assert_eq!(harmless, 0, "{refused} refused");
}

#[test]
fn a_file_cut_off_anywhere_is_refused_and_its_whole_tiles_are_recovered() {
    let (bytes, states) = sample();
    let folder = tempfile::tempdir().unwrap();
    let (cut, out) = (folder.path().join("cut"), folder.path().join("out"));
    for part in 0..40 {
        let len = bytes.len() * part / 40;
        assert!(read(bytes[..len].to_vec()).is_err(), "{len} of {} bytes", bytes.len());
        std::fs::write(&cut, &bytes[..len]).unwrap();
        match recover(&cut, &out) {
            Err(error) => assert!(part < 3, "{part}: {error}"),
            Ok(recovered) => {
                // Near the end only the footer is gone, and the index still tells that nothing else is.
                match recovered.rows_lost {
                    Some(lost) => assert_eq!(recovered.rows + lost, states.len() as u64),
                    None => assert!(!recovered.lost.is_empty()),
                }
                let found = sorted(MapFile::open(&out).unwrap().read_tiles(|_| true).unwrap());
                assert_eq!(found.len() as u64, recovered.rows);
                // What is left is numbered anew.
                let same =
                    |a: &PrimitiveState, b: &PrimitiveState| a.sums == b.sums && a.log_evidence == b.log_evidence;
                assert!(found.iter().all(|state| states.iter().any(|known| same(state, known))));
                assert!(check(&out).unwrap().findings.is_empty());
            }
        }
    }
}

#[test]
fn one_damaged_tile_costs_that_tile_and_the_loss_is_stated() {
    let (mut bytes, states) = sample();
    let file = MapFile::of_bytes(bytes.clone(), "map").unwrap();
    assert!(file.tiles().len() > 3);
    let victim = file.tiles()[1].clone();
    // In the middle of its columns, well after its record.
    bytes[(victim.offset + 900 + victim.bytes() / 2) as usize] ^= 4;
    let folder = tempfile::tempdir().unwrap();
    let (path, out) = (folder.path().join("map"), folder.path().join("saved"));
    std::fs::write(&path, &bytes).unwrap();
    let checked = check(&path).unwrap();
    assert_eq!(checked.findings.len(), 1);
    let text = checked.findings[0].to_string();
    assert!(text.contains(&format!("tile {:?}", victim.tile)) && text.contains("at byte"), "{text}");
    let recovered = recover(&path, &out).unwrap();
    assert_eq!(recovered.rows_lost, Some(u64::from(victim.rows)));
    assert_eq!(recovered.rows + u64::from(victim.rows), states.len() as u64);
    assert!(recovered.lost[0].contains(&format!("{:?}", victim.tile)), "{:?}", recovered.lost);
    assert!(check(&out).unwrap().findings.is_empty());
    // The record of a tile, the header and the index may go too: the tiles are still found.
    for start in [victim.offset, 4, bytes.len() as u64 - 40] {
        let mut worse = bytes.clone();
        worse[start as usize..start as usize + 30].fill(0xaa);
        std::fs::write(&path, &worse).unwrap();
        let recovered = recover(&path, &out).unwrap();
        assert_eq!(recovered.rows + u64::from(victim.rows), states.len() as u64);
    }
}

#[test]
fn foreign_newer_missing_and_forbidden_files_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let open = |path: &Path| MapFile::open(path).err().unwrap();
    assert!(matches!(open(&path), Error::Io { .. }));
    for bytes in [&b""[..], b"PAR1", b"ply\nformat ascii 1.0\n", &[0; 100], &[0xff; 5000], b"PAR1PAR1"] {
        std::fs::write(&path, bytes).unwrap();
        assert!(matches!(open(&path), Error::Foreign { .. }), "{bytes:?}");
    }
    assert!(matches!(open(folder.path()), Error::Foreign { .. }));
    let (map, _) = map_of(&drive(1, 100), &Config::default());
    let missing = folder.path().join("no-such-folder").join("map");
    assert!(save(&map, &missing).unwrap_err().to_string().contains("no-such-folder"));
    assert!(save(&map, folder.path()).is_err());
    // A newer version is refused by its number: the header's record is made anew with another version in it.
    save(&map, &path).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let newer = with_header(&bytes, |text| text.replace("\"version\":1,", "\"version\":7,"));
    let error = MapFile::of_bytes(newer, "map").err().unwrap();
    assert!(matches!(error, Error::Newer { found: 7, known: 1, .. }), "{error}");
    let other = with_header(&bytes, |text| text.replace("\"frames\":1,", "\"frames\":2,"));
    assert!(matches!(MapFile::of_bytes(other, "map").err().unwrap(), Error::Damaged { .. }));
}

/// The file with another header in its first record.
fn with_header(bytes: &[u8], change: impl Fn(&str) -> String) -> Vec<u8> {
    let len = u32::from_le_bytes([bytes[16], bytes[17], bytes[18], bytes[19]]) as usize;
    let text = change(std::str::from_utf8(&bytes[28..28 + len]).unwrap());
    assert_eq!(text.len(), len);
    let mut changed = bytes.to_vec();
    changed[28..28 + len].copy_from_slice(text.as_bytes());
    let sum = xxhash_rust::xxh3::xxh3_64(text.as_bytes()) ^ u64::from(u32::from_le_bytes(*b"HEAD"));
    changed[20..28].copy_from_slice(&sum.to_le_bytes());
    changed
}

#[cfg(unix)]
#[test]
fn a_full_disk_or_a_read_only_folder_loses_nothing() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("map");
    let (map, _) = map_of(&drive(2, 500), &Config::default());
    save(&map, &path).unwrap();
    let before = std::fs::read(&path).unwrap();
    // A disk that is full after so many bytes, wherever that is.
    for room in (0..before.len()).step_by(before.len() / 50) {
        let refused = write_atomically(&path, |out| {
            std::io::Write::write_all(out, &before[..room]).unwrap();
            Err::<(), _>(Error::Refused("the disk is full".into()))
        });
        assert!(refused.unwrap_err().to_string().contains("full"));
        assert_eq!(std::fs::read(&path).unwrap(), before);
    }
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o555)).unwrap();
    let refused = save(&map, &path);
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    // The superuser may write anywhere; everybody else is told.
    if let Err(error) = refused {
        assert!(error.to_string().contains("cannot create"), "{error}");
        assert_eq!(std::fs::read(&path).unwrap(), before);
    }
    assert_eq!(
        std::fs::read_dir(folder.path())
            .unwrap()
            .filter(|e| e.as_ref().unwrap().file_name().to_string_lossy().ends_with(".part"))
            .count(),
        0
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_bytes_are_no_map(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        prop_assert!(MapFile::of_bytes(bytes, "any").is_err());
    }

    #[test]
    fn any_change_of_many_bytes_is_noticed(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..30)) {
        static SAMPLE: std::sync::OnceLock<(Vec<u8>, Vec<PrimitiveState>)> = std::sync::OnceLock::new();
        let (bytes, states) = SAMPLE.get_or_init(sample);
        let mut damaged = bytes.clone();
        for (at, value) in changes {
            let at = at.index(damaged.len());
            damaged[at] = value;
        }
        if let Ok(found) = read(damaged) {
            prop_assert_eq!(&found, states);
        }
    }
}

#[test]
fn a_folder_without_its_manifest_or_with_a_damaged_tile_is_recovered() {
    let folder = tempfile::tempdir().unwrap();
    let (path, out) = (folder.path().join("map"), folder.path().join("out"));
    let (map, _) = map_of(&drive(70, 120), &Config::default());
    let mut store = Folder::create(&path, Header::of(&map, &[])).unwrap();
    store.save(&map).unwrap();
    assert!(check(&path).unwrap().findings.is_empty());
    std::fs::write(path.join("manifest.e2bki"), b"nonsense").unwrap();
    assert_eq!(check(&path).unwrap().findings.len(), 1);
    let recovered = recover(&path, &out).unwrap();
    assert_eq!(recovered.rows, map.len() as u64);
    assert!(MapFile::open(&out).unwrap().load().unwrap().states().eq(map.states()));
}

/// A folder of many tiles, of which one holds ids of another: its loss is counted to the primitive, and many tiles take no
/// longer than their number says.
#[test]
fn one_wrong_tile_of_many_is_counted_exactly_and_in_linear_time() {
    let folder = tempfile::tempdir().unwrap();
    let (path, out) = (folder.path().join("map"), folder.path().join("out"));
    let classes = e2bki::ClassSet::from_names(["road"]).unwrap();
    let state = |id: u64, x: i32| PrimitiveState {
        id,
        muted: false,
        sums: e2bki::primitive::Sums {
            origin: [x, 0, 0],
            weight: 2.0,
            first: [1.0, 1.0, 1.0],
            second: [1 << 31; 6],
            range: 8.0,
        },
        log_evidence: vec![1 << 32],
    };
    // Not a sum: those have no ids of their own in a folder.
    let config = Config::default().with(|c| (c.views.live_voxels, c.refinement.prune) = (false, true));
    let whole = |tiles: i32, config: Config| {
        let states = (0..tiles * 20).map(|i| state(i as u64, 32 * (i / 20))).collect();
        e2bki::Mapper::restore(classes.clone(), config, 1, 20 * tiles as u64, states).unwrap()
    };
    let map = whole(300, config.clone());
    Folder::create(&path, Header::of(&map, &[])).unwrap().save(&map).unwrap();
    // The tile of number 7 with seven of its ids taken from tile 8, whole in itself.
    let forged: Vec<PrimitiveState> = (0..20).map(|i| state(if i < 7 { 160 + i } else { 140 + i }, 32 * 7)).collect();
    let forged = e2bki::Mapper::restore(classes.clone(), config, 1, 20 * 300, forged).unwrap();
    let victim = std::fs::read_dir(&path).unwrap().flatten().map(|e| e.path());
    let victim = victim.into_iter().find(|p| p.to_string_lossy().contains("tile_7_0_")).unwrap();
    save(&forged, &victim).unwrap();
    assert!(!check(&path).unwrap().findings.is_empty());
    let begun = std::time::Instant::now();
    let recovered = recover(&path, &out).unwrap();
    assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
    assert_eq!((recovered.rows, recovered.rows_lost), (300 * 20 - 7, Some(7)));
    assert_eq!(recovered.lost.len(), 1, "{:?}", recovered.lost);
    assert!(check(&out).unwrap().findings.is_empty());
    // A tile that is gone is as many primitives as the manifest says.
    std::fs::remove_file(&victim).unwrap();
    let recovered = recover(&path, &out).unwrap();
    assert_eq!((recovered.rows, recovered.rows_lost), (299 * 20, Some(20)));
}
