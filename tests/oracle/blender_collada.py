"""Compares Hob's import of COLLADA files with Blender's. See README.md.

usage: blender_collada.py MODEL_DUMP FILE-OR-FOLDER...      ("corpus:" stands for the model corpus)

Blender runs this same file to print its import: triangles, box, materials, positions and texture coordinates of corners, and the
positions of objects and bones at 20 times."""
import json
import math
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile

TIMES = 20
# Accepted differences, and which of the two the COLLADA specification supports.
EXPLAINED = {
    "BoxAnimated.dae": "Blender forgets to turn an animated root from Y up to Z up, and makes the last curve of a BEZIER anew",
    "CesiumMan.dae": "Blender refuses the file",
    "CesiumMilkTruck.dae": "Blender makes the last curve of a BEZIER anew; 18.4 degrees at 1.184 s are right, it has 18.8",
    "ConcavePolygon.dae": "Blender leaves out a polygon that touches itself",
    "box_nested_animation.dae": "the rest of Blender's armature is not the bind pose; three.js agrees with Hob",
    "cube_emptyTags.dae": "no <up_axis>: Y is up by the specification, Z in Blender",
    "cube_tristrips.dae": "Blender reads no <tristrips>",
    "earthCylindrical.DAE": "Blender stops at decimal commas",
    "box_nested_animation_4286.dae": "as box_nested_animation.dae",
    "stride-0.dae": "Blender refuses a stride of 0; Hob counts the parameters",
    "teapots.DAE": "Blender stops at decimal commas",
    "teapot_instancenodes.DAE": "Blender drops triangles without area, and makes a node and the instance in it one object",
}


# ---- inside Blender

def facts(bpy, path):
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.wm.collada_import(filepath=path)
    scene = bpy.context.scene
    fps = scene.render.fps / scene.render.fps_base
    length = max([0] + [k.co[0] for a in bpy.data.actions for c in a.fcurves for k in c.keyframe_points]) / fps
    scene.frame_set(0)
    graph = bpy.context.evaluated_depsgraph_get()
    corners, triangles, materials = [], 0, {}
    for o in bpy.data.objects:
        if o.type != "MESH":
            continue
        mesh, m = o.data, o.matrix_world
        for i in {p.material_index for p in mesh.polygons}:
            if i < len(o.material_slots) and o.material_slots[i].material:
                materials[o.material_slots[i].material.name] = color_of(o.material_slots[i].material)
        mesh.calc_loop_triangles()
        triangles += len(mesh.loop_triangles)
        sets = [layer.data for layer in mesh.uv_layers]
        for t in mesh.loop_triangles:
            for loop in t.loops:
                p = m @ mesh.vertices[mesh.loops[loop].vertex_index].co
                corners.append([p.x, p.z, -p.y, [list(s[loop].uv) for s in sets]])
    moves = []
    for k in range(TIMES):
        time = length * k / (TIMES - 1)
        frame = time * fps
        scene.frame_set(int(math.floor(frame)), subframe=frame - math.floor(frame))
        graph.update()
        places = {}
        for o in bpy.data.objects:
            m = o.matrix_world
            axes = [m.col[i].to_3d().normalized() for i in range(3)]
            places[o.name] = [turned(m.translation)] + [turned(a) for a in axes]
            if o.type == "ARMATURE":
                for b in o.pose.bones:
                    places[b.name] = [turned(m @ b.head)]
        moves.append(places)
    return {"triangles": triangles, "corners": corners, "materials": materials, "length": length, "moves": moves}


def color_of(material):
    for n in material.node_tree.nodes if material.use_nodes else []:
        if n.type == "BSDF_PRINCIPLED" and not n.inputs["Base Color"].is_linked:
            return list(n.inputs["Base Color"].default_value)[:3]
    return None


def turned(v):
    """Blender's Z is up, Hob's is Y."""
    return [v[0], v[2], -v[1]]


def inside(paths, out):
    import bpy
    for i, path in enumerate(paths):
        try:
            made = facts(bpy, path)
        except Exception as error:  # a file that Blender cannot read is reported
            made = {"error": str(error)}
        (pathlib.Path(out) / f"{i}.json").write_text(json.dumps(made))


# ---- outside

def ours_of(dump, path, *clip):
    environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}
    return json.loads(subprocess.run([dump, "--draws", path, *clip], capture_output=True, text=True, check=True, env=environment).stdout)


def plain(name):
    return "".join(c for c in name if c.isalnum())


def box_of(places):
    return [f(p[i] for p in places) for f in (min, max) for i in range(3)]


