//! `e2bki config`: print the parameters, as a file to change or as a page to read.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use e2bki::Config;
use e2bki::config::{Field, PRESETS, fields, records};

use crate::table;

/// How commands take parameters.
#[derive(Args, Clone, Default)]
pub(crate) struct Parameters {
    /// Start from a preset: default, paper-rellis, paper-urban
    #[arg(long, value_name = "NAME")]
    pub(crate) preset: Option<String>,
    /// Read parameters from a TOML file
    #[arg(long, value_name = "FILE", conflicts_with = "preset")]
    pub(crate) config: Option<PathBuf>,
    /// Set one parameter, as in --set views.resolution=0.1; the record may be left out (may be repeated)
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
}

impl Parameters {
    /// Whether anything was asked for.
    pub(crate) fn any(&self) -> bool {
        self.preset.is_some() || self.config.is_some() || !self.set.is_empty()
    }

    /// Whether it was said if free space is to be counted: by a preset of the paper, a file or the parameter itself.
    pub(crate) fn say_free_space(&self) -> Result<bool> {
        Ok(self.read()?.free_space.enabled == self.read_for_scans()?.free_space.enabled)
    }

    /// The configuration that was asked for, for a robot's own scans: what they saw through is counted unless something
    /// else was said.
    pub(crate) fn read_for_scans(&self) -> Result<Config> {
        self.read_with(Config::for_scans(), Config::preset_for_scans, Config::from_toml_for_scans)
    }

    /// The configuration that was asked for, free space only if it was.
    pub(crate) fn read(&self) -> Result<Config> {
        self.read_with(Config::default(), Config::preset, Config::from_toml)
    }

    fn read_with(
        &self,
        default: Config,
        preset: impl Fn(&str) -> e2bki::Result<Config>,
        from_toml: impl Fn(&str) -> e2bki::Result<Config>,
    ) -> Result<Config> {
        let mut config = match (&self.preset, &self.config) {
            (Some(name), _) => preset(name)?,
            (None, Some(path)) => {
                let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
                from_toml(&text).with_context(|| format!("in {}", path.display()))?
            }
            (None, None) => default,
        };
        for setting in &self.set {
            let (key, value) = setting
                .split_once('=')
                .with_context(|| format!("--set takes KEY=VALUE, as in --set views.resolution=0.1; got `{setting}`"))?;
            config.set_text(key.trim(), value.trim())?;
        }
        Ok(config)
    }
}

/// Print the configuration: every parameter with its meaning and range
#[derive(Args)]
#[command(
    after_help = "Examples:\n  e2bki config > my.toml\n  e2bki config --preset paper-urban --set run.threads=4\n  \
    e2bki config --robot > husky.toml"
)]
pub(crate) struct Options {
    #[command(flatten)]
    parameters: Parameters,
    /// Print a page that explains all parameters, in Markdown, instead of a file
    #[arg(long)]
    markdown: bool,
    /// Print the description of a robot, for `layers` and `plan`, instead
    #[arg(long, conflicts_with_all = ["markdown", "preset", "config", "set"])]
    robot: bool,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    if options.robot {
        return table::line(e2bki_layers::Robot::EXAMPLE.trim_end());
    }
    let config = options.parameters.read_for_scans()?;
    let text = if options.markdown { markdown(&config) } else { config.to_toml() };
    table::line(text.trim_end())
}

const ABOUT: &str = "# Parameters

This page is what `e2bki config --markdown` prints; a test keeps it so. `e2bki config > my.toml` writes the same as a file to change.

    e2bki map DIR --config my.toml --set kernel.length_scale=0.1

A parameter is named by its record and its name: `kernel.length_scale` with `--set` and in Rust (`config.kernel.length_scale`), a line
`length_scale = 0.2` below `[kernel]` in a file. The record may be left out on the command line, and is left out in Python
(`e2bki.Config(length_scale=0.1)`) and in map files. Where the name without record is another one, it stands in brackets.
A file may begin with `preset = \"NAME\"`; what it does not name is as in that preset.

";

/// The page of parameters, with the values of a configuration.
fn markdown(config: &Config) -> String {
    let mut page = ABOUT.to_string() + "| preset | |\n|---|---|\n";
    page.extend(PRESETS.iter().map(|(name, about)| format!("| `{name}` | {about} |\n")));
    for record in records() {
        page += &format!("\n## {}\n\n{}.\n\n", record.name, record.about);
        page += "| name | meaning | default | allowed | unit | paper |\n|---|---|---|---|---|---|\n";
        let here = || fields().iter().filter(|field| field.record == record.name);
        page.extend(here().map(|field| line(field, config)));
        for field in here().filter(|field| !field.choices().is_empty()) {
            page += &format!("\n`{}`:\n", field.name);
            page.extend(field.choices().iter().map(|(name, meaning)| format!("- `{name}`: {meaning}\n")));
        }
    }
    page
}

fn line(field: &Field, config: &Config) -> String {
    let flat = if field.flat == field.name { String::new() } else { format!(" (`{}`)", field.flat) };
    let Field { name, about, unit, symbol, .. } = field;
    format!("| `{name}`{flat} | {about} | `{}` | {} | {unit} | {symbol} |\n", field.value(config), field.allowed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scans_are_counted_unless_something_else_was_said() {
        let counts = |preset: Option<&str>, file: Option<&str>, set: &[&str]| {
            let folder = tempfile::tempdir().unwrap();
            let config = file.map(|text| {
                let path = folder.path().join("my.toml");
                std::fs::write(&path, text).unwrap();
                path
            });
            let set = set.iter().map(ToString::to_string).collect();
            let parameters = Parameters { preset: preset.map(String::from), config, set };
            (parameters.read_for_scans().unwrap().free_space.enabled, parameters.say_free_space().unwrap())
        };
        for unsaid in [&[][..], &["free_space.sensor=os1-64", "views.resolution=0.1"]] {
            assert_eq!(counts(None, None, unsaid), (true, false));
            assert_eq!(counts(Some("default"), None, unsaid), (true, false));
            assert_eq!(counts(None, Some("[views]\nresolution = 0.1"), unsaid), (true, false));
            assert_eq!(counts(Some("paper-urban"), None, unsaid), (false, true));
            assert_eq!(counts(None, Some("preset = \"paper-urban\""), unsaid), (false, true));
            assert_eq!(counts(None, Some("[free_space]\nenabled = false"), unsaid), (false, true));
            assert_eq!(counts(None, Some("free_space = true"), unsaid), (true, true));
        }
        for said in ["free_space.enabled=false", "free_space=false"] {
            assert_eq!(counts(None, None, &[said]), (false, true));
        }
        assert_eq!(counts(Some("paper-urban"), None, &["free_space=true"]), (true, true));
        // What `e2bki config` writes is what is used without a file.
        assert_eq!(counts(None, Some(&Config::for_scans().to_toml()), &[]), (true, true));
        assert!(!Parameters::default().read().unwrap().free_space.enabled, "the library's own default");
    }
}
