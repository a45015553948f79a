"""The map as an object: reports, files, exports, tables, pictures, memory."""

import copy
import json
import os
import pickle
from pathlib import Path

import numpy as np
import pytest

import e2bki

CLASSES = ["a", "b", "c"]


def test_a_report_accounts_for_every_point(scan):
    points, evidence, _ = scan
    m = e2bki.Map(CLASSES)
    report = m.insert(points, evidence=evidence)
    assert report.received == len(points) == report.kept + report.dropped.total
    assert report.primitives == len(m) == report.clusters - report.gated - report.folded - report.pruned
    t = report.timings
    assert t.total == pytest.approx(sum(t.to_dict().values())) and t.total > 0
    assert list(t.to_dict()) == ["sanitise", "context", "cluster", "fuse", "insert", "refine", "view"]
    for thing in (report, t, report.dropped):
        assert "e2bki" in repr(thing) or "Dropped(total=0" in repr(thing)


def test_reprs_tell_what_a_thing_is(street, frames, drive):
    assert f"{len(street)} primitives of 6 frames, 11 classes" in repr(street)
    assert f"{len(frames[0])} points, evidence, with truth" in repr(frames[0])
    assert repr(drive) == "<e2bki.sim.Drive: urban, seed 2, Hdl64e, 11 classes>"
    b = street.query(frames[0].world_points)
    assert f"{len(b)} places, {b.observed.sum()} observed" in repr(b)
    assert "0.2 m" in repr(street.voxels()) and "0.5 m" in repr(street.bev(resolution=0.5))
    assert "Gaussians" in repr(street.primitives())
    assert "S-BKI" in repr(e2bki.baselines.SBki(CLASSES))


def test_shapes_and_types(street):
    g, c = street.primitives(), len(street.classes)
    j = len(g)
    assert g.mean.shape == (j, 3) and g.covariance.shape == (j, 3, 3) and g.probability.shape == (j, c)
    assert g.uncertainty.shape == g.weight.shape == g.range.shape == g.label.shape == g.id.shape == (j,)
    assert g.mean.dtype == np.float64 and g.probability.dtype == np.float32 and g.label.dtype == np.int32
    np.testing.assert_array_equal(g.covariance, g.covariance.transpose(0, 2, 1))
    assert len(np.unique(g.id)) == j  # by place and class: the order does not depend on age
    v = street.voxels(resolution=0.4)
    assert v.alpha.shape == (len(v), c) and v.resolution == 0.4
    assert v.alpha is v.alpha  # made once
    assert v.label.dtype == np.int32 and v.observed.dtype == np.bool_


def test_a_saved_map_goes_on_as_if_never_saved(tmp_path, drive, frames):
    path = tmp_path / "street.e2bki"
    one = e2bki.Map(drive.classes)
    for frame in frames[:3]:
        one.insert(frame)
    one.save(path, sources=["first drive"])
    two = e2bki.load(path)
    for frame in frames[3:]:
        one.insert(frame)
        two.insert(frame)
    np.testing.assert_array_equal(one.primitives().log_evidence, two.primitives().log_evidence)
    np.testing.assert_array_equal(one.voxels().alpha, two.voxels().alpha)
    about = e2bki.info(path)
    assert about["sources"] == ["first drive"] and about["frames"] == 3 and about["classes"] == drive.classes
    assert e2bki.check(path) == []


