"""Request forms sent by proxies, probes and libraries: the absolute form, HTTP/1.0 without a Host field, and a client that closes
its side after the request, as `nc -N` does."""
import hashlib
import os
import socket

from hobtest import DEADLINE, HOB, Scenario, main, obj_text


class Forms(Scenario):
    def status(self, daemon, *lines):
        with socket.create_connection(("127.0.0.1", daemon.port), timeout=DEADLINE) as connection:
            connection.sendall("".join(line + "\r\n" for line in (*lines, "")).encode())
            answer = b""
            while b"\r\n" not in answer:
                piece = connection.recv(4096)
                if not piece:
                    break
                answer += piece
        return int(answer.split()[1])

    def test_forms_of_a_request(self):
        daemon = self.serve()
        self.addCleanup(daemon.stop)
        own = f"127.0.0.1:{daemon.port}"
        host = f"Host: {own}"
        for wanted, *lines in (
                (200, f"GET http://{own}/livez HTTP/1.1", host),
                (200, f"GET HTTP://localhost/livez HTTP/1.1", host),
                (200, f"GET https://{own}/api/v1?x HTTP/1.1".replace("?x", ""), "Host: evil.example"),
                (200, f"HEAD http://{own}/livez HTTP/1.1", host),
                (200, f"GET http://{own}/livez HTTP/1.0"),
                (200, "GET /livez HTTP/1.0"),
                (200, "GET /livez HTTP/1.0", host),
                (400, "GET /livez HTTP/1.1"),
                (400, f"GET http://{own}/livez HTTP/1.1"),
                (400, f"GET http://user@{own}/livez HTTP/1.1", host),
                (400, f"GET http:///livez HTTP/1.1", host),
                (400, "GET livez HTTP/1.1", host),
                (421, "GET http://evil.example/livez HTTP/1.1", host),
                (421, "GET /livez HTTP/1.0", "Host: evil.example"),
                (403, f"POST http://{own}/api/v1/sync HTTP/1.1", host, "Origin: http://evil.example", "Content-Length: 0"),
                (403, "POST /api/v1/sync HTTP/1.0", "Origin: http://evil.example", "Content-Length: 0")):
            with self.subTest(lines[0]):
                self.assertEqual(self.status(daemon, *lines), wanted)

    def ask(self, daemon, head, body=b"", then=None):
        """The status of a request whose sender closes its side after it, and then does then()."""
        length = f"Content-Length: {len(body)}\r\n" if body else ""
        with socket.create_connection(("127.0.0.1", daemon.port), timeout=DEADLINE) as connection:
            connection.sendall(f"{head} HTTP/1.1\r\nHost: localhost\r\n{length}\r\n".encode() + body)
            connection.shutdown(socket.SHUT_WR)
            if then:
                then()
            with connection.makefile("rb") as answer:
                while (status := int((answer.readline() or b"- 0").split()[1])) == 102:
                    answer.readline()
            return status

    def test_a_client_that_closes_its_side(self):
        """It gets its answer, also from another thread, and when it closes its side while the question waits there."""
        for i in range(1100):  # of more assets than 1,024 another thread makes the list
            self.put(f"many/{i}.obj", obj_text(1))
        self.put("a.obj", obj_text(2))
        blob = os.urandom(300000)
        for threads in (1, 8):
            daemon = self.serve(program=("env", f"HOB_HTTP_THREADS={threads}", HOB))
            self.addCleanup(daemon.stop)
            daemon.sync()
            number = next(item["id"] for item in daemon.get("/api/v1/assets?limit=1000&q=art/a.obj").json()["items"])
            one = f"GET /api/v1/assets/{number}"
            for turn in range(5):
                newest = daemon.get("/api/v1/changes").headers["last-event-id"]
                self.assertEqual(self.ask(daemon, f"GET /api/v1/changes?since={newest}&wait=60",
                                          then=lambda turn=turn: self.put("a.obj", obj_text(2 + 10 * threads + turn))), 200)
                for head in ("POST /api/v1/sync", "GET /livez", "GET /api/v1/jobs", "GET /api/v1/history", "GET /api/v1/assets?limit=1000",
                             one + "/history", one + "/bundle", "GET /api/v1/textures",
                             one + "/deps", "GET /a/art/a.obj?output=glb"):
                    with self.subTest(head, threads=threads):
                        self.assertEqual(self.ask(daemon, head), 200)
                data = blob + bytes([threads, turn])
                self.assertEqual(self.ask(daemon, "PUT /blobs/" + hashlib.sha256(data).hexdigest(), data), 201)
            daemon.stop()


if __name__ == "__main__":
    main()
