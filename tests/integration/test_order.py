"""Order of cooks: assets that a client waits for, then those in use by a listener, then saved ones, then the rest."""
import os
import pathlib
import signal
import subprocess

from hobtest import HOB, Daemon, Scenario, bumpy_grid, children, main, obj_text, until

COUNT = 40


class Order(Scenario):
    """One worker, stopped during the saves: the order of cooks does not depend on the machine's speed then."""

    def setUp(self):
        super().setUp()
        for i in range(COUNT):
            self.put(self.name(i), obj_text(3, i))
        self.put("tree.obj", "mtllib bark.mtl\nusemtl bark\n" + obj_text(4))
        self.put("bark.mtl", "newmtl bark\nKd 1 0 0\n")

    @staticmethod
    def name(i):
        return f"m{i:02}.obj"

    def jobs(self, daemon, *states):
        return [job for job in daemon.get("/api/v1/jobs?limit=1000").json()["items"] if job["state"] in states]

    def wait_jobs(self, daemon, count):
        """Waits until this many jobs wait, all looked up; the worker is stopped."""
        until(lambda: len(self.jobs(daemon, "queued")) >= count and not self.jobs(daemon, "checking"), f"a queue of {count}")
        return self.jobs(daemon, "queued")

    @staticmethod
    def workers(daemon):
        """{pid: niceness} of the cook processes."""
        return {pid: os.getpriority(os.PRIO_PROCESS, pid) for pid in children(daemon.process.pid)
                if "worker" in pathlib.Path(f"/proc/{pid}/comm").read_text()}

    @staticmethod
    def cook_again(daemon, name):
        found = daemon.assets()[name]
        job = daemon.post(f"/api/v1/assets/{found['id']}/cook", {"force": True}).json()["job"]
        until(lambda: daemon.get(f"/api/v1/jobs/{job}").json()["state"] == "done", "the cook that was asked for")

    def held(self, daemon):
        """Stops the only worker during a cook; returns its process id."""
        (worker,) = self.workers(daemon)
        os.kill(worker, signal.SIGSTOP)
        self.addCleanup(self.go_on, worker)
        self.put("blocker.obj", obj_text(9))
        daemon.wait_event("job", lambda job: job["state"] == "cooking" and job["asset"] == "art/blocker.obj")
        return worker

    @staticmethod
    def go_on(worker):
        try:
            os.kill(worker, signal.SIGCONT)
        except ProcessLookupError:
            pass

    def save_all(self, daemon):
        for i in range(COUNT):
            self.put(self.name(i), obj_text(5, i))
        return self.wait_jobs(daemon, COUNT)

    def cooked(self, daemon, count):
        """The assets in the order in which their cooks begin, without previews."""
        seen = []
        while len(seen) < count:
            name = daemon.wait_event("job", lambda job: job["state"] == "cooking")["asset"]
            if name not in seen and name != "art/blocker.obj":
                seen.append(name)
        return seen

    def test_a_cook_that_somebody_waits_for_has_the_daemons_priority(self):
        """Where the system lets the daemon raise a priority the worker is kept; otherwise a new one replaces it for a slow
        cook."""
        self.put("large.obj", bumpy_grid(150))
        limited = ["setpriv", "--bounding-set=-sys_nice", "--inh-caps=-sys_nice", HOB]
        for program, stays in (([HOB], True), (limited, False)) if os.geteuid() == 0 else (([HOB], False),):
            with Daemon([self.art], self.folder / f"cache{stays:d}", "--jobs", "1", program=program) as daemon:
                daemon.sync()
                of_scan = self.workers(daemon)
                self.assertEqual(list(of_scan.values()), [19])
                if not stays and daemon.assets()["art/tree.obj"]["cook_ms"] < 25:  # where it is not slow
                    self.cook_again(daemon, "art/tree.obj")
                    self.assertEqual(self.workers(daemon), of_scan)
                self.cook_again(daemon, "art/large.obj")
                waited = self.workers(daemon)
                self.assertEqual(list(waited.values()), [os.getpriority(os.PRIO_PROCESS, 0)])
                self.assertEqual(list(waited) == list(of_scan), stays)
                self.put("tree.obj", "mtllib bark.mtl\nusemtl bark\n" + obj_text(6))
                daemon.sync()
                self.assertEqual(list(self.workers(daemon)), list(waited))

    def test_what_a_client_holds_is_cooked_before_what_else_changed(self):
        with self.serve("--jobs", "1") as daemon:
            daemon.sync()
            held = "art/" + self.name(COUNT - 1)
            daemon.blob(held)  # the harness listens under the same program name
            (client,) = daemon.get("/api/v1/clients").json()["items"]
            self.assertEqual(client["uses"], 1)
            worker = self.held(daemon)
            waiting = self.save_all(daemon)
            self.assertEqual([(job["asset"], job["priority"]) for job in waiting[:2]], [(held, "in-use"), (waiting[1]["asset"], "changed")])
            self.assertEqual({job["priority"] for job in waiting[1:]}, {"changed"})
            queue = daemon.get("/api/v1/stats").json()["queue"]
            self.assertEqual([queue[key] for key in ("length", "running", "interactive", "in-use", "changed", "background")], [COUNT, 1, 0, 1, COUNT - 1, 0])
            status = subprocess.run([HOB, "status", "--url", f"http://127.0.0.1:{daemon.port}"], capture_output=True, text=True)
            self.assertIn(f"cooking   1 now, {COUNT} waiting: 1 in use by clients, {COUNT - 1} just changed", status.stdout)
            self.go_on(worker)
            self.assertEqual(self.cooked(daemon, COUNT)[0], held)
            daemon.sync()

    def test_without_listeners_nobody_uses_anything(self):
        with self.serve("--jobs", "1") as daemon:
            daemon.sync()
            daemon.request("GET", f"/a/art/{self.name(COUNT - 1)}", headers={"User-Agent": "batch"})
            self.held(daemon)
            self.assertEqual({job["priority"] for job in self.save_all(daemon)}, {"changed"})

    def test_a_dependency_of_what_is_followed_and_what_comes_to_be_used(self):
        with self.serve("--jobs", "1") as daemon:
            daemon.sync()
            daemon.request("GET", "/api/v1/revs/latest/manifest?root=art/tree.obj")
            worker = self.held(daemon)
            self.save_all(daemon)
            self.put("bark.mtl", "newmtl bark\nKd 0 1 0\n")
            first = self.wait_jobs(daemon, COUNT + 1)[0]
            self.assertEqual((first["asset"], first["priority"]), ("art/tree.obj", "in-use"))
            # Requests the last of the waiting jobs, at any stage: by name, and with a wait.
            late, waited = (self.wait_jobs(daemon, COUNT + 1)[at]["asset"] for at in (-1, -2))
            daemon.get(f"/api/v1/assets?path={late}")
            until(lambda: self.jobs(daemon, "queued")[1]["priority"] == "in-use", "the higher priority")
            self.assertEqual({job["asset"] for job in self.jobs(daemon, "queued")[:2]}, {"art/tree.obj", late})
            daemon.request("GET", f"/a/{waited}", headers={"Prefer": "wait=1"})
            job = self.jobs(daemon, "queued")[0]
            self.assertEqual((job["asset"], job["priority"]), (waited, "interactive"))
            self.go_on(worker)
            order = self.cooked(daemon, 3)
            self.assertEqual((order[0], set(order[1:])), (waited, {"art/tree.obj", late}))
            daemon.sync()

    def copies(self, daemon):
        """Saves five models and then two with the same bytes: the job of the second waits for the first's cook."""
        for i in range(5):
            self.put(self.name(i), obj_text(5, i))
        self.wait_jobs(daemon, 5)
        for name in ("first.obj", "second.obj"):
            self.put(name, obj_text(11))
            self.wait_jobs(daemon, 6 if name == "first.obj" else 7)

    def test_a_copy_that_is_waited_for_brings_the_cook_of_the_other_forward(self):
        with self.serve("--jobs", "1") as daemon:
            daemon.sync()
            worker = self.held(daemon)
            self.copies(daemon)
            daemon.request("GET", "/a/art/second.obj", headers={"Prefer": "wait=1"})
            urgent = {job["asset"] for job in self.jobs(daemon, "queued") if job["priority"] == "interactive"}
            self.assertEqual(urgent, {"art/first.obj", "art/second.obj"})
            self.go_on(worker)
            self.assertEqual(self.cooked(daemon, 1), ["art/first.obj"])
            daemon.sync()

    def test_a_copy_that_waits_can_be_cancelled(self):
        with self.serve("--jobs", "1") as daemon:
            daemon.sync()
            worker = self.held(daemon)
            self.copies(daemon)
            (job,) = [job["id"] for job in self.jobs(daemon, "queued") if job["asset"] == "art/second.obj"]
            self.assertEqual(daemon.request("DELETE", f"/api/v1/jobs/{job}").status, 202)
            self.go_on(worker)
            daemon.sync()
            states = {name: item["state"] for name, item in daemon.assets().items()}
            self.assertEqual((states["art/first.obj"], states["art/second.obj"]), ("fresh", "failed"))


class ColdStart(Scenario):
    def test_the_largest_is_cooked_first(self):
        """Otherwise the first cook of a tree could end with a long cook while other workers are idle."""
        sizes = {f"m{i:03}.obj": 2 + i * 37 % 300 for i in range(300)}  # triangles
        for name, size in sizes.items():
            self.put(name, obj_text(size))
        with self.serve("--jobs", "1") as daemon:
            daemon.sync()
            jobs = daemon.get("/api/v1/jobs?limit=1000").json()["items"]
            begun = [sizes[job["asset"].removeprefix("art/")] for job in sorted(jobs, key=lambda job: job["started_at"])]
            self.assertEqual(len(begun), len(sizes))
            # Every 64th cook is that of the model that has waited longest, whatever its size.
            out_of_order = sum(later > earlier + 5 for earlier, later in zip(begun, begun[1:]))
            self.assertLess(out_of_order, 20, begun)
            self.assertGreater(min(begun[:30]), max(begun[-30:]) + 100, begun)


if __name__ == "__main__":
    main()
