"""Mirror roots over HTTP: sessions, atomic lists, continued uploads, scopes, and refusals."""
import hashlib
import json
import os
import socket
import subprocess

from hobtest import HOB, Daemon, Scenario, main, obj_text, until

ZERO = "0" * 64


def sha(data):
    return hashlib.sha256(data).hexdigest()


def folder_digest(files):
    """The digest of a folder as specified in openapi.json; files: {path: bytes}."""
    whole, order, below = hashlib.sha256(), [], {}
    for path in sorted(files, key=lambda p: p.encode()):
        name, slash, rest = path.partition("/")
        if (name, slash) not in order:
            order.append((name, slash))
        below.setdefault((name, slash), {})[rest] = files[path]
    for name, slash in order:
        inside = below[name, slash]
        digest = folder_digest(inside) if slash else sha(inside[""])
        whole.update((b"d" if slash else b"f") + name.encode() + b"\0" + bytes.fromhex(digest))
    return whole.hexdigest()


class Agent:
    """The protocol from a client's side."""

    def __init__(self, daemon, who="anna@PC7", base="", token=None, root="art"):
        self.daemon, self.who, self.base, self.root = daemon, who, base, root
        self.headers = {"Authorization": "Bearer " + token} if token else {}
        self.seq = 0

    def ask(self, method, what, body):
        return self.daemon.request(method, f"/api/v1/mirrors/{self.root}/{what}", body, self.headers)

    def open(self, **more):
        answer = self.ask("PUT", "session", {"who": self.who, "base": self.base, "program": "test 1", "protocol": 1, **more})
        if answer.status == 200:
            self.session, self.seq = answer.json()["session"], 0
        return answer

    def upload(self, data, **headers):
        return self.daemon.request("PUT", "/blobs/" + sha(data), data, {**self.headers, **headers})

    def send(self, *changes, seq=None):
        answer = self.ask("POST", "changes", {"session": self.session, "seq": seq or self.seq + 1, "changes": changes})
        if answer.status == 200 and not answer.json()["missing"]:
            self.seq = answer.json()["seq"]
        return answer

    def save(self, path, data, mtime=1000, **more):
        assert self.upload(data).status in (201, 204)
        return self.send({"put": path, "sha256": sha(data), "mtime_ms": mtime, **more})

    def manifest(self, *folders):
        answer = self.ask("POST", "manifest", {"session": self.session, "folders": folders})
        assert answer.status == 200, answer.body
        return {folder["path"]: {item["name"]: item for item in folder["items"]} for folder in answer.json()["folders"]}


