#!/usr/bin/env python3
"""lantern.py [FOLDER] - makes the sample model art/lantern.gltf: a lantern on a stone plinth, from numbers alone.

It has what a renderer shows: pictures for colour, normals and roughness (stone, cloth), a mesh that is dense enough for levels of
detail, glass with a flame behind it, a light, and a clip of four seconds in which the banner (a skin of six joints) and the
lantern (a node) sway. The standard library is enough. The same numbers come out each time; a PNG's bytes also depend on zlib.
"""
import json
import math
import pathlib
import random
import struct
import sys
import zlib

SIDE = 256
TAU = 2 * math.pi
COURSES, STONES = 5, 12  # rows of the plinth, and stones in each
SECONDS, KEYS, JOINTS = 4.0, 17, 6


class Noise:
    """Smooth noise from 0 to 1 that repeats after 1 in both directions."""

    def __init__(self, seed, cells):
        dice = random.Random(seed)
        self.cells = cells
        self.values = [[dice.random() for _ in range(cells)] for _ in range(cells)]

    def __call__(self, u, v):
        x, y = u % 1 * self.cells, v % 1 * self.cells
        left, top = int(x), int(y)
        fx, fy = x - left, y - top
        fx, fy = fx * fx * (3 - 2 * fx), fy * fy * (3 - 2 * fy)
        row, below = self.values[top % self.cells], self.values[(top + 1) % self.cells]
        left, right = left % self.cells, (left + 1) % self.cells
        upper = row[left] + (row[right] - row[left]) * fx
        return upper + (below[left] + (below[right] - below[left]) * fx - upper) * fy


def octaves(seed, first, count):
    layers = [Noise(seed + i, first << i) for i in range(count)]
    total = 2 - 0.5 ** (count - 1)
    return lambda u, v: sum(layer(u, v) / (1 << i) for i, layer in enumerate(layers)) / total


rough, grain, moss_at = octaves(1, 6, 5), octaves(20, 48, 2), octaves(40, 5, 4)
tints = [[random.Random(row * 64 + stone + 7).random() for stone in range(STONES)] for row in range(COURSES)]


def stone(u, v):
    """(height from 0 to 1, tint of the stone, share of mortar) at texture coordinates of the plinth's wall."""
    row = int(v * COURSES) % COURSES
    along = (u * STONES + (row % 2) / 2 + 0.16 * (rough(u, v) - 0.5)) % STONES
    x, y = along % 1, v * COURSES % 1
    edge = min(min(x, 1 - x) * 1.6, min(y, 1 - y))
    rise = min(1.0, max(0.0, (edge - 0.035) / 0.14))
    rise = rise * rise * (3 - 2 * rise)
    return rise * (0.72 + 0.28 * rough(u, v)), tints[row][int(along) % STONES], 1 - rise


def png(path, pixels):
    """pixels: rows of (r, g, b) as numbers from 0 to 1."""
    raw = bytearray()
    for row in pixels:
        values = [min(255, max(0, round(value * 255))) for pixel in row for value in pixel]
        raw.append(1)  # each byte is stored as what it adds to the pixel at its left
        raw.extend((value - (values[i - 3] if i >= 3 else 0)) & 255 for i, value in enumerate(values))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", len(pixels[0]), len(pixels), 8, 2, 0, 0, 0)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(bytes(raw), 9)) + chunk(b"IEND", b""))


def picture(function, side=SIDE):
    return [[function((x + 0.5) / side, (y + 0.5) / side) for x in range(side)] for y in range(side)]


def normals_of(height, strength, side=SIDE):
    """A normal map (OpenGL: green points up) of a height from 0 to 1. Coarse numbers keep the file small."""
    rows = picture(height, side)

    def at(x, y):
        return rows[y % side][x % side]

    def normal(x, y):
        dx, dy = (at(x + 1, y) - at(x - 1, y)) * strength, (at(x, y + 1) - at(x, y - 1)) * strength
        length = math.sqrt(dx * dx + dy * dy + 1)
        return tuple(round((value / length * 0.5 + 0.5) * 63.75) / 63.75 for value in (-dx, dy, 1))

    return [[normal(x, y) for x in range(side)] for y in range(side)]


