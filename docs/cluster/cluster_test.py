#!/usr/bin/env python3
"""Shards of a sweep by processes: killed, run again, merged; results are those of one run, byte by byte.

usage: cluster_test.py TILESCOPE
"""
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
PROGRAM = ""
SHARDS = 5
SMALL = ("--hardware h200_sxm --schedule flash2 --heads 16 --head-dim 128 --l2 closed --axis q_len=1k:16k:x2 "
         "--axis tile_q=64,128 --axis dtype.kv=fp16,int8 --axis mask=none,causal").split()


def run(*words, program=None, env=None):
    return subprocess.run([str(program or PROGRAM), *map(str, words)], capture_output=True, text=True, timeout=120,
                          env={**os.environ, **(env or {})}, check=False)


def shard(number, output, options, of=SHARDS):
    return run("sweep", "--quiet", "--shard", f"{number}/{of}", "-o", output, *options)


class Cluster(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tilescope-cluster-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def all_shards(self, output, options=SMALL):
        for number in range(1, SHARDS + 1):
            done = shard(number, output, options)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
        return sorted(self.folder.glob(output.name + ".shard-*"))

    def test_shards_merge_into_what_one_run_writes_whatever_the_threads(self):
        for name in ("out.csv", "out.jsonl"):
            whole, merged = self.folder / ("whole-" + name), self.folder / name
            self.assertEqual(run("sweep", "-o", whole, *SMALL).returncode, 0)
            for threads in (1, 2, 7):
                again = self.folder / ("again-" + name)
                self.assertEqual(run("sweep", "--threads", threads, "-o", again, *SMALL).returncode, 0)
                self.assertEqual(again.read_bytes(), whole.read_bytes())
            self.all_shards(merged)
            self.assertEqual(run("sweep", "merge", "-o", merged).returncode, 0)
            self.assertEqual(merged.read_bytes(), whole.read_bytes())
            self.assertGreater(len(whole.read_bytes().splitlines()), 39)

    def test_random_points_and_conditions_cut_into_shards_too(self):
        options = SMALL + ["--where", "q_len >= 4k", "--random", "30", "--seed", "9"]
        whole, merged = self.folder / "whole.csv", self.folder / "out.csv"
        self.assertEqual(run("sweep", "-o", whole, *options).returncode, 0)
        self.all_shards(merged, options)
        self.assertEqual(run("sweep", "merge", "-o", merged).returncode, 0)
        self.assertEqual(merged.read_bytes(), whole.read_bytes())
        rows = whole.read_text().splitlines()[1:]
        self.assertEqual(len(rows), len(set(rows)))
        self.assertTrue(5 < len(rows) <= 30)

    def test_a_database_of_shards_has_the_rows_of_one_run(self):
        whole, merged = self.folder / "whole.sqlite", self.folder / "out.sqlite"
        self.assertEqual(run("sweep", "-o", whole, *SMALL).returncode, 0)
        self.all_shards(merged)
        self.assertEqual(run("sweep", "merge", "-o", merged).returncode, 0)
        rows = []
        for file in (whole, merged):
            database = sqlite3.connect(file)
            rows.append(database.execute("SELECT * FROM points").fetchall())
            self.assertEqual(database.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
            indices = {row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'index'")}
            self.assertTrue({"points_by_q_len", "points_by_tile_q", "points_by_dtype", "points_by_mask"} <= indices)
            columns = [row[1] for row in database.execute("PRAGMA table_info(points_with_units)")]
            self.assertIn("hbm_read_bytes [B]", columns)
            self.assertIn("seconds [s]", columns)
            database.close()
        self.assertEqual(rows[0], rows[1])
        text = run("sweep", "--format", "csv", *SMALL).stdout.splitlines()
        self.assertEqual(len(rows[0]), len(text) - 1)
        for cells, line in zip(rows[0], text[1:]):
            for cell, printed in zip(cells, line.split(",")):
                if isinstance(cell, (int, float)) and printed not in ("true", "false"):
                    self.assertEqual(cell, float(printed))

    def test_a_worker_that_is_killed_leaves_no_shard_and_is_run_again(self):
        options = "--hardware h200_sxm --schedule flash2 --heads 16 --head-dim 128 --axis q_len=1k:40k:+128".split()
        output = self.folder / "out.csv"
        with subprocess.Popen([PROGRAM, "sweep", "--quiet", "--shard", "1/1", "-o", str(output), *options]) as worker:
            deadline = time.time() + 60
            while not any(file.stat().st_size > 2000 for file in self.folder.iterdir()) and time.time() < deadline:
                time.sleep(0.02)
            worker.send_signal(signal.SIGKILL)
            self.assertEqual(worker.wait(), -signal.SIGKILL)
        self.assertEqual(list(self.folder.glob("out.csv*")), [])
        refused = run("sweep", "merge", "-o", output)
        self.assertEqual(refused.returncode, 2)
        # SIGINT ends a worker within a second, and leaves not even the temporary file.
        left = {file.name for file in self.folder.iterdir()}
        with subprocess.Popen([PROGRAM, "sweep", "--quiet", "--shard", "1/1", "-o", str(output), *options]) as worker:
            time.sleep(0.3)
            begin = time.time()
            worker.send_signal(signal.SIGINT)
            self.assertEqual(worker.wait(), -signal.SIGINT)
            self.assertLess(time.time() - begin, 1)
        self.assertEqual({file.name for file in self.folder.iterdir()}, left)
        # A smaller sweep, one of whose shards is lost that way.
        shards = self.all_shards(output)
        shards[2].unlink()
        refused = run("sweep", "merge", "-o", output)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("1 of 5 shards are missing: 3", refused.stderr)
        kept = {file: file.stat().st_mtime_ns for file in self.folder.glob("out.csv.shard-*")}
        self.all_shards(output)
        for file, written in kept.items():
            self.assertEqual(file.stat().st_mtime_ns, written)  # not predicted again
        self.assertEqual(run("sweep", "merge", "-o", output).returncode, 0)
        self.assertEqual(output.read_text(), run("sweep", *SMALL).stdout)

    def test_shards_that_do_not_belong_together_are_refused_by_name(self):
        output = self.folder / "out.csv"
        shards = self.all_shards(output)
        whole = shards[1].read_bytes()

        def refusal():
            result = run("sweep", "merge", "-o", output)
            self.assertEqual(result.returncode, 2)
            self.assertFalse(output.exists())
            return result.stderr

        shards[1].write_bytes(whole[:-40])
        self.assertIn("cut off", refusal())
        lines = whole.splitlines(keepends=True)
        shards[1].write_bytes(b"".join(lines[:2] + lines[3:]))
        self.assertIn("was changed", refusal())
        shards[1].write_bytes(whole.replace(b'"version":"', b'"version":"9.', 1))
        self.assertIn("was written by tilescope 9.", refusal())
        shards[1].write_bytes(whole.replace(b'["16"]', b'["32"]', 1))
        self.assertIn("answers other options", refusal())
        shards[1].write_bytes(shards[2].read_bytes())
        self.assertIn("is shard 3 of 5, as", refusal())
        shards[1].write_bytes(whole)
        self.assertEqual(shard(1, output, SMALL, of=7).returncode, 0)
        self.assertIn("is one of 7 shards", refusal())

    def test_the_scripts_run_the_shards(self):
        whole = run("sweep", *SMALL).stdout
        output = self.folder / "slurm.csv"
        for task in range(1, 4):
            env = {"TILESCOPE": str(PROGRAM), "SHARDS": "3", "SLURM_ARRAY_TASK_ID": str(task)}
            done = run("-o", output, *SMALL, program=HERE / "slurm.sbatch", env=env)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(run("sweep", "merge", "-o", output).returncode, 0)
        self.assertEqual(output.read_text(), whole)
        if shutil.which("parallel"):
            output = self.folder / "parallel.csv"
            done = run(output, *SMALL, program=HERE / "parallel.sh", env={"TILESCOPE": str(PROGRAM), "SHARDS": "4"})
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual(output.read_text(), whole)


if __name__ == "__main__":
    PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
