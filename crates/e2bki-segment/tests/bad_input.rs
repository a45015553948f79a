//! Files that are damaged, of another kind, or of another network: each refusal names the file and the fault.

#![allow(clippy::unwrap_used, clippy::panic)] // a test may fail loudly

mod common;

use common::formula_weights;
use e2bki_data::LabelledImage;
use e2bki_segment::infer::Segmenter;
use e2bki_segment::network::{Architecture, Weights};
use e2bki_segment::train::{Sample, TrainOptions, Trainer};
use image::RgbImage;

fn refusal(bytes: &[u8]) -> String {
    Weights::from_bytes(bytes, "net.safetensors").unwrap_err().to_string()
}

#[test]
fn what_a_file_says_of_its_images_is_bounded() {
    let mut weights = formula_weights(Architecture::narrow(3, 0.25), [64, 48]);
    weights.metadata_mut().description.input.size = Some([1 << 40, 1 << 40]);
    assert!(refusal(&weights.to_bytes(true).unwrap()).contains("input.size"));
}

#[test]
fn weights_are_read_back_in_halves_or_singles() {
    let weights = formula_weights(Architecture::narrow(3, 0.25), [64, 48]);
    assert_eq!(Weights::from_bytes(&weights.to_bytes(false).unwrap(), "x").unwrap(), weights);
    let halves = Weights::from_bytes(&weights.to_bytes(true).unwrap(), "x").unwrap();
    assert_eq!(halves.metadata(), weights.metadata());
    for (name, _) in weights.plan().unwrap().parameters() {
        for (a, b) in weights.get(&name).unwrap().iter().zip(halves.get(&name).unwrap()) {
            assert!((a - b).abs() <= 1e-3 * a.abs().max(0.1), "{name}: {a} {b}");
        }
    }
    assert_eq!(weights.to_bytes(true).unwrap(), weights.clone().to_bytes(true).unwrap());
}

#[test]
fn damaged_weights_are_refused() {
    let weights = formula_weights(Architecture::narrow(3, 0.25), [64, 48]);
    let whole = weights.to_bytes(true).unwrap();
    for end in [0, 7, 8, 100, whole.len() / 2, whole.len() - 1] {
        assert!(refusal(&whole[..end]).contains("net.safetensors"), "{end}");
    }
    let mut longer = whole.clone();
    longer.push(0);
    assert!(refusal(&longer).contains("safetensors"));
    let mut text = whole.clone();
    let at = text.windows(5).position(|w| w == b"width").unwrap();
    text[at..at + 5].copy_from_slice(b"wodth");
    assert!(refusal(&text).contains("wodth"), "{}", refusal(&text));
    // A parameter of another shape, or none.
    let mut renamed = whole.clone();
    let name = b"backbone.0.0.weight";
    let at = renamed.windows(name.len()).position(|w| w == name).unwrap();
    renamed[at..at + 8].copy_from_slice(b"backbane");
    assert!(refusal(&renamed).contains("`backbone.0.0.weight` is missing"), "{}", refusal(&renamed));
    let mut poisoned = weights.clone();
    poisoned.set("classifier.cbr.1.bias", f32::NAN);
    assert!(refusal(&poisoned.to_bytes(true).unwrap()).contains("classifier.cbr.1.bias"));
    // Many changed bytes, none of which may end the process.
    for at in (0..whole.len().min(4000)).step_by(13) {
        let mut changed = whole.clone();
        changed[at] ^= 0x5a;
        Weights::from_bytes(&changed, "x").ok();
    }
}

#[test]
fn what_halves_cannot_hold_is_stored_whole() {
    let mut weights = formula_weights(Architecture::narrow(3, 0.25), [64, 48]);
    let plain = weights.to_bytes(true).unwrap().len();
    weights.set("backbone.0.1.running_var", 1e6);
    let bytes = weights.to_bytes(true).unwrap();
    let again = Weights::from_bytes(&bytes, "net.safetensors").unwrap();
    assert!(again.get("backbone.0.1.running_var").unwrap().iter().all(|v| *v == 1e6));
    assert!(bytes.len() < plain + 1000, "only one parameter is larger");
}

#[test]
fn files_of_other_kinds_are_refused_with_what_would_be_right() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("net.safetensors");
    assert!(Segmenter::open(&path).unwrap_err().to_string().contains("cannot read"));
    std::fs::write(&path, b"not a network").unwrap();
    assert!(Segmenter::open(&path).unwrap_err().to_string().contains("net.safetensors"));
    let weights = formula_weights(Architecture::narrow(3, 0.25), [64, 48]);
    weights.save(&path, true).unwrap();
    assert_eq!(Segmenter::open(&path).unwrap().size(), [64, 48]);
    // A network is not a run that can be gone on with.
    std::fs::rename(&path, folder.path().join("checkpoint.safetensors")).unwrap();
    assert!(Trainer::resume(folder.path()).unwrap_err().to_string().contains("not a checkpoint of a training run"));
    // A description that is wrong.
    let path = folder.path().join("other.safetensors");
    weights.save(&path, true).unwrap();
    std::fs::write(path.with_extension("toml"), "[input]\nsizes = [1, 2]").unwrap();
    assert!(Segmenter::open(&path).unwrap_err().to_string().contains("other.toml"));
    std::fs::write(path.with_extension("toml"), "[output]\nkind = \"logits\"").unwrap();
    assert!(Segmenter::open(&path).unwrap_err().to_string().contains("size"));
}

#[test]
fn images_of_any_size_are_segmented() {
    let weights = formula_weights(Architecture::narrow(3, 0.25), [64, 48]);
    let segmenter = Segmenter::from_weights(weights, "net").unwrap();
    for (width, height) in [(1, 1), (64, 48), (37, 300)] {
        let output = segmenter.segment(&RgbImage::new(width, height)).unwrap();
        assert_eq!((output.grid.width, output.grid.height, output.grid.channels), (64, 48, 3));
        assert_eq!(output.argmax([width as usize, height as usize]).len(), (width * height) as usize);
        let (shape, bytes) = output.pooled_f16(8);
        assert_eq!((shape, bytes.len()), ([3, 6, 8], 3 * 6 * 8 * 2));
    }
}

#[test]
fn labels_beyond_the_classes_teach_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let labelled = |class: u32| LabelledImage { image: RgbImage::new(40, 40), classes: vec![class; 1600] };
    let mut samples = e2bki_segment::train::Samples::default();
    for class in [7, 65_535, u32::MAX] {
        samples.push(Sample::new(&labelled(class), [32, 32]));
    }
    let options =
        TrainOptions { size: [32, 32], width: 0.25, epochs: 1, batch: 2, ..TrainOptions::preset("small").unwrap() };
    let mut trainer = Trainer::new(options, vec!["a".into(), "b".into()], folder.path()).unwrap();
    trainer.run(&samples, &samples, |_| (), |_| ()).unwrap();
    let epoch = &trainer.history()[0];
    assert_eq!((epoch.data, epoch.scores.miou, epoch.scores.accuracy), (0.0, None, None));
    let none = e2bki_segment::train::Samples::default();
    assert!(trainer.run(&none, &none, |_| (), |_| ()).unwrap_err().to_string().contains("no labelled image"));
}
