#!/usr/bin/env python3
"""The gate of this sample is open for its own numbers, and closed when one of them moves by 5 %. So is action.yml, which
also says what moved since the base branch.

    gate_test.py TILESCOPE
"""
import csv
import hashlib
import io
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import xml.etree.ElementTree as xml

HERE = pathlib.Path(__file__).resolve().parent
# Metrics that no row of the comparison uses alone: ncu prints them beside the others.
UNUSED = {"dram__bytes_write.sum", "lts__t_sectors_srcunit_tex_op_read.sum", "sm__inst_executed_pipe_tensor.sum",
          "smsp__inst_executed_pipe_tensor_op_hmma.sum"}


def gate(tilescope, folder, counters, *options):
    file = pathlib.Path(folder) / "counters.csv"
    file.write_text(counters)
    environment = {**os.environ, "TILESCOPE": os.path.abspath(tilescope), "OUT": str(folder), "COUNTERS": str(file)}
    environment.setdefault("BASELINE", str(HERE / "baseline.json"))
    return subprocess.run([HERE / "gate.sh", *options], env=environment, capture_output=True, text=True)


def moved(text, metric, factor):
    """The CSV with one metric's value times `factor`."""
    rows = list(csv.reader(io.StringIO(text)))
    name, value = rows[0].index("Metric Name"), rows[0].index("Metric Value")
    for row in rows[1:]:
        if row[name] == metric:
            row[value] = f"{round(float(row[value].replace(',', '')) * factor):,}"
    out = io.StringIO()
    csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(rows)
    return out.getvalue()


def action(tilescope, folder, **inputs):
    """The step of action.yml, run as GitHub's runner runs it: its exit status and the job's summary."""
    text = (HERE.parent.parent / "action.yml").read_text()
    script = "\n".join(line[8:] for line in text[text.index("run: |\n") + 7:].splitlines())
    summary = pathlib.Path(folder) / "step_summary.md"
    summary.write_text("")
    given = {"PROGRAM": os.path.abspath(tilescope), "RECORDED": "", "EXPERIMENT": "tolerances.yaml", "BASELINE": "", "BASE": "",
             "JUNIT": str(pathlib.Path(folder) / "action.xml"), "ARGUMENTS": "", "PACKAGE": "", "SHA256": "",
             "GITHUB_STEP_SUMMARY": str(summary)}
    known = set(re.findall(r"^        ([A-Z0-9]+): \$\{\{ inputs", text, re.M))
    assert known == set(given) - {"GITHUB_STEP_SUMMARY"}, known
    place = inputs.pop("place", HERE)
    step = subprocess.run(["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script], cwd=place,
                          env={**os.environ, **given, **inputs}, capture_output=True, text=True)
    return step.returncode, summary.read_text() + step.stderr


def check(failures, what, expected_status, expected_text, outcome):
    status, text = outcome
    if status != expected_status or expected_text not in text:
        failures.append(f"{what}: exit status {status}, expected {expected_status} and '{expected_text}':\n{text}")


def check_branch(tilescope, folder, failures):
    """A branch that changes its descriptor and its baseline: the gate is open, the summary says what moved."""
    if not shutil.which("git"):
        return
    place = pathlib.Path(folder) / "project"
    shutil.copytree(HERE, place)

    def git(*words):
        subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=n@example.com", *words], cwd=place, check=True,
                       capture_output=True)
    git("init", "-q", "."), git("add", "."), git("commit", "-q", "-m", "first")
    git("update-ref", "refs/remotes/origin/feature/x", "HEAD")
    descriptor, code = place / "my_attention.kernel.yaml", place / "my_attention.code.json"
    descriptor.write_text(descriptor.read_text().replace("summary: a project's own", "summary: a changed"))
    more = re.sub(r'"alu": *(\d+)', lambda count: f'"alu":{2 * int(count[1])}', code.read_text())
    assert more != code.read_text(), "no count of ALU instructions in my_attention.code.json"
    code.write_text(more)
    git("commit", "-q", "-a", "-m", "more instructions")
    words = ["--import", "counters.csv", "--hardware", "h200_sxm", "--kernel", "my_attention.kernel.yaml",
             "--point", "heads_q=16 q_len=8k head_dim=128 mask=causal dtype=bf16"]
    inputs = {"place": place, "BASELINE": "baseline.json", "ARGUMENTS": "\n".join(words)}
    check(failures, "a changed descriptor", 1, "my_attention.kernel.yaml changed (commit ", action(tilescope, folder, **inputs))
    subprocess.run([tilescope, "validate", *words, "--experiment", "tolerances.yaml", "--baseline", "baseline.json",
                    "--update-baseline", "-q"], cwd=place, capture_output=True, check=True)
    outcome = action(tilescope, folder, **inputs, BASE="feature/x")
    check(failures, "the branch's own baseline", 0, "no row moved since the baseline baseline.json", outcome)
    check(failures, "the base branch", 0, "moved since feature_x (listed only)", outcome)
    check(failures, "the term that moved", 0, "most of it alu alone +", outcome)
    check(failures, "a branch that is not there", 0, "the branch absent is not known: ",
          action(tilescope, folder, **inputs, BASE="absent"))


