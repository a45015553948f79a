"""Scores of beliefs, and the paper's protocol for comparing methods.

Shares are in percent; what could not be measured is None, never 0 or NaN.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from . import _e2bki
from ._e2bki import Baseline, Beliefs, Classes, Config, Frame, Map

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

__all__ = [
    "ReliabilityBin",
    "Record",
    "Rung",
    "Score",
    "SourceCalibration",
    "calibrate",
    "compare",
    "evaluate",
    "plot_reliability",
]

Reading = Literal["decomposed", "variance", "min-max"]
View = Literal["voxel", "continuous", "bev", "bev-continuous"]


@dataclass(frozen=True)
class ReliabilityBin:
    """Answers of similar confidence: their mean confidence, the share that is right, their share of all; percent."""

    confidence: float
    accuracy: float
    share: float


@dataclass(frozen=True)
class Score:
    """What labels are worth. IoU is over answered queries, Acc over all; miou_strict counts the unanswered as missed."""

    miou: float | None
    miou_strict: float | None
    acc: float | None
    iou: list[float | None] = field(repr=False)
    queries: int
    occupied: int
    bs: float | None
    ece: float | None
    reliability: list[ReliabilityBin] = field(repr=False)


@dataclass(frozen=True)
class Record:
    """One result of a comparison: a method, a view, and everything measured of them."""

    dataset: str
    method: str
    view: str
    frames: int
    mapped: int
    miou: float | None
    miou_common: float | None
    miou_strict: float | None
    acc: float | None
    bs: float | None
    ece: float | None
    confidence: str | None
    queries: int
    occupied: int
    volume_m3: float | None
    empty_claimed: float | None
    near_empty_claimed: float | None
    before_hits_claimed: float | None
    hz: float | None
    bytes: int | None
    iou: dict[str, float | None] = field(repr=False)
    calibration: dict[str, dict[str, float | None]] = field(repr=False)
    reliability: list[ReliabilityBin] = field(repr=False)
    stage_ms: dict[str, float] = field(repr=False)
    parameters: dict[str, str] = field(repr=False)
    semantics: str = ""
    """Source of the semantics, where a dataset was mapped."""
    asked_frames: int | None = None
    """Frames asked about."""
    labelled_frames: int | None = None
    """Those of them that have ground truth."""
    iou_strict: dict[str, float | None] = field(default_factory=dict, repr=False)
    """IoU of every class with places that are not occupied as missed."""


@dataclass(frozen=True)
class Rung:
    """The map that one value gives: Brier score and ECE of its confidence, share of right answers; percent.

    corrected: whether with the learned confusion of classes; agreement: how it is read.
    """

    value: float
    corrected: bool
    agreement: float
    brier: float
    ece: float
    right: float


@dataclass(frozen=True)
class SourceCalibration:
    """What was learned of a network. `config` is the one to map with; `best` is None if nothing was clearly better.

    key: what was varied, "temperature" or (of hard labels) "label_strength"; asked: places that all maps know.
    """

    config: Config = field(repr=False)
    key: str
    before: Rung
    best: Rung | None
    tried: list[Rung] = field(repr=False)
    asked: int


def calibrate(
    frames: Iterable[Frame], *, classes: Classes | Sequence[str], config: Config | None = None
) -> SourceCalibration | None:
    """Learns from frames of one drive with `truth` what a network means by its classes and how far it can be trusted.

    Every second frame is mapped, over and over with other values, and asked about at the labelled points of the frames
    between: at least two frames, better ten. Take frames that you do not test on. None if there is nothing to ask about.
    """
    learned = _e2bki.calibrate_source(frames, classes, config)
    if learned is None:
        return None
    values = json.loads(learned[1])
    rungs = {"before": Rung(**values["before"]), "best": values["best"] and Rung(**values["best"])}
    tried = [Rung(**rung) for rung in values["tried"]]
    return SourceCalibration(config=learned[0], key=values["key"], asked=values["asked"], tried=tried, **rungs)


def _with_bins(values: dict[str, Any]) -> dict[str, Any]:
    values["reliability"] = [ReliabilityBin(**entry) for entry in values["reliability"]]
    return values


def evaluate(
    truth: ArrayLike,
    belief: Beliefs | ArrayLike,
    *,
    confidence: Reading | ArrayLike = "decomposed",
    classes: int | None = None,
) -> Score:
    """Scores beliefs, or labels, against the truth.

    truth: (N,) whole numbers, queries whose truth is none of the classes are not counted. belief: what `query` gave, or
    (N,) labels with -1 for no answer; labels need the number of classes. confidence: how beliefs are read ("decomposed"
    is 1 - u, "variance" 1 - Var/0.25, "min-max" the variance scaled over these beliefs), or for labels an array (N,).
    """
    if isinstance(belief, Beliefs):
        if not isinstance(confidence, str):
            raise TypeError("beliefs bring their own confidence: name a reading of it")
        text = _e2bki.evaluate_beliefs(truth, belief, confidence)
    else:
        if classes is None:
            raise TypeError("labels need the number of classes: give classes=")
        given = None if isinstance(confidence, str) else confidence
        text = _e2bki.evaluate_labels(truth, belief, classes, given)
    return Score(**_with_bins(json.loads(text)))


def compare(
    frames: Iterable[Frame],
    methods: Mapping[str, Map | Baseline],
    *,
    views: Sequence[View] = ("voxel",),
    dataset: str = "",
    every: int = 1,
    asked: Literal["cells", "points"] = "cells",
    max_range: float = float("inf"),
    held_out: bool = False,
    network: bool = False,
) -> list[Record]:
    """Runs the paper's protocol: every k-th frame is mapped by every method, then all are asked about all frames.

    frames: with `truth`, read once, one at a time. methods: maps by name; they take in the frames. views: how the maps are
    asked. asked: at centroids of 0.05 m cells, or at every labelled point. max_range: farther points are not asked about,
    metres. held_out: only frames that are not mapped are asked about. network: also score the network without a map.
    """
    text = _e2bki.compare(
        frames, list(methods.items()), list(views), dataset, every, asked, max_range, held_out, network
    )
    return [Record(**_with_bins(record)) for record in json.loads(text)]


def plot_reliability(scores: Mapping[str, Score | Record], *, ax: Axes | None = None) -> Axes:
    """Draws accuracy over confidence of each method; on the diagonal, confidence is what it says. Needs matplotlib."""
    import matplotlib.pyplot as plt

    if ax is None:
        _, ax = plt.subplots()
    ax.plot([0, 100], [0, 100], color="0.7", linestyle="--")
    for name, score in scores.items():
        ece = "–" if score.ece is None else f"{score.ece:.1f} %"
        x = [entry.confidence for entry in score.reliability]
        y = [entry.accuracy for entry in score.reliability]
        ax.plot(x, y, marker="o", label=f"{name} (ECE {ece})")
    ax.set(xlabel="confidence [%]", ylabel="right [%]", xlim=(0, 100), ylim=(0, 100), aspect="equal")
    ax.legend()
    return ax
