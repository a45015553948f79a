"""The questions of docs/questions.md are asked of a map, as they stand there."""

import json
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

import e2bki

duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed: the questions in SQL are not asked")

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "questions.md"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A map of a few simulated frames, and a way beside it."""
    if not PAGE.is_file():
        pytest.skip("the book is not beside the package")
    folder = tmp_path_factory.mktemp("questions")
    drive = e2bki.sim.Drive("offroad", seed=3, columns=256)
    m = e2bki.Map(drive.classes)
    for frame in drive.frames(4, network=0.3):
        m.insert(frame)
    m.save(folder / "street.e2bki")
    rows = "".join(f"{x},0,0,0.1,0.0\n" for x in range(20))
    (folder / "way.csv").write_text("x,y,z,cost,risk\n" + rows)
    return folder, m


def asked(folder):
    """Every block of SQL on the page, with the files of the folder."""
    blocks = re.findall(r"```sql\n(.*?)```", PAGE.read_text(), re.S)
    return [re.sub(r"'(street\.e2bki|way\.csv)'", lambda name: f"'{folder / name[1]}'", block) for block in blocks]


def test_every_question_has_an_answer(folder):
    folder, _ = folder
    database = duckdb.connect()
    questions = 0
    for block in asked(folder):
        answer = database.execute(block).fetchall()
        if block.lstrip().startswith("SELECT"):
            questions += 1
            assert answer, block
    assert questions == 10


def test_answers_are_those_of_the_map(folder):
    folder, m = folder
    database = duckdb.connect()
    for block in asked(folder)[:3]:
        database.execute(block)
    p = m.primitives()
    points = dict(database.execute("SELECT label, sum(points) FROM primitives GROUP BY label").fetchall())
    for label in np.unique(p.label):
        assert points[label] == p.weight[p.label == label].sum()
    cells = len(np.unique(np.floor(p.mean[:, :2] / 0.5), axis=0))
    assert database.execute("SELECT count(*) FROM cells").fetchone()[0] == cells
    voxels = len(np.unique(np.floor(p.mean / 0.5), axis=0))
    assert database.execute("SELECT count(*) FROM voxels").fetchone()[0] == voxels


QUESTIONS = [
    "area of grass",
    "area of grass or dirt with u < 0.2 within 20 m of the way",
    "area of anything with height > 1 and points >= 3",
    "volume of vegetation with share > 0.9 and z > 0",
    "volume of anything with u <= 0.1",
    "count of anything within 5 m of 3,-2",
    "count of vegetation with range < 10 within 2 m of dirt",
    "length of grass with low < 100",
    "length of anything",
]


@pytest.mark.parametrize("question", QUESTIONS)
def test_words_and_sql_give_the_same_answer(folder, question):
    folder, _ = folder

    def ask(*options):
        command = [sys.executable, "-m", "e2bki", "ask", "street.e2bki", question, "--way", "way.csv", *options]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr
        return done.stdout

    answer = json.loads(ask("--json", "-"))["value"]
    text = re.sub(r"'(street\.e2bki|way\.csv)'", lambda name: f"'{folder / name[1]}'", ask("--sql"))
    *views, select = [part for part in text.split(";") if part.strip()]
    database = duckdb.connect()
    for view in views:
        database.execute(view)
    assert database.execute(select).fetchone()[0] == pytest.approx(answer, abs=1e-9)
