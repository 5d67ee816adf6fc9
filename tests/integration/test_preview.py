"""A waiting client sees a preview first; the final cook follows as a separate change."""
import hashlib
import json
import os
import queue
import signal
import subprocess
import threading

from hobtest import DEADLINE, HOB, Scenario, bumpy_grid, children, main, until


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
            self.assertEqual(daemon.cooked(), 1)  # no client waited: straight to the final cook
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
            # Both are cached: switching back and forth cooks nothing and needs no preview.
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
        self.put("wood.ppm", noise(300))  # small ones that blocks spoil are not compressed
        self.put("m.mtl", "newmtl m\nmap_Kd wood.ppm\n")
        with self.serve() as daemon:
            self.put("grid.obj", "mtllib m.mtl\nusemtl m\n" + bumpy_grid(80))
            daemon.sync()
            self.put("wood.ppm", noise(304))
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
        """A final cook that reads a save before the daemon has noticed it does not replace that save's preview."""
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
        cooked = 0
        for turn in range(20):  # if the test is slow, a final cook may end before the kill
            with self.serve("--jobs", "1") as daemon:
                daemon.sync()
                self.put("grid.obj", bumpy_grid(80, 0.2 + turn / 100))
                daemon.wait_event("asset", is_asset("art/grid.obj", "preview"))
                daemon.kill()
            with self.serve() as daemon:
                daemon.sync()
                item, cooked = daemon.assets()["art/grid.obj"], daemon.cooked()
                self.assertEqual((item["state"], item["quality"], daemon.previewed()), ("fresh", "final", 0))
            if cooked:
                break
        self.assertEqual(cooked, 1)
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

    def test_a_preview_whose_final_cook_is_refused_is_no_last_good_version(self):
        """The budget of bytes is checked in the final cook only. It comes before or after the preview, and a restart changes nothing."""
        for late in (False, True):
            name = f"grid{int(late)}.obj"
            limit = lambda name=name: self.put(f"{name}.cook.json", '{"budget": {"bytes": 100000, "fail": true}}')
            self.put(name, bumpy_grid(80))
            with self.serve() as daemon:
                daemon.sync()
                good = daemon.blob(f"art/{name}")
                if not late:
                    limit()
                    daemon.sync()
                self.put(name, bumpy_grid(80, 0.2))
                daemon.wait_event("asset", is_asset(f"art/{name}", "preview"))
                if late:
                    limit()
                daemon.sync()
                item = daemon.assets()[f"art/{name}"]
                self.assertEqual((item["standing"], item["quality"], daemon.blob(f"art/{name}") == good), ("broken", "final", True))
            with self.serve() as daemon:
                daemon.sync()
                item = daemon.assets()[f"art/{name}"]
                self.assertEqual((item["standing"], item["quality"], daemon.blob(f"art/{name}") == good), ("broken", "final", True))

    def test_a_broken_save_fails_once(self):
        self.put("grid.obj", bumpy_grid(80))
        with self.serve() as daemon:
            daemon.sync()
            self.put("grid.obj", "not a model\n")
            failed = daemon.wait_event("asset", is_asset("art/grid.obj"))
            self.assertEqual((failed["kind"], failed["state"]), ("failed", "stale"))
            self.put("grid.obj", bumpy_grid(80))
            self.assertEqual(daemon.wait_event("asset", is_asset("art/grid.obj"))["kind"], "recovered")


