#!/usr/bin/env python3
"""Tests of the documentation's tools: what they must reject is rejected."""
import contextlib
import io
import json
import pathlib
import tempfile
import unittest

import commands
import links
import model_tables
import origins


def quietly(function, *arguments):
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        return function(*arguments)


class Commands(unittest.TestCase):
    def run_page(self, text, output, update=False):
        """The exit status for a page, and the page afterwards; the program is a script that prints `output`."""
        with tempfile.TemporaryDirectory() as folder:
            program, page = pathlib.Path(folder, "tilescope"), pathlib.Path(folder, "page.md")
            program.write_text(f"#!/bin/sh\ncat <<'END'\n{output}\nEND\n")
            program.chmod(0o755)
            page.write_text(text)
            return quietly(commands.main, [str(program), str(page)] + ["--update"] * update), page.read_text()

    def test_equal_output_passes_and_other_output_fails(self):
        self.assertEqual(self.run_page("```\n$ tilescope x\na  1\nb\n```\n", "a 1\nb")[0], 0)
        self.assertEqual(self.run_page("```\n$ tilescope x\na 1\nb\n```\n", "a 2\nb")[0], 1)
        self.assertEqual(self.run_page("```\n$ tilescope x\na 1\n```\n", "a 1\nb")[0], 1)

    def test_dots_stand_for_any_lines_but_the_shown_ones_keep_their_order(self):
        self.assertEqual(self.run_page("```\n$ tilescope x\n...\nb\n...\n```\n", "a\nb\nc")[0], 0)
        self.assertEqual(self.run_page("```\n$ tilescope x\n...\nb\na\n...\n```\n", "a\nb\nc")[0], 1)
        self.assertEqual(self.run_page("```\n$ tilescope x\n...\na\n...\na\n...\n```\n", "a\nb")[0], 1)

    def test_an_update_pairs_lines_in_order_and_drops_none(self):
        table = "speed of all\nitem  value\n----  -----\nhbm  1\n\nenergy of all\nitem  joule\n----  -----\nhbm  7\n"
        shown = "energy of all\nitem  joule\n----  -----\nhbm  6\n...\n"
        status, page = self.run_page(f"```\n$ tilescope x\n...\n{shown}```\n", table, update=True)
        self.assertEqual(status, 0)
        self.assertIn("...\nenergy of all\nitem  joule\n----  -----\nhbm  7\n...", page)
        status, page = self.run_page("```\n$ tilescope x\n...\nzzzz\nhbm  6\n...\n```\n", table, update=True)
        self.assertEqual(status, 1)  # the line has no successor: a person decides
        self.assertIn("zzzz\nhbm", page)

    def test_a_page_without_commands_fails(self):
        self.assertEqual(self.run_page("no command\n", "")[0], 1)

    def test_update_keeps_which_lines_are_shown(self):
        status, page = self.run_page("```\n$ tilescope x\n...\nbytes 10\n...\n```\n", "a\nbytes 12\nc", update=True)
        self.assertEqual((status, page), (0, "```\n$ tilescope x\n...\nbytes 12\n...\n```\n"))


