#!/usr/bin/env python3
"""Writes the loops of the microbenchmark sm_rules/warpgroups/warpgroups.cu beside the clocks that it printed, for the test of the
simulated SM.

    warpgroup_steps.py TILESCOPE CUBIN PRINTED > steps.txt      with nvdisasm where `tilescope inspect` finds it

CUBIN: warpgroups.cu, compiled with -cubin. PRINTED: what the program printed. Of each case a line that begins with '#'
(columns of the results, rows, keys, warps, blocks on an SM, clocks of a pass), then a line an instruction, as
simulated_steps.py writes them.
"""
import json
import re
import subprocess
import sys

from simulated_steps import instruction_line

CASE = re.compile(r"(\w+) k(\d+) c(\d+) (\d) wg (\w+) (\w+): ([\d. ]+)$")
FORMATS = {"half": "__half", "e4m3": "tilescope::kernels::device::E4m3"}
KINDS = ["plain", "barriers", "registers"]
GROUP_ROWS, GROUP_WARPS, WARP_THREADS = 64, 4, 32


def main():
    program, cubin, printed = sys.argv[1:]
    cases = [CASE.match(line) for line in open(printed)]
    for case in filter(None, cases):
        form, keys, columns, groups, turns, kind, clocks = case.groups()
        warps, clocks = int(groups) * GROUP_WARPS, [float(each) for each in clocks.split()]
        name = (f"warpgroups<{FORMATS[form]}, {groups}, {keys}, {columns}, {'true' if turns == 'turns' else 'false'}, "
                f"(Kind){KINDS.index(kind)}>")
        run = subprocess.run([program, "inspect", cubin, "--name", name, "--hardware", "h100_sxm", "--simulate",
                              "--resident", "1", "--block", str(warps * WARP_THREADS), "--instructions", "--format", "json"],
                             capture_output=True, text=True)
        if run.returncode:
            sys.exit(f"{cubin} lacks {name}: {run.stderr}")
        found = json.loads(run.stdout)["kernels"][0]
        loop = max(found["simulation"]["loops"], key=lambda each: each["tensor"])
        code = {each["address"]: each for each in found["code"]["instruction_list"]}
        print(f"# warpgroups {columns} {int(groups) * GROUP_ROWS} {keys} {warps} 1 {sum(clocks) / len(clocks):.1f}")
        for each in loop["instruction_list"]:
            print(instruction_line(code[each["address"]]))


if __name__ == "__main__":
    main()
