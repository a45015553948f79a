"""Submaps: taken out exactly, moved, trusted less, and kept beside the file."""

import numpy as np
import pytest

import e2bki

CLASSES = ["a", "b", "c"]
SUM = e2bki.Config(prune=False)


def shifted(x, y=0.0):
    pose = np.eye(4)
    pose[:2, 3] = x, y
    return pose


def build(scan, places, **options):
    points, evidence, _ = scan
    m = e2bki.Map(CLASSES, config=SUM, **options)
    for x in places:
        m.insert(points, evidence=evidence, world_from_sensor=shifted(x))
    return m


def held(m):
    """What a map holds, without the numbers of its primitives."""
    g = m.primitives()
    rows = np.column_stack([g.mean, g.covariance.reshape(-1, 9), g.weight, g.uncertainty, g.probability])
    return rows[np.lexsort(rows.T)]


def test_what_is_taken_out_was_never_there(scan):
    m = build(scan, [0.0, 0.3, 5.0, 5.2], submaps=2.0, source="monday")
    listed = m.submaps()
    assert [s["id"] for s in listed] == [0, 1] and [s["frames"] for s in listed] == [2, 2]
    assert all(s["source"] == "monday" and s["trust"] == 1.0 and s["sums"] > 0 for s in listed)
    np.testing.assert_array_equal(listed[1]["world_from_submap"], shifted(5.0))
    done = m.remove(submaps=[0])
    assert done["submaps"] == 1 and done["removed"] > 0
    np.testing.assert_array_equal(held(m), held(build(scan, [5.0, 5.2])))
    m.remove(source="monday")
    assert len(m) == 0 and m.frames == 0


def test_a_correction_moves_and_the_first_pose_gives_the_first_map(scan):
    m = build(scan, [0.0, 5.0], submaps=2.0)
    before = held(m)
    m.correct({1: shifted(5.0, 0.5)})
    moved = m.query([[5.0 + 3.0, -0.5 + 0.5, 0.0]])
    assert moved.observed.all()
    assert not np.array_equal(held(m), before)
    m.correct({1: shifted(5.0)})
    np.testing.assert_array_equal(held(m), before)
    assert m.correct({s["id"]: s["world_from_submap"] for s in m.submaps()})["altered"] == 0


def test_corrected_frames_mend_the_drift_within_a_submap(scan):
    m = build(scan, [0.0, 100.0, 200.0], submaps=1000.0)
    before = held(m)
    m.correct_frames({0: shifted(0.0), 2: shifted(200.0, 0.5)})
    mean, was = m.primitives().mean, before[:, :3]
    for frame, moved in [(0, 0.0), (1, 0.25), (2, 0.5)]:
        here, there = (a[np.abs(a[:, 0] - 100.0 * frame) < 50.0] for a in (mean, was))
        weights = [g.primitives().weight[np.abs(g.primitives().mean[:, 0] - 100.0 * frame) < 50.0] for g in (m,)][0]
        assert len(here) > 0
        old = before[np.abs(before[:, 0] - 100.0 * frame) < 50.0]
        shift = np.average(here[:, 1], weights=weights) - np.average(there[:, 1], weights=old[:, 12])
        assert shift == pytest.approx(moved, abs=1e-4)
    m.correct_frames({n: shifted(100.0 * n) for n in range(3)})
    np.testing.assert_array_equal(held(m), before)
    with pytest.raises(e2bki.Error, match="submap 0"):
        m.correct_frames({7: shifted(0.0)})


def test_trust_and_files(scan, tmp_path):
    a, b = build(scan, [0.0], submaps=2.0, source="a"), build(scan, [0.3], submaps=2.0, source="b")
    alone = held(a)
    a.merge(b, trust=0.5)
    assert [s["trust"] for s in a.submaps()] == [1.0, 0.5]
    a.save(tmp_path / "ab.e2bki")
    again = e2bki.load(tmp_path / "ab.e2bki", submaps=True)
    again.remove(source="b")
    np.testing.assert_array_equal(held(again), alone)
    assert e2bki.load(tmp_path / "ab.e2bki").submaps() == []
    for part in (tmp_path / "ab.e2bki.submaps").glob("*.part"):
        part.write_bytes(part.read_bytes()[:-3])
    with pytest.raises(e2bki.Error, match="not affected"):
        e2bki.load(tmp_path / "ab.e2bki", submaps=True)
    assert len(e2bki.load(tmp_path / "ab.e2bki")) == len(a)


