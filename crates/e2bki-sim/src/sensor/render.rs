//! Camera images by ray casting: one primary ray per pixel gives colour, label and depth together, so labels are
//! exact to the pixel; one more ray towards the sun gives shadows.

use rayon::prelude::*;

use super::albedo::albedo;
use super::{Camera, Light};
use crate::classes::class_of;
use crate::maths::{Rigid, Vec3, hash2, noise1, noise2, noise3};
use crate::scene::{Hit, Material, Ray, View};
use crate::world::{Season, WorldKind};

/// How far the camera sees real geometry, metres.
const FAR_M: f64 = 125.0;

/// A rendered image with its ground truth.
#[derive(Debug, Clone, PartialEq)]
pub struct SimImage {
    /// Pixels across.
    pub width: usize,
    /// Pixels down.
    pub height: usize,
    /// Colours, row by row.
    pub rgb: Vec<[u8; 3]>,
    /// Class under each pixel ([`crate::VOID`] for sky).
    pub labels: Vec<u8>,
    /// Material under each pixel.
    pub materials: Vec<Material>,
    /// Object number under each pixel, 0 for scenery.
    pub objects: Vec<u32>,
    /// Distance from the camera, metres; infinite for sky and backdrop.
    pub range: Vec<f32>,
}

/// Settings of a rendering.
pub(crate) struct Scene<'a> {
    /// Intrinsics.
    pub camera: &'a Camera,
    /// The world around the camera.
    pub view: &'a View,
    /// Camera pose.
    pub world_from_camera: Rigid,
    /// Sun, sky and exposure.
    pub light: Light,
    /// Colours of plants.
    pub season: Season,
    /// Kind of world, for labels and the skyline.
    pub kind: WorldKind,
    /// Seed of the pixel noise.
    pub seed: u64,
}

#[derive(Clone, Copy)]
struct Pixel {
    rgb: [u8; 3],
    material: Material,
    object: u32,
    range: f32,
}

/// Renders one image. `directions` are the camera's pixel directions, row by row.
pub(crate) fn render(scene: &Scene<'_>, directions: &[[f32; 3]]) -> SimImage {
    let (width, height) = (scene.camera.width, scene.camera.height);
    let pixels: Vec<Pixel> = (0..height)
        .into_par_iter()
        .flat_map_iter(|row| {
            directions[row * width..(row + 1) * width].iter().enumerate().map(move |(column, d)| {
                let d = Vec3::from(d.map(f64::from));
                shade_pixel(scene, scene.world_from_camera.rotate(d), column, row)
            })
        })
        .collect();
    SimImage {
        width,
        height,
        rgb: pixels.iter().map(|p| p.rgb).collect(),
        labels: pixels.iter().map(|p| class_of(p.material, scene.kind)).collect(),
        materials: pixels.iter().map(|p| p.material).collect(),
        objects: pixels.iter().map(|p| p.object).collect(),
        range: pixels.iter().map(|p| p.range).collect(),
    }
}

fn shade_pixel(scene: &Scene<'_>, direction: Vec3, column: usize, row: usize) -> Pixel {
    let ray = Ray::new(scene.world_from_camera.translation, direction);
    let (color, material, object, range) = match scene.view.cast(&ray, FAR_M) {
        Some(hit) => (surface(scene, &ray, &hit), hit.material, hit.object, hit.t as f32),
        None => {
            let (color, material) = backdrop(scene, ray.direction);
            (color, material, 0, f32::INFINITY)
        }
    };
    let camera = scene.camera;
    let (u, v) = (column as f32 / camera.width as f32 - 0.5, row as f32 / camera.height as f32 - 0.5);
    let gain = scene.light.exposure * (1.0 - 0.35 * (u * u + v * v));
    let noise = hash2(scene.seed, column as i64, row as i64);
    let rgb = std::array::from_fn(|k| {
        // Sum of four bytes: close enough to a normal value, and cheap.
        let bytes = noise.rotate_left(21 * k as u32).to_le_bytes();
        let grain = bytes[..4].iter().map(|b| f32::from(*b) - 127.5).sum::<f32>() * (0.012 / 148.0);
        tone(color[k] * gain).map_or(0, |v| ((v + grain).clamp(0.0, 1.0) * 255.0 + 0.5) as u8)
    });
    Pixel { rgb, material, object, range }
}

/// Display curve: linear light to 0..1 with a soft shoulder (gamma 2, which costs one root).
fn tone(x: f32) -> Option<f32> {
    let x = x.max(0.0);
    let shoulder = x * (1.0 + x * 0.12) / (1.0 + x * 0.35);
    shoulder.is_finite().then(|| shoulder.sqrt() * 1.03)
}

