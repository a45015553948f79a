"""Primitives and beliefs as tables of pandas and Arrow, in the words of the map file where it has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._e2bki import Beliefs, Cells, Primitives, Voxels

if TYPE_CHECKING:
    import pandas
    import pyarrow


def _of_primitives(g: Primitives) -> dict[str, Any]:
    axes = {"xx": (0, 0), "yy": (1, 1), "zz": (2, 2), "xy": (0, 1), "xz": (0, 2), "yz": (1, 2)}
    columns: dict[str, Any] = {"id": g.id}
    columns |= {axis: g.mean[:, i] for i, axis in enumerate("xyz")}
    columns |= {"label": g.label, "uncertainty": g.uncertainty}
    columns |= {f"cov_{name}": g.covariance[:, i, j] for name, (i, j) in axes.items()}
    columns |= {"points": g.weight.astype(np.int64), "range": g.range, "reach": g.reach}
    columns |= {f"p_{name}": g.probability[:, c] for c, name in enumerate(g.classes.names)}
    return columns


def _of_beliefs(b: Beliefs) -> dict[str, Any]:
    columns: dict[str, Any] = {}
    if isinstance(b, (Voxels, Cells)):
        columns |= {axis: b.center[:, i] for i, axis in zip(range(b.center.shape[1]), "xyz")}
    names = ["label", "observed", "confidence", "u", "u_sem", "u_spa", "variance", "evidence"]
    return columns | {name: getattr(b, name) for name in names}


def _columns(what: Primitives | Beliefs) -> dict[str, Any]:
    return _of_primitives(what) if isinstance(what, Primitives) else _of_beliefs(what)


def to_pandas(what: Primitives | Beliefs) -> pandas.DataFrame:
    import pandas as pd

    columns = _columns(what)
    names = what.classes.names
    frame = pd.DataFrame(columns)
    place = list(columns).index("label") + 1
    # A label of -1 is missing to pandas, as it should be.
    frame.insert(place, "class", pd.Categorical.from_codes(columns["label"], categories=names))
    return frame


def to_arrow(what: Primitives | Beliefs) -> pyarrow.Table:
    import pyarrow as pa

    columns = _columns(what)
    labels = columns["label"]
    classes = pa.DictionaryArray.from_arrays(pa.array(labels, mask=labels < 0), pa.array(what.classes.names))
    arrays: dict[str, Any] = {}
    for name, values in columns.items():
        arrays[name] = pa.array(np.ascontiguousarray(values))
        if name == "label":
            arrays["class"] = classes
    return pa.table(arrays)
