"""hob cook --cache: the same tree is cooked only once."""
import hashlib
import json
import os
import pathlib
import shutil
import subprocess

from hobtest import HOB, DEADLINE, Scenario, kept_blobs, main, obj_text, png


def tree(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(pathlib.Path(folder).rglob("*")) if path.is_file()}


class CookCache(Scenario):
    def cook(self, *arguments, cwd=None, code=0, **environment):
        (self.folder / "report.json").unlink(missing_ok=True)
        done = subprocess.run([HOB, "cook", *map(str, arguments), "--report", self.folder / "report.json"],
                              capture_output=True, text=True, timeout=DEADLINE, cwd=cwd or self.folder,
                              env=dict(os.environ, **environment), check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        report = json.loads((self.folder / "report.json").read_text())
        self.counts = (report["cooked"], report["cached"], report["failed"])
        self.assets = {item["path"]: item for item in report["assets"]}
        return done

    def models(self):
        self.put("tex/a.png", png(255, 0, 0))
        for i in range(4):
            self.put(f"d{i % 2}/m{i}.mtl", f"newmtl m\nKd 1 1 {i}\nmap_Kd ../tex/a.png\n")
            self.put(f"d{i % 2}/m{i}.obj", obj_text(10 + i, mtl=f"m{i}.mtl"))

    def test_the_second_run_cooks_nothing(self):
        self.models()
        self.cook(self.art, "-o", "one", "--cache", self.cache)
        self.assertEqual(self.counts, (4, 0, 0))
        done = self.cook(self.art, "-o", "two", "--cache", self.cache)
        self.assertEqual(self.counts, (0, 4, 0))
        self.assertIn("0 cooked, 4 from the cache, 0 failed", done.stderr)
        self.assertEqual(tree(self.folder / "one"), tree(self.folder / "two"))
        # A moved checkout with other times.
        moved = self.folder / "elsewhere/art"
        moved.parent.mkdir()
        shutil.copytree(self.art, moved)
        for path in moved.rglob("*"):
            os.utime(path, (1, 1))
        self.cook(moved, "-o", "three", "--cache", self.cache)
        self.assertEqual(self.counts, (0, 4, 0))
        self.assertEqual(tree(self.folder / "one"), tree(self.folder / "three"))
        self.cook(self.art, "-o", "four", "--cache", self.cache, "--force")
        self.assertEqual(self.counts, (4, 0, 0))
        self.cook(self.art, "-o", "five")
        self.assertEqual(self.counts, (4, 0, 0))

    def test_what_changed_is_cooked_and_nothing_else(self):
        self.models()
        self.cook(self.art, "-o", "one", "--cache", self.cache)
        self.put("d0/m0.mtl", "newmtl m\nKd 0 0 0\n")
        self.cook(self.art, "-o", "two", "--cache", self.cache)
        self.assertEqual(self.counts, (1, 3, 0))
        self.assertEqual([name for name, item in self.assets.items() if item["state"] == "cooked"], ["d0/m0.obj"])
        self.put("tex/a.png", png(0, 255, 0))
        self.cook(self.art, "-o", "two", "--cache", self.cache)
        self.assertEqual(self.counts, (3, 1, 0))
        (self.art / "tex/a.png").unlink()
        self.cook(self.art, "-o", "two", "--cache", self.cache)
        self.assertEqual(self.counts, (3, 1, 0))
        self.put("tex/a.png", png(255, 0, 0))
        self.cook(self.art, "-o", "two", "--cache", self.cache)
        self.assertEqual(self.counts, (0, 4, 0))
        self.put("cook.json", '{"scale": 2}')
        self.cook(self.art, "-o", "two", "--cache", self.cache)
        self.assertEqual(self.counts, (4, 0, 0))
        self.cook(self.art, "-o", "fresh")
        self.assertEqual({n: b for n, b in tree(self.folder / "two").items() if n.endswith(".meshes")},
                         {n: b for n, b in tree(self.folder / "fresh").items() if n.endswith(".meshes")})

    def test_exit_codes_and_notes_are_those_of_a_cook(self):
        self.put("a.obj", obj_text(50, mtl="a.mtl"))
        self.put("a.mtl", "newmtl m\nmap_Kd gone.png\n")
        budget = self.folder / "budget.json"
        budget.write_text('{"triangles": 5}')
        self.cook(self.art, "-o", "out", "--cache", self.cache, "--budget", budget, code=4)
        self.assertEqual(self.counts, (1, 0, 0))
        first = self.assets["a.obj"]
        done = self.cook(self.art, "-o", "out", "--cache", self.cache, "--budget", budget, code=4)
        self.assertEqual(self.counts, (0, 1, 0))
        self.assertIn("1 over budget", done.stderr)
        again = self.assets["a.obj"]
        for key in ("notes", "triangles", "meshes", "materials", "textures", "bytes"):
            self.assertEqual(first[key], again[key], key)
        # Failures are reported every time.
        self.put("b.glb", b"no model")
        for _ in range(2):
            self.cook(self.art, "-o", "out", "--cache", self.cache, "--check", code=1)
            self.assertEqual(self.counts[2], 1)

    def test_a_reference_above_the_root_holds_only_there(self):
        """The same bytes deeper in the tree resolve to the file: a different cook."""
        model = obj_text(10, mtl="../lib/m.mtl")
        self.put("a.obj", model)
        self.put("lib/m.mtl", "newmtl m\nKd 1 0 0\n")
        self.cook(self.art, "-o", "out", "--cache", self.cache)
        self.put("props/a.obj", model)
        self.cook(self.art, "-o", "out", "--cache", self.cache)
        self.assertEqual(self.counts, (1, 1, 0))
        self.cook(self.art, "-o", "fresh")
        self.assertEqual(*({n: b for n, b in tree(self.folder / out).items() if not n.endswith(".report.json")} for out in ("out", "fresh")))
        with self.serve() as daemon:
            daemon.sync()
            self.assertEqual(daemon.cooked(), 0)
            for part in ("deps", "why"):
                self.assertEqual(daemon.get(f"/api/v1/assets/{daemon.assets()['art/a.obj']['id']}/{part}").status, 200)
            self.put("deeper/lib/m.mtl", "newmtl m\nKd 0 1 0\n")
            self.put("deeper/props/a.obj", model)
            daemon.sync()
            self.assertEqual(daemon.cooked(), 1)

    def test_it_is_the_daemons_cache(self):
        self.models()
        with self.serve() as daemon:
            daemon.sync()
            other = self.folder / "other"
            shutil.copytree(self.art, other)
            (other / "d0/new.obj").write_text(obj_text(98))
            for _ in range(2):  # the cache is read, but nothing is added
                done = self.cook(other, "-o", "out", "--cache", self.cache)
                self.assertIn("nothing new is kept in the cache: another Hob (pid", done.stderr)
                self.assertEqual(self.counts, (1, 4, 0))
        (self.folder / "hob.json").write_text(json.dumps({"sources": [{"path": "art"}], "cache": {"dir": "cache"}}))
        self.cook(self.art, "-o", "out")
        self.assertEqual(self.counts, (0, 4, 0))
        self.put("d0/new.obj", obj_text(99))
        self.cook(self.art, "-o", "out", HOB_CACHE=str(self.cache))
        self.assertEqual(self.counts, (1, 4, 0))
        with self.serve() as daemon:
            daemon.sync()
            self.assertEqual(daemon.cooked(), 0)
            self.assertEqual(daemon.assets()["art/d0/new.obj"]["state"], "fresh")

    def test_the_cache_of_a_daemon_is_left_as_it_is(self):
        self.models()
        with self.serve("--pack-below", "0") as daemon:
            daemon.sync()
            damaged = {}
            for digest, blob in kept_blobs(self.cache).items():
                blob.write(blob.read()[:-1] + b"?")
                damaged[digest] = blob.read()
            before = sorted(tree(self.cache))
            self.cook(self.art, "-o", "out", "--cache", self.cache)
            self.assertEqual(self.counts, (4, 0, 0))
            self.assertEqual({digest: blob.read() for digest, blob in kept_blobs(self.cache).items()}, damaged)
            self.assertEqual(sorted(tree(self.cache)), before)
            for number, digest in enumerate(damaged):  # still damaged: the daemon repairs all after finding one
                answer = daemon.get(f"/blobs/{digest}")
                healed = number > 0 and answer.status == 200 and hashlib.sha256(answer.body).hexdigest() == digest
                self.assertTrue(healed or answer.status in (404, 410, 503), answer.status)

    def test_a_damaged_blob_is_cooked_again(self):
        self.models()
        self.cook(self.art, "-o", "one", "--cache", self.cache)
        for blob in kept_blobs(self.cache).values():
            blob.write(blob.read()[:-1] + b"?")
        self.cook(self.art, "-o", "two", "--cache", self.cache)
        self.assertEqual(self.counts, (4, 0, 0))
        names = [name for name in tree(self.folder / "one") if not name.endswith(".report.json")]
        for name in names:
            self.assertEqual((self.folder / "one" / name).read_bytes(), (self.folder / "two" / name).read_bytes())
        self.cook(self.art, "-o", "two", "--cache", self.cache)
        self.assertEqual(self.counts, (0, 4, 0))

    def test_prune_leaves_nothing_of_deleted_sources(self):
        self.models()
        self.put("own/x.obj", obj_text(3, mtl="x.mtl"))
        self.put("own/x.mtl", "newmtl m\nKd 1 1 1\nmap_Kd own.png\n")
        self.put("own/own.png", png(9, 9, 9))
        out = self.folder / "out"
        self.cook(self.art, "-o", out, "--classic")
        before = tree(out)
        # Files that no cook made, or whose source still exists.
        kept = {"own/x.obj.txt": b"mine", "note.report.json": b"{}", "textures/readme": b"mine", "lost.obj.meshes": b"no report beside it"}
        for name, data in kept.items():
            (out / name).write_bytes(data)
        shutil.rmtree(self.art / "own")
        (self.art / "d1/m1.obj").unlink()
        (self.art / "d1/m3.obj").write_text("no model")
        self.cook(self.art, "-o", out, "--classic", code=1)
        self.assertEqual(sorted(tree(out)), sorted({**before, **kept}))
        done = self.cook(self.art, "-o", out, "--classic", "--prune", code=1)
        self.assertIn("removed  d1/m1.obj\n", done.stderr)
        self.assertIn("removed  own/x.obj\n", done.stderr)
        fresh = self.folder / "fresh"
        self.cook(self.art, "-o", fresh, "--classic", code=1)
        # the outputs of a failed source stay until it is fixed
        failed = {name: data for name, data in before.items() if name.startswith(("d1/m3.obj.", "d1/out_textures/"))}
        expected = {**tree(fresh), **kept, **failed}
        self.assertEqual(sorted(tree(out)), sorted(expected))
        (out / "own/x.obj.txt").unlink()
        # A second folder in one run, and a link that leads out.
        lib = self.folder / "lib"
        lib.mkdir()
        (lib / "b.obj").write_text(obj_text(2))
        (out / "away").symlink_to(fresh)
        whole = tree(fresh)
        self.cook(self.art, lib, "-o", out, "--classic", "--prune", code=1)
        self.assertIn("b.obj.meshes", tree(out))
        self.assertEqual(tree(fresh), whole)
        self.assertEqual(sorted(set(tree(out)) - set(expected)), sorted(name for name in tree(out) if name.startswith("b.obj.")))
        # Unnamed content of a folder is unknown, so nothing is pruned.
        for wrong in ([self.art / "d0/m0.obj", "-o", out], [self.art, "--check"]):
            done = subprocess.run([HOB, "cook", *wrong, "--prune"], capture_output=True, text=True, timeout=DEADLINE, check=False)
            self.assertEqual((done.returncode, "--prune" in done.stderr), (2, True), done.stderr)


if __name__ == "__main__":
    main()
