"""USD by counters: a saved layer cooks exactly the stages that use it; a picture inside a package; variants as profiles."""
import io
import json
import subprocess
import zipfile

from hobtest import DEADLINE, HOB, Daemon, Scenario, main, png, until

QUAD = """def Mesh "M" { int[] faceVertexCounts = [4]
int[] faceVertexIndices = [0, 1, 2, 3]
point3f[] points = [(0, 0, 0), (%d, 0, 0), (1, 1, 0), (0, 1, 0)]
texCoord2f[] primvars:st = [(0, 0), (1, 0), (1, 1), (0, 1)] (interpolation = "vertex")
rel material:binding = </W/Look> }
"""
LOOK = """def Material "Look" { token outputs:surface.connect = </W/Look/S.outputs:surface>
def Shader "S" { uniform token info:id = "UsdPreviewSurface"
color3f inputs:diffuseColor.connect = </W/Look/T.outputs:rgb>
token outputs:surface }
def Shader "T" { uniform token info:id = "UsdUVTexture"
asset inputs:file = @wood.png@
float3 outputs:rgb } }
"""


def layer(inside, meta=""):
    return f'#usda 1.0\n(\n defaultPrim = "W"\n{meta})\ndef Xform "W"\n{{\n{inside}}}\n'


def package(picture):
    """A .usdz: members are stored at multiples of 64 bytes."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for name, data in (("root.usda", layer(QUAD % 1 + LOOK).encode()), ("wood.png", picture)):
            info = zipfile.ZipInfo(name)
            info.extra = b""
            start = out.tell() + 30 + len(name)
            pad = -start % 64
            if 0 < pad < 4:
                pad += 64
            info.extra = b"\x86\x19" + (pad - 4).to_bytes(2, "little") + bytes(pad - 4) if pad else b""
            archive.writestr(info, data)
    return out.getvalue()


class Stages(Scenario):
    def cooks(self, daemon, change):
        daemon.sync()
        before = daemon.cooked()
        change()
        daemon.sync()
        return daemon.cooked() - before

    def test_a_saved_layer_cooks_the_stages_that_it_reaches(self):
        self.put("parts/base.usda", layer(QUAD % 1))
        self.put("parts/override.usda", '#usda 1.0\nover "W" { over "M" { color3f[] primvars:displayColor = [(1, 0, 0)] } }\n')
        self.put("unrelated.usda", layer(QUAD % 2))
        for i in range(5):
            arc = 'subLayers = [@parts/base.usda@]\n' if i % 2 else ""
            inside = "" if i % 2 else 'def "Child" (references = @./parts/base.usda@) {}\n'
            self.put(f"stage{i}.usda", layer(inside + f"custom int number = {i}\n", arc))
        with self.serve() as daemon:
            daemon.sync()
            states = {name: asset["state"] for name, asset in daemon.assets().items()}
            self.assertEqual(states, {f"art/{name}.usda": "fresh" for name in ("parts/base", "unrelated", *(f"stage{i}" for i in range(5)))})
            skipped = daemon.get("/api/v1/roots").json()["items"][0]["skipped_files"]
            self.assertEqual([file["path"] for file in skipped], ["parts/override.usda"])
            why = subprocess.run([HOB, "why", "art/parts/override.usda", "--url", f"http://127.0.0.1:{daemon.port}"], capture_output=True, text=True, check=False)
            self.assertIn("'art/parts/override.usda' is skipped: the stage draws nothing", why.stderr)
            self.assertIn("a layer of materials or overrides is cooked with the stage that uses it", why.stderr)
            # The layer is an asset too, because it draws something itself.
            self.assertEqual(self.cooks(daemon, lambda: self.put("parts/base.usda", layer(QUAD % 3))), 6)
            self.assertEqual(self.cooks(daemon, lambda: self.put("unrelated.usda", layer(QUAD % 4))), 1)
            self.assertEqual(self.cooks(daemon, lambda: self.put("parts/override.usda", "#usda 1.0\nover \"W\" {}\n")), 0)

    def test_a_missing_layer_heals_its_stages(self):
        self.put("stage.usda", layer('def "Child" (references = @later.usda@) {}\n' + QUAD % 1))
        with self.serve() as daemon:
            daemon.sync()
            self.assertEqual(daemon.assets()["art/stage.usda"]["stats"]["triangles"], 2)
            self.put("later.usda", layer(QUAD % 2))
            until(lambda: daemon.assets()["art/stage.usda"]["stats"]["triangles"] == 4, "the layer is there")

    def test_a_stage_that_lacks_all_it_draws_names_what_is_missing(self):
        self.put("stage.usda", layer('def "Child" (references = @./parts/gone.usda@) {}\n'))
        with self.serve() as daemon:
            daemon.sync()
            asset = daemon.assets()["art/stage.usda"]
            self.assertEqual(asset["state"], "failed")
            self.assertIn("the stage draws nothing: './parts/gone.usda', which 'this file' names, is left out", asset["error"]["message"])
            self.put("parts/gone.usda", layer(QUAD % 1))
            daemon.wait_asset("art/stage.usda", "fresh")

    def test_a_stage_whose_layers_are_above_it_names_the_option_for_them(self):
        self.put("base.usda", layer(QUAD % 1))
        self.put("deep/x.usda", "#usda 1.0\n(defaultPrim = \"W\" subLayers = [@../base.usda@])\n")
        cook = lambda *options: subprocess.run([HOB, "cook", "x.usda", "--check", *options], cwd=self.art / "deep", capture_output=True, text=True, check=False)
        done = cook()
        self.assertEqual((done.returncode, "; or name a folder above that holds it: --root DIR" in done.stderr), (1, True), done.stderr)
        self.assertEqual(cook("--root", self.art).returncode, 0)

    def test_a_picture_inside_a_package_cooks_it_once(self):
        self.put("box.usdz", package(png(200, 0, 0)))
        self.put("other.usda", layer(QUAD % 1))
        with self.serve() as daemon:
            daemon.sync()
            self.assertEqual(daemon.assets()["art/box.usdz"]["stats"]["textures"], 1)
            before = daemon.blob("art/box.usdz", "textures/0")
            self.assertEqual(self.cooks(daemon, lambda: self.put("box.usdz", package(png(0, 200, 0)))), 1)
            self.assertNotEqual(daemon.blob("art/box.usdz", "textures/0"), before)

    def test_a_folder_is_cooked_in_two_choices(self):
        self.put("car.usda", '#usda 1.0\ndef Xform "Car" (variants = { string lod = "low" } prepend variantSets = "lod") {\n'
                 'variantSet "lod" = { "low" { def Cube "A" {} } "high" { def Cube "A" {} def Cube "B" {} def Cube "C" {} } } }\n')
        config = self.folder / "hob.json"
        art = str(self.art)
        config.write_text(json.dumps({"sources": [{"name": "art", "path": art},
                                                  {"name": "art@high", "path": art, "options": {"usd": {"variants": "lod=high"}}}]}))
        with Daemon([], self.cache, "--config", str(config)) as daemon:
            daemon.sync()
            triangles = {name: asset["stats"]["triangles"] for name, asset in daemon.assets().items()}
            self.assertEqual(triangles, {"art/car.usda": 12, "art@high/car.usda": 36})

    def test_the_last_visibility_lasts_in_a_glb(self):
        self.put("blink.usda", layer('def Cube "C" { token visibility.timeSamples = { 0: "invisible", 12: "inherited" } }\n',
                                     "startTimeCode = 0\nendTimeCode = 24\n"))
        out = self.folder / "blink.glb"
        subprocess.run([HOB, "export", self.art / "blink.usda", "-o", out], check=True, capture_output=True, timeout=DEADLINE)
        data = out.read_bytes()
        document = json.loads(data[20:20 + int.from_bytes(data[12:16], "little")])
        samplers = document["animations"][0]["samplers"]
        self.assertEqual([document["accessors"][s["input"]]["max"] for s in samplers], [[1], [1]])
        self.assertEqual({document["accessors"][s[end]]["count"] for s in samplers for end in ("input", "output")}, {3})


if __name__ == "__main__":
    main()
