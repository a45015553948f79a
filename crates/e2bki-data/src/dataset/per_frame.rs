//! Files of a folder that belong to frames, by name or by number.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::error::Result;
use crate::files;

/// The files of a folder with certain extensions.
pub(crate) struct PerFrame {
    by_stem: BTreeMap<String, PathBuf>,
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
    pub(crate) fn find(&self, name: &str, id: u64) -> Option<&PathBuf> {
        let goes_on = |stem: &str| stem.strip_prefix(name).is_some_and(|rest| rest.starts_with(['_', '-', '.']));
        let longer = || {
            self.by_stem.range(name.to_string()..).take_while(|(s, _)| s.starts_with(name)).find(|(s, _)| goes_on(s))
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
