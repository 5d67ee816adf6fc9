"""Git repositories as sources: hob-git by itself, and in a daemon; repositories that are written to do harm."""
import base64
import hashlib
import http.server
import json
import os
import pathlib
import random
import re
import shutil
import socket
import struct
import subprocess
import sys
import threading
import unittest
import zlib

from hobtest import DEADLINE, HOB, PROJECT, Daemon, Scenario, amount, beside, fresh_folder, main, obj_text, png, until

HOB_GIT = beside("hob-git")
STUDIO = pathlib.Path(__file__).parent / "studio_history.py"
WHO = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0",
       "GIT_AUTHOR_NAME": "Ann", "GIT_AUTHOR_EMAIL": "ann@example.org", "GIT_COMMITTER_NAME": "Ann",
       "GIT_COMMITTER_EMAIL": "ann@example.org"}


class Repository:
    """A working copy and the bare repository that it pushes to."""

    def __init__(self, folder):
        self.work, self.bare, self.clock = folder / "work", folder / "art.git", 1700000000
        self.work.mkdir(parents=True)
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", self.bare], check=True, env={**os.environ, **WHO})
        self.git("init", "-q", "-b", "main")
        self.git("remote", "add", "origin", self.bare)

    def git(self, *words, stdin=None, folder=None):
        """Runs git, a second later each time; returns what it prints."""
        self.clock += 1
        when = {"GIT_AUTHOR_DATE": f"{self.clock} +0000", "GIT_COMMITTER_DATE": f"{self.clock} +0000"}
        done = subprocess.run(["git", *map(str, words)], cwd=folder or self.work, env={**os.environ, **WHO, **when},
                              input=stdin, capture_output=True, check=False)
        assert done.returncode == 0, (words, done.stderr)
        return done.stdout.decode().strip()

    def write(self, files):
        """files: {path: bytes, text, or None to delete}."""
        for path, data in files.items():
            place = self.work / path
            if data is None:
                place.unlink()
                continue
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data.encode() if isinstance(data, str) else data)

    def commit(self, subject, files, push=True):
        self.write(files)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", subject)
        if push:
            self.git("push", "-q", "-f", "origin", "HEAD")
        return self.git("rev-parse", "HEAD")

    def put_object(self, kind, data):
        """Stores any bytes as an object, past git's own checks."""
        whole = f"{kind} {len(data)}\0".encode() + data
        name = hashlib.sha1(whole).hexdigest()
        place = self.bare / "objects" / name[:2] / name[2:]
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(zlib.compress(whole))
        return name

    def put_circle(self, *names):
        """A pack of deltas whose bases are a circle; one: it is its own base. Nothing is ever unpacked."""
        pack, places, delta = b"PACK" + struct.pack(">II", 2, len(names)), {}, zlib.compress(b"\x04\x04\x04abcd")
        for name, base in zip(names, names[1:] + names[:1]):
            places[name] = len(pack)
            pack += bytes([7 << 4 | 7]) + bytes.fromhex(base) + delta
        pack += hashlib.sha1(pack).digest()
        order = sorted(names)
        index = b"\xfftOc" + struct.pack(">I256I", 2, *(sum(int(name[:2], 16) <= high for name in order) for high in range(256)))
        index += b"".join(map(bytes.fromhex, order)) + bytes(4 * len(order)) + struct.pack(f">{len(order)}I", *(places[name] for name in order))
        index += pack[-20:]
        place = self.bare / "objects/pack" / f"pack-{pack[-20:].hex()}"
        place.parent.mkdir(exist_ok=True)
        place.with_suffix(".pack").write_bytes(pack)
        place.with_suffix(".idx").write_bytes(index + hashlib.sha1(index).digest())

    def put_tree(self, entries):
        """entries: [(mode, name as bytes, id)], written in this order."""
        return self.put_object("tree", b"".join(f"{mode:o} ".encode() + name + b"\0" + bytes.fromhex(id_)
                                                for mode, name, id_ in entries))

    def put_commit(self, tree, branch=None, parents=()):
        lines = [f"tree {tree}", *(f"parent {parent}" for parent in parents), "author A <a@b> 1 +0000", "committer A <a@b> 2 +0000"]
        name = self.put_object("commit", ("\n".join(lines) + "\n\nby hand\n").encode())
        if branch:
            place = self.bare / "refs/heads" / branch
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(name + "\n")
        return name


class LargeFiles:
    """A server of Git LFS on loopback: the batch API with basic transfers. wrong: {oid: how it misbehaves}."""

    def __init__(self, files, token=None):
        self.files, self.asked, self.token, self.wrong, self.busy, self.place = files, [], token, {}, 0, None
        outer = self

        class Answers(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def give(self, status, body, kind="application/vnd.git-lfs+json", **fields):
                outer.asked.append((self.command, self.path, self.headers.get("Authorization")))
                self.send_response(status)
                for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), **fields}.items():
                    if value:
                        self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def refuses(self):
                if outer.busy:
                    outer.busy -= 1
                    self.give(503, b"{}", **{"Retry-After": "1"})
                elif outer.token and self.headers.get("Authorization") != outer.token:
                    self.give(401, b"{}")
                else:
                    return False
                return True

            def do_POST(self):
                wanted = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                if self.refuses():
                    return
                if isinstance(outer.place, bytes):
                    self.give(200, outer.place)
                    return
                objects = [{**each, **({"actions": {"download": {"href": f"{outer.place or outer.url}/files/{each['oid']}"}}} if each["oid"] in outer.files
                                       else {"error": {"code": 404, "message": "not here"}})} for each in wanted["objects"]]
                self.give(200, json.dumps({"transfer": "basic", "objects": objects}).encode())

            def do_GET(self):
                if self.refuses():
                    return
                oid = self.path.rpartition("/")[2]
                data, wrong = outer.files.get(oid), outer.wrong.get(oid, "")
                if wrong.startswith(("http", "file", "/")):
                    self.give(302, b"", **{"Location": wrong})
                elif wrong == "short":
                    self.give(200, data[:9], **{"Content-Length": str(len(data))})
                    self.close_connection = True
                elif wrong == "endless":
                    self.give(200, data * 2, **{"Content-Length": str(len(data) * 2)})
                elif wrong == "chunks":
                    self.give(200, b"", **{"Transfer-Encoding": "chunked", "Content-Length": ""})
                    try:
                        while True:
                            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
                    except OSError:
                        pass
                elif wrong == "packed":
                    self.give(200, zlib.compress(bytes(len(data) * 1000)), **{"Content-Encoding": "gzip"})
                elif wrong == "other":
                    self.give(200, data[:-1] + b"!")
                elif wrong == "loop":
                    self.give(302, b"", **{"Location": self.path})
                else:
                    self.give(200 if data else 404, data or b"{}", "application/octet-stream")

            def log_message(self, *_):
                pass
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Reader:
    """hob-git, asked as the daemon asks it."""

    def __init__(self, repository, *prefix, sandbox=0, more=()):
        self.socket, theirs = socket.socketpair()
        self.process = subprocess.Popen([*prefix, HOB_GIT, str(sandbox), repository, *more], stdin=subprocess.DEVNULL, stdout=theirs)
        theirs.close()
        self.stream = self.socket.makefile("rb")
        self.hello = self.answer()

    def answer(self):
        head = self.stream.readline() or b"no the process ended"
        word, _, rest = head.rstrip(b"\n").partition(b" ")
        if word != b"ok":
            return None, rest.decode()
        size, _, more = rest.partition(b" ")
        return self.stream.read(int(size)), more.decode()

    def ask(self, *words):
        self.socket.sendall(b" ".join(w if isinstance(w, bytes) else w.encode() for w in words) + b"\n")
        return self.answer()

    def diff(self, before, after, folder=""):
        """[(letter, id, path)]; a text: why not."""
        data, more = self.ask("diff", before, after, folder)
        if data is None:
            return more
        found = []
        while data:
            size = struct.unpack_from("<H", data, 21)[0]
            found.append((chr(data[0]), data[1:21].hex(), data[23:23 + size]))
            data = data[23 + size:]
        return found

    def close(self):
        self.stream.close()
        self.socket.close()
        return self.process.wait()


@unittest.skipUnless(HOB_GIT.exists(), "hob-git is built only where libgit2 is installed")
class GitScenario(Scenario):
    def repository(self):
        folder = fresh_folder("git")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        return Repository(folder)


