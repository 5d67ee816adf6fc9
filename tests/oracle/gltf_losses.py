#!/usr/bin/env python3
"""Compares the contents of each glTF file, counted by a separate reader, with the cooked files and the cook's notes.

    gltf_losses.py HOB FOLDER|corpus:PATH...        prints each loss without a note, and their number; exits 1 if there is one

Counted: triangles, nodes, cameras, lights, clips, channels, skins, morph targets, variants, sets of vertex attributes, unknown
extensions; and for each material that is drawn: every texture with its sampler, transform and UV set, every factor, the alpha
mode, two-sidedness. Equal materials may be merged in the cooked files, so each is searched among all of them."""
import base64
import json
import math
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import urllib.parse

NONE = 4294967295
KNOWN = {"KHR_draco_mesh_compression", "KHR_texture_basisu", "KHR_texture_transform", "KHR_mesh_quantization", "KHR_lights_punctual",
         "KHR_materials_variants", "KHR_animation_pointer", "EXT_meshopt_compression", "KHR_meshopt_compression",
         "EXT_mesh_gpu_instancing", "EXT_texture_webp", "EXT_texture_avif", "KHR_materials_pbrSpecularGlossiness"}
WRAPS = {10497: 0, 33071: 1, 33648: 2}
FILTERS = {None: 0, 9728: 1, 9729: 2, 9984: 3, 9985: 4, 9986: 5, 9987: 6}
ALPHA = {"OPAQUE": (0, 0), "MASK": (1, 0), "BLEND": (0, 1)}

# (path of a number in the source, its name in the record, its default)
CORE = [("pbrMetallicRoughness.metallicFactor", "metallic", 1), ("pbrMetallicRoughness.roughnessFactor", "roughness", 1),
        ("pbrMetallicRoughness.baseColorFactor", "base_color", [1, 1, 1, 1]), ("emissiveFactor", "emissive", [0, 0, 0]),
        ("normalTexture.scale", "normal_scale", 1), ("occlusionTexture.strength", "occlusion_strength", 1)]
EXTENSIONS = {
    "emissive_strength": [("emissiveStrength", "emissive_strength", 1)], "ior": [("ior", "ior", 1.5)],
    "specular": [("specularFactor", "specular", 1), ("specularColorFactor", "specular_color", [1, 1, 1])],
    "clearcoat": [("clearcoatFactor", "clearcoat", 0), ("clearcoatRoughnessFactor", "clearcoat_roughness", 0),
                  ("clearcoatNormalTexture.scale", "clearcoat_normal_scale", 1)],
    "transmission": [("transmissionFactor", "transmission", 0)],
    "volume": [("thicknessFactor", "thickness", 0), ("attenuationColor", "attenuation_color", [1, 1, 1]),
               ("attenuationDistance", "attenuation_distance", math.inf)],
    "sheen": [("sheenColorFactor", "sheen_color", [0, 0, 0]), ("sheenRoughnessFactor", "sheen_roughness", 0)],
    "iridescence": [("iridescenceFactor", "iridescence", 0), ("iridescenceIor", "iridescence_ior", 1.3),
                    ("iridescenceThicknessMinimum", "iridescence_min", 100), ("iridescenceThicknessMaximum", "iridescence_max", 400)],
    "anisotropy": [("anisotropyStrength", "anisotropy", 0), ("anisotropyRotation", "anisotropy_rotation", 0)],
    "dispersion": [("dispersion", "dispersion", 0)],
    "diffuse_transmission": [("diffuseTransmissionFactor", "diffuse_transmission", 0),
                             ("diffuseTransmissionColorFactor", "diffuse_transmission_color", [1, 1, 1])],
    "unlit": [],
}
SLOTS = {"pbrMetallicRoughness.baseColorTexture": 0, "pbrMetallicRoughness.metallicRoughnessTexture": 1, "normalTexture": 2,
         "occlusionTexture": 3, "emissiveTexture": 4, "specular.specularTexture": 6, "specular.specularColorTexture": 7,
         "clearcoat.clearcoatTexture": 8, "clearcoat.clearcoatRoughnessTexture": 9, "clearcoat.clearcoatNormalTexture": 10,
         "transmission.transmissionTexture": 11, "sheen.sheenColorTexture": 12, "sheen.sheenRoughnessTexture": 13,
         "volume.thicknessTexture": 14, "anisotropy.anisotropyTexture": 15, "iridescence.iridescenceTexture": 16,
         "iridescence.iridescenceThicknessTexture": 17, "diffuse_transmission.diffuseTransmissionTexture": 18,
         "diffuse_transmission.diffuseTransmissionColorTexture": 19}
