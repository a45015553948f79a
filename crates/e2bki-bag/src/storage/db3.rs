//! SQLite bags of rosbag2.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rusqlite::{Connection, OpenFlags};
use tempfile::NamedTempFile;

use super::{Channel, Contents, Data, Found, MOST_BYTES, Place, Storage};
use crate::error::{Error, Result};
use crate::wire::Wire;

/// Bytes of a database's header that say by which kind of journal it is written and read.
const VERSIONS: std::ops::Range<usize> = 18..20;

/// An open database.
#[derive(Debug)]
pub(crate) struct Db3 {
    path: PathBuf,
    connection: Mutex<Connection>,
    /// Rows of the table of messages, by number.
    rows: Vec<i64>,
    /// Whether every message is compressed by itself.
    zstd: bool,
}

impl Db3 {
    pub(crate) fn read(&self, place: Place) -> Result<Data> {
        let bad = |what: String| Error::malformed(&self.path, format!("message {}: {what}", place.chunk));
        let row = self.rows.get(place.chunk as usize).copied().ok_or_else(|| bad("there is no such row".into()))?;
        let connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let blob = |row: &rusqlite::Row<'_>| row.get_ref(0).map(|value| value.as_blob().map(<[u8]>::to_vec));
        let bytes = connection
            .prepare("SELECT data FROM messages WHERE id = ?1")
            .and_then(|mut query| query.query_row([row], blob))
            .map_err(|e| bad(e.to_string()))?
            .map_err(|e| bad(e.to_string()))?;
        // Without a metadata.yaml nobody says so; no message of CDR, which begins with a zero, looks like this.
        if self.zstd || bytes.starts_with(&super::ZSTD_MAGIC) {
            return super::decompress_zstd(&bytes, MOST_BYTES).map(Data::of).map_err(bad);
        }
        Ok(Data::of(bytes))
    }
}

/// Where the bytes of a database are.
#[derive(Debug)]
pub(crate) enum Source {
    /// In the file that it is called by.
    File,
    Memory(Vec<u8>),
    /// In a file of our own, which is removed.
    Temporary(NamedTempFile),
}

impl Source {
    fn open(self, path: &Path) -> rusqlite::Result<Connection> {
        match self {
            Self::File => Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY),
            Self::Memory(mut bytes) => {
                // A journal of its own kind beside the file is what a database in memory cannot have, and refuses to be read for.
                if let Some(versions) = bytes.get_mut(VERSIONS) {
                    versions.fill(1);
                }
                let mut connection = Connection::open_in_memory()?;
                connection.deserialize_read_exact("main", bytes.as_slice(), bytes.len(), true)?;
                Ok(connection)
            }
            Self::Temporary(file) => {
                // Nobody else writes it: no locks, and no journals beside it, which would be left there.
                let name = file.path().as_os_str().as_encoded_bytes();
                let name: String = name.iter().map(|byte| format!("%{byte:02x}")).collect();
                let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
                // Its name is given up as soon as it is open: it goes with the connection, also where this is killed.
                Connection::open_with_flags(format!("file:{name}?immutable=1"), flags)
            }
        }
    }
}

/// Reads the tables of a file.
pub(crate) fn open(path: &Path, source: Source, zstd: bool) -> Result<Contents> {
    let bad = |what: rusqlite::Error| Error::malformed(path, format!("not a bag of rosbag2: {what}"));
    let connection = source.open(path).map_err(bad)?;
    let (mut channels, mut ids) = (Vec::new(), Vec::new());
    let (mut notes, mut left_out, mut unknown) = (Vec::new(), Vec::new(), 0_u64);
    {
        let mut topics =
            connection.prepare("SELECT id, name, type, serialization_format FROM topics ORDER BY id").map_err(bad)?;
        let mut rows = topics.query([]).map_err(bad)?;
        while let Some(row) = rows.next().map_err(bad)? {
            let (id, topic, kind): (i64, String, String) =
                (row.get(0).map_err(bad)?, row.get(1).map_err(bad)?, row.get(2).map_err(bad)?);
            let format: String = row.get(3).map_err(bad)?;
            if format == "cdr" {
                ids.push(id);
                channels.push(Channel { topic, kind });
            } else {
                left_out.push(id);
                notes.push(format!("{topic} is encoded as `{format}` and left out; only cdr is read"));
            }
        }
    }
    let (mut messages, mut rows_of) = (Vec::new(), Vec::new());
    {
        let mut query = connection
            .prepare("SELECT id, topic_id, timestamp, length(data) FROM messages ORDER BY timestamp, id")
            .map_err(bad)?;
        let mut rows = query.query([]).map_err(bad)?;
        while let Some(row) = rows.next().map_err(bad)? {
            let (id, topic, time): (i64, i64, i64) =
                (row.get(0).map_err(bad)?, row.get(1).map_err(bad)?, row.get(2).map_err(bad)?);
            let Some(channel) = ids.iter().position(|known| *known == topic) else {
                unknown += u64::from(!left_out.contains(&topic));
                continue;
            };
            let stored: i64 = row.get(3).map_err(bad)?;
            let len = u32::try_from(stored).unwrap_or(u32::MAX);
            let place = Place { chunk: rows_of.len() as u64, start: 0, len };
            messages.push(Found { channel: channel as u32, time: time.max(0) as u64, place });
            rows_of.push(id);
        }
    }
    if unknown > 0 {
        notes.push(format!("{}: {unknown} messages of topics that it does not name are left out", path.display()));
    }
    // Recorders number messages one after the other: damage to an inner page loses rows without an error.
    let missing = match (rows_of.iter().min(), rows_of.iter().max()) {
        (Some(first), Some(last)) if notes.is_empty() => last.abs_diff(*first).saturating_sub(rows_of.len() as u64 - 1),
        _ => 0,
    };
    if missing > 0 {
        notes.push(format!("{}: {missing} messages are missing between its first and its last", path.display()));
    }
    let storage = Storage::Db3(Db3 { path: path.into(), connection: Mutex::new(connection), rows: rows_of, zstd });
    Ok(Contents { wire: Wire::Cdr, channels, messages, notes, storage })
}
