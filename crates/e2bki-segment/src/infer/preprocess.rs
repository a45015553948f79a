//! Preprocessing: an image as the network's input.

use std::borrow::Cow;

use image::RgbImage;
use image::imageops::{self, FilterType};
use rayon::prelude::*;

use super::description::{Input, Layout, Order};

/// The image resized (bilinear; when shrinking, averaged over all pixels that a new one covers).
pub(crate) fn resized(image: &RgbImage, [width, height]: [usize; 2]) -> Cow<'_, RgbImage> {
    if [image.width() as usize, image.height() as usize] == [width, height] {
        return Cow::Borrowed(image);
    }
    Cow::Owned(imageops::resize(image, width as u32, height as u32, FilterType::Triangle))
}

/// Values of the input, in the order of its axes.
pub(crate) fn values(image: &RgbImage, size: [usize; 2], input: &Input) -> Vec<f32> {
    let image = resized(image, size);
    let (pixels, _) = image.as_raw().as_chunks::<3>();
    let value = |pixel: &[u8; 3], channel: usize| {
        let color = if input.order == Order::Rgb { channel } else { 2 - channel };
        (f32::from(pixel[color]) / 255.0 - input.mean[channel]) / input.std[channel]
    };
    match input.layout {
        Layout::Nchw => {
            (0..3).into_par_iter().flat_map_iter(|channel| pixels.iter().map(move |p| value(p, channel))).collect()
        }
        Layout::Nhwc => pixels.iter().flat_map(|p| [value(p, 0), value(p, 1), value(p, 2)]).collect(),
    }
}
