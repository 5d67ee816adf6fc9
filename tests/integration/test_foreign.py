"""The command line with untrusted input: a lying daemon, and names crafted for a terminal, a report or a shell."""
import contextlib
import hashlib
import http.server
import json
import os
import pathlib
import pty
import re
import struct
import subprocess
import sys
import threading
import xml.dom.minidom

from hobtest import DEADLINE, HOB, PROJECT, Scenario, main, obj_text

# Sets a title, clears a line, writes from right to left, is Markdown and HTML; and U+FFFF, which XML forbids.
EVIL = "\x1b]0;title\x07\x1b[2K\x9b31m\u202eevil\u2066>) ![x](<`|&lt;b>\"\n## H\uffff"
ALLOWED = re.compile("\x1b\\[[0-9;]*m|\r\x1b\\[K|\r?\n|\t")
FORBIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
ENDLESS = 64 << 20  # bytes of an endless line


class Liar(http.server.ThreadingHTTPServer):
    """Answers from the test's `answers`: {begin of the target: bytes, object, or a function that writes}."""
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers = {}
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def write(self, data):
        """A chunk of an answer without end."""
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def do_GET(self):
        answer = next((answer for begin, answer in self.server.answers.items() if self.path.startswith(begin)), {})
        body = answer if isinstance(answer, bytes) else b"" if callable(answer) else json.dumps(answer).encode()
        self.send_response(200)
        self.send_header(*(("Transfer-Encoding", "chunked") if callable(answer) else ("Content-Length", str(len(body)))))
        self.end_headers()
        self.wfile.write(body)
        if callable(answer):
            with contextlib.suppress(OSError):
                answer(self)

    do_POST = do_GET