def test_damage_is_found_and_what_is_whole_is_saved(tmp_path, street):
    path = tmp_path / "street.e2bki"
    street.save(path)
    bytes_ = bytearray(path.read_bytes())
    bytes_[len(bytes_) // 2] ^= 0xFF
    path.write_bytes(bytes_)
    assert e2bki.check(path)
    with pytest.raises(e2bki.DamagedMapError, match="recover"):
        e2bki.load(path)
    saved = e2bki.recover(path, out=tmp_path / "saved.e2bki")
    assert 0 < saved["primitives"] < len(street) and saved["lost"]
    assert len(e2bki.load(tmp_path / "saved.e2bki")) == saved["primitives"]


def test_files_that_are_not_there_or_not_maps(tmp_path):
    with pytest.raises(FileNotFoundError, match="nothing.e2bki"):
        e2bki.load(tmp_path / "nothing.e2bki")
    (tmp_path / "text").write_text("no map")
    with pytest.raises(ValueError):
        e2bki.load(tmp_path / "text")
    with pytest.raises(OSError):
        e2bki.Map(CLASSES).save(tmp_path / "no" / "such" / "folder.e2bki")


def test_regions_merging_and_forgetting(tmp_path, street):
    path = tmp_path / "street.e2bki"
    street.save(path)
    low, high = street.primitives().mean.min(axis=0), street.primitives().mean.mean(axis=0)
    part = e2bki.load(path, region=(low, high))
    inside = np.random.default_rng(1).uniform(low, high, (500, 3))
    np.testing.assert_array_equal(part.query(inside).alpha, street.query(inside).alpha)
    small = street.copy()
    gone = small.remove_outside(low, high=high)
    assert gone > 0 and len(small) + gone == len(street)
    assert np.all((small.primitives().mean >= low) & (small.primitives().mean <= high))
    small.save(tmp_path / "small.e2bki")
    moved = np.eye(4)
    moved[0, 3] = 500
    e2bki.merge_files(
        [path, tmp_path / "small.e2bki"],
        out=tmp_path / "both.e2bki",
        world_from_map=[np.eye(4), moved],
        allow_duplicates=True,
    )
    # By whole cubes: nothing is cut, and all sums are those of the moved points.
    merged = e2bki.load(tmp_path / "both.e2bki")
    assert len(merged) == len(street) + len(small)
    points = [each.primitives().weight.sum() for each in (merged, street, small)]
    assert points[0] == points[1] + points[2]
    here, there = small.primitives(), merged.primitives()
    far = there.mean[:, 0] > 250 + here.mean[:, 0].max() / 2
    there_mean = there.mean[far] - moved[:3, 3]
    order, was = (np.lexsort(np.round(mean, 6).T) for mean in (there_mean, here.mean))
    np.testing.assert_allclose(there_mean[order], here.mean[was], rtol=0, atol=1e-9)
    np.testing.assert_array_equal(there.weight[far][order], here.weight[was])
    np.testing.assert_array_equal(there.log_evidence[far][order], here.log_evidence[was])
    both = street.copy()
    report = both.merge(small)
    assert report.folded == len(small) and len(both) == len(street)


def test_every_export_is_written(tmp_path, street):
    for name, (ending, _) in e2bki.EXPORTS.items():
        files = street.export(tmp_path / f"{name}.{ending}", format=name, resolution=0.5)
        assert files and all(file.stat().st_size > 0 for file in files), name
    again = e2bki.import_npz(tmp_path / "npz.npz")
    np.testing.assert_array_equal(again.primitives().log_evidence, street.primitives().log_evidence)
    arrays = np.load(tmp_path / "npz.npz")
    assert any(len(arrays[key]) == len(street) for key in arrays.files if arrays[key].ndim)
    files = street.export(tmp_path / "costs.pgm", costs={"road": 0, "car": 100}, max_uncertainty=0.5)
    assert len(files) == 2


def test_tables(street):
    frame, table = street.to_pandas(), street.to_arrow()
    assert len(frame) == len(street) == table.num_rows
    g = street.primitives()
    np.testing.assert_array_equal(frame["x"], g.mean[:, 0])
    np.testing.assert_array_equal(frame["cov_xy"], g.covariance[:, 0, 1])
    assert list(frame["class"][:5]) == [street.classes[k] for k in g.label[:5]]
    assert table.column("class").to_pylist()[:5] == list(frame["class"][:5])
    cells = street.bev(resolution=1.0)
    assert list(cells.to_pandas().columns[:4]) == ["x", "y", "label", "class"]
    nowhere = street.query([[1e6, 0, 0]])
    assert nowhere.to_pandas()["class"].isna().all() and nowhere.to_arrow()["class"].to_pylist() == [None]


def test_a_saved_map_is_a_table_to_others(tmp_path, street):
    import duckdb
    import pyarrow.parquet

    path = tmp_path / "street.e2bki"
    street.save(path)
    assert pyarrow.parquet.read_table(path).num_rows == len(street)
    rows = duckdb.sql(
        f"select class, count(*), sum(points) from read_parquet('{path}') group by class order by class"
    ).fetchall()
    g = street.primitives()
    names = np.array(street.classes.names)[g.label]
    expected = [(n, int((names == n).sum()), int(g.weight[names == n].sum())) for n in sorted(set(names))]
    assert [(name, count, int(points)) for name, count, points in rows] == expected


def test_pictures(tmp_path, street):
    import matplotlib.pyplot as plt

    for value in ("class", "u", "u_sem", "u_spa", "variance", "confidence"):
        ax = street.plot_bev(value=value, resolution=0.5)
        ax.figure.savefig(tmp_path / f"{value}.png")
        (image,) = ax.get_images()
        cells = street.bev(resolution=0.5)
        drawn = np.asarray(image.get_array())
        filled = (drawn[..., 3] > 0).sum() if value == "class" else np.isfinite(np.ma.filled(drawn, np.nan)).sum()
        assert filled == len(cells)
        plt.close(ax.figure)
    assert e2bki.Map(CLASSES).plot_bev() is not None
    plt.close("all")


def test_copies_are_apart(street):
    for twin in (street.copy(), copy.copy(street), copy.deepcopy(street)):
        twin.remove_outside([0, 0, 0], high=[0, 0, 0])
        assert len(twin) == 0 < len(street)


GOLDEN = Path(__file__).parents[2] / "crates/e2bki-store/tests/golden/version-1.e2bki"


@pytest.mark.skipif(not GOLDEN.exists(), reason="needs the repository")
def test_a_file_of_format_version_1_is_what_its_description_says():
    """Read by pyarrow alone, by docs/map-format.md, and held against the map that we load."""
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(GOLDEN)
    about = json.loads(pyarrow.parquet.read_metadata(GOLDEN).metadata[b"e2bki"])
    m = e2bki.load(GOLDEN)
    assert about["version"] == 1 and about["frames"] == e2bki.info(GOLDEN)["frames"]
    column = {name: table[name].to_numpy() for name in table.column_names if name != "class"}
    order, p = np.argsort(column["id"]), m.primitives()
    ours = np.argsort(p.id)
    np.testing.assert_array_equal(column["id"][order], p.id[ours])
    np.testing.assert_array_equal(column["label"][order], p.label[ours])
    assert [m.classes[label] for label in column["label"]] == table["class"].to_pylist()
    for axis, name in enumerate("xyz"):
        mean = column[f"origin_{name}"] + column[f"sum_{name}"] / 65536 / column["points"]
        np.testing.assert_allclose(mean[order], p.mean[ours][:, axis], rtol=0, atol=1e-9)
        np.testing.assert_allclose(column[name], mean, rtol=0, atol=1e-9)


def test_classes():
    c = e2bki.Classes(["x", "y"], colors=[[1, 2, 3], [4, 5, 6]])
    assert list(c) == ["x", "y"] == c.names and len(c) == 2 and c[-1] == "y" and c.find("y") == 1
    assert c.find("z") is None and c.colors.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert pickle.loads(pickle.dumps(c)) == c != e2bki.Classes(["x", "y"])
    assert "tree" not in e2bki.Classes.named("urban11").names
    for name in e2bki.data.class_tables():
        assert len(e2bki.Classes.named(name)) > 1
    with pytest.raises(ValueError):
        e2bki.Classes(["x"], colors=[[0, 0, 256]])
    with pytest.raises(IndexError):
        c[2]


@pytest.mark.parametrize("budget", [12_000_000, 16_000_000, 200_000_000])
def test_a_rolling_map_answers_as_one_without_a_budget(tmp_path, drive, frames, street, budget):
    folder = tmp_path / "tiles"
    m = e2bki.RollingMap(drive.classes, folder=folder, budget=budget)
    for frame in frames:
        m.insert(frame)
    assert len(m) == len(street) and m.peak_bytes > 0
    places = frames[3].world_points
    np.testing.assert_array_equal(m.query(places).label, street.query(places).label)
    # A tile that had to make room is in the folder since then: under a small budget that may be all of them, and nothing is
    # left to write. Whatever the budget, after saving the folder is the whole map.
    written, unchanged = m.save()
    assert written + unchanged > 0 and (written > 0 or budget < 200_000_000)
    assert e2bki.info(folder)["primitives"] == len(street) and not e2bki.check(folder)
    # One writer at a time: the folder is free once this map has let go of it.
    with pytest.raises(e2bki.Error, match="another program"):
        e2bki.RollingMap.open(folder, budget=budget)
    whole = m.into_map()
    assert len(whole) == len(street)
    with pytest.raises(ValueError):
        m.save()
    again = e2bki.RollingMap.open(folder, budget=budget).into_map()
    # What has been on the disk keeps no age.
    np.testing.assert_array_equal(again.primitives().mean, street.primitives().mean)
    assert again.content_hash() == street.content_hash()
    np.testing.assert_array_equal(again.query(places).alpha, street.query(places).alpha)


def resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs /proc")
def test_ten_thousand_inserts_into_a_rolling_map_keep_memory_flat(rng):
    m = e2bki.Map(CLASSES)
    points = rng.uniform(-2, 2, (60, 3)).astype(np.float32)
    evidence = rng.gamma(1.0, 2.0, (60, 3))
    pose, sizes = np.eye(4), []
    for i in range(10_000):
        pose[0, 3] = 0.5 * i
        report = m.insert(points, evidence=evidence, world_from_sensor=pose)
        beliefs = m.query(points[:4].astype(np.float64) + pose[:3, 3])
        assert beliefs.alpha.shape == (4, 3) and report.kept > 0
        if i % 20 == 0:
            m.remove_outside(pose[:3, 3] - 10, high=pose[:3, 3] + 10)
        if i % 1000 == 999:
            sizes.append(resident_bytes())
    # After the allocator has settled, nothing grows: 8 MB over 7000 inserts would be 1 kB each.
    assert max(sizes[3:]) - sizes[2] < 8_000_000, sizes
    assert len(m) < 5000
