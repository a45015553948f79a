//! The voxels as they were last sent: what differs goes out as an update, and all of it to those who join later.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use e2bki::{Belief, ClassSet, LiveBlock, uncertainties};
use e2bki_bag::compose::{MAP_POINT_BYTES, MapPoint, map_points};
use rayon::prelude::*;

/// Most bytes of a message: larger ones are lost where receive buffers are as small as systems have them by default.
pub const MOST_BYTES: usize = 1_000_000;

/// Most messages of the whole picture; what is farthest from the robot is left out of it.
pub(crate) const MOST_PIECES: usize = 32;

/// Bytes of a message besides its points, with room for the name of the frame.
const BESIDE_POINTS: usize = 1024;

/// Class of voxels that are no longer there.
const GONE: usize = u16::MAX as usize;

type Point = [u8; MAP_POINT_BYTES];

/// The voxels of a map as others know them.
#[derive(Debug)]
pub struct Picture {
    /// Points of each block, in the order of its voxels.
    blocks: BTreeMap<[i32; 3], Vec<Point>>,
    points: usize,
    /// Where the frame of the messages is in the world.
    origin: [f64; 3],
    /// Changes of p and u that are not worth telling.
    tolerance: f32,
}

impl Picture {
    /// Nothing was sent yet. Messages are in a frame at this place of the world; p and u of what was sent are right to within the
    /// tolerance.
    pub fn new(origin: [f64; 3], tolerance: f64) -> Self {
        Self { blocks: BTreeMap::new(), points: 0, origin, tolerance: tolerance as f32 }
    }

    /// Takes blocks as they are now. Returns the points to send: those that are new or differ by more than the tolerance, and
    /// those that are no longer there with class 65535. `keep_emptied`: a block without voxels is only out of memory.
    pub fn update(&mut self, blocks: &[LiveBlock], classes: &ClassSet, keep_emptied: bool) -> Vec<u8> {
        let there = blocks.iter().filter(|block| !(keep_emptied && block.voxels.is_empty()));
        let work: Vec<(&LiveBlock, Vec<Point>)> =
            there.map(|block| (block, self.blocks.remove(&block.key).unwrap_or_default())).collect();
        let done: Vec<(Vec<Point>, Vec<u8>)> = work
            .par_iter()
            .map(|(block, old)| {
                let u = uncertainties(&block.voxels.iter().map(|voxel| voxel.belief).collect::<Vec<Belief>>());
                let voxels = block.voxels.iter().zip(u);
                let new: Vec<Point> = voxels.filter_map(|(voxel, u)| self.point(voxel, u, classes)).collect();
                let mut sent = Vec::new();
                (merged(old, &new, self.tolerance, &mut sent), sent)
            })
            .collect();
        let mut all = Vec::new();
        for ((block, old), (known, sent)) in work.into_iter().zip(done) {
            self.points = self.points + known.len() - old.len();
            all.extend(sent);
            if !known.is_empty() {
                self.blocks.insert(block.key, known);
            }
        }
        all
    }

    fn point(&self, voxel: &e2bki::LiveVoxel, u: f64, classes: &ClassSet) -> Option<Point> {
        let (class, belief) = (voxel.belief.label()?, &voxel.belief);
        let place = std::array::from_fn(|i| voxel.center[i] - self.origin[i]);
        let color = classes.colors().get(class).copied().unwrap_or_default();
        Some(MapPoint { place, color, class, p: belief.confidence(), u }.bytes())
    }

    /// From now on changes of p and u up to this are not worth telling.
    pub fn set_tolerance(&mut self, tolerance: f64) {
        self.tolerance = tolerance as f32;
    }

    /// Number of voxels.
    pub fn len(&self) -> usize {
        self.points
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.points == 0
    }

    /// Leaves out blocks of that side, metres, farthest from a place first, until what is left fits into the messages that late
    /// joiners get.
    pub fn trim(&mut self, side: f64, place: [f64; 3]) {
        let most = MOST_PIECES * points_of_message();
        if self.points <= most {
            return;
        }
        let away =
            |key: &[i32; 3]| -> f64 { (0..3).map(|i| ((f64::from(key[i]) + 0.5) * side - place[i]).powi(2)).sum() };
        let mut order: Vec<(f64, [i32; 3])> = self.blocks.keys().map(|key| (away(key), *key)).collect();
        order.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        // A little more than needed, so that it is not done anew for every update.
        for (_, key) in order {
            if self.points <= most - most / 8 {
                break;
            }
            self.points -= self.blocks.remove(&key).map_or(0, |points| points.len());
        }
    }

