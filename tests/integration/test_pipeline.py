"""Features for build servers and scripts: reports and their forms, all outputs of a daemon, settings from the command line, a log
of pure JSON, and address forms of the clients."""
import json
import os
import pathlib
import re
import subprocess
import sys
import unittest
import xml.etree.ElementTree

from hobtest import DEADLINE, HOB, PROJECT, SETTINGS_SCHEMA, Daemon, Scenario, main, obj_text

FETCH = pathlib.Path(HOB).with_name("hob_fetch")


class Pipeline(Scenario):
    def hob(self, *args, code=0, **environment):
        ran = subprocess.run([HOB, *map(str, args)], cwd=self.folder, capture_output=True, text=True, timeout=DEADLINE, check=False,
                             env=dict(os.environ, NO_COLOR="1", **environment))
        self.assertEqual(ran.returncode, code, (args, ran.stdout, ran.stderr))
        return ran.stdout, ran.stderr

    def models(self):
        self.put("props/big.obj", obj_text(40))
        self.put("props/small.obj", obj_text(1))
        self.put("bad & worse.gltf", "{")
        self.put("scene.max", "a file of another program")

    def test_a_report_has_totals_in_each_form(self):
        self.models()
        budget = '{"triangles": 10}'
        report = json.loads(self.hob("cook", "art", "-o", "b", "--budget", budget, "--report", "-", code=1)[0])
        totals = report["totals"]
        self.assertEqual([totals[key] for key in ("assets", "skipped", "over_budget")], [3, 1, 1])
        self.assertEqual(totals["bytes"], sum(asset["bytes"] for asset in report["assets"]))
        self.assertEqual(totals["triangles"], sum(asset.get("triangles", 0) for asset in report["assets"]))
        again = json.loads(self.hob("cook", "art", "--check", "--format", "json", code=1)[0])["totals"]
        self.assertEqual((again["written_bytes"], again["over_budget"]), (0, 0))
        self.hob("cook", "art", "-o", "b", "--budget", budget, "--format", "junit", "--report", "out/hob.xml", code=1)
        # overrides its own
        self.hob("cook", "art", "-o", "b", "--budget", budget, "--format", "junit", "--report", "out/hob.xml", code=1)
        suite = xml.etree.ElementTree.parse(self.folder / "out/hob.xml").getroot()[0]
        self.assertEqual([suite.get(key) for key in ("tests", "failures", "skipped")], ["4", "2", "1"])
        faults = {case.get("classname") + "/" + case.get("name"): [child.tag for child in case] for case in suite.iter("testcase")}
        self.assertEqual(faults, {"./bad & worse.gltf": ["failure"], "props/big.obj": ["failure"], "props/small.obj": [],
                                  "./scene.max": ["skipped"]})
        lines = self.hob("cook", "art", "-o", "b", "--budget", budget, "--format", "github", code=1)[0].splitlines()
        self.assertTrue(any(re.match(r"::error file=art/bad & worse.gltf,title=not cooked::.*JSON", line) for line in lines), lines)
        self.assertTrue(any(re.match("::error file=art/props/big.obj,title=over budget::", line) for line in lines), lines)
        self.assertTrue(any(line.startswith("::notice file=art/scene.max,title=skipped::") for line in lines), lines)

    def test_a_report_on_standard_output_leaves_what_comes_after(self):
        self.models()
        with open(self.folder / "log", "w") as log:
            subprocess.run(["sh", "-c", f"'{HOB}' cook art/props -o b --report -; echo after"], cwd=self.folder, stdout=log,
                           stderr=subprocess.DEVNULL, timeout=DEADLINE, check=False)
        text = (self.folder / "log").read_text()
        self.assertTrue(text.endswith("}\nafter\n"), text[-80:])

    def test_all_of_a_daemon_is_what_cook_writes(self):
        self.models()
        self.hob("cook", "art", "-o", "cooked", code=1)
        with self.serve() as daemon:
            url = {"HOB_URL": f"127.0.0.1:{daemon.port}"}
            said = self.hob("get", "--all", "--wait", "60", "-o", "got", code=1, **url)[1]
            self.assertIn("broken      art/bad & worse.gltf", said)
            (self.art / "bad & worse.gltf").unlink()
            self.hob("get", "--all", "--wait", "60", "-o", "got", **url)
            for kind in ("meshes", "materials", "scene"):
                for name in ("props/big.obj", "props/small.obj"):
                    self.assertEqual((self.folder / f"got/art/{name}.{kind}").read_bytes(),
                                     (self.folder / f"cooked/{name}.{kind}").read_bytes())
            largest = self.hob("ls", "--sort", "-bytes", **url)[0].splitlines()
            self.assertTrue(largest[0].endswith("art/props/big.obj"), largest)
            self.assertTrue(self.hob("ls", "--sort", "bytes", **url)[0].splitlines()[-1].endswith("art/props/big.obj"))

    def test_settings_of_one_asset_from_the_command_line(self):
        self.models()
        with self.serve() as daemon:
            daemon.sync()
            url = {"HOB_URL": f"127.0.0.1:{daemon.port}"}
            said = self.hob("set", "art/props/big.obj", "lods.max=2", "texture.encoding=bc", "drop_unused_uvs=true", **url)[0]
            self.assertIn("lods.max = 2", said)
            sidecar = self.art / "props/big.obj.cook.json"
            self.assertEqual(json.loads(sidecar.read_text()),
                             SETTINGS_SCHEMA | {"lods": {"max": 2}, "texture": {"encoding": "bc"}, "drop_unused_uvs": True})
            self.hob("set", "art/props/big.obj", "lods.max=", **url)
            self.assertNotIn("lods", {key for key, value in json.loads(sidecar.read_text()).items() if value})
            before = sidecar.read_text()
            self.assertIn("from 1 to 7, not 70", self.hob("set", "art/props/big.obj", "lods.max=70", code=2, **url)[1])
            self.assertEqual(sidecar.read_text(), before)

    def test_a_log_of_json_is_json_to_the_last_line(self):
        self.models()
        daemon = Daemon([self.art], self.folder / "cache", "--log", "json", wait_ready=False)
        while not any('"ready"' in line for line in daemon.log):
            line = daemon.lines.get(timeout=DEADLINE)
            self.assertIsNotNone(line, "it ended")
        daemon.process.terminate()
        self.assertEqual(daemon.process.wait(timeout=DEADLINE), 0)
        while daemon.lines.get(timeout=DEADLINE) is not None:
            pass
        self.assertEqual(daemon.printed, [])
        events = [json.loads(line)["event"] for line in daemon.log]
        self.assertEqual(events[-1], "stopped")
        for wrong in (["gone"], ["art", "--listen", "7780"], ["art", "--cache", "/dev/null/x"]):
            said = self.hob("serve", *wrong, "--log", "json", code=2)[1]
            self.assertEqual([json.loads(line)["level"] for line in said.splitlines()], ["error"], said)

    def test_tables_fit_a_terminal_of_80_columns(self):
        long = [line for line in self.hob("config", COLUMNS="80")[0].splitlines() if len(line) > 80]
        self.assertEqual(long, [])

    def test_settings_files_of_no_model_are_told_of(self):
        self.put("Fox.obj", obj_text(1))
        self.put("Fox.cook.json", "{}")
        self.put("cook.json", "{}")
        self.put("Other.obj.cook.json", "{}")  # of a deleted model: no other one is affected
        said = self.hob("cook", "art", "-o", "b")[1]
        self.assertEqual(said.count("has no effect"), 1)
        self.assertIn("Fox.cook.json has no effect; for Fox.obj, name it Fox.obj.cook.json", said)
        self.assertIn("Fox.obj.cook.json", self.hob("doctor", "art", HOB_URL="127.0.0.1:1")[0])

    def test_a_cache_over_its_limit_says_why_nothing_goes(self):
        self.models()
        with self.serve() as daemon:
            daemon.sync()
        with self.serve("--max-size", "1KB") as daemon:  # existing data is checked at once, new data within a minute
            daemon.wait_log("over its limit of 1.0 KB, and nothing can go: assets use all of it; raise cache.max_size")
        self.assertEqual(sum("over its limit" in line for line in daemon.log), 1)

    def test_what_hobignore_names_is_no_asset(self):
        for name in ("keep.obj", "wip/a.obj", "props/wip/b.obj", "props/c.obj", "old.obj", "props/old.obj", "top/d.obj", "props/top/e.obj",
                     "note.tmp.obj", "props/note.tmp.obj"):
            self.put(name, obj_text(1))
        self.put(".hobignore", "# not for the game\nwip/\nold.obj\n\n/top/\n*.tmp.obj\n")
        kept = ["keep.obj", "props/c.obj", "props/top/e.obj"]
        for place in ("art", "."):  # from its folder, and inside another run only where named
            report = json.loads(self.hob("cook", place, "--check", "--report", "-")[0])
            names = sorted(asset["path"].removeprefix("art/") for asset in report["assets"])
            self.assertEqual(names, kept if place == "art" else sorted([*kept, "wip/a.obj", "props/wip/b.obj", "old.obj", "props/old.obj",
                                                                         "top/d.obj", "note.tmp.obj", "props/note.tmp.obj"]))
        with self.serve() as daemon:
            daemon.sync()
            self.assertEqual(sorted(item["path"] for item in daemon.get("/api/v1/assets").json()["items"]), kept)
        self.put(".hobignore", "a\n!keep.obj\n")
        said = self.hob("cook", "art", "--check", code=2)[1]
        self.assertIn(".hobignore:2: '!keep.obj' cannot take anything back", said)
        self.assertIn(".hobignore:2:", self.hob("serve", "art", code=2)[1])

    def test_clients_take_every_form_of_an_address(self):
        self.models()
        place = f"{self.folder}/s"
        with self.serve("--listen", f"127.0.0.1:0,unix:{place}") as daemon:
            daemon.sync()
            script = ("import sys; sys.path.insert(0, sys.argv[1]); import hob\n"
                      "c = hob.Client(sys.argv[2]); print(c.get('art/props/big.obj').hash)\n"
                      "e = next(c.watch()); print(e.kind, e.bytes_changed)")
            for url in (f"127.0.0.1:{daemon.port}", f"http://127.0.0.1:{daemon.port}", f"unix:{place}"):
                ran = subprocess.run([sys.executable, "-c", script, str(PROJECT / "web/python"), url], capture_output=True, text=True,
                                     timeout=DEADLINE, check=False)
                self.assertRegex(ran.stdout, r"^[0-9a-f]{64}\nhello False\n$", ran.stderr)
                if FETCH.exists():
                    ran = subprocess.run([str(FETCH), url, "art/props/big.obj", "meshes"], cwd=self.folder, capture_output=True, text=True,
                                         timeout=DEADLINE, check=False)
                    self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)


if __name__ == "__main__":
    main()
