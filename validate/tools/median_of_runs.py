#!/usr/bin/env python3
"""Sets the measured values of a profile to the medians of several runs of `tilescope hardware measure`.

    validate/tools/median_of_runs.py PROFILE.yaml RUN.json RUN.json ...

PROFILE.yaml is the profile that the last run wrote. Each value is scaled by the ratio of the runs' median to the last
run's value. Use runs on different machines: boards of one kind differ by some percent, mainly in energies and in the
latency of memory.
"""
import json
import re
import statistics
import sys


def values(path):
    with open(path, encoding="utf-8") as file:
        return {each["path"]: each["value"] for each in json.load(file)["values"]}


def main():
    profile, runs = sys.argv[1], [values(path) for path in sys.argv[2:]]
    at, inside, lines = [], False, []
    with open(profile, encoding="utf-8") as file:
        text = file.read().split("\n")
    for line in text:
        found = re.match(r"( *)([\w.\-]+):(.*)", line)
        if found and not found.group(1):
            inside = found.group(2) == "measured"
        if inside and found and found.group(1):
            at = at[:len(found.group(1)) // 2 - 1] + [found.group(2)]
            value = re.search(r"value: ([\d.e+-]+)", line)
            held = [run[".".join(at)] for run in runs if ".".join(at) in run]
            if value and held:
                own = next(run[".".join(at)] for run in reversed(runs) if ".".join(at) in run)
                scaled = float(value.group(1)) * statistics.median(held) / own
                digits = f"{scaled:.4g}"
                spread = f" ({len(held)} runs)" if len(held) > 1 else ""
                line = line[:value.start(1)] + (f"{scaled:.0f}" if "e" in digits else digits) + line[value.end(1):]
                if spread and 'note: "' in line and spread not in line:
                    line = line[:line.rindex('"')] + spread + line[line.rindex('"'):]
        lines.append(line)
    with open(profile, "w", encoding="utf-8") as file:
        file.write("\n".join(lines))


if __name__ == "__main__":
    main()
