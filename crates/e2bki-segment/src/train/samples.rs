//! Training images and labels, resized and held in memory.

use e2bki_data::{Dataset, LabelledImage};
use image::RgbImage;

use crate::error::{Error, Result};
use crate::infer::Input;
use crate::infer::preprocess;
use crate::network::{Rng, Tensor};

/// Label of pixels without a class.
const VOID: u16 = u16::MAX;
/// Memory limit for samples.
const MAX_BYTES: usize = 8 << 30;

/// One labelled image.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    image: RgbImage,
    labels: Vec<u16>,
}

impl Sample {
    /// Resizes an image (bilinear) and its labels (nearest).
    pub fn new(labelled: &LabelledImage, [width, height]: [usize; 2]) -> Self {
        let (w, h) = (labelled.image.width() as usize, labelled.image.height() as usize);
        let nearest = |at: usize, count: usize, size: usize| ((2 * at + 1) * size / (2 * count)).min(size - 1);
        let label = |i: usize| {
            let (column, row) = (nearest(i % width, width, w), nearest(i / width, height, h));
            u16::try_from(labelled.classes[row * w + column]).unwrap_or(VOID)
        };
        Self {
            image: preprocess::resized(&labelled.image, [width, height]).into_owned(),
            labels: (0..width * height).map(label).collect(),
        }
    }

    /// The image.
    pub fn image(&self) -> &RgbImage {
        &self.image
    }

    /// Class of a pixel.
    pub fn class(&self, pixel: usize) -> Option<usize> {
        Some(self.labels[pixel]).filter(|label| *label != VOID).map(usize::from)
    }
}

/// Images of one size.
#[derive(Debug, Clone, Default)]
pub struct Samples {
    all: Vec<Sample>,
}

impl Samples {
    /// Checks that the images fit in memory.
    pub fn check_memory(images: usize, [width, height]: [usize; 2]) -> Result<()> {
        if images.saturating_mul(width * height * 5) <= MAX_BYTES {
            return Ok(());
        }
        Err(Error::Request(format!(
            "{images} images of {width}×{height} do not fit in {} GB; choose a smaller --size, --fraction or --images",
            MAX_BYTES >> 30
        )))
    }

    /// Reads the images at these indices of a dataset; images without labels are skipped.
    pub fn read(dataset: &Dataset, indices: &[usize], size: [usize; 2], progress: impl Fn(usize)) -> Result<Self> {
        Self::check_memory(indices.len(), size)?;
        let mut all = Vec::new();
        for (done, index) in indices.iter().enumerate() {
            if let Some(labelled) = dataset.labelled_image(*index)? {
                all.push(Sample::new(&labelled, size));
            }
            progress(done + 1);
        }
        Ok(Self { all })
    }

    /// Adds an image.
    pub fn push(&mut self, sample: Sample) {
        self.all.push(sample);
    }

    /// Adds all images of another set.
    pub fn extend(&mut self, other: Self) {
        self.all.extend(other.all);
    }

    /// Indices of a fraction of the images, evenly spaced; at least one unless there are none.
    pub fn subset(images: usize, share: f64) -> Vec<usize> {
        let count = ((images as f64 * share.clamp(0.0, 1.0)).round() as usize).max(1).min(images);
        (0..count).map(|i| i * images / count).collect()
    }

    /// A fraction of the images, evenly spaced.
    pub fn fraction(&self, share: f64) -> Self {
        Self { all: Self::subset(self.len(), share).into_iter().map(|i| self.all[i].clone()).collect() }
    }

    /// Number of images.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether there are no images.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The images.
    pub fn iter(&self) -> impl Iterator<Item = &Sample> {
        self.all.iter()
    }

    /// A batch: images as network input, and the classes of their pixels; flipped at random if `flip` is given.
    pub(super) fn batch(&self, which: &[usize], input: &Input, mut flip: Option<&mut Rng>) -> (Tensor, Vec<u16>) {
        let first = &self.all[which[0]].image;
        let (width, height) = (first.width() as usize, first.height() as usize);
        let mut images = Tensor::new(3, which.len(), height, width);
        let mut labels = Vec::with_capacity(which.len() * width * height);
        for (number, index) in which.iter().enumerate() {
            let sample = &self.all[*index];
            let values = preprocess::values(&sample.image, [width, height], input);
            let flipped = flip.as_mut().is_some_and(|rng| rng.uniform() < 0.5);
            for channel in 0..3 {
                let target = &mut images.values[(channel * which.len() + number) * width * height..][..width * height];
                target.copy_from_slice(&values[channel * width * height..][..width * height]);
                if flipped {
                    target.chunks_exact_mut(width).for_each(<[f32]>::reverse);
                }
            }
            let start = labels.len();
            labels.extend_from_slice(&sample.labels);
            if flipped {
                labels[start..].chunks_exact_mut(width).for_each(<[u16]>::reverse);
            }
        }
        (images, labels)
    }
}

/// Class of a label.
pub(super) fn class_of(label: u16, classes: usize) -> Option<usize> {
    Some(usize::from(label)).filter(|class| *class < classes)
}
