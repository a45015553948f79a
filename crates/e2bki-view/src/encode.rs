//! The binary encoding of tiles: a header of 64 bytes, then vertex attributes, little-endian, as the page's shaders read them.

use e2bki::free::Seen;
use e2bki::{Belief, Beliefs, Mapper, Voxels};
use serde::{Deserialize, Serialize};

use crate::instance::{Instance, instances};
use crate::points::ScanPoint;
use crate::tile::Square;

/// First bytes of every tile message; the last is the version of the format.
const MAGIC: &[u8; 4] = b"E2T1";

/// Added to the class of a primitive that was seen through since: far above any number of classes.
const GONE: u16 = 1 << 15;

/// Layer of a map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Layer {
    /// Ellipsoids.
    Primitives = 0,
    /// Voxels.
    Voxels = 1,
    /// Points as scanned.
    Points = 2,
    /// Cells of the ground with what driving there costs a robot.
    Costs = 3,
}

/// Map, tile, its level and version, for the header.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Address {
    pub(crate) map: u8,
    pub(crate) square: Square,
    pub(crate) version: u32,
}

/// Vertex attributes of a tile.
#[derive(Default)]
struct Columns {
    places: Vec<[f32; 3]>,
    sizes: Vec<[f32; 3]>,
    rotations: Vec<[i16; 4]>,
    /// u_sem, u_spa, u and four times the variance, scaled to 0 … 65535.
    values: Vec<[u16; 4]>,
    /// Class, with [`GONE`] added where it is no longer there, and age scaled to 0 … 65535: 0 is the oldest.
    kinds: Vec<[u16; 2]>,
}

/// What the age of a primitive is measured by.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Age {
    /// The order in which primitives were made, against the next id.
    Order(u64),
    /// When its place was first seen, against the times of the whole map.
    Time(Seen),
}

impl Age {
    /// Of a whole map: by time where it knows times. Maps that are sums do not keep an order in files.
    pub(crate) fn of(map: &Mapper) -> Self {
        span(map).map_or(Self::Order(map.next_id()), Self::Time)
    }

    /// From 0, the oldest, to 1. What has no time was always there.
    fn share(self, map: &Mapper, instance: &Instance) -> f64 {
        match self {
            Self::Order(next_id) => instance.id as f64 / next_id.max(1) as f64,
            Self::Time(span) => map.first_seen(instance.center).map_or(0.0, |first| {
                (first - f64::from(span.first)) / f64::from(span.last.saturating_sub(span.first).max(1))
            }),
        }
    }
}

/// The first and the last second of a map, if it knows more than one.
pub(crate) fn span(map: &Mapper) -> Option<Seen> {
    map.free_space().and_then(|counters| counters.span()).filter(|span| span.first < span.last)
}

/// The primitives whose mean is in the tile. `map` must hold all that reach into it.
pub(crate) fn primitives(map: &Mapper, heights: [f64; 2], age: Age, at: Address) -> Vec<u8> {
    let mut instances = instances(map, at.square, heights);
    // Shuffled, so that any prefix is a fair sample: the page draws only a part of distant tiles (level of detail).
    instances.sort_by_key(|instance| mixed(instance.id));
    let origin = origin(at.square, heights);
    let mut columns = Columns::default();
    for instance in &instances {
        columns.places.push(relative(instance.center, origin));
        columns.sizes.push(instance.half_axes.map(|a| a as f32));
        columns.rotations.push(instance.rotation.map(|q| (q * 32767.0).round() as i16));
        columns.values.push(values(&instance.belief));
        let age = age.share(map, instance);
        let gone = if instance.gone { GONE } else { 0 };
        columns.kinds.push([instance.label as u16 | gone, share(age)]);
    }
    columns.bytes(Layer::Primitives, at, origin, 0.0)
}

/// The voxels whose centre is in the tile, out of those listed.
pub(crate) fn voxels(voxels: &Voxels, listed: &[u32], heights: [f64; 2], at: Address) -> Vec<u8> {
    let origin = origin(at.square, heights);
    let mut order: Vec<usize> =
        listed.iter().map(|i| *i as usize).filter(|i| at.square.holds(voxels.centers[*i])).collect();
    order.sort_by_key(|i| mixed(*i as u64));
    let mut columns = Columns::default();
    for i in order {
        let belief = voxels.beliefs.get(i);
        let Some(label) = belief.label() else { continue };
        columns.places.push(relative(voxels.centers[i], origin));
        columns.values.push(values(&belief));
        columns.kinds.push([label as u16, 0]);
    }
    columns.bytes(Layer::Voxels, at, origin, voxels.resolution)
}

/// Points with the class given by their frame and the map's belief at their position; age is that of the frame.
pub(crate) fn points(seen: &[(ScanPoint, [f64; 3])], beliefs: &Beliefs, frames: u32, at: Address) -> Vec<u8> {
    let low = seen.iter().map(|(_, place)| place[2]).fold(f64::INFINITY, f64::min);
    let origin = origin(at.square, [low, low]);
    let mut order: Vec<usize> = (0..seen.len()).collect();
    order.sort_by_key(|i| mixed(*i as u64));
    let mut columns = Columns::default();
    for i in order {
        let (point, place) = seen[i];
        columns.places.push(relative(place, origin));
        columns.values.push(values(&beliefs.get(i)));
        let age = f64::from(point.frame) / f64::from(frames.max(1));
        columns.kinds.push([point.label, share(age)]);
    }
    columns.bytes(Layer::Points, at, origin, 0.0)
}

/// A cell of the ground.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct CostCell {
    pub(crate) place: [f64; 3],
    /// u_sem, u_spa and u.
    pub(crate) uncertainty: [f32; 3],
    /// What having the robot's middle there costs, 0 to 1.
    pub(crate) cost: f32,
    pub(crate) label: u16,
}

