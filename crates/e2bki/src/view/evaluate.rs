//! The posterior's sums over places near one another: one primitive after the other by ascending id, eight places at
//! a time. All views come through here, so that they cannot disagree.

use super::belief::Terms;
use crate::config::Distance;
use crate::kernel::{LANES, kernel_of_lanes, support_of};
use crate::map::{Core, PrimitiveSet};

/// Places near one another at which a posterior is wanted.
pub(crate) trait Places {
    /// Offers the places inside a primitive's support box.
    fn within(&self, core: &Core, hits: &mut Hits);
}

/// Most places evaluated together.
pub(crate) const MOST_PLACES: usize = 512;

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
    fn clear(&mut self, core: &Core, distance: Distance) {
        self.len = 0;
        let radius = core.form.semi_axes[2] + support_of(core.form.reach, distance);
        self.limit = radius * radius * (1.0 + 1e-5);
    }

    /// Takes a place if it is `wanted` and the primitive may reach it. Written without branches: most are taken.
    #[inline]
    pub(crate) fn offer(&mut self, [x, y, z]: [f32; 3], place: u16, wanted: bool) {
        let i = self.len.min(MOST_PLACES);
        self.offsets[0][i] = x;
        self.offsets[1][i] = y;
        self.offsets[2][i] = z;
        self.places[i] = place;
        self.len = i + usize::from(wanted & (x * x + y * y + z * z <= self.limit));
    }
}

/// Reusable buffers of one thread.
#[derive(Default)]
pub(crate) struct Scratch {
    /// Primitives in reach: (id, slot).
    pub(crate) found: Vec<(u64, u32)>,
    /// Sums of every place, `stride` each.
    pub(crate) sums: Vec<f32>,
    hits: Hits,
}

impl Scratch {
    pub(crate) fn clear_sums(&mut self, places: usize, terms: Terms) {
        self.sums.clear();
        self.sums.resize(places * terms.stride(), 0.0);
    }

    /// Adds the kernel of every primitive found, at every place it reaches.
    pub(crate) fn add_found(&mut self, set: &PrimitiveSet, terms: Terms, distance: Distance, places: &impl Places) {
        let Self { found, sums, hits } = self;
        for (_, slot) in &*found {
            let core = set.core(*slot);
            hits.clear(core, distance);
            places.within(core, hits);
            add_primitive(core, set.probability(*slot), hits, distance, sums, terms.stride());
        }
    }
}

/// Adds one primitive's kernel at the places taken.
fn add_primitive(core: &Core, probability: &[f32], hits: &Hits, distance: Distance, sums: &mut [f32], stride: usize) {
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
