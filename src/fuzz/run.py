#!/usr/bin/env python3
"""Runs every target of tilescope_fuzz for some seconds and prints a table: executions, time, coverage, findings.

    run.py TILESCOPE_FUZZ [--seconds N] [--jobs N] [--targets A,B] [--work DIRECTORY]

Inputs begin with src/fuzz/corpus and the files of this tree that the readers accept. What was found stays in the work
directory (beside the program): corpus/TARGET, findings/TARGET, logs. Exit status 1 when there is a finding.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parents[2]
CORPUS = ROOT / "src/fuzz/corpus"
SHIPPED = {
    "hardware": ["hardware/*.yaml"], "kernel": ["kernels/*/kernel.yaml", "kernels/third_party/*.kernel.yaml"],
    "diagram": ["models/diagrams/*.yaml"], "schedule": ["models/schedules/*.yaml"],
    "lowering": ["models/lowerings/*.yaml"], "workload": ["models/workloads/*.yaml"],
    "block_mask": ["models/masks/*.yaml"], "experiment": ["validate/experiments/*.yaml"],
    "network": ["models/networks/*.json"], "ncu_csv": ["src/import/testdata/*.csv"],
    "trace_json": ["src/import/testdata/*.json.gz"], "elf": ["src/kernel/code/testdata/*.cubin"],
    "errors": ["validate/*_errors.json", "validate/lack_costs.json"], "baseline": ["docs/gate-sample/baseline.json"],
    "listing": ["src/kernel/code/testdata/*.sass"], "calls": ["kernels/*/*.calls.yaml"],
}
LONGEST_INPUT = 1 << 15
# One input: seconds that no reader may take under sanitizers, on a busy machine; megabytes.
GO_ON = ["-fork=1", "-ignore_crashes=1", "-ignore_ooms=1", "-ignore_timeouts=1"]
LIMITS = ["-timeout=60", "-rss_limit_mb=3000", "-malloc_limit_mb=2000"]


def prepare(target, work):
    corpus = work / "corpus" / target
    corpus.mkdir(parents=True, exist_ok=True)
    (work / "findings" / target).mkdir(parents=True, exist_ok=True)
    for pattern in SHIPPED.get(target, []):
        for file in ROOT.glob(pattern):
            if file.stat().st_size <= LONGEST_INPUT:
                shutil.copy(file, corpus / f"shipped_{file.parent.name}_{file.name}")
    return corpus


def run(program, target, work, seconds):
    corpus = prepare(target, work)
    log = work / f"{target}.log"
    scratch = work / "tmp" / target
    scratch.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "TILESCOPE_DATA": str(ROOT), "PATH": "/nonexistent", "TMPDIR": str(scratch),
                   "ASAN_OPTIONS": "detect_leaks=1:allocator_may_return_null=0", "UBSAN_OPTIONS": "print_stacktrace=1"}
    command = [str(program), target, f"-max_total_time={seconds}", f"-max_len={LONGEST_INPUT}", *LIMITS,
               *GO_ON, f"-artifact_prefix={work / 'findings' / target}/", str(corpus), str(CORPUS / target)]
    with open(log, "wb") as out:
        status = subprocess.run(command, stdout=out, stderr=subprocess.STDOUT, env=environment).returncode
    text = log.read_text(errors="replace")
    shutil.rmtree(scratch, ignore_errors=True)
    last = re.findall(r"^#(\d+): cov: (\d+)", text, re.MULTILINE)
    found = sorted(file.name for file in (work / "findings" / target).iterdir())
    return target, int(last[-1][0]) if last else 0, last[-1][1] if last else "-", status, found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("--seconds", type=int, default=1200)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--targets", default=",".join(sorted(folder.name for folder in CORPUS.iterdir())))
    parser.add_argument("--work", type=lambda text: pathlib.Path(text).resolve())
    given = parser.parse_args()
    work = given.work or given.program.parent / "fuzzing"
    findings = 0
    print(f"{given.seconds} s each")
    print(f"{'target':14} {'executions':>11} {'coverage':>9} findings", flush=True)
    with ThreadPoolExecutor(given.jobs) as pool:
        for target, count, coverage, status, found in pool.map(
                lambda name: run(given.program, name, work, given.seconds), given.targets.split(",")):
            findings += bool(found) or status != 0
            print(f"{target:14} {count:11,} {coverage:>9} {' '.join(found) or ('exit status ' + str(status) if status else '-')}",
                  flush=True)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
