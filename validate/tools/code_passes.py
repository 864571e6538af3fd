"""What the machine code of a kernel executes, by piece: instructions by pipe, and loops over keys of kernels whose blocks
copy one tile ahead, or whose copies are one warp's. code_json.py writes them."""
from code_paths import LANES, STORE, opcode_count

PANEL = 128  # columns of V that warps turn over at a time
VALUE = 2  # bytes of a value of the results


def moved_locally(counts, kind):
    """Bytes of local memory that a thread stores or loads."""
    return sum(form["thread_bytes"] * (form["count"] - form["alternative"]) for form in counts["memory"]
               if form["memory"] == "local" and form["kind"] == kind)


def executed(counts):
    """Instructions of a warp by pipe of compute capability 9.0. Of other kinds, R2UR, CS2R, VOTE and ELECT run on the ALU
    pipe, VOTEU does not; of those kinds, VIADD does not (counters of 336 launches of fused_mma)."""
    kinds = counts["kinds"]
    alu = sum(kinds.get(kind, 0) for kind in ("integer", "logic", "compare", "select", "move"))
    alu += opcode_count(counts, "R2UR", "CS2R", "VOTE", "ELECT") - opcode_count(counts, "VIADD")
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
    if "listing" in counts:  # code_waits.py
        total.setdefault("listing", []).extend(counts["listing"] * round(times))


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

    def inside(self, code, loop):
        """The blocks of a loop, for which a pass of it ends at its last block."""
        header = next(i for i in self.blocks if code["blocks"][i]["first"] == code["loops"][loop]["header"])
        part = Graph.__new__(Graph)
        part.blocks = {i: block for i, block in self.blocks.items() if within(code, i, loop)}
        part.retried = self.retried
        part.next = {i: [n for n in self.next[i] if n in part.blocks and n != header] for i in part.blocks}
        return part, header

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
    return opcode_count(counts, "FSEL", "SEL") * 2 >= step["special"].get("EX2", 0)


def is_rare(counts, step):
    """Whether a block is only for rows whose scores are all negative: maxima that integers cannot tell."""
    return not counts["special"] and opcode_count(counts, "FMNMX") * 2 >= step["special"].get("EX2", 0)


def behind_one(graph, anchor, others, first):
    """Blocks that only ways through `anchor` or another first step lead to, without those of another step alone."""
    apart = Graph.__new__(Graph)
    apart.blocks, apart.next = graph.blocks, graph.next
    away = set(others) - {anchor}
    reached, todo = set(), [first] if first not in others else []
    while todo:
        at = todo.pop()
        if at not in reached:
            reached.add(at)
            todo += [n for n in graph.next[at] if n not in others and n != anchor]
    found = set(graph.blocks) - reached - {anchor} - away
    for other in away:
        found -= apart.behind(other, first)
    return found


def is_lane_loop(loop):
    """The compiler's loop over lanes with different addresses, around a copy: all lanes have one."""
    return len(loop["blocks"]) == 1 and opcode_count(loop["always"], "ELECT") > 0


def step_loop(code, role, *opcodes):
    """The innermost loop of one role with such instructions, in it or in loops over lanes; None: there is none."""
    found = None
    for i, loop in enumerate(code["loops"]):
        if loop["roles"] != [role] or loop["waits"] or is_lane_loop(loop):
            continue
        own = [b for b in range(len(code["blocks"])) if within(code, b, i)]
        if any(opcode_count(code["blocks"][b]["counts"], *opcodes) for b in own):
            if found is None or loop["depth"] > code["loops"][found]["depth"]:
                found = i
    return found


def blocks_of_tile(code, graph, number):
    """Blocks around a loop over steps that each of its tiles executes."""
    whole = outer(code, number)
    if whole == number:
        return []
    tile, first = graph.inside(code, whole)
    header = next(i for i in tile.blocks if code["blocks"][i]["first"] == code["loops"][number]["header"])
    return [i for i in tile.always(header, first) if not within(code, i, number) and i not in graph.retried]


def add_copies(passes, code, role, warpgroups):
    """A warp that does nothing but start copies: a step has one of K and one of V."""
    number = step_loop(code, role, "UTMALDG")
    if number is None:
        return
    graph = Graph(code, role)
    body = [i for i in graph.blocks if within(code, i, number) and i not in graph.retried]
    boxes = sum(opcode_count(code["blocks"][i]["counts"], "UTMALDG") for i in body)
    step, tile = {}, {}
    for i in body:
        add(step, "all", code["blocks"][i]["counts"])
    for i in blocks_of_tile(code, graph, number):
        add(tile, "all", code["blocks"][i]["counts"])
        boxes_outside = opcode_count(code["blocks"][i]["counts"], "UTMALDG")
        tile["boxes"] = tile.get("boxes", 0) + boxes_outside
    early = max(0, tile.get("boxes", 0) - warpgroups)  # copies of K or V outside of the loop, which `copies` has
    for key, value in step["all"].items():
        total = passes.setdefault("copies", {})
        total[key] = total.get(key, 0) + round(value * 2 / boxes)
    for key, value in tile.get("all", {}).items():
        left = value - round(step["all"].get(key, 0) * early / boxes)
        if left > 0:
            passes.setdefault("first", {})[key] = passes.get("first", {}).get(key, 0) + left


def add_list(passes, code):
    """A pass of the loop that lists tiles of keys, without what only a block mask asks for."""
    loop = min((l for l in code["loops"] if opcode_count(l["always"], "STS") and not l["always"]["special"]),
               key=lambda l: l["always"]["instructions"])
    for i in loop["blocks"]:
        counts = code["blocks"][i]["counts"]
        if not opcode_count(counts, "LDG", "WARPSYNC") and code["blocks"][i]["first"] < max(
                code["blocks"][j]["first"] for j in loop["main_path"]):
            add(passes, "list", counts)


