//! The options of `e2bki live`.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use clap::Args;
use e2bki::submaps::SubmapRule;
use e2bki::{ClassSet, Config, Mapper};
use e2bki_data::{ClassTable, Remap, channel_meaning};
use e2bki_layers::{ClassCosts, Robot, Settings, UnknownClasses};
use e2bki_live::{
    CameraOptions, ConnectionOptions, Inputs, Kind, MOST_DOMAINS, Network, NodeOptions, Planning, PlanningOptions,
    PoseSource, Rmw, Sharing, Values,
};
use e2bki_store::WriteLock;
use e2bki_view::ServeOptions;

use crate::config::Parameters;
use crate::map::budget::parse_bytes;
use crate::map::submaps;
use crate::map::write;
use crate::view::ServeArguments;

/// Where the router of a robot that speaks Zenoh is.
const ROUTER: &str = "tcp/localhost:7447";

/// Map what a running robot sees: a ROS 2 node without ROS
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    e2bki live --points /ouster/points --tf map --classes urban11 --out street.e2bki\n  \
    e2bki live --points /points --odom /odom --classes /label_info --domain 7 --memory 2GB --out street.e2bki\n  \
    e2bki live --points /points --classes offroad7 --loopback --use-sim-time --rate 5 --view\n  \
    e2bki live --points /points --classes urban11 --onto street.e2bki --out street.e2bki\n  \
    e2bki live --points /points --classes urban11 --share spot --join --share-domain 42 --out both.e2bki\n  \
    e2bki live --join --classes urban11 --share-domain 42 --foxglove      # a station that only listens\n  \
    e2bki live --points /points --classes offroad7 --robot husky.toml --layers height,slope,cost\n  \
    e2bki live --points /points --classes offroad7 --image /camera/image_raw --semantics network.safetensors\n  \
    ros2 service call /e2bki/save std_srvs/srv/Trigger\n\n\
    Clouds need a field `label`, `class` or `semantic`, or a camera and --semantics. Each is mapped when transforms or odometry reach its time; who is too\n\
    slow drops the oldest, and everything that is left out is counted on /diagnostics.\n\n\
    Topics: /map/voxels_updates (what changed), /map/voxels (all of it, for late joiners), /map/occupancy, /map/label_info,\n\
    /diagnostics; with --robot /map/layers and /map/costmap. Services: /e2bki/save, /e2bki/reset. Ctrl-C and SIGTERM save the map and end.\n\n\
    DDS listens on all addresses of the computer, also with --network and --loopback: these say where it sends and what it\n\
    announces.")]
