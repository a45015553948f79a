//! An ONNX model, run by tract.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use tract_onnx::prelude::*;
use tract_onnx::tract_core::ops::unimpl::UnimplementedOp;
use tract_onnx::tract_hir::internal::{DimLike, Factoid};

use super::description::{Description, Layout};
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
pub(super) struct Model {
    name: String,
    plan: Arc<TypedSimplePlan>,
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
    pub(super) fn new(bytes: &[u8], description: &Description, name: &str) -> Result<Self> {
        // The ONNX reader is a dependency, which may panic on malformed files.
        match catch_unwind(AssertUnwindSafe(|| Self::load(bytes, description, name))) {
            Ok(model) => model,
            Err(_) => Err(Error::model(name, "the file is damaged, or uses ONNX in a way that cannot be run")),
        }
    }

    fn load(mut bytes: &[u8], description: &Description, name: &str) -> Result<Self> {
        let bad = |what: String| Error::model(name, what);
        let unreadable = |error: TractError| bad(format!("not an ONNX model that can be run: {error:#}"));
        let mut model = tract_onnx::onnx().model_for_read(&mut bytes).map_err(unreadable)?;
        let unknown = unknown_operators(&model);
        if !unknown.is_empty() {
            return Err(bad(format!(
                "the ONNX runtime used here (tract) does not support these operators: {}; export the model without them (a \
                 lower opset or fixed sizes often helps), or run it elsewhere and map its stored outputs (`--semantics \
                 logits:FOLDER`)",
                unknown.join(", ")
            )));
        }
        let inputs = model.input_outlets().map_err(unreadable)?.len();
        if inputs != 1 {
            return Err(bad(format!("it has {inputs} inputs; one image is expected")));
        }
        let output = chosen_output(&model, description).map_err(bad)?;
        let size = input_size(&model, description).map_err(bad)?;
        let layout = description.input.layout;
        let shape = input_shape(layout, size);
        model.set_input_fact(0, f32::fact(shape).into()).map_err(unreadable)?;
        let plan = model
            .into_optimized()
            .and_then(|model| model.into_runnable())
            .map_err(|error| bad(format!("it does not take an input of {shape:?} numbers: {error:#}")))?;
        let mut model = Self { name: name.into(), plan, layout, size, channels: 0, output };
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

    /// Outputs with channels, height and width.
    pub(super) fn run(&self, input: &[f32]) -> Result<(Vec<f32>, [usize; 3])> {
        let bad = |what: String| Error::model(&self.name, what);
        let failed = |error: TractError| bad(format!("it cannot be run: {error:#}"));
        let input = Tensor::from_shape(&input_shape(self.layout, self.size), input).map_err(failed)?;
        let run = AssertUnwindSafe(|| self.plan.run(tvec!(input.into_tvalue())));
        let outputs = catch_unwind(run)
            .unwrap_or_else(|_| Err(TractError::msg("an operator failed on its inputs")))
            .map_err(failed)?;
        let output = outputs.get(self.output).ok_or_else(|| bad("it has no output".into()))?;
        let values = output.cast_to::<f32>().map_err(failed)?;
        let shape = image_shape(values.shape(), self.layout, output.datum_type().is_integer()).map_err(bad)?;
        let values = values.try_as_plain_ram().map_err(failed)?.as_slice::<f32>().map_err(failed)?.to_vec();
        Ok((values, shape))
    }
}

/// Names of the operators that cannot be run, each once.
fn unknown_operators(model: &InferenceModel) -> Vec<String> {
    let names = model.nodes().iter().filter(|node| node.op_is::<UnimplementedOp>()).map(|node| node.op().name());
    let bare = |name: &str| name.trim_start_matches("Unimplemented(").trim_end_matches(')').to_string();
    names.map(|name| bare(&name)).collect::<BTreeSet<_>>().into_iter().collect()
}

fn input_shape(layout: Layout, [width, height]: [usize; 2]) -> [usize; 4] {
    match layout {
        Layout::Nchw => [1, 3, height, width],
        Layout::Nhwc => [1, height, width, 3],
    }
}

/// Index of the output to use.
fn chosen_output(model: &InferenceModel, description: &Description) -> std::result::Result<usize, String> {
    let outlets = model.output_outlets().map_err(|error| format!("{error:#}"))?;
    let label = |outlet: &OutletId| {
        model.outlet_label(*outlet).map_or_else(|| model.node(outlet.node).name.clone(), str::to_string)
    };
    let Some(wanted) = &description.output.name else { return Ok(0) };
    let names: Vec<String> = outlets.iter().map(label).collect();
    names
        .iter()
        .position(|name| name == wanted)
        .ok_or_else(|| format!("it has no output `{wanted}` (output.name), only {}", names.join(", ")))
}

/// Width and height of the input, from the model or else from the description.
fn input_size(model: &InferenceModel, description: &Description) -> std::result::Result<[usize; 2], String> {
    let fact = model.input_fact(0).map_err(|error| format!("{error:#}"))?;
    if let Some(kind) = fact.datum_type.concretize()
        && kind != f32::datum_type()
    {
        return Err(format!("its input is of type {kind:?}; single-precision numbers are expected"));
    }
    let rank = fact.shape.rank().concretize();
    if rank.is_some_and(|rank| rank != 4) {
        return Err(format!(
            "its input has {} axes; one image of 3 colours (four axes) is expected",
            rank.unwrap_or(0)
        ));
    }
    let dims: Vec<Option<usize>> =
        (0..4).map(|axis| fact.shape.dim(axis).and_then(|d| d.concretize()).and_then(|d| d.to_usize().ok())).collect();
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

/// Channels, height and width of an output.
fn image_shape(shape: &[usize], layout: Layout, whole: bool) -> std::result::Result<[usize; 3], String> {
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
