"""Compares Hob's import of the corpus's USD files with OpenUSD's (ORACLE-usd.jsonl).

usage: usd_facts.py MODEL_DUMP [-v] [PART-OF-PATH]

HOB_CORPUS names the corpus, "../shared/corpus" beside the checkout otherwise; without one the test is skipped. LEAST holds the
number of files that agree in each fact, which may only rise."""
import json
import os
import pathlib
import subprocess
import sys

# Accepted differences: properties of this build of OpenUSD, not of the file.
EXPLAINED = {
    "purpose.usda": "it draws the purpose 'default' only; Hob also 'render'",
    "SoC-ElephantWithMonochord.usdc": "it could not compose the file (flat_error); nothing of it was drawn",
    "SoC-ElephantWithMonochord_thumbnail.usda": "the same file, referenced",
    "animated_cube_translation.usda": "it was drawn at the last time; its rest is the default value",
    "pointsTypes.usda": "points of other types than numbers by three draw what the memory holds; Hob leaves them out",
}
LEAST = {"draws": 80, "triangles": 78, "box": 75, "materials": 17}
ROOT = pathlib.Path(__file__).resolve().parents[2]
CORPUS = pathlib.Path(os.environ.get("HOB_CORPUS", ROOT.parent / "shared" / "corpus"))


def near(a, b, size):
    return abs(a - b) <= 2e-4 * max(size, 1e-6)


def same_box(ours, theirs):
    size = max(abs(v) for v in theirs)
    return ours is not None and all(near(a, b, size) for a, b in zip(ours, theirs))


def material_differs(ours, theirs):
    by_name = {m["name"]: m for m in ours}
    for m in theirs:
        if not m.get("bound", True) or "diffuseColor" not in m or not isinstance(m["diffuseColor"], list):
            continue
        mine = by_name.get(m["path"].rsplit("/", 1)[-1])
        if mine is None:
            return f"no material {m['path']}"
        if not all(near(a, max(0, min(1, b)), 1) for a, b in zip(mine["base"], m["diffuseColor"])):
            return f"{m['path']}: base {mine['base']} != {m['diffuseColor']}"
        for key in ("metallic", "roughness"):
            if isinstance(m.get(key), (int, float)) and not near(mine[key], m[key], 1):
                return f"{m['path']}: {key} {mine[key]} != {m[key]}"
    return None


def compare(ours, theirs):
    """{fact: None if it agrees, else the reason}"""
    found = {}
    drawn = theirs.get("drawn")
    if drawn and theirs.get("samples"):
        # The oracle's bounds are those of the last drawn time; Hob's rest pose is the first sample.
        drawn = dict(drawn, bounds_m_y_up=theirs["samples"][0][1])
    if drawn is not None and theirs.get("drawn_exact"):
        if drawn["triangles"] == 0:
            found["draws"] = None if not ours["ok"] and ours["code"] in ("import.empty", "import.skipped") else f"draws {ours.get('triangles_drawn')}, not nothing"
        else:
            found["draws"] = None if ours["ok"] else f"{ours['code']}: {ours['error']}"
            found["triangles"] = None if ours.get("triangles_drawn") == drawn["triangles"] else f"{ours.get('triangles_drawn')} != {drawn['triangles']}"
            found["box"] = None if same_box(ours.get("bounds"), drawn["bounds_m_y_up"]) else f"{ours.get('bounds')} != {drawn['bounds_m_y_up']}"
    elif theirs.get("mesh_triangles"):
        found["draws"] = None if ours["ok"] else f"{ours['code']}: {ours['error']}"
        if drawn and ours["ok"]:
            found["box"] = None if same_box(ours.get("bounds"), drawn["bounds_m_y_up"]) else f"{ours.get('bounds')} != {drawn['bounds_m_y_up']}"
        if drawn is None and ours["ok"]:
            found["triangles"] = None if ours.get("triangles_drawn") == theirs["mesh_triangles"] else f"{ours.get('triangles_drawn')} != {theirs['mesh_triangles']}"
    if ours["ok"] and theirs.get("materials"):
        found["materials"] = material_differs(ours["materials"], theirs["materials"])
    return found


def main():
    verbose = "-v" in sys.argv
    wanted = [a for a in sys.argv[2:] if a != "-v"]
    oracle = CORPUS / "ORACLE-usd.jsonl"
    if not oracle.exists():
        print(f"no corpus at {CORPUS}: skipped")
        sys.exit(77)
    facts = [json.loads(line) for line in oracle.read_text().splitlines()]
    facts = [f for f in facts if (CORPUS / f["path"]).exists() and all(w in f["path"] for w in wanted)]
    agree, differ = {}, {}
    for theirs in facts:
        ours = json.loads(subprocess.run([sys.argv[1], f"{CORPUS}//{theirs['path']}"], capture_output=True, text=True, check=True).stdout)
        for fact, reason in compare(ours, theirs).items():
            agree[fact] = agree.get(fact, 0) + (reason is None)
            why = reason and EXPLAINED.get(theirs["path"].rsplit("/", 1)[-1])
            differ[fact] = differ.get(fact, 0) + (reason is not None and not why)
            if reason:
                print(f"{theirs['path']}: {fact}: {reason}{f' - explained: {why}' if why else ''}")
        if verbose:
            print(theirs["path"], json.dumps({k: v for k, v in ours.items() if k in ("ok", "code", "triangles_drawn", "bounds", "notes")}))
    print(f"{len(facts)} files. agree: {agree}; differ: {differ}")
    if not wanted:
        short = [f for f in LEAST if agree.get(f, 0) < LEAST[f]]
        sys.exit(1 if short or any(differ.values()) else 0)


main()
