#!/usr/bin/env python3
"""Writes kernels/NAME/code.json: what the machine code of a kernel's instances executes, free of any GPU's rates.

    code_json.py --kernel FOLDER --printed FILE...    JSON that `tilescope inspect CUBIN --format json` has printed;
                                     [--facts FILE]   of instances that spill, lines of `tilescope describe --format json`
    code_json.py --kernel FOLDER                      compiles the sources with nvcc, and runs `tilescope` (--tilescope)
    code_json.py --check [FOLDER...]                  exit status 1 where sources have changed since code.json was written

A line of code.json is an instance of the kernel: its resources, the tile that it is built for (`variant`), and the
instructions that a warp executes (`passes`):

    launch   once in a block that claims tiles
    once     for each tile of queries
    live     for each tile of queries that sees a key; the first step, where the code has it before the loop
    step     in a pass of the loop over keys; `before` of the file's header are steps that stand before the loop
    ahead    in passes that copy a tile for a later one: all but the last
    end      in passes whose keys the mask cuts behind a row's last key; `tail`: where only the end of the keys cuts
    begin    in passes whose keys the mask cuts before a row's first key
    copies   a step of the warp that does nothing but copy

The header's `function` is a pattern of the mangled name, whose groups are template arguments; `tile` says how the keys
of a variant follow from them. Both are kept when the file is written again.
"""
import argparse
import hashlib
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
DTYPES = {"6__half": "fp16", "13__nv_bfloat16": "bf16"}
RESOURCES = ("compute_capability", "registers", "shared_bytes", "local_bytes", "barriers", "most_threads",
             "cluster_blocks", "parameters", "instructions")
FLAGS = ["-std=c++20", "-O3", "-arch=sm_90a", "-cubin"]
LANES, STORE = 32, 16  # lanes of a warp; bytes of a store of results
VALUE = 2  # bytes of a value of K and V


def source_hash(folder):
    """Of everything that decides the machine code but the compiler; comments and line breaks do not."""
    digest = hashlib.sha256()
    files = [path for place in (folder, folder.parent / "common") for path in place.rglob("*")
             if path.suffix in (".cu", ".cuh", ".h")]
    for path in sorted(files):
        code = " ".join(re.sub(r"//[^\n]*", "", path.read_text(encoding="utf-8")).split())
        digest.update(f"{path.relative_to(folder.parent)}\0{code}\0".encode())
    return digest.hexdigest()


def opcode_count(counts, *names):
    return sum(number for opcode, number in counts["opcodes"].items() if opcode.split(".")[0] in names)


def moved_locally(counts, kind):
    """Bytes of local memory that a thread stores or loads."""
    return sum(form["thread_bytes"] * (form["count"] - form["alternative"]) for form in counts["memory"]
               if form["memory"] == "local" and form["kind"] == kind)


def executed(counts):
    """Instructions of a warp by pipe of compute capability 9.0. Of other kinds, R2UR and CS2R run on the ALU pipe; of
    those kinds, VIADD does not (counters of 336 launches of fused_mma)."""
    kinds = counts["kinds"]
    alu = sum(kinds.get(kind, 0) for kind in ("integer", "logic", "compare", "select", "move"))
    alu += opcode_count(counts, "R2UR", "CS2R") - opcode_count(counts, "VIADD")
    of = {"instructions": counts["instructions"], "xu": kinds.get("special", 0),
          "ffma": opcode_count(counts, "FFMA"), "fadd": opcode_count(counts, "FADD"),
          "fmul": opcode_count(counts, "FMUL"), "alu": alu, "maxima": opcode_count(counts, "FMNMX"),
          "conversion": kinds.get("conversion", 0), "shuffle": kinds.get("shuffle", 0),
          "matrix": kinds.get("matrix", 0), "ldsm": opcode_count(counts, "LDSM"),
          "ldgsts": opcode_count(counts, "LDGSTS"), "spilled": moved_locally(counts, "store"),
          "fetched": moved_locally(counts, "load")}
    return {key: value for key, value in of.items() if value}


def add(passes, name, counts, times=1):
    total = passes.setdefault(name, {})
    for key, value in executed(counts).items():
        total[key] = total.get(key, 0) + round(value * times)


