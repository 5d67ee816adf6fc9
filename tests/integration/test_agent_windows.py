"""hob-agent.exe, the program for Windows, under Wine: the tests of hob-agent, and Windows' own rules. Skipped without Debian's
gcc-mingw-w64-x86-64 and wine64. tests/README.md lists what Wine cannot show."""
import os
import pathlib
import shutil
import ssl
import subprocess
import unittest

import test_agent
from wire import Wire
from hobtest import PROJECT, amount, fresh_folder, main, obj_text, until

WINE = [*test_agent.SIDE.split(), shutil.which("wine") or shutil.which("wine64")]
MISSING = "there is no gcc-mingw-w64-x86-64" if not shutil.which("x86_64-w64-mingw32-gcc") else "" if WINE[-1] else "there is no wine64"
RULES = (*(f"core/base/{name}.c" for name in ("error", "memory", "path", "portable", "str")), "-lbcrypt", "-lnormaliz", "-lshell32", "-ladvapi32")
EXE = pathlib.Path(os.environ.get("HOB_AGENT_EXE", "hob-agent.exe"))


def setUpModule():
    """Builds the program and its helper; a fresh C: drive."""
    global EXE
    if MISSING:
        raise unittest.SkipTest(MISSING)
    folder = fresh_folder()
    os.environ.update(WINEPREFIX=str(folder / "prefix"), WINEDEBUG="-all", WINEDLLOVERRIDES="mscoree,mshtml=")
    unittest.addModuleCleanup(shutil.rmtree, folder, ignore_errors=True)
    unittest.addModuleCleanup(subprocess.run, [shutil.which("wineserver") or "/usr/lib/wine/wineserver", "-k"], check=False)
    if not EXE.exists():
        EXE = folder / "hob-agent.exe"
        subprocess.run(["sh", PROJECT / "docker/agent_windows.sh", EXE], check=True)
    for name, more in (("integration/rogue/windows_edits", ("-lcrypt32",)), ("unit/base/windows_rules", RULES)):
        subprocess.run(["x86_64-w64-mingw32-gcc", "-std=gnu11", "-O1", "-Wall", "-Wextra", "-Wno-format", "-Wno-format-extra-args", "-D_WIN32_WINNT=0x0601",
                        "-DUNICODE", "-D_UNICODE", "-D__USE_MINGW_ANSI_STDIO=1", "-I.", "-include", "server/agent/memmem.h", "-static", "-o", folder / f"{name.rpartition('_')[2]}.exe",
                        f"tests/{name}.c", *more], check=True, cwd=PROJECT)
    subprocess.run([*WINE, EXE, "--version"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # makes the drive
    Windows.edits = folder / "edits.exe"


class Windows(test_agent.Agent):
    """Files are changed by a program for Windows, where its rules matter."""

    def setUp(self):
        super().setUp()
        self.addCleanup(setattr, test_agent, "AGENT", test_agent.AGENT)
        test_agent.AGENT = " ".join((*WINE, str(EXE)))
        self.editor = None

    def do(self, verb, *fields, fails=False):
        """One command of windows_edits.c; the first field is a path below the folder."""
        if not self.editor:
            self.editor = subprocess.Popen([*WINE, str(self.edits)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            self.addCleanup(self.editor.stdout.close)
            self.addCleanup(self.editor.wait)
            self.addCleanup(self.editor.stdin.close)
        self.editor.stdin.write("\t".join((verb, *map(str, fields))) + "\n")
        self.editor.stdin.flush()
        answer = self.editor.stdout.readline().strip()
        self.assertEqual(answer == "ok", not fails, f"{verb} {fields}: {answer}")

    def at(self, path):
        return f"Z:{self.desk}/{path}"

    def write(self, path, data):
        """A program of Linux would not be kept from writing while the agent reads, nor the agent from reading its first half."""
        new = self.folder / "new"
        new.write_bytes(data if isinstance(data, bytes) else data.encode())
        (self.desk / path).parent.mkdir(parents=True, exist_ok=True)
        self.do("copy", f"Z:{new}", self.at(path))

    def half(self, path, data):
        """A save in two pieces, by a program that lets others read meanwhile."""
        text = data.decode().replace("\n", " ").replace("\t", " ")
        (self.desk / path).parent.mkdir(parents=True, exist_ok=True)
        self.saved[test_agent.hashlib.sha256(text.encode()).hexdigest()] = len(text)
        text = text[:60000]
        self.saved[test_agent.hashlib.sha256(text.encode()).hexdigest()] = len(text)
        self.do("begin", self.at(path), 0, text[:len(text) // 2])
        self.do("end", text[len(text) // 2:], 0)

    untrusted, misnamed, no_tls = ("trust its certificate", "certmgr"), ("not for this name", "a name that it was made for"), ("does not speak TLS", "http://")

    def trust(self, certificate):
        """Trusted by the user of Windows, as certmgr does it."""
        self.do("trust", ssl.PEM_cert_to_DER_cert(certificate.read_text()).hex())
        return ()

    def test_random_edits_with_kills_of_either_side(self):
        """By events, without folders that move: Wine 8 tells nothing of what happens in those afterwards."""
        self.kinds = tuple(kind for kind in self.kinds if kind != "folder")
        super().test_random_edits_with_kills_of_either_side()

    def test_random_edits_by_looking(self):
        """Edits of every kind, with folders that move, every two seconds."""
        self.edit_options = ("--yes", "--poll")
        super().test_random_edits_with_kills_of_either_side()

    def test_once_mirrors_says_what_failed_and_tells_it_by_its_exit_code(self):
        self.write("props/duck.obj", obj_text(2))
        self.write("broken.obj", "f 1 2 3\n")
        self.write("~$duck.obj", "lock"), self.write("a.tmp", "half"), self.write("old/x.obj", "o")
        self.write(".hobignore", "old/\n")
        with self.serve() as daemon:
            agent = self.once()
            self.assertEqual(agent.code, 1, agent.lines)
            self.assertEqual(set(test_agent.tree(self.art)), {"props/duck.obj", "broken.obj", ".hobignore"})
            before = daemon.assets()["art/props/duck.obj"]["id"]
            os.rename(self.desk / "props", self.desk / "things")
            self.assertEqual(self.once("--dry-run").code, 0)
            self.assertIn("props/duck.obj", test_agent.tree(self.art))
            self.assertEqual(self.once().code, 1)
            self.assertEqual(daemon.assets()["art/things/duck.obj"]["id"], before)

    def same(self, expected):
        def there():
            try:
                return {path: (self.art / path).read_text(errors="replace") for path in test_agent.tree(self.art)}
            except FileNotFoundError:  # renamed since it was listed
                return None
        until(lambda: there() == expected, f"{expected}")

    def test_names_that_windows_can_hold(self):
        deep = "/".join(["a-folder-with-a-name-of-fifty-characters-0123456789"] * 8)
        with self.serve():
            agent = test_agent.Running(self)
            agent.said("connected to")
            parts = deep.split("/")
            for i in range(len(parts)):
                self.do("mkdir", self.at("/".join(parts[:i + 1])))
            self.do("save", self.at(deep + "/long.txt"), "a path of over 400 characters")
            self.do("save", self.at("o\u0308l.txt"), "decomposed")
            self.do("save", self.at("\U0001f986.txt"), "a pair")
            self.same({deep + "/long.txt": "a path of over 400 characters", "\u00f6l.txt": "decomposed", "\U0001f986.txt": "a pair"})
            agent.kill()
            names = ("con.obj", "aux", "LPT1.txt", "dot.", "blank ", "com\u00b2.x")
            for name in names:
                self.do("save", self.at(name), "reserved")
            agent = self.once()
            self.assertEqual([name for name in names if not any(f"skipped {name}: the name" in line for line in agent.lines)], [], agent.lines)
            self.assertEqual(len(test_agent.tree(self.art)), 3)

    def rename_case(self, old, new):
        """Wine 8 answers MoveFileEx with success and renames nothing."""
        self.do("move", self.at(old), self.at(new))
        if (self.desk / old).exists():
            os.rename(self.desk / old, self.desk / new)

    def test_a_rename_that_changes_only_case(self):
        with self.serve() as daemon:
            agent = test_agent.Running(self)
            agent.said("connected to")
            self.do("mkdir", self.at("Props"))
            self.do("save", self.at("Props/Duck.obj"), "# case")
            agent.said("art/Props/Duck.obj")
            before = daemon.assets()["art/Props/Duck.obj"]["id"]
            self.rename_case("Props/Duck.obj", "Props/duck.obj")
            self.same({"Props/duck.obj": "# case"})
            self.rename_case("Props", "props")
            self.same({"props/duck.obj": "# case"})
            daemon.sync()
            self.assertEqual(daemon.assets()["art/props/duck.obj"]["id"], before)
            self.do("save", self.at("PROPS/DUCK.OBJ"), "# by another case")
            self.same({"props/duck.obj": "# by another case"})

    def test_files_that_a_program_holds(self):
        with self.serve():
            agent = test_agent.Running(self)
            agent.said("connected to")
            self.do("begin", self.at("slow.obj"), 0, "# first half")
            agent.said("waiting for slow.obj: another program writes or locks it")
            self.do("save", self.at("other.obj"), "# meanwhile")
            self.same({"other.obj": "# meanwhile"})
            self.do("end", ", second half", 0)
            self.same({"other.obj": "# meanwhile", "slow.obj": "# first half, second half"})
            self.do("lock", self.at("other.obj"), 1)
            self.do("save", self.at("third.obj"), "# third")
            self.same({"other.obj": "# meanwhile", "slow.obj": "# first half, second half", "third.obj": "# third"})
            self.do("end", "", 1)
            self.do("readonly", self.at("third.obj"), 1)  # as Perforce leaves files
            if os.getuid():  # Wine's read-only is that of Linux, which root does not heed
                self.do("save", self.at("third.obj"), "# refused", fails=True)
            self.do("readonly", self.at("third.obj"), 0)
            self.do("save", self.at("third.obj"), "# checked out")
            self.do("readonly", self.at("third.obj"), 1)
            self.same({"other.obj": "# meanwhile", "slow.obj": "# first half, second half", "third.obj": "# checked out"})

    def test_nobody_waits_for_the_agent(self):
        """A program can save a file while the agent sends it."""
        with self.serve() as daemon:
            wire = Wire(daemon.port, 0.2)
            self.addCleanup(wire.stop)
            agent = test_agent.Running(self, url=f"http://127.0.0.1:{wire.port}")
            agent.said("connected to")
            self.write("big.bin", os.urandom(8 << 20))
            until(lambda: wire.up["blobs"], "an upload")
            self.do("save", self.at("big.bin"), "saved meanwhile")
            self.same({"big.bin": "saved meanwhile"})

    def test_safe_saves_of_six_programs(self):
        """How each program replaces a file. The old version stays until the new one is whole, and nothing else is ever sent."""
        def blender(path, text):
            self.do("save", self.at(path + "@"), text)
            if (self.desk / path).exists():
                self.do("move", self.at(path), self.at(path + "1"))
            self.do("move", self.at(path + "@"), self.at(path))

        def maya(path, text):  # a temporary file in the same folder, the old file deleted first
            self.do("save", self.at("ma2f1c.tmp"), text)
            if (self.desk / path).exists():
                self.do("delete", self.at(path))
            self.do("move", self.at("ma2f1c.tmp"), self.at(path))

        def max3ds(path, text):  # in place, in pieces
            self.do("begin", self.at(path), 2, text[:3])
            self.do("end", text[3:], 2)

        def photoshop(path, text):  # ReplaceFile with a backup that is deleted afterwards
            self.do("save", self.at("psA7F1.tmp"), text)
            if (self.desk / path).exists():
                self.do("replace", self.at(path), self.at("psA7F1.tmp"), self.at("~psA7F2.tmp"))
                self.do("delete", self.at("~psA7F2.tmp"))
            else:
                self.do("move", self.at("psA7F1.tmp"), self.at(path))

        def substance(path, text):  # the old one renamed away, the new one written in its place
            if (self.desk / path).exists():
                self.do("move", self.at(path), self.at(path + "~"))
            self.do("save", self.at(path), text)

        def office(path, text):  # an owner file beside it, and ReplaceFile without a backup
            self.do("save", self.at("~$" + path), "anna")
            self.do("save", self.at("A1B2C3D4.tmp"), text)
            if (self.desk / path).exists():
                self.do("replace", self.at(path), self.at("A1B2C3D4.tmp"))
            else:
                self.do("move", self.at("A1B2C3D4.tmp"), self.at(path))
            self.do("delete", self.at("~$" + path))
        programs = {"a.blend": blender, "b.ma": maya, "c.max": max3ds, "d.psd": photoshop, "e.spp": substance, "f.xlsx": office}
        with self.serve():
            agent = test_agent.Running(self)
            agent.said("connected to")
            for version in ("version 1", "version 2", "version 3"):
                for path, save in programs.items():
                    save(path, f"{path} {version}")
                self.same({path: f"{path} {version}" for path in programs})
            self.assertFalse([line for line in agent.lines if "deleted" in line], agent.lines)
            self.assertFalse([line for line in agent.lines if " sent " in line and line.split()[-1] not in programs], agent.lines)

    def test_what_wine_cannot_make(self):
        """Junctions, links, lone surrogates, short names: the functions that judge them, on what Windows would give them. The probe
        tells when Wine can make them, so that a test with files can follow."""
        (self.folder / "outside").mkdir()
        self.do("junction", self.at("door"), f"Z:{self.folder}/outside", fails=True)
        self.do("save", self.at("half%D83D.txt"), "no Unicode", fails=True)
        done = subprocess.run([*WINE, str(self.edits.with_name("rules.exe"))], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout.strip().splitlines()[-1:]), (0, ["all hold"]), done.stdout + done.stderr)

    def test_a_drive_that_goes_away(self):
        self.write("a.txt", "a"), self.write("b/c.txt", "c")
        with self.serve():
            agent = test_agent.Running(self, "--poll")  # Wine gives no event when a watched folder goes
            agent.said("connected to")
            self.equal()
            os.rename(self.desk, self.folder / "unplugged")
            agent.said("nothing is deleted until it is back")
            (self.folder / "unplugged/b/d.txt").write_text("d")
            os.rename(self.folder / "unplugged", self.desk)
            self.equal()
            self.write("e.txt", "e")
            self.equal()
            self.assertFalse([line for line in agent.lines if line.split()[1] == "deleted"], agent.lines)


def load_tests(loader, tests, pattern):
    return loader.loadTestsFromTestCase(Windows)


if __name__ == "__main__":
    os.environ.setdefault("HOB_EDITS", str(amount(60, 1000)))
    main()
