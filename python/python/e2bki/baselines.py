"""The methods that E2-BKI is compared with: the same `insert` and `query` as `e2bki.Map`, on one footing.

Each takes classes (e2bki.Classes or names), and by keyword config (e2bki.Config), bev=True to keep a bird's-eye map too,
and thinning=(points, cell): at most so many points of a frame per cube of that side in metres.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ._e2bki import Baseline, Classes, Config, ConvKernels, Frame, train_kernels

__all__ = ["ALL", "Baseline", "ConvBki", "ConvKernels", "Dst", "Ebs", "SBki", "SCsm", "SeeCsom", "train"]


class _Method(Baseline):
    _name = ""

    def __new__(
        cls,
        classes: Classes | Sequence[str],
        *,
        config: Config | None = None,
        bev: bool = False,
        thinning: tuple[int, float] | None = None,
    ) -> _Method:
        return super().__new__(cls, cls._name, classes, config=config, bev=bev, thinning=thinning)


class SCsm(_Method):
    """Semantic counting sensor model: a voxel counts the points of each class inside it."""

    _name = "S-CSM"


class SBki(_Method):
    """Semantic Bayesian kernel inference: a voxel sums a kernel of the distance to the points of each class."""

    _name = "S-BKI"


class SeeCsom(_Method):
    """SEE-CSOM: a linear kernel that crosses the faces of a block of voxels only where its points disagree."""

    _name = "SEE-CSOM"


class Ebs(_Method):
    """Evidential semantic mapping: the kernel's length depends on each point's uncertainty; the worst are dropped."""

    _name = "EBS"


class Dst(_Method):
    """Dempster-Shafer mapping: Dempster's combination of the points' opinions, each discounted by that kernel."""

    _name = "DST"


class ConvBki(Baseline):
    """ConvBKI: binned probabilities convolved with one kernel per class; `train` learns them (0.5 m if not given)."""

    def __new__(
        cls,
        classes: Classes | Sequence[str],
        *,
        config: Config | None = None,
        bev: bool = False,
        thinning: tuple[int, float] | None = None,
        kernels: ConvKernels | None = None,
    ) -> ConvBki:
        return super().__new__(cls, "ConvBKI", classes, config=config, bev=bev, thinning=thinning, kernels=kernels)


#: All methods, in the order of the paper's tables.
ALL = (SCsm, SBki, SeeCsom, ConvBki, Ebs, Dst)


def train(
    frames: Iterable[Frame],
    *,
    classes: Classes | Sequence[str],
    config: Config | None = None,
    epochs: int = 15,
    window: int = 10,
    batch: int = 2,
    learning_rate: float = 0.007,
    decay: float = 0.96,
    seed: int = 42,
) -> tuple[ConvKernels, list[float]]:
    """Learns ConvBKI's kernels from frames of one drive that have `truth`.

    Returns the kernels and the loss of every epoch. window: frames of a sample; batch: samples per step.
    """
    return train_kernels(
        frames,
        classes=classes,
        config=config,
        epochs=epochs,
        window=window,
        batch=batch,
        learning_rate=learning_rate,
        decay=decay,
        seed=seed,
    )
