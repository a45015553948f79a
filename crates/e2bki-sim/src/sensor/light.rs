//! Sun, sky and exposure of one image.
//! A pure function of the drive's settings and time, so any image can be made alone.

use serde::{Deserialize, Serialize};

use crate::maths::{Vec3, noise1, smoothstep, vec3};
use crate::world::Season;

/// How the light behaves over a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Lighting {
    /// Clear sky throughout.
    Sunny,
    /// Grey sky, no shadows.
    Overcast,
    /// Low, warm sun.
    Evening,
    /// Clouds come and go; exposure follows late.
    Changing,
}

/// Light at one moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Light {
    /// Unit direction towards the sun.
    pub sun: Vec3,
    /// Colour and strength of direct sunlight.
    pub sun_color: [f32; 3],
    /// Colour and strength of light from the sky.
    pub sky_light: [f32; 3],
    /// Colour of the sky overhead.
    pub zenith: [f32; 3],
    /// Colour of the sky at the horizon, and of haze.
    pub horizon: [f32; 3],
    /// Image gain.
    pub exposure: f32,
    /// How fast haze thickens, 1/m.
    pub haze: f32,
}

impl Light {
    /// The light of a drive at `time` seconds.
    pub(crate) fn at(lighting: Lighting, season: Season, seed: u64, time: f64) -> Light {
        let noon = match season {
            Season::Summer => 0.95,
            Season::Spring => 0.80,
            Season::Autumn => 0.55,
            Season::Winter => 0.40,
        };
        let (height, cloud): (f64, f64) = match lighting {
            Lighting::Sunny => (noon, 0.0),
            Lighting::Overcast => (noon, 1.0),
            Lighting::Evening => (0.24, 0.1),
            Lighting::Changing => (noon * 0.8, smoothstep(-0.25, 0.35, noise1(seed ^ 0xa1, time / 14.0))),
        };
        let azimuth = std::f64::consts::PI * noise1(seed ^ 0xa2, 0.5) + time * 1e-4;
        let sun = vec3(height.cos() * azimuth.cos(), height.cos() * azimuth.sin(), height.sin());
        let warm = (1.0 - smoothstep(0.15, 0.7, height)) as f32;
        let direct = (1.9 * (1.0 - cloud)) as f32;
        let grey = cloud as f32;
        // Exposure adapts to the light a little late and not fully.
        let past = if lighting == Lighting::Changing {
            smoothstep(-0.25, 0.35, noise1(seed ^ 0xa1, (time - 1.5) / 14.0)) as f32
        } else {
            grey
        };
        let drift = (0.12 * noise1(seed ^ 0xa3, time / 5.0)) as f32;
        Light {
            sun,
            sun_color: [direct, direct * (0.95 - 0.22 * warm), direct * (0.86 - 0.42 * warm)],
            sky_light: [0.30 + 0.62 * grey, 0.36 + 0.56 * grey, 0.46 + 0.42 * grey],
            zenith: [0.16 + 0.50 * grey, 0.36 + 0.34 * grey, 0.80 - 0.06 * grey],
            horizon: [0.62 + 0.16 * warm + 0.1 * grey, 0.72 - 0.04 * warm + 0.05 * grey, 0.86 - 0.2 * warm],
            exposure: (1.0 + 0.35 * past) * (1.0 + drift),
            haze: 0.0012 + 0.0012 * grey,
        }
    }
}
