//! How long our network takes for one image: `network_speed NETWORK.safetensors WxH MODEL.onnx` runs once for every line it is
//! given and answers with the milliseconds. Where there is no such network it writes a full-size one of 19 classes first, and
//! always the ONNX model, so that scripts/compare-onnxruntime.py can ask it and ONNX Runtime in turn.

use std::error::Error;
use std::io::{BufRead, Write};
use std::path::PathBuf;
use std::time::Instant;

use e2bki_segment::infer::Description;
use e2bki_segment::network::{Architecture, InferenceNetwork, Metadata, Tensor, Weights, to_onnx};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let usage = "usage: network_speed NETWORK.safetensors WIDTHxHEIGHT MODEL.onnx";
    let (Some(path), Some(sides), Some(model)) = (arguments.next(), arguments.next(), arguments.next()) else {
        return Err(usage.into());
    };
    let path = PathBuf::from(path);
    let (width, height) = sides.split_once('x').ok_or(usage)?;
    let (width, height) = (width.parse()?, height.parse()?);
    if !path.is_file() {
        let mut description = Description::default();
        description.input.size = Some([width, height]);
        let metadata = Metadata {
            architecture: Architecture::full(19),
            classes: Vec::new(),
            description,
            note: "random weights, for timing".into(),
        };
        Weights::random(metadata, 1)?.save(&path, false)?;
    }
    let weights = Weights::open(&path)?;
    std::fs::write(model, to_onnx(&weights, [width, height])?)?;
    let network = InferenceNetwork::new(&weights)?;
    let mut logits = Tensor::new(0, 0, 0, 0);
    let mut image = Tensor::new(3, 1, height, width);
    for (i, value) in image.values.iter_mut().enumerate() {
        *value = (i * 7919 % 1000) as f32 / 500.0 - 1.0;
    }
    let mut out = std::io::stdout();
    for line in std::io::stdin().lock().lines() {
        line?;
        let start = Instant::now();
        network.forward_into(&image, &mut logits);
        let ms = start.elapsed().as_secs_f64() * 1e3;
        writeln!(out, "{ms:.3} {:.5}", logits.values.iter().map(|v| f64::from(*v)).sum::<f64>())?;
        out.flush()?;
    }
    Ok(())
}
