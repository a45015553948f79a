"""Maps of many robots in one store (a folder, or in builds with `fleet-cloud` s3://, gs://, az://), byte for byte the map of one machine.

    from concurrent.futures import ProcessPoolExecutor
    from e2bki import fleet

    fleet.init("city", like="monday.e2bki")                 # classes and parameters of a map
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as executor:
        fleet.build("city", {"robot-7": ["drives/7"], "robot-8": ["drives/8"]}, executor=executor)
    fleet.export("city", "city.e2bki")

Every function goes from names to names and may be run twice, anywhere: objects are never changed and are named by what they are made of. With Dask:
`fleet.build(store, logs, executor=client.get_executor(retries=3))`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor, as_completed
from typing import Any

from ._e2bki import (
    Error,
    fleet_add,
    fleet_clean,
    fleet_commit,
    fleet_export,
    fleet_init,
    fleet_levels,
    fleet_plan,
    fleet_reduce,
    fleet_remove,
    fleet_status,
    fleet_verify,
    run as _run,
)

__all__ = ["add", "build", "clean", "commit", "export", "init", "levels", "map_run", "plan", "reduce", "remove", "status", "verify"]

BLOCK = 8
"""Tiles along a side of what one task reduces: scheduling costs more than adding."""


def init(store: str, *, like: str | os.PathLike[str]) -> None:
    """Makes a store a fleet's, with the classes and parameters of a map. A store that is one already stays as it is."""
    fleet_init(store, like)


def map_run(store: str, run: str, arguments: Sequence[str]) -> None:
    """Maps a drive and adds it as a run; does nothing if the same drive was added before. `arguments` are those of `e2bki map`: the dataset, and how to
    read it."""
    code = _run(["fleet", "map", store, "--run", run, "--", *arguments])
    if code != 0:
        raise Error(f"the run {run} could not be mapped; what is at fault was printed (exit code {code})")


def add(store: str, run: str, path: str | os.PathLike[str], *, key: str | None = None) -> str:
    """Adds a map file as a run and returns its key: a hash of its bytes, unless one is given that stands for everything it was made of."""
    return fleet_add(store, run, path, key)


def plan(store: str) -> list[list[tuple[int, int]]]:
    """The tiles that the next commit needs and that are not there yet, in tasks of up to 8 x 8."""
    tasks: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for (x, y), done in fleet_plan(store):
        if not done:
            tasks.setdefault((x // BLOCK, y // BLOCK), []).append((x, y))
    return [tasks[block] for block in sorted(tasks)]


def reduce(store: str, tiles: Iterable[tuple[int, int]]) -> int:
    """Makes tiles that the next commit needs; returns how many of them were missing."""
    return fleet_reduce(store, [(x, y) for x, y in tiles])


def commit(store: str, *, again: Sequence[str] = ()) -> dict[str, Any]:
    """Makes the runs in the store the map and returns its manifest. Runs that were removed stay out unless they are named in `again`."""
    return dict(json.loads(fleet_commit(store, list(again))))


def remove(store: str, run: str, *, reason: str, purge: bool = False) -> dict[str, Any]:
    """Takes a run out of the map. With `purge` every object that holds something of it is deleted as well."""
    return dict(json.loads(fleet_remove(store, run, reason, purge)))


def levels(store: str) -> tuple[int, int]:
    """Makes the coarser levels of detail that the viewer shows from afar, where they are missing; returns how many levels there are above the map, and how many
    tiles were made."""
    top, made = fleet_levels(store)
    return top, made


def verify(store: str, *, remake: bool = False) -> list[str]:
    """Reads everything that the map is made of; returns what is wrong, in words. With `remake` every tile is made anew and compared."""
    return list(fleet_verify(store, remake))


def clean(store: str) -> tuple[int, int]:
    """Removes what killed programs left, and tiles that nobody needs; returns how many unfinished files and how many unused objects there were."""
    unfinished, unused = fleet_clean(store)
    return unfinished, unused


def export(store: str, out: str | os.PathLike[str], *, manifest: int | None = None) -> None:
    """Writes the fleet's map (or that of an earlier manifest) as one map file."""
    fleet_export(store, out, manifest)


def status(store: str) -> dict[str, Any]:
    """What is in the map, what waits for a commit, and what is left to do."""
    return dict(json.loads(fleet_status(store)))


def build(store: str, logs: Mapping[str, Sequence[str]], *, executor: Executor | None = None) -> dict[str, Any]:
    """Maps all logs (arguments of `e2bki map` by the name of the run), reduces the tiles they touch and commits. Without an executor it all happens here.
    Returns the manifest."""
    if executor is None:
        for run, arguments in logs.items():
            map_run(store, run, list(arguments))
    else:
        for mapped in as_completed([executor.submit(map_run, store, run, list(a)) for run, a in logs.items()]):
            mapped.result()
        for reduced in as_completed([executor.submit(reduce, store, tiles) for tiles in plan(store)]):
            reduced.result()
    return commit(store)
