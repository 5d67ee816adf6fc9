"""Models of the tests of rules, and writers of them: glTF, OBJ with MTL, USD, COLLADA, FBX, PLY, OFF."""
import base64
import json
import struct

# A closed tetrahedron around the origin.
POINTS = [(-1, -1, -1), (1, -1, -1), (0, 1, -1), (0, 0, 1)]
FACES = [(0, 2, 1), (0, 1, 3), (1, 2, 3), (2, 0, 3)]
UVS = [(0.1, 0.9), (0.9, 0.9), (0.5, 0.1), (0.5, 0.6)]
ONE = (1, 1, 1)


def shape(**changes):
    """A mesh: points, faces, uvs and normals by vertex, targets (a count) and weights by vertex: [(joint, weight)] * 4."""
    return {"points": POINTS, "faces": FACES, "uvs": UVS, "normals": [(0, 0, 1)] * 4, "material": 0, "targets": 0, "weights": None} | changes


def model(mesh=None, **changes):
    """Nodes are (name, parent, has the mesh, scale); clips (name, seconds, distance) move the node `moves`, materials are (name, colour,
    alpha, picture); `spare` is a picture of none. `uses`: the materials of the faces in turn, where a format has materials by face. `turns`: node: degrees about z."""
    return {"mesh": mesh or shape(), "nodes": [("body", None, True, ONE)], "materials": [("paint", (1, 0, 0), 1, "")], "clips": [],
            "joints": 0, "moves": 0, "metal": 0, "unlit": False, "normal_map": "", "hidden": (), "turns": {}, "spare": "", "licence": ""} | changes


def uses(m):
    return m.get("uses", [m["mesh"]["material"]])


def weights(*rows):
    return [list(row) for row in rows]


def gltf(m):
    data, views, accessors = bytearray(), [], []

    def put(rows, kind, code="f", component=5126):
        rows = [row if isinstance(row, tuple) else (row,) for row in rows]
        while len(data) % 4:
            data.append(0)
        packed = b"".join(struct.pack(f"<{len(row)}{code}", *row) for row in rows)
        views.append({"buffer": 0, "byteOffset": len(data), "byteLength": len(packed)})
        data.extend(packed)
        accessors.append({"bufferView": len(views) - 1, "componentType": component, "count": len(rows), "type": kind,
                          "min": [min(column) for column in zip(*rows)], "max": [max(column) for column in zip(*rows)]})
        return len(accessors) - 1

    def texture(picture):
        file["images"].append({"uri": picture})
        file["textures"].append({"source": len(file["images"]) - 1})
        return {"index": len(file["textures"]) - 1}

    asset = {"version": "2.0"} | ({"copyright": m["licence"]} if m["licence"] else {})
    file = {"asset": asset, "scene": 0, "nodes": [], "scenes": [{"nodes": []}], "materials": [], "images": [], "textures": []}
    file["images"] += [{"uri": m["spare"]}] if m["spare"] else []
    mesh = m["mesh"]
    if mesh["faces"]:
        attributes = {"POSITION": put(mesh["points"], "VEC3")}
        if mesh["normals"]:
            attributes["NORMAL"] = put(mesh["normals"], "VEC3")
        if mesh["uvs"]:
            attributes["TEXCOORD_0"] = put(mesh["uvs"], "VEC2")
        if mesh["weights"]:
            attributes["JOINTS_0"] = put([tuple(joint for joint, _ in row) for row in mesh["weights"]], "VEC4", "H", 5123)
            attributes["WEIGHTS_0"] = put([tuple(weight for _, weight in row) for row in mesh["weights"]], "VEC4")
        targets = [{"POSITION": put([(0, 0, 1 + t)] * len(mesh["points"]), "VEC3")} for t in range(mesh["targets"])]
        primitives = []
        for at, material in enumerate(uses(m)):
            faces = mesh["faces"][at::len(uses(m))]
            primitives.append({"attributes": attributes, "indices": put([i for face in faces for i in face], "SCALAR", "I", 5125),
                               "material": material} | ({"targets": targets} if targets else {}))
        file["meshes"] = [{"name": "mesh", "primitives": primitives}]
    for i, (name, parent, has_mesh, scale) in enumerate(m["nodes"]):
        node = {"name": name, "scale": scale}
        if i in m["turns"]:
            node["rotation"] = [0, 0, 0.3826834323650898, 0.9238795325112867]
        if i in m["hidden"]:
            node["extensions"] = {"KHR_node_visibility": {"visible": False}}
            file["extensionsUsed"] = ["KHR_node_visibility"]
        if has_mesh and mesh["faces"]:
            node |= {"mesh": 0} | ({"skin": 0} if m["joints"] else {})
        file["nodes"].append(node)
        (file["scenes"][0]["nodes"] if parent is None else file["nodes"][parent].setdefault("children", [])).append(len(file["nodes"]) - 1)
    for name, color, alpha, picture in m["materials"]:
        material = {"name": name, "pbrMetallicRoughness": {"baseColorFactor": [*color, alpha], "metallicFactor": m["metal"]},
                    "alphaMode": "BLEND" if alpha < 1 else "OPAQUE"}
        if picture:
            material["pbrMetallicRoughness"]["baseColorTexture"] = texture(picture)
        if m["normal_map"]:
            material["normalTexture"] = texture(m["normal_map"])
        if m["unlit"]:
            material["extensions"] = {"KHR_materials_unlit": {}}
            file["extensionsUsed"] = ["KHR_materials_unlit"]
        file["materials"].append(material)
    if m["joints"]:
        first = len(file["nodes"])
        file["nodes"] += [{"name": f"joint{i}"} for i in range(m["joints"])]
        file["scenes"][0]["nodes"] += range(first, first + m["joints"])
        file["skins"] = [{"name": "skin", "joints": list(range(first, first + m["joints"]))}]
    for name, seconds, distance in m["clips"]:
        sampler = {"input": put([0, seconds], "SCALAR"), "output": put([(0, 0, 0), (distance, 0, 0)], "VEC3")}
        file.setdefault("animations", []).append({"name": name, "samplers": [sampler],
                                                  "channels": [{"sampler": 0, "target": {"node": m["moves"], "path": "translation"}}]})
    file = {key: value for key, value in file.items() if value}
    file |= {"bufferViews": views, "accessors": accessors}
    if data:
        file["buffers"] = [{"uri": "data:application/octet-stream;base64," + base64.b64encode(data).decode(), "byteLength": len(data)}]
    return json.dumps({key: value for key, value in file.items() if value}).encode()


