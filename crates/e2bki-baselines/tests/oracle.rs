//! Every rule against the same rule written plainly, in space and in the plane, over several frames.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::collections::{BTreeMap, BTreeSet};

use common::{Cloud, Map, Seen, center_of, classes, kernel_map, one_hot, voxel_of, voxels_near};
use e2bki::kernel::sparse_kernel;
use e2bki::{Beliefs, Config, SemanticMapper};
use e2bki_baselines::{Baseline, BuildOptions, ConvBki, ConvKernels};
use proptest::prelude::*;

const CLASSES: usize = 4;

fn config() -> Config {
    Config::default().with(|c| {
        c.run.threads = 1;
        c.fusion.drop_uncertain = 0.1;
        c.input.context = 0.0;
        c.input.class_trust = 0.0;
    })
}

fn clouds(seed: u64) -> [Cloud; 2] {
    [
        Cloud::random(seed, 150, CLASSES, [1000.3, -20.0, 1.5]),
        Cloud::random(seed + 1, 90, CLASSES, [1000.9, -20.3, 1.4]),
    ]
}

fn built(baseline: Baseline, clouds: &[Cloud]) -> Box<dyn SemanticMapper> {
    let options = BuildOptions { bev: true, ..BuildOptions::default() };
    let map = baseline.build_with(classes(CLASSES), &config(), options).unwrap();
    filled(map, clouds)
}

fn filled(mut map: Box<dyn SemanticMapper>, clouds: &[Cloud]) -> Box<dyn SemanticMapper> {
    for cloud in clouds {
        let report = map.insert(&cloud.frame()).unwrap();
        assert_eq!(report.received, report.kept + report.dropped.total());
        assert_eq!(report.kept, report.clusters + report.gated);
    }
    map
}

/// Adds maps of single frames.
fn summed(frames: impl Iterator<Item = Map>) -> Map {
    let mut total = Map::new();
    for frame in frames {
        for (voxel, sums) in frame {
            let row = total.entry(voxel).or_insert_with(|| vec![0.0; CLASSES]);
            row.iter_mut().zip(sums).for_each(|(a, b)| *a += b);
        }
    }
    total
}

/// Compares the voxels of a map with the expected ones: values to 1e-5 of a voxel's mass, presence where it matters.
fn compare(what: &str, centers: Vec<[f64; 3]>, beliefs: &Beliefs, expected: &Map, axes: usize) {
    let resolution = config().views.resolution;
    let mut found = BTreeSet::new();
    for (i, center) in centers.into_iter().enumerate() {
        let voxel = voxel_of(center, resolution, axes);
        found.insert(voxel);
        let Some(sums) = expected.get(&voxel) else {
            let belief = beliefs.get(i);
            let nothing = belief.evidence() < 1e-6 || belief.semantic_uncertainty() > 1.0 - 1e-6;
            assert!(nothing, "{what}: {voxel:?} should be empty");
            continue;
        };
        let mass: f64 = sums.iter().sum();
        for (alpha, sum) in beliefs.alpha(i).zip(sums) {
            let error = (alpha - config().kernel.prior - sum).abs();
            assert!(error < 1e-5 * mass.max(1e-2), "{what} {voxel:?}: {alpha} {sum} of {mass}");
        }
        assert!((beliefs.get(i).evidence() - mass).abs() < 1e-5 * mass.max(1e-2), "{what}");
    }
    for (voxel, sums) in expected {
        assert!(found.contains(voxel) || sums.iter().sum::<f64>() < 1e-6, "{what}: {voxel:?} is missing");
    }
}

