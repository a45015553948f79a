//! ROS 1 bags, version 2.0: records with headers of named fields, messages in chunks.

use std::collections::BTreeMap;
use std::path::Path;

use super::chunks::{Bytes, Chunk, Chunks, Compression};
use super::{Channel, Contents, Found, MOST_BYTES, Place, Storage};
use crate::error::{Error, Result};
use crate::wire::Wire;

pub(crate) const MAGIC: &[u8; 13] = b"#ROSBAG V2.0\n";

const MESSAGE: u8 = 2;
const BAG: u8 = 3;
const INDEX: u8 = 4;
const CHUNK: u8 = 5;
const CHUNK_INFO: u8 = 6;
const CONNECTION: u8 = 7;

/// Largest header of a record, bytes.
const MOST_HEADER: u64 = 1 << 20;

type Header<'a> = BTreeMap<&'a [u8], &'a [u8]>;
type Outcome<T> = std::result::Result<T, String>;

/// Fields of a header: `name=value`, each with its length before it.
fn header(mut bytes: &[u8]) -> Outcome<Header<'_>> {
    let mut fields = Header::new();
    while !bytes.is_empty() {
        let (length, rest) = bytes.split_first_chunk::<4>().ok_or("a header field is cut short")?;
        let field =
            rest.get(..u32::from_le_bytes(*length) as usize).ok_or("a header field is longer than its header")?;
        let equals = field.iter().position(|b| *b == b'=').ok_or("a header field has no `=`")?;
        fields.insert(&field[..equals], &field[equals + 1..]);
        bytes = &rest[field.len()..];
    }
    Ok(fields)
}

fn number<const N: usize>(header: &Header<'_>, name: &str) -> Outcome<[u8; N]> {
    let value = header.get(name.as_bytes()).ok_or_else(|| format!("a header has no `{name}`"))?;
    (*value).try_into().map_err(|_| format!("`{name}` has {} bytes instead of {N}", value.len()))
}

fn text(header: &Header<'_>, name: &str) -> Outcome<String> {
    let value = header.get(name.as_bytes()).ok_or_else(|| format!("a header has no `{name}`"))?;
    Ok(String::from_utf8_lossy(value).into_owned())
}

/// What was seen so far.
#[derive(Default)]
struct Index {
    numbers: BTreeMap<u32, u32>,
    channels: Vec<Channel>,
    messages: Vec<Found>,
    /// Records of kinds that are not known where they stand.
    unknown: u64,
}

impl Index {
    fn connection(&mut self, head: &Header<'_>, data: &[u8]) -> Outcome<()> {
        let id = u32::from_le_bytes(number(head, "conn")?);
        if !self.numbers.contains_key(&id) {
            let channel = Channel { topic: text(head, "topic")?, kind: text(&header(data)?, "type")? };
            self.numbers.insert(id, self.channels.len() as u32);
            self.channels.push(channel);
        }
        Ok(())
    }

    fn message(&mut self, head: &Header<'_>, place: Place) -> Outcome<()> {
        let id = u32::from_le_bytes(number(head, "conn")?);
        let channel =
            *self.numbers.get(&id).ok_or_else(|| format!("a message of connection {id}, which is unknown"))?;
        let time: [u8; 8] = number(head, "time")?;
        let half =
            |from: usize| u64::from(u32::from_le_bytes([time[from], time[from + 1], time[from + 2], time[from + 3]]));
        self.messages.push(Found { channel, time: half(0) * 1_000_000_000 + half(4), place });
        Ok(())
    }

    /// The records of a chunk.
    fn chunk(&mut self, bytes: &[u8], chunk: u64) -> Outcome<()> {
        let mut at = 0_usize;
        let part = |at: &mut usize| -> Outcome<std::ops::Range<usize>> {
            let length = bytes.get(*at..).and_then(|rest| rest.first_chunk::<4>()).ok_or("a record is cut short")?;
            let start = *at + 4;
            let end = start.checked_add(u32::from_le_bytes(*length) as usize).filter(|end| *end <= bytes.len());
            *at = end.ok_or("a record is longer than its chunk")?;
            Ok(start..*at)
        };
        while at < bytes.len() {
            let head = part(&mut at)?;
            let head = header(&bytes[head])?;
            let data = part(&mut at)?;
            match number::<1>(&head, "op")?[0] {
                CONNECTION => self.connection(&head, &bytes[data])?,
                MESSAGE => {
                    let start = u32::try_from(data.start).map_err(|_| "a chunk of more than 4 GB")?;
                    self.message(&head, Place { chunk, start, len: data.len() as u32 })?;
                }
                _ => self.unknown += 1,
            }
        }
        Ok(())
    }
}

