"""first_cook.py BUILD [--models 5000] [--jobs 2] [--rounds 5] [--beside BUILD] [--perf]: a first cook of small models.

Models a second, the daemon's CPU time for each (user and system, all threads, without its workers), its memory, and how often its
threads slept. --beside compares another build in alternating rounds. --perf prints where the time went, by tenths (needs perf)."""
import argparse
import collections
import http.client
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import tempfile
import time


def make_models(art, count):
    for i in range(count):
        folder = art / f"d{i // 20:05}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"m{i:06}.obj").write_text(f"v 0 0 0\nv 1 0 0\nv 0 1 {i}\nf 1 2 3\n")


def figures(pid):
    """CPU in ms and voluntary switches of all threads, resident MB."""
    cpu = switches = 0
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        cpu += int((task / "schedstat").read_text().split()[0]) / 1e6
        switches += int(re.search(r"\nvoluntary_ctxt_switches:\s+(\d+)", (task / "status").read_text()).group(1))
    return cpu, switches, int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text()).group(1)) / 1e3


def first_cook(hob, art, cache, jobs, record=None):
    shutil.rmtree(cache, ignore_errors=True)
    began = time.perf_counter()
    with open(cache.parent / "log", "wb") as log:
        daemon = subprocess.Popen([hob, "serve", art, "--cache", cache, "--listen", "127.0.0.1:0", "--jobs", str(jobs)],
                                  stdout=subprocess.PIPE, stderr=log)
    port = next(int(found.group(1)) for line in daemon.stdout if (found := re.search(rb"http://127\.0\.0\.1:(\d+)/", line)))
    perf = record and subprocess.Popen(["perf", "record", "-q", "-e", "cpu-clock", "-F", "4000", "-p", str(daemon.pid), "-o", record])
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    connection.request("POST", "/api/v1/sync", '{"timeout_ms": 600000}', {"Content-Type": "application/json"})
    assert connection.getresponse().status == 200
    seconds = time.perf_counter() - began
    got = figures(daemon.pid)
    if perf:
        perf.send_signal(signal.SIGINT)
        perf.wait()
    daemon.send_signal(signal.SIGTERM)
    daemon.stdout.read()
    assert daemon.wait() == 0
    return (seconds, *got)


def tenths(record):
    """Prints the symbols that make up each tenth of the samples."""
    text = subprocess.run(["perf", "report", "-i", record, "--no-children", "-g", "none", "--sort", "dso,symbol"], capture_output=True,
                          text=True, check=True).stdout
    sums, rows = collections.Counter(), []
    for share, program, name in re.findall(r"^\s+([0-9.]+)%\s+(\S+)\s+\[.\] (\S+)", text, re.M):
        sums[re.sub(r"[-.].*", "", program.strip("[]"))] += float(share)
        rows.append((float(share), name))
    print("  by program: " + ", ".join(f"{name} {share:.0f} %" for name, share in sums.most_common(8)))
    print("  by function: " + ", ".join(f"{name} {share:.1f}" for share, name in rows[:20]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--models", type=int, default=5000)
    parser.add_argument("--jobs", type=lambda text: [int(part) for part in text.split(",")], default=[2])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--beside", type=pathlib.Path)
    parser.add_argument("--perf", action="store_true")
    options = parser.parse_args()
    base = pathlib.Path(tempfile.mkdtemp(prefix="hob-bench-"))
    make_models(base / "art", options.models)
    builds = {"this": options.build / "hob"} | ({"beside": options.beside / "hob"} if options.beside else {})
    for jobs in options.jobs:
        rounds = {name: [] for name in builds}
        for at in range(options.rounds):
            for name in list(builds)[::-1 if at % 2 else 1]:
                rounds[name].append(first_cook(builds[name], base / "art", base / f"cache-{name}", jobs))
        for name, values in rounds.items():
            seconds, cpu, switches, memory = (statistics.median(column) for column in zip(*values))
            print(f"{options.models} small models, {jobs} jobs, {name}: {options.models / seconds:.0f} a second, CPU of the daemon "
                  f"{cpu / options.models:.3f} ms a model (least {min(value[1] for value in values) / options.models:.3f}), "
                  f"{switches / options.models:.2f} sleeps a model, {memory:.0f} MB", flush=True)
    if options.perf:
        first_cook(options.build / "hob", base / "art", base / "cache-this", options.jobs[-1], str(base / "perf"))
        tenths(str(base / "perf"))
    shutil.rmtree(base)


main()
