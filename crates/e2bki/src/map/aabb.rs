//! Axis-aligned boxes.

use super::slots::Core;

/// An axis-aligned box in the world, metres.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Aabb {
    pub(crate) low: [f64; 3],
    pub(crate) high: [f64; 3],
}

impl Aabb {
    /// The box outside of which a primitive's kernel is zero.
    pub(crate) fn of_support(core: &Core) -> Self {
        let half = core.form.half_box.map(f64::from);
        Self {
            low: std::array::from_fn(|i| core.mean[i] - half[i]),
            high: std::array::from_fn(|i| core.mean[i] + half[i]),
        }
    }

    /// The same, for a primitive whose kernel is not zero everywhere.
    pub(crate) fn of_reaching(core: &Core) -> Option<Self> {
        (core.form.reach > 0.0).then(|| Self::of_support(core))
    }

    pub(crate) fn joined(mut self, other: &Self) -> Self {
        self.join(other);
        self
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
