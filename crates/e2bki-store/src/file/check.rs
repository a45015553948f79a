//! Whether a map is whole.

use std::path::Path;

use e2bki::free::Counters;
use e2bki::{Mapper, PrimitiveState};

use super::header::{Header, TileInfo};
use super::read::MapFile;
use super::tile::{decode_tile, encode_tile};
use crate::error::{Error, Result};

/// Result of a check.
#[derive(Debug)]
pub struct Checked {
    /// Everything that is wrong, in the order of the file; nothing if it is whole.
    pub findings: Vec<Error>,
    /// Primitives in whole tiles.
    pub rows: u64,
    /// Whole tiles.
    pub tiles: usize,
}

/// Checks a map file thoroughly: hashes, and that every tile says the same in all its columns and can be part of the
/// map. Fails if the file cannot be read, is none of ours or is newer than this program.
pub fn check(path: impl AsRef<Path>) -> Result<Checked> {
    let path = path.as_ref();
    if crate::folder::is_folder(path) {
        return check_folder(path);
    }
    check_file(path).map(|(checked, _)| checked)
}

/// Checks every tile of a folder, and that they are those of the manifest.
fn check_folder(path: &Path) -> Result<Checked> {
    let mut checked = Checked { findings: Vec::new(), rows: 0, tiles: 0 };
    let folder = match crate::Folder::open(path) {
        Err(damage @ (Error::Damaged { .. } | Error::Contents { .. })) => {
            checked.findings.push(damage);
            return Ok(checked);
        }
        opened => opened?,
    };
    let mut all = Vec::new();
    for (entry, file) in folder.files() {
        match check_file(&file) {
            Ok((part, states)) => {
                if part.findings.is_empty() && !MapFile::open(&file)?.is_tile(entry) {
                    let what = "it is whole, but not the file that the manifest means".into();
                    let part = format!("tile {:?}", entry.tile);
                    checked.findings.push(Error::Damaged { path: file.clone(), part, offset: 0, what });
                }
                checked.findings.extend(part.findings);
                checked.rows += part.rows;
                checked.tiles += part.tiles;
                all.extend(states);
            }
            Err(finding) => checked.findings.push(finding),
        }
    }
    checked.findings.extend(folder.free.keys().filter_map(|tile| folder.read_free(*tile).err()));
    if checked.findings.is_empty() && checked.rows != folder.rows() {
        let what = format!("its tiles hold {} primitives, the manifest says {}", checked.rows, folder.rows());
        checked.findings.push(Error::Refused(format!("{}: {what}", path.display())));
    }
    // Tiles of a sum are numbered each by itself.
    if folder.header().cubes().is_some() {
        all.iter_mut().zip(0..).for_each(|(state, number)| state.id = number);
    }
    if let Err(source) = fits(folder.header(), all) {
        checked.findings.push(Error::Contents { path: path.into(), source });
    }
    Ok(checked)
}

fn check_file(path: &Path) -> Result<(Checked, Vec<PrimitiveState>)> {
    let mut checked = Checked { findings: Vec::new(), rows: 0, tiles: 0 };
    let mut file = match MapFile::open(path) {
        Err(damage @ (Error::Damaged { .. } | Error::Contents { .. })) => {
            checked.findings.push(damage);
            return Ok((checked, Vec::new()));
        }
        opened => opened?,
    };
    let header = file.header().clone();
    let mut all = Vec::new();
    for info in file.tiles().to_vec() {
        match verified(&mut file, &info, &header) {
            Ok(states) => {
                checked.tiles += 1;
                checked.rows += states.len() as u64;
                all.extend(states);
            }
            Err(finding) => checked.findings.push(finding),
        }
    }
    if let Some(Err(source)) = header.free_space.as_ref().map(|counters| Counters::from_bytes(counters)) {
        checked.findings.push(Error::Contents { path: path.into(), source });
    }
    if let Err(source) = fits(&header, all.clone()) {
        checked.findings.push(Error::Contents { path: path.into(), source });
    }
    Ok((checked, all))
}

/// A tile that says the same in every column: encoding what it holds gives its bytes again.
fn verified(file: &mut MapFile, info: &TileInfo, header: &Header) -> Result<Vec<PrimitiveState>> {
    let (at, bytes) = file.tile_bytes(info)?;
    let states = decode_tile(info, &bytes, header.classes.len(), file.path(), at)?;
    let again = encode_tile(info.tile, &states, header)?;
    let same = again.bytes == bytes && TileInfo { offset: info.offset, ..again.info } == *info;
    let (path, part) = (file.path().into(), format!("tile {:?}", info.tile));
    let what = "its columns contradict each other".to_string();
    if same { Ok(states) } else { Err(Error::Damaged { path, part, offset: at, what }) }
}

/// Whether primitives can be a map together.
pub(super) fn fits(header: &Header, states: Vec<PrimitiveState>) -> e2bki::Result<()> {
    // Neither views nor threads of its own are needed to know.
    let config = header.config.clone().with(|c| (c.views.live_voxels, c.run.threads) = (false, 0));
    Mapper::restore(header.classes.clone(), config, header.frames, header.next_id, states).map(|_| ())
}
