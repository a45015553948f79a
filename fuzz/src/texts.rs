//! Parsers of text.

use e2bki::Config;
use e2bki_data::{ClassTable, VOID, parse};
use e2bki_segment::infer::Description;

/// Poses in every form.
pub(crate) fn poses(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        parse::pose_rows(text).ok();
        parse::indexed_poses(text).ok();
        parse::pandaset_poses(text).ok();
    }
}

/// Calibration in every form.
pub(crate) fn calibration(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        let keyed = parse::Keyed::parse(text);
        if let Ok(numbers) = keyed.numbers::<12>("Tr") {
            assert!(numbers.iter().all(|v| v.is_finite()));
            parse::rigid(&numbers).ok();
        }
        parse::numbers::<4>(text).ok();
        if let Ok(pose) = parse::transform(text, "os1_cloud_node-pylon_camera_node") {
            assert!(pose.translation().iter().all(|v| v.is_finite()));
        }
    }
}

/// A table of classes.
pub(crate) fn classes(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data)
        && let Ok(table) = ClassTable::from_toml(text, "fuzz")
        && let Ok(remap) = table.remap("kitti360")
    {
        for id in [0, 7, 65_535, u32::MAX] {
            let class = remap.class(id);
            assert!(class == VOID || (class as usize) < table.classes().len());
        }
    }
}

/// A configuration: what is accepted is written and read again unchanged.
pub(crate) fn config(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data)
        && let Ok(config) = Config::from_toml(text)
    {
        assert_eq!(Config::from_toml(&config.to_toml()).as_ref(), Ok(&config));
    }
}

/// What a network wants to see and what it says, beside an ONNX model.
pub(crate) fn description(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data)
        && let Ok(description) = Description::from_toml(text)
    {
        let again = description.to_toml().unwrap_or_else(|e| panic!("what was read cannot be written: {e}"));
        assert_eq!(Description::from_toml(&again).as_ref(), Ok(&description));
    }
}
