"""A farm whose blobs are in a real S3 store, Ceph's radosgw: all of test_farm_down.py, and faults of the store itself. Only in
./dev torture farm: starting the store takes 20 s and 200 MB of packages."""
import shutil
import unittest

from farm_ceph import WHY_NOT, Ceph
from farm_servers import Bucket
from hobtest import LONG, fresh_folder, main, meshes, obj_text, until
from test_farm_down import FarmDown


@unittest.skipUnless(LONG, "./dev torture farm runs it")
class FarmCeph(FarmDown):
    # These tests need answers that a working store never gives.
    test_a_folder_that_is_away = test_a_bucket_that_fails = test_a_bucket_that_refuses = test_half_a_body = None
    test_a_bucket_that_stays_full = test_what_waits_in_the_outbox_is_announced = None

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if WHY_NOT:
            raise unittest.SkipTest(WHY_NOT)
        folder = fresh_folder("ceph")
        cls.addClassCleanup(shutil.rmtree, folder, ignore_errors=True)
        cls.ceph, cls.buckets = Ceph(folder / "ceph"), 0
        cls.addClassCleanup(cls.ceph.remove)

    def setUp(self):
        super().setUp()
        self.bucket()

    def bucket(self):
        """A new bucket."""
        FarmCeph.buckets += 1
        self.name = f"studio{self.buckets}"
        secrets = self.folder / "secrets"
        secrets.write_text(f"access_key={Bucket.ACCESS}\nsecret_key={Bucket.SECRET}\n")
        self.options = ["--farm-metadata", self.postgres.url, "--farm-blobs", self.ceph.url(self.name), "--farm-credentials-file", str(secrets)]
        self.assertIn("can be written", self.hob("farm", "init", *self.options))
        return self.ceph

    def test_a_bucket_in_trouble_amid_cooks(self):
        """A store that is full, busy or killed in the middle of a cold start of two machines, and recovers."""
        for number, (what, upset, mend, sign) in enumerate((
                ("full", lambda: self.ceph.fill(True), lambda: self.ceph.fill(False), lambda daemon: daemon.wait_log("QuotaExceeded")),
                ("busy", self.overload, self.relieve, lambda daemon: self.assertIn("with 503", self.degraded(daemon)["reason"])),
                ("killed", self.ceph.kill, self.ceph.start, self.degraded))):
            self.postgres.sql("truncate hob_action, hob_lookup, hob_node")
            self.bucket()

            def trouble(one, two):
                upset()
                self.put(f"late{number}.obj", obj_text(300 + number))
                try:
                    for daemon in (one, two):
                        sign(daemon)
                        self.assertEqual(daemon.get("/readyz").status, 200)
                    until(lambda: self.shares_are_done(one, two), "both shares")
                finally:
                    mend()

            with self.subTest(what):
                self.amid_cooks(f"radosgw is {what}", trouble, late=number + 1, names=(f"one{number}", f"two{number}"))
            self.assertIn("0 damaged, 0 named and not there, 0 no records", self.hob("farm", "verify", *self.options))

    def overload(self):
        self.slow = self.ceph.slow_upload(self.name)
        self.addCleanup(self.slow.kill)
        self.ceph.throttle(1)

    def relieve(self):
        self.ceph.throttle(1024)
        self.slow.kill()
        self.slow.wait()
        self.slow.stderr.close()

    def test_large_blobs_go_up_in_parts(self):
        """gc finds unreferenced blobs and keeps them until they are a day old."""
        self.options[3] += "?part=5242880"
        (self.art / "noise.obj").write_text("".join(f"v {i % 613 / 7} {i % 7919 / 11} {i * i % 104729 / 13}\n" for i in range(900_000)) +
                                            "".join(f"f {i} {i + 1} {i + 2}\n" for i in range(1, 899_000, 2)))
        with self.machine("one") as one:
            one.sync()
            self.assertEqual(self.given(one)["pushed"], 1)
            fine = meshes(one)
            largest = max(output["size"] for item in one.assets("&fields=root,path,outputs").values() for output in item["outputs"])
            self.assertGreater(largest, 2 * 5242880)
        with self.machine("two") as two:
            two.sync()
            self.assertEqual((two.cooked(), meshes(two)), (0, fine))
        self.assertIn("0 damaged, 0 named and not there", self.hob("farm", "verify", *self.options))
        self.postgres.sql("truncate hob_action")
        self.assertIn("deleted no blobs", self.hob("farm", "gc", *self.options))


del FarmDown  # or it would run here as well

if __name__ == "__main__":
    main()
