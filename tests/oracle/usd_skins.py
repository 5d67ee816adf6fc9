"""Compares skinned USD stages with the same models as glTF: positions of deformed vertices, within 1e-4 of the model's size.

usage: usd_skins.py HOB RUNTIME_DUMP

The stages are conversions of Khronos samples: their frame 1 is the first key of the glTF clip, at 1/24 s. Without the corpus
the test is skipped."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
CORPUS = pathlib.Path(os.environ.get("HOB_CORPUS", ROOT.parent / "shared" / "corpus"))
# (name, offset of the stage). The converter of RiggedSimple ignored the first joint's matrix, so its clip puts the joint at the
# origin.
PAIRS = [("CesiumMan", (0, 0, 0)), ("RiggedSimple", (0, 4.1803297996521, 0))]
FRAMES, RATE, POINTS, LIMIT = (1, 9, 17, 25, 33, 41), 24, 2000, 1e-4


def points_of(dump, cooked, times):
    """Per time, the distinct positions of vertices."""
    text = subprocess.run([dump, str(cooked), str(POINTS), *map(str, times)], capture_output=True, text=True, check=True).stdout
    return [[tuple(p) for p in frame["points"]] for frame in json.loads(text)["clips"][0]["frames"]]


def apart(ours, theirs):
    """The largest distance from a vertex of one model to the nearest of the other, relative to the model's size."""
    size = max(max(p[k] for p in theirs) - min(p[k] for p in theirs) for k in range(3))
    cell, grid = size / 50, {}
    for p in theirs:
        grid.setdefault(tuple(int(c // cell) for c in p), []).append(p)
    worst = 0
    for p in ours:
        at = tuple(int(c // cell) for c in p)
        near = [q for dx in (-1, 0, 1) for dy in (-1, 0, 1) for dz in (-1, 0, 1) for q in grid.get((at[0] + dx, at[1] + dy, at[2] + dz), [])]
        worst = max(worst, min((sum((a - b) ** 2 for a, b in zip(p, q)) ** 0.5 for q in near), default=size))
    return worst / size


def main():
    hob, dump = sys.argv[1:3]
    stages = CORPUS / "usd/usd-wg/test_assets/USDZ"
    if not stages.exists():
        print(f"no corpus at {CORPUS}: skipped")
        sys.exit(77)
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, moved in PAIRS:
            usd, gltf = stages / name / f"{name}.usdz", CORPUS / f"gltf/khronos/{name}/glTF/{name}.gltf"
            for model in (usd, gltf):
                subprocess.run([hob, "cook", str(model), "-q", "-o", folder, "--root", str(model.parent), "--settings", '{"lods":{"max":1}}'], check=True)
            ours = points_of(dump, f"{folder}/{name}.usdz", [(f - FRAMES[0]) / RATE for f in FRAMES])
            theirs = points_of(dump, f"{folder}/{name}.gltf", [f / RATE for f in FRAMES])
            theirs = [[tuple(c + d for c, d in zip(p, moved)) for p in frame] for frame in theirs]
            worst = max(max(apart(a, b), apart(b, a)) for a, b in zip(ours, theirs))
            print(f"{name}: {len(ours[0])} and {len(theirs[0])} vertices at {len(FRAMES)} times: {worst:.2e} of the size apart")
            bad += worst > LIMIT
    sys.exit(1 if bad else 0)


main()
