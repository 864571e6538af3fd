"""The Python module against the command line: the same numbers, to the last digit, at random points.

usage: module_test.py MODULE_DIRECTORY PROGRAM
"""
import csv
import json
import os
import random
import subprocess
import sys
import unittest

sys.path.insert(0, sys.argv[1])
PROGRAM = sys.argv[2]
import tilescope  # noqa: E402

SEED = int(os.environ.get("TILESCOPE_SEED", "20261123"))


def command(*words, status=(0, 1)):
    done = subprocess.run([PROGRAM, *words], capture_output=True, text=True)
    assert done.returncode in status, (words, done.returncode, done.stderr)
    return done.stdout if done.returncode != 2 else done.stderr


def words_of(options):
    return [word for name, value in options.items() for word in ("--" + name.replace("_", "-"), str(value))]


def random_point(rng):
    heads = rng.choice([1, 8, 32])
    return {"hardware": rng.choice(["h200_sxm", "h100_sxm", "a100_sxm_80"]), "heads_q": heads,
            "heads_kv": rng.choice([1, heads]), "q_len": rng.randint(64, 9000), "kv_len": rng.randint(9000, 20000),
            "head_dim": rng.choice([64, 128]), "mask": rng.choice(["none", "causal", "window:512"]),
            "dtype": rng.choice(["fp16", "bf16"]), **rng.choice([{}, {"kernel": "fused_mma"}, {"schedule": "flash1"}])}


class SameAsTheCommandLine(unittest.TestCase):
    def points(self, count):
        rng = random.Random(SEED)
        return [random_point(rng) for _ in range(count)]

    def test_predict(self):
        answered = 0
        for point in self.points(20):
            shown = command("predict", *words_of(point), "--format", "json", status=(0, 1, 2))
            try:
                self.assertEqual(tilescope.predict(**point), json.loads(shown))
                answered += 1
            except ValueError as refused:
                self.assertEqual(str(refused).strip(), shown.strip())
        self.assertGreater(answered, 5)

    def test_search(self):
        point = {"hardware": "h200_sxm", "kernel": "fused_mma", "q_len": "4k", "heads": 16, "head_dim": 128}
        self.assertEqual(tilescope.search(**point), json.loads(command("search", *words_of(point), "--format", "json")))

    def test_compare(self):
        point = {"q_len": 4096, "heads": 16}
        words = [*words_of(point), "--hardware", "h200_sxm,a100_sxm_80", "--dtype", "fp16", "--dtype", "bf16"]
        self.assertEqual(tilescope.compare(hardware=["h200_sxm", "a100_sxm_80"], dtype=["fp16", "bf16"], **point),
                         json.loads(command("compare", *words, "--format", "json"))["rows"])

    def test_sweep(self):
        point = {"hardware": "h200_sxm", "kernel": "fused_mma", "heads": 16, "head_dim": 128, "axis": "q_len=512:8k:x2"}
        columns = tilescope.sweep(**point)
        rows = list(csv.DictReader(command("sweep", *words_of(point), "--format", "csv").splitlines()))
        self.assertEqual(len(rows), 5)
        for name, column in columns.items():
            for value, row in zip(column, rows):
                shown = row[name]
                same = shown == ("" if value is None else str(value).lower() if isinstance(value, bool) else str(value))
                self.assertTrue(same or float(shown) == float(value), (name, value, shown))

    def test_bad_input_is_a_value_error_with_the_same_message(self):
        with self.assertRaises(ValueError) as refused:
            tilescope.predict(hardware="h200_sx")
        self.assertEqual(str(refused.exception).strip(), command("predict", "--hardware", "h200_sx", status=(2,)).strip())
        with self.assertRaises(ValueError):
            tilescope.predict(hardware="h200_sxm", q_len=-1)

    def test_catalogue(self):
        self.assertIn("fused_mma", tilescope.kernels())
        self.assertIn("h200_sxm", tilescope.gpus())
        for names in (tilescope.schedules(), tilescope.diagrams(), tilescope.workloads()):
            self.assertTrue(names)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
