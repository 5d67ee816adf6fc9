"""File systems mounted inside a watched folder, and unmounted again: each change is seen at the next sync, without requesting a
scan. Also files saved through a shared mapping after their descriptor was closed."""
import ctypes
import mmap
import os
import shutil
import subprocess
import unittest

from hobtest import Scenario, main, obj_text

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
        subprocess.run(["umount", str(path)], check=True, capture_output=True)

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
    """A save through a mapping gives no event: the sweep finds it; the file is complete half a minute after its last change."""

    def open_map(self, path):
        fd = os.open(path, os.O_RDWR)
        view = mmap.mmap(fd, 0)
        os.close(fd)
        self.addCleanup(view.close)
        return view

    def save(self, view, triangles):
        text = obj_text(triangles).encode()
        view[:] = text.ljust(len(view), b"\n")
        view.flush()

    def begin(self):
        path = self.put("a.obj", obj_text(2) + "#" * 500)
        daemon = self.serve()
        self.addCleanup(daemon.stop)
        daemon.sync()
        return daemon, self.open_map(path)

    def triangles(self, daemon):
        return daemon.assets("&fields=root,path,stats")["art/a.obj"]["stats"]["triangles"]

    def test_the_sweep_finds_it_while_the_map_stands(self):
        daemon, view = self.begin()
        self.save(view, 5)
        daemon.wait_event("asset", lambda data: data["asset"] == "art/a.obj" and data["state"] == "fresh")
        self.assertEqual(self.triangles(daemon), 5)


if __name__ == "__main__":
    main()
