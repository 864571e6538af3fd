#!/usr/bin/env python3
"""hbm.write_wait of a profile, from what copies_under_load printed: how much longer a tile's copy waits while SMs
store.

  write_wait.py copies_under_load_h200.txt ../../../hardware/h200_sxm.yaml

Waits of tiles of two arrays, with stores to one of them and without, are compared at the same bytes a clock of the
device (reads and stores together; interpolated), each beyond its wait with one SM at work. The extra wait goes with the
part of memory's time that the stores take; the printed number is the slope of the line through 0, tiles of 4 KiB and
more, up to 75 % of memory's bandwidth. Beyond that memory itself is what all wait for.
"""
import itertools
import sys

import yaml

MOST, ARRAYS, LEAST_BYTES = 0.75, 2, 4096


def cases(path):
    """Waits in clocks by (bytes, L2, work, stores): a list of (SMs, waited, bytes a clock of reads)."""
    found = {}
    for line in open(path):
        words = line.replace(":", "").replace(",", "").split()
        if len(words) != 8 or words[3] not in ("clean", "dirty"):
            continue
        size, arrays, stores, l2, work, units, waited, rate = words
        if int(arrays) == ARRAYS and int(size) >= LEAST_BYTES:
            key = int(size), l2, int(work), int(stores)
            found.setdefault(key, []).append((int(units), float(waited), float(rate)))
    return found


def later(rows):
    """(units, clocks beyond one SM's wait, reads a clock)"""
    alone = next(waited for units, waited, _ in rows if units == 1)
    return [(units, waited - alone, rate) for units, waited, rate in rows]


def between(at, places):
    """The value at a place, by the straight line between its neighbours; beyond the ends, theirs."""
    if at <= places[0][0] or at >= places[-1][0]:
        return places[0 if at <= places[0][0] else -1][1]
    for (x, low), (end, high) in itertools.pairwise(places):
        if x <= at < end:
            return low + (high - low) * (at - x) / (end - x)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    profile = yaml.safe_load(open(sys.argv[2]))
    hz = float(profile["compute"]["boost_clock"]["value"].split()[0]) * 1e6  # MHz
    peak = {way: float(profile["measured"]["hbm"][way]["value"].split()[0]) * 1e9 / hz for way in ("read", "write")}
    found = cases(sys.argv[1])
    points = []  # part of memory's time that stores take, clocks that they make loads wait longer
    for (size, l2, _, stores), rows in found.items():
        if not stores:
            continue
        idle = [later(other) for key, other in found.items() if (key[0], key[1], key[3]) == (size, l2, 0)]
        without = sorted((rate, clocks) for each in idle for _, clocks, rate in each)
        for units, clocks, rate in later(rows):
            total = rate * (1 + 1 / ARRAYS)
            if units > 1 and total <= MOST * peak["read"]:
                usual = max(0, between(total, without))
                points.append((rate / ARRAYS / peak["write"], clocks - usual))
    if not points:
        sys.exit(f"{sys.argv[1]}: expected the output of copies_under_load with stores, found none")
    slope = sum(part * clocks for part, clocks in points) / sum(part * part for part, _ in points)
    error = sum(abs(clocks - slope * part) for part, clocks in points) / len(points)
    print(f"{len(points)} points: {slope:.0f} clk = {slope / hz * 1e9:.0f} ns, mean error {error:.0f} clk")


main()
