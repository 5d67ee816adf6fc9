"""A small model with all kinds of parts, as a glTF, for tests that change one of them: robot.model() is a dictionary that
robot.text() writes. It reads color.png and normal.png beside it."""
import base64
import json
import struct


def _grid(side, made):
    points, normals, uvs, tints, indices = [], [], [], [], []
    share = made.get("weight")
    for y in range(side + 1):
        for x in range(side + 1):
            points += [x / side, 0.08 * ((x * 7 + y * 13) % 5) / 5, y / side]
            normals += made.get("up", [0.0, 1.0, 0.0])
            uvs += [x / side, 1 - y / side if made.get("flipped_uvs") else y / side]
            tints += [x / side, y / side, 0.5, 1.0]
    for y in range(side):
        for x in range(side):
            a = y * (side + 1) + x
            indices += [a, a + side + 1, a + 1, a + 1, a + side + 1, a + side + 2]
    return {"POSITION": (points, 3), **({"NORMAL": (normals, 3)} if made.get("normals", True) else {}), "TEXCOORD_0": (uvs, 2),
            **({"COLOR_0": (tints, 4)} if made["colors"] else {}),
            **({"JOINTS_0": ([0, 1, 0, 0] * (len(points) // 3), 4),
                "WEIGHTS_0": ([share, 1 - share, 0, 0] * (len(points) // 3), 4)} if share else {})}, indices


def model():
    """{"sides": triangles by mesh, ...}: what a test may change before text(). With "weight": 0.5 it has a skin of two joints, each
    vertex with this share of the first."""
    return {
        "sides": {"Body": 20, "Arm": 8},
        "colors": True,
        "materials": [
            {"name": "Steel", "pbrMetallicRoughness": {"baseColorTexture": {"index": 0}, "metallicFactor": 0,
                                                        "roughnessFactor": 0.4},
             "normalTexture": {"index": 1}},
            {"name": "Rubber", "pbrMetallicRoughness": {"baseColorFactor": [0.1, 0.1, 0.1, 1], "metallicFactor": 0}},
        ],
        "nodes": [
            {"name": "robot", "children": [1, 2, 3]},
            {"name": "body", "mesh": 0},
            {"name": "arm", "mesh": 1, "translation": [1.5, 0.5, 0]},
            {"name": "grip", "translation": [2, 0.5, 0]},
        ],
        "clips": {"Walk": (1, "translation", [0, 0, 0, 0, 0.5, 0, 0, 0, 0], [0, 0.5, 1]),
                  "Wave": (2, "rotation", [0, 0, 0, 1, 0, 0.7071068, 0, 0.7071068], [0, 2])},
    }


def text(made):
    data, views, accessors = bytearray(), [], []

    def add(values, width, kind, component):
        raw = struct.pack(f"<{len(values)}{ {5126: 'f', 5125: 'I', 5123: 'H'}[component]}", *values)
        views.append({"buffer": 0, "byteOffset": len(data), "byteLength": len(raw)})
        data.extend(raw)
        count = len(values) // width
        columns = [values[i::width] for i in range(width)]
        accessors.append({"bufferView": len(views) - 1, "componentType": component, "count": count, "type": kind,
                          "min": [min(column) for column in columns], "max": [max(column) for column in columns]})
        return len(accessors) - 1

    meshes = []
    for material, (name, side) in enumerate(made["sides"].items()):
        attributes, indices = _grid(side, made)
        meshes.append({"name": name, "primitives": [{
            "attributes": {key: add(values, width, f"VEC{width}", 5123 if key == "JOINTS_0" else 5126) for key, (values, width) in attributes.items()},
            "indices": add(indices, 1, "SCALAR", 5125), "material": material}]})
    nodes = [{**node, "skin": 0} if made.get("weight") and "mesh" in node else node for node in made["nodes"]]
    clips = []
    for name, (node, path, values, times) in made["clips"].items():
        width = len(values) // len(times)
        clips.append({"name": name, "channels": [{"sampler": 0, "target": {"node": node, "path": path}}],
                      "samplers": [{"input": add(times, 1, "SCALAR", 5126),
                                    "output": add(values, width, f"VEC{width}", 5126)}]})
    return json.dumps({
        "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}], "nodes": nodes, "meshes": meshes,
        "materials": made["materials"], "textures": [{"source": 0}, {"source": 1}],
        "images": [{"uri": made.get("color", "color.png")}, {"uri": made.get("normal", "normal.png")}],
        **({"animations": clips} if clips else {}), **({"skins": [{"joints": [0, 3]}]} if made.get("weight") else {}), "accessors": accessors, "bufferViews": views,
        "buffers": [{"byteLength": len(data), "uri": "data:application/octet-stream;base64," +
                     base64.b64encode(bytes(data)).decode()}]}, indent=made.get("indent"))
