//! Images to learn from: of a dataset folder, or of simulated drives.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail};
use clap::Args;
use e2bki_data::{ClassTable, Dataset, LabelledImage, OpenOptions, SemanticsSource, Split};
use e2bki_segment::train::{Sample, Samples, TrainOptions};
use e2bki_sim::{Drive, Generation, Standard};
use image::RgbImage;

use crate::table;

/// Most places to learn from: their seeds lie below those that are kept for judging.
const MAX_PLACES: usize = 99;
/// Images of simulated drives that are kept for judging, of each part.
const JUDGED: usize = 90;

#[derive(Args)]
pub(super) struct SourceArguments {
    /// Dataset folder, or simulated drives: rellis-like, offroad-like or kitti360-like
    dataset: String,
    /// Layout of the folder [default: detected]
    #[arg(long, value_name = "NAME")]
    format: Option<String>,
    /// Sequence to learn from [default: all]
    #[arg(long, value_name = "NAME")]
    sequence: Option<String>,
    /// Sequence to leave out, for a test on it; of the others every tenth image is held out
    #[arg(long, value_name = "NAME", conflicts_with = "sequence")]
    without: Option<String>,
    /// Classes: offroad7, urban11, urban11-strict, semantickitti19 or a file [default: the usual one of the format]
    #[arg(long, value_name = "NAME|FILE")]
    classes: Option<String>,
    /// Share of the images to learn from, 0.02 to 1: a weaker network
    #[arg(long, default_value_t = 1.0, value_name = "SHARE")]
    fraction: f64,
    /// Images of simulated drives to learn from
    #[arg(long, default_value_t = 960, value_name = "N")]
    images: usize,
    /// Simulated places they are spread over, at most 99: few images of many places teach more than many of few
    #[arg(long, default_value_t = 96, value_name = "N")]
    places: usize,
    /// Simulated drives: `matched` to real recordings, or the `first` ones
    #[arg(long, value_name = "WHICH", default_value = "matched")]
    drives: Generation,
}

/// Training and validation images.
pub(super) struct Data {
    pub(super) train: Samples,
    pub(super) validation: Samples,
    pub(super) test: Samples,
    pub(super) classes: Vec<String>,
    pub(super) colors: Vec<[u8; 3]>,
}

impl SourceArguments {
    pub(super) fn read(&self, size: [usize; 2]) -> Result<Data> {
        if !(self.fraction > 0.0 && self.fraction <= 1.0) {
            bail!("--fraction is {}; above 0 and at most 1 is allowed", self.fraction);
        }
        if self.images == 0 {
            bail!("--images is 0; give at least 1");
        }
        if !(1..=MAX_PLACES).contains(&self.places) {
            bail!("--places is {}; 1 to {MAX_PLACES} are possible", self.places);
        }
        let data = match self.dataset.parse::<Standard>() {
            Ok(standard) if !Path::new(&self.dataset).exists() => self.simulated(standard, size)?,
            _ => {
                let mut data = self.folder(size)?;
                data.train = data.train.fraction(self.fraction);
                data
            }
        };
        if data.train.is_empty() {
            bail!("{} holds no image with labels of its pixels", self.dataset);
        }
        Ok(data)
    }

    /// Which images these are, by the options that say it.
    pub(super) fn record(&self) -> BTreeMap<String, String> {
        let given = [
            ("--format", &self.format),
            ("--sequence", &self.sequence),
            ("--without", &self.without),
            ("--classes", &self.classes),
        ];
        let given = given.into_iter().filter_map(|(name, value)| Some((name, value.clone()?)));
        let always = [
            ("DATASET", self.dataset.clone()),
            ("--fraction", self.fraction.to_string()),
            ("--images", self.images.to_string()),
            ("--places", self.places.to_string()),
            ("--drives", self.drives.name().to_string()),
        ];
        given.chain(always).map(|(name, value)| (name.to_string(), value)).collect()
    }

    /// Description of the training data, for the network's metadata.
    pub(super) fn note(&self, preset: &str, options: &TrainOptions) -> String {
        let [width, height] = options.size;
        format!(
            "e2bki train {} --preset {preset} --size {width}x{height} --width {} --epochs {} --batch {} --learning-rate {} --fraction {} --images {} --places {} --drives {}",
            self.dataset,
            options.width,
            options.epochs,
            options.batch,
            options.learning_rate,
            self.fraction,
            self.images,
            self.places,
            self.drives.name()
        )
    }