class Foreign(Scenario):
    def liar(self):
        server = Liar()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return server

    def hob(self, *words, code=0):
        done = subprocess.run([HOB, *words], cwd=self.folder, capture_output=True, timeout=DEADLINE)
        self.assertEqual(code, done.returncode, (words, done.stdout[-2000:], done.stderr[-2000:]))
        return done.stdout + done.stderr

    def in_terminal(self, *words):
        """Everything written to a terminal."""
        master, slave = pty.openpty()
        process = subprocess.Popen([HOB, *words], cwd=self.folder, stdin=slave, stdout=slave, stderr=slave,
                                   env={**os.environ, "TERM": "xterm"}, start_new_session=True)
        os.close(slave)
        out = b""
        with contextlib.suppress(OSError):
            while piece := os.read(master, 65536):
                out += piece
        os.close(master)
        self.assertIn(process.wait(timeout=DEADLINE), (0, 1, 2), out)
        return out

    def assert_plain(self, out, what):
        text = out.decode("utf-8", "replace")
        self.assertGreater(len(text), 20, what)
        self.assertIsNone(FORBIDDEN.search(ALLOWED.sub("", text)), (what, text))

    # ---- a lying daemon

    def test_get_all_writes_below_its_folder_and_only_what_was_named(self):
        body = b"not from here"
        digest = hashlib.sha256(body).hexdigest()
        good = {"root": "art", "path": "a.obj", "state": "fresh", "name": "art/a.obj"}
        server = self.liar()
        server.answers["/blobs/"] = body
        before = set(self.folder.rglob("*"))
        for lie in ({"root": "../.."}, {"root": ".."}, {"root": "a/b"}, {"root": ""}, {"path": "../../up.obj"}, {"path": "/etc/up.obj"},
                    {"path": "a/./b"}, {"name": "/../../up"}, {"name": "../../up"}, {"hash": "../../../up"}, {"hash": digest[:-1] + "Z"},
                    {"name": "textures/0", "hash": "../" * 12 + str(self.folder).lstrip("/") + "/up"}, {"hash": "0" * 64},
                    {"name": "textures/0", "hash": "0" * 64}):
            output = {"name": "meshes", "hash": digest, "size": len(body)}
            output.update({key: value for key, value in lie.items() if key in ("name", "hash")})
            asset = {**good, **{key: value for key, value in lie.items() if key in ("root", "path")}, "outputs": [output]}
            server.answers["/api/v1/assets"] = {"items": [asset], "next": None}
            self.hob("get", "--all", "-o", "deep/er/out", "--url", server.url, code=5)
            self.assertEqual(before, set(self.folder.rglob("*")), lie)
        server.answers["/api/v1/assets"] = {"items": [{**good, "outputs": [{"name": "meshes", "hash": digest, "size": len(body)}]}]}
        self.hob("get", "--all", "-o", "out", "--url", server.url)
        self.assertEqual(body, (self.folder / "out/art/a.obj.meshes").read_bytes())

    def test_check_takes_no_lie_for_a_good_library(self):
        server = self.liar()
        roots = {"items": [{"name": "art", "path": "/nowhere"}]}
        asset = {"path": f"{EVIL}.obj", "standing": "fresh", "report": "0" * 64, "source": None, "settings": {"rules": 5}}
        frame = bytes(32) + struct.pack("<Q", 4)
        report = b'{"notes":[{"level":"warning","code":"x","text":"' + EVIL.encode().hex().encode() + b'","count":1}]}'
        named = asset | {"report": hashlib.sha256(report).hexdigest()}
        for i, (root, assets, blobs, code) in enumerate((
                ([], {}, b"", 2), (5, {}, b"", 2), ({"items": [1, "x", None]}, {}, b"", 2), (b"[" * 5000, {}, b"", 5), (roots, {}, b"", 2), (roots, b"[", b"", 5),
                (roots, {"items": [1, [], "x", None]}, b"", 1), (roots, {"items": [asset]}, b"", 3), (roots, {"items": [asset]}, frame, 3), (roots, {"items": [asset]}, frame + b"1234", 1),
                (roots, {"items": [asset | {"standing": EVIL, "error": {"code": EVIL, "message": EVIL}}]}, b"", 1), (roots, {"items": [asset | {"settings": [[]]}]}, frame + b"1234", 1),
                (roots, {"items": [asset | {"error": {"code": "cook.rule", "message": EVIL}, "standing": "broken"}]}, bytes(32) + b"\xff" * 8, 1),
                (roots, {"items": [named]}, bytes(32) + struct.pack("<Q", len(report)) + report, 0))):
            server.answers = {"/api/v1/roots": root, "/api/v1/assets": assets, "/blobs:batch": blobs}
            for form in ("text", "json", "sarif", "junit", "github"):
                out = self.hob("check", "--url", server.url, "--format", form, code=code)
                self.assertNotIn(b"runtime error", out)
                if form == "text":
                    self.assert_plain(out, i)
                self.assertFalse(code == 0 and form == "text" and b"1 warning" not in out, out)

    def test_a_daemon_of_0_2_says_how_its_assets_stand(self):
        server = self.liar()
        error = {"message": "no", "hint": ""}
        for state, fault, standing in (("fresh", None, "fresh"), ("stale", None, "updating"), ("stale", error, "broken"), ("queued", None, "waiting"),
                                       ("cooking", None, "waiting"), ("failed", error, "broken"), ("quarantined", error, "broken"),
                                       ("blocked", error, "blocked"), ("missing", None, "missing"), ("interrupted", error, "interrupted")):
            server.answers["/api/v1/assets"] = {"items": [{"root": "art", "path": "a.obj", "name": "art/a.obj", "state": state, "error": fault}],
                                                "next": None}
            self.assertEqual(self.hob("ls", "--url", server.url).decode().split()[:2], [standing, "art/a.obj"])
            self.hob("get", "--all", "-o", "out", "--url", server.url, code=0 if standing == "fresh" else 1)

    def test_a_line_without_end_ends_the_command(self):
        server = self.liar()

        def for_ever(out):
            for _ in range(ENDLESS >> 16):
                out.write(b"x" * (1 << 16))

        server.answers["/api/v1/events"] = for_ever
        self.assertIn(b"is it a Hob daemon?", self.hob("watch", "--url", server.url, code=2))

    def test_the_python_client_has_only_errors_of_its_own(self):
        sys.path.insert(0, str(PROJECT / "web/python"))
        self.addCleanup(sys.path.pop, 0)
        import hob
        server = self.liar()
        client = hob.Client(server.url)
        self.addCleanup(client.close)
        for lie in (b"[" * 200000, b"no JSON", [], 1, {}, {"items": 5}, "text"):
            server.answers["/api/v1/"] = lie
            with self.assertRaises(hob.BadBytes, msg=lie):
                list(client.assets())

    # ---- names

    def model(self, name=EVIL):
        positions = [0, 0, 0, 1, 0, 0, 0, 1, 0]
        data = struct.pack("<9f", *positions)
        return json.dumps({
            "asset": {"version": "2.0"}, "buffers": [{"byteLength": 36, "uri": "buffer.bin"}],
            "bufferViews": [{"buffer": 0, "byteLength": 36}], "materials": [{"name": name}],
            "accessors": [{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3", "min": [0, 0, 0], "max": [1, 1, 0]}],
            "meshes": [{"name": name, "primitives": [{"attributes": {"POSITION": 0}, "material": 0}]}],
            "nodes": [{"name": name, "mesh": 0}], "scenes": [{"nodes": [0]}]}), data

    def test_nothing_that_a_name_holds_steers_a_terminal(self):
        text, data = self.model()
        name = EVIL.replace("/", "")
        self.put("buffer.bin", data)
        self.put("named.gltf", text)
        self.put("a.obj", obj_text(2))
        self.put(f"{name}.gltf", "{")
        self.put(f"{name}.xyz", "no model")
        os.utime(self.put(f"{name}.obj", obj_text(2)), (2**33, 2**33))
        self.put("new.mtl", "newmtl m\n")
        line = name.replace("\n", "")
        self.put("moved.obj", f"mtllib {line}/../old.mtl\n" + obj_text(1))
        rules = json.dumps({"rules": {"name.node": {"match": "^a$"}, "mesh.open": "warning"}})
        commands = [("cook", "art", "-o", "out"), ("check", "art", "--settings", rules), ("inspect", "art/named.gltf"), ("refs", "art", "old.mtl", "new.mtl"), ("doctor", "art"),
                    *(("inspect", f"out/named.gltf.{part}") for part in ("meshes", "materials", "scene")),
                    *(("diff", f"out/named.gltf.{part}", f"out/a.obj.{part}") for part in ("meshes", "materials", "scene"))]
        for words in commands:
            self.assert_plain(self.in_terminal(*words), words)
            done = subprocess.run([HOB, *words], cwd=self.folder, capture_output=True, timeout=DEADLINE)
            self.assert_plain(done.stdout + done.stderr, words)
        self.assert_plain(self.in_terminal("inspect", "--json", "out/named.gltf.meshes"), "JSON in a terminal")
        parts = json.loads(subprocess.run([HOB, "inspect", "--json", "out/named.gltf.meshes"], cwd=self.folder, capture_output=True,
                                          check=True).stdout)
        self.assertEqual(EVIL[:8], parts["records"]["MDSC"][0]["name"][:8], "another program gets it as it is")
        self.assert_plain(self.hob("cook", "art", "-o", "out", "--force", "--format", "github", code=1).replace(b"\xc2\x9b", b"")
                          .replace("\u202e".encode(), b"").replace("\u2066".encode(), b""), "annotations")

    def test_a_report_can_be_read_whatever_a_name_holds(self):
        for name in ("\uffff.obj", "\ufffe.obj", EVIL.replace("/", "") + ".obj", "é" * 120 + "/" + "é" * 120 + "/" + "é" * 60 + "/x.obj",
                     "a" + "é" * 120 + "/" + "é" * 120 + "/" + "é" * 120 + "/x.obj"):
            self.put(name, "broken")
        for name in (b"\xff.obj", b"\xed\xa0\x80.obj"):
            pathlib.Path(self.art / os.fsdecode(name)).write_text("broken")
        report = self.folder / "report.xml"
        self.hob("cook", "art", "-o", "out", "--format", "junit", "--report", str(report), code=1)
        self.assertEqual(7, len(xml.dom.minidom.parse(str(report)).getElementsByTagName("testcase")))

    def test_a_picture_of_a_report_is_no_markup(self):
        server = self.liar()
        names = [f"art/{EVIL}.obj", "art/" + "x" * 300 + ".obj", "art/plain_é.obj"]
        outputs = lambda digit: [{"name": "meshes", "hash": digit * 64, "size": 4}]
        manifest = lambda digit: {"rev": 1, "assets": [{"asset": name, "id": f"id{i}", "outputs": outputs(digit)} for i, name in enumerate(names)]}
        evil = "\"><script>alert(1)</script>"
        server.answers |= {
            "/api/v1/revs/1/": manifest("1"), "/api/v1/revs/2/": manifest("2"),
            **{f"/api/v1/assets/id{i}/compare/picture": b"\x89PNG" for i in range(3)},
            "/api/v1/assets/": {"equal": False, "changes": [{"part": "mesh", "change": "other", "text": EVIL, "tone": evil, "name": "n"}],
                                "numbers": [{"name": evil, "tone": evil, "unit": "count", "from": 1, "to": 2}]}}
        for form in ("md", "html"):
            out = self.hob("diff", "--from", "1", "--to", "2", "--format", form, "--pictures", f"pictures-{form}", "--url", server.url,
                           code=1).decode()
            found = re.findall(r"\]\(<([^>]*)>\)" if form == "md" else r'src="([^"]*)"', out)
            self.assertEqual(3, len(found), out)
            for picture in found:
                self.assertRegex(picture, r"^pictures-\w+/[\w.\-\uffff]+\.png$")
                self.assertTrue((self.folder / picture).exists(), picture)
            self.assertIn(f"pictures-{form}/art_plain_é.obj.png", found)
            self.assertNotIn("<script", out)
            self.assertNotIn("](<`", out)
        self.assertEqual(3, len(list((self.folder / "pictures-md").iterdir())))

    def test_a_report_says_that_a_version_changed_an_asset(self):
        server = self.liar()
        server.answers |= {
            "/api/v1/assets?path=": {"items": [{"id": "7"}]},
            "/api/v1/assets/7/compare": {"equal": False, "changes": [{"text": "5 levels, was 6", "tone": "note"}], "numbers": []}}
        cooked, importer = ({"setting": name, "from": 29, "to": 30, "origin": "hob"} for name in ("cook_version", "importer_version"))
        art = {"input": "art/a.obj", "use": "", "from": "00", "to": "11"}
        setting = {"setting": "lods.max", "from": 4, "to": 8, "origin": "hob"}
        line = "by another version of Hob, not by its files: cook_version 29 -> 30"
        for changed, said in (([cooked], line), ([cooked, importer], line + ", importer_version 29 -> 30"), ([cooked, art], None),
                              ([cooked, setting], None), ([], None)):
            server.answers["/api/v1/assets/7/why"] = {"changed": changed}
            for form in ("text", "md", "html", "json"):
                for asset in ("art/a.obj", "art/a.obj@3"):
                    out = self.hob("diff", asset, "--format", form, "--url", server.url, code=1).decode()
                    self.assertIn("5 levels, was 6", out)
                    told = "cook_version 29 -" in out.replace("&gt;", ">").replace("\\", "")
                    self.assertEqual(told, said is not None, out)
                    self.assertTrue(form != "text" or not said or said in out, out)
        server.answers["/api/v1/assets/7/why"] = {"changed": [{"setting": "cook_version", "from": EVIL, "to": EVIL}]}
        self.assertNotIn("<script", self.hob("diff", "art/a.obj", "--format", "html", "--url", server.url, code=1).decode())


if __name__ == "__main__":
    main()
