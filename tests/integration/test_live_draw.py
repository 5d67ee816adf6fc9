"""The sample renderer that listens to a daemon: saves appear on screen, broken ones keep the last good picture."""
import json
import os
import pathlib
import queue
import shutil
import subprocess
import threading
import unittest

from hobtest import DEADLINE, HOB, MODELS, Scenario, main, png, png_pixels
from test_draw import difference

LIVE = pathlib.Path(HOB).parent / "hob_draw"
WIDTH, HEIGHT, STRIP = 160, 120, 8


class Live:
    """hob_draw as a child; a thread reads its lines."""

    def __init__(self, port, asset, picture):
        environment = dict(os.environ, ASAN_OPTIONS="detect_leaks=0", LIBGL_ALWAYS_SOFTWARE="1")
        self.picture_file = picture
        self.process = subprocess.Popen([LIVE, f"http://localhost:{port}", asset, "-o", str(picture), "--size",
                                         f"{WIDTH}x{HEIGHT}"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, env=environment)
        self.lines = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line.rstrip("\n"))
        self.lines.put(None)

    def wait(self, *words):
        """The next line with all these words; earlier lines are skipped."""
        while True:
            line = self.lines.get(timeout=DEADLINE)
            if line is None:
                raise AssertionError("hob_draw ended: " + self.process.stderr.read())
            if all(word in line for word in words):
                return line

    def settled(self, daemon, asset, word="shown"):
        """The picture when nothing is left to cook and the asset's last change is shown."""
        daemon.sync()
        rev = daemon.assets()[asset]["rev"]
        while int(self.wait("picture", word).split()[2]) < rev:
            pass
        return png_pixels(self.picture_file.read_bytes())

    def end(self):
        self.process.stdin.close()
        code = self.process.wait(timeout=DEADLINE)
        errors = self.process.stderr.read()
        self.process.stdout.close()
        self.process.stderr.close()
        assert not any(sign in errors for sign in ("ERROR", "runtime error", "ThreadSanitizer")), errors
        return code


def shown(picture):
    """The picture without the strip at its top."""
    return picture[WIDTH * 4 * STRIP:]


@unittest.skipUnless(LIVE.exists(), f"{LIVE} was not built: OpenGL ES or EGL is missing")
class LiveDraw(Scenario):
    def test_mesh_material_and_texture_change_on_save_and_survive_a_broken_file(self):
        for name in ("TextureCoordinateTest.gltf", "TextureCoordinateTest.bin", "TextureCoordinateTemplate.png"):
            shutil.copy(MODELS / "simple" / name, self.art / name)
        model = json.loads((self.art / "TextureCoordinateTest.gltf").read_text())
        picture = self.folder / "picture.png"

        def save(change):
            change(model)
            self.put("TextureCoordinateTest.gltf", json.dumps(model))

        def halve(document):
            for node in document["nodes"]:
                if "mesh" in node:
                    node["scale"] = [0.5, 0.5, 0.5]
                    break

        def redden(document):
            for material in document["materials"]:
                material.setdefault("pbrMetallicRoughness", {})["baseColorFactor"] = [1, 0.1, 0.1, 1]

        with self.serve() as daemon:
            daemon.sync()
            asset = "art/TextureCoordinateTest.gltf"
            live = Live(daemon.port, asset, picture)
            pictures = [live.settled(daemon, asset)]
            for change in (lambda: save(halve), lambda: save(redden),
                           lambda: self.put("TextureCoordinateTemplate.png", png(20, 60, 250))):
                change()
                pictures.append(live.settled(daemon, asset))
                self.assertGreater(difference(pictures[-2], pictures[-1]), 0.5)
            self.put("TextureCoordinateTest.gltf", json.dumps(model)[:200])
            self.assertIn("TextureCoordinateTest.gltf", live.wait("error"))
            broken = live.settled(daemon, asset, "kept")
            self.assertEqual(shown(broken), shown(pictures[-1]))
            self.assertGreater(difference(broken[:WIDTH * 4 * STRIP], pictures[-1][:WIDTH * 4 * STRIP]), 30)
            save(lambda document: document["nodes"][0].update(name="healed"))
            self.assertEqual(live.settled(daemon, asset), pictures[-1])
            self.assertEqual(live.end(), 0)

    def test_a_daemon_that_goes_and_comes_back_is_followed(self):
        shutil.copy(MODELS / "simple" / "BoxVertexColors.glb", self.art / "box.glb")
        picture = self.folder / "picture.png"
        with self.serve() as daemon:
            daemon.sync()
            port = daemon.port
            live = Live(port, "art/box.glb", picture)
            first = live.settled(daemon, "art/box.glb")
        with self.serve("--listen", f"127.0.0.1:{port}") as daemon:
            shutil.copy(MODELS / "simple" / "AnimatedMorphCube.glb", self.art / "box.glb")
            self.assertGreater(difference(first, live.settled(daemon, "art/box.glb")), 0.5)
            self.assertEqual(live.end(), 0)


SMALL = pathlib.Path(HOB).with_name("hob_small")


@unittest.skipUnless(SMALL.exists(), f"{SMALL} was not built: OpenGL ES or EGL is missing")
class SmallDraw(Scenario):
    """The example of fewer than 150 lines."""

    def test_it_is_small_and_shows_what_is_saved(self):
        source = pathlib.Path(__file__).parents[2] / "core/client/examples/hob_small.c"
        self.assertLess(len(source.read_text().splitlines()), 150)
        picture = self.folder / "picture.png"
        for name in ("TextureCoordinateTest.gltf", "TextureCoordinateTest.bin", "TextureCoordinateTemplate.png"):
            shutil.copy(MODELS / "simple" / name, self.art / name)
        model = self.art / "TextureCoordinateTest.gltf"
        with self.serve() as daemon:
            daemon.sync()
            small = subprocess.Popen([SMALL, f"127.0.0.1:{daemon.port}", "art/TextureCoordinateTest.gltf", str(picture)],
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                     env=dict(os.environ, ASAN_OPTIONS="detect_leaks=0", LIBGL_ALWAYS_SOFTWARE="1"))
            try:
                self.assertEqual(small.stdout.readline(), "drawn\n")
                first = png_pixels(picture.read_bytes())
                self.assertGreater(len(set(zip(*[iter(first)] * 4))), 20, "a textured model, not a plain field")
                document = json.loads(model.read_text())
                for node in document["nodes"]:
                    node["scale"] = [1, 3, 1]
                self.put(model.name, json.dumps(document))
                self.assertEqual(small.stdout.readline(), "drawn\n")
                self.assertNotEqual(png_pixels(picture.read_bytes()), first)
            finally:
                small.kill()
                small.communicate()


if __name__ == "__main__":
    main()
