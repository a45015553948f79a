//! What a map announces as changed is where it differs, before and after.

#![allow(clippy::unwrap_used)] // a test may fail loudly

mod common;

use std::collections::{BTreeMap, BTreeSet};

use common::*;
use e2bki::config::{ClusterCount, Clustering, Gated, Posterior};
use e2bki::{Changes, Config, Frame, LiveVoxel, Mapper, Pose, PrimitiveState, Semantics};
use proptest::prelude::*;

/// Everything in every cubic metre, with the ids that they have in memory.
fn contents(map: &Mapper) -> BTreeMap<[i32; 3], Vec<PrimitiveState>> {
    let mut blocks: BTreeMap<[i32; 3], Vec<PrimitiveState>> = BTreeMap::new();
    map.primitives().for_each(|primitive| blocks.entry(primitive.sums().origin).or_default().push(primitive.state()));
    blocks
}

fn cube_of(center: [f64; 3]) -> [i32; 3] {
    center.map(|v| v.floor() as i32)
}

/// Cubic metres, or columns of them, in which a view differs.
fn differing<K: Ord + Copy, V: PartialEq>(
    before: &BTreeMap<K, V>,
    after: &BTreeMap<K, V>,
    place: impl Fn(K) -> [i32; 3],
) -> BTreeSet<[i32; 3]> {
    let keys: BTreeSet<K> = before.keys().chain(after.keys()).copied().collect();
    keys.into_iter().filter(|key| before.get(key) != after.get(key)).map(place).collect()
}

/// Beliefs of a view by the place they are at, in bits so that places can be keys.
fn beliefs<const N: usize>(centers: &[[f64; N]], beliefs: &e2bki::Beliefs) -> BTreeMap<[u64; N], [u64; 5]> {
    centers
        .iter()
        .zip(beliefs.iter())
        .map(|(center, belief)| (center.map(f64::to_bits), belief_bits(&belief)))
        .collect()
}

fn assert_announced(before: &Mapper, after: &Mapper, changes: &Changes) {
    let primitives: BTreeSet<[i32; 3]> = changes.primitive_blocks().collect();
    let views: BTreeSet<[i32; 3]> = changes.view_blocks().into_iter().collect();
    let there = differing(&contents(before), &contents(after), |block| block);
    assert!(there.is_subset(&primitives), "primitives: {:?}", there.difference(&primitives).next());
    // What refinement removes in the frame that brought it has come and gone: announced, and not to be seen.
    if !after.config().refinement.prune && !after.config().refinement.merge {
        assert_eq!(primitives, there, "primitives, exactly");
    }
    let resolution = after.config().views.resolution;
    let voxels = |map: &Mapper| {
        let voxels = map.voxels(resolution).unwrap();
        beliefs(&voxels.centers, &voxels.beliefs)
    };
    let there = differing(&voxels(before), &voxels(after), |center| cube_of(center.map(f64::from_bits)));
    assert!(there.is_subset(&views), "voxels: {:?}", there.difference(&views).next());
    if after.config().views.posterior == Posterior::Accumulate {
        return;
    }
    let live = |map: &Mapper| -> BTreeMap<[u64; 3], [u64; 5]> {
        map.live_voxels().map(|voxel| (voxel.center.map(f64::to_bits), belief_bits(&voxel.belief))).collect()
    };
    let there = differing(&live(before), &live(after), |center| cube_of(center.map(f64::from_bits)));
    assert!(there.is_subset(&views), "live voxels: {:?}", there.difference(&views).next());
    // Whoever keeps the blocks of the view needs only those that changed.
    let blocks = |map: &Mapper, changes: &Changes| -> BTreeMap<[i32; 3], Vec<LiveVoxel>> {
        map.live_blocks(changes).into_iter().map(|block| (block.key, block.voxels)).collect()
    };
    let mut kept = blocks(before, &Changes { everything: true, ..Changes::default() });
    kept.extend(blocks(after, changes));
    assert_eq!(kept.into_values().flatten().collect::<Vec<_>>(), after.live_voxels().collect::<Vec<_>>());
    let columns: BTreeSet<[i32; 3]> = views.iter().map(|[x, y, _]| [*x, *y, 0]).collect();
    let cells = |map: &Mapper| {
        let cells = map.bev(resolution).unwrap();
        beliefs(&cells.centers, &cells.beliefs)
    };
    let there = differing(&cells(before), &cells(after), |[x, y]| cube_of([f64::from_bits(x), f64::from_bits(y), 0.0]));
    assert!(there.is_subset(&columns), "bird's-eye cells: {:?}", there.difference(&columns).next());
}

