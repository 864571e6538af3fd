#!/usr/bin/env python3
"""Computes the clocks of a warp alone on its scheduler from machine code: before a loop, in a step of it, after it.

    cuobjdump -sass OBJECT | validate/tools/warp_clocks.py [PATTERN]

Handles every function whose name has PATTERN and which has a loop with matrix instructions (mma.sync). Instructions are
issued in order, by the stall counts, scoreboards and pipes of the machine code. An instruction (128 bits) has in bits
105-108 the clocks until the next one may issue, in 110-112 and 113-115 the scoreboards of its result and of the release
of its operands, and in 116-121 the scoreboards that it waits for. Code under a forward branch counts as executed if it
has matrix instructions or unconditional copies, otherwise (masks, ragged ends, pages) as skipped. Copies and loads from
global memory are assumed to be complete when the warp waits for them.
"""
import pathlib
import re
import sys

PROFILE = pathlib.Path(__file__).resolve().parents[2] / "hardware" / "h200_sxm.yaml"


def measured(path):
    """A value of the profile's block `measured` ("chains.ldmatrix"), in its unit."""
    lines, depth = PROFILE.read_text().split("\nmeasured:\n")[1].split("\n"), 0
    for key in path.split("."):
        start = next((i for i, line in enumerate(lines) if re.match(r" {%d}%s:" % (2 * depth + 2, key), line)), None)
        if start is None:
            sys.exit(f"{PROFILE}: measured.{path}: is missing: measure it with 'tilescope hardware measure'")
        lines, depth = lines[start:], depth + 1
    return float(re.search(r"value: ([0-9.]+)", lines[0]).group(1))


# Clocks until a result is there; until the registers that an instruction reads may be written; of a barrier at which
# the block's four warps arrive together; that a warp's instruction keeps its pipe (32 threads, four schedulers).
LATENCY = {"LDS": measured("smem.latency"), "LDSM": measured("chains.ldmatrix"), "MUFU": measured("chains.ex2"),
           "SHFL": measured("chains.shuffle"), "MOVM": measured("chains.movmatrix"),
           "HMMA": measured("tensor.mma_latency.fp16")}
OTHER_LATENCY, OPERANDS_READ = measured("chains.constant"), measured("chains.operands_read")
BARRIER = measured("sync.block_barrier.w4")
ALU = r"LOP3|PRMT|IADD3|FMNMX|F2FP|ISETP|FSETP|SEL|FSEL|SHF|LEA|VIMNMX|IMNMX"
PIPES = [(re.compile(r"HMMA"), "tensor", measured("tensor.mma.fp16")),
         (re.compile(r"MUFU"), "xu", 128 / measured("pipes.ex2")),
         (re.compile(r"LDSM|LDS|STS|STSM"), "smem", measured("smem.ldmatrix")),
         (re.compile(r"SHFL|MOVM"), "shuffle", 128 / measured("pipes.shuffle")),
         (re.compile(ALU), "alu", 128 / measured("pipes.lop3"))]
FIRST = re.compile(r"\s*/\*([0-9a-f]{4,})\*/\s+(.*?);\s+/\* (0x[0-9a-f]{16}) \*/")
SECOND = re.compile(r"\s*/\* (0x[0-9a-f]{16}) \*/")
BRANCH = re.compile(r"^(@\S+ )?\s*BRA(?:\.\S+)?\s.*?(0x[0-9a-f]+)\s*$")


def functions(lines):
    name, code, pending = None, [], None
    for line in lines:
        if found := re.search(r"Function : (\S+)", line):
            if name:
                yield name, code
            name, code = found.group(1), []
        elif found := FIRST.match(line):
            pending = int(found.group(1), 16), found.group(2).strip()
        elif pending and (found := SECOND.match(line)):
            bits = int(found.group(1), 16)
            code.append((*pending, bits >> 41 & 15, bits >> 46 & 7, bits >> 49 & 7, bits >> 52 & 63))
            pending = None
    if name:
        yield name, code


def opcode(text):
    words = text.split()
    return words[1] if words[0].startswith("@") else words[0]


def target(code, at):
    found = BRANCH.match(code[at][1])
    return int(found.group(2), 16) if found else None


def loops(code):
    """First and last instruction of each: what a branch backwards goes back to, and the branch."""
    index = {entry[0]: i for i, entry in enumerate(code)}
    for i in range(len(code)):
        to = target(code, i)
        if to is not None and to <= code[i][0] and to in index:
            yield index[to], i


def loop(code):
    """The smallest loop that has all matrix instructions that loops have."""
    best, most = None, 0
    for first, last in loops(code):
        products = sum("MMA" in entry[1] for entry in code[first:last + 1])
        if products > most or (products == most and products and last - first < best[1] - best[0]):
            best, most = (first, last), products
    return best


def executed(code, first, last):
    index = {entry[0]: i for i, entry in enumerate(code)}
    i = first
    while i <= last:
        yield i
        to = target(code, i)
        ahead = to is not None and ".DIV" not in code[i][1] and to > code[i][0] and index.get(to, last + 1) <= last + 1
        if ahead:
            skipped = [entry[1] for entry in code[i + 1:index[to]]]
            needed = any("HMMA" in text or re.match(r"(LDGSTS|LDS|STS|STG|MUFU)\S* ", text) and not re.search(r", !?P\d$", text)
                         for text in skipped)
            if not code[i][1].startswith("@") or not needed:
                i = index[to]
                continue
        i += 1


def clocks(code, instructions, rounds=1):
    now, free, boards, spans = 0.0, {}, [0.0] * 6, []
    for _ in range(rounds):
        start = now
        for i in instructions:
            _, text, stall, result, operands, waits = code[i]
            op = opcode(text)
            ready = max([now] + [boards[b] for b in range(6) if waits >> b & 1])
            for pattern, pipe, busy in PIPES:
                if pattern.match(op):
                    ready = max(ready, free.get(pipe, 0.0))
                    free[pipe] = ready + busy
                    break
            kind = op.split(".")[0]
            arrived = kind in ("LDG", "LDGSTS", "LDGDEPBAR", "DEPBAR")
            if result < 6:
                boards[result] = ready + (OPERANDS_READ if arrived else LATENCY.get(kind, OTHER_LATENCY))
            if operands < 6:
                boards[operands] = max(boards[operands] if operands == result else 0, ready + OPERANDS_READ)
            now = ready + max(1, stall) + (BARRIER if kind == "BAR" else 0)
        spans.append(now - start)
    return spans[-1]


def main():
    pattern = sys.argv[1] if len(sys.argv) > 1 else ""
    for name, code in functions(sys.stdin):
        span = loop(code)
        if pattern not in name or span is None:
            continue
        first, last = span
        body = list(executed(code, first, last))
        before, after = list(executed(code, 0, first - 1)), list(executed(code, last + 1, len(code) - 1))
        exits = [k for k, i in enumerate(after) if opcode(code[i][1]) == "EXIT" and not code[i][1].startswith("@")]
        after = after[:exits[0] + 1] if exits else after
        print(f"{name} before {clocks(code, before):.0f} ({len(before)}) step {clocks(code, body, 3):.0f} ({len(body)}) "
              f"after {clocks(code, after):.0f} ({len(after)})")


if __name__ == "__main__":
    main()
