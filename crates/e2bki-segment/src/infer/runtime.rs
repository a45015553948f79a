//! What runs ONNX models: a choice.

use std::path::PathBuf;

/// What runs ONNX models.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Runtime {
    /// ONNX Runtime where its library is found, else tract.
    #[default]
    Auto,
    /// ONNX Runtime: the user's library, several times faster.
    OnnxRuntime,
    /// tract: part of the program, needs nothing.
    Tract,
}

impl std::str::FromStr for Runtime {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            "onnxruntime" => Ok(Self::OnnxRuntime),
            "tract" => Ok(Self::Tract),
            other => Err(format!("`{other}` is none of auto, onnxruntime, tract")),
        }
    }
}

/// How ONNX models are run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Running {
    /// By what.
    pub runtime: Runtime,
    /// The library of ONNX Runtime; searched for without it.
    pub library: Option<PathBuf>,
}
