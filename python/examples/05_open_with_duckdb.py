"""A saved map is a Parquet file: ask it in SQL, without this package. Needs duckdb."""

import tempfile
from pathlib import Path

import duckdb

import e2bki

drive = e2bki.sim.Drive("offroad", seed=1, columns=256)
m = e2bki.Map(drive.classes)
for frame in drive.frames(5, network=0.3):
    m.insert(frame)

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "trail.e2bki"
    m.save(path)
    print(f"{len(m)} primitives, {path.stat().st_size / len(m):.0f} bytes each on disk")
    rows = duckdb.connect().execute(
        f"""
        select class, count(*) as primitives, sum(points) as points, avg(uncertainty) as uncertainty
        from read_parquet('{path}') group by class order by primitives desc
        """
    ).fetchall()
for name, primitives, points, uncertainty in rows:
    print(f"{name:12} {primitives:7} primitives of {points:8} points, mean uncertainty {uncertainty:.4f}")
assert sum(row[1] for row in rows) == len(m)
