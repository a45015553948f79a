//! Compressed chunks of a file, decompressed when a message of them is wanted; the latest are kept.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::{Data, MOST_BYTES, Place};
use crate::error::{Error, Result};

/// Decompressed chunks kept.
const KEPT: usize = 4;

/// Bytes of chunks that are worth starting threads for.
const WORTH_A_THREAD: u64 = 1 << 20;

/// How a chunk is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compression {
    None,
    Zstd,
    Lz4,
    Bz2,
}

impl Compression {
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        match name {
            "" | "none" => Some(Self::None),
            "zstd" => Some(Self::Zstd),
            "lz4" => Some(Self::Lz4),
            "bz2" => Some(Self::Bz2),
            _ => None,
        }
    }
}

/// A chunk: where it is in the file, and what it becomes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chunk {
    pub(crate) offset: u64,
    pub(crate) stored: u64,
    pub(crate) size: u64,
    pub(crate) compression: Compression,
    /// CRC-32 of the decompressed bytes; 0: not known.
    pub(crate) crc: u32,
}

/// Bytes on the disk or in memory.
#[derive(Debug)]
pub(crate) enum Bytes {
    File(Mutex<File>, u64),
    Memory(Vec<u8>),
}

impl Bytes {
    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::File(_, len) => *len,
            Self::Memory(bytes) => bytes.len() as u64,
        }
    }

    /// Reads exactly so many bytes. Both numbers are bounded by the length of the file before memory is asked for.
    pub(crate) fn read(&self, path: &Path, offset: u64, count: u64) -> Result<Vec<u8>> {
        let end = offset.checked_add(count).filter(|end| *end <= self.len());
        let end = end.ok_or_else(|| {
            Error::malformed(
                path,
                format!("{count} bytes wanted at byte {offset}, and the file has {}: it is cut short", self.len()),
            )
        })?;
        match self {
            Self::Memory(bytes) => Ok(bytes[offset as usize..end as usize].to_vec()),
            Self::File(file, _) => {
                let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
                file.seek(SeekFrom::Start(offset)).map_err(Error::io("read", path))?;
                let mut bytes = vec![0; count as usize];
                file.read_exact(&mut bytes).map_err(Error::io("read", path))?;
                Ok(bytes)
            }
        }
    }
}

/// A file of chunks.
pub(crate) struct Chunks {
    pub(crate) path: PathBuf,
    pub(crate) bytes: Bytes,
    pub(crate) chunks: Vec<Chunk>,
    latest: Mutex<VecDeque<(u64, Arc<Vec<u8>>)>>,
}

impl std::fmt::Debug for Chunks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Megabytes of messages would help nobody.
        f.debug_struct("Chunks").field("path", &self.path).field("chunks", &self.chunks.len()).finish_non_exhaustive()
    }
}

impl Chunks {
    pub(crate) fn new(path: &Path, bytes: Bytes) -> Self {
        Self { path: path.into(), bytes, chunks: Vec::new(), latest: Mutex::new(VecDeque::new()) }
    }

    /// The bytes of a message.
    pub(crate) fn read(&self, place: Place) -> Result<Data> {
        let known = {
            let latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
            latest.iter().find(|(chunk, _)| *chunk == place.chunk).map(|(_, bytes)| Arc::clone(bytes))
        };
        let bytes = match known {
            Some(bytes) => bytes,
            None => {
                let bytes = Arc::new(self.decompressed(place.chunk as usize)?);
                let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
                latest.push_front((place.chunk, Arc::clone(&bytes)));
                latest.truncate(KEPT);
                bytes
            }
        };
        let (start, end) = (place.start as usize, place.start as usize + place.len as usize);
        if end > bytes.len() {
            return Err(Error::malformed(&self.path, format!("a message of chunk {} lies outside of it", place.chunk)));
        }
        Ok(Data { bytes, start, end })
    }

    /// Bytes that some chunks say they have when decompressed. Anything may be said: the sum stays at the largest number.
    pub(crate) fn announced(&self, numbers: impl Iterator<Item = usize>) -> u64 {
        let sizes = numbers.filter_map(|number| self.chunks.get(number)).map(|chunk| chunk.size);
        sizes.fold(0, u64::saturating_add)
    }

