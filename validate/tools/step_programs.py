#!/usr/bin/env python3
"""Writes kernels/NAME/steps.zst: the machine code of a step of every built instance, for the simulated SM of predict.

    step_programs.py TILESCOPE FOLDER CUBIN...      with nvdisasm where `tilescope inspect` finds it, and zstd

Of each instance in FOLDER/*code.json: a line "# SYMBOL", then sections of a line an instruction (stall count,
scoreboards set for result and operands, mask of scoreboards waited for, 1 for a hint to yield, text):
    step     a pass of the loop over keys that no mask cuts, as `inspect --simulate` finds it
    start    what a block executes before the loop, where all its warps run the loop; else what those that do execute
             for each tile of a block that stays
    end      the same after the loop
    masked   a pass of a tile that the mask cuts, where code differs
    beside WARPS STAGES   a step of other warps that turn tiles of V over in shared memory, and how many tiles they may
             be ahead
CUBINs must be compiled from the sources in FOLDER: `steps` of code.json notes their hash, and the test `code_json` fails
once they have changed.
"""
import itertools
import json
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from code_json import arguments_of, evaluated, note_steps, steps_file  # noqa: E402
from code_passes import is_mask, within  # noqa: E402
from code_paths import Flow, opcode_count  # noqa: E402
from simulated_steps import instruction_line  # noqa: E402

HARDWARE = "h200_sxm"  # whose rates the pass does not depend on
FEW_PRODUCTS = 16  # of a thread; results have more
KEYS_OF_LDSM, COLUMNS_OF_LDSM = 16, 32  # of one-byte elements, by .x4 with transposition


def inspected(program, cubin, symbol, warps, through):
    run = subprocess.run([program, "inspect", cubin, "--name", symbol, "--hardware", HARDWARE, "--simulate",
                          "--resident", "1", "--steps", "1", "--block", str(warps * 32), "--instructions", "--format", "json",
                          *(["--through", ",".join(through)] if through else [])], capture_output=True, text=True)
    return json.loads(run.stdout)["kernels"][0] if run.stdout.startswith("{") else None


def main_loop(found):
    """The simulated loop with matrix products and most of the tensor cores' time."""
    loops = {loop["header"]: loop for loop in found["code"]["loops"]}
    own = [loop for loop in found["simulation"]["loops"] if loops[loop["header"]]["always"]["kinds"].get("matrix")]
    return max(own, key=lambda loop: loop["tensor"]) if own else None


def number_of(found, loop):
    """The place of a simulated loop among those of the code."""
    return next(i for i, each in enumerate(found["code"]["loops"]) if each["header"] == loop["header"])


def masks(found, loop):
    """Address of the block of the loop that replaces scores behind a row's last key: the longest, where there are several."""
    number = number_of(found, loop)
    step = found["code"]["loops"][number]["always"]
    cut = [block for block in found["code"]["blocks"] if block["loop"] == number and step["special"].get("EX2")
           and is_mask(block["counts"], step)]
    return [max(cut, key=lambda block: block["counts"]["instructions"])["first"]] if cut else []


def same_loop(found, loop):
    """The simulated loop in what was found on another way."""
    return next(each for each in found["simulation"]["loops"] if each["header"] == loop["header"])


def rescales(found, loop):
    """Addresses of blocks of the loop that do nothing but rescale results, behind a branch that all passes but the first take."""
    number = number_of(found, loop)
    return [block["first"] for block in found["code"]["blocks"] if block["loop"] == number
            and block["counts"]["instructions"] >= FEW_PRODUCTS
            and set(block["counts"]["kinds"]) == {"fp32"} and set(block["counts"]["opcodes"]) == {"FMUL"}]


def instructions(found):
    """A kernel's instructions by address."""
    return {each["address"]: each for each in found["code"]["instruction_list"]}


def section(name, found, addresses):
    code = instructions(found)
    text = name + "\n"
    for address in addresses:
        text += instruction_line(code[address]) + "\n"
    return text


def stores_of(header, symbol):
    """Stores of 16 bytes by which a thread writes a step's results; 0: its steps write none."""
    for nest in header.get("nests", []):
        arguments = arguments_of(nest["function"], symbol)
        if arguments and "stores" in nest:
            return evaluated(nest["stores"], arguments)
    return 0


def is_store(text):
    return re.match(r"(@!?U?P\w+ )?STG\b", text) is not None


