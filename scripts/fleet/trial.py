"""A fleet as its users have it, with the program in $PROGRAM: one map, whatever happens on the way.

    python3 scripts/fleet/trial.py FOLDER [STORE …]

FOLDER is for scratch. Every STORE (a folder or s3://…; must be empty) is taken through everything: pools of processes, kills of workers and drivers at random
points, every task twice, two drivers that race, runs that leave and come back, and purges. $DASK names a Python with `distributed`; $KILLS says how often
each command is killed, $SEED which random numbers are used, $MARKED_RUN where the example `marked_run` of e2bki-fleet is.
"""

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

PROGRAM = os.environ["PROGRAM"]
KILLS = int(os.environ.get("KILLS", "6"))
SEED = int(os.environ.get("SEED", str(time.time_ns() % 1_000_000)))
ROBOTS = 4
FRAMES = 6


def command(*arguments: object) -> list[str]:
    return [PROGRAM, *map(str, arguments)]


def run(*arguments: object) -> str:
    done = subprocess.run(command(*arguments), capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"FAILED: {' '.join(command(*arguments))}\n{done.stdout}{done.stderr}")
    return done.stdout


def killed(rng: random.Random, seconds: float, *arguments: object) -> bool:
    """Starts a command, and ends it without warning some time later; whether it was still at work."""
    process = subprocess.Popen(command(*arguments), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(rng.uniform(0, seconds))
    at_work = process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait()
    return at_work


def sha(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


class Trial:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.rng = random.Random(SEED)
        print(f"seed {SEED}, {KILLS} kills of each command", flush=True)
        self.logs = [folder / f"robot-{i}.mcap" for i in range(ROBOTS)]
        for i, log in enumerate(self.logs):
            drive = ["--world", "urban", "--seed", 5, "--route", "loop", "--round", 200, "--start", 12 * i, "--frames", FRAMES]
            run("simulate", *drive, "--sensor", "os1-64", "--no-images", "--format", "mcap", "--out", log)
        self.one = [self.alone(range(n + 1)) for n in range(ROBOTS)]
        self.without_1 = self.alone([0, 2, 3])
        self.groupings()

    def name(self, i: int) -> str:
        return f"robot-{i}"

    def alone(self, robots: object) -> str:
        """The map of some drives, by one mapper after the other."""
        out = self.folder / "alone.e2bki"
        out.unlink(missing_ok=True)
        for i in robots:
            onto = ["--onto", out] if out.exists() else []
            run("map", self.logs[i], *onto, "--source", self.name(i), "-o", out)
        return sha(out)

    def groupings(self) -> None:
        """Single maps with 1 and 2 threads and two budgets of memory, put together in 20 random groupings."""
        ways = {"1-thread": ["--set", "run.threads=1"], "2-threads": ["--set", "run.threads=2"], "30MB": ["--memory", "30MB"], "1GB": ["--memory", "1GB"]}
        maps: dict[str, list[Path]] = {}
        for way, options in ways.items():
            maps[way] = [self.folder / f"{way}-{i}.e2bki" for i in range(ROBOTS)]
            for i, path in enumerate(maps[way]):
                run("map", self.logs[i], *options, "--source", self.name(i), "-o", path)
            assert [sha(p) for p in maps[way]] == [sha(p) for p in maps["1-thread"]], way
        self.single = maps["1-thread"]
        for grouping in range(20):
            parts = [maps[self.rng.choice(list(ways))][i] for i in range(ROBOTS)]
            step = 0
            while len(parts) > 1:
                self.rng.shuffle(parts)
                size = self.rng.randint(2, len(parts))
                out = self.folder / f"group-{grouping}-{step}.e2bki"
                run("merge", *parts[:size], "-o", out)
                parts, step = [out, *parts[size:]], step + 1
            assert sha(parts[0]) == self.one[-1], f"grouping {grouping}"
        print("1 and 2 threads, two budgets of memory, 20 random groupings: one sha256", flush=True)

    def export(self, store: str) -> str:
        out = self.folder / "exported.e2bki"
        run("fleet", "export", store, "-o", out)
        return sha(out)

    def map(self, store: str, i: int) -> list[object]:
        return ["fleet", "map", store, "--run", self.name(i), "--", self.logs[i]]

    def through(self, store: str) -> None:
        started = time.time()
        run("fleet", "init", store, "--like", self.single[0])
        # Workers that are killed, then a pool that does every task twice.
        at_work = sum(killed(self.rng, 1.0, *self.map(store, self.rng.randrange(ROBOTS))) for _ in range(KILLS))
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda i: run(*self.map(store, i)), [2, 0, 3, 1, 0, 2, 1, 3]))
        at_work += sum(killed(self.rng, 0.4, "fleet", "reduce", store) for _ in range(KILLS))
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda part: run("fleet", "reduce", store, "--part", part), ["2/3", "1/3", "3/3", "1/3", "2/3"]))
        # Drivers that are killed, then two that race.
        at_work += sum(killed(self.rng, 0.4, "fleet", "commit", store) for _ in range(KILLS))
        race = [subprocess.Popen(command("fleet", "commit", store), stdout=subprocess.DEVNULL) for _ in range(2)]
        assert [process.wait() for process in race] == [0, 0]
        assert self.export(store) == self.one[-1], "the map of the fleet is another one"
        status = json.loads(run("fleet", "status", store, "--json", "-"))
        assert status["manifest"]["number"] == 1 and status["tiles_to_do"] == 0, status
        print(f"{store}: {at_work} of {3 * KILLS} killed at work, all tasks twice, two drivers: one manifest, one sha256", flush=True)

        run("fleet", "remove", store, "--run", "robot-1", "--reason", "trial")
        assert self.export(store) == self.without_1, "it is not the map of never"
        # Two drivers at once: one takes it in again, one removes another, which comes back too.
        race = [
            subprocess.Popen(command("fleet", "commit", store, "--again", "robot-1"), stdout=subprocess.DEVNULL),
            subprocess.Popen(command("fleet", "remove", store, "--run", "robot-3", "--reason", "race"), stdout=subprocess.DEVNULL),
        ]
        assert [process.wait() for process in race] == [0, 0]
        assert self.export(store) == self.one[2], "drivers that raced made another map"
        run("fleet", "commit", store, "--again", "robot-3")
        assert self.export(store) == self.one[-1], "it is not the map of always"
        for _ in range(KILLS):
            killed(self.rng, 0.4, "fleet", "remove", store, "--run", "robot-1", "--reason", "purge", "--purge")
        run("fleet", "remove", store, "--run", "robot-1", "--reason", "purge", "--purge")
        assert self.export(store) == self.without_1, "after the purge it is another map"
        self.forgotten(store)
        assert self.export(store) == self.without_1, "after the second purge it is another map"
        run("fleet", "verify", store, "--remake")
        run("fleet", "clean", store)
        assert self.export(store) == self.without_1
        print(f"{store}: removed, taken in again, purged; {time.time() - started:.0f} s", flush=True)

    def files(self, store: str) -> list[Path]:
        """Every file of a store, whatever its name."""
        root = Path(os.environ["SERVED"]) if store.startswith("s3://") else Path(store)
        return [path for path in root.rglob("*") if path.is_file()]

    def forgotten(self, store: str) -> None:
        """A run with a primitive whose bytes no other file has: they are in the run, its tile and the levels above that, and after the purge nowhere."""
        marked = self.folder / "marked.e2bki"
        marker = bytes.fromhex(subprocess.run([os.environ["MARKED_RUN"], self.single[1], marked], capture_output=True, text=True, check=True).stdout.strip())

        def holding() -> list[Path]:
            return [path for path in self.files(store) if marker in path.read_bytes()]

        assert len(marker) > 8 and marker in marked.read_bytes() and not holding()
        run("fleet", "add", store, "--run", "marked", marked)
        run("fleet", "commit", store)
        run("fleet", "levels", store)
        held = len(holding())
        assert held > 2, "the marker must be found while the run is in the map"
        for _ in range(KILLS):
            killed(self.rng, 0.4, "fleet", "remove", store, "--run", "marked", "--reason", "purge", "--purge")
        run("fleet", "remove", store, "--run", "marked", "--reason", "purge", "--purge")
        assert not holding(), holding()
        assert not [path for path in self.files(store) if "runs/marked" in path.as_posix() or "runs/robot-1" in path.as_posix()]
        stored = [path for path in self.files(store) if "runs" in path.parts and path.suffix == ".e2bki"]
        assert len(stored) == ROBOTS - 1, stored
        print(f"{store}: a marked run was in {held} files, and after the purge in none of {len(self.files(store))}", flush=True)

    def dask(self, store: str) -> None:
        """The same on a LocalCluster of Dask, a worker of which is killed while it works."""
        run("fleet", "init", store, "--like", self.single[0])
        maps = [command(*self.map(store, i)) for i in range(ROBOTS)]
        reduces = [command("fleet", "reduce", store, "--part", f"{part}/4") for part in range(1, 5)]
        work = {"maps": maps, "reduces": reduces, "seed": SEED}
        script = Path(__file__).with_name("on_dask.py")
        subprocess.run([os.environ["DASK"], str(script)], input=json.dumps(work), text=True, check=True)
        run("fleet", "commit", store)
        assert self.export(store) == self.one[-1], "the map made on Dask is another one"
        print(f"{store}: Dask LocalCluster, a worker killed while mapping and while reducing: one sha256", flush=True)


if __name__ == "__main__":
    trial = Trial(Path(sys.argv[1]))
    for store in sys.argv[2:]:
        trial.through(store)
    if os.environ.get("DASK"):
        for store in sys.argv[2:]:
            trial.dask(store + "-dask")
    print("fleet: all checks passed")
