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
use crate::mapper::Mapper;
use crate::primitive::{BLOCK_SIDE_M, QUANTUM_M, block_of};
use crate::state::PrimitiveState;

/// Cubes along a side of a region: with cubes of 0.25 m it is a cubic metre.
const CUBES: i32 = 4;

fn region_of(cell: [i32; 3]) -> [i32; 3] {
    cell.map(|v| v.div_euclid(CUBES))
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

    /// Takes parts out that were put in before and puts others in, of so many frames each, in one go: as when another robot
    /// tells what it has seen by now. The map is then, byte for byte, the one of the others alone. On an error it is unchanged.
    pub fn replace(
        &mut self,
        (taken, frames_taken): (&[Part], u64),
        (added, frames_added): (&[Part], u64),
    ) -> Result<SubmapChange> {
        let side = self.side_of_sum()?;
        if self.submaps.is_some() {
            return Err(Error::Unsupported("what is put into a map that keeps submaps must be one of them".into()));
        }
        if self.free_space().is_some() {
            return Err(Error::Unsupported(
                "the other robots' free space is not known, and what only they saw would be called gone; set \
                 `free_space.enabled = false`"
                    .into(),
            ));
        }
        for part in taken.iter().chain(added) {
            if part.classes() != self.classes().len() || part.side() != side {
                return Err(Error::Merge(format!(
                    "{} classes and cubes of {} m, and the map has {} and {side} m",
                    part.classes(),
                    part.side(),
                    self.classes().len()
                )));
            }
        }
        let rows = added.iter().map(Part::len).sum();
        self.check_counts(frames_added, rows)?;
        let in_place = |parts| -> Result<Vec<_>> {
            <[Part]>::iter(parts).map(|part| Layer::new(Cow::Borrowed(part), None, false)).collect()
        };
        let change = self.look_at(in_place(taken)?, in_place(added)?)?;
        let done = SubmapChange::of(&change);
        self.make(change);
        self.frames = self.frames.saturating_sub(frames_taken).saturating_add(frames_added);
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

    fn empty(side: f64) -> Mapper {
        let config = Config::default().with(|c| c.clustering.cell_size = side);
        Mapper::new(ClassSet::from_names(["a", "b", "c"]).unwrap(), config).unwrap()
    }

    /// Scans of a robot that drives along x.
    fn drive(map: &mut Mapper, from: f64, frames: usize, seed: usize) {
        for k in 0..frames {
            let at = |i: usize| {
                let t = (i * 37 + k * 11 + seed * 7) % 400;
                [1.0 + 0.02 * t as f32, (t % 7) as f32 * 0.3 - 1.0, (t % 5) as f32 * 0.21]
            };
            let points: Vec<[f32; 3]> = (0..400).map(at).collect();
            let labels: Vec<u32> = (0..400).map(|i| ((i / 90 + k + seed) % 3) as u32).collect();
            let world_from_sensor = Pose::from_translation([from + 0.4 * k as f64, 0.1, 0.0]).unwrap();
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

    fn assert_same(a: &Mapper, b: &Mapper) {
        assert!(a.states().eq(b.states()));
        assert!(a.live_voxels().eq(b.live_voxels()));
        assert_eq!(a.frames(), b.frames());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        /// Cubes that fit into cubic metres, and cubes that do not.
        #[test]
        fn robots_are_told_apart_in_the_map_of_both(
            side in prop::sample::select(vec![0.25, 0.3, 0.7]),
            (ours, theirs, further) in (1_usize..4, 1_usize..4, 1_usize..4),
            from in -3.0..3.0_f64,
        ) {
            let (mut a, mut b) = (empty(side), empty(side));
            drive(&mut a, 0.0, ours, 0);
            drive(&mut b, from, theirs, 1);
            let early: Vec<Part> = all(&b).into_values().collect();
            prop_assert_eq!(early.iter().map(Part::len).sum::<usize>(), b.len());
            let mut both = a.clone();
            both.replace((&[], 0), (&early, b.frames())).unwrap();
            let mut merged = a.clone();
            merged.merge(&b).unwrap();
            assert_same(&both, &merged);
            // Theirs again, grown meanwhile, in place of what they were.
            let frames = b.frames();
            drive(&mut b, from + 1.0, further, 1);
            let late = all(&b);
            let parts: Vec<Part> = late.values().cloned().collect();
            both.replace((&early, frames), (&parts, b.frames())).unwrap();
            let mut merged = a.clone();
            merged.merge(&b).unwrap();
            assert_same(&both, &merged);
            // What is left without theirs is ours, region by region.
            let own = all(&a);
            for (region, held) in all(&both) {
                prop_assert!(held.is_within(region));
                let others: Vec<&Part> = late.get(&region).into_iter().collect();
                let left = held.without(&others).unwrap();
                match own.get(&region) {
                    Some(part) => prop_assert_eq!(&left, part),
                    None => prop_assert!(left.is_empty()),
                }
            }
            // And ours is what is left of the map.
            both.replace((&parts, b.frames()), (&[], 0)).unwrap();
            assert_same(&both, &a);
        }
    }

    #[test]
    fn what_was_never_put_in_cannot_be_taken_out() {
        let (mut a, mut b) = (empty(0.25), empty(0.25));
        drive(&mut a, 0.0, 2, 0);
        drive(&mut b, 40.0, 2, 1);
        let theirs: Vec<Part> = all(&b).into_values().collect();
        let before = a.clone();
        assert!(a.replace((&theirs, 2), (&[], 0)).is_err());
        assert_same(&a, &before);
        let ours = all(&a);
        let (region, part) = ours.iter().find(|(_, part)| !part.is_empty()).unwrap();
        assert!(part.without(&[part, part]).is_err() && part.without(&[part]).unwrap().is_empty());
        assert!(part.without(&[theirs.iter().find(|part| !part.is_empty()).unwrap()]).is_err());
        assert!(!part.is_within([region[0] + 1, region[1], region[2]]));
        let mut coarse = empty(0.5);
        assert!(coarse.replace((&[], 0), (std::slice::from_ref(part), 1)).is_err());
        a.keep_submaps(crate::submaps::SubmapRule::Called, "drive").unwrap();
        assert!(a.replace((&[], 0), (&theirs, 2)).is_err());
    }
}
