"""Machines that share a database and a blob store: each result is cooked once, by one of them."""
import contextlib
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import threading
import time
import unittest

from farm_scenario import FarmScenario
from farm_servers import Bucket
from faulty import preloadable
from hobtest import DEADLINE, HOB, amount, children, main, meshes, obj_text, record_text, until


class Farm(FarmScenario):
    def test_each_key_is_cooked_once(self):
        """Also each failing model is cooked by only one machine."""
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
            cooked = [self.cooked(daemon) for daemon in machines]
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
            if count > 100:  # a few are cooked before the second machine has begun
                self.assertGreater(sorted(cooked)[1], 0, cooked)
            self.assertEqual({fact["state"] for fact in facts}, {"up"})
        finally:
            for daemon in machines:
                daemon.stop()

    def test_a_checkout_is_shared_out(self):
        """Many changes at once do not count as saves by hand: the machines, which all have them, share the cooks."""
        count = amount(60, 400)
        with self.machine("one") as one, self.machine("two") as two:
            one.sync()
            two.sync()
            # Written elsewhere, then moved in: one change, at any speed.
            self.models(count, at="../new/")
            (self.folder / "new").rename(self.art / "new")
            until(lambda: len(one.assets("&state=fresh")) == len(two.assets("&state=fresh")) == count, "all models on both")
            print(f"{count} models change: cooked {one.cooked()} + {two.cooked()}", flush=True)
            # The first eight of each machine may count as saves by hand.
            self.assertLessEqual(self.cooked(one, two) - count, 16)
            self.put("by-hand.obj", obj_text(70))
            one.wait_asset("art/by-hand.obj", "fresh")

    def test_machines_that_look_alike(self):
        """Three machines with one name, and one copied with its cache."""
        count = amount(24, 200)
        with self.machine("one"):
            pass
        shutil.copytree(self.folder / "one", self.folder / "copy")
        self.models(count)
        machines = [self.machine(name, *options, wait_ready=False)
                    for name, options in (("one", ()), ("copy", ()), ("two", ("--farm-node", "one")), ("three", ("--farm-node", "one")))]
        try:
            for daemon in machines:
                daemon.wait_banner()
            self.assert_whole(count, *machines)
            cooked = [self.cooked(daemon) for daemon in machines]
            self.assertEqual((sum(cooked), self.postgres.sql("select max(attempt) from hob_lookup")), (count, [["1"]]), cooked)
        finally:
            for daemon in machines:
                daemon.stop()

    def test_models_with_one_source(self):
        """Models with the same source share lookup and lease, although their neighbouring files differ. The bucket is slow."""
        count = amount(8, 60)
        bucket = self.bucket()
        bucket.made, pause = True, threading.Event()
        bucket.fault = lambda method, name: pause.wait(0.05) or None
        for i in range(count):
            self.put(f"d{i}/m.mtl", f"newmtl m\nKd 1 1 {i / 99}\n")
            self.put(f"d{i}/m.obj", obj_text(10, mtl="m.mtl"))
        with self.machine("one", "--farm-lease-seconds", "60") as one, self.machine("two", "--farm-lease-seconds", "60") as two:
            for daemon in (one, two):
                daemon.sync()
            for daemon in (one, two):
                self.given(daemon)
            self.assertEqual(self.postgres.sql("select count(*), count(distinct lookup), sum(suspect) from hob_action"), [[str(count), "1", "0"]])
            self.assertEqual(self.cooked(one, two), count)
            self.assertEqual(self.outputs(one), self.outputs(two))

    def test_extensions_that_begin_alike(self):
        """A record of a .usd beside .usda files names its source, so that no machine refuses it."""
        for i in range(12):
            for extension in ("usd", "usda"):
                self.put(f"m{i}.{extension}", '#usda 1.0\ndef Mesh "m" {\n int[] faceVertexCounts = [3]\n int[] faceVertexIndices = [0, 1, 2]\n'
                         f" point3f[] points = [(0, 0, 0), (1, 0, 0), (0, {i + 1}, 0)]\n}}\n")
        with self.machine("one") as one:
            one.sync()
            self.given(one)
            for name, item in one.assets().items():
                self.assertEqual(one.get(f"/api/v1/assets/{item['id']}/why").json()["ingredients"]["extension"], name.rsplit(".", 1)[1])
            with self.machine("two") as two:
                two.sync()
                self.assertEqual((two.cooked(), self.facts(two)["refused"], self.outputs(two)), (0, 0, self.outputs(one)))

    def test_two_suites_exchange_what_both_cook_alike(self):
        """One machine has another Assimp, as Debian 12 and 13 do: models that use it are cooked by each, all others are
        shared."""
        self.models(3)
        self.put("one.ac", 'AC3Db\nMATERIAL "m" rgb 1 1 1 amb 1 1 1 emis 0 0 0 spec 0 0 0 shi 0 trans 0\nOBJECT world\nkids 1\nOBJECT poly\n'
                           'numvert 3\n0 0 0\n1 0 0\n0 1 0\nnumsurf 1\nSURF 0x10\nmat 0\nrefs 3\n0 0 0\n1 1 0\n2 0 1\nkids 0\n')
        with self.machine("one") as one:
            one.sync()
            self.given(one)
            asan = os.environ.get("ASAN_OPTIONS", "detect_leaks=1:allocator_may_return_null=1")
            other = ["env", f"LD_PRELOAD={preloadable('other_assimp', self.folder)}", f"ASAN_OPTIONS={asan}:verify_asan_link_order=0", HOB]
            for name, program, cooked in (("like one", (HOB,), []), ("other", other, ["art/one.ac"])):
                with self.machine(name, program=program) as two:
                    two.sync()
                    self.given(two)
                    libraries, own = [], []
                    for asset, item in two.assets().items():
                        why = two.get(f"/api/v1/assets/{item['id']}/why").json()
                        libraries.append("assimp 5.99." in why["ingredients"]["library"])
                        own += [asset] * (why["fetched_from"] is None)
                    self.assertEqual((name, sum(libraries)), (name, len(cooked)))
                    self.assertLessEqual(set(cooked), set(own))
                    self.assertEqual(self.cooked(two), len(cooked), own)
        self.assertEqual(self.postgres.sql("select count(*), sum(suspect) from hob_action"), [["5", "0"]])

    def test_a_slow_bucket_is_no_reason_to_cook(self):
        """Each request takes long, but bytes arrive quickly: a large result needs no more requests than a small one."""
        bucket = self.bucket()
        bucket.made, pause = True, threading.Event()
        bucket.fault = lambda method, name: (pause.wait(0.2) or None) if method == "GET" else None
        for i in range(6):
            self.put(f"middle{i}.obj", obj_text(2_000 + i))
        self.put("large.obj", obj_text(60_000))
        with self.machine("one", "--farm-lease-seconds", "60") as one:
            one.sync()
            self.given(one)
            outputs = self.outputs(one)
        (self.art / "large.obj").rename(self.folder / "large.obj")
        with self.machine("two", "--farm-lease-seconds", "60") as two:
            two.sync()
            (self.folder / "large.obj").rename(self.art / "large.obj")
            until(lambda: two.cooked() + self.facts(two)["fetched"] == 7, "the final version of each")
            two.sync()
            facts = self.given(two)
            self.assertEqual((two.cooked(), facts["fetched"], facts["slower"]), (0, 7, 0))
            self.assertEqual(self.outputs(two), outputs)

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
        """Wrong bytes, texts that are not records, records of something else, SQL in every name."""
        self.models(4)
        evil = "x'); drop table hob_action; --"
        self.put(f"{evil}.obj", obj_text(60))
        with self.machine("one", "--farm-node", evil) as one:
            one.sync()
            self.given(one)
            fine = meshes(one)
        self.assertEqual(self.postgres.sql("select distinct node from hob_action"), [[evil]])
        keys = [row[0] for row in self.postgres.sql("select encode(key, 'hex') from hob_action order by made")]
        other = self.postgres.sql(f"select record from hob_action where encode(key, 'hex') = '{keys[3]}'")[0][0]
        # Record 0: its blobs contain other bytes; 1: garbage after a valid beginning; 2: the text of another record; 3: names
        # another result's blob.
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
            self.assertEqual(meshes(two), fine)
            self.assertIn(two.cooked(), (4, 5))  # the fifth may share a blob with the first
            self.assertGreaterEqual(facts["refused"], 3)
            self.assertEqual(two.get("/readyz").status, 200)
        said = self.hob("farm", "verify", *self.options)
        self.assertIn(evil, said)
        self.assertIn("0 damaged, 0 named and not there, 0 no records", said)
        # A machine that has not fetched anything yet does not trust its own view of the bucket, and keeps a record whose blob is
        # missing.
        with self.machine("three") as three:
            three.sync()
            facts = self.given(three)
            self.assertEqual((three.cooked(), meshes(three)), (facts["refused"], fine), facts)
            self.assertLessEqual(three.cooked(), 1)
        with self.machine("four") as four:
            four.sync()
            self.assertEqual((four.cooked(), meshes(four)), (0, fine))

    def test_a_blob_that_is_mended_meanwhile(self):
        """Two threads read the same wrong blob: the second's report must not delete the right one that the first has stored
        meanwhile, and neither may a record with a wrong size."""
        bucket = self.bucket()
        bucket.made = True
        self.models(2)
        with self.machine("one") as one:
            one.sync()
            self.given(one)
            fine = self.outputs(one)
        records = [json.loads(row[0]) for row in self.postgres.sql("select rtrim(record, chr(10)) from hob_action order by key")]
        (shared,) = set.intersection(*({output["sha256"] for output in record["outputs"]} for record in records))
        shared, both, put = f"blobs/{shared[:2]}/{shared}", threading.Event(), threading.Event()
        right = bucket.objects[shared]
        wrong, asked = bytes(len(right)), []

        def fault(method, name):
            if name == shared and method == "PUT":
                put.set()
            elif name == shared and method == "GET" and not put.is_set():
                asked.append(name)
                if len(asked) == 1:
                    both.wait(10)
                    return wrong
                both.set()
                if len(asked) == 2:
                    until(lambda: bucket.objects.get(shared) == right and put.is_set(), "the right bytes")
                return wrong
            return None

        bucket.objects[shared] = wrong
        bucket.fault = fault
        with self.machine("two") as two:
            two.sync()
            self.given(two)
            self.assertEqual((two.cooked(), self.outputs(two), bucket.objects.get(shared)), (1, fine, right))
        bucket.fault = lambda method, name: None
        self.assertEqual([name for method, name in bucket.asked if method == "DELETE"], [shared])
        # Wrong sizes of all blobs; then of one that already exists here.
        for liar, there in ((records[0], ()), (records[1], ("d0", "d1"))):
            for output in liar["outputs"]:
                output["size"] += not there or output["sha256"] in shared
            self.postgres.sql(f"update hob_action set record = $${record_text(liar)}$$ where encode(key, 'hex') = '{liar['key']}'")
            name = f"three{len(there)}"
            if there:
                (what,) = self.postgres.sql(f"select what from hob_lookup where encode(lookup, 'hex') = '{liar['lookup']}'")[0]
                (self.folder / what).rename(self.folder / "away")
                with self.machine(name) as three:
                    three.sync()
                (self.folder / "away").rename(self.folder / what)
            with self.machine(name) as three:
                three.sync()
                self.given(three)
                self.assertEqual((three.cooked(), self.facts(three)["refused"], self.outputs(three)), (1, 1, fine), name)
        self.assertEqual([name for method, name in bucket.asked if method == "DELETE"], [shared])

    def test_rows_of_garbage(self):
        """Garbage rows under unrelated lookups, and under a real one, newer than its result: results hidden by them are cooked
        again, without delays."""
        count = amount(20_000, 10_000_000)
        self.models(4)
        with self.machine("one") as one:
            one.sync()
            self.given(one)
            fine = self.outputs(one)
        # To insert millions of rows with random keys into existing indexes takes an hour; to build the indexes afterwards, a minute.
        self.postgres.sql(
            "set maintenance_work_mem = '1GB'; alter table hob_action drop constraint hob_action_pkey; drop index hob_action_lookup; "
            "drop index hob_action_last_used; insert into hob_action(key, lookup, result, record, bytes, cook_ms, node, made) select sha256(('k' || i)::bytea), case when i % 2 = 0 "
            "then (select lookup from hob_action order by key limit 1) else sha256(('l' || i)::bytea) end, sha256('r'), repeat('x', 200), 1, 1, "
            f"'somebody', now() + interval '1 h' from generate_series(1, {count}) i; alter table hob_action add primary key (key); create index "
            "hob_action_lookup on hob_action(lookup, made desc); create index hob_action_last_used on hob_action(last_used)", timeout=1200)
        self.postgres.sql("analyze")
        with self.machine("two") as two:
            began = time.monotonic()
            two.sync()
            facts = self.given(two)
            print(f"{count} rows of garbage: ready after {time.monotonic() - began:.1f} s, {two.cooked()} cooked, {facts['fetched']} fetched", flush=True)
            self.assertEqual((two.cooked(), facts["fetched"], facts["state"], self.outputs(two)), (1, 3, "up", fine))
        self.assertIn(f"{count + 4} results", self.hob("farm", "status", *self.options))
        # In a database table and in steps: gc and verify use no memory per row.
        self.assertIn("would forget no results", self.hob("farm", "gc", "-n", *self.options))
        self.assertIn(f"4 records, {self.blob_count()} blobs checked: 0 damaged, 0 named and not there, {count} no records",
                      self.hob("farm", "verify", "-n", *self.options, code=1))
        if count < 1_000_000:
            self.assertIn(f"{count} no records", self.hob("farm", "verify", *self.options, code=1))
            self.assertEqual((self.rows(), self.postgres.sql("select count(*) from hob_refused")), (4, [[str(count)]]))

    def blob_count(self):
        return len([blob for blob in self.blobs.glob("blobs/??/*") if blob.is_file()])

    def test_gc_in_steps(self):
        """More old rows than are deleted at once, under the lookup of an existing model: used ones stay."""
        self.models(3)
        with self.machine("one") as one:
            one.sync()
            self.given(one)
            fine = self.outputs(one)
        self.postgres.sql(
            "insert into hob_action(key, lookup, result, record, bytes, cook_ms, node, last_used) select sha256(('k' || i)::bytea), lookup, result, "
            "record, 1, 1, 'somebody', current_date - 40 from (select * from hob_action order by key limit 1) a, generate_series(1, 12000) i")
        self.postgres.sql("update hob_lookup h set records = (select count(*) from hob_action a where a.lookup = h.lookup)")
        self.postgres.sql("insert into hob_lookup(lookup) select sha256(('l' || i)::bytea) from generate_series(1, 6000) i")
        gone = self.postgres.sql("update hob_action set last_used = current_date - 40 where key = (select key from hob_action where node = 'one' "
                                 "order by key desc limit 1) returning record, encode(lookup, 'hex')")[0]
        named = {output["sha256"] for output in json.loads(gone[0])["outputs"] + json.loads(gone[0])["run"]["outputs"]}
        kept = {digest for record, in self.postgres.sql("select record from hob_action where last_used = current_date")
                for digest in re.findall('"sha256":"([0-9a-f]{64})","size"', record)}
        for blob in self.blobs.glob("blobs/??/*"):
            os.utime(blob, (0, 0))
        self.assertIn(f"forgot 12001 results that nobody used for 30 days; deleted {len(named - kept)} blobs", self.hob("farm", "gc", *self.options))
        self.assertEqual(self.blob_count(), len(kept))
        self.assertEqual(self.postgres.sql("select count(*), min(records), max(records) from hob_lookup"), [["2", "1", "1"]])
        with self.machine("two") as two:
            two.sync()
            self.assertEqual((two.cooked(), self.outputs(two)), (1, fine))

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
        """The farm of an older Hob is refused with a message, and upgraded without losing data."""
        schema = pathlib.Path(__file__).resolve().parents[2] / "schema/farm.sql"
        self.postgres.sql("drop schema public cascade; create schema public")
        self.postgres.sql(schema.read_text())
        self.models(2)
        with self.machine("one") as one:
            one.sync()
            facts = until(lambda: (facts := self.facts(one))["state"] == "barred" and facts, "a refusal")
            self.assertIn("'hob farm init' brings it up to date", facts["reason"])
            self.assertEqual((one.cooked(), facts["outbox"]), (2, 2))
        self.assertIn("the tables are made", self.hob("farm", "init", "--adopt", *self.options))
        self.assertEqual(self.postgres.sql("select version, oldest from hob_farm"), [["4", "1"]])
        with self.machine("one") as one:
            one.sync()
            self.given(one)
            self.assertEqual((one.cooked(), self.rows()), (0, 2))
        self.assertIn("the tables are there", self.hob("farm", "init", *self.options))

    @unittest.skipUnless(os.environ.get("HOB_OTHER"), "HOB_OTHER names no hob of another version")
    def test_two_versions(self):
        """The farm of an older Hob refuses a newer one until that has upgraded the farm. Then both use it: with common results if
        they cook alike, otherwise each with keys of its own."""
        other = os.environ["HOB_OTHER"]
        versions = [json.loads(subprocess.run([hob, "--version", "--json"], capture_output=True, check=True).stdout)["cook"] for hob in (other, HOB)]
        alike = versions[0] == versions[1]
        self.postgres.sql("drop schema public cascade; create schema public")
        print(subprocess.run([other, "farm", "init", *self.options], capture_output=True, text=True, check=True).stdout.splitlines()[0])
        self.models(6)
        with self.machine("old", program=(other,)) as old:
            old.sync()
            self.given(old)
            before = int(self.postgres.sql("select version from hob_farm")[0][0])
            with self.machine("new") as new:
                new.sync()
                facts = until(lambda: (facts := self.facts(new))["state"] == "barred" and facts, "a refusal")
                print(f"schema {before}, the newer one: {facts['reason']}; cooked {new.cooked()} by itself")
            self.hob("farm", "init", "--adopt", *self.options)
            print(f"schema {self.postgres.sql('select version from hob_farm')[0][0]} after the newer one's init, {self.rows()} keys kept")
            shutil.rmtree(self.folder / "new")
            with self.machine("new") as new:
                new.sync()
                self.assertEqual((new.cooked(), self.facts(new)["fetched"]), (0, 6) if alike else (6, 0))
                for i in range(20):
                    self.put(f"more{i}.obj", obj_text(200 + i))
                self.put("bad.obj", "f 1 2 3\n")
                old.sync()
                new.sync()
                self.given(old)
                self.given(new)
                print(f"together, cook versions {versions}: {self.rows()} keys, cooked old {old.cooked()}, new {new.cooked()}")
                self.assertEqual((self.rows(), self.facts(old)["state"]), (26 if alike else 52, "up"))
                self.assertTrue(not alike or meshes(old) == meshes(new))
                self.assertEqual(self.facts(old)["refused"] + self.facts(new)["refused"], 0)
        self.postgres.sql("update hob_farm set oldest = version")
        self.put("last.obj", obj_text(300))
        with self.machine("old", program=(other,)) as old:
            facts = until(lambda: (facts := self.facts(old))["state"] == "barred" and facts, "a refusal")
            print(f"oldest is the newest, the older one: {facts['reason']}")

    def test_the_command(self):
        self.models(3)
        with self.machine("one") as one:
            one.sync()
            self.given(one)
            status = until(lambda: (found := json.loads(self.hob("farm", "status", "--json", *self.options)))["nodes"] and found, "a heartbeat")
            self.assertEqual((status["schema"], status["records"], status["nodes"][0]["name"]), (4, 3, "one"))
            self.assertIn("the tables are there", self.hob("farm", "init", *self.options))
            self.assertIn("3 results", self.hob("farm", "status", *self.options))
        stray = self.blobs / "blobs/00" / ("00" * 32)
        stray.parent.mkdir(exist_ok=True)
        stray.write_bytes(b"?")
        self.assertIn("deleted no blobs (0 B)", self.hob("farm", "gc", *self.options))
        os.utime(stray, (0, 0))
        self.assertIn("would delete 1 blob (1 B)", self.hob("farm", "gc", "-n", *self.options))
        self.assertEqual(json.loads(self.hob("farm", "gc", "-n", "--json", *self.options)),
                         {"forgotten": 0, "deleted": 1, "bytes": 1, "dry_run": True})
        told = json.loads(self.hob("farm", "verify", "-n", "--json", *self.options, code=1))
        self.assertEqual((len(told["damaged"]), told["missing"], told["no_records"], told["doubts"]), (1, 0, 0, []))
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

    def test_who_is_there_and_who_cooked(self):
        """A list of the machines, and the name of the one that cooked a fetched result."""
        self.models(2)
        with self.machine("one") as one, self.machine("two", wait_ready=False) as two:
            two.wait_banner()
            one.sync()
            two.sync()
            self.given(one)
            self.given(two)
            farm = until(lambda: (found := one.get("/api/v1/farm").json())["age_ms"] is not None and len(found["machines"]) == 2
                         and sum(machine["cooked"] for machine in found["machines"]) == 2 and found, "a list with both")
            self.assertEqual({(machine["name"], machine["here"], machine["role"]) for machine in farm["machines"]},
                             {("one", True, "cook"), ("two", False, "cook")})
            self.assertEqual({machine["name"]: machine["cooked"] for machine in farm["machines"]}, {"one": one.cooked(), "two": two.cooked()})
        self.postgres.sql("update hob_action set node = node || chr(27) || '[2J'")  # a name that would clear a terminal
        with self.machine("three") as three:
            three.sync()
            by = dict(self.postgres.sql("select what, replace(node, chr(27), '?') from hob_lookup join hob_action using (lookup)"))
            for name, item in three.assets().items():
                why = three.get(f"/api/v1/assets/{item['id']}/why").json()
                self.assertEqual((why["fetched_from"], why["cooked_by"]), (self.postgres.url, by[name]))
                self.assertIn(f"from      {by[name]}, which gave it to the farm", self.hob("why", name, "--url", f"http://127.0.0.1:{three.port}"))

    def test_a_bucket(self):
        """The bucket verifies signatures independently, takes large blobs in parts and lists in pages."""
        bucket = self.bucket("&part=4096")
        self.models(4)
        self.put("large.obj", obj_text(400))
        self.assertIn("can be written", self.hob("farm", "init", *self.options))
        with self.machine("one") as one:
            one.sync()
            self.assertEqual(self.given(one)["pushed"], 5)
            (asset,) = {item["id"] for name, item in one.assets().items() if "large" in name}
            shown = [one.get(path).body for path in ("/api/v1/config", "/api/v1/stats", "/metrics", "/api/v1/log", f"/api/v1/assets/{asset}/bundle",
                                                     f"/api/v1/assets/{asset}/why")]
            shown += [self.hob("farm", "status", "--json", *self.options).encode(), "".join(map(str, one.log)).encode(),
                      self.hob("config", HOB_FARM_CREDENTIALS_FILE=self.options[-1]).encode()]
            for text in shown:
                self.assertNotIn(Bucket.SECRET.encode(), text)
                self.assertNotIn(Bucket.ACCESS.encode(), text)
            with self.machine("two") as two:
                two.sync()
                self.assertEqual((two.cooked(), meshes(two)), (0, meshes(one)))
        self.assertEqual((bucket.wrong, bucket.uploads), ([], {}))
        self.assertGreater(len([1 for method, _ in bucket.asked if method == "POST"]), 1)
        self.assertEqual(bucket.objects.pop("blobs/.farm").decode(), self.postgres.sql("select id from hob_farm")[0][0] + "\n")
        for name, data in bucket.objects.items():
            self.assertEqual(name, f"blobs/{(digest := hashlib.sha256(data).hexdigest())[:2]}/{digest}")
        self.assertIn(f"{len(bucket.objects)} blobs checked: 0 damaged", self.hob("farm", "verify", *self.options))
        bucket.objects["blobs/00/" + "00" * 32] = b"stray"
        self.assertIn("run 'hob farm init --adopt'", self.hob("farm", "gc", *self.options, code=3))
        self.assertIn("run 'hob farm init --adopt'", self.hob("farm", "init", *self.options))
        self.assertNotIn("--adopt", self.hob("farm", "init", "--adopt", *self.options))
        self.assertIn("deleted 1 blob (5 B)", self.hob("farm", "gc", *self.options))
        self.assertIn("blobs/.farm", bucket.objects)

    def test_a_bucket_of_somebody_else(self):
        bucket = self.bucket(secret="wrong")
        bucket.made = True
        self.assertIn("SignatureDoesNotMatch", self.hob("farm", "init", *self.options, code=3))
        self.bucket()
        said = self.hob("farm", "init", *self.options)
        self.assertIn("can be written", said)

    def test_cooks_at_once_share_the_work(self):
        """hob cook on three build machines: each model is cooked once, and all machines have all results."""
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

    def worker(self, name):
        """Starts `hob farm work`, which has no sources; it logs to the file NAME.log."""
        with open(self.folder / f"{name}.log", "wb") as log:
            process = subprocess.Popen([HOB, "farm", "work", *self.options, "--farm-node", name, "--jobs", "2"], cwd=self.folder,
                                       stdout=log, stderr=log)
        self.addCleanup(lambda: (process.kill(), process.wait()))
        return process

    def work_log(self, name):
        return (self.folder / f"{name}.log").read_text()

    def test_workers_cook_for_others(self):
        """Workers have no sources, fetch the files that their cooks read, and leave what they cannot cook."""
        count = amount(24, 300)
        self.models(count, 15000)
        for i in range(3):  # One source; its neighbouring files differ, also in the case of their names.
            self.put(f"t{i}/M.MTL", f"newmtl m\nKd 1 {i / 9} 1\nmap_Kd ../tex/a.png\n")
            self.put(f"t{i}/m.obj", obj_text(12, mtl="m.mtl"))
        self.put("s/small.obj", obj_text(13))
        self.put("s/small.obj.cook.json", '{"lods": {"max": 1}}')
        self.put("bad.obj", "f 1 2 3\n")
        self.hob("cook", self.art, "-o", "alone", code=1)
        workers = [self.worker(name) for name in ("w1", "w2")]
        until(lambda: self.postgres.sql("select count(*) from hob_node where role = 'worker'") == [["2"]], "two workers")
        run = subprocess.Popen([HOB, "cook", str(self.art), "-o", "out", "--jobs", "1", "--farm", "--report", "report.json", *self.options],
                               cwd=self.folder, bufsize=0, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        # The machine's own cook process is stopped until a worker has cooked: it could finish before its offer is made.
        said = run.stdout.readline()
        resting = children(run.pid)
        for child in resting:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGSTOP)
        try:
            until(lambda: run.poll() is not None or self.postgres.sql("select count(*) from hob_action where node in ('w1', 'w2')") != [["0"]], "a worker's result")
        finally:
            for child in resting:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child, signal.SIGCONT)
        said = (said + run.communicate(timeout=DEADLINE)[0]).decode()
        self.assertEqual(run.returncode, 1, said)
        self.assertIn("offered to the workers of the farm", said)
        report = json.loads((self.folder / "report.json").read_text())
        self.assertEqual((report["cooked"] + report["cached"], report["failed"], self.rows()), (count + 4, 1, count + 2), said)
        self.assertEqual(self.postgres.sql("select count(*) from hob_offer"), [["0"]])
        by = dict(self.postgres.sql("select node, count(*) from hob_action group by node"))
        self.assertEqual(sum(map(int, by.values())), count + 4)
        self.assertGreater(int(by.get("w1", 0)) + int(by.get("w2", 0)), 0, (by, said, self.work_log("w1")))
        print(f"{count + 4} models, cooked by {by}", flush=True)
        for path in (self.folder / "alone").rglob("*"):
            if path.is_file() and not path.name.endswith("report.json"):
                self.assertEqual(path.read_bytes(), (self.folder / "out" / path.relative_to(self.folder / "alone")).read_bytes())
        for process in workers:
            process.terminate()
            self.assertEqual(process.wait(DEADLINE), 0, self.work_log("w1") + self.work_log("w2"))

    def test_a_worker_that_dies(self):
        """The owner of the models takes over unfinished cooks."""
        count = amount(24, 300)
        (self.folder / "hob.json").write_text('{"farm": {"lease_seconds": 5}}')
        self.models(count, 15000)
        worker = self.worker("w1")
        run = subprocess.Popen([HOB, "cook", str(self.art), "-o", "out", "--jobs", "1", "--farm", *self.options], cwd=self.folder,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        until(lambda: run.poll() is not None or self.postgres.sql("select count(*) from hob_action where node = 'w1'") != [["0"]], "a cook of the worker")
        worker.kill()
        worker.wait()
        self.assertEqual((run.communicate(timeout=DEADLINE)[1], run.returncode, self.rows()), (None, 0, count), self.work_log("w1"))
        self.assertEqual(self.postgres.sql("select sum(suspect) from hob_action"), [["0"]])

    def test_offers_of_garbage(self):
        """An offer's content is not trusted, and does not delay others."""
        self.worker("w1")
        until(lambda: self.postgres.sql("select count(*) from hob_node where role = 'worker'") == [["1"]], "a worker")
        outside = self.folder / "outside.obj"
        digest, model = "ab" * 32, '"models":[{"path":"m.obj","lookup":"' + "cd" * 32 + '","settings":0}]'
        for text, said in (("{", "a list of offered models is none"), ("[]", "a list of offered models is none"),
                           (f'{{"hob_offer":1,"files":[["../../{outside.name}",1,"{digest}"]]}}', "a file that cannot be: ../../outside.obj"),
                           (f'{{"hob_offer":1,"files":[["/etc/x",1,"{digest}"]]}}', "a file that cannot be: /etc/x"),
                           ('{"hob_offer":1,"files":[7]}', "without a name"),
                           (f'{{"hob_offer":1,"files":[["m.obj",1,"{digest}"]],"settings":[{{}}],{model}}}', "0 cooked"),
                           (None, "with 404" if self.options[3].startswith("s3+") else "left to others")):
            data = (text or "gone").encode()
            name = hashlib.sha256(data).hexdigest()
            if text:
                (self.blobs / "blobs" / name[:2]).mkdir(parents=True, exist_ok=True)
                (self.blobs / "blobs" / name[:2] / name).write_bytes(data)
            before = len(self.work_log("w1"))
            self.postgres.sql(f"insert into hob_offer(list, owner, models) select decode('{name}', 'hex'), id, 1 from hob_node where role = 'worker'")
            until(lambda: said in self.work_log("w1")[before:], f"'{said}'")
        self.assertEqual((outside.exists(), self.rows()), (False, 0))


if __name__ == "__main__":
    main()