class ReaderTest(GitScenario):
    def reader(self, repository, *prefix, **more):
        reader = Reader(repository.bare, *prefix, **more)
        self.addCleanup(reader.close)
        return reader

    def test_loose_and_packed_are_read_alike(self):
        repository = self.repository()
        first = repository.commit("one", {"a.obj": "a", "props/b.obj": "b", "props/c.obj": "c"})
        second = repository.commit("two\n\nat length", {"a.obj": "A", "props/b.obj": None, "props/new/d.obj": "b"})
        repository.git("tag", "-a", "-m", "a tag", "v1", first)
        repository.git("push", "-q", "origin", "v1", "HEAD:refs/heads/release/1")
        for packed in False, True:
            if packed:
                repository.git("gc", "-q", "--aggressive", "--prune=now", folder=repository.bare)
                repository.git("pack-refs", "--all", folder=repository.bare)
            reader = self.reader(repository)
            lines = reader.ask("refs")[0].decode().splitlines()
            self.assertEqual(lines[0], "@ refs/heads/main")
            self.assertEqual(lines[1:3], [f"{second} refs/heads/main", f"{second} refs/heads/release/1"])
            tag = lines[3].split()[0]
            self.assertNotEqual(tag, first)
            facts = reader.ask("commit", tag)[0].decode()
            self.assertIn(f"id {first}\n", facts)
            self.assertIn("author Ann\nsubject one\n", facts)
            self.assertNotIn("example.org", facts)
            self.assertIn("subject two\n", reader.ask("commit", second)[0].decode())
            changes = {path: (letter, id_) for letter, id_, path in reader.diff(first, second)}
            self.assertEqual({path: letter for path, (letter, _) in changes.items()},
                             {b"a.obj": "P", b"props/b.obj": "D", b"props/new/d.obj": "P"})
            self.assertEqual(reader.ask("blob", changes[b"a.obj"][1])[0], b"A")
            self.assertEqual([path for _, _, path in reader.diff("-", second, "props")], [b"c.obj", b"new/d.obj"])
            self.assertIn("no folder 'none'", reader.diff("-", second, "none"))
            self.assertEqual(reader.ask("find", first[:7])[0].decode(), first)
            self.assertEqual(reader.ask("find", "0" * 7)[0], None)
            log = reader.ask("log", second, "10")[0].decode()
            self.assertEqual([line[3:] for line in log.splitlines() if line.startswith("id ")], [second, first])
            self.assertEqual(reader.close(), 0)

    def test_a_repack_under_an_open_reader(self):
        repository = self.repository()
        ids = [repository.commit(f"{n}", {"a.obj": obj_text(n)}) for n in range(20)]
        reader = self.reader(repository)
        blob = reader.diff("-", ids[3])[0][1]
        for step in range(3):
            repository.git("repack", "-q", "-a", "-d", f"--window={10 + step}", "-F", folder=repository.bare)
            repository.git("prune-packed", folder=repository.bare)
            last = repository.commit("more", {"b.obj": f"{step}"})
            self.assertEqual(reader.ask("blob", blob)[0], obj_text(3).encode())
            self.assertEqual(len(reader.diff(ids[0], last)), 2)

    def test_hostile_trees_are_refused_in_words(self):
        repository = self.repository()
        blob = repository.put_object("blob", b"x")
        empty = repository.put_tree([])
        file, folder = 0o100644, 0o40000
        reader = self.reader(repository)
        names = [b"", b".", b"..", b".git", b".GIT", b"a/b", b"../../etc", b"\xff\xfe", b"a\nb", b"x" * 255, b"x" * 256]
        for name in names:
            tree = repository.put_tree([(file, name, blob)])
            found = reader.diff("-", repository.put_commit(tree))
            good = name in (b"\xff\xfe", b"a\nb", b"x" * 255)
            if name == b"":
                self.assertEqual([f[0] for f in found], ["N"])
                continue
            self.assertEqual([(f[0], f[2]) for f in found], [("P" if good else "N", name)])
            below = repository.put_tree([(folder, name, tree)])
            if not good:
                self.assertEqual([f[0] for f in reader.diff("-", repository.put_commit(below))], ["N"])
        twins = repository.put_tree([(file, b"A.obj", blob), (file, b"a.obj", blob)])
        self.assertEqual(len(reader.diff("-", repository.put_commit(twins))), 2)
        others = repository.put_tree([(0o120000, b"link", blob), (0o160000, b"module", blob), (0o60000, b"odd", blob)])
        self.assertEqual([f[0] for f in reader.diff("-", repository.put_commit(others))], ["L", "M", "N"])
        for wrong in ([(file, b"b", blob), (file, b"a", blob)], [(file, b"a", blob), (file, b"a", blob)]):
            self.assertIn("not in order", reader.diff("-", repository.put_commit(repository.put_tree(wrong))))
        deep = empty
        for _ in range(80):
            deep = repository.put_tree([(folder, b"d", deep)])
        self.assertIn("nested more than", reader.diff("-", repository.put_commit(deep)))
        bomb = repository.put_tree([(file, b"%d" % n, blob) for n in range(10)])
        for _ in range(8):
            bomb = repository.put_tree([(folder, b"%d" % n, bomb) for n in range(10)])
        self.assertIn("more than 1048576 entries", reader.diff("-", repository.put_commit(bomb)))
        lost = repository.put_tree([(folder, b"gone", "1" * 40)])
        self.assertIn("1111 is not in the repository", reader.diff("-", repository.put_commit(lost)))
        self.assertIn("is no tree", reader.diff("-", repository.put_commit(blob)))
        self.assertIn("is no commit", reader.ask("commit", blob)[1])
        for raw in b"", b"tree \n", b"tree " + b"z" * 40 + b"\n", b"parent x\n":
            self.assertIn("damaged", reader.ask("commit", repository.put_object("commit", raw))[1])
        many = f"tree {empty}\n" + f"parent {blob}\n" * 33 + "\n"
        self.assertIn("more than 32 parents", reader.ask("commit", repository.put_object("commit", many.encode()))[1])
        tag = blob
        tag = repository.put_object("tag", f"object {blob}\ntype tag\n".encode())
        for _ in range(9):
            tag = repository.put_object("tag", f"object {tag}\ntype tag\n".encode())
        self.assertIn("tags name each other", reader.ask("commit", tag)[1])
        for words in ("", "x", "blob", "blob ..", "log", "diff", "commit -", "find ../x"):
            self.assertIsNone(reader.ask(words)[0])
        self.assertEqual(reader.close(), 0)

    def test_damaged_objects_and_packs_are_named(self):
        repository = self.repository()
        commit = repository.commit("one", {"a.obj": obj_text(1) * 50})
        reader = self.reader(repository)
        blob = reader.diff("-", commit)[0][1]
        place = repository.bare / "objects" / blob[:2] / blob[2:]
        whole = place.read_bytes()
        place.chmod(0o644)
        place.write_bytes(whole[:-9])
        self.assertEqual(reader.ask("blob", blob), (None, f"the object {blob} cannot be read: it is damaged"))
        for damage in (whole[:20] + bytes([whole[20] ^ 255]) + whole[21:], zlib.compress(b"blob 9\0wrong size"),
                       zlib.compress(b"blob 5\0other"),
                       zlib.compress(b"blob 2\0" + b"o" * 57), zlib.compress(b"blob 05\0other"), zlib.compress(b"x"), zlib.compress(b"a" * 99), b""):
            place.write_bytes(damage)
            self.assertIsNone(reader.ask("blob", blob)[0])
        place.write_bytes(zlib.compress(b"blob 99999999999\0"))
        self.assertIn("it is damaged", reader.ask("blob", blob)[1])
        self.assertIn("more than 1048576", reader.ask("commit", repository.put_object("commit", bytes(2**20 + 1)))[1])
        circle = "4" * 40
        repository.put_circle(circle)
        reader = self.reader(repository)
        reader.socket.sendall(f"blob {circle}\n".encode())
        self.assertEqual((reader.stream.readline().decode(), reader.process.wait()), (f"end {circle}\n", 1))
        reader = self.reader(repository, more=[circle])
        self.assertIn(f"the object {circle} is damaged: unpacking it takes too long", reader.ask("blob", circle)[1])
        place.write_bytes(whole)
        self.assertEqual(reader.ask("blob", blob)[0], obj_text(1).encode() * 50)
        repository.git("gc", "-q", "--prune=now", folder=repository.bare)
        pack = next((repository.bare / "objects/pack").glob("*.pack"))
        pack.chmod(0o644)
        data = bytearray(pack.read_bytes())
        data[12:-20] = bytes(byte ^ 0x55 for byte in data[12:-20])
        pack.write_bytes(data)
        self.assertIsNone(self.reader(repository).ask("blob", blob)[0])

    def test_formats_that_it_does_not_read_are_named(self):
        for text, words in (("[extensions]\n\tobjectFormat = sha256\n", "named by sha256"),
                            ("[extensions]\n\trefStorage = reftable\n", "kept as 'reftable'")):
            repository = self.repository()
            with open(repository.bare / "config", "a", encoding="utf-8") as config:
                config.write(text)
            self.assertIn(words, Reader(repository.bare).hello[1])
        repository = self.repository()
        (repository.bare / "reftable").mkdir()
        self.assertIn("in a reftable", Reader(repository.bare).hello[1])

    def test_large_files(self):
        repository = self.repository()
        data = obj_text(7).encode() * 100
        name = hashlib.sha256(data).hexdigest()
        pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{name}\nsize {len(data)}\n"
        commit = repository.commit("large", {"a.obj": pointer})
        reader = self.reader(repository)
        blob = reader.diff("-", commit)[0][1]
        self.assertEqual(reader.ask("blob", blob), (pointer.encode(), "pointer"))
        place = repository.bare / "lfs/objects" / name[:2] / name[2:4]
        place.mkdir(parents=True)
        (place / name).write_bytes(data[:-1])
        self.assertEqual(reader.ask("blob", blob)[1], "pointer")
        (place / name).write_bytes(data)
        self.assertEqual(reader.ask("blob", blob), (data, name))
        outside = repository.work / "secret"
        outside.write_bytes(data)
        (place / name).unlink()
        (place / name).symlink_to(outside)
        self.assertEqual(reader.ask("blob", blob)[1], "pointer")

    def test_nothing_of_a_hostile_repository_runs_or_leads_outside(self):
        """Configuration, hooks, alternates and links: what the system calls say."""
        if not shutil.which("strace"):
            self.skipTest("needs strace")
        repository = self.repository()
        commit = repository.commit("one", {"a.obj": "a"})
        other = self.repository()
        secret = other.commit("secret", {"s.obj": "secret"})
        secret_blob = other.git("rev-parse", "HEAD:s.obj")
        ran = repository.work.parent / "ran"
        with open(repository.bare / "config", "a", encoding="utf-8") as config:
            config.write(f'[core]\n\tfsmonitor = "touch {ran}"\n\thooksPath = {other.work}\n\tworktree = {other.work}\n'
                         f'[include]\n\tpath = {other.bare}/config\n[filter "x"]\n\tsmudge = touch {ran}\n')
        for hook in "post-checkout", "post-update", "reference-transaction":
            (repository.bare / "hooks").mkdir(exist_ok=True)
            (repository.bare / "hooks" / hook).write_text(f"#!/bin/sh\ntouch {ran}\n")
            (repository.bare / "hooks" / hook).chmod(0o755)
        (repository.bare / "objects/info").mkdir(exist_ok=True)
        (repository.bare / "objects/info/alternates").write_text(f"{other.bare}/objects\n")
        (repository.bare / "refs/heads/out").symlink_to(other.bare / "refs/heads/main")
        (repository.bare / "refs/outside").symlink_to(other.bare / "refs")
        (repository.bare / "objects" / secret_blob[:2]).symlink_to(other.bare / "objects" / secret_blob[:2])
        trace = repository.work.parent / "trace"
        reader = self.reader(repository, "strace", "-f", "-o", trace)
        refs = reader.ask("refs")[0].decode()
        self.assertIn(f"{commit} refs/heads/main\n", refs)
        self.assertNotIn(secret, refs)
        self.assertIsNone(reader.ask("commit", secret)[0])
        shut_in = "landlock 0" not in reader.hello[0].decode()
        if shut_in:
            self.assertIsNone(reader.ask("blob", secret_blob)[0])
        self.assertEqual(reader.ask("blob", reader.diff("-", commit)[0][1])[0], b"a")
        reader.close()
        calls = trace.read_text()
        after = calls[calls.index("SECCOMP_SET_MODE_FILTER"):] if "SECCOMP_SET_MODE_FILTER" in calls else calls
        self.assertNotIn("execve", after)
        self.assertNotIn("alternates", after)
        self.assertNotIn(str(other.work), after)
        self.assertNotIn("hooks", after)
        self.assertFalse(ran.exists())
        for line in after.splitlines():
            if "open" in line and "O_RDONLY" not in line and " = -1 " not in line:
                self.assertNotIn("O_", line)

    def test_it_is_started_by_hob_only(self):
        done = subprocess.run([HOB_GIT, "0", "/"], stdin=subprocess.DEVNULL, capture_output=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"is started by hob", done.stderr)


