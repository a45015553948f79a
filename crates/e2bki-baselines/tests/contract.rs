//! What every baseline promises besides its formula: determinism, moved frames, bad input, options.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use common::{Cloud, classes};
use e2bki::config::Gate;
use e2bki::{Config, Error, Frame, Pose, SemanticMapper, Semantics};
use e2bki_baselines::{Baseline, BuildOptions, ConvBki, ConvKernels, Thinning};

const CLASSES: usize = 5;
const BEV: BuildOptions = BuildOptions { bev: true, thinning: None, context: false, occupied_mass: 0.0 };

#[test]
fn any_number_of_threads_gives_the_same_bytes() {
    let clouds: Vec<Cloud> = (0..3).map(|i| Cloud::random(i, 20_000, CLASSES, [0.4 * i as f64, 0.0, 1.5])).collect();
    for baseline in Baseline::ALL {
        let mut reference = None;
        for threads in [1, 2, 7] {
            let config = Config::default().with(|c| c.run.threads = threads);
            let mut map = baseline.build_with(classes(CLASSES), &config, BEV).unwrap();
            clouds.iter().for_each(|cloud| assert!(map.insert(&cloud.frame()).is_ok()));
            let outcome = (map.voxels().unwrap(), map.bev().unwrap());
            assert_eq!(*reference.get_or_insert_with(|| outcome.clone()), outcome, "{} {threads}", baseline.name());
        }
    }
}

#[test]
fn a_moved_frame_is_the_same_map_moved() {
    // By whole voxels and blocks, and by far: the grid is as exact there.
    let near = Cloud::random(3, 4000, CLASSES, [0.05, 0.03, 0.01]);
    let far = Cloud { pose: Pose::new(near.pose.rotation(), [100_000.05, -40_000.0 + 0.03, 16.01]).unwrap(), ..near };
    let near = Cloud::random(3, 4000, CLASSES, [0.05, 0.03, 0.01]);
    for baseline in Baseline::ALL {
        let mut maps = [&near, &far].map(|cloud| {
            let mut map = baseline.build_with(classes(CLASSES), &Config::default(), BEV).unwrap();
            map.insert(&cloud.frame()).unwrap();
            map.voxels().unwrap()
        });
        assert_eq!(maps[0].centers.len(), maps[1].centers.len(), "{}", baseline.name());
        for (a, b) in maps[0].centers.iter().zip(&maps[1].centers) {
            let moved = [a[0] + 100_000.0, a[1] - 40_000.0, a[2] + 16.0];
            assert!(moved.iter().zip(b).all(|(m, b)| (m - b).abs() < 1e-6), "{moved:?} {b:?}");
        }
        for (i, (a, b)) in maps[0].beliefs.iter().zip(maps[1].beliefs.iter()).enumerate() {
            assert!((a.evidence() - b.evidence()).abs() < 1e-4 * a.evidence().max(1e-2), "{} {i}", baseline.name());
        }
        maps.reverse();
    }
}