# kind of loss -> codes of the notes that report it
TELLS = {"texture": ("texture.", "gltf.texture", "gltf.image", "material.texture"), "attribute": ("gltf.attribute", "gltf.uv", "mesh."),
         "triangles": ("mesh.", "gltf.primitive"), "clip": ("animation.", "gltf.clip", "gltf.channel"),
         "channel": ("animation.", "gltf.channel", "gltf.clip"), "extension": ("gltf.extension",), "skin": ("skin.", "gltf.skin"),
         "morph": ("mesh.", "gltf.morph"), "node": ("gltf.scene",), "camera": ("gltf.scene",), "light": ("gltf.scene",)}


def read(path):
    """The JSON of a glTF 2.0 file, with the available buffers under "bytes"; None for any other file."""
    data, own = path.read_bytes(), None
    if data[:4] == b"glTF":
        end = 20 + struct.unpack_from("<I", data, 12)[0]
        data, own = data[20:end], data[end + 8:]
    gltf = json.loads(data.decode("utf-8-sig"))
    if not str(gltf["asset"]["version"]).startswith("2"):
        return None
    gltf["bytes"] = [buffer_of(path, buffer, own) for buffer in gltf.get("buffers", [])]
    return gltf


def buffer_of(path, buffer, own):
    uri = buffer.get("uri")
    if uri is None:
        return own
    if uri.startswith("data:"):
        return base64.b64decode(uri.split(",", 1)[1])
    file = path.parent / urllib.parse.unquote(uri)
    return file.read_bytes() if file.exists() else None


def floats(gltf, index):
    """The values of an accessor of tightly packed floats; None for any other."""
    accessor = gltf["accessors"][index]
    if accessor["componentType"] != 5126 or "sparse" in accessor or "bufferView" not in accessor:
        return None
    view = gltf["bufferViews"][accessor["bufferView"]]
    data = gltf["bytes"][view["buffer"]]
    if data is None or view.get("extensions") or view.get("byteStride"):
        return None
    count = accessor["count"] * {"SCALAR": 1, "VEC3": 3, "VEC4": 4}.get(accessor["type"], 0)
    return struct.unpack_from(f"<{count}f", data, view.get("byteOffset", 0) + accessor.get("byteOffset", 0))


def moves(gltf, animation, channel):
    """Whether a channel ever differs from the rest pose; one that never does is left out without loss."""
    target = channel["target"]
    if "node" not in target:
        return bool(target.get("extensions"))
    node = gltf["nodes"][target["node"]]
    rest = node.get(target["path"], {"translation": [0, 0, 0], "rotation": [0, 0, 0, 1], "scale": [1, 1, 1]}.get(target["path"]))
    if rest is None:
        rest = gltf["meshes"][node["mesh"]].get("weights") if "mesh" in node else None
    sampler = animation["samplers"][channel["sampler"]]
    values = floats(gltf, sampler["output"])
    if rest is None or values is None or "matrix" in node or sampler.get("interpolation") == "CUBICSPLINE":
        return True
    parts = [values[i:i + len(rest)] for i in range(0, len(values), len(rest))]
    return any(min(max(abs(v - sign * r) for v, r in zip(part, rest)) for sign in ((1, -1) if len(rest) == 4 else (1,))) > 1e-5
               for part in parts)


def at(value, path, default=None):
    for part in path.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return default if value is None else value


def number(value):
    """Rounds to single precision; numbers that FORMATS.md clamps or converts are compared unchanged."""
    values = value if isinstance(value, list) else [value]
    return tuple(round(struct.unpack("<f", struct.pack("<f", float(v)))[0], 5) for v in values)


def extension_of(material, name):
    return material.get("extensions", {}).get("KHR_materials_" + name)


def source_texture(gltf, ref, slot):
    texture = gltf["textures"][ref["index"]]
    if "source" not in texture and not texture.get("extensions"):
        return None  # no picture
    sampler = gltf["samplers"][texture["sampler"]] if "sampler" in texture else {}
    transform = ref.get("extensions", {}).get("KHR_texture_transform", {})
    return (slot, transform.get("texCoord", ref.get("texCoord", 0)), number(transform.get("offset", [0, 0])),
            number(transform.get("scale", [1, 1])), number(transform.get("rotation", 0)), WRAPS[sampler.get("wrapS", 10497)],
            WRAPS[sampler.get("wrapT", 10497)], FILTERS[sampler.get("magFilter")], FILTERS[sampler.get("minFilter")])


