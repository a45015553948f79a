//! Where on Earth a map is, and where that is on the maps of the web.

use std::f64::consts::PI;

use crate::error::{Error, Result};

/// WGS 84.
const EQUATOR_M: f64 = 6_378_137.0;
const FLATTENING: f64 = 1.0 / 298.257_223_563;
const E2: f64 = FLATTENING * (2.0 - FLATTENING);

/// Beyond this latitude the maps of the web have nothing.
const MOST_LATITUDE: f64 = 85.0;

/// Where the map's (0, 0) is and which way it looks: coordinates are metres in the plane that touches the Earth there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Origin {
    /// Degrees.
    pub latitude: f64,
    /// Degrees.
    pub longitude: f64,
    /// Direction of the map's x axis, degrees clockwise from north: 90 if x is east and y is north.
    pub heading: f64,
}

impl Default for Origin {
    /// Nobody knows: where the equator meets the zero meridian, x is east.
    fn default() -> Self {
        Self { latitude: 0.0, longitude: 0.0, heading: 90.0 }
    }
}

impl std::str::FromStr for Origin {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let wrong = || {
            format!(
                "`{text}` is not an origin: give latitude,longitude in degrees, as in 48.137,11.575, and the direction of \
                 the map's x axis, degrees clockwise from north, if that is not east, as in 48.137,11.575,30"
            )
        };
        let numbers: Vec<f64> =
            text.split(',').map(|v| v.trim().parse().map_err(|_| wrong())).collect::<std::result::Result<_, _>>()?;
        let (latitude, longitude, heading) = match numbers.as_slice() {
            [latitude, longitude] => (*latitude, *longitude, 90.0),
            [latitude, longitude, heading] => (*latitude, *longitude, *heading),
            _ => return Err(wrong()),
        };
        let known = latitude.abs() <= MOST_LATITUDE && longitude.abs() <= 180.0 && heading.is_finite();
        if known { Ok(Self { latitude, longitude, heading }) } else { Err(wrong()) }
    }
}

/// Position from the middle of the Earth, metres.
fn from_centre(latitude: f64, longitude: f64) -> [f64; 3] {
    let ((sin, cos), (east, toward)) = (latitude.to_radians().sin_cos(), longitude.to_radians().sin_cos());
    let radius = EQUATOR_M / (1.0 - E2 * sin * sin).sqrt();
    [radius * cos * toward, radius * cos * east, radius * (1.0 - E2) * sin]
}

impl Origin {
    /// The map's x and y of a place on the ground.
    pub(crate) fn in_map(self, latitude: f64, longitude: f64) -> [f64; 2] {
        let (here, there) = (from_centre(self.latitude, self.longitude), from_centre(latitude, longitude));
        let d: [f64; 3] = std::array::from_fn(|i| there[i] - here[i]);
        let ((sin, cos), (s, c)) = (self.latitude.to_radians().sin_cos(), self.longitude.to_radians().sin_cos());
        let east = c * d[1] - s * d[0];
        let north = cos * d[2] - sin * (c * d[0] + s * d[1]);
        let (h, g) = self.heading.to_radians().sin_cos();
        [h * east + g * north, h * north - g * east]
    }

    /// Latitude and longitude of a place in the map.
    pub(crate) fn on_earth(self, [x, y]: [f64; 2]) -> [f64; 2] {
        let sin = self.latitude.to_radians().sin();
        let curve = 1.0 - E2 * sin * sin;
        let (along, across) = (EQUATOR_M * (1.0 - E2) / curve.powf(1.5), EQUATOR_M / curve.sqrt());
        let (h, g) = self.heading.to_radians().sin_cos();
        let mut place = [self.latitude, self.longitude];
        // What is missing shrinks a hundred times with every step, even 50 km away.
        for _ in 0..6 {
            let [u, v] = self.in_map(place[0], place[1]);
            let (dx, dy) = (x - u, y - v);
            let (east, north) = (h * dx - g * dy, g * dx + h * dy);
            place[0] += (north / along).to_degrees();
            place[1] += (east / (across * place[0].to_radians().cos())).to_degrees();
        }
        place
    }

    /// Metres of a pixel at a zoom there.
    pub(crate) fn pixel_m(self, zoom: u8) -> f64 {
        2.0 * PI * EQUATOR_M * self.latitude.to_radians().cos() / (256.0 * f64::from(1_u32 << zoom.min(30)))
    }

    /// Refuses what is farther away than maps of the web reach.
    pub(crate) fn check(self, corner: [f64; 2]) -> Result<()> {
        let far = corner.iter().any(|v| v.abs() > 50_000.0);
        if far || self.on_earth(corner)[0].abs() > MOST_LATITUDE {
            return Err(Error::Refused(format!(
                "the map reaches to {corner:?} m: a plane that touches the Earth at its (0, 0) is good for 50 km around; \
                 move the map, or give an --origin nearer to it"
            )));
        }
        Ok(())
    }
}

/// Latitude and longitude in whole tiles of a zoom, from the north-west corner of the world.
pub(crate) fn to_web([latitude, longitude]: [f64; 2], zoom: u8) -> [f64; 2] {
    let world = f64::from(1_u32 << zoom.min(30));
    let y = (1.0 - latitude.to_radians().tan().asinh() / PI) / 2.0;
    [(longitude + 180.0) / 360.0 * world, y * world]
}

/// The latitude and longitude of a place that [`to_web`] gave.
pub(crate) fn from_web([x, y]: [f64; 2], zoom: u8) -> [f64; 2] {
    let world = f64::from(1_u32 << zoom.min(30));
    [(PI * (1.0 - 2.0 * y / world)).sinh().atan().to_degrees(), x / world * 360.0 - 180.0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_come_back_and_known_ones_are_where_they_are() {
        for origin in
            ["48.137,11.575", "-33.9, 151.2, 30", "0,0", "69.6,18.9,-120"].map(|text| text.parse::<Origin>().unwrap())
        {
            for at in [[0.0, 0.0], [1.0, 0.0], [-700.0, 900.0], [20_000.0, -15_000.0]] {
                let [latitude, longitude] = origin.on_earth(at);
                let back = origin.in_map(latitude, longitude);
                assert!((0..2).all(|i| (back[i] - at[i]).abs() < 1e-6), "{origin:?} {at:?} {back:?}");
                let web = to_web([latitude, longitude], 19);
                let again = from_web(web, 19);
                assert!((again[0] - latitude).abs() < 1e-10 && (again[1] - longitude).abs() < 1e-10);
            }
        }
        // A minute of latitude is a nautical mile, give or take 10 m; north is y unless the map was turned.
        let here: Origin = "45,7".parse().unwrap();
        let [x, y] = here.in_map(45.0 + 1.0 / 60.0, 7.0);
        assert!(x.abs() < 1e-6 && (y - 1852.0).abs() < 10.0, "{x} {y}");
        let turned: Origin = "45,7,0".parse().unwrap();
        let [x, y] = turned.in_map(45.0 + 1.0 / 60.0, 7.0);
        assert!(y.abs() < 1e-6 && (x - 1852.0).abs() < 10.0, "{x} {y}");
        // The tile of Munich's middle, as every map of the web has it.
        let [x, y] = to_web([48.137, 11.575], 12);
        assert_eq!([x as u32, y as u32], [2179, 1421]);
        for bad in ["", "48", "a,b", "91,0", "48,11,x", "1,2,3,4", "nan,0"] {
            assert!(bad.parse::<Origin>().is_err(), "{bad}");
        }
    }
}
