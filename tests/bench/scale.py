#!/usr/bin/env python3
"""How each cost grows with the tree: one line of figures a size, and a picture of the lines.

    ./dev bench scale [--models 500,5000,50000] [--per-folder 10] [--rounds 5] [--svg FILE] [--without-packs]

Each model is a small OBJ of its own; each folder has one material file, so that 50,000 models are 55,000 files in 5,000 folders. The
first cook is cold. Then, in turns within each round: a start without changes beside `git status` with a warm index; a first page of
assets and a search; a sync by events beside one that scans; a save of one file and of three together, beside the cook's own time.
Medians; CPU of the daemon where it says so. Disk is what the file system gave (blocks), beside the blobs' own bytes. With
--without-packs a second cache with `--pack-below 0` is cooked for the disk and the first cook alone.
"""
import argparse
import json
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


def make_tree(art, models, per_folder):
    for i in range(models):
        folder = art / f"set{i // per_folder // 100}" / f"f{i // per_folder}"
        if i % per_folder == 0:
            folder.mkdir(parents=True)
            (folder / "look.mtl").write_text(f"newmtl m\nKd 1 0 {i % 7 / 7}\n")
        (folder / f"m{i}.obj").write_text(obj_text(2, shift=i, mtl="look.mtl"))


def model_at(i, per_folder):
    return f"set{i // per_folder // 100}/f{i // per_folder}/m{i}.obj"


def cpu_of(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def ms(call):
    began = time.perf_counter()
    call()
    return (time.perf_counter() - began) * 1e3


def first_cook(art, cache, *options):
    began = time.perf_counter()
    with Daemon([art], cache, *options) as daemon:
        daemon.sync()
        took, cpu = time.perf_counter() - began, cpu_of(daemon.process.pid)
        blobs = daemon.get("/api/v1/stats").json()["cache"]["bytes"]
        assert daemon.cooked() > 0
    return took, cpu, blobs


def disk(cache):
    files = [path for path in cache.rglob("*") if path.is_file()]
    blocks = sum(path.stat().st_blocks * 512 for path in files)
    index = sum(path.stat().st_size for path in cache.glob("index.*"))
    return blocks, len(files), index


def save(daemon, art, names, turn):
    """From the last rename to the last of their events, and the sum of their cooks."""
    temps = []
    for name in names:
        temp = (art / name).with_name(f".save{len(temps)}")
        temp.write_text(obj_text(3 + turn % 3, shift=turn * 10 + len(temps) + 0.5, mtl="look.mtl"))
        temps.append((temp, art / name))
    for temp, target in temps:
        temp.rename(target)
    began = time.perf_counter()
    missing, cook = {f"art/{name}" for name in names}, 0
    while missing:
        event = daemon.wait_event("asset", lambda data: data["asset"] in missing and data["state"] == "fresh")
        missing.discard(event["asset"])
        cook += event.get("cook_ms") or 0
    return (time.perf_counter() - began) * 1e3, cook


def measure(base, models, per_folder, rounds, without_packs):
    art, cache = base / "art", base / "cache"
    make_tree(art, models, per_folder)
    took, cpu, blobs = first_cook(art, cache)
    blocks, files, index = disk(cache)
    row = {"models": models, "cook_ms": took * 1e3 / models, "cook_daemon_cpu_ms": cpu * 1e3 / models,
           "disk_of_blobs": blocks / blobs, "files_each": files / models, "index_each": index / models, "blob_bytes_each": blobs / models}
    if without_packs:
        other = base / "other"
        took, cpu, blobs = first_cook(art, other, "--pack-below", "0")
        blocks, files, index = disk(other)
        row.update(unpacked_cook_ms=took * 1e3 / models, unpacked_daemon_cpu_ms=cpu * 1e3 / models,
                   unpacked_disk_of_blobs=blocks / blobs, unpacked_files_each=files / models)
        shutil.rmtree(other)
    git_index(art)
    starts, gits = [], []
    for _ in range(rounds):
        (wall, used), rss = start_hob(art, cache)
        starts.append((wall * 1e3, used * 1e3))
        gits.append(timed(["git", "-C", str(art), "status", "--porcelain"])[0] * 1e3)
    row.update(start_ms=statistics.median(s for s, _ in starts), start_cpu_ms=statistics.median(c for _, c in starts),
               git_ms=statistics.median(gits), memory_mb=rss / 1e6)
    took = {name: [] for name in ("page", "search", "sync", "scan", "save", "save_cook", "three", "three_cook")}
    with Daemon([art], cache) as daemon:
        daemon.sync()
        for turn in range(rounds * 3):
            took["page"].append(ms(lambda: daemon.get("/api/v1/assets?limit=100")))
            took["search"].append(ms(lambda: daemon.get(f"/api/v1/assets?q=m{models // 2}&limit=100")))
            took["sync"].append(ms(daemon.sync))
            if turn < rounds:
                took["scan"].append(ms(lambda: daemon.sync(scan=True)))
            wall, cook = save(daemon, art, [model_at(turn % models, per_folder)], turn)
            took["save"].append(wall)
            took["save_cook"].append(cook)
            wall, cook = save(daemon, art, [model_at((turn + n) % models, per_folder) for n in range(1, 4)], turn + 1000)
            took["three"].append(wall)
            took["three_cook"].append(cook)
    row.update({name + "_ms": statistics.median(values) for name, values in took.items()})
    return row


def draw(rows, path):
    """Each cost over the number of models, both logarithmic."""
    import math
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
        points = [place(row["models"], row[name]) for row in rows]
        lines.append(f'<polyline fill="none" stroke="{color}" stroke-width="2" points="{" ".join(f"{x:.0f},{y:.0f}" for x, y in points)}"/>')
    for at, ((name, title), color) in enumerate(sorted(zip(names, colors), key=lambda item: -rows[-1][item[0][0]])):
        lines.append(f'<text x="630" y="{40 + 18 * at}" fill="{color}">{title}: {rows[-1][name]:.3g}</text>')
    lines.append('<text x="340" y="416" text-anchor="middle">models; milliseconds (memory: MB)</text></svg>')
    path.write_text("\n".join(lines) + "\n")


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--models", default="500,5000,50000")
    options.add_argument("--per-folder", type=int, default=10)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--svg", type=pathlib.Path)
    options.add_argument("--without-packs", action="store_true")
    options = options.parse_args()
    rows = []
    for models in map(int, options.models.split(",")):
        base = pathlib.Path(tempfile.mkdtemp(prefix="hob-bench-"))
        try:
            rows.append(measure(base, models, options.per_folder, options.rounds, options.without_packs))
        finally:
            shutil.rmtree(base)
        print(json.dumps({name: round(value, 3) for name, value in rows[-1].items()}), flush=True)
    print("\n| | " + " | ".join(f"{row['models']:,}" for row in rows) + " |\n|---|" + "---|" * len(rows))
    for name in rows[0]:
        if name != "models":
            print(f"| {name} | " + " | ".join(f"{row[name]:.3g}" for row in rows) + " |")
    if options.svg:
        draw(rows, options.svg)


if __name__ == "__main__":
    main()
