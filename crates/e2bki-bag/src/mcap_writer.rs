//! MCAP files: chunks of compressed records with their indices, and a summary by which readers find everything at once.

use std::collections::BTreeMap;
use std::io::{self, Write};

/// Bytes of messages that make a chunk.
const CHUNK_BYTES: usize = 4 << 20;

const MAGIC: &[u8; 8] = b"\x89MCAP0\r\n";

/// Kinds of records.
mod kind {
    pub(super) const HEADER: u8 = 1;
    pub(super) const FOOTER: u8 = 2;
    pub(super) const SCHEMA: u8 = 3;
    pub(super) const CHANNEL: u8 = 4;
    pub(super) const MESSAGE: u8 = 5;
    pub(super) const CHUNK: u8 = 6;
    pub(super) const MESSAGE_INDEX: u8 = 7;
    pub(super) const CHUNK_INDEX: u8 = 8;
    pub(super) const STATISTICS: u8 = 11;
    pub(super) const SUMMARY_OFFSET: u8 = 14;
    pub(super) const DATA_END: u8 = 15;
}

/// Fields of a record: packed, little-endian.
#[derive(Default)]
struct Body(Vec<u8>);

impl Body {
    fn u16(mut self, value: u16) -> Self {
        self.0.extend(value.to_le_bytes());
        self
    }

    fn u32(mut self, value: u32) -> Self {
        self.0.extend(value.to_le_bytes());
        self
    }

    fn u64(mut self, value: u64) -> Self {
        self.0.extend(value.to_le_bytes());
        self
    }

    fn bytes(self, value: &[u8]) -> Self {
        let mut all = self.u32(value.len() as u32);
        all.0.extend(value);
        all
    }

    fn text(self, value: &str) -> Self {
        self.bytes(value.as_bytes())
    }
}

/// A record as it stands in a file.
fn record(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut all = vec![kind];
    all.extend((body.len() as u64).to_le_bytes());
    all.extend(body);
    all
}

/// First and last time of some messages.
#[derive(Clone, Copy)]
struct Span(u64, u64);

impl Span {
    const NONE: Self = Self(u64::MAX, 0);

    fn add(&mut self, time: u64) {
        *self = Self(self.0.min(time), self.1.max(time));
    }

    /// Zeros where there were none, as the format wants it.
    fn ends(self) -> [u64; 2] {
        if self.0 <= self.1 { [self.0, self.1] } else { [0, 0] }
    }
}

/// A file that is being written.
pub(crate) struct McapWriter<W: Write> {
    out: W,
    at: u64,
    schemas: Vec<Vec<u8>>,
    channels: Vec<Vec<u8>>,
    counts: BTreeMap<u16, u64>,
    span: Span,
    chunk: Vec<u8>,
    chunk_span: Span,
    /// Times and places of the messages of the chunk, by channel.
    chunk_index: BTreeMap<u16, Vec<(u64, u64)>>,
    chunk_indices: Vec<Vec<u8>>,
}

impl<W: Write> McapWriter<W> {
    pub(crate) fn new(out: W) -> io::Result<Self> {
        let mut writer = Self {
            out,
            at: 0,
            schemas: Vec::new(),
            channels: Vec::new(),
            counts: BTreeMap::new(),
            span: Span::NONE,
            chunk: Vec::new(),
            chunk_span: Span::NONE,
            chunk_index: BTreeMap::new(),
            chunk_indices: Vec::new(),
        };
        writer.put(MAGIC)?;
        writer.put(&record(kind::HEADER, &Body::default().text("ros2").text("e2bki").0))?;
        Ok(writer)
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.at += bytes.len() as u64;
        self.out.write_all(bytes)
    }

    /// Announces a schema and a channel of it; returns the number of the channel.
    pub(crate) fn channel(&mut self, topic: &str, schema: (&str, &str), qos: &str) -> io::Result<u16> {
        let count = |n: usize| u16::try_from(n).map_err(|_| io::Error::other("more than 65535 topics"));
        let (schema_id, channel_id) = (count(self.schemas.len() + 1)?, count(self.channels.len())?);
        let body = Body::default().u16(schema_id).text(schema.0).text("ros2msg").text(schema.1);
        let schema = record(kind::SCHEMA, &body.0);
        let about = Body::default().text("offered_qos_profiles").text(qos);
        let body = Body::default().u16(channel_id).u16(schema_id).text(topic).text("cdr").bytes(&about.0);
        let channel = record(kind::CHANNEL, &body.0);
        self.chunk.extend(schema.iter().chain(&channel));
        self.schemas.push(schema);
        self.channels.push(channel);
        Ok(channel_id)
    }

