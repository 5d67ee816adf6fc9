"""hob export: a model, a folder, cooked files and a daemon's asset give the same GLB."""
import json
import os
import random
import shutil
import struct
import subprocess
import zlib

from hobtest import DEADLINE, HOB, Scenario, main, obj_text, png


def read_glb(path):
    data = path.read_bytes()
    magic, version, size, length = struct.unpack_from("<4sIII", data)
    assert (magic, version, size) == (b"glTF", 2, len(data))
    return json.loads(data[20:20 + length]), data[28 + length:]


def first_pixel(picture):
    """Colour type and first pixel of a PNG with any filter in its first row: the first pixel has no predecessor."""
    kind, data, at = picture[25], b"", 8
    while at < len(picture):
        size, name = struct.unpack_from(">I4s", picture, at)
        data += picture[at + 8:at + 8 + size] if name == b"IDAT" else b""
        at += 12 + size
    channels = {2: 3, 6: 4}[kind]
    return tuple(zlib.decompress(data)[1:1 + channels])


class Export(Scenario):
    def hob(self, *arguments, code=0):
        done = subprocess.run([HOB, *map(str, arguments)], capture_output=True, text=True, timeout=DEADLINE, cwd=self.folder)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def model(self):
        self.put("tex/a.png", png(250, 120, 10))
        self.put("prop/m.mtl", "newmtl m\nKd 1 1 1\nmap_Kd ../tex/a.png\n")
        self.put("prop/m.obj", obj_text(8, mtl="m.mtl"))

    def check(self, path):
        tree, bin_chunk = read_glb(path)
        self.assertEqual([m["name"] for m in tree["materials"]], ["m"])
        view = tree["bufferViews"][tree["images"][0]["bufferView"]]
        picture = bin_chunk[view["byteOffset"]:view["byteOffset"] + view["byteLength"]]
        self.assertEqual(first_pixel(picture), (250, 120, 10))
        triangles = sum(tree["accessors"][p["indices"]]["count"] // 3 for m in tree["meshes"] for p in m["primitives"])
        self.assertEqual(triangles, 8)

    def test_model_and_cooked_files_and_folder(self):
        self.model()
        self.hob("export", self.art / "prop/m.obj", "--root", self.art, "-o", "one.glb")
        self.check(self.folder / "one.glb")
        with open(self.folder / "piped.glb", "wb") as pipe:
            subprocess.run([HOB, "export", self.art / "prop/m.obj", "--root", self.art, "-o", "-"], cwd=self.folder, stdout=pipe,
                           stderr=subprocess.DEVNULL, check=True)
        self.assertEqual((self.folder / "piped.glb").read_bytes(), (self.folder / "one.glb").read_bytes())
        self.assertFalse((self.folder / "-").exists())
        self.hob("cook", self.art, "-o", "built")
        self.hob("export", "built/prop/m.obj.meshes", "-o", "two.glb")
        self.check(self.folder / "two.glb")
        self.hob("export", self.art, "-o", "out")
        self.check(self.folder / "out/prop/m.obj.glb")

    def test_asset_of_a_daemon(self):
        self.model()
        with self.serve() as daemon:
            daemon.sync()
            self.hob("export", "art/prop/m.obj", "--url", f"http://127.0.0.1:{daemon.port}", "-o", "three.glb")
            done = self.hob("export", "art/prop/n.obj", "--url", f"http://127.0.0.1:{daemon.port}", "-o", "four.glb", code=2)
            self.assertIn("there is no asset 'art/prop/n.obj'", done.stderr)
        self.check(self.folder / "three.glb")

    def test_damaged_files_are_refused_without_a_crash(self):
        self.model()
        self.hob("cook", self.art, "-o", "built", "--classic")
        files = sorted(path for path in (self.folder / "built").rglob("*") if path.is_file() and path.suffix != ".json")
        chance, trials = random.Random(int(os.environ.get("HOB_SEED", "1"))), int(os.environ.get("HOB_DAMAGE", "12"))
        refused = 0
        for trial in range(trials):
            path = chance.choice(files)
            sound = path.read_bytes()
            spoilt = bytearray(sound[:chance.randrange(len(sound))] if trial % 3 == 0 else sound)
            for _ in range(chance.randrange(1, 5) if trial % 3 and spoilt else 0):
                spoilt[min(len(spoilt) - 1, int(chance.random() ** 3 * len(spoilt)))] = chance.randrange(256)
            path.write_bytes(spoilt)
            for command in (["inspect", path], ["inspect", "--json", path], ["inspect", "--validate", path], ["diff", path, files[0]],
                            ["export", "built/prop/m.obj.meshes", "-o", "x.glb"]):
                done = subprocess.run([HOB, *map(str, command)], capture_output=True, timeout=DEADLINE, cwd=self.folder)
                errors = done.stderr.decode(errors="replace")
                self.assertIn(done.returncode, (0, 1, 2), f"trial {trial}: {command}: {errors}")
                self.assertNotIn("Sanitizer", errors, f"trial {trial}: {command}")
                self.assertNotIn("runtime error", errors, f"trial {trial}: {command}")
                if done.returncode == 1 and command[0] != "diff":
                    refused += 1
                    self.assertTrue(errors.strip() or done.stdout, f"trial {trial}: {command} says nothing")
            path.write_bytes(sound)
        self.assertGreater(refused, trials // 2)

    def test_what_cannot_be_exported_says_why(self):
        self.model()
        self.hob("cook", self.art, "-o", "built")
        self.assertIn("-o FILE.glb", self.hob("export", self.art, code=2).stderr)
        self.assertIn("name a folder", self.hob("export", self.art, "-o", "all.glb", code=2).stderr)
        (self.folder / "built/prop/m.obj.scene").unlink()
        self.assertIn("m.obj.scene", self.hob("export", "built/prop/m.obj.meshes", "-o", "x.glb", code=1).stderr)
        self.hob("cook", self.art, "-o", "built")
        for texture in (self.folder / "built/textures").iterdir():
            texture.write_bytes(texture.read_bytes()[:-1])
        self.assertIn("is not what it was", self.hob("export", "built/prop/m.obj.meshes", "-o", "x.glb", code=1).stderr)
        shutil.rmtree(self.folder / "built/textures")
        done = self.hob("export", "built/prop/m.obj.meshes", "-o", "x.glb")
        self.assertIn("left out", done.stderr)
        self.assertNotIn("images", read_glb(self.folder / "x.glb")[0])
        self.put("bad.obj", "f 1 2 3\n")
        self.assertIn("bad.obj", self.hob("export", self.art / "bad.obj", "-o", "y.glb", code=1).stderr)
        self.assertFalse((self.folder / "y.glb").exists())
        done = self.hob("export", "no.obj", "--url", "http://127.0.0.1:9", "-o", "z.glb", code=3)
        self.assertIn("no daemon answers", done.stderr)


if __name__ == "__main__":
    main()
