//! The paper's claims one by one: what is said to be better than what, measured on several drives, with intervals.

use anyhow::Result;
use e2bki::Config;
use e2bki::config::{Clustering, Gate, Shape};
use e2bki_baselines::Baseline;
use e2bki_eval::{Confidence, Record, Table, View};
use e2bki_sim::Standard;

use super::context::Context;
use super::dataset::Dataset;
use super::means::{Mean, shown};
use super::method::{Method, OURS, OURS_PAPER, paper_config, with_context};
use super::parameters::VARIED;
use super::study::Study;

/// Drives of each set, unless more were asked for.
const SEEDS: u64 = 3;
/// Standard errors that a difference must be away from zero to decide.
const DECISIVE: f64 = 2.0;
/// Baselines that learn nothing from ground truth.
pub(super) const BASELINES: [Baseline; 5] =
    [Baseline::SCsm, Baseline::SBki, Baseline::SeeCsom, Baseline::Ebs, Baseline::Dst];
/// Thresholds of the static gate.
const STATIC: [f64; 5] = [0.35, 0.5, 0.65, 0.8, 0.9];
const ALL: [Standard; 3] = [Standard::RellisLike, Standard::OffroadLike, Standard::KittiLike];

const SPHERES_FPS: &str = "FPS clusters, spheres";
const SPHERES: &str = "K-means++ clusters, spheres";
const ELLIPSOIDS: &str = "ellipsoids";
const MERGING: &str = "merging";
const PRUNING: &str = "pruning, confidence from the variance";
const RANDOM: &str = "random clusters";
const FPS: &str = "FPS clusters";

/// A score, and whether more of it is better.
#[derive(Clone, Copy)]
struct Score {
    name: &'static str,
    value: fn(&Record) -> Option<f64>,
    more: bool,
    /// Whether a difference is in percent of the other side: rates depend on who else uses the machine.
    relative: bool,
}

const MIOU: Score = Score { name: "mIoU", value: |r| r.miou, more: true, relative: false };
const ACC: Score = Score { name: "Acc", value: |r| r.acc, more: true, relative: false };
const BS: Score = Score { name: "BS", value: |r| r.bs, more: false, relative: false };
const BS_VAR: Score = Score {
    name: "BS by the variance",
    value: |r| r.calibrated(Confidence::Variance).bs,
    more: false,
    relative: false,
};
const HZ: Score = Score { name: "Hz (difference in %)", value: |r| r.hz, more: true, relative: true };

/// One method, or the best or worst of several by the score in question.
enum Who {
    One(String),
    Best(Vec<String>),
    Worst(Vec<String>),
}

/// That one is better than the other.
struct Claim {
    what: String,
    score: Score,
    /// How the better side is asked; the other one is asked at its voxels.
    view: View,
    better: Who,
    than: Who,
}

fn one(name: &str) -> Who {
    Who::One(name.into())
}

fn claim(what: &str, score: Score, better: Who, than: Who) -> Claim {
    Claim { what: what.into(), score, view: View::Voxel, better, than }
}

impl Who {
    fn value(&self, records: &[Record], score: Score, view: View) -> Option<f64> {
        let of = |name: &String| {
            let found = records.iter().find(|r| r.method == *name && r.view == view);
            found.and_then(score.value)
        };
        // Worse is less where more is better.
        let ends = |names: &[String], best: bool| {
            let values = names.iter().map(of).collect::<Option<Vec<f64>>>()?;
            let (least, most) = (f64::min as fn(f64, f64) -> f64, f64::max as fn(f64, f64) -> f64);
            values.into_iter().reduce(if best == score.more { most } else { least })
        };
        match self {
            Self::One(name) => of(name),
            Self::Best(names) => ends(names, true),
            Self::Worst(names) => ends(names, false),
        }
    }
}

/// What the drives say of a claim.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Holds,
    DoesNot,
    Undecided,
    NotTestable,
}

impl Verdict {
    /// Of differences in favour of the claim, one per drive.
    fn of(difference: Option<Mean>) -> Self {
        match difference {
            Some(Mean { mean, error: Some(error) }) if mean - DECISIVE * error > 0.0 => Self::Holds,
            Some(Mean { mean, error: Some(error) }) if mean + DECISIVE * error < 0.0 => Self::DoesNot,
            Some(_) => Self::Undecided,
            None => Self::NotTestable,
        }
    }

    fn text(&self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::DoesNot => "does not hold",
            Self::Undecided => "undecided",
            Self::NotTestable => "not testable here",
        }
    }
}

impl Claim {
    /// Its row: both sides, the difference in its favour, what follows.
    fn row(&self, drives: &[Vec<Record>]) -> [String; 6] {
        let side = |who: &Who, view| drives.iter().map(|of| who.value(of, self.score, view)).collect::<Vec<_>>();
        let (better, than) = (side(&self.better, self.view), side(&self.than, View::Voxel));
        let sign = if self.score.more { 1.0 } else { -1.0 };
        let pairs = better.iter().zip(&than);
        let unit = |b: f64| if self.score.relative { b / 100.0 } else { 1.0 };
        let difference = Mean::of(pairs.map(|(a, b)| a.zip(*b).map(|(a, b)| sign * (a - b) / unit(b))));
        [
            self.what.clone(),
            self.score.name.into(),
            shown(Mean::of(better)),
            shown(Mean::of(than)),
            shown(difference),
            Verdict::of(difference).text().into(),
        ]
    }
}

