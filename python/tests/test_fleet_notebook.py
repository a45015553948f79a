"""The notebook of docs/fleet.md is run as it stands there, on a Dask LocalCluster where it asks for SLURM: the map is that of one mapper."""

import hashlib
import pathlib
import re
import shutil

import pytest
from e2bki import fleet
from e2bki._e2bki import run

pytest.importorskip("distributed", reason="Dask is not installed: the notebook of the book is not run")

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "fleet.md"
RUNS = ["robot-7", "robot-8"]


def notebook(logs: pathlib.Path, store: pathlib.Path) -> str:
    """The code of the page, with what a laptop has instead of a cluster."""
    lines = PAGE.read_text().splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("    from dask_jobqueue"))
    length = next(i for i, line in enumerate(lines[first:]) if line and not line.startswith("    "))
    code = "\n".join(line[4:] for line in lines[first : first + length])
    local = 'LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1")'
    changes = [
        (r"from dask_jobqueue import SLURMCluster", "from distributed import LocalCluster"),
        (r"SLURMCluster\(.*\)", local),
        (r"cluster\.adapt\(maximum=64\)", "cluster.adapt(minimum=2, maximum=2)"),
        (r"/logs/", f"{logs}/"),
        (r"/shared/city", str(store)),
    ]
    for old, new in changes:
        code, count = re.subn(old, new, code)
        assert count, f"the notebook has no `{old}` any more"
    return code


def digest(path: pathlib.Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_notebook_makes_the_map_of_one_mapper(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not PAGE.is_file():
        pytest.skip("the book is not beside the package")
    monkeypatch.chdir(tmp_path)
    one, store = tmp_path / "one.e2bki", tmp_path / "city"
    for i, name in enumerate(RUNS):
        where = ["--world", "urban", "--seed", "5", "--route", "loop", "--round", "200", "--start", str(12 * i), "--frames", "2"]
        assert run(["simulate", *where, "--no-images", "--format", "semantickitti", "--out", name]) == 0
        # A perfect network.
        shutil.copytree(f"{name}/sequences/00/labels", f"{name}/sequences/00/predictions")
        onto = ["--onto", str(one)] if i else []
        assert run(["map", name, "--semantics", "labels:predictions", *onto, "--source", name, "-o", str(one)]) == 0
    pathlib.Path("runs.txt").write_text("\n".join(RUNS) + "\n")
    fleet.init(str(store), like=one)
    names: dict[str, object] = {}
    try:
        exec(notebook(tmp_path, store), names)
    finally:
        for owned in ("client", "cluster"):
            if owned in names:
                names[owned].close()  # type: ignore[attr-defined]
    state = fleet.status(str(store))
    assert state["waiting"] == [] and state["tiles_to_do"] == 0 and state["manifest"]["number"] == 1, state
    fleet.export(str(store), tmp_path / "city.e2bki")
    assert digest(tmp_path / "city.e2bki") == digest(one)
