"""From a save in real Blender to the picture: the sample renderer shows each save, and keeps the last good picture. Also unsaved
edits."""
import os
import re
import subprocess
import threading
import time
import unittest

from hobtest import DEADLINE, PROJECT, main, until
from test_blend import HAS_BLENDER, BlenderScenario
from test_draw import difference
from test_live_draw import LIVE, Live, shown

SCENE = """
bpy.ops.mesh.primitive_cube_add()
cube = bpy.context.object
material = bpy.data.materials.new("Paint")
material.use_nodes = True
material.node_tree.nodes["Principled BSDF"].inputs["Base Color"].default_value = {color}
cube.data.materials.append(material)
cube.scale = {scale}
bpy.ops.object.light_add(type="SUN")
"""
EXPORT = """
import time
begin = time.monotonic()
bpy.ops.wm.open_mainfile(filepath={path!r})
bpy.ops.export_scene.gltf(filepath={out!r})
print("export took", time.monotonic() - begin)
"""
# Uses the add-on: saves, publishes an unsaved edit, and ends that after a line on stdin.
ADD_ON = """
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, {folder!r})
import addon_utils, bpy
for name in ("io_scene_gltf2", "hob_link"):
    addon_utils.enable(name, default_set=True, handle_error=lambda error: sys.exit(repr(error)))
settings = bpy.context.preferences.addons["hob_link"].preferences
settings.url, settings.folder, settings.user = {url!r}, {art!r}, "ann"
bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=False)
""" + SCENE + """
bpy.ops.wm.save_as_mainfile(filepath={blend!r})
cube.scale = (1, 1, 0.2)
bpy.ops.hob.live()
input()
bpy.ops.hob.live()
"""


@unittest.skipUnless(HAS_BLENDER and LIVE.exists(), "there is no blender (apt-get install blender python3-numpy), or no OpenGL ES")
class BlendDraw(BlenderScenario):
    def scene(self, color, scale):
        self.blender(SCENE.format(color=color, scale=scale) + self.save("scene.blend"))

    def test_a_save_in_blender_is_on_screen_and_a_broken_one_leaves_the_picture(self):
        self.scene((0.8, 0.1, 0.1, 1), (1, 1, 1))
        with self.serve() as daemon:
            self.asset(daemon, "scene.blend")
            live = Live(daemon.port, "art/scene.blend", self.folder / "picture.png")
            pictures = [live.settled(daemon, "art/scene.blend")]
            for color, scale in (((0.1, 0.1, 0.8, 1), (1, 1, 1)), ((0.1, 0.1, 0.8, 1), (1, 1, 0.2))):
                rev = daemon.assets()["art/scene.blend"]["rev"]
                self.scene(color, scale)
                until(lambda last=rev: daemon.assets()["art/scene.blend"]["rev"] > last, "the save is cooked")
                pictures.append(live.settled(daemon, "art/scene.blend"))
                self.assertGreater(difference(pictures[-2], pictures[-1]), 0.5)
            whole = (self.art / "scene.blend").read_bytes()
            self.put("scene.blend", whole[:3000])
            self.assertIn("scene.blend", live.wait("error"))
            broken = live.settled(daemon, "art/scene.blend", "kept")
            self.assertEqual(shown(broken), shown(pictures[-1]))
            self.put("scene.blend", whole)
            self.assertEqual(live.settled(daemon, "art/scene.blend"), pictures[-1])
            self.assertEqual(live.end(), 0)

    def test_what_is_on_screen_in_blender_is_drawn_without_a_save(self):
        with self.serve("--live") as daemon:
            script = self.folder / "drive.py"
            script.write_text(ADD_ON.format(folder=str(PROJECT / "web/blender"), url=f"http://127.0.0.1:{daemon.port}", art=str(self.art),
                                            blend=str(self.folder / "thing.blend"), color=(0.8, 0.1, 0.1, 1), scale=(1, 1, 1)))
            home = {"PATH": "/usr/bin:/bin", "HOME": str(self.folder)}
            with subprocess.Popen(["blender", "--background", "--factory-startup", "-noaudio", "--python-exit-code", "3", "--python", str(script)],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=home) as blender:
                patience = threading.Timer(DEADLINE, blender.kill)
                patience.start()
                self.addCleanup(patience.cancel)
                said = []
                for line in blender.stdout:
                    said.append(line)
                    if re.match("hob: (failed|cooked live)", line):
                        break
                self.assertRegex(said[-1], r"^hob: cooked live/ann/art/thing\.glb\.glb: 12 triangles", "".join(said))
                saved = Live(daemon.port, "art/thing.glb", self.folder / "saved.png")
                shown_live = Live(daemon.port, "live/ann/art/thing.glb.glb", self.folder / "live.png")
                pictures = [saved.settled(daemon, "art/thing.glb"), shown_live.settled(daemon, "live/ann/art/thing.glb.glb")]
                self.assertGreater(difference(*pictures), 0.5)
                blender.communicate("\n", timeout=DEADLINE)
            self.assertEqual(blender.returncode, 0)
            until(lambda: list(daemon.assets()) == ["art/thing.glb"], "what was shown live is gone")
            self.assertEqual((saved.end(), shown_live.end()), (0, 0))

    def test_times_beside_blenders_own_export(self):
        """Prints the time from a save to a blob, and of a Blender process that exports the same file. No limit: for
        information."""
        self.scene((0.8, 0.1, 0.1, 1), (1, 1, 1))
        path, out = str(self.art / "scene.blend"), str(self.folder / "export.glb")
        script = self.folder / "export.py"
        script.write_text("import bpy\n" + EXPORT.format(path=path, out=out))
        begin = time.monotonic()
        done = subprocess.run(["blender", "--background", "--factory-startup", "-noaudio", "--python-exit-code", "3", "--python", str(script)],
                              capture_output=True, text=True, check=True, env={"PATH": "/usr/bin:/bin", "HOME": str(self.folder)})
        alone = time.monotonic() - begin
        inside = float(next(line for line in done.stdout.splitlines() if line.startswith("export took")).split()[-1])
        self.assertGreater(os.path.getsize(out), 0)
        with self.serve() as daemon:
            rev = self.asset(daemon, "scene.blend")["rev"]
            begin = time.monotonic()
            os.utime(path)
            with open(path, "ab") as file:
                file.write(bytes(16))
            until(lambda: daemon.assets()["art/scene.blend"]["rev"] > rev, "the save is cooked")
            cooked = time.monotonic() - begin
        print(f"from the save to the blob {cooked:.2f} s; a process of Blender that exports it {alone:.2f} s, of which {inside:.2f} s are the export")


if __name__ == "__main__":
    main()
