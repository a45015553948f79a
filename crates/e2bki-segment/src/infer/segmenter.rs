//! A network that looks at images: any ONNX segmentation model, or weights of our own network.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use e2bki_data::camera::Sampler;
use e2bki_data::parse::Grid;
use e2bki_data::{ImageSemantics, ValueKind};
use half::f16;
use image::RgbImage;
use rayon::prelude::*;
use tract_onnx::prelude::*;
use tract_onnx::tract_hir::internal::{DimLike, Factoid};

use super::description::{Description, Layout};
use super::{prepare, read};
use crate::error::{Result, SegmentError};
use crate::network::{Weights, to_onnx};

/// Largest model that is read.
const MAX_MODEL_BYTES: u64 = 2 << 30;

/// A network ready to look at images of any size; they are resized to what it wants.
pub struct Segmenter {
    name: String,
    plan: Arc<TypedSimplePlan>,
    description: Description,
    size: [usize; 2],
    channels: usize,
    output: usize,
}

/// What a network says of an image.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    /// Values of cells that together cover the image.
    pub grid: Grid,
    /// What the values are: logits or probabilities of an ordinary network, evidence otherwise.
    pub kind: ValueKind,
}

impl Seen {
    /// Strongest channel at every pixel of an image of this size, row by row: that of the cell the pixel's centre is in.
    pub fn channels(&self, [width, height]: [usize; 2]) -> Vec<u16> {
        let cell = |at: usize, count: usize, size: usize| ((2 * at + 1) * count / (2 * size)).min(count - 1);
        let row_of = |row: usize| {
            let y = cell(row, self.grid.height, height);
            (0..width)
                .map(move |column| e2bki::maths::argmax(self.grid.cell(cell(column, self.grid.width, width), y)) as u16)
        };
        (0..height).into_par_iter().flat_map_iter(row_of).collect()
    }

    /// Means over cells × cells of the grid as half-precision numbers, with their shape: channels, height, width. The
    /// form in which datasets keep outputs of networks.
    pub fn pooled_f16(&self, cells: usize) -> ([usize; 3], Vec<u8>) {
        let grid = &self.grid;
        let cells = cells.clamp(1, grid.width.min(grid.height));
        let (width, height) = (grid.width / cells, grid.height / cells);
        let value = |c: usize, y: usize, x: usize| {
            let inside = (0..cells * cells).map(|i| grid.cell(x * cells + i % cells, y * cells + i / cells)[c]);
            (inside.sum::<f32>() / (cells * cells) as f32).clamp(-65504.0, 65504.0)
        };
        let plane = |c: usize| (0..height * width).map(move |i| (c, i / width, i % width));
        let bytes = (0..grid.channels)
            .into_par_iter()
            .flat_map_iter(|c| plane(c).flat_map(|(c, y, x)| f16::from_f32(value(c, y, x)).to_le_bytes()))
            .collect();
        ([grid.channels, height, width], bytes)
    }

    /// Values between cells, for an image of this size.
    pub fn sampler(&self, size: [usize; 2]) -> Sampler<'_> {
        Sampler::new(&self.grid, size)
    }
}

impl std::fmt::Debug for Segmenter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Segmenter").field("name", &self.name).field("size", &self.size).finish_non_exhaustive()
    }
}

impl Segmenter {
    /// Opens an ONNX model with the description beside it (or the usual one), or weights of our own network
    /// (`.safetensors`), which know themselves what they are; a description beside them overrules that.
    pub fn open(path: &Path) -> Result<Self> {
        Self::open_with(path, Description::beside(path)?)
    }

    /// Opens a network with a description of its own.
    pub fn open_with(path: &Path, description: Option<Description>) -> Result<Self> {
        if path.extension().is_some_and(|e| e == "safetensors") {
            let mut weights = Weights::open(path)?;
            if let Some(description) = description {
                weights.about_mut().description = description;
            }
            return Self::from_weights(&weights, &path.display().to_string());
        }
        let size = std::fs::metadata(path).map_err(SegmentError::io("read", path))?.len();
        if size > MAX_MODEL_BYTES {
            return Err(SegmentError::model(
                path.display(),
                format!("{size} bytes; at most {MAX_MODEL_BYTES} are read"),
            ));
        }
        let bytes = std::fs::read(path).map_err(SegmentError::io("read", path))?;
        Self::from_onnx(&bytes, description.unwrap_or_default(), &path.display().to_string())
    }

    /// Our own network; `name` is for messages.
    pub fn from_weights(weights: &Weights, name: &str) -> Result<Self> {
        let description = weights.about().description.clone();
        let Some(size) = description.input.size else {
            return Err(SegmentError::model(name, "its description does not say which size images should have"));
        };
        Self::from_onnx(&to_onnx(weights, size)?, description, name)
    }

    /// A model from the bytes of an ONNX file; `name` is for messages.
    pub fn from_onnx(bytes: &[u8], description: Description, name: &str) -> Result<Self> {
        // The reader of models is not ours and may trip over what no exporter writes.
        match catch_unwind(AssertUnwindSafe(|| Self::load(bytes, description, name))) {
            Ok(segmenter) => segmenter,
            Err(_) => Err(SegmentError::model(name, "the file is damaged, or uses ONNX in a way that cannot be run")),
        }
    }

