"""Datasets, cameras, the simulator, baselines and the protocol."""

import os
from pathlib import Path

import numpy as np
import pytest

import e2bki


@pytest.fixture(scope="session")
def written(tmp_path_factory):
    """A small drive on disk for every layout."""
    folders = {}
    for layout, world in [("semantickitti", "urban"), ("rellis3d", "offroad"), ("kitti360", "urban")]:
        folders[layout] = tmp_path_factory.mktemp("data") / layout
        done = e2bki.sim.simulate(folders[layout], format=layout, world=world, frames=3, images=layout == "rellis3d")
        assert done["written"] == 3 and done["points"] > 0
    return folders


@pytest.mark.parametrize("layout", ["semantickitti", "rellis3d", "kitti360"])
def test_a_simulated_dataset_is_read_back(written, layout):
    source = "ground-truth" if layout != "kitti360" else "none"
    dataset = e2bki.data.Dataset(written[layout], semantics=source)
    assert dataset.format == layout and len(dataset) >= 2 and len(dataset.ids) == len(dataset)
    frames = list(dataset)
    assert [f.id for f in frames] == dataset.ids
    again = dataset[-1]
    np.testing.assert_array_equal(again.points, frames[-1].points)
    np.testing.assert_array_equal(again.labels, frames[-1].labels)
    assert again.world_from_sensor.shape == (4, 4) and again.counts["slots"] >= len(again)
    m = e2bki.Map(dataset.classes)
    for frame in dataset.frames(every=2, ahead=1):
        report = m.insert(frame)
        assert report.received == len(frame)
    if layout != "kitti360":
        assert len(m) > 100
    assert len(list(dataset.frames(start=dataset.ids[1]))) == len(dataset) - 1
    with pytest.raises(IndexError):
        dataset[len(dataset)]


def test_leaving_an_iterator_half_way_stops_its_thread(written):
    dataset = e2bki.data.Dataset(written["semantickitti"])
    for _ in range(20):
        iterator = iter(dataset)
        next(iterator)
        del iterator


def test_ground_truth_pictures_and_projection(written):
    dataset = e2bki.data.Dataset(
        written["rellis3d"], semantics="ground-truth-2d", ground_truth="points", pictures=True, occlusion_window=5
    )
    frame = dataset[0]
    assert frame.truth.shape == (len(frame),) and frame.picture.dtype == np.uint8
    assert frame.picture.shape[:2] == dataset.camera.size[::-1] and frame.image.exists()
    np.testing.assert_allclose(dataset.camera.project(frame.points), frame.pixels, atol=1e-6)
    # What the reader kept is what the camera sees.
    assert dataset.camera.visible(frame.points).mean() > 0.99
    # Labels of pixels are mostly those of the points seen there.
    known = (frame.truth >= 0) & (frame.labels >= 0)
    assert (frame.truth == frame.labels)[known].mean() > 0.8


def test_datasets_that_cannot_be_opened(tmp_path, written):
    with pytest.raises(ValueError, match="does not exist"):
        e2bki.data.Dataset(tmp_path / "nowhere")
    with pytest.raises(ValueError):
        e2bki.data.Dataset(tmp_path)
    for wrong in ({"format": "nuscenes"}, {"semantics": "guess"}, {"ground_truth": "yes"}, {"classes": "mine"}):
        with pytest.raises(ValueError, match="|".join(wrong.values())):
            e2bki.data.Dataset(written["semantickitti"], **wrong)


def test_a_camera_is_a_pinhole_with_browns_lens(rng):
    k1, k2, p1, p2, k3 = -0.1, 0.01, 0.001, -0.002, 0.0
    turned = np.eye(4)
    turned[:3, :3] = [[0, -1, 0], [0, 0, -1], [1, 0, 0]]  # the sensor looks along x, the camera along z
    turned[:3, 3] = [0.1, -0.2, 0.05]
    camera = e2bki.data.Camera(
        (640, 480), focal=(500, 510), center=(320, 240), distortion=(k1, k2, p1, p2, k3), camera_from_sensor=turned
    )
    points = rng.uniform([-5, -4, -3], [15, 4, 3], (500, 3))
    p = points.astype(np.float32).astype(np.float64) @ turned[:3, :3].T + turned[:3, 3]
    x, y = p[:, 0] / p[:, 2], p[:, 1] / p[:, 2]
    r2 = x**2 + y**2
    scale = 1 + k1 * r2 + k2 * r2**2
    u = 500 * (x * scale + 2 * p1 * x * y + p2 * (r2 + 2 * x**2)) + 320
    v = 510 * (y * scale + p1 * (r2 + 2 * y**2) + 2 * p2 * x * y) + 240
    inside = (p[:, 2] > 1e-3) & (u >= 0) & (u < 640) & (v >= 0) & (v < 480) & (r2 < 1.5)
    ours = camera.project(points)
    np.testing.assert_array_equal(np.isfinite(ours[:, 0]), inside)
    np.testing.assert_allclose(ours[inside], np.stack([u, v, p[:, 2]], axis=1)[inside], rtol=1e-9)
    # A ramp across the image, stored at a quarter of its size, is read back at the points.
    ramp = np.broadcast_to((np.arange(160) + 0.5) * 4, (120, 160))
    values = camera.sample(points, values=np.stack([ramp, np.full((120, 160), 7.0)]))
    central = inside & (u > 4) & (u < 636)
    np.testing.assert_allclose(values[central, 0], u[central], rtol=1e-4)
    np.testing.assert_allclose(values[inside, 1], 7, rtol=1e-6)
    assert np.all(np.isnan(values[~inside]))
    with pytest.raises(ValueError):
        e2bki.data.Camera((0, 10), focal=(1, 1), center=(0, 0))
    with pytest.raises(ValueError):
        camera.sample(points, values=np.zeros((3, 4)))


