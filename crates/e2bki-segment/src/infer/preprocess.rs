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
    let color = |channel: usize| if input.order == Order::Rgb { channel } else { 2 - channel };
    // A byte has 256 values.
    let tables: [[f32; 256]; 3] = std::array::from_fn(|channel| {
        std::array::from_fn(|byte| (byte as f32 / 255.0 - input.mean[channel]) / input.std[channel])
    });
    let mut values = vec![0.0; 3 * pixels.len()];
    match input.layout {
        Layout::Nchw => {
            let fill = |(channel, plane): (usize, &mut [f32])| {
                let (color, table) = (color(channel), &tables[channel]);
                for (value, pixel) in plane.iter_mut().zip(pixels) {
                    *value = table[usize::from(pixel[color])];
                }
            };
            values.par_chunks_exact_mut(pixels.len().max(1)).enumerate().for_each(fill);
        }
        Layout::Nhwc => {
            for (place, pixel) in values.as_chunks_mut::<3>().0.iter_mut().zip(pixels) {
                *place = std::array::from_fn(|channel| tables[channel][usize::from(pixel[color(channel)])]);
            }
        }
    }
    values
}
