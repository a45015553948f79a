//! Folders of recordings: with the `metadata.yaml` of rosbag2, or, where that was lost, by the names of their files.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::metadata::Metadata;

/// Endings of files that are recordings.
const ENDINGS: [&str; 5] = [".mcap", ".mcap.zstd", ".db3", ".db3.zstd", ".bag"];

/// A name without its ending and the number of its part, and that number: recorders split into `drive_0.db3`, `drive_1.db3`.
fn split(name: &str) -> Option<(&str, Option<u64>)> {
    let stem = ENDINGS.iter().find_map(|ending| name.strip_suffix(ending))?;
    let numbered = stem.rsplit_once('_').and_then(|(stem, number)| Some((stem, number.parse().ok()?)));
    Some(numbered.map_or((stem, None), |(stem, number)| (stem, Some(number))))
}

/// Names of the recordings in a folder, by their parts.
fn recordings(folder: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let files = entries.flatten().filter(|entry| entry.path().is_file());
    let mut names: Vec<String> = files.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.retain(|name| split(name).is_some());
    names.sort_unstable_by(|a, b| split(a).cmp(&split(b)).then_with(|| a.cmp(b)));
    names
}

/// Whether a folder is meant to be a recording.
pub(crate) fn is_recording(folder: &Path) -> bool {
    folder.join("metadata.yaml").is_file() || !recordings(folder).is_empty()
}

/// The files of a recording, in order.
pub(crate) struct Parts {
    pub(crate) files: Vec<PathBuf>,
    /// Whether every message is compressed by itself.
    pub(crate) messages_compressed: bool,
    /// How many messages they are said to hold.
    pub(crate) messages: Option<u64>,
    /// What is to be said of it.
    pub(crate) note: Option<String>,
}

impl Parts {
    pub(crate) fn of(folder: &Path) -> Result<Self> {
        let name = folder.join("metadata.yaml");
        if name.is_file() { Self::listed(folder, &name) } else { Self::found(folder) }
    }

    /// As `metadata.yaml` says.
    fn listed(folder: &Path, name: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(name).map_err(Error::io("read", name))?;
        let about = Metadata::read(&text).map_err(|what| Error::malformed(name, what))?;
        let whole_files = about.compression_mode.eq_ignore_ascii_case("file");
        let messages_compressed = about.compression_mode.eq_ignore_ascii_case("message");
        if (whole_files || messages_compressed) && about.compression_format != "zstd" {
            let what = format!("compression `{}`; zstd is read", about.compression_format);
            return Err(Error::Unsupported { path: name.into(), what });
        }
        let mut files = Vec::new();
        for file in &about.files {
            // Old recorders wrote the folder's own name before the file's.
            let base =
                Path::new(file).file_name().ok_or_else(|| Error::malformed(name, format!("`{file}` is no file")))?;
            let candidates = [folder.join(base), folder.join(format!("{}.zstd", base.to_string_lossy()))];
            let Some(path) = candidates.into_iter().find(|path| path.is_file()) else {
                let what =
                    format!("it names {}, which is not in the folder ({} storage)", base.display(), about.storage);
                return Err(Error::malformed(name, what));
            };
            files.push(path);
        }
        Ok(Self { files, messages_compressed, messages: about.messages, note: None })
    }

    /// A recorder that was killed writes no `metadata.yaml`: its files are known by their names. Those of several
    /// recordings are not put together.
    fn found(folder: &Path) -> Result<Self> {
        let names = recordings(folder);
        let stems = names.iter().filter_map(|name| split(name)).map(|(stem, number)| (stem, number.is_some()));
        let mut stems: Vec<(&str, bool)> = stems.collect();
        stems.dedup();
        if names.len() > 1 && stems != [(stems[0].0, true)] {
            let what = format!(
                "the folder has no metadata.yaml and files of several recordings: give one of {}, or write metadata.yaml \
                 with `ros2 bag reindex`",
                names.join(", ")
            );
            return Err(Error::Unsupported { path: folder.into(), what });
        }
        let note = format!(
            "{} has no metadata.yaml, as when a recorder is killed: {} is read",
            folder.display(),
            names.join(", ")
        );
        let files = names.iter().map(|name| folder.join(name)).collect();
        Ok(Self { files, messages_compressed: false, messages: None, note: Some(note) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_one_recording_are_put_in_order_and_others_are_not_mixed() {
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str| std::fs::write(folder.path().join(name), b"").unwrap();
        assert!(!is_recording(folder.path()));
        put("notes.txt");
        assert!(!is_recording(folder.path()));
        put("drive_10.db3");
        put("drive_2.db3");
        let parts = Parts::of(folder.path()).unwrap();
        assert_eq!(parts.files, ["drive_2.db3", "drive_10.db3"].map(|name| folder.path().join(name)));
        assert!(is_recording(folder.path()) && parts.note.unwrap().contains("metadata.yaml"));
        put("other.mcap");
        let what = Parts::of(folder.path()).map(|parts| parts.files).unwrap_err().to_string();
        assert!(what.contains("several recordings") && what.contains("other.mcap"), "{what}");
    }

    #[test]
    fn a_recording_alone_may_have_any_name() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("tf_example.db3"), b"").unwrap();
        assert_eq!(Parts::of(folder.path()).unwrap().files.len(), 1);
    }
}
