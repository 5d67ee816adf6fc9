"""The daemon of a folder: commands run in or below it find it, one of another folder is not mistaken for it, and it can be
stopped, waited for and asked to cook again."""
import json
import os
import signal
import subprocess
import time

from hobtest import DEADLINE, HOB, SETTINGS_SCHEMA, Scenario, main, obj_text


class Owner(Scenario):
    """Two projects, each with art/duck.obj; `serve` starts a daemon as a user does, on the default address."""

    def setUp(self):
        super().setUp()
        self.running = []
        for name, triangles in (("one", 3), ("two", 5)):
            (self.folder / name / "art" / "sub").mkdir(parents=True)
            (self.folder / name / "art" / "duck.obj").write_text(obj_text(triangles))

    def tearDown(self):
        for process in self.running:
            if process.poll() is None:
                process.kill()
            process.wait()
            process.stdout.close()
        super().tearDown()

    def environment(self):
        return {name: value for name, value in os.environ.items() if not name.startswith("HOB_") or name == "HOB_CHROMIUM"}

    def serve(self, where, *arguments):
        process = subprocess.Popen([HOB, "serve", "art", *arguments], cwd=self.folder / where, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True, env=self.environment())
        self.running.append(process)
        lines = []
        for line in process.stdout:
            lines.append(line)
            if "Sandbox" in line:
                return process, "".join(lines)
        self.fail("".join(lines))

    def hob(self, where, *arguments, code=0):
        done = subprocess.run([HOB, *map(str, arguments)], cwd=self.folder / where, capture_output=True, text=True, timeout=DEADLINE,
                              env=self.environment())
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def url(self, where):
        return json.loads((self.folder / where / ".hob/daemon.json").read_text())["url"]

    def test_each_folder_meets_its_own_daemon(self):
        self.serve("one")
        self.serve("two")  # the default port is taken, so it chooses another
        self.assertNotEqual(self.url("one"), self.url("two"))
        for where, triangles in (("one", 3), ("two", 5)):
            for below in ("", "/art", "/art/sub"):
                self.hob(where + below, "sync")
                line = self.hob(where + below, "ls", "--long")
                self.assertRegex(line, rf" {triangles} tris .*art/duck.obj")
                self.assertNotIn("no daemon watches", line)
            self.assertIn(self.url(where), self.hob(where, "open"))
            self.assertRegex(self.hob(where, "get", "art/duck.obj", "--hash", "--wait", 10), r"^[0-9a-f]{64}\n$")
        self.assertNotEqual(*(self.hob(where, "get", "art/duck.obj", "--hash") for where in ("one", "two")))

    def test_the_daemon_of_another_folder_is_named_and_not_taken(self):
        _, said = self.serve("one")
        if ":7780/" not in said:
            self.skipTest("port 7780 is not free")
        told = "no daemon watches this folder; the one at http://127.0.0.1:7780 answers, which watches"
        for command in (["get", "art/duck.obj", "--hash"], ["why", "art/duck.obj"], ["set", "art/duck.obj", "lods.max=2"]):
            said = self.hob("two", *command, code=2)
            self.assertIn(told, said)
            self.assertIn(str(self.folder / "one/art"), said)
            self.assertIn("is a file that no daemon watches", said)
        self.assertIn(told, self.hob("two", "ls"))
        self.assertNotIn("no daemon watches", self.hob("two", "ls", "--url", "127.0.0.1:7780"))
        self.assertNotIn("no daemon watches", self.hob(".", "ls"))  # above both projects
        self.assertFalse((self.folder / "one/art/duck.obj.cook.json").exists())

    def test_a_second_daemon_says_who_serves_the_cache(self):
        process, _ = self.serve("one")
        said = self.hob("one", "serve", "art", code=2)
        self.assertIn(f"another Hob (process {process.pid}) serves the cache", said)
        self.assertIn(self.url("one"), said)
        self.assertIn("'hob stop'", said)

    def test_stop_ends_it_and_leaves_nothing(self):
        process, _ = self.serve("one")
        url = self.url("one")
        self.assertEqual(self.hob("one/art/sub", "stop"), f"stopped  {url} (process {process.pid})\n")
        self.assertEqual(process.wait(DEADLINE), 0)
        self.assertFalse((self.folder / "one/.hob/daemon.json").exists())
        self.assertIn("no daemon of '.' runs", self.hob("one", "stop", code=3))
        process, _ = self.serve("one")
        self.assertIn("stopped", self.hob(".", "stop", "one/.hob"))

    def test_one_that_was_killed_is_no_owner(self):
        process, _ = self.serve("one")
        process.send_signal(signal.SIGKILL)
        process.wait()
        self.assertTrue((self.folder / "one/.hob/daemon.json").exists())
        self.assertIn("no daemon of '.' runs", self.hob("one", "stop", code=3))
        again, _ = self.serve("one")
        self.assertIn(f"(process {again.pid})", self.hob("one", "stop"))

    def test_a_service_is_left_to_its_manager(self):
        self.serve("one")
        path = self.folder / "one/.hob/daemon.json"
        noted = json.loads(path.read_text())
        self.assertEqual(noted["unit"], "")
        path.write_text(json.dumps(noted | {"unit": "hob.service"}))
        self.assertIn("'systemctl stop hob.service' stops it", self.hob("one", "stop", code=2))

    def test_the_daemon_of_another_user_is_refused(self):
        if os.getuid() != 0:
            self.skipTest("takes two users")
        self.serve("one")
        for path in [self.folder, *self.folder.rglob("*")]:
            if path.is_dir():
                path.chmod(0o755)
        done = subprocess.run([HOB, "stop"], cwd=self.folder / "one", capture_output=True, text=True, timeout=DEADLINE, env=self.environment(),
                              user=65534, group=65534, extra_groups=[])
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("is another user's", done.stderr)

    def test_an_address_that_another_user_wrote_is_not_taken(self):
        if os.getuid() != 0:
            self.skipTest("takes two users")
        self.serve("one")
        self.assertNotIn("no daemon", self.hob("one", "ls"))
        os.chown(self.folder / "one/.hob/daemon.json", 65534, 65534)
        self.assertIn("no daemon of '.' runs", self.hob("one", "stop", code=3))

    def test_sync_and_recook_say_what_failed(self):
        self.serve("one")
        self.assertRegex(self.hob("one", "sync"), r"^rev \d+, 0 failed\n$")
        before = time.time()
        self.hob("one", "recook", "art/duck.obj")
        asset = json.loads(self.hob("one", "ls", "--json"))
        self.assertGreaterEqual(asset["cooked_at"], time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(before)))
        (self.folder / "one/art/bad.obj").write_text("# nothing\n")
        self.assertRegex(self.hob("one", "sync", code=1), r"failed   art/bad.obj\nrev \d+, 1 failed; 'hob why ASSET' tells why\n")
        self.assertIn("0 failed", self.hob("one", "recook", "duck.obj"))
        self.assertIn("1 failed", self.hob("one", "recook", "bad.obj", "duck.obj", code=1))
        self.assertEqual(json.loads(self.hob("one", "sync", "--json", code=1))["failed"], ["art/bad.obj"])

    def test_a_folder_is_set_and_short_options_are_joined(self):
        self.serve("one")
        self.hob("one", "sync")
        self.assertIn("art/cook.json\n  budget.triangles = 1\n", self.hob("one", "set", "art/", "budget.triangles=1"))
        self.assertEqual(json.loads((self.folder / "one/art/cook.json").read_text()), SETTINGS_SCHEMA | {"budget": {"triangles": 1}})
        self.hob("one", "sync")
        for filters in (["--over-budget"], ["--warnings"]):
            self.assertIn("art/duck.obj", self.hob("one", "ls", *filters))
        self.hob("one", "set", "art/", "budget.triangles=")
        self.hob("one", "sync")
        for filters in (["--over-budget"], ["--warnings"]):
            self.assertEqual(self.hob("one", "ls", *filters), "no asset matches\n")
        self.assertIn("no model of the daemon is below 'art/none/'", self.hob("one", "set", "art/none/", "lods.max=1", code=2))
        self.assertEqual(self.hob("one", "gc", "-n"), self.hob("one", "gc", "--dry-run"))
        self.assertIn("1 cooked", self.hob("one", "cook", "art", "-koout"))
        self.assertEqual(len(list((self.folder / "one/out").glob("duck*.meshes"))), 1)


if __name__ == "__main__":
    main()