#[test]
fn bad_queries_are_unobserved_and_bad_frames_are_refused_or_counted() {
    for baseline in Baseline::ALL {
        let mut map = baseline.build_with(classes(CLASSES), &Config::default(), BEV).unwrap();
        map.insert(&Cloud::random(1, 500, CLASSES, [0.0; 3]).frame()).unwrap();
        let before = map.voxels().unwrap();
        let nowhere = [[f64::NAN, 0.0, 0.0], [0.0, f64::INFINITY, 0.0], [1e300, 0.0, 0.0], [0.0, 0.0, 1e9]];
        assert!(map.query(&nowhere).unwrap().iter().all(|b| b.label().is_none() && b.uncertainty() == 1.0));
        assert!(map.query_voxels(&nowhere).unwrap().iter().all(|b| !b.observed()));
        assert!(map.query_bev(&[[f64::NAN, 0.0]]).unwrap().iter().all(|b| !b.observed()));
        assert!(map.query(&[]).unwrap().is_empty());
        let frame = |points, semantics| Frame { points, semantics, world_from_sensor: Pose::IDENTITY, scan: None };
        let none = map.insert(&frame(&[], Semantics::Labels(&[]))).unwrap();
        assert_eq!((none.received, none.voxels_updated), (0, 0));
        let wrong = map.insert(&frame(&[[1.0; 3]], Semantics::Labels(&[1, 2])));
        assert!(matches!(wrong, Err(Error::Length { found: 2, expected: 1, .. })));
        assert!(map.insert(&frame(&[[1.0; 3]], Semantics::Evidence(&[1.0]))).is_err());
        let points = [[f32::NAN, 0.0, 0.0], [0.0; 3], [1e30, 0.0, 0.0], [1.0, 1.0, 1.0], [9e6, 0.0, 0.0]];
        let report = map.insert(&frame(&points, Semantics::Labels(&[1, 1, 1, 77, u32::MAX]))).unwrap();
        assert_eq!((report.kept, report.dropped.total()), (0, 5), "{}", baseline.name());
        assert_eq!(map.voxels().unwrap(), before);
        let report = map.insert(&frame(&[[1.9e7, 0.0, 0.0]], Semantics::Labels(&[1]))).unwrap();
        assert_eq!((report.kept, report.voxels_updated > 0), (1, true));
    }
    // Indices end somewhere: beyond, points are counted as too far.
    let config = Config::default().with(|c| {
        c.views.resolution = 0.005;
        c.kernel.length_scale = 0.01;
    });
    let mut map = Baseline::SBki.build(classes(CLASSES), &config).unwrap();
    let report = map
        .insert(&Frame {
            points: &[[1.9e7, 0.0, 0.0]],
            semantics: Semantics::Labels(&[1]),
            world_from_sensor: Pose::IDENTITY,
            scan: None,
        })
        .unwrap();
    assert_eq!((report.kept, report.dropped.too_far, report.voxels_updated), (0, 1, 0));
}

#[test]
fn options_that_cannot_work_say_what_would() {
    let none = Baseline::Ebs.build(classes(2), &Config::default()).unwrap();
    assert!(none.bev().unwrap_err().to_string().contains("bev: true"));
    assert!(none.query_bev(&[[0.0; 2]]).is_err());
    let wide = Config::default().with(|c| {
        c.kernel.length_scale = 10.0;
        c.views.resolution = 0.1;
    });
    let message = Baseline::SBki.build(classes(2), &wide).err().unwrap().to_string();
    assert!(message.contains("length_scale") && message.contains("3.200"), "{message}");
    assert!(Baseline::Ebs.build(classes(2), &wide).is_err() && Baseline::SCsm.build(classes(2), &wide).is_ok());
    assert!(Baseline::SCsm.build(classes(2), &Config::default().with(|c| c.kernel.prior = -1.0)).is_err());
    for thinning in [Thinning { points: 0, cell: 0.4 }, Thinning { points: 1, cell: f64::NAN }] {
        let options = BuildOptions { thinning: Some(thinning), ..BuildOptions::default() };
        assert!(Baseline::SBki.build_with(classes(2), &Config::default(), options).is_err());
    }
    assert!(ConvBki::with_kernels(classes(3), &Config::default(), ConvKernels::initial(2)).is_err());
    for baseline in Baseline::ALL {
        assert_eq!(Baseline::from_name(baseline.name()), Some(baseline));
    }
}

