//! Where semantics and ground truth come from, resolved to files.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::options::{GroundTruth, ImageSemantics, OpenOptions, SemanticsSource, ValueKind};
use super::per_frame::PerFrame;
use crate::classes::{ClassTable, Remap};
use crate::error::{Error, Flaw, Result};
use crate::files;
use crate::item::{self, Item};
use crate::layout::{Entry, Layout};
use crate::parse;

/// Data read for each frame.
#[derive(Debug, Clone)]
pub(super) enum Source {
    Nothing,
    /// Labels of points: the frame's own file.
    Points(Vec<Option<Item>>, Remap),
    /// Labels of points within the cloud file.
    InCloud(Remap),
    /// Labels of the dataset's accumulated points.
    Accumulated(Remap),
    /// Labels of pixels.
    Pixels(Vec<Option<Item>>, Remap),
    /// Stored values, of points or of pixels.
    Values(ValueKind, Vec<Option<Item>>, Remap),
    /// Images and what looks at them.
    Images(Arc<dyn ImageSemantics>, Vec<Option<Item>>, Remap),
}

impl Source {
    /// Whether frames need their place in the image.
    pub(super) fn needs_camera(&self) -> bool {
        match self {
            Self::Pixels(..) | Self::Images(..) => true,
            // Half-precision grids and arrays of three axes are of pixels; arrays of two are of points.
            Self::Values(_, paths, _) => paths.iter().flatten().next().is_some_and(is_raster),
            _ => false,
        }
    }

    /// Whether a frame has what it needs.
    pub(super) fn has(&self, index: usize) -> bool {
        match self {
            Self::Nothing | Self::InCloud(_) | Self::Accumulated(_) => true,
            Self::Points(paths, _) | Self::Pixels(paths, _) | Self::Values(_, paths, _) | Self::Images(_, paths, _) => {
                paths[index].is_some()
            }
        }
    }

    /// Whether it is the dataset's own labels, asked for as such or by their place.
    pub(super) fn is_truth(&self, layout: &Layout) -> bool {
        let items = match self {
            Self::InCloud(_) | Self::Accumulated(_) => return true,
            Self::Points(items, _) | Self::Pixels(items, _) => items,
            Self::Nothing | Self::Values(..) | Self::Images(..) => return false,
        };
        let same = |own: fn(&Entry) -> Option<&Item>| {
            let pairs = items.iter().zip(&layout.entries).filter_map(|(item, entry)| item.as_ref().zip(own(entry)));
            let mut same = pairs.map(|(item, own)| item.is_same(own)).peekable();
            same.peek().is_some() && same.all(|same| same)
        };
        same(|entry| entry.labels.as_ref())
            || same(|entry| entry.image_labels.as_ref())
            || layout.labels_in_cloud && same(|entry| Some(&entry.cloud))
    }

    pub(super) fn retain(&mut self, keep: &[bool]) {
        if let Self::Points(paths, _) | Self::Pixels(paths, _) | Self::Values(_, paths, _) | Self::Images(_, paths, _) =
            self
        {
            let mut flags = keep.iter();
            paths.retain(|_| flags.next().copied().unwrap_or(false));
        }
    }
}

fn is_raster(item: &Item) -> bool {
    // Values in recordings are images.
    let Some(path) = item.path() else { return true };
    match files::extension(path) {
        "npy" => files::bytes(path).is_ok_and(|b| parse::npy(&b).is_ok_and(|a| a.shape.len() > 2)),
        _ => true,
    }
}

