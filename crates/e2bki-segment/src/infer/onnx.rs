//! An ONNX model, run by ONNX Runtime or by tract; what both check of it.

use std::path::Path;

use super::description::{Description, Layout};
use super::output::Values;
use super::runtime::{Running, Runtime};
use crate::error::{Error, Result};

/// Maximum size of a model.
const MAX_BYTES: u64 = 2 << 30;

/// The bytes of a model file.
pub(super) fn read(path: &Path) -> Result<Vec<u8>> {
    let size = std::fs::metadata(path).map_err(Error::io("read", path))?.len();
    if size > MAX_BYTES {
        return Err(Error::model(path.display(), format!("{size} bytes; at most {MAX_BYTES} are read")));
    }
    std::fs::read(path).map_err(Error::io("read", path))
}

/// A runnable model.
#[derive(Debug)]
pub(super) enum Model {
    #[cfg(feature = "onnx")]
    Tract(super::tract::Model),
    #[cfg(feature = "onnxruntime")]
    OnnxRuntime(super::onnxruntime::Model),
}

impl Model {
    /// From the bytes of an ONNX file.
    pub(super) fn new(bytes: &[u8], description: &Description, name: &str, running: &Running) -> Result<Self> {
        match running.runtime {
            Runtime::Tract => Self::by_tract(bytes, description, name, None),
            #[cfg(feature = "onnxruntime")]
            Runtime::OnnxRuntime => {
                let library = super::onnxruntime::library(running.library.as_deref())
                    .map_err(|missing| Error::model(name, missing.to_string()))?;
                super::onnxruntime::Model::new(bytes, description, name, library).map(Self::OnnxRuntime)
            }
            #[cfg(feature = "onnxruntime")]
            Runtime::Auto => match super::onnxruntime::library(running.library.as_deref()) {
                Ok(library) => super::onnxruntime::Model::new(bytes, description, name, library).map(Self::OnnxRuntime),
                // A library that somebody named is wanted; one that merely is not there is not missed.
                Err(missing) if missing.was_named => Err(Error::model(name, missing.to_string())),
                Err(missing) => Self::by_tract(bytes, description, name, Some(missing.to_string())),
            },
            #[cfg(not(feature = "onnxruntime"))]
            Runtime::OnnxRuntime => Err(Error::model(
                name,
                "this build has no ONNX Runtime; build with `--features onnxruntime`, or choose `--runtime tract`",
            )),
            #[cfg(not(feature = "onnxruntime"))]
            Runtime::Auto => Self::by_tract(bytes, description, name, None),
        }
    }

    #[cfg(feature = "onnx")]
    fn by_tract(bytes: &[u8], description: &Description, name: &str, _: Option<String>) -> Result<Self> {
        super::tract::Model::new(bytes, description, name).map(Self::Tract)
    }

    #[cfg(not(feature = "onnx"))]
    fn by_tract(_: &[u8], _: &Description, name: &str, missing: Option<String>) -> Result<Self> {
        let why = missing.unwrap_or_else(|| "this build has no tract; build with `--features onnx`".into());
        Err(Error::model(name, why))
    }

    pub(super) fn size(&self) -> [usize; 2] {
        match self {
            #[cfg(feature = "onnx")]
            Self::Tract(model) => model.size(),
            #[cfg(feature = "onnxruntime")]
            Self::OnnxRuntime(model) => model.size(),
        }
    }

    pub(super) fn channels(&self) -> usize {
        match self {
            #[cfg(feature = "onnx")]
            Self::Tract(model) => model.channels(),
            #[cfg(feature = "onnxruntime")]
            Self::OnnxRuntime(model) => model.channels(),
        }
    }

    /// What runs it.
    pub(super) fn runtime(&self) -> String {
        match self {
            #[cfg(feature = "onnx")]
            Self::Tract(_) => "tract".into(),
            #[cfg(feature = "onnxruntime")]
            Self::OnnxRuntime(model) => model.runtime(),
        }
    }

    /// Outputs with channels, height and width.
    pub(super) fn run(&self, input: &[f32]) -> Result<(Values, [usize; 3])> {
        match self {
            #[cfg(feature = "onnx")]
            Self::Tract(model) => model.run(input).map(|(values, shape)| (Values::Own(values), shape)),
            #[cfg(feature = "onnxruntime")]
            Self::OnnxRuntime(model) => model.run(input),
        }
    }
}

pub(super) fn input_shape(layout: Layout, [width, height]: [usize; 2]) -> [usize; 4] {
    match layout {
        Layout::Nchw => [1, 3, height, width],
        Layout::Nhwc => [1, height, width, 3],
    }
}

/// Index of the output to use.
pub(super) fn chosen_output(names: &[String], description: &Description) -> std::result::Result<usize, String> {
    let Some(wanted) = &description.output.name else { return Ok(0) };
    names
        .iter()
        .position(|name| name == wanted)
        .ok_or_else(|| format!("it has no output `{wanted}` (output.name), only {}", names.join(", ")))
}

/// What a model says of its input.
pub(super) struct InputFacts {
    /// Its type, if it is not f32.
    pub(super) other_type: Option<String>,
    pub(super) axes: Option<usize>,
    /// Sizes of the first four axes that are fixed.
    pub(super) dims: [Option<usize>; 4],
}

impl InputFacts {
    /// Width and height of the input, from the model or else from the description.
    pub(super) fn size(&self, description: &Description) -> std::result::Result<[usize; 2], String> {
        if let Some(kind) = &self.other_type {
            return Err(format!("its input is of type {kind}; single-precision numbers are expected"));
        }
        if let Some(axes) = self.axes.filter(|axes| *axes != 4) {
            return Err(format!("its input has {axes} axes; one image of 3 colours (four axes) is expected"));
        }
        let dims = self.dims;
        let (channels, height, width) = match description.input.layout {
            Layout::Nchw => (dims[1], dims[2], dims[3]),
            Layout::Nhwc => (dims[3], dims[1], dims[2]),
        };
        if let Some(found) = channels.filter(|c| *c != 3) {
            let other = if description.input.layout == Layout::Nchw { "nhwc" } else { "nchw" };
            return Err(format!(
                "its input has {found} channels where 3 colours are expected; perhaps `layout = \"{other}\"` is right"
            ));
        }
        match (width, height, description.input.size) {
            (Some(width), Some(height), Some(size)) if size != [width, height] => Err(format!(
                "it takes images of {width}×{height}, but its description says {}×{} (input.size)",
                size[0], size[1]
            )),
            (Some(width), Some(height), _) => Ok([width, height]),
            (_, _, Some(size)) => Ok(size),
            _ => Err("it takes images of any size; choose one with `size = [width, height]` in its description".into()),
        }
    }
}

/// Channels, height and width of an output.
pub(super) fn image_shape(shape: &[usize], layout: Layout, whole: bool) -> std::result::Result<[usize; 3], String> {
    let three = match shape {
        [1, a, b, c] | [a, b, c] => [*a, *b, *c],
        _ => [0; 3],
    };
    let [channels, height, width] = match layout {
        Layout::Nchw => three,
        Layout::Nhwc => [three[2], three[0], three[1]],
    };
    if whole || channels < 2 || height == 0 || width == 0 {
        return Err(format!(
            "its output has the shape {shape:?}; a value for each of two or more classes at every cell is expected (not labels)"
        ));
    }
    Ok([channels, height, width])
}
