//! Files that hold messages: chunks of MCAP and ROS 1 bags, rows of SQLite bags.

mod chunks;
#[cfg(feature = "db3")]
mod db3;
mod mcap_file;
mod ros1_bag;

use std::ops::Deref;
use std::sync::Arc;

#[cfg(feature = "db3")]
pub(crate) use chunks::decompress_zstd;
pub(crate) use chunks::{Bytes, Chunks};
#[cfg(feature = "db3")]
pub(crate) use db3::{Db3, Source as Db3Source, open as open_db3};
pub(crate) use mcap_file::{MAGIC as MCAP_MAGIC, open as open_mcap};
pub(crate) use ros1_bag::{MAGIC as ROS1_MAGIC, open as open_ros1};

use crate::error::Result;
use crate::wire::Wire;

/// Largest chunk or message, bytes: no header makes us ask for more.
pub(crate) const MOST_BYTES: u64 = 1 << 30;

/// Largest file that is decompressed as a whole, bytes.
pub(crate) const MOST_FILE_BYTES: u64 = 8 << 30;

/// First bytes of Zstandard frames.
pub(crate) const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// First bytes of SQLite files.
pub(crate) const DB3_MAGIC: &[u8] = b"SQLite format 3\0";

/// A topic of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Channel {
    pub(crate) topic: String,
    pub(crate) kind: String,
}

/// Where a message is: a chunk and a place in it, or a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) chunk: u64,
    pub(crate) start: u32,
    pub(crate) len: u32,
}

/// A message of one file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Found {
    pub(crate) channel: u32,
    /// Nanoseconds since 1970.
    pub(crate) time: u64,
    pub(crate) place: Place,
}

/// What a file holds.
#[derive(Debug)]
pub(crate) struct Contents {
    pub(crate) wire: Wire,
    pub(crate) channels: Vec<Channel>,
    pub(crate) messages: Vec<Found>,
    /// What is wrong with the file although it can be used.
    pub(crate) notes: Vec<String>,
    pub(crate) storage: Storage,
}

/// Where the bytes of messages come from.
#[derive(Debug)]
pub(crate) enum Storage {
    Chunks(Chunks),
    #[cfg(feature = "db3")]
    Db3(Db3),
}

impl Storage {
    pub(crate) fn read(&self, place: Place) -> Result<Data> {
        match self {
            Self::Chunks(chunks) => chunks.read(place),
            #[cfg(feature = "db3")]
            Self::Db3(rows) => rows.read(place),
        }
    }
}

/// The bytes of a message, shared with the chunk that holds them.
#[derive(Debug, Clone)]
pub struct Data {
    pub(crate) bytes: Arc<Vec<u8>>,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

#[cfg(feature = "db3")]
impl Data {
    pub(crate) fn of(bytes: Vec<u8>) -> Self {
        Self { start: 0, end: bytes.len(), bytes: Arc::new(bytes) }
    }
}

impl Deref for Data {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        self.bytes.get(self.start..self.end).unwrap_or(&[])
    }
}
