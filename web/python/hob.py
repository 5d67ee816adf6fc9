"""A Hob daemon from Python: what it has cooked, the blobs, and every change. One file, standard library only.

    import hob
    client = hob.Client("http://127.0.0.1:7780")
    for asset in client.assets(state="fresh"):
        print(asset["name"], asset["stats"]["triangles"])
    blob = client.get("art/props/duck.glb", "meshes", wait=10)      # bytes, checked against their SHA-256
    for event in client.watch("props/**"):                          # goes on through restarts of the daemon
        for output in event.data.get("outputs", []):
            if output["name"] == "meshes":
                blob = client.blob(output["hash"], older=blob)      # fetches only the bytes that changed

Errors are subclasses of hob.Error and carry what the daemon advises in `hint`. A client may be used by one thread; a
generator of events has a connection of its own.
"""
import hashlib
import http.client
import json
import os
import socket
import ssl
import struct
import time
import urllib.parse

BLOB_BYTES_MAX = 1 << 30
TEXT_BYTES_MAX = 64 << 20
LINE_BYTES_MAX = 1 << 20


class Error(Exception):
    """status: HTTP status, 0 without an answer; code: the daemon's error code; hint: what to do."""

    def __init__(self, message, status=0, code="", hint=""):
        super().__init__(f"{message} ({hint})" if hint else message)
        self.status, self.code, self.hint = status, code, hint


class Unreachable(Error):
    pass


class NotFound(Error):
    pass


class NotReady(Error):
    """The first cook is not finished; ask again, or with wait."""


class CookFailed(Error):
    pass


class Timeout(Error):
    pass


class BadBytes(Error):
    """The bytes do not match the hash, or the answer is not valid."""


KINDS = {404: NotFound, 202: NotReady, 503: NotReady, 422: CookFailed, 504: Timeout}


class Blob(bytes):
    """The bytes. hash, stale and rev identify them; fetched is the number of bytes transferred for them."""
    hash = ""
    fetched = 0
    stale = False
    rev = 0


class Event:
    """kind: hello, asset, reset, job ...; after reset, fetch everything that is shown again."""

    def __init__(self, kind, event_id, data):
        self.kind, self.id, self.data = kind, event_id, data

    @property
    def bytes_changed(self):
        """True: outputs were published; fetch those with a new hash. False: only the state has changed."""
        return bool(self.data.get("outputs"))

    def __repr__(self):
        return f"Event({self.kind!r}, {self.id!r}, {self.data!r})"


class _LocalConnection(http.client.HTTPConnection):
    """A connection to a Unix socket; its path takes the place of the host."""

    def __init__(self, path, _port=None, timeout=None):
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def _address(url):
    """The kind of connection, host and port of HOST:PORT, http://HOST[:PORT], https://HOST[:PORT] or unix:/path."""
    if url.startswith("unix:/"):
        return _LocalConnection, url[5:], None
    try:
        parts = urllib.parse.urlsplit(url if "://" in url else "http://" + url)
        port = parts.port
    except ValueError:
        parts, port = None, None
    if not parts or parts.scheme not in ("http", "https") or not parts.hostname or parts.path not in ("", "/"):
        raise Error(f"{url!r} is not a daemon's address",
                    hint="write HOST:PORT, http://HOST:PORT, https://HOST:PORT or unix:/path")
    return http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection, parts.hostname, port


