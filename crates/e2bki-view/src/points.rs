//! Points as they were scanned: a fair sample of every frame, by tile, bounded however long the drive.

use std::collections::{BTreeMap, BTreeSet};

use e2bki::{Frame, Semantics};
use serde_json::Value;

use crate::tile::{Tile, entry};

/// Most points of one frame that are kept of a dataset.
const OF_FRAME: usize = 20_000;
/// Most points of one frame of a running mapper, whose time they take.
pub(crate) const OF_LIVE_FRAME: usize = 5_000;
/// Most points of all frames; beyond, every second one goes, and of later frames fewer are kept.
const OF_ALL: usize = 4_000_000;
/// The same of a running mapper, whose memory they take.
const OF_LIVE_FRAMES: usize = 1_000_000;

/// A point of a scan.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ScanPoint {
    /// Relative to the tile's corner in x and y, metres.
    place: [f32; 3],
    /// Class given by the frame.
    pub(crate) label: u16,
    /// Index of its frame.
    pub(crate) frame: u32,
}

impl ScanPoint {
    /// World position, metres.
    pub(crate) fn at(&self, tile: Tile) -> [f64; 3] {
        let ([x, y], [dx, dy, z]) = (tile.corner(), self.place.map(f64::from));
        [x + dx, y + dy, z]
    }
}

#[derive(Debug, Clone, Default)]
struct TilePoints {
    version: u32,
    points: Vec<ScanPoint>,
}

/// Points of frames, to be shown beside a map.
#[derive(Debug, Clone)]
pub struct RawPoints {
    tiles: BTreeMap<Tile, TilePoints>,
    frames: u32,
    total: usize,
    /// Most points at a time.
    most: usize,
    /// How often the points were halved.
    halvings: u32,
}

/// World positions and labels of at most so many points of a frame, evenly over all of it. Points without a label are left out.
pub(crate) fn sample(frame: &Frame<'_>, most: usize) -> Vec<([f64; 3], u16)> {
    let step = frame.points.len().div_ceil(most).max(1);
    let chosen = frame.points.iter().enumerate().step_by(step);
    chosen
        .filter_map(|(i, point)| {
            let place = frame.world_from_sensor.apply(point.map(f64::from));
            let near = place.iter().all(|v| v.abs() <= e2bki::WORLD_LIMIT_M) && *point != [0.0; 3];
            let label = label(&frame.semantics, i, frame.points.len()).filter(|_| near)?;
            Some((place, label))
        })
        .collect()
}

/// The most likely class of a point.
fn label(semantics: &Semantics<'_>, point: usize, points: usize) -> Option<u16> {
    let values = match semantics {
        Semantics::Labels(labels) => return labels.get(point).and_then(|label| u16::try_from(*label).ok()),
        Semantics::Evidence(values)
        | Semantics::Dirichlet(values)
        | Semantics::Probabilities(values)
        | Semantics::Opinion { probabilities: values, .. }
        | Semantics::Logits { values, .. } => *values,
        _ => return None,
    };
    let classes = values.len() / points.max(1);
    let row = values.get(point * classes..(point + 1) * classes)?.iter().enumerate().filter(|(_, v)| v.is_finite());
    // The first of equals wins, as in the map.
    let best = row.reduce(|best, next| if next.1 > best.1 { next } else { best });
    best.and_then(|(class, _)| u16::try_from(class).ok())
}

impl Default for RawPoints {
    fn default() -> Self {
        Self { tiles: BTreeMap::new(), frames: 0, total: 0, most: OF_ALL, halvings: 0 }
    }
}

impl RawPoints {
    /// Those of a running mapper.
    pub(crate) fn live() -> Self {
        Self { most: OF_LIVE_FRAMES, ..Self::default() }
    }

    /// Adds the points of a frame.
    pub fn add(&mut self, frame: &Frame<'_>) {
        self.take(sample(frame, OF_FRAME));
    }

