#!/usr/bin/env python3
"""Sets the measured values of a profile to the medians of several runs of `tilescope hardware measure`.

    validate/tools/median_of_runs.py PROFILE.yaml [--of RUN.json[+RUN.json...]] RUN.json[+RUN.json...] ...

PROFILE.yaml states the values of the runs of --of, by default of the last run given. Each value is scaled by the ratio
of the runs' median to these. Runs of one board are joined by + and count as one, by their median. Use runs on
different boards: boards of one kind differ by some percent, mainly in energies and in the latency of memory.
"""
import argparse
import json
import re
import statistics


def values(board):
    """The values of a board's runs, by path."""
    found = {}
    for path in board.split("+"):
        with open(path, encoding="utf-8") as file:
            for each in json.load(file)["values"]:
                found.setdefault(each["path"], []).append(each["value"])
    return {path: statistics.median(of) for path, of in found.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("profile")
    parser.add_argument("--of")
    parser.add_argument("runs", nargs="+")
    given = parser.parse_args()
    profile, runs = given.profile, [values(board) for board in given.runs]
    stated = values(given.of) if given.of else None
    count = sum(board.count("+") + 1 for board in given.runs)
    boards = f" on {len(runs)} boards" if count > len(runs) else ""
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
                own = next(run[".".join(at)] for run in [*([stated] if stated else []), *reversed(runs)]
                           if ".".join(at) in run)
                scaled = float(value.group(1)) * statistics.median(held) / own
                digits = f"{scaled:.4g}"
                spread = f" ({count if boards else len(held)} runs{boards})" if len(held) > 1 else ""
                if spread:
                    line = re.sub(r" \(\d+ runs[^)]*\)(?=\"})", "", line)
                    value = re.search(r"value: ([\d.e+-]+)", line)
                line = line[:value.start(1)] + (f"{scaled:.0f}" if "e" in digits else digits) + line[value.end(1):]
                if spread and 'note: "' in line and spread not in line:
                    line = line[:line.rindex('"')] + spread + line[line.rindex('"'):]
        lines.append(line)
    with open(profile, "w", encoding="utf-8") as file:
        file.write("\n".join(lines))


if __name__ == "__main__":
    main()
