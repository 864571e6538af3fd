#!/usr/bin/env python3
"""Checks the JSON Schemas of docs/schemas against the files that the program reads and prints.

    check_schemas.py TILESCOPE [--printed FILE]

Every bundled YAML file, an eighth of the records and the JSON of the commands below must match the schema that it names. A document
with a required key removed or another schema's name must not match, nor one with an unknown key if the program refuses
it. --printed names a file with the JSON of `tilescope validate --published`; without it this tool runs the program.
Exit status 1 with the differences; 77 (skipped) without the Python modules jsonschema (4.0 or later) and yaml.
"""
import argparse
import copy
import itertools
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

try:
    import jsonschema
    import yaml
    Validator = jsonschema.Draft202012Validator
except (ImportError, AttributeError):
    print("skipped: needs the Debian packages python3-jsonschema and python3-yaml")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parents[2]
SIMULATE = ("inspect src/kernel/code/testdata/loop.cubin --nvdisasm src/kernel/code/testdata/loop_listing.sh "
            "--instructions --hardware h200_sxm --simulate --steps 5 --blocks 7")
# A launch of validate/captures/h100_triton that was counted.
CHECKED_LAUNCH = "--grid 32,16 --block 128 --dynamic-shared-bytes 40960 --batch 2 --heads 8 --q-len 2k --mask causal"
HEADS = "--heads 4 --q-len 1k --head-dim 128"
COMMANDS = [
    f"predict --hardware h200_sxm --kernel fused_mma {HEADS}",
    f"predict --hardware l4 {HEADS} --mask causal",
    f"predict --hardware l4 {HEADS} --tile q=512,kv=512",
    f"explain --hardware h200_sxm --kernel backward --pass backward {HEADS}",
    "predict --hardware h200_sxm --kernel split_kv --batch 16 --heads-q 32 --heads-kv 8 --q-len 1 --kv-len 8k --head-dim 128",
    "sweep --hardware l4 --heads 4 --head-dim 128 --axis q_len=1k:4k:x2",
    "derive attention",
    "derive --lowering models/lowerings/napkin_hopper.yaml",
    "derive attention --q-len 1k --head-dim 64 --heads 4",
    "inspect src/kernel/code/testdata/kernels.fatbin",
    "inspect src/kernel/code/testdata/kernels.cubin --name staged --nvdisasm src/kernel/code/testdata/nvdisasm.sh --instructions --hardware h200_sxm",
    SIMULATE,
    "import src/import/testdata/torch_trace.json.gz --validate",
    "run --from src/import/testdata/torch_trace.json.gz",
    f"search --hardware h200_sxm {HEADS}",
    "search --hardware h200_sxm --kernel fused_mma --heads 4 --head-dim 128 --axis q_len=256,1k --emit json --l2 closed",
    f"compare --hardware h200_sxm --hardware l4 {HEADS}",
    "sensitivity --hardware l4 --schedule flash2 --numbers levels --heads 4 --q-len 1k --head-dim 128",
    "model mistral-7b --hardware h200_sxm,mi300x --batch 4 --whole-layer",
    "validate --recorded validate/records/h200/decode.jsonl",
    "validate --recorded validate/records/h200/third_party.jsonl --engine each",
    "report --recorded validate/records/h200/third_party.jsonl",
    "report --page family --recorded validate/records/h200/third_party.jsonl",
]
PUBLISHED = "validate --published validate/published"
POINT = "batch=2 heads_q=16 q_len=2048 head_dim=128 mask=causal dtype=bf16"
# Files of other tools, with the options that make records of them.
IMPORTS = {
    "torch_trace.json.gz": [],
    "ncu_raw.csv": ["--point", "name=flash_fwd_kernel " + POINT],
    "measured.yaml": [],
    "ncu_long.csv": ["--point", POINT, "--hardware", "h100_sxm"],
}


# libyaml's loader where PyYAML has it: six times as fast.
class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
    """YAML scalars as yaml-cpp reads them: 1e9 is a number, a date and `yes` are texts."""


Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag.rpartition(":")[2] in ("null", "merge")]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()}
Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^(true|false)$"), list("tf"))
Loader.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(r"^[-+]?[0-9]+$"), list("-+0123456789"))
Loader.add_implicit_resolver("tag:yaml.org,2002:float", re.compile(r"^[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?$"),
                             list("-+.0123456789"))


def read_schemas():
    schemas = {}
    for path in sorted((ROOT / "docs" / "schemas").glob("*.schema.json")):
        schema = json.loads(path.read_text())
        Validator.check_schema(schema)
        name = schema["properties"]["schema"]["const"]
        if path.name != name.removeprefix("tilescope/").replace("/", ".") + ".schema.json":
            sys.exit(f"{path}: file name does not fit its schema {name}")
        parts = schema.pop("properties")  # last: a document that lacks a key is refused before its parts are read
        schemas[name] = Validator({**schema, "properties": parts})
    return schemas


def sampled(lines):
    """(number, text) of the first line of each schema and kernel, and of an eighth of the others: one program wrote all."""
    seen, phase = set(), random.Random(os.environ.get("TILESCOPE_SEED", "1")).randrange(8)
    for number, text in enumerate(lines, 1):
        kind = tuple(re.findall(r'"(?:schema|kernel)": ?"[^"]*"', text))
        if kind not in seen or number % 8 == phase:
            yield number, text
        seen.add(kind)


