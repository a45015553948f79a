//! Whatever comes in: a typed error that leaves the map as it was, or a counted drop. Never a panic.

#![allow(clippy::unwrap_used)] // a test may fail loudly

mod common;

use common::*;
use e2bki::{ClassSet, Config, Error, Frame, LogitKind, Mapper, Pose, Semantics};
use proptest::prelude::*;

fn frame<'a>(points: &'a [[f32; 3]], semantics: Semantics<'a>) -> Frame<'a> {
    Frame { points, semantics, world_from_sensor: Pose::IDENTITY, scan: None }
}

#[test]
fn arrays_of_the_wrong_length_are_named_and_change_nothing() {
    let (mut map, _) = map_of(&drive(1, 500), &Config::default());
    let before = fingerprint(&map);
    let points = [[1.0, 2.0, 3.0]; 4];
    let (short, long) = ([1.0; 19], [1.0; 20]);
    for (semantics, field) in [
        (Semantics::Evidence(&short), "evidence"),
        (Semantics::Dirichlet(&short), "dirichlet"),
        (Semantics::Probabilities(&short), "probabilities"),
        (Semantics::Logits { values: &short, kind: LogitKind::Softmax }, "logits"),
        (Semantics::Opinion { probabilities: &long, uncertainty: &short[..3] }, "uncertainty"),
        (Semantics::Labels(&[0, 1, 2]), "labels"),
    ] {
        let error = map.insert(&frame(&points, semantics)).unwrap_err();
        assert!(matches!(error, Error::Length { .. }));
        assert!(error.to_string().contains(field), "{error}");
    }
    assert!(fingerprint(&map) == before);
    assert_eq!(map.frames(), 1);
}

#[test]
fn a_frame_prepared_for_other_classes_is_refused_and_changes_nothing() {
    let frames = drive(1, 500);
    let (mut map, _) = map_of(&frames, &Config::default());
    let before = fingerprint(&map);
    let three = Mapper::new(ClassSet::from_names(["a", "b", "c"]).unwrap(), Config::default()).unwrap();
    let prepared = three.prepare(&frame(&[[1.0, 2.0, 3.0]], Semantics::Labels(&[2]))).unwrap();
    let (report, ready) = map.insert_and_prepare(prepared.clone(), &frames[0].borrow());
    assert!(report.is_err_and(|error| error.to_string().contains("3 classes")) && ready.is_ok());
    assert!(map.insert_prepared(prepared).is_err());
    assert!(fingerprint(&map) == before);
}

#[test]
fn every_dropped_point_has_its_reason() {
    let mut map = Mapper::new(
        classes(),
        Config::default().with(|c| {
            c.input.min_range = 1.0;
            c.input.max_range = 50.0;
        }),
    )
    .unwrap();
    let good = [5.0, 1.0, 0.5];
    let points = [
        good,
        [f32::NAN, 0.0, 0.0],
        [f32::INFINITY, 0.0, 0.0],
        [0.0, 0.0, 0.0],
        [0.1, 0.1, 0.1],
        [60.0, 0.0, 0.0],
        good,
        good,
        good,
        good,
    ];
    let mut evidence = vec![2.0; points.len() * CLASSES];
    evidence[6 * CLASSES] = f32::NAN;
    evidence[7 * CLASSES] = f32::NEG_INFINITY;
    evidence[8 * CLASSES..9 * CLASSES].fill(0.0);
    evidence[9 * CLASSES] = -4.0;
    let report = map.insert(&frame(&points, Semantics::Evidence(&evidence))).unwrap();
    let d = report.dropped;
    assert_eq!((d.non_finite_point, d.no_return, d.too_near, d.too_far), (2, 1, 1, 1));
    assert_eq!((d.non_finite_semantics, d.no_evidence, report.repaired), (2, 1, 1));
    assert_eq!((report.received, report.kept), (10, 2));
    assert_eq!(report.received, report.kept + report.dropped.total());
    let labels = [0, 4, 5, u32::MAX];
    let report = map.insert(&frame(&[good; 4], Semantics::Labels(&labels))).unwrap();
    assert_eq!((report.kept, report.dropped.unlabelled), (2, 2));
    let flat = [0.0; 2 * CLASSES];
    let report = map.insert(&frame(&[good; 2], Semantics::Probabilities(&flat))).unwrap();
    assert_eq!((report.kept, report.dropped.improper_opinion), (0, 2));
}

#[test]
fn empty_single_equal_collinear_and_coplanar_frames_map_with_every_strategy() {
    let line: Vec<[f32; 3]> = (0..40).map(|i| [1.0 + i as f32 * 0.1, 2.0, 0.0]).collect();
    let plane: Vec<[f32; 3]> = (0..40).map(|i| [1.0 + (i % 7) as f32, (i / 7) as f32, 0.0]).collect();
    for clustering in e2bki::config::Clustering::NAMES {
        for points in [vec![], vec![[1.0, 2.0, 3.0]], vec![[1.0, 2.0, 3.0]; 50], line.clone(), plane.clone()] {
            let mut config = Config::default();
            config.set_text("clustering", clustering).unwrap();
            let mut map = mapper(&config);
            let labels = vec![3; points.len()];
            let report = map.insert(&frame(&points, Semantics::Labels(&labels))).unwrap();
            assert_eq!(report.kept, points.len());
            let weight: f64 = map.primitives().map(|p| p.weight()).sum();
            assert!(weight <= points.len() as f64 && (points.is_empty() || weight > 0.0));
            let asked: Vec<[f64; 3]> = points.iter().map(|p| p.map(f64::from)).collect();
            let beliefs = map.query(&asked);
            assert!(beliefs.iter().any(|b| b.label() == Some(3)) || points.is_empty());
            assert!(beliefs.iter().all(|b| b.uncertainty().is_finite() && b.variance().is_finite()));
        }
    }
}

