#!/usr/bin/env python3
"""Differences between two cooks: changes are planted in a model, one at a time, and each must be reported in numbers and text,
with the right severity; an unchanged cook must report nothing."""
import json
import pathlib
import re
import struct
import subprocess

import robot
from hobtest import DEADLINE, HOB, Scenario, main, obj_text, png, png_pixels


def without_clip(made):
    del made["clips"]["Wave"]


def denser(made):
    made["sides"]["Body"] = 21


def moved(made):
    made["nodes"][2]["translation"] = [1.5, 0.5, 0.25]


def turned(made):
    made["nodes"][2]["rotation"] = [0, 0.3826834, 0, 0.9238795]


def scaled(made):
    made["nodes"][0]["scale"] = [2, 2, 2]


def renamed_material(made):
    made["materials"][0]["name"] = "Iron"


def renamed_node(made):
    made["nodes"][3]["name"] = "claw"


def renamed_group(made):
    made["nodes"][0]["name"] = "machine"


def lost_node(made):
    made["nodes"][0]["children"] = [1, 2]
    del made["nodes"][3]


def lost_normal_texture(made):
    del made["materials"][0]["normalTexture"]


def lost_colors(made):
    made["colors"] = False


def painted(made):
    made["materials"][1]["pbrMetallicRoughness"]["baseColorFactor"] = [0.5, 0.1, 0.1, 1]


def longer_clip(made):
    made["clips"]["Walk"] = (1, "translation", [0, 0, 0, 0, 0.5, 0, 0, 0, 0], [0, 0.5, 3])


def lost_all_clips(made):
    made["clips"] = {}


# name -> (description of the change, [(severity, part, change, words in the text)], {number: (severity, whether it grows)})
PLANTED = {
    "lost_clip": (without_clip, [("bad", "clip", "gone", "'Wave'")], {"animations": ("warn", False)}),
    "all_clips": (lost_all_clips, [("bad", "clip", "gone", "'Walk'"), ("bad", "clip", "gone", "'Wave'")],
                  {"animations": ("bad", False), "bytes": ("note", False)}),
    "denser": (denser, [("warn", "mesh", "changed", "882 triangles, was 800")], {"triangles": ("warn", True)}),
    "moved": (moved, [("note", "node", "changed", "'arm' is moved by 0.25 m")], 
              {"depth": ("note", True), "differing_nodes": ("note", True), "largest_move": ("note", True)}),
    "turned": (turned, [("note", "node", "changed", "'arm' is turned by 45 degrees")],
               {"differing_nodes": ("note", True), "largest_turn": ("note", True)}),
    "scaled": (scaled, [("note", "node", "changed", "'robot' is scaled by 2 2 2, was 1 1 1")], {"width": ("note", True)}),
    "material_name": (renamed_material, [("warn", "material", "renamed", "'Steel' is called material 'Iron' now")],
                      {"renamed_parts": ("warn", True)}),
    "node_name": (renamed_node, [("warn", "node", "renamed", "'grip' is called node 'claw' now")],
                  {"renamed_parts": ("warn", True)}),
    "lost_node": (lost_node, [("warn", "node", "gone", "'grip' is gone")], {"nodes": ("warn", False)}),
    "lost_texture_use": (lost_normal_texture, [("bad", "material", "changed", "lost its normal texture")],
                         {"textures": ("warn", False)}),
    "lost_colors": (lost_colors, [("bad", "mesh", "changed", "lost its vertex colours")],
                    {"differing_meshes": ("note", True)}),
    "painted": (painted, [("note", "material", "changed", "base_color [0.5,0.1,0.1,1]")],
                {"differing_materials": ("note", True)}),
    "longer": (longer_clip, [("warn", "clip", "changed", "'Walk' lasts 3 s, was 1 s")],
               {"animation_seconds": ("note", True)}),
}


def differs(pixel):
    return pixel[3] == 255 and pixel[0] > 200 and pixel[2] < 60


def ring(pixel):
    return pixel == (20, 90, 220, 255)


def blue(pixel):
    return pixel[3] == 255 and pixel[2] == 235