def _daemon_here():
    """$HOB_URL, else the daemon whose cache is .hob in the current folder or one above, else the usual one."""
    if os.environ.get("HOB_URL"):
        return os.environ["HOB_URL"]
    folder = os.getcwd()
    while True:
        try:
            # In a folder that others can write, such as /tmp, this may be a pipe.
            file = os.open(os.path.join(folder, ".hob", "daemon.json"), os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
            try:
                # A file that neither this user nor root wrote does not count: the token is sent to the address in it.
                if not hasattr(os, "geteuid") or os.fstat(file).st_uid in (os.geteuid(), 0):
                    return str(json.loads(os.read(file, 4096))["url"])
            finally:
                os.close(file)
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            pass
        if os.path.dirname(folder) == folder:
            return "http://127.0.0.1:7780"
        folder = os.path.dirname(folder)


class Client:
    """`url`: HOST:PORT, http://HOST:PORT, https://HOST:PORT or unix:/path; by default HOB_URL, else the daemon that serves the current folder or one above. `token`: by default HOB_TOKEN; only needed if the daemon requires tokens. For https, SSL_CERT_FILE names the file of your own certificate authority."""

    def __init__(self, url=None, token=None, timeout=60.0):
        self._kind, self._host, self._port = _address(url or _daemon_here())
        self._timeout = timeout
        token = token or os.environ.get("HOB_TOKEN")
        self._headers = {"Authorization": "Bearer " + token} if token else {}
        self._kept = None

    def close(self):
        if self._kept:
            self._kept.close()
        self._kept = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def assets(self, **query):
        """Every asset that matches (q, root, state, kind ...: see /openapi.json), page by page."""
        cursor = {}
        while True:
            page = self._json("GET", "/api/v1/assets?" + urllib.parse.urlencode({"limit": 1000, **query, **cursor}))
            if not isinstance(page.get("items"), list):
                raise BadBytes("the answer is no page of assets")
            yield from page["items"]
            if not page.get("next"):
                return
            cursor = {"cursor": page["next"]}

    def get(self, name, output="meshes", wait=None):
        """The current output of an asset by name ("root/path"); `wait`: seconds to wait for a running cook."""
        target = "/a/" + urllib.parse.quote(name) + "?output=" + urllib.parse.quote(output)
        headers = {"Prefer": f"wait={int(wait)}"} if wait else {}
        response, body = self._ask("GET", target, headers, limit=BLOB_BYTES_MAX, more=wait or 0)
        blob = self._checked(body, (response.getheader("ETag") or "").strip('"'))
        blob.stale = response.getheader("Cook-State") != "fresh"
        rev = response.getheader("Cook-Rev") or ""
        blob.rev = int(rev) if rev.isdecimal() else 0
        return blob

    def blob(self, digest, older=None):
        """A blob by its SHA-256; with an older one of the same kind (bytes), only the differences are fetched."""
        if len(digest) != 64 or set(digest) - set("0123456789abcdef"):
            raise ValueError(f"{digest!r} is not 64 lower-case hexadecimal digits")
        fetched = 0

        def fetch(first, end):
            nonlocal fetched
            headers = {"Range": f"bytes={first}-{end - 1}"}
            response, body = self._ask("GET", "/blobs/" + digest, headers, limit=BLOB_BYTES_MAX)
            fetched += len(body)
            part = body if response.status == 206 else body[first:end]
            return part, int((response.getheader("Content-Range") or f"/{len(body)}").rpartition("/")[2])

        if older is not None:
            try:
                data = _delta(older, fetch)
                blob = self._checked(data, digest) if data is not None else None
            except (struct.error, ValueError):
                blob = None
            except Error as error:
                if not isinstance(error, BadBytes) and error.status != 416:
                    raise
                blob = None
            if blob is not None:
                blob.fetched = fetched
                return blob
        blob = self._checked(self._ask("GET", "/blobs/" + digest, limit=BLOB_BYTES_MAX)[1], digest)
        blob.fetched += fetched
        return blob

    def sync(self, timeout=30.0, roots=None):
        """Returns when every change saved before (in these watched folders, by name) is cooked or has failed: {"rev": n,
        "failed": [names]}."""
        body = {"timeout_ms": int(timeout * 1000), **({"roots": list(roots)} if roots else {})}
        return self._json("POST", "/api/v1/sync", body, more=timeout)

    def watch(self, glob=None, since=None, kinds=None, reconnect=True):
        """Events of assets that match, for ever: after a lost connection it continues after the last event. With
        reconnect=False the end of the connection raises Unreachable."""
        query = [(key, value) for key, value in (("asset", glob), ("kinds", kinds)) if value]
        target = "/api/v1/events?" + urllib.parse.urlencode(query)
        state = {"id": since, "retry": 1.0}
        pause = 0.25
        while True:
            try:
                for event in self._stream(target, state):
                    pause = 0.25
                    yield event
                problem = Unreachable("the event stream ended")
            except (OSError, http.client.HTTPException) as error:
                problem = Unreachable(f"the event stream was lost: {error}", hint="is hob serve running?")
            except NotReady as error:
                problem = error
            if not reconnect:
                raise problem
            time.sleep(max(pause, 0.0))
            pause = min(pause * 2, 8.0)

    events = watch

    def _stream(self, target, state):
        # The daemon sends something at least every 10 s.
        connection = self._kind(self._host, self._port, timeout=35)
        try:
            headers = dict(self._headers, Accept="text/event-stream")
            if state["id"]:
                headers["Last-Event-ID"] = state["id"]
            connection.request("GET", target, headers=headers)
            response = connection.getresponse()
            if response.status != 200:
                self._raise(response.status, response.read(TEXT_BYTES_MAX))
            kind, data, size = "message", [], 0
            while True:
                line = response.readline(LINE_BYTES_MAX)
                if not line:
                    return
                size += len(line)
                if not line.endswith(b"\n") or size > LINE_BYTES_MAX:
                    raise BadBytes(f"an event of more than {LINE_BYTES_MAX} bytes")
                name, _, value = line.decode("utf-8", "replace").rstrip("\r\n").partition(":")
                value = value[1:] if value.startswith(" ") else value
                if not name and not value:
                    if data:
                        yield Event(kind, state["id"], self._parse("\n".join(data)))
                    kind, data, size = "message", [], 0
                elif name == "data":
                    data.append(value)
                elif name == "event":
                    kind = value
                elif name == "id" and value.isprintable():
                    state["id"] = value
        finally:
            connection.close()

    def _ask(self, method, target, headers=None, body=None, limit=TEXT_BYTES_MAX, more=0):
        headers = {**self._headers, **(headers or {})}
        for attempt in (0, 1):
            fresh = self._kept is None
            if fresh:
                self._kept = self._kind(self._host, self._port)
            connection = self._kept
            connection.timeout = self._timeout + more
            if connection.sock:
                connection.sock.settimeout(self._timeout + more)
            try:
                connection.request(method, target, body=body, headers=headers)
                response = connection.getresponse()
                data = response.read(limit + 1)
                if len(data) > limit:
                    raise BadBytes(f"the answer has more than {limit} bytes")
                break
            except TimeoutError as error:
                self.close()
                raise Timeout(f"no answer within {self._timeout + more:.0f} s") from error
            except http.client.IncompleteRead as error:
                self.close()
                raise BadBytes("the answer was cut short") from error
            except ssl.SSLCertVerificationError as error:
                self.close()
                other = error.verify_code in (62, 64)  # of OpenSSL: another name, another address
                raise Unreachable(f"{self._host}:{self._port}: {error.verify_message}", hint="use a name that it was made for" if other else
                                  "set SSL_CERT_FILE to the file of the authority that signed it") from error
            except ssl.SSLError as error:
                self.close()
                raise Unreachable(f"{self._host}:{self._port} does not speak TLS ({error.reason})",
                                  hint="without TLS the address begins with http://") from error
            except (OSError, http.client.HTTPException) as error:
                self.close()
                # A kept connection may have been closed just before it was used again.
                if fresh or attempt or method != "GET":
                    closed = isinstance(error, http.client.RemoteDisconnected) and self._kind is http.client.HTTPConnection
                    hint = "is hob serve running?" + " A daemon with a certificate is asked as https://HOST:PORT" * closed
                    raise Unreachable(f"{self._host}:{self._port}: {error}", hint=hint) from error
            except Error:
                self.close()
                raise
        if response.status not in (200, 206) and (method, response.status) not in (("PUT", 201), ("PUT", 204)):
            self._raise(response.status, data)
        return response, data

    def _json(self, method, target, body=None, more=0):
        headers = {"Content-Type": "application/json"} if body is not None else {}
        sent = json.dumps(body) if body is not None else None
        return self._parse(self._ask(method, target, headers, sent, more=more)[1])

    @staticmethod
    def _parse(text):
        try:
            answer = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise BadBytes("the answer is not JSON") from error
        if not isinstance(answer, dict):
            raise BadBytes("the answer is not a JSON object")
        return answer

    @staticmethod
    def _raise(status, data):
        try:
            problem = json.loads(data)
            problem = problem if isinstance(problem, dict) else {}
        except (ValueError, RecursionError):
            problem = {}
        message = problem.get("detail") or ("not cooked yet" if status == 202 else f"the daemon answered {status}")
        raise KINDS.get(status, Error)(message, status, problem.get("code") or "", problem.get("hint") or "")

    @staticmethod
    def _checked(data, expected):
        found = hashlib.sha256(data).hexdigest()
        if found != expected:
            raise BadBytes(f"{len(data)} bytes hash to {found}, not to {expected or 'anything (no ETag)'}")
        blob = Blob(data)
        blob.hash, blob.fetched = found, len(data)
        return blob


# Packed files (schema/FORMATS.md): a header and a table of sections, each with a digest; the section RNGS has digests of
# smaller parts. Parts with the same digest are copied from the older file, wherever they are in it.
_HEADER = struct.Struct("<8sIHHIIIHHQQ16s")
_SECTION = struct.Struct("<IIQQQIIHBBI16s")
_RANGE = struct.Struct("<QI12s")
_RNGS, _TABLE_BYTES, _GAP_BYTES, _TABLE_BYTES_MAX = int.from_bytes(b"RNGS", "little"), 4096, 4096, 1 << 20


def _table_end(data):
    """The end of a packed file's table; None: not a packed file, or of an unknown version."""
    magic, endian, major, _, _, _, count, header_bytes, entry_bytes, *_ = _HEADER.unpack_from(data)
    known = magic == b"\x89HOB\r\n\x1a\n" and endian == 0x01020304 and major == 1 and entry_bytes >= _SECTION.size
    end = header_bytes + count * entry_bytes
    return end if known and end <= _TABLE_BYTES_MAX else None


def _sections(data):
    """(type, first, end, digest, holds ranges that can be read) of each section."""
    *_, count, header_bytes, entry_bytes, _, _, _ = _HEADER.unpack_from(data)
    for i in range(count):
        kind, _, offset, stored, _, _, stride, codec, _, _, _, digest = _SECTION.unpack_from(data, header_bytes + i * entry_bytes)
        yield kind, offset, offset + stored, digest, kind == _RNGS and codec == 0 and stride == _RANGE.size


def _ranges(data, sections):
    for _, first, end, _, holds_ranges in sections:
        if holds_ranges and end <= len(data):
            return list(_RANGE.iter_unpack(data[first:end - (end - first) % _RANGE.size]))
    return []


def _delta(older, fetch):
    """The whole file, not yet checked, from `older` and from fetch(first, end) -> (bytes, size of the whole); None: not possible."""
    end = _table_end(older)
    if end is None or end > len(older):
        return None
    known, old = {}, list(_sections(older))
    for _, first, end, digest, _ in old:
        known[digest, end - first] = first
    for offset, size, digest in _ranges(older, old):
        known[digest, size] = offset
    head, total = fetch(0, _TABLE_BYTES)
    if len(head) >= total:
        return head
    end = _table_end(head)
    if end is None or end > total or total > BLOB_BYTES_MAX:
        return None
    if end > len(head):
        head, _ = fetch(0, end)
    whole, came, needs = bytearray(total), len(head), []
    whole[:came] = head

    def need(first, end):
        if first < end and needs and first <= needs[-1][1] + _GAP_BYTES:
            needs[-1][1] = end
        elif first < end:
            needs.append([first, end])

    def fill(digest, first, end):
        at = known.get((digest, end - first))
        if at is not None and end <= total and at + end - first <= len(older):
            whole[first:end] = older[at:at + end - first]
            return True
        return False

    sections = list(_sections(head))
    for _, first, end, digest, holds_ranges in sections:
        if holds_ranges and end > came and not fill(digest, first, end):
            whole[first:end] = fetch(first, end)[0]
    ranges = _ranges(whole, sections)
    for kind, at, end, digest, _ in sections:
        if kind == _RNGS or end <= came or fill(digest, at, end):
            continue
        for offset, size, part in ranges:
            if at <= offset and offset + size <= end:
                need(at, offset)
                if not fill(part, offset, offset + size):
                    need(offset, offset + size)
                at = offset + size
        need(at, end)
    for first, end in needs:
        whole[first:end] = fetch(first, end)[0]
    return bytes(whole)


if __name__ == "__main__":
    import sys
    if sys.argv[1:2] != ["mirror"]:
        sys.exit("usage: hob.py mirror FOLDER URL --root NAME [--help]")
    import mirror
    sys.exit(mirror.main(sys.argv[2:]))
