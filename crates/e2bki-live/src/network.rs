//! What every network is told, and what it is asked: see `dds` and `zenoh`.

use std::net::IpAddr;
use std::str::FromStr;
use std::sync::mpsc::Receiver;

use crate::inputs::Kind;
use crate::node::Request;
use crate::outlet::Outlet;
#[cfg(feature = "dds")]
use crate::outlet::Output;

/// Largest number of a domain: in DDS its ports are numbers of UDP.
pub const MOST_DOMAINS: u16 = 232;

/// Requests that may wait for the mapper.
#[cfg(feature = "dds")]
pub(crate) const WAITING_REQUESTS: usize = 16;

/// What a connection is told.
#[derive(Debug, Clone)]
pub struct ConnectionOptions {
    /// Number of the domain.
    pub domain: u16,
    /// Addresses of the networks to use; all where none is named.
    pub networks: Vec<IpAddr>,
    /// Name of the node.
    pub name: String,
    /// Topics to listen to.
    pub topics: Vec<(Kind, String)>,
    /// What topics of the map begin with.
    pub prefix: String,
    /// Whether layers for planners are told.
    pub plans: bool,
    /// Whose services are to be understood.
    pub rmw: Rmw,
    /// Number of the domain in which robots share; none where they do not.
    pub share_domain: Option<u16>,
}

impl ConnectionOptions {
    /// What is told in the domain of the node.
    #[cfg(feature = "dds")]
    pub(crate) fn outputs(&self) -> Vec<Output> {
        let told = |output: &Output| match output {
            Output::Shared => false,
            Output::Layers | Output::Costmap => self.plans,
            _ => true,
        };
        Output::ALL.into_iter().filter(told).collect()
    }
}

/// A network that a node is connected to.
pub trait Network: Outlet {
    /// What is to be said since the last time: topics that were found or are missing.
    fn notes(&self) -> Vec<String>;

    /// What others ask for.
    fn requests(&self) -> &Receiver<Request>;

    /// Messages that found no room and were never sent, and those that the network refused.
    fn lost(&self) -> u64;
}

/// Whose services are to be understood: middlewares of DDS wrap requests in ways of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rmw {
    /// `rmw_fastrtps_cpp`, which ROS 2 has by default, and `rmw_connextdds`.
    FastRtps,
    /// `rmw_cyclonedds_cpp`.
    Cyclone,
}

impl FromStr for Rmw {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        match text.trim_start_matches("rmw_").trim_end_matches("_cpp") {
            "fastrtps" | "fastdds" | "fastrtps_dynamic" | "connextdds" => Ok(Self::FastRtps),
            "cyclonedds" | "cyclone" => Ok(Self::Cyclone),
            "zenoh" => Err("zenoh is no middleware of DDS: --zenoh connects to it".into()),
            other => Err(format!("`{other}` is not known; rmw_fastrtps_cpp or rmw_cyclonedds_cpp")),
        }
    }
}

impl Kind {
    /// Package and name of its type.
    pub fn type_name(self) -> (&'static str, &'static str) {
        match self {
            Self::Cloud | Self::Questions => ("sensor_msgs", "PointCloud2"),
            Self::Image => ("sensor_msgs", "Image"),
            Self::CompressedImage => ("sensor_msgs", "CompressedImage"),
            Self::CameraInfo => ("sensor_msgs", "CameraInfo"),
            Self::Transforms | Self::FixedTransforms => ("tf2_msgs", "TFMessage"),
            Self::Odometry => ("nav_msgs", "Odometry"),
            Self::Clock => ("rosgraph_msgs", "Clock"),
            Self::LabelInfo => ("vision_msgs", "LabelInfo"),
            Self::Shared => ("std_msgs", "UInt8MultiArray"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn middlewares_are_known_by_their_names_in_ros() {
        assert_eq!("rmw_fastrtps_cpp".parse(), Ok(Rmw::FastRtps));
        assert_eq!("rmw_cyclonedds_cpp".parse(), Ok(Rmw::Cyclone));
        assert!("rmw_zenoh_cpp".parse::<Rmw>().unwrap_err().contains("--zenoh"));
    }
}
