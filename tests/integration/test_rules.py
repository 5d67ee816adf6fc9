"""Rules: for each, a model that violates it and one that satisfies it, in up to three formats; levels, folders, the cache and the
daemon."""
import json
import os
import pathlib
import random
import re
import shutil
import signal
import struct
import subprocess
import unittest
import xml.etree.ElementTree
import zlib

from command_line import CommandLine
from contract import jsonschema
from hobtest import CORPUS, DEADLINE, HOB, LONG, PROJECT, Daemon, children, main, obj_text, png, until
import rule_search
from rule_models import FACES, ONE, POINTS, UVS, WRITERS, gltf, model, mtl, obj, off, shape, weights

VALIDATOR = PROJECT / "tests/gltf/node_modules/gltf-validator"
SARIF = PROJECT / "tests/openapi/node_modules/@microsoft/jest-sarif/lib/schemas/sarif-2.1.0-rtm.5.json"
# Jenkins' junit-10.xsd, as far as Hob uses it: attributes that an element must have, that it may have, and its children
JUNIT = {"testsuites": ("", "name time tests failures errors", "testsuite"),
         "testsuite": ("name tests failures errors", "group time skipped timestamp hostname id package file log url version", "testcase"),
         "testcase": ("name", "time classname group", "skipped failure"), "failure": ("", "type message", ""), "skipped": ("", "type message", "")}

TREES = ("gltf", "usda", "dae", "fbx")
ALL, MOTION, PARTS = ("obj", *TREES), TREES, ("gltf", "obj", "dae", "fbx", "usda")
NAMED, SKINNED = ("gltf", "dae", "fbx"), TREES  # a stage of USD has one clip, which is named after the file


