//! People's data as frames for the mapper: dataset readers, camera models, label tables.
//!
//! - [`Dataset::open`] finds out what a folder holds ([`Format::detect`]), joins scans, poses, images and labels by
//!   frame, and says what it had to leave out; [`Dataset::load`] reads one frame; [`read_ahead`] reads on another thread.
//! - [`ClassTable`] says what label ids mean; [`SemanticsSource`] where the semantics of the points come from.
//! - [`camera`] projects points into images; [`parse`] reads the bytes of every file format and never panics.
//!
//! ```no_run
//! use e2bki_data::{Dataset, OpenOptions};
//!
//! let dataset = Dataset::open("semantickitti/sequences/08".as_ref(), &OpenOptions::default())?;
//! let mut map = e2bki::Mapper::new(dataset.classes().clone(), e2bki::Config::default())?;
//! for index in 0..dataset.len() {
//!     let frame = dataset.load(index)?;
//!     map.insert(&frame.frame())?;
//! }
//! # Ok::<(), e2bki_data::Error>(())
//! ```

mod alignment;
pub mod camera;
mod classes;
mod dataset;
mod error;
mod files;
mod item;
mod layout;
pub mod parse;

pub use alignment::alignment;
pub use classes::{ClassTable, IdNames, Remap, VOID, id_names};
pub use dataset::{
    Dataset, GroundTruth, ImageLook, ImageSemantics, LabelledImage, LoadedFrame, OpenOptions, OwnedSemantics,
    ReadAhead, ReadCounts, SemanticsSource, Skipped, ValueKind, WholeScan, channel_meaning, read_ahead, returns_of,
};
pub use error::{Error, Flaw, Result};
pub use item::{Item, Message, picture_in};
pub use layout::{Format, Split};
