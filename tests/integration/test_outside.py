"""External interference with cook processes while good models are saved: they are killed, ended and stopped; the kernel takes
their memory; the machine stalls; they get no processor. No model is blamed or quarantined, and each is cooked in the end."""
import contextlib
import os
import pathlib
import queue
import random
import signal
import threading
import time

from control_group import ControlGroup
from hobtest import HOB, Scenario, amount, built_with, main, meshes, obj_text, until

WORKER = str(pathlib.Path(HOB).resolve().with_name("hob-worker"))
ROUNDS = int(os.environ.get("HOB_ROUNDS", amount(12, 200)))
MODELS, TRIANGLES, LARGE = 20, 20000, 100000
BLAME = {"failed", "quarantined"}


class Outside(Scenario):
    def setUp(self):
        super().setUp()
        self.chance = random.Random(int(os.environ.get("HOB_SEED", "18")))
        self.group = None
        with contextlib.suppress(OSError):
            self.group = ControlGroup()
            self.addCleanup(self.group.close)
        self.evils = {"killed": self.kill, "ended": self.end, "stopped": self.stop_for_good, "stopped a while": self.stop_a_while}
        if self.group:
            self.evils |= {"suspended": self.suspend, "starved": self.starve}
            if not built_with("asan") and not built_with("tsan"):  # where the daemon would be the larger process
                self.evils["out of memory"] = self.no_memory
        self.still = threading.Event()  # never set: a stopped daemon cannot answer
        self.done, self.blamed = dict.fromkeys(self.evils, 0), []

        # Seconds of a cook: long for this machine at present.
        self.put("good-0.obj", obj_text(LARGE))
        began = time.monotonic()
        with self.serve("--jobs", "1") as daemon:
            daemon.sync()
        self.limit = 2 + int(4 * (time.monotonic() - began))

    def workers(self, daemon):
        pid = daemon.process.pid
        found = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return [int(child) for child in found]

    def signal(self, daemon, *numbers):
        for _ in range(self.chance.randrange(4)):  # so that cooks have progressed differently
            daemon.counters()
        for worker in self.workers(daemon):
            for number in numbers:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(worker, number)

    def interrupted(self, daemon):
        counters = daemon.counters()
        return counters["hob_worker_interrupted_total"], counters['hob_cook_results_total{result="cooked"}']

    def hurts(self, daemon, before):
        """Waits until a cook has ended: interrupted, or good nevertheless."""
        until(lambda: self.interrupted(daemon) != before, "an end of a cook")

    def kill(self, daemon, before):
        self.signal(daemon, signal.SIGKILL)

    def end(self, daemon, before):
        self.signal(daemon, signal.SIGTERM)

    def stop_a_while(self, daemon, before):
        self.signal(daemon, signal.SIGSTOP, signal.SIGCONT)

    def stop_for_good(self, daemon, before):
        self.signal(daemon, signal.SIGSTOP)
        self.hurts(daemon, before)
        self.signal(daemon, signal.SIGCONT)

    def no_memory(self, daemon, before):
        self.group.leave_memory(8 << 20)
        self.put("good-0.obj", obj_text(LARGE, shift=self.chance.random()))
        self.hurts(daemon, before)
        self.group.leave_memory(None)

    def suspend(self, daemon, before):
        self.group.freeze(True)
        self.still.wait(self.limit * 1.25)
        self.group.freeze(False)

    def starve(self, daemon, before):
        self.group.leave_processor(0.01)
        self.still.wait(self.limit * 1.25)
        self.group.leave_processor(None)

    def watch(self, daemon):
        """Collects the events so far that blame a model, in self.blamed."""
        with contextlib.suppress(queue.Empty):
            while True:
                kind, data = daemon.events.get_nowait()
                if kind == "asset" and data["state"] in BLAME:
                    self.blamed.append((data["asset"], data["state"], data.get("error")))
        daemon.past.clear()

    def test_no_good_model_is_condemned(self):
        options = ("--jobs", "2", "--timeout", str(self.limit))
        with self.serve(*options) as daemon:
            daemon.sync()
            if self.group:
                self.group.take(daemon.process.pid)
                # the pool's processes are still outside the group; their successors are inside
                self.signal(daemon, signal.SIGKILL)
            kinds = list(self.evils) * -(-ROUNDS // len(self.evils))
            self.chance.shuffle(kinds)
            for i, kind in enumerate(kinds[:ROUNDS]):
                before = self.interrupted(daemon)
                self.put(f"good-{i % MODELS}.obj", obj_text(TRIANGLES, shift=i + 1))
                until(lambda: daemon.counters()["hob_jobs_running"] > 0 or self.interrupted(daemon) != before, "a cook")
                self.evils[kind](daemon, before)
                self.done[kind] += 1
                self.watch(daemon)
                if i % 10 == 9 and ROUNDS > 100:
                    print(f"outside: {i + 1} rounds, {self.interrupted(daemon)[0]:.0f} cooks interrupted", flush=True)
            names = {f"art/good-{i % MODELS}.obj" for i in range(ROUNDS)}
            states = lambda: {daemon.assets().get(name, {}).get("state") for name in names}
            until(lambda: states() == {"fresh"}, "every model fresh")
            daemon.sync()  # a preview is fresh, too
            self.watch(daemon)
            interrupted, _ = self.interrupted(daemon)
            self.assertEqual(daemon.counters()["hob_worker_crashes_total"], 0)
            told = meshes(daemon)
        self.assertEqual(self.blamed, [])
        with self.serve(*options) as daemon:
            daemon.sync()
            self.assertEqual((meshes(daemon), daemon.cooked()), (told, 0))
        groups = f"control groups v{self.group.version}" if self.group else "no control group can be made here"
        print(f"outside: {ROUNDS} rounds ({groups}): {', '.join(f'{many} {kind}' for kind, many in self.done.items())}; "
              f"{interrupted:.0f} cooks interrupted, {len(self.blamed)} models condemned", flush=True)


if __name__ == "__main__":
    main()
