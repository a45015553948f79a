//! An ONNX model, run by tract.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use tract_onnx::prelude::*;
use tract_onnx::tract_core::ops::unimpl::UnimplementedOp;
use tract_onnx::tract_hir::internal::{DimLike, Factoid};

use super::description::{Description, Layout};
use super::onnx::{InputFacts, chosen_output, image_shape, input_shape};
use crate::error::{Error, Result};

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
        let output = chosen_output(&outputs_of(&model).map_err(unreadable)?, description).map_err(bad)?;
        let size = input_of(&model).map_err(unreadable)?.size(description).map_err(bad)?;
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

/// Names of the outputs.
fn outputs_of(model: &InferenceModel) -> TractResult<Vec<String>> {
    let label = |outlet: &OutletId| {
        model.outlet_label(*outlet).map_or_else(|| model.node(outlet.node).name.clone(), str::to_string)
    };
    Ok(model.output_outlets()?.iter().map(label).collect())
}

/// What the model says of its input.
fn input_of(model: &InferenceModel) -> TractResult<InputFacts> {
    let fact = model.input_fact(0)?;
    let kind = fact.datum_type.concretize();
    let known = |axis: usize| fact.shape.dim(axis).and_then(|d| d.concretize()).and_then(|d| d.to_usize().ok());
    Ok(InputFacts {
        other_type: kind.filter(|kind| *kind != f32::datum_type()).map(|kind| format!("{kind:?}")),
        axes: fact.shape.rank().concretize().map(|rank| rank as usize),
        dims: std::array::from_fn(known),
    })
}