    /// Some chunks one after the other, checked, decompressed at once on as many threads as there are cores.
    pub(crate) fn decompressed_at_once(&self, numbers: &[usize]) -> Vec<Result<Vec<u8>>> {
        let bytes = self.announced(numbers.iter().copied());
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(numbers.len());
        if threads < 2 || bytes < WORTH_A_THREAD {
            return numbers.iter().map(|number| self.decompressed(*number)).collect();
        }
        let (first, rest) = numbers.split_at(numbers.len().div_ceil(threads));
        std::thread::scope(|scope| {
            let part = |part: &[usize]| part.iter().map(|number| self.decompressed(*number)).collect::<Vec<_>>();
            let others: Vec<_> = rest.chunks(first.len()).map(|numbers| scope.spawn(move || part(numbers))).collect();
            let mut all = part(first);
            for other in others {
                match other.join() {
                    Ok(theirs) => all.extend(theirs),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            all
        })
    }

    /// A whole chunk, checked.
    pub(crate) fn decompressed(&self, number: usize) -> Result<Vec<u8>> {
        let chunk = self.chunks.get(number).copied();
        let chunk = chunk.ok_or_else(|| Error::malformed(&self.path, format!("there is no chunk {number}")))?;
        let bad = |what: String| Error::malformed(&self.path, format!("the chunk at byte {}: {what}", chunk.offset));
        if chunk.size > MOST_BYTES {
            return Err(bad(format!("{} bytes when decompressed; at most {MOST_BYTES} are read", chunk.size)));
        }
        let stored = self.bytes.read(&self.path, chunk.offset, chunk.stored)?;
        let bytes = match chunk.compression {
            Compression::None => stored,
            Compression::Zstd => decompress_zstd(&stored, chunk.size).map_err(bad)?,
            Compression::Lz4 => {
                let bytes = room(&stored, chunk.size).map_err(bad)?;
                bounded(lz4_flex::frame::FrameDecoder::new(stored.as_slice()), chunk.size, bytes).map_err(bad)?
            }
            Compression::Bz2 => {
                bounded(bzip2::read::BzDecoder::new(stored.as_slice()), chunk.size, Vec::new()).map_err(bad)?
            }
        };
        if bytes.len() as u64 != chunk.size {
            return Err(bad(format!("{} bytes when decompressed, and {} are announced", bytes.len(), chunk.size)));
        }
        if chunk.crc != 0 && crc32fast::hash(&bytes) != chunk.crc {
            return Err(bad("its checksum is wrong: the file is damaged".into()));
        }
        Ok(bytes)
    }
}

/// Room that is asked for at once, for each byte that is stored: an announced size alone makes us ask for no more.
const ROOM: usize = 16;

/// Memory for so many bytes, or for as many as what is stored may well become.
fn room(stored: &[u8], most: u64) -> std::result::Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let likely = stored.len().saturating_mul(ROOM).min(usize::try_from(most).unwrap_or(usize::MAX));
    bytes.try_reserve_exact(likely).map_err(|_| format!("there is no memory for {likely} bytes"))?;
    Ok(bytes)
}

/// Decompresses to at most so many bytes.
#[cfg(feature = "zstd")]
pub(crate) fn decompress_zstd(stored: &[u8], most: u64) -> std::result::Result<Vec<u8>, String> {
    if most <= MOST_BYTES {
        // In one pass, without a window beside it that is copied from.
        let mut bytes = room(stored, most)?;
        let done = zstd::bulk::Decompressor::new().and_then(|mut all| all.decompress_to_buffer(stored, &mut bytes));
        if done.is_ok() {
            return Ok(bytes);
        }
    }
    let decoder = zstd::stream::read::Decoder::new(stored).map_err(|e| format!("not Zstandard: {e}"))?;
    bounded(decoder, most, Vec::new())
}

/// Decompresses to at most so many bytes.
#[cfg(not(feature = "zstd"))]
pub(crate) fn decompress_zstd(mut stored: &[u8], most: u64) -> std::result::Result<Vec<u8>, String> {
    let mut bytes = if most <= MOST_BYTES { room(stored, most)? } else { Vec::new() };
    // A file may be several frames, one after the other.
    while !stored.is_empty() {
        let decoder =
            ruzstd::decoding::StreamingDecoder::new(&mut stored).map_err(|e| format!("not Zstandard: {e}"))?;
        bytes = bounded(decoder, most, bytes)?;
    }
    Ok(bytes)
}

/// Adds what comes from a stream to some bytes, which must end with at most so many. Memory grows with what really comes.
fn bounded(stream: impl Read, most: u64, mut bytes: Vec<u8>) -> std::result::Result<Vec<u8>, String> {
    let left = most.saturating_sub(bytes.len() as u64);
    stream.take(left + 1).read_to_end(&mut bytes).map_err(|e| format!("cannot be decompressed: {e}"))?;
    if bytes.len() as u64 > most { Err(format!("more than the announced {most} bytes")) } else { Ok(bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two frames of Zstandard, one after the other, as they are stored: blocks that are not compressed.
    fn stored(parts: [&[u8]; 2]) -> Vec<u8> {
        let frame = |bytes: &[u8]| {
            let mut all = super::super::ZSTD_MAGIC.to_vec();
            // One segment, its size in one byte; then the last block, raw.
            all.extend([0x20, bytes.len() as u8]);
            all.extend(&(((bytes.len() as u32) << 3) | 1).to_le_bytes()[..3]);
            all.extend(bytes);
            all
        };
        parts.into_iter().flat_map(frame).collect()
    }

    #[test]
    fn frames_one_after_the_other_are_one_and_no_more_comes_than_was_announced() {
        let all = stored([b"one ", b"after the other"]);
        assert_eq!(decompress_zstd(&all, 19).unwrap(), b"one after the other");
        assert_eq!(decompress_zstd(&all, 1 << 40).unwrap(), b"one after the other");
        assert_eq!(decompress_zstd(&all, MOST_BYTES).unwrap().len(), 19);
        for most in [0, 3, 4, 18] {
            assert!(decompress_zstd(&all, most).is_err(), "{most}");
        }
        assert!(decompress_zstd(&all[..all.len() - 1], 19).is_err());
        assert!(decompress_zstd(b"no Zstandard at all", 100).is_err());
    }

    #[test]
    fn an_announced_size_alone_asks_for_little_memory() {
        assert!(room(&[0; 100], MOST_BYTES).unwrap().capacity() < 10_000);
        assert_eq!(room(&[0; 100], 50).unwrap().capacity(), 50);
    }
}
