//! NumPy archives: everything that a map holds, and what is derived from it, as arrays. Lossless: they can be imported.

use std::path::Path;

use e2bki::free::{State, Tally};
use e2bki::primitive::{LOG_EVIDENCE_QUANTUM, QUANTUM_M2, Sums};
use e2bki::{Mapper, PrimitiveState};

use super::{npy, written, zip};
use crate::error::{Error, Result};
use crate::file::Header;

pub(super) fn write(map: &Mapper, path: &Path) -> Result<()> {
    let (rows, classes) = (map.len(), map.classes().len());
    let header = Header::of(map, &[]).in_file(rows as u64);
    let (counters, header) = (header.free_space.clone(), header.to_json()?);
    let floats = |get: &dyn Fn(&e2bki::Primitive<'_>, &mut Vec<f64>)| -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut row = Vec::new();
        for p in map.primitives() {
            get(&p, &mut row);
            bytes.extend(row.drain(..).flat_map(f64::to_le_bytes));
        }
        bytes
    };
    let f64s = |columns: Option<usize>, get: &dyn Fn(&e2bki::Primitive<'_>, &mut Vec<f64>)| {
        npy::array("<f8", rows, columns, floats(get))
    };
    let mut entries: Vec<(&str, Vec<u8>)> = vec![
        ("header", npy::array("|u1", header.len(), None, header.into_bytes())),
        ("id", npy::array("<u8", rows, None, map.states().flat_map(|state| state.id.to_le_bytes()))),
        ("muted", npy::array("|b1", rows, None, map.primitives().map(|p| u8::from(p.state().muted)))),
        (
            "origin",
            npy::array("<i4", rows, Some(3), map.primitives().flat_map(|p| p.sums().origin).flat_map(i32::to_le_bytes)),
        ),
        ("weight", f64s(None, &|p, row| row.push(p.weight()))),
        ("first", f64s(Some(3), &|p, row| row.extend(p.sums().first))),
        ("second", f64s(Some(6), &|p, row| row.extend(p.sums().second.map(|v| v as f64 * QUANTUM_M2)))),
        ("range_sum", f64s(None, &|p, row| row.push(p.sums().range))),
        ("log_evidence", f64s(Some(classes), &|p, row| row.extend(p.log_evidence()))),
        ("mean", f64s(Some(3), &|p, row| row.extend(p.mean()))),
        ("covariance", f64s(Some(6), &|p, row| row.extend(p.covariance()))),
        ("uncertainty", f64s(None, &|p, row| row.push(p.uncertainty()))),
        ("range", f64s(None, &|p, row| row.push(p.range()))),
        ("label", npy::array("<i8", rows, None, map.primitives().flat_map(|p| (p.label() as i64).to_le_bytes()))),
        (
            "probability",
            npy::array(
                "<f4",
                rows,
                Some(classes),
                map.primitives().flat_map(|p| p.probability()).flat_map(|v| v.to_le_bytes()),
            ),
        ),
    ];
    if let Some(counters) = counters {
        let known: Vec<(State, f64, Tally)> = map.primitives().filter_map(|p| map.existence_of(&p)).collect();
        let count = |get: fn(&Tally) -> u32| -> Vec<u8> {
            npy::array("<u4", rows, None, known.iter().flat_map(|(_, _, tally)| get(tally).to_le_bytes()))
        };
        entries.extend([
            ("state", npy::array("|u1", rows, None, known.iter().map(|(state, ..)| *state as u8))),
            ("existence", npy::array("<f8", rows, None, known.iter().flat_map(|(_, e, _)| e.to_le_bytes()))),
            ("hits", count(|tally| tally.hits)),
            ("passes", count(|tally| tally.passes)),
            // Not a number where no frame with a time was.
            (
                "last_seen",
                npy::array(
                    "<f8",
                    rows,
                    None,
                    map.primitives().flat_map(|p| map.last_seen(p.mean()).unwrap_or(f64::NAN).to_le_bytes()),
                ),
            ),
            ("free_space", npy::array("|u1", counters.len(), None, counters.iter().copied())),
        ]);
    }
    let entries: Vec<(String, Vec<u8>)> =
        entries.into_iter().map(|(name, data)| (format!("{name}.npy"), data)).collect();
    let bytes = zip::archive(&entries).map_err(Error::Refused)?;
    written(path, |out| out.write_all(&bytes))
}

/// An array to be saved for NumPy.
#[derive(Debug, Clone, PartialEq)]
pub struct Array {
    name: String,
    kind: &'static str,
    shape: Vec<usize>,
    data: Vec<u8>,
}

impl Array {
    /// An array of a kind as NumPy names it (`<f4`, `|u1`), the last axis fastest.
    pub fn new(name: &str, kind: &'static str, shape: &[usize], data: Vec<u8>) -> Self {
        Self { name: name.into(), kind, shape: shape.to_vec(), data }
    }
}

