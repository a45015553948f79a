//! Semantics of points from an image: where they are in it, and what a network says there. Recordings and running robots take
//! the same steps, so that they make the same map.

use std::sync::Arc;

use rayon::prelude::*;

use super::fold::Fold;
use super::frame::{OwnedSemantics, ReadCounts};
use super::options::{ImageSemantics, ValueKind};
use crate::camera::{Camera, Projected, Sampler, visible};
use crate::classes::Remap;
use crate::parse::Cells;

/// Points that a thread looks up at a time.
const POINTS_AT_ONCE: usize = 256;
/// Values that are looked up before they are folded into classes.
const VALUES_AT_ONCE: usize = 1 << 20;

/// Places of points in the image, nothing for those outside of it or hidden; how many are outside, and how many are hidden.
pub(super) fn places(
    points: &[[f32; 3]],
    camera: &Camera,
    occlusion_window: Option<usize>,
) -> (Vec<Option<Projected>>, usize, usize) {
    let mut places: Vec<Option<Projected>> = points.iter().map(|p| camera.project(p.map(f64::from))).collect();
    let outside = places.iter().filter(|place| place.is_none()).count();
    let Some(window) = occlusion_window else { return (places, outside, 0) };
    let seen = visible(&places, camera.size, window);
    let hidden = places.len() - outside - seen.iter().filter(|seen| **seen).count();
    for (place, seen) in places.iter_mut().zip(seen) {
        *place = place.filter(|_| seen);
    }
    (places, outside, hidden)
}

/// What each channel of values means, and how many classes there are.
#[derive(Clone, Copy)]
pub(super) struct Meaning<'a> {
    pub(super) kind: ValueKind,
    pub(super) remap: &'a Remap,
    pub(super) classes: usize,
}

/// Evidence of cells that hold its logarithm.
#[derive(Debug)]
struct FromLogarithms<'a>(&'a dyn Cells);

impl Cells for FromLogarithms<'_> {
    fn shape(&self) -> [usize; 3] {
        self.0.shape()
    }

    fn read(&self, column: usize, row: usize, out: &mut [f32]) {
        self.0.read(column, row, out);
        for value in out {
            *value = e2bki::maths::exp(f64::from(value.clamp(-10.0, 10.0))) as f32;
        }
    }
}

/// Values of pixels at places of an image of some size, and which of them are of a class.
pub(super) fn values_at(
    cells: &dyn Cells,
    meaning: &Meaning<'_>,
    size: [usize; 2],
    places: &[Option<Projected>],
) -> (OwnedSemantics, Vec<bool>) {
    // Between pixels it is the evidence that is interpolated, not its logarithm.
    if meaning.kind == ValueKind::LogEvidence {
        let meaning = Meaning { kind: ValueKind::Evidence, ..*meaning };
        return values_at(&FromLogarithms(cells), &meaning, size, places);
    }
    let [channels, ..] = cells.shape();
    let sampler = Sampler::new(cells, size);
    // Looking up waits for memory: as many threads as there are.
    let look_up = |(rows, places): (&mut [f32], &[Option<Projected>])| {
        let mut one = vec![0.0; channels];
        for (row, place) in rows.chunks_exact_mut(channels).zip(places) {
            if let Some(place) = place {
                sampler.at(place.position, &mut one, row);
            }
        }
    };
    let at_once = (VALUES_AT_ONCE / channels).max(1);
    let mut rows = vec![0.0; channels * at_once.min(places.len())];
    let mut fold = Fold::new(meaning.kind, channels, meaning.remap, meaning.classes, places.len());
    let mut keep = Vec::with_capacity(places.len());
    for places in places.chunks(at_once) {
        rows.par_chunks_mut(channels * POINTS_AT_ONCE).zip(places.par_chunks(POINTS_AT_ONCE)).for_each(look_up);
        let rows = rows.chunks_exact(channels);
        keep.extend(places.iter().zip(rows).map(|(place, row)| place.is_some() && fold.push(row)));
    }
    (fold.finish(), keep)
}

/// A network that looks at the pictures of a camera.
#[derive(Debug, Clone, Copy)]
pub struct ImageLook<'a> {
    /// The network.
    pub network: &'a dyn ImageSemantics,
    /// What its channels mean.
    pub remap: &'a Remap,
    /// Number of classes.
    pub classes: usize,
    /// The camera.
    pub camera: &'a Camera,
    /// Points that nearer ones hide within so many pixels are left out.
    pub occlusion_window: Option<usize>,
}

impl ImageLook<'_> {
    /// What the network says of a picture, which must be of the camera's size.
    pub fn look(&self, picture: &image::RgbImage) -> Result<Arc<dyn Cells>, String> {
        let ([w, h], [width, height]) = ([picture.width() as usize, picture.height() as usize], self.camera.size);
        if [w, h] != self.camera.size {
            return Err(format!("the image is {w}×{h}, but the calibration is for {width}×{height}"));
        }
        self.network.look(picture)
    }

    /// The points of which the network says something by its values at their places, and what it says. The rest is counted.
    pub fn lift(
        &self,
        cells: &dyn Cells,
        points: &[[f32; 3]],
        counts: &mut ReadCounts,
    ) -> (Vec<[f32; 3]>, OwnedSemantics) {
        let (places, outside, hidden) = places(points, self.camera, self.occlusion_window);
        counts.outside_image += outside;
        counts.occluded += hidden;
        let (seen, places): (Vec<[f32; 3]>, Vec<Option<Projected>>) =
            points.iter().zip(places).filter(|(_, place)| place.is_some()).unzip();
        let meaning = Meaning { kind: self.network.kind(), remap: self.remap, classes: self.classes };
        let (semantics, keep) = values_at(cells, &meaning, self.camera.size, &places);
        counts.void += keep.iter().filter(|keep| !**keep).count();
        let kept = seen.into_iter().zip(keep).filter(|(_, keep)| *keep).map(|(point, _)| point).collect();
        (kept, semantics)
    }
}
