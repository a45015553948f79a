//! A point cloud of any known format: a file, or a message of a recording.

use e2bki::Pose;

use crate::error::{Flaw, Result};
use crate::files;
use crate::item::Item;
use crate::parse;

/// How a dataset's clouds are stored.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct CloudForm {
    /// Numbers per point of headerless files.
    pub(crate) bin_fields: usize,
    /// Metres per unit.
    pub(crate) scale: f64,
    /// Points are in world coordinates.
    pub(crate) world: bool,
}

impl CloudForm {
    /// x, y, z, reflectance in the sensor's frame, metres.
    pub(crate) const KITTI: Self = Self { bin_fields: 4, scale: 1.0, world: false };
}

/// Points in the sensor's frame, and labels where the file holds them.
pub(crate) struct Cloud {
    pub(crate) points: Vec<[f32; 3]>,
    pub(crate) labels: Option<Vec<u32>>,
    /// When each point was measured, seconds after the stamp.
    pub(crate) times: Option<Vec<f32>>,
    /// Which beam each point is from.
    pub(crate) rings: Option<Vec<u16>>,
}

pub(crate) fn read(item: &Item, form: &CloudForm, world_from_sensor: &Pose) -> Result<Cloud> {
    let path = match item {
        Item::File(path) => path,
        Item::Message(message) => {
            let data = message.read()?;
            let fields = message.cloud(&data)?.decode().map_err(|e| message.flaw(e))?;
            return Ok(Cloud {
                points: fields.points,
                labels: fields.labels,
                times: fields.times,
                rings: fields.rings,
            });
        }
    };
    let bytes = files::bytes(path)?;
    let flaw = |flaw: Flaw| flaw.of(path);
    let (points, labels) = match files::extension(path).to_ascii_lowercase().as_str() {
        "bin" => {
            let points = parse::points(&bytes, form.bin_fields).map_err(flaw)?;
            if !form.world && form.scale == 1.0 {
                return Ok(Cloud { points, labels: None, times: None, rings: None });
            }
            (points.into_iter().map(|p| p.map(f64::from)).collect(), None)
        }
        "pcd" => table(&parse::pcd(&bytes).map_err(flaw)?).map_err(flaw)?,
        "ply" => table(&parse::ply(&bytes).map_err(flaw)?).map_err(flaw)?,
        "las" => table(&parse::las(&bytes).map_err(flaw)?).map_err(flaw)?,
        "npy" => (array(&parse::npy(&bytes).map_err(flaw)?).map_err(flaw)?, None),
        other => return Err(flaw(Flaw::new(format!("`.{other}` is not a point cloud that can be read")))),
    };
    let sensor_from_world = world_from_sensor.inverse();
    let place = |p: [f64; 3]| {
        let p = p.map(|v| v * form.scale);
        let zero = p == [0.0; 3];
        (if form.world && !zero { sensor_from_world.apply(p) } else { p }).map(|v| v as f32)
    };
    Ok(Cloud { points: points.into_iter().map(place).collect(), labels, times: None, rings: None })
}

type Points = Vec<[f64; 3]>;

fn table(table: &parse::Table<'_>) -> std::result::Result<(Points, Option<Vec<u32>>), Flaw> {
    Ok((table.points()?, table.labels()))
}

fn array(array: &parse::Npy<'_>) -> std::result::Result<Points, Flaw> {
    let [_, columns @ 3..=usize::MAX] = array.shape[..] else {
        return Err(Flaw::new(format!("an array of points×3 (or more columns) expected, {:?} found", array.shape)));
    };
    let values: Vec<f64> = array.values().collect();
    Ok(values.chunks_exact(columns).map(|row| [row[0], row[1], row[2]]).collect())
}
