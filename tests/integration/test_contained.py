"""Containment of models: files outside the root, by any way of naming them in any format; the abilities of a compromised cook
process, and its data while idle. Each way to name a file is first tried on a readable one, so that a refusal is known to be
one."""
import hashlib
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import unittest
import zlib

from hobtest import DEADLINE, HOB, Daemon, Scenario, children, main, obj_text, png, until

ROGUE = pathlib.Path(HOB).resolve().with_name("rogue_worker")
CANARY = b"HOB-CANARY-7f3a91"
ATTACKS = ("password", "above", "environment", "list", "make", "change", "remove", "rename", "program", "local", "datagrams", "trace",
           "memory", "signal", "code", "handle", "ring", "user", "own", "choose", "async", "huge", "lock", "memfd",
           "hoard", "lease", "starve", "slow", "bind", "poke", "proc", "steal", "stop", "ioctl", "segment", "queue", "namespace",
           "watch", "pending", "pages", "urgent")
FLOATS = b"".join(struct.pack("<3f", *p) for p in ((0, 0, 0), (1, 0, 0), (0, 1, 0)))


def open_files(pid):
    """Targets of a process's descriptors; those closed meanwhile are skipped."""
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            yield os.readlink(f"/proc/{pid}/fd/{fd}")
        except FileNotFoundError:
            pass


