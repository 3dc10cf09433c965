"""make_tensors.py PATH ROWS NAME:SPEC ...: a safetensors file of seeded random rows. SPEC: `24,3` normal numbers of that shape per row, `<5` whole
numbers below 5 (`16<5` with a shape), `0.25?16` ones with that probability and else
zeros, `first?16` a one in the first place of all."""
import json
import math
import random
import struct
import sys

path, rows = sys.argv[1], int(sys.argv[2])
rng = random.Random(1)
header, blobs, offset = {}, [], 0
for entry in sys.argv[3:]:
    name, spec = entry.split(":")
    if "<" in spec:
        shape, bound = spec.split("<")
        draw, kind, letter = (lambda: rng.randrange(int(bound))), "I32", "i"
    elif "?" in spec:
        chance, shape = spec.split("?")
        draw = (lambda: 0.0) if chance == "first" else (lambda: float(rng.random() < float(chance)))
        kind, letter = "F32", "f"
    else:
        shape, draw, kind, letter = spec, (lambda: rng.gauss(0, 1)), "F32", "f"
    sizes = [rows, *(int(size) for size in shape.split(",") if size)]
    count = math.prod(sizes)
    values = [draw() for _ in range(count)]
    if spec.startswith("first"):
        values[0] = 1.0
    blobs.append(struct.pack(f"<{count}{letter}", *values))
    header[name] = {"dtype": kind, "shape": sizes, "data_offsets": [offset, offset + len(blobs[-1])]}
    offset += len(blobs[-1])
text = json.dumps(header).encode()
text += b" " * (-len(text) % 8)
with open(path, "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text + b"".join(blobs))
