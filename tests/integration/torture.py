#!/usr/bin/env python3
"""The reliability suite: kills, reads during saves, storms of file events, damage, hostile models and clients, misbehaving cook
processes, failing system calls, power cuts, earlier caches, reproducible bytes, thousands of edits, random ones compared with a
clean cook, and machines that share a farm whose parts die, with blobs in a folder, a small bucket and Ceph's radosgw.

    python3 tests/integration/torture.py [--long] [--hob build/clang/hob] [NAME...]

Without --long the amounts are those of ./dev test. NAMEs are those of --help; default: all; "farm" includes farm_down and
farm_ceph. Each scenario prints its figures; the exit code is 1 when a promise was broken. HOB_SEED selects other random moments.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
NAMES = ("kills", "torn", "storms", "damage", "stores", "hostile", "contained", "workers", "outside", "rogue", "memory", "bounds", "upsets", "faults", "power", "same",
         "soak", "edits", "agent", "commits", "farm", "farm_down", "farm_ceph")


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--long", action="store_true", help="the long form: some hours")
    options.add_argument("--hob", default=str(HERE.parent.parent / "build/clang/hob"), help="the program to torture")
    options.add_argument("names", nargs="*", metavar="NAME", help=", ".join(NAMES))
    options = options.parse_args()
    unknown = set(options.names) - set(NAMES)
    if unknown:
        sys.exit(f"torture: there is no scenario {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    hob = pathlib.Path(options.hob).resolve()
    if not hob.exists():
        sys.exit(f"torture: there is no {hob}; ./dev build makes it")
    environment = dict(os.environ, HOB=str(hob), PYTHONDONTWRITEBYTECODE="1")
    if options.long:
        environment["HOB_LONG"] = "1"
        environment.setdefault("HOB_TEST_DEADLINE", "600")
    broken = []
    wanted = options.names or NAMES
    for name in [name for name in NAMES if any(name == want or name.startswith(want + "_") for want in wanted)]:
        began = time.monotonic()
        print(f"torture: {name}", flush=True)
        done = subprocess.run([sys.executable, "-W", "ignore::ResourceWarning", str(HERE / f"test_{name}.py")], env=environment)
        print(f"torture: {name} {'held' if done.returncode == 0 else 'BROKE'} in {time.monotonic() - began:.0f} s", flush=True)
        if done.returncode:
            broken.append(name)
    sys.exit(f"torture: broken: {', '.join(broken)}" if broken else 0)


if __name__ == "__main__":
    main()
