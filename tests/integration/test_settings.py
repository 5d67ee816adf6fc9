"""The daemon, the API and the command line use the same chain of settings files."""
import json
import os
import subprocess

from hobtest import HOB, DEADLINE, SETTINGS_SCHEMA, Scenario, main, obj_text


class Settings(Scenario):
    def cook(self, *arguments, cwd=None):
        return subprocess.run([HOB, "cook", *map(str, arguments)], capture_output=True, text=True, timeout=DEADLINE,
                              cwd=cwd or self.folder, check=False)

    def settings_of(self, daemon, name):
        return daemon.get(f"/api/v1/assets/{daemon.assets()[name]['id']}/settings")

    def test_a_model_100_folders_deep(self):
        """PATCH and DELETE modify its own sidecar and nothing else."""
        deep = "/".join(f"d{i}" for i in range(100))
        folders = ["/".join(deep.split("/")[:i]) for i in range(101)]
        for folder in folders:
            self.put(f"{folder}/cook.json".lstrip("/"), json.dumps({"scale": 2}))
        self.put(f"{deep}/a.obj", obj_text())

        def others():
            return {path: path.read_text() for path in self.art.rglob("*cook.json") if path.name == "cook.json"}

        before = others()
        self.assertEqual(len(before), 101)
        with self.serve() as daemon:
            daemon.sync()
            name = f"art/{deep}/a.obj"
            target = f"/api/v1/assets/{daemon.assets()[name]['id']}/settings"
            got = daemon.get(target)
            self.assertEqual(got.status, 200)
            self.assertEqual(got.json()["settings"]["scale"], 2)
            self.assertEqual(got.json()["origins"]["scale"], f"{deep}/cook.json")
            self.assertEqual(got.json()["sidecar"]["path"], f"{deep}/a.obj.cook.json")
            done = daemon.request("PATCH", target, {"lods": {"max": 1}}, {"If-Match": got.headers["etag"]})
            self.assertEqual(done.status, 200)
            self.assertEqual(others(), before)
            sidecar = self.art / deep / "a.obj.cook.json"
            self.assertEqual(json.loads(sidecar.read_text()), SETTINGS_SCHEMA | {"lods": {"max": 1}})
            done = daemon.request("DELETE", target, None, {"If-Match": done.headers["etag"]})
            self.assertEqual(done.status, 204)
            self.assertFalse(sidecar.exists())
            self.assertEqual(others(), before)

    def test_a_cook_json_that_links_out_of_the_root_counts_nowhere(self):
        outside = self.folder / "outside.json"
        outside.write_text('{"scale": 3}')
        self.put("in/a.obj", obj_text())
        os.symlink(outside, self.art / "in/cook.json")
        with self.serve() as daemon:
            daemon.sync()
            got = self.settings_of(daemon, "art/in/a.obj")
            self.assertEqual((got.status, got.json()["settings"]["scale"]), (200, 1))
        self.assertEqual(self.cook("art", "-o", "out", "--report", "report.json").returncode, 0)
        entry = json.loads((self.folder / "report.json").read_text())["assets"][0]
        self.assertNotIn("scale", entry.get("settings", {}))

    def test_the_command_line_takes_what_the_daemon_takes(self):
        """sources[].exclude and include of hob.json; cook.json applies from the source's folder down."""
        (self.folder / "hob.json").write_text(json.dumps({"sources": [
            {"path": "art", "include": ["**/*.obj"], "exclude": ["wip/**"], "options": {"lods": {"max": 2}}}]}))
        self.put("cook.json", '{"scale": 2}')
        for name in ("props/a.obj", "props/b.stl", "wip/c.obj"):
            self.put(name, obj_text())
        run = self.cook("art", "-o", "out", "--report", "report.json")
        self.assertEqual(run.returncode, 0, run.stderr)
        assets = json.loads((self.folder / "report.json").read_text())["assets"]
        self.assertEqual([item["path"] for item in assets], ["props/a.obj"])
        self.assertFalse((self.folder / "out/wip").exists())
        # A folder inside the source uses the source's whole chain.
        run = self.cook("art/props", "-o", "out2", "--report", "report2.json")
        self.assertEqual(run.returncode, 0, run.stderr)
        settings = json.loads((self.folder / "report2.json").read_text())["assets"][0]["settings"]
        self.assertEqual(settings["scale"], {"value": 2, "origin": "cook.json"})
        self.assertEqual(settings["lods.max"]["value"], 2)
        # A model that is named on the command line is cooked although its folder is excluded.
        run = self.cook("art/wip/c.obj", "-o", "out3")
        self.assertEqual(run.returncode, 0, run.stderr)

    def test_output_paths_do_not_depend_on_how_many_paths_are_given(self):
        def written(out):
            return sorted(str(path.relative_to(self.folder / out)) for path in (self.folder / out).rglob("*.meshes"))

        self.put("props/a.obj", obj_text())
        lib = self.folder / "lib"
        lib.mkdir()
        (lib / "b.obj").write_text(obj_text(2))
        for number, paths, names in ((1, ["art"], ["props/a.obj.meshes"]), (2, ["lib"], ["b.obj.meshes"]),
                                     (3, ["art", "lib"], ["b.obj.meshes", "props/a.obj.meshes"]),
                                     (4, ["lib", "art", "art"], ["b.obj.meshes", "props/a.obj.meshes"])):
            run = self.cook(*paths, "-o", f"out{number}")
            self.assertEqual((run.returncode, written(f"out{number}")), (0, names), run.stderr)
        run = self.cook("--root", ".", "art", "lib", "-o", "out5")
        self.assertEqual((run.returncode, written("out5")), (0, ["art/props/a.obj.meshes", "lib/b.obj.meshes"]), run.stderr)
        self.put("b.obj", obj_text())
        run = self.cook("art", "lib", "-o", "out6")
        self.assertEqual(run.returncode, 2)
        self.assertIn("'art/b.obj' and 'lib/b.obj' would be written to one place", run.stderr)
        self.assertFalse((self.folder / "out6").exists())
        # In a source, from the source's folder.
        (self.folder / "hob.json").write_text(json.dumps({"sources": [{"path": "art"}]}))
        for number, paths in ((7, ["art/props"]), (8, ["art/props/a.obj"]), (9, ["art/props", "art/props/a.obj"])):
            run = self.cook(*paths, "-o", f"out{number}")
            self.assertEqual((run.returncode, written(f"out{number}")), (0, ["props/a.obj.meshes"]), run.stderr)

    def test_a_change_of_settings_is_one_entry_of_the_history(self):
        self.put("m.obj", obj_text(9))
        with self.serve() as daemon:
            daemon.sync()
            place = f"/api/v1/assets/{daemon.assets()['art/m.obj']['id']}"
            jobs = lambda: [job["job"] for job in daemon.get(place + "/history").json()["items"]]
            for scale in range(2, 5):
                before, tag = jobs(), daemon.get(place + "/settings").headers["etag"]
                self.assertEqual(daemon.request("PATCH", place + "/settings", {"scale": scale}, {"If-Match": tag}).status, 200)
                daemon.sync(scan=True)
                self.assertEqual(len(jobs()), len(before) + 1)

    def test_an_edited_folder_is_heard(self):
        self.put("in/a.obj", obj_text())
        self.put("in/cook.json", '{"scale": 2}')
        with self.serve() as daemon:
            for scale in (2, 3, 4):
                self.put("in/cook.json", json.dumps({"scale": scale}))
                daemon.sync()
                why = daemon.get(f"/api/v1/assets/{daemon.assets()['art/in/a.obj']['id']}/why").json()
                self.assertEqual(why["ingredients"]["settings"]["scale"], scale)
            (self.art / "in/cook.json").unlink()
            daemon.sync()
            why = daemon.get(f"/api/v1/assets/{daemon.assets()['art/in/a.obj']['id']}/why").json()
            self.assertEqual(why["ingredients"]["settings"]["scale"], 1)


if __name__ == "__main__":
    main()
