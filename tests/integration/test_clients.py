"""The C and the Python client against a real daemon: fetch, reload on save, restart, damage, unreachable daemon, deltas."""
import http.client
import http.server
import os
import pathlib
import queue
import subprocess
import sys
import threading
import unittest

from hobtest import DEADLINE, HOB, PROJECT, Scenario, main, obj_text

sys.path.insert(0, str(PROJECT / "web/python"))
import hob  # noqa: E402

FETCH = os.environ.get("HOB_FETCH", str(pathlib.Path(HOB).parent / "hob_fetch"))
OK, NET, NOT_FOUND, HASH = 0, 3, 6, 9
needs_fetch = unittest.skipUnless(os.path.exists(FETCH), "hob_fetch is built with the tests only")


def scene_text(meshes, moved=None):
    """An OBJ of separate grids; the one named `moved` is a little higher."""
    lines, side, first = [], 24, 1
    for m in range(meshes):
        lines.append(f"o part{m}")
        for y in range(side):
            for x in range(side):
                z = ((x * 7 + y * 3 + m) % 11) / 40 + (0.25 if m == moved and x == 5 and y == 5 else 0)
                lines.append(f"v {m * 30 + x} {y} {z}")
        for y in range(side - 1):
            for x in range(side - 1):
                a = first + y * side + x
                lines.append(f"f {a} {a + 1} {a + side + 1} {a + side}")
        first += side * side
    return "\n".join(lines) + "\n"


def without(text, mesh):
    """The same scene without one object's faces."""
    lines, inside = [], False
    for line in text.splitlines():
        inside = line == f"o part{mesh}" if line.startswith("o ") else inside
        if not (inside and line.startswith("f ")):
            lines.append(line)
    return "\n".join(lines) + "\n"


class Fetch:
    """A sample (default: hob_fetch) as a child; a thread reads its lines."""

    def __init__(self, port, asset, output, *options, program=(FETCH,), scheme="http", env=()):
        self.process = subprocess.Popen([*program, f"{scheme}://localhost:{port}", asset, output, *options],
                                        env={**os.environ, **dict(env)}, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        self.lines = queue.Queue()
        self.passed = []
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line.split())
        self.lines.put(None)

    def wait(self, *words, also=lambda line: True):
        """The next line that begins with these words; others are kept for later."""
        def fits(line):
            return tuple(line[:len(words)]) == words and also(line)

        for i, line in enumerate(self.passed):
            if fits(line):
                return self.passed.pop(i)
        while True:
            line = self.lines.get(timeout=DEADLINE)
            if line is None:
                raise AssertionError("the sample ended: " + self.process.stderr.read())
            if fits(line):
                return line
            self.passed.append(line)

    def end(self):
        self.process.stdin.close()
        code = self.process.wait(timeout=DEADLINE)
        errors = self.process.stderr.read()
        self.process.stdout.close()
        self.process.stderr.close()
        assert not any(sign in errors for sign in ("ERROR", "runtime error", "ThreadSanitizer")), errors
        return code


