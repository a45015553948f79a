//! Semantics of points from an image: where they are in it, and what a network says there. Recordings and running robots take
//! the same steps, so that they make the same map.

use super::fold::Fold;
use super::frame::{OwnedSemantics, ReadCounts};
use super::options::{ImageSemantics, ValueKind};
use crate::camera::{Camera, Projected, Sampler, visible};
use crate::classes::Remap;
use crate::parse::Grid;

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
pub(super) struct Meaning<'a> {
    pub(super) kind: ValueKind,
    pub(super) remap: &'a Remap,
    pub(super) classes: usize,
}

/// Values of pixels at places of an image of some size, and which of them are of a class.
pub(super) fn values_at(
    mut grid: Grid,
    meaning: &Meaning<'_>,
    size: [usize; 2],
    places: impl ExactSizeIterator<Item = Option<Projected>>,
) -> (OwnedSemantics, Vec<bool>) {
    // Between pixels it is the evidence that is interpolated, not its logarithm.
    let kind = if meaning.kind == ValueKind::LogEvidence {
        for value in &mut grid.values {
            *value = e2bki::maths::exp(f64::from(value.clamp(-10.0, 10.0))) as f32;
        }
        ValueKind::Evidence
    } else {
        meaning.kind
    };
    let sampler = Sampler::new(&grid, size);
    let mut fold = Fold::new(kind, grid.channels, meaning.remap, meaning.classes, places.len());
    let mut row = vec![0.0; grid.channels];
    let mut one = |place: Projected| {
        sampler.at(place.position, &mut row);
        fold.push(&row)
    };
    let keep = places.map(|place| place.is_some_and(&mut one)).collect();
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
    pub fn look(&self, picture: &image::RgbImage) -> Result<Grid, String> {
        let ([w, h], [width, height]) = ([picture.width() as usize, picture.height() as usize], self.camera.size);
        if [w, h] != self.camera.size {
            return Err(format!("the image is {w}×{h}, but the calibration is for {width}×{height}"));
        }
        self.network.look(picture)
    }

    /// The points of which the network says something by its values at their places, and what it says. The rest is counted.
    pub fn lift(&self, grid: Grid, points: &[[f32; 3]], counts: &mut ReadCounts) -> (Vec<[f32; 3]>, OwnedSemantics) {
        let (places, outside, hidden) = places(points, self.camera, self.occlusion_window);
        counts.outside_image += outside;
        counts.occluded += hidden;
        let seen: Vec<([f32; 3], Option<Projected>)> =
            points.iter().copied().zip(places).filter(|(_, place)| place.is_some()).collect();
        let meaning = Meaning { kind: self.network.kind(), remap: self.remap, classes: self.classes };
        let (semantics, keep) = values_at(grid, &meaning, self.camera.size, seen.iter().map(|(_, place)| *place));
        counts.void += keep.iter().filter(|keep| !**keep).count();
        let kept = seen.iter().zip(keep).filter(|(_, keep)| *keep).map(|((point, _), _)| *point).collect();
        (kept, semantics)
    }
}
