"""Runs inside Blender, started by hob-exporter: opens a .blend, exports it as binary glTF, and says which files it used.

After "--": the .blend, the watched folder, the private folder, apply_modifiers (0 or 1), actions (all, active or none) and the
collection (empty: the whole scene). The answer is the file "result" of the private folder, see server/worker/editor.h.
"""
import json
import os
import struct
import sys
import traceback

import bpy

SOURCE, ROOT, PRIVATE, MODIFIERS, ACTIONS, COLLECTION = sys.argv[sys.argv.index("--") + 1:]
INSTANCES_MOST, POSES_MOST = 20000, 200000
PLACE_PATHS = {"location", "rotation_euler", "rotation_quaternion", "rotation_axis_angle", "scale"}
notes = []


def note(code, text, *level):
    """A warning, or "info"."""
    notes.append([code, text, *level])


def version_of(path):
    try:
        at = os.stat(path)
    except OSError:
        return None
    return [at.st_size, at.st_ino, at.st_mtime_ns, at.st_ctime_ns]


def used_files():
    """[path below the watched folder, version] of each library and picture; null where there is none; what lies outside is told."""
    found = {}
    for path in bpy.utils.blend_paths(absolute=True, packed=False, local=False):
        path = os.path.normpath(path)
        inside = os.path.relpath(path, ROOT)
        if inside.startswith(".."):
            note("blender.outside", f"'{os.path.basename(path)}' lies outside the watched folder and is not read; move it inside, or pack it")
        elif not os.path.isdir(path):
            found[inside] = version_of(path)
    for path in (path for path, version in found.items() if version is None):
        note("blender.missing", f"'{path}' is missing, which the .blend uses")
    return sorted(found.items())


def plain_modifiers(thing):
    return [modifier for modifier in thing.modifiers if modifier.type != "ARMATURE" and modifier.show_viewport]


def apply_beside_shape_keys():
    """The exporter applies modifiers to all meshes or none, and drops the shape keys of all. Here those with shape keys keep them."""
    for thing in [thing for thing in bpy.context.scene.objects if thing.type == "MESH" and plain_modifiers(thing)]:
        if thing.data.shape_keys:
            note("blender.modifiers", f"the modifiers of '{thing.name}' are not applied, because it has shape keys")
            continue
        if thing.library:
            note("blender.modifiers", f"the modifiers of '{thing.name}' are not applied, because it is linked and other meshes have shape keys")
            continue
        skinning = [modifier for modifier in thing.modifiers if modifier.type == "ARMATURE" and modifier.show_viewport]
        for modifier in skinning:
            modifier.show_viewport = False
        graph = bpy.context.evaluated_depsgraph_get()
        thing.data = bpy.data.meshes.new_from_object(thing.evaluated_get(graph), preserve_all_data_layers=True, depsgraph=graph)
        for modifier in plain_modifiers(thing):
            thing.modifiers.remove(modifier)
        for modifier in skinning:
            modifier.show_viewport = True


def choose_collection():
    def find(layer):
        return layer if layer.name == COLLECTION else next(filter(None, map(find, layer.children)), None)

    layer = find(bpy.context.view_layer.layer_collection)
    if layer is None:
        raise ValueError(f"the scene has no collection '{COLLECTION}', which the setting blender.collection asks for")
    bpy.context.view_layer.active_layer_collection = layer


def hidden_objects():
    """Names of objects that are hidden in the view or in renders."""
    hidden = [thing.name for thing in bpy.context.scene.objects
              if thing.type in {"MESH", "CURVE", "SURFACE", "META", "FONT"} and (thing.hide_render or not thing.visible_get())]
    if hidden:
        note("blender.hidden", f"{len(hidden)} objects are hidden in the view or in renders ('{hidden[0]}'...) and stay hidden", "info")
    return hidden


def hide(model, names):
    """The exporter writes hidden objects like others. Their nodes get KHR_node_visibility, which hides children as well: of a node that has some,
    the mesh moves to a new child, and the clips of its shape keys with it."""
    size = struct.unpack_from("<I", model, 12)[0]
    scene = json.loads(model[20:20 + size])
    nodes, hidden = scene.get("nodes", []), set(names)
    for index, node in [pair for pair in enumerate(nodes) if pair[1].get("name") in hidden and "mesh" in pair[1]]:
        if "children" in node:
            inner = {"name": node["name"], **{key: node.pop(key) for key in ("mesh", "skin", "weights") if key in node}}
            node["children"].append(len(nodes))
            for channel in [channel for clip in scene.get("animations", []) for channel in clip["channels"]]:
                if channel["target"].get("node") == index and channel["target"]["path"] == "weights":
                    channel["target"]["node"] = len(nodes)
            nodes.append(inner)
            node = inner
        node.setdefault("extensions", {})["KHR_node_visibility"] = {"visible": False}
    scene["extensionsUsed"] = sorted({*scene.get("extensionsUsed", []), "KHR_node_visibility"})
    text = json.dumps(scene).encode()
    text += b" " * (-len(text) % 4)
    rest = model[20 + size:]
    return struct.pack("<4sIII4s", b"glTF", 2, 20 + len(text) + len(rest), len(text), b"JSON") + text + rest


