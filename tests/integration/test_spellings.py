"""A model whose material library, texture or buffer is spelt in another case, or is missing: each lookup of another spelling is
an input of the cook. Compared with a clean cook at each step, by events, polling, after restarts, with an existing cache and an
upstream."""
import hashlib
import json
import os
import shutil
import subprocess

from hobtest import DEADLINE, HOB, Daemon, Scenario, main, obj_text, png

RED, BLUE = "newmtl m\nKd 1 0 0\n", "newmtl m\nKd 0 0 1\n"
GLTF = json.dumps({"asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}], "nodes": [{"mesh": 0}],
                   "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
                   "accessors": [{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3", "min": [0, 0, 0], "max": [1, 1, 0]}],
                   "bufferViews": [{"buffer": 0, "byteLength": 36}], "buffers": [{"uri": "a.bin", "byteLength": 36}]})


class Spellings(Scenario):
    def clean(self, name="o.obj"):
        """Digest of the materials in a clean cook, or its error message."""
        out = self.folder / "clean"
        shutil.rmtree(out, ignore_errors=True)
        run = subprocess.run([HOB, "cook", "--root", self.art, self.art / name, "-o", out], capture_output=True,
                             text=True, timeout=DEADLINE)
        if run.returncode:
            return run.stderr.splitlines()[0]
        (made,) = out.rglob("*.materials")
        return hashlib.sha256(made.read_bytes()).digest()

    def same(self, daemon, name="o.obj", scan=False):
        """At a quiet moment the daemon serves the result of a clean cook."""
        daemon.sync(scan=scan)
        clean, answer = self.clean(name), daemon.get(f"/a/art/{name}?output=materials")
        if isinstance(clean, str):
            message = daemon.assets()["art/" + name]["error"]["message"]
            self.assertIn(message.split(";")[0], clean)
        else:
            self.assertEqual(answer.status, 200)
            self.assertEqual(hashlib.sha256(answer.body).digest(), clean)
        return clean

    def spellings_come_and_go(self, daemon, scan=False):
        plain = self.same(daemon, scan=scan)
        self.put("M.mtl", RED)
        red = self.same(daemon, scan=scan)
        self.assertNotEqual(plain, red)
        self.put("M.MTL", BLUE)  # the first in byte order is used
        blue = self.same(daemon, scan=scan)
        self.assertNotIn(blue, (plain, red))
        (self.art / "M.MTL").unlink()
        self.assertEqual(self.same(daemon, scan=scan), red)
        (self.art / "M.mtl").rename(self.art / "N.mtl")
        self.assertEqual(self.same(daemon, scan=scan), plain)
        self.put("m.mtl", BLUE)
        self.assertEqual(self.same(daemon, scan=scan), blue)
        (self.art / "m.mtl").unlink()
        self.assertEqual(self.same(daemon, scan=scan), plain)

    def test_by_events(self):
        self.put("o.obj", obj_text(1, mtl="m.mtl"))
        with self.serve() as daemon:
            daemon.sync()
            scans = daemon.counters()["hob_scans_total"]
            self.spellings_come_and_go(daemon)
            self.put("M.mtl", RED)
            self.same(daemon)
            # Repeating it costs no cook.
            cooked = daemon.cooked()
            (self.art / "M.mtl").unlink()
            self.same(daemon)
            self.assertEqual((daemon.cooked(), daemon.counters()["hob_scans_total"]), (cooked, scans))

    def test_something_else_has_the_name(self):
        self.put("o.obj", obj_text(1, mtl="m.mtl"))
        (self.art / "m.mtl").mkdir()
        with self.serve() as daemon:
            plain = self.same(daemon)
            (self.art / "m.mtl").rmdir()
            self.put("m.mtl", RED)
            self.assertNotEqual(self.same(daemon), plain)
            (self.art / "m.mtl").unlink()
            (self.art / "m.mtl").mkdir()
            self.assertEqual(self.same(daemon), plain)

    def test_by_polling(self):
        self.put("o.obj", obj_text(1, mtl="m.mtl"))
        with self.serve("--watch", "poll", "--poll-ms", "50") as daemon:
            self.spellings_come_and_go(daemon, scan=True)

    def test_while_no_daemon_runs(self):
        self.put("o.obj", obj_text(1, mtl="m.mtl"))
        with self.serve() as daemon:
            plain = self.same(daemon)
        self.put("M.mtl", RED)
        with self.serve() as daemon:
            self.assertNotEqual(self.same(daemon), plain)
        (self.art / "M.mtl").unlink()
        with self.serve() as daemon:
            self.assertEqual(self.same(daemon), plain)
            self.assertEqual(daemon.cooked(), 0)

    def test_a_hidden_folder_and_one_behind_a_link(self):
        (self.art / "v1").mkdir()
        os.symlink("v1", self.art / "current")
        self.put("o.obj", obj_text(1, mtl=".lib/m.mtl"))
        self.put("p.obj", obj_text(1, mtl="current/m.mtl"))
        self.put("q.obj", obj_text(1, mtl="late/m.mtl"))
        (self.art / ".lib").mkdir()
        with self.serve() as daemon:
            plain = [self.same(daemon, name) for name in ("o.obj", "p.obj", "q.obj")]
            for folder in (".lib", "v1"):
                (self.art / folder / "M.mtl").write_text(RED)
            (self.folder / "late").mkdir()
            (self.folder / "late" / "M.mtl").write_text(RED)
            (self.folder / "late").rename(self.art / "late")
            red = [self.same(daemon, name) for name in ("o.obj", "p.obj", "q.obj")]
            self.assertNotIn(red[0], plain)
            for folder in (".lib", "v1"):
                (self.art / folder / "M.mtl").unlink()
            shutil.rmtree(self.art / "late")
            self.assertEqual([self.same(daemon, name) for name in ("o.obj", "p.obj", "q.obj")], plain)

    def test_textures_and_the_message_about_a_buffer(self):
        self.put("o.obj", obj_text(1, mtl="m.mtl"))
        self.put("m.mtl", "newmtl m\nmap_Kd café.png\n")
        self.put("b.gltf", GLTF)
        with self.serve() as daemon:
            for shade, name in enumerate(("cafe\u0301.png", "CAFÉ.PNG", "A.bin", "A.BIN")):
                plain = self.same(daemon), self.same(daemon, "b.gltf")
                self.put(name, png(shade, 9, 9) if name.lower().endswith("png") else bytes(36))
                self.assertNotEqual((self.same(daemon), self.same(daemon, "b.gltf")), plain, name)

    def cook_kept(self):
        out = self.folder / "kept"
        shutil.rmtree(out, ignore_errors=True)
        subprocess.run([HOB, "cook", "--cache", self.folder / "shared", "--root", self.art, self.art / "o.obj", "-o", out], check=True,
                       capture_output=True, timeout=DEADLINE)
        (made,) = out.rglob("*.materials")
        return hashlib.sha256(made.read_bytes()).digest()

    def test_a_kept_cache(self):
        self.put("o.obj", obj_text(1, mtl="m.mtl"))
        plain = self.cook_kept()
        self.put("M.mtl", RED)
        red = self.cook_kept()
        self.assertEqual((red, red != plain), (self.clean(), True))
        (self.art / "M.mtl").unlink()
        self.assertEqual(self.cook_kept(), plain)

    def test_through_an_upstream(self):
        self.put("o.obj", obj_text(1, mtl="m.mtl"))
        other = self.folder / "other" / "art"
        shutil.copytree(self.art, other)
        with self.serve() as upstream:
            plain = self.same(upstream)
            with Daemon([other], self.folder / "cache2", "--upstream", f"http://127.0.0.1:{upstream.port}") as daemon:
                self.art = other
                self.assertEqual(self.same(daemon), plain)
                self.assertEqual(daemon.cooked(), 0)
                self.put("M.mtl", RED)
                self.assertNotEqual(self.same(daemon), plain)
            shutil.rmtree(self.folder / "cache2")
            with Daemon([other], self.folder / "cache2", "--upstream", f"http://127.0.0.1:{upstream.port}") as daemon:
                self.same(daemon)

    def test_the_question_is_shown_as_an_input(self):
        self.put("o.obj", obj_text(1, mtl="tex/m.mtl"))
        with self.serve() as daemon:
            daemon.sync()
            deps = {dep["path"]: dep["missing"] for dep in daemon.assets("&fields=root,path,deps")["art/o.obj"]["deps"]}
            self.assertEqual(deps, {name: True for path in ("tex/m.mtl", "m.mtl") for name in (path, path + " (any spelling)")})
            self.put("tex/M.mtl", RED)
            daemon.sync()
            deps = {dep["path"]: dep["missing"] for dep in daemon.assets("&fields=root,path,deps")["art/o.obj"]["deps"]}
            self.assertEqual(deps, {"tex/m.mtl": True, "tex/m.mtl (any spelling)": False, "tex/M.mtl": False})

    def test_a_file_with_the_name_of_a_question_is_not_read(self):
        self.put("o.obj", obj_text(1, mtl="m.mtl (any spelling)"))
        self.put("m.mtl (any spelling)", RED)
        with self.serve() as daemon:
            plain = self.same(daemon)
            self.put("m.mtl (any spelling)", BLUE)
            self.assertEqual(self.same(daemon), plain)


if __name__ == "__main__":
    main()
