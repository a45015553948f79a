//! Opening a dataset: everything that can be known without reading scans.

use std::ops::Range;
use std::path::Path;

use e2bki::{ClassSet, Pose};

use super::options::OpenOptions;
use super::source::{self, Source};
use crate::camera::{Camera, Lens};
use crate::classes::ClassTable;
use crate::error::{Error, Result};
use crate::layout::{self, Entry, Format, Layout};

/// Widest window in which nearer points hide others, pixels: every point is compared with all of it.
pub(crate) const MAX_WINDOW: usize = 1001;

/// Frames that were left out, by their numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Skipped {
    /// No pose is known.
    pub without_pose: Vec<u64>,
    /// The source of semantics says nothing of them.
    pub without_semantics: Vec<u64>,
    /// They have no ground truth, and only frames that have some were asked for.
    pub without_truth: Vec<u64>,
}

/// A dataset whose frames can be loaded in any order.
#[derive(Debug)]
pub struct Dataset {
    pub(super) format: Format,
    pub(super) layout: Layout,
    pub(super) table: ClassTable,
    pub(super) semantics: Source,
    pub(super) truth: Option<Source>,
    pub(super) options: OpenOptions,
    skipped: Skipped,
    says_truth: bool,
}

impl Dataset {
    /// Opens a folder.
    pub fn open(dir: &Path, options: &OpenOptions) -> Result<Self> {
        let format = match options.format {
            Some(format) => format,
            None => Format::detect(dir)?,
        };
        if !dir.is_dir() && format != Format::Bag {
            return Err(Error::Missing(format!("{} is not a folder", dir.display())));
        }
        if let Some(window) = options.occlusion_window
            && window > MAX_WINDOW
        {
            return Err(Error::Request(format!(
                "an occlusion window of {window} pixels; at most {MAX_WINDOW} are possible"
            )));
        }
        let mut layout = layout::open(format, dir, options)?;
        if layout.entries.is_empty() && layout.without_pose.is_empty() {
            return Err(Error::Missing(format!("{} holds no scans ({})", dir.display(), layout.scan_places)));
        }
        if options.no_distortion
            && let Ok(camera) = &mut layout.camera
        {
            camera.lens = Lens::default();
        }
        let table = match (&options.classes, &layout.classes) {
            (Some(table), _) | (None, Some(table)) => table.clone(),
            (None, None) => {
                return Err(Error::Missing(format!(
                    "{}: say which classes there are, with --classes or `classes` in e2bki.toml",
                    dir.display()
                )));
            }
        };
        let mut semantics = source::semantics(options, &layout, &table)?;
        if let (Source::Images(network, ..), Some(runtime)) =
            (&semantics, options.network.as_ref().and_then(|n| n.runtime()))
        {
            layout.notes.push(format!("{} is run by {runtime}", network.name()));
        }
        let says_truth = semantics.is_truth(&layout);
        let mut truth = source::truth(options.ground_truth, &layout, &table)?;
        let known = |i: usize| !options.only_with_truth || truth.as_ref().is_some_and(|truth| truth.has(i));
        let keep: Vec<bool> = (0..layout.entries.len()).map(|i| semantics.has(i) && known(i)).collect();
        let mut skipped = Skipped { without_pose: std::mem::take(&mut layout.without_pose), ..Skipped::default() };
        for (i, entry) in layout.entries.iter().enumerate().filter(|(i, _)| !keep[*i]) {
            let whose = if semantics.has(i) { &mut skipped.without_truth } else { &mut skipped.without_semantics };
            whose.push(entry.id);
        }
        semantics.retain(&keep);
        if let Some(truth) = &mut truth {
            truth.retain(&keep);
        }
        let mut flags = keep.iter();
        layout.entries.retain(|_| flags.next().copied().unwrap_or(false));
        if layout.entries.is_empty() {
            return Err(Error::Missing(format!(
                "{}: no frame is left: {} have no pose, {} have no semantics, {} have no ground truth",
                dir.display(),
                skipped.without_pose.len(),
                skipped.without_semantics.len(),
                skipped.without_truth.len()
            )));
        }
        let dataset = Self { format, layout, table, semantics, truth, options: options.clone(), skipped, says_truth };
        if dataset.needs_camera() {
            dataset.camera()?;
        }
        Ok(dataset)
    }

