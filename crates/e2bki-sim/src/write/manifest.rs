//! The file that marks a folder as ours and says what is being written into it.
//! A folder without it must be empty; one with it must hold the same drive.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::files::{create_folder, write_whole};
use super::{Format, Sequence, SimulateOptions};
use crate::Error;

const NAME: &str = "e2bki-sim.json";

/// Contents of the marker file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Manifest {
    program: String,
    format: Format,
    images: bool,
    sequences: Vec<Sequence>,
}

/// Makes the output folder ready: creates it, or checks that it holds the same drive. Frame counts may grow.
pub(super) fn claim(options: &SimulateOptions) -> Result<(), Error> {
    let wanted = Manifest {
        program: "e2bki-sim".into(),
        format: options.format,
        images: options.images,
        sequences: options.sequences.clone(),
    };
    let path = options.out.join(NAME);
    match fs::read_to_string(&path) {
        Ok(text) => {
            let found: Manifest = serde_json::from_str(&text)
                .map_err(|e| Error::Damaged { path: path.clone(), reason: e.to_string() })?;
            if let Some(difference) = difference(&found, &wanted) {
                return Err(Error::OtherDrive { path: options.out.clone(), difference });
            }
            if found != wanted { save(&path, &wanted) } else { Ok(()) }
        }
        Err(_) => {
            refuse_foreign(&options.out)?;
            create_folder(&options.out)?;
            save(&path, &wanted)
        }
    }
}

fn save(path: &Path, manifest: &Manifest) -> Result<(), Error> {
    let text = serde_json::to_string_pretty(manifest)
        .map_err(|e| Error::Damaged { path: path.to_path_buf(), reason: e.to_string() })?;
    write_whole(path, text.as_bytes())
}

fn refuse_foreign(out: &PathBuf) -> Result<(), Error> {
    if out.is_file() {
        return Err(Error::ForeignFolder { path: out.clone(), found: "it is a file, which".into() });
    }
    let Ok(mut entries) = fs::read_dir(out) else { return Ok(()) };
    match entries.next() {
        None => Ok(()),
        Some(entry) => {
            let found = entry.map(|e| e.file_name().to_string_lossy().into_owned()).unwrap_or_default();
            Err(Error::ForeignFolder { path: out.clone(), found })
        }
    }
}

/// The first difference that keeps `wanted` from resuming `found`.
fn difference(found: &Manifest, wanted: &Manifest) -> Option<String> {
    if found.format != wanted.format {
        return Some(format!("format {:?}, asked for {:?}", found.format, wanted.format));
    }
    if found.images != wanted.images {
        return Some("with and without images".into());
    }
    if found.sequences.len() != wanted.sequences.len() {
        return Some(format!("{} sequences, asked for {}", found.sequences.len(), wanted.sequences.len()));
    }
    for (a, b) in found.sequences.iter().zip(&wanted.sequences) {
        if a.drive.seed != b.drive.seed {
            return Some(format!("seed {}, asked for {}", a.drive.seed, b.drive.seed));
        }
        if a.drive != b.drive || a.name != b.name || a.split != b.split {
            return Some(format!("other settings of sequence {}", a.name));
        }
        if b.frames < a.frames {
            return Some(format!("{} frames, asked for only {}", a.frames, b.frames));
        }
    }
    None
}
