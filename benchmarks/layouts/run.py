"""The same program under several meshes and microbatch counts: losses, gradient norms and initial weights against one rank.

Usage: run.py SOURCE TEXT [--steps 200] [--set NAME=VALUE ...]
Fails if a step's loss differs by more than 1e-4 relative, a gradient norm by more than 1e-5 at step 1 or an initial weight by a bit.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from common import compile_program, machine, report, train

HERE = pathlib.Path(__file__).resolve().parent
MESHES = ["data=1,model=1", "data=2,model=1", "data=1,model=2", "data=2,model=2", "data=1,model=4", "data=4,model=1"]


def tensors(path):
    """The tensors' bytes of a safetensors file by name."""
    data = open(path, "rb").read()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + length])
    return {name: data[8 + length + t["data_offsets"][0]:8 + length + t["data_offsets"][1]]
            for name, t in header.items() if name != "__metadata__"}


def difference(a, b):
    return abs(a - b) / max(abs(a), 1e-30)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source")
    parser.add_argument("text")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--microbatches", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--set", action="append", default=[], dest="sets")
    args = parser.parse_args()
    sets = [flag for value in args.sets for flag in ("--set", value)]
    reference, weights, failed = None, None, False
    report(HERE, f"\n{machine()}: {pathlib.Path(args.source).name} {' '.join(args.sets)}, {args.steps} steps\n\n"
                 "| mesh | microbatches | largest relative difference of a loss | of the first gradient norm | initial weights |\n|---|--:|--:|--:|---|")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for mesh in MESHES:
            for micro in args.microbatches:
                program = compile_program(args.source, folder / "program", "--mesh", mesh, "--set", f"microbatches={micro}", *sets)
                subprocess.run([program, "export", "--save", folder / "initial.safetensors"], check=True, stdout=subprocess.DEVNULL)
                initial = tensors(folder / "initial.safetensors")
                entries = [e for e in train(program, args.text, args.steps, "--eval-batches", "1") if "loss" in e]
                if reference is None:
                    reference, weights = entries, initial
                loss = max(difference(a["loss"], b["loss"]) for a, b in zip(reference, entries))
                norm = difference(reference[0]["grad_norm"], entries[0]["grad_norm"])
                same = initial == weights
                failed |= loss > 1e-4 or norm > 1e-5 or not same
                report(HERE, f"| {mesh} | {micro} | {loss:.1e} | {norm:.1e} | {'identical' if same else 'DIFFERENT'} |")
    sys.exit(failed)


if __name__ == "__main__":
    main()
