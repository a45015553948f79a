//! Findings: what looks wrong, and what to do.

use e2bki_data::{Dataset, VOID};

use super::facts::Facts;

/// All that looks wrong.
pub(crate) fn findings(dataset: &Dataset, facts: &Facts) -> Vec<String> {
    let mut found = Vec::new();
    scan(facts, &mut found);
    axes(facts, &mut found);
    poses(dataset, facts, &mut found);
    camera(dataset, facts, &mut found);
    labels(facts, &mut found);
    found
}

fn scan(facts: &Facts, found: &mut Vec<String>) {
    let counts = &facts.frame.counts;
    if facts.frame.points.is_empty() {
        found.push(format!("the scan has no points ({} slots, all without return)", counts.slots));
        return;
    }
    let [_, _, median, _, most] = facts.ranges;
    if median > 300.0 {
        found.push(format!(
            "half of the points are farther than {median:.0} m: millimetres taken for metres? (a plain folder can say `units = \"mm\"`)"
        ));
    } else if most < 2.0 {
        found.push(format!("the farthest point is {most:.2} m away: are these metres, or was the scan normalised?"));
    }
    if counts.non_finite * 20 > counts.slots {
        found.push(format!("{} of {} points are NaN or infinite", counts.non_finite, counts.slots));
    }
}

/// The ground is the fullest layer; it should lie across z and below the sensor.
fn axes(facts: &Facts, found: &mut Vec<String>) {
    let [x, y, z] = facts.layers;
    let (axis, (share, at)) = if x.0 > y.0 { ("x", x) } else { ("y", y) };
    if share > 0.25 && share > 1.5 * z.0 {
        found.push(format!(
            "the ground seems to lie across {axis} (at {at:.1} m), not z: are the points in camera axes? z should point up"
        ));
    } else if z.0 > 0.25 && z.1 > 0.5 {
        found.push(format!("the ground seems to be {:.1} m above the sensor: does z point down?", z.1));
    }
}

fn poses(dataset: &Dataset, facts: &Facts, found: &mut Vec<String>) {
    let (way, step) = facts.way;
    if dataset.len() >= 3 && way < 0.05 {
        found.push("all poses are the same: every scan would land in the same place".to_string());
    }
    if step > 30.0 {
        found.push(format!("one step between poses is {step:.0} m long: are they metres, and of these frames?"));
    }
    if let Some((with, without, other)) = facts.aligned
        && with > 1.2 * without
        && with > 0.05
    {
        found.push(format!(
            "scan {other} lies worse on this one by the poses ({with:.3} m) than without them ({without:.3} m): wrong way \
             round, of another sensor, or of other frames?"
        ));
    }
    if !dataset.skipped().without_pose.is_empty() && dataset.skipped().without_pose.len() > dataset.len() {
        found.push(format!("{} frames have no pose, only {} do", dataset.skipped().without_pose.len(), dataset.len()));
    }
}

fn camera(dataset: &Dataset, facts: &Facts, found: &mut Vec<String>) {
    if let Some(Err(why)) = &facts.image_size {
        found.push(why.clone());
    }
    let Ok(camera) = dataset.camera() else {
        if facts.frame.image.is_some() {
            found.push("there are images, but no calibration to find points in them".to_string());
        }
        return;
    };
    let [width, height] = camera.size;
    if let Some(Ok(size)) = facts.image_size
        && size != camera.size
    {
        found.push(format!("the image is {}×{}, but the calibration is for {width}×{height}", size[0], size[1]));
    }
    for (i, (name, side)) in [("across", width), ("down", height)].into_iter().enumerate() {
        let share = camera.center[i] / side as f64;
        if !(0.2..=0.8).contains(&share) {
            found.push(format!(
                "the camera's principal point is {:.0} px {name} in an image of {side}: calibrated for another size?",
                camera.center[i]
            ));
        }
    }
    let points = facts.frame.points.len();
    if facts.in_image() * 200 < points && points > 0 {
        let way = if facts.in_image_inverted > 10 * facts.in_image().max(1) {
            format!("; {} would with the camera's transform the other way round", facts.in_image_inverted)
        } else {
            String::new()
        };
        found.push(format!("only {} of {points} points fall in the image{way}", facts.in_image()));
    }
}

fn labels(facts: &Facts, found: &mut Vec<String>) {
    let Some((who, labels)) = &facts.labels else { return };
    let share = facts.void_share().unwrap_or(0.0);
    if labels.iter().all(|l| *l == VOID) {
        found.push(format!("{who} gives no point a class: other ids than expected? (--semantic-ids, --classes)"));
    } else if share > 0.9 {
        found.push(format!("{who} gives {:.1} % of the points no class", 100.0 * share));
    }
}
