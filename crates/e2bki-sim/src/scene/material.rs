//! Surface materials: the finest label the simulator knows.
//! Class, file ids, colour, reflectance and roughness are all looked up from the material.

/// Material of a surface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
#[allow(missing_docs)] // the names say it
pub enum Material {
    Sky,
    Water,
    Asphalt,
    LanePaint,
    Concrete,
    Gravel,
    Dirt,
    Mud,
    GrassShort,
    GrassTall,
    GrassTuft,
    Leaf,
    Needle,
    BushLeaf,
    Bark,
    MetalPole,
    WoodPole,
    SignFace,
    LightHead,
    Barrel,
    WoodFence,
    MetalFence,
    Wall,
    CarPaint,
    CarGlass,
    CarTyre,
    TruckPaint,
    TruckGlass,
    TruckTyre,
    Cloth,
    Skin,
    Facade,
    Roof,
}

impl Material {
    /// Every material, in id order.
    pub const ALL: [Material; 33] = {
        use Material::*;
        [
            Sky, Water, Asphalt, LanePaint, Concrete, Gravel, Dirt, Mud, GrassShort, GrassTall, GrassTuft, Leaf,
            Needle, BushLeaf, Bark, MetalPole, WoodPole, SignFace, LightHead, Barrel, WoodFence, MetalFence, Wall,
            CarPaint, CarGlass, CarTyre, TruckPaint, TruckGlass, TruckTyre, Cloth, Skin, Facade, Roof,
        ]
    };

    /// Diffuse reflectance in the near infrared, 0 to 1.
    pub fn reflectance(self) -> f64 {
        use Material::*;
        match self {
            Sky => 0.0,
            Water => 0.07,
            Asphalt => 0.17,
            LanePaint => 0.60,
            Concrete => 0.32,
            Gravel => 0.28,
            Dirt => 0.24,
            Mud => 0.14,
            GrassShort | GrassTall | GrassTuft => 0.42,
            Leaf | BushLeaf => 0.45,
            Needle => 0.35,
            Bark | WoodPole | WoodFence => 0.30,
            MetalPole | MetalFence => 0.38,
            SignFace => 0.90,
            LightHead => 0.30,
            Barrel => 0.45,
            Wall | Facade => 0.38,
            Roof => 0.22,
            CarPaint | TruckPaint => 0.40,
            CarGlass | TruckGlass => 0.06,
            CarTyre | TruckTyre => 0.05,
            Cloth => 0.30,
            Skin => 0.40,
        }
    }

    /// Depth scatter of returns inside the material (blades, leaves, stones), one sigma in metres.
    pub fn roughness_m(self) -> f64 {
        use Material::*;
        match self {
            GrassTall => 0.07,
            GrassShort | GrassTuft => 0.03,
            Leaf | Needle | BushLeaf => 0.03,
            Gravel | Dirt | Mud => 0.01,
            _ => 0.0,
        }
    }

    /// True for surfaces that throw most of the light away from the sensor.
    pub fn is_specular(self) -> bool {
        matches!(self, Material::Water | Material::CarGlass | Material::TruckGlass)
    }

    /// True for leaves, needles and grass blades.
    pub fn is_plant(self) -> bool {
        use Material::*;
        matches!(self, GrassShort | GrassTall | GrassTuft | Leaf | Needle | BushLeaf)
    }
}
