"""Machines that share a database and a blob store: each result is cooked once, by one of them, and nobody waits for a farm that is down."""
import hashlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time
import unittest

from farm_servers import WHY_NOT, Bucket, Postgres
from hobtest import DEADLINE, HOB, Daemon, Scenario, amount, main, meshes, obj_text, png, record_text, until


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
        """And each that fails, fails once."""
        count, bad = amount(40, 400), 6
        self.models(count)
        for i in range(bad):
            self.put(f"bad{i}.obj", f"f {i + 1} {i + 2} {i + 3}\n")
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
            self.assertEqual(sum(daemon.counters()['hob_cook_results_total{result="failed"}'] for daemon in machines), bad)
            self.assertEqual(self.postgres.sql("select count(*), count(distinct lookup) from hob_failure"), [[str(bad)] * 2])
            failures = [{path: item["error"]["message"] for path, item in daemon.assets("&state=failed").items()} for daemon in machines]
            self.assertEqual((len(failures[0]), failures[1:]), (bad, failures[:1] * 2))
            for daemon in machines[1:]:
                self.assertEqual(meshes(daemon), meshes(machines[0]))
            self.assertGreater(sorted(cooked)[1], 0, cooked)
            self.assertEqual({fact["state"] for fact in facts}, {"up"})
        finally:
            for daemon in machines:
                daemon.stop()


    def test_a_holder_that_dies_is_taken_over(self):
        count = amount(60, 200)
        self.models(count)
        for _ in range(amount(1, 20)):
            self.kill_a_holder(count)
            self.postgres.sql("truncate hob_action, hob_lookup, hob_node")
            shutil.rmtree(self.folder / "one")
            shutil.rmtree(self.folder / "two")

    def kill_a_holder(self, count):
        one = self.machine("one")
        self.addCleanup(one.stop)
        until(lambda: int(self.postgres.sql("select count(*) from hob_action")[0][0]) > count // 10 and
              int(self.postgres.sql("select count(*) from hob_lookup where until > now()")[0][0]), "a cook under way")
        os.killpg(one.process.pid, signal.SIGKILL)
        one.process.wait()
        theirs = int(self.postgres.sql("select count(*) from hob_action")[0][0])
        left = int(self.postgres.sql("select count(*) from hob_lookup where until > now()")[0][0])
        with self.machine("two") as two:
            two.sync()
            facts = self.given(two)
            self.assertEqual((two.cooked(), facts["taken_over"] + facts["late"]), (count - theirs, left))
            self.assertEqual(self.rows(), count)
        # The dead one comes back, and has lost nothing.
        with self.machine("one") as one:
            one.sync()
            self.given(one)
            self.assertEqual(one.assets("&state=failed"), {})
            self.assertEqual((self.rows(), self.postgres.sql("select sum(suspect) from hob_action")), (count, [["0"]]))

    def rows(self):
        return int(self.postgres.sql("select count(distinct lookup) from hob_action")[0][0])

    def save(self, daemon, name, size):
        """Until its meshes are served; seconds."""
        began = time.monotonic()
        self.put(name, obj_text(size))
        daemon.wait_asset(f"art/{name}", "fresh")
        return time.monotonic() - began

    def degraded(self, daemon):
        facts = until(lambda: (facts := self.facts(daemon))["state"] == "degraded" and facts, "a degraded farm")
        self.assertEqual(daemon.get("/readyz").status, 200)
        self.assertIn("degraded", self.hob("status", "--url", f"http://127.0.0.1:{daemon.port}"))
        self.assertEqual(daemon.counters()["hob_upstream_up"], 0)
        return facts

    def test_a_database_that_is_stopped_delays_no_save(self):
        self.models(4)
        with self.machine("one") as one, self.machine("two") as two:
            one.sync()
            two.sync()
            self.given(one)
            self.postgres.freeze()
            try:
                for i in range(3):
                    self.assertLess(self.save(one, f"new{i}.obj", 50 + i), 30)
                self.degraded(one)
                facts = self.facts(one)
                self.assertGreaterEqual(facts["outbox"], 3)
            finally:
                self.postgres.thaw()
            facts = self.given(one)
            self.assertEqual(facts["state"], "up")
            self.given(two)
            self.assertEqual(self.rows(), 7)
            with self.machine("three") as three:
                three.sync()
                self.assertEqual((three.cooked(), meshes(three)), (0, meshes(one)))

    def test_a_database_that_restarts(self):
        count = amount(60, 200)
        self.models(count)
        with self.machine("one") as one, self.machine("two") as two:
            until(lambda: self.rows() > count // 10, "some results")
            self.postgres.stop(signal.SIGQUIT)
            self.postgres.start()
            for daemon in (one, two):
                daemon.sync()
            for daemon in (one, two):
                self.assertEqual(self.given(daemon)["state"], "up")
            self.assertEqual((self.rows(), meshes(one)), (count, meshes(two)))
            self.assertEqual(one.assets("&state=failed"), {})

    def test_a_folder_that_is_away(self):
        self.models(4)
        with self.machine("one") as one:
            one.sync()
            self.given(one)
            self.blobs.rename(self.folder / "away")
            self.assertLess(self.save(one, "new.obj", 77), 30)
            self.assertIn("is it mounted?", self.degraded(one)["reason"])
            (self.folder / "away").rename(self.blobs)
            self.assertEqual(self.given(one)["pushed"], 5)

    def test_another_result_is_told(self):
        self.models(2)
        with self.machine("one") as one:
            one.sync()
            self.given(one)
        self.postgres.sql("update hob_action set lookup = sha256(lookup), result = sha256(result)")
        self.postgres.sql("delete from hob_lookup")
        with self.machine("two") as two:
            two.sync()
            facts = self.given(two)
            self.assertEqual((two.cooked(), facts["conflicts"], facts["pushed"]), (2, 2, 0))
        self.assertIn("nondeterministic", self.hob("farm", "verify", *self.options, code=1))

    def test_poison(self):
        """Wrong bytes, texts that are no records, records of something else, SQL in every name."""
        self.models(4)
        evil = "x'); drop table hob_action; --"
        with self.machine("one", "--farm-node", evil) as one:
            one.sync()
            self.given(one)
            fine = meshes(one)
        self.assertEqual(self.postgres.sql("select distinct node from hob_action"), [[evil]])
        keys = [row[0] for row in self.postgres.sql("select encode(key, 'hex') from hob_action order by made")]
        other = self.postgres.sql(f"select record from hob_action where encode(key, 'hex') = '{keys[3]}'")[0][0]
        # 0: its blobs hold other bytes. 1: garbage behind a right beginning. 2: the text of another record. 3: it names a foreign blob.
        record = json.loads(self.postgres.sql(f"select record from hob_action where encode(key, 'hex') = '{keys[0]}'")[0][0])
        for output in record["outputs"]:
            blob = self.blobs / "blobs" / output["sha256"][:2] / output["sha256"]
            blob.write_bytes(bytes(blob.stat().st_size))
        self.postgres.sql(f"update hob_action set record = left(record, 200) || 'x' || chr(10) where encode(key, 'hex') = '{keys[1]}'")
        self.postgres.sql(f"update hob_action set record = $${other}$$ || chr(10) where encode(key, 'hex') = '{keys[2]}'")
        poisoned = json.loads(other)
        poisoned["outputs"][0]["sha256"] = record["outputs"][0]["sha256"]
        self.postgres.sql(f"update hob_action set record = $${record_text(poisoned)}$$ where encode(key, 'hex') = '{keys[3]}'")
        with self.machine("two") as two:
            two.sync()
            facts = self.given(two)
            self.assertEqual((two.cooked(), meshes(two)), (4, fine))
            self.assertGreaterEqual(facts["refused"], 3)
            self.assertEqual(two.get("/readyz").status, 200)
        said = self.hob("farm", "verify", *self.options)
        self.assertIn(evil, said)
        self.assertIn("0 damaged, 0 named and not there, 0 no records", said)
        with self.machine("three") as three:
            three.sync()
            self.assertEqual((three.cooked(), meshes(three)), (0, fine))

    def test_who_may_only_read(self):
        self.models(2)
        with self.machine("one") as one:
            one.sync()
            self.given(one)
        self.postgres.sql("create role reader login; grant select on all tables in schema public to reader")
        reader = ["--farm-metadata", self.postgres.url.replace("user=hob", "user=reader")]
        self.put("more.obj", obj_text(99))
        with self.machine("two", *reader) as two:
            two.sync()
            facts = until(lambda: (facts := self.facts(two))["push"] is False and facts, "the end of giving")
            self.assertEqual((two.cooked(), facts["fetched"], facts["state"], facts["outbox"]), (1, 2, "up", 0))
        self.assertEqual(self.rows(), 2)

    def test_a_farm_of_a_newer_hob(self):
        self.models(2)
        self.postgres.sql("update hob_farm set version = 9, oldest = 9")
        with self.machine("one") as one:
            one.sync()
            facts = until(lambda: (facts := self.facts(one))["state"] == "barred" and facts, "a refusal")
            self.assertIn("update Hob here", facts["reason"])
            self.assertEqual((one.cooked(), one.get("/readyz").status), (2, 200))
        self.assertIn("update Hob here", self.hob("farm", "init", *self.options, code=3))
        self.postgres.sql("drop table hob_farm")
        self.assertIn("hob farm init", self.hob("farm", "status", *self.options, code=3))

    def test_a_farm_of_an_older_hob(self):
        """Refused in words, and brought up to date with all that it holds."""
        schema = pathlib.Path(__file__).resolve().parents[2] / "schema/farm.sql"
        self.postgres.sql("drop schema public cascade; create schema public")
        self.postgres.sql(schema.read_text())
        self.models(2)
        with self.machine("one") as one:
            one.sync()
            facts = until(lambda: (facts := self.facts(one))["state"] == "barred" and facts, "a refusal")
            self.assertIn("'hob farm init' brings it up to date", facts["reason"])
            self.assertEqual((one.cooked(), facts["outbox"]), (2, 2))
        self.assertIn("the tables are made", self.hob("farm", "init", *self.options))
        self.assertEqual(self.postgres.sql("select version, oldest from hob_farm"), [["2", "1"]])
        with self.machine("one") as one:
            one.sync()
            self.given(one)
            self.assertEqual((one.cooked(), self.rows()), (0, 2))
        self.assertIn("the tables are there", self.hob("farm", "init", *self.options))

    def test_the_command(self):
        self.models(3)
        with self.machine("one") as one:
            one.sync()
            self.given(one)
            status = until(lambda: (found := json.loads(self.hob("farm", "status", "--json", *self.options)))["nodes"] and found, "a heartbeat")
            self.assertEqual((status["schema"], status["records"], status["nodes"][0]["name"]), (2, 3, "one"))
            self.assertIn("the tables are there", self.hob("farm", "init", *self.options))
            self.assertIn("3 results", self.hob("farm", "status", *self.options))
        stray = self.blobs / "blobs/00" / ("00" * 32)
        stray.parent.mkdir(exist_ok=True)
        stray.write_bytes(b"?")
        self.assertIn("deleted no blobs (0 B)", self.hob("farm", "gc", *self.options))
        os.utime(stray, (0, 0))
        self.assertIn("would delete 1 blob (1 B)", self.hob("farm", "gc", "-n", *self.options))
        self.assertIn("deleted 1 blob (1 B)", self.hob("farm", "gc", *self.options))
        self.postgres.sql("update hob_action set last_used = current_date - 40 where key = (select min(key::text)::bytea from hob_action)")
        self.assertIn("forgot 1 result", self.hob("farm", "gc", *self.options))
        self.assertEqual(self.rows(), 2)
        self.assertEqual(self.hob("cook", self.art, "-o", "out", *self.options).count("2 from"), 1)
        for wrong, said in ((["--farm-metadata", "postgresql://me:secret@db/x"], "holds a password"), (["--farm-blobs", "ftp://x"], "neither"),
                            (["--farm-metadata", "mysql://x"], "postgresql://")):
            message = self.hob("farm", "status", *self.options, *wrong, code=2)
            self.assertIn(said, message)
            self.assertNotIn("secret", message)

    def bucket(self, more="", secret=Bucket.SECRET):
        bucket = Bucket()
        self.addCleanup(bucket.stop)
        secrets = self.folder / "secrets"
        secrets.write_text(f"# of the bucket\naccess_key={Bucket.ACCESS}\nsecret_key={secret}\n")
        self.options = ["--farm-metadata", self.postgres.url, "--farm-blobs", bucket.url + more, "--farm-credentials-file", str(secrets)]
        return bucket

    def test_a_bucket(self):
        """Signed as an independent implementation signs; large blobs in parts; listed in pages."""
        bucket = self.bucket("&part=4096")
        self.models(4)
        self.put("large.obj", obj_text(400))
        self.assertIn("can be written", self.hob("farm", "init", *self.options))
        with self.machine("one") as one:
            one.sync()
            self.assertEqual(self.given(one)["pushed"], 5)
            self.assertNotIn(Bucket.SECRET, one.get("/api/v1/config").body.decode() + "".join(map(str, one.log)))
            with self.machine("two") as two:
                two.sync()
                self.assertEqual((two.cooked(), meshes(two)), (0, meshes(one)))
        self.assertEqual((bucket.wrong, bucket.uploads), ([], {}))
        self.assertGreater(len([1 for method, _ in bucket.asked if method == "POST"]), 1)
        for name, data in bucket.objects.items():
            self.assertEqual(name, f"blobs/{(digest := hashlib.sha256(data).hexdigest())[:2]}/{digest}")
        self.assertIn(f"{len(bucket.objects)} blobs checked: 0 damaged", self.hob("farm", "verify", *self.options))
        bucket.objects["blobs/00/" + "00" * 32] = b"stray"
        self.assertIn("deleted 1 blob (5 B)", self.hob("farm", "gc", *self.options))

    def test_a_bucket_that_fails(self):
        """503, cut connections and a quota: results wait, and nothing else does."""
        bucket = self.bucket()
        bucket.made = True
        self.models(2)
        with self.machine("one") as one:
            one.sync()
            self.given(one)
            for number, (fault, said) in enumerate(((503, "with 503"), ("cut", "the farm's bucket: "))):
                bucket.fault = lambda method, name: fault
                self.assertLess(self.save(one, f"new{number}.obj", 70 + number), 30)
                self.assertIn(said, self.degraded(one)["reason"])
                bucket.fault = lambda method, name: None
                self.given(one)
            # Full: no failure of the farm, which is still read.
            bucket.fault = lambda method, name: 403 if method == "PUT" else None
            self.save(one, "full.obj", 90)
            one.wait_log("QuotaExceeded")
            self.assertEqual((self.facts(one)["state"], self.facts(one)["outbox"]), ("up", 1))
            bucket.fault = lambda method, name: None
            self.assertEqual(self.given(one)["pushed"], 5)
        with self.machine("two") as two:
            two.sync()
            self.assertEqual((two.cooked(), self.rows()), (0, 5))

    def test_a_bucket_of_somebody_else(self):
        bucket = self.bucket(secret="wrong")
        bucket.made = True
        self.assertIn("SignatureDoesNotMatch", self.hob("farm", "init", *self.options, code=3))
        self.bucket()
        said = self.hob("farm", "init", *self.options)
        self.assertIn("can be written", said)


    def test_cooks_at_once_share_the_work(self):
        """hob cook on three build machines: each model once, and everybody has all."""
        count = amount(40, 200)
        self.models(count)
        self.put("broken.obj", "f 1 2 3\n")
        runs = [subprocess.Popen([HOB, "cook", str(self.art), "-o", f"out{i}", "--report", f"report{i}.json", *self.options], cwd=self.folder,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for i in range(3)]
        said = [run.communicate(timeout=DEADLINE)[0] for run in runs]
        reports = [json.loads((self.folder / f"report{i}.json").read_text()) for i in range(3)]
        self.assertEqual([run.returncode for run in runs], [1, 1, 1], said)
        self.assertEqual([report["failed"] for report in reports], [1, 1, 1])
        self.assertEqual([report["cooked"] + report["cached"] for report in reports], [count] * 3)
        self.assertEqual((sum(report["cooked"] for report in reports), self.rows()), (count, count), said)
        self.assertEqual(self.postgres.sql("select count(*) from hob_lookup where until > now() + interval '1 s'"), [["0"]])
        for path in (self.folder / "out0").rglob("*"):
            for other in ("out1", "out2"):
                if path.is_file() and path.suffix != ".json":
                    self.assertEqual(path.read_bytes(), (self.folder / other / path.relative_to(self.folder / "out0")).read_bytes())


if __name__ == "__main__":
    main()
