"""The extension module. Use the names that `e2bki` and its modules give them."""

from collections.abc import Iterable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Literal, TypedDict, TypeVar, final, overload

import numpy as np
import pandas
import pyarrow
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray
from typing_extensions import Unpack

_Path = str | PathLike[str]
_Classes = Classes | Sequence[str]
_Baseline = TypeVar("_Baseline", bound="Baseline")

__version__: str
#: Export formats: name -> (ending, meaning).
EXPORTS: dict[str, tuple[str, str]]

class Error(ValueError):
    """Something that cannot be done as asked. The message names what is at fault; maps are unchanged."""

class DamagedMapError(Error):
    """A map file that is not as it was written; see `recover`."""

class ConfigField(TypedDict):
    name: str
    key: str
    symbol: str
    unit: str
    about: str
    allowed: str
    default: float | int | bool | str | list[float] | list[list[float]]

class _Parameters(TypedDict, total=False):
    min_range: float
    max_range: float
    temperature: float
    confusion: Sequence[Sequence[float]]
    label_strength: float
    label_neighbourhood: float
    context: float
    class_trust: float
    class_weights: Sequence[float]
    clustering: Literal["cells", "kmeans++", "fps", "random"]
    cell_size: float
    merge_same_cell: bool
    cluster_count: Literal["points", "total", "per-class"]
    clusters: int
    points_per_cluster: int
    min_points_per_cluster: int
    max_extent: float
    kmeans_iterations: int
    correlation: float
    correlated: Literal["frame", "lifetime"]
    gate: Literal["dynamic", "static", "hybrid", "off"]
    drop_uncertain: float
    max_uncertainty: float
    gated: Literal["drop", "mute"]
    prune: bool
    merge: bool
    refinement: Literal["prune-then-merge", "one-pass"]
    prune_ratio: float
    consistency_radius: float
    merge_radius: float
    length_scale: float
    uncertainty_sensitivity: float
    reach: Literal["surface", "uniform"]
    reach_across: float
    reach_growth: float
    growth: Literal["planes", "everywhere"]
    profile: Literal["quadratic", "sparse"]
    class_reach: Sequence[float]
    prior: float
    vote_correlation: float
    ellipsoid_mass: float
    shape: Literal["ellipsoid", "sphere", "point"]
    distance: Literal["euclidean", "squared"]
    resolution: float
    live_voxels: bool
    live_voxels_update: Literal["on-demand", "every-frame"]
    posterior: Literal["refined", "accumulate"]
    doubt: Literal["ignorance", "conflict"]
    agreement: float
    sparsity: Literal["literal", "rescaled", "none"]
    free_space: bool
    free_space_sensor: Literal["auto", "hdl-32e", "hdl-64e", "os0-128", "os1-64", "os1-128", "os2-128", "vlp-16", "vlp-32c"]
    free_space_max_range: float
    free_space_pose_error: float
    free_space_movable_weight: float
    free_space_static_weight: float
    seed: int
    threads: int

