//! Label ids of each material in each dataset, and the datasets' own colours.
//! A dataset without a matching id gets its nearest one; what it would call void stays void.

use super::Format;
use crate::scene::Material;

/// Raw label id of a material.
pub(super) fn raw_id(material: Material, moving: bool, format: Format) -> u16 {
    let [rellis, kitti360, semantic_kitti] = ids(material);
    match format {
        Format::Rellis3d => rellis,
        Format::Kitti360 => kitti360,
        Format::SemanticKitti => match (semantic_kitti, moving) {
            (10, true) => 252,
            (30, true) => 254,
            (18, true) => 258,
            (id, _) => id,
        },
    }
}

/// RELLIS-3D, KITTI-360 and SemanticKITTI ids.
fn ids(material: Material) -> [u16; 3] {
    use Material::*;
    match material {
        Sky => [7, 23, 0],
        Water => [31, 6, 49],
        Asphalt => [10, 7, 40],
        LanePaint => [10, 7, 60],
        Concrete => [23, 8, 48],
        Gravel => [11, 22, 72],
        Dirt => [1, 22, 72],
        Mud => [33, 22, 72],
        GrassShort | GrassTall | GrassTuft => [3, 22, 72],
        Leaf | Needle => [4, 21, 70],
        BushLeaf => [19, 21, 70],
        Bark => [4, 21, 71],
        MetalPole | WoodPole => [5, 17, 80],
        SignFace => [9, 20, 81],
        LightHead => [9, 19, 81],
        Barrel => [9, 41, 99],
        // RELLIS has a fence id, but the usual remap makes it void; here a fence is an object like any other.
        WoodFence | MetalFence | Wall => [9, 13, 51],
        CarPaint | CarGlass | CarTyre => [8, 26, 10],
        TruckPaint | TruckGlass | TruckTyre => [8, 27, 18],
        Cloth | Skin => [17, 24, 30],
        Facade | Roof => [12, 11, 50],
    }
}

/// True for materials whose objects carry instance numbers.
pub(super) fn has_instances(material: Material) -> bool {
    use Material::*;
    matches!(
        material,
        CarPaint | CarGlass | CarTyre | TruckPaint | TruckGlass | TruckTyre | Cloth | Skin | Facade | Roof
    )
}

/// RELLIS-3D colour of a raw id.
pub(super) fn rellis_color(id: u16) -> [u8; 3] {
    match id {
        1 => [108, 64, 20],
        3 => [0, 102, 0],
        4 => [0, 255, 0],
        5 => [0, 153, 153],
        7 => [0, 0, 255],
        8 => [255, 255, 0],
        9 => [255, 0, 127],
        10 => [64, 64, 64],
        11 => [255, 128, 0],
        12 => [255, 0, 0],
        17 => [204, 153, 255],
        19 => [255, 153, 204],
        23 => [170, 170, 170],
        31 => [134, 255, 239],
        33 => [99, 66, 34],
        _ => [0, 0, 0],
    }
}

/// KITTI-360 colour of an id.
pub(super) fn kitti360_color(id: u16) -> [u8; 3] {
    match id {
        6 => [81, 0, 81],
        7 => [128, 64, 128],
        8 => [244, 35, 232],
        11 => [70, 70, 70],
        13 => [190, 153, 153],
        17 => [153, 153, 153],
        19 => [250, 170, 30],
        20 => [220, 220, 0],
        21 => [107, 142, 35],
        22 => [152, 251, 152],
        23 => [70, 130, 180],
        24 => [220, 20, 60],
        26 => [0, 0, 142],
        27 => [0, 0, 70],
        41 => [64, 64, 128],
        _ => [0, 0, 0],
    }
}
