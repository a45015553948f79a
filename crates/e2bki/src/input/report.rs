//! What became of every point of a frame: received = kept + dropped, always.

/// Why points were dropped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Dropped {
    /// A coordinate is NaN or infinite.
    pub non_finite_point: usize,
    /// All three coordinates are exactly zero: how many sensors store "no return".
    pub no_return: usize,
    /// Nearer than `min_range`.
    pub too_near: usize,
    /// Farther than `max_range`, or outside the world's limits.
    pub too_far: usize,
    /// A semantic value is NaN or infinite.
    pub non_finite_semantics: usize,
    /// The semantic values cannot be made an opinion: probabilities without a positive sum.
    pub improper_opinion: usize,
    /// The label is not one of the classes.
    pub unlabelled: usize,
    /// No belief in any class (u = 1): the point says nothing.
    pub no_evidence: usize,
}

impl Dropped {
    /// All drops together.
    pub fn total(&self) -> usize {
        self.by_reason().iter().map(|(_, count)| count).sum()
    }

    /// Reasons with their counts, in a fixed order.
    pub fn by_reason(&self) -> [(&'static str, usize); 8] {
        [
            ("non-finite point", self.non_finite_point),
            ("no return", self.no_return),
            ("too near", self.too_near),
            ("too far", self.too_far),
            ("non-finite semantics", self.non_finite_semantics),
            ("improper opinion", self.improper_opinion),
            ("unlabelled", self.unlabelled),
            ("no evidence", self.no_evidence),
        ]
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.non_finite_point += other.non_finite_point;
        self.no_return += other.no_return;
        self.too_near += other.too_near;
        self.too_far += other.too_far;
        self.non_finite_semantics += other.non_finite_semantics;
        self.improper_opinion += other.improper_opinion;
        self.unlabelled += other.unlabelled;
        self.no_evidence += other.no_evidence;
    }
}

/// Account of one inserted frame.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FrameReport {
    /// Points given.
    pub received: usize,
    /// Points used.
    pub kept: usize,
    /// Points not used, by reason.
    pub dropped: Dropped,
    /// Points used after their opinion was made proper (negative evidence to zero, probabilities to sum 1, …).
    pub repaired: usize,
    /// Primitives made of the frame's points.
    pub clusters: usize,
    /// Primitives stopped by the uncertainty gate.
    pub gated: usize,
    /// Primitives added to one of the same class in the same cube.
    pub folded: usize,
    /// Primitives that were not added because the map has as much there as can be summed exactly: 2³¹ points of a primitive
    /// or 2³⁰ of log-evidence, as after weeks of standing still. What the map says there stays as it is.
    pub saturated: usize,
    /// Primitives removed because a nearer one contradicts them.
    pub pruned: usize,
    /// Primitives absorbed by an agreeing neighbour.
    pub merged: usize,
    /// Primitives in the map afterwards.
    pub primitives: usize,
    /// Voxels of the live view that were computed anew.
    pub voxels_updated: usize,
    /// Kernel values computed for them.
    pub kernel_values: usize,
    /// What free space made of the frame, if `free_space.enabled`.
    pub free_space: Option<crate::free::FreeSpaceReport>,
    /// Time spent, by stage.
    pub timings: crate::timings::Timings,
}
