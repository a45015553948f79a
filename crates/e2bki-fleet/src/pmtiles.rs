//! PMTiles, version 3: a pyramid of pictures in one file, read by ranges.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

/// Bytes of the header.
const HEADER: usize = 127;
/// The header and the first directory lie within the first bytes that a reader asks for.
const FIRST: usize = 16_384;
/// Entries of a directory below the first.
const LEAF: usize = 4096;

/// Where the bytes of a picture are, relative to the first picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) id: u64,
    pub(crate) offset: u64,
    pub(crate) length: u32,
    /// Pictures that it stands for; 0 in entries that name a directory.
    pub(crate) run: u32,
}

/// What a file is about.
pub(crate) struct About {
    pub(crate) zooms: [u8; 2],
    /// West, south, east, north, degrees.
    pub(crate) bounds: [f64; 4],
    pub(crate) metadata: String,
}

/// The number of a tile among all of all zooms: zoom by zoom, along a Hilbert curve.
pub(crate) fn tile_id(zoom: u8, mut x: u32, mut y: u32) -> u64 {
    let before = ((1_u64 << (2 * zoom.min(31))) - 1) / 3;
    let last = (1_u32 << zoom.min(31)) - 1;
    let mut along = 0;
    for bit in (0..zoom.min(31)).rev() {
        let (right, down) = (x >> bit & 1, y >> bit & 1);
        along += u64::from((3 * right) ^ down) << (2 * bit);
        if down == 0 {
            if right == 1 {
                (x, y) = (last - x, last - y);
            }
            (x, y) = (y, x);
        }
    }
    before + along
}

/// Everything of a file before its pictures: `entries` by ascending id, of pictures that follow one another.
pub(crate) fn front(entries: &[Entry], about: &About) -> std::io::Result<Vec<u8>> {
    let (root, leaves) = directories(entries)?;
    let metadata = gzip(about.metadata.as_bytes())?;
    let at = |lengths: &[usize]| (HEADER + lengths.iter().sum::<usize>()) as u64;
    let data: u64 = entries.iter().map(|entry| entry.offset + u64::from(entry.length)).max().unwrap_or(0);
    let count = entries.len() as u64;
    let mut bytes = b"PMTiles\x03".to_vec();
    let places = [
        at(&[]),
        root.len() as u64,
        at(&[root.len()]),
        metadata.len() as u64,
        at(&[root.len(), metadata.len()]),
        leaves.len() as u64,
        at(&[root.len(), metadata.len(), leaves.len()]),
        data,
        count,
        count,
        count,
    ];
    places.iter().for_each(|v| bytes.extend(v.to_le_bytes()));
    const CLUSTERED: u8 = 1;
    const GZIP: u8 = 2;
    const AS_IT_IS: u8 = 1;
    const PNG: u8 = 2;
    bytes.extend([CLUSTERED, GZIP, AS_IT_IS, PNG, about.zooms[0], about.zooms[1]]);
    let degrees = |v: f64| ((v * 1e7).round() as i32).to_le_bytes();
    about.bounds.iter().for_each(|v| bytes.extend(degrees(*v)));
    let [west, south, east, north] = about.bounds;
    bytes.push(about.zooms[1].saturating_sub(2).max(about.zooms[0]));
    bytes.extend(degrees((west + east) / 2.0));
    bytes.extend(degrees((south + north) / 2.0));
    bytes.extend(root);
    bytes.extend(metadata);
    bytes.extend(leaves);
    Ok(bytes)
}

/// The first directory, and those that it names if all entries do not fit into it.
fn directories(entries: &[Entry]) -> std::io::Result<(Vec<u8>, Vec<u8>)> {
    let root = directory(entries)?;
    let mut size = LEAF;
    if HEADER + root.len() <= FIRST {
        return Ok((root, Vec::new()));
    }
    loop {
        let (mut named, mut leaves) = (Vec::new(), Vec::new());
        for part in entries.chunks(size) {
            let bytes = directory(part)?;
            named.push(Entry { id: part[0].id, offset: leaves.len() as u64, length: bytes.len() as u32, run: 0 });
            leaves.extend(bytes);
        }
        let root = directory(&named)?;
        if HEADER + root.len() <= FIRST {
            return Ok((root, leaves));
        }
        size *= 2;
    }
}

/// Entries column by column: differences of ids, runs, lengths, and places, where 0 follows the one before.
fn directory(entries: &[Entry]) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    put(&mut bytes, entries.len() as u64);
    let mut last = 0;
    for entry in entries {
        put(&mut bytes, entry.id - last);
        last = entry.id;
    }
    entries.iter().for_each(|entry| put(&mut bytes, u64::from(entry.run)));
    entries.iter().for_each(|entry| put(&mut bytes, u64::from(entry.length)));
    let mut next = None;
    for entry in entries {
        put(&mut bytes, if next == Some(entry.offset) { 0 } else { entry.offset + 1 });
        next = Some(entry.offset + u64::from(entry.length));
    }
    gzip(&bytes)
}

/// Seven bits to a byte, the lowest first.
fn put(bytes: &mut Vec<u8>, mut value: u64) {
    while value > 0x7f {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn gzip(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::new(6));
    encoder.write_all(bytes)?;
    encoder.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_follow_the_curve() {
        // The values of the specification.
        let known = [((0, 0, 0), 0), ((1, 0, 0), 1), ((1, 0, 1), 2), ((1, 1, 1), 3), ((1, 1, 0), 4), ((2, 0, 0), 5)];
        known.iter().for_each(|((z, x, y), id)| assert_eq!(tile_id(*z, *x, *y), *id, "{z} {x} {y}"));
        assert_eq!(tile_id(12, 3423, 1763), 19_078_479);
        // Every number once, and neighbours on the curve are neighbours on the ground.
        let mut all: Vec<(u64, u32, u32)> =
            (0..32).flat_map(|x| (0..32).map(move |y| (tile_id(5, x, y), x, y))).collect();
        all.sort_unstable();
        assert!(all.iter().zip(341..).all(|((id, ..), expected)| *id == expected));
        assert!(all.windows(2).all(|w| w[0].1.abs_diff(w[1].1) + w[0].2.abs_diff(w[1].2) == 1));
    }

    #[test]
    fn many_entries_are_in_directories_below_the_first() {
        let entry =
            |i: u64| Entry { id: 7 * i * i, offset: 1000 * i + i % 3, length: 900 + (i * i % 97) as u32, run: 1 };
        let entries: Vec<Entry> = (0..60_000).map(entry).collect();
        let (root, leaves) = directories(&entries).unwrap();
        assert!(HEADER + root.len() <= FIRST && !leaves.is_empty());
        let (root, leaves) = directories(&entries[..10]).unwrap();
        assert!(!root.is_empty() && leaves.is_empty());
    }
}
