//! The views are the same posterior at different places, and it is the posterior of the formulas.

#![allow(clippy::unwrap_used)] // a test may fail loudly

mod common;

use common::*;
use e2bki::config::{ClassFactors, Distance, Doubt, Gated, Growth, Profile, Reach, Shape, Sparsity};
use e2bki::{Config, Mapper, Primitive};
use proptest::prelude::*;

#[path = "common/oracle.rs"]
mod oracle;

use oracle::{kernel_of, surfaces};

/// α at a point by brute force over all primitives, in f64 and from the public formulas alone.
fn brute_force(map: &Mapper, surfaces: &[[f64; 6]], x: [f64; 3]) -> (Vec<f64>, f64, f64) {
    let mut alpha = vec![map.config().kernel.prior; map.classes().len()];
    let (mut mass, mut weighted) = (0.0, 0.0);
    for (p, surface) in map.primitives().zip(surfaces) {
        let k = votes_of(map, &p) * kernel_of(map, &p, *surface, x, false);
        for (a, q) in alpha.iter_mut().zip(&p.probability()) {
            *a += k * f64::from(*q);
        }
        mass += k;
        weighted += k * p.uncertainty();
    }
    (alpha, mass, weighted)
}

/// Witnesses that a primitive's points are worth, by the formula.
fn votes_of(map: &Mapper, p: &Primitive<'_>) -> f64 {
    p.weight() / (1.0 + map.config().kernel.vote_correlation * (p.weight() - 1.0))
}

/// What the semantic uncertainty is in the configured form.
fn doubt(map: &Mapper, alpha: &[f64], mass: f64, weighted: f64) -> f64 {
    if map.config().views.doubt == Doubt::Ignorance {
        return weighted / mass;
    }
    let share = (alpha.iter().copied().fold(0.0, f64::max) - map.config().kernel.prior) / mass;
    let power = |v: f64| v.max(0.0).powf(map.config().views.agreement);
    power(1.0 - share) / (power(share) + power(1.0 - share))
}

fn queries(count: usize) -> Vec<[f64; 3]> {
    let mut rng = e2bki::cluster::Rng::new(99);
    (0..count)
        .map(|_| [-10.0 + 25.0 * rng.uniform(), -7.0 + 14.0 * rng.uniform(), -0.6 + 4.0 * rng.uniform()])
        .collect()
}

fn assert_posterior_is_brute_force(map: &Mapper, points: &[[f64; 3]]) {
    let beliefs = map.query(points);
    let classes = map.classes().len() as f64;
    let surfaces = surfaces(map);
    let mut observed = 0;
    for (i, x) in points.iter().enumerate() {
        let (alpha, mass, weighted) = brute_force(map, &surfaces, *x);
        let belief = beliefs.get(i);
        observed += usize::from(belief.observed());
        for (ours, theirs) in beliefs.alpha(i).zip(&alpha) {
            assert!((ours - theirs).abs() < 2e-4 * (1.0 + theirs), "α at {x:?}: {ours} {theirs}");
        }
        let strength: f64 = alpha.iter().sum();
        assert!((belief.strength() - strength).abs() < 2e-4 * (1.0 + strength));
        if mass > 1e-3 {
            assert!(belief.observed());
            assert!((belief.semantic_uncertainty() - doubt(map, &alpha, mass, weighted)).abs() < 1e-3);
            let sparsity = (classes - 1.0) / (classes * classes * (strength + 1.0));
            assert!((belief.sparsity_literal() - sparsity).abs() < 1e-4);
            let sparsity = match map.config().views.sparsity {
                Sparsity::Literal => sparsity,
                Sparsity::Rescaled => 1.0 / (strength + 1.0),
                _ => 0.0,
            };
            assert!((belief.spatial_uncertainty() - sparsity).abs() < 1e-3, "u_spa at {x:?}");
            let total = (doubt(map, &alpha, mass, weighted) + sparsity).min(1.0);
            assert!((belief.uncertainty() - total).abs() < 2e-3, "u at {x:?}: {} {total}", belief.uncertainty());
            let p = alpha.iter().copied().fold(0.0, f64::max) / strength;
            assert!((belief.variance() - p * (1.0 - p) / (strength + 1.0)).abs() < 1e-4);
            assert!((beliefs.expectation(i).sum::<f64>() - 1.0).abs() < 1e-5);
        }
        if mass == 0.0 && belief.observed() {
            // On the very edge of a kernel, where a distance d in f32 is just within its reach: s = 1 − d/reach is wrong by
            // 1e-3 at most (ellipsoids of many metres), and the kernel falls with 3.2 s⁵, the quadratic one with 2 s; ten votes
            // at most.
            let most = if map.config().kernel.profile == Profile::Quadratic { 2e-2 } else { 1e-13 };
            assert!(belief.evidence() < most, "{} at {x:?}, where nothing reaches", belief.evidence());
        } else if mass == 0.0 {
            assert!(belief.label().is_none() && belief.uncertainty() == 1.0);
        }
    }
    assert!(observed > points.len() / 40, "the test must see something: {observed}");
}

