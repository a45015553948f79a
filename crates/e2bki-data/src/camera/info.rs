//! A camera by its `CameraInfo`.

use e2bki::Pose;
use e2bki_bag::messages::CameraInfo;

use super::{Brown, Camera, Fisheye, Lens, check_size};

impl Camera {
    /// The camera of a calibration, mounted on the sensor. The topic of its images says whether they are rectified.
    pub fn from_info(info: &CameraInfo, topic: &str, camera_from_sensor: Pose) -> Result<Self, String> {
        let size = check_size(info.size).map_err(|flaw| flaw.what)?;
        // Rectified images follow the projection matrix, raw ones the matrix of the camera and its lens.
        let rectified = topic.contains("rect") && info.p[0] > 0.0;
        if rectified {
            let mut camera = Self::from_projection(info.p, size, &camera_from_sensor).map_err(|flaw| flaw.what)?;
            camera.pixel_center = 0.0;
            return Ok(camera);
        }
        Ok(Self {
            size,
            focal: [info.k[0], info.k[4]],
            center: [info.k[2], info.k[5]],
            lens: lens(info)?,
            camera_from_sensor,
            pixel_center: 0.0,
        })
    }
}

fn lens(info: &CameraInfo) -> Result<Lens, String> {
    let d = &info.distortion;
    let term = |i: usize| d.get(i).copied().unwrap_or(0.0);
    if d.iter().all(|v| *v == 0.0) && info.model != "equidistant" {
        return Ok(Lens::default());
    }
    match info.model.as_str() {
        "plumb_bob" | "" if d.len() <= 5 => Ok(Brown::new(std::array::from_fn(term)).into()),
        // Thin-prism and tilt terms beyond the eighth are almost always zero; where not, the image would be wrong.
        "plumb_bob" | "rational_polynomial" | "" if d.iter().skip(8).all(|v| *v == 0.0) => {
            Ok(Brown::rational(std::array::from_fn(term)).into())
        }
        "equidistant" | "fisheye" => Ok(Lens::Fisheye(Fisheye::new(std::array::from_fn(term)))),
        other => Err(format!(
            "distortion model `{other}` with {} coefficients; plumb_bob, rational_polynomial (8) and equidistant are read. \
             Rectify the images with image_proc and give --image TOPIC",
            d.len()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(model: &str, distortion: &[f64]) -> CameraInfo {
        CameraInfo {
            frame: "camera".into(),
            size: [640, 480],
            model: model.into(),
            distortion: distortion.to_vec(),
            k: [500.0, 0.0, 320.0, 0.0, 500.0, 240.0, 0.0, 0.0, 1.0],
            p: [0.0; 12],
        }
    }

    #[test]
    fn the_models_of_ros_become_lenses() {
        let d = [0.1, -0.02, 0.001, -0.002, 0.003, 0.2, 0.01, 0.005];
        assert_eq!(lens(&info("plumb_bob", &d[..5])), Ok(Brown::new([0.1, -0.02, 0.001, -0.002, 0.003]).into()));
        assert_eq!(lens(&info("plumb_bob", &d[..4])), Ok(Brown::new([0.1, -0.02, 0.001, -0.002, 0.0]).into()));
        assert_eq!(lens(&info("rational_polynomial", &d)), Ok(Brown::rational(d).into()));
        assert_eq!(lens(&info("equidistant", &d[..4])), Ok(Lens::Fisheye(Fisheye::new([0.1, -0.02, 0.001, -0.002]))));
        assert_eq!(lens(&info("plumb_bob", &[0.0; 5])), Ok(Lens::default()));
        assert!(lens(&info("equidistant", &[0.0; 4])).is_ok_and(|lens| matches!(lens, Lens::Fisheye(_))));
        assert!(lens(&info("double_sphere", &d[..2])).unwrap_err().contains("double_sphere"));
    }
}
