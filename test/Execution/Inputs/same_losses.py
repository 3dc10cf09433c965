"""Compares the losses and gradient norms in logs, step by step, to the bit."""
import json
import sys


def steps(path):
    return [(entry["loss"], entry["grad_norm"]) for entry in map(json.loads, open(path)) if "loss" in entry]


reference = steps(sys.argv[1])
for path in sys.argv[2:]:
    for step, (a, b) in enumerate(zip(reference, steps(path), strict=True), 1):
        if a != b:
            sys.exit(f"{path}: step {step}: {b}, not {a}")
print(f"{len(reference)} steps, equal to the bit")