def gltf(buffer=None, image=None):
    text = {"asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}], "nodes": [{"mesh": 0}],
            "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "material": 0}]}],
            "materials": [{"name": "m"}], "buffers": [{"uri": buffer or "own.bin", "byteLength": 36}],
            "bufferViews": [{"buffer": 0, "byteLength": 36}],
            "accessors": [{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3", "min": [0, 0, 0], "max": [1, 1, 0]}]}
    if image:
        text |= {"images": [{"uri": image}], "textures": [{"source": 0}]}
        text["materials"][0]["pbrMetallicRoughness"] = {"baseColorTexture": {"index": 0}}
    return text


def glb(buffer):
    data = json.dumps(gltf(buffer)).encode()
    data += b" " * (-len(data) % 4)
    return struct.pack("<4sII", b"glTF", 2, 20 + len(data)) + struct.pack("<I4s", len(data), b"JSON") + data


def dae(image):
    return f'''<?xml version="1.0"?><COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<library_images><image id="i" name="i"><init_from>{image}</init_from></image></library_images>
<library_effects><effect id="e"><profile_COMMON>
<newparam sid="s"><surface type="2D"><init_from>i</init_from></surface></newparam>
<newparam sid="p"><sampler2D><source>s</source></sampler2D></newparam>
<technique sid="t"><phong><diffuse><texture texture="p" texcoord="UV"/></diffuse></phong></technique></profile_COMMON></effect></library_effects>
<library_materials><material id="m"><instance_effect url="#e"/></material></library_materials>
<library_geometries><geometry id="g"><mesh><source id="v"><float_array id="va" count="9">0 0 0 1 0 0 0 1 0</float_array>
<technique_common><accessor source="#va" count="3" stride="3"><param name="X" type="float"/><param name="Y" type="float"/>
<param name="Z" type="float"/></accessor></technique_common></source><vertices id="w"><input semantic="POSITION" source="#v"/></vertices>
<triangles material="x" count="1"><input semantic="VERTEX" source="#w" offset="0"/><p>0 1 2</p></triangles></mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="S"><node><instance_geometry url="#g"><bind_material><technique_common>
<instance_material symbol="x" target="#m"/></technique_common></bind_material></instance_geometry></node></visual_scene></library_visual_scenes>
<scene><instance_visual_scene url="#S"/></scene></COLLADA>'''


# Formats that refer to another file: {kind: (suffix of the model, the other file's, its text)}
KINDS = {
    "gltf-buffer": (".gltf", "secret.bin", lambda uri: json.dumps(gltf(buffer=uri))),
    "gltf-image": (".gltf", "secret.png", lambda uri: json.dumps(gltf(image=uri))),
    "glb-buffer": (".glb", "secret.bin", glb),
    "obj-library": (".obj", "secret.mtl", lambda uri: obj_text(2, mtl=uri)),
    "collada": (".dae", "secret.png", dae),
    "merge": (".merge", "secret.obj", lambda uri: json.dumps({"scenes": [uri]})),
}


class Contained(Scenario):
    def secrets(self, folder):
        """Files of each kind that contain the canary as text, so that it is found in any result."""
        picture = png(3, 5, 7)
        note = b"tEXtk\0" + CANARY
        mark = struct.pack(">I", len(note) - 4) + note + struct.pack(">I", zlib.crc32(note))
        library = b"newmtl m\nmap_Kd " + CANARY + b".png\nnewmtl " + CANARY + b"\nKd 1 0 0\n"
        for name, data in {"secret.bin": FLOATS[:19] + CANARY + FLOATS, "secret.png": picture[:33] + mark + picture[33:],
                           "secret.mtl": library, "secret.obj": b"o " + CANARY + b"\ng " + CANARY + b"\n" + obj_text(2).encode(),
                           "secret": CANARY}.items():
            folder.mkdir(exist_ok=True)
            (folder / name).write_bytes(data)

    def served(self, daemon):
        """Everything that can be fetched, and everything printed."""
        yield "log", "\n".join(daemon.log).encode()
        for target in ("/api/v1/assets?expand=outputs,deps&limit=1000", "/api/v1/errors", "/api/v1/jobs?limit=200", "/metrics"):
            yield target, daemon.get(target).body
        for name, item in daemon.assets("&fields=id,root,path,outputs").items():
            for part in ("/deps", "/log", "/why", "/history"):
                yield name + part, daemon.get(f"/api/v1/assets/{item['id']}{part}").body
            for output in item["outputs"]:
                yield name + ":" + output["name"], daemon.get("/blobs/" + output["hash"]).body

    def ways(self, name):
        """Ways to write a path out of the root; the root is two folders below the secrets'."""
        secret = self.folder / name
        yield from (f"../{name}", f"sub/../../{name}", str(secret), f"file://{secret}", f"..\\{name}", f"%2e%2e/{name}", f"..%2f{name}",
                    f"link-{name}", f"out/{name}", f"/proc/self/cwd/{name}", f"/proc/self/root{secret}", f"./././../{name}")

    def test_no_way_to_name_a_file_leaves_the_root(self):
        self.secrets(self.folder)
        self.secrets(self.art / "inside")
        self.put("own.bin", FLOATS)
        self.put("cook.json", '{"texture": {"encoding": "source"}}')
        os.symlink(self.folder, self.art / "out")
        controls, attempts = {}, {}
        for kind, (suffix, secret, text) in KINDS.items():
            os.symlink(self.folder / secret, self.art / f"link-{secret}") if not (self.art / f"link-{secret}").is_symlink() else None
            controls[f"art/control-{kind}{suffix}"] = f"inside/{secret}"
            self.put(f"control-{kind}{suffix}", text(f"inside/{secret}"))
            for i, way in enumerate(self.ways(secret)):
                self.put(f"{kind}-{i}{suffix}", text(way))
                attempts[f"art/{kind}-{i}{suffix}"] = way
        entity = f'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY x SYSTEM "file://{self.folder}/secret">]><COLLADA version="1.4.1">&x;</COLLADA>'
        self.put("entity.dae", entity)
        with self.serve() as daemon:
            daemon.sync()
            items = daemon.assets("&expand=deps")
            for name, path in controls.items():
                deps = daemon.get(f"/api/v1/assets/{items[name]['id']}/deps").json()
                self.assertIn(path, json.dumps(deps), name)
                self.assertEqual(items[name]["state"], "fresh", (name, items[name]["error"]))
            for name in controls:
                self.drop(daemon, name)
            shutil.rmtree(self.art / "inside")
            daemon.sync()
            # The controls' blobs stay in the cache, so the rest uses another cache.
        self.cache = self.folder / "cache2"
        with self.serve() as daemon:
            daemon.sync()
            items = daemon.assets()
            self.assertEqual(set(items), set(attempts) | {"art/entity.dae"})
            for name, way in attempts.items():
                if not name.startswith(("art/obj", "art/collada", "art/gltf-image")):  # these tolerate missing files
                    self.assertIn(items[name]["state"], ("failed", "blocked"), (name, way))
            for what, data in self.served(daemon):
                self.assertNotIn(CANARY, data, what)
            for path in self.cache.rglob("*"):
                if path.is_file():
                    self.assertNotIn(CANARY, path.read_bytes(), path)
        print(f"contained: {len(attempts) + 1} models that reach out, {len(controls)} that may, 0 canaries")

    def drop(self, daemon, name):
        seen = [what for what, data in self.served(daemon) if what.startswith(name + ":") and CANARY in data]
        if "png" in self.kind_of(name) or "image" in name:
            self.assertTrue(seen, f"{name}: the canary cannot be seen in what is made of it")
        (self.art / name[4:]).unlink()

    def kind_of(self, name):
        return KINDS[re.sub(r"^art/control-|\.\w+$", "", name)][1]

    # ---- the process itself

    def status(self, pid):
        return dict(line.split(":\t", 1) for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines() if ":\t" in line)

    def test_what_is_ignored_is_said_by_a_file_of_the_folder(self):
        self.put("a.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
        secret = self.folder / "secret"
        secret.write_bytes(b"!" + CANARY)
        for kind, make in (("pipe", os.mkfifo), ("link", lambda path: os.symlink(secret, path)), ("folder", os.mkdir)):
            path = self.art / ".hobignore"
            make(path)
            for words in (["serve", "--listen", "127.0.0.1:0", "--cache", str(self.cache)], ["cook", "-o", str(self.folder / "out")]):
                done = subprocess.run([HOB, words[0], str(self.art), *words[1:]], capture_output=True, timeout=DEADLINE)
                self.assertEqual(done.returncode, 2, (kind, words[0], done.stderr))
                self.assertIn(b".hobignore' is not a regular file", done.stderr, kind)
                self.assertNotIn(CANARY, done.stderr)
            os.rmdir(path) if kind == "folder" else path.unlink()

    def test_a_worker_holds_nothing_of_worth(self):
        self.put("a.obj", obj_text(3))
        with self.serve() as daemon:
            daemon.sync()
            layers = next(name for name in daemon.counters() if name.startswith("hob_sandbox_info"))
            if "no " in layers:
                self.skipTest(f"this kernel gives no whole sandbox: {layers}")
            listening = set()
            for table in ("tcp", "tcp6"):
                for line in pathlib.Path(f"/proc/{daemon.process.pid}/net/{table}").read_text().splitlines()[1:]:
                    fields = line.split()
                    if fields[3] == "0A":
                        listening.add(f"socket:[{fields[9]}]")
            mine = set(open_files(daemon.process.pid))
            self.assertTrue(mine & listening, "the daemon's own listening socket is not seen: nothing would be found")
            self.assertTrue(any(name.endswith("index.db") for name in mine))
            # The daemon may run as root: workers keep only the capabilities for reading and for finding writers.
            may = 1 << 2 | 1 << 28 if os.geteuid() == 0 else 0
            looked = 0
            for pid in children(daemon.process.pid):
                # one may just have started
                until(lambda pid=pid: self.status(pid)["Seccomp"] == "2", f"the sandbox of process {pid}")
                status = self.status(pid)
                self.assertEqual((status["Seccomp"], status["NoNewPrivs"]), ("2", "1"))
                self.assertEqual(int(status["CapEff"], 16) & ~may, 0)
                self.assertEqual(int(status["CapPrm"], 16) & ~may, 0)
                try:
                    held = set(open_files(pid))
                except PermissionError:
                    continue  # only root may read it
                looked += 1
                self.assertFalse(held & listening, held)
                files = {name for name in held if name.startswith("/") and not re.match(r"/dev/null|/proc/\d+/clear_refs|/memfd:", name)}
                self.assertLessEqual(files, {str(self.art)}, "descriptors of the root and nothing else")
            if os.geteuid() == 0:
                self.assertGreater(looked, 0)

    @unittest.skipUnless(ROGUE.exists(), f"there is no {ROGUE}: it belongs to builds with tests")
    def test_a_worker_that_was_taken_over_gets_nowhere(self):
        programs = self.folder / "bin"
        programs.mkdir()
        shutil.copy(HOB, programs / "hob")
        shutil.copy(ROGUE, programs / "hob-worker")
        self.put("victim.txt", CANARY)
        (self.folder / "secret").write_bytes(CANARY)
        before = hashlib.sha256((self.art / "victim.txt").read_bytes()).hexdigest()
        denied = {}
        with Daemon([self.art], self.cache, program=[str(programs / "hob")]) as daemon:
            layers = next(name for name in daemon.counters() if name.startswith("hob_sandbox_info"))
            if "no " in layers:
                self.skipTest(f"this kernel gives no whole sandbox: {layers}")
            for name in ATTACKS:
                self.put(f"attack-{name}.rogue", name)
            daemon.sync()
            for path, item in daemon.assets().items():
                self.assertIn(item["state"], ("failed", "quarantined"), path)
                message = item["error"]["message"]
                self.assertRegex(message, r"forbidden system call|code 40", path)
                denied[path] = "killed" if "forbidden" in message else "refused"
        self.assertEqual(len(denied), len(ATTACKS))
        self.assertEqual(hashlib.sha256((self.art / "victim.txt").read_bytes()).hexdigest(), before)
        self.assertFalse((self.art / "made").exists() or (self.art / "renamed.txt").exists())
        killed = sum(how == "killed" for how in denied.values())
        print(f"contained: {len(ATTACKS)} attacks, {killed} killed by the filter, {len(ATTACKS) - killed} refused")


if __name__ == "__main__":
    main()
