//! The posterior's sums over places near one another: one primitive after the other by ascending id, a batch of
//! places at a time. All views come through here, so that they cannot disagree.

use super::belief::Terms;
use super::memory::KernelMemory;
use crate::config::Distance;
use crate::kernel::{LANES, kernel_of_points, support_of};
use crate::map::{Core, PrimitiveSet};

/// Places offered at a time.
pub(crate) const ROW: usize = 8;

/// Most places evaluated together.
pub(crate) const MOST_PLACES: usize = 4096;

/// Places near one another at which a posterior is wanted.
pub(crate) trait Places {
    /// Offers at least the places that a primitive's kernel reaches.
    fn within(&self, core: &Core, hits: &mut Hits);

    /// Where the sums of a place are, by the number that `within` gave it.
    fn row_of(&self, number: u16) -> usize;
}

/// Places that one primitive may reach: offsets from its mean, and numbers.
pub(crate) struct Hits {
    offsets: [[f32; MOST_PLACES + LANES]; 3],
    places: [u16; MOST_PLACES + LANES],
    kernel: [f32; MOST_PLACES + LANES],
    len: usize,
    /// Square of the distance from the mean beyond which the kernel is surely zero.
    limit: f32,
}

impl Default for Hits {
    fn default() -> Self {
        Self {
            offsets: [[0.0; MOST_PLACES + LANES]; 3],
            places: [0; MOST_PLACES + LANES],
            kernel: [0.0; MOST_PLACES + LANES],
            len: 0,
            limit: 0.0,
        }
    }
}

impl Hits {
    /// Made by a function of its own: the arrays may be in its frame for a moment, and must not be in that of a parallel iterator,
    /// which has one on the stack for every time it was split.
    #[inline(never)]
    fn boxed() -> Box<Self> {
        Box::default()
    }

    #[inline(always)]
    fn clear(&mut self, core: &Core, distance: Distance) {
        self.len = 0;
        let radius = core.form.semi_axes[2] + support_of(core.form.reach, distance);
        self.limit = radius * radius * (1.0 + 1e-5);
    }

    /// Takes places `first..end` (sixteen at most) of a row of which x differs and y, z are shared. Copies eight or
    /// sixteen and keeps what is wanted, so that little depends on how many there are; `x` is longer than a row for
    /// that reason.
    #[inline(always)]
    pub(crate) fn take_run(&mut self, x: &[f32; 4 * ROW], y: f32, z: f32, row: u16, first: usize, end: usize) {
        let at = self.len.min(MOST_PLACES);
        self.copy_eight(x, y, z, row, first, at);
        if end - first > ROW {
            self.copy_eight(x, y, z, row, first + ROW, at + ROW);
        }
        self.len = at + (end - first);
    }

    #[inline(always)]
    fn copy_eight(&mut self, x: &[f32; 4 * ROW], y: f32, z: f32, row: u16, first: usize, at: usize) {
        let [xs, ys, zs] = &mut self.offsets;
        let first = first.min(3 * ROW);
        xs[at..at + ROW].copy_from_slice(&x[first..first + ROW]);
        ys[at..at + ROW].fill(y);
        zs[at..at + ROW].fill(z);
        let mut places = [0; ROW];
        for lane in 0..ROW {
            places[lane] = row + first as u16 + lane as u16;
        }
        self.places[at..at + ROW].copy_from_slice(&places);
    }

    /// Takes those of eight places that are `wanted` (a bit each) and that the primitive may reach.
    #[inline(always)]
    pub(crate) fn offer(&mut self, x: &[f32], y: &[f32; ROW], z: &[f32; ROW], wanted: u8, row: u16) {
        let mut bits = 0;
        for lane in 0..ROW {
            let squared = x[lane] * x[lane] + (y[lane] * y[lane] + z[lane] * z[lane]);
            bits |= u8::from(squared <= self.limit) << lane;
        }
        bits &= wanted;
        while bits != 0 {
            let lane = bits.trailing_zeros() as usize & 7;
            bits &= bits - 1;
            let i = self.len.min(MOST_PLACES);
            self.offsets[0][i] = x[lane];
            self.offsets[1][i] = y[lane];
            self.offsets[2][i] = z[lane];
            self.places[i] = row + lane as u16;
            self.len = i + 1;
        }
    }
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
}

