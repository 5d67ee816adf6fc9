"""hob.json: precedence, helpful errors, sources with patterns and options, and reloading while running."""
import json
import os
import signal
import subprocess

from hobtest import DEADLINE, HOB, Daemon, Scenario, bumpy_grid, main, obj_text


class Config(Scenario):
    def write(self, data):
        text = data if isinstance(data, str) else json.dumps(data)
        (self.folder / "hob.json").write_text(text)

    def hob(self, *arguments, **environment):
        return subprocess.run([HOB, *arguments], cwd=self.folder, capture_output=True, text=True,
                              env=dict(os.environ, NO_COLOR="1", **environment), check=False)

    def effective(self, *arguments, **environment):
        told = self.hob("config", "--json", *arguments, **environment)
        self.assertEqual(told.returncode, 0, told.stderr)
        return {row["key"]: (row["value"], row["origin"]) for row in json.loads(told.stdout)["values"]}

    def test_later_sources_win_and_are_named(self):
        self.write({"cook": {"jobs": 3, "timeout_seconds": 7}, "cache": {"max_size": "2 GiB", "dir": "kept"}})
        found = self.effective(HOB_JOBS="5")
        self.assertEqual(found["cook.jobs"], (5, "HOB_JOBS"))
        self.assertEqual(found["cook.timeout_seconds"], (7, str(self.folder / "hob.json")))
        self.assertEqual(found["cache.max_size"][0], 2 << 30)
        self.assertEqual(found["cache.dir"][0], str(self.folder / "kept"))
        self.assertEqual(found["server.listen"], ("127.0.0.1:7780", "default"))

    def test_found_from_a_folder_below(self):
        self.write({"cook": {"jobs": 3}})
        told = subprocess.run([HOB, "config", "--json"], cwd=self.art, capture_output=True, text=True, check=True)
        self.assertEqual(json.loads(told.stdout)["file"], str(self.folder / "hob.json"))
        os.mkfifo(self.art / "hob.json")  # nearer, but not a readable file
        told = subprocess.run([HOB, "config", "--json"], cwd=self.art, capture_output=True, text=True, check=True,
                              timeout=DEADLINE)
        self.assertEqual(json.loads(told.stdout)["file"], str(self.folder / "hob.json"))

    def test_mistakes_are_named(self):
        for text, words in (('{"sorces":[]}', ["sorces", "sources"]), ('{"cook":{"job":1}}', ["cook.job", "cook.jobs"]),
                            ('{"cook":{"jobs":"many"}}', ["cook.jobs", "number"]), ('{"cache":{"max_size":"2 Gigs"}}', ["20 GiB"]),
                            ('{\n\n"cook":}', ["line 3"]), ('{"defaults":{"lods":{"mx":1}}}', ["lods.mx", "lods.max"]),
                            ('[{"input_scene":"a"}]', ["hob cook"]), ('{"cook":{"sandbox":"loose"}}', ["best-effort"]),
                            ('{"sources":[{"pth":"a"}]}', ["pth", "did you mean 'path'"]),
                            ('{"sources":[{"exclud":[]}]}', ["'exclud'", "did you mean 'exclude'"]),
                            ('{"listne":"x"}', ["did you mean 'server.listen'"]), ('{"cok":{}}', ["did you mean 'cook'"]),
                            ('{"server":{"jobs":1}}', ["did you mean 'cook.jobs'"]),
                            ('{"defaults":{"budgt":{"triangles":1}}}', ["did you mean 'budget'"]),
                            ('{"defaults":{"maax":1}}', ["did you mean 'lods.max'"]), ('{"version":9}', ["version"])):
            self.write(text)
            told = self.hob("config")
            self.assertEqual(told.returncode, 2, text)
            for word in ["hob.json", *words]:
                self.assertIn(word, told.stderr)

    def test_every_kind_of_source_passes_the_checks(self):
        (self.folder / "more/art").mkdir(parents=True)
        (self.folder / "code.git").mkdir()
        self.write({"sources": [{"path": "art"}, {"path": "more"}, {"path": "more/art", "name": "second"}, {"git": "code.git"},
                                {"path": "mirrored", "mirror": True}]})
        told = self.hob("config", "--check", "hob.json")
        self.assertEqual([line for line in told.stderr.splitlines() if "HOB_" not in line], [])
        looked = [check for check in json.loads(self.hob("doctor", "--json").stdout)["checks"] if check["name"] == "folder"]
        self.assertEqual([(check["state"], check["text"]) for check in looked if check["state"] == "fail"], [])
        self.assertEqual([check["text"].split("/")[-1] for check in looked],
                         ["art: no files in 1 folder", "more: no files in 2 folders", "art: no files in 1 folder",
                          "code.git: a git repository", "mirrored: will be made, for agents", "more'"])
        (self.folder / "code.git").rmdir()
        self.assertIn("code.git' of 'sources' cannot be opened", self.hob("config", "--check", "hob.json").stderr)

    def test_schema_takes_what_init_writes(self):
        self.assertEqual(self.hob("init", "art").returncode, 0)
        schema = json.loads(self.hob("config", "--schema").stdout)
        written = json.loads((self.folder / "hob.json").read_text())
        for group, members in written.items():
            if group.startswith("//"):
                continue
            self.assertIn(group, schema["properties"])
            for name in members if isinstance(members, dict) and group != "defaults" else []:
                self.assertTrue(name.startswith("//") or name in schema["properties"][group]["properties"], name)
        self.assertEqual(self.hob("init").returncode, 2)  # never overwrites a file

    def test_what_init_writes_changes_what_it_says_and_no_more(self):
        before = json.loads(self.hob("config", "--json").stdout)
        said = self.hob("init", "art").stdout
        after = json.loads(self.hob("config", "--json").stdout)
        self.assertEqual(after["defaults"], before["defaults"])
        changed = [new["key"] for old, new in zip(before["values"], after["values"]) if old["value"] != new["value"]]
        self.assertEqual([key for key in changed if key != "cache.dir"], ["cache.max_size"])  # cache.dir is .hob, now absolute
        self.assertIn("cache.max_size: 20 GiB", said)

    def test_config_for_people_says_units_and_origins(self):
        self.write({"cache": {"max_size": "20 GiB"}, "cook": {"memory_limit": "8 GB"}, "defaults": {"lods": {"max": 3}},
                    "sources": [{"path": "art", "options": {"scale": 2}}, {"path": ".", "name": "all"}]})
        said = self.hob("config").stdout
        for line in ("cache.max_size +20 GiB +hob.json", "cook.memory_limit +8 GB +hob.json", "lods.max +3 +hob.json",
                     "lods.ratio +0.5 +default", "texture.encoding +bc +default", "scale +2 +its options"):
            self.assertRegex(said, rf"(?m)^  {line}$")
        self.assertRegex(said, r"Source \S*, named all\n  no settings of its own")

    def test_sources_patterns_and_options(self):
        self.put("a.obj", obj_text(3))
        self.put("wip/b.obj", obj_text(4))
        self.put("c.stl", "solid s\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\n"
                          "endfacet\nendsolid s\n")
        self.write({"sources": [{"name": "props", "path": "art", "include": ["**/*.{obj,gltf}"], "exclude": ["wip/**"],
                                 "options": {"vertices": "quantized"}}]})
        options = ("--config", str(self.folder / "hob.json"))
        with Daemon([], self.cache, *options) as daemon:
            daemon.sync()
            items = daemon.assets()
            self.assertEqual(list(items), ["props/a.obj"])
            told = daemon.get("/api/v1/assets/" + items["props/a.obj"]["id"]).json()
            self.assertEqual(told["settings"]["vertices"], "quantized")
        self.write({"sources": [{"name": "props", "path": "art", "exclude": ["a.obj"]}]})
        with Daemon([], self.cache, *options) as daemon:
            daemon.sync()
            self.assertEqual(set(daemon.assets()), {"props/wip/b.obj", "props/c.stl"})

    def test_read_again_while_it_runs(self):
        self.put("grid.obj", bumpy_grid(20))
        self.put("own.obj", bumpy_grid(21))
        self.put("own.obj.cook.json", '{"lods":{"max":1}}')
        self.write({"defaults": {"lods": {"max": 1}}})
        with self.serve("--config", str(self.folder / "hob.json")) as daemon:
            daemon.sync()
            self.assertEqual(daemon.assets()["art/grid.obj"]["stats"]["lods"], 1)
            self.write({"defaults": {"lods": {"mx": 3}}})
            daemon.process.send_signal(signal.SIGHUP)
            daemon.wait_log("the former one stays")
            self.write({"defaults": {"lods": {"max": 3}}, "cook": {"jobs": 1}})
            daemon.process.send_signal(signal.SIGHUP)
            daemon.wait_asset("art/grid.obj", "fresh")
            daemon.sync()
            self.assertGreater(daemon.assets()["art/grid.obj"]["stats"]["lods"], 1)
            self.assertEqual(daemon.cooked(), 3)  # the one with its own settings was not cooked again
            daemon.wait_log("'cook.jobs' takes a restart")

    def test_cook_uses_it_as_serve_does(self):
        self.put("grid.obj", bumpy_grid(20))
        self.write({"sources": [{"path": "art", "options": {"lods": {"max": 1}}}]})
        self.assertEqual(self.hob("cook", "art", "-o", "out").returncode, 0)
        with self.serve("--config", str(self.folder / "hob.json")) as daemon:
            daemon.sync()
            self.assertNotEqual(daemon.blob("art/grid.obj"), (self.folder / "out/grid.obj.meshes").read_bytes())
        with Daemon([], self.cache, "--config", str(self.folder / "hob.json")) as daemon:
            daemon.sync()
            self.assertEqual(daemon.blob("art/grid.obj"), (self.folder / "out/grid.obj.meshes").read_bytes())


if __name__ == "__main__":
    main()
