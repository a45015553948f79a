//! A belief: the Dirichlet posterior at a place, with its uncertainty decomposed.
//!
//! α = α0 + Σ_j k_j p_j, S = Σα; u_sem = Σ k_j u_j / Σ k_j; u_spa = (C−1)/(C²(S+1)); u = u_sem + u_spa, at most 1.

use rayon::prelude::*;

use crate::config::{Config, Doubt, Sparsity};
use crate::free::{Existence, Forgetting, Known, Seen, State, Tally};
use crate::maths::{argmax, exp, exp_within, ln, ln_of_normal};

/// What all beliefs of a map share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Terms {
    pub(crate) classes: usize,
    pub(crate) prior: f64,
    pub(crate) sparsity: Sparsity,
    pub(crate) doubt: Doubt,
    pub(crate) agreement: f64,
}

impl Terms {
    pub(crate) fn new(classes: usize, config: &Config) -> Self {
        Self {
            classes,
            prior: config.kernel.prior,
            sparsity: config.views.sparsity,
            doubt: config.views.doubt,
            agreement: config.views.agreement,
        }
    }

    /// Values kept per place: Σ k p of every class, Σ k, Σ k u.
    pub(crate) fn stride(&self) -> usize {
        self.classes + 2
    }
}

/// The posterior at one place, without the values of the other classes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Belief {
    terms: Terms,
    label: u16,
    /// Σ k p of the label.
    label_evidence: f32,
    /// Σ k.
    evidence: f32,
    /// Σ k u.
    weighted_uncertainty: f32,
}

impl Belief {
    pub(crate) fn of_sums(terms: Terms, sums: &[f32]) -> Self {
        let label = argmax(&sums[..terms.classes]);
        Self {
            terms,
            label: label as u16,
            label_evidence: sums[label],
            evidence: sums[terms.classes],
            weighted_uncertainty: sums[terms.classes + 1],
        }
    }

    pub(crate) fn of_parts(
        terms: Terms,
        label: u16,
        [label_evidence, evidence, weighted_uncertainty]: [f32; 3],
    ) -> Self {
        Self { terms, label, label_evidence, evidence, weighted_uncertainty }
    }

    /// Whether any primitive reaches here.
    pub fn observed(&self) -> bool {
        self.evidence > 0.0
    }

    /// Most likely class, or nothing where nothing was observed; the lowest id wins ties (paper: ψ).
    pub fn label(&self) -> Option<usize> {
        self.observed().then_some(usize::from(self.label))
    }

    /// Kernel mass Σ k of the primitives that reach here.
    pub fn evidence(&self) -> f64 {
        f64::from(self.evidence)
    }

    /// Sum of the Dirichlet parameters (paper: S).
    pub fn strength(&self) -> f64 {
        self.terms.prior * self.terms.classes as f64 + f64::from(self.evidence)
    }

    /// Expected probability of the most likely class.
    pub fn confidence(&self) -> f64 {
        (self.terms.prior + f64::from(self.label_evidence)) / self.strength()
    }

    /// Dirichlet variance of the most likely class: p(1−p)/(S+1).
    pub fn variance(&self) -> f64 {
        let p = self.confidence();
        p * (1.0 - p).max(0.0) / (self.strength() + 1.0)
    }

    /// Semantic uncertainty: the kernel-weighted mean of the primitives' u or, with [`Doubt::Conflict`], of the
    /// probability that the label is wrong; 1 where nothing was observed.
    pub fn semantic_uncertainty(&self) -> f64 {
        if !self.observed() {
            return 1.0;
        }
        let ignorance = f64::from(self.weighted_uncertainty) / f64::from(self.evidence);
        match self.terms.doubt {
            Doubt::Ignorance => ignorance,
            // The odds of the label, as so many independent witnesses of the mean opinion would have them.
            Doubt::Conflict => {
                let expected = self.expected();
                let (yes, no) = (power(expected, self.terms.agreement), power(1.0 - expected, self.terms.agreement));
                no / (yes + no)
            }
        }
    }

    /// The same read with another `agreement`: all primitives here are worth so many independent witnesses.
    #[must_use]
    pub fn read_with(mut self, agreement: f64) -> Self {
        self.terms.agreement = agreement;
        self
    }

    /// Evidence sparsity as the paper prints it: (C−1)/(C²(S+1)).
    pub fn sparsity_literal(&self) -> f64 {
        let classes = self.terms.classes as f64;
        (classes - 1.0) / (classes * classes * (self.strength() + 1.0))
    }

    /// Evidence sparsity scaled to reach 1 without evidence: 1/(S+1).
    pub fn sparsity_rescaled(&self) -> f64 {
        1.0 / (self.strength() + 1.0)
    }

