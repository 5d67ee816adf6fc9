"""`hob serve` in its own terminal: terminal modes after every way to exit, the browser."""
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
import urllib.request

from hobtest import DEADLINE, HOB, Daemon, Scenario, main, obj_text

# A shell that runs one job in the foreground of the terminal until it stops or ends. Reports on fd 3 and takes commands on fd 4.
SHELL = """
import fcntl, os, signal, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
pid = os.fork()
if pid == 0:
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpid())
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
    os.close(3), os.close(4)
    os.execv(sys.argv[1], sys.argv[1:])
os.write(3, b"pid %d\\n" % pid)
while True:
    status = os.waitpid(pid, os.WUNTRACED)[1]
    os.tcsetpgrp(0, os.getpgrp())
    if not os.WIFSTOPPED(status):
        os.write(3, b"ended %d\\n" % os.waitstatus_to_exitcode(status))
        break
    os.write(3, b"stopped\\n")
    if os.read(4, 1) == b"f":
        os.tcsetpgrp(0, pid)
    os.kill(-pid, signal.SIGCONT)
"""


class Job:
    """A program in a pseudo-terminal, under SHELL."""

    def __init__(self, *command, **environment):
        self.master, slave = pty.openpty()
        self.slave = slave  # held open: otherwise reading the screen fails while no other process has it open
        self.said, said = os.pipe()
        told, self.told = os.pipe()
        self.before = termios.tcgetattr(slave)
        own = {key: value for key, value in os.environ.items() if key not in ("CI", "DISPLAY", "WAYLAND_DISPLAY")}

        def pipes():
            high = [fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in (said, told)]
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        self.shell = subprocess.Popen([sys.executable, "-c", SHELL, *map(str, command)], stdin=slave, stdout=slave, stderr=slave,
                                      start_new_session=True, pass_fds=(3, 4), preexec_fn=pipes,
                                      env=own | {"TERM": "xterm", "NO_COLOR": "1"} | environment)
        for fd in (said, told):
            os.close(fd)
        self.text = ""
        self.pid = int(self.hear().split()[1])

    def hear(self):
        """The next line of the shell."""
        line = b""
        while not line.endswith(b"\n"):
            if select.select([self.said, self.master], [], [], DEADLINE)[0] == []:
                raise AssertionError("nothing happened; on the screen:\n" + self.text)
            if select.select([self.said], [], [], 0)[0]:
                got = os.read(self.said, 1)
                assert got, self.text
                line += got
            else:
                self.read()
        return line.decode()

    def read(self):
        self.text += os.read(self.master, 65536).decode("utf-8", "replace")

    def wait(self, pattern):
        """Waits until the screen shows it; earlier output is dropped."""
        while True:
            found = re.search(pattern, self.text)
            if found:
                self.text = self.text[found.end():]
                return found
            if not select.select([self.master], [], [], DEADLINE)[0]:
                raise AssertionError(f"'{pattern}' was not shown:\n{self.text}")
            self.read()

    def press(self, keys):
        os.write(self.master, keys.encode())

    def restored(self):
        return termios.tcgetattr(self.master) == self.before

    def go_on(self, how):
        os.write(self.told, how)

    def close(self):
        if self.shell.poll() is None:
            try:
                os.kill(self.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            self.shell.kill()
        self.shell.wait()
        for fd in (self.master, self.said, self.told):
            if fd >= 0:
                os.close(fd)


class Terminal(Scenario):
    def job(self, *options, **environment):
        job = Job(HOB, "serve", self.art, "--listen", "127.0.0.1:0", "--cache", self.cache, *options, **environment)
        self.addCleanup(job.close)
        self.url = job.wait(r"Open +\S*?(http://127\.0\.0\.1:\d+/)").group(1)
        return job

    def test_long_work_is_one_line_and_a_summary(self):
        for i in range(60):
            self.put(f"set/{i:02}.obj", obj_text(1 + i))
        self.put("bad/one.gltf", "{")
        job = self.job()
        job.wait(r"\r\x1b\[Kcooking +\d+ of 61 \(\d+ %\)  [\d,]+ a minute")
        job.wait(r"done 60 cooked, 0 from the cache, 1 failed, in ")
        job.wait(r"slowest art/\S+  [\d.]+ m?s")
        job.wait(r"largest art/\S+  [\d.]+ KB")
        job.wait(r"failed art/bad/one\.gltf  \S+")
        log = self.get(job, "/api/v1/log?limit=1000")
        self.assertEqual(sum(line["event"] == "cooked" for line in log["items"]), 60)
        # A few models are listed individually again.
        self.put("later.obj", obj_text(300))
        job.wait("cooked art/later.obj")
        job.press("\x03")
        self.assertEqual(job.hear(), "ended 0\n")

    def test_the_line_is_not_drawn_where_it_could_not_be_drawn_over(self):
        for i in range(60):
            self.put(f"set/{i:02}.obj", obj_text(1 + i))
        job = Job(HOB, "serve", self.art, "--listen", "127.0.0.1:0", "--cache", self.cache, TERM="dumb")
        self.addCleanup(job.close)
        for _ in range(60):
            job.wait("cooked art/set/")
            self.assertNotIn("\x1b[K", job.text)
        job.press("\x03")
        self.assertEqual(job.hear(), "ended 0\n")

    def get(self, job, path):
        with urllib.request.urlopen(self.url.rstrip("/") + path, timeout=DEADLINE) as answer:
            return json.load(answer)

    def test_every_way_out_gives_the_terminal_back(self):
        self.put("good.obj", obj_text(2))
        for number, code in ((None, 0), (signal.SIGTERM, 0), (signal.SIGABRT, -signal.SIGABRT), (signal.SIGQUIT, -signal.SIGQUIT)):
            job = self.job(ASAN_OPTIONS="handle_abort=0:disable_coredump=1")
            if number:
                os.kill(job.pid, number)
            else:
                job.press("\x03")
            self.assertEqual(job.hear(), f"ended {code}\n", number)
            self.assertTrue(job.restored(), number)

    def test_stopped_and_in_the_background(self):
        self.put("good.obj", obj_text(2))
        job = self.job()
        job.press("\x1a")
        self.assertEqual(job.hear(), "stopped\n")
        self.assertTrue(job.restored())
        job.go_on(b"f")
        self.put("more.obj", obj_text(4))
        job.wait("cooked .*art/more.obj")
        job.press("\x1a")
        self.assertEqual(job.hear(), "stopped\n")
        job.go_on(b"b")
        self.put("next.obj", obj_text(3))
        job.wait("cooked .*art/next.obj")  # it continues, and leaves the terminal to its owner
        self.assertTrue(job.restored())
        os.kill(job.pid, signal.SIGTERM)
        self.assertEqual(job.hear(), "ended 0\n")
        self.assertTrue(job.restored())

    def test_a_closed_terminal_ends_it(self):
        self.put("good.obj", obj_text(2))
        job = self.job()
        end = os.pidfd_open(job.pid)
        self.addCleanup(os.close, end)
        os.close(job.master)
        job.master = -1
        self.assertTrue(select.select([end], [], [], DEADLINE)[0], "it lives on without its terminal")

    def test_a_log_of_json_is_nothing_else_in_a_terminal(self):
        job = Job(HOB, "serve", self.art, "--listen", "127.0.0.1:0", "--cache", self.cache, "--log", "json")
        self.addCleanup(job.close)
        shown = job.wait(r"(?s).*\"ready\".*?\n").group()
        job.press("\x03")
        self.assertEqual(job.hear(), "ended 0\n")
        shown += job.wait(r"(?s).*\"stopped\".*?\n").group()
        self.assertEqual([line for line in shown.replace("^C", "").splitlines() if not line.startswith("{")], [])

    def fifo(self):
        os.mkfifo(self.folder / "fifo")
        fd = os.open(self.folder / "fifo", os.O_RDWR)
        self.addCleanup(os.close, fd)

        def read():
            self.assertTrue(select.select([fd], [], [], DEADLINE)[0], "nobody wrote")
            return os.read(fd, 4096).decode()
        return read

    def test_open(self):
        read, tools = self.fifo(), self.folder / "bin"
        tools.mkdir()
        (tools / "xdg-open").write_text(f"#!/bin/sh\necho \"$1 $GLIBC_TUNABLES\" > '{self.folder}/fifo'\nexit 3\n")
        (tools / "xdg-open").chmod(0o755)
        old = dict(os.environ)
        self.addCleanup(lambda: (os.environ.clear(), os.environ.update(old)))
        os.environ.pop("GLIBC_TUNABLES", None)
        os.environ.update(PATH=f"{tools}:{old['PATH']}", DISPLAY=":99")
        with self.serve("--open") as daemon:
            page = f"http://127.0.0.1:{daemon.port}/"
            self.assertEqual(read(), page + " \n")
            self.assertIn(page, daemon.wait_log("no browser could be started"))
        os.environ.pop("DISPLAY")
        os.environ.pop("WAYLAND_DISPLAY", None)
        with self.serve("--open") as daemon:
            self.assertIn(f"the page is http://127.0.0.1:{daemon.port}/", daemon.wait_log("there is no display"))

    def test_what_the_banner_tells(self):
        self.put("good.obj", obj_text(2))
        config, path = self.folder / "hob.json", self.folder / "hob.sock"
        config.write_text(json.dumps({"sources": [{"name": "art", "path": "art"}, {"name": "art@mobile", "path": "art"}]}))
        with Daemon([], self.cache, "--config", str(config), "--max-size", "3 GB",
                    listen=f"unix:{path},127.0.0.1:0") as daemon:
            url = f"http://127.0.0.1:{daemon.port}"
            daemon.sync()
            banner = "".join(daemon.printed)
            self.assertRegex(banner, rf"Open +{url}/\n.*also at +unix:{path}\n")
            self.assertEqual(re.findall(r"Watching +(\S+)(?:  as (\S+))?", banner), [(str(self.art), ""), (str(self.art), "art@mobile")])
            self.assertRegex(banner, r"Cache +\S+  \([0-9.]+ [KM]?B of 3\.0 GB\)")
            self.put("good.obj", obj_text(3))
            self.assertRegex(daemon.wait_log("  -> 1 client"), r"(preview|cooked|reused) art(@mobile)?/good\.obj .* [KM]?B  -> 1 client$")
            daemon.process.send_signal(signal.SIGUSR1)
            self.assertIn("as art ", daemon.wait_log("state watching"))
            self.assertIn("as art@mobile ", daemon.wait_log("state watching"))

    def test_state_on_a_signal(self):
        self.put("good.obj", obj_text(2))
        with self.serve() as daemon:
            daemon.sync()
            daemon.process.send_signal(signal.SIGUSR1)
            self.assertIn("; 1 asset, 1 fresh", daemon.wait_log("state hob "))
            self.assertIn(str(self.art), daemon.wait_log("state watching"))
            daemon.wait_log("jobs: 0 wait, 0 run; since the start 1 cooked")


class Width(Scenario):
    """Listings fit a terminal of 80 columns: only unbreakable words, mostly names, may be longer."""

    def screen(self, *command):
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        own = {key: value for key, value in os.environ.items() if key != "COLUMNS"}
        program = subprocess.Popen([HOB, *map(str, command)], stdin=slave, stdout=slave, stderr=slave, cwd=self.folder,
                                   env=own | {"TERM": "xterm", "CLICOLOR_FORCE": "1"})
        os.close(slave)
        text = b""
        try:
            while got := os.read(master, 65536):
                text += got
        except OSError:  # the other end is closed
            pass
        os.close(master)
        program.wait()
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text.decode()).replace("\r\n", "\n").splitlines()

    def test_what_is_listed_fits_eighty_columns(self):
        name = "a_folder_of_the_studio/the_longest_name_of_a_model_in_the_whole_show_v0137_final"
        (self.art / name).parent.mkdir()
        for part in (name, "small"):
            (self.art / f"{part}.obj").write_text(obj_text(3) + "usemtl red\n" * (part == "small"))
        (self.art / "bad_file_that_no_reader_takes.gltf").write_text("{")
        with Daemon([self.art], self.cache) as daemon:
            daemon.sync()
            asset, url = f"art/{name}.obj", ("--url", f"http://127.0.0.1:{daemon.port}")
            seen = {}
            for command in (["ls"], ["ls", "--sort", "bytes"], ["status"], ["why", asset], ["log", asset], ["set", asset],
                            ["log", "art/bad_file_that_no_reader_takes.gltf"], ["diff", "--from", "1"], ["gc", "--dry-run"],
                            ["verify"]):
                seen[" ".join(command)] = self.screen(*command, *url)
            for command in (["inspect", self.art / "small.obj"], ["formats"], ["config"], ["doctor"], ["token", "list"], ["help"],
                            *([word, "--help"] for word in ("serve", "cook", "ls", "log", "watch", "diff", "export", "farm"))):
                seen[" ".join(map(str, command))] = self.screen(*command)
        for command, lines in seen.items():
            self.assertTrue(lines, command)
            for line in lines:
                longest = max(map(len, line.split()), default=0)
                self.assertTrue(len(line) <= 80 or longest > 40, f"hob {command}: {len(line)} columns: {line}")


if __name__ == "__main__":
    main()
