//! Recordings of robots: MCAP files, rosbag2 folders (MCAP or SQLite, split, compressed) and ROS 1 bags, without ROS.
//!
//! - [`Bag::open`] finds out what a path is, reads its index and lists its topics, [`Bag::of_bytes`] those of bytes; [`Bag::read`] gives the bytes of one
//!   message, borrowed from the decompressed chunk that holds it.
//! - [`wire`] reads the fields of messages (CDR of ROS 2, the serialisation of ROS 1); [`messages`] the messages that a
//!   mapper needs: clouds, images, calibrations, transforms, poses.
//! - [`Transforms`] answers where a frame was at a time, by interpolation in the tree of `/tf` and `/tf_static`; [`Track`] by a topic
//!   of poses.
//! - [`BagWriter`] writes MCAP with ROS 2 messages and their [`schemas`]; [`compose`] makes the messages.
//!
//! Nothing in a file is trusted: lengths are bounded before memory is asked for, checksums are verified, and damage is
//! an error that names the file and the place.

mod bag;
pub mod compose;
mod error;
mod file;
mod folder;
mod mcap_writer;
pub mod messages;
mod metadata;
pub mod schemas;
mod storage;
mod tf;
mod track;
mod unpack;
pub mod wire;
mod write;

pub use bag::{Bag, Entry, Kind, Topic};
pub use error::{Error, Result};
pub use storage::Data;
pub use tf::{BEYOND_S, Quaternion, Transforms, Unknown, interpolate};
pub use track::Track;
pub use write::{BagWriter, Fields, Schema};