def obj(m):
    """Each node with the mesh is an object; an MTL file has the existing materials."""
    lines, mesh, first = ["mtllib {stem}.mtl"], m["mesh"], 1
    for name, _, has_mesh, _ in m["nodes"]:
        if not has_mesh:
            continue
        lines.append(f"o {name}")
        lines += ["v %.9g %.9g %.9g" % p for p in mesh["points"]]
        lines += ["vt %g %g" % (u, 1 - v) for u, v in mesh["uvs"] or ()]
        lines += ["vn %g %g %g" % n for n in mesh["normals"] or ()]
        for at, face in enumerate(mesh["faces"]):
            lines.append(f"usemtl {m['materials'][uses(m)[at % len(uses(m))]][0]}")
            corners = [f"{i + first}/{i + first if mesh['uvs'] else ''}" + (f"/{i + first}" if mesh["normals"] else "") for i in face]
            lines.append("f " + " ".join(corner.rstrip("/") for corner in corners))
        first += len(mesh["points"])
    return "\n".join(lines).encode() + b"\n"


def mtl(m):
    return "".join(f"newmtl {name}\nKd {color[0]} {color[1]} {color[2]}\nd {alpha}\nPm {m['metal']}\n" + (f"map_Kd {picture}\n" if picture else "")
                   + (f"norm {m['normal_map']}\n" if m["normal_map"] else "") for name, color, alpha, picture in m["materials"]).encode()


