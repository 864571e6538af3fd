#!/usr/bin/env python3
"""Draws docs/predicted-measured.svg: predicted beside measured for every recorded point, from `tilescope validate`.

usage: picture.py TILESCOPE
"""
import json
import math
import pathlib
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
SIZE, LEFT, TOP_EDGE, GAP = 300, 62, 40, 110
PANELS = [("HBM bytes read", lambda row: row["quantity"] == "traffic read" and row["level"] == "hbm", "bytes"),
          ("time, run after run", lambda row: row["quantity"] == "seconds", "s")]
UNITS = {"bytes": [(1e3, "1 KB"), (1e6, "1 MB"), (1e9, "1 GB"), (1e12, "1 TB")],
         "s": [(1e-6, "1 us"), (1e-5, "10 us"), (1e-4, "100 us"), (1e-3, "1 ms"), (1e-2, "10 ms"), (1e-1, "100 ms")]}


def panel(title, points, unit, left):
    """One log-log picture: measured to the right, predicted upwards, equality as a line, a band of 10 %."""
    low = math.log10(min(min(pair) for pair in points)) - 0.1
    high = math.log10(max(max(pair) for pair in points)) + 0.1

    def place(value):
        return (math.log10(value) - low) / (high - low) * SIZE

    def x(value):
        return left + place(value)

    def y(value):
        return TOP_EDGE + SIZE - place(value)

    first, last = 10**low, 10**high
    out = [f'<text x="{left}" y="{TOP_EDGE - 14}" class="title">{title}, {len(points):,} points</text>',
           f'<rect x="{left}" y="{TOP_EDGE}" width="{SIZE}" height="{SIZE}" class="frame"/>']
    for value, name in UNITS[unit]:
        if first <= value <= last:
            out += [f'<path d="M{x(value):.1f} {TOP_EDGE}v{SIZE}M{left} {y(value):.1f}h{SIZE}" class="grid"/>',
                    f'<text x="{x(value):.1f}" y="{TOP_EDGE + SIZE + 16}" text-anchor="middle">{name}</text>',
                    f'<text x="{left - 6}" y="{y(value) + 4:.1f}" text-anchor="end">{name}</text>']
    shift = math.log10(1.1) / (high - low) * SIZE
    out += [f'<path d="M{left} {TOP_EDGE + SIZE}L{left + SIZE} {TOP_EDGE}" class="equal"/>',
            f'<path d="M{left} {TOP_EDGE + SIZE - shift:.1f}L{left + SIZE - shift:.1f} {TOP_EDGE}'
            f'M{left + shift:.1f} {TOP_EDGE + SIZE}L{left + SIZE} {TOP_EDGE + shift:.1f}" class="band"/>']
    dots = sorted({(round(x(measured)), round(y(predicted))) for measured, predicted in points})
    out.append('<path d="' + "".join(f"M{a} {b}h0" for a, b in dots) + '" class="dots"/>')
    out += [f'<text x="{left + SIZE / 2}" y="{TOP_EDGE + SIZE + 36}" text-anchor="middle">measured</text>',
            f'<text x="{left - 50}" y="{TOP_EDGE + SIZE / 2}" text-anchor="middle" '
            f'transform="rotate(-90 {left - 50} {TOP_EDGE + SIZE / 2})">predicted</text>']
    return out


def main(arguments):
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    program = str(pathlib.Path(arguments[0]).resolve())
    done = subprocess.run([program, "validate", "--quiet", "--format", "json"], cwd=TOP, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"tilescope validate: exit status {done.returncode}\n{done.stderr}")
    rows = json.loads(done.stdout)["rows"]
    width, height = LEFT + 2 * SIZE + GAP + 20, TOP_EDGE + SIZE + 50
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
           f'width="{width}" height="{height}" role="img">',
           "<title>Predicted beside measured on an H200; the dashed lines are 10 % apart from equality</title>",
           "<style>text{font:12px sans-serif;fill:#333}.title{font-weight:bold}"
           ".frame{fill:#fff;stroke:#888}.grid{stroke:#ddd}"
           ".equal{stroke:#888}.band{stroke:#aaa;stroke-dasharray:4 3;fill:none}"
           ".dots{stroke:#1f5fa8;stroke-width:3;stroke-linecap:round;stroke-opacity:.5}</style>",
           f'<rect width="{width}" height="{height}" fill="#fff"/>']
    for index, (title, wanted, unit) in enumerate(PANELS):
        points = [(row["measured"], row["predicted"]) for row in rows
                  if wanted(row) and row["measured"] > 0 and row["predicted"] > 0]
        if not points:
            raise SystemExit(f"tilescope validate: no row of {title}")
        out += panel(title, points, unit, LEFT + index * (SIZE + GAP))
    (TOP / "docs/predicted-measured.svg").write_text("\n".join(out) + "\n</svg>\n", encoding="utf-8")
    print("wrote docs/predicted-measured.svg")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
