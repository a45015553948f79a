//! The fleet's map from above as a pyramid of pictures in one file (PMTiles), for maps in the browser and QGIS.

use std::collections::{BTreeSet, VecDeque};
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use e2bki::{Mapper, PrimitiveState, TILE_M};
use image::{ImageEncoder, RgbaImage};
use rayon::prelude::*;
use serde_json::json;

use crate::Tile;
use crate::description::Fleet;
use crate::error::{Error, Result};
use crate::levels::{LevelTile, read_level_tile};
use crate::manifest::Manifest;
use crate::mercator::{Origin, from_web, to_web};
use crate::pmtiles::{About, Entry, front, tile_id};

/// Pixels along a side of a picture.
const SIDE: u32 = 256;
/// Map tiles that are kept after they were read: neighbours are needed together.
const KEPT: usize = 48;

/// What [`export_pmtiles`] wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pictures {
    /// Coarsest and finest zoom.
    pub zooms: [u8; 2],
    /// Pictures in the file.
    pub count: usize,
    /// Its size.
    pub bytes: u64,
}

/// A picture, by zoom and place.
type Web = (u8, u32, u32);

/// Writes the map of a manifest (the latest, if none is named) from above into a PMTiles file: the colours of classes, nothing
/// where nothing was seen. Pixels of the finest zoom are about as large as the map's cubes, and each shows the belief at its
/// middle; coarser pictures are means of finer ones. Holds some pictures at a time.
pub fn export_pmtiles(fleet: &Fleet, number: Option<u64>, out: &Path, origin: Option<Origin>) -> Result<Pictures> {
    let manifest = number.map_or_else(|| Manifest::latest(fleet), |number| Manifest::read(fleet, number))?;
    let known = origin.is_some();
    let origin = origin.unwrap_or_default();
    let finest = (0..=22).min_by_key(|zoom| {
        // The zoom whose pixels are nearest to the cubes, in powers of two.
        let ratio = (origin.pixel_m(*zoom) / fleet.config.clustering.cell_size).log2();
        (ratio.abs() * 1e6) as i64
    });
    let finest = finest.unwrap_or(19);
    let mut places: BTreeSet<Web> = BTreeSet::new();
    let mut bounds = [f64::INFINITY, f64::INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY];
    for tile in manifest.tiles.keys() {
        cover(*tile, origin, finest, &mut places, &mut bounds)?;
    }
    let coarsest = coarsest(&places, finest);
    let Some((first, ..)) = coarsest.first().copied() else {
        return Err(Error::Refused(format!("{} has nothing to be seen from above yet", fleet.objects.name())));
    };
    let scratch = tempfile::tempfile().map_err(|e| cannot("make a temporary file for", out, e))?;
    let work = Work { fleet, manifest: &manifest, origin, finest, places, kept: Mutex::default(), out };
    let made = Mutex::new((BufWriter::new(scratch), Vec::new(), 0));
    for picture in coarsest {
        work.make(picture, &made)?;
    }
    let (scratch, mut entries, _) = made.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut scratch = scratch.into_inner().map_err(|e| cannot("write", out, e.into_error()))?;
    entries.sort_unstable_by_key(|entry: &Entry| entry.id);

    let classes: Vec<_> = fleet.classes.names().iter().zip(fleet.classes.colors()).collect();
    let place = if known {
        json!({ "latitude": origin.latitude, "longitude": origin.longitude, "heading": origin.heading })
    } else {
        json!("unknown: the map's (0, 0) is at latitude 0, longitude 0, x is east")
    };
    let metadata = json!({
        "name": fleet.objects.name().rsplit('/').next(), "format": "png", "type": "overlay",
        "description": "A semantic map from above, by class", "e2bki": { "origin": place, "classes": classes },
    });
    let about = About { zooms: [first, finest], bounds, metadata: metadata.to_string() };
    let mut places = Vec::with_capacity(entries.len());
    let mut next = 0;
    for entry in &entries {
        places.push(Entry { offset: next, ..*entry });
        next += u64::from(entry.length);
    }
    let head = front(&places, &about).map_err(|e| cannot("write", out, e))?;
    e2bki_store::write_atomically(out, |file| {
        let failed = |source| e2bki_store::Error::Io { doing: "write", path: out.into(), source };
        file.write_all(&head).map_err(failed)?;
        let mut picture = Vec::new();
        for entry in &entries {
            scratch.seek(SeekFrom::Start(entry.offset)).map_err(failed)?;
            picture.resize(entry.length as usize, 0);
            scratch.read_exact(&mut picture).map_err(failed)?;
            file.write_all(&picture).map_err(failed)?;
        }
        Ok(())
    })?;
    Ok(Pictures { zooms: about.zooms, count: entries.len(), bytes: head.len() as u64 + next })
}

