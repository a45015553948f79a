//! A comparison on one dataset: every method maps the same frames, every map is asked the same questions, and every
//! result is kept as soon as it is there.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use e2bki_eval::{Answers, Asked, GroundTruth, Questions, Record, View, assess, assess_network, common_miou, run};

use super::context::Context;
use super::dataset::Dataset;
use super::method::Method;
use super::state::key;
use crate::table;

/// Maps held at once.
const BATCH: usize = 24;
/// Changes when results of the same inputs change.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " evaluation 4");

/// A comparison.
pub(super) struct Study<'a> {
    pub(super) dataset: &'a Dataset,
    pub(super) methods: &'a [Method],
    pub(super) views: &'a [View],
    /// Whether to score the queries that all methods occupy, and the network alone.
    pub(super) compare: bool,
}

/// One result to be had: a method, or the network alone, in a view.
struct Job<'a> {
    method: Option<&'a Method>,
    view: View,
    key: String,
}

impl Study<'_> {
    fn jobs(&self) -> Vec<Job<'_>> {
        // The common queries depend on all methods of the comparison.
        let together: String = self.methods.iter().filter(|_| self.compare).map(Method::identity).collect();
        let job = |method: Option<&'_ Method>, view: View| {
            let identity = method.map_or_else(|| "network".into(), Method::identity);
            key(&[VERSION, &self.dataset.identity, &identity, view.name(), &together])
        };
        let mut jobs = Vec::new();
        for view in self.views {
            if self.compare && has_common(*view) {
                jobs.push(Job { method: None, view: *view, key: job(None, *view) });
            }
            // Maps of voxels have nothing between them.
            let continuous = matches!(view, View::Continuous | View::BevContinuous);
            for method in self.methods.iter().filter(|method| !continuous || method.is_continuous()) {
                jobs.push(Job { method: Some(method), view: *view, key: job(Some(method), *view) });
            }
        }
        jobs
    }
}

impl Context {
    /// Makes the comparison, or what is left of it; records in the order of views and methods.
    pub(super) fn study(&mut self, study: &Study<'_>) -> Result<Vec<Record>> {
        let jobs = study.jobs();
        let missing = |context: &Self, method: &Method| {
            let mut own = jobs.iter().filter(|job| job.method.is_some_and(|m| std::ptr::eq(m, method)));
            own.any(|job| context.state.get(&job.key).is_none())
        };
        let mut left: Vec<&Method> = study.methods.iter().filter(|method| missing(self, method)).collect();
        let network_left = jobs.iter().any(|job| job.method.is_none() && self.state.get(&job.key).is_none());
        if left.is_empty() && network_left {
            left.extend(study.methods.first());
        }
        for batch in left.chunks(BATCH) {
            self.map_and_ask(study, &jobs, batch)?;
        }
        if study.compare {
            self.score_common(study, &jobs)?;
        }
        let records: Vec<Record> = jobs.iter().filter_map(|job| self.state.get(&job.key).cloned()).collect();
        self.keep(&records);
        Ok(records)
    }

