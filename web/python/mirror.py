"""mirror.py: mirrors a folder into a mirror root of a Hob daemon, by looking every two seconds: what hob-agent does,
for systems without it. `python3 hob.py mirror FOLDER URL --root NAME` starts it. docs/mirror.md has the protocol."""
import argparse
import fnmatch
import getpass
import hashlib
import os
import re
import socket
import sys
import time
import urllib.parse

IGNORED = ["~$*", "*.tmp", "*.blend@", "*.blend1", "*.blend2", "*.swp", "*~", "Thumbs.db", "desktop.ini", ".DS_Store", ".git", ".svn",
           ".hob-mirror"]
UNPORTABLE = re.compile(r'[<>:"\\|?*\x00-\x1f\x7f]|[. ]$|^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)', re.I)
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
    def __init__(self, client, folder, root, base="", who="", yes=False, dry_run=False):
        self.client, self.folder, self.base, self.yes, self.dry_run = client, os.path.abspath(folder), base, yes, dry_run
        self.who = who or f"{getpass.getuser()}@{socket.gethostname()}"
        self.at = f"/api/v1/mirrors/{urllib.parse.quote(root, safe='')}/"
        self.known = {}  # path -> (stat, digest)
        self.files = {}  # path -> digest: on the disk
        self.sent = None  # the same at the daemon; None: no session
        self.session, self.seq, self.waits = "", 0, False

    def say(self, text):
        print(time.strftime("%H:%M:%S"), text, flush=True)

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

        def skip(name, path):
            return any(fnmatch.fnmatchcase(name, p) or fnmatch.fnmatchcase(path, p.lstrip("/")) for p in ignored) or UNPORTABLE.search(name)

        def stop(error):
            raise error
        for place, folders, names in os.walk(self.folder, onerror=stop):
            below = os.path.relpath(place, self.folder).replace(os.sep, "/")
            below = "" if below == "." else below + "/"
            folders[:] = [name for name in folders if not skip(name, below + name) and not os.path.islink(os.path.join(place, name))]
            for name in names:
                path, whole = below + name, os.path.join(place, name)
                if skip(name, path) or os.path.islink(whole) or not os.path.isfile(whole):
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
        self.say(f"connected as {self.who}: {len(self.files)} files")

    def changes(self):
        new = [path for path, digest in self.files.items() if self.sent.get(path) != digest]
        gone = [path for path in self.sent if path not in self.files]
        by_digest = {self.sent[path]: path for path in gone}
        out = []
        for path in new:
            digest = self.files[path]
            source = by_digest.pop(digest, None) if path not in self.sent else None
            if source is not None:
                gone.remove(source)
                out.append({"move": source, "to": path, "sha256": digest})
                continue
            seen = {"seen": self.sent[path]} if path in self.sent else {}
            out.append({"put": path, "sha256": digest, "mtime_ms": max(0, self.known[path][0][1] // 1000000), **seen})
        self.waits = len(gone) >= FEW and len(gone) * 5 > len(self.sent) and not self.yes
        if self.waits:
            self.say(f"{len(gone)} of {len(self.sent)} files are gone: nothing is deleted until you start again with --yes")
            return out
        return out + [{"delete": path, "sha256": self.sent[path]} for path in gone]

    def upload(self, changes):
        paths = {change["sha256"]: change["put"] for change in changes if "put" in change}
        for digest in self.ask("POST", "have", {"digests": list(paths)})["missing"]:
            with open(os.path.join(self.folder, paths[digest]), "rb") as file:
                self.client._ask("PUT", "/blobs/" + digest, {"Content-Type": "application/octet-stream"}, file.read())

    def send(self, changes):
        self.upload(changes)
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
            self.say(" ".join(f"{name} {change[name]}" for name in ("put", "move", "to", "delete") if name in change))

    def step(self):
        """Sends what differs; true when nothing is left."""
        self.look()
        if self.sent is None:
            self.connect()
        changes = self.changes()
        if self.dry_run:
            for change in changes:
                self.say("would " + " ".join(f"{name} {change[name]}" for name in ("put", "move", "to", "delete") if name in change))
            return True
        for at in range(0, len(changes), 1000):
            self.send(changes[at:at + 1000])
        return not changes


def main(arguments):
    import hob
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
    mirror = Mirror(client, o.folder, o.root, o.base, o.who, o.yes, o.dry_run)
    tries = 0
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
            prefix = f"{o.root}/{o.base}/" if o.base else o.root + "/"
            failed = [] if o.dry_run else [name for name in client.sync(timeout=600, roots=[o.root])["failed"] if name.startswith(prefix)]
            for name in failed:
                mirror.say("failed " + name)
            return 1 if failed else 0
        time.sleep(GRACE_S if o.once else PAUSE_S)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