fn cannot(doing: &'static str, path: &Path, source: std::io::Error) -> Error {
    e2bki_store::Error::Io { doing, path: path.into(), source }.into()
}

/// Notes the finest pictures that a tile of the map is in, and widens the bounds by it.
fn cover(tile: Tile, origin: Origin, zoom: u8, places: &mut BTreeSet<Web>, bounds: &mut [f64; 4]) -> Result<()> {
    let side = f64::from(TILE_M);
    let (mut low, mut high) = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]);
    for (i, j) in [(0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0)] {
        let corner = [(f64::from(tile[0]) + i) * side, (f64::from(tile[1]) + j) * side];
        origin.check(corner)?;
        let [latitude, longitude] = origin.on_earth(corner);
        let web = to_web([latitude, longitude], zoom);
        for i in 0..2 {
            low[i] = low[i].min(web[i]);
            high[i] = high[i].max(web[i]);
        }
        *bounds =
            [bounds[0].min(longitude), bounds[1].min(latitude), bounds[2].max(longitude), bounds[3].max(latitude)];
    }
    for x in low[0] as u32..=high[0] as u32 {
        places.extend((low[1] as u32..=high[1] as u32).map(|y| (zoom, x, y)));
    }
    Ok(())
}

/// The finest pictures that have all others in them and are two by two at most; none if there is nothing. One would not do for
/// a map that lies where pictures of all zooms meet.
fn coarsest(places: &BTreeSet<Web>, finest: u8) -> Vec<Web> {
    let mut zoom = finest;
    loop {
        let above: BTreeSet<Web> =
            places.iter().map(|(_, x, y)| (zoom, x >> (finest - zoom), y >> (finest - zoom))).collect();
        let wide = |of: fn(&Web) -> u32| {
            let (low, high) = (above.iter().map(of).min(), above.iter().map(of).max());
            high.zip(low).map_or(0, |(high, low)| high - low)
        };
        if zoom == 0 || (wide(|place| place.1) < 2 && wide(|place| place.2) < 2) {
            return above.into_iter().collect();
        }
        zoom -= 1;
    }
}

/// Pictures that are done: their bytes, and where they are.
type Made = Mutex<(BufWriter<std::fs::File>, Vec<Entry>, u64)>;

struct Work<'a> {
    fleet: &'a Fleet,
    manifest: &'a Manifest,
    origin: Origin,
    finest: u8,
    places: BTreeSet<Web>,
    kept: Mutex<VecDeque<(Tile, Arc<LevelStates>)>>,
    out: &'a Path,
}

/// Primitives of a tile and what was seen through there.
type LevelStates = (Vec<PrimitiveState>, Option<e2bki::free::Counters>);

