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
    path: PathBuf,
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
                bounded(lz4_flex::frame::FrameDecoder::new(stored.as_slice()), chunk.size).map_err(bad)?
            }
            Compression::Bz2 => bounded(bzip2::read::BzDecoder::new(stored.as_slice()), chunk.size).map_err(bad)?,
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

/// Decompresses to at most so many bytes.
#[cfg(feature = "zstd")]
pub(crate) fn decompress_zstd(stored: &[u8], most: u64) -> std::result::Result<Vec<u8>, String> {
    let decoder = zstd::stream::read::Decoder::new(stored).map_err(|e| format!("not Zstandard: {e}"))?;
    bounded(decoder, most)
}

/// Decompresses to at most so many bytes.
#[cfg(not(feature = "zstd"))]
pub(crate) fn decompress_zstd(mut stored: &[u8], most: u64) -> std::result::Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    // A file may be several frames, one after the other.
    while !stored.is_empty() {
        let decoder =
            ruzstd::decoding::StreamingDecoder::new(&mut stored).map_err(|e| format!("not Zstandard: {e}"))?;
        bytes.extend(bounded(decoder, most - bytes.len() as u64)?);
    }
    Ok(bytes)
}

/// Reads a stream to its end, which must come after at most so many bytes. Memory grows with what really comes.
fn bounded(stream: impl Read, most: u64) -> std::result::Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    stream.take(most + 1).read_to_end(&mut bytes).map_err(|e| format!("cannot be decompressed: {e}"))?;
    if bytes.len() as u64 > most { Err(format!("more than the announced {most} bytes")) } else { Ok(bytes) }
}
