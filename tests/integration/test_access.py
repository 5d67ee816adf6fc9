"""Access control: tokens and their scopes, pages of other sites, names of other hosts, TLS, Unix sockets."""
import base64
import hashlib
import http.client
import json
import os
import random
import socket
import ssl
import subprocess

from hobtest import DEADLINE, HOB, Daemon, Scenario, main, obj_text


def hob(*words, **environment):
    return subprocess.run([HOB, *words], capture_output=True, text=True, env=dict(os.environ, **environment))


class Access(Scenario):
    def token(self, name, *options):
        made = hob("token", "create", name, "--token-file", self.tokens, *options)
        self.assertEqual(made.returncode, 0, made.stderr)
        return made.stdout.strip()

    def setUp(self):
        super().setUp()
        self.tokens = str(self.folder / "tokens")
        self.put("a.obj", obj_text(2))

    def test_no_address_that_others_reach_without_tokens(self):
        missing = hob("serve", str(self.art), "--cache", str(self.cache), "--listen", "0.0.0.0:0")
        self.assertEqual(missing.returncode, 2)
        self.assertIn("hob token create NAME --token-file FILE", missing.stderr)
        open(self.tokens, "w").close()
        empty = hob("serve", str(self.art), "--cache", str(self.cache), "--listen", "127.0.0.1:0,[::]:0",
                    "--token-file", self.tokens)
        self.assertEqual(empty.returncode, 2)
        self.assertIn("has no token yet", empty.stderr)

    def test_what_others_can_reach_is_told(self):
        token = self.token("me")
        everywhere = "127.0.0.1:0,0.0.0.0:0"
        with self.serve("--trust-network", listen=everywhere) as daemon:
            self.assertEqual(daemon.get("/api/v1").status, 200)
            self.until(lambda: any("without tokens" in line for line in daemon.log))
        with self.serve("--token-file", self.tokens, listen=everywhere, wait_ready=False) as daemon:
            daemon.wait_banner()
            self.assertEqual(daemon.get("/api/v1").status, 401)
            self.assertEqual(daemon.get("/api/v1", Authorization="Bearer " + token).status, 200)
            self.until(lambda: any("without TLS" in line for line in daemon.log))
            self.assertFalse(any(token in line for line in daemon.log))
        with self.serve() as daemon:
            self.assertFalse(any("listening" in line for line in daemon.log), daemon.log)

    def test_scopes_revocation_and_guesses(self):
        reader, writer = self.token("viewer"), self.token("farm", "--write")
        with self.serve("--token-file", self.tokens, wait_ready=False) as daemon:
            daemon.wait_banner()

            def status(method, target, token=None, scheme="Bearer"):
                headers = {"Authorization": f"{scheme} {token}"} if token else {}
                body = b"{}" if method == "POST" else None
                answer = daemon.request(method, target, body, {**headers, "Content-Type": "application/json"})
                self.last = answer
                return answer.status

            cook = "/api/v1/assets/zzzzzzzz/cook"
            self.assertEqual(status("GET", "/livez"), 200)
            self.assertEqual(status("GET", "/api/v1/assets"), 401)
            self.assertIn('realm="hob"', self.last.headers["www-authenticate"])
            self.assertEqual(self.last.json()["type"], "/problems/token-needed")
            for target in ("/metrics", "/openapi.json", "/a/art/a.obj", "/api/v1/events", "/blobs/" + "0" * 64):
                self.assertEqual(status("GET", target), 401, target)
            self.assertEqual(status("GET", "/"), 200)  # the dashboard's own page asks for the token
            self.assertEqual(status("POST", "/api/v1/sync", reader), 200)
            self.assertEqual(status("GET", "/a/art/a.obj", reader), 200)
            basic = base64.b64encode(b"anybody:" + reader.encode()).decode()
            self.assertEqual(status("GET", "/a/art/a.obj", basic, "Basic"), 200)
            self.assertEqual(status("POST", cook, reader), 403)
            self.assertEqual(self.last.json()["type"], "/problems/token-scope")
            self.assertEqual(status("POST", cook, writer), 404)
            cli = hob("ls", "--url", f"http://127.0.0.1:{daemon.port}", HOB_TOKEN=reader)
            self.assertIn("art/a.obj", cli.stdout, cli.stderr)
            self.assertEqual(hob("ls", "--url", f"http://127.0.0.1:{daemon.port}", HOB_TOKEN="").returncode, 2)

            streams, answers = {}, {}
            for name, shown in (("reader", ("Authorization", f"Bearer {reader}")),
                                      ("farm", ("Authorization", f"Bearer {writer}")),
                                      ("page", ("Cookie", f"hob_{daemon.port}={writer}"))):
                streams[name] = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=DEADLINE)
                streams[name].request("GET", "/api/v1/events?kinds=none", headers={shown[0]: shown[1]})
                answers[name] = streams[name].getresponse()
                self.assertEqual(answers[name].status, 200)
            gone = hob("token", "revoke", "farm", "--token-file", self.tokens)
            self.assertEqual(gone.returncode, 0, gone.stderr)
            for name in ("farm", "page"):  # open streams end too
                answers[name].read()
                streams[name].close()
            self.assertEqual(daemon.request("GET", "/api/v1/clients", headers={"Authorization": f"Bearer {reader}"}).json()["count"], 1)
            streams["reader"].close()
            self.until(lambda: status("POST", cook, writer) != 404)
            self.assertIn(self.last.status, (401, 429))
            late = self.token("late", "--write")
            self.until(lambda: status("POST", cook, late) == 404)

            self.until(lambda: status("GET", "/api/v1", "hob_guess") == 429)  # ten per minute, at any speed of the machine
            self.assertIn("retry-after", self.last.headers)
            self.assertEqual(status("GET", "/api/v1", reader), 200, "a right token is let in at any time")
            os.unlink(self.tokens)
            self.until(lambda: status("GET", "/api/v1", reader) == 429)
            self.assertEqual(status("GET", "/api/v1"), 401)
            daemon.wait_log("all access is refused")

    def test_sessions_of_browsers(self):
        reader, writer = self.token("viewer"), self.token("editor", "--write")
        with self.serve("--token-file", self.tokens, wait_ready=False) as daemon:
            daemon.wait_banner()
            name = f"hob_{daemon.port}"

            def ask(method, target, body=None, **headers):
                return daemon.request(method, target, body, {k.replace("_", "-"): v for k, v in headers.items()})

            def sign_in(token, **headers):
                return ask("POST", "/api/v1/session", json.dumps({"token": token}).encode(),
                           Content_Type="application/json", **headers)

            self.assertEqual(ask("GET", "/api/v1/session").json(), {"required": True, "scope": "none", "expired": False})
            self.assertEqual(sign_in("hob_wrong").status, 401)
            self.assertEqual(sign_in("").status, 400)
            self.assertEqual(sign_in(reader, Origin="https://evil.example").status, 403)
            made = sign_in(reader)
            self.assertEqual((made.status, made.json()["scope"]), (200, "read"))
            cookie, *attributes = made.headers["set-cookie"].split("; ")
            self.assertEqual(cookie, f"{name}={reader}")
            self.assertLessEqual({"HttpOnly", "SameSite=Strict", "Path=/"}, set(attributes))
            self.assertNotIn("Secure", attributes)

            for target in ("/api/v1/assets", "/metrics", "/a/art/a.obj"):
                self.assertEqual(ask("GET", target, Cookie="other=1; " + cookie, Prefer="wait=30").status, 200, target)
            cook = "/api/v1/assets/zzzzzzzz/cook"
            for scope, token, wanted in (("read", reader, 403), ("write", writer, 404)):
                held = f"{name}={token}"
                self.assertEqual(ask("GET", "/api/v1/session", Cookie=held).json()["scope"], scope)
                self.assertEqual(ask("POST", cook, b"{}", Cookie=held, Content_Type="application/json").status, wanted)
            # Requests from other sites carry the cookie, too: they must not change anything.
            self.assertEqual(ask("POST", cook, b"{}", Cookie=f"{name}={writer}", Content_Type="application/json",
                                 Origin="http://127.0.0.1:1").status, 403)
            # The cookie of a daemon at another port is ignored and does not count as a guess; a token in the header takes
            # precedence.
            other = ask("GET", "/api/v1", Cookie=f"hob_1={reader}")
            self.assertEqual((other.status, other.headers.get("set-cookie")), (401, None))
            self.assertEqual(ask("GET", "/api/v1", Cookie=cookie, Authorization="Bearer no").status, 401)

            page = {"User_Agent": "Mozilla/5.0", "Accept": "application/json"}
            self.assertNotIn("Basic", ask("GET", "/api/v1", **page).headers["www-authenticate"])
            self.assertIn("Basic", ask("GET", "/api/v1").headers["www-authenticate"])

            closed = ask("DELETE", "/api/v1/session", Cookie=cookie)
            self.assertEqual(closed.status, 204)
            self.assertTrue(closed.headers["set-cookie"].startswith(f"{name}=; ") and "Max-Age=0" in closed.headers["set-cookie"])
            self.assertEqual(hob("token", "revoke", "viewer", "--token-file", self.tokens).returncode, 0)
            self.until(lambda: ask("GET", "/api/v1/session", Cookie=cookie).json()["scope"] == "none")
            over = ask("GET", "/api/v1/session", Cookie=cookie)
            self.assertTrue(over.json()["expired"])
            self.assertIn("Max-Age=0", over.headers["set-cookie"])
            late = ask("GET", "/api/v1", Cookie=cookie)
            self.assertEqual(late.status, 401)
            self.assertIn("Max-Age=0", late.headers["set-cookie"])
            self.until(lambda: ask("GET", "/api/v1", Cookie=f"{name}=hob_guess").status == 429)
            self.assertEqual(sign_in("hob_wrong").status, 429)
            self.assertEqual(sign_in(writer).status, 200)
        with self.serve() as daemon:
            self.assertEqual(daemon.get("/api/v1/session").json(), {"required": False, "scope": "write", "expired": False})

    def until(self, true):
        """Sends requests until the daemon has read the changed file."""
        for _ in range(100000):
            if true():
                return
        self.fail("the daemon does not notice")

    def test_pages_of_other_sites(self):
        friend, stranger = "http://localhost:5173", "https://evil.example"
        with self.serve("--cors-origin", friend, "--allowed-host", "hob.studio.example") as daemon:
            daemon.sync()
            for target in ("/api/v1/assets", "/a/art/a.obj", "/api/v1/nothing", "/metrics"):
                answer = daemon.get(target, Origin=friend, Sec_Fetch_Site="cross-site")
                self.assertEqual(answer.headers.get("access-control-allow-origin"), friend, target)
                self.assertIn("Origin", answer.headers["vary"])
                answer = daemon.get(target, Origin=stranger, Sec_Fetch_Site="cross-site")
                self.assertNotIn("access-control-allow-origin", answer.headers)
            blob = daemon.get("/a/art/a.obj").headers["content-location"]
            self.assertEqual(daemon.get(blob, Origin=friend).headers["access-control-allow-origin"], friend)
            ask = {"Origin": friend, "Access-Control-Request-Method": "POST",
                   "Access-Control-Request-Headers": "content-type"}
            answer = daemon.request("OPTIONS", "/api/v1/sync", headers=ask)
            self.assertEqual(answer.status, 204)
            self.assertIn("POST", answer.headers["access-control-allow-methods"])
            self.assertIn("Authorization", answer.headers["access-control-allow-headers"])
            answer = daemon.request("OPTIONS", "/api/v1/sync", headers=dict(ask, Origin=stranger))
            self.assertEqual(answer.status, 403)
            self.assertNotIn("access-control-allow-origin", answer.headers)
            post = {"Content-Type": "application/json", "Sec-Fetch-Site": "cross-site"}
            self.assertEqual(daemon.request("POST", "/api/v1/sync", b"{}", dict(post, Origin=friend)).status, 200)
            self.assertEqual(daemon.request("POST", "/api/v1/sync", b"{}", dict(post, Origin=stranger)).status, 403)
            self.assertEqual(daemon.get("/api/v1", Host="hob.studio.example:7780").status, 200)
            self.assertIn(b'["hob.studio.example"]', daemon.get("/api/v1/config").body)
            answer = daemon.get("/api/v1", Host="other.example")
            self.assertEqual(answer.status, 421)
            self.assertIn("allowed_hosts", answer.json()["hint"])

    def commands_speak_tls(self, port, certificate, token):
        for host in ("localhost", "127.0.0.1"):
            for where, more in ((["--cacert", certificate], {}), ([], {"HOB_CACERT": certificate})):
                listing = hob("ls", "--json", "--url", f"https://{host}:{port}", *where, HOB_TOKEN=token, **more)
                self.assertEqual(listing.returncode, 0, listing.stderr)
                self.assertEqual(json.loads(listing.stdout.splitlines()[0])["path"], "a.obj")
        secure = {"HOB_URL": f"https://localhost:{port}", "HOB_CACERT": certificate, "HOB_TOKEN": token}
        got = hob("get", "art/a.obj", "-o", str(self.folder / "got"), **secure)
        self.assertEqual(got.returncode, 0, got.stderr)
        self.assertEqual((self.folder / "got").read_bytes()[1:4], b"HOB")
        for url, more, words in (
                (f"https://localhost:{port}", {}, "--cacert"), (f"https://[::ffff:127.0.0.1]:{port}", {"HOB_CACERT": certificate}, "not for"),
                (f"http://localhost:{port}", {}, "https://")):
            refused = hob("status", "--url", url, HOB_TOKEN=token, **more)
            self.assertEqual(refused.returncode, 3, (url, refused.stderr))
            self.assertIn(words, refused.stderr)
        wrong = hob("status", "--url", f"https://localhost:{port}", "--cacert", str(self.tokens), HOB_TOKEN=token)
        self.assertIn("no certificates", wrong.stderr)

    def test_tls_and_unix_socket(self):
        certificate, key = str(self.folder / "cert.pem"), str(self.folder / "key.pem")
        made = subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                               "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
                               "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", key, "-out", certificate],
                              capture_output=True)
        if made.returncode != 0:
            self.skipTest("there is no openssl to make a certificate")
        token = self.token("tls", "--write")
        path = str(self.folder / "hob.sock")
        daemon = Daemon([self.art], self.cache, "--tls-cert", certificate, "--tls-key", key, "--token-file", self.tokens,
                        listen=f"127.0.0.1:0,unix:{path}", wait_ready=False)
        with daemon:
            daemon.wait_banner()
            context = ssl.create_default_context(cafile=certificate)
            secure = http.client.HTTPSConnection("localhost", daemon.port, context=context, timeout=DEADLINE)
            for _ in range(3):
                secure.request("GET", "/api/v1", headers={"Authorization": "Bearer " + token})
                answer = secure.getresponse()
                self.assertEqual(answer.status, 200)
                answer.read()
            secure.request("POST", "/api/v1/sync", b"{}", {"Authorization": "Bearer " + token,
                                                          "Content-Type": "application/json"})
            self.assertEqual(secure.getresponse().read()[:7], b'{"rev":')
            for scheme, wanted in (("https", 200), ("http", 403)):
                secure.request("POST", "/api/v1/sync", b"{}", {
                    "Authorization": "Bearer " + token, "Content-Type": "application/json",
                    "Origin": f"{scheme}://localhost:{daemon.port}"})
                answer = secure.getresponse()
                self.assertEqual((answer.status, bool(answer.read())), (wanted, True))
            secure.request("GET", "/a/art/a.obj", headers={"Authorization": "Bearer " + token})
            answer = secure.getresponse()
            body = answer.read()
            self.assertEqual(len(body), int(answer.headers["Content-Length"]))
            large = random.Random(3).randbytes((1 << 20) + 5)  # sent in many TLS records
            sha = hashlib.sha256(large).hexdigest()
            for method, more, wanted in (("PUT", {}, (201, b"")), ("GET", {}, (200, large)), ("HEAD", {}, (200, b"")),
                                         ("GET", {"Range": "bytes=70001-200000"}, (206, large[70001:200001])),
                                         ("GET", {"If-None-Match": f'"{sha}"'}, (304, b"")), ("GET", {}, (200, large))):
                secure.request(method, f"/blobs/{sha}", large if method == "PUT" else None, {"Authorization": "Bearer " + token, **more})
                answer = secure.getresponse()
                got = answer.read()
                self.assertEqual((answer.status, got == wanted[1] or method == "PUT"), (wanted[0], True), (method, more, got[:200]))
            listing = hob("ls", "--json", "--url", "unix:" + path, HOB_TOKEN=token)
            self.assertEqual(json.loads(listing.stdout.splitlines()[0])["path"], "a.obj", listing.stderr)
            self.commands_speak_tls(f"{daemon.port}", certificate, token)
            plain = socket.create_connection(("127.0.0.1", daemon.port), timeout=DEADLINE)
            plain.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            self.assertNotIn(b"HTTP/1.1 200", plain.recv(1000))
            plain.close()
            secure.request("GET", "/livez")
            self.assertEqual(secure.getresponse().status, 200)
        self.assertFalse(os.path.exists(path), "the socket's file goes with the daemon")
        wrong = hob("serve", str(self.art), "--cache", str(self.cache), "--listen", "127.0.0.1:0",
                    "--tls-cert", certificate, "--tls-key", certificate)
        self.assertEqual(wrong.returncode, 2)
        self.assertIn("--tls-key", wrong.stderr)


if __name__ == "__main__":
    main()
