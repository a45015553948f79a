//! The layouts that can be written.
//! Names are those of the command line.

use serde::{Deserialize, Serialize};

use crate::Error;

/// On-disk layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// RELLIS-3D.
    Rellis3d,
    /// KITTI-360.
    Kitti360,
    /// SemanticKITTI.
    SemanticKitti,
}

impl std::str::FromStr for Format {
    type Err = Error;
    fn from_str(name: &str) -> Result<Format, Error> {
        match name {
            "rellis3d" => Ok(Format::Rellis3d),
            "kitti360" => Ok(Format::Kitti360),
            "semantickitti" => Ok(Format::SemanticKitti),
            _ => Err(Error::UnknownName {
                what: "format",
                given: name.into(),
                known: "rellis3d, kitti360, semantickitti",
            }),
        }
    }
}
