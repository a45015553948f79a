#!/usr/bin/env python3
"""The real network of the tests (ESPNetv2, made for 1408×384 alone) for images of another size.

    pip install numpy onnx
    python scripts/espnetv2-at-another-size.py espnetv2_cityscapes_1408x384.onnx 1248x384 espnetv2_1248x384.onnx

Its stored classes of SemanticKITTI 00 (images of 1241×376) were computed at 1248×384, both sides rounded up to a multiple of 32;
those of KITTI-360 (1408×376) at 1408×384, the size the model was exported for. The export has that size in it in three forms:
shapes to resize and reshape to, and adaptive mean pools as tables of indices. Shapes are scaled, pools become two matrix products.
"""

import math
import sys

import numpy as np
import onnx
from onnx import helper, numpy_helper

MADE_FOR = (1408, 384)
# Rows and columns, at the size the model was made for, of what is pooled at each of the four levels of the decoder.
LEVELS = [(24, 88), (48, 176), (96, 352), (192, 704)]

source, size, target = sys.argv[1:]
width, height = map(int, size.split("x"))
if width % 32 or height % 32:
    sys.exit("both sides must be multiples of 32")
across, down = width / MADE_FOR[0], height / MADE_FOR[1]
model = onnx.load(source)
graph = model.graph
maker = {name: node for node in graph.node for name in node.output}
users = {}
for node in graph.node:
    for name in node.input:
        users.setdefault(name, []).append(node)

for value in graph.initializer:
    shape = numpy_helper.to_array(value).copy()
    kinds = {node.op_type for node in users.get(value.name, [])}
    if shape.dtype == np.int64 and shape.shape in [(4,), (5,)] and kinds & {"Resize", "Reshape"} and shape[-1] > 1:
        shape[-2:] = round(shape[-2] * down), round(shape[-1] * across)
        value.CopyFrom(numpy_helper.from_array(shape, value.name))


def pool(outputs, inputs):
    """Matrix of torch's adaptive mean pool."""
    matrix = np.zeros((outputs, inputs), np.float32)
    for i in range(outputs):
        start, end = i * inputs // outputs, -(-(i + 1) * inputs // outputs)
        matrix[i, start:end] = 1 / (end - start)
    return matrix


nodes = list(graph.node)
levels = {"Div": iter(LEVELS), "ReduceMean": iter(LEVELS)}
for gather in [node for node in graph.node if node.op_type == "GatherND"]:
    before = maker[gather.input[0]].input[0]
    end = users[users[gather.output[0]][0].output[0]][0]
    while end.op_type not in levels:
        end = users[end.output[0]][-1]
    rows, columns = next(levels[end.op_type])
    rows, columns = round(rows * down), round(columns * across)
    if end.op_type == "Div":  # to a tenth, at least 5
        sides = [(max(5, math.ceil(side * 0.1)), side) for side in (rows, columns)]
    else:  # from one and a half times as many
        sides = [(side, int(side * 1.5)) for side in (rows, columns)]
    name = end.output[0]
    matrices = [pool(*sides[0]), pool(*sides[1]).T.copy()]
    for part, matrix in zip("ab", matrices):
        graph.initializer.append(numpy_helper.from_array(matrix, f"{name}.{part}"))
    place = nodes.index(end)
    nodes[place : place + 1] = [
        helper.make_node("MatMul", [f"{name}.a", before], [f"{name}.t"]),
        helper.make_node("MatMul", [f"{name}.t", f"{name}.b"], [name]),
    ]

# What nothing asks for any more is left out.
kept, wanted = [], {output.name for output in graph.output}
for node in reversed(nodes):
    if wanted.intersection(node.output):
        kept.append(node)
        wanted.update(node.input)
values = [value for value in graph.initializer if value.name in wanted]
for field, new in [("node", kept[::-1]), ("initializer", values), ("value_info", [])]:
    del getattr(graph, field)[:]
    getattr(graph, field).extend(new)
for tensor in (graph.input[0], graph.output[0]):
    dims = tensor.type.tensor_type.shape.dim
    dims[2].dim_value, dims[3].dim_value = height, width
onnx.save(model, target)
