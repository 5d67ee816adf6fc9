"""A cache with an upstream: asked before a cook, given results, never trusted, and never waited for."""
import hashlib
import http.client
import http.server
import json
import os
import shutil
import signal
import socket
import subprocess
import threading

from farm_servers import Wire
from hobtest import DEADLINE, HOB, Daemon, Scenario, main, meshes, obj_text, png, record_text, until


class Proxy:
    """A proxy before a daemon. change(method, path, status, body) -> the body to send; (body, length) announces another
    length."""

    def __init__(self, port, change):
        self.asked = []
        proxy = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def forward(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                proxy.asked.append((self.command, self.path))
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE)
                headers = {name: value for name, value in self.headers.items() if name.lower() not in ("host", "connection")}
                connection.request(self.command, self.path, body=body or None, headers=headers)
                answer = connection.getresponse()
                data = answer.read()
                connection.close()
                sent = change(self.command, self.path, answer.status, data)
                data, length = sent if isinstance(sent, tuple) else (sent, len(sent))
                self.send_response(answer.status)
                self.send_header("Content-Type", answer.headers.get("Content-Type", "text/plain"))
                self.send_header("Content-Length", str(length))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(data)
                self.close_connection = self.close_connection or length != len(data)

            do_GET = do_HEAD = do_POST = do_PUT = forward

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def records(lines):
    return [json.loads(line) for line in lines.decode().splitlines()]


