"""A root that disappears as a whole (moved, unmounted, unreadable, missing at the start) and returns; number of its files."""
import contextlib
import os
import shutil
import signal
import subprocess

from hobtest import HOB, Daemon, Scenario, bumpy_grid, main, obj_text, until

MEEK = [] if os.getuid() else ["setpriv", "--inh-caps=-all", "--bounding-set=-all"]


def states(daemon):
    return {name: item["state"] for name, item in daemon.assets().items()}


class Roots(Scenario):
    def setUp(self):
        super().setUp()
        self.away = self.folder / "away"

    def root(self, daemon, name="art"):
        (root,) = [root for root in daemon.get("/api/v1/roots").json()["items"] if root["name"] == name]
        return root

    def hob(self, daemon, *words):
        return subprocess.run([HOB, *words, "--url", f"http://127.0.0.1:{daemon.port}"], capture_output=True, text=True,
                              env=dict(os.environ, NO_COLOR="1"), check=True).stdout

    def lose(self, daemon, by=None):
        """Moves the root away, or calls `by`, and waits until it is reported."""
        if by:
            by()
        else:
            self.art.rename(self.away)
        return daemon.wait_event("root", lambda data: data["state"] == "missing")

    def wait_all(self, daemon, names, state):
        """{name: kind of change} of the next events that report these assets in this state."""
        kinds = {}
        while set(kinds) != set(names):
            data = daemon.wait_event("asset", lambda data: data["state"] == state)
            kinds[data["asset"]] = data["kind"]
        return kinds

    def put_three(self):
        self.put("wood.mtl", "newmtl m\nKd 1 0 0\n")
        for name in ("kept", "changed", "gone"):
            self.put(f"{name}.obj", obj_text(2 + len(name), mtl="wood.mtl"))

    # ---- away and back

    def test_assets_stay_served_while_the_root_is_away(self):
        self.put_three()
        with self.serve() as daemon:
            daemon.sync()
            before = {name: daemon.blob(name) for name in states(daemon)}
            self.art.rename(self.away)
            self.assertEqual(self.wait_all(daemon, before, "missing"), dict.fromkeys(before, "missing"))
            told = daemon.wait_event("root", lambda data: data["state"] == "missing")
            self.assertEqual(told["root"], "art")
            self.assertIn(f"{self.art} cannot be opened (No such file or directory)", told["reason"])
            daemon.sync()  # does not wait for it
            self.assertEqual(states(daemon), dict.fromkeys(before, "missing"))
            self.assertEqual({name: daemon.blob(name) for name in before}, before)
            self.assertEqual(daemon.get("/a/art/kept.obj", Prefer="wait=30").headers["cook-state"], "stale")
            self.assertEqual(daemon.counters()['hob_assets{state="missing"}'], 3)
            self.assertEqual(daemon.counters()['hob_watch_roots{mode="missing"}'], 1)
            self.assertEqual(daemon.get("/readyz").status, 200)
            self.assertEqual(daemon.get("/api/v1/errors").json()["items"], [])

            root = self.root(daemon)
            self.assertEqual((root["mode"], root["missing_since"]), ("missing", told["missing_since"]))
            for words in (["status"], ["why", "art/kept.obj"]):
                self.assertRegex(self.hob(daemon, *words), f"missing .*since {told['missing_since']}: .*{self.art} cannot be opened")
            doctor = subprocess.run([HOB, "doctor", str(self.cache), "--url", f"http://127.0.0.1:{daemon.port}"],
                                    capture_output=True, text=True, check=False)
            self.assertEqual(doctor.returncode, 1)
            self.assertIn(f"'{self.art}' is missing since {told['missing_since']}", " ".join(doctor.stdout.split()))
            self.assertIn("missing     art/kept.obj", self.hob(daemon, "ls", "--state", "missing"))
            line = [line for line in daemon.log if " missing art since" in line]
            self.assertEqual(len(line), 1, daemon.log)
            self.assertIn("stays served", line[0])

            asset = daemon.assets()["art/kept.obj"]["id"]
            for answer in (daemon.post(f"/api/v1/assets/{asset}/cook"), daemon.get(f"/api/v1/assets/{asset}/settings")):
                self.assertEqual((answer.status, answer.json()["detail"]), (409, root["note"]))
            self.assertEqual(states(daemon), dict.fromkeys(before, "missing"))

    def test_what_changed_meanwhile_is_cooked_and_nothing_else(self):
        self.put_three()
        with self.serve() as daemon:
            daemon.sync()
            cooked, kept = daemon.cooked(), daemon.blob("art/kept.obj")
            self.lose(daemon)
            (self.away / "gone.obj").unlink()
            (self.away / "changed.obj").write_text(obj_text(30))
            (self.away / "new.obj").write_text(obj_text(40))
            self.away.rename(self.art)
            self.assertEqual(daemon.wait_asset("art/kept.obj", "fresh")["kind"], "returned")
            daemon.wait_event("root", lambda data: data["state"] == "watched" and data["missing_since"] is None)
            daemon.sync()
            self.assertEqual(states(daemon), dict.fromkeys(("art/kept.obj", "art/changed.obj", "art/new.obj"), "fresh"))
            self.assertEqual(daemon.cooked(), cooked + 2)
            self.assertEqual(daemon.blob("art/kept.obj"), kept)
            self.assertIsNone(self.root(daemon)["missing_since"])
            # A file deleted inside an existing folder is deleted, and events continue.
            (self.art / "kept.obj").unlink()
            daemon.wait_asset("art/kept.obj", "removed")
            self.assertEqual(set(states(daemon)), {"art/changed.obj", "art/new.obj"})

    def test_a_copy_of_the_folder_costs_no_cook(self):
        self.put_three()
        with self.serve() as daemon:
            daemon.sync()
            cooked, seen = daemon.cooked(), states(daemon)
            shutil.copytree(self.art, self.folder / "copy")
            self.lose(daemon)
            (self.folder / "copy").rename(self.art)
            self.wait_all(daemon, seen, "fresh")
            daemon.sync()
            self.assertEqual((states(daemon), daemon.cooked()), (seen, cooked))

    def test_failed_assets_come_back_as_failed(self):
        self.put("bad.obj", "f 1 2 3\n")
        with self.serve() as daemon:
            daemon.sync()
            failed = daemon.assets()["art/bad.obj"]
            self.assertEqual(failed["state"], "failed")
            self.lose(daemon)
            daemon.sync()
            self.assertEqual(states(daemon), {"art/bad.obj": "missing"})
            self.assertIn(daemon.get("/a/art/bad.obj").status, (422, 503))
            self.away.rename(self.art)
            self.assertEqual(daemon.wait_asset("art/bad.obj", "failed")["error"]["code"], failed["error"]["code"])

    def test_root_that_goes_while_it_is_cooked_makes_no_failure(self):
        self.put("wood.mtl", "newmtl m\nKd 1 0 0\n")
        for options in ((), ("--watch", "poll", "--poll-ms", "60000")):
            with self.subTest(options=options), self.serve("--jobs", "1", *options) as daemon:
                self.goes_while_it_is_cooked(daemon)
            shutil.rmtree(self.cache)
            (self.art / "big.obj").unlink()

    def goes_while_it_is_cooked(self, daemon):
        daemon.sync()
        (worker,) = self.workers(daemon)
        os.kill(worker, signal.SIGSTOP)
        self.put("big.obj", "mtllib wood.mtl\nusemtl m\n" + bumpy_grid(60))
        daemon.post("/api/v1/sync", {"timeout_ms": 1})  # requests a scan, for watch modes that would not notice soon
        daemon.wait_event("job", lambda data: data["state"] == "cooking")
        self.art.rename(self.away)
        # The stopped worker still has the old folder open: if it went on, it would find the model without its material.
        (self.away / "wood.mtl").rename(self.folder / "wood.mtl")
        with contextlib.suppress(ProcessLookupError):  # it may have ended by now
            os.kill(worker, signal.SIGCONT)
        daemon.wait_event("root", lambda data: data["state"] == "missing")
        daemon.sync()
        self.assertEqual(states(daemon), {"art/big.obj": "missing"})
        self.assertEqual(daemon.counters()['hob_cook_results_total{result="failed"}'], 0)
        answer = daemon.get("/a/art/big.obj?output=materials")
        self.assertEqual((answer.status, answer.json()["state"]), (503, "missing"))
        (self.folder / "wood.mtl").rename(self.away / "wood.mtl")
        self.away.rename(self.art)
        daemon.sync()
        self.assertEqual([states(daemon), daemon.assets()["art/big.obj"]["warnings"]], [{"art/big.obj": "fresh"}, 0])

    def workers(self, daemon):
        found = subprocess.run(["pgrep", "-P", str(daemon.process.pid)], capture_output=True, text=True, check=True)
        return [int(pid) for pid in found.stdout.split()]

    def test_other_roots_go_on(self):
        other = self.folder / "other"
        other.mkdir()
        (other / "b.obj").write_text(obj_text(3))
        self.put("a.obj", obj_text(2))
        with Daemon([self.art, other], self.cache) as daemon:
            daemon.sync()
            self.lose(daemon)
            (other / "c.obj").write_text(obj_text(4))
            daemon.wait_asset("other/c.obj", "fresh")
            daemon.sync()
            self.assertEqual(states(daemon), {"art/a.obj": "missing", "other/b.obj": "fresh", "other/c.obj": "fresh"})
            self.assertEqual([root["mode"] for root in daemon.get("/api/v1/roots").json()["items"]], ["missing", "inotify"])

    # ---- ways to disappear

    def test_a_folder_that_may_not_be_read_any_more(self):
        self.put("a.obj", obj_text(2))
        with Daemon([self.art], self.cache, "--poll-ms", "100", program=[*MEEK, HOB]) as daemon:
            daemon.sync()
            before = daemon.blob("art/a.obj")
            try:
                told = self.lose(daemon, lambda: self.art.chmod(0))
                self.assertIn("Permission denied", told["reason"])
                daemon.sync()
                self.assertEqual((states(daemon), daemon.blob("art/a.obj")), ({"art/a.obj": "missing"}, before))
            finally:
                self.art.chmod(0o755)
            daemon.wait_asset("art/a.obj", "fresh")
            self.assertEqual(daemon.cooked(), 1)

    def test_an_unmounted_folder(self):
        script = 'mount -t tmpfs hob-test "$0" && cp -p "$0-files/"* "$0" && exec "$@"'
        prefix = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, str(self.art)]
        files = self.folder / "art-files"
        files.mkdir()
        (files / "a.obj").write_text(obj_text(2))
        if subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode:
            self.skipTest("nothing can be mounted in a user namespace here")
        with Daemon([self.art], self.cache, "--poll-ms", "100", program=[*prefix, HOB]) as daemon:
            daemon.sync()
            before = daemon.blob("art/a.obj")
            inside = ["nsenter", f"--target={daemon.process.pid}", "--user", "--mount", "--preserve-credentials"]
            told = self.lose(daemon, lambda: subprocess.run([*inside, "umount", "-l", str(self.art)], check=True))
            self.assertIn("is empty and another one than before", told["reason"])
            self.assertIn("put any file into it", told["reason"])
            daemon.sync()
            self.assertEqual((states(daemon), daemon.blob("art/a.obj")), ({"art/a.obj": "missing"}, before))
            again = f'mount -t tmpfs hob-test "{self.art}" && cp -p "{files}/a.obj" "{self.art}"'
            subprocess.run([*inside, "sh", "-c", again], check=True)
            daemon.wait_asset("art/a.obj", "fresh")
            self.assertEqual(daemon.cooked(), 1)

    def test_empty_folder_in_its_place(self):
        """Another folder without files is an unmounted one; the same folder without files was emptied."""
        self.put("a.obj", obj_text(2))
        with self.serve() as daemon:
            daemon.sync()
            self.lose(daemon)
            self.art.mkdir()
            daemon.sync()
            self.assertEqual(states(daemon), {"art/a.obj": "missing"})
            since = self.root(daemon)["missing_since"]
        with self.serve() as daemon:
            daemon.sync()
            self.assertEqual((states(daemon), self.root(daemon)["missing_since"]), ({"art/a.obj": "missing"}, since))
            self.put("readme.txt", "meant to be empty")
            daemon.wait_asset("art/a.obj", "removed")
            daemon.sync()
            self.assertEqual(states(daemon), {})
            self.put("b.obj", obj_text(3))
            daemon.wait_asset("art/b.obj", "fresh")
            for name in ("b.obj", "readme.txt"):
                (self.art / name).unlink()
            daemon.wait_asset("art/b.obj", "removed")
            daemon.sync()
            self.assertEqual((states(daemon), self.root(daemon)["missing_since"]), ({}, None))

    def test_folder_emptied_while_nobody_watched(self):
        self.put("a.obj", obj_text(2))
        with self.serve() as daemon:
            daemon.sync()
        (self.art / "a.obj").unlink()
        with self.serve() as daemon:
            daemon.sync()
            self.assertEqual((states(daemon), self.root(daemon)["missing_since"]), ({}, None))

    # ---- missing at the start

    def test_start_without_a_root_that_was_known(self):
        self.put_three()
        with self.serve() as daemon:
            daemon.sync()
            before = {name: daemon.blob(name) for name in states(daemon)}
        self.art.rename(self.away)
        since = None
        for _ in range(2):
            with self.serve() as daemon:
                self.assertEqual(states(daemon), dict.fromkeys(before, "missing"))
                self.assertEqual({name: daemon.blob(name) for name in before}, before)
                daemon.wait_log("missing art since")
                banner = until(lambda: "Sandbox" in "".join(daemon.printed) and "".join(daemon.printed), "the banner")
                self.assertIn("3 missing", banner)
                self.assertIn(f"Missing   {self.art}", banner)
                daemon.sync()
                told = self.root(daemon)["missing_since"]
                self.assertEqual(told, since or told)
                since = told
        with self.serve() as daemon:
            self.away.rename(self.art)
            daemon.wait_event("root", lambda data: data["state"] == "watched")
            daemon.sync()
            self.assertEqual((states(daemon), daemon.cooked()), (dict.fromkeys(before, "fresh"), 0))
            self.put("later.obj", obj_text(9))
            daemon.wait_asset("art/later.obj", "fresh")
        with self.serve() as daemon:
            self.assertIsNone(self.root(daemon)["missing_since"])

    def test_start_without_a_root_behind_a_link(self):
        self.put("a.obj", obj_text(2))
        link = self.folder / "link"
        link.symlink_to("art")
        with Daemon([link], self.cache) as daemon:
            daemon.sync()
            self.assertEqual(states(daemon), {"art/a.obj": "fresh"})
        self.art.rename(self.away)
        with Daemon([str(link) + "/"], self.cache) as daemon:
            self.assertEqual(states(daemon), {"art/a.obj": "missing"})

    def test_start_without_a_root_that_nobody_knows_is_refused(self):
        self.put("a.obj", obj_text(2))
        with self.serve() as daemon:
            daemon.sync()
        for wrong in (self.folder / "nowhere", self.folder / "elsewhere/art"):
            ended = subprocess.run([HOB, "serve", str(wrong), "--cache", str(self.cache), "--listen", "127.0.0.1:0"],
                                   capture_output=True, text=True, check=False)
            self.assertEqual(ended.returncode, 2)
            self.assertIn(f"the folder '{wrong}' cannot be opened (No such file or directory)", ended.stderr)
            self.assertIn("mount or create it, or name another folder", ended.stderr)

    # ---- number of files

    def test_two_hundred_roots(self):
        """Where the system provides fewer inotify instances, the last roots are polled."""
        roots = [self.folder / f"r{i:03}" for i in range(257)]
        for i, root in enumerate(roots):
            root.mkdir()
            (root / "a.obj").write_text(obj_text(2, shift=i))
        with Daemon(roots[:200], self.cache) as daemon:
            daemon.sync()
            self.assertEqual(states(daemon), {f"r{i:03}/a.obj": "fresh" for i in range(200)})
            for name in ("r000", "r199"):
                (self.folder / name / "b.obj").write_text(obj_text(3))
                daemon.wait_asset(f"{name}/b.obj", "fresh")
        done = subprocess.run([HOB, "serve", *map(str, roots), "--cache", str(self.cache)], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("at most 256 folders", done.stderr)

    def test_number_of_files_follows_them(self):
        self.put("a.obj", obj_text(1))
        self.put("textures/wood.png", "no picture")
        self.put(".hidden/b.mtl", "newmtl m\n")
        self.put("b.obj", obj_text(2, mtl=".hidden/b.mtl"))
        with self.serve() as daemon:
            daemon.sync()
            scans = daemon.counters()["hob_scans_total"]

            def expect(count, name, *wanted):
                daemon.wait_asset(name, *wanted)
                self.assertEqual(self.root(daemon)["files"], count)

            self.assertEqual(self.root(daemon)["files"], 3)
            self.put("c.obj", obj_text(3))
            expect(4, "art/c.obj", "fresh")
            self.put("c.obj", obj_text(4))
            expect(4, "art/c.obj", "fresh")
            # The hidden file is used, but no scan lists it.
            (self.art / ".hidden/b.mtl").unlink()
            expect(4, "art/b.obj", "fresh")
            self.put(".hidden/b.mtl", "newmtl m\nKd 1 0 0\n")
            expect(4, "art/b.obj", "fresh")
            self.put("deep/er/d.obj", obj_text(5))
            expect(5, "art/deep/er/d.obj", "fresh")
            shutil.rmtree(self.art / "deep")
            expect(4, "art/deep/er/d.obj", "removed")
            (self.art / "textures").rename(self.folder / "textures")
            (self.art / "a.obj").unlink()
            expect(2, "art/a.obj", "removed")
            self.assertEqual(daemon.counters()["hob_scans_total"], scans)
            daemon.sync()
            self.assertEqual(self.root(daemon)["files"], 2)


    # ---- skipped files

    def test_what_is_skipped_is_told(self):
        outside = self.folder / "outside.obj"
        outside.write_text(obj_text(2))
        self.put("a.obj", obj_text(1))
        for name in ("one.mb", "sub/two.MB", "three.max", "notes.txt"):
            self.put(name, "no reader")
        (self.art / "out.obj").symlink_to(outside)
        (self.art / "in.obj").symlink_to("a.obj")
        with self.serve() as daemon:
            daemon.sync()
            daemon.sync()
            self.assertEqual(states(daemon), {"art/a.obj": "fresh", "art/in.obj": "fresh"})
            told = "3 files have no reader: 1 .max, 2 .mb; 1 symbolic link leads out of the folder"
            self.assertEqual(self.root(daemon)["skipped"], told)
            self.assertIn(f"skipped   {told}", self.hob(daemon, "status"))
            self.assertEqual(sorted(file["path"] for file in self.root(daemon)["skipped_files"]), ["one.mb", "sub/two.MB", "three.max"])
            listed = self.hob(daemon, "ls", "--skipped", "max")
            self.assertEqual(listed.split("\n")[:2], ["skipped     art/three.max",
                             "            Hob does not read a 3ds Max scene; export glTF or FBX from 3ds Max"])
            doctor = self.hob(daemon, "doctor", str(self.art))
            self.assertIn(told, " ".join(doctor.split()))
            self.assertEqual(len([line for line in daemon.log if "skipped art/out.obj is a symbolic link that leads out" in line]), 1)
            self.assertEqual(daemon.get("/api/v1/errors").json()["items"], [])
            (self.art / "three.max").unlink()
            (self.art / "out.obj").unlink()
            self.put("b.obj", obj_text(3))
            daemon.wait_asset("art/b.obj", "fresh")
            daemon.sync()
            self.assertEqual(self.root(daemon)["skipped"], "2 files have no reader: 2 .mb")
            self.assertEqual([file["path"] for file in self.root(daemon)["skipped_files"] if "max" in file["path"]], [])
            (self.art / "out.obj").symlink_to(outside)
            daemon.sync()
            self.assertIn("1 symbolic link leads out", self.root(daemon)["skipped"])


if __name__ == "__main__":
    main()
