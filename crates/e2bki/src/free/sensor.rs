//! What a spinning LiDAR looks like from inside: the elevation of every beam, and how often it fires in a turn.

use crate::error::{Error, Result};

/// Fewest and most beams a description may have.
pub const BEAMS: std::ops::RangeInclusive<usize> = 4..=512;
/// Fewest and most columns a description may have.
pub const COLUMNS: std::ops::RangeInclusive<usize> = 32..=8192;
/// Least distance between beams, degrees.
const LEAST_SPACING_DEG: f64 = 0.01;
/// The sensors known by name.
pub const SENSORS: [&str; 8] = ["hdl-32e", "hdl-64e", "os0-128", "os1-64", "os1-128", "os2-128", "vlp-16", "vlp-32c"];

/// Elevations of the beams of a VLP-32C, from its manual.
const VLP_32C: [f64; 32] = [
    15.0, 10.333, 7.0, 4.667, 3.333, 2.333, 1.667, 1.333, 1.0, 0.667, 0.333, 0.0, -0.333, -0.667, -1.0, -1.333, -1.667,
    -2.0, -2.333, -2.667, -3.0, -3.333, -3.667, -4.0, -4.667, -5.333, -6.148, -7.254, -8.843, -11.31, -15.639, -25.0,
];

/// Beams and columns of a LiDAR.
#[derive(Debug, Clone, PartialEq)]
pub struct Sensor {
    /// Elevation of every beam, radians, highest first.
    elevations: Vec<f32>,
    columns: usize,
}

impl Sensor {
    /// From the elevations of the beams in degrees, in any order, and the firings per turn.
    pub fn new(elevations_deg: &[f64], columns: usize) -> Result<Self> {
        let refuse =
            |found: String, allowed: &str| Err(Error::Argument { name: "sensor", found, allowed: allowed.into() });
        if !BEAMS.contains(&elevations_deg.len()) {
            return refuse(format!("a sensor of {} beams", elevations_deg.len()), "4 to 512 beams");
        }
        if !COLUMNS.contains(&columns) {
            return refuse(format!("a sensor of {columns} columns"), "32 to 8192 columns");
        }
        let mut sorted = elevations_deg.to_vec();
        sorted.sort_by(|a, b| b.total_cmp(a));
        if let Some(wrong) = sorted.iter().find(|v| v.is_nan() || v.abs() > 90.0) {
            return refuse(format!("a beam at {wrong}°"), "beams from −90° to 90°");
        }
        if let Some(pair) = sorted.windows(2).find(|pair| pair[0] - pair[1] < LEAST_SPACING_DEG) {
            return refuse(format!("two beams at {}° and {}°", pair[0], pair[1]), "beams 0.01° or more apart");
        }
        Ok(Self { elevations: sorted.iter().map(|v| v.to_radians() as f32).collect(), columns })
    }

    /// Beams at equal distances from `top_deg` to `bottom_deg`.
    pub fn uniform(beams: usize, top_deg: f64, bottom_deg: f64, columns: usize) -> Result<Self> {
        // Checked before a list of that length is made.
        let count = beams.clamp(0, BEAMS.end() + 1);
        let step = (top_deg - bottom_deg) / (count.max(2) - 1) as f64;
        let elevations: Vec<f64> = (0..count).map(|i| top_deg - step * i as f64).collect();
        Self::new(&elevations, columns)
    }

    /// One of [`SENSORS`], or a description `BEAMSxCOLUMNS:TOP:BOTTOM` of equally spaced beams, for example
    /// `64x1024:16.6:-16.6` (degrees). Columns of the named ones are fewer than the firings where these are uneven, so
    /// that few pixels stay empty; [`Self::with_columns`] changes them.
    pub fn named(name: &str) -> Result<Self> {
        match name {
            "hdl-32e" => Self::uniform(32, 10.67, -30.67, 1800),
            "hdl-64e" => {
                let upper = (0..32).map(|k| 2.0 - f64::from(k) / 3.0);
                let lower = (0..32).map(|k| -8.83 - 0.5 * f64::from(k));
                Self::new(&upper.chain(lower).collect::<Vec<_>>(), 1800)
            }
            "os0-128" => Self::uniform(128, 45.0, -45.0, 1024),
            "os1-64" => Self::uniform(64, 16.6, -16.6, 1024),
            "os1-128" => Self::uniform(128, 22.5, -22.5, 1024),
            "os2-128" => Self::uniform(128, 11.25, -11.25, 1024),
            "vlp-16" => Self::uniform(16, 15.0, -15.0, 1800),
            "vlp-32c" => Self::new(&VLP_32C, 1800),
            text => Self::from_text(text).unwrap_or_else(|| {
                Err(Error::Argument {
                    name: "sensor",
                    found: format!("`{text}`"),
                    allowed: format!("{}, or BEAMSxCOLUMNS:TOP:BOTTOM in degrees", SENSORS.join(", ")),
                })
            }),
        }
    }

    fn from_text(text: &str) -> Option<Result<Self>> {
        let mut parts = text.split(':');
        let (beams, columns) = parts.next()?.split_once('x')?;
        let (top, bottom) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        let (beams, columns) = (beams.parse().ok()?, columns.parse().ok()?);
        parts.next().is_none().then(|| Self::uniform(beams, top, bottom, columns))
    }

    /// The same beams with another number of columns.
    pub fn with_columns(mut self, columns: usize) -> Result<Self> {
        if !COLUMNS.contains(&columns) {
            let found = format!("a sensor of {columns} columns");
            return Err(Error::Argument { name: "sensor", found, allowed: "32 to 8192 columns".into() });
        }
        self.columns = columns;
        Ok(self)
    }

    /// Elevations of the beams, radians, highest first.
    pub fn elevations(&self) -> &[f32] {
        &self.elevations
    }

    /// Number of beams.
    pub fn beams(&self) -> usize {
        self.elevations.len()
    }

    /// Firings per turn.
    pub fn columns(&self) -> usize {
        self.columns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_a_sensor_and_others_are_told_what_there_is() {
        for name in SENSORS {
            let sensor = Sensor::named(name).unwrap();
            assert!(sensor.elevations().windows(2).all(|pair| pair[0] > pair[1]), "{name}");
            let beams: usize = name.rsplit('-').next().unwrap().trim_end_matches(['c', 'e']).parse().unwrap();
            assert_eq!(sensor.beams(), beams, "{name}");
        }
        assert_eq!(Sensor::named("64x1024:16.6:-16.6").unwrap(), Sensor::named("os1-64").unwrap());
        for wrong in [
            "",
            "os3",
            "64x1024",
            "64x1024:1:2:3",
            "0x1024:1:-1",
            "99999999999x1024:1:-1",
            "64x1:1:-1",
            "64x1024:NaN:-1",
            "64x1024:1:1",
            "64x1024:200:-1",
            "64x1024:inf:-inf",
        ] {
            let message = Sensor::named(wrong).unwrap_err().to_string();
            assert!(message.contains("sensor"), "{wrong}: {message}");
        }
        assert!(Sensor::named("os9").unwrap_err().to_string().contains("vlp-16"));
        assert!(Sensor::named("vlp-16").unwrap().with_columns(7).is_err());
    }
}
