#!/usr/bin/env python3
"""Tests of code_json.py on code of a few blocks, of which each piece is known."""
import json
import os
import pathlib
import random
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import code_flash
import code_json
import code_launch_lines
import code_nests
import code_waits

KINDS = {"HMMA": "matrix", "HGMMA": "matrix", "MUFU": "special", "FSEL": "select", "FMNMX": "compare", "IADD3": "integer",
         "VIADD": "integer", "F2FP": "conversion", "LDSM": "load", "LDGSTS": "async_copy", "STG": "store", "SHFL": "shuffle"}


def counts(**opcodes):
    kinds = {}
    for opcode, number in opcodes.items():
        kind = KINDS.get(opcode, "uniform")
        kinds[kind] = kinds.get(kind, 0) + number
    return {"instructions": sum(opcodes.values()), "opcodes": opcodes, "kinds": kinds,
            "special": {"EX2": opcodes["MUFU"]} if "MUFU" in opcodes else {},
            "matrix": [{"threads": 32}] if "HMMA" in opcodes else [],
            "memory": [{"kind": kind, "memory": "local", "thread_bytes": 4, "count": opcodes[opcode], "alternative": 0}
                       for opcode, kind in (("LDL", "load"), ("STL", "store")) if opcode in opcodes]}


def total(blocks, numbers):
    opcodes = {}
    for number in numbers:
        for opcode, count in blocks[number][2].items():
            opcodes[opcode] = opcodes.get(opcode, 0) + count
    return counts(**opcodes)


def code_of(blocks, loops, roles=({"warps": [[0, 3]], "registers": None},)):
    """blocks: (successors, loop, opcodes[, roles]); loops: (parent, main path, waits)."""
    return {"counts": total(blocks, range(len(blocks))), "roles": list(roles),
            "blocks": [{"first": f"0x{i}", "successors": b[0], "loop": b[1], "reached": True,
                        "roles": list(b[3]) if len(b) > 3 else [0], "counts": counts(**b[2])}
                       for i, b in enumerate(blocks)],
            "loops": [{"header": f"0x{main[0]}", "parent": parent, "depth": 1 if parent is None else 2,
                       "blocks": [i for i, b in enumerate(blocks) if b[1] == number], "main_path": main,
                       "roles": list(blocks[main[0]][3]) if len(blocks[main[0]]) > 3 else [0], "waits": waits,
                       "always": total(blocks, main)}
                      for number, (parent, main, waits) in enumerate(loops)]}


VARIANT = {"head_dim": 64, "tile_q": 64, "tile_kv": 32}


