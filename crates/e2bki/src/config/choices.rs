//! Parameters that are a choice of names, each with its spelling in configuration files.

/// Declares an enumeration together with the names its values have in configuration files.
macro_rules! choice {
    ($(#[$meta:meta])* $name:ident { $(#[doc = $doc:literal] $variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum $name { $(#[doc = $doc] $variant),+ }

        impl $name {
            /// The names in configuration files.
            pub const NAMES: &'static [&'static str] = &[$($text),+];

            /// The meaning of each of these names, in one line.
            pub const MEANINGS: &'static [&'static str] = &[$($doc),+];

            /// The name in configuration files.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }

            /// The value of that name.
            pub fn from_name(name: &str) -> Option<Self> {
                match name { $($text => Some(Self::$variant),)+ _ => None }
            }
        }
    };
}

choice!(
    /// Which primitives of a frame are too uncertain to keep (paper: U_thr).
    Gate {
        /// The most uncertain share of each frame is stopped.
        Dynamic = "dynamic",
        /// Everything above a fixed uncertainty is stopped.
        Static = "static",
        /// Both rules together.
        Hybrid = "hybrid",
        /// Nothing is stopped.
        Off = "off",
    }
);

choice!(
    /// What the semantic part of the uncertainty is at a place.
    Doubt {
        /// The mean of the primitives' own uncertainty, as in the paper.
        Ignorance = "ignorance",
        /// The probability that the most likely class is wrong: ignorance, and belief in other classes.
        Conflict = "conflict",
    }
);

choice!(
    /// What happens to a primitive that the gate stops (docs/method.md#gated-primitives).
    Gated {
        /// It never enters the map.
        Drop = "drop",
        /// It takes part in refinement but its kernel is zero.
        Mute = "mute",
    }
);

choice!(
    /// Order of pruning and merging within a frame (docs/method.md#order-of-refinement).
    Refinement {
        /// Prune by ascending range, then merge by ascending id among the survivors.
        PruneThenMerge = "prune-then-merge",
        /// Every primitive either merges or prunes, judged on one snapshot.
        OnePass = "one-pass",
    }
);

choice!(
    /// Form of a primitive's ellipsoid (docs/method.md#isotropic-primitives).
    Shape {
        /// Semi-axes from the covariance.
        Ellipsoid = "ellipsoid",
        /// A sphere of the same mean variance.
        Sphere = "sphere",
        /// The mean alone.
        Point = "point",
    }
);

choice!(
    /// Length that the kernel takes for the distance to an ellipsoid (docs/method.md#distance-to-an-ellipsoid).
    Distance {
        /// The shortest Euclidean distance.
        Euclidean = "euclidean",
        /// Its square, as the formula is printed; for comparison only.
        Squared = "squared",
    }
);

choice!(
    /// How far a primitive's evidence reaches in each direction (docs/method.md#reach-along-the-surface).
    Reach {
        /// Far along the surface that the primitives of a class form together, short across it.
        Surface = "surface",
        /// As far in all directions from the ellipsoid, as in the paper.
        Uniform = "uniform",
    }
);

choice!(
    /// Where the reach grows with range, with `reach` = `surface` (docs/method.md#reach-along-the-surface).
    Growth {
        /// On planes, as far as the surface is one: beams that graze a plane leave gaps that grow with range.
        Planes = "planes",
        /// Everywhere.
        Everywhere = "everywhere",
    }
);

choice!(
    /// How the kernel falls from 1 at a primitive to 0 where its reach ends (docs/method.md#profile-of-the-kernel).
    Profile {
        /// 1 − ρ², for a share ρ of the reach.
        Quadratic = "quadratic",
        /// The sparse kernel of the paper.
        Sparse = "sparse",
    }
);

choice!(
    /// Which points of a primitive are not independent witnesses of one another (docs/method.md#correlated-witnesses).
    Correlated {
        /// Those of one frame: every further frame adds evidence.
        Frame = "frame",
        /// All it ever had.
        Lifetime = "lifetime",
    }
);

choice!(
    /// How a frame's points become primitives.
    Clustering {
        /// One primitive per class and world-anchored cube.
        Cells = "cells",
        /// K-means with K-means++ seeding, per class.
        KMeans = "kmeans++",
        /// Farthest-point sampling, per class.
        Fps = "fps",
        /// Random centres, per class.
        Random = "random",
    }
);

choice!(
    /// What the number of clusters means (docs/method.md#number-of-clusters).
    ClusterCount {
        /// `points_per_cluster` points in each on average.
        Points = "points",
        /// `clusters` in total, split over the classes by their points.
        Total = "total",
        /// `clusters` for every class present.
        PerClass = "per-class",
    }
);

choice!(
    /// Where the posterior comes from (docs/method.md#posterior-of-the-current-set).
    Posterior {
        /// From the current refined set: what was pruned is gone, what was merged counts once.
        Refined = "refined",
        /// Every frame adds to the voxels and nothing is taken back; for the ablation.
        Accumulate = "accumulate",
    }
);

choice!(
    /// When the live voxels are brought up to date. They are the same whenever somebody looks.
    Update {
        /// When somebody looks: frames in between cost nothing.
        OnDemand = "on-demand",
        /// With every frame: looking costs nothing.
        EveryFrame = "every-frame",
    }
);

choice!(
    /// Form of the evidence-sparsity part of the uncertainty (docs/method.md#evidence-sparsity).
    Sparsity {
        /// (C−1)/(C²(S+1)), as the paper prints it.
        Literal = "literal",
        /// 1/(S+1), scaled to reach 1 without evidence.
        Rescaled = "rescaled",
        /// Nothing: the semantic part is all.
        None = "none",
    }
);

choice!(
    /// The LiDAR whose scans say what is free.
    LidarModel {
        /// Estimated from every scan.
        Auto = "auto",
        /// Velodyne HDL-32E.
        Hdl32e = "hdl-32e",
        /// Velodyne HDL-64E.
        Hdl64e = "hdl-64e",
        /// Ouster OS0, 128 beams.
        Os0_128 = "os0-128",
        /// Ouster OS1, 64 beams.
        Os1_64 = "os1-64",
        /// Ouster OS1, 128 beams.
        Os1_128 = "os1-128",
        /// Ouster OS2, 128 beams.
        Os2_128 = "os2-128",
        /// Velodyne VLP-16.
        Vlp16 = "vlp-16",
        /// Velodyne VLP-32C.
        Vlp32c = "vlp-32c",
    }
);
