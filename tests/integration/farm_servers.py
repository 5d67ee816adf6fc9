"""Servers for the scenarios of a farm: a real PostgreSQL, in its own folder and as a non-root user, and a small S3 store."""
import atexit
import contextlib
import datetime
import glob
import hashlib
import hmac
import http.server
import os
import pathlib
import pwd
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
import urllib.parse

from hobtest import DEADLINE, fresh_folder

PROGRAMS = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
WHY_NOT = None if PROGRAMS else "PostgreSQL is not installed (apt-get install postgresql)"


class Postgres:
    """A copy of a cluster that initdb makes once; start, stop. .url is the value for hob.json's farm.metadata."""

    empty = None  # the cluster to copy

    def __init__(self, folder, connections=60):
        self.folder, self.connections = pathlib.Path(folder), connections
        self.folder.mkdir()
        # initdb refuses root; any other user will do.
        self.user = pwd.getpwnam("nobody").pw_uid if os.getuid() == 0 else None
        if self.user is not None:
            parent = self.folder.parent
            parent.chmod(parent.stat().st_mode | 0o055)
            os.chown(self.folder, self.user, -1)
        self.data = self.folder / "data"
        if not Postgres.empty:
            Postgres.empty = fresh_folder("pg") / "data"
            atexit.register(shutil.rmtree, Postgres.empty.parent, ignore_errors=True)
            if self.user is not None:
                os.chown(Postgres.empty.parent, self.user, -1)
            self.call("initdb", "-D", Postgres.empty, "-U", "hob", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        subprocess.run(["cp", "-a", Postgres.empty, self.data], check=True)
        self.url = f"postgresql:///postgres?host={self.folder}&user=hob"
        self.process = None
        self.start()

    def program(self, name):
        return f"{PROGRAMS[-1]}/{name}"

    def call(self, name, *arguments, timeout=DEADLINE, **more):
        done = subprocess.run([self.program(name), *map(str, arguments)], capture_output=True, text=True, timeout=timeout,
                              cwd=self.folder, user=self.user, check=False, **more)
        assert done.returncode == 0, (name, done.stdout, done.stderr)
        return done.stdout

    def start(self):
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(
                [self.program("postgres"), "-D", self.data, "-k", self.folder, "-c", "listen_addresses=", "-c", f"max_connections={self.connections}",
                 "-c", "fsync=off", "-c", "full_page_writes=off", "-c", "shared_buffers=16MB"],
                stdout=log, stderr=log, cwd=self.folder, user=self.user, start_new_session=True)
        end = time.monotonic() + DEADLINE
        while subprocess.run([self.program("pg_isready"), "-q", "-h", self.folder], check=False).returncode != 0:
            assert self.process.poll() is None and time.monotonic() < end, (self.folder / "log").read_text()
            time.sleep(0.02)

    def sql(self, statement, timeout=DEADLINE):
        """Rows as lists of texts."""
        said = self.call("psql", "-X", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-F", "\t", "-h", self.folder, "-U", "hob", "-c", statement,
                         "postgres", timeout=timeout)
        return [line.split("\t") for line in said.splitlines()]

    def all_processes(self):
        """The server and its children, one per connection."""
        pid = self.process.pid
        children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return [pid, *map(int, children)]

    def freeze(self):
        for pid in self.all_processes():
            os.kill(pid, signal.SIGSTOP)

    def thaw(self):
        for pid in reversed(self.all_processes()):
            os.kill(pid, signal.SIGCONT)

    def stop(self, how=signal.SIGINT):
        if self.process and self.process.poll() is None:
            self.process.send_signal(how)
            self.process.wait(DEADLINE)

    def remove(self):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


class Wire:
    """A local port that forwards to `target`, a port or the path of a socket, and can be cut: data then waits, as in a network
    that drops every packet, and no connection is refused."""

    def __init__(self, target):
        self.target, self.whole = target, threading.Event()
        self.whole.set()
        self.door = socket.create_server(("127.0.0.1", 0))
        self.port = self.door.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def cut(self):
        self.whole.clear()

    def mend(self):
        self.whole.set()

    def stop(self):
        self.mend()
        self.door.close()

    def accept(self):
        try:
            while True:
                near, _ = self.door.accept()
                threading.Thread(target=self.carry, args=(near,), daemon=True).start()
        except OSError:
            pass

    def carry(self, near):
        self.whole.wait()
        with near, socket.socket(socket.AF_UNIX if isinstance(self.target, str) else socket.AF_INET) as far:
            try:
                far.connect(self.target if isinstance(self.target, str) else ("127.0.0.1", self.target))
            except OSError:
                return
            back = threading.Thread(target=self.pump, args=(far, near), daemon=True)
            back.start()
            self.pump(near, far)
            back.join()

    def pump(self, source, sink):
        try:
            while data := source.recv(1 << 16):
                self.whole.wait()
                sink.sendall(data)
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


class Bucket:
    """An S3 store in memory that verifies every signature. fault(method, name) -> None, a status, the code of a 403, (status,
    code), "cut", "half", "endless STATUS|head", or the bytes of another body. `more`: every list claims to be truncated."""

    ACCESS, SECRET, REGION = "hob-access", "hob/secret+key=", "eu-test-1"

    def __init__(self):
        self.objects, self.uploads, self.asked, self.wrong = {}, {}, [], []
        self.made, self.more, self.fault = False, False, lambda method, name: None
        bucket = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def answer(self, status, body=b"", **headers):
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name.replace("_", "-"), value)
                if self.command != "HEAD" or "Content_Length" not in headers:
                    self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

            def problem(self, status, code):
                self.answer(status, f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>said the bucket</Message></Error>".encode())

            def answer_half(self, body):
                """The right head, half of the body, and then the end of the connection."""
                self.close_connection = True
                self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body))
                if self.command == "GET":
                    self.wfile.write(body[:len(body) // 2])

            def answer_endlessly(self, what):
                self.close_connection = True
                end = time.monotonic() + DEADLINE
                with contextlib.suppress(OSError):
                    if what == "head":
                        self.wfile.write(b"HTTP/1.1 200 OK\r\n")
                        while time.monotonic() < end:
                            self.wfile.write(b"X-More: " + b"x" * 4000 + b"\r\n")
                    self.wfile.write(f"HTTP/1.1 {what} Odd\r\nConnection: close\r\n\r\n".encode())
                    while time.monotonic() < end:
                        self.wfile.write(b"x" * 65536)

            def handle_one(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                path, _, query = self.path.partition("?")
                name = path.removeprefix("/studio").lstrip("/")
                asked = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
                bucket.asked.append((self.command, name))
                fault = bucket.fault(self.command, name)
                if fault == "cut":
                    self.close_connection = True
                    self.connection.shutdown(socket.SHUT_RDWR)
                elif fault == "half":
                    self.answer_half(bucket.objects.get(name, b""))
                elif isinstance(fault, bytes):
                    self.answer(200, fault)
                elif isinstance(fault, str) and fault.startswith("endless"):
                    self.answer_endlessly(fault.split()[1])
                elif isinstance(fault, tuple):
                    self.problem(*fault)
                elif isinstance(fault, str):
                    self.problem(403, fault)
                elif fault:
                    self.problem(fault, {403: "QuotaExceeded", 503: "SlowDown"}.get(fault, "InternalError"))
                elif why := bucket.forged(self, path, query, body):
                    bucket.wrong.append((self.command, self.path, why))
                    self.problem(403, why)
                else:
                    bucket.act(self, name, asked, body)

            do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = handle_one

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        self.url = f"s3+http://127.0.0.1:{self.port}/studio?region={self.REGION}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()

    def forged(self, request, path, query, body):
        """AWS Signature Version 4, from its specification."""
        said = request.headers.get("Authorization", "")
        found = re.fullmatch(r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/s3/aws4_request, SignedHeaders=([a-z0-9;-]+), "
                             r"Signature=([0-9a-f]{64})", said)
        digest, when = request.headers.get("x-amz-content-sha256"), request.headers.get("x-amz-date", "")
        if not found or found[1] != self.ACCESS or found[3] != self.REGION or not digest:
            return "InvalidAccessKeyId" if found else "AccessDenied"
        if digest != "UNSIGNED-PAYLOAD" and digest != hashlib.sha256(body).hexdigest():
            return "XAmzContentSHA256Mismatch"
        age = datetime.datetime.now(datetime.timezone.utc) - datetime.datetime.strptime(when + "+0000", "%Y%m%dT%H%M%SZ%z")
        if abs(age.total_seconds()) > 900:
            return "RequestTimeTooSkewed"
        headers = "".join(f"{name}:{' '.join(request.headers[name].split())}\n" for name in found[4].split(";"))
        pairs = sorted(pair if "=" in pair else pair + "=" for pair in query.split("&") if pair)
        canonical = "\n".join([request.command, path, "&".join(pairs), headers, found[4], digest])
        scope = f"{found[2]}/{found[3]}/s3/aws4_request"
        text = "\n".join(["AWS4-HMAC-SHA256", when, scope, hashlib.sha256(canonical.encode()).hexdigest()])
        key = b"AWS4" + self.SECRET.encode()
        for part in scope.split("/"):
            key = hmac.new(key, part.encode(), hashlib.sha256).digest()
        return None if hmac.new(key, text.encode(), hashlib.sha256).hexdigest() == found[5] else "SignatureDoesNotMatch"

    def act(self, request, name, asked, body):
        command = request.command
        if command == "PUT" and not name:
            self.made = True
            request.answer(200)
        elif not self.made:
            request.problem(404, "NoSuchBucket")
        elif "list-type" in asked:
            request.answer(200, self.page(asked))
        elif command == "POST" and "uploads" in asked:
            upload = f"up/{len(self.uploads)}+="
            self.uploads[upload] = {}
            request.answer(200, f"<InitiateMultipartUploadResult><UploadId>{upload}</UploadId></InitiateMultipartUploadResult>".encode())
        elif command == "PUT" and "partNumber" in asked:
            self.uploads[asked["uploadId"]][int(asked["partNumber"])] = body
            request.answer(200, ETag=f'"{hashlib.md5(body).hexdigest()}"')
        elif command == "POST" and "uploadId" in asked:
            parts = self.uploads.pop(asked["uploadId"])
            listed = re.findall(r'<PartNumber>(\d+)</PartNumber><ETag>"([0-9a-f]+)"</ETag>', body.decode())
            right = [(str(n), hashlib.md5(parts[n]).hexdigest()) for n in sorted(parts)] == listed
            self.objects[name] = b"".join(parts[n] for n in sorted(parts))
            request.answer(200, b"<CompleteMultipartUploadResult/>" if right else b"<Error><Code>InvalidPart</Code></Error>")
        elif command == "DELETE" and "uploadId" in asked:
            self.uploads.pop(asked["uploadId"], None)
            request.answer(204)
        elif command == "PUT":
            self.objects[name] = body
            request.answer(200)
        elif command == "DELETE":
            self.objects.pop(name, None)
            request.answer(204)
        elif name not in self.objects:
            request.problem(404, "NoSuchKey")
        elif command == "HEAD":
            request.answer(200, Content_Length=str(len(self.objects[name])))
        else:
            request.answer(200, self.objects[name])

    def page(self, asked):
        names = [name for name in sorted(self.objects) if name.startswith(asked["prefix"])]
        begin = int(asked.get("continuation-token", "at+=0").removeprefix("at+="))
        rows = "".join(f"<Contents><Key>{name}</Key><LastModified>2020-01-01T00:00:00.000Z</LastModified><Size>{len(self.objects[name])}</Size>"
                       "</Contents>" for name in names[begin:begin + 3])
        more = begin + 3 < len(names) or self.more
        token = f"<NextContinuationToken>at+={begin + 3}</NextContinuationToken>" if more else ""
        return f"<ListBucketResult><IsTruncated>{str(more).lower()}</IsTruncated>{token}{rows}</ListBucketResult>".encode()
