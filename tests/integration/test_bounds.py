"""Bounded cost of clients: clients that are slow in five ways, by the hundred; requests with wrong bytes; no descriptor left;
readers of evicted data; thousands of requests and cooks. Proper requests are answered meanwhile, and resources are released."""
import contextlib
import hashlib
import http.client
import json
import os
import pathlib
import random
import resource
import socket
import threading
import time
import unittest
import unittest.mock

from hobtest import DEADLINE, HOB, Daemon, Scenario, amount, beside, built_with, main, obj_text, until

SEED = int(os.environ.get("HOB_SEED", "13"))
SHIFTED_CLOCK = beside("libshifted_clock.so")
HEAD = b"Host: localhost\r\n"
MUTATIONS = int(os.environ.get("HOB_MUTATIONS", amount(3000, 300000)))
FAIR = {"none", *map(str, (200, 204, 206, 304, 400, 403, 404, 405, 406, 408, 411, 412, 413, 414, 415, 416, 417, 421, 422, 429, 431, 501, 503, 504,
                           505))}  # any status but a failure of the daemon's own
EACH = amount(300, 1000)  # number of slow clients of each kind


def bumps(i):
    return obj_text(40 + i % 7, shift=i)


class Bounds(Scenario):
    def fds(self, daemon):
        return len(os.listdir(f"/proc/{daemon.process.pid}/fd"))

    def wait_fds(self, daemon, most):
        """Connections are closed shortly after their peer has gone."""
        since = time.monotonic()
        while (now := self.fds(daemon)) > most:
            self.assertLess(time.monotonic() - since, DEADLINE, f"{now} descriptors, {most} were to be left")
            daemon.get("/livez")
        return now

    def cpu(self, daemon):
        fields = pathlib.Path(f"/proc/{daemon.process.pid}/stat").read_text().rsplit(") ", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    # ---- clients

    def test_slow_clients_by_the_hundred(self):
        self.put("a.obj", obj_text(4000))
        with self.serve() as daemon:
            daemon.sync()
            truth, before = daemon.blob("art/a.obj"), self.fds(daemon)
            post = b"POST /api/v1/sync HTTP/1.1\r\n" + HEAD + b"Content-Type: application/json\r\n"
            ways = {"silent": b"", "half a head": b"GET /livez HTTP/1.1\r\nX-Slow: ", "half a body": post + b"Content-Length: 100\r\n\r\n{",
                    "half a chunk": post + b"Transfer-Encoding: chunked\r\n\r\n64\r\n{", "reads nothing": b"GET /a/art/a.obj HTTP/1.1\r\n" + HEAD + b"\r\n"}
            crowd = []
            for what, data in ways.items():
                for _ in range(EACH):
                    peer = socket.socket()
                    peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                    peer.connect(("127.0.0.1", daemon.port))
                    with contextlib.suppress(OSError):
                        peer.sendall(data)
                    crowd.append(peer)
            took, asked = [], 0
            # A body may take half a minute, which the long form waits for; a client with a complete answer is released when it
            # closes.
            for peer in crowd[:amount(2, 4) * EACH]:
                peer.settimeout(0.02)
                while True:
                    try:
                        if not peer.recv(4096):
                            break
                    except ConnectionError:
                        break
                    except TimeoutError:
                        asked += 1
                        began = time.monotonic()
                        if asked % 50 == 0:
                            self.assertEqual(daemon.blob("art/a.obj"), truth)
                        else:
                            self.assertEqual(daemon.get("/livez").status, 200)
                        took.append(time.monotonic() - began)
            for peer in crowd:
                peer.close()
            left = self.wait_fds(daemon, before + 5)
            took.sort()
            print(f"bounds: {len(crowd)} slow clients, {amount(2, 4) * EACH} cut off, the others gone; meanwhile {asked} answers, the middle one in {took[len(took) // 2] * 1000:.1f} ms; "
                  f"{before} descriptors before, {left} after")
            self.assertGreater(asked, 10)

    def test_a_full_house_lets_newcomers_in(self):
        """When the server is full, it drops a connection or file that has been held for longer than the time limit of heads."""
        few = ("sh", "-c", 'ulimit -n 512; exec "$0" "$@"', HOB)
        self.put("a.obj", obj_text(2))
        large = os.urandom(8 << 20)
        digest = hashlib.sha256(large).hexdigest().encode()
        hashes = json.dumps({"hashes": [digest.decode()] * 9}).encode()
        ways = {"half an upload": lambda i: b"PUT /blobs/" + hashlib.sha256(b"%d" % i).hexdigest().encode() + b" HTTP/1.1\r\n" + HEAD +
                b"Content-Length: 4294967296\r\n\r\n" + b"x" * (300 << 10),
                "half a body": lambda _: b"POST /api/v1/sync HTTP/1.1\r\n" + HEAD + b"Content-Type: application/json\r\nContent-Length: 99\r\n\r\n{",
                "reads nothing": lambda _: b"GET /blobs/" + digest + b" HTTP/1.1\r\n" + HEAD + b"\r\n",
                "reads no part": lambda _: b"GET /blobs/" + digest + b" HTTP/1.1\r\n" + HEAD + b"Range: bytes=1-8000000\r\n\r\n",
                "reads no batch": lambda _: b"POST /blobs:batch HTTP/1.1\r\n" + HEAD + b"Content-Type: application/json\r\nContent-Length: " +
                str(len(hashes)).encode() + b"\r\n\r\n" + hashes,
                "listens": lambda _: b"GET /api/v1/events HTTP/1.1\r\n" + HEAD + b"\r\n"}
        for way, data in ways.items():
            with self.subTest(way), self.serve(program=few) as daemon, contextlib.ExitStack() as crowd:
                daemon.sync()
                self.assertEqual(daemon.request("PUT", "/blobs/" + digest.decode(), large).status // 100, 2)
                for i in range(400):
                    peer = crowd.enter_context(socket.socket())
                    peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                    peer.settimeout(DEADLINE)
                    peer.connect(("127.0.0.1", daemon.port))
                    with contextlib.suppress(OSError):
                        peer.sendall(data(i))
                until(lambda: self.newcomer(daemon, "/livez"), "an answer to a newcomer")
                self.put("b.obj", obj_text(3))
                until(lambda: self.newcomer(daemon, "/api/v1/assets").count(b'"standing":"fresh"') == 2, "a cook")
                self.assertFalse([line for line in daemon.log if "Too many open files" in line])

    def newcomer(self, daemon, target):
        """Sends a request on a new connection; returns the answer, empty if there is none."""
        probe = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=DEADLINE)
        with contextlib.closing(probe), contextlib.suppress(OSError, http.client.HTTPException):
            probe.request("GET", target)
            answer = probe.getresponse()
            return answer.read() if answer.status == 200 else b""
        return b""

    def test_an_upload_that_trickles_is_cut_off(self):
        with self.serve() as daemon, socket.create_connection(("127.0.0.1", daemon.port)) as peer:
            peer.sendall(b"PUT /blobs/" + b"0" * 64 + b" HTTP/1.1\r\n" + HEAD + b"Content-Length: 4294967296\r\n\r\n")
            peer.settimeout(1)
            end = time.monotonic() + DEADLINE
            answer = None
            while answer is None:
                self.assertLess(time.monotonic(), end)
                try:
                    peer.sendall(b"x")
                    answer = peer.recv(99)
                except TimeoutError:
                    pass
                except ConnectionError:
                    answer = b""
            self.assertEqual(answer, b"")

    @unittest.skipIf(built_with("asan") or built_with("tsan"), "the sanitizer's allocator keeps what is freed")
    def test_memory_of_closed_connections_goes_back(self):
        crowd_size = amount(2000, 9000)
        files = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, files)
        resource.setrlimit(resource.RLIMIT_NOFILE, (files[1], files[1]))
        self.put("a.obj", obj_text(2))
        resident = lambda: daemon.counters()["process_resident_memory_bytes"] / 1e6
        with self.serve() as daemon:
            daemon.sync()
            before = resident()
            crowd = [socket.create_connection(("127.0.0.1", daemon.port), timeout=DEADLINE) for _ in range(crowd_size)]
            for i, peer in enumerate(crowd):
                peer.sendall((b"GET /api/v1/events HTTP/1.1\r\n" if i % 2 else b"GET /api/v1/stats HTTP/1.1\r\n") + HEAD + b"\r\n")
                peer.recv(1)
            held = resident()
            for peer in crowd:
                peer.close()
            after = until(lambda: (now := resident()) < before + 3 and now, "the memory of closed connections given back")
            print(f"bounds: {before:.1f} MB, {held:.1f} with {crowd_size} connections, {after:.1f} when they are closed")
            self.assertGreater(held, before + 6)

    def mutated(self, chance, request):
        data = bytearray(request)
        for _ in range(chance.choice((1, 1, 1, 2, 5))):
            at = chance.randrange(len(data))
            how = chance.random()
            if how < 0.4:
                data[at] = chance.randrange(256)
            elif how < 0.6:
                del data[at:at + chance.randint(1, 9)]
            elif how < 0.8:
                data[at:at] = chance.choice((b"\r\n", b"\0", b" ", b"\t", b":", b"\n", b"%00", b"../", b"\xff", b"9" * 30, b"Host: x\r\n"))
            else:
                data[at:at] = data[max(0, at - chance.randint(1, 40)):at]
        return bytes(data) + b"\r\n\r\n"

    def answers(self, daemon, requests):
        """Status and bytes of the answers; all requests are sent before any answer is read."""
        peers = [socket.create_connection(("127.0.0.1", daemon.port), timeout=DEADLINE) for _ in requests]
        for peer, request in zip(peers, requests):
            with contextlib.suppress(OSError):
                peer.sendall(request)
                peer.shutdown(socket.SHUT_WR)
        for peer in peers:
            answer = b""
            with peer, contextlib.suppress(ConnectionError):
                while data := peer.recv(65536):
                    answer += data
            yield answer[9:12].decode("latin-1") if answer.startswith(b"HTTP/1.1 ") else "none", answer

    def test_requests_with_something_wrong(self):
        self.put("a.obj", obj_text(3))
        requests = [b"GET /a/art/a.obj?output=meshes HTTP/1.1\r\n" + HEAD + b"Range: bytes=0-9, 20-30\r\nIf-None-Match: \"x\"\r\nAccept-Encoding: gzip\r\n\r\n",
                    b"POST /api/v1/sync HTTP/1.1\r\n" + HEAD + b"Content-Type: application/json\r\nContent-Length: 16\r\n\r\n{\"timeout_ms\":1}",
                    b"POST /api/v1/sync HTTP/1.1\r\n" + HEAD + b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
                    b"10\r\n{\"timeout_ms\":1}\r\n0\r\n\r\n",
                    b"GET /api/v1/assets?q=a&limit=2&fields=id,path&expand=deps HTTP/1.1\r\n" + HEAD + b"Origin: http://localhost\r\n\r\n",
                    b"GET /api/v1/changes?since=0&wait=0 HTTP/1.1\r\n" + HEAD + b"Last-Event-ID: 5\r\n\r\n"]
        chance = random.Random(SEED)
        with self.serve() as daemon:
            daemon.sync()
            truth, before, statuses = daemon.blob("art/a.obj"), self.fds(daemon), {}
            for turn in range(0, MUTATIONS, 50):
                for status, answer in self.answers(daemon, [self.mutated(chance, chance.choice(requests)) for _ in range(50)]):
                    self.assertIn(status, FAIR, (SEED, turn, answer[:200]))
                    statuses[status] = statuses.get(status, 0) + 1
                if turn % 500 == 0:
                    self.assertEqual(daemon.blob("art/a.obj"), truth)
            self.wait_fds(daemon, before + 5)
            print(f"bounds: {sum(statuses.values())} requests with something wrong, seed {SEED}: {dict(sorted(statuses.items()))}")

    # ---- descriptors, eviction, growth

    def test_no_descriptor_is_left(self):
        """Waiting for a descriptor costs nothing, and everything continues once there are some."""
        self.put("a.obj", obj_text(3))
        with self.serve() as daemon:
            daemon.sync()
            before = self.fds(daemon)
            limits = resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE)
            resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE, (before + 20, limits[1]))
            crowd = [socket.create_connection(("127.0.0.1", daemon.port), timeout=DEADLINE) for _ in range(200)]
            for peer in crowd:
                peer.sendall(b"GET /livez HTTP/1.1\r\n" + HEAD)
            self.put("b.obj", obj_text(5))  # its cook needs descriptors and waits for them
            began, used = time.monotonic(), self.cpu(daemon)
            for peer in crowd[:10]:  # the admitted clients are answered and released, and others are admitted
                with contextlib.suppress(ConnectionError):
                    peer.recv(4096)
            share = (self.cpu(daemon) - used) / (time.monotonic() - began)
            for peer in crowd:
                peer.close()
            resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE, limits)
            # A model that failed for lack of descriptors says so, is not quarantined, and is retried later.
            while {(item["path"], item["state"]) for item in daemon.assets().values()} != {("a.obj", "fresh"), ("b.obj", "fresh")}:
                self.assertNotIn("quarantined", {item["state"] for item in daemon.assets().values()}, daemon.log[-20:])
                daemon.events.get(timeout=DEADLINE)
            self.wait_fds(daemon, before + 5)
            self.assertLess(share, 0.1 * (5 if built_with("tsan") else 1), "it spins while it waits")
            print(f"bounds: {share * 100:.1f} % of a processor while no descriptor was left")

    @unittest.skipUnless(SHIFTED_CLOCK.exists(), f"there is no {SHIFTED_CLOCK}: it belongs to builds with tests")
    def test_what_is_read_is_whole_while_it_is_thrown_away(self):
        """Ten versions, ten days old, nine of them unused: a collection evicts those while they are read, and never the tenth."""
        halt, whole, gone, broken, digests = threading.Event(), [0], [0], [], []
        ago = ["env", f"LD_PRELOAD={SHIFTED_CLOCK}", "HOB_TEST_CLOCK_SHIFT=-864000", "ASAN_OPTIONS=verify_asan_link_order=0", HOB]
        self.put("still.obj", obj_text(50))  # the oldest of all, never read, but current
        with Daemon([self.art], self.cache, program=ago) as daemon:
            daemon.sync()
            for turn in range(amount(10, 60)):
                self.put("a.obj", obj_text(3000, shift=turn))
                daemon.sync()
                digests.append(hashlib.sha256(daemon.blob("art/a.obj")).hexdigest())

        def reader(port, chance):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE)
            try:
                while not halt.is_set():
                    for target in ("/blobs/" + chance.choice(digests), "/a/art/a.obj"):
                        connection.request("GET", target)
                        answer = connection.getresponse()
                        body = answer.read()
                        if answer.status == 200:
                            assert hashlib.sha256(body).hexdigest() == answer.headers["ETag"].strip('"'), "other bytes than its name says"
                            whole[0] += 1
                        else:
                            assert answer.status in (404, 503) and target[1] == "b", (target, answer.status, body[:200])
                            gone[0] += 1
                connection.close()
            except Exception as error:  # for the main thread
                broken.append(error)

        with self.serve() as daemon:
            daemon.sync()
            used = daemon.get("/api/v1/stats").json()["cache"]["bytes"]
            self.assertEqual(daemon.post("/api/v1/gc", {"max_bytes": used // 2}).status, 202)
            kept = [digest for digest in digests if daemon.request("HEAD", "/blobs/" + digest).status == 200]
            self.assertIn(digests[-1], kept, "what is shown was thrown away")
            self.assertLess(len(kept), len(digests), "nothing was thrown away")
            # From here the remaining blobs are read during evictions; recently read ones must stay.
            threads = [threading.Thread(target=reader, args=(daemon.port, random.Random(i))) for i in range(4)]
            for thread in threads:
                thread.start()
            try:
                for turn in range(amount(20, 400)):
                    self.assertEqual(daemon.post("/api/v1/gc", {"max_bytes": 1}).status, 202)
            finally:
                halt.set()
                for thread in threads:
                    thread.join()
            if broken:
                raise broken[0]
            self.assertEqual(hashlib.sha256(daemon.blob("art/a.obj")).hexdigest(), digests[-1])
            self.assertGreater(len(daemon.blob("art/still.obj")), 0)
            daemon.sync()
            self.assertEqual(daemon.cooked(), 0, "what is shown was thrown away")
        self.assertGreater(whole[0], 0)
        print(f"bounds: {turn + 1} collections, {whole[0]} whole bodies and {gone[0]} refusals meanwhile")

    def test_requests_and_cooks_leave_nothing(self):
        """Descriptors exactly; memory where no sanitizer keeps freed memory, without the events that the daemon keeps to tell."""
        options = os.environ["ASAN_OPTIONS"].replace("_mb=16", "_mb=4") + ":thread_local_quarantine_size_kb=64"
        self.enterContext(unittest.mock.patch.dict(os.environ, ASAN_OPTIONS=options))
        requests, cooks = amount(1500, 10000), amount(60, 1000)
        with self.serve() as daemon:
            seen = []
            connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=DEADLINE)
            for turn in range(5):
                for i in range(cooks // 5):
                    self.put(f"m{i % 10}.obj", bumps(turn * 1000 + i))
                    daemon.sync()
                for i in range(requests // 5):
                    connection.request("GET", ("/a/art/m1.obj", "/api/v1/assets", "/metrics", "/livez", "/api/v1/nothing")[i % 5])
                    connection.getresponse().read()
                told = sum(len(json.dumps(daemon.events.get()[1])) for _ in range(daemon.events.qsize()))
                counters = daemon.counters()
                seen.append((counters["process_open_fds"], counters["process_resident_memory_bytes"], told))
            connection.close()
            self.assertLessEqual(seen[-1][0], seen[1][0] + 3, seen)
            grown = seen[-1][1] - seen[1][1] - sum(told for _, _, told in seen[2:])
            if amount(False, True) and not built_with("asan") and not built_with("tsan"):
                self.assertLess(grown, 1 << 20, seen)
            print(f"bounds: {requests} requests and {cooks} cooks, {seen[-1][0] - seen[1][0]:.0f} descriptors and {grown / 1e6:.2f} MB more")


if __name__ == "__main__":
    main()
