#!/usr/bin/env python3
"""The list of textures and the users of each: they equal what a script counts from the records of all cooks."""
import collections
import json
import posixpath
import struct
from urllib.parse import quote

from hobtest import Scenario, main, png


def model(*pictures):
    return json.dumps({"asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}], "nodes": [{"mesh": 0}],
        "buffers": [{"uri": "tri.bin", "byteLength": 36}], "bufferViews": [{"buffer": 0, "byteLength": 36}],
        "accessors": [{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3", "min": [0, 0, 0], "max": [1, 1, 0]}],
        "images": [{"uri": uri} for uri in pictures], "textures": [{"source": at} for at in range(len(pictures))],
        "materials": [{"pbrMetallicRoughness": {"baseColorTexture": {"index": at}}} for at in range(len(pictures))],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "material": at} for at in range(max(1, len(pictures)))]
                    if pictures else [{"attributes": {"POSITION": 0}}]}]})


class Textures(Scenario):
    def get(self, target):
        answer = self.daemon.get(target)
        self.assertEqual(200, answer.status, answer.body)
        return answer.json()

    def counted(self):
        """{root/path: users}, from the record of each asset."""
        users = collections.defaultdict(set)
        for asset in self.get("/api/v1/assets?limit=1000&fields=path,root,record")["items"]:
            for dep in self.get(f"/records/{asset['record']}")["deps"]:
                if dep["sha256"] and dep["path"].endswith(".png"):
                    users[posixpath.normpath(f"{asset['root']}/{posixpath.dirname(asset['path'])}/{dep['path']}")].add(asset["path"])
        return users

    def check(self):
        self.daemon.sync()
        users = self.counted()
        items = self.get("/api/v1/textures?limit=1000")["items"]
        self.assertEqual({name: len(found) for name, found in users.items()}, {each["name"]: each["users"] for each in items})
        self.assertEqual(sorted(users), [each["name"] for each in items])
        for each in items:
            listed = self.get(f"/api/v1/assets?fields=path&uses={quote(each['name'])}")["items"]
            self.assertEqual(sorted(users[each["name"]]), [asset["path"] for asset in listed])
            self.assertEqual((self.art / each["name"].removeprefix("art/")).stat().st_size, each["bytes"])
        return {each["name"]: each["users"] for each in items}

    def test_they_equal_the_records_after_a_kill_and_a_collection(self):
        self.put("tri.bin", struct.pack("<9f", 0, 0, 0, 1, 0, 0, 0, 1, 0))
        self.put("props/tri.bin", struct.pack("<9f", 0, 0, 0, 1, 0, 0, 0, 1, 0))
        for at, name in enumerate(("wood.png", "tex/stone wall.png", "tex/unused.png")):
            self.put(name, png(40 * at, 100, 50))
        self.put("one.gltf", model("wood.png"))
        self.put("props/two.gltf", model("../wood.png", "../tex/stone wall.png", "../wood.png"))
        self.put("props/three.gltf", model("../tex/stone wall.png", "../gone.png"))
        self.put("props/plain.gltf", model())
        with self.serve() as self.daemon:
            self.assertEqual({"art/wood.png": 2, "art/tex/stone wall.png": 2}, self.check())
            self.assertEqual(["props/three.gltf"], [each["path"] for each in self.get("/api/v1/assets?uses=art/gone.png")["items"]])
            self.put("props/four.gltf", model("../wood.png"))
            (self.art / "props/two.gltf").unlink()
            now = {"art/wood.png": 2, "art/tex/stone wall.png": 1}
            self.assertEqual(now, self.check())
            self.daemon.kill()
        with self.serve() as self.daemon:
            self.assertEqual(now, self.check(), "after a kill")
            self.assertIn(self.daemon.post("/api/v1/gc").status, (200, 202))
            self.assertEqual(now, self.check(), "after a collection")
        with self.serve() as self.daemon:
            self.assertEqual(now, self.check(), "after a restart")

    def test_search_order_and_pages(self):
        names = [f"tex/{at:03}.png" for at in range(25)]
        self.put("tri.bin", struct.pack("<9f", 0, 0, 0, 1, 0, 0, 0, 1, 0))
        for at, name in enumerate(names):
            self.put(name, png(at, at, at))
        self.put("all.gltf", model(*names))
        self.put("some.gltf", model(*names[:3]))
        with self.serve() as self.daemon:
            self.check()
            for sort in ("path", "-path", "bytes", "-users"):
                pages = [self.get(f"/api/v1/textures?limit=10&sort={sort}")]
                while pages[-1]["next"]:
                    pages.append(self.get(f"/api/v1/textures?limit=10&sort={sort}&cursor={pages[-1]['next']}"))
                items = [each for page in pages for each in page["items"]]
                self.assertEqual([25] * len(pages), [page["total"] for page in pages])
                self.assertEqual(self.get(f"/api/v1/textures?limit=1000&sort={sort}")["items"], items)
                self.assertEqual(sorted(f"art/{name}" for name in names), sorted(each["name"] for each in items))
            self.assertEqual([2, 2, 2, 1], [each["users"] for each in items[:4]])
            self.assertEqual(["art/tex/013.png"], [each["name"] for each in self.get("/api/v1/textures?q=13+TEX")["items"]])
            self.assertEqual(400, self.daemon.get("/api/v1/textures?sort=triangles").status)
            self.assertEqual(400, self.daemon.get("/api/v1/assets?sort=users").status)
            self.assertEqual([], self.get("/api/v1/assets?uses=art/tex")["items"])


if __name__ == "__main__":
    main()
