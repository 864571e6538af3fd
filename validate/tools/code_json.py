#!/usr/bin/env python3
"""Writes kernels/NAME/code.json: what the machine code of a kernel's instances executes, free of any GPU's rates.

    code_json.py --kernel FOLDER --printed FILE...    JSON that `tilescope inspect CUBIN --format json` has printed;
                                     [--facts FILE]   of instances that spill, lines of `tilescope describe --format json`
    code_json.py --kernel FOLDER                      compiles the sources with nvcc, and runs `tilescope` (--tilescope)
    code_json.py --check [FOLDER...]                  exit status 1 where sources have changed since code.json, or steps.zst
                                                      beside it, was written

A line of code.json is an instance of the kernel: its resources, the tile that it is built for (`variant`), and the
instructions that a warp executes (`passes`):

    launch   once in a block that claims tiles
    once     for each tile of queries
    live     for each tile of queries that sees a key; the first step, where the code has it before the loop
    step     in a pass of the loop over keys; `before` of the file's header are steps that stand before the loop
    ahead    in passes that copy a tile for a later one: all but the last
    end      in passes whose keys the mask cuts behind a row's last key; `tail`: where only the end of the keys cuts
    begin    in passes whose keys the mask cuts before a row's first key
    copies   a step of the warps that do nothing but copy; what they do besides for a tile of queries is in `first`
    fill     all copies before the loop (`lead` tiles, where threads copy for later steps; `ahead` is then the loop's)
    first    for each tile of queries, by `first_warps` of its block's warps (1), of which `first_lanes` lanes (32)
    row      for each row, by one warp
    list     for each 32 tiles of keys up to a tile of queries' last one

`nests` of the header lists launches whose pieces code_launch_lines.py finds, of kernels with several launches or of PyTorch:
for those `inspect` needs --instructions, as the library does not say which multiplications are never executed; for those
without matrix instructions, and for `launches`, also --hardware: code_waits.py counts what a warp waits for.

A line with `launch` is an instance of that launch. Its `loops` go through the steps of a stream of which
a warp takes every `apart`-th, `beside` of them side by side: first those left over from groups of `group` (`left`), then
the groups (`of_group`); `some`, `around_left` and `around_groups` run if either, the first or the second loop does.

The header's `function` is a pattern of the mangled name, whose groups are template arguments; `tile` says how the keys
of a variant follow from them. The header is kept when the file is written again. Where a kernel.yaml states
`variants`, each gets the instructions of the instance with its tile.
"""
import argparse
import hashlib
import json
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import code_paths  # noqa: E402
from code_passes import add, attention_loop, passes_of  # noqa: E402
from code_paths import LANES, opcode_count  # noqa: E402
from code_waits import finish, list_instructions  # noqa: E402
import code_launch_lines  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
DTYPES = {"6__half": "fp16", "13__nv_bfloat16": "bf16"}
RESOURCES = ("compute_capability", "registers", "shared_bytes", "local_bytes", "barriers", "most_threads",
             "cluster_blocks", "parameters", "instructions")
FLAGS = ["-std=c++20", "-O3", "-arch=sm_90a", "-cubin"]
VALUE = 2  # bytes of a value of K and V


def code_of(path):
    """A source without comments and line breaks."""
    return " ".join(re.sub(r"//[^\n]*", "", path.read_text(encoding="utf-8")).split())


def included(folder):
    """The folder's CUDA sources and what they include, directly or not, by name: of kernels and of the project's sources."""
    places = (folder.parent, ROOT / "src")
    found, todo = {}, [(path, str(path.relative_to(folder.parent))) for path in sorted(folder.rglob("*.cu"))]
    while todo:
        path, name = todo.pop()
        if name in found:
            continue
        found[name] = path
        for wanted in re.findall(r'#include "([^"]+)"', path.read_text(encoding="utf-8")):
            todo += [(place / wanted, wanted) for place in places if (place / wanted).is_file()][:1]
    return found


def source_hash(folder):
    """Of everything that decides the machine code but the compiler; comments and line breaks do not."""
    digest = hashlib.sha256()
    for name, path in sorted(included(folder).items()):
        digest.update(f"{name}\0{code_of(path)}\0".encode())
    return digest.hexdigest()


def arguments_of(pattern, name):
    """Template arguments in a mangled name; None: it does not match."""
    found = re.search(pattern, name)
    return found and {key: value if key == "dtype" else int(value) for key, value in found.groupdict().items()}