impl Work<'_> {
    /// Makes a picture and all below it; nothing if there is nothing in it.
    fn make(&self, (zoom, x, y): Web, made: &Made) -> Result<Option<RgbaImage>> {
        let shift = self.finest - zoom;
        let first = (self.finest, x << shift, 0);
        let last = (self.finest, ((x + 1) << shift) - 1, u32::MAX);
        if !self.places.range(first..=last).any(|(_, _, v)| v >> shift == y) {
            return Ok(None);
        }
        let picture = if shift == 0 {
            self.look(x, y)?
        } else {
            let parts: Result<Vec<Option<RgbaImage>>> =
                (0..4_u32).into_par_iter().map(|i| self.make((zoom + 1, 2 * x + i % 2, 2 * y + i / 2), made)).collect();
            halved(&parts?)
        };
        let Some(picture) = picture else { return Ok(None) };
        let mut bytes = Vec::new();
        image::codecs::png::PngEncoder::new(&mut bytes)
            .write_image(picture.as_raw(), SIDE, SIDE, image::ExtendedColorType::Rgba8)
            .map_err(|e| Error::Refused(format!("cannot encode a picture: {e}")))?;
        let mut made = made.lock().unwrap_or_else(PoisonError::into_inner);
        made.0.write_all(&bytes).map_err(|e| cannot("write", self.out, e))?;
        let (offset, length) = (made.2, bytes.len() as u32);
        made.1.push(Entry { id: tile_id(zoom, x, y), offset, length, run: 1 });
        made.2 += u64::from(length);
        Ok(Some(picture))
    }

    /// A picture of the finest zoom: the class that is believed at the middle of every pixel.
    fn look(&self, x: u32, y: u32) -> Result<Option<RgbaImage>> {
        let at = |column: f64, row: f64| {
            let web = [f64::from(x) + column / f64::from(SIDE), f64::from(y) + row / f64::from(SIDE)];
            let [latitude, longitude] = from_web(web, self.finest);
            self.origin.in_map(latitude, longitude)
        };
        let pixels = (0..SIDE).flat_map(|row| (0..SIDE).map(move |column| (column, row)));
        let places: Vec<[f64; 2]> =
            pixels.map(|(column, row)| at(f64::from(column) + 0.5, f64::from(row) + 0.5)).collect();
        let (mut low, mut high) = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]);
        for place in &places {
            for i in 0..2 {
                low[i] = low[i].min(place[i]);
                high[i] = high[i].max(place[i]);
            }
        }
        let Some(map) = self.part(low, high)? else { return Ok(None) };
        let beliefs = map.birds_eye()?.query(&places);
        let mut picture = RgbaImage::new(SIDE, SIDE);
        let mut any = false;
        for (pixel, belief) in picture.pixels_mut().zip(beliefs.iter()) {
            if let Some([red, green, blue]) = belief.label().and_then(|class| self.fleet.classes.colors().get(class)) {
                pixel.0 = [*red, *green, *blue, 255];
                any = true;
            }
        }
        Ok(any.then_some(picture))
    }

    /// The map that beliefs in a box depend on; nothing if there is none.
    fn part(&self, low: [f64; 2], high: [f64; 2]) -> Result<Option<Mapper>> {
        // Kernels reach in from so far, and how they run may depend on others as far away from them.
        let margin = 2.0 * self.fleet.config.longest_influence();
        let tile_of = |v: f64| (v / f64::from(TILE_M)).floor() as i32;
        let (first, last) = (low.map(|v| tile_of(v - margin)), high.map(|v| tile_of(v + margin)));
        let (mut states, mut counters) = (Vec::new(), Vec::new());
        for (tile, key) in self.manifest.tiles.range([first[0], i32::MIN]..=[last[0], i32::MAX]) {
            if !(first[1]..=last[1]).contains(&tile[1]) {
                continue;
            }
            let read = self.read(*tile, key)?;
            let near = |state: &&PrimitiveState| {
                let mean = state.sums.mean();
                (0..2).all(|i| (low[i] - margin..high[i] + margin).contains(&mean[i]))
            };
            states.extend(read.0.iter().filter(near).cloned());
            counters.extend(read.1.clone());
        }
        if states.is_empty() {
            return Ok(None);
        }
        states.iter_mut().zip(0..).for_each(|(state, id)| state.id = id);
        let count = states.len() as u64;
        let (classes, config) = (self.fleet.classes.clone(), self.fleet.config.clone());
        let mut map = Mapper::restore(classes, config, 0, count, states)?;
        if self.fleet.config.free_space.enabled {
            map.set_free_space(e2bki::free::Counters::of_columns(counters, 0)?);
        }
        Ok(Some(map))
    }

    fn read(&self, tile: Tile, key: &str) -> Result<Arc<LevelStates>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, found)) = kept.iter().find(|(other, _)| *other == tile) {
            return Ok(found.clone());
        }
        drop(kept);
        let about = LevelTile { level: 0, tile, key: key.into(), rows: 0, heights: [0.0; 2] };
        let read = Arc::new(read_level_tile(self.fleet, &about)?);
        kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push_back((tile, read.clone()));
        if kept.len() > KEPT {
            kept.pop_front();
        }
        Ok(read)
    }
}

/// Four pictures as one of half the scale: means of four pixels, in which those with nothing do not count.
fn halved(parts: &[Option<RgbaImage>]) -> Option<RgbaImage> {
    parts.iter().flatten().next()?;
    let mut whole = RgbaImage::new(SIDE, SIDE);
    for (part, number) in parts.iter().zip(0_u32..) {
        let Some(part) = part else { continue };
        let (left, top) = (number % 2 * SIDE / 2, number / 2 * SIDE / 2);
        for y in 0..SIDE / 2 {
            for x in 0..SIDE / 2 {
                let four = [(0, 0), (1, 0), (0, 1), (1, 1)].map(|(i, j)| part.get_pixel(2 * x + i, 2 * y + j).0);
                let alpha: u32 = four.iter().map(|pixel| u32::from(pixel[3])).sum();
                let mean = |channel: usize| {
                    let sum: u32 = four.iter().map(|pixel| u32::from(pixel[channel]) * u32::from(pixel[3])).sum();
                    (sum + alpha / 2).checked_div(alpha).unwrap_or(0) as u8
                };
                whole.get_pixel_mut(left + x, top + y).0 = [mean(0), mean(1), mean(2), alpha.div_ceil(4) as u8];
            }
        }
    }
    Some(whole)
}
