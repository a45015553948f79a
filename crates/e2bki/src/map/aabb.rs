//! Where kernels reach: axis-aligned boxes, and the supports of primitives themselves.

use super::large::is_small;
use super::seen::Seen;
use crate::kernel::Form;
use crate::keys::BlockKey;

/// An axis-aligned box in the world, metres.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Aabb {
    pub(crate) low: [f64; 3],
    pub(crate) high: [f64; 3],
}

impl Aabb {
    /// The box around a place.
    pub(crate) fn around(mean: [f64; 3], half_box: [f32; 3]) -> Self {
        let half = half_box.map(f64::from);
        Self { low: std::array::from_fn(|i| mean[i] - half[i]), high: std::array::from_fn(|i| mean[i] + half[i]) }
    }

    pub(crate) fn join(&mut self, other: &Self) {
        for i in 0..3 {
            self.low[i] = self.low[i].min(other.low[i]);
            self.high[i] = self.high[i].max(other.high[i]);
        }
    }

    pub(crate) fn meets(&self, low: [f64; 3], high: [f64; 3]) -> bool {
        (0..3).all(|i| self.low[i] <= high[i] && self.high[i] >= low[i])
    }
}

/// The part of the world that a primitive's kernel reaches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Support {
    pub(crate) mean: [f64; 3],
    pub(crate) form: Form,
}

impl Support {
    /// The support of a primitive, unless its kernel is zero everywhere.
    pub(crate) fn of(seen: &Seen) -> Option<Self> {
        (seen.form.reach > 0.0).then_some(Self { mean: seen.mean, form: seen.form })
    }

    /// The box outside of which the kernel is zero.
    pub(crate) fn bounds(&self) -> Aabb {
        Aabb::around(self.mean, self.form.half_box)
    }
}

/// Where views are out of date.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stale {
    pub(crate) boxes: Vec<Aabb>,
    /// Supports that fill little of their box.
    pub(crate) supports: Vec<Support>,
    /// Blocks in which a primitive was added, removed or altered, each once, with the box among `boxes` that is due to it.
    pub(crate) touched: Vec<(BlockKey, Option<Aabb>)>,
    /// Blocks in which a kernel alone changed, because of primitives around, likewise.
    pub(crate) reshaped: Vec<(BlockKey, Option<Aabb>)>,
}

/// Supports in which views are out of date because of one primitive.
#[derive(Debug, Clone, Default)]
pub(crate) struct StaleOfOne {
    /// Box of the small ones.
    pub(crate) small: Option<Aabb>,
    /// The others: a union of large boxes would be mostly empty.
    pub(crate) large: Vec<Support>,
}

impl StaleOfOne {
    pub(crate) fn of(support: Option<Support>) -> Self {
        Self::default().and(support)
    }

    /// Adds those of another.
    pub(crate) fn join(&mut self, other: Self) {
        self.large.extend(other.large);
        match (&mut self.small, other.small) {
            (Some(small), Some(more)) => small.join(&more),
            (small, more) => *small = small.or(more),
        }
    }

    pub(crate) fn and(mut self, support: Option<Support>) -> Self {
        if let Some(Support { mean, form }) = &support {
            self.cover(*mean, form);
        }
        self
    }

    /// Adds the support of a kernel, unless it is zero everywhere.
    pub(crate) fn cover(&mut self, mean: [f64; 3], form: &Form) {
        if form.reach <= 0.0 {
            return;
        }
        if !is_small(form.half_box) {
            self.large.push(Support { mean, form: *form });
            return;
        }
        let bounds = Aabb::around(mean, form.half_box);
        match &mut self.small {
            Some(small) => small.join(&bounds),
            None => self.small = Some(bounds),
        }
    }
}