def test_alignment(rng):
    a = rng.uniform(-5, 5, (400, 3))
    assert e2bki.data.alignment(a, to=a) == 0
    assert e2bki.data.alignment(a, to=a + [0.01, 0, 0]) == pytest.approx(0.01, abs=1e-9)
    assert e2bki.data.alignment(a, to=np.zeros((0, 3))) is None


def test_the_simulator_repeats_itself(drive):
    a, b = drive.frame(4, network=0.3), e2bki.sim.Drive("urban", seed=2, columns=128).frame(4, network=0.3)
    np.testing.assert_array_equal(a.points, b.points)
    np.testing.assert_array_equal(a.evidence, b.evidence)
    assert a.truth.max() < len(drive.classes) and a.moving.dtype == np.bool_ and a.intensity.shape == a.truth.shape
    np.testing.assert_allclose(a.world_from_sensor, drive.world_from_sensor(4))
    labels = drive.frame(4)
    assert labels.semantics == "labels" and labels.evidence is None
    np.testing.assert_array_equal(labels.labels, labels.truth)
    frames = drive.frames(3, start=2, every=5)
    assert len(frames) == 3 and [f.id for f in frames] == [2, 7, 12] and list(frames) == []
    image = e2bki.sim.Drive("offroad", image_width=64).image(0)
    assert image["rgb"].shape[:2] == image["labels"].shape == image["range"].shape


def test_a_better_network_makes_a_better_map(drive):
    def score(network):
        m = e2bki.Map(drive.classes)
        frames = list(drive.frames(6, network=network))
        for frame in frames:
            m.insert(frame)
        places = np.concatenate([f.world_points for f in frames])
        return e2bki.metrics.evaluate(np.concatenate([f.truth for f in frames]), m.query(places))

    weak, strong = score(0.05), score(1.0)
    assert strong.acc > weak.acc > 30 and strong.miou > weak.miou


def test_all_methods_by_the_protocol(drive):
    methods = {"E2-BKI": e2bki.Map(drive.classes)}
    methods |= {method.__name__: method(drive.classes, bev=True) for method in e2bki.baselines.ALL}
    records = e2bki.metrics.compare(
        drive.frames(6, network=0.3), methods, views=["voxel", "bev"], every=2, network=True, dataset="street"
    )
    assert len(records) == 2 * (len(methods) + 1)
    for record in records:
        assert record.frames == 6 and record.dataset == "street"
        if record.method in methods:
            assert record.mapped == 3 and record.hz > 0 and 20 < record.miou_strict <= record.miou <= 100
            assert record.miou_common > 20 and set(record.iou) == set(drive.classes)
            assert 0 <= record.ece <= 100 and record.bytes > 0
            assert set(record.calibration) == {"decomposed", "variance", "min-max"}
    assert {r.view for r in records} == {"voxel", "bev"}
    ax = e2bki.metrics.plot_reliability({r.method: r for r in records if r.view == "voxel"})
    assert len(ax.get_legend().get_texts()) == len(methods) + 1


def test_held_out_frames_are_asked_about_only(drive):
    m = e2bki.Map(drive.classes)
    kwargs = {"every": 2, "asked": "points"}
    (all_,) = e2bki.metrics.compare(drive.frames(4, network=0.3), {"m": m}, **kwargs)
    (held,) = e2bki.metrics.compare(drive.frames(4, network=0.3), {"m": m.copy()}, held_out=True, **kwargs)
    asked = [np.sum(f.truth >= 0) for f in drive.frames(4)]
    assert all_.queries == sum(asked) and held.queries == asked[1] + asked[3]


def test_kernels_are_learned(drive):
    frames = list(drive.frames(4, network=0.3))
    kernels, losses = e2bki.baselines.train(frames, classes=drive.classes, epochs=3)
    assert len(losses) == 3 and losses[-1] < losses[0]
    text = kernels.to_toml(classes=drive.classes)
    assert e2bki.baselines.ConvKernels.from_toml(text, classes=drive.classes) == kernels
    m = e2bki.baselines.ConvBki(drive.classes, kernels=kernels)
    m.insert(frames[0])
    assert m.query(frames[0].world_points).observed.any()
    with pytest.raises(ValueError):
        e2bki.baselines.ConvKernels([2.0], vertical=[0.5])


def real_data():
    """The folder of real data. One that E2BKI_DATA names must hold something."""
    given = os.environ.get("E2BKI_DATA")
    folder = Path(given) if given is not None else Path(__file__).parents[3] / "shared" / "data"
    if given is not None and not (folder.is_dir() and any(folder.iterdir())):
        pytest.fail(f"E2BKI_DATA is {folder}, which is missing or empty")
    return folder


def test_real_scans_are_mapped():
    folders = sorted(real_data().glob("**/sequences/08"))
    if not folders:
        pytest.skip("no real data semantickitti (set E2BKI_DATA)")
    dataset = e2bki.data.Dataset(folders[0].parents[1], sequence="08", ground_truth="auto")
    m = e2bki.Map(dataset.classes)
    for frame in dataset.frames(every=2):
        report = m.insert(frame)
        assert report.received == report.kept + report.dropped.total
    frame = dataset[1]
    score = e2bki.metrics.evaluate(frame.truth, m.query(frame.world_points))
    assert score.acc > 80
