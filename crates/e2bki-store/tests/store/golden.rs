//! Files of every format version stay readable for ever: what was in them then is in them now.

use std::path::PathBuf;

use crate::common::{classes, frame, mapper};
use e2bki::{Config, Mapper};
use e2bki_store::{MapFile, check, load, save_with};

fn golden() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/version-1.e2bki")
}

/// The map that was saved.
fn original() -> Mapper {
    let mut map = mapper(&Config::default().with(|c| c.fusion.gated = e2bki::config::Gated::Mute));
    for i in 0..3 {
        map.insert(&frame(40 + i, i as f64 * 30.0, 60).borrow()).unwrap();
    }
    map
}

/// Writes the golden file, once for each format version.
#[test]
#[ignore = "writes the golden file of the current version"]
fn write_the_golden_file() {
    save_with(&original(), &["golden drive".into(), "second source".into()], golden()).unwrap();
}

#[test]
fn version_1_is_read_as_it_was_written() {
    assert!(check(golden()).unwrap().findings.is_empty());
    let file = MapFile::open(golden()).unwrap();
    assert_eq!(file.header().sources, ["golden drive", "second source"]);
    assert_eq!(file.header().classes, classes());
    let config = &file.header().config;
    assert_eq!((config.fusion.correlation, config.kernel.uncertainty_sensitivity), (0.4, 0.75));
    assert_eq!(config.fusion.gated, e2bki::config::Gated::Mute);
    assert_eq!((file.rows(), file.tiles().len(), file.header().frames), (179, 8, 3));
    let map = load(golden()).unwrap();
    let mut sum = xxhash_rust::xxh3::Xxh3::new();
    for state in map.states() {
        sum.update(&state.id.to_le_bytes());
        sum.update(&[u8::from(state.muted)]);
        state.sums.origin.iter().for_each(|v| sum.update(&v.to_le_bytes()));
        let sums = &state.sums;
        let second = sums.second.map(|v| v as f64 / 4_294_967_296.0);
        let evidence = state.log_evidence_f64();
        for value in sums.first.iter().chain(&second).chain([&sums.weight, &sums.range]).chain(&evidence) {
            sum.update(&value.to_le_bytes());
        }
    }
    assert_eq!(sum.digest(), 0xb2f2_1837_d6ea_43de, "the contents of the golden file");
}
