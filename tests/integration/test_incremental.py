"""A change cooks exactly its dependents; counters prove it."""
import hashlib
import json
import os
import shutil
import signal

from hobtest import Scenario, children, main, obj_text, png, until


def used(daemon):
    """Files used or missed by every asset: path -> digest or None."""
    items = daemon.get("/api/v1/assets?expand=deps").json()["items"]
    return {dep["path"]: dep["hash"] for item in items for dep in item["deps"]}


class Incremental(Scenario):
    def test_restart_without_changes_cooks_nothing(self):
        for i in range(5):
            self.put(f"m{i}.obj", obj_text(3 + i))
        with self.serve() as daemon:
            daemon.sync()
            self.assertEqual(daemon.cooked(), 5)
            before = daemon.assets()
        with self.serve() as daemon:
            daemon.sync()
            self.assertEqual(daemon.cooked(), 0)
            after = daemon.assets()
            for name, item in before.items():
                self.assertEqual(after[name]["state"], "fresh")
                self.assertEqual(after[name]["rev"], item["rev"])

    def shared_texture(self):
        self.put("tex/a.png", png(255, 0, 0))
        self.put("tex/b.png", png(0, 255, 0))
        for i in range(6):
            picture = "a" if i < 4 else "b"
            self.put(f"m{i}.mtl", f"newmtl m\nKd 1 1 1\nmap_Kd tex/{picture}.png\n")
            self.put(f"m{i}.obj", obj_text(2 + i, mtl=f"m{i}.mtl"))

    def test_changed_texture_cooks_exactly_its_dependents(self):
        self.shared_texture()
        with self.serve() as daemon:
            daemon.sync()
            self.assertEqual(daemon.cooked(), 6)
            before = daemon.assets()
            self.put("tex/a.png", png(0, 0, 255))
            daemon.sync()
            self.assertEqual(daemon.cooked(), 10)
            after = daemon.assets()
            changed = {name for name in after if after[name]["rev"] != before[name]["rev"]}
            self.assertEqual(changed, {f"art/m{i}.obj" for i in range(4)})

    def test_a_scan_during_a_cook_is_no_change(self):
        self.put("a.mtl", "newmtl m\nKd 1 0 0\n")  # exists before the daemon: listed by its scans, not used yet
        with self.serve("--jobs", "1") as daemon:
            daemon.sync()
            (worker,) = children(daemon.process.pid)
            os.kill(worker, signal.SIGSTOP)
            self.put("a.obj", obj_text(3, mtl="a.mtl"))
            daemon.wait_event("job", lambda job: job["state"] == "cooking")
            scans = daemon.counters()["hob_scans_total"]
            self.assertEqual(daemon.post("/api/v1/sync", {"timeout_ms": 100, "scan": True}).status, 504)
            until(lambda: daemon.counters()["hob_scans_total"] > scans, "another scan")
            os.kill(worker, signal.SIGCONT)
            daemon.sync()
            item = daemon.assets()["art/a.obj"]
            self.assertEqual([job["result"] for job in daemon.get(f"/api/v1/assets/{item['id']}/history").json()["items"]], ["cooked"])

    def test_errors_of_a_merge_name_the_part_or_the_list(self):
        self.put("a.obj", obj_text(1))
        broken = '{"asset":{"version":"2.0"},\n"scene":0,,}'
        wrong = '{"asset":{"version":"2.0"},"scene":0,"scenes":[{"nodes":[0]}],"nodes":[{"mesh":5}]}'
        self.put("town/inside/it's.gltf", broken)
        self.put("shared/c.gltf", wrong)
        self.put("part.txt", "no model")
        parts = {"broken": '{"scenes": ["../a.obj", "inside/it\'s.gltf"]}', "up": '{"scenes": [{"file": "..\\\\shared/c.gltf"}]}',
                 "list": '{"scenes": ["../a.obj",\n ]}', "text": '{"scenes": ["../part.txt"]}', "gone": '{"scenes": ["none.obj"]}',
                 "out": '{"scenes": ["../../none.obj"]}'}
        for name, text in parts.items():
            self.put(f"town/{name}.merge", text)
        with self.serve() as daemon:
            daemon.sync()
            errors = {name: daemon.assets()[f"art/town/{name}.merge"]["error"] for name in parts}
            self.assertEqual({name: error["location"]["file"] for name, error in errors.items()},
                             {"broken": "town/inside/it's.gltf", "up": "shared/c.gltf"} |
                             {name: f"town/{name}.merge" for name in ("list", "text", "gone", "out")})
            self.assertEqual((errors["broken"]["location"]["line"], errors["broken"]["root_cause"]), (2, "art/town/inside/it's.gltf"))
            self.assertIn("export the model again", errors["up"]["hint"])
            for name in ("list", "text"):
                self.assertIn("correct this file", errors[name]["hint"])
            self.assertEqual(errors["list"]["location"]["line"], 2)
            self.assertIn("scenes[0] '../part.txt'", errors["text"]["message"])
            self.put("town/list.merge.cook.json", '{"lods": }')
            daemon.sync()
            error = daemon.assets()["art/town/list.merge"]["error"]
            self.assertEqual((error["code"], error["location"]["file"]), ("config.invalid", "town/list.merge.cook.json"))
            self.assertIn("correct the settings file", error["hint"])

    def test_a_merge_is_cooked_with_its_scenes(self):
        self.put("a.obj", obj_text(4))
        self.put("b/b.obj", obj_text(5))
        self.put("all.merge", '{"scenes": ["a.obj", "b/b.obj"]}')
        with self.serve() as daemon:
            daemon.sync()
            self.assertEqual(daemon.cooked(), 3)
            self.assertEqual(daemon.assets()["art/all.merge"]["state"], "fresh")
            self.put("b/b.obj", obj_text(6))
            daemon.sync()
            self.assertEqual(daemon.cooked(), 5)
            self.put("all.merge", '{"scenes": ["a.obj", "gone.obj"]}')
            daemon.sync()
            self.assertEqual(daemon.assets()["art/all.merge"]["state"], "stale")
            self.put("gone.obj", obj_text(7))
            daemon.sync()
            self.assertEqual(daemon.assets()["art/all.merge"]["state"], "fresh")

    def test_revert_is_answered_from_the_cache(self):
        self.shared_texture()
        with self.serve() as daemon:
            daemon.sync()
            materials = daemon.blob("art/m0.obj", "materials")
            self.put("tex/a.png", png(9, 9, 9))
            daemon.sync()
            self.assertNotEqual(daemon.blob("art/m0.obj", "materials"), materials)
            cooked = daemon.cooked()
            self.put("tex/a.png", png(255, 0, 0))
            daemon.sync()
            self.assertEqual(daemon.cooked(), cooked)
            self.assertEqual(daemon.blob("art/m0.obj", "materials"), materials)

    def digest(self, name):
        path = self.art / name
        return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else None

    def test_files_that_nobody_used_change_before_somebody_does(self):
        """The first scan lists them; later changes count."""
        for name in ("tex/gone.png", "old/p.png", "tex/other.png", "tex/same.png"):
            self.put(name, png(1, 2, 3))
        with self.serve() as daemon:
            daemon.sync()
            (self.art / "tex/gone.png").unlink()
            (self.art / "old").rename(self.art / "new")
            self.put("tex/other.png", png(200, 2, 3))
            daemon.sync()
            pictures = {"g": "tex/gone.png", "o": "old/p.png", "n": "new/p.png", "c": "tex/other.png", "s": "tex/same.png"}
            for name, picture in pictures.items():
                self.put(f"{name}.mtl", f"newmtl m\nKd 1 1 1\nmap_Kd {picture}\n")
                self.put(f"{name}.obj", obj_text(3, mtl=f"{name}.mtl"))
            daemon.sync()
            digests = {picture: self.digest(picture) for picture in pictures.values()}
            self.assertEqual([name for name in digests if not digests[name]], ["tex/gone.png", "old/p.png"])
            self.assertLessEqual(digests.items(), used(daemon).items())
            self.assertEqual(daemon.cooked(), 5)
            self.put("tex/gone.png", png(1, 2, 3))
            (self.art / "tex/same.png").unlink()
            self.put("new/p.png", png(9, 2, 3))
            daemon.sync()
            digests = {picture: self.digest(picture) for picture in pictures.values()}
            self.assertEqual([name for name in digests if not digests[name]], ["old/p.png", "tex/same.png"])
            self.assertLessEqual(digests.items(), used(daemon).items())
        with self.serve() as daemon:
            daemon.sync()
            self.assertEqual(daemon.cooked(), 0)

    def test_a_cook_can_be_earlier_than_the_event(self):
        """The worker reads a change that the daemon does not know yet, because it polls only every ten minutes."""
        self.put("m.obj", obj_text(2))
        self.put("m.mtl", "newmtl m\nKd 1 0 0\n")
        self.put("n.obj", obj_text(3, mtl="m.mtl"))
        with self.serve("--watch", "poll", "--poll-ms", "600000") as daemon:
            daemon.sync()
            before = daemon.blob("art/n.obj", "materials")
            self.put("m.mtl", "newmtl m\nKd 0 0.25 1\n")
            self.put("m.obj", obj_text(2, mtl="m.mtl"))
            daemon.post(f"/api/v1/assets/{daemon.assets()['art/m.obj']['id']}/cook")
            daemon.sync()
            self.assertEqual({item["state"] for item in daemon.assets().values()}, {"fresh"})
            self.assertNotEqual(daemon.blob("art/n.obj", "materials"), before)

    def test_copy_under_a_new_name_is_not_cooked(self):
        self.put("one.obj", obj_text(7))
        with self.serve() as daemon:
            daemon.sync()
            shutil.copyfile(self.art / "one.obj", self.art / "two.obj")
            daemon.wait_asset("art/two.obj", "fresh")
            self.assertEqual(daemon.cooked(), 1)
            self.assertEqual(daemon.blob("art/one.obj"), daemon.blob("art/two.obj"))

    def test_a_copy_that_asks_by_its_own_name_is_cooked(self):
        """Pictures of wood.fbx are in the folder wood.fbm."""
        text = ('; FBX 7.4.0 project file\nFBXHeaderExtension: {\n FBXVersion: 7400\n}\nObjects: {\n Geometry: 1, "Geometry::g", "Mesh" {\n'
                '  Vertices: *9 {\n   a: 0,0,0,1,0,0,0,1,0\n  }\n  PolygonVertexIndex: *3 {\n   a: 0,1,-3\n  }\n }\n Model: 2, "Model::m", "Mesh" {\n }\n'
                ' Material: 3, "Material::c", "" {\n }\n Texture: 4, "Texture::t", "" {\n  RelativeFilename: "a.png"\n }\n}\n'
                'Connections: {\n C: "OO",1,2\n C: "OO",2,0\n C: "OO",3,2\n C: "OP",4,3,"DiffuseColor"\n}\n')
        with self.serve() as daemon:
            for turn, name in enumerate(("wood", "stone")):
                self.put(f"{name}.fbm/a.png", png(200 * turn, 9, 9))
                self.put(f"{name}.fbx", text)
                daemon.sync()
            pictures = [output["hash"] for item in daemon.assets("&fields=root,path,outputs").values() for output in item["outputs"]
                        if output["name"] == "textures/0"]
            self.assertEqual((len(set(pictures)), daemon.cooked()), (2, 2))

    def test_touched_file_publishes_nothing(self):
        target = self.put("one.obj", obj_text(7))
        with self.serve() as daemon:
            daemon.sync()
            rev = daemon.assets()["art/one.obj"]["rev"]
            target.touch()
            daemon.sync()
            item = daemon.assets()["art/one.obj"]
            self.assertEqual((item["rev"], item["state"]), (rev, "fresh"))
            self.assertEqual(daemon.cooked(), 1)

    def test_missing_dependency_heals(self):
        self.put("one.obj", obj_text(3, mtl="late.mtl"))
        with self.serve() as daemon:
            daemon.sync()
            self.assertGreater(daemon.assets()["art/one.obj"]["warnings"], 0)
            self.put("late.mtl", "newmtl m\nKd 1 0 0\n")
            until(lambda: daemon.assets()["art/one.obj"]["warnings"] == 0, "the warning's end")
            self.put("late.mtl", "newmtl m\nKd 0 1 0\n")
            daemon.wait_asset("art/one.obj", "fresh")
            (self.art / "late.mtl").unlink()
            # On a slow machine a preview of the previous save is fresh, too; the view shows when this cook is over.
            until(lambda: daemon.assets()["art/one.obj"]["warnings"] > 0, "the warning of a missing material")

    def test_settings_file_touches_what_it_covers(self):
        self.put("a/one.obj", obj_text(3))
        self.put("b/two.obj", obj_text(4))
        with self.serve() as daemon:
            daemon.sync()
            before = daemon.assets()
            self.put("a/cook.json", '{"scale": 2}')
            daemon.wait_asset("art/a/one.obj", "fresh")
            daemon.sync()
            after = daemon.assets()
            self.assertNotEqual(after["art/a/one.obj"]["rev"], before["art/a/one.obj"]["rev"])
            self.assertEqual(after["art/b/two.obj"]["rev"], before["art/b/two.obj"]["rev"])
            self.put("a/cook.json", '{"scael": 2}')
            data = daemon.wait_asset("art/a/one.obj", "stale")
            self.assertIn("did you mean 'scale'", data["error"]["message"])
            (self.art / "a/cook.json").unlink()
            daemon.wait_asset("art/a/one.obj", "fresh")

    def test_remove_and_rename(self):
        self.put("one.obj", obj_text(3))
        with self.serve() as daemon:
            daemon.sync()
            (self.art / "one.obj").rename(self.art / "uno.obj")
            daemon.wait_asset("art/uno.obj", "fresh")
            daemon.sync()
            self.assertEqual(set(daemon.assets()), {"art/uno.obj"})
            self.assertEqual(daemon.cooked(), 1)
            (self.art / "uno.obj").unlink()
            daemon.sync()
            self.assertEqual(daemon.get("/a/art/uno.obj").status, 404)
            self.assertEqual(daemon.get("/a/art/one.obj").status, 404)

    def test_bad_save_keeps_the_last_good_version(self):
        self.put("one.obj", obj_text(3))
        with self.serve() as daemon:
            daemon.sync()
            good = daemon.blob("art/one.obj")
            self.put("one.obj", "f 1 2 3\n")
            data = daemon.wait_asset("art/one.obj", "stale")
            self.assertTrue(data["error"]["message"])
            answer = daemon.get("/a/art/one.obj")
            self.assertEqual((answer.status, answer.body), (200, good))
            self.assertEqual(answer.headers["cook-state"], "stale")
            self.put("one.obj", obj_text(5))
            daemon.wait_asset("art/one.obj", "fresh")
            self.assertNotEqual(daemon.blob("art/one.obj"), good)

    def test_failure_is_not_retried_at_the_next_start(self):
        self.put("bad.obj", "f 1 2 3\n")
        with self.serve() as daemon:
            daemon.sync()
            self.assertEqual(daemon.assets()["art/bad.obj"]["state"], "failed")
        with self.serve() as daemon:
            daemon.sync()
            self.assertEqual(daemon.assets()["art/bad.obj"]["state"], "failed")
            self.assertEqual(daemon.counters()['hob_cook_results_total{result="failed"}'], 0)

    def test_a_failure_from_the_cache_is_a_failure(self):
        self.put("a.obj", obj_text(3))
        with self.serve() as daemon:
            daemon.sync()
            for text in ("f 1 2 3\n", obj_text(4), "f 1 2 3\n"):
                self.put("a.obj", text)
                daemon.sync()
            failed = daemon.counters()['hob_cook_results_total{result="failed"}']
            self.assertEqual((failed, daemon.cooked()), (1, 2))
            item = daemon.assets()["art/a.obj"]
            again, mended, first = daemon.get("/api/v1/jobs?asset=art/a.obj&limit=3").json()["items"]
            self.assertEqual([(job["result"], job["cached"]) for job in (again, mended, first)],
                             [("failed", True), ("cooked", False), ("failed", False)])
            self.assertEqual(again["error"], first["error"])
            self.assertEqual(again["error"], item["error"])
            self.assertTrue(again["error"]["hint"])
            why = daemon.get(f"/api/v1/assets/{item['id']}/why").json()
            self.assertEqual((why["verdict"], why["cached"]), ("failed", True))
            lines = [line for line in daemon.log if "failed" in line and "art/a.obj" in line]
            self.assertEqual(len(lines), 2, lines)
            for line in lines:
                self.assertIn(first["error"]["message"], line)
            self.assertIn("as known", lines[1])
            self.put("a.obj", obj_text(4))
            daemon.sync()
            job = daemon.get("/api/v1/jobs?asset=art/a.obj&limit=1").json()["items"][0]
            self.assertEqual((job["result"], job["cached"], job["error"]), ("hit", True, None))

    def test_what_is_said_of_the_same_bytes_holds_in_every_folder(self):
        broken = json.dumps({"asset": {"version": "2.0"}, "buffers": [{"uri": "../lib/x.bin", "byteLength": 36}],
                             "bufferViews": [{"buffer": 0, "byteLength": 36}], "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
                             "accessors": [{"bufferView": 0, "componentType": 5126, "type": "VEC3", "count": 3}]})
        folders = ("one", "two", "deep/er/three", "deep/er/four")
        with self.serve() as daemon:
            for folder in folders:  # one by one: the others reuse the first one's results
                self.put(f"{folder}/g.gltf", broken)
                self.put(f"{folder}/m.obj", obj_text(2, mtl="mtl/gone.mtl"))
                daemon.sync()
            for folder in folders:
                said = daemon.assets()[f"art/{folder}/g.gltf"]["error"]["message"]
                self.assertIn("'../lib/x.bin' does not exist", said, folder)
                self.assertNotIn("deep", said)
                report = json.loads(daemon.blob(f"art/{folder}/m.obj", "report"))
                self.assertTrue(any("'mtl/gone.mtl'" in note["text"] for note in report["notes"]), report["notes"])

    def test_a_reference_is_named_as_the_file_spells_it(self):
        """A note keeps the file's spelling, even of a reference that reads like the path of another file that the cook looked
        for."""
        with self.serve() as daemon:
            for folder in ("sub/", ""):
                self.put(f"{folder}m.obj", obj_text(2, mtl="sub/gone.mtl"))
                self.put(f"{folder}n.obj", obj_text(3, mtl="sub/other.mtl"))
                self.put(f"{folder}other.mtl", "newmtl m\nKd 1 0 0\n")
                daemon.sync()
            for folder in ("sub/", ""):
                report = json.loads(daemon.blob(f"art/{folder}m.obj", "report"))
                self.assertTrue(any("'sub/gone.mtl' does not exist" in note["text"] for note in report["notes"]), report["notes"])
            report = json.loads(daemon.blob("art/sub/n.obj", "report"))
            self.assertTrue(any("'sub/other.mtl' does not exist; 'other.mtl'" in note["text"] for note in report["notes"]), report["notes"])

    def test_a_message_has_the_path_from_the_model_in_every_folder(self):
        """Pictures are looked for in tex/, too: in tex/, a picture beside the model reads like a reference."""
        with self.serve() as daemon:
            for folder in ("tex/", "sub/", ""):
                self.put(f"{folder}m.obj", obj_text(2, mtl="m.mtl"))
                self.put(f"{folder}m.mtl", "newmtl m\nmap_Kd a.png\n")
            daemon.sync()
            for folder in ("tex/", "sub/", ""):
                report = json.loads(daemon.blob(f"art/{folder}m.obj", "report"))
                self.assertTrue(any("'a.png' does not exist at 'a.png'" in note["text"] for note in report["notes"]), report["notes"])

    def test_who_fails_with_another_names_it(self):
        self.put("part.obj", "f 1 2 3\n")
        self.put("other.obj", obj_text(2))
        self.put("all.merge", '{"scenes": ["other.obj", "part.obj"]}')
        self.put("again.merge", '{"scenes": ["part.obj"]}')
        self.put("alone.merge", '{"scenes": []}')
        with self.serve() as daemon:
            for _ in range(2):
                daemon.sync()
                items = daemon.assets()
                self.assertEqual({name: item["state"] for name, item in items.items()},
                                 {"art/part.obj": "failed", "art/other.obj": "fresh", "art/all.merge": "blocked", "art/again.merge": "blocked",
                                  "art/alone.merge": "failed"})
                self.assertEqual({name: item["error"]["root_cause"] for name, item in items.items() if item["error"]},
                                 {"art/part.obj": None, "art/all.merge": "art/part.obj", "art/again.merge": "art/part.obj",
                                  "art/alone.merge": None})
                groups = {group["root_cause"]: group["count"] for group in daemon.get("/api/v1/errors").json()["items"]}
                self.assertEqual(groups, {"art/part.obj": 3, None: 1})
                self.put("part.obj", obj_text(4))
                daemon.sync()
                self.assertEqual({item["state"] for name, item in daemon.assets().items() if name != "art/alone.merge"}, {"fresh"})
                (self.art / "part.obj").unlink()
                for name in ("all.merge", "again.merge"):
                    (self.art / name).unlink()
                daemon.sync()
                self.put("part.obj", "f 1 2 3\n")
                self.put("all.merge", '{"scenes": ["other.obj", "part.obj"]}')
                self.put("again.merge", '{"scenes": ["part.obj"]}')

    def test_what_is_left_is_told_from_history(self):
        self.put("a.obj", obj_text(40))
        # Without a listener there are no previews in between.
        with self.serve("--jobs", "1", wait_ready=False) as daemon:
            daemon.wait_banner()

            def expected(text):
                (worker,) = children(daemon.process.pid)
                os.kill(worker, signal.SIGSTOP)
                self.put("b.obj", text)
                jobs = until(lambda: daemon.get("/api/v1/jobs?state=cooking").json()["items"], "a cook")
                os.kill(worker, signal.SIGCONT)
                daemon.sync()
                self.assertEqual([job["asset"] for job in jobs], ["art/b.obj"])
                return jobs[0]["expected_ms"]

            self.assertGreaterEqual(daemon.get("/api/v1/stats").json()["queue"]["eta_ms"], 0)
            daemon.sync()
            self.assertGreater(expected(obj_text(50)), 0)
            took = daemon.get("/api/v1/jobs?asset=art/b.obj").json()["items"][0]["cook_ms"]
            self.assertAlmostEqual(expected(obj_text(51)), took, places=2)


if __name__ == "__main__":
    main()