def usda(m):
    mesh = m["mesh"]
    clip = m["clips"][0] if m["clips"] else None
    head = '#usda 1.0\n(\n    defaultPrim = "world"\n    metersPerUnit = 1\n    upAxis = "Y"\n    timeCodesPerSecond = 24\n'
    lines = [head + (f"    startTimeCode = 0\n    endTimeCode = {24 * clip[1]}\n" if clip else "") + ")\n", f'def {"SkelRoot" if m["joints"] else "Xform"} "world"\n{{']
    if m["joints"]:
        names = ["/".join(f"joint{k}" for k in range(j + 1)) for j in range(m["joints"])]
        ones = ", ".join(["((1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1))"] * m["joints"])
        lines.append(f'def Skeleton "skel"\n{{\nuniform token[] joints = {json.dumps(names)}\nuniform matrix4d[] bindTransforms = [{ones}]\n'
                     f'uniform matrix4d[] restTransforms = [{ones}]\n}}')
    for name, color, alpha, picture in m["materials"]:
        lines.append(f'def Material "{name}"\n{{\ntoken outputs:surface.connect = </world/{name}/s.outputs:surface>\ndef Shader "s"\n{{\n'
                     f'uniform token info:id = "UsdPreviewSurface"\nfloat inputs:opacity = {alpha}\nfloat inputs:metallic = {m["metal"]}\n'
                     + (f"color3f inputs:diffuseColor.connect = </world/{name}/t.outputs:rgb>\n" if picture else
                        f"color3f inputs:diffuseColor = ({color[0]}, {color[1]}, {color[2]})\n")
                     + (f"normal3f inputs:normal.connect = </world/{name}/n.outputs:rgb>\n" if m["normal_map"] else "") + "token outputs:surface\n}")
        for shader, file in (("t", picture), ("n", m["normal_map"])):
            if file:
                lines.append(f'def Shader "{shader}"\n{{\nuniform token info:id = "UsdUVTexture"\nasset inputs:file = @{file}@\nfloat3 outputs:rgb\n}}')
        lines.append("}")
    children = {}
    for i, node in enumerate(m["nodes"]):
        children.setdefault(node[1], []).append(i)

    def put(i):
        name, _, has_mesh, scale = m["nodes"][i]
        lines.append(f'def Xform "{name}"\n{{')
        ops = []
        if clip and i == m["moves"]:
            lines.append(f"double3 xformOp:translate.timeSamples = {{ 0: (0, 0, 0), {24 * clip[1]}: ({clip[2]}, 0, 0) }}")
            ops.append('"xformOp:translate"')
        if i in m["turns"]:
            lines.append("double xformOp:rotateZ = 45")
            ops.append('"xformOp:rotateZ"')
        if i in m["hidden"]:
            lines.append('token visibility = "invisible"')
        ops.append('"xformOp:scale"')
        lines.append(f"double3 xformOp:scale = {tuple(scale)}\nuniform token[] xformOpOrder = [{', '.join(ops)}]")
        if has_mesh and mesh["faces"]:
            bound = ' (\nprepend apiSchemas = ["SkelBindingAPI"]\n)' if mesh["weights"] else ""
            lines.append(f'def Mesh "mesh"{bound}\n{{\nuniform token subdivisionScheme = "none"\nint[] faceVertexCounts = {[3] * len(mesh["faces"])}\n'
                         f'int[] faceVertexIndices = {[i for face in mesh["faces"] for i in face]}\n'
                         f'point3f[] points = {[tuple(p) for p in mesh["points"]]}\nrel material:binding = </world/{m["materials"][mesh["material"]][0]}>')
            if len(uses(m)) > 1:
                for at, material in enumerate(uses(m)):
                    lines.append(f'def GeomSubset "part{at}"\n{{\nuniform token elementType = "face"\nuniform token familyName = "materialBind"\n'
                                 f'int[] indices = {list(range(at, len(mesh["faces"]), len(uses(m))))}\n'
                                 f'rel material:binding = </world/{m["materials"][material][0]}>\n}}')
            if mesh["weights"]:
                rows = [(joint, weight) for row in mesh["weights"] for joint, weight in row]
                lines.append(f'rel skel:skeleton = </world/skel>\nint[] primvars:skel:jointIndices = {[joint for joint, _ in rows]} (\nelementSize = 4\n'
                             f'interpolation = "vertex"\n)\nfloat[] primvars:skel:jointWeights = {[weight for _, weight in rows]} (\nelementSize = 4\n'
                             'interpolation = "vertex"\n)')
            if mesh["normals"]:
                lines.append(f'normal3f[] normals = {mesh["normals"]} (\ninterpolation = "vertex"\n)')
            if mesh["uvs"]:
                lines.append(f'texCoord2f[] primvars:st = {[(u, 1 - v) for u, v in mesh["uvs"]]} (\ninterpolation = "vertex"\n)')
            lines.append("}")
        for child in children.get(i, []):
            put(child)
        lines.append("}")
    for i in children.get(None, []):
        put(i)
    return "\n".join(lines).encode() + b"\n}\n"