    /// Evidence sparsity in the configured form.
    pub fn spatial_uncertainty(&self) -> f64 {
        match self.terms.sparsity {
            Sparsity::Literal => self.sparsity_literal(),
            Sparsity::Rescaled => self.sparsity_rescaled(),
            Sparsity::None => 0.0,
        }
    }

    /// Total uncertainty u_sem + u_spa, at most 1; 1 where nothing was observed. [`uncertainties`] is faster for many.
    pub fn uncertainty(&self) -> f64 {
        self.total(self.semantic_uncertainty())
    }

    fn total(&self, semantic: f64) -> f64 {
        if self.observed() { (semantic + self.spatial_uncertainty()).min(1.0) } else { 1.0 }
    }

    /// The label's share of the kernel mass.
    fn expected(&self) -> f64 {
        (f64::from(self.label_evidence) / f64::from(self.evidence)).clamp(0.0, 1.0)
    }
}

/// A power of a number from 0 to 1, the same on every machine.
fn power(base: f64, exponent: f64) -> f64 {
    if base > 0.0 { exp(exponent * ln(base)) } else { 0.0 }
}

/// The same to the bit for an exponent that is not negative, without a branch.
#[inline(always)]
fn power_in_a_loop(base: f64, exponent: f64) -> f64 {
    let x = exponent * ln_of_normal(base.max(f64::MIN_POSITIVE));
    let power = exp_within(x.max(-745.0));
    if base > 0.0 && x >= -745.0 { power } else { 0.0 }
}

/// [`Belief::semantic_uncertainty`] of many beliefs of one map: the same numbers in a third of the time.
pub fn semantic_uncertainties(beliefs: &[Belief]) -> Vec<f64> {
    let Some(Terms { doubt, agreement, .. }) = beliefs.first().map(|belief| belief.terms) else { return Vec::new() };
    let same = agreement >= 0.0 && beliefs.iter().all(|belief| belief.terms.agreement == agreement);
    if doubt != Doubt::Conflict || !same {
        return beliefs.iter().map(Belief::semantic_uncertainty).collect();
    }
    let expected = |belief: &Belief| if belief.observed() { belief.expected() } else { 0.0 };
    let mut semantic: Vec<f64> = beliefs.iter().map(expected).collect();
    pulp::Arch::new().dispatch(|| {
        for value in &mut semantic {
            let (yes, no) = (power_in_a_loop(*value, agreement), power_in_a_loop(1.0 - *value, agreement));
            *value = no / (yes + no);
        }
    });
    let unknown = semantic.iter_mut().zip(beliefs).filter(|(_, belief)| !belief.observed());
    unknown.for_each(|(value, _)| *value = 1.0);
    semantic
}

/// [`Belief::uncertainty`] of many beliefs of one map, as fast.
pub fn uncertainties(beliefs: &[Belief]) -> Vec<f64> {
    let mut values = semantic_uncertainties(beliefs);
    values.iter_mut().zip(beliefs).for_each(|(value, belief)| *value = belief.total(*value));
    values
}

/// Beliefs at many places, with every class.
#[derive(Debug, Clone, PartialEq)]
pub struct Beliefs {
    terms: Terms,
    sums: Vec<f32>,
    /// What is known of free space at every place; empty if nothing is.
    known: Vec<Known>,
}

impl Beliefs {
    pub(crate) fn of_sums(terms: Terms, sums: Vec<f32>) -> Self {
        Self { terms, sums, known: Vec::new() }
    }

    /// Beliefs that say nothing of places known to be free.
    pub(crate) fn respecting(mut self, existence: &Existence<'_>, points: &[[f64; 3]]) -> Self {
        let stride = self.terms.stride();
        self.known = points
            .par_iter()
            .zip(self.sums.par_chunks_exact_mut(stride))
            .with_min_len(1024)
            .map(|(point, row)| {
                let known = existence.known(*point, Belief::of_sums(self.terms, row).label());
                if known.state() == State::Free {
                    row.fill(0.0);
                }
                known
            })
            .collect();
        self
    }

    /// With what is known of free space at every place.
    pub(crate) fn knowing(self, known: Vec<Known>) -> Self {
        Self { known, ..self }
    }

    /// The places that are marked.
    pub(crate) fn only(mut self, kept: &[bool]) -> Self {
        let stride = self.terms.stride();
        let rows = self.sums.chunks_exact(stride).zip(kept).filter(|(_, kept)| **kept);
        self.sums = rows.flat_map(|(row, _)| row.iter().copied()).collect();
        let mut at = kept.iter();
        self.known.retain(|_| at.next().copied().unwrap_or(false));
        self
    }

