"""A PostgreSQL for the scenarios of a farm, in a folder of its own, as a user who is not root."""
import glob
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import time

from hobtest import DEADLINE

PROGRAMS = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
WHY_NOT = None if PROGRAMS else "PostgreSQL is not installed (apt-get install postgresql)"


class Postgres:
    """initdb, start, stop; .url is what hob.json's farm.metadata wants."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir()
        # initdb refuses root: anybody else will do.
        self.user = pwd.getpwnam("nobody").pw_uid if os.getuid() == 0 else None
        if self.user is not None:
            parent = self.folder.parent
            parent.chmod(parent.stat().st_mode | 0o055)
            os.chown(self.folder, self.user, -1)
        self.data = self.folder / "data"
        self.call("initdb", "-D", self.data, "-U", "hob", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        self.url = f"postgresql:///postgres?host={self.folder}&user=hob"
        self.process = None
        self.start()

    def program(self, name):
        return f"{PROGRAMS[-1]}/{name}"

    def call(self, name, *arguments, **more):
        done = subprocess.run([self.program(name), *map(str, arguments)], capture_output=True, text=True, timeout=DEADLINE,
                              cwd=self.folder, user=self.user, check=False, **more)
        assert done.returncode == 0, (name, done.stdout, done.stderr)
        return done.stdout

    def start(self):
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(
                [self.program("postgres"), "-D", self.data, "-k", self.folder, "-c", "listen_addresses=", "-c", "max_connections=60",
                 "-c", "fsync=off", "-c", "shared_buffers=16MB"],
                stdout=log, stderr=log, cwd=self.folder, user=self.user, start_new_session=True)
        end = time.monotonic() + DEADLINE
        while subprocess.run([self.program("pg_isready"), "-q", "-h", self.folder], check=False).returncode != 0:
            assert self.process.poll() is None and time.monotonic() < end, (self.folder / "log").read_text()

    def sql(self, statement):
        """Rows as lists of texts."""
        said = self.call("psql", "-X", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-F", "\t", "-h", self.folder, "-U", "hob", "-c", statement,
                         "postgres")
        return [line.split("\t") for line in said.splitlines()]

    def all_processes(self):
        """The server and its children, one for each connection."""
        pid = self.process.pid
        children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return [pid, *map(int, children)]

    def freeze(self):
        for pid in self.all_processes():
            os.kill(pid, signal.SIGSTOP)

    def thaw(self):
        for pid in reversed(self.all_processes()):
            os.kill(pid, signal.SIGCONT)

    def stop(self, how=signal.SIGINT):
        if self.process and self.process.poll() is None:
            self.process.send_signal(how)
            self.process.wait(DEADLINE)

    def remove(self):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
