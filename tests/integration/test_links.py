"""Used files that no scan lists: in hidden folders, behind links to folders, in stores behind links. Their changes are reported
by events, without a scan, or by polling where there are no events."""
import ctypes
import hashlib
import json
import os
import shutil
import subprocess

from hobtest import DEADLINE, HOB, Scenario, main, obj_text

LIBC = ctypes.CDLL(None, use_errno=True)


def material(red):
    return f"newmtl m\nKd {red} 0 0\n"


class Links(Scenario):
    def link(self, path, target):
        """Replaces a link as ln -sfn does: renames a new one over it."""
        temp = self.art / (path + ".new")
        temp.symlink_to(target)
        temp.rename(self.art / path)

    def begin(self, *options):
        daemon = self.serve(*options)
        self.addCleanup(daemon.stop)
        daemon.sync()
        self.scans = daemon.counters()["hob_scans_total"]
        return daemon

    def cooks(self, daemon, *names):
        """Waits until each of these models has been published with another result."""
        waiting = set(names)
        while waiting:
            name = daemon.wait_event("asset", lambda data: data["state"] == "fresh" and data["asset"] in waiting)["asset"]
            digest = self.materials(daemon, name)
            if digest != self.shown[name]:
                self.shown[name] = digest
                waiting.remove(name)

    def materials(self, daemon, name):
        return daemon.get(f"/a/{name}?output=materials").headers["etag"]

    def look(self, daemon, *names):
        self.shown = {name: self.materials(daemon, name) for name in names}

    def no_scan(self, daemon):
        self.assertEqual(daemon.counters()["hob_scans_total"], self.scans, "a scan found it, not an event")

    def hidden_folder(self, daemon):
        self.put(".lib/deep/m.mtl", material(0.2))
        self.cooks(daemon, "art/a.obj")
        with open(self.art / ".lib/deep/m.mtl", "r+", encoding="ascii") as file:  # never empty
            file.write(material(0.3))
        self.cooks(daemon, "art/a.obj")
        # The folder itself disappears and returns.
        (self.art / ".lib").rename(self.art / ".away")
        self.cooks(daemon, "art/a.obj")
        (self.art / ".lib/deep").mkdir(parents=True)
        (self.art / ".lib/deep/m.mtl").write_text(material(0.4))
        self.cooks(daemon, "art/a.obj")
        (self.art / ".lib/deep").rename(self.art / ".lib/other")
        self.cooks(daemon, "art/a.obj")
        (self.art / ".lib/other").rename(self.art / ".lib/deep")
        self.cooks(daemon, "art/a.obj")
        self.put(".lib/deep/m.mtl", material(0.5))
        self.cooks(daemon, "art/a.obj")
        self.assertEqual(set(daemon.assets()), {"art/a.obj"})

    def setup_hidden(self):
        self.put(".lib/deep/m.mtl", material(0.1))
        self.put(".lib/deep/hidden.obj", obj_text(1))
        self.put("a.obj", obj_text(2, mtl=".lib/deep/m.mtl"))

    def test_dependency_in_a_hidden_folder(self):
        self.setup_hidden()
        daemon = self.begin()
        self.look(daemon, "art/a.obj")
        self.hidden_folder(daemon)
        self.no_scan(daemon)

    def test_dependency_in_a_hidden_folder_after_a_restart(self):
        self.setup_hidden()
        with self.serve() as daemon:
            daemon.sync()
        daemon = self.begin()
        self.assertEqual(daemon.cooked(), 0)
        self.look(daemon, "art/a.obj")
        self.hidden_folder(daemon)
        self.no_scan(daemon)

    def test_dependency_in_a_hidden_folder_by_polling(self):
        self.setup_hidden()
        daemon = self.begin("--watch", "poll", "--poll-ms", "50")
        self.look(daemon, "art/a.obj")
        self.hidden_folder(daemon)

    def test_dependency_that_appears_with_its_hidden_folder(self):
        self.put("a.obj", obj_text(2, mtl=".lib/deep/m.mtl"))
        daemon = self.begin()
        self.look(daemon, "art/a.obj")
        (self.art / ".lib").mkdir()
        (self.art / ".lib/deep").mkdir()
        (self.art / ".lib/deep/m.mtl").write_text(material(0.4))
        self.cooks(daemon, "art/a.obj")
        self.no_scan(daemon)

    def linked_folder(self, daemon):
        both = ("art/a.obj", "art/sub/b.obj")
        self.put("lib1/m.mtl", material(0.2))
        self.cooks(daemon, *both)
        self.link("mats", "lib2")
        self.cooks(daemon, *both)
        self.put("lib2/m.mtl", material(0.6))
        self.cooks(daemon, *both)
        (self.art / "mats").unlink()
        self.cooks(daemon, *both)
        self.link("mats", ".store/lib3")
        self.cooks(daemon, *both)
        self.put(".store/lib3/m.mtl", material(0.8))
        self.cooks(daemon, *both)
        shutil.rmtree(self.art / ".store")
        self.cooks(daemon, *both)
        self.assertEqual(set(daemon.assets()), set(both))

    def test_folders_that_change_places(self):
        """With one call, and then with a third folder: each is watched under its new name, also one that was hidden."""
        folders = ("one", "two", ".three")
        for i, folder in enumerate(folders):
            self.put(f"{folder}/{i}.obj", obj_text(1 + i))
        daemon = self.begin()
        number = len(folders)
        for one, two in (("one", "two"), (".three", "one"), ("one", ".three"), ("two", "one"), ("two", ".three"), (".three", "two")):
            with self.subTest((one, two)):
                here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
                self.assertEqual(LIBC.renameat2(here, os.fsencode(self.art / one), here, os.fsencode(self.art / two), exchange), 0)
                for folder in folders:
                    self.put(f"{folder}/{number}.obj", obj_text(1 + number % 7))
                    number += 1
                daemon.sync()
                there = {"art/" + str(path.relative_to(self.art)) for path in self.art.glob("[a-z]*/*.obj")}
                self.assertEqual(set(daemon.assets()), there)
                for path in there:
                    self.put(path.removeprefix("art/"), obj_text(8 + number % 5))
                daemon.sync()
                self.assertEqual({item["stats"]["triangles"] for item in daemon.assets("&fields=root,path,stats").values()}, {8 + number % 5})
        self.no_scan(daemon)

    def setup_linked(self):
        self.put("lib1/m.mtl", material(0.1))
        self.put("lib2/m.mtl", material(0.5))
        self.put(".store/lib3/m.mtl", material(0.7))
        self.link("mats", "lib1")
        self.put("a.obj", obj_text(2, mtl="mats/m.mtl"))
        self.put("sub/b.obj", obj_text(3, mtl="../mats/m.mtl"))

    def test_dependency_behind_a_link_to_a_folder(self):
        self.setup_linked()
        daemon = self.begin()
        self.look(daemon, "art/a.obj", "art/sub/b.obj")
        self.linked_folder(daemon)
        self.no_scan(daemon)

    def test_dependency_behind_a_link_to_a_folder_by_polling(self):
        self.setup_linked()
        daemon = self.begin("--watch", "poll", "--poll-ms", "50")
        self.look(daemon, "art/a.obj", "art/sub/b.obj")
        self.linked_folder(daemon)

    def models_that_others_use(self, *options, scan=False):
        """No scan lists them by these names: they are no models of their own, and a scan alone cooks nothing."""

        def part(height):
            return '#usda 1.0\n(\n defaultPrim = "p"\n)\ndef Mesh "p" {\n' \
                f" point3f[] points = [(0, 0, 0), (1, 0, 0), (0, {height}, 0)]\n int[] faceVertexCounts = [3]\n" \
                " int[] faceVertexIndices = [0, 1, 2]\n}\n"

        for folder in (".lib", "store", "real"):
            self.put(folder + "/part.usda", part(1))
        self.link("link", "store")
        self.put(".lib/lib.obj", material(0.1))
        self.put("a.obj", obj_text(2, mtl=".lib/lib.obj"))
        for name, folder in (("h", ".lib"), ("l", "link"), ("r", "real")):
            self.put(name + ".usda", f'#usda 1.0\n(\n defaultPrim = "a"\n)\ndef "a" (\n references = @./{folder}/part.usda@\n) {{\n}}\n')
        daemon = self.begin(*options)
        models, digests = {"a.obj", "h.usda", "l.usda", "r.usda", "real/part.usda", "store/part.usda"}, {}

        def check(*changed):
            daemon.sync(scan=scan)
            before, now = dict(digests), {}
            for name in models:
                output = "materials" if name == "a.obj" else "meshes"
                now[name] = daemon.get(f"/a/art/{name}?output={output}").headers["etag"]
            digests.clear()
            digests.update(now)
            self.assertEqual(set(daemon.assets()), {"art/" + name for name in models})
            self.assertEqual({name for name in models if now[name] != before.get(name)}, set(changed))
            cooked = daemon.cooked()
            daemon.sync(scan=True)
            self.assertEqual(daemon.cooked(), cooked, "a scan without a change")

        check(*models)
        self.put(".lib/lib.obj", material(0.2))
        check("a.obj")
        self.put(".lib/part.usda", part(2))
        check("h.usda")
        self.put("store/part.usda", part(3))
        check("l.usda", "store/part.usda")
        # A model is behind a link from now on.
        (self.art / "real").rename(self.art / ".real")
        self.link("real", ".real")
        models.remove("real/part.usda")
        check()
        self.put(".real/part.usda", part(4))
        check("r.usda")
        (self.art / "real").unlink()
        (self.art / ".real").rename(self.art / "real")
        models.add("real/part.usda")
        check("real/part.usda")
        cooked = daemon.cooked()
        daemon.stop()
        with self.serve(*options) as daemon:
            daemon.sync()
            self.assertEqual((set(daemon.assets()), daemon.cooked()), ({"art/" + name for name in models}, 0), cooked)

    def test_models_that_others_use(self):
        self.models_that_others_use()

    def test_models_that_others_use_by_polling(self):
        self.models_that_others_use("--watch", "poll", "--poll-ms", "50", scan=True)

    def test_source_in_a_store_that_a_link_leads_to(self):
        self.put(".store/x.obj", obj_text(3))
        self.link("m.obj", ".store/x.obj")
        daemon = self.begin()
        for triangles in (5, 7):
            (self.art / ".store/x.obj").write_text(obj_text(triangles))
            shown = None
            while shown != triangles:
                data = daemon.wait_event("asset", lambda data: data["state"] == "fresh" and data["asset"] == "art/m.obj")
                shown = daemon.get("/api/v1/assets/" + data["id"]).json()["stats"]["triangles"]
        self.link("late.obj", ".store/x.obj")
        daemon.wait_asset("art/late.obj", "fresh")
        self.put(".store/x.obj", obj_text(9))
        waiting = {"art/m.obj", "art/late.obj"}
        while waiting:
            data = daemon.wait_event("asset", lambda data: data["state"] == "fresh")
            if daemon.get("/api/v1/assets/" + data["id"]).json()["stats"]["triangles"] == 9:
                waiting.discard(data["asset"])
        self.assertEqual(set(daemon.assets()), {"art/m.obj", "art/late.obj"})
        self.no_scan(daemon)

    def test_link_that_leaves_the_root_is_no_way_in(self):
        outside = self.folder / "outside"
        outside.mkdir()
        (outside / "m.mtl").write_text(material(0.1))
        self.put("a.obj", obj_text(2, mtl="out/m.mtl"))
        os.symlink(outside, self.art / "out")
        daemon = self.begin()
        before = daemon.cooked()
        self.look(daemon, "art/a.obj")
        (outside / "m.mtl").write_text(material(0.9))
        self.put("mark.obj", obj_text(1))
        daemon.wait_event("asset", lambda data: data["asset"] == "art/mark.obj" and data["quality"] == "final")
        self.assertEqual((daemon.cooked(), self.materials(daemon, "art/a.obj")), (before + 1, self.shown["art/a.obj"]))

    def test_a_link_that_leaves_the_root_comes_and_goes(self):
        (self.folder / "d.bin").write_bytes(bytes(36))
        self.put("g.gltf", json.dumps({
            "asset": {"version": "2.0"}, "buffers": [{"uri": "d.bin", "byteLength": 36}],
            "bufferViews": [{"buffer": 0, "byteLength": 36}], "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
            "accessors": [{"bufferView": 0, "componentType": 5126, "type": "VEC3", "count": 3}]}))
        daemon = self.begin()
        for _ in range(2):
            for words, change in (("'d.bin' does not exist", None), ("'d.bin' is a link that leaves", lambda at: at.symlink_to("../d.bin")),
                                  ("'d.bin' does not exist", os.remove)):
                if change:
                    change(self.art / "d.bin")
                daemon.sync()
                self.assertIn(words, daemon.assets()["art/g.gltf"]["error"]["message"])

    def test_what_a_name_is_changes_while_the_names_stay(self):
        (self.folder / "d.bin").write_bytes(bytes(36))
        self.put("g.gltf", json.dumps({
            "asset": {"version": "2.0"}, "buffers": [{"uri": "d.bin", "byteLength": 36}],
            "bufferViews": [{"buffer": 0, "byteLength": 36}], "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
            "accessors": [{"bufferView": 0, "componentType": 5126, "type": "VEC3", "count": 3}]}))
        at, hop, new = self.art / "d.bin", self.art / "hop", self.art / ".new"

        def point(link, to):
            new.symlink_to(to)
            new.rename(link)
        hop.symlink_to("nothing")
        at.symlink_to("nothing")
        daemon = self.begin()
        nothing, out, folder = "'d.bin' does not exist", "'d.bin' is a link that leaves", "'d.bin' is not a regular file"
        for words, change in ((nothing, lambda: None), (out, lambda: point(at, "../d.bin")), (nothing, lambda: point(at, "hop")),
                              (out, lambda: point(hop, "../d.bin")), (nothing, lambda: point(hop, "nothing")),
                              (folder, lambda: point(hop, ".")), (out, lambda: point(at, "../d.bin"))):
            change()
            daemon.sync()
            self.assertIn(words, daemon.assets()["art/g.gltf"]["error"]["message"])
            clean = subprocess.run([HOB, "cook", self.art, "-o", self.folder / "clean", "--root", self.art],
                                   capture_output=True, text=True)
            self.assertIn(words, clean.stderr)

    def clean(self, name):
        """Digest of the materials in a clean cook."""
        out = self.folder / "clean"
        shutil.rmtree(out, ignore_errors=True)
        subprocess.run([HOB, "cook", "--root", self.art, self.art / name, "-o", out], check=True, capture_output=True, timeout=DEADLINE)
        (made,) = out.rglob("*.materials")
        return hashlib.sha256(made.read_bytes()).hexdigest()

    def links_and_what_they_lead_through(self, *options, scan):
        """Each step changes the result for one model, by something on the way to its file: a link, a folder behind a link, one
        that does not exist yet. After each step the file is edited in its new place."""
        art, names, serial = self.art, {}, iter(range(1, 1000))

        def write(path):
            target = art / path
            target.parent.mkdir(parents=True, exist_ok=True)
            with open(target, "r+" if target.exists() else "w", encoding="ascii") as file:
                file.write(material(f"{next(serial) / 1000:.3f}"))

        def rename(old, new):
            (art / old).rename(art / new)

        steps = []

        def step(name, act, edited=None):
            steps.append((name, act, edited))

        def model(name, mtl):
            names[name] = None
            self.put(name, obj_text(1, mtl=mtl))

        # A link to a folder, replaced by folders in turn.
        for folder in ("v1", "v2", "v3", ".hidden/w1", ".hidden/w2"):
            write(folder + "/m.mtl")
        self.link("current", "v1")
        model("a.obj", "current/m.mtl")
        step("a.obj", lambda: rename("v1", "old"))
        step("a.obj", lambda: rename("v2", "v1"), "v1/m.mtl")
        step("a.obj", lambda: (rename("v1", "v2"), rename("v3", "v1")), "v1/m.mtl")
        step("a.obj", lambda: shutil.rmtree(art / "v1"))
        step("a.obj", lambda: write("v1/m.mtl"), "v1/m.mtl")
        # The same in a hidden folder, which no scan lists.
        self.link("inner", ".hidden/w1")
        model("b.obj", "inner/m.mtl")
        step("b.obj", lambda: rename(".hidden/w1", ".hidden/w3"))
        step("b.obj", lambda: rename(".hidden/w2", ".hidden/w1"), ".hidden/w1/m.mtl")
        step("b.obj", lambda: rename(".hidden", ".away"))
        step("b.obj", lambda: (art / ".hidden").mkdir())
        step("b.obj", lambda: write(".hidden/w1/m.mtl"), ".hidden/w1/m.mtl")
        # A link through a link.
        write("store/x/lib/m.mtl")
        write("store2/x/lib/m.mtl")
        self.link("via", "store")
        self.link("chain", "via/x")
        model("c.obj", "chain/lib/m.mtl")
        step("c.obj", lambda: self.link("via", "store2"), "store2/x/lib/m.mtl")
        step("c.obj", lambda: (art / "via").unlink())
        step("c.obj", lambda: rename("store", "via"), "via/x/lib/m.mtl")
        step("c.obj", lambda: rename("via/x", "via/y"))
        step("c.obj", lambda: rename("store2/x", "via/x"), "via/x/lib/m.mtl")
        step("c.obj", lambda: (rename("chain", "chained"), rename("via", "vias")))
        step("c.obj", lambda: (rename("vias", "via"), self.link("chain", "via/y")), "via/y/lib/m.mtl")
        # Dangling from the start, twice, and out of a folder.
        self.link("first", "second")
        self.link("second", "sub/../third")
        model("d.obj", "first/m.mtl")
        step("d.obj", lambda: write("third/m.mtl"))
        step("d.obj", lambda: (art / "sub").mkdir(), "third/m.mtl")
        step("d.obj", lambda: rename("sub", "sup"))
        step("d.obj", lambda: self.link("second", "./third/."), "third/m.mtl")
        # A link to a file, in a folder behind a link.
        write("mats/red")
        write("mats2/red")
        (art / "palette").mkdir()
        self.link("palette/m.mtl", "../mats/red")
        self.link("colours", "palette")
        model("sub2/e.obj", "../colours/m.mtl")
        step("sub2/e.obj", lambda: rename("mats", "mats1"))
        step("sub2/e.obj", lambda: rename("mats2", "mats"), "mats/red")
        step("sub2/e.obj", lambda: rename("mats/red", "mats/blue"))
        step("sub2/e.obj", lambda: write("mats/red"), "mats/red")
        step("sub2/e.obj", lambda: rename("palette", "palettes"))
        step("sub2/e.obj", lambda: (art / "palette").symlink_to("palettes"), "mats/red")
        # A listed folder becomes a link, and a link a folder.
        write("tex/m.mtl")
        model("f.obj", "tex/m.mtl")
        step("f.obj", lambda: (rename("tex", "tex1"), (art / "tex").symlink_to("tex1")), "tex1/m.mtl")
        step("f.obj", lambda: (rename("tex1", "tex2"), write("tex1/m.mtl")), "tex1/m.mtl")
        step("f.obj", lambda: ((art / "tex").unlink(), rename("tex1", "tex")), "tex/m.mtl")
        # A listed folder moves to an unlisted place, and back.
        write("seen/h.mtl")
        (art / ".unseen").mkdir()
        self.link("either", "seen")
        model("h.obj", "either/h.mtl")
        step("h.obj", lambda: (rename("seen", ".unseen/seen"), self.link("either", ".unseen/seen")), ".unseen/seen/h.mtl")
        step("h.obj", lambda: rename(".unseen/seen", "seen"))
        step("h.obj", lambda: self.link("either", "seen"), "seen/h.mtl")
        # A link that leaves the root, and one that comes back.
        (self.folder / "outside").mkdir()
        write("../outside/m.mtl")
        write("inside/m.mtl")
        self.link("out", "inside")
        model("g.obj", "out/m.mtl")
        step("g.obj", lambda: self.link("out", "../outside"))
        step("g.obj", lambda: self.link("out", "inside"), "inside/m.mtl")
        step("g.obj", lambda: self.link("out", str(art / "inside")))
        step("g.obj", lambda: self.link("out", "out"))
        step("g.obj", lambda: self.link("out", "inside"), "inside/m.mtl")

        # Models that are links themselves, and one whose folder becomes a link.
        self.put("sources/i.obj", obj_text(1))
        self.link("i.obj", "sources/i.obj")
        self.link("j.obj", "sources2/i.obj")
        step(None, lambda: rename("sources", "sources2"))
        step(None, lambda: rename("sources2", "sources"))
        step(None, lambda: (rename("sources", "sources3"), self.link("sources", "sources3")))
        step(None, lambda: ((art / "sources").unlink(), rename("sources3", "sources")))

        daemon = self.begin(*options)
        wrong = []

        def check(number, name, what):
            daemon.sync(scan=scan)
            listed = {str(path.relative_to(self.folder)) for path in art.rglob("*.obj") if path.exists()} ^ set(daemon.assets())
            if listed:
                wrong.append(f"step {number}{what}: {listed}")
            if name and hashlib.sha256(daemon.get(f"/a/art/{name}?output=materials").body).hexdigest() != self.clean(name):
                wrong.append(f"{name}, step {number}{what}")

        for number, (name, act, edited) in enumerate(steps):
            act()
            check(number, name, "")
            if edited:
                write(edited)
                check(number, name, ", edited")
        self.assertEqual(wrong, [])
        return daemon

    def test_each_link_on_the_way_and_each_folder_that_it_leads_through(self):
        self.no_scan(self.links_and_what_they_lead_through(scan=False))

    def test_the_same_by_polling(self):
        self.links_and_what_they_lead_through("--watch", "poll", "--poll-ms", "50", scan=True)


if __name__ == "__main__":
    main()