def test_what_cannot_be_done_is_said(scan, tmp_path):
    m = build(scan, [0.0, 5.0], submaps=2.0)
    before = held(m)
    with pytest.raises(e2bki.Error, match="submap 7"):
        m.remove(submaps=[0, 7])
    with pytest.raises(e2bki.Error, match="source"):
        m.remove(source="nobody")
    with pytest.raises(e2bki.Error, match="nothing to take out"):
        m.remove()
    with pytest.raises(e2bki.Error, match="rotation"):
        m.correct({0: 2.0 * np.eye(4) - np.diag([0, 0, 0, 1.0])})
    with pytest.raises(e2bki.Error, match="trust"):
        m.merge(build(scan, [0.0]), trust=0.0)
    np.testing.assert_array_equal(held(m), before)
    with pytest.raises(e2bki.Error, match="does not keep"):
        build(scan, [0.0]).remove(submaps=[0])
    with pytest.raises(e2bki.Error, match="refinement.prune"):
        e2bki.Map(CLASSES, config=e2bki.Config(prune=True), submaps=20.0)
    build(scan, [0.0]).save(tmp_path / "plain.e2bki")
    with pytest.raises(e2bki.Error, match="keeps no submaps"):
        e2bki.load(tmp_path / "plain.e2bki", submaps=True)


def test_submaps_of_other_classes_are_refused(scan, tmp_path):
    points, evidence, _ = scan
    m = build(scan, [0.0, 5.0], submaps=2.0)
    before = held(m)
    other = e2bki.Map(["a", "b", "x"], config=SUM, submaps=2.0)
    other.insert(points, evidence=evidence, world_from_sensor=shifted(0.0))
    with pytest.raises(e2bki.Error, match="classes differ"):
        m.merge(other)
    with pytest.raises(e2bki.Error, match="classes differ"):
        m.merge(other, trust=0.5)
    np.testing.assert_array_equal(held(m), before)
    assert len(m.submaps()) == 2
    # The files of one beside the other, which is equal but for the name of a class.
    same = build(scan, [0.0], submaps=2.0)
    same.save(tmp_path / "same.e2bki")
    other.save(tmp_path / "other.e2bki")
    beside = tmp_path / "other.e2bki.submaps"
    for file in beside.iterdir():
        file.unlink()
    for file in (tmp_path / "same.e2bki.submaps").iterdir():
        (beside / file.name).write_bytes(file.read_bytes())
    with pytest.raises(e2bki.Error, match="other classes"):
        e2bki.load(tmp_path / "other.e2bki", submaps=True)
    assert len(e2bki.load(tmp_path / "other.e2bki")) == len(other)


def test_poses_of_another_sensor_are_noticed(scan):
    m = build(scan, np.arange(0.0, 30.0, 1.5), submaps=3.0)
    before = held(m)
    # Forward is z for a camera.
    camera_from_sensor = np.array([[0, -1, 0, 0], [0, 0, -1, 0], [1, 0, 0, 0], [0, 0, 0, 1.0]])
    poses = {k: shifted(1.5 * k) @ np.linalg.inv(camera_from_sensor) for k in range(20)}
    with pytest.raises(e2bki.Error, match="body_from_sensor"):
        m.correct_frames(poses)
    of_submaps = {s["id"]: s["world_from_submap"] @ np.linalg.inv(camera_from_sensor) for s in m.submaps()}
    with pytest.raises(e2bki.Error, match="90°"):
        m.correct(of_submaps)
    np.testing.assert_array_equal(held(m), before)
    m.correct_frames(poses, body_from_sensor=camera_from_sensor)
    m.correct(of_submaps, body_from_sensor=camera_from_sensor)
    np.testing.assert_array_equal(held(m), before)
    m.correct_frames(poses, body_from_sensor=np.eye(4))
    assert not np.array_equal(held(m), before)
