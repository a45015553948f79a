"""Calibration of a source of semantics from labelled frames."""

import numpy as np
import pytest

import e2bki
from e2bki.metrics import calibrate


def drive(said: float, frames: int = 4) -> list[e2bki.Frame]:
    """A wall of `a` and `b` in patches that a network calls `a` throughout, with probability `said`."""
    x, z = np.meshgrid(np.arange(2.0, 8.0, 0.1), np.arange(0.0, 4.0, 0.1))
    points = np.stack([x.ravel(), np.full(x.size, 5.0), z.ravel()], axis=1)
    truth = (np.floor(points[:, 0]) % 2).astype(int)
    probabilities = np.tile([said, 1.0 - said], (len(points), 1))
    shifted = [points + [0.0, 0.0, 0.01 * k] for k in range(frames)]
    return [e2bki.Frame(p, probabilities=probabilities, truth=truth) for p in shifted]


def test_a_network_that_is_too_sure_is_corrected() -> None:
    learned = calibrate(drive(0.99), classes=["a", "b"])
    assert learned is not None and learned.best is not None
    assert learned.key == "temperature" and learned.best.brier < 0.8 * learned.before.brier
    assert learned.config.temperature == learned.best.value
    shares = np.array(learned.config.confusion)
    assert shares.shape == (2, 2) and np.allclose(shares.sum(axis=1), 1.0, atol=1e-3)
    assert abs(shares[0, 1] - 0.25) < 0.05  # half of what it calls `a` is `b`, and half is taken at its word
    again = e2bki.Config.from_toml(learned.config.to_toml())
    assert again == learned.config and again.confusion == learned.config.confusion
    e2bki.Map(classes=["a", "b"], config=learned.config)
    with pytest.raises(ValueError, match="3 × 3"):
        e2bki.Map(classes=["a", "b", "c"], config=learned.config)


def test_nothing_is_learned_from_nothing_and_mistakes_are_told() -> None:
    assert calibrate([], classes=["a", "b"]) is None
    frames = [e2bki.Frame(f.points, labels=[0] * len(f.points)) for f in drive(0.9, 2)]
    with pytest.raises(ValueError, match="truth"):
        calibrate(frames, classes=["a", "b"])
    with pytest.raises(ValueError, match="add up to 1"):
        e2bki.Config(confusion=[[0.5, 0.2], [0.0, 1.0]])
    assert e2bki.Config(confusion=np.eye(2)).confusion == [[1.0, 0.0], [0.0, 1.0]]
