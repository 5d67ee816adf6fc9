"""Reads during saves: eight ways to save at three speeds, with events and by polling. Every body served meanwhile is the cook of
one complete saved version, versions never go back, and the last save wins without a request."""
import ctypes
import hashlib
import http.client
import os
import subprocess
import threading
import time

from hobtest import DEADLINE, HOB, Daemon, Scenario, amount, beside, main, obj_text, until

LIBC = ctypes.CDLL(None, use_errno=True)
SAVES = int(os.environ.get("HOB_SAVES", amount(6, 300)))
LOOKS = 26  # number of fetches between two saves; after every third save none
PIECES = 6  # number of writes of a slow save; readers fetch between them
READERS = 2
SHIFTED_CLOCK = beside("libshifted_clock.so")


def strip(cell, version, triangles=70):
    """An OBJ whose versions all have the same length: halves of two versions are a valid model, too."""
    lines = [f"v {cell:06.1f} {version:07.1f} {i:06.1f}" if i % 2 else f"v {i:06.1f} {cell:06.1f} {version:07.1f}"
             for i in range(triangles + 2)]
    return "\n".join(lines + [f"f {i + 1:4} {i + 2:4} {i + 3:4}" for i in range(triangles)]) + "\n"


class Looks:
    """Threads that fetch every model in turn, like renderers, and record the results."""

    def __init__(self, port, names):
        self.port, self.names = port, names
        self.count = {name: 0 for name in names}
        self.seen = []  # for each thread {name: [digest, ...]}, without repetitions
        self.statuses = {}
        self.turn = threading.Condition()
        self.halt = False
        self.broken = None
        self.threads = [threading.Thread(target=self.run) for _ in range(READERS)]
        for thread in self.threads:
            thread.start()

    def run(self):
        mine = {name: [] for name in self.names}
        self.seen.append(mine)
        try:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE)
            while not self.halt:
                for name in self.names:
                    connection.request("GET", "/a/art/" + name)
                    answer = connection.getresponse()
                    body = answer.read()
                    digest = hashlib.sha256(body).hexdigest() if answer.status == 200 else None
                    with self.turn:
                        self.statuses[answer.status] = self.statuses.get(answer.status, 0) + 1
                        self.count[name] += 1
                        self.turn.notify_all()
                    if digest and mine[name][-1:] != [digest]:
                        mine[name].append(digest)
            connection.close()
        except Exception as error:  # for the main thread
            with self.turn:
                self.broken = error
                self.turn.notify_all()

    def wait(self, name, looks):
        with self.turn:
            wanted = self.count[name] + looks
            if not self.turn.wait_for(lambda: self.broken or self.count[name] >= wanted, DEADLINE):
                raise AssertionError(f"nobody could look at {name}")
            if self.broken:
                raise self.broken

    def stop(self):
        self.halt = True
        for thread in self.threads:
            thread.join()


