"""A real S3 store for the scenarios of a farm: Ceph's radosgw with one monitor and one store in memory, in its own folder."""
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time
import uuid

from farm_servers import Bucket
from hobtest import DEADLINE

PROGRAMS = ("ceph", "ceph-authtool", "ceph-mon", "ceph-osd", "monmaptool", "radosgw", "radosgw-admin", "curl")
MISSING = [name for name in PROGRAMS if not shutil.which(name)]
WHY_NOT = f"there is no {', '.join(MISSING)} (apt-get install radosgw ceph-mon ceph-osd curl)" if MISSING else None
CAPS = {"mon.": ("mon", "allow *"), "client.admin": ("mon", "allow *", "osd", "allow *"), "client.rgw": ("mon", "allow rw", "osd", "allow rwx"),
        "osd.0": ("mon", "allow profile osd", "osd", "allow *")}
SETTINGS = """[global]
fsid = {fsid}
keyring = {folder}/keyring
mon host = v2:127.0.0.1:{mon}
public addr = 127.0.0.1
run dir = {folder}
admin socket = {folder}/$name.asok
log file = {folder}/$name.log
mon data = {folder}/mon
mon data avail warn = 2
mon data avail crit = 1
mon allow pool size one = true
osd data = {folder}/osd
osd objectstore = memstore
memstore device bytes = 4294967296
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 4
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
rgw thread pool size = 64
rgw bucket quota ttl = 0
rgw enable gc threads = false
rgw enable lc threads = false
rgw enable quota threads = false
"""


def free_port():
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        return door.getsockname()[1]


class Ceph:
    """Starts, kills and stops the gateway; .port is its port, and url(BUCKET) the value for hob.json's farm.blobs."""

    def __init__(self, folder):
        self.folder, self.port, self.processes, self.gateway = pathlib.Path(folder), free_port(), [], None
        self.folder.mkdir()
        (self.folder / "osd").mkdir()
        fsid, store, mon = str(uuid.uuid4()), str(uuid.uuid4()), free_port()
        (self.folder / "ceph.conf").write_text(SETTINGS.format(fsid=fsid, folder=self.folder, mon=mon))
        try:
            for name, caps in CAPS.items():
                create = [] if (self.folder / "keyring").exists() else ["--create-keyring"]
                self.call("ceph-authtool", *create, self.folder / "keyring", "--gen-key", "--name", name,
                          *(word for kind, cap in zip(caps[::2], caps[1::2]) for word in ("--cap", kind, cap)))
            self.call("monmaptool", "--create", "--fsid", fsid, "--addv", "a", f"[v2:127.0.0.1:{mon}]", self.folder / "monmap")
            self.call("ceph-mon", "--mkfs", "--id", "a", "--monmap", self.folder / "monmap")
            self.run("ceph-mon", "-f", "--id", "a")
            self.call("ceph", "osd", "new", store)
            self.call("ceph-osd", "--mkfs", "--id", "0", "--osd-uuid", store)
            self.run("ceph-osd", "-f", "--id", "0")
            self.start()
            self.admin("user", "create", "--uid=hob", "--display-name=hob", f"--access-key={Bucket.ACCESS}", f"--secret={Bucket.SECRET}")
        except BaseException:
            self.remove()
            raise

    def url(self, bucket):
        return f"s3+http://127.0.0.1:{self.port}/{bucket}"

    def call(self, program, *arguments):
        done = subprocess.run([program, "--conf", self.folder / "ceph.conf", *map(str, arguments)], capture_output=True, text=True, timeout=DEADLINE,
                              check=False)
        assert done.returncode == 0, (program, arguments, done.stdout, done.stderr)
        return done.stdout

    def run(self, program, *arguments):
        with open(self.folder / "out", "ab") as out:
            self.processes.append(subprocess.Popen([program, "--conf", self.folder / "ceph.conf", *arguments], stdout=out, stderr=out,
                                                   start_new_session=True))
        return self.processes[-1]

    def admin(self, *arguments):
        return self.call("radosgw-admin", *arguments)

    def start(self):
        self.gateway = self.run("radosgw", "-f", "--name", "client.rgw", f"--rgw-frontends=beast endpoint=127.0.0.1:{self.port} tcp_nodelay=1")
        end = time.monotonic() + DEADLINE
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            except OSError:
                assert self.gateway.poll() is None and time.monotonic() < end, (self.folder / "client.rgw.log").read_text()[-3000:]

    def kill(self):
        """Kills the gateway: every connection is cut, and none is accepted."""
        self.gateway.send_signal(signal.SIGKILL)
        self.gateway.wait(DEADLINE)

    def fill(self, full):
        """With `full` sets a quota that refuses every upload, otherwise removes it."""
        self.admin("quota", "set", "--quota-scope=user", "--uid=hob", f"--max-objects={0 if full else -1}")
        self.admin("quota", "enable" if full else "disable", "--quota-scope=user", "--uid=hob")

    def throttle(self, most):
        """Lets the gateway serve this many requests at once; others get 503 SlowDown."""
        self.call("ceph", "--admin-daemon", self.folder / "client.rgw.asok", "config", "set", "rgw_max_concurrent_requests", most)

    def slow_upload(self, bucket):
        """Starts an upload to an existing bucket, so slow that it occupies the gateway until its process is killed."""
        (self.folder / "large").write_bytes(bytes(8 << 20))
        slow = subprocess.Popen(["curl", "-s", "-v", "--max-time", str(DEADLINE), "--aws-sigv4", "aws:amz:us-east-1:s3", "--user",
                                 f"{Bucket.ACCESS}:{Bucket.SECRET}", "--header", "x-amz-content-sha256: UNSIGNED-PAYLOAD", "--limit-rate", "1k",
                                 "--upload-file", self.folder / "large", self.url(bucket).removeprefix("s3+") + "/slow"],
                                stderr=subprocess.PIPE, text=True)
        assert any("HTTP/1.1 100" in line for line in slow.stderr), "the upload did not begin"
        return slow

    def remove(self):
        for process in reversed(self.processes):
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
