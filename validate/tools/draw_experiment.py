#!/usr/bin/env python3
"""Draws an experiment at random: kernels, built variants, shapes and masks, from a seed that the file states.

usage: draw_experiment.py --name NAME --count N [--hardware GPU] [--seed S] [--weight KERNEL=N ...]
           > validate/experiments/NAME.yaml
       --weight all=0 --weight pytorch_flash2=1 ... for PyTorch's kernels alone, which measure_sdpa.py measures

Sizes are log-uniform, so that K and V reach from a small part of the L2 to several times its size; lengths are ragged
half the time. A point is kept when a run stays under MOST_FLOP and its arrays under MOST_BYTES. Needs PyYAML.
"""
import argparse
import json
import math
import pathlib
import random
import secrets

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
MOST_FLOP = {"forward": 9e12, "backward": 2.5e12, "decode": 1e12, "unfused": 6e11, "pytorch": 2.5e12}
MOST_BYTES = 1.5e9
# weight, kind, masks, descriptor
KERNELS = {
    "fused_mma": (24, "forward", ["none", "causal"], "fused_mma/kernel.yaml"),
    "fused_wgmma": (46, "forward", ["none", "causal", "window"], "fused_wgmma/kernel.yaml"),
    "case_study": (8, "forward", ["none", "causal"], "case_study/kernel.yaml"),
    "fused_fp8": (8, "forward", ["none", "causal"], "fused_fp8/kernel.yaml"),
    "fused_fp8_vt": (4, "forward", ["none", "causal"], "fused_fp8/fused_fp8_vt.kernel.yaml"),
    "fused_fp8_qk": (4, "forward", ["none", "causal"], "fused_fp8/fused_fp8_qk.kernel.yaml"),
    "block_sparse": (12, "forward", ["causal", "window"], "block_sparse/kernel.yaml"),
    "flash1": (8, "backward", ["none", "causal"], "flash1/kernel.yaml"),
    "backward": (14, "backward", ["none", "causal"], "backward/kernel.yaml"),
    "backward_split": (8, "backward", ["none", "causal"], "backward_split/kernel.yaml"),
    "reference": (6, "unfused", ["none", "causal"], "reference/kernel.yaml"),
    "split_kv": (12, "decode", ["none"], "split_kv/kernel.yaml"),
    "split_kv_int8": (4, "decode", ["none"], "split_kv/split_kv_int8.kernel.yaml"),
    "split_kv_int4": (4, "decode", ["none"], "split_kv/split_kv_int4.kernel.yaml"),
    "split_kv_wide": (4, "decode", ["none"], "split_kv/split_kv_wide.kernel.yaml"),
    "mla_decode": (6, "decode", ["none"], "mla_decode/kernel.yaml"),
    "reference_fp32": (0, "unfused", ["none", "causal"], "reference_fp32/kernel.yaml"),  # only where asked for
    "reference_backward": (0, "unfused", ["none", "causal"], "reference_backward/kernel.yaml"),
    "pytorch_efficient": (0, "pytorch", ["none", "causal"], "third_party/pytorch_efficient.kernel.yaml"),
    "pytorch_flash2": (0, "pytorch", ["none", "causal"], "third_party/pytorch_flash2.kernel.yaml"),
    "pytorch_flash2_backward_d64": (0, "pytorch", ["none", "causal"], "third_party/pytorch_flash2_backward_d64.kernel.yaml"),
    "pytorch_flash2_backward_d128": (0, "pytorch", ["none", "causal"], "third_party/pytorch_flash2_backward_d128.kernel.yaml"),
    "pytorch_flash2_backward_d256": (0, "pytorch", ["none", "causal"], "third_party/pytorch_flash2_backward_d256.kernel.yaml"),
}
BITS = {"fp32": 32, "fp16": 16, "bf16": 16, "fp8_e4m3": 8, "int8:g64:b2": 8.25, "int4:g32:b2": 4.5}


def described(place):
    """A descriptor. Its variants may stand in the summary of its machine code."""
    file = ROOT / "kernels" / place
    descriptor, summary = yaml.safe_load(file.read_text()), json.loads(file.with_name(
        file.name.replace("kernel.yaml", "code.json")).read_text())
    instances = [kernel["variant"] for kernel in summary["kernels"] if "variant" in kernel]
    if "variants" not in descriptor:
        descriptor["variants"] = summary.get("variants", instances)
    if "dtypes" not in descriptor:
        descriptor["dtypes"] = [each for i, each in enumerate(sum((v["dtypes"] for v in instances), []))
                                if each not in sum((v["dtypes"] for v in instances), [])[:i]]
    return descriptor


def log_uniform(rng, low, high):
    return math.exp(rng.uniform(math.log(low), math.log(high)))


