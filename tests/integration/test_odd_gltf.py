"""Unusual glTF files of real exporters: cooked, exported again as GLB, and checked independently."""
import base64
import json
import math
import struct
import subprocess
import zlib

from hobtest import DEADLINE, HOB, Scenario, main

POSITIONS = struct.pack("<12f", 0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 1, 0)
NORMALS = struct.pack("<12f", *[0, 0, 1] * 4)
UVS = struct.pack("<8f", 0, 1, 1, 1, 0, 0, 1, 0)
UVS_2 = struct.pack("<8f", 1, 0, 1, 1, 0, 0, 0, 1)  # u and v swapped: (1 - y, x)
INDICES = struct.pack("<6H", 0, 1, 2, 2, 1, 3)
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "4d" * 32 + "\nsize 12345678\n"


def data_uri(data, kind="application/octet-stream"):
    return f"data:{kind};base64," + base64.b64encode(data).decode()


def png(pixels, width):
    """Grey pixels."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + bytes(pixels[at:at + width]) for at in range(0, len(pixels), width))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, len(pixels) // width, 8, 0, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def quad(material=None, buffer=None, **more):
    data = POSITIONS + NORMALS + UVS + UVS_2 + INDICES
    views, at = [], 0
    for part in (POSITIONS, NORMALS, UVS, UVS_2, INDICES):
        views.append({"buffer": 0, "byteOffset": at, "byteLength": len(part)})
        at += len(part)
    accessors = [{"bufferView": i, "componentType": 5126, "count": 4, "type": kind} for i, kind in
                 enumerate(("VEC3", "VEC3", "VEC2", "VEC2"))]
    accessors[0] |= {"min": [0, 0, 0], "max": [1, 1, 0]}
    accessors.append({"bufferView": 4, "componentType": 5123, "count": 6, "type": "SCALAR"})
    primitive = {"attributes": {"POSITION": 0, "NORMAL": 1, "TEXCOORD_0": 2, "TEXCOORD_1": 3}, "indices": 4}
    document = {"asset": {"version": "2.0"}, "buffers": [buffer or {"byteLength": len(data), "uri": data_uri(data)}],
                "bufferViews": views, "accessors": accessors, "meshes": [{"primitives": [primitive]}],
                "nodes": [{"mesh": 0}], "scenes": [{"nodes": [0]}], "scene": 0}
    if material is not None:
        primitive["material"] = 0
        document |= {"materials": [material], "textures": [{"source": 0}], "images": [{"uri": data_uri(png([128] * 64, 8), "image/png")}]}
    return document | more


def glb(path):
    data = path.read_bytes()
    size = struct.unpack("<I", data[12:16])[0]
    return json.loads(data[20:20 + size]), data[28 + size:]


def floats(document, data, accessor):
    a = document["accessors"][accessor]
    view = document["bufferViews"][a["bufferView"]]
    width = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4}[a["type"]]
    letter, most = {5126: ("f", 1), 5120: ("b", 127), 5122: ("h", 32767), 5121: ("B", 255), 5123: ("H", 65535)}[a["componentType"]]
    step = view.get("byteStride", struct.calcsize(letter) * width)
    at = view.get("byteOffset", 0) + a.get("byteOffset", 0)
    return [[v / most if a.get("normalized") else v for v in struct.unpack_from(f"<{width}{letter}", data, at + i * step)]
            for i in range(a["count"])]


class Files(Scenario):
    def put_json(self, name, document):
        self.put(name, json.dumps(document))

    def cook(self, code=0, **settings):
        report = self.folder / "report.json"
        done = subprocess.run([HOB, "cook", self.art, "-o", self.folder / "out", "--quiet", "--report", report, "--settings",
                               json.dumps(settings)], capture_output=True, text=True, timeout=DEADLINE)
        self.assertEqual(done.returncode, code, done.stderr)
        return {item["path"]: item for item in json.loads(report.read_text())["assets"]}

    def export(self, name):
        out = self.folder / "export.glb"
        subprocess.run([HOB, "export", self.art / name, "-o", out], check=True, capture_output=True, timeout=DEADLINE)
        return glb(out)

    def notes(self, item):
        return {note["code"] for note in item.get("notes", [])}


class Odd(Files):
    def test_tangents_follow_the_normal_textures_coordinates(self):
        def normal(transform=None, slot=None, **more):
            info = {"index": 0} | more
            if transform:
                info["extensions"] = {"KHR_texture_transform": transform}
            return {"normalTexture": info} if slot is None else {"extensions": {"KHR_materials_clearcoat": {"clearcoatFactor": 1, "clearcoatNormalTexture": info}}}

        half = math.pi / 2
        cases = {
            "plain": (normal(), (1, 0, 0, 1)),
            "turned": (normal({"rotation": half}), (0, -1, 0, 1)),
            "mirrored": (normal({"scale": [-1, 1]}), (-1, 0, 0, -1)),
            "moved": (normal({"offset": [0.5, 0.25], "scale": [3, 3]}), (1, 0, 0, 1)),
            "second": (normal(texCoord=1), (0, -1, 0, -1)),
            "second_by_transform": (normal({"texCoord": 1}), (0, -1, 0, -1)),
            "coat": (normal({"rotation": half}, "coat"), (0, -1, 0, 1)),
        }
        for name, (material, _) in cases.items():
            self.put_json(name + ".gltf", quad(material))
        both = normal() | normal({"rotation": half}, "coat")
        self.put_json("both.gltf", quad(both))
        # The same quad with two materials in one file must not share its tangents.
        pair = quad(normal())
        pair["materials"].append(normal({"rotation": half}))
        pair["meshes"].append({"primitives": [pair["meshes"][0]["primitives"][0] | {"material": 1}]})
        pair["nodes"].append({"mesh": 1})
        pair["scenes"][0]["nodes"] = [0, 1]
        self.put_json("pair.gltf", pair)
        items = self.cook()
        for name, (_, wanted) in cases.items():
            with self.subTest(name):
                document, data = self.export(name + ".gltf")
                for tangent in floats(document, data, document["meshes"][0]["primitives"][0]["attributes"]["TANGENT"]):
                    for a, b in zip(tangent, wanted):
                        self.assertAlmostEqual(a, b, delta=0.01)
                self.assertEqual(self.notes(items[name + ".gltf"]), set())
        self.assertIn("material.two-tangents", self.notes(items["both.gltf"]))
        document, data = self.export("pair.gltf")
        found = {tuple(round(v) for v in floats(document, data, primitive["attributes"]["TANGENT"])[0])
                 for mesh in document["meshes"] for primitive in mesh["primitives"]}
        self.assertEqual(found, {(1, 0, 0, 1), (0, -1, 0, 1)})

    def test_names_with_a_lone_percent_are_read(self):
        self.put("my tex/50%.png", png([77] * 64, 8))
        self.put("a%20b.png", png([78] * 64, 8))
        for name, uri in (("lone", "my%20tex/50%.png"), ("literal", "a%20b.png")):
            self.put_json(name + ".gltf", quad({"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}}, images=[{"uri": uri}]))
        data = POSITIONS + NORMALS + UVS + UVS_2 + INDICES
        for name, uri in (("sale 10%.bin", "sale 10%.bin"), ("100% a%2.bin", "100%25 a%2.bin")):
            self.put(name, data)
            self.put_json(name + ".gltf", quad(buffer={"byteLength": len(data), "uri": uri}))
        for name, item in self.cook().items():
            self.assertEqual((item["state"], item.get("notes", [])), ("cooked", []), name)

    def test_an_avatar_is_a_glb(self):
        text = json.dumps(quad()).encode()
        text += b" " * (-len(text) % 4)
        self.put("a.vrm", struct.pack("<4sIIII", b"glTF", 2, 20 + len(text), len(text), 0x4E4F534A) + text)
        self.assertEqual(self.cook()["a.vrm"]["triangles"], 2)

    def test_a_primitive_without_its_sisters_morph_targets_stands_still(self):
        document = quad()
        primitive = document["meshes"][0]["primitives"][0]
        document["meshes"][0] = {"primitives": [primitive | {"targets": [{"POSITION": 1}]}, primitive], "weights": [0.5]}
        self.put_json("avatar.gltf", document)
        item = self.cook()["avatar.gltf"]
        self.assertEqual((item["state"], self.notes(item)), ("cooked", {"gltf.morph-missing"}))
        document, _ = self.export("avatar.gltf")
        stored = [[document["accessors"][target["POSITION"]] for target in primitive["targets"] if "POSITION" in target]
                  for mesh in document["meshes"] for primitive in mesh["primitives"]]
        moved = [any("bufferView" in accessor or "sparse" in accessor for accessor in targets) for targets in stored]
        self.assertEqual(sorted(moved), [False, True])

    def test_git_lfs_pointers_are_named_whatever_the_format(self):
        names = [f"m.{kind}" for kind in "gltf glb obj fbx stl ply dae off 3mf usda usdz x3d amf md2 iqm lwo merge".split()]
        for name in names:
            self.put(name, POINTER)
        self.put("short.bin", POINTER)
        self.put("buffer.gltf", json.dumps(quad(buffer={"byteLength": 120, "uri": "short.bin"})))
        self.put("picture.png", POINTER)
        self.put_json("picture.gltf", quad({"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}}, images=[{"uri": "picture.png"}]))
        self.put("named.obj", "mtllib lib.mtl\nusemtl a\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
        self.put("lib.mtl", POINTER)
        items = self.cook(code=1)
        for name in names + ["buffer.gltf"]:
            self.assertEqual(items[name]["state"], "failed", name)
            self.assertIn("is a Git LFS pointer, not the file itself; run 'git lfs pull'", items[name]["error"]["message"], name)
            self.assertEqual(items[name]["error"]["code"], "import.lfs-pointer", name)
        for name, code in (("picture.gltf", "texture.unreadable"), ("named.obj", "obj.mtllib-pointer")):
            note = next(note for note in items[name]["notes"] if note["code"] == code)
            self.assertIn("run 'git lfs pull'", note["text"])

    def test_an_opacity_map_cuts_out_only_where_it_is_two_valued(self):
        maps = {"glass": [77] * 64, "ramp": list(range(0, 256, 4)), "cut": [0, 255] * 32, "one_between": [0, 255] * 31 + [0, 128]}
        for name, pixels in maps.items():
            self.put(name + ".png", png(pixels, 8))
            self.put(name + ".mtl", f"newmtl m\nKd 1 1 1\nmap_d {name}.png\n")
            self.put(name + ".obj", f"mtllib {name}.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 0 1\nusemtl m\nf 1/1 2/2 3/3\n")
        self.cook()
        for name in maps:
            document, _ = self.export(name + ".obj")
            self.assertEqual(document["materials"][0]["alphaMode"], "MASK" if name == "cut" else "BLEND", name)


class Draft(Files):
    """glTF 2.1, branch draft-2.1 of KhronosGroup/glTF at 4852109a."""

    def scene(self, nodes, files, external=None, **more):
        return {"asset": {"version": "2.1", "minVersion": "2.1"}, "scenes": [{"nodes": [0]}], "scene": 0, "nodes": nodes,
                "files": [{"mimeType": "model/gltf+json"} | file for file in files],
                "externalAssets": [{"file": i} for i in range(len(files))] if external is None else external} | more

    def test_nodes_show_other_files(self):
        self.put_json("parts/chair.gltf", quad(nodes=[{"mesh": 0, "name": "seat", "translation": [0, 0, 5]}]))
        self.put_json("room.gltf", self.scene(
            [{"uid": "root", "children": [1, 2, 3]}, {"translation": [2, 0, 0], "externalAsset": 0, "boundingVolume": {"shape": 0}},
             {"externalAsset": 0, "children": [4], "scale": [2, 2, 2]}, {"name": "last"}, {"name": "own"}],
            [{"uri": "parts/chair.gltf"}], shapes=[{"type": "sphere", "sphere": {"radius": 1}}]))
        self.put_json("house.gltf", self.scene([{"externalAsset": 0, "translation": [0, 7, 0]}], [{"uri": "room.gltf"}]))
        self.put_json("parts/table.gltf", quad())
        self.put_json("two.gltf", self.scene([{"children": [1, 2]}, {"externalAsset": 0}, {"externalAsset": 1}],
                                             [{"uri": "parts/chair.gltf"}, {"uri": "parts/table.gltf"}]))
        items = self.cook()
        self.assertEqual(self.notes(items["two.gltf"]), {"gltf.draft"})
        self.assertEqual(items["room.gltf"]["triangles"], 4)
        self.assertEqual(items["house.gltf"]["triangles"], 4)
        self.assertEqual(self.notes(items["room.gltf"]), {"gltf.draft", "gltf.bounding-volumes"})
        document, _ = self.export("room.gltf")
        nodes = document["nodes"]
        tree = {node.get("name"): [nodes[child].get("name") for child in node.get("children", [])] for node in nodes if node.get("children")}
        root = next(node for node in nodes if node.get("name") == "root")
        first, second, last = (nodes[child] for child in root["children"])
        self.assertEqual([nodes[child].get("name") for child in first["children"]], ["seat"])
        self.assertEqual([nodes[child].get("name") for child in second["children"]], ["own", "seat"], tree)
        self.assertEqual((last["name"], first["translation"]), ("last", [2, 0, 0]))
        self.assertEqual(document["scenes"][0]["nodes"], [nodes.index(root)])

    def test_a_part_is_a_dependency(self):
        self.put_json("part.gltf", quad())
        self.put_json("all.gltf", self.scene([{"externalAsset": 0}], [{"uri": "part.gltf"}]))
        daemon = self.serve()
        self.addCleanup(daemon.stop)
        daemon.wait_asset("art/all.gltf", "fresh")
        self.put("part.gltf", "{")
        daemon.sync()
        self.assertIn("gltf.external-missing", json.dumps(daemon.get("/a/art/all.gltf?output=report").json()))

    def test_files_inside_a_file_and_aliases(self):
        data = POSITIONS + NORMALS + UVS + UVS_2 + INDICES
        inner = json.dumps(quad(buffer={"byteLength": len(data), "uri": "renamed.bin"})).encode()
        self.put("real.bin", data)
        self.put_json("uri.gltf", self.scene([{"externalAsset": 0}], [{"uri": data_uri(inner, "model/gltf+json"),
                                                                       "aliases": [{"alias": "renamed.bin", "file": 1}]},
                                                                      {"uri": "real.bin"}], external=[{"file": 0}]))
        self.put_json("view.gltf", self.scene([{"externalAsset": 0}], [
            {"bufferView": 0, "aliases": [{"alias": "renamed.bin", "file": 1}]}, {"bufferView": 1}], external=[{"file": 0}],
            buffers=[{"byteLength": len(inner) + len(data), "uri": data_uri(inner + data)}],
            bufferViews=[{"buffer": 0, "byteLength": len(inner)}, {"buffer": 0, "byteOffset": len(inner), "byteLength": len(data)}]))
        items = self.cook()
        self.assertEqual({name: item["triangles"] for name, item in items.items()}, {"uri.gltf": 2, "view.gltf": 2})

    def test_what_is_missing_is_said_and_circles_are_refused(self):
        self.put_json("a.gltf", self.scene([{"externalAsset": 0}], [{"uri": "b.gltf"}]))
        self.put_json("b.gltf", self.scene([{"externalAsset": 0}], [{"uri": "a.gltf"}]))
        self.put_json("self.gltf", self.scene([{"externalAsset": 0}], [{"uri": "self.gltf"}]))
        self.put_json("out.gltf", self.scene([{"externalAsset": 0}], [{"uri": "../../etc/x.gltf"}]))
        self.put_json("gone.gltf", self.scene([{"children": [1]}, {"externalAsset": 0}], [{"uri": "nowhere.gltf"}]) |
                      {key: value for key, value in quad().items() if key in ("buffers", "bufferViews", "accessors", "meshes")} |
                      {"nodes": [{"mesh": 0, "children": [1]}, {"externalAsset": 0}]})
        self.put_json("library.gltf", {key: value for key, value in quad().items() if key != "scene"})
        self.put_json("no_scene.gltf", self.scene([{"externalAsset": 0, "children": [1]}, {"name": "x"}], [{"uri": "library.gltf"}]))
        for i in range(18):
            self.put_json(f"deep{i}.gltf", self.scene([{"externalAsset": 0}], [{"uri": f"deep{i + 1}.gltf"}]))
        self.put_json("deep18.gltf", quad())
        items = self.cook(code=1)
        for name in ("a.gltf", "b.gltf", "self.gltf"):
            self.assertIn("shows itself through its external assets", items[name]["error"]["message"])
        self.assertEqual(items["out.gltf"]["error"]["code"], "import.outside-root")
        self.assertIn("more than 16 deep", items["deep0.gltf"]["error"]["message"])
        self.assertEqual(items["deep5.gltf"]["triangles"], 2)
        self.assertIn("gltf.external-missing", self.notes(items["gone.gltf"]))
        self.assertIn("gltf.external-scene", self.notes(items["no_scene.gltf"]))

    def test_glb_of_version_3(self):
        def chunk(kind, data, encoding=0):
            data = struct.pack("<4sIQ", kind, encoding, len(data)) + data
            return data + bytes(-len(data) % 8)

        data = POSITIONS + NORMALS + UVS + UVS_2 + INDICES

        def pack(*chunks):
            body = b"".join(chunks)
            return struct.pack("<4sIQ", b"glTF", 3, 16 + len(body)) + body

        plain = json.dumps(quad(buffer={"byteLength": len(data)})).encode()
        third = json.dumps(quad(buffer={"byteLength": len(data), "chunk": 2})).encode()
        self.put("plain.glb", pack(chunk(b"JSON", plain), chunk(b"BIN\0", data)))
        self.put("third.glb", pack(chunk(b"XTRA", b"odd"), chunk(b"JSON", third), chunk(b"BIN\0", data)))
        self.put("encoded.glb", pack(chunk(b"JSON", plain, 7), chunk(b"BIN\0", data)))
        self.put("encoded_bin.glb", pack(chunk(b"JSON", plain.replace(b'"byteLength": 234}]', b'"byteLength": 234}]')), chunk(b"BIN\0", data, 7)))
        self.put("cut.glb", pack(chunk(b"JSON", plain), chunk(b"BIN\0", data))[:-40])
        items = self.cook(code=1)
        self.assertEqual((items["plain.glb"]["triangles"], items["third.glb"]["triangles"]), (2, 2))
        self.assertEqual(self.notes(items["plain.glb"]), {"gltf.draft"})
        self.assertIn("encoding 00000007", items["encoded.glb"]["error"]["message"])
        self.assertEqual(items["encoded_bin.glb"]["state"], "failed")
        self.assertEqual(items["cut.glb"]["error"]["code"], "import.truncated")


if __name__ == "__main__":
    main()
