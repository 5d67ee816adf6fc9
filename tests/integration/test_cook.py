"""hob cook: one-shot cooking, scene lists, determinism, exit codes."""
import hashlib
import json
import os
import pathlib
import re
import signal
import subprocess

from hobtest import DEADLINE, HOB, MODELS, Scenario, bumpy_grid, main, obj_text, png, until


def tree(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(pathlib.Path(folder).rglob("*"))
            if path.is_file() and not path.name.endswith(".report.json")}


class Cook(Scenario):
    def cook(self, *arguments, cwd=None, code=0):
        done = subprocess.run([HOB, "cook", *map(str, arguments)], capture_output=True, text=True, timeout=DEADLINE,
                              cwd=cwd or self.folder)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def models(self):
        self.put("tex/a.png", png(255, 0, 0))
        for i in range(6):
            self.put(f"d{i % 2}/m{i}.mtl", "newmtl m\nKd 1 1 1\nmap_Kd ../tex/a.png\n")
            self.put(f"d{i % 2}/m{i}.obj", obj_text(50 + 40 * i, mtl=f"m{i}.mtl"))

    def test_same_bytes_with_any_workers_place_and_time(self):
        self.models()
        self.cook(self.art, "-o", self.folder / "one", "--classic", "-j", "1")
        for path in self.art.rglob("*"):
            os.utime(path, (1, 1))
        self.cook(".", "-o", self.folder / "two", "--classic", "-j", "8", cwd=self.art)
        one, two = tree(self.folder / "one"), tree(self.folder / "two")
        self.assertEqual(list(one), list(two))
        self.assertEqual(one, two)
        self.assertEqual(len([name for name in one if name.endswith(".classic.meshes")]), 6)

    def test_outputs_validate(self):
        self.cook(MODELS, "-o", self.folder / "out", "--classic")
        files = [str(path) for path in (self.folder / "out").rglob("*") if path.is_file() and path.suffix != ".json"]
        self.assertGreater(len(files), 6)
        done = subprocess.run([HOB, "inspect", "--validate", *files], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(done.stdout.splitlines()), len(files))

    def test_check_cooks_and_writes_nothing(self):
        self.put("one.obj", obj_text(2))
        self.put("bad.gltf", "{")
        done = self.cook(self.art, "--check", "-o", self.folder / "out", code=1)
        self.assertIn("1 cooked, 1 failed", done.stderr)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["art"])

    def test_the_limit_of_a_file_is_that_of_the_configuration(self):
        self.put("one.obj", obj_text(2000))
        (self.folder / "hob.json").write_text(json.dumps({"cook": {"source_limit": "16 KiB"}}))
        done = self.cook("art", "-o", "out", code=1)
        self.assertIn("reads at most 16384 per file (cook.source_limit)", done.stderr)
        (self.folder / "hob.json").unlink()
        self.cook("art", "-o", "out")

    def test_scene_list_unchanged(self):
        self.models()
        scenes = [{"input_scene": f"art/d0/m{i}.obj", "output_mesh": f"data/meshes/t{i}.meshes",
                   "output_scene": f"data/meshes/t{i}.scene", "output_materials": f"data/meshes/t{i}.materials",
                   "scale": 0.01, "calculate_LODs": i == 0, "merge_instances": True} for i in (0, 2)]
        (self.folder / "sceneconverter.json").write_text(json.dumps(scenes))
        self.cook("sceneconverter.json")
        for i in (0, 2):
            data = (self.folder / f"data/meshes/t{i}.meshes").read_bytes()
            self.assertEqual(data[:4], bytes.fromhex("78563412"))
            self.assertTrue((self.folder / f"data/meshes/t{i}.scene").exists())
        materials = (self.folder / "data/meshes/t0.materials").read_bytes()
        names = [path.name for path in (self.folder / "data/meshes/out_textures").iterdir()]
        self.assertEqual(len(names), 1)
        self.assertIn(b"out_textures/" + names[0].encode(), materials)

    def test_a_scene_that_is_missing_fails_alone(self):
        self.models()
        scenes = [{"input_scene": f"art/{name}", "output_mesh": f"o/{i}.meshes", "output_scene": f"o/{i}.scene",
                   "output_materials": f"o/{i}.materials"} for i, name in enumerate(("gone/x.gltf", "d0/m0.obj", "d1/none.obj"))]
        (self.folder / "list.json").write_text(json.dumps(scenes))
        said = self.cook("list.json", "--report", "report.json", code=1).stderr
        self.assertIn("art/gone/x.gltf: 'art/gone/x.gltf' cannot be opened: No such file or directory; named in list.json", said)
        self.assertIn("1 cooked, 2 failed", said)
        self.assertEqual([path.name for path in sorted((self.folder / "o").glob("*.*"))], ["1.materials", "1.meshes", "1.scene"])
        states = {item["path"]: item.get("error") is None for item in json.loads((self.folder / "report.json").read_text())["assets"]}
        self.assertEqual(states, {"art/gone/x.gltf": False, "art/d0/m0.obj": True, "art/d1/none.obj": False})

    def test_budgets_of_a_file_win(self):
        self.put("small.obj", obj_text(2))
        self.put("large.obj", obj_text(30))
        self.put("large.obj.cook.json", '{"budget": {"triangles": 1000}}')
        budget = self.folder / "budget.json"
        for text in ('{"triangles": 10}', '{"budget": {"triangles": 10}, "lods": {"max": 1}}'):
            budget.write_text(text)
            said = self.cook(self.art, "--check", "--budget", budget, code=4).stderr
            self.assertIn("large.obj: 30 triangles are over the budget of 10", said)
            self.assertIn("2 cooked, 0 failed, 1 over budget", said)
        budget.write_text('{"triangles": 10, "fail": true}')
        self.assertIn("1 cooked, 1 failed", self.cook(self.art, "--check", "--budget", budget, code=4).stderr)
        budget.write_text('{"triangles": 30}')
        self.cook(self.art, "--check", "--budget", budget)
        for text, words in (('{"triangels": 1}', "did you mean 'budget.triangles'"), ("[]", "a budget file holds"), ("{", "a budget file holds")):
            budget.write_text(text)
            self.assertIn(words, self.cook(self.art, "--check", "--budget", budget, code=2).stderr)
        self.assertIn("cannot be read: No such", self.cook(self.art, "--budget", self.folder / "none", code=2).stderr)

    def test_the_first_failure_may_end_it(self):
        for i in range(8):
            self.put(f"m{i}.obj", obj_text(2))
        self.put("m8.gltf", "{" * 9999)
        said = self.cook(self.art, "--check", "--fail-fast", "-j1", code=1).stderr
        self.assertIn("0 cooked, 1 failed", said)
        self.assertIn("stopped at the first failure; 8 were not cooked", said)
        self.assertIn("8 cooked, 1 failed", self.cook(self.art, "--check", "-k", "-j=1", code=1).stderr)
        self.cook(self.art, "--keep-going", "--fail-fast", code=2)

    def test_the_largest_is_cooked_first(self):
        for name, size in (("a", 20), ("b", 900), ("c", 2), ("d", 300)):
            self.put(f"{name}.obj", obj_text(size))
        said = self.cook(self.art, "--check", "-j1").stderr
        self.assertEqual(re.findall(r"^cooked +(\w)[.]obj", said, re.M), ["b", "d", "a", "c"])

    def test_what_is_no_file_is_written_into(self):
        self.put("one.obj", obj_text(2))
        os.mkfifo(self.folder / "pipe")
        end = os.open(self.folder / "pipe", os.O_RDWR | os.O_NONBLOCK)
        self.addCleanup(os.close, end)
        self.cook(self.art, "-o", self.folder / "out", "--report", self.folder / "pipe")
        self.assertEqual(len(json.loads(os.read(end, 65536))["assets"]), 1)

    def test_space_settings_place_a_model(self):
        self.put("m.obj", "v 0 0 0\nv 1 0 0\nv 0 2 3\nf 1 2 3\n")
        for settings, bounds in (("{}", (0, 0, 0, 1, 2, 3)), ('{"unit": "cm", "scale": 100}', (0, 0, 0, 1, 2, 3)),
                                 ('{"unit": "km"}', (0, 0, 0, 1000, 2000, 3000)),
                                 ('{"up_axis": "z", "unit": "m"}', (0, 0, -2, 1, 3, 0))):
            self.put("m.obj.cook.json", settings)
            done = subprocess.run([HOB, "inspect", self.art / "m.obj"], capture_output=True, text=True, timeout=DEADLINE)
            numbers = [float(word.strip("()")) for word in done.stdout.split("bounds ")[1].split("\n")[0].split() if word != "to"]
            for got, wanted in zip(numbers, bounds, strict=True):
                self.assertAlmostEqual(got, wanted, delta=1e-5 * max(bounds), msg=settings)
        self.put("m.obj.cook.json", '{"up_axis": "w"}')
        self.assertIn("'up_axis' must be one of file, x, y, z, not \"w\"", self.cook(self.art / "m.obj", code=1).stderr)

    def test_faces_that_all_vanish_are_a_failure(self):
        self.put("point.obj", "v 0 0 0\nv 1 0 0\nf 1 1 1\nf 2 2 2\n")
        self.put("some.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 1 1\nf 1 2 3\n")
        self.put("lines.obj", "v 0 0 0\nv 1 0 0\nl 1 2\n")
        done = self.cook(self.art, "-o", self.folder / "out", code=1)
        self.assertIn("failed  point.obj: the source has 2 triangles, and none is left: each has corners in one place", done.stderr)
        self.assertIn("2 cooked, 1 failed", done.stderr)

    def test_an_fbx_without_anything_to_draw_is_cooked_with_a_warning(self):
        whole = "; FBX 7.4.0 project file\nFBXHeaderExtension: {\n FBXVersion: 7400\n}\nObjects: {\n%s}\nConnections: {\n%s}\n"
        self.put("empty.fbx", whole % ("", ""))
        self.put("light.fbx", whole % (
            ' Geometry: 1, "Geometry::g", "Mesh" {\n  Vertices: *3 {\n   a: 0,0,0\n  }\n'
            '  PolygonVertexIndex: *3 {\n   a: 0,0,-1\n  }\n }\n Model: 2, "Model::m", "Mesh" {\n }\n'
            ' Model: 3, "Model::l", "Light" {\n }\n NodeAttribute: 4, "NodeAttribute::l", "Light" {\n }\n',
            ' C: "OO",1,2\n C: "OO",2,0\n C: "OO",3,0\n C: "OO",4,3\n'))
        done = self.cook(self.art, "-o", self.folder / "out")
        self.assertIn("2 cooked, 0 failed", done.stderr)
        self.assertIn("empty.fbx: the file holds no model, camera or light: there is nothing to draw", done.stderr)
        self.assertIn("light.fbx: the source has 1 triangle, and none is left", done.stderr)

    def test_known_formats_without_a_reader_are_skipped(self):
        self.put("a/one.obj", obj_text(2))
        self.put("a/scene.max", "?")
        self.put("b/Rig.MA", "?")
        self.put("b/new.blend", "BLENDER-v304" + "?" * 100)
        self.put("b/packed.blend", b"\x28\xb5\x2f\xfd" + b"?" * 100)
        self.put("b/later.blend", "BLENDER17-01v0500" + "?" * 100)
        self.put("b/notes.txt", "?")
        done = self.cook(self.art, "-o", self.folder / "out", "--report", self.folder / "report.json", "--blender", "none")
        self.assertIn("1 cooked, 0 failed, 5 skipped in", done.stderr)
        self.assertIn("skipped  a/scene.max: Hob does not read a 3ds Max scene; export glTF or FBX from 3ds Max", done.stderr)
        report = json.loads((self.folder / "report.json").read_text())
        self.assertEqual((report["cooked"], report["failed"]), (1, 0))
        self.assertEqual(sorted(item["path"] for item in report["skipped"]),
                         ["a/scene.max", "b/Rig.MA", "b/later.blend", "b/new.blend", "b/packed.blend"])
        done = self.cook(self.art / "a/scene.max", "-o", self.folder / "out", code=1)
        self.assertIn("failed  art/a/scene.max: Hob does not read a 3ds Max scene; export glTF", done.stderr, "asked for by name")

    def test_formats_that_share_an_ending_are_named_too(self):
        told = {"t.raw": "Hob does not read a RAW file (triangles, height field or picture); export glTF or STL",
                "robot.mesh.XML": "Hob does not read a mesh of Ogre as XML; export glTF, or convert it to .mesh with OgreXMLConverter",
                "s.babylon": "Hob does not read a Babylon.js scene; export glTF from Babylon.js or its sandbox"}
        for name in [*told, "notes.xml", ".raw", "mesh.xml"]:
            self.put(name, "?")
        done = self.cook(self.art, "-o", self.folder / "out")
        self.assertIn("0 cooked, 0 failed, 3 skipped in", done.stderr)
        for name, text in told.items():
            self.assertIn(f"skipped  {name}: {text}", done.stderr)

    def test_wrong_settings_fail_what_they_cover(self):
        self.put("a/one.obj", obj_text(2))
        self.put("b/two.obj", obj_text(2))
        self.put("b/cook.json", '{"lods": {"maxx": 2}}')
        self.put("c/three.obj", obj_text(2))
        self.put("c/three.obj.cook.json", "{")
        done = self.cook(self.art, "-o", self.folder / "out", code=1)
        self.assertIn("1 cooked, 2 failed", done.stderr)
        self.assertIn("did you mean 'lods.max'", done.stderr)
        self.assertIn("not valid JSON", done.stderr)
        self.assertTrue((self.folder / "out/a/one.obj.meshes").exists())

    def test_meshes_of_one_material_become_one_draw(self):
        self.put("tex.mtl", "newmtl a\nKd 1 0 0\nnewmtl b\nKd 0 0 1\n")
        parts = "".join(f"o part{i}\nusemtl {'ab'[i % 2]}\n" + "".join(f"v {i} {k % 2} {k // 2}\n" for k in range(3)) +
                        "f -3 -2 -1\n" for i in range(6))
        self.put("m.obj", "mtllib tex.mtl\n" + parts)
        counts = []
        for settings in ("{}", '{"merge_materials": true}'):
            report = self.folder / "report.json"
            self.cook(self.art, "-o", self.folder / "out", "--report", report, "--settings", settings)
            found = json.loads(report.read_text())["assets"][0]
            counts.append((found["meshes"], found["triangles"], found["materials"]))
        self.assertEqual(counts, [(6, 6, 2), (2, 6, 2)])

    def test_unused_texture_coordinates_are_dropped_when_asked(self):
        self.put("a.png", png(255, 0, 0))
        self.put("m.mtl", "newmtl m\nmap_Kd a.png\nnewmtl n\nKd 1 0 0\n")
        for name, material in (("plain.obj", "n"), ("pictured.obj", "m")):
            self.put(name, f"mtllib m.mtl\nusemtl {material}\nv 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 0 1\nf 1/1 2/2 3/3\n")
        for drop, sets in (("false", {"plain.obj": True, "pictured.obj": True}), ("true", {"plain.obj": False, "pictured.obj": True})):
            self.cook(self.art, "-o", self.folder / "out", "--settings", '{"drop_unused_uvs": %s}' % drop)
            for name, has in sets.items():
                done = subprocess.run([HOB, "inspect", "--json", self.folder / "out" / (name + ".meshes")], capture_output=True, text=True)
                semantics = {record["semantic"] for record in json.loads(done.stdout)["records"]["ATTR"]}
                self.assertEqual(3 in semantics, has, (drop, name, semantics))

    def test_scenes_of_a_merge_become_one(self):
        self.models()
        self.put("all.merge", '{"scenes": ["d0/m0.obj", "d1/m1.obj", "d0/m2.obj"]}')
        report = self.folder / "report.json"
        self.cook(self.art / "all.merge", "-o", self.folder / "out", "--report", report)
        found = json.loads(report.read_text())["assets"][0]
        self.assertEqual((found["meshes"], found["triangles"], found["materials"], found["textures"]), (3, 50 + 90 + 130, 1, 1))

    def test_names_as_long_as_the_file_system_has_them(self):
        endings = (".meshes", ".materials", ".scene", ".report.json", ".classic.meshes", ".classic.materials", ".classic.scene")
        names = [letter * (size - 4) + ".obj" for letter, size in zip("abcde", (236, 243, 244, 250, 255))] + ["\u00e9" * 125 + "x.obj"]
        for name in names:
            self.put("d/short.obj", obj_text(3)).rename(self.art / "d" / name)
        self.cook(self.art, "-o", self.folder / "out", "--classic")
        written = sorted(path.name for path in (self.folder / "out/d").iterdir())
        self.assertEqual(len(written), len(names) * len(endings))
        self.assertEqual([name for name in written if ".hob-part" in name], [])
        for name in names:
            for ending in endings:
                whole = name + ending
                if len(os.fsencode(whole)) <= 255:
                    self.assertIn(whole, written)
                else:
                    digest = hashlib.sha256(os.fsencode(name)).hexdigest()[:16]
                    (found,) = [w for w in written if w.endswith("~" + digest + ending)]
                    self.assertTrue(name.startswith(found.split("~")[0]))
                    self.assertGreater(len(os.fsencode(found)), 250)
        subprocess.run([HOB, "export", self.art, "-o", self.folder / "glb"], check=True, capture_output=True)
        self.assertEqual(len(list((self.folder / "glb/d").iterdir())), len(names))
        with self.serve() as daemon:
            daemon.sync()
            items = daemon.assets()
            self.assertEqual({name: item["state"] for name, item in items.items()}, {f"art/d/{name}": "fresh" for name in names})

    def test_budgets_in_the_daemon(self):
        self.put("tex/a.png", png(255, 0, 0, 64))
        self.put("m.mtl", "newmtl m\nKd 1 1 1\nmap_Kd tex/a.png\n")
        self.put("m.obj", obj_text(9, mtl="m.mtl"))
        with self.serve() as daemon:
            daemon.sync()
            self.assertEqual(daemon.assets("&fields=root,path,stats")["art/m.obj"]["stats"]["over_budget"], [])
            good = daemon.blob("art/m.obj")
            self.put("cook.json", '{"budget": {"triangles": 8, "draws": 1, "texture_size": 63, "bytes": 10}}')
            daemon.sync()
            item = daemon.assets("&fields=root,path,stats,state,warnings")["art/m.obj"]
            self.assertEqual((item["state"], sorted(item["stats"]["over_budget"])), ("fresh", ["bytes", "texture_size", "triangles"]))
            self.assertGreaterEqual(item["warnings"], 3)
            self.put("cook.json", '{"budget": {"triangles": 8, "texture_size": 63, "fail": true}}')
            daemon.sync()
            item = daemon.assets()["art/m.obj"]
            self.assertEqual((item["state"], item["error"]["code"]), ("stale", "cook.over-budget"))
            self.assertIn("9 triangles are over the budget of 8; 64 pixels of a texture's side are over the budget of 63", item["error"]["message"])
            self.assertEqual(daemon.blob("art/m.obj"), good)
            self.assertEqual([group["code"] for group in daemon.get("/api/v1/errors").json()["items"]], ["cook.over-budget"])
            self.put("cook.json", '{"budget": {"triangles": 9, "texture_size": 64, "fail": true}}')
            daemon.sync()
            self.assertEqual(daemon.assets()["art/m.obj"]["state"], "fresh")

    def test_exit_codes_and_report(self):
        self.put("good.obj", obj_text(2))
        self.put("bad.obj", "f 1 2 3\n")
        report = self.folder / "report.json"
        done = self.cook(self.art, "-o", self.folder / "out", "--report", report, code=1)
        self.assertIn("bad.obj", done.stderr)
        found = json.loads(report.read_text())
        self.assertEqual((found["cooked"], found["failed"]), (1, 1))
        self.put("bad.obj", obj_text(2))
        self.put("cook.json", '{"budget": {"triangles": 1}}')
        self.cook(self.art, "-o", self.folder / "out", code=4)
        # Reported like failures: nothing is written, and another failure takes precedence.
        self.put("cook.json", '{"budget": {"triangles": 1, "draws": 1, "fail": true}}')
        done = self.cook(self.art, "-o", self.folder / "none", code=4)
        self.assertEqual(done.stderr.count("2 triangles are over the budget of 1"), 2, done.stderr)
        self.assertFalse(list((self.folder / "none").rglob("*.meshes")) if (self.folder / "none").exists() else [])
        self.put("worse.obj", "f 1 2 3\n")
        self.cook(self.art, "-o", self.folder / "none", code=1)
        (self.art / "worse.obj").unlink()
        self.put("cook.json", '{"budget": {"triangles": 2, "draws": 1, "bytes": 1000000, "fail": true}}')
        self.cook(self.art, "-o", self.folder / "out", code=0)
        self.cook(self.art, "--nonsense", code=2)
        self.assertIn("not valid JSON", self.cook(self.art, "--settings", '{"lods":{"max":2}}x', code=2).stderr)
        self.cook(self.art, "--check", "--settings", '{"lods":{"max":2}} \n')
        self.cook(self.folder / "nowhere.obj", code=2)
        self.cook(code=2)

    def test_settings_of_the_command_line_win_and_each_says_where_it_is_from(self):
        self.put("deep/a.obj", bumpy_grid(30, 0.02, lambda x, y: x * x + y * y))  # a bowl: the error grows by level
        self.put("cook.json", '{"lods": {"max": 5, "ratio": 0.75}, "meshlets": true}')
        self.put("deep/cook.json", '{"lods": {"max": 4}, "budget": {"triangles": 7}}')
        self.put("deep/a.obj.cook.json", '{"lods": {"max": 3}}')
        (self.folder / "hob.json").write_text('{"defaults": {"scale": 2, "meshlets": true, "lods": {"max": 2}}}')
        (self.folder / "mine.json").write_text('{"lods": {"max": 1}, "scale": 3}')
        (self.folder / "gate.json").write_text('{"triangles": 9000}')
        report = self.folder / "report.json"

        def told(*options, code=0):
            self.cook("art", "-o", "out", "--report", report, *options, cwd=self.folder, code=code)
            (item,) = json.loads(report.read_text())["assets"]
            return item["settings"]

        own = {"lods.max": {"value": 3, "origin": "deep/a.obj.cook.json"}, "lods.ratio": {"value": 0.75, "origin": "cook.json"},
               "meshlets": {"value": True, "origin": str(self.folder / "hob.json")}, "scale": {"value": 2, "origin": str(self.folder / "hob.json")},
               "budget.triangles": {"value": 7, "origin": "deep/cook.json"}}
        self.assertEqual(told(code=4), own)
        levels = lambda: len(json.loads(self.run_hob("inspect", "--json", "out/deep/a.obj.meshes").stdout)["records"]["LODS"])
        self.assertEqual(levels(), 3)
        self.assertEqual(told("--settings", '{"lods": {"max": 2}}', code=4), own | {"lods.max": {"value": 2, "origin": "--settings"}})
        self.assertEqual(levels(), 2)
        over = {name: {"value": value, "origin": "mine.json"} for name, value in {"lods.max": 1, "scale": 3}.items()}
        self.assertEqual(told("--settings", "mine.json", "--budget", "gate.json"),
                         own | over | {"budget.triangles": {"value": 9000, "origin": "gate.json"}})
        self.assertEqual(levels(), 1)
        shown = self.run_hob("inspect", "art/deep/a.obj").stdout
        self.assertIn("setting  lods.max                 3  (art/deep/a.obj.cook.json)\n", shown)
        done = self.cook("art", "--settings", "none.json", cwd=self.folder, code=2)
        self.assertIn("--settings takes a JSON object or a file with one; 'none.json' cannot be read: No such file", done.stderr)
        (self.folder / "mine.json").write_text('{"lodz": 1}')
        self.assertIn("mine.json", self.cook("art", "--settings", "mine.json", cwd=self.folder, code=2).stderr)

    def test_bytes_are_those_of_the_asset_whoever_wrote_them(self):
        self.put("wood.png", png(90, 60, 30, side=64))
        for name in ("a", "b"):
            self.put(f"{name}.mtl", "newmtl m\nmap_Kd wood.png\n")
            self.put(f"{name}.obj", obj_text(5, mtl=f"{name}.mtl").replace("f 1 2 3", "vt 0 0\nf 1/1 2/1 3/1"))
        report, out = self.folder / "report.json", self.folder / "out"
        items = lambda: {item["path"]: item for item in json.loads(report.read_text())["assets"]}
        self.cook("art", "-o", out, "--report", report)
        first, texture = items(), next((out / "textures").iterdir()).stat().st_size
        size = lambda name: texture + sum(path.stat().st_size for path in out.glob(f"{name}.obj.*"))
        for name in ("a", "b"):
            self.assertEqual(first[f"{name}.obj"]["bytes"], size(name))
        # Both cooks write the texture if neither finds it written.
        self.assertIn(sorted(item["reused_bytes"] for item in first.values()), ([0, texture], [0, 0]))
        done = self.cook("art", "-o", out, "--report", report)
        self.assertEqual({name: item["reused_bytes"] for name, item in items().items()},
                         {name: item["bytes"] for name, item in items().items()})
        self.assertEqual(done.stderr.count(" of it there already\n"), 2)
        again = items()
        self.cook("art", "--check", "--report", report)
        for name in ("a", "b"):  # the report contains times, whose number of digits varies
            self.assertAlmostEqual(items()[f"{name}.obj"]["bytes"], size(name), delta=50)
            self.assertAlmostEqual(again[f"{name}.obj"]["bytes"], size(name), delta=50)

    def test_a_report_takes_no_other_files_place(self):
        self.put("a.obj", obj_text(2))
        self.put("cook.json", "{}")
        self.cook("art", "-o", "old")
        (self.folder / "list.txt").write_text("mine")
        before = tree(self.folder)
        for taken in ("art/a.obj", "art/cook.json", "old/a.obj.meshes", "list.txt"):
            self.assertIn(f"--report '{taken}': this file is not a report", self.cook("art", "-o", "out", "--report", taken, code=2).stderr)
        (self.folder / "out").mkdir()
        for taken in ("out/a.obj.meshes", self.folder / "out/../out/a.obj.report.json"):
            self.assertIn(f"--report '{taken}': an output of this run goes there", self.cook("art", "-o", "out", "--report", taken, code=2).stderr)
        self.assertEqual(tree(self.folder), before)
        self.cook("art", "-o", "new", "--report", "new/x/../a.obj.scene", code=2)  # known only after the cook
        self.run_hob("inspect", "--validate", "new/a.obj.scene")
        (self.folder / "empty.json").touch()
        for free in ("empty.json", "empty.json", "made/report.json"):
            self.cook("art", "-o", "out", "--report", free)
            self.assertEqual(json.loads((self.folder / free).read_text())["cooked"], 1)
        self.assertEqual(json.loads(self.cook("art", "-o", "out", "--report", "-").stdout)["cooked"], 1)
        # A shell's redirection keeps the opened file and its content.
        with open(self.folder / "list.txt", "a") as log:
            subprocess.run([HOB, "cook", "art", "-q", "-o", "out", "--report", "/dev/stdout"], cwd=self.folder, stdout=log, timeout=DEADLINE, check=True)
        self.assertTrue(os.path.islink("/dev/stdout"))
        self.assertEqual(json.loads((self.folder / "list.txt").read_text().removeprefix("mine"))["cooked"], 1)

    def test_the_whole_system_as_root_and_files_that_are_too_short(self):
        path = self.put("a.obj", obj_text(2))
        self.cook(path, "--root", "/", "-o", "out")
        self.assertTrue((self.folder / f"out/{path.resolve()}.meshes").exists())
        for data, why in ((b"x", "the GLB has 1 byte, its headers alone need 20"), (b"", "the GLB has 0 bytes"), (b"glTF" + bytes(9), "the GLB has 13 bytes"),
                          (b"{", "JSON: the text ends early"), (b"<html>no such file, I am afraid</html>", "unexpected '<'")):
            self.put("short.glb", data)
            self.assertIn(why, self.cook(self.art / "short.glb", "--check", code=1).stderr)
        served = subprocess.run([HOB, "serve", "/", "--cache", self.cache, "--listen", "127.0.0.1:0"], capture_output=True, text=True, timeout=DEADLINE, check=False)
        self.assertEqual(served.returncode, 2)
        self.assertIn("name the folder that holds the models", served.stderr)

    def test_a_cook_that_is_ended_leaves_nothing_half_written(self):
        for i in range(300):
            self.put(f"m{i}.obj", obj_text(3, shift=i))
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with open(self.art / "m0.obj", "ab"), subprocess.Popen([HOB, "cook", "art", "-o", "out"], cwd=self.folder, stderr=subprocess.PIPE, text=True) as run:
                until(lambda: "cooked" in run.stderr.readline(), "the first cooked model")
                run.send_signal(number)  # it waits for the writer of m0.obj
                said = run.stderr.read()
                self.assertEqual(run.wait(DEADLINE), 130, said)
            self.assertIn("of 300 cooked; nothing half-written is left", said)
            self.assertEqual(list((self.folder / "out").rglob(".hob-part-*")), [])

    def run_hob(self, *arguments):
        return subprocess.run([HOB, *arguments], cwd=self.folder, capture_output=True, text=True, timeout=DEADLINE, check=True)


if __name__ == "__main__":
    main()
