//! Records: a mark, a kind, a length, a hash and the bytes. They can be found in a file that has lost its index.

use super::hash;

/// Magic at the beginning of every record.
pub(super) const MARK: [u8; 8] = *b"\x89e2bki\r\n";

/// Bytes before a record's own.
pub(crate) const PREFIX: usize = 24;

/// The end mark: a mark, where the index is, and the hash of both.
pub(super) const END_MARK: [u8; 8] = *b"\x89e2bkiE\n";
pub(super) const END_LEN: usize = 24;

/// Kinds of records.
pub(super) const HEAD: [u8; 4] = *b"HEAD";
pub(super) const TILE: [u8; 4] = *b"TILE";
/// Counters of free space: after the tiles, if the map has any.
pub(super) const FREE: [u8; 4] = *b"FREE";
pub(super) const INDEX: [u8; 4] = *b"INDX";
const MANIFEST: [u8; 4] = *b"MANI";
/// What a submap added, and how it was packed at first.
const PART: [u8; 4] = *b"SUMS";
const OLD_PART: [u8; 4] = *b"PART";

/// A record around some bytes.
pub(super) fn wrap(kind: [u8; 4], bytes: &[u8]) -> Vec<u8> {
    let mut record = Vec::with_capacity(PREFIX + bytes.len());
    record.extend(prefix(kind, bytes.len() as u32, hash(bytes)));
    record.extend(bytes);
    record
}

/// What stands before so many bytes with that hash.
pub(super) fn prefix(kind: [u8; 4], len: u32, hash: u64) -> [u8; PREFIX] {
    let mut prefix = [0; PREFIX];
    prefix[..8].copy_from_slice(&MARK);
    prefix[8..12].copy_from_slice(&kind);
    prefix[12..16].copy_from_slice(&len.to_le_bytes());
    prefix[16..].copy_from_slice(&sealed(kind, hash).to_le_bytes());
    prefix
}

/// The length that a record's prefix declares, if it is one of that kind.
pub(super) fn declared(prefix: &[u8; PREFIX], kind: [u8; 4]) -> Result<usize, String> {
    if prefix[..8] != MARK {
        return Err("there is no record".into());
    }
    if prefix[8..12] != kind {
        return Err("there is a record of another kind".into());
    }
    Ok(u32::from_le_bytes([prefix[12], prefix[13], prefix[14], prefix[15]]) as usize)
}

/// Checks a record's bytes against its prefix.
pub(super) fn verify(prefix: &[u8; PREFIX], kind: [u8; 4], bytes: &[u8]) -> Result<(), String> {
    let mut stored = [0; 8];
    stored.copy_from_slice(&prefix[16..]);
    if u64::from_le_bytes(stored) == sealed(kind, hash(bytes)) { Ok(()) } else { Err("the hash does not match".into()) }
}

fn sealed(kind: [u8; 4], hash: u64) -> u64 {
    hash ^ u64::from(u32::from_le_bytes(kind))
}

/// The end mark of a file whose index begins at `index`.
pub(super) fn end(index: u64) -> [u8; END_LEN] {
    let mut end = [0; END_LEN];
    end[..8].copy_from_slice(&END_MARK);
    end[8..16].copy_from_slice(&index.to_le_bytes());
    let sum = hash(&end[..16]);
    end[16..].copy_from_slice(&sum.to_le_bytes());
    end
}

/// Where the index begins, if this is an end mark.
pub(super) fn index_of_end(bytes: &[u8; END_LEN]) -> Option<u64> {
    let mut index = [0; 8];
    index.copy_from_slice(&bytes[8..16]);
    let index = u64::from_le_bytes(index);
    (end(index) == *bytes).then_some(index)
}

/// The manifest of a folder: a record that is a file.
pub(crate) fn wrap_manifest(text: &[u8]) -> Vec<u8> {
    wrap(MANIFEST, text)
}

/// The text of a manifest.
pub(crate) fn unwrap_manifest(bytes: &[u8]) -> Result<&[u8], String> {
    unwrap(MANIFEST, bytes)
}

/// What a submap added: a record that is a file.
pub(crate) fn wrap_part(bytes: &[u8]) -> Vec<u8> {
    wrap(PART, bytes)
}

/// The bytes of what a submap added, and whether they are packed as they were at first.
pub(crate) fn unwrap_part(bytes: &[u8]) -> Result<(&[u8], bool), String> {
    let old = bytes.get(8..12) == Some(&OLD_PART[..]);
    Ok((unwrap(if old { OLD_PART } else { PART }, bytes)?, old))
}

/// Counters of free space of a tile or a submap: a record that is a file.
pub(crate) fn wrap_free(bytes: &[u8]) -> Vec<u8> {
    wrap(FREE, bytes)
}

/// The bytes of such counters.
pub(crate) fn unwrap_free(bytes: &[u8]) -> Result<&[u8], String> {
    unwrap(FREE, bytes)
}

/// The bytes of a record that is a file.
fn unwrap(kind: [u8; 4], bytes: &[u8]) -> Result<&[u8], String> {
    let (prefix, text) = bytes.split_first_chunk::<PREFIX>().ok_or("it is too short")?;
    let len = declared(prefix, kind)?;
    if len != text.len() {
        return Err(format!("it has {} bytes instead of {len}", text.len()));
    }
    verify(prefix, kind, text)?;
    Ok(text)
}
