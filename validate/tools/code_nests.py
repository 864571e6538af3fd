"""Ways through machine code whose steps are no loop over keys of a forward pass: products by multiply-adds, backward passes,
loops over keys around loops over queries, rows, roles that share a step. code_launch_lines.py makes lines of code.json of them."""
from code_passes import Graph, add, is_mask, within
from code_paths import Flow, opcode_count

FAR = ("STG", "UTMASTG", "REDG", "RED", "UTMAREDG")
PRODUCTS = ("HMMA", "HGMMA", "IGMMA", "QGMMA")


def passes_of_loop(pass_counts, wanted, opcode):
    """How often a loop runs whose passes together have so many of an opcode."""
    each = opcode_count(pass_counts, opcode)
    return wanted // each if each else 1


def longest(flow, start, ends, prefer):
    """The way with the most of what `prefer` counts, without slow ways of one lane."""
    def cost(i):
        counts = flow.counts(i)
        return (opcode_count(counts, "WARPSYNC") > 0 and opcode_count(counts, "SHFL") + counts["instructions"] < 9,
                -prefer(i), -counts["instructions"])
    return flow.best(start, ends, cost) or []


def bank_waits(code, loop):
    """Clocks of a pass in which a scheduler waits for register banks; they are no GPU's, but `inspect --hardware` prints them."""
    return next((round(each["banks"] - each["issue"]) for each in code["bounds"]["loops"]
                 if code["loops"][each["loop"]] is loop), 0)


def round_pieces(code, entry, sizes, evaluated):
    """Products by multiply-adds: a round loads parts of both operands, passes a barrier, and multiplies. Returns passes by
    name; `matrix` counts the multiply-adds of the products."""
    flow = Flow(code)
    product = max((l for l in code["loops"] if opcode_count(l["always"], "LDS") and opcode_count(l["always"], "FFMA")),
                  key=lambda l: opcode_count(l["always"], "FFMA"))
    rounds = code["loops"][product["parent"]]
    header = flow.first[rounds["header"]]
    body = set(rounds["blocks"]) | {b for i, l in enumerate(code["loops"]) if l["parent"] is not None and
                                    code["loops"][l["parent"]] is rounds for b in l["blocks"]}
    inner = [l for l in code["loops"] if l is not product and l["parent"] == product["parent"]]
    first_of = {flow.first[l["header"]]: l for l in inner}
    wanted = dict(zip(sorted(first_of), (evaluated(how, sizes) for how in entry["loads"])))
    multiplies = evaluated(entry["products"], sizes)
    passes = {}
    latches = {i for i in body if header in flow.blocks[i]["successors"]}
    # Rows are whole tiles: their loads stand in loops, not in what is left over of them.
    way = flow.best(header, latches, lambda i: (i not in first_of and opcode_count(flow.counts(i), "LDG"),
                                                -(i in first_of), flow.counts(i)["instructions"]))
    at_product = flow.first[product["header"]]
    for i in way:
        times = 1
        if i == at_product:
            times = passes_of_loop(product["always"], multiplies, "FFMA")
        elif i in first_of:
            times = passes_of_loop(first_of[i]["always"], wanted[i], "LDG")
        add(passes, "step", flow.counts(i), times)
    passes["step"]["ffma"] -= multiplies
    passes["step"]["matrix"] = multiplies
    passes["step"]["bank_waits"] = passes_of_loop(product["always"], multiplies, "FFMA") * bank_waits(code, product)
    before = longest(flow, 0, {header}, lambda i: 0)
    exits = sorted({n for i in latches for n in flow.blocks[i]["successors"] if n not in body})
    behind = longest(flow, exits[0], flow.ends(), lambda i: opcode_count(flow.counts(i), *FAR))
    for i in before[:-1] + behind:
        add(passes, "once", flow.counts(i))
    return passes


def softmax_pieces(code, *_):
    """A block that owns a row: every warp's part, the first warp's, and what a packet of 32 lanes adds."""
    flow = Flow(code)
    ends = flow.ends()
    passes = {}
    exponentials = [i for i in flow.next if flow.counts(i)["special"].get("EX2")]
    alone = {i for i in flow.next if any(i not in (flow.best(0, {end}, lambda n, i=i: (n == i,)) or [i]) for end in ends)}
    way = flow.best(0, ends, lambda i: (opcode_count(flow.counts(i), "WARPSYNC") and
                                        flow.counts(i)["instructions"] < 9, -flow.counts(i)["instructions"]))
    for i in way:
        if i in exponentials:
            continue
        add(passes, "tail" if i == way[-1] else "first" if i in alone else "once", flow.counts(i))
    add(passes, "step", flow.counts(exponentials[0]))
    for counts in passes.values():  # divisions stand in code of every packet, and are executed for keys that exist
        counts.pop("fmul", None)
    passes["step"]["fmul"] = passes["step"]["xu"]
    return passes


def exits_of(code, number, blocks):
    return {i for i in blocks if any(not within(code, n, number) for n in code["blocks"][i]["successors"])}


