#!/usr/bin/env python3
"""Time of our network and of ONNX Runtime for the same network, the same weights and the same two cores, in turn.

    cargo build --release -p e2bki-lab --features onnx --example network_speed
    pip install numpy onnxruntime
    python scripts/compare-onnxruntime.py [--size 512x384] [--rounds 40] [--network network.safetensors] [--json FILE]

Without --network a full-size LRASPP of 19 classes with random weights is timed: time does not depend on them.
"""

import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import onnxruntime as ort

arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
arguments.add_argument("--size", default="512x384")
arguments.add_argument("--rounds", type=int, default=40)
arguments.add_argument("--threads", type=int, default=os.cpu_count())
arguments.add_argument("--network", type=Path)
arguments.add_argument("--json", type=Path, help="write the numbers to this file too")
given = arguments.parse_args()

target = Path(os.environ.get("CARGO_TARGET_DIR", Path(__file__).parent.parent / "target")) / "release"
folder = Path(tempfile.mkdtemp())
network = given.network or folder / "full.safetensors"
environment = {**os.environ, "RAYON_NUM_THREADS": str(given.threads)}
model = folder / "network.onnx"
ours = subprocess.Popen(
    [target / "examples" / "network_speed", network, given.size, model],
    stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, env=environment,
)


def look():
    ours.stdin.write("\n")
    return [float(word) for word in ours.stdout.readline().split()]


look()
options = ort.SessionOptions()
options.intra_op_num_threads = given.threads
session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
width, height = map(int, given.size.split("x"))
count = 3 * width * height
image = ((np.arange(count) * 7919 % 1000) / np.float32(500) - np.float32(1)).astype(np.float32)
image = image.reshape(1, 3, height, width)
name = session.get_inputs()[0].name

times = {"ours": [], "ONNX Runtime": []}
for round_ in range(given.rounds + 3):
    for who in times:
        # The threads of the one that was asked before are asleep again.
        time.sleep(0.05)
        if who == "ours":
            ms, total = look()
        else:
            start = time.perf_counter()
            outputs = session.run(None, {name: image})[0]
            ms = 1e3 * (time.perf_counter() - start)
        if round_ >= 3:
            times[who].append(ms)
difference = abs(float(outputs.astype(np.float64).sum()) - total) / outputs.size
print(f"{given.size}, {given.threads} threads, {given.rounds} rounds; ONNX Runtime {ort.__version__}")
print(f"mean of the outputs differs by {difference:.2g}")
for who, all_ in times.items():
    print(f"{who:13} best {min(all_):7.1f} ms   median {statistics.median(all_):7.1f} ms")
ratios = {
    "best": min(times["ours"]) / min(times["ONNX Runtime"]),
    "median": statistics.median(times["ours"]) / statistics.median(times["ONNX Runtime"]),
    # Of rounds: whatever else the machine does, it does to both sides of a round.
    "median of rounds": statistics.median(a / b for a, b in zip(times["ours"], times["ONNX Runtime"])),
}
for word, ratio in ratios.items():
    print(f"ours / ONNX Runtime, {word}: {ratio:.2f}")
if given.json:
    record = {
        "size": given.size, "threads": given.threads, "rounds": given.rounds, "onnxruntime": ort.__version__,
        "ms": {who: {"best": min(all_), "median": statistics.median(all_)} for who, all_ in times.items()},
        "ratio": ratios,
    }
    given.json.write_text(json.dumps(record, indent=1) + "\n")
ours.stdin.close()
ours.wait()
