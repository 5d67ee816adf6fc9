#!/usr/bin/env python3
"""Save -> event -> fetched blob: medians compared with the worker's own cook time, for one file and for several written together.

    ./dev bench save [--saves 200] [--triangles 1000] [--pause 0] [--gap 0]

The clock starts when the writer has closed (renamed) the last file and stops when a client has received the new blob, over HTTP,
after the server-sent event that named it. Only an event whose outputs come from all saved files counts: a version with some of
them is reported as "of a part", and its cook time is not subtracted. The rename, in which ext4 starts to write the new file to
the disk, is reported separately, and so is the writer's time from its first close to its last: --gap adds a pause between its
files, as ext4 does by itself when the close of an overwritten file waits for the disk. The time of a preceding preview is
reported as well; "less cook" always refers to the final cook. On a busy machine put `chrt -r 5` before the command to exclude
other load.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import socket
import statistics
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "integration"))
from hobtest import Daemon, obj_text, png  # noqa: E402


def save_one(art, turn, options):
    temp = art / ".model.tmp"
    temp.write_text(obj_text(options.triangles, shift=turn + 1, mtl="model.mtl"))
    before = time.perf_counter()
    temp.rename(art / "model.obj")
    began = time.perf_counter()
    return began, {"the writer's own rename": began - before}, ("meshes",)


def save_several(art, turn, options):
    (art / "model.obj").write_text(obj_text(options.triangles, shift=turn + 0.5, mtl="model.mtl"))
    first = time.perf_counter()
    time.sleep(options.gap)
    (art / "model.mtl").write_text(f"newmtl m\nNs {turn}\nmap_Kd skin.png\n")
    time.sleep(options.gap)
    (art / "skin.png").write_bytes(png(turn % 256, turn // 256, 7, side=16))
    began = time.perf_counter()
    return began, {"the writer, first to last close": began - first}, ("meshes", "materials", "textures")


class Listener:
    """The event stream and a connection for blobs on bare sockets: the client's own time should not count."""

    def __init__(self, port):
        self.address = ("127.0.0.1", port)
        self.stream = self.open(b"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        self.rest = b""
        self.blobs = self.open(b"")

    def open(self, request):
        connection = socket.create_connection(self.address)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(request)
        return connection

    def next_asset(self):
        while True:
            found = re.search(rb"event: asset\ndata: (\{.*\})\n", self.rest)
            if found:
                self.rest = self.rest[found.end():]
                return json.loads(found.group(1))
            self.rest += self.stream.recv(1 << 16)

    def blob(self, digest):
        self.blobs.sendall(b"GET /blobs/%s HTTP/1.1\r\nHost: localhost\r\n\r\n" % digest.encode())
        data = self.blobs.recv(1 << 20)
        head = data.index(b"\r\n\r\n") + 4
        assert data.startswith(b"HTTP/1.1 200"), data[:200]
        size = int(re.search(rb"(?i)content-length: (\d+)", data[:head]).group(1))
        body = [data[head:]]
        got = len(body[0])
        while got < size:
            body.append(self.blobs.recv(1 << 20))
            got += len(body[-1])
        return b"".join(body)


def in_a_process_of_its_own(work, *arguments):
    """The harness's threads, which read the same events and the log, would delay this one."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        work(*arguments)
        sys.stdout.flush()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


def hashes(data, kinds):
    return {item["name"]: item["hash"] for item in data["outputs"] if item["name"].split("/")[0] in kinds}


def measure(daemon, art, save, options):
    rows = {"cook, by the worker's clock": [], "save to preview's event": [], "save to event": [], "save to blob": [],
            "save to blob less cook": []}
    client = Listener(daemon.port)
    known = of_a_part = 0
    shown = None
    before = daemon.counters()
    for turn in range(options.saves + 1):
        time.sleep(options.pause)
        began, writer, kinds = save(art, turn, options)
        cooks, parts, previewed = 0, 0, None
        while True:
            data = client.next_asset()
            if data["rev"] <= known or data["state"] != "fresh":
                continue
            now = hashes(data, kinds)
            if shown and any(now[name] == shown[name] for name in now):
                parts += 1
                continue
            cooks += data["cook_ms"] / 1000
            if data["quality"] == "final":
                break
            previewed = time.perf_counter() - began
        event = time.perf_counter() - began
        body = client.blob(data["outputs"][0]["hash"])
        took = time.perf_counter() - began
        assert len(body) == data["outputs"][0]["size"]
        # No event of this save may arrive after the next one. The first save has no predecessor.
        known = daemon.sync()["rev"]
        if shown:
            of_a_part += parts
            values = {**writer, "save to event": event, "save to blob": took, "cook, by the worker's clock": cooks,
                      "save to blob less cook": took - cooks}
            for name, value in values.items():
                rows.setdefault(name, []).append(value)
            if previewed is not None:
                rows["save to preview's event"].append(previewed)
        shown = now
    after = daemon.counters()
    ended = {result: after[name] - before[name] for result in ("cooked", "cancelled", "hit")
             if (name := f'hob_cook_results_total{{result="{result}"}}') in after}
    print(f"{save.__name__.replace('_', ' ')}: {options.saves} saves of {options.triangles} triangles, {len(body)} bytes of meshes; "
          f"{of_a_part} events of a part; " + ", ".join(f"{int(count)} {result}" for result, count in ended.items()))
    for name, values in rows.items():
        if values:
            values.sort()
            print(f"  {name:32} median {statistics.median(values) * 1e3:8.2f} ms   p90 "
                  f"{values[int(len(values) * 0.9)] * 1e3:8.2f} ms   of {len(values)}")


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--saves", type=int, default=200)
    options.add_argument("--triangles", type=int, default=1000)
    options.add_argument("--pause", type=float, default=0, help="seconds before each save, as people save")
    options.add_argument("--gap", type=float, default=0, help="seconds between two files of the writer that saves several")
    options = options.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="hob-bench-"))
    art = folder / "art"
    art.mkdir()
    # A used cache has these folders; a new one would create some at each of the first saves.
    for i in range(512):
        (folder / "cache" / ("blobs" if i % 2 else "records") / f"{i // 2:02x}").mkdir(parents=True)
    save_several(art, 0, options)
    with Daemon([art], folder / "cache") as daemon:
        daemon.sync()
        for save in (save_one, save_several):
            in_a_process_of_its_own(measure, daemon, art, save, options)
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
