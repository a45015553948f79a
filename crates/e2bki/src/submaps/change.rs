//! The difference that submaps make, put into the map: every primitive that it concerns is changed once.

use rayon::prelude::*;

use super::layer::Layer;
use super::part::Key;
use super::pieces::Scratch;
use super::regions::{Division, Region};
use super::sheet::Sheet;
use crate::error::{Error, Result};
use crate::fold::in_cell;
use crate::map::{Batch, Core, PrimitiveSet};
use crate::primitive::{MOST_QUANTA, Sums};

/// Pieces of a moved row are looked for within so many times its spread, and farther if some are not there: of evenly
/// spread points none is beyond √3 of it, and what follows along a slanted axis goes little farther.
const SPREADS: f64 = 2.0;

/// New primitives that are added to a set together: enough for many chunks to be filled side by side, and little memory.
const TOGETHER: usize = 1 << 15;

/// What is to be done to a set, region by region.
#[derive(Default)]
pub(super) struct Change(Vec<Local>);

/// What is to be done in a region.
#[derive(Default)]
struct Local {
    /// Differences to primitives that stay, and these.
    altered: Batch,
    slots: Vec<u32>,
    /// Primitives that are new.
    fresh: Batch,
    /// Primitives of which nothing is left, and their means.
    gone: Vec<u32>,
    means: Vec<[f64; 3]>,
    /// Points of all pieces that were counted.
    points: u64,
}

