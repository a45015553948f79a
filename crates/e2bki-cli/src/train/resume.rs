//! Whether a run that was begun can be gone on with: the same settings, the same images.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use e2bki_segment::train::{TrainOptions, Trainer};
use serde_json::Value;

use super::Options;

/// Settings that cannot change within a run, by option.
fn fixed(settings: &TrainOptions, source: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let [width, height] = settings.size;
    let word = |value: &dyn std::fmt::Display| value.to_string();
    let named = |value: Value| value.as_str().map_or_else(|| value.to_string(), str::to_string);
    let void = serde_json::to_value(settings.void).map(named).unwrap_or_default();
    let own = [
        ("--size", format!("{width}x{height}")),
        ("--width", word(&settings.width)),
        ("--batch", word(&settings.batch)),
        ("--learning-rate", word(&settings.learning_rate)),
        ("--loss", word(&settings.loss.data.name())),
        ("--evidence", word(&settings.loss.activation.name())),
        ("--ignore-void (void)", void),
        ("--preset (mirror)", word(&settings.mirror)),
        ("--seed", word(&settings.seed)),
    ];
    own.into_iter().map(|(name, value)| (name.to_string(), value)).chain(source.clone()).collect()
}

/// Refuses to go on where something changed, and says what.
pub(super) fn check(options: &Options, settings: &TrainOptions, begun: &Trainer) -> Result<()> {
    let (then, now) = (fixed(begun.options(), begun.source()), fixed(settings, &options.source_record()));
    let nothing = "not given".to_string();
    let names: std::collections::BTreeSet<&String> = then.keys().chain(now.keys()).collect();
    let changed: Vec<String> = names
        .into_iter()
        .map(|name| (name, then.get(name).unwrap_or(&nothing), now.get(name).unwrap_or(&nothing)))
        .filter(|(_, then, now)| then != now)
        .map(|(name, then, now)| format!("{name} was {then}, is {now}"))
        .collect();
    if !changed.is_empty() {
        bail!(
            "{} holds a run with other settings: {}; give the same ones to go on, or another --out to begin anew",
            options.out.display(),
            changed.join("; ")
        );
    }
    if settings.epochs < begun.history().len() {
        bail!(
            "{} has learned for {} epochs already, more than --epochs {}; give at least as many, or another --out",
            options.out.display(),
            begun.history().len(),
            settings.epochs
        );
    }
    Ok(())
}