/// One of the things that can happen to a map.
#[derive(Debug, Clone, Copy)]
enum Step {
    Insert(u64, f64),
    Merge(u64, f64),
    TakeOutside(f64),
    TakeAndPutBack(f64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..1000_u64, 0.0..12.0_f64).prop_map(|(seed, x)| Step::Insert(seed, x)),
        1 => (0..1000_u64, 0.0..12.0_f64).prop_map(|(seed, x)| Step::Merge(seed, x)),
        1 => (4.0..12.0_f64).prop_map(Step::TakeOutside),
        1 => (0.0..8.0_f64).prop_map(Step::TakeAndPutBack),
    ]
}

fn apply(map: &mut Mapper, step: Step, points: usize) {
    match step {
        Step::Insert(seed, x) => {
            map.insert(&frame(seed, x, points).borrow()).unwrap();
        }
        Step::Merge(seed, x) => {
            let (other, _) = map_of(&[frame(seed, x, points)], map.config());
            map.merge(&other).unwrap();
        }
        Step::TakeOutside(x) => {
            map.take_outside([x - 12.0, -7.0, -1.0], [x, 7.0, 5.0]);
        }
        Step::TakeAndPutBack(x) => {
            let taken = map.take_inside([x, -7.0, -1.0], [x + 1.5, 7.0, 5.0]);
            map.put_back(taken).unwrap();
        }
    }
}

