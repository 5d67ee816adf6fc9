"""The numbers of /api/v1/stats are correct during and after the first cook of a folder."""
import os
import random

from hobtest import Daemon, Scenario, amount, main, obj_text, png, until

COUNT = amount(120, 2000)


def jobs(daemon):
    items, before = [], ""
    while True:
        page = daemon.get(f"/api/v1/jobs?limit=1000{before}").json()
        items += page["items"]
        if not page["next"]:
            return items
        before = f"&cursor={page['next']}"


class Counters(Scenario):
    def check(self, stats):
        """Invariants at every moment."""
        assets = {state: count for state, count in stats["assets"].items() if state != "total"}
        self.assertEqual(sum(assets.values()), stats["assets"]["total"])
        self.assertEqual(sum(stats["problems"].values()), stats["errors"])
        for state, count in stats["problems"].items():
            self.assertLessEqual(count, assets[state], state)
        activity, progress = stats["activity"], stats["progress"]
        self.assertEqual(sum(activity["cooked_by_minute"]), activity["cooked"])
        self.assertEqual(len(activity["cooked_by_minute"]), 60)
        self.assertEqual(progress["done"], sum(progress[name] for name in ("cooked", "reused", "failed", "cancelled")))

    def test_a_first_cook_is_told_right_at_every_moment(self):
        for i in range(COUNT):
            self.put(f"set/{i:05}.obj", obj_text(1 + i % 50, shift=i / 7))
        for i in range(7):
            self.put(f"bad/{i}.gltf", '{"asset":{"version":"2.0"},"scenes":3}')
        total, seen = COUNT + 7, []
        with Daemon([self.art], self.cache) as daemon:
            random.seed(21)
            while not seen or seen[-1]["progress"]["left"] > 0 or seen[-1]["assets"]["total"] < total:
                stats = daemon.get("/api/v1/stats").json()
                self.check(stats)
                seen.append(stats)
                if random.random() < 0.2:
                    listed = daemon.get("/api/v1/assets?state=fresh&limit=1&count=true").json()
                    later = daemon.get("/api/v1/stats").json()
                    self.assertLessEqual(stats["assets"]["fresh"], listed["total"])
                    self.assertLessEqual(listed["total"], later["assets"]["fresh"])
                working = [stats for stats in seen if stats["progress"]["left"] > 0 and stats["ready"]]
            for stats in working[1:]:
                self.assertEqual(stats["progress"]["done"] + stats["progress"]["left"], total)
                self.assertIsNone(stats["progress"]["ended_at"])
            daemon.sync()
            stats = daemon.get("/api/v1/stats").json()
            self.check(stats)
            self.assertEqual(stats["assets"]["fresh"], COUNT)
            self.assertEqual(stats["errors"], 7)
            self.assertEqual(stats["activity"]["cooked"], COUNT)
            self.assertEqual(stats["activity"]["failed"], 7)
            self.assertEqual(stats["progress"]["done"], total)
            self.assertEqual(stats["progress"]["left"], 0)
            self.assertIsNotNone(stats["progress"]["ended_at"])
            done = jobs(daemon)
            self.assertEqual(len(done), total)
            slowest = max((job for job in done if job["result"] == "cooked"), key=lambda job: job["cook_ms"])
            self.assertEqual(stats["activity"]["slowest"], {"asset": slowest["asset"], "cook_ms": int(slowest["cook_ms"])})

    def test_an_asset_is_as_large_as_all_files_it_is_cooked_from(self):
        obj = obj_text(3, mtl="one.mtl")
        mtl = "newmtl m\nmap_Kd wood.png\n"
        picture = png(10, 20, 30, 64)
        for name in ("a", "b"):
            self.put(f"{name}.obj", obj)
        self.put("one.mtl", mtl)
        self.put("wood.png", picture)
        with Daemon([self.art], self.cache) as daemon:
            daemon.sync()
            items = daemon.get("/api/v1/assets").json()["items"]
            sizes = {name: os.path.getsize(os.path.join(self.art, name)) for name in os.listdir(self.art)}
            used = {dep["path"] for item in items for dep in daemon.get(f"/api/v1/assets/{item['id']}").json()["deps"]}
            self.assertIn("one.mtl", used)
            for item in items:
                self.assertEqual(item["bytes"]["source"], sizes[item["path"]])
                self.assertEqual(item["bytes"]["inputs"], sizes[item["path"]] + sum(sizes[name] for name in used if name in sizes))
            truth = sum(size for name, size in sizes.items() if name in used or name.endswith(".obj"))
            until(lambda: daemon.get("/api/v1/stats").json()["bytes"]["inputs"] == truth, f"bytes.inputs == {truth}")

    def test_lists_are_sorted_by_every_column_and_found_by_words_in_any_order(self):
        for name, triangles in (("props/oak chair", 5), ("props/oak table", 40), ("hall/chair", 9)):
            self.put(f"{name}.obj", obj_text(triangles))
        self.put("props/bad.gltf", "{")
        with Daemon([self.art], self.cache) as daemon:
            daemon.sync()

            def names(query):
                return [item["path"] for item in daemon.get(f"/api/v1/assets?{query}").json()["items"]]
            self.assertEqual(names("sort=-triangles&problem=false"), ["props/oak table.obj", "hall/chair.obj", "props/oak chair.obj"])
            self.assertEqual(names("sort=triangles&problem=false")[0], "props/oak chair.obj")
            self.assertEqual(names("sort=state")[0], "props/bad.gltf")
            self.assertEqual(names("sort=-state")[-1], "props/bad.gltf")
            self.assertEqual(names("problem=true"), ["props/bad.gltf"])
            self.assertEqual(names("q=chair%20props"), ["props/oak chair.obj"])
            self.assertEqual(names("q=%20OAK%20%20ta"), ["props/oak table.obj"])
            self.assertEqual(names("q=oak%20hall"), [])
            self.assertEqual(len(names("sort=lods")), 4)
            seen, cursor = [], ""
            while cursor is not None:
                page = daemon.get(f"/api/v1/assets?sort=-triangles&limit=1{cursor and '&cursor=' + cursor}").json()
                seen += [item["path"] for item in page["items"]]
                cursor = page["next"]
            self.assertEqual(seen, names("sort=-triangles"))

    def test_the_newest_failure_leads(self):
        self.put("first.gltf", "{")
        self.put("good.obj", obj_text(1))
        with Daemon([self.art], self.cache) as daemon:
            daemon.sync()
            self.put("second.gltf", '{"asset":{"version":"2.0"},"scenes":3}')
            daemon.sync()
            groups = daemon.get("/api/v1/errors").json()["items"]
            self.assertEqual([group["assets"][0]["path"] for group in groups], ["second.gltf", "first.gltf"])
            self.put("first.gltf", "[")
            daemon.sync()
            groups = daemon.get("/api/v1/errors").json()["items"]
            self.assertEqual([group["assets"][0]["path"] for group in groups], ["first.gltf", "second.gltf"])
            self.assertGreater(groups[0]["rev"], groups[1]["rev"])


if __name__ == "__main__":
    main()
