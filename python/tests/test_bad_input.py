"""What people hand over by mistake: a clear exception or a correct result, and never a changed map after an exception."""

import threading

import numpy as np
import pytest

import e2bki

CLASSES = ["a", "b", "c"]


@pytest.fixture
def m():
    return e2bki.Map(CLASSES)


POINTS = np.linspace(1, 3, 30).reshape(10, 3).astype(np.float32)
EVIDENCE = np.full((10, 3), 0.1, dtype=np.float32)
EVIDENCE[:, 1] = 4


@pytest.mark.parametrize(
    ("points", "semantics", "exception", "words"),
    [
        (POINTS.astype(object), {"evidence": EVIDENCE}, TypeError, ["points", "object"]),
        (POINTS > 2, {"evidence": EVIDENCE}, TypeError, ["points", "bool"]),
        (POINTS.astype(complex), {"evidence": EVIDENCE}, TypeError, ["complex"]),
        (POINTS.astype(str), {"evidence": EVIDENCE}, TypeError, ["points"]),
        ("points", {"evidence": EVIDENCE}, TypeError, ["points"]),
        (None, {"evidence": EVIDENCE}, TypeError, ["points"]),
        (POINTS[:, :2], {"evidence": EVIDENCE}, ValueError, ["(N, 3)", "(10, 2)"]),
        (POINTS[0], {"evidence": EVIDENCE}, ValueError, ["(N, 3)", "(3,)"]),
        (POINTS[None], {"evidence": EVIDENCE}, ValueError, ["(1, 10, 3)"]),
        (POINTS, {"evidence": EVIDENCE[:9]}, ValueError, ["evidence", "(10, 3)", "(9, 3)"]),
        (POINTS, {"evidence": EVIDENCE[:, :2]}, ValueError, ["evidence", "(10, 3)", "(10, 2)"]),
        (POINTS, {"evidence": EVIDENCE.astype(object)}, TypeError, ["evidence", "object"]),
        (POINTS, {"evidence": EVIDENCE > 1}, TypeError, ["evidence", "bool"]),
        (POINTS, {"labels": np.zeros(9, int)}, ValueError, ["labels", "(10,)", "(9,)"]),
        (POINTS, {"labels": np.zeros(10)}, TypeError, ["labels", "whole numbers", "float64"]),
        (POINTS, {"labels": np.zeros(10, bool)}, TypeError, ["labels", "bool"]),
        (POINTS, {}, TypeError, ["exactly one"]),
        (POINTS, {"evidence": EVIDENCE, "labels": np.zeros(10, int)}, TypeError, ["evidence and labels"]),
        (POINTS, {"evidence": EVIDENCE, "uncertainty": np.ones(10)}, TypeError, ["probabilities"]),
        (POINTS, {"probabilities": EVIDENCE, "uncertainty": np.ones(9)}, ValueError, ["uncertainty", "(10,)"]),
        (POINTS, {"logits": EVIDENCE, "logit_kind": "tanh"}, ValueError, ["tanh", "softmax"]),
        (POINTS, {"evidence": EVIDENCE, "world_from_sensor": np.eye(3)}, ValueError, ["(4, 4)"]),
        (POINTS, {"evidence": EVIDENCE, "world_from_sensor": 2 * np.eye(4)}, ValueError, ["world_from_sensor"]),
        (POINTS, {"evidence": EVIDENCE, "world_from_sensor": np.full((4, 4), np.nan)}, ValueError, ["world_from"]),
        (POINTS, {"evidence": EVIDENCE, "pose": np.eye(4)}, TypeError, ["pose"]),
    ],
)
def test_a_bad_frame_is_refused_in_words(m, points, semantics, exception, words):
    m.insert(POINTS, evidence=EVIDENCE)
    before = m.query(POINTS).alpha
    with pytest.raises(exception) as caught:
        m.insert(points, **semantics)
    for word in words:
        assert word in str(caught.value)
    np.testing.assert_array_equal(m.query(POINTS).alpha, before)
    assert m.frames == 1


def test_semantics_are_by_keyword_only(m):
    with pytest.raises(TypeError):
        m.insert(POINTS, EVIDENCE)


