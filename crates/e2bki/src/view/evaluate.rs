//! The posterior's sums over places near one another: one primitive after the other by ascending id, eight places at
//! a time. All views come through here, so that they cannot disagree.

use wide::f32x8;

use super::belief::Terms;
use crate::config::Distance;
use crate::kernel::{LANES, kernel_of_lanes, support_of};
use crate::map::{Core, PrimitiveSet};

/// Places near one another at which a posterior is wanted.
pub(crate) trait Places {
    /// Offers the places inside a primitive's support box.
    fn within(&self, core: &Core, hits: &mut Hits);
}

/// Places that one primitive may reach: offsets from its mean, and numbers.
#[derive(Default)]
pub(crate) struct Hits {
    x: Vec<f32>,
    y: Vec<f32>,
    z: Vec<f32>,
    place: Vec<u32>,
    /// Square of the distance from the mean beyond which the kernel is surely zero.
    limit: f32,
}

impl Hits {
    fn clear(&mut self, core: &Core, distance: Distance) {
        self.x.clear();
        self.y.clear();
        self.z.clear();
        self.place.clear();
        let radius = core.form.semi_axes[2] + support_of(core.form.reach, distance);
        self.limit = radius * radius * (1.0 + 1e-5);
    }

    #[inline]
    pub(crate) fn offer(&mut self, [x, y, z]: [f32; 3], place: u32) {
        if x * x + y * y + z * z <= self.limit {
            self.x.push(x);
            self.y.push(y);
            self.z.push(z);
            self.place.push(place);
        }
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

/// Adds one primitive's kernel at the offered places.
fn add_primitive(core: &Core, probability: &[f32], hits: &Hits, distance: Distance, sums: &mut [f32], stride: usize) {
    let places = &hits.place;
    for start in (0..places.len()).step_by(LANES) {
        let lanes = LANES.min(places.len() - start);
        let load = |values: &[f32]| {
            let mut lane = [0.0; LANES];
            lane[..lanes].copy_from_slice(&values[start..start + lanes]);
            f32x8::from(lane)
        };
        let kernel = kernel_of_lanes(&core.form, [load(&hits.x), load(&hits.y), load(&hits.z)], distance).to_array();
        for (k, place) in kernel.iter().zip(&places[start..start + lanes]) {
            if *k > 0.0 {
                let row = &mut sums[*place as usize * stride..][..stride];
                for (sum, p) in row.iter_mut().zip(probability) {
                    *sum += k * p;
                }
                row[stride - 2] += k;
                row[stride - 1] += k * core.uncertainty;
            }
        }
    }
}
