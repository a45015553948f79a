//! Loading a frame: scan, projection, semantics, ground truth.

use std::sync::Arc;
use std::time::Instant;

use super::cloud::{self, Cloud};
use super::fold::Fold;
use super::frame::{LoadedFrame, OwnedSemantics, ReadCounts, WholeScan};
use super::lift::{self, Meaning};
use super::open::Dataset;
use super::options::{ImageSemantics, ValueKind};
use super::source::{Source, no_shape};
use crate::camera::{Deskew, Projected, TimedMotion};
use crate::classes::{Remap, VOID};
use crate::error::{Flaw, Result};
use crate::files;
use crate::item::Item;
use crate::layout::Entry;
use crate::parse::{self, Cells, Grid, LabelImage};

/// The returns of a scan while they are being worked on.
struct Returns {
    points: Vec<[f32; 3]>,
    slots: Vec<u32>,
    projected: Option<Vec<Option<Projected>>>,
}

impl Returns {
    fn retain(&mut self, keep: &[bool]) {
        fn filter<T>(values: &mut Vec<T>, keep: &[bool]) {
            let mut flags = keep.iter();
            values.retain(|_| flags.next().copied().unwrap_or(false));
        }
        filter(&mut self.points, keep);
        filter(&mut self.slots, keep);
        if let Some(projected) = &mut self.projected {
            filter(projected, keep);
        }
    }

    /// Places of the points in the image; all are in it once those outside were left out.
    fn places(&self) -> impl Iterator<Item = Option<Projected>> {
        self.projected.iter().flatten().copied()
    }
}

/// The returns of a scan and their places in it; what is no return is counted. `moved` takes a place and a point.
pub fn returns_of(
    scan: &[[f32; 3]],
    counts: &mut ReadCounts,
    moved: impl Fn(usize, [f32; 3]) -> [f32; 3],
) -> (Vec<[f32; 3]>, Vec<u32>) {
    let (mut points, mut slots) = (Vec::with_capacity(scan.len()), Vec::with_capacity(scan.len()));
    counts.slots += scan.len();
    for (slot, point) in scan.iter().enumerate() {
        if point.iter().any(|v| !v.is_finite()) {
            counts.non_finite += 1;
        } else if *point == [0.0; 3] {
            counts.no_return += 1;
        } else {
            points.push(moved(slot, *point));
            slots.push(slot as u32);
        }
    }
    (points, slots)
}

impl Dataset {
    /// Reads a frame.
    pub fn load(&self, index: usize) -> Result<LoadedFrame> {
        let start = Instant::now();
        let entry = self.entry(index)?;
        // 1. The scan; what is no return is left out, the motion of the turn undone.
        let scan = cloud::read(&entry.cloud, &self.layout.cloud, &entry.pose)?;
        let mut counts = ReadCounts::default();
        let mut returns = self.returns(&scan, entry, &mut counts);
        let whole = self.whole(&scan, &returns);

        // 2. Where the points are in the image.
        if self.needs_camera() {
            self.project(&mut returns, &mut counts)?;
        }

        // 3. What the source says of them.
        let semantics = self.semantics_of(index, entry, &scan, &mut returns, &mut counts)?;

        // 4. The truth.
        let ground_truth = match &self.truth {
            Some(source) => Some(self.labels_of(source, index, entry, &scan, &returns)?),
            None => None,
        };
        let picture = match &entry.image {
            Some(image) if self.options.pictures => Some(image.picture()?),
            _ => None,
        };
        Ok(LoadedFrame {
            index,
            id: entry.id,
            stamp_ns: entry.stamp_ns,
            name: entry.name.to_string_lossy().into_owned(),
            scan: whole.filter(|whole| whole.rings.is_some() || whole.points.len() != returns.points.len()),
            points: returns.points,
            slots: returns.slots,
            semantics,
            world_from_sensor: entry.pose,
            ground_truth,
            projected: returns.projected,
            image: entry.image.clone(),
            picture,
            counts,
            read_time: start.elapsed(),
        })
    }

    fn returns(&self, scan: &Cloud, entry: &Entry, counts: &mut ReadCounts) -> Returns {
        let undo = self.undo(scan, entry);
        let (points, slots) = returns_of(&scan.points, counts, |slot, point| undo.apply(slot, point));
        Returns { points, slots, projected: None }
    }

