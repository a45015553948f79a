//! An object as a file that is read where it is looked at: a tile of a run costs its own bytes and little more.

use std::io::{Error, ErrorKind, Read, Result, Seek, SeekFrom};

use crate::objects::Objects;

/// Bytes that are asked for at once at least: an answer of a store costs as much time as this many bytes.
const AT_ONCE: u64 = 64 << 10;

/// Where in an object somebody reads.
pub(crate) struct ObjectReader {
    objects: Objects,
    object: String,
    len: u64,
    at: u64,
    /// What was read last, and where it begins.
    held: (u64, Vec<u8>),
}

impl ObjectReader {
    pub(crate) fn new(objects: &Objects, object: &str, len: u64) -> Self {
        Self { objects: objects.clone(), object: object.into(), len, at: 0, held: (0, Vec::new()) }
    }
}

impl Read for ObjectReader {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        if self.at >= self.len || buffer.is_empty() {
            return Ok(0);
        }
        let (start, bytes) = &self.held;
        if self.at < *start || self.at >= start + bytes.len() as u64 {
            let wanted = (buffer.len() as u64).max(AT_ONCE).min(self.len - self.at);
            if buffer.len() as u64 >= AT_ONCE {
                // A whole tile: it is asked for once, and hundreds of readers may be open.
                let read = self.objects.get_range(&self.object, self.at..self.at + wanted).map_err(Error::other)?;
                buffer.get_mut(..read.len()).ok_or(ErrorKind::InvalidData)?.copy_from_slice(&read);
                self.at += read.len() as u64;
                return Ok(read.len());
            }
            let read = self.objects.get_range(&self.object, self.at..self.at + wanted).map_err(Error::other)?;
            if read.is_empty() {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            self.held = (self.at, read);
        }
        let (start, bytes) = &self.held;
        let held = &bytes[(self.at - start) as usize..];
        let count = held.len().min(buffer.len());
        buffer[..count].copy_from_slice(&held[..count]);
        self.at += count as u64;
        Ok(count)
    }
}

impl Seek for ObjectReader {
    fn seek(&mut self, to: SeekFrom) -> Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => self.len.checked_add_signed(by),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        self.at = at.ok_or(ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}
