//! The network against torchvision's: outputs and gradients.

#![allow(clippy::unwrap_used, clippy::panic)] // a test may fail loudly

mod common;

use common::{formula_weights, noise, tensor};
use e2bki_segment::network::{Architecture, InferenceNetwork, Lraspp, Tensor};
use serde_json::Value;

fn reference() -> Value {
    serde_json::from_str(include_str!("reference/reference.json")).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
}

fn architecture(case: &Value) -> Architecture {
    let whole = |key: &str| case[key].as_u64().unwrap() as usize;
    Architecture { classes: whole("classes"), width: case["width"].as_f64().unwrap(), head: whole("head") }
}

fn shape(case: &Value) -> [usize; 4] {
    numbers(&case["shape"]).iter().map(|v| *v as usize).collect::<Vec<_>>().try_into().unwrap()
}

fn at(tensor: &Tensor, image: usize, channel: usize, row: usize, column: usize) -> f32 {
    tensor.values[((channel * tensor.images + image) * tensor.height + row) * tensor.width + column]
}

#[test]
fn it_says_what_torchvision_s_says() {
    for case in reference()["forward"].as_array().unwrap() {
        let [images, channels, height, width] = shape(case);
        let weights = formula_weights(architecture(case), [width, height]);
        let input = tensor(&noise("images", images * channels * height * width), shape(case));
        let out = InferenceNetwork::new(&weights).unwrap().forward(&input);
        let mut samples = numbers(&case["samples"]).into_iter();
        let mut worst = 0.0_f64;
        for n in 0..images {
            for c in 0..out.channels {
                for row in (0..height).step_by(9) {
                    for column in (0..width).step_by(11) {
                        worst = worst.max((f64::from(at(&out, n, c, row, column)) - samples.next().unwrap()).abs());
                    }
                }
            }
        }
        assert!(samples.next().is_none());
        assert!(worst < 2e-5, "width {}: off by {worst}", case["width"]);
    }
}

#[test]
fn threads_other_images_and_memory_used_before_change_nothing() {
    let architecture = Architecture { classes: 7, width: 0.5, head: 36 };
    let weights = formula_weights(architecture, [97, 70]);
    let network = InferenceNetwork::new(&weights).unwrap();
    let image =
        |seed: &str, [height, width]: [usize; 2]| tensor(&noise(seed, 3 * height * width), [1, 3, height, width]);
    let first = network.forward(&image("one", [70, 97]));
    assert!(first.values.iter().all(|v| v.is_finite()));
    for threads in [1, 2, 5] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let again = pool.install(|| {
            let network = InferenceNetwork::new(&weights).unwrap();
            // Buffers of larger and smaller images are reused.
            for size in [[111, 64], [33, 40], [1, 1]] {
                network.forward(&image("two", size));
            }
            network.forward(&image("one", [70, 97]))
        });
        assert!(again == first, "{threads} threads");
    }
    // An image in a batch gives the same output as alone.
    let (a, b) = (noise("a", 3 * 40 * 56), noise("b", 3 * 40 * 56));
    let both = network.forward(&tensor(&[a.clone(), b.clone()].concat(), [2, 3, 40, 56]));
    for (n, alone) in [a, b].into_iter().enumerate() {
        let alone = network.forward(&tensor(&alone, [1, 3, 40, 56]));
        for c in 0..7 {
            let of_both = &both.values[(2 * c + n) * 40 * 56..][..40 * 56];
            assert!(of_both == &alone.values[c * 40 * 56..][..40 * 56]);
        }
    }
}

#[test]
fn gradients_are_torchvision_s() {
    let reference = reference();
    let case = &reference["backward"];
    let [images, channels, height, width] = shape(case);
    let mut weights = formula_weights(architecture(case), [width, height]);
    let network = Lraspp::new(weights.plan().unwrap());
    let input = tensor(&noise("images", images * channels * height * width), shape(case));
    let (out, tape) = network.forward(&mut weights, input, 1_000_000);
    let gradient = tensor(&noise("gradient", out.values.len()), [images, out.channels, height, width]);
    let found = network.backward(&weights, &tape, &gradient);
    let slopes = case["slopes"].as_object().unwrap();
    assert_eq!(slopes.len(), found.len());
    for (name, expected) in slopes {
        let expected = numbers(expected);
        let direction = noise(&format!("direction {name}"), found[name].len());
        let slope: f64 = found[name].iter().zip(&direction).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
        let norm = found[name].iter().map(|g| f64::from(*g) * f64::from(*g)).sum::<f64>().sqrt();
        // Single precision against double, through some fifty layers. Some gradients are 0: a shift before the next
        // normalisation changes nothing.
        let size = expected[1].max(0.1);
        assert!((norm - expected[1]).abs() < 5e-3 * size, "{name}: norm {norm}, not {}", expected[1]);
        assert!((slope - expected[0]).abs() < 1e-2 * size, "{name}: slope {slope}, not {}", expected[0]);
    }
    for (name, key) in
        [("backbone.1.block.0.1.running_mean", "running_mean"), ("classifier.cbr.1.running_var", "running_var")]
    {
        for (found, expected) in weights.get(name).unwrap().iter().zip(numbers(&case[key])) {
            assert!((f64::from(*found) - expected).abs() < 1e-4, "{name}: {found}, not {expected}");
        }
    }
}
