//! The methods by name. Each is a [`VoxelMapper`] with its rule.

use e2bki::{Beliefs, Cells, ClassSet, Config, Frame, FrameReport, Result, SemanticMapper, Voxels};

use crate::conv::ConvKernels;
use crate::mapper::VoxelMapper;
use crate::options::BuildOptions;
use crate::rule::Rule;

/// Declares a method: its documentation, its name, and its rule for a number of classes and a configuration.
macro_rules! method {
    ($(#[$doc:meta])* $name:ident, $rule:expr) => {
        $(#[$doc])*
        ///
        /// In its [`FrameReport`], `clusters` is the number of points used and `gated` that of points dropped for their
        /// uncertainty. On an error the map is unchanged.
        #[derive(Debug, Clone)]
        pub struct $name(VoxelMapper);

        impl $name {
            /// An empty map with the usual options.
            pub fn new(classes: ClassSet, config: &Config) -> Result<Self> {
                Self::with_options(classes, config, BuildOptions::default())
            }

            /// An empty map.
            pub fn with_options(classes: ClassSet, config: &Config, options: BuildOptions) -> Result<Self> {
                config.check()?;
                let rule: fn(usize, &Config) -> Result<Rule> = $rule;
                let rule = rule(classes.len(), config)?;
                Ok(Self(VoxelMapper::new(classes, config, options, rule)?))
            }

            /// The parameters.
            pub fn config(&self) -> &Config {
                self.0.config()
            }
        }

        impl SemanticMapper for $name {
            fn classes(&self) -> &ClassSet {
                self.0.classes()
            }

            fn resolution(&self) -> f64 {
                self.0.config().views.resolution
            }

            fn insert(&mut self, frame: &Frame<'_>) -> Result<FrameReport> {
                self.0.insert(frame)
            }

            fn query(&self, points: &[[f64; 3]]) -> Result<Beliefs> {
                Ok(self.0.query(points))
            }

            fn query_voxels(&self, points: &[[f64; 3]]) -> Result<Beliefs> {
                Ok(self.0.query(points))
            }

            fn query_bev(&self, points: &[[f64; 2]]) -> Result<Beliefs> {
                self.0.query_bev(points)
            }

            fn voxels(&self) -> Result<Voxels> {
                Ok(self.0.voxels())
            }

            fn bev(&self) -> Result<Cells> {
                self.0.bev()
            }

            fn byte_size(&self) -> usize {
                self.0.byte_size()
            }
        }
    };
}

method!(
    /// Semantic counting sensor model: a voxel counts the points of each class inside it.
    SCsm,
    |_, _| Ok(Rule::Count)
);

method!(
    /// Semantic Bayesian kernel inference: α_c += Σ k(d, ℓ) over the points of class c within ℓ of the voxel's centre.
    SBki,
    |_, config| Rule::kernel(config)
);

method!(
    /// SEE-CSOM: a linear kernel that crosses the faces of a block of 2×2×2 voxels only where its points disagree.
    SeeCsom,
    |_, _| Ok(Rule::SharpEdge)
);

method!(
    /// ConvBKI: probabilities are binned into voxels and convolved with one compound kernel per class.
    ///
    /// Its bird's-eye map uses the horizontal kernel alone. Kernels are learned with [`train`](crate::train).
    ConvBki,
    |classes, config| Ok(Rule::convolution(&ConvKernels::initial(classes), config))
);

method!(
    /// Evidential semantic mapping (EBS): α += Σ k(d, ℓβe^{1−u}) p over the points that pass the uncertainty gate.
    ///
    /// This is the published formula; the released program uses a constant length instead.
    Ebs,
    |_, config| Rule::evidential(config)
);

method!(
    /// Dempster–Shafer mapping: the opinions of the points around a voxel, discounted by the kernel of [`Ebs`], combined.
    ///
    /// Its beliefs carry Σk = 1, the combined probabilities and their uncertainty u.
    Dst,
    |_, config| Rule::dempster(config)
);

impl ConvBki {
    /// An empty map with learned kernels.
    pub fn with_kernels(classes: ClassSet, config: &Config, kernels: ConvKernels) -> Result<Self> {
        Self::with_kernels_and_options(classes, config, kernels, BuildOptions::default())
    }

    /// An empty map with learned kernels and options.
    pub fn with_kernels_and_options(
        classes: ClassSet,
        config: &Config,
        kernels: ConvKernels,
        options: BuildOptions,
    ) -> Result<Self> {
        config.check()?;
        kernels.check(classes.len())?;
        let rule = Rule::convolution(&kernels, config);
        Ok(Self(VoxelMapper::new(classes, config, options, rule)?))
    }
}
