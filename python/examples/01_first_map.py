"""A first map: points with labels in, beliefs out."""

import numpy as np

import e2bki

rng = np.random.default_rng(0)
ground = rng.uniform([1, -3, -0.02], [8, 3, 0.02], (4000, 3))
trunk = rng.normal([5, 1, 0.8], [0.08, 0.08, 0.4], (500, 3))
points = np.concatenate([ground, trunk])
labels = np.repeat([0, 1], [len(ground), len(trunk)])

m = e2bki.Map(["ground", "tree"], config=e2bki.Config(resolution=0.2))
report = m.insert(points, labels=labels)
print(report)
print(report.timings)
print(m)

places = np.array([[3.0, 0.0, 0.0], [5.0, 1.0, 0.8], [30.0, 0.0, 0.0]])
beliefs = m.query(places)
for place, label, u in zip(places, beliefs.label, beliefs.u):
    name = m.classes[label] if label >= 0 else "never observed"
    print(f"at {place}: {name}, uncertainty {u:.3f}")
assert [m.classes[k] if k >= 0 else None for k in beliefs.label] == ["ground", "tree", None]
