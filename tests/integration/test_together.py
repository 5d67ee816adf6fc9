"""Changes by version control and bulk copies become visible at once: one rev for all, and no mixture is ever visible."""
import os
import shutil
import signal
import sqlite3
import subprocess
import threading
import time
import unittest

from hobtest import Daemon, Scenario, main, meshes, obj_text, until

COUNT = 60


@unittest.skipUnless(shutil.which("git"), "there is no git")
class Together(Scenario):
    def git(self, *words):
        quiet = ("-c", "user.name=hob", "-c", "user.email=hob@localhost", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *quiet, *words], cwd=self.art, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def write(self, path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def branches(self):
        """`one` and `two` differ in two of three files; some files exist in only one of them."""
        self.git("init", "-q")
        self.git("checkout", "-q", "-b", "one")
        for i in range(COUNT):
            self.write(self.art / f"d{i % 5}/m{i}.obj", obj_text(1 + i % 3))
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "one")
        self.git("checkout", "-q", "-b", "two")
        for i in range(COUNT):
            path = self.art / f"d{i % 5}/m{i}.obj"
            if i % 3 == 0:
                path.write_text(obj_text(4 + i % 2))
            elif i % 3 == 1 and i < 20:
                path.unlink()
        for i in range(15):
            self.write(self.art / f"new/n{i}.obj", obj_text(6))
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "two")

    def revs(self, daemon, expected):
        """The revs of the next events, until `expected` assets were reported."""
        told, revs = set(), set()
        while told != expected:
            data = daemon.wait_event("asset")
            told.add(data["asset"])
            revs.add(data["rev"])
        return revs

    def test_checkout_is_one_rev_and_nobody_sees_a_mixture(self):
        self.branches()
        sets = {}
        for branch in ("one", "two"):
            self.git("checkout", "-q", branch)
            with Daemon([self.art], self.folder / f"cache-{branch}") as fresh:
                fresh.sync()
                sets[branch] = meshes(fresh)
        changed = {name for name in {**sets["one"], **sets["two"]} if sets["one"].get(name) != sets["two"].get(name)}
        self.assertGreater(len(changed), 30)
        with self.serve() as daemon:
            daemon.sync()
            rev, seen, over = daemon.seen, [], threading.Event()

            def look():
                while not over.is_set():
                    seen.append(meshes(daemon))

            reader = threading.Thread(target=look)
            reader.start()
            try:
                for branch in ("one", "two", "one", "two"):
                    self.git("checkout", "-q", branch)
                    self.assertEqual(self.revs(daemon, changed), {rev + 1})
                    rev += 1
                    self.assertEqual(meshes(daemon), sets[branch])
                    manifest = daemon.get(f"/api/v1/revs/{rev - 1}/manifest").json()
                    self.assertEqual({item["asset"] for item in manifest["assets"]},
                                     set(sets["two" if branch == "one" else "one"]))
            finally:
                over.set()
                reader.join()
            fresh_only = [{name: digest for name, digest in found.items() if digest} for found in seen]
            mixtures = [found for found in fresh_only
                        if any(sets["one"].get(name) != digest for name, digest in found.items())
                        and any(sets["two"].get(name) != digest for name, digest in found.items())]
            self.assertEqual(mixtures, [])
            self.assertGreater(len(seen), 4)

    def test_copies_moves_and_removals_in_bulk(self):
        for i in range(COUNT):
            self.write(self.art / f"pack/m{i}.obj", obj_text(1 + i % 3))
        outside = self.folder / "outside"
        shutil.copytree(self.art / "pack", outside)
        for i in range(COUNT):
            self.write(outside / f"m{i}.obj", obj_text(5 + i % 3))
        own = {f"art/pack/m{i}.obj" for i in range(COUNT)}
        with self.serve() as daemon:
            daemon.sync()
            # All events have arrived when the daemon reads them, however long cp and rm pause on a crowded machine.
            rev = daemon.seen
            daemon.process.send_signal(signal.SIGSTOP)
            subprocess.run(["cp", "-r", self.art / "pack", self.art / "copy"], check=True)
            daemon.process.send_signal(signal.SIGCONT)
            self.assertEqual(self.revs(daemon, {name.replace("pack", "copy") for name in own}), {rev + 1})
            (self.art / "copy").rename(self.art / "moved")
            moved = {name.replace("pack", "copy") for name in own} | {name.replace("pack", "moved") for name in own}
            self.assertEqual(self.revs(daemon, moved), {rev + 2})
            daemon.process.send_signal(signal.SIGSTOP)
            shutil.rmtree(self.art / "moved")
            daemon.process.send_signal(signal.SIGCONT)
            self.assertEqual(self.revs(daemon, {name.replace("pack", "moved") for name in own}), {rev + 3})
            self.assertGreaterEqual(daemon.counters()["hob_changesets_total"], 3)

    def test_locks(self):
        self.branches()
        self.git("checkout", "-q", "one")
        lock = self.art / ".git/index.lock"
        other = self.folder / "other"
        self.write(other / "o.obj", obj_text(1))
        with Daemon([self.art, other], self.cache) as daemon:
            daemon.sync()
            rev = daemon.seen
            before = daemon.blob("art/d0/m0.obj")
            lock.touch()
            self.put("d2/m2.obj", obj_text(12))
            self.put("d0/m0.obj", obj_text(11))
            daemon.wait_log("holding")
            (other / "o.obj").write_text(obj_text(2))  # version control does not work on this folder
            self.assertEqual(daemon.wait_asset("other/o.obj", "fresh")["rev"], rev + 1)
            until(lambda: daemon.assets()["art/d0/m0.obj"]["state"] == "stale", "the stale state of a held asset")
            # A sync of another root does not wait for version control here.
            self.assertEqual(daemon.post("/api/v1/sync", {"timeout_ms": 2500, "roots": ["other"]}).status, 200)
            answer = daemon.get("/a/art/d0/m0.obj", Prefer="wait=60")  # a client wants it now
            self.assertEqual((answer.status, answer.headers["cook-state"]), (200, "fresh"))
            self.assertNotEqual(answer.body, before)
            lock.unlink()
            daemon.sync()
            for age in (10 ** 6, -10 ** 6):  # stale: left by a program that died long ago, or by a wrong clock
                lock.touch()
                os.utime(lock, (time.time() - age,) * 2)
                self.put("d1/m1.obj", obj_text(13 + (age > 0)))
                daemon.wait_asset("art/d1/m1.obj", "fresh")
                self.assertTrue(lock.exists())
            lock.touch()  # a user writes a commit message
            self.put("d1/m1.obj", obj_text(20))
            daemon.wait_asset("art/d1/m1.obj", "fresh")
            self.assertTrue(lock.exists())

    def test_a_folder_that_becomes_a_working_copy(self):
        names = {f"art/{name}.obj" for name in "abc"}
        for name in "abc":
            self.put(f"{name}.obj", obj_text(1))
        with self.serve() as daemon:
            daemon.sync()
            rev = daemon.seen
            self.git("init", "-q")
            lock = self.art / ".git/index.lock"
            lock.touch()
            for i, name in enumerate("abc", 1):  # one by one, as from an editor
                self.put(f"{name}.obj", obj_text(10 + i))
                until(lambda i=i: daemon.counters()["hob_changeset_changes"] == i, f"{i} held changes")
            self.assertEqual(daemon.get("/api/v1/stats").json()["rev"], rev)
            lock.unlink()
            self.assertEqual(self.revs(daemon, names), {rev + 1})

    def test_files_that_come_back_while_their_removal_is_held(self):
        self.branches()
        lock = self.art / ".git/index.lock"
        with self.serve() as daemon:
            daemon.sync()
            before = meshes(daemon)
            lock.touch()
            texts = {path: path.read_bytes() for path in sorted(self.art.rglob("*.obj"))}
            for path in texts:
                path.unlink()
            daemon.wait_log("removed")
            for path, text in texts.items():
                path.write_bytes(text)
            daemon.sync()
            self.assertEqual(meshes(daemon), before)
            lock.unlink()
            daemon.sync()
            self.assertEqual(meshes(daemon), before)
            self.assertEqual([data for kind, data in daemon.past + list(daemon.events.queue)
                              if kind == "asset" and data["kind"] == "removed"], [])

    def test_working_copy_below_the_root(self):
        self.branches()
        town = self.folder / "roots" / "town"
        town.parent.mkdir()
        self.git("checkout", "-q", "one")
        self.art.rename(town)
        self.art = town
        with Daemon([town.parent], self.cache) as daemon:
            daemon.sync()
            (town / ".git/index.lock").touch()
            (town / "d0/m0.obj").write_text(obj_text(30))
            daemon.wait_log("holding")
            (town / ".git/index.lock").unlink()
            daemon.wait_asset("roots/town/d0/m0.obj", "fresh")

    def test_end_and_kill_in_between(self):
        self.branches()
        self.git("checkout", "-q", "two")
        lock = self.art / ".git/index.lock"
        for how in (signal.SIGTERM, signal.SIGKILL):
            with self.serve() as daemon:
                daemon.sync()
                lock.touch()
                for i in range(30):
                    self.put(f"d{i % 5}/m{i}.obj", obj_text(20 + i % 2 + int(how)))
                daemon.wait_log("holding")
                if how == signal.SIGKILL:
                    daemon.kill()
                else:
                    self.assertEqual(daemon.stop(), 0)
            lock.unlink()
            with self.serve() as daemon, Daemon([self.art], self.folder / f"fresh-{int(how)}") as fresh:
                daemon.sync()
                fresh.sync()
                self.assertEqual(meshes(daemon), meshes(fresh))

    def test_what_is_served_outlives_a_held_version(self):
        """While a new version is held back, gc keeps the served one, even in a cache unused for hours."""
        self.put("a.obj", obj_text(1))
        self.git("init", "-q")
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "one")
        with self.serve() as daemon:
            daemon.sync()
            served = daemon.blob("art/a.obj")
        with sqlite3.connect(self.cache / "index.db") as index:
            for table in ("blob", "record", "part"):
                index.execute(f"UPDATE {table} SET used_at_s = used_at_s - 10800")
        with self.serve() as daemon:
            daemon.sync()
            (self.art / ".git/index.lock").touch()
            self.put("a.obj", "usemtl other\n" + obj_text(2))  # shares no blob: that would count as a use of both records
            until(lambda: daemon.counters()["hob_changeset_changes"] == 1, "a held version")
            self.assertEqual(daemon.post("/api/v1/gc", {"max_bytes": 1}).status, 202)
            self.assertEqual(daemon.blob("art/a.obj"), served)
            self.assertEqual(daemon.counters()["hob_changeset_changes"], 1, "it was published before the cache was trimmed")


if __name__ == "__main__":
    main()
