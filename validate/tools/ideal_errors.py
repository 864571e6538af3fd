#!/usr/bin/env python3
"""Measures how far ideal kernels, which predictions without --kernel are of, lie from the fastest kernels that were measured.

    ideal_errors.py TILESCOPE [--check [--quick]] [--jobs N]

Writes validate/ideal_errors.json, which `predict`, `sweep` and `compare` state for ideal kernels. At every point of the records
(GPU, sizes, formats, mask) the fastest recorded kernel of each schedule is set beside the ideal kernel of that schedule with its
best tile. A group is a GPU, a schedule, a pass, a phase (decode: at most 16 queries) and a kind of mask; groups without one of
these hold all of its values. `least`, `median` and `most` are measured time over ideal time; nine of ten points lie from `low` to `high`.

`widening` says how much wider a range must be to hold nine of ten points of another regime, of another GPU with the same chip, of
another chip (FlashAttention-2, forward and backward, on an A100: published) or of another schedule, than the range of the group that
is borrowed.

It takes some minutes. --check writes nothing and exits with status 1 where a number differs by more than 3 %; --quick checks
only the smallest groups of stated regimes.
"""
import argparse
import concurrent.futures
import json
import math
import pathlib
import re
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
STORED = ROOT / "validate" / "ideal_errors.json"
MOST_DECODED = 16  # queries of a point that is decoding: no more than rows of one matrix instruction
QUICK_POINTS = 16
ENOUGH = 9  # points of a group whose range holds nine of ten others
CHIPS = {"h100_sxm": "GH100", "h200_sxm": "GH100"}
SIZES = (("batch", "batch"), ("heads_q", "heads-q"), ("heads_kv", "heads-kv"), ("q_len", "q-len"), ("kv_len", "kv-len"),
         ("d_qk", "head-dim"), ("d_v", "v-head-dim"))
# Published times of another chip: forward and backward pass of FlashAttention-2 together.
OTHER_CHIP = ROOT / "validate" / "published" / "fa2_training_a100.csv"
OTHER_CHIP_GPU = "a100_sxm_80"


def kernels(program):
    """Schedule and diagram of each kernel; paged ones are left out, because their pages are no size of the record."""
    listed = json.loads(subprocess.run([program, "list", "kernels", "--format", "json"], check=True, cwd=ROOT,
                                       capture_output=True, text=True).stdout)
    found = {}
    for row in listed:
        file = next(ROOT.glob(f"kernels/*/{row['kernel']}.kernel.yaml"), ROOT / "kernels" / row["kernel"] / "kernel.yaml")
        diagram = re.search(r"(?m)^diagram: (\S+)", file.read_text()) if file.exists() else None
        if not row["kernel"].endswith("_paged"):
            found[row["kernel"]] = (row["schedule"], diagram[1] if diagram else None)
    return found


def recorded_points(program):
    """{(GPU, schedule, diagram, sizes, mask, formats): {kernel: seconds}} of all records."""
    of_kernel, points = kernels(program), {}
    for file in sorted((ROOT / "validate" / "records").glob("*/*.jsonl")):
        hardware = {}
        for line in map(json.loads, file.read_text().splitlines()):
            if line["schema"].startswith("tilescope/environment"):
                hardware[line["name"]] = line["hardware"]
                continue
            point, steady = line["point"], line["seconds"].get("steady")
            if point["kernel"] not in of_kernel or not steady:
                continue
            formats = ",".join([point["dtype"], *(f"{key}={value}" for key, value in point.get("dtypes", {}).items())])
            schedule, diagram = of_kernel[point["kernel"]]
            key = (hardware[line["environment"]], schedule, diagram, tuple(point["workload"][size] for size, _ in SIZES),
                   point["mask"], formats)
            times = points.setdefault(key, {})
            times[point["kernel"]] = min(times.get(point["kernel"], math.inf), statistics.median(steady))
    return points


def ideal_seconds(program, hardware, schedule, diagram, sizes, mask, formats):
    """Time of the ideal kernel; None where it has none."""
    command = [program, "predict", "--format", "json", "--hardware", hardware, "--schedule", schedule, "--mask", mask, "--dtype", formats]
    for (_, option), size in zip(SIZES, sizes):
        command += [f"--{option}", str(size)]
    done = subprocess.run(command + (["--diagram", diagram] if diagram else []), cwd=ROOT, capture_output=True, text=True)
    if done.returncode == 2 and "no implementation is known for schedule" in done.stderr:
        return None
    if done.returncode not in (0, 1):
        sys.exit(f"ideal_errors.py: {' '.join(command)}: status {done.returncode}\n{done.stderr}")
    answer = json.loads(done.stdout)
    return answer["time"]["seconds"] if answer["feasible"] and answer["time"]["model"] == "blocks" else None


def regime(key):
    """(GPU, schedule, pass, phase, mask) of a point."""
    hardware, schedule, _, sizes, mask, _ = key
    return (hardware, schedule, "backward" if "backward" in schedule else "forward",
            "decode" if sizes[3] <= MOST_DECODED else "prefill", mask.split(":")[0])


def wider(group):
    """The groups that hold this one: of all regimes, GPUs and schedules of the pass."""
    hardware, schedule, which, phase, mask = group
    for gpu in (hardware, None):
        for name in (schedule, None):
            if name:
                yield gpu, name, which, phase, mask
            yield gpu, name, which, None, None


def bar(values):
    """What nine of ten further values of the same kind stay within."""
    values = sorted(values)
    return values[min(len(values), math.ceil(0.9 * (len(values) + 1))) - 1]