    /// All of the scan, if it says which beams its returns are from or some of them may be left out.
    fn whole(&self, scan: &Cloud, returns: &Returns) -> Option<WholeScan> {
        let some = self.needs_camera() || matches!(self.semantics, Source::Values(..) | Source::Images(..));
        let ring = |rings: &Vec<u16>| returns.slots.iter().map(|slot| rings[*slot as usize]).collect();
        let rings: Option<Vec<u16>> = scan.rings.as_ref().map(ring);
        (some || rings.is_some()).then(|| WholeScan { points: returns.points.clone(), rings })
    }

    /// How the motion during the scan is undone.
    fn undo<'a>(&self, scan: &'a Cloud, entry: &Entry) -> Undo<'a> {
        if !self.options.deskew.unwrap_or(true) {
            return Undo::Nothing;
        }
        let timed = || {
            let (recording, times) = (self.layout.recording.as_ref()?, scan.times.as_ref()?);
            Some(Undo::Timed(recording.motion_of(entry, times)?, times))
        };
        entry.deskew.map(Undo::Turn).or_else(timed).unwrap_or(Undo::Nothing)
    }

    /// Finds the points in the image, and leaves out those outside or hidden if the semantics come from there.
    fn project(&self, returns: &mut Returns, counts: &mut ReadCounts) -> Result<()> {
        let (projected, outside, hidden) = lift::places(&returns.points, self.camera()?, self.options.occlusion_window);
        let seen: Vec<bool> = projected.iter().map(Option::is_some).collect();
        returns.projected = Some(projected);
        if self.semantics.needs_camera() || self.options.only_in_image {
            (counts.outside_image, counts.occluded) = (outside, hidden);
            returns.retain(&seen);
        }
        Ok(())
    }

    fn semantics_of(
        &self,
        index: usize,
        entry: &Entry,
        scan: &Cloud,
        returns: &mut Returns,
        counts: &mut ReadCounts,
    ) -> Result<OwnedSemantics> {
        let (kind, paths, remap) = match &self.semantics {
            Source::Values(kind, paths, remap) => (*kind, paths, remap),
            Source::Images(network, paths, remap) => (network.kind(), paths, remap),
            other => return Ok(OwnedSemantics::Labels(self.labels_of(other, index, entry, scan, returns)?)),
        };
        let Some(path) = &paths[index] else { return Ok(OwnedSemantics::Labels(vec![VOID; returns.points.len()])) };
        let values = match &self.semantics {
            Source::Images(network, ..) => Values::Pixels(self.looked_at(network.as_ref(), path)?),
            _ => Values::read(path)?,
        };
        let (semantics, keep) = match values {
            Values::Pixels(cells) => self.lifted(kind, cells.as_ref(), remap, returns)?,
            Values::Points(rows, channels) => {
                check_count(path, rows.len() / channels.max(1), counts.slots)?;
                let mut fold = Fold::new(kind, channels, remap, self.classes().len(), returns.points.len());
                let row = |slot: &u32| &rows[*slot as usize * channels..][..channels];
                let keep: Vec<bool> = returns.slots.iter().map(|slot| fold.push(row(slot))).collect();
                (fold.finish(), keep)
            }
        };
        counts.void = keep.iter().filter(|k| !**k).count();
        returns.retain(&keep);
        Ok(semantics)
    }

    /// Values of pixels at the points' places.
    fn lifted(
        &self,
        kind: ValueKind,
        cells: &dyn Cells,
        remap: &Remap,
        returns: &Returns,
    ) -> Result<(OwnedSemantics, Vec<bool>)> {
        let meaning = Meaning { kind, remap, classes: self.classes().len() };
        let places = returns.projected.as_deref().unwrap_or_default();
        Ok(lift::values_at(cells, &meaning, self.camera()?.size, places))
    }

    /// Class of each point by a source of labels.
    fn labels_of(
        &self,
        source: &Source,
        index: usize,
        entry: &Entry,
        scan: &Cloud,
        returns: &Returns,
    ) -> Result<Vec<u32>> {
        let void = || vec![VOID; returns.points.len()];
        match source {
            Source::Nothing | Source::Values(..) | Source::Images(..) => Ok(void()),
            Source::Points(paths, remap) => {
                let Some(path) = &paths[index] else { return Ok(void()) };
                let ids = point_labels(path)?;
                check_count(path, ids.len(), scan.points.len())?;
                Ok(returns.slots.iter().map(|slot| remap.class(ids[*slot as usize])).collect())
            }
            Source::InCloud(remap) => Ok(match &scan.labels {
                Some(ids) => returns.slots.iter().map(|slot| remap.class(ids[*slot as usize])).collect(),
                None => void(),
            }),
            Source::Accumulated(remap) => {
                let Some(accumulated) = &self.layout.accumulated else { return Ok(void()) };
                let world = returns.points.iter().map(|p| entry.pose.apply(p.map(f64::from)));
                let ids = accumulated.labels(entry.id, world)?;
                Ok(ids.into_iter().map(|id| id.map_or(VOID, |id| remap.class(id))).collect())
            }
            Source::Pixels(paths, remap) => {
                let Some(path) = &paths[index] else { return Ok(void()) };
                let image = self.label_image(path)?;
                let class = |place: Option<Projected>| {
                    place.map_or(VOID, |place| {
                        let [column, row] = place.pixel();
                        remap.class(u32::from(image.at(column, row)))
                    })
                };
                Ok(returns.places().map(class).collect())
            }
        }
    }

    /// A label image, which must be of the camera's size.
    fn label_image(&self, item: &Item) -> Result<LabelImage> {
        let image = item.label_image()?;
        self.check_size(item, "label image", [image.width, image.height])?;
        Ok(image)
    }

    /// Output of the network for an image, which must have the camera's size.
    fn looked_at(&self, network: &dyn ImageSemantics, item: &Item) -> Result<Arc<dyn Cells>> {
        let picture = item.picture()?;
        self.check_size(item, "image", [picture.width() as usize, picture.height() as usize])?;
        network.look(&picture).map_err(|what| item.flaw(Flaw::new(what)))
    }

    fn check_size(&self, item: &Item, what: &str, found: [usize; 2]) -> Result<()> {
        let size = self.camera()?.size;
        if found == size {
            return Ok(());
        }
        let [[w, h], [width, height]] = [found, size];
        Err(item.flaw(Flaw::new(format!("the {what} is {w}×{h}, but the calibration is for {width}×{height}"))))
    }
}

