"""Random edits of a tree, compared with a clean cook. Three daemons watch it: by events, by polling, and by events with the first
as its upstream. At each quiet moment every output, note and message of each must equal that of `hob cook` without any cache, and
that of `hob cook --cache` with one cache for all moments; also while any of these processes stand still for a moment. HOB_SEED
selects other edits; a difference is printed with the edits before it. Not included: a file system mounted inside."""
import ctypes
import hashlib
import json
import mmap
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import threading
import time

from hobtest import DEADLINE, HOB, LONG, Daemon, Scenario, amount, children, main, obj_text, png

SEED = int(os.environ.get("HOB_SEED", "0")) or random.SystemRandom().randrange(1 << 32)
SECONDS = float(os.environ.get("HOB_EDITS_SECONDS", 3600 if LONG else 20))
FOLDERS = ("", "", "tex/", "Tex/", "sub/", ".lib/", "current/", "one.fbm/", "two.fbm/")
MODELS = ("obj", "gltf", "fbx")
# Rare turns, for the long form: models in hidden folders and behind links, and models that other models use as a library.
MODEL_FOLDERS = ("", "", "", "sub/", "sub/", ".lib/", "current/") if LONG else ("", "", "sub/")
OWN_NAMES = ("two.obj",) if LONG else ()
SPELLINGS = {"mtl": ("m.mtl", "M.mtl", "m.MTL", "café.mtl", "cafe\u0301.mtl"), "png": ("a.png", "A.png", "a.PNG", "b.png"),
             "bin": ("d.bin", "D.bin", "D.BIN")}


FBX = """; FBX 7.4.0 project file
FBXHeaderExtension: {
 FBXVersion: 7400
}
Objects: {
 Geometry: 1, "Geometry::g", "Mesh" {
  Vertices: *9 {
   a: 0,0,0,1,0,0,0,1,0
  }
  PolygonVertexIndex: *3 {
   a: 0,1,-3
  }
 }
 Model: 2, "Model::m", "Mesh" {
 }
 Material: 3, "Material::c", "" {
 }
 Texture: 4, "Texture::t", "" {
  RelativeFilename: "%s"
 }
}
Connections: {
 C: "OO",1,2
 C: "OO",2,0
 C: "OO",3,2
 C: "OP",4,3,"DiffuseColor"
}
"""


LIBC = ctypes.CDLL(None, use_errno=True)
HERE, FOLLOW, EXCHANGE = -100, 0x400, 2  # AT_FDCWD, AT_SYMLINK_FOLLOW, RENAME_EXCHANGE