@final
class Config:
    """Parameters of a map. Never changes; `replace` makes another.

    Keywords and attributes have no records: `kernel.length_scale` of a configuration file is `Config(length_scale=0.2)`.
    """

    def __new__(
        cls,
        *,
        preset: Literal["default", "paper-rellis", "paper-urban"] = "default",
        **parameters: Unpack[_Parameters],
    ) -> Config: ...
    @staticmethod
    def from_toml(text: str) -> Config:
        """Reads the text of a configuration file."""
    def to_toml(self) -> str:
        """The text of a configuration file, with a comment on every parameter."""
    def replace(self, **parameters: Unpack[_Parameters]) -> Config:
        """The same configuration with some parameters changed."""
    def to_dict(self) -> dict[str, float | int | bool | str | list[list[float]]]:
        """All parameters by name."""
    @staticmethod
    def fields() -> list[ConfigField]:
        """What there is to set."""
    @staticmethod
    def presets() -> dict[str, str]:
        """Names of the presets, with what they are for."""
    @property
    def min_range(self) -> float:
        """Nearer returns are dropped. Unit: m."""
    @property
    def max_range(self) -> float:
        """Farther returns are dropped. Unit: m."""
    @property
    def temperature(self) -> float:
        """How overconfident the source of soft semantics is: p becomes p^(1/T), evidence becomes evidence/T; hard labels
        have `label_strength` instead. Paper: T.
        """
    @property
    def confusion(self) -> list[list[float]]:
        """For every class that the source says, the shares of its evidence that go to each class; empty: it means what
        it says. `e2bki calibrate` learns it.
        """
    @property
    def label_strength(self) -> float:
        """Belief-to-ignorance ratio of a hard label when all its neighbours agree."""
    @property
    def label_neighbourhood(self) -> float:
        """Side of the cubes in which a point's neighbours are counted. Unit: m."""
    @property
    def context(self) -> float:
        """Share of a point's opinion that comes from its neighbours in the scan."""
    @property
    def class_trust(self) -> float:
        """How much less a class counts whose points stand alone among others; 0: all classes count the same."""
    @property
    def class_weights(self) -> list[float]:
        """For every class, how many times as much its beliefs count among the others at a point; empty: all the same."""
    @property
    def clustering(self) -> Literal["cells", "kmeans++", "fps", "random"]:
        """How a frame's points become primitives."""
    @property
    def cell_size(self) -> float:
        """Side of the world-anchored cubes of `cells`. Unit: m."""
    @property
    def merge_same_cell(self) -> bool:
        """Add a new primitive of `cells` to the one of its class already in its cube."""
    @property
    def cluster_count(self) -> Literal["points", "total", "per-class"]:
        """What the number of clusters means."""
    @property
    def clusters(self) -> int:
        """Clusters of a frame (`total`) or of each class (`per-class`). Paper: J."""
    @property
    def points_per_cluster(self) -> int:
        """Mean size of a cluster (`points`). Unit: points."""
    @property
    def min_points_per_cluster(self) -> int:
        """Fewest points a cluster has on average: a class of few points gets fewer clusters (`total`, `per-class`). Unit: points."""
    @property
    def max_extent(self) -> float:
        """Largest side of a cluster's bounding box; wider clusters and those that bridge a gap are split; inf: only those over 50 m are. Unit: m."""
    @property
    def kmeans_iterations(self) -> int:
        """Most Lloyd iterations of K-means."""
    @property
    def correlation(self) -> float:
        """Correlation ρ between the errors of a primitive's points: w points count as w/(1+ρ(w-1)) witnesses."""
    @property
    def correlated(self) -> Literal["frame", "lifetime"]:
        """Which points of a primitive `correlation` is between."""
    @property
    def gate(self) -> Literal["dynamic", "static", "hybrid", "off"]:
        """Which primitives of a frame are too uncertain to keep. Paper: U_thr."""
    @property
    def drop_uncertain(self) -> float:
        """Share of a frame's most uncertain primitives that the dynamic gate stops. Paper: ũ."""
    @property
    def max_uncertainty(self) -> float:
        """Largest uncertainty that the static gate lets through."""
    @property
    def gated(self) -> Literal["drop", "mute"]:
        """What happens to a primitive that the gate stops."""
    @property
    def prune(self) -> bool:
        """Remove distant primitives that nearer ones contradict."""
    @property
    def merge(self) -> bool:
        """Make agreeing neighbours one primitive."""
    @property
    def refinement(self) -> Literal["prune-then-merge", "one-pass"]:
        """Order of pruning and merging within a frame."""
    @property
    def prune_ratio(self) -> float:
        """How many times farther away the pruned primitive was seen from. Paper: ε."""
    @property
    def consistency_radius(self) -> float:
        """Neighbours within this radius must agree before they merge. Unit: m. Paper: d_L."""
    @property
    def merge_radius(self) -> float:
        """Agreeing neighbours within this radius merge. Unit: m. Paper: d_S."""
    @property
    def length_scale(self) -> float:
        """Kernel length. Unit: m. Paper: ℓ."""
    @property
    def uncertainty_sensitivity(self) -> float:
        """Scale of the kernel's reach ℓβe^(1-u). Paper: β."""
    @property
    def reach(self) -> Literal["surface", "uniform"]:
        """How far the kernel reaches in each direction."""
    @property
    def reach_across(self) -> float:
        """How far the kernel reaches across a surface, with `reach` = `surface`. Unit: m."""
    @property
    def reach_growth(self) -> float:
        """How much farther the kernel reaches for every 10 m of range, up to 50 m: beams spread. With `growth` = `everywhere` or `reach` = `uniform` 0.1 to 0.25 is enough."""
    @property
    def growth(self) -> Literal["planes", "everywhere"]:
        """Where the reach grows with range, with `reach` = `surface`."""
    @property
    def profile(self) -> Literal["quadratic", "sparse"]:
        """How the kernel falls from a primitive to where its reach ends."""
    @property
    def class_reach(self) -> list[float]:
        """For every class, how many times as far its kernels reach; empty: all as far."""
    @property
    def prior(self) -> float:
        """Dirichlet prior per class. Paper: α0."""
    @property
    def vote_correlation(self) -> float:
        """As `fusion.correlation`, for a primitive's weight in the posterior: 1 counts every primitive once, 0 every
        point.
        """
    @property
    def ellipsoid_mass(self) -> float:
        """Share of a Gaussian's mass inside its ellipsoid. Paper: τ̃."""
    @property
    def shape(self) -> Literal["ellipsoid", "sphere", "point"]:
        """Form of a primitive's ellipsoid."""
    @property
    def distance(self) -> Literal["euclidean", "squared"]:
        """Length that the kernel takes for the distance to an ellipsoid. Paper: d*."""
    @property
    def resolution(self) -> float:
        """Side of a voxel of the live view. Unit: m. Paper: r."""
    @property
    def live_voxels(self) -> bool:
        """Keep a voxel view."""
    @property
    def live_voxels_update(self) -> Literal["on-demand", "every-frame"]:
        """When the voxel view is brought up to date."""
    @property
    def posterior(self) -> Literal["refined", "accumulate"]:
        """Posterior from the refined set, or accumulated frame by frame."""
    @property
    def doubt(self) -> Literal["ignorance", "conflict"]:
        """Form of the semantic part of the uncertainty. Paper: u_sem."""
    @property
    def agreement(self) -> float:
        """Independent witnesses that all primitives at a place are worth, with `doubt` = `conflict`."""
    @property
    def sparsity(self) -> Literal["literal", "rescaled", "none"]:
        """Form of the evidence-sparsity part of the uncertainty. Paper: u_spa."""
    @property
    def free_space(self) -> bool:
        """Count where every frame saw something and what it saw through; beliefs leave out what is gone."""
    @property
    def free_space_sensor(
        self,
    ) -> Literal["auto", "hdl-32e", "hdl-64e", "os0-128", "os1-64", "os1-128", "os2-128", "vlp-16", "vlp-32c"]:
        """The LiDAR; `auto` estimates its beams and columns from every scan."""
    @property
    def free_space_max_range(self) -> float:
        """Space farther away is not called free. Unit: m."""
    @property
    def free_space_pose_error(self) -> float:
        """Error of the pose's direction that is tolerated. Unit: °. Paper: θ."""
    @property
    def free_space_movable_weight(self) -> float:
        """Frames that a hit of a class that can move outweighs. Paper: κ."""
    @property
    def free_space_static_weight(self) -> float:
        """Frames that a hit of any other class outweighs. Paper: κ."""
    @property
    def seed(self) -> int:
        """Seed of the random choices in clustering."""
    @property
    def threads(self) -> int:
        """Threads to use; 0: one per core."""

