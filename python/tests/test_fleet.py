"""Maps of a fleet: the same bytes however the work was shared out, and what leaves leaves no trace."""

import hashlib
import importlib.util
import multiprocessing
from concurrent.futures import Executor, ProcessPoolExecutor
from pathlib import Path

import e2bki
import numpy as np
import pytest
from e2bki import fleet

RUNS = [f"robot-{i}" for i in range(4)]
CONFIG = {"live_voxels": False}


def frames(run: int):
    """A few overlapping scans of one robot."""
    rng = np.random.default_rng(run)
    for frame in range(3):
        points = rng.uniform([1, -8, -1], [18, 8, 2], (400, 3)).astype(np.float32)
        pose = np.eye(4)
        pose[:3, 3] = [15 * run + 5 * frame, 0, 0]
        yield points, rng.integers(0, 3, 400).astype(np.uint32), pose


def new() -> e2bki.Map:
    return e2bki.Map(["road", "tree", "car"], config=e2bki.Config(**CONFIG))


def drive(m: e2bki.Map, run: int) -> None:
    for points, labels, pose in frames(run):
        m.insert(points, labels=labels, world_from_sensor=pose)


def make_run(store: str, scratch: str, run: int) -> None:
    """What a worker does with one log."""
    m = new()
    drive(m, run)
    path = Path(scratch) / f"{run}.e2bki"
    m.save(path, sources=[RUNS[run]])
    fleet.add(store, RUNS[run], path)


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def alone(runs: list[int], path: Path) -> str:
    m = new()
    for run in runs:
        drive(m, run)
    m.save(path, sources=[RUNS[run] for run in runs])
    return digest(path)


@pytest.fixture
def store(tmp_path: Path) -> str:
    new().save(tmp_path / "like.e2bki")
    fleet.init(str(tmp_path / "store"), like=tmp_path / "like.e2bki")
    return str(tmp_path / "store")


def work(executor: Executor, store: str, scratch: Path) -> None:
    # Every task twice, as after a worker that was thought lost.
    for future in [executor.submit(make_run, store, str(scratch), run) for run in [3, 1, 0, 2, 1, 3]]:
        future.result()
    tasks = fleet.plan(store)
    assert tasks
    for future in [executor.submit(fleet.reduce, store, tiles) for tiles in tasks * 2]:
        future.result()


def check(store: str, folder: Path) -> None:
    manifest = fleet.commit(store)
    assert [run["name"] for run in manifest["runs"]] == RUNS
    fleet.export(store, folder / "fleet.e2bki")
    assert digest(folder / "fleet.e2bki") == alone([0, 1, 2, 3], folder / "alone.e2bki")
    fleet.remove(store, "robot-2", reason="its calibration was wrong")
    fleet.export(store, folder / "fleet.e2bki")
    assert digest(folder / "fleet.e2bki") == alone([0, 1, 3], folder / "alone.e2bki")
    fleet.commit(store, again=["robot-2"])
    fleet.export(store, folder / "fleet.e2bki")
    assert digest(folder / "fleet.e2bki") == alone([0, 1, 2, 3], folder / "alone.e2bki")
    assert fleet.verify(store, remake=True) == []
    state = fleet.status(store)
    assert state["waiting"] == [] and state["tiles_to_do"] == 0


def test_a_pool_of_processes(store: str, tmp_path: Path) -> None:
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as executor:
        work(executor, store, tmp_path)
    check(store, tmp_path)


@pytest.mark.skipif(importlib.util.find_spec("distributed") is None, reason="Dask is not installed")
def test_dask(store: str, tmp_path: Path) -> None:
    from distributed import Client, LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1") as cluster, Client(cluster) as client:
        work(client.get_executor(retries=3), store, tmp_path)
    check(store, tmp_path)


def test_logs_from_disk(store: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(e2bki.Error, match="could not be mapped"):
        fleet.build(store, {"robot-9": [str(tmp_path / "nothing")]})
    assert "nothing" in capfd.readouterr().err


def test_bad_input(store: str, tmp_path: Path) -> None:
    with pytest.raises(e2bki.Error, match="fleet init"):
        fleet.status(str(tmp_path / "elsewhere"))
    other = e2bki.Map(["road"], config=e2bki.Config(**CONFIG))
    other.save(tmp_path / "other.e2bki")
    with pytest.raises(e2bki.Error, match="classes"):
        fleet.add(store, "other", tmp_path / "other.e2bki")
    with pytest.raises(e2bki.Error, match="no run nobody"):
        fleet.remove(store, "nobody", reason="")


def test_levels_of_detail_are_made_once(store: str, tmp_path: Path) -> None:
    for run in range(4):
        make_run(store, str(tmp_path), run)
    fleet.commit(store)
    top, made = fleet.levels(store)
    assert top >= 1 and made >= top
    assert fleet.levels(store) == (top, 0)
