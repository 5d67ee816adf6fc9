"""hob-agent: the daemon's copy equals its folder, by digest, through edits, kills and cuts."""
import hashlib
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

from hobtest import DEADLINE, HOB, PROJECT, Daemon, Scenario, amount, main, obj_text, until

AGENT = os.environ.get("HOB_AGENT", str(pathlib.Path(HOB).parent / "hob-agent"))


def tree(folder, ignore=(".hob-mirror",)):
    """{path: digest} of the files of a folder."""
    found = {}
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in ignore]
        for name in names:
            path = os.path.join(place, name)
            try:
                with open(path, "rb") as file:
                    found[os.path.relpath(path, folder)] = hashlib.sha256(file.read()).hexdigest()
            except FileNotFoundError:
                pass
    return found


class Running:
    """A hob-agent that mirrors a folder; its lines are read by a thread."""

    def __init__(self, test, *options, url=None, folder=None, who="anna@PC7"):
        self.lines = []
        env = dict(os.environ, HOB_AGENT_STATE=str(test.folder / "state"))
        self.process = subprocess.Popen(
            [*AGENT.split(), str(folder or test.desk), url or f"http://127.0.0.1:{test.port}", "--root", "art", "--who", who, *options],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", env=env)
        test.addCleanup(self.kill)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        with self.process.stdout:
            for line in self.process.stdout:
                self.lines.append(line.rstrip())

    def said(self, text):
        return until(lambda: next((line for line in self.lines if text in line), None), f"'{text}' among " + "\n".join(self.lines[-20:]))

    def end(self):
        code = self.process.wait(timeout=DEADLINE)
        self.reader.join(DEADLINE)
        assert not any("Sanitizer" in line or "runtime error" in line for line in self.lines), "\n".join(self.lines)
        return code

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


class Agent(Scenario):
    def setUp(self):
        super().setUp()
        self.art.rmdir()
        self.desk = self.folder / "desk"
        self.desk.mkdir()
        (self.folder / "hob.json").write_text(json.dumps({"sources": [{"name": "art", "path": "art", "mirror": True}]}))

    def serve(self, *options, listen="127.0.0.1:0", **more):
        daemon = Daemon([], self.cache, "--config", str(self.folder / "hob.json"), *options, listen=listen, **more)
        self.port = daemon.port
        return daemon

    def once(self, *options, **more):
        agent = Running(self, "--once", *options, **more)
        agent.code = agent.end()
        return agent

    def write(self, path, data):
        target = self.desk / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data if isinstance(data, bytes) else data.encode())

    def equal(self):
        until(lambda: tree(self.art) == tree(self.desk), "equal trees")

    def test_once_mirrors_says_what_failed_and_tells_it_by_its_exit_code(self):
        self.write("props/duck.obj", obj_text(2))
        self.write("props/notes.txt", "words")
        self.write("~$duck.obj", "lock"), self.write("a.tmp", "half"), self.write("old/x.obj", "o"), self.write("wip.obj", "o")
        self.write(".hobignore", "old/\nwip.obj\n")
        (self.desk / "link.obj").symlink_to("props/duck.obj")
        self.write("bad:name.obj", "x")
        with self.serve() as daemon:
            agent = self.once()
            self.assertEqual(agent.code, 0, agent.lines)
            self.assertEqual(set(tree(self.art)), {"props/duck.obj", "props/notes.txt", ".hobignore"})
            self.assertTrue(any("link.obj: links" in line for line in agent.lines), agent.lines)
            self.assertTrue(any("bad:name.obj: the name holds" in line for line in agent.lines), agent.lines)
            self.assertEqual(daemon.assets()["art/props/duck.obj"]["state"], "fresh")
            self.write("broken.obj", "f 1 2 3\n")
            agent = self.once()
            self.assertEqual(agent.code, 1, agent.lines)
            self.assertTrue(any("failed art/broken.obj" in line for line in agent.lines), agent.lines)
            os.rename(self.desk / "props", self.desk / "things")
            (self.desk / "broken.obj").unlink()
            before = daemon.assets()["art/props/duck.obj"]["id"]
            agent = self.once("--dry-run")
            self.assertEqual(agent.code, 0)
            self.assertTrue(any("would move props/duck.obj -> things/duck.obj" in line for line in agent.lines), agent.lines)
            self.assertIn("props/duck.obj", tree(self.art))
            self.assertEqual(self.once().code, 0)
            self.assertEqual(daemon.assets()["art/things/duck.obj"]["id"], before)
            status = subprocess.run([*AGENT.split(), "status"], capture_output=True, text=True,
                                    env=dict(os.environ, HOB_AGENT_STATE=str(self.folder / "state"))).stdout
            self.assertIn("root art", status)
            self.assertIn("ended", status)

    def test_a_save_is_an_event_and_the_agent_says_what_the_daemon_says(self):
        self.write("duck.obj", obj_text(2))
        with self.serve() as daemon:
            agent = Running(self)
            agent.said("connected to")
            self.equal()
            self.write("duck.obj", obj_text(3))
            agent.said("art/duck.obj  cooked")
            self.equal()
            self.write("duck.obj", "f 1 2 3\n")
            agent.said("broken:")
            origin = daemon.get("/api/v1/mirrors/art/origin/duck.obj").json()
            self.assertEqual(origin["who"], "anna@PC7")

    def test_a_folder_emptied_by_mistake_waits_for_yes(self):
        for i in range(10):
            self.write(f"{i}.txt", str(i))
        with self.serve():
            self.assertEqual(self.once().code, 0)
            for i in range(4):
                (self.desk / f"{i}.txt").unlink()
            self.write("new.txt", "new")
            agent = self.once()
            self.assertEqual(agent.code, 4, agent.lines)
            self.assertTrue(any("4 of 10 files are gone" in line or "4 of 11 files are gone" in line for line in agent.lines), agent.lines)
            self.assertEqual(len(tree(self.art)), 11)
            self.assertEqual(self.once("--yes").code, 0)
            self.assertEqual(tree(self.art), tree(self.desk))

    def test_refusals_in_words(self):
        self.write("a.txt", "a")
        tokens = str(self.folder / "tokens")
        made = subprocess.run([HOB, "token", "create", "eve", "--mirror", "other", "--token-file", tokens], capture_output=True, text=True)
        (self.folder / "eve").write_text(made.stdout)
        nobody = self.once(url="http://127.0.0.1:1")
        self.assertEqual(nobody.code, 3)
        with self.serve("--token-file", tokens, wait_ready=False) as daemon:
            daemon.wait_banner()
            self.port = daemon.port
            agent = self.once()
            self.assertEqual((agent.code, "asks for a token" in agent.lines[-1]), (2, True), agent.lines)
            agent = self.once("--token-file", str(self.folder / "eve"))
            self.assertEqual((agent.code, "'other', and not 'art'" in agent.lines[-1]), (2, True), agent.lines)
            agent = self.once("--token-file", str(self.folder / "none"))
            self.assertEqual((agent.code, "cannot be read" in agent.lines[-1]), (2, True), agent.lines)
        usage = subprocess.run([*AGENT.split(), str(self.desk), "http://127.0.0.1:1"], capture_output=True, text=True)
        self.assertEqual((usage.returncode, "--root" in usage.stderr.splitlines()[0] + usage.stderr.splitlines()[-1]), (2, True))
        wanted = subprocess.run([*AGENT.split(), "--help"], capture_output=True, text=True)
        self.assertEqual((wanted.returncode, "--root" in wanted.stdout, "understood" in wanted.stderr), (0, True, False))

    def edit(self, dice, number):
        """One random edit, in a way that programs use."""
        files = [path for path in tree(self.desk)]
        kind = dice.choice(("new", "save", "safe", "backup", "rename", "case", "folder", "delete", "slow", "same"))
        data = f"{number} {dice.random()}\n".encode() * dice.choice((1, 50, 20000))
        name = f"{dice.choice('abcd')}/{dice.choice(('x', 'y/z', 'w'))}/{dice.randrange(30)}.bin"
        if kind == "new" or not files:
            return self.write(name, data)
        path = dice.choice(files)
        target = self.desk / path
        if kind == "save":
            self.write(path, data)
        elif kind == "safe":  # a temporary file beside it, then a rename over it
            self.write(path + ".tmp", data)
            os.replace(self.desk / (path + ".tmp"), target)
        elif kind == "backup":  # renames the old one to a backup, then writes a new one
            os.replace(target, self.desk / (path + ".blend1"))
            self.write(path, data)
        elif kind == "rename":
            (self.desk / name).parent.mkdir(parents=True, exist_ok=True)
            os.replace(target, self.desk / name)
        elif kind == "case":
            os.replace(target, target.with_name(target.name.swapcase()))
        elif kind == "folder":
            folder = target.parent
            new = self.desk / f"m{number}"
            if folder != self.desk:
                os.replace(folder, new)
        elif kind == "delete":
            target.unlink()
        elif kind == "slow":
            with open(target, "wb") as file:
                file.write(data[:len(data) // 2])
                file.flush()
                file.write(data[len(data) // 2:])
        else:
            os.utime(target)
        return None

    def test_random_edits_with_kills_of_either_side(self):
        seed = int(os.environ.get("HOB_SEED", random.randrange(1 << 30)))
        dice, edits = random.Random(seed), int(os.environ.get("HOB_EDITS", amount(150, 10000)))
        daemon = self.serve()
        port = daemon.port
        agent = Running(self, "--yes")
        try:
            for number in range(edits):
                self.edit(dice, number)
                what = dice.random()
                if what < 0.02:
                    agent.kill()
                    agent = Running(self, "--yes")
                elif what < 0.03:
                    daemon.kill()
                    daemon = self.serve(listen=f"127.0.0.1:{port}")
                elif what < 0.08:
                    want = {path: digest for path, digest in tree(self.desk).items() if not path.endswith((".blend1", ".tmp"))}
                    until(lambda: tree(self.art) == want, f"equal trees, seed {seed}, edit {number}")
            want = {path: digest for path, digest in tree(self.desk).items() if not path.endswith((".blend1", ".tmp"))}
            until(lambda: tree(self.art) == want, f"equal trees at the end, seed {seed}")
            self.assertIsNone(agent.process.poll(), agent.lines[-5:])
        finally:
            agent.process.send_signal(signal.SIGTERM)
            self.assertFalse([line for line in agent.lines if "Sanitizer" in line or "runtime error" in line])
            daemon.stop()


class Windows(unittest.TestCase):
    @unittest.skipUnless(shutil.which("x86_64-w64-mingw32-gcc"), "there is no gcc-mingw-w64-x86-64")
    def test_the_program_for_windows_builds(self):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder, "hob-agent.exe")
            built = subprocess.run(["sh", PROJECT / "docker/agent_windows.sh", program], capture_output=True, text=True, check=False, timeout=DEADLINE)
            self.assertEqual(built.returncode, 0, built.stderr)
            self.assertEqual(program.read_bytes()[:2], b"MZ")


class Python(Agent):
    """The tests of hob-agent, run with `hob.py mirror` of web/python."""

    def setUp(self):
        super().setUp()
        global AGENT
        self.addCleanup(globals().__setitem__, "AGENT", AGENT)
        AGENT = f"{sys.executable} -u {PROJECT / 'web/python/hob.py'} mirror"

    def test_a_save_is_an_event_and_the_agent_says_what_the_daemon_says(self):
        self.skipTest("it prints what it sends, and not what the daemon says")

    def test_once_mirrors_says_what_failed_and_tells_it_by_its_exit_code(self):
        self.write("props/duck.obj", obj_text(2))
        self.write("broken.obj", "f 1 2 3\n")
        self.write("a.tmp", "half"), self.write("old/x.obj", "o")
        self.write(".hobignore", "old/\n")
        with self.serve() as daemon:
            agent = self.once()
            self.assertEqual(agent.code, 1, agent.lines)
            self.assertEqual(set(tree(self.art)), {"props/duck.obj", "broken.obj", ".hobignore"})
            before = daemon.assets()["art/props/duck.obj"]["id"]
            os.rename(self.desk / "props", self.desk / "things")
            self.assertEqual(self.once().code, 1)
            self.assertEqual(daemon.assets()["art/things/duck.obj"]["id"], before)


if __name__ == "__main__":
    main()
