#!/usr/bin/env python3
"""Checks docs/origins.md against the kernels' descriptors.

usage: origins.py [TOP]

Each row of the page's tables names descriptors, a launch, a work rate, its value and its origin. The descriptors must
have that value. Every rate of `alu` and `others` of every descriptor must be in a row, so that each count of
instructions has a stated origin, and none may come from counters of attention runs.
A row of the table of clocks and waits names keys and, exactly, the descriptors that have one of them.
Exit status: 0 all true; 1 a row is wrong or missing, or nothing was checked.
"""
import pathlib
import re
import sys

ROW = re.compile(r"(?m)^\| (`[^|]+`) \| ([^|]+) \| `([^|`]+)` \| ([\d.]+) \| ([^|]+) \| [^|]+ \|$")
COUNTED = "attention counters"
MUST_BE_LISTED = ("alu.", "others.")
CLOCKS = re.compile(r"(?m)^\| ((?:`\w+` ?)+)\| [^|]+ \| ((?:`\w+` ?)+)\|$")


def flow_map(text):
    """The numbers of a flow mapping by path: `{per_score: 1, per_element: {K: 2}}` -> per_score, per_element.K."""
    result, path, name = {}, [], ""
    for word in re.findall(r"[\w.]+|[{}:,]", text):
        if word == "{":
            path.append(name)
        elif word == "}":
            path.pop()
        elif re.fullmatch(r"[\d.]+", word):
            result[".".join([*path[1:], name])] = float(word)
        elif re.fullmatch(r"\w+", word):
            name = word
    return result


def whole_lines(text):
    """Lines without comments; a flow mapping that goes on is joined to the line where it begins."""
    lines = []
    for line in text.split("\n"):
        line = line.split("#")[0].rstrip()
        if lines and lines[-1].count("{") > lines[-1].count("}"):
            lines[-1] += " " + line.strip()
        else:
            lines.append(line)
    return lines


def rates(descriptor):
    """The work rates of a descriptor: {(launch, rate): value}. `steps` tells launches of one name apart."""
    result, launch, in_work = {}, "", False
    for line in whole_lines(descriptor.read_text(encoding="utf-8")):
        if found := re.match(r"  - name: (\w+)", line):
            launch, in_work = found.group(1), False
        elif found := re.match(r"    steps: \{(\w+): (\d+)\}", line):
            launch = f"{launch}, {found.group(1)} {found.group(2)} steps"
        elif found := re.match(r"    (\w+):", line):
            in_work = found.group(1) == "work"
        elif in_work and (found := re.match(r"      (\w+): (\{.*\})$", line)):
            for rate, value in flow_map(found.group(2)).items():
                result[launch, f"{found.group(1)}.{rate}"] = value
    return result


def wrong_clocks(page, files):
    """Rows of the table of clocks and waits that do not name the descriptors with their keys."""
    rows = CLOCKS.findall(page)
    for keys, kernels in rows:
        key = re.compile(r"\b(" + "|".join(re.findall(r"`(\w+)`", keys)) + r"):")
        have = {name for name, file in files.items() if any(map(key.search, whole_lines(file.read_text(encoding="utf-8"))))}
        if have != set(re.findall(r"`(\w+)`", kernels)):
            yield f"docs/origins.md: {keys.strip()} stands in {', '.join(sorted(have)) or 'no descriptor'}"


def main(arguments):
    top = pathlib.Path(arguments[0] if arguments else pathlib.Path(__file__).parents[2]).resolve()
    descriptors, files = {}, {}
    for file in sorted(top.glob("kernels/*/*kernel.yaml")):
        name = re.search(r"(?m)^kernel: (\w+)", file.read_text(encoding="utf-8"))
        descriptors[name.group(1)], files[name.group(1)] = rates(file), file
    page = (top / "docs/origins.md").read_text(encoding="utf-8")
    stated, problems = set(), list(wrong_clocks(page, files))
    rows = ROW.findall(page)
    for kernels, launch, rate, value, _origin in rows:
        for kernel in re.findall(r"`(\w+)`", kernels):
            found = descriptors.get(kernel, {}).get((launch.strip(), rate))
            if found != float(value):
                problems.append(f"docs/origins.md: {kernel}, {launch.strip()}, {rate}: "
                                f"the page says {value}, the descriptor {found}")
            stated.add((kernel, launch.strip(), rate))
    for kernel, found in descriptors.items():
        for (launch, rate), value in found.items():
            if rate.startswith(MUST_BE_LISTED) and (kernel, launch, rate) not in stated:
                problems.append(f"docs/origins.md: no row for {kernel}, {launch}, {rate} = {value:g}: "
                                "state where the value comes from")
    problems += [f"docs/origins.md: {kernels}, {rate}: no count may be an average over counters of attention runs"
                 for kernels, _, rate, _, origin in rows if COUNTED in origin]
    if not stated:
        problems.append("docs/origins.md: no row was found")
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"{len(stated)} rates of {len(descriptors)} descriptors, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
