"""Cook processes that hang, spin, allocate without end, fork, flood, reach out, lie or do not end: each is one failed asset with
its reason, within its limit; no process remains; and the daemon continues. With and without the sandbox."""
import contextlib
import itertools
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import time
import unittest

from hobtest import DEADLINE, HOB, Daemon, Scenario, amount, main, obj_text, until

ROGUE = pathlib.Path(HOB).resolve().with_name("rogue_worker")
SHIFTED_CLOCK = pathlib.Path(HOB).resolve().with_name("libshifted_clock.so")


def processes_of(program):
    """Ids of processes that run this file, with any parent."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if os.readlink(entry / "exe") == str(program):
                    found.append(int(entry.name))
            except PermissionError:  # only root can inspect sandboxed processes
                with contextlib.suppress(OSError):
                    if (entry / "comm").read_text().strip() == program.name and entry.stat().st_uid == os.getuid():
                        found.append(int(entry.name))
            except OSError:
                pass
    return found


def reads(read, paths):
    """Reads files of /proc, skipping those of processes that have ended."""
    found = []
    for path in paths:
        with contextlib.suppress(OSError):
            found.append(read(path))
    return sorted(found)


def open_files(daemon):
    folder = f"/proc/{daemon.process.pid}/fd"
    return reads(os.readlink, [f"{folder}/{fd}" for fd in os.listdir(folder)])


@contextlib.contextmanager
def descriptors_on_their_way(count):
    """Keeps this many descriptors in transit: sent over sockets and not received."""
    with contextlib.ExitStack() as stack:
        null = stack.enter_context(open(os.devnull, "rb"))
        for first in range(0, count, 200):
            left, right = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            stack.callback(left.close)
            stack.callback(right.close)
            socket.send_fds(left, [b"x"], [null.fileno()] * min(200, count - first))
        yield


@unittest.skipUnless(ROGUE.exists(), f"there is no {ROGUE}: it belongs to builds with tests")
class Workers(Scenario):
    def setUp(self):
        super().setUp()
        programs = self.folder / "bin"
        programs.mkdir()
        self.hob, self.worker = programs / "hob", programs / "hob-worker"
        try:
            os.link(HOB, self.hob)
        except OSError:  # HOB is on another file system or owned by another user
            shutil.copy(HOB, self.hob)
        shutil.copy(ROGUE, self.worker)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(self.listener.close)
        self.connect = f"connect-{self.listener.getsockname()[1]}.rogue"

    def rogue(self, *options):
        return Daemon([self.art], self.cache, "--memory", "96 MiB", *options, program=[str(self.hob)])

    def outcome(self, daemon, name):
        self.put(name, name)
        # A crash is retried once and then final.
        item = daemon.wait_asset("art/" + name, "failed", "quarantined", "interrupted")
        self.assertTrue(item["error"]["message"] and item["error"]["hint"], item)
        return item["error"]

    def log_of(self, daemon, name):
        item = daemon.assets()["art/" + name]
        return daemon.get(f"/api/v1/assets/{item['id']}/log")

    def test_sync_of_some_folders_does_not_wait_for_others(self):
        other = self.folder / "other"
        other.mkdir()
        self.put("lie.rogue", "lie")
        with Daemon([self.art, other], self.cache, "--timeout", "600", program=[str(self.hob)]) as daemon:
            sync = lambda **body: daemon.post("/api/v1/sync", {"timeout_ms": int(DEADLINE * 1000), **body})
            self.assertEqual(sync().json()["failed"], ["art/lie.rogue"])
            self.assertEqual(sync(roots=["other"]).json()["failed"], [])
            (other / "hang.rogue").write_text("hang")
            until(lambda: sync(roots=["other"], timeout_ms=500).status == 504 and "other/hang.rogue" in daemon.assets(),
                  "the asset hang.rogue")
            self.put("lie-again.rogue", "lie")
            answer = sync(roots=["art"])
            self.assertEqual((answer.status, sorted(answer.json()["failed"])), (200, ["art/lie-again.rogue", "art/lie.rogue"]))
            for waited in (["other"], ["art", "other"]):
                self.assertEqual(sync(roots=waited, timeout_ms=300).status, 504)
            for wrong, said in ((["none"], "no root 'none'"), ([], "list"), ("art", "list"), ([1], "list"), (["art/other"], "no root")):
                answer = sync(roots=wrong)
                self.assertEqual(answer.status, 400)
                self.assertIn(said, answer.json()["detail"])
                self.assertIn("/api/v1/roots", answer.json()["hint"])

    def contained(self, *options, reasons):
        self.assertEqual(processes_of(self.worker), [])
        # On a crowded machine all take long: only endless ones hit the short limit.
        endless = {name for name, (code, _) in reasons.items() if code == "cook.timeout"}
        self.among("--timeout", "2", *options, reasons={name: why for name, why in reasons.items() if name in endless})
        self.among(*options, reasons={name: why for name, why in reasons.items() if name not in endless})
        self.assertEqual(processes_of(self.worker), [])

    def among(self, *options, reasons):
        with self.rogue(*options) as daemon:
            daemon.sync()
            daemon.get("/api/v1/jobs")  # descriptors opened on first use are open: workers, the index of queries
            before = daemon.counters()["process_open_fds"]
            for name, (code, text) in reasons.items():
                error = self.outcome(daemon, name)
                if error["code"] == "cook.interrupted" and code == "cook.timeout":
                    self.assertIn("this machine is overloaded", error["message"], name)  # not blamed on the model
                else:
                    self.assertEqual(error["code"], code, (name, error))
                    self.assertRegex(error["message"], text, name)
                self.assertEqual(daemon.get("/livez").status, 200)
                self.assertLess(len(self.log_of(daemon, name).body), 200 << 10, name)
            # None of their child processes remains, except for the pool itself.
            daemon.sync()
            mine = processes_of(self.worker)
            self.assertLessEqual(len(mine), os.cpu_count() + 1, reads(pathlib.Path.read_text, [pathlib.Path(f"/proc/{pid}/stat") for pid in mine]))
            self.assertLess(daemon.counters()["process_open_fds"], before + 8, open_files(daemon))
            self.assertLess(daemon.counters()["process_resident_memory_bytes"], 400 << 20)
        for name in reasons:
            (self.art / name).unlink()

    def always(self):
        return {
            "hang.rogue": ("cook.timeout", r"longer than 2 s, though it computed for 0\.\d s only.*twice in a row: its reader waits for ever"),
            "spin.rogue": ("cook.timeout", "longer than 2 s|CPU time"),
            "flood.rogue": ("cook.crashed", "segmentation fault"),
            "lie.rogue": ("cook.rejected", "."),
            "babble.rogue": ("cook.rejected", "protocol"),
            "close.rogue": ("cook.crashed", "without a result"),
            "allocate.rogue": ("cook.out-of-memory", "memory"),
        }

    def test_behind_the_sandbox(self):
        with self.rogue() as daemon:
            layers = next(name for name in daemon.counters() if name.startswith("hob_sandbox_info"))
            if "no " in layers:
                self.skipTest(f"this kernel gives no whole sandbox: {layers}")
        self.contained(reasons=self.always() | {
            "fork.rogue": ("cook.crashed", "forbidden system call"),
            self.connect: ("cook.crashed", "code 11"),
            "write-outside.rogue": ("cook.crashed", "code 14"),
        })
        self.listener.settimeout(0)
        self.assertRaises(BlockingIOError, self.listener.accept)
        self.assertFalse((self.art / "outside.rogue").exists())

    def test_without_the_sandbox_and_saying_so(self):
        with self.rogue("--sandbox", "off") as daemon:
            self.assertIn('hob_sandbox_info{layers="no landlock, no seccomp, limits"}', daemon.counters())
        self.contained("--sandbox", "off", reasons=self.always() | {"fork.rogue": ("cook.timeout", "longer than 2 s")})

    def test_one_that_was_kept_from_running_is_not_to_blame(self):
        shutil.copy(pathlib.Path(HOB).with_name("hob-worker"), self.worker)
        self.put("one.obj", obj_text())
        began = time.monotonic()
        with Daemon([self.art], self.cache, "--jobs", "1", program=[str(self.hob)]) as daemon:
            daemon.sync()
        # Cooks that are long for this machine under its present load.
        limit = str(3 + int(5 * (time.monotonic() - began)))
        with Daemon([self.art], self.cache, "--jobs", "1", "--timeout", limit, program=[str(self.hob)]) as daemon:
            daemon.sync()
            (worker,) = processes_of(self.worker)
            os.kill(worker, signal.SIGSTOP)
            self.put("one.obj", obj_text(2))
            item = daemon.wait_event("asset", lambda data: data["asset"] == "art/one.obj" and "error" in data)
            self.assertEqual((item["state"], item["error"]["code"]), ("stale", "cook.interrupted"))
            self.assertRegex(item["error"]["message"], r"though it computed for 0\.0 s only: it was kept from running \(stopped\)")
            item = daemon.wait_asset("art/one.obj", "fresh")
            self.assertEqual((item["state"], item["kind"]), ("fresh", "recovered"), item)
            self.assertEqual([daemon.counters()[f"hob_worker_{name}_total"] for name in ("timeouts", "crashes", "interrupted")], [0, 0, 1])
            self.assertNotIn(worker, processes_of(self.worker))

    def real(self, *options):
        if self.worker.stat().st_size == ROGUE.stat().st_size:  # only once: serve may be called again
            shutil.copy(pathlib.Path(HOB).with_name("hob-worker"), self.worker)
        return Daemon([self.art], self.cache, "--jobs", "1", *options, program=[str(self.hob)])

    def cook_and_kill(self, daemon, name, number=signal.SIGKILL, times=2):
        """Saves a slow model, and ends the process that many times while it cooks. If the test is slow, a cook may end before
        that: then it saves again."""
        deaths = lambda: daemon.counters()["hob_worker_interrupted_total"]
        for shift in itertools.count(number):
            cooked, died = daemon.cooked(), deaths()
            over = lambda: daemon.cooked() > cooked
            self.put(name, obj_text(100000, shift=shift))
            for i in range(times):
                until(lambda: daemon.counters()["hob_jobs_running"] == 1 or over(), f"cook {i} of {name}")
                for worker in processes_of(self.worker):
                    os.kill(worker, number)
                until(lambda i=i: deaths() > died + i or over(), f"death {i} of {name}")
            if not over():
                return

    def test_a_death_from_outside_condemns_nothing(self):
        for number in (signal.SIGKILL, signal.SIGTERM):
            name = f"killed-{number.name}.obj"
            with self.real() as daemon:
                daemon.sync()
                self.cook_and_kill(daemon, name, number)
                # On a crowded machine a preview may have come first, and is served meanwhile.
                item = daemon.wait_asset("art/" + name, "interrupted", "stale")
                self.assertEqual(item["error"]["code"], "cook.interrupted")
                self.assertIn("from outside", item["error"]["message"])
                self.assertNotIn("smaller", item["error"]["hint"])
                # Automatically, after its pause.
                self.assertEqual(daemon.wait_asset("art/" + name, "fresh")["state"], "fresh")
                self.assertEqual(daemon.counters()["hob_worker_crashes_total"], 0)
            with self.real() as daemon:
                daemon.sync()
                self.assertEqual(daemon.assets()["art/" + name]["state"], "fresh")
                (self.art / name).unlink()

    def test_open_files_of_others_condemn_nothing(self):
        """The kernel counts a user's descriptors in transit in sockets of all programs. While there are more than a cook process
        may open, it cannot send its result."""
        with self.real() as daemon:
            daemon.sync()
            with descriptors_on_their_way(400):
                self.put("one.obj", obj_text(5000))  # its result is a file, small ones are in the message
                item = daemon.wait_asset("art/one.obj", "interrupted")
                self.assertEqual(item["error"]["code"], "cook.interrupted")
                self.assertIn("open files on their way", item["error"]["message"])
            self.assertEqual(daemon.wait_asset("art/one.obj", "fresh")["state"], "fresh")
            self.assertEqual(daemon.counters()["hob_worker_crashes_total"], 0)

    def test_a_restart_forgets_an_interruption(self):
        with self.real() as daemon:
            daemon.sync()
            self.cook_and_kill(daemon, "one.obj")
            daemon.wait_asset("art/one.obj", "interrupted")
            daemon.kill()
        with self.real() as daemon:
            daemon.sync()
            self.assertEqual(daemon.assets()["art/one.obj"]["state"], "fresh")

    def test_rounds_of_deaths_from_outside_leave_no_good_model_condemned(self):
        """Cook processes are killed, ended or stopped for a moment while good models are saved."""
        chance, rounds = random.Random(int(os.environ.get("HOB_SEED", "18"))), amount(8, 200)
        with self.real() as daemon:
            daemon.sync()
            for i in range(rounds):
                self.put(f"good-{i % 20}.obj", obj_text(2000, shift=i))
                number = chance.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP))
                workers = until(lambda: processes_of(self.worker), "a cook process")
                for _ in range(chance.randrange(4)):  # so that cooks have progressed differently
                    daemon.counters()
                for worker in workers:
                    for one in (number, signal.SIGCONT):
                        with contextlib.suppress(ProcessLookupError):
                            os.kill(worker, one)
            names = {f"art/good-{i % 20}.obj" for i in range(rounds)}
            states = lambda: {daemon.assets()[name]["state"] for name in names if name in daemon.assets()}
            until(lambda: states() == {"fresh"}, "every model fresh")
            counters = daemon.counters()
            self.assertEqual(counters["hob_worker_crashes_total"], 0)
            print(f"workers: {rounds} rounds, {counters['hob_worker_interrupted_total']:.0f} cooks interrupted, 0 models condemned")

    def memory_group(self):
        """A memory control group v1, with a function that allows it this many bytes more than it holds."""
        mine = next((line.split(":")[2] for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines() if ":memory:" in line), None)
        group = pathlib.Path("/sys/fs/cgroup/memory" + (mine or "")) / f"hob-{os.getpid()}"
        try:
            group.mkdir()
        except OSError as why:
            self.skipTest(f"no memory group can be made: {why}")
        self.addCleanup(group.rmdir)
        return group

    def test_the_kernel_that_has_no_memory_left_condemns_nothing(self):
        group = self.memory_group()
        limit = group / "memory.limit_in_bytes"
        with self.rogue() as daemon:
            (group / "cgroup.procs").write_text(str(daemon.process.pid))
            # The pool's processes are still outside the group; their successors are children of the daemon.
            for worker in processes_of(self.worker):
                os.kill(worker, signal.SIGKILL)
            daemon.sync()
            limit.write_text(str(int((group / "memory.usage_in_bytes").read_text()) + (32 << 20)))
            self.put("allocate.rogue", "allocate")
            item = daemon.wait_asset("art/allocate.rogue", "interrupted")
            self.assertEqual(item["error"]["code"], "cook.interrupted")
            self.assertRegex(item["error"]["message"], "the kernel ended .* because memory ran out")
            # Automatically, when the container has more: now it reaches its own limit.
            limit.write_text("-1")
            self.assertEqual(daemon.wait_asset("art/allocate.rogue", "failed")["error"]["code"], "cook.out-of-memory")
            self.assertIsNone(daemon.process.poll())

    def test_a_person_who_asks_is_never_answered_with_a_remembered_death(self):
        with self.rogue() as daemon:
            self.outcome(daemon, "flood.rogue")
            item = daemon.assets()["art/flood.rogue"]
            before = daemon.counters()["hob_worker_crashes_total"]
            self.assertEqual(daemon.post(f"/api/v1/assets/{item['id']}/cook", {}).status, 202)
            daemon.sync()
            self.assertGreater(daemon.counters()["hob_worker_crashes_total"], before)

    def test_each_version_has_its_second_try_and_a_remembered_death_its_state(self):
        with self.rogue() as daemon:
            crashes = lambda: daemon.counters()["hob_worker_crashes_total"]
            tries = 0
            for version, times in (("one", 1), ("two", 2), ("one", 2)):
                self.put("flood.rogue", version)
                daemon.wait_event("job", lambda data: data["state"] == "failed")
                daemon.sync()
                tries = tries or crashes()
                self.assertGreater(tries, 1)
                self.assertEqual((daemon.assets()["art/flood.rogue"]["state"], crashes()), ("quarantined", times * tries), version)

    def test_a_remembered_death_is_tried_again_after_a_day_and_when_the_clock_was_wrong(self):
        with self.rogue() as daemon:
            self.outcome(daemon, "flood.rogue")
        deaths = lambda daemon: daemon.sync() and daemon.counters()["hob_worker_crashes_total"]
        day = 24 * 60 * 60
        for shift, tried in ((0, False), (day - 60 * 60, False), (day + 60, True), (-3 * day, True)):
            then = ["env", f"LD_PRELOAD={SHIFTED_CLOCK}", f"HOB_TEST_CLOCK_SHIFT={shift}", "ASAN_OPTIONS=verify_asan_link_order=0", str(self.hob)]
            with Daemon([self.art], self.cache, "--memory", "64 MiB", program=then) as daemon:
                self.assertEqual(deaths(daemon) > 0, tried, f"{shift} s later")
                self.assertEqual(daemon.assets()["art/flood.rogue"]["state"], "quarantined")

    def test_raised_timeout_gives_another_chance(self):
        with self.rogue("--timeout", "1") as daemon:
            error = self.outcome(daemon, "hang.rogue")
            while error["code"] == "cook.interrupted":  # this machine is overloaded, and the daemon tries again
                error = daemon.wait_asset("art/hang.rogue", "failed", "interrupted")["error"]
            self.assertEqual(error["code"], "cook.timeout")
        with self.rogue("--timeout", "1") as daemon:
            daemon.sync()
            self.assertEqual(daemon.assets()["art/hang.rogue"]["state"], "failed")
            self.assertEqual(daemon.counters()["hob_worker_timeouts_total"], 0)
        with self.rogue("--timeout", "60") as daemon:
            daemon.wait_event("job", lambda data: data["state"] == "cooking")

    def test_without_a_daemon_too(self):
        """hob cook."""
        self.put("hang.rogue", "hang")
        ran = subprocess.run([str(self.hob), "cook", str(self.art), "--check", "--timeout", "1"], capture_output=True, text=True)
        self.assertEqual(ran.returncode, 1)
        self.assertIn("twice in a row", ran.stderr)

    def test_a_model_that_the_lean_worker_cannot_read_goes_to_the_other(self):
        """hob-worker-lean has no Assimp, Draco, AVIF or TIFF: the daemon and hob cook give such a model to hob-worker."""
        built = pathlib.Path(HOB).resolve()
        if not built.with_name("hob-worker-lean").exists():
            self.skipTest("this build has no hob-worker-lean")
        cube = "".join(f"{x} {y} {z}\n" for x in (0, 1) for y in (0, 1) for z in (0, 1))
        self.put("plain.obj", obj_text())
        self.put("rare.ac", 'AC3Db\nMATERIAL "m" rgb 1 1 1 amb 1 1 1 emis 0 0 0 spec 0 0 0 shi 0 trans 0\nOBJECT world\nkids 1\n'
                 f"OBJECT poly\nnumvert 8\n{cube}numsurf 1\nSURF 0x10\nmat 0\nrefs 3\n0 0 0\n1 1 0\n3 1 1\nkids 0\n")
        made = []
        for lean in (True, False):
            for name in ("hob-worker-lean", "hob-worker") if lean else ("hob-worker",):
                (self.worker.with_name(name)).unlink(missing_ok=True)
                shutil.copy(built.with_name(name), self.worker.with_name(name))
            if not lean:
                self.worker.with_name("hob-worker-lean").unlink()
            out = self.folder / f"out-{lean}"
            ran = subprocess.run([str(self.hob), "cook", str(self.art), "-o", str(out)], capture_output=True, text=True)
            self.assertEqual(ran.returncode, 0, ran.stderr)
            made.append({path.name: path.read_bytes() for path in out.rglob("*") if path.is_file() and path.suffix != ".json"})
        self.assertEqual(made[0], made[1])
        self.assertGreater(len(made[0]), 1)

    def test_workers_that_ignore_sigterm_do_not_hold_the_stop(self):
        with self.rogue("--timeout", "60") as daemon:
            self.put("hang.rogue", "hang")
            daemon.wait_event("job", lambda data: data["state"] == "cooking")
            daemon.process.send_signal(signal.SIGTERM)
            self.assertEqual(daemon.process.wait(timeout=DEADLINE), 0)
        self.assertEqual(processes_of(self.worker), [])

    def test_worker_that_cannot_start_is_named_and_retried(self):
        self.worker.unlink()
        self.worker.write_text("#!/bin/sh\necho no such library\nexit 127\n")
        self.worker.chmod(0o755)
        daemon = Daemon([self.art], self.cache, wait_ready=False, program=[str(self.hob)])
        try:
            daemon.wait_log("no such library")
            shutil.copy(ROGUE, self.folder / "good")
            os.replace(self.folder / "good", self.worker)
            daemon.wait_banner()
        finally:
            daemon.kill()

    def test_worker_deleted_while_the_daemon_runs_blocks_and_heals(self):
        shutil.copy(pathlib.Path(HOB).with_name("hob-worker"), self.worker)
        self.put("good.obj", obj_text())
        with Daemon([self.art], self.cache, "--jobs", "1", program=[str(self.hob)]) as daemon:
            daemon.sync()
            good = daemon.blob("art/good.obj")
            kept = self.folder / "kept"
            running = processes_of(self.worker)
            self.worker.rename(kept)
            for pid in running:
                os.kill(pid, signal.SIGKILL)
            self.assertIn("hob-worker", daemon.wait_log("workers"))
            self.put("new.obj", obj_text(2))
            self.put("good.obj", obj_text(3))
            blocked = {}  # whichever is first: requested reads precede others
            while len(blocked) < 2:
                item = daemon.wait_event("asset", lambda data: data["state"] in ("blocked", "stale"))
                blocked[item["asset"]] = item
            item = blocked["art/new.obj"]
            self.assertEqual((item["state"], blocked["art/good.obj"]["state"]), ("blocked", "stale"))
            self.assertEqual(item["error"]["code"], "cook.no-worker")
            self.assertIn(f"'{self.worker}' could not be started: No such file", item["error"]["message"])
            self.assertIn("hob-worker", item["error"]["hint"])
            self.assertEqual(blocked["art/good.obj"]["error"]["code"], "cook.no-worker")
            # A request is answered without waiting; the last good version is served.
            self.assertEqual(len(daemon.sync()["failed"]), 2)
            self.assertEqual(daemon.blob("art/good.obj"), good)
            self.assertEqual(daemon.get("/a/art/new.obj").status, 503)
            ready = daemon.get("/readyz")
            self.assertEqual(ready.status, 503)
            self.assertIn(b"not workers: '" + str(self.worker).encode(), ready.body)
            self.assertIn("hob-worker", daemon.get("/api/v1/stats").json()["degraded"])
            kept.rename(self.worker)
            self.assertEqual(daemon.wait_asset("art/new.obj", "fresh")["kind"], "recovered")
            self.assertEqual(daemon.sync()["failed"], [])
            self.assertEqual(daemon.get("/readyz").status, 200)
            self.assertIsNone(daemon.get("/api/v1/stats").json()["degraded"])


if __name__ == "__main__":
    main()
