#!/usr/bin/env python3
"""Every test that tests/EXPECTATIONS.md names is there, and each row of its tables names one. Prints one line per finding; exits 1
when there is any."""
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
    if re.fullmatch(r"[\w/-]+\.(sh|py|txt|transcript|c)", name):
        return not (TESTS / name).exists()
    return False


def main():
    text = (TESTS / "EXPECTATIONS.md").read_text()
    rows = [re.split(r" *\| *", line)[1:-1] for line in re.findall(r"^\| .*$", text, re.M) if not line.endswith("| tests |")]
    findings = [f"'{row[0]}' names no test" for row in rows if "`" not in row[-1]]
    findings += [f"'{row[0]}': there is no {name}" for row in rows for name in re.findall("`([^`]+)`", row[-1]) if missing(name)]
    expected = sum(len(row) == 3 for row in rows)
    if expected != 28:
        findings.append(f"{expected} expectations, not 28")
    print("\n".join(f"tests/EXPECTATIONS.md: {finding}" for finding in findings) or
          f"expectations: 28, and {len(rows) - 28} points of a release and bugs, each with its tests")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
