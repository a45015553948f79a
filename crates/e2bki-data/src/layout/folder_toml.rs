//! `e2bki.toml`: what a plain folder cannot say by its files alone.

use std::path::Path;

use e2bki::ClassSet;

use crate::camera::{Brown, Camera, Lens, check_size};
use crate::classes::ClassTable;
use crate::error::{Error, Flaw, Result};
use crate::files;
use crate::parse;

/// Contents of `e2bki.toml`; everything has a default.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct FolderToml {
    pub(super) frames: Option<String>,
    pub(super) poses: Option<String>,
    pub(super) labels: Option<String>,
    pub(super) images: Option<String>,
    pub(super) image_labels: Option<String>,
    pub(super) ids: Option<String>,
    pub(super) bin_fields: Option<usize>,
    pub(super) units: Units,
    pub(super) coordinates: Coordinates,
    pub(super) poses_are: Direction,
    classes: Option<Classes>,
    camera: Option<CameraToml>,
}

#[derive(Debug, Clone, Copy, Default, serde::Deserialize)]
pub(super) enum Units {
    #[default]
    #[serde(rename = "m")]
    Metres,
    #[serde(rename = "cm")]
    Centimetres,
    #[serde(rename = "mm")]
    Millimetres,
}

impl Units {
    pub(super) fn metres(self) -> f64 {
        match self {
            Self::Metres => 1.0,
            Self::Centimetres => 0.01,
            Self::Millimetres => 0.001,
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Coordinates {
    #[default]
    Sensor,
    World,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Direction {
    #[default]
    WorldFromSensor,
    SensorFromWorld,
}

#[derive(Debug, serde::Deserialize)]
#[serde(untagged)]
enum Classes {
    /// A table that comes along, or a file.
    Named(String),
    /// Names alone: ids are places in this list.
    List(Vec<String>),
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct CameraToml {
    size: [usize; 2],
    focal: [f64; 2],
    center: [f64; 2],
    #[serde(default)]
    distortion: [f64; 5],
    #[serde(default = "half")]
    pixel_center: f64,
    camera_from_sensor: Option<Vec<f64>>,
    sensor_from_camera: Option<Vec<f64>>,
}

fn half() -> f64 {
    0.5
}

impl FolderToml {
    /// Reads the file; defaults where there is none.
    pub(super) fn read(dir: &Path) -> Result<Self> {
        let path = dir.join("e2bki.toml");
        if !path.is_file() {
            return Ok(Self::default());
        }
        files::parse_text(&path, Self::parse)
    }

    /// Parses the text.
    pub(super) fn parse(text: &str) -> std::result::Result<Self, Flaw> {
        toml::from_str(text).map_err(|error| Flaw::new(error.to_string()))
    }

    /// The classes it names; a file is looked for beside it.
    pub(super) fn class_table(&self, dir: &Path) -> Result<Option<ClassTable>> {
        match &self.classes {
            None => Ok(None),
            Some(Classes::List(names)) => Ok(Some(ClassTable::plain(ClassSet::from_names(names.clone())?))),
            Some(Classes::Named(name)) => {
                let beside = dir.join(name);
                if beside.is_file() { ClassTable::read(&beside) } else { ClassTable::open(name) }.map(Some)
            }
        }
    }

    /// The camera it describes.
    pub(super) fn camera(&self, dir: &Path) -> std::result::Result<Camera, String> {
        let path = dir.join("e2bki.toml");
        let none = || format!("{} has no [camera]: say its size, focal, center and camera_from_sensor", path.display());
        let camera = self.camera.as_ref().ok_or_else(none)?;
        let bad = |what: String| Error::Missing(format!("{}, [camera]: {what}", path.display())).to_string();
        let pose = |numbers: &Vec<f64>| parse::rigid(numbers).map_err(|flaw| bad(flaw.what));
        let camera_from_sensor = match (&camera.camera_from_sensor, &camera.sensor_from_camera) {
            (Some(numbers), None) => pose(numbers)?,
            (None, Some(numbers)) => pose(numbers)?.inverse(),
            _ => return Err(bad("give either camera_from_sensor or sensor_from_camera".into())),
        };
        let size = check_size(camera.size).map_err(|flaw| bad(flaw.what))?;
        let numbers = camera.focal.iter().chain(&camera.center).chain(&camera.distortion).chain([&camera.pixel_center]);
        if numbers.into_iter().any(|v| !v.is_finite()) || camera.focal.iter().any(|f| *f <= 0.0) {
            return Err(bad("its numbers must be finite and its focal lengths positive".into()));
        }
        Ok(Camera {
            size,
            focal: camera.focal,
            center: camera.center,
            lens: if camera.distortion == [0.0; 5] { Lens::default() } else { Brown::new(camera.distortion).into() },
            camera_from_sensor,
            pixel_center: camera.pixel_center,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn any_text_never_panics(text in ".{0,200}") {
            FolderToml::parse(&text).ok();
        }
    }

    #[test]
    fn unknown_keys_are_named() {
        let message = FolderToml::parse("unit = \"mm\"").unwrap_err().what;
        assert!(message.contains("unit") && message.contains("units"), "{message}");
    }
}