def length(rng, low, high):
    """A length between low and high: half of them ragged, the others multiples of 256."""
    x = int(log_uniform(rng, low, high))
    return x if rng.random() < 0.5 else max(256, x // 256 * 256)


def formats(rng, variant, descriptor):
    """(dtype, dtypes) of a variant: its own list, or any of the kernel's. An experiment's dtype is that of O."""
    choice = rng.choice(variant.get("dtypes") or descriptor["dtypes"])
    if isinstance(choice, str):
        return choice, {}
    output = choice.get("o", choice.get("all"))
    k, v = (choice.get(array, choice.get("kv", choice.get("all"))) for array in "kv")
    arrays = {"q": choice.get("q", choice.get("all")), **({"kv": k} if k == v else {"k": k, "v": v})}
    return output, {array: value for array, value in arrays.items() if value != output}


def heads(rng, batch_most):
    kv = rng.choice([1, 2, 4, 8, 16, 32])
    group = rng.choice([1, 1, 2, 4, 8])
    return rng.choice([b for b in (1, 2, 4, 8) if b <= batch_most]), kv * group, kv


def splits_keys(batch, query_heads, q):
    """PyTorch's FlashAttention-2 launches another kernel for few blocks."""
    return batch * query_heads * math.ceil(q / 64) < 0.8 * 2 * 132


def draw(rng, name, kind, masks, descriptor):
    variant = rng.choice(descriptor["variants"])
    d_qk = variant["head_dim"] or rng.choice([40, 64, 80, 128, 192, 256])  # 0: any
    d_v = variant.get("v_head_dim") or d_qk
    dtype, dtypes = formats(rng, variant, descriptor)
    if kind == "decode":
        batch = rng.choice([1, 4, 16, 64, 128])
        kv_heads = 1 if name == "mla_decode" else rng.choice([1, 2, 8])
        query_heads = rng.choice([16, 64, 128]) if name == "mla_decode" else kv_heads * rng.choice([1, 4, 8])
        q = rng.choice([1, 1, 2]) if name != "split_kv_wide" else rng.choice([4, 8])
        kv = length(rng, 1000, 128000)
    elif kind == "pytorch":
        batch, query_heads = rng.choice([1, 2, 4]), rng.choice([8, 16, 32])
        efficient = name == "pytorch_efficient"  # as many KV heads as query heads, and no parts of keys
        kv_heads = query_heads if efficient or "backward" in name else query_heads // rng.choice([1, 1, 4])
        q = kv = length(rng, 512, 10000)
        if not efficient and splits_keys(batch, query_heads, q):
            return None
        if efficient and rng.random() < 0.5:
            kv = length(rng, 256, 10000)
    else:
        batch, query_heads, kv_heads = heads(rng, 4)
        kv = length(rng, 512, 8192 if kind == "unfused" else 40000)
        q = kv if kind in ("backward", "unfused") or rng.random() < 0.7 else length(rng, 256, 20000)
    mask = rng.choice(masks)
    if mask == "causal" and (q > kv or kind == "pytorch"):  # PyTorch's is aligned to the first key
        q = kv
    width = rng.choice([333, 1024, 4096])
    if mask == "window":
        q = kv
    pairs = q * kv if mask == "none" else q * kv - q * q / 2 if mask == "causal" else q * min(width, kv)
    flop = 2 * batch * query_heads * pairs * (d_qk + d_v) * (2.5 if "backward" in name else 1)
    kv_bits = BITS[dtypes.get("kv", dtypes.get("k", dtype))]
    size = (batch * kv_heads * kv * (d_qk + (0 if name == "mla_decode" else d_v)) * kv_bits
            + batch * query_heads * q * (d_qk + d_v) * max(16, BITS[dtype])) / 8
    if kind == "unfused":
        size += batch * query_heads * q * kv * 4
    if flop > MOST_FLOP[kind] or size > MOST_BYTES or flop < 2e9 and kind != "decode" or size < 2e6:
        return None
    tile = {"q": variant["tile_q"], "kv": variant["tile_kv"], "warps": variant["warps"]}
    if "stages" in variant:
        tile["stages"] = variant["stages"]
    point = {"kernel": name, "tiles": [tile], "dtype": [dtype]}
    if dtypes:
        point["dtypes"] = dtypes
    point |= {"batch": [batch], "heads_q": [query_heads], "heads_kv": [kv_heads], "q_len": [q], "kv_len": [kv], "head_dim": [d_qk]}
    if d_v != d_qk:
        point["v_head_dim"] = [d_v]
    point["mask"] = [f"window:{width}" if mask == "window" else mask]
    return point


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--name", required=True)
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--hardware", default="h200_sxm", help="profile of the GPU that will measure (default: h200_sxm)")
    parser.add_argument("--seed", type=int, default=None, help="default: a new one")
    parser.add_argument("--weight", action="append", default=[], metavar="KERNEL=N", help="draw this kernel so often")
    options = parser.parse_args()
    seed = secrets.randbits(32) if options.seed is None else options.seed
    rng = random.Random(seed)
    read = {name: described(row[3]) for name, row in KERNELS.items()}
    names, weights = list(KERNELS), {name: row[0] for name, row in KERNELS.items()}
    for each in options.weight:
        name, _, number = each.partition("=")
        if not number.isdigit():
            parser.error(f"--weight: {each}: expected KERNEL=N, N a whole number")
        weights |= dict.fromkeys(names if name == "all" else [name], int(number))
    unknown = sorted(set(weights) - set(names))
    if unknown:
        parser.error(f"--weight: {', '.join(unknown)}: no such kernel; known: {', '.join(names)}")
    points = []
    while len(points) < options.count:
        name = rng.choices(names, [weights[n] for n in names])[0]
        point = draw(rng, name, KERNELS[name][1], KERNELS[name][2], read[name])
        if point and point not in points:
            points.append(point)
    print(f"# {options.count} points drawn at random: draw_experiment.py --name {options.name} --count {options.count} "
          + f"--hardware {options.hardware} --seed {seed}" + "".join(f" --weight {each}" for each in options.weight))
    print(f"schema: tilescope/experiment/1\nname: {options.name}\nhardware: {options.hardware}\nrepeats: {{cold: 5, steady: 10}}\npoints:")
    for point in sorted(points, key=lambda p: names.index(p["kernel"])):
        print("  - " + yaml.safe_dump(point, default_flow_style=True, sort_keys=False, width=1000).strip())


if __name__ == "__main__":
    main()
