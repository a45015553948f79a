//! Visualisation: reports as one HTML file, and a viewer in the browser for maps and running mappers.
//!
//! - [`Report`] collects tables, bars, pictures and text into one self-contained file.
//! - [`Scenes`] holds the maps; [`Server`] shows them on a local page (HTTP for the page, a WebSocket for the rest).
//! - [`Publisher`] streams a map while it is built: what does not fit is dropped and counted, the mapper never waits. A
//!   [`Subscriber`] gets the same stream.
//! - [`Foxglove`] gives messages of a running robot to Foxglove.
//!
//! The server reads no files: the page is part of the program, and a request can only name its parts.

mod answer;
mod assets;
mod cache;
mod connections;
mod costs;
mod dirty;
mod encode;
mod error;
mod foxglove;
mod guard;
mod instance;
mod live;
mod points;
mod report;
mod request;
mod scene;
mod scenes;
mod server;
mod session;
mod snapshots;
mod tile;
mod untrusted;

pub use answer::{answer, free_space_at};
pub use encode::Layer;
pub use error::{Error, Result};
pub use foxglove::{Foxglove, FoxgloveTopic};
pub use instance::Instance;
pub use live::{LiveStats, Publisher, Subscriber};
pub use points::RawPoints;
pub use report::{Bar, Legend, Report};
pub use scene::{CityEntry, CitySource, CityTile, Scene};
pub use scenes::Scenes;
pub use server::{ServeOptions, Server};
pub use tile::Tile;
#[doc(hidden)]
pub use untrusted::parse_untrusted;