/// Reusable buffers of one thread.
pub(crate) struct Scratch {
    /// Primitives in reach: (id, slot).
    pub(crate) found: Vec<(u64, u32)>,
    /// Sums of every place; see [`Rows`].
    sums: Vec<f32>,
    /// Classes that are summed, ascending.
    pub(crate) classes: Vec<u16>,
    /// What a kernel value of 1 adds to a place.
    share: Vec<f32>,
    /// Not on the stack: see [`Hits::boxed`].
    hits: Box<Hits>,
    /// Kernel values of the latest evaluation that remembers.
    pub(crate) memory: KernelMemory,
    /// Kernel values computed by the latest evaluation.
    pub(crate) kernel_values: usize,
}

impl Default for Scratch {
    fn default() -> Self {
        Self {
            found: Vec::new(),
            sums: Vec::new(),
            classes: Vec::new(),
            share: Vec::new(),
            hits: Hits::boxed(),
            memory: KernelMemory::default(),
            kernel_values: 0,
        }
    }
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
    /// Values in `known` are not computed again; with it, all values are left in `memory`.
    pub(crate) fn evaluate(
        &mut self,
        set: &PrimitiveSet,
        distance: Distance,
        count: usize,
        places: &impl Places,
        known: Option<&KernelMemory>,
    ) {
        self.kernel_values = 0;
        self.memory.clear();
        self.sums.clear();
        if self.found.is_empty() {
            return;
        }
        self.sums.resize(count * self.stride(), 0.0);
        pulp::Arch::new().dispatch(Evaluation { scratch: self, set, distance, places, known });
    }
}

/// The loop over primitives, compiled once per instruction set and chosen at run time. Rust never fuses or reorders
/// floating-point operations, so every choice gives the same bits.
struct Evaluation<'a, P> {
    scratch: &'a mut Scratch,
    set: &'a PrimitiveSet,
    distance: Distance,
    places: &'a P,
    known: Option<&'a KernelMemory>,
}

impl<P: Places> pulp::WithSimd for Evaluation<'_, P> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, simd: S) {
        let stride = self.scratch.stride();
        let Scratch { found, sums, classes, share, hits, memory, kernel_values } = self.scratch;
        let mut cursor = 0;
        share.clear();
        share.resize(stride, 0.0);
        for (i, (id, slot)) in found.iter().enumerate() {
            // Asks for the memory of a primitive to come while this one is worked on.
            if let Some((_, next)) = found.get(i + 2) {
                let core = self.set.core(*next);
                std::hint::black_box((core.mean[0], core.form.half_box[0], self.set.probability(*next).first()));
            }
            let core = self.set.core(*slot);
            let probability = self.set.probability(*slot);
            let votes = self.set.recipe().votes(core);
            let (of_classes, of_all) = share.split_at_mut(classes.len());
            for (share, class) in of_classes.iter_mut().zip(&*classes) {
                *share = votes * probability[usize::from(*class)];
            }
            of_all[..2].copy_from_slice(&[votes, votes * core.uncertainty]);
            if let Some((places, kernel)) = self.known.and_then(|known| known.find(*id, core.version, &mut cursor)) {
                add(self.places, places, kernel, share, sums);
                memory.push(*id, core.version, places, kernel);
                continue;
            }
            hits.clear(core, self.distance);
            self.places.within(core, hits);
            *kernel_values += hits.len;
            let Hits { offsets: [x, y, z], places, kernel, len, .. } = &mut **hits;
            // Lanes beyond the last place hold leftovers, whose results are not used.
            kernel_of_points(simd, &core.form, [x, y, z], *len, self.distance, kernel);
            let len = if self.known.is_some() { only_reached(places, kernel, *len) } else { *len };
            let (places, kernel) = (&places[..len], &kernel[..len]);
            add(self.places, places, kernel, share, sums);
            if self.known.is_some() {
                memory.push(*id, core.version, places, kernel);
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
