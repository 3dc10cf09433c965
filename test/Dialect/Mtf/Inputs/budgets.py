"""Compiles a program for ten budgets between the peaks with and without recomputation: each is met, and the work falls as the budget grows."""
import pathlib
import re
import subprocess
import sys
import tempfile


def plan(recompute):
    """The arena's bytes, and the operations that are computed again."""
    with tempfile.TemporaryDirectory() as folder:
        layout = pathlib.Path(folder) / "layout.mesh"
        layout.write_text(f"layout {{ batch -> data   heads, ff -> model   recompute {recompute} }}")
        text = {level: subprocess.run(["meshc", sys.argv[1], "--layout", layout, f"--emit={level}"], check=True, capture_output=True, text=True).stdout
                for level in ("grad", "rt")}
    work = sum(int(count) for count in re.findall(r'mtf.recomputed = "\d+ bytes less per iteration for (\d+) operations', text["grad"]))
    return int(re.search(r"rt.arena_bytes = (\d+)", text["rt"])[1]), work


most, nothing = plan("none")
least, everything = plan("full")
assert least < most and nothing == 0 < everything
before = everything
for i in range(10):
    budget = least + (most - least) * i // 9
    peak, work = plan(f'"{budget} B"')
    assert peak <= budget, f"{peak} bytes for a budget of {budget}"
    assert work <= before, f"{work} operations for {budget} bytes, {before} for fewer"
    before = work
assert before == 0
print("10 budgets met, with work that rises as memory falls")