def row(group, points):
    ratios = sorted(point["ratio"] for point in points)
    errors = [abs(1 / ratio - 1) for ratio in ratios]
    names = ("hardware", "schedule", "pass", "phase", "mask")
    return {**dict(zip(names, group)), "n": len(points), "kernels": len({name for point in points for name in point["kernels"]}),
            "least": ratios[0], "low": central(ratios)[0], "median": statistics.median(ratios), "high": central(ratios)[1],
            "most": ratios[-1], "mape": statistics.mean(errors),
            "p90": bar(errors)}


def central(ratios):
    """The range of nine of ten values: without the twentieth part at either end."""
    ratios = sorted(ratios)
    left_out = len(ratios) // 20
    return ratios[left_out], ratios[-1 - left_out]


def needed(ratios, low, high):
    """The factor by which the range must be wider to hold nine of ten of these."""
    return max(1, bar([max(low / ratio, ratio / high) for ratio in ratios]))


def widening(groups, other_chip):
    """Factors of ranges that are borrowed across one thing at a time."""
    found = {"regime": [], "gpu": [], "schedule": []}
    def ratios(name):
        return [point["ratio"] for point in groups[name]]
    def compare(cause, own, lender):
        if own in groups and len(groups[own]) >= ENOUGH and len(lender) >= ENOUGH:
            found[cause].append((needed(ratios(own), *central(lender)), len(groups[own])))
    stated = [group for group in groups if all(group)]
    for group in stated:
        hardware, schedule, which, phase, mask = group
        compare("regime", group, [ratio for other in stated if other[:3] == group[:3] and other != group for ratio in ratios(other)])
        compare("gpu", group, [ratio for other in stated if other[1:] == group[1:] and other[0] != hardware for ratio in ratios(other)])
    for group in [group for group in groups if group[0] and group[1] and not group[3]]:
        compare("schedule", group, [ratio for other in stated if (other[0], other[2]) == (group[0], group[2]) and other[1] != group[1]
                                    for ratio in ratios(other)])
    rows = [{"cause": cause, "factor": max(factor for factor, _ in of), "n": sum(n for _, n in of)} for cause, of in found.items()]
    lent = [ratio for group in stated if group[1] in ("flash2", "flash2-backward") and group[3] == "prefill" and
            group[4] in ("none", "causal") for ratio in ratios(group)]
    rows.append({"cause": "chip", "factor": needed(other_chip, *central(lent)), "n": len(other_chip)})
    return sorted(rows, key=lambda one: one["cause"])


def other_chip_ratios(program, pool):
    """Published time of both passes over the ideal kernels' together."""
    lines = OTHER_CHIP.read_text().splitlines()
    names = lines[0].split(",")
    def ratio(line):
        cells = dict(zip(names, line.split(",")))
        sizes = tuple(int(cells[name]) for name in ("batch", "heads_q", "heads_q", "q_len", "q_len", "head_dim", "head_dim"))
        both = [ideal_seconds(program, OTHER_CHIP_GPU, schedule, None, sizes, cells["mask"], "fp16")
                for schedule in ("flash2", "flash2-backward")]
        return float(cells["ms"]) * 1e-3 / sum(both)
    return list(pool.map(ratio, lines[1:]))


def small_groups(points):
    """Points of the smallest groups of stated regimes, QUICK_POINTS of them or a few more."""
    members = {}
    for key in points:
        members.setdefault(regime(key), []).append(key)
    chosen = {}
    for group in sorted((group for group in members if len(members[group]) >= ENOUGH), key=lambda group: (len(members[group]), group)):
        if len(chosen) < QUICK_POINTS:
            chosen.update({key: points[key] for key in members[group]})
    return chosen


def measure(program, jobs, quick):
    points = recorded_points(program)
    points = small_groups(points) if quick else points
    groups = {}
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        ideal = pool.map(lambda key: ideal_seconds(program, *key), points)
        for (key, times), seconds in zip(points.items(), ideal):
            if seconds is None:
                continue
            point = {"ratio": min(times.values()) / seconds, "kernels": set(times)}
            for group in ([regime(key)] if quick else set(wider(regime(key)))):
                groups.setdefault(group, []).append(point)
        factors = [] if quick else widening(groups, other_chip_ratios(program, pool))
    rows = [row(group, members) for group, members in groups.items()]
    return sorted(rows, key=lambda one: [str(one[name]) for name in ("hardware", "schedule", "pass", "phase", "mask")]), factors


def rounded(rows):
    return [{key: round(value, 4) if isinstance(value, float) else value for key, value in one.items()} for one in rows]


def differs(a, b):
    return any(abs(a[key] - b[key]) > 0.03 * max(abs(a[key]), 0.1) if isinstance(a[key], float) else a[key] != b[key] for key in a)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    program = str(pathlib.Path(given.program).resolve())
    rows, factors = map(rounded, measure(program, given.jobs, given.check and given.quick))
    if not given.check:
        STORED.write_text(json.dumps({"schema": "tilescope/ideal-errors/1", "chips": CHIPS, "rows": rows, "widening": factors}, indent=1) + "\n")
        return
    stored = json.loads(STORED.read_text())
    names = ("hardware", "schedule", "pass", "phase", "mask")
    known = {tuple(one[name] for name in names): one for one in stored["rows"]}
    wrong = [one for one in rows if (of := known.get(tuple(one[name] for name in names))) is None or differs(of, one)]
    if not rows or wrong or (factors and any(differs(a, b) for a, b in zip(factors, stored["widening"]))):
        sys.exit(f"validate/ideal_errors.json is out of date ({wrong[:2]}): run validate/tools/ideal_errors.py build/tilescope")
    print(f"{len(rows)} groups as in validate/ideal_errors.json")


if __name__ == "__main__":
    main()