/// The dataset's own labels.
pub(super) fn truth(kind: GroundTruth, layout: &Layout, table: &ClassTable) -> Result<Option<Source>> {
    let points = layout.entries.iter().any(|e| e.labels.is_some());
    let pixels = layout.entries.iter().any(|e| e.image_labels.is_some());
    let remap = || table.remap(&layout.ids);
    let of_points = || -> Result<Option<Source>> {
        if points {
            let paths = layout.entries.iter().map(|e| e.labels.clone()).collect();
            return Ok(Some(Source::Points(paths, remap()?)));
        }
        if layout.labels_in_cloud {
            return Ok(Some(Source::InCloud(remap()?)));
        }
        if layout.accumulated.is_some() { Ok(Some(Source::Accumulated(remap()?))) } else { Ok(None) }
    };
    let of_pixels = || -> Result<Option<Source>> {
        let paths = || layout.entries.iter().map(|e| e.image_labels.clone()).collect();
        if pixels { Ok(Some(Source::Pixels(paths(), remap()?))) } else { Ok(None) }
    };
    match kind {
        GroundTruth::Off => Ok(None),
        GroundTruth::Points => of_points(),
        GroundTruth::Pixels => of_pixels(),
        GroundTruth::Auto if points || layout.labels_in_cloud => of_points(),
        GroundTruth::Auto if pixels => of_pixels(),
        GroundTruth::Auto => of_points(),
    }
}

/// The semantics that were asked for.
pub(super) fn semantics(options: &OpenOptions, layout: &Layout, table: &ClassTable) -> Result<Source> {
    let own = |kind: GroundTruth| {
        truth(kind, layout, table)?.ok_or_else(|| {
            Error::Missing(format!(
                "{} holds no ground truth of that kind (looked for {}); give --semantics, as in labels:FOLDER or logits:FOLDER",
                layout.folder.display(),
                layout.truth_places
            ))
        })
    };
    match &options.semantics {
        SemanticsSource::Nothing => Ok(Source::Nothing),
        SemanticsSource::GroundTruth => own(GroundTruth::Auto),
        SemanticsSource::GroundTruthOf(kind) => own(*kind),
        SemanticsSource::Labels(folder) => labels(options, layout, table, folder),
        SemanticsSource::Values(kind, folder) => values(options, layout, table, *kind, folder),
        SemanticsSource::Images => images(options, layout, table),
    }
}

/// Files of a named folder: as given, or within the sequence or the dataset.
fn find(layout: &Layout, folder: &Path, extensions: &[&str]) -> Result<(PathBuf, PerFrame)> {
    let places = [folder.to_path_buf(), layout.folder.join(folder), layout.root.join(folder)];
    for place in &places {
        let found = PerFrame::index(place, extensions)?;
        if !found.is_empty() {
            return Ok((place.clone(), found));
        }
    }
    let mut looked: Vec<String> = places.iter().map(|p| p.display().to_string()).collect();
    // A folder from the root on is the same within anything.
    looked.dedup();
    Err(Error::Missing(format!("no .{} files in {}", extensions.join(" or ."), looked.join(" or "))))
}

fn per_frame(layout: &Layout, found: &PerFrame) -> Vec<Option<Item>> {
    layout.entries.iter().map(|e| found.find(&e.name, e.id).cloned().map(Item::from)).collect()
}

/// The messages of a topic beside the scans of a recording, with their type; nothing where there is no topic of that name.
fn topic(layout: &Layout, name: &Path) -> Result<Option<(String, Vec<Option<Item>>)>> {
    match (&layout.recording, name.to_str()) {
        (Some(recording), Some(name)) => recording.beside(name, &layout.entries),
        _ => Ok(None),
    }
}

fn labels(options: &OpenOptions, layout: &Layout, table: &ClassTable, folder: &Path) -> Result<Source> {
    if let Some((kind, items)) = topic(layout, folder)? {
        let remap = table.remap(options.semantic_ids.as_deref().unwrap_or(&layout.ids))?;
        return match kind.as_str() {
            item::CLOUD => Ok(Source::Points(items, remap)),
            item::IMAGE | item::COMPRESSED => Ok(Source::Pixels(items, remap)),
            other => Err(Error::Request(format!(
                "{} holds {other}; labels are read from PointCloud2, Image and CompressedImage",
                folder.display()
            ))),
        };
    }
    let (_, found) = find(layout, folder, &["label", "npy", "png"])?;
    let example = found.first().cloned().unwrap_or_default();
    // Files that say in their names that they hold Cityscapes' training ids do.
    let guess = if files::text_of(&files::stem(&example)).ends_with("trainid") { "cityscapes" } else { &layout.ids };
    let remap = table.remap(options.semantic_ids.as_deref().unwrap_or(guess))?;
    let paths = per_frame(layout, &found);
    Ok(if files::extension(&example) == "png" { Source::Pixels(paths, remap) } else { Source::Points(paths, remap) })
}

