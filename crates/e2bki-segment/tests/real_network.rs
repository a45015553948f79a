//! A real network on real images: the stored classes are found again.

#![allow(clippy::unwrap_used, clippy::panic)] // a test may fail loudly

mod common;

use e2bki_segment::infer::Segmenter;

#[test]
fn a_real_network_s_stored_classes_are_found_again() {
    let Some(data) = common::real_data() else {
        println!("skipped: no real data in E2BKI_DATA or ../shared/data");
        return;
    };
    let model = data.join("models/espnetv2_cityscapes_1408x384.onnx");
    let segmenter = Segmenter::open_with(&model, None).unwrap();
    assert_eq!(segmenter.size(), [1408, 384]);
    let images = data.join("kitti360/data_2d_raw/2013_05_28_drive_0008_sync/image_00/data_rect");
    for frame in [3000, 3024] {
        let picture = image::open(images.join(format!("{frame:010}.png"))).unwrap().into_rgb8();
        let stored =
            image::open(data.join(format!("kitti360/espnetv2_pred/{frame:010}_trainid.png"))).unwrap().into_luma8();
        let size = [picture.width() as usize, picture.height() as usize];
        let seen = segmenter.look(&picture).unwrap();
        let found = seen.channels(size);
        let same = found.iter().zip(stored.as_raw()).filter(|(a, b)| **a == u16::from(**b)).count();
        let share = same as f64 / found.len() as f64;
        println!("frame {frame}: {:.3} % of the pixels have the stored class", 100.0 * share);
        assert!(share >= 0.995, "{share}");
    }
}
