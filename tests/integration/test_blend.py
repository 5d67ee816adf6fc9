"""Blender's own files: skipping without Blender, the rule for an export of the same name, the program's sandbox (with a fake
Blender), and real scenes where `blender` is installed."""
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import unittest

from hobtest import CORPUS, Daemon, DEADLINE, HOB, PROJECT, Scenario, main, png, until

MODEL = PROJECT / "tests/data/models/simple/BoxVertexColors.glb"
NEW = b"BLENDER-v304RENDH" + bytes(64)
ZSTD = b"\x28\xb5\x2f\xfd"


def packed(data):
    """A zstd frame of one raw block."""
    return ZSTD + b"\x20" + bytes([len(data)]) + struct.pack("<I", len(data) << 3 | 1)[:3] + data


HAS_BLENDER = shutil.which("blender", path="/usr/bin:/bin") is not None

# A fake Blender: tries everything that its sandbox must refuse, reports successes, and returns a model.
STAND_IN = """#!/usr/bin/python3
import ctypes, fcntl, json, os, resource, signal, socket, struct, sys, threading
source, root, private = sys.argv[sys.argv.index("--") + 1:][:3]
done = []
def attempt(name, call):
    try:
        call()
        done.append(name)
    except OSError:
        pass
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *words):
    if libc.syscall(ctypes.c_long(number), *words) < 0 and ctypes.get_errno() == 1:
        raise OSError(1)
attempt("write-root", lambda: open(root + "/made", "w").write("x"))
attempt("write-tmp", lambda: open({outside!r} + "/made", "w").write("x"))
attempt("read-outside", lambda: open({outside!r} + "/secret").read())
attempt("read-passwd", lambda: open("/etc/passwd").read())
attempt("read-parent", lambda: open(f"/proc/{{os.getppid()}}/environ").read())
attempt("socket", lambda: socket.socket(socket.AF_UNIX))
attempt("internet", lambda: socket.socket(socket.AF_INET))
attempt("fork", os.fork)
attempt("kill", lambda: os.kill(os.getppid(), 0))
attempt("chroot", lambda: os.chroot("/"))
attempt("pair", socket.socketpair)
attempt("hide", lambda: call(157, 4, 0))
attempt("limits", lambda: resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE))
attempt("priority", lambda: os.setpriority(os.PRIO_PROCESS, os.getppid(), 19))
attempt("affinity", lambda: os.sched_setaffinity(os.getppid(), [0]))
pipe = os.pipe()[1]
def control(command, value=0):
    # The kernel reads 32 bits of the command.
    if libc.syscall(ctypes.c_long(72), ctypes.c_long(pipe), ctypes.c_long(command), value) < 0:
        raise OSError(ctypes.get_errno())
for name, command, value in (("owner", 8, os.getppid()), ("owner-32", 8 | 1 << 32, os.getppid()), ("signal", 10, 9), ("size", 1031, 1 << 20),
                             ("owner-ex", 15, (ctypes.c_int * 2)(1, os.getppid()))):
    attempt(name, lambda: control(command, value))
for name, change in (("mode", lambda path: os.chmod(path, 0o4777)), ("owner", lambda path: os.chown(path, -1, -1)),
                     ("times", lambda path: os.utime(path)), ("attribute", lambda path: os.setxattr(path, "user.x", b"x")),
                     ("link", lambda path: os.link(path, private + "/link"))):
    for where in ({outside!r} + "/secret", root, source, private + "/export.py"):
        attempt(name, lambda: change(where))
held = open(source)
attempt("flock", lambda: fcntl.flock(held, fcntl.LOCK_SH | fcntl.LOCK_NB))
attempt("lock", lambda: fcntl.lockf(held, fcntl.LOCK_SH | fcntl.LOCK_NB))
attempt("lease", lambda: fcntl.fcntl(held, 1024, 0))
attempt("link-to", lambda: os.symlink("/etc/passwd", private + "/to"))
for name, number in (("inotify", 294), ("aio", 206), ("unshare", 272), ("key", 250), ("segment", 31), ("messages", 71), ("semaphores", 66), ("queue", 241)):
    attempt(name, lambda: call(number, 0, 2, 0, 0))
if b"NUMBERS" in open(source, "rb").read():
    # Each call with nothing but -1; those that would end it, wait for ever or flush every disk are left out. No filter sees 335
    # and 336, the kernel's own for probes, which end a process that calls them.
    passed = 0
    for number in range(480):
        if number in (15, 34, 57, 58, 60, 162, 231, 335, 336):
            continue
        ctypes.set_errno(0)
        if libc.syscall(ctypes.c_long(number), *[ctypes.c_long(-1)] * 6) < 0 and ctypes.get_errno() in (1, {{285: 95, 435: 38}}.get(number)):
            continue
        passed |= 1 << number
    done = [f"passed {{passed:x}}"]
if b"MOUNTS" in open(source, "rb").read():
    # Changes of its mounts; then files of others, a folder of another's mounts, devices, and all of its own space.
    done = [f"call {{number}}" for number in (155, 161, 165, 166, 272, 308, 428, 429, 430, 442) if libc.syscall(number, 0, 0, 0, 0, 0) >= 0 or ctypes.get_errno() != 1]
    for path in (root, {outside!r}, f"/proc/{{os.getppid()}}/root" + {outside!r}):
        try:
            open(path + "/made", "w").close()
            done.append(path)
        except OSError as error:
            done.append(str(error.errno))
    open("/dev/null", "w").write("x")
    open("/dev/urandom", "rb").read(1)
    size = 0
    try:
        with open(private + "/big", "wb", 0) as big:
            while size < 1 << 30:
                size += big.write(bytes(1 << 20))
    except OSError as error:
        done.append(f"{{error.errno}} at {{size >> 20}} MiB")
    os.unlink(private + "/big")
def version(name):
    try:
        at = os.stat(root + "/" + name)
    except OSError:
        return None
    return [at.st_size, at.st_ino, at.st_mtime_ns, at.st_ctime_ns]
files = [[name, version(name)] for name in (os.path.relpath(source, root), "library.blend", "missing.png")]
facts = json.dumps({{"blender": "stand-in", "files": files, "notes": [["blender.scripts", "did " + " ".join(done)]] if done else []}}).encode()
what = open(source, "rb").read()
if os.path.exists(root + "/killer"):
    os.kill(os.getpid(), signal.SIGKILL)
if b"CRASH" in what or what[1:4] == bytes([0xB5, 0x2F, 0xFD]):
    os.kill(os.getpid(), signal.SIGSEGV)
if b"HANG" in what:
    while True:
        pass
if b"FILES" in what or b"NAMELESS" in what:
    held = []
    for number in range(20):
        held.append(open(private + f"/{{number}}", "wb"))
        held[-1].write(bytes(16 << 20))
        held[-1].flush()
        if b"NAMELESS" in what:
            os.unlink(held[-1].name)
if b"MANY" in what:
    for number in range(5000):
        open(private + f"/{{number}}", "w").close()
if b"DEEP" in what:
    for number in range(100):
        os.mkdir("d" * 200)
        os.chdir("d" * 200)
if b"HIDDEN" in what:
    os.mkdir(private + "/away", 0)
if b"THREADS" in what:
    threading.stack_size(32 << 10)
    for number in range(2100):
        threading.Thread(target=threading.Event().wait, daemon=True).start()
if b"FILES" in what or b"NAMELESS" in what or b"MANY" in what or b"DEEP" in what or b"HIDDEN" in what or b"THREADS" in what:
    threading.Event().wait()
if b"SILENT" in what:
    print("no idea what this is")
    sys.exit(1)
if b"PIPE" in what:
    os.unlink(private + "/log")
    os.mkfifo(private + "/log")
    sys.exit(1)
if b"FOLDER" in what:
    os.mkdir(private + "/result")
    sys.exit(0)
model = b"" if b"NOTHING" in what else open(root + "/model.bin", "rb").read()
open(private + "/result", "wb").write((b"DAMAGED" if b"DAMAGED" in what else b"HOBX") + struct.pack("<I", len(facts)) + facts + model)
"""


