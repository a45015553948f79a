//! What views read of a primitive: derived from what it holds when somebody looks, and kept for a while.

use super::aabb::Support;
use super::chunk::{CHUNK, Chunk};
use super::recipe::Recipe;
use super::set::PrimitiveSet;
use super::slots::Core;
use super::surfaces::Surface;
use crate::kernel::Form;
use crate::prefetch::prefetch;

/// A primitive as views read it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[repr(C)]
pub(crate) struct Seen {
    /// The order in which kernels are summed: the age or, in a map that is a sum, the cube and class.
    pub(crate) order: u64,
    pub(crate) mean: [f64; 3],
    pub(crate) form: Form,
    /// How much it counts in the posterior.
    pub(crate) votes: f32,
    pub(crate) uncertainty: f32,
    /// Bit c of every class with p_c not clearly below 1/C; all bits if there are more than 64 classes.
    pub(crate) plausible: u64,
    /// Number of the change that gave it its form; 0 if that is not known.
    pub(crate) version: u32,
    pub(crate) label: u16,
}

impl Seen {
    /// Of a judged primitive with its probabilities.
    pub(super) fn of(core: &Core, form: Form, probability: &[f32], recipe: &Recipe, cubes: Option<f64>) -> Self {
        Self {
            order: cubes.map_or(core.id, |side| core.order_in(side)),
            mean: core.mean,
            form,
            votes: recipe.votes(core),
            uncertainty: core.uncertainty,
            plausible: plausible(probability),
            version: 0,
            label: core.label,
        }
    }
}

/// Classes that can be the most likely one where this primitive reaches: the winner of a mixture has at least 1/C of
/// it, so a class below 1/C in every part cannot win.
fn plausible(probability: &[f32]) -> u64 {
    if probability.len() > 64 {
        return u64::MAX;
    }
    let least = 0.99 / probability.len() as f32;
    probability.iter().enumerate().fold(0, |bits, (class, p)| bits | u64::from(*p >= least) << class)
}

/// All primitives of a chunk, with a row of probabilities each.
#[derive(Debug, Clone)]
pub(super) struct SeenChunk {
    seen: Vec<Seen>,
    probability: Vec<f32>,
    /// Number of the look that last derived something.
    pub(super) look: u32,
}

impl SeenChunk {
    pub(super) fn new(classes: usize, look: u32) -> Self {
        Self { seen: vec![Seen::default(); CHUNK], probability: vec![0.0; CHUNK * classes], look }
    }

    pub(super) fn get(&self, i: usize) -> &Seen {
        &self.seen[i]
    }

    /// Asks for the memory of what views read of a primitive.
    pub(super) fn prefetch(&self, i: usize) {
        prefetch((self.seen[i].order, self.seen[i].label));
    }

    /// Takes what is new of a primitive in a look.
    pub(super) fn give(&mut self, i: usize, seen: &Seen, probability: Option<&[f32]>, look: u32) {
        self.seen[i] = *seen;
        self.look = look;
        if let Some(row) = probability {
            self.probability[i * row.len()..(i + 1) * row.len()].copy_from_slice(row);
        }
    }

    pub(super) fn probability(&self, i: usize, classes: usize) -> &[f32] {
        &self.probability[i * classes..(i + 1) * classes]
    }

    pub(super) fn set(&mut self, i: usize, seen: Seen, probability: &[f32]) {
        self.seen[i] = seen;
        self.probability[i * probability.len()..(i + 1) * probability.len()].copy_from_slice(probability);
    }

    pub(super) fn byte_size(&self) -> usize {
        self.seen.capacity() * size_of::<Seen>() + self.probability.capacity() * size_of::<f32>()
    }
}

/// How a set derives what views read.
pub(super) struct Deriving<'a, S> {
    pub(super) recipe: &'a Recipe,
    pub(super) cubes: Option<f64>,
    pub(super) classes: usize,
    /// The surface that a primitive is a part of.
    pub(super) surface: S,
}