    fn load(mut bytes: &[u8], description: Description, name: &str) -> Result<Self> {
        let bad = |what: String| SegmentError::model(name, what);
        let unreadable = |error: TractError| {
            bad(format!("not an ONNX model that can be run (operator sets up to 21 are known): {error:#}"))
        };
        let mut model = tract_onnx::onnx().model_for_read(&mut bytes).map_err(unreadable)?;
        let inputs = model.input_outlets().map_err(unreadable)?.len();
        if inputs != 1 {
            return Err(bad(format!("it has {inputs} inputs; one image is expected")));
        }
        let output = chosen_output(&model, &description).map_err(bad)?;
        let size = input_size(&model, &description).map_err(bad)?;
        let [width, height] = size;
        let shape = match description.input.layout {
            Layout::Nchw => [1, 3, height, width],
            Layout::Nhwc => [1, height, width, 3],
        };
        model.set_input_fact(0, f32::fact(shape).into()).map_err(unreadable)?;
        let plan = model
            .into_optimized()
            .and_then(|model| model.into_runnable())
            .map_err(|error| bad(format!("it does not take an input of {shape:?} numbers: {error:#}")))?;
        let mut segmenter = Self { name: name.into(), plan, description, size, channels: 0, output };
        // One look at nothing finds out what comes out, and whether it can be used, before any image is read.
        let [channels, ..] = segmenter.outputs(&vec![0.0; 3 * width * height])?.1;
        segmenter.channels = channels;
        Ok(segmenter)
    }

    /// Width and height of its input.
    pub fn size(&self) -> [usize; 2] {
        self.size
    }

    /// Its description.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// Looks at an image.
    pub fn look(&self, image: &RgbImage) -> Result<Seen> {
        let input = prepare::values(image, self.size, &self.description.input);
        let (values, shape) = self.outputs(&input)?;
        let grid = read::grid(&values, shape, self.description.input.layout, &self.description.output);
        Ok(Seen { grid, kind: self.description.value_kind() })
    }

    /// Raw outputs with channels, height and width.
    pub(crate) fn outputs(&self, input: &[f32]) -> Result<(Vec<f32>, [usize; 3])> {
        let bad = |what: String| SegmentError::model(&self.name, what);
        let failed = |error: TractError| bad(format!("it cannot be run: {error:#}"));
        let [width, height] = self.size;
        let shape = match self.description.input.layout {
            Layout::Nchw => [1, 3, height, width],
            Layout::Nhwc => [1, height, width, 3],
        };
        let input = Tensor::from_shape(&shape, input).map_err(failed)?;
        let run = AssertUnwindSafe(|| self.plan.run(tvec!(input.into_tvalue())));
        let outputs = catch_unwind(run)
            .unwrap_or_else(|_| Err(TractError::msg("an operator failed on its inputs")))
            .map_err(failed)?;
        let output = outputs.get(self.output).ok_or_else(|| bad("it has no output".into()))?;
        let values = output.cast_to::<f32>().map_err(failed)?;
        let whole = output.datum_type().is_integer();
        let shape = image_shape(values.shape(), self.description.input.layout, whole).map_err(bad)?;
        let values = values.try_as_plain_ram().map_err(failed)?.as_slice::<f32>().map_err(failed)?.to_vec();
        Ok((values, shape))
    }
}

impl ImageSemantics for Segmenter {
    fn channels(&self) -> usize {
        self.channels
    }

    fn kind(&self) -> ValueKind {
        self.description.value_kind()
    }

    fn ids(&self) -> Option<&str> {
        self.description.output.ids.as_deref()
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn look(&self, image: &RgbImage) -> std::result::Result<Grid, String> {
        Segmenter::look(self, image).map(|seen| seen.grid).map_err(|error| error.to_string())
    }
}

/// Number of the output to use.
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

/// Width and height of the input, by the model or else by the description.
fn input_size(model: &InferenceModel, description: &Description) -> std::result::Result<[usize; 2], String> {
    let fact = model.input_fact(0).map_err(|error| format!("{error:#}"))?;
    if let Some(kind) = fact.datum_type.concretize()
        && kind != f32::datum_type()
    {
        return Err(format!("its input is of type {kind:?}; single-precision numbers are expected"));
    }
    let dims: Vec<Option<usize>> =
        (0..4).map(|axis| fact.shape.dim(axis).and_then(|d| d.concretize()).and_then(|d| d.to_usize().ok())).collect();
    let rank = fact.shape.rank().concretize();
    if rank.is_some_and(|rank| rank != 4) {
        return Err(format!(
            "its input has {} axes; one image of 3 colours (four axes) is expected",
            rank.unwrap_or(0)
        ));
    }
    let (channels, height, width) = match description.input.layout {
        Layout::Nchw => (dims[1], dims[2], dims[3]),
        Layout::Nhwc => (dims[3], dims[1], dims[2]),
    };
    if let Some(found) = channels.filter(|c| *c != 3) {
        let other = if description.input.layout == Layout::Nchw { "nhwc" } else { "nchw" };
        return Err(format!(
            "its input has {found} channels where 3 colours are expected; perhaps `layout = \"{other}\"` is right (shape {dims:?})"
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
