//! Weights by the formula of reference/make.py, and drives to learn from.
#![allow(dead_code, clippy::unwrap_used)] // every test uses its part, and may fail loudly

use e2bki::random::{SPLIT_MIX_STEP, split_mix64};
use e2bki_data::LabelledImage;
use e2bki_segment::infer::Description;
use e2bki_segment::network::{Architecture, Metadata, Tensor, Weights};
use e2bki_segment::train::{Sample, Samples};
use e2bki_sim::{Drive, DriveOptions, Sensor, WorldKind};

/// Numbers from −1 to 1: SplitMix64 of the FNV-1a hash of the name plus the place.
pub(crate) fn noise(name: &str, count: usize) -> Vec<f32> {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in name.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    }
    let value = |i: usize| {
        let bits = split_mix64(hash.wrapping_add((i as u64).wrapping_mul(SPLIT_MIX_STEP)));
        (bits >> 40) as f32 / (1_u64 << 23) as f32 - 1.0
    };
    (0..count).map(value).collect()
}

pub(crate) fn formula_weights(architecture: Architecture, size: [usize; 2]) -> Weights {
    let mut description = Description::default();
    description.input.size = Some(size);
    let metadata = Metadata { architecture, classes: Vec::new(), description, note: "a formula".into() };
    let value = |name: &str, shape: &[usize]| {
        let u = noise(name, shape.iter().product());
        let map = |f: &dyn Fn(f32) -> f32| u.iter().map(|u| f(*u)).collect::<Vec<f32>>();
        match shape {
            [_, i, h, w] => {
                let scale = (4.0 / (i * h * w) as f64).sqrt() as f32;
                map(&|u| u * scale)
            }
            _ if name.ends_with("running_var") => map(&|u| 1.0 + 0.5 * u),
            _ if name.ends_with("weight") => map(&|u| 1.0 + 0.3 * u),
            _ => map(&|u| 0.2 * u),
        }
    };
    Weights::from_fn(metadata, value).unwrap()
}

/// Values in order image, channel, row, column as a tensor, which is channel-major.
pub(crate) fn tensor(values: &[f32], [images, channels, height, width]: [usize; 4]) -> Tensor {
    let mut tensor = Tensor::new(channels, images, height, width);
    let cells = height * width;
    for n in 0..images {
        for c in 0..channels {
            let from = &values[(n * channels + c) * cells..][..cells];
            tensor.values[(c * images + n) * cells..][..cells].copy_from_slice(from);
        }
    }
    tensor
}

/// Images of a simulated drive at a size, every `step`th frame.
pub(crate) fn drive(
    kind: WorldKind,
    seed: u64,
    frames: usize,
    step: usize,
    size: [usize; 2],
) -> (Samples, Vec<String>) {
    let mut options = DriveOptions::new(kind, seed, Sensor::Os1_64);
    options.image_width = 2 * size[0];
    let drive = Drive::new(options).unwrap();
    let classes = drive.classes();
    let mut samples = Samples::default();
    for frame in 0..frames {
        let image = drive.image(frame * step);
        let raw = image.rgb.iter().flatten().copied().collect();
        let labelled = LabelledImage {
            image: image::RgbImage::from_raw(image.width as u32, image.height as u32, raw).unwrap(),
            classes: image
                .labels
                .iter()
                .map(|l| if *l == e2bki_sim::VOID { u32::MAX } else { u32::from(*l) })
                .collect(),
        };
        samples.push(Sample::new(&labelled, size));
    }
    (samples, classes.iter().map(|c| c.name.to_string()).collect())
}
