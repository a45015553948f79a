//! One file of a recording: as it is on the disk, compressed as a whole, or in memory.

use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::path::Path;
use std::sync::Mutex;

use crate::bag::Kind;
use crate::error::{Error, Result};
#[cfg(feature = "db3")]
use crate::storage::Db3Source;
use crate::storage::{self, Bytes, Contents, MOST_FILE_BYTES};
use crate::unpack::{self, Unpacked};

/// What a file becomes in memory at most, bytes; more is decompressed into a temporary file.
const IN_MEMORY: u64 = 64 << 20;

/// Reads the index of a file.
pub(crate) fn open(path: &Path, messages_compressed: bool) -> Result<Contents> {
    open_within(path, messages_compressed, IN_MEMORY)
}

/// The same, with the bytes that may be held in memory where it is compressed.
fn open_within(path: &Path, messages_compressed: bool, in_memory: u64) -> Result<Contents> {
    let mut file = File::open(path).map_err(Error::io("open", path))?;
    let mut first = Vec::new();
    file.by_ref().take(16).read_to_end(&mut first).map_err(Error::io("read", path))?;
    file.rewind().map_err(Error::io("read", path))?;
    if first.starts_with(&storage::ZSTD_MAGIC) {
        let whole = unpack::zstd(BufReader::new(file), path, in_memory, MOST_FILE_BYTES)?;
        return of_unpacked(whole, path, messages_compressed).map(|(_, contents)| contents);
    }
    match known(&first, path)? {
        #[cfg(feature = "db3")]
        Kind::Db3 => storage::open_db3(path, Db3Source::File, messages_compressed),
        kind => {
            let len = file.metadata().map_err(Error::io("open", path))?.len();
            of_chunks(kind, path, Bytes::File(Mutex::new(file), len))
        }
    }
}

/// Reads the index of a file in memory, whose messages are not compressed by themselves or look as if they were.
pub(crate) fn of_bytes(bytes: Vec<u8>, path: &Path) -> Result<(Kind, Contents)> {
    let whole = match bytes.starts_with(&storage::ZSTD_MAGIC) {
        true => unpack::zstd(bytes.as_slice(), path, IN_MEMORY, MOST_FILE_BYTES)?,
        false => Unpacked::Memory(bytes),
    };
    of_unpacked(whole, path, false)
}

fn of_unpacked(mut whole: Unpacked, path: &Path, messages_compressed: bool) -> Result<(Kind, Contents)> {
    let kind = known(&whole.first(path)?, path)?;
    let _ = messages_compressed;
    let contents = match (kind, whole) {
        #[cfg(feature = "db3")]
        (Kind::Db3, Unpacked::Memory(bytes)) => storage::open_db3(path, Db3Source::Memory(bytes), messages_compressed)?,
        #[cfg(feature = "db3")]
        (Kind::Db3, Unpacked::File(file, _)) => {
            storage::open_db3(path, Db3Source::Temporary(file), messages_compressed)?
        }
        (_, Unpacked::Memory(bytes)) => of_chunks(kind, path, Bytes::Memory(bytes))?,
        // Its name is given up at once: what is left of it goes with the last who has it open, also where this is killed.
        (_, Unpacked::File(file, len)) => of_chunks(kind, path, Bytes::File(Mutex::new(file.into_file()), len))?,
    };
    Ok((kind, contents))
}

fn of_chunks(kind: Kind, path: &Path, bytes: Bytes) -> Result<Contents> {
    match kind {
        Kind::Mcap => storage::open_mcap(path, bytes),
        _ => storage::open_ros1(path, bytes),
    }
}

/// The kind of a file that is read by this build.
fn known(first: &[u8], path: &Path) -> Result<Kind> {
    let kind = Kind::of_first(first)
        .ok_or_else(|| Error::malformed(path, "it is neither MCAP, nor SQLite, nor a ROS 1 bag"))?;
    if kind == Kind::Db3 && cfg!(not(feature = "db3")) {
        let what =
            "SQLite bags are not in this build: build with the feature `db3`, or convert it with `ros2 bag convert`";
        return Err(Error::Unsupported { path: path.into(), what: what.into() });
    }
    Ok(kind)
}
