"""hob-agent: the daemon's copy equals its folder, by digest, through edits, kills and cuts."""
import hashlib
import http.server
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
import urllib.parse

from wire import Wire
from hobtest import DEADLINE, HOB, PROJECT, Daemon, Scenario, amount, main, obj_text, until

# In agent_network.py: the daemon's address, and what starts a program on the agent's side.
NETWORK, SIDE = os.environ.get("HOB_AGENT_NETWORK"), os.environ.get("HOB_AGENT_SIDE", "")
AGENT = f"{SIDE} {os.environ.get('HOB_AGENT', pathlib.Path(HOB).parent / 'hob-agent')}"


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


def digests(folder, kept):
    """The same without what the agent leaves out; kept: digests of earlier calls, by stat."""
    found = {}
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != ".hob-mirror"]
        for name in names:
            path = os.path.join(place, name)
            if name.endswith((".tmp", ".blend1")):
                continue
            try:
                stat = os.stat(path)
                mark = (path, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)
                if mark not in kept:
                    kept[mark] = hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()
                found[os.path.relpath(path, folder)] = kept[mark]
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
        self.daemon = daemon = Daemon([], self.cache, "--config", str(self.folder / "hob.json"), *options, listen=listen, **more)
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
            why = subprocess.run([HOB, "why", "art/duck.obj", "--url", f"http://127.0.0.1:{self.port}"], capture_output=True, text=True).stdout
            self.assertRegex(why, r"sent by   anna@PC7, 20\S+: duck.obj")

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

    # Words of the messages: a certificate that is not trusted, one for another name, and the two mismatches of addresses.
    untrusted, misnamed, no_tls, needs_tls = ("is not trusted", "--cacert"), ("is not for", "a name that it was made for"), ("does not speak TLS", "http://"), ("with a certificate", "https://")

    def trust(self, certificate):
        """The options with which an agent trusts a certificate."""
        return ("--cacert", str(certificate))

    def test_tls_that_does_not_match(self):
        self.write("a.txt", "a")
        tokens, token = self.folder / "tokens", self.folder / "token"
        token.write_bytes(subprocess.run([HOB, "token", "create", "anna", "--mirror", "art", "--token-file", tokens], stdout=subprocess.PIPE, check=True).stdout)
        made = {}
        for name, subject in (("right", "DNS:localhost"), ("other", "DNS:elsewhere.studio")):
            made[name] = (self.folder / f"{name}.pem", self.folder / f"{name}.key")
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", f"/CN={name}",
                            "-addext", "subjectAltName=" + subject, "-out", made[name][0], "-keyout", made[name][1]], check=True, capture_output=True)

        def refused(words, scheme, *options):
            agent = Running(self, "--dry-run", "--token-file", str(token), *options, url=f"{scheme}://localhost:{self.port}")
            line = agent.said(words[0])
            self.assertIn(words[1], line)
            self.assertEqual(tree(self.art), {})
            agent.kill()
        for name, (certificate, key) in made.items():
            with self.serve("--tls-cert", str(certificate), "--tls-key", str(key), "--token-file", str(tokens), wait_ready=False) as daemon:
                daemon.wait_banner()
                self.port = daemon.port
                refused(self.needs_tls, "http")
                if name == "other":
                    refused(self.misnamed, "https", *self.trust(certificate))
                    continue
                refused(self.untrusted, "https")
                trust = self.trust(certificate)
                self.assertEqual(self.once("--token-file", str(token), *trust, url=f"https://localhost:{self.port}").code, 0)
                self.assertEqual(tree(self.art), tree(self.desk))
                (self.art / "a.txt").unlink()
        with self.serve():
            refused(self.no_tls, "https")

    def test_a_full_disk_of_the_daemon(self):
        disk = self.folder / "small"
        disk.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)], capture_output=True).returncode:
            self.skipTest("no tmpfs may be mounted here")
        self.addCleanup(subprocess.run, ["umount", "-l", str(disk)])
        (self.folder / "hob.json").write_text(json.dumps({"sources": [{"name": "art", "path": str(disk), "mirror": True}]}))
        self.art = disk
        (disk / "ballast").write_bytes(bytes(900000))
        self.write("big.bin", os.urandom(600000)), self.write("ballast", bytes(900000))
        with self.serve("--no-probe"):
            agent = Running(self)
            agent.said("the disk of the mirror root")
            self.assertEqual(set(tree(disk)), {"ballast"})
            self.write("ballast", "room again")
            (disk / "ballast").unlink()
            self.equal()
            self.assertIsNone(agent.process.poll())

    def test_a_file_that_is_replaced_while_it_is_sent(self):
        with self.serve() as daemon:
            wire = Wire(daemon.port, 0.2)
            self.addCleanup(wire.stop)
            agent = Running(self, url=f"http://127.0.0.1:{wire.port}")
            agent.said("connected ")
            self.write("big.bin", os.urandom(16 << 20))
            until(lambda: wire.up["blobs"] > 1 << 20, "an upload")
            self.write("big.bin", "saved meanwhile")
            self.equal()

    def test_a_file_that_is_saved_before_it_is_sent(self):
        with self.serve() as daemon:
            wire = Wire(daemon.port, 0.3)
            self.addCleanup(wire.stop)
            agent = Running(self, url=f"http://127.0.0.1:{wire.port}")
            agent.said("connected ")
            self.write("big.bin", os.urandom(40000))
            until(lambda: wire.requests["have"], "the question whether the daemon has it")
            self.write("big.bin", "saved meanwhile")
            self.equal()
            self.assertIsNone(agent.process.poll())

    def test_what_answers_is_no_daemon_of_this_version(self):
        self.write("a.txt", "a")
        answers = {"protocol": (409, {"detail": "the agent speaks protocol 1, and Hob 9.0 speaks 2", "hint": "use the hob-agent that comes with this daemon"}),
                   "page": (200, None)}

        class Other(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_PUT(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                status, body = answers[self.server.kind]
                body = json.dumps(body).encode() if body else b"<html>welcome</html>"
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass
        for kind, words in (("protocol", "speaks protocol 1, and Hob 9.0 speaks 2"), ("page", "does not answer like a Hob daemon")):
            with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Other) as server:
                server.kind = kind
                threading.Thread(target=server.serve_forever, daemon=True).start()
                agent = self.once(url=f"http://127.0.0.1:{server.server_port}")
                server.shutdown()
                self.assertEqual((agent.code, words in agent.lines[-1]), (2, True), agent.lines)

    def test_two_agents_on_one_root(self):
        """Interleaved saves of the same and of other files: the last save stays, with a note, and every version is kept."""
        desks, agents, versions = [self.desk, self.folder / "desk2"], [], {}
        desks[1].mkdir()
        with self.serve() as daemon:
            for desk, who in zip(desks, ("anna@PC7", "ben@PC8")):
                agents.append(Running(self, folder=desk, who=who))
                agents[-1].said("connected ")
            for number in range(amount(30, 1000)):
                side, path = number % 2, ("shared.txt", f"own{number % 7}-{number % 2}.txt")[number % 3 == 0]
                (desks[side] / path).write_text(f"{path} {number}")
                versions[path] = f"{path} {number}"
                until(lambda: (self.art / path).exists() and (self.art / path).read_text() == versions[path], f"save {number} of {path}")
            self.assertEqual({path: (self.art / path).read_text() for path in tree(self.art)}, versions)
            agents[1].said("shared.txt replaces the version that anna@PC7 saved at")
            agents[0].said("shared.txt replaces the version that ben@PC8 saved at")
            for number in range(amount(30, 1000)):
                path = ("shared.txt", f"own{number % 7}-{number % 2}.txt")[number % 3 == 0]
                self.assertEqual(daemon.get("/blobs/" + hashlib.sha256(f"{path} {number}".encode()).hexdigest()).status, 200)

    kinds = ("new", "save", "safe", "backup", "rename", "case", "folder", "delete", "slow", "same")
    edit_options = ("--yes",)

    def edit(self, dice, number):
        """One random edit, in a way that programs use. Returns how many files it changed."""
        files = sorted(digests(self.desk, self.kept))
        kind = dice.choice(self.kinds)
        name = f"{dice.choice('abcd')}/{dice.choice(('x', 'y/z', 'w'))}/{dice.randrange(30)}{dice.choice(('.bin', '.obj'))}"
        path = name if kind == "new" or not files else dice.choice(files)
        mark = f"# {number} {dice.random()}\n"
        data = (mark * dice.choice((1, 50, 20000)) if path.endswith("bin") else mark + obj_text(dice.randrange(1, 200))).encode()
        target, taken = self.desk / path, {file.lower() for file in files}
        if kind in ("save", "safe", "backup", "slow", "new"):
            if path.lower() in taken and path not in files:  # Windows holds one of the two
                return 0
            self.saved[hashlib.sha256(data).hexdigest()] = len(data)
        if kind in ("save", "new"):
            self.write(path, data)
        elif kind == "safe":  # a temporary file beside it, then a rename over it
            self.write(path + ".tmp", data)
            os.replace(self.desk / (path + ".tmp"), target)
        elif kind == "backup":  # renames the old one to a backup, then writes a new one
            if target.exists():
                os.replace(target, self.desk / (path + ".blend1"))
            self.write(path, data)
        elif kind == "slow":
            self.half(path, data)
        elif path not in files:
            return 0
        elif kind == "rename":
            if name.lower() in taken:
                return 0
            (self.desk / name).parent.mkdir(parents=True, exist_ok=True)
            os.replace(target, self.desk / name)
        elif kind == "case":
            if target.with_name(target.name.swapcase()).exists():
                return 0
            os.replace(target, target.with_name(target.name.swapcase()))
        elif kind == "folder":
            os.replace(target.parent, self.desk / f"m{number}")
            return sum(file.startswith(os.path.dirname(path) + "/") for file in files)
        elif kind == "delete":
            target.unlink()
        else:
            os.utime(target)
        return kind != "same"

    def half(self, path, data):
        """A save in two pieces."""
        target = self.desk / path
        target.parent.mkdir(parents=True, exist_ok=True)
        with open(target, "wb") as file:
            file.write(data[:len(data) // 2])
            file.flush()
            file.write(data[len(data) // 2:])

    def quiet(self, what):
        try:
            until(lambda: digests(self.art, self.kept_art) == digests(self.desk, self.kept), what)
        except AssertionError as error:
            here, there = (set(digests(*at).items()) for at in ((self.desk, self.kept), (self.art, self.kept_art)))
            left = sorted(there - here)[:5]
            senders = [self.daemon.get(f"/api/v1/mirrors/art/origin/{urllib.parse.quote(path)}").body.decode() for path, _ in left]
            raise AssertionError(f"{error}: only here {sorted(here - there)[:5]}, only there {left} {senders}\n" +
                                 "\n".join(self.agent.lines[-20:])) from None

    def test_random_edits_with_kills_of_either_side(self):
        """Edits with kills, cuts, delay and loss: the trees are equal whenever nobody saves, each cook is of a whole version, a
        renamed model keeps its id, and the bytes sent are bounded."""
        seed = int(os.environ.get("HOB_SEED", random.randrange(1 << 30)))
        dice, edits = random.Random(seed), int(os.environ.get("HOB_EDITS", amount(150, 10000)))
        self.saved, self.kept, self.kept_art = {}, {}, {}
        daemon = self.serve()
        port, changes, kills, renamed, sources = daemon.port, 0, 0, 0, set()
        wire = Wire(port, *(0, 0) if NETWORK else amount((0.001, 0.01), (0.04, 0.01)), seed, host=NETWORK or "127.0.0.1")
        self.addCleanup(wire.stop)
        address = f"http://{NETWORK or '127.0.0.1'}:{wire.port}"
        self.agent = Running(self, *self.edit_options, url=address)

        def look_back(daemon):
            for item in daemon.assets().values():
                sources.update(cook["source"] for cook in daemon.get(f"/api/v1/assets/{item['id']}/history").json()["items"]
                               if cook["source"])  # none: it was cancelled
        try:
            for number in range(edits):
                changes += self.edit(dice, number)
                what = dice.random()
                if what < 0.02:
                    self.agent.kill()
                    self.agent, kills = Running(self, *self.edit_options, url=address), kills + 1
                elif what < 0.03:
                    daemon.kill()
                    daemon, kills = self.serve(listen=f"127.0.0.1:{port}"), kills + 1
                elif what < 0.04:
                    wire.cut()
                    kills += 1
                elif what < 0.09:
                    self.quiet(f"equal trees, seed {seed}, edit {number}")
                elif what < 0.11:
                    self.quiet(f"equal trees, seed {seed}, edit {number}")
                    models = [path for path in digests(self.desk, self.kept) if path.lower().endswith(".obj")]
                    if not models:
                        continue
                    daemon.sync()
                    path, new = dice.choice(models), f"{dice.choice('abcd')}/r{number}.obj"
                    id = daemon.assets()["art/" + path]["id"]
                    (self.desk / new).parent.mkdir(parents=True, exist_ok=True)
                    os.replace(self.desk / path, self.desk / new)
                    changes, renamed = changes + 1, renamed + 1
                    self.quiet(f"a renamed model, seed {seed}, edit {number}")
                    daemon.sync()
                    self.assertEqual(daemon.assets()["art/" + new]["id"], id, f"{path} -> {new}, seed {seed}, edit {number}")
                    if renamed % 5 == 0:
                        look_back(daemon)
            self.quiet(f"equal trees at the end, seed {seed}")
            daemon.sync()
            look_back(daemon)
            self.assertIsNone(self.agent.process.poll(), self.agent.lines[-5:])
        finally:
            self.agent.process.send_signal(signal.SIGTERM)
            self.assertFalse([line for line in self.agent.lines if "Sanitizer" in line or "runtime error" in line])
            daemon.stop()
        first, again = (sum(counts[i] for counts in wire.blobs.values()) for i in (0, 1))
        wrote, largest = sum(self.saved.values()), max(self.saved.values())
        up, down = sum(wire.up.values()) - again, sum(wire.down.values())
        print(f"seed {seed}: {edits} edits, {changes} changes, {kills} kills and cuts, {renamed} ids kept, {len(sources)} versions cooked, "
              f"{wrote} bytes saved, {first} of them sent, {again} sent again, {up} sent in all, {down} received; "
              f"up {dict(wire.up)}, down {dict(wire.down)}, requests {dict(wire.requests)}", file=sys.stderr)
        self.assertLessEqual(sources, set(self.saved), "versions that nobody saved")
        self.assertLessEqual(first, wrote)
        self.assertLessEqual(up, 1.1 * first + 1024 * changes)
        self.assertLessEqual(again, kills * largest)


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
        AGENT = f"{SIDE} {sys.executable} -u {PROJECT / 'web/python/hob.py'} mirror"

    untrusted, misnamed, no_tls = ("self-signed certificate", "SSL_CERT_FILE"), ("not valid for 'localhost'", "a name that it was made for"), ("does not speak TLS", "http://")

    def trust(self, certificate):
        """Python trusts the system's certificates."""
        os.environ["SSL_CERT_FILE"] = str(certificate)
        self.addCleanup(os.environ.pop, "SSL_CERT_FILE", None)
        return ()


if __name__ == "__main__":
    main()