class Passes(unittest.TestCase):
    def test_blocks_of_a_loop_are_told_apart_by_what_they_do(self):
        code = code_of([([1, 9], None, {"IADD3": 3}),
                        ([2, 3], 0, {"HMMA": 8, "MUFU": 4, "FMNMX": 4, "VIADD": 2, "LDSM": 2}),
                        ([3], 0, {"LDGSTS": 2, "IADD3": 1}),
                        ([4, 5], 0, {"R2UR": 1}),
                        ([5], 0, {"LDSM": 4}),
                        ([6, 8], 0, {"F2FP": 2}),
                        ([7, 10], 0, {"IADD3": 1}),
                        ([8], 0, {"FSEL": 4, "IADD3": 2}),
                        ([1, 9], 0, {"SHFL": 2}),
                        ([11], None, {"IADD3": 2}),
                        ([8], 0, {"FSEL": 4}),
                        ([11, 12], 1, {"STG": 2, "IADD3": 1}),
                        ([], None, {"EXIT": 1})],
                       [(None, [1, 3, 5, 8], False), (None, [11], False)])
        passes, before, warps, role = code_json.passes_of(code, VARIANT)
        self.assertEqual((before, warps, role), (0, 4, 0))
        self.assertEqual(passes["step"], {"instructions": 25, "matrix": 8, "xu": 4, "maxima": 4, "alu": 5, "ldsm": 2,
                                          "conversion": 2, "shuffle": 2})
        self.assertEqual(passes["ahead"], {"instructions": 3, "ldgsts": 2, "alu": 1})
        self.assertEqual(passes["end"], {"instructions": 7, "alu": 7})
        self.assertEqual(passes["tail"], {"instructions": 5, "alu": 5})
        self.assertEqual(passes["live"], {"instructions": 4, "ldsm": 4})
        # 64 x 64 results of 2 bytes by 128 threads: 4 stores of 16 bytes a thread, 2 passes of the loop that stores.
        self.assertEqual(passes["once"], {"instructions": 3 + 2 + 2 * 3 + 1, "alu": 3 + 2 + 2})

    def test_a_step_before_the_loop_and_blocks_that_claim_tiles(self):
        roles = ({"warps": [[0, 0]], "registers": 24}, {"warps": [[4, 7]], "registers": 240})
        code = code_of([([1, 8], None, {"IADD3": 1}, (0, 1)),
                        ([2, 6], 1, {"IADD3": 2}, (1,)),
                        ([3, 4], 1, {"HGMMA": 4, "MUFU": 4}, (1,)),
                        ([4], 1, {"FSEL": 4}, (1,)),
                        ([5, 6], 1, {"UMOV": 1}, (1,)),
                        ([5, 6], 0, {"HGMMA": 8, "MUFU": 4}, (1,)),
                        ([1, 7], 1, {"STG": 1}, (1,)),
                        ([], None, {"EXIT": 1}, (1,)),
                        ([9], 3, {"UMOV": 1}, (0,)),
                        ([9, 8], 2, {"UTMALDG": 4, "UMOV": 16}, (0,))],
                       [(1, [5], False), (None, [1, 2, 4, 6], False), (3, [9], False), (None, [8], False)], roles)
        passes, before, warps, role = code_json.passes_of(code, VARIANT)
        self.assertEqual((before, warps, role), (1, 4, 1))
        self.assertEqual(passes["step"], {"instructions": 12, "matrix": 8, "xu": 4})
        self.assertEqual(passes["once"], {"instructions": 2 + 1, "alu": 2})  # of tiles without a key too
        self.assertEqual(passes["live"], {"instructions": 8 + 1, "matrix": 4, "xu": 4})
        self.assertEqual(passes["launch"], {"instructions": 2, "alu": 1})
        self.assertEqual(passes["copies"], {"instructions": 10})  # half of a pass with four copies: K and V of two steps

    def test_first_steps_of_two_widths_rare_blocks_and_copies_in_loops_over_lanes(self):
        roles = ({"warps": [[0, 0]], "registers": 24}, {"warps": [[4, 7]], "registers": 240})
        code = code_of([([1, 11], None, {"BRA": 1}, (0, 1)),
                        ([2, 10], 1, {"IADD3": 2}, (1,)),
                        ([3, 5], 1, {"BRA": 1}, (1,)),
                        ([4, 6], 1, {"HGMMA": 4, "MUFU": 4, "VOTE": 1}, (1,)),
                        ([6], 1, {"FMNMX": 8}, (1,)),  # rare: maxima again
                        ([6], 1, {"HGMMA": 2, "MUFU": 2}, (1,)),  # over fewer keys
                        ([7, 9], 1, {"CS2R": 3}, (1,)),
                        ([8], 1, {"IADD3": 3}, (1,)),  # before the loop
                        ([8, 9], 0, {"HGMMA": 8, "MUFU": 4}, (1,)),
                        ([10], 1, {"HGMMA": 4}, (1,)),
                        ([1, 15], 1, {"STG": 1}, (1,)),
                        ([12], 3, {"IADD3": 5, "UTMALDG": 2}, (0,)),  # of a tile: Q, and K of its first step
                        ([13], 2, {"IADD3": 1, "UMOV": 3}, (0,)),
                        ([13, 14], 4, {"ELECT": 1, "UTMALDG": 2}, (0,)),
                        ([12, 16], 2, {"UMOV": 1}, (0,)),
                        ([], None, {"EXIT": 1}, (1,)),
                        ([11, 15], 3, {"IADD3": 4}, (0,))],
                       [(1, [8], False), (None, [1, 2, 6, 10], False), (3, [12, 14], False), (None, [11, 16], False),
                        (2, [13], False)], roles)
        code["loops"][4]["depth"] = 3
        passes, before, _, role = code_json.passes_of(code, VARIANT, {"rescales_later": True})
        self.assertEqual((before, role), (1, 1))
        self.assertEqual(passes["copies"], {"instructions": 8, "alu": 2})
        # A warpgroup has one copy of Q; the other one outside of the loop is half of a step's.
        self.assertEqual(passes["first"], {"instructions": 7 + 4 - 4, "alu": 5 + 4 - 1})
        self.assertEqual(passes["live"], {"instructions": 1 + 9 + 3 + 3 + 4, "matrix": 8, "xu": 4, "alu": 1 + 3 + 3})
        self.assertEqual(passes["once"], {"instructions": 2 + 1, "alu": 2})

    def test_code_without_a_loop_over_keys_is_refused(self):
        code = code_of([([], None, {"IADD3": 1})], [])
        with self.assertRaisesRegex(ValueError, "0 loops with matrix products and exponentials"):
            code_json.passes_of(code, VARIANT)