class Pages(unittest.TestCase):
    def check(self, files, main):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                place = pathlib.Path(folder, name)
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text(text)
            return quietly(main, [folder])

    def links(self, readme, tour="| Where? | `a.cpp` | `act` |\n"):
        return self.check({"README.md": readme, "docs/code-tour.md": tour, "a.cpp": "void act();"}, links.main)

    def test_links_and_anchors_must_exist(self):
        self.assertEqual(self.links("# One\n[a](a.cpp) [b](#one)\n"), 0)
        self.assertEqual(self.links("[a](missing.cpp)\n"), 1)
        self.assertEqual(self.links("# One\n[a](#two)\n"), 1)
        self.assertEqual(self.links("no link\n"), 1)

    def test_the_code_tour_names_functions_that_exist(self):
        self.assertEqual(self.links("[a](a.cpp)\n", "| Where? | `a.cpp` | `other` |\n"), 1)
        self.assertEqual(self.links("[a](a.cpp)\n", "| Where? | `b.cpp` | `act` |\n"), 1)
        self.assertEqual(self.links("[a](a.cpp)\n", "nothing\n"), 1)

    def origins(self, row, schema={}):
        code = {"facts": [{"launch": "forward", "wait_clocks": 2, "work": {"alu": {"per_score": 2, "per_row": 0.5}}}]}
        files = {"docs/origins.md": row, "kernels/mine/kernel.yaml": "kernel: mine\n",
                 "kernels/mine/code.json": json.dumps(code), "docs/schemas/kernel.1.schema.json": json.dumps(schema)}
        return self.check(files, origins.main)

    def test_every_integer_rate_has_an_origin_and_the_stated_value(self):
        row = ("| `mine` | forward | `alu.per_score` | {} | source | - |\n"
               "| `mine` | forward | `alu.per_row` | 0.5 | source | - |\n")
        self.assertEqual(self.origins(row.format(2)), 0)
        self.assertEqual(self.origins(row.format(3)), 1)
        self.assertEqual(self.origins("no row\n"), 1)
        self.assertEqual(self.origins(row.format(2).replace("source", "attention counters")), 1)
        self.assertEqual(self.origins(row.format(2) + "| `wait_clocks` | mean clocks | `mine` |\n"), 0)
        self.assertEqual(self.origins(row.format(2) + "| `wait_clocks` | mean clocks | `mine` `other` |\n"), 1)
        self.assertEqual(self.origins(row.format(2) + "| `other_clocks` | clocks | `mine` |\n"), 1)

    def test_a_descriptor_has_few_keys_and_no_clock(self):
        row = "| `mine` | forward | `alu.per_score` | 2 | source | - |\n| `mine` | forward | `alu.per_row` | 0.5 | source | - |\n"
        keys = {f"key_{i}": {} for i in range(59)}
        self.assertEqual(self.origins(row, {"properties": {**keys, "code": {"properties": {"wait_clocks": {}}}}}), 0)
        self.assertEqual(self.origins(row, {"properties": {**keys, "more": {"items": {"properties": {"one": {}}}}}}), 1)
        self.assertEqual(self.origins(row, {"properties": {"wait_clocks": {}}}), 1)


class ModelTables(unittest.TestCase):
    @staticmethod
    def row(choice, kernel, cycles, seconds):
        return {"choice": choice, "kernel": kernel, "meaning": f"of {choice}", "n": 2000, "changed": 7, "cycles_mean": cycles,
                "cycles_worst": 0.2, "seconds_mean": seconds, "seconds_worst": 0.1, "short_mean": 0.05,
                "cycles_gain": cycles - 0.03, "seconds_gain": seconds - 0.02}

    def test_mechanisms_come_by_what_all_records_lose_with_the_kernel_that_loses_most(self):
        rows = [self.row("all", "all", 0.03, 0.02), self.row("all", "a", 0.03, 0.02), self.row("all", "b", 0.03, 0.02),
                self.row("small", "all", 0.031, 0.02), self.row("small", "a", 0.03, 0.02), self.row("small", "b", 0.03, 0.05),
                self.row("large", "all", 0.04, 0.03), self.row("large", "a", 0.07, 0.02), self.row("large", "b", 0.03, 0.02)]
        table = model_tables.mechanisms({(row["choice"], row["kernel"]): row for row in rows})
        self.assertIn("Of 2,000 points over 20 us, with everything at work: SM cycles 3.00 % (worst 20.0)", table)
        large, small = [line for line in table.splitlines() if line.startswith("| `")]
        self.assertIn("| `large` | of large | 7 | 4.00 % | 3.00 % | +1.00 | +1.00 | SM cycles of `a` 3.0 -> 7.0 % |", large)
        self.assertIn("| time of `b` 2.0 -> 5.0 % |", small)

    def test_engines_have_a_line_for_each_kernel(self):
        kernels = model_tables.WITH_CODE + model_tables.WITHOUT_CODE
        rows = {(engine, kernel): self.row(engine, kernel, 0.03, 0.02)
                for engine in model_tables.ENGINES for kernel in kernels}
        lines = model_tables.engines(rows).splitlines()
        self.assertEqual(len(lines), 2 + len(kernels))
        self.assertEqual(lines[2], "| `fused_mma` | 2000 | 3.00, 20.0 % | 3.00, 20.0 % | 2.00, 10.0 % | 2.00, 10.0 % |")
        self.assertEqual(lines[-1], "| `reference` | 2000 | no code | 3.00, 20.0 % | no code | 2.00, 10.0 % |")


if __name__ == "__main__":
    unittest.main()
