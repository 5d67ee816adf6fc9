"""Caches of earlier and later versions and of other programs, and the end of a daemon: earlier results are reused, a newer Hob's
data is not touched, and a stop leaves one file with everything.

    python3 tests/integration/test_stores.py --make    adds this version's cache to tests/data/stores
"""
import contextlib
import hashlib
import json
import pathlib
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tarfile
import tempfile

from hobtest import DEADLINE, HOB, PROJECT, Daemon, Scenario, bumpy_grid, main, obj_text, png

STORES = PROJECT / "tests/data/stores"


def schema():
    return json.loads(subprocess.run([HOB, "--version", "--json"], capture_output=True, text=True, check=True).stdout)["index"]


def facts(daemon):
    return {name: {"state": item["state"], "outputs": {output["name"]: output["hash"] for output in item["outputs"]}}
            for name, item in daemon.assets("&fields=root,path,state,outputs").items()}


def contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


class Stores(Scenario):
    def serves(self, daemon, assets):
        for asset in assets.values():
            for name, digest in asset["outputs"].items():
                answer = daemon.get("/blobs/" + digest)
                self.assertEqual((answer.status, hashlib.sha256(answer.body).hexdigest()), (200, digest), name)

    def test_records_of_an_earlier_kind_are_read_when_the_index_is_lost(self):
        with tarfile.open(STORES / "schema-4-stopped.tar.xz") as tar:
            tar.extractall(self.folder)
        records = b"".join(pack.read_bytes() for pack in (self.cache / "recipes").glob("*.pack"))  # their folder until schema 7
        count = len({records[at + 16:at + 48] for at in range(0, len(records), 8) if records[at:at + 8] == b"HobP\2\0\0\0"})
        self.assertGreater(count, 3)
        for index in self.cache.glob("index.*"):
            index.unlink()
        empty = self.folder / "empty"
        empty.mkdir()
        with Daemon([empty], self.cache) as daemon:
            self.assertEqual(daemon.get("/api/v1/stats").json()["cache"]["records"], count)

    def test_caches_of_earlier_versions_are_used_on(self):
        found = sorted(STORES.glob("*.tar.xz"))
        self.assertGreaterEqual({path.name.split("-")[1] for path in found}, {str(n) for n in range(1, schema() + 1)},
                                "a schema without a kept cache: test_stores.py --make")
        for path in found:
            with self.subTest(path.name):
                shutil.rmtree(self.art)
                shutil.rmtree(self.cache, ignore_errors=True)
                with tarfile.open(path) as tar:
                    tar.extractall(self.folder)
                for blob in (self.cache / "blobs").rglob("*"):
                    blob.chmod(0o444 if blob.is_file() else 0o755)
                kept = json.loads((self.folder / "facts.json").read_text())
                with self.serve() as daemon:
                    daemon.sync()
                    info = daemon.get("/api/v1").json()
                    self.assertEqual(info["epoch"], kept["epoch"])
                    self.assertGreaterEqual(info["rev"], kept["rev"])
                    self.assertEqual(daemon.counters()["hob_cache_rebuilds_total"], 0)
                    now = facts(daemon)
                    self.assertEqual({name: item["state"] for name, item in now.items()},
                                     {name: item["state"] for name, item in kept["assets"].items()})
                    # A newer cook makes new results; the old ones still exist.
                    cooked = daemon.cooked()
                    if cooked == 0:
                        self.assertEqual(now, kept["assets"])
                    self.assertEqual(daemon.counters()['hob_cook_results_total{result="failed"}'], 0 if cooked == 0 else 1)
                    self.serves(daemon, kept["assets"])
                    history = daemon.get("/api/v1/jobs?asset=art/two.obj&limit=50").json()["items"]
                    self.assertGreaterEqual(len([job for job in history if job["result"] == "cooked"]), 2)
                    self.put("two.obj", obj_text(9))
                    daemon.sync()
                    self.assertEqual(daemon.cooked(), cooked + 1)
                with contextlib.closing(sqlite3.connect(self.cache / "index.db")) as index:
                    self.assertEqual(index.execute("PRAGMA user_version").fetchone()[0], schema())
                    self.assertEqual(index.execute("PRAGMA integrity_check").fetchone()[0], "ok")
                with self.serve() as daemon:
                    daemon.sync()
                    self.assertEqual(daemon.cooked(), 0)
                print(f"stores: {path.name}: {len(kept['assets'])} assets, {cooked} cooked again", flush=True)

    def refused(self, *words, code=2):
        done = subprocess.run([HOB, "serve", str(self.art), "--cache", str(self.cache), "--listen", "127.0.0.1:0", *words],
                              capture_output=True, text=True, timeout=DEADLINE, check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertNotIn("Sanitizer", done.stderr)
        return done.stderr

    def test_a_newer_cache_is_left_as_it_is(self):
        self.put("one.obj", obj_text(3))
        for in_wal in (False, True):
            shutil.rmtree(self.cache, ignore_errors=True)
            with self.serve() as daemon:
                daemon.sync()
            with contextlib.closing(sqlite3.connect(self.cache / "index.db")) as index:
                index.execute(f"PRAGMA user_version = {99 + in_wal}")
                index.commit()
                if in_wal:  # closing the connection checkpoints the WAL
                    shutil.copytree(self.cache, self.folder / "copy")
            if in_wal:
                shutil.rmtree(self.cache)
                (self.folder / "copy").rename(self.cache)
                self.assertGreater((self.cache / "index.db-wal").stat().st_size, 0)
            before = contents(self.cache)
            said = self.refused()
            self.assertIn(f"schema version {99 + in_wal}", said)
            self.assertIn("--cache", said)
            after = contents(self.cache)
            for files in (before, after):
                files.pop("lock", None)  # has the pid of the last process
                files.pop("index.db-shm", None)  # SQLite's own, not the cache's
            self.assertEqual(sorted(after), sorted(before))
            self.assertEqual([name for name in before if after[name] != before[name]], [])

    def test_an_empty_index_and_an_empty_folder_are_begun(self):
        self.put("one.obj", obj_text(3))
        for number, prepare in enumerate((lambda: None, self.cache.mkdir, lambda: (self.cache.mkdir(), (self.cache / "index.db").touch()))):
            prepare()
            with self.subTest(number), self.serve() as daemon:
                daemon.sync()
                self.assertEqual((daemon.assets()["art/one.obj"]["state"], daemon.cooked()), ("fresh", 1))
            shutil.rmtree(self.cache)

    def test_a_busy_port_is_named_and_nothing_is_begun(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            address = f"127.0.0.1:{taken.getsockname()[1]}"
            said = self.refused("--listen", address)
            self.assertIn(address, said)
            self.assertIn("--listen", said)

    def test_a_stop_folds_the_log_and_ends_well(self):
        """During work; finished results exist at the next start."""
        for how in (signal.SIGTERM, signal.SIGINT):
            for i in range(30):
                self.put(f"m{i}.obj", obj_text(3 + i, shift=how))
            self.put("grid.obj", bumpy_grid(200, 0.1 * how))
            daemon = self.serve()
            for _ in range(8):
                daemon.wait_event("job", lambda data: data["state"] == "cooked")
            finished = {name for name, item in daemon.assets().items() if item["state"] == "fresh" and item["quality"] == "final"}
            daemon.process.send_signal(how)
            self.assertEqual(daemon.process.wait(timeout=DEADLINE), 0)
            names = {path.name for path in self.cache.iterdir()}
            self.assertFalse(names & {"index.db-wal", "index.db-shm", "running"}, names)
            with contextlib.closing(sqlite3.connect(self.cache / "index.db")) as index:
                self.assertEqual(index.execute("PRAGMA integrity_check").fetchone()[0], "ok")
                rows = index.execute("SELECT count(*) FROM asset WHERE state = 'fresh'").fetchone()[0]
            self.assertGreaterEqual(rows, len(finished))
            with self.serve() as daemon:
                daemon.sync()
                self.assertLessEqual(daemon.cooked(), 31 - len(finished))
                self.assertEqual({item["state"] for item in daemon.assets().values()}, {"fresh"})


def make():
    """The cache left by a daemon of this version when it is stopped, and when it is killed."""
    for how in ("stopped", "killed"):
        target = STORES / f"schema-{schema()}-{how}.tar.xz"
        if target.exists():
            sys.exit(f"{target} is there already: kept ones are never made again")
        with tempfile.TemporaryDirectory(prefix="hob-test-") as name:
            folder = pathlib.Path(name)
            art = folder / "art"
            (art / "d").mkdir(parents=True)
            for file, data in {"d/one.obj": obj_text(3, mtl="m.mtl"), "two.obj": obj_text(5), "bad.obj": "# nothing\n", "gone.obj": obj_text(2),
                               "d/m.mtl": "newmtl m\nmap_Kd red.png\nmap_Bump none.png\n", "cook.json": '{"lods": {"max": 2}}'}.items():
                (art / file).write_text(data)
            (art / "d/red.png").write_bytes(png(200, 0, 0))
            daemon = Daemon([art], folder / "cache")
            daemon.sync()
            (art / "two.obj").write_text(obj_text(6))
            daemon.sync()
            (art / "gone.obj").unlink()
            daemon.sync()
            info = daemon.get("/api/v1").json()
            kept = {"epoch": info["epoch"], "rev": info["rev"], "assets": facts(daemon)}
            daemon.stop() if how == "stopped" else daemon.kill()
            (folder / "facts.json").write_text(json.dumps(kept, indent=1))
            with tarfile.open(target, "w:xz") as tar:
                for path in sorted(folder.rglob("*")):
                    if path.is_file():
                        member = tar.gettarinfo(path, str(path.relative_to(folder)))
                        member.uid = member.gid = member.mtime = 0
                        member.uname = member.gname = ""
                        with open(path, "rb") as file:
                            tar.addfile(member, file)
            print(target)


if __name__ == "__main__":
    make() if sys.argv[1:] == ["--make"] else main()
