//! `e2bki config`: print the parameters.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use e2bki::Config;

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

    /// The configuration that was asked for.
    pub(crate) fn read(&self) -> Result<Config> {
        let mut config = match (&self.preset, &self.config) {
            (Some(name), _) => Config::preset(name)?,
            (None, Some(path)) => {
                let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
                Config::from_toml(&text).with_context(|| format!("in {}", path.display()))?
            }
            (None, None) => Config::default(),
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
#[command(after_help = "Examples:\n  e2bki config > my.toml\n  e2bki config --preset paper-urban --set run.threads=4")]
pub(crate) struct Options {
    #[command(flatten)]
    parameters: Parameters,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    table::line(options.parameters.read()?.to_toml().trim_end())
}
