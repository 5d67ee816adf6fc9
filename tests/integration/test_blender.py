"""The Blender add-on: its parts that need no Blender against a real daemon, and the add-on in a real Blender if installed."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

from hobtest import DEADLINE, HOB, PROJECT, Scenario, main, until

sys.path.insert(0, str(PROJECT / "web/blender"))
import hob_link  # noqa: E402

MODEL = PROJECT / "tests/data/models/simple/BoxVertexColors.glb"

SCRIPT = """
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, {folder!r})
import urllib.request
import addon_utils, bpy
def follow():
    with urllib.request.urlopen({url!r} + "/api/v1/assets?fields=name,stats") as answer:
        return answer.read().decode()
for name in ("io_scene_gltf2", "hob_link"):
    addon_utils.enable(name, default_set=True, handle_error=lambda error: sys.exit(repr(error)))
settings = bpy.context.preferences.addons["hob_link"].preferences
settings.url, settings.folder = {url!r}, {art!r}
bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=False)
bpy.ops.mesh.primitive_cube_add()
bpy.ops.wm.save_as_mainfile(filepath={blend!r})
bpy.ops.mesh.primitive_ico_sphere_add(subdivisions=2)
bpy.ops.wm.save_mainfile()
bpy.context.preferences.addons["hob_link"].preferences.user = "ann"
bpy.ops.mesh.primitive_cube_add()
bpy.ops.hob.live()
print("followers:", follow(), flush=True)
bpy.ops.hob.live()
bpy.context.preferences.addons["hob_link"].preferences.url = "http://127.0.0.1:1"
bpy.ops.hob.export()
"""

# The panel while a model is live: its content, from the first export to an unreachable daemon. Without a window Blender does not
# call the add-on's timer, so the script calls it.
PANEL = """
import sys, time
sys.dont_write_bytecode = True
sys.path.insert(0, {folder!r})
import addon_utils, bpy
for name in ("io_scene_gltf2", "hob_link"):
    addon_utils.enable(name, default_set=True, handle_error=lambda error: sys.exit(repr(error)))
import hob_link
settings = bpy.context.preferences.addons["hob_link"].preferences
settings.url, settings.folder, settings.user, settings.on_save = {url!r}, {art!r}, "ann", False
class Layout:
    def __init__(self):
        self.lines, self.alert, self.bad = [], False, False
    def prop(self, *_, **__):
        return self
    operator = prop
    def column(self):
        return self
    def separator(self):
        self.lines.append(" ")
    def label(self, text, icon="NONE"):
        self.bad = self.bad or self.alert
        self.lines.append(text)
def tell():
    layout = Layout()
    hob_link.HobPanel.draw(type("Panel", (), {{"layout": layout, "tell": hob_link.HobPanel.tell}})(), None)
    print("panel:", layout.bad, "".join(layout.lines), flush=True)
def edit(add):
    add()
    bpy.context.view_layer.update()
    hob_link.look_live()
    tell()
    end = time.monotonic() + {deadline}
    while hob_link.Live.busy and time.monotonic() < end:
        time.sleep(hob_link.look_live())
    tell()
bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=False)
bpy.ops.wm.save_as_mainfile(filepath={blend!r})
hob_link.Live.on = True
edit(bpy.ops.mesh.primitive_cube_add)
edit(bpy.ops.mesh.primitive_ico_sphere_add)
settings.url = "http://127.0.0.1:1"
edit(bpy.ops.mesh.primitive_cube_add)
settings.url = {url!r}
bpy.ops.hob.live()
"""


# The panel after saves: what breaks rules, from the moment at which the exported file is closed; then the .blend as the asset.
SAVES = PANEL.partition("bpy.ops.wm.read_homefile")[0] + """
put, closed = hob_link.os.replace, []
def replace(*args):
    put(*args)
    closed.append(time.monotonic())
