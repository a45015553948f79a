//! The mapper: frames in, beliefs out.

use std::sync::Arc;

use crate::classes::ClassSet;
use crate::config::{Config, Posterior, Update};
use crate::contents::Contents;
use crate::error::{Error, Result};
use crate::fold::{cubes_of, fold, overfull};
use crate::input::{Frame, FrameReport};
use crate::map::{Batch, PrimitiveSet};
use crate::prepare::{Prepared, Preparer};
use crate::refine::refine;
use crate::settled::Settled;
use crate::submaps::Submaps;
use crate::timings::timed;
use crate::view::{Accumulated, Terms, Work};

/// More threads than this bring nothing but their stacks: a few for each processor, and enough everywhere to try things out.
fn most_threads() -> usize {
    4 * std::thread::available_parallelism().map_or(1, std::num::NonZero::get).max(4)
}

/// A semantic map and everything that keeps it: insert frames, ask for beliefs.
///
/// ```
/// use e2bki::{ClassSet, Config, Frame, Mapper, Pose, Semantics};
///
/// let classes = ClassSet::from_names(["ground", "tree"])?;
/// let mut map = Mapper::new(classes, Config::default())?;
/// let points: Vec<[f32; 3]> = (0..100).map(|i| [2.0 + 0.01 * i as f32, 0.1, 0.1]).collect();
/// let labels = vec![1; 100];
/// let report = map.insert(&Frame {
///     points: &points,
///     semantics: Semantics::Labels(&labels),
///     world_from_sensor: Pose::IDENTITY,
///     scan: None,
/// })?;
/// assert_eq!(report.received, report.kept + report.dropped.total());
/// let beliefs = map.query(&[[2.5, 0.1, 0.1], [50.0, 0.0, 0.0]]);
/// assert_eq!(beliefs.get(0).label(), Some(1));
/// assert_eq!(beliefs.get(1).label(), None);
/// # Ok::<(), e2bki::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Mapper {
    pub(crate) classes: ClassSet,
    pub(crate) config: Config,
    pub(crate) terms: Terms,
    pub(crate) contents: Settled<Contents>,
    pub(crate) accumulated: Option<Accumulated>,
    pub(crate) frames: u64,
    /// What every submap added, if it is kept.
    pub(crate) submaps: Option<Box<Submaps>>,
    pool: Option<Arc<rayon::ThreadPool>>,
}

impl Mapper {
    /// An empty map.
    pub fn new(classes: ClassSet, config: Config) -> Result<Self> {
        config.check()?;
        config.check_classes(classes.len())?;
        let terms = Terms::new(classes.len(), &config);
        let accumulated = (config.views.posterior == Posterior::Accumulate)
            .then(|| Accumulated::new(config.views.resolution, terms, config.kernel.distance));
        let pool = match config.run.threads {
            0 => None,
            threads => Some(Arc::new(
                rayon::ThreadPoolBuilder::new()
                    .num_threads(threads.min(most_threads()))
                    .build()
                    .map_err(|e| Error::Unsupported(format!("cannot start {threads} threads: {e}")))?,
            )),
        };
        let contents = Settled::new(Contents::new(&classes, terms, &config));
        Ok(Self { classes, config, terms, contents, accumulated, frames: 0, submaps: None, pool })
    }

    /// Adds a frame. On an error the map is unchanged.
    pub fn insert(&mut self, frame: &Frame<'_>) -> Result<FrameReport> {
        let prepared = self.prepare(frame)?;
        self.insert_prepared(prepared)
    }

    /// Makes a frame ready to be added: all of the work that does not depend on what the map holds.
    pub fn prepare(&self, frame: &Frame<'_>) -> Result<Prepared> {
        frame.check(self.classes.len())?;
        self.run(|| Prepared::new(frame, self.classes.len(), self.frames, &self.config))
    }

    /// What makes frames ready for this map without it: on a thread of its own, while the map is added to or looked at.
    pub fn preparer(&self) -> Preparer {
        Preparer { classes: self.classes.len(), config: self.config.clone(), pool: self.pool.clone() }
    }

    /// Adds a frame that this map, or one of the same classes and configuration, has prepared.
    pub fn insert_prepared(&mut self, prepared: Prepared) -> Result<FrameReport> {
        self.run_mut(|map| map.insert_here(prepared))
    }