#[test]
fn one_class_and_sixty_four_and_a_hundred_classes_work() {
    for count in [1_usize, 2, 64, 100] {
        let classes = ClassSet::from_names((0..count).map(|i| format!("class {i}"))).unwrap();
        let mut map = Mapper::new(classes, Config::default()).unwrap();
        let points: Vec<[f32; 3]> =
            (0..300).map(|i| [1.0 + (i % 30) as f32 * 0.3, (i / 30) as f32 * 0.3, 0.1]).collect();
        let evidence: Vec<f32> =
            (0..300).flat_map(|i| (0..count).map(move |c| if c == i % count { 30.0 } else { 0.1 })).collect();
        for _ in 0..3 {
            map.insert(&frame(&points, Semantics::Evidence(&evidence))).unwrap();
        }
        assert!(!map.is_empty());
        let rebuilt = map.voxels(0.2).unwrap();
        let live: Vec<Option<usize>> = map.live_voxels().map(|v| v.belief.label()).collect();
        assert_eq!(live, rebuilt.beliefs.iter().map(|b| b.label()).collect::<Vec<_>>());
        for (i, p) in map.primitives().enumerate().take(20) {
            assert!((p.probability().iter().sum::<f32>() - 1.0).abs() < 1e-4, "primitive {i}");
        }
    }
}

#[test]
fn queries_of_nonsense_are_unobserved() {
    let (map, _) = map_of(&drive(1, 500), &Config::default());
    let beliefs = map.query(&[[f64::NAN, 0.0, 0.0], [f64::INFINITY, 0.0, 0.0], [1e300, -1e300, 0.0], [1e9, 0.0, 0.0]]);
    assert!(beliefs.iter().all(|b| !b.observed() && b.label().is_none()));
    assert!(map.query(&[]).is_empty());
    let empty = mapper(&Config::default());
    assert!(!empty.query(&[[0.0; 3]]).get(0).observed());
    assert!(empty.bev(0.2).unwrap().centers.is_empty() && empty.live_voxels().next().is_none());
}

#[test]
fn maps_of_other_classes_do_not_merge() {
    let (mut map, _) = map_of(&drive(1, 500), &Config::default());
    let before = fingerprint(&map);
    let other = Mapper::new(ClassSet::from_names(["a", "b"]).unwrap(), Config::default()).unwrap();
    assert!(map.merge(&other).unwrap_err().to_string().contains("classes differ"));
    assert!(fingerprint(&map) == before);
    assert!(Mapper::new(classes(), Config::default().with(|c| c.kernel.prior = -1.0)).is_err());
}

/// Floats that break things.
fn nasty() -> impl Strategy<Value = f32> {
    prop_oneof![
        4 => -50.0..50.0_f32,
        1 => prop_oneof![
            Just(0.0), Just(-0.0), Just(f32::NAN), Just(f32::INFINITY), Just(f32::NEG_INFINITY),
            Just(f32::MAX), Just(f32::MIN_POSITIVE), Just(1e-40), Just(-1e30), Just(1e7),
        ],
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]
    #[test]
    fn any_floats_in_any_form_are_mapped_or_counted(
        points in prop::collection::vec(prop::array::uniform3(nasty()), 0..60),
        values in prop::collection::vec(nasty(), 60 * 3),
        form in 0..6_usize,
        strategy in 0..4_usize,
    ) {
        let count = points.len();
        let (rows, column) = (&values[..count * 2], &values[120..120 + count]);
        let labels: Vec<u32> = column.iter().map(|v| *v as u32 % 4).collect();
        let semantics = match form {
            0 => Semantics::Evidence(rows),
            1 => Semantics::Dirichlet(rows),
            2 => Semantics::Opinion { probabilities: rows, uncertainty: column },
            3 => Semantics::Probabilities(rows),
            4 => Semantics::Logits { values: rows, kind: LogitKind::ExpEvidence },
            _ => Semantics::Labels(&labels),
        };
        let mut config = Config::default().with(|c| c.views.live_voxels = true);
        config.set_text("clustering", e2bki::config::Clustering::NAMES[strategy]).unwrap();
        let mut map = Mapper::new(ClassSet::from_names(["a", "b"]).unwrap(), config).unwrap();
        for _ in 0..2 {
            let report = map.insert(&frame(&points, semantics)).unwrap();
            prop_assert_eq!(report.received, report.kept + report.dropped.total());
        }
        for p in map.primitives() {
            prop_assert!(p.mean().iter().all(|v| v.is_finite()) && p.weight() >= 1.0);
            prop_assert!((0.0..=1.0).contains(&p.uncertainty()));
            prop_assert!((p.probability().iter().sum::<f32>() - 1.0).abs() < 1e-4);
            prop_assert!(p.ellipsoid().semi_axes.iter().all(|a| *a > 0.0 && a.is_finite()));
        }
        for voxel in map.live_voxels() {
            prop_assert!(voxel.belief.observed() && (0.0..=1.0).contains(&voxel.belief.uncertainty()));
        }
    }
}