    fn simulated(&self, standard: Standard, size: [usize; 2]) -> Result<Data> {
        let mut data = Data::new(Vec::new(), Vec::new());
        Samples::check_memory(self.images, size)?;
        for split in [e2bki_sim::Split::Train, e2bki_sim::Split::Validation, e2bki_sim::Split::Test] {
            let train = split == e2bki_sim::Split::Train;
            let drives = standard.drives_of(self.drives, split);
            let (places, images) = if train {
                (self.places.min(self.images), self.images)
            } else {
                (drives.len(), JUDGED.min(self.images))
            };
            // Those that a fraction leaves out need not be looked at.
            let kept = if train { Samples::subset(images, self.fraction) } else { (0..images).collect() };
            let bar = table::progress(kept.len(), "simulating");
            let mut drive = None;
            for number in kept {
                let place = number * places / images;
                let (first, end) = ((place * images).div_ceil(places), ((place + 1) * images).div_ceil(places));
                if drive.as_ref().is_none_or(|(of, _)| *of != place) {
                    let mut options = drives[place % drives.len()].options;
                    options.seed += (place / drives.len() * drives.len()) as u64;
                    // Seen at twice the size and shrunk, as a camera's image would be.
                    options.image_width = 2 * size[0];
                    drive = Some((place, Drive::new(options)?));
                }
                let Some((_, drive)) = &drive else { continue };
                data.classes = drive.classes().iter().map(|c| c.name.to_string()).collect();
                data.colors = drive.classes().iter().map(|c| c.color).collect();
                let frame = (number - first) * drives[place % drives.len()].frames / (end - first);
                data.part(split as usize).push(Sample::new(&labelled(drive, frame)?, size));
                bar.inc(1);
            }
            bar.finish_and_clear();
        }
        Ok(data)
    }

    fn folder(&self, size: [usize; 2]) -> Result<Data> {
        let options = OpenOptions {
            format: self.format.as_deref().map(str::parse).transpose()?,
            sequence: self.sequence.clone(),
            classes: self.classes.as_deref().map(ClassTable::open).transpose()?,
            semantics: SemanticsSource::Nothing,
            ..OpenOptions::default()
        };
        let dir = Path::new(&self.dataset);
        let first = Dataset::open(dir, &options)?;
        let mut data = Data::new(first.classes().names().to_vec(), first.classes().colors().to_vec());
        let mut sequences = match &self.sequence {
            Some(name) => vec![name.clone()],
            None => first.sequences().to_vec(),
        };
        if let Some(name) = &self.without {
            // By its name or its number, as --sequence takes it.
            let left_out = Dataset::open(dir, &OpenOptions { sequence: Some(name.clone()), ..options.clone() })?;
            sequences.retain(|sequence| sequence != left_out.sequence());
            if sequences.is_empty() {
                bail!(
                    "--without {name} leaves out the only sequence of {}; there is nothing left to learn from",
                    self.dataset
                );
            }
        }
        // The dataset's own parts run through all sequences: they are of no use where one is left out.
        for sequence in sequences.iter().filter(|_| self.without.is_none()) {
            for (part, split) in [Split::Train, Split::Validation, Split::Test].into_iter().enumerate() {
                let options = OpenOptions { sequence: Some(sequence.clone()), split: Some(split), ..options.clone() };
                // A sequence that has no frames in a part, or a folder that is not divided.
                let Ok(dataset) = Dataset::open(dir, &options) else { continue };
                let all: Vec<usize> = (0..dataset.len()).collect();
                data.read(part, &dataset, &all, size)?;
            }
        }
        if data.train.is_empty() {
            // Counted through all sequences: short ones have less than ten images.
            let mut before = 0;
            for sequence in &sequences {
                let options = OpenOptions { sequence: Some(sequence.clone()), ..options.clone() };
                let dataset = Dataset::open(dir, &options)?;
                let (held_back, learned): (Vec<usize>, Vec<usize>) =
                    (0..dataset.len()).partition(|i| (before + i) % 10 == 9);
                before += dataset.len();
                data.read(0, &dataset, &learned, size)?;
                data.read(1, &dataset, &held_back, size)?;
            }
        }
        Ok(data)
    }
}

impl Data {
    fn new(classes: Vec<String>, colors: Vec<[u8; 3]>) -> Self {
        let none = Samples::default;
        Self { train: none(), validation: none(), test: none(), classes, colors }
    }

    fn part(&mut self, number: usize) -> &mut Samples {
        match number {
            0 => &mut self.train,
            1 => &mut self.validation,
            _ => &mut self.test,
        }
    }

    fn read(&mut self, part: usize, dataset: &Dataset, indices: &[usize], size: [usize; 2]) -> Result<()> {
        let bar = table::progress(indices.len(), "reading");
        let samples = Samples::read(dataset, indices, size, |done| bar.set_position(done as u64))?;
        bar.finish_and_clear();
        self.part(part).extend(samples);
        Ok(())
    }
}

/// An image of a simulated drive with its labels.
fn labelled(drive: &Drive, frame: usize) -> Result<LabelledImage> {
    let image = drive.image(frame);
    let raw = image.rgb.iter().flatten().copied().collect();
    let class = |label: &u8| if *label == e2bki_sim::VOID { e2bki_data::VOID } else { u32::from(*label) };
    Ok(LabelledImage {
        image: RgbImage::from_raw(image.width as u32, image.height as u32, raw).context("an image of another size")?,
        classes: image.labels.iter().map(class).collect(),
    })
}
