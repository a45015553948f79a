//! Source of the semantics of a simulated drive: a model of a network's errors, or a network that sees its images.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, Result, bail};
use e2bki_data::ValueKind;
use e2bki_data::camera::Sampler;
use e2bki_sim::{Drive, ErrorModel, Generation, SimFrame, Standard};
use image::RgbImage;

use super::dataset::{Simulation, name_of};
use super::state::key;
use crate::{Network, OpenSource, OwnNetworks};

/// Only where the program was built without networks, which then chooses another source.
const NO_NETWORKS: &str = "this program has no trained networks; build it with `--features segment`";

/// Which network.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Look {
    /// A model of the errors of one that was trained with this share of the data.
    Simulated(f64),
    /// The one that came with the program, trained on matched drives of the same set.
    Own,
    /// The file of a trained one, or a folder of such files.
    Trained(PathBuf),
}

impl Default for Look {
    fn default() -> Self {
        Self::Simulated(0.3)
    }
}

impl FromStr for Look {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(text.parse().map_or_else(|_| Self::Trained(text.into()), Self::Simulated))
    }
}

impl fmt::Display for Look {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Simulated(fraction) => write!(f, "{fraction}"),
            Self::Own => write!(f, "of the program"),
            Self::Trained(path) => write!(f, "{}", path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy()),
        }
    }
}

impl Look {
    /// Its name at an axis.
    pub(super) fn short(&self) -> String {
        match self {
            Self::Simulated(fraction) => format!("{:.0} %", 100.0 * fraction),
            Self::Own | Self::Trained(_) => self.to_string(),
        }
    }

    /// Source of the semantics, for records.
    pub(super) fn describe(&self) -> String {
        match self {
            Self::Simulated(fraction) => format!("simulated network, trained with {fraction} of the data"),
            Self::Own => "network that sees the images, trained on other matched drives of this set".into(),
            Self::Trained(_) => format!("network {self}"),
        }
    }

    /// The network that was asked for, else the program's own ones; where neither can be, the simulated one, and why.
    pub(super) fn chosen(asked: Option<&Self>, drives: Generation, has_own: bool) -> (Self, Option<&'static str>) {
        match (asked, drives, has_own) {
            (Some(asked), ..) => (asked.clone(), None),
            (None, Generation::Matched, true) => (Self::Own, None),
            (None, Generation::First, true) => (Self::default(), Some("the program's networks are of matched drives")),
            (None, _, false) => {
                (Self::default(), Some("this program was built without trained ones (`--features segment`)"))
            }
        }
    }

    /// Whether names of drives leave it out: tables and records say the source of the semantics besides.
    pub(super) fn goes_without_saying(&self) -> bool {
        *self == Self::Own || *self == Self::default()
    }

    /// Everything that what it says of a drive of a set depends on.
    pub(super) fn identity(&self, standard: Standard, own: OwnNetworks) -> Result<String> {
        // Every byte as a character of its own: nothing is lost.
        let of = |bytes: &[u8]| key(&["network", &bytes.iter().map(|byte| char::from(*byte)).collect::<String>()]);
        match self {
            Self::Simulated(fraction) => Ok(fraction.to_string()),
            Self::Own => Ok(of(own.context(NO_NETWORKS)?.0(standard))),
            Self::Trained(path) => {
                Ok(of(&std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?))
            }
        }
    }

    /// Those of a folder, by name from last to first; itself where it is a file.
    pub(super) fn all(&self) -> Result<Vec<Self>> {
        let Self::Trained(folder) = self else { return Ok(vec![self.clone()]) };
        if !folder.is_dir() {
            return Ok(vec![self.clone()]);
        }
        let listing = std::fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
        let mut paths = Vec::new();
        for entry in listing {
            paths.push(entry.with_context(|| format!("cannot list {}", folder.display()))?.path());
        }
        paths.retain(|p| p.extension().is_some_and(|e| e == "safetensors" || e == "onnx"));
        paths.sort();
        if paths.is_empty() {
            bail!("{} holds no network (.safetensors or .onnx)", folder.display());
        }
        Ok(paths.into_iter().rev().map(Self::Trained).collect())
    }
}

