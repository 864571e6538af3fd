#!/usr/bin/env python3
"""clang-tidy over the sources of the program, with the checks of .clang-tidy.

usage: check_tidy.py CLANG_TIDY SOURCE_DIR BUILD_DIR [--without FOLDER,...] [--jobs N]

clang-tidy spends most of its time on the headers of the standard library, once a file that it is given. So the units that
the build compiles (folders, where it compiles each file alone) are joined into a few files, each of units that declare no
name twice in their anonymous namespaces. A file that does not compile is split into its units again. Tests and benchmarks
are not checked.
"""
import argparse
import concurrent.futures
import functools
import json
import os
import pathlib
import re
import subprocess
import sys

TYPE = re.compile(r"(?:template.*> )?(?:struct|class|enum class|enum|using)\s+(\w+)")
VALUE = re.compile(r"""(?!return|using|namespace)[a-zA-Z\[][\w:<>,&*\s\[\]"=]*?[\s&*](\w+)(?:\(|\s=|\{|\[|;)""")


def declared(lines):
    """Names that lines declare at column 1, where clang-format puts the declarations of a namespace."""
    return {match[1] for line in lines for match in (TYPE.match(line), VALUE.match(line)) if match}


def anonymous_names(path):
    """Names declared in the anonymous namespaces of a source: clang-format puts their declarations at column 1."""
    names, inside = set(), False
    for line in path.read_text().splitlines():
        if line.startswith("namespace {"):
            inside = True
        elif line == "}  // namespace":
            inside = False
        elif inside:
            names |= declared([line])
    return names


@functools.cache
def headers_of(path, root):
    """Headers of the project that a file includes, and the headers that those include."""
    found = set()
    for name in re.findall(r'^#include "(.*)"', path.read_text(), re.M):
        header = root / "src" / name
        if header.exists():
            found |= {header} | headers_of(header, root)
    return frozenset(found)


def units_and_flags(source, build):
    """Units of the compile database (a unity file stands for the sources that it includes) and their -D, -I, -isystem."""
    units, seen, flags = {}, set(), {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        file = pathlib.Path(entry["directory"], entry["file"])
        members = [file]
        if "/Unity/" in str(file):
            members = [pathlib.Path(name) for name in re.findall(r'#include "(.*)"', file.read_text())]
        kept = [path for path in members if path.is_relative_to(source / "src") and not path.is_relative_to(source / "src/python")
                and not re.search(r"_(test|bench|main)\.cpp$", path.name)]
        for path in set(kept) - seen:  # some sources are in two units
            joined = f"{file.parent.parent.stem}_{file.stem}"
            units.setdefault(joined if members != [file] else str(path.parent.relative_to(source)), set()).add(path)
        seen |= set(kept)
        if kept:
            found = re.findall(r"-(?:D|I|isystem )\s*(?:\\.|\S)+", entry["command"])
            flags |= {flag.replace('\\"', '"'): True for flag in found}
    return units, [word for flag in flags for word in flag.split(" ", 1)]


def groups_of(units, root):
    """Joins units whose names, also those of their headers, and whose `using namespace` allow it.

    The unit that can be joined with the fewest others comes first, and each joins the first group that takes it.
    """
    found = {}
    for unit, paths in units.items():
        own = set().union(*map(anonymous_names, paths))
        texts = [path.read_text() for path in paths]
        headers = [header.read_text() for header in {header for path in paths for header in headers_of(path, root)}]
        using = {name for text in texts + headers for name in re.findall(r"^using namespace (.*);", text, re.M)}
        used = {word for text in texts + headers for word in re.findall(r"\w+", text)}
        shared = used & declared(line for text in texts + headers for line in text.splitlines()) - own
        found[unit] = own, shared, using

    def apart(a, b):
        (own, shared, using), (other_own, other_shared, other_using) = found[a], found[b]
        return a != b and (using != other_using or bool(own & (other_own | other_shared) or shared & other_own))

    groups = []
    for unit in sorted(units, key=lambda unit: (-sum(apart(unit, other) for other in units), unit)):
        group = next((group for group in groups if not any(apart(unit, other) for other in group)), None)
        if group:
            group.append(unit)
        else:
            groups.append([unit])
    return groups


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tidy")
    for name in ("source", "build"):
        parser.add_argument(name, type=lambda word: pathlib.Path(word).resolve())
    parser.add_argument("--without", type=lambda word: set(word.split(",")), default=set())
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    given = parser.parse_args()
    tidy, source, build, without = given.tidy, given.source, given.build, given.without
    units, flags = units_and_flags(source, build)

    def asked(path):
        inside = path.relative_to(source / "src")
        return not without & {str(folder) for folder in [inside, *inside.parents]}

    units = {name: sorted(filter(asked, paths)) for name, paths in units.items() if any(map(asked, paths))}
    folder = build / "tidy"
    folder.mkdir(exist_ok=True)

    def check(names):
        unit = folder / (re.sub(r"\W", "_", names[0]) + f"_{len(names)}.cpp")
        unit.write_text("".join(f'#include "{path}"\n' for name in names for path in units[name]))
        result = subprocess.run([tidy, "--quiet", f"--config-file={source / '.clang-tidy'}", str(unit), "--",
                                 "-std=c++20", *flags], capture_output=True, text=True)
        if "[clang-diagnostic-error]" in result.stdout and len(names) > 1:
            return [found for name in names for found in check([name])]
        return [(result.returncode, result.stdout)]

    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        results = [result for found in pool.map(check, groups_of(units, source)) for result in found]
    for code, output in results:
        if code:
            print(output)
    print(f"{sum(map(len, units.values()))} sources of {len(units)} units checked in {len(results)} files")
    return 1 if not units or any(code for code, _ in results) else 0


sys.exit(main())
