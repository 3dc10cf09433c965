"""What the benchmark scripts share: running meshc and its programs, reading their logs, describing the machine."""
import datetime
import json
import os
import pathlib
import platform
import random
import statistics
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
MESHC = os.environ.get("MESHC", str(ROOT / "build/bin/meshc"))


def machine():
    """One line: date, processor, cores."""
    name = platform.processor()
    for line in open("/proc/cpuinfo"):
        if line.startswith("model name"):
            name = line.split(":")[1].strip()
            break
    return f"{datetime.date.today()}, {name}, {os.cpu_count()} cores"


def compile_program(source, output, *flags):
    subprocess.run([MESHC, str(source), *flags, "-o", str(output)], check=True)
    return output


def train(program, data, steps, *flags):
    """Trains for `steps` steps; the list of the log's entries, one per step, evaluations included."""
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder) / "log.jsonl"
        subprocess.run([str(program), "train", "--data", str(data), "--steps", str(steps), "--log", str(log), *flags], check=True,
                       stdout=subprocess.DEVNULL)
        return [json.loads(line) for line in open(log)]


def median_ms(entries):
    """Median step time without the first step, which touches memory for the first time."""
    return statistics.median(e["milliseconds"] for e in entries[1:] if "milliseconds" in e)


def random_tokens(path, count, vocab, seed=0):
    """A file of `count` random uint16 token ids below `vocab` (nanoGPT's format)."""
    generator = random.Random(seed)
    with open(path, "wb") as f:
        for _ in range(count):
            f.write(generator.randrange(vocab).to_bytes(2, "little"))
    return path


def report(folder, text):
    """Prints `text` and appends it to the results of the benchmark in `folder`."""
    print(text, flush=True)
    with open(pathlib.Path(folder) / "results.md", "a") as f:
        f.write(text + "\n")
