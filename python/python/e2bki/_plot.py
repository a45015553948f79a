"""Pictures of maps with matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ._e2bki import Error, Map

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Most cells of a picture: a mistyped resolution must not take all memory.
_MOST_CELLS = 100_000_000


def plot_bev(map: Map, value: str, resolution: float | None, ax: Axes | None) -> Axes:
    import matplotlib.pyplot as plt
    from matplotlib.patches import Patch

    cells = map.bev(resolution=resolution)
    side = cells.resolution
    if ax is None:
        _, ax = plt.subplots()
    ax.set(xlabel="x [m]", ylabel="y [m]", aspect="equal")
    if len(cells) == 0:
        return ax
    index = np.floor(cells.center / side).astype(np.int64)
    low = index.min(axis=0)
    width, height = (int(n) for n in index.max(axis=0) - low + 1)
    if width * height > _MOST_CELLS:
        raise Error(f"a picture of {width} x {height} cells is too large: give a larger resolution than {side} m")
    column, row = (index - low).T
    x, y = low * side
    extent = (float(x), float(x + width * side), float(y), float(y + height * side))
    if value == "class":
        picture = np.full((height, width, 4), 0, dtype=np.uint8)
        picture[row, column, :3] = cells.classes.colors[cells.label]
        picture[row, column, 3] = 255
        ax.imshow(picture, origin="lower", extent=extent, interpolation="nearest")
        shown = np.unique(cells.label)
        names, colors = cells.classes.names, cells.classes.colors / 255
        handles = [Patch(color=tuple(colors[c]), label=names[c]) for c in shown]
        ax.legend(handles=handles, loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
        return ax
    known = ("u", "u_sem", "u_spa", "variance", "confidence")
    if value not in known:
        raise Error(f'`value` is "{value}"; allowed: "class", ' + ", ".join(f'"{name}"' for name in known))
    field = np.full((height, width), np.nan)
    field[row, column] = getattr(cells, value)
    shown_field = ax.imshow(field, origin="lower", extent=extent, interpolation="nearest", cmap="viridis")
    plt.colorbar(shown_field, ax=ax, label=value)
    return ax