    /// All points.
    pub fn all(&self) -> Vec<u8> {
        let mut all = Vec::with_capacity(self.points * MAP_POINT_BYTES);
        self.blocks.values().for_each(|points| all.extend_from_slice(points.as_flattened()));
        all
    }
}

/// A number of a point.
fn number(point: &Point, at: usize) -> f32 {
    f32::from_le_bytes([point[at], point[at + 1], point[at + 2], point[at + 3]])
}

/// Order of voxels in a block: by z, then y, then x.
fn order(a: &Point, b: &Point) -> Ordering {
    let by = |at: usize| number(a, at).total_cmp(&number(b, at));
    by(8).then_with(|| by(4)).then_with(|| by(0))
}

/// Whether two points of a place say the same, to within a tolerance of p and u.
fn alike(a: &Point, b: &Point, tolerance: f32) -> bool {
    let near = |at: usize| (number(a, at) - number(b, at)).abs() <= tolerance;
    a[12..18] == b[12..18] && near(18) && near(22)
}

/// What is known after `new` was told to those who know `old`; what has to be sent for that goes to `sent`.
fn merged(old: &[Point], new: &[Point], tolerance: f32, sent: &mut Vec<u8>) -> Vec<Point> {
    let (mut old, mut known) = (old.iter().peekable(), Vec::with_capacity(new.len()));
    for point in new {
        while let Some(before) = old.next_if(|before| order(before, point).is_lt()) {
            sent.extend(gone(before));
        }
        match old.next_if(|before| order(before, point).is_eq()) {
            Some(before) if alike(before, point, tolerance) => known.push(*before),
            _ => {
                sent.extend(point);
                known.push(*point);
            }
        }
    }
    old.for_each(|before| sent.extend(gone(before)));
    known
}

/// The point of a voxel that is no longer there.
fn gone(point: &Point) -> Point {
    let mut bytes = MapPoint { place: [0.0; 3], color: [0; 3], class: GONE, p: 0.0, u: 1.0 }.bytes();
    bytes[..12].copy_from_slice(&point[..12]);
    bytes
}

fn points_of_message() -> usize {
    (MOST_BYTES - BESIDE_POINTS) / MAP_POINT_BYTES
}

