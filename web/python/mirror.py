"""mirror.py: mirrors a folder into a mirror root of a Hob daemon, by looking every two seconds: what hob-agent does,
for systems without it. `python3 hob.py mirror FOLDER URL --root NAME` starts it. docs/mirror.md has the protocol."""
import argparse
import collections
import contextlib
import fnmatch
import getpass
import glob
import hashlib
import os
import re
import socket
import sys
import threading
import time
import urllib.parse

IGNORED = ["~$*", "*.tmp", "*.blend@", "*.blend1", "*.blend2", "*.swp", "*~", "Thumbs.db", "desktop.ini", ".DS_Store", ".git", ".svn",
           ".hob-mirror"]
# Why a name cannot be sent; the same as hob-agent's.
UNPORTABLE = [(re.compile(r"[\ud800-\udfff]"), "is not valid Unicode"), (re.compile(r"[\x00-\x1f\x7f]"), "holds a control character"),
              (re.compile(r'[<>:"|?*\\]'), 'holds one of < > : " | ? * \\'), (re.compile(r"[. ]$"), "has a part that ends with a dot or a space"),
              (re.compile("^(con|prn|aux|nul|conin\\$|conout\\$|(com|lpt)[0-9\u00b9\u00b2\u00b3]) *(\\.|$)", re.I), "holds the name of a device of Windows")]
PAUSE_S, GRACE_S, FEW = 2.0, 0.4, 3


def digest_of(files):
    """Digest of a folder; files: {path: SHA-256}."""
    whole, groups = hashlib.sha256(), {}
    for path in sorted(files, key=str.encode):
        name, slash, rest = path.partition("/")
        groups.setdefault((name, slash), {})[rest] = files[path]
    for (name, slash), inside in groups.items():
        digest = digest_of(inside) if slash else inside[""]
        whole.update((b"d" if slash else b"f") + name.encode() + b"\0" + bytes.fromhex(digest))
    return whole.hexdigest()