def history(repository, count, seed=1):
    """Commits made by chance: models are added, edited, renamed and deleted, textures change, branches are merged."""
    chance, models, made = random.Random(seed), {}, []
    textures = {f"tex/t{n}.png": png(40 * n, 0, 90) for n in range(3)}
    materials = {f"m{n}.mtl": f"newmtl m\nKd 1 1 1\nmap_Kd ../tex/t{n}.png\n" for n in range(3)}
    models["props/first.obj"] = obj_text(1, mtl="m0.mtl")
    made.append(repository.commit("textures", {**models, **textures, **{f"props/{name}": text for name, text in materials.items()}}, push=False))
    while len(made) < count:
        what, files = chance.choice(["add", "add", "edit", "rename", "delete", "texture", "twin", "merge"]), {}
        name = chance.choice(sorted(models)) if models else None
        if what == "add" or not name:
            path = f"props/{len(made)}.obj"
            models[path] = obj_text(chance.randrange(1, 9), mtl=f"m{chance.randrange(3)}.mtl")
            files = {path: models[path]}
        elif what == "edit":
            models[name] = obj_text(chance.randrange(1, 99), mtl=f"m{chance.randrange(3)}.mtl")
            files = {name: models[name]}
        elif what == "rename":
            models[f"props/was-{len(made)}.obj"] = models.pop(name)
            files = {name: None, f"props/was-{len(made)}.obj": models[f"props/was-{len(made)}.obj"]}
        elif what == "delete":
            models.pop(name)
            files = {name: None}
        elif what == "twin":
            models[f"props/twin-{len(made)}.obj"] = models[name]
            files = {f"props/twin-{len(made)}.obj": models[name]}
        elif what == "merge":
            repository.git("checkout", "-q", "-b", f"side{len(made)}")
            made.append(repository.commit("side", {"note.txt": f"{len(made)}"}, push=False))
            repository.git("checkout", "-q", "main")
            repository.git("merge", "-q", "--no-ff", "-m", "merge", f"side{len(made) - 1}")
            made.append(repository.git("rev-parse", "HEAD"))
            continue
        else:
            files = {f"tex/t{chance.randrange(3)}.png": png(chance.randrange(256), 9, chance.randrange(256))}
        made.append(repository.commit(what, files, push=False))
    repository.git("push", "-q", "origin", "--all")
    return made