#[test]
fn gate_and_thinning_leave_out_what_they_should() {
    let cloud = Cloud::random(8, 1000, CLASSES, [0.0; 3]);
    let insert = |baseline: Baseline, config: &Config, thinning| {
        let options = BuildOptions { thinning, ..BuildOptions::default() };
        let mut map = baseline.build_with(classes(CLASSES), config, options).unwrap();
        map.insert(&cloud.frame()).unwrap()
    };
    let config = Config::default().with(|c| {
        c.fusion.drop_uncertain = 0.1;
        c.input.context = 0.0;
        c.input.class_trust = 0.0;
    });
    let report = insert(Baseline::Ebs, &config, None);
    assert_eq!((report.kept, report.gated, report.clusters), (1000, 99, 901));
    assert_eq!(insert(Baseline::Ebs, &config.clone().with(|c| c.fusion.gate = Gate::Off), None).gated, 0);
    assert_eq!(insert(Baseline::SBki, &config, None).gated, 0);
    let fixed = config.clone().with(|c| {
        c.fusion.gate = Gate::Static;
        c.fusion.max_uncertainty = 0.3;
    });
    let above = cloud.seen(CLASSES, &config).iter().filter(|p| p.u > 0.3).count();
    assert_eq!(insert(Baseline::Dst, &fixed, None).gated, above);
    // The plain count: the first two of each cell.
    let mut cells = std::collections::BTreeMap::new();
    for point in cloud.seen(CLASSES, &config) {
        *cells.entry(common::voxel_of(point.position, 0.4, 3)).or_insert(0_usize) += 1;
    }
    let expected: usize = cells.values().map(|n| n.min(&2)).sum();
    assert_eq!(insert(Baseline::SBki, &config, Some(Thinning { points: 2, cell: 0.4 })).clusters, expected);
}

#[test]
fn voxels_with_less_than_the_mass_of_occupied_ones_have_no_answer() {
    let cloud = Cloud::random(8, 1000, CLASSES, [0.0; 3]);
    let map = |occupied_mass| {
        let options = BuildOptions { bev: true, occupied_mass, ..BuildOptions::default() };
        let kernels = ConvKernels::initial(CLASSES);
        let mut map =
            ConvBki::with_kernels_and_options(classes(CLASSES), &Config::default(), kernels, options).unwrap();
        map.insert(&cloud.frame()).unwrap();
        map
    };
    let (all, some) = (map(0.0), map(1.0));
    let (every, left) = (all.voxels().unwrap(), some.voxels().unwrap());
    let heavy: Vec<usize> = (0..every.centers.len()).filter(|i| every.beliefs.get(*i).evidence() >= 1.0).collect();
    assert!(!heavy.is_empty() && heavy.len() < every.centers.len());
    assert_eq!(left.centers, heavy.iter().map(|i| every.centers[*i]).collect::<Vec<_>>());
    // Asked at places, the same voxels answer, and as they did.
    for (whole, part) in all.query(&every.centers).unwrap().iter().zip(some.query(&every.centers).unwrap().iter()) {
        assert_eq!(part.observed(), whole.evidence() >= 1.0);
        assert!(!part.observed() || part.label() == whole.label());
    }
    assert!(some.bev().unwrap().centers.len() <= all.bev().unwrap().centers.len());
    let options = BuildOptions { occupied_mass: f32::NAN, ..BuildOptions::default() };
    assert!(Baseline::SBki.build_with(classes(2), &Config::default(), options).is_err());
}

#[test]
fn context_is_for_whoever_asks_for_it() {
    let cloud = Cloud::random(8, 1000, CLASSES, [0.0; 3]);
    let voxels = |config: &Config, context| {
        let options = BuildOptions { context, ..BuildOptions::default() };
        let mut map = Baseline::SBki.build_with(classes(CLASSES), config, options).unwrap();
        map.insert(&cloud.frame()).unwrap();
        map.voxels().unwrap()
    };
    let with = Config::default();
    let without = with.clone().with(|c| {
        c.input.context = 0.0;
        c.input.class_trust = 0.0;
    });
    assert!(with.input.context > 0.0);
    // Left out unless asked for, and then what the configuration says.
    assert!(voxels(&with, false) == voxels(&without, false));
    assert!(voxels(&without, true) == voxels(&without, false));
    assert!(voxels(&with, true) != voxels(&with, false));
}
