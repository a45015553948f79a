//! Maps larger than memory: what is far from the robot goes to a folder and comes back when the robot does.

mod ask;
mod write;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use e2bki::config::Posterior;
use e2bki::free::Counters;
use e2bki::submaps::SubmapRule;
use e2bki::{Changes, ClassSet, Config, Frame, FrameReport, Mapper, Prepared, Preparer, Primitive, PrimitiveState};

use crate::area::Area;
use crate::error::{Error, Result};
use crate::file::{Header, tile_of};
use crate::folder::{Folder, Written};
use crate::pending::Pending;
use crate::submaps::Spilled;
use write::COLUMNS;

/// Share of the budget at which tiles go out: a frame's own growth must still fit.
const FULL: f64 = 0.75;

/// Share of the budget that goes out at a time, the farthest first: it is copied on its way.
const PORTION: f64 = 0.1;

/// What is derived when somebody looks belongs to a primitive's size: it is measured anew when there are so many times as many.
const GROWN: f64 = 1.2;

/// Frames after which changes are looked at though nobody asks, so that what waits to be derived stays small.
const MOST_UNSEEN: u32 = 16;

/// A mapper that keeps to a byte budget. Frames change it, and it answers, exactly as one without a budget.
#[derive(Debug)]
pub struct RollingMapper {
    map: Mapper,
    folder: Folder,
    budget: usize,
    /// Tiles whose primitives are in memory; all others are in the folder.
    resident: BTreeSet<[i32; 2]>,
    /// Tiles whose primitives in memory differ from those in the folder.
    dirty: BTreeSet<[i32; 2]>,
    /// Tiles whose counters of free space are in memory, and those of them that differ from the folder's.
    free_resident: BTreeSet<[i32; 2]>,
    free_dirty: BTreeSet<[i32; 2]>,
    /// Number of the latest change of the map that has been looked at.
    seen: u64,
    /// Bytes that a primitive took, with its share of the index and the views, when there were most of them.
    per_primitive: f64,
    most: usize,
    peak: usize,
    /// Frames since changes were last looked at.
    unseen: u32,
    /// What frames changed and nobody has asked for yet.
    pending: Pending,
    submaps: Option<Spilled>,
}

impl RollingMapper {
    /// An empty map that keeps to `budget` bytes and spills to a new folder.
    pub fn create(classes: ClassSet, config: Config, folder: impl AsRef<Path>, budget: usize) -> Result<Self> {
        let map = Mapper::new(classes, config)?;
        if map.config().views.posterior != Posterior::Refined {
            return Err(Error::Refused("an accumulated posterior cannot be taken apart and spilled".into()));
        }
        let folder = Folder::create(folder, Header::of_tiles(&map, &[]))?;
        Ok(Self::new(map, folder, budget))
    }

    /// Goes on with a map in a folder; nothing is loaded before it is needed.
    pub fn open(folder: impl AsRef<Path>, budget: usize) -> Result<Self> {
        let mut folder = Folder::open(folder)?;
        folder.lock()?;
        let Header { classes, config, frames, next_id, .. } = folder.header().clone();
        let mut map = Mapper::restore(classes, config, frames, next_id, Vec::new())?;
        map.set_free_space_frames(folder.free_frames)?;
        Ok(Self::new(map, folder, budget))
    }

    fn new(mut map: Mapper, folder: Folder, budget: usize) -> Self {
        // The budget is for the map; what only makes it faster would take half of it.
        map.remember_kernels(false);
        let (resident, dirty, seen) = (BTreeSet::new(), BTreeSet::new(), map.change_number());
        let (free_resident, free_dirty) = (BTreeSet::new(), BTreeSet::new());
        let (per_primitive, most, peak, unseen, pending) = (0.0, 0, 0, 0, Pending::default());
        Self {
            map,
            folder,
            budget,
            resident,
            dirty,
            free_resident,
            free_dirty,
            seen,
            per_primitive,
            most,
            peak,
            unseen,
            pending,
            submaps: None,
        }
    }

