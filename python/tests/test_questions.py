"""The questions of docs/questions.md are asked of a map, as they stand there."""

import pathlib
import re

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