@final
class Classes:
    """Names and colours of the classes, in the order of their ids 0, 1, 2, ..."""

    def __new__(
        cls,
        names: _Classes,
        *,
        colors: ArrayLike | None = None,
        costs: dict[str, int] | None = None,
        movable: Sequence[str] | None = None,
    ) -> Classes: ...
    @staticmethod
    def named(name: str) -> Classes:
        """The classes of a table that comes with the package, or of a TOML file."""
    @property
    def names(self) -> list[str]:
        """Names by id."""
    @property
    def colors(self) -> NDArray[np.uint8]:
        """Display colours by id: (C, 3)."""
    @property
    def costs(self) -> dict[str, int]:
        """What driving on a class costs, 0 to 100 (an obstacle); only the classes of which that is known."""
    @property
    def movable(self) -> list[str]:
        """Classes whose things can move."""
    def find(self, name: str) -> int | None:
        """Id of the class of that name."""
    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> str: ...

class _Semantics(TypedDict, total=False):
    probabilities: ArrayLike | None
    uncertainty: ArrayLike | None
    evidence: ArrayLike | None
    dirichlet: ArrayLike | None
    logits: ArrayLike | None
    logit_kind: Literal["softmax", "evidential"] | None
    labels: ArrayLike | None
    world_from_sensor: ArrayLike | None
    scan: ArrayLike | None
    rings: ArrayLike | None

class _Labelled(_Semantics, total=False):
    truth: ArrayLike | None

@final
class Frame:
    """A scan: points, what is known of their classes, and where the sensor was."""

    def __new__(cls, points: ArrayLike, **semantics: Unpack[_Labelled]) -> Frame: ...
    @property
    def points(self) -> NDArray[np.float32]:
        """Points in sensor coordinates, metres: (N, 3)."""
    @property
    def world_points(self) -> NDArray[np.float64]:
        """Points in world coordinates, metres: (N, 3)."""
    @property
    def world_from_sensor(self) -> NDArray[np.float64]:
        """Pose of the sensor, metres: (4, 4)."""
    @property
    def semantics(self) -> str:
        """In which form the semantics are given."""
    @property
    def labels(self) -> NDArray[np.int32] | None:
        """Class of each point, -1 for none: (N,)."""
    @property
    def evidence(self) -> NDArray[np.float32] | None:
        """Evidence of each class: (N, C)."""
    @property
    def dirichlet(self) -> NDArray[np.float32] | None:
        """Dirichlet parameters: (N, C)."""
    @property
    def probabilities(self) -> NDArray[np.float32] | None:
        """Probability of each class: (N, C)."""
    @property
    def uncertainty(self) -> NDArray[np.float32] | None:
        """Uncertainty beside the probabilities: (N,)."""
    @property
    def logits(self) -> NDArray[np.float32] | None:
        """Raw outputs of a network: (N, C)."""
    @property
    def truth(self) -> NDArray[np.int32] | None:
        """True class of each point, -1 where not known: (N,)."""
    @property
    def id(self) -> int | None:
        """Number of the frame in its dataset or drive."""
    @property
    def name(self) -> str | None:
        """Name of the frame's files."""
    @property
    def pixels(self) -> NDArray[np.float64] | None:
        """Column, row (pixels) and depth (metres) in the image: (N, 3), NaN outside."""
    @property
    def image(self) -> Path | None:
        """File of the camera image."""
    @property
    def picture(self) -> NDArray[np.uint8] | None:
        """The camera image: (H, W, 3)."""
    @property
    def intensity(self) -> NDArray[np.float32] | None:
        """Intensity of each return: (N,); simulated frames only."""
    @property
    def moving(self) -> NDArray[np.bool_] | None:
        """Whether each return is of something that moves: (N,); simulated frames only."""
    @property
    def counts(self) -> dict[str, int] | None:
        """What became of the places of the file while reading; datasets only."""
    def __len__(self) -> int: ...

@final
class Dropped:
    """Points of a frame that were not used, by reason."""

    non_finite_point: int
    no_return: int
    too_near: int
    too_far: int
    non_finite_semantics: int
    improper_opinion: int
    unlabelled: int
    no_evidence: int
    total: int
    def to_dict(self) -> dict[str, int]:
        """Counts by reason."""

