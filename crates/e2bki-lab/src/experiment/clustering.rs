//! Clustering strategy by number of clusters.

use anyhow::Result;
use e2bki::config::{ClusterCount, Clustering};
use e2bki_eval::plot::{Figure, Panel, Series};
use e2bki_eval::{Record, Table, View, decimals, percent};
use e2bki_sim::Standard;

use super::context::Context;
use super::method::{Method, paper_config};
use super::study::Study;

const COUNTS: [usize; 6] = [64, 128, 256, 512, 1024, 2048];
const STRATEGIES: [(&str, Clustering); 3] =
    [("K-means++", Clustering::KMeans), ("FPS", Clustering::Fps), ("random", Clustering::Random)];
/// Cubes of the strategy `cells`, metres: coarse to fine, like the counts.
const CELLS: [f64; 6] = [1.6, 0.8, 0.6, 0.4, 0.25, 0.2];

pub(super) fn figure(context: &mut Context) -> Result<()> {
    let all = [Standard::RellisLike, Standard::OffroadLike, Standard::KittiLike];
    let mut panels = Vec::new();
    for dataset in context.datasets(if context.options.full { &all } else { &all[..1] })? {
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
        let study = Study { dataset: &dataset, methods: &methods, views: &[View::Voxel], compare: false };
        let records = context.study(&study)?;
        context.introduce(&dataset)?;
        let mut rows = Table::new(["strategy", "clusters or cube", "mIoU", "Acc", "BS", "ECE", "Hz", "MB"]);
        for record in &records {
            let size = record.parameters.iter().map(|(key, value)| match key.as_str() {
                "cell_size" => format!("{value} m"),
                _ => value.clone(),
            });
            rows.row(
                [record.method.clone(), size.collect()]
                    .into_iter()
                    .chain([record.miou, record.acc, record.bs, record.ece, record.hz].map(percent))
                    .chain([decimals(record.bytes.map(|b| b as f64 / 1e6), 1)]),
            );
        }
        context.table(&rows)?;
        let ticks: Vec<String> = COUNTS.iter().zip(CELLS).map(|(count, cell)| format!("{count}; {cell} m")).collect();
        let series = |value: fn(&Record) -> Option<f64>| -> Vec<Series> {
            let names = STRATEGIES.iter().map(|(name, _)| *name).chain(["cells"]);
            let of = |name: &str| records.iter().filter(|r| r.method == name).map(value).collect::<Vec<_>>();
            names.map(|name| Series::at_ticks(name, of(name))).collect()
        };
        let axis = "clusters of every class; cells: side of a cube";
        type Value = fn(&Record) -> Option<f64>;
        let scores: [(&str, Value); 3] = [("Acc", |r| r.acc), ("mIoU", |r| r.miou), ("BS", |r| r.bs)];
        for (score, value) in scores {
            let title = format!("{}: {score}", dataset.name);
            panels.push(Panel::lines(&title, axis, "%", ticks.clone(), series(value)));
        }
    }
    let mut figure = Figure::new("Clustering strategy and number of clusters", 3, panels);
    figure.panel_px = (460, 400);
    context.figure(&figure)
}
