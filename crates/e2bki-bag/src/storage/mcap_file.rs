//! MCAP files. Records are walked once from the front, which also reads files whose recorder was killed.

use std::collections::BTreeMap;
use std::path::Path;

use super::chunks::{Bytes, Chunk, Chunks, Compression};
use super::{Channel, Contents, Found, MOST_BYTES, Place, Storage};
use crate::error::{Error, Result};
use crate::wire::{Broken, Reader, Wire};

pub(crate) const MAGIC: &[u8; 8] = b"\x89MCAP0\r\n";

const FOOTER: u8 = 2;
const SCHEMA: u8 = 3;
const CHANNEL: u8 = 4;
const MESSAGE: u8 = 5;
const CHUNK: u8 = 6;
const STATISTICS: u8 = 11;
const DATA_END: u8 = 15;

/// Chunks that are decompressed at once, and bytes after which no further one is.
const AT_ONCE: usize = 8;
const MOST_AT_ONCE: u64 = 64 << 20;

/// Bytes of the last record, with where the summary is and its checksum, and of what the file ends with.
const FOOT: u64 = 37;

/// Bytes of a record before its contents: kind and length.
const HEAD: u64 = 9;

/// What was seen so far.
#[derive(Default)]
struct Index {
    schemas: BTreeMap<u16, String>,
    /// Channel ids of the file, with our numbers; none for channels that are not CDR.
    numbers: BTreeMap<u16, Option<u32>>,
    channels: Vec<Channel>,
    messages: Vec<Found>,
    /// Messages, also of channels that are not read.
    seen: u64,
    others: BTreeMap<String, String>,
    wire: Option<Wire>,
}

impl Index {
    fn take(&mut self, kind: u8, body: &[u8], start: u64, chunk: u64) -> std::result::Result<(), String> {
        match kind {
            SCHEMA => self.schema(body).map_err(|e| format!("a schema: {e}")),
            CHANNEL => self.channel(body).map_err(|e| format!("a channel: {e}")),
            MESSAGE => self.message(body, start, chunk),
            _ => Ok(()),
        }
    }

    fn schema(&mut self, body: &[u8]) -> std::result::Result<(), Broken> {
        // Records of MCAP are packed and little-endian, as messages of ROS 1 are.
        let mut fields = Reader::new(Wire::Ros1, body)?;
        let (id, name) = (fields.u16()?, fields.text()?);
        self.schemas.insert(id, name.to_string());
        Ok(())
    }

    fn channel(&mut self, body: &[u8]) -> std::result::Result<(), Broken> {
        let mut fields = Reader::new(Wire::Ros1, body)?;
        let (id, schema) = (fields.u16()?, fields.u16()?);
        let (topic, encoding) = (fields.text()?.to_string(), fields.text()?.to_string());
        if self.numbers.contains_key(&id) {
            return Ok(());
        }
        let wire = match encoding.as_str() {
            "cdr" => Some(Wire::Cdr),
            "ros1" => Some(Wire::Ros1),
            _ => None,
        };
        let fits = wire.is_some() && self.wire.is_none_or(|known| Some(known) == wire);
        if !fits {
            self.others.insert(topic, encoding);
            self.numbers.insert(id, None);
            return Ok(());
        }
        self.wire = wire;
        self.numbers.insert(id, Some(self.channels.len() as u32));
        let kind = self.schemas.get(&schema).cloned().unwrap_or_default();
        self.channels.push(Channel { topic, kind });
        Ok(())
    }

    fn message(&mut self, body: &[u8], start: u64, chunk: u64) -> std::result::Result<(), String> {
        // Channel, sequence number, time of logging, time of publishing; then the message itself.
        let Some((head, data)) = body.split_at_checked(22) else { return Err("a message is cut short".into()) };
        let id = u16::from_le_bytes([head[0], head[1]]);
        self.seen += 1;
        let mut time = [0; 8];
        time.copy_from_slice(&head[6..14]);
        match self.numbers.get(&id) {
            None => Err(format!("a message of channel {id}, which was not announced")),
            Some(None) => Ok(()),
            Some(Some(channel)) => {
                let start = u32::try_from(start + 22).map_err(|_| "a chunk of more than 4 GB".to_string())?;
                let place = Place { chunk, start, len: data.len() as u32 };
                self.messages.push(Found { channel: *channel, time: u64::from_le_bytes(time), place });
                Ok(())
            }
        }
    }
}

