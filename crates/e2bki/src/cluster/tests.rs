//! The fast clusterings against plain ones, on point sets chosen to be nasty.
//!
//! The oracles compare every point with every centre and sum in f64; only the random draws and
//! the order in which seeding lays points end to end are shared with the code under test.

use super::cover::Cover;
use super::tree::Tree;
use super::{farthest_point, kmeans_plus_plus, random_sample};
use crate::random::Rng;

type Point = [f32; 3];

/// Point sets by name; see the makers.
fn nasty_sets() -> Vec<(&'static str, Vec<Point>)> {
    let mut rng = Rng::new(42);
    let mut make = |n: usize, f: &dyn Fn([f64; 3]) -> [f64; 3]| -> Vec<Point> {
        (0..n).map(|_| f([(); 3].map(|()| rng.uniform())).map(|v| v as f32)).collect()
    };
    vec![
        ("random", make(3000, &|u| u.map(|v| v * 40.0 - 20.0))),
        ("lattice", make(2000, &|u| u.map(|v| (v * 6.0).floor()))),
        ("half lattice", make(1500, &|u| u.map(|v| (v * 20.0).floor() / 2.0 + 1e4))),
        (
            "two clumps",
            make(1200, &|u| {
                let side = if u[0] < 0.3 { -1e3 } else { 1e3 };
                u.map(|v| side + v * 1e-2)
            }),
        ),
        ("line", make(900, &|u| [u[0] * 10.0, u[0] * 5.0, 1.0])),
        ("plane", make(1100, &|u| [u[0] * 30.0, u[1] * 30.0, -1.7])),
        ("ground rings", make(1300, &|u| [(u[0] * 9.0).floor() * 3.0, u[1] * u[0] * 40.0, 0.0])),
        ("huge spread", make(1000, &|u| u.map(|v| v * 2e6 - 1e6))),
        ("far away", make(700, &|u| u.map(|v| v * 50.0 + 1e7))),
        ("one far point", {
            let mut points = make(1000, &|u| u.map(|v| v * 9.0));
            points[500] = [1e7; 3];
            points
        }),
        ("denormal", make(300, &|u| u.map(|v| v * 1e-21))),
        ("all equal", make(100, &|_| [0.1, 0.2, 0.3])),
        ("eight", make(8, &|u| u)),
        ("nine", make(9, &|u| u)),
        ("one", make(1, &|u| u)),
    ]
}

fn distance2(a: Point, b: Point) -> f32 {
    let [x, y, z] = [0, 1, 2].map(|i| a[i] - b[i]);
    x * x + y * y + z * z
}

/// Nearest centre, the lowest on ties.
fn nearest(point: Point, centres: &[Point]) -> (usize, f32) {
    let mut best = (0, f32::INFINITY);
    for (i, &centre) in centres.iter().enumerate() {
        let d2 = distance2(point, centre);
        if d2 < best.1 {
            best = (i, d2);
        }
    }
    best
}

/// Numbers by first appearance.
fn named(labels: &[usize]) -> Vec<u32> {
    let mut names = Vec::new();
    let mut name = |label| {
        names.iter().position(|&n| n == label).unwrap_or_else(|| {
            names.push(label);
            names.len() - 1
        }) as u32
    };
    labels.iter().map(|&label| name(label)).collect()
}

fn assign(points: &[Point], centres: &[Point]) -> Vec<usize> {
    points.iter().map(|&p| nearest(p, centres).0).collect()
}

/// D² seeding over `order`, every distance computed for every seed.
fn plain_seeds(points: &[Point], order: &[u32], k: usize, seed: u64) -> Vec<Point> {
    let mut rng = Rng::new(seed);
    let mut seeds = vec![points[rng.below(points.len())]];
    while seeds.len() < k {
        let weight = |i: &u32| f64::from(nearest(points[*i as usize], &seeds).1);
        let weights: Vec<f64> = order.iter().map(weight).collect();
        let total: f64 = weights.iter().sum();
        if total == 0.0 {
            break;
        }
        let mut rest = rng.uniform() * total;
        let mut chosen = 0;
        for (i, &weight) in weights.iter().enumerate().filter(|(_, w)| **w > 0.0) {
            chosen = i;
            if rest < weight {
                break;
            }
            rest -= weight;
        }
        seeds.push(points[order[chosen] as usize]);
    }
    seeds
}

/// Textbook K-means++.
fn plain_kmeans(points: &[Point], k: usize, seed: u64, max_iterations: usize) -> Vec<u32> {
    let order = Tree::new(points).order;
    let mut centres = plain_seeds(points, &order, k, seed);
    let mut labels = assign(points, &centres);
    for _ in 0..max_iterations {
        for (c, centre) in centres.iter_mut().enumerate() {
            let mut sum = [0.0; 3];
            let mut count = 0.0;
            for (point, _) in points.iter().zip(&labels).filter(|(_, l)| **l == c) {
                (0..3).for_each(|a| sum[a] += f64::from(point[a]));
                count += 1.0;
            }
            if count > 0.0 {
                *centre = sum.map(|s| (s / count) as f32);
            }
        }
        labels = assign(points, &centres);
    }
    named(&labels)
}

