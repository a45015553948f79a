//! What can be read from a map: beliefs anywhere, voxels, bird's-eye cells, primitives, and the bytes it takes.

use rayon::prelude::*;

use crate::changes::Changes;
use crate::contents::Contents;
use crate::error::{Error, Result};
use crate::free::{Above, Known, State, Tally, checked_band};
use crate::map::{PrimitiveSet, Recipe};
use crate::mapper::Mapper;
use crate::primitive::{Ellipsoid, Sums, log_evidence_of};
use crate::state::PrimitiveState;
use crate::view::{Beliefs, Cells, Lattice, LiveBlock, LiveVoxel, Voxels, query, rasterise};

/// A primitive of the map.
#[derive(Clone, Copy)]
pub struct Primitive<'a> {
    set: &'a PrimitiveSet,
    slot: u32,
}

impl<'a> Primitive<'a> {
    /// Age order: lower is older. Never used twice in a map in memory; files of maps that are sums do not keep it.
    pub fn id(&self) -> u64 {
        self.set.head(self.slot).id()
    }

    /// The additive geometry.
    pub fn sums(&self) -> Sums {
        self.set.core(self.slot).sums
    }

    /// Number of points (paper: w).
    pub fn weight(&self) -> f64 {
        self.sums().weight
    }

    /// Mean, metres (paper: μ).
    pub fn mean(&self) -> [f64; 3] {
        self.set.known(self.slot).map_or_else(|| self.set.core(self.slot).mean, |(seen, _)| seen.mean)
    }

    /// Covariance as xx, yy, zz, xy, xz, yz, square metres (paper: Σ).
    pub fn covariance(&self) -> [f64; 6] {
        self.sums().covariance()
    }

    /// The ellipsoid whose surface the kernel measures from.
    pub fn ellipsoid(&self) -> Ellipsoid {
        self.set.recipe().ellipsoid(&self.set.core(self.slot))
    }

    /// Log-evidence of every class: the additive semantics.
    pub fn log_evidence(&self) -> Vec<f64> {
        self.set.log_evidence(self.slot).iter().map(|quanta| log_evidence_of(*quanta)).collect()
    }

    /// Probability of every class (paper: p).
    pub fn probability(&self) -> Vec<f32> {
        let known = self.set.known(self.slot).map(|(_, probability)| probability.to_vec());
        known.unwrap_or_else(|| self.set.judged(self.slot).1)
    }

    /// Most likely class.
    pub fn label(&self) -> usize {
        usize::from(self.set.head(self.slot).label)
    }

    /// Uncertainty (paper: u).
    pub fn uncertainty(&self) -> f64 {
        let known = self.set.known(self.slot).map(|(seen, _)| seen.uncertainty);
        f64::from(known.unwrap_or_else(|| self.set.judged(self.slot).0.uncertainty))
    }

    /// ln u, which does not underflow.
    pub fn ln_uncertainty(&self) -> f64 {
        f64::from(self.set.judged(self.slot).0.ln_uncertainty)
    }

    /// Mean distance from the sensor, metres (paper: δ).
    pub fn range(&self) -> f64 {
        self.sums().mean_range()
    }

    /// All that it holds, to be kept elsewhere.
    pub fn state(&self) -> PrimitiveState {
        let core = self.set.core(self.slot);
        let log_evidence = self.set.log_evidence(self.slot);
        PrimitiveState { id: core.id, muted: core.muted, sums: core.sums, log_evidence }
    }

    /// Whether it was seen through since, so often that views leave it out; never in a map without free space.
    pub fn is_gone(&self) -> bool {
        self.set.head(self.slot).gone()
    }

    /// How much it counts in the posterior: as many times as it has independent witnesses.
    pub fn votes(&self) -> f64 {
        f64::from(self.set.recipe().votes(&self.set.core(self.slot)))
    }

    /// Kernel at a place, from 0 to 1: how much of its evidence counts there.
    pub fn kernel(&self, at: [f64; 3]) -> f64 {
        let core = self.set.with_opinion(self.slot);
        self.set.recipe().kernel_at(&core, self.set.surface_at(&core), at)
    }

