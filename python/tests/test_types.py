"""The stubs: right for a type checker, and the same as what is there."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import e2bki

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def mypy(tmp_path_factory):
    """The type checker, with one cache for all tests: NumPy's types are read once."""
    pytest.importorskip("mypy")
    cache = tmp_path_factory.mktemp("mypy")

    def run(module, *arguments, cwd):
        command = [sys.executable, "-m", module, *arguments]
        environment = os.environ | {"MYPY_CACHE_DIR": str(cache)}
        done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=600)
        return done.returncode, done.stdout + done.stderr

    return run


def test_the_package_and_the_examples_are_well_typed(mypy, tmp_path):
    package = Path(e2bki.__file__).parent
    assert (package / "py.typed").exists()
    # Names that begin with a digit are no modules to mypy.
    scripts = [*(HERE.parent / "examples").glob("*.py"), *(HERE.parent / "bench").glob("*.py")]
    for script in scripts:
        (tmp_path / f"script_{script.name}").write_text(script.read_text())
    settings = ("--config-file", str(HERE.parent / "pyproject.toml"))
    for what in (("-p", "e2bki"), (".",)):
        code, text = mypy("mypy", *settings, *what, cwd=tmp_path)
        assert code == 0, text


GOOD = """
import numpy as np
import e2bki

config = e2bki.Config(resolution=0.1, clustering="cells", prune=True)
side: float = config.resolution
m = e2bki.Map(["a", "b"], config=config)
report = m.insert(np.zeros((3, 3)), labels=[0, 1, 0], world_from_sensor=np.eye(4))
kept: int = report.kept + report.dropped.total
labels: "np.ndarray[tuple[int, ...], np.dtype[np.int32]]" = m.query([[0.0, 0.0, 0.0]]).label
other: e2bki.baselines.Baseline = e2bki.baselines.SBki(m.classes, bev=True)
score: float | None = e2bki.metrics.evaluate([0], m.query(np.zeros((1, 3)))).miou
for frame in e2bki.sim.Drive("urban").frames(2):
    m.insert(frame)
with m.view(live=True, port=0) as viewer, e2bki.view(m, other, "street.e2bki", names=["a", "b", "c"]) as more:
    port: int = viewer.port + more.port
"""

BAD = [
    'e2bki.Config(resolutoin=0.1)',
    'e2bki.Config(clustering="dbscan")',
    'e2bki.Map(["a"], e2bki.Config())',
    'e2bki.Map(["a"]).insert([[0.0, 0.0, 0.0]], [[1.0]])',
    'e2bki.Map(["a"]).query([[0.0, 0.0, 0.0]]).labels',
    'e2bki.Map(["a"]).insert([[0.0, 0.0, 0.0]], labls=[0])',
    'e2bki.Map(["a"]).view(prot=1)',
    'e2bki.sim.Drive("moon")',
    'x: str = e2bki.load("map").frames',
]


def test_a_type_checker_knows_good_from_bad(mypy, tmp_path):
    (tmp_path / "good.py").write_text(GOOD)
    code, text = mypy("mypy", "--strict", "good.py", cwd=tmp_path)
    assert code == 0, text
    (tmp_path / "bad.py").write_text("import e2bki\n" + "\n".join(BAD) + "\n")
    code, text = mypy("mypy", "--strict", "bad.py", cwd=tmp_path)
    assert code == 1
    for line in range(2, len(BAD) + 2):
        assert f"bad.py:{line}: error" in text, (BAD[line - 2], text)


def test_stubs_name_what_there_is(mypy, tmp_path):
    settings = ("--mypy-config-file", str(HERE.parent / "pyproject.toml"), "--allowlist", str(HERE / "stubtest.txt"))
    code, text = mypy("mypy.stubtest", "e2bki", *settings, "--ignore-unused-allowlist", cwd=tmp_path)
    assert code == 0, text


def test_the_stub_of_config_has_the_words_of_every_parameter():
    stub = (Path(e2bki.__file__).parent / "_e2bki.pyi").read_text()
    for field in e2bki.Config.fields():
        start = stub.index(f"    def {field['name']}(self) -> ")
        words = " ".join(stub[start:].split('"""')[1].split())
        unit, symbol = (f" {name}: {field[key]}." if field[key] else "" for name, key in (("Unit", "unit"), ("Paper", "symbol")))
        assert words == f"{field['about']}.{unit}{symbol}", field["name"]


def test_everything_is_documented():
    for module in (e2bki, e2bki.data, e2bki.sim, e2bki.baselines, e2bki.metrics):
        for name in module.__all__:
            thing = getattr(module, name)
            if callable(thing):
                assert thing.__doc__, f"{module.__name__}.{name}"
    for cls in (e2bki.Map, e2bki.Beliefs, e2bki.Voxels, e2bki.Primitives, e2bki.Frame, e2bki.FrameReport):
        for name in dir(cls):
            if not name.startswith("_"):
                assert getattr(cls, name).__doc__, f"{cls.__name__}.{name}"
