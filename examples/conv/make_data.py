#!/usr/bin/env python3
"""Writes bars.safetensors: noisy images with one bar that lies flat, upright, or along either diagonal; the label says which.

usage: make_data.py [PATH] [ROWS] [SIZE]
Tensors: image f32[ROWS, SIZE, SIZE, 1], label i32[ROWS]. The numbers are the same on every machine (seeded).
"""
import json
import random
import struct
import sys

path = sys.argv[1] if len(sys.argv) > 1 else "bars.safetensors"
rows = int(sys.argv[2]) if len(sys.argv) > 2 else 2048
size = int(sys.argv[3]) if len(sys.argv) > 3 else 16
rng = random.Random(0)
images, labels = [], []
for _ in range(rows):
    label = rng.randrange(4)
    image = [rng.gauss(0, 0.4) for _ in range(size * size)]
    length, step = size // 2, ((0, 1), (1, 0), (1, 1), (1, -1))[label]
    low = [rng.randrange(size - length * abs(s) + 1) if s else rng.randrange(size) for s in step]
    row, column = low[0], low[1] + (length - 1 if step[1] < 0 else 0)
    for i in range(length):
        image[(row + i * step[0]) * size + column + i * step[1]] += 1.5
    images += image
    labels.append(label)

parts = {"image": ("F32", [rows, size, size, 1], struct.pack(f"<{len(images)}f", *images)),
         "label": ("I32", [rows], struct.pack(f"<{rows}i", *labels))}
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