class WhoComesLater(Scenario):
    """Without a listener at the time of the save, the final cook begins at once. Cook processes are stopped, so that none ends
    before the test has checked."""

    def serve_unheard(self, jobs):
        """Starts a daemon without listeners and waits until all models are cooked."""
        daemon = self.serve("--jobs", str(jobs), wait_ready=False)
        daemon.wait_banner()
        daemon.sync()
        until(lambda: len(children(daemon.process.pid)) == jobs, "the start of all workers")
        return daemon

    def running(self, daemon):
        return int(daemon.counters()["hob_jobs_running"])

    def stop_workers(self, daemon):
        for worker in children(daemon.process.pid):
            os.kill(worker, signal.SIGSTOP)

    def go_on(self, daemon, workers):
        for worker in workers:
            os.kill(worker, signal.SIGCONT)

    def save(self, daemon, *names):
        """Saves models and waits until each one's final cook has begun, on a stopped worker."""
        for number, name in enumerate(names):
            self.put(name, bumpy_grid(80, 0.6 + 0.1 * number))
        until(lambda: self.running(daemon) == len(names), "the final cooks")

    def ask(self, daemon, name, query=""):
        """Requests the asset with a wait, in another thread; returns a queue for the answer."""
        got = queue.Queue()
        threading.Thread(target=lambda: got.put(daemon.get(f"/a/art/{name}{query}", Prefer="wait=600")), daemon=True).start()
        return got

    def put_models(self):
        for number, name in enumerate(("grid.obj", "other.obj", "third.obj")):
            self.put(name, bumpy_grid(80, 0.3 + 0.1 * number))

    def check_end(self, daemon, names, cooked):
        daemon.sync()
        items = daemon.assets()
        for name in names:
            self.assertEqual((items[f"art/{name}"]["state"], items[f"art/{name}"]["quality"]), ("fresh", "final"))
        self.assertEqual((daemon.cooked(), daemon.previewed()), (cooked, 1))
        self.assertEqual(daemon.get("/api/v1/jobs?state=queued,running").json()["items"], [])

    def test_the_preview_is_made_beside_the_final_cook(self):
        self.put_models()
        with self.serve_unheard(3) as daemon:
            self.stop_workers(daemon)
            self.save(daemon, "grid.obj", "other.obj")  # all workers but one run final cooks
            answer = self.ask(daemon, "grid.obj")
            until(lambda: self.running(daemon) == 3, "the preview that begins")
            # Background jobs run at nice 19; so does grid's final cook, until its preview exists.
            workers = children(daemon.process.pid)
            own = os.getpriority(os.PRIO_PROCESS, daemon.process.pid)
            (other,) = [worker for worker in workers if os.getpriority(os.PRIO_PROCESS, worker) == own]
            (job,) = daemon.get("/api/v1/jobs?asset=art/grid.obj").json()["items"][:1]
            self.assertEqual((job["state"], job["priority"]), ("cooking", "interactive"))
            self.go_on(daemon, [other])
            got = answer.get(timeout=DEADLINE)
            self.assertEqual((got.status, got.headers["cook-quality"]), (200, "preview"))
            self.assertEqual(self.running(daemon), 2)  # neither final cook has ended
            self.go_on(daemon, workers)
            self.check_end(daemon, ["grid.obj", "other.obj"], 5)

    def test_the_own_final_cook_makes_room_if_it_must(self):
        self.put_models()
        with self.serve_unheard(1) as daemon:
            self.stop_workers(daemon)
            self.save(daemon, "grid.obj")
            number = daemon.get("/api/v1/jobs?asset=art/grid.obj").json()["items"][0]["id"]
            got = self.ask(daemon, "grid.obj").get(timeout=DEADLINE)
            self.assertEqual((got.status, got.headers["cook-quality"]), (200, "preview"))
            self.check_end(daemon, ["grid.obj"], 4)
            (job,) = [item for item in daemon.get("/api/v1/jobs?asset=art/grid.obj").json()["items"] if item["id"] == number]
            self.assertEqual(job["result"], "cooked")

    def test_a_final_cook_of_another_model_makes_room(self):
        self.put_models()
        with self.serve_unheard(1) as daemon:
            self.stop_workers(daemon)
            self.save(daemon, "other.obj")
            self.put("grid.obj", bumpy_grid(80, 0.8))
            until(lambda: daemon.get("/api/v1/jobs?asset=art/grid.obj").json()["items"][0]["state"] == "queued",
                  "the final cook that waits")
            got = self.ask(daemon, "grid.obj").get(timeout=DEADLINE)
            self.assertEqual((got.status, got.headers["cook-quality"]), (200, "preview"))
            self.check_end(daemon, ["grid.obj", "other.obj"], 5)

    def test_a_save_ends_the_preview_of_what_it_replaces(self):
        self.put_models()
        with self.serve_unheard(3) as daemon:
            self.stop_workers(daemon)
            self.save(daemon, "grid.obj")
            answer = self.ask(daemon, "grid.obj")
            until(lambda: self.running(daemon) == 2, "the preview that begins")
            last = bumpy_grid(80, 0.9)
            self.put("grid.obj", last)
            self.assertEqual(answer.get(timeout=DEADLINE).status, 200)
            self.go_on(daemon, children(daemon.process.pid))
            daemon.sync()
            self.put("copy.obj", last)
            daemon.sync()
            self.assertEqual(daemon.blob("art/grid.obj"), daemon.blob("art/copy.obj"))

    def test_who_wants_the_final_cook_costs_no_preview(self):
        self.put_models()
        with self.serve_unheard(2) as daemon:
            self.stop_workers(daemon)
            self.save(daemon, "grid.obj")
            answer = self.ask(daemon, "grid.obj", "?final=1")
            until(lambda: daemon.get("/api/v1/jobs?asset=art/grid.obj").json()["items"][0]["priority"] == "interactive",
                  "the request that is taken")
            self.go_on(daemon, children(daemon.process.pid))
            self.assertEqual(answer.get(timeout=DEADLINE).headers["cook-quality"], "final")
            daemon.sync()
            self.assertEqual(daemon.previewed(), 0)


if __name__ == "__main__":
    main()
