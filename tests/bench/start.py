#!/usr/bin/env python3
"""A start with nothing to do: the time until hob serve is ready, including watches, compared with `git status` with a warm index,
a ninja no-op and watchman's `watch` on the same tree.

    ./dev bench start [--folders 10000] [--files 10] [--rounds 5] [--tree DIR]

Two of each folder's ten files are models. Medians of alternating rounds, in milliseconds; memory of the daemon after the start,
and the
CPU time of each (watchman's server excepted), which is more reliable on a busy machine. Making and cooking the tree the first
time
takes minutes; --tree keeps it for the next run. Then one file is saved, and the time to its new version is reported.
"""
import argparse
import os
import pathlib
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "integration"))
os.environ.setdefault("HOB_TEST_DEADLINE", "600")
from hobtest import HOB, Daemon, obj_text, png  # noqa: E402


def make_tree(art, folders, files):
    """folders x files files: each folder holds two models, a material file, pictures and notes."""
    picture = png(200, 30, 30)
    for f in range(folders):
        folder = art / f"set{f // 100}" / f"f{f}"
        folder.mkdir(parents=True)
        for i in range(files):
            if i < 2:
                (folder / f"m{i}.obj").write_text(obj_text(2 + i, shift=f, mtl="look.mtl"))
            elif i == 2:
                (folder / "look.mtl").write_text("newmtl m\nKd 1 0 0\n")
            elif i < 6:
                (folder / f"t{i}.png").write_bytes(picture)
            else:
                (folder / f"note{i}.txt").write_text(f"{f} {i}\n")


def children_cpu():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def timed(command):
    """Wall-clock and CPU seconds."""
    began, used = time.perf_counter(), children_cpu()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - began, children_cpu() - used


def start_hob(roots, cache):
    """Seconds from the start of the process to its banner, printed after the scan; resident and private bytes."""
    began = time.perf_counter()
    process = subprocess.Popen([HOB, "serve", *map(str, roots), "--cache", str(cache), "--listen", "127.0.0.1:0", "--jobs", "2"],
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    for line in process.stdout:
        if b"ready in" in line:
            break
    took = time.perf_counter() - began
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    cpu = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    rss = int(status.split("VmRSS:")[1].split()[0]) * 1024
    process.send_signal(signal.SIGTERM)
    process.stdout.read()
    assert process.wait() == 0
    return (took, cpu), rss


class Ninja:
    """One edge per file: a stat of each source and each result, none outdated."""

    def __init__(self, art, work):
        self.work = work
        work.mkdir(exist_ok=True)
        if (work / "build.ninja").exists():
            return
        lines = ["rule copy", "  command = cp $in $out", "  generator = 1"]
        for path in art.glob("set*/*/*"):
            if path.is_file():
                out = work / "out" / path.relative_to(art)
                out.parent.mkdir(parents=True, exist_ok=True)
                out.touch()
                lines.append(f"build out/{path.relative_to(art)}: copy {path}")
        (work / "build.ninja").write_text("\n".join(lines) + "\n")
        subprocess.run(["ninja", "-C", str(work)], check=True, stdout=subprocess.DEVNULL)

    def run(self):
        return timed(["ninja", "-C", str(self.work)])


def watchman(art, state):
    """The `watch` command of a running server, on a new tree."""
    socket = ["watchman", f"--sockname={state}/sock", f"--statefile={state}/state", f"--logfile={state}/log",
              f"--pidfile={state}/pid"]
    subprocess.run([*socket, "watch-del-all"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    took, _ = timed([*socket, "watch", str(art)])
    subprocess.run([*socket, "shutdown-server"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return took, 0


def git_index(art):
    if not (art / ".git").exists():
        git = ["git", "-C", str(art), "-c", "user.name=bench", "-c", "user.email=bench@localhost", "-c", "gc.auto=0"]
        for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "all"]):
            subprocess.run([*git, *arguments], check=True)
    timed(["git", "-C", str(art), "status", "--porcelain"])


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--folders", type=int, default=10000)
    options.add_argument("--files", type=int, default=10)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--tree", help="a folder that keeps tree and cache for the next run")
    options = options.parse_args()
    base = pathlib.Path(options.tree or tempfile.mkdtemp(prefix="hob-bench-")).resolve()
    art, cache, state = base / "art", base / "cache", base / "watchman"
    if not art.exists():
        print(f"making {options.folders} folders of {options.files} files", flush=True)
        make_tree(art, options.folders, options.files)
    began = time.perf_counter()
    with Daemon([art], cache) as daemon:
        daemon.sync()
        print(f"first cook: {time.perf_counter() - began:.1f} s, {daemon.cooked()} cooked", flush=True)
    have = {name: shutil.which(name) for name in ("git", "ninja", "watchman")}
    if have["git"]:
        git_index(art)
    ninja = Ninja(art, base / "ninja") if have["ninja"] else None
    state.mkdir(exist_ok=True)
    took = {"hob": [], "git status": [], "ninja": [], "watchman watch": []}
    for _ in range(options.rounds):
        seconds, rss = start_hob([art], cache)
        took["hob"].append(seconds)
        if have["git"]:
            took["git status"].append(timed(["git", "-C", str(art), "status", "--porcelain"]))
        if ninja:
            took["ninja"].append(ninja.run())
        if have["watchman"]:
            took["watchman watch"].append(watchman(art, state))
    hob = statistics.median(wall for wall, _ in took["hob"])
    least = min(wall for wall, _ in took["hob"])
    print(f"{options.folders * options.files} files in {options.folders} folders, median (least) of {options.rounds}:")
    for name, values in took.items():
        if values:
            walls, cpu = [wall for wall, _ in values], statistics.median(cpu for _, cpu in values)
            print(f"  {name:16} {statistics.median(walls) * 1e3:8.0f} ms ({min(walls) * 1e3:.0f}), CPU {cpu * 1e3:5.0f} ms"
                  f"   hob is {hob / statistics.median(walls):.2f} of it (least by least {least / min(walls):.2f})")
    print(f"  memory of the daemon, ready: {rss / 1e6:.0f} MB resident")
    with Daemon([art], cache) as daemon:
        daemon.sync()
        target = art / "set0/f0/m0.obj"
        temp = target.with_name(".new")
        temp.write_text(obj_text(2 + int(time.time()) % 5000, mtl="look.mtl"))
        began = time.perf_counter()
        temp.rename(target)
        data = daemon.wait_asset("art/set0/f0/m0.obj", "fresh")
        print(f"  one file saved: {(time.perf_counter() - began) * 1e3:.1f} ms to its event, of it {data.get('cook_ms', 0):.1f} ms cook")
    if not options.tree:
        shutil.rmtree(base)


if __name__ == "__main__":
    main()
