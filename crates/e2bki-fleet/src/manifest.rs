//! Manifests: what a fleet's map is made of, one after the other.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Tile;
use crate::description::Fleet;
use crate::error::{Error, Result};

/// A run that is in the map.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Run {
    /// Its name.
    pub name: String,
    /// What tells it from other runs.
    pub key: String,
    /// Frames in it.
    pub frames: u64,
    /// Frames whose beams were counted, in fleets with free space.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub looks: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_zero(value: &u64) -> bool {
    *value == 0
}

/// A run that was taken out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Left {
    /// Its name.
    pub name: String,
    /// What told it from other runs.
    pub key: String,
    /// Why.
    pub reason: String,
    /// Whether everything that held it was removed as well.
    pub purged: bool,
}

/// What the map is made of.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Counted from 1; 0 is before the first.
    pub number: u64,
    /// The one it follows.
    pub parent: u64,
    /// Runs in the map, by name.
    pub runs: Vec<Run>,
    /// Runs that were taken out, by name.
    pub removed: Vec<Left>,
    /// Key of every tile, by its coordinates.
    #[serde(with = "coordinates")]
    pub tiles: BTreeMap<Tile, String>,
}

/// JSON has no lists as names.
mod coordinates {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    use crate::Tile;

    pub(super) fn serialize<S: Serializer>(tiles: &BTreeMap<Tile, String>, to: S) -> Result<S::Ok, S::Error> {
        tiles.iter().map(|(tile, key)| (super::tile_name(*tile), key)).collect::<BTreeMap<_, _>>().serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<Tile, String>, D::Error> {
        let text = BTreeMap::<String, String>::deserialize(from)?;
        let read = |(name, key): (String, String)| {
            let tile = super::tile_of_name(&name).ok_or_else(|| D::Error::custom(format!("{name} is not a tile")))?;
            Ok((tile, key))
        };
        text.into_iter().map(read).collect()
    }
}

/// A tile in the names of objects.
pub(crate) fn tile_name([x, y]: Tile) -> String {
    format!("{x}_{y}")
}

/// Reads what [`tile_name`] wrote.
pub(crate) fn tile_of_name(name: &str) -> Option<Tile> {
    let (x, y) = name.split_once('_')?;
    Some([x.parse().ok()?, y.parse().ok()?])
}

/// Where a tile is.
pub(crate) fn tile_object(tile: Tile, key: &str) -> String {
    format!("tiles/{}/{key}.e2bki", tile_name(tile))
}

/// Where a run is.
pub(crate) fn run_object(name: &str, key: &str) -> String {
    format!("runs/{name}/{key}.e2bki")
}

pub(crate) fn manifest_object(number: u64) -> String {
    format!("manifests/{number:06}")
}

impl Manifest {
    /// The numbers of all manifests, ascending.
    pub fn numbers(fleet: &Fleet) -> Result<Vec<u64>> {
        let listed = fleet.objects.list("manifests")?;
        let mut numbers: Vec<u64> =
            listed.iter().filter_map(|(name, _)| name.strip_prefix("manifests/")?.parse().ok()).collect();
        numbers.sort_unstable();
        Ok(numbers)
    }

    /// The manifest of a number.
    pub fn read(fleet: &Fleet, number: u64) -> Result<Self> {
        let object = manifest_object(number);
        let store = fleet.objects.name();
        let bytes = fleet.objects.get(&object)?;
        let bytes = bytes.ok_or_else(|| Error::Refused(format!("{store} has no manifest {number}")))?;
        let damaged = |what: String| Error::Damaged { store: store.into(), object: object.clone(), what };
        let manifest: Self = serde_json::from_slice(&bytes).map_err(|e| damaged(e.to_string()))?;
        if manifest.number != number {
            return Err(damaged(format!("it says that it is number {}", manifest.number)));
        }
        Ok(manifest)
    }

    /// The latest manifest; an empty one of number 0 if there is none.
    pub fn latest(fleet: &Fleet) -> Result<Self> {
        match Self::numbers(fleet)?.last() {
            Some(number) => Self::read(fleet, *number),
            None => Ok(Self::default()),
        }
    }

    /// Makes this what the map is, unless there is another one of its number.
    pub(crate) fn create(&self, fleet: &Fleet) -> Result<bool> {
        let bytes =
            serde_json::to_vec_pretty(self).map_err(|e| Error::Refused(format!("cannot write a manifest: {e}")))?;
        fleet.objects.create(&manifest_object(self.number), bytes)
    }
}
