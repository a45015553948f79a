//! A tiny network trains in a minute; a stopped run resumes as if it had not been stopped.

#![allow(clippy::unwrap_used, clippy::panic)] // a test may fail loudly

mod common;

use common::drive;
use e2bki_segment::train::{TrainOptions, Trainer, Warning, calibrate, score};
use e2bki_segment::{DataTerm, Error, Loss};
use e2bki_sim::WorldKind;

fn options(epochs: usize) -> TrainOptions {
    TrainOptions {
        size: [64, 40],
        width: 0.25,
        epochs,
        batch: 4,
        learning_rate: 5e-3,
        ..TrainOptions::preset("small").unwrap()
    }
}

#[test]
fn a_tiny_network_beats_chance_on_a_drive_it_has_not_seen() {
    let folder = tempfile::tempdir().unwrap();
    // A few images of many places teach more than many of one.
    let (mut train, classes) = drive(WorldKind::Offroad, 11, 4, 60, [64, 40]);
    for seed in 12..27 {
        train.extend(drive(WorldKind::Offroad, seed, 4, 60, [64, 40]).0);
    }
    let (held_out, _) = drive(WorldKind::Offroad, 77, 8, 40, [64, 40]);
    let mut trainer = Trainer::new(options(15), classes, folder.path()).unwrap();
    let before = score(trainer.weights(), &held_out).unwrap();
    trainer.run(&train, &held_out, |_| (), |_| ()).unwrap();
    let history = trainer.history();
    let after = &history.last().unwrap().scores;
    println!("before {before:?}\nafter {after:?}");
    assert!(history.last().unwrap().loss() < 0.7 * history[0].loss());
    // Untrained it has about 10 % accuracy, 4 % mIoU.
    assert!(after.accuracy.unwrap() > 55.0 && after.miou.unwrap() > 22.0, "{after:?}");
    assert!(after.uncertainty_of_void.unwrap() > after.uncertainty.unwrap(), "{after:?}");

    let mut weights = trainer.weights().clone();
    let calibrated = calibrate(&mut weights, &held_out).unwrap();
    let error = |s: &e2bki_segment::train::Scores| s.ece.unwrap() + s.ece_probability.unwrap();
    assert!(error(&calibrated.after) <= error(&calibrated.before));
    assert_eq!(calibrated.after.miou, calibrated.before.miou);
    assert_eq!(score(&weights, &held_out).unwrap(), calibrated.after);
}

#[test]
fn a_resumed_run_ends_as_if_it_had_not_been_stopped_and_threads_do_not_matter() {
    let (samples, classes) = drive(WorldKind::Offroad, 11, 6, 30, [64, 40]);
    let run = |folder: &std::path::Path, parts: &[usize]| {
        for epochs in parts {
            let mut trainer = match Trainer::resume(folder).unwrap() {
                Some(trainer) => trainer,
                None => Trainer::new(options(*epochs), classes.clone(), folder).unwrap(),
            };
            trainer.set_epochs(*epochs);
            trainer.run(&samples, &samples, |_| (), |_| ()).unwrap();
        }
        Trainer::resume(folder).unwrap().unwrap().weights().to_bytes(false).unwrap()
    };
    let (once, twice) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let whole = run(once.path(), &[2]);
    let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    assert!(one_thread.install(|| run(twice.path(), &[1, 2])) == whole);
}

#[test]
fn a_learning_rate_that_is_far_too_high_is_warned_of_although_the_loss_is_finite() {
    let (samples, classes) = drive(WorldKind::Offroad, 11, 6, 30, [64, 40]);
    let warnings = |learning_rate: f64| -> Vec<Option<Warning>> {
        let folder = tempfile::tempdir().unwrap();
        let mut trainer =
            Trainer::new(TrainOptions { learning_rate, ..options(3) }, classes.clone(), folder.path()).unwrap();
        trainer.run(&samples, &samples, |_| (), |_| ()).unwrap();
        // They are stored with the epochs.
        let again = Trainer::resume(folder.path()).unwrap().unwrap();
        let found: Vec<_> = trainer.history().iter().map(|epoch| epoch.warning).collect();
        assert!(again.history().iter().map(|epoch| epoch.warning).eq(found.iter().copied()));
        found
    };
    assert!(warnings(5.0).last().unwrap().is_some());
    assert_eq!(warnings(5e-3).last().unwrap(), &None);
}

#[test]
fn a_loss_that_is_not_a_number_stops_training_and_names_the_last_good_checkpoint() {
    let folder = tempfile::tempdir().unwrap();
    let (samples, classes) = drive(WorldKind::Offroad, 11, 4, 30, [64, 40]);
    let mut trainer = Trainer::new(options(1), classes, folder.path()).unwrap();
    trainer.run(&samples, &samples, |_| (), |_| ()).unwrap();
    let name = "backbone.0.0.weight";
    let mut poisoned = Trainer::resume(folder.path()).unwrap().unwrap();
    poisoned.set_epochs(2);
    poisoned.weights_mut().set(name, f32::NAN);
    match poisoned.run(&samples, &samples, |_| (), |_| ()) {
        Err(Error::Diverged { epoch: 2, step: 1, last_good: Some(path) }) => assert!(path.is_file()),
        other => panic!("{other:?}"),
    }
    // Every loss can be trained with.
    for data in DataTerm::ALL {
        let folder = tempfile::tempdir().unwrap();
        let options = TrainOptions { loss: Loss { data, ..Loss::default() }, ..options(1) };
        Trainer::new(
            options,
            vec!["a".into(), "b".into(), "c".into(), "d".into(), "e".into(), "f".into(), "g".into()],
            folder.path(),
        )
        .unwrap()
        .run(&samples, &samples, |_| (), |_| ())
        .unwrap();
    }
}