/// Points as messages of at most [`MOST_BYTES`].
pub fn messages(stamp: u64, frame: &str, points: &[u8]) -> Vec<Vec<u8>> {
    points.chunks(points_of_message() * MAP_POINT_BYTES).map(|part| map_points(stamp, frame, part)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use e2bki::{Changes, Config, Frame, Mapper, Pose, Semantics};
    use e2bki_bag::messages::Cloud;
    use e2bki_bag::wire::Wire;
    use proptest::prelude::*;

    fn map() -> Mapper {
        Mapper::new(ClassSet::from_names(["ground", "tree"]).unwrap(), Config::default()).unwrap()
    }

    fn insert(map: &mut Mapper, k: u32) {
        let at = |i: u32| [(i % 40) as f32 * 0.1 + k as f32, (i / 40) as f32 * 0.1 - 2.0, -0.5];
        let points: Vec<[f32; 3]> = (0..1600).map(at).collect();
        let labels: Vec<u32> = (0..1600).map(|i| u32::from((i + k).is_multiple_of(7))).collect();
        let world_from_sensor = Pose::IDENTITY;
        map.insert(&Frame { points: &points, semantics: Semantics::Labels(&labels), world_from_sensor, scan: None })
            .unwrap();
    }

    /// What a subscriber makes of updates: the last word on every place.
    fn heard(known: &mut BTreeMap<[u8; 12], Point>, sent: &[u8]) {
        for point in sent.chunks_exact(MAP_POINT_BYTES) {
            let point: Point = point.try_into().unwrap();
            let place: [u8; 12] = point[..12].try_into().unwrap();
            if point[16..18] == [255, 255] {
                assert!(known.remove(&place).is_some(), "gone, and never told of");
            } else {
                assert_ne!(known.insert(place, point), Some(point), "told again");
            }
        }
    }

    #[test]
    fn who_hears_all_updates_knows_the_map() {
        let (mut map, mut picture) = (map(), Picture::new([0.0; 3], 0.0));
        let (mut known, mut number) = (BTreeMap::new(), 0);
        for k in [0, 1, 3, 0, 60] {
            insert(&mut map, k);
            let changes = map.changes_since(number);
            number = changes.number;
            heard(&mut known, &picture.update(&map.live_blocks(&changes), map.classes(), false));
            assert_eq!(known.len(), map.live_voxel_count());
            assert_eq!(known.len(), picture.len());
        }
        // A part of the map is taken out: told as gone, unless it may only be out of memory.
        map.remove_outside([-1e3, -1e3, -1e3], [30.0, 1e3, 1e3]);
        let blocks = map.live_blocks(&map.changes_since(number));
        let mut careful = Picture { blocks: picture.blocks.clone(), ..picture };
        heard(&mut known, &picture.update(&blocks, map.classes(), false));
        assert_eq!(known.len(), map.live_voxel_count());
        careful.update(&blocks, map.classes(), true);
        assert!(careful.len() > picture.len());
        // All at once is the same.
        let mut fresh = Picture::new([0.0; 3], 0.0);
        let everything = Changes { everything: true, ..Changes::default() };
        fresh.update(&map.live_blocks(&everything), map.classes(), false);
        assert_eq!(fresh.all(), picture.all());
        assert!(picture.update(&map.live_blocks(&everything), map.classes(), false).is_empty());
    }

    #[test]
    fn small_changes_are_told_when_they_have_added_up() {
        let at = |p: f64, class| MapPoint { place: [1.0; 3], color: [0; 3], class, p, u: 0.5 }.bytes();
        let (mut known, mut told) = (vec![at(0.5, 1)], 0);
        for step in 1..=10 {
            let (mut sent, exact) = (Vec::new(), at(0.5 + 0.01 * f64::from(step), 1));
            known = merged(&known, &[exact], 0.025, &mut sent);
            told += sent.len() / MAP_POINT_BYTES;
            assert!(alike(&known[0], &exact, 0.025));
        }
        assert_eq!(told, 3);
        let mut sent = Vec::new();
        merged(&known, &[at(0.6, 2)], 0.025, &mut sent);
        assert_eq!(sent, at(0.6, 2), "another class is always told");
    }

    #[test]
    fn what_is_farthest_is_left_out_where_there_is_too_much() {
        let mut picture = Picture::new([0.0; 3], 0.0);
        for x in 0..2000 {
            picture.blocks.insert([x, 0, 0], vec![[0; MAP_POINT_BYTES]; 1000]);
            picture.points += 1000;
        }
        picture.trim(3.2, [3.2 * 1500.0, 0.0, 0.0]);
        let most = MOST_PIECES * points_of_message();
        assert!(picture.len() <= most && picture.len() > most / 2 && picture.blocks.contains_key(&[1500, 0, 0]));
        assert!(!picture.blocks.contains_key(&[0, 0, 0]) && picture.blocks.contains_key(&[1999, 0, 0]));
        assert_eq!(picture.len(), picture.blocks.values().map(Vec::len).sum::<usize>());
        assert!(messages(1, "map", &picture.all()).len() <= MOST_PIECES);
    }

    proptest! {
        #[test]
        fn messages_hold_every_point_and_at_most_a_megabyte(count in 0_usize..120_000, name in "[a-z/]{0,200}") {
            let points: Vec<u8> = (0..count * MAP_POINT_BYTES).map(|i| (i % 251) as u8).collect();
            let parts = messages(7, &name, &points);
            prop_assert!(parts.iter().all(|part| part.len() <= MOST_BYTES));
            let clouds: Vec<Cloud<'_>> = parts.iter().map(|part| Cloud::read(Wire::Cdr, part).unwrap()).collect();
            prop_assert_eq!(clouds.iter().map(Cloud::len).sum::<usize>(), count);
            let classes: Vec<f64> = clouds.iter().flat_map(|c| c.column(c.field(&["class"]).unwrap())).collect();
            let expected = points.chunks_exact(MAP_POINT_BYTES).map(|p| f64::from(u16::from_le_bytes([p[16], p[17]])));
            prop_assert!(expected.eq(classes));
        }
    }
}