def same_corners(ours, theirs, size):
    """Whether each corner of Hob's has one of Blender's at its position, with the same texture coordinates."""
    step = max(size * 1e-3, 1e-9)
    table = {}
    for c in theirs:
        table.setdefault(tuple(round(x / step) for x in c[:3]), []).append(c)
    places = uvs = with_uv = 0
    sampled = ours[::max(1, len(ours) // 3000)]
    for p, uv in sampled:
        x, y, z = (round(v / step) for v in p)
        near = [c for a in (-1, 0, 1) for b in (-1, 0, 1) for d in (-1, 0, 1) for c in table.get((x + a, y + b, z + d), [])]
        places += bool(near)
        if not uv or not any(c[3] for c in near):
            continue
        with_uv += 1
        uvs += any(abs(s[0] - uv[0]) < 1e-3 and abs(1 - s[1] - uv[1]) < 1e-3 for c in near for s in c[3])
    return places / max(1, len(sampled)), uvs / with_uv if with_uv else 1


def motion(dump, path, ours, theirs, size):
    """Greatest distance between objects and bones of the same name, and the number of compared poses of nodes."""
    times = ",".join(str(theirs["length"] * k / (TIMES - 1)) for k in range(TIMES))
    frames = [{"world": ours["world"]}] * TIMES
    if len(ours["clips"]) == 1:
        frames = ours_of(dump, path, ours["clips"][0], times)["samples"][0]["times"]
    elif ours["clips"]:
        return 0, 0
    names, worst, count = {}, 0, 0
    for i, (name, _) in enumerate(ours["nodes"]):
        names.setdefault(plain(name), i)
    for frame, places in zip(frames, theirs["moves"]):
        for name, (where, *axes) in places.items():
            i = names.get(plain(name))
            if i is None or name not in [n for n, _ in ours["nodes"]]:
                continue
            world = frame["world"][i]
            count += 1
            worst = max(worst, math.dist(world[9:12], where) / size)
            for a, axis in enumerate(axes):
                mine = world[a * 3:a * 3 + 3]
                length = math.hypot(*mine) or 1
                worst = max(worst, math.dist([x / length for x in mine], axis))
    return worst, count


def compare(dump, path, theirs):
    ours = ours_of(dump, path)
    if not ours["ok"]:
        return [f"Hob: {ours['error']}"] if theirs.get("triangles") else []
    if "error" in theirs:
        return [f"Blender: {theirs['error']}"]
    wrong = []
    mine = []
    for d in ours["draws"]:
        if d["topology"] == 0:
            at, uv = d["at"], d["uv"]
            mine += [(at[i * 3:i * 3 + 3], uv[i * 2:i * 2 + 2]) for i in range(len(at) // 3)]
    if len(mine) != theirs["triangles"] * 3:
        wrong.append(f"{len(mine) // 3} triangles, theirs are {theirs['triangles']}")
    size = 1
    if mine and theirs["corners"]:
        a, b = box_of([p for p, _ in mine]), box_of([c[:3] for c in theirs["corners"]])
        size = math.dist(b[:3], b[3:]) or 1
        if max(abs(x - y) for x, y in zip(a, b)) > 1e-4 * size:
            wrong.append(f"box {[round(x, 4) for x in a]}, theirs is {[round(x, 4) for x in b]}")
        places, uvs = same_corners(mine, theirs["corners"], size)
        if places < 1 or uvs < 1:
            wrong.append(f"places {places:.3f}, texture coordinates {uvs:.3f}")
    used = {m for d in ours["draws"] if (m := d["material"]) >= 0}
    known = {ours["materials"][m]["name"]: ours["materials"][m] for m in used}
    for name, color in theirs["materials"].items():
        if name not in known:
            wrong.append(f"no material {name}")
        elif color and not known[name]["maps"] and max(abs(x - y) for x, y in zip(color, known[name]["base"])) > 1e-3:
            wrong.append(f"{name} is {known[name]['base'][:3]}, theirs is {color}")
    worst, frames = motion(dump, path, ours, theirs, size)
    if worst > 1e-3:
        wrong.append(f"nodes are apart by {worst:.2g}")
    print(f"  {len(mine) // 3} triangles, {len(theirs['materials'])} materials, {frames} frames of nodes, {worst:.1g} apart", end="")
    return wrong


def document_of(path, out, number):
    """Blender reads no archives: it gets the document inside."""
    if path.suffix.lower() != ".zae":
        return path
    folder = pathlib.Path(out) / str(number)
    with zipfile.ZipFile(path) as archive:
        archive.extractall(folder)
    return sorted(folder.rglob("*.dae"))[0]


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    corpus = pathlib.Path(os.environ.get("HOB_CORPUS", root.parent / "shared" / "corpus"))
    blender = shutil.which("blender")
    paths = []
    for word in sys.argv[2:]:
        path = pathlib.Path(word.replace("corpus:", f"{corpus}/"))
        paths += sorted(p for p in path.rglob("*") if p.suffix.lower() in (".dae", ".zae")) if path.is_dir() else [path] if path.exists() else []
    if not blender or not paths:
        print("no Blender, or no files: skipped")
        sys.exit(77)
    bad = 0
    with tempfile.TemporaryDirectory() as out:
        documents = [str(document_of(path, out, i)) for i, path in enumerate(paths)]
        subprocess.run([blender, "-b", "--factory-startup", "--python", __file__, "--", out, *documents], check=False, capture_output=True)
        for i, path in enumerate(paths):
            made = pathlib.Path(out) / f"{i}.json"
            theirs = json.loads(made.read_text()) if made.exists() else {"error": "it died"}
            print(path.name, end=":")
            wrong = compare(sys.argv[1], str(path), theirs)
            why = EXPLAINED.get(path.name)
            bad += bool(wrong) and not why
            print(f" {'; '.join(wrong) or 'same'}{f' - explained: {why}' if wrong and why else ''}")
    print(f"{len(paths)} files, {bad} differ")
    sys.exit(bad > 0)


if "--" in sys.argv:
    at = sys.argv.index("--")
    inside(sys.argv[at + 2:], sys.argv[at + 1])
else:
    main()