/// A network that is ready to look.
pub(super) enum Looker {
    Simulated(Box<ErrorModel>),
    Trained(Network),
}

impl Looker {
    pub(super) fn new(look: &Look, standard: Standard, drive: &Drive, simulation: &Simulation) -> Result<Self> {
        let (network, name) = match look {
            Look::Simulated(fraction) => {
                return Ok(Self::Simulated(Box::new(ErrorModel::for_drive(drive, *fraction)?)));
            }
            Look::Own => {
                let ((bytes, open), name) = (simulation.own.context(NO_NETWORKS)?, name_of(standard));
                (open(bytes(standard), name)?, name.to_string())
            }
            Look::Trained(path) => (open_file(path, simulation.open_source)?, path.display().to_string()),
        };
        let classes = drive.classes().len();
        if network.channels() != classes || network.kind() != ValueKind::Evidence {
            bail!(
                "{name}: an evidential network of the drive's {classes} classes is expected; it has {} channels of {:?}",
                network.channels(),
                network.kind()
            );
        }
        Ok(Self::Trained(network))
    }

    /// Evidence of every point of a frame; none for points that the camera does not see.
    pub(super) fn evidence(&self, drive: &Drive, frame: &SimFrame) -> Result<Vec<f32>> {
        let network = match self {
            Self::Simulated(model) => return Ok(model.evidence(frame)),
            Self::Trained(network) => network,
        };
        let image = drive.image(frame.index);
        let raw = image.rgb.iter().flatten().copied().collect();
        let picture =
            RgbImage::from_raw(image.width as u32, image.height as u32, raw).context("an image of another size")?;
        let said = network.look(&picture).map_err(anyhow::Error::msg)?;
        let sampler = Sampler::new(said.as_ref(), [image.width, image.height]);
        let [classes, ..] = said.shape();
        let mut one = vec![0.0; classes];
        let mut evidence = vec![0.0; classes * frame.points.len()];
        for (row, point) in evidence.chunks_exact_mut(classes).zip(&frame.points) {
            if let Some([column, line]) = drive.pixel_of(*point) {
                sampler.at([column as f64 + 0.5, line as f64 + 0.5], &mut one, row);
            }
        }
        Ok(evidence)
    }
}

/// Opens a network's file.
fn open_file(path: &Path, open_source: OpenSource) -> Result<Network> {
    if !path.is_file() {
        bail!("--network takes a fraction from 0.02 to 1 or a network's file; there is no file {}", path.display());
    }
    let opened = open_source(&path.to_string_lossy())?.1;
    opened.with_context(|| {
        format!("--network takes a network's file (.safetensors or .onnx); {} is none", path.display())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_networks_are_the_default_and_whatever_takes_their_place_is_said() {
        let (matched, first) = (Generation::Matched, Generation::First);
        assert_eq!(Look::chosen(None, matched, true), (Look::Own, None));
        // What is asked for is what is used, also the simulated one where there are trained ones.
        let asked = Look::Simulated(0.3);
        assert_eq!(Look::chosen(Some(&asked), matched, true), (asked, None));
        for (drives, has_own) in [(matched, false), (first, false), (first, true)] {
            let (look, why) = Look::chosen(None, drives, has_own);
            assert!(look == Look::Simulated(0.3) && why.is_some());
        }
    }

    #[test]
    fn a_number_is_a_fraction_and_anything_else_a_file() {
        assert_eq!("0.3".parse::<Look>(), Ok(Look::default()));
        assert_eq!("net.onnx".parse::<Look>(), Ok(Look::Trained("net.onnx".into())));
        assert_eq!(Look::Trained("a/b-50.safetensors".into()).short(), "b-50");
        assert_eq!(Look::Simulated(0.05).short(), "5 %");
        let folder = tempfile::tempdir().unwrap();
        for name in ["a-10.safetensors", "a-02.safetensors", "notes.txt"] {
            std::fs::write(folder.path().join(name), "x").unwrap();
        }
        let found: Vec<String> = Look::Trained(folder.path().into()).all().unwrap().iter().map(Look::short).collect();
        assert_eq!(found, ["a-10", "a-02"]);
    }
}
