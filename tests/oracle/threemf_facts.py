"""Compares Hob's import of 3MF files with an evaluator written after the specification. See README.md.

usage: threemf_facts.py MODEL_DUMP FILE-OR-FOLDER...      ("corpus:" stands for the model corpus)

Compared: every built triangle (corners in metres with Y up, their colours, name and colour of its material). Packages with
features that the corpus lacks are written first: nested mirrored components in parts of other units, defaults of objects beside
properties of triangles, composites, and three kinds of odd text."""
import itertools
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import urllib.parse
import xml.etree.ElementTree as ET
import zipfile

UNITS = {"micron": 1e-6, "millimeter": 1e-3, "centimeter": 1e-2, "inch": 0.0254, "foot": 0.3048, "meter": 1}
PRODUCTION = "{http://schemas.microsoft.com/3dmanufacturing/production/2015/06}path"


# ---- the evaluator

def local(element):
    return element.tag.rsplit("}", 1)[-1]


def linear(c):
    return c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4


def color_of(text):
    text = text.strip().lstrip("#")
    rgb = [linear(int(text[i:i + 2], 16) / 255) for i in (0, 2, 4)]
    return rgb + [int(text[6:8], 16) / 255 if len(text) == 8 else 1.0]


def times(a, b):
    """The product of 4 x 3 matrices for row vectors: applies a, then b."""
    return [[sum(a[r][k] * b[k][c] for k in range(3)) + (b[3][c] if r == 3 else 0) for c in range(3)] for r in range(4)]


def matrix_of(text, unit):
    n = [float(x) for x in text.split()] if text else [1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0]
    return [n[0:3], n[3:6], n[6:9], [x * unit for x in n[9:12]]]


class Package:
    def __init__(self, path):
        self.zip = zipfile.ZipFile(path)
        self.parts = {}
        self.triangles = []
        rels = ET.fromstring(self.zip.read("_rels/.rels"))
        self.start = next(r.get("Target") for r in rels if r.get("Type", "").lower().endswith("/3dmodel"))
        root = self.part(self.start)
        for item in root.iter():
            if local(item) == "item":
                self.place(self.start, item, [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]])

    def part(self, name):
        name = name.lstrip("/")
        if name not in self.parts:
            names = self.zip.namelist()
            self.parts[name] = ET.fromstring(self.zip.read(name if name in names else urllib.parse.unquote(name)))
        return self.parts[name]

    def resource(self, part, number):
        for resources in self.part(part):
            if local(resources) == "resources":
                for e in resources:
                    if e.get("id") == number:
                        return e
        return None

    def unit(self, part):
        return UNITS[self.part(part).get("unit", "millimeter")]

    def place(self, part, use, above):
        """Adds the triangles of the object that `use`, an item or component, refers to; `above` is the parent's transform."""
        m = times(matrix_of(use.get("transform"), self.unit(part)), above)
        target = use.get(PRODUCTION) or part
        thing = self.resource(target, use.get("objectid"))
        for e in thing:
            if local(e) == "components":
                for component in e:
                    self.place(target, component, m)
            elif local(e) == "mesh":
                self.mesh(target, thing, e, m)

    def mesh(self, part, thing, mesh, m):
        unit = self.unit(part)
        points, triangles = [], []
        for e in mesh:
            if local(e) == "vertices":
                points = [[float(v.get(a)) * unit for a in "xyz"] for v in e]
            elif local(e) == "triangles":
                triangles = list(e)
        world = [[sum(p[k] * m[k][c] for k in range(3)) + m[3][c] for c in range(3)] for p in points]
        for t in triangles:
            corners = [world[int(t.get(v))] for v in ("v1", "v2", "v3")]
            group, first = t.get("pid") or thing.get("pid"), t.get("p1") if t.get("p1") is not None else thing.get("pindex")
            picks = [first, t.get("p2") or first, t.get("p3") or first] if t.get("p1") is not None else [first] * 3
            self.triangles.append(([[x, z, -y] for x, y, z in corners], self.look(part, group, picks)))

    def look(self, part, group, picks):
        """The colours of three corners and the name of the material."""
        properties = self.resource(part, group) if group is not None else None
        if properties is None or picks[0] is None:
            return None
        items = list(properties)
        if any(int(p) >= len(items) for p in picks):  # the file's property is wrong; its triangles are still used
            return None
        if local(properties) == "basematerials":
            base = items[int(picks[0])]
            return [color_of(base.get("displaycolor"))] * 3, base.get("name", "")
        if local(properties) == "colorgroup":
            return [color_of(items[int(p)].get("color")) for p in picks], None
        if local(properties) == "compositematerials":
            bases = list(self.resource(part, properties.get("matid")))
            shares = [float(x) for x in items[int(picks[0])].get("values").split()]
            colors = [color_of(bases[int(i)].get("displaycolor")) for i in properties.get("matindices").split()]
            mixed = [sum(s * c[k] for s, c in zip(shares, colors)) / sum(shares) for k in range(4)]
            return [mixed] * 3, None
        return None