class Ways(unittest.TestCase):
    def test_copies_before_and_in_the_loop_masks_and_stores_are_told_apart(self):
        code = code_of([([1, 2], None, {"IADD3": 3}),
                        ([2], None, {"LDGSTS": 4, "IADD3": 1}),  # copies the first tile
                        ([3], None, {"LDSM": 2}),
                        ([4, 8], 0, {"IADD3": 1}),
                        ([5, 6], 0, {"IADD3": 2}),
                        ([7], 0, {"LDG": 1, "IADD3": 1}),  # with a table of pages
                        ([7], 0, {"IADD3": 2}),
                        ([8], 0, {"LDGSTS": 4}),
                        ([9, 10], 0, {"HMMA": 8}),
                        ([10], 0, {"FSEL": 4}),
                        ([3, 11], 0, {"MUFU": 4}),
                        ([12, 13], None, {"SHFL": 1}),
                        ([13], None, {"STG": 1}),  # one warp's
                        ([], None, {"EXIT": 1})], [(None, [3, 8, 10], False)])
        for block in code["blocks"]:
            block["counts"]["kinds"].setdefault("none", 0)
        names = {name: blocks if isinstance(blocks, list) else blocks[0]
                 for name, blocks in code_json.code_paths.ways_of(code, 0, False).items()}
        self.assertEqual(names, {"once": [0, 2, 11, 13], "fill": [1], "step": [3, 8, 10], "ahead": [4, 6, 7],
                                 "end": [9], "first": [12]})
        paged = code_json.code_paths.ways_of(code, 0, True)
        self.assertEqual(paged["ahead"][0], [4, 5, 7])

    def test_loops_over_steps_come_in_pairs(self):
        code = code_of([([1, 5], None, {"IADD3": 1}),
                        ([2, 3], None, {"IADD3": 2}),
                        ([2, 3], 0, {"LDG": 1}),
                        ([4, 5], None, {"IADD3": 3}),
                        ([4, 5], 1, {"LDG": 4}),
                        ([6, 7], None, {"BAR": 1}),
                        ([7], None, {"LDS": 2}),
                        ([8], None, {"EXIT": 1}),
                        ([], None, {"STG": 1})], [(None, [2], False), (None, [4], False)])
        passes, loops = {}, {}

        def number(block):
            return int(block["first"][2:])

        code_json.code_paths.launch_pieces(code, lambda name, block, _: passes.setdefault(name, []).append(number(block)),
                                           lambda pair, name, block: loops.setdefault((pair, name), []).append(number(block)))
        self.assertEqual(passes, {"once": [0, 5, 7], "first": [6], "row": [8]})
        self.assertEqual(loops, {(0, "some"): [1, 3], (0, "left"): [2], (0, "of_group"): [4]})


