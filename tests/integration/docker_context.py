#!/usr/bin/env python3
"""The files of the project that 'docker build' sends: those in git, except those in .dockerignore. Prints their names, each
followed by a zero byte, for tar --null -T -."""
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def as_expression(pattern):
    """Docker's patterns: '**/' is any depth, '*' and '?' stay within a name; everything below a match belongs to it."""
    parts = {"**/": "(.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    text = "".join(parts.get(piece, re.escape(piece)) for piece in re.findall(r"\*\*/|\*\*|\*|\?|[^*?]+", pattern.strip("/")))
    return re.compile(text + "(/.*)?")


def rules():
    lines = [line.strip() for line in (ROOT / ".dockerignore").read_text().splitlines()]
    return [(line.startswith("!"), as_expression(line.lstrip("!"))) for line in lines if line and not line.startswith("#")]


def is_sent(name, of=None):
    sent = True
    for comes_back, expression in of or rules():
        if expression.fullmatch(name):
            sent = comes_back
    return sent


def files():
    """Files tracked by git, or in an unpacked archive all files."""
    listed = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-z"], capture_output=True, text=True, check=False)
    names = listed.stdout.split("\0") if listed.returncode == 0 else [
        str(pathlib.Path(folder, name).relative_to(ROOT)) for folder, _, found in os.walk(ROOT) for name in found]
    of = rules()
    return [name for name in names if name and is_sent(name, of)]


if __name__ == "__main__":
    sys.stdout.write("".join(name + "\0" for name in files()))
