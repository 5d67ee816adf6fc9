"""Gates: growth rules, strict cooks, shrunken sources, outputs as inputs of a build."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import unittest

from command_line import CommandLine
from hobtest import CORPUS, DEADLINE, HOB, MODELS, PROJECT, main, obj_text, png


class Gates(CommandLine):
    def test_a_growth_rule_that_cannot_hold_is_an_error(self):
        for rule, said in (('{"nonsense": "0%"}', "there is no number 'nonsense'; there are bytes, mesh_bytes"),
                           ('{"bytse": "0%"}', "there is no number 'bytse'; did you mean 'bytes'?"),
                           ('{"bytes": 100}', 'did you mean "100%"?'), ('{"bytes": "nan%"}', "must be a percentage"),
                           ('{"bytes": -1}', "must be a percentage"), ('{"bytes": "1"}', "must be a percentage"),
                           ('{"bytes": "5%", "materails": "1%"}', "did you mean 'materials'?"),
                           ('{"bytes": "1%", "bytes": "900%"}', "'bytes' is given twice"),
                           ('{"bytes": "1%"} {"triangles": "1%"}', "no JSON object of percentages"),
                           ("{}", "no JSON object of percentages"), ('{"bytes"', "no JSON object of percentages")):
            with self.subTest(rule):
                self.assertIn(said, self.hob("diff", "--from", "1", "--url", "127.0.0.1:1", "--max-growth", rule, code=2)[1])
        for budget, near in (('{"budget":{"triangels":5}}', "budget.triangles"), ('{"budgets":{"triangles":5}}', "budget")):
            self.assertIn(f"did you mean '{near}'?", self.hob("cook", self.art, "--settings", budget, code=2)[1])
        for budget, said in (("{}", "holds a JSON object such as"), ('{"triangles": 1} {}', "holds a JSON object such as"),
                             ('{"triangles": 1, "triangles": 9}', "'triangles' is given twice")):
            self.assertIn(said, self.hob("cook", self.art, "--budget", budget, code=2)[1])

    def test_no_typing_error_opens_a_gate(self):
        """Each gate in each of some hundred wrong spellings, beside the model and in its folder: what is not refused still holds."""
        gates = ('{"budget": {"triangles": 5, "fail": true}}', '{"budget": {"bytes": 50, "fail": true}}', '{"strict": true}',
                 '{"portability": "fail"}', '{"shrunk": "fail", "strict": true}', '{"rules": {"mesh.triangles": {"level": "error", "max": 5}}}',
                 '{"rules": {"uv.missing": "error"}}')
        texts = set()
        for gate in gates:
            texts |= {gate, gate[:-1], gate + "}", gate + " x", f"[{gate}]", gate.replace('"', "'"), gate.replace(":", "="), "\ufeff" + gate, "// " + gate}
            for found in re.finditer(r'"([a-z._]+)"', gate):
                word, put = found[1], lambda text, found=found, gate=gate: gate[:found.start(1)] + text + gate[found.end(1):]
                texts |= set(map(put, (word[1:], word[:-1], word + "s", word.upper(), word.title(), word[1] + word[0] + word[2:], word + " ",
                                       word.replace(".", "_"), word.replace("a", "\u0430"), word + "\\u0000", "", f"{word}.{word}")))
            for found in re.finditer(r"true|\d+", gate):
                put = lambda text, found=found, gate=gate: gate[:found.start()] + text + gate[found.end():]
                texts |= set(map(put, ("null", '"5"', "-1", "1e999", "5.5", "[]", "{}", "TRUE", "yes", "NaN", "'5'", '""', "")))
            for found in re.finditer(r'("[a-z._]+"): (true|\d+|"\w+")', gate):
                texts |= {f"{gate[:found.start()]}{found[0]}, {found[1]}: {other}{gate[found.end():]}" for other in ("false", "99", '"off"')}
        kept = {}
        for text in sorted(texts):
            for name in ("cook.json", "m.obj.cook.json"):
                kept[f"d{len(kept)}/m.obj"] = text
                self.put(f"d{len(kept) - 1}/{name}", text)
                self.put(f"d{len(kept) - 1}/m.mtl", "newmtl m\nmap_Kd ../../above.png\n")
                self.put(f"d{len(kept) - 1}/m.obj", obj_text(9, mtl="m.mtl"))
        report = self.folder / "report.json"
        self.hob("cook", self.art, "--root", self.art, "--check", "--report", report, code=1)
        told = {asset["path"]: asset["state"] for asset in json.loads(report.read_text())["assets"]}
        self.assertEqual({kept[path] for path in kept if told[path] != "failed"}, set())

    def textured(self, name, reference):
        self.put(f"{name}.mtl", f"newmtl m\nKd 1 1 1\nmap_Kd {reference}\n")
        self.put(f"{name}.obj", f"mtllib {name}.mtl\nusemtl m\nv 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 0 1\nf 1/1 2/2 3/3\n")

    def test_strict_makes_a_warning_a_failure(self):
        self.put("tex.png", png(1, 2, 3))
        self.textured("good", "tex.png")
        self.textured("bad", "lost.png")
        out = self.folder / "out"
        self.assertIn("2 cooked, 0 failed", self.hob("cook", self.art, "-o", out)[1])
        for options in (["--strict"], ["--settings", '{"strict": true}']):
            said = self.hob("cook", self.art, "-o", self.folder / "strict", *options, code=4)[1]
            self.assertRegex(said, r"failed  bad.obj: picture 'lost.png' does not exist.*\(strict: true\)")
            self.assertIn("1 cooked, 1 failed", said)
        self.assertFalse((self.folder / "strict/bad.obj.meshes").exists())
        self.put("worse.obj", "f 1 2 3\n")
        self.hob("cook", self.art, "--check", "--strict", code=1)
        self.start()
        kept = self.daemon.blob("art/bad.obj")
        self.put("cook.json", '{"strict": true}')
        self.daemon.sync()
        items = self.daemon.assets()
        self.assertEqual((items["art/good.obj"]["state"], items["art/bad.obj"]["error"]["code"]), ("fresh", "cook.rule"))
        self.assertEqual(self.daemon.blob("art/bad.obj"), kept)
        self.put("lost.png", png(3, 2, 1))
        self.daemon.sync()
        self.assertEqual(self.daemon.assets()["art/bad.obj"]["state"], "fresh")

    def test_portability_covers_absolute_outside_and_twins(self):
        (self.folder / "above.png").write_bytes(png(1, 2, 3))
        self.put("DUP.png", png(1, 2, 3))
        self.put("dup.png", png(3, 2, 1))
        self.put("plain.png", png(3, 2, 3))
        cases = {"plain": ("plain.png", None), "absolute": (self.folder / "above.png", "is not relative to the model"),
                 "drive": ("C:/art/gone.png", "is not relative to the model"), "outside": ("../above.png", "is outside the watched folder"),
                 "twin": ("dup.png", "'dup.png' is beside 'DUP.png'"), "case": ("PLAIN.png", "was not found as written")}
        for name, (reference, _) in cases.items():
            self.textured(name, reference)
        root = ["--root", self.art]
        self.hob("cook", self.art, "--check", *root)
        said = self.hob("cook", self.art, "--check", *root, "--settings", '{"portability": "fail"}', code=4)[1].splitlines()
        failed = {line.split()[1].removesuffix(".obj:"): line for line in said if line.startswith("failed")}
        self.assertEqual(set(failed), set(cases) - {"plain"})
        for name, line in failed.items():
            self.assertIn(cases[name][1], line)
            self.assertIn("(portability: fail)", line)
        self.start("--log-level", "warning")
        self.put("cook.json", '{"portability": "fail"}')
        self.daemon.sync()
        self.assertEqual(self.daemon.assets()["art/twin.obj"]["error"]["code"], "cook.rule")
        (self.art / "DUP.png").unlink()
        self.daemon.sync()
        self.assertEqual(self.daemon.assets()["art/twin.obj"]["state"], "fresh", "it was cooked again when its twin went")

    def test_what_a_save_loses_is_told_and_may_fail(self):
        whole = "o a\n" + obj_text(100)
        points = "".join(line + "\n" for line in whole.splitlines() if line.startswith("v "))
        self.put("m.obj", whole)
        self.start()
        item = lambda: self.daemon.assets("&fields=id,root,path,state,warnings,stats,error")["art/m.obj"]
        good = self.daemon.blob("art/m.obj")
        self.assertNotIn("shrunk", item()["stats"])
        self.put("m.obj", points)
        self.daemon.sync()
        self.assertEqual((item()["state"], item()["warnings"]), ("fresh", 2))
        self.assertIn("triangles 100 -> 0", item()["stats"]["shrunk"])
        self.daemon.wait_log("the last good version had more: triangles 100 -> 0")
        self.put("m.obj", whole)
        self.daemon.sync()
        self.assertNotIn("shrunk", item()["stats"])
        self.put("cook.json", '{"shrunk": "fail"}')
        self.put("m.obj", points)
        self.daemon.sync()
        self.assertEqual((item()["state"], item()["error"]["code"]), ("stale", "cook.rule"))
        self.assertIn("triangles 100 -> 0", item()["error"]["message"])
        self.assertEqual(self.daemon.blob("art/m.obj"), good)
        self.assertEqual(self.daemon.post("/api/v1/assets/%s/cook" % item()["id"], {"force": True}).status, 202)
        self.daemon.sync()
        self.assertEqual((item()["state"], self.daemon.blob("art/m.obj")), ("stale", good), "cooked again, it is still refused")
        self.put("cook.json", "{}")
        self.daemon.sync()
        self.assertEqual(item()["state"], "fresh", "accepted by changing the rule")

    def test_a_known_failure_is_answered_without_a_job(self):
        """POST .../cook of it begins nothing, until a file has changed or the caller insists."""
        lfs = "version https://git-lfs.github.com/spec/v1\noid sha256:" + 64 * "a" + "\nsize 5\n"
        for options in ((), ("--watch", "poll", "--poll-ms", "100")):
            self.put("bad.glb", b"glTF")
            self.put("lfs.glb", lfs)
            self.put("gated/cook.json", '{"budget": {"triangles": 5, "fail": true}}')
            self.put("gated/m.obj", obj_text(9))
            self.put("user.usda", '#usda 1.0\ndef Xform "a" (references = @bad.glb@) {}\n')
            with self.serve(*options) as daemon:
                daemon.sync()
                jobs = lambda: len(daemon.get("/api/v1/jobs?limit=200").json()["items"])
                place = lambda name: f"/api/v1/assets/{daemon.assets()['art/' + name]['id']}/cook"
                before, failed = jobs(), [name[4:] for name, item in daemon.assets().items() if item["error"]]
                self.assertGreaterEqual(len(failed), 3, failed)
                for name in failed:
                    for head in ({}, {"Prefer": "wait=60"}):
                        answer = daemon.request("POST", place(name), {}, head)
                        blocked = daemon.assets()["art/" + name]["standing"] == "blocked"
                        self.assertEqual(answer.status, 503 if blocked else 422, name)
                        problem, error = answer.json(), daemon.assets()["art/" + name]["error"]
                        self.assertEqual((problem["code"], problem["detail"], problem["error"]), (error["code"], error["message"], error))
                        self.assertIn('nothing was cooked: no file of it has changed since; {"force":true}', problem["hint"])
                        self.assertNotIn("job", problem)
                self.assertEqual(jobs(), before, "no job")
                job = daemon.post(place("bad.glb"), {"force": True})
                self.assertEqual(job.status, 202)
                daemon.sync()
                self.assertEqual(daemon.get(job.headers["location"]).json()["cached"], False, "force tries again")
                # A file that was repaired a moment before is cooked, and one that became worse answers for itself.
                self.put("gated/m.obj", obj_text(3))
                self.assertEqual(daemon.request("POST", place("gated/m.obj"), {}, {"Prefer": "wait=60"}).json()["state"], "fresh")
                self.put("lfs.glb", b"glTF!")
                answer = daemon.request("POST", place("lfs.glb"), {}, {"Prefer": "wait=60"})
                self.assertEqual((answer.status, answer.json()["code"]), (422, "import.truncated"))
                self.put("gated/cook.json", '{"budget": {"triangles": 1, "fail": true}}')
                daemon.sync()
                self.assertEqual(daemon.post(place("gated/m.obj"), {}).status, 422, "the last good version is served, the new one is refused")
            with self.serve(*options) as daemon:
                daemon.sync()
                self.assertEqual(daemon.post(place("bad.glb"), {}).status, 422, "after a restart")

    def test_a_text_that_was_cut_or_does_not_match_its_header_is_refused(self):
        ply = ("ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\nproperty float z\n"
               "element face 2\nproperty list uchar int vertex_indices\nend_header\n%s")
        wide = "0 0 0\n1 0 0\n1 1 0\n0 1 0\n3 0 1 2%s\n3 0 2 3%s\n"
        stl = "solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\n"
        off = "OFF\n4 2 0\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n3 0 1 2\n3 0 2 3"
        bad = {"face.obj": obj_text(3)[:-6], "slash.obj": "v 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nf 1/1 2/1 3/", "word.obj": obj_text(3) + "use",
               "vertex.obj": "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\nv 1 2", "wide.ply": ply % (wide % (" 7", " 7")),
               "later.ply": ply % (wide % ("", " 7")), "more.ply": ply % (wide % ("", "") + "3 0 1 2\n"), "open.stl": stl,
               "cut.off": off[:-2], "more.off": off + "\n3 0 1 2\n"}
        good = {"whole.obj": obj_text(3).rstrip(), "note.obj": obj_text(3) + "# the end", "whole.ply": (ply % (wide % ("", ""))).rstrip(),
                "whole.stl": stl + "endsolid", "whole.off": off}
        for name, text in (bad | good).items():
            self.put(name, text)
        said = self.hob("cook", self.art, "--check", code=1)[1]
        self.assertEqual({line.split()[1].rstrip(":") for line in said.splitlines() if line.startswith("failed")}, set(bad))

    def test_what_is_no_asset_is_skipped_whatever_came_first(self):
        picture = b"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 2 +X %d\n" + bytes((128, 128, 128, 129)) * 8
        self.put("cook.json", '{"environment": {"cook": true}}')
        self.put("sky.hdr", picture % 4)
        self.put("odd.hdr", picture[:-16] % 2)
        self.put("m.obj", obj_text(2))
        self.start()
        self.assertEqual(self.daemon.assets()["art/sky.hdr"]["state"], "fresh")
        self.assertEqual(self.daemon.sync()["failed"], [], "a picture that is not twice as wide as high")
        self.put("sky.hdr", "broken")
        self.assertEqual(self.daemon.sync()["failed"], ["art/sky.hdr"])
        self.put("cook.json", "{}")
        self.assertEqual(self.daemon.sync()["failed"], [])
        self.assertEqual(set(self.daemon.assets()), {"art/m.obj"})
        self.assertEqual(self.daemon.get("/api/v1/errors").json()["items"], [])
        self.assertEqual(self.daemon.get("/a/art/sky.hdr").status, 404)
        jobs = self.daemon.get("/api/v1/jobs?state=skipped").json()["items"]
        self.assertIn("art/sky.hdr", {job["asset"] for job in jobs})
        self.assertIn("sky.hdr", self.hob("ls", "--skipped")[0])
        self.assertEqual(self.daemon.stop(), 0)
        self.start()
        self.assertEqual((self.daemon.sync()["failed"], set(self.daemon.assets())), ([], {"art/m.obj"}))

    def test_a_scene_gives_its_place_to_an_export_that_comes_later(self):
        old = CORPUS / "blend/assimp/CubeHierarchy_248.blend"
        if not old.exists():
            self.skipTest("no corpus")
        self.put("thing.blend", old.read_bytes())
        self.start("--blender", "none")
        self.assertEqual(self.daemon.assets()["art/thing.blend"]["state"], "fresh")
        self.put("thing.glb", next(MODELS.rglob("*.glb")).read_bytes())
        self.assertEqual(self.daemon.sync()["failed"], [])
        self.assertEqual(set(self.daemon.assets()), {"art/thing.glb"})
        self.assertIn("thing.blend", self.hob("ls", "--skipped")[0])
        self.hob("get", "--all", "-o", self.folder / "got")
        self.assertEqual(self.daemon.stop(), 0)
        self.start("--blender", "none")
        self.assertEqual(set(self.daemon.assets()), {"art/thing.glb"})

    def test_a_model_without_a_reader_fails_by_name_and_outputs_need_a_folder(self):
        self.put("a.max", "x")
        self.put("m.obj", obj_text(2))
        self.assertIn("1 skipped", self.hob("cook", self.art, "-o", self.folder / "out")[1])
        said = self.hob("cook", self.art / "a.max", self.art / "m.obj", "--root", self.art, "-o", self.folder / "out", code=1)[1]
        self.assertRegex(said, r"failed  .*a\.max: Hob does not read a 3ds Max scene; ")
        for out in (self.art / "m.obj", self.art / "m.obj/deeper", "/proc/none/out"):
            said = self.hob("cook", self.art, "-o", out, code=2)[1]
            self.assertRegex(said, rf"^hob cook: .*'{out}' cannot be written: .*\n$")

    def test_outputs_are_touched_only_when_their_bytes_change(self):
        self.put("tex.png", png(1, 2, 3))
        self.textured("a", "tex.png")
        self.textured("b", "tex.png")
        out = self.folder / "out"
        marks = lambda: {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in out.rglob("*") if path.is_file()}
        for options in ([], ["--cache", self.folder / "kept"]):
            self.hob("cook", self.art, "-o", out, "--classic", *options)
            before = marks()
            self.assertIn("(0 B written)", self.hob("cook", self.art, "-o", out, "--classic", *options)[1])
            self.assertEqual(marks(), before)
        self.put("a.obj", (self.art / "a.obj").read_text().replace("v 1 0 0", "v 2 0 0"))
        self.hob("cook", self.art, "-o", out, "--classic")
        changed = {path.name.split(".obj")[0] for path, mark in marks().items() if before.get(path) != mark}
        self.assertEqual(changed, {"a"})
        (out / "b.obj.meshes").write_bytes(b"x" * (out / "b.obj.meshes").stat().st_size)
        self.hob("cook", self.art, "-o", out, "--classic")
        self.hob("inspect", "--validate", out / "b.obj.meshes")

    def test_a_result_from_the_cache_has_its_inputs(self):
        self.put("tex.png", png(1, 2, 3))
        self.textured("deep/a", "../tex.png")
        for form in ("make", "json"):
            listed = [self.hob("cook", self.art, "-o", self.folder / "out", "--cache", self.folder / "kept", "--depfile", "/dev/stdout",
                               "--depfile-format", form)[0] for _ in range(2)]
            self.assertEqual(listed[1], listed[0])
            for name in ("art/deep/a.obj", "art/deep/a.mtl", "art/tex.png"):
                self.assertIn(name, listed[1])

    def recipe(self, language, number=1):
        page = (PROJECT / "docs/build-rules.md").read_text()
        return page.split(f"```{language}\n")[number].split("```")[0]

    def build(self, *command, cwd):
        path = f"{pathlib.Path(HOB).parent}:{os.environ['PATH']}"
        done = subprocess.run(list(map(str, command)), cwd=cwd, capture_output=True, text=True, timeout=DEADLINE, env={**os.environ, "PATH": path})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def check_build(self, run):
        """run() -> the models that a build cooked."""
        for i in range(6):
            self.put(f"tex{i % 2}.png", png(i % 2, 2, 3))
            self.textured(f"m{i}", f"tex{i % 2}.png")
        names = {f"m{i}.obj" for i in range(6)}
        self.assertEqual(run(names), names)
        self.assertEqual(run(names), set())
        self.put("tex1.png", png(200, 2, 3))
        self.assertEqual(run(names), {"m1.obj", "m3.obj", "m5.obj"})
        self.assertEqual(run(names), set())
        self.put("m2.mtl", (self.art / "m2.mtl").read_text() + "# saved\n")
        self.assertEqual(run(names), {"m2.obj"})
        self.assertEqual(run(names), set())

    @unittest.skipUnless(shutil.which("ninja"), "there is no ninja")
    def test_ninja_cooks_exactly_what_changed(self):
        rule, one = self.recipe("ninja").split("\n\n")

        def run(names):
            (self.folder / "build.ninja").write_text(rule + "\n\n" + "".join(one.replace("spot.obj", name) for name in sorted(names)))
            return set(re.findall(r"hob cook art/(\S+)", self.build("ninja", "-v", cwd=self.folder)))

        self.check_build(run)
        listed = json.loads(self.hob("cook", self.art, "--root", self.art, "-o", self.folder / "out", "--depfile", "/dev/stdout",
                                     "--depfile-format", "json")[0])
        (m1,) = [item for item in listed if item["outputs"][0]["path"].endswith("m1.obj.meshes")]
        inputs = {pathlib.Path(item["path"]).name: item.get("missing", False) for item in m1["inputs"]}
        self.assertEqual(inputs, {"m1.obj": False, "m1.mtl": False, "tex1.png": False, "cook.json": True, "m1.obj.cook.json": True})

    @unittest.skipUnless(shutil.which("ninja"), "there is no ninja")
    def test_ninja_sees_what_was_missing(self):
        """A texture that comes back, also with its old time, and new settings: whoever uses the outputs is built again, nobody else."""
        models = [f"m{i}.obj" for i in range(4)]
        outputs = [f"build/{name}.{kind}" for name in models for kind in ("meshes", "materials")]
        users = "".join(f"build used/{path[6:]}: use {path}\n" for path in outputs)
        (self.folder / "build.ninja").write_text(self.recipe("ninja", 2).replace("build/spot.obj.meshes", " ".join(outputs)) +
                                                 "rule use\n  command = cp $in $out\n" + users)

        def run():
            return set(re.findall(r"cp build/(\S+)", self.build("ninja", "-v", cwd=self.folder)))

        for i, name in enumerate(models):
            self.textured(name[:-4], f"tex/{i % 2}.png")
        self.put("tex/0.png", png(1, 2, 3))
        self.assertEqual(len(run()), len(outputs))
        self.assertEqual(run(), set())
        odd = {"m1.obj.materials", "m3.obj.materials"}
        self.put("tex/1.png", png(4, 5, 6))
        self.assertEqual((run(), run()), (odd, set()))
        (self.art / "tex/1.png").rename(self.folder / "aside.png")
        self.assertEqual((run(), run()), (odd, set()))
        os.utime(self.folder / "aside.png", (1, 1))
        (self.folder / "aside.png").rename(self.art / "tex/1.png")
        os.utime(self.art / "tex", (1, 1))
        self.assertEqual((run(), run()), (odd, set()))
        self.put("m2.obj.cook.json", '{"scale": 2}')
        self.assertEqual((run() >= {"m2.obj.meshes"}, run()), (True, set()))
        self.put("cook.json", '{"scale": 3}')
        self.assertEqual((run() >= {"m0.obj.meshes", "m1.obj.meshes", "m3.obj.meshes"}, run()), (True, set()))

    @unittest.skipUnless(shutil.which("ninja") and shutil.which("cmake"), "there is no CMake or no ninja")
    def test_cmake_cooks_exactly_what_changed(self):
        (self.folder / "CMakeLists.txt").write_text(self.recipe("cmake"))

        def run(names):
            self.build("cmake", "-G", "Ninja", "-S", self.folder, "-B", self.folder / "made", cwd=self.folder)
            return set(re.findall(r"hob cook \S*/art/(\S+)", self.build("ninja", "-v", "-C", self.folder / "made", cwd=self.folder)))

        self.check_build(run)


if __name__ == "__main__":
    main()
