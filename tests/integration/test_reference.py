"""The reference converter's job: a loader written from the article's text, sharing no code with Hob, reads the result of a scene
list."""
import json
import os
import struct
import subprocess

from hobtest import DEADLINE, HOB, Scenario, main, png, png_pixels

INVALID = 0xFFFFFFFF
MATERIAL = struct.Struct("<4f4f4f3fI6Q")


class Reader:
    def __init__(self, path):
        self.data, self.at = open(path, "rb").read(), 0

    def take(self, form):
        values = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return values if len(values) != 1 else values[0]

    def strings(self):
        texts = []
        for _ in range(self.take("I")):
            size = self.take("I")
            texts.append(self.data[self.at:self.at + size].decode())
            assert self.data[self.at + size] == 0
            self.at += size + 1
        return texts

    def pairs(self):
        size = self.take("I")
        words = self.take(f"{size}I") if size else ()
        return dict(zip(words[::2], words[1::2]))

    def end(self):
        assert self.at == len(self.data), f"{len(self.data) - self.at} bytes are left"


def load_meshes(path):
    r = Reader(path)
    magic, count, start, index_bytes, vertex_bytes = r.take("5I")
    assert magic == 0x12345678 and start == 20 + 116 * count
    meshes = []
    for _ in range(count):
        lods, streams, indices, vertices, vertex_count = r.take("5I")
        meshes.append({"lods": lods, "streams": streams, "first_index": indices, "first_vertex": vertices,
                       "vertices": vertex_count, "lod_offset": r.take("8I"), "stream_offset": r.take("8I"), "stream_size": r.take("8I")})
    boxes = [r.take("6f") for _ in range(count)]
    indices, floats = r.take(f"{index_bytes // 4}I"), r.take(f"{vertex_bytes // 4}f")
    r.end()
    for mesh, box in zip(meshes, boxes):
        mesh["indices"] = indices[mesh["first_index"]:mesh["first_index"] + mesh["lod_offset"][1]]
        mesh["points"] = [floats[8 * (mesh["first_vertex"] + i):8 * (mesh["first_vertex"] + i + 1)] for i in range(mesh["vertices"])]
        corners = [mesh["points"][i][:3] for i in mesh["indices"]]
        for axis in range(3):  # recalculateBoundingBoxes: of the geometry drawn at LOD 0
            assert (min(c[axis] for c in corners), max(c[axis] for c in corners)) == (box[axis], box[axis + 3])
    return meshes


def load_materials(path):
    r = Reader(path)
    materials = []
    for _ in range(r.take("I")):
        v = MATERIAL.unpack_from(r.data, r.at)
        r.at += MATERIAL.size
        materials.append({"emissive": v[0:4], "albedo": v[4:8], "roughness": v[8:12], "transparency": v[12], "alpha_test": v[13],
                          "metallic": v[14], "flags": v[15], "ao": v[16], "emissive_map": v[17], "albedo_map": v[18],
                          "metal_rough_map": v[19], "normal_map": v[20], "opacity_map": v[21]})
    files = r.strings()
    r.end()
    for material in materials:
        for slot in ("ao", "emissive_map", "albedo_map", "metal_rough_map", "normal_map", "opacity_map"):
            assert material[slot] == INVALID or material[slot] < len(files)
    return materials, files


def load_scene(path):
    r = Reader(path)
    count = r.take("I")
    scene = {"local": [r.take("16f") for _ in range(count)], "global": [r.take("16f") for _ in range(count)],
             "hierarchy": [r.take("5i") for _ in range(count)], "materials": r.pairs(), "meshes": r.pairs()}
    names = r.pairs()
    node_names, scene["material_names"] = r.strings(), r.strings()
    r.end()
    scene["names"] = {node: node_names[name] for node, name in names.items()}
    for node, (parent, first, following, _, level) in enumerate(scene["hierarchy"]):
        assert parent < node and level == (scene["hierarchy"][parent][4] + 1 if parent >= 0 else 0)
        assert first in (-1, node + 1) or first > node
        assert following == -1 or scene["hierarchy"][following][0] == parent
    return scene


