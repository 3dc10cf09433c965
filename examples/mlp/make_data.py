#!/usr/bin/env python3
"""Writes spirals.safetensors: three noisy spiral arms, the third with few points, which its weight makes up for.

usage: make_data.py [PATH] [ROWS]
Tensors: x f32[ROWS, 2], label i32[ROWS], weight f32[ROWS]. The numbers are the same on every machine (seeded).
"""
import json
import math
import random
import struct
import sys

path = sys.argv[1] if len(sys.argv) > 1 else "spirals.safetensors"
rows = int(sys.argv[2]) if len(sys.argv) > 2 else 4096
rng = random.Random(0)
x, label, weight = [], [], []
for _ in range(rows):
    arm = rng.choices([0, 1, 2], [9, 9, 2])[0]
    radius = math.sqrt(rng.random())
    angle = 4 * radius + arm * 2 * math.pi / 3 + rng.gauss(0, 0.12)
    x += [radius * math.cos(angle), radius * math.sin(angle)]
    label.append(arm)
    weight.append([1.0, 1.0, 4.5][arm])

parts = {"x": ("F32", [rows, 2], struct.pack(f"<{2 * rows}f", *x)),
         "label": ("I32", [rows], struct.pack(f"<{rows}i", *label)),
         "weight": ("F32", [rows], struct.pack(f"<{rows}f", *weight))}
header, offset = {}, 0
for name, (dtype, shape, data) in parts.items():
    header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [offset, offset + len(data)]}
    offset += len(data)
text = json.dumps(header).encode()
text += b" " * (-len(text) % 8)
with open(path, "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text)
    for _, _, data in parts.values():
        file.write(data)
