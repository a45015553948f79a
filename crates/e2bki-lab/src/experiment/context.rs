//! State of a running experiment: options, folder, output.

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use e2bki::Config;
use e2bki_eval::plot::Figure;
use e2bki_eval::{Record, Table};
use e2bki_sim::{Generation, Split, Standard};
use e2bki_view::{Legend, Report};
use image::RgbImage;

use super::dataset::{Dataset, Part, Simulation};
use super::look::Look;
use super::state::State;
use super::{Options, folds};
use crate::{OpenSource, OwnNetworks, report, table};

/// Frames of a simulated drive.
const FRAMES: usize = 100;
/// More than one round of every matched drive.
const FRAMES_FULL: usize = 900;

/// An experiment under way.
pub(super) struct Context {
    pub(super) options: Options,
    pub(super) state: State,
    open_source: OpenSource,
    own: OwnNetworks,
    /// Why simulated drives are seen by another network than those of the program, where that was said.
    said_why: bool,
    /// Datasets without labels that kernels could be learned from.
    pub(super) untaught: BTreeSet<String>,
    name: &'static str,
    about: String,
    records: Vec<Record>,
    markdown: String,
    report: Report,
}

impl Context {
    pub(super) fn open(
        options: &Options,
        open_source: OpenSource,
        own: OwnNetworks,
        name: &'static str,
        about: &str,
    ) -> Result<Self> {
        std::fs::create_dir_all(&options.out).with_context(|| format!("cannot create {}", options.out.display()))?;
        let state = State::open(&options.out)?;
        let report = Report::new(&format!("e2bki experiment {name}"), about);
        Ok(Self {
            options: options.clone(),
            state,
            open_source,
            own,
            said_why: false,
            untaught: BTreeSet::new(),
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

    /// The datasets to use: the sequences of the folder that was given, or stand-ins for these with every seed.
    pub(super) fn datasets(&mut self, standards: &[Standard]) -> Result<Vec<Dataset>> {
        if let Some(folder) = self.options.data.clone() {
            self.only_simulated_options("the folder --data")?;
            let parts = folds::parts(&folder, &self.options)?;
            return parts.into_iter().map(|part| self.part(part)).collect();
        }
        self.stand_ins(standards)
    }

    /// Stand-ins with every seed, also beside recordings.
    pub(super) fn stand_ins(&mut self, standards: &[Standard]) -> Result<Vec<Dataset>> {
        let look = self.look()?;
        self.seen_by(standards, &look)
    }

    /// What names the classes of simulated drives: what was asked for, else the program's own networks; says so where it is
    /// neither.
    pub(super) fn look(&mut self) -> Result<Look> {
        let (look, why) = Look::chosen(self.options.network.as_ref(), self.options.drives, self.own.is_some());
        if let Some(why) = why.filter(|_| !self.said_why) {
            self.said_why = true;
            self.note(&format!("Seen by the {}: {why}.", look.describe()))?;
        }
        Ok(look)
    }

    /// The same, seen by another network.
    pub(super) fn seen_by(&self, standards: &[Standard], look: &Look) -> Result<Vec<Dataset>> {
        let each = standards.iter().flat_map(|standard| (0..self.options.seeds).map(move |nth| (*standard, nth)));
        let (frames, simulation) = (self.frames(), self.simulation());
        each.map(|(standard, nth)| Dataset::simulated_nth(standard, Split::Test, nth, look, frames, &simulation))
            .collect()
    }

    /// Refuses options of simulated drives where there are none: nothing that was asked for is left out in silence.
    fn only_simulated_options(&self, what: &str) -> Result<()> {
        let Options { columns, network, seeds, drives, .. } = &self.options;
        let given = [
            ("--columns", columns.is_some()),
            ("--network", network.is_some()),
            ("--seeds", *seeds != 1),
            ("--drives", *drives != Generation::default()),
        ];
        match given.iter().find(|(_, given)| *given) {
            Some((name, _)) => bail!("{name} is for simulated drives and changes nothing of {what}; leave it out"),
            None => Ok(()),
        }
    }

    /// Refuses another network where an experiment has its own.
    pub(super) fn only_one_network(&self, why: &str) -> Result<()> {
        match self.options.network.as_ref().is_none_or(|network| *network == Look::default()) {
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
    pub(super) fn dataset(&mut self, standard: Standard) -> Result<Dataset> {
        let mut all = self.datasets(&[standard])?;
        if all.len() > 1 {
            bail!(
                "{} is of one drive, and {} were given; choose one with --sequence, and leave --seeds out",
                self.name,
                all.len()
            );
        }
        all.pop().context("no dataset")
    }

    /// A stand-in, seen by a network.
    pub(super) fn simulated(&self, standard: Standard, split: Split, network: &Look) -> Result<Dataset> {
        Dataset::simulated(standard, split, network, self.frames(), &self.simulation())
    }

    /// How drives are simulated.
    pub(super) fn simulation(&self) -> Simulation<'_> {
        let Options { drives, columns, out, .. } = &self.options;
        Simulation { drives: *drives, columns: *columns, out, open_source: self.open_source, own: self.own }
    }

    /// Some frames of a dataset folder; says what was assumed or left out.
    pub(super) fn part(&mut self, part: Part) -> Result<Dataset> {
        let dataset = Dataset::part(part, self.open_source)?;
        for note in dataset.notes().to_vec() {
            self.note(&note)?;
        }
        Ok(dataset)
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
