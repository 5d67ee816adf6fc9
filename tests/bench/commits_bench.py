#!/usr/bin/env python3
"""Answers about a repository with many files and commits, each beside what git itself takes.

    ./dev bench commits [--files 10000] [--commits 5000] [--rounds 7]

The files are no models, so nothing is cooked: the figures are those of reading trees and commits. Times are medians.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
from hobtest import Daemon, fresh_folder  # noqa: E402

ENVIRONMENT = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}


def git(repository, *words, stdin=None):
    return subprocess.run(["git", "-C", repository, *words], check=True, env=ENVIRONMENT, input=stdin, capture_output=True).stdout


def commit(number, changes, parent=None):
    """One commit for `git fast-import`; changes: {path: text}."""
    yield f"commit refs/heads/main\ncommitter Ann <ann@example.org> {1700000000 + number} +0000\ndata 4\nedit\n"
    if parent:
        yield f"from {parent}\n"
    for path, text in changes.items():
        yield f"M 100644 inline {path}\ndata {len(text)}\n{text}\n"


def fill(repository, files, commits):
    parts = list(commit(0, {f"f{n // 100}/{n}.txt": str(n) for n in range(files)}))
    for number in range(1, commits):
        parts += commit(number, {f"f{number % files // 100}/{number % files}.txt": f"edit {number}"})
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", repository], check=True, env=ENVIRONMENT)
    git(repository, "fast-import", "--quiet", stdin="".join(parts).encode())


def median(measure, rounds):
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        measure()
        times.append((time.perf_counter() - began) * 1000)
    return statistics.median(times)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--files", type=int, default=10000)
    options.add_argument("--commits", type=int, default=5000)
    options.add_argument("--rounds", type=int, default=7)
    options = options.parse_args()
    folder = fresh_folder("commits")
    repository = folder / "art.git"
    fill(repository, options.files, options.commits)
    with Daemon([f"git:{repository}"], folder / "cache") as daemon:
        def tip():
            return git(repository, "rev-parse", "main").decode().strip()

        def listing():
            with urllib.request.urlopen(f"http://127.0.0.1:{daemon.port}/api/v1/commits?limit={options.commits}") as answer:
                listing.body = answer.read()

        def push():
            push.number += 1
            stream = "".join(commit(options.commits + push.number, {"f0/0.txt": f"push {push.number}"}, "refs/heads/main^0"))
            git(repository, "fast-import", "--quiet", stdin=stream.encode())
            pushed = time.perf_counter()
            wanted = tip()
            while daemon.get("/api/v1/commits/HEAD").json()["id"] != wanted:
                pass
            push.times.append((time.perf_counter() - pushed) * 1000)

        push.number, push.times = 0, []
        listed = median(listing, options.rounds)
        assert len(json.loads(listing.body)["items"]) == options.commits
        logged = median(lambda: git(repository, "log", "--format=%H %T %P %at %an %s", f"-{options.commits}"), options.rounds)
        for _ in range(options.rounds):
            push()
        print(f"{options.files} files, {options.commits} commits")
        print(f"history listed: {listed:.0f} ms; git log: {logged:.0f} ms")
        print(f"push of one file until its commit is known: {statistics.median(push.times):.1f} ms, most {max(push.times):.1f} ms")


if __name__ == "__main__":
    main()