    /// How the surface runs that it is a part of: the covariance of its class around it divided by the largest variance,
    /// as xx, yy, zz, xy, xz, yz; zero unless kernels follow surfaces.
    pub fn surface(&self) -> [f32; 6] {
        self.set.surface_of(self.slot).covariance
    }

    /// Kernel reach ℓβe^{1−u}, longer for what was seen from afar (of planes only, unless it is to grow everywhere), metres;
    /// along the surface where kernels follow it. 0 for a muted primitive.
    pub fn reach(&self) -> f64 {
        self.set.recipe().reach(&self.set.with_opinion(self.slot), self.set.surface_of(self.slot))
    }
}

/// Bytes held by each part of a map.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ByteSize {
    /// What the primitives hold.
    pub primitives: usize,
    /// What was derived of them where somebody looked: opinions and kernels.
    pub derived: usize,
    /// The spatial index, and when each part of it last changed.
    pub index: usize,
    /// The live voxel view, or the accumulated one.
    pub voxels: usize,
    /// What every submap added, if it is kept.
    pub submaps: usize,
    /// What was seen and seen through.
    pub free_space: usize,
}

impl ByteSize {
    /// All parts together.
    pub fn total(&self) -> usize {
        self.primitives + self.derived + self.index + self.voxels + self.submaps + self.free_space
    }
}

/// A bird's-eye view of a map at one moment: the primitives without their height.
///
/// In a map with free space, the state of a place ([`Beliefs::state`]) is that of the space over its ground between two
/// heights ([`BAND_M`](crate::free::BAND_M) unless [others](Self::with_band) are given): occupied if anything is there,
/// free if all of it was seen through, unknown otherwise and where no ground was seen. Counts and existence are those of
/// the cube that decides.
#[derive(Debug, Clone)]
pub struct BirdsEye<'a> {
    map: &'a Mapper,
    set: PrimitiveSet,
    above: Option<Above>,
}

impl BirdsEye<'_> {
    /// With other heights above the ground between which the state is asked for, metres: those that a robot takes up.
    pub fn with_band(mut self, band: [f64; 2]) -> Result<Self> {
        let band = checked_band(band)?;
        self.above.iter_mut().for_each(|above| above.set_band(band));
        Ok(self)
    }

    /// Height of the ground at a place, as the state takes it: the median of the lowest things that stay in the square
    /// metres around. Nothing where there are none, and in a map without free space.
    pub fn ground(&self, place: [f64; 2]) -> Option<f64> {
        self.above.as_ref()?.ground(place)
    }

    /// Beliefs at world positions x, y.
    pub fn query(&self, points: &[[f64; 2]]) -> Beliefs {
        let places: Vec<[f64; 3]> = points.iter().map(|p| [p[0], p[1], 0.0]).collect();
        let distance = self.map.config().kernel.distance;
        let beliefs = self.map.run(|| query(&self.set, self.map.terms, distance, None, &places));
        beliefs.knowing(self.known(points))
    }

    /// Whether the space above places is free, occupied or unknown: what [`Self::query`] says of it, without the beliefs.
    pub fn states(&self, places: &[[f64; 2]]) -> Vec<State> {
        let known = self.known(places);
        (0..places.len()).map(|i| known.get(i).map_or(State::Unknown, Known::state)).collect()
    }

    /// What is known above places; empty in a map without free space.
    fn known(&self, places: &[[f64; 2]]) -> Vec<Known> {
        let (Some(above), Some(existence)) = (&self.above, self.map.existence()) else { return Vec::new() };
        let known = |place: &[f64; 2]| above.known(&existence, *place);
        self.map.run(|| places.par_iter().with_min_len(1024).map(known).collect())
    }

    /// Cells of a given side that hold evidence.
    pub fn cells(&self, resolution: f64) -> Result<Cells> {
        let lattice = Lattice { resolution: checked(resolution)?, planar: true };
        let (centers, beliefs) =
            self.map.run(|| rasterise(&self.set, self.map.terms, self.map.config().kernel.distance, None, lattice));
        let centers: Vec<[f64; 2]> = centers.into_iter().map(|c| [c[0], c[1]]).collect();
        let beliefs = beliefs.knowing(self.known(&centers));
        Ok(Cells { resolution, centers, beliefs })
    }
}

