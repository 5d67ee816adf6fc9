"""Git repositories as sources: hob-git by itself, and in a daemon; repositories that are written to do harm."""
import hashlib
import os
import pathlib
import shutil
import socket
import struct
import subprocess
import unittest
import zlib

from hobtest import Scenario, beside, fresh_folder, main, obj_text

HOB_GIT = beside("hob-git")
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


class Reader:
    """hob-git, asked as the daemon asks it."""

    def __init__(self, repository, *prefix, sandbox=0):
        self.socket, theirs = socket.socketpair()
        self.process = subprocess.Popen([*prefix, HOB_GIT, str(sandbox), repository], stdin=subprocess.DEVNULL, stdout=theirs)
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
class ReaderTest(Scenario):
    def repository(self):
        folder = fresh_folder("git")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        return Repository(folder)

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
        self.assertIsNone(reader.ask("blob", blob)[0])  # libgit2 1.5 unpacks it for ever, until a timer ends the process
        reader = self.reader(repository)
        for damage in (whole[:20] + bytes([whole[20] ^ 255]) + whole[21:], zlib.compress(b"blob 9\0wrong size"),
                       zlib.compress(b"blob 5\0other"), b""):
            place.write_bytes(damage)
            self.assertIsNone(reader.ask("blob", blob)[0])
        place.write_bytes(zlib.compress(b"blob 99999999999\0"))
        self.assertIn("more than 1073741824", reader.ask("blob", blob)[1])
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


if __name__ == "__main__":
    main()
