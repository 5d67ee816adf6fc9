"""Drives a real daemon over HTTP for the scenarios of this folder. Standard library only.

No scenario sleeps: it waits for events (Daemon.wait_event), for an answer (Daemon.sync), for the end of a process or for a fact
(until), each with a deadline, and then asserts on counters, states and bytes.
"""
import atexit
import hashlib
import http.client
import json
import os
import pathlib
import queue
import random
import re
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import contract

HERE = pathlib.Path(__file__).resolve().parent
PROJECT = HERE.parent.parent
HOB = os.path.abspath(os.environ.get("HOB", PROJECT / "build/debug/hob"))
MODELS = PROJECT / "tests/data/models"
# The first key of a settings file that Hob has made.
SETTINGS_SCHEMA = {"$schema": "http://127.0.0.1:7780/api/v1/schema/settings.json"}
CORPUS = pathlib.Path(os.environ.get("HOB_CORPUS", PROJECT.parent / "shared/corpus"))
# Freed memory that AddressSanitizer holds back: with its 256 MB a program spends half of its time in new pages.
os.environ.setdefault("ASAN_OPTIONS", "detect_leaks=1:allocator_may_return_null=1:quarantine_size_mb=16")
DEADLINE = float(os.environ.get("HOB_TEST_DEADLINE", "120"))
LONG = os.environ.get("HOB_LONG") == "1"  # set by torture.py: the long form of the reliability suite


def fresh_folder(kind="test"):
    """A new folder below the system's for temporary files. Its name has only capital consonants, so that it does not contain text
    that a test searches for: a farm's URL was once taken for a bucket's because its folder was called hob-test-...s3...."""
    while True:
        name = "".join(random.SystemRandom().choices("BCDFGHJKLMNPQRSTVWXZ", k=8))
        folder = pathlib.Path(tempfile.gettempdir(), f"hob-{kind}-{name}")
        try:
            folder.mkdir(mode=0o700)
        except FileExistsError:
            continue
        return folder


# Makes a test independent of its caller. hob prints paths relative to the current folder, and puts its default cache there.
# Crowds of clients need more descriptors than a shell's default. Shells and nohup start background programs with ignored signals;
# programs started here do not inherit a handler.
os.chdir(_folder := fresh_folder())
atexit.register(shutil.rmtree, _folder, ignore_errors=True)
os.environ.pop("COLUMNS", None)
os.environ["no_proxy"] = os.environ["NO_PROXY"] = "localhost,127.0.0.1"
_soft, _hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (max(_soft, min(_hard, 20000)) if _hard != resource.RLIM_INFINITY else 20000, _hard))
for _number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
    if signal.getsignal(_number) == signal.SIG_IGN:
        signal.signal(_number, lambda *_: None)


def amount(short, long):
    """A number: the first in ./dev test, the second in ./dev torture."""
    return long if LONG else short


def built_with(sanitizer):
    """Whether the daemon is built with "asan" or "tsan", whose runtimes use additional memory."""
    return f"__{sanitizer}_init".encode() in pathlib.Path(HOB).read_bytes()


def until(holds, what):
    """Polls until holds() is true, and returns its result. For facts that no event reports. The pause between two polls leaves
    the processors to the observed programs."""
    end, pause = time.monotonic() + DEADLINE, 0.002
    while not (value := holds()):
        assert time.monotonic() < end, f"{what} did not happen within {DEADLINE:.0f} s"
        time.sleep(pause)
        pause = min(2 * pause, 0.1)
    return value


def beside(name):
    """A helper program of the tests: HOB_BUILD is the build with tests, where HOB is a program of another build
    (tests/optimized.sh)."""
    return pathlib.Path(os.environ.get("HOB_BUILD") or pathlib.Path(HOB).resolve().parent, name)


class Answer:
    def __init__(self, response):
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.getheaders()}
        self.body = response.read()

    def json(self):
        return json.loads(self.body)


