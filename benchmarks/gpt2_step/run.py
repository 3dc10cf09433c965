"""One training step of GPT-2 124M (batch 4, context 256, f32) on two threads: ours against peers, in turn, with ratios.

Usage: run.py [--rounds 3] [--steps 4] [--llmc COMMAND] [--no-torch] [--ranks]
  --llmc COMMAND   a build of llm.c's train_gpt2.c for the same batch and context, run in its own directory, e.g.
                   "cd ~/llm.c && OMP_NUM_THREADS=2 ./train_gpt2"; its "took N ms" lines are read
  --ranks          also ours as 4 ranks (data = 2, model = 2) on the same cores
  --bf16           also ours with `precision bf16`
"""
import argparse
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from common import ROOT, compile_program, machine, median_ms, random_tokens, report, train

HERE = pathlib.Path(__file__).resolve().parent
SHAPE = ["--set", "batch=4", "--set", "seq=256"]


def took_ms(command, cwd=None):
    # A current PyTorch picks better kernels than old OpenBLAS builds may; the variables are for those.
    env = {k: v for k, v in os.environ.items() if not k.startswith("OPENBLAS_")}
    text = subprocess.run(command, shell=True, check=True, capture_output=True, text=True, env=env, cwd=cwd).stdout
    times = [float(t) for t in re.findall(r"took ([0-9.]+) ms", text)]
    return statistics.median(times[1:] or times)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--llmc")
    parser.add_argument("--no-torch", action="store_true")
    parser.add_argument("--ranks", action="store_true")
    parser.add_argument("--bf16", action="store_true")
    args = parser.parse_args()
    source = ROOT / "examples/gpt/gpt.mesh"
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        tokens = random_tokens(folder / "tokens.bin", 200_000, 50257)
        one = compile_program(source, folder / "one", *SHAPE, "--mesh", "data=1,model=1")
        sides = {"meshc": lambda: median_ms(train(one, tokens, args.steps + 1, "--eval-batches", "1"))}
        if args.ranks:
            four = compile_program(source, folder / "four", *SHAPE, "--mesh", "data=2,model=2")
            sides["meshc, 4 ranks"] = lambda: median_ms(train(four, tokens, args.steps + 1, "--eval-batches", "1"))
        if args.bf16:
            (folder / "bf16.mesh").write_text(source.read_text().replace("precision f32", "precision bf16"))
            bf16 = compile_program(folder / "bf16.mesh", folder / "bf16", *SHAPE, "--mesh", "data=1,model=1")
            sides["meshc, bf16"] = lambda: median_ms(train(bf16, tokens, args.steps + 1, "--eval-batches", "1"))
        if not args.no_torch:
            sides["PyTorch eager"] = lambda: took_ms(f"{sys.executable} {HERE}/torch_eager.py --steps {args.steps}")
        if args.llmc:
            sides["llm.c"] = lambda: took_ms(args.llmc)
        times = {name: [] for name in sides}
        for _ in range(args.rounds):  # in turn, so that a noisy minute meets every side
            for name, measure in sides.items():
                times[name].append(measure())
    ours = statistics.median(times["meshc"])
    report(HERE, f"\n{machine()}: GPT-2 124M, batch 4, context 256, f32, 2 threads, full step\n\n| side | ms per step | ratio to ours |\n|---|--:|--:|")
    for name, values in times.items():
        report(HERE, f"| {name} | {statistics.median(values):.0f} | {statistics.median(values) / ours:.2f} |")


if __name__ == "__main__":
    main()