def leftovers():
    """Private folders of dead processes; those of concurrent runs are ignored."""
    names = [name for name in os.listdir("/tmp") if name.startswith("hob-export-")]
    return sorted(name for name in names if not os.path.exists(f"/proc/{name.split('-')[2]}"))


class Skipped(Scenario):
    def test_without_blender_a_new_file_is_skipped_and_told(self):
        self.put("new.blend", NEW)
        self.put("box.glb", MODEL.read_bytes())
        done = subprocess.run([HOB, "cook", str(self.art), "-o", str(self.folder / "out"), "--blender", "none"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("skipped  new.blend: only Blender reads it: install Blender (Debian: blender python3-numpy), name it in the setting "
                      "blender.program, or export glTF", done.stderr)
        self.assertIn("1 cooked, 0 failed, 1 skipped in", done.stderr)
        with self.serve("--blender", "none") as daemon:
            daemon.sync()
            self.assertEqual(list(daemon.assets()), ["art/box.glb"])
            self.assertEqual(daemon.get("/api/v1/errors").json()["items"], [])
            root = daemon.get("/api/v1/roots").json()["items"][0]
            self.assertEqual(root["skipped"], "1 file is skipped (hob ls --skipped)")
            self.assertEqual([(file["path"], "install Blender" in file["why"]) for file in root["skipped_files"]], [("new.blend", True)])
            listed = subprocess.run([HOB, "ls", "--skipped", "--url", f"http://127.0.0.1:{daemon.port}"], capture_output=True, text=True, check=True)
            self.assertRegex(listed.stdout, r"skipped +art/new\.blend\n +only Blender reads it: install Blender")
            (self.art / "new.blend").unlink()
            daemon.sync()
            self.assertEqual(daemon.get("/api/v1/roots").json()["items"][0]["skipped_files"], [])

    def test_an_export_of_the_same_name_is_the_asset(self):
        def why(daemon):
            return {file["path"]: file["why"] for file in daemon.get("/api/v1/roots").json()["items"][0]["skipped_files"]}

        self.put("thing.blend", NEW)
        self.put("thing.glb", MODEL.read_bytes())
        with self.serve("--blender", "none") as daemon:
            daemon.sync()
            self.assertEqual(list(daemon.assets()), ["art/thing.glb"])
            self.assertIn("'thing.glb' beside it is its export", why(daemon)["thing.blend"])
            (self.art / "thing.glb").unlink()
            until(lambda: "only Blender reads it" in why(daemon).get("thing.blend", ""), "the .blend stands alone")
            self.put("thing.fbx", "no FBX")
            until(lambda: "'thing.fbx' beside it" in why(daemon).get("thing.blend", ""), "the .blend has another export")
            self.put("thing.blend.cook.json", '{"blender": {"beside": "blend"}}')
            until(lambda: "only Blender reads it" in why(daemon).get("thing.blend", ""), "both are to be cooked")

    def test_an_old_file_is_read_without_blender_and_says_what_is_lost(self):
        old = CORPUS / "blend/assimp/CubeHierarchy_248.blend"
        if not old.exists():
            self.skipTest("no corpus")
        self.put("old.blend", old.read_bytes())
        done = subprocess.run([HOB, "cook", str(self.art), "--check", "--blender", "none"], capture_output=True, text=True, check=False)
        self.assertIn("read without Blender: clips, skins, shape keys, modifiers and shader nodes are lost, hidden objects show", done.stderr)
        self.assertEqual(done.returncode, 0)


# A kernel without mount namespaces, and one that has them for user namespaces only.
NO_MOUNTS = ("unshare", "-Ur", "sh", "-c", 'echo 0 > /proc/sys/user/max_mnt_namespaces && exec setpriv --inh-caps=-all --bounding-set=-all "$@"', "-")
NO_ADMIN = ("setpriv", "--inh-caps=-sys_admin", "--bounding-set=-sys_admin")


def mounts(*before):
    exporter = pathlib.Path(HOB).with_name("hob-exporter")
    return subprocess.run([*before, str(exporter), "mounts", "/tmp"], check=False, capture_output=True).returncode == 0


CAN_TAKE = subprocess.run([*NO_MOUNTS, "true"], check=False, capture_output=True).returncode == 0


class StandIn(Scenario):
    """A fake Blender, named in blender.program, inside Blender's sandbox."""

    def setUp(self):
        super().setUp()
        self.outside = self.folder / "outside"
        self.outside.mkdir()
        (self.outside / "secret").write_text("secret")
        self.program = self.folder / "bin" / "blender"
        self.program.parent.mkdir()
        self.program.write_text(STAND_IN.format(outside=str(self.outside)))
        self.program.chmod(0o755)
        self.put("model.bin", MODEL.read_bytes())
        self.before = leftovers()

    def cook(self, text=b"", *options, before=()):
        self.put("thing.blend", text if text.startswith((b"BLENDER", ZSTD)) else NEW + text)
        done = subprocess.run([*before, HOB, "cook", str(self.art), "-o", str(self.folder / "out"), "--blender", str(self.program), *options,
                               "--report", str(self.folder / "report.json")], capture_output=True, text=True, check=False, timeout=DEADLINE)
        self.assertEqual(set(leftovers()) - set(self.before), set())  # concurrent runs of this scenario may end now
        return done

    def test_it_is_shut_in(self):
        done = self.cook()
        self.assertEqual(done.returncode, 0, done.stderr)
        notes = json.loads((self.folder / "report.json").read_text())["assets"][0]["notes"]
        self.assertEqual([note for note in notes if note["code"].startswith("blender.")], [])
        self.assertFalse((self.art / "made").exists() or (self.outside / "made").exists())

    def test_the_calls_that_pass_are_those_that_are_documented(self):
        header = pathlib.Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h")
        if os.uname().machine != "x86_64" or not header.exists():
            self.skipTest("the numbers are those of x86-64")
        numbers = {name: int(number) for name, number in re.findall(r"#define __NR_(\w+) (\d+)", header.read_text())}
        table = (PROJECT / "SECURITY.md").read_text().split("## The system calls of Blender")[1]
        rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines() if line.startswith("| `")]
        documented = {name: row[2] for row in rows for name in row[0].strip("`").split()}
        done = self.cook(b"NUMBERS")
        self.assertEqual(done.returncode, 0, done.stderr)
        notes = json.loads((self.folder / "report.json").read_text())["assets"][0]["notes"]
        (text,) = [note["text"] for note in notes if note["code"] == "blender.scripts"]
        bits = int(text.split("passed ")[1].split()[0], 16)
        passed = {name for name, number in numbers.items() if bits >> number & 1}
        self.assertEqual(passed - set(documented), set(), "calls that pass and are not in the table")
        self.assertEqual(bits & ~sum(1 << number for number in numbers.values()), 0, "calls without a name pass")
        whole = {name for name, allowed in documented.items() if allowed.startswith(("any", "paths")) and name in numbers}
        self.assertEqual(whole - passed, {"rt_sigreturn", "exit", "exit_group"}, "calls of the table that do not pass")

    def test_what_goes_wrong_with_it_is_told(self):
        for text, said in ((b"CRASH", "Blender was ended by signal 11"), (b"BLENDER-v405RENDH CRASH", "Blender 4.5 saved the file"),
                           (b"BLENDER17-01v0500 CRASH", "Blender 5.0 saved the file"), (packed(b"BLENDER-v405RENDH" + bytes(99)), "Blender 4.5 saved the file"), (b"SILENT", "Blender ended with code 1 and no model; it said: no idea"),
                           (b"PIPE", "Blender ended with code 1 and no model"), (b"FOLDER", "Blender ended with code 0 and no model"), (b"DAMAGED", "what came from Blender is damaged"),
                           (b"NOTHING", "failed  thing.blend:")):
            done = self.cook(text)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn(said, done.stderr)

    def test_one_that_hangs_is_ended(self):
        done = self.cook(b"HANG", "--timeout", "2")
        self.assertRegex(done.stderr, "Blender was not done with it after 2 s|ended by signal")

    def test_its_mounts_can_only_be_read_and_its_folder_has_a_size(self):
        for before in ((), NO_ADMIN) if os.getuid() == 0 else ((),):
            if not mounts(*before):
                self.skipTest("this kernel gives no mounts")
            done = self.cook(b"MOUNTS", "--memory", "256 MiB", before=("env", "HOB_LANDLOCK_ABI=0", *before))
            self.assertEqual(done.returncode, 0, done.stderr)
            notes = json.loads((self.folder / "report.json").read_text())["assets"][0]["notes"]
            (text,) = [note["text"] for note in notes if note["code"] == "blender.scripts"]
            self.assertEqual(text, "did 30 30 13 28 at 255 MiB")  # EROFS, EROFS, EACCES, ENOSPC
            self.assertFalse((self.art / "made").exists() or (self.outside / "made").exists())

    def test_one_that_fills_its_mount_is_told(self):
        if not mounts():
            self.skipTest("this kernel gives no mounts")
        for text, said in ((b"FILES", r"Blender had more than 256 MiB of temporary files \(cook\.memory_limit\) and was ended"),
                           (b"NAMELESS", "Blender ended with code 1 and no model; it said: OSError: .* No space left on device"),
                           (b"MANY", "Blender made more than 4096 temporary files and was ended")):
            done = self.cook(text, "--memory", "256 MiB", "--timeout", "60")
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertRegex(done.stderr, said)

    def test_its_mounts_are_a_layer_of_the_sandbox(self):
        for before in ((), NO_MOUNTS)[:1 + CAN_TAKE]:
            with Daemon([self.art], self.cache, "--blender", str(self.program), program=[*before, HOB]) as daemon:
                layers = next(name for name in daemon.counters() if name.startswith("hob_sandbox_info"))
                self.assertEqual(", mounts" in layers, mounts(*before), layers)

    @unittest.skipUnless(CAN_TAKE and mounts("unshare", "-Ur"), "mounts cannot be taken away")
    def test_without_room_for_its_mounts_it_is_asked_again(self):
        with Daemon([self.art], self.cache, "--blender", str(self.program), program=["unshare", "-Ur", HOB]) as daemon:
            def allow(count):
                subprocess.run(["nsenter", "-U", "-t", str(daemon.process.pid), "sh", "-c", f"echo {count} > /proc/sys/user/max_mnt_namespaces"], check=True)

            allow(0)
            self.put("thing.blend", NEW)
            item = daemon.wait_asset("art/thing.blend", "interrupted", "failed", "fresh")
            self.assertEqual((item["state"], item["error"]["code"]), ("interrupted", "cook.interrupted"), item)
            self.assertIn("its mounts cannot be made: No space left on device", item["error"]["message"])
            allow(1000)
            self.assertEqual(daemon.wait_asset("art/thing.blend", "fresh")["state"], "fresh")

    @unittest.skipUnless(CAN_TAKE, "mounts cannot be taken away")
    def test_one_that_takes_too_much_is_ended(self):
        for text, said in ((b"FILES", r"Blender had more than 256 MiB of temporary files \(cook\.memory_limit\) and was ended"),
                           (b"NAMELESS", r"Blender had more than 256 MiB of temporary files"),
                           (b"MANY", "Blender made more than 4096 temporary files and was ended"),
                           (b"DEEP", "Blender hid its temporary files and was ended"),
                           (b"THREADS", "Blender started more than 2048 threads and was ended")):
            done = self.cook(text, *(() if text == b"THREADS" else ("--memory", "256 MiB")), "--timeout", "60", before=NO_MOUNTS)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertRegex(done.stderr, said)

    @unittest.skipUnless(CAN_TAKE, "mounts cannot be taken away")
    def test_one_that_hides_its_files_is_ended(self):
        self.assertIn("Blender hid its temporary files and was ended", self.cook(b"HIDDEN", before=NO_MOUNTS).stderr)

    def test_one_that_is_killed_from_outside_is_asked_again(self):
        self.put("killer", "no model")
        self.put("thing.blend", NEW)
        with self.serve("--blender", str(self.program)) as daemon:
            item = daemon.wait_asset("art/thing.blend", "interrupted", "failed", "fresh")
            self.assertEqual((item["state"], item["error"]["code"]), ("interrupted", "cook.interrupted"), item)
            self.assertIn("Blender was ended by signal 9", item["error"]["message"])
            (self.art / "killer").unlink()
            self.assertEqual(daemon.wait_asset("art/thing.blend", "fresh")["state"], "fresh")

    def test_what_it_read_is_a_dependency(self):
        self.put("library.blend", NEW)
        self.put("library.blend.cook.json", "{}")
        self.put("thing.blend", NEW)
        with self.serve("--blender", str(self.program)) as daemon:
            daemon.sync()
            deps = {dep["path"]: dep["missing"] for dep in daemon.get("/api/v1/assets?path=art/thing.blend&expand=deps").json()["items"][0]["deps"]}
            self.assertEqual({path: deps.get(path) for path in ("library.blend", "missing.png", "thing.glb")},
                             {"library.blend": False, "missing.png": True, "thing.glb": True})
            before = daemon.cooked()
            self.put("missing.png", png(1, 2, 3))
            until(lambda: daemon.cooked() > before, "the missing picture is there")


class BlenderScenario(Scenario):
    """Scenes made and saved by real Blender."""

    def blender(self, script):
        path = self.folder / "make.py"
        path.write_text("import bpy\nbpy.ops.wm.read_homefile(use_empty=True)\n" + script)
        done = subprocess.run(["blender", "--background", "--factory-startup", "-noaudio", "--python-exit-code", "3", "--python", str(path)],
                              capture_output=True, text=True, check=False, timeout=DEADLINE, env={"PATH": "/usr/bin:/bin", "HOME": str(self.folder)})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def save(self, name):
        return f"bpy.ops.wm.save_as_mainfile(filepath={str(self.art / name)!r})\n"

    def asset(self, daemon, name):
        until(lambda: daemon.assets().get(f"art/{name}", {}).get("state") in ("fresh", "failed"), f"{name} is cooked")
        asset = daemon.get(f"/api/v1/assets?path=art/{name}&expand=deps").json()["items"][0]
        self.assertEqual(asset["state"], "fresh", asset["error"])
        return asset


@unittest.skipUnless(HAS_BLENDER, "there is no blender (apt-get install blender python3-numpy)")
class RealBlender(BlenderScenario):
    def test_a_linked_library_and_its_picture_are_cooked_and_watched(self):
        (self.art / "tex").mkdir()
        self.put("tex/wood.png", png(200, 100, 50))
        self.blender(f"""
bpy.ops.mesh.primitive_cube_add()
bpy.context.object.name = "Crate"
material = bpy.data.materials.new("Wood")
material.use_nodes = True
image = material.node_tree.nodes.new("ShaderNodeTexImage")
image.image = bpy.data.images.load({str(self.art / 'tex/wood.png')!r})
image.image.filepath = "//tex/wood.png"
material.node_tree.links.new(material.node_tree.nodes["Principled BSDF"].inputs["Base Color"], image.outputs["Color"])
bpy.context.object.data.materials.append(material)
{self.save("library.blend")}
bpy.ops.wm.read_homefile(use_empty=True)
with bpy.data.libraries.load({str(self.art / 'library.blend')!r}, link=True, relative=False) as (have, want):
    want.objects = ["Crate"]
bpy.context.scene.collection.objects.link(bpy.data.objects["Crate"])
bpy.ops.mesh.primitive_plane_add()
{self.save("scene.blend")}""")
        with self.serve() as daemon:
            scene = self.asset(daemon, "scene.blend")
            self.assertEqual((scene["stats"]["triangles"], scene["stats"]["textures"]), (14, 1))
            self.assertLessEqual({"library.blend", "tex/wood.png"}, {dep["path"] for dep in scene["deps"]})
            self.asset(daemon, "library.blend")
            rev = scene["rev"]
            self.put("tex/wood.png", png(10, 20, 30, 8))
            until(lambda: daemon.assets()["art/scene.blend"]["rev"] > rev, "the picture of the library is new")

    def test_modifiers_clips_skins_and_packed_pictures_come_along_and_scripts_do_not_run(self):
        made = self.folder / "script-ran"
        self.put("packed.png", png(9, 9, 200))
        self.blender(f"""
bpy.ops.mesh.primitive_cube_add()
cube = bpy.context.object
cube.modifiers.new("Subdivision", "SUBSURF").levels = 1
material = bpy.data.materials.new("Packed")
material.use_nodes = True
image = material.node_tree.nodes.new("ShaderNodeTexImage")
image.image = bpy.data.images.load({str(self.art / 'packed.png')!r})
image.image.pack()
material.node_tree.links.new(material.node_tree.nodes["Principled BSDF"].inputs["Base Color"], image.outputs["Color"])
cube.data.materials.append(material)
bpy.ops.object.armature_add()
rig = bpy.context.object
bpy.ops.object.select_all(action="DESELECT")
cube.select_set(True)
rig.select_set(True)
bpy.context.view_layer.objects.active = rig
bpy.ops.object.parent_set(type="ARMATURE_AUTO")
rig.animation_data_create()
for name, angle in (("Wave", 1.0), ("Nod", 0.5)):
    action = bpy.data.actions.new(name)
    action.use_fake_user = True
    rig.animation_data.action = action
    bone = rig.pose.bones[0]
    bone.rotation_mode = "XYZ"
    for frame, value in ((1, 0), (20, angle)):
        bone.rotation_euler = (value, 0, 0)
        bone.keyframe_insert("rotation_euler", frame=frame)
text = bpy.data.texts.new("startup.py")
text.write("open({str(made)!r}, 'w').write('ran')")
text.use_module = True
{self.save("rig.blend")}""")
        (self.art / "packed.png").unlink()
        with self.serve() as daemon:
            rig = self.asset(daemon, "rig.blend")
            stats = rig["stats"]
            self.assertEqual((stats["triangles"], stats["textures"], stats["skins"], stats["animations"]), (48, 1, 1, 2))
            self.put("rig.blend.cook.json", '{"blender": {"apply_modifiers": false, "actions": "active"}}')
            until(lambda: daemon.assets()["art/rig.blend"]["stats"]["triangles"] == 12, "modifiers are left off")
            self.assertEqual(daemon.assets()["art/rig.blend"]["stats"]["animations"], 1)
        self.assertFalse(made.exists())

    def test_shape_keys_and_modifiers_of_others_stay(self):
        self.blender(f"""
bpy.ops.mesh.primitive_cube_add()
face = bpy.context.object
face.shape_key_add(name="Basis")
face.shape_key_add(name="Smile").data[0].co.x += 1
bpy.ops.mesh.primitive_plane_add()
bpy.context.object.modifiers.new("Subdivision", "SUBSURF").levels = 1
bpy.context.object.modifiers["Subdivision"].subdivision_type = "SIMPLE"
{self.save("keys.blend")}""")
        done = subprocess.run([HOB, "inspect", str(self.art / "keys.blend"), "--json"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        meshes = json.loads(done.stdout.split("\n")[0])["records"]
        self.assertEqual([morph["name"] for morph in meshes["MRPH"]], ["Smile"])
        self.assertEqual([lod["index_count"] // 3 for lod in meshes["LODS"]], [12, 8])

    def test_hidden_objects_stay_hidden_and_materials_are_what_they_were(self):
        self.blender(f"""
bpy.ops.mesh.primitive_cube_add()
cube = bpy.context.object
gold = bpy.data.materials.new("Gold")
gold.use_nodes = True
surface = gold.node_tree.nodes["Principled BSDF"].inputs
surface["Base Color"].default_value = (1, 0.75, 0.25, 1)
surface["Roughness"].default_value = 0.25
surface["Metallic"].default_value = 1
bpy.context.object.data.materials.append(gold)
bpy.ops.mesh.primitive_plane_add()
bpy.context.object.hide_render = True
bpy.ops.mesh.primitive_circle_add(fill_type="NGON")
bpy.context.object.hide_viewport = True
bpy.ops.mesh.primitive_cube_add()
hull = bpy.context.object
hull.name = "Hull"
hull.hide_render = True
hull.shape_key_add(name="Basis")
hull.shape_key_add(name="Wide").data[0].co.x = 3
wide = hull.data.shape_keys.key_blocks["Wide"]
for frame in (1, 20):
    wide.value = frame / 20
    wide.keyframe_insert("value", frame=frame)
bpy.ops.mesh.primitive_plane_add()
bpy.context.object.name = "Shown"
bpy.context.object.parent = hull
{self.save("hidden.blend")}""")
        done = subprocess.run([HOB, "cook", str(self.art), "-o", str(self.folder / "out"), "--report", str(self.folder / "report.json")],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        made = json.loads((self.folder / "report.json").read_text())["assets"][0]
        self.assertEqual([(note["level"], note["text"][:46]) for note in made["notes"] if note["code"] == "blender.hidden"],
                         [("info", "3 objects are hidden in the view or in renders")])
        self.assertEqual((made["meshes"], made["materials"]), (5, 1))
        glb = self.folder / "hidden.glb"
        subprocess.run([HOB, "export", str(self.folder / "out/hidden.blend.meshes"), "-o", str(glb)], capture_output=True, check=True)
        size = struct.unpack_from("<I", glb.read_bytes(), 12)[0]
        nodes = json.loads(glb.read_bytes()[20:20 + size])["nodes"]
        # The hull's mesh is a separate child: its children are visible.
        self.assertEqual([(node["name"], "KHR_node_visibility" in node.get("extensions", {}), "mesh" in node) for node in nodes],
                         [("Cube", False, True), ("Plane", True, True), ("Circle", True, True), ("Hull", False, False), ("Shown", False, True), ("Hull", True, True)])
        done = subprocess.run([HOB, "inspect", str(self.folder / "out/hidden.blend.materials"), "--json"], capture_output=True, text=True, check=False)
        material = json.loads(done.stdout.split("\n")[0])["records"]["MATL"][0]
        self.assertEqual((material["base_color"], material["metallic"], material["roughness"]), ([1, 0.75, 0.25, 1], 1, 0.25))

    def cooked(self, name):
        """The notes of a cook, and the result of `hob export`."""
        done = subprocess.run([HOB, "cook", str(self.art / name), "-o", str(self.folder / "out"), "--root", str(self.art), "--force",
                               "--report", str(self.folder / "report.json")], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        made = json.loads((self.folder / "report.json").read_text())["assets"][0]
        glb = self.folder / "made.glb"
        subprocess.run([HOB, "export", str(self.folder / f"out/{name}.meshes"), "-o", str(glb)], capture_output=True, check=True)
        size = struct.unpack_from("<I", glb.read_bytes(), 12)[0]
        return [(note["code"], note["text"]) for note in made["notes"] if note["code"].startswith("blender.")], json.loads(glb.read_bytes()[20:20 + size])

    def test_constraints_and_drivers_move_what_they_moved(self):
        self.blender(f"""
bpy.context.scene.frame_end = 20
bpy.ops.mesh.primitive_cube_add()
lead = bpy.context.object
lead.name = "Lead"
for frame, x in ((1, 0), (20, 4)):
    lead.location.x = x
    lead.keyframe_insert("location", frame=frame)
def follow(thing, path, index):
    driver = (thing.driver_add(path, index) if index >= 0 else thing.driver_add(path)).driver
    driver.type = "SUM"
    variable = driver.variables.new()
    variable.type = "TRANSFORMS"
    variable.targets[0].id = lead
    variable.targets[0].transform_type = "LOC_X"
names = ["Follower", "Driven", "Child", "Still", "Muted"]
for name in names:
    bpy.ops.mesh.primitive_cube_add()
    bpy.context.object.name = name
follower, driven, child, still, muted = (bpy.data.objects[name] for name in names)
for thing in (follower, child, muted):
    thing.constraints.new("COPY_LOCATION").target = lead
muted.constraints[0].mute = True
still.constraints.new("COPY_LOCATION").target = driven
still.constraints[0].use_z = False
child.parent = driven
follow(driven, "location", 2)
driven.shape_key_add(name="Basis")
wide = driven.shape_key_add(name="Wide")
wide.data[0].co.x = 3
wide.slider_max = 10
follow(wide, "value", -1)
{self.save("moved.blend")}""")
        notes, scene = self.cooked("moved.blend")
        self.assertEqual(notes, [])
        moved = {}
        for clip in scene["animations"]:
            for channel in clip["channels"]:
                name, path = scene["nodes"][channel["target"]["node"]]["name"], channel["target"]["path"]
                moved[name, path] = scene["accessors"][clip["samplers"][channel["sampler"]]["input"]]["count"]
        # Keys of a child exclude its parent's motion; an object at rest has none.
        self.assertEqual(sorted(moved), [("Child", "translation"), ("Driven", "translation"), ("Driven", "weights"),
                                         ("Follower", "translation"), ("Lead", "translation")])
        self.assertEqual(moved["Follower", "translation"], moved["Lead", "translation"])

    def test_instances_and_first_tiles_are_there_and_the_rest_is_told(self):
        self.blender(f"""
def field(name):
    bpy.ops.mesh.primitive_cube_add(size=.1)
    seed = bpy.context.object
    seed.name = name
    bpy.ops.mesh.primitive_plane_add(size=4)
    bpy.context.object.name = "On" + name
    return seed, bpy.context.object
seed, plane = field("Vertex")
seed.parent = plane
plane.instance_type = "VERTS"
seed, plane = field("Particle")
plane.modifiers.new("P", "PARTICLE_SYSTEM")
settings = plane.particle_systems[0].settings
settings.type, settings.count, settings.render_type, settings.instance_object = "HAIR", 3, "OBJECT", seed
seed, plane = field("Node")
tree = bpy.data.node_groups.new("G", "GeometryNodeTree")
plane.modifiers.new("G", "NODES").node_group = tree
for way in ("INPUT", "OUTPUT"):
    if hasattr(tree, "interface"):
        tree.interface.new_socket("Geometry", in_out=way, socket_type="NodeSocketGeometry")
    else:
        (tree.inputs if way == "INPUT" else tree.outputs).new("NodeSocketGeometry", "Geometry")
kinds = ("NodeGroupInput", "NodeGroupOutput", "GeometryNodeInstanceOnPoints", "GeometryNodeObjectInfo")
into, out, put, info = (tree.nodes.new(kind) for kind in kinds)
info.inputs["Object"].default_value = seed
info.inputs["As Instance"].default_value = True
tree.links.new(into.outputs[0], put.inputs["Points"])
tree.links.new(info.outputs["Geometry"], put.inputs["Instance"])
tree.links.new(put.outputs[0], out.inputs[0])
{self.save("fields.blend")}
bpy.ops.wm.read_homefile(use_empty=True)
for tile, color in ((1001, (1, 0, 0, 1)), (1002, (0, 1, 0, 1))):
    picture = bpy.data.images.new("tile", 8, 8)
    picture.generated_color = color
    picture.filepath_raw = {str(self.art)!r} + f"/tile.{{tile}}.png"
    picture.file_format = "PNG"
    picture.save()
    bpy.data.images.remove(picture)
picture = bpy.data.images.load({str(self.art / "tile.1001.png")!r})
picture.source = "TILED"
picture.filepath = "//tile.<UDIM>.png"
if len(picture.tiles) < 2:
    picture.tiles.new(1002)
bpy.ops.mesh.primitive_cube_add()
thing = bpy.context.object
thing.modifiers.new("Hair", "PARTICLE_SYSTEM")
thing.particle_systems[0].settings.type = "HAIR"
for name, kind in (("Tiles", "ShaderNodeTexImage"), ("Noise", "ShaderNodeTexNoise")):
    material = bpy.data.materials.new(name)
    material.use_nodes = True
    tree = material.node_tree
    made = tree.nodes.new(kind)
    tree.links.new(made.outputs["Color"], tree.nodes["Principled BSDF"].inputs["Base Color"])
    if name == "Tiles":
        made.image = picture
        tree.nodes.new("ShaderNodeTexNoise")
    thing.data.materials.append(material)
for kind in ("AREA", "POINT"):
    bpy.ops.object.light_add(type=kind)
bpy.context.object.data.driver_add("energy").driver.expression = "frame"
bpy.ops.object.armature_add()
bpy.context.object.pose.bones[0].constraints.new("COPY_LOCATION").target = thing
{self.save("lost.blend")}""")
        notes, scene = self.cooked("fields.blend")
        self.assertEqual(notes, [])
        made = {name: [node for node in scene["nodes"] if re.match(name, node["name"])] for name in ("Vertex", "Particle", "Node")}
        self.assertEqual({name: (len(nodes), len({node["mesh"] for node in nodes})) for name, nodes in made.items()},
                         {"Vertex": (4, 1), "Particle": (4, 1), "Node": (5, 1)})
        self.assertEqual(sorted([round(abs(v)) for v in node.get("translation", [0, 0, 0])] for node in made["Node"]), [[0, 0, 0]] + [[2, 0, 2]] * 4)
        notes, scene = self.cooked("lost.blend")
        self.assertEqual(sorted(notes), [
            ("blender.bones", "'Armature': constraints of bones are not baked without an action of the armature"),
            ("blender.drivers", "'Point': a driver moves more than a place, a turn, a size or a shape key; that keeps its first value"),
            ("blender.hair", "'Cube': hair is left out; convert it to a mesh"),
            ("blender.light", "'Area': glTF has no area lights; they are left out"),
            ("blender.procedural", "'Noise': colours that nodes compute are lost; bake them into a picture"),
            ("blender.udim", "picture 'tile.1001.png' has 2 UDIM tiles; 1001 is used for all texture coordinates")])
        self.assertEqual(len(scene["images"]), 1)

    def test_a_collection_is_chosen_and_a_wrong_one_told(self):
        self.blender(f"""
bpy.ops.mesh.primitive_cube_add()
bpy.ops.mesh.primitive_plane_add()
export = bpy.data.collections.new("Export")
bpy.context.scene.collection.children.link(export)
plane = bpy.data.objects["Plane"]
bpy.context.scene.collection.objects.unlink(plane)
export.objects.link(plane)
{self.save("two.blend")}""")
        for collection, said in (("Export", "1 cooked, 0 failed"), ("Nope", "the scene has no collection 'Nope'")):
            done = subprocess.run([HOB, "cook", str(self.art), "-o", str(self.folder / "out"), "--report", str(self.folder / "report.json"),
                                   "--settings", json.dumps({"blender": {"collection": collection}})], capture_output=True, text=True, check=False)
            self.assertIn(said, done.stderr)
            if collection == "Export":
                self.assertEqual(json.loads((self.folder / "report.json").read_text())["assets"][0]["triangles"], 2)

    def test_a_file_of_a_newer_blender_says_so(self):
        self.blender(f"bpy.ops.mesh.primitive_cube_add()\n{self.save('thing.blend')}")
        whole = (self.art / "thing.blend").read_bytes()
        self.assertEqual(whole[7:12], b"-v304" if whole[:7] == b"BLENDER" else None)
        self.put("thing.blend", whole.replace(b"-v304", b"-v305", 1))
        done = subprocess.run([HOB, "cook", str(self.art), "--check"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, "saved by Blender 3.5, read by 3.4")

    def test_a_broken_file_fails_in_blenders_words_and_the_next_save_heals_it(self):
        self.blender(f"bpy.ops.mesh.primitive_cube_add()\n{self.save('thing.blend')}")
        whole = (self.art / "thing.blend").read_bytes()
        self.put("thing.blend", whole[:3000])
        with self.serve() as daemon:
            daemon.wait_asset("art/thing.blend", "failed")
            self.assertRegex(daemon.assets()["art/thing.blend"]["error"]["message"], "Blender: Loading 'this file' failed")
            self.put("thing.blend", whole)
            daemon.wait_asset("art/thing.blend", "fresh")


if __name__ == "__main__":
    main()