class Nests(unittest.TestCase):
    def test_a_round_of_multiply_adds_is_told_from_what_is_left_over_of_its_loads(self):
        code = code_of([([1], None, {"IADD3": 4}),
                        ([2, 3], 0, {"IADD3": 1}),
                        ([3], 0, {"LDG": 1, "IADD3": 1}),  # left over
                        ([4], 1, {"LDG": 4, "STS": 4}),
                        ([5], 2, {"LDS": 2, "FFMA": 16}),
                        ([1, 6], 0, {"BAR": 1}),
                        ([], None, {"STG": 2})],
                       [(None, [1, 5], False), (0, [3], False), (0, [4], False)])
        for block in code["blocks"]:
            block["counts"]["kinds"].setdefault("none", 0)
        code["bounds"] = {"loops": [{"loop": 1, "issue": 8, "banks": 9}, {"loop": 2, "issue": 18, "banks": 21}]}
        passes = code_nests.round_pieces(code, {"loads": ["8"], "products": "64"}, {}, code_launch_lines.evaluated)
        self.assertEqual(passes["once"], {"instructions": 6, "alu": 4})
        # Two passes of the loop that loads, four of the loop that multiplies.
        self.assertEqual(passes["step"], {"instructions": 1 + 2 * 8 + 4 * 18 + 1, "alu": 1, "ffma": 0, "matrix": 64,
                                          "bank_waits": 4 * 3})

    def test_a_first_step_before_the_loop_has_the_part_of_a_step_up_to_the_way_out(self):
        code = code_of([([1], None, {"HGMMA": 4, "IADD3": 3}),
                        ([2, 3], 0, {"HGMMA": 8, "FMUL": 5}),
                        ([1], 0, {"HGMMA": 4, "MUFU": 4}),
                        ([], None, {"STG": 1})],
                       [(None, [1, 2], False)])
        passes, warps, before = code_nests.nest_pieces(code, {}, {}, code_launch_lines.evaluated)
        self.assertEqual((warps, before), (4, 1))
        self.assertEqual(passes["step"]["instructions"], 13 + 8)
        self.assertEqual(passes["live"]["instructions"], 7 + 13 + 1)

    def test_further_steps_before_the_loop_count_what_they_have_more_than_a_step(self):
        code = code_of([([1], None, {"HMMA": 8, "MUFU": 4, "IADD3": 9}),
                        ([2], None, {"HMMA": 8, "MUFU": 4, "FSEL": 3}),
                        ([2, 3], 0, {"HMMA": 8, "MUFU": 4, "FMUL": 2}),
                        ([4, 5], None, {"IADD3": 1}),
                        ([5], None, {"FFMA": 2}),  # a division that takes no slow way
                        ([], None, {"STG": 1})], [(None, [2], False)])
        code["instruction_list"] = [{"address": "0x2", "text": "@!P0 FMUL R0, R0, 16777216"}]
        for i, block in enumerate(code["blocks"]):
            block["last"] = block["first"]
        passes, warps, before = code_flash.ahead_pieces(code, {"warps": 4}, {}, code_launch_lines.evaluated)
        self.assertEqual((warps, before), (4, 1))
        self.assertEqual(passes["step"], {"instructions": 14, "matrix": 8, "xu": 4, "fmul": 1})  # one is never executed
        self.assertEqual(passes["live"], {"instructions": 21 + 15 + 4 - 14, "matrix": 8, "xu": 4, "alu": 9 + 3 + 1,
                                          "ffma": 2, "fmul": -1})

    def test_counts_of_another_build_follow_from_a_rule(self):
        line = {"kernel": "f", "launch": "partial", "of": {"tile_q": 32, "tile_kv": 16}, "warps": 4,
                "passes": {"step": {"instructions": 100, "alu": 20, "xu": 5, "fadd": 8}}}
        with tempfile.TemporaryDirectory() as place:
            (pathlib.Path(place) / "other.code.json").write_text(json.dumps({"kernels": [line]}))
            rule = {"derived_from": "other", "launch": "forward", "per_exponential": {"alu": -1},
                    "per_score": {"fadd": -1, "ffma": 1}}
            derived = code_launch_lines.derived_lines(rule, pathlib.Path(place))
        self.assertEqual(derived[0]["launch"], "forward")
        self.assertEqual(derived[0]["passes"]["step"], {"instructions": 100, "alu": 15, "xu": 5, "fadd": 4, "ffma": 4})


def listed(text, stall=1, result=None, waits_for=()):
    return {"text": text, "stall": stall, "result_scoreboard": result, "waits_for": list(waits_for)}


def clock_by_clock(listing, latencies):
    """Clocks of a warp, which looks in each clock whether its next instruction may issue."""
    clock, at, next_at, busy = 0, 0, 0, {}
    while at < len(listing):
        each = listing[at]
        busy = {board: left for board, left in busy.items() if left > clock}
        if clock >= next_at and not set(each["waits_for"]) & set(busy):
            board, latency = each["result_scoreboard"], latencies.get(each["text"].split()[0], 0)
            if board is not None:
                busy[board] = max(busy.get(board, 0), clock + latency)
            next_at, at = clock + max(1, each["stall"]), at + 1
            if at == len(listing):
                return next_at
        clock += 1
    return clock


