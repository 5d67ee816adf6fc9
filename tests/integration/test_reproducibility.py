"""When idle, the daemon cooks one asset after the other again in the background, and reports different outputs."""
import os
import signal
import subprocess

from hobtest import HOB, Daemon, Scenario, bumpy_grid, children, kept_blobs, main, obj_text, png, record_text, until

ART = {"a.obj": obj_text(3), "b.obj": obj_text(5, mtl="b.mtl"), "b.mtl": "newmtl m\nmap_Kd t.png\n", "t.png": png(9, 99, 200)}


class Reproducibility(Scenario):
    def checks(self, daemon):
        counters = daemon.counters()
        return [int(counters[f'hob_reproducibility_checks_total{{result="{result}"}}']) for result in ("same", "different")]

    def hob(self, *words):
        return subprocess.run([HOB, *words], capture_output=True, text=True, check=True, env=dict(os.environ, NO_COLOR="1")).stdout

    def record(self, daemon, name):
        item = daemon.assets()[name]
        key = daemon.get(f"/api/v1/assets/{item['id']}").json()["record"]
        return daemon.get(f"/records/{key}").json()

    def used(self):
        """Times of use of every blob and record, as stored in the index."""
        import sqlite3
        with sqlite3.connect(self.cache / "index.db") as db:
            return [db.execute(f"SELECT {key}, used_at_s FROM {table} ORDER BY {key}").fetchall()
                    for key, table in (("digest", "blob"), ("key", "record"), ("key", "part"))]

    def age(self):
        """Sets all times of use three hours back: old enough that a new use is written."""
        import sqlite3
        with sqlite3.connect(self.cache / "index.db") as db:
            for table in ("blob", "record", "part"):
                db.execute(f"UPDATE {table} SET used_at_s = used_at_s - 10800")

    def test_the_same_is_counted_and_nothing_else_changes(self):
        for name, data in ART.items():
            self.put(name, data)
        with self.serve("--reproducibility-interval", "0") as daemon:
            daemon.sync()
        self.age()
        before = self.used()
        blobs = sorted(kept_blobs(self.cache))
        with self.serve("--reproducibility-interval", "1", "--log-level", "debug") as daemon:
            rev = daemon.sync()["rev"]
            self.assertEqual({line.split("audit")[1].split()[0] for line in
                              (daemon.wait_log("with the same result"), daemon.wait_log("with the same result"))},
                             {"art/a.obj", "art/b.obj"})
            self.assertEqual(daemon.sync()["rev"], rev)
            self.assertGreaterEqual(self.checks(daemon)[0], 2)
            self.assertEqual((self.checks(daemon)[1], daemon.cooked()), (0, 0))
            counters = daemon.counters()
            self.assertEqual([counters[f'hob_cook_parts_total{{result="{word}"}}'] for word in ("made", "reused")], [0, 0])
            stats = daemon.get("/api/v1/stats").json()
            self.assertGreaterEqual(stats["reproducibility"]["same"], 2)
            self.assertEqual((stats["reproducibility"]["different"], stats["nondeterministic"]), (0, 0))
            self.assertEqual(daemon.assets("&nondeterministic=true"), {})
            for item in daemon.assets("&fields=root,path,reproducibility").values():
                self.assertEqual((item["reproducibility"]["same"], item["reproducibility"]["found"]), (True, None))
        self.assertEqual(self.used(), before)
        self.assertEqual(sorted(kept_blobs(self.cache)), blobs)
        with self.serve("--reproducibility-interval", "0") as daemon:  # the result is stored
            for item in daemon.assets("&fields=root,path,reproducibility").values():
                self.assertTrue(item["reproducibility"]["same"])

    def spoiled(self):
        """A cache with an imported record that names another model's meshes as those of art/a.obj."""
        self.put("a.obj", obj_text(3))
        self.put("other.obj", obj_text(40))
        with Daemon([self.art], self.folder / "elsewhere", "--reproducibility-interval", "0") as elsewhere:
            elsewhere.sync()
            record, other = self.record(elsewhere, "art/a.obj"), self.record(elsewhere, "art/other.obj")
            blobs = {output["sha256"]: elsewhere.get(f"/blobs/{output['sha256']}").body
                     for output in record["outputs"] + record["run"]["outputs"] + other["outputs"]}
        wrong = next(output for output in other["outputs"] if output["name"] == "meshes")
        record["outputs"] = [wrong if output["name"] == "meshes" else output for output in record["outputs"]]
        os.remove(self.art / "a.obj")
        os.remove(self.art / "other.obj")
        with self.serve("--reproducibility-interval", "0") as daemon:
            for hash, data in blobs.items():
                self.assertIn(daemon.request("PUT", f"/blobs/{hash}", data).status, (200, 201))
            self.assertEqual(daemon.request("PUT", f"/records/{record['key']}", record_text(record)).status, 201)
            self.put("a.obj", obj_text(3))
            daemon.sync()
            self.assertEqual(daemon.cooked(), 0)
        return wrong["sha256"]

    def test_another_outcome_is_told(self):
        wrong = self.spoiled()
        with self.serve("--reproducibility-interval", "1") as daemon:
            rev = daemon.sync()["rev"]
            line = daemon.wait_log("art/a.obj  was cooked again from the same inputs; other now")
            self.assertIn('"meshes"', line)
            item = daemon.assets("&nondeterministic=true")["art/a.obj"]
            asset = daemon.get(f"/api/v1/assets/{item['id']}").json()
            self.assertFalse(asset["reproducibility"]["same"])
            self.assertEqual(asset["reproducibility"]["found"], {"outputs": ["meshes"], "message": None})
            # It is unchanged: the check only reports.
            self.assertEqual((asset["rev"], asset["state"]), (rev, "fresh"))
            self.assertIn(wrong, [output["hash"] for output in asset["outputs"]])
            self.assertEqual(daemon.get(f"/api/v1/assets/{item['id']}/why").json()["reproducibility"], asset["reproducibility"])
            stats = daemon.get("/api/v1/stats").json()
            self.assertEqual(stats["nondeterministic"], 1)
            self.assertGreaterEqual(stats["reproducibility"]["different"], 1)
            url = f"http://127.0.0.1:{daemon.port}"
            self.assertIn("nondeterministic", self.hob("status", "--url", url))
            self.assertIn("hob why art/a.obj", self.hob("status", "--url", url))
            self.assertIn("different meshes", self.hob("why", "art/a.obj", "--url", url))
        with self.serve("--reproducibility-interval", "0") as daemon:
            self.assertEqual(daemon.get("/api/v1/stats").json()["nondeterministic"], 1)
            # A cook that makes a new record invalidates the old finding.
            item = daemon.assets()["art/a.obj"]
            daemon.post(f"/api/v1/assets/{item['id']}/cook", {"force": True})
            daemon.sync()
            asset = daemon.get(f"/api/v1/assets/{item['id']}").json()
            self.assertIsNone(asset["reproducibility"])
            self.assertNotIn(wrong, [output["hash"] for output in asset["outputs"]])
            self.assertEqual(daemon.get("/api/v1/stats").json()["nondeterministic"], 0)

    def said(self, daemon, text):
        return sum(text in line for line in daemon.log)

    def hold_amid_a_check(self, daemon):
        """Stops the only worker during a check of art/large.obj."""
        def held():
            (worker,) = until(lambda: children(daemon.process.pid), "the worker")
            os.kill(worker, signal.SIGSTOP)
            daemon.counters()  # earlier messages have been processed
            if self.said(daemon, "is cooked again") > self.said(daemon, "with the same result"):
                return worker
            os.kill(worker, signal.SIGCONT)
            return None

        return until(held, "a check")

    def test_real_work_comes_first(self):
        self.put("large.obj", bumpy_grid(160))
        with self.serve("--reproducibility-interval", "0", "--jobs", "1") as daemon:
            daemon.sync()
        with self.serve("--reproducibility-interval", "1", "--jobs", "1", "--log-level", "debug") as daemon:
            daemon.sync()
            self.hold_amid_a_check(daemon)
            self.put("small.obj", obj_text(2))
            daemon.wait_asset("art/small.obj", "fresh")
            daemon.wait_log("art/large.obj  gave way")
            same, different = self.checks(daemon)  # of other assets, if the test is slow
            self.assertEqual((same <= self.said(daemon, "with the same result"), different), (True, 0))
            self.assertEqual(daemon.counters()['hob_cook_results_total{result="cancelled"}'], 0)

    def test_a_death_from_outside_proves_nothing(self):
        self.put("large.obj", bumpy_grid(160))
        with self.serve("--reproducibility-interval", "0", "--jobs", "1") as daemon:
            daemon.sync()
        with self.serve("--reproducibility-interval", "1", "--jobs", "1", "--log-level", "debug") as daemon:
            daemon.sync()
            os.kill(self.hold_amid_a_check(daemon), signal.SIGKILL)
            daemon.wait_log("art/large.obj  cannot be compared now")
            self.assertEqual(self.checks(daemon)[1], 0)


if __name__ == "__main__":
    main()
