//! Runs: maps of single drives that go into a store.

use std::io::Read;
use std::path::Path;

use e2bki::Config;
use e2bki_store::MapFile;

use crate::description::Fleet;
use crate::digest;
use crate::error::{Error, Result};
use crate::manifest::{Left, Manifest, run_object};
use crate::reader::ObjectReader;

/// A run that is in the store now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Added {
    /// What tells it from other runs.
    pub key: String,
    /// Whether it was there before.
    pub was_there: bool,
}

/// A key for a run from everything that it was made of: contents of its log, calibration and poses, the network, the
/// parameters, the program's version.
pub fn key_of_inputs<'a>(inputs: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut all = Vec::new();
    for input in inputs {
        all.extend((input.len() as u64).to_le_bytes());
        all.extend(xxhash_rust::xxh3::xxh3_128(input).to_le_bytes());
    }
    digest(&all)
}

/// A key for a log from its contents, read in parts: that of [`key_of_inputs`] for all of its bytes.
pub fn key_of_log(mut log: impl Read) -> std::io::Result<String> {
    let (mut hash, mut len) = (xxhash_rust::xxh3::Xxh3::new(), 0_u64);
    let mut part = vec![0; 1 << 20];
    loop {
        let count = log.read(&mut part)?;
        if count == 0 {
            break;
        }
        hash.update(&part[..count]);
        len += count as u64;
    }
    let mut all = len.to_le_bytes().to_vec();
    all.extend(hash.digest128().to_le_bytes());
    Ok(digest(&all))
}

/// Refuses a run that could not be taken, by its name and key alone: before hours are spent on its map.
pub fn check_run(fleet: &Fleet, name: &str, key: &str) -> Result<()> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if name.is_empty() || name.len() > 100 || name.starts_with('.') || !name.chars().all(allowed) {
        return Err(Error::Refused(format!(
            "{name:?} is not a name for a run: 1 to 100 letters, digits, dots, hyphens and underscores"
        )));
    }
    for (other, there) in stored(fleet)? {
        if there == key && other != name {
            return Err(Error::Refused(format!(
                "{name} is the same run as {other}, which is in the store already: it would count twice"
            )));
        }
    }
    if let Some(left) = Manifest::latest(fleet)?.removed.iter().find(|left| left.purged && left.key == key) {
        let Left { name, reason, .. } = left;
        return Err(Error::Refused(format!("the run {name} was purged ({reason}): it is not taken again")));
    }
    Ok(())
}

/// Puts the map of a run into the store. Without a key, its bytes are the key. It counts from the next commit on.
pub fn add(fleet: &Fleet, name: &str, file: &Path, key: Option<&str>) -> Result<Added> {
    let checked = e2bki_store::check(file)?;
    if let Some(finding) = checked.findings.first() {
        return Err(Error::Refused(format!("{}: {finding}", file.display())));
    }
    fleet.check(MapFile::open(file)?.header(), &file.display().to_string())?;
    let bytes = std::fs::read(file).map_err(|source| e2bki_store::Error::Io {
        doing: "read",
        path: file.to_path_buf(),
        source,
    })?;
    let key = key.map_or_else(|| digest(&bytes), String::from);
    check_run(fleet, name, &key)?;
    let was_there = !fleet.objects.create(&run_object(name, &key), bytes)?;
    Ok(Added { key, was_there })
}

/// Names and keys of all runs in the store, sorted.
pub(crate) fn stored(fleet: &Fleet) -> Result<Vec<(String, String)>> {
    let listed = fleet.objects.list("runs")?;
    let parts = |(object, _): &(String, u64)| {
        let (name, file) = object.strip_prefix("runs/")?.split_once('/')?;
        Some((name.to_string(), file.strip_suffix(".e2bki")?.to_string()))
    };
    Ok(listed.iter().filter_map(parts).collect())
}

/// Opens a map in the store, to read parts of it.
pub(crate) fn open(fleet: &Fleet, object: &str) -> Result<MapFile> {
    open_as(fleet, object, &fleet.config)
}

/// Opens a map in the store that has the fleet's classes and these parameters.
pub(crate) fn open_as(fleet: &Fleet, object: &str, config: &Config) -> Result<MapFile> {
    let store = fleet.objects.name();
    let len = fleet.objects.size(object)?.ok_or_else(|| Error::Damaged {
        store: store.into(),
        object: object.into(),
        what: "it is not there".into(),
    })?;
    let reader = ObjectReader::new(&fleet.objects, object, len);
    let file = MapFile::of_source(reader, format!("{store}/{object}"))?;
    fleet.check_as(file.header(), config, object)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_has_one_key_however_it_is_read() {
        let bytes: Vec<u8> = (0..3_000_000_u32).map(|i| (i % 251) as u8).collect();
        assert_eq!(key_of_log(bytes.as_slice()).unwrap(), key_of_inputs([bytes.as_slice()]));
        assert_ne!(key_of_log(&bytes[1..]).unwrap(), key_of_inputs([bytes.as_slice()]));
    }
}