class KeptBlob:
    """The bytes of one blob in a cache folder: a separate file, or a part of a pack (server/store/pack.h)."""

    def __init__(self, path, head=None, size=None):
        self.path, self.head = path, head
        self.size = path.stat().st_size if size is None else size

    def read(self):
        return self.path.read_bytes() if self.head is None else self.path.read_bytes()[self.head + 56:][:self.size]

    def write(self, data):
        """Fewer bytes truncate a file; in a pack the rest of the record becomes 0xFF."""
        if self.head is None:
            self.path.chmod(0o644)
            self.path.write_bytes(data)
            return
        with open(self.path, "r+b") as file:
            file.seek(self.head + 56)
            file.write(data.ljust(self.size, b"\xff")[:self.size])

    def unlink(self):
        if self.head is None:
            self.path.unlink()
            return
        with open(self.path, "r+b") as file:
            file.seek(self.head)
            file.write(b"gone")


def kept_blobs(cache):
    """Every blob of a cache folder by its digest; the later of two records counts."""
    found = {}
    for pack in sorted((pathlib.Path(cache) / "packs").glob("*.pack")):
        data, at = pack.read_bytes(), 0
        while (at := data.find(b"HobP\1\0\0\0", at)) >= 0:
            size, frame = struct.unpack_from("<II", data, at + 8)
            size = frame or size  # stored bytes: the blob, or its zstd frame
            found[data[at + 16:at + 48].hex()] = KeptBlob(pack, at, size)
            at += 56 + (size + 7) // 8 * 8
    for path in (pathlib.Path(cache) / "blobs").glob("??/*"):
        found[path.parent.name + path.name] = KeptBlob(path)
    return found


