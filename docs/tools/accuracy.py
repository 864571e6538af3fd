#!/usr/bin/env python3
"""Writes the accuracy tables of the documentation from what `tilescope validate` prints, or checks them.

usage: accuracy.py TILESCOPE [--check] [--recorded FILE --rows FILE] [--published FILE]

Writes docs/accuracy.md (both tables in full) and the part of README.md between the lines `<!-- accuracy -->` and
`<!-- end of accuracy -->`. --check writes nothing.
--recorded and --published name files that `tilescope validate --markdown FILE` has written, of all records and of all
published tables; --rows names what `tilescope validate --format json` has written of all records. Without them this
tool runs the program.
Exit status: 0 written or equal, 1 something differs or a validation failed, 2 bad usage.
"""
import argparse
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[2]
PART = re.compile(r"(?s)(<!-- accuracy -->\n).*?(<!-- end of accuracy -->)")
# Quantities of README's table: the name in the program's output, and what README calls it.
QUANTITIES = [("tensor_flop", "tensor-core FLOP"), ("traffic l2 read", "L2 -> SM bytes"),
              ("traffic l2 write", "SM -> L2 bytes"), ("traffic hbm read", "HBM bytes read"),
              ("traffic hbm write", "HBM bytes written"), ("busy_cycles", "SM cycles"), ("seconds", "time")]
THIRD_PARTY = ("pytorch_", "cudnn_")
BLIND = re.compile(r"(?m)^blind: true$")  # in an experiment file
ENOUGH = 9  # points of a group that `predict` states
SHORT = 20e-6  # s; the time of a shorter run is mostly that of its launch
SHOWN_OF_BLIND = {
    "tensor-core FLOP": lambda row: row["quantity"] == "tensor_flop",
    "L2 -> SM bytes": lambda row: row["quantity"] == "traffic read" and row["level"] == "l2",
    "HBM bytes read": lambda row: row["quantity"] == "traffic read" and row["level"] == "hbm",
    "SM cycles": lambda row: row["quantity"] == "busy_cycles",
    "time": lambda row: row["quantity"] == "seconds" and row["measured"] >= SHORT,
    "time, cold L2": lambda row: row["quantity"] == "seconds_cold" and row["measured"] >= SHORT,
}
PAGE = """# Accuracy

<!-- Written by docs/tools/accuracy.py (`make docs`); do not edit. -->

Predictions beside measurements: the relative error of each quantity. [The model](model.md) says what each stage
leaves out, and [the origins of the numbers](origins.md) which inputs were counted in attention kernels.

## Recorded measurements of an H200 and an H100

`tilescope validate --format md` compares every record in `validate/`. A quantity without a value for a kernel has no
counter there. "Outside" counts the rows that exceed the tolerance of their experiment. Quantities without a tolerance
are shown only.

{recorded}

## Points drawn after the model was committed

Each of these experiments holds random kernels, tiles and sizes. They were drawn, from the seed that their file
states, and measured after the model of that day was committed. They are part of the table above. The last columns
count the rows whose error is at most 5 or 10 %. Time: of points that took at least 20 us. The model changed after
each of them was measured; this table shows the present model.

{blind}

## Error by GPU and basis of its rates

`validate/tools/basis_errors.py build/tilescope` writes `validate/basis_errors.json`; this table shows it. Error of
time, steady state. "Derived": every rate of the GPU comes from its datasheet and from other GPUs' measurements by
[the rules for GPUs that nobody measured](model.md#derived-rates), also where it was measured. "Mixed": what is
published about the GPU, and rules for the rest. No rule and no rate comes from a measurement of attention.

{bases}

`predict` and `compare` state these errors for GPUs with derived rates: those of the same GPU, else of its chip, else
of the A100, the one GPU here whose rates came from another chip.

## Ideal kernels

A prediction without `--kernel` is of an ideal kernel of the schedule, which does not exist. `validate/tools/ideal_errors.py build/tilescope`
sets the fastest recorded kernel of the same schedule beside it at every point of the records; the last columns are measured over ideal time.
A value under 1 is a kernel that is faster than the ideal one: an ideal kernel is no lower bound. Rows without a GPU, schedule or regime hold
all of them; groups of fewer than 9 points are left out.

{ideal}

Ranges that are borrowed are wider, by factors that hold nine of ten points across one thing at a time: {widening}.

## Tables that others published

`tilescope validate --published validate/published --format md` compares predictions with published measurements.
[validate](../validate/README.md) names the sources. The roofline is FLOP over the peak rate or compulsory bytes over
the bandwidth, whichever takes longer.

{published}
"""


