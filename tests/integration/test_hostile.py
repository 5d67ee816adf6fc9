"""Models that crash, hang, use too much memory or reach out: each is one failed asset, and the daemon continues."""
import json
import os
import pathlib
import re
import shutil
import threading

from hobtest import CORPUS, Scenario, built_with, main, obj_text

FINAL = {"fresh", "failed", "interrupted", "quarantined", "stale"}


class Hostile(Scenario):
    def test_reference_outside_the_root_is_refused(self):
        secret = self.folder / "secret.bin"
        secret.write_bytes(b"TOP-SECRET-CANARY" * 64)
        for i, uri in enumerate(["../secret.bin", str(secret), "file://" + str(secret), "a/../../secret.bin",
                                 "..%2fsecret.bin", "..\\\\secret.bin", "link.bin"]):
            self.put(f"m{i}.gltf", '{"asset":{"version":"2.0"},"buffers":[{"uri":"%s","byteLength":1024}],'
                     '"bufferViews":[{"buffer":0,"byteLength":1024}],'
                     '"accessors":[{"bufferView":0,"componentType":5126,"count":80,"type":"VEC3"}],'
                     '"meshes":[{"primitives":[{"attributes":{"POSITION":0}}]}],'
                     '"nodes":[{"mesh":0}],"scenes":[{"nodes":[0]}]}' % uri)
        os.symlink(secret, self.art / "link.bin")
        os.symlink(self.folder, self.art / "loop")
        self.put("m.obj", "mtllib ../secret.bin\n" + obj_text(2))
        with self.serve() as daemon:
            daemon.sync()
            items = daemon.assets()
            for name, item in items.items():
                self.assertIn(item["state"], FINAL)
                if name.endswith(".gltf"):
                    self.assertEqual(item["state"], "failed", name)
                    self.assertIn(item["error"]["code"], ("import.outside-root", "import.missing-file"), item)
            for path in pathlib.Path(self.cache).rglob("*"):
                if path.is_file():
                    self.assertNotIn(b"CANARY", path.read_bytes(), path)

    def test_special_files_are_not_opened(self):
        os.mkfifo(self.art / "pipe.obj")
        (self.art / "folder.obj").mkdir()
        os.symlink("/proc/self/environ", self.art / "env.obj")
        self.put("good.obj", obj_text(2))
        with self.serve() as daemon:
            daemon.sync()
            self.assertEqual(set(daemon.assets()), {"art/good.obj"})

    def test_odd_names(self):
        names = ["sp ace.obj", "per%cent.obj", "new\nline.obj", "quote\".obj", "umläut.obj", "plus+and&.obj", "日本.obj"]
        for name in names:
            self.put(name, obj_text(2))
        (self.art / os.fsdecode(b"bad\xff.obj")).write_text(obj_text(2))
        with self.serve() as daemon:
            daemon.sync()
            items = daemon.assets()
            self.assertEqual(len(items), len(names) + 1)
            self.assertTrue(all(item["state"] == "fresh" for item in items.values()), items)
            from urllib.parse import quote
            for name in names:
                self.assertEqual(daemon.get("/a/art/" + quote(name)).status, 200, name)
            self.assertEqual(daemon.get("/a/art/bad%ff.obj").status, 200)

    def test_files_above_the_limit_are_refused_by_their_size(self):
        """Files above the limit are refused at once, without being read, and a stop does not wait for them."""
        limit = 2 << 30
        for name, size in (("huge.obj", limit + 1), ("sea.obj", 40 << 30)):
            (self.art / name).touch()
            os.truncate(self.art / name, size)
        (self.art / "huge.bin").touch()
        os.truncate(self.art / "huge.bin", 3 << 30)
        buffers = [{"uri": "huge.bin", "byteLength": 36}]
        self.put("uses.gltf", json.dumps({"asset": {"version": "2.0"}, "buffers": buffers, "bufferViews": [{"buffer": 0, "byteLength": 36}],
                                          "accessors": [{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"}],
                                          "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}], "nodes": [{"mesh": 0}],
                                          "scenes": [{"nodes": [0]}]}))
        with self.serve() as daemon:
            daemon.sync()
            items = daemon.assets()
            for name, named in (("huge.obj", "'huge.obj' has 2147483649"), ("sea.obj", "'sea.obj' has 42949672960"),
                                ("uses.gltf", "'huge.bin' has 3221225472")):
                error = items["art/" + name]["error"]
                self.assertEqual(error["code"], "cook.limit", error)
                self.assertIn(named, error["message"])
                self.assertIn("cook.source_limit", error["message"])
            self.assertEqual(daemon.counters()["hob_hashed_bytes_total"], (self.art / "uses.gltf").stat().st_size)

    def test_the_limit_of_a_file_is_a_setting(self):
        """When the limit is raised, refused models and dependencies are tried again."""
        self.put("look.mtl", "newmtl m\nKd 1 0 0\n" + "# padding\n" * 3000)
        self.put("uses.obj", obj_text(2, mtl="look.mtl"))
        self.put("large.obj", obj_text(2000))
        states = lambda daemon: daemon.sync() and {name: item["state"] for name, item in daemon.assets().items()}
        error = lambda daemon, name: daemon.assets()[name]["error"]["message"]
        with self.serve("--source-limit", "16 KiB") as daemon:
            self.assertEqual(states(daemon), {"art/large.obj": "failed", "art/uses.obj": "failed"})
            self.assertIn("may have 16384 (cook.source_limit)", error(daemon, "art/large.obj"))
            self.assertRegex(error(daemon, "art/uses.obj"), "look.mtl.*cook.source_limit")
        with self.serve("--source-limit", "2 MiB") as daemon:
            self.assertEqual(states(daemon), {"art/large.obj": "fresh", "art/uses.obj": "fresh"})

    def test_every_hostile_file_of_the_corpus(self):
        if not CORPUS.exists():
            self.skipTest("the model corpus is not here")
        shutil.copytree(CORPUS / "bad", self.art / "bad")
        # The sanitizer would keep 256 MB of freed memory.
        os.environ["ASAN_OPTIONS"] = "detect_leaks=1:allocator_may_return_null=1:quarantine_size_mb=4"
        self.addCleanup(os.environ.pop, "ASAN_OPTIONS")
        with self.serve("--timeout", "20", "--memory", "2 GiB") as daemon:
            stop = threading.Event()
            slow = []

            def ask():
                while not stop.wait(0.2):
                    answer = daemon.get("/livez")
                    if answer.status != 200:
                        slow.append(answer.status)

            asking = threading.Thread(target=ask)
            asking.start()
            daemon.sync()
            stop.set()
            asking.join()
            self.assertEqual(slow, [])
            items = daemon.assets()
            self.assertGreater(len(items), 100)
            for name, item in items.items():
                self.assertIn(item["state"], FINAL, name)
                if item["state"] != "fresh":
                    self.assertTrue(item["error"]["message"], name)
            self.put("good.obj", obj_text(9))
            self.assertEqual(daemon.wait_asset("art/good.obj", "fresh", "failed")["state"], "fresh")
            states = {}
            for item in items.values():
                states[item["state"]] = states.get(item["state"], 0) + 1
            self.contained(daemon, states)
            self.assertIsNone(daemon.process.poll())

    def contained(self, daemon, states):
        """Checks the peak memory of the process that the test started, as the kernel counts it."""
        status = pathlib.Path(f"/proc/{daemon.process.pid}/status").read_text()
        peak = int(re.search(r"VmHWM:\s+(\d+)", status).group(1)) << 10
        self.assertLess(peak, (256 << 20) * (3 if built_with("tsan") else 1))
        print(f"hostile: {dict(sorted(states.items()))}, the daemon's peak {peak >> 20} MiB")


if __name__ == "__main__":
    main()