def files():
    """(place, document) of the bundled files that name a schema, of JSON Lines some lines."""
    for folder in ("models", "kernels", "hardware", "validate", "docs/gate-sample", "src/import/testdata"):
        for path in sorted((ROOT / folder).rglob("*")):
            place = str(path.relative_to(ROOT))
            if path.suffix == ".yaml":
                yield place, yaml.load(path.read_text(), Loader=Loader)
            elif path.suffix == ".jsonl":
                for line, text in sampled(path.open()):
                    yield f"{place}:{line}", json.loads(text)
            elif path.suffix == ".json":
                document = json.loads(path.read_text())
                if isinstance(document, dict) and "schema" in document:
                    yield place, document


def printed(program, published):
    if published:
        yield published, json.loads(pathlib.Path(published).read_text())
    for command in COMMANDS + ([] if published else [PUBLISHED]):
        run = subprocess.run([program, *command.split(), "--format", "json"], cwd=ROOT, capture_output=True, text=True)
        if run.returncode not in (0, 1):
            sys.exit(f"tilescope {command}: status {run.returncode}: {run.stderr}")
        texts = run.stdout.splitlines() if command.startswith("sweep") else [run.stdout]
        for text in texts:
            yield "tilescope " + command, json.loads(text)
    with tempfile.TemporaryDirectory() as folder:
        command = ["records", "convert", "validate/records/h200/third_party.jsonl", "--to", "files", "-o", folder]
        subprocess.run([program, *command], cwd=ROOT, check=True, capture_output=True)
        for path in sorted(pathlib.Path(folder).rglob("*.json")):
            yield path.name, json.loads(path.read_text())
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder) / "timeline.json"
        subprocess.run([program, *SIMULATE.split(), "--timeline", str(place)], cwd=ROOT, check=True, capture_output=True)
        yield place.name, json.loads(place.read_text())
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder) / "sweep.csv"
        command = [*COMMANDS[5].split(), "--shard", "2/3", "-o", str(place)]
        subprocess.run([program, *command], cwd=ROOT, check=True, capture_output=True)
        for path in pathlib.Path(folder).iterdir():
            yield path.name, json.loads(path.read_text().splitlines()[0])
    with tempfile.TemporaryDirectory() as folder:
        place, capture = pathlib.Path(folder) / "facts.json", ROOT / "validate/captures/h100_triton"
        facts = [json.loads(line)["facts"] for line in capture.with_suffix(".facts.jsonl").open()]
        place.write_text(json.dumps(next(each for each in facts if each["registers"] == 128)))
        command = [*f"describe {place} --check {capture}.jsonl".split(), *CHECKED_LAUNCH.split(), "--format", "json"]
        run = subprocess.run([program, *command], cwd=ROOT, check=True, capture_output=True, text=True)
        yield "describe --check", json.loads(run.stdout)
    for name, options in IMPORTS.items():
        with tempfile.TemporaryDirectory() as folder:
            lines, files = pathlib.Path(folder) / "records.jsonl", pathlib.Path(folder) / "files"
            command = ["import", f"src/import/testdata/{name}", "--records", str(lines), *options]
            subprocess.run([program, *command], cwd=ROOT, check=True, capture_output=True)
            subprocess.run([program, "records", "convert", str(lines), "--to", "files", "-o", str(files)], cwd=ROOT,
                           check=True, capture_output=True)
            for line in lines.open():
                yield f"records of {name}", json.loads(line)
            for path in sorted(files.rglob("*.json")):
                yield f"records of {name}, files", json.loads(path.read_text())


def documents_in(place, value):
    """(place, document) of every object that names a schema: the value itself, and documents inside it."""
    if isinstance(value, dict):
        if str(value.get("schema", "")).startswith("tilescope/"):
            yield place, value
        for key, inner in value.items():
            yield from documents_in(f"{place}: {key}", inner)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from documents_in(f"{place}[{index}]", inner)


def mutations(schema, document):
    """(what was changed, document that must not match)."""
    # What an imported record may lack, a record of our own states.
    for key in schema["required"] + schema.get("else", {}).get("required", []):
        changed = copy.deepcopy(document)
        del changed[key]
        yield f"without '{key}'", changed
    yield "of another schema", {**document, "schema": "tilescope/other/1"}
    if schema.get("additionalProperties") is False:
        yield "with an unknown key", {**document, "no_such_key": 1}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("tilescope")
    parser.add_argument("--printed")
    given = parser.parse_args()
    program = str(pathlib.Path(given.tilescope).resolve())
    schemas, examples, problems, checked = read_schemas(), {}, [], 0
    for outer_place, outer in itertools.chain(files(), printed(program, given.printed)):
        if not str(outer.get("schema", "")).startswith("tilescope/"):
            problems.append(f"{outer_place}: names no schema of tilescope: {outer.get('schema')}")
        for place, document in documents_in(outer_place, outer):
            validator = schemas.get(document.get("schema"))
            if validator is None:
                problems.append(f"{place}: no file in docs/schemas describes {document.get('schema')}")
                continue
            examples.setdefault(document["schema"], document)
            checked += 1
            for error in validator.iter_errors(document):
                problems.append(f"{place}: {error.json_path}: {error.message[:200]}")
    refused = 0
    for name, validator in schemas.items():
        if name not in examples:
            problems.append(f"{name}: no document was checked")
        for change, document in mutations(validator.schema, examples[name]) if name in examples else ():
            refused += 1
            if validator.is_valid(document):
                problems.append(f"{name}: a document {change} matches")
    if problems:
        sys.exit("\n".join(problems[:40]) + f"\n{len(problems)} problems")
    print(f"{checked} documents match {len(schemas)} schemas; {refused} changed documents do not")


if __name__ == "__main__":
    main()
