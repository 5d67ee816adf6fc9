#!/usr/bin/env python3
"""Checks that each row of tests/PROMISES.md, of the tables of tests/EXPECTATIONS.md, and each layer of SECURITY.md names a test,
and that each named test exists. Prints one line per finding; exits 1 if there is any."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests"


def rows(name):
    lines = re.findall(r"^\| .*$", (TESTS / name).read_text(), re.M)
    cells = [re.split(r" *\| *", line)[1:-1] for line in lines]
    return [row for row in cells if row[-1] not in ("tests", "long")]


def sources(name):
    """Files that contain a test of that name; empty if there is none."""
    if name.endswith(".mjs"):
        return [path for path in [ROOT / name] if path.exists()]
    if match := re.fullmatch(r"unit\.(\w+)\.([\w*]+)", name):
        return [*(ROOT / "tests/unit" / match[1]).glob(match[2] + ".c"), *(ROOT / "tests/unit" / match[1]).glob(match[2] + ".test.mjs"),
                *((ROOT / "tests/fuzz").glob("fuzz_*.c") if match[1] == "replay" else ())]
    if match := re.fullmatch(r"unit\.(srv_\w+)", name):
        return [*(ROOT / "tests/unit" / match[1]).glob("*.c")]
    return [*(ROOT / "tests/integration").glob(f"test_{name}.py")] if re.fullmatch(r"\w+", name) else []


def findings_of(page, what, tests):
    names = re.findall(r"`([^`]+)`(?: \(([^)]*)\))?", tests)
    if not names and what != "no race, undefined behaviour or leak":
        yield f"{page}: '{what}' names no test"
    for name, parts in names:
        found = sources(name)
        if not found and not name.startswith(("./dev", "tests/")):
            yield f"{page}: '{what}': there is no test {name}"
        text = "".join(path.read_text() for path in found)
        yield from (f"{page}: '{what}': {name} has no {part}" for part in re.findall("`([^`*]+)", parts) if part.rstrip("-") not in text)


def promise_findings():
    for row in rows("PROMISES.md"):
        yield from findings_of("PROMISES.md", row[0], row[1])
    layers = [row for row in rows("../SECURITY.md") if len(row) == 4 and row[-1] not in ("---", "worst use")]
    layers = layers[:next(i for i, row in enumerate(layers) if "openat2" in row[0] or row[0].startswith("`"))]
    for row in layers:
        yield from findings_of("SECURITY.md", row[0], row[3])
    if len(layers) < 9:
        yield f"SECURITY.md: {len(layers)} layers, not 9"


def is_missing(name):
    if match := re.fullmatch(r"(test_\w+)\.(\w+)", name):
        file = TESTS / "integration" / f"{match[1]}.py"
        return not file.exists() or f"def test_{match[2]}(" not in file.read_text()
    if match := re.fullmatch(r"([\w.]+\.mjs): (.*)", name):
        file = TESTS / "browser" / match[1]
        return not file.exists() or match[2] not in file.read_text()
    return bool(re.fullmatch(r"[\w/-]+\.(sh|py|txt|transcript|c)", name)) and not (TESTS / name).exists()


def expectation_findings():
    for row in rows("EXPECTATIONS.md"):
        if "`" not in row[-1]:
            yield f"EXPECTATIONS.md: '{row[0]}' names no test"
        yield from (f"EXPECTATIONS.md: '{row[0]}': there is no {name}" for name in re.findall("`([^`]+)`", row[-1]) if is_missing(name))
    if (expected := sum(len(row) == 3 for row in rows("EXPECTATIONS.md"))) != 28:
        yield f"EXPECTATIONS.md: {expected} expectations, not 28"


def main():
    found = [*promise_findings(), *expectation_findings()]
    promises, points = len(rows("PROMISES.md")), len(rows("EXPECTATIONS.md"))
    print("\n".join(found) or f"promises: {promises}, and {points} expectations and points of a release, each with its tests")
    return 1 if found or promises < 40 else 0


if __name__ == "__main__":
    sys.exit(main())
