"""External disturbances of a working daemon: a jumping clock, another daemon on its folder or its cache, a file system without
inodes or remounted read-only, an upgrade under connected clients, and a stop during all its work. Nothing is lost."""
import concurrent.futures
import errno
import http.client
import json
import os
import pathlib
import signal
import subprocess
import time
import unittest

from faulty import Faults
from hobtest import DEADLINE, HOB, LONG, Daemon, Scenario, amount, beside, built_with, bumpy_grid, main, meshes, obj_text, until

SHIFTED_CLOCK = beside("libshifted_clock.so")
YEAR = 365 * 86400


class Upsets(Scenario):
    def models(self, count=6):
        for i in range(count):
            self.put(f"m{i}.obj", obj_text(2 + i))

    def is_over(self, stream):
        """Reads a stream to its end, which lacks the last chunk if the daemon ended."""
        try:
            stream.read()
        except http.client.IncompleteRead:
            pass
        stream.close()
        return True

    # ---- the clock

    def test_a_clock_that_jumps_by_a_year(self):
        clock = self.folder / "clock"
        clock.write_bytes(bytes(8))
        program = ["env", f"LD_PRELOAD={SHIFTED_CLOCK}", f"HOB_TEST_CLOCK_FILE={clock}", "ASAN_OPTIONS=verify_asan_link_order=0", HOB]
        self.models()
        with Daemon([self.art], self.cache, program=program) as daemon:
            daemon.sync()
            for turn, seconds in enumerate((YEAR, -YEAR, 0)):
                with open(clock, "r+b") as file:
                    file.write(seconds.to_bytes(8, "little", signed=True))
                before = daemon.get("/api/v1").json()["rev"]
                answer = daemon.get("/livez")
                self.assertEqual(answer.status, 200)
                self.put("m0.obj", obj_text(20 + turn))
                self.put(f"new{turn}.obj", obj_text(40 + turn))
                daemon.sync()
                self.assertGreater(daemon.get("/api/v1").json()["rev"], before)
                items = daemon.assets()
                self.assertEqual({item["state"] for item in items.values()}, {"fresh"})
                self.assertEqual(items["art/m0.obj"]["stats"]["triangles"], 20 + turn)
                self.assertEqual(daemon.get("/readyz").status, 200)
                # Waiting clients are answered after their timeout, not after a year.
                began = time.monotonic()
                self.assertEqual(daemon.get(f"/api/v1/changes?since={daemon.get('/api/v1').json()['rev']}", Prefer="wait=1").status, 200)
                self.assertLess(time.monotonic() - began, DEADLINE)
            told = meshes(daemon)
        with self.serve() as daemon:
            daemon.sync()
            self.assertEqual((meshes(daemon), daemon.cooked()), (told, 0))

    # ---- another daemon

    def test_two_daemons_on_one_folder(self):
        self.models()
        with self.serve() as one, Daemon([self.art], self.folder / "second-cache") as other:
            one.sync(), other.sync()
            for turn in range(amount(3, 30)):
                self.put(f"m{turn % 6}.obj", obj_text(30 + turn))
                one.sync(), other.sync()
                self.assertEqual(meshes(one), meshes(other))
            self.assertNotIn(None, meshes(one).values())

    def test_two_daemons_on_one_cache(self):
        self.models()
        with self.serve() as one:
            one.sync()
            told = meshes(one)
            done = subprocess.run([HOB, "serve", str(self.art), "--cache", str(self.cache), "--listen", "127.0.0.1:0"], capture_output=True,
                                  timeout=DEADLINE, text=True)
            self.assertEqual(done.returncode, 2)
            self.assertIn(str(one.process.pid), done.stderr)
            self.put("m1.obj", obj_text(50))
            one.sync()
            self.assertEqual(one.get("/readyz").status, 200)
            told["art/m1.obj"] = meshes(one)["art/m1.obj"]
            self.assertEqual(meshes(one), told)

    # ---- a failing disk

    @unittest.skipIf(built_with("tsan"), "its runtime wants the functions that are replaced here for itself")
    def test_a_disk_that_becomes_read_only_and_writable_again(self):
        """A file system that becomes read-only after an error: open files stay open, and every change is refused."""
        faults = Faults(self.folder)
        self.models()
        with faults.serve([self.art], self.cache) as daemon:
            daemon.sync()
            told = {name: daemon.blob(name) for name in daemon.assets()}
            with faults.fail("create write name sync mkdir unlink", errno.EROFS, self.cache):
                self.put("second.obj", obj_text(3000))
                self.put("m0.obj", obj_text(70))
                reasons = {}
                while len(reasons) < 2:
                    item = daemon.wait_event("asset", lambda data: data["state"] not in ("queued", "cooking", "fresh"))
                    reasons[item["asset"]] = (item["state"], item["error"]["message"])
                self.assertEqual(reasons["art/m0.obj"][0], "stale")
                for _, text in reasons.values():
                    self.assertIn("Read-only file system", text)
                self.assertEqual({name: daemon.blob(name) for name in told}, told)
            left = {"art/m0.obj", "art/second.obj"}
            while left:
                left.discard(daemon.wait_event("asset", lambda data: data["state"] == "fresh")["asset"])
            self.assertEqual(daemon.assets()["art/m0.obj"]["stats"]["triangles"], 70)
            self.assertEqual(daemon.get("/readyz").status, 200)
            told = meshes(daemon)
            self.assertNotIn(None, told.values())
        with self.serve() as daemon:
            daemon.sync()
            self.assertEqual((meshes(daemon), daemon.cooked()), (told, 0))

    # ---- no inode left

    def test_a_cache_without_inodes(self):
        self.cache.mkdir()
        prefix = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
                  f'mount -t tmpfs -o size=64m,nr_inodes=400 hob-test "{self.cache}" && exec "$@"', "sh"]
        if subprocess.run([*prefix, "true"], capture_output=True).returncode:
            self.skipTest("no file system can be mounted in a user namespace here")
        with Daemon([self.art], self.cache, program=[*prefix, HOB]) as daemon:
            self.put("first.obj", obj_text(5))
            daemon.sync()
            first = daemon.blob("art/first.obj")
            inside = pathlib.Path(f"/proc/{daemon.process.pid}/root") / str(self.cache).lstrip("/")
            fillers = []
            try:
                while True:
                    fillers.append(inside / f"filler{len(fillers)}")
                    fillers[-1].touch()
            except OSError:
                fillers.pop()
            self.put("second.obj", obj_text(3000))
            item = daemon.wait_asset("art/second.obj", "blocked", "stale", "failed")
            self.assertEqual(item["error"]["code"], "io.disk-full")
            self.assertEqual(daemon.blob("art/first.obj"), first)
            for filler in fillers:
                filler.unlink()
            daemon.wait_asset("art/second.obj", "fresh")
            self.assertEqual(daemon.get("/readyz").status, 200)

    # ---- stop and restart

    def test_a_new_version_under_connected_clients(self):
        """An upgrade: the old process ends, a new one starts on its address and cache, and clients reconnect with their last
        event id."""
        count = amount(200, 1000)
        self.models()
        with self.serve() as old:
            old.sync()
            told, port = meshes(old), old.port
            streams = [old.open_events() for _ in range(count)]
            ids = []
            for stream in streams:
                line = b""
                while not line.startswith(b"id: "):
                    line = stream.readline()
                ids.append(line[4:].strip().decode())
            began = time.monotonic()
            self.assertEqual(old.stop(), 0)
            took = time.monotonic() - began
            for stream in streams:
                self.assertTrue(self.is_over(stream))
        self.put("m0.obj", obj_text(77))
        with self.serve(listen=f"127.0.0.1:{port}") as new:
            new.sync()

            def come_back(last):
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE)
                connection.request("GET", "/api/v1/events", headers={"Last-Event-ID": last})
                stream = connection.getresponse()
                while line := stream.readline():
                    if line.startswith(b"event: reset") or b'"art/m0.obj"' in line:
                        connection.close()
                        return True
                return False

            with concurrent.futures.ThreadPoolExecutor(32) as pool:
                self.assertEqual(sum(pool.map(come_back, ids)), count)
            now = meshes(new)
            self.assertNotEqual(now.pop("art/m0.obj"), told.pop("art/m0.obj"))
            self.assertEqual(now, told)
            self.assertEqual(new.cooked(), 1)
        print(f"upsets: {count} clients, the old one ended in {took:.2f} s")

    def test_sigterm_amid_all_its_work(self):
        """During cooks, hashing of a large file, streams and held requests: it ends at once, and nothing is lost."""
        for i in range(8):
            self.put(f"grid{i}.obj", bumpy_grid(150, 0.1 + i / 50))
        with self.serve("--source-limit", "1 TiB", "--memory", "1 TiB") as daemon:
            streams = [daemon.open_events() for _ in range(20)]
            with open(self.art / "large.stl", "wb") as file:
                file.truncate(400 << 30)  # some minutes of hashing
            (self.art / "small.gltf").write_text(json.dumps({"asset": {"version": "2.0"}, "buffers": [{"uri": "large.bin", "byteLength": 9}]}))
            until(lambda: daemon.get("/api/v1/stats").json()["queue"]["running"] > 0, "work")
            held = []
            for _ in range(10):
                connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=DEADLINE)
                connection.request("POST", "/api/v1/sync", body=b"{}", headers={"Content-Type": "application/json"})
                held.append(connection)
            began = time.monotonic()
            daemon.process.send_signal(signal.SIGTERM)
            code = daemon.process.wait(timeout=DEADLINE)
            took = time.monotonic() - began
            self.assertEqual(code, 0)
            self.assertLess(took, 1 if LONG else 60)
            for stream in streams:
                self.assertTrue(self.is_over(stream))
            for connection in held:
                connection.close()
        print(f"upsets: SIGTERM amid work: {took:.2f} s")
        (self.art / "large.stl").unlink()
        with self.serve() as daemon:
            daemon.sync()
            found = {name: item["state"] for name, item in daemon.assets().items() if "grid" in name}
            self.assertEqual(set(found.values()), {"fresh"})


if __name__ == "__main__":
    main()
