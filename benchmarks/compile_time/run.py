"""Time of `meshc --emit=source` on GPT-2 124M, against the number of layers and of ranks.

Usage: run.py [--rounds 5]
"""
import argparse
import pathlib
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from common import MESHC, ROOT, machine, report

HERE = pathlib.Path(__file__).resolve().parent
CASES = [("layers", n, ["--set", f"layers={n}"]) for n in (12, 24, 48, 96)] + [
    ("ranks", n, ["--mesh", f"data={n},model=1"] if n < 8 else ["--mesh", f"data={n // 8},model=8", "--set", "heads=16", "--set", "head=48",
                  "--set", "batch=1024"]) for n in (1, 8, 64, 1024)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    times = {case[:2]: [] for case in CASES}
    sizes = {}
    for _ in range(rounds):
        for what, n, flags in CASES:
            start = time.perf_counter()
            text = subprocess.run([MESHC, str(ROOT / "examples/gpt/gpt.mesh"), "--emit=source", *flags], check=True,
                                  capture_output=True).stdout
            times[what, n].append(time.perf_counter() - start)
            sizes[what, n] = len(text)
    report(HERE, f"\n{machine()}: `meshc --emit=source`, GPT-2 124M, median of {rounds}\n\n| | seconds | bytes of text |\n|---|--:|--:|")
    for (what, n), values in times.items():
        report(HERE, f"| {n} {what} | {statistics.median(values):.3f} | {sizes[what, n]} |")


if __name__ == "__main__":
    main()
