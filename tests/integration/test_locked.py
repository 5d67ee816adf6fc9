"""Another program holds the write lock of the index, a backup or a database browser: rows wait in memory, and the daemon serves
the newest saves, in every output and derived form. Nothing is lost when the lock is released, and nothing is wrong after a
kill."""
import contextlib
import ctypes
import http.client
import json
import os
import select
import sqlite3

from hobtest import DEADLINE, Scenario, main, obj_text, until

FORMS = ("meshes", "glb", "classic.meshes")


class Locked(Scenario):
    def lock(self):
        index = sqlite3.connect(self.cache / "index.db", timeout=60, isolation_level=None)
        index.execute("BEGIN IMMEDIATE")
        self.addCleanup(index.close)
        return index

    def triangles(self, daemon, name):
        """The status of each output and derived form; for glb, if it is 200, its largest x."""
        found = {}
        for form in FORMS:
            answer = daemon.get(f"/a/art/{name}?output={form}")
            found[form] = answer.status
            if answer.status == 200 and form == "glb":
                head = json.loads(answer.body[20:20 + int.from_bytes(answer.body[12:16], "little")])
                found[form] = max(a["max"][0] for a in head["accessors"] if "max" in a and a["type"] == "VEC3")
        return found

    def expect(self, daemon, **wanted):
        for name, wide in wanted.items():
            self.assertEqual(self.triangles(daemon, name + ".obj"), {"meshes": 200, "glb": wide, "classic.meshes": 200}, name)

    def begin(self):
        for name in ("a", "b", "c"):
            self.put(name + ".obj", obj_text(2))
        daemon = self.serve()
        self.addCleanup(daemon.kill)
        daemon.sync()
        return daemon

    def saves_while_locked(self, daemon):
        """Several rounds while the index lags behind, including a renamed and a removed model."""
        self.put("a.obj", obj_text(4))
        self.put("new.obj", obj_text(5))
        daemon.sync()
        self.expect(daemon, a=2.5, new=3.0, b=1.5)
        answer = until(lambda: (answer := daemon.get("/readyz")).status == 503 and answer, "the index is told to lag behind")
        self.assertIn(b"rows wait in memory", answer.body)
        self.put("a.obj", obj_text(6))
        (self.art / "b.obj").rename(self.art / "moved.obj")
        (self.art / "c.obj").unlink()
        daemon.sync()
        self.expect(daemon, a=3.5, new=3.0, moved=1.5)
        for path in ("/api/v1/jobs", "/api/v1/assets", "/api/v1/errors", "/api/v1/changes?since=0"):
            self.assertEqual(daemon.get(path).status, 200, path)
        newest = max(int(data["id"]) for kind, data in daemon.past + list(daemon.events.queue) if kind == "job")
        item = daemon.assets()["art/a.obj"]
        for path in (f"/api/v1/jobs/{newest}", f"/api/v1/jobs/{newest}/bundle"):
            answer = daemon.get(path)
            self.assertIn(answer.status, (200, 503), (path, answer.body))
        for path in ("/why", "/history", "/deps", ""):
            answer = daemon.get(f"/api/v1/assets/{item['id']}{path}")
            self.assertIn(answer.status, (200, 503), (path, answer.body))
        self.assertEqual(sum("database is locked" in line for line in daemon.log), 1, daemon.log)

    def same_after(self, daemon):
        self.expect(daemon, a=3.5, new=3.0, moved=1.5)
        self.assertEqual(set(daemon.assets()), {"art/a.obj", "art/new.obj", "art/moved.obj"})

    def test_rows_wait_and_are_written_when_the_lock_goes(self):
        daemon = self.begin()
        index = self.lock()
        self.saves_while_locked(daemon)
        index.execute("ROLLBACK")
        until(lambda: daemon.get("/readyz").status == 200, "the index is written")
        self.same_after(daemon)
        missing = index.execute("SELECT path FROM asset WHERE good NOT IN (SELECT key FROM record)").fetchall()
        rows = {path for (path,) in index.execute("SELECT CAST(path AS TEXT) FROM asset")}
        index.close()
        self.assertEqual((missing, rows), ([], {"a.obj", "new.obj", "moved.obj"}))
        self.assertEqual(daemon.stop(), 0)
        with self.serve() as daemon:
            daemon.sync()
            self.same_after(daemon)
            self.assertEqual(daemon.cooked(), 0)

    def test_a_kill_while_it_is_locked(self):
        daemon = self.begin()
        index = self.lock()
        self.saves_while_locked(daemon)
        daemon.kill()
        index.execute("ROLLBACK")
        index.close()
        with self.serve() as daemon:
            daemon.sync()
            self.same_after(daemon)

    def test_an_end_while_it_is_locked(self):
        daemon = self.begin()
        index = self.lock()
        self.saves_while_locked(daemon)
        self.assertEqual(daemon.stop(), 0)
        index.execute("ROLLBACK")
        index.close()
        with self.serve() as daemon:
            daemon.sync()
            self.same_after(daemon)


@contextlib.contextmanager
def held(thread):
    """Stops one thread, as a debugger does."""
    seize, interrupt, detach, all_kinds = 0x4206, 0x4207, 17, 0x40000000
    ptrace = ctypes.CDLL(None, use_errno=True).ptrace
    ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    for request in (seize, interrupt):
        if ptrace(request, thread, None, None) != 0:
            raise OSError(ctypes.get_errno(), "ptrace")
    os.waitpid(thread, all_kinds)
    try:
        yield
    finally:
        ptrace(detach, thread, None, None)


class StandsStill(Scenario):
    def test_every_http_thread_answers_while_the_loop_stands_still(self):
        self.put("a.obj", obj_text(300))
        daemon = self.serve("--http-threads", "4")
        self.addCleanup(daemon.stop)
        daemon.sync()
        digest = daemon.get("/a/art/a.obj?output=meshes").headers["etag"].strip('"')
        body = daemon.get("/blobs/" + digest).body
        # Each new connection goes to the thread that has the fewest.
        connections = [http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=DEADLINE) for _ in range(12)]
        for connection in connections:
            connection.request("GET", "/livez")
            self.assertEqual(connection.getresponse().read(), b"ok\n")
        asks = connections.pop()
        with held(daemon.process.pid):
            asks.request("POST", "/api/v1/sync", "{}", {"Content-Type": "application/json"})
            for connection in connections:
                for headers, expected in (({}, (200, body)), ({"If-None-Match": f'"{digest}"'}, (304, b""))):
                    connection.request("GET", "/blobs/" + digest, headers=headers)
                    answer = connection.getresponse()
                    self.assertEqual((answer.status, answer.read()), expected)
                connection.request("GET", "/api/v1/assets")
                self.assertEqual(json.loads(connection.getresponse().read())["items"][0]["path"], "a.obj")
            self.assertEqual(select.select([asks.sock], [], [], 0)[0], [])
        self.assertEqual(asks.getresponse().status, 200)

    def test_more_threads_than_there_can_be(self):
        daemon = self.serve("--http-threads", "500")
        self.addCleanup(daemon.stop)
        self.assertTrue(any("32 threads answer HTTP" in line and "500" in line for line in daemon.log), daemon.log)
        self.assertGreaterEqual(len(os.listdir(f"/proc/{daemon.process.pid}/task")), 33)


if __name__ == "__main__":
    main()
