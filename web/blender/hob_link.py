"""Blender add-on: save, and the model is cooked. Exports glTF into a folder that Hob watches and reports the result.

Edit > Preferences > Add-ons > Install, select this file, then set the daemon's address and the folder. Every save of the .blend
then exports NAME.glb there; File > Export > Hob does it at once. The result is in the status bar, a failure in a box as well.
In `blender --background` it is printed.

The panel "Hob" of the 3D view (N) lists the rules that the saved model breaks, and selects their objects. It also shows what is on
screen without saving: with "Live" on, each pause in the work is exported and
given to the daemon (hob serve --live) as that of the user who is named there. Renderers that follow the user show it, nobody else
does; switching it off, closing the file or Blender takes it away.

The first half needs no Blender and is what the tests drive; the second half is the add-on.
"""
import atexit
import getpass
import hashlib
import importlib.util
import json
import os
import shutil
import tempfile
import threading
import urllib.error
import urllib.parse
import urllib.request

bl_info = {
    "name": "Hob: cook on save",
    "author": "Hob",
    "version": (0, 3, 0),
    "blender": (3, 0, 0),
    "location": "File > Export > Hob; on every save",
    "description": "Exports glTF into a folder that a Hob daemon watches and reports the cook's result",
    "category": "Import-Export",
}

COOK_SECONDS = 120


class Trouble(Exception):
    """An error for the person who saved."""


class Daemon:
    def __init__(self, url, token=""):
        self.url, self.token = (url if "://" in url else "http://" + url).rstrip("/"), token

    def ask(self, target, body=None, timeout=10, method=None):
        """body: bytes unchanged, anything else as JSON. Returns the answer's JSON, or None if it is empty."""
        plain = isinstance(body, bytes)
        kind = "application/octet-stream" if plain else "application/json"
        request = urllib.request.Request(self.url + target, data=body if plain or body is None else json.dumps(body).encode(),
                                         headers={"Content-Type": kind} if body is not None else {}, method=method)
        if self.token:
            request.add_header("Authorization", "Bearer " + self.token)
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                text = answer.read()
                return json.loads(text) if text else None
        except urllib.error.HTTPError as error:
            try:
                problem = json.load(error)
            except ValueError:
                problem = {}
            words = [problem.get("detail") or f"Hob answered {error.code}", problem.get("hint")]
            raise Trouble(": ".join(filter(None, words))) from error
        except (OSError, ValueError) as error:
            reason = getattr(error, "reason", error)
            raise Trouble(f"Hob at {self.url} cannot be reached ({reason})") from error

    def asset_of(self, path):
        """The name of the asset for a file: root/path."""
        roots = self.ask("/api/v1/roots")["items"]
        path = os.path.realpath(path)
        inside = [root for root in roots if path.startswith(os.path.realpath(root["path"]) + os.sep)]
        if not inside:
            watched = ", ".join(root["path"] for root in roots)
            raise Trouble(f"{path} is in no folder that Hob watches ({watched}): set the folder in the add-on's preferences")
        root = max(inside, key=lambda each: len(each["path"]))
        return root["name"] + "/" + os.path.relpath(path, os.path.realpath(root["path"])).replace(os.sep, "/")

    def cooked(self, name, timeout=COOK_SECONDS):
        """Waits until everything saved in its watched folder is cooked. Returns a line about this asset, or raises Trouble."""
        return self.result(name, timeout)

    def findings(self, name):
        """The broken rules of the newest version: [{rule, level, text, objects: [(kind, name)]}], errors first."""
        query = urllib.parse.urlencode({"path": name})
        rules = self.ask("/api/v1/findings?" + query)["rules"]
        if not rules:
            return []
        try:
            listed = self.ask(f"/a/{urllib.parse.quote(name)}?output=report").get("findings", [])
        except Trouble:  # never cooked to the end
            listed = []
        found = []
        for rule in sorted(rules, key=lambda each: ("error", "warning", "info").index(each["level"])):
            objects = [(each["kind"], each["name"]) for each in listed if each["rule"] == rule["rule"] and each["name"]]
            where = ", ".join(f"{kind} '{each}'" for kind, each in objects[:3]) + (f" and {len(objects) - 3} more" if len(objects) > 3 else "")
            found.append({"rule": rule["rule"], "level": rule["level"], "objects": objects,
                          "text": f"{rule['rule']}: {where or rule['meaning']}; {rule['mend']}"})
        return found

    def show(self, user, name, glb, timeout=COOK_SECONDS):
        """The live model of `user` replaces the asset until it is saved. Returns a line about its cook, or raises Trouble."""
        digest = hashlib.sha256(glb).hexdigest()
        self.ask("/blobs/" + digest, glb, 60, "PUT")
        told = self.ask(f"/api/v1/live/{urllib.parse.quote(user, '')}/{urllib.parse.quote(name)}", {"sha256": digest}, method="PUT")
        return self.result(told["name"], timeout)

    def hide(self, user):
        self.ask(f"/api/v1/live/{urllib.parse.quote(user, '')}", method="DELETE")

    def result(self, name, timeout):
        self.ask("/api/v1/sync", {"timeout_ms": int(timeout * 1000), "roots": [name.partition("/")[0]]}, timeout + 10)
        query = urllib.parse.urlencode({"path": name, "fields": "name,state,stats,bytes,cook_ms,warnings,error"})
        asset = next((item for item in self.ask("/api/v1/assets?" + query)["items"] if item["name"] == name), None)
        if asset is None:
            raise Trouble(f"Hob does not cook {name}: the folder's include and exclude patterns leave it out")
        error = asset["error"]
        if error:
            raise Trouble(": ".join(filter(None, [name, error["message"], error.get("hint")])))
        stats, size = asset["stats"], asset["bytes"]["cooked"]
        line = f"{name}: {stats['triangles']:,} triangles, {stats['meshes']} mesh{'' if stats['meshes'] == 1 else 'es'}, {size / 1000:,.0f} KB, cooked in {asset['cook_ms']:.0f} ms"
        return line + (f", {asset['warnings']} warning{'' if asset['warnings'] == 1 else 's'}" if asset["warnings"] else "")