@final
class Timings:
    """Seconds spent in each stage of an insertion."""

    sanitise: float
    context: float
    cluster: float
    fuse: float
    insert: float
    refine: float
    view: float
    total: float
    def to_dict(self) -> dict[str, float]:
        """Seconds by stage."""

@final
class FrameReport:
    """Account of an inserted frame: received = kept + dropped.total, always."""

    received: int
    kept: int
    dropped: Dropped
    repaired: int
    clusters: int
    gated: int
    folded: int
    saturated: int
    pruned: int
    merged: int
    primitives: int
    voxels_updated: int
    counted: bool
    moving: int
    free_space_off: str | None
    timings: Timings

class Beliefs:
    """Dirichlet posteriors at N places. Arrays are made when first asked for and kept."""

    @property
    def label(self) -> NDArray[np.int32]:
        """Most likely class, -1 where nothing was observed: (N,)."""
    @property
    def observed(self) -> NDArray[np.bool_]:
        """Whether anything reaches here: (N,)."""
    @property
    def state(self) -> NDArray[np.uint8]:
        """What is known of the place: 0 unknown, 1 free, 2 occupied; 0 without free space and in live voxels: (N,)."""
    @property
    def existence(self) -> NDArray[np.float64]:
        """From 0, always seen through, to 1, always hit; NaN where nothing is known: (N,)."""
    @property
    def hits(self) -> NDArray[np.uint32]:
        """Frames that had a return in the cube of the place: (N,)."""
    @property
    def passes(self) -> NDArray[np.uint32]:
        """Frames that saw through the cube of the place: (N,)."""
    @property
    def last_seen(self) -> NDArray[np.float64]:
        """When the block of 2 m around the place was last seen, seconds; NaN where no frame with a time saw it: (N,)."""
    @property
    def first_seen(self) -> NDArray[np.float64]:
        """The same for the first time it was seen: (N,)."""
    def as_of(self, time: float, half_life: ArrayLike) -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
        """State and existence with what was not seen for long forgotten: a way of reading, the map stays as it is.

        time: seconds, as of the frames.
        half_life: seconds for all classes, or (K,) for each, infinite for what is never forgotten. After it, unseen,
            existence is half as far from 1/2 as it was, and the place is unknown.
        """
    @property
    def u_sem(self) -> NDArray[np.float64]:
        """Semantic uncertainty, how unsure the network was: (N,)."""
    @property
    def u_spa(self) -> NDArray[np.float64]:
        """Evidence sparsity, how little was seen here: (N,)."""
    @property
    def u(self) -> NDArray[np.float64]:
        """Total uncertainty u_sem + u_spa, at most 1: (N,)."""
    @property
    def variance(self) -> NDArray[np.float64]:
        """Dirichlet variance of the most likely class: (N,)."""
    @property
    def confidence(self) -> NDArray[np.float64]:
        """Expected probability of the most likely class: (N,)."""
    @property
    def evidence(self) -> NDArray[np.float64]:
        """Kernel mass of the primitives that reach here: (N,)."""
    @property
    def strength(self) -> NDArray[np.float64]:
        """Sum of the Dirichlet parameters: (N,)."""
    @property
    def alpha(self) -> NDArray[np.float64]:
        """Dirichlet parameters: (N, C)."""
    @property
    def probability(self) -> NDArray[np.float64]:
        """Expected probability of each class: (N, C)."""
    @property
    def seconds(self) -> float | None:
        """Seconds that the map itself took to answer `Map.query`, or None."""
    @property
    def classes(self) -> Classes:
        """The classes."""
    def to_pandas(self) -> pandas.DataFrame:
        """One row per place. Needs pandas."""
    def to_arrow(self) -> pyarrow.Table:
        """One row per place. Needs pyarrow."""
    def __len__(self) -> int: ...

@final
class Voxels(Beliefs):
    """Voxels that hold evidence, with their beliefs."""

    @property
    def resolution(self) -> float:
        """Side of a voxel, metres."""
    @property
    def center(self) -> NDArray[np.float64]:
        """Centres, metres: (M, 3)."""

@final
class Cells(Beliefs):
    """Bird's-eye cells that hold evidence, with their beliefs."""

    @property
    def resolution(self) -> float:
        """Side of a cell, metres."""
    @property
    def center(self) -> NDArray[np.float64]:
        """Centres x, y, metres: (M, 2)."""

@final
class Primitives:
    """The Gaussian primitives of a map, oldest first, as arrays of J rows."""

    id: NDArray[np.uint64]
    mean: NDArray[np.float64]
    covariance: NDArray[np.float64]
    probability: NDArray[np.float32]
    log_evidence: NDArray[np.float64]
    uncertainty: NDArray[np.float64]
    ln_uncertainty: NDArray[np.float64]
    weight: NDArray[np.float64]
    range: NDArray[np.float64]
    label: NDArray[np.int32]
    reach: NDArray[np.float64]
    semi_axes: NDArray[np.float64]
    axes: NDArray[np.float64]
    classes: Classes
    def to_pandas(self) -> pandas.DataFrame:
        """One row per primitive. Needs pandas."""
    def to_arrow(self) -> pyarrow.Table:
        """One row per primitive. Needs pyarrow."""
    def __len__(self) -> int: ...

