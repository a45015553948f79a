//! The mapper: frames in, beliefs out.

use std::sync::Arc;

use crate::classes::ClassSet;
use crate::config::{Config, Posterior};
use crate::error::{Error, Result};
use crate::fold::fold;
use crate::input::{Frame, FrameReport};
use crate::map::{Batch, PrimitiveSet, Recipe};
use crate::prepare::Prepared;
use crate::refine::refine;
use crate::timings::timed;
use crate::view::{Accumulated, LiveGrid, Terms, Work};

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
/// })?;
/// assert_eq!(report.received, report.kept + report.dropped.total());
/// let beliefs = map.query(&[[2.5, 0.1, 0.1], [50.0, 0.0, 0.0]]);
/// assert_eq!(beliefs.get(0).label(), Some(1));
/// assert_eq!(beliefs.get(1).label(), None);
/// # Ok::<(), e2bki::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Mapper {
    classes: ClassSet,
    config: Config,
    pub(crate) terms: Terms,
    pub(crate) set: PrimitiveSet,
    pub(crate) live: Option<LiveGrid>,
    pub(crate) accumulated: Option<Accumulated>,
    pub(crate) frames: u64,
    pool: Option<Arc<rayon::ThreadPool>>,
}

impl Mapper {
    /// An empty map.
    pub fn new(classes: ClassSet, config: Config) -> Result<Self> {
        config.check()?;
        config.check_classes(classes.len())?;
        let terms = Terms::new(classes.len(), &config);
        let live = (config.views.live_voxels && config.views.posterior == Posterior::Refined)
            .then(|| LiveGrid::new(config.views.resolution, terms, config.kernel.distance));
        let accumulated = (config.views.posterior == Posterior::Accumulate)
            .then(|| Accumulated::new(config.views.resolution, terms, config.kernel.distance));
        let pool = match config.run.threads {
            0 => None,
            threads => Some(Arc::new(
                rayon::ThreadPoolBuilder::new()
                    .num_threads(threads)
                    .build()
                    .map_err(|e| Error::Unsupported(format!("cannot start {threads} threads: {e}")))?,
            )),
        };
        let set = PrimitiveSet::new(classes.len(), Recipe::solid(&config));
        Ok(Self { classes, config, terms, set, live, accumulated, frames: 0, pool })
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
    /// # let frame = Frame { points: &points, semantics: Semantics::Labels(&labels), world_from_sensor: Pose::IDENTITY };
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
        let (classes, number, config) = (self.classes.len(), self.frames + 1, self.config.clone());
        self.run_mut(|map| {
            let ready = || next.check(classes).and_then(|()| Prepared::new(next, classes, number, &config));
            rayon::join(|| map.insert_here(prepared), ready)
        })
    }

    /// Steps 5 to 7; for 1 to 4 see `prepare.rs`.
    fn insert_here(&mut self, prepared: Prepared) -> Result<FrameReport> {
        prepared.check(self.classes.len())?;
        let Prepared { batch, rows, mut report, .. } = prepared;
        let config = &self.config;
        let mut time = report.timings;

        // 5. Insert: the primitives go to the blocks of the map.
        report.folded = timed(&mut time.insert, || fold(&mut self.set, &batch, &rows, config));

        // 6. Refine: prune what nearer primitives contradict, merge what agrees, derive what changed.
        timed(&mut time.refine, || {
            let outcome = refine(&mut self.set, config);
            (report.pruned, report.merged) = (outcome.pruned, outcome.merged);
            self.set.settle(outcome.changed);
        });

        // 7. View: bring the voxels up to date.
        let work = timed(&mut time.view, || self.update_views(Some((&batch, &rows))));
        (report.voxels_updated, report.kernel_values) = (work.voxels, work.kernel_values);

        self.frames += 1;
        report.primitives = self.set.len();
        report.timings = time;
        Ok(report)
    }

    fn update_views(&mut self, frame: Option<(&Batch, &[usize])>) -> Work {
        let stale = self.set.take_stale();
        if let Some(live) = &mut self.live {
            return live.refresh(&self.set, &stale);
        }
        match (&mut self.accumulated, frame) {
            (Some(accumulated), Some((batch, rows))) => {
                let mut alone = PrimitiveSet::new(self.classes.len(), *self.set.recipe());
                alone.insert(batch, rows.iter().copied());
                Work { voxels: accumulated.add(&alone), kernel_values: 0 }
            }
            _ => Work::default(),
        }
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
        let batch = other.set.to_batch();
        let rows: Vec<usize> = (0..batch.cores.len()).collect();
        let folded = fold(&mut self.set, &batch, &rows, &self.config);
        let mut outcome = refine(&mut self.set, &self.config);
        self.set.settle(std::mem::take(&mut outcome.changed));
        let work = self.update_views(None);
        self.frames += other.frames;
        Ok(FrameReport {
            clusters: rows.len(),
            folded,
            pruned: outcome.pruned,
            merged: outcome.merged,
            primitives: self.set.len(),
            voxels_updated: work.voxels,
            kernel_values: work.kernel_values,
            ..FrameReport::default()
        })
    }

    /// Forgets every primitive whose mean lies outside of a box, for a map that moves along with its robot; returns
    /// how many.
    pub fn remove_outside(&mut self, low: [f64; 3], high: [f64; 3]) -> usize {
        self.take_outside(low, high).len()
    }

    /// Whether the voxel view remembers kernel values from frame to frame, as it does unless told otherwise: faster, for
    /// some 200 bytes per primitive near the robot. No result depends on it.
    pub fn remember_kernels(&mut self, remember: bool) {
        if let Some(live) = &mut self.live {
            live.remembers = remember;
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
        self.set.len()
    }

    /// Whether there are no primitives.
    pub fn is_empty(&self) -> bool {
        self.set.len() == 0
    }

    /// Does work in the pool: from a thread outside of it every loop would have to wake a worker and wait for it.
    pub(crate) fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        match &self.pool {
            Some(pool) => pool.install(work),
            None => rayon::scope(|_| work()),
        }
    }

    fn run_mut<T: Send>(&mut self, work: impl FnOnce(&mut Self) -> T + Send) -> T {
        match self.pool.clone() {
            Some(pool) => pool.install(|| work(self)),
            None => rayon::scope(|_| work(self)),
        }
    }
}