def first_tiles():
    """The exporter fails on UDIM pictures; their first tile takes their place."""
    for image in [image for image in bpy.data.images if image.source == "TILED"]:
        tiles = [tile.number for tile in image.tiles]
        path = image.filepath_raw.replace("<UDIM>", str(tiles[0]))
        note("blender.udim", f"picture '{image.name}' has {len(tiles)} UDIM tiles; {tiles[0]} is used for all texture coordinates")
        image.source = "FILE"
        image.filepath = path


def left_out():
    """Notes what the exporter leaves out in silence."""
    def said(code, things, text):
        if things:
            more = f" and {len(things) - 1} more" if len(things) > 1 else ""
            note(code, f"'{things[0]}'{more}: {text}")

    objects = [thing for thing in bpy.context.scene.objects if thing.visible_get()]
    said("blender.hair", [thing.name for thing in objects if thing.type == "CURVES" or any(
        system.settings.type == "HAIR" and system.settings.render_type == "PATH" for system in thing.particle_systems)],
        "hair is left out; convert it to a mesh")
    said("blender.light", [thing.name for thing in objects if thing.type == "LIGHT" and thing.data.type == "AREA"],
         "glTF has no area lights; they are left out")
    said("blender.kind", [thing.name for thing in objects if thing.type in {"GPENCIL", "VOLUME", "POINTCLOUD"}],
         "strokes, volumes and clouds of points are left out")
    said("blender.drivers", [thing.name for thing in objects if thing.type != "ARMATURE" and any(
        driver.data_path not in PLACE_PATHS for driver in drivers_of(thing))] +
        [data.name for kind in (bpy.data.materials, bpy.data.lights, bpy.data.cameras) for data in kind
         if drivers_of(data) or drivers_of(getattr(data, "node_tree", None))],
        "a driver moves more than a place, a turn, a size or a shape key; that keeps its first value")
    resting = [thing for thing in objects if thing.type == "ARMATURE" and not (thing.animation_data and thing.animation_data.action)]
    said("blender.bones", [thing.name for thing in resting if any(not one.mute for bone in thing.pose.bones for one in bone.constraints)],
         "constraints of bones are not baked without an action of the armature")
    used = {slot.material for thing in objects for slot in thing.material_slots if slot.material and slot.material.use_nodes}
    said("blender.procedural", sorted(material.name for material in used if is_procedural(material)),
         "colours that nodes compute are lost; bake them into a picture")


def is_procedural(material):
    """Whether a computed texture reaches the surface."""
    output = material.node_tree.get_output_node("ALL")
    seen, queue = set(), [output.inputs["Surface"]] if output else []
    while queue:
        for link in queue.pop().links:
            node = link.from_node
            if node.type.startswith("TEX_") and node.type not in {"TEX_IMAGE", "TEX_COORD", "TEX_ENVIRONMENT"}:
                return True
            if node not in seen:
                seen.add(node)
                queue += list(node.inputs)
    return False


def realise_instances():
    """The exporter knows instances of collections, vertices, faces and particles. Those of geometry nodes become objects."""
    graph = bpy.context.evaluated_depsgraph_get()
    found = [(one.object.original, one.matrix_world.copy(), one.parent.original.users_collection) for one in graph.object_instances
             if one.is_instance and one.object.type == "MESH" and one.parent and not one.parent.original.is_instancer]
    if len(found) > INSTANCES_MOST:
        note("blender.instances", f"{len(found)} instances are left out, more than {INSTANCES_MOST}; realise them, or export fewer")
        return
    for source, place, collections in found:
        made = bpy.data.objects.new(source.name, source.data)
        for collection in collections:
            collection.objects.link(made)
        for slot, given in zip(made.material_slots, source.material_slots):
            if given.link == "OBJECT":
                slot.link, slot.material = "OBJECT", given.material
        made.matrix_world = place


def drivers_of(data):
    return list(data.animation_data.drivers) if data and data.animation_data else []


