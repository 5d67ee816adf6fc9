"""See agent.sh."""
import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

options = argparse.ArgumentParser()
options.add_argument("build", type=pathlib.Path)
options.add_argument("--files", type=int, default=100000)
options = options.parse_args()
build = options.build.resolve()
os.environ["HOB"] = str(build / "hob")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
from hobtest import Daemon  # noqa: E402
from wire import Wire  # noqa: E402

DELAY_S, SAVES, MB = 0.001, 20, 1 << 20


class Agent:
    def __init__(self, folder, desk, port, before=()):
        self.process = subprocess.Popen(
            [*before, str(build / "hob-agent"), str(desk), f"http://127.0.0.1:{port}", "--root", "art", "--who", "anna@PC7", "--yes"],
            stdout=subprocess.PIPE, text=True, env=dict(os.environ, HOB_AGENT_STATE=str(folder / "state")))

    def said(self, text):
        for line in self.process.stdout:
            if text in line:
                return
        sys.exit(f"hob-agent ended without '{text}'")

    def memory(self):
        """Resident memory in MB: now, and at its peak."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return [int(re.search(name + r":\s+(\d+)", status)[1]) / 1024 for name in ("VmRSS", "VmHWM")]

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()
        self.process.stdout.close()


def obj_text(number):
    """A model of 1 MB."""
    rows = [f"# {number}"] + [f"v {i % 97} {i % 89} {i % 83}" for i in range(52000)] + [f"f {i} {i + 1} {i + 2}" for i in range(1, 17000)]
    return ("\n".join(rows) + "\n").encode().ljust(MB, b"\n")


def latency(folder, desk, daemon, what, data):
    """Milliseconds from the end of a save to the daemon's event, which a client of its own hears without a proxy."""
    wire = Wire(daemon.port, DELAY_S)
    agent, times = Agent(folder, desk, wire.port), []
    agent.said("connected")
    for number in range(SAVES):
        name = f"{what}{number % 2}.obj"
        body = data(number)
        (desk / (name + ".tmp")).write_bytes(body)
        began = time.monotonic()
        os.replace(desk / (name + ".tmp"), desk / name)
        daemon.wait_asset("art/" + name)
        times.append((time.monotonic() - began) * 1000)
        agent.said("sent")
        daemon.sync()  # later events of the same save are not those of the next
    agent.stop()
    wire.stop()
    times.sort()
    print(f"{what}: {len(data(0))} bytes, save to event: median {times[SAVES // 2]:.0f} ms, worst {times[-1]:.0f} ms", flush=True)


def traced(folder, desk, port, act):
    """Lines of strace from a quiet moment to the end of act()."""
    trace = folder / "trace"
    agent = Agent(folder, desk, port, ("strace", "-f", "-qq", "-o", str(trace), "-e", "signal=none"))
    try:
        agent.said("connected")
        time.sleep(3)
        before = trace.stat().st_size
        act(agent)
        lines = trace.read_bytes()[before:].decode(errors="replace").splitlines()
    finally:  # strace ends with the program that it follows
        for child in pathlib.Path(f"/proc/{agent.process.pid}/task/{agent.process.pid}/children").read_text().split():
            os.kill(int(child), signal.SIGTERM)
        agent.process.wait()
    return lines


folder = pathlib.Path(tempfile.mkdtemp(dir=os.environ.get("HOB_BENCH_FOLDER")))
desk, art = folder / "desk", folder / "art"
desk.mkdir()
(folder / "hob.json").write_text(json.dumps({"sources": [{"name": "art", "path": "art", "mirror": True}]}))
daemon = Daemon([], folder / "cache", "--config", str(folder / "hob.json"))
try:
    latency(folder, desk, daemon, "broken", lambda n: str(n).encode().ljust(MB, b"x"))
    latency(folder, desk, daemon, "model", obj_text)
    for number in range(options.files):
        if number % 200 == 0:
            (desk / f"many/{number // 200}").mkdir(parents=True)
        (desk / f"many/{number // 200}/{number}.txt").write_text(str(number))
    began = time.monotonic()
    agent = Agent(folder, desk, daemon.port)
    agent.said("connected")
    while sum(len(names) for _, _, names in os.walk(art)) < options.files:
        time.sleep(0.5)
    print(f"{options.files} new files of 5 bytes: {time.monotonic() - began:.1f} s, {agent.memory()[1]:.0f} MB at most", flush=True)
    time.sleep(3)
    agent.stop()
    for _ in range(3):
        began = time.monotonic()
        agent = Agent(folder, desk, daemon.port)
        agent.said("connected")
        took = time.monotonic() - began
        cpu = sum(int(n) for n in pathlib.Path(f"/proc/{agent.process.pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]) / 100
        print(f"{options.files} files, nothing changed: {took:.2f} s ({cpu:.2f} s of CPU), {agent.memory()[0]:.0f} MB, "
              f"{agent.memory()[1]:.0f} MB at most", flush=True)
        agent.stop()
    if shutil.which("strace"):
        calls = traced(folder, desk, daemon.port, lambda _: time.sleep(10))
        print(f"10 s idle: {len(calls)} system calls begun or ended", *calls[:10], sep="\n  ", flush=True)

        def save(agent):
            (desk / "many/0/100.txt").write_text("saved")
            agent.said("sent many/0/100.txt")
        opened = [line for line in traced(folder, desk, daemon.port, save) if re.search(r"\bopen(at)?2?\(", line)]
        print("a save opens", *opened, sep="\n  ", flush=True)
    daemon.stop()
finally:
    daemon.kill()
    shutil.rmtree(folder, ignore_errors=True)
