//! `--memory`: a map that keeps to a number of bytes; what is far from the robot waits in a folder beside the map.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use e2bki::submaps::SubmapRule;
use e2bki::{Changes, ClassSet, Config, Frame, FrameReport, Mapper, Prepared};
use e2bki_store::{Folder, RollingMapper};

use super::live::Live;

/// Least budget that makes sense: what one frame touches must fit.
const LEAST: u64 = 1_000_000;

/// A number of bytes with its unit: 500MB, 2GB, 1.5GiB, 800000000.
pub(crate) fn parse_bytes(text: &str) -> Result<usize, String> {
    let text = text.trim();
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let size: f64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "kb" | "k" => 1e3,
        "mb" | "m" => 1e6,
        "gb" | "g" => 1e9,
        "tb" | "t" => 1e12,
        "kib" => 1024.0,
        "mib" => 1048576.0,
        "gib" => 1073741824.0,
        "tib" => 1099511627776.0,
        other => return Err(format!("`{other}` is no unit of memory; known: B, KB, MB, GB, TB, KiB, MiB, GiB, TiB")),
    };
    let number: f64 = number.parse().map_err(|_| format!("`{text}` is no amount of memory; try 500MB or 2GiB"))?;
    let bytes = number * size;
    if !(LEAST as f64..=1e15).contains(&bytes) {
        return Err(format!("{text} is too little or too much; allowed: 1MB to 1000TB"));
    }
    Ok(bytes as usize)
}

/// A map with a budget, and the folder that the rest of it is in while it is built.
pub(crate) struct Budgeted {
    map: RollingMapper,
    folder: PathBuf,
    /// Whether all of it is in its file.
    saved: bool,
}

impl Budgeted {
    /// An empty map.
    pub(crate) fn new(classes: ClassSet, config: &Config, out: &Path, bytes: usize) -> Result<Self> {
        let folder = folder_beside(out)?;
        let was_there = folder.exists();
        match RollingMapper::create(classes, config.clone(), &folder, bytes) {
            Ok(map) => Ok(Self { map, folder, saved: false }),
            Err(error) if was_there => Err(error).with_context(|| left_over(&folder)),
            Err(error) => {
                // An empty folder would be in the way of the next run.
                std::fs::remove_dir_all(&folder).ok();
                Err(error.into())
            }
        }
    }

    /// A saved map to go on with.
    pub(crate) fn of_file(file: &Path, threads: usize, out: &Path, bytes: usize) -> Result<Self> {
        let folder = folder_beside(out)?;
        drop(Folder::unpack(file, &folder, threads).with_context(|| left_over(&folder))?);
        Ok(Self { map: RollingMapper::open(&folder, bytes)?, folder, saved: true })
    }

    /// Keeps submaps beside the map's file, if that is asked for or the file that it goes on with has them.
    pub(crate) fn keep_submaps(
        &mut self,
        rule: Option<SubmapRule>,
        source: &str,
        out: &Path,
        onto: Option<&Path>,
    ) -> Result<()> {
        Ok(self.map.keep_submaps(rule, source, out, onto)?)
    }

    pub(crate) fn name_next_frame(&mut self, number: u64, time: Option<f64>) {
        self.map.name_next_frame(number, time);
    }

    /// The part in memory.
    pub(crate) fn resident(&self) -> &Mapper {
        self.map.resident()
    }

    /// Shows a frame that was inserted; returns what it changed.
    pub(crate) fn show(&mut self, shown: &mut Live, frame: &Frame<'_>) -> Changes {
        let changes = self.map.changes();
        shown.frame_of_part(self.resident(), frame, &changes, |tile| self.map.holds(tile));
        changes
    }

    /// What frames changed since this was last asked, or shown.
    #[cfg(feature = "ros2")]
    pub(crate) fn changes(&mut self) -> Changes {
        self.map.changes()
    }

    pub(crate) fn insert(&mut self, frame: &Frame<'_>) -> Result<FrameReport> {
        self.saved = false;
        let report = self.map.insert(frame)?;
        Ok(self.of_all(report))
    }

    /// What makes frames ready beside the map.
    #[cfg(feature = "ros2")]
    pub(crate) fn preparer(&self) -> e2bki::Preparer {
        self.map.preparer()
    }

    pub(crate) fn insert_prepared(&mut self, prepared: Prepared, frame: &Frame<'_>) -> Result<FrameReport> {
        self.saved = false;
        let report = self.map.insert_prepared(prepared, frame)?;
        Ok(self.of_all(report))
    }

    /// Adds a prepared frame and prepares the next one meanwhile.
    pub(crate) fn insert_and_prepare(
        &mut self,
        prepared: Prepared,
        frame: &Frame<'_>,
        next: &Frame<'_>,
    ) -> (Result<FrameReport>, e2bki::Result<Prepared>) {
        self.saved = false;
        let (report, ahead) = self.map.insert_and_prepare(prepared, frame, next);
        (report.map(|report| self.of_all(report)).map_err(Into::into), ahead)
    }

    /// Primitives are counted wherever they are.
    fn of_all(&self, report: FrameReport) -> FrameReport {
        FrameReport { primitives: self.map.len() as usize, ..report }
    }

    /// Writes the whole map to one file; returns the names of the drives in it.
    pub(crate) fn save(&mut self, sources: &[String], path: &Path) -> Result<Vec<String>> {
        let header = self.map.save_as(sources, path)?;
        self.saved = true;
        Ok(header.sources)
    }
}

impl Budgeted {
    /// Removes the folder if all of the map is in its file; what is in memory can still be looked at.
    pub(crate) fn release(&mut self) {
        // What cannot be removed costs space only, and the next run says so.
        if std::mem::take(&mut self.saved) {
            std::fs::remove_dir_all(&self.folder).ok();
        }
    }
}

impl Drop for Budgeted {
    fn drop(&mut self) {
        self.release();
    }
}

fn folder_beside(out: &Path) -> Result<PathBuf> {
    let Some(name) = out.file_name() else { bail!("{} is not the name of a file", out.display()) };
    let mut name = name.to_os_string();
    name.push(".tiles");
    Ok(out.with_file_name(name))
}

fn left_over(folder: &Path) -> String {
    format!(
        "--memory keeps what is far from the robot in {0}; if that is left from a run that was killed, it may hold its map \
         (`e2bki info {0}`): merge or remove it first",
        folder.display()
    )
}

#[cfg(test)]
mod tests {
    use super::parse_bytes;

    #[test]
    fn amounts_of_memory_have_units() {
        assert_eq!(parse_bytes("500MB"), Ok(500_000_000));
        assert_eq!(parse_bytes("1.5 GiB"), Ok(1_610_612_736));
        assert_eq!(parse_bytes("2g"), Ok(2_000_000_000));
        assert_eq!(parse_bytes("12345678"), Ok(12_345_678));
        for bad in ["", "MB", "-5MB", "5 parsecs", "0", "1kB", "nan", "1e400", "99999999999TB", "1.2.3MB"] {
            assert!(parse_bytes(bad).is_err(), "{bad}");
        }
    }
}