def step(found, loop, stores):
    """The way of a pass; loops inside it that store results have as many passes as there are results."""
    code = instructions(found)
    own = number_of(found, loop)
    inner = [range(int(block["first"], 16), int(block["last"], 16) + 1) for block in found["code"]["blocks"]
             if block["loop"] not in (None, own)]

    def is_inner(address):
        return any(int(address, 16) in block for block in inner)

    way = []
    for inside, group in itertools.groupby((each["address"] for each in loop["instruction_list"]), is_inner):
        group = list(group)
        a_pass = sum(is_store(code[address]["text"]) for address in group) if inside else 0
        way += group * (max(1, stores // a_pass) if a_pass else 1)
    return way


def addresses_of(found, blocks):
    """Addresses of the instructions of blocks, one block behind the other."""
    code = found["code"]
    every = [each["address"] for each in code["instruction_list"]]
    of_block = {i: [address for address in every if int(code["blocks"][i]["first"], 16) <= int(address, 16)
                    <= int(code["blocks"][i]["last"], 16)] for i in set(blocks)}
    return [address for i in blocks for address in of_block[i]]


def way_of_loop(code, flow, loop, most):
    """Blocks of the way of a pass with the most of the opcodes `most`, in their order; else the shortest one."""
    header = flow.first[loop["header"]]
    latches = {i for i in loop["blocks"] if header in code["blocks"][i]["successors"]}
    def cost(i):
        counts = flow.counts(i)
        return ("WARPSYNC.COLLECTIVE" in counts["opcodes"], *(-opcode_count(counts, each) for each in most),
                counts["instructions"])
    return flow.best(header, latches, cost)


def around_loop(found, loop):
    """Addresses of what the warps of a loop execute before and after it for each tile of a block that stays."""
    code, number = found["code"], number_of(found, loop)
    outer = code["loops"][number]["parent"]
    if outer is None:
        return [], []
    way = way_of_loop(code, Flow(code), code["loops"][outer], ("HGMMA", "QGMMA", "STG"))
    inside = [place for place, i in enumerate(way) if within(code, i, number)]
    return addresses_of(found, way[:inside[0]]), addresses_of(found, way[inside[-1] + 1:])


def turns_over(found, variant):
    """(warps, addresses) of a step of the warps that load matrices, turn them over and store them, of the warp with most
    keys; None: there are none. The loop over steps waits and arrives at mbarriers; loops in it go over keys and columns."""
    code = found["code"]
    loops, flow = code["loops"], Flow(code)
    inner = next((i for i, loop in enumerate(loops) if opcode_count(loop["always"], "STSM") and
                  not loop["always"]["kinds"].get("matrix") and loop["parent"] is not None), None)
    if inner is None:
        return None
    warps = sum(last - first + 1 for role in loops[inner]["roles"] for first, last in code["roles"][role]["warps"])
    nest = [inner]
    while not any(opcode_count(code["blocks"][i]["counts"], "SYNCS") for i in loops[nest[-1]]["blocks"]):
        nest.append(loops[nest[-1]]["parent"])
    columns = -(-variant["head_dim"] // (COLUMNS_OF_LDSM * opcode_count(loops[inner]["always"], "LDSM")))
    passes = [columns, -(-variant["tile_kv"] // (KEYS_OF_LDSM * warps))][-len(nest[1:]):]
    way = way_of_loop(code, flow, loops[nest[-1]], ("STSM",))
    for loop, times in zip(nest, passes):  # from the innermost one outwards
        inside = [place for place, i in enumerate(way) if code["blocks"][i]["loop"] in nest[:nest.index(loop) + 1]]
        first, last = inside[0], inside[-1] + 1
        way = way[:first] + way[first:last] * times + way[last:]
    return warps, addresses_of(found, way)


def multiplies(kernel):
    """Whether it has matrix products, as far as its passes tell."""
    passes = kernel.get("passes") or {}
    return "variant" in kernel or any(counts.get("matrix") for counts in passes.values())


def products(found, addresses):
    """Places of matrix products in a way."""
    code = instructions(found)
    return [i for i, address in enumerate(addresses) if code[address]["kind"] == "matrix"]


def peeled(found, loop):
    """Compilers may put passes of masked tiles before the loop: the start without them, and the first of them. Each begins
    with the wait for its copies."""
    start = loop.get("start", [])
    own = products(found, start)
    if not own:
        return start, []
    code = instructions(found)
    of_pass = len(products(found, [each["address"] for each in loop["instruction_list"]]))

    def begin(product):
        return max((i for i in range(product) if code[start[i]]["text"].startswith("DEPBAR")), default=None)

    first, second = begin(own[0]), begin(own[of_pass]) if len(own) > of_pass else len(start)
    return (start[:first], start[first:second]) if first is not None and len(own) % of_pass == 0 else ([], [])


def write_steps(file, text):
    """Packs steps beside their code.json, and notes them there."""
    size = f"--stream-size={len(text.encode())}"  # which the reader asks for
    subprocess.run(["zstd", "-19", "-q", "-f", size, "-o", steps_file(file)], input=text.encode(), check=True)
    note_steps(file)


def main():
    program, folder, *cubins = sys.argv[1:]
    for file in sorted(pathlib.Path(folder).glob("*code.json")):
        text = ""
        header = json.loads(file.read_text())
        for kernel in header["kernels"]:
            symbol, warps = kernel["kernel"], kernel.get("variant", kernel).get("warps")
            if not warps or not multiplies(kernel):
                continue
            def through(addresses):
                return next(filter(None, (inspected(program, cubin, symbol, warps, addresses) for cubin in cubins)), None)

            found = through([])
            loop = found and main_loop(found)
            if not loop:
                print(f"{symbol}: no loop with matrix products", file=sys.stderr)
                continue
            always = rescales(found, loop) if header.get("rescales_later") else []
            if always:
                found = through(always)
                loop = same_loop(found, loop)
            stores = stores_of(header, symbol)
            text += f"# {symbol}\n" + section("step", found, step(found, loop, stores))
            start, masked_pass = peeled(found, loop)
            if start and loop.get("end") and not products(found, loop["end"]):
                text += section("start", found, start) + section("end", found, loop["end"])
            elif "start" not in loop:
                start, end = around_loop(found, loop)
                if start and end:
                    text += section("start", found, start) + section("end", found, end)
            cut = masks(found, loop)
            if masked_pass:
                text += section("masked", found, masked_pass)
            elif cut:
                found = through(always + cut)
                text += section("masked", found, step(found, same_loop(found, loop), stores))
            beside = turns_over(found, kernel["variant"]) if "variant" in kernel else None
            if beside:
                text += section(f"beside {beside[0]} {kernel['variant']['stages']}", found, beside[1])
        if text:
            write_steps(file, text)


if __name__ == "__main__":
    main()