    fn map_and_ask(&mut self, study: &Study<'_>, jobs: &[Job<'_>], batch: &[&Method]) -> Result<()> {
        let dataset = study.dataset;
        let bev = study.views.iter().any(|view| view.is_planar());
        let mut entrants =
            batch.iter().map(|method| method.entrant(&dataset.classes, bev)).collect::<Result<Vec<_>>>()?;
        let asked = if dataset.held_out { Asked::Points } else { Asked::Cells };
        let mut truth = GroundTruth::new(dataset.classes.len(), asked, dataset.max_range_m, study.views);
        let bar = table::progress(dataset.frames, &dataset.name);
        let asks = |index: usize| dataset.asks(index);
        run(dataset.iter(), &mut entrants, &mut truth, asks, |done| bar.set_position(done as u64))?;
        bar.finish_and_clear();
        let questions = truth.into_questions();
        let bar = table::progress(jobs.len(), "asking");
        for job in jobs {
            bar.inc(1);
            if self.state.get(&job.key).is_some() {
                continue;
            }
            let Some(method) = job.method else {
                let mut record = assess_network(&dataset.name, &dataset.classes, job.view, &questions);
                record.frames = dataset.frames;
                record.semantics = Some(dataset.semantics.clone());
                self.keep_answers(&truths_key(study, job.view), truths(&questions, job.view))?;
                self.state.put(&job.key, &record)?;
                continue;
            };
            let Some(place) = batch.iter().position(|m| std::ptr::eq(*m, method)) else { continue };
            let (mut record, answers) = assess(&dataset.name, &entrants[place], job.view, &questions)?;
            record.frames = dataset.frames;
            record.semantics = Some(dataset.semantics.clone());
            record.parameters = method.parameters.clone();
            if study.compare && has_common(job.view) {
                self.keep_answers(&job.key, &answers.0)?;
            }
            self.state.put(&job.key, &record)?;
        }
        bar.finish_and_clear();
        Ok(())
    }

    /// Scores the queries that all methods of a view occupy, from the answers that were kept; then drops those.
    fn score_common(&mut self, study: &Study<'_>, jobs: &[Job<'_>]) -> Result<()> {
        for view in study.views.iter().filter(|view| has_common(**view)) {
            let of_view: Vec<&Job<'_>> = jobs.iter().filter(|job| job.view == *view && job.method.is_some()).collect();
            let scored = |job: &&Job<'_>| self.state.get(&job.key).is_some_and(|record| record.miou_common.is_some());
            let Some(truths) = self.kept_answers(&truths_key(study, *view)) else { continue };
            if of_view.iter().all(scored) {
                continue;
            }
            let whole = |answers: &Vec<u16>| answers.len() == truths.len();
            let answers: Option<Vec<Answers>> =
                of_view.iter().map(|job| self.kept_answers(&job.key).filter(whole).map(Answers)).collect();
            // Answers that were cleared away, or cut short by a crash, leave a dash.
            let Some(answers) = answers else { continue };
            let scores = common_miou(study.dataset.classes.len(), &truths, &answers);
            for (job, score) in of_view.iter().zip(scores) {
                if let Some(mut record) = self.state.get(&job.key).cloned() {
                    record.miou_common = score;
                    self.state.put(&job.key, &record)?;
                }
            }
            for job in &of_view {
                remove(&self.answers_path(&job.key));
            }
        }
        Ok(())
    }

    fn answers_path(&self, key: &str) -> PathBuf {
        self.options.out.join(format!("answers-{key}.bin"))
    }

    fn keep_answers(&self, key: &str, answers: &[u16]) -> Result<()> {
        let path = self.answers_path(key);
        let bytes: Vec<u8> = answers.iter().flat_map(|label| label.to_le_bytes()).collect();
        std::fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))
    }

    fn kept_answers(&self, key: &str) -> Option<Vec<u16>> {
        let bytes = std::fs::read(self.answers_path(key)).ok()?;
        Some(bytes.as_chunks::<2>().0.iter().map(|pair| u16::from_le_bytes(*pair)).collect())
    }
}

/// Views in which every method answers.
fn has_common(view: View) -> bool {
    matches!(view, View::Voxel | View::Bev)
}

/// Truths are asked for once per kind of queries: in the volume, or from above.
fn truths_key(study: &Study<'_>, view: View) -> String {
    key(&[VERSION, &study.dataset.identity, "truths", if view.is_planar() { "plane" } else { "volume" }])
}

fn truths(questions: &Questions, view: View) -> &[u16] {
    if view.is_planar() { questions.plane.truths() } else { questions.volume.truths() }
}

fn remove(path: &std::path::Path) {
    // What cannot be removed is only in the way.
    if let Err(error) = std::fs::remove_file(path) {
        e2bki_output::table::say(&format!("note: cannot remove {}: {error}", path.display()));
    }
}
