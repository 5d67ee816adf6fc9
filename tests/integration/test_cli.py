"""The command line: output of each command with a running daemon, exit codes, and error messages."""
import json
import os
import re
import shutil
import socket
import subprocess

from command_line import GLTF, TRIANGLE, TRIANGLE_URI, CommandLine
from hobtest import DEADLINE, HOB, bumpy_grid, kept_blobs, main, obj_text, until


class Usage(CommandLine):
    def test_names_do_not_steer_a_terminal(self):
        for name in ("bell\a.obj", "csi\u009b2J.obj", "turned\u202ejbo.obj", "isolated\u2067.obj"):
            self.put(name, obj_text(1))
        said = self.hob("cook", self.art, "-o", self.folder / "o")[1]
        for name in ("bell?.obj", "csi??2J.obj", "turned???jbo.obj", "isolated???.obj"):
            self.assertIn(name, said)

    def test_streams_that_are_full_or_closed(self):
        self.put("a.obj", obj_text(1))
        with open("/dev/full", "w") as full:
            for command in (["help"], ["completion", "bash"], ["--version", "--json"]):
                ran = subprocess.run([HOB, *command], stdout=full, stderr=subprocess.PIPE, text=True, timeout=DEADLINE, check=False)
                self.assertEqual(ran.returncode, 5, command)
                self.assertIn("could not be written: No space left on device", ran.stderr)
        closed = subprocess.run(["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", HOB, "cook", self.art, "-o", self.folder / "p"],
                                timeout=DEADLINE, check=False)
        self.assertEqual(closed.returncode, 0)
        self.assertTrue((self.folder / "p/a.obj.meshes").exists())

    def test_colours_follow_the_environment(self):
        self.put("a.obj", obj_text(1))
        own = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "CLICOLOR_FORCE", "CI")}
        for terminal, environment, colours in ((True, {}, True), (False, {}, False), (True, {"TERM": "dumb"}, False),
                                               (True, {"NO_COLOR": "1"}, False), (True, {"CI": "true"}, False),
                                               (False, {"CLICOLOR_FORCE": "1"}, True), (False, {"CLICOLOR_FORCE": "0"}, False),
                                               (False, {"CLICOLOR_FORCE": "1", "TERM": "dumb"}, True),
                                               (True, {"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}, False)):
            ours, theirs = os.openpty() if terminal else os.pipe()
            ran = subprocess.run([HOB, "cook", self.art, "-o", self.folder / "c"], env=own | {"TERM": "xterm"} | environment,
                                 stderr=theirs, timeout=DEADLINE, check=False)
            said = os.read(ours, 65536)
            os.close(theirs)
            os.close(ours)
            self.assertEqual((ran.returncode, b"\x1b[3" in said), (0, colours), (terminal, environment, said))

    def commands(self):
        return re.findall(r"^  ([a-z]{2,})  ", self.hob("help")[0].split("Everyday")[1], re.M)

    def test_every_command_refuses_what_it_does_not_take(self):
        commands = self.commands()
        self.assertGreater(len(commands), 15)
        for command in commands:
            usage = re.search(r"^Usage: hob \S+ \[OPTION\]... ?(.*)$", self.hob("help", command)[0], re.M).group(1)
            many = ["x"] * (len(usage.split()) + 1)
            if "..." not in usage:
                self.assertIn("one argument too many", self.hob(command, *many, code=2)[1], command)
            self.assertIn("unknown option", self.hob(command, "--no-such-option", code=2)[1], command)
        self.assertIn("'--out' needs a value", self.hob("cook", self.art, "-o", "", code=2)[1])
        self.hob("help", "ls", "x", code=2)
        self.hob("--version", "x", code=2)
        self.hob("--version", "--json", "x", code=2)
        versions = json.loads(self.hob("--version", "--json")[0])
        self.assertEqual(self.hob("--version")[0], f"hob {versions['hob']}\n")
        self.assertEqual(set(versions), {"hob", "api", "packed", "index", "cook"})

    def test_help_says_what_is_true(self):
        text = self.hob("help", "serve")[0]
        self.assertNotIn("(20 GiB)", text)
        self.assertRegex(text, r"--memory SIZE [^-]*\(4 GiB\)")
        for command in self.commands():
            for columns in (80, 160):
                long = [line for line in self.hob("help", command, COLUMNS=str(columns))[0].splitlines() if len(line) > columns]
                self.assertEqual(long, [], command)
                paged = self.hob("help", command, COLUMNS=str(columns), NO_COLOR="", CLICOLOR_FORCE="1")[0]
                self.assertNotIn("\x1b", paged)
                self.assertFalse([line for line in paged.splitlines() if line != line.rstrip()], command)
                lines = paged.splitlines()
                self.assertTrue(all(len(line.split()) > 1 or not line or line.startswith("  ") or line.endswith(":") or
                                    not lines[i + 1].strip() for i, line in enumerate(lines[:-1])), paged)  # no word alone inside a text
        self.assertFalse([line for line in self.hob("help")[0].splitlines() if len(line) > 79])
        self.assertIn("there are --help and --version", self.hob("--halp", code=2)[1])
        text = self.hob("help", "ls")[0]
        for state in ("fresh", "updating", "waiting", "broken", "blocked", "interrupted", "missing", "skipped", "removed"):
            self.assertRegex(text, rf"(?m)^  {state}: ")

    def test_a_folder_without_models_says_what_models_are(self):
        said = self.hob("cook", self.art, code=2)[1]
        self.assertIn("no model was found", said)
        for extension in (" .glb ", " .obj ", " .fbx "):
            self.assertEqual(said.count(extension), 1, said)
        self.assertTrue(said.endswith("and others: 'hob formats' lists them\n"), said)

    def test_inspect_of_a_model(self):
        self.put("m.obj", obj_text(5, mtl="m.mtl"))
        self.put("m.mtl", "newmtl m\nKd 1 0 0\n")
        self.put("bad.gltf", "{")
        before = sorted(os.listdir(self.folder))
        said = self.hob("inspect", self.art / "m.obj", TMPDIR=str(self.folder))[0]
        for words in ("m.obj: meshes\npacked MESH file", "m.obj: materials\npacked MATL file", "m.obj: scene\npacked SCNE file",
                      "\n1 mesh\n", "\n1 material\n"):
            self.assertIn(words, said)
        kinds = [json.loads(line)["kind"] for line in self.hob("inspect", "--json", self.art / "m.obj")[0].splitlines()]
        self.assertEqual(kinds, ["MESH", "MATL", "SCNE"])
        self.assertEqual(self.hob("inspect", "--validate", self.art / "m.obj")[0].count(": valid\n"), 3)
        self.assertIn("bad.gltf: JSON:", self.hob("inspect", self.art / "bad.gltf", code=1, TMPDIR=str(self.folder))[1])
        self.assertEqual(sorted(os.listdir(self.folder)), before)
        self.put("text.txt", "nothing")
        self.assertIn("text.txt", self.hob("inspect", self.art / "text.txt", code=1)[1])

    def test_words_that_are_nearly_right(self):
        self.assertIn("no state 'faild'; did you mean 'failed'?", self.hob("ls", "--state", "fresh,faild", code=2)[1])
        self.assertIn("no state 'x'", self.hob("ls", "--state", "x", code=2)[1])
        self.assertIn("did you mean 'create'?", self.hob("token", "crate", "me", code=2)[1])
        self.assertIn("say what to do", self.hob("token", "frobnicate", code=2)[1])

    def test_nobody_answers(self):
        for url in ("127.0.0.1:1", "http://127.0.0.1:1"):
            self.assertIn("no daemon answers", self.hob("status", "--url", url, code=3)[1])
        self.assertIn("no daemon answers", self.hob("status", "--url", "https://127.0.0.1:1", code=3)[1])
        self.assertIn("HOST:PORT", self.hob("status", "--url", "ftp://example.org", code=2)[1])


class Queries(CommandLine):
    def test_status_and_names(self):
        self.put("props/duck.obj", obj_text(3, mtl="duck.mtl"))
        self.put("props/box.obj", obj_text(1).replace("f 1 2 3", "f 1 2 3\nusemtl none"))
        self.put("bad.gltf", GLTF % "gone.bin")
        self.start()
        text = self.hob("status")[0]
        self.assertIn("3 assets", text)
        self.assertRegex(text, r"1  broken +hob ls --state broken")
        self.assertIn("their own files only", text)
        self.assertNotIn("1 warnings", text + self.hob("ls", "--long")[0])
        self.assertIn(f"watching  {self.art}", text)
        self.assertEqual(json.loads(self.hob("status", "--json")[0])["assets"]["failed"], 1)
        self.assertEqual(self.hob("ls", "props/*.obj")[0].split(), ["fresh", "art/props/box.obj", "fresh", "art/props/duck.obj"])
        self.assertEqual(self.hob("ls", "art/**/b*.obj")[0].split(), ["fresh", "art/props/box.obj"])
        lines = [json.loads(line) for line in self.hob("ls", "--json")[0].splitlines()]
        self.assertEqual({line["path"] for line in lines}, {"bad.gltf", "props/box.obj", "props/duck.obj"})
        # The error names the missing file, and nothing of the reader's internals.
        listed = self.hob("ls", "--state", "failed")[0]
        self.assertIn("'gone.bin' does not exist", listed)
        self.assertNotIn("accessor", listed)
        for command in ("why", "log", "get"):
            said = self.hob(command, "art/props/dukc.obj", *(["-o", self.folder / "x"] if command == "get" else []), code=2)[1]
            self.assertIn("did you mean\n  art/props/duck.obj\n", said, command)
        self.assertIn("  art/bad.gltf", self.hob("why", "bad.glft", code=2)[1])
        self.assertIn("'hob ls' lists", self.hob("why", "art/nothing/like-it.fbx", code=2)[1])
        self.assertIn("cannot be written: No such", self.hob("get", "art/props/duck.obj", "-o", self.folder / "no/x", code=2)[1])
        self.assertIn("there are: meshes", self.hob("get", "art/props/duck.obj", "none", "-o", self.folder / "x", code=2)[1])
        self.assertIn("there are: meshes", self.hob("get", "props/duck.obj", "none", "-o", self.folder / "x", code=2)[1])
        for name in ("art/props/duck.obj", "props/duck.obj"):
            self.hob("get", name, "-o", self.folder / name.replace("/", "-"))
        self.assertEqual(*((self.folder / name).read_bytes() for name in ("art-props-duck.obj", "props-duck.obj")))
        piped = subprocess.run([HOB, "get", "art/props/duck.obj", "-o", "-", "--url", f"http://127.0.0.1:{self.daemon.port}"],
                               capture_output=True, check=True).stdout
        self.assertEqual(piped, (self.folder / "props-duck.obj").read_bytes())
        # Hints are for users, not for programs.
        self.assertNotIn("GET /", self.hob("why", "none", code=2)[1] + self.hob("log", "12345", code=2)[1])
        host = self.daemon.get("/", Host="studio.example")
        self.assertIn("--allowed-host studio.example", host.json()["hint"])

    def test_why_names_the_setting_and_the_inputs(self):
        self.put("props/duck.obj", obj_text(40, mtl="duck.mtl"))
        self.put("props/duck.mtl", "newmtl m\nKd 1 0 0\n")
        self.start()
        first = self.daemon.assets()["art/props/duck.obj"]["rev"]
        self.put("props/cook.json", '{"lods": {"max": 3}}')
        self.daemon.sync()
        item = self.daemon.assets()["art/props/duck.obj"]
        why = self.daemon.get(f"/api/v1/assets/{item['id']}/why").json()
        self.assertEqual(why["changed"], [{"setting": "lods.max", "from": 7, "to": 3, "origin": "props/cook.json"}])
        self.assertEqual(why["unchanged"], 2)
        self.put("props/duck.mtl", "newmtl m\nKd 0 1 0\n")
        self.daemon.sync()
        why = self.daemon.get(f"/api/v1/assets/{item['id']}/why").json()
        self.assertEqual([c["input"] for c in why["changed"]], ["duck.mtl"])
        why = self.daemon.get(f"/api/v1/assets/{item['id']}/why?rev={first}").json()
        self.assertEqual({c.get("setting", c.get("input")) for c in why["changed"]}, {"lods.max", "duck.mtl"})
        text = self.hob("why", "art/props/duck.obj", "--against", first)[0]
        self.assertRegex(text, r"changed   lods\.max +7 -> 3  \(props/cook\.json\)")
        self.assertRegex(text, r"changed   duck\.mtl +[0-9a-f]{12} -> [0-9a-f]{12}\n")
        self.assertIn("there is no rev 999999 yet", self.hob("why", "art/props/duck.obj", "--against", 999999, code=2)[1])
        self.assertIn("not a revision", self.hob("why", "art/props/duck.obj", "--against", "x", code=2)[1])
        job = self.daemon.get("/api/v1/jobs?limit=1&state=cooked&asset=art/props/duck.obj").json()["items"][0]
        stages = [stage["stage"] for stage in job["stages"]]
        self.assertEqual(stages[0], "hash-source")  # a preview may come first
        self.assertEqual(stages[-8:], ["match", "wait", "cook", "hash-read", "judge", "store", "check", "record"])
        told = self.hob("log", job["id"])[0]
        self.assertIn(f"job {job['id']}  art/props/duck.obj  cooked", told)
        self.assertNotIn("  stage ", self.hob("log", "art/props/duck.obj")[0])
        self.assertEqual(re.findall(r"^  stage     (\S+) +[0-9.]+ ms$", told, re.M), stages)
        # The previous cook had the same inputs: that is printed before the differences from an older one.
        self.assertFalse(self.daemon.get(f"/api/v1/assets/{item['id']}/why").json()["previous"]["same"])
        self.daemon.post(f"/api/v1/assets/{item['id']}/cook", {"force": True})
        self.daemon.sync()
        why = self.daemon.get(f"/api/v1/assets/{item['id']}/why").json()
        history = self.daemon.get(f"/api/v1/assets/{item['id']}/history").json()["items"]
        self.assertEqual([(why[key]["job"], why[key]["at"], why[key]["same"]) for key in ("previous", "compared")],
                         [(history[1]["job"], history[1]["at"], True), (history[2]["job"], history[2]["at"], False)])
        self.assertEqual([c["input"] for c in why["changed"]], ["duck.mtl"])
        self.assertIn(f"  the same  inputs and settings as the cook before, {history[1]['at']} (job {history[1]['job']})\n"
                      f"  other     than the one of {history[2]['at']} (job {history[2]['job']}):\n  changed   duck.mtl ",
                      self.hob("why", "art/props/duck.obj")[0])
        # The printed command makes the same bytes without the daemon.
        again = re.search(r"again     (hob cook .*)", text).group(1)
        out = self.folder / "again"
        subprocess.run(["sh", "-c", again.replace("hob", HOB, 1).replace("-o cooked/", f"-o {out}")], check=True,
                       capture_output=True, timeout=DEADLINE)
        self.assertEqual((out / "props/duck.obj.meshes").read_bytes(), self.daemon.blob("art/props/duck.obj"))

    def test_a_failed_cook_says_nothing_about_what_it_did_not_reach(self):
        self.put("duck.gltf", GLTF % "duck.bin")
        self.put("duck.bin", TRIANGLE)
        self.start()
        for text, changed in (("{", {"duck.gltf"}), (GLTF % "duck.bin" + " ", {"duck.gltf"})):
            self.put("duck.gltf", text)
            self.daemon.sync()
            item = self.daemon.assets()["art/duck.gltf"]
            why = self.daemon.get(f"/api/v1/assets/{item['id']}/why").json()
            self.assertEqual({c["input"] for c in why["changed"]}, changed, why)
        self.put("other.bin", TRIANGLE)
        self.put("duck.gltf", GLTF % "other.bin")
        self.daemon.sync()
        text = self.hob("why", "art/duck.gltf")[0]
        self.assertRegex(text, r"other\.bin +is used now\n")
        self.assertRegex(text, r"duck\.bin +is no longer used\n")

    def test_what_the_cache_knows_is_told_as_it_was(self):
        self.put("bad.obj", obj_text(3))
        self.put("good.obj", obj_text(4))
        self.start("--jobs", "1")
        for text in ("f 1 2 3\n", obj_text(5), "f 1 2 3\n"):
            self.put("bad.obj", text)
            self.daemon.sync()
        why, log = self.hob("why", "art/bad.obj")[0], self.hob("log", "art/bad.obj")[0]
        self.assertTrue(why.startswith("art/bad.obj: failed, as known: the same inputs failed before\n"), why)
        self.assertRegex(log, r"^job \d+  art/bad\.obj  failed, as known: the same inputs failed before  ")
        for text in (why, log):
            self.assertRegex(text, r"(?m)^  failed    .+\n(  at .*\n)?  hint      ")
        self.assertRegex(why, r"(?m)^  took      .* when it was cooked$")
        self.assertRegex(self.hob("status")[0], r"1  broken +hob ls --state broken\n")
        self.put("good.obj", obj_text(6))
        self.daemon.sync()
        text = self.hob("why", "art/good.obj")[0]
        self.assertNotIn("when it was cooked", text)
        self.assertNotIn("nothing", text)
        self.put("good.obj", obj_text(4))
        self.daemon.sync()
        text = self.hob("why", "art/good.obj")[0]
        self.assertIn("art/good.obj: reused\n", text)
        self.assertRegex(text, r"(?m)^  took      .* when it was cooked$")
        self.assertNotIn("as before", text)
        self.assertEqual(self.daemon.stop(), 0)
        self.start()
        self.assertRegex("".join(self.daemon.printed), r"ready in .* \(1 fresh, 1 broken, \d+ to cook\)\n")

    def test_versions_of_an_asset_are_compared(self):
        self.put("duck.obj", obj_text(40))
        self.put("twin.obj", obj_text(40))
        self.start()
        self.assertIn("art/duck.obj", self.hob("diff", "art/duck.obj", code=2)[1])
        rev = self.daemon.get("/api/v1/revs/latest/manifest").json()["rev"]
        self.hob("get", "art/duck.obj", "-o", self.folder / "old.meshes")
        self.put("duck.obj", obj_text(41, shift=1.0))
        self.daemon.sync()
        said = self.hob("diff", "art/duck.obj", code=1)[0]
        now = self.daemon.assets()["art/duck.obj"]["rev"]
        self.assertTrue(said.startswith("the cook before -> now: 1 changed, 0 new, 0 gone"), said)
        self.assertIn("\nart/duck.obj\n", said)
        self.assertIn("triangles", said)
        between = self.hob("diff", f"art/duck.obj@{rev}", f"art/duck.obj@{now}", code=1)[0]
        self.assertEqual(between.splitlines()[1:], said.splitlines()[1:])
        by_rev = self.hob("diff", f"art/duck.obj@{rev}", code=1)[0]
        self.assertEqual(by_rev.splitlines()[1:], said.splitlines()[1:])
        self.assertIn(f"rev {rev} -> rev {now}: ", by_rev)
        self.assertEqual(self.hob("diff", f"duck.obj@{rev}", code=1)[0], by_rev)
        self.assertIn("0 changed", self.hob("diff", f"art/twin.obj@{rev}")[0])
        old, new = self.folder / "old.meshes", self.folder / "new.meshes"
        self.hob("get", "art/duck.obj", "-o", new)
        self.assertEqual(self.hob("diff", old, old)[0], "equal\n")
        self.assertIn("aabb_max [20.5,1,0] -> [22,1,0]", self.hob("diff", old, new, code=1)[0])
        self.assertEqual(json.loads(self.hob("diff", old, old, "--json")[0]), {"equal": True, "lines": []})
        told = json.loads(self.hob("diff", old, new, "--json", code=1)[0])
        self.assertEqual((told["equal"], any("aabb_max" in line for line in told["lines"])), (False, True))
        for pair in ((old, "art/duck.obj"), ("art/duck.obj", old), ("art/duck.obj", f"art/twin.obj@{rev}")):
            self.assertIn("'art/duck.obj' is no cooked file here", self.hob("diff", *pair, code=2)[1])
        self.assertIn("no such rev", self.hob("diff", "art/duck.obj@99999", code=2)[1])
        self.assertIn("did you mean\n  art/duck.obj", self.hob("diff", "art/duk.obj", code=2)[1])
        self.hob("diff", old, code=2)
        # Facts for users come first; range digests of large files are not shown.
        for height in (0.1, 0.2):
            (self.folder / "grid.obj").write_text(bumpy_grid(70, height))
            self.hob("cook", self.folder / "grid.obj", "-q", "--settings", '{"lods": {"max": 1}}', "-o", self.folder / f"out{height}")
        files = [self.folder / f"out{height}/grid.obj.meshes" for height in (0.1, 0.2)]
        self.assertIn("RNGS", self.hob("inspect", files[0])[0])
        grids = self.hob("diff", *files, code=1)[0]
        self.assertRegex(grids, r"^  \d+ bytes -> \d+\n  MDSC: 1 element")
        self.assertNotIn("RNGS", grids)
        for name in ("plain.txt", "other.txt"):
            (self.folder / name).write_text("no model")
            for path in (self.folder / name, os.path.relpath(self.folder / name)):
                self.assertIn(f"'{path}' is a file, but not a cooked one", self.hob("diff", path, old, code=2)[1])
        # The source below the current folder has the asset's name, and is not a cooked file.
        here = subprocess.run([HOB, "diff", "art/duck.obj"], cwd=self.folder, capture_output=True, text=True, timeout=DEADLINE,
                              env=dict(os.environ, NO_COLOR="1", HOB_URL=f"127.0.0.1:{self.daemon.port}"), check=False)
        self.assertEqual((here.returncode, here.stdout), (1, said))

    def test_log_of_an_asset_and_of_a_job(self):
        self.put("bad.gltf", '{\n"asset": oops}')
        self.start()
        text = self.hob("log", "art/bad.gltf")[0]
        self.assertEqual(self.hob("log", "bad.gltf")[0], text)  # as 'hob why' takes it
        self.assertIn("there is no asset 'bad.glft'; did you mean\n  art/bad.gltf\n", self.hob("log", "bad.glft", code=2)[1])
        self.assertIn("did you mean\n  art/bad.gltf\n", self.hob("get", "bad.glft", "-o", self.folder / "x", code=2)[1])
        number = re.match(r"job (\d+)  art/bad\.gltf  failed", text).group(1)
        self.assertRegex(text, r"failed    .*\n  at        bad\.gltf:2\n")
        self.assertIn("hob cook", text)
        self.assertEqual(re.sub(r"(?m)^  stage .*\n", "", self.hob("log", number)[0]), text)  # of a job it has the stages, too
        self.assertEqual(json.loads(self.hob("log", number, "--json")[0])["result"], "failed")
        process = subprocess.Popen([HOB, "log", "art/bad.gltf", "--follow"], stdout=subprocess.PIPE, text=True,
                                   env=dict(os.environ, NO_COLOR="1", HOB_URL=f"127.0.0.1:{self.daemon.port}"))
        self.addCleanup(lambda: (process.kill(), process.wait(), process.stdout.close()))
        self.assertIn(f"job {number}", process.stdout.readline())
        until(lambda: self.daemon.get("/api/v1/clients").json()["count"] >= 2, "a second client")
        self.put("bad.gltf", (GLTF % "a.bin").replace('"uri":"a.bin",', '"uri":"data:;base64,%s",' % TRIANGLE_URI))
        for line in process.stdout:
            if line.startswith("job "):
                break
        self.assertIn("art/bad.gltf  cooked", line)


class Housekeeping(CommandLine):
    def test_gc_and_verify(self):
        self.put("a.obj", obj_text(200))
        self.start()
        self.assertEqual(self.hob("gc", "--dry-run")[0], "the cache is within its limit; nothing would go\n")
        self.assertRegex(self.hob("gc", "--dry-run", "--max-size", "1KB")[0], r"^nothing would go: the cache is .* over its limit")
        self.assertRegex(self.hob("gc")[0], r"^freed [1-9]|^the cache is within its limit; nothing had to go$")
        self.assertEqual(json.loads(self.hob("gc", "--json")[0])["kind"], "gc")
        self.assertRegex(self.hob("gc", "--max-size", "1")[0], r"^freed nothing: the cache is .* over its limit, but assets use")
        self.assertIn("--max-size begins at 1 byte", self.hob("gc", "--max-size", "0", code=2)[1])
        self.assertIn("'lots' is not a size", self.hob("gc", "--max-size", "lots", code=2)[1])
        self.assertRegex(self.hob("verify")[0], r"^\d+ files checked, none damaged\n$")
        blob = next(o["hash"] for o in self.daemon.assets("&fields=root,path,outputs")["art/a.obj"]["outputs"]
                    if o["name"] == "meshes")
        kept = kept_blobs(self.cache)[blob]
        kept.write(b"x" * kept.size)
        self.assertRegex(self.hob("verify", "--dry-run", code=1)[0], r", 1 damaged; without --dry-run")
        self.assertRegex(self.hob("verify")[0], r", 1 damaged: dropped, and cooked again\n$")
        self.daemon.wait_asset("art/a.obj", "fresh")
        self.assertRegex(self.hob("verify", "--json")[0], r'"damaged":0')

    def test_gc_to_a_size_keeps_what_is_used(self):
        self.start()
        for i in range(3):
            self.put("a.obj", obj_text(300 + i))
            self.daemon.sync()
        before = self.daemon.blob("art/a.obj")
        # Results used in the last minute stay, and so do live ones: nothing may break.
        self.hob("gc", "--max-size", "1")
        self.assertEqual(self.daemon.blob("art/a.obj"), before)
        self.assertEqual(self.daemon.get("/api/v1/stats").json()["cache"]["limit_bytes"], 0)


class Doctor(CommandLine):
    def look(self, *args, code=0, **environment):
        """{name: [(state, text, remedy)]}"""
        answer = json.loads(self.hob("doctor", *args, "--json", "--cache", self.cache, code=code, **environment)[0])
        self.assertEqual(answer["ok"], code == 0)
        found = {}
        for check in answer["checks"]:
            found.setdefault(check["name"], []).append((check["state"], check["text"], check["remedy"]))
            self.assertEqual(bool(check["remedy"]), check["state"] != "ok", check)
        return found

    def test_all_is_well_and_a_daemon_runs(self):
        self.put("sub/a.obj", obj_text())
        self.start()
        found = self.look(self.art, HOB_LISTEN=f"127.0.0.1:{self.daemon.port}")
        self.assertEqual(found["folder"], [("ok", f"{self.art}: 1 file in 2 folders", "")])
        self.assertIn("assimp 5", found["libraries"][0][1])
        version = self.hob("--version")[0].split()[1]
        self.assertEqual(found["daemon"][0][:2], ("ok", f"hob {version} runs at 127.0.0.1:{self.daemon.port}"))
        self.assertIn("by the daemon that runs", found["address"][0][1])
        text = self.hob("doctor", self.art, "--cache", self.cache, HOB_LISTEN=f"127.0.0.1:{self.daemon.port}")[0]
        self.assertRegex(text, r"(?m)^  ok    sandbox|^  warn  sandbox")
        self.assertIn("0 errors\n", text)
        self.assertIn(("ok", f"'{self.cache}' is used by a Hob that runs (pid {self.daemon.process.pid}); a second one would be refused",
                       ""), found["cache"])
        found = self.look(self.art, code=1, HOB_URL="127.0.0.1:1", HOB_LISTEN="127.0.0.1:0")
        self.assertIn(("fail", f"another Hob (pid {self.daemon.process.pid}) uses '{self.cache}'",
                       "stop it, or choose another folder with --cache"), found["cache"])
        self.daemon.stop()
        found = self.look(self.art, HOB_URL="127.0.0.1:1", HOB_LISTEN="127.0.0.1:0")
        self.assertNotIn("pid", str(found["cache"]))

    def test_what_is_not_right_is_named_with_a_remedy(self):
        self.put("sub/a.obj", obj_text())
        os.utime(self.art / "sub/a.obj", (4e9, 4e9))
        with socket.create_server(("127.0.0.1", 0)) as taken:
            found = self.look(self.art, self.art / "sub", self.folder / "none", code=1,
                              HOB_LISTEN=f"127.0.0.1:{taken.getsockname()[1]}", HOB_MEMORY="900 TiB", HOB_URL="127.0.0.1:1")
        self.assertIn(("fail", f"'{self.folder}/none' cannot be opened: No such file or directory",
                       "mount or create it, or correct 'sources' in hob.json"), found["folder"])
        self.assertTrue(any(f"'{self.art}/sub' lies in '{self.art}'" in text for _, text, _ in found["folder"]))
        self.assertIn("1 file from the future", found["clock"][0][1])
        self.assertEqual(found["address"][0][0], "fail")
        self.assertEqual(found["memory"][0][0], "warn")
        self.assertEqual(found["daemon"][0][:2], ("ok", "none runs at 127.0.0.1:1"))
        (self.folder / "hob.json").write_text('{"server": {"listn": "x"}}')
        found = self.look("--config", self.folder / "hob.json", code=1)
        self.assertIn("did you mean 'server.listen'", found["config"][0][1])

    def test_layers_of_the_sandbox_that_hold_here(self):
        """Landlock is limited by the environment, simulating an older kernel."""
        full = self.look(self.art)["sandbox"][0]
        if "landlock" not in full[1] or "no landlock" in full[1]:
            self.skipTest(f"this machine has {full[1]}")
        self.assertEqual(full[0], "ok")
        self.assertIn("landlock 1,", self.look(self.art, HOB_LANDLOCK_ABI="1")["sandbox"][0][1])
        state, text, remedy = self.look(self.art, HOB_LANDLOCK_ABI="0")["sandbox"][0]
        self.assertEqual((state, "no landlock" in text, "kernel" in remedy), ("warn", True, True))

    def test_programs_that_do_not_belong_together(self):
        programs = self.folder / "bin"
        programs.mkdir()
        shutil.copy(HOB, programs / "hob")
        answer = json.loads(subprocess.run([programs / "hob", "doctor", self.art, "--json"], capture_output=True, text=True,
                                           timeout=DEADLINE, check=False, cwd=self.folder).stdout)
        self.assertFalse(answer["ok"])
        self.assertIn("hob-worker is not beside hob", str(answer["checks"]))
        (programs / "hob-worker").write_text("#!/bin/sh\necho libassimp.so.5 is not here\nexit 127\n")
        (programs / "hob-worker").chmod(0o755)
        answer = json.loads(subprocess.run([programs / "hob", "doctor", self.art, "--json"], capture_output=True, text=True,
                                           timeout=DEADLINE, check=False, cwd=self.folder).stdout)
        self.assertIn("libassimp.so.5 is not here", str(answer["checks"]))
        (programs / "hob-worker").write_bytes(b"no program of this machine")
        answer = json.loads(subprocess.run([programs / "hob", "doctor", self.art, "--json"], capture_output=True, text=True,
                                           timeout=DEADLINE, check=False, cwd=self.folder).stdout)
        self.assertIn("Exec format error", str(answer["checks"]))
        cooked = subprocess.run([programs / "hob", "cook", self.art, "-o", self.folder / "out"], capture_output=True, text=True,
                                timeout=DEADLINE, check=False, cwd=self.folder)
        self.assertEqual(cooked.returncode, 5, cooked.stderr)
        self.assertIn("could not be started: Exec format error", cooked.stderr)


class Watching(CommandLine):
    def follow(self, *args):
        process = subprocess.Popen([HOB, *args], stdout=subprocess.PIPE, text=True,
                                   env=dict(os.environ, NO_COLOR="1", HOB_URL=f"127.0.0.1:{self.daemon.port}"))
        self.addCleanup(lambda: (process.kill(), process.wait(), process.stdout.close()))
        return process

    def listening(self):
        until(lambda: self.daemon.get("/api/v1/clients").json()["count"] >= 2, "a second client")

    def test_a_command_for_each_change_whatever_the_file_is_called(self):
        self.start()
        process = self.follow("watch", "--exec", "echo {state} {asset} $HOB_KIND; echo {id}")
        self.listening()
        name = "a'b;touch $(touch pwned) `touch pwned`.obj"
        self.put(name, obj_text(2))
        self.assertEqual(process.stdout.readline(), f"fresh art/{name} cooked\n")
        self.assertRegex(process.stdout.readline(), r"^[0-9a-z]+\n$")
        self.assertFalse(os.path.exists("pwned"))

    def told(self, *args):
        """A watch whose lines on stdout and stderr are read individually."""
        process = subprocess.Popen([HOB, "watch", *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env=dict(os.environ, NO_COLOR="1", HOB_URL=f"127.0.0.1:{self.daemon.port}"))
        self.addCleanup(lambda: (process.kill(), process.wait(), process.stdout.close(), process.stderr.close()))
        return process, lambda: json.loads(process.stdout.readline())

    def test_a_watch_goes_on_when_the_daemon_is_back(self):
        self.start()
        process, line = self.told("--json", "art/*")
        self.assertEqual(line()["event"], "hello")
        self.put("one.obj", obj_text(2))
        first = line()
        self.assertEqual((first["event"], first["asset"], first["state"]), ("asset", "art/one.obj", "fresh"))
        self.daemon.stop()
        lost = line()
        self.assertEqual(lost["event"], "lost")
        self.assertIn("waiting until it is back", process.stderr.readline())
        self.daemon = self.serve(listen=f"127.0.0.1:{self.daemon.port}")
        self.assertEqual(line()["event"], "hello")
        self.assertIn("is back", process.stderr.readline())
        # The new daemon does not have the old one's history.
        self.assertEqual(line()["event"], "reset")
        self.assertRegex(process.stderr.readline(), "no longer kept; what changed before now may be missing here: 'hob ls'")
        self.put("two.obj", obj_text(3))
        second = line()
        while second["asset"] != "art/two.obj":
            second = line()
        self.put("three.obj", obj_text(4))
        third = line()
        # From a valid id, and from invalid ids.
        _, line = self.told("--json", "--since", second["event_id"])
        self.assertEqual([line()["event"], line()], ["hello", third])
        for wrong, why in ((first["event_id"], "no longer kept"), ("12", "no longer kept"),
                           ("nonsense", "another database or unreadable"), ("abc.5", "another database or unreadable")):
            process, line = self.told("--since", wrong)
            self.assertIn(f"--since {wrong}: ", said := process.stderr.readline())
            self.assertIn(why, said)

    def test_a_watch_that_shall_end_with_the_daemon(self):
        self.start()
        process, line = self.told("--json", "--once")
        self.assertEqual(line()["event"], "hello")
        self.daemon.stop()
        self.assertEqual(process.wait(timeout=DEADLINE), 3)
        self.assertIn("ended the stream", process.stderr.read())
        nobody, _ = self.told()
        self.assertEqual(nobody.wait(timeout=DEADLINE), 3)
        self.assertIn("no daemon answers", nobody.stderr.read())


if __name__ == "__main__":
    main()
