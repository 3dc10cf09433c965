"""nanoGPT's small character setting (4 layers, 4 heads, embedding 128, context 64, batch 12, 2000 steps): the validation loss.

nanoGPT's README reaches 1.88. Usage: run.py TEXT [--mesh data=1,model=1]     TEXT: tiny Shakespeare, 1,115,394 characters
"""
import argparse
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from common import ROOT, compile_program, machine, report, train

HERE = pathlib.Path(__file__).resolve().parent


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("text")
    parser.add_argument("--mesh", default="data=1,model=1")
    parser.add_argument("--seed", default="0")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        program = compile_program(ROOT / "examples/char_gpt/char_gpt.mesh", pathlib.Path(folder) / "char_gpt", "--mesh", args.mesh)
        entries = train(program, args.text, 2000, "--seed", args.seed)
    losses = [e["val_loss"] for e in entries if "val_loss" in e]
    seconds = sum(e.get("milliseconds", 0) for e in entries) / 1000
    report(HERE, f"- {machine()}, mesh {args.mesh}, seed {args.seed}: validation loss {losses[-1]:.4f} at step 2000, {seconds:.0f} s")


if __name__ == "__main__":
    main()
