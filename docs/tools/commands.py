#!/usr/bin/env python3
"""Runs the commands that the documentation shows and compares what they print.

usage: commands.py TILESCOPE [--update] [PAGE...]

A fenced block that begins with `$ tilescope ...` has one command and its output. A backslash continues the command on
the next line. A line `...` stands for any number of omitted lines. The number of spaces between columns and the length
of rules of dashes may differ. --update rewrites the shown lines. The commands of a page run one after the other in one
folder, which has the repository's files as links; what a command writes is there for the next one.
Exit status: 0 all equal, 1 a difference or no command found, 2 bad usage.
"""
import difflib
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"(?ms)^```[a-z]*\n(\$ tilescope .*?)^```$")
SKIP = "..."


def split_block(block):
    """The command line of a block, its lines as written, and the lines that it shows."""
    lines = block.rstrip("\n").split("\n")
    count = 1
    while lines[count - 1].endswith("\\"):
        count += 1
    return " ".join(line.rstrip("\\") for line in lines[:count])[2:], lines[:count], lines[count:]


def normal(line):
    return re.sub(r"-{3,}", "---", re.sub(r"\s+", " ", line.strip()))


def matches(shown, printed):
    """Whether the printed lines are the shown ones, where `...` stands for any lines."""
    reach = {0}  # how many printed lines may be used up
    for line in shown:
        if line.strip() == SKIP:
            reach = set(range(min(reach), len(printed) + 1)) if reach else set()
        else:
            reach = {at + 1 for at in reach if at < len(printed) and normal(printed[at]) == normal(line)}
    return len(printed) in reach


def updated(shown, printed):
    """Replaces each shown line by the printed line that is like it, or all lines if none was omitted. The order stays,
    and the lines are paired so that all of them together are most alike. A line that nothing printed is like stays, so
    that the comparison names it."""
    if not any(line.strip() == SKIP for line in shown):
        return printed
    kept = [line for line in shown if line.strip() != SKIP]
    alike = [[difflib.SequenceMatcher(None, normal(line), normal(other)).ratio() for other in printed] for line in kept]
    best = [[0.0] * (len(printed) + 1) for _ in range(len(kept) + 1)]  # of the lines from here on
    for line in reversed(range(len(kept))):
        for other in reversed(range(len(printed))):
            pair = alike[line][other] + best[line + 1][other + 1] if alike[line][other] >= 0.5 else 0
            best[line][other] = max(pair, best[line + 1][other], best[line][other + 1])
    paired, at = [], 0
    for line, old in enumerate(kept):
        other = at
        while other < len(printed) and best[line][other] == best[line][other + 1]:
            other += 1
        if other < len(printed) and best[line][other] > best[line + 1][other]:
            paired.append(printed[other])
            at = other + 1
        else:
            paired.append(old)
    lines = iter(paired)
    return [SKIP if line.strip() == SKIP else next(lines) for line in shown]


def run(program, command, folder):
    words = shlex.split(command)
    done = subprocess.run([program] + words[1:], cwd=folder, capture_output=True, text=True,
                          env={"COLUMNS": "80", "PATH": "/usr/bin:/bin", "TILESCOPE_DATA": str(TOP)})
    if done.returncode not in (0, 1):
        raise RuntimeError(f"exit status {done.returncode}: {done.stderr.strip()}")
    return [line.rstrip() for line in done.stdout.rstrip("\n").split("\n")]


def check_page(program, page, update):
    """The number of commands of a page, and what is wrong with them."""
    with tempfile.TemporaryDirectory() as folder:
        for entry in TOP.iterdir():
            if entry.name not in (".git", "build"):
                (pathlib.Path(folder) / entry.name).symlink_to(entry)
        return check_page_in(program, page, update, folder)


def check_page_in(program, page, update, folder):
    text = page.read_text(encoding="utf-8")
    count, problems = 0, []

    def each(found):
        nonlocal count
        count += 1
        command, written, shown = split_block(found.group(1))
        try:
            printed = run(program, command, folder)
        except RuntimeError as error:
            problems.append(f"{page}: `{command}` failed: {error}")
            return found.group(0)
        if update:
            shown = updated(shown, printed)
        if not matches(shown, printed):
            difference = difflib.unified_diff([normal(line) for line in shown], [normal(line) for line in printed],
                                              "shown", "printed", lineterm="", n=0)
            problems.append(f"{page}: `{command}` prints something else:\n  " + "\n  ".join(list(difference)[2:40]))
        return found.group(0).split("\n")[0] + "\n" + "\n".join(written + shown) + "\n```"

    new = BLOCK.sub(each, text)
    if update and new != text:
        page.write_text(new, encoding="utf-8")
    return count, problems


def main(arguments):
    update = "--update" in arguments
    words = [word for word in arguments if word != "--update"]
    if not words:
        print(__doc__, file=sys.stderr)
        return 2
    program = str(pathlib.Path(words[0]).resolve())
    pages = [pathlib.Path(word) for word in words[1:]] or [TOP / "README.md", *sorted((TOP / "docs").rglob("*.md"))]
    total, problems = 0, []
    for page in pages:
        count, found = check_page(program, page, update)
        total += count
        problems += found
    if total == 0:
        problems.append("no command was found: expected fenced blocks that begin with `$ tilescope`")
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"{total} commands on {len(pages)} pages, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
