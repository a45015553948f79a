//! What robots tell each other: what one of them added to a map, region by region. It is put in, replaced by what it has
//! become, and told apart from what the others added.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;

use super::layer::Layer;
use super::mapper::SubmapChange;
use super::part::{Key, Part};
use crate::cluster::cell_of;
use crate::error::{Error, Result};
use crate::free::Counters;
use crate::mapper::Mapper;
use crate::primitive::{BLOCK_SIDE_M, QUANTUM_M, block_of};
use crate::state::PrimitiveState;

/// Cubes along a side of a region: with cubes of 0.25 m it is a cubic metre.
const CUBES: i32 = 4;

fn region_of(cell: [i32; 3]) -> [i32; 3] {
    cell.map(|v| v.div_euclid(CUBES))
}

/// What a robot added to a map, or a part of that.
#[derive(Debug, Clone, Default)]
pub struct Contribution {
    /// Its primitives.
    pub parts: Vec<Part>,
    /// Its frames.
    pub frames: u64,
    /// What it counted of free space; the frames that these say are not looked at.
    pub free_space: Vec<Counters>,
    /// Frames that it counted.
    pub counted: u64,
}

impl Part {
    /// Whether all of it lies in one region.
    pub fn is_within(&self, region: [i32; 3]) -> bool {
        self.keys.iter().all(|key| region_of(key.cell) == region)
    }

    /// The same without what others added. Fails if they added more than there is.
    pub fn without(&self, others: &[&Self]) -> Result<Self> {
        let mut theirs: BTreeMap<Key, Vec<(usize, usize)>> = BTreeMap::new();
        for (number, part) in others.iter().enumerate() {
            for (row, key) in part.keys.iter().enumerate() {
                theirs.entry(*key).or_default().push((number, row));
            }
        }
        let missing = || Error::Unsupported("a part of a map does not hold what others are said to have added".into());
        let mut left = Vec::new();
        for row in 0..self.len() {
            let (mut sums, mut log_evidence) = (self.sums[row], self.log_evidence(row).to_vec());
            for (number, row) in theirs.remove(&self.keys[row]).unwrap_or_default() {
                let part = others[number];
                sums.add_times(&part.sums[row], -1).ok_or_else(missing)?;
                log_evidence.iter_mut().zip(part.log_evidence(row)).for_each(|(a, b)| *a = a.saturating_sub(*b));
            }
            let nothing = sums.is_zero() && log_evidence.iter().all(|v| *v == 0);
            if !nothing {
                if sums.weight < 1.0 || sums.range < 0.0 || log_evidence.iter().any(|v| *v < 0) {
                    return Err(missing());
                }
                sums.settle();
                left.push(PrimitiveState { id: left.len() as u64, muted: false, sums, log_evidence });
            }
        }
        if !theirs.is_empty() {
            return Err(missing());
        }
        Self::of_states(self.classes(), self.side(), &left, &[])
    }
}

impl Mapper {
    /// Regions of 4 × 4 × 4 cubes that meet some cubic metres, as [`Changes`](crate::Changes) names them. Fails if the map is not
    /// a sum.
    pub fn regions_around(&self, blocks: impl IntoIterator<Item = [i32; 3]>) -> Result<BTreeSet<[i32; 3]>> {
        let side = self.side_of_sum()?;
        let mut regions = BTreeSet::new();
        for block in blocks {
            let low = region_of(cell_of(block.map(f64::from), side));
            let high = region_of(cell_of(block.map(|v| (f64::from(v) + BLOCK_SIDE_M).next_down()), side));
            for x in low[0]..=high[0] {
                for y in low[1]..=high[1] {
                    regions.extend((low[2]..=high[2]).map(|z| [x, y, z]));
                }
            }
        }
        Ok(regions)
    }

    /// What the map holds in some regions.
    pub fn parts_in(&self, regions: &[[i32; 3]]) -> Result<BTreeMap<[i32; 3], Part>> {
        let side = self.side_of_sum()?;
        // Put in order before many threads look.
        self.seen();
        let held = |region: &[i32; 3]| Ok((*region, self.part_of(*region, side)?));
        self.run(|| regions.par_iter().with_min_len(16).map(held).collect())
    }

    /// What the map holds in one region.
    fn part_of(&self, region: [i32; 3], side: f64) -> Result<Part> {
        // Corners of cubes are whole numbers of quanta, or nearly where they are.
        let margin = if (side / QUANTUM_M).fract() == 0.0 { 0.0 } else { 1e-6 };
        let corner = |v: i32| f64::from(v) * f64::from(CUBES) * side;
        let low = block_of(region.map(|v| corner(v) - margin));
        let high = block_of(region.map(|v| (corner(v.saturating_add(1)) + margin).next_down()));
        let states: Vec<PrimitiveState> = self
            .primitives_in_blocks(low, high)
            .into_iter()
            .filter(|primitive| region_of(cell_of(primitive.mean(), side)) == region)
            .map(|primitive| primitive.state())
            .collect();
        Part::of_states(self.classes().len(), side, &states, &[])
    }