def source_facts(gltf, material):
    alpha = material.get("alphaMode", "OPAQUE")
    facts = {("alpha", ALPHA[alpha]), ("double", bool(material.get("doubleSided")))}
    if alpha == "MASK":
        facts.add(("alpha_cutoff", number(material.get("alphaCutoff", 0.5))))
    named = {**material, **{name: extension_of(material, name) or {} for name in EXTENSIONS}}
    glossy = "KHR_materials_pbrSpecularGlossiness" in material.get("extensions", {})
    for path, field, default in [] if glossy else CORE:
        facts.add((field, number(at(named, path, default))))
    for name, fields in EXTENSIONS.items():
        if extension_of(material, name) is None:
            continue
        facts.add(("extension", name))
        for path, field, default in fields:
            facts.add((field, number(at(named[name], path, default))))
    for path, slot in SLOTS.items():
        ref = at(named, path)
        if ref and not (glossy and slot < 2):
            facts.add(("texture", source_texture(gltf, ref, slot)))
    return facts - {("texture", None)}


def cooked_facts(records, record, bits):
    flags, mask = record["flags"], record["ext_mask"]
    facts = {("alpha", (int(bool(flags & bits["MATERIAL_MASK"])), int(bool(flags & bits["MATERIAL_BLEND"])))),
             ("double", bool(flags & bits["MATERIAL_DOUBLE_SIDED"]))}
    for name in EXTENSIONS:
        if mask & bits["EXT_" + name.upper()]:
            facts.add(("extension", name))
    for _, field, _ in CORE + [each for fields in EXTENSIONS.values() for each in fields] + [("", "alpha_cutoff", 0)]:
        facts.add((field, number(math.inf if record[field] == "inf" else record[field])))
    for slot, index in enumerate(record["textures"]):
        if index == NONE:
            continue
        ref = records["TEXR"][index]
        sampler = records["TSMP"][ref["sampler"]] if ref["sampler"] != NONE else {"wrap_u": 0, "wrap_v": 0, "mag": 0, "min": 0}
        facts.add(("texture", (slot, ref["uv_set"], number(ref["offset"]), number(ref["scale"]), number(ref["rotation"]),
                               sampler["wrap_u"], sampler["wrap_v"], sampler["mag"], sampler["min"])))
    return facts


def drawn(gltf):
    """Nodes of all scenes, and how often each mesh is drawn."""
    nodes, times = set(), {}
    scenes = gltf.get("scenes") or [{"nodes": [i for i in range(len(gltf.get("nodes", [])))
                                               if not any(i in n.get("children", []) for n in gltf["nodes"])]}]
    stack = [i for scene in scenes for i in scene.get("nodes", [])]
    while stack:
        i = stack.pop()
        if i in nodes:
            continue
        nodes.add(i)
        node = gltf["nodes"][i]
        stack += node.get("children", [])
        if "mesh" in node:
            instances = node.get("extensions", {}).get("EXT_mesh_gpu_instancing", {}).get("attributes", {})
            count = gltf["accessors"][next(iter(instances.values()))]["count"] if instances else 1
            times[node["mesh"]] = times.get(node["mesh"], 0) + count
    return nodes, times


