"""The methods that E2-BKI is compared with: the same `insert` and `query` as `e2bki.Map`, on one footing.

Each takes classes (e2bki.Classes or names), and by keyword config (e2bki.Config), bev=True to keep a bird's-eye map too,
and thinning=(points, cell): at most so many points of a frame per cube of that side in metres. ConvBKI takes kernels too.
"""

from __future__ import annotations

from collections.abc import Sequence

from ._e2bki import Baseline, Classes, Config, ConvKernels, train

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
        kernels: ConvKernels | None = None,
    ) -> _Method:
        return super().__new__(cls, cls._name, classes, config=config, bev=bev, thinning=thinning, kernels=kernels)


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


class ConvBki(_Method):
    """ConvBKI: binned probabilities convolved with one kernel per class; `train` learns them (0.5 m if not given)."""

    _name = "ConvBKI"


#: All methods, in the order of the paper's tables.
ALL = (SCsm, SBki, SeeCsom, ConvBki, Ebs, Dst)