class Daemon:
    """hob serve on folders, in its own process group; threads read log lines and events."""

    def __init__(self, roots, cache, *options, wait_ready=True, listen="127.0.0.1:0", program=(HOB,)):
        self.cache = pathlib.Path(cache)
        self.roots = [str(root) for root in roots]
        self.another_version = program[-1] == os.environ.get("HOB_OTHER")  # it conforms to its own openapi.json
        environment = dict(os.environ, NO_COLOR="1")
        self.process = subprocess.Popen(
            [*program, "serve", *self.roots, "--listen", listen, "--cache", str(cache), *options],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, start_new_session=True)
        self.log = []
        self.lines = queue.Queue()
        self.banner = queue.Queue()
        self.printed = []  # stdout
        self.events = queue.Queue()
        self.past = []
        self.seen = 0  # the rev of the newest sync: older asset events are ignored
        threading.Thread(target=self._read_stdout, daemon=True).start()
        threading.Thread(target=self._read_stderr, daemon=True).start()
        self.port = None
        if wait_ready:
            self.wait_banner()
            self.listen()

    def _read_stdout(self):
        with self.process.stdout as stdout:
            for line in stdout:
                self.printed.append(line.decode("utf-8", "replace"))
                found = re.search(rb"https?://127\.0\.0\.1:(\d+)/", line)
                if found:
                    self.banner.put(int(found.group(1)))
        self.banner.put(None)

    def _read_stderr(self):
        with self.process.stderr as stderr:
            for line in stderr:
                self.log.append(line.decode("utf-8", "replace").rstrip())
                self.lines.put(self.log[-1])
        self.lines.put(None)

    def wait_banner(self):
        self.port = self.banner.get(timeout=DEADLINE)
        if self.port is None:
            raise AssertionError("the daemon ended before its banner:\n" + "\n".join(self.log[-30:]))

    def request(self, method, target, body=None, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE)
        try:
            sent = dict(headers or {})
            if body is not None and not isinstance(body, bytes):
                body = (body if isinstance(body, str) else json.dumps(body)).encode()
                sent.setdefault("Content-Type", "application/json")
            try:
                connection.request(method, target, body=body, headers=sent)
            except BrokenPipeError:
                pass  # refused by its head: the answer has arrived, the rest of the body is not needed
            answer = Answer(connection.getresponse())
            if not self.another_version:
                contract.check(method, target, answer.status, answer.headers, answer.body)
            return answer
        finally:
            connection.close()

    def get(self, target, **headers):
        return self.request("GET", target, headers={k.replace("_", "-"): v for k, v in headers.items()})

    def post(self, target, body=None):
        return self.request("POST", target, body={} if body is None else body)

    def open_events(self, query=""):
        """The answer of a new event stream, ready to be read line by line."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE)
        # The answer then owns the connection.
        connection.request("GET", "/api/v1/events" + query, headers={"Connection": "close"})
        response = connection.getresponse()
        contract.check("HEAD", "/api/v1/events", response.status, {k.lower(): v for k, v in response.getheaders()}, b"")
        return response

    def listen(self):
        """Reads the event stream. Earlier changes are fetched first, so that no scenario depends on the time of this call."""
        ready = threading.Event()

        def run():
            try:
                with self.open_events("?since=0") as response:
                    kind = number = None
                    for line in response:
                        line = line.decode().rstrip("\n")
                        if line.startswith("id: "):
                            number = line[4:]
                        elif line.startswith("event: "):
                            kind = line[7:]
                        elif line.startswith("data: "):
                            data = json.loads(line[6:])
                            if kind == "reset" and not ready.is_set():
                                self._put_events(data["oldest"] - 1, number)
                                ready.set()
                            else:
                                self.events.put((kind, data))
            except (OSError, http.client.HTTPException, ValueError):
                pass
            self.events.put(("end", {}))

        threading.Thread(target=run, daemon=True).start()
        if not ready.wait(DEADLINE):
            raise AssertionError("nothing on the event stream")

    def _put_events(self, since, last):
        """Changes after the number since, up to the id last."""
        while (answer := self.get(f"/api/v1/changes?since={since}&limit=1000")).status == 200:
            page = answer.json()
            for item in page["items"]:
                if int(item["id"].split(".")[1]) > int(last.split(".")[1]):
                    return
                self.events.put((item["event"], item["data"]))
            since = page["next"]

    def wait_event(self, kind, match=lambda data: True):
        """The next event of this kind that matches; others are kept in `past`."""
        while True:
            try:
                event, data = self.events.get(timeout=DEADLINE)
            except queue.Empty:
                raise AssertionError(f"no {kind} event in time; log:\n" + "\n".join(self.log[-20:])) from None
            self.past.append((event, data))
            if event == kind and data.get("rev", self.seen + 1) > self.seen and match(data):
                return data
            if event == "end":
                raise AssertionError("the event stream ended; log:\n" + "\n".join(self.log[-20:]))

    def wait_log(self, text):
        """The next line of the log that contains this text."""
        while True:
            line = self.lines.get(timeout=DEADLINE)
            assert line is not None, f"the daemon ended without saying '{text}':\n" + "\n".join(self.log[-20:])
            if text in line:
                return line

    def wait_asset(self, name, *states):
        return self.wait_event("asset", lambda data: data["asset"] == name and (not states or data["state"] in states))

    def wait_names(self, names):
        """Waits until the list has exactly these assets and none is in progress, without requesting a scan."""
        while True:
            items = self.assets()
            if set(items) == names and not any(item["state"] in ("queued", "cooking") for item in items.values()):
                return items
            try:
                self.past.append(self.events.get(timeout=DEADLINE))
            except queue.Empty:
                raise AssertionError(f"still missing: {sorted(names - set(items))[:5]}, too many: "
                                     f"{sorted(set(items) - names)[:5]}; log:\n" + "\n".join(self.log[-20:])) from None

    def sync(self, scan=False):
        answer = self.post("/api/v1/sync", {"timeout_ms": int(DEADLINE * 1000), "scan": scan})
        assert answer.status == 200, (answer.status, answer.body, self.log[-20:])
        self.seen = answer.json()["rev"]
        return answer.json()

    def assets(self, query=""):
        items, cursor = [], ""
        while True:
            page = self.get(f"/api/v1/assets?limit=1000{query}{cursor}").json()
            items += page["items"]
            if not page["next"]:
                return {item["root"] + "/" + item["path"]: item for item in items}
            cursor = "&cursor=" + page["next"]

    def blob(self, name, output="meshes"):
        answer = self.get(f"/a/{name}?output={output}")
        assert answer.status == 200, (answer.status, answer.body)
        assert hashlib.sha256(answer.body).hexdigest() == answer.headers["etag"].strip('"')
        return answer.body

    def counters(self):
        text = self.get("/metrics").body.decode()
        found = {}
        for line in text.splitlines():
            match = re.match(r'(\w+)(\{[^}]*\})? ([0-9.e+-]+)$', line)
            if match:
                found[match.group(1) + (match.group(2) or "")] = float(match.group(3))
        return found

    def cooked(self):
        """Number of final cooks. Whether a preview precedes one depends on the machine's speed."""
        return int(self.counters()['hob_cook_results_total{result="cooked"}'])

    def previewed(self):
        return int(self.counters()['hob_cook_results_total{result="preview"}'])

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(timeout=DEADLINE)
        errors = [line for line in self.log if "ERROR: " in line or "runtime error" in line or "ThreadSanitizer" in line]
        assert not errors, "\n".join(self.log)
        return code

    def kill(self):
        self.process.kill()
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if self.process.poll() is None:
            if kind:
                self.kill()
                sys.stderr.write("\n".join(self.log[-40:]) + "\n")
            else:
                code = self.stop()
                assert code == 0, (code, self.log[-20:])