class Compare(Scenario):
    def plant(self, name, made):
        self.put(f"{name}/robot.gltf", robot.text(made))
        self.put(f"{name}/color.png", png(200, 40, 40))
        self.put(f"{name}/normal.png", png(128, 50, 220))

    def compare(self, name, **versions):
        asset = self.daemon.assets()[f"art/{name}/robot.gltf"]
        query = "&".join(f"{key}={value}" for key, value in versions.items())
        answer = self.daemon.get(f"/api/v1/assets/{asset['id']}/compare?{query}")
        self.assertEqual(200, answer.status, answer.body)
        return answer.json()

    def expect(self, found, changes, numbers):
        told = [(each["tone"], each["part"], each["change"], each["text"]) for each in found["changes"]]
        for tone, part, change, words in changes:
            self.assertTrue(any(each[:3] == (tone, part, change) and words in each[3] for each in told),
                            f"{(tone, part, change, words)} is not among {told}")
        figures = {each["name"]: each for each in found["numbers"]}
        for name, (tone, grows) in numbers.items():
            self.assertEqual(tone, figures[name]["tone"], figures[name])
            self.assertEqual(grows, figures[name]["to"] > figures[name]["from"], figures[name])

    def test_each_planted_change_is_told_and_nothing_else(self):
        others = ["same", "flipped", "missing", "coarser", "faceless"]
        for name in [*PLANTED, *others]:
            self.plant(name, robot.model())
        flat = {**robot.model(), "normals": False}
        self.plant("flat", flat)
        with self.serve() as self.daemon:
            self.daemon.sync()
            for name, (change, _, _) in PLANTED.items():
                made = robot.model()
                change(made)
                self.put(f"{name}/robot.gltf", robot.text(made))
            self.put("same/robot.gltf", robot.text({**robot.model(), "indent": 1}))
            moved(flat)
            self.put("flat/robot.gltf", robot.text(flat))
            self.put("faceless/robot.gltf", robot.text({**robot.model(), "normals": False}))
            self.put("flipped/normal.png", png(128, 206, 220))
            (self.art / "missing/color.png").unlink()
            self.put("coarser/robot.gltf.cook.json", json.dumps({"lods": {"ratio": 0.2}}))
            self.daemon.sync()
            for name, (_, changes, numbers) in PLANTED.items():
                with self.subTest(name):
                    found = self.compare(name)
                    self.assertFalse(found["equal"])
                    self.expect(found, changes, numbers)
                    self.assertEqual(sum(found["tones"].values()), len(found["changes"]))
                    extra = [each["text"] for each in found["changes"]
                             if not any(words in each["text"] for _, _, _, words in changes)]
                    self.assertLessEqual(len(extra), 4, extra)
            self.expect(self.compare("flipped"), [("note", "texture", "changed", "(normal) shows another picture")],
                        {"differing_textures": ("note", True)})
            self.expect(self.compare("missing"), [("bad", "texture", "changed", "cannot be read: a checkerboard replaces it")],
                        {"missing_textures": ("bad", True)})
            self.expect(self.compare("faceless"), [("warn", "mesh", "changed", "has lost the normals of its source")],
                        {"differing_meshes": ("note", True)})
            self.assertEqual(["node"], [each["part"] for each in self.compare("flat")["changes"]], "it had none to lose")
            self.expect(self.compare("coarser"), [("warn", "mesh", "changed", "mesh 'Body'")], {"differing_meshes": ("note", True)})
            key = self.daemon.get(f"/api/v1/assets/{self.daemon.assets()['art/same/robot.gltf']['id']}/history").json()
            again, first = [each["key"] for each in key["items"] if each["result"] in ("cooked", "hit")][:2]
            same = self.compare("same", **{"from": first, "to": again})
            self.assertNotEqual(first, again)
            self.assertTrue(same["equal"])
            self.assertEqual([], same["changes"])
            self.assertEqual({"same"}, {each["tone"] for each in same["numbers"]})

    def test_versions_are_named_by_rev_key_and_word(self):
        self.plant("a", robot.model())
        with self.serve() as self.daemon:
            self.daemon.sync()
            rev = self.daemon.assets()["art/a/robot.gltf"]["rev"]
            made = robot.model()
            moved(made)
            self.put("a/robot.gltf", robot.text(made))
            self.daemon.sync()
            asset = self.daemon.assets()["art/a/robot.gltf"]
            history = self.daemon.get(f"/api/v1/assets/{asset['id']}/history").json()["items"]
            history = [each for each in history if each["result"] in ("cooked", "hit")]
            by_word = self.compare("a")
            self.assertEqual(by_word, self.compare("a", **{"from": rev, "to": asset["rev"]}))
            self.assertEqual(by_word, self.compare("a", **{"from": history[1]["key"], "to": history[0]["key"]}))
            back = self.compare("a", **{"from": "latest", "to": rev})
            apart = re.compile("renamed_|differing_|largest_")
            ways = [[each for each in found["numbers"] if not apart.match(each["name"])] for found in (by_word, back)]
            self.assertEqual([each["to"] for each in ways[0]], [each["from"] for each in ways[1]])
            for name, tone, far in (("differing_nodes", "note", 1), ("largest_move", "note", 0.25)):
                for found in (by_word, back):
                    self.assertIn({"name": name, "unit": "count" if far == 1 else "metres", "from": 0, "to": far, "tone": tone},
                                  found["numbers"])
            for status, version in ((404, asset["rev"] + 100), (400, "yesterday"), (410, "0" * 64)):
                answer = self.daemon.get(f"/api/v1/assets/{asset['id']}/compare?from={version}")
                self.assertEqual(status, answer.status, answer.body)

    def picture(self, name, side=64, **query):
        """The picture's three squares, as [square][y][x] = (r, g, b, a)."""
        asset = self.daemon.assets()[f"art/{name}/robot.gltf"]
        text = "&".join(f"{key}={value}" for key, value in {**query, "size": side}.items())
        answer = self.daemon.get(f"/api/v1/assets/{asset['id']}/compare/picture?{text}")
        if answer.status == 404 and "hob-thumbnail" in answer.json()["detail"]:
            self.skipTest("there is no hob-thumbnail")
        self.assertEqual(200, answer.status, answer.body)
        self.assertEqual("image/png", answer.headers["content-type"])
        self.assertEqual((3 * side, side), struct.unpack(">II", answer.body[16:24]))
        flat = png_pixels(answer.body)
        row = 3 * side * 4
        return [[[tuple(flat[y * row + (square * side + x) * 4:][:4]) for x in range(side)] for y in range(side)]
                for square in range(3)]

    def test_pictures_show_where_the_difference_is(self):
        seen = ("moved", "turned", "scaled", "denser", "lost_texture_use", "lost_colors", "painted")
        moving = ("lost_clip", "all_clips", "longer")
        for name in (*seen, *moving, "same", "flipped", "missing"):
            self.plant(name, robot.model())
        with self.serve() as self.daemon:
            self.daemon.sync()
            for name in (*seen, *moving):
                made = robot.model()
                PLANTED[name][0](made)
                self.put(f"{name}/robot.gltf", robot.text(made))
            self.put("flipped/normal.png", png(128, 206, 220))
            (self.art / "missing/color.png").unlink()
            self.daemon.sync()
            before, after, difference = self.picture("moved", view="top")
            self.assertNotEqual(before, after)
            places = [x for row in difference for x, pixel in enumerate(row) if differs(pixel)]
            self.assertGreater(len(places), 5)
            self.assertGreater(min(places), 32, "the arm is right of the body, which did not move")
            self.assertTrue(any(ring(pixel) for row in difference for pixel in row))
            for name in (*seen, "flipped", "missing"):
                with self.subTest(name):
                    # Each picture starts a drawing program: the first view that shows the change is enough.
                    self.assertTrue(any(differs(pixel) for view in ("corner", "top", "left") for row in self.picture(name, view=view)[2]
                                        for pixel in row))
            for name, clip in (("lost_clip", "Wave"), ("all_clips", "Walk"), ("longer", "Walk")):
                with self.subTest(name):
                    before, posed, moving = self.picture(name, view="left", clip=clip)
                    self.assertTrue(any(differs(pixel) for row in moving for pixel in row))
                    self.assertTrue(any(ring(pixel) for row in moving for pixel in row))
                    self.assertNotEqual(before, posed)
            _, _, rest = self.picture("longer", view="left")
            self.assertFalse(any(differs(pixel) for row in rest for pixel in row), "at rest no clip is seen")
            asset = self.daemon.assets()["art/lost_clip/robot.gltf"]["id"]
            for status, clip in ((400, ""), (400, "x" * 1025), (422, "Run")):
                self.assertEqual(status, self.daemon.get(f"/api/v1/assets/{asset}/compare/picture?clip={clip}").status)
            before, after, difference = self.picture("same", **{"from": "latest"})
            self.assertEqual(before, after)
            self.assertFalse(any(differs(pixel) or ring(pixel) for row in difference for pixel in row))

    def test_pictures_show_other_names_and_coarser_levels(self):
        renamed = {"material": renamed_material, "group": renamed_group}
        for name in (*renamed, "coarser"):
            self.plant(name, robot.model())
        with self.serve() as self.daemon:
            self.daemon.sync()
            for name, change in renamed.items():
                made = robot.model()
                change(made)
                self.put(f"{name}/robot.gltf", robot.text(made))
            self.put("coarser/robot.gltf.cook.json", json.dumps({"lods": {"ratio": 0.2}}))
            self.daemon.sync()
            tinted = []
            for name in renamed:
                before, after, marked = self.picture(name, view="top")
                self.assertEqual(before, after, "a name is not seen")
                pixels = [pixel for row in marked for pixel in row]
                self.assertFalse(any(differs(pixel) or ring(pixel) for pixel in pixels))
                tinted.append(sum(map(blue, pixels)))
            self.assertGreater(tinted[0], 25)
            self.assertLess(1.5 * tinted[0], tinted[1], "the material is that of the body, the group has the arm, too")
            before, after, marked = self.picture("coarser", view="corner")
            self.assertNotEqual(before, after)
            self.assertTrue(any(differs(pixel) for row in marked for pixel in row))
            self.assertFalse(any(blue(pixel) for row in marked for pixel in row))

    def hob(self, *arguments, code):
        done = subprocess.run([HOB, "diff", *arguments, "--url", f"http://127.0.0.1:{self.daemon.port}"], text=True,
                              capture_output=True, timeout=DEADLINE, cwd=self.folder)
        self.assertEqual(code, done.returncode, done.stdout + done.stderr)
        return done.stdout if code in (0, 1, 4) else done.stderr

    def test_a_report_of_two_revisions_has_the_largest_changes_first(self):
        for name in ("a|b", "denser", "lost_clip", "named", "kept", "going"):
            self.plant(name, robot.model())
        with self.serve() as self.daemon:
            self.daemon.sync()
            rev = str(max(asset["rev"] for asset in self.daemon.assets().values()))
            self.assertIn("0 changed, 0 new, 0 gone", self.hob("--from", rev, code=0))
            for name, change in (("a|b", moved), ("denser", denser), ("lost_clip", without_clip), ("named", renamed_material)):
                made = robot.model()
                change(made)
                self.put(f"{name}/robot.gltf", robot.text(made))
            self.plant("fresh", robot.model())
            (self.art / "going/robot.gltf").unlink()
            self.daemon.sync()
            report = json.loads(self.hob("--from", rev, "--format", "json", code=1))
            self.assertEqual(["art/lost_clip/robot.gltf", "art/denser/robot.gltf", "art/named/robot.gltf", "art/a|b/robot.gltf"],
                             [each["asset"] for each in report["changed"]])
            self.assertEqual((["art/fresh/robot.gltf"], ["art/going/robot.gltf"]), (report["added"], report["gone"]))
            markdown = self.hob("--from", rev, "--format", "md", "--pictures", "changed", code=1)
            self.assertIn("4 changed, 1 new, 1 gone", markdown)
            self.assertNotRegex(markdown + "\n", r"\|---\|---\|\n(?!\|)", "a table without a row")
            self.assertIn("| art/a\\|b/robot.gltf |", markdown, "a bar in a name ends no cell")
            rows = [line for line in markdown.splitlines() if line.startswith("| art/")]
            self.assertEqual({6}, {len(re.findall(r"(?<!\\)\|", row)) for row in rows})
            self.assertIn("- \u274c clip 'Wave' is gone", markdown)
            self.assertIn("- node 'arm' is moved by 0.25 m", markdown, "a list has its own bullets")
            pictures = re.findall(r"!\[[^]]*\]\(<([^>]*)>\)", markdown)
            drawn = sorted(path.name for path in (self.folder / "changed").iterdir())
            self.assertEqual(drawn, sorted(pathlib.Path(picture).name for picture in pictures))
            for picture in pictures:
                self.assertEqual(b"\x89PNG", (self.folder / picture).read_bytes()[:4])
            for picture in pictures:
                if "lost_clip" in picture:
                    flat = png_pixels((self.folder / picture).read_bytes())
                    self.assertIn(bytes((20, 90, 220, 255)), {flat[at:at + 4] for at in range(0, len(flat), 4)}, "posed, and marked")
            page = self.hob("--from", rev, "--format", "html", code=1)
            self.assertEqual(5, page.count("<section>") - page.count("<h2>Gone"))
            self.assertIn("882 triangles, was 800", self.hob("--from", rev, "art/denser", code=1))
            self.assertNotIn("Wave", self.hob("--from", rev, "art/denser", code=1))
            alone = self.hob("art/denser/robot.gltf", "--format", "text", code=1)
            self.assertIn("882 triangles, was 800", alone)
            growth = self.hob("--from", rev, "--max-growth", '{"triangles": "5%"}', code=4)
            self.assertIn("over budget: triangles grew by +8.84 %, at most 5 %", growth)
            self.hob("--from", rev, "--max-growth", '{"triangles": "9%", "bytes": 0.5}', code=1)
            for wrong, said in ((["--format", "pdf", "--from", rev], "there are text, md, html and json"),
                                (["--from", "main"], "serves no git repository"), (["--format", "md"], "--from REV is missing"),
                                (["--from", rev, "--max-growth", '{"triangles": "many"}'], "must be a percentage")):
                self.assertIn(said, self.hob(*wrong, code=2))

    def test_rules_are_told_with_the_number_of_objects(self):
        def rules(**levels):
            return json.dumps({"rules": {"mesh.open": "warning", **levels}})

        one, two = (f"o {name}\n{obj_text(2)}" for name in ("one", "two"))
        self.put("cook.json", rules())
        self.put("m.obj", one)
        with self.serve() as self.daemon:
            steps = ((lambda: self.put("cook.json", rules(**{"uv.missing": "warning"})), "warn", "broken", 0, 1,
                      "the rule uv.missing is broken by 1 object"),
                     (lambda: self.put("m.obj", one + two), "warn", "changed", 1, 2,
                      "the rule uv.missing is broken by 2 objects, was 1"),
                     (lambda: self.put("m.obj", one), "good", "changed", 2, 1, "the rule uv.missing is broken by 1 object, was 2"),
                     (lambda: self.put("cook.json", rules()), "good", "kept", 1, 0,
                      "the rule uv.missing is kept again, was broken by 1 object"))
            self.daemon.sync()
            for step, tone, change, before, after, words in steps:
                with self.subTest(words):
                    rev = str(max(asset["rev"] for asset in self.daemon.assets().values()))
                    step()
                    self.daemon.sync()
                    said = self.hob("--from", rev, "art/m.obj", code=1)
                    self.assertIn(f"  {tone:5}{words}\n", said)
                    changed, = json.loads(self.hob("--from", rev, "art/m.obj", "--format", "json", code=1))["changed"]
                    told = [each for each in changed["comparison"]["changes"] if each["part"] == "rule" and each["name"] == "uv.missing"]
                    self.assertEqual([{"tone": tone, "part": "rule", "change": change, "name": "uv.missing", "from": before, "to": after,
                                       "text": words}], told)
                    self.assertIn(told[0], self.daemon.get("/api/v1/history?limit=1").json()["items"][0]["changes"])

    def test_an_asset_cooked_once_has_nothing_to_compare_with(self):
        self.plant("a", robot.model())
        with self.serve() as self.daemon:
            self.daemon.sync()
            asset = self.daemon.assets()["art/a/robot.gltf"]
            answer = self.daemon.get(f"/api/v1/assets/{asset['id']}/compare")
            self.assertEqual(404, answer.status)
            self.assertIn("no earlier cook", answer.json()["detail"])


main()
