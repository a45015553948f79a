//! A recording: one file or a folder of several, with its topics and messages in order of time.

use std::fs::File;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::file;
use crate::folder::{self, Parts};
use crate::storage::{self, Contents, Data, Place, Storage};
use crate::wire::Wire;

/// Kind of a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// An MCAP file.
    Mcap,
    /// A folder of rosbag2: with its `metadata.yaml`, or the files alone where that was lost.
    Folder,
    /// An SQLite file of rosbag2.
    Db3,
    /// A bag of ROS 1.
    Ros1,
}

impl Kind {
    /// The kind of a path, by its first bytes or, of a folder, by what is in it; nothing if it is no recording that is read here.
    pub fn detect(path: &Path) -> Option<Self> {
        if path.is_dir() {
            return folder::is_recording(path).then_some(Self::Folder);
        }
        let mut first = [0; 16];
        let mut file = File::open(path).ok()?;
        let count = std::io::Read::read(&mut file, &mut first).ok()?;
        let first = &first[..count];
        if first.starts_with(&storage::ZSTD_MAGIC) {
            let name = path.file_name()?.to_string_lossy();
            let endings = [(".mcap.zstd", Self::Mcap), (".db3.zstd", Self::Db3)];
            return endings.into_iter().find(|(ending, _)| name.ends_with(ending)).map(|(_, kind)| kind);
        }
        Self::of_first(first)
    }

    /// The kind of a file by its first bytes.
    pub(crate) fn of_first(first: &[u8]) -> Option<Self> {
        let kinds = [
            (storage::MCAP_MAGIC.as_slice(), Self::Mcap),
            (storage::DB3_MAGIC, Self::Db3),
            (storage::ROS1_MAGIC, Self::Ros1),
        ];
        kinds.into_iter().find(|(magic, _)| first.starts_with(magic)).map(|(_, kind)| kind)
    }
}

/// A topic of a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topic {
    /// Its name, as in `/points`.
    pub name: String,
    /// Type of its messages in the form of ROS 2, as in `sensor_msgs/msg/PointCloud2`.
    pub kind: String,
    /// Messages.
    pub count: usize,
}

/// A message of a recording.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// Number of its topic.
    pub topic: usize,
    /// When it was recorded, nanoseconds since 1970.
    pub time: u64,
    part: u32,
    place: Place,
}

impl Entry {
    /// Bytes of the message as it is stored.
    pub fn stored_bytes(&self) -> u64 {
        u64::from(self.place.len)
    }
}

/// An open recording.
#[derive(Debug)]
pub struct Bag {
    path: PathBuf,
    kind: Kind,
    parts: Vec<(Wire, Storage)>,
    topics: Vec<Topic>,
    entries: Vec<Entry>,
    notes: Vec<String>,
}

impl Bag {
    /// Opens a recording and reads its index; damaged parts are left out and said in [`Bag::notes`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        std::fs::metadata(path).map_err(Error::io("open", path))?;
        let kind =
            Kind::detect(path).ok_or_else(|| Error::Unsupported { path: path.into(), what: what_it_is(path) })?;
        let mut bag = Self::empty(path, kind);
        match kind {
            Kind::Folder => bag.add_folder(path)?,
            _ => bag.add(file::open(path, false)?),
        }
        Ok(bag.in_order())
    }

    /// A recording that is one file, in memory; errors and notes call it by `name`.
    pub fn of_bytes(bytes: Vec<u8>, name: impl AsRef<Path>) -> Result<Self> {
        let name = name.as_ref();
        let (kind, contents) = file::of_bytes(bytes, name)?;
        let mut bag = Self::empty(name, kind);
        bag.add(contents);
        Ok(bag.in_order())
    }

    fn empty(path: &Path, kind: Kind) -> Self {
        let (parts, topics, entries, notes) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { path: path.into(), kind, parts, topics, entries, notes }
    }

    /// Recorders write in order of arrival; stable, so that equal times keep the order of the files.
    fn in_order(mut self) -> Self {
        self.entries.sort_by_key(|entry| entry.time);
        self
    }

    fn add_folder(&mut self, folder: &Path) -> Result<()> {
        let Parts { files, messages_compressed, messages, note } = Parts::of(folder)?;
        self.notes.extend(note);
        for path in &files {
            self.add(file::open(path, messages_compressed)?);
        }
        // What is known to be damaged has been told of already.
        let (found, unsaid) = (self.entries.len() as u64, self.notes.is_empty());
        if let Some(messages) = messages.filter(|messages| unsaid && *messages != found) {
            let folder = folder.display();
            self.notes.push(format!("{folder}: metadata.yaml announces {messages} messages and {found} were found"));
        }
        Ok(())
    }

    fn add(&mut self, contents: Contents) {
        let part = self.parts.len() as u32;
        let numbers: Vec<usize> = contents
            .channels
            .iter()
            .map(|channel| {
                let kind = ros2_name(&channel.kind);
                let same = |topic: &Topic| topic.name == channel.topic && topic.kind == kind;
                self.topics.iter().position(same).unwrap_or_else(|| {
                    self.topics.push(Topic { name: channel.topic.clone(), kind, count: 0 });
                    self.topics.len() - 1
                })
            })
            .collect();
        for found in contents.messages {
            let topic = numbers[found.channel as usize];
            self.topics[topic].count += 1;
            self.entries.push(Entry { topic, time: found.time, part, place: found.place });
        }
        self.notes.extend(contents.notes);
        self.parts.push((contents.wire, contents.storage));
    }

    /// The path that was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Kind of the recording.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Topics, in the order in which they were met.
    pub fn topics(&self) -> &[Topic] {
        &self.topics
    }

    /// Messages by time of recording.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Messages of one topic by time of recording.
    pub fn of_topic(&self, topic: usize) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(move |entry| entry.topic == topic)
    }

    /// Parts that could not be used, in words.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The bytes of a message.
    pub fn read(&self, entry: &Entry) -> Result<Data> {
        match self.parts.get(entry.part as usize) {
            Some((_, storage)) => storage.read(entry.place),
            None => Err(Error::malformed(&self.path, "the message belongs to another recording")),
        }
    }

    /// How a message is serialised.
    pub fn wire(&self, entry: &Entry) -> Wire {
        self.parts.get(entry.part as usize).map_or(Wire::Cdr, |(wire, _)| *wire)
    }
}

/// The name of a type as ROS 2 writes it.
fn ros2_name(kind: &str) -> String {
    match kind.split_once('/') {
        Some((package, name)) if !name.contains('/') => format!("{package}/msg/{name}"),
        _ => kind.to_string(),
    }
}

/// Why a path is no recording, and what to do.
fn what_it_is(path: &Path) -> String {
    if path.is_dir() {
        return "the folder has no metadata.yaml and no files that are recordings (.mcap, .db3, .bag)".into();
    }
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("pcap" | "pcapng") => "packets of a sensor, not points: replay them through the sensor's driver (ouster-ros, \
            velodyne_driver) and record its cloud with `ros2 bag record`, or convert them with `ouster-cli source FILE save OUT.bag`"
            .into(),
        _ => "it is no recording that is read here: MCAP, a rosbag2 folder or db3, or a ROS 1 bag".into(),
    }
}