impl<S: Fn(&Core) -> Surface> Deriving<'_, S> {
    /// Derives what views read of a primitive. `log_evidence` is a buffer, and `probability` becomes the opinion.
    pub(super) fn one(&self, chunk: &Chunk, i: usize, log_evidence: &mut Vec<i64>, probability: &mut Vec<f32>) -> Seen {
        self.of_core(chunk.core(i), chunk, i, log_evidence, probability)
    }

    /// The same of one that is unpacked.
    pub(super) fn of_core(
        &self,
        mut core: Core,
        chunk: &Chunk,
        i: usize,
        log_evidence: &mut Vec<i64>,
        probability: &mut Vec<f32>,
    ) -> Seen {
        log_evidence.resize(self.classes, 0);
        probability.resize(self.classes, 0.0);
        chunk.log_evidence(i, log_evidence);
        let surface = (self.surface)(&core);
        core.judge(log_evidence, self.recipe.correlation, probability);
        let form = self.recipe.form_on(&core, surface);
        Seen::of(&core, form, probability, self.recipe, self.cubes)
    }

    /// Where views know the kernel of a primitive, if they do: where they wait, only of one that has not changed.
    pub(super) fn support(&self, chunk: &Chunk, i: usize, waits: bool) -> Option<Support> {
        if waits && chunk.heads[i].changed() {
            return None;
        }
        match chunk.seen.get() {
            Some(seen) => Support::of(seen.get(i)),
            None => Support::of(&self.one(chunk, i, &mut Vec::new(), &mut Vec::new())),
        }
    }

    /// What views read of every primitive of a chunk that is alive and has not changed.
    pub(super) fn all(&self, chunk: &Chunk, look: u32, version: u32) -> SeenChunk {
        let mut all = SeenChunk::new(self.classes, look);
        let (mut log_evidence, mut probability) = (Vec::new(), Vec::new());
        for (i, _) in chunk.heads.iter().enumerate().filter(|(_, head)| head.alive() && !head.changed()) {
            let seen = self.one(chunk, i, &mut log_evidence, &mut probability);
            all.set(i, Seen { version, ..seen }, &probability);
        }
        all
    }
}

impl PrimitiveSet {
    /// How the surface runs that a primitive is a part of.
    pub(crate) fn surface_of(&self, slot: u32) -> Surface {
        self.surface_at(&self.core(slot))
    }

    /// The same of an unpacked one.
    pub(crate) fn surface_at(&self, core: &Core) -> Surface {
        self.surfaces.at(core.mean, core.label)
    }

    /// A primitive with its uncertainty, which is looked up where it was derived already.
    pub(crate) fn with_opinion(&self, slot: u32) -> Core {
        match self.known(slot) {
            Some((seen, _)) => Core { uncertainty: seen.uncertainty, ..self.core(slot) },
            None => self.judged(slot).0,
        }
    }

    fn deriving(&self) -> Deriving<'_, impl Fn(&Core) -> Surface> {
        self.deriving_on(|core| self.surface_at(core))
    }

    /// The same with surfaces that somebody else knows.
    pub(super) fn deriving_on<S: Fn(&Core) -> Surface>(&self, surface: S) -> Deriving<'_, S> {
        Deriving { recipe: &self.recipe, cubes: self.cubes(), classes: self.classes(), surface }
    }

    /// What views read of a chunk, under a version.
    pub(super) fn seen_of(&self, chunk: &Chunk, version: u32) -> Box<SeenChunk> {
        Box::new(self.deriving().all(chunk, self.looks, version))
    }

    /// What views read of a chunk's primitives: derived by whoever looks first.
    fn seen_chunk(&self, slot: u32) -> (&SeenChunk, usize) {
        let (chunk, i) = self.slots.chunk_of(slot);
        (chunk.seen.get_or_init(|| self.seen_of(chunk, 0)), i)
    }

    /// A primitive as views read it.
    pub(crate) fn seen(&self, slot: u32) -> &Seen {
        let (chunk, i) = self.seen_chunk(slot);
        chunk.get(i)
    }

    /// The same with its probabilities.
    #[inline(always)]
    pub(crate) fn seen_and_probability(&self, slot: u32) -> (&Seen, &[f32]) {
        let (chunk, i) = self.seen_chunk(slot);
        (chunk.get(i), chunk.probability(i, self.classes()))
    }

    /// Asks for the memory of what views read of a primitive.
    pub(crate) fn prefetch_seen(&self, slot: u32) {
        let seen = self.seen(slot);
        prefetch((seen.order, seen.plausible));
    }

    /// Its probabilities.
    pub(crate) fn probability(&self, slot: u32) -> &[f32] {
        let (chunk, i) = self.seen_chunk(slot);
        chunk.probability(i, self.classes())
    }

    /// Asks for the memory of what a primitive holds and of its probabilities.
    pub(crate) fn prefetch(&self, slot: u32) {
        let (chunk, i) = self.slots.chunk_of(slot);
        chunk.prefetch(i);
        let probability = self.probability(slot);
        prefetch((probability.first().copied(), probability.last().copied()));
    }

    /// A primitive as views read it with its probabilities, if that was derived already.
    pub(crate) fn known(&self, slot: u32) -> Option<(&Seen, &[f32])> {
        let (chunk, i) = self.slots.chunk_of(slot);
        let seen = chunk.seen.get().filter(|_| !chunk.heads[i].changed())?;
        Some((seen.get(i), seen.probability(i, self.classes())))
    }

    /// What views would read of a primitive as it is now, with its probabilities.
    pub(super) fn derived(&self, slot: u32) -> (Seen, Vec<f32>) {
        let ((chunk, i), mut probability) = (self.slots.chunk_of(slot), Vec::new());
        (self.deriving().one(chunk, i, &mut Vec::new(), &mut probability), probability)
    }

    /// Where views know the kernel of a primitive, if they do.
    pub(super) fn support_of(&self, slot: u32) -> Option<Support> {
        let (chunk, i) = self.slots.chunk_of(slot);
        self.deriving().support(chunk, i, self.defers())
    }
}