pub(crate) struct Options {
    /// Topic of the clouds (sensor_msgs/PointCloud2)
    #[arg(long, value_name = "TOPIC", required_unless_present = "join")]
    pub(super) points: Option<String>,
    /// Poses from odometry (nav_msgs/Odometry); transforms connect its frame with that of the clouds
    #[arg(long, value_name = "TOPIC", conflicts_with = "tf")]
    odom: Option<String>,
    /// Poses from transforms to this frame, which is that of the map
    #[arg(long, value_name = "FRAME", default_value = "map")]
    tf: String,
    /// Classes: offroad7, urban11, urban11-strict, semantickitti19, a TOML file, or a topic of vision_msgs/LabelInfo
    #[arg(long, value_name = "NAME|FILE|TOPIC")]
    pub(super) classes: String,
    /// Label ids of the clouds: rellis3d, kitti360, semantickitti, cityscapes, classes [default: classes, or what the topic
    /// says]
    #[arg(long, value_name = "NAME")]
    pub(super) semantic_ids: Option<String>,
    #[command(flatten)]
    runtime: crate::network::RuntimeArguments,
    /// Domain of ROS 2 [default: ROS_DOMAIN_ID, or 0]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(..=i64::from(MOST_DOMAINS)))]
    domain: Option<u16>,
    /// Use only the network with this address of the computer (may be repeated) [default: all]
    #[arg(long, value_name = "IP")]
    network: Vec<IpAddr>,
    /// Use only this computer
    #[arg(long, conflicts_with = "network")]
    loopback: bool,
    /// Speak Zenoh, as rmw_zenoh does, instead of DDS, by this router or peer; builds with --features zenoh do so by themselves
    /// where RMW_IMPLEMENTATION is rmw_zenoh_cpp
    #[arg(long, value_name = "ENDPOINT", num_args = 0..=1, default_missing_value = ROUTER, conflicts_with = "rmw")]
    zenoh: Option<String>,
    /// Name of the node
    #[arg(long, value_name = "NAME", default_value = "e2bki")]
    pub(super) name: String,
    /// What topics of the map begin with
    #[arg(long, value_name = "TOPIC", default_value = "/map")]
    prefix: String,
    /// Middleware of those who call services: rmw_fastrtps_cpp or rmw_cyclonedds_cpp [default: RMW_IMPLEMENTATION, or the first]
    #[arg(long, value_name = "NAME")]
    rmw: Option<Rmw>,
    /// Follow the clock of a simulation (/clock, rosgraph_msgs/Clock)
    #[arg(long)]
    pub(super) use_sim_time: bool,
    /// Map file to write at the end: .e2bki to continue with, .ply for viewers
    #[arg(short, long, value_name = "MAP")]
    pub(super) out: Option<PathBuf>,
    /// Continue a saved map, with its own parameters
    #[arg(long, value_name = "MAP.e2bki")]
    pub(super) onto: Option<PathBuf>,
    /// Also save the map every so many seconds
    #[arg(long, value_name = "S", requires = "out")]
    save_every: Option<f64>,
    /// Keep at most this much of the map in memory, as in 500MB or 2GiB; the rest waits in a folder beside MAP
    #[arg(long, value_name = "SIZE", requires = "out", value_parser = parse_bytes)]
    pub(super) memory: Option<usize>,
    /// Keep what every stretch of the drive added, to take it out or correct its poses later: metres, as in 20, seconds (10s)
    /// or frames (50f)
    #[arg(long, value_name = "LENGTH", value_parser = submaps::rule, requires = "out")]
    pub(super) submaps: Option<SubmapRule>,
    /// Updates per second; each takes time from the mapper
    #[arg(long, value_name = "HZ", default_value_t = 1.0)]
    rate: f64,
    /// Send voxels again when their class changes, or p or u by more than this
    #[arg(long, value_name = "SHARE", default_value_t = 0.02)]
    tolerance: f64,
    /// Publish the whole map for late joiners every so many seconds
    #[arg(long, value_name = "S", default_value_t = 10.0)]
    whole_every: f64,
    /// Side of the grids around the robot, metres
    #[arg(long, value_name = "M", default_value_t = 60.0)]
    window: f64,
    /// Tell layers and costs for planners of this robot, TOML; `e2bki config --robot` prints one to change
    #[arg(long, value_name = "FILE")]
    robot: Option<PathBuf>,
    /// Layers to tell; fewer of them reach farther [default: all that `e2bki layers` makes]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', requires = "robot")]
    layers: Vec<String>,
    /// Side of the cells of layers and costs, metres
    #[arg(long, value_name = "M", default_value_t = 0.2, requires = "robot")]
    cell: f64,
    /// Layers and costs per second
    #[arg(long, value_name = "HZ", default_value_t = 1.0)]
    layers_rate: f64,
    /// Scans that may wait; a further one drops the oldest
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = at_least_one)]
    pub(super) queue: usize,
    /// Longest time that a scan waits for late transforms, seconds
    #[arg(long, value_name = "S", default_value_t = 0.5)]
    wait: f64,
    /// Do not undo the motion during a scan
    #[arg(long)]
    no_deskew: bool,
    /// Tell other robots what this one of this name adds to the map
    #[arg(long, value_name = "NAME", requires = "points", conflicts_with_all = ["onto", "memory"])]
    share: Option<String>,
    /// Take what other robots share into the map: it becomes the sum of all
    #[arg(long, conflicts_with_all = ["onto", "memory"])]
    join: bool,
    /// Domain in which robots share [default: that of --domain]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(..=i64::from(MOST_DOMAINS)))]
    share_domain: Option<u16>,
    /// Most that is sent to the other robots, megabits per second; what changes faster is told later
    #[arg(long, value_name = "MBIT", default_value_t = 4.0)]
    share_rate: f64,
    /// Stop after so many seconds
    #[arg(long, value_name = "S")]
    pub(super) seconds: Option<f64>,
    /// Drop points farther than this from the sensor, metres
    #[arg(long, value_name = "M")]
    max_range: Option<f64>,
    /// Voxel size, metres
    #[arg(long, value_name = "M")]
    resolution: Option<f64>,
    /// Show the map in the browser too
    #[arg(long)]
    pub(super) view: bool,
    /// Give all messages to Foxglove, over a WebSocket at this port
    #[arg(long, value_name = "PORT", num_args = 0..=1, default_missing_value = "8765")]
    foxglove: Option<u16>,
    /// Topic of a camera's pictures, for --semantics and Foxglove (sensor_msgs/Image, or CompressedImage where its name ends so)
    #[arg(long, value_name = "TOPIC")]
    pub(super) image: Option<String>,
    /// Topic of the camera's calibration (sensor_msgs/CameraInfo) [default: camera_info beside the pictures]
    #[arg(long, value_name = "TOPIC", requires = "semantics")]
    camera_info: Option<String>,
    /// Network that says what is in the pictures, .safetensors or .onnx, in place of labels of the clouds
    #[arg(long, value_name = "FILE", requires = "image")]
    pub(super) semantics: Option<String>,
    /// Drop points that nearer ones within this many pixels hide from the camera
    #[arg(long, value_name = "PIXELS", num_args = 0..=1, require_equals = true, default_missing_value = "5", requires = "semantics")]
    occlusion: Option<usize>,
    #[command(flatten)]
    pub(super) serve: ServeArguments,
    #[command(flatten)]
    parameters: Parameters,
}

