//! The table of parameters. It owns their names, units, ranges, defaults and words: the records, their documentation,
//! configuration files, the command line, Python and the page of parameters all come from it.

use super::field::{Field, Kind, Record};
use super::{
    ClassFactors, ClusterCount, Clustering, Confusion, Correlated, Distance, Doubt, Gate, Gated, Growth, LidarModel,
    Posterior, Profile, Reach, Refinement, Shape, Sparsity, Update,
};

/// Range and access of one parameter.
macro_rules! kind {
    ($record:ident $name:ident, float $min:literal .. $max:expr) => {
        Kind::Float { min: $min, max: $max, get: |c| c.$record.$name, set: |c, v| c.$record.$name = v }
    };
    ($record:ident $name:ident, integer $min:literal .. $max:expr) => {
        Kind::Integer { min: $min, max: $max, get: |c| c.$record.$name as u64, set: |c, v| c.$record.$name = v as _ }
    };
    ($record:ident $name:ident, flag) => {
        Kind::Flag { get: |c| c.$record.$name, set: |c, v| c.$record.$name = v }
    };
    ($record:ident $name:ident, choice $choice:ident) => {
        Kind::Choice {
            names: $choice::NAMES,
            meanings: $choice::MEANINGS,
            get: |c| c.$record.$name.name(),
            set: |c, v| $choice::from_name(v).map(|v| c.$record.$name = v).is_some(),
        }
    };
    ($record:ident $name:ident, shares) => {
        Kind::Shares { get: |c| &c.$record.$name, set: |c, v| c.$record.$name = v }
    };
    ($record:ident $name:ident, factors) => {
        Kind::Factors { get: |c| &c.$record.$name, set: |c, v| c.$record.$name = v }
    };
}

/// The name without a record: the parameter's own, unless another is given.
macro_rules! flat {
    ($name:ident) => {
        stringify!($name)
    };
    ($name:ident $flat:literal) => {
        $flat
    };
}

/// Declares the records, what they start as, and the table of their fields.
macro_rules! records {
    ($($record:ident: $type:ident, $purpose:literal {
        $($name:ident: $value:ty = $default:expr, [$($kind:tt)+],
            $(flat $flat:literal,)? $(unit $unit:literal,)? $(symbol $symbol:literal,)? $about:literal;)+
    })+) => {
        $(
            #[doc = concat!($purpose, ".")]
            #[derive(Debug, Clone, PartialEq)]
            pub struct $type {
                $(
                    #[doc = concat!($about, "." $(, " Unit: ", $unit, ".")? $(, " Paper: ", $symbol, ".")?)]
                    pub $name: $value,
                )+
            }

            impl Default for $type {
                fn default() -> Self {
                    Self { $($name: $default),+ }
                }
            }
        )+

        /// Parameters of a mapper. Read one with [`Config::from_toml`], or start from [`Config::default`] or [`Config::preset`].
        ///
        /// ```
        /// let config = e2bki::Config::from_toml("[views]\nresolution = 0.1\n[clustering]\nmethod = \"kmeans++\"")?;
        /// assert_eq!(config.views.resolution, 0.1);
        /// let coarse = config.with(|c| c.views.resolution = 0.5);
        /// assert_eq!(coarse.views.resolution, 0.5);
        /// let wrong = e2bki::Config::from_toml("views.resolutoin = 0.1").unwrap_err();
        /// assert!(wrong.to_string().contains("did you mean `views.resolution`"));
        /// # Ok::<(), e2bki::Error>(())
        /// ```
        #[derive(Debug, Clone, Default, PartialEq)]
        pub struct Config {
            $(
                #[doc = concat!($purpose, ".")]
                pub $record: $type,
            )+
        }

        static RECORDS: &[Record] = &[$(Record { name: stringify!($record), about: $purpose }),+];

        static FIELDS: &[Field] = &[$($(
            Field {
                key: concat!(stringify!($record), ".", stringify!($name)),
                record: stringify!($record),
                name: stringify!($name),
                flat: flat!($name $($flat)?),
                symbol: concat!("" $(, $symbol)?),
                unit: concat!("" $(, $unit)?),
                about: $about,
                kind: kind!($record $name, $($kind)+),
            },
        )+)+];
    };
}