    /// What was counted of free space in some regions of 8 m ([`Counters::in_region`]).
    pub fn free_space_in(&self, regions: &[[i32; 3]]) -> BTreeMap<[i32; 3], Counters> {
        let Some(counters) = self.free_space() else { return BTreeMap::new() };
        self.run(|| regions.par_iter().map(|region| (*region, counters.in_region(*region))).collect())
    }

    /// Takes out what was put in before and puts something else in, in one go: as when another robot tells what it has seen by
    /// now. The map is then, byte for byte, the one of the others alone. On an error it is unchanged.
    pub fn replace(&mut self, taken: &Contribution, added: &Contribution) -> Result<SubmapChange> {
        let side = self.side_of_sum()?;
        if self.submaps.is_some() {
            return Err(Error::Unsupported("what is put into a map that keeps submaps must be one of them".into()));
        }
        if self.free_space().is_none() && added.counted > 0 {
            return Err(Error::Merge(
                "the other map counts what was seen through (`free_space.enabled`) and this one does not: what was counted \
                 would be lost without a word"
                    .into(),
            ));
        }
        for part in taken.parts.iter().chain(&added.parts) {
            if part.classes() != self.classes().len() || part.side() != side {
                return Err(Error::Merge(format!(
                    "{} classes and cubes of {} m, and the map has {} and {side} m",
                    part.classes(),
                    part.side(),
                    self.classes().len()
                )));
            }
        }
        let rows = added.parts.iter().map(Part::len).sum();
        self.check_counts(added.frames, rows)?;
        let in_place = |parts| -> Result<Vec<_>> {
            <[Part]>::iter(parts).map(|part| Layer::new(Cow::Borrowed(part), None, false)).collect()
        };
        let change = self.look_at(in_place(&taken.parts)?, in_place(&added.parts)?)?;
        let done = SubmapChange::of(&change);
        self.recount((&taken.free_space, taken.counted), (&added.free_space, added.counted))?;
        self.make(change);
        self.frames = self.frames.saturating_sub(taken.frames).saturating_add(added.frames);
        Ok(done)
    }

