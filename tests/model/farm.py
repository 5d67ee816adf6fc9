#!/usr/bin/env python3
"""farm.py [--long]: spin searches every state of farm.pml, the protocol of a farm, and finds no error. Then each guard is removed
from the model, and spin must find a trail. Each function that README.md names must exist, and each guard's must contain the line of
code that the model quotes.

Short: 3 machines with 2 keys and one fault, and with 1 key and two faults. --long (HOB_LONG=1): two more, which take minutes and
some GB. Exits 77 without spin."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
MODEL = (HERE / "farm.pml").read_text()
SHORT = [{"M": 3, "K": 2, "FAULTS": 1}, {"M": 3, "K": 1, "FAULTS": 2}]
LONG = [{"M": 2, "K": 2, "FAULTS": 2}, {"M": 3, "K": 1, "FAULTS": 3}]
GUARDS = dict((name, (file, line)) for name, file, line in re.findall(r'Guard (\w+), ([\w/.]+)[^:]*:\n \*\s+"(.*)"', MODEL))
TABLES = re.findall(r"^\| (.*?) ?\| `(\w+)` \| ([\w/.]+) \|", (HERE / "README.md").read_text(), re.M)


def search(folder, values):
    """Searches all states; returns their number, and the failed assertion or None."""
    defines = [f"-D{name}={value}" for name, value in values.items()]
    subprocess.run(["spin", "-a", *defines, str(HERE / "farm.pml")], cwd=folder, check=True, capture_output=True)
    subprocess.run(["cc", "-O2" if values["M"] > 2 else "-O0", "-w", "-DSAFETY", "-DCOLLAPSE", "-DMEMLIM=12000", "-o", "pan", "pan.c"], cwd=folder, check=True)
    # -E: the model itself checks blocked processes at the end.
    said = subprocess.run(["./pan", "-E", "-m400000"], cwd=folder, check=False, capture_output=True, text=True).stdout
    states, errors = re.search(r"(\d[\d.e+]*) states, stored", said), re.search(r"errors: (\d+)", said)
    if not states or not errors or "max search depth too small" in said:
        raise SystemExit(f"farm: the search did not end: {said[-400:]}")
    failed = re.search(r"assertion violated (.*) \(at", said)
    assert bool(failed) == (errors[1] != "0"), said
    return int(float(states[1])), failed[1] if failed else None


def body_of(file, name):
    """The text of a function in C or SQL, without line breaks and with adjacent strings joined; None if there is none."""
    found = re.search(rf"^(?:\w[^;{{}}]*\b{name}\([^;{{}}]*\)\s*\{{.*?^\}}|create [\w ]*function {name}\(.*?\$\$.*?\$\$)", (ROOT / file).read_text(), re.M | re.S)
    return found and re.sub(r"\s+", " ", re.sub(r'"\s*\n\s*"', "", found[0]))


def unlike_the_code():
    """A message for each entry of the tables and each quoted line that differs from the code."""
    functions = {name.strip("`"): (function, file) for name, function, file in TABLES if name.strip("`") in GUARDS}
    for _, function, file in TABLES:
        if body_of(file, function) is None:
            yield f"README.md: {file} has no function {function}"
    for name, (file, line) in GUARDS.items():
        if name not in functions or functions[name][1] != file:
            yield f"README.md: the guard {name} is not in the table, or not in {file}"
        elif line not in (body_of(file, functions[name][0]) or ""):
            yield f"{functions[name][0]} of {file} has no line of the guard {name} any more: {line}"


def main():
    if not shutil.which("spin"):
        print("skipped: there is no spin (Debian: spin)")
        return 77
    long = "--long" in sys.argv or os.environ.get("HOB_LONG") == "1"
    failures = list(unlike_the_code())
    assert len(GUARDS) >= 10 and len(TABLES) >= 30, (GUARDS, TABLES)
    with tempfile.TemporaryDirectory(prefix="hob-model-") as folder:
        for values in SHORT + (LONG if long else []):
            states, failed = search(folder, values)
            print(f"farm: {values['M']} machines, {values['K']} keys, {values['FAULTS']} faults: {states} states, errors: {int(failed is not None)}")
            if failed:
                failures.append(f"the model fails with {values}: {failed}")
        for name in GUARDS:
            _, failed = search(folder, {"M": 2, "K": 1, "FAULTS": 2, f"NO_{name}": 1})
            print(f"farm: without {name}: {'a trail, ' + failed if failed else 'no trail'}")
            if not failed:
                failures.append(f"without the guard {name} nothing fails")
    print("\n".join(failures) or f"1 passed, 0 failed: {len(GUARDS)} guards, each with its line of code and its trail, and {len(TABLES)} functions")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