@needs_fetch
class CClient(Scenario):
    def test_fetches_and_reloads_on_save(self):
        self.put("a.obj", obj_text(3))
        with self.serve() as daemon:
            daemon.sync()
            fetch = Fetch(daemon.port, "art/a.obj", "meshes", "--watch")
            first = fetch.wait("blob")
            fetch.wait("event", "hello")
            self.put("a.obj", obj_text(9))
            second = fetch.wait("blob", also=lambda line: line[1] != first[1])
            daemon.sync()
            self.assertEqual(int(second[2]), len(daemon.blob("art/a.obj")))
            self.assertEqual(fetch.end(), 0)

    def test_survives_a_restart_of_the_daemon(self):
        self.put("a.obj", obj_text(3))
        with self.serve() as daemon:
            daemon.sync()
            port = daemon.port
            fetch = Fetch(port, "art/a.obj", "meshes", "--watch")
            first = fetch.wait("blob")
            fetch.wait("event", "hello")
        with self.serve("--listen", f"127.0.0.1:{port}") as daemon:
            daemon.sync()
            fetch.wait("event", "hello")
            self.put("a.obj", obj_text(9))
            fetch.wait("blob", also=lambda line: line[1] != first[1])
            self.assertEqual(fetch.end(), 0)

    def test_cached_blobs_are_served_while_the_daemon_is_away(self):
        self.put("a.obj", obj_text(3))
        kept = self.folder / "kept"
        kept.mkdir()
        with self.serve() as daemon:
            daemon.sync()
            port = daemon.port
            first = Fetch(port, "art/a.obj", "meshes", "--cache", str(kept))
            line = first.wait("blob")
            self.assertEqual(line[5:], ["fresh", "network"])
            self.assertEqual(first.end(), 0)
            again = Fetch(port, "art/a.obj", "meshes", "--cache", str(kept))
            self.assertEqual(again.wait("blob", line[1])[3:], ["fetched", "0", "fresh", "cache"])
            again.end()
        away = Fetch(port, "art/a.obj", "meshes", "--cache", str(kept))
        self.assertEqual(away.wait("blob", line[1])[5:], ["stale", "cache"])
        self.assertEqual(away.end(), 0)
        (kept / line[1]).write_bytes(b"\0" + (kept / line[1]).read_bytes()[1:])
        damaged = Fetch(port, "art/a.obj", "meshes", "--cache", str(kept))
        self.assertEqual(int(damaged.wait("error")[1]), NET)
        damaged.end()

    def test_over_tls_with_a_token_and_a_certificate_that_is_checked(self):
        if b"curl_multi_init" not in pathlib.Path(FETCH).read_bytes():
            self.skipTest("hob_fetch was built without libcurl (apt-get install libcurl4-openssl-dev)")
        certificate, key, tokens = (str(self.folder / name) for name in ("cert.pem", "key.pem", "tokens"))
        made = subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                               "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
                               "-keyout", key, "-out", certificate], capture_output=True, check=False)
        if made.returncode != 0:
            self.skipTest("there is no openssl to make a certificate")
        made = subprocess.run([HOB, "token", "create", "tls", "--token-file", tokens], capture_output=True, text=True, check=True)
        secret = {"HOB_TOKEN": made.stdout.split()[-1], "HOB_CA_FILE": certificate}
        self.put("a.obj", scene_text(4))
        with self.serve("--tls-cert", certificate, "--tls-key", key, "--token-file", tokens, wait_ready=False) as daemon:
            daemon.wait_banner()
            fetch = Fetch(daemon.port, "art/a.obj", "meshes", "--watch", scheme="https", env=secret)
            fetch.wait("event", "hello")
            first = fetch.wait("blob")
            self.put("a.obj", scene_text(5))
            second = fetch.wait("blob", also=lambda line: line[1] != first[1])
            self.assertGreater(int(second[2]), 65536)
            self.assertEqual(fetch.end(), 0)
            for wrong in (dict(secret, HOB_CA_FILE="/dev/null"), dict(secret, HOB_TOKEN="no such token")):
                fetch = Fetch(daemon.port, "art/a.obj", "meshes", scheme="https", env=wrong)
                fetch.wait("error")
                self.assertEqual(fetch.end(), 1)
            ask = [sys.executable, "-c", f"import hob; print(len(hob.Client('https://localhost:{daemon.port}').get('art/a.obj')))"]
            own = dict(os.environ, HOB_TOKEN=secret["HOB_TOKEN"], PYTHONPATH=str(PROJECT / "web/python"))
            trusting = subprocess.run(ask, env=dict(own, SSL_CERT_FILE=certificate), capture_output=True, text=True, check=True)
            self.assertGreater(int(trusting.stdout), 65536)
            doubting = subprocess.run(ask, env=own, capture_output=True, text=True, check=False)
            self.assertIn("set SSL_CERT_FILE", doubting.stderr)

    def test_unknown_asset_is_an_error_with_words(self):
        with self.serve() as daemon:
            fetch = Fetch(daemon.port, "art/none.obj", "meshes")
            self.assertEqual(int(fetch.wait("error")[1]), NOT_FOUND)
            self.assertEqual(fetch.end(), 1)

    def test_delta_fetches_only_what_changed(self):
        text = scene_text(100)
        # Without a listener there are no previews in between.
        with self.serve(wait_ready=False) as daemon:
            daemon.wait_banner()

            def cook(save):
                self.put("scene.obj", save)
                daemon.sync()
                outputs = daemon.get("/api/v1/assets/" + daemon.assets()["art/scene.obj"]["id"]).json()["outputs"]
                return next((o["hash"], o["size"]) for o in outputs if o["name"] == "meshes")

            def delta(name, old, new, *between):
                fetch = Fetch(daemon.port, "art/scene.obj", "meshes", "--delta", old[0], *(b[0] for b in between), new[0])
                self.assertEqual(int(fetch.wait("blob", old[0])[4]), old[1])
                line = fetch.wait("blob", new[0])
                self.assertEqual(fetch.end(), 0)
                self.assertEqual(int(line[2]), new[1])
                sys.stderr.write(f"delta: {line[4]} of {new[1]} bytes after {name}\n")
                return int(line[4]) / new[1]

            first, renamed = cook(text), cook(text.replace("o part40\n", "o renamed\n"))
            self.assertLess(delta("one mesh of 100 has another name", first, renamed), 0.05)
            self.assertLess(delta("one mesh of 100 moved a vertex", first, cook(scene_text(100, moved=40))), 0.05)
            self.assertLess(delta("a mesh is gone from the middle", first, cook(without(text, 40))), 0.12)
            self.assertLess(delta("another came at the end", first, cook(scene_text(101))), 0.12)
            self.assertLess(delta("nothing in common", first, cook(obj_text(9))), 2)
            # A client with several older files, such as a preview and the last final one, uses bytes of each.
            text = scene_text(16)
            even, odd = text, text
            for i in range(16):
                even, odd = (without(t, i) if i % 2 == keep else t for t, keep in ((even, 1), (odd, 0)))
            first, even, odd = cook(text), cook(even), cook(odd)
            self.assertGreater(delta("half of the meshes were there", even, first), 0.15)
            self.assertLess(delta("each half was there in another file", even, first, odd), 0.1)



