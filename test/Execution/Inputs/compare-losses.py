"""compare-losses.py A.jsonl B.jsonl TOLERANCE: the losses and gradient norms of two runs agree at every step, to TOLERANCE
relative. Runs of different lengths, or without steps, do not agree."""
import json
import sys


def steps(path):
    with open(path) as file:
        entries = [json.loads(line) for line in file]
    return {entry["step"]: entry for entry in entries if "loss" in entry}


def main():
    first, second = steps(sys.argv[1]), steps(sys.argv[2])
    tolerance = float(sys.argv[3])
    if not first or first.keys() != second.keys():
        sys.exit(f"{len(first)} and {len(second)} steps")
    worst = 0.0
    for step in first:
        for name in ("loss", "grad_norm"):
            a, b = first[step][name], second[step][name]
            error = abs(a - b) / abs(a)
            worst = max(worst, error)
            if not error <= tolerance:
                sys.exit(f"step {step}: {name} is {a} and {b}")
    print(f"{len(first)} steps agree, largest relative difference {worst:.1e}")


main()
