"""What stands beside other people's programs: the schemas that an editor binds, and the add-on for Godot 4, which is not here to run."""
import json
import re

from hobtest import MODELS, PROJECT, Scenario, main

GODOT = PROJECT / "web/godot/addons/hob"
OPENS = re.compile(r"^(@\w+ )*(static )?(func|class|if|elif|else|for|while|match)\b.*:$|^[\w.,\s\"]+:$|^set\(\w+\):$")


class Ecosystem(Scenario):
    def test_the_schemas_that_an_editor_binds_are_served(self):
        (block,) = re.findall(r"^```json\n(.*?)^```$", (PROJECT / "docs/ecosystem.md").read_text(), re.M | re.S)
        with self.serve() as daemon:
            for bound in json.loads(block)["json.schemas"]:
                schema = daemon.get(bound["url"].removeprefix("http://127.0.0.1:7780")).json()
                schema = schema.get("$defs", {}).get("settings", schema)
                self.assertIn("$schema", schema["properties"], "a file may name it")
                self.assertEqual(schema["type"], "object")

    def test_scripts_of_godot_are_whole(self):
        """Tabs alone, blocks that open and are deeper, brackets that close, every name of a file there."""
        scripts = sorted(GODOT.glob("*.gd"))
        self.assertEqual([path.name for path in scripts], ["hob_events.gd", "hob_model.gd", "plugin.gd"])
        for path in scripts:
            before, opened = 0, False
            for number, line in enumerate(path.read_text().splitlines(), 1):
                code = re.sub(r'"(?:[^"\\]|\\.)*"', '""', line).split("#")[0].rstrip()
                if not code.strip():
                    continue
                where = f"{path.name}:{number}: {line}"
                depth = len(code) - len(code.lstrip("\t"))
                self.assertNotIn(" ", code[:len(code) - len(code.lstrip())], where)
                for pair in ("()", "[]", "{}"):
                    self.assertEqual(code.count(pair[0]), code.count(pair[1]), where)
                self.assertTrue(depth == before + 1 if opened else depth <= before, where)
                opened, before = code.endswith(":"), depth
                if opened:
                    self.assertRegex(code.strip() if not code.strip().startswith("@export") else "set(value):", OPENS, where)
            self.assertFalse(opened, path.name)
            for name in re.findall(r'preload\("(.*?)"\)', path.read_text()):
                self.assertTrue((GODOT / name).exists(), name)
        self.assertIn('script="plugin.gd"', (GODOT / "plugin.cfg").read_text())

    def test_what_godot_asks_is_answered(self):
        asked = (GODOT / "hob_model.gd").read_text()
        self.assertIn('"%s/a/%s?output=glb"', asked)
        (self.art / "spot.obj").write_bytes((MODELS / "simple/spot.obj").read_bytes())
        with self.serve() as daemon:
            daemon.sync()
            answer = daemon.request("GET", "/a/art/spot.obj?output=glb", headers={"Prefer": "wait=60"})
            self.assertEqual((answer.status, answer.body[:4]), (200, b"glTF"))
            (self.art / "spot.obj").write_text("v 0 0\nf 1 2 9\n")
            daemon.sync()
            (error,) = [asset["error"] for asset in daemon.assets().values()]
            self.assertLessEqual({"message", "hint", "location"}, set(error))


if __name__ == "__main__":
    main()