impl Mapper {
    /// Beliefs at world positions, metres. With an accumulated posterior these are the beliefs of the voxels they are in.
    pub fn query(&self, points: &[[f64; 3]]) -> Beliefs {
        match &self.accumulated {
            Some(accumulated) => accumulated.query(points),
            None => {
                let existence = self.existence();
                let set = &self.seen().set;
                self.run(|| query(set, self.terms, self.config().kernel.distance, existence.as_ref(), points))
            }
        }
    }

    /// Voxels of the live view that hold evidence, in a fixed order; none if the live view is off. Those in space known to
    /// be free are left out. What changed since somebody last looked is computed first (see `views.update`).
    pub fn live_voxels(&self) -> impl Iterator<Item = LiveVoxel> {
        let Contents { live, set, .. } = self.seen();
        let voxels = live.as_ref().map_or_else(Vec::new, |live| self.run(|| live.voxels(set)));
        let there = self.there();
        voxels.into_iter().filter(there)
    }

    /// Blocks of the live view in which voxels can differ after [changes](Self::changes_since), each with all voxels that it
    /// has now, which may be none; in ascending order. All blocks where what changed is not known. Costs time in proportion
    /// to what changed.
    pub fn live_blocks(&self, changes: &Changes) -> Vec<LiveBlock> {
        let Contents { live, set, .. } = self.seen();
        let mut blocks = live.as_ref().map_or_else(Vec::new, |live| self.run(|| live.changed(set, changes)));
        let there = self.there();
        self.run(|| blocks.par_iter_mut().with_min_len(16).for_each(|block| block.voxels.retain(&there)));
        blocks
    }

    /// Whether a voxel is not in space known to be free.
    fn there(&self) -> impl Fn(&LiveVoxel) -> bool {
        let existence = self.existence();
        move |voxel| match (&existence, voxel.belief.label()) {
            (Some(existence), Some(label)) => !existence.leaves_out(voxel.center, label),
            _ => true,
        }
    }

    /// Number of voxels in the live view.
    pub fn live_voxel_count(&self) -> usize {
        let Contents { live, set, .. } = self.seen();
        live.as_ref().map_or(0, |live| self.run(|| live.len(set)))
    }

    /// Voxels of any side that hold evidence, with all classes. With an accumulated posterior, its own voxels only.
    pub fn voxels(&self, resolution: f64) -> Result<Voxels> {
        let lattice = Lattice { resolution: checked(resolution)?, planar: false };
        let (centers, beliefs) = match &self.accumulated {
            Some(accumulated) if resolution == self.config().views.resolution => accumulated.voxels(),
            Some(_) => {
                return Err(Error::Unsupported(format!(
                    "an accumulated posterior exists at {} m only",
                    self.config().views.resolution
                )));
            }
            None => {
                let existence = self.existence();
                let distance = self.config().kernel.distance;
                let set = &self.seen().set;
                self.run(|| rasterise(set, self.terms, distance, existence.as_ref(), lattice))
            }
        };
        Ok(Voxels { resolution, centers, beliefs })
    }