def stone_colour(u, v):
    height, tint, mortar = stone(u, v)
    moss = max(0.0, min(1.0, (moss_at(u, v) - 0.52) * 5)) * (0.35 + 0.65 * mortar)
    shade = 0.62 + 0.2 * tint + 0.22 * (rough(u, v) - 0.5) + 0.1 * (height - 0.5)
    base = [shade * (0.98 + 0.06 * tint), shade * 0.95, shade * (0.92 - 0.05 * tint)]
    base = [value * (1 - 0.5 * mortar) for value in base]
    return tuple(round((value * (1 - moss) + leaf * moss) * 63.75) / 63.75 for value, leaf in zip(base, (0.36, 0.44, 0.2)))


def stone_roughness(u, v):
    """Occlusion, roughness, metal: one picture, as glTF has them."""
    height, _, mortar = stone(u, v)
    return (round((1 - 0.55 * mortar) * 31) / 31, round((0.62 + 0.3 * mortar + 0.25 * (rough(v, u) - 0.5)) * 31) / 31, 0)


def cloth_height(u, v):
    return 0.5 + 0.25 * math.sin(u * TAU * 32) * math.cos(v * TAU * 32)


def cloth_colour(u, v):
    """A red banner with a light border and a lantern's flame on it."""
    red, light = (0.62, 0.11, 0.1), (0.93, 0.78, 0.42)
    border = min(u, 1 - u) < 0.09 or v < 0.05 or v > 0.93
    line = 0.12 < u < 0.15 or 0.85 < u < 0.88
    y = (0.62 - v) / 0.34  # the flame stands from 0 to 1
    x = abs(u - 0.5 - 0.05 * math.sin(y * 5))
    flame = 0 < y < 1 and x < 0.28 * math.sqrt(y) * (1 - y) ** 0.8 * 1.6
    inner = 0 < y < 0.6 and x < 0.12 * math.sqrt(y / 0.6) * (1 - y / 0.6) * 1.5
    colour = light if (border or line or flame) and not inner else red
    weave = 0.92 + 0.08 * (int(u * 64) + int(v * 64)) % 2
    return tuple(value * weave for value in colour)


class Mesh:
    def __init__(self):
        self.points, self.uvs, self.triangles, self.joints, self.weights = [], [], [], [], []

    def grid(self, columns, rows, at):
        """at(u, v) from 0 to 1: a point. Seen from where u goes to the right and v down, its triangles face the viewer."""
        first = len(self.points)
        for y in range(rows + 1):
            for x in range(columns + 1):
                point = at(x / columns, y / rows)
                self.points.append(point[:3])
                self.uvs.append(point[3:] or (x / columns, y / rows))
        for y in range(rows):
            for x in range(columns):
                a = first + y * (columns + 1) + x
                below = a + columns + 1
                for triangle in ((a, below, a + 1), (a + 1, below, below + 1)):
                    corners = {self.points[i] for i in triangle}
                    if len(corners) == 3:  # not those at a pole
                        self.triangles.append(triangle)

    def lathe(self, columns, profile):
        """profile: (radius, height), from the top down, turned about Y."""
        def at(u, v):
            place = v * (len(profile) - 1)
            i = min(int(place), len(profile) - 2)
            (r, y), (s, z) = profile[i], profile[i + 1]
            r, y = r + (s - r) * (place - i), y + (z - y) * (place - i)
            return (r * math.sin(u % 1 * TAU), y, r * math.cos(u % 1 * TAU))
        self.grid(columns, len(profile) - 1, at)

    def tube(self, path, radius, sides=10, steps=24):
        """A round bar along path(0 to 1), which lies in the plane of X and Y."""
        def at(u, v):
            x, y = path(v)
            (x0, y0), (x1, y1) = path(v - 0.001), path(v + 0.001)
            length = math.hypot(x1 - x0, y1 - y0)
            nx, ny = (y1 - y0) / length, -(x1 - x0) / length
            turn = u % 1 * TAU
            return (x + radius * nx * math.cos(turn), y + radius * ny * math.cos(turn), radius * math.sin(turn))
        self.grid(sides, steps, at)

    def normals(self):
        """Smooth; corners at the same place share theirs."""
        sums = {}
        for triangle in self.triangles:
            a, b, c = (self.points[i] for i in triangle)
            p, q = [b[i] - a[i] for i in range(3)], [c[i] - a[i] for i in range(3)]
            n = (p[1] * q[2] - p[2] * q[1], p[2] * q[0] - p[0] * q[2], p[0] * q[1] - p[1] * q[0])
            for i in triangle:
                key = tuple(round(value, 5) for value in self.points[i])
                sums[key] = [x + y for x, y in zip(sums.get(key, (0, 0, 0)), n)]
        out = []
        for point in self.points:
            n = sums.get(tuple(round(value, 5) for value in point), (0, 1, 0))
            length = math.sqrt(sum(value * value for value in n)) or 1
            out.append([value / length for value in n])
        return out


