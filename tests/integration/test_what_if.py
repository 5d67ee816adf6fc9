"""Predicted effects of a file change, compared with the actual ones."""
import json
import os
import subprocess

from hobtest import HOB, Scenario, main, obj_text, png


class WhatIf(Scenario):
    def ask(self, daemon, file, status=200):
        answer = daemon.get(f"/api/v1/what-if?file={file}")
        self.assertEqual(answer.status, status, answer.body)
        return answer.json()

    def found(self, daemon, file):
        return {item["asset"]: (item["use"], item["chain"]) for item in self.ask(daemon, file)["assets"]}

    def hob(self, *words, code=0):
        done = subprocess.run([HOB, "why", *words], capture_output=True, text=True, env=dict(os.environ, NO_COLOR="1"))
        self.assertEqual(done.returncode, code, (done.stdout, done.stderr))
        return done.stdout + done.stderr

    def test_the_list_is_what_a_change_then_cooks(self):
        self.put("m/shared.mtl", "newmtl m\nmap_Kd ../t.png\n")
        self.put("t.png", png(1, 2, 3))
        for triangles, name in ((3, "m/a.obj"), (5, "m/b.obj")):
            self.put(name, obj_text(triangles, mtl="shared.mtl"))
        self.put("alone.obj", obj_text(4, mtl="none.mtl"))
        self.put("both.merge", json.dumps({"scenes": ["m/a.obj", "alone.obj"]}))
        with self.serve() as daemon:
            daemon.sync()
            before, rev = daemon.cooked(), daemon.seen
            whole = self.ask(daemon, "art/t.png")
            self.assertEqual((whole["exists"], whole["count"], whole["shared"], whole["unknown"], whole["explanation"]),
                             (True, 3, True, 0, ""))
            self.assertGreater(whole["expected_ms"], 0)
            said = self.found(daemon, "art/t.png")
            self.assertEqual(said, {
                "art/m/a.obj": ("input", ["art/t.png", "art/m/a.obj"]),
                "art/m/b.obj": ("input", ["art/t.png", "art/m/b.obj"]),
                "art/both.merge": ("input", ["art/t.png", "art/m/a.obj", "art/both.merge"])})
            self.assertEqual(self.found(daemon, "art/m/a.obj"), {
                "art/m/a.obj": ("source", ["art/m/a.obj"]),
                "art/both.merge": ("input", ["art/m/a.obj", "art/both.merge"])})
            # A missing file counts as well if a cook looked for it; settings affect all models below.
            lost = self.ask(daemon, "art/none.mtl")
            self.assertEqual((lost["exists"], sorted(item["asset"] for item in lost["assets"])), (False, ["art/alone.obj", "art/both.merge"]))
            self.assertIn("when it appears", lost["explanation"])
            self.assertEqual(self.found(daemon, "art/m/cook.json"), {
                f"art/m/{name}.obj": ("settings", ["art/m/cook.json", f"art/m/{name}.obj"]) for name in "ab"})
            self.assertEqual(set(self.found(daemon, "art/alone.obj.cook.json")), {"art/alone.obj"})
            for file, words in (("art/notes.txt", "no cook looked for one"), ("art/new.glb", "would be a new asset")):
                empty = self.ask(daemon, file)
                self.assertEqual((empty["count"], empty["assets"]), (0, []))
                self.assertIn(words, empty["explanation"])
            self.assertIn("no watched folder", self.ask(daemon, "elsewhere/t.png", 404)["detail"])
            self.ask(daemon, "art/../../t.png", 400)
            self.ask(daemon, "", 400)
            # The prediction cooks nothing.
            self.assertEqual((daemon.sync()["rev"], daemon.cooked()), (rev, before))
            revs = {name: item["rev"] for name, item in daemon.assets().items()}
            self.put("t.png", png(9, 9, 9))
            daemon.sync()
            changed = {name for name, item in daemon.assets().items() if item["rev"] > revs[name]}
            self.assertEqual(changed, set(said))
            self.assertEqual(daemon.cooked(), before + len(said))
            url = f"http://127.0.0.1:{daemon.port}"
            for file in ("art/t.png", str(self.art / "t.png"), str(self.art / "m/../t.png")):
                text = self.hob("--if", file, "--url", url)
                self.assertIn("art/t.png: if it changed, 3 assets", text)
                self.assertIn("art/t.png -> art/m/a.obj -> art/both.merge", text)
                self.assertIn("is made once", text)
            self.assertIn("no cook looked for one", self.hob("--if", "art/x.txt", "--url", url))
            self.assertEqual(json.loads(self.hob("--if", "art/t.png", "--json", "--url", url))["count"], 3)
            self.assertIn("no watched folder", self.hob("--if", "/etc/passwd", "--url", url, code=2))
            self.assertIn("leave the asset out", self.hob("art/m/a.obj", "--if", "art/t.png", "--url", url, code=2))


if __name__ == "__main__":
    main()
