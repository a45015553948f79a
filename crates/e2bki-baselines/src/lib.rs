//! The methods that E2-BKI is compared with, behind [`e2bki::SemanticMapper`] and on one footing.
//!
//! | method | a voxel receives |
//! |---|---|
//! | [`SCsm`] | the number of points of each class inside it |
//! | [`SBki`] | Σ k(d, ℓ) of the points of each class |
//! | [`SeeCsom`] | a linear kernel whose length and sources depend on how mixed its block of 2×2×2 voxels is |
//! | [`ConvBki`] | a learned kernel per class over binned probabilities |
//! | [`Ebs`] | Σ k(d, ℓβe^{1−u}) p, the most uncertain points dropped |
//! | [`Dst`] | Dempster's combination of the points' opinions, each discounted by that kernel |
//!
//! Same input ([`e2bki::EvidentialPoints`]), same grid (voxel i spans [i, i+1) times the resolution), exact radius,
//! kernel 1 at distance 0, no free space, no reserved class, parameters from [`e2bki::Config`]. Voxels with any evidence
//! are observed. The same input gives the same bytes at any number of threads.
//!
//! ```
//! use e2bki::{ClassSet, Config, Frame, Pose, Semantics};
//! use e2bki_baselines::Baseline;
//!
//! let classes = ClassSet::from_names(["ground", "tree"])?;
//! let points: Vec<[f32; 3]> = (0..100).map(|i| [2.0 + 0.01 * i as f32, 0.1, 0.1]).collect();
//! for baseline in Baseline::ALL {
//!     let mut map = baseline.build(classes.clone(), &Config::default())?;
//!     map.insert(&Frame {
//!         points: &points,
//!         semantics: Semantics::Labels(&[1; 100]),
//!         world_from_sensor: Pose::IDENTITY,
//!         scan: None,
//!     })?;
//!     assert_eq!(map.query(&[[2.5, 0.1, 0.1]])?.get(0).label(), Some(1));
//! }
//! # Ok::<(), e2bki::Error>(())
//! ```
//!
//! Bird's-eye maps are a second grid in the plane, kept only if [`BuildOptions::bev`] asks for it.

mod baseline;
mod block;
mod conv;
mod grid;
mod lattice;
mod mapper;
mod methods;
mod options;
mod rule;
mod rules;
mod scan;
mod select;

pub use baseline::Baseline;
pub use conv::{ConvKernels, Progress, Sample, SampleSource, TrainOptions, TrainOutcome, Window, train};
pub use methods::{ConvBki, Dst, Ebs, SBki, SCsm, SeeCsom};
pub use options::{BuildOptions, Thinning};
