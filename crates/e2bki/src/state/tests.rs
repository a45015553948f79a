use super::*;
use crate::{Frame, Pose, Semantics};

/// A map of some frames along a line, and the frames that would follow.
fn insert(map: &mut Mapper, frames: std::ops::Range<usize>) -> Result<()> {
    for frame in frames {
        let points: Vec<[f32; 3]> = (0..400)
            .map(|i| {
                let t = (i * 37 + frame * 11) % 400;
                [1.0 + 0.02 * t as f32, (t % 7) as f32 * 0.3 - 1.0, (t % 5) as f32 * 0.21]
            })
            .collect();
        let labels: Vec<u32> = (0..400).map(|i| ((i / 90 + frame) % 3) as u32).collect();
        let world_from_sensor = Pose::from_translation([0.4 * frame as f64, 0.0, 0.0])?;
        map.insert(&Frame { points: &points, semantics: Semantics::Labels(&labels), world_from_sensor, scan: None })?;
    }
    Ok(())
}

fn new_map(config: &Config) -> Result<Mapper> {
    Mapper::new(ClassSet::from_names(["a", "b", "c"])?, config.clone())
}

fn assert_same(a: &Mapper, b: &Mapper) {
    assert!(a.states().eq(b.states()));
    assert!(a.live_voxels().eq(b.live_voxels()));
    assert_eq!((a.frames(), a.next_id()), (b.frames(), b.next_id()));
}

#[test]
fn a_restored_map_goes_on_as_if_it_had_never_stopped() -> Result<()> {
    for preset in ["default", "paper-rellis"] {
        let config = Config::preset(preset)?;
        let mut whole = new_map(&config)?;
        insert(&mut whole, 0..6)?;
        let mut states: Vec<PrimitiveState> = whole.states().collect();
        states.reverse();
        let mut again = Mapper::restore(whole.classes().clone(), config, whole.frames(), whole.next_id(), states)?;
        assert_same(&whole, &again);
        insert(&mut whole, 6..12)?;
        insert(&mut again, 6..12)?;
        assert_same(&whole, &again);
    }
    Ok(())
}

#[test]
fn what_is_taken_and_put_back_leaves_no_trace() -> Result<()> {
    let mut map = new_map(&Config::default())?;
    insert(&mut map, 0..4)?;
    let before = map.clone();
    let taken = map.take_inside([2.0, -1.0, -1.0], [4.0, 2.0, 2.0]);
    assert!(!taken.is_empty() && map.len() + taken.len() == before.len());
    assert!(map.live_voxel_count() < before.live_voxel_count());
    map.put_back(taken)?;
    assert_same(&map, &before);
    Ok(())
}

#[test]
fn counts_near_their_end_are_refused_and_never_wrap() -> Result<()> {
    let restore = |frames, next_id| {
        Mapper::restore(ClassSet::from_names(["a", "b", "c"])?, Config::default(), frames, next_id, Vec::new())
    };
    for bad in [MAX_COUNT + 1, u64::MAX - 1, u64::MAX] {
        assert!(restore(bad, 0).unwrap_err().to_string().contains("frames"));
        assert!(restore(0, bad).unwrap_err().to_string().contains("next_id"));
    }
    for (frames, next_id) in [(MAX_COUNT, 0), (0, MAX_COUNT - 3)] {
        let mut map = restore(frames, next_id)?;
        assert!(insert(&mut map, 0..1).is_err());
        assert!(map.is_empty() && map.frames() == frames && map.next_id() == next_id);
        let mut other = new_map(&Config::default())?;
        insert(&mut other, 0..1)?;
        assert!(map.merge(&other).is_err());
        assert!(map.is_empty() && map.frames() == frames && map.next_id() == next_id);
    }
    Ok(())
}

#[test]
fn states_that_no_map_could_hold_are_refused() -> Result<()> {
    let mut map = new_map(&Config::default())?;
    insert(&mut map, 0..1)?;
    let before = map.clone();
    let known: PrimitiveState = map.states().next().unwrap();
    let gone = map.take_inside([-1e6; 3], [1e6; 3]);
    let mut bad = Vec::new();
    let mut change = |f: &dyn Fn(&mut PrimitiveState)| {
        let mut state = known.clone();
        f(&mut state);
        bad.push(state);
    };
    change(&|s| s.id = u64::MAX);
    change(&|s| s.log_evidence.push(0));
    change(&|s| s.log_evidence[0] = i64::MAX);
    change(&|s| s.log_evidence[0] = -1);
    change(&|s| s.sums.weight = 0.0);
    change(&|s| s.sums.weight = 1.5);
    change(&|s| s.sums.weight = 1e10);
    change(&|s| s.sums.range = 1e12);
    change(&|s| s.sums.second[4] = i64::MIN);
    change(&|s| s.sums.first[1] = f64::INFINITY);
    change(&|s| s.sums.first[1] += 10.0 * s.sums.weight);
    change(&|s| s.sums.second[2] = 1 << 61);
    change(&|s| s.sums.range = -1.0);
    change(&|s| s.sums.origin[0] = i32::MIN);
    for state in bad {
        assert!(matches!(map.put_back(vec![state.clone()]), Err(Error::State { .. })), "{state:?}");
    }
    assert!(matches!(map.put_back(vec![known.clone(), known]), Err(Error::State { .. })));
    assert!(map.is_empty());
    map.put_back(gone)?;
    assert_same(&map, &before);
    Ok(())
}
