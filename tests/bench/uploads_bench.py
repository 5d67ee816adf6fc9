#!/usr/bin/env python3
"""Latency of /livez and of a 1 KB blob while encoded uploads are unpacked, beside nginx with the same file, in one run.

    ./dev bench uploads [--uploads 16] [--gib 2] [--gets 64] [--rounds 9] [--ms 500] [--rt] [--right]

--uploads PUTs of zstd frames of a few KB that unpack to --gib each arrive at once, and again as soon as they are answered. The
rounds of the servers alternate: --gets connections ask Hob for /livez, Hob for the blob, nginx for the blob. The uploads have a
wrong digest, so that each is written, hashed and dropped; with --right they are stored. First the same rounds without uploads.
--rt gives Hob's HTTP thread, nginx and the client real-time priority on one core, so that other load on the machine does not
count; the thread that unpacks keeps its own. The goal is a p99 of at most 20 ms of both answers of Hob.
"""
import argparse
import hashlib
import json
import os
import pathlib
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(sys.argv[1]).resolve()
sys.path.insert(0, str(HERE.parent / "integration"))
sys.path.insert(0, str(HERE))
os.environ["PATH"] += os.pathsep + "/usr/sbin"
from hobtest import Daemon  # noqa: E402
from http_bench import start_nginx  # noqa: E402
from test_uploads import frame  # noqa: E402

GOAL_MS = 20


def put_first(thread=0):
    os.sched_setaffinity(thread, {os.cpu_count() - 1})
    os.sched_setscheduler(thread, os.SCHED_RR, os.sched_param(1))


def load(port, connections, ms, target, first):
    ran = subprocess.run([BUILD / "http_load", str(port), str(connections), str(ms), target], capture_output=True, text=True,
                         preexec_fn=put_first if first else None)
    assert ran.returncode == 0, ran.stderr
    got = json.loads(ran.stdout)
    assert got["others"] == 0, got
    return got


def http_thread(daemon):
    """The id of the daemon's HTTP thread: the one that uses most CPU time under load."""
    def used():
        return {int(task.name): int((task / "schedstat").read_text().split()[0]) for task in pathlib.Path(f"/proc/{daemon.process.pid}/task").iterdir()}
    before = used()
    load(daemon.port, 16, 200, "/livez", False)
    return max((time - before.get(thread, 0), thread) for thread, time in used().items())[1]


class Uploads:
    """Keeps `count` uploads going until stop()."""

    def __init__(self, daemon, count, size, right):
        self.daemon, self.size, self.going, self.answers = daemon, size, True, []
        self.right, self.free = right, iter(range(1, 256))
        self.threads = [threading.Thread(target=self.repeat, daemon=True) for _ in range(count)]
        self.began = threading.Barrier(count + 1)
        for thread in self.threads:
            thread.start()
        self.began.wait()

    def digest(self, byte):
        whole, block = hashlib.sha256(), byte * (1 << 20)
        for _ in range(self.size >> 20):
            whole.update(block)
        return whole.hexdigest()

    def repeat(self):
        byte = bytes([next(self.free)])
        body, digest = frame(self.size, byte), self.digest(byte) if self.right else "0" * 64
        self.began.wait()
        while self.going:
            with socket.create_connection(("127.0.0.1", self.daemon.port)) as peer:
                peer.sendall(f"PUT /blobs/{digest} HTTP/1.1\r\nHost: localhost\r\nContent-Encoding: zstd\r\nX-Digest-SizeBytes: {self.size}\r\n"
                             f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
                try:
                    self.answers.append(peer.recv(4096).split(b" ", 2)[1].decode())
                except (OSError, IndexError):
                    return

    def stop(self):
        self.going = False


def main():
    parser = argparse.ArgumentParser(prog="./dev bench uploads")
    parser.add_argument("build")
    parser.add_argument("--uploads", type=int, default=16)
    parser.add_argument("--gib", type=float, default=2)
    parser.add_argument("--gets", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--ms", type=int, default=500)
    parser.add_argument("--rt", action="store_true")
    parser.add_argument("--right", action="store_true")
    options = parser.parse_args()
    options.build = BUILD
    folder = pathlib.Path(tempfile.mkdtemp(prefix="hob-bench-"))
    (folder / "art").mkdir()
    (folder / "files").mkdir()
    blob = os.urandom(1024)
    (folder / "files/blob").write_bytes(blob)
    nginx = None
    try:
        with Daemon([folder / "art"], folder / "cache") as daemon:
            digest = hashlib.sha256(blob).hexdigest()
            assert daemon.request("PUT", "/blobs/" + digest, blob).status == 201
            # Starts the thread that unpacks before the priority is raised: it would inherit that of the HTTP thread.
            daemon.request("PUT", "/blobs/" + "0" * 64, frame(9), {"Content-Encoding": "zstd", "X-Digest-SizeBytes": "9"})
            targets = {"hob /livez": (daemon.port, "/livez"), "hob 1 KB": (daemon.port, "/blobs/" + digest)}
            if shutil.which("nginx"):
                nginx, worker, port = start_nginx(options, folder, folder / "files", prepare=lambda: None)
                targets["nginx 1 KB"] = (port, "/blob")
            if options.rt:
                put_first(http_thread(daemon))
                put_first(worker)
            for count in (0, options.uploads):
                uploads = Uploads(daemon, count, int(options.gib * (1 << 30)), options.right)
                seen = {name: [] for name in targets}
                for _ in range(options.rounds):
                    for name, (port, target) in targets.items():
                        seen[name].append(load(port, options.gets, options.ms, target, options.rt))
                uploads.stop()
                print(f"{count} uploads of {options.gib:g} GiB, {options.gets} connections" +
                      (f"; {len(uploads.answers)} answered meanwhile ({', '.join(sorted(set(uploads.answers)))})" if count else ""))
                for name, rounds in seen.items():
                    p99 = [got["p99_us"] / 1000 for got in rounds]
                    mark = "" if name.startswith("nginx") or not count else "  ok" if statistics.median(p99) <= GOAL_MS else f"  ABOVE the goal of {GOAL_MS} ms"
                    print(f"  {name:10} p50 {statistics.median(got['p50_us'] for got in rounds) / 1000:6.2f} ms   p99 median {statistics.median(p99):6.2f}, "
                          f"worst {max(p99):6.2f} ms   longest pause {max(got['pause_ms'] for got in rounds):6.1f} ms   "
                          f"{sum(got['answers'] for got in rounds) / sum(got['seconds'] for got in rounds):7.0f} answers/s{mark}", flush=True)
            daemon.kill()
    finally:
        if nginx:
            nginx.terminate()
            nginx.wait()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
