//! An ONNX model, run by ONNX Runtime: a library of the user's, loaded when the first model is opened.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use ort::environment::Environment;
use ort::session::Session;
use ort::session::builder::GraphOptimizationLevel;
use ort::value::{TensorElementType, TensorRef};

use super::description::{Description, Layout};
use super::library::candidates;
use super::onnx::{InputFacts, chosen_output, image_shape, input_shape};
use super::output::Values;
use crate::error::{Error, Result};

/// The loaded library: there is one in a process, and it stays.
#[derive(Clone)]
pub(super) struct Library {
    path: PathBuf,
    environment: Environment,
}

/// Why there is no library.
pub(super) struct Missing {
    tried: Vec<String>,
    /// Whether somebody named it.
    pub(super) was_named: bool,
}

impl std::fmt::Display for Missing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "no library of ONNX Runtime 1.17 or later can be loaded ({}); `pip install onnxruntime` in the active environment, or \
             name it with `--onnx-runtime FILE` or ORT_DYLIB_PATH, or choose `--runtime tract`",
            self.tried.join("; ")
        )
    }
}

/// The library: the named one, or the first that can be loaded.
pub(super) fn library(asked: Option<&Path>) -> std::result::Result<Library, Missing> {
    static LOADED: Mutex<Option<Library>> = Mutex::new(None);
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    let (paths, was_named) = candidates(asked);
    if let Some(library) = &*loaded {
        // A second one cannot be had in a process.
        if was_named && !paths.contains(&library.path) {
            let tried = vec![format!("{} is in use already", library.path.display())];
            return Err(Missing { tried, was_named });
        }
        return Ok(library.clone());
    }
    let mut tried = Vec::new();
    for path in paths {
        // A file that is some other library may make the loader panic.
        let load = || ort::init_from(&path).map_err(|e| e.to_string())?.build().map_err(|e| e.to_string());
        match catch_unwind(AssertUnwindSafe(load)) {
            Ok(Ok(environment)) => {
                let library = Library { path, environment };
                *loaded = Some(library.clone());
                return Ok(library);
            }
            Ok(Err(error)) => tried.push(error),
            Err(_) => tried.push(format!("{} is no ONNX Runtime", path.display())),
        }
    }
    Err(Missing { tried, was_named })
}

/// A runnable model.
pub(super) struct Model {
    name: String,
    library: PathBuf,
    /// Runs one image at a time.
    session: Mutex<Session>,
    layout: Layout,
    size: [usize; 2],
    channels: usize,
    output: usize,
}

impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Model").field("name", &self.name).field("size", &self.size).finish_non_exhaustive()
    }
}

impl Model {
    /// From the bytes of an ONNX file.
    pub(super) fn new(bytes: &[u8], description: &Description, name: &str, library: Library) -> Result<Self> {
        let bad = |what: String| Error::model(name, what);
        let session = session(bytes, &library).map_err(|error| {
            bad(format!(
                "not an ONNX model that can be run: {error}; if its operators are unknown to this ONNX Runtime, run it elsewhere and \
                 map its stored outputs (`--semantics logits:FOLDER`)"
            ))
        })?;
        let inputs = session.inputs().len();
        let [input] = session.inputs() else {
            return Err(bad(format!("it has {inputs} inputs; one image is expected")));
        };
        let (kind, shape) = (input.dtype().tensor_type(), input.dtype().tensor_shape());
        let known = |axis: usize| shape.and_then(|shape| shape.get(axis)).and_then(|d| usize::try_from(*d).ok());
        let facts = InputFacts {
            other_type: (kind != Some(TensorElementType::Float32)).then(|| input.dtype().to_string()),
            axes: shape.map(|shape| shape.len()),
            dims: std::array::from_fn(known),
        };
        let names: Vec<String> = session.outputs().iter().map(|output| output.name().to_string()).collect();
        let output = chosen_output(&names, description).map_err(bad)?;
        let size = facts.size(description).map_err(bad)?;
        let (layout, session) = (description.input.layout, Mutex::new(session));
        let mut model = Self { name: name.into(), library: library.path, session, layout, size, channels: 0, output };
        // A run on zeros reveals the shape of the output, and whether it can be used, before any image is read.
        model.channels = model.run(&vec![0.0; 3 * size[0] * size[1]])?.1[0];
        Ok(model)
    }

    pub(super) fn size(&self) -> [usize; 2] {
        self.size
    }

    pub(super) fn channels(&self) -> usize {
        self.channels
    }

    /// What runs it.
    pub(super) fn runtime(&self) -> String {
        format!("ONNX Runtime, {}", self.library.display())
    }

    /// Outputs with channels, height and width.
    pub(super) fn run(&self, input: &[f32]) -> Result<(Values, [usize; 3])> {
        let bad = |what: String| Error::model(&self.name, what);
        let failed = |error: ort::Error| bad(format!("it cannot be run: {error}"));
        let input = TensorRef::from_array_view((input_shape(self.layout, self.size), input)).map_err(failed)?;
        let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        let outputs = session.run(ort::inputs![input]).map_err(failed)?;
        let (_, output) = outputs.into_iter().nth(self.output).ok_or_else(|| bad("it has no output".into()))?;
        let kind = output.dtype().tensor_type();
        let shape: Vec<usize> = output.shape().iter().map(|d| usize::try_from(*d).unwrap_or(0)).collect();
        let is_float = matches!(kind, Some(TensorElementType::Float32));
        let shape = image_shape(&shape, self.layout, !is_float).map_err(bad)?;
        // Asked once here, so that reading cannot fail.
        output.try_extract_tensor::<f32>().map_err(failed)?;
        Ok((Values::OnnxRuntime(output), shape))
    }
}

/// A session for a model, in as many threads as other loops have.
fn session(bytes: &[u8], library: &Library) -> std::result::Result<Session, String> {
    let text = |error: ort::Error<_>| error.to_string();
    let made = || {
        Session::builder(&library.environment)
            .map_err(|error| error.to_string())?
            .with_optimization_level(GraphOptimizationLevel::All)
            .map_err(text)?
            // Threads that wait for each other by spinning take the cores that the mapping needs meanwhile.
            .with_intra_op_spinning(false)
            .map_err(text)?
            .with_intra_threads(rayon::current_num_threads())
            .map_err(text)?
            .commit_from_memory(bytes)
            .map_err(|error| error.to_string())
    };
    catch_unwind(AssertUnwindSafe(made)).unwrap_or_else(|_| Err("ONNX Runtime failed".into()))
}
