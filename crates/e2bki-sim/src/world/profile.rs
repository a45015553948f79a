//! Profile of a world: kind, season, shares of ground, driving speed.
//! The seed decides where things are; the profile decides which things there are.

use serde::{Deserialize, Serialize};

use crate::Error;

/// Off-road or urban.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WorldKind {
    /// Trails, grass, trees; the paper's 7 classes.
    Offroad,
    /// Streets; the paper's 11 classes.
    Urban,
}

impl std::str::FromStr for WorldKind {
    type Err = Error;
    fn from_str(name: &str) -> Result<WorldKind, Error> {
        match name {
            "offroad" => Ok(WorldKind::Offroad),
            "urban" => Ok(WorldKind::Urban),
            _ => Err(Error::UnknownName { what: "world", given: name.into(), known: "offroad, urban" }),
        }
    }
}

/// Time of year: colours of plants, leaves on trees, height of the sun.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Season {
    /// Fresh green.
    Spring,
    /// Deep green, high sun.
    Summer,
    /// Yellow and brown, thinner crowns.
    Autumn,
    /// Bare broad-leaved trees, pale grass, low sun.
    Winter,
}

impl Season {
    /// Leaf density of broad-leaved trees relative to summer.
    pub fn leaf_share(self) -> f64 {
        match self {
            Season::Spring => 0.8,
            Season::Summer => 1.0,
            Season::Autumn => 0.55,
            Season::Winter => 0.0,
        }
    }
}

/// Settings of an off-road world.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct OffroadProfile {
    /// Share of the trail that is paved.
    pub paved_share: f64,
    /// Share of the trail that is unpaved (gravel); what is left is dirt.
    pub unpaved_share: f64,
    /// Bare dirt beside the trail.
    pub dirt_patches: bool,
    /// Chance of a puddle on each 12 m of trail.
    pub puddle_chance: f64,
    /// How wooded it is, 0 to 1.
    pub forest: f64,
    /// How many objects stand by the trail, 0 to 1.
    pub objects: f64,
}

/// Settings of an urban world.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct UrbanProfile {
    /// Share of parking places taken.
    pub parked_share: f64,
    /// Moving cars per 100 m of the opposite lane.
    pub traffic: f64,
    /// Walking persons per 100 m of pavement.
    pub walkers: f64,
}

/// Settings of a world.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum WorldProfile {
    /// Off-road settings.
    Offroad(OffroadProfile),
    /// Urban settings.
    Urban(UrbanProfile),
}

impl WorldProfile {
    /// All classes of the kind occur.
    pub fn full(kind: WorldKind) -> WorldProfile {
        match kind {
            WorldKind::Offroad => WorldProfile::Offroad(OffroadProfile {
                paved_share: 0.2,
                unpaved_share: 0.5,
                dirt_patches: true,
                puddle_chance: 0.35,
                forest: 0.55,
                objects: 0.5,
            }),
            WorldKind::Urban => WorldProfile::Urban(UrbanProfile { parked_share: 0.26, traffic: 1.4, walkers: 2.5 }),
        }
    }

    /// Which kind of world this is.
    pub fn kind(&self) -> WorldKind {
        match self {
            WorldProfile::Offroad(_) => WorldKind::Offroad,
            WorldProfile::Urban(_) => WorldKind::Urban,
        }
    }
}

impl WorldProfile {
    /// Which classes of the kind can occur, in label order.
    pub fn present(&self) -> Vec<bool> {
        match self {
            WorldProfile::Offroad(p) => {
                let puddle = p.puddle_chance > 0.0;
                let dirt = p.dirt_patches || puddle || p.paved_share + p.unpaved_share < 1.0;
                vec![puddle, p.objects > 0.0, p.paved_share > 0.0, p.unpaved_share > 0.0, dirt, true, true]
            }
            WorldProfile::Urban(_) => vec![true; 11],
        }
    }
}