    pub(crate) fn message(&mut self, channel: u16, sequence: u32, time: u64, data: &[u8]) -> io::Result<()> {
        self.chunk_index.entry(channel).or_default().push((time, self.chunk.len() as u64));
        self.chunk_span.add(time);
        self.span.add(time);
        *self.counts.entry(channel).or_default() += 1;
        let head = Body::default().u16(channel).u32(sequence).u64(time).u64(time);
        self.chunk.push(kind::MESSAGE);
        self.chunk.extend(((head.0.len() + data.len()) as u64).to_le_bytes());
        self.chunk.extend(head.0);
        self.chunk.extend(data);
        if self.chunk.len() >= CHUNK_BYTES { self.end_chunk() } else { Ok(()) }
    }

    fn end_chunk(&mut self) -> io::Result<()> {
        if self.chunk.is_empty() {
            return Ok(());
        }
        let size = self.chunk.len() as u64;
        let [first, last] = self.chunk_span.ends();
        let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
        encoder.write_all(&self.chunk)?;
        let stored = encoder.finish().map_err(io::Error::other)?;
        let body = Body::default().u64(first).u64(last).u64(size).u32(crc32fast::hash(&self.chunk));
        let mut body = body.text("lz4").u64(stored.len() as u64);
        body.0.extend(&stored);
        let (start, whole) = (self.at, record(kind::CHUNK, &body.0));
        self.put(&whole)?;
        let (index_start, mut places) = (self.at, Body::default());
        for (channel, messages) in std::mem::take(&mut self.chunk_index) {
            places = places.u16(channel).u64(self.at);
            let list = messages.iter().fold(Body::default(), |list, (time, place)| list.u64(*time).u64(*place));
            self.put(&record(kind::MESSAGE_INDEX, &Body::default().u16(channel).bytes(&list.0).0))?;
        }
        let index = Body::default().u64(first).u64(last).u64(start).u64(whole.len() as u64).bytes(&places.0);
        let index = index.u64(self.at - index_start).text("lz4").u64(stored.len() as u64).u64(size);
        self.chunk_indices.push(record(kind::CHUNK_INDEX, &index.0));
        self.chunk.clear();
        self.chunk_span = Span::NONE;
        Ok(())
    }

    /// Ends the file: without its last records it can be read only from the front.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.end_chunk()?;
        self.put(&record(kind::DATA_END, &Body::default().u32(0).0))?;
        let summary_start = self.at;
        let [first, last] = self.span.ends();
        let counts = self.counts.iter().fold(Body::default(), |all, (channel, count)| all.u16(*channel).u64(*count));
        let statistics = Body::default()
            .u64(self.counts.values().sum())
            .u16(self.schemas.len() as u16)
            .u32(self.channels.len() as u32)
            .u32(0) // attachments
            .u32(0) // metadata
            .u32(self.chunk_indices.len() as u32)
            .u64(first)
            .u64(last)
            .bytes(&counts.0);
        let groups = [
            (kind::SCHEMA, std::mem::take(&mut self.schemas)),
            (kind::CHANNEL, std::mem::take(&mut self.channels)),
            (kind::STATISTICS, vec![record(kind::STATISTICS, &statistics.0)]),
            (kind::CHUNK_INDEX, std::mem::take(&mut self.chunk_indices)),
        ];
        let (mut summary, mut offsets) = (Vec::new(), Vec::new());
        for (kind, records) in groups.into_iter().filter(|(_, records)| !records.is_empty()) {
            let (from, bytes) = (summary_start + summary.len() as u64, records.concat());
            let body = Body(vec![kind]).u64(from).u64(bytes.len() as u64);
            offsets.extend(record(kind::SUMMARY_OFFSET, &body.0));
            summary.extend(bytes);
        }
        let offsets_start = summary_start + summary.len() as u64;
        summary.extend(offsets);
        // The sum covers the summary and the footer up to the sum itself.
        let footer = Body::default().u64(summary_start).u64(offsets_start);
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&summary);
        hasher.update(&record(kind::FOOTER, &footer.0)[..1]);
        hasher.update(&20_u64.to_le_bytes());
        hasher.update(&footer.0);
        self.put(&summary)?;
        self.put(&record(kind::FOOTER, &footer.u32(hasher.finalize()).0))?;
        self.put(MAGIC)?;
        self.out.flush()
    }
}
