"""`hob bundle` and `hob bundle replay`: a cook packed into one file and repeated elsewhere."""
import io
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tarfile
import threading

from command_line import GLTF, TRIANGLE, CommandLine
from hobtest import DEADLINE, HOB, main, obj_text, png


class Bundles(CommandLine):
    def fetch(self, name):
        """A bundle read with Python's tarfile: {member: bytes}."""
        file = self.folder / "bundle.tar"
        self.hob("bundle", name, "-o", file)
        with tarfile.open(file) as tar:
            self.assertTrue(all(member.isfile() for member in tar))
            return file, {member.name: tar.extractfile(member).read() for member in tar}

    def test_a_bundle_holds_all_and_is_repeated(self):
        deep = "/".join(["a folder with a long name"] * 5)
        self.put(f"props/{deep}/duck.obj", obj_text(60, mtl="../duck.mtl"))
        self.put(f"props/{deep}/../duck.mtl", "newmtl m\nmap_Kd ../red.png\nmap_Bump none.png\n")
        folder = (self.art / f"props/{deep}").parent
        (folder.parent / "red.png").write_bytes(png(200, 0, 0))
        self.put("cook.json", '{"lods": {"max": 2}}')
        self.start()
        name = f"art/props/{deep}/duck.obj"
        file, members = self.fetch(name)
        description = json.loads(members["bundle.json"])
        self.assertEqual((description["asset"], description["path"]), (name, f"props/{deep}/duck.obj"))
        self.assertEqual(description["record"]["inputs"]["settings"]["lods"]["max"], 2)
        files = {key[6:]: data for key, data in members.items() if key.startswith("files/")}
        self.assertEqual(files, {str(path.relative_to(self.art)): path.read_bytes()
                                 for path in self.art.rglob("*") if path.suffix in (".obj", ".mtl", ".png")})
        self.assertEqual(file.read_bytes()[-1024:], bytes(1024))
        self.hob("bundle", name, "-o", self.folder / "new/folder/x.tar")
        self.assertEqual((self.folder / "new/folder/x.tar").read_bytes(), file.read_bytes())
        (self.folder / "flat").write_text("")
        self.assertIn("cannot be written: Not a directory", self.hob("bundle", name, "-o", self.folder / "flat/x.tar", code=2)[1])
        self.daemon.stop()
        shutil.rmtree(self.art)
        said = self.hob("bundle", "replay", file, TMPDIR=str(self.folder))[0]
        self.assertRegex(said, r"the same: all \d outputs have the same bytes")
        self.assertEqual([p for p in self.folder.iterdir() if p.name.startswith("hob-replay")], [])
        self.assertIn("the same:", subprocess.run([HOB, "bundle", "replay", file], cwd="/", capture_output=True, text=True,
                                                  timeout=DEADLINE, check=True).stdout)

    def test_a_bundle_through_a_pipe(self):
        self.put("a.obj", obj_text(3))
        self.start()
        url = dict(os.environ, HOB_URL=f"127.0.0.1:{self.daemon.port}")
        done = subprocess.run([HOB, "bundle", "art/a.obj", "-o", "-"], cwd=self.folder, env=url, capture_output=True, timeout=DEADLINE, check=True)
        self.assertEqual(done.stderr, b"")
        self.assertIn("files/a.obj", tarfile.open(fileobj=io.BytesIO(done.stdout)).getnames())
        self.assertFalse((self.folder / "-").exists())

    def test_the_same_error_and_another_outcome(self):
        self.put("bad.gltf", GLTF % "gone.bin")
        self.put("good.obj", obj_text(5))
        self.start()
        file, members = self.fetch("art/bad.gltf")
        self.assertEqual(members["files/bad.gltf"].decode(), GLTF % "gone.bin")
        self.assertIn("the same: it fails with the same error", self.hob("bundle", "replay", file)[0])
        self.repack(file, members, {"files/gone.bin": TRIANGLE})
        self.assertIn("not the same: it failed, and is cooked well here", self.hob("bundle", "replay", file, code=1)[0])
        number = re.match(r"job (\d+)", self.hob("log", "art/good.obj")[0]).group(1)
        self.hob("bundle", number, "-o", file)
        self.assertIn("the same: all", self.hob("bundle", "replay", file)[0])
        file, members = self.fetch("art/good.obj")
        self.repack(file, members, {"files/good.obj": obj_text(6).encode()})
        said = self.hob("bundle", "replay", file, code=1)[0]
        self.assertRegex(said, r"differs   meshes  [0-9a-f]{12} -> [0-9a-f]{12}")
        told = json.loads(self.hob("bundle", "replay", file, "--json", code=1)[0])
        self.assertEqual((told["same"], [line for line in told["lines"] if line.startswith("  differs   meshes")]),
                         (False, [line for line in said.splitlines() if line.startswith("  differs   meshes")]))
        self.assertEqual(self.hob("bundle", "replay", self.art / "good.obj", "--json", code=2)[0], "")
        self.assertIn("did you mean\n  art/good.obj", self.hob("bundle", "art/god.obj", code=2)[1])

    def repack(self, file, members, more):
        with tarfile.open(file, "w", format=tarfile.PAX_FORMAT) as tar:
            for name, data in (members | more).items():
                self.add(tar, name, data)

    def add(self, tar, name, data=b"", kind=tarfile.REGTYPE, link=""):
        member = tarfile.TarInfo(name)
        member.size, member.type, member.linkname = len(data), kind, link
        tar.addfile(member, io.BytesIO(data))

    def test_hostile_bundles_make_nothing_outside(self):
        self.put("good.obj", obj_text(5))
        self.start()
        file, members = self.fetch("art/good.obj")
        for name in ("../out.obj", "files/../../out.obj", "files/a/../../../out.obj", "/" + str(self.folder)[1:] + "/out.obj",
                     "files//" + str(self.folder) + "/out.obj", "files/./x/../../../out.obj"):
            self.repack(file, members, {name: b"x"})
            self.assertIn("leaves its folder", self.hob("bundle", "replay", file, code=2, TMPDIR=str(self.folder))[1], name)
        # Links are skipped, so that nothing is written through them.
        with tarfile.open(file, "w") as tar:
            self.add(tar, "files/link", kind=tarfile.SYMTYPE, link=str(self.folder))
            for name, data in (members | {"files/link/out.obj": b"x"}).items():
                self.add(tar, name, data)
        self.assertIn("the same", self.hob("bundle", "replay", file, TMPDIR=str(self.folder))[0])
        self.assertEqual(list(self.folder.rglob("out.obj")), [])
        with tarfile.open(self.folder / "gnu.tar", "w", format=tarfile.GNU_FORMAT) as tar:
            self.add(tar, "files/" + "x" * 150, b"x")
        self.assertIn("--format=pax", self.hob("bundle", "replay", self.folder / "gnu.tar", code=2)[1])
        whole = file.read_bytes()
        for spoiled in (whole[:700], whole[:100], b"", b"x" * 2048, bytes(1024), whole.replace(b"bundle.json", b"bundle.jsxx")):
            file.write_bytes(spoiled)
            self.assertRegex(self.hob("bundle", "replay", file, code=2)[1], "cut off|not a tar archive|not a bundle", spoiled[:20])
        description = json.loads(members["bundle.json"])
        for change in ({"path": "../../etc/passwd"}, {"path": "none.obj"}, {"bundle": 2}, {"record": None}, {"path": "bundle.json"}):
            self.repack(file, members, {"bundle.json": json.dumps(description | change).encode()})
            result = subprocess.run([HOB, "bundle", "replay", file], capture_output=True, text=True, timeout=DEADLINE, check=False)
            self.assertIn(result.returncode, (1, 2), (change, result.stdout, result.stderr))
            self.assertNotIn("Sanitizer", result.stderr)

    def test_bundles_of_strangers_steer_no_terminal_and_leave_nothing(self):
        self.put("good.obj", obj_text(5))
        self.start()
        file, members = self.fetch("art/good.obj")
        description = json.loads(members["bundle.json"])
        description |= {"asset": "\x1b]0;other\x07\x1b[2J", "hob": "\x1b[31m9", "sandbox": "a\nb"}
        self.repack(file, members, {"bundle.json": json.dumps(description).encode()})
        said = self.hob("bundle", "replay", file)[0]
        self.assertIn("?]0;other??[2J: cooked again", said)
        self.assertNotRegex(said, "[\x00-\x09\x0b-\x1f]")
        self.repack(file, members, {"files/" + "a/" * 2040 + "x": b"x"})
        self.assertIn("too deep", self.hob("bundle", "replay", file, code=2, TMPDIR=str(self.folder))[1])
        pipe = self.folder / "pipe.tar"
        os.mkfifo(pipe)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            process = subprocess.Popen([HOB, "bundle", "replay", pipe], env=dict(os.environ, TMPDIR=str(self.folder)))
            with open(pipe, "wb") as out:  # it is unpacking now
                out.write(file.read_bytes()[:600])
                out.flush()
                process.send_signal(number)
                self.assertEqual(process.wait(DEADLINE), 130)
        self.assertEqual([p for p in self.folder.iterdir() if p.name.startswith("hob-replay")], [])

    def test_what_has_changed_since_is_refused(self):
        self.put("good.obj", obj_text(5))
        self.start()
        number = re.match(r"job (\d+)", self.hob("log", "art/good.obj")[0]).group(1)
        self.put("good.obj", obj_text(5).replace("0.5", "0.6"))  # of the same size
        self.daemon.sync()
        self.assertIn("'good.obj' was changed or deleted since", self.hob("bundle", number, "-o", "/dev/null", code=2)[1])
        self.assertIn("left no record", self.hob("bundle", 99999, "-o", "/dev/null", code=2)[1])

    def test_inputs_that_are_others_by_now_are_named(self):
        self.put("pot.mtl", "newmtl m\nmap_Kd pot.png\nmap_Ke gone.png\n")
        self.put("pot.png", png(1, 2, 3))
        self.put("pot.obj", obj_text(5, mtl="pot.mtl"))
        self.start()
        number = re.match(r"job (\d+)", self.hob("log", "art/pot.obj")[0]).group(1)
        out = self.folder / "x.tar"
        self.hob("bundle", number, "-o", out)
        self.assertNotIn("files/gone.png", tarfile.open(out).getnames())  # the missing file is not in the bundle
        self.assertIn("the same: all", self.hob("bundle", "replay", out)[0])
        whole, kept = out.read_bytes(), {name: (self.art / name).read_bytes() for name in ("pot.obj", "pot.mtl", "pot.png")}
        for name, data in kept.items():
            path = self.art / name
            for what, change in (("longer", lambda: path.write_bytes(data + b"#" * 100000)), ("shorter", lambda: path.write_bytes(data[:-1])),
                                 ("empty", lambda: path.write_bytes(b"")), ("gone", path.unlink), ("a folder", path.mkdir),
                                 ("a pipe", lambda: (path.rmdir(), os.mkfifo(path)))):
                change()
                said = self.hob("bundle", number, "-o", self.folder / "y.tar", code=2)[1]
                self.assertRegex(said, f"'{name}' was changed or deleted since|the asset of this job no longer exists", what)
            path.unlink()
            self.put(name, data)
        self.assertFalse((self.folder / "y.tar").exists())
        self.hob("bundle", number, "-o", out)
        self.assertEqual(out.read_bytes(), whole)

    def test_bundles_larger_than_the_cache_and_than_memory(self):
        self.put("big.bin", TRIANGLE + bytes(6 << 20))
        self.put("big.gltf", (GLTF % "big.bin").replace('"byteLength":36}]}', '"byteLength":%d}]}' % (len(TRIANGLE) + (6 << 20))))
        self.start("--max-size", "1MB")
        _, members = self.fetch("art/big.gltf")
        self.assertEqual(members["files/big.bin"], (self.art / "big.bin").read_bytes())
        self.assertEqual(self.daemon.assets()["art/big.gltf"]["state"], "fresh")
        with socket.create_server(("127.0.0.1", 0)) as server:
            def answer():
                peer = server.accept()[0]
                with peer:
                    peer.recv(65536)
                    peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1073741825\r\n\r\n")
                    peer.recv(1)
            thread = threading.Thread(target=answer)
            thread.start()
            where = f"127.0.0.1:{server.getsockname()[1]}"
            said = self.hob("bundle", 7, "-o", self.folder / "z.tar", code=2, HOB_URL=where)[1]
            thread.join()
        self.assertRegex(said, rf"more than 1 GiB.* curl: .*{where}/api/v1/jobs/7/bundle")


if __name__ == "__main__":
    main()