/// Quadratic kernels whose reach grows on planes only, some classes farther than others.
fn quadratic() -> Config {
    Config::default().with(|c| {
        (c.kernel.profile, c.kernel.growth) = (Profile::Quadratic, Growth::Planes);
        (c.kernel.uncertainty_sensitivity, c.kernel.reach_growth) = (0.75, 0.8);
        c.kernel.class_reach = ClassFactors::new(vec![1.0, 1.4, 0.7, 1.0, 2.0]);
    })
}

/// The paper's settings, with clusters of a few dozen points.
fn paper() -> Config {
    Config::preset("paper-urban").unwrap().with(|c| c.clustering.clusters = 40)
}

#[test]
fn posterior_equals_brute_force_over_all_primitives() {
    for config in [
        Config::default(),
        Config::default().with(|c| c.clustering.method = e2bki::config::Clustering::KMeans),
        Config::default().with(|c| c.kernel.shape = Shape::Sphere),
        Config::default().with(|c| c.kernel.reach = Reach::Uniform),
        quadratic(),
        quadratic().with(|c| c.kernel.reach = Reach::Uniform),
        paper(),
    ] {
        let (map, _) = map_of(&drive(3, 3000), &config);
        assert_posterior_is_brute_force(&map, &queries(3000));
    }
}

#[test]
fn every_other_reading_of_the_paper_equals_brute_force() {
    for config in [
        paper().with(|c| c.kernel.shape = Shape::Sphere),
        paper().with(|c| c.kernel.shape = Shape::Point),
        paper().with(|c| c.kernel.distance = Distance::Squared),
        paper().with(|c| c.fusion.gated = Gated::Mute),
        paper().with(|c| c.views.sparsity = Sparsity::Rescaled),
        Config::default().with(|c| c.views.sparsity = Sparsity::None),
    ] {
        let (map, _) = map_of(&drive(2, 2000), &config);
        assert_posterior_is_brute_force(&map, &queries(1000));
    }
}

#[test]
fn sprawling_primitives_are_found_too() {
    // Eight clusters for a whole street: ellipsoids of many metres, far larger than a block.
    let config = Config::default().with(|c| {
        c.clustering.method = e2bki::config::Clustering::KMeans;
        c.clustering.count = e2bki::config::ClusterCount::Total;
        c.clustering.clusters = 8;
        c.kernel.ellipsoid_mass = 0.5;
        c.refinement.merge = false;
    });
    let (map, _) = map_of(&drive(3, 2000), &config);
    let largest = map.primitives().map(|p| p.ellipsoid().semi_axes[2]).fold(0.0, f64::max);
    assert!(largest > 3.0, "{largest}");
    assert_posterior_is_brute_force(&map, &queries(800));
    assert_live_equals_rebuilt(&map);
}

fn assert_live_equals_rebuilt(map: &Mapper) {
    let rebuilt = map.voxels(map.config().views.resolution).unwrap();
    let live: Vec<_> = map.live_voxels().collect();
    assert_eq!(live.len(), rebuilt.centers.len());
    assert_eq!(live.len(), map.live_voxel_count());
    let asked = map.query(&rebuilt.centers);
    for (i, voxel) in live.iter().enumerate() {
        assert_eq!(voxel.center, rebuilt.centers[i]);
        assert_eq!(belief_bits(&voxel.belief), belief_bits(&rebuilt.beliefs.get(i)), "voxel {:?}", voxel.center);
        assert_eq!(belief_bits(&asked.get(i)), belief_bits(&rebuilt.beliefs.get(i)), "query {:?}", voxel.center);
        assert!(asked.alpha(i).eq(rebuilt.beliefs.alpha(i)));
    }
}

#[test]
fn live_view_equals_the_rebuilt_view_and_the_query_at_centres() {
    for refinement in ["prune-then-merge", "one-pass"] {
        let mut config = Config::default().with(|c| {
            c.refinement.prune = true;
            c.refinement.prune_ratio = 1.2;
            c.refinement.merge = true;
        });
        config.set_text("refinement", refinement).unwrap();
        let mut map = mapper(&config);
        let (mut pruned, mut merged) = (0, 0);
        for frame in drive(8, 1500) {
            let report = map.insert(&frame.borrow()).unwrap();
            pruned += report.pruned;
            merged += report.merged;
            assert_live_equals_rebuilt(&map);
        }
        assert!(pruned > 0 && merged > 0, "{refinement}: {pruned} pruned, {merged} merged");
        map.remove_outside([-3.0, -4.0, -1.0], [6.0, 4.0, 3.0]);
        assert_live_equals_rebuilt(&map);
        assert!(map.primitives().all(|p| p.mean()[0] <= 6.0 && p.mean()[1] >= -4.0));
    }
}

#[test]
fn birds_eye_cells_equal_the_query_and_the_planar_brute_force() {
    for reach in [Reach::Surface, Reach::Uniform] {
        for shape in [Shape::Ellipsoid, Shape::Sphere] {
            assert_birds_eye(&Config::default().with(|c| {
                c.kernel.reach = reach;
                c.kernel.shape = shape;
            }));
        }
    }
    assert_birds_eye(&quadratic());
    for shape in [Shape::Sphere, Shape::Point] {
        assert_birds_eye(&paper().with(|c| c.kernel.shape = shape));
    }
}

