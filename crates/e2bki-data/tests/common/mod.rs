//! A table whose classes are the label ids themselves.

#![allow(dead_code)] // each test crate uses a part

use e2bki_data::ClassTable;

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