/// Walks the records of a file.
pub(crate) fn open(path: &Path, bytes: Bytes) -> Result<Contents> {
    let mut file = Chunks::new(path, bytes);
    let end = file.bytes.len();
    if file.bytes.read(path, 0, (MAGIC.len() as u64).min(end))? != MAGIC {
        return Err(Error::malformed(path, "it does not begin as a ROS 1 bag of version 2.0 does"));
    }
    let (mut at, mut index, mut notes) = (MAGIC.len() as u64, Index::default(), Vec::new());
    let (mut whole, mut announced) = (true, None);
    while at < end {
        let start = at;
        let bad = |what: String| Error::malformed(path, format!("the record at byte {start}: {what}"));
        let length = |at: u64| -> Result<Option<u64>> {
            if at + 4 > end {
                return Ok(None);
            }
            let bytes = file.bytes.read(path, at, 4)?;
            Ok(Some(bytes.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte))))
        };
        let Some(header_len) = length(at)?.filter(|length| at + 4 + length <= end) else {
            whole = false;
            break;
        };
        if header_len > MOST_HEADER {
            return Err(bad(format!("a header of {header_len} bytes")));
        }
        let head_bytes = file.bytes.read(path, at + 4, header_len)?;
        let head = header(&head_bytes).map_err(bad)?;
        let data_at = at + 4 + header_len;
        let Some(data_len) = length(data_at)?.filter(|length| data_at + 4 + length <= end) else {
            whole = false;
            break;
        };
        let (data, next) = (data_at + 4, data_at + 4 + data_len);
        match number::<1>(&head, "op").map_err(bad)?[0] {
            CONNECTION if data_len <= MOST_BYTES => {
                let body = file.bytes.read(path, data, data_len)?;
                index.connection(&head, &body).map_err(bad)?;
            }
            CHUNK => {
                let name = text(&head, "compression").map_err(bad)?;
                let compression = Compression::from_name(&name)
                    .ok_or_else(|| bad(format!("compression `{name}`; none, bz2 and lz4 are read")))?;
                let size = u64::from(u32::from_le_bytes(number(&head, "size").map_err(bad)?));
                let number = file.chunks.len() as u64;
                file.chunks.push(Chunk { offset: data, stored: data_len, size, compression, crc: 0 });
                let walked =
                    file.decompressed(number as usize).and_then(|inside| index.chunk(&inside, number).map_err(bad));
                if let Err(error) = walked {
                    notes.push(format!("{error}; its messages are left out"));
                }
            }
            // A recorder that was killed has left zeros.
            BAG if number::<8>(&head, "index_pos").map_err(bad)? != [0; 8] => {
                announced = Some(u32::from_le_bytes(number(&head, "chunk_count").map_err(bad)?));
            }
            BAG | INDEX | CHUNK_INFO => {}
            _ => index.unknown += 1,
        }
        at = next;
    }
    if !whole {
        notes.push(format!("{} is cut short: what is there is used", path.display()));
    }
    let Index { channels, messages, unknown, .. } = index;
    if unknown > 0 {
        notes.push(format!("{}: {unknown} records of unknown kinds are left out", path.display()));
    }
    if let Some(count) = announced.filter(|count| u64::from(*count) != file.chunks.len() as u64) {
        let (path, found) = (path.display(), file.chunks.len());
        notes.push(format!("{path} announces {count} chunks of messages and {found} were found: it is damaged"));
    }
    Ok(Contents { wire: Wire::Ros1, channels, messages, notes, storage: Storage::Chunks(file) })
}