@final
class Map:
    """A semantic map: insert frames, ask for beliefs. Several threads may use one map."""

    def __new__(
        cls, classes: _Classes, *, config: Config | None = None, submaps: float | None = None, source: str = "drive"
    ) -> Map: ...
    @overload
    def insert(self, points: Frame, /, *, time: float | None = None) -> FrameReport: ...
    @overload
    def insert(
        self, points: ArrayLike, *, time: float | None = None, **semantics: Unpack[_Semantics]
    ) -> FrameReport:
        """Adds a scan. On an exception the map is unchanged, but for a KeyboardInterrupt that comes while the map is being
        changed: that is finished first, and a note of the exception says that the frame is in (`frames` tells, too).

        points: (N, 3), metres, in sensor coordinates. What they are, in exactly one form:
        evidence: (N, C), zero or more; dirichlet: (N, C), evidence plus one;
        probabilities: (N, C), with uncertainty (N,) from 0 to 1 or without;
        logits: (N, C), of an ordinary network, or of an evidential one with logit_kind="evidential";
        labels: (N,) whole numbers, what is none of the classes is unlabelled.
        world_from_sensor: (4, 4) rigid motion, metres; where the sensor was.
        scan: (M, 3), all returns of the scan, where `points` are only some of it (as in a camera's view): for free space.
        rings: (M,) whole numbers, which beam each return of the scan is from, or of the points where no scan is given.
        time: seconds, when it was (`Beliefs.last_seen`).
        """
    def query(self, points: ArrayLike) -> Beliefs:
        """Beliefs at world positions: points (N, 3), metres."""
    def query_bev(self, points: ArrayLike, *, band: tuple[float, float] | None = None) -> Beliefs:
        """Beliefs at world positions seen from above: points (N, 2), metres; their state is that of the space over the
        ground between the two heights of the band (0.5 and 1.75 m if not given)."""
    def moving(self, points: ArrayLike, *, world_from_sensor: ArrayLike) -> NDArray[np.bool_]:
        """For every point (N, 3) of a scan whether it is in space that is known to be free, so that it moves."""
    def primitives(self) -> Primitives:
        """The Gaussians of the map as arrays: by place and class, or oldest first in maps that are not sums."""
    def content_hash(self) -> str:
        """A hash of what the map holds: the same for maps of the same frames in any order, if they are sums."""
    def voxels(self, *, resolution: float | None = None) -> Voxels:
        """Voxels of any side (metres) that hold evidence."""
    def live_voxels(self) -> Voxels:
        """The voxels of the live view, up to date; only the most likely class is known."""
    def bev(self, *, resolution: float | None = None, band: tuple[float, float] | None = None) -> Cells:
        """Bird's-eye cells of any side (metres) that hold evidence; their state is that of the space over the ground
        between the two heights of the band (0.5 and 1.75 m if not given)."""
    def layers(
        self,
        *,
        resolution: float = 0.2,
        region: ArrayLike | None = None,
        robot: _Path | dict[str, Any] | None = None,
        unknown: Literal["error", "lethal"] = "error",
    ) -> dict[str, Any]:
        """Grids for planners: every layer by name as an array of rows x columns, row 0 the southernmost."""
    def plan(
        self,
        start: ArrayLike,
        goal: ArrayLike,
        *,
        resolution: float = 0.2,
        region: ArrayLike | None = None,
        robot: _Path | dict[str, Any] | None = None,
        unknown: Literal["error", "lethal"] = "error",
    ) -> dict[str, Any]:
        """The cheapest way between two places for a robot, as arrays."""
    def save(self, path: _Path, *, sources: Sequence[str] = ...) -> None:
        """Saves the map to a file, whole or not at all."""
    def export(
        self,
        path: _Path,
        *,
        format: str | None = None,
        resolution: float | None = None,
        costs: dict[str, int] | None = None,
        max_uncertainty: float = 1.0,
        gone: bool = False,
    ) -> list[Path]:
        """Writes the map in the format of another program (see `EXPORTS`); returns the files written."""
    def submaps(self) -> list[Submap]:
        """What every stretch of a drive added, if that is kept (`Map(..., submaps=20.0)`)."""
    def begin_submap(self, source: str | None = None) -> None:
        """The next frame begins a submap; with a source, of a drive of that name."""
    def remove(self, *, submaps: Sequence[int] | None = None, source: str | None = None) -> SubmapChange:
        """Takes submaps (ids) or all of a source out: the map is then exactly that of the others."""
    def correct(self, poses: dict[int, Any], *, body_from_sensor: Any = None) -> SubmapChange:
        """Moves submaps to corrected poses: {id: world_from_submap}, (4, 4) rigid motions.

        Poses that are plainly of another sensor are refused: body_from_sensor says where the sensor is on what they are of.
        """
    def correct_frames(
        self, poses: dict[int, Any], *, source: str | None = None, body_from_sensor: Any = None
    ) -> SubmapChange:
        """Moves everything along with corrected frames: {number: world_from_sensor}, (4, 4) rigid motions."""
    def merge(self, other: Map, *, trust: float = 1.0) -> FrameReport:
        """Adds all primitives of another map of the same classes; trust is a factor of its log-evidence."""
    def remove_outside(self, low: ArrayLike, *, high: ArrayLike) -> int:
        """Forgets every primitive whose mean lies outside of a box (corners, metres); returns how many."""
    def copy(self) -> Map:
        """Another map with the same contents."""
    def __copy__(self) -> Map: ...
    def __deepcopy__(self, memo: Any, /) -> Map: ...
    def to_pandas(self) -> pandas.DataFrame:
        """The primitives, one row each. Needs pandas."""
    def to_arrow(self) -> pyarrow.Table:
        """The primitives, one row each. Needs pyarrow."""
    def view(self, **options: Unpack[_Viewing]) -> Viewer:
        """Shows the map in the browser; see `view`."""
    def report(self, path: _Path, *, title: str = "A map", trajectory: ArrayLike | None = None) -> None:
        """Writes a report to look at: one HTML file."""
    def plot_bev(
        self,
        *,
        value: Literal["class", "u", "u_sem", "u_spa", "variance", "confidence"] = "class",
        resolution: float | None = None,
        ax: Axes | None = None,
    ) -> Axes:
        """Draws the map from above. Needs matplotlib."""
    @property
    def classes(self) -> Classes:
        """The classes."""
    @property
    def config(self) -> Config:
        """The parameters."""
    @property
    def frames(self) -> int:
        """Frames inserted so far."""
    @property
    def byte_size(self) -> dict[str, int]:
        """Bytes held by "primitives", "index", "voxels" and "submaps", and their "total"."""
    def __len__(self) -> int: ...
    def __bool__(self) -> Literal[True]: ...