    /// The map seen from above: height dropped, kernel and ellipses in the plane.
    pub fn birds_eye(&self) -> Result<BirdsEye<'_>> {
        self.birds_eye_of(&self.seen().set.in_order())
    }

    /// The same of the primitives in the square metres from one to another, both included, only: what is around a robot
    /// in a large map. Cells nearer to the border than kernels reach lack what comes from beyond it.
    pub fn birds_eye_within(&self, low: [i32; 2], high: [i32; 2]) -> Result<BirdsEye<'_>> {
        self.birds_eye_of(&self.seen().set.in_blocks([low[0], low[1], i32::MIN], [high[0], high[1], i32::MAX]))
    }

    fn birds_eye_of(&self, slots: &[u32]) -> Result<BirdsEye<'_>> {
        if self.accumulated.is_some() {
            return Err(Error::Unsupported("an accumulated posterior has no bird's-eye view".into()));
        }
        let all = &self.seen().set;
        let there: Vec<u32> = slots.iter().copied().filter(|slot| !all.head(*slot).gone()).collect();
        let set = self.run(|| {
            let mut set = PrimitiveSet::new(self.classes().len(), Recipe::planar(self.config()));
            set.insert(&all.to_flat_batch(&there), 0..there.len());
            set
        });
        let above = self.existence().map(|existence| {
            let of = |slot: &u32| (all.core(*slot).mean, usize::from(all.head(*slot).label), all.head(*slot).gone());
            Above::of(&existence, |class| self.classes().is_movable(class), slots.iter().map(of))
        });
        Ok(BirdsEye { map: self, set, above })
    }

    /// Bird's-eye cells of a given side that hold evidence: shorthand for [`Mapper::birds_eye`] and [`BirdsEye::cells`].
    pub fn bev(&self, resolution: f64) -> Result<Cells> {
        self.birds_eye()?.cells(resolution)
    }

    /// What free space says of a primitive: its state, existence and counts, those of the cube that decides; nothing in a map
    /// without free space.
    pub fn existence_of(&self, primitive: &Primitive<'_>) -> Option<(State, f64, Tally)> {
        let known = self.existence()?.of_primitive(primitive.mean(), primitive.label(), primitive.is_gone());
        // A primitive whose frames were not counted is there.
        Some((known.state(), known.tally.existence(f64::from(known.kappa)).unwrap_or(1.0), known.tally))
    }

    /// All primitives: oldest first or, in a map that is a sum ([`Config::not_a_sum`](crate::Config::not_a_sum)), by
    /// place and class, which does not depend on how the map came to be.
    pub fn primitives(&self) -> impl ExactSizeIterator<Item = Primitive<'_>> {
        let set = &self.seen().set;
        set.in_order().into_iter().map(move |slot| Primitive { set, slot })
    }

    /// Primitives whose kernel reaches into a box, in the order of [`Self::primitives`]: all that beliefs in it depend on.
    pub fn primitives_reaching(&self, low: [f64; 3], high: [f64; 3]) -> Vec<Primitive<'_>> {
        if !(0..3).all(|i| low[i] <= high[i]) {
            return Vec::new();
        }
        // Looking up cubic metres pays only where there are fewer of them than primitives.
        let cubes: f64 = (0..3).map(|i| high[i] - low[i] + 3.0).product();
        let set = &self.seen().set;
        let found = if cubes < set.len() as f64 {
            let mut found = Vec::new();
            set.supports_in(low, high, &mut found);
            set.sorted(found.into_iter().map(|(_, slot)| slot))
        } else {
            set.supports_in_wide(low, high)
        };
        found.into_iter().map(|slot| Primitive { set, slot }).collect()
    }

    /// Primitives in the cubic metres from one to another, both included, in the order of [`Self::primitives`]: those whose
    /// [`origin`](Sums::origin) lies between the two.
    pub fn primitives_in_blocks(&self, low: [i32; 3], high: [i32; 3]) -> Vec<Primitive<'_>> {
        let set = &self.seen().set;
        set.in_blocks(low, high).into_iter().map(|slot| Primitive { set, slot }).collect()
    }

    /// Bytes held, by part, as it is: what nobody has looked at yet is not derived for this.
    pub fn byte_size(&self) -> ByteSize {
        let (primitives, derived, index, live) = self.contents.read(|Contents { set, live, log, .. }| {
            let (primitives, derived, index) = set.byte_size();
            (primitives, derived, index + log.byte_size(), live.as_ref().map_or(0, |live| live.byte_size()))
        });
        let accumulated = self.accumulated.as_ref().map_or(0, |accumulated| accumulated.byte_size());
        let growing = self.contents.read(|contents| contents.set.size_of_additions());
        let submaps = self.submaps.as_ref().map_or(0, |submaps| submaps.byte_size()) + growing;
        let counted = |contents: &Contents| contents.free.as_ref().map_or(0, |free| free.counters.byte_size());
        let free_space = self.contents.read(counted);
        ByteSize { primitives, derived, index, voxels: live + accumulated, submaps, free_space }
    }
}

fn checked(resolution: f64) -> Result<f64> {
    if (0.005..=10.0).contains(&resolution) {
        return Ok(resolution);
    }
    Err(Error::Argument { name: "resolution", found: resolution.to_string(), allowed: "0.005 to 10 m".into() })
}
