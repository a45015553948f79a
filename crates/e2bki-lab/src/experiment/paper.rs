//! The numbers of the paper, and of public implementations, to stand beside ours.

use e2bki_eval::View;
use e2bki_sim::Standard;

use super::method::{OURS, OURS_PAPER};

/// mIoU, Acc, BS, ECE in percent.
type Scores = [f64; 4];

/// By dataset (RELLIS-3D, OffRoad, KITTI-360).
const FULL: [(&str, [Scores; 3]); 7] = [
    ("S-CSM", [[43.7, 67.7, 15.0, 13.9], [69.6, 58.5, 9.2, 7.9], [47.3, 59.5, 14.7, 12.8]]),
    ("S-BKI", [[43.8, 78.9, 16.3, 12.4], [69.2, 78.5, 14.4, 12.6], [47.1, 74.9, 17.4, 10.8]]),
    ("SEE-CSOM", [[44.6, 80.0, 14.1, 11.6], [68.8, 80.3, 8.7, 4.8], [46.9, 76.1, 13.4, 8.2]]),
    ("ConvBKI", [[44.3, 80.7, 15.2, 14.7], [71.1, 84.3, 8.4, 7.3], [48.3, 68.0, 13.5, 11.4]]),
    ("EBS", [[45.1, 80.9, 13.2, 9.9], [71.9, 82.6, 7.0, 3.0], [49.0, 77.8, 12.5, 5.1]]),
    (OURS, [[47.3, 83.5, 13.0, 9.1], [71.5, 87.7, 7.4, 2.2], [49.4, 80.0, 12.1, 6.3]]),
    ("continuous", [[47.4, 83.7, 12.9, 9.2], [71.7, 87.9, 7.3, 2.3], [49.6, 80.2, 12.0, 6.2]]),
];

/// From above: mIoU, Acc, BS.
const BEV: [(&str, [[f64; 3]; 3]); 7] = [
    ("S-CSM", [[42.5, 73.5, 15.2], [65.1, 80.6, 11.3], [41.6, 63.5, 14.3]]),
    ("S-BKI", [[41.9, 78.5, 18.1], [65.6, 85.8, 18.0], [40.2, 75.3, 20.3]]),
    ("SEE-CSOM", [[41.3, 79.0, 14.5], [64.8, 85.8, 10.8], [39.4, 76.5, 14.3]]),
    ("ConvBKI", [[42.3, 80.2, 14.2], [68.4, 86.7, 9.5], [41.9, 71.1, 13.2]]),
    ("EBS", [[44.0, 80.4, 12.9], [66.9, 86.4, 9.3], [42.0, 78.1, 14.7]]),
    (OURS, [[46.5, 82.9, 12.7], [70.2, 89.5, 8.0], [43.5, 82.5, 10.5]]),
    ("continuous", [[46.7, 83.1, 12.6], [70.7, 89.6, 7.9], [43.6, 82.6, 10.4]]),
];

/// The paper's numbers for a method on the dataset that a drive stands in for, as mIoU / Acc / BS (/ ECE).
pub(super) fn scores(standard: Standard, method: &str, view: View) -> Option<String> {
    let column = match standard {
        Standard::RellisLike => 0,
        Standard::OffroadLike => 1,
        Standard::KittiLike => 2,
    };
    // The paper's row is the paper's settings; ours stands beside it for comparison.
    let continuous = matches!(view, View::Continuous | View::BevContinuous);
    let name = match method {
        OURS | OURS_PAPER if continuous => "continuous",
        OURS_PAPER => OURS,
        other => other,
    };
    let text = |values: &[f64]| values.iter().map(|v| format!("{v:.1}")).collect::<Vec<_>>().join(" / ");
    if view.is_planar() {
        return BEV.iter().find(|(row, _)| *row == name).map(|(_, values)| text(&values[column]));
    }
    FULL.iter().find(|(row, _)| *row == name).map(|(_, values)| text(&values[column]))
}

/// The real dataset of a stand-in.
pub(super) fn real_name(standard: Standard) -> &'static str {
    match standard {
        Standard::RellisLike => "RELLIS-3D",
        Standard::OffroadLike => "OffRoad",
        Standard::KittiLike => "KITTI-360",
    }
}

/// The paper's ablation on RELLIS-3D: mIoU, Acc, BS.
pub(super) const ABLATION: [(&str, [f64; 3]); 11] = [
    ("S-BKI", [43.8, 78.9, 16.3]),
    ("+ evidential (EBS)", [45.1, 80.9, 13.2]),
    ("+ FPS clusters, spheres", [45.3, 82.8, 14.3]),
    ("+ K-means++ clusters, spheres", [45.5, 83.1, 14.4]),
    ("+ ellipsoids", [45.8, 83.2, 14.3]),
    ("+ merging", [45.9, 83.2, 13.9]),
    ("+ pruning", [47.3, 83.5, 13.4]),
    ("+ decomposed uncertainty", [47.3, 83.5, 13.0]),
    ("+ continuous", [47.4, 83.7, 12.9]),
    ("ConvBKI, trained elsewhere", [44.3, 80.7, 15.2]),
    ("ConvBKI, trained on the test drive", [45.4, 81.7, 14.7]),
];

/// Frames per second on RELLIS-3D, on an i7-12700H (ConvBKI: on a GPU).
pub(super) const HZ: [(&str, f64); 6] =
    [("S-CSM", 3.44), ("S-BKI", 3.15), ("SEE-CSOM", 3.00), ("ConvBKI", 8.40), ("EBS", 1.65), (OURS, 5.39)];

/// Public implementations on SemanticKITTI 08, even scans mapped and odd ones asked: mIoU with misses as wrong, Acc. Their
/// own settings; EBS and DST had a made-up uncertainty.
pub(super) const PEERS_HELD_OUT: [(&str, [f64; 2]); 6] = [
    ("network, no map", [40.0, 84.0]),
    ("S-CSM", [40.2, 77.1]),
    ("S-BKI", [40.9, 82.3]),
    ("SEE-CSOM", [42.8, 85.2]),
    ("EBS", [41.7, 83.8]),
    ("DST", [41.9, 83.4]),
];