hob_link.os.replace = replace
settings.on_save = True
bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=False)
bpy.ops.mesh.primitive_plane_add()
bpy.ops.wm.save_as_mainfile(filepath={blend!r})
tell()
print("seconds:", time.monotonic() - closed[-1], flush=True)
bpy.ops.object.select_all(action="DESELECT")
bpy.ops.hob.select(names=hob_link.Saved.findings[0]["objects"][0][1])
print("selected:", [each.name for each in bpy.context.selected_objects], flush=True)
bpy.ops.mesh.primitive_cube_add()
bpy.data.objects.remove(bpy.data.objects["Plane"])
bpy.ops.wm.save_mainfile()
tell()
"""


class Link(Scenario):
    def setUp(self):
        super().setUp()
        self.lines = []

    def test_an_export_is_cooked_and_reported(self):
        with self.serve() as daemon:
            link = hob_link.Daemon(f"127.0.0.1:{daemon.port}")
            (self.art / "props").mkdir()
            path = hob_link.export_into(str(self.art / "props"), "box", lambda path: shutil.copy(MODEL, path))
            self.assertEqual(link.asset_of(path), "art/props/box.glb")
            self.assertRegex(link.cooked("art/props/box.glb"), r"^art/props/box\.glb: 12 triangles, 1 mesh, \d+ KB, cooked in \d+ ms")
            self.assertEqual([file.name for file in (self.art / "props").iterdir()], ["box.glb"])
            hob_link.export_into(str(self.art / "props"), "box", lambda path: pathlib.Path(path).write_bytes(b"glTF broken"))
            with self.assertRaises(hob_link.Trouble) as failed:
                link.cooked("art/props/box.glb")
            self.assertRegex(str(failed.exception), r"^art/props/box\.glb: .{10,}")
            self.assertEqual(list(daemon.assets()), ["art/props/box.glb"])

    def test_what_is_not_saved_is_shown_to_those_who_follow_the_user(self):
        with self.serve("--live") as daemon:
            link = hob_link.Daemon(f"127.0.0.1:{daemon.port}")
            self.put("box.glb", MODEL.read_bytes())
            daemon.sync()
            saved = daemon.get("/a/art/box.glb").body
            other = (PROJECT / "tests/data/models/simple/AnimatedMorphCube.glb").read_bytes()
            self.assertRegex(link.show("ann", "art/box.glb", other), r"^live/ann/art/box\.glb\.glb: 12 triangles, 1 mesh, ")
            self.assertNotEqual(daemon.get("/a/art/box.glb?live=ann").body, saved)
            self.assertEqual(daemon.get("/a/art/box.glb").body, saved)
            with self.assertRaises(hob_link.Trouble):
                link.show("ann", "art/box.glb", b"no model")
            link.hide("ann")
            daemon.sync()
            self.assertEqual(daemon.get("/a/art/box.glb?live=ann").body, saved)
        self.assertRegex(hob_link.user_name(), r"^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,63}$")

    def test_what_is_wrong_is_said_with_what_to_do(self):
        def refused(call, *arguments):
            with self.assertRaises(hob_link.Trouble) as trouble:
                call(*arguments)
            return str(trouble.exception)

        with self.serve() as daemon:
            link = hob_link.Daemon(f"http://127.0.0.1:{daemon.port}")
            self.assertRegex(refused(link.asset_of, "/elsewhere/box.glb"), "no folder that Hob watches .*/art.*preferences")
            self.assertIn("patterns", refused(link.cooked, "art/none.glb"))
        self.assertRegex(refused(link.asset_of, str(self.art / "a.glb")), "cannot be reached")
        self.assertIn("preferences", refused(hob_link.export_into, str(self.folder / "none"), "a", print))
        self.assertIn("no file", refused(hob_link.export_into, str(self.art), "a", lambda path: None))
        self.assertEqual(list(self.art.iterdir()), [])

    def test_a_token_is_sent_and_a_missing_one_is_told(self):
        tokens = str(self.folder / "tokens")
        made = subprocess.run([HOB, "token", "create", "blender", "--token-file", tokens], capture_output=True, text=True, check=True)
        secret = made.stdout.split()[-1]
        with self.serve("--token-file", tokens, wait_ready=False) as daemon:
            daemon.wait_banner()
            url = f"http://127.0.0.1:{daemon.port}"
            path = hob_link.export_into(str(self.art), "box", lambda path: shutil.copy(MODEL, path))
            link = hob_link.Daemon(url, secret)
            self.assertIn("12 triangles", link.cooked(link.asset_of(path)))
            with self.assertRaises(hob_link.Trouble) as trouble:
                hob_link.Daemon(url).asset_of(path)
            self.assertIn("token", str(trouble.exception))


@unittest.skipUnless(shutil.which("blender"), "there is no blender (apt-get install blender python3-numpy)")
class InBlender(Scenario):
    def drive(self, daemon, script):
        """Blender's output while it runs the script."""
        path = self.folder / "drive.py"
        path.write_text(script.format(folder=str(PROJECT / "web/blender"), url=f"http://127.0.0.1:{daemon.port}", art=str(self.art),
                                      blend=str(self.folder / "thing.blend"), deadline=DEADLINE))
        # Blender takes the libraries of the first Python in its path.
        done = subprocess.run([shutil.which("blender"), "--background", "--factory-startup", "--python-exit-code", "3", "--python", str(path)],
                              capture_output=True, text=True, timeout=DEADLINE, check=False,
                              env={**os.environ, "PATH": "/usr/bin:/bin", "BLENDER_USER_CONFIG": str(self.folder), "BLENDER_USER_SCRIPTS": str(self.folder)})
        if "needs python3-numpy" in done.stdout:
            self.skipTest("this blender cannot export glTF: apt-get install python3-numpy")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_the_panel_tells_progress_result_and_error(self):
        with self.serve("--live") as daemon:
            said = re.findall("^panel: (.*)$", self.drive(daemon, PANEL), re.M)
            busy, name = "False exporting and cooking ...", r"False live/ann/art/thing\.glb\.glb: "
            self.assertEqual(said[::2], [busy] * 3)
            for line, wanted in zip(said[1::2], (name + "12 triangles, 1 mesh, ", name + "92 triangles, 2 meshes, ",
                                                 r"True Hob at http://127\.0\.0\.1:1 cannot be reached ")):
                self.assertRegex(line, "^" + wanted)
            until(lambda: list(daemon.assets()) == [], "what was shown live is gone")

    def test_the_panel_lists_what_breaks_rules_within_a_second_of_the_export(self):
        self.put("cook.json", '{"rules": {"mesh.open": "warning", "scene.size": {"max": 1, "level": "info"}, "name.node": {"match": "^P", "level": "error"}}}')
        with self.serve() as daemon:
            told = self.drive(daemon, SAVES)
            first, second = re.findall("^panel: (.*)$", told, re.M)
            self.assertRegex(first, r"^False +art/thing\.glb: 2 triangles, .*, 1 warning ?mesh\.open: mesh 'Plane'; fill the holes.*scene\.size: the longest side")
            self.assertNotIn("mesh.open", second)
            self.assertRegex(second, "^True +art/thing.glb: names of nodes that do not match: 1 in node 'Cube'.*name.node: every node has a name of the given pattern; rename")
            self.assertEqual(re.search("^selected: (.*)$", told, re.M)[1], "['Plane']")
            self.assertLess(float(re.search("^seconds: (.*)$", told, re.M)[1]), 1)

    def test_two_saves_and_what_is_on_screen_are_cooked_and_a_daemon_that_is_away_is_told(self):
        with self.serve("--live") as daemon:
            told = self.drive(daemon, SCRIPT)
            said = re.findall("hob: .*", told)
            self.assertEqual(len(said), 4, told)
            self.assertRegex(said[0], r"^hob: cooked art/thing\.glb: 12 triangles, 1 mesh")
            self.assertRegex(said[1], r"^hob: cooked art/thing\.glb: 92 triangles, 2 meshes")
            self.assertRegex(said[2], r"^hob: cooked live/ann/art/thing\.glb\.glb: 104 triangles, 3 meshes")
            self.assertIn("live/ann/art/thing.glb.glb", re.search("followers: .*", told)[0])
            daemon.sync()
            self.assertEqual(list(daemon.assets()), ["art/thing.glb"])
            self.assertRegex(said[3], r"^hob: failed: Hob at http://127\.0\.0\.1:1 cannot be reached")
            self.assertEqual(daemon.assets()["art/thing.glb"]["stats"]["triangles"], 104)


if __name__ == "__main__":
    main()
