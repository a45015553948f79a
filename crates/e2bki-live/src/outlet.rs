//! What goes out, and to whom: a network, or a test.

use e2bki_bag::{Schema, schemas};

/// Topic on which robots share.
pub const SHARED_TOPIC: &str = "/e2bki/share";

/// What a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Output {
    /// Voxels that changed (`PointCloud2`).
    Updates,
    /// All voxels that are kept, in messages that follow each other (`PointCloud2`); late joiners get them.
    Voxels,
    /// The robot's surroundings from above (`OccupancyGrid`); late joiners get the last one.
    Occupancy,
    /// What planners want to know of the ground (`GridMap`); late joiners get the last one.
    Layers,
    /// What driving costs a robot (`OccupancyGrid`); late joiners get the last one.
    Costmap,
    /// Names of the classes (`LabelInfo`); late joiners get it.
    LabelInfo,
    /// How the node is doing (`DiagnosticArray`).
    Diagnostics,
    /// Where the map's own frame is (`TFMessage`); late joiners get it.
    FixedTransforms,
    /// What this robot shares with others (`UInt8MultiArray`).
    Shared,
    /// What the map says of points that somebody asked about (`PointCloud2`).
    Answers,
}

impl Output {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Updates,
        Self::Voxels,
        Self::Occupancy,
        Self::Layers,
        Self::Costmap,
        Self::LabelInfo,
        Self::Diagnostics,
        Self::FixedTransforms,
        Self::Shared,
        Self::Answers,
    ];

    /// Name of its topic, below a prefix such as `/map` where it belongs to the map.
    pub fn topic(self, prefix: &str) -> String {
        match self {
            Self::Updates => format!("{prefix}/voxels_updates"),
            Self::Voxels => format!("{prefix}/voxels"),
            Self::Occupancy => format!("{prefix}/occupancy"),
            Self::Layers => format!("{prefix}/layers"),
            Self::Costmap => format!("{prefix}/costmap"),
            Self::LabelInfo => format!("{prefix}/label_info"),
            Self::Diagnostics => "/diagnostics".into(),
            Self::FixedTransforms => "/tf_static".into(),
            Self::Shared => SHARED_TOPIC.into(),
            Self::Answers => format!("{prefix}/answers"),
        }
    }

    /// Package and name of its type.
    pub fn kind(self) -> (&'static str, &'static str) {
        match self {
            Self::Updates | Self::Voxels | Self::Answers => ("sensor_msgs", "PointCloud2"),
            Self::Occupancy | Self::Costmap => ("nav_msgs", "OccupancyGrid"),
            Self::Layers => ("grid_map_msgs", "GridMap"),
            Self::LabelInfo => ("vision_msgs", "LabelInfo"),
            Self::Diagnostics => ("diagnostic_msgs", "DiagnosticArray"),
            Self::FixedTransforms => ("tf2_msgs", "TFMessage"),
            Self::Shared => ("std_msgs", "UInt8MultiArray"),
        }
    }

    /// The definition of its type, for those who cannot know it otherwise; none of what only robots read.
    pub fn schema(self) -> Option<Schema> {
        Some(match self {
            Self::Updates | Self::Voxels | Self::Answers => schemas::POINT_CLOUD,
            Self::Occupancy | Self::Costmap => schemas::OCCUPANCY_GRID,
            Self::Layers => schemas::GRID_MAP,
            Self::LabelInfo => schemas::LABEL_INFO,
            Self::Diagnostics => schemas::DIAGNOSTICS,
            Self::FixedTransforms => schemas::TRANSFORMS,
            Self::Shared => return None,
        })
    }

    /// How many of the last messages late joiners get; 0 for none.
    pub fn latched(self) -> usize {
        match self {
            Self::Updates | Self::Diagnostics | Self::Shared | Self::Answers => 0,
            Self::Voxels => crate::picture::MOST_PIECES,
            Self::Occupancy | Self::Layers | Self::Costmap | Self::LabelInfo | Self::FixedTransforms => 1,
        }
    }
}

/// Takes messages, CDR with its header of four bytes, without making the mapper wait.
pub trait Outlet {
    /// Messages that have not gone out yet.
    fn waiting(&self) -> usize;

    /// Sends a message.
    fn send(&self, output: Output, message: Vec<u8>);
}
