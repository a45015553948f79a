//! Where frames come from: a dataset, or a simulated drive that goes on for as long as it is asked to.

use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use e2bki::{ClassSet, Pose};
use e2bki_data::{Dataset, LoadedFrame, OwnedSemantics, ReadCounts, Skipped, read_ahead};
use e2bki_sim::{Drive, Split, Standard, WorldKind};

/// What names of simulated drives begin with.
const PREFIX: &str = "sim:";
/// Frames of a simulated drive: more than a day of driving.
const ENDLESS: usize = 1_000_000;

/// A source of frames.
pub(crate) enum Source {
    /// Files.
    Dataset(Arc<Dataset>),
    /// A drive through a simulated world.
    Drive(Arc<Simulated>),
}

/// A simulated drive whose labels are the truth.
pub(crate) struct Simulated {
    world: String,
    drive: Drive,
    classes: ClassSet,
    skipped: Skipped,
}

/// Frames, one after the other.
type Frames = Box<dyn Iterator<Item = Result<LoadedFrame>>>;

impl Source {
    /// The simulated drive of that name, if it is one: sim:urban or sim:offroad.
    pub(crate) fn simulated(name: &str, semantics: &str) -> Result<Option<Self>> {
        let Some(world) = name.strip_prefix(PREFIX) else { return Ok(None) };
        if semantics != "ground-truth" {
            bail!("a simulated drive has its true labels only; leave --semantics out");
        }
        let standard = match world.parse::<WorldKind>()? {
            WorldKind::Urban => Standard::KittiLike,
            WorldKind::Offroad => Standard::RellisLike,
        };
        let drive = Drive::standard(standard, Split::Test)?;
        let classes = ClassSet::new(drive.classes().iter().map(|class| (class.name, class.color)))?;
        let (world, skipped) = (world.to_string(), Skipped::default());
        Ok(Some(Self::Drive(Arc::new(Simulated { world, drive, classes, skipped }))))
    }

    /// Name of the format.
    pub(crate) fn format(&self) -> &str {
        match self {
            Self::Dataset(dataset) => dataset.format().name(),
            Self::Drive(_) => "simulated",
        }
    }

    /// Name of the sequence.
    pub(crate) fn sequence(&self) -> &str {
        match self {
            Self::Dataset(dataset) => dataset.sequence(),
            Self::Drive(drive) => &drive.world,
        }
    }

    pub(crate) fn classes(&self) -> &ClassSet {
        match self {
            Self::Dataset(dataset) => dataset.classes(),
            Self::Drive(drive) => &drive.classes,
        }
    }

    /// Name of the table of classes.
    pub(crate) fn table(&self) -> &str {
        match self {
            Self::Dataset(dataset) => dataset.table().name(),
            Self::Drive(_) => "simulator",
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Dataset(dataset) => dataset.len(),
            Self::Drive(_) => ENDLESS,
        }
    }

    /// Number of the frame at a place.
    pub(crate) fn id(&self, index: usize) -> Option<u64> {
        match self {
            Self::Dataset(dataset) => dataset.id(index),
            Self::Drive(_) => Some(index as u64),
        }
    }

    pub(crate) fn notes(&self) -> &[String] {
        match self {
            Self::Dataset(dataset) => dataset.notes(),
            Self::Drive(_) => &[],
        }
    }

    pub(crate) fn skipped(&self) -> &Skipped {
        match self {
            Self::Dataset(dataset) => dataset.skipped(),
            Self::Drive(drive) => &drive.skipped,
        }
    }

    /// Places of the frames whose numbers are in a range, every so many of them.
    pub(crate) fn select(&self, ids: Option<Range<u64>>, every: usize) -> Vec<usize> {
        match self {
            Self::Dataset(dataset) => dataset.select(ids, every),
            Self::Drive(_) => {
                let ids = ids.unwrap_or(0..u64::MAX);
                let end = ids.end.min(ENDLESS as u64);
                (ids.start.min(end) as usize..end as usize).step_by(every.max(1)).collect()
            }
        }
    }

    /// The frames at these places, made ready by another thread.
    pub(crate) fn frames(&self, chosen: Vec<usize>, ahead: usize) -> Result<Frames> {
        match self {
            Self::Dataset(dataset) => {
                let frames = read_ahead(dataset.clone(), chosen, ahead);
                Ok(Box::new(frames.map(|frame| frame.map_err(anyhow::Error::from))))
            }
            Self::Drive(drive) => {
                let (sender, frames) = sync_channel(ahead);
                let drive = drive.clone();
                let thread = std::thread::Builder::new().name("e2bki-drive".into());
                thread
                    .spawn(move || {
                        // When the receiver has gone away, nobody wants the rest.
                        chosen.into_iter().map(|index| drive.frame(index)).all(|frame| sender.send(frame).is_ok())
                    })
                    .context("cannot start a thread for the simulation")?;
                Ok(Box::new(frames.into_iter()))
            }
        }
    }
}

impl Simulated {
    fn frame(&self, index: usize) -> Result<LoadedFrame> {
        let start = Instant::now();
        let frame = self.drive.frame(index);
        let label = |label: &u8| if *label == e2bki_sim::VOID { e2bki_data::VOID } else { u32::from(*label) };
        Ok(LoadedFrame {
            index,
            id: index as u64,
            stamp_ns: Some(self.drive.stamp_ns(index)),
            name: format!("{index:06}"),
            counts: ReadCounts { slots: frame.points.len(), ..ReadCounts::default() },
            semantics: OwnedSemantics::Labels(frame.labels.iter().map(label).collect()),
            world_from_sensor: Pose::from_matrix(frame.world_from_sensor)?,
            points: frame.points,
            slots: frame.slots,
            scan: None,
            ground_truth: None,
            projected: None,
            image: None,
            picture: None,
            read_time: start.elapsed(),
        })
    }
}
