"""The questions in SQL of docs/fleet.md are asked of a store, as they stand there, and sums by SQL are those of `fleet.reduce`."""

import pathlib
import re

import e2bki
import pytest
from e2bki import fleet

duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed: the questions in SQL are not asked")

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "fleet.md"
ROBOTS = 4


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A few overlapping runs, one of them added later: there are tiles of an earlier manifest, which do not count."""
    if not PAGE.is_file():
        pytest.skip("the book is not beside the package")
    folder = tmp_path_factory.mktemp("fleet")
    store = folder / "city"
    for robot in range(ROBOTS):
        drive = e2bki.sim.Drive("offroad", seed=3, columns=256)
        m = e2bki.Map(drive.classes, config=e2bki.Config(live_voxels=False))
        for number, frame in enumerate(drive.frames(3 + robot, network=0.3)):
            if number >= robot:
                m.insert(frame)
        m.save(folder / "run.e2bki", sources=[f"robot-{robot}"])
        if robot == 0:
            fleet.init(str(store), like=folder / "run.e2bki")
        fleet.add(str(store), f"robot-{robot}", folder / "run.e2bki")
        if robot >= ROBOTS - 2:
            fleet.commit(str(store))
    return store


def asked(store):
    """Every block of SQL on the page, with the files of the store."""
    blocks = re.findall(r"```sql\n(.*?)```", PAGE.read_text(), re.S)
    return [block.replace("'city/", f"'{store}/") for block in blocks]


def test_every_question_has_an_answer(store):
    database = duckdb.connect()
    answers = []
    for block in asked(store):
        answer = database.execute(block).fetchall()
        if not block.lstrip().startswith("CREATE"):
            answers.append(answer)
            assert answer, block
    assert len(answers) == 10
    assert [row[0] for row in answers[0]] == [f"robot-{robot}" for robot in range(ROBOTS)]
    assert answers[9] == [(0,)]


def test_grouping_runs_gives_every_exact_column(store):
    database = duckdb.connect()
    for block in asked(store)[:3]:
        database.execute(block)
    columns = [row[0] for row in database.execute("DESCRIBE tiles").fetchall()]
    place = ["origin_x", "origin_y", "origin_z", "i", "j", "k", "label"]
    exact = ["points", *(c for c in columns if c.startswith(("sum_", "log_evidence_")))]
    assert len(exact) > 12
    sums = ", ".join(f"sum({column}) AS {column}" for column in exact)
    ours = database.execute(f"SELECT {', '.join(place + exact)} FROM tiles ORDER BY {', '.join(place)}").fetchall()
    theirs = database.execute(f"SELECT {', '.join(place)}, {sums} FROM runs GROUP BY {', '.join(place)} ORDER BY {', '.join(place)}").fetchall()
    assert len(ours) > 1000 and ours == theirs
