#!/usr/bin/env python3
"""farm.py [--long]: spin searches every state of farm.pml, the protocol of a farm, and finds no error. Then each guard is removed
from the model, and spin must find a trail; and the line of code that each guard represents must still exist.

Short: 3 machines with 1 key, and 2 with 2, two faults and one. --long (HOB_LONG=1): 3 machines with 2 keys. Exits 77 without
spin."""
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
SHORT = [{"M": 3, "K": 1, "FAULTS": 2}, {"M": 2, "K": 2, "FAULTS": 1}]
LONG = [{"M": 3, "K": 2, "FAULTS": 1}]
GUARDS = dict((name, (file, line)) for name, file, line in re.findall(r'Guard (\w+), ([\w/.]+)[^:]*:\n \*\s+"(.*)"', MODEL))


def search(folder, values):
    """The number of states, and the assertion that fails or None."""
    defines = [f"-D{name}={value}" for name, value in values.items()]
    subprocess.run(["spin", "-a", *defines, str(HERE / "farm.pml")], cwd=folder, check=True, capture_output=True)
    subprocess.run(["cc", "-O1", "-w", "-DSAFETY", "-DCOLLAPSE", "-DMEMLIM=12000", "-o", "pan", "pan.c"], cwd=folder, check=True)
    # -E: the model itself checks blocked processes at the end.
    said = subprocess.run(["./pan", "-E", "-m400000"], cwd=folder, check=False, capture_output=True, text=True).stdout
    states, errors = re.search(r"(\d[\d.e+]*) states, stored", said), re.search(r"errors: (\d+)", said)
    if not states or not errors or "max search depth too small" in said:
        raise SystemExit(f"farm: the search did not end: {said[-400:]}")
    failed = re.search(r"assertion violated (.*) \(at", said)
    assert bool(failed) == (errors[1] != "0"), said
    return int(float(states[1])), failed[1] if failed else None


def code_of(file):
    """Without line breaks, and with the pieces of each string joined."""
    text = re.sub(r'"\s*\n\s*"', "", (ROOT / file).read_text())
    return re.sub(r"\s+", " ", text)


def main():
    if not shutil.which("spin"):
        print("skipped: there is no spin (Debian: spin)")
        return 77
    long = "--long" in sys.argv or os.environ.get("HOB_LONG") == "1"
    failures = []
    assert len(GUARDS) >= 10, GUARDS
    for name, (file, line) in GUARDS.items():
        if line not in code_of(file):
            failures.append(f"{file} has no line of the guard {name} any more: {line}")
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
    print("\n".join(failures) or f"1 passed, 0 failed: {len(GUARDS)} guards, each with its line of code and its trail")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