/// How the motion during a scan is undone.
enum Undo<'a> {
    Nothing,
    Turn(Deskew),
    Timed(TimedMotion, &'a [f32]),
}

impl Undo<'_> {
    fn apply(&self, slot: usize, point: [f32; 3]) -> [f32; 3] {
        match self {
            Self::Nothing => point,
            Self::Turn(deskew) => deskew.apply(point),
            Self::Timed(motion, times) => motion.apply(point, times[slot]),
        }
    }
}

/// Stored values of one frame.
enum Values {
    Pixels(Arc<dyn Cells>),
    Points(Vec<f32>, usize),
}

impl Values {
    fn read(item: &Item) -> Result<Self> {
        let path = match item {
            Item::File(path) => path,
            Item::Message(message) => return Ok(Self::Pixels(Arc::new(message.grid()?))),
        };
        let bytes = files::bytes(path)?;
        let flaw = |flaw: Flaw| flaw.of(path);
        if files::extension(path) == "bin" {
            let shape = parse::grid_shape(&files::text_of(&files::name(path))).ok_or_else(|| no_shape(path))?;
            return Ok(Self::Pixels(Arc::new(parse::grid_f16(&bytes, shape).map_err(flaw)?)));
        }
        let array = parse::npy(&bytes).map_err(flaw)?;
        match array.shape[..] {
            [_, channels] => {
                let channels = parse::check_channels(channels).map_err(flaw)?;
                Ok(Self::Points(array.values().map(|v| v as f32).collect(), channels))
            }
            _ => Ok(Self::Pixels(Arc::new(Grid::from_npy(&array).map_err(flaw)?))),
        }
    }
}

/// Labels of points: `.label` files, or integer arrays.
fn point_labels(item: &Item) -> Result<Vec<u32>> {
    let path = match item {
        Item::File(path) => path,
        Item::Message(message) => {
            let data = message.read()?;
            let fields = message.cloud(&data)?.decode().map_err(|e| message.flaw(e))?;
            return fields.labels.ok_or_else(|| message.flaw("its points have no field `label`"));
        }
    };
    if files::extension(path) != "npy" {
        // The instance is in the high half.
        return Ok(files::parse(path, parse::labels)?.into_iter().map(|label| label & 0xFFFF).collect());
    }
    files::parse(path, |bytes| {
        let array = parse::npy(bytes)?;
        if !array.is_integer() || !matches!(array.shape[..], [_] | [_, 1]) {
            return Err(Flaw::new(format!("one integer per point expected; its shape is {:?}", array.shape)));
        }
        Ok(array.values().map(|v| if (0.0..4e9).contains(&v) { v as u32 } else { VOID }).collect())
    })
}

fn check_count(item: &Item, labels: usize, slots: usize) -> Result<()> {
    if labels == slots {
        return Ok(());
    }
    let what = format!("it has {labels} labels, but the scan has {slots} points: they do not belong together");
    Err(item.flaw(Flaw::new(what)))
}
