//! A map that grows with a running robot: scans and poses come as messages of ROS 2, changed voxels and grids go out.
//!
//! - [`Inputs`] takes messages as they come from the network: clouds wait in a bounded [`Queue`] that drops the oldest,
//!   transforms and odometry become [`Poses`].
//! - [`Node`] takes each scan when its pose is settled, inserts it into a [`LiveMap`], and tells an [`Outlet`] what changed
//!   ([`Picture`]), what the robot's surroundings look like from above, and how it is doing ([`Account`]).
//! - [`Images`] are pictures that wait for the scans of their time, where a network says what is in them.
//! - [`Planning`] keeps layers and costs for planners up to date with the map.
//! - [`Sharing`] is the exchange with other robots: what each added to the map, told in differences.
//! - With the feature `dds`, `dds::Connection` is the [`Network`]: the robot's side of [`Inputs`] and an [`Outlet`]; with
//!   `zenoh`, `zenoh::Connection` is another.
//!
//! Nothing here but those modules knows a network, so that everything else is tested without one.

mod account;
mod clock;
#[cfg(feature = "dds")]
pub mod dds;
mod error;
mod images;
mod inputs;
mod map;
mod network;
mod node;
mod outlet;
#[cfg(feature = "dds")]
mod parameter_messages;
mod parameters;
mod picture;
mod planning;
mod poses;
mod question;
mod queue;
mod receive_buffer;
mod scan;
#[cfg(feature = "dds")]
mod sender;
pub mod share;
#[cfg(feature = "zenoh")]
pub mod zenoh;

pub use account::{Account, Latencies, Left};
pub use clock::Clock;
pub use error::{Error, Result};
pub use images::{Images, SAME_VIEW_NS};
pub use inputs::{Inputs, Kind};
pub use map::LiveMap;
pub use network::{ConnectionOptions, MOST_DOMAINS, Network, Rmw};
pub use node::{CameraOptions, Command, Node, NodeOptions, Request};
pub use outlet::{Outlet, Output, SHARED_TOPIC};
pub use parameters::{PARAMETERS, Parameter, Parameters, Value, Values};
pub use picture::{MOST_BYTES, Picture, messages};
pub use planning::{Planning, PlanningOptions, Rectangle};
pub use poses::{PoseSource, Poses};
pub use question::Question;
pub use queue::Queue;
pub use receive_buffer::{ENOUGH_BYTES, advice};
pub use scan::{Points, Scan};
pub use share::Sharing;