def flat(rows):
    return " ".join("%.9g" % value for row in rows for value in (row if isinstance(row, tuple) else (row,)))


def dae(m):
    """COLLADA 1.4."""
    mesh = m["mesh"]
    rights = f'<contributor><copyright>{m["licence"]}</copyright></contributor>' if m["licence"] else ""
    text = ['<?xml version="1.0"?><COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1"><asset>' + rights + '<unit meter="1"/>'
            '<up_axis>Y_UP</up_axis></asset>']

    def source(name, rows, kind="float", stride=1, type_="float"):
        values = flat(rows) if kind == "float" else " ".join(rows)
        array = {"float": "float_array", "Name": "Name_array", "IDREF": "IDREF_array"}[kind]
        count = len(values.split())
        return (f'<source id="{name}"><{array} id="{name}-a" count="{count}">{values}</{array}><technique_common><accessor source="#{name}-a" '
                f'count="{count // stride}" stride="{stride}">' + f'<param name="{name}" type="{type_}"/>' * (1 if stride == 16 else stride)
                + "</accessor></technique_common></source>")

    images = sorted({picture for _, _, _, picture in m["materials"]} | {m["spare"]} - {""})
    text.append("<library_images>" + "".join(f'<image id="i{at}"><init_from>{name}</init_from></image>' for at, name in enumerate(images)) + "</library_images>")
    effects, materials = "", ""
    for at, (name, color, alpha, picture) in enumerate(m["materials"]):
        params = ""
        diffuse = f"<color>{color[0]} {color[1]} {color[2]} 1</color>"
        if picture:
            params = (f'<newparam sid="f"><surface type="2D"><init_from>i{images.index(picture)}</init_from></surface></newparam>'
                      '<newparam sid="g"><sampler2D><source>f</source></sampler2D></newparam>')
            diffuse = '<texture texture="g" texcoord="UV"/>'
        fade = f'<transparent opaque="A_ONE"><color>1 1 1 {alpha}</color></transparent><transparency><float>1</float></transparency>' if alpha < 1 else ""
        effects += (f'<effect id="e{at}"><profile_COMMON>{params}<technique sid="t"><lambert><diffuse>{diffuse}</diffuse>{fade}</lambert></technique>'
                    "</profile_COMMON></effect>")
        materials += f'<material id="m{at}" name="{name}"><instance_effect url="#e{at}"/></material>'
    text.append(f"<library_effects>{effects}</library_effects><library_materials>{materials}</library_materials>")

    def geometry(name, points):
        inputs, sources, offset = '<input semantic="VERTEX" source="#%s-v" offset="0"/>' % name, source(name + "-p", points, stride=3), 1
        for semantic, key, rows, stride in (("NORMAL", "n", mesh["normals"], 3), ("TEXCOORD", "t", mesh["uvs"], 2)):
            if rows:
                sources += source(f"{name}-{key}", rows if stride == 3 else [(u, 1 - v) for u, v in rows], stride=stride)
                inputs += f'<input semantic="{semantic}" source="#{name}-{key}" offset="{offset}"' + (' set="0"/>' if stride == 2 else "/>")
                offset += 1
        parts = ""
        for at in range(len(uses(m))):
            faces = mesh["faces"][at::len(uses(m))]
            parts += (f'<triangles count="{len(faces)}" material="s{at}">{inputs}<p>'
                      + " ".join(str(i) for face in faces for i in face for _ in range(offset)) + "</p></triangles>")
        return f'<geometry id="{name}" name="mesh"><mesh>{sources}<vertices id="{name}-v"><input semantic="POSITION" source="#{name}-p"/></vertices>{parts}</mesh></geometry>'

    shown = "g"
    if mesh["faces"]:
        shapes = ["g"] + [f"target{t}" for t in range(mesh["targets"])]
        text.append("<library_geometries>" + "".join(geometry(name, [(x, y, z + at) for x, y, z in mesh["points"]]) for at, name in enumerate(shapes))
                    + "</library_geometries>")
        controllers = ""
        if mesh["targets"]:
            shown = "morph"
            controllers += (f'<controller id="morph"><morph source="#g" method="RELATIVE">{source("mt", shapes[1:], "IDREF", type_="IDREF")}{source("mw", [0] * mesh["targets"])}'
                            '<targets><input semantic="MORPH_TARGET" source="#mt"/><input semantic="MORPH_WEIGHT" source="#mw"/></targets></morph></controller>')
        if mesh["weights"]:
            rows = [[(joint, weight) for joint, weight in row if weight > 0] for row in mesh["weights"]]
            listed = [weight for row in rows for _, weight in row]
            at = iter(range(len(listed)))
            controllers += (f'<controller id="skin"><skin source="#{shown}">{source("jn", [f"joint{i}" for i in range(m["joints"])], "Name", type_="name")}'
                            f'{source("ib", [(1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1)] * m["joints"], stride=16, type_="float4x4")}{source("w", listed)}'
                            '<joints><input semantic="JOINT" source="#jn"/><input semantic="INV_BIND_MATRIX" source="#ib"/></joints>'
                            f'<vertex_weights count="{len(rows)}"><input semantic="JOINT" source="#jn" offset="0"/><input semantic="WEIGHT" source="#w" offset="1"/>'
                            f'<vcount>{" ".join(str(len(row)) for row in rows)}</vcount><v>{" ".join(f"{joint} {next(at)}" for row in rows for joint, _ in row)}</v>'
                            "</vertex_weights></skin></controller>")
            shown = "skin"
        text.append(f"<library_controllers>{controllers}</library_controllers>" if controllers else "")
    clips = ""
    if m["clips"]:
        text.append("<library_animations>")
        for at, (name, seconds, distance) in enumerate(m["clips"]):
            text.append(f'<animation id="a{at}">{source(f"a{at}-i", [0, seconds])}{source(f"a{at}-o", [0, distance])}'
                        f'{source(f"a{at}-l", ["LINEAR", "LINEAR"], "Name", type_="name")}<sampler id="a{at}-s"><input semantic="INPUT" source="#a{at}-i"/>'
                        f'<input semantic="OUTPUT" source="#a{at}-o"/><input semantic="INTERPOLATION" source="#a{at}-l"/></sampler>'
                        f'<channel source="#a{at}-s" target="n{m["moves"]}/move.X"/></animation>')
            clips += f'<animation_clip id="c{at}" name="{name}" start="0" end="{seconds}"><instance_animation url="#a{at}"/></animation_clip>'
        text.append(f"</library_animations><library_animation_clips>{clips}</library_animation_clips>")

    def node(i):
        name, _, has_mesh, scale = m["nodes"][i]
        bound = ('<bind_material><technique_common>' + "".join(
            f'<instance_material symbol="s{at}" target="#m{material}"><bind_vertex_input semantic="UV" input_semantic="TEXCOORD" input_set="0"/></instance_material>'
            for at, material in enumerate(uses(m))) + "</technique_common></bind_material>")
        inner = ""
        if has_mesh and mesh["faces"]:
            inner = (f'<instance_geometry url="#g">{bound}</instance_geometry>' if shown == "g" else
                     f'<instance_controller url="#{shown}">{"<skeleton>#joint0</skeleton>" if shown == "skin" else ""}{bound}</instance_controller>')
        turn = "<rotate>0 0 1 45</rotate>" if i in m["turns"] else ""
        hidden = '<extra><technique profile="FCOLLADA"><visibility>0</visibility></technique></extra>' if i in m["hidden"] else ""
        return (f'<node id="n{i}" name="{name}"><translate sid="move">0 0 0</translate>{turn}<scale>{flat([scale])}</scale>{inner}'
                + "".join(node(k) for k, each in enumerate(m["nodes"]) if each[1] == i) + hidden + "</node>")

    joints = "".join(f'<node id="joint{i}" sid="joint{i}" name="joint{i}" type="JOINT">' for i in range(m["joints"])) + "</node>" * m["joints"]
    text.append('<library_visual_scenes><visual_scene id="s">' + "".join(node(i) for i, each in enumerate(m["nodes"]) if each[1] is None)
                + joints + '</visual_scene></library_visual_scenes><scene><instance_visual_scene url="#s"/></scene></COLLADA>')
    return "".join(text).encode()


