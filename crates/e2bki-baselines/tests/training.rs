//! ConvBKI learns kernels that look like the world: wide on flat ground, tall on poles.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use e2bki::cluster::Rng;
use e2bki::{ClassSet, Config, Frame, Pose, SemanticMapper, Semantics};
use e2bki_baselines::{ConvBki, ConvKernels, Sample, TrainOptions, Window, train};
use e2bki_sim::{Drive, DriveOptions, ErrorModel, Sensor, VOID, WorldKind};

fn options() -> TrainOptions {
    TrainOptions { epochs: 12, window: 4, most_places: 1500, ..TrainOptions::default() }
}

/// Ground from z = 0 down with a field of poles on it, sparsely sampled, a tenth of the points mistaken for the other.
fn scene(seed: u64) -> (Vec<[f32; 3]>, Vec<f32>, Vec<u32>) {
    let mut rng = Rng::new(seed);
    let (mut points, mut evidence, mut truth) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..9000 {
        let pole = rng.below(3) == 0;
        let point = if pole {
            let at = [rng.below(6), rng.below(6)].map(|i| 1.4 * i as f64 - 3.5 + 0.05 * rng.uniform());
            [at[0], at[1], -1.5 + 2.5 * rng.uniform()]
        } else {
            [9.0 * (rng.uniform() - 0.5), 9.0 * (rng.uniform() - 0.5), -1.7 + 0.05 * rng.uniform()]
        };
        let said = pole ^ (rng.below(10) == 0);
        points.push(point.map(|v| v as f32));
        evidence.extend(if said { [0.3, 12.0] } else { [12.0, 0.3] });
        truth.push(u32::from(pole));
    }
    (points, evidence, truth)
}

#[test]
fn ground_gets_a_wide_kernel_and_poles_a_tall_one() {
    let classes = ClassSet::from_names(["ground", "pole"]).unwrap();
    let config = Config::default();
    let mut window = Window::new(&classes, &config, &options()).unwrap();
    let samples: Vec<Sample> = (0..8)
        .map(|i| {
            let (points, evidence, truth) = scene(i);
            let frame = Frame {
                points: &points,
                semantics: Semantics::Evidence(&evidence),
                world_from_sensor: Pose::IDENTITY,
                scan: None,
            };
            window.push(&frame, &truth).unwrap()
        })
        .collect();
    let mut steps = 0;
    let outcome = train(&classes, &samples, &options(), |progress| {
        steps += 1;
        assert!(progress.loss.is_finite() && progress.samples <= progress.of);
    })
    .unwrap();
    let ConvKernels { horizontal, vertical } = &outcome.kernels;
    println!("losses {:?}\nhorizontal {horizontal:?} vertical {vertical:?}", outcome.losses);
    assert_eq!((steps, outcome.losses.len()), (12 * 4, 12));
    assert!(outcome.losses.windows(2).all(|pair| pair[1] < pair[0] + 1e-3), "{:?}", outcome.losses);
    assert!(outcome.losses[11] < 0.97 * outcome.losses[0]);
    assert!(horizontal[0] > 1.2 * vertical[0], "ground: {} {}", horizontal[0], vertical[0]);
    assert!(vertical[1] > 1.2 * horizontal[1], "pole: {} {}", horizontal[1], vertical[1]);
    assert_eq!(train(&classes, &samples, &options(), |_| ()).unwrap(), outcome);
    // Learned kernels make a map, and survive being written.
    let text = outcome.kernels.to_toml(&classes).unwrap();
    assert_eq!(ConvKernels::from_toml(&text, &classes).unwrap(), outcome.kernels);
    let mut map = ConvBki::with_kernels(classes, &config, outcome.kernels).unwrap();
    let (points, evidence, truth) = scene(99);
    let frame = Frame {
        points: &points,
        semantics: Semantics::Evidence(&evidence),
        world_from_sensor: Pose::IDENTITY,
        scan: None,
    };
    map.insert(&frame).unwrap();
    let asked: Vec<[f64; 3]> = points.iter().map(|p| p.map(f64::from)).collect();
    let beliefs = map.query(&asked).unwrap();
    let right = beliefs.iter().zip(&truth).filter(|(b, t)| b.label() == Some(**t as usize)).count();
    assert!(right as f64 > 0.93 * truth.len() as f64, "{right} of {}", truth.len());
}

#[test]
fn a_simulated_drive_lowers_the_loss() {
    let mut drive = DriveOptions::new(WorldKind::Urban, 5, Sensor::Hdl64e);
    drive.columns = Some(360);
    let drive = Drive::new(drive).unwrap();
    let model = ErrorModel::for_drive(&drive, 0.1).unwrap();
    let classes = ClassSet::from_names(drive.classes().iter().map(|c| c.name)).unwrap();
    let config = Config::default().with(|c| c.input.max_range = 30.0);
    let mut window = Window::new(&classes, &config, &options()).unwrap();
    let samples: Vec<Sample> = (0..6)
        .map(|i| {
            let frame = drive.frame(10 * i);
            let evidence = model.evidence(&frame);
            let truth: Vec<u32> =
                frame.labels.iter().map(|l| if *l == VOID { u32::MAX } else { u32::from(*l) }).collect();
            let pose = Pose::from_matrix(frame.world_from_sensor).unwrap();
            let frame = Frame {
                points: &frame.points,
                semantics: Semantics::Evidence(&evidence),
                world_from_sensor: pose,
                scan: None,
            };
            window.push(&frame, &truth).unwrap()
        })
        .collect();
    let outcome = train(&classes, &samples, &options(), |_| ()).unwrap();
    println!("losses {:?}", outcome.losses);
    for ((name, across), up) in classes.names().iter().zip(&outcome.kernels.horizontal).zip(&outcome.kernels.vertical) {
        println!("{name:>16} across {across:.3} up {up:.3}");
    }
    assert!(outcome.losses[11] < outcome.losses[0]);
    let road = classes.names().iter().position(|n| n == "road").unwrap();
    assert!(outcome.kernels.horizontal[road] > outcome.kernels.vertical[road]);
    assert!(outcome.kernels != ConvKernels::initial(classes.len()));
}

#[test]
fn training_without_anything_to_learn_from_is_refused() {
    let classes = ClassSet::from_names(["a", "b"]).unwrap();
    let none: Vec<Sample> = Vec::new();
    assert!(train(&classes, &none, &options(), |_| ()).unwrap_err().to_string().contains("samples"));
    let mut window = Window::new(&classes, &Config::default(), &options()).unwrap();
    let frame = Frame {
        points: &[[1.0; 3], [f32::NAN; 3]],
        semantics: Semantics::Labels(&[0, 1]),
        world_from_sensor: Pose::IDENTITY,
        scan: None,
    };
    assert!(window.push(&frame, &[0]).is_err());
    let unknown = window.push(&frame, &[9, 9]).unwrap();
    assert_eq!(unknown.places(), 0);
    assert!(train(&classes, &vec![unknown], &options(), |_| ()).is_err());
    let known = window.push(&frame, &[1, 0]).unwrap();
    assert_eq!(known.places(), 1);
    let other = ClassSet::from_names(["a", "b", "c"]).unwrap();
    assert!(train(&other, &vec![known.clone()], &options(), |_| ()).is_err());
    for wrong in [TrainOptions { epochs: 0, ..options() }, TrainOptions { learning_rate: f64::NAN, ..options() }] {
        assert!(train(&classes, &vec![known.clone()], &wrong, |_| ()).is_err());
        assert!(Window::new(&classes, &Config::default(), &wrong).is_err());
    }
}