    pub(super) fn needs_camera(&self) -> bool {
        self.semantics.needs_camera()
            || self.truth.as_ref().is_some_and(Source::needs_camera)
            || self.options.only_in_image
            || self.options.occlusion_window.is_some()
    }

    /// Whether there is ground truth of the chosen kind.
    pub fn has_truth(&self) -> bool {
        self.truth.is_some()
    }

    /// How records and tables name the source of the semantics that was asked for by a name: that it is ground truth is said of
    /// the dataset's own labels too where they were asked for by their folder or topic.
    pub fn source_name(&self, asked: &str) -> String {
        if self.says_truth && !asked.starts_with("ground-truth") {
            format!("ground-truth ({asked})")
        } else {
            asked.into()
        }
    }

    /// Number of frames.
    pub fn len(&self) -> usize {
        self.layout.entries.len()
    }

    /// Whether there are no frames; an open dataset has some.
    pub fn is_empty(&self) -> bool {
        self.layout.entries.is_empty()
    }

    pub(super) fn entry(&self, index: usize) -> Result<&Entry> {
        self.layout
            .entries
            .get(index)
            .ok_or_else(|| Error::Request(format!("there is no frame at place {index}; there are {}", self.len())))
    }

    /// Number of the frame at a place.
    pub fn id(&self, index: usize) -> Option<u64> {
        self.layout.entries.get(index).map(|e| e.id)
    }

    /// Pose of the sensor at the frame at a place.
    pub fn world_from_sensor(&self, index: usize) -> Option<Pose> {
        self.layout.entries.get(index).map(|e| e.pose)
    }

    /// Places of the frames whose numbers are in a range, every so many of them.
    pub fn select(&self, ids: Option<Range<u64>>, every: usize) -> Vec<usize> {
        let wanted = |i: &usize| ids.as_ref().is_none_or(|ids| ids.contains(&self.layout.entries[*i].id));
        (0..self.len()).filter(wanted).step_by(every.max(1)).collect()
    }

    /// The classes.
    pub fn classes(&self) -> &ClassSet {
        self.table.classes()
    }

    /// The table of classes and label ids.
    pub fn table(&self) -> &ClassTable {
        &self.table
    }

    /// Name of the dataset's own label ids (see [`id_names`](crate::id_names)).
    pub fn ids(&self) -> &str {
        &self.layout.ids
    }

    /// Layout of the folder.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Name of the open sequence.
    pub fn sequence(&self) -> &str {
        &self.layout.sequence
    }

    /// Names of all sequences of the folder.
    pub fn sequences(&self) -> &[String] {
        &self.layout.sequences
    }

    /// Folder of the open sequence.
    pub fn folder(&self) -> &Path {
        &self.layout.folder
    }

    /// Notes on how it was opened: assumptions, as text.
    pub fn notes(&self) -> &[String] {
        &self.layout.notes
    }

    /// Frames that were left out.
    pub fn skipped(&self) -> &Skipped {
        &self.skipped
    }

    /// The camera; an error that says why where there is none.
    pub fn camera(&self) -> Result<&Camera> {
        self.layout.camera.as_ref().map_err(|why| Error::Missing(why.clone()))
    }

    /// Whether the motion during a turn is undone.
    pub fn deskews(&self) -> bool {
        self.options.deskew.unwrap_or(true) && self.layout.entries.iter().any(|e| e.deskew.is_some())
    }

    /// How much there is to see at a frame: image, labels of points, labels of pixels, one each.
    pub fn richness(&self, index: usize) -> usize {
        let count = |e: &Entry| [&e.image, &e.labels, &e.image_labels].iter().filter(|p| p.is_some()).count();
        self.layout.entries.get(index).map_or(0, count)
    }
}