SECOND = 46186158000


def fbx(m):
    """ASCII FBX 7.4 in metres."""
    mesh, objects, links = m["mesh"], [], []

    def add(kind, key, name, sub, inside=""):
        objects.append(f' {kind}: {key}, "{name}", "{sub}" {{\n{inside}\n }}')

    def link(child, parent, what=""):
        links.append(f' C: "{"OP" if what else "OO"}",{child},{parent}' + (f', "{what}"' if what else ""))

    def array(name, rows):
        values = flat(rows).replace(" ", ",")
        return f"  {name}: *{len(values.split(','))} {{\n   a: {values}\n  }}\n" if values else ""

    def properties(*rows):
        return "  Properties70: {\n" + "".join(f"   P: {row}\n" for row in rows) + "  }"

    used = uses(m)
    if mesh["faces"]:
        layers, inside = "", array("Vertices", mesh["points"]) + array("PolygonVertexIndex", [(a, b, -c - 1) for a, b, c in mesh["faces"]])
        for kind, name, rows in (("LayerElementNormal", "Normals", mesh["normals"]), ("LayerElementUV", "UV", [(u, 1 - v) for u, v in mesh["uvs"] or ()])):
            if rows:
                inside += (f'  {kind}: 0 {{\n  Version: 101\n  Name: ""\n  MappingInformationType: "ByVertice"\n  ReferenceInformationType: "Direct"\n'
                           + array(name, rows) + "  }\n")
                layers += f'   LayerElement: {{\n    Type: "{kind}"\n    TypedIndex: 0\n   }}\n'
        inside += ('  LayerElementMaterial: 0 {\n  Version: 101\n  Name: ""\n  MappingInformationType: "ByPolygon"\n  ReferenceInformationType: "IndexToDirect"\n'
                   + array("Materials", [at % len(used) for at in range(len(mesh["faces"]))]) + "  }\n")
        layers += '   LayerElement: {\n    Type: "LayerElementMaterial"\n    TypedIndex: 0\n   }\n'
        add("Geometry", 100, "Geometry::mesh", "Mesh", inside + "  Layer: 0 {\n   Version: 100\n" + layers + "  }")
    for at, (name, color, alpha, picture) in enumerate(m["materials"]):
        add("Material", 300 + at, f"Material::{name}", "", '  ShadingModel: "lambert"\n' + properties(
            f'"DiffuseColor", "Color", "", "A",{color[0]},{color[1]},{color[2]}', f'"TransparencyFactor", "Number", "", "A",{1 - alpha}',
            '"TransparentColor", "Color", "", "A",1,1,1'))
        for key, file, what in ((400 + at, picture, "DiffuseColor"), (450 + at, m["normal_map"], "NormalMap")):
            if file:
                add("Texture", key, f"Texture::{file}", "", f'  FileName: "{file}"\n  RelativeFilename: "{file}"')
                link(key, 300 + at, what)
    if m["spare"]:
        add("Texture", 490, f"Texture::{m['spare']}", "", f'  FileName: "{m["spare"]}"\n  RelativeFilename: "{m["spare"]}"')
    for i, (name, parent, has_mesh, scale) in enumerate(m["nodes"]):
        rows = ['"Lcl Scaling", "Lcl Scaling", "", "A",%.9g,%.9g,%.9g' % tuple(scale)]
        rows += ['"Lcl Rotation", "Lcl Rotation", "", "A",0,0,45'] if i in m["turns"] else []
        rows += ['"Visibility", "Visibility", "", "A",0'] if i in m["hidden"] else []
        add("Model", 200 + i, f"Model::{name}", "Mesh" if has_mesh else "Null", "  Version: 232\n" + properties(*rows))
        link(200 + i, 0 if parent is None else 200 + parent)
        if has_mesh and mesh["faces"]:
            link(100, 200 + i)
            for material in used:
                link(300 + material, 200 + i)
    if m["joints"]:
        add("Deformer", 500, "Deformer::skin", "Skin")
        link(500, 100)
        for j in range(m["joints"]):
            add("Model", 600 + j, f"Model::joint{j}", "LimbNode")
            link(600 + j, 600 + j - 1 if j else 0)
            rows = [(i, weight) for i, row in enumerate(mesh["weights"]) for joint, weight in row if joint == j and weight > 0]
            identity = [(1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1)]
            add("Deformer", 700 + j, f"SubDeformer::joint{j}", "Cluster", array("Indexes", [i for i, _ in rows]) + array("Weights", [w for _, w in rows])
                + array("Transform", identity) + array("TransformLink", identity))
            link(700 + j, 500)
            link(600 + j, 700 + j)
    if mesh["targets"]:
        add("Deformer", 510, "Deformer::shapes", "BlendShape")
        link(510, 100)
        for t in range(mesh["targets"]):
            add("Deformer", 520 + t, f"SubDeformer::target{t}", "BlendShapeChannel", "  DeformPercent: 0\n" + array("FullWeights", [100]))
            add("Geometry", 540 + t, f"Geometry::target{t}", "Shape", array("Indexes", [0]) + array("Vertices", [(0, 0, 1 + t)]) + array("Normals", [(0, 0, 0)]))
            link(520 + t, 510)
            link(540 + t, 520 + t)
    for at, (name, seconds, distance) in enumerate(m["clips"]):
        key = 1000 + 10 * at
        add("AnimationStack", key, f"AnimStack::{name}", "", properties(f'"LocalStop", "KTime", "Time", "",{int(seconds * SECOND)}'))
        add("AnimationLayer", key + 1, "AnimLayer::l", "")
        add("AnimationCurveNode", key + 2, "AnimCurveNode::T", "")
        add("AnimationCurve", key + 3, "AnimCurve::", "", "  KeyVer: 4008\n" + f"  KeyTime: *2 {{\n   a: 0,{int(seconds * SECOND)}\n  }}\n"
            + array("KeyValueFloat", [0, distance]) + array("KeyAttrFlags", [4]) + array("KeyAttrDataFloat", [(0, 0, 0, 0)]) + array("KeyAttrRefCount", [2]))
        link(key + 1, key)
        link(key + 2, key + 1)
        link(key + 2, 200 + m["moves"], "Lcl Translation")
        link(key + 3, key + 2, "d|X")
    settings = 'GlobalSettings: {\n' + properties('"UpAxis", "int", "Integer", "",1', '"UpAxisSign", "int", "Integer", "",1', '"FrontAxis", "int", "Integer", "",2',
                                                  '"FrontAxisSign", "int", "Integer", "",1', '"CoordAxis", "int", "Integer", "",0',
                                                  '"CoordAxisSign", "int", "Integer", "",1', '"UnitScaleFactor", "double", "Number", "",100') + "\n}\n"
    return ("; FBX 7.4.0 project file\nFBXHeaderExtension: {\n FBXVersion: 7400\n}\n" + settings + "Objects: {\n" + "\n".join(objects)
            + "\n}\nConnections: {\n" + "\n".join(links) + "\n}\n").encode()


