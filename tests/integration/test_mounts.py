"""File systems mounted inside a watched folder, and unmounted again: each change is seen at the next sync, without requesting a
scan. Also files saved through a shared mapping after their descriptor was closed, and changes of who may read a file."""
import ctypes
import json
import mmap
import os
import pathlib
import shutil
import subprocess
import sys
import threading
import unittest

from faulty import preloadable
from hobtest import HOB, Daemon, Scenario, main, obj_text, until

LIBC = ctypes.CDLL(None, use_errno=True)
NEWNS = 0x20000


def own_mounts():
    """Makes the mounts of this process and its children private."""
    if LIBC.unshare(NEWNS) != 0:
        return False
    return subprocess.run(["mount", "--make-rprivate", "/"], check=False, capture_output=True).returncode == 0


MOUNTS = shutil.which("mount") and own_mounts()


def mount(*words):
    subprocess.run(["mount", *map(str, words)], check=True, capture_output=True)


@unittest.skipUnless(MOUNTS, "mounts need a namespace of their own")
class Mounts(Scenario):
    def names(self, daemon):
        daemon.sync()
        return set(daemon.assets())

    def unmount(self, path):
        """Busy for as long as the daemon reads a file below it."""
        until(lambda: subprocess.run(["umount", str(path)], check=False, capture_output=True).returncode == 0, f"umount {path}")

    def setUp(self):
        super().setUp()
        for name in ("a.obj", "in side/covered.obj", "in side/deep/covered.obj"):
            self.put(name, obj_text(1))
        self.all = {"art/a.obj", "art/in side/covered.obj", "art/in side/deep/covered.obj"}
        self.addCleanup(lambda: subprocess.run(["umount", "-R", self.art / "in side"], check=False, capture_output=True))

    def edit(self, daemon, name, triangles):
        self.put(name, obj_text(triangles))
        daemon.sync()
        item = daemon.assets("&fields=root,path,stats")["art/" + name]
        self.assertEqual(item["stats"]["triangles"], triangles)

    def test_a_file_system_comes_and_goes(self):
        with self.serve() as daemon:
            self.assertEqual(self.names(daemon), self.all)
            mount("-t", "tmpfs", "none", self.art / "in side")
            self.assertEqual(self.names(daemon), {"art/a.obj"})
            self.edit(daemon, "in side/new.obj", 2)
            self.edit(daemon, "in side/new.obj", 3)
            self.edit(daemon, "a.obj", 4)
            self.unmount(self.art / "in side")
            self.assertEqual(self.names(daemon), self.all)
            self.edit(daemon, "in side/covered.obj", 5)

    def test_a_folder_is_bound_to_another_one_with_models_in_it(self):
        other = self.folder / "other"
        (other / "below").mkdir(parents=True)
        (other / "below/bound.obj").write_text(obj_text(2))
        with self.serve() as daemon:
            self.assertEqual(self.names(daemon), self.all)
            mount("--bind", other, self.art / "in side/deep")
            self.assertEqual(self.names(daemon), {"art/a.obj", "art/in side/covered.obj", "art/in side/deep/below/bound.obj"})
            self.edit(daemon, "in side/deep/below/bound.obj", 6)
            mount("-t", "tmpfs", "none", self.art / "in side")
            self.assertEqual(self.names(daemon), {"art/a.obj"})
            self.unmount(self.art / "in side")
            self.unmount(self.art / "in side/deep")
            self.assertEqual(self.names(daemon), self.all)

    def test_it_is_told_without_a_question(self):
        with self.serve() as daemon:
            self.assertEqual(self.names(daemon), self.all)
            mount("-t", "tmpfs", "none", self.art / "in side")
            daemon.wait_event("asset", lambda data: data["asset"] == "art/in side/covered.obj" and data["kind"] == "removed")

    def test_a_mount_elsewhere_costs_no_scan(self):
        (self.folder / "art beside").mkdir()
        with self.serve() as daemon:
            self.assertEqual(self.names(daemon), self.all)
            scans = daemon.counters()["hob_scans_total"]
            mount("-t", "tmpfs", "none", self.folder / "art beside")
            self.addCleanup(self.unmount, self.folder / "art beside")
            self.edit(daemon, "a.obj", 2)
            self.assertEqual(daemon.counters()["hob_scans_total"], scans)


