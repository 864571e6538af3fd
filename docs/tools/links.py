#!/usr/bin/env python3
"""Checks the relative links and anchors of the project's Markdown pages, and what the code tour names.

usage: links.py [TOP]

Every relative link of a page must lead to a file or folder, and every #anchor to a heading of its page. In the table of
docs/code-tour.md each row names a file and a function: the file must exist and contain the function's name. README.md states
how many profiles and descriptors there are, and the error on an A100: they must be those of the files.
Exit status: 0 all exist, 1 one is missing or nothing was checked.
"""
import json
import pathlib
import re
import sys

LINK = re.compile(r"\[[^\]\[]*\]\(([^()\s]+)\)")
HEADING = re.compile(r"(?m)^#{1,6}\s+(.+?)\s*$")
TOUR_ROW = re.compile(r"(?m)^\| [^|]+ \| \[?`([^`|]+)`[^|]*\| `([^`|]+)` \|$")


def without_code(text):
    return re.sub(r"`[^`\n]*`", "", re.sub(r"(?ms)^```.*?^```$", "", text))


def anchors(page):
    """The anchors of a page's headings, as code hosts and MkDocs make them."""
    text = re.sub(r"(?ms)^```.*?^```$", "", page.read_text(encoding="utf-8"))
    result = set()
    for heading in HEADING.findall(text):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        result.add(re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", plain).strip().lower()))
    return result


def check_links(page):
    count, problems = 0, []
    for target in LINK.findall(without_code(page.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", target):
            continue
        count += 1
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists():
            problems.append(f"{page}: link to {target}: no such file")
        elif anchor and file.suffix == ".md" and anchor not in anchors(file):
            problems.append(f"{page}: link to {target}: no heading has this anchor")
    return count, problems


def check_tour(top):
    """Files and functions that the code tour names."""
    problems = []
    rows = TOUR_ROW.findall((top / "docs/code-tour.md").read_text(encoding="utf-8"))
    for file, function in rows:
        if not (top / file).is_file():
            problems.append(f"docs/code-tour.md: {file} does not exist")
        elif not re.search(r"\b" + re.escape(function) + r"\b", (top / file).read_text(encoding="utf-8")):
            problems.append(f"docs/code-tour.md: {file} does not contain `{function}`")
    return len(rows), problems


def check_numbers(top):
    """The numbers that README.md states of other files."""
    if not (top / "validate/basis_errors.json").exists():
        return []
    rows = json.loads((top / "validate/basis_errors.json").read_text())["rows"]
    a100 = next(row for row in rows if (row["hardware"], row["basis"]) == ("a100_sxm_80", "derived"))
    facts = [(r"(\d+) \[profiles\]", len(list((top / "hardware").glob("*.yaml")))),
             (r"(\d+) descriptors in ", len(list((top / "kernels").rglob("*kernel.yaml")))),
             (r"time error (\d+) % on an A100", round(100 * a100["mape"]))]
    text = (top / "README.md").read_text(encoding="utf-8")
    stated = [(pattern, re.findall(pattern, text), number) for pattern, number in facts]
    return [f"README.md: '{pattern}' states {found}, the files have {number}"
            for pattern, found, number in stated if found != [str(number)]]


def main(arguments):
    top = pathlib.Path(arguments[0] if arguments else pathlib.Path(__file__).parents[2]).resolve()
    pages = sorted({*top.glob("*.md"), *(top / "docs").rglob("*.md"), *top.glob("*/*.md"), *top.glob("kernels/*/*.md")}
                   - set(top.glob("build*/**/*.md")))
    total, problems = 0, []
    for page in pages:
        count, found = check_links(page)
        total += count
        problems += found
    named, found = check_tour(top)
    problems += found + check_numbers(top)
    if total == 0:
        problems.append("no link was found")
    if named == 0:
        problems.append("docs/code-tour.md: no row names a file and a function")
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"{total} links of {len(pages)} pages, {named} functions of the code tour, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