def rgba(pixel, side=32):
    """A PNG of pixel(x, y) = (red, green, blue, alpha)."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + bytes(c for x in range(side) for c in pixel(x, y)) for y in range(side))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 6, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(rows))
            + chunk(b"IEND", b""))


def bumps(up):
    """A normal map of round bumps; its green points up, or down (-1)."""
    def pixel(x, y):
        u, v = (x % 16 - 7.5) / 6, (7.5 - y % 16) / 6
        inside = u * u + v * v < 0.8
        normal = (u, v * up, (1 - u * u - v * v) ** 0.5) if inside else (0, 0, 1)
        return (*(round(127.5 + 127.5 * c) for c in normal), 255)
    return rgba(pixel)


def apart(points, by):
    return [(x + by, y, z) for x, y, z in points]


WEIGHTED = weights(*[[(0, 1), (1, 0), (0, 0), (0, 0)]] * 4)
TWO = [("paint", (1, 0, 0), 1, ""), ("chrome", (0, 1, 0), 1, "")]
BODY = ("body", None, True, ONE)
CROSSED = [*POINTS, (-0.2, -0.2, -3), (0.2, -0.2, -3), (0, 0, 3)]
PICTURE = [("paint", (1, 0, 0), 1, "tex.png")]
SPREAD = [(0.01 * u, 0.9 * v) for u, v in UVS]
WALK = [("walk", 1, 1)]
CHILD = [("top", None, False, ONE), ("body", 0, True, ONE), ("other", 0, False, ONE)]
CLEAR = [("paint", (1, 0, 0), 1, "clear.png")]
# Each face with corners of its own, shaded flat; and two islands on the left and the right of the picture, which may touch
CORNERS = [i for face in FACES for i in face]
FLAT = shape(points=[POINTS[i] for i in CORNERS], uvs=[UVS[i] for i in CORNERS], faces=[(3 * i, 3 * i + 1, 3 * i + 2) for i in range(4)],
             normals=[normal for normal in ((0, 0, -1), (0, -1, 0), (1, 0, 0), (-1, 0, 0)) for _ in range(3)])


def islands(gap):
    """Two triangles, this many texels of 1,024 apart in the picture."""
    u = 0.5 + gap / 1024
    return shape(points=[*POINTS[:3], *apart(POINTS[:3], 4)], faces=[(0, 2, 1), (3, 5, 4)], normals=[(0, 0, 1)] * 6,
                 uvs=[(0.5, 0.1), (0.5, 0.9), (0.1, 0.5), (u, 0.1), (u, 0.9), (0.9, 0.5)])


LOOSE = [(x + 2 * i, y, 0) for i in range(400) for x, y in ((0, 0), (1, 0), (0, 1))]
LOOSE_FACES = [(3 * i, 3 * i + 1, 3 * i + 2) for i in range(400)]
# rule: (setting, violating model, valid model, formats, other settings). A list of two settings has one for each model.
ROWS = {
    "name.node": ({"match": "^[a-z0-9]+$"}, model(nodes=[("Body", None, True, ONE)]), model(), ALL),
    "name.material": ({"match": "^[a-z]+$"}, model(materials=[("Paint1", (1, 0, 0), 1, "")]), model(), ALL),
    "name.clip": ({"match": "^walk"}, model(clips=[("Run", 1, 1)]), model(clips=[("walk_1", 1, 1)]), NAMED),
    "name.duplicate": ("warning", model(nodes=[BODY, ("arm", 0, False, ONE), ("leg", 0, False, ONE), ("arm", 2, False, ONE)]),
                       model(nodes=[BODY, ("arm", 0, False, ONE)]), TREES),
    "texture.missing": ("error", model(materials=[("paint", (1, 0, 0), 1, "gone.png")]), model(materials=PICTURE), ALL),
    "file.portability": ("error", model(materials=[("paint", (1, 0, 0), 1, "TEX.png")]), model(materials=PICTURE), ALL),
    "source.shrunk": None,  # needs a daemon: below, and in test_gates.py
    "licence.missing": ("warning", model(), model(licence="(c) 2026 Ann, CC0"), ("gltf", "dae", "amf")),  # and a file beside, below
    "texture.unused": ("warning", model(materials=PICTURE, spare="other.png"), model(materials=PICTURE, spare="tex.png"), ("gltf", "dae", "fbx")),
    "texture.alpha-unused": ("warning", model(materials=CLEAR), model(materials=[("paint", (1, 0, 0), 0.5, "clear.png")]), ALL),
    "normal.map-flipped": ("warning", model(materials=PICTURE, normal_map="down.png"), model(materials=PICTURE, normal_map="up.png"), ("gltf", "obj", "usda", "fbx")),
    "reference.missing": None,  # in USD and OBJ below: a missing layer, a missing material library
    "source.newer-than-export": None,  # times are no input of a cook: below
    "import.lost": None,  # no source triggers it; tests/unit/import/census.c tests its note
    "mesh.triangles": ({"max": 3}, model(), model(shape(faces=FACES[:3])), ALL),
    "mesh.draws": ({"max": 1}, model(materials=TWO, uses=[0, 1]), model(), PARTS),
    "model.bytes": ([{"max": 1000}, {"max": 1000000}], model(), model(), ALL),
    "texture.size": ([{"max": 3}, {"max": 4, "power_of_two": 1}], model(materials=PICTURE), model(materials=PICTURE), ALL),
    "texture.density": ({"min": 0.5, "max": 20}, model(shape(points=[tuple(20 * x for x in p) for p in POINTS]), materials=PICTURE), model(materials=PICTURE), ALL),
    "texture.duplicate": ("warning", model(materials=[*PICTURE, ("chrome", (1, 0, 0), 1, "copy.png")], uses=[0, 1]),
                          model(materials=[*PICTURE, ("chrome", (1, 0, 0), 1, "other.png")], uses=[0, 1]), PARTS),
    "texture.color-space": ("warning", model(materials=PICTURE, normal_map="tex.png"), model(materials=PICTURE, normal_map="other.png"), ("gltf", "obj", "usda", "fbx")),
    "texture.downscaled": ("warning", model(materials=[("paint", (1, 0, 0), 1, "odd.png")]), model(materials=PICTURE), ALL, {"texture": {"encoding": "bc", "sides": "fours"}}),
    "mesh.degenerate": ("warning", model(shape(faces=[*FACES, (0, 1, 1)])), model(), ALL),
    "mesh.duplicate-faces": ("warning", model(shape(faces=[*FACES, FACES[0]])), model(), ALL),
    "mesh.open": ("warning", model(shape(faces=FACES[:3])), model(), ALL),
    "mesh.non-manifold": ("warning", model(shape(points=[*POINTS, (0, -3, 0)], uvs=[*UVS, (0.5, 0.5)], normals=[(0, 0, 1)] * 5,
                                                 faces=[*FACES, (0, 1, 4)])), model(), ALL),
    "mesh.inside-out": ("warning", model(shape(faces=[(a, c, b) for a, b, c in FACES])), model(), (*ALL, "ply", "off", "amf")),
    "mesh.interpenetrating": ("warning", model(shape(points=CROSSED, uvs=None, normals=None, faces=[*FACES, (4, 5, 6)])),
                              model(shape(uvs=None, normals=None)), (*ALL, "ply", "off")),
    "mesh.loose": ("warning", model(shape(points=[*POINTS, (0, 0, 0)])), model(), ("ply", "off", "amf")),
    "mesh.no-normals": ("warning", model(shape(normals=None)), model(), ALL),
    "mesh.split-normals": ("warning", model(FLAT), model(shape(**FLAT | {"normals": [(0, 0, 1)] * 12})), ALL),
    "mesh.lods": ("warning", model(shape(points=LOOSE, faces=LOOSE_FACES, uvs=None, normals=[(0, 0, 1)] * 1200)), model(), ALL),
    "uv.missing": ("warning", model(shape(uvs=None)), model(), ALL),
    "uv.outside": ("warning", model(shape(uvs=[(0.1, 0.9), (1.5, 0.9), (0.5, 0.1), (0.5, 0.6)])), model(), ALL),
    "uv.overlap": ("warning", model(), model(shape(faces=FACES[1:])), ALL),
    "uv.margin": ({"min": 4}, model(islands(2)), model(islands(8)), ALL),
    "uv.flipped": ("warning", model(shape(faces=FACES[1:2], uvs=[(0.9, 0.9), (0.1, 0.9), (0.5, 0.1), (0.5, 0.1)])),
                   model(shape(faces=FACES[1:2], uvs=[(0.1, 0.9), (0.9, 0.9), (0.5, 0.1), (0.5, 0.1)])), ALL),
    "uv.stretch": ({"max": 10}, model(shape(uvs=SPREAD)), model(), ALL),
    "scene.size": ({"min": 1, "max": 3}, model(shape(points=[tuple(4 * x for x in p) for p in POINTS])), model(), ALL),
    "scene.origin": ([{"max": 0.5}, {"max": 0}], model(shape(points=apart(POINTS, 5))), model(shape(points=apart(POINTS, 1.000001))), ALL),
    "scene.scale": ("warning", model(nodes=[("body", None, True, (2, 2, 2))]), model(), TREES),
    "scene.negative-scale": ("warning", model(nodes=[("body", None, True, (-1, 1, 1))]), model(nodes=[("body", None, True, (2, 1, 1))]), TREES),
    "scene.shear": ("warning", model(nodes=[("top", None, False, (3, 1, 1)), ("body", 0, True, ONE)], turns={1: 45}),
                    model(nodes=[("top", None, False, (3, 3, 3)), ("body", 0, True, (2, 1, 1))], turns={1: 45}), TREES),
    "scene.hidden": ("warning", model(nodes=[BODY, ("arm", 0, True, ONE)], hidden=(1,)), model(nodes=[BODY, ("arm", 0, True, ONE)]), ("gltf", "dae", "fbx")),
    "scene.depth": ({"max": 3}, model(nodes=[BODY, ("b", 0, False, ONE), ("c", 1, False, ONE), ("d", 2, False, ONE)]), model(), TREES),
    "scene.empty": ("warning", model(shape(faces=[]), clips=WALK), model(), NAMED),
    "material.count": ({"max": 1}, model(materials=TWO, uses=[0, 1]), model(), PARTS),
    "material.unused": ("warning", model(materials=TWO), model(), ("gltf", "fbx", "amf")),
    "material.duplicate": ("warning", model(materials=[("paint", (1, 0, 0), 1, ""), ("copy", (1, 0, 0), 1, "")], uses=[0, 1]),
                           model(materials=TWO, uses=[0, 1]), PARTS),
    "material.metal-range": ("warning", model(metal=0.5), model(metal=1), ("gltf", "obj", "usda")),
    "material.unlit": ("warning", model(unlit=True), model(), ("gltf",)),
    "material.blend-count": ({"max": 1}, model(materials=[("paint", (1, 0, 0), 0.5, ""), ("glass", (0, 1, 0), 0.5, "")], uses=[0, 1]),
                             model(materials=[("paint", (1, 0, 0), 0.5, ""), ("glass", (0, 1, 0), 1, "")], uses=[0, 1]), PARTS),
    "skin.influences": ({"max": 1}, model(shape(weights=weights([(0, 0.5), (1, 0.5), (0, 0), (0, 0)], *WEIGHTED[1:])), joints=2),
                        model(shape(weights=WEIGHTED), joints=2), SKINNED),
    "skin.unweighted": ("warning", model(shape(weights=weights([(0, 0)] * 4, *WEIGHTED[1:])), joints=2), model(shape(weights=WEIGHTED), joints=2), ("gltf", "dae", "usda")),
    "skin.joints": ({"max": 2}, model(shape(weights=WEIGHTED), joints=3), model(shape(weights=WEIGHTED), joints=2), SKINNED),
    "clip.length": ({"min": 0.5, "max": 2}, model(clips=[("walk", 3, 1)]), model(clips=WALK), MOTION),
    "clip.rate": ("warning", model(clips=[("walk", 0.01, 1)]), model(clips=WALK), MOTION),
    "clip.constant": ("warning", model(clips=[("walk", 1, 0)]), model(clips=WALK), NAMED),
    "clip.root-motion": ("warning", model(clips=WALK), model(clips=WALK, nodes=CHILD, moves=1), MOTION),
    "clip.count": ({"max": 1}, model(clips=[("walk", 1, 1), ("run", 1, 2)]), model(clips=WALK), NAMED),
    "morph.count": ({"max": 1}, model(shape(targets=2)), model(shape(targets=1)), NAMED),
}


# Findings in otherwise clean models that were checked by hand and are right: rule: beginnings of the models' paths.
LOOKED_AT = {
    "gltf.extension-ignored": ("gltf/draco/BoxMetaDraco/", "gltf/gltf-transform/extensions/in/EXT_mesh_features/",
                               "gltf/gltf-transform/extensions/in/EXT_structural_metadata/", "gltf/khronos/TransmissionTest/",  # KHR_xmp
                               "gltf/tinygltf/Extensions-issue97/", "gltf/tinygltf/Extensions-overwrite-issue261/"),
    "import.unsupported": ("gltf/asset-generator-0.6/Compatibility/Compatibility_05.gltf", "gltf/gltf-transform/cli/in/ACMEBox.gltf",
                           "gltf/gltf-pipeline/2.0/box-"),  # these require a made-up extension or KHR_techniques_webgl
}


# Models about which Hob and the Khronos validator differ, each looked at
KHRONOS_EXPLAINED = {"texture.size": (
    "draco/BoxMeta", "draco/BoxesMeta",  # these pictures are used by EXT_mesh_features alone
    "gltf-pipeline/1.0/",  # the validator does not read glTF 1.0
    "khronos-derived/BoxTextured-KTX2-")}  # the picture beside the KTX2 file is not used


# A stage by hand, and the checks of usdchecker (UsdUtils.ComplianceChecker, by the names of its documentation) that rules of Hob cover:
# (rule, a word of the finding, changes to the stage that break it, changes that keep it)
STAGE = """#usda 1.0
( defaultPrim = "thing" metersPerUnit = 1 upAxis = "Y" )
def Xform "thing" (
    LAYER
) {
    def Mesh "mesh" ( prepend apiSchemas = ["MaterialBindingAPI"] ) {
        int[] faceVertexCounts = [3, 3, 3, 3]
        int[] faceVertexIndices = [0, 2, 1, 0, 1, 3, 1, 2, 3, 2, 0, 3]
        point3f[] points = [(-1, -1, -1), (1, -1, -1), (0, 1, -1), (0, 0, 1)]
        texCoord2f[] primvars:st = [(0, 0), (1, 0), (0, 1), (0.5, 0.5)] ( interpolation = "vertex" )
        uniform token subdivisionScheme = "none"
        rel material:binding = </thing/look>
    }
    def Material "look" {
        token outputs:surface.connect = </thing/look/shader.outputs:surface>
        def Shader "shader" {
            uniform token info:id = "UsdPreviewSurface"
            color3f inputs:diffuseColor.connect = </thing/look/picture.outputs:rgb>
            token outputs:surface
        }
        def Shader "picture" {
            uniform token info:id = "UsdUVTexture"
            asset inputs:file = @PICTURE@
            float3 outputs:rgb
        }
    }
}
"""
USDCHECKER = {
    "MissingReferenceChecker, a picture": ("texture.missing", "gone.png", {"PICTURE": "gone.png"}, {"PICTURE": "tex.png"}),
    "MissingReferenceChecker, a layer": ("reference.missing", "gone.usda", {"LAYER": "prepend references = @gone.usda@"}, {"LAYER": "prepend references = @part.usda@"}),
    "TextureChecker": ("texture.missing", "text.png", {"PICTURE": "text.png"}, {"PICTURE": "tex.png"}),
    "ARKitPackageEncapsulationChecker": ("file.portability", "tex.png", {"PICTURE": "../../../tex.png"}, {"PICTURE": "./tex.png"}),
    "ARKitPackageEncapsulationChecker, absolute": ("file.portability", "tex.png", {"PICTURE": "/studio/art/tex.png"}, {"PICTURE": "tex.png"}),
}


class Rules(CommandLine):
    def put_pair(self, rule):
        setting, broken, right, formats, *others = ROWS[rule]
        for at, (kind, made) in enumerate((("broken", broken), ("right", right))):
            folder = f"{rule}/{kind}"
            value = setting[at] if isinstance(setting, list) else setting
            self.put(f"{folder}/cook.json", json.dumps({"rules": {rule: value, "deep": True}} | (others[0] if others else {})))
            for name, picture in (("tex", png(9, 8, 7)), ("copy", png(9, 8, 7)), ("other", png(9, 8, 6)), ("odd", png(9, 8, 7, side=9)),
                                  ("clear", rgba(lambda x, y: (9, 8, 7, 255 * (x > y)))), ("up", bumps(1)), ("down", bumps(-1))):
                self.put(f"{folder}/{name}.png", picture)
            for ending in formats:
                self.put(f"{folder}/m-{ending}.{ending}", WRITERS[ending](made).replace(b"{stem}", f"m-{ending}".encode()))
            if "obj" in formats:
                self.put(f"{folder}/m-obj.mtl", mtl(made))

    def test_the_table_has_a_row_for_each_rule(self):
        table = re.findall(r'^RULE\(\w+, "([^"]+)"', (PROJECT / "schema/rules.def").read_text(), re.M)
        self.assertEqual(sorted(table), sorted(ROWS))
        page = (PROJECT / "docs/rules.md").read_text()
        self.assertEqual([rule for rule in table if f"| `{rule}` |" not in page], [])

    def test_each_rule_finds_what_breaks_it_and_nothing_else(self):
        for rule in ROWS:
            if ROWS[rule]:
                self.put_pair(rule)
        out = self.folder / "out"
        self.hob("cook", self.art, "-o", out, code=4)
        judged = {}
        ids = dict(re.findall(r'(?m)^RULE\((\w+), "([^"]+)"', (PROJECT / "schema/rules.def").read_text()))
        for name, code in re.findall(r'(?m)^RULE_NOTE\((\w+), "([^"]+)"\)', (PROJECT / "schema/rules.def").read_text()):
            judged[ids[name]] = (*judged.get(ids[name], (ids[name],)), code)
        count = 0
        for rule in ROWS:
            for ending in ROWS[rule][3] if ROWS[rule] else ():
                for kind in ("broken", "right"):
                    with self.subTest(f"{rule} {kind} {ending}"):
                        file = out / rule / kind / f"m-{ending}.{ending}.report.json"
                        found = any(note["code"].startswith(judged.get(rule, (rule,))) for note in json.loads(file.read_text())["notes"]) if file.exists() else "failed"
                        error = ROWS[rule][0] == "error"
                        self.assertFalse(file.exists() and '"import.lost"' in file.read_text())
                        self.assertEqual(found, ("failed" if error else True) if kind == "broken" else False)
                        count += 1
        self.assertGreater(count, 150)

    def test_geometric_rules_agree_with_a_search_on_random_meshes(self):
        rules = ("mesh.degenerate", "mesh.duplicate-faces", "mesh.open", "mesh.non-manifold", "mesh.inside-out", "uv.outside", "uv.flipped", "uv.stretch")
        chance, text, wanted, first = random.Random(43), [], {}, 1
        for name in map(str, range(1000)):
            points = [tuple(chance.randrange(4) for _ in range(3)) for _ in range(chance.randrange(4, 8))]
            uvs = [tuple(chance.randrange(-1, 6) / 4 for _ in range(2)) for _ in points]
            faces = [tuple(chance.randrange(len(points)) for _ in range(3)) for _ in range(chance.randrange(1, 9))]
            if chance.random() < 0.5:  # a closed one
                faces = [face[::chance.choice((1, -1))] if chance.random() < 0.1 else face for face in FACES] + faces[:chance.randrange(2)]
                faces = [face[::-1] for face in faces] if chance.random() < 0.5 else faces
            text += [f"o {name}", *("v %d %d %d" % p for p in points), *(f"vt {u} {1 - v}" for u, v in uvs)]
            text += ["f " + " ".join(f"{i + first}/{i + first}" for i in face) for face in faces]
            first += len(points)
            wanted[name] = rule_search.faults(points, uvs, faces)
        self.put("m.obj", "\n".join(text))
        self.put("cook.json", json.dumps({"rules": dict.fromkeys(rules, "warning")}))
        self.hob("cook", self.art, "-o", self.folder / "out")
        found = {name: {} for name in wanted}
        for finding in json.loads((self.folder / "out/m.obj.report.json").read_text())["findings"]:
            found[finding["name"]][finding["rule"]] = finding["value"]
        for rule in rules:
            with self.subTest(rule):
                self.assertEqual([name for name in wanted if wanted[name].get(rule, 0) != found[name].get(rule, 0)], [])
                self.assertGreater(sum(rule in each for each in found.values()), 20)

    def test_contracts_of_the_documentation_are_accepted(self):
        self.put("m.obj", obj_text(2))
        blocks = re.findall(r"(?ms)^```json\n(.*?)^```", (PROJECT / "docs/rules.md").read_text())
        for text in blocks:
            self.put("cook.json", text)
            self.assertNotIn("config.invalid", self.check(), text)
        self.assertGreater(len(blocks), 3)

    def test_one_error_of_many_models_is_told_once(self):
        for i in range(5):
            self.put(f"{i}.obj", obj_text(2))
        self.put("cook.json", '{"rules": {"profile": "mobile"}}')
        told = self.check(code=1)
        self.assertRegex(told, r"\Aerror    0\.obj and 4 more: cook\.json: 'profile' must be one of game, .*\n5 models .*: 5 errors, 0 warnings, 0 info\n\Z")
        self.assertEqual(len(json.loads(self.check("--format", "json", code=1))["assets"]), 5)
        self.assertIn("Parameter: max, default 0.01\n", self.hob("check", "--explain", "uv.overlap")[0])

    def test_a_sidecar_counts_for_one_model(self):
        self.put("cook.json", '{"rules": {"mesh.open": "warning"}}')
        for name in ("a", "b"):
            self.put(f"{name}.obj", obj_text(2))
        self.put("a.obj.cook.json", '{"rules": {"mesh.open": "off"}}')
        self.assertEqual(re.findall(r"^warning +(\S+):", self.check(), re.M), ["b.obj"])

    def test_a_level_judges_what_is_cooked_already(self):
        self.put("m.obj", obj_text(2))
        self.put("in/m.obj", obj_text(2))
        self.put("cook.json", '{"rules": {"mesh.open": "warning"}}')
        self.put("in/cook.json", '{"rules": {"mesh.open": "off"}}')
        self.start()
        state = lambda name="m.obj": self.daemon.assets("&fields=id,root,path,state,warnings,error")[f"art/{name}"]
        self.assertEqual((state()["state"], state()["warnings"], state("in/m.obj")["warnings"]), ("fresh", 1, 0))
        before = self.daemon.cooked()
        for level, wanted in (("error", "stale"), ("warning", "fresh"), ("error", "stale")):
            self.put("cook.json", json.dumps({"rules": {"mesh.open": level}}))
            self.daemon.sync()
            self.assertEqual((state()["state"], state("in/m.obj")["state"]), (wanted, "fresh"), level)
        self.assertEqual((state()["error"]["code"], self.daemon.cooked()), ("cook.rule", before))
        self.assertIn("fill the holes (mesh.open: error)", state()["error"]["message"])
        self.assertEqual(self.daemon.stop(), 0)
        self.start()
        self.assertEqual((state()["state"], state("in/m.obj")["state"]), ("stale", "fresh"))
        self.put("cook.json", '{"rules": {"mesh.opan": "error"}}')
        self.daemon.sync()
        self.assertIn("did you mean 'mesh.open'?", state()["error"]["message"])

    def test_findings_are_counted_in_lists_events_and_metrics(self):
        for i in range(3):
            self.put(f"m{i}.obj", obj_text(2))
        self.put("in/m.obj", obj_text(2))
        self.put("closed.off", off(model()))
        self.put("cook.json", '{"rules": {"mesh.open": "warning", "uv.missing": "info", "name.node": {"match": "^[a-z]+$"}}}')
        self.put("in/cook.json", '{"rules": {"mesh.open": "error", "uv.missing": "info"}}')
        self.start()
        self.daemon.sync()
        none, some = {"errors": 0, "warnings": 0, "infos": 0}, {"errors": 0, "warnings": 1, "infos": 1}
        refused = {"errors": 1, "warnings": 0, "infos": 1}
        wanted = {f"art/m{i}.obj": some for i in range(3)} | {"art/in/m.obj": refused, "art/closed.off": none}
        counts = lambda query="": {name: asset["findings"] for name, asset in self.daemon.assets(query).items()}

        def compare_all():
            self.assertEqual(counts(), wanted)
            page = self.daemon.get("/api/v1/findings?limit=3").json()
            self.assertEqual([(rule["rule"], rule["level"], rule["assets"], rule["count"]) for rule in page["rules"]],
                             [("mesh.open", "error", 1, 1), ("mesh.open", "warning", 3, 3), ("uv.missing", "info", 4, 4)])
            items = page["items"]
            while page["next"]:
                page = self.daemon.get(f"/api/v1/findings?limit=3&cursor={page['next']}").json()
                items += page["items"]
            self.assertEqual([(item["asset"]["name"], item["rule"], item["level"]) for item in items],
                             [(name, rule, level) for name in sorted(wanted) if wanted[name] != none
                              for rule, level in (("mesh.open", "error" if wanted[name] == refused else "warning"), ("uv.missing", "info"))])
            self.assertEqual({label: value for label, value in re.findall(r"(?m)^hob_findings\{(.*)\} (\d+)$", self.daemon.get("/metrics").body.decode())},
                             {'rule="mesh.open",level="error"': "1", 'rule="mesh.open",level="warning"': "3", 'rule="uv.missing",level="info"': "4"})

        compare_all()
        self.assertEqual(set(counts("&level=error")), {"art/in/m.obj"})
        self.assertEqual(set(counts("&rule=mesh.open&level=warning")), {f"art/m{i}.obj" for i in range(3)})
        self.assertEqual(list(counts("&sort=-findings"))[0], "art/in/m.obj")
        listed = [json.loads(line)["name"] for line in self.hob("ls", "--rule", "mesh.open", "--json")[0].splitlines()]
        self.assertEqual(listed, ["art/in/m.obj"] + [f"art/m{i}.obj" for i in range(3)])
        self.assertIn("there is no rule 'mesh.opan'", self.hob("ls", "--rule", "mesh.opan", code=2)[1])
        self.assertEqual(len(self.daemon.get("/api/v1/findings?rule=mesh.open&q=m1").json()["items"]), 1)
        self.assertIn("there is no rule 'mesh.opan'", self.daemon.get("/api/v1/findings?rule=mesh.opan").json()["detail"])
        self.assertEqual(self.daemon.assets()["art/m0.obj"]["stats"]["findings"], {"mesh.open": 1, "uv.missing": 1})
        self.assertEqual(self.daemon.stop(), 0)
        self.start()
        self.daemon.sync()
        compare_all()
        cooked = self.daemon.cooked()
        self.put("in/cook.json", '{"rules": {"mesh.open": "warning", "uv.missing": "info"}}')
        event = self.daemon.wait_event("asset", lambda data: data["asset"] == "art/in/m.obj")
        self.assertEqual((event["kind"], event["findings"], self.daemon.cooked()), ("recovered", some, cooked))
        self.put("in/cook.json", '{"rules": {"mesh.open": "error", "uv.missing": "info"}}')
        event = self.daemon.wait_event("asset", lambda data: data["asset"] == "art/in/m.obj" and data["kind"] == "failed")
        self.assertEqual(event["findings"], refused)

    def check(self, *args, code=0):
        return self.hob("check", self.art, "--cache", self.folder / "cache", *args, code=code)[0]

    def junit(self, text):
        """The outermost element of a JUnit report, after a comparison with its schema."""
        whole = xml.etree.ElementTree.fromstring(text)
        for element in whole.iter():
            needed, allowed, children = (set(names.split()) for names in JUNIT[element.tag])
            self.assertEqual((needed - set(element.keys()), set(element.keys()) - needed - allowed, {each.tag for each in element} - children),
                             (set(), set(), set()), element.tag)
            self.assertRegex(element.get("time", "0.000"), r"^\d+\.\d{3}$")
        return whole

    def test_reports_keep_their_published_schemas(self):
        self.put("in dir/open, %41 a:b.obj", obj(model(shape(faces=FACES[:3]))).replace(b"{stem}", b"open"))
        self.put("in dir/open.mtl", mtl(model(materials=[("paint", (1, 0, 0), 1, "gone.png")])))
        self.put("<&> \".obj", "f 1 2 3\n")
        self.put("closed.off", off(model()))
        self.put("notes.md", "")
        self.put("in dir/s.max", "")
        self.put("cook.json", '{"rules": {"mesh.open": "warning", "mesh.no-normals": "info"}, "budget": {"triangles": 3}}')
        cook = ("cook", self.art, "--check", "--format")
        known = self.folder / "known.txt"
        self.check("--baseline", known, "--update-baseline", code=1)
        if jsonschema and SARIF.exists():
            schema = jsonschema.Draft4Validator(json.loads(SARIF.read_text()))
            for options in ((), ("--strict",), ("--baseline", known)):
                log = json.loads(self.check("--format", "sarif", *options, code=1))
                self.assertEqual([(each.json_path, each.message) for each in schema.iter_errors(log)], [])
                self.assertGreater(len(log["runs"][0]["results"]), 3)
        for text in (self.check("--format", "junit", code=1), self.hob(*cook, "junit", code=1)[0]):
            suites = self.junit(text)
            failed = [case for case in suites.iter("testcase") if case.find("failure") is not None]
            for count in (suites, *suites.iter("testsuite")):
                self.assertEqual((int(count.get("failures")), int(count.get("errors"))), (len(failed), 0))
                self.assertEqual(int(count.get("tests")), len(list(suites.iter("testcase"))))
        # docs.github.com, workflow commands: properties may have no bare ':' and ',', and no text has a bare '%' or a line end
        for text in (self.check("--format", "github", code=1), self.hob(*cook, "github", code=1)[0]):
            for line in text.splitlines():
                self.assertRegex(line, r"^::(error|warning|notice) file=([^:,%]|%(25|0D|0A|3A|2C))+,title=([^:,%]|%(25|0D|0A|3A|2C))+::([^%]|%(25|0D|0A))+$")
            self.assertIn("open%2C %2541 a%3Ab.obj,title=", text)

    def test_budgets_fail_as_they_always_did(self):
        self.put("m.off", off(model()))
        for settings, code in (({"budget": {"triangles": 3}}, 4), ({"budget": {"triangles": 4, "draws": 1}}, 0), ({"budget": {"bytes": 10, "fail": True}}, 4),
                               ({"budget": {"triangles": 3}, "rules": {"mesh.triangles": "info"}}, 4), ({"budget": {"triangles": 0}}, 0),
                               ({"rules": {"mesh.triangles": {"max": 3}}}, 0), ({"rules": {"mesh.triangles": {"max": 3, "level": "error"}}}, 4)):
            self.put("cook.json", json.dumps(settings))
            with self.subTest(settings):
                self.hob("cook", self.art, "--check", code=code)
                self.assertEqual(list(self.junit(self.check("--format", "junit", code=code)).iter("failure")) != [], code == 4)

    def test_check_prints_what_build_servers_read(self):
        self.put("in dir/open.obj", obj(model(shape(faces=FACES[:3]))).replace(b"{stem}", b"open"))
        self.put("in dir/open.mtl", mtl(model(materials=[("paint", (1, 0, 0), 1, "gone.png")])))
        self.put("closed.off", off(model()))
        self.put("cook.json", '{"rules": {"mesh.open": "error", "clip.count": "warning"}}')
        text = self.check(code=4)
        self.assertRegex(text, r"(?m)^error    in dir/open.obj: mesh 'body': open edges: 3; fill the holes \(mesh.open\)$")
        self.assertRegex(text, r"(?m)^warning  in dir/open.obj: picture 'gone.png' does not exist.*\(texture.missing\)$")
        self.assertIn("not checked, by models: clip.count (2)\n2 models (0 from the cache): 1 error, 1 warning, 0 info\n", text)
        report = json.loads(self.check("--format", "json", code=4))
        self.assertEqual((report["cached"], [asset["path"] for asset in report["assets"]]), (2, ["closed.off", "in dir/open.obj"]))
        self.assertEqual([(note["code"], note["level"], note["kind"], note["name"], note["value"]) for note in report["assets"][1]["notes"]],
                         [("mesh.open", "error", "mesh", "body", 3), ("texture.missing", "warning", "model", "", 1)])
        run = json.loads(self.check("--format", "sarif", code=4))["runs"][0]
        self.assertEqual({rule["id"] for rule in run["tool"]["driver"]["rules"]}, set(ROWS))
        place = run["results"][0]["locations"][0]
        self.assertTrue(place["physicalLocation"]["artifactLocation"]["uri"].endswith("art/in%20dir/open.obj"))
        self.assertEqual((run["results"][0]["level"], place["logicalLocations"]), ("error", [{"name": "body", "kind": "mesh"}]))
        suite = xml.etree.ElementTree.fromstring(self.check("--format", "junit", code=4))
        self.assertEqual([fault.get("type") for fault in suite.iter("failure")], ["mesh.open"])
        self.assertRegex(self.check("--format", "github", code=4), r"(?m)^::error file=.*art/in dir/open.obj,title=mesh.open::mesh 'body': open edges: 3")
        self.put("cook.json", '{"rules": {"mesh.open": "warning"}}')
        self.assertIn("2 warnings", self.check())
        self.check("--strict", code=4)
        self.put("bad.obj", "f 1 2 3\n")
        self.check(code=1)
        self.assertIn("did you mean 'mesh.open'?", self.hob("check", "--explain", "mesh.opan", code=2)[1])
        self.assertIn("fill the holes", self.hob("check", "--explain", "mesh.open")[0])

    def broken(self, *options, code=4):
        """Findings that fail with the baseline, as (model, object), and the whole text."""
        text = self.check("--baseline", self.known, *options, code=code)
        return re.findall(r"(?m)^error +([^:]+): (?:mesh '(.*)': )?", text), text

    def update(self):
        """Writes the baseline; returns its removed and its added lines."""
        before = self.known.read_text().splitlines() if self.known.exists() else []
        self.check("--baseline", self.known, "--update-baseline")
        after = self.known.read_text().splitlines()
        return [line for line in before if line not in after], [line for line in after if line not in before]

    def test_a_baseline_sets_old_findings_aside(self):
        self.known = self.folder / "known.txt"
        self.put("cook.json", '{"rules": {"mesh.open": "error", "mesh.degenerate": "warning"}}')
        for i in range(300):
            self.put(f"m{i:03}.off", off(model(shape(points=apart(POINTS, i), faces=FACES[:3]))))
        self.check("--baseline", self.known, code=2)
        self.update()
        lines = [json.loads(line) for line in self.known.read_text().splitlines()]
        self.assertEqual([len(line) for line in lines], [3, 5] * 300)
        self.assertEqual([line[0] for line in lines], sorted(line[0] for line in lines))
        self.put("new.off", off(model(shape(faces=FACES[:3]))))
        self.assertEqual(self.broken()[0], [("new.off", "")])
        (self.art / "new.off").unlink()
        (self.art / "m007.off").rename(self.art / "renamed.off")
        self.assertIn("300 known\n", self.broken(code=0)[1])
        self.put("copy.off", (self.art / "m000.off").read_bytes())
        self.assertEqual(self.broken()[0], [("copy.off", "")], "a copy is no rename")
        (self.art / "copy.off").unlink()
        self.put("m003.off", off(model(shape(points=apart(POINTS, 3), faces=[*FACES[:2], FACES[2][::-1]]))))
        self.assertIn("300 known\n", self.broken(code=0)[1], "the same number of open edges")
        self.put("m003.off", off(model(shape(points=[*apart(POINTS, 3), *apart(POINTS, 9)], faces=[(0, 1, 2), (4, 5, 6)]))))
        self.assertEqual(self.broken()[0], [("m003.off", "")], "it has grown")
        self.put("m009.off", off(model()))
        self.assertIn("1 of the baseline mended, well done", self.broken()[1])
        gone, new = self.update()
        self.assertEqual(({json.loads(line)[0] for line in gone}, {json.loads(line)[0] for line in new}),
                         ({"m003.off", "m007.off", "m009.off"}, {"m003.off", "renamed.off"}))
        # another machine: another folder, no cache, and a file that a merge has put into another order
        os.rename(self.art, self.folder / "elsewhere")
        self.art = self.folder / "elsewhere"
        self.known.write_text("\n".join(reversed(self.known.read_text().splitlines())))
        self.assertIn("299 known\n", self.hob("check", self.art, "--cache", self.folder / "other", "--baseline", self.known)[0])
        # what is not checked, and what cannot be, keeps its lines
        before = self.known.read_text()
        self.update()
        for change in (lambda: self.put("m005.off", "nonsense"), lambda: None):
            change()
            self.hob("check", "--root", self.art, self.art / "m001.off", self.art / "m005.off", "--baseline", self.known, "--update-baseline", code=1)
            self.assertEqual(sorted(self.known.read_text().splitlines()), sorted(before.splitlines()))
        self.assertIn("298 known\n", self.broken(code=1)[1])

    @unittest.skipUnless(LONG and CORPUS.exists(), "HOB_LONG=1 runs it, with the corpus: half a minute, minutes with sanitizers")
    def test_the_default_rules_are_right_about_clean_models(self):
        # models in which Khronos' validator finds nothing, and the OBJ files of one set
        rows = [line.split("\t") for line in (CORPUS / "INDEX.tsv").read_text().splitlines()[1:]]
        clean = [row[0] for row in rows if row[15] == "0/0" or row[0].startswith("tree/kaykit-dungeon/obj/")]
        self.assertGreater(len(clean), 500)
        told = self.hob("check", "--root", CORPUS, *(CORPUS / name for name in clean if pathlib.Path(name).suffix in (".gltf", ".glb", ".obj")),
                        "--cache", self.folder / "cache", "--format", "json", code=1)[0]
        found = {(note["code"], asset["path"]) for asset in json.loads(told)["assets"] for note in asset["notes"]}
        self.assertEqual({code for code, path in found if not any(path.startswith(name) for name in LOOKED_AT.get(code, ()))}, set(), found)

    @unittest.skipUnless(LONG and CORPUS.exists() and VALIDATOR.exists() and shutil.which("node"), "HOB_LONG=1 runs it, with the corpus and tests/gltf")
    def test_rules_agree_with_the_khronos_validator(self):
        # rule: (what the validator says of the same fault, whether Hob may find more: it looks at areas, not at equal indices)
        same = {"material.unused": ("UNUSED_OBJECT /materials/", False), "texture.size": ("IMAGE_NPOT_DIMENSIONS /images/", False),
                "texture.missing": ("IO_ERROR /images/", False), "mesh.degenerate": ("ACCESSOR_INDEX_TRIANGLE_DEGENERATE /accessors/", True)}
        settings = {"rules": {"texture.size": {"max": 1e9, "power_of_two": 1}} | dict.fromkeys(("material.unused", "mesh.degenerate"), "warning"),
                    "texture": {"encoding": "source", "max_size": 16384}}
        told = self.hob("check", CORPUS / "gltf", "--cache", self.folder / "cache", "--settings", json.dumps(settings), "--format", "json", code=1)[0]
        found = {asset["path"]: {note["code"] for note in asset["notes"]} for asset in json.loads(told)["assets"]}
        program = """
            const validator = require(process.argv[1]), fs = require('fs'), path = require('path');
            (async () => {
                for (const file of JSON.parse(fs.readFileSync(0))) {
                    const beside = (uri) => fs.promises.readFile(path.join(path.dirname(file), decodeURIComponent(uri))).then((b) => new Uint8Array(b));
                    const report = await validator.validateBytes(new Uint8Array(fs.readFileSync(file)), { uri: file, maxIssues: 0, externalResourceFunction: beside })
                        .catch(() => null);
                    console.log(JSON.stringify(report?.issues.messages.map((m) => `${m.code} ${m.pointer ?? ''}`) ?? []));
                }
            })();"""
        done = subprocess.run(["node", "-e", program, str(VALIDATOR)], input=json.dumps([str(CORPUS / "gltf" / name) for name in found]),
                              capture_output=True, text=True, timeout=DEADLINE, check=True)
        cooked = {asset["path"] for asset in json.loads(told)["assets"] if not any(note["level"] == "error" for note in asset["notes"])}
        for rule, (code, more) in same.items():
            with self.subTest(rule):
                told = {name: any(line.startswith(code) for line in json.loads(lines)) for name, lines in zip(found, done.stdout.splitlines())}
                differ = {name for name in cooked if told[name] != (rule in found[name]) and not (more and rule in found[name])}
                self.assertEqual(sorted(name for name in differ if not name.startswith(KHRONOS_EXPLAINED.get(rule, ()))), [])
                self.assertGreater(sum(told.values()), 2 if rule in ("material.unused", "texture.size") else -1, "the other faults are not in this corpus")

    def test_usdchecker_finds_the_same_in_stages_made_by_hand(self):
        for i, (name, (rule, word, *changes)) in enumerate(USDCHECKER.items()):
            for kind, change in zip(("broken", "kept"), changes):
                with self.subTest(f"{name} {kind}"):
                    shutil.rmtree(self.art, ignore_errors=True)
                    for file, data in (("tex.png", png(9, 8, 7)), ("text.png", "no picture"), ("part.usda", '#usda 1.0\n( defaultPrim = "p" )\ndef Xform "p" {}\n')):
                        self.put(file, data)
                    text = STAGE
                    for old, new in ({"LAYER": "", "PICTURE": "tex.png"} | change).items():
                        text = text.replace(old, new)
                    self.put("thing.usda", text)
                    told = self.hob("check", "--root", self.art, self.art / "thing.usda", "--format", "json")[0]
                    said = [note["text"] for note in json.loads(told)["assets"][0]["notes"] if note["code"] == rule]
                    self.assertEqual(any(word in text for text in said), kind == "broken", told)
        self.put("m.obj", obj(model()).replace(b"{stem}", b"m"))
        for code in (4, 0):
            told = self.hob("check", "--root", self.art, self.art / "m.obj", "--settings", '{"rules": {"reference.missing": "error"}}', code=code)[0]
            self.assertEqual("material library 'm.mtl' does not exist" in told, code == 4)
            self.put("m.mtl", mtl(model()))

    def test_a_source_that_is_newer_than_its_export_is_found(self):
        for ending, source in (("gltf", "blend"), ("obj", "max"), ("fbx", "ma"), ("off", "c4d")):
            self.put(f"m-{ending}.{ending}", WRITERS[ending](model()).replace(b"{stem}", f"m-{ending}".encode()))
            self.put(f"m-{ending}.{source}", "not read")
        self.put("m-obj.mtl", mtl(model()))
        self.put("other.off", off(model()))
        for rule, later, found in (("warning", 61, 4), ("warning", 60, 0), ("warning", -1000, 0), ({"max": 10}, 61, 4), ("off", 61, 0)):
            self.put("cook.json", json.dumps({"rules": {"source.newer-than-export": rule}}))
            for file in self.art.iterdir():
                time = 1_700_000_000 + (later if file.suffix in (".blend", ".max", ".ma", ".c4d") else 0)
                os.utime(file, (time, time))
            models = [self.art / f"m-{ending}.{ending}" for ending in ("gltf", "obj", "fbx", "off")] + [self.art / "other.off"]
            told = self.hob("check", "--root", self.art, *models, "--cache", self.folder / "cache")[0]
            self.assertEqual(told.count("': saved 61 seconds after the model was exported; export the model again (source.newer-than-export)"), found, told)

    def test_a_licence_may_lie_beside_or_above_the_model(self):
        self.put("in/deep/m.off", off(model()))
        self.put("cook.json", '{"rules": {"licence.missing": "warning"}}')
        for name, kept in (("README", False), ("LICENSE", True), ("in/licence.TXT", True), ("in/deep/m.off.license", True), ("in/deep/other.off.license", False)):
            with self.subTest(name):
                self.put(name, "CC0-1.0")
                self.assertEqual("models without a licence" not in self.check(), kept)
                (self.art / name).unlink()
                self.assertIn("models without a licence", self.check())
        for extras, kept in (({"extras": {"license": "CC-BY-4.0"}}, True), ({"extras": {"title": "a copyright"}}, False), ({"extras": {"license": ""}}, False)):
            self.put("in/deep/m.off", off(model()))
            self.put("m.gltf", json.dumps({"asset": {"version": "2.0"} | extras, "scenes": [{}], "nodes": [{"name": "top"}]}))
            self.assertEqual("m.gltf: models without a licence" not in self.check(), kept, extras)

    def test_texts_that_are_no_utf8_are_mended_in_reports(self):
        self.put("m.obj", b"mtllib \xc0\xae.mtl\n" + obj_text(2).encode())
        for form in ("text", "json", "sarif", "junit", "github"):
            done = subprocess.run([HOB, "check", "--root", self.art, self.art / "m.obj", "--strict", "--format", form], capture_output=True, check=False)
            self.assertRegex(done.stdout.decode(), r"[?\ufffd]{2}\.mtl", form)

    def test_costly_rules_are_for_deep_checks(self):
        self.put("m.obj", obj(model(shape(normals=None))).replace(b"{stem}", b"m"))
        self.put("cook.json", '{"rules": {"uv.overlap": "error", "mesh.interpenetrating": "error", "mesh.open": "warning"}}')
        self.assertIn("not checked, by models: mesh.interpenetrating (1), uv.overlap (1)\n1 model (0 from", self.check())
        self.assertRegex(self.check("--deep", code=4), r"(?m)^error    m.obj: mesh 'body': overlapping share of the used picture: 1; move")
        for options, code in (((), 0), (("--deep",), 4)):
            self.assertIn("1 model (1 from the cache)", self.check(*options, code=code))
        self.put("cook.json", '{"rules": {"mesh.loose": "warning", "deep": 1}}')
        self.assertIn("'deep' of the rules must be true or false", self.check(code=1))
        self.put("cook.json", '{"rules": {"name.node": {"match": "^x"}}}')
        self.check()
        self.assertIn("1 model (1 from the cache)", self.check("--deep"), "no costly rule is on")

    def test_a_baseline_says_what_is_wrong_with_it(self):
        self.known = self.folder / "known.txt"
        self.put("m.obj", obj_text(2))
        head = '["m.obj","0123456789abcdef",""]\n'
        for text, said in (("nonsense", "line 1 is no finding"), (head + '["m.obj","mesh.open","mesh","body",4,"no author"]', "line 2 is no finding; an allowed one ends with reason"),
                           (head + '["m.obj","mesh.open","mesh","body",4,"why",""]', "line 2 is no finding"),
                           ('["m.obj","mesh.open","mesh","body",4]', "the line of the model 'm.obj' is missing")):
            self.known.write_text(text)
            self.assertIn(said, self.hob("check", self.art, "--baseline", self.known, code=2)[1])
        self.known.write_bytes(b'["m\xff.obj","0123456789abcdef",""]\n')
        self.assertIn("line 1 is no finding", self.hob("check", self.art, "--baseline", self.known, code=2)[1])
        # a merge: with its marks, then the lines of both sides, one of them with more
        self.put("cook.json", '{"rules": {"mesh.open": "error"}}')
        self.known.unlink()
        self.check("--baseline", self.known, "--update-baseline")
        lines = self.known.read_text()
        self.known.write_text(f"<<<<<<< HEAD\n{lines}=======\n{lines}>>>>>>> theirs\n")
        self.assertIn("line 1 is a conflict of a merge", self.hob("check", self.art, "--baseline", self.known, code=2)[1])
        fewer = re.sub(r",\d+\]", ",1]", lines)
        for text in (lines + fewer, fewer + lines):
            self.known.write_text(text)
            self.assertTrue(self.check("--baseline", self.known).endswith("; 1 known\n"))
        (self.folder / "folder").mkdir()
        os.mkfifo(self.folder / "pipe")
        for name in ("folder", "pipe"):
            self.assertIn("it must be a file", self.hob("check", self.art, "--baseline", self.folder / name, code=2)[1])

    def parts(self, name, *objects):
        """An OBJ file of objects that are open, or closed if their name ends so."""
        text, first = "", 1
        for part in objects:
            faces = FACES if part.endswith("closed") else FACES[:3]
            text += f"o {part}\n" + "".join("v %g %g %g\n" % p for p in apart(POINTS, 3 * first))
            text += "".join("f %d %d %d\n" % tuple(i + first for i in face) for face in faces)
            first += 4
        self.put(name, text)

    def test_a_baseline_knows_objects_by_their_names(self):
        self.known = self.folder / "known.txt"
        self.put("cook.json", '{"rules": {"mesh.open": "error"}}')
        names = [f"part{i}" for i in range(300)]
        self.parts("a.obj", *names)
        self.update()
        self.parts("a.obj", *reversed(names), "new")
        self.assertEqual(self.broken()[0], [("a.obj", "new")])
        # more than Hob lists are one finding
        self.parts("a.obj", *(f"part{i}" for i in range(1100)))
        self.assertEqual(len(self.broken()[0]), 1024 + 1 - 300)
        self.update()
        self.assertEqual(self.broken(code=0)[0], [])
        self.parts("a.obj", *(f"part{i}" for i in range(1101)))
        self.assertEqual(self.broken()[0], [("a.obj", "")])
        # a mesh without a name has the path of its node
        one = json.loads(gltf(model(shape(faces=FACES[:3]))))
        for names in ("xy", "zyx"):
            tree = {"nodes": [{"name": "body", "children": list(range(1, len(names) + 1))}, *({"name": name, "mesh": i} for i, name in enumerate(names))]}
            self.put("a.gltf", json.dumps(one | tree | {"meshes": [{"primitives": one["meshes"][0]["primitives"]}] * len(names)}))
            if names == "xy":
                self.update()
        self.assertEqual(self.broken()[0], [("a.gltf", "body/z")])

    def test_a_measure_is_that_of_the_worst_object(self):
        self.known = self.folder / "known.txt"
        self.put("cook.json", '{"rules": {"mesh.split-normals": {"max": 0.3, "level": "error"}}}')
        self.put("m.obj", obj(model(FLAT, materials=TWO, uses=[0, 1])).replace(b"{stem}", b"m"))
        self.put("m.mtl", mtl(model(materials=TWO)))
        text = self.check(code=4)
        self.assertRegex(text, r"(?m)^error    m.obj: mesh 'body': share of vertices that only normals split: 0\.3333")  # two materials: two parts
        self.put("cook.json", '{"rules": {"scene.size": {"min": 10, "level": "error"}}}')
        sized = lambda by: self.put("m.obj", obj(model(shape(points=[tuple(by * x for x in p) for p in POINTS]))).replace(b"{stem}", b"m"))
        sized(1)
        self.update()
        for by, code in ((1.5, 0), (1, 0), (0.9, 4), (4.9, 0), (6, 0)):
            sized(by)
            self.assertEqual("metres of the longest side" in self.broken(code=code)[1], code == 4)
        # one file of two pictures, of which one is used
        self.put("cook.json", '{"rules": {"texture.unused": "warning"}}')
        self.put("tex.png", png(9, 8, 7))
        for spare in ("tex.png", "other.png"):
            self.put("other.png", png(9, 8, 6))
            made = json.loads(gltf(model(materials=PICTURE)))
            made["images"].append({"uri": spare})
            self.put("m.gltf", json.dumps(made))
            self.assertEqual("textures that nothing shows" in self.check(), spare == "other.png")

    def test_one_save_changes_one_line_of_a_baseline(self):
        self.known = self.folder / "known.txt"
        self.put("cook.json", '{"rules": {"mesh.open": "error"}}')
        names = [f"part{i}" for i in range(10)]
        for other in "abc":
            self.parts(f"{other}.obj", *names)
        self.update()
        self.assertEqual([len(lines) for lines in self.update()], [0, 0])
        self.parts("b.obj", *names[:9], "part9closed")
        gone, new = self.update()
        self.assertEqual((new, [json.loads(line)[:4] for line in gone]), ([], [["b.obj", "mesh.open", "mesh", "part9"]]))
        self.parts("b.obj", *names[:9], "part9closed", "part10")
        gone, new = self.update()
        self.assertEqual((gone, [json.loads(line)[:4] for line in new]), ([], [["b.obj", "mesh.open", "mesh", "part10"]]))
        self.parts("b.obj", "more", "and more", "names", "than", "a fifth", *names[:9], "part10")
        self.update()
        self.parts("b.obj", "more", "and more", "names", "than", "a fifth", *names[:8], "part8closed", "part10")
        self.assertEqual([len(lines) for lines in self.update()], [1, 0])

    def test_a_renamed_and_edited_model_is_known_by_its_objects(self):
        self.known = self.folder / "known.txt"
        self.put("cook.json", '{"rules": {"mesh.open": "error"}}')
        names = [f"part{i}" for i in range(10)]
        self.parts("a.obj", *names)
        self.parts("z.obj", "other", "names")
        self.update()
        (self.art / "a.obj").unlink()
        self.parts("b.obj", *names[:8], "lamp", "bulb")
        found, text = self.broken()
        self.assertEqual(found, [("b.obj", "bulb"), ("b.obj", "lamp")])
        self.assertRegex(text, r"(?m)^b.obj shares \d+ of \d+ objects with a.obj, which is gone: it is taken for the same, renamed$")
        self.assertEqual(json.loads(self.check("--baseline", self.known, "--format", "json", code=4))["assets"][0]["was"], "a.obj")
        self.parts("b.obj", *names[:7], "lamp", "bulb", "wire")
        found, text = self.broken()
        self.assertEqual(len(found), 10)
        self.assertRegex(text, r"(?m)^b.obj shares \d+ of \d+ objects with a.obj, which is gone: it is taken for new \(the same: 80 %\)$")
        many = [f"part{i}" for i in range(500)]
        self.parts("b.obj", *many)
        self.update()
        (self.art / "b.obj").unlink()
        self.parts("c.obj", *many[:490], *(f"new{i}" for i in range(10)))
        self.assertEqual(len(self.broken()[0]), 10)
        self.parts("c.obj", *many[:250], *(f"new{i}" for i in range(250)))
        self.assertEqual(len(self.broken()[0]), 500)

    def put_library(self):
        """Models that are clean, warned of, refused, cooked by no settings, and damaged."""
        self.put("cook.json", '{"rules": {"mesh.open": "error", "name.node": {"match": "^[a-z]+$"}, "mesh.degenerate": "info"}}')
        for name, folder in (("open.off", FACES[:3]), ("closed.off", FACES), ("in dir/\u00fc & <b>.off", [*FACES, (0, 1, 1)]), ("strict/m.off", FACES[:3]),
                             ("wrong/m.off", FACES), ("budget/m.off", FACES), ("over/m.off", FACES), ("many.off", [*FACES, *LOOSE_FACES])):
            self.put(name, off(model(shape(faces=folder, points=LOOSE if name == "many.off" else POINTS))))
        for folder, settings in (("strict", {"strict": True, "rules": {"mesh.open": "warning"}}), ("wrong", {"rules": {"mesh.opan": "error"}}),
                                 ("budget", {"budget": {"triangles": 3, "fail": True}}), ("over", {"budget": {"triangles": 3}})):
            self.put(f"{folder}/cook.json", json.dumps(settings))
        self.put("in dir/gone.obj", obj(model(materials=[("paint", (1, 0, 0), 1, "gone.png")])).replace(b"{stem}", b"gone"))
        self.put("in dir/gone.mtl", mtl(model(materials=[("paint", (1, 0, 0), 1, "gone.png")])))
        self.put("named.gltf", gltf(model(nodes=[("Body", None, True, ONE)])))
        self.put("bad.obj", "f 1 2 3\n")
        self.put("both.merge", '{"scenes": [{"file": "open.off"}, {"file": "bad.obj"}]}')

    def test_a_daemon_tells_the_same(self):
        self.put_library()
        known = self.folder / "known.txt"
        self.start("--cache", self.folder / "of-daemon")
        def both(*options, paths=(self.art,), code):
            """The same output and exit code of a check that cooks and of one that asks; both baselines."""
            told = []
            for ask in ((), ("--url", f"127.0.0.1:{self.daemon.port}")):
                known.write_text(self.known)
                where = () if ask else ("--cache", self.folder / "cache")
                told.append((self.hob("check", *paths, *options, *where, *ask, code=code)[0], known.read_text()))
            self.assertEqual(*told)
            self.known = told[0][1]
            return told[0][0]
        self.known = ""
        self.hob("check", self.art, "--cache", self.folder / "cache", code=1)
        for form in ("text", "json", "sarif", "junit", "github"):
            for options in ((), ("--strict",)):
                text = both("--format", form, *options, code=1)
        self.assertEqual(text.count("::error"), 10)
        self.assertIn("12 models (9 from the cache): 7 errors, 3 warnings, 2 info", text := both(code=1))
        self.assertNotIn("mesh.lods", text)
        for name in ("bad.obj", "both.merge", "wrong/m.off"):
            (self.art / name).unlink()
        self.daemon.sync()
        both(code=4)
        both("--baseline", known, "--update-baseline", code=0)
        self.assertEqual(len(self.known.splitlines()), 14)
        both("--baseline", known, "--strict", code=0)
        # a new finding, a model under another name, a worse and a mended one, and one that a rule refuses while its last good version is served
        self.put("new/worse.off", off(model(shape(points=apart(POINTS, 3), faces=FACES[:3]))))
        (self.art / "open.off").rename(self.art / "renamed.off")
        self.put("closed.off", off(model(shape(points=apart(POINTS, 6), faces=FACES[:3]))))
        self.put("over/m.off", off(model(shape(points=apart(POINTS, 9), faces=FACES[:3]))))
        self.daemon.sync()
        self.hob("check", self.art, "--cache", self.folder / "cache", code=4)
        for form in ("text", "json", "sarif"):
            text = both("--baseline", known, "--format", form, code=4)
        self.assertEqual(self.daemon.assets()["art/closed.off"]["standing"], "broken")
        text = both("--baseline", known, code=4)
        self.assertEqual(re.findall(r"(?m)^error +([^:]+):", text), ["closed.off", "new/worse.off", "over/m.off"])
        self.assertRegex(text, "1 of the baseline mended, well done")
        both("--baseline", known, "--update-baseline", paths=(self.art / "closed.off",), code=0)
        both("--baseline", known, "--update-baseline", code=0)
        self.assertNotIn('"open.off"', self.known)

    def test_a_daemon_is_asked_for_what_it_watches(self):
        other = self.folder / "other"
        other.mkdir()
        self.put("in/m.off", off(model(shape(faces=FACES[:3]))))
        self.put("in/n.off", off(model()))
        (other / "m.off").write_bytes(off(model(shape(faces=FACES[:3]))))
        for folder in (self.art, other):
            (folder / "cook.json").write_text('{"rules": {"mesh.open": "error", "source.newer-than-export": "warning"}}')
        self.daemon = Daemon([self.art, other], self.cache)
        self.addCleanup(self.daemon.kill)
        self.daemon.sync()
        asked = lambda *paths, code=4, options=(): re.findall(r"(?m)^error +(.+): open|^(\d+ models?)", self.hob("check", "--daemon", *paths, *options, code=code)[0])
        all_three = [("art/in/m.off", ""), ("other/m.off", ""), ("", "3 models")]
        self.assertEqual(asked(), all_three)
        self.assertEqual(asked("art", "other/m.off"), all_three)
        self.assertEqual(asked("art"), [("in/m.off", ""), ("", "2 models")])
        self.assertEqual(asked("art/in/n.off", code=0), [("", "1 model")])
        self.assertEqual(asked(self.art / "in"), [("in/m.off", ""), ("", "2 models")])
        for paths, word in ((("art/in/gone.off",), "has no model 'art/in/gone.off'"), (("elsewhere",), "watches no folder with 'elsewhere'"), ((self.art / "i",), "watches no folder"),
                            (("art", "--deep"), "leave out --deep"), (("art", "--settings", "{}"), "leave out")):
            self.assertIn(word, self.hob("check", "--daemon", *paths, code=2)[1])
        self.hob("check", "--url", "127.0.0.1:1", code=3)
        # what only the daemon knows: the version before, and what it has not cooked yet
        self.put("cook.json", '{"rules": {"source.newer-than-export": "warning"}}')
        self.put("big.off", off(model(shape(points=LOOSE, faces=LOOSE_FACES))))
        self.daemon.sync()
        self.put("big.off", off(model(shape(points=LOOSE, faces=LOOSE_FACES[:9]))))
        self.daemon.sync()
        shrunk = "big.off: the last good version had more: triangles 400 -> 9"
        self.assertIn(f"warning  {shrunk}", self.hob("check", "--daemon", "art")[0])
        self.put("cook.json", '{"rules": {"source.shrunk": "error", "source.newer-than-export": "warning"}}')
        self.put("big.off", off(model(shape(points=LOOSE, faces=LOOSE_FACES[:2]))))
        self.daemon.sync()
        told = self.hob("check", "--daemon", "art", code=4)[0]
        self.assertRegex(told, r"(?m)^error    big.off: the last good version had more: .*\(source.shrunk\)$")
        for worker in children(self.daemon.process.pid):
            os.kill(worker, signal.SIGSTOP)
        try:
            self.put("new.off", off(model(shape(points=apart(POINTS, 3)))))
            until(lambda: "art/new.off" in self.daemon.assets(), "the model is listed")
            self.assertIn("error    new.off: it is waiting; 'hob sync' waits for the daemon (waiting)", self.hob("check", "--daemon", "art", code=1)[0])
        finally:
            for worker in children(self.daemon.process.pid):
                os.kill(worker, signal.SIGCONT)
        # a daemon on another machine, whose folders are not here
        self.daemon.sync()
        os.rename(other, self.folder / "away")
        until(lambda: self.daemon.get("/api/v1/roots").json()["items"][1]["missing_since"], "the folder is missing")
        self.assertIn("the folder of 'other' is missing since 20", self.hob("check", "--daemon", "other", code=2)[1])

    def test_a_finding_is_allowed_with_a_reason_and_an_author(self):
        self.known = self.folder / "known.txt"
        self.put("cook.json", '{"rules": {"mesh.open": "error"}}')
        self.parts("a.obj", "bridge", "hull")
        self.update()
        lines = self.known.read_text().splitlines()
        self.known.write_text("\n".join(json.dumps([*json.loads(line)[:4], 1, "it ends in the rock", "Ann"]) if '"bridge"' in line else line for line in lines))
        self.assertIn("2 known, 1 of them allowed\n", self.broken(code=0)[1])
        found = json.loads(self.check("--baseline", self.known, "--format", "json"))["assets"][0]["notes"]
        self.assertEqual([note.get("allowed") for note in found], [{"reason": "it ends in the rock", "author": "Ann"}, None])
        run = json.loads(self.check("--baseline", self.known, "--format", "sarif"))["runs"][0]
        self.assertEqual([result.get("suppressions") for result in run["results"]],
                         [[{"kind": "external", "justification": "it ends in the rock", "properties": {"author": "Ann"}}], None])
        self.parts("a.obj", "bridge", "hullclosed")
        self.update()
        self.assertEqual([json.loads(line)[3:] for line in self.known.read_text().splitlines()[1:]], [["bridge", 3, "it ends in the rock", "Ann"]])
        self.parts("a.obj", "bridgeclosed", "hullclosed")
        self.update()
        self.assertEqual(self.known.read_text(), "")


if __name__ == "__main__":
    main()
