"""What the way through Python may cost: 5 % of the time that Rust itself takes."""

from time import perf_counter

import numpy as np

import e2bki

ALLOWED = 0.05


def cost(once, rounds):
    """Least seconds that Python adds, over the least that Rust takes.

    Other work on the machine only ever adds time, and to both: of many rounds the quickest are near what an idle one gives.
    """
    once()
    pairs = [once() for _ in range(rounds)]
    return min(wall - rust for wall, rust in pairs) / min(rust for _, rust in pairs)


def timed(call, inner):
    start = perf_counter()
    result = call()
    return perf_counter() - start, inner(result)


def test_insert_and_query_cost_what_rust_takes(rng):
    m = e2bki.Map([f"class {c}" for c in range(11)])
    points = rng.uniform([-25, -25, -2], [25, 25, 2], (100_000, 3)).astype(np.float32)
    evidence = rng.gamma(0.3, 3.0, (100_000, 11)).astype(np.float32)
    places = rng.uniform([-25, -25, -2], [25, 25, 2], (1_000_000, 3))
    insert = cost(lambda: timed(lambda: m.insert(points, evidence=evidence), lambda r: r.timings.total), 8)
    query = cost(lambda: timed(lambda: m.query(places), lambda b: b.seconds), 6)
    assert insert <= ALLOWED, f"insert: {100 * insert:.2f} %"
    assert query <= ALLOWED, f"query: {100 * query:.2f} %"
