//! `e2bki fleet map`: from a drive to a run.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Parser;
use e2bki_fleet::Fleet;

use super::print;
use crate::map;

/// The arguments of `e2bki map` by themselves.
#[derive(Parser)]
#[command(name = "e2bki fleet map STORE --run NAME --", no_binary_name = true)]
struct MapArguments {
    #[command(flatten)]
    options: map::Options,
}

/// Options of `map` that are the fleet's affair.
const OURS: [&str; 6] = ["--out", "-o", "--onto", "--source", "--config", "--preset"];

pub(super) fn map(fleet: &Fleet, run: &str, arguments: &[String]) -> Result<()> {
    if let Some(ours) = arguments.iter().find(|a| OURS.iter().any(|o| *a == o || a.starts_with(&format!("{o}=")))) {
        bail!("`{ours}` is decided by the fleet: leave it out");
    }
    let scratch = tempfile::tempdir().context("no temporary folder")?;
    let (config, out) = (scratch.path().join("fleet.toml"), scratch.path().join("run.e2bki"));
    std::fs::write(&config, fleet.config.to_toml()).with_context(|| format!("cannot write {}", config.display()))?;
    let key = key(fleet, arguments)?;
    if fleet.objects.size(&format!("runs/{run}/{key}.e2bki"))?.is_some() {
        return print::added(run, &e2bki_fleet::Added { key, was_there: true });
    }
    e2bki_fleet::check_run(fleet, run, &key)?;
    let own = ["--out".into(), out.display().to_string(), "--config".into(), config.display().to_string()];
    let own = own.into_iter().chain(["--source".into(), run.into()]);
    let all = arguments.iter().cloned().chain(own);
    let mut arguments = MapArguments::try_parse_from(all).map_err(|usage| anyhow::anyhow!("{usage}"))?;
    // What becomes of the scratch file is said here.
    arguments.options.in_passing = true;
    map::run(&arguments.options)?;
    print::added(run, &e2bki_fleet::add(fleet, run, &out, Some(&key))?)
}

/// Options of `map` that do not change the map: they take a value each.
const INDIFFERENT: [&str; 6] = ["--memory", "--save-every", "--json", "--report", "--record", "--record-every"];

/// The arguments that say what is in the map.
fn telling(arguments: &[String]) -> Vec<&String> {
    let mut telling = Vec::new();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        if INDIFFERENT.contains(&argument.as_str()) {
            rest.next();
        } else if !INDIFFERENT.iter().any(|option| argument.starts_with(&format!("{option}="))) {
            telling.push(argument);
        }
    }
    telling
}

/// Hash of everything that the run is made of: all files that the arguments name, the arguments, the parameters, and the
/// program's version.
fn key(fleet: &Fleet, arguments: &[String]) -> Result<String> {
    let mut inputs: Vec<Vec<u8>> = vec![env!("CARGO_PKG_VERSION").into(), fleet.config.to_toml().into_bytes()];
    for argument in telling(arguments) {
        let path = place(argument);
        // A place may change its name; what is in it may not.
        let named = if path.exists() { Vec::new() } else { argument.clone().into_bytes() };
        inputs.push(named);
        for file in files(path)? {
            // A log is larger than memory.
            let key = std::fs::File::open(&file).and_then(e2bki_fleet::key_of_log);
            inputs.push(file.strip_prefix(path).unwrap_or(&file).as_os_str().as_encoded_bytes().to_vec());
            inputs.push(key.with_context(|| format!("cannot read {}", file.display()))?.into_bytes());
        }
    }
    Ok(e2bki_fleet::key_of_inputs(inputs.iter().map(Vec::as_slice)))
}

/// The place that an argument names, if it names one: by itself, as the value of an option (`--classes=town.toml`), and after the
/// kind of thing that is there (`labels:predictions`).
fn place(argument: &str) -> &Path {
    let value =
        argument.strip_prefix("--").and_then(|option| option.split_once('=')).map_or(argument, |(_, value)| value);
    if Path::new(value).exists() {
        return Path::new(value);
    }
    Path::new(value.split_once(':').map_or(value, |(_, path)| path))
}

/// All files at a path, sorted; none if there is nothing.
fn files(path: &Path) -> Result<Vec<PathBuf>> {
    if path.is_file() {
        return Ok(vec![path.to_path_buf()]);
    }
    if !path.is_dir() {
        return Ok(Vec::new());
    }
    let mut inside = Vec::new();
    for entry in std::fs::read_dir(path).with_context(|| format!("cannot read {}", path.display()))? {
        inside.push(entry.with_context(|| format!("cannot read {}", path.display()))?.path());
    }
    inside.sort();
    let mut all = Vec::new();
    for path in inside {
        all.extend(files(&path)?);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    #[test]
    fn what_an_argument_names_is_found_however_it_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("net:1=a");
        std::fs::write(&file, "weights").unwrap();
        let name = file.to_str().unwrap();
        for written in [name.to_string(), format!("--semantics={name}")] {
            assert_eq!(super::place(&written), file, "{written}");
        }
        let folder = folder.path().to_str().unwrap();
        for written in [format!("labels:{folder}"), format!("--semantics=labels:{folder}")] {
            assert_eq!(super::place(&written), Path::new(folder), "{written}");
        }
        assert!(!super::place("--every=2").exists() && !super::place("nothing:here").exists());
    }

    #[test]
    fn how_a_run_was_mapped_is_no_part_of_it() {
        let words = |text: &str| text.split(' ').map(String::from).collect::<Vec<String>>();
        let [plain, small] = ["log --semantics labels:x", "log --memory 50MB --semantics labels:x --save-every=3"];
        let small = words(small);
        assert_eq!(super::telling(&small), words(plain).iter().collect::<Vec<_>>());
    }
}
