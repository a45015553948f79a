//! Colours of materials: base colour, season, object tint and texture noise.
//! Texture fades out with distance, so that far pixels do not flicker from frame to frame.

use crate::maths::{Vec3, noise2, noise3};
use crate::scene::{Hit, Material};
use crate::world::Season;

type Color = [f32; 3];

fn mixed(a: Color, b: Color, t: f32) -> Color {
    [a[0] + (b[0] - a[0]) * t, a[1] + (b[1] - a[1]) * t, a[2] + (b[2] - a[2]) * t]
}

fn scaled(a: Color, k: f32) -> Color {
    a.map(|c| c * k)
}

fn from_tint(palette: &[Color], tint: u8) -> Color {
    palette[usize::from(tint) % palette.len()]
}

const PAINTS: [Color; 8] = [
    [0.72, 0.72, 0.72],
    [0.08, 0.08, 0.09],
    [0.45, 0.46, 0.48],
    [0.55, 0.08, 0.07],
    [0.10, 0.18, 0.42],
    [0.20, 0.22, 0.22],
    [0.60, 0.58, 0.50],
    [0.09, 0.26, 0.16],
];
const CLOTHES: [Color; 6] = [
    [0.15, 0.18, 0.30],
    [0.50, 0.12, 0.12],
    [0.12, 0.12, 0.12],
    [0.60, 0.58, 0.52],
    [0.15, 0.35, 0.25],
    [0.55, 0.42, 0.10],
];
const WALLS: [Color; 6] = [
    [0.74, 0.70, 0.60],
    [0.62, 0.42, 0.33],
    [0.80, 0.78, 0.74],
    [0.66, 0.60, 0.46],
    [0.50, 0.50, 0.50],
    [0.72, 0.62, 0.52],
];
const SIGNS: [Color; 5] =
    [[0.80, 0.10, 0.10], [0.10, 0.20, 0.65], [0.85, 0.80, 0.15], [0.85, 0.85, 0.85], [0.10, 0.45, 0.20]];

fn grass(season: Season, tall: bool) -> Color {
    match (season, tall) {
        (Season::Spring, _) => [0.22, 0.40, 0.09],
        (Season::Summer, false) => [0.23, 0.34, 0.10],
        (Season::Summer, true) => [0.33, 0.36, 0.13],
        (Season::Autumn, _) => [0.40, 0.36, 0.17],
        (Season::Winter, _) => [0.47, 0.42, 0.28],
    }
}

fn leaves(season: Season, tint: u8) -> Color {
    let t = f32::from(tint) / 255.0;
    match season {
        Season::Spring => mixed([0.20, 0.40, 0.08], [0.33, 0.46, 0.12], t),
        Season::Summer => mixed([0.09, 0.22, 0.05], [0.19, 0.32, 0.07], t),
        Season::Autumn => mixed([0.45, 0.30, 0.06], [0.42, 0.16, 0.05], t),
        Season::Winter => mixed([0.28, 0.20, 0.12], [0.22, 0.17, 0.12], t),
    }
}