@final
class RollingMap:
    """A map that keeps to a byte budget: what is far away waits in a folder."""

    def __new__(
        cls, classes: _Classes, *, folder: _Path, budget: int, config: Config | None = None
    ) -> RollingMap: ...
    @staticmethod
    def open(folder: _Path, *, budget: int) -> RollingMap:
        """Goes on with a map in a folder, in so many bytes of memory."""
    @overload
    def insert(self, points: Frame, /) -> FrameReport: ...
    @overload
    def insert(self, points: ArrayLike, **semantics: Unpack[_Semantics]) -> FrameReport:
        """Adds a scan; see `Map.insert`."""
    def query(self, points: ArrayLike) -> Beliefs:
        """Beliefs at world positions, (N, 3) metres; only the most likely class of each is known."""
    def save(self) -> tuple[int, int]:
        """Makes the folder the map as it is now; returns how many of the tiles in memory were written, and how many the
        folder has already as they are. Under a small budget the first may be 0: tiles went there to make room."""
    def into_map(self) -> Map:
        """The whole map in memory. This object cannot be used afterwards."""
    @property
    def classes(self) -> Classes:
        """The classes."""
    @property
    def peak_bytes(self) -> int:
        """Most bytes that were in memory so far."""
    def __len__(self) -> int: ...
    def __bool__(self) -> Literal[True]: ...

class Submap(TypedDict):
    id: int
    source: str
    frames: int
    sums: int
    low: list[float]
    high: list[float]
    world_from_submap: NDArray[np.float64]
    trust: float

class SubmapChange(TypedDict):
    submaps: int
    altered: int
    made: int
    removed: int

class MapInfo(TypedDict):
    classes: Classes
    config: Config
    frames: int
    primitives: int
    bytes: int
    tiles: int
    sources: list[str]

class Recovered(TypedDict):
    primitives: int
    tiles: int
    lost: list[str]
    primitives_lost: int | None

class Merged(TypedDict):
    primitives_before: int
    primitives: int
    sources: list[str]
    submaps: int | None

def load(
    path: _Path, *, region: tuple[ArrayLike, ArrayLike] | None = None, submaps: bool = False
) -> Map:
    """Loads a map from a file or folder; of a file, only what beliefs in a region (two corners, metres) depend on, or
    also what its submaps added."""

def import_npz(path: _Path) -> Map:
    """A map from the NumPy archive that `Map.export` wrote."""

def info(path: _Path) -> MapInfo:
    """What a map file or folder holds, without loading it."""

def check(path: _Path) -> list[str]:
    """Checks a map thoroughly; returns everything that is wrong with it."""

def recover(damaged: _Path, *, out: _Path) -> Recovered:
    """Saves what is whole in a damaged map to another file."""

def merge_files(
    paths: Sequence[_Path],
    *,
    out: _Path,
    world_from_map: Sequence[ArrayLike] | None = None,
    config: Config | None = None,
    allow_duplicates: bool = False,
    trust: dict[str, float] | None = None,
) -> Merged:
    """Merges map files by class name into one file."""

def fleet_init(store: str, like: _Path) -> None:
    """See `e2bki.fleet.init`."""

def fleet_add(store: str, run: str, path: _Path, key: str | None = None) -> str:
    """See `e2bki.fleet.add`."""

def fleet_plan(store: str) -> list[tuple[tuple[int, int], bool]]:
    """See `e2bki.fleet.plan`."""

def fleet_reduce(store: str, tiles: Sequence[tuple[int, int]]) -> int:
    """See `e2bki.fleet.reduce`."""

def fleet_commit(store: str, again: Sequence[str]) -> str:
    """See `e2bki.fleet.commit`."""

def fleet_remove(store: str, run: str, reason: str, purge: bool) -> str:
    """See `e2bki.fleet.remove`."""

def fleet_verify(store: str, remake: bool) -> list[str]:
    """See `e2bki.fleet.verify`."""

def fleet_clean(store: str) -> tuple[int, int]:
    """See `e2bki.fleet.clean`."""

def fleet_levels(store: str) -> tuple[int, int]:
    """See `e2bki.fleet.levels`."""

def fleet_export(store: str, out: _Path, manifest: int | None = None) -> None:
    """See `e2bki.fleet.export`."""

