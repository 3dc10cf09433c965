"""count-collectives.py < TEXT: the collectives of @train_step at --emit=spmd, a line per stretch of straight code and per loop body:

    forward layers: 4 all_to_all ctx
    backward layers: 4 all_to_all ctx
    after: 20 all_reduce sum ctx, 1 all_reduce sum ctx scalar

Inside a loop over microbatches the places are called the same, with `micro` in front. Slices and unreduces send nothing and are left out."""
import collections
import re
import sys

stack, counts, inside, prefix, loops, place = [], {}, False, "", 0, "before"
for line in sys.stdin:
    if "func.func" in line:
        inside = "@train_step" in line
    if not inside:
        continue
    if loop := re.search(r'mtf\.repeat "(\w+)" \d+( reverse)?', line):
        stack.append((prefix, loops, loop[1]))
        if loop[1] == "micro":
            prefix, loops, place = "micro ", 0, "micro before"
        else:
            place = f"{prefix}{'backward' if loop[2] else 'forward'} {loop[1]}"
    elif "mtf.next" in line:
        prefix, loops, name = stack.pop()
        loops += 1
        place = prefix + ("between" if loops == 1 and name != "micro" else "after")
    elif found := re.search(r'spmd\.(\w+) +(?:(sum|max) )?%.* over \[(.*?)\].* : !mtf.tensor<\[(.*?)\], .*->', line):
        if found[1] not in ("slice", "unreduce"):
            axes = found[3].replace('"', "").replace(" ", "")
            text = " ".join(part for part in (found[1], found[2], axes, "" if found[4] else "scalar") if part)
            counts.setdefault(place, collections.Counter())[text] += 1
for place, counter in counts.items():
    print(f"{place}: {', '.join(f'{n} {text}' for text, n in sorted(counter.items()))}")