pub(super) fn table(context: &mut Context) -> Result<()> {
    if context.options.data.is_none() {
        context.options.seeds = context.options.seeds.max(SEEDS);
    }
    let datasets = context.datasets(&ALL)?;
    context.note(
        "Each claim is that one score is better on one side than on the other. Values are means over drives ± their standard \
         error; the difference is in favour of the claim, drive by drive. It holds, or does not, where the difference is more \
         than two standard errors from zero.",
    )?;
    for group in datasets.chunk_by(|a, b| a.group == b.group) {
        let details = group[0].stands_for == Some(Standard::RellisLike);
        let mut drives = Vec::new();
        for dataset in group {
            let methods = methods(context, dataset, details)?;
            let views = [View::Voxel, View::Continuous];
            drives.push(context.study(&Study { dataset, methods: &methods, views: &views, compare: false })?);
        }
        context.introduce(&group[0])?;
        context.note(&format!("{}: {} drives of {} frames.", group[0].group, group.len(), group[0].frames))?;
        let mut rows = Table::new(["claim", "score", "better", "than", "difference", ""]);
        for claim in headline().into_iter().chain(if details { detailed() } else { Vec::new() }) {
            rows.row(claim.row(&drives));
        }
        context.table(&rows)?;
    }
    context.note(
        "Long runs are measured by figure-scalability, fewer frames by figure-sparsity, weaker networks by \
         figure-weak-network.",
    )
}

/// The methods that the claims are about.
fn methods(context: &mut Context, dataset: &Dataset, details: bool) -> Result<Vec<Method>> {
    let (every, theirs) = (dataset.every(), context.their_config()?);
    let paper = paper_config(dataset.stands_for, context.options.threads)?;
    let default = context.config();
    let mut all = Vec::new();
    for baseline in BASELINES {
        all.push(Method::baseline(baseline, theirs.clone(), every));
        all.push(Method::baseline(baseline, theirs.clone(), every).in_context_of(&default));
    }
    all.push(Method::ours(OURS_PAPER, paper.clone(), every));
    all.push(Method::ours(OURS, default, every));
    if details {
        all.extend(steps(&paper, every));
        all.extend(variants(&paper, every)?);
    }
    Ok(all)
}

/// The ablation's steps between EBS and the whole.
fn steps(paper: &Config, every: usize) -> Vec<Method> {
    let bare = || {
        paper.clone().with(|c| {
            (c.refinement.merge, c.refinement.prune) = (false, false);
            c.kernel.shape = Shape::Sphere;
        })
    };
    let steps = [
        (SPHERES_FPS, bare().with(|c| c.clustering.method = Clustering::Fps)),
        (SPHERES, bare()),
        (ELLIPSOIDS, bare().with(|c| c.kernel.shape = Shape::Ellipsoid)),
        (MERGING, paper.clone().with(|c| c.refinement.prune = false)),
        (PRUNING, paper.clone()),
    ];
    let by_variance = |(name, config): (&str, Config)| {
        let mut method = Method::ours(name, config, every);
        method.confidence = Confidence::Variance;
        method
    };
    steps.into_iter().map(by_variance).collect()
}

/// Other clusterings, other thresholds, and every parameter changed by itself.
fn variants(paper: &Config, every: usize) -> Result<Vec<Method>> {
    let mut all = vec![
        Method::ours(RANDOM, paper.clone().with(|c| c.clustering.method = Clustering::Random), every),
        Method::ours(FPS, paper.clone().with(|c| c.clustering.method = Clustering::Fps), every),
    ];
    for threshold in STATIC {
        let config = paper.clone().with(|c| {
            c.fusion.gate = Gate::Static;
            c.fusion.max_uncertainty = threshold;
        });
        all.push(Method::ours(&fixed(threshold), config, every));
    }
    for (key, _, values) in VARIED {
        for value in values {
            let mut config = paper.clone();
            config.set_text(key, &value.to_string())?;
            all.push(Method::ours(&changed(key, *value), config, every));
        }
    }
    Ok(all)
}

fn fixed(threshold: f64) -> String {
    format!("static threshold {threshold}")
}

fn changed(key: &str, value: f64) -> String {
    format!("{key} = {value}")
}