def fleet_status(store: str) -> str:
    """See `e2bki.fleet.status`."""

class Baseline:
    """A method to compare with; see the classes of `e2bki.baselines`."""

    def __new__(
        cls: type[_Baseline],
        method: str,
        classes: _Classes,
        *,
        config: Config | None = None,
        bev: bool = False,
        thinning: tuple[int, float] | None = None,
        kernels: ConvKernels | None = None,
    ) -> _Baseline: ...
    @overload
    def insert(self, points: Frame, /) -> FrameReport: ...
    @overload
    def insert(self, points: ArrayLike, **semantics: Unpack[_Semantics]) -> FrameReport:
        """Adds a scan; see `Map.insert`."""
    def query(self, points: ArrayLike) -> Beliefs:
        """Beliefs of the voxels that hold world positions: points (N, 3), metres."""
    def query_bev(self, points: ArrayLike) -> Beliefs:
        """Beliefs of the bird's-eye cells that hold positions: points (N, 2), metres. Needs bev=True."""
    def view(self, **options: Unpack[_Viewing]) -> Viewer:
        """Shows the map in the browser; see `view`."""
    def voxels(self) -> Voxels:
        """All voxels that hold evidence."""
    def bev(self) -> Cells:
        """All bird's-eye cells that hold evidence. Needs bev=True."""
    @property
    def method(self) -> str:
        """The method's name in tables."""
    @property
    def classes(self) -> Classes:
        """The classes."""
    @property
    def resolution(self) -> float:
        """Side of the voxels, metres."""
    @property
    def byte_size(self) -> int:
        """Bytes held."""

@final
class ConvKernels:
    """Lengths of ConvBKI's kernels, metres, by class."""

    def __new__(cls, horizontal: ArrayLike, *, vertical: ArrayLike) -> ConvKernels: ...
    @staticmethod
    def from_toml(text: str, *, classes: _Classes) -> ConvKernels: ...
    def to_toml(self, *, classes: _Classes) -> str: ...
    @property
    def horizontal(self) -> NDArray[np.float64]:
        """Lengths in the plane, metres: (C,)."""
    @property
    def vertical(self) -> NDArray[np.float64]:
        """Lengths along z, metres: (C,)."""

def train(
    frames: Iterable[Frame],
    *,
    classes: _Classes,
    config: Config | None = None,
    epochs: int = 15,
    window: int = 10,
    batch: int = 2,
    learning_rate: float = 0.007,
    decay: float = 0.96,
    seed: int = 42,
) -> tuple[ConvKernels, list[float]]:
    """Learns ConvBKI's kernels from frames of one drive that have `truth`; returns them and the loss of every epoch."""

class _Viewing(TypedDict, total=False):
    names: Sequence[str] | None
    frames: Iterable[Frame] | None
    trajectory: ArrayLike | None
    resolution: float | None
    live: bool
    host: str
    port: int

@final
class Viewer:
    """A page that shows maps. It is served until `close`, the end of a `with` block, or the end of this object."""

    @property
    def url(self) -> str:
        """What to open in a browser."""
    @property
    def port(self) -> int:
        """Port of the page."""
    @property
    def closed(self) -> bool:
        """Whether the page is no longer served."""
    def open(self) -> bool:
        """Opens the page in the user's browser, where there is one."""
    def close(self) -> None:
        """Stops serving; once is enough."""
    def __enter__(self) -> Viewer: ...
    def __exit__(self, *_raised: object) -> None: ...

def view(
    *maps: Map | Baseline | _Path,
    names: Sequence[str] | None = None,
    frames: Iterable[Frame] | None = None,
    trajectory: ArrayLike | None = None,
    resolution: float | None = None,
    live: bool = False,
    host: str = "127.0.0.1",
    port: int = 7878,
) -> Viewer:
    """Shows one map or two side by side in the browser; `live` follows one map while frames are inserted into it."""

@final
class Camera:
    """A pinhole camera with a lens, mounted on the sensor. Camera axes: x right, y down, z along the view."""

    def __new__(
        cls,
        size: tuple[int, int],
        *,
        focal: tuple[float, float],
        center: tuple[float, float],
        distortion: tuple[float, float, float, float, float] | None = None,
        camera_from_sensor: ArrayLike | None = None,
        pixel_center: float = 0.5,
    ) -> Camera: ...
    def project(self, points: ArrayLike) -> NDArray[np.float64]:
        """Column, row (pixels) and depth (metres) of points (N, 3): (N, 3), NaN outside of the image."""
    def visible(self, points: ArrayLike, *, window: int = 5) -> NDArray[np.bool_]:
        """Whether the camera sees each point (N, 3): (N,)."""
    def sample(self, points: ArrayLike, *, values: ArrayLike) -> NDArray[np.float32]:
        """Values (C, H, W) of a network at points (N, 3): (N, C), bilinear, NaN outside of the image."""
    @property
    def size(self) -> tuple[int, int]:
        """Width and height, pixels."""
    @property
    def focal(self) -> tuple[float, float]:
        """Focal lengths, pixels."""
    @property
    def center(self) -> tuple[float, float]:
        """Principal point, pixels."""
    @property
    def camera_from_sensor(self) -> NDArray[np.float64]:
        """Sensor to camera, metres: (4, 4)."""