/// Both views of a map against an oracle for a number of axes.
fn check(what: &str, map: &dyn SemanticMapper, expected: impl Fn(usize) -> Map) {
    let voxels = map.voxels().unwrap();
    assert!(!voxels.centers.is_empty());
    assert_eq!(map.query(&voxels.centers).unwrap(), voxels.beliefs);
    compare(what, voxels.centers, &voxels.beliefs, &expected(3), 3);
    let cells = map.bev().unwrap();
    assert_eq!(map.query_bev(&cells.centers).unwrap(), cells.beliefs);
    let centers = cells.centers.iter().map(|c| [c[0], c[1], 0.0]).collect();
    compare(&format!("{what} from above"), centers, &cells.beliefs, &expected(2), 2);
}

/// Points that pass the uncertainty gate of their frame.
fn gated(mut seen: Vec<Seen>) -> Vec<Seen> {
    let mut order: Vec<f64> = seen.iter().map(|p| p.u).collect();
    order.sort_by(f64::total_cmp);
    let limit = order[(order.len() as f64 * 0.9) as usize];
    seen.retain(|p| p.u <= limit);
    seen
}

fn sharp_edge(points: &[Seen], axes: usize) -> Map {
    let config = config();
    let block_of = |voxel: [i64; 3]| -> [i64; 3] {
        std::array::from_fn(|a| if a < axes { (voxel[a] + 1).div_euclid(2) } else { 0 })
    };
    let mut blocks: BTreeMap<[i64; 3], Vec<&Seen>> = BTreeMap::new();
    for point in points {
        blocks.entry(block_of(voxel_of(point.position, config.views.resolution, axes))).or_default().push(point);
    }
    let mut map = Map::new();
    for voxel in voxels_near(points, config.views.resolution, 4, axes) {
        let block = block_of(voxel);
        let faces: Vec<[i64; 3]> = (0..2 * axes)
            .map(|f| std::array::from_fn(|a| block[a] + if a == f / 2 { 2 * (f as i64 % 2) - 1 } else { 0 }))
            .collect();
        let beyond: Vec<&Seen> = faces.iter().filter_map(|f| blocks.get(f)).flatten().copied().collect();
        let (sources, length) = match blocks.get(&block) {
            Some(own) => {
                let count = |c: usize| own.iter().filter(|p| p.label == c).count() as f64;
                let most = (0..CLASSES).map(count).fold(0.0, f64::max);
                let present = (0..CLASSES).filter(|c| count(*c) > 0.0).count() as f64;
                let all = CLASSES as f64;
                let mixture = 1.0 - most / own.len() as f64 + present.ln() / (all * all.ln());
                let mut sources = own.clone();
                if mixture > 0.3 {
                    sources.extend(beyond);
                }
                (sources, (3.0 + 2.0 * mixture) * config.views.resolution)
            }
            None if faces.iter().filter(|f| blocks.contains_key(*f)).count() >= 2 => {
                (beyond, 5.0 * config.views.resolution)
            }
            None => continue,
        };
        let mut sums = vec![0.0; CLASSES];
        for point in sources {
            let d = point.distance(center_of(voxel, config.views.resolution), axes);
            sums[point.label] += (1.0 - d / length).max(0.0);
        }
        if sums.iter().sum::<f64>() > 0.0 {
            map.insert(voxel, sums);
        }
    }
    map
}

fn convolution(points: &[Seen], kernels: &ConvKernels, axes: usize) -> Map {
    let r = config().views.resolution;
    let mut map = Map::new();
    for voxel in voxels_near(points, r, 2, axes) {
        let mut sums = vec![0.0; CLASSES];
        for point in points {
            let bin = voxel_of(point.position, r, axes);
            let [x, y, z]: [f64; 3] = std::array::from_fn(|a| (voxel[a] - bin[a]) as f64);
            if x.abs().max(y.abs()).max(z.abs()) <= 2.0 {
                for c in 0..CLASSES {
                    let across = sparse_kernel(r * x.hypot(y), kernels.horizontal[c]);
                    sums[c] += across * sparse_kernel(r * z.abs(), kernels.vertical[c]) * point.probability(c);
                }
            }
        }
        if sums.iter().sum::<f64>() > 0.0 {
            map.insert(voxel, sums);
        }
    }
    map
}

