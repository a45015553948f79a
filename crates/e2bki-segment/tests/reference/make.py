"""Writes reference.json: what torchvision's LRASPP outputs, and its gradients, with weights made by a formula.

Run once with `pip install torch torchvision numpy` (the file says with which versions). The weights are a hash of the
parameter's name and the place in it, so that they need not be stored; tests/forward.rs makes the same ones.
"""

import json
import pathlib

import numpy as np
import torch
import torchvision
from torchvision.models._utils import IntermediateLayerGetter
from torchvision.models.mobilenetv3 import MobileNetV3, _mobilenet_v3_conf
from torchvision.models.segmentation.lraspp import LRASPP

MASK = (1 << 64) - 1


def noise(name, count):
    """Numbers from -1 to 1: SplitMix64 of the FNV-1a hash of the name plus the place."""
    h = 0xCBF29CE484222325
    for byte in name.encode():
        h = ((h ^ byte) * 0x100000001B3) & MASK
    with np.errstate(over="ignore"):
        z = np.uint64(h) + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
    return ((z >> np.uint64(40)).astype(np.float64) / (1 << 23) - 1.0).astype(np.float32)


def value(name, shape):
    u = noise(name, int(np.prod(shape)))
    if len(shape) == 4:
        return u * np.float32(np.sqrt(4.0 / (shape[1] * shape[2] * shape[3])))
    if name.endswith("running_var"):
        return 1.0 + 0.5 * u
    if name.endswith("weight"):
        return 1.0 + 0.3 * u
    return 0.2 * u


def network(classes, width, head):
    setting, last = _mobilenet_v3_conf("mobilenet_v3_large", width_mult=width, dilated=True)
    features = MobileNetV3(setting, last).features
    backbone = IntermediateLayerGetter(features, return_layers={"4": "low", "16": "high"})
    low, high = features[4].out_channels, features[16].out_channels
    model = LRASPP(backbone, low, high, classes, head)
    state = model.state_dict()
    for name, tensor in state.items():
        if "num_batches" not in name:
            values = torch.from_numpy(value(name, tuple(tensor.shape)))
            state[name] = values.reshape(tensor.shape)
    model.load_state_dict(state)
    return model


def forward(classes, width, head, images, height, columns):
    model = network(classes, width, head).eval()
    x = torch.from_numpy(noise("images", images * 3 * height * columns)).reshape(images, 3, height, columns)
    with torch.no_grad():
        out = model(x)["out"]
    samples = out[:, :, ::9, ::11].reshape(-1).tolist()
    return {"classes": classes, "width": width, "head": head, "shape": [images, 3, height, columns],
            "samples": [round(v, 6) for v in samples]}


def backward(classes, width, head, images, height, columns):
    model = network(classes, width, head).double().train()
    x = torch.from_numpy(noise("images", images * 3 * height * columns)).double().reshape(images, 3, height, columns)
    out = model(x)["out"]
    out.backward(torch.from_numpy(noise("gradient", out.numel())).double().reshape(out.shape))
    slopes = {}
    for name, parameter in model.named_parameters():
        direction = torch.from_numpy(noise("direction " + name, parameter.numel())).double()
        g = parameter.grad.reshape(-1)
        slopes[name] = [float((g * direction).sum()), float(g.norm())]
    return {"classes": classes, "width": width, "head": head, "shape": [images, 3, height, columns], "slopes": slopes,
            "running_mean": model.state_dict()["backbone.1.block.0.1.running_mean"].tolist(),
            "running_var": model.state_dict()["classifier.cbr.1.running_var"].tolist()}


reference = {
    "made_by": f"make.py with torch {torch.__version__}, torchvision {torchvision.__version__}",
    "forward": [forward(7, 1.0, 128, 1, 72, 100), forward(5, 0.5, 64, 2, 64, 48)],
    "backward": backward(5, 0.5, 64, 3, 64, 80),
}
path = pathlib.Path(__file__).parent / "reference.json"
path.write_text(json.dumps(reference, indent=None, separators=(",", ":")) + "\n")
