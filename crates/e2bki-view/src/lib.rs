//! Looking at maps: a report of a run in one HTML file, and a viewer in the browser for maps and running mappers.
//!
//! - [`Report`] gathers tables, bars, pictures and text, and becomes one file that needs no network.
//! - [`Show`] holds the maps to look at; [`Server`] shows them on a local page (HTTP for the page, a WebSocket for the rest).
//! - [`Publisher`] streams a map that is being built: what does not fit is dropped and counted, the mapper never waits. Whoever
//!   implements [`Follow`] gets the same stream.
//!
//! The server reads no files: the page is part of the program, and a request can only name its parts.

mod answer;
mod assets;
mod body;
mod error;
mod guard;
mod live;
mod marks;
mod pack;
mod packed;
mod points;
mod report;
mod request;
mod scene;
mod server;
mod session;
mod show;
mod tile;

pub use answer::answer;
pub use body::Body;
pub use error::{Error, Result};
pub use live::{Follow, LiveCounts, Publisher};
pub use pack::What;
pub use points::RawPoints;
pub use report::{Bar, Legend, Report};
pub use scene::Scene;
pub use server::{ServeOptions, Server};
pub use show::Show;
pub use tile::{TILE_M, Tile};
