//! What a part of a frame is read from: a file, or a message of a recording. Nothing is read before it is wanted.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use e2bki_bag::messages::{Cloud, CompressedImage, Image};
use e2bki_bag::{Bag, Data, wire};
use image::RgbImage;

use crate::error::{Error, Flaw, Result};
use crate::files;
use crate::parse::{self, Grid, LabelImage};

/// Type of messages with clouds.
pub(crate) const CLOUD: &str = "sensor_msgs/msg/PointCloud2";
/// Type of messages with images as they are.
pub(crate) const IMAGE: &str = "sensor_msgs/msg/Image";
/// Type of messages with images as JPEG or PNG.
pub(crate) const COMPRESSED: &str = "sensor_msgs/msg/CompressedImage";

/// A file, or a message of a recording.
#[derive(Debug, Clone)]
pub enum Item {
    /// A file.
    File(PathBuf),
    /// A message.
    Message(Message),
}

/// A message of an open recording.
#[derive(Debug, Clone)]
pub struct Message {
    bag: Arc<Bag>,
    entry: e2bki_bag::Entry,
}

impl From<PathBuf> for Item {
    fn from(path: PathBuf) -> Self {
        Self::File(path)
    }
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Message(message) => write!(f, "{}, {}", message.bag.path().display(), message.place()),
        }
    }
}

impl Item {
    /// The file, where it is one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Message(_) => None,
        }
    }

    /// Whether both are the same file, however it is named, or the same message.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::File(a), Self::File(b)) => {
                a == b || a.canonicalize().ok().is_some_and(|a| b.canonicalize().is_ok_and(|b| a == b))
            }
            (Self::Message(_), Self::Message(_)) => self.to_string() == other.to_string(),
            _ => false,
        }
    }

    /// The picture in it.
    pub fn picture(&self) -> Result<RgbImage> {
        let message = match self {
            Self::File(path) => return files::parse(path, parse::picture),
            Self::Message(message) => message,
        };
        let data = message.read()?;
        picture_in(message.wire(), &data, message.kind() == COMPRESSED).map_err(|flaw| self.flaw(flaw))
    }

    /// The ids of pixels in it.
    pub(crate) fn label_image(&self) -> Result<LabelImage> {
        let message = match self {
            Self::File(path) => return files::parse(path, parse::label_image),
            Self::Message(message) => message,
        };
        let data = message.read()?;
        if message.kind() == COMPRESSED {
            let sent = CompressedImage::read(message.wire(), &data).map_err(|e| self.broken(&e))?;
            return parse::label_image(sent.data).map_err(|flaw| self.flaw(flaw));
        }
        let sent = message.image(&data)?;
        let ids = sent.labels().map_err(|e| self.broken(&e))?;
        Ok(LabelImage { width: sent.width, height: sent.height, ids })
    }

    /// The error for a flaw in it.
    pub(crate) fn flaw(&self, flaw: Flaw) -> Error {
        match self {
            Self::File(path) => flaw.of(path),
            Self::Message(message) => message.flaw(flaw.what),
        }
    }

    fn broken(&self, error: &wire::Broken) -> Error {
        self.flaw(Flaw::new(error.to_string()))
    }
}

/// The picture in a message: `sensor_msgs/CompressedImage`, or `sensor_msgs/Image`.
pub fn picture_in(wire: wire::Wire, message: &[u8], compressed: bool) -> std::result::Result<RgbImage, Flaw> {
    let broken = |error: wire::Broken| Flaw::new(error.to_string());
    if compressed {
        return parse::picture(CompressedImage::read(wire, message).map_err(broken)?.data);
    }
    let sent = Image::read(wire, message).map_err(broken)?;
    let [width, height] = crate::camera::check_size([sent.width, sent.height])?;
    RgbImage::from_raw(width as u32, height as u32, sent.rgb().map_err(broken)?)
        .ok_or_else(|| Flaw::new(format!("{width}×{height} pixels are not what was sent")))
}

impl Message {
    pub(crate) fn new(bag: &Arc<Bag>, entry: e2bki_bag::Entry) -> Self {
        Self { bag: Arc::clone(bag), entry }
    }

    /// Type of the message in the form of ROS 2.
    pub(crate) fn kind(&self) -> &str {
        self.bag.topics().get(self.entry.topic).map_or("", |topic| &topic.kind)
    }

    pub(crate) fn wire(&self) -> wire::Wire {
        self.bag.wire(&self.entry)
    }

    pub(crate) fn read(&self) -> Result<Data> {
        Ok(self.bag.read(&self.entry)?)
    }

    /// Topic and time, for messages to people.
    fn place(&self) -> String {
        let topic = self.bag.topics().get(self.entry.topic).map_or("", |topic| &topic.name);
        let (seconds, rest) = (self.entry.time / 1_000_000_000, self.entry.time % 1_000_000_000);
        format!("{topic} recorded at {seconds}.{rest:09}")
    }

    pub(crate) fn flaw(&self, what: impl fmt::Display) -> Error {
        Flaw::new(format!("{}: {what}", self.place())).of(self.bag.path())
    }

    /// The cloud in its bytes.
    pub(crate) fn cloud<'a>(&self, data: &'a Data) -> Result<Cloud<'a>> {
        Cloud::read(self.wire(), data).map_err(|e| self.flaw(e))
    }

    fn image<'a>(&self, data: &'a Data) -> Result<Image<'a>> {
        let sent = Image::read(self.wire(), data).map_err(|e| self.flaw(e))?;
        crate::camera::check_size([sent.width, sent.height]).map_err(|flaw| self.flaw(flaw.what))?;
        Ok(sent)
    }

    /// The values of classes in an image of numbers.
    pub(crate) fn grid(&self) -> Result<Grid> {
        if self.kind() != IMAGE {
            return Err(self.flaw(format!("{} holds no values of classes; {IMAGE} of 32FCn does", self.kind())));
        }
        let data = self.read()?;
        let sent = self.image(&data)?;
        let values = sent.floats().map_err(|e| self.flaw(e))?;
        let channels = sent.float_channels().unwrap_or(1);
        Ok(Grid { channels, height: sent.height, width: sent.width, values })
    }
}
