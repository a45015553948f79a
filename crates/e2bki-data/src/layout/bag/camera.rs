//! The camera of a recording, by its `CameraInfo`.

use e2bki::Pose;
use e2bki_bag::Transforms;

use super::survey::Survey;
use crate::camera::Camera;

/// The camera, or why there is none.
pub(super) fn camera(survey: &Survey, tree: &Transforms, image_topic: Option<&str>) -> Result<Camera, String> {
    let Some(topic) = image_topic else { return Err("the recording holds no camera images".into()) };
    let info = match &survey.camera {
        None => return Err(format!("no CameraInfo belongs to {topic}: looked for camera_info beside it")),
        Some(info) => info.as_ref().map_err(Clone::clone)?,
    };
    let scan = survey.scans.first().ok_or("there are no scans")?;
    // The images' own frame is the camera's, where the calibration names none.
    let own = survey.images.first().or(survey.image_labels.first()).map_or("", |image| &image.frame);
    let frame = if info.frame.is_empty() { own } else { &info.frame };
    let camera_from_sensor: Pose = tree
        .look_up(frame, &scan.frame, scan.stamp)
        .map_err(|why| format!("where the camera of {topic} is on the robot is not known: {why}"))?;
    Camera::from_info(info, topic, camera_from_sensor)
}