class Nest:
    """One role's way through steps in a loop, which may stand in a loop over tiles."""

    def __init__(self, code, role, entry, sizes, evaluated):
        self.code, self.graph, self.entry = code, Graph(code, role), entry
        self.keep_first_tries(role)
        self.stores = evaluated(entry["stores"], sizes) if "stores" in entry else 0
        self.products = evaluated(entry["products"], sizes) if "products" in entry else 0
        self.boxes = evaluated(entry["boxes"], sizes) if "boxes" in entry else 0
        self.number = self.step_loop(role)
        self.flow = Flow(code)
        self.flow.next = {i: [n for n in following if n in self.flow.next and n in self.graph.blocks]
                          for i, following in self.graph.next.items()}
        self.headers = {self.flow.first[l["header"]]: l for l in code["loops"] if not l["waits"]}
        for l in code["loops"]:  # without edges back
            at = self.flow.first[l["header"]]
            for i in l["blocks"]:
                if i in self.flow.next:
                    self.flow.next[i] = [n for n in self.flow.next[i] if n != at]

    def keep_first_tries(self, role):
        """Waits that every way passes: their loop is executed once."""
        waits = {i for i, loop in enumerate(self.code["loops"]) if loop["waits"]}
        for i in sorted(self.graph.blocks):
            for n in self.code["blocks"][i]["successors"]:
                block = self.code["blocks"][n]
                if not self.graph.next[i] and role in block["roles"] and block["loop"] in waits:
                    self.graph.blocks[n] = block
                    self.graph.next[i] = [n]
                    self.graph.next[n] = [m for m in block["successors"] if m in self.graph.blocks and m != n]

    def step_loop(self, role):
        loops = [i for i, l in enumerate(self.code["loops"]) if role in l["roles"] and not l["waits"] and
                 opcode_count(l["always"], *PRODUCTS)]
        with_softmax = [i for i in loops if self.code["loops"][i]["always"]["special"].get("EX2")]
        found = with_softmax or loops
        return max(found, key=lambda i: self.code["loops"][i]["always"]["instructions"]) if found else None

    def copy_loop(self, role):
        loops = [i for i, l in enumerate(self.code["loops"]) if l["roles"] and role in l["roles"] and not l["waits"] and
                 l["parent"] is None]
        return max(loops, key=lambda i: len(self.code["loops"][i]["blocks"])) if loops else None

    def times(self, i):
        loop = self.headers.get(i)
        if loop is None or len(loop["blocks"]) > 12:
            return 1
        counts = loop["always"]
        for opcode, wanted in (("STG", self.stores), ("UTMALDG", self.boxes), ("HGMMA", self.products)):
            each = opcode_count(counts, opcode)
            if not each:
                each = sum(opcode_count(self.flow.counts(b), opcode) for b in loop["blocks"])
            if each and wanted:
                return wanted / each
        return 1

    def way(self, start, ends, cost):
        return self.flow.best(start, ends, cost) or []

    def weight(self, i, copies):
        counts = self.flow.counts(i)
        step = self.code["loops"][self.number]["always"] if self.number is not None else {"special": {}}
        mask = bool(step["special"].get("EX2")) and is_mask(counts, step)
        return (opcode_count(counts, "WARPSYNC") > 0, mask, copies * opcode_count(counts, "LDGSTS"),
                -opcode_count(counts, *FAR, "UTMALDG", *PRODUCTS), opcode_count(counts, "BAR"), counts["instructions"])

    def add_way(self, passes, name, way, factor=1):
        times = 1
        inside = None
        for i in way:
            own = self.code["blocks"][i]["loop"]
            if i in self.headers and self.code["loops"].index(self.headers[i]) != self.number:
                times, inside = self.times(i), own
            elif own != inside:
                times, inside = 1, None
            add(passes, name, self.flow.counts(i), times * factor)