ROOM = """mtllib room.mtl
o wall
v 0 0 0
v 10 0 0
v 0 10 0
v 10 10 0
vt 0.25 0.75
vt 1 0
vn 0 0 1
usemtl Window_Glass
f 1/1/1 2/2/1 3/1/1
usemtl Vespa_Headlight
f 2/1/1 4/1/1 3/1/1
usemtl Wine_Bottle
f 2/1/1 4/1/1 3/2/1
usemtl Door_Metal
f 2/1/1 4/2/1 3/1/1
usemtl brick
f 1/1/1 4/1/1 3/1/1
"""
MATERIALS = """newmtl Window_Glass
Kd 0.5 0.25 0.125
newmtl Vespa_Headlight
Kd 1 1 1
newmtl Wine_Bottle
Kd 1 1 1
newmtl Door_Metal
Kd 1 1 1
newmtl brick
Kd 1 1 1
Ke 0.5 0 0
map_Kd pictures/grey_30.png
map_d pictures/mask.png
"""


class Reference(Scenario):
    def cook(self, *arguments, code=0):
        done = subprocess.run([HOB, "cook", *map(str, arguments)], capture_output=True, text=True, timeout=DEADLINE, cwd=self.folder)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stderr

    def entry(self, name, **more):
        return {**{f"output_{kind}": f"data/meshes/{name}.{kind.replace('mesh', 'meshes')}" for kind in ("mesh", "scene", "materials")},
                "scale": 0.5, "calculate_LODs": False, "merge_instances": False, **more}

    def write(self, *entries):
        (self.folder / "list.json").write_text(json.dumps(entries))

    def room(self):
        self.put("room.obj", ROOM)
        self.put("room.mtl", MATERIALS)
        self.put("pictures/grey_30.png", png(10, 200, 30, 8))
        self.put("pictures/mask.png", png(128, 128, 128, 8))

    def find(self, files, name):
        """In the folder named by the .materials file, and as seen by a program started in the list's folder."""
        for file in files:
            for place in (self.folder / "data/meshes" / file, self.folder / file):
                self.assertTrue(place.is_file(), f"{name}: {place}")
        return [(self.folder / file).read_bytes() for file in files]

    def test_a_list_becomes_what_the_article_says(self):
        self.room()
        self.write(self.entry("room", input_scene="art/room.obj"))
        self.cook("list.json")
        at = self.folder / "data/meshes"
        meshes, scene = load_meshes(at / "room.meshes"), load_scene(at / "room.scene")
        materials, files = load_materials(at / "room.materials")
        self.assertEqual(len(meshes), 5)
        self.assertEqual({tuple(mesh["stream_size"]) for mesh in meshes}, {(32, 0, 0, 0, 0, 0, 0, 0)})
        for mesh in meshes:
            self.assertEqual((mesh["lods"], mesh["streams"], len(mesh["indices"])), (1, 1, 3))
            self.assertEqual(mesh["stream_offset"][0], 32 * mesh["first_vertex"])
        points = {point[:3]: point[3:] for point in meshes[0]["points"]}
        self.assertEqual(points, {(0, 0, 0): (0.25, 0.25, 0, 0, 1), (5, 0, 0): (1, 1, 0, 0, 1), (0, 5, 0): (0.25, 0.25, 0, 0, 1)})
        self.assertEqual(len(materials), 5)
        by_name = dict(zip(scene["material_names"], materials))
        rounded = {name: (round(m["alpha_test"], 3), round(m["transparency"], 3), m["flags"]) for name, m in by_name.items()}
        self.assertEqual(rounded["Window_Glass"], (0.75, 0.1, 7))
        self.assertEqual(rounded["Vespa_Headlight"], (0.75, 0.1, 7))
        self.assertEqual(rounded["Wine_Bottle"], (0.54, 0.4, 7))
        metal = by_name["Door_Metal"]
        self.assertEqual((metal["metallic"], [round(v, 3) for v in metal["roughness"]]), (1, [0.1, 0.1, 0, 0]))
        self.assertEqual(by_name["Window_Glass"]["albedo"][:3], (0.5, 0.25, 0.125))
        self.assertEqual(by_name["brick"]["emissive"], (0.5, 0, 0, 1))
        self.assertEqual(rounded["brick"][2], 7)  # grey_30
        self.assertEqual((by_name["brick"]["opacity_map"], len(files)), (INVALID, 1))
        picture = self.find(files, "room")[by_name["brick"]["albedo_map"]]
        self.assertEqual(png_pixels(picture)[:4], bytes((10, 200, 30, 128)))
        for node, mesh in scene["meshes"].items():
            parent = scene["hierarchy"][node][0]
            siblings = [n for n in scene["meshes"] if scene["hierarchy"][n][0] == parent]
            self.assertEqual(scene["names"][node], f"{scene['names'][parent]}_Mesh_{siblings.index(node)}")
            self.assertEqual(scene["local"][node], (1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1))
        self.assertEqual(sorted(scene["meshes"].values()), [0, 1, 2, 3, 4])
        self.assertEqual(sorted(scene["materials"]), sorted(scene["meshes"]))

    def test_name_rules_are_a_list_s_own(self):
        self.room()
        self.write(self.entry("a", input_scene="art/room.obj", name_rules=False))
        self.cook("list.json", "art", "-o", "out", "--classic", "--settings", '{"texture": {"encoding": "png"}}')
        for path in ("data/meshes/a.materials", "out/room.obj.classic.materials"):
            self.assertEqual({m["flags"] for m in load_materials(self.folder / path)[0][:4]}, {3}, path)
        for file in load_materials(self.folder / "out/room.obj.classic.materials")[1]:
            self.assertTrue((self.folder / "out" / file).is_file(), file)

    def test_merges_of_a_list(self):
        self.room()
        self.put("deep/other.obj", "mtllib other.mtl\no box\nusemtl brick\nv 4 0 0\nv 5 0 0\nv 4 1 0\nf 1 2 3\n")
        self.put("deep/other.mtl", "newmtl brick\nKd 0 1 0\nmap_Kd ../pictures/mask.png\n")
        self.write(self.entry("room", input_scene="art/room.obj"), self.entry("other", input_scene="art/deep/other.obj", scale=2),
                   self.entry("all", merge=["data/meshes/room.scene", "data/meshes/other.scene",
                                            {"file": "art/deep/other.obj", "scale": 3}], scale=1, merge_materials=True))
        self.cook("list.json")
        at = self.folder / "data/meshes"
        meshes = load_meshes(at / "all.meshes")
        load_scene(at / "all.scene")
        self.find(load_materials(at / "all.materials")[1], "all")
        widest = max(point[0] for mesh in meshes for point in mesh["points"])
        self.assertEqual(widest, 15)  # 5 at scale 3
        self.assertIn(10, {point[0] for mesh in meshes for point in mesh["points"]})  # the entry's own scale, 2
        self.assertEqual(len({point[:3] for mesh in meshes for point in mesh["points"]}), 4 + 6)

    def test_lists_that_are_wrong_say_so(self):
        self.room()
        for text, words in (("[]", "the scene list is empty"), ('[{"merge": []}]', "'merge' must be a list"),
                            ('[{"merge": ["a"], "input_scene": "b"}]', "one of the two"), ("[{}]", "'input_scene' is missing"),
                            ('[{"merge": [{"file": "a", "scale": 0}]}]', "'merge' must be a list"),
                            ('[{"input_scene": "a", "name_rules": 3}]', "true or false")):
            (self.folder / "list.json").write_text(text)
            self.assertIn(words, self.cook("list.json", code=2))
        self.write(self.entry("all", merge=["art/gone.obj"]))
        self.assertIn("'art/gone.obj' cannot be opened", self.cook("list.json", code=1))

    def test_pictures_of_a_classic_file_are_urls_beside_it(self):
        self.room()
        self.put("cook.json", '{"texture": {"encoding": "png"}}')
        with self.serve() as daemon:
            daemon.sync()
            path = self.folder / "served.materials"
            path.write_bytes(daemon.blob("art/room.obj", "classic.materials"))
            materials, files = load_materials(path)
            self.assertEqual(len(files), 1)
            picture = daemon.get(f"/a/art/{files[0]}")
            self.assertEqual(picture.status, 200)
            self.assertEqual(png_pixels(picture.body)[:4], bytes((10, 200, 30, 128)))
            self.assertEqual(daemon.get("/a/art/deep/out_textures/" + "0" * 64 + ".png").status, 404)
            self.assertEqual(daemon.get("/a/art/out_textures/short.png").status, 404)

    def test_healed_names_warn_and_may_fail(self):
        self.room()
        for name, text in (("case", "map_Kd pictures/GREY_30.png"), ("back", "map_Kd pictures\\grey_30.png"),
                           ("absolute", "map_Kd /elsewhere/grey_30.png"), ("plain", "map_Kd pictures/grey_30.png"),
                           ("form", "map_Kd pictures/caf\u00e9.png"), ("letter", "map_Kd pictures/CAF\u00c9.png")):
            self.put(f"{name}.obj", f"mtllib {name}.mtl\nusemtl m\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
            self.put(f"{name}.mtl", f"newmtl m\nKd 1 1 1\n{text}\n")
        self.put("grey_30.png", png(1, 2, 3))
        self.put("pictures/cafe\u0301.png", png(3, 2, 1))  # in macOS's spelling
        self.cook("art", "-o", "out", "--report", "report.json")
        assets = {a["path"]: [n["code"] for n in a["notes"] if n["level"] == "warning" and n["code"].startswith("texture.")] for a in
                  json.loads((self.folder / "report.json").read_text())["assets"]}
        self.assertEqual({name for name, codes in assets.items() if codes},
                         {f"{name}.obj" for name in ("case", "back", "absolute", "form", "letter")})
        self.assertEqual((assets["form.obj"], assets["letter.obj"]), (["texture.path-guessed"],) * 2)
        said = self.cook("art", "--check", "--settings", '{"portability": "fail"}', code=4)
        self.assertIn("2 cooked, 5 failed", said)
        self.assertIn("(portability: fail)", said)
        self.assertIn("pictures/grey_30.png", said)

    def test_units_of_a_list_are_the_source_s(self):
        triangle = "".join(f"<vertex><coordinates><x>{x}</x><y>{y}</y><z>0</z></coordinates></vertex>" for x, y in ((0, 0), (400, 0), (0, 400)))
        self.put("part.amf", f'<?xml version="1.0"?><amf unit="millimeter"><object id="0"><mesh><vertices>{triangle}</vertices><volume>'
                             "<triangle><v1>0</v1><v2>1</v2><v3>2</v3></triangle></volume></mesh></object></amf>")
        self.write(self.entry("part", input_scene="art/part.amf", scale=1), self.entry("both", merge=["art/part.amf"], scale=1))
        self.cook("list.json", "art", "-o", "out", "--classic", "--report", "report.json")
        sizes = {path: max(max(point[:3]) for mesh in load_meshes(self.folder / path) for point in mesh["points"])
                 for path in ("data/meshes/part.meshes", "data/meshes/both.meshes", "out/part.amf.classic.meshes")}
        self.assertEqual(sizes["data/meshes/part.meshes"], 400)
        self.assertEqual(sizes["data/meshes/both.meshes"], 400)
        self.assertAlmostEqual(sizes["out/part.amf.classic.meshes"], 0.4, places=6)
        notes = [note for asset in json.loads((self.folder / "report.json").read_text())["assets"] for note in asset["notes"]]
        self.assertIn("times 0.001", " ".join(note["text"] for note in notes if note["code"] == "import.units"))


if __name__ == "__main__":
    main()