fn configurations() -> Vec<Config> {
    vec![
        Config::default().with(|c| {
            c.refinement.prune = true;
            c.refinement.prune_ratio = 1.2;
        }),
        Config::default().with(|c| {
            c.refinement.prune = false;
            c.fusion.gated = Gated::Mute;
            c.views.resolution = 0.3;
        }),
        Config::default().with(|c| {
            c.refinement.prune = true;
            c.refinement.prune_ratio = 1.2;
            c.refinement.merge = true;
            c.refinement.merge_radius = 0.4;
        }),
        // Large primitives, in boxes of their own.
        Config::preset("paper-rellis").unwrap().with(|c| {
            c.clustering.count = ClusterCount::Total;
            c.clustering.clusters = 12;
            c.views.resolution = 0.5;
            c.kernel.ellipsoid_mass = 0.5;
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn announced_blocks_are_where_a_map_differs(
        steps in prop::collection::vec(step(), 1..5), more in prop::collection::vec(step(), 1..3), which in 0..4_usize,
    ) {
        let mut map = mapper(&configurations()[which]);
        steps.iter().for_each(|step| apply(&mut map, *step, 500));
        let (before, number) = (map.clone(), map.change_number());
        prop_assert!(map.changes_since(number).is_empty());
        for step in more.iter().filter(|step| !matches!(step, Step::TakeAndPutBack(_))) {
            apply(&mut map, *step, 300);
        }
        let changes = map.changes_since(number);
        prop_assert_eq!(changes.number, map.change_number());
        // A block that was changed and changed back is announced too; with these steps there is none but by taking out
        // what was put in after the number.
        let undone = more.iter().any(|step| matches!(step, Step::TakeOutside(_)));
        if undone {
            let announced: BTreeSet<[i32; 3]> = changes.primitive_blocks().collect();
            let there = differing(&contents(&before), &contents(&map), |block| block);
            prop_assert!(there.is_subset(&announced));
        } else {
            assert_announced(&before, &map, &changes);
        }
        // Since the beginning: all that is there, and nothing that was never touched.
        let all: BTreeSet<[i32; 3]> = map.changes_since(0).primitive_blocks().collect();
        prop_assert!(contents(&map).keys().all(|block| all.contains(block)));
        // A clone announces the same; a restored map announces all that it has.
        prop_assert_eq!(map.clone().changes_since(number), changes);
        let again =
            Mapper::restore(map.classes().clone(), map.config().clone(), map.frames(), map.next_id(), map.states().collect()).unwrap();
        prop_assert!(again.changes_since(0).primitive_blocks().eq(contents(&map).into_keys()));
    }
}

#[test]
fn taking_and_putting_back_announce_what_was_taken() {
    let (mut map, _) = map_of(&drive(3, 1500), &Config::default());
    let (before, number) = (map.clone(), map.change_number());
    let taken = map.take_inside([2.0, -2.0, -1.0], [4.0, 2.0, 2.0]);
    assert_announced(&before, &map, &map.changes_since(number));
    let blocks: BTreeSet<[i32; 3]> = taken.iter().map(|state| state.sums.origin).collect();
    let (without, number) = (map.clone(), map.change_number());
    map.put_back(taken).unwrap();
    assert_announced(&without, &map, &map.changes_since(number));
    assert!(map.changes_since(number).primitive_blocks().eq(blocks));
    map.forget_changes(number);
    assert!(map.changes_since(number - 1).everything && !map.changes_since(number).everything);
}

#[test]
fn an_accumulated_posterior_announces_where_a_frame_reaches() {
    let config = Config::default().with(|c| {
        c.views.posterior = Posterior::Accumulate;
        c.refinement.prune = true;
        c.refinement.prune_ratio = 1.2;
    });
    let mut map = mapper(&config);
    for frame in drive(4, 800) {
        let (before, number) = (map.clone(), map.change_number());
        map.insert(&frame.borrow()).unwrap();
        assert_announced(&before, &map, &map.changes_since(number));
    }
}

/// Hard labels on a patch of a wall, `away` metres in front of a sensor at the height of the patch.
fn patch(map: &mut Mapper, sensor: [f64; 3], away: f32, label: u32) -> e2bki::FrameReport {
    let points: Vec<[f32; 3]> = (0..100).map(|i| [away, 0.02 * (i % 10) as f32, 0.02 * (i / 10) as f32]).collect();
    let labels = vec![label; points.len()];
    let world_from_sensor = Pose::from_translation(sensor).unwrap();
    map.insert(&Frame { points: &points, semantics: Semantics::Labels(&labels), world_from_sensor, scan: None })
        .unwrap()
}

#[test]
fn a_prune_far_from_the_frame_is_announced() {
    for clustering in [Clustering::Cells, Clustering::KMeans] {
        let config = Config::default().with(|c| {
            c.refinement.prune = true;
            c.refinement.consistency_radius = 20.0;
            c.clustering.method = clustering;
        });
        let mut map = mapper(&config);
        // Seen from 90 m; then a patch of another class 17 m beside it, seen from 2 m.
        patch(&mut map, [-90.0, 0.0, 0.0], 90.0, 1);
        let far: Vec<[i32; 3]> = contents(&map).into_keys().collect();
        let (before, number) = (map.clone(), map.change_number());
        let report = patch(&mut map, [-2.0, 17.0, 0.0], 2.0, 2);
        assert!(report.pruned > 0 && !contents(&map).contains_key(&far[0]));
        let changes = map.changes_since(number);
        assert!(far.iter().all(|block| changes.primitive_blocks().any(|announced| announced == *block)));
        assert!(far.iter().all(|block| changes.view_blocks().contains(block)));
        assert_announced(&before, &map, &changes);
    }
}
