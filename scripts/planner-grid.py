"""What a planner's grid says of open ground and of obstacles that stay, in a sequence of SemanticKITTI.

    e2bki map SEQUENCE --every 2 -o map.e2bki
    e2bki layers map.e2bki -o grid.npz
    python scripts/planner-grid.py SEQUENCE grid.npz

Asked are the scans that were not mapped (every second one), within 20 m of the sensor. Open ground: cells with returns of
ground and, in no scan, one of something that stays and is not ground within 0.4 m. Obstacles: cells with two returns or more
of something that stays, 0.4 to 1.5 m above the ground. Prints the share of both that the grid knows, that it
calls occupied, and that it calls occupied or has an occupied cell beside (which a robot of any width keeps away from).
"""

import sys
from pathlib import Path

import numpy as np

GROUND = (40, 44, 48, 49, 60, 72)
NEAR_M = 20.0
BESIDE_M = 0.4


def scans(sequence):
    calib = dict(line.split(":", 1) for line in (sequence / "calib.txt").read_text().splitlines() if ":" in line)
    tr = np.vstack([np.array(calib["Tr"].split(), float).reshape(3, 4), [0, 0, 0, 1]])
    poses = np.loadtxt(sequence / "poses.txt").reshape(-1, 3, 4)
    for number, path in enumerate(sorted((sequence / "velodyne").glob("*.bin"))):
        points = np.fromfile(path, "<f4").reshape(-1, 4)[:, :3].astype(float)
        labels = np.fromfile(sequence / "labels" / f"{path.stem}.label", "<u4") & 0xFFFF
        pose = np.linalg.inv(tr) @ np.vstack([poses[int(path.stem)], [0, 0, 0, 1]]) @ tr
        near = (np.linalg.norm(points, axis=1) < NEAR_M) & (labels != 0) & (labels < 252)
        yield number, points[near] @ pose[:3, :3].T + pose[:3, 3], labels[near]


def main():
    sequence, grid = Path(sys.argv[1]), np.load(sys.argv[2])
    side, corner, state = float(grid["resolution"].item()), grid["corner"], grid["state"]
    rows, columns = state.shape

    def cells(points):
        at = np.floor((points[:, :2] - corner) / side).astype(int)
        inside = (at >= 0).all(1) & (at[:, 0] < columns) & (at[:, 1] < rows)
        return at, inside

    ground = np.zeros(state.shape, bool)
    beside = np.zeros(state.shape, bool)
    height = np.full(state.shape, np.inf)
    standing = np.zeros(state.shape, int)
    everything = list(scans(sequence))
    for number, points, labels in everything:
        at, inside = cells(points)
        is_ground = np.isin(labels, GROUND)
        np.minimum.at(height, tuple(at[inside & is_ground][:, ::-1].T), points[inside & is_ground, 2])
        if number % 2:
            ground[tuple(at[inside & is_ground][:, ::-1].T)] = True
        beside[tuple(at[inside & ~is_ground][:, ::-1].T)] = True
    # The ground of a cell, or of the cells around it: what stands hides the ground below.
    reach = int(np.ceil(1.0 / side))
    around = height.copy()
    for axis in (0, 1):
        shifted = [np.roll(around, shift, axis) for shift in range(-reach, reach + 1)]
        around = np.minimum.reduce(shifted)
    floor = np.where(np.isfinite(height), height, around)
    for number, points, labels in everything:
        at, inside = cells(points)
        chosen = inside & ~np.isin(labels, GROUND) & bool(number % 2)
        at, above = at[chosen], points[chosen, 2]
        above = above - floor[tuple(at[:, ::-1].T)]
        at = at[(above > 0.4) & (above < 1.5)]
        np.add.at(standing, tuple(at[:, ::-1].T), 1)
    reach = int(np.ceil(BESIDE_M / side))
    for axis in (0, 1):
        beside = np.logical_or.reduce([np.roll(beside, shift, axis) for shift in range(-reach, reach + 1)])
    occupied = state == 2
    touched = occupied.copy()
    for axis in (0, 1):
        touched = np.logical_or.reduce([np.roll(touched, shift, axis) for shift in (-1, 0, 1)])
    for name, asked in (("open ground", ground & ~beside), ("obstacles", standing >= 2)):
        share = lambda what: f"{100 * what[asked].mean():.2f} %"
        print(f"{name}: {asked.sum()} cells, known {share(state != 0)}, occupied {share(occupied)}, or a cell beside {share(touched)}")


main()
