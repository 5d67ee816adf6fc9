"""Two daemons on one cache, cook processes that are killed or outlive them: nothing is lost, and no process remains."""
import os
import signal
import subprocess

from hobtest import DEADLINE, HOB, Scenario, main, obj_text


class Durable(Scenario):
    def test_second_daemon_is_refused_with_the_pid(self):
        self.put("one.obj", obj_text(1))
        with self.serve() as daemon:
            second = subprocess.run([HOB, "serve", str(self.art), "--cache", str(self.cache), "--listen", "127.0.0.1:0"],
                                    capture_output=True, timeout=DEADLINE)
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