/// Writes arrays as one archive, as NumPy's `savez` does.
pub fn save_npz(path: &Path, arrays: &[Array]) -> Result<()> {
    let entry = |a: &Array| (format!("{}.npy", a.name), npy::shaped(a.kind, &a.shape, a.data.iter().copied()));
    let bytes = zip::archive(&arrays.iter().map(entry).collect::<Vec<_>>()).map_err(Error::Refused)?;
    written(path, |out| out.write_all(&bytes))
}

/// The map of an archive that [`export`](fn@crate::export) wrote.
pub fn import_npz(path: impl AsRef<Path>) -> Result<Mapper> {
    let path = path.as_ref();
    let (header, states) = read_npz(path)?;
    let counters = header.free_space().transpose()?;
    let enabled = header.config.free_space.enabled;
    let Header { classes, config, frames, next_id, .. } = header;
    let mut map = Mapper::restore(classes, config, frames, next_id, states).map_err(Error::contents(path))?;
    match counters {
        Some(counters) => map.set_free_space(counters),
        None if !enabled && frames > 0 => map.forget_free_space(),
        None => {}
    }
    Ok(map)
}

/// Header and primitives of an archive.
pub(crate) fn read_npz(path: &Path) -> Result<(Header, Vec<PrimitiveState>)> {
    let bytes = std::fs::read(path).map_err(Error::io("read", path))?;
    let foreign = |what: String| Error::Foreign { path: path.into(), what };
    let entries = zip::entries(&bytes).map_err(&foreign)?;
    let take = |name: &str, kind: &str, width: usize, columns: usize| {
        let file = format!("{name}.npy");
        let found = entries
            .iter()
            .find(|(known, _)| *known == file)
            .ok_or_else(|| foreign(format!("it has no array `{name}`")))?;
        npy::values(found.1, kind, width, columns).map_err(|what| foreign(format!("array `{name}`: {what}")))
    };
    let mut header = Header::from_json(take("header", "|u1", 1, 1)?, path, 0)?;
    if entries.iter().any(|(name, _)| *name == "free_space.npy") {
        header.free_space = Some(take("free_space", "|u1", 1, 1)?.into());
    }
    let classes = header.classes.len();
    let id: Vec<u64> = words(take("id", "<u8", 8, 1)?).map(u64::from_le_bytes).collect();
    let muted = take("muted", "|b1", 1, 1)?;
    let origin: Vec<i32> = take("origin", "<i4", 4, 3)?.as_chunks().0.iter().map(|c| i32::from_le_bytes(*c)).collect();
    let float = |name: &str, columns: usize| -> Result<Vec<f64>> {
        Ok(words(take(name, "<f8", 8, columns)?).map(f64::from_le_bytes).collect())
    };
    let (weight, first, second) = (float("weight", 1)?, float("first", 3)?, float("second", 6)?);
    let (range, log_evidence) = (float("range_sum", 1)?, float("log_evidence", classes)?);
    // Rounded in the archive, and here again, where there are more than 53 bits.
    let quanta = |name: &str, values: Vec<f64>, quantum: f64| -> Result<Vec<i64>> {
        let whole = |value: &f64| {
            let scaled = value / quantum;
            (scaled.abs() < 9.0e18 && scaled.fract() == 0.0).then_some(scaled as i64)
        };
        let all: Option<Vec<i64>> = values.iter().map(whole).collect();
        all.ok_or_else(|| foreign(format!("array `{name}`: a sum is not a whole number of its quantum, 2^-32")))
    };
    let second = quanta("second", second, QUANTUM_M2)?;
    let log_evidence = quanta("log_evidence", log_evidence, LOG_EVIDENCE_QUANTUM)?;
    let rows = id.len();
    let lengths = [muted.len(), origin.len() / 3, weight.len(), first.len() / 3, second.len() / 6, range.len()];
    if lengths.iter().any(|len| *len != rows) || log_evidence.len() != rows * classes {
        return Err(foreign("its arrays do not have the same number of rows".into()));
    }
    let states = (0..rows)
        .map(|i| PrimitiveState {
            id: id[i],
            muted: muted[i] != 0,
            sums: Sums {
                origin: std::array::from_fn(|k| origin[3 * i + k]),
                weight: weight[i],
                first: std::array::from_fn(|k| first[3 * i + k]),
                second: std::array::from_fn(|k| second[6 * i + k]),
                range: range[i],
            },
            log_evidence: log_evidence[i * classes..(i + 1) * classes].to_vec(),
        })
        .collect();
    Ok((header, states))
}

fn words(bytes: &[u8]) -> impl Iterator<Item = [u8; 8]> {
    bytes.as_chunks().0.iter().copied()
}
