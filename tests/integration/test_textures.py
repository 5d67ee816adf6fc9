"""Textures: every picture of the corpus, and no duplicate compression."""
import hashlib
import json
import os
import pathlib
import struct
import subprocess
import zlib

from hobtest import CORPUS, DEADLINE, HOB, Daemon, Scenario, main, obj_text

PICTURES = {".png", ".jpg", ".jpeg", ".tga", ".bmp", ".psd", ".gif", ".hdr", ".ppm", ".pgm", ".pbm", ".webp", ".ktx2",
            ".dds", ".tif", ".tiff", ".exr", ".avif", ".ico", ".xpm", ".svg"}
REFUSED = {".ico", ".xpm", ".svg"}
OTHERS = pathlib.Path(__file__).resolve().parent.parent / "data/pictures/others"
ALL = bool(os.environ.get("HOB_CORPUS_ALL"))
SETTINGS = {"texture": {"encoding": "bc", "quality": "small"}}
TRIANGLE = "v 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 0 1\nusemtl m\nf 1/1 2/2 3/3\n"


def noise(side):
    random = hashlib.shake_256(b"noise").digest(3 * side * side)
    rows = b"".join(b"\0" + random[3 * side * y:3 * side * (y + 1)] for y in range(side))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


class Corpus(Scenario):
    def cook(self, settings=SETTINGS, *more):
        report = self.folder / "report.json"
        done = subprocess.run([HOB, "cook", "art", "-o", "out", "--quiet", "--timeout", f"{DEADLINE:.0f}", "--memory", "2048MiB",
                               "--settings", json.dumps(settings), "--report", str(report), *more],
                              capture_output=True, text=True, cwd=self.folder)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return {item["path"]: item for item in json.loads(report.read_text())["assets"]}

    def add(self, path):
        """A model with this picture as its base colour; returns its name, or None if it exists already."""
        data = path.read_bytes()
        name = hashlib.sha256(data).hexdigest()[:16]
        if (self.art / (name + ".obj")).exists():
            return None
        self.put(name + path.suffix, data)
        self.put(name + ".mtl", f"newmtl m\nKd 1 1 1\nmap_Kd {name}{path.suffix}\n")
        self.put(name + ".obj", f"mtllib {name}.mtl\n" + TRIANGLE)
        return name + ".obj"

    def test_pictures_that_other_programs_wrote_cook_in_the_sandbox(self):
        for path in sorted(OTHERS.glob("*.*.*")):
            self.add(path)
        items = self.cook({"texture": {"encoding": "rgba8", "zstd": False}})
        self.assertGreaterEqual(len(items), 35)
        for name, item in items.items():
            unreadable = [note["text"] for note in item.get("notes", []) if note["code"] == "texture.unreadable"
                          and "was built without" not in note["text"]]
            self.assertEqual(unreadable, [], name)
            self.assertEqual(item["state"], "cooked", item)

    def test_every_picture_cooks_or_says_why_not(self):
        if not CORPUS.exists():
            self.skipTest("the model corpus is not here")
        found, size = {}, 0
        for path in sorted(CORPUS.rglob("*")):
            hostile = CORPUS / "bad" in path.parents
            small = CORPUS / "textures" in path.parents or (hostile and path.stat().st_size < 200_000)
            if path.suffix.lower() in PICTURES and path.is_file() and (ALL or small):
                name = self.add(path)
                if name:
                    found[name] = (path, hostile)
                    size += path.stat().st_size
        items = self.cook()
        self.assertEqual(set(items), set(found))
        refused = {}
        for name, (path, hostile) in found.items():
            item = items[name]
            self.assertEqual(item["state"], "cooked", (path, item))
            self.assertEqual(item["textures"], 1, path)
            self.assertLess(item["peak_bytes"], 1 << 30, path)
            why = [note["text"] for note in item["notes"] if note["code"] == "texture.unreadable"]
            if why:
                self.assertRegex(why[0], r"cannot be used: .{10,}; a placeholder is used", path)
                refused[path.relative_to(CORPUS)] = why[0].split("cannot be used: ")[1]
            if not hostile:
                self.assertEqual(bool(why), path.suffix.lower() in REFUSED, (path, why))
        blobs = sorted((self.folder / "out/textures").iterdir())
        for start in range(0, len(blobs), 200):
            done = subprocess.run([HOB, "inspect", "--validate", *map(str, blobs[start:start + 200])],
                                  capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        peak = max(item["peak_bytes"] for item in items.values()) >> 20
        print(f"pictures: {len(found)} ({size >> 10} KiB), {len(refused)} refused with a reason, {len(blobs)} textures "
              f"valid, peak {peak} MiB")
        if ALL:
            for path, why in sorted(refused.items()):
                print(f"  {path}: {why}")

    def test_basis_universal_is_kept_when_asked(self):
        folder = CORPUS / "gltf/khronos-derived"
        models = sorted(folder.glob("BoxTextured-KTX2-*/*.gltf"))
        if not models:
            self.skipTest("the model corpus is not here")
        sources = set()
        for path in models:
            for beside in path.parent.iterdir():
                if beside.is_file():
                    self.put(path.parent.name + "/" + beside.name, beside.read_bytes())
                    sources |= {beside.read_bytes()} if beside.suffix == ".ktx2" else set()
        self.put("cook.json", '{"texture": {"basis": "keep"}}')
        items = self.cook()
        self.assertEqual(len(items), 2)
        for name, item in items.items():
            self.assertEqual((item["state"], item["textures"]), ("cooked", 1), name)
            self.assertFalse([note for note in item["notes"] if note["level"] == "warning"], name)
        self.assertEqual({path.read_bytes() for path in (self.folder / "out/textures").iterdir()}, sources)

    def test_every_model_with_pictures_cooks(self):
        if not ALL or not CORPUS.exists():
            self.skipTest("HOB_CORPUS_ALL=1 cooks every model of the corpus")
        report = self.folder / "report.json"
        subprocess.run([HOB, "cook", str(CORPUS), "-o", "out", "--quiet", "--timeout", f"{DEADLINE:.0f}", "--memory", "2048MiB",
                        "--settings", json.dumps(SETTINGS), "--report", str(report)],
                       cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        items = json.loads(report.read_text())["assets"]
        count, codes = 0, {}
        for item in items:
            count += item.get("textures", 0)
            for note in item.get("notes", []):
                if note["code"].startswith("texture."):
                    codes[note["code"]] = codes.get(note["code"], 0) + 1
                    self.assertGreater(len(note["text"]), 30, item["path"])
            if item["state"] != "cooked":
                self.assertTrue(item["error"], item)
        print(f"models: {len(items)}, textures: {count}, notes: {dict(sorted(codes.items()))}")


class Once(Scenario):
    """No picture is decoded and compressed twice; every scenario starts more workers than there are textures."""

    def unwatched(self, roots):
        """Without a listener: a slow machine would make previews, whose textures are separate."""
        daemon = Daemon(roots, self.cache, "-j", "4", wait_ready=False)
        daemon.wait_banner()
        return daemon

    def parts(self, daemon, result="made"):
        return int(daemon.counters()[f'hob_cook_parts_total{{result="{result}"}}'])

    def model(self, path, picture, slots="map_Kd"):
        self.put(path + ".mtl", "newmtl m\nKd 1 1 1\n" + "".join(f"{slot} {picture}\n" for slot in slots.split()))
        self.put(path + ".obj", obj_text(4, mtl=path.rsplit("/", 1)[-1] + ".mtl"))

    def textures(self, daemon):
        found = set()
        for name, item in daemon.assets("&fields=root,path,outputs,state").items():
            self.assertEqual(item["state"], "fresh", name)
            found |= {output["hash"] for output in item["outputs"] if output["name"].startswith("textures/")}
        return found

    def test_fifty_models_with_one_texture(self):
        second = self.folder / "second"
        # Slow enough for all four workers to request it.
        picture = noise(160)
        self.put("cook.json", json.dumps({"texture": {"encoding": "bc"}}))
        self.put("tex/a.png", picture)
        for i in range(48):
            self.model(f"models/m{i}", "../tex/a.png")
        self.put("other/copy.png", picture)
        self.model("other/n", "copy.png")
        second.mkdir()
        for path in (self.art / "other").iterdir():
            (second / path.name).write_bytes(path.read_bytes())
        (second / "n.obj").write_text(obj_text(6, mtl="n.mtl"))
        (second / "cook.json").write_text(json.dumps({"texture": {"encoding": "bc"}}))
        roots = [self.art, second]
        with self.unwatched(roots) as daemon:
            daemon.sync()
            self.assertEqual(daemon.cooked(), 50)
            self.assertEqual(self.parts(daemon), 1)
            self.assertEqual(self.parts(daemon, "reused"), 49)
            self.assertEqual(len(self.textures(daemon)), 1)
            # Touched and saved again unchanged: not even cooked.
            os.utime(self.art / "tex/a.png", (1, 1))
            self.put("tex/a.png", picture)
            daemon.sync()
            self.assertEqual((daemon.cooked(), self.parts(daemon)), (50, 1))
            # Another mesh with the same picture.
            self.put("models/m7.obj", obj_text(9, mtl="m7.mtl"))
            daemon.sync()
            self.assertEqual((daemon.cooked(), self.parts(daemon)), (51, 1))
            # Another use: once more, however many models share it.
            for i in range(3):
                self.model(f"models/m{i}", "../tex/a.png", "map_Kd norm")
            daemon.sync()
            self.assertEqual((daemon.cooked(), self.parts(daemon)), (54, 2))
            self.assertEqual(len(self.textures(daemon)), 2)
        with self.unwatched(roots) as daemon:
            self.model("models/new", "../tex/a.png")
            daemon.sync()
            self.assertEqual((daemon.cooked(), self.parts(daemon)), (1, 0))
            # Another size for a folder: one more for all its models.
            self.put("models/cook.json", json.dumps({"texture": {"max_size": 32}}))
            daemon.sync()
            self.assertEqual(self.parts(daemon), 2)
            # And back: the first ones are still cached.
            (self.art / "models/cook.json").unlink()
            daemon.sync()
            self.assertEqual(self.parts(daemon), 2)


if __name__ == "__main__":
    main()
