#!/usr/bin/env python3
"""Writes the instructions of a kernel's step beside its measured clocks, for the test of `inspect --simulate`.

    simulated_steps.py TILESCOPE KERNEL CUBIN... > steps.txt      with nvdisasm where `tilescope inspect` finds it

Each variant of KERNEL that a record without a mask has, with at least two blocks a slot and eight steps: a line that
begins with '#' (variant, resident blocks, clocks of a step of each resident block, counted in the longest record), then
a line an instruction of a step: stall count, scoreboards set for result and operands, mask of scoreboards waited for,
1 for a hint to yield, text. Clocks: active cycles of all SMs x resident blocks / (blocks x steps). They include starts and ends of blocks.
"""
import json
import math
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LEAST_STEPS, LEAST_ROUNDS = 8, 2


def measured(kernel):
    """(head_dim, tile_q, tile_kv, warps, resident) -> (steps, blocks, clocks of a step) of the longest record."""
    longest = {}
    for path in sorted((ROOT / "validate/records/h200").glob("*.jsonl")):
        for record in map(json.loads, path.open()):
            point = record.get("point", {})
            if point.get("kernel") != kernel or point["mask"] != "none":
                continue
            size, tile, island = point["workload"], point["tile"], record["islands"][0]
            launch = island["launch"]
            resident, blocks = launch["blocks_per_unit"], math.prod(launch["grid"])
            steps = math.ceil(size["kv_len"] / tile["kv"])
            if steps < LEAST_STEPS or blocks < LEAST_ROUNDS * 132 * resident:
                continue
            clocks = island["counters"]["sm__cycles_active.sum"] * resident / blocks / steps
            key = (size["d_qk"], tile["q"], tile["kv"], point["warps"], resident)
            longest[key] = max(longest.get(key, (0,)), (steps, blocks, clocks))
    return longest


def instruction_line(each):
    """Stall count, scoreboards set, mask of those waited for, hint to yield, text."""
    boards = [7 if each[key] is None else each[key] for key in ("result_scoreboard", "operand_scoreboard")]
    mask = sum(1 << board for board in each["waits_for"])
    return " ".join(map(str, [each["stall"], *boards, mask, int(each["yield"]), each["text"]]))


def main_loop_lines(found, most="tensor"):
    """A line an instruction of the simulated loop with most of the tensor cores' time, or most of another column."""
    loop = max(found["simulation"]["loops"], key=lambda each: each[most])
    code = {each["address"]: each for each in found["code"]["instruction_list"]}
    return [instruction_line(code[each["address"]]) for each in loop["instruction_list"]]


def main():
    program, kernel, *cubins = sys.argv[1:]
    for (head_dim, tile_q, tile_kv, warps, resident), (steps, blocks, clocks) in sorted(measured(kernel).items()):
        name = f"{kernel}::forward<__half, {head_dim}, {tile_q}, {tile_kv}, {warps},"
        for cubin in cubins:
            run = subprocess.run([program, "inspect", cubin, "--name", name, "--hardware", "h200_sxm", "--simulate",
                                  "--resident", str(resident), "--instructions", "--format", "json"],
                                 capture_output=True, text=True)
            if run.returncode == 0:
                break
        else:
            sys.exit(f"no cubin has {name}: {run.stderr}")
        found = json.loads(run.stdout)["kernels"][0]
        print(f"# {kernel} {head_dim} {tile_q} {tile_kv} {warps} {resident} {clocks:.1f} {blocks} {steps}")
        print("\n".join(main_loop_lines(found)))


if __name__ == "__main__":
    main()