def evaluated(how, arguments):
    return eval(str(how), {"__builtins__": {"min": min, "max": max}}, arguments)


def variant_of(header, name):
    arguments = arguments_of(header["function"], name) if header["function"] else None
    if not arguments:
        return None
    variant = {key: evaluated(how, arguments) for key, how in header["tile"].items()}
    dtype = arguments.get("dtype", arguments.get("format"))
    return {"dtypes": [header.get("dtypes", DTYPES)[str(dtype)]],
            **{key: how for key, how in variant.items() if how is not False}}


def signed(counts):
    """Without zeros, and as differences of two ways: never below zero, as a way that is left out may have more of a kind."""
    return {key: value for key, value in counts.items() if value > 0}


def numbers_of(header, arguments):
    return {key: evaluated(header[key], arguments) for key in ("lead", "mask_keys", "first_warps", "first_lanes") if key in header}


def ahead_instance(header, kernel, variant):
    """An instance whose threads copy tiles for later steps."""
    code, passes = kernel["code"], {}
    arguments = arguments_of(header["function"], kernel["kernel"])

    def add_block(name, block, times):
        if block["loop"] is not None and name == "once":
            times *= evaluated(header["first_loop"], arguments)
        add(passes, name, block["counts"], times)

    code_paths.pieces(code, attention_loop(code), header.get("paged", False), add_block)
    return {"kernel": kernel["kernel"], **{key: kernel[key] for key in RESOURCES}, "variant": variant,
            "warps": variant["warps"], **numbers_of(header, arguments),
            "passes": {name: kept for name, counts in passes.items() if (kept := signed(counts))}}


def launch_of(launch, kernel):
    """An instance of a launch without products."""
    arguments = arguments_of(launch["function"], kernel["kernel"])
    if not arguments:
        return None
    passes, loops = {}, {}

    def add_block(name, block, times):
        add(passes, name, block["counts"], times)

    def add_loop(pair, name, block):
        add(loops.setdefault(pair, {}), name, block["counts"])
        if name == "of_group":
            loops[pair]["steps"] = block

    code_paths.launch_pieces(list_instructions(kernel), add_block, add_loop)
    for counts in (*passes.values(), *(counts for pieces in loops.values() for counts in pieces.values())):
        finish(counts)
    if "step" in passes:
        passes["step"] = {key: value // launch["unrolled"] for key, value in passes["step"].items()}
    line = {"kernel": kernel["kernel"], **{key: kernel[key] for key in RESOURCES}, "launch": launch["launch"],
            "steps": launch["steps"], "columns": evaluated(launch["columns"], arguments), "warps": launch["warps"],
            **numbers_of(launch, arguments), "passes": passes}
    if loops:
        line["loops"] = [{"array": given["array"], "apart": evaluated(given["apart"], arguments), "beside": evaluated(given["beside"], arguments),
                          "group": given["group"], **{name: counts for name, counts in loops[pair].items() if name != "steps"}}
                         for pair, given in enumerate(launch["loops"])]
        for pair, given in enumerate(launch["loops"]):
            given_loads, found = given["group"], opcode_count(loops[pair]["steps"]["counts"], "LDG")
            if given_loads != found:
                raise ValueError(f"{kernel['kernel']}: a group has {found} steps, the header says {given_loads}")
    return line


def launches_of(header, kernels):
    """A line for each instance of a launch; those of other formats have the same counts."""
    lines = {}
    for launch in header.get("launches", []):
        for kernel in kernels:
            line = launch_of(launch, kernel)
            if line:
                same = lines.setdefault((line["launch"], str(line["steps"]), line["columns"]), line)
                if {k: v for k, v in same.items() if k != "kernel"} != {k: v for k, v in line.items() if k != "kernel"}:
                    print(f"note: {line['kernel']} differs from {same['kernel']}, which is taken", file=sys.stderr)
    return [lines[key] for key in sorted(lines, key=str)]


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
    if "lead" in header:
        return ahead_instance(header, kernel, variant)
    code = kernel["code"]
    passes, before, warps, role = passes_of(code, variant, header)
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
    if kernel["local_bytes"] and "smem_bytes" in header["tile"]:  # else the descriptor states it
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
        str(variant["dtypes"][0]) != "fp16"]