def test_every_layout_of_the_same_numbers_gives_the_same_map():
    def alpha(points, evidence):
        m = e2bki.Map(CLASSES)
        m.insert(points, evidence=evidence)
        return m.query(POINTS).alpha

    expected = alpha(POINTS, EVIDENCE)
    assert expected.max() > 0.5
    readonly = POINTS.copy()
    readonly.flags.writeable = False
    wide = np.zeros((20, 8), dtype=np.float32)
    wide[::2, 1:7:2] = POINTS
    unaligned = np.frombuffer(b"\0" + POINTS.tobytes(), dtype=np.uint8)[1:].view(np.float32).reshape(10, 3)
    layouts = {
        "float64": POINTS.astype(np.float64),
        "fortran": np.asfortranarray(POINTS),
        "strided": wide[::2, 1:7:2],
        "backwards": POINTS[::-1].copy()[::-1],
        "read-only": readonly,
        "list": POINTS.tolist(),
        "big-endian": POINTS.astype(">f4"),
        "unaligned": unaligned,
    }
    for name, points in layouts.items():
        np.testing.assert_array_equal(alpha(points, EVIDENCE), expected, err_msg=name)
        np.testing.assert_allclose(alpha(points, EVIDENCE.astype(np.float64)), expected, rtol=1e-6, err_msg=name)
    assert alpha(POINTS.astype(np.float16), EVIDENCE).max() > 0.5
    assert not readonly.flags.writeable


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.uint32, np.int64, np.uint64])
def test_labels_of_any_whole_type(m, dtype):
    labels = np.array([0, 1, 2, 1, 1, 1, 1, 1, 1, 200], dtype=dtype)
    report = m.insert(POINTS, labels=labels)
    assert report.kept == 9 and report.dropped.unlabelled == 1


def test_negative_and_huge_labels_are_no_class(m):
    report = m.insert(POINTS, labels=np.array([-1, -(2**62), 2**62, 2**32 + 1, 2**31, 1, 1, 1, 1, 1]))
    assert report.dropped.unlabelled == 5 and report.kept == 5


def test_what_is_not_finite_is_dropped_and_counted(m):
    points, evidence = POINTS.copy(), EVIDENCE.copy()
    points[0, 0], points[1, 1], points[2] = np.nan, np.inf, 0
    evidence[3, 1], evidence[4] = np.nan, 0
    report = m.insert(points.astype(np.float64) * np.where(np.arange(10) == 5, 1e300, 1)[:, None], evidence=evidence)
    dropped = report.dropped
    assert (dropped.non_finite_point, dropped.no_return, dropped.non_finite_semantics) == (3, 1, 1)
    assert dropped.no_evidence == 1 and report.received == 10 == report.kept + dropped.total
    assert sum(dropped.to_dict().values()) == dropped.total
    b = m.query([[np.nan, 0, 0], [np.inf, 0, 0], [1e300, 0, 0], POINTS[9]])
    assert list(b.observed) == [False, False, False, True]


def test_nothing_is_a_frame_and_a_query_too(m):
    report = m.insert(np.zeros((0, 3)), evidence=np.zeros((0, 3)))
    assert report.received == 0 and m.frames == 1
    b = m.query(np.zeros((0, 3)))
    assert len(b) == 0 and b.alpha.shape == (0, 3) and b.label.shape == (0,)
    assert len(m.voxels()) == 0 and m.voxels().center.shape == (0, 3)
    assert m.primitives().covariance.shape == (0, 3, 3)


@pytest.mark.parametrize("points", [[[1, 2]], [1, 2, 3], np.zeros((2, 3), object), np.zeros((2, 3), bool)])
def test_a_bad_query_is_refused(m, points):
    with pytest.raises((TypeError, ValueError), match="points"):
        m.query(points)