/// Walks the records of a file.
pub(crate) fn open(path: &Path, bytes: Bytes) -> Result<Contents> {
    let mut file = Chunks::new(path, bytes);
    if file.bytes.read(path, 0, 8.min(file.bytes.len()))? != MAGIC {
        return Err(Error::malformed(path, "it does not begin as an MCAP file does"));
    }
    let (mut at, end) = (MAGIC.len() as u64, file.bytes.len());
    let mut index = Index::default();
    let mut notes = Vec::new();
    let mut complete = false;
    let mut waiting = Vec::new();
    while at + HEAD <= end {
        let head = file.bytes.read(path, at, HEAD)?;
        let kind = head[0];
        let mut length = [0; 8];
        length.copy_from_slice(&head[1..9]);
        let length = u64::from_le_bytes(length);
        let start = at + HEAD;
        let Some(next) = start.checked_add(length).filter(|next| *next <= end) else { break };
        let bad = |what: String| Error::malformed(path, format!("at byte {at}: {what}"));
        match kind {
            DATA_END => {
                complete = true;
                break;
            }
            CHUNK => {
                let chunk = chunk_at(&file, path, start, length)?;
                waiting.push((file.chunks.len(), at));
                file.chunks.push(chunk);
                if waiting.len() == AT_ONCE || file.announced(waiting.iter().map(|(number, _)| *number)) > MOST_AT_ONCE
                {
                    walk(&file, &mut waiting, &mut index, &mut notes);
                }
            }
            SCHEMA | CHANNEL | MESSAGE if length > MOST_BYTES => {
                return Err(bad(format!("a record of {length} bytes; at most {MOST_BYTES} are read")));
            }
            SCHEMA | CHANNEL | MESSAGE => {
                // What chunks announce comes before what follows them.
                walk(&file, &mut waiting, &mut index, &mut notes);
                let body = file.bytes.read(path, start, length)?;
                index.take(kind, &body, 0, file.chunks.len() as u64).map_err(bad)?;
                if kind == MESSAGE {
                    // A message outside of chunks is a chunk of its own.
                    let whole =
                        Chunk { offset: start, stored: length, size: length, compression: Compression::None, crc: 0 };
                    file.chunks.push(whole);
                }
            }
            _ => {}
        }
        at = next;
    }
    walk(&file, &mut waiting, &mut index, &mut notes);
    // A damaged chunk has been told of already.
    if complete && notes.is_empty() {
        let damage = match announced(&file, path) {
            Ok(Some(messages)) if messages != index.seen => {
                Some(format!("it announces {messages} messages and {} were found", index.seen))
            }
            Ok(_) => None,
            Err(what) => Some(what),
        };
        notes.extend(damage.map(|what| format!("{} is damaged: {what}", path.display())));
    }
    if !complete {
        notes.push(format!(
            "{} ends without its last records, as when a recorder is killed: what is there is used",
            path.display()
        ));
    }
    for (topic, encoding) in index.others {
        notes.push(format!("{topic} is encoded as `{encoding}` and left out; only cdr and ros1 are read"));
    }
    let (wire, channels, messages) = (index.wire.unwrap_or(Wire::Cdr), index.channels, index.messages);
    Ok(Contents { wire, channels, messages, notes, storage: Storage::Chunks(file) })
}

