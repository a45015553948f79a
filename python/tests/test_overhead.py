"""What the way through Python may cost: 5 % of the time that Rust itself takes."""

from statistics import median
from time import perf_counter

import numpy as np

import e2bki


def cost(pairs):
    """Median of wall less Rust seconds, over the median of Rust's."""
    return median(wall - rust for wall, rust in pairs) / median(rust for _, rust in pairs)


def test_insert_and_query_cost_what_rust_takes(rng):
    m, inserts, queries = e2bki.Map([f"class {c}" for c in range(11)]), [], []
    points = rng.uniform([-25, -25, -2], [25, 25, 2], (100_000, 3)).astype(np.float32)
    evidence = rng.gamma(0.3, 3.0, (100_000, 11)).astype(np.float32)
    for _ in range(4):
        start = perf_counter()
        report = m.insert(points, evidence=evidence)
        inserts.append((perf_counter() - start, report.timings.total))
    places = rng.uniform([-25, -25, -2], [25, 25, 2], (1_000_000, 3))
    for _ in range(3):
        start = perf_counter()
        seconds = m.query(places).seconds
        queries.append((perf_counter() - start, seconds))
    assert cost(inserts[1:]) < 0.05, inserts
    assert cost(queries) < 0.05, queries