    /// Keeps what every submap adds, in the folder of submaps beside the file `out` that the map will be saved as
    /// ([`Self::save_as`]), where each goes as soon as it is finished. A map that was unpacked from the file `onto` goes on
    /// with the submaps of that, also without a rule; where it has none, a rule is refused.
    pub fn keep_submaps(
        &mut self,
        rule: Option<SubmapRule>,
        source: &str,
        out: &Path,
        onto: Option<&Path>,
    ) -> Result<()> {
        self.submaps = Spilled::begin(&mut self.map, rule, source, (out, onto))?;
        Ok(())
    }

    /// Says the number and time of the next frame; see [`Mapper::name_next_frame`].
    pub fn name_next_frame(&mut self, number: u64, time: Option<f64>) {
        self.map.name_next_frame(number, time);
    }

    /// Adds a frame: first everything near its points comes back, then it is inserted, then what is far goes out.
    pub fn insert(&mut self, frame: &Frame<'_>) -> Result<FrameReport> {
        frame.check(self.map.classes().len())?;
        self.insert_by(frame, |map| map.insert(frame))
    }

    /// What makes frames ready for this map on another thread: see [`Mapper::preparer`].
    pub fn preparer(&self) -> Preparer {
        self.map.preparer()
    }

    /// Adds a frame that [`Self::preparer`] has made ready.
    pub fn insert_prepared(&mut self, prepared: Prepared, frame: &Frame<'_>) -> Result<FrameReport> {
        frame.check(self.map.classes().len())?;
        self.insert_by(frame, |map| map.insert_prepared(prepared))
    }

    /// Adds a prepared frame and prepares the next one meanwhile: see [`Mapper::insert_and_prepare`].
    pub fn insert_and_prepare(
        &mut self,
        prepared: Prepared,
        frame: &Frame<'_>,
        next: &Frame<'_>,
    ) -> (Result<FrameReport>, e2bki::Result<Prepared>) {
        let (preparer, number) = (self.map.preparer(), self.map.frames().saturating_add(1));
        rayon::join(|| self.insert_prepared(prepared, frame), || preparer.prepare(next, number))
    }

    fn insert_by(
        &mut self,
        frame: &Frame<'_>,
        insert: impl FnOnce(&mut Mapper) -> e2bki::Result<FrameReport>,
    ) -> Result<FrameReport> {
        let Some((low, high)) = self.map.footprint(frame) else { return Ok(insert(&mut self.map)?) };
        let needed = Area::around([low[0], low[1]], [high[0], high[1]]);
        self.make_room(needed)?;
        self.bring(|tile| needed.holds(tile))?;
        let report = insert(&mut self.map)?;
        if let Some(submaps) = &mut self.submaps {
            submaps.spill(&mut self.map);
        }
        self.unseen += 1;
        if self.unseen >= MOST_UNSEEN {
            self.look();
        }
        self.measure();
        self.make_room(needed)?;
        Ok(report)
    }

    /// What frames changed since this was last asked, without what came from the folder or went there.
    pub fn changes(&mut self) -> Changes {
        self.look();
        self.pending.take(self.seen)
    }

    /// Takes down what frames have changed since the last time. To find that out, what has changed is derived, which takes
    /// longer than most frames: so it waits until somebody asks, or tiles come or go.
    fn look(&mut self) {
        if std::mem::take(&mut self.unseen) == 0 {
            return;
        }
        let changes = self.map.changes_since(self.seen);
        let mut changed: BTreeSet<[i32; 2]> = changes.primitive_blocks().map(tile_of).collect();
        if changes.everything {
            // There was too much to be remembered: no tile may be taken for the one in the folder.
            changed.extend(self.resident.iter().copied());
            changed.extend(self.map.primitives().map(|primitive| tile_of(primitive.sums().origin)));
        }
        // Tiles that the folder has were brought before the frame; the others are new.
        let folder = &self.folder;
        self.resident.extend(changed.iter().copied().filter(|tile| !folder.tiles.contains_key(tile)));
        self.dirty.extend(changed);
        let counted = self.map.free_space_since(self.seen);
        self.free_resident.extend(counted.iter().copied());
        self.free_dirty.extend(counted);
        self.pending.add(changes);
        self.look_away();
    }