    /// Whether a place is free, occupied or unknown; unknown everywhere in a map without free space.
    pub fn state(&self, place: usize) -> State {
        self.known.get(place).map_or(State::Unknown, Known::state)
    }

    /// Existence κH / (κH + P) at a place: from 0, always seen through, to 1, always hit; nothing where nothing is known.
    pub fn existence(&self, place: usize) -> Option<f64> {
        self.known.get(place).and_then(|known| known.tally.existence(f64::from(known.kappa)))
    }

    /// Frames that had a return in the cube of a place, and frames that saw through it.
    pub fn tally(&self, place: usize) -> Tally {
        self.known.get(place).map_or(Tally::default(), |known| known.tally)
    }

    /// When the block of 2 m around a place was first and last seen; nothing where no frame with a time saw it.
    pub fn seen(&self, place: usize) -> Option<Seen> {
        self.known.get(place).and_then(|known| known.seen)
    }

    /// State and existence with what was not seen for long forgotten: a way of reading, nothing else changes. Existence
    /// is nothing where nothing is known.
    pub fn as_of(&self, place: usize, forgetting: &Forgetting) -> (State, Option<f64>) {
        let (class, seen) = (self.get(place).label(), self.seen(place));
        let existence = self.existence(place).map(|existence| forgetting.existence(existence, class, seen));
        (forgetting.state(self.state(place), class, seen), existence)
    }

    /// Beliefs of another method: for every place a row of Σ k p of every class, Σ k and Σ k u (all zero where nothing
    /// was observed). What is left of an incomplete row is dropped.
    pub fn from_sums(classes: usize, prior: f64, sparsity: Sparsity, mut sums: Vec<f32>) -> Self {
        let terms = Terms { classes, prior, sparsity, doubt: Doubt::Ignorance, agreement: 1.0 };
        sums.truncate(sums.len() / terms.stride() * terms.stride());
        Self { terms, sums, known: Vec::new() }
    }

    /// Number of places.
    pub fn len(&self) -> usize {
        self.sums.len() / self.terms.stride()
    }

    /// Whether there are no places.
    pub fn is_empty(&self) -> bool {
        self.sums.is_empty()
    }

    /// Number of classes.
    pub fn classes(&self) -> usize {
        self.terms.classes
    }

    fn row(&self, place: usize) -> &[f32] {
        &self.sums[place * self.terms.stride()..][..self.terms.stride()]
    }

    /// The belief at a place.
    pub fn get(&self, place: usize) -> Belief {
        Belief::of_sums(self.terms, self.row(place))
    }

    /// Dirichlet parameters α of every class at a place.
    pub fn alpha(&self, place: usize) -> impl ExactSizeIterator<Item = f64> {
        let prior = self.terms.prior;
        self.row(place)[..self.terms.classes].iter().map(move |v| prior + f64::from(*v))
    }

    /// Expected probability α/S of every class at a place.
    pub fn expectation(&self, place: usize) -> impl ExactSizeIterator<Item = f64> {
        let strength = self.get(place).strength();
        self.alpha(place).map(move |alpha| alpha / strength)
    }

    /// All beliefs, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Belief> {
        self.sums.chunks_exact(self.terms.stride()).map(|row| Belief::of_sums(self.terms, row))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn many_at_once_are_each_by_itself(
            sums in prop::collection::vec((0.0_f32..1.0, prop_oneof![Just(0.0_f32), 1e-30..1e-20_f32, 1e-6..1e6_f32], 0.0_f32..1.0), 0..20),
            agreement in prop_oneof![Just(0.0), Just(1.0), 0.01..50.0, Just(1e300), Just(-0.5)],
            share in prop_oneof![Just(0.0_f32), Just(1.0), 0.0..1.0_f32, 1e-38..1e-30_f32],
        ) {
            let terms = Terms { agreement, ..Terms::new(7, &Config::default()) };
            let belief = |(part, evidence, u): &(f32, f32, f32)| {
                Belief::of_parts(terms, 3, [part * share * evidence, *evidence, u * evidence])
            };
            let beliefs: Vec<Belief> = sums.iter().map(belief).collect();
            let each: Vec<u64> = beliefs.iter().map(|belief| belief.uncertainty().to_bits()).collect();
            let many: Vec<u64> = uncertainties(&beliefs).iter().map(|u| u.to_bits()).collect();
            prop_assert_eq!(each, many);
            let each: Vec<u64> = beliefs.iter().map(|belief| belief.semantic_uncertainty().to_bits()).collect();
            let many: Vec<u64> = semantic_uncertainties(&beliefs).iter().map(|u| u.to_bits()).collect();
            prop_assert_eq!(each, many);
        }
    }
}