class Writer:
    """One cell of the matrix: saves all versions of its model in one way."""

    def __init__(self, scenario, looks, name, way, speed, texts):
        self.folder, self.target = scenario.folder, scenario.art / name
        self.looks, self.name, self.way, self.speed, self.texts = looks, name, way, speed, texts
        self.error = None
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        try:
            for turn, text in enumerate(self.texts):
                getattr(self, self.way)(text.encode())
                if turn % 3:
                    self.looks.wait(self.name, LOOKS)
        except Exception as error:  # for the main thread
            self.error = error

    def pour(self, fd, data):
        step = len(data) if self.speed == "whole" else -(-len(data) // PIECES)
        for at in range(0, len(data), step):
            if at and self.speed == "slow":
                self.looks.wait(self.name, 2)
            os.write(fd, data[at:at + step])

    def write(self, path, data, flags=os.O_CREAT | os.O_TRUNC):
        fd = os.open(path, os.O_WRONLY | flags, 0o644)
        try:
            self.pour(fd, data)
        finally:
            os.close(fd)

    def beside(self, data, prefix=""):
        path = self.target.with_name(prefix + self.target.name + ".tmp")
        self.write(path, data)
        return path

    def truncated(self, data):
        self.write(self.target, data)

    def in_place(self, data):
        self.write(self.target, data, os.O_CREAT)

    def renamed(self, data):
        os.replace(self.beside(data), self.target)

    def hidden_and_renamed(self, data):
        os.replace(self.beside(data, "."), self.target)

    def removed(self, data):
        self.target.unlink(missing_ok=True)
        self.write(self.target, data)

    def backed_up(self, data):
        if self.target.exists():
            self.target.rename(self.target.with_name(self.target.name + "~"))
        self.write(self.target, data)

    def exchanged(self, data):
        path = self.beside(data)
        if not self.target.exists():
            path.rename(self.target)
        elif LIBC.renameat2(-100, os.fsencode(path), -100, os.fsencode(self.target), 2):
            raise OSError(ctypes.get_errno(), "renameat2")

    def unnamed(self, data):
        fd = os.open(self.target.parent, os.O_TMPFILE | os.O_WRONLY, 0o644)
        try:
            self.pour(fd, data)
            self.target.unlink(missing_ok=True)
            if LIBC.linkat(-100, f"/proc/self/fd/{fd}".encode(), -100, os.fsencode(self.target), 0x400):
                raise OSError(ctypes.get_errno(), "linkat")
        finally:
            os.close(fd)


WAYS = ("truncated", "in_place", "renamed", "hidden_and_renamed", "removed", "backed_up", "exchanged", "unnamed")
SPEEDS = ("whole", "pieces", "slow")


class Torn(Scenario):
    def cells(self):
        return {f"{way}-{speed}.obj": (way, speed) for way in WAYS for speed in SPEEDS}

    def oracle(self):
        """{name: [(text, digest of its meshes)]}, by cooking the whole files in another process."""
        source, out = self.folder / "versions", self.folder / "cooked"
        texts = {name: [strip(cell, turn) for turn in range(SAVES)] for cell, name in enumerate(self.cells())}
        for name, versions in texts.items():
            for turn, text in enumerate(versions):
                (source / str(turn)).mkdir(parents=True, exist_ok=True)
                (source / str(turn) / name).write_text(text)
        subprocess.run([HOB, "cook", source, "-o", out], check=True, capture_output=True, timeout=DEADLINE * 4)
        digest = lambda turn, name: hashlib.sha256((out / str(turn) / (name + ".meshes")).read_bytes()).hexdigest()
        return {name: [(text, digest(turn, name)) for turn, text in enumerate(versions)] for name, versions in texts.items()}

    def last_wins(self, daemon, truth):
        """Waits for the last save without a sync, which would look for changes itself; only prints the slowest time."""
        since = time.monotonic()
        for name, versions in truth.items():
            while (answer := daemon.get("/a/art/" + name)).status != 200 or (
                    answer.headers["etag"].strip('"') != versions[-1][1]):
                self.assertLess(time.monotonic() - since, DEADLINE, (name, answer.status, answer.headers))
        return time.monotonic() - since

    def matrix(self, truth, *options):
        # Without a listener there are no previews, which the oracle lacks.
        with Daemon([self.art], self.folder / ("cache" + "".join(options)), *options, wait_ready=False) as daemon:
            daemon.wait_banner()
            looks = Looks(daemon.port, list(truth))
            try:
                writers = [Writer(self, looks, name, *cell, [text for text, _ in truth[name]])
                           for name, cell in self.cells().items()]
                for writer in writers:
                    writer.thread.join()
                took = self.last_wins(daemon, truth)
            finally:
                looks.stop()
            for error in (looks.broken, *(writer.error for writer in writers)):
                if error:
                    raise error
            self.judge(truth, looks)
            counters = daemon.counters()
            # The half-written file was not cooked: that would be a failure or another version.
            self.assertEqual(counters['hob_cook_results_total{result="failed"}'], 0, daemon.log[-20:])
            daemon.sync()
            self.assertLessEqual(daemon.cooked(), len(truth) * SAVES)
            self.assertEqual({item["state"] for item in daemon.assets().values()}, {"fresh"})
        samples, versions = sum(looks.count.values()), len({d for mine in looks.seen for digests in mine.values() for d in digests})
        self.assertGreaterEqual(samples, amount(2500, 50000))
        print(f"torn: {len(truth)} cells {' '.join(options) or 'with events'}, {SAVES} saves each, {samples} bodies and refusals "
              f"{looks.statuses}, {versions} versions seen, 0 torn, 0 backwards; the last ones came within {took:.2f} s", flush=True)
        for path in self.art.iterdir():
            path.unlink()

    def judge(self, truth, looks):
        self.assertLessEqual(set(looks.statuses), {200, 202, 404}, looks.statuses)
        for mine in looks.seen:
            for name, digests in mine.items():
                order = {digest: turn for turn, (_, digest) in enumerate(truth[name])}
                self.assertEqual(len(order), SAVES, name)
                self.assertEqual([d for d in digests if d not in order], [], f"{name}: torn")
                turns = [order[d] for d in digests]
                self.assertEqual(turns, sorted(turns), f"{name}: an older version after a newer one")

    def test_every_body_is_one_whole_version(self):
        truth = self.oracle()
        self.matrix(truth)
        self.matrix(truth, "--watch", "poll", "--poll-ms", "50")

    def half_saved(self, path, data, before=lambda: None):
        """Writes the first half without closing; the returned function writes the rest."""
        before()
        fd = os.open(self.art / path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        os.write(fd, data[:len(data) // 2])

        def finish():
            os.write(fd, data[len(data) // 2:])
            os.close(fd)

        return finish

    def later_saves_are_cooked(self, daemon, name):
        """Saves another model and waits for its cook: then earlier events have been processed, too."""
        self.put(name, obj_text(len(name)))
        daemon.wait_event("asset", lambda data: data["asset"] == "art/" + name and data["quality"] == "final")

    def test_half_a_save_where_an_event_told_of_the_file(self):
        target = self.put("a.obj", strip(1, 1))
        for number, before in enumerate((lambda: target.rename(self.art / "a.obj~"), lambda: target.write_text(strip(1, 2)))):
            self.cache = self.folder / f"cache{number}"
            with self.subTest(number), self.serve() as daemon:
                daemon.sync()
                first, cooked = daemon.blob("art/a.obj"), daemon.cooked()
                finish = self.half_saved("a.obj", strip(2, 3 + number).encode(), before)
                self.later_saves_are_cooked(daemon, f"mark{number}.obj")
                self.later_saves_are_cooked(daemon, f"second{number}.obj")
                shown = daemon.get("/a/art/a.obj")
                whole = daemon.cooked() - cooked - 2  # cooks of a version that was complete for a moment
                self.assertLessEqual(whole, number)
                if not whole and shown.status != 404:  # a read may have come between the rename and the new file
                    self.assertEqual(shown.body, first)
                finish()
                daemon.wait_asset("art/a.obj", "fresh")
                until(lambda: not daemon.get("/api/v1/jobs?state=cooking").json()["items"], "the end of all cooks")
                daemon.sync()
                self.assertEqual(daemon.assets()["art/a.obj"]["state"], "fresh")
                self.assertEqual(daemon.cooked(), cooked + 3 + whole)
                self.assertEqual(daemon.counters()['hob_cook_results_total{result="failed"}'], 0)
            target.write_text(strip(1, 1))

    def test_half_a_save_of_a_dependency(self):
        mtl = "newmtl m\nKd 1 0 0\n" + "# long\n" * 50 + "newmtl n\nKd 0 1 0\n"
        self.put("m.mtl", mtl)
        self.put("a.obj", obj_text(3, mtl="m.mtl"))
        with self.serve() as daemon:
            daemon.sync()
            first, cooked = daemon.blob("art/a.obj"), daemon.cooked()
            finish = self.half_saved("m.mtl", mtl.replace("Kd 1", "Kd 0.5").encode())
            self.put("a.obj", obj_text(4, mtl="m.mtl"))
            self.later_saves_are_cooked(daemon, "mark.obj")
            self.assertEqual((daemon.blob("art/a.obj"), daemon.cooked()), (first, cooked + 1))
            finish()
            daemon.wait_asset("art/a.obj", "fresh")
            daemon.sync()
            self.assertEqual(daemon.cooked(), cooked + 2)
            self.assertEqual(daemon.counters()['hob_cook_results_total{result="failed"}'], 0)

    def test_the_job_of_a_half_saved_file_can_be_asked_for(self):
        self.put("a.obj", strip(1, 1))
        with self.serve() as daemon:
            daemon.wait_event("job", lambda data: data["state"] == "cooked")
            with open(self.art / "m.mtl", "w") as saving:
                saving.write("newmtl m\n")
                saving.flush()
                self.put("a.obj", obj_text(4, mtl="m.mtl"))
                job = daemon.wait_event("job", lambda data: data["state"] == "cooking")
                told = until(lambda: next(iter([live for live in [daemon.get(f"/api/v1/jobs/{job['id']}").json()]
                                                if live["state"] == "queued"]), None), "the job waits for the end of the save")
                self.assertEqual(told["priority"], "changed")
            daemon.sync()
            self.assertEqual(daemon.assets()["art/a.obj"]["state"], "fresh")

    def test_sync_looks_again_at_what_was_half_written(self):
        """The save ends through a name outside the root, without an event: sync waits for the next check of the file."""
        outside, text = self.folder / "outside.obj", strip(2, 1)
        with self.serve() as daemon:
            daemon.sync()
            with open(outside, "w") as writer:
                writer.write(text[:len(text) // 2])
                writer.flush()
                os.link(outside, self.art / "a.obj~")
                (self.art / "a.obj~").rename(self.art / "a.obj")
                self.later_saves_are_cooked(daemon, "mark.obj")
                self.later_saves_are_cooked(daemon, "second.obj")
                self.assertEqual(daemon.cooked(), 2)
                writer.write(text[len(text) // 2:])
            daemon.sync()
            self.assertEqual((daemon.assets()["art/a.obj"]["state"], daemon.cooked()), ("fresh", 3))

    def test_a_file_that_is_kept_open_and_left_alone_is_not_waited_for(self):
        if not SHIFTED_CLOCK.exists():
            self.skipTest(f"there is no {SHIFTED_CLOCK}: it belongs to builds with tests")
        program = ["env", f"LD_PRELOAD={SHIFTED_CLOCK}", "HOB_TEST_CLOCK_SHIFT=60", "ASAN_OPTIONS=verify_asan_link_order=0", HOB]
        with open(self.put("a.obj", strip(1, 1)), "r+b"), Daemon([self.art], self.cache, program=program) as daemon:
            daemon.sync()
            self.assertEqual(daemon.assets()["art/a.obj"]["state"], "fresh")


if __name__ == "__main__":
    main()
