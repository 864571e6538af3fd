"""Ways through a kernel's machine code: pieces that code_json.py counts in kernels which copy tiles for later steps by
all their threads (`lead` of the header), and in launches without products (`launches` of the header)."""


LANES, STORE = 32, 16  # lanes of a warp; bytes of a store of results


def opcode_count(counts, *names):
    return sum(number for opcode, number in counts["opcodes"].items() if opcode.split(".")[0] in names)


class Flow:
    """Blocks that are reached, without edges back to a loop's header: a graph without cycles."""

    def __init__(self, code):
        self.blocks = code["blocks"]
        headers = {loop["header"]: set(loop["blocks"]) for loop in code["loops"]}
        self.first = {block["first"]: i for i, block in enumerate(self.blocks)}
        self.loop_of = {self.first[header]: blocks for header, blocks in headers.items()}
        self.next = {}
        for i, block in enumerate(self.blocks):
            if block["reached"]:
                back = {self.first[header] for header, blocks in headers.items() if i in blocks}
                self.next[i] = [n for n in block["successors"] if n not in back]
        self.memory = {}

    def counts(self, i):
        return self.blocks[i]["counts"]

    def best(self, start, ends, cost):
        """The blocks of the cheapest way from `start` to one of `ends`; None: there is none. Cost: numbers of a block,
        compared in their order."""
        found = {}

        def way(i):
            if i in found:
                return found[i]
            here = cost(i)
            if i in ends:
                found[i] = (here, [i])
                return found[i]
            ways = [w for w in (way(n) for n in self.next[i]) if w]
            found[i] = None
            if ways:
                least = min(ways, key=lambda w: w[0])
                found[i] = (tuple(a + b for a, b in zip(here, least[0])), [i, *least[1]])
            return found[i]

        result = way(start)
        return result[1] if result else None

    def ends(self):
        return {i for i, following in self.next.items() if not following}


def paged_cost(paged, counts):
    """Loads of a table of pages, and addresses that follow from a page, are wanted or not: two numbers."""
    loads = opcode_count(counts, "LDG")
    works = opcode_count(counts, "LDGSTS", "LDSM", "LDS", "STS", "STG", "HMMA")
    far = counts["instructions"] >= 20 and not works and not loads
    return (-loads, -far) if paged else (loads, 0)


def ways_of(code, number, paged):
    """Blocks by piece: of a kernel that copies by all threads, with a loop over keys."""
    flow = Flow(code)
    loop = code["loops"][number]
    body = set(loop["blocks"])
    header = flow.first[loop["header"]]
    latches = {i for i in body if header in flow.blocks[i]["successors"]}
    outside = {i for i in flow.loop_of if i not in body}

    def cost(copies, masks, size=1):
        def of(i):
            counts = flow.counts(i)
            # Slow ways (WARPSYNC) and copies of a tile that ends early, which take more instructions, are left out.
            return (opcode_count(counts, "WARPSYNC") > 0, -(i in outside), -copies * opcode_count(counts, "LDGSTS"),
                    masks * opcode_count(counts, "FSEL"), *paged_cost(paged, counts), size * counts["instructions"])
        return of

    before = flow.best(0, {header}, cost(-1, 0))
    filling = flow.best(0, {header}, cost(1, 0))
    step = flow.best(header, latches, cost(-1, 1))
    copying = flow.best(header, latches, cost(1, 1))
    masked = flow.best(header, latches, cost(-1, -1))
    exits = sorted({n for i in latches for n in flow.blocks[i]["successors"] if n not in body})
    after = flow.best(exits[0], flow.ends(), cost(0, 0))
    storing = flow.best(exits[0], flow.ends(), cost(0, 0, -1))
    return {"once": before[:-1] + after, "fill": rest(filling, before), "step": step, "ahead": rest(copying, step),
            "end": rest(masked, step), "first": rest(storing, after)}


def rest(way, without):
    """Blocks of a way that another one leaves out; both may have blocks of their own."""
    return [i for i in way if i not in without], [i for i in without if i not in way]


def pieces(code, number, paged, add):
    """Passes of the kernel: `add(name, counts, times)` is called for each block."""
    for name, blocks in ways_of(code, number, paged).items():
        more, less = blocks if isinstance(blocks, tuple) else (blocks, [])
        for sign, these in ((1, more), (-1, less)):
            for i in these:
                add(name, code["blocks"][i], sign)


def regions(flow):
    """Blocks that every way to an end has, in their order."""
    ends = flow.ends()
    every = None
    for avoided in sorted(flow.next):
        def cost(i, avoided=avoided):
            return (i == avoided,)
        if avoided != 0 and any(avoided not in flow.best(0, {end}, cost) for end in ends):
            continue
        every = [*(every or []), avoided]
    return every


def ways_between(flow, start, end):
    if start == end:
        return [[]]
    return [[i, *more] for i in flow.next[start] for more in
            ([[]] if i == end else ways_between(flow, i, end))]


def launch_pieces(code, add, loop_add):
    """A launch without products: blocks on every way, one warp's of a block, one warp's of a row, loops in pairs: one for
    the steps left over, one for whole groups."""
    flow = Flow(code)
    last = max(flow.ends())
    always = regions(flow)
    pair = 0
    for at, until in zip(always, always[1:] + [None]):
        add("row" if at == last and "STG" in {o.split(".")[0] for o in flow.counts(at)["opcodes"]} else "once",
            flow.blocks[at], 1)
        if until is None:
            break
        ways = ways_between(flow, at, until)
        between = {i for way in ways for i in way} - {until}
        loops = sorted(i for i in between if i in flow.loop_of)
        if not loops:
            for i in sorted(between):
                add("first" if opcode_count(flow.counts(i), "LDS", "STG") else "step", flow.blocks[i], 1)
            continue
        if len(loops) != 2:
            raise ValueError(f"{len(loops)} loops from {flow.blocks[at]['first']}, not two")
        left, main = loops
        taken = [set(way) for way in ways]
        for i in sorted(between - set(loops)):
            if all(i in way for way in taken if left in way or main in way):
                loop_add(pair, "some", flow.blocks[i])
            elif all(i in way for way in taken if left in way):
                loop_add(pair, "around_left", flow.blocks[i])
            elif all(i in way for way in taken if main in way):
                loop_add(pair, "around_groups", flow.blocks[i])
        loop_add(pair, "left", flow.blocks[left])
        loop_add(pair, "of_group", flow.blocks[main])
        pair += 1
