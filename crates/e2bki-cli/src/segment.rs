//! `e2bki segment`: runs a network on images.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::Args;
use e2bki_data::{ClassTable, ImageSemantics, ValueKind, parse};
use e2bki_segment::infer::{Description, Segmentation, Segmenter};
use image::{GrayImage, Rgb, RgbImage};

use crate::network::RuntimeArguments;
use crate::{outputs, table};

/// Run a segmentation network on images
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    e2bki segment espnetv2.onnx kitti360/data_2d_raw/…/data_rect -o predictions --classes urban11\n  \
    e2bki segment network.safetensors image.png -o out --values=4\n  \
    e2bki segment network.safetensors --onnx network.onnx\n\n\
    Writes NAME.png (channel with the highest value at every pixel), with --values NAME_logits_CxHxW_f16.bin (or\n\
    …_evidence_… or …_probabilities_…), which `e2bki map --semantics logits:OUT` reads, and with --classes NAME_color.png.\n\
    A TOML file beside the model describes its input and output (model.toml for model.onnx):\n\n  \
    [input]\n  size = [1408, 384]                # width, height; only for models of any size\n  \
    mean = [0.485, 0.456, 0.406]      # colours / 255 − mean, / std\n  std = [0.229, 0.224, 0.225]\n  \
    order = \"rgb\"                     # or bgr\n  layout = \"nchw\"                   # or nhwc\n  \
    [output]\n  kind = \"logits\"                   # probabilities, evidential-logits, evidence, dirichlet\n  \
    ids = \"cityscapes\"                # meaning of the channels: a label space of the class table, or classes\n  \
    uncertainty = \"entropy\"           # or evidence: exp((x − mean) / temperature)\n  temperature = 1.0\n  \
    evidence_scale = 1.0")]