def consumer_pieces(code, role, entry, sizes, evaluated):
    """Passes of a role that multiplies, and whether its first step stands before the loop."""
    nest = Nest(code, role, entry, sizes, evaluated)
    passes, number = {}, nest.number
    first = min(nest.graph.blocks)
    ends = nest.flow.ends()

    def plain(i):
        return nest.weight(i, 1)

    if number is None:
        nest.add_way(passes, "once", nest.way(first, ends, plain))
        return passes, 0
    loop = code["loops"][number]
    header = nest.flow.first[loop["header"]]
    body = {i for i in nest.graph.blocks if within(code, i, number)}
    latches = {i for i in body if header in nest.graph.next[i]}
    step = nest.way(header, latches, plain)
    nest.add_way(passes, "step", step)
    copying = [i for i in nest.way(header, latches, lambda i: nest.weight(i, -1)) if i not in step]
    own = entry.get("step_copies", 0)
    for i in copying:
        each = opcode_count(nest.flow.counts(i), "LDGSTS") > 0
        nest.add_way(passes, "step" if own > 0 and each else "ahead", [i])
        own -= each
    masks = sorted((i for i in body if is_mask(nest.flow.counts(i), loop["always"]) and i not in step),
                   key=lambda i: -nest.flow.counts(i)["instructions"]) if loop["always"]["special"].get("EX2") else []
    for i, name in zip(masks[:2], ("end", "tail")):
        nest.add_way(passes, name, [i])
    if len(masks) == 1:
        nest.add_way(passes, "tail", masks)
    for i in body:  # of steps in several passes, what one of them does
        if entry.get("parts", 1) > 1 and i not in step and i not in masks and i not in nest.graph.retried and opcode_count(
                nest.flow.counts(i), "SYNCS"):
            nest.add_way(passes, "each", [i])
    leaves = [i for i in step if i in exits_of(code, number, body)]
    parent = loop["parent"]
    outside = [i for i in nest.graph.blocks if i not in body and (parent is None or within(code, i, parent))]
    around = nest.flow.first[code["loops"][parent]["header"]] if parent is not None else first
    before = nest.way(around, {header}, plain)[:-1]
    following = [n for n in nest.graph.next[leaves[0]] if n not in body]
    until = ends if parent is None else {i for i in outside if around in nest.graph.next[i]}
    behind = nest.way(following[0], until, plain)
    early = any(opcode_count(nest.flow.counts(i), *PRODUCTS) for i in before)
    name = "live" if early or parent is not None else "once"
    nest.add_way(passes, name, before + behind)
    if early and leaves[0] not in latches:  # the part of a step before the way out, of the last one
        nest.add_way(passes, name, step[:step.index(leaves[0]) + 1])
    if parent is not None:
        last = max(until)
        nest.add_way(passes, "once", nest.way(first, {around}, plain)[:-1])
        nest.add_way(passes, "once", nest.way(next(n for n in nest.graph.next[last] if n != around), ends, plain))
    return passes, int(early)


def copier_pieces(code, role, entry, sizes, evaluated):
    """Passes of a role that copies: a step's, and what it does once."""
    nest = Nest(code, role, entry, sizes, evaluated)
    number, passes = nest.copy_loop(role), {}
    first = min(nest.graph.blocks)

    def most(i):
        loads = opcode_count(nest.flow.counts(i), "LDG") * (-1 if entry.get("paged", True) else 1)
        return (loads - opcode_count(nest.flow.counts(i), "UTMALDG", "STS"), nest.flow.counts(i)["instructions"])

    if number is None:
        nest.add_way(passes, "first", nest.way(first, nest.flow.ends(), most))
        return passes
    loop = code["loops"][number]
    header = nest.flow.first[loop["header"]]
    body = {i for i in nest.graph.blocks if within(code, i, number)}
    latches = {i for i in body if header in nest.graph.next[i]}
    step = nest.way(header, latches, most)
    boxes = sum(opcode_count(nest.flow.counts(i), "UTMALDG") for i in step)
    nest.number = number
    whole = evaluated(entry["step_boxes"], sizes) if "step_boxes" in entry else 0
    nest.add_way(passes, "copies", step)
    if whole and boxes:  # a pass of the loop copies for several steps
        passes["copies"] = {key: round(value * whole / boxes) for key, value in passes["copies"].items()}
    nest.add_way(passes, "first", nest.way(first, {header}, most)[:-1])
    return passes


def nest_pieces(code, entry, sizes, evaluated):
    """Passes of a launch, warps that they are for, and the steps before the loop. Roles that differ are joined: counts are
    those of as many warps as the smallest role that multiplies has."""
    def warps(role):
        return sum(last - first + 1 for first, last in code["roles"][role]["warps"])
    multiply = {}
    for role in range(len(code["roles"])):
        loops = [i for i, l in enumerate(code["loops"]) if role in l["roles"] and not l["waits"] and
                 opcode_count(l["always"], *PRODUCTS)]
        if loops or len(code["roles"]) == 1:
            multiply.setdefault(tuple(sorted(loops)), []).append(role)
    sums = {loops: sum(warps(role) for role in roles) for loops, roles in multiply.items()}
    base = min(sums.values())
    passes, before = {}, 0
    for loops, roles in multiply.items():
        own, early = consumer_pieces(code, max(roles, key=warps), entry, sizes, evaluated)
        before = max(before, early)
        for name, counts in own.items():
            total = passes.setdefault(name, {})
            for key, value in counts.items():
                total[key] = total.get(key, 0) + value * sums[loops] // base
    parts = entry.get("parts", 1)  # passes of the loop in a step
    if parts > 1:
        once = passes.get("live" if before else "once")
        for key, value in passes["step"].items():
            if before:
                once[key] = once.get(key, 0) + (parts - 1) * value
            passes["step"][key] = parts * value
        for key, value in passes.pop("each", {}).items():
            passes["step"][key] += value
        for name in ("end", "tail"):
            passes[name] = {key: parts * value for key, value in passes.get(name, {}).items()}
    joined = [role for roles in multiply.values() for role in roles]
    for role in range(len(code["roles"])):
        if role in joined:
            continue
        for name, counts in copier_pieces(code, role, entry, sizes, evaluated).items():
            total = passes.setdefault(name, {})
            for key, value in counts.items():
                total[key] = total.get(key, 0) + value * entry.get("copy_warps", warps(role))
    return passes, base, before
