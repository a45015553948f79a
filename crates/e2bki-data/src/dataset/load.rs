//! Loading a frame: scan, projection, semantics, ground truth.

use std::path::Path;
use std::time::Instant;

use super::cloud::{self, Cloud};
use super::fold::Fold;
use super::frame::{LoadedFrame, OwnedSemantics, ReadCounts};
use super::open::Dataset;
use super::options::{ImageSemantics, ValueKind};
use super::source::{Source, no_shape};
use crate::camera::{Projected, Sampler, visible};
use crate::classes::{Remap, VOID};
use crate::error::{Flaw, Result};
use crate::files;
use crate::layout::Entry;
use crate::parse::{self, Grid, LabelImage};

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

impl Dataset {
    /// Reads a frame.
    pub fn load(&self, index: usize) -> Result<LoadedFrame> {
        let start = Instant::now();
        let entry = self.entry(index)?;
        // 1. The scan; what is no return is left out, the motion of the turn undone.
        let scan = cloud::read(&entry.cloud, &self.layout.cloud, &entry.pose)?;
        let mut counts = ReadCounts { slots: scan.points.len(), ..ReadCounts::default() };
        let mut returns = self.returns(&scan, entry, &mut counts);

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
            Some(path) if self.options.pictures => Some(files::parse(path, parse::picture)?),
            _ => None,
        };
        Ok(LoadedFrame {
            index,
            id: entry.id,
            name: entry.name.to_string_lossy().into_owned(),
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
        let deskew = entry.deskew.filter(|_| self.options.deskew.unwrap_or(true));
        let mut points = Vec::with_capacity(scan.points.len());
        let mut slots = Vec::with_capacity(scan.points.len());
        for (slot, point) in scan.points.iter().enumerate() {
            if point.iter().any(|v| !v.is_finite()) {
                counts.non_finite += 1;
            } else if *point == [0.0; 3] {
                counts.no_return += 1;
            } else {
                points.push(deskew.map_or(*point, |deskew| deskew.apply(*point)));
                slots.push(slot as u32);
            }
        }
        Returns { points, slots, projected: None }
    }

    /// Finds the points in the image, and leaves out those outside or hidden if the semantics come from there.
    fn project(&self, returns: &mut Returns, counts: &mut ReadCounts) -> Result<()> {
        let camera = self.camera()?;
        let mut projected: Vec<Option<Projected>> =
            returns.points.iter().map(|p| camera.project(p.map(f64::from))).collect();
        let inside: Vec<bool> = projected.iter().map(Option::is_some).collect();
        let seen = match self.options.occlusion_window {
            Some(window) => visible(&projected, camera.size, window),
            None => inside.clone(),
        };
        for (place, seen) in projected.iter_mut().zip(&seen) {
            *place = place.filter(|_| *seen);
        }
        returns.projected = Some(projected);
        if self.semantics.needs_camera() || self.options.only_in_image {
            counts.outside_image = inside.iter().filter(|i| !**i).count();
            counts.occluded = inside.len() - counts.outside_image - seen.iter().filter(|s| **s).count();
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
            Values::Pixels(grid) => self.lifted(kind, grid, remap, returns)?,
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
        mut grid: Grid,
        remap: &Remap,
        returns: &Returns,
    ) -> Result<(OwnedSemantics, Vec<bool>)> {
        // Between pixels it is the evidence that is interpolated, not its logarithm.
        let kind = if kind == ValueKind::LogEvidence {
            for value in &mut grid.values {
                *value = e2bki::maths::exp(f64::from(value.clamp(-10.0, 10.0))) as f32;
            }
            ValueKind::Evidence
        } else {
            kind
        };
        let sampler = Sampler::new(&grid, self.camera()?.size);
        let mut fold = Fold::new(kind, grid.channels, remap, self.classes().len(), returns.points.len());
        let mut row = vec![0.0; grid.channels];
        let mut keep = Vec::with_capacity(returns.points.len());
        for place in returns.places() {
            keep.push(place.is_some_and(|place| {
                sampler.at(place.position, &mut row);
                fold.push(&row)
            }));
        }
        Ok((fold.finish(), keep))
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
    fn label_image(&self, path: &Path) -> Result<LabelImage> {
        let image = files::parse(path, parse::label_image)?;
        self.check_size(path, "label image", [image.width, image.height])?;
        Ok(image)
    }

    /// Output of the network for an image, which must have the camera's size.
    fn looked_at(&self, network: &dyn ImageSemantics, path: &Path) -> Result<Grid> {
        let picture = files::parse(path, parse::picture)?;
        self.check_size(path, "image", [picture.width() as usize, picture.height() as usize])?;
        network.look(&picture).map_err(|what| Flaw::new(what).of(path))
    }

    fn check_size(&self, path: &Path, what: &str, found: [usize; 2]) -> Result<()> {
        let size = self.camera()?.size;
        if found == size {
            return Ok(());
        }
        let [[w, h], [width, height]] = [found, size];
        Err(Flaw::new(format!("the {what} is {w}×{h}, but the calibration is for {width}×{height}")).of(path))
    }
}

/// Stored values of one frame.
enum Values {
    Pixels(Grid),
    Points(Vec<f32>, usize),
}

impl Values {
    fn read(path: &Path) -> Result<Self> {
        let bytes = files::bytes(path)?;
        let flaw = |flaw: Flaw| flaw.of(path);
        if files::extension(path) == "bin" {
            let shape = parse::grid_shape(&files::text_of(&files::name(path))).ok_or_else(|| no_shape(path))?;
            return Ok(Self::Pixels(parse::grid_f16(&bytes, shape).map_err(flaw)?));
        }
        let array = parse::npy(&bytes).map_err(flaw)?;
        match array.shape[..] {
            [_, channels] => {
                let channels = parse::check_channels(channels).map_err(flaw)?;
                Ok(Self::Points(array.values().map(|v| v as f32).collect(), channels))
            }
            _ => Ok(Self::Pixels(Grid::from_npy(&array).map_err(flaw)?)),
        }
    }
}

/// Labels of points: `.label` files, or integer arrays.
fn point_labels(path: &Path) -> Result<Vec<u32>> {
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

fn check_count(path: &Path, labels: usize, slots: usize) -> Result<()> {
    if labels == slots {
        return Ok(());
    }
    Err(Flaw::new(format!("it has {labels} labels, but the scan has {slots} points: they do not belong together"))
        .of(path))
}
