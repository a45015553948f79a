//! A store for measurements: `many_runs MAP.e2bki COUNT STORE [APART]` adds a map so many times, each as the run of another
//! robot; with APART each so many tiles from the next, in a square: a large city.

use std::path::Path;

use e2bki::{Mapper, PrimitiveState, TILE_M};
use e2bki_fleet::{Error, Result};

fn main() -> Result<()> {
    let wrong = || Error::Refused("give a map, a number, a store, and how many tiles apart they are".into());
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [map, count, store, apart @ ..] = arguments.as_slice() else { return Err(wrong()) };
    let count: usize = count.parse().map_err(|_| wrong())?;
    let apart: i32 = apart.first().map_or(Ok(0), |apart| apart.parse()).map_err(|_| wrong())?;
    let map = e2bki_store::load(map)?;
    let fleet = e2bki_fleet::init(store, map.classes(), map.config())?;
    let file = Path::new(store).with_extension("run.e2bki");
    let across = (count as f64).sqrt().ceil() as usize;
    for robot in 0..count {
        let name = format!("robot-{robot}");
        let place = [robot % across, robot / across].map(|v| v as i32 * apart * TILE_M);
        // The name is in the file: its bytes, and so its key, are its own.
        let moved = if apart > 0 { Some(moved(&map, place)?) } else { None };
        e2bki_store::save_with(moved.as_ref().unwrap_or(&map), std::slice::from_ref(&name), &file)?;
        e2bki_fleet::add(&fleet, &name, &file, None)?;
    }
    std::fs::remove_file(&file).map_err(|_| wrong())
}

/// The same map elsewhere, by whole metres.
fn moved(map: &Mapper, [x, y]: [i32; 2]) -> Result<Mapper> {
    let states: Vec<PrimitiveState> = map
        .states()
        .map(|mut state| {
            state.sums.origin = [state.sums.origin[0] + x, state.sums.origin[1] + y, state.sums.origin[2]];
            state
        })
        .collect();
    let next_id = states.len() as u64;
    Ok(Mapper::restore(map.classes().clone(), map.config().clone(), map.frames(), next_id, states)?)
}
