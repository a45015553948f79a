//! The folder beside a map: written before the map, read after it.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use e2bki::Mapper;
use e2bki::free::Counters;
use e2bki::submaps::{Part, Submap};
use rayon::prelude::*;

use super::listing::{Entry, Manifest, VERSION};
use super::part::{decode, encode};
use crate::atomic::write_atomically;
use crate::error::{Error, Result};
use crate::file::{Header, MapFile, TileInfo, hash, unwrap_free, unwrap_manifest, wrap_free, wrap_manifest};

/// The folder of the submaps of a map file.
pub fn submaps_folder(path: impl AsRef<Path>) -> PathBuf {
    let mut name = path.as_ref().as_os_str().to_os_string();
    name.push(".submaps");
    PathBuf::from(name)
}

/// What tells a map from any other: the hashes of its tiles, and its frames.
pub(crate) fn map_hash(header: &Header, tiles: &[TileInfo]) -> u64 {
    let mut bytes = header.frames.to_le_bytes().to_vec();
    for tile in tiles {
        bytes.extend(tile.tile.iter().flat_map(|v| v.to_le_bytes()));
        bytes.extend(tile.rows.to_le_bytes());
        bytes.extend(tile.hash.to_le_bytes());
    }
    hash(&bytes)
}

fn manifest_name(map: u64) -> String {
    format!("{map:016x}.manifest")
}

/// The submaps of a map on their way to the disk.
pub(crate) struct Beside {
    folder: PathBuf,
    manifest: Manifest,
}

impl Beside {
    /// Writes what every submap added, where it is not there already; nothing if the map keeps no submaps.
    pub(crate) fn write(map: &Mapper, path: &Path) -> Result<Option<Self>> {
        let Some(submaps) = map.submaps() else { return Ok(None) };
        let folder = submaps_folder(path);
        std::fs::create_dir_all(&folder).map_err(Error::io("create", &folder))?;
        let all: Vec<&Submap> = submaps.iter().collect();
        let entries = all.par_iter().map(|submap| write_one(&folder, submap)).collect::<Result<Vec<Entry>>>()?;
        Ok(Some(Self::of_entries(folder, entries, (map, submaps.next_id()))))
    }

    pub(super) fn of_entries(folder: PathBuf, submaps: Vec<Entry>, (map, next_id): (&Mapper, u32)) -> Self {
        let classes = map.classes().names().to_vec();
        Self { folder, manifest: Manifest { version: VERSION, next_id, classes, submaps } }
    }

    /// Writes the manifest: before the map is renamed into place.
    pub(crate) fn commit(&self, map: u64) -> Result<()> {
        let path = self.folder.join(manifest_name(map));
        let text = serde_json::to_vec(&self.manifest)
            .map_err(|e| Error::Submaps { path: path.clone(), what: format!("cannot write it: {e}") })?;
        write_atomically(&path, |out| out.write_all(&wrap_manifest(&text)).map_err(Error::io("write", &path)))
    }

    /// Removes what only earlier states of the map needed: after the map is in place.
    pub(crate) fn sweep(&self, map: u64) {
        let files = |entry: &Entry| [Some(entry.file.clone()), entry.free.clone()];
        let mut needed: BTreeSet<String> = self.manifest.submaps.iter().flat_map(files).flatten().collect();
        needed.insert(manifest_name(map));
        for entry in std::fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let ours = [".part", ".free", ".manifest"].iter().any(|ending| name.ends_with(ending));
            if ours && !name.starts_with('.') && !needed.contains(&name) {
                // What cannot be removed costs space only.
                std::fs::remove_file(entry.path()).ok();
            }
        }
    }
}

/// Writes what a submap added, where it is not there already.
pub(super) fn write_one(folder: &Path, submap: &Submap) -> Result<Entry> {
    let bytes = encode(&submap.part(), submap.frames()).map_err(|what| Error::Submaps {
        path: folder.to_path_buf(),
        what: format!("submap {}: {what}", submap.id()),
    })?;
    let put = |bytes: &[u8], ending: &str| -> Result<String> {
        let file = format!("{:06}-{:016x}.{ending}", submap.id(), hash(bytes));
        let path = folder.join(&file);
        if !path.is_file() {
            write_atomically(&path, |out| out.write_all(bytes).map_err(Error::io("write", &path)))?;
        }
        Ok(file)
    };
    let counters = Some(submap.free_space()).filter(|counters| counters.frames() > 0);
    let free = counters.map(|counters| put(&wrap_free(&counters.to_bytes()), "free")).transpose()?;
    Ok(Entry::new(submap, put(&bytes, "part")?, free))
}

/// What is wrong if the submaps in a folder are of other classes than a map.
fn other_classes(folder: &Path, names: &[String]) -> Option<String> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "manifest"));
    files.sort();
    files.iter().find_map(|path| {
        let bytes = std::fs::read(path).ok()?;
        let classes = Manifest::read(unwrap_manifest(&bytes).ok()?).ok()?.classes;
        let (theirs, own) = (classes.join(", "), names.join(", "));
        let what = format!("the submaps in it are of other classes than the map: {theirs}, and not {own}");
        (!classes.is_empty() && classes != names).then_some(what)
    })
}

