#!/usr/bin/env python3
"""Save -> event -> fetched blob, for a model of N triangles: medians beside the worker's own cook time.

    HOB=build/release/hob python3 tests/bench/save_to_blob.py [--saves 100] [--triangles 10000]

The clock starts when the writer has closed (renamed) the file and stops when the new blob's bytes are in a client's hands, over
HTTP, after the server-sent event named it.
"""
import argparse
import http.client
import json
import pathlib
import statistics
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "integration"))
from hobtest import Daemon, obj_text  # noqa: E402


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--saves", type=int, default=100)
    options.add_argument("--triangles", type=int, default=10000)
    options.add_argument("--settings", default='{"lods": {"max": 7}}')
    options = options.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="hob-bench-"))
    art = folder / "art"
    art.mkdir()
    (art / "cook.json").write_text(options.settings)
    target = art / "model.obj"
    target.write_text(obj_text(options.triangles))
    to_event, to_blob, cook = [], [], []
    with Daemon([art], folder / "cache") as daemon:
        daemon.sync()
        connection = http.client.HTTPConnection("127.0.0.1", daemon.port)
        for i in range(options.saves):
            temp = art / ".model.tmp"
            temp.write_text(obj_text(options.triangles, shift=i + 1))
            began = time.perf_counter()
            temp.rename(target)
            data = daemon.wait_asset("art/model.obj", "fresh")
            to_event.append(time.perf_counter() - began)
            connection.request("GET", "/blobs/" + data["outputs"][0]["hash"])
            body = connection.getresponse().read()
            to_blob.append(time.perf_counter() - began)
            assert len(body) == data["outputs"][0]["size"]
            cook.append(data["cook_ms"] / 1000)
    rows = (("cook, by the worker's clock", cook), ("save to event", to_event), ("save to blob", to_blob),
            ("save to blob less cook", [b - c for b, c in zip(to_blob, cook)]))
    print(f"{options.saves} saves of {options.triangles} triangles, {len(body)} bytes of meshes")
    for name, values in rows:
        values = sorted(values)
        print(f"  {name:28} median {statistics.median(values) * 1e3:8.2f} ms   p90 "
              f"{values[int(len(values) * 0.9)] * 1e3:8.2f} ms")


if __name__ == "__main__":
    main()
