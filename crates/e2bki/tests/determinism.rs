//! Same input, same bytes: any number of threads, any grouping into maps; and a moved world gives a moved map.

#![allow(clippy::unwrap_used)] // a test may fail loudly

mod common;

use common::*;
use e2bki::config::{ClusterCount, Clustering, Gate};
use e2bki::{Config, Pose};

#[test]
fn one_two_and_eight_threads_give_the_same_bytes() {
    let frames = drive(5, 6000);
    for clustering in [Clustering::Cells, Clustering::KMeans, Clustering::Fps, Clustering::Random] {
        let prints: Vec<Vec<u64>> = [1, 2, 8]
            .into_iter()
            .map(|threads| {
                let config = Config::default().with(|c| {
                    c.clustering.method = clustering;
                    c.run.threads = threads;
                    c.refinement.prune_ratio = 1.3;
                    c.refinement.merge = true;
                    c.clustering.max_extent = 2.0;
                });
                let (map, _) = map_of(&frames, &config);
                let mut print = fingerprint(&map);
                for belief in map.bev(0.3).unwrap().beliefs.iter() {
                    print.extend(belief_bits(&belief));
                }
                print
            })
            .collect();
        assert!(prints[0].len() > 10_000);
        assert!(prints[0] == prints[1] && prints[1] == prints[2], "{clustering:?}");
    }
}

#[test]
fn frames_prepared_while_others_are_added_give_the_map_of_one_after_the_other() {
    let frames = drive(5, 4000);
    for clustering in [Clustering::Cells, Clustering::KMeans, Clustering::Random] {
        for threads in [1, 2, 8] {
            let config = Config::default().with(|c| {
                c.clustering.method = clustering;
                c.run.threads = threads;
                c.refinement.merge = true;
                c.clustering.max_extent = 2.0;
            });
            let (expected, reports) = map_of(&frames, &config);
            let mut map = mapper(&config);
            let mut prepared = map.prepare(&frames[0].borrow()).unwrap();
            for (next, expected) in frames[1..].iter().zip(&reports) {
                // A frame that cannot be used says so, and takes nobody's turn.
                let mut broken = next.borrow();
                broken.points = &broken.points[1..];
                let mut other = map.clone();
                let (report, ready) = other.insert_and_prepare(prepared.clone(), &broken);
                assert!(report.is_ok() && ready.is_err());
                let (report, ready) = map.insert_and_prepare(prepared, &next.borrow());
                let report = report.unwrap();
                assert_eq!((report.clusters, report.primitives), (expected.clusters, expected.primitives));
                assert_eq!(report.received, report.kept + report.dropped.total());
                assert_eq!(fingerprint(&other), fingerprint(&map));
                prepared = ready.unwrap();
            }
            map.insert_prepared(prepared).unwrap();
            assert!(fingerprint(&map) == fingerprint(&expected), "{clustering:?} {threads}");
            assert_eq!(map.frames(), 5);

            // The same by a thread of its own, which is ahead of the map.
            let mut map = mapper(&config);
            let preparer = map.preparer();
            std::thread::scope(|scope| {
                let (sender, ready) = std::sync::mpsc::sync_channel(1);
                let frames = &frames;
                scope.spawn(move || {
                    for (number, frame) in frames.iter().enumerate() {
                        sender.send(preparer.prepare(&frame.borrow(), number as u64).unwrap()).unwrap();
                    }
                });
                for prepared in ready {
                    map.insert_prepared(prepared).unwrap();
                }
            });
            assert!(fingerprint(&map) == fingerprint(&expected), "{clustering:?} {threads}, ahead");
        }
    }
}

