#!/usr/bin/env python3
"""Growth of each cost with the tree: one line of figures per size, and a plot.

    ./dev bench scale [--models 500,5000,50000] [--per-folder 10] [--others 0] [--roots 1] [--rounds 5] [--svg FILE]
    [--without-packs]

Each model is a small OBJ; each folder has one material file, so 50,000 models are 55,000 files in 5,000 folders, and with
--others 4 four more per model that are not assets. --roots distributes the models over that many roots. The first cook is cold.
Then each round measures in turn: a start without changes compared with `git status` with a warm index; a first page of assets and
a search; a sync by events compared with one that scans; a save of one file and of three together, compared with the cook's own
time. Medians; CPU time of the daemon where stated. Disk is the space allocated by the file system (blocks), beside the blobs' own
bytes. With --without-packs a second cache with `--pack-below 0` is cooked, only for the disk space and the first cook.
"""
import argparse
import json
import math
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "integration"))
os.environ.setdefault("HOB_TEST_DEADLINE", "600")
from hobtest import Daemon, obj_text  # noqa: E402
from start import git_index, start_hob, timed  # noqa: E402


def roots_of(base, count):
    return [base / ("art" if count == 1 else f"art{i}") for i in range(count)]


GIT_MOST = 300_000  # files; its first `add` writes one for each


