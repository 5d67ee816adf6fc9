"""A source that is renamed or moved stays the same asset: id, history, settings and old links go with it."""
import os
import shutil

from hobtest import Scenario, amount, main, obj_text, until

MANY = amount(200, 10000)


class Moves(Scenario):
    @staticmethod
    def ids(daemon):
        """{path: id}, when everything is cooked."""
        daemon.sync()
        return {name.removeprefix("art/"): asset["id"] for name, asset in daemon.assets().items()}

    def jobs(self, daemon, identity):
        return [job["job"] for job in daemon.get(f"/api/v1/assets/{identity}/history").json()["items"]]

    def move(self, old, new):
        (self.art / new).parent.mkdir(parents=True, exist_ok=True)
        os.rename(self.art / old, self.art / new)

    def test_a_rename_keeps_id_history_and_links(self):
        self.put("tea.obj", obj_text(2))
        with self.serve() as daemon:
            self.put("tea.obj", obj_text(3))
            daemon.wait_event("asset", lambda change: change["asset"] == "art/tea.obj" and change["kind"] == "cooked")
            before = self.ids(daemon)["tea.obj"]
            jobs = self.jobs(daemon, before)
            self.move("tea.obj", "props/pot.obj")
            came = daemon.wait_event("asset", lambda change: change["asset"] == "art/props/pot.obj")
            self.assertEqual((came["id"], came["moved_from"]), (before, "art/tea.obj"))
            daemon.sync()
            events = [change for kind, change in daemon.past if kind == "asset"]
            (gone,) = [change for change in events if change["kind"] == "removed"]
            self.assertEqual((gone["asset"], gone["moved_to"]), ("art/tea.obj", "art/props/pot.obj"))
            self.assertNotEqual(gone["id"], before, "who keeps ids does not lose it")
            now = daemon.get(f"/api/v1/assets/{before}").json()
            self.assertEqual((now["name"], now["moved_from"]), ("art/props/pot.obj", "art/tea.obj"))
            self.assertEqual(self.jobs(daemon, before)[-len(jobs):], jobs, "the history begins before the move")
            old, new = daemon.get("/a/art/tea.obj"), daemon.get("/a/art/props/pot.obj")
            self.assertEqual((old.status, old.body), (200, new.body))
            why = daemon.get(f"/api/v1/assets/{before}/why").json()
            self.assertIn({"kind": "moved", "path": "art/tea.obj"}, now["reason"])
            self.assertIn("moved", str(why))
            self.put("tea.obj", obj_text(7))
            daemon.sync()
            ids = self.ids(daemon)
            self.assertNotEqual(ids["tea.obj"], before)
            self.assertNotEqual(daemon.get("/a/art/tea.obj").body, new.body, "who has a name now is meant by it")
        with self.serve() as daemon:
            self.assertEqual(self.ids(daemon), ids, "also after a restart")
            self.move("props/pot.obj", "tea2.obj")
            daemon.sync()
            again = daemon.get(f"/api/v1/assets/{before}").json()
            self.assertEqual((again["name"], again["moved_from"]), ("art/tea2.obj", "art/props/pot.obj"))
            self.assertEqual(daemon.get("/a/art/props/pot.obj").body, daemon.get("/a/art/tea2.obj").body)

    def test_a_model_that_moved_while_nobody_looked(self):
        self.put("a/one.obj", obj_text(2))
        self.put("a/two.obj", obj_text(3))
        with self.serve() as daemon:
            ids = self.ids(daemon)
        shutil.copy(self.art / "a/one.obj", self.art / "copy.obj")  # other inode, other time: the bytes say so
        os.unlink(self.art / "a/one.obj")
        self.move("a/two.obj", "b/two.obj")
        self.put("b/two.obj.tmp", "")
        with self.serve() as daemon:
            now = self.ids(daemon)
            self.assertEqual(now, {"copy.obj": ids["a/one.obj"], "b/two.obj": ids["a/two.obj"]})

    def test_settings_go_with_the_model_once_nobody_is_moving_them(self):
        self.put("tea.obj", obj_text(2))
        self.put("tea.obj.cook.json", '{"scale": 2}')
        self.put("cup.obj", obj_text(3))
        self.put("cup.obj.cook.json", '{"scale": 3}')
        with self.serve() as daemon:
            self.move("tea.obj", "pot.obj")
            self.move("cup.obj", "bowl.obj")
            self.move("cup.obj.cook.json", "bowl.obj.cook.json")
            daemon.wait_log("pot.obj.cook.json")
            daemon.sync()
            scales = {name: daemon.get(f"/api/v1/assets/{asset['id']}").json()["settings"]["scale"]
                      for name, asset in daemon.assets().items()}
            self.assertEqual(scales, {"art/pot.obj": 2, "art/bowl.obj": 3})
            self.assertEqual(sorted(p.name for p in self.art.iterdir()),
                             ["bowl.obj", "bowl.obj.cook.json", "pot.obj", "pot.obj.cook.json"])

    def test_copies_and_strangers_are_no_moves(self):
        self.put("a.obj", obj_text(2))
        self.put("same1.obj", obj_text(5))
        self.put("same2.obj", obj_text(5))
        with self.serve() as daemon:
            ids = self.ids(daemon)
            shutil.copy(self.art / "a.obj", self.art / "b.obj")
            now = self.ids(daemon)
            self.assertEqual(now["a.obj"], ids["a.obj"])
            self.assertNotEqual(now["b.obj"], ids["a.obj"])
            os.unlink(self.art / "same1.obj")
            os.unlink(self.art / "same2.obj")
            daemon.sync()
            self.put("other.obj", obj_text(9))
            self.put("which.obj", obj_text(5))
            now = self.ids(daemon)
            self.assertNotIn(now["other.obj"], ids.values())
            self.assertNotIn(now["which.obj"], ids.values(), "either could be meant")

    def test_a_folder_of_many_with_one_edited_on_the_way(self):
        for i in range(MANY):
            self.put(f"old/m{i:05}.obj", obj_text(1, i))
        with self.serve() as daemon:
            before = self.ids(daemon)
            cooked = daemon.cooked()
            self.move("old", "new/place")
            with open(self.art / "new/place/m00007.obj", "a", encoding="utf-8") as file:
                file.write("# edited\n" + obj_text(2))
            moved = {name.replace("old/", "new/place/"): identity for name, identity in before.items()}
            until(lambda: sorted(self.ids(daemon)) == sorted(moved), "the moved folder")
            self.assertEqual(self.ids(daemon), moved)
            self.assertLessEqual(daemon.cooked() - cooked, 1, "only the one that was edited")
            for name in sorted(before)[::max(1, MANY // 20)]:
                self.assertEqual(daemon.get(f"/a/art/{name}").status, 200)


if __name__ == "__main__":
    main()
