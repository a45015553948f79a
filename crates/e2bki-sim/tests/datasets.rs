//! Written datasets, read back by code that shares nothing with the writers: bytes and text parsed by hand.
//! Also: what was stopped resumes to the same bytes.

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;
    use std::path::{Path, PathBuf};

    use e2bki_sim::{Drift, DriveOptions, Format, RouteKind, Sensor, SimulateOptions, WorldKind, simulate};

    type Matrix = [[f64; 4]; 4];

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let path = std::env::temp_dir().join(format!("e2bki-sim-{name}-{}", std::process::id()));
            fs::remove_dir_all(&path).ok();
            Folder(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).ok();
        }
    }

    fn numbers(text: &str) -> Vec<f64> {
        text.split_whitespace().map(|n| n.parse().unwrap()).collect()
    }

    fn matrix(n: &[f64]) -> Matrix {
        let row = |k: usize| [n[4 * k], n[4 * k + 1], n[4 * k + 2], n[4 * k + 3]];
        [row(0), row(1), row(2), [0.0, 0.0, 0.0, 1.0]]
    }

    fn product(a: &Matrix, b: &Matrix) -> Matrix {
        let mut m = [[0.0; 4]; 4];
        for i in 0..4 {
            for j in 0..4 {
                m[i][j] = (0..4).map(|k| a[i][k] * b[k][j]).sum();
            }
        }
        m
    }

    fn inverse(a: &Matrix) -> Matrix {
        let mut m = [[0.0; 4]; 4];
        for i in 0..3 {
            for j in 0..3 {
                m[i][j] = a[j][i];
            }
            m[i][3] = -(0..3).map(|k| a[k][i] * a[k][3]).sum::<f64>();
        }
        m[3][3] = 1.0;
        m
    }

    fn apply(a: &Matrix, p: [f64; 3]) -> [f64; 3] {
        std::array::from_fn(|i| a[i][0] * p[0] + a[i][1] * p[1] + a[i][2] * p[2] + a[i][3])
    }

    fn scan(path: &Path) -> Vec<[f32; 4]> {
        let bytes = fs::read(path).unwrap();
        assert_eq!(bytes.len() % 16, 0);
        bytes
            .chunks(16)
            .map(|c| std::array::from_fn(|k| f32::from_le_bytes([c[4 * k], c[4 * k + 1], c[4 * k + 2], c[4 * k + 3]])))
            .collect()
    }

    fn labels(path: &Path) -> Vec<u32> {
        fs::read(path).unwrap().chunks(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect()
    }

    fn grey(path: &Path) -> image::GrayImage {
        let picture = image::open(path).unwrap();
        assert_eq!(picture.color(), image::ColorType::L8);
        picture.into_luma8()
    }

    fn keyed(path: &Path) -> BTreeMap<String, String> {
        let text = fs::read_to_string(path).unwrap();
        text.lines()
            .filter_map(|l| l.split_once(':'))
            .map(|(k, v)| (k.trim().to_string(), v.trim().to_string()))
            .collect()
    }

    fn options(world: WorldKind, sensor: Sensor, columns: usize, width: usize) -> DriveOptions {
        let mut options = DriveOptions::new(world, 77, sensor);
        options.columns = Some(columns);
        options.image_width = width;
        options
    }

    /// Share of points that fall on a pixel of their own id, among pixels whose 7×7 surroundings share one id.
    fn agreement(image: &image::GrayImage, points: impl Iterator<Item = (i64, i64, u32)>) -> (f64, usize) {
        let (w, h) = (i64::from(image.width()), i64::from(image.height()));
        let (mut same, mut all) = (0, 0);
        for (u, v, id) in points {
            if u < 3 || v < 3 || u >= w - 3 || v >= h - 3 {
                continue;
            }
            let at = |du: i64, dv: i64| image.get_pixel((u + du) as u32, (v + dv) as u32)[0];
            let here = at(0, 0);
            if (-3..=3).all(|dv| (-3..=3).all(|du| at(du, dv) == here)) {
                all += 1;
                same += usize::from(u32::from(here) == id);
            }
        }
        (same as f64 / all as f64, all)
    }

    #[test]
    fn a_rellis_drive_reads_back_and_its_labels_agree_with_its_images() {
        let out = Folder::new("rellis");
        let drive = options(WorldKind::Offroad, Sensor::Os1_64, 512, 640);
        let settings = SimulateOptions::drive(drive, 10, Format::Rellis3d, &out.0);
        let summary = simulate(&settings, |_, _| {}).unwrap();
        assert_eq!((summary.written, summary.kept), (10, 0));
        let root = out.0.join("Rellis-3D/00000");
        let info = numbers(
            &fs::read_to_string(out.0.join("Rellis_3D_cam_intrinsic/Rellis-3D/00000/camera_info.txt")).unwrap(),
        );
        assert_eq!(info.len(), 4);
        let yaml =
            fs::read_to_string(out.0.join("Rellis_3D_cam2lidar_20210224/Rellis_3D/00000/transforms.yaml")).unwrap();
        assert!(yaml.starts_with("os1_cloud_node-pylon_camera_node:\n"));
        let v: Vec<f64> = yaml.lines().filter_map(|l| l.split_once(": ")).map(|(_, v)| v.parse().unwrap()).collect();
        let [w, x, y, z, tx, ty, tz] = v[..] else { panic!("{yaml}") };
        let os1_from_camera = [
            [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y), tx],
            [2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x), ty],
            [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y), tz],
            [0.0, 0.0, 0.0, 1.0],
        ];
        let camera_from_os1 = inverse(&os1_from_camera);
        let poses = fs::read_to_string(root.join("poses.txt")).unwrap();
        assert_eq!(poses.lines().count(), 10);
        assert!(poses.lines().all(|l| numbers(l).len() == 12));
        let (mut total, mut right) = (0, 0.0);
        for k in [0_usize, 9] {
            let points = scan(&root.join(format!("os1_cloud_node_kitti_bin/{k:06}.bin")));
            let ids = labels(&root.join(format!("os1_cloud_node_semantickitti_label_id/{k:06}.label")));
            assert_eq!((points.len(), ids.len()), (64 * 512, 64 * 512));
            let missing = points.iter().filter(|p| p[..3] == [0.0; 3]).count();
            assert!(missing > 1000, "{missing} missing returns");
            assert!(points.iter().zip(&ids).all(|(p, id)| p[..3] != [0.0; 3] || *id == 0));
            let name = |f: &str, e: &str| {
                let prefix = format!("frame{k:06}-");
                let found = fs::read_dir(root.join(f)).unwrap().map(|e| e.unwrap().path());
                found
                    .filter(|p| p.extension().unwrap() == e)
                    .find(|p| p.file_name().unwrap().to_str().unwrap().starts_with(&prefix))
                    .unwrap()
            };
            let picture = image::open(name("pylon_camera_node", "jpg")).unwrap();
            assert_eq!((picture.width(), picture.height()), (640, 400));
            let image = grey(&name("pylon_camera_node_label_id", "png"));
            name("pylon_camera_node_label_color", "png");
            let seen = points.iter().zip(&ids).filter(|(p, _)| p[..3] != [0.0; 3]).filter_map(|(p, id)| {
                let c = apply(&camera_from_os1, [p[0].into(), p[1].into(), p[2].into()]);
                let (x, y) = (c[0] / c[2], c[1] / c[2]);
                (c[2] > 0.0 && x.abs() < 0.45 && y.abs() < 0.35).then(|| {
                    let (k1, k2, p1, p2) = (-0.134313, -0.025905, 0.002181, 0.00084);
                    let r2 = x * x + y * y;
                    let d = 1.0 + k1 * r2 + k2 * r2 * r2;
                    let u = x * d + 2.0 * p1 * x * y + p2 * (r2 + 2.0 * x * x);
                    let v = y * d + p1 * (r2 + 2.0 * y * y) + 2.0 * p2 * x * y;
                    ((info[0] * u + info[2]).floor() as i64, (info[1] * v + info[3]).floor() as i64, *id)
                })
            });
            let (share, count) = agreement(&image, seen);
            total += count;
            right += share * count as f64;
        }
        println!("RELLIS-3D: {:.2} % of {total} points away from edges agree", 100.0 * right / total as f64);
        assert!(total > 800 && right / total as f64 >= 0.99, "{:.4} of {total}", right / total as f64);
        let list = |n: &str| fs::read_to_string(out.0.join("Rellis-3D").join(n)).unwrap().lines().count();
        assert_eq!([list("pt_train.lst"), list("pt_val.lst"), list("pt_test.lst")], [7, 1, 2]);
    }

    #[test]
    fn a_kitti360_drive_reads_back_and_its_labels_agree_after_undoing_the_turn() {
        let out = Folder::new("kitti360");
        let drive = options(WorldKind::Urban, Sensor::Hdl64e, 1000, 704);
        simulate(&SimulateOptions::drive(drive, 3, Format::Kitti360, &out.0), |_, _| {}).unwrap();
        let name = "2013_05_28_drive_0000_sync";
        let calib = out.0.join("calibration");
        let cam_to_velo = matrix(&numbers(&fs::read_to_string(calib.join("calib_cam_to_velo.txt")).unwrap()));
        let cam_to_pose = matrix(&numbers(&keyed(&calib.join("calib_cam_to_pose.txt"))["image_00"]));
        let perspective = keyed(&calib.join("perspective.txt"));
        let p = numbers(&perspective["P_rect_00"]);
        let r = numbers(&perspective["R_rect_00"]);
        let size = numbers(&perspective["S_rect_00"]);
        let rect = matrix(&[r[0], r[1], r[2], 0.0, r[3], r[4], r[5], 0.0, r[6], r[7], r[8], 0.0]);
        let rows = |f: &str| -> Vec<Vec<f64>> {
            fs::read_to_string(out.0.join("data_poses").join(name).join(f)).unwrap().lines().map(numbers).collect()
        };
        let (poses, cams) = (rows("poses.txt"), rows("cam0_to_world.txt"));
        assert!(poses.iter().all(|r| r.len() == 13) && cams.iter().all(|r| r.len() == 17));
        let pose_from_velo = product(&cam_to_pose, &inverse(&cam_to_velo));
        // The two pose files tell the same story.
        for (a, b) in poses.iter().zip(&cams) {
            let world_from_rect = product(&product(&matrix(&a[1..]), &cam_to_pose), &inverse(&rect));
            for i in 0..3 {
                for j in 0..4 {
                    assert!((world_from_rect[i][j] - b[1 + 4 * i + j]).abs() < 1e-6);
                }
            }
        }
        let rect_from_velo = product(&rect, &inverse(&cam_to_velo));
        let frame = 2;
        // Motion since the previous frame, in LiDAR axes; the official tool spreads it over the turn.
        let back = product(&inverse(&matrix(&poses[frame][1..])), &matrix(&poses[frame - 1][1..]));
        let motion = product(&product(&inverse(&pose_from_velo), &back), &pose_from_velo);
        let yaw = motion[1][0].atan2(motion[0][0]);
        let points = scan(&out.0.join("data_3d_raw").join(name).join(format!("velodyne_points/data/{frame:010}.bin")));
        assert!(points.len() > 30_000 && points.iter().all(|p| p[..3] != [0.0; 3]));
        let folder = out.0.join("data_2d_semantics/train").join(name).join("image_00");
        let image = grey(&folder.join(format!("semantic/{frame:010}.png")));
        assert_eq!([f64::from(image.width()), f64::from(image.height())], size[..]);
        let instance = image::open(folder.join(format!("instance/{frame:010}.png"))).unwrap();
        assert_eq!(instance.color(), image::ColorType::L16);
        let instance = instance.into_luma16();
        assert!(image.pixels().zip(instance.pixels()).all(|(a, b)| u16::from(a[0]) == b[0] / 1000));
        // Per-scan ids are not part of the layout: take them from a second writer, SemanticKITTI's, without images.
        let twin = Folder::new("kitti360-twin");
        let mut same = SimulateOptions::drive(drive, 3, Format::SemanticKitti, &twin.0);
        same.images = false;
        same.sequences[0].drive.skew = true;
        simulate(&same, |_, _| {}).unwrap();
        let ids = labels(&twin.0.join(format!("sequences/00/labels/{frame:06}.label")));
        assert_eq!(ids.len(), points.len());
        let kitti360 = |id: u32| match id & 0xFFFF {
            40 | 60 => 7,
            48 => 8,
            50 => 11,
            51 => 13,
            80 => 17,
            81 => 20,
            70 | 71 => 21,
            72 => 22,
            30 | 254 => 24,
            10 | 252 => 26,
            18 | 258 => 27,
            other => other,
        };
        let seen = points.iter().zip(&ids).filter_map(|(q, id)| {
            let (x, y) = (f64::from(q[0]), f64::from(q[1]));
            let s = y.atan2(x) / std::f64::consts::TAU;
            let (sin, cos) = (s * yaw).sin_cos();
            let straight = [
                cos * x - sin * y + s * motion[0][3],
                sin * x + cos * y + s * motion[1][3],
                f64::from(q[2]) + s * motion[2][3],
            ];
            let c = apply(&rect_from_velo, straight);
            let (u, v) = (p[0] * c[0] / c[2] + p[2], p[5] * c[1] / c[2] + p[6]);
            (c[2] > 0.0).then(|| (u.round() as i64, v.round() as i64, kitti360(*id)))
        });
        // Traffic lights and signs share an id in SemanticKITTI but not here; they are thin and never far from edges.
        let (share, count) = agreement(&image, seen);
        println!("KITTI-360: {:.2} % of {count} points away from edges agree", 100.0 * share);
        assert!(count > 1500 && share >= 0.99, "{share:.4} of {count}");
        check_ply(&out.0.join("data_3d_semantics/train").join(name));
    }

    fn check_ply(folder: &Path) {
        for (kind, size) in [("static", 28), ("dynamic", 32)] {
            let bytes = fs::read(folder.join(kind).join("0000000000_0000000002.ply")).unwrap();
            let end = bytes.windows(11).position(|w| w == b"end_header\n").unwrap() + 11;
            let header = std::str::from_utf8(&bytes[..end]).unwrap();
            assert!(header.starts_with("ply\nformat binary_little_endian 1.0\n"));
            let count: usize = header.lines().find_map(|l| l.strip_prefix("element vertex ")).unwrap().parse().unwrap();
            assert_eq!(bytes.len() - end, count * size, "{kind}");
            for vertex in bytes[end..].chunks(size) {
                let integer = |k: usize| i32::from_le_bytes(vertex[k..k + 4].try_into().unwrap());
                assert_eq!(integer(19) / 1000, integer(15));
            }
        }
    }

    #[test]
    fn a_semantic_kitti_drive_reads_back_with_poses_of_camera_zero() {
        let out = Folder::new("semantickitti");
        let drive = options(WorldKind::Urban, Sensor::Hdl64e, 600, 352);
        simulate(&SimulateOptions::drive(drive, 6, Format::SemanticKitti, &out.0), |_, _| {}).unwrap();
        let folder = out.0.join("sequences/00");
        let calib = keyed(&folder.join("calib.txt"));
        let (tr, p2) = (matrix(&numbers(&calib["Tr"])), numbers(&calib["P2"]));
        let poses: Vec<Matrix> =
            fs::read_to_string(folder.join("poses.txt")).unwrap().lines().map(|l| matrix(&numbers(l))).collect();
        assert_eq!(fs::read_to_string(folder.join("times.txt")).unwrap().lines().nth(1), Some("1600000000.100000000"));
        assert!((0..3).all(|i| (0..4).all(|j| (poses[0][i][j] - f64::from(u8::from(i == j))).abs() < 1e-9)));
        // Road points of frame 5, moved to frame 0, lie on the road of frame 0.
        let first_from_last = product(&product(&inverse(&tr), &poses[5]), &tr);
        assert!(first_from_last[0][3] > 1.5, "the LiDAR moved forward by {:.2} m", first_from_last[0][3]);
        let road = |k: usize| -> Vec<[f64; 3]> {
            let points = scan(&folder.join(format!("velodyne/{k:06}.bin")));
            let ids = labels(&folder.join(format!("labels/{k:06}.label")));
            assert_eq!(points.len(), ids.len());
            let near = points.iter().zip(&ids).filter(|(p, id)| **id & 0xFFFF == 40 && p[0].hypot(p[1]) < 12.0);
            near.map(|(p, _)| [p[0].into(), p[1].into(), p[2].into()]).collect()
        };
        let (then, now) = (road(0), road(5));
        let mut gaps: Vec<f64> = now
            .iter()
            .step_by(37)
            .map(|p| apply(&first_from_last, *p))
            .filter(|p| p[0].hypot(p[1]) > 6.0 && p[0].hypot(p[1]) < 10.0)
            .map(|p| {
                let near = |q: &&[f64; 3]| (q[0] - p[0]).hypot(q[1] - p[1]) < 0.6;
                then.iter().filter(near).map(|q| (q[2] - p[2]).abs()).fold(f64::INFINITY, f64::min)
            })
            .collect();
        gaps.sort_by(f64::total_cmp);
        assert!(gaps.len() > 20 && gaps[gaps.len() / 2] < 0.04, "{gaps:?}");
        assert_eq!(p2.len(), 12);
        let cars = labels(&folder.join("labels/000000.label"));
        assert!(cars.iter().all(|id| id >> 16 == 0 || matches!(id & 0xFFFF, 10 | 18 | 30 | 50 | 252 | 254 | 258)));
    }

    #[test]
    fn a_loop_with_drift_has_true_poses_that_close_and_reported_ones_that_do_not() {
        let folder = Folder::new("loop");
        let drive = DriveOptions {
            columns: Some(16),
            route: RouteKind::Loop { length_m: 120.0 },
            drift: Drift { share: 0.01, angle_rad: 2.0_f64.to_radians() },
            ..DriveOptions::new(WorldKind::Urban, 6, Sensor::Hdl64e)
        };
        let mut plan = SimulateOptions::drive(drive, 260, Format::SemanticKitti, &folder.0);
        plan.images = false;
        simulate(&plan, |_, _| {}).unwrap();
        let sequence = folder.0.join("sequences/00");
        let truth = fs::read_to_string(sequence.join("true_poses.txt")).unwrap();
        let places: Vec<[f64; 3]> =
            truth.lines().filter(|l| !l.starts_with('#')).map(|l| numbers(l)[1..4].try_into().unwrap()).collect();
        // The vehicle looks where it goes: the quaternion is x, y, z, w.
        let ahead = |l: &str| {
            let q: [f64; 4] = numbers(l)[4..8].try_into().unwrap();
            let [x, y, z, w] = q;
            [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + z * w), 2.0 * (x * z - y * w)]
        };
        for (k, line) in truth.lines().filter(|l| !l.starts_with('#')).enumerate().take(259) {
            let step: [f64; 3] = std::array::from_fn(|i| places[k + 1][i] - places[k][i]);
            let length = step.iter().map(|v| v * v).sum::<f64>().sqrt();
            let along: f64 = ahead(line).iter().zip(step).map(|(a, b)| a * b).sum();
            assert!(length < 0.05 || along > 0.9 * length, "frame {k}: {:?} goes {step:?}", ahead(line));
        }
        let calib = keyed(&sequence.join("calib.txt"));
        let tr = matrix(&numbers(&calib["Tr"]));
        let reported: Vec<[f64; 3]> = fs::read_to_string(sequence.join("poses.txt"))
            .unwrap()
            .lines()
            .map(|l| apply(&product(&inverse(&tr), &product(&matrix(&numbers(l)), &tr)), [0.0; 3]))
            .collect();
        assert_eq!((places.len(), reported.len()), (260, 260));
        let far = |a: [f64; 3], b: [f64; 3]| (0..3).map(|i| (a[i] - b[i]).powi(2)).sum::<f64>().sqrt();
        assert!(far(places[0], reported[0]) < 1e-5);
        // The frame that comes back to where the drive began, after having been away.
        let most = places.iter().map(|p| far(*p, places[0])).fold(0.0, f64::max);
        assert!(most > 40.0, "{most}");
        let back = (130..260).min_by(|a, b| far(places[*a], places[0]).total_cmp(&far(places[*b], places[0]))).unwrap();
        let closes = far(places[back], places[0]);
        let drifted = far(reported[back], places[back]);
        assert!(closes < 0.8 && drifted > 0.3 && drifted < 12.0, "{back}: {closes} {drifted}");
    }

    #[test]
    fn a_stopped_drive_resumes_to_the_same_bytes_and_may_grow() {
        for format in [Format::Rellis3d, Format::Kitti360] {
            let (whole, parts) = (Folder::new(&format!("whole{format:?}")), Folder::new(&format!("parts{format:?}")));
            let drive = options(WorldKind::Urban, Sensor::Os1_64, 128, 96);
            simulate(&SimulateOptions::drive(drive, 4, format, &whole.0), |_, _| {}).unwrap();
            simulate(&SimulateOptions::drive(drive, 2, format, &parts.0), |_, _| {}).unwrap();
            let second = simulate(&SimulateOptions::drive(drive, 4, format, &parts.0), |_, _| {}).unwrap();
            assert_eq!((second.written, second.kept), (2, 2));
            let third = simulate(&SimulateOptions::drive(drive, 4, format, &parts.0), |_, _| {}).unwrap();
            assert_eq!((third.written, third.kept), (0, 4));
            assert_eq!(contents(&whole.0), contents(&parts.0));
        }
    }

    fn contents(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        let mut folders = vec![root.to_path_buf()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    found.insert(path.strip_prefix(root).unwrap().to_path_buf(), fs::read(&path).unwrap());
                }
            }
        }
        found
    }
}