class Tree:
    """The files, and the ways in which programs change them."""

    def __init__(self, root, chance):
        self.root, self.chance, self.done, self.maps = root, chance, [], []

    def note(self, *words):
        self.done.append(" ".join(map(str, words)))

    def text(self, kind):
        chance = self.chance
        folder = chance.choice(FOLDERS)
        if kind == "obj":
            return obj_text(chance.randint(1, 2), chance.randint(0, 2), folder + chance.choice((*SPELLINGS["mtl"], *OWN_NAMES))).encode()
        if kind == "fbx":  # its pictures are also looked for in the folder with its own name
            return (FBX % chance.choice(SPELLINGS["png"])).encode()
        if kind == "mtl":
            image = f"map_Kd {folder}{chance.choice(SPELLINGS['png'])}\n" if chance.random() < 0.6 else ""
            return f"newmtl m\nKd {chance.randint(0, 3) / 3:.2f} 0 0\n{image}".encode()
        if kind == "png":
            return png(chance.randrange(3) * 99, 9, 9)
        if kind == "bin":
            return bytes(36) if chance.random() < 0.8 else bytes(20)
        return json.dumps({
            "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}], "nodes": [{"mesh": 0}],
            "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "material": 0}]}],
            "materials": [{"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}}], "textures": [{"source": 0}],
            "images": [{"uri": folder + chance.choice(SPELLINGS["png"])}],
            "accessors": [{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3", "min": [0, 0, 0], "max": [0, 0, 0]}],
            "bufferViews": [{"buffer": 0, "byteLength": 36}],
            "buffers": [{"uri": chance.choice(("", folder)) + chance.choice(SPELLINGS["bin"]), "byteLength": 36}]}).encode()

    def any_path(self):
        kind = self.chance.choice(("obj", "obj", "gltf", "fbx", "mtl", "mtl", "mtl", "png", "png", "bin"))
        folder = self.chance.choice(MODEL_FOLDERS) if kind in MODELS else self.chance.choice(FOLDERS)
        name = self.chance.choice(("one", "two")) + "." + kind if kind in MODELS else self.chance.choice(SPELLINGS[kind])
        path = self.root / (folder + name)
        path.parent.resolve().mkdir(parents=True, exist_ok=True)  # a dangling link resolves again
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path.is_fifo():
            path.unlink()
        return kind, path

    def files(self):
        return sorted(path for path in self.root.rglob("*") if path.is_file() and not path.is_symlink() and ".git" not in path.parts)

    def save(self):
        """Saves a file in one of the ways of different programs."""
        kind, path = self.any_path()
        data, way = self.text(kind), self.chance.choice((
            "place", "rename", "unlink", "backup", "halves", "link", "times", "longer", "nameless", "late name", "range", "resized", "mapped",
            "kept map", "other mode"))
        temp = path.with_name("." + path.name + ".tmp")
        if path.is_symlink():
            path.unlink()
        elif path.exists():
            path.chmod(0o644)
        if way in ("rename", "link", "times"):
            temp.write_bytes(data)
        if way == "place" or way == "longer":
            path.write_bytes(data)
        elif way == "rename":
            temp.rename(path)
        elif way == "unlink":
            path.unlink(missing_ok=True)
            path.write_bytes(data)
        elif way == "backup":
            if path.exists():
                path.rename(path.with_name(path.name + "~"))
            path.write_bytes(data)
        elif way == "halves":
            with open(path, "wb") as file:
                file.write(data[:len(data) // 2])
                file.flush()
                file.write(data[len(data) // 2:])
        elif way == "link":
            path.unlink(missing_ok=True)
            os.link(temp, path)
            temp.unlink()
        elif way in ("nameless", "late name"):
            path.unlink(missing_ok=True)
            with open(os.open(path.parent, os.O_TMPFILE | os.O_RDWR, 0o644), "wb", buffering=0) as file:
                half = len(data) // 2 if way == "late name" else len(data)
                file.write(data[:half])
                LIBC.linkat(HERE, os.fsencode(f"/proc/self/fd/{file.fileno()}"), HERE, os.fsencode(path), FOLLOW)
                file.write(data[half:])
        elif way == "range":
            temp.write_bytes(data)
            with open(temp, "rb") as source, open(path, "wb") as file:
                os.copy_file_range(source.fileno(), file.fileno(), len(data))
            temp.unlink()
        elif way in ("resized", "mapped", "kept map"):
            with open(os.open(path, os.O_RDWR | os.O_CREAT, 0o644), "r+b", buffering=0) as file:
                os.ftruncate(file.fileno(), len(data))
                view = mmap.mmap(file.fileno(), 0)
                view[:] = data
                if way == "resized":
                    os.posix_fallocate(file.fileno(), 0, len(data) + 4096)
                    os.ftruncate(file.fileno(), len(data))
            if way == "kept map":
                self.maps.append(view)
            else:
                view.close()
        elif way == "other mode":
            path.write_bytes(data)
            path.chmod(self.chance.choice((0o644, 0o000, 0o600)))
        elif way == "times":
            if path.exists():
                old = path.stat()
                os.utime(temp, ns=(old.st_atime_ns, old.st_mtime_ns))
            temp.rename(path)
        if way == "longer":
            with open(path, "ab") as file:
                file.write(b"\n" if kind in ("obj", "mtl", "gltf") else b"")
        self.note(way, path.relative_to(self.root), hashlib.sha256(data).hexdigest()[:6])

    def close_maps(self):
        while self.maps:
            self.maps.pop().close()

    def remove(self):
        files = self.files()
        if files:
            path = self.chance.choice(files)
            path.unlink()
            self.note("remove", path.relative_to(self.root))

    def rename(self):
        _, to = self.any_path()
        files = [path for path in self.files() if path.suffix.lower() == to.suffix.lower()]
        if files:
            path = self.chance.choice(files)
            path.rename(to)
            self.note("rename", path.relative_to(self.root), to.relative_to(self.root))

    def link_file(self):
        kind, path = self.any_path()
        files = [file for file in self.files() if file.suffix.lower() == path.suffix.lower() and file != path]
        if files and kind not in MODELS:
            target = self.chance.choice(files)
            temp = path.with_name("." + path.name + ".new")
            temp.symlink_to(os.path.relpath(target, os.path.dirname(os.path.realpath(path))))  # if path is a link, may leave the root
            temp.rename(path)
            self.note("link", path.relative_to(self.root), target.relative_to(self.root))

    def second_name(self):
        kind, path = self.any_path()
        place = path.parent.resolve() / path.name  # behind a link it may be one of the files
        files = [file for file in self.files() if file.suffix.lower() == path.suffix.lower() and file != place]
        if files:
            path.unlink(missing_ok=True)
            os.link(self.chance.choice(files), path)
            self.note("second name", path.relative_to(self.root), kind)

    def write_through(self):
        """Overwrites a file in place, and with it all its names."""
        files = self.files()
        if files:
            path = self.chance.choice(files)
            kind = path.suffix[1:].lower()
            path.chmod(0o644)
            path.write_bytes(self.text(kind if kind in (*MODELS, *SPELLINGS) else "png"))
            self.note("write", path.relative_to(self.root), path.stat().st_nlink, "names")

    def cut(self):
        files = self.files()
        if files:
            path = self.chance.choice(files)
            os.truncate(path, path.stat().st_size // 2)
            self.note("cut", path.relative_to(self.root))

    def exchange(self):
        """Two files or two folders, with one call."""
        files = [*self.files(), *(path for path in self.root.iterdir() if path.is_dir() and not path.is_symlink() and path.name != ".git")]
        if len(files) > 1:
            one = self.chance.choice(files)
            same = [path for path in files if path != one and path.is_dir() == one.is_dir() and path.suffix.lower() == one.suffix.lower()]
            if same:
                two = self.chance.choice(same)
                if LIBC.renameat2(HERE, os.fsencode(one), HERE, os.fsencode(two), EXCHANGE) == 0:
                    self.note("exchange", one.relative_to(self.root), two.relative_to(self.root))

    def other_kind(self):
        """A file's name becomes a folder, a pipe, or a link to nothing."""
        _, path = self.any_path()
        path.unlink(missing_ok=True)
        how = self.chance.choice(("folder", "pipe", "link"))
        if how == "folder":
            path.mkdir()
        elif how == "pipe":
            os.mkfifo(path)
        else:
            path.symlink_to("nothing")
        self.note("becomes a", how, path.relative_to(self.root))

    def mode(self):
        files = self.files()
        if files:
            path = self.chance.choice(files)
            mode = self.chance.choice((0o644, 0o644, 0o000))
            path.chmod(mode)
            os.setxattr(path, "user.hob", b"x") if mode and self.chance.random() < 0.5 else None
            self.note("mode", oct(mode), path.relative_to(self.root))

    def link_folder(self):
        to = self.chance.choice(("v1", "v2"))
        temp = self.root / ".current.new"
        temp.symlink_to(to)
        temp.rename(self.root / "current")
        self.note("current ->", to)

    def rename_folder(self):
        old, new = self.chance.sample(("tex", "Tex", "sub", ".lib", "away", "v1", "v2"), 2)
        if (self.root / old).is_dir() and not (self.root / new).exists():
            (self.root / old).rename(self.root / new)
            self.note("rename folder", old, new)

    def remove_folder(self):
        folder = self.root / self.chance.choice(("tex", "Tex", "sub", ".lib"))
        if folder.exists():
            shutil.rmtree(folder)
            self.note("remove folder", folder.name)

    def checkout(self):
        """Many files at once, between git's lock and its index."""
        git = self.root / ".git"
        git.mkdir(exist_ok=True)
        (git / "index.lock").write_bytes(b"")
        for _ in range(self.chance.randint(3, 12)):
            self.chance.choice((self.save, self.save, self.remove))()
        (git / "index.lock").rename(git / "index")
        self.note("checkout")

    def edit(self):
        kinds = {self.save: 12, self.remove: 4, self.rename: 4, self.link_file: 1, self.link_folder: 1, self.rename_folder: 1,
                 self.remove_folder: 0.5, self.checkout: 0.5, self.second_name: 1, self.write_through: 1, self.exchange: 1,
                 self.other_kind: 0.5, self.mode: 1, self.cut: 0.5}
        kind = self.chance.choices(list(kinds), list(kinds.values()))[0]
        try:
            kind()
        except FileNotFoundError as error:  # its source was a name of what it replaced
            self.note("nothing to", kind.__name__, error.filename)


class Compared(Scenario):
    maxDiff = None
    program = (HOB,)

    def cook(self, *options):
        """{model: {output: digest}, or its message}"""
        out = self.folder / "out"
        shutil.rmtree(out, ignore_errors=True)
        run = subprocess.run([*self.program, "cook", self.art, "--root", self.art, "-o", out, "--report", "-", *options], capture_output=True,
                             timeout=DEADLINE, check=False)
        found = {}
        for item in json.loads(run.stdout)["assets"] if run.stdout else []:
            path = item["path"]
            if item["state"] == "failed":
                found[path] = item["error"]["message"]
                continue
            files = {name: pathlib.Path(f"{out}/{path}.{suffix}") for name, suffix in
                     (("meshes", "meshes"), ("materials", "materials"), ("scene", "scene"))}
            found[path] = {name: hashlib.sha256(file.read_bytes()).hexdigest() for name, file in files.items()}
            found[path]["notes"] = str(sorted(note["text"] for note in item["notes"]))
        return found

    def shown(self, daemon):
        found = {}
        daemon.states = {}
        for name, item in daemon.assets("&fields=root,path,state,error,outputs").items():
            daemon.states[name.removeprefix("art/")] = item["state"]
            outputs = {output["name"]: output["hash"] for output in item["outputs"] if not output["name"].startswith("textures/")}
            if not item["error"] and "report" in outputs:
                report = daemon.get("/blobs/" + outputs.pop("report")).json()
                outputs["notes"] = str(sorted(note["text"] for note in report["notes"]))
            found[name.removeprefix("art/")] = item["error"]["message"] if item["error"] else outputs or item["state"]
        return found

    @staticmethod
    def differences(wanted, found):
        wrong = []
        for path in sorted({*wanted, *found}):
            right, shown = wanted.get(path, "not there"), found.get(path, "not there")
            if isinstance(right, str) or isinstance(shown, str):
                wrong += [f"{path}: {shown}, not {right}"] if shown != right else []
            else:
                wrong += [f"{path}: {name}: {shown.get(name)}, not {right.get(name)}" for name in sorted({*right, *shown}) if right.get(name) != shown.get(name)]
        return wrong


class StandStill(threading.Thread):
    """Stops some of the processes below this one for a moment, again and again, as a busy machine does: daemons, workers, hob cook."""

    def __init__(self):
        super().__init__()
        self.over, self.stops = threading.Event(), 0

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.join()

    def below(self, pid):
        return [found for child in children(pid) for found in (child, *self.below(child))]

    @staticmethod
    def tell(ids, number):
        for pid in ids:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass

    def run(self):
        chance = random.Random(SEED)
        while not self.over.wait(chance.choice((0.01, 0.05, 0.1, 0.3))):
            ids = self.below(os.getpid())
            some = chance.sample(ids, min(len(ids), chance.choice((1, 1, 2, 5, 99))))
            self.tell(some, signal.SIGSTOP)
            self.over.wait(chance.choice((0.01, 0.03, 0.1, 0.3, 0.6)))
            self.tell(some, signal.SIGCONT)
            self.stops += 1


class Edits(Compared):
    def follow(self, seconds):
        chance = random.Random(SEED)
        tree = Tree(self.art, chance)
        for version in ("v1", "v2"):
            (self.art / version).mkdir()
        tree.link_folder()
        for _ in range(20):
            tree.edit()
        moments = edits = 0
        with self.serve() as events, \
                Daemon([self.art], self.folder / "cache-polling", "--watch", "poll", "--poll-ms", "100") as polling, \
                Daemon([self.art], self.folder / "cache-below", "--upstream", f"http://127.0.0.1:{events.port}") as below:
            began = time.monotonic()
            while moments < 3 or time.monotonic() - began < seconds:
                many = chance.randint(1, 40)
                for _ in range(many):
                    tree.edit()
                moments, edits = moments + 1, edits + many
                for daemon, scan in ((events, False), (below, False), (polling, True)):
                    daemon.sync(scan=scan)
                given = {"events": self.shown(events), "below an upstream": self.shown(below), "polling": self.shown(polling)}
                tree.close_maps()  # hob cook waits for a file that is mapped to rest
                given["a kept cache"], wanted = self.cook("--cache", str(self.folder / "kept")), self.cook()
                for name, found in given.items():
                    wrong = self.differences(wanted, found)
                    self.assertEqual(wrong, [], f"{name}, moment {moments} of HOB_SEED={SEED}; the last edits:\n" +
                                     "\n".join(tree.done[-60:]) + f"\n{sorted(str(p.relative_to(self.art)) for p in self.art.rglob('*'))}\n"
                                     f"events, below, polling: {events.states} {below.states} {polling.states}")
        print(f"{moments} quiet moments, {edits} edits, {len(wanted)} models, HOB_SEED={SEED}")

    def test_at_each_quiet_moment_all_is_as_cooked_afresh(self):
        self.follow(SECONDS)

    def test_also_where_processes_stand_still(self):
        with StandStill() as still:
            self.follow(SECONDS)
        print(f"processes stood still {still.stops} times")


NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
BUFFER = json.dumps({
    "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}], "nodes": [{"mesh": 0}],
    "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}], "accessors": [{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"}],
    "bufferViews": [{"buffer": 0, "byteLength": 36}], "buffers": [{"uri": "one.fbm/b.png", "byteLength": 36}]})


def each_to_each(states):
    """Every state after every other one, in one walk."""
    for i, one in enumerate(states):
        yield one
        for other in states[i + 1:]:
            yield from (other, one)


class Kinds(Compared):
    """What stands at the place of a file becomes something else: each kind after each other one, of the file and of its folder. Seen by
    events, by polling, below an upstream, after a restart, and by hob cook --cache; compared with a clean cook."""

    def setUp(self):
        super().setUp()
        if os.getuid() == 0 and shutil.which("setpriv") and \
                subprocess.run([*NOBODY, HOB, "--version"], capture_output=True, check=False).returncode == 0:
            self.program = (*NOBODY, HOB)  # root may read everything
        self.folder.chmod(0o777)
        self.picture = png(9, 9, 9)
        (self.folder / "out.png").write_bytes(self.picture)
        self.put("one.fbx", FBX % "b.png")
        self.put("two.gltf", BUFFER)
        self.put("three.obj", obj_text(1, mtl="one.fbm/b.png"))
        self.put("four.obj", obj_text(1, mtl="four.mtl"))
        self.put("four.mtl", "newmtl m\nmap_Kd one.fbm/b.png\n")
        self.put("store/b.png", self.picture)
        os.mkfifo(self.art / "store/pipe")
        self.wanted = {}

    @staticmethod
    def clear(path):
        if not path.is_symlink() and path.is_dir():
            path.chmod(0o755)
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)

    def make(self, path, kind):
        """Anything but a folder that holds the file."""
        if kind == "file":
            path.write_bytes(self.picture)
        elif kind == "denied":
            path.write_bytes(self.picture)
            path.chmod(0)
        elif kind == "folder":
            path.mkdir()
        elif kind == "pipe":
            os.mkfifo(path)
        elif kind == "socket":
            with socket.socket(socket.AF_UNIX) as made:
                made.bind(str(path))
        elif kind.startswith("-> "):
            path.symlink_to(kind[3:])

    def follow(self, place, states, make):
        place.parent.mkdir(exist_ok=True)
        made, serial = {"events": [], "polling": ["--watch", "poll", "--poll-ms", "100"]}, 0
        daemons = {name: Daemon([self.art], self.folder / ("cache-" + name), *options, program=self.program) for name, options in made.items()}
        below = ["--upstream", f"http://127.0.0.1:{daemons['events'].port}"]
        daemons["below an upstream"] = Daemon([self.art], self.folder / "cache-below", *below, program=self.program)
        for daemon in daemons.values():
            self.addCleanup(daemon.kill)
        before = "nothing yet"
        for kind in each_to_each(states):
            serial += 1
            restarts = kind not in self.wanted or LONG
            self.clear(place)
            make(place, kind)
            for name, daemon in daemons.items():
                daemon.sync(scan=name == "polling")
            given = {name: self.shown(daemon) for name, daemon in daemons.items()}
            if restarts:
                with Daemon([self.art], self.folder / "cache-restarted", program=self.program) as restarted:
                    restarted.sync()
                    given["after a restart"] = self.shown(restarted)
                given["a kept cache"] = self.cook("--cache", str(self.folder / "kept"))
            wanted = self.wanted.setdefault(kind, None) or self.cook()
            self.wanted[kind] = wanted
            for name, found in given.items():
                with self.subTest(name, before=before, now=kind):
                    self.assertEqual(self.differences(wanted, found), [], "\n".join(daemons[name].log[-25:]) if name in daemons else "")
            before = kind
        for daemon in daemons.values():
            daemon.stop()

    def test_the_file(self):
        self.follow(self.art / "one.fbm/b.png", ("missing", "pipe", "denied", "file", "-> ../store", "folder", "socket", "-> nothing", "-> ../store/b.png",
                                                 "-> ../store/pipe", "-> ../../out.png", "-> " + 300 * "x")[:amount(5, 12)], self.make)

    def test_its_folder(self):
        def make(path, kind):
            if kind.startswith("holds "):
                new = self.folder / "new"
                new.mkdir()
                self.make(new / "b.png", kind[6:])
                new.rename(path)
            else:
                self.make(path, kind)
        self.follow(self.art / "one.fbm", ("missing", "holds file", "holds pipe", "-> store", "folder", "holds denied", "file", "pipe", "-> nothing",
                                           "-> ../art", "-> ..")[:amount(4, 11)], make)


if __name__ == "__main__":
    main()