def lines_of(value):
    """A list of maps has a line for each."""
    if isinstance(value, list) and value and all(isinstance(each, dict) for each in value):
        return "[\n" + ",\n".join("  " + json.dumps(each) for each in value) + "]"
    return json.dumps(value)


def written(header, instances):
    """Of a kernel whose machine code is not at hand, None: no instances."""
    parts = [f" {json.dumps(key)}: {lines_of(value)}" for key, value in header.items()]
    if instances is not None:
        lines = ",\n".join("  " + json.dumps(each, separators=(",", ":")) for each in instances)
        parts.append(f" \"kernels\": [\n{lines}\n]")
    return "{\n" + ",\n".join(parts) + "}\n"


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
            subprocess.run([tilescope, "inspect", cubin, "--instructions", "--hardware", "h200_sxm", "--format", "json",
                            "-o", out], check=True)
            printed = json.loads(out.read_text())
            yield printed, facts_of(tilescope, cubin, printed)


def changed(folder):
    hashed = source_hash(folder)
    return any(json.loads(file.read_text()).get("source_sha256", hashed) != hashed for file in folder.glob("*code.json"))


def steps_file(path):
    """The machine code of steps beside a code.json, which step_programs.py writes."""
    return path.with_name(path.name.replace("code.json", "steps.zst"))


def sha256_of(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def note_steps(path):
    """Writes into a code.json of which sources its steps are, and which file has them."""
    header = json.loads(path.read_text())
    kernels = header.pop("kernels", None)
    header["steps"] = {"source_sha256": source_hash(path.parent), "sha256": sha256_of(steps_file(path))}
    path.write_text(written(header, kernels))


def stale_steps(folder):
    """Why steps of a folder are not those of its sources: a line each."""
    hashed = source_hash(folder)
    for path in sorted(folder.glob("*code.json")):
        noted, file = json.loads(path.read_text()).get("steps"), steps_file(path)
        if noted is None and not file.is_file():
            continue
        if noted is None or not file.is_file():
            yield f"{path}: 'steps' and {file.name} must be there both"
        elif noted.get("source_sha256") != hashed:
            yield f"{file}: sources have changed since it was written"
        elif noted.get("sha256") != sha256_of(file):
            yield f"{file}: is not the file that {path.name} names"


def write(path, files):
    """The instances of one code.json, of which the header is kept."""
    header = json.loads(path.read_text())
    if "kernels" not in header:
        return  # given
    header.pop("kernels")
    header["source_sha256"] = source_hash(path.parent)
    instances = [instance for file, facts in files for kernel in file["kernels"]
                 if (instance := instance_of(header, kernel, facts))]
    if not instances and not header.get("launches") and not header.get("nests"):
        sys.exit(f"code_json.py: no kernel's name matches {header['function']}")
    instances = merged(sorted(instances, key=order_of))
    for entry in header.get("nests", []):
        if "derived_from" in entry:
            instances += code_launch_lines.derived_lines(entry, path.parent)
            continue
        instances += code_launch_lines.lines_of(entry, [kernel for file, _ in files for kernel in file["kernels"]], DTYPES)
    instances += launches_of(header, [kernel for file, _ in files for kernel in file["kernels"]])
    path.write_text(written(header, instances))


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
        folders = arguments.check or sorted({path.parent for path in (ROOT / "kernels").glob("*/*code.json")})
        old = [folder for folder in folders if changed(folder)]
        for folder in old:
            print(f"{folder}: sources have changed since code.json was written; run code_json.py --kernel {folder}")
        stale = [line for folder in folders for line in stale_steps(folder)]
        for line in stale:
            print(f"{line}; run step_programs.py, or derived_steps.py where code.json has `derived_from`")
        return 1 if old or stale or not folders else 0
    if not arguments.kernel:
        parser.error("give --kernel FOLDER or --check")
    folder = arguments.kernel.resolve()
    if arguments.printed:
        lines = arguments.facts.read_text().splitlines() if arguments.facts else []
        facts = {each["kernel"]: each for each in map(json.loads, lines)}
        files = [(json.loads(path.read_text()), facts) for path in arguments.printed]
    else:
        files = list(printed_by(arguments.tilescope, folder, arguments.nvcc))
        if not files:
            parser.error(f"{folder} has no CUDA sources: give --printed")
    for file in sorted(folder.glob("*code.json"), key=lambda file: ("derived_from" in file.read_text(), file)):
        write(file, files)
    return 0


if __name__ == "__main__":
    sys.exit(main())
