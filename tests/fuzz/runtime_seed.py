#!/usr/bin/env python3
"""Joins cooked files into a seed of fuzz_runtime: runtime_seed.py OUT BASE [PART-ENDING...]

The parts are BASE.meshes, .materials, .scene and .animations (or .anims) in this order; a missing file is empty."""
import pathlib
import struct
import sys

out, base = sys.argv[1:3]
parts = []
for endings in ((".meshes",), (".materials",), (".scene",), (".animations", ".anims")):
    found = [pathlib.Path(base + e) for e in endings if pathlib.Path(base + e).exists()]
    parts.append(found[0].read_bytes() if found else b"")
pathlib.Path(out).write_bytes(struct.pack("<4I", *map(len, parts)) + b"".join(parts))