class Scenario(unittest.TestCase):
    """A test with its own folder: self.art is watched, self.cache keeps results."""

    def setUp(self):
        self.folder = fresh_folder()
        self.art = self.folder / "art"
        self.art.mkdir()
        self.cache = self.folder / "cache"
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def serve(self, *options, **more):
        """A daemon that is stopped at the end of its test."""
        daemon = Daemon([self.art], self.cache, *options, **more)
        self.addCleanup(daemon.kill)
        return daemon

    def put(self, path, data):
        """A save as in editors: a temp file beside it, then a rename."""
        target = self.art / path
        target.parent.mkdir(parents=True, exist_ok=True)
        temp = target.with_name("." + target.name + ".tmp")
        temp.write_bytes(data if isinstance(data, bytes) else data.encode())
        temp.rename(target)
        return target


def children(pid):
    """Ids of a process's own children; empty when it is gone."""
    try:
        return [int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


class Oracle:
    """A separate daemon with its own cache: an oracle for the cook of a file by name and content."""

    def __init__(self, folder):
        self.art = folder / "oracle-art"
        self.art.mkdir()
        self.known = {}
        self.daemon = Daemon([self.art], folder / "oracle-cache")

    def digests(self, texts):
        """{name: text} -> {name: digest of the meshes, None for a failed cook}."""
        new = {name: text for name, text in texts.items() if (name, text) not in self.known}
        if new:
            shutil.rmtree(self.art)
            self.art.mkdir()
            for name, text in new.items():
                (self.art / name).parent.mkdir(parents=True, exist_ok=True)
                (self.art / name).write_text(text)
            self.daemon.sync()
            found = meshes(self.daemon)
            for name, text in new.items():
                self.known[name, text] = found[self.art.name + "/" + name]
        return {name: self.known[name, text] for name, text in texts.items()}

    def stop(self):
        self.daemon.stop()


def meshes(daemon):
    """{asset: digest of its meshes}, None for assets that are not fresh."""
    found = {}
    for name, item in daemon.assets("&fields=root,path,outputs,state").items():
        hashes = [output["hash"] for output in item["outputs"]
                  if output["name"] == "meshes" and item["state"] == "fresh"]
        found[name] = hashes[0] if hashes else None
    return found


def record_text(record, **changes):
    """The canonical text of a cook's record, with both hashes recomputed."""
    members = {name: value for name, value in {**record, **changes}.items() if name not in ("result", "run", "check")}
    for name, value in (("result", None), ("run", record["run"]), ("check", None)):
        text = json.dumps(members, separators=(",", ":"), ensure_ascii=False)
        members[name] = hashlib.sha256(text[:-1].encode()).hexdigest() if value is None else value
    return json.dumps(members, separators=(",", ":"), ensure_ascii=False) + "\n"


def obj_text(triangles=1, shift=0.0, mtl=None):
    """A strip of triangles as an OBJ."""
    lines = [f"mtllib {mtl}", "usemtl m"] if mtl else []
    for i in range(triangles + 2):
        lines.append(f"v {i * 0.5 + shift} {i % 2} 0")
    for i in range(triangles):
        lines.append(f"f {i + 1} {i + 2} {i + 3}")
    return "\n".join(lines) + "\n"


def bumpy_grid(side, height=0.1, bump=lambda x, y: (x * 7 + y * 13) % 5):
    """A square of side x side quads as an OBJ: large enough that its levels of detail take a while."""
    lines = [f"v {x} {y} {height * bump(x, y):.3f}" for y in range(side + 1) for x in range(side + 1)]
    for y in range(side):
        for x in range(side):
            a = y * (side + 1) + x + 1
            lines.append(f"f {a} {a + 1} {a + side + 2} {a + side + 1}")
    return "\n".join(lines) + "\n"


def png(red, green, blue, side=4):
    import zlib

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    row = b"\0" + bytes((red, green, blue)) * side
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(row * side)) + chunk(b"IEND", b""))