fn values(
    options: &OpenOptions,
    layout: &Layout,
    table: &ClassTable,
    kind: ValueKind,
    folder: &Path,
) -> Result<Source> {
    if let Some((_, items)) = topic(layout, folder)? {
        let Some(Item::Message(first)) = items.iter().flatten().next() else {
            return Err(Error::Missing(format!("no message of {} is near any scan", folder.display())));
        };
        let channels = first.grid()?.channels;
        let remap = channel_meaning(options.semantic_ids.as_deref(), channels, table, &folder.display())?;
        return Ok(Source::Values(kind, items, remap));
    }
    let (_, found) = find(layout, folder, &["npy", "bin"])?;
    let example = found.first().cloned().unwrap_or_default();
    let remap = channel_meaning(options.semantic_ids.as_deref(), channels(&example)?, table, &example.display())?;
    Ok(Source::Values(kind, per_frame(layout, &found), remap))
}

/// The frames' images, to be looked at by a network.
fn images(options: &OpenOptions, layout: &Layout, table: &ClassTable) -> Result<Source> {
    let Some(network) = &options.network else {
        return Err(Error::Request("semantics from images need a network to look at them".into()));
    };
    if layout.entries.iter().all(|e| e.image.is_none()) {
        return Err(Error::Missing(format!("{} holds no camera images", layout.folder.display())));
    }
    let ids = options.semantic_ids.as_deref().or(network.ids());
    let remap = channel_meaning(ids, network.channels(), table, &network.name())?;
    Ok(Source::Images(network.clone(), layout.entries.iter().map(|e| e.image.clone()).collect(), remap))
}

/// Meaning of a network's channels: as given (`classes`, `cityscapes`, …), or as their number suggests. `of` names the network.
pub fn channel_meaning(ids: Option<&str>, channels: usize, table: &ClassTable, of: &dyn Display) -> Result<Remap> {
    let classes = table.classes().len();
    let space = match (ids, channels) {
        (Some("classes"), n) if n != classes => {
            return Err(Error::Request(format!(
                "{of} has {n} channels, but there are {classes} classes: they are not the same; choose other --classes, or say what the channels mean with --semantic-ids"
            )));
        }
        (Some(space), _) => space,
        (None, 19) if classes == 19 => {
            return Err(Error::Request(format!(
                "{of} has 19 channels, which may be the classes or Cityscapes' training ids; give --semantic-ids classes or --semantic-ids cityscapes"
            )));
        }
        (None, n) if n == classes => "classes",
        (None, 19 | 20) => "cityscapes",
        (None, n) => {
            return Err(Error::Request(format!(
                "{of} has {n} channels for {classes} classes; say what they mean with --semantic-ids"
            )));
        }
    };
    table.remap(space)
}

/// Number of channels of a file of values.
fn channels(path: &Path) -> Result<usize> {
    if files::extension(path) == "bin" {
        let shape = parse::grid_shape(&files::text_of(&files::name(path))).ok_or_else(|| no_shape(path))?;
        return parse::check_channels(shape[0]).map_err(|flaw| flaw.of(path));
    }
    files::parse(path, |bytes| match parse::npy(bytes)?.shape[..] {
        [_, c] | [c, _, _] | [1, c, _, _] => parse::check_channels(c),
        ref other => Err(Flaw::new(format!("points×channels or channels×height×width expected, {other:?} found"))),
    })
}

pub(super) fn no_shape(path: &Path) -> Error {
    Flaw::new("its name does not give its shape, as in 000000_logits_20x47x155_f16.bin").of(path)
}