/// Cells of the ground; the fourth value is the cost instead of the variance.
pub(crate) fn costs(mut cells: Vec<CostCell>, side: f64, heights: [f64; 2], at: Address) -> Vec<u8> {
    let origin = origin(at.square, heights);
    let mut order: Vec<usize> = (0..cells.len()).collect();
    order.sort_by_key(|i| mixed(*i as u64));
    cells = order.into_iter().map(|i| cells[i]).collect();
    let mut columns = Columns::default();
    for cell in cells {
        let [u_sem, u_spa, u] = cell.uncertainty;
        columns.places.push(relative(cell.place, origin));
        columns.values.push([u_sem, u_spa, u, cell.cost].map(|v| share(f64::from(v))));
        columns.kinds.push([cell.label, 0]);
    }
    columns.bytes(Layer::Costs, at, origin, side)
}

impl Columns {
    fn bytes(&self, what: Layer, at: Address, origin: [f64; 3], side: f64) -> Vec<u8> {
        let mut out = Vec::with_capacity(64 + self.places.len() * 44);
        out.extend(MAGIC);
        out.extend([at.map, what as u8, at.square.level, 0]);
        at.square.tile.0.iter().for_each(|v| out.extend(v.to_le_bytes()));
        out.extend(at.version.to_le_bytes());
        out.extend((self.places.len() as u32).to_le_bytes());
        origin.iter().for_each(|v| out.extend(v.to_le_bytes()));
        out.extend((side as f32).to_le_bytes());
        out.resize(64, 0);
        self.places.iter().chain(&self.sizes).flatten().for_each(|v| out.extend(v.to_le_bytes()));
        self.rotations.iter().flatten().for_each(|v| out.extend(v.to_le_bytes()));
        self.values.iter().flatten().for_each(|v| out.extend(v.to_le_bytes()));
        self.kinds.iter().flatten().for_each(|v| out.extend(v.to_le_bytes()));
        out
    }
}

fn origin(square: Square, heights: [f64; 2]) -> [f64; 3] {
    let ([x, y, z], _) = square.bounds(heights);
    [x, y, if z.is_finite() { z.floor() } else { 0.0 }]
}

fn relative(place: [f64; 3], origin: [f64; 3]) -> [f32; 3] {
    std::array::from_fn(|i| (place[i] - origin[i]) as f32)
}

fn values(belief: &Belief) -> [u16; 4] {
    let all =
        [belief.semantic_uncertainty(), belief.spatial_uncertainty(), belief.uncertainty(), 4.0 * belief.variance()];
    all.map(share)
}

fn share(value: f64) -> u16 {
    (value.clamp(0.0, 1.0) * 65535.0).round() as u16
}

/// Spreads successive numbers over all 64 bits.
fn mixed(id: u64) -> u64 {
    let h = (id ^ (id >> 31)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (h ^ (h >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two rooms 40 m apart, the second one seen 4 s after the first.
    fn two_rooms(times: bool) -> Mapper {
        let config = e2bki::Config::from_toml("[free_space]\nenabled = true\nsensor = \"vlp-16\"").unwrap();
        let mut map = Mapper::new(e2bki::ClassSet::from_names(["wall", "person"]).unwrap(), config).unwrap();
        let beams = (0..16).flat_map(|row| (0..1800).map(move |column| (row, column)));
        let points: Vec<[f32; 3]> = beams
            .map(|(row, column)| {
                let (up, around) =
                    ((2.0 * row as f32 - 15.0).to_radians(), std::f32::consts::TAU * column as f32 / 1800.0);
                [10.0 * around.cos(), 10.0 * around.sin(), 10.0 * up.tan()]
            })
            .collect();
        let labels = vec![0; points.len()];
        for (number, (x, time)) in [(0.0, 100.5), (40.0, 104.2)].into_iter().enumerate() {
            map.name_next_frame(number as u64, times.then_some(time));
            let world_from_sensor = e2bki::Pose::from_translation([x, 0.0, 0.1]).unwrap();
            let semantics = e2bki::Semantics::Labels(&labels);
            map.insert(&e2bki::Frame { points: &points, semantics, world_from_sensor, scan: None }).unwrap();
        }
        map
    }

    #[test]
    fn age_is_by_time_where_times_are_known() {
        let map = two_rooms(true);
        let span = span(&map).unwrap();
        assert_eq!((span.first, span.last), (100, 104));
        let all = instances(&map, crate::tile::Tile::of(5.0, 0.0).into(), [-5.0, 5.0]);
        let far = instances(&map, crate::tile::Tile::of(48.0, 5.0).into(), [-5.0, 5.0]);
        assert!(!all.is_empty() && !far.is_empty());
        assert!(all.iter().filter(|i| i.center[0] < 11.0).all(|i| Age::of(&map).share(&map, i) == 0.0));
        assert!(far.iter().all(|i| Age::of(&map).share(&map, i) == 1.0));
        let answer = crate::answer::answer(&map, [5.0, 0.1, 0.1]);
        let known = &answer["free_space"];
        assert_eq!((&known["state"], &known["last_seen"]), (&"free".into(), &100.into()), "{known}");
        // Without times it is the order in which they were made.
        let map = two_rooms(false);
        assert!(matches!(Age::of(&map), Age::Order(_)));
        assert_eq!(crate::answer::answer(&map, [5.0, 0.1, 0.1])["free_space"]["last_seen"], serde_json::Value::Null);
    }

    #[test]
    fn shares_are_rounded_and_never_wrap() {
        assert_eq!([-1.0, 0.0, 0.5, 1.0, 7.0, f64::NAN].map(share), [0, 0, 32768, 65535, 65535, 0]);
    }
}
