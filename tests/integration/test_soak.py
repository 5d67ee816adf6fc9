"""Thousands of mixed edits: after the warm-up neither memory nor descriptors nor the write-ahead log grow. Tens of thousands of
saves with listeners: once the ring of events is full, a save leaves nothing behind."""
import json
import os
import pathlib
import random
import selectors
import socket
import struct
import subprocess
import threading
import time
import unittest

from faulty import preloadable
from hobtest import HOB, LONG, Scenario, amount, built_with, main, obj_text, png, until

EDITS = int(os.environ.get("HOB_EDITS", amount(240, 20000)))
FILES, TEXTS = 10, 40
WARM = 10000  # edits
SAVES, LISTENERS = int(os.environ.get("HOB_SAVES", 40000)), 50
BYTES_PER_SAVE = 50


class Crowd:
    """Event streams that one thread reads. heard: {socket: (status, newest bytes)}"""

    def __init__(self, port, count):
        self.bytes, self.open, self.heard = 0, selectors.DefaultSelector(), {}
        for _ in range(count):
            peer = socket.create_connection(("127.0.0.1", port))
            peer.sendall(b"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            self.open.register(peer, selectors.EVENT_READ)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        while self.open.get_map():
            for key, _ in self.open.select():
                try:
                    got = key.fileobj.recv(1 << 16)
                except ConnectionResetError:
                    got = b""
                self.bytes += len(got)
                status, before = self.heard.get(key.fileobj, (got[9:12], b""))
                self.heard[key.fileobj] = status, (before + got)[-4000:]
                if not got:
                    self.open.unregister(key.fileobj)
                    key.fileobj.close()

    def have(self, text):
        """Number of streams whose newest bytes contain `text`."""
        return sum(text in newest for _, newest in list(self.heard.values()))


class Soak(Scenario):
    def edit(self, daemon, chance):
        name = f"m{chance.randrange(FILES)}.obj"
        path = self.art / name
        text = obj_text(2 + chance.randrange(TEXTS), mtl="look.mtl")
        kind = chance.choice(["save", "save", "save", "write", "break", "remove", "settings", "texture", "touch", "rename", "force"])
        if kind == "save":
            self.put(name, text)
        elif kind == "write":
            path.write_text(text)
        elif kind == "break":
            self.put(name, "# nothing\n")
        elif kind == "remove" and path.exists():
            path.unlink()
        elif kind == "settings":
            self.put(name + ".cook.json", '{"lods": {"max": %d}}' % chance.randint(1, 3))
        elif kind == "texture":
            self.put("tex.png", png(chance.randrange(4) * 60, 0, 0))
        elif kind == "touch" and path.exists():
            os.utime(path)
        elif kind == "rename" and path.exists():
            path.rename(self.art / f"away{chance.randrange(3)}.obj")
        elif kind == "force":
            items = list(daemon.assets().values())
            if items:
                daemon.post(f"/api/v1/assets/{chance.choice(items)['id']}/cook", {"force": True})
        return kind

    def measure(self, daemon):
        daemon.sync()
        counters = daemon.counters()
        wal = self.cache / "index.db-wal"
        return {"rss": counters["process_resident_memory_bytes"], "fds": counters["process_open_fds"],
                "wal": wal.stat().st_size if wal.exists() else 0, "own": self.own(daemon)}

    def own(self, daemon):
        """Resident bytes without file pages, which the kernel drops and reloads at any time."""
        pages = pathlib.Path(f"/proc/{daemon.process.pid}/statm").read_text().split()
        return (int(pages[1]) - int(pages[2])) * os.sysconf("SC_PAGE_SIZE")

    def stays_flat(self, daemon, first):
        """Free memory returns to the system in the next idle second."""
        until(lambda: self.own(daemon) <= first + (2 << 20), f"memory within 2 MB of {first / 1e6:.1f} MB")

    def test_edits_in_a_row(self):
        # The sanitizer would keep 256 MB of freed memory, and the ring of events fills during the warm-up.
        options = "detect_leaks=1:allocator_may_return_null=1:quarantine_size_mb=4:thread_local_quarantine_size_kb=64"
        chance = random.Random(int(os.environ.get("HOB_SEED", "11")))
        self.put("look.mtl", "newmtl m\nmap_Kd tex.png\n")
        self.put("tex.png", png(9, 9, 9))
        for i in range(FILES):
            self.put(f"m{i}.obj", obj_text(2 + i, mtl="look.mtl"))
        os.environ["ASAN_OPTIONS"] = options
        seen, warm_bytes = [], None
        with self.serve() as daemon:
            for turn in range(EDITS):
                self.edit(daemon, chance)
                if turn % 8 == 7:
                    daemon.sync()
                    daemon.past.clear()
                if turn % (EDITS // 20 or 1) == 0:
                    seen.append(self.measure(daemon))
                    if turn >= WARM and warm_bytes is None:
                        warm_bytes = seen[-1]["own"]
                    elif turn >= WARM and not built_with("asan") and not built_with("tsan"):
                        self.stays_flat(daemon, warm_bytes)
                        seen[-1]["own"] = self.own(daemon)
                    if EDITS > 1000:
                        print(f"soak: {turn:6} edits, {seen[-1]['own'] / 1e6:.1f} MB of {seen[-1]['rss'] / 1e6:.1f}, {seen[-1]['fds']:.0f} descriptors, "
                              f"log {seen[-1]['wal'] / 1e6:.1f} MB, {daemon.cooked()} cooked", flush=True)
            seen.append(self.measure(daemon))
        warm, last = seen[len(seen) // 2:-len(seen) // 4], seen[-len(seen) // 4:]
        for what, room in (("fds", 3), ("wal", 16 << 20)):
            self.assertLessEqual(min(m[what] for m in last), max(m[what] for m in warm) + room, what)
        print(f"soak: {EDITS} edits, {seen[-1]['rss'] / 1e6:.1f} MB resident, {seen[-1]['fds']:.0f} descriptors, "
              f"log {seen[-1]['wal'] / 1e6:.1f} MB")

    def test_as_many_listeners_as_are_told(self):
        """10,000, or fewer where the limit of open files has room for fewer."""
        for files, told in ((2048, 867), *(((20000, 9456), (65536, 10000)) if LONG else ())):
            limit = ("env", "HOB_HTTP_THREADS=1", "prlimit", f"--nofile={files}:{files}")
            if subprocess.run([*limit, "true"], capture_output=True, check=False).returncode:
                print(f"soak: this user may not have {files} open files")
                continue
            with self.subTest(f"{files} open files"), self.serve(program=(*limit, HOB), wait_ready=False) as daemon:
                daemon.wait_banner()
                limits = daemon.get("/api/v1").json()["limits"]
                self.assertEqual((limits["listeners"], limits["connections"] >= told), (told, True))
                doctor = subprocess.run([*limit, HOB, "doctor", self.art], capture_output=True, text=True, check=False).stdout
                self.assertIn(f"{files} open files at most, for {limits['connections']} clients at once", doctor)
                crowd = Crowd(daemon.port, told)
                until(lambda crowd=crowd, told=told: crowd.have(b"event: hello") == told, "a greeting for each")
                late = Crowd(daemon.port, 1)
                until(lambda late=late: late.heard, "an answer to one more")
                self.assertEqual([status for status, _ in late.heard.values()], [b"503"])
                self.put(f"{files}.obj", obj_text(2))
                until(lambda crowd=crowd, told=told, files=files: crowd.have(b"%d.obj" % files) == told, "the save for each")
                daemon.kill()

    def ring(self, daemon):
        """Number of events in the ring."""
        newest = kind = None
        with daemon.open_events("?since=0") as stream:
            for line in map(bytes.decode, stream):
                kind = line[7:].strip() if line.startswith("event: ") else kind
                newest = int(line.split(".")[1]) if line.startswith("id: ") else newest
                if kind == "reset" and line.startswith("data: "):
                    oldest = json.loads(line[6:])["oldest"]
                    break
        return newest - oldest + 1

    @unittest.skipUnless(LONG and not built_with("asan") and not built_with("tsan"), "long, and of the program itself")
    def test_saves_with_listeners(self):
        # The cache's table grows with what it keeps, so that is bounded here: the clock makes old versions idle at once.
        clock = self.folder / "clock"
        clock.write_bytes(bytes(8))
        shifted = ("env", f"LD_PRELOAD={preloadable('shifted_clock', self.folder)}", f"HOB_TEST_CLOCK_FILE={clock}", HOB)
        with self.serve("--max-size", "8MiB", program=shifted, wait_ready=False) as daemon:
            daemon.wait_banner()
            crowd, least, began = Crowd(daemon.port, LISTENERS), None, time.monotonic()
            for turn in range(0, SAVES, FILES):
                for i in range(FILES):
                    self.put(f"m{i}.obj", obj_text(2 + i, shift=turn + i))
                daemon.sync()
                if turn % (SAVES // 40) == 0 or turn + FILES >= SAVES:
                    with open(clock, "r+b") as file:
                        file.write(struct.pack("<q", turn + 100))
                    self.assertEqual(daemon.post("/api/v1/gc").status, 202)
                    until(lambda: daemon.counters()["hob_cache_size_bytes"] <= 8 << 20, "old versions that are evicted")
                    own, ring = self.own(daemon), self.ring(daemon)
                    print(f"soak: {turn + FILES:6} saves, {daemon.cooked()} cooked, {own / 1e6:.2f} MB, {ring} events in the ring, "
                          f"{crowd.bytes / 1e6:.0f} MB heard, {time.monotonic() - began:.0f} s", flush=True)
                    if turn >= SAVES // 4 and least is None:
                        full, least, after = ring, own, turn
            self.assertGreaterEqual(daemon.cooked(), SAVES)
            self.assertEqual(self.ring(daemon), full)
            self.assertLess(daemon.counters()["hob_cache_entries"], SAVES)
            room = BYTES_PER_SAVE * (SAVES - after)
            until(lambda: self.own(daemon) <= least + room, f"at most {BYTES_PER_SAVE} bytes a save, {self.own(daemon) - least} of {room}")
            print(f"soak: {(self.own(daemon) - least) / (SAVES - after):.1f} bytes a save after the ring was full")


if __name__ == "__main__":
    main()
