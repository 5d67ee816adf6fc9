"""Shared by the scenarios of a farm: a database, a place for blobs, models, and machines that use them."""
import json
import os
import subprocess
import time
import unittest

from farm_servers import WHY_NOT, Bucket, Postgres
from hobtest import DEADLINE, HOB, Daemon, Scenario, obj_text, png, until


@unittest.skipIf(WHY_NOT, WHY_NOT)
class FarmScenario(Scenario):
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

    def models(self, count, size=10, at=""):
        self.put(f"{at}tex/a.png", png(255, 0, 0))
        for i in range(count):
            self.put(f"{at}d{i % 2}/m{i}.mtl", f"newmtl m\nKd 1 1 {i / 99}\nmap_Kd ../tex/a.png\n")
            self.put(f"{at}d{i % 2}/m{i}.obj", obj_text(size + i, mtl=f"m{i}.mtl"))

    def machine(self, name, *options, **more):
        return Daemon([self.art], self.folder / name, *self.options, "--farm-node", name, "--farm-lease-seconds", "5",
                      *options, **more)

    def facts(self, daemon):
        return daemon.get("/api/v1/stats").json()["upstream"]

    def given(self, daemon):
        """Waits until the farm is up and has all results of this machine; returns the machine's facts."""
        return until(lambda: (facts := self.facts(daemon))["outbox"] == facts["leases"] == 0 and facts["state"] == "up" and facts, "an empty outbox")

    def rows(self):
        return int(self.postgres.sql("select count(distinct lookup) from hob_action")[0][0])

    def cooked(self, *daemons):
        """Number of cooks of these machines, without those of results that would have been slower to fetch than to cook."""
        return sum(daemon.cooked() - self.facts(daemon)["slower"] for daemon in daemons)

    def outputs(self, daemon):
        """{asset: {output: digest}} of all fresh assets, without the report, which contains times."""
        return {name: {output["name"]: output["hash"] for output in item["outputs"] if output["name"] != "report"}
                for name, item in daemon.assets("&fields=root,path,outputs,state").items() if item["state"] == "fresh"}

    def assert_whole(self, count, *machines):
        """Checks that every key is in the database once, with one result, and that all machines serve the same bytes of each
        model."""
        for daemon in machines:
            daemon.sync()
        for daemon in machines:
            self.given(daemon)
        self.assertEqual(self.postgres.sql("select count(*), count(distinct lookup), sum(suspect) from hob_action"), [[str(count), str(count), "0"]])
        expected = self.outputs(machines[0])
        self.assertEqual(len(expected), count)
        for daemon in machines:
            self.assertEqual(self.outputs(daemon), expected)
        for name in list(expected)[::max(1, count // 10)]:
            self.assertEqual(len({daemon.blob(name) for daemon in machines}), 1)

    def save(self, daemon, name, size):
        """Saves a model and waits until its cook is served; returns the seconds."""
        began = time.monotonic()
        self.put(name, obj_text(size))
        daemon.wait_asset(f"art/{name}", "fresh")
        return time.monotonic() - began

    def degraded(self, daemon):
        facts = until(lambda: (facts := self.facts(daemon))["state"] == "degraded" and facts, "a degraded farm")
        ready = daemon.get("/readyz")
        self.assertEqual((ready.status, b"note farm: degraded" in ready.body), (200, True), ready.body)
        self.assertIn("degraded", self.hob("status", "--url", f"http://127.0.0.1:{daemon.port}"))
        self.assertEqual(daemon.counters()["hob_upstream_up"], 0)
        return facts

    def bucket(self, more="", secret=Bucket.SECRET):
        bucket = Bucket()
        self.addCleanup(bucket.stop)
        secrets = self.folder / "secrets"
        secrets.write_text(f"# of the bucket\naccess_key={Bucket.ACCESS}\nsecret_key={secret}\n")
        self.options = ["--farm-metadata", self.postgres.url, "--farm-blobs", bucket.url + more, "--farm-credentials-file", str(secrets)]
        return bucket