def plinth():
    mesh = Mesh()

    def wall(u, v):
        height, _, _ = stone(u, v)
        radius = 0.52 + 0.035 * height + 0.05 * v * v
        return (radius * math.sin(u % 1 * TAU), 0.62 * (1 - v), radius * math.cos(u % 1 * TAU), u, v)

    mesh.grid(120, 30, wall)

    def slab(u, v):
        profile = [(0, 0.70), (0.3, 0.70), (0.55, 0.698), (0.6, 0.685), (0.615, 0.655), (0.6, 0.625), (0.53, 0.61)]
        i = min(int(v * 6), 5)
        (r, y), (s, z) = profile[i], profile[i + 1]
        r, y = r + (s - r) * (v * 6 - i), y + (z - y) * (v * 6 - i)
        bump = 0.012 * (rough(u, v) - 0.5) * (0 < v < 1)
        x, z = r * math.sin(u % 1 * TAU), r * math.cos(u % 1 * TAU)
        return (x, y + bump, z, 0.042 + 0.045 * x, 0.1 + 0.1 * z)  # within one stone of the picture

    mesh.grid(72, 12, slab)
    return mesh


def iron():
    mesh = Mesh()
    mesh.lathe(20, [(0.0, 0.79), (0.05, 0.785), (0.075, 0.76), (0.08, 0.73), (0.12, 0.715), (0.125, 0.69)])
    mesh.tube(lambda v: (-0.12, 0.7 + 1.32 * v), 0.03)
    mesh.tube(lambda v: (-0.12 + 0.31 * (1 - math.cos(v * math.pi)), 2.0 + 0.22 * math.sin(v * math.pi)), 0.024)
    mesh.tube(lambda v: (-0.12 + 0.2 * v, 1.72 + 0.42 * v * v), 0.016)
    mesh.tube(lambda v: (-0.09 - 0.46 * v, 1.86), 0.018)  # carries the banner
    spin = [(0.0, 2.1), (0.028, 2.09), (0.045, 2.06), (0.028, 2.03), (0.0, 2.02)]
    for x, y in ((-0.12, 0.0), (-0.55, -0.2)):
        knob = Mesh()
        knob.lathe(14, spin)
        first = len(mesh.points)
        mesh.points += [(px + x, py + y, pz) for px, py, pz in knob.points]
        mesh.uvs += knob.uvs
        mesh.triangles += [tuple(i + first for i in triangle) for triangle in knob.triangles]
    return mesh


def lantern_frame():
    mesh = Mesh()
    mesh.tube(lambda v: (0.035 * math.sin(v * TAU), -0.035 - 0.035 * math.cos(v * TAU)), 0.008, 8, 20)
    mesh.lathe(24, [(0.0, -0.07), (0.02, -0.07), (0.03, -0.11), (0.07, -0.135), (0.165, -0.19), (0.17, -0.205), (0.15, -0.21), (0.0, -0.21)])
    mesh.lathe(24, [(0.0, -0.555), (0.14, -0.555), (0.165, -0.565), (0.165, -0.59), (0.1, -0.62), (0.03, -0.63), (0.0, -0.65)])
    for i in range(4):
        turn = TAU * (i + 0.5) / 4
        bar = Mesh()
        bar.tube(lambda v: (0.152 + 0.02 * math.sin(v * math.pi), -0.2 - 0.37 * v), 0.009, 8, 10)
        first = len(mesh.points)
        mesh.points += [(x * math.cos(turn) + z * math.sin(turn), y, z * math.cos(turn) - x * math.sin(turn)) for x, y, z in bar.points]
        mesh.uvs += bar.uvs
        mesh.triangles += [tuple(i + first for i in triangle) for triangle in bar.triangles]
    return mesh


def glass():
    mesh = Mesh()
    mesh.lathe(32, [(0.118 + 0.03 * math.sin(math.pi * i / 12), -0.21 - 0.345 * i / 12) for i in range(13)])
    return mesh


def candle():
    mesh = Mesh()
    mesh.lathe(16, [(0.0, -0.44), (0.045, -0.445), (0.05, -0.455), (0.05, -0.555)])
    return mesh


def flame():
    mesh = Mesh()
    mesh.lathe(14, [(0.0, -0.3)] + [(0.03 * math.sin(math.pi * (i / 10) ** 1.6), -0.3 - 0.13 * i / 10) for i in range(1, 10)] + [(0.0, -0.43)])
    return mesh


