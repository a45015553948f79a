//! Names and colours of the datasets' own label ids, for reports and pictures.

use std::collections::BTreeMap;

#[derive(serde::Deserialize)]
struct Entry {
    name: String,
    color: [u8; 3],
}

/// Names and colours of ids.
#[derive(Debug, Clone, Default)]
pub struct IdNames {
    entries: BTreeMap<u32, (String, [u8; 3])>,
}

impl IdNames {
    /// Name of an id.
    pub fn name(&self, id: u32) -> Option<&str> {
        self.entries.get(&id).map(|(name, _)| name.as_str())
    }

    /// Colour of an id.
    pub fn color(&self, id: u32) -> Option<[u8; 3]> {
        self.entries.get(&id).map(|(_, color)| *color)
    }

    /// Number of known ids.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

/// The ids of a space: `rellis3d`, `kitti360`, `semantickitti` or `cityscapes`; empty for any other.
pub fn id_names(space: &str) -> IdNames {
    let text = match space {
        "rellis3d" => include_str!("ids_rellis3d.toml"),
        "kitti360" => include_str!("ids_kitti360.toml"),
        "semantickitti" => include_str!("ids_semantickitti.toml"),
        "cityscapes" => include_str!("ids_cityscapes.toml"),
        _ => return IdNames::default(),
    };
    let entries: BTreeMap<String, Entry> = toml::from_str(text).unwrap_or_default();
    let entry = |(id, e): (String, Entry)| Some((id.parse().ok()?, (e.name, e.color)));
    IdNames { entries: entries.into_iter().filter_map(entry).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_read() {
        assert_eq!(id_names("rellis3d").name(31), Some("puddle"));
        assert_eq!(id_names("kitti360").len(), 45);
        assert_eq!(id_names("semantickitti").name(252), Some("moving-car"));
        assert_eq!(id_names("semantickitti").color(10), Some([100, 150, 245]));
        assert_eq!(id_names("cityscapes").name(13), Some("car"));
        assert!(id_names("moon").is_empty());
    }
}
