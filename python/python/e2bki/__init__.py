"""Semantic 3-D maps that know what they do not know, from LiDAR points and class evidence.

    import e2bki

    m = e2bki.Map(["road", "tree"], config=e2bki.Config(resolution=0.2))
    report = m.insert(points, evidence=evidence, world_from_sensor=pose)
    beliefs = m.query(places)        # beliefs.label, .alpha, .u, .u_sem, .u_spa, ...
    m.save("street.e2bki")
    m.view()                         # in the browser

Arrays are NumPy's, lengths are metres, poses are 4x4 matrices. `run` runs any command of the program. See also `e2bki.baselines`, `e2bki.data`, `e2bki.fleet`, `e2bki.sim`
and `e2bki.metrics`.
"""

from . import baselines, data, fleet, metrics, sim
from ._e2bki import (
    EXPORTS,
    Beliefs,
    Cells,
    Classes,
    Config,
    DamagedMapError,
    Dataset,
    Dropped,
    Error,
    Frame,
    FrameReport,
    Map,
    Primitives,
    RollingMap,
    Timings,
    Viewer,
    Voxels,
    __version__,
    check,
    import_npz,
    info,
    load,
    merge_files,
    recover,
    run,
    view,
)

__all__ = [
    "EXPORTS",
    "Beliefs",
    "Cells",
    "Classes",
    "Config",
    "DamagedMapError",
    "Dataset",
    "Dropped",
    "Error",
    "Frame",
    "FrameReport",
    "Map",
    "Primitives",
    "RollingMap",
    "Timings",
    "Viewer",
    "Voxels",
    "__version__",
    "baselines",
    "check",
    "data",
    "fleet",
    "import_npz",
    "info",
    "load",
    "merge_files",
    "metrics",
    "recover",
    "run",
    "sim",
    "view",
]


def _classes(
    names: list[str],
    colors: object,
    costs: dict[str, int] | None = None,
    movable: list[str] | None = None,
) -> Classes:
    """Puts pickled classes together again."""
    return Classes(names, colors=colors, costs=costs, movable=movable)  # type: ignore[arg-type]
