#!/usr/bin/env python3
"""Sets what `tilescope describe` finds in the machine code of this project's kernels against their kernel.yaml, key by key.

    compare_described.py TILESCOPE [--at-least SHARE] [--all]

Reads validate/described/own_kernels.jsonl: a line for each launch of each variant, with its facts or why there are none.
Prints a Markdown table: of each key that a kernel.yaml states, in how many variants describe finds the same value, finds
another one, asks for it, or says nothing. --all prints each difference. Exit status 1 if less than SHARE (of 1) of the
values of kernels that describe recognises are the same. Needs the Python module yaml.
"""
import collections
import copy
import json
import pathlib
import subprocess
import sys
import tempfile

try:
    import yaml
except ImportError:
    print("skipped: needs the Debian package python3-yaml")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Keys that say nothing of the code: names, prose, and what a whole family of variants offers.
NOT_OF_CODE = {"schema", "kernel", "summary", "dtypes", "head_dims", "masks", "limits", "name", "host_splits", "shapes",
               "smem_bytes"}
WHY = {
    "alu": "an average over counters of runs, with masks and address computations; describe counts the code of a step",
    "others": "an average over counters of runs; describe counts the code of a step",
    "fmul": "outputs are scaled under a branch, or by packed instructions; describe counts the code of every pass",
    "ffma": "the compiler scales scores with products where the descriptor counts multiply-adds",
    "conversion": "the descriptor counts unpacking by element",
    "row_store": "the way to the stores depends on values that the code alone does not show",
    "sections": "the host's order of tiles under a mask, in tables that only its memory has",
    "overlap": "the descriptor states one value for variants that differ",
    "l1_reads": "which loads go past the L1 is not read yet",
    "loads_first": "the order of the first loads is not read yet",
    "diagram": "keys whose addresses come from a table in memory are not followed",
    "sizes": "the keys of a page are a number of the launch's memory",
    "local": "spills outside the loop are counted where every path passes; the descriptor counts the path without a mask",
    "waits_each": "waits between products are not counted yet",
    "narrow_scores": "tiles that are cut at the last key are not read yet",
    "schedule": "V that is stored transposed is not told from V",
    "tile_transposed": "V that is stored transposed is not told from V",
    "smem_extra_bytes": "block_sparse holds its row of the mask there",
    "through_smem": "statistics of rows and staged results are not told from other bytes of shared memory",
    "loaded_by_threads": "which threads load statistics of rows is not read yet",
    "mask_entry_bytes": "a byte of memory decides which keys blocks read",
}


def rates_per_step(value, variant):
    """Instructions of a thread in a step, from the rates of a pipe."""
    warps = variant.get("consumer_warps", variant["warps"])
    scores = variant["tile_q"] * variant["tile_kv"] / (32 * warps)
    rows = variant["tile_q"] * variant.get("row_replication", 4) / (32 * warps)
    outputs = variant["tile_q"] * variant.get("v_head_dim", variant["head_dim"]) / (32 * warps)
    sizes = {"per_score": scores, "per_row_step": rows, "per_thread_step": 1, "per_output_step": outputs}
    return sum(value.get(key, 0) * size for key, size in sizes.items())


def flat(document, variant, launch=None):
    """Keys of the kernel, of an island (the forward or main one, if no other is named), of what code tells of it, and of one
    variant."""
    code = document.get("code", {})
    values = {k: v for k, v in {**document, **code}.items() if k not in ("islands", "variants", "code", "facts")}
    wanted = (launch,) if launch else ("forward", "partial", "main")
    island = next((i for i in document["islands"] if i.get("name") in wanted), document["islands"][0])
    facts = next((i for i in code.get("facts", []) if i["launch"] == island["name"]), {})
    island = {**island, **{key: value for key, value in facts.items() if key != "launch"}}
    for key, value in island.items():
        if key != "work":
            values[key] = value
    for key, value in (island.get("work") or {}).items():
        values[key] = value
    values.update(variant)
    return {k: v for k, v in values.items() if k not in NOT_OF_CODE}


def stated_document(file):
    """A kernel.yaml with what the summary of the machine code beside it states."""
    document = yaml.safe_load(file.read_text())
    summary = json.loads(file.with_name(file.name.replace("kernel.yaml", "code.json")).read_text())
    document["code"] = {key: summary[key] for key in ("facts", "sizes", "padded_rows") if key in summary}
    instances = [kernel["variant"] for kernel in summary.get("kernels", []) if "variant" in kernel]
    document["variants"] = summary.get("variants", instances)
    return document


