//! The paper's class sets and the class of each material in each kind of world.
//! Colours are those of the paper; label order is the order of its tables.

use crate::scene::Material;
use crate::world::WorldKind;

/// Label of points and pixels that belong to no class (sky, for one).
pub const VOID: u8 = 255;

/// A semantic class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClassInfo {
    /// Name, as in the paper's tables.
    pub name: &'static str,
    /// Display colour.
    pub color: [u8; 3],
}

const fn class(name: &'static str, r: u8, g: u8, b: u8) -> ClassInfo {
    ClassInfo { name, color: [r, g, b] }
}

const OFFROAD: [ClassInfo; 7] = [
    class("puddle", 0, 0, 255),
    class("object", 204, 153, 255),
    class("paved", 255, 255, 0),
    class("unpaved", 255, 153, 204),
    class("dirt", 153, 76, 0),
    class("grass", 111, 255, 74),
    class("vegetation", 0, 102, 0),
];

const URBAN: [ClassInfo; 11] = [
    class("road", 128, 64, 128),
    class("sidewalk", 244, 35, 232),
    class("building", 70, 70, 70),
    class("fence", 190, 153, 153),
    class("pole", 153, 153, 153),
    class("sign/light", 220, 220, 0),
    class("vegetation", 107, 142, 35),
    class("terrain", 152, 251, 152),
    class("person", 220, 20, 60),
    class("car", 0, 0, 142),
    class("truck", 0, 0, 70),
];

/// The classes of a kind of world, in label order.
pub fn classes(kind: WorldKind) -> &'static [ClassInfo] {
    match kind {
        WorldKind::Offroad => &OFFROAD,
        WorldKind::Urban => &URBAN,
    }
}

/// Label of a material: its index in [`classes`], or [`VOID`].
pub fn class_of(material: Material, kind: WorldKind) -> u8 {
    match kind {
        WorldKind::Offroad => offroad(material),
        WorldKind::Urban => urban(material),
    }
}

fn offroad(material: Material) -> u8 {
    use Material::*;
    match material {
        Sky => VOID,
        Water => 0,
        Asphalt | LanePaint | Concrete => 2,
        Gravel => 3,
        Dirt | Mud => 4,
        GrassShort | GrassTall | GrassTuft => 5,
        Leaf | Needle | BushLeaf | Bark => 6,
        _ => 1,
    }
}

fn urban(material: Material) -> u8 {
    use Material::*;
    match material {
        Sky | Water | Barrel => VOID,
        Asphalt | LanePaint => 0,
        Concrete => 1,
        Facade | Roof => 2,
        WoodFence | MetalFence | Wall => 3,
        MetalPole | WoodPole => 4,
        SignFace | LightHead => 5,
        Leaf | Needle | BushLeaf | Bark => 6,
        Gravel | Dirt | Mud | GrassShort | GrassTall | GrassTuft => 7,
        Cloth | Skin => 8,
        CarPaint | CarGlass | CarTyre => 9,
        TruckPaint | TruckGlass | TruckTyre => 10,
    }
}
