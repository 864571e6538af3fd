#!/usr/bin/env python3
"""Finds cycles in the graph of folders. A folder points to each folder whose headers it includes. Tests are exempt.

    folder_cycles.py SOURCE_DIRECTORY      exit status 1 and the cycle, if there is one

Rooms are the folders of SOURCE_DIRECTORY. Folders within a room are compared with each other. Files in the room itself
are part of no cycle within the room.
"""
import collections
import pathlib
import re
import sys


def includes(root):
    """Pairs of paths, relative to the source directory: a file and a header that it includes."""
    for file in sorted(root.rglob("*")):
        if file.suffix not in (".h", ".cpp") or file.stem.endswith("_test"):
            continue
        for header in re.findall(r'^#include "([a-z_0-9/]+\.h)"', file.read_text(), re.M):
            if (root / header).exists():
                yield file.relative_to(root), pathlib.Path(header)


def cycle_in(graph):
    """A list of nodes that ends where it starts, or an empty one."""
    done, path = set(), []

    def visit(node):
        if node in path:
            return path[path.index(node):] + [node]
        if node in done:
            return []
        path.append(node)
        for target in sorted(graph[node]):
            if found := visit(target):
                return found
        path.pop()
        done.add(node)
        return []

    for node in sorted(graph):
        if found := visit(node):
            return found
    return []


def main():
    root = pathlib.Path(sys.argv[1])
    rooms, within = collections.defaultdict(set), collections.defaultdict(lambda: collections.defaultdict(set))
    for file, header in includes(root):
        if len(file.parts) < 2:
            continue  # main.cpp may include any room
        room, other = file.parts[0], header.parts[0]
        if room != other:
            rooms[room].add(other)
        elif len(file.parts) > 2 and len(header.parts) > 2 and file.parts[1] != header.parts[1]:
            within[room][file.parts[1]].add(header.parts[1])
    failed = False
    for name, graph in [("src", rooms)] + sorted(within.items()):
        found = cycle_in(graph)
        if found:
            print(f"{name}: folders include each other in a cycle: {' -> '.join(found)}; "
                  "move what both need to a folder below them")
            failed = True
    sys.exit(failed)


main()