def ply(m):
    mesh = m["mesh"]
    head = (f"ply\nformat ascii 1.0\nelement vertex {len(mesh['points'])}\nproperty float x\nproperty float y\nproperty float z\n"
            f"element face {len(mesh['faces'])}\nproperty list uchar int vertex_indices\nend_header\n")
    return (head + "".join("%g %g %g\n" % p for p in mesh["points"]) + "".join("3 %d %d %d\n" % f for f in mesh["faces"])).encode()


def off(m):
    mesh = m["mesh"]
    return (f"OFF\n{len(mesh['points'])} {len(mesh['faces'])} 0\n" + "".join("%g %g %g\n" % p for p in mesh["points"])
            + "".join("3 %d %d %d\n" % f for f in mesh["faces"])).encode()


def amf(m):
    mesh = m["mesh"]
    return ('<?xml version="1.0"?><amf unit="meter">' + (f'<metadata type="copyright">{m["licence"]}</metadata>' if m["licence"] else "") + "".join(
        f'<material id="{at + 1}"><metadata type="name">{name}</metadata><color><r>{color[0]}</r><g>{color[1]}</g><b>{color[2]}</b></color></material>'
        for at, (name, color, _, _) in enumerate(m["materials"])) + '<object id="0"><mesh><vertices>' + "".join(
        "<vertex><coordinates><x>%.9g</x><y>%.9g</y><z>%.9g</z></coordinates></vertex>" % p for p in mesh["points"]) + "</vertices><volume materialid='1'>"
        + "".join("<triangle><v1>%d</v1><v2>%d</v2><v3>%d</v3></triangle>" % f for f in mesh["faces"]) + "</volume></mesh></object></amf>").encode()


WRITERS = {"gltf": gltf, "obj": obj, "usda": usda, "dae": dae, "fbx": fbx, "ply": ply, "off": off, "amf": amf}