/// Parallel iterators put a frame on the stack for every time they are split, and for what a waiting thread does meanwhile.
#[test]
fn small_stacks_are_enough() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(4).stack_size(256 << 10).build().unwrap();
    let frames = drive(4, 12_000);
    for clustering in [Clustering::Cells, Clustering::KMeans] {
        let config = Config::default().with(|c| {
            c.clustering.method = clustering;
            c.run.threads = 0;
            c.refinement.merge = true;
            c.clustering.max_extent = 2.0;
        });
        let here = pool.install(|| {
            let mut map = mapper(&config);
            let mut prepared = map.prepare(&frames[0].borrow()).unwrap();
            for next in &frames[1..] {
                prepared = map.insert_and_prepare(prepared, &next.borrow()).1.unwrap();
            }
            map.insert_prepared(prepared).unwrap();
            (fingerprint(&map), map.bev(0.3).unwrap().beliefs.len(), map.voxels(0.1).unwrap().centers.len())
        });
        assert!(here.1 > 1000 && here.2 > 1000);
        assert!(here.0 == fingerprint(&map_of(&frames, &config).0), "{clustering:?}");
    }
}

/// Sums and log-evidence of all primitives, without ids, sorted.
fn contents(map: &e2bki::Mapper) -> Vec<Vec<u64>> {
    let mut all: Vec<Vec<u64>> = map
        .primitives()
        .map(|p| {
            let s = p.sums();
            let mut bits = vec![p.label() as u64, s.weight.to_bits(), s.range.to_bits()];
            bits.extend(s.origin.map(|v| v as u64));
            bits.extend(s.first.map(f64::to_bits));
            bits.extend(s.second.map(|v| v as u64));
            bits.extend(p.log_evidence().iter().map(|v| v.to_bits()));
            bits
        })
        .collect();
    all.sort();
    all
}

#[test]
fn half_maps_merged_are_the_map_of_everything_before_refinement_bit_for_bit() {
    let config = Config::default().with(|c| {
        c.refinement.prune = false;
        c.refinement.merge = false;
        c.fusion.gate = Gate::Off;
    });
    let frames = drive(6, 4000);
    let (whole, _) = map_of(&frames, &config);
    let (mut first, _) = map_of(&frames[..3], &config);
    let (mut second, _) = map_of(&frames[3..], &config);
    let untouched = second.clone();
    second.merge(&first).unwrap();
    first.merge(&untouched).unwrap();
    assert!(contents(&first) == contents(&whole));
    assert!(contents(&second) == contents(&whole));
    assert_eq!(first.frames(), 6);
    // The order of the frames does not matter either.
    let mut reversed = mapper(&config);
    for frame in frames.iter().rev() {
        reversed.insert(&frame.borrow()).unwrap();
    }
    assert!(contents(&reversed) == contents(&whole));
}