fn surface(scene: &Scene<'_>, ray: &Ray, hit: &Hit) -> [f32; 3] {
    let p = ray.at(hit.t);
    let light = &scene.light;
    let fine = (1.0 - hit.t / 28.0).max(0.0) as f32;
    let normal = if hit.normal.dot(ray.direction) > 0.0 { -hit.normal } else { hit.normal };
    let base = albedo(hit, p, scene.season, fine);
    let facing = normal.dot(light.sun).max(0.0) as f32;
    // Thin leaves and blades let light through.
    let facing = if hit.material.is_plant() { 0.35 + 0.55 * facing } else { facing };
    let mut direct = 0.0;
    if light.sun_color[0] > 0.05 && facing > 0.02 {
        let start = Ray { origin: p + normal * 0.03 + light.sun * 0.02, direction: light.sun };
        // A crown's own leaves shade each other within a short way; looking farther costs much and shows little.
        let leafy = matches!(hit.material, Material::Leaf | Material::Needle | Material::BushLeaf);
        if !scene.view.is_blocked(&start, if leafy { 2.5 } else { 40.0 }) {
            direct = facing;
        }
    }
    let open = (0.55 + 0.45 * normal.z) as f32 * occlusion(hit);
    let mut color: [f32; 3] =
        std::array::from_fn(|k| base[k] * (light.sun_color[k] * direct + light.sky_light[k] * open));
    if hit.material.is_specular() {
        let mirrored = ray.direction - hit.normal * (2.0 * ray.direction.dot(hit.normal));
        let (sky, _) = backdrop(scene, Vec3 { z: mirrored.z.abs(), ..mirrored });
        let grazing = (1.0 + ray.direction.dot(normal)).clamp(0.0, 1.0).powi(3) as f32;
        let ripple = (0.06 * noise2(0x3a7e, p.x / 0.3, p.y / 0.3)) as f32;
        for (c, s) in color.iter_mut().zip(sky) {
            *c += s * (0.18 + 0.7 * grazing + ripple);
        }
    }
    let clear = (-scene.light.haze * hit.t as f32).exp();
    std::array::from_fn(|k| color[k] * clear + light.horizon[k] * 0.8 * (1.0 - clear))
}

/// Cheap stand-in for ambient occlusion: undersides and leaves deep in a crown are darker.
fn occlusion(hit: &Hit) -> f32 {
    match hit.material {
        Material::Leaf | Material::Needle | Material::BushLeaf => 0.62,
        Material::GrassTall | Material::GrassTuft => 0.85,
        _ => 1.0,
    }
}

/// Sky, and beyond the simulated distance a line of woods or roofs and plain ground.
fn backdrop(scene: &Scene<'_>, d: Vec3) -> ([f32; 3], Material) {
    let light = &scene.light;
    let azimuth = d.y.atan2(d.x);
    let skyline = match scene.kind {
        WorldKind::Offroad => 0.030 + 0.018 * noise1(0x5c1, azimuth * 9.0) + 0.010 * noise1(0x5c2, azimuth * 70.0),
        WorldKind::Urban => {
            let block = (azimuth * 26.0).floor() / 26.0;
            0.035 + 0.022 * noise1(0x5c3, block * 31.7) + 0.004 * noise1(0x5c4, azimuth * 60.0)
        }
    };
    if d.z < skyline && d.z > -0.012 {
        let material = match scene.kind {
            WorldKind::Offroad => Material::Leaf,
            WorldKind::Urban => Material::Facade,
        };
        let base: [f32; 3] = if material == Material::Leaf { [0.16, 0.22, 0.13] } else { [0.36, 0.34, 0.33] };
        let haze = 0.45;
        let rough = 1.0 + 0.15 * noise2(0x5c5, azimuth * 160.0, d.z * 160.0) as f32;
        return (std::array::from_fn(|k| base[k] * rough * (1.0 - haze) + light.horizon[k] * 0.75 * haze), material);
    }
    if d.z <= -0.012 {
        let base = [0.30, 0.34, 0.18];
        return (std::array::from_fn(|k| 0.65 * base[k] + 0.2 * light.horizon[k]), Material::GrassShort);
    }
    let up = d.z.clamp(0.0, 1.0).sqrt() as f32;
    let cloud = (noise3(0xc10d, d.x / (d.z + 0.25) * 1.6, d.y / (d.z + 0.25) * 1.6, 0.0)
        + 0.5 * noise3(0xc10e, d.x / (d.z + 0.25) * 4.1, d.y / (d.z + 0.25) * 4.1, 0.0)) as f32;
    let veil = (cloud * 0.55).clamp(0.0, 0.6);
    let sky: [f32; 3] = std::array::from_fn(|k| {
        let clear = light.horizon[k] + (light.zenith[k] - light.horizon[k]) * up;
        clear + (0.95 - clear) * veil
    });
    (sky, Material::Sky)
}