# ---- both

def ours_of(dump, path):
    r = subprocess.run([dump, "--draws", path], capture_output=True, text=True, check=True, env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"})
    made = json.loads(r.stdout)
    if not made["ok"]:
        return None, made["error"]
    triangles = []
    for d in made["draws"]:
        material = made["materials"][d["material"]] if d["material"] >= 0 else None
        for i in range(0, len(d["at"]) // 3, 3):
            corners = [d["at"][(i + k) * 3:(i + k) * 3 + 3] for k in range(3)]
            colors = [d["color"][(i + k) * 4:(i + k) * 4 + 4] for k in range(3)] if d["color"] else [material["base"]] * 3 if material else None
            triangles.append((corners, (colors, material["name"]) if material else None))
    return triangles, None


def rotations(triangle):
    corners, look = triangle
    for k in range(3):
        order = [(k + i) % 3 for i in range(3)]
        yield [corners[i] for i in order], (([look[0][i] for i in order], look[1]) if look and look[0] else None)


def cell_of(corners, size):
    return tuple(math.floor(sum(p[i] for p in corners) / 3 / size * 1000) for i in range(3))


def same(a, b, size):
    if any(abs(x - y) > 1e-5 * size for p, q in zip(a[0], b[0]) for x, y in zip(p, q)):
        return "another place"
    if (a[1] is None) != (b[1] is None):
        return f"{a[1]} is not {b[1]}"
    if a[1] and any(abs(x - y) > 1e-4 for p, q in zip(a[1][0], b[1][0]) for x, y in zip(p, q)):
        return f"colours {a[1][0]}, theirs are {b[1][0]}"
    if a[1] and b[1][1] is not None and a[1][1] != b[1][1]:
        return f"material {a[1][1]}, theirs is {b[1][1]}"
    return None


def compare(dump, path):
    theirs = Package(path).triangles
    ours, error = ours_of(dump, path)
    if error:
        return len(theirs), f"Hob: {error}"
    if len(ours) != len(theirs):
        return len(theirs), f"{len(ours)} triangles, theirs are {len(theirs)}"
    size = max(1e-9, max(abs(x) for corners, _ in theirs for p in corners for x in p))
    cells = {}
    for t in theirs:
        cells.setdefault(cell_of(t[0], size), []).append((t[0], t[1]))
    for t in ours:
        x, y, z = cell_of(t[0], size)
        reason = "a triangle that they have not"
        for cell in itertools.product((x, x - 1, x + 1), (y, y - 1, y + 1), (z, z - 1, z + 1)):
            for other in cells.get(cell, []):
                found = [same(turned, other, size) for turned in rotations(t)]
                if None in found:
                    cells[cell].remove(other)
                    break
                reason = next((r for r in found if r != "another place"), reason)
            else:
                continue
            break
        else:
            return len(theirs), reason
    return len(theirs), None


# ---- packages of our own

SPACES = ('xmlns="http://schemas.microsoft.com/3dmanufacturing/core/2015/02" xmlns:m="http://schemas.microsoft.com/3dmanufacturing/'
          'material/2015/02" xmlns:p="http://schemas.microsoft.com/3dmanufacturing/production/2015/06"')
RELATIONS = ('<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Target="{}" Id="r" '
             'Type="http://schemas.microsoft.com/3dmanufacturing/2013/01/3dmodel"/></Relationships>')
POINTS = [(0, 0, 0), (3, 0, 0), (0, 2, 0), (0, 0, 1)]
FACES = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]


def model(unit, resources, build=""):
    return f'<?xml version="1.0" encoding="UTF-8"?><model {SPACES} unit="{unit}"><resources>{resources}</resources><build>{build}</build></model>'


def solid(number, attributes="", looks=("",) * 4, points=POINTS):
    vertices = "".join(f'<vertex x="{x}" y="{y}" z="{z}"/>' for x, y, z in points)
    triangles = "".join(f'<triangle v1="{a}" v2="{b}" v3="{c}" {look}/>' for (a, b, c), look in zip(FACES, looks))
    return f'<object id="{number}" {attributes}><mesh><vertices>{vertices}</vertices><triangles>{triangles}</triangles></mesh></object>'


BASES = '<basematerials id="10"><base name="one" displaycolor="#102030"/><base name="two" displaycolor="#FF8000C0"/></basematerials>'
COLORS = '<m:colorgroup id="11"><m:color color="#FF0000"/><m:color color="#00FF00"/><m:color color="#0000FF80"/></m:colorgroup>'
TURN = "0 1 0 -1 0 0 0 0 1 4 5 6"
MIRROR = "-1 0 0 0 1 0 0 0 1 7 0 0"
SHEAR = "1 0.5 0 0 2 0 0.25 0 1 1 1 1"


def nest(depth):
    inner = solid(1)
    for i in range(2, depth + 2):
        inner += (f'<object id="{i}"><components><component objectid="{i - 1}" transform="{MIRROR}"/>'
                  f'<component objectid="{i - 1}" transform="{TURN}"/></components></object>')
    return inner


def made():
    first = "3D/3dmodel.model"
    item = '<item objectid="{}"/>'
    packages = {
        "nested": {first: model("millimeter", nest(5), f'<item objectid="6" transform="{SHEAR}"/>' + item.format(6))},
        "defaults": {first: model("inch", BASES + COLORS + solid(1, 'pid="10" pindex="1"', ("", 'p1="0"', 'pid="11" p1="0" p2="1" p3="2"', 'pid="11" p1="2"')), item.format(1))},
        "composite": {first: model("meter", BASES + '<m:compositematerials id="12" matid="10" matindices="0 1"><m:composite values="0.25 0.75"/></m:compositematerials>'
                                  + solid(1, 'pid="12" pindex="0"'), item.format(1))},
        "units": {first: model("foot", f'<object id="1"><components><component objectid="3" p:path="/3D/Objects/small one.model" transform="{TURN}"/></components></object>', item.format(1)),
                  "3D/Objects/small one.model": model("micron", BASES + solid(3, 'pid="10" pindex="0" name="part"'))},
        "escaped": {first: model("millimeter", "", '<item objectid="3" p:path="/3D/my%20part.model"/>'), "3D/my part.model": model("centimeter", solid(3))},
        "prefixed": {first: model("millimeter", solid(1), item.format(1)).replace("xmlns=", "xmlns:c=").replace("<", "<c:").replace("<c:/", "</c:").replace("<c:?", "<?")},
        "unused": {first: model("millimeter", solid(1) + solid(2) + BASES, item.format(2) + item.format(2).replace("/>", f' transform="{MIRROR}"/>'))},
        "numbers": {first: model("millimeter", solid(1, points=[("0", "-0", "+0.0"), ("3e0", "0", "0"), (".0", "2.", "0"), (" 0 ", "0", "1E+0")]), item.format(1))},
        "utf16": {first: model("millimeter", solid(1, 'name="ä日"'), item.format(1)).replace("UTF-8", "UTF-16").encode("utf-16")},
        "bom": {first: b"\xef\xbb\xbf" + model("millimeter", "<!-- x --><?y z?>" + solid(1), item.format(1)).encode()},
    }
    with tempfile.TemporaryDirectory() as folder:
        for name, parts in packages.items():
            path = os.path.join(folder, f"{name}.3mf")
            with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as z:
                z.writestr("_rels/.rels", RELATIONS.format("/" + first))
                for part, text in parts.items():
                    z.writestr(part, text)
            yield name, path


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    corpus = pathlib.Path(os.environ.get("HOB_CORPUS", root.parent / "shared" / "corpus"))
    count = bad = 0

    def check(name, path):
        nonlocal count, bad
        triangles, wrong = compare(sys.argv[1], path)
        count, bad = count + 1, bad + (wrong is not None)
        print(f"{name}: {triangles} triangles, {wrong or 'same'}")

    for name, path in made():
        check(name, path)
    for word in sys.argv[2:]:
        path = pathlib.Path(word.replace("corpus:", f"{corpus}/"))
        for file in sorted(path.rglob("*.3mf")) if path.is_dir() else [path] if path.exists() else []:
            check(file.name, str(file))
    print(f"{count} files, {bad} differ")
    sys.exit(bad > 0)


main()
