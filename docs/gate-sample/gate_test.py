#!/usr/bin/env python3
"""The gate of this sample is open for its own numbers, and closed when one of them moves by 5 %.

    gate_test.py TILESCOPE
"""
import csv
import io
import os
import pathlib
import re
import subprocess
import sys
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


def action(tilescope, folder, baseline):
    """The step of action.yml, run as GitHub's runner runs it: its exit status and the job's summary."""
    text = (HERE.parent.parent / "action.yml").read_text()
    script = "\n".join(line[8:] for line in text[text.index("run: |\n") + 7:].splitlines())
    summary = pathlib.Path(folder) / "step_summary.md"
    summary.write_text("")
    environment = {**os.environ, "PROGRAM": os.path.abspath(tilescope), "RECORDED": str(pathlib.Path(folder) / "gate.jsonl"),
                   "EXPERIMENT": "tolerances.yaml", "BASELINE": str(baseline), "GITHUB_STEP_SUMMARY": str(summary),
                   "JUNIT": str(pathlib.Path(folder) / "action.xml")}
    step = subprocess.run(["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script], env=environment, cwd=HERE,
                          capture_output=True, text=True)
    return step.returncode, summary.read_text()


def main(tilescope):
    text = (HERE / "counters.csv").read_text()
    metrics = re.findall(r'"(?:Command line profiler metrics|GPU Speed Of Light Throughput)","([^"]+)"', text)
    failures, tried = [], 0
    with tempfile.TemporaryDirectory() as folder:
        first = gate(tilescope, folder, text)
        if first.returncode != 0 or "no row moved" not in first.stdout:
            sys.exit(f"the gate is not open for its own numbers ({first.returncode}):\n{first.stdout}{first.stderr}")
        status, summary = action(tilescope, folder, HERE / "baseline.json")
        if status != 0 or "no row moved" not in summary:
            failures.append(f"the action is not open for the sample's own numbers: {status}\n{summary}")
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
        status, summary = action(tilescope, folder, HERE / "baseline.json")  # of the last moved number
        if status != 1 or "the measurement moved" not in summary:
            failures.append(f"the action does not close: {status}\n{summary}")
        # A changed number can be made the new baseline, and then the gate is open again.
        os.environ["BASELINE"] = str(pathlib.Path(folder) / "baseline.json")
        changed = moved(text, "l1tex__m_xbar2l1tex_read_bytes.sum", 1.01)
        if [gate(tilescope, folder, changed, *options).returncode for options in (["--update-baseline"], [])] != [0, 0]:
            failures.append("--update-baseline does not open the gate")
    if tried < 5:
        failures.append(f"only {tried} numbers were moved")
    sys.exit("\n".join(failures) if failures else None)


if __name__ == "__main__":
    main(sys.argv[1])