class Mirror:
    def __init__(self, client, url, folder, root, base="", who="", yes=False, dry_run=False):
        self.client, self.url, self.folder, self.base, self.yes, self.dry_run = client, url, os.path.abspath(folder), base, yes, dry_run
        self.who = who or f"{getpass.getuser()}@{socket.gethostname()}"
        self.at = f"/api/v1/mirrors/{urllib.parse.quote(root, safe='')}/"
        self.known = {}  # path -> (stat, digest)
        self.files = {}  # path -> digest: on the disk
        self.sent = None  # the same at the daemon; None: no session
        self.gone = set()  # paths that the last look did not find
        self.session, self.seq, self.waits = "", 0, False
        self.root, self.told, self.lines, self.lock, self.status = root, set(), collections.deque(maxlen=20), threading.Lock(), None
        self.prefix = f"{root}/{base}/" if base else root + "/"

    def say(self, text):
        text = time.strftime("%H:%M:%S ") + re.sub(r"[\x00-\x1f\x7f]", "?", text).encode(errors="replace").decode()
        with self.lock:
            print(text, flush=True)
            self.lines.append(text)

    def skipped(self, path, why):
        """Says it once; always true."""
        if path not in self.told:
            self.told.add(path)
            self.say(f"skipped {path}: {why}")
        return True

    def tell(self):
        """Writes what `hob.py mirror status` prints."""
        state = "in step" if self.sent is not None else "not connected"
        with self.lock:
            text = f"{self.folder} -> {self.url} root {self.prefix[:-1]}: {state}\n" + "".join(f"  {line}\n" for line in self.lines)
        with contextlib.suppress(OSError):
            with open(self.status + ".new", "w", encoding="utf-8") as file:
                file.write(text)
            os.replace(self.status + ".new", self.status)

    def news(self):
        """Thread: says what the daemon says about what this mirror sends."""
        for event in self.client.watch(glob=glob.escape(self.prefix) + "**", kinds="asset"):
            data = event.data or {}
            if not data.get("asset"):
                continue
            error, pair = data.get("error"), (data.get("diff") or {}).get("triangles") or (0, 0)
            text = f"broken: {error['message']}" if error else data["kind"]
            if data["kind"] == "cooked" and not error:
                text += f" {data.get('cook_ms', 0)} ms"
                text += f"  {(pair[1] - pair[0]) * 100 / pair[0]:+.0f} % triangles" if pair[0] and pair[0] != pair[1] else ""
            self.say(f"{data['asset']}  {text}")

    def ask(self, method, what, body):
        return self.client._json(method, self.at + what, body)

    def patterns(self):
        found = list(IGNORED)
        try:
            with open(os.path.join(self.folder, ".hobignore"), encoding="utf-8") as lines:
                found += [line.strip().rstrip("/") for line in lines if line.strip() and line[0] != "#"]
        except FileNotFoundError:
            pass
        return found

    def look(self):
        """Reads what has changed; a file that changes while it is read keeps its old digest until the next look."""
        ignored, found = self.patterns(), {}
        if not os.path.isdir(self.folder):
            raise OSError(f"{self.folder} is gone; nothing is deleted")

        def skip(name, path, whole):
            if any(fnmatch.fnmatchcase(name, p) or fnmatch.fnmatchcase(path, p.lstrip("/")) for p in ignored):
                return True
            if os.path.islink(whole):
                return self.skipped(path, "links and junctions are not followed")
            why = next((words for pattern, words in UNPORTABLE if pattern.search(name)), None)
            return why and self.skipped(path, "the name " + why)

        def stop(error):
            raise error
        for place, folders, names in os.walk(self.folder, onerror=stop):
            below = os.path.relpath(place, self.folder).replace(os.sep, "/")
            below = "" if below == "." else below + "/"
            folders[:] = [name for name in folders if not skip(name, below + name, os.path.join(place, name))]
            for name in names:
                path, whole = below + name, os.path.join(place, name)
                if skip(name, path, whole) or not os.path.isfile(whole):
                    continue
                try:
                    stat = os.stat(whole)
                    mark = (stat.st_size, stat.st_mtime_ns, stat.st_ino)
                    if self.known.get(path, (None,))[0] != mark or time.time() - stat.st_mtime < PAUSE_S:
                        with open(whole, "rb") as file:
                            digest = hashlib.file_digest(file, "sha256").hexdigest()
                        after = os.stat(whole)
                        if (after.st_size, after.st_mtime_ns, after.st_ino) == mark:
                            self.known[path] = (mark, digest)
                    if path in self.known:
                        found[path] = self.known[path][1]
                except FileNotFoundError:
                    continue
                except OSError:  # locked: it stays as it was
                    if path in self.files:
                        found[path] = self.files[path]
        self.files = found

    def connect(self):
        opened = self.ask("PUT", "session", {"who": self.who, "program": "hob.py", "protocol": 1, "base": self.base,
                                             "folder": self.folder, "clock_ms": int(time.time() * 1000)})
        self.session, self.seq = opened["session"], 0
        if opened["note"]:
            self.say(opened["note"])
        sent, folders = {}, [""]
        if opened["tree"] == digest_of(self.files):
            sent, folders = dict(self.files), []
        while folders:
            answer, folders = self.ask("POST", "manifest", {"session": self.session, "folders": folders}), []
            for folder in answer["folders"]:
                for item in folder["items"]:
                    path = f"{folder['path']}/{item['name']}" if folder["path"] else item["name"]
                    inside = {p: d for p, d in self.files.items() if p.startswith(path + "/")}
                    if "tree" not in item:
                        mine = self.files.get(path)
                        later = mine and item["mtime_ms"] > self.known[path][0][1] // 1000000
                        if item["mine"] or mine == item["sha256"]:
                            sent[path] = item["sha256"]
                        elif later:
                            self.say(f"{path}: somebody else saved it later; the daemon keeps that version")
                            sent[path] = mine
                    elif item["tree"] == digest_of({p[len(path) + 1:]: d for p, d in inside.items()}):
                        sent.update(inside)
                    else:
                        folders.append(path)
        self.sent = sent
        self.say(f"connected to {self.url} as {self.who}: {len(self.files)} files")

    def changes(self):
        """A file that is renamed during a look may be found at both places or at none: what came is compared with files that
        are still there, and a deletion waits for the next look."""
        new = [path for path, digest in self.files.items() if self.sent.get(path) != digest]
        came = {self.files[path] for path in new if path not in self.sent}
        gone = {path: digest for path, digest in self.sent.items()
                if path not in self.files or (digest in came and not os.path.lexists(os.path.join(self.folder, path)))}
        by_digest, out = collections.defaultdict(list), []
        for path, digest in gone.items():
            by_digest[digest].append(path)
        for path in new:
            digest = self.files[path]
            if path in gone:
                continue
            if path not in self.sent and by_digest[digest]:
                source = by_digest[digest].pop()
                del gone[source]
                out.append({"move": source, "to": path, "sha256": digest})
                continue
            seen = {"seen": self.sent[path]} if path in self.sent else {}
            out.append({"put": path, "sha256": digest, "mtime_ms": max(0, self.known[path][0][1] // 1000000), **seen})
        self.waits = len(gone) >= FEW and len(gone) * 5 > len(self.sent) and not self.yes
        if self.waits:
            self.say(f"{len(gone)} of {len(self.sent)} files are gone: nothing is deleted until you start again with --yes")
            return out
        twice, self.gone = self.gone, set(gone)
        return out + [{"delete": path, "sha256": digest} for path, digest in gone.items() if path in twice or self.dry_run]

    def upload(self, changes):
        """False: a file is no longer what the look found."""
        paths = {change["sha256"]: change["put"] for change in changes if "put" in change}
        for digest in self.ask("POST", "have", {"digests": list(paths)})["missing"]:
            try:
                with open(os.path.join(self.folder, paths[digest]), "rb") as file:
                    data = file.read()
            except OSError:
                return False
            if hashlib.sha256(data).hexdigest() != digest:
                return False
            self.client._ask("PUT", "/blobs/" + digest, {"Content-Type": "application/octet-stream"}, data)
        return True

    def send(self, changes):
        if not self.upload(changes):
            return
        answer = self.ask("POST", "changes", {"session": self.session, "seq": self.seq + 1, "changes": changes})
        if answer["missing"]:
            return
        self.seq += 1
        for note in answer["notes"]:
            self.say(f"{note['path']} {note['text']}")
        for change in changes:
            old = change.get("move") or change.get("delete")
            if old:
                self.sent.pop(old, None)
            if "delete" not in change:
                self.sent[change.get("to") or change["put"]] = change["sha256"]
            self.say_change(change)

    def say_change(self, change):
        kind, would = next(kind for kind in ("put", "move", "delete") if kind in change), self.dry_run
        verb = {"put": ("sent", "would send"), "move": ("moved", "would move"), "delete": ("deleted", "would delete")}[kind][would]
        self.say(f"{verb} {change[kind]}" + (f" -> {change['to']}" if kind == "move" else ""))

    def step(self):
        """Sends what differs; true when nothing is left."""
        self.look()
        if self.sent is None:
            self.connect()
        changes = self.changes()
        if self.dry_run:
            for change in changes:
                self.say_change(change)
            return True
        for at in range(0, len(changes), 1000):
            self.send(changes[at:at + 1000])
        return not changes and not self.gone


def state_folder():
    place = os.environ.get("HOB_AGENT_STATE") or os.path.join(os.environ.get("LOCALAPPDATA") or os.environ.get("XDG_STATE_HOME") or
                                                              os.path.expanduser("~/.local/state"), "hob-agent")
    os.makedirs(place, exist_ok=True)
    return place


def hold(path):
    """Holds the lock file until the process ends. None: another process holds it."""
    file = open(path, "a", encoding="utf-8")
    try:
        if os.name == "nt":
            import msvcrt
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        return None
    return file


def print_status():
    """What the mirrors of this account do: hob-agent's as well."""
    found = sorted(glob.glob(os.path.join(glob.escape(state_folder()), "*", "status")))
    for path in found:
        lock = hold(os.path.join(os.path.dirname(path), "lock"))
        with open(path, encoding="utf-8", errors="replace") as file:
            print("ended  " if lock else "running", "", file.read(), end="")
        if lock:
            lock.close()
    if not found:
        print("no mirror has run in this account")
    return 0


def main(arguments):
    import hob
    if arguments == ["status"]:
        return print_status()
    options = argparse.ArgumentParser(prog="hob.py mirror", description=__doc__)
    options.add_argument("folder")
    options.add_argument("url")
    options.add_argument("--root", required=True)
    options.add_argument("--base", default="")
    options.add_argument("--who", default="")
    options.add_argument("--token-file")
    for flag in ("--once", "--dry-run", "--yes"):
        options.add_argument(flag, action="store_true")
    o = options.parse_args(arguments)
    token = os.environ.get("HOB_TOKEN")
    if o.token_file:
        try:
            with open(o.token_file, encoding="utf-8") as file:
                token = file.readline().strip()
        except OSError as error:
            print(f"the token file cannot be read: {error}", file=sys.stderr)
            return 2
    client = hob.Client(o.url, token=token)
    key = hashlib.sha256("\n".join((os.path.abspath(o.folder), o.url, o.root, o.base)).encode(errors="replace")).hexdigest()[:16]
    own = os.path.join(state_folder(), key)
    os.makedirs(own, exist_ok=True)
    lock = hold(os.path.join(own, "lock"))
    if not lock:
        print("another mirror of this folder runs; 'hob.py mirror status' shows it", file=sys.stderr)
        return 2
    mirror = Mirror(client, o.url, o.folder, o.root, o.base, o.who, o.yes, o.dry_run)
    mirror.status = os.path.join(own, "status")
    try:
        return run(mirror, o)
    finally:
        mirror.tell()


def run(mirror, o):
    import hob
    tries = 0
    if not o.once and not o.dry_run:
        threading.Thread(target=mirror.news, daemon=True).start()
    while True:
        try:
            done = mirror.step()
            tries = 0
        except (hob.Error, OSError) as error:
            mirror.sent, done, tries = None, False, tries + 1
            strange = str(error) == "the answer is not JSON"
            mirror.say(f"{o.url} does not answer like a Hob daemon" if strange else str(error))
            status = getattr(error, "status", 0)
            if strange or status in (400, 401, 403, 413) or (status == 404 and "root" in str(error)) or (status == 409 and "protocol" in str(error)):
                return 2
            if o.once and tries > 3:
                return 3
        if o.once and mirror.waits:
            return 4
        if done and (o.once or o.dry_run):
            failed = [] if o.dry_run else [name for name in mirror.client.sync(timeout=600, roots=[o.root])["failed"] if name.startswith(mirror.prefix)]
            for name in failed:
                mirror.say("failed " + name)
            return 1 if failed else 0
        mirror.tell()
        time.sleep(GRACE_S if o.once else PAUSE_S)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
