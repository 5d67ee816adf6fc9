"""Files that no scan lists and that models use all the same: in hidden folders, behind links to folders, in stores that links lead
to. Their changes are told by events, without any scan in between, or by polling where events do not come."""
import os
import shutil

from hobtest import Scenario, main, obj_text


def material(red):
    return f"newmtl m\nKd {red} 0 0\n"


class Links(Scenario):
    def link(self, path, target):
        """As ln -sfn does: a new link is renamed over the old one."""
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
        """Each is published once more, and looks other than before."""
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
        # The folder itself goes and comes.
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


if __name__ == "__main__":
    main()
