#!/usr/bin/env python3
"""Computes the waits in the rounds of products of threads (FFMA) from machine code, for the descriptors' key `rounds`.

    cuobjdump -sass OBJECT | round_clocks.py [PATTERN]      loops of every function whose name has PATTERN
    cuobjdump -sass tilescope | round_clocks.py --record RUN.json > validate/microbench/register_banks.json
    round_clocks.py --check validate/microbench/register_banks.json

For a loop with loads from global memory and no product: number of waits for loads of a warp in a pass. For a loop
with products: clocks per pass in which a warp waits for shared memory, from stall counts and scoreboards, and in which
its scheduler waits for register banks. Registers are in two banks, even and odd. Each bank delivers one operand per
clock; one more operand may wait while the next instruction is issued. An operand marked `.reuse` need not be read again
if the next instruction has it in the same place. Uniform registers and constants use no bank. --record writes the loops
of the microbenchmark `registers` beside their clocks in a run of `tilescope hardware measure`. --check compares these
clocks with the rule.
"""
import json
import re
import sys

from warp_clocks import OPERANDS_READ, functions, loops, measured, opcode

SHARED = measured("smem.latency")
SHARED_WIDE = measured("smem.latency_wide")
DRAWN = re.compile(r"DrawnILj(\d+)ELi(\d+)ELi(\d+)E")
AHEAD = 2
WORST, MEAN = 0.12, 0.05  # of the clocks that a loop of multiply-adds was measured to take


def waits(code, first, last, latency, passes=6):
    """Clocks of a pass in which one warp waits for scoreboards; `latency`: of an opcode's result."""
    now, waited, boards = 0.0, 0.0, [0.0] * 6
    for _ in range(passes):
        for _, text, stall, result, operands, needs in code[first:last + 1]:
            ready = max([now] + [boards[b] for b in range(6) if needs >> b & 1])
            waited += ready - now
            if result < 6:
                boards[result] = max(boards[result], ready + latency(opcode(text)))
            if operands < 6:
                boards[operands] = max(boards[operands], ready + OPERANDS_READ)
            now = ready + max(1, stall)
    return waited / passes


def bank_waits(instructions, passes=4):
    """Clocks of a pass in which a scheduler with many warps issues nothing, because operands wait for banks."""
    queued, kept = [0, 0], [None] * 3
    for _ in range(passes):
        waited = 0
        for text in instructions:
            words = text.split(None, 1)
            if words[0] != "FFMA":
                queued = [max(0, q - 1) for q in queued]
                continue
            for place, source in enumerate(s.strip() for s in words[1].split(",")[1:4]):
                found = re.search(r"(?<!U)R(\d+)", source)
                name, reuse = found and found.group(1), source.endswith(".reuse")
                if name and name != kept[place]:
                    queued[int(name) % 2] += 1
                if reuse or name == kept[place]:
                    kept[place] = name if reuse else None
            clocks = max(1, max(queued) - AHEAD)
            waited += clocks - 1
            queued = [max(0, q - clocks) for q in queued]
    return waited


def show(pattern):
    for name, code in functions(sys.stdin):
        if pattern not in name:
            continue
        for first, last in loops(code):
            texts = [entry[1] for entry in code[first:last + 1]]
            kinds = [opcode(text).split(".")[0] for text in texts]
            adds, loads = kinds.count("FFMA"), kinds.count("LDG")
            if loads and not adds:
                by = [waits(code, first, last, lambda op: clocks if op.startswith("LDG") else 1) for clocks in (1000, 3000)]
                print(f"{name} {first}-{last}: {loads} loads, {(by[1] - by[0]) / 2000:.1f} waits for them")
            elif adds and not loads:
                shared = waits(code, first, last, lambda op: 0 if not op.startswith("LDS") else
                               SHARED_WIDE if ".128" in op else SHARED)
                print(f"{name} {first}-{last}: {adds} FFMA of {len(kinds)}, {shared:.0f} clk for shared memory "
                      f"({shared / SHARED:.1f} of its latencies), {bank_waits(texts)} clk for register banks")


def record(path):
    with open(path, encoding="utf-8") as file:
        run = json.load(file)
    clocks = next((curve for curve in run["curves"] if curve["name"].startswith("multiply-adds of three registers")), None)
    if clocks is None:
        raise ValueError("has no curve of the microbenchmark 'registers'; record it with 'tilescope hardware measure'")
    found = []
    for name, code in functions(sys.stdin):
        drawn = DRAWN.search(name)
        spans = [(last - first, first, last) for first, last in loops(code)] if drawn else []
        spans = [span for span in spans if any("FFMA" in entry[1] for entry in code[span[1]:span[2] + 1])]
        if spans:
            _, first, last = max(spans)
            measured_at = dict(map(tuple, clocks["points"]))[int(drawn.group(1))]
            found.append({"draw": int(drawn.group(1)), "factors": int(drawn.group(2)), "sums": int(drawn.group(3)),
                          "clocks": measured_at, "instructions": [entry[1] for entry in code[first:last + 1]]})
    found.sort(key=lambda loop: loop["draw"])
    json.dump({"schema": "tilescope/register-banks/1", "environment": run["environment"], "loops": found}, sys.stdout, indent=0)
    print()


def check(path):
    with open(path, encoding="utf-8") as file:
        held = json.load(file)["loops"]
    errors = []
    for loop in held:
        adds = sum(text.startswith("FFMA") for text in loop["instructions"])
        clocks = (len(loop["instructions"]) + bank_waits(loop["instructions"])) / adds
        errors.append(clocks / loop["clocks"] - 1)
        print(f"draw {loop['draw']}: {clocks:.3f} clk a multiply-add, measured {loop['clocks']:.3f} ({100 * errors[-1]:+.1f} %)")
    mean = sum(map(abs, errors)) / len(errors)
    print(f"{len(errors)} loops, mean error {100 * mean:.1f} %, worst {100 * max(map(abs, errors)):.1f} %")
    return 0 if len(errors) >= 8 and mean <= MEAN and max(map(abs, errors)) <= WORST else 1


def main():
    arguments = sys.argv[1:]
    if len(arguments) == 2 and arguments[0] in ("--record", "--check"):
        try:
            sys.exit((record if arguments[0] == "--record" else check)(arguments[1]))
        except OSError as error:
            sys.exit(f"{arguments[1]}: {error.strerror}")
        except (KeyError, TypeError, ValueError) as error:
            sys.exit(f"{arguments[1]}: not a record that {arguments[0]} takes: {error}")
    elif len(arguments) <= 1 and not (arguments and arguments[0].startswith("-")):
        show(arguments[0] if arguments else "")
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