/// Surface colour (linear, 0 to 1) at a hit. `fine` fades texture out with distance, 1 near to 0 far.
pub(super) fn albedo(hit: &Hit, p: Vec3, season: Season, fine: f32) -> Color {
    use Material::*;
    let grain = |scale: f64| noise2(0x5eed, p.x / scale, p.y / scale) as f32;
    let lump = |scale: f64| noise3(0x1eaf, p.x / scale, p.y / scale, p.z / scale) as f32;
    let speck = if fine > 0.05 { fine * lump(0.035) } else { 0.0 };
    match hit.material {
        Sky => [0.5, 0.6, 0.8],
        Water => [0.10, 0.11, 0.11],
        Asphalt => scaled([0.21, 0.21, 0.215], 1.0 + 0.10 * grain(2.7) + 0.16 * speck),
        LanePaint => scaled([0.72, 0.72, 0.70], 1.0 + 0.12 * grain(0.4)),
        Concrete => {
            let joint = (p.x.rem_euclid(1.2) < 0.02 || p.y.rem_euclid(1.2) < 0.02) && fine > 0.3;
            scaled([0.46, 0.45, 0.42], (1.0 + 0.08 * grain(1.3) + 0.10 * speck) * if joint { 0.7 } else { 1.0 })
        }
        Gravel => scaled([0.47, 0.43, 0.36], 1.0 + 0.14 * grain(0.9) + 0.35 * speck),
        Dirt => scaled([0.36, 0.26, 0.17], 1.0 + 0.18 * grain(0.7) + 0.25 * speck),
        Mud => scaled([0.20, 0.15, 0.10], 1.0 + 0.15 * grain(0.5) + 0.15 * speck),
        GrassShort | GrassTall | GrassTuft => {
            let dry = mixed(grass(season, hit.material != GrassShort), [0.50, 0.44, 0.22], 0.28 + 0.28 * grain(3.1));
            let blade =
                if fine > 0.05 { fine * noise3(0xb1ade, p.x / 0.03, p.y / 0.03, p.z / 0.12) as f32 } else { 0.0 };
            scaled(dry, 1.0 + 0.16 * grain(0.6) + 0.42 * blade)
        }
        Leaf | BushLeaf => scaled(leaves(season, hit.tint), 1.0 + 0.25 * lump(0.5) + 0.5 * speck),
        Needle => scaled(
            mixed([0.06, 0.15, 0.06], [0.10, 0.20, 0.09], f32::from(hit.tint) / 255.0),
            1.0 + 0.25 * lump(0.4) + 0.5 * speck,
        ),
        Bark => scaled([0.24, 0.19, 0.14], 1.0 + 0.5 * speck),
        MetalPole | MetalFence => scaled([0.42, 0.44, 0.45], 1.0 + 0.1 * lump(0.2)),
        WoodPole | WoodFence => scaled([0.36, 0.27, 0.18], 1.0 + 0.2 * lump(0.1)),
        SignFace => from_tint(&SIGNS, hit.tint),
        LightHead => [0.05, 0.06, 0.05],
        Barrel => from_tint(&[[0.70, 0.28, 0.05], [0.10, 0.25, 0.50], [0.45, 0.36, 0.22]], hit.tint),
        Wall => scaled([0.55, 0.52, 0.47], 1.0 + 0.1 * lump(0.3)),
        CarPaint | TruckPaint => from_tint(&PAINTS, hit.tint),
        CarGlass | TruckGlass => [0.05, 0.06, 0.07],
        CarTyre | TruckTyre => [0.04, 0.04, 0.04],
        Cloth => from_tint(&CLOTHES, hit.tint),
        Skin => [0.55, 0.38, 0.30],
        Facade => facade(hit, p, fine),
        Roof => {
            let course = if fine > 0.15 && p.z.rem_euclid(0.3) < 0.05 { 0.75 } else { 1.0 };
            let tiles = from_tint(&[[0.40, 0.17, 0.11], [0.24, 0.22, 0.22], [0.45, 0.24, 0.16]], hit.tint);
            scaled(tiles, course * (1.0 + 0.12 * lump(0.4)))
        }
    }
}

/// Walls with rows of windows.
fn facade(hit: &Hit, p: Vec3, fine: f32) -> Color {
    let wall = from_tint(&WALLS, hit.tint);
    let u = (p.x * -hit.normal.y + p.y * hit.normal.x + f64::from(hit.object % 97)).rem_euclid(2.7);
    let v = (p.z + 0.13 * f64::from(hit.object % 23)).rem_euclid(2.9);
    if hit.normal.z.abs() < 0.5 && (0.7..2.0).contains(&u) && (0.9..2.3).contains(&v) {
        let glass = (0.8..1.9).contains(&u) && (1.0..2.2).contains(&v) && (u - 1.35).abs() > 0.04;
        return if glass { [0.10, 0.12, 0.15] } else { [0.75, 0.75, 0.72] };
    }
    let rough = noise3(0xfaca, p.x / 0.25, p.y / 0.25, p.z / 0.25) as f32;
    scaled(wall, 1.0 + 0.06 * rough * fine)
}