LENGTH, WIDTH = 0.72, 0.36


def banner():
    mesh = Mesh()

    def at(u, v):
        notch = 0.09 * (1 - abs(2 * u - 1)) * max(0.0, v - 0.75) * 4
        return (WIDTH * (u - 0.5), -LENGTH * v + notch, 0.012 * math.sin(u * TAU * 1.5) * v)

    mesh.grid(12, 36, at)
    for _, y, _ in mesh.points:
        place = min(JOINTS - 1.0, max(0.0, -y / LENGTH * (JOINTS - 1)))
        low = int(place)
        mesh.joints.append((low, low + 1 if place > low else 0, 0, 0))
        mesh.weights.append((1 - (place - low), place - low, 0, 0))
    return mesh


class Document:
    def __init__(self):
        self.data = bytearray()
        self.json = {
            "asset": {"version": "2.0", "generator": "examples/lantern.py of Hob", "copyright": "CC0 1.0"},
            "extensionsUsed": ["KHR_materials_transmission", "KHR_materials_ior", "KHR_materials_emissive_strength", "KHR_lights_punctual"],
            "scene": 0, "scenes": [{"name": "Lantern", "nodes": [0]}], "nodes": [], "meshes": [], "accessors": [], "bufferViews": [],
        }

    def add(self, rows, kind, form="f", target=None):
        flat = [round(value, 6) if form == "f" else value for row in rows for value in row]
        self.data += b"\0" * (-len(self.data) % 4)
        view = {"buffer": 0, "byteOffset": len(self.data), "byteLength": struct.calcsize(f"<{len(flat)}{form}")}
        self.json["bufferViews"].append({**view, **({"target": target} if target else {})})
        self.data += struct.pack(f"<{len(flat)}{form}", *flat)
        accessor = {"bufferView": len(self.json["bufferViews"]) - 1, "componentType": {"f": 5126, "H": 5123, "B": 5121}[form],
                    "count": len(rows), "type": kind}
        if form == "f":
            columns = [struct.unpack(f"<{len(rows)}f", struct.pack(f"<{len(rows)}f", *flat[i::len(rows[0])])) for i in range(len(rows[0]))]
            accessor.update(min=[min(column) for column in columns], max=[max(column) for column in columns])
        self.json["accessors"].append(accessor)
        return len(self.json["accessors"]) - 1

    def mesh(self, name, mesh, material):
        parts = {"POSITION": self.add(mesh.points, "VEC3", target=34962), "NORMAL": self.add(mesh.normals(), "VEC3", target=34962)}
        if "normalTexture" in self.json["materials"][material]:
            parts["TEXCOORD_0"] = self.add(mesh.uvs, "VEC2", target=34962)
        if mesh.joints:
            parts.update(JOINTS_0=self.add(mesh.joints, "VEC4", "B", 34962), WEIGHTS_0=self.add(mesh.weights, "VEC4", target=34962))
        indices = self.add([(i,) for triangle in mesh.triangles for i in triangle], "SCALAR", "H", 34963)
        self.json["meshes"].append({"name": name, "primitives": [{"attributes": parts, "indices": indices, "material": material}]})
        return len(self.json["meshes"]) - 1

    def node(self, name, parent=None, **fields):
        self.json["nodes"].append({"name": name, **fields})
        if parent is not None:
            self.json["nodes"][parent].setdefault("children", []).append(len(self.json["nodes"]) - 1)
        return len(self.json["nodes"]) - 1


def materials():
    def metal(colour, roughness):
        return {"baseColorFactor": [*colour, 1], "metallicFactor": 1, "roughnessFactor": roughness}
    return [
        {"name": "Stone", "pbrMetallicRoughness": {"baseColorTexture": {"index": 0}, "metallicRoughnessTexture": {"index": 2}, "metallicFactor": 0},
         "normalTexture": {"index": 1}, "occlusionTexture": {"index": 2}},
        {"name": "Iron", "pbrMetallicRoughness": metal((0.12, 0.115, 0.11), 0.5)},
        {"name": "Brass", "pbrMetallicRoughness": metal((0.78, 0.56, 0.26), 0.32)},
        {"name": "Glass", "pbrMetallicRoughness": {"baseColorFactor": [0.98, 1, 0.98, 1], "metallicFactor": 0, "roughnessFactor": 0.04},
         "doubleSided": True, "extensions": {"KHR_materials_transmission": {"transmissionFactor": 0.96}, "KHR_materials_ior": {"ior": 1.45}}},
        {"name": "Wax", "pbrMetallicRoughness": {"baseColorFactor": [0.93, 0.88, 0.74, 1], "metallicFactor": 0, "roughnessFactor": 0.6}},
        {"name": "Flame", "pbrMetallicRoughness": {"baseColorFactor": [1, 0.7, 0.3, 1], "metallicFactor": 0, "roughnessFactor": 1},
         "emissiveFactor": [1, 0.62, 0.2], "extensions": {"KHR_materials_emissive_strength": {"emissiveStrength": 4}}},
        {"name": "Cloth", "doubleSided": True, "normalTexture": {"index": 4},
         "pbrMetallicRoughness": {"baseColorTexture": {"index": 3}, "metallicFactor": 0, "roughnessFactor": 0.85}},
    ]


