"""Parts of a farm that die, stop, fill up or are cut off: nothing waits for them, nothing is lost and nothing is wrong."""
import contextlib
import os
import shutil
import signal
import threading
import time
import unittest

from farm_scenario import FarmScenario
from farm_servers import Wire
from hobtest import HOB, LONG, amount, beside, main, meshes, obj_text, until

# Two machines with two cook processes each hold leases for twice as many cooks as they have processes.
UNDER_WAY = 8
CLOCK = beside("libshifted_clock.so")


class FarmDown(FarmScenario):
    def test_a_holder_that_dies_is_taken_over(self):
        count = amount(60, 200)
        self.models(count, 15000)
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
        until(lambda: self.postgres.sql("select count(*) from pg_stat_activity where application_name = 'hob'") == [["0"]], "the end of its sessions")
        theirs = int(self.postgres.sql("select count(*) from hob_action")[0][0])
        # Their leases may have expired by now; none was released.
        left = int(self.postgres.sql("select count(*) from hob_lookup where owner is not null")[0][0])
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
        print(f"a holder killed after {theirs} of {count} keys: {left} of its own cooked by the other, {count} there", flush=True)

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

    def test_what_was_not_reached_is_fetched_when_the_bucket_is_back(self):
        """A machine that starts while the bucket is away cooks its own share, and fetches the rest afterwards."""
        count = amount(20, 200)
        bucket = self.bucket()
        bucket.made = True
        self.models(count)
        lease = ("--farm-lease-seconds", "60")
        with self.machine("one", *lease) as one:
            one.sync()
            self.given(one)
            self.assertEqual(self.rows(), count)
            bucket.fault = lambda method, name: 503
            with self.machine("two", *lease, wait_ready=False) as two:
                two.wait_banner()
                until(lambda: self.facts(two)["state"] == "degraded" and self.shares_are_done(two), "the share of one machine")
                bucket.fault = lambda method, name: None
                until(lambda: self.facts(two)["state"] == "up", "a farm that is up")
                two.sync()
                facts = self.given(two)
                print(f"{count} keys there: cooked {two.cooked()}, fetched {facts['fetched']}", flush=True)
                self.assertEqual(two.cooked() + facts["fetched"], count)
                self.assertGreater(facts["fetched"] + facts["slower"], 0)
                self.assertEqual(self.outputs(two), self.outputs(one))

    def test_a_quiet_machine_comes_back(self):
        """A machine that requests nothing notices by itself that the farm is back."""
        self.models(2)
        with self.machine("one") as one:
            one.sync()
            self.given(one)
            self.postgres.freeze()
            try:
                self.degraded(one)
            finally:
                self.postgres.thaw()
            until(lambda: self.facts(one)["state"] == "up", "a farm that is up")

    def test_a_database_that_restarts(self):
        self.amid_cooks("restarted", lambda one, two: (self.postgres.stop(signal.SIGQUIT), self.postgres.start()))

    def test_a_short_outage_is_shared_out(self):
        """Each machine cooks its own share meanwhile, so that hardly anything is cooked twice."""
        self.amid_cooks("stopped", self.stop_for_a_while)

    @unittest.skipUnless(LONG, "half a minute")
    def test_a_database_that_is_stopped_for_longer_than_a_lease(self):
        self.amid_cooks("stopped beyond a lease", lambda one, two: self.stop_for_a_while(one, two, 20), 15)

    def stop_for_a_while(self, one, two, seconds=0):
        """Stops the database until both machines have cooked their shares, and for at least `seconds`."""
        began = time.monotonic()
        self.postgres.freeze()
        try:
            self.degraded(one)
            until(lambda: time.monotonic() - began > seconds and self.shares_are_done(one, two), "both shares")
        finally:
            self.postgres.thaw()

    def test_a_database_that_is_stopped_for_long(self):
        """When the database does not return, each machine cooks everything itself."""
        count = amount(20, 100)
        self.models(count)
        with self.two_machines(1) as (one, two):
            self.postgres.freeze()
            try:
                one.sync()
                two.sync()
                self.degraded(one)
            finally:
                self.postgres.thaw()
            self.assert_whole(count, one, two)

    @contextlib.contextmanager
    def two_machines(self, lease, names=("one", "two")):
        options = ("--farm-lease-seconds", str(lease), "--jobs", "2")
        # Both start at once: one that starts first could cook everything before the other asks.
        with self.machine(names[0], *options, wait_ready=False) as one, self.machine(names[1], *options, wait_ready=False) as two:
            for daemon in (one, two):
                daemon.wait_banner()
                daemon.listen()
            self.know_each_other(one, two)
            yield one, two

    def know_each_other(self, *daemons):
        until(lambda: all(self.facts(daemon)["nodes"] == len(daemons) for daemon in daemons), "machines that know of each other")

    def shares_are_done(self, *daemons):
        return all(daemon.cooked() > 0 and daemon.get("/api/v1/stats").json()["queue"]["running"] == 0 for daemon in daemons)

    def amid_cooks(self, what, upset, lease=60, count=amount(40, 200), late=0, names=("one", "two")):
        """`upset` returns after the fault is repaired, within four lease times. late: number of models saved later; the last of
        them while both machines run, so that each cooks it at once."""
        self.models(count, 20000)  # slow enough that both machines know each other before all are cooked
        with self.two_machines(lease, names) as (one, two):
            until(lambda: self.rows() > count // 10, "some results")
            under_way = sum(self.facts(daemon)["leases"] for daemon in (one, two))
            upset(one, two)
            until(lambda: self.facts(one)["state"] == self.facts(two)["state"] == "up", "a farm that is up")
            count += late
            self.assert_whole(count, one, two)
            twice = self.cooked(one, two) - count - min(late, 1)
            print(f"{what}: {count} keys, cooked {one.cooked()} + {two.cooked()}: {twice} twice; {under_way} under way before", flush=True)
            # A crowded machine notices late, which adds some; machines without shares would cook nearly all twice.
            self.assertLessEqual(twice, max(amount(count // 2, UNDER_WAY), under_way))

    def test_what_waits_in_the_outbox_is_announced(self):
        """Results in the outbox get leases as soon as the farm is back, so that no machine cooks them again during a slow
        upload."""
        count = 24
        bucket = self.bucket()
        bucket.made = True
        with self.machine("one", "--farm-lease-seconds", "300") as one:
            until(lambda: self.facts(one)["nodes"] == 1, "a heartbeat")
            gate = threading.Event()
            self.addCleanup(gate.set)
            bucket.fault = lambda method, name: 503
            self.models(count)
            one.sync()
            self.degraded(one)
            self.assertEqual(self.facts(one)["outbox"], count)
            bucket.fault = lambda method, name: None if method != "PUT" or gate.wait(3) else None
            until(lambda: self.postgres.sql("select count(*) from hob_lookup where owner is not null and until > now() + interval '1 minute'") == [[str(count)]],
                  "leases for all of it")
            self.assertLess(self.rows(), count // 2)
            gate.set()
            self.given(one)
            self.assertEqual(self.postgres.sql("select count(*) from hob_lookup where owner is not null"), [["0"]])

    def test_a_database_that_became_a_standby(self):
        """A read-only database still serves results; new ones wait in the outbox."""
        self.models(2)
        with self.machine("one") as one:
            one.sync()
            self.given(one)
            for mode, more, outbox in (("on", 90, 1), ("off", 91, 0)):
                self.postgres.sql(f"alter system set default_transaction_read_only = {mode}")
                self.postgres.sql("select pg_reload_conf()")
                until(lambda: self.postgres.sql("show default_transaction_read_only") == [[mode]], "the new setting")
                self.save(one, f"{mode}.obj", more)
                if mode == "on":
                    one.wait_log("read-only transaction")
                facts = until(lambda: (facts := self.facts(one))["outbox"] == outbox and facts, "an outbox")
                self.assertEqual((facts["state"], facts["push"]), ("up", True))
        self.assertEqual(self.rows(), 4)

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
            # A full bucket can still be read, so the farm does not count as failed.
            bucket.fault = lambda method, name: 403 if method == "PUT" else None
            self.save(one, "full.obj", 90)
            one.wait_log("QuotaExceeded")
            self.assertEqual((self.facts(one)["state"], self.facts(one)["outbox"]), ("up", 1))
            bucket.fault = lambda method, name: None
            self.assertEqual(self.given(one)["pushed"], 5)
        with self.machine("two") as two:
            two.sync()
            self.assertEqual((two.cooked(), self.rows()), (0, 5))

    def test_a_bucket_of_which_only_puts_fail(self):
        """One failed PUT only pauses uploads. If PUTs keep failing, the farm counts as gone, even while reads succeed."""
        bucket = self.bucket()
        bucket.made = True
        self.models(2)
        with self.machine("one") as one:
            one.sync()
            self.given(one)
            tries, lost = [], [1]
            bucket.fault = lambda method, name: 503 if method == "PUT" and lost and lost.pop() else None
            self.save(one, "once.obj", 70)
            one.wait_log("with 503")
            self.assertEqual((self.given(one)["state"], self.rows()), ("up", 3))
            bucket.fault = lambda method, name: (tries.append(name), 503)[1] if method == "PUT" else None
            self.save(one, "new.obj", 71)
            until(lambda: one.counters()["hob_upstream_failing"] == 1, "a store that counts as gone")
            before = len(tries)
            until(lambda: len(tries) > before + 2, "tests that put")
            self.assertEqual(one.counters()["hob_upstream_failing"], 1)
            self.assertFalse([line for line in one.log if "answers again" in line])
            self.assertEqual(self.facts(one)["outbox"], 1)

    def test_a_bucket_that_refuses(self):
        """Wrong credentials or a wrong clock lose nothing; a missing bucket is reported; read-only access gives nothing."""
        bucket = self.bucket()
        bucket.made = True
        self.models(2)
        with self.machine("one") as one:
            one.sync()
            self.given(one)
            bucket.made = False
            self.save(one, "gone.obj", 60)
            self.assertIn("NoSuchBucket", self.degraded(one)["reason"])
            tries = len([1 for method, _ in bucket.asked if method == "GET"])
            until(lambda: len([1 for method, _ in bucket.asked if method == "GET"]) > tries + 1, "more tries")
            self.assertEqual(self.facts(one)["state"], "degraded")
            bucket.made = True
            self.assertEqual(self.given(one)["state"], "up")
            bucket.fault = lambda method, name: "RequestTimeTooSkewed"
            self.save(one, "skewed.obj", 61)
            facts = until(lambda: (facts := self.facts(one))["state"] == "barred" and facts, "a refusal")
            self.assertEqual((facts["outbox"], facts["push"], one.get("/readyz").status), (1, True, 200))
        bucket.fault = lambda method, name: None
        with self.machine("one") as one:
            self.assertEqual((self.given(one)["pushed"], self.rows()), (1, 4))
            bucket.fault = lambda method, name: "AccessDenied" if method == "PUT" else None
            self.save(one, "reader.obj", 62)
            facts = until(lambda: (facts := self.facts(one))["push"] is False and facts, "the end of giving")
            self.assertEqual((facts["state"], facts["outbox"], self.rows()), ("up", 0, 4))

    def test_half_a_body(self):
        """A truncated body is an outage, not a proof of wrong bytes in the bucket."""
        bucket = self.bucket()
        bucket.made = True
        self.models(3)
        with self.machine("one") as one:
            one.sync()
            self.given(one)
            fine, objects = self.outputs(one), dict(bucket.objects)
        bucket.fault = lambda method, name: "half" if method == "GET" and name in objects else None
        with self.machine("two") as two:
            two.sync()
            two.wait_log("partial file")
            bucket.fault = lambda method, name: None
            facts = self.given(two)
            self.assertEqual((facts["refused"], self.outputs(two), self.rows()), (0, fine, 3))
        self.assertEqual(self.postgres.sql("select count(*) from hob_refused"), [["0"]])
        self.assertEqual({name: bucket.objects.get(name) for name in objects}, objects)

    def test_a_bucket_in_trouble_amid_cooks(self):
        """503, cut connections and a quota occur in the middle of a cold start of two machines, and end."""
        bucket = self.bucket()
        bucket.made = True
        for number, fault in enumerate((503, "cut", 403)):
            self.postgres.sql("truncate hob_action, hob_lookup, hob_node")
            bucket.objects.clear()

            failed = []

            def fails(method, name):
                if method == "PUT" or fault != 403:
                    failed.append(name)
                    return fault
                return None

            def upset(one, two):
                bucket.fault = fails
                until(lambda: len(failed) > 2 and self.shares_are_done(one, two), "both shares")
                bucket.fault = lambda method, name: None

            with self.subTest(fault):
                self.amid_cooks(f"a bucket that says {fault}", upset, names=(f"one{number}", f"two{number}"))
        self.assertIn("0 damaged, 0 named and not there, 0 no records", self.hob("farm", "verify", *self.options))

    def test_what_waits_for_room_keeps_its_lease(self):
        """Each result is tried again while the bucket is full, and no other machine cooks it meanwhile."""
        bucket, count, tried = self.bucket(), 6, set()
        bucket.made = True
        bucket.fault = lambda method, name: tried.add(name) or 403 if method == "PUT" else None
        self.models(count)
        with self.machine("one", "--farm-lease-seconds", "60") as one:
            one.sync()
            until(lambda: len(tried) > 3, "attempts to give")
            facts = self.facts(one)
            self.assertEqual((facts["outbox"], facts["leases"]), (count, count))
            bucket.fault = lambda method, name: None
            self.given(one)

    @unittest.skipUnless(LONG, "half a minute")
    def test_a_bucket_that_stays_full(self):
        """While the bucket is full, no machine waits for results in another's outbox."""
        bucket, count = self.bucket(), 20
        bucket.made = True
        self.models(count)
        bucket.fault = lambda method, name: 403 if method == "PUT" else None
        with self.two_machines(1) as (one, two):
            one.sync()
            two.sync()
            self.assertEqual((self.facts(one)["state"], self.facts(two)["state"]), ("up", "up"))
            bucket.fault = lambda method, name: None
            self.assert_whole(count, one, two)

    @unittest.skipUnless(CLOCK.exists(), f"there is no {CLOCK}: only a build with tests makes it")
    def test_clocks_that_differ(self):
        """Machines whose clocks are ten minutes fast or slow share the work: leases run by the database's clock."""
        count = amount(30, 200)
        self.models(count)
        machines = []
        try:
            for name, shift in (("early", -600), ("right", 0), ("late", 600)):
                program = ["env", f"LD_PRELOAD={CLOCK}", f"HOB_TEST_CLOCK_SHIFT={shift}", "ASAN_OPTIONS=verify_asan_link_order=0", HOB]
                machines.append(self.machine(name, "--farm-lease-seconds", "60", wait_ready=False, program=program))
            for daemon in machines:
                daemon.wait_banner()
            self.assert_whole(count, *machines)
            cooked = [self.cooked(daemon) for daemon in machines]
            self.assertEqual((sum(cooked), self.postgres.sql("select max(attempt) from hob_lookup")), (count, [["1"]]), cooked)
            print(f"clocks ten minutes apart: {count} keys, cooked {cooked}", flush=True)
        finally:
            for daemon in machines:
                daemon.stop()

    def test_a_network_that_is_cut_on_one_side(self):
        """One machine is cut off in the middle of a cold start: it continues alone, the other takes over its leases, and
        afterwards both have everything."""
        count, seconds, lease = amount(30, 200), amount(4, 60), ("--farm-lease-seconds", str(amount(15, 30)))
        self.models(count, 6000)
        bucket = self.bucket()
        bucket.made = True
        direct = self.options
        wires = [Wire(f"{self.postgres.folder}/.s.PGSQL.5432"), Wire(bucket.port)]
        for wire in wires:
            self.addCleanup(wire.stop)
        cut_off = ["--farm-metadata", f"postgresql://hob@127.0.0.1:{wires[0].port}/postgres", "--farm-blobs",
                   direct[3].replace(str(bucket.port), str(wires[1].port))]
        with self.machine("one", *cut_off, *lease) as one, self.machine("two", *lease) as two:
            self.know_each_other(one, two)
            until(lambda: self.rows() > count // 10, "some results")
            for wire in wires:
                wire.cut()
            began, saves = time.monotonic(), []
            while time.monotonic() - began < seconds or not saves:
                saves.append(self.save(one, f"new{len(saves)}.obj", 500 + len(saves)))
            self.degraded(one)
            two.sync()
            self.assertEqual(self.facts(two)["state"], "up")
            for wire in wires:
                wire.mend()
            self.options = direct
            self.assert_whole(count + len(saves), one, two)
            # Both watch the folder with the saves, and cook these at once.
            twice = self.cooked(one, two) - count - 2 * len(saves)
            print(f"a network cut for {time.monotonic() - began:.0f} s: {count} keys, {twice} twice, cooked {one.cooked()} + {two.cooked()}, "
                  f"{len(saves)} saves meanwhile, the slowest {max(saves):.2f} s", flush=True)
            # The share of the disconnected machine: about half; without shares, nearly all.
            self.assertLess(twice, count * 5 // 6)


if __name__ == "__main__":
    main()