class SourceTest(GitScenario):
    maxDiff = None

    def daemon(self, repository, *options, source=None, wait=True):
        daemon = Daemon([source or f"git:{repository.bare}"], repository.work.parent / "cache", *options)
        self.addCleanup(daemon.stop)
        daemon.url = f"http://127.0.0.1:{daemon.port}"
        if wait:
            self.settled(daemon, "HEAD")
        return daemon

    def settled(self, daemon, name):
        """The commit, once it is warm or broken."""
        def over():
            commit = daemon.get(f"/api/v1/commits/{name}?wait=60").json()
            return commit if commit["state"] != "cooking" else None
        return until(over, f"the end of {name}")

    def at_tip(self, daemon, commit):
        until(lambda: self.settled(daemon, "HEAD")["id"] == commit, f"the tip {commit}")
        return self.settled(daemon, "HEAD")

    def hob(self, *words, code=0):
        done = subprocess.run([HOB, *map(str, words)], capture_output=True, check=False, stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, code, (words, done.stdout, done.stderr))
        return done.stdout.decode()

    def test_each_commit_is_what_a_checkout_cooks(self):
        """Proof 1 in short: all outputs byte-equal to `git worktree add` and `hob cook`; each key is cooked once, in whatever order."""
        repository = self.repository()
        commits = history(repository, amount(20, 200))
        daemon = self.daemon(repository)
        keys, trees = set(), repository.work.parent / "trees"
        order = commits[::-1]
        for commit in order:
            tree, out = trees / commit, trees / (commit + ".out")
            repository.git("worktree", "add", "-q", "--detach", tree, commit)
            self.hob("cook", tree, "-o", out, "--cache", trees / "cache", "--report", trees / "report.json")
            report = json.loads((trees / "report.json").read_text())
            state = daemon.post(f"/api/v1/commits/{commit}/cook", {}).json()
            self.assertIn(state["state"], ("cooking", "warm"))
            state = self.settled(daemon, commit)
            self.assertEqual((state["state"], state["assets"], state["failed"]), ("warm", len(report["assets"]), 0))
            for asset in report["assets"]:
                keys.add(self.inputs(tree / asset["path"]))
                for output in "meshes", "materials", "scene":
                    answer = daemon.get(f"/a/art/{asset['path']}?at={commit}&output={output}", Prefer="wait=60")
                    self.assertEqual(answer.status, 200, (commit, asset["path"], answer.body))
                    self.assertEqual(answer.body, (out / f"{asset['path']}.{output}").read_bytes(), (commit, asset["path"], output))
        self.assertEqual(daemon.cooked(), len(keys))

    @staticmethod
    def inputs(model):
        """What the key of a model of history() is made of."""
        material = model.parent / re.search(r"mtllib (\S+)", model.read_text()).group(1)
        picture = material.parent / re.search(r"map_Kd (\S+)", material.read_text()).group(1)
        return tuple(file.read_bytes() for file in (model, material, picture))

    def test_a_push_dirties_what_it_changed(self):
        repository = self.repository()
        count = amount(10, 2000)
        files = {f"props/{n}.obj": f"# {n}\n" + obj_text(n % 9 + 1, mtl=f"m{n % 2}.mtl") for n in range(count)}
        files |= {f"props/m{n}.mtl": f"newmtl m\nmap_Kd ../tex/{n}.png\n" for n in range(2)}
        first = repository.commit("one", {**files, "tex/0.png": png(1, 2, 3), "tex/1.png": png(3, 2, 1)})
        daemon = self.daemon(repository)
        self.assertEqual(daemon.cooked(), count)
        ids = {name: asset["id"] for name, asset in daemon.assets().items()}
        self.at_tip(daemon, repository.commit("texture", {"tex/1.png": png(9, 9, 9)}))
        self.assertEqual(daemon.cooked(), count + count // 2)
        self.at_tip(daemon, repository.commit("rename", {"props/0.obj": None, "moved/props/0.obj": files["props/0.obj"],
                                                         "moved/props/m0.mtl": files["props/m0.mtl"], "moved/tex/0.png": png(1, 2, 3)}))
        self.assertEqual(daemon.cooked(), count + count // 2, "the moved model has the same key")
        moved = daemon.get("/api/v1/assets/" + daemon.assets()["art/moved/props/0.obj"]["id"]).json()
        self.assertEqual((moved["id"], moved["moved_from"]), (ids["art/props/0.obj"], "art/props/0.obj"))
        repository.git("reset", "-q", "--hard", first)
        repository.git("push", "-q", "-f", "origin", "main")
        state = self.at_tip(daemon, first)
        self.assertEqual((daemon.cooked(), state["assets"], state["state"]), (count + count // 2, count, "warm"))
        self.assertEqual(len(daemon.assets()), count)

    def test_a_clone_on_another_machine_cooks_nothing(self):
        repository = self.repository()
        count = amount(10, 2000)
        repository.commit("one", {f"props/{n}.obj": f"# {n}\n" + obj_text(n % 9 + 1) for n in range(count)})
        daemon = self.daemon(repository)
        self.assertEqual(daemon.cooked(), count)
        repository.git("clone", "-q", "--bare", repository.bare, repository.work.parent / "clone.git")
        with Daemon([f"git:{repository.work.parent}/clone.git"], repository.work.parent / "cache2", "--upstream", daemon.url) as clone:
            state = self.settled(clone, "HEAD")
            self.assertEqual((state["state"], state["assets"], state["failed"], clone.cooked()), ("warm", count, 0, 0))

    def test_revisions_by_name(self):
        repository = self.repository()
        first = repository.commit("one", {"a b/a.obj": obj_text(1)})
        second = repository.commit("two", {"a b/a.obj": obj_text(2), "b.obj": obj_text(5)})
        repository.git("tag", "-a", "-m", "annotated", "v-1", first)
        repository.git("push", "-q", "origin", "v-1", f"{first}:refs/heads/release/1", f"{first}:refs/heads/ab12")
        daemon = self.daemon(repository)
        path = "/a/art/a%20b/a.obj"
        for name, commit in (("main", second), ("HEAD", second), ("v-1", first), ("release%2F1", first), (first[:9], first),
                             ("ab12", first)):
            answer = daemon.get(f"{path}?at={name}&output=scene", Prefer="wait=60")
            self.assertEqual((answer.status, answer.headers["location"]), (302, f"{path}?at={commit}&output=scene"))
            body = daemon.get(answer.headers["location"], Prefer="wait=60")
            self.assertEqual(body.status, 200, body.body)
            self.assertEqual(daemon.get(f"/api/v1/commits/{name}").json()["id"], commit)
        self.assertEqual(daemon.get(f"{path}?at={second}").body, daemon.blob("art/a%20b/a.obj"))
        self.assertNotEqual(daemon.get(f"{path}?at={first}").body, daemon.blob("art/a%20b/a.obj"))
        self.assertEqual(daemon.cooked(), 3)
        for name in "none", "0" * 40, "ab", "../x", "refs", "x" * 5000:
            self.assertEqual(daemon.get(f"{path}?at={name}").status, 404, name)
        self.assertEqual(daemon.get(f"/a/art/b.obj?at={first}").status, 404)
        listed = daemon.get("/api/v1/commits?root=art&ref=main").json()["items"]
        self.assertEqual([(item["id"], item["state"]) for item in listed], [(second, "warm"), (first, "warm")])
        self.assertNotIn("example.org", json.dumps(listed))
        self.assertEqual(daemon.get("/api/v1/commits?root=nobody").status, 404)
        self.assertEqual(daemon.get("/api/v1/commits/none").status, 404)

    def test_only_what_a_reference_leads_to(self):
        """A commit is served while a branch or tag leads to it, also by way of merges and of clocks that went back."""
        repository = self.repository()
        first = repository.commit("one", {"a.obj": obj_text(1)})
        repository.git("checkout", "-q", "-b", "side")
        repository.clock -= 10**8
        old = repository.commit("before its parent", {"a.obj": obj_text(2)})
        repository.clock += 10**8
        repository.git("checkout", "-q", "main")
        repository.git("merge", "-q", "--no-ff", "-m", "merge", "side")
        repository.git("push", "-q", "origin", "main")
        lost = repository.commit("lost", {"a.obj": obj_text(3)})
        daemon = self.daemon(repository)
        for commit in first, old, lost, old[:8]:
            self.assertEqual(daemon.get(f"/a/art/a.obj?at={commit}", Prefer="wait=60").status // 100, 3 if len(commit) < 40 else 2, commit)
        repository.git("reset", "-q", "--hard", "HEAD~1")
        repository.git("push", "-q", "-f", "origin", "main")
        self.at_tip(daemon, repository.git("rev-parse", "HEAD"))
        for name in lost, lost[:9]:
            for path in f"/a/art/a.obj?at={name}", f"/api/v1/commits/{name}":
                answer = until(lambda: (lambda a: a if a.status != 200 else None)(daemon.get(path)), f"an end of {path}")
                self.assertEqual((answer.status, answer.json()["detail"]), (404, f"no branch or tag leads to the commit {lost[:7]}"), path)
        repository.git("push", "-q", "origin", f"{lost}:refs/tags/kept")
        until(lambda: daemon.get(f"/api/v1/commits/{lost[:9]}").status == 200, "the tag")

    def test_tokens_of_references(self):
        """ref:ROOT/GLOB reads commits that one of these branches or tags leads to, by a name or an id, and nothing else; a read token has them cooked."""
        repository = self.repository()
        first = repository.commit("one", {"a.obj": obj_text(1), "m.mtl": "newmtl m\nmap_Kd t.png\n", "t.png": png(9, 9, 9)})
        repository.git("checkout", "-q", "-b", "secret")
        secret = repository.commit("secret", {"a.obj": obj_text(2)})
        repository.git("checkout", "-q", "main")
        second = repository.commit("two", {"a.obj": obj_text(3), "b.obj": obj_text(4, mtl="m.mtl")})
        repository.git("push", "-q", "origin", f"{secret}:refs/tags/v1", f"{first}:refs/heads/release/1")
        tokens = repository.work.parent / "tokens"

        def token(name, *options):
            return self.hob("token", "create", name, *options, "--token-file", tokens).strip()
        own, releases, reader, other = token("own", "--ref", "art/main"), token("r", "--ref", "art/release/*"), token("reader"), token("o", "--ref", "else/main")
        self.assertIn("own                      ref    ", self.hob("token", "list", "--token-file", tokens))
        self.assertIn("reads only commits", self.hob("token", "--help"))
        for wrong in "art", "/main", "art/", "art/a b":
            self.hob("token", "create", "wrong", "--ref", wrong, "--token-file", tokens, code=2)
        daemon = Daemon([f"git:{repository.bare}"], repository.work.parent / "cache", "--token-file", tokens, wait_ready=False)
        self.addCleanup(daemon.stop)
        daemon.wait_banner()

        def ask(token, path, method="GET", wait=60):
            headers = {"Authorization": f"Bearer {token}", "Prefer": f"wait={wait}", **({"Content-Type": "application/json"} if method == "POST" else {})}
            answer = daemon.request(method, path, b"{}" if method == "POST" else None, headers)
            if answer.status == 302:
                return ask(token, answer.headers["location"], method, wait)
            return answer
        self.assertEqual(ask(reader, f"/a/art/a.obj?at={secret}").status, 200, "its folder is there now")
        for name in "main", second, second[:9], first, "release%2F1":
            self.assertEqual(ask(own, f"/a/art/a.obj?at={name}").status, 200, name)
            self.assertEqual(ask(own, f"/api/v1/commits/{name}").status, 200, name)
        glb = ask(own, f"/a/art/b.obj?at={second}&output=glb")
        self.assertEqual((glb.status, glb.body[:4]), (200, b"glTF"))
        for name in "secret", "v1", secret, secret[:9], "none", "0" * 40:
            for path in f"/a/art/a.obj?at={name}", f"/api/v1/commits/{name}", f"/api/v1/commits/{name}?root=art":
                answer = ask(own, path)
                self.assertEqual(answer.status, 404, path)
                self.assertEqual((answer.status, answer.json()["detail"]),
                                 (404, f"no branch or tag 'main', which this token may read, leads to '{name}'"), path)
        self.assertEqual([ask(releases, f"/a/art/a.obj?at={name}").status for name in ("main", second, first)], [404, 404, 200])
        cooks = ask(reader, f"/api/v1/commits/{second}/cook", "POST").status
        picture = hashlib.sha256(ask(reader, "/a/art/b.obj?output=scene").body).hexdigest()
        self.assertEqual(ask(reader, f"/blobs/{picture}").status, 200)
        denied = ["/api/v1/commits", "/api/v1/commits?root=art&ref=main", "/api/v1/assets", "/a/art/a.obj", f"/a/art~commits/{second}/a.obj", "/api/v1/events",
                  f"/blobs/{picture}", "/api/v1/roots", "/api/v1/revs/1/manifest", "/metrics", "/openapi.json", "/api/v1/config", "/api/v1/history",
                  "/a/else/a.obj?at=main", "/api/v1/commits/main?root=else"]
        for path in denied:
            answer = ask(own, path)
            self.assertEqual((answer.status, answer.json().get("code")), (403, "http.token-scope"), path)
        self.assertEqual(ask(own, f"/a/art/out_textures/{picture}.png?at={second}", wait=0).status, 404, "a blob by its name")
        for path in "/api/v1/commits/main/cook", "/api/v1/git/art/fetched", "/api/v1/sync", "/blobs:batch", "/records:batch":
            self.assertEqual(ask(own, path, "POST").status, 403, path)
        self.assertEqual([ask(other, path).status for path in ("/a/art/a.obj?at=main", "/api/v1/commits/main", "/a/else/a.obj?at=main")], [403, 404, 404])
        self.assertEqual((cooks, daemon.request("POST", "/api/v1/commits/main/cook", b"{}", {"Content-Type": "application/json"}).status), (200, 401))
        self.assertEqual(ask(reader, "/api/v1/git/art/fetched", "POST").status, 403)
        repository.git("push", "-q", "-f", "origin", f"{first}:refs/heads/main")
        until(lambda: ask(own, f"/a/art/a.obj?at={second}").status == 404, "the end of a branch that was forced")
        self.assertEqual(ask(own, f"/a/art/a.obj?at={first}").status, 200)

    def test_warm_by_exit_code(self):
        repository = self.repository()
        good = repository.commit("good", {"a.obj": obj_text(1)})
        bad = repository.commit("bad", {"b.obj": "v 0 0 0\nf 1 2 9\n"})
        daemon = self.daemon(repository)
        self.assertRegex(self.hob("warm", good, "--wait", "--url", daemon.url), rf"^warm  art up to {good[:7]} \(1 of 1, 0 broken\)  good")
        self.assertIn("broken  art up to", self.hob("warm", "main", "--wait", "--url", daemon.url, code=1))
        self.hob("warm", "nothing", "--url", daemon.url, code=2)
        self.hob("warm", "main", "--url", "127.0.0.1:1", code=3)
        self.assertEqual(json.loads(self.hob("warm", bad[:8], "--json", "--url", daemon.url, code=1))["failed"], 1)
        (repository.work / "slow").mkdir()
        slow = repository.commit("slow", {f"slow/{n}.obj": obj_text(400 + n) for n in range(60)})
        code = subprocess.run([HOB, "warm", slow, "--url", daemon.url], capture_output=True, check=False).returncode
        self.assertIn(code, (6, 1, 2))  # 2: the push was not seen yet; 1: it is cooked already
        self.at_tip(daemon, slow)
        self.hob("warm", slow, "--wait", "--url", daemon.url, code=1)

    def test_the_transcript(self):
        """The blocks of docs/commits.md, on a studio's repository instead of the page's own."""
        folder = fresh_folder("transcript")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        page = (PROJECT / "docs/commits.md").read_text()
        setup, *blocks = re.findall(r"^```sh\n(.*?)^```$", page, re.M | re.S)
        self.assertIn("git init", setup)
        with socket.create_server(("127.0.0.1", 0)) as free:
            address = f"127.0.0.1:{free.getsockname()[1]}"
        made = [sys.executable, STUDIO, folder / "art.git", "--models", amount(60, 2000), "--commits", amount(12, 300)]
        subprocess.run([*map(str, made)], check=True)
        spot = (PROJECT / "tests/data/models/simple/spot.obj").read_text()
        script = ["set -e", "git clone -q art.git work", f"cat > work/spot.obj <<'END-OF-MODEL'\n{spot}END-OF-MODEL", "cd work",
                  "git show $(git rev-list --max-parents=0 HEAD):props/flag.obj > props/flag.obj", "git add -A", "git commit -q -m 'A spot, and the flag mended'", "git push -q origin main :topic", "cd .."]
        script += [block.replace("127.0.0.1:7780", address) for block in blocks]
        environment = {**os.environ, **WHO, "PATH": f"{pathlib.Path(HOB).parent}:{os.environ['PATH']}", "HOB_LISTEN": address, "HOB_URL": address,
                       "NO_COLOR": "1"}
        with open(folder / "said", "w+", encoding="utf-8") as said:
            ran = subprocess.Popen(["bash", "-xc", "\n".join(script)], cwd=folder, env=environment, stdout=said, stderr=said, start_new_session=True)
            try:
                code = ran.wait(timeout=amount(DEADLINE, 1200))
            finally:
                os.killpg(ran.pid, 9)
            said.seek(0)
            told = said.read()
        self.assertEqual(code, 0, told[-4000:])
        self.assertIn("the first bad commit:", told)
        self.assertRegex(told, r"warm  elsewhere up to \w+ \(\d+ of \d+, 0 broken\)")

    def test_a_client_waits_for_a_new_commit(self):
        """Whether the watch or the request sees the commit's folder first."""
        repository = self.repository()
        commits = [repository.commit(f"{n}", {"a.obj": obj_text(n + 1)}, push=False) for n in range(60)]
        repository.git("push", "-q", "origin", "main")
        daemon = self.daemon(repository)
        for commit in commits:
            place = daemon.get(f"/a/art/a.obj?at={commit[:20]}", Prefer="wait=60").headers["location"]
            self.assertEqual(daemon.get(place, Prefer="wait=60").status, 200, commit)

    def test_a_crowd_waits_for_a_commit(self):
        """More clients than may wait: some are sent away, all others get the answer, and the daemon lives."""
        repository = self.repository()
        commit = repository.commit("slow", {f"{n}.obj": obj_text(300 + n) for n in range(80)})
        daemon = self.daemon(repository, wait=False)
        answers = []

        def ask(wait):
            answer = daemon.get(f"/api/v1/commits/{commit}?wait={wait}")
            answers.append((answer.status, answer.status == 200 and answer.json()["id"] == commit))
        threads = [threading.Thread(target=ask, args=(60 if n % 3 else 0,)) for n in range(600)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(answers), 600)
        self.assertLessEqual(set(answers), {(200, True), (503, False)})
        self.assertGreater(answers.count((200, True)), 200)
        self.assertEqual(self.settled(daemon, "HEAD")["state"], "warm")

    def test_an_old_broken_commit_fails_no_sync(self):
        repository = self.repository()
        bad = repository.commit("bad", {"a.obj": "v 0 0 0\nf 1 2 9\n"})
        repository.commit("good", {"a.obj": obj_text(1)})
        daemon = self.daemon(repository)
        self.assertIn("1 broken", self.hob("warm", bad, "--wait", "--url", daemon.url, code=1))
        self.hob("sync", "--url", daemon.url)

    def test_diff_of_two_commits(self):
        repository = self.repository()
        first = repository.commit("one", {"props/a.obj": obj_text(3), "props/b.obj": obj_text(2), "c.obj": obj_text(5)})
        repository.git("checkout", "-q", "-b", "topic")
        topic = repository.commit("two", {"props/a.obj": obj_text(4), "props/b.obj": None, "d.obj": obj_text(1)})
        daemon = self.daemon(repository)
        for names, said in ((("main", "topic"), (f"main ({first[:7]})", f"topic ({topic[:7]})")),
                            ((first, topic[:9]), (first[:7], topic[:7]))):
            report = json.loads(self.hob("diff", "--from", names[0], "--to", names[1], "--format", "json", "--url", daemon.url, code=1))
            self.assertEqual((report["from"], report["to"]), (said[0], said[1]))
            self.assertEqual((report["added"], report["gone"]), (["art/d.obj"], ["art/props/b.obj"]))
            self.assertEqual([asset["asset"] for asset in report["changed"]], ["art/props/a.obj"])
            self.assertIn("triangles", json.dumps(report["changed"][0]["comparison"]["numbers"]))
        back = json.loads(self.hob("diff", "art/props", "--from", "topic", "--format", "json", "--url", daemon.url, code=1))
        self.assertEqual((back["added"], back["gone"], len(back["changed"])), (["art/props/b.obj"], [], 1))
        self.hob("diff", "--from", "main", "--to", first, "--url", daemon.url)
        hosted = self.hob("diff", "--from", "main", "--to", "topic", "--format", "md", "--pictures", daemon.url, "--url", daemon.url, code=1)
        links = re.findall(r"!\[[^]]*\]\(<([^>]+)>\)", hosted)
        if beside("hob-thumbnail").exists():
            self.assertEqual(len(links), 1, hosted)
        for link in links:
            answer = daemon.get(link.removeprefix(daemon.url))
            self.assertEqual((answer.status, answer.headers["content-type"], answer.body[:4]), (200, "image/png", b"\x89PNG"))
        broken = repository.commit("broken", {"props/a.obj": "v 0 0 0\nf 1 2 9\n"})
        until(lambda: daemon.get(f"/api/v1/commits/{broken}").status == 200, "the push")
        report = json.loads(self.hob("diff", "--from", "main", "--to", broken, "--format", "json", "--url", daemon.url, code=1))
        self.assertEqual((report["broken"], report["changed"], report["gone"]), (["art/props/a.obj"], [], ["art/props/b.obj"]))
        self.hob("diff", "--from", "main", "--to", "nothing", "--url", daemon.url, code=2)
        self.assertEqual(daemon.cooked(), 5)

    def test_an_asset_in_its_commits(self):
        """hob history and hob bisect: by an error, a budget and a rule; across a merge, and with the file's materials."""
        repository = self.repository()
        flag, mtl = obj_text(9, mtl="f.mtl"), "newmtl m\nKd 1 1 1\n"
        first = repository.commit("first", {"props/flag.obj": flag, "props/f.mtl": mtl, "b.obj": obj_text(1)}, push=False)
        made = [first]
        for n in range(6):
            made.append(repository.commit(f"other {n}", {"b.obj": obj_text(n + 2)}, push=False))
            made.append(repository.commit(f"grow {n}", {"props/flag.obj": obj_text(10 + 5 * n, mtl="f.mtl")}, push=False))
        repaint = repository.commit("repaint", {"props/f.mtl": mtl.replace("1 1 1", "1 0 0")}, push=False)
        repository.git("checkout", "-q", "-b", "side")
        breaks = repository.commit("break it", {"props/flag.obj": "v 0 0 0\nf 1 2 9\n"}, push=False)
        repository.git("checkout", "-q", "main")
        repository.commit("meanwhile", {"b.obj": obj_text(30)}, push=False)
        repository.git("merge", "-q", "--no-ff", "-m", "merge", "side")
        repository.commit("after", {"b.obj": obj_text(31)})
        daemon = self.daemon(repository)
        more = ("--url", daemon.url)
        lines = self.hob("history", "art/props/flag.obj", *more).splitlines()
        self.assertEqual([line.split()[0] for line in lines], [breaks[:7]] + [made[n][:7] for n in range(12, 0, -2)] + [first[:7]])
        self.assertIn("broken here", lines[0])
        self.assertRegex(lines[1], r"Ann .* 35 triangles \(\+16.7 %\)  grow 5$")
        self.assertTrue(lines[-1].endswith(", new  first"), lines[-1])
        with_material = self.hob("history", "art/props/flag.obj", "--to", repaint, "--limit", "2", "--json", *more)
        self.assertEqual([item["subject"] for item in json.loads(with_material)], ["grow 5", "grow 4"], "the tip is broken: its files are unknown")
        found = self.hob("bisect", "art/props/flag.obj", "--good", first, *more)
        self.assertIn(f"the first bad commit:\n{breaks[:7]} ", found)
        found = self.hob("bisect", "art/props/flag.obj", "--good", first, "--bad", repaint, "--max", "triangles=20", *more)
        self.assertIn(f"the first bad commit:\n{made[8][:7]} ", found)
        self.assertLessEqual(found.count(" left\n"), 3)
        self.hob("bisect", "art/b.obj", "--good", first, *more, code=2)
        self.hob("bisect", "art/none.obj", "--good", first, *more, code=2)
        mended = repository.commit("mended", {"props/flag.obj": flag, "props/f.mtl": mtl})
        self.at_tip(daemon, mended)
        lines = self.hob("history", "art/props/flag.obj", *more).splitlines()
        self.assertEqual([line.split()[0] for line in lines[:3]], [mended[:7], breaks[:7], repaint[:7]])
        self.assertIn(", mended", lines[0])

    def test_snapshots(self):
        """Out of one machine and into an empty one, which cooks nothing; and only what the other side lacks."""
        repository = self.repository()
        folder, count = repository.work.parent, amount(300, 2000)
        files = {f"props/{n}.obj": f"# {n}\n" + obj_text(n % 9 + 1, mtl=f"z{n % 5}.mtl") for n in range(count)}
        files |= {f"props/z{n}.mtl": f"newmtl m\nmap_Kd ../z/{n}.png\n" for n in range(5)} | {f"z/{n}.png": png(n, 2, 3) for n in range(5)}
        repository.commit("one", files)
        first = self.daemon(repository)
        more = ("--url", first.url)
        self.assertEqual(first.cooked(), count, "a push appears at once: no model was cooked before its materials were there")
        monday, tuesday, nothing = (folder / f"{name}.tar" for name in ("monday", "tuesday", "nothing"))
        self.assertIn("0 were there", self.hob("snapshot", "export", "main", "-o", monday, *more))
        second = repository.commit("two", {"props/3.obj": obj_text(40), "new.obj": obj_text(41)})
        self.at_tip(first, second)
        self.assertRegex(self.hob("snapshot", "export", second, "-o", tuesday, "--have", monday, *more), r" in \d files, \d\d+ were there")
        other = Repository(folder / "other")
        empty = self.daemon(other, wait=False)
        for file in monday, tuesday:
            self.hob("snapshot", "import", file, "--url", empty.url)
        other.git("fetch", "-q", repository.bare, "main:main", folder=other.bare)
        until(lambda: empty.get("/api/v1/commits/HEAD").status == 200, "the fetch")
        self.assertEqual((self.at_tip(empty, second)["state"], empty.cooked()), ("warm", 0))
        for name in files:
            if name.endswith(".obj"):
                self.assertEqual(empty.get(f"/a/art/{name}").body, first.get(f"/a/art/{name}").body, name)
        self.assertIn(" in 0 files", self.hob("snapshot", "export", "main", "-o", nothing, "--have", empty.url, *more))
        self.hob("snapshot", "export", "main", *more, code=2)
        self.hob("snapshot", "export", "none", "-o", nothing, *more, code=2)
        damaged = folder / "damaged.tar"
        whole = bytearray(monday.read_bytes())
        at = whole.index(b"hob_result") + 200
        whole[at] ^= 1
        damaged.write_bytes(whole)
        for bad, code in ((damaged, 2), (folder / "absent", 2)):
            self.hob("snapshot", "import", bad, "--url", empty.url, code=code)
        damaged.write_bytes(monday.read_bytes()[:30000])
        self.hob("snapshot", "import", damaged, "--url", empty.url, code=2)

    def test_configured_references_stay_warm(self):
        repository = self.repository()
        repository.commit("one", {"assets/a.obj": obj_text(1), "other/x.obj": obj_text(9)})
        release = repository.commit("two", {"assets/a.obj": obj_text(2)})
        repository.git("push", "-q", "origin", f"{release}:refs/heads/release/2", f"{release}:refs/heads/else")
        tip = repository.commit("three", {"assets/a.obj": obj_text(3), "assets/b.obj": obj_text(4)})
        config = repository.work.parent / "hob.json"
        config.write_text(json.dumps({"sources": [{"name": "props", "git": str(repository.bare), "path": "assets",
                                                   "refs": ["main", "release/*"], "exclude": ["b.*"]}]}))
        daemon = Daemon([], repository.work.parent / "cache", "--config", str(config))
        self.addCleanup(daemon.stop)
        self.assertEqual(self.settled(daemon, "HEAD")["id"], tip)
        self.assertEqual(self.settled(daemon, "release%2F2")["state"], "warm")
        self.assertEqual(sorted(daemon.assets()), ["props/a.obj", f"props~commits/{release}/a.obj"])
        repository.git("push", "-q", "-f", "origin", f"{tip}:refs/heads/release/2")
        self.assertEqual(daemon.post("/api/v1/git/props/fetched", {}).json(), {"root": "props", "ref": "main", "tip": tip})
        for wrong in ({"refs": ["main"], "path": "x"}, {"git": "x", "refs": ["re*"]}, {"git": 7}, {"git": "x", "mirror": True}):
            config.write_text(json.dumps({"sources": [wrong]}))
            done = subprocess.run([HOB, "serve", "--config", config, "--cache", repository.work.parent / "c2"], capture_output=True,
                                  check=False, stdin=subprocess.DEVNULL)
            self.assertEqual(done.returncode, 2, (wrong, done.stderr))

    def test_large_files_that_come_later(self):
        repository = self.repository()
        data = obj_text(7).encode()
        name = hashlib.sha256(data).hexdigest()
        pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{name}\nsize {len(data)}\n"
        commit = repository.commit("large", {"a.obj": pointer, ".gitattributes": "*.obj filter=lfs\n*.txt eol=crlf\n*.png filter=paint\n"})
        daemon = self.daemon(repository)
        state = self.settled(daemon, "HEAD")
        self.assertEqual(state["state"], "broken")
        notes = {(note["path"], note["text"]) for note in state["notes"]}
        self.assertIn(("a.obj", "its large file is not in lfs/objects of the repository: run 'git lfs fetch --all' there, or name a server as 'lfs' of the source"), notes)
        self.assertEqual(sorted(text for path, text in notes if path == ".gitattributes"),
                         ["'*.png filter=paint' has no effect: files are cooked as they are stored",
                          "'*.txt eol=crlf' has no effect: files are cooked as they are stored"])
        self.assertEqual(daemon.assets()["art/a.obj"]["error"]["code"], "import.lfs-pointer")
        place = repository.bare / "lfs/objects" / name[:2] / name[2:4]
        place.mkdir(parents=True)
        (place / name).write_bytes(data)
        self.assertEqual(daemon.post("/api/v1/git/art/fetched", {}).json()["tip"], commit)
        state = self.settled(daemon, "HEAD")
        self.assertEqual((state["state"], [n for n in state["notes"] if n["path"] == "a.obj"]), ("warm", []))
        (repository.work.parent / "plain").mkdir()
        (repository.work.parent / "plain/a.obj").write_bytes(data)
        self.hob("cook", repository.work.parent / "plain", "-o", repository.work.parent / "out", "--cache", repository.work.parent / "c2")
        self.assertEqual(daemon.blob("art/a.obj"), (repository.work.parent / "out/a.obj.meshes").read_bytes())

    def with_large(self, server, files, token=None):
        """A daemon that asks the server itself for the files of a commit; the path of each file's pointer is its name."""
        repository = self.repository()
        config, secret = repository.work.parent / "hob.json", repository.work.parent / "lfs.token"
        source = {"git": str(repository.bare), "name": "art", "lfs": f"{server.url}/art.git/info/lfs"}
        if token:
            secret.write_text(token + "\n")
            source["lfs_token"] = "lfs.token"
        config.write_text(json.dumps({"sources": [source]}))
        commit = repository.commit("large", {name: f"version https://git-lfs.github.com/spec/v1\noid sha256:{hashlib.sha256(data).hexdigest()}\nsize {len(data)}\n"
                                             for name, data in files.items()})
        daemon = Daemon([], repository.work.parent / "cache", "--config", config)
        self.addCleanup(daemon.stop)
        return repository, daemon, commit

    def notes(self, daemon):
        state = until(lambda: (lambda s: s if s["state"] in ("warm", "broken") else None)(daemon.get("/api/v1/commits/HEAD?wait=60").json()), "the large files")
        return state, {note["path"]: note["text"].rpartition(" of the repository, and ")[2] for note in state["notes"]}

    def test_large_files_by_ourselves(self):
        """The batch API, asked by Hob: with a token, for the tip and for old commits, once for each file; a busy server, one that lacks a file, and a push later."""
        files = {f"{n}.obj": obj_text(n + 1).encode() for n in range(4)}
        server = LargeFiles({hashlib.sha256(data).hexdigest(): data for data in files.values()}, token="Basic " + base64.b64encode(b"ann:secret").decode())
        self.addCleanup(server.close)
        lost = hashlib.sha256(files["3.obj"]).hexdigest()
        kept = server.files.pop(lost)
        server.busy = 1
        repository, daemon, first = self.with_large(server, files, "ann:secret")
        state, notes = self.notes(daemon)
        self.assertEqual((state["id"], state["assets"], state["failed"], notes), (first, 4, 1, {"3.obj": f"{server.url} does not have it: 404 not here"}))
        self.assertEqual(daemon.assets()["art/3.obj"]["error"]["code"], "import.lfs-pointer")
        self.assertEqual(daemon.assets()["art/1.obj"]["stats"]["triangles"], 2)
        self.assertEqual({path for method, path, _ in server.asked if method == "POST"}, {"/art.git/info/lfs/objects/batch"})
        server.files[lost] = kept
        daemon.post("/api/v1/git/art/fetched", {})
        state, notes = self.notes(daemon)
        self.assertEqual((state["state"], notes), ("warm", {}))
        self.assertEqual(sorted(path for method, path, _ in server.asked if method == "GET"), sorted(f"/files/{oid}" for oid in server.files))
        old = obj_text(60).encode()
        oid = hashlib.sha256(old).hexdigest()
        between = repository.commit("old", {"0.obj": f"version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize {len(old)}\n"}, push=False)
        repository.commit("new", {"0.obj": obj_text(2)})
        self.at_tip(daemon, repository.git("rev-parse", "HEAD"))
        server.files[oid] = old
        self.assertEqual(daemon.get(f"/a/art/0.obj?at={between}", Prefer="wait=60").status, 200)
        self.assertEqual(self.settled(daemon, between)["state"], "warm")
        self.assertEqual(daemon.assets()[f"art~commits/{between}/0.obj"]["stats"]["triangles"], 60)

    def test_a_hostile_server_of_large_files(self):
        """Each way of a server to misbehave is named, costs one file, and gets no token; what it says of all ends the questions."""
        elsewhere = LargeFiles({})
        self.addCleanup(elsewhere.close)
        ways = ["short", "endless", "chunks", "packed", "other", "loop", "file:///etc/passwd", elsewhere.url + "/files/x", "/none", "good", "redirected"]
        files = {f"{n}.obj": obj_text(n + 1).encode() for n in range(len(ways))}
        server = LargeFiles({hashlib.sha256(data).hexdigest(): data for data in files.values()}, token="Bearer secret")
        self.addCleanup(server.close)
        names = dict(zip(files, server.files))
        server.wrong = dict(zip(server.files, ways))
        elsewhere.files[names["10.obj"]] = files["10.obj"]
        server.wrong[names["10.obj"]] = f"{elsewhere.url}/files/{names['10.obj']}"
        _, daemon, _ = self.with_large(server, files, "secret")
        state, notes = self.notes(daemon)
        sizes, url = [len(data) for data in files.values()], server.url
        self.assertEqual(notes, {
            "0.obj": f"{url} sent 9 of its {sizes[0]} bytes",
            "1.obj": f"{url} has {2 * sizes[1]} bytes of it, and not {sizes[1]}",
            "2.obj": f"{url} sends more than its {sizes[2]} bytes",
            "3.obj": notes["3.obj"],
            "4.obj": f"{url} sent another file: its SHA-256 is {hashlib.sha256(files['4.obj'][:-1] + b'!').hexdigest()}",
            "5.obj": f"{url} redirects more than 5 times",
            "6.obj": f"{url} refers to an address that is none of HTTP",
            "7.obj": f"{elsewhere.url} answers 404",
            "8.obj": f"{url} answers 404"})
        self.assertIn(f"the head of the answer of {url} is malformed", notes["3.obj"])
        self.assertEqual((state["assets"], state["failed"]), (len(files), 9))
        self.assertEqual({field for _, _, field in elsewhere.asked}, {None}, "the token went to another server")
        for setting, words in ({"token": "Bearer other"}, "answers 401: it refuses the token"), ({"busy": 9}, "answers 503: it is busy"), \
                              ({"place": b"no json"}, "answers no JSON of the batch API"), ({"place": b"[" * 100000}, "answers no JSON of the batch API"), \
                              ({"place": b"{}"}, "does not say where it is"), ({"place": bytes(2 << 20)}, "answers no JSON"), \
                              ({"place": "https://127.0.0.1:1"}, "no server of large files answers at https://127.0.0.1:1"):
            for name, value in {"token": "Bearer secret", "busy": 0, "place": None, **setting}.items():
                setattr(server, name, value)
            daemon.post("/api/v1/git/art/fetched", {})
            texts = set(self.notes(daemon)[1].values())
            self.assertTrue(all(words in text for text in texts), (words, texts))
        server.close()
        daemon.post("/api/v1/git/art/fetched", {})
        self.assertEqual(set(self.notes(daemon)[1].values()), {f"no server of large files answers at {url}"})

    @unittest.skipUnless(shutil.which("git-lfs"), "there is no git-lfs")
    def test_large_files_of_a_server(self):
        """A server that speaks the batch API, asked by git-lfs as a hook of the repository does; a file that it lacks, too."""
        repository = self.repository()
        large = {hashlib.sha256(data).hexdigest(): data for data in (obj_text(7).encode(), obj_text(8).encode())}
        server = LargeFiles(dict(list(large.items())[:1]))
        self.addCleanup(server.close)
        pointers = {f"{n}.obj": f"version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize {len(data)}\n" for n, (oid, data) in enumerate(large.items())}
        repository.commit("large", {**pointers, ".gitattributes": "*.obj filter=lfs\n"})
        daemon = self.daemon(repository)
        self.assertEqual(self.settled(daemon, "HEAD")["failed"], 2)

        def fetch():
            done = subprocess.run(["git", "-c", f"lfs.url={server.url}", "-c", "lfs.transfer.maxretries=1", "lfs", "fetch", "--all"],
                                  cwd=repository.bare, env={**os.environ, **WHO}, capture_output=True, check=False)
            daemon.post("/api/v1/git/art/fetched", {})
            return done.returncode
        self.assertNotEqual(fetch(), 0, "the server lacks one")
        state = until(lambda: (lambda s: s if s["failed"] < 2 else None)(self.settled(daemon, "HEAD")), "the first file")
        self.assertEqual([(note["path"], "git lfs fetch" in note["text"]) for note in state["notes"]], [("1.obj", True)])
        self.assertEqual(daemon.assets()["art/1.obj"]["error"]["code"], "import.lfs-pointer")
        server.files.update(large)
        self.assertEqual(fetch(), 0)
        until(lambda: self.settled(daemon, "HEAD")["state"] == "warm", "the other file")
        self.assertIn(("POST", "/objects/batch", None), server.asked)
        self.assertEqual(daemon.assets()["art/1.obj"]["stats"]["triangles"], 8)

    def test_deltas_in_circles(self):
        """A file, a folder and a commit that are never unpacked: each is named, and everything else stays served, in this repository and others."""
        repository, other = self.repository(), self.repository()
        first = repository.commit("one", {"a.obj": obj_text(1)})
        other.commit("one", {"b.obj": obj_text(2)})
        blob = repository.git("rev-parse", "HEAD:a.obj")
        alone, one, two, lost = (digit * 40 for digit in "4679")
        repository.put_circle(alone)
        repository.put_circle(one, two)
        repository.put_circle(lost)
        tree = repository.put_tree([(0o100644, b"a.obj", blob), (0o100644, b"bad.obj", alone)])
        config = repository.work.parent / "hob.json"
        config.write_text(json.dumps({"sources": [{"git": str(repository.bare), "name": "art", "refs": ["main", "folder"]},
                                                  {"git": str(other.bare), "name": "other"}]}))
        daemon = Daemon([], repository.work.parent / "cache", "--config", config)
        self.addCleanup(daemon.stop)

        def fetched(root):
            return daemon.post(f"/api/v1/git/{root}/fetched", {})
        tip = repository.put_commit(tree, "main")
        repository.put_commit(repository.put_tree([(0o40000, b"props", one)]), "folder")
        answer = fetched("art")
        self.assertIn(f"the object {one} is damaged", answer.json()["detail"])
        (repository.bare / "refs/heads/lost").write_text(lost + "\n")
        state = until(lambda: (lambda s: s if s["state"] == "warm" else None)(daemon.get("/api/v1/commits/main?root=art&wait=60").json()), "the tip")
        self.assertEqual((state["id"], state["assets"]), (tip, 1))
        self.assertEqual(state["notes"], [{"path": "bad.obj", "text": f"the object {alone} is damaged: unpacking it takes too long"}])
        answer = daemon.get("/api/v1/commits/lost?root=art")
        self.assertEqual((answer.status, f"the object {lost} is damaged" in answer.json()["detail"]), (404, True))
        repository.put_commit(tree, "more", [first])
        self.assertEqual(daemon.get(f"/a/art/a.obj?at={first[:12]}").status, 302)
        self.assertEqual(fetched("other").json()["ref"], "main")
        self.assertEqual(daemon.get("/a/other/b.obj", Prefer="wait=60").status, 200)

    def test_a_hostile_tree_in_a_daemon(self):
        """Names that lead out, links, submodules, twins, file and folder of one name: in words, and nothing outside sources/."""
        repository = self.repository()
        repository.commit("one", {"a.obj": obj_text(1)})
        blob, other = repository.git("rev-parse", "HEAD:a.obj"), repository.put_object("blob", obj_text(2).encode())
        up = repository.put_tree([(0o100644, b"escaped.obj", blob)])
        tree = repository.put_tree([(0o40000, b"..", up), (0o100644, b".git", blob),
                                    (0o100644, b"A.obj", blob), (0o100644, b"a", blob), (0o100644, b"a.obj", other),
                                    (0o40000, b"a", up), (0o120000, b"link.obj", blob),
                                    (0o160000, b"module", blob), (0o100644, b"x/up.obj", blob), (0o100644, b"\xff.obj", blob)])
        repository.put_commit(tree, "main")
        daemon = self.daemon(repository)
        state = self.settled(daemon, "HEAD")
        texts = {note["path"]: note["text"] for note in state["notes"]}
        self.assertEqual(texts["link.obj"], "is a symbolic link, which is not followed")
        self.assertEqual(texts["module"], "is a submodule: its files are in another repository")
        for name in "..", "x/up.obj", ".git":
            self.assertEqual(texts[name], "has a name that no file can have")
        self.assertEqual(texts["a/escaped.obj"], "is below a file, or has the name of a folder")
        names = set(daemon.assets())
        self.assertLessEqual({"art/A.obj", "art/a.obj"}, names)
        self.assertFalse([name for name in names if "escaped" in name and name != "art/a/escaped.obj"])
        cache = repository.work.parent / "cache"
        found = [path for path in repository.work.parent.rglob("*.obj") if repository.work not in path.parents]
        self.assertTrue(all(cache / "sources/art" in path.parents or cache / "sources/art~commits" in path.parents for path in found), found)

    def test_restarts_gc_and_lost_repositories(self):
        repository = self.repository()
        commits = [repository.commit(f"{n}", {"a.obj": obj_text(n + 1), f"{n}.obj": obj_text(9)}) for n in range(4)]
        daemon = self.daemon(repository)
        daemon.post(f"/api/v1/commits/{commits[1]}/cook", {})
        self.settled(daemon, commits[1])
        daemon.stop()
        repository.git("reset", "-q", "--hard", commits[0])
        last = repository.commit("forced", {"b.obj": obj_text(20)})
        repository.git("reflog", "expire", "--expire=now", "--all", folder=repository.bare)
        repository.git("gc", "-q", "--prune=now", folder=repository.bare)
        sources = repository.work.parent / "cache/sources"
        (sources / "art/stray.obj").write_text(obj_text(3))
        (sources / "art/b.obj").mkdir()
        daemon = self.daemon(repository)
        self.assertEqual(self.settled(daemon, "HEAD")["id"], last)
        self.assertEqual(sorted(name for name in daemon.assets() if name.startswith("art/")), ["art/0.obj", "art/a.obj", "art/b.obj"])
        self.assertEqual(daemon.get(f"/a/art/1.obj?at={commits[1]}", Prefer="wait=60").status, 404, "no reference leads to it")
        self.assertEqual(os.listdir(sources / "art~commits"), [])
        self.assertEqual(daemon.get(f"/a/art/1.obj?at={commits[2]}").status, 404)
        repository.bare.rename(repository.bare.with_suffix(".away"))
        daemon.post("/api/v1/git/art/fetched", {})
        self.assertEqual(daemon.get("/a/art/b.obj").status, 200)
        daemon.stop()
        daemon = self.daemon(repository, wait=False)
        self.assertEqual(daemon.get("/a/art/b.obj", Prefer="wait=60").status, 200)
        repository.bare.with_suffix(".away").rename(repository.bare)
        self.assertEqual(daemon.post("/api/v1/git/art/fetched", {}).json()["tip"], last)

    def test_kills_while_pushes_arrive(self):
        """SIGKILL of the daemon at any moment of a push, and of hob-git: the tip is exact after the next start."""
        repository = self.repository()
        files = {f"props/{n}.obj": obj_text(n + 1) for n in range(40)}
        repository.commit("base", files)
        chance = random.Random(7)
        daemon = self.daemon(repository)
        for step in range(4):
            for name in chance.sample(sorted(files), 15):
                if files[name] is None or chance.random() < 0.6:
                    files[name] = obj_text(chance.randrange(1, 60))
                else:
                    files[name] = None
            there = {name: text for name, text in files.items() if text is not None or (repository.work / name).exists()}
            commit = repository.commit(f"step {step}", there)
            if step % 2:
                until(lambda: any(commit[:7] in line for line in daemon.log), "the push")
            daemon.process.kill()
            daemon.process.wait()
            daemon = self.daemon(repository)
            self.assertEqual(self.settled(daemon, "HEAD")["id"], commit)
            place = repository.work.parent / "cache/sources/art"
            self.assertEqual({str(path.relative_to(place)): path.read_text() for path in place.rglob("*") if path.is_file()},
                             {name: text for name, text in files.items() if text is not None})
            self.assertEqual(sorted(daemon.assets()), sorted(f"art/{name}" for name, text in files.items() if text is not None))
        for child in pathlib.Path("/proc").glob("[0-9]*/comm"):
            try:
                is_reader = child.read_text().strip() == "hob-git" and f"PPid:\t{daemon.process.pid}\n" in (child.parent / "status").read_text()
            except OSError:
                continue
            if is_reader:
                os.kill(int(child.parent.name), 9)
        commit = repository.commit("after", {"last.obj": obj_text(3)})
        until(lambda: daemon.post("/api/v1/git/art/fetched", {}).json().get("tip") == commit, "another hob-git")
        self.assertEqual(self.at_tip(daemon, commit)["state"], "warm")

    def test_what_cannot_be_served_is_named(self):
        folder = fresh_folder("git")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        repository = Repository(folder / "r")
        for source, words in ((f"git:{folder}", "is no git repository"), (f"git:{repository.bare}#none", "has no folder 'none'"),
                              (f"git:{folder}/nothing", "is no git repository")):
            if "none" in source:
                repository.commit("one", {"a.obj": obj_text(1)})
            done = subprocess.run([HOB, "serve", source, "--cache", folder / "cache", "--listen", "127.0.0.1:0"], capture_output=True,
                                  check=False, stdin=subprocess.DEVNULL)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(words, done.stderr.decode())

    def test_an_empty_repository_waits_for_its_first_push(self):
        repository = self.repository()
        daemon = self.daemon(repository, wait=False)
        self.assertEqual(daemon.get("/api/v1/commits").status, 404)
        commit = repository.commit("first", {"a.obj": obj_text(1)})
        until(lambda: daemon.get("/api/v1/commits/HEAD").status == 200, "the first push")
        self.assertEqual(self.at_tip(daemon, commit)["assets"], 1)

    def test_system_calls_of_a_daemon(self):
        """Done 3: no file of the tree's names is created outside sources/, and none is read from a working copy."""
        if not shutil.which("strace"):
            self.skipTest("needs strace")
        repository = self.repository()
        repository.commit("one", {"strangely_named.obj": obj_text(1, mtl="strangely.mtl"), "strangely.mtl": "newmtl m\n"})
        trace, cache = repository.work.parent / "trace", repository.work.parent / "cache"
        daemon = Daemon([f"git:{repository.work}"], cache, program=("strace", "-f", "-y", "-e", "trace=%file,openat2", "-o", str(trace), HOB))
        self.addCleanup(daemon.process.kill)
        self.settled(daemon, "HEAD")
        daemon.request("POST", "/api/v1/commits/HEAD/cook", {})
        self.at_tip(daemon, repository.commit("two", {"strangely_other.obj": obj_text(2)}, push=False))
        daemon.process.terminate()
        os.kill(int(re.search(r"\d+", (cache / "lock").read_text()).group()), 15)
        daemon.process.wait()
        sources, calls = str(cache / "sources"), 0
        for line in trace.read_text().splitlines():
            if "strangely" not in line:
                continue
            calls += 1
            self.assertNotIn(f'"{repository.work}/strangely', line)
            self.assertNotIn(f"<{repository.work}>", line)
            if "O_CREAT" in line or "rename" in line or "link" in line:
                self.assertIn(sources, line)
        self.assertGreater(calls, 4)


if __name__ == "__main__":
    main()
