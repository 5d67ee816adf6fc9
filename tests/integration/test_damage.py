"""A full disk, an unwritable cache, a database or blobs with wrong bytes, a clock that was set back, files from the future: each
is a named error or is repaired automatically, and no blob is ever served with bytes that do not match its name."""
import contextlib
import hashlib
import http.client
import json
import os
import pathlib
import random
import shutil
import signal
import sqlite3
import subprocess

from hobtest import DEADLINE, HOB, Daemon, Scenario, amount, beside, kept_blobs, main, meshes, obj_text, until

SHIFTED_CLOCK = beside("libshifted_clock.so")
SEED = int(os.environ.get("HOB_SEED", "5"))


class Damage(Scenario):
    def models(self):
        for i in range(6):
            self.put(f"d{i % 2}/m{i}.obj", obj_text(2 + i, mtl="m.mtl" if i == 3 else None))
        self.put("d1/m.mtl", "newmtl m\nKd 1 0 0\n")
        self.put("bad.obj", "# nothing\n")

    def facts(self, daemon):
        """State and outputs of each asset, without the report, which contains times."""
        items = daemon.assets("&fields=root,path,state,outputs")
        return {name: (item["state"], sorted((output["name"], output["hash"], output["size"]) for output in item["outputs"]
                                             if output["name"] != "report"))
                for name, item in items.items()}

    def serves_all(self, daemon, facts):
        for state, outputs in facts.values():
            for name, digest, size in outputs:
                answer = daemon.get("/blobs/" + digest)
                self.assertEqual((answer.status, len(answer.body)), (200, size), name)
                self.assertEqual(hashlib.sha256(answer.body).hexdigest(), digest)

    def never_wrong(self, daemon, digest):
        answer = daemon.get("/blobs/" + digest)
        if answer.status == 200:
            self.assertEqual(hashlib.sha256(answer.body).hexdigest(), digest)
        else:
            self.assertIn(answer.status, (404, 503))
            self.assertTrue(answer.json()["detail"])
        return answer.status == 200

    # ---- a separate file system for the cache

    def mounted(self, size, then="true"):
        self.cache.mkdir(exist_ok=True)
        prefix = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
                  f'mount -t tmpfs -o size={size} hob-test "{self.cache}" && {then} && exec "$@"', "sh"]
        if subprocess.run([*prefix, "true"], capture_output=True).returncode:
            self.skipTest("no file system can be mounted in a user namespace here")
        return prefix

    def inside(self, daemon):
        return pathlib.Path(f"/proc/{daemon.process.pid}/root") / str(self.cache).lstrip("/")

    def test_full_disk(self):
        with Daemon([self.art], self.cache, program=[*self.mounted("8m"), HOB]) as daemon:
            self.put("first.obj", obj_text(5))
            daemon.sync()
            first = daemon.blob("art/first.obj")
            filler = self.inside(daemon) / "filler"
            with open(filler, "wb", buffering=0) as file:
                try:
                    while True:
                        file.write(bytes(1 << 16))
                except OSError:
                    pass
            for i in range(3):
                self.put(f"big{i}.obj", obj_text(3000, shift=i))
            blocked = set()  # in any order
            while len(blocked) < 3:
                item = daemon.wait_event("asset", lambda data: data["state"] in ("blocked", "stale"))
                self.assertEqual(item["error"]["code"], "io.disk-full")
                self.assertIn("free", item["error"]["hint"])
                blocked.add(item["asset"])
            self.assertEqual(daemon.blob("art/first.obj"), first)
            self.assertEqual(daemon.get("/livez").status, 200)
            ready = daemon.get("/readyz")
            self.assertEqual(ready.status, 503)
            self.assertIn(b"not disk: ", ready.body)
            self.assertIn("free some space", daemon.get("/api/v1/stats").json()["degraded"])
            filler.unlink()
            fresh = set()
            while len(fresh) < 3:
                fresh.add(daemon.wait_event("asset", lambda data: data["state"] == "fresh")["asset"])
            self.assertEqual(daemon.get("/readyz").status, 200)
            self.assertIsNone(daemon.get("/api/v1/stats").json()["degraded"])
            facts = self.facts(daemon)
            self.assertEqual({state for state, _ in facts.values()}, {"fresh"})
            self.serves_all(daemon, facts)

    def test_cache_that_cannot_be_written_is_named_at_start(self):
        prefix = self.mounted("8m", f'mount -o remount,ro "{self.cache}"')
        done = subprocess.run([*prefix, HOB, "serve", str(self.art), "--cache", str(self.cache), "--listen", "127.0.0.1:0"],
                              capture_output=True, timeout=DEADLINE, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("Read-only file system", done.stderr)
        self.assertIn(str(self.cache), done.stderr)

    def test_cache_that_becomes_read_only_and_writable_again(self):
        # Root obeys permissions only without its capabilities.
        meek = [] if os.getuid() else ["setpriv", "--inh-caps=-all", "--bounding-set=-all"]
        with Daemon([self.art], self.cache, "--pack-below", "0", program=[*meek, HOB]) as daemon:
            def allow(mode):
                for folder in [self.cache / "blobs", self.cache / "tmp", *(self.cache / "blobs").iterdir()]:
                    folder.chmod(mode)

            self.put("first.obj", obj_text(5))
            daemon.sync()
            first = daemon.blob("art/first.obj")
            allow(0o555)
            self.put("second.obj", obj_text(500))
            item = daemon.wait_asset("art/second.obj", "failed", "stale")
            self.assertEqual(item["error"]["code"], "io.failed")
            self.assertIn("Permission denied", item["error"]["message"])
            self.assertIn(str(self.cache), item["error"]["message"])
            self.assertEqual(daemon.blob("art/first.obj"), first)
            allow(0o755)
            daemon.wait_asset("art/second.obj", "fresh")
            self.serves_all(daemon, self.facts(daemon))

    # ---- removed under the daemon

    def test_cache_removed_while_it_runs(self):
        for i in range(3):
            self.put(f"m{i}.obj", obj_text(5 + i))
        for gone, below in ((self.cache, "0"), (self.cache / "blobs", "0"), (self.cache, "32KiB"), (self.cache / "packs", "32KiB")):
            shutil.rmtree(self.cache, ignore_errors=True)
            (self.art / "later.obj").unlink(missing_ok=True)
            with Daemon([self.art], self.cache, "--pack-below", below) as daemon:
                daemon.sync()
                before = {name: daemon.blob(name) for name in daemon.assets()}
                aside = self.folder / "aside"
                gone.rename(aside)  # atomically: gradual removal has the same result
                shutil.rmtree(aside)
                daemon.wait_log("folders of it were removed while this daemon uses them")
                fresh = set()
                while fresh != set(before):
                    fresh.add(daemon.wait_event("asset", lambda data: data["state"] == "fresh")["asset"])
                daemon.sync()
                self.assertEqual({name: daemon.blob(name) for name in before}, before)
                self.serves_all(daemon, self.facts(daemon))
                self.put("later.obj", obj_text(20))
                daemon.wait_asset("art/later.obj", "fresh")
                self.assertEqual([line for line in daemon.log if "stays served" in line or "nothing has to be" in line], [])
                second = subprocess.run([HOB, "serve", str(self.art), "--cache", str(self.cache), "--listen", "127.0.0.1:0"],
                                        capture_output=True, timeout=DEADLINE, text=True, check=False)
                self.assertEqual(second.returncode, 2)
                self.assertRegex(second.stderr, rf"another Hob \((pid|process) {daemon.process.pid}\)")
            with Daemon([self.art], self.cache) as daemon:
                daemon.sync()
                self.assertEqual(daemon.cooked(), 0)
                self.assertEqual({name: daemon.blob(name) for name in before}, before)
            (self.art / "later.obj").unlink()

    def test_cache_taken_by_another_meanwhile(self):
        self.put("a.obj", obj_text(5))
        with Daemon([self.art], self.cache) as first:
            first.sync()
            os.kill(first.process.pid, signal.SIGSTOP)
            self.cache.rename(self.folder / "aside")
            with Daemon([self.art], self.cache) as second:
                second.sync()
                os.kill(first.process.pid, signal.SIGCONT)
                first.wait_log("another Hob uses what is there now")
                self.put("b.obj", obj_text(6))
                second.wait_asset("art/b.obj", "fresh")
                self.serves_all(second, self.facts(second))
                self.assertEqual([line for line in second.log if " cache " in line], [])
            first.wait_log("folders of it were removed while this daemon uses them")
            first.sync()
            self.serves_all(first, self.facts(first))

    # ---- wrong bytes

    def spoil_database(self, chance, path):
        size = path.stat().st_size
        way = chance.choice(["bytes", "bytes", "bytes", "page", "cut", "header", "swap", "gone", "wal", "empty"])
        with open(path, "r+b") as file:
            if way == "bytes":
                for _ in range(chance.randint(1, 20)):
                    file.seek(chance.randrange(size))
                    file.write(bytes([chance.randrange(256)]))
            elif way == "page":
                file.seek(chance.randrange(max(1, size // 4096)) * 4096)
                file.write(chance.randbytes(4096))
            elif way == "cut":
                file.truncate(chance.randrange(size))
            elif way == "header":
                file.write(chance.randbytes(100))
            elif way == "swap":
                pages = size // 4096
                one, two = chance.randrange(pages), chance.randrange(pages)
                file.seek(one * 4096)
                first = file.read(4096)
                file.seek(two * 4096)
                second = file.read(4096)
                file.seek(one * 4096)
                file.write(second)
                file.seek(two * 4096)
                file.write(first)
            elif way == "empty":
                file.truncate(0)
        if way == "gone":
            path.unlink()
        if way == "wal":
            path.with_name("index.db-wal").write_bytes(chance.randbytes(40000))
        return way

    def test_database_with_wrong_bytes(self):
        chance = random.Random(SEED)
        self.models()
        with self.serve() as daemon:
            daemon.sync()
            truth = self.facts(daemon)
        whole = self.folder / "whole"
        self.cache.rename(whole)
        outcomes = {}
        for trial in range(int(os.environ.get("HOB_TRIALS", amount(10, 200)))):
            shutil.copytree(whole, self.cache, symlinks=True)
            if chance.random() < 0.5:
                (self.cache / "running").write_text("another boot\n")
            way = self.spoil_database(chance, self.cache / "index.db")
            with self.subTest(seed=SEED, trial=trial, way=way), self.serve() as daemon:
                daemon.sync()
                self.assertEqual(self.facts(daemon), truth)
                self.serves_all(daemon, truth)
                known = (way, "rebuilt" if any("rebuilt" in line for line in daemon.log) else
                         "cooked" if daemon.cooked() else "unharmed")
                outcomes[known] = outcomes.get(known, 0) + 1
            shutil.rmtree(self.cache)
        print("database:", ", ".join(f"{way} {what} {count}" for (way, what), count in sorted(outcomes.items())))

    def spoil_table(self, *tables):
        """Wrong bytes in the first page of each table, which SQLite notices when it reads it; the daemon reads it again because
        another process has written to the file since."""
        path, log = self.cache / "index.db", self.cache / "index.db-wal"
        with contextlib.closing(sqlite3.connect(path, isolation_level=None, timeout=DEADLINE)) as base:
            while True:  # a page that the daemon writes meanwhile would be read instead
                base.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                base.execute("BEGIN IMMEDIATE")
                if not log.exists() or not log.stat().st_size:
                    break
                base.execute("ROLLBACK")
            pages = [base.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (table,)).fetchone()[0] for table in tables]
            size = base.execute("PRAGMA page_size").fetchone()[0]
            with open(path, "r+b") as file:
                for page in pages:
                    file.seek((page - 1) * size)
                    file.write(b"\xdb" * size)
            base.execute("UPDATE meta SET value = value")
            base.execute("COMMIT")

    def test_database_found_damaged_while_the_rows_are_loaded(self):
        self.models()
        with self.serve() as daemon:
            daemon.sync()
            truth = self.facts(daemon)
        for tables in (["asset"], ["file"], ["text"], ["root"], ["move"], ["record", "asset"]):
            with self.subTest(tables=tables):
                self.spoil_table(*tables)
                with self.serve() as daemon:
                    daemon.sync()
                    self.assertEqual(self.facts(daemon), truth)
                    self.serves_all(daemon, truth)
                    self.assertEqual(daemon.cooked(), 0)
                    self.assertEqual(daemon.counters()["hob_cache_rebuilds_total"], 1)
                with self.serve() as daemon:
                    self.assertEqual(self.facts(daemon), truth)
                    self.assertEqual(daemon.counters()["hob_cache_rebuilds_total"], 0)
                    self.assertFalse([line for line in daemon.log if "rebuilt" in line])

    def test_database_found_damaged_while_it_runs(self):
        self.models()
        with self.serve() as daemon:
            daemon.sync()
            truth = self.facts(daemon)
            rev = daemon.get("/api/v1").json()["rev"]
            epoch = daemon.get("/api/v1").json()["epoch"]
            for rebuilds, tables in enumerate((["record"], ["asset", "change"], ["job"], ["text", "record"]), 1):
                with self.subTest(tables=tables):
                    self.spoil_table(*tables)
                    cooked = daemon.cooked()
                    old = (self.art / "d0/m0.obj").read_text()
                    self.put("d0/m0.obj", obj_text(20 + rebuilds))
                    daemon.sync()
                    self.put("d0/m0.obj", old)
                    daemon.sync()
                    self.assertEqual(self.facts(daemon), truth)
                    self.serves_all(daemon, truth)
                    self.assertEqual(daemon.cooked(), cooked + 1)
                    self.assertEqual(daemon.counters()["hob_cache_rebuilds_total"], rebuilds)
            now = daemon.get("/api/v1").json()
            self.assertEqual(now["epoch"], epoch)
            self.assertGreater(now["rev"], rev)
        with self.serve() as daemon:
            daemon.sync()
            self.assertEqual(self.facts(daemon), truth)
            self.assertEqual(daemon.cooked(), 0)
            # A file saved at the very end may be cooked once more.
            self.assertLessEqual(daemon.counters()["hob_cook_results_total{result=\"hit\"}"], 1)
            self.assertGreaterEqual(daemon.get("/api/v1").json()["rev"], now["rev"])

    def spoil_blob(self, chance, path):
        way = chance.choice(["byte", "cut", "longer", "gone", "folder", "empty"])
        path.chmod(0o644)
        data = bytearray(path.read_bytes())
        if way == "byte":
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
            with open(path, "r+b") as file:
                file.write(data)
        elif way == "cut":
            os.truncate(path, chance.randrange(len(data)))
        elif way == "longer":
            path.write_bytes(data + b"more")
        elif way == "empty":
            os.truncate(path, 0)
        else:
            path.unlink()
            if way == "folder":
                path.mkdir()
        return way

    def heals(self, daemon, digest):
        """Waits until a damaged blob is served, from memory or cooked again; until then it is missing, never wrong."""
        while not self.never_wrong(daemon, digest):
            daemon.wait_event("job", lambda data: data["state"] in ("cooked", "hit"))

    def test_what_has_the_name_of_a_pack_and_is_none_goes_aside(self):
        self.put("a.obj", obj_text(1))
        makers = {"a folder": os.mkdir, "a pipe": os.mkfifo, "a link": lambda path: os.symlink("elsewhere", path),
                  "a link to a file": lambda path: os.symlink("../../art/a.obj", path)}
        for kind, make in makers.items():
            shutil.rmtree(self.cache, ignore_errors=True)
            for again in range(2):
                for part in ("packs", "records"):
                    pack = self.cache / part / "00000001.pack"
                    pack.parent.mkdir(parents=True, exist_ok=True)
                    pack.unlink(missing_ok=True)
                    make(pack)
                with self.serve() as daemon:
                    daemon.wait_log("2 packs were no files and are called NAME.wrong-1 now")
                    daemon.sync()

                    def whole():
                        asset = daemon.assets("&fields=root,path,state,outputs")["art/a.obj"]
                        return asset["state"] == "fresh" and all(daemon.get("/blobs/" + output["hash"]).status == 200
                                                                 for output in asset["outputs"])

                    until(whole, f"the outputs are there ({kind}, {again})")
                    ready = daemon.get("/readyz")
                    self.assertEqual((ready.status, ready.body.splitlines()[0]), (200, b"note cache: 2 packs that are no files were set aside; the log names them"))
                self.assertTrue(os.path.lexists(self.cache / f"packs/00000001.pack.wrong-{again + 1}"), (kind, again))
                self.assertTrue((self.cache / "packs/00000001.pack").is_file())

    def test_packed_blobs_with_wrong_bytes(self):
        chance = random.Random(SEED)
        self.models()
        with self.serve() as daemon:
            daemon.sync()
            truth = self.facts(daemon)
        daemon = self.serve()
        try:
            for trial in range(amount(16, 400)):
                daemon.sync()
                digest, kept = chance.choice(sorted(kept_blobs(self.cache).items()))
                way = chance.choice(("bit", "cut", "gone", "zeros", "head"))
                if trial % 4 == 0:
                    daemon.stop()
                data = bytearray(kept.read())
                if way == "gone" or not data:
                    kept.unlink()
                elif way == "head" and kept.head is not None:
                    with open(kept.path, "r+b") as file:
                        file.seek(kept.head + chance.randrange(56))
                        file.write(b"?")
                else:
                    at = chance.randrange(len(data))
                    data[at] ^= 1 << chance.randrange(8)
                    kept.write(bytes(data) if way == "bit" else bytes(data[:at]) if way == "cut" else bytes(len(data)))
                if trial % 4 == 0:
                    daemon = self.serve()
                with self.subTest(seed=SEED, trial=trial, way=way):
                    self.never_wrong(daemon, digest)
                    job = daemon.post("/api/v1/verify").json()["job"]
                    until(lambda: daemon.get(f"/api/v1/jobs/{job}").json()["state"] == "done", "the end of verify")
                    for name in {output for _, outputs in truth.values() for _, output, _ in outputs}:
                        until(lambda: self.never_wrong(daemon, name), "all as it was")
                    until(lambda: self.facts(daemon) == truth, "all as it was")
        finally:
            daemon.stop()

    def test_blobs_with_wrong_bytes(self):
        chance = random.Random(SEED)
        self.models()
        self.put("large.obj", obj_text(3000))  # served from its file, the others from memory
        daemon = self.serve("--pack-below", "0")
        try:
            daemon.sync()
            truth = self.facts(daemon)
            digests = sorted({(digest, name) for name, (state, outputs) in truth.items() for _, digest, _ in outputs})
            for trial in range(amount(16, 400)):
                digest, name = chance.choice(digests)
                path = self.cache / "blobs" / digest[:2] / digest[2:]
                if not path.is_file() or not path.stat().st_size:
                    continue  # damaged before and served from memory since
                if trial % 4 == 0:
                    daemon.stop()
                served = trial % 2 and self.never_wrong(daemon, digest)
                try:
                    way = self.spoil_blob(chance, path)
                except FileNotFoundError:
                    way = "dropped"  # damaged before, and just detected
                if trial % 4 == 0:
                    daemon = self.serve("--pack-below", "0")
                with self.subTest(seed=SEED, trial=trial, way=way, served=served):
                    self.heals(daemon, digest)
                    daemon.sync()
                    self.assertEqual(self.facts(daemon), truth)
        finally:
            daemon.stop()
        with self.serve() as daemon:
            daemon.sync()
            self.assertEqual(self.facts(daemon), truth)
            for digest, _ in digests:
                self.heals(daemon, digest)

    def test_only_assets_with_a_damaged_blob_are_looked_at(self):
        for i in range(20):
            self.put(f"m{i}.obj", obj_text(1 + i))
        with self.serve() as daemon:
            daemon.sync()
            truth = self.facts(daemon)
            spoiled = {f"art/m{i}.obj" for i in range(6)}
            for name in spoiled:
                digest = daemon.get(f"/a/{name}").headers["etag"].strip('"')
                kept = kept_blobs(self.cache)[digest]
                kept.write(b"x" + kept.read()[1:])
            daemon.post("/api/v1/verify")
            self.assertIn("6 assets are cooked again", daemon.wait_log("healing"))
            daemon.sync()
            jobs = daemon.get("/api/v1/jobs?limit=500").json()["items"]
            looked_at = [job["asset"] for job in jobs if any(why["kind"] == "damaged-blob" for why in job.get("reason", []))]
            self.assertEqual(sorted(looked_at), sorted(spoiled))
            self.assertEqual(self.facts(daemon), truth)

    # ---- time

    def later(self, seconds):
        if not SHIFTED_CLOCK.exists():
            self.skipTest(f"there is no {SHIFTED_CLOCK}: it belongs to builds with tests")
        return ["env", f"LD_PRELOAD={SHIFTED_CLOCK}", f"HOB_TEST_CLOCK_SHIFT={seconds}", "ASAN_OPTIONS=verify_asan_link_order=0",
                HOB]

    def test_clock_set_back(self):
        self.models()
        with Daemon([self.art], self.cache, program=self.later(10 * 86400)) as daemon:
            daemon.sync()
            truth = self.facts(daemon)
            rev = daemon.get("/api/v1").json()["rev"]
            last = [data["seq"] for kind, data in daemon.past + list(daemon.events.queue) if "seq" in data][-1]
        with self.serve() as daemon:
            daemon.sync()
            self.assertEqual(daemon.cooked(), 0)
            self.assertEqual(self.facts(daemon), truth)
            # A client that was connected before resumes, or is reset.
            connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=DEADLINE)
            connection.request("GET", "/api/v1/events", headers={"Last-Event-ID": str(last + 50)})
            stream = connection.getresponse()
            self.put("d0/m0.obj", obj_text(40))
            data = daemon.wait_asset("art/d0/m0.obj", "fresh")
            self.assertGreater(data["rev"], rev)
            for line in stream:
                if line.startswith(b"event: reset") or b'"art/d0/m0.obj"' in line:
                    break
            connection.close()
            self.serves_all(daemon, self.facts(daemon))

    def test_files_from_the_future_and_the_past(self):
        with self.serve() as daemon:
            for i, when in enumerate((4102444800, 0, 1)):
                self.put(f"m{i}.obj", obj_text(2 + i))
                os.utime(self.art / f"m{i}.obj", (when, when))
            daemon.sync()
            before = meshes(daemon)
        with self.serve() as daemon:
            daemon.sync()
            self.assertEqual(daemon.cooked(), 0)
            # With the old length and time: only the inode's change time reveals it.
            for i, when in enumerate((4102444800, 0, 1)):
                old = (self.art / f"m{i}.obj").read_text()
                (self.art / f"m{i}.obj").write_text(old.replace("v 0.0", "v 7.0"))
                os.utime(self.art / f"m{i}.obj", (when, when))
                daemon.wait_asset(f"art/m{i}.obj", "fresh")
            self.assertFalse(set(meshes(daemon).values()) & set(before.values()))
            between = meshes(daemon)
        for i, when in enumerate((4102444800, 0, 1)):
            old = (self.art / f"m{i}.obj").read_text()
            (self.art / f"m{i}.obj").write_text(old.replace("v 7.0", "v 5.0"))
            os.utime(self.art / f"m{i}.obj", (when, when))
        with self.serve() as daemon:
            daemon.sync()
            self.assertFalse(set(meshes(daemon).values()) & set(between.values()))


if __name__ == "__main__":
    main()