#[test]
fn a_rigid_motion_of_all_input_moves_the_map() {
    // K-means works in sensor coordinates, so a moved world gives the same clusters. Stated tolerances: means to 0.1 mm
    // (positions are held to 15 µm), covariances to 1e−4 m², the classes and evidence exactly. Surfaces are told from cubes
    // anchored in the world, so that kernels which follow them move along only roughly.
    let config = Config::default().with(|c| {
        c.kernel.reach = e2bki::config::Reach::Uniform;
        c.clustering.method = Clustering::KMeans;
        c.clustering.count = ClusterCount::Points;
        c.clustering.points_per_cluster = 20;
        c.refinement.merge = false;
        c.refinement.prune = false;
    });
    let frames = drive(3, 2000);
    let motion =
        Pose::new([[0.36, 0.48, -0.8], [-0.8, 0.6, 0.0], [0.48, 0.64, 0.6]], [1234.5, -9876.25, 43.0]).unwrap();
    let (still, _) = map_of(&frames, &config);
    let mut moved = mapper(&config);
    for frame in &frames {
        let mut frame = frame.borrow();
        frame.world_from_sensor = motion.after(&frame.world_from_sensor).unwrap();
        moved.insert(&frame).unwrap();
    }
    assert_eq!(still.len(), moved.len());
    // Ids follow the places, which have moved: the evidence tells which is which.
    let by_evidence = |map: &e2bki::Mapper| {
        let mut order: Vec<(Vec<u64>, usize)> = map
            .primitives()
            .enumerate()
            .map(|(i, p)| (p.log_evidence().iter().map(|v| v.to_bits()).collect(), i))
            .collect();
        order.sort();
        order.into_iter().map(|(_, i)| i).collect::<Vec<_>>()
    };
    let (ours, theirs): (Vec<_>, Vec<_>) = (still.primitives().collect(), moved.primitives().collect());
    for (i, j) in by_evidence(&still).into_iter().zip(by_evidence(&moved)) {
        let (a, b) = (&ours[i], &theirs[j]);
        let expected = motion.apply(a.mean());
        for i in 0..3 {
            assert!((expected[i] - b.mean()[i]).abs() < 1e-4, "{expected:?} {:?}", b.mean());
            assert!((a.ellipsoid().semi_axes[i] - b.ellipsoid().semi_axes[i]).abs() < 5e-3);
        }
        assert_eq!(a.log_evidence(), b.log_evidence());
    }
    // Beliefs move along.
    let points: Vec<[f64; 3]> = still.primitives().map(|p| p.mean()).step_by(7).collect();
    let there: Vec<[f64; 3]> = points.iter().map(|p| motion.apply(*p)).collect();
    for (a, b) in still.query(&points).iter().zip(moved.query(&there).iter()) {
        assert_eq!(a.label(), b.label());
        assert!((a.evidence() - b.evidence()).abs() < 2e-2 * (1.0 + a.evidence()), "{} {}", a.evidence(), b.evidence());
    }
}

#[test]
fn a_map_far_from_the_origin_is_as_good_as_one_at_it() {
    // Ten thousand kilometres away, f32 would not tell metres apart.
    let frames = drive(3, 2000);
    let (near, _) = map_of(&frames, &Config::default());
    let mut far = mapper(&Config::default());
    let shift = [1.0e7, -1.0e7, 512.0];
    for frame in &frames {
        let mut frame = frame.borrow();
        let t = frame.world_from_sensor.translation();
        let pose = frame.world_from_sensor;
        frame.world_from_sensor = Pose::new(pose.rotation(), std::array::from_fn(|i| t[i] + shift[i])).unwrap();
        far.insert(&frame).unwrap();
    }
    assert_eq!(near.len(), far.len());
    // Ids follow the place, so the same primitive has another one there.
    let mut there: Vec<_> = far.primitives().collect();
    for a in near.primitives() {
        let same = there.iter().position(|b| {
            a.label() == b.label() && (0..3).all(|i| (a.mean()[i] + shift[i] - b.mean()[i]).abs() < 1e-4)
        });
        let b = there.swap_remove(same.expect("every primitive is there too"));
        assert!((a.covariance()[0] - b.covariance()[0]).abs() < 1e-5);
        assert_eq!(a.weight(), b.weight());
    }
}

#[test]
fn surfaces_do_not_depend_on_the_order_of_the_frames() {
    let config = Config::default();
    let mut frames = drive(6, 1500);
    let (forwards, _) = map_of(&frames, &config);
    frames.reverse();
    let (backwards, _) = map_of(&frames, &config);
    // Ids follow the order; class and place tell which is which.
    let surfaces = |map: &e2bki::Mapper| {
        let key = |p: &e2bki::Primitive<'_>| (p.label(), p.mean().map(f64::to_bits));
        let mut all: Vec<_> = map.primitives().map(|p| (key(&p), p.surface().map(f32::to_bits))).collect();
        all.sort_unstable();
        all
    };
    let (forwards, backwards) = (surfaces(&forwards), surfaces(&backwards));
    assert!(forwards.len() > 500 && forwards.iter().any(|(_, surface)| f32::from_bits(surface[2]) < 0.1));
    assert_eq!(forwards, backwards);
}