    /// Adds a prepared frame and prepares the next one meanwhile. The map becomes the same as by [`Self::insert`]ing
    /// one frame after the other, bit for bit, in less time: what is sequential in one is done beside the other.
    ///
    /// ```
    /// # use e2bki::{ClassSet, Config, Frame, Mapper, Pose, Semantics};
    /// # let mut map = Mapper::new(ClassSet::from_names(["ground", "tree"])?, Config::default())?;
    /// # let points: Vec<[f32; 3]> = (0..100).map(|i| [2.0 + 0.01 * i as f32, 0.1, 0.1]).collect();
    /// # let labels = vec![1; 100];
    /// # let frame = Frame { points: &points, semantics: Semantics::Labels(&labels), world_from_sensor: Pose::IDENTITY, scan: None };
    /// # let drive = [frame, frame, frame];
    /// let mut prepared = map.prepare(&drive[0])?;
    /// for next in &drive[1..] {
    ///     let (report, ready) = map.insert_and_prepare(prepared, next);
    ///     println!("{} primitives", report?.primitives);
    ///     prepared = ready?;
    /// }
    /// map.insert_prepared(prepared)?;
    /// # assert_eq!(map.frames(), 3);
    /// # Ok::<(), e2bki::Error>(())
    /// ```
    pub fn insert_and_prepare(
        &mut self,
        prepared: Prepared,
        next: &Frame<'_>,
    ) -> (Result<FrameReport>, Result<Prepared>) {
        let (classes, number, config) = (self.classes.len(), self.frames.saturating_add(1), self.config.clone());
        self.run_mut(|map| {
            let ready = || next.check(classes).and_then(|()| Prepared::new(next, classes, number, &config));
            rayon::join(|| map.insert_here(prepared), ready)
        })
    }

    /// Steps 5 to 7; for 1 to 4 see `prepare.rs`.
    fn insert_here(&mut self, prepared: Prepared) -> Result<FrameReport> {
        prepared.check(self.classes.len())?;
        self.check_counts(1, prepared.rows.len())?;
        let Prepared { batch, mut rows, mut report, world_from_sensor, looked, .. } = prepared;
        let refused = overfull(&self.contents.get_mut().set, &batch, &rows, cubes_of(&self.config));
        if !refused.is_empty() {
            report.saturated = refused.len();
            rows.retain(|row| refused.binary_search(row).is_err());
        }
        // First, because it alone can fail.
        let weights = self.weights();
        let sight = match self.contents.get_mut().free.as_mut().zip(looked) {
            Some((free, looked)) => {
                let (counted, sight) = free.count(looked, &weights)?;
                report.free_space = Some(counted);
                sight
            }
            None => None,
        };
        let set = &mut self.contents.get_mut().set;
        let frame = self.submaps.as_mut().map(|submaps| submaps.begin_frame(set, world_from_sensor, self.frames));
        let mut submaps = self.submaps.take();
        let keep = || {
            if let Some((submaps, sight)) = submaps.as_mut().zip(sight.as_ref()) {
                submaps.add_sight(sight);
            }
        };
        // Beside the rest: neither looks at the other.
        rayon::join(|| self.insert_rows(&batch, &rows, frame, &mut report), keep);
        self.submaps = submaps;
        // Giving back the memory of a frame is part of inserting it.
        timed(&mut report.timings.insert, || drop((batch, rows)));
        Ok(report)
    }

    /// `frame` is its number in the submap that is kept.
    fn insert_rows(&mut self, batch: &Batch, rows: &[usize], frame: Option<u64>, report: &mut FrameReport) {
        let Self { contents, config, .. } = self;
        let set = &mut contents.get_mut().set;
        let mut time = report.timings;

        // 5. Insert: the primitives go to the blocks of the map.
        set.remember(frame);
        report.folded = timed(&mut time.insert, || fold(set, batch, rows, config));
        set.remember(None);

        // 6. Refine: prune what nearer primitives contradict, merge what agrees, derive what changed.
        timed(&mut time.refine, || {
            let outcome = refine(set, config);
            (report.pruned, report.merged) = (outcome.pruned, outcome.merged);
            set.settle(outcome.changed);
        });
        report.primitives = set.len();

        // 7. View: bring the voxels up to date, unless that waits until somebody looks.
        let work = timed(&mut time.view, || self.update_views(Some((batch, rows))));
        (report.voxels_updated, report.kernel_values) = (work.voxels, work.kernel_values);

        self.frames += 1;
        report.timings = time;
    }

    fn update_views(&mut self, frame: Option<(&Batch, &[usize])>) -> Work {
        let views = &self.config.views;
        let kept = views.live_voxels && views.update == Update::EveryFrame;
        let contents = self.contents.get_mut();
        contents.log.begin();
        if let Some((accumulated, (batch, rows))) = self.accumulated.as_mut().zip(frame) {
            let mut alone = PrimitiveSet::new(self.classes.len(), contents.set.recipe().clone());
            alone.insert(batch, rows.iter().copied());
            contents.log.note_more(&alone.take_stale(self.config.run.threads), false);
            return Work { voxels: accumulated.add(&alone), kernel_values: 0 };
        }
        if kept || contents.is_due() { self.settle_now() } else { Work::default() }
    }