def png_pixels(data):
    """RGBA rows of a PNG of 8 bits without interlacing."""
    import zlib

    width, height = struct.unpack(">II", data[16:24])
    at, packed = 8, b""
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        packed += data[at + 8:at + 8 + size] if kind == b"IDAT" else b""
        at += 12 + size
    raw, row, rows = zlib.decompress(packed), width * 4, [bytes(width * 4)]
    for y in range(height):
        kind, line, up = raw[y * (row + 1)], bytearray(raw[y * (row + 1) + 1:(y + 1) * (row + 1)]), rows[-1]
        for i in range(row):
            a, b, c = (line[i - 4] if i >= 4 else 0), up[i], (up[i - 4] if i >= 4 else 0)
            p = a + b - c
            paeth = min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]
            line[i] = (line[i] + (0, a, b, (a + b) // 2, paeth)[kind]) & 255
        rows.append(bytes(line))
    return b"".join(rows[1:])


class Timed(unittest.TextTestResult):
    """Prints the duration of each test: wall-clock seconds, and CPU seconds (its own and those of ended programs)."""

    def now(self):
        both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return time.monotonic(), sum(usage.ru_utime + usage.ru_stime for usage in both)

    def startTest(self, test):
        self.began = self.now()
        super().startTest(test)

    def stopTest(self, test):
        clock, processor = (end - begin for begin, end in zip(self.began, self.now()))
        self.stream.writeln(f"{test.id()}: {clock:.1f} s, {processor:.1f} s of processors")
        super().stopTest(test)


class Part(unittest.TestLoader):
    """HOB_TEST_PART=2/3: every third test of a class, starting at the second; each test is in one part."""

    def getTestCaseNames(self, case):
        part, parts = map(int, os.environ.get("HOB_TEST_PART", "1/1").split("/"))
        return super().getTestCaseNames(case)[part - 1::parts]


def main():
    timed = os.environ.get("HOB_TEST_TIMES") == "1"
    unittest.main(testLoader=Part(), testRunner=unittest.TextTestRunner(verbosity=2, resultclass=Timed if timed else None))
