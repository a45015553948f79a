"""What a fleet costs, with the program in $PROGRAM: memory of reducing a tile of 300 runs, throughput of map and reduce per core, what a second worker adds, and
how much faster a run is taken out of tiles than they are made of all others.

    python3 scripts/fleet/measure.py FOLDER MANY_RUNS

MANY_RUNS is the example `many_runs` of e2bki-fleet. Two cores must be free for this. Every worker is bound to one core, as a scheduler binds the tasks of a cluster: a
program that maps reads the next scan on a thread of its own, and alone it would take part of the other core for that.
"""

import hashlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

PROGRAM = os.environ["PROGRAM"]
RUNS = int(os.environ.get("RUNS", "300"))
FRAMES = int(os.environ.get("FRAMES", "40"))
SPREAD = int(os.environ.get("SPREAD", "64"))
ONE_THREAD = {**os.environ, "RAYON_NUM_THREADS": "1"}


def start(arguments: list[object], core: int) -> int:
    def bind() -> None:
        os.sched_setaffinity(0, {core})

    return subprocess.Popen([str(a) for a in arguments], env=ONE_THREAD, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=bind).pid


def timed(*commands: list[object]) -> tuple[float, float]:
    """Seconds until all are done that are started at once, each on a core of its own, and the most memory of one in MB."""
    cores = sorted(os.sched_getaffinity(0))
    began, memory = time.time(), 0.0
    for pid in [start(command, cores[i]) for i, command in enumerate(commands)]:
        _, code, used = os.wait4(pid, 0)
        if code != 0:
            sys.exit(f"FAILED: {commands}")
        memory = max(memory, used.ru_maxrss / 1024)
    return time.time() - began, memory


def e2bki(*arguments: object) -> list[object]:
    return [PROGRAM, *arguments]


def contents(store: Path, without: set[Path]) -> dict[str, str]:
    """Hashes of the tiles in a store, by name."""
    return {path.as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in (store / "tiles").rglob("*.e2bki") if path not in without}


def main() -> None:
    folder, many = Path(sys.argv[1]), sys.argv[2]
    drives = [folder / f"drive-{i}.mcap" for i in range(2)]
    for i, drive in enumerate(drives):
        where = ["--world", "urban", "--seed", 5, "--route", "loop", "--round", 400, "--start", 200 * i, "--frames", FRAMES]
        timed(e2bki("simulate", *where, "--no-images", "--format", "mcap", "--out", drive))
    one_core = ["--set", "run.threads=1", "--set", "views.live_voxels=false"]
    mapped = [e2bki("map", drive, *one_core, "-o", folder / f"{i}.e2bki") for i, drive in enumerate(drives)]
    alone = sum(timed(command)[0] for command in mapped)
    both = timed(*mapped)[0]
    about = json.loads(subprocess.check_output([PROGRAM, "info", str(folder / "0.e2bki"), "--json", "-"], text=True, stderr=subprocess.DEVNULL))
    print(f"map: {2 * FRAMES / alone:.1f} frames/s of 64 beams and core; two workers {alone / both:.2f} times one")

    store = folder / "store"
    timed([many, folder / "0.e2bki", RUNS, store])
    run_bytes = max(path.stat().st_size for path in (store / "runs").rglob("*.e2bki"))
    rows = RUNS * int(about["primitives"])
    one, memory = timed(e2bki("fleet", "reduce", store))
    tiles = list((store / "tiles").rglob("*.e2bki"))
    result = max(path.stat().st_size for path in tiles)
    bound = (run_bytes + result) / 1e6 + 200
    print(f"reduce: {RUNS} runs, {len(tiles)} tiles, {rows} primitives in {one:.1f} s: {rows / one / 1e6:.2f} million/s and core")
    print(f"reduce: {memory:.0f} MB at most; largest tile {result / 1e6:.1f} MB, a run {run_bytes / 1e6:.1f} MB, bound {bound:.0f} MB")
    assert memory <= bound, "more memory than a tile, a run and 200 MB"

    # Shares are made of blocks of tiles: there must be many, so the runs lie three tiles apart.
    spread = folder / "spread"
    timed([many, folder / "0.e2bki", SPREAD, spread, 3])
    parts = [e2bki("fleet", "reduce", spread, "--part", f"{i}/2") for i in (1, 2)]
    single = [timed(part)[0] for part in parts]
    for path in (spread / "tiles").rglob("*.e2bki"):
        path.unlink()
    two = timed(*parts)[0]
    print(f"reduce: parts alone {single[0]:.1f} s and {single[1]:.1f} s, together {two:.1f} s: {sum(single) / two:.2f} times one worker")

    # A run leaves: of the tiles before, and, when those are not there, of all others.
    timed(e2bki("fleet", "commit", store))
    out = e2bki("fleet", "remove", store, "--run", "robot-0", "--reason", "measured")
    quick, _ = timed(out)
    made = contents(store, {path for path in tiles})
    timed(e2bki("fleet", "commit", store, "--again", "robot-0"))
    for path in (store / "tiles").rglob("*.e2bki"):
        path.unlink()
    slow, _ = timed(out)
    assert contents(store, set()) == made, "a tile that a run was taken out of has other bytes than one made of the others"
    print(f"remove: one of {RUNS} runs taken out of {len(made)} tiles in {quick:.2f} s; made of the other {RUNS - 1} in {slow:.2f} s: {slow / quick:.1f} times as long")


if __name__ == "__main__":
    main()