def check_package(tilescope, folder, failures):
    """The released package, unpacked: here an archive whose program calls the built one."""
    inside = pathlib.Path(folder) / "tilescope-0.1.0-Linux" / "bin"
    inside.mkdir(parents=True)
    (inside / "tilescope").write_text(f'#!/bin/sh\nexec {shlex.quote(os.path.abspath(tilescope))} "$@"\n')
    (inside / "tilescope").chmod(0o755)
    package = pathlib.Path(folder) / "tilescope.tar.gz"
    with tarfile.open(package, "w:gz") as archive:
        archive.add(inside.parent, "tilescope-0.1.0-Linux")
    inputs = {"PROGRAM": "/nonexistent", "RECORDED": str(pathlib.Path(folder) / "gate.jsonl"), "PACKAGE": str(package)}
    sha256 = hashlib.sha256(package.read_bytes()).hexdigest()
    check(failures, "the package", 0, "rows have a tolerance, 0 of them exceed it",
          action(tilescope, folder, **inputs, SHA256=sha256))
    other = pathlib.Path(folder) / "other.tar.gz"
    with tarfile.open(other, "w:gz") as archive:
        archive.add(HERE / "counters.csv", "other/counters.csv")
    check(failures, "a package without the program", 2, "other.tar.gz holds no bin/tilescope",
          action(tilescope, folder, **{**inputs, "PACKAGE": str(other)}))
    for wrong in ("/nonexistent.tar.gz", "http://localhost/x.tar.gz", inputs["RECORDED"]):
        check(failures, f"the package {wrong}", 2, "", action(tilescope, folder, **{**inputs, "PACKAGE": wrong}))
    check(failures, "a package with another checksum", 2, "", action(tilescope, folder, **inputs, SHA256="0" * 64))


def main(tilescope):
    text = (HERE / "counters.csv").read_text()
    metrics = re.findall(r'"(?:Command line profiler metrics|GPU Speed Of Light Throughput)","([^"]+)"', text)
    failures, tried = [], 0
    with tempfile.TemporaryDirectory() as folder:
        first = gate(tilescope, folder, text)
        if first.returncode != 0 or "no row moved" not in first.stdout:
            sys.exit(f"the gate is not open for its own numbers ({first.returncode}):\n{first.stdout}{first.stderr}")
        inputs = {"RECORDED": str(pathlib.Path(folder) / "gate.jsonl"), "BASELINE": str(HERE / "baseline.json")}
        check(failures, "the sample's own numbers", 0, "no row moved", action(tilescope, folder, **inputs))
        check_package(tilescope, folder, failures)
        check_branch(tilescope, folder, failures)
        for metric in metrics:
            if metric in UNUSED:
                continue
            tried += 1
            closed = gate(tilescope, folder, moved(text, metric, 1.05))
            if closed.returncode != 1 or "the measurement moved" not in closed.stdout:
                failures.append(f"{metric}: {closed.returncode}\n{closed.stdout[-1500:]}{closed.stderr}")
            suites = xml.parse(pathlib.Path(folder) / "validate.xml").getroot()
            if not any("the measurement moved" in failure.get("message") for failure in suites.iter("failure")):
                failures.append(f"{metric}: JUnit does not say what moved")
            if "the measurement moved" not in (pathlib.Path(folder) / "summary.md").read_text():
                failures.append(f"{metric}: the summary does not say what moved")
        check(failures, "the last moved number", 1, "the measurement moved", action(tilescope, folder, **inputs))
        # A changed number can be made the new baseline, and then the gate is open again.
        os.environ["BASELINE"] = str(pathlib.Path(folder) / "baseline.json")
        changed = moved(text, "l1tex__m_xbar2l1tex_read_bytes.sum", 1.01)
        if [gate(tilescope, folder, changed, *options).returncode for options in (["--update-baseline"], [])] != [0, 0]:
            failures.append("--update-baseline does not open the gate")
    if tried < 5:
        failures.append(f"only {tried} numbers were moved")
    sys.exit("\n".join(failures) if failures else None)


if __name__ == "__main__":
    main(os.path.abspath(sys.argv[1]))
