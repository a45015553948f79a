//! Where real data is, and a table whose classes are the label ids themselves.

#![allow(dead_code)] // each test crate uses a part

use std::path::PathBuf;

use e2bki_data::ClassTable;

/// A folder of the real data; says in one line that a test is skipped where it is absent.
pub(crate) fn real(folder: &str) -> Option<PathBuf> {
    let root = std::env::var_os("E2BKI_DATA")
        .map_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data")), PathBuf::from);
    let path = root.join(folder);
    if !path.is_dir() {
        println!("skipped: no {folder} in E2BKI_DATA or ../shared/data");
        return None;
    }
    Some(path)
}

/// Classes 0, 1, 2, … that are the ids of a space.
pub(crate) fn raw(space: &str, count: u32) -> ClassTable {
    let class = |i| format!("[[class]]\nname = \"{i}\"\n{space} = [{i}]\n");
    let text = format!("name = \"raw\"\n{}", (0..count).map(class).collect::<String>());
    ClassTable::from_toml(&text, "raw").unwrap()
}

/// Share of equal values.
pub(crate) fn agreement(a: &[u32], b: &[u32]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).filter(|(a, b)| a == b).count() as f64 / a.len() as f64
}
