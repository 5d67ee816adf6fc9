"""Machines that share a database and a blob store: each result is cooked once, by one of them, and nobody waits for a farm that is down."""
import json
import os
import subprocess
import unittest

from farm_servers import WHY_NOT, Postgres
from hobtest import DEADLINE, HOB, Daemon, Scenario, amount, main, meshes, obj_text, png, until


@unittest.skipIf(WHY_NOT, WHY_NOT)
class Farm(Scenario):
    def setUp(self):
        super().setUp()
        self.postgres = Postgres(self.folder / "pg")
        self.addCleanup(self.postgres.remove)
        self.blobs = self.folder / "blobs"
        self.blobs.mkdir()
        self.options = ["--farm-metadata", self.postgres.url, "--farm-blobs", f"file://{self.blobs}"]
        self.hob("farm", "init", *self.options)

    def hob(self, *arguments, code=0, **environment):
        done = subprocess.run([HOB, *map(str, arguments)], capture_output=True, text=True, timeout=DEADLINE, cwd=self.folder,
                              env=dict(os.environ, **environment), check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def models(self, count):
        self.put("tex/a.png", png(255, 0, 0))
        for i in range(count):
            self.put(f"d{i % 2}/m{i}.mtl", f"newmtl m\nKd 1 1 {i / 99}\nmap_Kd ../tex/a.png\n")
            self.put(f"d{i % 2}/m{i}.obj", obj_text(10 + i, mtl=f"m{i}.mtl"))

    def machine(self, name, *options, **more):
        return Daemon([self.art], self.folder / name, *self.options, "--farm-node", name, "--reproducibility-interval", "0",
                      "--farm-lease-seconds", "5", *options, **more)

    def facts(self, daemon):
        return daemon.get("/api/v1/stats").json()["upstream"]

    def given(self, daemon):
        return until(lambda: (facts := self.facts(daemon))["outbox"] == 0 and facts["leases"] == 0 and facts, "an empty outbox")

    def test_each_key_is_cooked_once(self):
        count = amount(40, 400)
        self.models(count)
        machines = [self.machine(name, wait_ready=False) for name in ("one", "two", "three")]
        try:
            for daemon in machines:
                daemon.wait_banner()
            for daemon in machines:
                daemon.sync()
            cooked = [daemon.cooked() for daemon in machines]
            facts = [self.given(daemon) for daemon in machines]
            self.assertEqual(sum(cooked), count, (cooked, facts))
            self.assertEqual(self.postgres.sql("select count(*), count(distinct lookup), sum(suspect) from hob_action"), [[str(count), str(count), "0"]])
            self.assertEqual(self.postgres.sql("select max(attempt) from hob_lookup"), [["1"]])
            for daemon in machines[1:]:
                self.assertEqual(meshes(daemon), meshes(machines[0]))
            self.assertGreater(sorted(cooked)[1], 0, cooked)
            self.assertEqual({fact["state"] for fact in facts}, {"up"})
        finally:
            for daemon in machines:
                daemon.stop()


if __name__ == "__main__":
    main()
