"""Thousands of mixed edits: after the warm-up neither memory nor descriptors nor the write-ahead log grow."""
import os
import pathlib
import random

from hobtest import Scenario, amount, built_with, main, obj_text, png, until

EDITS = int(os.environ.get("HOB_EDITS", amount(240, 20000)))
FILES, TEXTS = 10, 40
WARM = 10000  # edits


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


if __name__ == "__main__":
    main()