/// How many messages there are by the statistics in the summary at the end; nothing where there are none.
fn announced(file: &Chunks, path: &Path) -> std::result::Result<Option<u64>, String> {
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
    let end = file.bytes.len();
    let last = end.checked_sub(FOOT).ok_or("its last records are cut off")?;
    let foot = file.bytes.read(path, last, FOOT).map_err(|e| e.to_string())?;
    if foot[0] != FOOTER || !foot.ends_with(MAGIC) {
        return Err("its last bytes are not those of an MCAP file".into());
    }
    let (start, crc) = (number(&foot[9..17]), number(&foot[25..29]));
    if start == 0 {
        return Ok(None);
    }
    let size = last.checked_sub(start).filter(|size| *size <= MOST_BYTES).ok_or("its summary is nowhere")?;
    let summary = file.bytes.read(path, start, size).map_err(|e| e.to_string())?;
    let mut sum = crc32fast::Hasher::new();
    sum.update(&summary);
    sum.update(&foot[..25]);
    if crc != 0 && u64::from(sum.finalize()) != crc {
        return Err("the checksum of its summary is wrong".into());
    }
    let mut messages = None;
    records_of(&summary, |kind, body, _| {
        if kind == STATISTICS {
            messages = Some(number(body.get(..8).ok_or("its statistics are cut short")?));
        }
        Ok(())
    })?;
    Ok(messages)
}

/// Takes the records of chunks that wait, each with its number and the byte at which it begins, in their order. A damaged chunk costs its
/// messages, not the recording.
fn walk(file: &Chunks, waiting: &mut Vec<(usize, u64)>, index: &mut Index, notes: &mut Vec<String>) {
    let numbers: Vec<usize> = waiting.iter().map(|(number, _)| *number).collect();
    for (inside, (number, at)) in file.decompressed_at_once(&numbers).into_iter().zip(waiting.drain(..)) {
        let bad = |what: String| Error::malformed(&file.path, format!("at byte {at}: {what}"));
        let walked = inside.and_then(|inside| {
            records_of(&inside, |kind, body, from| index.take(kind, body, from, number as u64)).map_err(bad)
        });
        if let Err(error) = walked {
            notes.push(format!("{error}; its messages are left out"));
        }
    }
}

/// The chunk whose record's contents begin at a byte. Only its header is read.
fn chunk_at(file: &Chunks, path: &Path, start: u64, length: u64) -> Result<Chunk> {
    let bad = |what: &str| Error::malformed(path, format!("the chunk at byte {start}: {what}"));
    // Times of the first and last message, size, CRC, name of the compression, stored bytes.
    let head = file.bytes.read(path, start, length.min(32 + 64 + 8))?;
    let number = |at: usize, count: usize| -> Result<u64> {
        let bytes = head.get(at..at + count).ok_or_else(|| bad("its header is cut short"))?;
        Ok(bytes.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
    };
    let (size, crc, name) = (number(16, 8)?, number(24, 4)? as u32, number(28, 4)? as usize);
    if name > 64 {
        return Err(bad("the name of its compression is too long"));
    }
    let text = head.get(32..32 + name).and_then(|text| std::str::from_utf8(text).ok());
    let text = text.ok_or_else(|| bad("the name of its compression is not text"))?;
    let compression = Compression::from_name(text)
        .ok_or_else(|| bad(&format!("compression `{text}`; none, zstd, lz4 and bz2 are read")))?;
    let stored = number(32 + name, 8)?;
    let data = 32 + name as u64 + 8;
    if data.checked_add(stored).is_none_or(|end| end > length) {
        return Err(bad("its contents are longer than its record"));
    }
    Ok(Chunk { offset: start + data, stored, size, compression, crc })
}

/// Calls `take(kind, contents, offset)` for every record in a chunk.
fn records_of(
    chunk: &[u8],
    mut take: impl FnMut(u8, &[u8], u64) -> std::result::Result<(), String>,
) -> std::result::Result<(), String> {
    let mut at = 0_usize;
    while at < chunk.len() {
        let head = chunk.get(at..at + HEAD as usize).ok_or("a record is cut short")?;
        let mut length = [0; 8];
        length.copy_from_slice(&head[1..]);
        let start = at + HEAD as usize;
        let end = usize::try_from(u64::from_le_bytes(length)).ok().and_then(|length| start.checked_add(length));
        let body = end.and_then(|end| chunk.get(start..end)).ok_or("a record is longer than its chunk")?;
        take(head[0], body, start as u64)?;
        at = start + body.len();
    }
    Ok(())
}
