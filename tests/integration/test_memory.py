"""The machine's memory limits concurrent cooks: cooks that needed much memory the last time wait for each other if both do not
fit, small ones overtake them, and with enough memory all run. The machine's memory is that of /proc/meminfo, which is replaced
for the tested daemon."""
import json
import os
import pathlib
import signal
import struct
import subprocess
import time
import unittest.mock

from hobtest import DEADLINE, HOB, Daemon, Scenario, bumpy_grid, children, main, obj_text

HEAVY = 272 << 20  # bytes of a buffer that both heavy models read whole


class Memory(Scenario):
    def setUp(self):
        super().setUp()
        self.meminfo = self.folder / "meminfo"
        self.machine_has(1 << 40)
        mount = f'mount --bind "{self.meminfo}" /proc/meminfo && exec "$@"'
        self.prefix = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mount, "sh"]
        if subprocess.run([*self.prefix, "true"], capture_output=True, check=False).returncode:
            self.skipTest("no file can be mounted over /proc/meminfo in a user namespace here")

    def machine_has(self, size):
        self.meminfo.write_text(f"MemTotal:       {size >> 10} kB\nMemFree:            1 kB\nMemAvailable:   {size >> 10} kB\n")

    def heavy_models(self):
        with open(self.art / "big.bin", "wb") as file:
            file.write(struct.pack("<9f", 0, 0, 0, 1, 0, 0, 0, 1, 0))
            file.truncate(HEAVY)
        for name in ("a", "b"):
            self.put(name + ".gltf", json.dumps({
                "asset": {"version": "2.0", "generator": name}, "buffers": [{"uri": "big.bin", "byteLength": HEAVY}],
                "bufferViews": [{"buffer": 0, "byteLength": 36}],
                "accessors": [{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3", "min": [0, 0, 0], "max": [1, 1, 0]}],
                "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}], "nodes": [{"mesh": 0}], "scenes": [{"nodes": [0]}]}))

    def peaks(self, daemon):
        found = {}
        for job in daemon.get("/api/v1/jobs?limit=50").json()["items"]:
            if job["result"] == "cooked" and not job["cached"]:
                found.setdefault(job["asset"], job["peak_bytes"])
        return found

    def serve_here(self, *options):
        return Daemon([self.art], self.cache, *options, program=[*self.prefix, HOB])

    def cooking(self, daemon, wanted):
        """The assets on workers, once `wanted` is among them."""
        since = time.monotonic()
        while True:
            found = {job["asset"] for job in daemon.get("/api/v1/jobs?state=cooking&limit=50").json()["items"]}
            if wanted in found:
                return found
            self.assertLess(time.monotonic() - since, DEADLINE, (wanted, found, daemon.log[-10:]))

    def idle_workers(self, daemon):
        """All workers, once each is inside its sandbox: one stopped while starting would be given up."""
        while True:
            workers = children(daemon.process.pid)
            try:
                states = [pathlib.Path(f"/proc/{worker}/status").read_text() for worker in workers]
            except OSError:  # a worker has ended in between
                continue
            if len(states) == 3 and all("State:\tS" in text and "Seccomp:\t2" in text for text in states):
                return workers

    def cook_again(self, daemon, name):
        item = daemon.assets()[name]
        self.assertEqual(daemon.post(f"/api/v1/assets/{item['id']}/cook", {"force": True}).status, 202)

    def test_heavy_cooks_run_at_once_only_where_both_fit(self):
        self.heavy_models()
        with self.serve_here("--jobs", "3") as daemon:
            if any("no seccomp" in name for name in daemon.counters()):
                self.skipTest("without a sandbox nobody can see from outside when a worker has started")
            daemon.sync()
            for name in ("art/a.gltf", "art/b.gltf"):
                self.assertEqual(daemon.assets()[name]["state"], "fresh")
                self.assertGreaterEqual(self.peaks(daemon)[name], HEAVY)
            # In a user namespace a worker's priority cannot be raised again, so the workers that cooked the scan are replaced. These
            # cooks do it now; otherwise it would happen while the workers are stopped.
            for name in ("art/a.gltf", "art/b.gltf"):
                self.cook_again(daemon, name)
            daemon.sync()
            both = sum(self.peaks(daemon)[name] for name in ("art/a.gltf", "art/b.gltf"))
            self.side(daemon, "enough.obj", both + (64 << 20), together=True)
            self.side(daemon, "less.obj", both - (64 << 20), together=False)
        # After a restart the history comes from the index.
        with self.serve_here("--jobs", "3") as daemon:
            daemon.sync()
            self.assertEqual(daemon.cooked(), 0)
            self.side(daemon, "nothing.obj", 1 << 20, together=False)

    def side(self, daemon, small, available, together):
        """Requests two heavy cooks and a small one: when that starts, what did not fit was skipped. Stopped workers end no
        cook."""
        self.machine_has(available)
        workers = self.idle_workers(daemon)
        self.assertEqual(len(workers), 3)
        for worker in workers:
            os.kill(worker, signal.SIGSTOP)
        try:
            self.cook_again(daemon, "art/a.gltf")
            self.cooking(daemon, "art/a.gltf")
            self.cook_again(daemon, "art/b.gltf")
            if together:
                self.cooking(daemon, "art/b.gltf")
            self.put(small, obj_text(len(small)))
            wanted = {"art/a.gltf", "art/" + small} | ({"art/b.gltf"} if together else set())
            self.assertEqual(self.cooking(daemon, "art/" + small), wanted)
        finally:
            for worker in workers:
                try:
                    os.kill(worker, signal.SIGCONT)
                except ProcessLookupError:  # given up meanwhile
                    pass
        # A waiting cook starts when a running one has ended.
        daemon.sync()
        self.assertEqual({item["state"] for item in daemon.assets().values()}, {"fresh"})

    def test_a_small_cook_after_a_heavy_one_is_not_taken_for_heavy(self):
        self.enterContext(unittest.mock.patch.dict(os.environ, ASAN_OPTIONS=os.environ["ASAN_OPTIONS"].replace("_mb=16", "_mb=4")))
        self.heavy_models()
        with self.serve_here("--jobs", "1") as daemon:
            daemon.sync()
            (worker,) = children(daemon.process.pid)
            self.put("small.obj", obj_text(5))
            daemon.sync()
            if children(daemon.process.pid) == [worker]:
                self.assertLess(self.peaks(daemon)["art/small.obj"], HEAVY // 2)


class Levels(Scenario):
    def holds(self, mib):
        return subprocess.run([HOB, "cook", str(self.art), "-o", str(self.folder / "out"), "-q", "--memory", f"{mib} MiB"],
                              capture_output=True, timeout=DEADLINE, check=False).returncode == 0

    def least_limit(self):
        """The smallest --memory, in MiB, with which the grid is cooked: too little for its levels of detail. Sanitizers do not
        limit the cook process, so less is enough with them."""
        low, high = 64, 1024
        if self.holds(low):
            return low
        while high - low > 1 + high // 64:
            middle = (low + high) // 2
            low, high = (low, middle) if self.holds(middle) else (middle, high)
        return high

    def test_what_lacked_memory_for_levels_is_cooked_again_with_more(self):
        self.put("grid.obj", bumpy_grid(740, height=0))
        self.put("cook.json", '{"lods": {"max": 2}}')
        least = self.least_limit()
        for limit, levels, cooks in ((least, False, 1), (least, False, 0), (4096, True, 1), (4096, True, 0), (least, True, 0)):
            with self.subTest(limit=limit, levels=levels), self.serve("--memory", f"{limit} MiB") as daemon:
                daemon.sync()
                item = daemon.assets()["art/grid.obj"]
                self.assertEqual((item["state"], item["stats"]["lods"] > 1, daemon.cooked()), ("fresh", levels, cooks), item)


if __name__ == "__main__":
    main()
