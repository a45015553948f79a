//! A fleet's map as a city: in the viewer, where tiles are read from the store when somebody looks at them, and for others.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use e2bki::ClassSet;
use e2bki_fleet::{Fleet, LevelTile, Levelled, Origin, Pictures};
use e2bki_view::{CityEntry, CitySource, CityTile, Scene};

use crate::table;

/// `e2bki fleet levels`.
pub(super) fn levels(fleet: &Fleet) -> Result<()> {
    let Levelled { top, tiles, made } = make(fleet)?;
    table::line(&format!("{top} levels of detail above the map: {tiles} tiles, {made} of them made now"))
}

fn make(fleet: &Fleet) -> Result<Levelled> {
    let bar = table::progress(0, "levels of detail");
    let done = e2bki_fleet::make_levels(fleet, |all| {
        bar.set_length(all as u64);
        bar.inc(1);
    });
    bar.finish_and_clear();
    Ok(done?)
}

/// `e2bki fleet export --copc`.
pub(super) fn copc(fleet: &Fleet, manifest: Option<u64>, folder: &Path, wkt: Option<&Path>) -> Result<()> {
    let read = |path| std::fs::read_to_string(path).with_context(|| format!("cannot read {}", Path::display(path)));
    let wkt = wkt.map(read).transpose()?;
    let city = e2bki_fleet::export_city(fleet, manifest, folder, wkt.as_deref().map(str::trim))?;
    let points: u64 = city.blocks.iter().map(|block| block.points).sum();
    table::line(&format!("{}: {} blocks, {points} primitives", city.index.display(), city.blocks.len()))
}

/// `e2bki fleet export --pmtiles`.
pub(super) fn pmtiles(fleet: &Fleet, manifest: Option<u64>, out: &Path, origin: Option<Origin>) -> Result<()> {
    crate::outputs::check_file(out)?;
    let Pictures { zooms: [first, last], count, bytes } = e2bki_fleet::export_pmtiles(fleet, manifest, out, origin)?;
    let size = crate::maps::megabytes(bytes);
    table::line(&format!("{}: {count} pictures of zooms {first} to {last}, {size}", out.display()))
}

/// The fleet's map as the viewer shows it, if a place is the store of one. Levels of detail that are missing are made.
pub(crate) fn scene(place: &Path) -> Result<Option<(Scene, ClassSet)>> {
    let Some(fleet) = super::at(place)? else { return Ok(None) };
    let levels = match e2bki_fleet::levels(&fleet)? {
        Some(levels) => levels,
        None => {
            let Levelled { made, .. } = make(&fleet)?;
            table::say(&format!("note: {made} tiles of levels of detail were missing and are in the store now"));
            e2bki_fleet::levels(&fleet)?.unwrap_or_default()
        }
    };
    let finest = levels.iter().filter(|tile| tile.level == 0);
    let (tiles, primitives) = finest.fold((0, 0), |(tiles, rows), tile| (tiles + 1, rows + tile.rows));
    let classes = fleet.classes.clone();
    table::line(&format!("{}: {tiles} tiles, {primitives} primitives, {} classes", place.display(), classes.len()))?;
    let entry =
        |tile: &LevelTile| CityEntry { level: tile.level, tile: tile.tile, count: tile.rows, heights: tile.heights };
    let entries = levels.iter().map(entry).collect();
    let frames = e2bki_fleet::Manifest::latest(&fleet)?.runs.iter().map(|run| run.frames).sum();
    let config = fleet.config.clone();
    let tiles = levels.into_iter().map(|tile| ((tile.level, tile.tile), tile)).collect();
    let (name, source) = (place.display().to_string(), Box::new(Store { fleet, tiles }));
    let scene = Scene::of_city(name, classes.clone(), &config, frames, entries, source);
    Ok(Some((scene, classes)))
}

/// The store, and what of it is the map.
struct Store {
    fleet: Fleet,
    tiles: BTreeMap<(u8, [i32; 2]), LevelTile>,
}

impl CitySource for Store {
    fn read(&self, level: u8, tile: [i32; 2]) -> Result<CityTile, String> {
        let about =
            self.tiles.get(&(level, tile)).ok_or_else(|| format!("there is no tile {tile:?} of level {level}"))?;
        let (states, counters) = e2bki_fleet::read_level_tile(&self.fleet, about).map_err(|error| error.to_string())?;
        Ok(CityTile { states, counters })
    }
}
