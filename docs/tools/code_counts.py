#!/usr/bin/env python3
"""Compares instruction counts from machine code with the counters of all records.

usage: code_counts.py --rows FILE [--update]

FILE is what `tilescope validate --format json` has printed. The table of docs/origins.md must be that of these rows, and
each kernel's mean error must be at most 3 %. Exit status: 0 both hold; 1 not, or nothing was compared.
"""
import argparse
import collections
import json
import pathlib
import sys

PAGE = pathlib.Path(__file__).resolve().parents[1] / "origins.md"
BEGIN, END = "<!-- counts from code -->\n", "<!-- end -->\n"
QUANTITIES = {"instructions": "warp instructions", "alu_instructions": "ALU instructions"}
BAR, WITHIN = 3.0, 3.0  # % of a kernel's mean error; % that records are counted for


def table(rows):
    """The table, and kernels whose mean error is above the bar."""
    errors = collections.defaultdict(list)
    for row in rows:
        if row["quantity"] in QUANTITIES and row["measured"]:
            errors[row["kernel"], row["quantity"]].append(abs(row["predicted"] / row["measured"] - 1) * 100)
    lines, above = ["| kernel | counter of a launch | records | mean error | within 3 % | worst |", "|---|---|--:|--:|--:|--:|"], []
    for (kernel, quantity), of in sorted(errors.items(), key=lambda item: (item[0][0], -len(item[0][1]))):
        mean = sum(of) / len(of)
        lines.append(f"| `{kernel}` | {QUANTITIES[quantity]} | {len(of)} | {mean:.2f} % | "
                     f"{sum(each <= WITHIN for each in of)} | {max(of):.1f} % |")
        if mean > BAR:
            above.append(f"{kernel}, {QUANTITIES[quantity]}: mean error {mean:.2f} %, bar {BAR} %")
    return "\n".join(lines) + "\n", above


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=pathlib.Path, required=True)
    parser.add_argument("--update", action="store_true")
    arguments = parser.parse_args()
    text, above = table(json.loads(arguments.rows.read_text())["rows"])
    if text.count("\n") < 4:
        sys.exit("code_counts.py: no row compares instructions")
    page = PAGE.read_text(encoding="utf-8")
    start, end = page.index(BEGIN) + len(BEGIN), page.index(END)
    if arguments.update:
        PAGE.write_text(page[:start] + text + page[end:], encoding="utf-8")
    elif page[start:end] != text:
        above.append("docs/origins.md: the table of counts from code is not that of the records; run code_counts.py --update")
    for problem in above:
        print(problem, file=sys.stderr)
    return 1 if above else 0


if __name__ == "__main__":
    sys.exit(main())
