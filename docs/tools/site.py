#!/usr/bin/env python3
"""Builds the documentation as a static site with MkDocs: build/site/index.html.

usage: site.py

MkDocs takes pages from one folder, but the project's pages are in the folders that they describe. So this tool copies
every page, and every file that a page links to, to build/site-pages under the same path. Links to folders become text.
Exit status: MkDocs's, which fails on a broken link; 2 where MkDocs is missing.
"""
import pathlib
import re
import shutil
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
PAGES = TOP / "build/site-pages"
THINK = TOP / "build/page/think.html"
LINK = re.compile(r"\[((?:[^\]\[]|`[^`]*`)*)\]\(([^()\s#]+)(#[^()\s]*)?\)")


def copy_page(page):
    def link(found):
        text, target = found.group(1), found.group(2)
        file = (page.parent / target).resolve()
        if re.match(r"[a-z]+:", target):
            return found.group(0)
        if file.is_dir():
            return text
        if file.suffix != ".md":
            place = PAGES / file.relative_to(TOP)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, place)
        return found.group(0)

    place = PAGES / page.relative_to(TOP)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(LINK.sub(link, page.read_text(encoding="utf-8")), encoding="utf-8")


def main():
    if not shutil.which("mkdocs"):
        print("site.py: mkdocs was not found; on Debian install the package mkdocs", file=sys.stderr)
        return 2
    shutil.rmtree(PAGES, ignore_errors=True)
    for page in sorted({*TOP.glob("*.md"), *(TOP / "docs").rglob("*.md"), *TOP.glob("*/README.md"),
                        *TOP.glob("kernels/*.md"), *TOP.glob("kernels/*/*.md")}):
        copy_page(page)
    if THINK.exists():  # docs/think-page.md names it by its address in the site
        shutil.copy(THINK, PAGES / "docs/think.html")
    else:
        print("site.py: without the page to think on, which `make page` builds", file=sys.stderr)
    done = subprocess.run(["mkdocs", "build", "--quiet", "--strict", "-f", "docs/mkdocs.yml"], cwd=TOP)
    if done.returncode == 0:
        print("wrote build/site/index.html")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
