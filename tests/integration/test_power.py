"""Power cuts at any moment. The writes of real daemons are recorded; for each moment the possible disk contents are generated; a
daemon starts on each of them normally, serves no wrong byte, and does not repeat cooks that had reached the disk."""
import concurrent.futures
import contextlib
import hashlib
import itertools
import mmap
import os
import pathlib
import queue
import random
import shutil
import struct
import time
import unittest

from disk_states import LINK, MKDIR, RENAME, SYNC, SYNC_ALL, TRUNCATE, UNLINK, WAYS, Disk, read_trace, same_as
from faulty import preloadable
from hobtest import DEADLINE, HOB, Daemon, Scenario, amount, built_with, main, obj_text, png, until

STATES = int(os.environ.get("HOB_POWER_STATES", amount(32, 2000)))
SEED = int(os.environ.get("HOB_SEED", "11"))
FIELDS = "&fields=root,path,state,outputs"
BOOT = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip().encode()


def facts(daemon):
    """{asset: outputs} without the report, which contains times; None: failed, even if a good version is served."""
    return {name: sorted((output["name"], output["hash"]) for output in item["outputs"] if output["name"] != "report")
            if item["state"] == "fresh" else None if item["state"] in ("failed", "stale") else item["state"]
            for name, item in daemon.assets(FIELDS).items()}


def fill(art, files):
    """Makes the folder contain exactly these files."""
    for path in sorted(art.rglob("*"), reverse=True):
        if path.is_file() and str(path.relative_to(art)) not in files:
            path.unlink()
    for path, data in files.items():
        target = art / path
        if not target.exists() or target.read_bytes() != data:
            target.parent.mkdir(parents=True, exist_ok=True)
            beside = target.with_name("." + target.name)
            beside.write_bytes(data)
            beside.rename(target)


def versions():
    """An artist's edits of a folder, state by state."""
    files = {f"d{i % 2}/m{i}.obj": obj_text(2 + i).encode() for i in range(4)}
    files |= {"skin.obj": obj_text(5, mtl="skin.mtl").encode(), "skin.mtl": b"newmtl m\nmap_Kd skin.png\n",
              "skin.png": png(200, 0, 0, 8), "bad.obj": b"# nothing\n"}
    yield dict(files)
    files["d0/m0.obj"] = obj_text(30).encode()
    yield dict(files)
    files["skin.png"] = png(0, 200, 0, 8)
    yield dict(files)
    del files["d1/m1.obj"]
    files["new/m9.obj"] = obj_text(60).encode()
    yield dict(files)
    files["d0/m0.obj"] = obj_text(2).encode()  # as it was
    files["bad.obj"] = obj_text(7).encode()
    yield dict(files)
    files["skin.mtl"] = b"newmtl m\nKd 1 0 0\nmap_Kd skin.png\n"
    files["d0/m2.obj"] = obj_text(700).encode()
    yield dict(files)


