"""What a map says of things that really moved, in a sequence of SemanticKITTI.

    e2bki map SEQUENCE --semantics labels:predictions --max-range 50 --set free_space.max_range=50 -o map.e2bki
    e2bki export map.e2bki -o map.npz
    python scripts/moving-table.py SEQUENCE map.npz predictions

Prints static accuracy (SA: points that stay called there), dynamic accuracy (DA: points of things that moved, called gone)
and AA = sqrt(SA * DA), of points from 1.5 to 50 m. Moved: labelled as moving (252 and above), and the mean of its points is
1 m farther or more in its last scan than in its first; what is labelled so and stood counts as neither. A point is gone if
the primitive of its class in its cube is. The last argument is the folder of the labels that were mapped. With `dufomap` installed, DUFOMap is run on the
same scans.
"""

import json
import sys
import tomllib
from pathlib import Path

import numpy as np

MOVED_M = 1.0
TABLE = Path(__file__).parent.parent / "crates/e2bki-data/src/classes/semantickitti19.toml"


def frames(sequence, folder):
    calib = dict(line.split(":", 1) for line in (sequence / "calib.txt").read_text().splitlines() if ":" in line)
    tr = np.vstack([np.array(calib["Tr"].split(), float).reshape(3, 4), [0, 0, 0, 1]])
    poses = np.loadtxt(sequence / "poses.txt").reshape(-1, 3, 4)
    for path in sorted((sequence / "velodyne").glob("*.bin")):
        points = np.fromfile(path, "<f4").reshape(-1, 4)[:, :3]
        read = lambda name: np.fromfile(sequence / name / f"{path.stem}.label", "<u4")
        pose = np.linalg.inv(tr) @ np.vstack([poses[int(path.stem)], [0, 0, 0, 1]]) @ tr
        distance = np.linalg.norm(points, axis=1)
        kept = (distance > 1.5) & (distance < 50) & (read("labels") & 0xFFFF != 0)
        yield points[kept], read("labels")[kept], read(folder)[kept] & 0xFFFF, pose


def in_world(points, pose):
    return points.astype(float) @ pose[:3, :3].T + pose[:3, 3]


def motions(all_frames):
    """How far every object that is labelled as moving went."""
    means = {}
    for points, truth, _, pose in all_frames:
        world = in_world(points, pose)
        for key in np.unique(truth[truth & 0xFFFF >= 252]):
            means.setdefault(key, []).append(world[truth == key].mean(0))
    return {key: np.linalg.norm(of[-1] - of[0]) for key, of in means.items()}


def score(gone, moving):
    static, dynamic = 100 * (1 - gone[~moving].mean()), 100 * gone[moving].mean()
    return static, dynamic, np.sqrt(static * dynamic)


def gone_in_map(world, classes, archive):
    names = [c if isinstance(c, str) else c["name"] for c in json.loads(bytes(archive["header"]))["classes"]]
    of_id = {}
    for entry in tomllib.loads(TABLE.read_text())["class"]:
        of_id |= {i: names.index(entry["name"]) for i in entry["semantickitti"]}
    cube = lambda places: [tuple(c) for c in np.floor(places / 0.25).astype(int).tolist()]
    gone = dict(zip(zip(cube(archive["mean"]), archive["label"].tolist()), (archive["state"] == 1).tolist()))
    return np.array([gone.get((c, of_id.get(i)), False) for c, i in zip(cube(world), classes.tolist())])


def main():
    sequence, archive, folder = Path(sys.argv[1]), np.load(sys.argv[2]), sys.argv[3]
    all_frames = list(frames(sequence, folder))
    truth = np.concatenate([truth for _, truth, _, _ in all_frames])
    moved = [key for key, metres in motions(all_frames).items() if metres >= MOVED_M]
    moving = np.isin(truth, moved)
    counts = moving | (truth & 0xFFFF < 252)
    world = np.concatenate([in_world(p, pose) for p, _, _, pose in all_frames])
    said = np.concatenate([said for _, _, said, _ in all_frames])
    moving = moving[counts]
    print(f"{moving.sum()} of {len(moving)} points are of things that moved")
    print("E2-BKI   SA/DA/AA %.2f / %.1f / %.1f" % score(gone_in_map(world, said, archive)[counts], moving))
    try:
        from dufomap import dufomap
    except ImportError:
        return
    method = dufomap(0.1, 0.2, 1, num_threads=1)
    for points, _, _, pose in all_frames:
        method.run(np.ascontiguousarray(points), pose, cloud_transform=True)
    method.oncePropagateCluster(if_propagate=True, if_cluster=False)
    segment = lambda p, pose: method.segment(np.ascontiguousarray(p), pose, cloud_transform=True)[: len(p)] > 0
    gone = np.concatenate([segment(p, pose) for p, _, _, pose in all_frames])
    print("DUFOMap  SA/DA/AA %.2f / %.1f / %.1f" % score(gone[counts], moving))


if __name__ == "__main__":
    main()
