//! The difference that submaps make, put into the map: every primitive that it concerns is changed once.

use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::layer::Layer;
use super::part::Key;
use super::pieces::Scratch;
use super::regions::{Division, Region};
use super::sheet::Sheet;
use crate::error::{Error, Result};
use crate::fold::in_cell;
use crate::map::{Batch, BatchRow, Core, PrimitiveSet};
use crate::primitive::{MOST_QUANTA, Sums};

/// Pieces of a moved row are looked for within so many times its spread, and farther if some are not there: of evenly
/// spread points none is beyond √3 of it, and what follows along a slanted axis goes little farther.
const SPREADS: f64 = 2.0;

/// Primitives that are changed together: enough for many chunks to be worked on side by side, and little memory.
const TOGETHER: usize = 1 << 16;

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
    gone: Vec<(u32, [f64; 3])>,
    /// Points of all pieces of what is moved.
    points: u64,
}

impl Change {
    /// Looks at what taking some layers out and adding others does, without doing it: the first `taken` are taken out.
    /// Fails if more would be taken out than there is.
    pub(super) fn new(set: &PrimitiveSet, layers: &[Layer<'_>], taken: usize, side: f64) -> Result<Self> {
        Self::within(SPREADS, set, layers, taken, side)
    }

    fn within(mut spreads: f64, set: &PrimitiveSet, layers: &[Layer<'_>], taken: usize, side: f64) -> Result<Self> {
        let points: u64 = layers.par_iter().filter(|layer| layer.moves()).map(Layer::points).sum();
        let division = Division::new(side);
        // Memory that is used for one region after the other.
        let spare: Mutex<Vec<(Sheet, Scratch)>> = Mutex::default();
        let spare = || spare.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let local = |region: Region| {
                let (mut sheet, mut scratch) = spare().pop().unwrap_or_default();
                sheet.clear(set.classes());
                let points = sum_up(&mut sheet, &mut scratch, (layers, taken), &region, &division)?;
                let local = Local { points, ..Local::of(&sheet, set, side)? };
                spare().push((sheet, scratch));
                Ok(local)
            };
            let regions = division.regions(layers, spreads);
            // One by one: they are of very different sizes.
            let locals: Result<Vec<Local>> = regions.into_par_iter().with_max_len(1).map(local).collect();
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

    /// Does it. No two regions have a part in one primitive, so that slots of what goes can be used for what comes.
    pub(super) fn apply(mut self, set: &mut PrimitiveSet) {
        if !set.defers() {
            self.0.iter_mut().for_each(|local| local.fresh.judge(set.classes(), set.recipe().correlation));
        }
        set.begin();
        let mut rest = self.0.into_iter();
        loop {
            // Neighbouring regions; their memory is free again for what comes next.
            let mut count = 0;
            let more = |local: &Local| {
                let goes_on = count < TOGETHER;
                count += local.slots.len() + local.gone.len() + local.fresh.cores.len();
                goes_on
            };
            let locals: Vec<Local> = take_while(&mut rest, more);
            if locals.is_empty() {
                return;
            }
            let altered = locals.iter().flat_map(|local| local.slots.iter().copied().zip(Local::rows(&local.altered)));
            set.fold_rows(altered.collect());
            set.remove_all(&locals.iter().flat_map(|local| &local.gone).copied().collect::<Vec<_>>());
            set.insert_rows(locals.iter().flat_map(|local| Local::rows(&local.fresh)));
        }
    }
}

/// Takes items for as long as something is true of them, and leaves the others.
fn take_while<T>(rest: &mut std::vec::IntoIter<T>, mut holds: impl FnMut(&T) -> bool) -> Vec<T> {
    let count = rest.as_slice().iter().take_while(|item| holds(item)).count();
    rest.by_ref().take(count).collect()
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
        let (layer, sign) = (&layers[*number], if *number < taken { -1 } else { 1 });
        for row in rows {
            layer.pieces(*row as usize, scratch, |key, sums, log_evidence| {
                if division.holds(region.square, key.cell) {
                    points += if layer.moves() { sums.weight as u64 } else { 0 };
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
    fn rows(batch: &Batch) -> impl Iterator<Item = BatchRow<'_>> {
        (0..batch.cores.len()).map(move |row| (batch, row))
    }

    /// What the sums of a region do to a set.
    fn of(sheet: &Sheet, set: &PrimitiveSet, side: f64) -> Result<Self> {
        let mut local = Self::default();
        // First all places, then all sums: what one waits for from memory, others wait for at the same time.
        let slots: Vec<Option<u32>> = sheet.keys.iter().map(|key| in_cell(set, key.cell, key.label, side)).collect();
        let known = slots.iter().flatten().count();
        local.fresh.cores.reserve_exact(slots.len() - known);
        local.fresh.log_evidence.reserve_exact((slots.len() - known) * set.classes());
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
            self.gone.push((slot, all.mean()));
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
        map.insert(&Frame { points: &points, semantics, world_from_sensor: Pose::IDENTITY, scan: None }).unwrap();
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
            // Of those that are put in elsewhere; what is taken out where it was is not looked for.
            assert_eq!((points(&near), points(&far)), (held, held));
        });
    }
}
