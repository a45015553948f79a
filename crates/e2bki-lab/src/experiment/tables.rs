//! The paper's main tables: all methods on each dataset.

use anyhow::Result;
use e2bki::config::ClusterCount;
use e2bki_baselines::Baseline;
use e2bki_eval::plot::{Figure, Panel};
use e2bki_eval::{Record, View};
use e2bki_sim::Standard;

use super::context::Context;
use super::dataset::Dataset;
use super::method::{Method, OURS, OURS_PAPER, OURS_TOTAL, occupied_from, paper_config, with_context};
use super::study::Study;
use super::{means, paper, show};

/// Kernel mass from which on ConvBKI's own programs show a voxel.
const CONV_BKI_OCCUPIED: f32 = 1.0;

const ALL: [Standard; 3] = [Standard::RellisLike, Standard::OffroadLike, Standard::KittiLike];

pub(super) fn offroad(context: &mut Context) -> Result<()> {
    compare(context, &ALL[..2], &[View::Voxel], true)
}

pub(super) fn urban(context: &mut Context) -> Result<()> {
    compare(context, &ALL[2..], &[View::Voxel], true)
}

pub(super) fn bev(context: &mut Context) -> Result<()> {
    compare(context, &ALL, &[View::Bev, View::BevContinuous], false)
}

pub(super) fn full(context: &mut Context) -> Result<()> {
    compare(context, &ALL, &[View::Voxel, View::Continuous], false)
}

impl Context {
    /// Every method of the paper on a dataset, ConvBKI with kernels learned elsewhere.
    pub(super) fn all_methods(&mut self, dataset: &Dataset, every: usize) -> Result<Vec<Method>> {
        let config = self.config();
        let theirs = self.their_config()?;
        let mut methods = Vec::new();
        for baseline in Baseline::ALL {
            methods.push(match baseline {
                Baseline::ConvBki => {
                    Method::conv_bki(baseline.name(), self.conv_kernels(dataset)?, theirs.clone(), every)
                }
                _ => Method::baseline(baseline, theirs.clone(), every),
            });
        }
        let as_printed = paper_config(dataset.stands_for, self.options.threads)?;
        methods.push(Method::ours(OURS_PAPER, as_printed, every));
        methods.push(Method::ours(OURS, config, every));
        Ok(methods)
    }

    /// The paper's settings with the other reading of its numbers of clusters.
    fn total_reading(&self, dataset: &Dataset) -> Result<Method> {
        let config =
            paper_config(dataset.stands_for, self.options.threads)?.with(|c| c.clustering.count = ClusterCount::Total);
        Ok(Method::ours(OURS_TOTAL, config, dataset.every()))
    }

    /// Every method of the paper; the baselines also with what is ours alone, ConvBKI also with its own rule of occupancy,
    /// the paper's settings also with the other reading of clusters.
    fn fair_methods(&mut self, dataset: &Dataset) -> Result<Vec<Method>> {
        let methods = self.all_methods(dataset, dataset.every())?;
        let default = self.config();
        let mut all = Vec::new();
        for method in methods {
            let (own, conv) = (method.is_continuous(), method.name == Baseline::ConvBki.name());
            if method.name == OURS {
                all.push(self.total_reading(dataset)?);
            }
            all.push(method.clone());
            if conv {
                all.push(method.clone().occupied_from(CONV_BKI_OCCUPIED));
            }
            if !own {
                all.push(method.in_context_of(&default));
            }
        }
        Ok(all)
    }

    /// Says where ground truth is missing: those frames are no part of the scores.
    fn say_unlabelled(&mut self, records: &[Record]) -> Result<()> {
        let known = records.iter().find_map(|record| record.asked_frames.zip(record.labelled_frames));
        match known {
            Some((_, 0)) => self.note("No ground truth was found: nothing can be scored."),
            Some((asked, labelled)) if labelled < asked => {
                self.note(&format!("Only {labelled} of the {asked} frames asked about have ground truth."))
            }
            _ => Ok(()),
        }
    }

    /// Says what the numbers of several drives are of.
    pub(super) fn introduce_all(&mut self, group: &[Dataset]) -> Result<()> {
        let Some(first) = group.first() else { return Ok(()) };
        self.introduce(first)?;
        if group.len() == 1 { Ok(()) } else { self.say_means(group) }
    }

