"""The sample renderer of core/runtime/examples on cooked models: rendering of packed, quantised and classic files. Pictures are
compared with each other, never with stored ones: rasterisers differ."""
import json
import math
import os
import pathlib
import subprocess
import unittest

from hobtest import DEADLINE, HOB, MODELS, Scenario, main, png_pixels

DRAW = pathlib.Path(HOB).parent / "draw"
SIZE = 160, 120


def difference(a, b):
    """Mean absolute difference of a channel, 0..255."""
    return sum(abs(x - y) for x, y in zip(a, b)) / len(a)


@unittest.skipUnless(DRAW.exists(), f"{DRAW} was not built: OpenGL ES or EGL is missing")
class Draw(Scenario):
    def cook(self, name, settings="{}"):
        done = subprocess.run([HOB, "cook", str(MODELS / "simple"), "-o", str(self.folder / name), "--classic", "--settings",
                               settings], capture_output=True, text=True, timeout=DEADLINE)
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.folder / name

    def draw(self, base, *options, code=0):
        picture = self.folder / "picture.png"
        # Mesa keeps allocations until the end.
        environment = dict(os.environ, ASAN_OPTIONS="detect_leaks=0", LIBGL_ALWAYS_SOFTWARE="1")
        done = subprocess.run([DRAW, str(base), "-o", str(picture), "--size", "%dx%d" % SIZE, *options], env=environment,
                              capture_output=True, text=True, timeout=DEADLINE)
        self.assertEqual(done.returncode, code, done.stderr)
        return png_pixels(picture.read_bytes()) if code == 0 else done.stderr

    def test_every_model_shows_something(self):
        out = self.cook("out")
        scenes = [path for path in sorted(out.rglob("*.scene")) if not path.name.endswith(".classic.scene")]
        self.assertGreater(len(scenes), 5)
        for scene in scenes:
            with self.subTest(scene.name):
                picture = self.draw(scene.with_suffix(""))
                background = picture[:4]
                shown = sum(picture[i:i + 4] != background for i in range(0, len(picture), 4))
                self.assertGreater(shown, SIZE[0] * SIZE[1] / 50)

    def test_clips_move_joints_and_morph_targets(self):
        out = self.cook("out")
        for name, clip in (("SimpleSkin.gltf", "0"), ("AnimatedMorphCube.glb", "0"),
                           ("InterpolationTest.glb", "Linear Translation")):
            with self.subTest(name):
                first, same, later = (self.draw(out / name, "--clip", clip, "--time", time)
                                      for time in ("0.2", "0.2", "0.9"))
                self.assertEqual(first, same)
                self.assertGreater(difference(first, later), 0.3)

    def test_classic_and_quantised_files_show_the_same(self):
        out, small = self.cook("out"), self.cook("small", '{"vertices":"quantized"}')
        for name in ("spot.obj", "TextureCoordinateTest.gltf", "BoxVertexColors.glb", "SimpleSkin.gltf"):
            with self.subTest(name):
                exact = self.draw(out / name, "--pixels", "0")
                self.assertLess(difference(exact, self.draw(small / name, "--pixels", "0")), 0.5)
        exact = self.draw(out / "spot.obj", "--pixels", "0")
        self.assertLess(difference(exact, self.draw(out / "spot.obj", "--classic", "--pixels", "0")), 0.5)

    def test_hierarchies_of_clusters_show_the_same(self):
        """A ring with bumps. Without levels of detail only clusters can be coarser than the mesh."""
        rings, sides = 90, 40
        lines = []
        for ring in range(rings):
            for side in range(sides):
                u, v = 2 * math.pi * ring / rings, 2 * math.pi * side / sides
                wide = 1 + (0.4 + 0.03 * math.sin(7 * u) * math.cos(5 * v)) * math.cos(v)
                lines.append(f"v {wide * math.cos(u):.6f} {0.4 * math.sin(v):.6f} {wide * math.sin(u):.6f}")
        for ring in range(rings):
            for side in range(sides):
                corners = ((ring, side), (ring, side + 1), (ring + 1, side + 1), (ring + 1, side))
                lines.append("f " + " ".join(str(a % rings * sides + b % sides + 1) for a, b in corners))
        (self.folder / "ring.obj").write_text("\n".join(lines))
        pictures = {}
        for name, settings in (("plain", '{"lods":{"max":1}}'), ("clusters", '{"clusters":true,"lods":{"max":1}}')):
            done = subprocess.run([HOB, "cook", self.folder / "ring.obj", "-o", self.folder / name, "--settings", settings],
                                  capture_output=True, text=True, timeout=DEADLINE)
            self.assertEqual(done.returncode, 0, done.stderr)
            for pixels in "0", "1":
                pictures[name, pixels] = self.draw(self.folder / name / "ring.obj", "--pixels", pixels)
        self.assertEqual(pictures["plain", "0"], pictures["plain", "1"])
        self.assertEqual(pictures["plain", "0"], pictures["clusters", "0"])
        self.assertNotEqual(pictures["plain", "0"], pictures["clusters", "1"])
        self.assertLess(difference(pictures["plain", "0"], pictures["clusters", "1"]), 3)
        described = subprocess.run([HOB, "inspect", self.folder / "clusters/ring.obj.meshes"], capture_output=True, text=True,
                                   timeout=DEADLINE)
        self.assertRegex(described.stdout, r"hierarchy: \d+ clusters in \d+ groups")

    def test_blocks_of_a_picture_of_30_by_18_repeat_like_its_pixels(self):
        pictures = {}
        for encoding in "rgba8", "bc":
            settings = json.dumps({"texture": {"encoding": encoding}})
            done = subprocess.run([HOB, "cook", MODELS.parent / "materials/sides.gltf", "-o", self.folder / encoding, "--settings",
                                   settings], capture_output=True, text=True, timeout=DEADLINE)
            self.assertEqual(done.returncode, 0, done.stderr)
            pictures[encoding] = self.draw(self.folder / encoding / "sides.gltf")
        self.assertLess(difference(*pictures.values()), 0.5)

    def test_compressed_files_are_refused_with_the_remedy(self):
        out = self.cook("out", '{"encode":"meshopt"}')
        self.assertIn("encode = raw", self.draw(out / "spot.obj", code=1))


if __name__ == "__main__":
    main()
