#!/usr/bin/env python3
"""Sets instruction counts from machine code beside the counters of all records, for kernels whose descriptors still state
averages over counters: flash1, backward, backward_split, mla_decode, reference_fp32, reference_backward.

usage: nest_counts.py FILE...

FILE is what `tilescope inspect CUBIN --format json` has printed of these kernels. Prints a Markdown table, a row a launch.
Exit status 1 if no record's launch was found among the files.
"""
import collections
import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import code_nests  # noqa: E402

RECORDS = pathlib.Path(__file__).resolve().parents[1] / "records"
DTYPE = {"fp16": "6__half", "bf16": "13__nv_bfloat16"}
# By kernel and launch: how its pieces are found (`nest`, `round`), the mangled name, and what the source says of a step.
WGMMA = {"how": "nest", "boxes": "d//64"}
LAUNCHES = {
    ("flash1", "forward"): {"how": "nest", "name": "6flash17forwardI{t}Li{d}ELi{q}ELi{x}ELi{w}E", "step_copies": 1,
                            "stores": "q*d*2//16//(w*32)", "stream": "q"},
    ("backward", "main"): {**WGMMA, "name": "backward_mainI{t}Li{d}ELi{q}ELi\\d+ELi{s}ELb1E"},
    ("backward_split", "dkv"): {**WGMMA, "name": "backward_mainI{t}Li{d}ELi{q}ELi\\d+ELi{s}ELb0E", "parts": 2},
    ("backward_split", "dq"): {**WGMMA, "name": "backward_queryI{t}Li{d}ELi{q}ELi\\d+ELi{s}E", "parts": 2, "step_boxes": "2"},
    ("mla_decode", "partial"): {"how": "nest", "name": "mla_decode7partialI{t}", "products": "36", "step_boxes": "9",
                                "copy_warps": 1, "paged": False, "packed": True},
}
LAUNCHES["reference_fp32", "softmax"] = {"how": "row", "name": "row_softmaxIfLi{values}E"}
for kernel, launch, name, size in (
        ("reference_fp32", "qk", "2qkENS", "d"), ("reference_backward", "probabilities", "score_stepILb1E", "d"),
        ("reference_backward", "score_gradient", "score_stepILb0E", "d")):
    LAUNCHES[kernel, launch] = {"how": "round", "name": name, "loads": ["8", "8"], "products": "512", "depth": size}
for kernel, launch, name, size in (
        ("reference_fp32", "pv", "pvILi{slots}E", "x"), ("reference_backward", "query_gradient", "gradientILi{slots}ELb0E", "x"),
        ("reference_backward", "key_gradient", "gradientILi{slots}ELb1E", "rows"),
        ("reference_backward", "value_gradient", "gradientILi{slots}ELb1E", "rows")):
    LAUNCHES[kernel, launch] = {"how": "round", "name": name, "loads": ["8", "4*slots"], "products": "256*slots", "depth": size}


def evaluated(how, sizes):
    return eval(str(how), {"__builtins__": {"min": min, "max": max}}, sizes)


