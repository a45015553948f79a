//! ONNX export (opset 13): normalisations folded into convolutions, outputs at the input's size.

use prost::Message;
use tract_onnx::pb::{
    AttributeProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto, TensorShapeProto, TypeProto,
    ValueInfoProto, attribute_proto::AttributeType, tensor_proto::DataType, tensor_shape_proto, type_proto,
};

use super::plan::{Activation, ConvNormActivation, Grouping, InvertedResidual, LOW_LEVEL, Plan};
use super::weights::Weights;
use crate::error::Result;

/// The graph under construction.
struct Writer<'a> {
    weights: &'a Weights,
    nodes: Vec<NodeProto>,
    constants: Vec<TensorProto>,
}

/// The bytes of an ONNX model: input `image` 1×3×height×width, output `logits` 1×classes×height×width.
pub fn to_onnx(weights: &Weights, [width, height]: [usize; 2]) -> Result<Vec<u8>> {
    let plan = weights.plan()?;
    let mut w = Writer { weights, nodes: Vec::new(), constants: Vec::new() };
    let (mut x, mut side) =
        (w.conv("image", &plan.stem), [plan.stem.output_size(height), plan.stem.output_size(width)]);
    let mut low = (x.clone(), side);
    for (number, block) in plan.blocks.iter().enumerate() {
        x = w.block(&x, block);
        side = side.map(|s| block.depthwise.output_size(s));
        if number == LOW_LEVEL {
            low = (x.clone(), side);
        }
    }
    let deep = w.conv(&x, &plan.last);
    let out = w.head(&plan, &deep, &low.0, low.1);
    let classes = plan.architecture.classes;
    w.resize(&out, [classes, height, width], "logits");
    let graph = GraphProto {
        name: "e2bki".into(),
        node: w.nodes,
        initializer: w.constants,
        input: vec![value("image", [1, 3, height, width])],
        output: vec![value("logits", [1, classes, height, width])],
        ..GraphProto::default()
    };
    let model = ModelProto {
        ir_version: 7,
        opset_import: vec![OperatorSetIdProto { domain: String::new(), version: 13 }],
        producer_name: "e2bki".into(),
        producer_version: env!("CARGO_PKG_VERSION").into(),
        graph: Some(graph),
        ..ModelProto::default()
    };
    Ok(model.encode_to_vec())
}