class Upstream(Scenario):
    def models(self, count=4):
        self.put("tex/a.png", png(255, 0, 0))
        for i in range(count):
            self.put(f"d{i % 2}/m{i}.mtl", f"newmtl m\nKd 1 1 {i}\nmap_Kd ../tex/a.png\n")
            self.put(f"d{i % 2}/m{i}.obj", obj_text(10 + i, mtl=f"m{i}.mtl"))

    def url(self, daemon):
        return f"http://127.0.0.1:{daemon.port}"

    def below(self, url, name="below", *options, **more):
        return Daemon([self.art], self.folder / name, "--upstream", url, *options, **more)

    def facts(self, daemon):
        return daemon.get("/api/v1/stats").json()["upstream"]

    def given(self, daemon):
        return until(lambda: (facts := self.facts(daemon))["outbox"] == 0 and facts, "an empty outbox")

    def why(self, daemon, name):
        return daemon.get(f"/api/v1/assets/{daemon.assets()[name]['id']}/why").json()

    def cook(self, *arguments, code=0, **environment):
        report = self.folder / "report.json"
        done = subprocess.run([HOB, "cook", *map(str, arguments), "--report", report], capture_output=True, text=True,
                              timeout=DEADLINE, cwd=self.folder, env=dict(os.environ, **environment), check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        counts = json.loads(report.read_text())
        return (counts["cooked"], counts["cached"], counts["failed"]), done.stderr

    def test_a_file_that_changes_during_the_download_counts(self):
        """The record was found by the file's earlier bytes, when no asset depended on the file yet: its event must count."""
        self.put("m.mtl", "newmtl m\nKd 1 0 0\n")
        self.put("m.obj", obj_text(4, mtl="m.mtl"))
        started, saved = threading.Event(), []

        def change(_, path, status, body):
            if path.startswith("/blobs/") and not saved:
                saved.append(path)
                started.wait(DEADLINE)
                self.put("m.mtl", "newmtl m\nKd 0 0.25 1\n")
                self.put("mark.obj", obj_text(2))
                until(lambda: "art/mark.obj" in second.assets(), "the event of the newer file")
            return body

        with self.serve() as first, Proxy(first.port, change) as proxy:
            first.sync()
            before = first.blob("art/m.obj", "materials")
            with self.below(proxy.url) as second:
                started.set()
                second.sync()
                first.sync()
                self.assertEqual((len(saved), second.blob("art/m.obj", "materials")), (1, first.blob("art/m.obj", "materials")))
                self.assertNotEqual(first.blob("art/m.obj", "materials"), before)

    def test_a_second_machine_cooks_nothing(self):
        self.models()
        with self.serve() as first:
            first.sync()
            mine = meshes(first)
            with self.below(self.url(first)) as second:
                second.sync()
                self.assertEqual((second.cooked(), meshes(second)), (0, mine))
                facts = self.facts(second)
                self.assertEqual((facts["state"], facts["asked"], facts["found"], facts["fetched"], facts["refused"]), ("up", 4, 4, 4, 0))
                for name in mine:
                    for output in ("scene", "materials", "textures/0"):
                        self.assertEqual(first.blob(name, output), second.blob(name, output))
                why = self.why(second, "art/d0/m0.obj")
                self.assertEqual((why["verdict"], why["fetched_from"]), ("fetched", self.url(first)))
                said = subprocess.run([HOB, "why", "art/d0/m0.obj", "--url", self.url(second)], capture_output=True, text=True, check=True)
                self.assertIn(f"from      the upstream {self.url(first)}", said.stdout)
                self.assertIsNone(self.why(first, "art/d0/m0.obj")["fetched_from"])
                counters = second.counters()
                self.assertEqual(counters['hob_cache_requests_total{tier="upstream",result="hit"}'], 4)
                self.assertEqual(counters["hob_upstream_up"], 1)
            # The results are its own now: it serves the same without the upstream.
            with Daemon([self.art], self.folder / "below") as alone:
                alone.sync()
                self.assertEqual((alone.cooked(), meshes(alone)), (0, mine))

    def test_names_that_are_no_text_travel(self):
        """A library whose name is not UTF-8: the record has its bytes, another cache accepts it, and a bundle cooks to the same
        result."""
        library = b"m\xff.mtl"
        (self.art / os.fsdecode(library)).write_text("newmtl m\nKd 1 0 0\n")
        (self.art / "a.obj").write_bytes(obj_text(3, mtl="LIBRARY").encode().replace(b"LIBRARY", library))
        with self.serve() as first:
            first.sync()
            key = first.get(f"/api/v1/assets/{first.assets()['art/a.obj']['id']}").json()["record"]
            record = first.get(f"/records/{key}")
            self.assertIn({"hex": library.hex()}, [dep["path"] for dep in record.json()["deps"]])
            self.assertEqual(first.request("PUT", f"/records/{key}", record.body.decode()).status, 200)
            with self.below(self.url(first)) as second:
                second.sync()
                self.assertEqual((second.cooked(), meshes(second)), (0, meshes(first)))
                self.assertEqual((self.facts(second)["fetched"], self.facts(second)["refused"]), (1, 0))
            bundle = self.folder / "a.tar"
            subprocess.run([HOB, "bundle", "art/a.obj", "-o", bundle, "--url", self.url(first)], check=True, timeout=DEADLINE)
        self.assertIn("the same: all", subprocess.run([HOB, "bundle", "replay", bundle], capture_output=True, text=True, check=True, timeout=DEADLINE).stdout)

    def test_only_what_fits_is_taken(self):
        """A result is taken only if its inputs match: the same model beside another texture is cooked."""
        self.models(1)
        with self.serve() as first:
            first.sync()
            copy = self.folder / "copy/art"
            shutil.copytree(self.art, copy)
            (copy / "tex/a.png").write_bytes(png(0, 255, 0))
            with Daemon([copy], self.folder / "below", "--upstream", self.url(first)) as second:
                second.sync()
                self.assertEqual(second.cooked(), 1)
                facts = self.given(second)
                self.assertEqual((facts["found"], facts["fetched"], facts["pushed"]), (1, 0, 1))
            # The upstream now has both.
            with Daemon([copy], self.folder / "third", "--upstream", self.url(first)) as third:
                third.sync()
                self.assertEqual(third.cooked(), 0)

    def test_what_is_cooked_is_given(self):
        (self.folder / "nothing").mkdir()
        with Daemon([self.folder / "nothing"], self.cache) as shared:
            self.models()
            with self.below(self.url(shared), "one") as one:
                one.sync()
                self.assertEqual(one.cooked(), 4)
                self.assertEqual((self.given(one)["pushed"], self.facts(one)["push"]), (4, True))
                with self.below(self.url(shared), "two", "--push", "never") as two:
                    two.sync()
                    self.assertEqual((two.cooked(), meshes(two)), (0, meshes(one)))
                    self.put("d0/new.obj", obj_text(77))
                    two.sync()
                    one.sync()
                    self.assertEqual(self.facts(two)["push"], False)
                self.assertEqual(list((self.folder / "two/outbox").iterdir()), [])

    def token(self, name, *options):
        said = subprocess.run([HOB, "token", "create", name, "--token-file", self.folder / "tokens", *options], capture_output=True, text=True, check=True)
        word = next(word for word in said.stdout.split() if len(word) > 30)
        (self.folder / name).write_text(word + "\n")
        return self.folder / name

    def test_a_token_for_reading_only(self):
        reader, writer = self.token("reader"), self.token("writer", "--write")
        (self.folder / "nothing").mkdir()
        self.models()
        shared = Daemon([self.folder / "nothing"], self.cache, "--token-file", self.folder / "tokens", wait_ready=False)
        shared.wait_banner()
        with shared:
            url = self.url(shared)
            self.assertEqual(self.cook(self.art, "-o", "a", "--upstream", url, "--upstream-token-file", reader)[0], (4, 0, 0))
            with self.below(url, "one", "--upstream-token-file", str(reader)) as one:
                one.sync()
                self.assertEqual(one.cooked(), 4)
                facts = until(lambda: not (facts := self.facts(one))["push"] and facts, "the end of giving")
                self.assertEqual((facts["state"], facts["pushed"], facts["outbox"]), ("up", 0, 0))
            self.assertEqual(self.cook(self.art, "-o", "b", "--upstream", url, HOB_UPSTREAM_TOKEN=writer.read_text().strip())[0], (4, 0, 0))
            self.assertEqual(self.cook(self.art, "-o", "c", "--upstream", url, "--upstream-token-file", reader)[0], (0, 4, 0))
            counts, said = self.cook(self.art, "-o", "d", "--upstream", url)
            self.assertEqual(counts, (4, 0, 0))
            self.assertIn("asks for a token", said)
            with self.below(url, "two") as two:
                two.sync()
                self.assertEqual((self.facts(two)["state"], two.get("/readyz").status), ("barred", 200))
                config = two.get("/api/v1/config").body.decode()
                self.assertIn("upstream", config)
            with self.below(url, "three", "--upstream-token-file", str(reader)) as three:
                self.assertNotIn(reader.read_text().strip(), three.get("/api/v1/config").body.decode())

    def doctor(self, **environment):
        said = subprocess.run([HOB, "doctor", self.art, "--json", "--cache", self.folder / "nowhere"], capture_output=True, text=True,
                              cwd=self.folder, env=dict(os.environ, **environment), check=False)
        return next(((item["state"], item["text"]) for item in json.loads(said.stdout)["checks"] if item["name"] == "upstream"), None)

    def test_other_ways_to_it(self):
        """https:// with its own certificate; hob doctor tests it."""
        self.models(2)
        certificate, key = str(self.folder / "cert.pem"), str(self.folder / "key.pem")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
                        "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", key, "-out", certificate],
                       capture_output=True, check=True)
        token = self.token("writer", "--write")
        top = Daemon([self.art], self.cache, "--tls-cert", certificate, "--tls-key", key, "--token-file", self.folder / "tokens",
                     wait_ready=False)
        with top:
            top.wait_banner()
            secure = f"https://localhost:{top.port}"
            shown = {"HOB_UPSTREAM_TOKEN_FILE": str(token), "HOB_CACERT": certificate}
            # Without TLS, top's own interface refuses requests here: it is ready once a run finds all.
            def found(url, **environment):
                return self.cook(self.art, "-o", "out", "--upstream", url, **environment)

            until(lambda: found(secure, **shown)[0] == (0, 2, 0), "all results over TLS")
            counts, said = found(secure, HOB_UPSTREAM_TOKEN_FILE=str(token))
            self.assertEqual(counts, (2, 0, 0))
            self.assertIn("is not trusted", said)
            self.assertEqual(self.doctor(HOB_UPSTREAM=secure, **shown)[0], "ok")
            self.assertIn("token", self.doctor(HOB_UPSTREAM=secure, HOB_CACERT=certificate)[1])
            self.assertEqual(self.doctor(HOB_UPSTREAM="127.0.0.1:1")[0], "warn")
            self.assertIsNone(self.doctor())

    def test_hob_cook_shares(self):
        (self.folder / "nothing").mkdir()
        self.models()
        place = f"unix:{self.folder}/hob.sock"
        with Daemon([self.folder / "nothing"], self.cache, listen=f"127.0.0.1:0,{place}") as shared:
            url = self.url(shared)
            self.assertEqual(self.cook(self.art, "-o", "one", "--upstream", url)[0], (4, 0, 0))
            counts, said = self.cook(self.art, "-o", "two", "--upstream", url)
            self.assertEqual(counts, (0, 4, 0))
            self.assertIn("0 cooked, 4 from the upstream, 0 failed", said)
            self.assertEqual(self.cook(self.art, "-o", "two", "--upstream", url, "--force")[0], (4, 0, 0))
            self.assertEqual(self.cook(self.art, "-o", "two", "--upstream", place)[0], (0, 4, 0))
            for file in sorted((self.folder / "one").rglob("*")):
                if file.is_file() and not file.name.endswith("report.json"):
                    self.assertEqual(file.read_bytes(), (self.folder / "two" / file.relative_to(self.folder / "one")).read_bytes(), file)
            # A build machine without write access to shared results, unless it declares that it is one.
            self.put("d0/more.obj", obj_text(99))
            for ci, cooked in (("", 1), ("", 1), ("true", 1), ("", 0)):
                self.assertEqual(self.cook(self.art, "-o", "three", "--upstream", url, "--push", "ci", CI=ci)[0][0], cooked)
        counts, said = self.cook(self.art, "-o", "four", "--upstream", url, "--cache", "kept")
        self.assertEqual(counts, (5, 0, 0))
        self.assertIn("5 results could not be given to it, the next run tries again", said)
        self.assertEqual(len(list((self.folder / "kept/outbox").iterdir())), 5)

    def test_nothing_that_comes_is_believed(self):
        self.models(2)
        with self.serve() as first:
            first.sync()
            mine = meshes(first)
            foreign = first.blob("art/d1/m1.obj", "scene")

            def swap(lines, one):
                return "".join(record_text(record, **one(record)) for record in records(lines)).encode()

            def wrong_bytes(method, path, status, body):
                return bytes(len(body)) if method == "GET" and path.startswith("/blobs/") else body

            def foreign_meshes(method, path, status, body):
                other = {"name": "meshes", "sha256": hashlib.sha256(foreign).hexdigest(), "size": len(foreign)}
                return body if path != "/records:batch" else swap(body, lambda record: {"outputs": [
                    other if output["name"] == "meshes" else output for output in record["outputs"]]})

            def other_key(method, path, status, body):
                return swap(body, lambda record: {"key": "ab" * 32}) if path == "/records:batch" else body

            def other_source(method, path, status, body):
                return swap(body, lambda record: {"source": "ab" * 32}) if path == "/records:batch" else body

            def other_settings(method, path, status, body):
                return swap(body, lambda record: {"inputs": {}}) if path == "/records:batch" else body

            def other_size(method, path, status, body):
                return swap(body, lambda record: {"outputs": [dict(output, size=2**62) for output in record["outputs"]]}) if path == "/records:batch" else body

            def sql(method, path, status, body):
                return swap(body, lambda record: {"file_name": "'; drop table record; --"}) if path == "/records:batch" else body

            def garbage(method, path, status, body):
                return os.urandom(1 << 18) + b"\n" * 5000 if path == "/records:batch" else body

            def copies(method, path, status, body):
                return body * 200 if path == "/records:batch" else body

            for number, change in enumerate((wrong_bytes, foreign_meshes, other_key, other_source, other_settings, other_size, sql, garbage, copies)):
                with self.subTest(change.__name__), Proxy(first.port, change) as proxy, self.below(proxy.url, f"below{number}", "--push", "never") as second:
                    second.sync()
                    facts = self.facts(second)
                    self.assertEqual(meshes(second), mine)
                    self.assertEqual(facts["state"], "up")
                    self.assertGreaterEqual(facts["refused"], 2)
                    cooked = {"copies": 0}.get(change.__name__, 2)
                    self.assertEqual(second.cooked(), cooked)
                    if cooked:
                        second.wait_log("was refused")

    def test_cut_in_the_middle(self):
        self.models(2)
        with self.serve() as first:
            first.sync()

            def cut(method, path, status, body):
                return (body[:len(body) // 2], len(body)) if path.startswith("/blobs/") and method == "GET" else body

            with Proxy(first.port, cut) as proxy, self.below(proxy.url) as second:
                second.sync()
                self.assertEqual((second.cooked(), meshes(second)), (2, meshes(first)))
                self.assertEqual(second.get("/readyz").status, 200)
                self.assertIn("cut off", "\n".join(second.log))

    def test_an_upstream_that_goes_and_comes_back(self):
        (self.folder / "nothing").mkdir()
        self.models()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        where = {"listen": f"127.0.0.1:{port}"}
        with self.below(f"http://127.0.0.1:{port}", "one") as one:
            one.sync()
            self.assertEqual((one.cooked(), one.get("/readyz").status), (4, 200))
            facts = self.facts(one)
            self.assertEqual((facts["state"], facts["outbox"], facts["fetched"]), ("degraded", 4, 0))
            self.assertIn("no daemon answers", facts["reason"])
            self.assertTrue(facts["since"])
            said = subprocess.run([HOB, "status", "--url", self.url(one)], capture_output=True, text=True, check=True).stdout
            self.assertIn(f"degraded since {facts['since']}", said)
            self.assertIn("4 results to give", said)
            self.assertEqual(one.counters()["hob_upstream_up"], 0)
            one.kill()  # waiting results are on disk
        with self.below(f"http://127.0.0.1:{port}", "one") as one:
            one.sync()
            self.assertEqual(one.cooked(), 0)
            with Daemon([self.folder / "nothing"], self.cache, **where) as shared:
                self.assertEqual((self.given(one)["pushed"], self.facts(one)["state"]), (4, "up"))
                with self.below(self.url(shared), "two") as two:
                    two.sync()
                    self.assertEqual((two.cooked(), meshes(two)), (0, meshes(one)))
                # Stopped: it accepts connections and does not answer.
                shared.process.send_signal(signal.SIGSTOP)
                try:
                    for number in range(6):
                        self.put("d0/m0.obj", obj_text(100 + number))
                        one.wait_asset("art/d0/m0.obj", "fresh")
                    until(lambda: self.facts(one)["state"] == "degraded", "the state 'degraded'")
                finally:
                    shared.process.send_signal(signal.SIGCONT)
                self.assertEqual(self.given(one)["state"], "up")

    def test_a_cache_above_the_cache(self):
        (self.folder / "nothing").mkdir()
        self.models()
        with self.serve() as top, Daemon([self.folder / "nothing"], self.folder / "middle", "--upstream", self.url(top)) as middle:
            top.sync()
            with self.below(self.url(middle), "one") as one:
                one.sync()
                self.assertEqual((one.cooked(), meshes(one)), (0, meshes(top)))
                self.put("d0/new.obj", obj_text(55))
                one.sync()
                self.given(one)
                mine = meshes(one)
            self.given(middle)  # results given to it are passed to the top
            answer = middle.get("/blobs/" + "ab" * 32)
            self.assertEqual(answer.status, 404)
            top.sync()
            asked = self.facts(middle)["asked"]
            with Daemon([self.art], self.folder / "direct", "--upstream", self.url(top)) as direct:
                direct.sync()
                self.assertEqual(direct.cooked(), 0)
            # The middle one now has everything, and serves it alone.
            until(lambda: middle.get("/api/v1/stats").json()["cache"]["records"] == 5, "five records in the middle")
            top.process.send_signal(signal.SIGSTOP)
            try:
                with self.below(self.url(middle), "two") as two:
                    two.sync()
                    self.assertEqual((two.cooked(), meshes(two)), (0, mine))
                self.assertEqual(self.facts(middle)["asked"], asked)
            finally:
                top.process.send_signal(signal.SIGCONT)

    def test_two_in_a_circle(self):
        self.models(1)
        ports = []
        for _ in range(2):
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                ports.append(free.getsockname()[1])
        with self.below(f"http://127.0.0.1:{ports[1]}", "one", listen=f"127.0.0.1:{ports[0]}") as one, \
                self.below(f"http://127.0.0.1:{ports[0]}", "two", listen=f"127.0.0.1:{ports[1]}") as two:
            one.sync()
            two.sync()
            numbers = iter(range(30, 1000))

            def told():
                """Whether a daemon has found the circle; one that started before its upstream asks it again after a while."""
                self.put("d0/later.obj", obj_text(next(numbers)))
                one.sync()
                two.sync()
                return "barred" in (self.facts(one)["state"], self.facts(two)["state"])

            until(told, "a circle that is told")
            self.assertEqual(meshes(one), meshes(two))
            self.assertNotIn(None, meshes(one).values())

    def test_a_circle_is_named(self):
        self.models(1)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        with self.below(f"http://127.0.0.1:{port}", listen=f"127.0.0.1:{port}") as daemon:
            daemon.sync()
            epoch = daemon.get("/api/v1").json()["epoch"]
            self.assertEqual((daemon.cooked(), self.facts(daemon)["state"]), (1, "barred"))
            self.assertIn("in a circle", self.facts(daemon)["reason"])
            self.assertIn(epoch, self.facts(daemon)["reason"])

    def test_a_circle_through_a_proxy(self):
        """An upstream that leads back to the daemon through a proxy, which has another address and forwards all requests."""
        self.models(1)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        wire = Wire(port)
        self.addCleanup(wire.stop)
        with self.below(f"http://127.0.0.1:{wire.port}", listen=f"127.0.0.1:{port}") as daemon:
            daemon.sync()
            self.assertEqual((daemon.cooked(), self.facts(daemon)["state"]), (1, "barred"))
            self.assertIn("in a circle", self.facts(daemon)["reason"])


if __name__ == "__main__":
    main()
