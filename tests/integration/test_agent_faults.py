"""hob-agent with system calls that fail, one at a time, and with connections that are cut after each byte: nothing that is on the
disk is deleted at the daemon, no half file gets there, and the next run makes the trees equal."""
import collections
import concurrent.futures
import errno
import hashlib
import os
import re
import shutil
import signal
import subprocess
import unittest

import test_agent
from wire import Wire
from hobtest import DEADLINE, amount, main, obj_text, until

# The calls of a session and an error that each may give. Calls of the loader and of the allocator come before main or end it.
CALLS = {**dict.fromkeys(("openat", "socket"), "EMFILE"), **dict.fromkeys(("connect", "poll", "ppoll"), "ENOMEM"), "mkdir": "ENOSPC", "flock": "ENOLCK",
         **dict.fromkeys(("read", "pread64", "write", "newfstatat", "fstat", "lseek", "getdents64", "sendto", "sendmsg", "recvfrom", "recvmsg", "rename", "readlink",
                          "close", "fcntl", "setsockopt", "getsockopt", "getsockname", "clock_nanosleep", "unlink"), "EIO")}


class Faults(test_agent.Agent):
    def setUp(self):
        super().setUp()
        self.versions = set()

    def lay(self, desk):
        """The first state, which the daemon has, and what stays of it."""
        for path, text in (("a.txt", "a"), ("b/b.obj", obj_text(2)), ("b/c/c.bin", "c" * 40000), ("d.txt", "d"), ("gone.txt", "gone")):
            self.put(desk / path, text)

    def put(self, path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        self.versions.add(hashlib.sha256(text.encode()).hexdigest())

    def edit(self, desk, number):
        self.put(desk / "b/b.obj", obj_text(3, shift=number))
        self.put(desk / "new.bin", f"{number} " * 9000)
        os.rename(desk / "d.txt", desk / "e.txt")
        (desk / "gone.txt").unlink()

    def run_agent(self, desk, base, state, *before, url=None):
        return subprocess.run([*before, *test_agent.AGENT.split(), str(desk), url or f"http://127.0.0.1:{self.port}", "--root", "art", "--base", base, "--once", "--yes"],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", timeout=DEADLINE,
                              env=dict(os.environ, HOB_AGENT_STATE=str(state), ASAN_OPTIONS="detect_leaks=0"), check=False)

    def session(self, number, disturb):
        """A first run, edits, a run that `disturb` disturbs, a second run. Returns the disturbed run."""
        base, desk, state = f"n{number}", self.folder / f"desk{number}", self.folder / f"state{number}"
        self.lay(desk)
        first = self.run_agent(desk, base, state)
        self.assertEqual(first.returncode, 0, first.stdout)
        before = test_agent.tree(self.art / base)
        self.edit(desk, number)
        done = disturb(desk, base, state)
        there, wanted = test_agent.tree(self.art / base), test_agent.tree(desk)
        what = f"{number}: {done.args[:8]}\n{done.stdout}"
        self.assertIn(done.returncode, range(5), what)
        self.assertNotRegex(done.stdout, "Sanitizer|runtime error", what)
        self.assertEqual(set(before) & set(wanted) - set(there), set(), "deleted though it is on the disk: " + what)
        self.assertEqual(set(there.values()) - self.versions, set(), "a version that nobody saved: " + what)
        again = self.run_agent(desk, base, state)
        self.assertEqual((again.returncode, test_agent.tree(self.art / base)), (0, wanted), what + again.stdout)
        shutil.rmtree(desk)
        return done

    def whole_versions_only(self, daemon):
        daemon.sync()
        for item in daemon.assets().values():
            for cook in daemon.get(f"/api/v1/assets/{item['id']}/history").json()["items"]:
                self.assertIn(cook["source"], self.versions | {None, ""})

    @unittest.skipUnless(shutil.which("strace"), "there is no strace")
    def test_each_call_fails_in_turn(self):
        log, counts = self.folder / "calls", collections.Counter()
        trace = ("strace", "-f", "-qq", "-o", str(log), "-e")
        with self.serve() as daemon:
            self.session(0, lambda *where: self.run_agent(*where, *trace, "trace=" + ",".join(CALLS)))
            lines = log.read_text().splitlines()
            start = next(i for i, line in enumerate(lines) if str(self.folder / "desk0") in line)  # before: the loader
            before = collections.Counter()
            for i, line in enumerate(lines):
                if (name := re.match(r"\d+ +(\w+)\(", line)):
                    (before if i < start else counts)[name[1]] += 1
            points = [(name, before[name] + n + 1) for name, count in sorted(counts.items()) for n in range(count)]
            points = points[::max(1, len(points) // amount(40, 100000))]

            def fail(item):
                number, (name, when) = item
                own = self.folder / f"calls{number}"
                inject = ("strace", "-f", "-qq", "-o", str(own), "-e", f"trace={name}", "-e", f"inject={name}:error={CALLS[name]}:when={when}")
                self.session(number, lambda *where: self.run_agent(*where, *inject))
                found = "(INJECTED)" in own.read_text()
                own.unlink()
                return found
            with concurrent.futures.ThreadPoolExecutor(amount(4, 6)) as pool:
                failed = sum(pool.map(fail, enumerate(points, 1)))
            self.whole_versions_only(daemon)
            print(f"{failed} of {len(points)} calls failed ({dict(counts)})", end=" ", flush=True)
            self.assertGreater(failed, len(points) // 2)

    def test_a_connection_is_cut_after_each_byte(self):
        with self.serve() as daemon:
            def cut(number, way, at):
                wire = Wire(self.port)
                try:
                    wire.budget[way] = at
                    self.session(number, lambda *where: self.run_agent(*where, url=f"http://127.0.0.1:{wire.port}"))
                    return wire
                finally:
                    wire.stop()
            whole = cut(0, "up", None)
            sizes = {"up": sum(whole.up.values()), "down": sum(whole.down.values())}
            heads = sizes["up"] - sum(sizes for sizes, _ in whole.blobs.values())
            points = [(way, n) for way in sizes for n in range(1, sizes[way])
                      if way == "down" or n < heads or n % 997 == 0]  # within a blob one place is like another
            points = points[::max(1, len(points) // amount(40, 100000))]
            with concurrent.futures.ThreadPoolExecutor(amount(6, 40)) as pool:
                cuts = sum(wire.cuts for wire in pool.map(lambda item: cut(item[0], *item[1]), enumerate(points, 1)))
            self.whole_versions_only(daemon)
            print(f"{cuts} cuts at {len(points)} places of {sizes}", end=" ", flush=True)
            self.assertGreater(cuts, len(points) // 2)


@unittest.skipUnless(shutil.which("strace"), "there is no strace")
class Renames(test_agent.Agent):
    """A model is renamed while the agent lists folders, stopped at each listing in turn: its id stays."""

    def lists(self, *inject, then=lambda pid: None):
        """A run of the agent. Returns the numbers of its calls that list folders of the desk."""
        log = self.folder / "lists"
        agent = subprocess.Popen(["strace", "-f", "-y", "-qq", "-o", log, "-e", "trace=getdents64", *inject, *test_agent.AGENT.split(), self.desk,
                                  f"http://127.0.0.1:{self.port}", "--root", "art", "--once", "--yes"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, text=True, env=dict(os.environ, HOB_AGENT_STATE=str(self.folder / "state"), ASAN_OPTIONS="detect_leaks=0"))
        if inject:
            until(lambda: "stopped by SIGSTOP" in log.read_text() if log.exists() else agent.poll() is not None, "a stopped agent")
            then(int(log.read_text().split()[0]))
        said = agent.communicate(timeout=DEADLINE)[0]
        self.assertEqual(agent.returncode, 0, said)
        listed = [line for line in log.read_text().splitlines() if "getdents64(" in line]
        log.unlink()
        return [number for number, call in enumerate(listed, 1) if str(self.desk) in call]

    def test_a_file_is_renamed_while_folders_are_listed(self):
        places = [self.desk / "a/1.obj", self.desk / "b/1.obj"]
        for place in places:
            place.parent.mkdir()
            (place.parent / "stays.txt").write_text(place.parent.name)
        places[0].write_text(obj_text(2))

        def rename(pid):
            os.rename(*places)
            os.kill(pid, signal.SIGCONT)
        with self.serve() as daemon:
            self.lists()
            calls = self.lists()
            id = daemon.assets()["art/a/1.obj"]["id"]
            for number in [number for number in calls for _ in places]:
                self.lists("-e", f"inject=getdents64:signal=SIGSTOP:when={number}", then=rename)
                places.reverse()
                self.lists()
                self.assertEqual(test_agent.tree(self.art), test_agent.tree(self.desk))
                daemon.sync()
                self.assertEqual(daemon.assets()[f"art/{places[0].relative_to(self.desk)}"]["id"], id, f"stopped at {number} of {calls}")


class PythonRenames(Renames, test_agent.Python):
    """The same with hob.py."""


def load_tests(loader, tests, pattern):
    return unittest.TestSuite([Faults("test_each_call_fails_in_turn"), Faults("test_a_connection_is_cut_after_each_byte"),
                               *(kind("test_a_file_is_renamed_while_folders_are_listed") for kind in (Renames, PythonRenames))])


if __name__ == "__main__":
    main()
