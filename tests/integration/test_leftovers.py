"""Unexpected states: an index deleted while the daemon runs, a trial file of a killed daemon, and a system with too few
descriptors or threads."""
import os
import pathlib
import re
import resource
import subprocess
import unittest

from hobtest import HOB, PROJECT, Scenario, main, meshes, obj_text

NOTE = "hob: a temporary file to test whether changes in this folder are reported; it can be deleted\n"
NOBODY = 54321


class Leftovers(Scenario):
    def rebuilds(self, daemon):
        return int(daemon.counters()["hob_cache_rebuilds_total"])

    def test_an_index_that_is_deleted_or_replaced_is_noticed_and_made_anew(self):
        for i in range(5):
            self.put(f"{i}.obj", obj_text(i + 2))
        with self.serve() as daemon:
            daemon.sync()
            before, cooked = meshes(daemon), daemon.cooked()
            (self.cache / "index.db").unlink()
            daemon.wait_log("removed or replaced")
            daemon.wait_log("was rebuilt")
            self.assertTrue((self.cache / "index.db").exists())
            (self.cache / "other").write_bytes(b"not an index at all")
            (self.cache / "other").rename(self.cache / "index.db")
            daemon.wait_log("removed or replaced")
            daemon.wait_log("was rebuilt")
            self.assertEqual(self.rebuilds(daemon), 2)
            self.assertIn(b"ok index", daemon.get("/readyz?verbose").body)
            self.put("new.obj", obj_text(20))
            daemon.sync()
            self.assertEqual(daemon.cooked(), cooked + 1)
            before["art/new.obj"] = meshes(daemon)["art/new.obj"]
            self.assertEqual(meshes(daemon), before)
        with self.serve() as daemon:  # the new index is complete
            daemon.sync()
            self.assertEqual((meshes(daemon), daemon.cooked()), (before, 0))

    def test_trial_files_of_killed_daemons_go(self):
        dead = subprocess.Popen(["true"])
        dead.wait()
        ours, empty = f".hob-probe-{dead.pid}-1f", f".hob-probe-{dead.pid}-2f"
        alive, others, word = f".hob-probe-{os.getpid()}-3f", f".hob-probe-{dead.pid}-4f", ".hob-probe-notes"
        for name, text in ((ours, NOTE), (empty, ""), (alive, NOTE), (others, "mine"), (word, NOTE)):
            (self.art / name).write_text(text)
        with self.serve():
            self.assertEqual({path.name for path in self.art.iterdir()}, {alive, others, word})

    def limited(self, *words, files=None, processes=None):
        def limit():
            if files:
                resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
            if processes:
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)
                resource.setrlimit(resource.RLIMIT_NPROC, (processes, processes))
        try:
            done = subprocess.run([HOB, *words], capture_output=True, text=True, timeout=8, preexec_fn=limit,
                                  env=dict(os.environ, NO_COLOR="1", ASAN_OPTIONS="detect_leaks=0"))
        except subprocess.TimeoutExpired as still:  # the daemon has started despite the limit
            return 0, (still.stdout or b"").decode() + (still.stderr or b"").decode()
        return done.returncode, done.stdout + done.stderr

    def check(self, code, text, what):
        if "error while loading shared libraries" in text or "AddressSanitizer" in text:
            return False  # the limit is too low even for the dynamic loader
        self.assertIn(code, (0, 1, 2, 5), (what, code, text))
        if code:
            self.assertTrue(re.search(r"hob \w+: .*(open files|descriptor|thread|started|unavailable|limit)", text), (what, text))
        return True

    def test_few_descriptors_are_an_error_in_words(self):
        self.put("a.obj", obj_text(3))
        asked = [self.check(*self.limited("cook", str(self.art), "--check", files=files), files) for files in range(3, 20)]
        asked += [self.check(*self.limited("serve", str(self.art), "--cache", str(self.cache), "--listen", "127.0.0.1:0", files=files),
                             files) for files in (5, 6, 7, 9, 11)]
        self.assertGreater(sum(asked), 10)

    @unittest.skipUnless(os.geteuid() == 0, "only root may become a user of whom nothing runs")
    def test_few_processes_are_an_error_in_words(self):
        self.put("a.obj", obj_text(3))
        programs = pathlib.Path(HOB).resolve().parent
        os.chmod(self.folder, 0o755)
        self.cache.mkdir()
        os.chown(self.cache, NOBODY, NOBODY)
        if any(not os.stat(folder).st_mode & 1 for folder in (programs, *programs.parents, PROJECT)):
            self.skipTest("another user cannot run this build")
        for processes in (1, 3, 4, 5):
            self.check(*self.limited("cook", str(self.art), "--check", processes=processes), processes)
        for processes in (2, 4):
            code, text = self.limited("serve", str(self.art), "--cache", str(self.cache), "--listen", "127.0.0.1:0", processes=processes)
            self.assertTrue(self.check(code, text, processes))
            self.assertIn("threads can be started", text)


if __name__ == "__main__":
    main()