    /// What the map holds, in order: what has changed since somebody last looked is derived first.
    pub(crate) fn seen(&self) -> &Contents {
        self.contents.get(|contents| contents.settle(&self.classes, &self.config))
    }

    /// Derives what has changed now, voxels that are kept with every frame included.
    pub(crate) fn settle_now(&mut self) -> Work {
        let Self { contents, classes, config, .. } = self;
        contents.settle(|contents| {
            contents.settle(classes, config);
            contents.keep_voxels()
        })
    }

    /// Adds all primitives of another map of the same classes, as one more frame would be: same cubes are added
    /// together, then the neighbourhoods are refined.
    pub fn merge(&mut self, other: &Self) -> Result<FrameReport> {
        if self.classes.names() != other.classes.names() {
            return Err(Error::Merge(format!(
                "their classes differ: {:?} and {:?}",
                self.classes.names(),
                other.classes.names()
            )));
        }
        if self.accumulated.is_some() || other.accumulated.is_some() {
            return Err(Error::Merge("an accumulated posterior cannot be taken apart again".into()));
        }
        self.check_counts(other.frames, other.len())?;
        self.check_free_space_of(other)?;
        let theirs = self.submaps_of_other(other)?;
        let batch = other.seen().set.to_batch();
        let rows: Vec<usize> = (0..batch.cores.len()).collect();
        let weights = self.weights();
        let contents = self.contents.get_mut();
        if let Some(row) = overfull(&contents.set, &batch, &rows, cubes_of(&self.config)).first() {
            return Err(Error::Merge(format!(
                "around {:.2?} they would hold more points or evidence than can be summed exactly",
                batch.cores[*row].mean
            )));
        }
        if let Some((mine, theirs)) = contents.free.as_mut().zip(other.free_space()) {
            mine.replace((&[], 0), (std::slice::from_ref(theirs), theirs.frames()), &weights)?;
        }
        self.close_submap();
        let contents = self.contents.get_mut();
        let folded = fold(&mut contents.set, &batch, &rows, &self.config);
        let mut outcome = refine(&mut contents.set, &self.config);
        contents.set.settle(std::mem::take(&mut outcome.changed));
        let work = self.update_views(None);
        self.frames += other.frames;
        self.take_over(theirs);
        Ok(FrameReport {
            clusters: rows.len(),
            folded,
            pruned: outcome.pruned,
            merged: outcome.merged,
            primitives: self.len(),
            voxels_updated: work.voxels,
            kernel_values: work.kernel_values,
            ..FrameReport::default()
        })
    }

    /// Forgets every primitive whose mean lies outside of a box, for a map that moves along with its robot; returns
    /// how many.
    pub fn remove_outside(&mut self, low: [f64; 3], high: [f64; 3]) -> usize {
        if let Some(free) = &mut self.contents.get_mut().free {
            free.counters.keep_inside(low, high);
        }
        self.take_outside(low, high).len()
    }

    /// Whether the voxel view remembers kernel values from frame to frame, for some 200 bytes per primitive near the robot.
    /// It does where kernels do not follow surfaces (`kernel.reach = "uniform"`), which is faster; no result depends on it.
    pub fn remember_kernels(&mut self, remember: bool) {
        if let Some(live) = &mut self.contents.get_mut().live {
            live.remember_kernels(remember);
        }
    }

    /// Brings the voxel view up to date after a change that was not a frame.
    pub(crate) fn refresh(&mut self) {
        self.update_views(None);
    }

    /// The classes.
    pub fn classes(&self) -> &ClassSet {
        &self.classes
    }

    /// The parameters.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Frames inserted so far.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// Number of primitives.
    pub fn len(&self) -> usize {
        self.contents.read(|contents| contents.set.len())
    }

    /// Whether there are no primitives.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Does work in the pool: from a thread outside of it every loop would have to wake a worker and wait for it.
    pub(crate) fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        match &self.pool {
            Some(pool) => pool.install(work),
            None => rayon::scope(|_| work()),
        }
    }

    pub(crate) fn run_mut<T: Send>(&mut self, work: impl FnOnce(&mut Self) -> T + Send) -> T {
        match self.pool.clone() {
            Some(pool) => pool.install(|| work(self)),
            None => rayon::scope(|_| work(self)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thousand_threads_are_not_started_on_a_small_machine() {
        let threads = |asked: usize| {
            let config = Config::default().with(|c| c.run.threads = asked);
            let map = Mapper::new(ClassSet::from_names(["road"]).unwrap(), config).unwrap();
            assert_eq!(map.config().run.threads, asked);
            map.run(rayon::current_num_threads)
        };
        assert_eq!([1, 3, 8].map(threads), [1, 3, 8]);
        assert_eq!(threads(1024), most_threads().min(1024));
    }
}
