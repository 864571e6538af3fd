#!/usr/bin/env python3
"""Makes a capture small enough to commit: a line a kind of launch, with the median of each counter that `run` compares.

    compact_capture.py CAPTURE... OUT.jsonl

CAPTURE: a directory that `tilescope run` wrote, with capture.facts.jsonl (what `describe` found). Writes OUT.jsonl, with a process a
capture, and OUT.facts.jsonl. Kinds are launches of one kernel, geometry and set of NVTX ranges. Left out: kernels without facts of
attention, parameters, tensor maps, starts, programs of steps (time is then predicted without executing them), and kinds of which
a group of counters is missing.
"""
import json
import pathlib
import statistics
import sys

COUNTERS = ("dram__bytes_read.sum", "dram__bytes_write.sum", "l1tex__m_xbar2l1tex_read_bytes.sum", "l1tex__m_l1tex2xbar_write_bytes.sum",
            "lts__t_sectors_srcunit_tex_op_red.sum", "sm__ops_path_tensor_op_hgmma_src_fp16.sum",
            "sm__ops_path_tensor_src_bf16_dst_fp32.sum", "sm__ops_path_tensor_op_hmma_src_fp16_dst_fp32.sum",
            "sm__ops_path_tensor_op_hmma_src_fp16_dst_fp16.sum", "sm__ops_path_tensor_src_fp8.sum",
            "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_gmma.sum", "sm__sass_data_bytes_mem_shared_op_ldsm.sum",
            "sm__sass_data_bytes_mem_shared_op_ld.sum", "smsp__inst_executed_op_ldsm.sum", "sm__cycles_active.sum")


def kind(line):
    return json.dumps([line[key] for key in ("kernel", "grid", "block", "cluster", "dynamic_shared_bytes", "ranges")])


def merged(lines):
    """One launch line for all of a kind, or nothing where a group was not counted."""
    samples, durations, through = {}, [], 0
    for line in lines:
        durations += line.get("durations_ns", [])
        for counted in line.get("counted", []):
            through = counted.get("read_through_bytes", 0)
            for metric, value in counted["values"].items():
                samples.setdefault(metric, []).append(value)
    values = {metric: statistics.median_high(samples[metric]) for metric in COUNTERS if metric in samples}
    if not {"dram__bytes_read.sum", "l1tex__m_xbar2l1tex_read_bytes.sum", "sm__cycles_active.sum"} <= values.keys():
        return None
    kept = {key: value for key, value in lines[0].items()
            if key not in ("parameters", "addresses", "tensor_maps", "starts_ns", "durations_ns", "counted", "count")}
    kept["count"] = sum(line["count"] for line in lines)
    kept["starts_ns"], kept["durations_ns"] = [], []
    if durations:
        kept["starts_ns"], kept["durations_ns"] = [0], [int(statistics.median(durations))]
    kept["counted"] = [{"group": "median", "read_through_bytes": through,
                        "values": {metric: int(value) if value == int(value) else value for metric, value in values.items()}}]
    return kept


def read(capture):
    """Lines of a compact capture and its facts, as (process, modules, kernels, launches, facts, what launches show)."""
    lines = [json.loads(text) for text in (capture / "capture.jsonl").read_text().splitlines()]
    facts = [json.loads(text) for text in (capture / "capture.facts.jsonl").read_text().splitlines()]
    of_attention = {(line["module"], line["kernel"]) for line in facts if "facts" in line}
    kernels = [line for line in lines if line["line"] == "kernel"]
    launches = [line for line in lines if line["line"] == "launch"]
    kinds = {}
    for place, line in enumerate(launches):
        if (kernels[line["kernel"]].get("module"), kernels[line["kernel"]]["symbol"]) in of_attention:
            kinds.setdefault(kind(line), []).append(place)
    kept = [(places, launch) for places in kinds.values() if (launch := merged([launches[place] for place in places]))]
    used = sorted({launch["kernel"] for _, launch in kept})
    names = {(kernels[number]["module"], kernels[number]["symbol"]) for number in used}
    shown = {line["launch"]: line["shown"] for line in facts if "launch" in line}
    process = next(line for line in lines if line["line"] == "process")
    print(f"{capture.name}: {len(kept)} of {len(kinds)} kinds, {len(used)} kernels")
    return ({**process, "command": process["command"][-1:], "pid": 1, "parent": 0, "notes": []},
            [line for line in lines if line["line"] == "module" and any(line["hash"] == module for module, _ in names)],
            [kernels[number] | {"parameters": []} for number in used],
            [launch | {"kernel": used.index(launch["kernel"])} for _, launch in kept],
            [line | {"facts": {key: value for key, value in line["facts"].items() if key != "program"}}
             for line in facts if "facts" in line and (line["module"], line["kernel"]) in names],
            [next((shown[place] for place in places if place in shown), None) for places, _ in kept])


def main(arguments):
    out = pathlib.Path(arguments[-1])
    processes, modules, kernels, launches, facts, shows = [], [], [], [], {}, []
    for number, place in enumerate(arguments[:-1]):
        process, own_modules, own_kernels, own_launches, own_facts, shown = read(pathlib.Path(place))
        launches += [launch | {"kernel": launch["kernel"] + len(kernels)} for launch in own_launches]
        kernels += [kernel | {"process": number} for kernel in own_kernels]
        processes.append(process)
        modules += [module for module in own_modules if module not in modules]
        facts.update({(line["module"], line["kernel"]): line for line in own_facts})
        shows += shown
    stored = list(facts.values())
    for place, shown in enumerate(shows):
        if shown is not None:
            stored.append({"schema": "tilescope/capture-facts/1", "launch": place,
                           "kernel": kernels[launches[place]["kernel"]]["symbol"], "grid": launches[place]["grid"], "shown": shown})
    for file, content in ((out, processes + modules + kernels + launches), (out.with_suffix(".facts.jsonl"), stored)):
        file.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in content))
    print(f"{len(launches)} launches, {len(kernels)} kernels, {out.stat().st_size + out.with_suffix('.facts.jsonl').stat().st_size} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
