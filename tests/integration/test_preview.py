"""Whoever looks sees a preview first; the final cook follows as a change of its own."""
import hashlib
import json
import os
import signal
import subprocess

from hobtest import HOB, Scenario, bumpy_grid, children, main, until


def is_asset(name, quality=None):
    return lambda data: data["asset"] == name and (quality is None or data.get("quality") == quality)


def noise(side):
    random = hashlib.shake_256(b"wood").digest(3 * side * side)
    return b"P6 %d %d 255\n" % (side, side) + random


class Preview(Scenario):
    def levels(self, daemon, event):
        meshes = next(output for output in event["outputs"] if output["name"] == "meshes")
        answer = daemon.get("/blobs/" + meshes["hash"])
        self.assertEqual(hashlib.sha256(answer.body).hexdigest(), meshes["hash"])
        path = self.folder / "seen.meshes"
        path.write_bytes(answer.body)
        told = subprocess.run([HOB, "inspect", "--json", str(path)], capture_output=True, check=True)
        return next(section["count"] for section in json.loads(told.stdout)["sections"] if section["type"] == "LODS")

    def test_a_save_shows_a_preview_and_then_the_final_cook(self):
        self.put("grid.obj", bumpy_grid(80))
        with self.serve() as daemon:
            daemon.sync()
            self.assertEqual(daemon.cooked(), 1)  # nobody had asked for it: straight to the final cook
            self.put("grid.obj", bumpy_grid(80, 0.2))
            first = daemon.wait_event("asset", is_asset("art/grid.obj"))
            second = daemon.wait_event("asset", is_asset("art/grid.obj"))
            self.assertEqual((first["quality"], second["quality"]), ("preview", "final"))
            self.assertGreater(second["rev"], first["rev"])
            self.assertEqual(self.levels(daemon, first), 1)
            self.assertGreater(self.levels(daemon, second), 1)
            daemon.sync()
            self.assertEqual(daemon.cooked() + daemon.previewed(), 3)
            item = daemon.assets()["art/grid.obj"]
            self.assertEqual((item["state"], item["quality"]), ("fresh", "final"))
            # Both are remembered: going back and forth cooks nothing and needs no preview.
            self.put("grid.obj", bumpy_grid(80))
            self.assertEqual(daemon.wait_event("asset", is_asset("art/grid.obj"))["quality"], "final")
            daemon.sync()
            self.assertEqual(daemon.cooked() + daemon.previewed(), 3)

    def texture_format(self, daemon, event):
        texture = next(output for output in event["outputs"] if output["name"] == "textures/0")
        path = self.folder / "seen.ktx2"
        path.write_bytes(daemon.get("/blobs/" + texture["hash"]).body)
        told = subprocess.run([HOB, "inspect", "--json", str(path)], capture_output=True, check=True)
        return json.loads(told.stdout)["vk_format"]

    def test_the_final_cook_compresses_textures_and_the_preview_does_not(self):
        self.put("wood.ppm", noise(64))
        self.put("m.mtl", "newmtl m\nmap_Kd wood.ppm\n")
        with self.serve() as daemon:
            self.put("grid.obj", "mtllib m.mtl\nusemtl m\n" + bumpy_grid(80))
            daemon.sync()
            self.put("wood.ppm", noise(68))
            seen = [daemon.wait_event("asset", is_asset("art/grid.obj", quality)) for quality in ("preview", "final")]
            # sRGB in eight bits, and BC7
            self.assertEqual([self.texture_format(daemon, event) for event in seen], [43, 146])

    def test_who_waits_gets_the_preview_or_asks_for_more(self):
        self.put("grid.obj", bumpy_grid(80))
        with self.serve() as daemon:
            answer = daemon.get("/a/art/grid.obj?final=1", Prefer="wait=60")
            self.assertEqual((answer.status, answer.headers["cook-quality"]), (200, "final"))
            self.put("grid.obj", bumpy_grid(80, 0.3))
            daemon.wait_event("asset", is_asset("art/grid.obj", "preview"))
            answer = daemon.get("/a/art/grid.obj?final=1", Prefer="wait=60")
            self.assertEqual(answer.headers["cook-quality"], "final")

    def test_a_save_during_the_final_cook_is_not_behind_it(self):
        self.put("grid.obj", bumpy_grid(80))
        with self.serve() as daemon:
            daemon.sync()
            for step in range(3):
                self.put("grid.obj", bumpy_grid(80, 0.3 + 0.1 * step))
                daemon.wait_event("asset", is_asset("art/grid.obj", "preview"))
            daemon.wait_event("asset", is_asset("art/grid.obj", "final"))
            daemon.sync()
            self.assertEqual(daemon.assets()["art/grid.obj"]["quality"], "final")

    def test_a_save_that_the_worker_meets_before_the_daemon(self):
        """It waits for its final cook behind another model: that cook reads the new file, and it has a preview of its own."""
        self.put("grid.obj", bumpy_grid(80))
        self.put("other.obj", bumpy_grid(80, 0.7))
        with self.serve("--jobs", "1", "--watch", "poll") as daemon:
            daemon.sync()
            other = daemon.assets()["art/other.obj"]["id"]
            (worker,) = children(daemon.process.pid)
            os.kill(worker, signal.SIGSTOP)
            self.put("grid.obj", bumpy_grid(80, 0.2))
            until(lambda: daemon.get("/api/v1/jobs?asset=art/grid.obj").json()["items"][0]["state"] == "cooking",
                  "the preview that waits for the worker")
            daemon.post(f"/api/v1/assets/{other}/cook", {"force": True})
            os.kill(worker, signal.SIGCONT)
            daemon.wait_event("asset", is_asset("art/grid.obj", "preview"))
            os.kill(worker, signal.SIGSTOP)
            self.put("grid.obj", bumpy_grid(80, 0.3))
            os.kill(worker, signal.SIGCONT)
            qualities = [daemon.wait_event("asset", is_asset("art/grid.obj"))["quality"]]
            while qualities[-1] == "preview":
                qualities.append(daemon.wait_event("asset", is_asset("art/grid.obj"))["quality"])
            self.assertGreater(len(qualities), 1, "the new file has a preview")

    def test_a_kill_before_the_final_cook_costs_that_cook_only(self):
        self.put("grid.obj", bumpy_grid(80))
        with self.serve("--jobs", "1") as daemon:
            daemon.sync()
            self.put("grid.obj", bumpy_grid(80, 0.2))
            daemon.wait_event("asset", is_asset("art/grid.obj", "preview"))
            daemon.kill()
        with self.serve() as daemon:
            daemon.sync()
            item = daemon.assets()["art/grid.obj"]
            self.assertEqual((item["state"], item["quality"], daemon.cooked(), daemon.previewed()), ("fresh", "final", 1, 0))
        with self.serve() as daemon:
            daemon.sync()
            self.assertEqual(daemon.cooked(), 0)

    def test_a_small_new_model_needs_no_preview(self):
        with self.serve() as daemon:
            self.put("grid.obj", bumpy_grid(4))
            self.assertEqual(daemon.wait_event("asset", is_asset("art/grid.obj"))["quality"], "final")

    def test_a_copy_of_what_is_being_previewed(self):
        self.put("grid.obj", bumpy_grid(80))
        with self.serve() as daemon:
            daemon.sync()
            text = bumpy_grid(80, 0.2)
            self.put("grid.obj", text)
            self.put("copy.obj", text)
            daemon.wait_event("asset", is_asset("art/grid.obj", "final"))
            daemon.sync()
            items = daemon.assets()
            self.assertEqual([items[f"art/{name}.obj"]["quality"] for name in ("grid", "copy")], ["final", "final"])
            self.assertEqual(daemon.blob("art/grid.obj"), daemon.blob("art/copy.obj"))
            self.assertLessEqual(daemon.cooked() + daemon.previewed(), 3, "the copy costs no cook; the preview may be left out")

    def test_a_preview_is_not_the_end_after_a_kill(self):
        self.put("grid.obj", bumpy_grid(80))
        with self.serve() as daemon:
            daemon.sync()
            self.put("grid.obj", bumpy_grid(80, 0.2))
            daemon.wait_event("asset", is_asset("art/grid.obj", "preview"))
            daemon.kill()
        with self.serve() as daemon:
            daemon.sync()
            self.assertEqual(daemon.assets()["art/grid.obj"]["quality"], "final")

    def test_a_broken_save_fails_once(self):
        self.put("grid.obj", bumpy_grid(80))
        with self.serve() as daemon:
            daemon.sync()
            self.put("grid.obj", "not a model\n")
            failed = daemon.wait_event("asset", is_asset("art/grid.obj"))
            self.assertEqual((failed["kind"], failed["state"]), ("failed", "stale"))
            self.put("grid.obj", bumpy_grid(80))
            self.assertEqual(daemon.wait_event("asset", is_asset("art/grid.obj"))["kind"], "recovered")


if __name__ == "__main__":
    main()
