//! The posterior's sums over places near one another: one primitive after the other in one order, a batch of
//! places at a time. All views come through here, so that they cannot disagree.

use super::belief::Terms;
use super::hits::Hits;
use super::lattice::{Mask, SIDE};
use super::memory::KernelMemory;
use super::places::{BlockVoxels, Places};
use crate::config::Distance;
use crate::free::Existence;
use crate::kernel::kernel_of_points;
use crate::map::{PrimitiveSet, Seen};
use crate::prefetch::prefetch;

/// Where kernel values come from.
#[derive(Clone, Copy)]
enum Kernels<'a> {
    /// All are computed, and none is kept.
    Computed,
    /// Those of primitives that have not changed are taken from an earlier evaluation of the same block; all are left in
    /// [`Scratch::memory`] for the next one.
    Remembered(&'a KernelMemory),
}

/// Sums of the places.
pub(crate) struct Rows<'a> {
    sums: &'a [f32],
    classes: usize,
    stride: usize,
}

impl<'a> Rows<'a> {
    /// The sums of a place: Σ k p of the summed classes, Σ k and Σ k u.
    #[inline(always)]
    pub(crate) fn get(&self, place: usize) -> (&'a [f32], f32, f32) {
        let (sums, rest) = self.sums[place * self.stride..][..self.stride].split_at(self.classes);
        (sums, rest[0], rest[1])
    }

    /// Which of `SIDE` places one after the other hold evidence, a bit each.
    #[inline(always)]
    pub(crate) fn with_mass(&self, first: usize) -> u16 {
        let places = self.sums.get(first * self.stride..).unwrap_or_default().chunks_exact(self.stride);
        places
            .take(SIDE as usize)
            .zip(0..)
            .fold(0, |bits, (sums, place)| bits | u16::from(sums[self.classes] > 0.0) << place)
    }
}

/// Reusable buffers of one thread.
#[derive(Default)]
pub(crate) struct Scratch {
    /// Primitives in reach: (order, slot).
    pub(crate) found: Vec<(u64, u32)>,
    /// Sums of every place; see [`Rows`].
    sums: Vec<f32>,
    /// Classes that are summed, ascending.
    pub(crate) classes: Vec<u16>,
    /// What views read of the primitives found.
    seen: Vec<Seen>,
    /// What a kernel value of 1 of each of them adds to a place.
    shares: Vec<f32>,
    /// Not on the stack: see [`Hits::boxed`]. Nothing until somebody needs it: it is large, and a short question is over before
    /// it would be made.
    hits: Option<Box<Hits>>,
    /// At least the voxels of a block that the latest evaluation reached.
    pub(crate) reached: Mask,
    /// Kernel values of the latest evaluation that remembers.
    pub(crate) memory: KernelMemory,
    /// Kernel values computed by the latest evaluation.
    pub(crate) kernel_values: usize,
}

impl Scratch {
    /// Values per place: a multiple of four, for the sake of vector instructions.
    pub(crate) fn stride(&self) -> usize {
        (self.classes.len() + 2).next_multiple_of(4)
    }

    /// The sums of the places, if anything reaches them.
    pub(crate) fn rows(&self) -> Option<Rows<'_>> {
        let (classes, stride) = (self.classes.len(), self.stride());
        (!self.sums.is_empty()).then_some(Rows { sums: &self.sums, classes, stride })
    }

    /// Sums of all classes at some places.
    ///
    /// Primitives of what is no longer there are left out.
    pub(crate) fn posterior(
        &mut self,
        set: &PrimitiveSet,
        terms: Terms,
        distance: Distance,
        existence: Option<&Existence<'_>>,
        places: &mut impl Places,
    ) {
        let (low, high) = places.bounds();
        set.supports_in(low, high, &mut self.found);
        if set.some_gone() {
            self.found.retain(|(_, slot)| {
                let head = set.head(*slot);
                !existence.map_or(head.gone(), |existence| existence.is_gone_primitive(head))
            });
        }
        self.classes.clear();
        self.classes.extend(0..terms.classes as u16);
        self.evaluate(set, distance, places, Kernels::Computed);
    }

    /// Sums of the classes that can be the most likely one, at the masked voxels of a block, of the primitives that are
    /// `reaching` it and of large ones. What is `known` of an earlier evaluation is not computed again, and the kernel values of all voxels of the block are left in
    /// `memory`: the next frame may ask about others. Without a memory only the masked voxels are looked at.
    pub(crate) fn labels(
        &mut self,
        set: &PrimitiveSet,
        terms: Terms,
        distance: Distance,
        voxels: BlockVoxels<'_>,
        reaching: (&[(u64, u32)], u64),
        known: Option<&KernelMemory>,
    ) {
        let mut voxels = if known.is_some() { voxels.whole_block() } else { voxels };
        let (small, mut plausible) = reaching;
        self.found.clear();
        self.found.extend_from_slice(small);
        let (low, high) = voxels.bounds();
        plausible |= set.large_in(low, high, &mut self.found);
        self.found.sort_unstable();
        if set.some_gone() {
            self.found.retain(|(_, slot)| !set.head(*slot).gone());
            plausible = self.found.iter().fold(0, |bits, (_, slot)| bits | set.seen(*slot).plausible);
        }
        self.classes.clear();
        self.classes
            .extend((0..terms.classes as u16).filter(|class| terms.classes > 64 || plausible >> class & 1 == 1));
        let kernels = known.map_or(Kernels::Computed, Kernels::Remembered);
        self.evaluate(set, distance, &mut voxels, kernels);
        self.reached = voxels.reached;
    }

    /// Adds the kernel of every primitive found, at every place it reaches, to sums that start from zero.
    fn evaluate(&mut self, set: &PrimitiveSet, distance: Distance, places: &mut impl Places, kernels: Kernels<'_>) {
        self.kernel_values = 0;
        self.memory.clear();
        self.sums.clear();
        if self.found.is_empty() {
            return;
        }
        self.sums.resize(places.rows() * self.stride(), 0.0);
        pulp::Arch::new().dispatch(Evaluation { scratch: self, set, distance, places, kernels });
    }
}

