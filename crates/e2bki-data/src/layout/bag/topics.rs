//! Which topics of a recording are used for what.

use e2bki_bag::{Bag, Topic};

use crate::dataset::OpenOptions;
use crate::error::{Error, Result};
use crate::item::{CLOUD, COMPRESSED, IMAGE};

pub(super) const TF: &str = "tf2_msgs/msg/TFMessage";
pub(super) const OLD_TF: &str = "tf/msg/tfMessage";
pub(super) const ODOMETRY: &str = "nav_msgs/msg/Odometry";
pub(super) const POSE: &str = "geometry_msgs/msg/PoseStamped";
pub(super) const POSE_COVARIANCE: &str = "geometry_msgs/msg/PoseWithCovarianceStamped";
pub(super) const PATH: &str = "nav_msgs/msg/Path";
pub(super) const CAMERA_INFO: &str = "sensor_msgs/msg/CameraInfo";
pub(super) const LABEL_INFO: &str = "vision_msgs/msg/LabelInfo";

/// Types that say where a robot was, the most usual first.
pub(super) const POSES: [&str; 4] = [ODOMETRY, POSE, POSE_COVARIANCE, PATH];

/// Numbers of the topics that are used.
#[derive(Debug)]
pub(super) struct Chosen {
    pub(super) cloud: usize,
    pub(super) image: Option<usize>,
    /// Calibration of the image's camera.
    pub(super) camera: Option<usize>,
    /// Labels of the image's pixels.
    pub(super) image_labels: Option<usize>,
}

/// The number of a topic by its name; a leading slash may be left out.
pub(super) fn find(bag: &Bag, name: &str) -> Option<usize> {
    let bare = |name: &str| name.trim_start_matches('/').to_string();
    // A topic of two types, as after an update of a message, is two: the one with more messages is meant.
    let found = bag.topics().iter().enumerate().filter(|(_, topic)| bare(&topic.name) == bare(name));
    found.max_by_key(|(_, topic)| topic.count).map(|(number, _)| number)
}

/// A topic that was asked for, which must be of one of some types.
pub(super) fn wanted(bag: &Bag, name: &str, kinds: &[&str], option: &str) -> Result<usize> {
    let number = find(bag, name)
        .ok_or_else(|| Error::Request(format!("{option}: there is no topic {name}; there are {}", listed(bag))))?;
    let topic = &bag.topics()[number];
    if !kinds.contains(&topic.kind.as_str()) {
        let what = format!("{option}: {name} holds {}; one of {} is needed", topic.kind, kinds.join(", "));
        return Err(Error::Request(what));
    }
    Ok(number)
}

/// All topics, in words.
pub(super) fn listed(bag: &Bag) -> String {
    let line = |topic: &Topic| format!("{} ({}, {})", topic.name, topic.kind, topic.count);
    bag.topics().iter().map(line).collect::<Vec<_>>().join("; ")
}

/// Whether a name says that its images are labels.
fn of_labels(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["label", "semantic", "segment"].iter().any(|word| name.contains(word))
}

/// Whether a name says that its images are no pictures.
fn of_something_else(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["depth", "mask", "disparity", "theora", "probab"].iter().any(|word| name.contains(word))
}

/// The topic of a camera's calibration beside its images, as `/front/camera_info` beside `/front/image_raw/compressed`.
fn calibration(bag: &Bag, image: &str) -> Option<usize> {
    let all: Vec<usize> = (0..bag.topics().len()).filter(|i| bag.topics()[*i].kind == CAMERA_INFO).collect();
    let mut space = image;
    while let Some((outer, _)) = space.rsplit_once('/') {
        space = outer;
        let name = format!("{space}/camera_info");
        if let Some(found) = all.iter().find(|i| bag.topics()[**i].name == name) {
            return Some(*found);
        }
    }
    if all.len() == 1 { Some(all[0]) } else { None }
}

/// Chooses the topics; what was not asked for and could have been otherwise is said.
pub(super) fn choose(bag: &Bag, options: &OpenOptions, notes: &mut Vec<String>) -> Result<Chosen> {
    let topics = bag.topics();
    let of = |kinds: &[&str]| -> Vec<usize> {
        (0..topics.len()).filter(|i| kinds.contains(&topics[*i].kind.as_str()) && topics[*i].count > 0).collect()
    };
    let cloud = match &options.topic {
        Some(name) => wanted(bag, name, &[CLOUD], "--topic")?,
        None => fullest(bag, &of(&[CLOUD]), notes)?,
    };
    let images = of(&[IMAGE, COMPRESSED]);
    let image = match &options.image_topic {
        Some(name) => Some(wanted(bag, name, &[IMAGE, COMPRESSED], "--image")?),
        None => {
            let pictures = images.iter().filter(|i| {
                let name = &topics[**i].name;
                !of_labels(name) && !of_something_else(name)
            });
            // One whose camera is known, if there is such a one.
            pictures.copied().min_by_key(|i| (calibration(bag, &topics[*i].name).is_none(), *i))
        }
    };
    let image_labels = images.into_iter().find(|i| of_labels(&topics[*i].name) && !of_something_else(&topics[*i].name));
    let camera = image.or(image_labels).and_then(|i| calibration(bag, &topics[i].name));
    Ok(Chosen { cloud, image, camera, image_labels })
}

/// The cloud topic with the most bytes: the main sensor, where there are several.
fn fullest(bag: &Bag, clouds: &[usize], notes: &mut Vec<String>) -> Result<usize> {
    let mut bytes = vec![0_u64; bag.topics().len()];
    for entry in bag.entries() {
        bytes[entry.topic] += entry.stored_bytes();
    }
    let best = clouds.iter().copied().max_by_key(|i| (bytes[*i], std::cmp::Reverse(*i)));
    let Some(best) = best else {
        // What was damaged or cut off may be why.
        let notes: String = bag.notes().iter().map(|note| format!("; {note}")).collect();
        return Err(Error::Missing(format!(
            "{} holds no clouds ({CLOUD}), so there is nothing to map; its topics: {}{notes}",
            bag.path().display(),
            listed(bag)
        )));
    };
    if clouds.len() > 1 {
        let others: Vec<String> = clouds
            .iter()
            .filter(|i| **i != best)
            .map(|i| format!("{} ({})", bag.topics()[*i].name, bag.topics()[*i].count))
            .collect();
        notes.push(format!(
            "the clouds of {} are used, which has the most data; --topic chooses another: {}",
            bag.topics()[best].name,
            others.join(", ")
        ));
    }
    Ok(best)
}