/// Better than every baseline, for the paper's settings and the default, and what is left of it on even terms.
fn headline() -> Vec<Claim> {
    let names = || BASELINES.map(|baseline| baseline.name().to_string()).to_vec();
    let in_context = || BASELINES.map(|baseline| with_context(baseline.name())).to_vec();
    let mut all = Vec::new();
    for (who, score) in [OURS_PAPER, OURS].into_iter().flat_map(|who| [MIOU, ACC, BS, BS_VAR].map(|score| (who, score)))
    {
        all.push(claim(&format!("{who} above every baseline"), score, one(who), Who::Best(names())));
    }
    for score in [MIOU, ACC, BS] {
        let what = format!("{OURS} above every baseline that has the same neighbour context");
        all.push(claim(&what, score, one(OURS), Who::Best(in_context())));
    }
    let s_bki = Baseline::SBki.name();
    for (who, score) in [(OURS_PAPER, MIOU), (OURS_PAPER, ACC), (OURS_PAPER, BS), (OURS_PAPER, HZ), (OURS, HZ)] {
        let word = if score.name == HZ.name { "faster than" } else { "above" };
        all.push(claim(&format!("{who} {word} S-BKI"), score, one(who), one(s_bki)));
    }
    for who in [OURS_PAPER, OURS] {
        let same = claim(&format!("{who}: continuous above voxels"), MIOU, one(who), one(who));
        all.push(Claim { view: View::Continuous, ..same });
    }
    all
}

/// The paper's analysis on RELLIS-3D.
fn detailed() -> Vec<Claim> {
    let (s_bki, ebs) = (Baseline::SBki.name(), Baseline::Ebs.name());
    let baselines = || BASELINES.map(|baseline| baseline.name().to_string()).to_vec();
    let fixed: Vec<String> = STATIC.iter().map(|threshold| fixed(*threshold)).collect();
    let varied = || VARIED.iter().flat_map(|(key, _, values)| values.iter().map(|v| changed(key, *v))).collect();
    vec![
        claim("evidence (EBS) above S-BKI", MIOU, one(ebs), one(s_bki)),
        claim("evidence (EBS) above S-BKI", BS, one(ebs), one(s_bki)),
        claim("clusters above points (spheres above EBS)", ACC, one(SPHERES), one(ebs)),
        claim("K-means++ above FPS (spheres)", MIOU, one(SPHERES), one(SPHERES_FPS)),
        claim("ellipsoids above spheres", MIOU, one(ELLIPSOIDS), one(SPHERES)),
        claim("merging lowers the Brier score", BS, one(MERGING), one(ELLIPSOIDS)),
        claim("pruning raises mIoU", MIOU, one(PRUNING), one(MERGING)),
        claim("decomposed uncertainty above the variance", BS, one(OURS_PAPER), one(PRUNING)),
        claim("K-means++ above random clusters", MIOU, one(OURS_PAPER), one(RANDOM)),
        claim("K-means++ above random clusters", ACC, one(OURS_PAPER), one(RANDOM)),
        claim("K-means++ above FPS clusters", MIOU, one(OURS_PAPER), one(FPS)),
        claim("dynamic above any static threshold", MIOU, one(OURS_PAPER), Who::Best(fixed)),
        claim(
            "with any one parameter changed above every baseline",
            MIOU,
            Who::Worst(varied()),
            Who::Best(baselines()),
        ),
        claim("with any one parameter changed above every baseline", ACC, Who::Worst(varied()), Who::Best(baselines())),
        claim("refinement makes it faster", HZ, one(PRUNING), one(ELLIPSOIDS)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drive(scores: &[(&str, f64)]) -> Vec<Record> {
        let record = |(name, value): &(&str, f64)| {
            let mut record = Record::new("x", *name, View::Voxel);
            (record.miou, record.bs) = (Some(*value), Some(*value));
            record
        };
        scores.iter().map(record).collect()
    }

    #[test]
    fn a_claim_is_judged_by_its_differences_drive_by_drive() {
        // The drives differ by far more than the methods do.
        let drives = [("a", "b"); 3].iter().zip([10.0, 50.0, 90.0]).zip([1.0, 1.2, 0.9]);
        let drives: Vec<Vec<Record>> =
            drives.map(|(((a, b), level), gain)| drive(&[(a, level + gain), (b, level)])).collect();
        let verdict =
            |score, better: &str, than: &str| claim("", score, one(better), one(than)).row(&drives)[5].clone();
        assert_eq!(verdict(MIOU, "a", "b"), "holds");
        assert_eq!(verdict(MIOU, "b", "a"), "does not hold");
        // Less is better.
        assert_eq!(verdict(BS, "a", "b"), "does not hold");
        assert_eq!(verdict(MIOU, "a", "nobody"), "not testable here");
        assert_eq!(verdict(MIOU, "a", "a"), "undecided");
        assert_eq!(claim("", MIOU, one("a"), one("b")).row(&drives[..1])[5], "undecided");
    }

    #[test]
    fn best_and_worst_follow_the_score() {
        let of = drive(&[("a", 1.0), ("b", 2.0)]);
        let names = || vec!["a".to_string(), "b".to_string()];
        let value = |who: Who, score| who.value(&of, score, View::Voxel);
        assert_eq!((value(Who::Best(names()), MIOU), value(Who::Worst(names()), MIOU)), (Some(2.0), Some(1.0)));
        assert_eq!((value(Who::Best(names()), BS), value(Who::Worst(names()), BS)), (Some(1.0), Some(2.0)));
        assert_eq!(value(Who::Best(vec!["a".into(), "c".into()]), MIOU), None);
    }
}