def parts_of(whole, part):
    return -(-whole // part)


def tiles_of(w, q, x, causal):
    """Tiles of queries and keys that a head computes, and those that the mask or the end of the keys cuts."""
    steps = cut = 0
    for row in range(0, w["q_len"], q):
        shift = w["kv_len"] - w["q_len"]
        last = min(w["q_len"], row + q) - 1 + shift if causal else w["kv_len"] - 1
        whole = (row + shift + 1 if causal else w["kv_len"]) // x
        live = max(0, min(parts_of(w["kv_len"], x), last // x + 1))
        steps, cut = steps + live, cut + live - max(0, min(live, whole))
    return steps, cut


def runs_of_round(entry, w, blocks):
    rounds = parts_of({"d": w["d_qk"], "x": w["kv_len"], "rows": w["q_len"]}[entry["depth"]], 32)
    if entry["depth"] == "rows":
        rounds *= w["heads_q"] // w["heads_kv"]
    return {"once": 8 * blocks, "step": 8 * blocks * rounds}


def runs_of_row(w, blocks, values):
    """A block owns a row; a warp takes packets of 128 keys, a packet for each four values of a thread."""
    packets = parts_of(w["kv_len"], 128)
    return {"once": 8 * blocks, "first": blocks, "step": packets * blocks,
            "tail": max(0, min(8, packets - 8 * (values // 4 - 1))) * blocks}


def runs_of_nest(entry, point, blocks, warps, before):
    w, q, x, causal = point["workload"], point["tile"]["q"], point["tile"]["kv"], point["mask"] == "causal"
    if entry.get("packed"):
        rows = parts_of(w["heads_q"] * w["q_len"], q) * w["batch"]
        tiles = parts_of(w["kv_len"], x)
        steps, cut = tiles * rows, (tiles - (w["kv_len"] - (w["q_len"] - 1 if causal else 0)) // x) * rows
    else:
        steps, cut = (each * w["batch"] * w["heads_q"] for each in tiles_of(w, q, x, causal))
    live = parts_of(w["kv_len"], x) * blocks if entry.get("stream") == "q" else blocks
    return {"once": warps * blocks, "live": warps * live, "step": warps * (steps - before * live), "first": blocks,
            "ahead": warps * (steps - live), "copies": steps, "end" if causal or entry.get("packed") else "tail": warps * cut}


class Kernels:
    """Passes of the launches' instances."""

    def __init__(self, files):
        self.code = {k["kernel"]: k["code"] for file in files for k in json.loads(file.read_text())["kernels"]}
        self.found = {}

    def pieces(self, entry, sizes):
        name = entry["name"].format(**sizes)
        if (entry["how"], name) not in self.found:
            codes = [code for symbol, code in self.code.items() if re.search(name, symbol)]
            if not codes:
                return None
            find = {"round": code_nests.round_pieces, "nest": code_nests.nest_pieces, "row": code_nests.softmax_pieces}
            self.found[entry["how"], name] = find[entry["how"]](codes[0], entry, sizes, evaluated)
        return self.found[entry["how"], name]


def launches(records):
    for file in sorted(records.glob("*/*.jsonl")):
        for line in map(json.loads, file.read_text().splitlines()):
            point = line.get("point", {})
            for island in line.get("islands", []):
                if (point.get("kernel"), island["name"]) in LAUNCHES and "smsp__inst_executed.sum" in island["counters"]:
                    yield point, island


def errors_of(kernels, records):
    """Relative errors of warp instructions and ALU instructions, by kernel and launch."""
    errors = collections.defaultdict(list)
    for point, island in launches(records):
        entry, w = LAUNCHES[point["kernel"], island["name"]], point["workload"]
        slots = 2 if w["d_v"] <= 64 else 4 if w["d_v"] <= 128 else 8
        sizes = {"t": DTYPE.get(point["dtype"]), "d": w["d_qk"], "q": point["tile"]["q"], "x": point["tile"]["kv"],
                 "w": point.get("warps"), "s": point.get("stages") or 2, "slots": slots,
                 "values": next(values for values in (8, 16, 32, 64, 128) if values == 128 or 256 * values >= w["kv_len"])}
        found = kernels.pieces(entry, sizes)
        if found is None:
            continue
        blocks = 1
        for size in island["launch"]["grid"]:
            blocks *= size
        passes, *rest = found if entry["how"] == "nest" else (found,)
        if rest:
            runs = runs_of_nest(entry, point, blocks, *rest)
        else:
            runs = runs_of_row(w, blocks, sizes["values"]) if entry["how"] == "row" else runs_of_round(entry, w, blocks)
        for title, keys, counter in (("warp instructions", ("instructions",), "smsp__inst_executed.sum"),
                                     ("ALU instructions", ("alu", "conversion"), "smsp__inst_executed_pipe_alu.sum")):
            count = sum(passes.get(name, {}).get(key, 0) * times for name, times in runs.items() for key in keys)
            errors[point["kernel"], island["name"], title].append(abs(count / island["counters"][counter] - 1) * 100)
    return errors


def main(arguments):
    errors = errors_of(Kernels([pathlib.Path(name) for name in arguments]), RECORDS)
    print("| kernel | launch | counter | records | mean error | within 3 % | worst |\n|---|---|---|--:|--:|--:|--:|")
    for (kernel, launch, title), of in errors.items():
        print(f"| `{kernel}` | {launch} | {title} | {len(of)} | {sum(of) / len(of):.2f} % | {sum(e <= 3 for e in of)} | "
              f"{max(of):.1f} % |")
    return 0 if errors else 1


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        print(__doc__.strip())
        sys.exit(0 if sys.argv[1:2] == ["--help"] else 2)
    sys.exit(main(sys.argv[1:]))
