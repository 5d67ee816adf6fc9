"""Third-party clients against the running daemon: curl, wget, Python's urllib, Prometheus, nginx as a proxy."""
import hashlib
import http.client
import json
import os
import shutil
import socket
import subprocess
import threading
import time
import unittest
import urllib.request

from hobtest import DEADLINE, Scenario, main, obj_text


# /usr/sbin is not in every user's path.
os.environ["PATH"] += os.pathsep + "/usr/sbin"


def needs(program):
    return unittest.skipUnless(shutil.which(program), f"there is no {program}")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def until(true, process=None):
    """Polls until it is true; third-party programs do not announce that they have started."""
    end, pause = time.monotonic() + DEADLINE, threading.Event()
    while time.monotonic() < end:
        if process and process.poll() is not None:
            raise AssertionError(f"{process.args[0]} ended with {process.returncode}")
        try:
            found = true()
            if found:
                return found
        except OSError:
            pass
        pause.wait(0.05)
    raise AssertionError("it did not come about in time")


class Peers(Scenario):
    def setUp(self):
        super().setUp()
        self.put("duck.obj", obj_text(8000))

    def cooked(self, daemon):
        daemon.sync()
        self.base = f"http://127.0.0.1:{daemon.port}"
        self.whole = daemon.blob("art/duck.obj")
        self.sha = hashlib.sha256(self.whole).hexdigest()
        self.assertGreater(len(self.whole), 100000, "large enough to be sent in parts")

    def run_quietly(self, *words):
        done = subprocess.run(words, capture_output=True, timeout=DEADLINE)
        self.assertEqual(done.returncode, 0, (words, done.stdout, done.stderr))
        return done.stdout

    @needs("curl")
    def test_curl(self):
        with self.serve() as daemon:
            self.cooked(daemon)
            blob, name = f"{self.base}/blobs/{self.sha}", f"{self.base}/a/art/duck.obj"
            for text, wanted in (("0-99", self.whole[:100]), ("-10", self.whole[-10:]), ("99999-", self.whole[99999:]),
                                 ("5-5", self.whole[5:6])):
                self.assertEqual(self.run_quietly("curl", "-sf", "-r", text, blob), wanted, text)
                self.assertEqual(self.run_quietly("curl", "-sf", "-r", text, name), wanted, text)
            target = self.folder / "part"
            target.write_bytes(self.whole[:70001])
            self.run_quietly("curl", "-sf", "-C", "-", "-o", str(target), blob)
            self.assertEqual(target.read_bytes(), self.whole)
            self.assertEqual(self.run_quietly("curl", "-sfL", name + "?redirect=1"), self.whole)
            tag = self.folder / "tag"
            for wanted in (b"200", b"304"):
                code = self.run_quietly("curl", "-s", "-o", os.devnull, "-w", "%{http_code}", "--etag-compare", str(tag),
                                        "--etag-save", str(tag), name)
                self.assertEqual(code, wanted)
            head = self.run_quietly("curl", "-sfI", blob).decode().lower()
            self.assertIn(f"content-length: {len(self.whole)}", head)
            self.assertIn("immutable", head)
            both = self.run_quietly("curl", "-sf", blob, blob, "-w", "%{num_connects} ", "-o", str(target), "-o", os.devnull)
            self.assertEqual(both.split(), [b"1", b"0"], "the second one goes over the same connection")
            answer = self.run_quietly("curl", "-s", "-X", "POST", "-H", "Expect: 100-continue", "--json",
                                      '{"timeout_ms": 60000}', self.base + "/api/v1/sync")
            self.assertIn("rev", json.loads(answer))

    @needs("wget")
    def test_wget_resumes(self):
        with self.serve() as daemon:
            self.cooked(daemon)
            (self.folder / self.sha).write_bytes(self.whole[:54321])
            self.run_quietly("wget", "-q", "-c", "-P", str(self.folder), f"{self.base}/blobs/{self.sha}")
            self.assertEqual((self.folder / self.sha).read_bytes(), self.whole)
            again = subprocess.run(["wget", "-c", "-P", str(self.folder), f"{self.base}/blobs/{self.sha}"],
                                   capture_output=True, text=True, env=dict(os.environ, LC_ALL="C"))
            self.assertIn("416", again.stderr)
            self.assertEqual((self.folder / self.sha).read_bytes(), self.whole)

    def test_python(self):
        with self.serve() as daemon:
            self.cooked(daemon)
            with urllib.request.urlopen(f"{self.base}/a/art/duck.obj") as answer:
                self.assertEqual(answer.read(), self.whole)
            connection = http.client.HTTPConnection("127.0.0.1", daemon.port)
            first = None
            for _ in range(20):
                connection.request("GET", f"/blobs/{self.sha}", headers={"If-None-Match": f'"{"0" * 64}", "{self.sha}"'})
                answer = connection.getresponse()
                self.assertEqual((answer.status, answer.read()), (304, b""))
                first = first or connection.sock
                self.assertIs(connection.sock, first, "one connection for all")
            connection.request("POST", "/api/v1/sync", b'{"timeout_ms": 60000}', {"Content-Type": "application/json"})
            answer = connection.getresponse()
            self.assertEqual((answer.status, answer.read()[:1]), (200, b"{"))
            connection.putrequest("POST", "/api/v1/sync")
            connection.putheader("Content-Type", "application/json")
            connection.putheader("Transfer-Encoding", "chunked")
            connection.endheaders()
            self.assertEqual(connection.getresponse().status, 411)
            connection.close()

    @needs("promtool")
    def test_promtool(self):
        with self.serve() as daemon:
            self.cooked(daemon)
            daemon.get("/nothing")
            text = daemon.get("/metrics").body
            checked = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, timeout=DEADLINE)
            self.assertEqual((checked.returncode, checked.stdout + checked.stderr), (0, b""))

    @needs("prometheus")
    def test_prometheus_scrapes(self):
        with self.serve() as daemon:
            self.cooked(daemon)
            port = free_port()
            config = self.folder / "prometheus.yml"
            config.write_text(json.dumps({"global": {"scrape_interval": "1s", "scrape_timeout": "1s"}, "scrape_configs": [
                {"job_name": "hob", "static_configs": [{"targets": [f"127.0.0.1:{daemon.port}"]}]}]}))
            with open(self.folder / "prometheus.log", "wb") as log:
                prometheus = subprocess.Popen(
                    ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={self.folder / 'tsdb'}",
                     f"--web.listen-address=127.0.0.1:{port}"], stdout=log, stderr=log)
            self.addCleanup(prometheus.wait)
            self.addCleanup(prometheus.terminate)

            def ask(query):
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/query?query={query}") as answer:
                    return json.load(answer)["data"]["result"]

            up = until(lambda: ask("up"), prometheus)
            self.assertEqual((up[0]["metric"]["job"], up[0]["value"][1]), ("hob", "1"))
            self.assertEqual(ask("hob_assets%7Bstate=%22fresh%22%7D")[0]["value"][1], "1")
            self.assertEqual(ask("hob_cook_results_total%7Bresult=%22cooked%22%7D")[0]["value"][1], "1")
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/targets") as answer:
                self.assertEqual(json.load(answer)["data"]["activeTargets"][0]["lastError"], "")

    @needs("nginx")
    def test_behind_nginx(self):
        path = str(self.folder / "hob.sock")
        with self.serve("--allowed-host", "hob", listen=f"127.0.0.1:0,unix:{path}") as daemon:
            self.cooked(daemon)
            port, folder = free_port(), str(self.folder)
            config = self.folder / "nginx.conf"
            config.write_text(f"""
                daemon off; error_log {folder}/nginx.log; pid {folder}/nginx.pid; worker_processes 1; {
                'user root;' if os.getuid() == 0 else ''}
                events {{ worker_connections 100; }}
                http {{
                    access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
                    fastcgi_temp_path {folder}/fcgi; uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
                    upstream hob {{ server unix:{path}; keepalive 4; }}
                    server {{
                        listen 127.0.0.1:{port};
                        location / {{ proxy_pass http://hob; proxy_http_version 1.1; proxy_set_header Connection "";
                                      proxy_set_header Host $host; }}
                        location /plain/ {{ proxy_pass http://hob/; }}
                    }}
                }}""")
            nginx = subprocess.Popen(["nginx", "-p", folder, "-c", str(config)], stderr=subprocess.DEVNULL)
            self.addCleanup(nginx.wait)
            self.addCleanup(nginx.terminate)
            until(lambda: socket.create_connection(("127.0.0.1", port)).close() or True, nginx)
            front = http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE)
            for fields, status, body in (({}, 200, self.whole), ({"Range": "bytes=100-199"}, 206, self.whole[100:200]),
                                         ({"If-None-Match": f'"{self.sha}"'}, 304, b"")):
                front.request("GET", f"/blobs/{self.sha}", headers=fields)
                answer = front.getresponse()
                self.assertEqual((answer.status, answer.read()), (status, body))
            front.request("POST", "/api/v1/sync", b'{"timeout_ms": 60000}', {"Content-Type": "application/json"})
            answer = front.getresponse()
            self.assertEqual((answer.status, list(json.loads(answer.read()))[0]), (200, "rev"))
            front.close()
            # With a one-line configuration nginx speaks HTTP/1.0 to the daemon under the upstream's name and, unless the answer
            # forbids it, buffers a few KB.
            for i, prefix in enumerate(("", "/plain")):
                front = http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE)
                front.request("GET", prefix + "/api/v1/events?kinds=asset")
                stream = front.getresponse()
                self.assertEqual(stream.readline(), b"retry: 1000\n")
                while stream.readline() != b"\n":
                    pass
                self.put("duck.obj", obj_text(8001 + i))
                states = set()
                while "fresh" not in states:
                    line = stream.readline()
                    if line.startswith(b"data: "):
                        states.add(json.loads(line[6:])["state"])
                front.close()


if __name__ == "__main__":
    main()
