"""Attacks over HTTP, while two thousand hostile sockets hold half a request each: all are refused, the daemon stays healthy."""
import contextlib
import os
import socket
import subprocess
import threading

from hobtest import DEADLINE, HOB, Scenario, built_with, main, obj_text

CANARY = "TOP-SECRET-CANARY"
SLOW = 2000
HOST = b"Host: localhost\r\n"


class Wire:
    """One raw connection."""

    def __init__(self, port, data=b""):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=DEADLINE)
        self.send(data)

    def send(self, data):
        try:
            self.socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            pass

    def all(self):
        """Reads until the server closes."""
        got = b""
        try:
            while True:
                more = self.socket.recv(65536)
                if not more:
                    break
                got += more
        except ConnectionResetError:
            pass
        self.socket.close()
        return got


def statuses(answer):
    return [int(part[:3]) for part in answer.split(b"HTTP/1.1 ")[1:]]


class Adversary(Scenario):
    def talk(self, daemon, data):
        """Sends raw bytes and then the end of the stream; returns everything received."""
        wire = Wire(daemon.port, data)
        with contextlib.suppress(OSError):  # it may have been closed already
            wire.socket.shutdown(socket.SHUT_WR)
        return wire.all()

    def test_checklist(self):
        secret = self.folder / "secret.obj"
        secret.write_text(f"# {CANARY}\n" + obj_text(2))
        self.put("a.obj", obj_text(400))
        os.symlink(secret, self.art / "link.obj")
        os.symlink(self.folder, self.art / "out")
        tokens = str(self.folder / "tokens")
        made = subprocess.run([HOB, "token", "create", "me", "--write", "--token-file", tokens], capture_output=True,
                              text=True, check=True)
        with self.serve() as daemon:
            daemon.sync()
            before = daemon.counters()
            slow = [Wire(daemon.port, b"GET /livez HTTP/1.1\r\nX-Slow: " + b"a" * (i % 300)) for i in range(SLOW)]
            crowd = daemon.counters()
            self.assertGreaterEqual(crowd["hob_http_connections"], SLOW)
            if not built_with("asan") and not built_with("tsan"):
                grown = crowd["process_resident_memory_bytes"] - before["process_resident_memory_bytes"]
                self.assertLess(grown / SLOW, 16 << 10, "a slow client costs little")
            for name in ("traversal", "forgeries", "smuggling", "lines", "pieces", "ranges", "noise",
                         "streams"):
                with self.subTest(name):
                    getattr(self, name)(daemon)
                    self.assertEqual(daemon.get("/livez").status, 200)
                for wire in slow:
                    wire.send(b"a")
            for wire in slow:
                self.assertNotIn(200, statuses(wire.all()))
            after = daemon.counters()
            late = 'hob_http_connections_refused_total{reason="late"}'
            self.assertGreaterEqual(after[late] - before[late], SLOW)
            self.assertLess(after["hob_http_connections"], 50)
            # An unreadable head gets a problem if its sender is known: not among slow clients.
            with self.subTest("oversized"):
                self.oversized(daemon)
            self.assertEqual(daemon.get("/a/art/a.obj").status, 200)
        with self.serve("--token-file", tokens, wait_ready=False) as daemon:
            daemon.wait_banner()
            self.guesses(daemon, made.stdout.strip())

    def traversal(self, daemon):
        ups = ["..", "%2e%2e", "%2E%2E", ".%2e", "%2e.", "%252e%252e", "..%00", "..;", "%c0%ae%c0%ae", "%e0%80%ae%e0%80%ae",
               "%u002e%u002e", "....", "..%5c", "..\\", "%ff%fe.."]
        slashes = ["/", "%2f", "%2F", "%5c", "\\", "//", "%252f", "%c0%af", "/./"]
        targets = []
        for up in ups:
            for slash in slashes:
                steps = (up + slash) * 3
                targets += [f"/a/art/{steps}secret.obj", f"/a/art/out/{up}{slash}secret.obj", f"/{steps}etc/passwd",
                            f"/a/{steps}secret.obj/x", f"/blobs/{steps}index.db", f"/problems/{steps}etc/passwd",
                            f"/api/v1/assets/{steps}x", f"/api/v1/assets?path={steps}secret.obj",
                            f"/a/art/a.obj?output={steps}secret.obj"]
        absolute = str(self.folder).lstrip("/")
        targets += [f"/a/art//{absolute}/secret.obj", f"/a/art/%2f{absolute}/secret.obj", "/a/art/out/secret.obj",
                    "/a/art/link.obj", "/a//etc/passwd", "/a/art/file:///etc/passwd", "/a/art/\x7f", "/%00", "//etc/passwd",
                    f"/a/art/{'../' * 400}etc/passwd"]
        for target in targets:
            request = b"GET " + target.encode("latin-1") + b" HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n"
            answer = self.talk(daemon, request)
            self.assertNotIn(CANARY.encode(), answer, target)
            self.assertNotIn(b"root:", answer, target)
            listed = target.startswith("/api/v1/assets?")
            self.assertIn(statuses(answer)[0], (200, 400, 404) if listed else (400, 404, 414, 421, 431), (target, answer))
            if listed and statuses(answer)[0] == 200:
                self.assertIn(b'"items":[]', answer, target)

    def forgeries(self, daemon):
        port = str(daemon.port)
        for host in ("evil.example", "localhost.evil.example", "127.0.0.1.nip.io", "evil.example:" + port, "[::1].evil",
                     "localhost@evil.example", "xn--localhst-xfb", "127.0.0.1:80@evil.example", "LOCALHOST.evil.example",
                     "evil.example#localhost", "0x7f000001.example", "localhost\tevil.example", "", "localhost, evil.example"):
            answer = self.talk(daemon, f"GET /api/v1 HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
            self.assertIn(statuses(answer)[0], (400, 421), host)
        answer = self.talk(daemon, b"GET http://evil.example/api/v1 HTTP/1.1\r\n" + HOST + b"\r\n")
        self.assertNotEqual(statuses(answer)[0], 200)
        answer = self.talk(daemon, b"GET /api/v1 HTTP/1.1\r\n" + HOST + b"Host: evil.example\r\n\r\n")
        self.assertEqual(statuses(answer), [400])
        for fields in ({"Origin": "https://evil.example"}, {"Origin": "null"}, {"Origin": "http://localhost.evil.example"},
                       {"Origin": f"http://127.0.0.1:{port}.evil.example"}, {"Sec-Fetch-Site": "cross-site"},
                       {"Sec-Fetch-Site": "same-site"}, {"Origin": "http://127.0.0.1:1"}, {"Origin": "file://"},
                       {"Origin": f"ftp://127.0.0.1:{port}"}, {"Origin": f"https://127.0.0.1:{port}"},
                       {"Origin": f"http://127.0.0.1:{port}", "X-Forwarded-Proto": "https"},
                       {"Origin": f"https://127.0.0.1:{port}", "X-Forwarded-Proto": "http, https"}):
            fields["Content-Type"] = "application/json"
            answer = daemon.request("POST", "/api/v1/sync", b"{}", fields)
            self.assertEqual(answer.status, 403, fields)
            self.assertNotIn("access-control-allow-origin", answer.headers)
        own = {"Content-Type": "application/json", "Sec-Fetch-Site": "same-origin"}
        for fields in ({"Origin": f"http://127.0.0.1:{port}"}, {"Origin": f"https://127.0.0.1:{port}", "X-Forwarded-Proto": "https"}):
            self.assertEqual(daemon.request("POST", "/api/v1/sync", b"{}", dict(own, **fields)).status, 200, fields)
        # Content types that a form of another site can send without a preflight.
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""):
            answer = daemon.request("POST", "/api/v1/sync", b'{"timeout_ms":1}', {"Content-Type": kind})
            self.assertEqual(answer.status, 415, kind)

    def oversized(self, daemon):
        get = b"GET /livez HTTP/1.1\r\n" + HOST
        for fields in (b"X: " + b"a" * 9000 + b"\r\n", b"X: " + b"a" * (1 << 20) + b"\r\n", b"X: a\r\n" * 5000,
                       b"X" * 9000 + b": a\r\n", b"Cookie: " + b"a=b; " * 4000 + b"\r\n"):
            answer = self.talk(daemon, get + fields + b"\r\n")
            self.assertIn(statuses(answer), ([431], [413], []), answer[:200])
        seen = {"field": set(), "fields": set(), "target": set()}
        for size in range(7000, 10800, 100):
            for name, request in (("field", get + b"X: " + b"a" * size + b"\r\n\r\n"), ("fields", get + b"X: y\r\n" * (size // 60) + b"\r\n"),
                                  ("target", b"GET /" + b"a" * size + b" HTTP/1.1\r\n" + HOST + b"\r\n")):
                answer = self.talk(daemon, request)
                self.assertEqual(len(statuses(answer)), 1, (name, size, answer))
                seen[name].add((statuses(answer)[0], b"application/problem+json" in answer))
        self.assertEqual({(200, False), (431, True)}, seen["field"])
        self.assertEqual({(200, False), (431, True)}, seen["fields"])
        self.assertEqual({(404, True), (414, True)}, seen["target"] - {(431, True)})
        for request, status in ((get + b"no colon\r\n\r\n", 400), (get + b"X: " + b"a" * 20000 + b"\r\n\r\n", 431),
                                (b"GET /" + b"a" * 20000 + b" HTTP/1.1\r\n" + HOST + b"\r\n", 414)):
            answer = self.talk(daemon, request)
            self.assertEqual((statuses(answer), b"application/problem+json" in answer), ([status], True), request[:60])
        answer = self.talk(daemon, b"GET /" + b"a" * 20000 + b" HTTP/1.1\r\n" + HOST + b"\r\n")
        self.assertIn(statuses(answer), ([414], [431], [413], []), answer[:200])
        post = b"POST /api/v1/sync HTTP/1.1\r\n" + HOST + b"Content-Type: application/json\r\n"
        for length in (b"1048577", b"99999999999", b"18446744073709551615", b"18446744073709551616", b"1" * 60):
            answer = self.talk(daemon, post + b"Content-Length: " + length + b"\r\n\r\n{}")
            self.assertIn(statuses(answer), ([413], [400]), (length, answer))
        chunks = b"10000\r\n" + b" " * 65536 + b"\r\n"
        answer = self.talk(daemon, post + b"Transfer-Encoding: chunked\r\n\r\n" + chunks * 40 + b"0\r\n\r\n")
        self.assertIn(statuses(answer), ([411], []))
        for count, wanted in ((17, [400]), (100, [400]), (200, [400]), (500, [400])):
            query = "&".join(f"q{i}=1" for i in range(count)).encode()
            answer = self.talk(daemon, b"GET /api/v1/assets?" + query + b" HTTP/1.1\r\n" + HOST + b"\r\n")
            self.assertEqual(statuses(answer), wanted)
            self.assertIn(b"more than 16 parameters", answer)

    def smuggling(self, daemon):
        """However the length of the first message is interpreted, the second is never answered as a request."""
        hidden = b"GET /api/v1/roots HTTP/1.1\r\nHost: localhost\r\n\r\n"
        post = b"POST /api/v1/sync HTTP/1.1\r\n" + HOST + b"Content-Type: application/json\r\n"
        size = str(len(hidden)).encode()
        shapes = [
            b"Content-Length: " + size + b"\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden,
            b"Transfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n0\r\n\r\n" + hidden,
            b"Content-Length: 0\r\nContent-Length: " + size + b"\r\n\r\n" + hidden,
            b"Content-Length: " + size + b"\r\nContent-Length: 0\r\n\r\n" + hidden,
            b"Content-Length: 0, " + size + b"\r\n\r\n" + hidden,
            b"Content-Length: +0\r\n\r\n" + hidden,
            b"Content-Length: -1\r\n\r\n" + hidden,
            b"Content-Length: 0x0\r\n\r\n" + hidden,
            b"Content-Length : 0\r\n\r\n" + hidden,
            b"Content-Length\t: 0\r\n\r\n" + hidden,
            b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n" + hidden,
            b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" + hidden,
            b"Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n" + hidden,
            b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n" + hidden,
            b"Transfer-Encoding: chunked\r\n\r\nzz\r\n" + hidden,
            b"Transfer-Encoding: chunked\r\n\r\n-1\r\n" + hidden,
            b"Transfer-Encoding: chunked\r\n\r\n0x2\r\n{}\r\n0\r\n\r\n" + hidden,
            b"Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n" + hidden,
            b"Transfer-Encoding: chunked\r\n\r\n2 \r\n{}\r\n0\r\n\r\n" + hidden,
            b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}XX0\r\n\r\n" + hidden,
        ]
        for shape in shapes:
            answer = self.talk(daemon, post + shape)
            self.assertNotIn(b'"items"', answer, shape)
            self.assertTrue(set(statuses(answer)) <= {400, 408, 411, 413, 501}, (shape, answer))
        for body in (b"2\r\n{}\r\n0\r\n\r\n", b"2\n{}\n0\n\n", b"2\r\n{}\n0\r\n\r\n", b"2;x\r\n{}\r\n0\r\nA: b\r\n\r\n"):
            answer = self.talk(daemon, post + b"Transfer-Encoding: chunked\r\n\r\n" + body + hidden)
            self.assertEqual(statuses(answer), [411], (body, answer))
            self.assertIn(b"Connection: close", answer)
        for length in (b"x", b"-1", b"+0", b"0x0", b"1 2", b"", b"5, 5", b"9" * 30):
            answer = self.talk(daemon, post + b"Content-Length: " + length + b"\r\n\r\n" + hidden)
            self.assertEqual(statuses(answer), [400], (length, answer))
            self.assertTrue(answer.endswith(b"}\n") and b"http.bad-request" in answer, answer)
        for shape in (b"Content-Length: " + size + b"\r\n\r\n" + hidden, b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden):
            answer = self.talk(daemon, b"GET /livez HTTP/1.1\r\n" + HOST + shape)
            self.assertNotIn(b'"items"', answer, shape)

    def lines(self, daemon):
        """A head that a server in front could interpret differently is refused, and its connection ends."""
        get, after = b"GET /api/v1/roots HTTP/1.1\r\n", b"GET /livez HTTP/1.1\r\n" + HOST + b"\r\n"
        for field in (b"X: a\rY: b\r\n", b"X: a\r\r\n", b"X: a\nY: b\r\n", b"X: a\n", b"X: a\0b\r\n", b"X: a\0\r\n", b"X: a\r\n b\r\n",
                      b"X: \x01\r\n", b"X: a\x7f\r\n", b": a\r\n", b"X: a\rContent-Length: 5\r\n", b"X: a\r\r" + after[:-4]):
            for head in (get + HOST + field, get + field + HOST):
                answer = self.talk(daemon, head + b"\r\n" + after)
                self.assertEqual(statuses(answer), [400], (head, answer))
                self.assertIn(b"Connection: close", answer)
        for line in (b"GET /api/v1/roots\0 HTTP/1.1\r\n", b"GET /api/v1/roots HTTP/1.1\n", b"GET /api/v1/roots HTTP/1.1\r",
                     b"GET  /api/v1/roots HTTP/1.1\r\n"):
            answer = self.talk(daemon, line + HOST + b"\r\n" + after)
            # libmicrohttpd 1.0 closes the connection at a NUL.
            self.assertIn(statuses(answer), ([400], []) if b"\0" in line else ([400],), (line, answer))

    def pieces(self, daemon):
        """Valid input is answered in any fragmentation: every split of one head, and heads of many sizes in sequence."""
        head = b"GET /livez?verbose HTTP/1.1\r\n" + HOST + b"Empty:\r\nBlank: a b \t\r\nX:   y\r\n\r\n"
        wire = Wire(daemon.port)
        wire.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for cut in range(1, len(head)):
            wire.send(head[:cut])
            wire.send(head[cut:])
        sizes = [(fields * 37 + size) % 700 for fields in range(12) for size in range(4)]
        whole = b"".join(b"GET /livez HTTP/1.1\r\n" + HOST + b"".join(b"X-%d: %s\r\n" % (j, b"v" * size) for j in range(size % 9)) +
                         b"\r\n" for size in sizes)
        for at in range(0, len(whole), 977):
            wire.send(whole[at:at + 977])
        wire.send(b"GET /livez HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n")
        self.assertEqual(statuses(wire.all()), [200] * (len(head) + len(sizes)))

    def ranges(self, daemon):
        whole = daemon.blob("art/a.obj")
        for text in ("bytes=", "bytes=-", "bytes=a-b", "bytes=5-1", "bytes=1-2-3", "bytes 0-1", "octets=0-1", "bytes=--1",
                     "bytes=0x0-1", "bytes=1.5-2", "bytes=0-0,-1", "bytes=" + "0-0," * 500, "bytes=0-" + "9" * 400,
                     "bytes=" + "9" * 400 + "-", "bytes=-0", "bytes=99999999999999999999-", "bytes=18446744073709551615-",
                     "bytes=0-18446744073709551616", "bytes=-99999999999999999999", "bytes=\t0-0", "bytes=0-0;x", "=0-0", ""):
            answer = daemon.get("/a/art/a.obj", Range=text)
            self.assertIn(answer.status, (200, 206, 416), text)
            if answer.status == 200:
                self.assertEqual(answer.body, whole, text)
            if answer.status == 206:
                first, last = answer.headers["content-range"].split()[1].split("/")[0].split("-")
                self.assertEqual(answer.body, whole[int(first):int(last) + 1], text)

    def noise(self, daemon):
        for data in (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + os.urandom(500), b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
                     b"GET /api/v1\r\n\r\n", b"\0" * 1000, os.urandom(4000), b"GET /api/v1 HTTP/1.1\n" + b"\n" * 2000,
                     b"\r\n" * 3000, b"G" * 7000, b"GET  /api/v1  HTTP/1.1\r\n" + HOST + b"\r\n",
                     b"GET /api/v1 HTTP/9.9\r\n" + HOST + b"\r\n", b"GET\0/api/v1 HTTP/1.1\r\n" + HOST + b"\r\n",
                     b"TRACE /api/v1 HTTP/1.1\r\n" + HOST + b"\r\n", b"CONNECT evil.example:443 HTTP/1.1\r\n" + HOST + b"\r\n",
                     b"GET /api/v1 HTTP/1.1\r\n" + HOST + b"X\0Y: z\r\n\r\n"):
            answer = self.talk(daemon, data)
            self.assertNotIn(b'"capabilities"', answer, data[:80])
        many = (b"GET /livez HTTP/1.1\r\n" + HOST + b"\r\n") * 300
        wire = Wire(daemon.port)
        threading.Thread(target=wire.send, args=(many + b"GET /livez HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n",)).start()
        self.assertEqual(statuses(wire.all()), [200] * 301)

    def streams(self, daemon):
        """Many listeners that never read cost bounded memory and do not delay others' events."""
        deaf = []
        for _ in range(300):
            wire = Wire(daemon.port)
            wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            wire.send(b"GET /api/v1/events HTTP/1.1\r\n" + HOST + b"\r\n")
            deaf.append(wire)
        for i in range(20):
            self.put("a.obj", obj_text(401 + i))
            daemon.wait_asset("art/a.obj", "fresh")
        self.assertGreaterEqual(daemon.counters()["hob_events_clients"], 301)
        for target in ("/api/v1/events?asset=" + "*" * 600, "/api/v1/events?" + "asset=a&" * 9,
                       "/api/v1/events?kinds=" + "a," * 20, "/api/v1/events?asset="):
            self.assertEqual(daemon.get(target).status, 400, target)
        lost = Wire(daemon.port, b"GET /api/v1/events HTTP/1.1\r\n" + HOST + b"Last-Event-ID: " + b"9" * 300 + b"\r\n\r\n")
        with lost.socket.makefile("rb") as lines:
            self.assertIn(b"event: reset\n", lines)
        lost.socket.close()
        for wire in deaf:
            wire.socket.close()

    def guesses(self, daemon, token):
        seen = set()
        for i in range(len(token)):
            wrong = token[:i] + ("A" if token[i] != "A" else "B") + token[i + 1:]
            answer = daemon.get("/api/v1", Authorization="Bearer " + wrong)
            seen.add(answer.status)
        for text in ("", "Bearer", "Bearer ", "Bearer " + token[:-1], "Bearer " + token + "x", "bearer\t" + token, "Basic " + token,
                     "Basic !!!", "Digest username=x", "Basic " + "A" * 4000):
            seen.add(daemon.get("/api/v1", Authorization=text).status)
        self.assertEqual(seen, {401, 429})
        self.assertEqual(daemon.get("/api/v1", Authorization="Bearer " + token).status, 200)


if __name__ == "__main__":
    main()
