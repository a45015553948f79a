//! Files of a folder that belong to frames, by name or by number.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::ops::Bound;
use std::path::{Path, PathBuf};

use crate::error::Result;
use crate::files;

/// The files of a folder with certain extensions.
pub(crate) struct PerFrame {
    by_stem: BTreeMap<OsString, PathBuf>,
    by_number: BTreeMap<u64, PathBuf>,
}

impl PerFrame {
    pub(crate) fn index(folder: &Path, extensions: &[&str]) -> Result<Self> {
        let (mut by_stem, mut by_number) = (BTreeMap::new(), BTreeMap::new());
        for path in files::list_with(folder, extensions)? {
            let stem = files::stem(&path);
            if let Some(number) = files::number(&stem) {
                by_number.entry(number).or_insert_with(|| path.clone());
            }
            by_stem.insert(stem, path);
        }
        Ok(Self { by_stem, by_number })
    }

    /// The file of a frame: of the same name, of a name that goes on after it (`000000_logits…`), or of the same number.
    pub(crate) fn find(&self, name: &OsStr, id: u64) -> Option<&PathBuf> {
        let rest = |stem: &OsStr| {
            stem.as_encoded_bytes().strip_prefix(name.as_encoded_bytes()).map(|rest| rest.first().copied())
        };
        let goes_on = |stem: &OsStr| matches!(rest(stem), Some(Some(b'_' | b'-' | b'.')));
        let longer = || {
            let from = self.by_stem.range::<OsStr, _>((Bound::Included(name), Bound::Unbounded));
            from.take_while(|(stem, _)| rest(stem).is_some()).find(|(stem, _)| goes_on(stem))
        };
        self.by_stem.get(name).or_else(|| longer().map(|(_, path)| path)).or_else(|| self.by_number.get(&id))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.by_stem.is_empty()
    }

    pub(crate) fn first(&self) -> Option<&PathBuf> {
        self.by_stem.values().next()
    }
}