pub(crate) struct Options {
    /// The network: model.onnx, or weights of our own network (.safetensors)
    model: PathBuf,
    /// Images, or folders of images
    images: Vec<PathBuf>,
    /// Folder to write to
    #[arg(short, long, value_name = "DIR", required_unless_present = "onnx")]
    out: Option<PathBuf>,
    /// Description of the model's input and output [default: the .toml file beside it]
    #[arg(long, value_name = "FILE.toml")]
    description: Option<PathBuf>,
    /// Also write the values, average-pooled over K×K cells
    #[arg(long, value_name = "K", num_args = 0..=1, require_equals = true, default_missing_value = "8")]
    values: Option<usize>,
    /// Colour the classes of this table over the images: offroad7, urban11, … or a file
    #[arg(long, value_name = "NAME|FILE")]
    classes: Option<String>,
    /// Write our own network as an ONNX model, with its description beside it
    #[arg(long, value_name = "FILE.onnx")]
    onnx: Option<PathBuf>,
    /// Write the numbers as JSON (- for standard output)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    #[command(flatten)]
    runtime: RuntimeArguments,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    outputs::check_files([&options.onnx, &options.json])?;
    if options.values == Some(0) {
        bail!("--values takes a number of cells, 1 or more");
    }
    if let Some(path) = &options.onnx {
        export(&options.model, path)?;
    }
    let Some(out) = &options.out else { return Ok(()) };
    let paths = images(&options.images)?;
    let description = match &options.description {
        Some(path) => Some(Description::open(path)?),
        None => Description::beside(&options.model)?,
    };
    let segmenter = Segmenter::open_with(&options.model, description, &options.runtime.running()?)?;
    let colors = options.classes.as_deref().map(|name| colors(name, &segmenter)).transpose()?;
    std::fs::create_dir_all(out).with_context(|| format!("cannot create {}", out.display()))?;
    let bar = table::progress(paths.len(), "segmenting");
    let mut spent = Duration::ZERO;
    for path in &paths {
        let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        let picture = parse::picture(&bytes).with_context(|| path.display().to_string())?;
        let start = Instant::now();
        let output = segmenter.segment(&picture)?;
        spent += start.elapsed();
        write(out, path, &picture, &output, options.values, colors.as_deref())?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    let ms = spent.as_secs_f64() * 1e3 / paths.len() as f64;
    let [width, height] = segmenter.size();
    table::print_left(&[
        vec!["network".into(), options.model.display().to_string()],
        vec!["run by".into(), segmenter.runtime()],
        vec!["input".into(), format!("{width} × {height}")],
        vec!["channels".into(), segmenter.channels().to_string()],
        vec!["images".into(), paths.len().to_string()],
        vec!["time per image".into(), format!("{ms:.0} ms")],
        vec!["wrote".into(), out.display().to_string()],
    ])?;
    if let Some(path) = &options.json {
        let value = serde_json::json!({
            "model": options.model, "runtime": segmenter.runtime(), "size": [width, height], "channels": segmenter.channels(),
            "images": paths.len(), "ms_per_image": ms, "out": out,
        });
        table::write_json(path, &value)?;
    }
    Ok(())
}

#[cfg(not(feature = "onnx"))]
fn export(_: &Path, path: &Path) -> Result<()> {
    bail!("{}: ONNX models need a build with `--features onnx`", path.display())
}

#[cfg(feature = "onnx")]
fn export(model: &Path, path: &Path) -> Result<()> {
    use e2bki_segment::network::{Weights, to_onnx};
    if model.extension().is_none_or(|e| e != "safetensors") {
        bail!("--onnx writes our own networks (.safetensors); {} is not one", model.display());
    }
    let weights = Weights::open(model)?;
    let description = &weights.metadata().description;
    let Some(size) = description.input.size else { bail!("{}: it does not say which size it wants", model.display()) };
    let beside = path.with_extension("toml");
    for (path, bytes) in [(path, to_onnx(&weights, size)?), (&beside, description.to_toml()?.into_bytes())] {
        std::fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
        table::line(&format!("wrote {}", path.display()))?;
    }
    Ok(())
}

/// Image files: those given, and those in the folders given.
fn images(given: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let is_image = |path: &PathBuf| {
        let end = path.extension().map(|e| e.to_ascii_lowercase());
        end.is_some_and(|e| e == "png" || e == "jpg" || e == "jpeg")
    };
    let mut all = Vec::new();
    for path in given {
        if !path.is_dir() {
            all.push(path.clone());
            continue;
        }
        let entries = std::fs::read_dir(path).with_context(|| format!("cannot list {}", path.display()))?;
        let mut found = Vec::new();
        for entry in entries {
            found.push(entry.with_context(|| format!("cannot list {}", path.display()))?.path());
        }
        found.retain(is_image);
        found.sort();
        all.extend(found);
    }
    if all.is_empty() {
        bail!("no images: give PNG or JPEG files, or folders of them");
    }
    Ok(all)
}

/// Colour of every channel, by the table's class for it.
fn colors(name: &str, segmenter: &Segmenter) -> Result<Vec<Option<[u8; 3]>>> {
    let table = ClassTable::open(name)?;
    let classes = table.classes().len();
    let space = match segmenter.ids() {
        Some(ids) => ids,
        None if segmenter.channels() == classes => "classes",
        None => "cityscapes",
    };
    if space == "classes" && segmenter.channels() != classes {
        bail!(
            "{name} has {classes} classes, but the network {} channels; choose other --classes",
            segmenter.channels()
        );
    }
    let remap = table.remap(space)?;
    let color = |channel: usize| table.classes().colors().get(remap.class(channel as u32) as usize).copied();
    Ok((0..segmenter.channels()).map(color).collect())
}

fn write(
    out: &Path,
    path: &Path,
    picture: &RgbImage,
    output: &Segmentation,
    pool: Option<usize>,
    colors: Option<&[Option<[u8; 3]>]>,
) -> Result<()> {
    let stem = path.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
    let (width, height) = (picture.width(), picture.height());
    let channels = output.argmax([width as usize, height as usize]);
    let bytes: Vec<u8> = channels.iter().map(|c| u8::try_from(*c).unwrap_or(u8::MAX)).collect();
    let save = |name: String, image: &dyn Fn(&Path) -> image::ImageResult<()>| {
        let path = out.join(name);
        image(&path).with_context(|| format!("cannot write {}", path.display()))
    };
    if let Some(labels) = GrayImage::from_raw(width, height, bytes) {
        save(format!("{stem}.png"), &|path| labels.save(path))?;
    }
    if let Some(colors) = colors {
        let mut over = picture.clone();
        for (pixel, channel) in over.pixels_mut().zip(&channels) {
            if let Some(color) = colors.get(usize::from(*channel)).copied().flatten() {
                *pixel =
                    Rgb(std::array::from_fn(|i| (u16::from(pixel.0[i]) * 2 / 5 + u16::from(color[i]) * 3 / 5) as u8));
            }
        }
        save(format!("{stem}_color.png"), &|path| over.save(path))?;
    }
    if let Some(cells) = pool {
        let word = match output.kind {
            ValueKind::Logits => "logits",
            ValueKind::Probabilities => "probabilities",
            _ => "evidence",
        };
        let (shape, bytes) = output.pooled_f16(cells);
        let name = format!("{stem}_{word}_{}x{}x{}_f16.bin", shape[0], shape[1], shape[2]);
        let path = out.join(name);
        std::fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}
