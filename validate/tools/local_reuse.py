#!/usr/bin/env python3
"""Computes, from machine code, how long ago the local memory was stored to that a step of a kernel stores to and loads from.

    cuobjdump -sass OBJECT | validate/tools/local_reuse.py [PATTERN] [--frame BYTES]

Handles every function whose name has PATTERN and which has a loop with matrix instructions and local memory. Prints what
`local` of a descriptor states: bytes of a thread that a step stores and loads, and both by the part of the frame that was
stored to since the place was: 16 numbers, up to 1/16 of the frame, up to 2/16, ... Loads do not count, because the L2
model's age of a place is what was stored since. The loop is the shortest one that ends
in a conditional branch and has most of the matrix instructions. Code under a forward branch counts as skipped if it has
no matrix instruction (masks, ragged ends). --frame: the frame that the launch reports, if it is larger than the bytes used.
"""
import argparse
import collections
import re
import sys

AGES = 16
LINE = re.compile(r"\s*/\*([0-9a-f]{4,})\*/\s+(.*?);")
BRANCH = re.compile(r"^(@!?U?P\d+ )?\s*BRA(?:\.\S+)?\s.*?(0x[0-9a-f]+)\s*$")
ACCESS = re.compile(r"(STL|LDL)(\S*)\s.*\[R1(?:\+(0x[0-9a-f]+))?\]")
MATRIX = re.compile(r"[HQIB]G?MMA")


def functions(lines):
    """(name, [(address, instruction)]) of each function."""
    name, code = None, []
    for line in lines:
        if found := re.search(r"Function : (\S+)", line):
            if name:
                yield name, code
            name, code = found.group(1), []
        elif found := LINE.match(line):
            code.append((int(found.group(1), 16), found.group(2).strip()))
    if name:
        yield name, code


def has_matrix(code):
    return sum(bool(MATRIX.search(text)) for _, text in code)


def step_of(code):
    """Instructions of the loop's step, without the code that it skips; [] when there is no such loop."""
    loops = []
    for address, text in code:
        branch = BRANCH.match(text)
        if branch and branch.group(1) and int(branch.group(2), 16) <= address:
            body = [each for each in code if int(branch.group(2), 16) <= each[0] <= address]
            if has_matrix(body) and any(ACCESS.search(each[1]) for each in body):
                loops.append((-has_matrix(body), len(body), body))
    if not loops:
        return []
    body, step, skip_to = min(loops, key=lambda loop: loop[:2])[2], [], 0
    for address, text in body:
        if address < skip_to:
            continue
        step.append(text)
        branch = BRANCH.match(text)
        if branch and address < int(branch.group(2), 16) <= body[-1][0]:
            target = int(branch.group(2), 16)
            if not has_matrix([each for each in body if address < each[0] < target]):
                skip_to = target
    return step


def accesses(step):
    """(stores?, slot of 4 bytes) in order."""
    found = []
    for text in step:
        if access := ACCESS.search(text):
            width = 16 if ".128" in access.group(2) else 8 if ".64" in access.group(2) else 4
            first = int(access.group(3) or "0", 16) // 4
            found += [(access.group(1) == "STL", first + slot) for slot in range(width // 4)]
    return found


def by_age(events, frame):
    """Bytes stored and loaded, by the part of the frame stored to since the place was, where steps follow each other."""
    order, ages = collections.OrderedDict(), ([0] * AGES, [0] * AGES)
    for number, (stores, slot) in enumerate(events * 2):
        if number >= len(events):
            since = 4 * (len(order) - 1 - list(order).index(slot)) if slot in order else frame
            ages[0 if stores else 1][min(AGES - 1, since * AGES // frame)] += 4
        if stores:
            order.pop(slot, None)
            order[slot] = True
    return ages


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pattern", nargs="?", default="")
    parser.add_argument("--frame", type=int)
    arguments = parser.parse_args()
    for name, code in functions(sys.stdin):
        events = accesses(step_of(code)) if arguments.pattern in name else []
        if not events:
            continue
        frame = arguments.frame or 4 * len({slot for _, slot in events})
        stored, loaded = by_age(events, frame)
        print(f"{name}\n  frame: {frame}, stored_step: {sum(stored)}, loaded_step: {sum(loaded)},\n"
              f"  stored_after: {stored},\n  loaded_after: {loaded}")


if __name__ == "__main__":
    main()
