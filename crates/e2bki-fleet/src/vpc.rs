//! The index of a city's files: a virtual point cloud (VPC), which QGIS opens as one layer. It is a STAC collection of items
//! with the extensions for point clouds and projections.

use e2bki::ClassSet;
use serde_json::{Value, json};

use crate::copc::CityBlock;

const EXTENSIONS: [&str; 2] = [
    "https://stac-extensions.github.io/pointcloud/v1.0.0/schema.json",
    "https://stac-extensions.github.io/projection/v1.1.0/schema.json",
];

/// The dimensions of every point: name, bytes, type.
const DIMENSIONS: [(&str, u8, &str); 10] = [
    ("X", 8, "floating"),
    ("Y", 8, "floating"),
    ("Z", 8, "floating"),
    ("Intensity", 2, "unsigned"),
    ("Classification", 1, "unsigned"),
    ("Red", 2, "unsigned"),
    ("Green", 2, "unsigned"),
    ("Blue", 2, "unsigned"),
    ("class", 2, "unsigned"),
    ("u", 2, "unsigned"),
];

/// The index as text.
pub(crate) fn text(blocks: &[CityBlock], classes: &ClassSet, wkt: Option<&str>) -> String {
    let features: Vec<Value> = blocks.iter().map(|block| feature(block, classes, wkt)).collect();
    format!("{:#}\n", json!({ "type": "FeatureCollection", "features": features }))
}

fn feature(block: &CityBlock, classes: &ClassSet, wkt: Option<&str>) -> Value {
    let CityBlock { low, high, .. } = block;
    let bbox = [low[0], low[1], low[2], high[0], high[1], high[2]];
    let [west, south, ..] = *low;
    let [east, north, ..] = *high;
    let outline = json!({
        "type": "Polygon",
        "coordinates": [[[west, south], [east, south], [east, north], [west, north], [west, south]]],
    });
    let schemas: Vec<Value> =
        DIMENSIONS.iter().map(|(name, size, kind)| json!({ "name": name, "size": size, "type": kind })).collect();
    json!({
        "type": "Feature",
        "stac_version": "1.0.0",
        "stac_extensions": EXTENSIONS,
        "id": format!("{}_{}", block.block[0], block.block[1]),
        // In the map's own coordinates: without a reference system nobody knows where on Earth it is.
        "geometry": outline,
        "bbox": bbox,
        "properties": {
            "datetime": "1970-01-01T00:00:00Z",
            "pc:count": block.points,
            "pc:type": "lidar",
            "pc:encoding": "application/vnd.laszip+copc",
            "pc:schemas": schemas,
            "pc:statistics": [],
            "proj:bbox": bbox,
            "proj:geometry": outline,
            "proj:wkt2": wkt.unwrap_or(""),
            "e2bki:classes": classes.names(),
        },
        "links": [],
        "assets": { "data": { "href": format!("./{}", block.file), "roles": ["data"] } },
    })
}