    /// Passes over changes that do not make a tile dirty, and gives back the memory for them.
    fn look_away(&mut self) {
        self.seen = self.map.change_number();
        self.map.forget_changes(self.seen);
    }

    /// Sends tiles outside of an area to the folder if what will be in it would not fit besides them.
    fn make_room(&mut self, needed: Area) -> Result<()> {
        let coming: u64 = (self.folder.tiles.values())
            .filter(|entry| needed.holds(entry.tile) && !self.resident.contains(&entry.tile))
            .map(|entry| entry.rows)
            .sum();
        let expected = |map: &Mapper, per_primitive: f64| (map.len() as f64 + coming as f64) * per_primitive;
        let limit = FULL * self.budget as f64;
        let mut next = None;
        while expected(&self.map, self.per_primitive) > limit {
            let Some(kept) = next.take().or_else(|| self.without_the_farthest(needed)) else { break };
            let before = self.map.len();
            self.spill_outside(kept)?;
            if self.map.len() == before {
                // Means may lie beyond the edge of their tile: then all goes, or there is nothing that can.
                if kept == needed {
                    break;
                }
                next = Some(needed);
            }
        }
        let expected = expected(&self.map, self.per_primitive);
        if expected <= self.budget as f64 {
            return Ok(());
        }
        Err(Error::Refused(format!(
            "what this frame touches takes about {:.0} MB, more than the budget of {:.0} MB: raise it, or lower max_range",
            expected / 1e6,
            self.budget as f64 / 1e6
        )))
    }

    /// The area around what is needed that leaves out a portion of the map, if anything lies outside of what is needed.
    fn without_the_farthest(&self, needed: Area) -> Option<Area> {
        let mut rings: BTreeMap<i32, usize> = BTreeMap::new();
        for primitive in self.map.primitives() {
            *rings.entry(needed.distance(tile_of(primitive.sums().origin))).or_default() += 1;
        }
        let portion = PORTION * self.budget as f64 / self.per_primitive;
        let mut outside = 0;
        for (ring, primitives) in rings.range(1..).rev() {
            outside += primitives;
            if outside as f64 >= portion || *ring == 1 {
                return Some(needed.grown(ring - 1));
            }
        }
        // Less than a portion, and none of it beside what is needed.
        (outside > 0).then_some(needed)
    }

    fn spill_outside(&mut self, kept: Area) -> Result<()> {
        self.look();
        let (low, high) = kept.corners();
        let gone = self.map.take_outside(low, high);
        self.look_away();
        let outside: BTreeSet<[i32; 2]> = self.dirty.iter().copied().filter(|tile| !kept.holds(*tile)).collect();
        let free = self.map.take_free_space(|tile| !kept.holds(tile));
        let header = Header::of_tiles(&self.map, &self.folder.header().sources);
        let primitives = gone.iter().map(|state| (tile_of(state.sums.origin), state));
        let written =
            write::tiles(&mut self.folder, &header, &self.resident, &outside, primitives, PrimitiveState::clone);
        let written = written.and_then(|_| {
            let dirty: Vec<_> = free.iter().filter(|(tile, _)| self.free_dirty.contains(*tile)).collect();
            let copy = |(tile, counters): &(&[i32; 2], &Counters)| (**tile, (*counters).clone());
            dirty.chunks(COLUMNS).try_for_each(|some| self.folder.put_free(some.iter().map(copy).collect()).map(drop))
        });
        if let Err(error) = written {
            // A full disk loses nothing: what could not be written stays in memory.
            free.into_values().for_each(|counters| self.map.put_free_space(counters));
            self.map.put_back(gone)?;
            self.look_away();
            return Err(error);
        }
        self.free_resident.retain(|tile| kept.holds(*tile));
        self.free_dirty.retain(|tile| kept.holds(*tile));
        self.resident.retain(|tile| kept.holds(*tile));
        self.dirty.retain(|tile| kept.holds(*tile));
        Ok(())
    }

