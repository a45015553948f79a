//! Files that are compressed as a whole: decompressed in memory while that is little, and into a temporary file otherwise.

use std::io::{BufRead, Read, Seek, Write};
use std::path::Path;

use tempfile::NamedTempFile;

use crate::error::{Error, Result};

/// Bytes that are decompressed at a time.
const PART: usize = 256 << 10;

/// What a file has become.
#[derive(Debug)]
pub(crate) enum Unpacked {
    Memory(Vec<u8>),
    /// A file that is removed with this, and its bytes.
    File(NamedTempFile, u64),
}

impl Unpacked {
    /// Its first bytes, as many as are needed to tell what it is.
    pub(crate) fn first(&mut self, path: &Path) -> Result<Vec<u8>> {
        match self {
            Self::Memory(bytes) => Ok(bytes.iter().take(16).copied().collect()),
            Self::File(file, _) => {
                let mut first = Vec::new();
                file.rewind().map_err(Error::io("read", path))?;
                Read::by_ref(file).take(16).read_to_end(&mut first).map_err(Error::io("read", path))?;
                Ok(first)
            }
        }
    }

    fn len(&self) -> u64 {
        match self {
            Self::Memory(bytes) => bytes.len() as u64,
            Self::File(_, len) => *len,
        }
    }

    /// Adds a part of at most so many bytes in memory.
    fn add(&mut self, part: &[u8], in_memory: u64) -> Result<()> {
        let len = self.len() + part.len() as u64;
        if let Self::Memory(bytes) = self {
            if len <= in_memory {
                bytes.extend_from_slice(part);
                return Ok(());
            }
            let folder = std::env::temp_dir();
            let mut file = NamedTempFile::with_prefix("e2bki-bag-").map_err(Error::io("decompress into", &folder))?;
            write(&mut file, bytes)?;
            *self = Self::File(file, 0);
        }
        if let Self::File(file, all) = self {
            write(file, part)?;
            *all = len;
        }
        Ok(())
    }
}

fn write(file: &mut NamedTempFile, bytes: &[u8]) -> Result<()> {
    let result = file.write_all(bytes);
    // Where a temporary folder is too small, another one can be named by TMPDIR: the error names the file.
    result.map_err(Error::io("decompress into", file.path()))
}

/// Decompresses frames of Zstandard, one after the other, to at most so many bytes in all. `path` is named in errors.
pub(crate) fn zstd(stored: impl BufRead, path: &Path, in_memory: u64, most: u64) -> Result<Unpacked> {
    let bad = |what: String| Error::malformed(path, what);
    let mut whole = Unpacked::Memory(Vec::new());
    let mut part = vec![0; PART];
    let mut take = |stream: &mut dyn Read| -> Result<()> {
        loop {
            let count = match stream.read(&mut part) {
                Ok(0) => return Ok(()),
                Ok(count) => count,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(bad(format!("it cannot be decompressed: {e}"))),
            };
            if whole.len() + count as u64 > most {
                return Err(bad(format!("more than {most} bytes when decompressed: decompress it with `zstd -d`")));
            }
            whole.add(&part[..count], in_memory)?;
        }
    };
    frames(stored, &mut take).map_err(|error| match error {
        Failed::Taken(error) => error,
        Failed::Frame(what) => bad(what),
    })?;
    Ok(whole)
}

/// Why frames could not be read.
enum Failed {
    /// What takes them has failed.
    Taken(Error),
    Frame(String),
}

#[cfg(feature = "zstd")]
fn frames(stored: impl BufRead, take: &mut dyn FnMut(&mut dyn Read) -> Result<()>) -> std::result::Result<(), Failed> {
    let decoder = zstd::stream::read::Decoder::with_buffer(stored);
    let mut decoder = decoder.map_err(|e| Failed::Frame(format!("not Zstandard: {e}")))?;
    take(&mut decoder).map_err(Failed::Taken)
}

#[cfg(not(feature = "zstd"))]
fn frames(
    mut stored: impl BufRead,
    take: &mut dyn FnMut(&mut dyn Read) -> Result<()>,
) -> std::result::Result<(), Failed> {
    while !stored.fill_buf().map_err(|e| Failed::Frame(e.to_string()))?.is_empty() {
        let decoder = ruzstd::decoding::StreamingDecoder::new(&mut stored);
        let mut decoder = decoder.map_err(|e| Failed::Frame(format!("not Zstandard: {e}")))?;
        take(&mut decoder).map_err(Failed::Taken)?;
        // The library in Rust computes it and leaves it to us.
        let (said, found) = (decoder.decoder.get_checksum_from_data(), decoder.decoder.get_calculated_checksum());
        if said.is_some() && said != found {
            return Err(Failed::Frame("its checksum is wrong: the file is damaged".into()));
        }
    }
    Ok(())
}
