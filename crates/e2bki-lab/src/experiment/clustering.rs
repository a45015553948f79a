//! Clustering strategy by number of clusters.

use anyhow::Result;
use e2bki::config::{ClusterCount, Clustering};
use e2bki_eval::plot::{Figure, Panel, Series};
use e2bki_eval::{Record, Table, decimals};
use e2bki_sim::Standard;

use super::context::Context;
use super::dataset::Dataset;
use super::means::{self, Mean, shown};
use super::method::{Method, paper_config};

type Value = fn(&Record) -> Option<f64>;

const COUNTS: [usize; 6] = [64, 128, 256, 512, 1024, 2048];
const STRATEGIES: [(&str, Clustering); 3] =
    [("K-means++", Clustering::KMeans), ("FPS", Clustering::Fps), ("random", Clustering::Random)];
/// Cubes of the strategy `cells`, metres: coarse to fine, like the counts.
const CELLS: [f64; 6] = [1.6, 0.8, 0.6, 0.4, 0.25, 0.2];

pub(super) fn figure(context: &mut Context) -> Result<()> {
    let all = [Standard::RellisLike, Standard::OffroadLike, Standard::KittiLike];
    let mut panels = Vec::new();
    let datasets = context.datasets(if context.options.full { &all } else { &all[..1] })?;
    for group in datasets.chunk_by(|a, b| a.group == b.group) {
        let mut drives = Vec::new();
        for dataset in group {
            let methods = methods(context, dataset)?;
            drives.push(context.ask_voxels(dataset, &methods)?);
        }
        context.introduce_all(group)?;
        let drives: Vec<&[Record]> = drives.iter().map(Vec::as_slice).collect();
        let found = means::rows(&drives);
        let mut rows = Table::new(["strategy", "clusters or cube", "mIoU", "Acc", "BS", "ECE", "MB"]);
        for row in found.iter().filter(|row| !row.is_empty()) {
            let size = row[0].parameters.iter().map(|(key, value)| match key.as_str() {
                "cell_size" => format!("{value} m"),
                _ => value.clone(),
            });
            let mean = |value: Value| Mean::of(row.iter().map(|record| value(record)));
            let scores: [Value; 4] = [|r| r.miou, |r| r.acc, |r| r.bs, |r| r.ece];
            rows.row(
                [row[0].method.clone(), size.collect()]
                    .into_iter()
                    .chain(scores.map(|value| shown(mean(value))))
                    .chain([decimals(mean(|r| r.bytes.map(|b| b as f64 / 1e6)).map(|mean| mean.mean), 1)]),
            );
        }
        context.table(&rows)?;
        let ticks: Vec<String> = COUNTS.iter().zip(CELLS).map(|(count, cell)| format!("{count}; {cell} m")).collect();
        let series = |value: Value| -> Vec<Series> {
            let names = STRATEGIES.iter().map(|(name, _)| *name).chain(["cells"]);
            let of = |name: &str| {
                let rows = found.iter().filter(|row| row.first().is_some_and(|r| r.method == name));
                rows.map(|row| Mean::of(row.iter().map(|r| value(r))).map(|mean| mean.mean)).collect::<Vec<_>>()
            };
            names.map(|name| Series::at_ticks(name, of(name))).collect()
        };
        let axis = "clusters of every class; cells: side of a cube";
        let scores: [(&str, Value); 3] = [("Acc", |r| r.acc), ("mIoU", |r| r.miou), ("BS", |r| r.bs)];
        for (score, value) in scores {
            let title = format!("{}: {score}", group[0].group);
            panels.push(Panel::lines(&title, axis, "%", ticks.clone(), series(value)));
        }
    }
    let mut figure = Figure::new("Clustering strategy and number of clusters", 3, panels);
    figure.panel_px = (460, 400);
    context.figure(&figure)
}

/// The paper's settings with every strategy and number, and our default with cubes from coarse to fine.
fn methods(context: &Context, dataset: &Dataset) -> Result<Vec<Method>> {
    let base = paper_config(dataset.stands_for, context.options.threads)?;
    let mut methods = Vec::new();
    for (name, clustering) in STRATEGIES {
        for clusters in COUNTS {
            let config = base.clone().with(|c| {
                c.clustering.method = clustering;
                c.clustering.clusters = clusters;
                c.clustering.count = ClusterCount::PerClass;
            });
            methods.push(Method::ours(name, config, dataset.every()).with("clusters", clusters));
        }
    }
    for cell_size in CELLS {
        let config = context.config().with(|c| c.clustering.cell_size = cell_size);
        methods.push(Method::ours("cells", config, dataset.every()).with("cell_size", cell_size));
    }
    Ok(methods)
}
