"""Failing system calls: EIO, ENOSPC, EMFILE, ENOMEM, EAGAIN, once at each of the first calls of a kind, or persistently. The
daemon survives, every body matches its name, a persistent fault is named, and afterwards everything is brought up to date without
another save."""
import collections
import concurrent.futures
import errno
import hashlib
import os
import queue
import random
import shutil
import signal
import threading
import unittest

from faulty import Faults
from hobtest import DEADLINE, LONG, Daemon, Scenario, amount, built_with, children, fresh_folder, main, obj_text, png

SEED = int(os.environ.get("HOB_SEED", "3"))
DEPTH = int(os.environ.get("HOB_FAULT_DEPTH", amount(3, 1000)))  # number of calls of a kind that fail one by one

Point = collections.namedtuple("Point", "kinds error below cause")
ART, CACHE = "art", "cache"
SHARED = ("--pack-below", "1KiB")  # a save makes files and appends to packs
# SQLite has its own messages.
SAID = {errno.ENOSPC: ("No space left on device", "no room left", "unable to open database file"),
        errno.EIO: ("Input/output error", "disk I/O error", "unable to open database file"),
        errno.ENOMEM: ("Cannot allocate memory", "no memory left", "out of memory")}
SAVE, SCAN, KILL, START = "save", "scan", "kill of the cook processes", "start"
FIELDS = "&fields=root,path,state,outputs"