class Waits(unittest.TestCase):
    def test_clocks_of_a_warp_equal_those_of_a_walk_clock_by_clock(self):
        seed = int(os.environ.get("TILESCOPE_SEED", "20261129"))
        draw, waited = random.Random(seed), 0
        for _ in range(300):
            listing = [listed(draw.choice(["LDG R1", "LDS R1", "MUFU R1", "FADD R1"]), draw.randint(0, 9),
                              draw.choice([None, 0, 1, 2]), draw.sample(range(3), draw.randint(0, 2)))
                       for _ in range(draw.randint(1, 30))]
            latencies = {"LDG": draw.randint(0, 300), "LDS": draw.randint(0, 40), "MUFU": draw.randint(0, 20)}
            expected = clock_by_clock(listing, latencies)
            self.assertEqual(code_waits.clocks_of(listing, latencies), expected, f"TILESCOPE_SEED={seed}")
            waited += expected > code_waits.clocks_of(listing, {})
        self.assertGreater(waited, 150)

    def test_waits_that_run_side_by_side_count_once_and_those_that_follow_on_each_other_all(self):
        beside = [listed("LDG R1", 1, 0), listed("LDG R2", 1, 1), listed("FADD R3", 4, None, [0]), listed("FADD R3", 4, None, [1])]
        self.assertEqual(code_waits.waits_of(beside)["load_waits"], 1)
        self.assertEqual(code_waits.waits_of(beside * 5)["load_waits"], 5)  # the next loads come behind the sums
        behind = [listed("LDG R1", 1, 0), listed("LDG R2", 1, 0, [0]), listed("MUFU.EX2 R3", 2, 1, [0]),
                  listed("LDS R4", 1, 2, [1]), listed("BAR.SYNC 0x0", 5, None, [2])]
        self.assertEqual(code_waits.waits_of(behind), {"clocks": 10, "load_waits": 2, "special_waits": 1,
                                                       "shared_waits": 1, "barriers": 1})


class Sources(unittest.TestCase):
    def test_changed_code_is_found_and_changed_comments_are_not(self):
        with tempfile.TemporaryDirectory() as place:
            folder = pathlib.Path(place) / "mine"
            folder.mkdir()
            (folder / "forward.cu").write_text('#include "mine/forward.cuh"\n')
            source = folder / "forward.cuh"
            source.write_text('#include "other/shared.cuh"\nint a;  // one\n')
            (folder.parent / "other").mkdir()
            (folder.parent / "other" / "shared.cuh").write_text("int s;\n")
            (folder.parent / "other" / "unused.cuh").write_text("int u;\n")
            (folder / "code.json").write_text(json.dumps({"source_sha256": code_json.source_hash(folder)}))
            self.assertFalse(code_json.changed(folder))
            source.write_text('#include "other/shared.cuh"\n// two\nint  a;\n')
            (folder.parent / "other" / "unused.cuh").write_text("int v;\n")
            self.assertFalse(code_json.changed(folder))
            (folder.parent / "other" / "shared.cuh").write_text("int t;\n")  # of another kernel's folder
            self.assertTrue(code_json.changed(folder))
            (folder.parent / "other" / "shared.cuh").write_text("int s;\n")
            source.write_text('#include "other/shared.cuh"\nint b;\n')
            self.assertTrue(code_json.changed(folder))

    def test_steps_of_other_sources_and_another_file_of_steps_are_found(self):
        with tempfile.TemporaryDirectory() as place:
            folder = pathlib.Path(place) / "mine"
            folder.mkdir()
            source, code, steps = folder / "forward.cu", folder / "form.code.json", folder / "form.steps.zst"
            source.write_text("int a;\n")
            text = code_json.written({"schema": "tilescope/code/1", "source_sha256": "0"}, [{"kernel": "f"}])
            code.write_text(text)
            self.assertEqual(list(code_json.stale_steps(folder)), [])  # a kernel without steps
            steps.write_bytes(b"steps")
            self.assertIn("must be there both", next(code_json.stale_steps(folder)))
            code_json.note_steps(code)
            self.assertEqual(json.loads(code.read_text())["kernels"], [{"kernel": "f"}])
            self.assertEqual(list(code_json.stale_steps(folder)), [])
            source.write_text("int a;  // the same\n")
            self.assertEqual(list(code_json.stale_steps(folder)), [])
            source.write_text("int b;\n")
            self.assertIn("sources have changed", next(code_json.stale_steps(folder)))
            source.write_text("int a;\n")
            steps.write_bytes(b"others")
            self.assertIn("is not the file", next(code_json.stale_steps(folder)))
            steps.unlink()
            self.assertIn("must be there both", next(code_json.stale_steps(folder)))

    def test_instances_that_differ_in_their_format_alone_are_one_line(self):
        line = {"kernel": "f", "variant": {"dtypes": ["fp16"], "tile_q": 64}, "passes": {"step": {"alu": 1}}}
        same = {"kernel": "g", "variant": {"dtypes": ["bf16"], "tile_q": 64}, "passes": {"step": {"alu": 1}}}
        other = {"kernel": "h", "variant": {"dtypes": ["bf16"], "tile_q": 32}, "passes": {"step": {"alu": 1}}}
        merged = code_json.merged([line, same, other])
        self.assertEqual([each["variant"]["dtypes"] for each in merged], [["fp16", "bf16"], ["bf16"]])


if __name__ == "__main__":
    unittest.main()