/// The loop over primitives, compiled once per instruction set and chosen at run time. Rust never fuses or reorders
/// floating-point operations, so every choice gives the same bits.
struct Evaluation<'a, P> {
    scratch: &'a mut Scratch,
    set: &'a PrimitiveSet,
    distance: Distance,
    places: &'a mut P,
    kernels: Kernels<'a>,
}

impl<P: Places> pulp::WithSimd for Evaluation<'_, P> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, simd: S) {
        let stride = self.scratch.stride();
        let Scratch { found, seen, sums, classes, shares, hits, memory, kernel_values, .. } = self.scratch;
        // First everything is brought together, in a loop so short that the processor waits for the memory of many primitives
        // at once.
        seen.clear();
        for (_, slot) in &*found {
            let (one, probability) = self.set.seen_and_probability(*slot);
            prefetch((probability.first().copied(), probability.last().copied()));
            seen.push(*one);
        }
        shares.clear();
        shares.resize(found.len() * stride, 0.0);
        for (((_, slot), seen), share) in found.iter().zip(&*seen).zip(shares.chunks_exact_mut(stride)) {
            let (probability, votes) = (self.set.probability(*slot), seen.votes);
            let (of_classes, of_all) = share.split_at_mut(classes.len());
            for (share, class) in of_classes.iter_mut().zip(&*classes) {
                *share = votes * probability[usize::from(*class)];
            }
            of_all[..2].copy_from_slice(&[votes, votes * seen.uncertainty]);
        }
        let mut cursor = 0;
        for (((order, _), seen), share) in found.iter().zip(&*seen).zip(shares.chunks_exact(stride)) {
            let rows = seen.form.follows && matches!(self.kernels, Kernels::Computed);
            if rows && let Some(values) = self.places.add(simd, seen, share, sums) {
                *kernel_values += values;
                continue;
            }
            let known = match self.kernels {
                Kernels::Computed => None,
                Kernels::Remembered(known) => known.find(*order, seen.version, &mut cursor),
            };
            if let Some((places, kernel)) = known {
                add(self.places, places, kernel, share, sums);
                memory.push(*order, seen.version, places, kernel);
                continue;
            }
            let hits = hits.get_or_insert_with(Hits::boxed);
            hits.clear(seen, self.distance);
            self.places.within(seen, hits);
            *kernel_values += hits.len;
            let Hits { offsets: [x, y, z], places, kernel, len, .. } = &mut **hits;
            // Lanes beyond the last place hold leftovers, whose results are not used.
            kernel_of_points(simd, &seen.form, [x, y, z], *len, self.distance, kernel);
            match self.kernels {
                Kernels::Computed => add(self.places, &places[..*len], &kernel[..*len], share, sums),
                Kernels::Remembered(_) => {
                    let len = only_reached(places, kernel, *len);
                    let (places, kernel) = (&places[..len], &kernel[..len]);
                    add(self.places, places, kernel, share, sums);
                    memory.push(*order, seen.version, places, kernel);
                }
            }
        }
    }
}

/// Moves the places with a kernel above 0 to the front; returns how many there are.
#[inline(always)]
fn only_reached(places: &mut [u16], kernel: &mut [f32], len: usize) -> usize {
    let mut reached = 0;
    for i in 0..len {
        (places[reached], kernel[reached]) = (places[i], kernel[i]);
        reached += usize::from(kernel[reached] > 0.0);
    }
    reached
}

/// Adds one primitive's kernel at its places.
#[inline(always)]
fn add(places: &impl Places, numbers: &[u16], kernel: &[f32], share: &[f32], sums: &mut [f32]) {
    // Short shares of a known length stay in registers.
    match share.len() {
        4 => return add_short::<4>(places, numbers, kernel, share, sums),
        8 => return add_short::<8>(places, numbers, kernel, share, sums),
        12 => return add_short::<12>(places, numbers, kernel, share, sums),
        16 => return add_short::<16>(places, numbers, kernel, share, sums),
        _ => {}
    }
    for (k, number) in kernel.iter().zip(numbers) {
        let row = &mut sums[places.row_of(*number) * share.len()..][..share.len()];
        for (sums, shares) in row.as_chunks_mut::<4>().0.iter_mut().zip(share.as_chunks::<4>().0) {
            // All loads before the store: the compiler cannot know that sums and shares never overlap.
            let [a, b, c, d] = *shares;
            let [sa, sb, sc, sd] = *sums;
            *sums = [sa + k * a, sb + k * b, sc + k * c, sd + k * d];
        }
    }
}

/// The same of a share of N values.
#[inline(always)]
fn add_short<const N: usize>(places: &impl Places, numbers: &[u16], kernel: &[f32], share: &[f32], sums: &mut [f32]) {
    let (Some(share), rows) = (share.first_chunk::<N>().copied(), sums.as_chunks_mut::<N>().0) else { return };
    for (k, number) in kernel.iter().zip(numbers) {
        let Some(row) = rows.get_mut(places.row_of(*number)) else { continue };
        // All loads before the store: the compiler cannot know that sums and kernel never overlap.
        let (k, mut sums) = (*k, *row);
        for i in 0..N {
            sums[i] += k * share[i];
        }
        *row = sums;
    }
}