fn value(name: &str, shape: [usize; 4]) -> ValueInfoProto {
    let dim = |d: usize| tensor_shape_proto::Dimension {
        value: Some(tensor_shape_proto::dimension::Value::DimValue(d as i64)),
        ..tensor_shape_proto::Dimension::default()
    };
    let tensor = type_proto::Tensor {
        elem_type: DataType::Float as i32,
        shape: Some(TensorShapeProto { dim: shape.map(dim).to_vec() }),
    };
    let kind = TypeProto { value: Some(type_proto::Value::TensorType(tensor)), ..TypeProto::default() };
    ValueInfoProto { name: name.into(), r#type: Some(kind), ..ValueInfoProto::default() }
}

fn ints(name: &str, ints: &[usize]) -> AttributeProto {
    let ints = ints.iter().map(|i| *i as i64).collect();
    AttributeProto { name: name.into(), r#type: AttributeType::Ints as i32, ints, ..AttributeProto::default() }
}

fn float(name: &str, f: f32) -> AttributeProto {
    AttributeProto { name: name.into(), r#type: AttributeType::Float as i32, f, ..AttributeProto::default() }
}

fn int(name: &str, i: i64) -> AttributeProto {
    AttributeProto { name: name.into(), r#type: AttributeType::Int as i32, i, ..AttributeProto::default() }
}

fn text(name: &str, s: &str) -> AttributeProto {
    AttributeProto {
        name: name.into(),
        r#type: AttributeType::String as i32,
        s: s.as_bytes().to_vec(),
        ..AttributeProto::default()
    }
}

impl Writer<'_> {
    fn node(&mut self, kind: &str, inputs: &[&str], output: &str, attribute: Vec<AttributeProto>) -> String {
        self.nodes.push(NodeProto {
            op_type: kind.into(),
            name: output.into(),
            input: inputs.iter().map(|i| i.to_string()).collect(),
            output: vec![output.into()],
            attribute,
            ..NodeProto::default()
        });
        output.into()
    }

    fn constant(&mut self, name: &str, shape: &[usize], values: &[f32]) -> String {
        self.constants.push(TensorProto {
            name: name.into(),
            dims: shape.iter().map(|d| *d as i64).collect(),
            data_type: DataType::Float as i32,
            raw_data: values.iter().flat_map(|v| v.to_le_bytes()).collect(),
            ..TensorProto::default()
        });
        name.into()
    }

    fn values(&self, name: &str) -> Vec<f32> {
        self.weights.get(name).unwrap_or(&[]).to_vec()
    }

    fn convolution(
        &mut self,
        x: &str,
        name: &str,
        shape: [usize; 4],
        bias: &[f32],
        weights: &[f32],
        conv: Option<&ConvNormActivation>,
    ) -> String {
        let w = self.constant(&format!("{name}.weight"), &shape, weights);
        let b = self.constant(&format!("{name}.bias"), &[shape[0]], bias);
        let (stride, dilation, padding) = conv.map_or((1, 1, 0), |u| (u.stride, u.dilation, u.padding()));
        let groups = conv.filter(|u| u.grouping == Grouping::Depthwise).map_or(1, |u| u.outputs);
        let attributes = vec![
            ints("kernel_shape", &shape[2..]),
            ints("strides", &[stride; 2]),
            ints("dilations", &[dilation; 2]),
            ints("pads", &[padding; 4]),
            int("group", groups as i64),
        ];
        self.node("Conv", &[x, &w, &b], name, attributes)
    }

    /// Convolution with folded normalisation, then the activation.
    fn conv(&mut self, x: &str, conv: &ConvNormActivation) -> String {
        let of = |part: &str| self.values(&format!("{}.{part}", conv.norm));
        let (scale, shift, mean, variance) = (of("weight"), of("bias"), of("running_mean"), of("running_var"));
        let factor: Vec<f32> = scale.iter().zip(&variance).map(|(s, v)| s / (v + conv.epsilon).sqrt()).collect();
        let bias: Vec<f32> = (0..conv.outputs).map(|c| shift[c] - mean[c] * factor[c]).collect();
        let mut weights = self.values(&conv.weight());
        let row = weights.len() / conv.outputs;
        for (row, factor) in weights.chunks_exact_mut(row).zip(&factor) {
            row.iter_mut().for_each(|w| *w *= factor);
        }
        let y = self.convolution(x, &conv.convolution, conv.shape(), &bias, &weights, Some(conv));
        match conv.activation {
            Activation::Identity => y,
            Activation::Relu => self.node("Relu", &[&y], &format!("{y}.relu"), Vec::new()),
            Activation::HardSwish => {
                let gate = self.hard_sigmoid(&y);
                self.node("Mul", &[&y, &gate], &format!("{y}.swish"), Vec::new())
            }
        }
    }

    fn hard_sigmoid(&mut self, x: &str) -> String {
        let attributes = vec![float("alpha", 1.0 / 6.0), float("beta", 0.5)];
        self.node("HardSigmoid", &[x], &format!("{x}.gate"), attributes)
    }

    fn block(&mut self, x: &str, block: &InvertedResidual) -> String {
        let mut y = match &block.expand {
            Some(expand) => self.conv(x, expand),
            None => x.to_string(),
        };
        y = self.conv(&y, &block.depthwise);
        if let Some(squeeze) = &block.squeeze {
            let (name, c, s) = (&squeeze.name, squeeze.channels, squeeze.squeezed);
            let mean = self.node("GlobalAveragePool", &[&y], &format!("{name}.mean"), Vec::new());
            let layer = |w: &mut Self, x: &str, layer: &str, shape: [usize; 4]| {
                let at = format!("{name}.{layer}");
                let (weights, bias) = (w.values(&format!("{at}.weight")), w.values(&format!("{at}.bias")));
                w.convolution(x, &at, shape, &bias, &weights, None)
            };
            let hidden = layer(self, &mean, "fc1", [s, c, 1, 1]);
            let hidden = self.node("Relu", &[&hidden], &format!("{hidden}.relu"), Vec::new());
            let pre_activation = layer(self, &hidden, "fc2", [c, s, 1, 1]);
            let gate = self.hard_sigmoid(&pre_activation);
            y = self.node("Mul", &[&y, &gate], &format!("{name}.scaled"), Vec::new());
        }
        y = self.conv(&y, &block.project);
        if block.residual {
            y = self.node("Add", &[&y, x], &format!("{y}.sum"), Vec::new());
        }
        y
    }

    fn head(&mut self, plan: &Plan, deep: &str, low: &str, side: [usize; 2]) -> String {
        let (head, classes) = (plan.architecture.head, plan.architecture.classes);
        let mean = self.node("GlobalAveragePool", &[deep], "classifier.mean", Vec::new());
        let weights = self.values("classifier.scale.1.weight");
        let shape = [head, plan.last.outputs, 1, 1];
        let pre_activation = self.convolution(&mean, "classifier.scale.1", shape, &vec![0.0; head], &weights, None);
        let gate = self.node("Sigmoid", &[&pre_activation], "classifier.gate", Vec::new());
        let x = self.conv(deep, &plan.head);
        let x = self.node("Mul", &[&x, &gate], "classifier.gated", Vec::new());
        let high = self.resize(&x, [head, side[0], side[1]], "classifier.high");
        let layer = |w: &mut Self, x: &str, name: &str, inputs: usize| {
            let (weights, bias) = (w.values(&format!("{name}.weight")), w.values(&format!("{name}.bias")));
            w.convolution(x, name, [classes, inputs, 1, 1], &bias, &weights, None)
        };
        let low = layer(self, low, "classifier.low_classifier", plan.low_channels());
        let high = layer(self, &high, "classifier.high_classifier", head);
        self.node("Add", &[&low, &high], "classifier.sum", Vec::new())
    }

    /// Bilinear resize to the given channels, rows and columns.
    fn resize(&mut self, x: &str, [channels, height, width]: [usize; 3], output: &str) -> String {
        let sizes = format!("{output}.size");
        let values = [1, channels as i64, height as i64, width as i64];
        self.constants.push(TensorProto {
            name: sizes.clone(),
            dims: vec![4],
            data_type: DataType::Int64 as i32,
            raw_data: values.iter().flat_map(|v| v.to_le_bytes()).collect(),
            ..TensorProto::default()
        });
        let attributes = vec![text("mode", "linear"), text("coordinate_transformation_mode", "half_pixel")];
        self.node("Resize", &[x, "", "", &sizes], output, attributes)
    }
}