def stated_variant(document, line):
    """The variant of a kernel.yaml that this launch is."""
    for variant in document["variants"]:
        wanted = {k: line["variant"][k] for k in ("head_dim", "tile_q", "tile_kv", "warps")}
        stages = variant.get("stages", line["variant"]["stages"])
        if all(variant.get(k) == v for k, v in wanted.items()) and line["variant"]["stages"] in (0, stages):
            return variant
    return None


def described_text(program, line, folder):
    """What describe prints for a launch, and the keys that it asks for."""
    facts = pathlib.Path(folder) / "facts.json"
    facts.write_text(json.dumps(line["facts"]))
    sizes = [f"--{key.replace('_', '-')}={size}" for key, size in line["sizes"].items()]
    sizes += [f"--schedule={line['schedule']}"] if "schedule" in line else []
    launch = ["--grid", ",".join(map(str, line["grid"])), "--block", str(line["threads"]),
              "--dynamic-shared-bytes", str(line["dynamic_smem"])]
    done = subprocess.run([program, "describe", facts, "--as", "described", *launch, *sizes], capture_output=True, text=True)
    if done.returncode > 1:
        raise SystemExit(f"{line['kernel']}: {done.stderr}")
    asked = {text.split(": ")[1] for text in done.stderr.splitlines() if "missing: " in text}
    return done.stdout, asked


def with_columns(products, variant):
    """Products whose grids state their columns: what is left of the units."""
    warps = variant.get("consumer_warps", variant["warps"])
    units = warps // 4 if products.pop("tensor_path", "") == "wgmma" else warps
    for product in products.values():
        grid = product.get("grid", {})
        if "rows" in grid:
            grid.setdefault("columns", units // (grid["rows"] * grid.get("depth", 1)))
    return products


def same(stated, found, variant, key=""):
    if key == "local":  # what is left out is none
        stated, found = ({name: value for name, value in each.items() if value} for each in (stated, found))
    if key == "products":
        path = {"tensor_path": variant.get("tensor_path", "")}
        return with_columns({**copy.deepcopy(stated), **path}, variant) == with_columns({**copy.deepcopy(found), **path}, variant)
    if isinstance(stated, dict) and isinstance(found, dict) and any(k.startswith("per_") for k in stated):
        a, b = rates_per_step(stated, variant), rates_per_step(found, variant)
        return abs(a - b) <= max(0.03 * max(a, b), 0.5)
    return stated == found


def main(arguments):
    program, least = arguments[0], float(arguments[arguments.index("--at-least") + 1]) if "--at-least" in arguments else 0
    lines = [json.loads(text) for text in (ROOT / "validate/described/own_kernels.jsonl").read_text().splitlines()]
    table, undescribed, differences = collections.defaultdict(collections.Counter), {}, collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        for line in lines:
            if line["facts"] is None:
                undescribed[line["kernel"]] = line["missing"]
                continue
            document = stated_document(ROOT / line["descriptor"])
            variant = stated_variant(document, line)
            if variant is None:
                continue
            text, asked = described_text(program, line, folder)
            found = yaml.safe_load(text)
            stated = flat(document, variant, line.get("launch"))
            variants = found.get("code", {}).get("variants")
            described = flat(found, variants[0], line.get("launch")) if variants else {}
            for key, value in stated.items():
                how = ("same" if key in described and same(value, described[key], stated, key) else
                       "different" if key in described else
                       "asked for" if key in asked or not described else "not said")
                table[key][how] += 1
                if how in ("different", "not said"):
                    differences[(line["kernel"], key, str(value), str(described.get(key)))] += 1
    counts = collections.Counter()
    print("| key | same | different | asked for | not said | why |\n|---|---|---|---|---|---|")
    for key in sorted(table, key=lambda k: -sum(table[k].values())):
        row = table[key]
        counts.update(row)
        why = WHY.get(key, "") if row["same"] < sum(row.values()) else ""
        print(f"| `{key}` | {row['same']} | {row['different']} | {row['asked for']} | {row['not said']} | {why} |")
    share = counts["same"] / max(1, sum(counts.values()))
    print(f"\n{counts['same']} of {sum(counts.values())} values are the same ({100 * share:.0f} %).")
    for kernel, missing in sorted(undescribed.items()):
        print(f"Not described: {kernel}: it lacks {missing}")
    if "--all" in arguments:
        for (kernel, key, stated, found), times in sorted(differences.items()):
            print(f"{kernel} {key}: {stated} | {found} ({times})")
    return 0 if share >= least else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