fn at_least_one(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|n| (1..=10_000).contains(n)).ok_or_else(|| "a number from 1 to 10000".to_string())
}

/// What an environment variable says, if anything.
fn set(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Type of a topic of pictures: those that are compressed are named so.
pub(super) fn image_kind(topic: &str) -> Kind {
    if topic.ends_with("compressed") { Kind::CompressedImage } else { Kind::Image }
}

impl Options {
    pub(super) fn config(&self) -> Result<Config> {
        for (name, value, least, most) in [
            ("--rate", self.rate, 0.01, 100.0),
            ("--whole-every", self.whole_every, 0.1, 1e6),
            ("--window", self.window, 1.0, 1000.0),
            ("--layers-rate", self.layers_rate, 0.01, 100.0),
            ("--cell", self.cell, 0.02, 10.0),
            ("--occlusion", self.occlusion.unwrap_or(1) as f64, 1.0, 1000.0),
            ("--tolerance", self.tolerance, 0.0, 1.0),
            ("--wait", self.wait, 0.0, 60.0),
            ("--save-every", self.save_every.unwrap_or(1.0), 1.0, 1e6),
            ("--share-rate", self.share_rate, 0.01, 1e4),
            ("--seconds", self.seconds.unwrap_or(1.0), 0.0, 1e9),
        ] {
            if !(least..=most).contains(&value) {
                bail!("{name} {value} is not from {least} to {most}");
            }
        }
        if self.image.is_some() && self.semantics.is_none() && self.foxglove.is_none() {
            bail!("--image is for a network (--semantics FILE) or for Foxglove (--foxglove)");
        }
        if self.onto.is_some() && (self.parameters.any() || self.max_range.is_some() || self.resolution.is_some()) {
            bail!("--onto continues a map with its own parameters; remove the others");
        }
        let mut config = self.parameters.read_for_scans()?;
        for (key, value) in [("input.max_range", self.max_range), ("views.resolution", self.resolution)] {
            if let Some(value) = value {
                config.set_text(key, &value.to_string())?;
            }
        }
        if !config.views.live_voxels {
            bail!("updates are made of the live voxels: leave views.live_voxels at true");
        }
        Ok(config)
    }

    /// Whether the classes come from a topic.
    pub(super) fn classes_are_told(&self) -> bool {
        self.classes.starts_with('/') && !std::path::Path::new(&self.classes).is_file()
    }

    /// That the map can be written, and by nobody else.
    pub(super) fn check_out(&self) -> Result<Option<WriteLock>> {
        let Some(path) = &self.out else { return Ok(None) };
        write::check(path, self.memory.is_some())?;
        Ok(Some(WriteLock::of_file(path)?))
    }

    pub(super) fn poses(&self) -> PoseSource {
        match &self.odom {
            Some(_) => PoseSource::Odometry,
            None => PoseSource::Tf(self.tf.trim_start_matches('/').into()),
        }
    }

    /// The endpoint of Zenoh; nothing where the node speaks DDS.
    pub(super) fn endpoint(&self) -> Option<String> {
        let by_ros = || {
            (cfg!(feature = "zenoh")
                && self.rmw.is_none()
                && set("RMW_IMPLEMENTATION").as_deref() == Some("rmw_zenoh_cpp"))
            .then(|| ROUTER.into())
        };
        self.zenoh.clone().or_else(by_ros)
    }

    /// Joins the network and listens.
    pub(super) fn connect(&self, inputs: &Arc<Inputs>) -> Result<Box<dyn Network>> {
        let (options, inputs) = (self.connection()?, Arc::clone(inputs));
        Ok(match self.endpoint() {
            None => Box::new(e2bki_live::dds::Connection::open(&options, inputs)?),
            #[cfg(feature = "zenoh")]
            Some(endpoint) => Box::new(e2bki_live::zenoh::Connection::open(&options, &endpoint, inputs)?),
            #[cfg(not(feature = "zenoh"))]
            Some(_) => bail!("this program does not speak Zenoh: build it with --features zenoh"),
        })
    }

    pub(super) fn connection(&self) -> Result<ConnectionOptions> {
        let domain = match (self.domain, set("ROS_DOMAIN_ID")) {
            (Some(domain), _) => domain,
            (None, Some(text)) => text.parse().with_context(|| format!("ROS_DOMAIN_ID is `{text}`"))?,
            (None, None) => 0,
        };
        let rmw = match (self.rmw, set("RMW_IMPLEMENTATION")) {
            (Some(rmw), _) => rmw,
            // One that we do not know calls no services of ours.
            (None, Some(text)) => text.parse().unwrap_or(Rmw::FastRtps),
            (None, None) => Rmw::FastRtps,
        };
        let mut topics = Vec::new();
        topics.extend(self.points.clone().map(|topic| (Kind::Cloud, topic)));
        topics.extend(self.image.clone().map(|topic| (image_kind(&topic), topic)));
        topics.extend(self.calibration().map(|topic| (Kind::CameraInfo, topic)));
        topics.extend(self.odom.clone().map(|topic| (Kind::Odometry, topic)));
        topics.extend([(Kind::Transforms, "/tf".to_string()), (Kind::FixedTransforms, "/tf_static".to_string())]);
        if self.use_sim_time {
            topics.push((Kind::Clock, "/clock".into()));
        }
        if self.classes_are_told() {
            topics.push((Kind::LabelInfo, self.classes.clone()));
        }
        let networks = if self.loopback { vec![IpAddr::V4(Ipv4Addr::LOCALHOST)] } else { self.network.clone() };
        let prefix = self.prefix.trim_matches('/');
        let prefix = if prefix.is_empty() { String::new() } else { format!("/{prefix}") };
        topics.push((Kind::Questions, format!("{prefix}/questions")));
        let shares = self.share.is_some() || self.join;
        let share_domain = shares.then_some(self.share_domain.unwrap_or(domain));
        let (name, plans) = (self.name.clone(), self.robot.is_some());
        Ok(ConnectionOptions { domain, networks, name, topics, prefix, plans, rmw, share_domain })
    }

    /// What can be told the node while it runs, to begin with.
    pub(super) fn values(&self) -> Values {
        let &Self { rate, tolerance, whole_every, window, layers_rate, wait, .. } = self;
        Values { rate, tolerance, whole_every, window, layers_rate, wait, region: None }
    }

    /// Where Foxglove connects to, if it is to.
    pub(super) fn foxglove(&self) -> Option<ServeOptions> {
        self.foxglove.map(|port| ServeOptions { host: self.serve.host(), port })
    }

    /// The exchange with other robots, if there is to be one.
    pub(super) fn sharing(&self, mapper: &Mapper) -> Result<Option<Sharing>> {
        if self.share.is_none() && !self.join {
            return Ok(None);
        }
        // No two runs of a robot have the same name, so that none is taken for the other.
        let begun = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let name = self.share.as_deref().unwrap_or("listener");
        let run = format!("{name}@{}.{:03}", begun.as_secs(), begun.subsec_millis());
        let rate = self.share_rate * 1e6 / 8.0;
        Ok(Some(Sharing::new(run, (self.share.is_some(), self.join), mapper, rate)?))
    }

    /// Topic of the camera's calibration, where a network needs it: beside the pictures, as `/front/camera_info` beside
    /// `/front/image_raw/compressed`.
    fn calibration(&self) -> Option<String> {
        let image = self.image.as_deref().filter(|_| self.semantics.is_some())?;
        let raw = image.trim_end_matches("/compressed");
        let beside = || format!("{}/camera_info", raw.rsplit_once('/').map_or("", |(space, _)| space));
        Some(self.camera_info.clone().unwrap_or_else(beside))
    }

    /// The network, if there is to be one.
    pub(super) fn camera(&self, table: &ClassTable) -> Result<Option<CameraOptions>> {
        let (Some(file), Some(topic)) = (&self.semantics, &self.image) else { return Ok(None) };
        let network = crate::network::open(file, &self.runtime)?;
        let ids = self.semantic_ids.as_deref().or(network.ids());
        let remap = channel_meaning(ids, network.channels(), table, &network.name())?;
        Ok(Some(CameraOptions { network, remap, topic: topic.clone(), occlusion_window: self.occlusion }))
    }

    /// Layers for planners, if they are to be told.
    pub(super) fn planning(&self, classes: &ClassSet) -> Result<Option<Planning>> {
        let Some(file) = &self.robot else { return Ok(None) };
        let robot = Robot::read(file)?;
        let costs = ClassCosts::of(classes, &robot, UnknownClasses::Refuse)?;
        let layers = PlanningOptions::layers_of(&self.layers).map_err(anyhow::Error::msg)?;
        let settings = Settings::new(robot, costs);
        Ok(Some(Planning::new(PlanningOptions { settings, cell: self.cell, layers })))
    }

    pub(super) fn node(&self, remap: Remap, costs: Vec<u8>, camera: Option<CameraOptions>) -> NodeOptions {
        NodeOptions {
            camera,
            name: self.name.clone(),
            deskew: !self.no_deskew,
            remap,
            costs,
            save_every: self.save_every.map(Duration::from_secs_f64),
        }
    }
}