    fn say_means(&mut self, group: &[Dataset]) -> Result<()> {
        let Some(first) = group.first() else { return Ok(()) };
        let (what, names) = (if first.is_simulated() { "drives" } else { "sequences" }, names(group));
        self.note(&format!("Means of {} {what} ± standard error: {names}.", group.len()))
    }

    /// Says what the numbers are of.
    pub(super) fn introduce(&mut self, dataset: &Dataset) -> Result<()> {
        let every = dataset.every();
        let learned = |from: &str| {
            if self.untaught.contains(&dataset.identity) {
                "ConvBKI has its first kernels, as there are no labels to learn from.".to_string()
            } else {
                format!("ConvBKI learned from {from}.")
            }
        };
        let text = match dataset.stands_for {
            Some(standard) if dataset.is_simulated() => format!(
                "{}: {} simulated frames (points in the camera's view), every {every}th mapped, all asked about. Semantics: {}. The \
                 paper's numbers are of real {} data: compare orders, not values.",
                dataset.name,
                dataset.frames,
                dataset.semantics,
                paper::real_name(standard)
            ),
            Some(_) => {
                let from = match dataset.learns_from() {
                    [] => "the frames that are mapped, as far as they have labels; they are among those asked about"
                        .into(),
                    others => format!("the sequences {}", others.join(", ")),
                };
                format!(
                    "{}: {} frames by the paper's protocol: points in the camera's view, {}, every {every}th frame \
                     mapped{}. Semantics: {}. {}",
                    dataset.name,
                    dataset.frames,
                    dataset.truth(),
                    if dataset.held_out { ", the points of the others asked about" } else { ", all asked about" },
                    dataset.semantics,
                    learned(&from)
                )
            }
            None if dataset.held_out => format!(
                "{}: {} scans, even ones mapped, asked at every labelled point of the odd ones within 50 m. Semantics: \
                 {}. {}",
                dataset.name,
                dataset.frames,
                dataset.semantics,
                learned("the even scans")
            ),
            None => format!(
                "{}: {} scans, every {every}th mapped, all asked about. Semantics: {}. {}",
                dataset.name,
                dataset.frames,
                dataset.semantics,
                learned("the scans that are mapped, which are among those asked about; --held-out keeps them apart")
            ),
        };
        self.note(&text)
    }
}

fn compare(context: &mut Context, standards: &[Standard], views: &[View], by_class: bool) -> Result<()> {
    let mut panels: Vec<Panel> = Vec::new();
    let datasets = context.datasets(standards)?;
    for group in datasets.chunk_by(|a, b| a.group == b.group) {
        let mut all = Vec::new();
        for dataset in group {
            let methods = context.fair_methods(dataset)?;
            let records = context.study(&Study { dataset, methods: &methods, views, compare: true })?;
            context.say_unlabelled(&records)?;
            // Drives of one set are one thing; folds of a recording are of different places and learned from others.
            if group.len() == 1 || !dataset.is_simulated() {
                context.introduce(dataset)?;
                context.table(&show::scores(dataset, &records))?;
            }
            if group.len() == 1 {
                if by_class || dataset.held_out {
                    context.table(&show::by_class(&dataset.classes, &records))?;
                }
                context.table(&show::costs(&records))?;
                panels.extend(show::panels(&dataset.name, &drawn(&records)));
            }
            all.push(records);
        }
        if group.len() > 1 {
            let all: Vec<&[Record]> = all.iter().map(Vec::as_slice).collect();
            if group[0].is_simulated() {
                context.introduce(&group[0])?;
            }
            context.say_means(group)?;
            context.table(&means::scores(&group[0], &all))?;
            if by_class {
                context.table(&means::by_class(&group[0].classes, &all))?;
            }
            panels.extend(show::panels(&format!("{}, means", group[0].group), &drawn(&means::averaged(&all))));
        }
    }
    context.figure(&Figure::new("All methods", 2, panels))
}

/// The rows that a diagram has room for: every method once.
fn drawn(records: &[Record]) -> Vec<Record> {
    let aside = [with_context(""), occupied_from("")];
    records.iter().filter(|record| !aside.iter().any(|end| record.method.contains(end.as_str()))).cloned().collect()
}

fn names(group: &[Dataset]) -> String {
    group.iter().map(|dataset| dataset.name.as_str()).collect::<Vec<_>>().join(", ")
}
