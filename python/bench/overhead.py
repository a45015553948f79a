"""What the way through Python costs: wall time of `insert` and `query` over the time that Rust itself reports.

    python bench/overhead.py [rounds]
"""

from __future__ import annotations

import sys
from time import perf_counter

import numpy as np
from numpy.typing import DTypeLike

import e2bki

ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 7


def shown(name: str, pairs: list[tuple[float, float]]) -> None:
    """pairs: wall and Rust seconds of every round. Other work on the machine only ever adds: the least of each counts."""
    rust = min(inner for _, inner in pairs)
    extra = min(wall - inner for wall, inner in pairs)
    print(f"{name:44} Rust {1e3 * rust:8.1f} ms   Python adds {1e3 * extra:6.2f} ms = {100 * extra / rust:5.2f} %")


def inserts(name: str, drive: e2bki.sim.Drive, dtype: DTypeLike, form: str) -> None:
    m, pairs = e2bki.Map(drive.classes), []
    for index in range(ROUNDS + 1):
        frame = drive.frame(2 * index, network=0.3)
        points, truth, evidence = frame.points[:100_000], frame.truth, frame.evidence
        assert truth is not None and evidence is not None
        points, pose = np.ascontiguousarray(points, dtype=dtype), frame.world_from_sensor
        labels = truth[:100_000] if form == "labels" else None
        said = None if form == "labels" else evidence[:100_000].astype(dtype)
        start = perf_counter()
        report = m.insert(points, labels=labels, evidence=said, world_from_sensor=pose)
        wall = perf_counter() - start
        if index > 0:  # the first one wakes the threads
            pairs.append((wall, report.timings.total))
    shown(f"insert, {len(points)} points, {name}", pairs)


def queries(name: str, drive: e2bki.sim.Drive, dtype: DTypeLike) -> None:
    m, frames = e2bki.Map(drive.classes), [drive.frame(2 * index, network=0.3) for index in range(5)]
    for frame in frames:
        m.insert(frame)
    rng = np.random.default_rng(0)
    near = np.concatenate([frame.world_points for frame in frames])
    places = near[rng.integers(0, len(near), 1_000_000)] + rng.normal(0, 0.1, (1_000_000, 3))
    places, pairs = np.ascontiguousarray(places, dtype=dtype), []
    for index in range(ROUNDS + 1):
        start = perf_counter()
        beliefs = m.query(places)
        wall = perf_counter() - start
        assert beliefs.seconds is not None
        if index > 0:
            pairs.append((wall, beliefs.seconds))
    shown(f"query, {len(places)} points, {name}", pairs)
    start = perf_counter()
    assert beliefs.label.shape == beliefs.u.shape
    label = perf_counter()
    assert beliefs.alpha.shape[0] == len(places)
    print(f"{'   label and u as arrays':44} {1e3 * (label - start):13.1f} ms")
    print(f"{'   alpha as an array':44} {1e3 * (perf_counter() - label):13.1f} ms")


if __name__ == "__main__":
    urban = e2bki.sim.Drive("urban", seed=2)
    inserts("float32 evidence of 11 classes", urban, np.float32, "evidence")
    inserts("float64 evidence of 11 classes", urban, np.float64, "evidence")
    inserts("float32, labels", urban, np.float32, "labels")
    queries("float64", urban, np.float64)
    queries("float32", urban, np.float32)
