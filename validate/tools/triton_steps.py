#!/usr/bin/env python3
"""Writes the machine code of Triton's kernels beside counted cycles, for the test of `inspect --simulate`. Needs a GPU, PyTorch with
Triton, Nsight Compute and nvdisasm.

    triton_steps.py TILESCOPE FOLDER > steps.txt

Each kernel of validate/described/h100.jsonl without a mask is compiled by the Triton at hand, and launched at the sizes there: a line
"# triton head_dim tile_q tile_kv warps resident stages 0", a line "! blocks steps cycles" a launch (active cycles of all SMs, with an
empty L2), then sections "@ start", "@ loop", "@ end" of a line an instruction, as step_programs.py writes them. FOLDER keeps cubins.
"""
import csv
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
REGISTERS, SHARED, WARPS, BLOCKS = 65536, 228 * 1024, 64, 32  # of an SM


def kernels():
    for line in map(json.loads, (ROOT / "validate/described/h100.jsonl").open()):
        if line["source"] == "triton_forward.py" and line["launches"][0]["mask"] == "none":
            yield line


def launch_all(folder):
    """Launches every kernel once at each of its sizes. `folder`: where its code goes, or None."""
    import torch

    sys.path.insert(0, str(ROOT / "validate/described"))
    from triton_forward import fwd

    for number, kernel in enumerate(kernels()):
        made, head_dim = kernel["compiled_for"], kernel["facts"]["head_dim"]
        for launch in kernel["launches"]:
            dtype = torch.bfloat16 if launch["dtype"] == "bf16" else torch.float16
            batch, heads, heads_kv, rows, keys = (launch[key] for key in ("batch", "heads_q", "heads_kv", "q_len", "kv_len"))
            q = torch.randn(batch, heads, rows, head_dim, device="cuda", dtype=dtype)
            k = torch.randn(batch, heads_kv, keys, head_dim, device="cuda", dtype=dtype)
            v, o, lse = torch.randn_like(k), torch.empty_like(q), torch.empty(batch, heads, rows, device="cuda")
            grid = (-(-rows // made["tile_q"]), batch * heads)
            code = fwd[grid](q, k, v, o, lse, 0.125, *q.stride()[:3], *k.stride()[:3], heads, heads_kv, rows, keys, D=head_dim,
                             BLOCK_Q=made["tile_q"], BLOCK_KV=made["tile_kv"], CAUSAL=False, num_warps=made["warps"],
                             num_stages=made["stages"])
            torch.cuda.synchronize()
            if folder:
                (folder / f"{number}.cubin").write_bytes(code.asm["cubin"])
                (folder / f"{number}.json").write_text(json.dumps({"shared": code.metadata.shared}))


def counted():
    """Active cycles of all SMs of each launch, in the order of launch_all."""
    run = subprocess.run(["ncu", "--csv", "--cache-control", "all", "--metrics", "sm__cycles_active.sum", "-k", "regex:fwd",
                          sys.executable, __file__, "--launch"], capture_output=True, text=True, check=True)
    rows = csv.DictReader(line for line in run.stdout.splitlines() if line.startswith('"'))
    return [int(float(row["Metric Value"].replace(",", ""))) for row in rows if row["Metric Name"] == "sm__cycles_active.sum"]


def resident(registers, shared, warps):
    by_registers = REGISTERS // (-(-registers // 8) * 8 * 32) // warps
    return min(by_registers, SHARED // (shared + 1024), WARPS // warps, BLOCKS)


def code_of(program, folder, number, warps, shared):
    """(registers of a thread, {section: lines})."""
    from step_programs import main_loop, section, step

    run = subprocess.run([program, "inspect", str(folder / f"{number}.cubin"), "--name", "fwd", "--hardware", "h100_sxm", "--simulate",
                          "--steps", "1", "--block", str(warps * 32), "--dynamic-shared-bytes", str(shared), "--instructions",
                          "--format", "json"], capture_output=True, text=True, check=True)
    found = json.loads(run.stdout)["kernels"][0]
    loop = main_loop(found)
    addresses = {"start": loop["start"], "loop": step(loop), "end": loop["end"]}
    return found["registers"], {name: section(name, found, at).splitlines()[1:] for name, at in addresses.items()}


def main():
    if sys.argv[1:] == ["--launch"]:
        return launch_all(None)
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    sys.path.insert(0, str(ROOT / "validate/tools"))
    folder.mkdir(parents=True, exist_ok=True)
    launch_all(folder)
    cycles = iter(counted())
    for number, kernel in enumerate(kernels()):
        made, shared = kernel["compiled_for"], json.loads((folder / f"{number}.json").read_text())["shared"]
        registers, sections = code_of(program, folder, number, made["warps"], shared)
        print("# triton", kernel["facts"]["head_dim"], made["tile_q"], made["tile_kv"], made["warps"],
              resident(registers, shared, made["warps"]), made["stages"], 0)
        for launch in kernel["launches"]:
            blocks = -(-launch["q_len"] // made["tile_q"]) * launch["batch"] * launch["heads_q"]
            print("!", blocks, -(-launch["kv_len"] // made["tile_kv"]), next(cycles))
        for name, lines in sections.items():
            print("@", name)
            print(*lines, sep="\n")


if __name__ == "__main__":
    main()