def triangles_of(gltf, primitive):
    accessor = primitive.get("indices", primitive["attributes"].get("POSITION"))
    count = gltf["accessors"][accessor]["count"] if accessor is not None else 0
    return {4: count // 3, 5: max(count - 2, 0), 6: max(count - 2, 0)}.get(primitive.get("mode", 4), 0)


def source_counts(gltf):
    nodes, times = drawn(gltf)
    primitives = [(p, times[i]) for i in times for p in gltf["meshes"][i]["primitives"]]
    of = [gltf["nodes"][i] for i in nodes]
    animations = [[c for c in a.get("channels", []) if moves(gltf, a, c)] for a in gltf.get("animations", [])]
    return {
        "triangles": sum(triangles_of(gltf, p) * n for p, n in primitives), "node": len(nodes),
        "camera": sum("camera" in n for n in of), "light": sum("KHR_lights_punctual" in n.get("extensions", {}) for n in of),
        "clip": sum(bool(a) for a in animations), "channel": sum(len(a) for a in animations),
        "skin": len({n["skin"] for n in of if "skin" in n and "mesh" in n}),
        "morph": sum(len(p.get("targets", [])) for i in times for p in gltf["meshes"][i]["primitives"]),
        "variant": len(gltf.get("extensions", {}).get("KHR_materials_variants", {}).get("variants", [])),
    }, primitives


def materials_of(gltf, primitives):
    used = {p["material"] for p, _ in primitives if "material" in p}
    for p, _ in primitives:
        for mapping in p.get("extensions", {}).get("KHR_materials_variants", {}).get("mappings", []):
            used.add(mapping["material"])
    return [gltf["materials"][i] for i in used]


def inspect(hob, base):
    """The records of the scene, meshes, clips and materials; empty for a missing file."""
    files = [base.with_name(base.name + end) for end in (".scene", ".meshes", ".animations", ".materials")]
    there = [str(file) for file in files if file.exists()]
    text = subprocess.run([hob, "inspect", "--json", *there], capture_output=True, text=True, check=True).stdout
    found = [json.loads(line)["records"] for line in text.splitlines()]
    return [found.pop(0) if str(file) in there else {} for file in files]


def rows(records, name):
    return records.get(name) or []


def triangles_drawn(scene, meshes):
    total = 0
    for row in rows(scene, "LMSH"):
        mesh = rows(meshes, "MDSC")[row["value"]]
        if mesh["lod_count"] and mesh["topology"] == 0:
            total += rows(meshes, "LODS")[mesh["lod_first"]]["index_count"] // 3
    return total


def cooked_counts(scene, meshes, animations, materials):
    return {"triangles": triangles_drawn(scene, meshes), "node": len(rows(scene, "HIER")), "camera": len(rows(scene, "LCAM")),
            "light": len(rows(scene, "LLGT")), "clip": len(rows(animations, "CLIP")), "channel": len(rows(animations, "CHAN")),
            "skin": len(rows(animations, "SKIN")), "morph": len(rows(meshes, "MRPH")), "variant": len(rows(materials, "VARI"))}


def attributes_of(meshes, semantic):
    return max([0] + [a["set"] + 1 for a in rows(meshes, "ATTR") if a["semantic"] == semantic])


def losses(gltf, scene, meshes, animations, materials, bits):
    """(kind, text) of each loss."""
    source, primitives = source_counts(gltf)
    held = cooked_counts(scene, meshes, animations, materials)
    found = [(kind, f"{source[kind]} {kind}, cooked {held[kind]}") for kind in source if source[kind] > held[kind]]
    for attribute, semantic in (("TEXCOORD_", bits["SEMANTIC_UV"]), ("COLOR_", bits["SEMANTIC_COLOR"])):
        sets = max([0] + [1 + int(name[len(attribute):]) for p, _ in primitives for name in p["attributes"]
                          if name.startswith(attribute)])
        if sets > attributes_of(meshes, semantic):
            found.append(("attribute", f"{sets} sets of {attribute}, cooked {attributes_of(meshes, semantic)}"))
    for name in gltf.get("extensionsUsed", []):
        if name not in KNOWN and name.removeprefix("KHR_materials_") not in EXTENSIONS:
            found.append(("extension", name))
    facts = [cooked_facts(materials, record, bits) for record in rows(materials, "MATL")]
    for material in materials_of(gltf, primitives):
        wanted = source_facts(gltf, material)
        for fact in min((wanted - each for each in facts), key=len, default=wanted):
            found.append((fact[0], f"material '{material.get('name', '')}': {fact}"))
    return found


def enums():
    """Names and values of the tables in schema that describe the cooked files."""
    formats = pathlib.Path(__file__).resolve().parents[2] / "schema/formats"
    return {name: int(value, 0) for path in formats.glob("*.def")
            for name, value in re.findall(r"ENUM\(\w+, (\w+), (0x[0-9a-fA-F]+|\d+),", path.read_text())}


def main():
    corpus = pathlib.Path(os.environ.get("HOB_CORPUS", pathlib.Path(__file__).resolve().parents[3] / "shared/corpus"))
    hob, folders = sys.argv[1], [name.replace("corpus:", f"{corpus}/") for name in sys.argv[2:]]
    if not all(pathlib.Path(folder).is_dir() for folder in folders):
        print(f"skipped: {' or '.join(folders)} is not there; set HOB_CORPUS")
        sys.exit(77)
    bits, silent, told, files = enums(), 0, 0, 0
    for folder in folders:
        with tempfile.TemporaryDirectory() as out:
            out = pathlib.Path(out)
            subprocess.run([hob, "cook", folder, "-o", str(out), "-q", "--report", str(out / "report.json"), "--settings",
                            '{"texture":{"encoding":"source"},"lods":{"max":1}}'], stderr=subprocess.DEVNULL, check=False)
            for asset in json.loads((out / "report.json").read_text())["assets"]:
                path = pathlib.Path(folder) / asset["path"]
                if asset["state"] != "cooked" or path.suffix not in (".gltf", ".glb"):
                    continue
                gltf = read(path)
                if gltf is None:
                    continue
                files += 1
                codes = [note["code"] for note in asset["notes"]]
                for kind, text in losses(gltf, *inspect(hob, out / asset["path"]), bits):
                    if any(code.startswith(TELLS.get(kind, ())) for code in codes):
                        told += 1
                        continue
                    silent += 1
                    print(f"{asset['path']}: {text}")
    print(f"{files} files; {told} losses that notes tell of, {silent} that none does")
    sys.exit(1 if silent else 0)


if __name__ == "__main__":
    main()
