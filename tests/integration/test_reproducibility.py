"""`hob verify --cook` cooks each fresh asset once more from its bundle, and names those with other outputs."""
import os
import signal
import subprocess

from hobtest import HOB, Daemon, Scenario, bumpy_grid, kept_blobs, main, obj_text, png, record_text, until

ART = {"a.obj": obj_text(3), "b.obj": obj_text(5, mtl="b.mtl"), "b.mtl": "newmtl m\nmap_Kd t.png\n", "t.png": png(9, 99, 200)}


class Reproducibility(Scenario):
    def verify(self, daemon, *words, code=0, told=""):
        done = subprocess.run([HOB, "verify", "--cook", "--url", f"http://127.0.0.1:{daemon.port}", *words], capture_output=True,
                              text=True, env=dict(os.environ, NO_COLOR="1", TMPDIR=str(self.folder)))
        self.assertEqual((done.returncode, done.stderr), (code, told), done.stdout)
        self.assertEqual(list(self.folder.glob("hob-replay*")), [])
        return done.stdout

    def record(self, daemon, name):
        item = daemon.assets()[name]
        key = daemon.get(f"/api/v1/assets/{item['id']}").json()["record"]
        return daemon.get(f"/records/{key}").json()

    def spoiled(self):
        """A cache with an imported record that names another model's meshes as those of art/a.obj."""
        self.put("a.obj", obj_text(3))
        self.put("other.obj", obj_text(40))
        with Daemon([self.art], self.folder / "elsewhere") as elsewhere:
            elsewhere.sync()
            record, other = self.record(elsewhere, "art/a.obj"), self.record(elsewhere, "art/other.obj")
            blobs = {output["sha256"]: elsewhere.get(f"/blobs/{output['sha256']}").body
                     for output in record["outputs"] + record["run"]["outputs"] + other["outputs"]}
        wrong = next(output for output in other["outputs"] if output["name"] == "meshes")
        record["outputs"] = [wrong if output["name"] == "meshes" else output for output in record["outputs"]]
        os.remove(self.art / "a.obj")
        os.remove(self.art / "other.obj")
        with self.serve() as daemon:
            for hash, data in blobs.items():
                self.assertIn(daemon.request("PUT", f"/blobs/{hash}", data).status, (200, 201))
            self.assertEqual(daemon.request("PUT", f"/records/{record['key']}", record_text(record)).status, 201)
            self.put("a.obj", obj_text(3))
            daemon.sync()
            self.assertEqual(daemon.cooked(), 0)
        return wrong["sha256"]

    def test_the_same_is_counted_and_nothing_else_changes(self):
        for name, data in ART.items():
            self.put(name, data)
        self.put("broken.glb", b"glTF")
        with self.serve() as daemon:
            rev = daemon.sync()["rev"]
            blobs, cooked = sorted(kept_blobs(self.cache)), daemon.cooked()
            self.assertEqual(self.verify(daemon), "2 cooked once more, 0 with other outputs\n")
            self.assertEqual(self.verify(daemon, "--json"), '{"cooked":2,"different":[],"not_compared":0}\n')
            self.assertEqual((daemon.sync()["rev"], daemon.cooked()), (rev, cooked))
            self.assertLessEqual(set(blobs), set(kept_blobs(self.cache)))
            item = daemon.assets()["art/a.obj"]
            asset = daemon.get(f"/api/v1/assets/{item['id']}").json()
            stats = daemon.get("/api/v1/stats").json()
            # Fields that remain in version 1 of the API and are always empty.
            self.assertIsNone(asset["reproducibility"])
            self.assertIsNone(daemon.get(f"/api/v1/assets/{item['id']}/why").json()["reproducibility"])
            self.assertEqual((stats["reproducibility"], stats["nondeterministic"]), ({"same": 0, "different": 0}, 0))
            self.assertEqual(daemon.assets("&nondeterministic=true"), {})

    def test_another_outcome_is_named(self):
        wrong = self.spoiled()
        with self.serve() as daemon:
            daemon.sync()
            told = self.verify(daemon, code=1)
            self.assertRegex(told, r"art/a\.obj: cooked again in .*\n(.*\n)*  differs   meshes  " + wrong[:12] + " -> ")
            self.assertIn("\n1 cooked once more, 1 with other outputs: do not trust them; 'hob bundle ASSET'", told)
            self.assertEqual(self.verify(daemon, "--json", code=1), '{"cooked":1,"different":["art/a.obj"],"not_compared":0}\n')
            # verify only reports; a forced cook repairs the asset.
            item = daemon.assets()["art/a.obj"]
            self.assertIn(wrong, [output["hash"] for output in daemon.get(f"/api/v1/assets/{item['id']}").json()["outputs"]])
            daemon.post(f"/api/v1/assets/{item['id']}/cook", {"force": True})
            daemon.sync()
            self.assertEqual(self.verify(daemon), "1 cooked once more, 0 with other outputs\n")

    def test_what_cannot_be_compared_stops_nothing(self):
        self.put("a.obj", obj_text(3))
        self.put("b.obj", obj_text(4))
        with self.serve("--watch", "poll", "--poll-ms", "600000") as daemon:
            daemon.sync()
            self.put("a.obj", obj_text(5))
            why = ("hob verify: 'a.obj' was changed or deleted since that cook; cook the asset again, then ask\n"
                   "  hint: look at the asset's state and try again\nart/a.obj: not compared\n")
            told = self.verify(daemon, "--json", told=why)
            self.assertEqual(told, '{"cooked":1,"different":[],"not_compared":1}\n')

    def test_an_interrupt_leaves_nothing(self):
        for number in range(40):
            self.put(f"{number}.obj", bumpy_grid(60 + number))
        with self.serve() as daemon:
            daemon.sync()
            asked = subprocess.Popen([HOB, "verify", "--cook", "--url", f"http://127.0.0.1:{daemon.port}"], text=True,
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(os.environ, TMPDIR=str(self.folder)))
            until(lambda: list(self.folder.glob("hob-replay*/*")), "an unpacked bundle")
            asked.send_signal(signal.SIGINT)
            asked.communicate()
            self.assertEqual((asked.returncode, list(self.folder.glob("hob-replay*"))), (130, []))

    def test_a_daemon_of_earlier_settings_starts(self):
        self.put("a.obj", obj_text(3))
        with self.serve("--reproducibility-interval", "5") as daemon:
            daemon.sync()
            daemon.wait_log("reproducibility.interval_seconds has no effect any more; 'hob verify --cook' compares")
            self.assertEqual(list(daemon.assets()), ["art/a.obj"])


if __name__ == "__main__":
    main()
