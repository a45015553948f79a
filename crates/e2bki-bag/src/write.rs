//! MCAP files with ROS 2 messages and their schemas, which RViz, Foxglove and every reader of rosbag2 open.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::mcap_writer::McapWriter;

/// Type of a message, with its definition as MCAP wants it: the text of the `.msg` file and of those that it uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schema {
    /// Name, as in `sensor_msgs/msg/PointCloud2`.
    pub name: &'static str,
    /// Definition.
    pub text: &'static str,
}

/// Fields of a message as little-endian CDR.
#[derive(Debug, Clone)]
pub struct Fields(Vec<u8>);

impl Default for Fields {
    fn default() -> Self {
        Self(vec![0, 1, 0, 0])
    }
}

impl Fields {
    fn align(&mut self, size: usize) {
        let body = self.0.len() - 4;
        self.0.resize(4 + body.next_multiple_of(size), 0);
    }

    /// A byte.
    pub fn u8(&mut self, value: u8) -> &mut Self {
        self.0.push(value);
        self
    }

    /// A short whole number.
    pub fn u16(&mut self, value: u16) -> &mut Self {
        self.align(2);
        self.0.extend(value.to_le_bytes());
        self
    }

    /// A whole number.
    pub fn u32(&mut self, value: u32) -> &mut Self {
        self.align(4);
        self.0.extend(value.to_le_bytes());
        self
    }

    /// A whole number with a sign.
    pub fn i32(&mut self, value: i32) -> &mut Self {
        self.u32(value as u32)
    }

    /// A short number.
    pub fn f32(&mut self, value: f32) -> &mut Self {
        self.u32(value.to_bits())
    }

    /// A number.
    pub fn f64(&mut self, value: f64) -> &mut Self {
        self.align(8);
        self.0.extend(value.to_le_bytes());
        self
    }

    /// A text.
    pub fn text(&mut self, value: &str) -> &mut Self {
        self.u32(value.len() as u32 + 1);
        self.0.extend(value.as_bytes());
        self.0.push(0);
        self
    }

    /// A list of bytes.
    pub fn bytes(&mut self, value: &[u8]) -> &mut Self {
        self.u32(value.len() as u32);
        self.0.extend(value);
        self
    }

    /// A header: time (nanoseconds since 1970) and frame.
    pub fn header(&mut self, stamp: u64, frame: &str) -> &mut Self {
        self.stamp(stamp).text(frame)
    }

    /// A time, nanoseconds since 1970.
    pub fn stamp(&mut self, stamp: u64) -> &mut Self {
        self.i32((stamp / 1_000_000_000) as i32).u32((stamp % 1_000_000_000) as u32)
    }

    /// The message.
    pub fn finish(self) -> Vec<u8> {
        self.0
    }
}

/// An MCAP file being written.
pub struct BagWriter {
    path: PathBuf,
    writer: McapWriter<BufWriter<File>>,
    channels: BTreeMap<String, (u16, u32)>,
}

/// Quality of service that a recorder notes; a latched topic is told to late joiners.
fn qos(latched: bool) -> String {
    let durability = if latched { "transient_local" } else { "volatile" };
    format!(
        "- history: keep_last\n  depth: 10\n  reliability: reliable\n  durability: {durability}\n  deadline:\n    sec: 0\n    \
         nsec: 0\n  lifespan:\n    sec: 0\n    nsec: 0\n  liveliness: automatic\n  liveliness_lease_duration:\n    sec: 0\n    \
         nsec: 0\n  avoid_ros_namespace_conventions: false"
    )
}

impl BagWriter {
    /// Begins a file.
    pub fn create(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let file = File::create(path).map_err(Error::io("create", path))?;
        let writer = McapWriter::new(BufWriter::new(file)).map_err(Error::io("write", path))?;
        Ok(Self { path: path.into(), writer, channels: BTreeMap::new() })
    }

    /// Writes a message of a topic; `latched` counts when the topic is new.
    pub fn write(&mut self, topic: &str, schema: Schema, latched: bool, time: u64, message: &[u8]) -> Result<()> {
        if !self.channels.contains_key(topic) {
            let channel = self.writer.channel(topic, (schema.name, schema.text), &qos(latched));
            self.channels.insert(topic.into(), (channel.map_err(Error::io("write", &self.path))?, 0));
        }
        let Some((channel, sequence)) = self.channels.get_mut(topic) else { return Ok(()) };
        *sequence += 1;
        self.writer.message(*channel, *sequence, time, message).map_err(Error::io("write", &self.path))
    }

    /// Ends the file: without its last records it can be read only from the front.
    pub fn finish(self) -> Result<()> {
        self.writer.finish().map_err(Error::io("write", &self.path))
    }
}

impl std::fmt::Debug for BagWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BagWriter").field("path", &self.path).field("topics", &self.channels.len()).finish()
    }
}
