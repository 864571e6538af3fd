#!/usr/bin/env python3
"""Checks docs/origins.md against the kernels' descriptors.

usage: origins.py [TOP]

Each row of the page's tables names descriptors, a launch, a work rate, its value and its origin. Their code.json must
have that value. A descriptor has at most 60 keys, none of them a clock, a wait or a count of instructions. Every rate of `alu` and `others` of every descriptor must be in a row, so that each count of
instructions has a stated origin, and none may come from counters of attention runs.
A row of the table of clocks and waits names keys and, exactly, the descriptors that have one of them.
Exit status: 0 all true; 1 a row is wrong or missing, or nothing was checked.
"""
import json
import pathlib
import re
import sys

ROW = re.compile(r"(?m)^\| (`[^|]+`) \| ([^|]+) \| `([^|`]+)` \| ([\d.]+) \| ([^|]+) \| [^|]+ \|$")
COUNTED = "attention counters"
MUST_BE_LISTED = ("alu.", "others.")
CLOCKS = re.compile(r"(?m)^\| ((?:`\w+` ?)+)\| [^|]+ \| ((?:`\w+` ?)+)\|$")
MOST_KEYS = 60
NOT_OF_LANGUAGE = re.compile("clock|wait|work|instruction|stall|latency")


def flat(rates, path=()):
    """The numbers of a map of maps by path: {"per_score": 1, "per_element": {"K": 2}} -> per_score, per_element.K."""
    for key, value in rates.items():
        if isinstance(value, dict):
            yield from flat(value, (*path, key))
        else:
            yield ".".join((*path, key)), float(value)


def rates(code):
    """The work rates that a summary of code states: {(launch, rate): value}."""
    return {(facts["launch"], rate): value for facts in code.get("facts", []) for rate, value in flat(facts.get("work", {}))}


def keys_of(value):
    """All keys of a JSON value."""
    if isinstance(value, dict):
        for key, more in value.items():
            yield key
            yield from keys_of(more)
    elif isinstance(value, list):
        for more in value:
            yield from keys_of(more)


def wrong_clocks(page, codes):
    """Rows of the table of clocks and waits that do not name the kernels with their keys."""
    for keys, kernels in CLOCKS.findall(page):
        wanted = set(re.findall(r"`(\w+)`", keys))
        have = {name for name, code in codes.items() if wanted & {*keys_of(code.get("facts", [])), *keys_of(code.get("variants", []))}}
        if have != set(re.findall(r"`(\w+)`", kernels)):
            yield f"docs/origins.md: {keys.strip()} stands in {', '.join(sorted(have)) or 'no descriptor'}"


def language(schema):
    """The keys of a descriptor, each name once; `code` is another format."""
    found = set()
    for key, value in schema.get("properties", {}).items():
        found.add(key)
        if key != "code":
            found |= language(value)
    found |= set(schema.get("patternProperties", {}))
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            found |= language(schema[key])
    return found | {key for each in schema.get("anyOf", []) for key in language(each)}


def too_many(top):
    """What is wrong with the keys of the descriptor's language."""
    file = top / "docs/schemas/kernel.1.schema.json"
    if not file.exists():
        return
    keys = language(json.loads(file.read_text()))
    page = top / "docs/describe-a-kernel.md"
    stated = re.search(r"The language has (\d+) different keys", page.read_text(encoding="utf-8")) if page.exists() else None
    if page.exists() and (not stated or int(stated.group(1)) != len(keys)):
        yield f"docs/describe-a-kernel.md: expected 'The language has {len(keys)} different keys', as {file.name} has them"
    if len(keys) > MOST_KEYS:
        yield f"{file.name}: a descriptor has {len(keys)} keys, at most {MOST_KEYS}"
    for key in sorted(filter(NOT_OF_LANGUAGE.search, keys)):
        yield f"{file.name}: '{key}' is a clock, a wait or a count of instructions: it belongs into `code`"


def main(arguments):
    top = pathlib.Path(arguments[0] if arguments else pathlib.Path(__file__).parents[2]).resolve()
    descriptors, codes = {}, {}
    for file in sorted(top.glob("kernels/*/*kernel.yaml")):
        name = re.search(r"(?m)^kernel: (\w+)", file.read_text(encoding="utf-8")).group(1)
        summary = file.with_name(file.name.replace("kernel.yaml", "code.json"))
        codes[name] = json.loads(summary.read_text()) if summary.exists() else {}
        descriptors[name] = rates(codes[name])
    page = (top / "docs/origins.md").read_text(encoding="utf-8")
    stated, problems = set(), [*wrong_clocks(page, codes), *too_many(top)]
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