class Graph:
    """Blocks that one role reaches, without loops that only wait."""

    def __init__(self, code, role):
        waits = {i for i, loop in enumerate(code["loops"]) if loop["waits"]}
        self.blocks = {i: block for i, block in enumerate(code["blocks"])
                       if block["reached"] and role in block["roles"] and block["loop"] not in waits}
        waiting = {i for i, block in enumerate(code["blocks"]) if block["loop"] in waits}
        self.next = {}
        for i, block in self.blocks.items():  # a wait that is over on the first try
            self.next[i] = [n for n in block["successors"] if n in self.blocks]
        behind = {n for i in waiting for n in code["blocks"][i]["successors"]}
        entered = {n for i in self.blocks for n in self.next[i]}
        self.retried = {i for i in self.blocks if i in behind and i not in entered}

    def reaches(self, start, without):
        seen, todo = set(), [start] if start != without else []
        while todo:
            at = todo.pop()
            if at not in seen:
                seen.add(at)
                todo += [n for n in self.next[at] if n != without]
        return seen

    def always(self, anchor, first):
        """Blocks on every way from `first` to `anchor`, or on every way from it to the end."""
        ends = [i for i in self.blocks if not self.next[i]]
        found = {anchor}
        for block in self.blocks:
            if block != anchor and (anchor not in self.reaches(first, block) or
                                    not set(ends) & self.reaches(anchor, block)):
                found.add(block)
        return found

    def behind(self, anchor, first):
        """Blocks that only ways through `anchor` lead to: threads that one of them leaves out are few, as those that
        store a row's statistics."""
        return set(self.blocks) - self.reaches(first, anchor) - {anchor}


def outer(code, loop):
    while loop is not None and code["loops"][loop]["parent"] is not None:
        loop = code["loops"][loop]["parent"]
    return loop


def within(code, block, loop):
    at = code["blocks"][block]["loop"]
    while at is not None and at != loop:
        at = code["loops"][at]["parent"]
    return at == loop


def within_wait(code, block):
    """Whether a block is one of a loop that waits, or only leads from it back."""
    waits = [i for i, loop in enumerate(code["loops"]) if loop["waits"]]
    return code["blocks"][block]["loop"] in waits or any(
        block in other["successors"] for other in code["blocks"] if other["loop"] in waits)


def is_mask(counts, step):
    """Whether a block replaces scores: a selection for half of a pass's exponentials, at least."""
    return opcode_count(counts, "FSEL") * 2 >= step["special"].get("EX2", 0)


def add_masks(passes, code, blocks, graph, step):
    """Blocks of a pass that not every pass executes."""
    masks = [i for i in blocks if is_mask(code["blocks"][i]["counts"], step)]
    alone = {}  # block that ends in a choice between two masks -> the masks
    for i in blocks:
        if len(set(graph.next[i]) & set(masks)) == 2:
            alone[i] = sorted(set(graph.next[i]) & set(masks),
                              key=lambda m: -code["blocks"][m]["counts"]["instructions"])
    names = {}
    for choice, (causal, tail) in alone.items():
        names[causal], names[tail] = ["end"], ["tail"]
        names[choice] = ["end", "tail"]
    for order, mask in enumerate(m for m in masks if m not in names):
        names[mask] = ["end", "tail"] if order == 0 else ["begin"]
    for i in blocks:
        counts = code["blocks"][i]["counts"]
        if i in names:
            for name in names[i]:
                add(passes, name, counts)
        elif i not in graph.retried:
            first = opcode_count(counts, "LDSM") and not opcode_count(counts, "LDGSTS")
            add(passes, "live" if first else "ahead", counts)  # Q is fetched in the first pass


def attention_loop(code):
    found = [i for i, loop in enumerate(code["loops"])
             if loop["always"]["kinds"].get("matrix") and "EX2" in loop["always"]["special"]]
    around = set()  # loops over tiles, with a step before their loop over keys
    for i in found:
        while (i := code["loops"][i]["parent"]) is not None:
            around.add(i)
    found = [i for i in found if i not in around]
    if len(found) != 1:
        raise ValueError(f"{len(found)} loops with matrix products and exponentials, not one")
    return found[0]


def add_around(passes, code, graph, number, stored):
    """What stands around the loop over keys. Returns the number of steps before it."""
    loop = code["loops"][number]
    whole = outer(code, loop["parent"])
    header = next(i for i in loop["blocks"] if code["blocks"][i]["first"] == loop["header"])
    products = [i for i, block in graph.blocks.items()
                if block["counts"]["kinds"].get("matrix") and not within(code, i, number)]
    before = [i for i in products if i < header]
    anchor = min(before) if before else header
    first = min(graph.blocks)
    if whole is not None:  # blocks that claim tiles
        first = next(i for i in graph.blocks if code["blocks"][i]["first"] == code["loops"][whole]["header"])
        for i in graph.always(anchor, min(graph.blocks)):
            if not within(code, i, whole):
                add(passes, "launch", code["blocks"][i]["counts"])
        tile = Graph.__new__(Graph)
        tile.blocks = {i: b for i, b in graph.blocks.items() if within(code, i, whole)}
        tile.retried = graph.retried
        tile.next = {i: [n for n in graph.next[i] if n in tile.blocks and n != first] for i in tile.blocks}
        graph = tile
    every, some = graph.always(first, first), graph.always(anchor, first) | graph.behind(anchor, first)
    for i in every | some:
        if within(code, i, number) or i in graph.retried or is_mask(code["blocks"][i]["counts"], loop["always"]):
            continue
        counts = code["blocks"][i]["counts"]
        own = code["blocks"][i]["loop"]
        times = 1
        if own is not None and own != whole:  # results are stored in a loop: as many passes as bytes ask for
            stores = opcode_count(code["loops"][own]["always"], "STG")
            if not stores:
                raise ValueError(f"the loop at {code['loops'][own]['header']} has unknown passes")
            times = stored / (STORE * stores)
        add(passes, "once" if i in every else "live", counts, times)
    return len(before) and 1


