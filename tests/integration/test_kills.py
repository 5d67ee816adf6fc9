"""SIGKILL of the daemon and of workers at random moments, under load: nothing published is lost or wrong, the next start brings
every asset to the state of its file, and only unfinished cooks are repeated."""
import hashlib
import os
import random
import signal
import subprocess
import threading

from hobtest import DEADLINE, Oracle, Scenario, amount, children, main, meshes, obj_text

KILLS = int(os.environ.get("HOB_KILLS", amount(30, 1000)))
FILES = 12


class Load:
    """Saves, breaks, removes and restores models as fast as the disk allows, until stopped."""

    def __init__(self, scenario, chance):
        self.scenario, self.chance = scenario, chance
        self.truth = {}
        self.turn = 0
        self.halt = threading.Event()
        for i in range(FILES):
            self.save(f"d{i % 3}/m{i}.obj")

    def save(self, name):
        self.turn += 1
        self.truth[name] = obj_text(20 + self.chance.randrange(60), shift=self.turn)
        self.scenario.put(name, self.truth[name])

    def step(self):
        name = f"d{(i := self.chance.randrange(FILES)) % 3}/m{i}.obj"
        what = self.chance.random()
        if what < 0.1 and name in self.truth:
            (self.scenario.art / name).unlink()
            del self.truth[name]
        elif what < 0.15:
            self.truth[name] = f"# nothing, {self.turn} times\n"
            self.scenario.put(name, self.truth[name])
        else:
            self.save(name)

    def run(self, steps):
        for _ in range(steps):
            if self.halt.is_set():
                return
            self.step()


class Kills(Scenario):
    def check_blobs(self, daemon, published):
        for digest, size in published.items():
            answer = daemon.get("/blobs/" + digest)
            self.assertEqual((answer.status, len(answer.body)), (200, size), digest)
            self.assertEqual(hashlib.sha256(answer.body).hexdigest(), digest)

    def collect(self, daemon, published):
        """Reads events until the kill ends the stream."""
        while True:
            kind, data = daemon.events.get(timeout=DEADLINE)
            # A model with only a preview is not finished, even if both cooks make the same meshes.
            for output in data.get("outputs", []) if kind == "asset" and data.get("quality") == "final" else []:
                published[output["hash"]] = output["size"]
            if kind == "end":
                return

    def check_state(self, daemon, load, oracle):
        truth = oracle.digests(load.truth)
        items = daemon.assets()
        self.assertEqual(set(items), {"art/" + name for name in truth})
        for name, digest in truth.items():
            item = items["art/" + name]
            if digest is None:
                self.assertIn(item["state"], ("failed", "stale"), name)
                self.assertEqual(item["error"]["code"], "import.empty", name)
            else:
                self.assertEqual(item["state"], "fresh", (name, item, load.truth[name][:30]))
        served = meshes(daemon)
        for name, digest in truth.items():
            if digest is not None:
                self.assertEqual(served["art/" + name], digest, name)

    def any_moment(self, daemon, chance, most):
        """Waits for a random time of up to `most` seconds, during which the daemon must not end."""
        try:
            daemon.process.wait(timeout=chance.random() * most)
            self.fail("the daemon ended by itself:\n" + "\n".join(daemon.log[-20:]))
        except subprocess.TimeoutExpired:
            pass

    def test_daemon_and_workers_killed_under_load(self):
        seed = int(os.environ.get("HOB_SEED", "7"))
        chance = random.Random(seed)
        oracle = Oracle(self.folder)
        self.addCleanup(oracle.daemon.kill)
        load = Load(self, chance)
        published, everything = {}, {}
        again = running = before_banner = workers = more = 0
        for turn in range(KILLS):
            daemon = self.serve(wait_ready=False)
            writer = threading.Thread(target=load.run, args=(chance.randint(1, 12),))
            try:
                if chance.random() < 0.8:
                    daemon.wait_banner()
                    daemon.listen()
                    daemon.sync()
                    # Results published by an earlier run are not cooked again; unfinished ones may be.
                    truth = oracle.digests(load.truth)
                    unfinished = sum(digest is None or digest not in everything for digest in truth.values())
                    cooked = daemon.cooked()
                    if cooked > unfinished:
                        more += 1
                        print(f"kills: {cooked} cooks where {unfinished} had not been finished, seed {seed}, kill {turn}")
                    again, running = again + cooked, running + unfinished
                    self.check_state(daemon, load, oracle)
                    self.check_blobs(daemon, published)
                    published = {}
                    writer.start()
                    if chance.random() < 0.5:
                        self.any_moment(daemon, chance, 0.1)
                        for pid in children(daemon.process.pid)[:1]:
                            os.kill(pid, signal.SIGKILL)
                            workers += 1
                else:
                    before_banner += 1
                    writer.start()
                self.any_moment(daemon, chance, 0.05 if turn % 2 else 0.25)
            finally:
                daemon.kill()
            load.halt.set()
            writer.join()
            load.halt.clear()
            if daemon.port:
                self.collect(daemon, published)
            everything.update(published)
            if turn % 100 == 99:
                print(f"kills: {turn + 1}, {len(everything)} blobs published", flush=True)
        with self.serve() as daemon:
            daemon.sync()
            self.check_state(daemon, load, oracle)
            self.check_blobs(daemon, everything)
        with self.serve() as daemon:
            daemon.sync()
            self.assertEqual(daemon.cooked(), 0)
            self.check_state(daemon, load, oracle)
        oracle.stop()
        self.assertEqual(more, 0, f"starts that cooked what had been finished, seed {seed}")
        self.assertLessEqual(again, running)
        print(f"kills: {KILLS} of the daemon ({before_banner} while it started), {workers} of workers, seed {seed}; "
              f"{len(everything)} blobs published, 0 lost, 0 wrong; {again} cooks after the starts, "
              f"{running} had not been finished")


if __name__ == "__main__":
    main()