def validate(program, *options):
    """Runs the program's validate with a Markdown and a JSON document as its results; returns both."""
    with tempfile.TemporaryDirectory() as folder:
        markdown, rows_of = pathlib.Path(folder) / "validate.md", pathlib.Path(folder) / "validate.json"
        done = subprocess.run([program, "validate", "--quiet", "--markdown", str(markdown), "--format", "json",
                               "-o", str(rows_of), *options], cwd=TOP, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"tilescope validate {' '.join(options)}: exit status {done.returncode}\n"
                             f"{done.stderr}{done.stdout[-2000:]}")
        return markdown.read_text(encoding="utf-8").strip(), json.loads(rows_of.read_text(encoding="utf-8"))


def rows(markdown):
    """The rows of a Markdown table as dictionaries by column."""
    lines = [[cell.strip() for cell in line.strip("|").split("|")]
             for line in markdown.split("\n") if line.startswith("|")]
    return [dict(zip(lines[0], line)) for line in lines[2:]]


def blind(compared):
    """Errors over the experiments that are marked as blind, as a table."""
    lines = ["| experiment | GPU | quantity | n | mean | bias | median | worst | within 5 % | within 10 % |",
             "|---|---|---|--:|--:|--:|--:|--:|--:|--:|"]
    experiments = sorted((TOP / "validate/experiments").glob("*.yaml"))
    for experiment in (path.stem for path in experiments if BLIND.search(path.read_text(encoding="utf-8"))):
        own = [row for row in compared if row["experiment"] == experiment]
        if not own:
            raise SystemExit(f"tilescope validate: no row of the blind experiment {experiment}")
        for title, belongs in SHOWN_OF_BLIND.items():
            ratios = [row["ratio"] - 1 for row in own if row["ratio"] is not None and belongs(row)]
            errors = sorted(map(abs, ratios))
            within = [f"{100 * sum(error <= most for error in errors) / len(errors):.0f} %" for most in (0.05, 0.1)]
            mean, bias = statistics.mean(errors), statistics.mean(ratios)
            cells = [f"`{experiment}`", f"`{own[0]['hardware']}`", title, f"{len(errors)}", f"{100 * mean:.2f} %",
                     f"{100 * bias:+.2f} %", f"{100 * statistics.median(errors):.2f} %", f"{100 * errors[-1]:.2f} %"]
            lines.append("| " + " | ".join(cells + within) + " |")
    return "\n".join(lines)


def bases():
    """Errors of time by GPU and basis of its rates, as validate/tools/basis_errors.py has written them."""
    lines = ["| GPU | basis | stand-ins come from | measured times | n | mean | median | p90 | worst |",
             "|---|---|---|---|--:|--:|--:|--:|--:|"]
    for row in json.loads((TOP / "validate/basis_errors.json").read_text(encoding="utf-8"))["rows"]:
        errors = " | ".join(f"{100 * row[key]:.1f} %" for key in ("mape", "median", "p90", "worst"))
        what = "records" if "records" in row["evidence"] else "published tables"
        lines.append(f"| `{row['hardware']}` | {row['basis']} | {row['rates_of'] or ''} | {what} | {row['n']:,} "
                     f"| {errors} |")
    return "\n".join(lines)


