//! Parsers of bytes and text. Each takes any input whatsoever and answers with a value or a [`Flaw`](crate::Flaw):
//! sizes that a file declares are checked against the bytes that are there before anything is allocated.

mod g2o;
mod grid;
mod keyed;
mod las;
mod lzf;
mod npy;
mod pcd;
mod picture;
mod ply;
mod poses;
mod raw;
mod scalar;
mod table;
mod transforms;

pub(crate) use grid::check_channels;
pub use grid::{Cells, Grid, grid_f16, grid_shape};
pub use keyed::{Keyed, numbers};
pub use las::las;
pub use npy::{Npy, npy};
pub use pcd::{pcd, pcd_viewpoint};
pub use picture::{LabelImage, label_image, picture, picture_size};
pub use ply::ply;
pub use poses::{PoseRows, indexed_poses, pandaset_poses, pose_rows};
pub use raw::{labels, points};
pub use scalar::Scalar;
pub use table::{Field, Table};
pub use transforms::{rigid, transform};

type Parsed<T> = std::result::Result<T, crate::error::Flaw>;
