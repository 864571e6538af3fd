#!/usr/bin/env python3
"""Tests of draw_experiment.py, median_of_runs.py, local_reuse.py and derived_steps.py.

Exit status 77 (skipped) without the Python module yaml.
"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

try:
    import yaml
except ImportError:
    print("skipped: needs the Debian package python3-yaml")
    sys.exit(77)

TOOLS = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(TOOLS))
from derived_steps import derived_text, rewritten  # noqa: E402
PROFILE = """id: g
levels:
  hbm: {value: 7}
measured:
  power:
    mma: {value: 2.0, source: M, note: "one run"}
    add: {value: 5.0, source: M, note: "other"}
"""


def run(name, *arguments):
    return subprocess.run([sys.executable, TOOLS / name, *arguments], capture_output=True, text=True)


class Draw(unittest.TestCase):
    def drawn(self, *arguments):
        done = run("draw_experiment.py", "--name", "t", "--count", "12", *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_a_seed_names_an_experiment_of_one_point_a_line(self):
        text = self.drawn("--seed", "5")
        self.assertEqual(text, self.drawn("--seed", "5"))
        self.assertNotEqual(text, self.drawn("--seed", "6"))
        self.assertIn("--seed 5", text.splitlines()[0])
        points = yaml.safe_load(text)["points"]
        self.assertEqual(len(points), 12)
        self.assertEqual(sum(line.startswith("  - {kernel: ") for line in text.splitlines()), 12)
        self.assertEqual(len({json.dumps(point) for point in points}), 12)

    def test_weights_choose_kernels_and_unknown_ones_are_refused(self):
        others = [f"--weight={name}=0" for name in sorted({p["kernel"] for s in range(6) for p in
                  yaml.safe_load(self.drawn("--seed", str(s)))["points"]} - {"fused_mma"})]
        count = sum(p["kernel"] == "fused_mma" for p in yaml.safe_load(self.drawn("--seed", "5", *others))["points"])
        self.assertGreaterEqual(count, 6)
        refused = run("draw_experiment.py", "--name", "t", "--count", "1", "--weight", "nothing=3")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("nothing: no such kernel", refused.stderr)


class Median(unittest.TestCase):
    def test_each_value_becomes_the_median_of_the_runs(self):
        with tempfile.TemporaryDirectory() as folder:
            profile = pathlib.Path(folder) / "g.yaml"
            profile.write_text(PROFILE)
            runs = []
            for i, value in enumerate((4.0, 3.0, 2.0)):
                runs.append(pathlib.Path(folder) / f"run_{i}.json")
                runs[-1].write_text(json.dumps({"values": [{"path": "power.mma", "value": value}]}))
            done = run("median_of_runs.py", profile, *runs)
            self.assertEqual(done.returncode, 0, done.stderr)
            merged = yaml.safe_load(profile.read_text())
            self.assertEqual(merged["measured"]["power"]["mma"], {"value": 3.0, "source": "M", "note": "one run (3 runs)"})
            self.assertEqual(merged["measured"]["power"]["add"], {"value": 5.0, "source": "M", "note": "other"})
            self.assertEqual(merged["levels"]["hbm"]["value"], 7)


class DerivedSteps(unittest.TestCase):
    STEP = ["1 7 7 4 0 FMUL R4, R20, UR12", "1 7 7 0 0 FMUL R5, R21, UR12", "4 7 7 0 0 FADD R6, -R9, R4",
            "1 7 7 0 0 FMNMX R7, R5, R8, !PT", "4 7 7 0 0 FADD R10, -R9, R5", "1 7 7 0 0 FSETP.GEU.AND P1, PT, R6, -126, PT",
            "3 7 7 0 0 @!P1 FMUL R6, R6, 0.5", "1 2 7 0 0 MUFU.EX2 R11, R6", "1 7 7 8 0 @!P1 FMUL R11, R11, R11",
            "1 7 7 1 0 FADD R12, R11, R12"]

    def test_exact_exponentials_go_and_their_waits_stay(self):
        self.assertEqual(rewritten(self.STEP, {"per_exponential": {}})[5:],
                         ["1 2 7 0 0 MUFU.EX2 R11, R6", "1 7 7 9 0 FADD R12, R11, R12"])

    def test_a_product_that_a_sum_alone_takes_becomes_a_multiply_add(self):
        self.assertEqual(rewritten(self.STEP, {"per_score": {}})[:4],
                         ["1 7 7 4 0 FMUL R5, R21, UR12", "4 7 7 0 0 FFMA R6, R4, UR12, -R9", *self.STEP[3:5]])

    def test_nothing_changes_without_a_rule(self):
        self.assertEqual(rewritten(self.STEP, {}), self.STEP)

    def test_a_sum_of_what_came_later_into_the_register_stays(self):
        step = ["1 7 7 0 0 FMUL R7, R21, UR12", "1 7 7 0 0 MOV R30, R7", "1 7 7 0 0 HMMA.16816.F32 R4, R40, R50, R4",
                "1 7 7 0 0 FADD R6, -R9, R7"]
        self.assertEqual(rewritten(step, {"per_score": {}}), step)

    def test_each_product_that_goes_leaves_a_multiply_add(self):
        left = rewritten(self.STEP, {"per_score": {}})
        self.assertEqual(len(self.STEP) - len(left), sum("FFMA" in line for line in left))

    @unittest.skipIf(shutil.which("zstd") is None, "needs zstd")
    def test_derived_steps_are_those_of_their_origin(self):
        folder = TOOLS.parents[1] / "kernels" / "third_party"
        derived = sorted(folder.glob("fa2_*.steps.zst"))
        self.assertEqual(len(derived), 3)
        for file in derived:
            kept = subprocess.run(["zstd", "-dc", file], capture_output=True, text=True, check=True).stdout
            self.assertTrue(kept == derived_text(file.with_name(file.name.replace("steps.zst", "code.json"))), f"{file}: run derived_steps.py")


class LocalReuse(unittest.TestCase):
    def test_ages_count_the_bytes_stored_since(self):
        # A step: a load and a store of four slots with a matrix instruction, then one slot stored twice. The mask is skipped.
        step = [f"LDL.LU R{4 + i}, [R1+{hex(4 * i)}]" for i in range(4)] + ["HGMMA.64x64x16.F32 R8, gdesc[UR4]"]
        step += ["@P0 BRA 0x{after:x}", "STL [R1+0x20], R9", "STL.128 [R1], R4", "STL [R1+0x10], R9", "STL [R1+0x10], R9"]
        after = 16 * (1 + 7)
        code = ["MOV R1, c[0x0][0x28]"] + [text.format(after=after) for text in step] + ["@!P1 BRA 0x10", "EXIT"]
        sass = "Function : spilling\n" + "".join(f"        /*{16 * i:04x}*/   {text} ;   /* 0x0 */\n" for i, text in enumerate(code))
        done = subprocess.run([sys.executable, TOOLS / "local_reuse.py", "spill"], input=sass, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        ages = lambda **of: [of.get(f"a{i}", 0) for i in range(16)]
        # Five slots, of which each was stored after four others, but the last one twice; loads come after that one, and after
        # those of the four that were stored later.
        self.assertIn("frame: 20, stored_step: 24, loaded_step: 16,", done.stdout)
        self.assertIn(f"stored_after: {ages(a0=4, a12=20)}", done.stdout)
        self.assertIn(f"loaded_after: {ages(a3=4, a6=4, a9=4, a12=4)}", done.stdout)


if __name__ == "__main__":
    unittest.main()