def turned(axis, angle):
    return [math.sin(angle / 2) if i == axis else 0 for i in range(3)] + [math.cos(angle / 2)]


def scene(document):
    out = document.json
    out["materials"] = materials()
    root = document.node("lantern")
    document.node("plinth", root, mesh=document.mesh("Plinth", plinth(), 0))
    document.node("post", root, mesh=document.mesh("Post", iron(), 1))
    hanging = document.node("hanging", root, translation=[0.5, 2.0, 0])
    for name, mesh, material in (("frame", lantern_frame(), 2), ("candle", candle(), 4), ("flame", flame(), 5), ("glass", glass(), 3)):
        document.node(name, hanging, mesh=document.mesh(name.title(), mesh, material))
    out["extensions"] = {"KHR_lights_punctual": {"lights": [{"name": "Flame", "type": "point", "color": [1, 0.62, 0.25], "intensity": 6, "range": 4}]}}
    document.node("light", hanging, translation=[0, -0.36, 0], extensions={"KHR_lights_punctual": {"light": 0}})

    step = LENGTH / (JOINTS - 1)
    joints = [document.node("banner.0", root, translation=[-0.33, 1.845, 0])]
    for i in range(1, JOINTS):
        joints.append(document.node(f"banner.{i}", joints[-1], translation=[0, round(-step, 6), 0]))
    out["scenes"][0]["nodes"].append(document.node("banner", mesh=document.mesh("Banner", banner(), 6), skin=0))
    inverse = [(1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, i * step, 0, 1) for i in range(JOINTS)]
    out["skins"] = [{"name": "Banner", "joints": joints, "skeleton": joints[0], "inverseBindMatrices": document.add(inverse, "MAT4")}]

    times = [SECONDS * i / (KEYS - 1) for i in range(KEYS)]
    clip = {"name": "Wind", "samplers": [], "channels": []}
    out["animations"] = [clip]
    at = document.add([(time,) for time in times], "SCALAR")

    def sways(node, axis, angle):
        clip["samplers"].append({"input": at, "output": document.add([turned(axis, angle(time / SECONDS * TAU)) for time in times], "VEC4")})
        clip["channels"].append({"sampler": len(clip["samplers"]) - 1, "target": {"node": node, "path": "rotation"}})

    for i, joint in enumerate(joints):
        sways(joint, 0, lambda t, i=i: 0.07 * (1 + 0.5 * i) * math.sin(t - 0.8 * i) + 0.05 * math.sin(2 * t - 1.1 * i) - 0.03)
    sways(hanging, 2, lambda t: 0.06 * math.sin(t + 0.6))


def main():
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent / "art"
    folder.mkdir(parents=True, exist_ok=True)
    pictures = {"stone_albedo": picture(stone_colour), "stone_normal": normals_of(lambda u, v: stone(u, v)[0], 2.2),
                "stone_roughness": picture(stone_roughness), "cloth_albedo": picture(cloth_colour),
                "cloth_normal": normals_of(cloth_height, 1.2)}
    for name, rows in pictures.items():
        png(folder / f"lantern_{name}.png", rows)
    document = Document()
    document.json["images"] = [{"uri": f"lantern_{name}.png"} for name in pictures]
    document.json["samplers"] = [{"magFilter": 9729, "minFilter": 9987, "wrapS": 10497, "wrapT": 10497}]
    document.json["textures"] = [{"source": i, "sampler": 0} for i in range(len(pictures))]
    scene(document)
    document.json["buffers"] = [{"uri": "lantern.bin", "byteLength": len(document.data)}]
    (folder / "lantern.bin").write_bytes(document.data)
    (folder / "lantern.gltf").write_text(json.dumps(document.json, indent="\t") + "\n")


if __name__ == "__main__":
    main()
