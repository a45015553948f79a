//! Submaps of a map that is larger than memory: written beside its file as soon as they are finished.

use std::path::{Path, PathBuf};

use e2bki::Mapper;
use e2bki::submaps::{Submap, SubmapRule};

use super::files::{Beside, has_submaps, open_manifest, submaps_folder, write_one};
use super::listing::Entry;
use crate::error::{Error, Result};
use crate::file::MapFile;

/// The submaps of a map that will be one file.
#[derive(Debug)]
pub(crate) struct Spilled {
    folder: PathBuf,
    written: Vec<Entry>,
    /// Finished, and not on the disk yet: it may be full now and not later.
    waiting: Vec<Submap>,
}

impl Spilled {
    /// Lets a map keep its submaps beside the file that it will be saved as. One that goes on with the map of a file goes on
    /// with the submaps of that; without a rule only if it has any.
    pub(crate) fn begin(
        map: &mut Mapper,
        rule: Option<SubmapRule>,
        source: &str,
        (out, onto): (&Path, Option<&Path>),
    ) -> Result<Option<Self>> {
        let folder = submaps_folder(out);
        let known = match onto {
            Some(onto) if has_submaps(onto, &MapFile::open(onto)?) => {
                Some(open_manifest(onto, &MapFile::open(onto)?)?.0)
            }
            Some(onto) if rule.is_some() => {
                return Err(Error::Refused(format!(
                    "{} keeps no submaps, and with a memory budget it cannot become one: go on without the budget, or \
                     begin a new map",
                    onto.display()
                )));
            }
            _ => None,
        };
        let Some(rule) = rule.or_else(|| known.as_ref().map(|_| SubmapRule::Called)) else { return Ok(None) };
        std::fs::create_dir_all(&folder).map_err(Error::io("create", &folder))?;
        let mut written = Vec::new();
        if let Some((manifest, onto)) = known.zip(onto) {
            let from = submaps_folder(onto);
            for file in manifest.submaps.iter().flat_map(|entry| [Some(&entry.file), entry.free.as_ref()]).flatten() {
                let target = folder.join(file);
                if !target.is_file() {
                    std::fs::copy(from.join(file), &target).map_err(Error::io("write", &target))?;
                }
            }
            map.restore_submaps(Vec::new(), manifest.next_id)?;
            written = manifest.submaps;
        }
        map.keep_submaps(rule, source)?;
        Ok(Some(Self { folder, written, waiting: Vec::new() }))
    }

    /// Writes submaps that the map has finished. What cannot be written now stays in memory until it can.
    pub(crate) fn spill(&mut self, map: &mut Mapper) {
        self.waiting.extend(map.take_finished_submaps());
        self.write_waiting().ok();
    }

    fn write_waiting(&mut self) -> Result<()> {
        while let Some(submap) = self.waiting.first() {
            self.written.push(write_one(&self.folder, submap)?);
            self.waiting.remove(0);
        }
        Ok(())
    }

    /// All submaps of the map as it is now, the one that grows included, for the file that is about to be written.
    pub(crate) fn beside(&mut self, map: &Mapper) -> Result<Option<Beside>> {
        self.write_waiting()?;
        let Some(submaps) = map.submaps() else { return Ok(None) };
        let mut entries = self.written.clone();
        for submap in submaps.iter() {
            entries.push(write_one(&self.folder, submap)?);
        }
        Ok(Some(Beside::of_entries(self.folder.clone(), entries, (map, submaps.next_id()))))
    }
}
