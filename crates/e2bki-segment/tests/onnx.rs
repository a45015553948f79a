//! ONNX models: our own network as one, a real one on real images, and those that cannot be used.
#![cfg(feature = "onnx")]
#![allow(clippy::unwrap_used, clippy::panic)] // a test may fail loudly

mod common;

use common::formula_weights;
use e2bki_segment::infer::{Description, Running, Runtime, Segmenter};
use e2bki_segment::network::{Architecture, to_onnx};

fn tract() -> Running {
    Running { runtime: Runtime::Tract, library: None }
}

#[test]
fn through_onnx_it_says_the_same() {
    for (architecture, [width, height]) in
        [(Architecture::full(7), [100, 72]), (Architecture::narrow(5, 0.5), [64, 48])]
    {
        let weights = formula_weights(architecture, [width, height]);
        let picture = image::RgbImage::from_fn(width as u32, height as u32, |x, y| {
            image::Rgb([(x * 37 % 256) as u8, (y * 91 % 256) as u8, ((x * y) % 256) as u8])
        });
        let own = Segmenter::from_weights(weights.clone(), "formula").unwrap().segment(&picture).unwrap();
        let bytes = to_onnx(&weights, [width, height]).unwrap();
        let description = weights.metadata().description.clone();
        let output = Segmenter::from_onnx(&bytes, description, "formula", &tract()).unwrap().segment(&picture).unwrap();
        for row in 0..height {
            for column in 0..width {
                for (c, value) in output.grid.cell(column, row).iter().enumerate() {
                    let expected = own.grid.cell(column, row)[c];
                    assert!((value - expected).abs() < 1e-4, "{column} {row} {c}: {value}, not {expected}");
                }
            }
        }
    }
}

#[test]
fn a_real_network_s_stored_classes_are_found_again() {
    let (Some(model), Some(kitti360)) =
        (e2bki_testdata::real("models/espnetv2_cityscapes_1408x384.onnx"), e2bki_testdata::real("kitti360"))
    else {
        return;
    };
    let segmenter = Segmenter::open_with(&model, None, &tract()).unwrap();
    assert_eq!(segmenter.size(), [1408, 384]);
    let images = kitti360.join("data_2d_raw/2013_05_28_drive_0008_sync/image_00/data_rect");
    for frame in [3000, 3024] {
        let picture = image::open(images.join(format!("{frame:010}.png"))).unwrap().into_rgb8();
        let stored = image::open(kitti360.join(format!("espnetv2_pred/{frame:010}_trainid.png"))).unwrap().into_luma8();
        let size = [picture.width() as usize, picture.height() as usize];
        let output = segmenter.segment(&picture).unwrap();
        let found = output.argmax(size);
        let same = found.iter().zip(stored.as_raw()).filter(|(a, b)| **a == u16::from(**b)).count();
        let share = same as f64 / found.len() as f64;
        println!("frame {frame}: {:.3} % of the pixels have the stored class", 100.0 * share);
        assert!(share >= 0.995, "{share}");
    }
}

fn refusal(bytes: &[u8], description: &str) -> String {
    let description = Description::from_toml(description).unwrap();
    Segmenter::from_onnx(bytes, description, "net.onnx", &tract()).unwrap_err().to_string()
}

#[test]
fn models_that_cannot_be_used_are_refused() {
    let weights = formula_weights(Architecture::narrow(3, 0.25), [64, 48]);
    let whole = to_onnx(&weights, [64, 48]).unwrap();
    for (description, word) in [
        ("[input]\nsize = [128, 48]", "64×48"),
        ("[input]\nlayout = \"nhwc\"", "nchw"),
        ("[output]\nname = \"probabilities\"", "only logits"),
    ] {
        let message = refusal(&whole, description);
        assert!(message.contains("net.onnx") && message.contains(word), "{message}");
    }
    assert!(refusal(b"not a model", "").contains("net.onnx"));
    assert!(refusal(&[], "").contains("net.onnx"));
    for end in [100, whole.len() / 2, whole.len() - 1] {
        assert!(refusal(&whole[..end], "").contains("net.onnx"), "{end}");
    }
    // An operator set that does not exist yet, or an operator that nobody knows.
    let at = whole.windows(5).position(|w| w == b"Sigmo").unwrap();
    let mut unknown = whole.clone();
    unknown[at..at + 5].copy_from_slice(b"Sogmo");
    let message = refusal(&unknown, "");
    assert!(message.contains("net.onnx") && message.contains("Sogmoid") && message.contains("logits:"), "{message}");
}