def passes_of(code, variant):
    """Instructions of a warp by pass, and the steps that stand before the loop."""
    number = attention_loop(code)
    loop = code["loops"][number]
    warps_of = {role: sum(last - first + 1 for first, last in code["roles"][role]["warps"]) for role in loop["roles"]}
    warps, main = sum(warps_of.values()), max(warps_of, key=warps_of.get)
    graph = Graph(code, main)
    passes = {}
    for i in loop["main_path"]:
        add(passes, "step", code["blocks"][i]["counts"])
    own = [i for i in loop["blocks"] if i in graph.blocks and i not in loop["main_path"]]
    for i in loop["blocks"]:  # what one warp of those that multiply does besides: it starts copies
        if i not in graph.blocks and not within_wait(code, i):
            add(passes, "copies", code["blocks"][i]["counts"])
    for inner in code["loops"]:
        if inner["parent"] == number and not inner["waits"]:
            if not opcode_count(inner["always"], "UTMALDG"):
                raise ValueError(f"the loop at {inner['header']} has unknown passes")
            # The compiler's loop over lanes with different addresses; all lanes have one.
            add(passes, "step" if main in inner["roles"] else "copies", inner["always"])
    add_masks(passes, code, sorted(own), graph, loop["always"])
    stored = variant["tile_q"] * variant.get("v_head_dim", variant["head_dim"]) * VALUE / (warps * LANES)
    before = add_around(passes, code, graph, number, stored)
    for role, at in enumerate(code["roles"]):
        for each in code["loops"]:
            boxes = opcode_count(each["always"], "UTMALDG")
            if role not in warps_of and each["roles"] == [role] and boxes and each["depth"] > 1:
                add(passes, "copies", each["always"], 2 / boxes)
    return passes, before, warps, main


def variant_of(header, name):
    found = re.search(header["function"], name)
    if not found:
        return None
    arguments = {key: value if key == "dtype" else int(value) for key, value in found.groupdict().items()}
    variant = {key: eval(str(how), {"__builtins__": {}}, arguments) for key, how in header["tile"].items()}
    return {"dtypes": [DTYPES[arguments["dtype"]]], **{key: how for key, how in variant.items() if how is not False}}


def held_in_registers(variant, passes, before, wide):
    """Operands that no step fetches, and probabilities that live beside the scores of the next step."""
    if wide:
        return ["P"] if before else []
    fetched = 2 * variant["tile_kv"] * variant["head_dim"] * VALUE // (LANES * 16)  # K and V by ldmatrix, 16 bytes a lane
    return ["Q"] if passes["step"]["ldsm"] == fetched else []


def spilled(kernel, passes, facts):
    """What the compiler keeps in local memory, in bytes of a thread. Waits are found by `describe`."""
    def moved(names, key):
        return sum(passes.get(name, {}).get(key, 0) for name in names)
    return {"frame": kernel["local_bytes"], "stored_step": moved(("step", "ahead"), "spilled"),
            "loaded_step": moved(("step", "ahead"), "fetched"), "stored": moved(("once", "live"), "spilled"),
            "loaded": moved(("once", "live"), "fetched"), "waits": facts["spill_waits"], "least_l1": True}