def bake_motion():
    """The exporter reads actions only. What constraints and drivers do to objects and shape keys becomes keys of an action each; only what moves."""
    objects = [thing for thing in bpy.context.scene.objects if not thing.library and (
        any(not one.mute for one in thing.constraints) or any(driver.data_path in PLACE_PATHS for driver in drivers_of(thing)))]
    keys = {thing.data.shape_keys for thing in bpy.context.scene.objects
            if thing.type == "MESH" and drivers_of(thing.data.shape_keys) and not thing.library}
    scene = bpy.context.scene
    frames, kept = range(scene.frame_start, scene.frame_end + 1), scene.frame_current
    if not objects and not keys:
        return
    if len(frames) * (len(objects) + len(keys)) > POSES_MOST:
        note("blender.motion", f"what constraints and drivers move over {len(frames)} frames is too much to bake; it keeps its first pose")
        return
    poses, values = {}, {}
    for frame in frames:
        scene.frame_set(frame)
        graph = bpy.context.evaluated_depsgraph_get()
        for thing in objects:
            world = thing.evaluated_get(graph).matrix_world
            above = thing.parent.evaluated_get(graph).matrix_world @ thing.matrix_parent_inverse if thing.parent else None
            poses.setdefault(thing, []).append(above.inverted_safe() @ world if above else world.copy())
        for key in keys:
            values.setdefault(key, []).append([block.value for block in key.evaluated_get(graph).key_blocks])
    scene.frame_set(kept)
    moving = [thing for thing in objects if thing.parent_type == "OBJECT" and any(pose != poses[thing][0] for pose in poses[thing])]
    for thing in moving:
        for driver in [driver for driver in drivers_of(thing) if driver.data_path in PLACE_PATHS]:
            thing.animation_data.drivers.remove(driver)
        for one in thing.constraints:
            one.mute = True
        fresh_action(thing)
        thing.rotation_mode = "QUATERNION"
        for frame, pose in zip(frames, poses[thing]):
            before = thing.rotation_quaternion.copy()
            thing.matrix_basis = pose
            if before.dot(thing.rotation_quaternion) < 0:
                thing.rotation_quaternion.negate()
            for path in ("location", "rotation_quaternion", "scale"):
                thing.keyframe_insert(path, frame=frame)
    for key in [key for key in keys if any(value != values[key][0] for value in values[key])]:
        for driver in drivers_of(key):
            key.animation_data.drivers.remove(driver)
        fresh_action(key)
        for frame, value in zip(frames, values[key]):
            for block, at in zip(key.key_blocks, value):
                block.value = at
                block.keyframe_insert("value", frame=frame)


def fresh_action(data):
    data.animation_data_create()
    for track in list(data.animation_data.nla_tracks):
        data.animation_data.nla_tracks.remove(track)
    data.animation_data.action = bpy.data.actions.new(f"{data.name} baked")


def export(path):
    apply = MODIFIERS == "1"
    if apply and any(thing.type == "MESH" and thing.data.shape_keys for thing in bpy.context.scene.objects):
        apply_beside_shape_keys()
        apply = False
    wanted = {"filepath": path, "export_format": "GLB", "check_existing": False, "export_apply": apply, "export_lights": True,
              "export_cameras": True, "export_extras": True, "use_active_scene": True,
              "export_animations": ACTIONS != "none", "export_nla_strips": ACTIONS == "all", "export_anim_single_armature": ACTIONS == "all",
              "export_animation_mode": "ACTIONS" if ACTIONS == "all" else "ACTIVE_ACTIONS"}
    if COLLECTION:
        choose_collection()
        wanted.update(use_active_collection=True, use_active_collection_with_nested=True)
    known = bpy.ops.export_scene.gltf.get_rna_type().properties.keys()
    bpy.ops.export_scene.gltf(**{name: value for name, value in wanted.items() if name in known})


def last_words(error):
    if isinstance(error, ValueError):
        return str(error)
    lines = [line.strip().replace(ROOT + "/", "") for line in str(error).splitlines() if line.strip() and not line.startswith("Location:")]
    if any("numpy" in line for line in lines + traceback.format_exc().splitlines()):
        return "Blender's glTF exporter needs numpy: install python3-numpy"
    return (lines or [type(error).__name__])[-1].removeprefix("Error: ")


def answer(facts, model=b""):
    text = json.dumps(facts).encode()
    with open(os.path.join(PRIVATE, "result"), "wb") as out:
        out.write(struct.pack("<4sI", b"HOBX", len(text)) + text + model)


def main():
    facts = {"blender": bpy.app.version_string, "files": [], "notes": notes}
    try:
        before = version_of(SOURCE)
        bpy.ops.wm.open_mainfile(filepath=SOURCE, load_ui=False, use_scripts=False)
        first_tiles()
        facts["files"] = [[os.path.relpath(SOURCE, ROOT), before]] + used_files()
        if bpy.data.version[:2] > bpy.app.version[:2]:
            note("blender.newer", f"saved by Blender {bpy.data.version[0]}.{bpy.data.version[1]}, read by {bpy.app.version_string}: "
                 "what this one does not know is lost")
        if bpy.app.autoexec_fail:
            note("blender.scripts", f"scripts of the file are not run: {bpy.app.autoexec_fail_message}")
        for scene in [scene for scene in bpy.data.scenes if scene != bpy.context.scene and not scene.library]:
            note("blender.scenes", f"scene '{scene.name}' is left out; the one that was open when the file was saved is cooked")
        if not hasattr(bpy.ops.export_scene, "gltf") or "gltf" not in dir(bpy.ops.export_scene):
            raise ValueError("this Blender has no glTF exporter (add-on io_scene_gltf2)")
        model = os.path.join(PRIVATE, "model.glb")
        hidden = hidden_objects()
        left_out()
        if ACTIONS != "none":
            bake_motion()
        if MODIFIERS == "1":
            realise_instances()
        export(model)
        with open(model, "rb") as made:
            answer(facts, hide(made.read(), hidden) if hidden else made.read())
    except Exception as error:  # pylint: disable=broad-except
        answer(dict(facts, error=last_words(error)))
        traceback.print_exc()
        sys.exit(4)


main()