fn assert_birds_eye(config: &Config) {
    let (map, _) = map_of(&drive(3, 2000), config);
    let bird = map.birds_eye().unwrap();
    let cells = bird.cells(0.2).unwrap();
    assert!(cells.centers.len() > 1000);
    let asked = bird.query(&cells.centers);
    assert_eq!(asked, cells.beliefs);
    // A part of the map shows the same where nothing reaches in from the rest.
    let part = map.birds_eye_within([-8, -8], [7, 7]).unwrap();
    let inner: Vec<usize> =
        (0..cells.centers.len()).filter(|i| cells.centers[*i].iter().all(|v| v.abs() < 4.0)).collect();
    assert!(inner.len() > 100 && part.cells(0.2).unwrap().centers.len() < cells.centers.len());
    for i in inner {
        assert_eq!(part.query(&cells.centers[i..=i]).get(0), cells.beliefs.get(i));
    }
    let surfaces = surfaces(&map);
    for (i, center) in cells.centers.iter().enumerate().step_by(97) {
        let mut alpha = vec![map.config().kernel.prior; CLASSES];
        for (p, surface) in map.primitives().zip(&surfaces) {
            let k = votes_of(&map, &p) * kernel_of(&map, &p, *surface, [center[0], center[1], 0.0], true);
            alpha.iter_mut().zip(&p.probability()).for_each(|(a, q)| *a += k * f64::from(*q));
        }
        for (ours, theirs) in cells.beliefs.alpha(i).zip(&alpha) {
            assert!((ours - theirs).abs() < 3e-4 * (1.0 + theirs), "{ours} {theirs}");
        }
    }
}

#[test]
fn voxels_come_at_any_resolution() {
    let (map, _) = map_of(&drive(2, 1500), &Config::default());
    let coarse = map.voxels(0.5).unwrap();
    let fine = map.voxels(0.07).unwrap();
    assert!(fine.centers.len() > 100 * coarse.centers.len() / 2);
    for voxels in [coarse, fine] {
        assert_eq!(map.query(&voxels.centers), voxels.beliefs);
    }
    for wrong in [0.0, -1.0, f64::NAN, 1e9] {
        assert!(map.voxels(wrong).unwrap_err().to_string().contains("resolution"));
        assert!(map.bev(wrong).is_err());
    }
}

#[test]
fn accumulated_posterior_only_ever_grows() {
    let config = Config::default().with(|c| {
        c.views.posterior = e2bki::config::Posterior::Accumulate;
        c.refinement.prune_ratio = 1.2;
    });
    let mut map = mapper(&config);
    let points = queries(3000);
    let mut before = vec![0.0; points.len()];
    for frame in drive(4, 1500) {
        map.insert(&frame.borrow()).unwrap();
        for (i, belief) in map.query(&points).iter().enumerate() {
            assert!(belief.evidence() >= before[i]);
            before[i] = belief.evidence();
        }
    }
    assert!(before.iter().any(|v| *v > 1.0));
    let voxels = map.voxels(config.views.resolution).unwrap();
    assert_eq!(map.query(&voxels.centers), voxels.beliefs);
    assert!(map.voxels(0.5).is_err() && map.birds_eye().is_err());
    // One frame accumulated is the posterior of that frame's primitives.
    let one = &drive(1, 1500);
    let (accumulated, _) = map_of(one, &config);
    let (refined, _) = map_of(
        one,
        &Config::default().with(|c| {
            c.refinement.prune = false;
            c.refinement.merge = false;
        }),
    );
    // Summed by age in one and by place in the other, which is the same but for rounding.
    let (accumulated, refined) = (accumulated.voxels(0.2).unwrap(), refined.voxels(0.2).unwrap());
    assert_eq!(accumulated.centers, refined.centers);
    for (a, b) in accumulated.beliefs.iter().zip(refined.beliefs.iter()) {
        assert!((a.evidence() - b.evidence()).abs() <= 1e-5 * b.evidence(), "{} {}", a.evidence(), b.evidence());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn any_configuration_keeps_the_views_equal(
        cell in 0.1..0.6_f64, resolution in 0.08..0.5_f64, beta in 0.3..1.5_f64, merge in 0.05..0.6_f64, seed in 0..1000_u64,
    ) {
        let config = Config::default().with(|c| {
            c.clustering.cell_size = cell;
            c.views.resolution = resolution;
            c.kernel.uncertainty_sensitivity = beta;
            c.refinement.merge_radius = merge;
            c.refinement.prune_ratio = 1.3;
            c.refinement.merge = true;
        });
        let mut map = mapper(&config);
        for i in 0..3 {
            map.insert(&frame(seed * 7 + i, i as f64 * 0.7, 400).borrow()).unwrap();
        }
        assert_live_equals_rebuilt(&map);
    }
}