def instance_of(header, kernel, facts):
    variant = variant_of(header, kernel["kernel"])
    if variant is None:
        return None
    code = kernel["code"]
    passes, before, warps, role = passes_of(code, variant)
    if before != header["before"]:
        raise ValueError(f"{kernel['kernel']}: {before} steps before the loop, the header says {header['before']}")
    others = {each["registers"] for i, each in enumerate(code["roles"]) if i != role and each["registers"]}
    if others:
        variant["consumer_warps"], variant["consumer_registers"] = warps, code["roles"][role]["registers"]
        variant["producer_registers"] = max(others)
    wide = any(form["threads"] > LANES for form in code["counts"]["matrix"])
    variant["registers_hold"] = held_in_registers(variant, passes, before, wide)
    loop = code["loops"][attention_loop(code)]
    products = sum(wait["count"] for wait in loop["always"]["waits"] if wait["opcode"] == "WARPGROUP")
    if products >= loop["always"]["kinds"]["matrix"]:
        variant["waits_each"] = True
    if kernel["local_bytes"]:
        variant["local"] = spilled(kernel, passes, facts[kernel["kernel"]])
    return {"kernel": kernel["kernel"], **{key: kernel[key] for key in RESOURCES}, "variant": variant, "warps": warps,
            "passes": {name: {key: value for key, value in counts.items() if key not in ("spilled", "fetched")}
                       for name, counts in passes.items()}}


def merged(instances):
    """One line for instances that differ in their number format alone."""
    lines = []
    for each in instances:
        key = {k: v for k, v in each.items() if k != "kernel"}
        key["variant"] = {k: v for k, v in each["variant"].items() if k != "dtypes"}
        for other, line in lines:
            if other == key:
                line["variant"]["dtypes"] += each["variant"]["dtypes"]
                break
        else:
            lines.append((key, each))
    return [line for _, line in lines]


def order_of(instance):
    variant = instance["variant"]
    return [variant.get(key, 0) for key in ("head_dim", "tile_q", "warps", "tile_kv", "stages")] + [
        variant["dtypes"][0] != "fp16"]


def written(header, instances):
    lines = ",\n".join("  " + json.dumps(each, separators=(",", ":")) for each in instances)
    head = "".join(f" {json.dumps(key)}: {json.dumps(value)},\n" for key, value in header.items())
    return f"{{\n{head} \"kernels\": [\n{lines}\n]}}\n"


def facts_of(tilescope, cubin, printed):
    """What `describe` finds of each instance that spills."""
    facts = {}
    for name in (kernel["kernel"] for kernel in printed["kernels"] if kernel["local_bytes"]):
        done = subprocess.run([tilescope, "describe", cubin, "--name", name, "--format", "json"], capture_output=True)
        facts[name] = json.loads(done.stdout.splitlines()[0])
    return facts


def printed_by(tilescope, folder, nvcc):
    """JSON of all instances, compiled and inspected, and facts of those that spill."""
    with tempfile.TemporaryDirectory() as place:
        for source in sorted(folder.rglob("*.cu")):
            cubin = pathlib.Path(place) / (source.stem + ".cubin")
            subprocess.run([nvcc, *FLAGS, "-I", folder.parent, "-I", ROOT / "src", source, "-o", cubin], check=True)
            out = cubin.with_suffix(".json")
            subprocess.run([tilescope, "inspect", cubin, "--format", "json", "-o", out], check=True)
            printed = json.loads(out.read_text())
            yield printed, facts_of(tilescope, cubin, printed)


def changed(folder):
    header = json.loads((folder / "code.json").read_text())
    return header["source_sha256"] != source_hash(folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernel", type=pathlib.Path, help="folder with code.json, of which the header is kept")
    parser.add_argument("--printed", nargs="+", type=pathlib.Path)
    parser.add_argument("--facts", type=pathlib.Path)
    parser.add_argument("--tilescope", default="tilescope")
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--check", nargs="*", type=pathlib.Path)
    arguments = parser.parse_args()
    if arguments.check is not None:
        folders = arguments.check or sorted(path.parent for path in (ROOT / "kernels").glob("*/code.json"))
        old = [folder for folder in folders if changed(folder)]
        for folder in old:
            print(f"{folder}: sources have changed since code.json was written; run code_json.py --kernel {folder}")
        return 1 if old or not folders else 0
    if not arguments.kernel:
        parser.error("give --kernel FOLDER or --check")
    folder = arguments.kernel.resolve()
    header = json.loads((folder / "code.json").read_text())
    header.pop("kernels", None)
    header["source_sha256"] = source_hash(folder)
    if arguments.printed:
        lines = arguments.facts.read_text().splitlines() if arguments.facts else []
        facts = {each["kernel"]: each for each in map(json.loads, lines)}
        files = [(json.loads(path.read_text()), facts) for path in arguments.printed]
    else:
        files = list(printed_by(arguments.tilescope, folder, arguments.nvcc))
    instances = [instance for file, facts in files for kernel in file["kernels"]
                 if (instance := instance_of(header, kernel, facts))]
    if not instances:
        sys.exit(f"code_json.py: no kernel's name matches {header['function']}")
    (folder / "code.json").write_text(written(header, merged(sorted(instances, key=order_of))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
