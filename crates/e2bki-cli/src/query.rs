//! `e2bki query`: beliefs at any points.

use std::io::Read;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::{maps, outputs, table};

/// Query a map at any points: class, probability, uncertainty
#[derive(Args)]
#[command(after_help = "Examples:\n  e2bki query street.e2bki --at 1,2,0.5 --at 3,2,0.5\n  \
    e2bki query street.e2bki --points places.txt --csv beliefs.csv\n\n\
    A file of points has x y z on each line, separated by spaces or commas; lines that begin with # are skipped. Only the \
    tiles that the answers depend on are read. A place that was never observed has no class. Maps with free \
    space also say whether a place is free, occupied or unknown, and when it was last seen.")]
pub(crate) struct Options {
    /// Map file or folder
    map: PathBuf,
    /// A point: x,y,z (may be repeated)
    #[arg(long, value_name = "POINT", allow_hyphen_values = true)]
    at: Vec<String>,
    /// File of points (- for standard input)
    #[arg(long, value_name = "FILE")]
    points: Option<PathBuf>,
    /// Write the answers as comma-separated values (- for standard output) instead of a table
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Write the answers as JSON with all Dirichlet parameters (- for standard output)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    outputs::check_files([&options.csv, &options.json])?;
    let places = places(options)?;
    let bound = |get: fn(f64, f64) -> f64, start: f64| -> [f64; 3] {
        std::array::from_fn(|i| places.iter().map(|p| p[i]).fold(start, get))
    };
    let (low, high) = (bound(f64::min, f64::INFINITY), bound(f64::max, f64::NEG_INFINITY));
    let map = maps::load(&options.map, Some((low, high)))?;
    let beliefs = map.query(&places);
    let heading = "x,y,z,class,confidence,uncertainty,u_sem,u_spa,variance";
    let mut rows = vec![heading.split(',').map(String::from).collect::<Vec<_>>()];
    let free_space = map.free_space().is_some();
    if free_space {
        rows[0].extend(["state", "existence", "hits", "passes", "last_seen"].map(String::from));
    }
    for (i, (place, belief)) in places.iter().zip(beliefs.iter()).enumerate() {
        let mut row: Vec<String> = place.iter().map(ToString::to_string).collect();
        match belief.label() {
            None => row.extend(["unobserved", "", "1", "", "", ""].map(String::from)),
            Some(label) => {
                row.push(map.classes().names()[label].clone());
                let (sem, spa) = (belief.semantic_uncertainty(), belief.spatial_uncertainty());
                let numbers = [belief.confidence(), belief.uncertainty(), sem, spa, belief.variance()];
                row.extend(numbers.map(|v| format!("{v:.4}")));
            }
        }
        if free_space {
            let (tally, seen) = (beliefs.tally(i), beliefs.seen(i));
            row.push(beliefs.state(i).name().into());
            row.push(beliefs.existence(i).map_or_else(String::new, |e| format!("{e:.4}")));
            row.extend([tally.hits.to_string(), tally.passes.to_string()]);
            row.push(seen.map_or_else(String::new, |seen| seen.last.to_string()));
        }
        rows.push(row);
    }
    match &options.csv {
        Some(path) => {
            let text: String = rows.iter().map(|row| row.join(",") + "\n").collect();
            if path.as_os_str() == "-" {
                table::line(text.trim_end())?;
            } else {
                outputs::write(path, text)?;
            }
        }
        None if options.json.is_none() => table::print(&rows)?,
        None => {}
    }
    if let Some(path) = &options.json {
        let answers: Vec<serde_json::Value> = places
            .iter()
            .zip(beliefs.iter())
            .enumerate()
            .map(|(i, (place, belief))| {
                let mut answer = serde_json::json!({
                    "at": place, "observed": belief.observed(),
                    "class": belief.label().map(|label| &map.classes().names()[label]), "label": belief.label(),
                    "alpha": beliefs.alpha(i).collect::<Vec<_>>(), "confidence": belief.confidence(),
                    "u": belief.uncertainty(), "u_sem": belief.semantic_uncertainty(),
                    "u_spa": belief.spatial_uncertainty(), "variance": belief.variance(),
                });
                if free_space {
                    answer["free_space"] = e2bki_view::free_space_at(&beliefs, i);
                }
                answer
            })
            .collect();
        table::write_json(path, &serde_json::json!({"map": options.map, "answers": answers}))?;
    }
    Ok(())
}

fn places(options: &Options) -> Result<Vec<[f64; 3]>> {
    let mut places = options.at.iter().map(|text| maps::numbers(text, "--at")).collect::<Result<Vec<_>>>()?;
    if let Some(path) = &options.points {
        let mut text = String::new();
        if path.as_os_str() == "-" {
            std::io::stdin().read_to_string(&mut text).context("cannot read standard input")?;
        } else {
            text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        }
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            if !line.trim_start().starts_with('#') {
                places.push(maps::numbers(line, &format!("line {} of {}", number + 1, path.display()))?);
            }
        }
    }
    if places.is_empty() {
        bail!("there are no points to ask about: give --at x,y,z or --points FILE");
    }
    if let Some(bad) = places.iter().find(|p| p.iter().any(|v| !v.is_finite())) {
        bail!("{bad:?} is not a place");
    }
    Ok(places)
}