    fn side_of_sum(&self) -> Result<f64> {
        match self.config().not_a_sum() {
            None => Ok(self.config().clustering.cell_size),
            Some(reason) => Err(Error::Unsupported(format!("parts of robots cannot be told apart: {reason}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ClassSet, Config, Frame, Pose, Semantics};
    use proptest::prelude::*;

    fn empty(side: f64, free_space: bool) -> Mapper {
        let config = Config::default().with(|c| {
            c.clustering.cell_size = side;
            c.free_space.enabled = free_space;
        });
        Mapper::new(ClassSet::from_names(["a", "b", "car"]).unwrap(), config).unwrap()
    }

    /// Scans of a robot that drives along x, by 16 beams.
    fn drive(map: &mut Mapper, from: f64, frames: usize, seed: usize) {
        for k in 0..frames {
            let at = |i: usize| {
                let (beam, column) = (i % 16, i / 16);
                // Things that stand around at different distances, and other ones in every scan.
                let range = 3.0 + ((column / 9 + beam / 4 + seed * 5 + k) % 7) as f32 * 0.9;
                let (azimuth, elevation) = (column as f32 * 0.0524 - 3.1, 0.26 - 0.035 * beam as f32);
                let [across, up] = [elevation.cos(), elevation.sin()];
                [range * across * azimuth.cos(), range * across * azimuth.sin(), range * up]
            };
            let points: Vec<[f32; 3]> = (0..16 * 120).map(at).collect();
            let labels: Vec<u32> = (0..points.len()).map(|i| ((i / 190 + k + seed) % 3) as u32).collect();
            let world_from_sensor = Pose::from_translation([from + 0.4 * k as f64, 0.1, 0.0]).unwrap();
            map.name_next_frame(k as u64, Some((seed * 40 + k) as f64));
            map.insert(&Frame {
                points: &points,
                semantics: Semantics::Labels(&labels),
                world_from_sensor,
                scan: None,
            })
            .unwrap();
        }
    }

    fn all(map: &Mapper) -> BTreeMap<[i32; 3], Part> {
        let regions = map.regions_around(map.changes_since(0).primitive_blocks()).unwrap();
        map.parts_in(&regions.into_iter().collect::<Vec<_>>()).unwrap()
    }

    fn space(map: &Mapper) -> BTreeMap<[i32; 3], Counters> {
        map.free_space_in(&map.free_space_regions_since(0))
    }

    /// All of a map, region by region.
    fn contribution(map: &Mapper) -> Contribution {
        Contribution {
            parts: all(map).into_values().collect(),
            frames: map.frames(),
            free_space: space(map).into_values().collect(),
            counted: map.free_space().map_or(0, Counters::frames),
        }
    }

    fn assert_same(a: &Mapper, b: &Mapper) {
        assert!(a.states().eq(b.states()));
        assert!(a.live_voxels().eq(b.live_voxels()));
        assert_eq!(a.frames(), b.frames());
        assert_eq!(a.free_space().map(Counters::to_bytes), b.free_space().map(Counters::to_bytes));
        assert!(a.primitives().map(|p| p.is_gone()).eq(b.primitives().map(|p| p.is_gone())));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        /// Cubes that fit into cubic metres, and cubes that do not; with free space and without.
        #[test]
        fn robots_are_told_apart_in_the_map_of_both(
            (side, free_space) in prop::sample::select(vec![(0.25, false), (0.25, true), (0.3, true), (0.7, false)]),
            (ours, theirs, further) in (1_usize..4, 1_usize..4, 1_usize..4),
            from in -3.0..3.0_f64,
        ) {
            let (mut a, mut b) = (empty(side, free_space), empty(side, free_space));
            drive(&mut a, 0.0, ours, 0);
            drive(&mut b, from, theirs, 1);
            let early = contribution(&b);
            prop_assert_eq!(early.parts.iter().map(Part::len).sum::<usize>(), b.len());
            prop_assert_eq!(early.counted > 0, free_space);
            let mut both = a.clone();
            both.replace(&Contribution::default(), &early).unwrap();
            let mut merged = a.clone();
            merged.merge(&b).unwrap();
            assert_same(&both, &merged);
            // Theirs again, grown meanwhile, in place of what they were.
            drive(&mut b, from + 1.0, further, 1);
            let late = contribution(&b);
            both.replace(&early, &late).unwrap();
            let mut merged = a.clone();
            merged.merge(&b).unwrap();
            assert_same(&both, &merged);
            // What is left without theirs is ours, region by region.
            let (own, theirs) = (all(&a), all(&b));
            for (region, held) in all(&both) {
                prop_assert!(held.is_within(region));
                let others: Vec<&Part> = theirs.get(&region).into_iter().collect();
                let left = held.without(&others).unwrap();
                match own.get(&region) {
                    Some(part) => prop_assert_eq!(&left, part),
                    None => prop_assert!(left.is_empty()),
                }
            }
            let (own, theirs) = (space(&a), space(&b));
            for (region, held) in space(&both) {
                prop_assert!(held.is_of_region(region) && !held.is_of_region([region[0], region[1] + 1, region[2]]));
                let others: Vec<Counters> = theirs.get(&region).cloned().into_iter().collect();
                prop_assert_eq!(&held.without(&others).unwrap(), &own.get(&region).cloned().unwrap_or_default());
            }
            // And ours is what is left of the map.
            both.replace(&late, &Contribution::default()).unwrap();
            assert_same(&both, &a);
        }
    }

    #[test]
    fn what_was_never_put_in_cannot_be_taken_out() {
        let (mut a, mut b) = (empty(0.25, true), empty(0.25, true));
        drive(&mut a, 0.0, 2, 0);
        drive(&mut b, 40.0, 2, 1);
        let (nothing, theirs) = (Contribution::default(), contribution(&b));
        let before = a.clone();
        let counts = Contribution { parts: Vec::new(), frames: 0, ..theirs.clone() };
        // Some of ours that is there, and then theirs that are not.
        let mixed = Contribution {
            free_space: space(&a).into_values().chain(theirs.free_space.clone()).collect(),
            ..counts.clone()
        };
        let too_few = Contribution { counted: 1, ..theirs.clone() };
        let too_many = Contribution { counted: u64::MAX, ..theirs.clone() };
        for (taken, added) in
            [(&theirs, &nothing), (&counts, &nothing), (&mixed, &nothing), (&nothing, &too_few), (&nothing, &too_many)]
        {
            assert!(a.replace(taken, added).is_err());
            assert_same(&a, &before);
        }
        let ours = all(&a);
        let (region, part) = ours.iter().find(|(_, part)| !part.is_empty()).unwrap();
        assert!(part.without(&[part, part]).is_err() && part.without(&[part]).unwrap().is_empty());
        assert!(part.without(&[theirs.parts.iter().find(|part| !part.is_empty()).unwrap()]).is_err());
        assert!(!part.is_within([region[0] + 1, region[1], region[2]]));
        let only = Contribution { parts: vec![part.clone()], frames: 1, ..nothing.clone() };
        assert!(empty(0.5, true).replace(&nothing, &only).is_err());
        assert!(empty(0.25, false).replace(&nothing, &theirs).unwrap_err().to_string().contains("free_space.enabled"));
        a.keep_submaps(crate::submaps::SubmapRule::Called, "drive").unwrap();
        assert!(a.replace(&nothing, &theirs).is_err());
    }
}
