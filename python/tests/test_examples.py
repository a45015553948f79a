"""Examples and the notebook run as they are."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
ENVIRONMENT = os.environ | {"MPLBACKEND": "Agg"}


@pytest.mark.parametrize("script", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_an_example_runs(script, tmp_path):
    subprocess.run([sys.executable, script], cwd=tmp_path, check=True, env=ENVIRONMENT, timeout=300)


def test_the_notebook_runs(tmp_path, monkeypatch):
    """Every code cell in one namespace, in order: what a kernel does, without one."""
    monkeypatch.chdir(tmp_path)
    notebook = json.loads((EXAMPLES / "tour.ipynb").read_text())
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert len(cells) >= 8
    names: dict = {}
    for number, cell in enumerate(cells):
        exec(compile(cell, f"cell {number}", "exec"), names)
    assert 0 < names["score"].acc <= 100


def test_the_program_is_the_same_by_both_names(tmp_path):
    command = Path(sys.executable).with_name("e2bki")
    helps = []
    for program in ([command], [sys.executable, "-m", "e2bki"]):
        done = subprocess.run([*program, "--help"], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0 and "Usage: e2bki" in done.stdout
        helps.append(done.stdout)
        wrong = subprocess.run([*program, "info", tmp_path / "nothing"], capture_output=True, text=True, timeout=60)
        assert wrong.returncode == 2 and "nothing" in wrong.stderr
        assert subprocess.run([*program, "no-such-command"], capture_output=True, timeout=60).returncode == 2
    assert helps[0] == helps[1]


def test_the_program_reads_what_python_saved(tmp_path, street):
    path = tmp_path / "street.e2bki"
    street.save(path)
    done = subprocess.run(
        [sys.executable, "-m", "e2bki", "info", path, "--json", "-"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0 and str(len(street)) in done.stdout
    damaged = bytearray(path.read_bytes())
    damaged[len(damaged) // 2] ^= 0xFF
    path.write_bytes(damaged)
    assert subprocess.run([sys.executable, "-m", "e2bki", "check", path], capture_output=True).returncode == 1
