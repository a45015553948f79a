"""DUFOMap on the frames of the free-space table.

    e2bki experiment table-dynamic
    pip install dufomap numpy
    python scripts/dufomap-table.py experiments-out/table-dynamic-frames/*

Prints static accuracy (SA), dynamic accuracy (DA) and AA = sqrt(SA * DA) of points and of 0.25 m voxels, and the share of
poles, signs and fences that it takes for moving, as the experiment does for our own counters.
"""

import sys
from pathlib import Path

import numpy as np
from dufomap import dufomap

ROW = np.dtype([("xyz", "<f4", 3), ("moving", "u1"), ("truth", "u1"), ("label", "u1")])
THIN = ("pole", "sign/light", "fence")


def read(folder):
    names = (folder / "classes.txt").read_text().split("\n")
    frames = []
    for path in sorted(folder.glob("*.bin")):
        rows = np.fromfile(path, ROW)
        pose = np.loadtxt(path.with_suffix(".txt"))
        distance = np.linalg.norm(rows["xyz"], axis=1)
        frames.append((rows[(distance > 1.5) & (distance < 50)], pose))
    return names, frames


def score(gone, moving):
    static, dynamic = 100 * (1 - gone[~moving].mean()), 100 * gone[moving].mean()
    return static, dynamic, np.sqrt(static * dynamic)


def table(folder, resolution=0.1, d_s=0.2, d_p=1):
    names, frames = read(folder)
    method = dufomap(resolution, d_s, d_p, num_threads=1)
    for rows, pose in frames:
        method.run(np.ascontiguousarray(rows["xyz"]), pose, cloud_transform=True)
    method.oncePropagateCluster(if_propagate=True, if_cluster=False)
    gone = np.concatenate([method.segment(np.ascontiguousarray(r["xyz"]), pose, cloud_transform=True)[: len(r)] > 0 for r, pose in frames])
    moving = np.concatenate([rows["moving"] > 0 for rows, _ in frames])
    truth = np.concatenate([rows["truth"] for rows, _ in frames])
    world = np.concatenate([rows["xyz"].astype(float) @ pose[:3, :3].T + pose[:3, 3] for rows, pose in frames])
    _, cube = np.unique(np.floor(world / 0.25).astype(np.int64), axis=0, return_inverse=True)
    cube = cube.ravel()
    count = np.bincount(cube)
    voxels = score(np.bincount(cube, weights=gone) > 0.5 * count, np.bincount(cube, weights=moving) > 0.5 * count)
    thin = np.isin(truth, [names.index(name) for name in THIN]) & ~moving
    return (*score(gone, moving), *voxels, 100 * gone[thin].mean())


if __name__ == "__main__":
    results = []
    for folder in sys.argv[1:]:
        results.append(table(Path(folder)))
        print(folder, "points SA/DA/AA %.2f/%.2f/%.2f | voxels %.2f/%.2f/%.2f | thin lost %.2f %%" % results[-1], flush=True)
    if not results:
        sys.exit(__doc__)
    print("mean points SA/DA/AA %.2f/%.2f/%.2f | voxels %.2f/%.2f/%.2f | thin lost %.2f %%" % tuple(np.mean(results, 0)))
