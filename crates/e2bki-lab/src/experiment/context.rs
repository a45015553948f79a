//! State of a running experiment: options, folder, output.

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use e2bki::Config;
use e2bki_eval::plot::Figure;
use e2bki_eval::{Record, Table};
use e2bki_sim::{Split, Standard};
use e2bki_view::{Legend, Report};
use image::RgbImage;

use super::Options;
use super::dataset::{Dataset, Part, Simulation};
use super::look::Look;
use super::state::State;
use crate::real::PREDICTIONS;
use crate::{OpenSource, report, table};

/// Frames of a simulated drive.
const FRAMES: usize = 100;
const FRAMES_FULL: usize = 400;

/// An experiment under way.
pub(super) struct Context {
    pub(super) options: Options,
    pub(super) state: State,
    open_source: OpenSource,
    name: &'static str,
    about: String,
    records: Vec<Record>,
    markdown: String,
    report: Report,
}

impl Context {
    pub(super) fn open(options: &Options, open_source: OpenSource, name: &'static str, about: &str) -> Result<Self> {
        std::fs::create_dir_all(&options.out).with_context(|| format!("cannot create {}", options.out.display()))?;
        let state = State::open(&options.out)?;
        let report = Report::new(&format!("e2bki experiment {name}"), about);
        Ok(Self {
            options: options.clone(),
            state,
            open_source,
            name,
            about: about.into(),
            records: Vec::new(),
            markdown: String::new(),
            report,
        })
    }

    /// Frames of a drive.
    pub(super) fn frames(&self) -> usize {
        self.options.frames.unwrap_or(if self.options.full { FRAMES_FULL } else { FRAMES })
    }

    /// The datasets to use: the folder that was given, or stand-ins for these.
    pub(super) fn datasets(&self, standards: &[Standard]) -> Result<Vec<Dataset>> {
        if let Some(folder) = &self.options.data {
            self.only_simulated_options("the folder --data")?;
            let part = Part {
                name: None,
                folder: folder.clone(),
                semantics: self.options.semantics.clone().unwrap_or_else(|| PREDICTIONS.into()),
                frames: 0..self.options.frames.unwrap_or(usize::MAX),
                held_out: self.options.held_out,
            };
            return Ok(vec![self.part(part)?]);
        }
        standards.iter().map(|standard| self.simulated(*standard, Split::Test, &self.options.network)).collect()
    }

    /// Refuses options of simulated drives where there are none: nothing that was asked for is left out in silence.
    fn only_simulated_options(&self, what: &str) -> Result<()> {
        let given =
            [("--columns", self.options.columns.is_some()), ("--network", self.options.network != Look::default())];
        match given.iter().find(|(_, given)| *given) {
            Some((name, _)) => bail!("{name} is for simulated drives and changes nothing of {what}; leave it out"),
            None => Ok(()),
        }
    }

    /// Refuses another network where an experiment has its own.
    pub(super) fn only_one_network(&self, why: &str) -> Result<()> {
        match self.options.network == Look::default() {
            true => Ok(()),
            false => bail!("{} takes no --network: {why}", self.name),
        }
    }

    /// Refuses a folder where an experiment can have none.
    pub(super) fn needs_simulation(&self, why: &str) -> Result<()> {
        match &self.options.data {
            Some(_) => bail!("{} {why}; run it without --data", self.name),
            None => Ok(()),
        }
    }

    /// The only dataset of an experiment: the folder that was given, or a stand-in.
    pub(super) fn dataset(&self, standard: Standard) -> Result<Dataset> {
        let mut all = self.datasets(&[standard])?;
        all.pop().context("no dataset")
    }

    /// A stand-in, seen by a network.
    pub(super) fn simulated(&self, standard: Standard, split: Split, network: &Look) -> Result<Dataset> {
        Dataset::simulated(standard, split, network, self.frames(), &self.simulation())
    }

    /// How drives are simulated.
    pub(super) fn simulation(&self) -> Simulation<'_> {
        Simulation { columns: self.options.columns, out: &self.options.out, open_source: self.open_source }
    }

    /// Some frames of a dataset folder.
    pub(super) fn part(&self, part: Part) -> Result<Dataset> {
        Dataset::part(part, self.open_source)
    }

    /// A configuration with the threads that were asked for.
    pub(super) fn config(&self) -> Config {
        Config::default().with(|c| c.run.threads = self.options.threads)
    }

    /// Settings that the other methods share with ours (kernel length, β, gate, input), as in their papers.
    pub(super) fn their_config(&self) -> Result<Config> {
        Ok(Config::preset("paper-urban")?.with(|c| c.run.threads = self.options.threads))
    }

    /// Where to write a file of this experiment.
    pub(super) fn path(&self, end: &str) -> PathBuf {
        self.options.out.join(format!("{}{end}", self.name))
    }

    /// Says something.
    pub(super) fn note(&mut self, text: &str) -> Result<()> {
        self.markdown += &format!("{text}\n\n");
        self.report.text(text);
        table::line(&format!("{text}\n"))
    }

    /// Shows a table.
    pub(super) fn table(&mut self, rows: &Table) -> Result<()> {
        self.markdown += &(rows.to_markdown() + "\n");
        self.report.table(&rows.rows);
        table::print(&rows.rows)
    }

    /// Draws a figure as PNG and SVG.
    pub(super) fn figure(&mut self, figure: &Figure) -> Result<()> {
        for path in figure.save(&self.path(""))? {
            table::line(&format!("wrote {}", path.display()))?;
        }
        self.report.drawing(&figure.svg()?);
        self.markdown += &format!("![{}]({}.png)\n\n", figure.title, self.name);
        Ok(())
    }

    /// Writes a picture with what its colours mean.
    pub(super) fn picture(&mut self, name: &str, picture: &RgbImage, legend: &Legend) -> Result<()> {
        let path = self.path(".png");
        picture.save(&path).with_context(|| format!("cannot write {}", path.display()))?;
        self.report.picture(name, picture, Some(legend), None)?;
        table::line(&format!("wrote {}", path.display()))
    }

    /// Adds results to those that are written in the end.
    pub(super) fn keep(&mut self, records: &[Record]) {
        self.records.extend_from_slice(records);
    }

    /// Writes records and tables.
    pub(super) fn finish(mut self) -> Result<()> {
        let markdown = self.path(".md");
        // A page of docs/results as it is.
        let page =
            format!("# {}: {}\n\n    {}\n\n{}\n", self.name, self.about, report::command(), self.markdown.trim_end());
        std::fs::write(&markdown, page).with_context(|| format!("cannot write {}", markdown.display()))?;
        table::write_json(&self.path(".json"), &self.records)?;
        if let Some(path) = &self.options.json {
            table::write_json(path, &self.records)?;
        }
        if let Some(path) = &self.options.report {
            report::again(&mut self.report, None);
            report::write(&self.report, path)?;
        }
        Ok(())
    }
}
