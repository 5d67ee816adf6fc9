#!/usr/bin/env python3
"""Every test that tests/EXPECTATIONS.md names is there, and each expectation names one. Prints one line per finding; exits 1 when
there is any."""
import pathlib
import re
import sys

TESTS = pathlib.Path(__file__).resolve().parent.parent


def missing(name):
    if match := re.fullmatch(r"(test_\w+)\.(\w+)", name):
        file = TESTS / "integration" / f"{match[1]}.py"
        return not file.exists() or f"def test_{match[2]}(" not in file.read_text()
    if match := re.fullmatch(r"([\w.]+\.mjs): (.*)", name):
        file = TESTS / "browser" / match[1]
        return not file.exists() or match[2] not in file.read_text()
    if re.fullmatch(r"[\w-]+\.\w+", name):
        return not (TESTS / name).exists()
    return False


def main():
    rows = [line.split("|") for line in (TESTS / "EXPECTATIONS.md").read_text().splitlines() if line.startswith("| ")][1:]
    findings = [f"'{row[1].strip()}' names no test" for row in rows if "`" not in row[3]]
    findings += [f"'{row[1].strip()}': there is no {name}" for row in rows for name in re.findall("`([^`]+)`", row[3]) if missing(name)]
    if len(rows) != 28:
        findings.append(f"{len(rows)} expectations, not 28")
    print("\n".join(f"tests/EXPECTATIONS.md: {finding}" for finding in findings) or "expectations: 28, each with its tests")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
