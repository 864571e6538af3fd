#!/usr/bin/env python3
"""Clocks that a warp spends in a pass of its main loop, by what it waits for, from samples of Nsight Compute.

    ncu --clock-control none --section SourceCounters --warp-sampling-interval 0 \\
        --metrics smsp__warps_active.avg,launch__grid_size,launch__block_size -o run PROGRAM
    ncu --import run.ncu-rep --page source --csv > run.source.csv
    ncu --import run.ncu-rep --page raw --csv > run.raw.csv
    stall_samples.py UNITS run ...

UNITS: SMs of the GPU. A pass: as often as most instructions of the kernel are executed by a warp. Clocks: those of all
warps (smsp__warps_active), over passes and warps, in proportion to the samples.
"""
import collections
import csv
import sys

SCHEDULERS, WARP_THREADS = 4, 32


def number(text):
    return float(text.replace(",", "") or 0)


def main():
    units, *runs = sys.argv[1:]
    for run in runs:
        with open(run + ".source.csv") as source, open(run + ".raw.csv") as raw:
            _, names, *rows = csv.reader(source)
            columns, _, values, *_ = csv.reader(raw)
        launch, rows = dict(zip(columns, values)), [dict(zip(names, row)) for row in rows]
        executed = collections.Counter(number(row["Instructions Executed"]) for row in rows)
        del executed[0]
        warps = number(launch["launch__grid_size"]) * number(launch["launch__block_size"]) / WARP_THREADS
        passes = executed.most_common(1)[0][0]
        clocks = number(launch["smsp__warps_active.avg"]) * int(units) * SCHEDULERS / passes
        samples = sum(number(row["# Samples"]) for row in rows)
        waits = {name: sum(number(row[name]) for row in rows) / samples * clocks
                 for name in names if name.startswith("stall_") and "(" not in name}
        longest_first = sorted(waits.items(), key=lambda wait: -wait[1])
        listed = ", ".join(f"{name.removeprefix('stall_')} {wait:.0f}" for name, wait in longest_first if wait >= 1)
        print(f"{run}: {passes / warps:g} passes of a warp, {clocks:.0f} clocks each: {listed}")


if __name__ == "__main__":
    main()