impl Change {
    /// Looks at what taking some layers out and adding others does, without doing it: the first `taken` are taken out.
    /// Fails if more would be taken out than there is.
    pub(super) fn new(set: &PrimitiveSet, layers: &[Layer<'_>], taken: usize, side: f64) -> Result<Self> {
        Self::within(SPREADS, set, layers, taken, side)
    }

    fn within(mut spreads: f64, set: &PrimitiveSet, layers: &[Layer<'_>], taken: usize, side: f64) -> Result<Self> {
        let points: u64 = layers.par_iter().flat_map_iter(Layer::rows).map(|sums| sums.weight as u64).sum();
        let division = Division::new(side);
        loop {
            let local = |(sheet, scratch): &mut (Sheet, Scratch), region: Region| {
                sheet.clear(set.classes());
                let points = sum_up(sheet, scratch, (layers, taken), &region, &division)?;
                Ok(Local { points, ..Local::of(sheet, set, side)? })
            };
            let regions = division.regions(layers, spreads);
            let locals: Result<Vec<Local>> = regions.into_par_iter().map_init(Default::default, local).collect();
            let change = Self(locals?);
            // Exact sums of whole numbers: all is there, or something is missing.
            if change.0.iter().map(|local| local.points).sum::<u64>() == points {
                return Ok(change);
            }
            spreads = 16.0 * spreads.max(1.0);
        }
    }

    /// Primitives that are altered, made and removed.
    pub(super) fn counts(&self) -> (usize, usize, usize) {
        self.0.iter().fold((0, 0, 0), |(altered, made, removed), local| {
            (altered + local.slots.len(), made + local.fresh.cores.len(), removed + local.gone.len())
        })
    }

    /// Does it.
    pub(super) fn apply(self, set: &mut PrimitiveSet) {
        set.begin();
        let mut fresh = Batch::default();
        for mut local in self.0 {
            let pairs: Vec<(u32, usize)> = local.slots.iter().copied().zip(0..).collect();
            set.fold(&pairs, &local.altered);
            // No other region has a part in them: their slots can be used again.
            set.remove_all(&local.gone, &local.means);
            fresh.cores.append(&mut local.fresh.cores);
            fresh.log_evidence.append(&mut local.fresh.log_evidence);
            if fresh.cores.len() >= TOGETHER {
                add(set, std::mem::take(&mut fresh));
            }
        }
        add(set, fresh);
    }
}

/// Adds new primitives to a set.
fn add(set: &mut PrimitiveSet, mut fresh: Batch) {
    if !set.defers() {
        fresh.judge(set.classes(), set.recipe().correlation);
    }
    set.insert(&fresh, 0..fresh.cores.len());
}

/// Sums up what layers do in a region; returns the points of the pieces there.
fn sum_up(
    sheet: &mut Sheet,
    scratch: &mut Scratch,
    (layers, taken): (&[Layer<'_>], usize),
    region: &Region,
    division: &Division,
) -> Result<u64> {
    let (mut points, mut failed) = (0, None);
    for (number, rows) in &region.rows {
        let sign = if *number < taken { -1 } else { 1 };
        for row in rows {
            layers[*number].pieces(*row as usize, scratch, |key, sums, log_evidence| {
                if division.holds(region.square, key.cell) {
                    points += sums.weight as u64;
                    if sheet.add(key, sums, log_evidence, sign).is_none() {
                        failed = Some(key);
                    }
                }
            });
        }
    }
    failed.map_or(Ok(points), |key| Err(too_much(key, division.side)))
}

impl Local {
    /// What the sums of a region do to a set.
    fn of(sheet: &Sheet, set: &PrimitiveSet, side: f64) -> Result<Self> {
        let mut local = Self::default();
        // First all places, then all sums: what one waits for from memory, others wait for at the same time.
        let slots: Vec<Option<u32>> = sheet.keys.iter().map(|key| in_cell(set, key.cell, key.label, side)).collect();
        let known = slots.iter().flatten().count();
        local.fresh.cores.reserve_exact(slots.len() - known);
        local.fresh.log_evidence.reserve_exact((slots.len() - known) * set.classes());
        local.slots.reserve_exact(known);
        local.altered.cores.reserve_exact(known);
        local.altered.log_evidence.reserve_exact(known * set.classes());
        let mut held = vec![0; set.classes()];
        for (row, (key, slot)) in sheet.keys.iter().zip(slots).enumerate() {
            local.look(set, (*key, slot), (&sheet.sums[row], sheet.log_evidence(row)), side, &mut held)?;
        }
        Ok(local)
    }

    /// What a difference does to the primitive of its cube and class, if there is one.
    fn look(
        &mut self,
        set: &PrimitiveSet,
        (key, slot): (Key, Option<u32>),
        (sums, log_evidence): (&Sums, &[i64]),
        side: f64,
        held: &mut [i64],
    ) -> Result<()> {
        if sums.is_zero() && log_evidence.iter().all(|v| *v == 0) {
            return Ok(());
        }
        let Some(slot) = slot else {
            if sums.weight < 1.0 || log_evidence.iter().any(|v| *v < 0) {
                return Err(missing(key, side));
            }
            let mut sums = *sums;
            sums.settle();
            self.fresh.cores.push(Core { mean: sums.mean(), label: key.label, ..Core::of_sums(sums) });
            self.fresh.log_evidence.extend_from_slice(log_evidence);
            return Ok(());
        };
        let all = set.sums(slot);
        let mut left = all;
        left.add_times(sums, 1).ok_or_else(|| too_much(key, side))?;
        // Neither is beyond half of what fits.
        set.read_evidence(slot, held);
        held.iter_mut().zip(log_evidence).for_each(|(a, b)| *a = a.saturating_add(*b));
        if left.weight == 0.0 {
            if !left.is_zero() || held.iter().any(|v| *v != 0) {
                return Err(missing(key, side));
            }
            self.gone.push(slot);
            self.means.push(all.mean());
            return Ok(());
        }
        if left.weight < 0.0 || left.range < 0.0 || held.iter().any(|v| *v < 0) {
            return Err(missing(key, side));
        }
        if held.iter().any(|v| *v > MOST_QUANTA) {
            return Err(too_much(key, side));
        }
        self.altered.cores.push(Core::of_sums(*sums));
        self.altered.log_evidence.extend_from_slice(log_evidence);
        self.slots.push(slot);
        Ok(())
    }
}

fn centre(key: Key, side: f64) -> [f64; 3] {
    key.cell.map(|v| (f64::from(v) + 0.5) * side)
}

fn too_much(key: Key, side: f64) -> Error {
    Error::Unsupported(format!(
        "around {:.2?} the map would hold more points or evidence than can be summed exactly; nothing was changed",
        centre(key, side)
    ))
}

fn missing(key: Key, side: f64) -> Error {
    Error::Unsupported(format!(
        "the map does not hold what its submaps added around {:.2?}: primitives were taken out of it in another way, or \
         the submaps are of another map; nothing was changed",
        centre(key, side)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::submaps::{Placement, SubmapRule, Trust};
    use crate::{ClassSet, Config, Frame, Mapper, Pose, Semantics};

    #[test]
    fn pieces_far_from_their_row_are_found() {
        let mut map = Mapper::new(ClassSet::from_names(["a", "b"]).unwrap(), Config::default()).unwrap();
        map.keep_submaps(SubmapRule::Called, "drive").unwrap();
        // A floor that lies in four regions.
        let points: Vec<[f32; 3]> =
            (0..10_000).map(|i| [15.0 + 0.02 * (i % 100) as f32, 15.0 + 0.02 * (i / 100) as f32, 0.1]).collect();
        let semantics = Semantics::Labels(&[1; 10_000]);
        map.insert(&Frame { points: &points, semantics, world_from_sensor: Pose::IDENTITY }).unwrap();
        let held: u64 = map.states().map(|state| state.sums.weight as u64).sum();
        let submap = map.submaps().unwrap().get(0).unwrap();
        let turned = Pose::new([[0.8, -0.6, 0.0], [0.6, 0.8, 0.0], [0.0, 0.0, 1.0]], [12.9, -5.7, 0.1]).unwrap();
        let places = [Placement::rigid(Pose::IDENTITY), Placement::rigid(turned)];
        let layers: Vec<Layer<'_>> = places.iter().map(|place| submap.layer(place, Trust::FULL).unwrap()).collect();
        let listed = |spreads: f64| -> usize {
            let regions = Division::new(0.25).regions(&layers, spreads);
            regions.iter().flat_map(|region| &region.rows).map(|(_, rows)| rows.len()).sum()
        };
        assert!(listed(0.0) < listed(SPREADS));
        map.contents.read(|contents| {
            let [near, far] = [0.0, SPREADS].map(|spreads| Change::within(spreads, &contents.set, &layers, 1, 0.25));
            let (near, far) = (near.unwrap(), far.unwrap());
            assert_eq!(near.counts(), far.counts());
            let points = |change: &Change| change.0.iter().map(|local| local.points).sum::<u64>();
            // Taken out where they were and put in elsewhere.
            assert_eq!((points(&near), points(&far)), (2 * held, 2 * held));
        });
    }
}
