"""Your own data: scans as NumPy arrays, a camera network's logits lifted onto the points, poses from odometry."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

import e2bki

Scan = tuple[NDArray[np.float32], NDArray[np.float64], NDArray[np.float64]]

classes = ["road", "sidewalk", "building", "vegetation", "car"]
camera = e2bki.data.Camera(
    (640, 480),
    focal=(500, 500),
    center=(320, 240),
    # The LiDAR looks along x, the camera along z.
    camera_from_sensor=np.array([[0, -1, 0, 0], [0, 0, -1, 0], [1, 0, 0, 0], [0, 0, 0, 1.0]]),
)


def scans(rng: np.random.Generator, count: int) -> Iterator[Scan]:
    """Stands for your files: points (N, 3), the network's output (C, H, W) and the pose (4, 4) of each scan."""
    for i in range(count):
        points = rng.uniform([2, -6, -1.7], [20, 6, -1.6], (20_000, 3)).astype(np.float32)
        logits = rng.normal(0, 1, (len(classes), 120, 160))
        logits[0, 60:] += 6  # the lower half of the image is road
        world_from_sensor = np.eye(4)
        world_from_sensor[0, 3] = 0.8 * i
        yield points, logits, world_from_sensor


m = e2bki.Map(classes, config=e2bki.Config(resolution=0.2, max_range=40))
for points, logits, world_from_sensor in scans(np.random.default_rng(1), 5):
    seen = camera.visible(points)
    report = m.insert(
        points[seen],
        logits=camera.sample(points[seen], values=logits),
        world_from_sensor=world_from_sensor,
    )
    print(f"{report.kept} of {len(points)} points mapped in {1e3 * report.timings.total:.1f} ms")

cells = m.bev(resolution=0.5)
share = np.mean(cells.label == 0)
print(f"{len(cells)} cells seen from above, {share:.0%} of them road")
assert share > 0.9
