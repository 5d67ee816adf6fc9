"""Bursts, races and renames of files, every way to save, watch limits and lost events: without another request, the daemon ends
with the assets and digests of a fresh scan of the same folders."""
import ctypes
import os
import pathlib
import random
import shutil
import signal
import subprocess
import threading

from hobtest import HOB, Daemon, Scenario, amount, main, meshes, obj_text, until

LIBC = ctypes.CDLL(None, use_errno=True)


def queued_events():
    return int(pathlib.Path("/proc/sys/fs/inotify/max_queued_events").read_text())


class Storms(Scenario):
    def files(self):
        return {"art/" + str(path.relative_to(self.art)) for path in self.art.rglob("[!.]*.obj")}

    def same_as_fresh(self, daemon, roots=None):
        served = meshes(daemon)
        with Daemon(roots or [self.art], self.folder / "fresh-cache") as fresh:
            fresh.sync()
            self.assertEqual(served, meshes(fresh))
        shutil.rmtree(self.folder / "fresh-cache")
        self.assertNotIn(None, served.values())

    def write(self, path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    # ---- many at once

    def test_burst_of_files(self):
        count = amount(1000, 40000)
        with self.serve() as daemon:
            for i in range(count):
                self.write(self.art / f"pack{i % 40}/m{i}.obj", obj_text(1 + i % 3))
            daemon.wait_names(self.files())
            self.assertEqual(daemon.cooked(), 3)
            self.same_as_fresh(daemon)
            lost = int(daemon.counters()["hob_watch_overflows_total"])
        print(f"burst: {count} files, {lost} overflows")

    def test_files_in_folders_made_just_now(self):
        count = amount(200, 2000)
        with self.serve() as daemon:
            for i in range(count):
                folder = self.art / f"n{i}"
                os.mkdir(folder)
                (folder / "m.obj").write_text(obj_text(1 + i % 2))
                if i % 5 == 0:
                    os.makedirs(folder / "a/b/c")
                    (folder / "a/b/c/m.obj").write_text(obj_text(3))
            daemon.wait_names(self.files())
            self.assertEqual(daemon.counters()["hob_scans_total"], 1)
            self.same_as_fresh(daemon)

    def test_renames_of_files_and_folders(self):
        chance = random.Random(int(os.environ.get("HOB_SEED", "3")))
        turns, turn, done = amount(200, 10000), 0, 0
        for i in range(30):
            self.write(self.art / f"a{i % 3}/b{i % 5}/m{i}.obj", obj_text(1 + i % 4))
        with self.serve() as daemon:
            daemon.sync()
            while done < turns:
                turn += 1
                if turn % 25 == 1:  # listing thousands of files each turn would take all of the storm's time
                    paths = [path for path in self.art.rglob("*") if not path.name.startswith(".")]
                source = chance.choice(paths)
                into = chance.choice([path for path in paths if path.is_dir()] + [self.art])
                if into == source or source in into.parents:
                    continue
                target = into / (f"r{turn}" + source.suffix if chance.random() < 0.7 else source.name)
                try:
                    source.rename(target)
                except OSError:  # a non-empty folder has the name, or the file has vanished since it was listed
                    continue
                done += 1
                if chance.random() < 0.1:
                    self.write(into / f"new{turn}.obj", obj_text(1 + turn % 5))
                if chance.random() < 0.05:
                    self.write(self.art / f"fresh{turn}/m.obj", obj_text(2))
            daemon.wait_names(self.files())
            self.same_as_fresh(daemon)
        print(f"renames: {done} of {turn} tries, {len(self.files())} models at the end")

    def test_folder_renamed_while_its_files_wait_to_be_cooked(self):
        """Files that vanish before their turn and before the event of their folder still leave the list."""
        count = amount(300, 3000)
        with self.serve() as daemon:
            daemon.sync()
            for turn in range(amount(3, 30)):
                for i in range(count):
                    self.write(self.art / f"p{turn}/m{i}.obj", obj_text(1 + i % 3, shift=turn))
                daemon.wait_event("asset", lambda data: data["state"] == "fresh" and f"/p{turn}/" in data["asset"])
                (self.art / f"p{turn}").rename(self.art / f"q{turn}")
                daemon.wait_names(self.files())
                shutil.rmtree(self.art / f"q{turn}")
            daemon.wait_names(self.files())
            self.same_as_fresh(daemon)

    def test_case_only_renames(self):
        self.write(self.art / "dir/model.obj", obj_text(2))
        with self.serve() as daemon:
            daemon.sync()
            (self.art / "dir/model.obj").rename(self.art / "dir/Model.OBJ")
            daemon.wait_names({"art/dir/Model.OBJ"})
            (self.art / "dir").rename(self.art / "Dir")
            daemon.wait_names({"art/Dir/Model.OBJ"})
            self.assertEqual(daemon.cooked(), 1)
            self.same_as_fresh(daemon)

    def test_roots_inside_each_other(self):
        inner = self.art / "inner"
        self.write(inner / "m.obj", obj_text(2))
        with Daemon([self.art, inner], self.cache) as daemon:
            daemon.sync()
            self.put("inner/m.obj", obj_text(5))
            waiting = {"art/inner/m.obj", "inner/m.obj"}
            while waiting:
                waiting.discard(daemon.wait_event("asset", lambda data: data["quality"] == "final")["asset"])
            self.assertEqual(daemon.cooked(), 2)
            (inner / "m.obj").rename(inner / "n.obj")
            daemon.wait_names({"art/inner/n.obj", "inner/n.obj"})
            self.same_as_fresh(daemon, [self.art, inner])

    # ---- ways to save

    def temp_and_rename(self, target, text):
        temp = target.with_name(target.name + ".tmp")
        temp.write_text(text)
        os.replace(temp, target)

    def hidden_temp_and_rename(self, target, text):
        temp = target.with_name("." + target.name + ".swp")
        temp.write_text(text)
        os.replace(temp, target)

    def truncate_and_write(self, target, text):
        target.write_text(text)

    def write_in_pieces(self, target, text):
        with open(target, "w") as file:
            for line in text.splitlines(keepends=True):
                file.write(line)
                file.flush()

    def unnamed_and_link(self, target, text):
        fd = os.open(target.parent, os.O_TMPFILE | os.O_WRONLY)
        os.write(fd, text.encode())
        target.unlink()
        self.assertEqual(LIBC.linkat(-100, f"/proc/self/fd/{fd}".encode(), -100, os.fsencode(target), 0x400), 0)
        os.close(fd)

    def remove_and_write(self, target, text):
        target.unlink()
        target.write_text(text)

    def as_blender_does(self, target, text):
        temp, backup = target.with_name(target.name + "@"), target.with_name(target.name + "1")
        temp.write_text(text)
        target.rename(backup)
        temp.rename(target)

    def backup_by_rename(self, target, text):
        target.rename(target.with_name(target.name + "~"))
        target.write_text(text)

    def in_place_through_memory(self, target, text):
        import mmap
        with open(target, "r+b") as file:
            file.truncate(len(text))
            with mmap.mmap(file.fileno(), len(text)) as memory:
                memory[:] = text.encode()

    def hard_link_over(self, target, text):
        temp = target.with_name("linked.tmp")
        temp.write_text(text)
        target.unlink()
        os.link(temp, target)
        temp.unlink()

    def exchanged(self, target, text):
        temp = target.with_name("exchanged.tmp")
        temp.write_text(text)
        self.assertEqual(LIBC.renameat2(-100, os.fsencode(temp), -100, os.fsencode(target), 2), 0)
        temp.unlink()

    def moved_from_outside(self, target, text):
        temp = self.folder / "outside.obj"
        temp.write_text(text)
        os.replace(temp, target)

    def times_put_back(self, target, text):
        before = target.stat()
        target.write_text(text)
        os.utime(target, ns=(before.st_atime_ns, before.st_mtime_ns))

    WAYS = (temp_and_rename, hidden_temp_and_rename, truncate_and_write, write_in_pieces, unnamed_and_link, remove_and_write,
            as_blender_does, backup_by_rename, in_place_through_memory, hard_link_over, exchanged, moved_from_outside,
            times_put_back)

    def test_every_way_to_save(self):
        target = self.art / "m.obj"
        self.write(target, obj_text(1))
        turn = 0
        with self.serve() as daemon:
            daemon.sync()
            scans = daemon.counters()["hob_scans_total"]
            for _ in range(amount(2, 50)):
                for way in self.WAYS:
                    turn += 1
                    count = 2 + turn % 7
                    way(self, target, obj_text(count, shift=turn))
                    # The previous version, or a removal, may be reported first if it existed for a moment.
                    daemon.wait_event("asset", lambda data: self.is_shown(daemon, data, count, turn))
            self.assertEqual(daemon.counters()["hob_scans_total"], scans)
            self.same_as_fresh(daemon)
        print(f"saves: {len(self.WAYS)} ways, {turn} saves")

    def is_shown(self, daemon, data, triangles, turn):
        if data["asset"] != "art/m.obj" or data["state"] != "fresh":
            return False
        item = daemon.get("/api/v1/assets/" + data["id"]).json()
        return item["stats"]["triangles"] == triangles and item["bytes"]["source"] == len(obj_text(triangles, shift=turn))

    # ---- roots and limits

    def test_root_removed_and_made_again_and_again(self):
        with self.serve("--watch", "poll") as polled:
            self.root_comes_and_goes(polled)
        self.cache = self.folder / "cache2"
        with self.serve() as daemon:
            self.root_comes_and_goes(daemon)

    def root_comes_and_goes(self, daemon):
        for turn in range(amount(2, 40)):
            shutil.rmtree(self.art)
            if turn % 2:
                # Polls, because its event may be from the previous turn.
                until(lambda: daemon.get("/api/v1/roots").json()["items"][0]["mode"] == "missing", "a root that is missing")
                self.assertLessEqual({item["state"] for item in daemon.assets().values()}, {"missing"})
            self.art.mkdir(exist_ok=True)
            for i in range(5):
                self.put(f"d{turn}/m{i}.obj", obj_text(1 + i))
            daemon.wait_names(self.files())
        self.same_as_fresh(daemon)

    def limited(self, watches):
        """A command line that limits its child to few watches, in a separate user namespace; None where that is not allowed."""
        prefix = ["unshare", "--user", "--map-root-user", "sh", "-c",
                  f'echo {watches} >/proc/sys/user/max_inotify_watches && exec "$@"', "sh"]
        return prefix if subprocess.run([*prefix, "true"], capture_output=True).returncode == 0 else None

    def test_watch_limit(self):
        prefix = self.limited(50)
        if not prefix:
            self.skipTest("no user namespace can be had, so the kernel's limit of watches cannot be lowered")
        for i in range(80):
            self.write(self.art / f"d{i}/m.obj", obj_text(1 + i % 3))
        with Daemon([self.art], self.cache, program=[*prefix, HOB]) as daemon:
            daemon.wait_names(self.files())
            (root,) = daemon.get("/api/v1/roots").json()["items"]
            self.assertEqual(root["mode"], "polling")
            self.assertIn("max_user_watches", root["note"])
            self.write(self.art / "later/m.obj", obj_text(7))
            (self.art / "d3/m.obj").unlink()
            daemon.wait_names(self.files())
            self.same_as_fresh(daemon)

    def test_watch_limit_met_while_it_runs(self):
        prefix = self.limited(50)
        if not prefix:
            self.skipTest("no user namespace can be had, so the kernel's limit of watches cannot be lowered")
        with Daemon([self.art], self.cache, program=[*prefix, HOB]) as daemon:
            daemon.sync()
            for i in range(80):
                self.write(self.art / f"d{i}/m.obj", obj_text(1 + i % 3))
            reset = daemon.wait_event("reset")
            self.assertIn("max_user_watches", reset["reason"])
            daemon.wait_names(self.files())
            self.same_as_fresh(daemon)

    def test_events_lost_by_the_kernel(self):
        turns = amount(1, 10)
        with self.serve() as daemon:
            daemon.sync()
            for turn in range(turns):
                os.kill(daemon.process.pid, signal.SIGSTOP)
                os.waitpid(daemon.process.pid, os.WUNTRACED)  # until then it may continue to read
                try:
                    for i in range(queued_events() // 3 + 100):
                        (self.art / f"noise{i % 2}").write_bytes(b"")
                        (self.art / f"noise{i % 2}").unlink()
                    for i in range(20):
                        self.write(self.art / f"lost{turn}/m{i}.obj", obj_text(1 + i % 5, shift=turn))
                    if turn:
                        shutil.rmtree(self.art / f"lost{turn - 1}")
                finally:
                    os.kill(daemon.process.pid, signal.SIGCONT)
                daemon.wait_event("reset", lambda data: "overflow" in data["reason"])
                daemon.wait_names(self.files())
            self.assertGreaterEqual(daemon.counters()["hob_watch_overflows_total"], turns)
            self.same_as_fresh(daemon)

    def test_writers_all_at_once(self):
        def write(who):
            chance = random.Random(who)
            for turn in range(amount(60, 2000)):
                path = self.art / f"w{who}/d{chance.randrange(4)}/m{chance.randrange(8)}.obj"
                if chance.random() < 0.2 and path.exists():
                    path.unlink()
                elif chance.random() < 0.05:
                    shutil.rmtree(path.parent, ignore_errors=True)
                else:
                    self.write(path, obj_text(1 + chance.randrange(6)))

        with self.serve() as daemon:
            threads = [threading.Thread(target=write, args=(who,)) for who in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            daemon.wait_names(self.files())
            self.same_as_fresh(daemon)


if __name__ == "__main__":
    main()
