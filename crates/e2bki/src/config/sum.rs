//! Whether a map is a sum of what its frames add.

use super::{Clustering, Config, Gated, Posterior};

impl Config {
    /// Why a map of these parameters is not a sum of what its frames add; nothing if it is one. What a sum is made of
    /// can be added in any order, taken out again, and moved.
    pub fn not_a_sum(&self) -> Option<&'static str> {
        let reasons = [
            (self.clustering.method != Clustering::Cells, "`clustering.method` is not \"cells\""),
            (!self.clustering.merge_same_cell, "`clustering.merge_same_cell` is false"),
            (self.fusion.gated != Gated::Drop, "`fusion.gated` is not \"drop\""),
            (self.refinement.prune, "`refinement.prune` is true"),
            (self.refinement.merge, "`refinement.merge` is true"),
            (self.views.posterior != Posterior::Refined, "`views.posterior` is not \"refined\""),
        ];
        reasons.into_iter().find(|(holds, _)| *holds).map(|(_, reason)| reason)
    }

    /// Side of the cubes that tell the primitives of a sum apart, metres; nothing if the map is not a sum.
    pub(crate) fn cubes_of_sum(&self) -> Option<f64> {
        self.not_a_sum().is_none().then_some(self.clustering.cell_size)
    }
}