@unittest.skipIf(built_with("tsan"), "its runtime wants the functions that are replaced here for itself")
class Power(Scenario):
    def setUp(self):
        super().setUp()
        self.trace, self.mark = self.folder / "trace", self.folder / "mark"
        self.mark.write_bytes(bytes(4))
        with open(self.mark, "r+b") as file:
            self.number = mmap.mmap(file.fileno(), 0)
        self.cache.mkdir()
        asan = os.environ.get("ASAN_OPTIONS", "detect_leaks=1:allocator_may_return_null=1")
        self.program = ["env", f"LD_PRELOAD={preloadable('disk_recorder', self.folder)}", f"HOB_TEST_TRACE={self.trace}",
                        f"HOB_TEST_TRACE_MARK={self.mark}", f"HOB_TEST_TRACE_BELOW={self.cache}",
                        f"ASAN_OPTIONS={asan}:verify_asan_link_order=0", HOB]

    def reached_disk(self, daemon, mark):
        """Waits until the daemon has synced its state at this mark; each poll is a request. Everything may have been on disk
        before the mark was set, so one more cook makes it sync again."""
        daemon.post(f"/api/v1/assets/{daemon.assets()['art/skin.obj']['id']}/cook", {"force": True})
        daemon.sync()
        until(lambda: daemon.get("/livez") and any(record.what == SYNC_ALL and record.mark >= mark for record in
                                                   read_trace(self.trace)), "the sync of the disk")

    def record(self):
        """Two daemons that stop cleanly and one killed between them; [(files, facts)] by mark."""
        known = [({}, {})]
        turns = list(versions())
        daemon = Daemon([self.art], self.cache, program=self.program)
        for mark, files in enumerate(turns, 1):
            fill(self.art, files)
            daemon.sync()
            known.append((files, facts(daemon)))
            self.number[:4] = struct.pack("<I", mark)
            if mark % 2:
                self.reached_disk(daemon, mark)
            if mark == 3:
                self.assertEqual(daemon.stop(), 0)
                daemon = Daemon([self.art], self.cache, program=self.program)
            if mark == 5:
                daemon.kill()
                daemon = Daemon([self.art], self.cache, program=self.program)
        self.assertEqual(daemon.stop(), 0)
        return known

    def moments(self, records, count, chance):
        """Random moments, half of them just before or after a sync or a change of a name."""
        turning = [at for at, record in enumerate(records) if record.what in (SYNC, SYNC_ALL, RENAME, LINK, TRUNCATE, UNLINK, MKDIR)]
        found = [chance.choice(turning) + chance.choice((0, 1)) if chance.random() < 0.5 else chance.randrange(len(records) + 1)
                 for _ in range(count - 1)]
        return sorted([*found, len(records)])

    def later_boot(self, place, data):
        """Replaces the boot id, because a power cut implies a reboot."""
        return data.replace(BOOT, b"0" * len(BOOT)) if place == "running" else data

    def check(self, folder, what, known, durable, last):
        """Starts a daemon on one disk. The sources are those of the newest state that had reached it."""
        files, wanted = known[max(durable, 1)]
        art, cache = folder / "art", folder / "cache"
        art.mkdir()
        fill(art, files)
        with Daemon([art], cache) as daemon:
            daemon.sync()
            cooked, said = daemon.cooked(), "\n".join(daemon.log[-30:])
            self.becomes(daemon, wanted, what)
            self.serves(daemon, wanted, what, durable)
            if durable:
                # skin.obj is cooked once more at each mark, and that cook may have been under way.
                self.assertLessEqual(cooked, "cooked art/skin.obj" in said, (what, said))
                self.assertNotIn("rebuilt", said, what)
            if last:
                files, wanted = known[-1]
                fill(art, files)
                daemon.sync()
                self.becomes(daemon, wanted, what)
                self.serves(daemon, wanted, what, False)
        return cooked

    def becomes(self, daemon, wanted, what):
        """Waits until the assets are as wanted: an output under repair is stale for a moment."""
        until = time.monotonic() + DEADLINE
        while (found := facts(daemon)) != wanted:
            self.assertLess(time.monotonic(), until, (what, found, wanted, daemon.log[-30:]))
            with contextlib.suppress(queue.Empty):
                daemon.events.get(timeout=1)

    def serves(self, daemon, wanted, what, durable):
        """Fetches every output; a torn one is detected by the request and cooked again."""
        for name, outputs in wanted.items():
            for output, digest in outputs or ():
                until = time.monotonic() + DEADLINE
                while (answer := daemon.get("/blobs/" + digest)).status != 200:
                    self.assertFalse(durable, (what, name, output, answer.body))
                    self.assertIn(answer.status, (404, 503), (what, name, output, answer.body))
                    self.assertLess(time.monotonic(), until, (what, name, output, daemon.log[-30:]))
                    with contextlib.suppress(queue.Empty):
                        daemon.events.get(timeout=1)
                self.assertEqual(hashlib.sha256(answer.body).hexdigest(), digest, (what, name, output))

    def test_power_cut_at_any_moment(self):
        known = self.record()
        records = read_trace(self.trace)
        disk, done, again = Disk(), 0, 0
        chance = random.Random(SEED)
        moments = self.moments(records, STATES, chance)
        futures = []

        def finish(most):
            nonlocal again
            while len(futures) > most:
                folder, future = futures.pop(0)
                again += future.result()
                shutil.rmtree(folder)

        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            for turn, moment in enumerate(moments):
                for record in itertools.islice(records, done, moment):
                    disk.run(record)
                done = moment
                way = WAYS[turn % len(WAYS)]
                what = f"seed {SEED}, state {turn}: {way} after {moment} of {len(records)} steps, last {disk.last}"[:300]
                folder = self.folder / f"state{turn}"
                disk.make(folder / "cache", way, random.Random(SEED * 100000 + turn), self.later_boot)
                futures.append((folder, pool.submit(self.check, folder, what, known, disk.durable_mark, turn % 4 == 0)))
                finish(6)
                if turn % 100 == 99:
                    print(f"power: {turn + 1} states", flush=True)
            finish(0)
        self.assertEqual(same_as(self.cache, disk), [])
        self.assertEqual({place for place in disk.mapped if place != "index.db-shm"}, set())
        print(f"power: {len(moments)} disks after cuts in {len(records)} steps, seed {SEED}; 0 wrong bodies, "
              f"0 cooks of what had reached the disk, {again} of what had not")


if __name__ == "__main__":
    main()
