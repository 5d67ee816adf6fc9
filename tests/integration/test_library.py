#!/usr/bin/env python3
"""What assets hold: textures, materials, clips, features and folders, and the search over all of them. Every number equals
what a script counts from the reports of all assets."""
import base64
import collections
import json
import posixpath
import struct
from urllib.parse import quote

from hobtest import Scenario, main, png

GEOMETRY = struct.pack("<9f", 0, 0, 0, 1, 0, 0, 0, 1, 0) + struct.pack("<2f", 0, 1.25) + struct.pack("<6f", 0, 0, 0, 1, 0, 0) + bytes(24)


def uri(data, kind="application/octet-stream"):
    return f"data:{kind};base64," + base64.b64encode(data).decode()


def picture(side, shade):
    return png(shade, 90, 40, side)


def model(materials=("Wood",), images=(), clips=(), uses=(), uv=True):
    """A triangle for each material; image k is the base colour of material k."""
    attributes = {"POSITION": 0, **({"TEXCOORD_0": 3} if uv else {})}
    return json.dumps({"asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}], "nodes": [{"mesh": 0}],
        **({"extensionsUsed": list(uses)} if uses else {}),
        "buffers": [{"uri": uri(GEOMETRY), "byteLength": len(GEOMETRY)}],
        "bufferViews": [{"buffer": 0, "byteOffset": at, "byteLength": size} for at, size in ((0, 36), (36, 8), (44, 24), (68, 24))],
        "accessors": [{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3", "min": [0, 0, 0], "max": [1, 1, 0]},
                      {"bufferView": 1, "componentType": 5126, "count": 2, "type": "SCALAR", "min": [0], "max": [1.25]},
                      {"bufferView": 2, "componentType": 5126, "count": 2, "type": "VEC3"},
                      {"bufferView": 3, "componentType": 5126, "count": 3, "type": "VEC2"}],
        **({"images": [{"uri": each} if isinstance(each, str) else {"uri": uri(each, "image/png"), "name": "inside"} for each in images],
            "textures": [{"source": at} for at in range(len(images))]} if images else {}),
        "materials": [{"name": name, "pbrMetallicRoughness": {"baseColorTexture": {"index": at}} if at < len(images) else {}}
                      for at, name in enumerate(materials)],
        "meshes": [{"primitives": [{"attributes": attributes, "material": at} for at in range(len(materials))]}],
        **({"animations": [{"name": name, "channels": [{"sampler": 0, "target": {"node": 0, "path": "translation"}}],
                            "samplers": [{"input": 1, "output": 2}]} for name in clips]} if clips else {})})


class Library(Scenario):
    def get(self, target):
        answer = self.daemon.get(target)
        self.assertEqual(200, answer.status, answer.body)
        return answer.json()

    def listed(self, what, query=""):
        return self.get(f"/api/v1/{what}?limit=1000{query}")["items"]

    def counted(self):
        """From the report of every asset: {kind: {name: assets}}, {folder: [assets, bytes]}."""
        users, folders = collections.defaultdict(lambda: collections.defaultdict(set)), collections.defaultdict(lambda: [0, 0])
        for asset in self.get("/api/v1/assets?limit=1000&fields=path,root,outputs,bytes,content")["items"]:
            full = f"{asset['root']}/{asset['path']}"
            for at in (at for at, mark in enumerate(full) if mark == "/"):
                folders[full[:at + 1]][0] += 1
                folders[full[:at + 1]][1] += asset["bytes"]["cooked"]
            report = next((each for each in asset["outputs"] if each["name"] == "report"), None)
            if not report:
                continue
            found = self.get(f"/blobs/{report['hash']}")["content"]
            self.assertEqual(found, asset["content"])
            for each in found:
                name = each["name"]
                if each["kind"] == "texture":
                    name = each.get("hash") or posixpath.normpath(f"{posixpath.dirname(full)}/{name}")
                users[each["kind"]][name].add(asset["path"])
        return users, folders

    def check(self):
        self.daemon.sync()
        users, folders = self.counted()
        for kind in ("material", "clip", "feature"):
            items = self.listed(kind + "s")
            self.assertEqual({name: len(found) for name, found in users[kind].items()}, {each["name"]: each["users"] for each in items}, kind)
            self.assertEqual(sorted((each["name"] for each in items), key=str.encode), [each["name"] for each in items])
            for name, found in users[kind].items():
                self.assertEqual(sorted(found), sorted(each["path"] for each in self.listed("assets", f"&fields=path&has={kind}:{quote(name)}")), name)
        textures = self.listed("textures")
        self.assertEqual({name: len(found) for name, found in users["texture"].items()},
                         {each["hash"] if each["embedded"] else each["name"]: each["users"] for each in textures})
        for each in textures:
            if each["embedded"]:
                self.assertEqual(sorted(users["texture"][each["hash"]]),
                                 sorted(asset["path"] for asset in self.listed("assets", f"&fields=path&has=texture:{each['hash']}")))
        self.assertEqual({name: list(found) for name, found in folders.items()},
                         {each["name"]: [each["users"], each["bytes"]] for each in self.listed("folders")})
        search = self.get("/api/v1/search?q=&limit=3")
        for kind in ("textures", "materials", "clips", "features", "folders"):
            self.assertEqual(len(self.listed(kind)), search[kind]["total"])
            self.assertEqual(self.listed(kind, "&sort=-users")[:3], search[kind]["items"])
        return {kind: {name: len(found) for name, found in names.items()} for kind, names in users.items()}

    def test_numbers_equal_the_reports_after_a_kill_and_a_collection(self):
        odd = 'Gl"as\\s é'
        self.put("wood.png", png(90, 60, 30))
        self.put("one.gltf", model(["Wood", "Wood", odd], ["wood.png"], ["Walk", "Run"], ["KHR_texture_transform"]))
        self.put("props/two.gltf", model(["Wood", "Steel"], ["../wood.png", picture(8, 10)], ["Walk"], uv=False))
        self.put("props/deep/three.gltf", model(["Steel"], [picture(8, 10)], uses=["KHR_texture_transform", "KHR_materials_unlit"]))
        self.put("plain.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
        self.put("broken.gltf", "{")
        with self.serve() as self.daemon:
            first = self.check()
            self.assertEqual({"Walk": 2, "Run": 1}, first["clip"])
            self.assertEqual({"no-uv": 2, "KHR_texture_transform": 2, "KHR_materials_unlit": 1}, first["feature"])
            self.assertEqual((2, 2, 1), (first["material"]["Wood"], first["material"]["Steel"], first["material"][odd]))
            self.assertEqual([1250, 1250], [each["ms"] for each in self.listed("clips")])
            self.put("props/two.gltf", model(["Oak"], ["../wood.png"], ["Jump"]))
            (self.art / "props/deep/three.gltf").unlink()
            now = self.check()
            self.assertEqual({"Walk": 1, "Run": 1, "Jump": 1}, now["clip"])
            self.daemon.kill()
        with self.serve() as self.daemon:
            self.assertEqual(now, self.check(), "after a kill")
            self.assertIn(self.daemon.post("/api/v1/gc").status, (200, 202))
            self.assertEqual(now, self.check(), "after a collection")
        with self.serve() as self.daemon:
            self.assertEqual(now, self.check(), "after a restart")

    def test_why_a_texture_is_blurry(self):
        self.put("art.png", picture(256, 1))
        self.put("small.png", picture(16, 2))
        self.put("odd.png", picture(30, 3))
        self.put("cook.json", json.dumps({"texture.max_size": 64, "texture.sides": "fours"}))
        self.put("house.gltf", model(["A", "B", "C", "D"], ["art.png", "small.png", "odd.png", picture(128, 4)]))
        self.put("sharp/cook.json", json.dumps({"texture.max_size": 1024}))
        self.put("sharp/door.gltf", model(["A"], ["../art.png"]))
        with self.serve() as self.daemon:
            self.check()
            items = {each["name"]: each for each in self.listed("textures", "&sort=-cut")}
            self.assertEqual(["art/art.png", "art/house.gltf#inside"], list(items)[:2], "the most scaled one first")
            facts = {name: (each["source"], each["size"], each["by"]) for name, each in items.items()}
            self.assertEqual(([256, 256], [64, 64], "texture.max_size"), facts["art/art.png"])
            self.assertEqual(([128, 128], [64, 64], "texture.max_size"), facts["art/house.gltf#inside"])
            self.assertEqual(([16, 16], [16, 16], None), facts["art/small.png"])
            self.assertEqual([30, 30], facts["art/odd.png"][0])
            self.put("cook.json", json.dumps({"texture.max_size": 1024}))
            self.daemon.sync()
            self.assertEqual([None] * 4, [each["by"] for each in self.listed("textures")])

    def test_a_list_that_is_too_long_is_cut(self):
        names = [f"{at:04} {'long name ' * 9}" for at in range(1500)]
        made = json.loads(model())
        made["materials"] = [{"name": name} for name in names]
        self.put("many.gltf", json.dumps(made))
        self.put("one.gltf", model([names[0]]))
        with self.serve() as self.daemon:
            self.check()
            items = self.listed("materials")
            self.assertTrue(400 < len(items) < 1000, len(items))
            self.assertEqual(2, items[0]["users"])
            report = self.get("/api/v1/assets?path=many.gltf&fields=content")["items"][0]
            self.assertLess(len(json.dumps(report, separators=(",", ":"))), 70000)

    def test_pages_words_and_refusals(self):
        for at in range(25):
            self.put(f"m{at:02}.gltf", model([f"Mat {at:02}", "Common"], clips=[f"Clip {at % 5}"]))
        with self.serve() as self.daemon:
            self.check()
            for sort in ("path", "-path", "users", "-users"):
                pages = [self.get(f"/api/v1/materials?limit=10&sort={sort}")]
                while pages[-1]["next"]:
                    pages.append(self.get(f"/api/v1/materials?limit=10&sort={sort}&cursor={pages[-1]['next']}"))
                items = [each for page in pages for each in page["items"]]
                self.assertEqual([26] * 3, [page["total"] for page in pages])
                self.assertEqual(self.listed("materials", f"&sort={sort}"), items)
            self.assertEqual("Common", items[0]["name"])
            self.assertEqual(["Mat 07"], [each["name"] for each in self.listed("materials", "&q=07+mat")])
            found = self.get("/api/v1/search?q=m07&limit=5")
            self.assertEqual((["m07.gltf"], 1, 0), ([each["path"] for each in found["assets"]["items"]], found["assets"]["total"], found["materials"]["total"]))
            self.assertEqual([], self.listed("assets", "&has=material:Mat"))
            self.assertEqual([], self.listed("materials", "&root=other"))
            for wrong in ("materials?sort=bytes", "folders?sort=cut", "assets?has=wood", "assets?has=mesh:a", "assets?sort=cut", "search?sort=path"):
                self.assertEqual(400, self.daemon.get(f"/api/v1/{wrong}").status, wrong)


if __name__ == "__main__":
    main()
