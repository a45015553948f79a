//! A store for measurements: `many_runs MAP.e2bki COUNT STORE` adds a map so many times, each as the run of another robot.

use std::path::Path;

fn main() -> e2bki_fleet::Result<()> {
    let wrong = || e2bki_fleet::Error::Refused("give a map, a number and a store".into());
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [map, count, store] = arguments.as_slice() else { return Err(wrong()) };
    let count: usize = count.parse().map_err(|_| wrong())?;
    let map = e2bki_store::load(map)?;
    let fleet = e2bki_fleet::init(store, map.classes(), map.config())?;
    let file = Path::new(store).with_extension("run.e2bki");
    for robot in 0..count {
        let name = format!("robot-{robot}");
        // The name is in the file: its bytes, and so its key, are its own.
        e2bki_store::save_with(&map, std::slice::from_ref(&name), &file)?;
        e2bki_fleet::add(&fleet, &name, &file, None)?;
    }
    std::fs::remove_file(&file).map_err(|_| wrong())
}
