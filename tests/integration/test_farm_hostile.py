"""A foreign bucket, folder and database: they crash no machine, and a misconfigured machine takes nothing from the others."""
import itertools
import os
import shutil
import unittest

from farm_scenario import FarmScenario
from hobtest import main, meshes, until


class FarmHostile(FarmScenario):
    def setUp(self):
        super().setUp()
        self.models(3)

    def cooked_by_one(self):
        with self.machine("one") as one:
            one.sync()
            self.given(one)
            return meshes(one)

    def refused(self):
        return self.postgres.sql("select count(*) from hob_refused")

    def test_a_machine_with_another_region(self):
        """A machine with the wrong region can write to the database, but must not delete others' records."""
        bucket = self.bucket()
        bucket.made = True
        fine = self.cooked_by_one()
        for number, (status, code) in enumerate(((400, "AuthorizationHeaderMalformed"), (301, "PermanentRedirect"), (307, "TemporaryRedirect"))):
            with self.subTest(code):
                bucket.fault = lambda method, name, answer=(status, code): answer
                with self.machine(f"wrong{number}") as wrong:
                    wrong.sync()
                    facts = until(lambda: (facts := self.facts(wrong))["state"] == "barred" and facts, "a refusal")
                    self.assertIn("region=", facts["reason"])
                    self.assertEqual((meshes(wrong), facts["push"], self.rows(), self.refused()), (fine, True, 3, [["0"]]))
        bucket.fault = lambda method, name: None
        with self.machine("two") as two:
            two.sync()
            self.assertEqual((two.cooked(), meshes(two)), (0, fine))

    def test_a_refusal_without_a_reason(self):
        """A bucket of another region answers HEAD with a status alone."""
        bucket = self.bucket()
        bucket.made = True
        bucket.fault = lambda method, name: 400 if method == "HEAD" else None
        with self.machine("wrong") as wrong:
            wrong.sync()
            facts = until(lambda: (facts := self.facts(wrong))["state"] == "barred" and facts, "a refusal")
            self.assertIn("HEAD with 400; check region=", facts["reason"])

    def test_a_machine_with_another_folder(self):
        fine = self.cooked_by_one()
        (self.folder / "other/blobs").mkdir(parents=True)
        with self.machine("wrong", "--farm-blobs", f"file://{self.folder}/other") as wrong:
            wrong.sync()
            until(lambda: self.facts(wrong)["outbox"] == 0, "an empty outbox")
            self.assertEqual((meshes(wrong), self.rows(), self.refused()), (fine, 3, [["0"]]))
        with self.machine("two") as two:
            two.sync()
            self.assertEqual((two.cooked(), meshes(two)), (0, fine))

    def test_answers_without_end(self):
        """Endless bodies in answers about existing and missing names and to an upload, and endless heads."""
        bucket = self.bucket()
        bucket.made = True
        fine = self.cooked_by_one()
        for number, (fault, methods) in enumerate((("endless 404", ("GET",)), ("endless 200", ("GET",)), ("endless 200", ("PUT", "GET")),
                                                   ("endless 503", ("GET", "PUT")), ("endless head", ("GET",)))):
            with self.subTest(fault, methods=methods):
                bucket.fault = lambda method, name, fault=fault, methods=methods: fault if method in methods else None
                with self.machine(f"m{number}") as daemon:
                    daemon.sync()
                    self.save(daemon, "new.obj", 50 + number)
                    self.assertEqual({name: digest for name, digest in meshes(daemon).items() if name in fine}, fine)
                    self.assertEqual(daemon.get("/readyz").status, 200)

    def test_a_list_without_end(self):
        bucket = self.bucket()
        self.hob("farm", "init", *self.options)
        self.cooked_by_one()
        bucket.more = True
        self.assertIn("does not end", self.hob("farm", "verify", *self.options, code=3))
        bucket.more = False
        bucket.fault = lambda method, name: "endless 200" if method == "GET" and not name else None
        self.assertIn("does not end", self.hob("farm", "gc", *self.options, code=3))

    def test_names_that_leave_the_bucket(self):
        bucket = self.bucket()
        self.hob("farm", "init", *self.options)
        self.cooked_by_one()
        for name in ("blobs/../../other/secret", "blobs/%2e%2e/%2e%2e/other/secret", "blobs/readme.txt"):
            bucket.objects[name] = b"not yours"
        bucket.asked.clear()
        self.assertIn("deleted no blobs", self.hob("farm", "gc", *self.options))
        self.hob("farm", "verify", *self.options)
        self.assertEqual([asked for asked in bucket.asked if asked[0] == "DELETE" or "other" in asked[1]], [])

    def test_a_blob_that_is_a_pipe(self):
        fine = self.cooked_by_one()
        for blob in list(self.blobs.glob("blobs/??/*")):
            blob.unlink()
            os.mkfifo(blob)
        with self.machine("two") as two:
            two.sync()
            self.assertEqual((meshes(two), two.cooked()), (fine, 3))
        self.assertIsNotNone(self.hob("farm", "gc", *self.options))

    def test_blobs_of_the_wrong_kind(self):
        """New cooks replace them: no outbox waits forever, and nothing behind a link is written."""
        self.models(6)
        with self.machine("a") as a:
            self.assert_whole(6, a)
        before = {path.relative_to(self.blobs) for path in self.blobs.glob("blobs/??/*")}
        (self.folder / "elsewhere").write_bytes(b"x")
        makers = [os.mkfifo, os.mkdir, lambda path: os.symlink("nowhere", path), lambda path: os.symlink(self.folder / "elsewhere", path)]
        for number, path in enumerate(sorted(before)):
            (self.blobs / path).unlink()
            makers[number % len(makers)](self.blobs / path)
        (parent,) = {path.parent for path in sorted(before)[:1]}
        shutil.rmtree(self.blobs / parent)
        os.mkfifo(self.blobs / parent)
        with self.machine("b") as b:
            self.assert_whole(6, b)
            self.assertEqual(b.get("/readyz").status, 200)
        self.assertEqual((self.folder / "elsewhere").read_bytes(), b"x")

    def test_a_lost_report(self):
        """The first machine that finds the report's blob missing cooks again and replaces the record."""
        fine = self.cooked_by_one()
        for (report,) in self.postgres.sql("select substring(record from '\"report\",\"sha256\":\"(\\w+)') from hob_action"):
            (self.blobs / "blobs" / report[:2] / report).unlink()
        cooked = []
        for name in ("two", "three"):
            with self.machine(name) as daemon:
                daemon.sync()
                self.given(daemon)
                self.assertEqual(meshes(daemon), fine)
                cooked.append(daemon.cooked())
        self.assertEqual(cooked, [3, 0])

    def test_a_folder_that_is_a_pipe(self):
        """Counts as gone until the folder is back, without being reported as back in between."""
        with self.machine("one") as one:
            one.sync()
            self.given(one)
            real = self.blobs / "blobs"
            real.rename(self.folder / "away")
            os.mkfifo(real)
            self.models(6)
            with self.machine("two") as two:
                for daemon in (one, two):
                    daemon.sync()
                    self.assertEqual(len(meshes(daemon)), 6)
                    self.assertIn("is it mounted?", self.degraded(daemon)["reason"])
                real.unlink()
                (self.folder / "away").rename(real)
                self.assert_whole(6, one, two)
                for daemon in (one, two):
                    self.assertEqual(sum("answers again" in line for line in daemon.log), 1, daemon.log)

    def test_a_store_that_fails_for_a_tenth(self):
        """A store that fails one request in ten counts as gone: each machine cooks for itself until it is steady again."""
        bucket = self.bucket()
        bucket.made = True
        asked = itertools.count(1)
        bucket.fault = lambda method, name: 503 if next(asked) % 10 == 0 else None
        count = 40
        self.models(count)
        with self.machine("one", "--farm-lease-seconds", "300", wait_ready=False) as one, \
             self.machine("two", "--farm-lease-seconds", "300", wait_ready=False) as two:
            for daemon in (one, two):
                daemon.wait_banner()
            for daemon in (one, two):
                until(lambda daemon=daemon: daemon.counters()["hob_upstream_failing"] == 1, "a store that counts as gone")
                self.assertIn("a tenth of its answers are failures, such as: the farm's bucket answered", self.degraded(daemon)["reason"])
                daemon.sync()
                self.assertEqual(len(meshes(daemon)), count)
            bucket.fault = lambda method, name: None
            self.assert_whole(count, one, two)
            for daemon in (one, two):
                self.assertEqual((daemon.counters()["hob_upstream_failing"], daemon.get("/readyz").body), (0, b"ok\n"))

    def test_rows_that_are_huge(self):
        """Huge rows under a real lookup, newer than the real record; each begins as a record does."""
        fine = self.cooked_by_one()
        self.postgres.sql(
            "insert into hob_action(key, lookup, result, record, bytes, cook_ms, node) select sha256(lookup || n::text::bytea), lookup, result, "
            "'{\"hob_result\":1,\"key\":\"' || encode(sha256(lookup || n::text::bytea), 'hex') || '\",\"lookup\":\"' || encode(lookup, 'hex') || '\",' "
            "|| repeat(md5(n::text), 400000), 1, 1, 'evil' from hob_action, generate_series(1, 4) n", timeout=300)
        with self.machine("two") as two:
            two.sync()
            self.assertEqual((two.cooked(), meshes(two)), (0, fine))
            self.assertLess(two.counters()["process_resident_memory_bytes"], 400 << 20)
        self.assertIn("12 no records", self.hob("farm", "verify", *self.options, code=1))

    def test_a_lease_for_a_hundred_years(self):
        """Nothing waits for a lease that ends in a hundred years, never, or before all times; the other leases of its batch are
        granted."""
        fine = self.cooked_by_one()
        for number, ends in enumerate(("now() + interval '100 years'", "'infinity'", "'-infinity'")):
            with self.subTest(ends):
                self.postgres.sql("truncate hob_action, hob_node")
                self.postgres.sql("update hob_lookup set records = 0, owner = 'evil', attempt = 2147483647, until = 'epoch'")
                self.postgres.sql(f"update hob_lookup set until = {ends} where lookup = (select min(lookup::text)::bytea from hob_lookup)")
                with self.machine(f"two{number}") as two:
                    two.sync()
                    self.assertEqual((meshes(two), two.cooked()), (fine, 3))
                    facts = self.given(two)
                    self.assertEqual((facts["claimed"], facts["pushed"], facts["late"]), (3, 3, 0))

    def test_rows_out_of_time(self):
        """Infinite times and counts that overflow every sum do not break a list."""
        self.cooked_by_one()
        self.postgres.sql("alter table hob_action drop constraint hob_action_bytes_check")
        self.postgres.sql("update hob_action set made = 'infinity', last_used = 'infinity', bytes = 9223372036854775807")
        self.postgres.sql("insert into hob_node(id, name, version, role, seen, state) values ('a', 'a', '', 'cook', 'infinity', '3'), "
                          "('b', 'b', '', 'cook', '-infinity', '[]'), ('c', repeat('c', 9000), '', 'cook', now(), '{\"given\": \"x\", \"leases\": -1}')")
        self.assertIn("3 results", self.hob("farm", "status", *self.options))
        with self.machine("two") as two:
            two.sync()
            found = until(lambda: (found := two.get("/api/v1/farm").json()["machines"]) and len(found) >= 4 and found, "a list")
            self.assertEqual(max(len(machine["name"]) for machine in found), 64)

    def test_gc_with_another_database(self):
        """gc with another farm's database would delete every blob in this bucket, and is refused."""
        for where in ("folder", "bucket"):
            with self.subTest(where):
                if where == "bucket":
                    self.postgres.sql("truncate hob_action, hob_lookup")
                    self.bucket()
                    self.hob("farm", "init", *self.options)
                fine = self.cooked_by_one()
                self.postgres.sql(f"create database other_{where}")
                other = ["--farm-metadata", self.postgres.url.replace("/postgres?", f"/other_{where}?")]
                for blob in self.blobs.glob("blobs/??/*"):
                    os.utime(blob, (0, 0))
                self.assertIn("belong to the farm of another database", self.hob("farm", "init", *self.options, *other, code=3))
                for verb in (("gc",), ("gc", "-n")):
                    self.assertIn("belong to the farm of another database", self.hob("farm", *verb, *self.options, *other, code=3))
                self.assertIn("deleted no blobs", self.hob("farm", "gc", *self.options))
                with self.machine(f"new-{where}") as new:
                    new.sync()
                    self.assertEqual((new.cooked(), meshes(new)), (0, fine))
                shutil.rmtree(self.folder / "one")
                # A new database replaces a lost one.
                self.hob("farm", "init", "--adopt", *self.options, *other)
                self.assertIn("belong to the farm of another database", self.hob("farm", "gc", *self.options, code=3))
                self.assertNotIn("deleted no blobs", self.hob("farm", "gc", *self.options, *other))

    def test_escapes_of_a_terminal(self):
        self.cooked_by_one()
        self.postgres.sql("update hob_action set node = E'\\x1b]0;evil\\x07', suspect = 1")
        self.postgres.sql("update hob_node set name = E'\\x1b[2Jevil'")
        for verb, code in (("status", 0), ("verify", 1)):
            said = self.hob("farm", verb, *self.options, code=code)
            self.assertIn("evil", said)
            self.assertNotIn("\x1b", said)


if __name__ == "__main__":
    main()
