"""Lines of code.json for launches whose pieces code_nests.py finds: `nests` of the file's header, an entry a launch.

An entry has `launch` (none: the instance is a variant of the kernel), `how` its pieces are found (`nest`: products of
matrix instructions or none; `round`: products by multiply-adds; `row`: a block that owns a row; `sum`: a warp that adds up a
row; `straight`: one way; `ahead`, `staged`: kernels of PyTorch, code_flash.py), `function` (a pattern of the mangled name, whose groups are template arguments), `of` or `size` (the tile, or the size
of an axis, that the instance is for), and what the source says: `stores` of 16 bytes a thread of results, `boxes` and
`step_boxes` of copies, `products` and `loads` of a round, `parts` of a step. `derived_from`: another file's instances.
"""
import json
import re

import code_flash
import code_nests
from code_paths import opcode_count
from code_waits import finish, list_instructions

RESOURCES = ("compute_capability", "registers", "shared_bytes", "local_bytes", "barriers", "most_threads",
             "cluster_blocks", "parameters", "instructions")
KEPT = ("round", "packet", "packets", "mask_keys", "mask_warps", "first_warps", "first_lanes", "columns", "steps")


def evaluated(how, arguments):
    return eval(str(how), {"__builtins__": {"min": min, "max": max}}, arguments)


def arguments_of(pattern, name):
    found = re.search(pattern, name)
    return found and {key: int(value) if value and value.isdigit() and key != "dtype" else value
                      for key, value in found.groupdict().items()}


def sum_pieces(code, entry, sizes, *_):
    """A warp that adds up a row of `elements` a lane: loops take sixteen, blocks eight and four, a loop those left over."""
    flow = code_nests.Flow(code)
    elements = evaluated(entry["elements"], sizes)
    passes = {}
    inner = {flow.first[loop["header"]] for loop in code["loops"]}
    times = {}
    for i in flow.next:
        each = opcode_count(flow.counts(i), "FFMA")
        if each == 1 and i in inner:
            times[i] = elements % 4
        elif each:
            times[i] = elements // 16 if each == 16 else elements // each % 2
    way = code_nests.longest(flow, 0, flow.ends(), lambda i: 100 * times[i] if i in times else
                             opcode_count(flow.counts(i), "STG"))
    for i in way[:-1]:
        code_nests.add(passes, "once", flow.counts(i), times.get(i, 1))
    code_nests.add(passes, "row", flow.counts(way[-1]))  # one lane stores the sum
    return passes


def wavefronts_of(entry, passes, sizes):
    """Wavefronts of shared memory of a warp in a round, from the widths and the addresses that the source states."""
    if "wavefronts" in entry:
        passes["step"]["wavefronts"] = round(evaluated(entry["wavefronts"], sizes))


def kept(counts):
    return {key: value for key, value in counts.items() if value > 0 and key not in ("spilled", "fetched")}


def line_of(entry, kernel, arguments):
    sizes = {**arguments, **{key: evaluated(how, arguments) for key, how in entry.get("sizes", {}).items()}}
    find = {"round": code_nests.round_pieces, "row": code_nests.softmax_pieces, "nest": code_nests.nest_pieces,
            "sum": sum_pieces, "ahead": code_flash.ahead_pieces, "straight": code_flash.straight_pieces, "staged": code_flash.staged_pieces}[entry["how"]]
    if isinstance(entry.get("warps"), str):
        entry = {**entry, "warps": evaluated(entry["warps"], sizes)}
    found = find(list_instructions(kernel) if entry["how"] in ("round", "row", "sum") else kernel["code"], entry, sizes,
                 evaluated)
    passes, warps, before = found if isinstance(found, tuple) else (found, entry["warps"], 0)
    warps = entry.get("warps", warps)
    wavefronts_of(entry, passes, sizes)
    line = {"kernel": kernel["kernel"], **{key: kernel[key] for key in RESOURCES}}
    if "launch" in entry:
        line["launch"] = entry["launch"]
    if "of" in entry:
        line["of"] = {key: evaluated(how, sizes) for key, how in entry["of"].items()}
    if "size" in entry:
        line["size"] = {key: evaluated(how, sizes) for key, how in entry["size"].items()}
    if "masked" in entry:
        line["masked"] = bool(evaluated(entry["masked"], sizes))
    if "whole" in entry:
        line["whole"] = bool(evaluated(entry["whole"], sizes))
    for key in KEPT:
        value = evaluated(entry[key], sizes) if isinstance(entry.get(key), str) else entry.get(key)
        if value:
            line[key] = value
    line["warps"] = warps
    if before:
        line["before"] = before
    line["passes"] = {name: counts for name, all_counts in passes.items() if (counts := kept(finish(all_counts)))}
    return line


def order_of(line):
    return (list(line.get("of", {}).values()), list(line.get("size", {}).values()), line.get("masked"), line.get("whole"))


def lines_of(entry, kernels, dtypes):
    """A line for each instance; of formats with the same counts, the first."""
    lines = []
    for kernel in kernels:
        for more in entry.get("for", [{}]):
            arguments = arguments_of(entry["function"], kernel["kernel"])
            if arguments is None:
                continue
            line = line_of(entry, kernel, {**arguments, **more})
            if "variant" in entry:
                line["variant"] = {"dtypes": [dtypes[arguments["dtype"]]],
                                   **{key: evaluated(how, {**arguments, **more}) for key, how in entry["variant"].items()}}
            same = [each for each in lines if order_of(each) == order_of(line) and
                    without_format(each) == without_format(line)]
            if same and "variant" in line:
                same[0]["variant"]["dtypes"] += line["variant"]["dtypes"]
            elif same and "dtypes" in same[0]:
                same[0].pop("dtypes")  # all formats
            elif not same or "variant" in line:
                if arguments.get("dtype") and "variant" not in line:
                    line["dtypes"] = [dtypes[arguments["dtype"]]]
                lines.append(line)
    if not lines:
        raise ValueError(f"no kernel's name matches {entry['function']}")
    return sorted(lines, key=lambda line: (str(line.get("launch")), order_of(line)))


def without_format(line):
    copy = {key: value for key, value in line.items() if key not in ("kernel", "variant", "dtypes")}
    if "variant" in line:
        copy["variant"] = {key: value for key, value in line["variant"].items() if key != "dtypes"}
    return copy


def derived_lines(entry, folder):
    """Lines of a build whose machine code is not at hand, from those of another build of the same source and what the source
    says of the difference: `per_exponential` and `per_score` add to counts of each; `launch` is the launch's other name."""
    lines = json.loads((folder / f"{entry['derived_from']}.code.json").read_text())["kernels"]
    for line in lines:
        line["kernel"] = f"derived from {line['kernel']}"
        line["launch"] = entry.get("launch", line["launch"])
        scores = line["of"]["tile_q"] * line["of"]["tile_kv"] // (32 * line["warps"])
        for name in ("step", "live") if line.get("before") else ("step",):
            counts = line["passes"].get(name, {"xu": 0})
            for rule, times in (("per_exponential", counts["xu"] if name == "step" else scores), ("per_score", scores)):
                for key, value in entry.get(rule, {}).items():
                    counts[key] = max(0, counts.get(key, 0) + value * times)
    return lines
