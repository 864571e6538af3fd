"""Pieces of PyTorch's open attention kernels: FlashAttention-2 (steps with a mask stand before the loop over tiles) and the
memory-efficient forward kernel (each product is a loop of its own). code_launch_lines.py calls them."""
import re

from code_nests import PRODUCTS, Nest, longest
from code_passes import add, is_mask
from code_paths import Flow, opcode_count
from code_waits import opcode_of

LANES_OF_ROW = 4  # of a fragment of m16n8

def without_guarded_products(code, *opcodes_of):
    """Multiplications and additions under a predicate bring tiny numbers of exponentials and logarithms into range: they are
    issued and not executed. Renamed, they count as instructions of no pipe. Needs what `inspect --instructions` prints."""
    for block in code["blocks"]:
        first, last = int(block["first"], 16), int(block["last"], 16)
        opcodes = block["counts"]["opcodes"]
        for each in code.get("instruction_list") or []:
            found = re.match(r"@!?P\d+ ((\w+)[.\w]*)", each["text"])
            if found and found.group(2) in opcodes_of and first <= int(each["address"], 16) <= last and opcodes.get(found.group(1)):
                opcodes[found.group(1)] -= 1
                opcodes["guarded"] = opcodes.get("guarded", 0) + 1
    return code


def straight_pieces(code, entry, sizes, evaluated):
    """A launch in which every warp goes one way, the one with the most instructions of the opcodes in `prefer`. `loads`: how
    many LDSM a warp has, all in one loop."""
    flow, passes = Flow(code), {}
    loads = evaluated(entry["loads"], sizes) if "loads" in entry else 0

    at_once = [opcode_count(flow.counts(i), "LDSM") for i in flow.next if opcode_count(flow.counts(i), "LDSM")]
    width = max((each for each in at_once if loads % each == 0), default=0)

    def prefer(i):
        each = opcode_count(flow.counts(i), "LDSM")
        if loads and each:
            return 1 if each == width else -1
        return opcode_count(flow.counts(i), *entry.get("prefer", []))

    for i in longest(flow, 0, flow.ends(), prefer):
        add(passes, "once", flow.counts(i), loads // width if loads and opcode_count(flow.counts(i), "LDSM") else 1)
    return passes, entry["warps"], 0


def ahead_pieces(code, entry, sizes, evaluated):
    """The first step, and where the entry says so further ones, have code of their own before the loop. What those have
    more than a step of the loop counts once."""
    nest = Nest(without_guarded_products(code, "FMUL", "FADD"), 0, entry, sizes, evaluated)
    loop = code["loops"][nest.number]
    header = nest.flow.first[loop["header"]]
    body = {b for b in loop["blocks"] if b in nest.graph.blocks}
    for number, inner in enumerate(code["loops"]):
        if inner["parent"] == nest.number:
            body |= {b for b in inner["blocks"] if b in nest.graph.blocks}
    latches = {i for i in body if header in nest.graph.next[i]}

    def cost(copies):
        def of(i):
            counts = nest.flow.counts(i)
            return (opcode_count(counts, "WARPSYNC") > 0, -opcode_count(counts, *PRODUCTS),
                    opcode_count(counts, "LDG"), copies * opcode_count(counts, "LDGSTS"), counts["instructions"])
        return of

    passes = {}
    step = nest.way(header, latches, cost(1))
    nest.add_way(passes, "step", step)
    nest.add_way(passes, "ahead", [i for i in nest.way(header, latches, cost(-1)) if i not in step])
    masks = [i for i in body if i not in step and is_mask(nest.flow.counts(i), loop["always"])]
    for i in masks:
        nest.add_way(passes, "end", [i])
    before = nest.way(min(nest.graph.blocks), {header}, cost(-1))[:-1]
    leaves = [i for i in step if any(n not in body for n in nest.graph.next[i])]
    following = next(n for n in nest.graph.next[leaves[-1]] if n not in body)

    def stores(i):
        counts = nest.flow.counts(i)
        return (opcode_count(counts, "WARPSYNC") > 0, -opcode_count(counts, "STG", "RED", "REDG"),
                -opcode_count(counts, "FFMA"), counts["instructions"])  # FFMA: a division that takes no slow way

    behind = nest.way(following, nest.flow.ends(), stores)
    nest.add_way(passes, "live", before + behind)
    products = [sum(opcode_count(nest.flow.counts(i), *PRODUCTS) for i in way) for way in (before, step)]
    early = products[0] // products[1]
    for _ in range(early - 1):
        for key, value in passes["step"].items():
            passes["live"][key] = passes["live"].get(key, 0) - value
    return passes, entry["warps"], min(early, 1)


def statistics(code, flow, way, times):
    """Of a step that keeps statistics of rows in shared memory: barriers, wavefronts of these statistics (a lane more at the
    address of an atomic operation is one more), and how often the warp waits for what it loads of them. Needs what
    `inspect --instructions` prints."""
    result, pending = {"wavefronts": 0, "barriers": 0, "shared_waits": 0}, {}
    for i, share in way:
        counts = flow.counts(i)
        scores = opcode_count(counts, "F2FP") > 0  # whose stores are a tile
        first, last = int(flow.blocks[i]["first"], 16), int(flow.blocks[i]["last"], 16)
        for each in [e for e in code["instruction_list"] if first <= int(e["address"], 16) <= last] * times.get(i, 1):
            opcode = opcode_of(each)
            waited = {opcode for board in each["waits_for"] for opcode in pending.pop(board, ())}
            result["shared_waits"] += "LDS" in waited
            if each["result_scoreboard"] is not None:
                pending.setdefault(each["result_scoreboard"], set()).add(opcode)
            result["barriers"] += opcode == "BAR"
            wavefronts = LANES_OF_ROW if opcode == "ATOMS" else opcode == "LDS" or (opcode == "STS" and not scores)
            result["wavefronts"] += wavefronts * share
    return {key: int(value + 0.5) for key, value in result.items()}


def staged_pieces(code, entry, sizes, evaluated):
    """A step whose products are loops: so many passes as the entry says. Blocks that only some warps of a block execute
    count in part; a way that fetches from memory (a bias) or draws random numbers is left out."""
    flow = Flow(without_guarded_products(code, "FMUL"))
    outer = next(l for l in code["loops"] if l["parent"] is None and
                 any(flow.counts(b)["special"].get("EX2", 0) > 8 for b in l["blocks"]))
    number = code["loops"].index(outer)
    products = [l for l in code["loops"] if l["parent"] == number and opcode_count(l["always"], "HMMA")]
    times = {flow.first[l["header"]]: evaluated(how, sizes) for l, how in zip(products, entry["passes"])}
    header = flow.first[outer["header"]]
    latches = {i for i in outer["blocks"] if header in flow.blocks[i]["successors"]}
    masks = [i for i in outer["blocks"] if opcode_count(flow.counts(i), "FSEL") > 8]
    few = evaluated(entry["row_warps"], sizes) / entry["warps"]

    def cost(i):
        counts = flow.counts(i)
        rescales = opcode_count(counts, "MUFU") if counts["instructions"] < 20 else 0
        return (opcode_count(counts, "LDG") + (i in masks), i in inside_loops, -opcode_count(counts, "HMMA"),
                -opcode_count(counts, "STS", "F2FP", "FMUL") - rescales, counts["instructions"])

    inside_loops = {b for l in code["loops"] if l["parent"] == number and l not in products for b in l["blocks"]}
    passes, way = {}, []
    for i in flow.best(header, latches, cost):
        counts = flow.counts(i)
        rows = opcode_count(counts, "LDS", "STS") and counts["instructions"] < 20 and i not in times
        way.append((i, few if rows else 1))
        add(passes, "rows" if rows else "step", counts, times.get(i, 1))
    for key, value in passes.pop("rows", {}).items():
        passes["step"][key] = passes["step"].get(key, 0) + int(value * few + 0.5)
    passes["step"].update(statistics(code, flow, way, times))
    for i, name in zip(sorted(masks), ("end", "tail")):
        add(passes, name, flow.counts(i))

    def outside(i):
        counts = flow.counts(i)
        return (opcode_count(counts, "LDG") > 2, -opcode_count(counts, "STG"), -opcode_count(counts, "FFMA"),
                counts["instructions"])

    exits = sorted({n for i in outer["blocks"] for n in flow.blocks[i]["successors"] if n not in outer["blocks"] and
                    all(n not in l["blocks"] for l in code["loops"])})
    for i in flow.best(0, {header}, outside)[:-1] + flow.best(exits[0], flow.ends(), outside):
        add(passes, "once", flow.counts(i))
    return passes, entry["warps"], 0