#[test]
fn kmeans_equals_the_textbook_on_nasty_sets() {
    for (name, points) in nasty_sets() {
        for (k, seed, iterations) in [(1, 1, 3), (7, 2, 10), (40, 3, 0), (97, 4, 4), (400, 5, 2)] {
            let fast = kmeans_plus_plus(&points, k, seed, iterations);
            let plain = plain_kmeans(&points, k, seed, iterations);
            assert!(fast == plain, "{name}, k = {k}");
        }
    }
}

#[test]
fn kmeans_stops_by_itself_when_nothing_changes() {
    for (name, points) in nasty_sets() {
        let settled = kmeans_plus_plus(&points, 20, 1, usize::MAX);
        let later = kmeans_plus_plus(&points, 20, 1, 1000);
        assert!(settled == later, "{name}");
    }
}

#[test]
fn seeds_follow_the_squared_distance() {
    // From a first seed at one of the points, the others weigh 1, 4 and 9 parts or the like.
    let points = [0.0, 1.0, 2.0, 3.0].map(|x| [x, 0.0, 0.0]);
    let weight = |i: usize, j: usize| i.abs_diff(j).pow(2) as f64;
    let tree = Tree::new(&points);
    let draws = 40_000;
    for (first, &seed) in points.iter().enumerate() {
        let mut cover = Cover::new(&tree);
        cover.add(seed);
        let mut rng = Rng::new(first as u64);
        let mut counts = [0.0; 4];
        for _ in 0..draws {
            let drawn = cover.draw(rng.uniform()).expect("points are left");
            counts[tree.order[drawn] as usize] += 1.0;
        }
        let total: f64 = (0..4).map(|i| weight(i, first)).sum();
        for (i, count) in counts.into_iter().enumerate() {
            let expected = weight(i, first) / total * f64::from(draws);
            assert!((count - expected).abs() <= 5.0 * expected.sqrt(), "{counts:?}");
        }
    }
}

#[test]
fn farthest_points_equal_the_plain_search() {
    for (name, points) in nasty_sets() {
        let mut centres = vec![points[Rng::new(9).below(points.len())]];
        for _ in 1..50 {
            let gap = |i: &usize| nearest(points[*i], &centres).1;
            // `max_by` takes the last of equals: search backwards for the lowest index.
            let by_gap = |a: &usize, b: &usize| gap(a).total_cmp(&gap(b));
            let far = (0..points.len()).rev().max_by(by_gap).expect("not empty");
            if gap(&far) == 0.0 {
                break;
            }
            centres.push(points[far]);
        }
        let plain = named(&assign(&points, &centres));
        assert!(farthest_point(&points, 50, 9) == plain, "{name}");
    }
}

#[test]
fn random_centres_keep_their_nearest_points() {
    for (name, points) in nasty_sets() {
        let labels = random_sample(&points, 30, 3);
        let clusters = 1 + labels.iter().max().expect("not empty");
        assert!(clusters as usize <= 30.min(points.len()), "{name}");
        // Coinciding points share a cluster.
        for (p, l) in points.iter().zip(&labels).take(60) {
            let same = points.iter().zip(&labels).filter(|(q, _)| *q == p);
            assert!({ same }.all(|(_, m)| m == l), "{name}");
        }
    }
    let points: Vec<Point> = (0..100).map(|i| [i as f32, 0.0, 0.0]).collect();
    let everyone: Vec<u32> = (0..100).collect();
    assert_eq!(random_sample(&points, 1000, 1), everyone);
    assert_eq!(farthest_point(&points, 1000, 1), everyone);
    assert_eq!(kmeans_plus_plus(&points, 1000, 1, 10), everyone);
}

#[test]
fn odd_input_gives_an_answer() {
    let odd = [[f32::NAN; 3], [f32::INFINITY; 3], [-3e38, 3e38, 0.0], [0.0; 3]];
    let mixed: Vec<Point> = odd.into_iter().cycle().take(50).collect();
    for k in [0, 1, 3, 100] {
        for points in [&[][..], &odd[..], &mixed[..], &[[f32::NAN; 3]; 20][..]] {
            let results =
                [kmeans_plus_plus(points, k, 1, 10), farthest_point(points, k, 1), random_sample(points, k, 1)];
            for labels in results {
                assert_eq!(labels.len(), points.len());
                assert!(labels.iter().all(|&l| (l as usize) < k.max(1)));
            }
        }
    }
}

#[test]
fn results_never_change() {
    // A fingerprint of the partition: a new platform or a new version must reproduce it.
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for (_, points) in nasty_sets() {
        let kmeans = kmeans_plus_plus(&points, 60, 11, 10);
        let far = farthest_point(&points, 60, 11);
        let random = random_sample(&points, 60, 11);
        for label in kmeans.into_iter().chain(far).chain(random) {
            hash = (hash ^ u64::from(label)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    assert_eq!(hash, 14_846_658_460_484_378_056);
}
