"""Watch modes of a folder and their messages: a trial file tests whether events arrive, settings take precedence."""
import mmap
import os
import platform
import subprocess
import sys
import unittest

from hobtest import HOB, Daemon, Scenario, main, obj_text

# Simulates an inotify that accepts every watch and reports nothing, as in some sandboxes and on remote file systems: a seccomp
# filter makes inotify_add_watch return 0.
DEAF = """
import ctypes, os, platform, struct, sys
number = {"x86_64": 254, "aarch64": 27}[platform.machine()]
code = struct.pack("HBBIHBBIHBBIHBBI", 0x20, 0, 0, 0, 0x15, 0, 1, number, 0x06, 0, 0, 0x00050000, 0x06, 0, 0, 0x7fff0000)
buffer = ctypes.create_string_buffer(code)
program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", 4, ctypes.addressof(buffer)))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program, 0, 0) == 0, ctypes.get_errno()
os.execv(sys.argv[1], sys.argv[1:])
"""


class WatchModes(Scenario):
    def root(self, daemon):
        (root,) = daemon.get("/api/v1/roots").json()["items"]
        return root

    def polled(self, daemon):
        counters = daemon.counters()
        return counters['hob_watch_roots{mode="polling"}'], counters['hob_watch_roots{mode="inotify"}']

    def follows_changes(self, daemon):
        self.put("late.obj", obj_text(2))
        daemon.wait_asset("art/late.obj", "fresh")

    def test_trial_file_is_gone_and_nobodys_asset(self):
        self.put("a.obj", obj_text(1))
        before = self.art.stat().st_mtime_ns
        with self.serve() as daemon:
            root = self.root(daemon)
            self.assertEqual((root["mode"], root["probe"], root["poll_ms"]), ("inotify", "passed", 0))
            self.assertNotEqual(self.art.stat().st_mtime_ns, before, "no file was tried")
            self.assertEqual(os.listdir(self.art), ["a.obj"])
            daemon.sync()
            self.assertEqual(set(daemon.assets()), {"art/a.obj"})
            self.assertEqual(self.polled(daemon), (0, 1))
            self.follows_changes(daemon)

    def test_no_trial_where_it_is_not_wanted(self):
        self.put("a.obj", obj_text(1))
        for options in (["--no-probe"], ["--watch", "inotify"], ["--watch", "poll", "--poll-ms", "100"]):
            with self.subTest(options=options):
                before = self.art.stat().st_mtime_ns
                with self.serve(*options) as daemon:
                    root = self.root(daemon)
                    self.assertEqual(root["probe"], "off")
                    self.assertEqual(self.art.stat().st_mtime_ns, before)
                    polls = "poll" in options
                    self.assertEqual((root["mode"], root["poll_ms"]), ("polling", 100) if polls else ("inotify", 0))
                    self.assertEqual(root["note"], "polling every 100 ms: asked for" if polls else root["note"])
                    self.follows_changes(daemon)
                (self.art / "late.obj").unlink()

    def test_folder_that_cannot_be_written_is_watched_all_the_same(self):
        self.put("a.obj", obj_text(1))
        (self.art / "below").mkdir()
        meek = [] if os.getuid() else ["setpriv", "--inh-caps=-all", "--bounding-set=-all"]
        self.art.chmod(0o555)
        try:
            with Daemon([self.art], self.cache, program=[*meek, HOB]) as daemon:
                root = self.root(daemon)
                self.assertEqual((root["mode"], root["probe"]), ("inotify", "not-possible"))
                self.assertIn("nothing can be written", root["note"])
                self.put("below/b.obj", obj_text(2))
                daemon.wait_asset("art/below/b.obj", "fresh")
        finally:
            self.art.chmod(0o755)

    def test_changes_without_an_event_are_found(self):
        self.put("linked.obj", obj_text(1))
        self.put("mapped.obj", obj_text(2))
        elsewhere = self.folder / "elsewhere.obj"
        elsewhere.hardlink_to(self.art / "linked.obj")
        with self.serve() as daemon:
            with open(self.art / "mapped.obj", "r+b") as file:
                mapping = mmap.mmap(file.fileno(), 0)
            daemon.sync()
            elsewhere.write_text(obj_text(3))
            with mapping:
                face = mapping.rfind(b"\nf ")
                mapping[face:] = b"\n" * (len(mapping) - face)
            for name, triangles in (("art/linked.obj", 3), ("art/mapped.obj", 1)):
                while daemon.assets()[name]["stats"]["triangles"] != triangles:
                    daemon.wait_asset(name, "fresh")
            daemon.wait_log("no event reported this change")

    @unittest.skipUnless(platform.machine() in ("x86_64", "aarch64"), "the system call's number is not known")
    def test_where_no_events_arrive_it_polls_and_says_so(self):
        self.put("a.obj", obj_text(1))
        with Daemon([self.art], self.cache, "--poll-ms", "200", program=[sys.executable, "-c", DEAF, HOB]) as daemon:
            root = self.root(daemon)
            self.assertEqual((root["mode"], root["probe"], root["poll_ms"]), ("polling", "failed", 200))
            self.assertIn("polling every 200 ms: a file that was made there for a trial gave no event", root["note"])
            self.assertTrue([line for line in daemon.log if "by polling" in line and "gave no event" in line], daemon.log)
            self.assertEqual(self.polled(daemon), (1, 0))
            self.follows_changes(daemon)
            (self.art / "late.obj").unlink()
            daemon.wait_asset("art/late.obj", "removed")
        # A watch mode that claims events is trusted; a scan finds the missing ones.
        with Daemon([self.art], self.cache, "--watch", "inotify", program=[sys.executable, "-c", DEAF, HOB]) as daemon:
            self.assertEqual(self.root(daemon)["mode"], "inotify")
            self.put("b.obj", obj_text(2))
            daemon.sync(scan=True)
            self.assertIn("art/b.obj", daemon.assets())

    def test_overlay_is_named(self):
        for name in ("lower", "upper", "work"):
            (self.folder / name).mkdir()
        (self.folder / "lower/a.obj").write_text(obj_text(3))
        mount = (f'mount -t overlay -o lowerdir={self.folder}/lower,upperdir={self.folder}/upper,workdir={self.folder}/work '
                 f'hob-test "{self.art}" && exec "$@"')
        prefix = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mount, "sh"]
        if subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode:
            self.skipTest("no overlay can be mounted in a user namespace here")
        with Daemon([self.art], self.cache, program=[*prefix, HOB]) as daemon:
            root = self.root(daemon)
            self.assertEqual((root["mode"], root["probe"], root["file_system"]), ("inotify", "passed", "overlay"))
            self.assertIn("lower layer", root["note"])
            inside = f"/proc/{daemon.process.pid}/root{self.art}"
            with open(f"{inside}/b.obj", "w", encoding="ascii") as file:
                file.write(obj_text(2))
            daemon.wait_asset("art/b.obj", "fresh")


if __name__ == "__main__":
    main()
