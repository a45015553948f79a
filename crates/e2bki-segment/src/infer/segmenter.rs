//! Segmentation of images by our own network or any ONNX model.

use std::path::Path;
use std::sync::Arc;

use e2bki_data::camera::Sampler;
use e2bki_data::parse::{Cells, Grid};
use e2bki_data::{ImageSemantics, ValueKind};
use half::f16;
use image::RgbImage;
use rayon::prelude::*;

use super::description::{Description, Layout};
use super::output::{Undecoded, Values};
use super::preprocess;
use super::runtime::Running;
use crate::error::{Error, Result};
use crate::network::{InferenceNetwork, Tensor, Weights};

/// A network ready to segment images of any size; they are resized to its input size.
#[derive(Debug)]
pub struct Segmenter {
    name: String,
    engine: Backend,
    description: Description,
    size: [usize; 2],
    channels: usize,
}

/// The network's runtime.
#[derive(Debug)]
enum Backend {
    Own(Box<InferenceNetwork>),
    #[cfg(any(feature = "onnx", feature = "onnxruntime"))]
    Onnx(super::onnx::Model),
}

/// Output of a network for an image.
#[derive(Debug, Clone, PartialEq)]
pub struct Segmentation {
    /// Values on a grid of cells that covers the image.
    pub grid: Grid,
    /// Kind of the values: logits or probabilities of a softmax network, evidence otherwise.
    pub kind: ValueKind,
}

impl Segmentation {
    /// The channel with the highest value at every pixel of an image of this size, row by row, by nearest neighbour.
    pub fn argmax(&self, [width, height]: [usize; 2]) -> Vec<u16> {
        let cell = |at: usize, count: usize, size: usize| ((2 * at + 1) * count / (2 * size)).min(count - 1);
        let row_of = |row: usize| {
            let y = cell(row, self.grid.height, height);
            (0..width)
                .map(move |column| e2bki::maths::argmax(self.grid.cell(cell(column, self.grid.width, width), y)) as u16)
        };
        (0..height).into_par_iter().flat_map_iter(row_of).collect()
    }

    /// The grid average-pooled by cells × cells in half precision, with its shape (channels, height, width): the form in
    /// which datasets store network outputs.
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

    /// Bilinear sampler for an image of this size.
    pub fn sampler(&self, size: [usize; 2]) -> Sampler<'_> {
        Sampler::new(&self.grid, size)
    }
}

impl Segmenter {
    /// Opens weights of our own network (`.safetensors`), which carry their description, or an ONNX model. A description
    /// beside the file takes precedence; an ONNX model without one gets the default description.
    pub fn open(path: &Path) -> Result<Self> {
        Self::open_with(path, Description::beside(path)?, &Running::default())
    }

    /// Opens a network with the given description; an ONNX model is run as asked.
    pub fn open_with(path: &Path, description: Option<Description>, running: &Running) -> Result<Self> {
        let name = path.display().to_string();
        if path.extension().is_some_and(|e| e == "safetensors") {
            let mut weights = Weights::open(path)?;
            if let Some(description) = description {
                weights.metadata_mut().description = description;
            }
            return Self::from_weights(weights, &name);
        }
        #[cfg(any(feature = "onnx", feature = "onnxruntime"))]
        return Self::from_onnx(&super::onnx::read(path)?, description.unwrap_or_default(), &name, running);
        #[cfg(not(any(feature = "onnx", feature = "onnxruntime")))]
        {
            // Only ONNX models can be run in more than one way.
            let _ = running;
            let what = "this build runs only our own networks (.safetensors), not ONNX models; build with `--features onnx`, or \
                        `--features onnxruntime` if ONNX Runtime is installed";
            Err(Error::model(name, what))
        }
    }

    /// Our own network; `name` is for messages.
    pub fn from_weights(weights: Weights, name: &str) -> Result<Self> {
        let description = weights.metadata().description.clone();
        let Some(size) = description.input.size else {
            return Err(Error::model(name, "its description has no `input.size`"));
        };
        if description.input.layout != Layout::Nchw {
            return Err(Error::model(name, "our own networks have `layout = \"nchw\"`"));
        }
        let channels = weights.metadata().architecture.classes;
        let engine = Backend::Own(Box::new(InferenceNetwork::new(&weights)?));
        Ok(Self { name: name.into(), engine, description, size, channels })
    }

    /// A model from the bytes of an ONNX file; `name` is for messages.
    #[cfg(any(feature = "onnx", feature = "onnxruntime"))]
    pub fn from_onnx(bytes: &[u8], description: Description, name: &str, running: &Running) -> Result<Self> {
        let model = super::onnx::Model::new(bytes, &description, name, running)?;
        let (size, channels) = (model.size(), model.channels());
        Ok(Self { name: name.into(), engine: Backend::Onnx(model), description, size, channels })
    }

    /// Width and height of its input.
    pub fn size(&self) -> [usize; 2] {
        self.size
    }

    /// What runs it: our own code, tract, or a library of ONNX Runtime.
    pub fn runtime(&self) -> String {
        match &self.engine {
            Backend::Own(_) => "our own code".into(),
            #[cfg(any(feature = "onnx", feature = "onnxruntime"))]
            Backend::Onnx(model) => model.runtime(),
        }
    }

    /// Its description.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// What the network says of an image, all of it.
    pub fn segment(&self, image: &RgbImage) -> Result<Segmentation> {
        Ok(Segmentation { grid: self.run(image)?.grid(), kind: self.description.value_kind() })
    }

    fn run(&self, image: &RgbImage) -> Result<Undecoded> {
        let input = preprocess::values(image, self.size, &self.description.input);
        let (values, shape) = match &self.engine {
            Backend::Own(network) => {
                let [width, height] = self.size;
                let out = network.forward(&Tensor { channels: 3, images: 1, height, width, values: input });
                let shape = [out.channels, out.height, out.width];
                (Values::Own(out.values), shape)
            }
            #[cfg(any(feature = "onnx", feature = "onnxruntime"))]
            Backend::Onnx(model) => model.run(&input)?,
        };
        Ok(Undecoded { values, shape, layout: self.description.input.layout, output: self.description.output.clone() })
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

    fn runtime(&self) -> Option<String> {
        let own = matches!(self.engine, Backend::Own(_));
        (!own).then(|| Segmenter::runtime(self))
    }

    fn look(&self, image: &RgbImage) -> std::result::Result<Arc<dyn Cells>, String> {
        let said = self.run(image).map_err(|error| error.to_string())?;
        Ok(Arc::new(said))
    }
}