class Mirror(Scenario):
    def setUp(self):
        super().setUp()
        self.art.rmdir()  # the daemon creates it
        config = self.folder / "hob.json"
        config.write_text(json.dumps({"sources": [{"name": "art", "path": "art", "mirror": True}]}))
        self.options = ("--config", str(config))
        self.tokens = str(self.folder / "tokens")

    def serve(self, *options, **more):
        return Daemon([], self.cache, *self.options, *options, **more)

    def files(self):
        return {str(path.relative_to(self.art)): path.read_bytes() for path in self.art.rglob("*")
                if path.is_file() and ".hob-mirror" not in path.parts}

    def problem(self, answer, status, code, *words):
        self.assertEqual((answer.status, answer.json()["code"]), (status, code), answer.body)
        for word in words:
            self.assertIn(word, answer.json()["detail"])

    def test_files_arrive_move_and_go_and_assets_keep_their_ids(self):
        one, two = obj_text(2).encode(), obj_text(3).encode()
        with self.serve() as daemon:
            agent = Agent(daemon)
            opened = agent.open(folder="C:\\art").json()
            self.assertEqual(opened["tree"], folder_digest({}))
            want = {"session": agent.session, "seq": 1,
                    "changes": [{"put": "a/one.obj", "sha256": sha(one), "mtime_ms": 1600000000123}]}
            missing = agent.ask("POST", "changes", want).json()
            self.assertEqual((missing["applied"], missing["missing"]), (0, [sha(one)]))
            self.assertEqual(agent.ask("POST", "have", {"digests": [sha(one)]}).json(), {"missing": [sha(one)], "held": []})
            agent.upload(one)
            self.assertEqual(agent.ask("POST", "have", {"digests": [sha(one)]}).json(), {"missing": [], "held": []})
            done = agent.ask("POST", "changes", want).json()
            self.assertEqual((done["seq"], done["applied"], done["missing"]), (1, 1, []))
            self.assertEqual(agent.ask("POST", "changes", want).json(), done)  # repeated
            agent.seq = 1
            self.assertEqual(os.stat(self.art / "a/one.obj").st_mtime_ns, 1600000000123000000)
            daemon.sync()
            before = daemon.assets()["art/a/one.obj"]["id"]
            agent.upload(two)
            moved = agent.send({"move": "a/one.obj", "to": "b/c/uno.obj", "sha256": sha(one)},
                               {"put": "two.obj", "sha256": sha(two), "mtime_ms": 1})
            self.assertEqual(moved.status, 200, moved.body)
            self.assertEqual(self.files(), {"b/c/uno.obj": one, "two.obj": two})
            self.assertFalse((self.art / "a").exists())
            daemon.sync()
            self.assertEqual(daemon.assets()["art/b/c/uno.obj"]["id"], before)
            origin = daemon.get("/api/v1/mirrors/art/origin/b/c/uno.obj").json()
            self.assertEqual((origin["who"], origin["sha256"]), ("anna@PC7", sha(one)))
            self.problem(daemon.get("/api/v1/mirrors/art/origin/none.obj"), 404, "http.not-found", "none.obj")
            [root] = daemon.get("/api/v1/mirrors").json()["items"]
            self.assertEqual((root["root"], root["files"], root["agents"][0]["folder"]), ("art", 2, "C:\\art"))
            self.assertEqual(root["agents"][0]["state"], "connected")
            agent.send({"delete": "b/c/uno.obj", "sha256": sha(one)})
            self.assertEqual(self.files(), {"two.obj": two})
            self.assertEqual(agent.open().json()["tree"], folder_digest({"two.obj": two}))

    def test_trees_are_compared_folder_by_folder_and_the_disk_is_the_truth(self):
        files = {f"{name}/{i}.bin": f"{name} {i}".encode() for name in ("a", "a-b", "a.b", "a0", "a/b", "a/b0", "a/b-", "z") for i in range(3)} | {"top": b"t"}
        with self.serve() as daemon:
            agent = Agent(daemon)
            agent.open()
            for data in files.values():
                agent.upload(data)
            agent.send(*[{"put": path, "sha256": sha(data), "mtime_ms": 5} for path, data in files.items()])
            self.assertEqual(self.files(), files)
            self.assertEqual(agent.open().json()["tree"], folder_digest(files))
            listed = agent.manifest("", "a")
            for above, name in (("", "a"), ("", "a-b"), ("", "a.b"), ("", "a0"), ("a", "b"), ("a", "b-"), ("a", "b0"), ("", "z")):
                folder = f"{above}/{name}/".lstrip("/")
                below = {path[len(folder):]: data for path, data in files.items() if path.startswith(folder)}
                self.assertEqual(listed[above][name], {"name": name, "tree": folder_digest(below)})
            self.assertEqual(listed["a"]["1.bin"], {"name": "1.bin", "sha256": sha(b"a 1"), "mtime_ms": 5, "mine": True})
            other = Agent(daemon, "ben@PC8")
            other.open()
            self.assertFalse(other.manifest("z")["z"]["0.bin"]["mine"])
        (self.art / "z/0.bin").write_bytes(b"edited here")
        (self.art / "top").unlink()
        (self.art / "new").write_bytes(b"new")
        files.update({"z/0.bin": b"edited here", "new": b"new"})
        del files["top"]
        with self.serve() as daemon:
            agent = Agent(daemon)
            self.assertEqual(agent.open().json()["tree"], folder_digest(files))
            self.assertFalse(agent.manifest("")[""]["new"]["mine"])
            self.assertTrue(agent.manifest("z")["z"]["1.bin"]["mine"])

    def test_two_agents_on_one_root(self):
        with self.serve() as daemon:
            anna, ben = Agent(daemon), Agent(daemon, "ben@PC8")
            anna.open(), ben.open()
            anna.save("a.txt", b"anna 1", 1000)
            note = ben.save("a.txt", b"ben 1", 2000).json()["notes"]
            self.assertEqual((note[0]["path"], note[0]["by"]), ("a.txt", "anna@PC7"))
            self.assertIn("replaces the version that anna@PC7 saved at", note[0]["text"])
            note = anna.save("a.txt", b"anna 2", 1500, seen=sha(b"anna 1")).json()["notes"]
            self.assertIn("does not replace the version that ben@PC8 saved", note[0]["text"])
            self.assertEqual(self.files(), {"a.txt": b"ben 1"})
            note = anna.send({"delete": "a.txt", "sha256": sha(b"anna 1")}).json()["notes"]
            self.assertIn("keeps the version that ben@PC8", note[0]["text"])
            self.assertEqual(anna.save("a.txt", b"anna 3", 3000, seen=sha(b"ben 1")).json()["notes"], [])
            self.assertEqual(self.files(), {"a.txt": b"anna 3"})
            for data in (b"anna 1", b"ben 1", b"anna 2", b"anna 3"):
                self.assertEqual(daemon.get("/blobs/" + sha(data)).status, 200)

    def test_base_folders_keep_agents_apart(self):
        with self.serve() as daemon:
            anna, ben = Agent(daemon, base="anna"), Agent(daemon, "ben@PC8", base="ben/work")
            anna.open(), ben.open()
            anna.save("x.txt", b"1"), ben.save("x.txt", b"2")
            self.assertEqual(self.files(), {"anna/x.txt": b"1", "ben/work/x.txt": b"2"})
            self.assertEqual(anna.open().json()["tree"], folder_digest({"x.txt": b"1"}))
            self.assertEqual(set(ben.manifest("")[""]), {"x.txt"})

    def test_what_is_refused_in_words(self):
        with self.serve() as daemon:
            agent = Agent(daemon)
            self.problem(Agent(daemon, root="none").open(), 404, "mirror.root", "'none'")
            self.problem(agent.open(protocol=7), 409, "mirror.protocol", "speaks protocol 7")
            self.problem(agent.open(who="a\nb"), 400, "http.bad-request", "printable")
            self.problem(agent.open(base="../x"), 400, "mirror.path", "leads outside")
            self.problem(daemon.request("PUT", "/api/v1/mirrors/art/session", "[1"), 400, "http.bad-request", "not valid JSON")
            agent.open()
            agent.upload(b"x")
            for path, why in (("../x", "leads outside"), ("/x", "empty part"), ("a/../x", "leads outside"), ("CON", "device"),
                              ("a/nul.txt", "device"), ("com\u00b9.x", "device"), ("a:b", "holds one of"), ("a\\b", "holds one of"),
                              ("a.", "ends with a dot"), ("a /b", "ends with a dot or a space"), ("a\tb", "control character"),
                              ("x" * 256, "255 bytes"), ("x/" * 600 + "x", "1,024 bytes"), (".hob-mirror/log", "reserved")):
                self.problem(agent.send({"put": path, "sha256": sha(b"x")}), 400, "http.bad-request", why)
            self.problem(agent.send({"put": "a"}), 400, "http.bad-request", "'sha256'")
            self.problem(agent.send({"sha256": ZERO}), 400, "http.bad-request", "none of")
            self.problem(agent.send({"put": "a", "sha256": sha(b"x")}, {"move": "b", "to": "a", "sha256": ZERO}), 400,
                         "http.bad-request", "'a' twice")
            self.problem(agent.send({"move": "no", "to": "b", "sha256": ZERO}), 409, "mirror.out-of-step")
            self.problem(agent.send({"put": "a", "sha256": sha(b"x")}, seq=9), 409, "mirror.sequence", "number 9")
            for first, second in (("dir", "dir/x"), ("dir/x/y", "dir")):  # of one list
                self.problem(agent.send(*({"put": path, "sha256": sha(b"x")} for path in (first, second))), 409, "mirror.out-of-step",
                             "both a file and a folder")
            agent.save("dir", b"x")
            self.problem(agent.send({"put": "dir/x", "sha256": sha(b"x")}), 409, "mirror.out-of-step", "both a file and a folder")
            self.assertEqual(agent.send({"delete": "dir", "sha256": sha(b"x")}, {"put": "dir/x", "sha256": sha(b"x")}).status, 200)
            self.assertEqual(self.files(), {"dir/x": b"x"})
            agent.session = "0" * 32
            self.problem(agent.send({"put": "a", "sha256": sha(b"x")}), 404, "mirror.session", "no such session")
            self.problem(daemon.post("/api/v1/mirrors/art/have", {"digests": ["x"]}), 400, "http.bad-request", "SHA-256")

    def test_a_clock_that_is_off_by_a_day_is_corrected_and_noted(self):
        with self.serve() as daemon:
            agent = Agent(daemon)
            now = agent.open(clock_ms=0).json()["clock_ms"]
            answer = agent.open(clock_ms=now + 86400000).json()
            self.assertRegex(answer["note"], r"8640\d s ahead|86399 s ahead")
            agent.save("a", b"a", now + 86400000)
            self.assertLess(abs(os.stat(self.art / "a").st_mtime * 1000 - now), 30000)
            self.assertLess(abs(agent.manifest("")[""]["a"]["mtime_ms"] - now - 86400000), 2)

    def test_a_token_is_for_one_root_or_one_folder_of_it(self):
        def token(name, *options):
            made = subprocess.run([HOB, "token", "create", name, "--token-file", self.tokens, *options], capture_output=True, text=True)
            self.assertEqual(made.returncode, 0, made.stderr)
            return made.stdout.strip()
        whole, part = token("anna", "--mirror", "art"), token("ben", "--mirror", "art/ben")
        foreign, reader = token("eve", "--mirror", "other"), token("viewer")
        bad = subprocess.run([HOB, "token", "create", "x", "--token-file", self.tokens, "--mirror", "a b"], capture_output=True, text=True)
        self.assertEqual(bad.returncode, 2)
        listed = subprocess.run([HOB, "token", "list", "--json", "--token-file", self.tokens], capture_output=True, text=True).stdout
        self.assertEqual([item.get("mirror") for item in json.loads(listed)], ["art", "art/ben", "other", None])
        with self.serve("--token-file", self.tokens, wait_ready=False) as daemon:
            daemon.wait_banner()
            agent = Agent(daemon, token=whole)
            self.assertEqual(agent.open().status, 200)
            self.assertEqual(agent.save("a", b"a").status, 200)
            self.assertEqual(daemon.get("/api/v1/mirrors", **agent.headers).status, 200)
            self.problem(daemon.request("POST", "/api/v1/gc", {}, agent.headers), 403, "http.token-scope", "feed the mirror root 'art'")
            self.problem(Agent(daemon, token=foreign).open(), 403, "http.token-scope", "'other', and not 'art'")
            self.problem(Agent(daemon, token=reader).open(), 403, "http.token-scope", "read and not write")
            self.problem(Agent(daemon, token="hob_wrong").open(), 401, "http.token-needed", "not valid")
            self.problem(Agent(daemon, token=part).open(), 403, "mirror.scope", "'ben' of this root")
            self.problem(Agent(daemon, token=part, base="bengal").open(), 403, "mirror.scope")
            self.assertEqual(Agent(daemon, token=part, base="ben/x").open().status, 200)

    def test_a_cut_upload_is_continued(self):
        data = os.urandom(3 << 20)
        name = "/blobs/" + sha(data)
        with self.serve() as daemon:
            self.assertNotIn("upload-offset", daemon.request("HEAD", name).headers)
            with socket.create_connection(("127.0.0.1", daemon.port)) as cut:
                cut.sendall(f"PUT {name} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data[:1 << 20])
                cut.shutdown(socket.SHUT_WR)
                cut.recv(100)

            def held():
                return int(daemon.request("HEAD", name).headers.get("upload-offset", 0))
            at = until(held, "keeping what has arrived")
            self.assertTrue(0 < at <= 1 << 20)

            def rest(first, last=len(data) - 1, size=len(data), **more):
                return daemon.request("PUT", name, data[first:last + 1], {"Content-Range": f"bytes {first}-{last}/{size}", **more})
            have = Agent(daemon).ask("POST", "have", {"digests": [sha(data)]}).json()
            self.assertEqual(have, {"missing": [sha(data)], "held": [{"sha256": sha(data), "bytes": at}]})
            self.problem(rest(at - 1), 409, "http.conflict", f"{at} bytes", f"begins at {at - 1}")
            self.problem(rest(at, size=len(data) + 1), 400, "http.bad-request")
            self.problem(rest(at, len(data) - 2), 400, "http.bad-request")
            self.assertEqual(held(), at)
            self.assertEqual(rest(at).status, 201)
            self.assertEqual(daemon.get(name).body, data)
            self.assertEqual(rest(at).status, 204)
            self.assertEqual(held(), 0)
            wrong = b"x" * 100
            self.problem(daemon.request("PUT", "/blobs/" + ZERO, wrong, {"Content-Range": "bytes 0-99/100"}), 400, "http.bad-request")

    def test_a_list_that_a_kill_cuts_is_finished_or_never_was(self):
        """A list of 40 changes interrupted by a kill after every second one."""
        old = {f"d/{i}": f"old {i}".encode() for i in range(40)}
        with self.serve() as daemon:
            agent = Agent(daemon)
            agent.open()
            for data in old.values():
                agent.upload(data)
            agent.send(*[{"put": path, "sha256": sha(data)} for path, data in old.items()])
        # A linked list and its copies, partly placed: the state after a kill.
        area = self.art / ".hob-mirror"
        lines = ["by\t0\t1700000000000"]
        for i in range(40):
            new = f"new {i}".encode()
            if i % 4 == 0:
                lines.append(f"2\t{i}\t{sha(old[f'd/{i}'])}\t0\td/{i}\t")
                if i < 20:
                    (self.art / f"d/{i}").unlink()
            elif i % 4 == 1:
                lines.append(f"1\t{i}\t{sha(old[f'd/{i}'])}\t0\te/{i}\td/{i}")
                if i < 20:
                    (self.art / "e").mkdir(exist_ok=True)
                    (self.art / f"d/{i}").rename(self.art / f"e/{i}")
            else:
                lines.append(f"0\t{i}\t{sha(new)}\t7000\td/{i}\t")
                (self.art / f"d/{i}" if i < 20 else area / f"new-{i}").write_bytes(new)
        (area / "list").write_text("\n".join(lines + ["end", ""]))
        want = {}
        for i in range(40):
            if i % 4 == 1:
                want[f"e/{i}"] = old[f"d/{i}"]
            elif i % 4 > 1:
                want[f"d/{i}"] = f"new {i}".encode()
        with self.serve() as daemon:
            self.assertEqual(Agent(daemon).open().json()["tree"], folder_digest(want))
            self.assertEqual(self.files(), want)
            self.assertFalse((area / "list").exists())
            self.assertEqual(daemon.get("/api/v1/mirrors/art/origin/d/3").json()["who"], "anna@PC7")

    def test_a_full_disk_refuses_a_list_and_changes_nothing(self):
        disk = self.folder / "small"
        disk.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)], capture_output=True).returncode:
            self.skipTest("no tmpfs may be mounted here")
        self.addCleanup(subprocess.run, ["umount", "-l", str(disk)])
        (self.folder / "hob.json").write_text(json.dumps({"sources": [{"name": "art", "path": str(disk), "mirror": True}]}))
        with self.serve("--no-probe") as daemon:
            agent = Agent(daemon)
            agent.open()
            agent.save("small.txt", b"x")
            self.problem(agent.save("big.bin", os.urandom(2 << 20)), 507, "io.disk-full", "is full; nothing was changed")
            self.assertEqual(sorted(path.name for path in disk.iterdir()), [".hob-mirror", "small.txt"])
            self.assertEqual(agent.save("other.txt", b"y").status, 200)

    def test_a_daemon_without_mirror_roots(self):
        self.art.mkdir()
        with Daemon([self.art], self.cache) as daemon:
            self.assertEqual(daemon.get("/api/v1/mirrors").json(), {"items": []})
            self.problem(Agent(daemon).open(), 404, "http.not-found", "no mirror root")


if __name__ == "__main__":
    main()