    /// Brings tiles from the folder.
    fn bring(&mut self, wanted: impl Fn([i32; 2]) -> bool) -> Result<()> {
        let tiles: Vec<[i32; 2]> =
            self.folder.tiles.keys().copied().filter(|tile| wanted(*tile) && !self.resident.contains(tile)).collect();
        let mut states = Vec::new();
        for tile in &tiles {
            states.extend(self.folder.read(*tile)?);
        }
        let free = self.folder.free.keys().copied().filter(|tile| wanted(*tile) && !self.free_resident.contains(tile));
        let free = free.map(|tile| Ok((tile, self.folder.read_free(tile)?))).collect::<Result<Vec<_>>>()?;
        if !tiles.is_empty() {
            self.look();
        }
        // Before the primitives, so that what is gone is known of them.
        for (tile, counters) in free {
            self.map.put_free_space(counters);
            self.free_resident.insert(tile);
        }
        if !tiles.is_empty() {
            if self.map.config().not_a_sum().is_none() {
                // Their numbers in the folder are not those in memory.
                self.map.put_back_anew(states)?;
            } else {
                self.map.put_back(states)?;
            }
            self.look_away();
            self.resident.extend(tiles);
            self.measure();
        }
        Ok(())
    }

    fn measure(&mut self) {
        // Storage that was made once is kept for what comes next, so only a map larger than ever tells a primitive's size.
        let larger = self.map.len() as f64 > GROWN * self.most as f64;
        if larger {
            self.look();
        }
        let bytes = self.map.byte_size().total();
        self.peak = self.peak.max(bytes);
        if larger {
            self.most = self.map.len();
            self.per_primitive = bytes as f64 / self.most as f64;
        }
    }

    /// Writes what changed since the last time and makes the folder the map as it is now.
    pub fn save(&mut self) -> Result<Written> {
        self.look();
        let header = Header::of_tiles(&self.map, &self.folder.header().sources);
        let primitives = self.map.primitives().map(|primitive| (tile_of(primitive.sums().origin), primitive));
        let state = |primitive: Primitive<'_>| primitive.state();
        let written = write::tiles(&mut self.folder, &header, &self.resident, &self.dirty, primitives, state)?;
        if let Some(counters) = self.map.free_space() {
            let dirty: Vec<[i32; 2]> = self.free_dirty.iter().copied().collect();
            for some in dirty.chunks(COLUMNS) {
                self.folder.put_free(counters.columns(|tile| some.contains(&tile)))?;
            }
            self.folder.free_frames = counters.frames();
        }
        self.folder.commit(Some(header))?;
        self.dirty.clear();
        self.free_dirty.clear();
        let here = self.folder.tiles.keys().filter(|tile| self.resident.contains(*tile)).count();
        Ok(Written { unchanged: here.saturating_sub(written.written), ..written })
    }

    /// Saves the folder, and the whole map as one file too: the same bytes as [`crate::save_with`] writes of a map without
    /// a budget.
    pub fn save_as(&mut self, sources: &[String], path: impl AsRef<Path>) -> Result<Header> {
        self.save()?;
        let beside = self.submaps.as_mut().map(|submaps| submaps.beside(&self.map)).transpose()?.flatten();
        self.folder.pack_as(sources, path, beside.as_ref())
    }

    /// The whole map in memory, without a budget and without submaps.
    pub fn into_map(mut self) -> Result<Mapper> {
        self.bring(|_| true)?;
        self.map.forget_submaps();
        Ok(self.map)
    }

    /// The part of the map that is in memory.
    pub fn resident(&self) -> &Mapper {
        &self.map
    }

    /// Whether all primitives of a tile (of [`TILE_M`](e2bki::TILE_M) metres) are in memory.
    pub fn holds(&self, tile: [i32; 2]) -> bool {
        self.resident.contains(&tile) || !self.folder.tiles.contains_key(&tile)
    }

    /// Most bytes that were in memory so far.
    pub fn peak_bytes(&self) -> usize {
        self.peak
    }

    /// Primitives in memory and in the folder.
    pub fn len(&self) -> u64 {
        let away = self.folder.tiles.values().filter(|entry| !self.resident.contains(&entry.tile));
        self.map.len() as u64 + away.map(|entry| entry.rows).sum::<u64>()
    }

    /// Whether there are no primitives.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