def export_into(folder, name, export):
    """Calls export(path of a .glb), moves the complete result to folder/name.glb and returns that path."""
    if not os.path.isdir(folder):
        raise Trouble(f"there is no folder {folder}: set it in the add-on's preferences")
    hidden = tempfile.mkdtemp(prefix=".hob-export-", dir=folder)
    try:
        made, target = os.path.join(hidden, name + ".glb"), os.path.join(folder, name + ".glb")
        export(made)
        if not os.path.exists(made):
            raise Trouble("the export wrote no file")
        os.replace(made, target)
        return target
    finally:
        shutil.rmtree(hidden, ignore_errors=True)


def user_name():
    """The user of this machine, as /api/v1/live takes one."""
    try:
        name = getpass.getuser()
    except (ImportError, KeyError, OSError):
        name = ""
    name = "".join(c if c.isascii() and (c.isalnum() or c in "-_.") else "-" for c in name).lstrip(".")
    return name[:64] or "artist"


try:
    import bpy
    from bpy.app.handlers import persistent
except ImportError:
    bpy = None

if bpy:
    class HobPreferences(bpy.types.AddonPreferences):
        bl_idname = __name__
        url: bpy.props.StringProperty(name="Daemon", default="http://127.0.0.1:7780", description="Address of hob serve: HOST:PORT, or with http:// or https://")
        token: bpy.props.StringProperty(name="Token", subtype="PASSWORD", description="Where the daemon asks for one: hob token create")
        folder: bpy.props.StringProperty(name="Export to", subtype="DIR_PATH", description="A folder that Hob watches; empty: where the .blend is")
        on_save: bpy.props.BoolProperty(name="Export on every save", default=True)
        apply_modifiers: bpy.props.BoolProperty(name="Apply modifiers", default=True)
        user: bpy.props.StringProperty(name="Live as", default=user_name(), description="Renderers that ask with live=NAME show what is on screen here")

        def draw(self, _context):
            for name in ("url", "token", "folder", "on_save", "apply_modifiers", "user"):
                self.layout.prop(self, name)

    def say(text, failed=False):
        if bpy.app.background:
            print("hob:", "failed:" if failed else "cooked", text, flush=True)
            return
        for window in bpy.context.window_manager.windows:
            window.workspace.status_text_set("Hob: " + text)
        if failed:
            lines = [text[at:at + 100] for at in range(0, len(text), 100)]
            bpy.context.window_manager.popup_menu(lambda menu, _: [menu.layout.label(text=line) for line in lines], title="Hob", icon="ERROR")
        else:
            bpy.app.timers.register(clear, first_interval=8)

    def clear():
        for window in bpy.context.window_manager.windows:
            window.workspace.status_text_set(None)

    def gltf(path):
        settings = bpy.context.preferences.addons[__name__].preferences
        try:
            bpy.ops.export_scene.gltf(filepath=path, export_format="GLB", export_apply=settings.apply_modifiers, check_existing=False)
        except AttributeError as error:
            raise Trouble("the add-on 'glTF 2.0 format' is off: enable it in the preferences") from error
        except RuntimeError as error:
            last = [line for line in str(error).strip().splitlines() if not line.startswith("Location:")][-1]
            numpy = "" if importlib.util.find_spec("numpy") else "; Blender's exporter needs python3-numpy"
            raise Trouble(f"the export failed: {last.strip()}{numpy}") from error

    class Saved:
        """What the last save became: its line, and the rules that it breaks."""
        says, failed, busy, findings = "", False, False, []

    def wait_for_cook(daemon, path, exported):
        """(line, failed, findings). A .blend that is not exported may be outside what Hob watches."""
        name = None
        try:
            name = daemon.asset_of(path)
            return daemon.cooked(name), False, daemon.findings(name)
        except Trouble as trouble:
            if name is None and not exported:
                return "", False, []
            if "cannot be reached" in str(trouble):
                return f"{trouble}; the file is exported and will be cooked", True, []
            try:
                return str(trouble), True, daemon.findings(name) if name else []
            except Trouble:
                return str(trouble), True, []

    def follow(daemon, path, exported=True):
        """Waits for the cook of a saved file, in the background except in background mode."""
        def take(line, failed, findings):
            Saved.says, Saved.failed, Saved.findings, Saved.busy = line, failed, findings, False
            redraw()
            if exported:
                say(line, failed)

        Saved.busy = True
        if bpy.app.background:
            take(*wait_for_cook(daemon, path, exported))
            return
        if exported:
            say("cooking " + os.path.basename(path))
        redraw()
        answers = []
        threading.Thread(target=lambda: answers.append(wait_for_cook(daemon, path, exported)), daemon=True).start()

        # Blender is touched by its own thread only.
        def look():
            return take(*answers[0]) if answers else 0.1

        bpy.app.timers.register(look, first_interval=0.1)

    def target():
        """The folder and the name of the export."""
        settings = bpy.context.preferences.addons[__name__].preferences
        blend = bpy.data.filepath
        if not blend:
            raise Trouble("save the .blend first: its name becomes the model's")
        folder = bpy.path.abspath(settings.folder) if settings.folder else os.path.dirname(blend)
        return folder, os.path.splitext(os.path.basename(blend))[0]

    class Live:
        """The live model, while it is switched on. Only Blender's own thread uses Blender; another one talks to the daemon."""
        on, dirty, busy, exporting = False, False, False, False
        given = None  # digest of the model that the daemon has
        says, failed, shown = "", False, False
        answers = []

    def show_now():
        """Exports the current scene. Returns a call that sends it to the daemon and returns (line, failed)."""
        settings = bpy.context.preferences.addons[__name__].preferences
        folder, name = target()
        daemon, user = Daemon(settings.url, settings.token), settings.user
        with tempfile.TemporaryDirectory(prefix="hob-live-") as hidden:
            made = os.path.join(hidden, name + ".glb")
            Live.exporting = True
            try:
                gltf(made)
            finally:
                Live.exporting = False
            with open(made, "rb") as file:
                glb = file.read()
        path = os.path.join(folder, name + ".glb")

        digest = hashlib.sha256(glb).hexdigest()
        if digest == Live.given:
            return lambda: (Live.says, Live.failed)

        def give():
            try:
                line = daemon.show(user, daemon.asset_of(path), glb)
                Live.given = digest
                return line, False
            except Trouble as trouble:
                return str(trouble), True
        return give

    def look_live():
        """Every quarter of a second while Live is on; the seconds until the next call, or None."""
        if Live.answers:
            (Live.says, Live.failed), Live.busy = Live.answers.pop(), False
            redraw()
        if not Live.on:
            return None
        if Live.dirty and not Live.busy and bpy.context.mode != "SCULPT":
            Live.dirty, Live.busy, Live.shown = False, True, True
            try:
                give = show_now()
                threading.Thread(target=lambda: Live.answers.append(give()), daemon=True).start()
            except Trouble as trouble:
                Live.says, Live.failed, Live.busy = str(trouble), True, False
            redraw()
        return 0.25

    def redraw():
        for window in bpy.context.window_manager.windows:
            for area in window.screen.areas:
                if area.type == "VIEW_3D":
                    area.tag_redraw()

    def end_live():
        Live.on, Live.given = False, None
        if not Live.shown:
            return
        Live.shown = False
        settings = bpy.context.preferences.addons[__name__].preferences
        try:
            Daemon(settings.url, settings.token).hide(settings.user)
            Live.says, Live.failed = "", False
        except Trouble as trouble:
            Live.says, Live.failed = str(trouble), True

    @persistent
    def on_change(_scene, depsgraph):
        # An export evaluates the scene, which is no change.
        Live.dirty = Live.dirty or (Live.on and len(depsgraph.updates) > 0 and not Live.exporting)

    @persistent
    def on_load(*_):
        end_live()

    class HobLive(bpy.types.Operator):
        """Show what is on screen to the renderers that follow you, without saving"""
        bl_idname = "hob.live"
        bl_label = "Live"

        def execute(self, _context):
            if Live.on:
                end_live()
                return {"FINISHED"}
            Live.on, Live.dirty = True, True
            if bpy.app.background:
                Live.dirty, Live.shown = False, True
                try:
                    say(*show_now()())
                except Trouble as trouble:
                    say(str(trouble), True)
            elif not bpy.app.timers.is_registered(look_live):
                bpy.app.timers.register(look_live, first_interval=0.1)
            return {"FINISHED"}

    class HobPanel(bpy.types.Panel):
        bl_label = "Hob"
        bl_idname = "VIEW3D_PT_hob"
        bl_space_type = "VIEW_3D"
        bl_region_type = "UI"
        bl_category = "Hob"

        def draw(self, _context):
            settings = bpy.context.preferences.addons[__name__].preferences
            self.layout.prop(settings, "user")
            self.layout.operator(HobLive.bl_idname, text="Stop" if Live.on else "Live", icon="PAUSE" if Live.on else "PLAY", depress=Live.on)
            self.tell("exporting and cooking ..." if Live.busy else Live.says, Live.failed)
            if Saved.busy or Saved.says:
                self.layout.separator()
                self.tell("cooking the save ..." if Saved.busy else Saved.says, Saved.failed)
            for finding in Saved.findings:
                self.tell(finding["text"], finding["level"] == "error", finding["level"])
                if finding["objects"]:
                    self.layout.operator(HobSelect.bl_idname, text="Select").names = "\n".join(name for _, name in finding["objects"])

        def tell(self, text, failed, level=""):
            column = self.layout.column()
            column.alert = failed
            for at in range(0, len(text), 40):
                icon = {"error": "ERROR", "warning": "ERROR", "info": "INFO"}.get(level, "NONE") if at == 0 else "NONE"
                column.label(text=text[at:at + 40], icon=icon)

    class HobSelect(bpy.types.Operator):
        """Select the objects that break this rule"""
        bl_idname = "hob.select"
        bl_label = "Select"
        names: bpy.props.StringProperty()

        def execute(self, context):
            wanted = {name.rpartition("/")[2] for name in self.names.split("\n")}
            for thing in context.view_layer.objects:
                own = {thing.name, thing.data.name if thing.data else "", *(slot.material.name for slot in thing.material_slots if slot.material)}
                thing.select_set(bool(own & wanted))
            return {"FINISHED"}

    def publish():
        settings = bpy.context.preferences.addons[__name__].preferences
        follow(Daemon(settings.url, settings.token), export_into(*target(), gltf))

    def try_publish():
        try:
            publish()
        except Trouble as trouble:
            say(str(trouble), True)

    @persistent
    def on_save(*_):
        settings = bpy.context.preferences.addons[__name__].preferences
        if settings.on_save:
            try_publish()
        else:  # Hob may cook the .blend itself
            follow(Daemon(settings.url, settings.token), bpy.data.filepath, exported=False)

    class HobExport(bpy.types.Operator):
        """Export the scene into the watched folder and report what Hob makes of it"""
        bl_idname = "hob.export"
        bl_label = "Hob"

        def execute(self, _context):
            try_publish()
            return {"FINISHED"}

    def menu(self, _context):
        self.layout.operator(HobExport.bl_idname, text="Hob (.glb, cooked)")

    def register():
        for each in (HobPreferences, HobExport, HobLive, HobSelect, HobPanel):
            bpy.utils.register_class(each)
        bpy.app.handlers.depsgraph_update_post.append(on_change)
        bpy.app.handlers.load_pre.append(on_load)
        atexit.register(end_live)
        bpy.types.TOPBAR_MT_file_export.append(menu)
        bpy.app.handlers.save_post.append(on_save)

    def unregister():
        end_live()
        atexit.unregister(end_live)
        bpy.app.handlers.load_pre.remove(on_load)
        bpy.app.handlers.depsgraph_update_post.remove(on_change)
        bpy.app.handlers.save_post.remove(on_save)
        bpy.types.TOPBAR_MT_file_export.remove(menu)
        for each in (HobPanel, HobSelect, HobLive, HobExport, HobPreferences):
            bpy.utils.unregister_class(each)
