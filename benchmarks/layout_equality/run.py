"""Trains 200 steps under every mesh and microbatch count and compares with one rank: losses, gradient norms, initial weights.

Usage: run.py TEXT     TEXT: of at most 65 different characters, such as tiny Shakespeare
"""
import argparse
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from common import MESHC, ROOT, machine, report

HERE = pathlib.Path(__file__).resolve().parent
GPT = "embed=64 heads=4 head=16 seq=32 batch=8 layers=3 vocab=97 dropout=0.1 peak_rate=1e-3 warmup_steps=100".split()


def compare(source, data, sets):
    """The lines of the comparison, one per mesh and microbatch count."""
    command = [sys.executable, ROOT / "test/Execution/compare_layouts.py", ROOT / source, data, "--steps", "200", "--meshc", MESHC]
    for value in sets:
        command += ["--set", value]
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    report(HERE, f"{machine()}: {source} {' '.join(sets)}\n")
    for line in (result.stdout + result.stderr).splitlines():
        report(HERE, "    " + line)
    report(HERE, "")
    return result.returncode


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text")
    args = parser.parse_args()
    data = os.path.abspath(args.text)
    sys.exit(compare("examples/gpt/gpt.mesh", data, GPT) | compare("examples/char_gpt/char_gpt.mesh", data, ["batch=16"]))


if __name__ == "__main__":
    main()