    /// Adds a sample of a frame; returns the tiles that changed.
    pub(crate) fn take(&mut self, mut sample: Vec<([f64; 3], u16)>) -> Vec<Tile> {
        let mut number = 0_usize;
        let keep = 1_usize << self.halvings.min(20);
        sample.retain(|_| {
            number += 1;
            number.is_multiple_of(keep)
        });
        let mut changed = BTreeSet::new();
        for (place, label) in sample {
            let tile = Tile::of(place[0], place[1]);
            let corner = tile.corner();
            let place = [place[0] - corner[0], place[1] - corner[1], place[2]].map(|v| v as f32);
            self.tiles.entry(tile).or_default().points.push(ScanPoint { place, label, frame: self.frames });
            self.total += 1;
            changed.insert(tile);
        }
        self.frames += 1;
        if self.total > self.most {
            self.halve();
            changed.extend(self.tiles.keys());
        }
        for tile in &changed {
            if let Some(heap) = self.tiles.get_mut(tile) {
                heap.version = heap.version.wrapping_add(1);
            }
        }
        changed.into_iter().collect()
    }

    fn halve(&mut self) {
        self.halvings += 1;
        for heap in self.tiles.values_mut() {
            let mut odd = false;
            heap.points.retain(|_| {
                odd = !odd;
                odd
            });
            heap.points.shrink_to_fit();
        }
        self.total = self.tiles.values().map(|heap| heap.points.len()).sum();
    }

    /// Points of a tile, with their version.
    pub(crate) fn of(&self, tile: Tile) -> Option<(u32, Vec<ScanPoint>)> {
        self.tiles.get(&tile).map(|heap| (heap.version, heap.points.clone()))
    }

    /// Frames so far.
    pub(crate) fn frames(&self) -> u32 {
        self.frames
    }

    /// A tile's entry for the page.
    pub(crate) fn entry(&self, tile: Tile) -> Option<Value> {
        let heap = self.tiles.get(&tile)?;
        let heights = heap.points.iter().map(|p| f64::from(p.place[2]));
        let [low, high] = heights.fold([f64::INFINITY, f64::NEG_INFINITY], |[a, b], z| [a.min(z), b.max(z)]);
        let heights = if low <= high { [low, high] } else { [0.0; 2] };
        Some(entry(tile, heap.version, heap.points.len(), heights))
    }

    /// Entries of all tiles for the page.
    pub(crate) fn entries(&self) -> Vec<Value> {
        self.tiles.keys().filter_map(|tile| self.entry(*tile)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use e2bki::Pose;

    #[test]
    fn labels_of_all_forms() {
        let values = [0.1, f32::NAN, 0.7, 0.4, 0.4, 0.2];
        assert_eq!(label(&Semantics::Evidence(&values), 0, 2), Some(2));
        assert_eq!(label(&Semantics::Probabilities(&values), 1, 2), Some(0));
        assert_eq!(label(&Semantics::Labels(&[7, u32::MAX]), 0, 2), Some(7));
        assert_eq!(label(&Semantics::Labels(&[7, u32::MAX]), 1, 2), None);
        assert_eq!(label(&Semantics::Labels(&[7]), 5, 2), None);
    }

    #[test]
    fn a_long_drive_is_thinned_and_stays_in_place() {
        let points: Vec<[f32; 3]> = (0..60_000).map(|i| [(i % 300) as f32 * 0.1 + 1.0, 0.0, 2.5]).collect();
        let labels = vec![3; points.len()];
        let mut all = RawPoints::default();
        for i in 0..450 {
            let world_from_sensor = Pose::from_translation([f64::from(i), 1e6, 0.0]).unwrap();
            all.add(&Frame { points: &points, semantics: Semantics::Labels(&labels), world_from_sensor, scan: None });
        }
        assert!(all.total <= OF_ALL && all.total > OF_ALL / 3, "{}", all.total);
        assert_eq!(all.frames(), 450);
        let counted: u64 = all.entries().iter().map(|entry| entry[3].as_u64().unwrap()).sum();
        assert_eq!(counted as usize, all.total);
        let tile = Tile::of(200.0, 1e6);
        let (_, seen) = all.of(tile).unwrap();
        assert!(seen.iter().all(|p| tile.holds(p.at(tile)) && p.label == 3 && (p.at(tile)[1] - 1e6).abs() < 1e-3));
    }

    #[test]
    fn nonsense_is_left_out() {
        let points = [[f32::NAN, 0.0, 0.0], [0.0; 3], [1e30, 0.0, 0.0], [1.0, 2.0, 3.0]];
        let frame = Frame {
            points: &points,
            semantics: Semantics::Labels(&[0; 4]),
            world_from_sensor: Pose::IDENTITY,
            scan: None,
        };
        assert_eq!(sample(&frame, OF_FRAME), vec![([1.0, 2.0, 3.0], 0)]);
    }
}