class Flipper:
    """A proxy that forwards everything, including streams; with `flips` set, it changes one byte of each blob answer."""

    def __init__(self, port):
        flipper, self.flips = self, False

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                onward = http.client.HTTPConnection("127.0.0.1", port(), timeout=DEADLINE)
                try:
                    headers = {key: value for key, value in self.headers.items() if key.lower() not in ("host", "connection")}
                    onward.request("GET", self.path, headers=headers)
                    answer = onward.getresponse()
                    stream = self.path.startswith("/api/v1/events")
                    self.send_response(answer.status)
                    for key, value in answer.getheaders():
                        if key.lower() not in ("transfer-encoding", "connection", "date"):
                            self.send_header(key, value)
                    if stream:
                        self.send_header("Transfer-Encoding", "chunked")
                        self.end_headers()
                        while piece := answer.read1(65536):
                            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                        self.close_connection = True
                        return
                    body = bytearray(answer.read())
                    if flipper.flips and self.path.startswith("/blobs/") and body:
                        body[len(body) // 2] ^= 1
                    self.end_headers()
                    self.wfile.write(body)
                except (OSError, http.client.HTTPException):
                    self.close_connection = True
                finally:
                    onward.close()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


class Sample:
    """For every sample: saves arrive as deltas, through restarts; damage is rejected."""

    def test_reloads_deltas_restarts_and_flipped_bytes(self):
        self.put("cook.json", '{"lods":{"max":1},"meshlets":false}')
        self.put("scene.obj", scene_text(40))
        flipper = Flipper(lambda: daemon.port)
        self.addCleanup(flipper.stop)

        def current():
            daemon.sync()
            asset = daemon.get("/api/v1/assets/" + daemon.assets()["art/scene.obj"]["id"]).json()
            self.assertEqual((asset["state"], asset["quality"]), ("fresh", "final"))
            return next(o["hash"] for o in asset["outputs"] if o["name"] == "meshes")

        with self.serve() as daemon:
            daemon.sync()
            port = daemon.port
            sample = self.start(flipper.port)
            sample.wait("event", "hello")
            sample.wait("blob", current())
            self.put("scene.obj", scene_text(40, moved=20))
            line = sample.wait("blob", current())
            self.assertLess(int(line[4]), int(line[2]) / 8)
            sys.stderr.write(f"{type(self).__name__}: {line[4]} of {line[2]} bytes after one mesh of 40 moved\n")
        self.put("scene.obj", scene_text(40, moved=21))
        with self.serve("--listen", f"127.0.0.1:{port}") as daemon:
            sample.wait("event", "hello")
            now = current()
            sample.wait("blob", now)
            flipper.flips = True
            self.put("scene.obj", scene_text(40, moved=22))
            damaged = current()
            self.assertIn("hash", " ".join(sample.wait("error", also=lambda line: damaged[:12] in " ".join(line))))
            flipper.flips = False
            self.put("scene.obj", scene_text(40, moved=23))
            fresh = current()
            sample.wait("blob", fresh)
            self.assertNotIn(damaged, [line[1] for line in sample.passed if line[0] == "blob"])
            self.check_result(daemon.blob("art/scene.obj"))
            self.assertEqual(sample.end(), 0)


@needs_fetch
class CSample(Sample, Scenario):
    def start(self, port):
        return Fetch(port, "art/scene.obj", "meshes", "--watch")

    def check_result(self, blob):
        pass


class PythonSample(Sample, Scenario):
    def start(self, port):
        self.files = {name: self.folder / name for name in ("meshes", "scene")}
        return Fetch(port, "art/scene.obj", *[f"{name}={file}" for name, file in self.files.items()],
                     program=[sys.executable, str(PROJECT / "web/python/live.py")])

    def check_result(self, blob):
        self.assertEqual(self.files["meshes"].read_bytes(), blob)


class FlippedByte(Scenario):
    """A proxy that changes one byte of each blob: no client may accept it."""

    def proxy(self, daemon):
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                answer = daemon.get(self.path)
                body = bytearray(answer.body)
                body[len(body) // 2] ^= 1
                self.send_response(answer.status)
                self.send_header("ETag", answer.headers.get("etag", ""))
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return server.server_address[1]

    def test_is_refused(self):
        self.put("a.obj", obj_text(3))
        with self.serve() as daemon:
            daemon.sync()
            port = self.proxy(daemon)
            with hob.Client(f"http://127.0.0.1:{port}") as client:
                self.assertRaises(hob.BadBytes, client.get, "art/a.obj")
            if os.path.exists(FETCH):
                fetch = Fetch(port, "art/a.obj", "meshes")
                self.assertEqual(int(fetch.wait("error")[1]), HASH)
                self.assertEqual(fetch.end(), 1)


class PythonClient(Scenario):
    def test_lists_fetches_and_tells_errors_apart(self):
        self.put("a.obj", obj_text(3))
        self.put("bad.obj", "v 1\nf 1 2 3\n")
        with self.serve() as daemon, hob.Client(f"http://127.0.0.1:{daemon.port}") as client:
            self.assertEqual(client.sync()["failed"], ["art/bad.obj"])
            self.assertEqual(client.sync(roots=["art"])["failed"], ["art/bad.obj"])
            with self.assertRaises(hob.Error) as unknown:
                client.sync(roots=["none"])
            self.assertIn("no root 'none'", str(unknown.exception))
            self.assertEqual({a["name"] for a in client.assets()}, {"art/a.obj", "art/bad.obj"})
            blob = client.get("art/a.obj", "meshes", wait=5)
            self.assertEqual(bytes(blob), daemon.blob("art/a.obj"))
            self.assertEqual(client.blob(blob.hash), blob)
            self.assertFalse(blob.stale)
            with self.assertRaises(hob.NotFound) as missing:
                client.get("art/none.obj")
            self.assertTrue(missing.exception.hint)
            self.assertRaises(hob.CookFailed, client.get, "art/bad.obj")
        self.assertRaises(hob.Unreachable, lambda: list(client.assets()))

    def test_events_go_on_after_a_restart(self):
        self.put("a.obj", obj_text(3))
        with self.serve() as daemon:
            daemon.sync()
            port = daemon.port
            events = hob.Client(f"http://127.0.0.1:{port}").watch("*.obj")
            self.assertEqual(next(events).kind, "hello")
            self.put("a.obj", obj_text(5))
            seen = next(e for e in events if e.data.get("state") == "fresh")
            self.assertEqual(seen.data["asset"], "art/a.obj")
        with self.serve("--listen", f"127.0.0.1:{port}"):
            self.assertIn(next(e for e in events if e.kind == "hello").kind, "hello")
            self.put("a.obj", obj_text(7))
            fresh = next(e for e in events if e.data.get("state") == "fresh" and e.data["rev"] > seen.data["rev"])
            self.assertEqual(fresh.data["asset"], "art/a.obj")
            events.close()


if __name__ == "__main__":
    main()
