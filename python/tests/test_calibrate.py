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
    assert learned.config.agreement == learned.best.agreement
    # No answer becomes right by correcting classes here: that is left out.
    assert not learned.best.corrected and learned.config.confusion == []
    config = learned.config.replace(confusion=[[0.75, 0.25], [0.0, 1.0]])
    again = e2bki.Config.from_toml(config.to_toml())
    assert again == config and again.confusion == config.confusion
    e2bki.Map(classes=["a", "b"], config=config)
    with pytest.raises(ValueError, match="3 × 3"):
        e2bki.Map(classes=["a", "b", "c"], config=config)


def test_nothing_is_learned_from_nothing_and_mistakes_are_told() -> None:
    assert calibrate([], classes=["a", "b"]) is None
    frames = [e2bki.Frame(f.points, labels=[0] * len(f.points)) for f in drive(0.9, 2)]
    with pytest.raises(ValueError, match="truth"):
        calibrate(frames, classes=["a", "b"])
    with pytest.raises(ValueError, match="add up to 1"):
        e2bki.Config(confusion=[[0.5, 0.2], [0.0, 1.0]])
    assert e2bki.Config(confusion=np.eye(2)).confusion == [[1.0, 0.0], [0.0, 1.0]]
