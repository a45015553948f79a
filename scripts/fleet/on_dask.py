"""Runs commands on a Dask LocalCluster through its `concurrent.futures` interface, and kills a worker in the middle of each stage."""

import json
import os
import random
import signal
import subprocess
import sys
import time

from distributed import Client, LocalCluster


def work(arguments: list[str]) -> int:
    return subprocess.run(arguments, stdout=subprocess.DEVNULL, check=True).returncode


if __name__ == "__main__":
    todo = json.load(sys.stdin)
    rng = random.Random(todo["seed"])
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1") as cluster, Client(cluster) as client:
        executor = client.get_executor(retries=3, pure=False)
        for stage in ["maps", "reduces"]:
            futures = [executor.submit(work, arguments) for arguments in todo[stage] * 2]
            time.sleep(rng.uniform(0.1, 0.6))
            victim = rng.choice(list(client.run(os.getpid).values()))
            os.kill(victim, signal.SIGKILL)
            assert all(future.result(timeout=300) == 0 for future in futures)