/// The manifest of an opened map, and its file.
pub(super) fn open_manifest(path: &Path, map: &MapFile) -> Result<(Manifest, PathBuf)> {
    let folder = submaps_folder(path);
    let refused = |what: &str| Error::Submaps { path: folder.clone(), what: what.into() };
    if !folder.is_dir() {
        return Err(Error::Refused(format!(
            "{} keeps no submaps ({} is not there); `e2bki map --submaps 20` makes a map that does",
            path.display(),
            folder.display()
        )));
    }
    let name = folder.join(manifest_name(map_hash(map.header(), map.tiles())));
    if !name.is_file() {
        let other = "the submaps in it are of another state of the map, which was saved without them since";
        return Err(refused(&other_classes(&folder, map.header().classes.names()).unwrap_or_else(|| other.into())));
    }
    let bytes = std::fs::read(&name).map_err(Error::io("read", &name))?;
    let damaged = |what: String| Error::Submaps { path: name.clone(), what: format!("it is damaged: {what}") };
    let manifest = Manifest::read(unwrap_manifest(&bytes).map_err(&damaged)?).map_err(|e| damaged(e.to_string()))?;
    if manifest.version > VERSION {
        return Err(Error::Newer { path: name, found: manifest.version, known: VERSION });
    }
    let outside = |entry: &&Entry| [&entry.file].into_iter().chain(&entry.free).any(|file| file.contains(['/', '\\']));
    if let Some(entry) = manifest.submaps.iter().find(outside) {
        return Err(damaged(format!("submap {} lies outside of the folder: {}", entry.id, entry.file)));
    }
    Ok((manifest, name))
}

/// Whether the submaps of this state of a map are beside it.
pub(crate) fn has_submaps(path: &Path, map: &MapFile) -> bool {
    submaps_folder(path).join(manifest_name(map_hash(map.header(), map.tiles()))).is_file()
}

/// Reads a file whose name ends with the hash of what is in it.
fn read_named(path: &Path) -> Result<Vec<u8>> {
    let bytes = std::fs::read(path).map_err(Error::io("read", path))?;
    let named =
        path.file_stem().is_some_and(|stem| stem.to_string_lossy().ends_with(&format!("-{:016x}", hash(&bytes))));
    let what = "it is damaged, or of another map: its name is not the hash of what is in it";
    if named { Ok(bytes) } else { Err(Error::Submaps { path: path.to_path_buf(), what: what.into() }) }
}

/// Gives a map that was just loaded from a file the submaps beside it.
fn restore(map: &mut Mapper, path: &Path, file: &MapFile) -> Result<()> {
    let (manifest, name) = open_manifest(path, file)?;
    let (folder, classes, side) = (submaps_folder(path), map.classes().len(), map.config().clustering.cell_size);
    let read = |entry: &Entry| {
        let path = folder.join(&entry.file);
        let bad = |what: String| Error::Submaps { path: path.clone(), what };
        let bytes = read_named(&path)?;
        let decoded = decode(&bytes, classes);
        let (frames, states, sums) = decoded.map_err(|what| bad(format!("it is damaged: {what}")))?;
        let part = Part::of_states(classes, side, &states, &sums).map_err(|error| bad(error.to_string()))?;
        let (anchor, placement, trust) = entry.placed().map_err(Error::contents(&name))?;
        let who = (entry.id, entry.source.clone());
        let submap = Submap::restored(who, (frames, entry.frames), (anchor, placement), trust, part);
        let Some(free) = &entry.free else { return Ok(submap) };
        let path = folder.join(free);
        let bad = |what: String| Error::Submaps { path: path.clone(), what: format!("it is damaged: {what}") };
        let bytes = read_named(&path)?;
        let counters =
            Counters::from_bytes(unwrap_free(&bytes).map_err(bad)?).map_err(|error| bad(error.to_string()))?;
        Ok(submap.with_free_space(counters))
    };
    let submaps = manifest.submaps.par_iter().map(read).collect::<Result<Vec<Submap>>>()?;
    map.restore_submaps(submaps, manifest.next_id).map_err(Error::contents(&name))
}

/// Loads a map file with what its submaps added, to take some out or to move them.
pub fn load_with_submaps(path: impl AsRef<Path>) -> Result<Mapper> {
    let path = path.as_ref();
    let mut file = MapFile::open(path)?;
    open_manifest(path, &file)?;
    let mut map = file.load()?;
    restore(&mut map, path, &file)?;
    Ok(map)
}

/// The same for a map that was loaded from a file, if there are submaps beside it; says whether there are.
pub(crate) fn restore_if_kept(map: &mut Mapper, path: &Path, file: &MapFile) -> Result<bool> {
    if has_submaps(path, file) {
        restore(map, path, file)?;
    }
    Ok(map.submaps().is_some())
}