def ideal():
    """Fastest recorded kernels beside ideal ones, as validate/tools/ideal_errors.py has written them, and the factors."""
    stored = json.loads((TOP / "validate/ideal_errors.json").read_text(encoding="utf-8"))
    lines = ["| GPU | schedule | pass | phase | mask | kernels | n | least | nine of ten | median | most |",
             "|---|---|---|---|---|--:|--:|--:|--:|--:|--:|"]
    for row in stored["rows"]:
        if row["n"] < ENOUGH:
            continue
        names = [f"`{row[key]}`" if row[key] else "all" for key in ("hardware", "schedule")]
        names += [row["pass"], row["phase"] or "all", row["mask"] or "all"]
        numbers = [f"{row['kernels']}", f"{row['n']:,}", f"{row['least']:.2f}", f"{row['low']:.2f} to {row['high']:.2f}",
                   f"{row['median']:.2f}", f"{row['most']:.2f}"]
        lines.append("| " + " | ".join(names + numbers) + " |")
    causes = {"regime": "another regime", "gpu": "another GPU with the same chip", "chip": "another chip", "schedule": "another schedule"}
    factors = [f"{causes[one['cause']]} {one['factor']:.2f} (n = {one['n']:,})" for one in stored["widening"]]
    return "\n".join(lines), ", ".join(factors)


def summary(table):
    """README's table: all records of our kernels, and of kernels that ship in PyTorch. Errors are in percent."""
    columns = {"ours": lambda name: not name.startswith(THIRD_PARTY),
               "PyTorch's": lambda name: name.startswith(THIRD_PARTY)}
    most = {}
    lines = []
    for name, title in QUANTITIES:
        cells = []
        for column, belongs in columns.items():
            found = [row for row in table if row["quantity"] == name and belongs(row["kernel"])]
            if not found:
                raise SystemExit(f"tilescope validate: no row of {name}")
            counts = [int(row["n"].replace(",", "")) for row in found]
            mean = sum(count * percent(row["mean"]) for count, row in zip(counts, found)) / sum(counts)
            most[column] = max(most.get(column, 0), sum(counts))
            cells.append(f"{mean:.2f} | {max(percent(row['worst']) for row in found):.1f}")
        lines.append(f"| {title} | " + " | ".join(cells) + " |")
    head = "| error in % | " + " | ".join(f"{column} (n = {n:,}): mean | worst" for column, n in most.items()) + " |"
    return "\n".join([head, "|---|--:|--:|--:|--:|", *lines]) + "\n"


def percent(cell):
    return float(cell.removesuffix("%"))


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("tilescope")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--recorded")
    parser.add_argument("--rows")
    parser.add_argument("--published")
    given = parser.parse_args(arguments)
    program = str(pathlib.Path(given.tilescope).resolve())
    if bool(given.recorded) != bool(given.rows):
        parser.error("--recorded and --rows go together: one run of validate writes both")
    if given.recorded:
        recorded = pathlib.Path(given.recorded).read_text(encoding="utf-8").strip()
        compared = json.loads(pathlib.Path(given.rows).read_text(encoding="utf-8"))
    else:
        recorded, compared = validate(program)
    published = (pathlib.Path(given.published).read_text(encoding="utf-8").strip() if given.published
                 else validate(program, "--published", "validate/published")[0])
    page = PAGE.format(recorded=recorded, blind=blind(compared["rows"]), bases=bases(), published=published,
                       ideal=ideal()[0], widening=ideal()[1])
    wanted = {TOP / "docs/accuracy.md": page}
    readme = TOP / "README.md"
    text = readme.read_text(encoding="utf-8")
    if not PART.search(text):
        raise SystemExit("README.md: the lines <!-- accuracy --> and <!-- end of accuracy --> are missing")
    wanted[readme] = PART.sub(lambda part: part.group(1) + summary(rows(recorded)) + part.group(2), text)
    changed = [page for page, new in wanted.items() if not page.exists() or page.read_text(encoding="utf-8") != new]
    for page in changed:
        if given.check:
            print(f"{page.relative_to(TOP)} is out of date: run `make docs`", file=sys.stderr)
        else:
            page.write_text(wanted[page], encoding="utf-8")
            print(f"wrote {page.relative_to(TOP)}")
    return 1 if given.check and changed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
