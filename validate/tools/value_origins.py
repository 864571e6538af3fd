#!/usr/bin/env python3
"""States in each code.json where the values of its `facts` and `variants` come from.

    value_origins.py TILESCOPE --write    writes the key `from` of kernels/**/*code.json
    value_origins.py TILESCOPE --check    exit status 1 where a file states another one

`from` has a map for each launch of `facts`, and one for `variants`: key -> elf, code, launch, tensor map, counted or given. A value
comes from what `tilescope describe` found it in, if it finds the same one for every line of validate/described/own_kernels.jsonl
that the value is of; else it is given: typed by hand from source or machine code. Needs the Python module yaml.
"""
import collections
import json
import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from compare_described import ROOT, described_text, flat, same, stated_document, stated_variant, yaml  # noqa: E402

NAMES = {"launch", "steps"}  # of an entry: which launch it is of
VALUE = re.compile(r"^\s*(?:- )?([a-z_0-9]+): .*?  # (elf|code|launch|tensor map|counted|given): ")


def found_origins():
    """By descriptor, launch and key: origins of the values that describe finds as they are stated; None: another value."""
    origins = collections.defaultdict(lambda: collections.defaultdict(set))
    with tempfile.TemporaryDirectory() as folder:
        for text in (ROOT / "validate/described/own_kernels.jsonl").read_text().splitlines():
            line = json.loads(text)
            if line["facts"] is None:
                continue
            document = stated_document(ROOT / line["descriptor"])
            variant = stated_variant(document, line)
            if variant is None:
                continue
            described, _ = described_text(sys.argv[1], line, folder)
            of_key = {match[1]: match[2] for match in map(VALUE.match, described.splitlines()) if match}
            found = yaml.safe_load(described)
            variants = found.get("code", {}).get("variants")
            if not variants:
                continue
            launch = found["code"]["facts"][0]["launch"]
            values, stated = flat(found, variants[0], launch), flat(document, variant, launch)
            for key, value in stated.items():
                agrees = key in values and same(value, values[key], stated, key)
                origins[line["descriptor"]][launch, key].add(of_key.get(key) if agrees else None)
    return origins


def stated_origins(summary, origins):
    """The key `from` of a summary."""
    def origin(launches, key):
        found = set().union(*(origins.get((launch, key), set()) for launch in launches))
        return found.pop() if len(found) == 1 and None not in found else "given"

    result = {}
    for entry in summary.get("facts", []):
        of_launch = result.setdefault(entry["launch"], {})
        for key in entry.keys() - NAMES:
            of_launch[key] = origin([entry["launch"]], key)
    launches = {launch for launch, _ in origins}
    instances = [kernel["variant"] for kernel in summary.get("kernels", []) if "variant" in kernel]
    keys = {key for variant in summary.get("variants", instances) for key in variant}
    if keys:
        result["variants"] = {key: origin(launches, key) for key in keys}
    return {name: dict(sorted(values.items())) for name, values in sorted(result.items())}


def with_origins(text, stated):
    """The file's text with the key `from` on a line of its own, before `facts`, `variants` or `kernels`."""
    text = re.sub(r'^ "from": .*\n', "", text, flags=re.M)
    line = f' "from": {json.dumps(stated)},\n'
    at = min(text.index(f'\n "{key}"') for key in ("facts", "variants", "kernels") if f'\n "{key}"' in text) + 1
    return text[:at] + line + text[at:]


def main():
    origins = found_origins()
    wrong = []
    for file in sorted((ROOT / "kernels").rglob("*code.json")):
        text = file.read_text()
        summary = json.loads(text)
        descriptor = str(file.relative_to(ROOT)).replace("code.json", "kernel.yaml")
        stated = stated_origins(summary, origins.get(descriptor, {}))
        if not stated or summary.get("from") == stated:
            continue
        if "--write" in sys.argv:
            file.write_text(with_origins(text, stated))
        wrong.append(descriptor)
    for descriptor in wrong if "--check" in sys.argv else []:
        print(f"{descriptor}: its code.json states other origins than describe finds: run value_origins.py --write")
    return 1 if wrong and "--check" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
