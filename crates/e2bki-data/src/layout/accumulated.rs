//! KITTI-360's accumulated labelled points: the label of a point is that of the nearest accumulated one.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use rustc_hash::FxHashMap;

use crate::error::{Flaw, Result};
use crate::files;
use crate::parse;

/// Side of a search cell, metres.
const CELL_M: f64 = 0.25;

/// Farther than this from every accumulated point a point has no label, metres.
const REACH_M: f64 = 0.25;

/// PLY files of the windows of a sequence, and the points of the last one used.
#[derive(Debug)]
pub(crate) struct Accumulated {
    windows: Vec<Window>,
    cache: Mutex<Option<(usize, Arc<Points>)>>,
}

#[derive(Debug)]
struct Window {
    first: u64,
    last: u64,
    still: PathBuf,
    moving: Option<PathBuf>,
}

/// Points sorted by cell.
#[derive(Debug)]
struct Points {
    cells: FxHashMap<[i32; 3], (u32, u32)>,
    positions: Vec<[f64; 3]>,
    ids: Vec<u32>,
    /// Frame of moving points, −1 for still ones.
    frames: Vec<i64>,
}

fn cell(p: [f64; 3]) -> [i32; 3] {
    p.map(|v| (v / CELL_M).floor() as i32)
}

impl Accumulated {
    /// The windows in a folder; nothing if there are none.
    pub(super) fn find(folder: &Path) -> Result<Option<Self>> {
        let mut windows = Vec::new();
        for still in files::list_with(&folder.join("static"), &["ply"])? {
            let stem = files::stem(&still);
            let Some((first, last)) = stem.to_str().and_then(|stem| stem.split_once('_')) else { continue };
            let (Ok(first), Ok(last)) = (first.parse(), last.parse()) else { continue };
            let moving = Some(folder.join("dynamic").join(files::name(&still))).filter(|p| p.is_file());
            windows.push(Window { first, last, still, moving });
        }
        Ok((!windows.is_empty()).then(|| Self { windows, cache: Mutex::new(None) }))
    }

    /// Label ids of world positions seen in a frame; nothing where no accumulated point is near.
    pub(crate) fn labels(&self, frame: u64, positions: impl Iterator<Item = [f64; 3]>) -> Result<Vec<Option<u32>>> {
        // Windows overlap: the one whose middle is nearest has the most points around the frame.
        let holds = |w: &&Window| (w.first..=w.last).contains(&frame);
        // The numbers of a file's name may be any: their sums are made where they cannot wrap.
        let off_middle = |w: &Window| (u128::from(w.first) + u128::from(w.last)).abs_diff(2 * u128::from(frame));
        let best = self.windows.iter().filter(holds).map(off_middle).min();
        let Some(index) = self.windows.iter().position(|w| holds(&w) && Some(off_middle(w)) == best) else {
            return Ok(positions.map(|_| None).collect());
        };
        let points = self.points(index)?;
        Ok(positions.map(|p| points.nearest(p, frame)).collect())
    }

    fn points(&self, index: usize) -> Result<Arc<Points>> {
        let mut cache = self.cache.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some((held, points)) = cache.as_ref()
            && *held == index
        {
            return Ok(points.clone());
        }
        let points = Arc::new(Points::read(&self.windows[index])?);
        *cache = Some((index, points.clone()));
        Ok(points)
    }
}

impl Points {
    fn read(window: &Window) -> Result<Self> {
        let mut rows: Vec<([i32; 3], [f64; 3], u32, i64)> = Vec::new();
        for (path, moving) in [(Some(&window.still), false), (window.moving.as_ref(), true)] {
            let Some(path) = path else { continue };
            files::parse(path, |bytes| {
                let table = parse::ply(bytes)?;
                let ids = table.labels().ok_or_else(|| Flaw::new("no field `semantic`: it is not a labelled file"))?;
                let frames: Vec<i64> = match table.field("timestamp") {
                    Some(field) if moving => table.column(field).map(|v| v as i64).collect(),
                    _ => vec![-1; table.count],
                };
                for ((p, id), frame) in table.points()?.into_iter().zip(ids).zip(frames) {
                    if p.iter().all(|v| v.abs() < 1e8) {
                        rows.push((cell(p), p, id, frame));
                    }
                }
                Ok(())
            })?;
        }
        rows.sort_by_key(|row| row.0);
        let mut cells: FxHashMap<[i32; 3], (u32, u32)> = FxHashMap::default();
        for (i, row) in rows.iter().enumerate() {
            cells.entry(row.0).or_insert((i as u32, i as u32)).1 = i as u32 + 1;
        }
        Ok(Self {
            cells,
            positions: rows.iter().map(|r| r.1).collect(),
            ids: rows.iter().map(|r| r.2).collect(),
            frames: rows.iter().map(|r| r.3).collect(),
        })
    }

    fn nearest(&self, p: [f64; 3], frame: u64) -> Option<u32> {
        let home = cell(p);
        let mut best = (REACH_M * REACH_M, None);
        for k in 0..27 {
            let step = [k % 3 - 1, k / 3 % 3 - 1, k / 9 - 1];
            let near: [i32; 3] = std::array::from_fn(|a| home[a].saturating_add(step[a]));
            let Some((start, end)) = self.cells.get(&near) else { continue };
            for i in *start as usize..*end as usize {
                if self.frames[i] >= 0 && self.frames[i] as u64 != frame {
                    continue;
                }
                let q = self.positions[i];
                let d = (0..3).map(|a| (p[a] - q[a]) * (p[a] - q[a])).sum::<f64>();
                if d < best.0 {
                    best = (d, Some(self.ids[i]));
                }
            }
        }
        best.1
    }
}
