"""SIGKILL, damage, two daemons: nothing published is lost, nothing wrong is served."""
import hashlib
import os
import random
import signal
import subprocess

from hobtest import HOB, Scenario, main, obj_text

KILLS = int(os.environ.get("HOB_KILLS", "10"))


class Durable(Scenario):
    def test_kill_at_random_moments(self):
        random.seed(7)
        truth = {}
        for i in range(12):
            truth[f"m{i}.obj"] = obj_text(200 + i)
            self.put(f"m{i}.obj", truth[f"m{i}.obj"])
        published = {}
        for round_ in range(KILLS):
            daemon = self.serve()
            try:
                saved = set()
                for _ in range(random.randint(1, 6)):
                    name = f"m{random.randrange(12)}.obj"
                    truth[name] = obj_text(200 + random.randrange(100), shift=round_)
                    self.put(name, truth[name])
                    saved.add(name)
                for _ in range(random.randint(0, len(saved))):
                    data = daemon.wait_event("asset")
                    for output in data.get("outputs", []):
                        published[output["hash"]] = output["size"]
            finally:
                daemon.kill()
        with self.serve() as daemon:
            daemon.sync()
            for item in daemon.assets().values():
                self.assertEqual(item["state"], "fresh")
            for name in truth:
                daemon.blob("art/" + name)
            for digest, size in published.items():
                answer = daemon.get("/blobs/" + digest)
                self.assertEqual((answer.status, len(answer.body)), (200, size))
                self.assertEqual(hashlib.sha256(answer.body).hexdigest(), digest)
            cooked = daemon.cooked()
            self.assertLessEqual(cooked, 12)
        with self.serve() as daemon:
            daemon.sync()
            self.assertEqual(daemon.cooked(), 0)

    def test_second_daemon_is_refused_with_the_pid(self):
        self.put("one.obj", obj_text(1))
        with self.serve() as daemon:
            second = subprocess.run([HOB, "serve", str(self.art), "--cache", str(self.cache), "--listen", "127.0.0.1:0"],
                                    capture_output=True, timeout=60)
            self.assertNotEqual(second.returncode, 0)
            self.assertIn(str(daemon.process.pid), second.stderr.decode())
            daemon.sync()

    def test_killed_workers_are_replaced(self):
        for i in range(4):
            self.put(f"m{i}.obj", obj_text(100 + i))
        with self.serve() as daemon:
            daemon.sync()
            children = subprocess.run(["pgrep", "-P", str(daemon.process.pid)], capture_output=True, text=True)
            self.assertTrue(children.stdout.split())
            for pid in children.stdout.split():
                os.kill(int(pid), signal.SIGKILL)
            self.put("m0.obj", obj_text(300))
            self.assertEqual(daemon.wait_asset("art/m0.obj", "fresh", "failed")["state"], "fresh")

    def test_workers_end_with_the_daemon(self):
        self.put("one.obj", obj_text(1))
        daemon = self.serve()
        daemon.sync()
        children = subprocess.run(["pgrep", "-P", str(daemon.process.pid)], capture_output=True, text=True).stdout.split()
        handles = [os.pidfd_open(int(pid)) for pid in children]
        daemon.kill()
        import select
        for handle in handles:
            self.assertTrue(select.select([handle], [], [], 10)[0], "a worker outlived its daemon")
            os.close(handle)


if __name__ == "__main__":
    main()
