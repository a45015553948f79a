//! Checksums made right again: a fuzzer that changes a byte would not get past them.

use e2bki_store::TileInfo;
use serde_json::{Value, json};
use xxhash_rust::xxh3::xxh3_64;

const MARK: &[u8] = b"\x89e2bki\r\n";
const END_MARK: &[u8] = b"\x89e2bkiE\n";
const PREFIX: usize = 24;

fn record(kind: &[u8; 4], text: &[u8]) -> Vec<u8> {
    let sum = xxh3_64(text) ^ u64::from(u32::from_le_bytes(*kind));
    [MARK, kind, &(text.len() as u32).to_le_bytes(), &sum.to_le_bytes(), text].concat()
}

/// The kind, the text and the end of the record at a place; the text is as long as the file allows.
fn record_at(bytes: &[u8], at: usize) -> Option<([u8; 4], &[u8], usize)> {
    let rest = bytes.get(at..)?.strip_prefix(MARK)?;
    let (kind, rest) = rest.split_first_chunk::<4>()?;
    let (length, rest) = rest.split_first_chunk::<4>()?;
    let text = rest.get(8..)?;
    let length = (u32::from_le_bytes(*length) as usize).min(text.len());
    Some((*kind, &text[..length], at + PREFIX + length))
}

/// A map file of the same records with all hashes, lengths and places as they should be; nothing if there is no header.
pub(crate) fn map(bytes: &[u8]) -> Option<Vec<u8>> {
    let (_, header, mut at) = record_at(bytes, 4)?;
    let mut out = b"PAR1".to_vec();
    out.extend(record(b"HEAD", header));
    let mut tiles: Vec<Value> = Vec::new();
    while let Some((kind, text, columns)) = record_at(bytes, at) {
        if kind == *b"INDX" {
            at = columns;
            break;
        }
        let Ok(mut info) = serde_json::from_slice::<TileInfo>(text) else { break };
        let length = usize::try_from(info.bytes()).unwrap_or(usize::MAX).min(bytes.len() - columns);
        let data = &bytes[columns..columns + length];
        (info.offset, info.hash) = (out.len() as u64, xxh3_64(data));
        let info = serde_json::to_value(&info).ok()?;
        out.extend(record(b"TILE", info.to_string().as_bytes()));
        out.extend(data);
        tiles.push(info);
        at = columns + length;
    }
    // The footer is for other programs: ours only holds it against its hash.
    let footer = bytes.get(at..).and_then(|rest| rest.strip_prefix(END_MARK)).unwrap_or_default();
    let footer = footer.get(16..footer.len().saturating_sub(8)).unwrap_or_default();
    let index = json!({
        "header": String::from_utf8_lossy(header), "footer_hash": xxh3_64(footer), "footer_len": footer.len(), "tiles": tiles,
    });
    let mut end = [END_MARK, &(out.len() as u64).to_le_bytes()].concat();
    end.extend(xxh3_64(&end).to_le_bytes());
    out.extend(record(b"INDX", index.to_string().as_bytes()));
    out.extend(end);
    out.extend(footer);
    out.extend((footer.len() as u32).to_le_bytes());
    out.extend(b"PAR1");
    Some(out)
}

/// What a submap added, as the record that its file is.
pub(crate) fn submap(text: &[u8]) -> Vec<u8> {
    record(b"SUMS", text)
}

/// An archive in which the sum of every entry that can be found is right; nothing if there is no directory.
pub(crate) fn zip(bytes: &[u8]) -> Option<Vec<u8>> {
    let end = bytes.windows(4).rposition(|window| window == b"PK\x05\x06")?;
    let mut out = bytes.to_vec();
    let word = |at: usize| Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?) as usize);
    let half = |at: usize| Some(usize::from(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?)));
    let mut at = word(end + 16)?;
    while bytes.get(at..).is_some_and(|rest| rest.starts_with(b"PK\x01\x02")) {
        let (Some(size), Some(local), Some(name)) = (word(at + 24), word(at + 42), half(at + 28)) else { break };
        let (Some(a), Some(b)) = (half(local + 26), half(local + 28)) else { break };
        let start = local + 30 + a + b;
        if let (Some(data), Some(place)) = (bytes.get(start..start.saturating_add(size)), out.get_mut(at + 16..at + 20))
        {
            place.copy_from_slice(&crc32fast::hash(data).to_le_bytes());
        }
        let (Some(extra), Some(comment)) = (half(at + 30), half(at + 32)) else { break };
        at += 46 + name + extra + comment;
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_map_is_as_it_was_and_a_changed_one_is_read() {
        let golden =
            std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/e2bki-store/tests/golden/version-1.e2bki"));
        let golden = golden.unwrap();
        let open = |bytes: Vec<u8>| e2bki_store::MapFile::of_bytes(bytes, "test");
        assert!(open(golden.clone()).is_ok());
        assert!(open(map(&golden).unwrap()).unwrap().load().is_ok());
        // One digit of the header: refused because of the hash, and with right hashes read.
        let mut changed = golden.clone();
        let at = golden.windows(9).position(|w| w == b"\"frames\":").unwrap() + 9;
        changed[at] = if golden[at] == b'7' { b'8' } else { b'7' };
        assert!(open(changed.clone()).is_err());
        assert!(open(map(&changed).unwrap()).unwrap().header().frames != open(golden).unwrap().header().frames);
    }
}
