import os

import matplotlib
import numpy as np
import pytest

import e2bki

matplotlib.use("Agg")
os.environ.setdefault("MPLBACKEND", "Agg")


def pytest_runtest_logreport(report):
    """Skips are counted by scripts/test.sh, which names this file."""
    path = os.environ.get("E2BKI_SKIPS")
    if path and report.skipped:
        why = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        with open(path, "a") as skips:
            skips.write(f"{report.nodeid}: {str(why).removeprefix('Skipped: ')}\n")


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture(scope="session")
def drive():
    """A coarse urban drive, quick to make."""
    return e2bki.sim.Drive("urban", seed=2, columns=128)


@pytest.fixture(scope="session")
def frames(drive):
    return list(drive.frames(6, network=0.3))


@pytest.fixture(scope="session")
def street(drive, frames):
    """A small map of a simulated street. Shared: read it only."""
    m = e2bki.Map(drive.classes)
    for frame in frames:
        m.insert(frame)
    return m


@pytest.fixture
def scan(rng):
    """Two flat patches of two classes with evidence, 400 points."""
    n = 400
    points = rng.uniform([2, -1, -0.1], [4, 1, 0.1], (n, 3)).astype(np.float32)
    labels = (points[:, 1] > 0).astype(np.int64)
    evidence = rng.gamma(0.5, 1.0, (n, 3)).astype(np.float32)
    evidence[np.arange(n), labels] += rng.uniform(2, 9, n).astype(np.float32)
    return points, evidence, labels
