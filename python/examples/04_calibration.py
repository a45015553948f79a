"""Is a map as sure as it should be? A reliability diagram of our map and two others. Needs matplotlib."""

import sys

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt  # noqa: E402

import e2bki  # noqa: E402

out = sys.argv[1] if len(sys.argv) > 1 else "calibration.png"
drive = e2bki.sim.Drive("offroad", seed=4, columns=256)
methods: dict[str, e2bki.Map | e2bki.baselines.Baseline] = {
    "E2-BKI": e2bki.Map(drive.classes),
    "S-BKI": e2bki.baselines.SBki(drive.classes),
    "EBS": e2bki.baselines.Ebs(drive.classes),
}
records = e2bki.metrics.compare(drive.frames(10, network=0.1), methods, every=2)
for r in records:
    print(f"{r.method}: ECE {r.ece:.1f} %, Brier score {r.bs:.1f} %")
ax = e2bki.metrics.plot_reliability({r.method: r for r in records})
ax.set_title("Right answers over confidence")
plt.savefig(out, dpi=120, bbox_inches="tight")
print("wrote", out)
