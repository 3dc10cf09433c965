#!/usr/bin/env python3
"""Runs one program under several meshes and microbatch counts and compares it with one rank.

usage: compare_layouts.py SOURCE DATA [--meshes "data=2;FILE: model=2"] [--microbatches 1 2] [--steps N] [--set NAME=VALUE ...]

A mesh may stand behind the name of a layout file of `--layouts` (without `.mesh`) and a colon. A layout changes where and when a computation happens, never what it computes: the loss of every step must agree to 1e-4
(relative), the first gradient norm to 1e-5, the initial weights to the bit. The program's microbatch count is its constant
`microbatches`. Exits with 1 and a line per difference otherwise.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

ALL_MESHES = "data=1,model=1;data=2;model=2;data=2,model=2;model=4;data=4"


def run(command):
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit code {result.returncode}\n{result.stdout}{result.stderr}")


def train(folder, args, layout, mesh, micro):
    """The log's entries of a run, and the bytes of the initial weights' file."""
    program, log, initial = folder / "program", folder / "log.jsonl", folder / "initial.safetensors"
    log.unlink(missing_ok=True)
    sets = [flag for value in [*args.sets, *([f"microbatches={micro}"] if micro else [])] for flag in ("--set", value)]
    file = ["--layout", pathlib.Path(args.layouts) / f"{layout}.mesh"] if layout else []
    run([args.meshc, args.source, "--mesh", mesh, *file, *sets, "-o", program])
    run([program, "export", "--save", initial])
    run([program, "train", "--data", args.data, "--steps", args.steps, "--seed", "1", "--eval-batches", "1", "--log", log,
         *(["--val", args.val] if args.val else [])])
    with open(log) as lines:
        entries = [json.loads(line) for line in lines]
    return [entry for entry in entries if "loss" in entry], initial.read_bytes()


def relative(a, b):
    return abs(a - b) / max(abs(a), 1e-30)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source")
    parser.add_argument("data")
    parser.add_argument("--meshes", default=ALL_MESHES, help="separated by ';'; the first is the reference")
    parser.add_argument("--layouts", default=".", help="folder of the layout files")
    parser.add_argument("--microbatches", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--norm", type=float, default=1e-5, help="tolerance of the first gradient norm")
    parser.add_argument("--val", help="validation data; by default the last tenth of DATA")
    parser.add_argument("--rising", action="store_true", help="the loss need not fall: too few examples to learn from")
    parser.add_argument("--set", action="append", default=[], dest="sets")
    parser.add_argument("--meshc", default="meshc")
    args = parser.parse_args()
    reference, weights, failures = None, None, 0
    with tempfile.TemporaryDirectory() as folder:
        for case in args.meshes.split(";"):
            layout, _, mesh = (word.strip() for word in case.rpartition(":"))
            for micro in args.microbatches or [None]:
                entries, initial = train(pathlib.Path(folder), args, layout, mesh, micro)
                if reference is None:
                    reference, weights = entries, initial
                if len(entries) != args.steps:
                    sys.exit(f"{case}: {len(entries)} log entries after {args.steps} steps")
                if not args.rising and entries[-1]["loss"] >= entries[0]["loss"]:
                    sys.exit(f"{case}: the loss did not fall: {entries[0]['loss']} to {entries[-1]['loss']}")
                loss = max(relative(a["loss"], b["loss"]) for a, b in zip(reference, entries))
                norm = relative(reference[0]["grad_norm"], entries[0]["grad_norm"])
                good = loss <= 1e-4 and norm <= args.norm and initial == weights
                failures += not good
                print(f"{'ok' if good else 'DIFFERS'}: {case.strip()}{f' microbatches={micro}' if micro else ''}: loss {loss:.1e}, "
                      f"gradient norm {norm:.1e}, initial weights {'equal' if initial == weights else 'differ'}", flush=True)
    print(f"{failures} differences" if failures else "all layouts agree")
    sys.exit(failures != 0)


if __name__ == "__main__":
    main()