class Maps(Scenario):
    """A save through a mapping gives no event: a sync asks for it. The sweep finds it, too, half a minute after its last change."""

    def open_map(self, path, size=None, access=os.O_RDWR):
        fd = os.open(path, access | os.O_CREAT)
        if size:
            os.ftruncate(fd, size)
        view = mmap.mmap(fd, 0)
        os.close(fd)
        self.addCleanup(view.close)
        return view

    def save(self, view, text):
        view[:] = text.encode().ljust(len(view), b"\n")

    def begin(self, *options):
        path = self.put("a.obj", obj_text(2) + "#" * 500)
        daemon = self.serve(*options)
        self.addCleanup(daemon.stop)
        daemon.sync()
        return daemon, self.open_map(path)

    def saved(self, daemon, name, triangles):
        daemon.sync()
        item = daemon.assets("&fields=root,path,state,stats")["art/" + name]
        self.assertEqual((item["state"], item["stats"]["triangles"]), ("fresh", triangles))

    def test_the_sweep_finds_it_while_the_map_stands(self):
        daemon, view = self.begin()
        self.save(view, obj_text(5))
        view.flush()
        daemon.wait_event("asset", lambda data: data["asset"] == "art/a.obj" and data["state"] == "fresh")
        self.assertEqual(daemon.assets("&fields=root,path,stats")["art/a.obj"]["stats"]["triangles"], 5)

    def test_a_sync_waits_for_it(self):
        daemon, view = self.begin()
        for triangles in (5, 4, 3, 6):
            self.save(view, obj_text(triangles))
            self.saved(daemon, "a.obj", triangles)

    @unittest.skipUnless(MOUNTS, "mounts need a namespace of their own")
    def test_size_and_time_stay(self):
        """After the first write through the map, on a tmpfs. After a restart no earlier digest counts."""
        mount("-t", "tmpfs", "none", self.art)
        self.addCleanup(subprocess.run, ["umount", "-l", self.art], check=False, capture_output=True)
        daemon, view = self.begin()
        self.save(view, obj_text(5))
        before = os.stat(self.art / "a.obj").st_mtime_ns
        self.saved(daemon, "a.obj", 5)
        for triangles in (4, 6):
            self.save(view, obj_text(triangles))
            self.saved(daemon, "a.obj", triangles)
        self.assertEqual(os.stat(self.art / "a.obj").st_mtime_ns, before)
        daemon.stop()
        with self.serve() as daemon:
            self.saved(daemon, "a.obj", 6)

    def test_with_polling(self):
        daemon, view = self.begin("--watch", "poll", "--poll-ms", "100")
        for triangles in (5, 3):
            self.save(view, obj_text(triangles))
            self.saved(daemon, "a.obj", triangles)

    def test_another_process_holds_it(self):
        daemon, view = self.begin()
        view.close()
        program = "import mmap, os, sys; f = os.open(sys.argv[1], os.O_RDWR); v = mmap.mmap(f, 0); os.close(f)\n" \
                  "for line in sys.stdin: v[:] = bytes.fromhex(line).ljust(len(v), b'\\n'); print(flush=True)"
        holder = subprocess.Popen([sys.executable, "-c", program, self.art / "a.obj"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        with holder:
            for triangles in (4, 5):
                holder.stdin.write(obj_text(triangles).encode().hex() + "\n")
                holder.stdin.flush()
                holder.stdout.readline()
                self.saved(daemon, "a.obj", triangles)
            holder.stdin.close()
        self.saved(daemon, "a.obj", 5)
        self.put("a.obj", obj_text(7))
        self.saved(daemon, "a.obj", 7)

    def test_a_new_file_that_is_never_closed(self):
        daemon, _ = self.begin()
        (self.art / "new").mkdir()
        text = obj_text(3)
        view = self.open_map(self.art / "new/n w.obj", len(text) + 40)
        self.save(view, text)
        self.saved(daemon, "new/n w.obj", 3)
        self.save(view, obj_text(2))
        self.saved(daemon, "new/n w.obj", 2)

    def test_a_mapped_file_takes_the_place_of_another(self):
        daemon, _ = self.begin()
        view = self.open_map(self.art / ".a.tmp", 600)
        self.save(view, obj_text(4))
        os.rename(self.art / ".a.tmp", self.art / "a.obj")
        self.saved(daemon, "a.obj", 4)

    @unittest.skipUnless(MOUNTS and shutil.which("strace"), "mounts need a namespace of their own, and the calls are counted")
    def test_its_process_is_not_seen(self):
        """A daemon with processes of its own, as in a container: sync sees that the file differs, and that it is still open. It does
        not ask again about a file that was found closed, and sees it, too, when it is mapped later, under another name."""
        for name in ("a.obj", "b.obj"):
            self.put(name, obj_text(2) + "#" * 500)
        os.link(self.art / "b.obj", self.folder / "second name")
        view, trace = self.open_map(self.art / "a.obj"), self.folder / "trace"
        daemon = self.serve(program=("unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "strace", "-f", "-qq", "-y", "-o", trace,
                                     "-e", "trace=fcntl", HOB))

        def asked():
            """Whether a sync asks who has the file open: of a and of b."""
            before = trace.read_text().count("\n")
            daemon.sync()
            asks = [line for line in trace.read_text().splitlines()[before:] if "F_RDLCK" in line]
            return [any(name in line for line in asks) for name in ("a.obj>", "b.obj>")]

        self.assertEqual(asked()[0], True)
        until(lambda: asked() == [True, False], "no further question about a closed file")
        later = self.open_map(self.folder / "second name")
        for each in (view, later):
            self.save(each, obj_text(5))
        self.assertEqual(asked(), [True, True])
        for name in ("art/a.obj", "art/b.obj"):
            self.assertNotEqual(daemon.assets("&fields=root,path,state")[name]["state"], "fresh")
        until(lambda: all(item["state"] == "fresh" for item in daemon.assets("&fields=root,path,state").values()), "the cook of both")
        self.assertEqual([item["stats"]["triangles"] for item in daemon.assets("&fields=root,path,stats").values()], [5, 5])

    def test_what_a_model_uses(self):
        """Materials, files behind a link and in hidden folders, and settings."""
        (self.art / ".hidden").mkdir()
        colors = {name: self.art / name for name in ("m.mtl", ".hidden/h.mtl")}
        for path in colors.values():
            path.write_text("newmtl red\nKd 1 0 0\n".ljust(200))
        (self.art / "link").symlink_to(".hidden")
        for model, library in (("m", "m.mtl"), ("h", "link/h.mtl")):
            self.put(f"{model}.obj", f"mtllib {library}\n" + obj_text(2).replace("f ", "usemtl red\nf ", 1))
        self.put("cook.json", json.dumps({"lods.max": 2}).ljust(100))
        daemon, _ = self.begin()
        for name, path in colors.items():
            with self.subTest(name):
                before = daemon.sync()["rev"]
                self.save(self.open_map(path), "newmtl red\nKd 0 1 0\n")
                self.assertGreater(daemon.sync()["rev"], before)
                item = daemon.assets("&fields=root,path,state")[f"art/{pathlib.Path(name).stem}.obj"]
                self.assertEqual(item["state"], "fresh")
        before = daemon.sync()["rev"]
        self.save(self.open_map(self.art / "cook.json"), json.dumps({"lods.max": 1}))
        self.assertGreater(daemon.sync()["rev"], before)

    def test_another_name_of_a_mapped_file(self):
        """A model begins to use it after it was mapped: behind a link, as a link, a second name, in a hidden folder."""
        library, names = self.art / "v1/m.mtl", ("link/m.mtl", "one.mtl", "two.mtl", ".hidden/h.mtl", "three/m.mtl")
        for folder in ("v1", ".hidden"):
            (self.art / folder).mkdir()
        library.write_text("newmtl red\nKd 1 0 0\n".ljust(200))
        for name, target in (("link", "v1"), ("one.mtl", "v1/m.mtl"), ("three", "link")):
            (self.art / name).symlink_to(target)
        for name in ("two.mtl", ".hidden/h.mtl"):
            os.link(library, self.art / name)
        with self.serve() as events, Daemon([self.art], self.folder / "polls", "--watch", "poll", "--poll-ms", "100") as polling, \
                Daemon([self.art], self.folder / "below", "--upstream", f"http://127.0.0.1:{events.port}") as below:
            daemons = {"events": events, "polling": polling, "below an upstream": below}
            for number, name in enumerate(names):
                for daemon in daemons.values():
                    daemon.sync(scan=daemon is polling)
                with self.open_map(library) as view:
                    self.save(view, f"newmtl red\nKd 0 {number} 1\n")
                    self.put(f"{number}.obj", f"mtllib {name}\n" + obj_text(2).replace("f ", "usemtl red\nf ", 1))
                    for who, daemon in daemons.items():
                        with self.subTest(name, daemon=who):
                            daemon.sync(scan=daemon is polling)
                            self.assertEqual(daemon.assets("&fields=root,path,state")[f"art/{number}.obj"]["state"], "fresh")

    def test_a_model_that_no_scan_lists(self):
        """It is mapped and hidden, or its folder is from then on: a map makes no model of it."""
        (self.art / ".deep").mkdir()
        self.put("sub/one.obj", obj_text(1).ljust(200))
        with self.serve() as events, Daemon([self.art], self.folder / "polls", "--watch", "poll", "--poll-ms", "100") as polling, \
                Daemon([self.art], self.folder / "below", "--upstream", f"http://127.0.0.1:{events.port}") as below:

            def names(*wanted):
                for who, daemon in {"events": events, "polling": polling, "below an upstream": below}.items():
                    with self.subTest(daemon=who):
                        daemon.sync(scan=daemon is polling)
                        self.assertEqual(set(daemon.assets()), set(wanted))

            names("art/sub/one.obj")
            for name in ("sub/one.obj", ".deep/two.obj", ".three.obj"):
                self.save(self.open_map(self.art / name, 200), obj_text(2))
            (self.art / "sub").rename(self.art / ".lib")
            names()
            (self.art / ".lib").rename(self.art / "sub")
            (self.art / ".deep/two.obj").rename(self.art / "two.obj")
            names("art/sub/one.obj", "art/two.obj")

    def test_a_save_that_goes_on_is_not_taken_half(self):
        """What two readings disagree on is no save; the sync after it is."""
        daemon, view = self.begin()
        stop = threading.Event()

        def scribble():
            turn = 0
            while not stop.is_set():
                turn += 1
                self.save(view, f"# {turn}\nv 0 0 0\nf 1 2")

        writer = threading.Thread(target=scribble)
        writer.start()
        daemon.sync()
        item = daemon.assets("&fields=root,path,state,stats")["art/a.obj"]
        stop.set()
        writer.join()
        self.assertEqual(item["stats"]["triangles"], 2)
        self.save(view, obj_text(6))
        self.saved(daemon, "a.obj", 6)

    def test_a_map_for_reading_costs_nothing(self):
        daemon, view = self.begin()
        view.close()
        with open(self.art / "a.obj", "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ):
            self.assertEqual(daemon.sync()["rev"], daemon.sync()["rev"])
            self.put("a.obj", obj_text(3))
            self.saved(daemon, "a.obj", 3)


NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")


@unittest.skipUnless(os.getuid() == 0 and shutil.which("setpriv") and
                     subprocess.run([*NOBODY, HOB, "--version"], capture_output=True, check=False).returncode == 0, "needs root, and programs for all")
class Rights(Scenario):
    """Who may read a file changes, or its size: nobody opens it, and the file is as old as you like."""

    def hour_later(self, *program):
        """A daemon to which each file is an hour old."""
        clock = preloadable("shifted_clock", self.folder)
        return self.serve(program=(*program, "env", f"LD_PRELOAD={clock}", "HOB_TEST_CLOCK_SHIFT=3600",
                                   "ASAN_OPTIONS=verify_asan_link_order=0", HOB))

    def test_a_size(self):
        lines = obj_text(5).splitlines(keepends=True)
        path = self.put("a.obj", "".join(lines))
        daemon = self.hour_later()
        self.addCleanup(daemon.stop)
        daemon.sync()
        os.truncate(path, path.stat().st_size - len(lines[-1]))
        daemon.sync()
        self.assertEqual(daemon.assets("&fields=root,path,stats")["art/a.obj"]["stats"]["triangles"], 4)

    def test_a_dependency_and_a_source(self):
        self.folder.chmod(0o777)
        self.put("a.obj", "mtllib a.mtl\n" + obj_text(2))
        self.put("a.mtl", "newmtl m\nKd 1 0 0\n")
        daemon = self.hour_later(*NOBODY)
        daemon.sync()
        for name in ("a.mtl", "a.obj"):
            with self.subTest(name):
                (self.art / name).chmod(0)
                daemon.sync()
                item = daemon.assets("&fields=root,path,state,error")["art/a.obj"]
                self.assertEqual(item["state"], "stale")
                self.assertIn("may not be read: permission denied", item["error"]["message"])
                (self.art / name).chmod(0o644)  # what cannot be read is tried again anyway
                until(lambda: daemon.assets("&fields=root,path,state")["art/a.obj"]["state"] == "fresh", "a second try")


if __name__ == "__main__":
    main()
