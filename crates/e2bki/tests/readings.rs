//! The other readings of the paper, each against what its rule says of a few points that can be worked out by hand.

#![allow(clippy::unwrap_used)] // a test may fail loudly

mod common;

#[cfg(test)]
mod tests {
    use super::common::*;
    use e2bki::config::{Distance, Gate, Gated, Sparsity};
    use e2bki::kernel::sparse_kernel;
    use e2bki::{Config, Frame, Mapper, Pose, Semantics};

    /// One point of a class at a place of the world, seen from another; `evidence` says how surely.
    fn see(map: &mut Mapper, from: [f64; 3], place: [f64; 3], class: usize, evidence: f32) {
        let points = [std::array::from_fn(|i| (place[i] - from[i]) as f32)];
        let mut row = [0.0; CLASSES];
        row[class] = evidence;
        let world_from_sensor = Pose::from_translation(from).unwrap();
        map.insert(&Frame { points: &points, semantics: Semantics::Evidence(&row), world_from_sensor, scan: None })
            .unwrap();
    }

    /// The paper's settings with a fixed gate at u = 0.5.
    fn config(gated: Gated) -> Config {
        Config::preset("paper-rellis").unwrap().with(|c| {
            c.fusion.gate = Gate::Static;
            c.fusion.max_uncertainty = 0.5;
            c.fusion.gated = gated;
        })
    }

    /// u = C/(S + C): 0.048 and 0.83.
    const SURE: f32 = 100.0;
    const UNSURE: f32 = 1.0;

    #[test]
    fn without_refinement_a_muted_primitive_is_as_good_as_dropped() {
        let of = |gated| {
            let config = Config::preset("paper-urban").unwrap().with(|c| {
                c.fusion.gated = gated;
                c.clustering.clusters = 30;
                c.refinement.prune = false;
                c.refinement.merge = false;
            });
            map_of(&drive(3, 2000), &config)
        };
        let ((dropped, reports), (muted, _)) = (of(Gated::Drop), of(Gated::Mute));
        let stopped: usize = reports.iter().map(|report| report.gated).sum();
        assert!(stopped > 20);
        assert_eq!(muted.len(), dropped.len() + stopped);
        assert_eq!(muted.primitives().filter(|p| p.reach() == 0.0).count(), stopped);
        assert!(muted.live_voxels().eq(dropped.live_voxels()));
        let voxels = dropped.voxels(0.3).unwrap();
        assert_eq!(muted.query(&voxels.centers), voxels.beliefs);
    }

    #[test]
    fn a_muted_primitive_prunes_what_a_dropped_one_leaves() {
        for (gated, left, label) in [(Gated::Drop, 1, Some(0)), (Gated::Mute, 1, None)] {
            let mut map = mapper(&config(gated));
            // Seen from 20 m; then contradicted, unsurely, from 2 m.
            see(&mut map, [0.0; 3], [20.0, 0.0, 0.0], 0, SURE);
            see(&mut map, [18.0, 0.0, 0.0], [20.2, 0.0, 0.0], 1, UNSURE);
            assert_eq!(map.len(), left, "{gated:?}");
            assert_eq!(map.query(&[[20.0, 0.0, 0.0]]).get(0).label(), label, "{gated:?}");
        }
    }

    #[test]
    fn a_muted_primitive_merges_into_what_is_heard() {
        for (gated, weight) in [(Gated::Drop, 1.0), (Gated::Mute, 2.0)] {
            let mut map = mapper(&config(gated));
            see(&mut map, [0.0; 3], [5.0, 0.0, 0.0], 0, SURE);
            see(&mut map, [0.0; 3], [5.1, 0.0, 0.0], 0, UNSURE);
            let all: Vec<_> = map.primitives().collect();
            assert_eq!((all.len(), all[0].weight()), (1, weight), "{gated:?}");
            assert!(all[0].reach() > 0.0 && map.query(&[[5.0, 0.0, 0.0]]).get(0).observed());
        }
    }

    #[test]
    fn the_squared_distance_is_the_kernels_length_and_ends_at_the_root_of_the_reach() {
        for distance in [Distance::Euclidean, Distance::Squared] {
            let mut map = mapper(&Config::preset("paper-rellis").unwrap().with(|c| c.kernel.distance = distance));
            see(&mut map, [0.0; 3], [5.0, 0.0, 0.0], 0, 1e9);
            let (reach, radius) = (0.15 * std::f64::consts::E, (0.584_374_4_f64 * 1e-4).sqrt());
            for d in [0.0, 0.1, 0.2, 0.35, 0.45, 0.6, 0.7] {
                let length = if distance == Distance::Squared { d * d } else { d };
                let (place, expected) = ([5.0 + radius + d, 0.0, 0.0], sparse_kernel(length, reach));
                let kernel = map.primitives().next().unwrap().kernel(place);
                assert!((kernel - expected).abs() < 1e-6, "{distance:?} at {d} m: {kernel} {expected}");
                let evidence = map.query(&[place]).get(0).evidence();
                assert!((evidence - expected).abs() < 1e-4, "{distance:?} at {d} m: {evidence} {expected}");
            }
        }
        // As docs/method.md has it.
        assert!((sparse_kernel(0.04, 0.15 * std::f64::consts::E) - 0.94).abs() < 0.005);
    }

    #[test]
    fn rescaled_sparsity_is_one_over_the_strength_and_one() {
        for (sparsity, expected) in [
            (Sparsity::Literal, (CLASSES as f64 - 1.0) / (CLASSES as f64).powi(2)),
            (Sparsity::Rescaled, 1.0),
            (Sparsity::None, 0.0),
        ] {
            let mut map = mapper(&Config::preset("paper-rellis").unwrap().with(|c| c.views.sparsity = sparsity));
            see(&mut map, [0.0; 3], [5.0, 0.0, 0.0], 0, SURE);
            // At the point itself k = 1: S = 1 + C·α0. Its u is C/(S + C) of the evidence.
            let belief = map.query(&[[5.0, 0.0, 0.0]]).get(0);
            let (u_sem, strength) = (CLASSES as f64 / (f64::from(SURE) + CLASSES as f64), 1.0 + CLASSES as f64 * 1e-3);
            assert!((belief.spatial_uncertainty() - expected / (strength + 1.0)).abs() < 1e-5, "{sparsity:?}");
            assert!((belief.uncertainty() - (u_sem + expected / (strength + 1.0))).abs() < 1e-5, "{sparsity:?}");
            // Nothing is known where nothing was seen, in any form.
            assert_eq!(map.query(&[[9.0, 0.0, 0.0]]).get(0).uncertainty(), 1.0);
        }
    }
}
