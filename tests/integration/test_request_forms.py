"""Request forms sent by proxies, probes and libraries: the absolute form, HTTP/1.0 without a Host field."""
import socket

from hobtest import DEADLINE, Scenario, main


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


if __name__ == "__main__":
    main()
