#!/usr/bin/env python3
"""The newest changes of all assets in words: changes are saved one after another, and each must be in the list, with its tone."""
import json
import os
import subprocess

import robot
from hobtest import HOB, Scenario, main, obj_text, png


def material(made):
    made["materials"].append({"name": "Glass"})
    made["sides"]["Eye"] = 2
    made["nodes"].append({"name": "eye", "mesh": 2})
    made["nodes"][0]["children"] = [1, 2, 3, 4]


# name -> (change of the model before, tone, words)
PLANTED = {
    "clip": (lambda made: made["clips"].pop("Wave"), "bad", "clip 'Wave' is gone"),
    "triangles": (lambda made: made["sides"].update(Body=24), "warn", "mesh 'Body' has 1152 triangles, was 800"),
    "normals": (lambda made: made.update(up=[0.0, -1.0, 0.0]), "note", "mesh 'Body' has other normals"),
    "material": (material, "note", "material 'Glass' is new"),
    "renamed": (lambda made: made["nodes"][3].update(name="claw"), "warn", "node 'grip' is called node 'claw' now"),
    "moved": (lambda made: made["nodes"][2].update(translation=[1.5, 0.5, 0.25]), "note", "node 'arm' is moved by 0.25 m"),
    "colour": (lambda made: made["materials"][1]["pbrMetallicRoughness"].update(baseColorFactor=[0.5, 0.1, 0.1, 1]), "note",
               "base_color [0.5,0.1,0.1,1], was [0.1,0.1,0.1,1]"),
    "weights": (lambda made: made.update(weight=0.9), "note", "mesh 'Body' has other weights"),
    "uvs": (lambda made: made.update(flipped_uvs=True), "note", "mesh 'Arm' has other UVs"),
}
BUDGET = '{"budget": {"triangles": 1000}}'


class History(Scenario):
    def history(self, query=""):
        answer = self.daemon.get(f"/api/v1/history{query}")
        self.assertEqual(200, answer.status, answer.body)
        return answer.json()

    def newest(self):
        self.daemon.sync()
        return self.history("?limit=1")["items"][0]

    def expect(self, tone, words):
        newest = self.newest()
        self.assertEqual((tone, "art/robot.gltf"), (newest["tone"], newest["asset"]), newest)
        self.assertTrue(any(words in each["text"] for each in newest["changes"]), newest)
        return newest

    def test_each_save_is_said_in_words(self):
        made = {**robot.model(), "weight": 0.5}
        self.put("color.png", png(200, 40, 40))
        self.put("normal.png", png(128, 128, 255))
        self.put("robot.gltf", robot.text(made))
        with self.serve() as self.daemon:
            self.expect("note", "new")
            for name, (change, tone, words) in PLANTED.items():
                with self.subTest(name):
                    change(made)
                    self.put("robot.gltf", robot.text(made))
                    newest = self.expect(tone, words)
                    self.assertTrue(newest["compared"])
                    self.assertNotEqual(newest["from"], newest["to"])
                    grown = {each["name"]: each["to"] / each["from"] for each in newest["numbers"] if each["from"]}
                    self.assertEqual(name == "triangles", grown.get("triangles", 1) > 1.3)
            self.put("robot.gltf.cook.json", BUDGET)
            self.expect("warn", "the rule mesh.triangles is broken")
            (self.art / "color.png").unlink()
            self.expect("bad", "a checkerboard replaces it")
            self.put("robot.gltf", "{")
            failed = self.expect("bad", "")
            self.assertIsNone(failed["to"])
            self.assertEqual("failed", failed["changes"][0]["change"])
            self.put("robot.gltf", robot.text(made))
            self.assertEqual("good", self.expect("good", "it can be cooked again")["changes"][0]["tone"])
            os.utime(self.art / "robot.gltf", (1, 1))
            self.daemon.sync()
            everything = self.history()["items"]
            self.assertEqual(len(PLANTED) + 5, len(everything), "one for each save, and none for a touch")
            self.assertEqual(sorted((each["job"] for each in everything), reverse=True), [each["job"] for each in everything])
            self.assertEqual([each for each in everything if each["tone"] in ("bad", "warn")], self.history("?worse=1")["items"])
            self.assertEqual([], self.history("?since=2100-01-01T00:00:00Z")["items"])
            third = everything[2]["at"]
            self.assertEqual(everything[:3], self.history(f"?since={third}")["items"])
            pages = [self.history("?limit=5")]
            while pages[-1]["next"]:
                pages.append(self.history(f"?limit=5&cursor={pages[-1]['next']}"))
            self.assertEqual(everything, [each for page in pages for each in page["items"]])
            compared = self.daemon.get(f"/api/v1/assets/{third and everything[5]['id']}/compare?from={everything[5]['from']}&"
                                       f"to={everything[5]['to']}").json()
            self.assertEqual(compared["changes"][:5], everything[5]["changes"])
        with self.serve() as self.daemon:
            self.daemon.sync()
            self.assertEqual(everything, self.history()["items"], "it survives a restart")
            (self.art / "robot.gltf").unlink()
            self.daemon.sync()
            self.assertEqual([], self.history()["items"])

    def test_since_the_last_commit_of_each_root(self):
        (self.folder / "plain").mkdir()
        self.put("a.obj", obj_text())
        (self.folder / "plain" / "b.obj").write_text(obj_text())
        with self.serve(str(self.folder / "plain")) as self.daemon:
            self.daemon.sync()
            self.assertEqual([], self.history("?commit=1")["items"])
            head = self.art / ".git" / "logs" / "HEAD"
            head.parent.mkdir(parents=True)
            early, late = (f"{'0' * 40} {'1' * 40} Ann > Bee <ann@example.org> {time} +0100\tcommit: > 5 +0000\n" for time in (1000, 4102444800))
            for text, at, assets in ((early, "1970-01-01T00:16:40.000Z", ["art/a.obj"]), (early * 200 + late, "2100-01-01T00:00:00.000Z", []),
                                     (late + early, "1970-01-01T00:16:40.000Z", ["art/a.obj"]), ("broken", None, []), ("", None, [])):
                with self.subTest(text[-90:]):
                    head.write_text(text)
                    answer = self.history("?commit=1")
                    self.assertEqual([{"root": "art", "at": at}] if at else [], answer["commits"])
                    self.assertEqual(assets, [each["asset"] for each in answer["items"]])
                    self.assertEqual(2, len(self.history()["items"]))
            head.unlink()
            head.symlink_to(self.folder / "plain" / "b.obj")
            self.assertEqual([], self.history()["commits"], "a link is not followed")

    def test_who_may_read_it(self):
        tokens = str(self.folder / "tokens")

        def header(*options):
            made = subprocess.run([HOB, "token", "create", f"me{len(options)}", "--token-file", tokens, *options], check=True,
                                  capture_output=True, text=True)
            return {"Authorization": f"Bearer {made.stdout.strip()}"}

        reader, writer = header(), header("--write")
        self.put(".hidden/a.obj", obj_text())
        self.put("shown.obj", obj_text())
        with self.serve("--token-file", tokens, wait_ready=False) as self.daemon:
            self.daemon.wait_banner()
            self.assertEqual(401, self.daemon.get("/api/v1/history").status)
            self.assertEqual(200, self.daemon.request("POST", "/api/v1/sync", b"{}", {**writer, "Content-Type": "application/json"}).status)
            items = self.daemon.get("/api/v1/history", **reader).json()["items"]
            self.assertEqual(["art/shown.obj"], [each["asset"] for each in items])


if __name__ == "__main__":
    main()