def variant(folder, turn):
    """The files of one state of the tree: {path below `folder`: bytes}."""
    return {f"{folder}a.obj": obj_text(3, mtl="a.mtl").encode(),
            f"{folder}a.mtl": b"newmtl m\nKd 1 0 0\nmap_Kd a.png\n",
            f"{folder}a.png": png(turn % 251, turn // 251, 9),
            f"{folder}b.obj": obj_text(6, shift=turn + 1).encode(),
            f"{folder}sub/c.obj": obj_text(9, shift=turn + 1).encode()}


def facts(items):
    """{asset: (state, outputs)} without the report, which contains times."""
    return {name: (item["state"], sorted((output["name"], output["hash"]) for output in item["outputs"]
                                         if output["name"] != "report"))
            for name, item in items.items()}


class Truth:
    """The expected cook of each state of the tree, by a separate daemon without faults."""

    def __init__(self, folder):
        self.art = folder / "truth"
        self.art.mkdir()
        self.known, self.lock = [], threading.Lock()
        self.daemon = Daemon([self.art], folder / "truth-cache")

    def __getitem__(self, turn):
        """{asset: outputs}"""
        with self.lock:
            while turn >= len(self.known):
                self.cook(range(len(self.known), len(self.known) + 16))
            return self.known[turn]

    def cook(self, turns):
        for turn in turns:
            for path, data in variant(f"v{turn}/", turn).items():
                (self.art / path).parent.mkdir(parents=True, exist_ok=True)
                (self.art / path).write_bytes(data)
        self.daemon.sync()
        found = facts(self.daemon.assets(FIELDS))
        for turn in turns:
            begin = f"truth/v{turn}/"
            self.known.append({name[len(begin):]: outputs for name, (_, outputs) in found.items() if name.startswith(begin)})
            shutil.rmtree(self.art / f"v{turn}")


class Life:
    """A daemon whose calls can fail, and its expected results."""

    def __init__(self, scenario, name, truth):
        self.folder = scenario.folder / name
        self.folder.mkdir()
        self.art, self.cache = self.folder / ART, self.folder / CACHE
        self.art.mkdir()
        self.faults = Faults(self.folder)
        self.scenario, self.truth, self.turn = scenario, truth, -1
        self.names = set()
        self.save()
        self.daemon = self.faults.serve([self.art], self.cache, *SHARED)
        self.daemon.sync()

    def save(self):
        """The next state of the tree, saved as in editors."""
        self.turn += 1
        for path, data in variant("", self.turn).items():
            target = self.art / path
            target.parent.mkdir(exist_ok=True)
            if target.exists() and target.read_bytes() == data:
                continue
            beside = target.with_name("." + target.name)
            beside.write_bytes(data)
            beside.rename(target)

    def alive(self):
        code = self.daemon.process.poll()
        assert code is None, f"the daemon ended with {code}:\n" + "\n".join(self.daemon.log[-60:])

    def is_right(self):
        """Whether everything matches the files; wrong results are never allowed in between."""
        wanted = self.truth[self.turn]
        items = self.daemon.assets(FIELDS)
        return facts(items) == {f"{ART}/{name}": ("fresh", outputs) for name, outputs in wanted.items()}

    def settle(self, what, point):
        """Waits until everything is right. No scan is requested, and no existing file counts as removed meanwhile."""
        while True:
            self.alive()
            if self.is_right():
                break
            try:
                kind, data = self.daemon.events.get(timeout=DEADLINE)
            except queue.Empty:
                raise AssertionError(f"not healed after {what}: {facts(self.daemon.assets(FIELDS))}\nwanted {self.truth[self.turn]}\n" +
                                     "\n".join(self.daemon.log[-40:])) from None
            assert data.get("state") != "removed", (what, data, self.daemon.log[-20:])
            if kind == "end":
                self.alive()
                self.daemon.listen()
        for name, outputs in self.truth[self.turn].items():
            for output, digest in outputs:
                answer = self.daemon.get("/blobs/" + digest)
                while answer.status != 200:
                    # An unreadable blob may have been dropped, and is then cooked again.
                    assert answer.status in (404, 503) and point.below == CACHE, (what, name, output, answer.status, answer.body)
                    if answer.status == 404:
                        self.daemon.wait_event("job", lambda data: data["state"] in ("cooked", "hit"))
                    answer = self.daemon.get("/blobs/" + digest)
                assert hashlib.sha256(answer.body).hexdigest() == digest, (what, name, output)

    def place(self, point):
        return f"{self.folder}/{point.below}" if point.below else ""

    def provoke(self, point):
        if point.cause == SCAN:  # an incomplete scan may take longer; its waiter has to be settled first
            self.daemon.post("/api/v1/sync", {"timeout_ms": 1, "scan": True})
        if point.cause == KILL:
            for pid in children(self.daemon.process.pid):
                os.kill(pid, signal.SIGKILL)
        if point.cause != SCAN:
            self.save()

    def once(self, point):
        """The first, the second ... call fails; ends when no call is left to fail. Returns how many failed."""
        hits = 0
        for number in range(1, DEPTH + 1):
            with self.faults.fail(point.kinds, point.error, self.place(point), first=number, times=1) as faults:
                self.provoke(point)
                self.settle(f"{name_of(point)}, call {number}", point)
                hits += faults.page.failed
                if not faults.page.failed:
                    break
        return hits

    def short_of_memory(self, number):
        """One allocation of the daemon's own code fails."""
        with self.faults.fail("memory", errno.ENOMEM, first=number, times=1) as faults:
            self.save()
            self.settle(f"allocation {number}", Point("memory", errno.ENOMEM, "", SAVE))
        return faults.page.failed

    def lasting(self, point):
        """All calls fail until the daemon has reported it."""
        while not self.daemon.lines.empty():
            self.daemon.lines.get_nowait()
        with self.faults.fail(point.kinds, point.error, self.place(point)) as faults:
            self.provoke(point)
            try:
                said = SAID.get(point.error, [os.strerror(point.error)])
                while not (line := self.daemon.wait_log("")) or not any(word in line for word in said):
                    pass
            except queue.Empty:
                raise AssertionError(f"nobody named the trouble of {name_of(point)}; {faults.page.failed} failed:\n" +
                                     "\n".join(self.daemon.log[-30:])) from None
        self.settle(f"{name_of(point)}, lasting", point)
        return faults.page.failed


    def start(self, point, first, times):
        """A start either ends with a message or continues; the next one has everything. True when it continued."""
        what = f"{name_of(point)}, from call {first}, {times or 'all'}"
        self.faults.arm(point.kinds, point.error, self.place(point), first=first, times=times)
        self.daemon = self.faults.serve([self.art], self.cache, *SHARED, wait_ready=False)
        if point.kinds == "spawn" and not times:
            self.daemon.wait_log(os.strerror(point.error))
            self.faults.disarm()
        self.daemon.port = self.daemon.banner.get(timeout=DEADLINE)
        self.faults.disarm()
        started = self.daemon.port is not None
        if started:
            self.daemon.listen()
            self.settle(what, point)
            assert self.daemon.stop() == 0, what
        else:
            code = self.daemon.process.wait(timeout=DEADLINE)
            # A failure of the first four threads is reported. The next four are libuv's own: it aborts without a message.
            silent = point.kinds == "thread" and times and 4 < first <= 8
            assert code in (2, 5) or (silent and code == -signal.SIGABRT), (what, code)
            while self.daemon.lines.get(timeout=DEADLINE) is not None:
                pass
            said = "\n".join(self.daemon.log)
            assert silent or any(word in said for word in SAID.get(point.error, [os.strerror(point.error)])), (what, said)
        with self.faults.serve([self.art], self.cache, *SHARED) as self.daemon:
            self.settle(what, point)
            assert self.daemon.cooked() == 0, what
        return started

    def starts(self, point):
        """All calls fail; in the long form, also each one alone, until none is left. Returns how many starts there were, and how
        many continued."""
        went_on = [self.start(point, 1, 0)]
        while LONG and len(went_on) <= DEPTH:
            started = self.start(point, len(went_on), 1)
            if not self.faults.page.failed:
                break
            went_on.append(started)
        return len(went_on), sum(went_on)


def name_of(point):
    return f"{point.kinds} {errno.errorcode[point.error]} in {point.below or 'any place'} at a {point.cause}"


STARTS = [Point(kinds, error, below, START) for kinds, below, errors in (
    ("open", CACHE, (errno.EMFILE, errno.EIO)), ("read", CACHE, (errno.EIO,)), ("create", CACHE, (errno.ENOSPC,)),
    ("write", CACHE, (errno.ENOSPC, errno.EIO)), ("mkdir", CACHE, (errno.ENOSPC,)), ("map", CACHE, (errno.ENOMEM,)),
    ("stat", CACHE, (errno.EIO,)), ("open", ART, (errno.EMFILE, errno.EIO)), ("stat", ART, (errno.EIO,)), ("list", ART, (errno.EIO,)),
    ("thread", "", (errno.EAGAIN,)), ("watch", "", (errno.ENOSPC,)), ("spawn", "", (errno.EAGAIN,))) for error in errors]
LASTING = [
    *(Point(kinds, error, below, cause) for kinds, below, cause, errors in (
        ("create", CACHE, SAVE, (errno.ENOSPC, errno.EMFILE, errno.EIO)), ("write", CACHE, SAVE, (errno.ENOSPC, errno.EIO)),
        ("name", CACHE, SAVE, (errno.ENOSPC, errno.EIO)), ("sync", CACHE, SAVE, (errno.EIO,)),
        ("write", CACHE + "/index.db", SAVE, (errno.ENOSPC, errno.EIO)),
        ("open", ART, SAVE, (errno.EMFILE, errno.EIO)), ("stat", ART, SAVE, (errno.EIO,)), ("read", ART, SAVE, (errno.EIO,)),
        ("open", ART, SCAN, (errno.EMFILE, errno.EIO)), ("list", ART, SCAN, (errno.EIO,)), ("stat", ART, SCAN, (errno.EIO,)),
        ("spawn", "", KILL, (errno.EAGAIN, errno.ENOMEM)), ("socket", "", KILL, (errno.EMFILE,)),
        ("open create socket accept", "", SAVE, (errno.EMFILE,))) for error in errors),
]
ONCE = [
    *(Point(kinds, error, below, SAVE) for kinds, below, errors in (
        ("create", CACHE, (errno.ENOSPC, errno.EMFILE, errno.EIO)), ("write", CACHE, (errno.ENOSPC, errno.EIO)),
        ("name", CACHE, (errno.ENOSPC, errno.EIO)), ("mkdir", CACHE, (errno.ENOSPC,)), ("read", CACHE, (errno.EIO,)),
        ("open", CACHE, (errno.EMFILE,)), ("stat", CACHE, (errno.EIO,)),
        ("open", ART + "/b.obj", (errno.EMFILE, errno.EIO, errno.ENOMEM)), ("open", ART + "/a.png", (errno.EMFILE, errno.EIO)),
        ("stat", ART + "/b.obj", (errno.EIO,)), ("stat", ART + "/a.png", (errno.EIO,)),
        ("read", ART + "/b.obj", (errno.EIO,)), ("read", ART + "/a.png", (errno.EIO,)),
        ("accept", "", (errno.EMFILE,)), ("send", "", (errno.EAGAIN,))) for error in errors),
    *(Point(kinds, error, ART, SCAN) for kinds, errors in (
        ("open", (errno.EMFILE, errno.EIO)), ("stat", (errno.EIO,)), ("list", (errno.EIO, errno.ENOMEM))) for error in errors),
    Point("thread", errno.EAGAIN, "", SCAN),
]


@unittest.skipIf(built_with("tsan"), "its runtime wants the functions that are replaced here for itself")
class FaultsTest(Scenario):
    def spread(self, lives, work, points):
        """Each daemon takes the next fault point; {point: number of failed calls}."""
        todo, done = queue.Queue(), {}
        for point in points:
            todo.put(point)

        def run(life):
            while True:
                try:
                    point = todo.get_nowait()
                except queue.Empty:
                    return
                done[point] = work(life, point)

        with concurrent.futures.ThreadPoolExecutor(len(lives)) as pool:
            for future in [pool.submit(run, life) for life in lives]:
                future.result()
        return done

    @classmethod
    def setUpClass(cls):
        folder = fresh_folder()
        cls.addClassCleanup(shutil.rmtree, folder, ignore_errors=True)
        cls.truth = Truth(folder)
        cls.addClassCleanup(cls.truth.daemon.kill)

    def lives(self, work, points, count=8):
        lives = [Life(self, f"life{i}", self.truth) for i in range(count)]
        try:
            return self.spread(lives, work, points)
        finally:
            for life in lives:
                life.daemon.stop()

    def test_calls_that_fail_once(self):
        done = self.lives(Life.once, ONCE)
        print(f"faults: {sum(done.values())} calls of {len(done)} kinds failed once, 0 wrong, all healed")

    def test_calls_that_fail_for_as_long_as_it_lasts(self):
        done = self.lives(Life.lasting, LASTING)
        print(f"faults: {len(done)} kinds of calls failed for a while, 0 wrong, all named and healed")


    def test_calls_that_fail_at_the_start(self):
        lives = [Life(self, f"life{i}", self.truth) for i in range(6)]
        for life in lives:
            life.daemon.stop()
        done = self.spread(lives, Life.starts, STARTS)
        starts, went_on = map(sum, zip(*done.values()))
        print(f"faults: {starts} starts, {went_on} went on, the others ended in words; the next had everything")

    def test_memory_that_is_refused_once(self):
        most = 120  # about as many as a save uses
        numbers = range(1, 4 * most) if LONG else random.Random(SEED).sample(range(1, most), 24)
        done = self.lives(Life.short_of_memory, numbers)
        self.assertGreater(sum(done.values()), len(done) // 2)
        print(f"faults: {sum(done.values())} allocations were refused once, 0 wrong, all healed")

    def test_memory_that_is_refused_once_at_the_start(self):
        most = 400  # more than a start uses
        lives = [Life(self, f"life{i}", self.truth) for i in range(6)]
        for life in lives:
            life.daemon.stop()
        numbers = range(1, most) if LONG else random.Random(SEED).sample(range(1, most), 12)
        point, failed = Point("memory", errno.ENOMEM, "", START), []

        def start(life, number):
            went_on = life.start(point, number, 1)
            failed.append(life.faults.page.failed)
            return went_on

        done = self.spread(lives, start, numbers)
        self.assertIn(1, failed)
        if LONG:
            self.assertIn(0, failed, "there are more allocations")
        print(f"faults: {sum(failed)} allocations of {len(done)} starts were refused, {sum(done.values())} went on, the others ended in words")

    def test_memory_that_is_refused_for_good_ends_the_daemon_in_words(self):
        life = Life(self, "life", self.truth)
        published = life.daemon.blob(f"{ART}/b.obj")
        with life.faults.fail("memory", errno.ENOMEM):
            life.save()
            self.assertEqual(life.daemon.process.wait(timeout=DEADLINE), 5)
        while life.daemon.lines.get(timeout=DEADLINE) is not None:
            pass
        self.assertIn("out of memory", "\n".join(life.daemon.log))
        self.assertNotIn("AddressSanitizer", "\n".join(life.daemon.log))
        life.daemon = life.faults.serve([life.art], life.cache, *SHARED)
        with life.daemon:
            life.settle("a start after it", Point("memory", errno.ENOMEM, "", SAVE))
            answer = life.daemon.get("/blobs/" + hashlib.sha256(published).hexdigest())
            self.assertEqual((answer.status, answer.body), (200, published))

    def test_what_a_save_reads_does_not_grow_with_the_versions_that_are_known(self):
        life = Life(self, "life", self.truth)
        point, counts = Point("open", errno.EIO, ART + "/a.png", SAVE), []
        with life.daemon:
            for _ in range(amount(14, 60)):
                with life.faults.fail(point.kinds, point.error, life.place(point), first=1 << 30) as faults:
                    life.save()
                    life.settle("a save", point)
                    counts.append(faults.page.seen)
        # The event, the check, the read; the sweep adds some now and then, and often on a crowded machine.
        self.assertLess(min(counts[-5:]), 8, counts)


if __name__ == "__main__":
    main()
