#!/usr/bin/env python3
"""Writes the tables of docs/model.md that say what machine code and mechanisms of the time model are worth.

usage: model_tables.py [--engines FILE] [--mechanisms FILE]

The files are what `tilescope validate --engine each --format json` and `tilescope validate --without each --format json`
have printed. The tables stand between the page's markers.
"""
import argparse
import json
import pathlib

PAGE = pathlib.Path(__file__).resolve().parents[1] / "model.md"
END = "<!-- end -->\n"
# Those with machine code in the tree, and those for which a program is synthesised.
WITH_CODE = ["fused_mma", "block_sparse", "case_study", "split_kv", "split_kv_int4", "split_kv_int8", "split_kv_wide",
             "fused_fp8_qk", "fused_fp8", "fused_fp8_vt", "fused_wgmma", "flash1", "pytorch_flash2", "pytorch_flash2_split",
             "pytorch_flash2_backward_d64", "pytorch_flash2_backward_d128"]
WITHOUT_CODE = ["pytorch_efficient", "cudnn_forward", "backward", "backward_split", "mla_decode", "reference"]
ENGINES = ["simulated", "synthesised"]  # machine code where it is known; none


def percent(part):
    return f"{part * 100:.2f}"


def rows_of(path):
    """By choice and kernel."""
    return {(row["choice"], row["kernel"]): row for row in json.loads(path.read_text())["rows"]}


def engines(rows):
    heads = [f"{of}{name}" for of in ("SM cycles: ", "time: ") for name in ("machine code", "synthesised")]
    lines = ["| kernel | points over 20 us | " + " | ".join(heads) + " |", "|---|--:|" + "--:|" * len(heads)]
    for kernel in WITH_CODE + WITHOUT_CODE:
        own = [rows[(engine, kernel)] for engine in ENGINES]
        cells = [f"`{kernel}`", str(own[0]["n"])]
        for of in ("cycles", "seconds"):
            cells += [f"{percent(row[of + '_mean'])}, {row[of + '_worst'] * 100:.1f} %" for row in own]
            if kernel in WITHOUT_CODE:
                cells[-2] = "no code"
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def most_for(rows, choice, kernels):
    """The kernel whose mean error of SM cycles or of time grows most without the mechanism."""
    grown = []
    for kernel in kernels:
        before, after = rows[("all", kernel)], rows[(choice, kernel)]
        for of, name in (("cycles", "SM cycles"), ("seconds", "time")):
            first, then = before[of + "_mean"], after[of + "_mean"]
            grown.append((then - first, f"{name} of `{kernel}` {first * 100:.1f} -> {then * 100:.1f} %"))
    return max(grown)[1] if grown else ""


def mechanisms(rows):
    every = rows[("all", "all")]
    kernels = sorted(kernel for choice, kernel in rows if choice == "all" and kernel != "all")
    lines = [f"Of {every['n']:,} points over 20 us, with everything at work: SM cycles {percent(every['cycles_mean'])} % "
             f"(worst {every['cycles_worst'] * 100:.1f}), time {percent(every['seconds_mean'])} % "
             f"(worst {every['seconds_worst'] * 100:.1f}), {percent(every['short_mean'])} % under 20 us.", "",
             "| mechanism | says | points changed | SM cycles without it | time without it | gain of SM cycles | "
             "gain of time | without it, most |", "|---|---|--:|--:|--:|--:|--:|---|"]
    choices = [row for (choice, kernel), row in rows.items() if kernel == "all" and choice != "all"]
    for row in sorted(choices, key=lambda row: row["cycles_mean"] + row["seconds_mean"], reverse=True):
        lines.append(f"| `{row['choice']}` | {row['meaning']} | {row['changed']} | {percent(row['cycles_mean'])} % | "
                     f"{percent(row['seconds_mean'])} % | {row['cycles_gain'] * 100:+.2f} | "
                     f"{row['seconds_gain'] * 100:+.2f} | {most_for(rows, row['choice'], kernels)} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engines", type=pathlib.Path)
    parser.add_argument("--mechanisms", type=pathlib.Path)
    arguments = parser.parse_args()
    text = PAGE.read_text(encoding="utf-8")
    for path, begin, table in ((arguments.engines, "<!-- engines -->\n", engines),
                               (arguments.mechanisms, "<!-- mechanisms -->\n", mechanisms)):
        if path is None:
            continue
        start = text.index(begin) + len(begin)
        text = text[:start] + table(rows_of(path)) + text[text.index(END, start):]
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