@final
class Dataset:
    """A dataset whose frames can be read in any order, or one after the other while the next ones are read ahead."""

    def __new__(
        cls,
        path: _Path,
        *,
        format: Literal["rellis3d", "kitti360", "semantickitti", "folder", "pandaset", "bag"] | None = None,
        sequence: str | None = None,
        split: str | None = None,
        classes: str | PathLike[str] | _Classes | None = None,
        semantics: str | PathLike[str] | None = None,
        semantic_ids: str | None = None,
        ground_truth: Literal["off", "auto", "pixels", "points"] = "off",
        only_in_image: bool = False,
        occlusion_window: int | None = None,
        deskew: bool | None = None,
        no_distortion: bool = False,
        pictures: bool = False,
        topic: str | None = None,
        image_topic: str | None = None,
        poses: str | None = None,
    ) -> Dataset: ...
    def frames(
        self, *, start: int | None = None, stop: int | None = None, every: int = 1, ahead: int = 2
    ) -> Frames:
        """Frames in order (numbers from start, before stop), the next ones read on another thread meanwhile."""
    def __iter__(self) -> Frames: ...
    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> Frame: ...
    @property
    def classes(self) -> Classes:
        """The classes."""
    @property
    def format(self) -> str:
        """Layout of the folder."""
    @property
    def sequence(self) -> str:
        """Name of the open sequence."""
    @property
    def sequences(self) -> list[str]:
        """Names of all sequences of the folder."""
    @property
    def ids(self) -> list[int]:
        """Numbers of the frames."""
    @property
    def notes(self) -> list[str]:
        """What was assumed while opening, in words."""
    @property
    def skipped(self) -> dict[str, list[int]]:
        """Numbers of frames that were left out: "without_pose" and "without_semantics"."""
    @property
    def camera(self) -> Camera:
        """The camera."""

@final
class Frames(Iterator[Frame]):
    """Frames that are read ahead."""

    def __next__(self) -> Frame: ...

def class_tables() -> list[str]:
    """Names of the class tables that come with the package."""

def alignment(points: ArrayLike, *, to: ArrayLike, step: int = 1) -> float | None:
    """Median distance in metres from every step-th point (N, 3) to the nearest of the other (M, 3)."""

class SimImage(TypedDict):
    rgb: NDArray[np.uint8]
    labels: NDArray[np.int32]
    range: NDArray[np.float32]

@final
class Drive:
    """A simulated drive without end. The same arguments give the same bytes."""

    def __new__(
        cls,
        world: Literal["offroad", "urban"] = "offroad",
        *,
        seed: int = 1,
        sensor: Literal["os1-64", "os1-128", "hdl-64e"] | None = None,
        columns: int | None = None,
        season: Literal["spring", "summer", "autumn", "winter"] = "summer",
        lighting: Literal["sunny", "overcast", "evening", "changing"] = "sunny",
        cruise_mps: float | None = None,
        skew: bool = False,
        image_width: int | None = None,
        pose_noise: tuple[float, float] = ...,
        calibration_error: tuple[float, float] = ...,
        route: Literal["endless", "loop", "eight"] = "endless",
        round_m: float = 400.0,
        start_m: float = 0.0,
        drift: tuple[float, float] = ...,
    ) -> Drive: ...
    def frame(self, index: int, *, network: float | None = None) -> Frame:
        """A LiDAR frame with its truth; with the evidence of a network trained on a share of the data, or true labels."""
    def frames(
        self, count: int, *, start: int = 0, every: int = 1, network: float | None = None
    ) -> SimFrames:
        """So many frames, one after the other."""
    def image(self, index: int) -> SimImage:
        """The camera image taken with a frame."""
    def world_from_sensor(self, index: int) -> NDArray[np.float64]:
        """The reported pose of a frame, metres: (4, 4)."""
    @property
    def classes(self) -> Classes:
        """The classes."""

@final
class SimFrames(Iterator[Frame]):
    """Frames of a simulated drive, made as they are asked for."""

    def __next__(self) -> Frame: ...
    def __len__(self) -> int: ...

class Simulated(TypedDict):
    written: int
    kept: int
    points: int

def simulate(
    out: _Path,
    *,
    format: Literal["rellis3d", "kitti360", "semantickitti"],
    world: Literal["offroad", "urban"] = "offroad",
    frames: int = 100,
    seed: int = 1,
    sensor: Literal["os1-64", "os1-128", "hdl-64e"] | None = None,
    standard: Literal["rellis-like", "offroad-like", "kitti360-like"] | None = None,
    images: bool = True,
) -> Simulated:
    """Writes a simulated drive in the layout of a real dataset."""

def evaluate_beliefs(truth: ArrayLike, beliefs: Beliefs, reading: str) -> str: ...
def evaluate_labels(truth: ArrayLike, labels: ArrayLike, classes: int, confidence: ArrayLike | None) -> str: ...
def calibrate_source(
    frames: Iterable[Frame], classes: _Classes, config: Config | None
) -> tuple[Config, str] | None: ...
def compare(
    frames: Iterable[Frame],
    methods: Sequence[tuple[str, Map | Baseline]],
    views: Sequence[str],
    dataset: str,
    every: int,
    asked: str,
    max_range: float,
    held_out: bool,
    network: bool,
) -> str: ...
def run(arguments: Sequence[str]) -> int:
    """Runs a command of the program `e2bki`, as run(["experiment", "table-full"]); returns its exit code."""
