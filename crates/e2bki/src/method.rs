//! What every mapping method offers, so that methods can be compared on one footing.

use crate::classes::ClassSet;
use crate::error::Result;
use crate::input::{Frame, FrameReport};
use crate::mapper::Mapper;
use crate::maths::floor_i32;
use crate::view::{Beliefs, Cells, Voxels};

/// A method that makes a semantic map of frames.
pub trait SemanticMapper: Send {
    /// The classes.
    fn classes(&self) -> &ClassSet;

    /// Side of the method's voxels and bird's-eye cells, metres: voxel i spans [i, i+1) times this.
    fn resolution(&self) -> f64;

    /// Adds a frame. On an error the map is unchanged.
    fn insert(&mut self, frame: &Frame<'_>) -> Result<FrameReport>;

    /// Beliefs at world positions. A method that keeps voxels only answers with the voxel that holds the position.
    fn query(&self, points: &[[f64; 3]]) -> Result<Beliefs>;

    /// Beliefs of the voxels that hold world positions.
    fn query_voxels(&self, points: &[[f64; 3]]) -> Result<Beliefs>;

    /// Beliefs of the bird's-eye cells that hold world positions x, y.
    fn query_bev(&self, points: &[[f64; 2]]) -> Result<Beliefs>;

    /// Beliefs at world positions x, y seen from above. A method that keeps cells only answers with the cell that holds
    /// the position.
    fn query_bev_points(&self, points: &[[f64; 2]]) -> Result<Beliefs> {
        self.query_bev(points)
    }

    /// All voxels that hold evidence, in a fixed order.
    fn voxels(&self) -> Result<Voxels>;

    /// All bird's-eye cells that hold evidence, in a fixed order.
    fn bev(&self) -> Result<Cells>;

    /// Bytes held by the map.
    fn byte_size(&self) -> usize;
}

impl SemanticMapper for Mapper {
    fn classes(&self) -> &ClassSet {
        Mapper::classes(self)
    }

    fn resolution(&self) -> f64 {
        self.config().views.resolution
    }

    fn insert(&mut self, frame: &Frame<'_>) -> Result<FrameReport> {
        Mapper::insert(self, frame)
    }

    fn query(&self, points: &[[f64; 3]]) -> Result<Beliefs> {
        Ok(Mapper::query(self, points))
    }

    fn query_voxels(&self, points: &[[f64; 3]]) -> Result<Beliefs> {
        let centers: Vec<[f64; 3]> =
            points.iter().map(|p| p.map(|v| center(v, self.config().views.resolution))).collect();
        Ok(Mapper::query(self, &centers))
    }

    fn query_bev(&self, points: &[[f64; 2]]) -> Result<Beliefs> {
        let centers: Vec<[f64; 2]> =
            points.iter().map(|p| p.map(|v| center(v, self.config().views.resolution))).collect();
        Ok(self.birds_eye()?.query(&centers))
    }

    fn query_bev_points(&self, points: &[[f64; 2]]) -> Result<Beliefs> {
        Ok(self.birds_eye()?.query(points))
    }

    fn voxels(&self) -> Result<Voxels> {
        Mapper::voxels(self, self.config().views.resolution)
    }

    fn bev(&self) -> Result<Cells> {
        Mapper::bev(self, self.config().views.resolution)
    }

    fn byte_size(&self) -> usize {
        Mapper::byte_size(self).total()
    }
}

/// Centre of the voxel that holds a coordinate; what is not finite stays so.
fn center(v: f64, resolution: f64) -> f64 {
    if v.is_finite() { (f64::from(floor_i32(v / resolution)) + 0.5) * resolution } else { v }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, Pose, Semantics};

    #[test]
    fn a_voxel_query_is_the_belief_at_its_centre() -> Result<()> {
        let points: Vec<[f32; 3]> = (0..60).map(|i| [2.0 + 0.02 * i as f32, 0.31, -0.27]).collect();
        let labels: Vec<u32> = (0..60).map(|i| i / 30).collect();
        let mut map = Mapper::new(ClassSet::from_names(["a", "b"])?, Config::default())?;
        map.insert(&Frame {
            points: &points,
            semantics: Semantics::Labels(&labels),
            world_from_sensor: Pose::IDENTITY,
            scan: None,
        })?;
        let map: &dyn SemanticMapper = &map;
        let voxels = map.voxels()?;
        // Any point of a voxel gets what its centre gets.
        let moved: Vec<[f64; 3]> = voxels.centers.iter().map(|c| c.map(|v| v + 0.09)).collect();
        assert_eq!(map.query_voxels(&moved)?, voxels.beliefs);
        let cells = map.bev()?;
        let moved: Vec<[f64; 2]> = cells.centers.iter().map(|c| c.map(|v| v - 0.09)).collect();
        assert_eq!(map.query_bev(&moved)?, cells.beliefs);
        let nowhere = map.query_voxels(&[[f64::NAN, 0.0, 0.0], [f64::INFINITY, 0.0, 0.0]])?;
        assert!(nowhere.iter().all(|belief| belief.label().is_none()));
        Ok(())
    }
}
