"""All methods side by side on a simulated street, by the paper's protocol."""

import e2bki

drive = e2bki.sim.Drive("urban", seed=5, columns=256)
methods: dict[str, e2bki.Map | e2bki.baselines.Baseline] = {"E2-BKI": e2bki.Map(drive.classes)}
methods |= {method.__name__: method(drive.classes) for method in e2bki.baselines.ALL}

# Every second frame is mapped, all are asked about; the network was trained on 30 % of the data.
records = e2bki.metrics.compare(drive.frames(10, network=0.3), methods, every=2, network=True)


def shown(value: float | None) -> str:
    return "     –" if value is None else f"{value:6.1f}"


print("method              mIoU  strict     Acc     ECE      Hz")
for r in records:
    print(f"{r.method:16}", *(shown(v) + " " for v in (r.miou, r.miou_strict, r.acc, r.ece, r.hz)))
ours = records[0]
assert ours.miou is not None and ours.acc is not None and ours.acc > 50
