"""./dev release: the folder that is published. apt takes its packages with its key and refuses what was changed; sums, notes and the
bill of materials agree with what is there. tests/release.sh installs from it in an empty Debian."""
import gzip
import hashlib
import http.server
import json
import os
import re
import shutil
import subprocess
import threading
import unittest
from functools import partial

from hobtest import DEADLINE, PROJECT, Scenario, main

VERSION = re.search(r"project\(hob VERSION ([\d.]+)", (PROJECT / "CMakeLists.txt").read_text())[1]


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@unittest.skipUnless(all(map(shutil.which, ("gpg", "gpgv", "dpkg-scanpackages", "dpkg-deb", "apt-get"))), "there is no gpg, dpkg-dev or apt")
class Release(Scenario):
    def run_in(self, *command, code=0, **environment):
        ran = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=DEADLINE, check=False,
                             env=dict(os.environ, **environment))
        self.assertEqual(ran.returncode, code, ran.stdout + ran.stderr)
        return ran.stdout + ran.stderr

    def packages(self, debian):
        """As package.sh leaves them, but with a text for a program."""
        folder = self.folder / f"packages{debian}"
        folder.mkdir()
        for name in ("hob", "hob-tools"):
            tree = self.folder / "tree"
            (tree / "DEBIAN").mkdir(parents=True)
            (tree / f"{name}.txt").write_text(f"{name} for Debian {debian}\n")
            (tree / "DEBIAN/control").write_text(f"Package: {name}\nVersion: {VERSION}-1+deb{debian}\nArchitecture: amd64\nMaintainer: Hob <hob@hob.invalid>\n"
                                                 f"Depends: libc6 (>= 2.{debian}), adduser\nDescription: a test\n")
            self.run_in("dpkg-deb", "--root-owner-group", "--build", tree, folder / f"{name}_{VERSION}-1+deb{debian}_amd64.deb")
            shutil.rmtree(tree)
        for name in (f"hob-client-{VERSION}.tgz", f"hob_client-{VERSION}-py3-none-any.whl", f"hob-blender-{VERSION}.zip", f"hob-{VERSION}.tar.xz"):
            (folder / name).write_text(f"{name}\n")
        return folder

    def release(self, **environment):
        out = self.folder / "publish"
        said = self.run_in(PROJECT / "docker/release.sh", out, *(self.folder.glob("packages1?")), PATH=f"{self.folder / 'no-engine'}:{os.environ['PATH']}",
                           **environment)
        return out, said

    def setUp(self):
        super().setUp()
        (self.folder / "no-engine").mkdir()
        for name in ("docker", "podman"):  # no image is built here
            (self.folder / "no-engine" / name).write_text("#!/bin/sh\nexit 1\n")
            (self.folder / "no-engine" / name).chmod(0o755)
        self.packages("12")
        self.packages("13")

    def apt(self, address, suite, keyring, *command, code=0):
        """apt as an administrator has it, with folders of its own instead of the system's."""
        home = self.folder / f"apt-{suite}"
        for part in ("lists/partial", "cache/archives/partial", "etc/preferences.d", "etc/apt.conf.d", "etc/sources.list.d", "etc/trusted.gpg.d"):
            (home / part).mkdir(parents=True, exist_ok=True)
        (home / "status").touch()
        (home / "etc/hob.list").write_text(f"deb [signed-by={keyring} arch=amd64] {address}/apt {suite} main\n")
        options = {"Dir::Etc": home / "etc", "Dir::Etc::sourcelist": home / "etc/hob.list", "Dir::State": home, "Dir::State::lists": home / "lists",
                   "Dir::State::status": home / "status", "Dir::Cache": home / "cache", "APT::Architecture": "amd64", "APT::Sandbox::User": "",
                   "Debug::NoLocking": "1", "Acquire::Languages": "none", "Acquire::http::Proxy": "DIRECT"}
        return self.run_in("apt-get", *(f"-o{name}={value}" for name, value in options.items()), *command, code=code)

    def key(self, name):
        """(its file, its fingerprint)"""
        home = self.folder / "home"
        home.mkdir(mode=0o700, exist_ok=True)
        self.run_in("gpg", "--batch", "--quiet", "--pinentry-mode", "loopback", "--passphrase", "", "--quick-generate-key", name, "ed25519", "sign", "1d",
                    GNUPGHOME=str(home))
        file = self.folder / f"{name}.gpg"
        file.write_bytes(subprocess.run(["gpg", "--batch", "--export", name], env=dict(os.environ, GNUPGHOME=str(home)), check=True, capture_output=True).stdout)
        listed = self.run_in("gpg", "--batch", "--with-colons", "--list-keys", name, GNUPGHOME=str(home))
        self.run_in("gpgconf", "--kill", "all", GNUPGHOME=str(home))
        return file, re.search(r"^fp\w:+(\w+):$", listed, re.M)[1]

    def serve_folder(self, folder):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.shutdown)
        return f"http://127.0.0.1:{server.server_address[1]}"

    def test_what_is_published_agrees(self):
        out, said = self.release()
        self.assertIn("a key of this run", said)
        files = {str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()}
        sums = dict(line.split("  ")[::-1] for line in (out / "SHA256SUMS").read_text().splitlines())
        self.assertEqual(set(sums), {name for name in files if not name.startswith("SHA256SUMS")})
        self.assertEqual(sums, {name: hashlib.sha256((out / name).read_bytes()).hexdigest() for name in sums})
        for suite, debian in (("bookworm", "12"), ("trixie", "13")):
            packed = gzip.decompress((out / f"apt/dists/{suite}/main/binary-amd64/Packages.gz").read_bytes()).decode()
            self.assertEqual(re.findall(r"^Version: (.*)$", packed, re.M), [f"{VERSION}-1+deb{debian}"] * 2)
            self.run_in("gpgv", "--keyring", out / "apt/hob.gpg", out / f"apt/dists/{suite}/InRelease")
        self.run_in("gpgv", "--keyring", out / "apt/hob.gpg", out / "SHA256SUMS.asc", out / "SHA256SUMS")
        listed = json.loads((out / f"hob-{VERSION}.cdx.json").read_text())["components"]
        self.assertLessEqual({("hob", f"{VERSION}-1+deb12"), ("libc6", "2.12")}, {(one["name"], one["version"]) for one in listed})
        self.assertIn("preact", {one["name"] for one in listed})
        notes, (at,) = (out / "RELEASE.md").read_text(), re.findall(r"^at=(\S+)", (PROJECT / "README.md").read_text(), re.M)
        for words in (f"at={at}\n", "signed-by=", "which expires on 20", "### Reading", "image-context.tar.gz"):
            self.assertIn(words, notes)
        self.assertNotIn("## 0.2.0", notes)
        self.assertTrue({f"hob-client-{VERSION}.tgz", f"hob-{VERSION}.tar.xz", f"hob-{VERSION}-image-context.tar.gz"} <= files)
        places = [path for path in self.run_in("git", "-C", PROJECT, "grep", "-l", "--fixed-strings", at).splitlines() if not path.startswith("tests/")]
        self.assertEqual(places, ["README.md"], "the address has one place")

    def test_apt_takes_it_by_its_key_and_refuses_what_was_changed(self):
        out, _ = self.release()
        address = self.serve_folder(out)
        for suite, debian in (("bookworm", "12"), ("trixie", "13")):
            self.apt(address, suite, out / "apt/hob.gpg", "update")
            got = self.apt(address, suite, out / "apt/hob.gpg", "download", "--print-uris", "hob")
            self.assertIn(f"/apt/pool/{suite}/hob_{VERSION}-1%2bdeb{debian}_amd64.deb", got.replace("+", "%2b"))
        other, _ = self.key("Another")
        self.assertIn("NO_PUBKEY", self.apt(address, "bookworm", other, "-o", "APT::Update::Error-Mode=any", "update", code=100))
        for name in ("Packages", "Packages.gz"):
            (out / "apt/dists/trixie/main/binary-amd64" / name).write_bytes(b"Package: hob\nVersion: 9\n")
        shutil.rmtree(self.folder / "apt-trixie")
        self.apt(address, "trixie", out / "apt/hob.gpg", "-o", "APT::Update::Error-Mode=any", "update", code=100)

    def test_two_keys_while_one_replaces_the_other(self):
        keys = [self.key(name) for name in ("Old", "New")]
        out, said = self.release(HOB_RELEASE_KEY=" ".join(fingerprint for _, fingerprint in keys), GNUPGHOME=str(self.folder / "home"))
        self.run_in("gpgconf", "--kill", "all", GNUPGHOME=str(self.folder / "home"))
        self.assertNotIn("a key of this run", said)
        address = self.serve_folder(out)
        for keyring in (keys[0][0], keys[1][0], out / "apt/hob.gpg"):
            self.apt(address, "bookworm", keyring, "-o", "APT::Update::Error-Mode=any", "update")


if __name__ == "__main__":
    main()