def add_transposes(passes, code, variant, warps_of):
    """Warps that turn tiles of V over in shared memory, 16 bytes a lane of each ldmatrix: added to a step's copies."""
    for number, loop in enumerate(code["loops"]):
        if set(loop["roles"]) & set(warps_of) or not opcode_count(loop["always"], "STSM") or loop["parent"] is None:
            continue
        each = opcode_count(loop["always"], "LDSM") * 16 * LANES
        warps = sum(last - first + 1 for role in loop["roles"] for first, last in code["roles"][role]["warps"])
        times = variant["tile_kv"] * variant["head_dim"] / each
        graph, inner = Graph(code, loop["roles"][0]), None
        while loop["depth"] > 1:
            part, first = graph.inside(code, number)
            ways = part.always(inner, first) if inner is not None else set()
            for i in sorted(ways | set(loop["main_path"])):
                if code["blocks"][i]["loop"] == number and i not in graph.retried:
                    add(passes, "copies", code["blocks"][i]["counts"], times)
            inner = first
            if loop["depth"] == 2:
                for i in blocks_of_tile(code, graph, number):
                    add(passes, "first", code["blocks"][i]["counts"], warps)
            number, loop = loop["parent"], code["loops"][loop["parent"]]
            times = warps * (variant["head_dim"] // PANEL if loop["depth"] > 2 else 1)


def add_masks(passes, code, blocks, graph, step, one_mask=False):
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
        if one_mask:
            names[mask].append("begin")
    for i in blocks:
        counts = code["blocks"][i]["counts"]
        if i in names:
            for name in names[i]:
                add(passes, name, counts)
        elif i not in graph.retried and not is_rare(counts, step):
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


def add_around(passes, code, graph, number, stored, rescales_later):
    """What stands around the loop over keys. Returns the number of steps before it. `rescales_later`: results are
    rescaled in the next step, behind the last one's products, and stored by rows."""
    loop = code["loops"][number]
    whole = outer(code, loop["parent"])
    header = next(i for i in loop["blocks"] if code["blocks"][i]["first"] == loop["header"])
    products = [i for i, block in graph.blocks.items()
                if block["counts"]["kinds"].get("matrix") and not within(code, i, number)]
    before = [i for i in products if i < header]
    anchor = min(before) if before else header
    first = min(graph.blocks)
    if whole is not None:  # blocks that claim tiles
        for i in graph.always(anchor, min(graph.blocks)):
            if not within(code, i, whole):
                add(passes, "launch", code["blocks"][i]["counts"])
        graph, first = graph.inside(code, whole)
    every, through = graph.always(first, first), graph.always(anchor, first)
    some = through | behind_one(graph, anchor, before, first)
    again = [block["counts"]["opcodes"] for i, block in graph.blocks.items()  # of passes before another one
             if within(code, i, number) and i not in loop["main_path"] and not is_mask(block["counts"], loop["always"])]
    for i, block in graph.blocks.items():
        counts = block["counts"]
        if opcode_count(counts, "LDGSTS") and i < header and i not in every | some:
            some.add(i)  # copies under a condition of their own, which is that of the loop
        if not rescales_later:
            continue
        if opcode_count(counts, "STG"):
            every.add(i)  # results and statistics of some rows, which almost all tiles have
    for i in every | some:
        if i not in through and i > anchor and (is_rare(code["blocks"][i]["counts"], loop["always"]) or
                                                code["blocks"][i]["counts"]["opcodes"] in again):
            continue  # what stands before the first pass as before each later one is counted with those
        if within(code, i, number) or i in graph.retried:
            continue
        if i not in through and is_mask(code["blocks"][i]["counts"], loop["always"]):
            continue  # results that lanes exchange have selections too, but are on every way
        counts = code["blocks"][i]["counts"]
        own = code["blocks"][i]["loop"]
        times = 1
        if own is not None and own != whole:  # results are stored in a loop: as many passes as bytes ask for
            stores = opcode_count(code["loops"][own]["always"], "STG")
            if not stores:  # each store of a pass asks whether its row is there
                rows = [block for block in code["loops"][own]["blocks"]
                        if opcode_count(code["blocks"][block]["counts"], "STG")]
                stores = sum(opcode_count(code["blocks"][block]["counts"], "STG") for block in rows)
                if i == min(code["loops"][own]["blocks"]):
                    for block in rows:
                        add(passes, "once", code["blocks"][block]["counts"], stored / (STORE * stores))
            if not stores and not opcode_count(code["loops"][own]["always"], "LDS"):
                raise ValueError(f"the loop at {code['loops'][own]['header']} has unknown passes")
            times = stored / (STORE * stores) if stores else 1  # a search that ends at once
        add(passes, "once" if i in every else "live", counts, times)
    return len(before) and 1


def passes_of(code, variant, header={}):
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
            if not opcode_count(inner["always"], "UTMALDG", "LDS"):
                raise ValueError(f"the loop at {inner['header']} has unknown passes")
            # The compiler's loop over lanes with different addresses, all lanes have one; a search that ends at once.
            add(passes, "step" if main in inner["roles"] else "copies", inner["always"])
    add_masks(passes, code, sorted(own), graph, loop["always"], header.get("one_mask", False))
    if header.get("one_mask"):
        add_list(passes, code)
    add_transposes(passes, code, variant, warps_of)
    stored = variant["tile_q"] * variant.get("v_head_dim", variant["head_dim"]) * VALUE / (warps * LANES)
    before = add_around(passes, code, graph, number, stored, header.get("rescales_later", False))
    for role in range(len(code["roles"])):
        if role not in warps_of:
            add_copies(passes, code, role, warps // 4)
    return passes, before, warps, main