def make_tree(roots, models, per_folder, others):
    for i in range(models):
        folder = roots[i // per_folder % len(roots)] / f"set{i // per_folder // 100}" / f"f{i // per_folder}"
        if i % per_folder == 0:
            folder.mkdir(parents=True)
            (folder / "look.mtl").write_text(f"newmtl m\nKd 1 0 {i % 7 / 7}\n")
        (folder / f"m{i}.obj").write_text(obj_text(2, shift=i, mtl="look.mtl"))
        for n in range(others):
            (folder / f"m{i}.{n}.txt").write_text(f"{i} {n}\n")


def model_at(i, per_folder, roots):
    root = roots[i // per_folder % len(roots)].name
    return f"{root}/set{i // per_folder // 100}/f{i // per_folder}/m{i}.obj"


def cpu_of(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def ms(call):
    began = time.perf_counter()
    call()
    return (time.perf_counter() - began) * 1e3


def first_cook(roots, cache, *options):
    began = time.perf_counter()
    with Daemon(roots, cache, *options) as daemon:
        while daemon.post("/api/v1/sync", {"timeout_ms": 500000}).status != 200:
            pass
        took, cpu = time.perf_counter() - began, cpu_of(daemon.process.pid)
        blobs = daemon.get("/api/v1/stats").json()["cache"]["bytes"]
        assert daemon.cooked() > 0
    return took, cpu, blobs


def disk(cache):
    files = [path for path in cache.rglob("*") if path.is_file()]
    blocks = sum(path.stat().st_blocks * 512 for path in files)
    index = sum(path.stat().st_size for path in cache.glob("index.*"))
    return blocks, len(files), index


def save(daemon, base, names, turn):
    """From the last rename to the last of their events, and the sum of their cook times."""
    temps = []
    for name in names:
        temp = (base / name).with_name(f".save{len(temps)}")
        temp.write_text(obj_text(3 + turn % 3, shift=turn * 10 + len(temps) + 0.5, mtl="look.mtl"))
        temps.append((temp, base / name))
    for temp, target in temps:
        temp.rename(target)
    began = time.perf_counter()
    missing, cook = set(names), 0
    while missing:
        event = daemon.wait_event("asset", lambda data: data["asset"] in missing and data["state"] == "fresh")
        missing.discard(event["asset"])
        cook += event.get("cook_ms") or 0
    return (time.perf_counter() - began) * 1e3, cook


def measure(base, models, options):
    per_folder, rounds = options.per_folder or models, options.rounds
    roots, cache = roots_of(base, options.roots), base / "cache"
    make_tree(roots, models, per_folder, options.others)
    took, cpu, blobs = first_cook(roots, cache)
    blocks, files, index = disk(cache)
    row = {"models": models, "files": models * (1 + options.others) + -(-models // per_folder), "cook_ms": took * 1e3 / models, "cook_daemon_cpu_ms": cpu * 1e3 / models,
           "disk_of_blobs": blocks / blobs, "files_each": files / models, "index_each": index / models, "blob_bytes_each": blobs / models}
    if options.without_packs:
        other = base / "other"
        took, cpu, blobs = first_cook(roots, other, "--pack-below", "0")
        blocks, files, index = disk(other)
        row.update(unpacked_cook_ms=took * 1e3 / models, unpacked_daemon_cpu_ms=cpu * 1e3 / models,
                   unpacked_disk_of_blobs=blocks / blobs, unpacked_files_each=files / models)
        shutil.rmtree(other)
    with_git = row["files"] <= GIT_MOST
    for root in roots if with_git else ():
        git_index(root)
    starts, gits = [], []
    for _ in range(rounds):
        (wall, used), rss = start_hob(roots, cache)
        starts.append((wall * 1e3, used * 1e3))
        if with_git:
            gits.append(sum(timed(["git", "-C", str(root), "status", "--porcelain"])[0] for root in roots) * 1e3)
    row.update(start_ms=statistics.median(s for s, _ in starts), start_cpu_ms=statistics.median(c for _, c in starts),
               git_ms=statistics.median(gits) if gits else math.nan, memory_mb=rss / 1e6)
    took = {name: [] for name in ("page", "search", "sync", "scan", "save", "save_cook", "three", "three_cook")}
    with Daemon(roots, cache) as daemon:
        daemon.sync()
        for turn in range(rounds * 3):
            took["page"].append(ms(lambda: daemon.get("/api/v1/assets?limit=100")))
            took["search"].append(ms(lambda: daemon.get(f"/api/v1/assets?q=m{models // 2}&limit=100")))
            took["sync"].append(ms(daemon.sync))
            if turn < rounds:
                took["scan"].append(ms(lambda: daemon.sync(scan=True)))
            wall, cook = save(daemon, base, [model_at(turn % models, per_folder, roots)], turn)
            took["save"].append(wall)
            took["save_cook"].append(cook)
            wall, cook = save(daemon, base, [model_at((turn + n) % models, per_folder, roots) for n in range(1, 4)], turn + 1000)
            took["three"].append(wall)
            took["three_cook"].append(cook)
    row.update({name + "_ms": statistics.median(values) for name, values in took.items()})
    return row


def newest(rows, name):
    return next((row[name] for row in reversed(rows) if not math.isnan(row[name])), 0)


def number(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def draw(rows, path):
    """Each cost over the number of models, both logarithmic."""
    names = [("start_ms", "start"), ("git_ms", "git status"), ("sync_ms", "sync"), ("scan_ms", "sync that scans"), ("save_ms", "save"),
             ("page_ms", "first page"), ("search_ms", "search"), ("memory_mb", "memory, MB")]
    colors = ["#1b6", "#888", "#06c", "#9bd", "#c30", "#a5a", "#e90", "#444"]
    low, high = math.log10(rows[0]["models"]), math.log10(rows[-1]["models"])

    def place(models, value):
        return (60 + 560 * (math.log10(models) - low) / max(high - low, 1e-9), 380 - 70 * (math.log10(max(value, 0.1)) + 1))

    lines = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 800 420" font-family="sans-serif" font-size="12">',
             '<rect width="800" height="420" fill="#fff"/>']
    for power in range(-1, 5):
        y = 380 - 70 * (power + 1)
        lines.append(f'<path d="M60 {y}H620" stroke="#ddd"/><text x="52" y="{y + 4}" text-anchor="end">{10.0 ** power:g}</text>')
    for row in rows:
        x = place(row["models"], 1)[0]
        lines.append(f'<text x="{x:.0f}" y="400" text-anchor="middle">{row["models"]:,}</text>')
    for (name, title), color in zip(names, colors):
        points = [place(row["models"], row[name]) for row in rows if not math.isnan(row[name])]
        lines.append(f'<polyline fill="none" stroke="{color}" stroke-width="2" points="{" ".join(f"{x:.0f},{y:.0f}" for x, y in points)}"/>')
    for at, ((name, title), color) in enumerate(sorted(zip(names, colors), key=lambda item: -newest(rows, item[0][0]))):
        lines.append(f'<text x="630" y="{40 + 18 * at}" fill="{color}">{title}: {number(newest(rows, name))}</text>')
    lines.append('<text x="340" y="416" text-anchor="middle">models; milliseconds (memory: MB)</text></svg>')
    path.write_text("\n".join(lines) + "\n")


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--models", default="500,5000,50000")
    options.add_argument("--per-folder", type=int, default=10, help="0: all in one")
    options.add_argument("--others", type=int, default=0, help="further files for each model")
    options.add_argument("--roots", type=int, default=1)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--svg", type=pathlib.Path)
    options.add_argument("--without-packs", action="store_true")
    options = options.parse_args()
    rows = []
    for models in map(int, options.models.split(",")):
        base = pathlib.Path(tempfile.mkdtemp(prefix="hob-bench-"))
        try:
            rows.append(measure(base, models, options))
        finally:
            shutil.rmtree(base)
        print(json.dumps({name: round(value, 3) for name, value in rows[-1].items()}), flush=True)
    print("\n| | " + " | ".join(f"{row['models']:,}" for row in rows) + " |\n|---|" + "---|" * len(rows))
    for name in rows[0]:
        if name not in ("models", "files"):
            print(f"| {name} | " + " | ".join(f"{row[name]:.3g}" for row in rows) + " |")
    if options.svg:
        draw(rows, options.svg)


if __name__ == "__main__":
    main()