records! {
    input: InputConfig, "Points and the semantics that come with them" {
        min_range: f64 = 0.0, [float 0.0 .. 1000.0], unit "m",
            "Nearer returns are dropped";
        max_range: f64 = f64::INFINITY, [float 0.01 .. f64::INFINITY], unit "m",
            "Farther returns are dropped";
        temperature: f64 = 1.0, [float 0.01 .. 100.0], symbol "T",
            "How overconfident the source of soft semantics is: p becomes p^(1/T), evidence becomes evidence/T; hard labels have `label_strength` instead";
        confusion: Confusion = Confusion::default(), [shares],
            "For every class that the source says, the shares of its evidence that go to each class; empty: it means what it says. `e2bki calibrate` learns it";
        label_strength: f64 = 2.0, [float 0.001 .. 1e6],
            "Belief-to-ignorance ratio of a hard label when all its neighbours agree";
        label_neighbourhood: f64 = 0.4, [float 0.02 .. 10.0], unit "m",
            "Side of the cubes in which a point's neighbours are counted";
        context: f64 = 0.8, [float 0.0 .. 1.0],
            "Share of a point's opinion that comes from its neighbours in the scan";
        class_trust: f64 = 1.0, [float 0.0 .. 10.0],
            "How much less a class counts whose points stand alone among others; 0: all classes count the same";
        class_weights: ClassFactors = ClassFactors::default(), [factors],
            "For every class, how many times as much its beliefs count among the others at a point; empty: all the same";
    }
    clustering: ClusteringConfig, "Grouping of a frame's points into clusters, which become primitives" {
        method: Clustering = Clustering::Cells, [choice Clustering], flat "clustering",
            "How a frame's points become primitives";
        cell_size: f64 = 0.25, [float 0.02 .. 10.0], unit "m",
            "Side of the world-anchored cubes of `cells`";
        merge_same_cell: bool = true, [flag],
            "Add a new primitive of `cells` to the one of its class already in its cube";
        count: ClusterCount = ClusterCount::Points, [choice ClusterCount], flat "cluster_count",
            "What the number of clusters means";
        clusters: usize = 1024, [integer 1 .. 10_000_000], symbol "J",
            "Clusters of a frame (`total`) or of each class (`per-class`)";
        points_per_cluster: usize = 27, [integer 1 .. 1_000_000], unit "points",
            "Mean size of a cluster (`points`)";
        min_points_per_cluster: usize = 4, [integer 1 .. 1_000_000], unit "points",
            "Fewest points a cluster has on average: a class of few points gets fewer clusters (`total`, `per-class`)";
        max_extent: f64 = 20.0, [float 0.05 .. f64::INFINITY], unit "m",
            "Largest side of a cluster's bounding box; wider clusters and those that bridge a gap are split; inf: only those over 50 m are";
        kmeans_iterations: usize = 10, [integer 0 .. 1000],
            "Most Lloyd iterations of K-means";
    }
    fusion: FusionConfig, "How points are fused into a primitive, and which primitives are too uncertain to keep" {
        correlation: f64 = 0.2, [float 0.0 .. 1.0],
            "Correlation ρ between the errors of a primitive's points: w points count as w/(1+ρ(w-1)) witnesses";
        correlated: Correlated = Correlated::Lifetime, [choice Correlated],
            "Which points of a primitive `correlation` is between";
        gate: Gate = Gate::Dynamic, [choice Gate], symbol "U_thr",
            "Which primitives of a frame are too uncertain to keep";
        drop_uncertain: f64 = 0.05, [float 0.0 .. 0.99], symbol "ũ",
            "Share of a frame's most uncertain primitives that the dynamic gate stops";
        max_uncertainty: f64 = 0.9, [float 0.0 .. 1.0],
            "Largest uncertainty that the static gate lets through";
        gated: Gated = Gated::Drop, [choice Gated],
            "What happens to a primitive that the gate stops";
    }
    refinement: RefinementConfig, "Pruning and merging of primitives already in the map" {
        prune: bool = false, [flag],
            "Remove distant primitives that nearer ones contradict";
        merge: bool = false, [flag],
            "Make agreeing neighbours one primitive";
        order: Refinement = Refinement::PruneThenMerge, [choice Refinement], flat "refinement",
            "Order of pruning and merging within a frame";
        prune_ratio: f64 = 2.5, [float 1.0 .. 1000.0], symbol "ε",
            "How many times farther away the pruned primitive was seen from";
        consistency_radius: f64 = 1.0, [float 0.01 .. 20.0], unit "m", symbol "d_L",
            "Neighbours within this radius must agree before they merge";
        merge_radius: f64 = 0.2, [float 0.0 .. 20.0], unit "m", symbol "d_S",
            "Agreeing neighbours within this radius merge";
    }
    kernel: KernelConfig, "The kernel that spreads a primitive's evidence over the space around it" {
        length_scale: f64 = 0.2, [float 0.01 .. 10.0], unit "m", symbol "ℓ",
            "Kernel length";
        uncertainty_sensitivity: f64 = 0.75, [float 0.05 .. 5.0], symbol "β",
            "Scale of the kernel's reach ℓβe^(1-u)";
        reach: Reach = Reach::Surface, [choice Reach],
            "How far the kernel reaches in each direction";
        reach_across: f64 = 0.15, [float 0.005 .. 10.0], unit "m",
            "How far the kernel reaches across a surface, with `reach` = `surface`";
        reach_growth: f64 = 0.8, [float 0.0 .. 1.0],
            "How much farther the kernel reaches for every 10 m of range, up to 50 m: beams spread. With `growth` = `everywhere` or `reach` = `uniform` 0.1 to 0.25 is enough";
        growth: Growth = Growth::Planes, [choice Growth],
            "Where the reach grows with range, with `reach` = `surface`";
        profile: Profile = Profile::Quadratic, [choice Profile],
            "How the kernel falls from a primitive to where its reach ends";
        class_reach: ClassFactors = ClassFactors::default(), [factors],
            "For every class, how many times as far its kernels reach; empty: all as far";
        prior: f64 = 0.001, [float 1e-9 .. 10.0], symbol "α0",
            "Dirichlet prior per class";
        vote_correlation: f64 = 0.1, [float 0.0 .. 1.0],
            "As `fusion.correlation`, for a primitive's weight in the posterior: 1 counts every primitive once, 0 every point";
        ellipsoid_mass: f64 = 0.1, [float 0.001 .. 0.99], symbol "τ̃",
            "Share of a Gaussian's mass inside its ellipsoid";
        shape: Shape = Shape::Ellipsoid, [choice Shape],
            "Form of a primitive's ellipsoid";
        distance: Distance = Distance::Euclidean, [choice Distance], symbol "d*",
            "Length that the kernel takes for the distance to an ellipsoid";
    }
    views: ViewsConfig, "Voxels, ground cells and beliefs that are read from the map" {
        resolution: f64 = 0.2, [float 0.005 .. 10.0], unit "m", symbol "r",
            "Side of a voxel of the live view";
        live_voxels: bool = true, [flag],
            "Keep a voxel view";
        update: Update = Update::OnDemand, [choice Update], flat "live_voxels_update",
            "When the voxel view is brought up to date";
        posterior: Posterior = Posterior::Refined, [choice Posterior],
            "Posterior from the refined set, or accumulated frame by frame";
        doubt: Doubt = Doubt::Conflict, [choice Doubt], symbol "u_sem",
            "Form of the semantic part of the uncertainty";
        agreement: f64 = 1.5, [float 0.1 .. 10.0],
            "Independent witnesses that all primitives at a place are worth, with `doubt` = `conflict`";
        sparsity: Sparsity = Sparsity::Literal, [choice Sparsity], symbol "u_spa",
            "Form of the evidence-sparsity part of the uncertainty";
    }
    free_space: FreeSpaceConfig, "What the beams passed through: free, occupied or unknown" {
        enabled: bool = false, [flag], flat "free_space",
            "Count where every frame saw something and what it saw through; beliefs leave out what is gone";
        sensor: LidarModel = LidarModel::Auto, [choice LidarModel], flat "free_space_sensor",
            "The LiDAR; `auto` estimates its beams and columns from every scan";
        max_range: f64 = 30.0, [float 1.0 .. 300.0], flat "free_space_max_range", unit "m",
            "Space farther away is not called free";
        pose_error: f64 = 0.0, [float 0.0 .. 10.0], flat "free_space_pose_error", unit "°", symbol "θ",
            "Error of the pose's direction that is tolerated";
        movable_weight: f64 = 0.5, [float 0.01 .. 100.0], flat "free_space_movable_weight", symbol "κ",
            "Frames that a hit of a class that can move outweighs";
        static_weight: f64 = 4.0, [float 0.01 .. 100.0], flat "free_space_static_weight", symbol "κ",
            "Frames that a hit of any other class outweighs";
    }
    run: RunConfig, "How the work is done" {
        seed: u64 = 0, [integer 0 .. i64::MAX as u64],
            "Seed of the random choices in clustering";
        threads: usize = 0, [integer 0 .. 1024],
            "Threads to use; 0: one per core";
    }
}

/// All parameters, in the order in which they are printed.
pub fn fields() -> &'static [Field] {
    FIELDS
}

/// The records that the parameters are grouped in, in the same order.
pub fn records() -> &'static [Record] {
    RECORDS
}
