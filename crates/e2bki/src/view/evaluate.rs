//! The posterior's sums over places near one another: one primitive after the other by ascending id, a batch of
//! places at a time. All views come through here, so that they cannot disagree.

use super::belief::Terms;
use crate::config::Distance;
use crate::kernel::{LANES, kernel_of_lanes, support_of};
use crate::map::{Core, PrimitiveSet};

/// Places offered at a time: a row of voxels.
pub(crate) const ROW: usize = 8;

/// Most places evaluated together.
pub(crate) const MOST_PLACES: usize = 512;

/// Places near one another at which a posterior is wanted.
pub(crate) trait Places {
    /// Offers at least the places that a primitive's kernel reaches.
    fn within(&self, core: &Core, hits: &mut Hits);
}

/// Places that one primitive may reach: offsets from its mean, and numbers.
pub(crate) struct Hits {
    offsets: [[f32; MOST_PLACES + LANES]; 3],
    places: [u16; MOST_PLACES + LANES],
    len: usize,
    /// Square of the distance from the mean beyond which the kernel is surely zero.
    limit: f32,
}

impl Default for Hits {
    fn default() -> Self {
        Self { offsets: [[0.0; MOST_PLACES + LANES]; 3], places: [0; MOST_PLACES + LANES], len: 0, limit: 0.0 }
    }
}

impl Hits {
    #[inline(always)]
    fn clear(&mut self, core: &Core, distance: Distance) {
        self.len = 0;
        let radius = core.form.semi_axes[2] + support_of(core.form.reach, distance);
        self.limit = radius * radius * (1.0 + 1e-5);
    }

    /// Takes those of eight places that are `wanted` (a bit each) and that the primitive may reach.
    #[inline(always)]
    pub(crate) fn offer(&mut self, x: &[f32; ROW], y: &[f32; ROW], z: &[f32; ROW], wanted: u8, first: u16) {
        let mut bits = 0;
        for lane in 0..ROW {
            let squared = x[lane] * x[lane] + (y[lane] * y[lane] + z[lane] * z[lane]);
            bits |= u8::from(squared <= self.limit) << lane;
        }
        bits &= wanted;
        while bits != 0 {
            let lane = bits.trailing_zeros() as usize;
            bits &= bits - 1;
            let i = self.len.min(MOST_PLACES);
            self.offsets[0][i] = x[lane & 7];
            self.offsets[1][i] = y[lane & 7];
            self.offsets[2][i] = z[lane & 7];
            self.places[i] = first + lane as u16;
            self.len = i + 1;
        }
    }
}

/// Reusable buffers of one thread.
#[derive(Default)]
pub(crate) struct Scratch {
    /// Primitives in reach: (id, slot).
    pub(crate) found: Vec<(u64, u32)>,
    /// Sums of every place: Σ k p of the classes in `classes`, Σ k, Σ k u.
    pub(crate) sums: Vec<f32>,
    /// Classes that are summed, ascending.
    pub(crate) classes: Vec<u16>,
    probability: Vec<f32>,
    hits: Hits,
}

impl Scratch {
    /// Values per place.
    pub(crate) fn stride(&self) -> usize {
        self.classes.len() + 2
    }

    /// Sums all classes from here on.
    pub(crate) fn sum_all_classes(&mut self, terms: Terms) {
        self.classes.clear();
        self.classes.extend(0..terms.classes as u16);
    }

    /// Sums only the classes that can win anywhere near the primitives found.
    pub(crate) fn sum_plausible_classes(&mut self, set: &PrimitiveSet, terms: Terms) {
        let plausible = self.found.iter().fold(0, |bits, (_, slot)| bits | set.core(*slot).plausible);
        self.classes.clear();
        self.classes
            .extend((0..terms.classes as u16).filter(|class| terms.classes > 64 || plausible >> class & 1 == 1));
    }

    /// Adds the kernel of every primitive found, at every place it reaches, to sums that start from zero.
    pub(crate) fn add_found(&mut self, set: &PrimitiveSet, distance: Distance, count: usize, places: &impl Places) {
        self.sums.clear();
        self.sums.resize(count * self.stride(), 0.0);
        pulp::Arch::new().dispatch(Evaluation { scratch: self, set, distance, places });
    }
}

/// The loop over primitives, compiled once per instruction set and chosen at run time. Rust never fuses or reorders
/// floating-point operations, so every choice gives the same bits.
struct Evaluation<'a, P> {
    scratch: &'a mut Scratch,
    set: &'a PrimitiveSet,
    distance: Distance,
    places: &'a P,
}

impl<P: Places> pulp::WithSimd for Evaluation<'_, P> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let Scratch { found, sums, classes, probability, hits } = self.scratch;
        for (_, slot) in &*found {
            let core = self.set.core(*slot);
            hits.clear(core, self.distance);
            self.places.within(core, hits);
            let all = self.set.probability(*slot);
            probability.clear();
            probability.extend(classes.iter().map(|class| all[usize::from(*class)]));
            add_primitive(core, probability, hits, self.distance, sums);
        }
    }
}

/// Adds one primitive's kernel at the places taken.
#[inline(always)]
fn add_primitive(core: &Core, probability: &[f32], hits: &Hits, distance: Distance, sums: &mut [f32]) {
    let stride = probability.len() + 2;
    for start in (0..hits.len).step_by(LANES) {
        // Lanes beyond the last place hold leftovers, whose results are not used.
        let load = |axis: usize| std::array::from_fn(|lane| hits.offsets[axis][start + lane]);
        let kernel = kernel_of_lanes(&core.form, [load(0), load(1), load(2)], distance);
        for (k, place) in kernel.iter().zip(&hits.places[start..hits.len]) {
            if *k > 0.0 {
                let row = &mut sums[usize::from(*place) * stride..][..stride];
                for (sum, p) in row.iter_mut().zip(probability) {
                    *sum += k * p;
                }
                row[stride - 2] += k;
                row[stride - 1] += k * core.uncertainty;
            }
        }
    }
}
