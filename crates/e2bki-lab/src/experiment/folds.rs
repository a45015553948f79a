//! The sequences of a dataset folder that an experiment is made of, by the paper's protocol where the paper has the dataset.

use std::path::Path;

use anyhow::{Result, bail};
use e2bki_data::Format;

use super::Options;
use super::dataset::Part;
use crate::real::{Eye, PREDICTIONS, Recording};

/// Sequence of KITTI-360 that the paper tests on, and those it trains on.
const KITTI_TEST: u64 = 10;
const KITTI_TRAINING: [u64; 6] = [0, 2, 3, 4, 5, 6];
/// Stands for the sequence that is tested.
const SEQUENCE: &str = "{sequence}";

/// The parts of a folder that are compared: every sequence of RELLIS-3D, held out in turn; sequence 10 of KITTI-360; the
/// sequence that was asked for; else the one that the folder is.
pub(super) fn parts(folder: &Path, options: &Options) -> Result<Vec<Part>> {
    let (format, all) = Recording::sequences(folder)?;
    let chosen = chosen(format, &all, options.sequence.as_deref(), folder)?;
    let eye = options.points.unwrap_or_else(|| Eye::usual(format));
    let source = options.semantics.as_deref().unwrap_or(PREDICTIONS);
    check_template(source)?;
    // A layout's only sequence has a name too, and so has the one that is taken where none was asked for.
    let first = all.first().map_or("", String::as_str);
    let part = |sequence: &Option<String>| Part {
        name: None,
        folder: folder.into(),
        sequence: sequence.clone(),
        learn_from: learn_from(format, &all, sequence.as_deref()),
        eye,
        semantics: source.replace(SEQUENCE, sequence.as_deref().unwrap_or(first)),
        frames: 0..options.frames.unwrap_or(usize::MAX),
        held_out: options.held_out,
    };
    Ok(chosen.iter().map(part).collect())
}

/// Refuses other words in braces, so that a slip of the pen is not looked for as a file.
fn check_template(source: &str) -> Result<()> {
    let rest = source.replace(SEQUENCE, "");
    match rest.split_once('{').and_then(|(_, rest)| rest.split_once('}')) {
        Some((word, _)) => bail!("--semantics {source}: {{{word}}} stands for nothing; {SEQUENCE} is what is known"),
        None => Ok(()),
    }
}

/// The sequences to compare on; nothing where the layout has none.
fn chosen(format: Format, all: &[String], wanted: Option<&str>, folder: &Path) -> Result<Vec<Option<String>>> {
    let own = |wanted: &str| {
        let meant = wanted.parse().ok();
        all.iter().find(|name| *name == wanted || meant.is_some() && number(name) == meant)
    };
    match (wanted, format) {
        (Some(wanted), _) => match own(wanted) {
            Some(name) => Ok(vec![Some(name.clone())]),
            None if all.is_empty() => {
                bail!("{} has no sequences to choose from; leave --sequence out", folder.display())
            }
            None => bail!("{} has no sequence `{wanted}`; it has {}", folder.display(), all.join(", ")),
        },
        (None, Format::Rellis3d) if all.len() > 1 => Ok(all.iter().cloned().map(Some).collect()),
        (None, Format::Kitti360) if all.len() > 1 => match own(&KITTI_TEST.to_string()) {
            Some(name) => Ok(vec![Some(name.clone())]),
            None => bail!(
                "{} has no sequence 10, which the paper tests on; choose one of {} with --sequence",
                folder.display(),
                all.join(", ")
            ),
        },
        _ => Ok(vec![None]),
    }
}

/// The sequences that methods may learn from while one is tested; none where there are no others.
fn learn_from(format: Format, all: &[String], tested: Option<&str>) -> Vec<String> {
    let Some(tested) = tested else { return Vec::new() };
    let others = all.iter().filter(|name| *name != tested);
    match format {
        Format::Rellis3d => others.cloned().collect(),
        Format::Kitti360 => {
            others.filter(|name| number(name).is_some_and(|n| KITTI_TRAINING.contains(&n))).cloned().collect()
        }
        _ => Vec::new(),
    }
}

/// Number of a sequence: that of the drive in KITTI-360's names, else the name itself.
fn number(name: &str) -> Option<u64> {
    let digits = name.split("_drive_").nth(1).and_then(|rest| rest.split('_').next()).unwrap_or(name);
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sequence_of_rellis_is_a_fold_and_learns_from_the_others() {
        let all: Vec<String> = (0..5).map(|n| format!("{n:05}")).collect();
        let folds = chosen(Format::Rellis3d, &all, None, Path::new("x")).unwrap();
        assert_eq!(folds.len(), 5);
        assert_eq!(learn_from(Format::Rellis3d, &all, Some("00003")), ["00000", "00001", "00002", "00004"]);
        assert_eq!(chosen(Format::Rellis3d, &all, Some("3"), Path::new("x")).unwrap(), [Some("00003".to_string())]);
        let message = chosen(Format::Rellis3d, &all, Some("9"), Path::new("x")).unwrap_err().to_string();
        assert!(message.contains("00004"), "{message}");
    }

    #[test]
    fn kitti_360_is_tested_on_sequence_10_and_learns_from_the_papers_sequences() {
        let name = |n: u64| format!("2013_05_28_drive_{n:04}_sync");
        let all: Vec<String> = [0, 2, 3, 7, 9, 10].map(name).to_vec();
        assert_eq!(chosen(Format::Kitti360, &all, None, Path::new("x")).unwrap(), [Some(name(10))]);
        assert_eq!(learn_from(Format::Kitti360, &all, Some(&name(10))), [0, 2, 3].map(name));
        assert_eq!(chosen(Format::Kitti360, &all, Some("7"), Path::new("x")).unwrap(), [Some(name(7))]);
        let message = chosen(Format::Kitti360, &all[..5], None, Path::new("x")).unwrap_err().to_string();
        assert!(message.contains("sequence 10"), "{message}");
        // A folder of one sequence is that one.
        assert_eq!(chosen(Format::Kitti360, &all[..1], None, Path::new("x")).unwrap(), [None]);
        assert_eq!(chosen(Format::SemanticKitti, &all, None, Path::new("x")).unwrap(), [None]);
    }

    #[test]
    fn only_the_sequence_stands_for_something() {
        for source in ["labels:net-{sequence}", "run-{sequence}/network.safetensors", "labels:a}b{"] {
            check_template(source).unwrap();
        }
        let message = check_template("run-{sequnce}/network.safetensors").unwrap_err().to_string();
        assert!(message.contains("{sequnce} stands for nothing; {sequence} is"), "{message}");
    }
}
