//! What labels are worth: ConvBKI, whose kernels are learned from ground truth, and our map with what `calibrate` learns from
//! the same frames.

use anyhow::Result;
use e2bki::Config;

use super::classes::{by_class, compare, datasets, scores};
use super::context::Context;
use super::dataset::Dataset;
use super::method::{Method, OURS, OURS_CALIBRATED};

const REACH: &str = "E2-BKI, calibrated, reach of all classes";
const BY_CLASS: &str = "E2-BKI, calibrated, reach by class";

pub(super) fn table(context: &mut Context) -> Result<()> {
    let datasets = datasets(context)?;
    for group in datasets.chunk_by(|a, b| a.is_simulated() && b.is_simulated() && a.group == b.group) {
        let first = &group[0];
        if !first.is_simulated() && first.frame(0)?.truth.iter().all(|class| *class as usize >= first.classes.len()) {
            continue;
        }
        let (methods, words) = methods(context, first)?;
        let mut drives = Vec::new();
        for dataset in group {
            drives.push(compare(context, dataset, &methods)?);
        }
        let name = if first.is_simulated() { &first.group } else { &first.name };
        context.note(&format!("{name}: {} × {} frames. {words}", group.len(), first.frames))?;
        context.table(&scores(&drives))?;
        context.note("IoU by class over the places that a map answers, and with the others as missed:")?;
        context.table(&by_class(first.classes.names(), &drives, |r| &r.iou))?;
        context.table(&by_class(first.classes.names(), &drives, |r| &r.iou_strict))?;
    }
    context.note(
        "Everything is learned from the frames that ConvBKI's kernels are learned from: the mapped ones of a recording, a \
         training drive of the same generator where drives are simulated. Columns as in table-classes.",
    )
}

/// ConvBKI and ours, and what was learned in words.
fn methods(context: &mut Context, dataset: &Dataset) -> Result<(Vec<Method>, String)> {
    let every = dataset.every();
    let kernels = context.conv_kernels(dataset)?;
    let mut methods = vec![
        Method::conv_bki("ConvBKI", kernels, context.their_config()?, every),
        Method::ours(OURS, context.config(), every),
    ];
    let source = context.calibrated_config(dataset)?;
    if let Some(config) = &source {
        methods.push(Method::ours(OURS_CALIBRATED, config.clone(), every));
    }
    let config = source.unwrap_or_else(|| context.config());
    let [reach, by_class] = context.calibrated_by_class(dataset, &config)?;
    let words = words(dataset, &by_class);
    methods.push(Method::ours(REACH, reach, every));
    methods.push(Method::ours(BY_CLASS, by_class, every));
    Ok((methods, words))
}

/// What was learned.
fn words(dataset: &Dataset, config: &Config) -> String {
    let reach = |class: usize| config.kernel.class_reach.of(class);
    let names = dataset.classes.names().iter().enumerate().filter(|(class, _)| reach(*class) != 1.0);
    let factors: Vec<String> = names.map(|(class, name)| format!("{name} {}", reach(class))).collect();
    let factors = if factors.is_empty() { "none".into() } else { factors.join(", ") };
    let input = &config.input;
    format!(
        "Learned: temperature {}, label strength {}, {} confusion of classes, gate {}, β {:.2}, agreement {}; factors of reach: {factors}.",
        input.temperature,
        input.label_strength,
        if input.confusion.rows().is_empty() { "no" } else { "a" },
        config.fusion.gate.name(),
        config.kernel.uncertainty_sensitivity,
        config.views.agreement
    )
}