/// Dempster's rule folded pair by pair: opinions as beliefs and ignorance.
fn dempster(frames: &[Vec<Seen>], axes: usize) -> Map {
    let config = config();
    let points: Vec<Seen> = frames.iter().flatten().cloned().collect();
    let mut map = Map::new();
    for voxel in voxels_near(&points, config.views.resolution, 4, axes) {
        let center = center_of(voxel, config.views.resolution);
        let (mut belief, mut ignorance, mut any) = (vec![0.0; CLASSES], 1.0, false);
        for point in &points {
            let k = sparse_kernel(point.distance(center, axes), config.reach(point.u));
            any |= k > 1e-12;
            let other: Vec<f64> = point.belief.iter().map(|b| k * b).collect();
            let rest = 1.0 - other.iter().sum::<f64>();
            let joint: Vec<f64> =
                (0..CLASSES).map(|c| belief[c] * other[c] + belief[c] * rest + ignorance * other[c]).collect();
            let total = joint.iter().sum::<f64>() + ignorance * rest;
            belief = joint.iter().map(|b| b / total).collect();
            ignorance = ignorance * rest / total;
        }
        if any {
            map.insert(voxel, belief.iter().map(|b| b + ignorance / CLASSES as f64).collect());
        }
    }
    map
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn every_rule_agrees_with_its_plain_form(seed in 0..1_000_000_u64) {
        let clouds = clouds(seed);
        let config = config();
        let frames: Vec<Vec<Seen>> = clouds.iter().map(|cloud| cloud.seen(CLASSES, &config)).collect();

        check("S-CSM", &*built(Baseline::SCsm, &clouds), |axes| {
            let mut map = Map::new();
            for point in frames.iter().flatten() {
                let voxel = voxel_of(point.position, config.views.resolution, axes);
                map.entry(voxel).or_insert_with(|| vec![0.0; CLASSES])[point.label] += 1.0;
            }
            map
        });
        check("S-BKI", &*built(Baseline::SBki, &clouds), |axes| {
            summed(frames.iter().map(|f| kernel_map(f, &config, axes, |_| config.kernel.length_scale, one_hot)))
        });
        check("EBS", &*built(Baseline::Ebs, &clouds), |axes| {
            summed(frames.iter().map(|f| {
                kernel_map(&gated(f.clone()), &config, axes, |p| config.reach(p.u), |p, c| p.probability(c))
            }))
        });
        check("SEE-CSOM", &*built(Baseline::SeeCsom, &clouds), |axes| {
            summed(frames.iter().map(|f| sharp_edge(f, axes)))
        });
        let kernels = ConvKernels { horizontal: vec![0.5, 0.9, 0.15, 0.3], vertical: vec![0.5, 0.1, 1.0, 0.35] };
        for kernels in [ConvKernels::initial(CLASSES), kernels] {
            let options = BuildOptions { bev: true, ..BuildOptions::default() };
            let map = ConvBki::with_kernels_and_options(classes(CLASSES), &config, kernels.clone(), options).unwrap();
            check("ConvBKI", &*filled(Box::new(map), &clouds), |axes| {
                summed(frames.iter().map(|f| convolution(f, &kernels, axes)))
            });
        }
        let passed: Vec<Vec<Seen>> = frames.iter().map(|f| gated(f.clone())).collect();
        let map = built(Baseline::Dst, &clouds);
        check("DST", &*map, |axes| dempster(&passed, axes));
        let beliefs = map.voxels().unwrap().beliefs;
        for (i, belief) in beliefs.iter().enumerate() {
            let beliefs_and_ignorance: f64 = beliefs.alpha(i).map(|a| a - config.kernel.prior).sum();
            prop_assert!((beliefs_and_ignorance - 1.0).abs() < 1e-5);
            prop_assert!((belief.uncertainty() - belief.semantic_uncertainty()).abs() < 1e-12);
        }
    }
}
