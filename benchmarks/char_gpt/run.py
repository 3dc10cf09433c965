"""nanoGPT's small character setting (4 layers, 4 heads, embedding 128, context 64, batch 12, 2000 steps): the validation loss.

nanoGPT's README says 1.88, which its training script estimates from 20 batches; both that estimate and the loss of the whole validation part
are printed. Usage: run.py TEXT [--mesh data=1,model=1] [--seeds 0 1 2]     TEXT: tiny Shakespeare, 1,115,394 characters
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from common import ROOT, compile_program, machine, report, train

HERE = pathlib.Path(__file__).resolve().parent


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("text")
    parser.add_argument("--mesh", default="data=1,model=1")
    parser.add_argument("--seeds", nargs="+", default=["0"])
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        program = compile_program(ROOT / "examples/char_gpt/char_gpt.mesh", pathlib.Path(folder) / "char_gpt", "--mesh", args.mesh)
        for seed in args.seeds:
            weights = pathlib.Path(folder) / "weights.safetensors"
            entries = train(program, args.text, 2000, "--seed", seed, "--save", weights)
            estimate, whole = (validation_loss(program, args.text, weights, batches) for batches in ("20", "500"))
            seconds = sum(e.get("milliseconds", 0) for e in entries) / 1000
            report(HERE, f"- {machine()}, mesh {args.mesh}, seed {seed}: validation loss {whole:.4f} at step 2000, of 20 batches {estimate:.4f}, {seconds:.0f} s")


def validation_loss(program, text, weights, batches):
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder) / "log.jsonl"
        subprocess.run([program, "eval", "--data", text, "--load", weights, "--eval-batches", batches, "--log", log], check=True,
                       stdout=subprocess.DEVNULL)
        return json.loads(log.read_text())["val_loss"]


if __name__ == "__main__":
    main()
