#!/usr/bin/env python3
"""Writes the loops of the microbenchmark sm_rules/warpgroups/warpgroups.cu beside the clocks that it printed, for the
test of the simulated SM.

    warpgroup_steps.py TILESCOPE CUBIN PRINTED > steps.txt      with nvdisasm where `tilescope inspect` finds it

CUBIN: warpgroups.cu, compiled with -cubin. PRINTED: what the program printed. Of each case a line that begins with '#'
(columns of the results, rows, keys, warps, blocks on an SM, clocks of a pass), then a line an instruction, as
simulated_steps.py writes them.
"""
import json
import re
import subprocess
import sys

from simulated_steps import main_loop_lines

CASE = re.compile(r"(\w+) k(\d+) c(\d+) (\d) wg (\w+) (\w+): ([\d. ]+)$")
E4M3 = "tilescope::kernels::device::E4m3"
FORMATS = {"half": "__half, __half", "e4m3": f"{E4M3}, __half", "e4m3_e4m3": f"{E4M3}, {E4M3}"}
KINDS = ["plain", "barriers", "registers"]
GROUP_ROWS, GROUP_WARPS, WARP_THREADS = 64, 4, 32


def main():
    program, cubin, printed = sys.argv[1:]
    cases = list(filter(None, map(CASE.match, open(printed))))
    if not cases:
        sys.exit(f"{printed}: no case of warpgroups.cu")
    for case in cases:
        form, keys, columns, groups, turns, kind, clocks = case.groups()
        warps, clocks = int(groups) * GROUP_WARPS, [float(each) for each in clocks.split()]
        name = (f"warpgroups<{FORMATS[form]}, {groups}, {keys}, {columns}, {'true' if turns == 'turns' else 'false'}, "
                f"(Kind){KINDS.index(kind)}>")
        run = subprocess.run([program, "inspect", cubin, "--name", name, "--hardware", "h100_sxm", "--simulate",
                              "--resident", "1", "--block", str(warps * WARP_THREADS), "--instructions",
                              "--format", "json"], capture_output=True, text=True)
        if run.returncode:
            sys.exit(f"{cubin} lacks {name}: {run.stderr}")
        found = json.loads(run.stdout)["kernels"][0]
        print(f"# warpgroups {columns} {int(groups) * GROUP_ROWS} {keys} {warps} 1 {sum(clocks) / len(clocks):.1f}")
        print("\n".join(main_loop_lines(found)))


if __name__ == "__main__":
    main()
