"""The sample of examples/art: it is what its script makes, has what its README says, and half of a file is an error in each format
that the pages name, with the last good version still served."""
import json
import shutil
import subprocess
import struct
import sys
import zlib

from hobtest import DEADLINE, HOB, MODELS, PROJECT, Scenario, main

ART = PROJECT / "examples/art"
SEEDS = PROJECT / "tests/fuzz/corpus"
# Models of the formats that README and the pages for artists name; Blender opens .blend files, test_blend has them.
FORMATS = {"lantern.gltf": ART / "lantern.gltf", "cube.glb": MODELS / "simple/AnimatedMorphCube.glb", "thing.fbx": SEEDS / "fbx/triangle.fbx",
           "spot.obj": ART / "spot.obj", "whole.usda": SEEDS / "usd/whole.usda", "quads.usdc": SEEDS / "usd/quads.usdc",
           "package.usdz": SEEDS / "usd/package.usdz", "skin.dae": SEEDS / "collada/skin.dae", "binary.stl": SEEDS / "stl/binary.stl",
           "text.stl": SEEDS / "stl/text.stl"}


FIELDS = "&fields=root,path,standing,outputs,error"


def half(name, whole):
    """An OBJ has no end that could be missed: the page says to cut it in the middle of its last line."""
    last = whole.rstrip().rpartition(b"\n")[2]
    return whole[:whole.rindex(last) + len(last) // 2] if name.endswith(".obj") else whole[:len(whole) // 2]


def unpacked(data):
    at, packed = 8, b""
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        packed += data[at + 8:at + 8 + size] if kind == b"IDAT" else b""
        at += 12 + size
    return zlib.decompress(packed)


class Sample(Scenario):
    def test_it_is_what_its_script_makes(self):
        made = self.folder / "made"
        subprocess.run([sys.executable, str(PROJECT / "examples/lantern.py"), str(made)], check=True, timeout=DEADLINE)
        names = sorted(path.name for path in made.iterdir())
        self.assertEqual(names, sorted(path.name for path in ART.iterdir() if path.name.startswith("lantern")))
        for name in names:
            kept, new = (ART / name).read_bytes(), (made / name).read_bytes()
            if name.endswith(".png"):  # another zlib may pack them in another way
                kept, new = unpacked(kept), unpacked(new)
            self.assertEqual(kept, new, name)
        self.assertLess(sum(path.stat().st_size for path in ART.iterdir()), 500_000)

    def test_it_has_what_its_page_says(self):
        out = self.folder / "out"
        ran = subprocess.run([HOB, "cook", str(ART), "-o", str(out), "--report", str(self.folder / "report.json")], check=True, timeout=DEADLINE,
                             capture_output=True, text=True)
        self.assertNotIn("warning", ran.stdout + ran.stderr)
        (lantern,) = [item for item in json.loads((self.folder / "report.json").read_text())["assets"] if item["path"] == "lantern.gltf"]
        self.assertEqual([lantern[name] for name in ("notes", "materials", "textures")], [[], 7, 5])
        for output, words in (("materials", ("base color", "metal rough", "normal", "transmission", "emissive_strength")),
                              ("meshes", ("level 4", "generated tangents")), ("animations", ("'Wind'", "6 joints")), ("scene", ("'Flame'", "point"))):
            said = subprocess.run([HOB, "inspect", str(out / f"lantern.gltf.{output}")], check=True, timeout=DEADLINE, capture_output=True, text=True).stdout
            self.assertEqual([word for word in words if word not in said], [], said)

    def test_half_of_a_file_is_an_error_and_the_last_good_version_stays(self):
        for name, source in FORMATS.items():
            shutil.copy(source, self.art / name)
        for path in ART.glob("lantern[._]*"):
            shutil.copy(path, self.art)
        with self.serve() as daemon:
            daemon.sync()
            good = daemon.assets(FIELDS)
            self.assertEqual({name for name, item in good.items() if item["standing"] == "fresh"}, {f"{self.art.name}/{name}" for name in FORMATS}, good)
            for name, source in FORMATS.items():
                self.put(name, half(name, source.read_bytes()))
            self.put("lantern.bin", half("lantern.bin", (ART / "lantern.bin").read_bytes()))
            daemon.sync()
            for name, item in daemon.assets(FIELDS).items():
                self.assertEqual((name, item["standing"]), (name, "broken"))
                self.assertTrue(item["error"]["message"], name)
                self.assertEqual(item["outputs"], good[name]["outputs"], f"{name}: the last good version is served")
            self.put("lantern.gltf", (ART / "lantern.gltf").read_bytes())  # its .bin is half still
            daemon.sync()
            self.assertIn("lantern.bin", json.dumps(daemon.assets()[f"{self.art.name}/lantern.gltf"]["error"]))
            for name, source in (*FORMATS.items(), ("lantern.bin", ART / "lantern.bin")):
                self.put(name, source.read_bytes())
            daemon.sync()
            self.assertEqual({item["standing"] for item in daemon.assets().values()}, {"fresh"})
            shutil.move(self.art / "lantern_stone_albedo.png", self.folder)
            daemon.sync()
            lantern = daemon.assets()[f"{self.art.name}/lantern.gltf"]
            self.assertEqual(lantern["standing"], "fresh")
            self.assertIn("lantern_stone_albedo.png", daemon.get(f"/api/v1/assets/{lantern['id']}/why").body.decode() +
                          daemon.get(f"/api/v1/assets/{lantern['id']}").body.decode())


if __name__ == "__main__":
    main()
