//! What a network said of an image, as it lies in memory.

use e2bki_data::parse::{Cells, Grid};

use super::decode;
use super::description::{Layout, Output};

/// Numbers of a network's output.
#[derive(Debug)]
pub(super) enum Values {
    /// In memory of ours.
    Own(Vec<f32>),
    /// In memory of ONNX Runtime, which takes it for the next image when we are done: tens of megabytes need not be copied.
    #[cfg(feature = "onnxruntime")]
    OnnxRuntime(ort::value::DynValue),
}

impl Values {
    fn get(&self) -> &[f32] {
        match self {
            Self::Own(values) => values,
            // Whoever made it has looked that it holds such numbers.
            #[cfg(feature = "onnxruntime")]
            Self::OnnxRuntime(values) => values.try_extract_tensor::<f32>().map_or(&[], |(_, values)| values),
        }
    }
}

/// An output whose cells are decoded when they are asked for: scans ask for a fifth of an image.
#[derive(Debug)]
pub(super) struct Undecoded {
    pub(super) values: Values,
    /// Channels, rows and columns.
    pub(super) shape: [usize; 3],
    pub(super) layout: Layout,
    pub(super) output: Output,
}

impl Undecoded {
    /// All of it decoded.
    pub(super) fn grid(&self) -> Grid {
        decode::grid(self.values.get(), self.shape, self.layout, &self.output)
    }
}

impl Cells for Undecoded {
    fn shape(&self) -> [usize; 3] {
        self.shape
    }

    fn read(&self, column: usize, row: usize, out: &mut [f32]) {
        let [_, height, width] = self.shape;
        let at = row * width + column;
        decode::read_cell(self.values.get(), height * width, at, self.layout, out);
        decode::decode_cell(out, &self.output);
    }
}
