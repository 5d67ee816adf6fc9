#!/usr/bin/env python3
"""Every line of SECURITY.md's table of who may do what, and of the tables of promises in tests/README.md, names a test, and every
test that they name exists. Prints one line per finding; exits 1 when there is any."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Heading of the table, and the column of its tests.
TABLES = [("SECURITY.md", "## Who may do what", 3), ("tests/README.md", "## What Hob promises, and the test of each promise", 1),
          ("tests/README.md", "## What keeps a model, a cook process and a client in their place, point by point", 1)]


def rows(file, heading):
    part = (ROOT / file).read_text().split(heading + "\n", 1)[-1].split("\n## ", 1)[0]
    lines = re.findall(r"^\| .* \|$", part, re.M)
    return [re.split(r" *\| *", line)[1:-1] for line in lines[1:]]


def sources(name):
    """The files of a test of that name; none: there is no such test."""
    if name.endswith(".mjs"):
        return [path for path in [ROOT / name] if path.exists()]
    if match := re.fullmatch(r"unit\.(\w+)\.([\w*]+)", name):
        return [*(ROOT / "tests/unit" / match[1]).glob(match[2] + ".c"), *(ROOT / "tests/unit" / match[1]).glob(match[2] + ".test.mjs"),
                *((ROOT / "tests/fuzz").glob("fuzz_*.c") if match[1] == "replay" else ())]
    if match := re.fullmatch(r"unit\.(srv_\w+)", name):
        return [*(ROOT / "tests/unit" / match[1]).glob("*.c")]
    return [*(ROOT / "tests/integration").glob(f"test_{name}.py")] if re.fullmatch(r"\w+", name) else []


def findings():
    for file, heading, column in TABLES:
        for row in rows(file, heading):
            cell = row[column] if column < len(row) else ""
            names = re.findall(r"`([^`]+)`(?: \(([^)]*)\))?", cell)
            if not names and row[0] != "no race, undefined behaviour or leak" and cell:
                yield f"{file}: '{row[0]}' names no test"
            for name, parts in names:
                found = sources(name)
                if not found and not name.startswith(("./dev", "tests/")):
                    yield f"{file}: '{row[0]}': there is no test {name}"
                text = "".join(path.read_text() for path in found)
                yield from (f"{file}: '{row[0]}': {name} has no {part}" for part in re.findall("`([^`*]+)", parts) if part.rstrip("-") not in text)


def main():
    found = list(findings())
    count = sum(len(rows(file, heading)) for file, heading, _ in TABLES)
    print("\n".join(found) or f"promises: {count} lines, each with its tests")
    return 1 if found or count < 50 else 0


if __name__ == "__main__":
    sys.exit(main())
