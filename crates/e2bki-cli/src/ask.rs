//! `e2bki ask`: questions about a map in a few words.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;
use e2bki_layers::Way;
use e2bki_layers::ask::{GRAMMAR, Question};

use crate::{maps, outputs, table};

fn after_help() -> String {
    format!(
        "Examples:\n  e2bki ask street.e2bki 'area of grass with u < 0.2 within 20 m of the way' --way way.csv\n  \
         e2bki ask street.e2bki 'volume of tree with z > 2'\n  \
         e2bki ask street.e2bki 'area of grass or dirt within 5 m of tree'\n  \
         e2bki ask street.e2bki 'count of car within 30 m of 12,-4' --sql\n\n\
         What can be asked:\n{GRAMMAR}\n\n\
         Cells and voxels are half a metre wide. --sql prints what gives the same number in DuckDB, to go on from there."
    )
}

/// Ask a map how much of a class there is, how sure, and near what
#[derive(Args)]
#[command(after_help = after_help())]
pub(crate) struct Options {
    /// Map file or folder
    map: PathBuf,
    /// The question, in quotes
    question: String,
    /// The way that the question is about, as `e2bki plan -o way.csv` writes it
    #[arg(long, value_name = "FILE.csv")]
    way: Option<PathBuf>,
    /// Print the question as SQL for DuckDB instead of its answer
    #[arg(long, conflicts_with = "json")]
    sql: bool,
    /// Write the answer as JSON (- for standard output)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    outputs::check_files([&options.json])?;
    if options.sql && options.map.is_dir() {
        bail!("SQL reads map files, not folders: `e2bki merge {} -o one.e2bki` makes one", options.map.display());
    }
    let map = maps::load(&options.map, None)?;
    let question = Question::parse(&options.question, map.classes())?;
    if question.needs_way() && options.way.is_none() {
        bail!("the question is about a way: give it by --way way.csv, as `e2bki plan -o way.csv` writes it");
    }
    let way = options.way.as_deref().map(|path| -> Result<Vec<[f64; 2]>> {
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let steps = Way::steps_of_csv(&text).with_context(|| path.display().to_string())?;
        Ok(steps.iter().map(|step| [step.at[0], step.at[1]]).collect())
    });
    let way = way.transpose()?;
    if options.sql {
        let file = options.way.as_ref().map(|path| path.to_string_lossy());
        return table::line(&question.sql(&options.map.to_string_lossy(), file.as_deref()));
    }
    let answer = question.answer(&map, way.as_deref())?;
    if answer.gone > 0 {
        table::say(&format!(
            "note: {} primitives that were seen through since count here; `e2bki layers` leaves them out",
            answer.gone
        ));
    }
    match &options.json {
        Some(path) => table::write_json(
            path,
            &serde_json::json!({
                "map": options.map, "question": options.question, "value": answer.value, "unit": answer.unit,
            }),
        ),
        None => table::line(&format!("{} {}", rounded(answer.value), answer.unit)),
    }
}

/// A number without the digits that sums of lengths leave behind, and without the sign of a sum of none.
fn rounded(value: f64) -> f64 {
    (value * 1e6).round() / 1e6 + 0.0
}