def test_bad_arguments_elsewhere(m):
    m.insert(POINTS, evidence=EVIDENCE)
    for call in (
        lambda: e2bki.Map([]),
        lambda: e2bki.Map(["a", "a"]),
        lambda: m.voxels(resolution=-1),
        lambda: m.bev(resolution=float("nan")),
        lambda: m.remove_outside([0, 0, 1], high=[1, 1, 0]),
        lambda: m.merge(e2bki.Map(["x"])),
        lambda: m.export("map.unknown"),
        lambda: m.export("map.ply", format="obj"),
        lambda: m.plot_bev(value="height"),
        lambda: e2bki.sim.Drive("moon"),
        lambda: e2bki.sim.Drive(season="monsoon"),
        lambda: e2bki.baselines.SBki(["a"]).bev(),
        lambda: e2bki.metrics.evaluate([0, 1], [0], classes=2),
        lambda: e2bki.metrics.compare([], {}),
    ):
        with pytest.raises(ValueError):
            call()
    for call in (
        lambda: e2bki.Map("road"),
        lambda: e2bki.Map([1, 2]),
        lambda: e2bki.Map(CLASSES, e2bki.Config()),
        lambda: m.merge(7),
        lambda: m.voxels(0.2),
        lambda: e2bki.metrics.compare([1], {"a": m}),
        lambda: e2bki.metrics.compare([], {"a": 1}),
    ):
        with pytest.raises(TypeError):
            call()


def test_frames_without_truth_cannot_be_asked_about(m):
    with pytest.raises(ValueError, match="truth"):
        e2bki.metrics.compare([e2bki.Frame(POINTS, evidence=EVIDENCE)], {"map": m})
    with pytest.raises(ValueError, match="truth"):
        e2bki.baselines.train([e2bki.Frame(POINTS, evidence=EVIDENCE)], classes=CLASSES)


def test_an_error_of_the_iterator_comes_through(m):
    def frames():
        yield e2bki.Frame(POINTS, evidence=EVIDENCE, truth=np.ones(10, int))
        raise KeyError("disk gone")

    with pytest.raises(KeyError, match="disk gone"):
        e2bki.metrics.compare(frames(), {"map": m})


def test_a_map_of_several_threads_is_that_of_one():
    """Inserts wait for each other, queries run beside them, and nothing is lost."""
    scans = [POINTS + np.float32([10 * k, 0, 0]) for k in range(24)]
    expected = e2bki.Map(CLASSES)
    for scan in scans:
        expected.insert(scan, evidence=EVIDENCE)
    m, failures = e2bki.Map(CLASSES), []

    def insert(part):
        try:
            for scan in part:
                m.insert(scan, evidence=EVIDENCE)
        except Exception as error:  # noqa: BLE001
            failures.append(error)

    def read():
        try:
            for _ in range(30):
                b = m.query(POINTS)
                assert b.alpha.shape == (10, 3)
                m.voxels(), m.primitives(), len(m), repr(m), m.byte_size
        except Exception as error:  # noqa: BLE001
            failures.append(error)

    threads = [threading.Thread(target=insert, args=(scans[k::4],)) for k in range(4)]
    threads += [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not failures and m.frames == 24 and len(m) == len(expected)
    places = np.concatenate(scans)
    np.testing.assert_allclose(m.query(places).alpha, expected.query(places).alpha, rtol=1e-5)


def test_maps_may_be_merged_crosswise_and_with_themselves():
    a, b = e2bki.Map(CLASSES), e2bki.Map(CLASSES)
    a.insert(POINTS, evidence=EVIDENCE)
    b.insert(POINTS + np.float32(20), evidence=EVIDENCE)
    threads = [threading.Thread(target=a.merge, args=(b,)), threading.Thread(target=b.merge, args=(a,))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    before = len(a)
    a.merge(a)
    assert len(a) == before


def test_an_array_changed_by_another_thread_cannot_hurt():
    points, evidence = np.repeat(POINTS, 2000, axis=0), np.repeat(EVIDENCE, 2000, axis=0)
    stop = threading.Event()

    def scribble():
        while not stop.is_set():
            points[:] = np.nan
            points[:] = 1

    thread = threading.Thread(target=scribble)
    thread.start()
    try:
        for _ in range(5):
            report = e2bki.Map(CLASSES).insert(points, evidence=evidence)
            assert report.received == 20_000 == report.kept + report.dropped.total
    finally:
        stop.set()
        thread.join()


def test_the_interpreter_is_free_during_work(drive):
    """Another thread makes progress while a large insert runs."""
    frame = e2bki.sim.Drive("urban", seed=2).frame(0, network=0.3)
    m, ticks, done = e2bki.Map(drive.classes), [], threading.Event()

    def insert():
        m.insert(frame)
        done.set()

    thread = threading.Thread(target=insert)
    thread.start()
    while not done.wait(0.001):
        ticks.append(None)
    thread.join()
    assert len(ticks) >= 5
