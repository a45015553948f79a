//! ONNX models by ONNX Runtime: the same as by tract and by our own code, and what is said where there is no library.
#![cfg(feature = "onnxruntime")]
#![allow(clippy::unwrap_used, clippy::panic)] // a test may fail loudly

#[cfg(feature = "onnx")]
mod common;

use e2bki_segment::infer::{Description, Running, Runtime, Segmenter};

fn onnxruntime() -> Running {
    Running { runtime: Runtime::OnnxRuntime, library: None }
}

/// Whether a library is there; says so if it is not.
fn is_there() -> bool {
    let message =
        Segmenter::from_onnx(b"", Description::default(), "net.onnx", &onnxruntime()).unwrap_err().to_string();
    let there = !message.contains("pip install onnxruntime");
    if !there {
        e2bki_testdata::skip(
            "no library of ONNX Runtime is found (activate an environment with the PyPI package `onnxruntime`)",
        );
    }
    there
}

/// Values of the two differ by less than this: they add in another order.
#[cfg(feature = "onnx")]
const TOLERANCE: f32 = 1e-4;

#[cfg(feature = "onnx")]
#[test]
fn it_says_the_same_as_tract_and_as_our_own_code() {
    use common::formula_weights;
    use e2bki_segment::network::{Architecture, to_onnx};
    if !is_there() {
        return;
    }
    for (architecture, [width, height]) in
        [(Architecture::full(7), [100, 72]), (Architecture::narrow(5, 0.5), [64, 48])]
    {
        let weights = formula_weights(architecture, [width, height]);
        let picture = image::RgbImage::from_fn(width as u32, height as u32, |x, y| {
            image::Rgb([(x * 37 % 256) as u8, (y * 91 % 256) as u8, ((x * y) % 256) as u8])
        });
        let own = Segmenter::from_weights(weights.clone(), "formula").unwrap().segment(&picture).unwrap();
        let bytes = to_onnx(&weights, [width, height]).unwrap();
        let by = |runtime| {
            let description = weights.metadata().description.clone();
            let running = Running { runtime, library: None };
            let segmenter = Segmenter::from_onnx(&bytes, description, "formula", &running).unwrap();
            (segmenter.runtime(), segmenter.segment(&picture).unwrap())
        };
        let ((name, output), (other, tract)) = (by(Runtime::OnnxRuntime), by(Runtime::Tract));
        assert!(name.contains("onnxruntime") && other == "tract", "{name}, {other}");
        // Where there is a library, it is taken.
        assert_eq!(by(Runtime::Auto), (name, output.clone()));
        let mut most = 0.0_f32;
        for (column, row) in (0..height).flat_map(|row| (0..width).map(move |column| (column, row))) {
            for (c, value) in output.grid.cell(column, row).iter().enumerate() {
                for expected in [tract.grid.cell(column, row)[c], own.grid.cell(column, row)[c]] {
                    most = most.max((value - expected).abs());
                }
            }
        }
        assert!(most < TOLERANCE, "values differ by {most}");
    }
}

#[test]
fn a_real_network_s_stored_classes_are_found_again() {
    let (Some(model), Some(kitti360)) =
        (e2bki_testdata::real("models/espnetv2_cityscapes_1408x384.onnx"), e2bki_testdata::real("kitti360"))
    else {
        return;
    };
    if !is_there() {
        return;
    }
    let segmenter = Segmenter::open_with(&model, None, &onnxruntime()).unwrap();
    assert_eq!(segmenter.size(), [1408, 384]);
    let images = kitti360.join("data_2d_raw/2013_05_28_drive_0008_sync/image_00/data_rect");
    let picture = image::open(images.join("0000003000.png")).unwrap().into_rgb8();
    let stored = image::open(kitti360.join("espnetv2_pred/0000003000_trainid.png")).unwrap().into_luma8();
    let found = segmenter.segment(&picture).unwrap().argmax([picture.width() as usize, picture.height() as usize]);
    let same = found.iter().zip(stored.as_raw()).filter(|(a, b)| **a == u16::from(**b)).count();
    assert!(same as f64 >= 0.995 * found.len() as f64, "{same} of {}", found.len());
}

#[test]
fn models_and_libraries_that_cannot_be_used_are_refused() {
    let missing = Running { runtime: Runtime::Auto, library: Some("/nowhere/libonnxruntime.so".into()) };
    // Somebody wants this library: another runtime in its place would be a surprise.
    let refusal = |bytes: &[u8], running: &Running| {
        Segmenter::from_onnx(bytes, Description::default(), "net.onnx", running).unwrap_err().to_string()
    };
    let message = refusal(b"", &missing);
    assert!(message.contains("net.onnx") && message.contains("--runtime tract"), "{message}");
    if is_there() {
        for bytes in [&b""[..], b"not a model"] {
            let message = refusal(bytes, &onnxruntime());
            assert!(message.contains("net.onnx") && message.contains("not an ONNX model"), "{message}");
        }
    }
}
