"""What one warp alone spends on a piece of machine code in launches whose products, if any, are multiply-adds: its instructions
are executed in order, with their stall counts and scoreboards.

    clocks          if memory and special functions answered at once
    load_waits      waits for loads from global memory, of those that follow on each other
    special_waits   the same for special functions
    shared_waits    the same for loads from shared memory, as times SHARED_LATENCY of the clocks that they add: compilers
                    place other work behind these loads, which hides a part
    barriers        of the block, that the warp passes
"""
import re

OPCODE = re.compile(r"(?:@!?U?P\w+ )?(\w+)")
SHARED_LATENCY = 30  # clocks of compute capability 9.0 (smem.latency of its profiles)
LONG = 10**6  # clocks beyond all other work of a piece: the waits that nothing hides


def list_instructions(kernel):
    """The kernel's code, with the instructions of each block in its counts, which `add` of code_passes.py collects, and the
    bounds of its loops. Needs what `inspect --instructions --hardware ID` prints."""
    if "instruction_list" not in kernel["code"] or "bounds" not in kernel:
        raise ValueError(f"{kernel['kernel']}: waits need what `inspect --instructions --hardware h200_sxm` prints")
    code = {**kernel["code"], "bounds": kernel["bounds"]}
    listed = [(int(each["address"], 16), each) for each in code["instruction_list"]]
    for block in code["blocks"]:
        first, last = int(block["first"], 16), int(block["last"], 16)
        block["counts"]["listing"] = [each for address, each in listed if first <= address <= last]
    return code


def opcode_of(instruction):
    return OPCODE.match(instruction["text"]).group(1)


def clocks_of(listing, latencies):
    """Clocks of a warp by itself. `latencies`: by opcode; results of others come at once."""
    now, ready = 0, {}
    for each in listing:
        now = max([now, *(ready.get(board, 0) for board in each["waits_for"])])
        board = each["result_scoreboard"]
        if board is not None:
            ready[board] = max(ready.get(board, 0), now + latencies.get(opcode_of(each), 0))
        now += max(1, each["stall"])
    return now


def waits_of(listing):
    """These counts of a piece."""
    clocks = clocks_of(listing, {})
    return {"clocks": clocks,
            "load_waits": clocks_of(listing, {"LDG": LONG}) // LONG,
            "special_waits": clocks_of(listing, {"MUFU": LONG}) // LONG,
            "shared_waits": round((clocks_of(listing, {"LDS": SHARED_LATENCY}) - clocks) / SHARED_LATENCY),
            "barriers": sum(opcode_of(each) == "BAR" for each in listing)}


def finish(counts):
    """Replaces the listing that a piece has collected."""
    if "listing" in counts:
        counts.update({key: value for key, value in waits_of(counts.pop("listing")).items() if value})
    return counts
