"""A renamed or moved source stays the same asset: id, history, settings and old links follow it."""
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
from urllib.parse import quote

from hobtest import DEADLINE, HOB, Daemon, Scenario, amount, main, obj_text, png, until

MANY = amount(200, 10000)


class Moves(Scenario):
    @staticmethod
    def ids(daemon):
        """{path: id}, when everything is cooked."""
        daemon.sync()
        return {name.removeprefix("art/"): asset["id"] for name, asset in daemon.assets().items()}

    def asker(self, daemon):
        """Sends requests over one connection and skips the check of answers against the schema, which takes far longer."""
        connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=DEADLINE)
        self.addCleanup(connection.close)

        def ask(target):
            connection.request("GET", target)
            answer = connection.getresponse()
            body = answer.read()
            self.assertEqual(answer.status, 200, target)
            return body

        return ask

    def test_one_cause_is_told_once(self):
        """A renamed folder, a lost material, a broken cook.json and a removed folder: each is two lines for twelve models."""
        for i in range(12):
            self.put(f"old/{i}.obj", obj_text(i + 1, mtl="gone.mtl"))

        def told(daemon, verb, *actions):
            """The log's lines with this verb, up to the one that counts the remaining models."""
            begin = len(daemon.log) if verb != "warning" else 0  # the first cooks may be over
            for action in actions:
                action()
            daemon.wait_log(f" {verb} 11 more  ")
            return [line.split(" ", 1)[1] for line in daemon.log[begin:] if line.split(" ")[1] in (verb, "removed")]

        with self.serve() as daemon:
            first, second, rest, last = [*told(daemon, "warning", daemon.sync), "warning " + daemon.wait_log(" 11 more  ").split(" ", 2)[2]][:4]
            self.assertRegex(first, r"^warning art/old/\d+\.obj  material library 'gone.mtl'")
            self.assertEqual([rest, last], ["warning 11 more  " + line.split("  ", 1)[1] for line in (first, second)])
            first, rest = told(daemon, "moved", lambda: os.rename(self.art / "old", self.art / "new"), daemon.sync)
            self.assertRegex(first, r"^moved art/old/(\d+\.obj) is art/new/\1 now$")
            self.assertEqual(rest, "moved 11 more  art/old is art/new now")
            first, rest = told(daemon, "failed", lambda: self.put("new/cook.json", '{"lods": '), daemon.sync)
            self.assertRegex(first, r"^failed art/new/\d+\.obj  new/cook\.json: .*\(the last good version stays served\)$")
            self.assertRegex(rest, r"^failed 11 more  new/cook\.json: not valid JSON near line 1, column 9$")
            first, rest = told(daemon, "removed", lambda: shutil.rmtree(self.art / "new"), daemon.sync)
            self.assertRegex(first, r"^removed art/new/\d+\.obj$")
            self.assertEqual(rest, "removed 11 more  art/new")

    def jobs(self, daemon, identity):
        return [job["job"] for job in daemon.get(f"/api/v1/assets/{identity}/history").json()["items"]]

    def move(self, old, new):
        (self.art / new).parent.mkdir(parents=True, exist_ok=True)
        os.rename(self.art / old, self.art / new)

    def test_a_rename_keeps_id_history_and_links(self):
        self.put("tea.obj", obj_text(2))
        with self.serve() as daemon:
            self.put("tea.obj", obj_text(3))
            daemon.wait_event("asset", lambda change: change["asset"] == "art/tea.obj" and change["kind"] == "cooked")
            before = self.ids(daemon)["tea.obj"]
            jobs = self.jobs(daemon, before)
            self.move("tea.obj", "props/pot.obj")
            came = daemon.wait_event("asset", lambda change: change["asset"] == "art/props/pot.obj")
            self.assertEqual((came["id"], came["moved_from"]), (before, "art/tea.obj"))
            daemon.sync()
            events = [change for kind, change in daemon.past if kind == "asset"]
            (gone,) = [change for change in events if change["kind"] == "removed"]
            self.assertEqual((gone["asset"], gone["moved_to"]), ("art/tea.obj", "art/props/pot.obj"))
            self.assertNotEqual(gone["id"], before, "who keeps ids does not lose it")
            now = daemon.get(f"/api/v1/assets/{before}").json()
            self.assertEqual((now["name"], now["moved_from"]), ("art/props/pot.obj", "art/tea.obj"))
            self.assertEqual(self.jobs(daemon, before)[-len(jobs):], jobs, "the history begins before the move")
            old, new = daemon.get("/a/art/tea.obj"), daemon.get("/a/art/props/pot.obj")
            self.assertEqual((old.status, old.body), (200, new.body))
            (found,) = daemon.get("/api/v1/assets?path=art/tea.obj").json()["items"]
            self.assertEqual(found["id"], before, "who asks for the old name is led to the new one")
            why = daemon.get(f"/api/v1/assets/{before}/why").json()
            self.assertIn({"kind": "moved", "path": "art/tea.obj"}, now["reason"])
            self.assertIn("moved", str(why))
            self.put("tea.obj", obj_text(7))
            daemon.sync()
            ids = self.ids(daemon)
            self.assertNotEqual(ids["tea.obj"], before)
            self.assertNotEqual(daemon.get("/a/art/tea.obj").body, new.body, "who has a name now is meant by it")
        with self.serve() as daemon:
            self.assertEqual(self.ids(daemon), ids, "also after a restart")
            self.move("props/pot.obj", "tea2.obj")
            daemon.sync()
            again = daemon.get(f"/api/v1/assets/{before}").json()
            self.assertEqual((again["name"], again["moved_from"]), ("art/tea2.obj", "art/props/pot.obj"))
            self.assertEqual(daemon.get("/a/art/props/pot.obj").body, daemon.get("/a/art/tea2.obj").body)

    def test_a_model_that_moved_while_nobody_looked(self):
        self.put("a/one.obj", obj_text(2))
        self.put("a/two.obj", obj_text(3))
        with self.serve() as daemon:
            ids = self.ids(daemon)
        shutil.copy(self.art / "a/one.obj", self.art / "copy.obj")  # other inode, other time: recognised by its bytes
        os.unlink(self.art / "a/one.obj")
        self.move("a/two.obj", "b/two.obj")
        self.put("b/two.obj.tmp", "")
        with self.serve() as daemon:
            now = self.ids(daemon)
            self.assertEqual(now, {"copy.obj": ids["a/one.obj"], "b/two.obj": ids["a/two.obj"]})

    def test_settings_go_with_the_model_once_nobody_is_moving_them(self):
        self.put("tea.obj", obj_text(2))
        self.put("tea.obj.cook.json", '{"scale": 2}')
        self.put("cup.obj", obj_text(3))
        self.put("cup.obj.cook.json", '{"scale": 3}')
        with self.serve() as daemon:
            daemon.sync()
            self.move("tea.obj", "pot.obj")
            self.move("cup.obj", "bowl.obj")
            self.move("cup.obj.cook.json", "bowl.obj.cook.json")
            daemon.wait_log("pot.obj.cook.json")
            daemon.sync()
            scales = {name: daemon.get(f"/api/v1/assets/{asset['id']}").json()["settings"]["scale"]
                      for name, asset in daemon.assets().items()}
            self.assertEqual(scales, {"art/pot.obj": 2, "art/bowl.obj": 3})
            self.assertEqual(sorted(p.name for p in self.art.iterdir()),
                             ["bowl.obj", "bowl.obj.cook.json", "pot.obj", "pot.obj.cook.json"])

    def budgeted(self, name, triangles=9):
        self.put(name, obj_text(triangles))
        self.put(f"{name}.cook.json", '{"budget": {"triangles": 5, "fail": true}}')

    def check_refused(self, daemon, name, roots=1):
        """Checks that a moved model over its budget is refused under its new name. Roots are watched separately: with two, the
        new file may be cooked before the removal of the old one is known, and that cook is discarded."""
        self.assertIn(name, daemon.sync()["failed"])
        item = daemon.assets()[name]
        self.assertEqual((item["state"], item["error"]["code"], daemon.get(f"/a/{name}").status), ("failed", "cook.over-budget", 422))
        history = daemon.get(f"/api/v1/assets/{item['id']}/history").json()["items"]
        if roots == 1:
            self.assertEqual({job["result"] for job in history}, {"failed"}, "no cook came without its settings")

    def test_a_move_opens_no_gate(self):
        for options in ([], ["--watch", "poll", "--poll-ms", "100"]):
            with self.subTest(options):
                self.budgeted("d.obj")
                self.budgeted("p.obj", 8)
                self.budgeted("deep/in/m.obj", 7)
                self.budgeted("git.obj", 10)
                self.put("plain.obj", obj_text(3))
                with self.serve(*options) as daemon:
                    daemon.sync()
                    self.move("d.obj", "e.obj")
                    self.check_refused(daemon, "art/e.obj")
                    self.move("p.obj", "q.obj")
                    daemon.sync()
                    self.move("q.obj", "far/r.obj")
                    self.check_refused(daemon, "art/far/r.obj")
                    self.move("deep", "high")
                    self.check_refused(daemon, "art/high/in/m.obj")
                    # Seen together: without its settings, the model may be cooked under its first name.
                    daemon.process.send_signal(signal.SIGSTOP)
                    self.move("git.obj.cook.json", "hub.obj.cook.json")
                    self.move("git.obj", "hub.obj")
                    daemon.process.send_signal(signal.SIGCONT)
                    self.check_refused(daemon, "art/hub.obj")
                    for name in ("e.obj", "far/r.obj"):
                        daemon.wait_log(f"to art/{name}.cook.json")
                    refused = {"art/e.obj", "art/far/r.obj", "art/high/in/m.obj", "art/hub.obj"}
                    self.assertEqual(set(daemon.sync()["failed"]), refused)
                    self.assertTrue((self.art / "far/r.obj.cook.json").exists())
                    self.put("far/r.obj.cook.json", "{}")
                    daemon.sync()
                    self.assertEqual(daemon.assets()["art/far/r.obj"]["state"], "fresh")
                with self.serve(*options) as daemon:
                    self.assertEqual(set(daemon.sync()["failed"]), refused - {"art/far/r.obj"})
                shutil.rmtree(self.art)
                shutil.rmtree(self.cache)
                self.art.mkdir()

    def test_a_move_between_roots_and_one_before_a_kill_open_no_gate(self):
        self.budgeted("d.obj")
        self.budgeted("k.obj", 8)
        other = self.folder / "other"
        other.mkdir()
        with Daemon([self.art, other], self.cache) as daemon:
            daemon.sync()
            os.rename(self.art / "d.obj", other / "d.obj")
            self.check_refused(daemon, "other/d.obj", roots=2)
            daemon.wait_log("to other/d.obj.cook.json")
            self.check_refused(daemon, "other/d.obj", roots=2)
            self.move("k.obj", "l.obj")
            self.check_refused(daemon, "art/l.obj")
            daemon.kill()
        self.assertTrue((self.art / "k.obj.cook.json").exists())
        with Daemon([self.art, other], self.cache) as daemon:
            self.check_refused(daemon, "art/l.obj")
            daemon.wait_log("to art/l.obj.cook.json")
            self.assertEqual(set(daemon.sync()["failed"]), {"art/l.obj", "other/d.obj"})

    def test_no_way_of_moving_opens_a_gate(self):
        """Each way with its settings file left behind, or moved by git; then a kill, a move while nobody looks, and a restart."""
        other = self.folder / "other"

        def git(*words):
            subprocess.run(["git", "-C", self.art, "-c", "user.name=test", "-c", "user.email=test@localhost", *words], check=True)

        across = lambda old, new: os.rename(self.art / old, other / new)
        ways = {
            "both.obj": ("art/both2.obj", lambda: git("mv", "both.obj", "both2.obj"), lambda: git("mv", "both.obj.cook.json", "both2.obj.cook.json")),
            "one.obj": ("art/one2.obj", lambda: git("mv", "one.obj", "one2.obj")),
            "side.obj": ("art/side2.obj", lambda: git("mv", "side.obj.cook.json", "side2.obj.cook.json"), lambda: git("mv", "side.obj", "side2.obj")),
            "tracked/in.obj": ("art/tracked2/in.obj", lambda: git("mv", "tracked", "tracked2")),
            "folder/in.obj": ("art/folder2/in.obj", lambda: self.move("folder", "folder2")),
            "across/in.obj": ("other/across2/in.obj", lambda: across("across", "across2")),
            "chain.obj": ("other/chain3.obj", lambda: self.move("chain.obj", "chain2.obj"), lambda: across("chain2.obj", "chain3.obj")),
            "back.obj": ("art/back.obj", lambda: self.move("back.obj", "there.obj"), lambda: self.move("there.obj", "back.obj")),
            "case.obj": ("art/CASE.obj", lambda: self.move("case.obj", "CASE.obj")),
        }
        for options in ([], ["--watch", "poll", "--poll-ms", "100"]):
            with self.subTest(options):
                other.mkdir()
                for i, name in enumerate(["down.obj", "kill/in.obj", "killed.obj", *ways]):
                    self.budgeted(name, 9 + i)
                for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "all"]):
                    git(*words)
                with Daemon([self.art, other], self.cache, *options) as daemon:
                    daemon.sync()
                    for name, *steps in ways.values():
                        for step in steps:
                            step()
                        self.check_refused(daemon, name, roots=2)
                    self.move("kill", "kill2")
                    across("killed.obj", "killed.obj")
                    daemon.kill()
                self.move("down.obj", "up.obj")
                wanted = {name for name, *_ in ways.values()} | {"art/kill2/in.obj", "other/killed.obj", "art/up.obj"}
                for _ in range(2):
                    with Daemon([self.art, other], self.cache, *options) as daemon:
                        self.assertEqual((set(daemon.sync()["failed"]), set(daemon.assets())), (wanted, wanted))
                        for name in wanted:
                            self.check_refused(daemon, name, roots=2)
                for folder in (self.art, other, self.cache):
                    shutil.rmtree(folder)
                self.art.mkdir()

    def test_settings_are_shown_and_changed_before_their_file_has_followed(self):
        for name in ("read", "set"):
            self.put(f"{name}.obj", obj_text(9))
            self.put(f"{name}.obj.cook.json", '{"scale": 2, "budget": {"triangles": 5, "fail": true}}')
        with self.serve() as daemon:
            ids = self.ids(daemon)
            self.move("read.obj", "read2.obj")
            self.move("set.obj", "set2.obj")
            self.move("set2.obj", "far/set3.obj")
            daemon.sync()
            told = daemon.get(f"/api/v1/assets/{ids['read.obj']}/settings").json()
            self.assertEqual((told["settings"]["scale"], told["sidecar"]["value"]["scale"], told["origins"]["scale"]), (2, 2, "read2.obj.cook.json"))
            self.assertTrue((self.art / "read.obj.cook.json").exists(), "a question moves no file")
            subprocess.run([HOB, "set", "art/far/set3.obj", "lods.max=2", "--url", f"127.0.0.1:{daemon.port}"], check=True, capture_output=True)
            self.assertEqual(set(daemon.sync()["failed"]), {"art/read2.obj", "art/far/set3.obj"}, "the budget stays")
            kept = json.loads((self.art / "far/set3.obj.cook.json").read_text())
            self.assertEqual((kept["scale"], kept["lods"]["max"], (self.art / "set.obj.cook.json").exists()), (2, 2, False))

    def test_a_broken_settings_file_is_named_where_it_is(self):
        """It follows its model seconds later: until then the failure names the place that it follows from, and an editor finds it there."""
        other = self.folder / "other"
        other.mkdir()
        self.put("m.obj", obj_text(3))
        self.put("m.obj.cook.json", '{"scale": 2,')
        homes = {"art": self.art, "other": other}
        with Daemon([self.art, other], self.cache) as daemon:
            def check(name, file, at):
                self.assertEqual(daemon.sync()["failed"], [name])
                error = daemon.assets()[name]["error"]
                self.assertEqual((error["message"].split(":")[0], error["location"]["file"]), (file, file))
                self.assertTrue(at.exists(), "the cause is there")

            check("art/m.obj", "m.obj.cook.json", self.art / "m.obj.cook.json")
            for old, new in (("art", "other"), ("other", "art")):
                os.rename(homes[old] / "m.obj", homes[new] / "m.obj")
                check(f"{new}/m.obj", f"{old}/m.obj.cook.json", homes[old] / "m.obj.cook.json")
                daemon.wait_log(f"to {new}/m.obj.cook.json")
                check(f"{new}/m.obj", "m.obj.cook.json", homes[new] / "m.obj.cook.json")
            self.move("m.obj", "far/n.obj")
            check("art/far/n.obj", "m.obj.cook.json", self.art / "m.obj.cook.json")
            self.put("m.obj.cook.json", "{}")
            self.assertEqual(daemon.sync()["failed"], [], "mended where it is")

    def test_what_was_cooked_before_the_move_was_known_counts_for_nothing(self):
        self.budgeted("d.obj")
        with self.serve() as daemon:
            daemon.sync()
            os.link(self.art / "d.obj", self.art / "e.obj")
            daemon.sync()
            self.assertEqual(daemon.get("/a/art/e.obj").status, 200, "a model of its own, with no settings")
            os.unlink(self.art / "d.obj")
            self.check_refused(daemon, "art/e.obj", roots=2)
        with self.serve() as daemon:
            self.check_refused(daemon, "art/e.obj", roots=2)

    def test_settings_that_stay_behind_are_still_those_of_the_model(self):
        self.put("tea.obj", obj_text(2))
        self.put("tea.obj.cook.json", '{"scale": 2}')
        with self.serve() as daemon:
            ids = self.ids(daemon)
            scale = lambda: daemon.get(f"/api/v1/assets/{ids['tea.obj']}").json()["settings"]["scale"]
            self.move("tea.obj", "pot.obj")
            daemon.sync()
            self.put("tea.obj.cook.json", '{"scale": 3}')
            daemon.sync()
            self.assertEqual(scale(), 3, "changed where it was")
            daemon.wait_log("pot.obj.cook.json")
            daemon.sync()
            self.assertEqual(scale(), 3)

    def test_a_known_failure_does_not_name_the_file_that_had_it_first(self):
        """Models with the same bytes share their failure, so its message does not name one of them."""
        bad = {"usda": "#usda 1.0\n(subLayers = [@gone.usda@])\n", "usd": "neither text nor crate",
               "glb": "version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize 1234\n"}
        for kind, text in bad.items():
            self.put(f"one/first.{kind}", text)
        with self.serve() as daemon:
            daemon.sync()
            for kind, text in bad.items():
                self.move(f"one/first.{kind}", f"two/second.{kind}")
                self.put(f"copy.{kind}", text)
            daemon.sync()
            items = daemon.assets()
            self.assertEqual(set(items), {f"art/{name}.{kind}" for kind in bad for name in ("two/second", "copy")})
            for name, item in items.items():
                self.assertIn("this file", item["error"]["message"])
                self.assertNotIn("first", item["error"]["message"], name)

    def test_a_model_that_refers_to_its_own_name(self):
        """Under another name it refers to another file, or to none: results and failures are of the name."""
        texts = {"obj": obj_text(1, mtl=".lib/two.obj"), "gltf": json.dumps({
            "asset": {"version": "2.0"}, "buffers": [{"uri": "two.gltf", "byteLength": 9999}], "scenes": [{"nodes": [0]}], "nodes": [{"mesh": 0}],
            "bufferViews": [{"buffer": 0, "byteLength": 36}], "accessors": [{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"}],
            "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}]})}

        def messages(daemon, name):
            daemon.sync()
            error = daemon.assets()["art/" + name]["error"]
            return error["message"] if error else sorted(note["text"] for note in daemon.get(f"/a/art/{name}?output=report").json()["notes"])

        with self.serve() as daemon:
            for kind, text in texts.items():
                for folder in ("", "sub/"):
                    with self.subTest(kind, folder=folder):
                        self.put(f"{folder}two.{kind}", text)
                        self.assertIn("this file" if kind == "obj" else "9999 bytes", str(own := messages(daemon, f"{folder}two.{kind}")))
                        self.put(f"{folder}one.{kind}", text)
                        self.assertNotIn("this file", str(other := messages(daemon, f"{folder}one.{kind}")))
                        os.unlink(self.art / f"{folder}two.{kind}")
                        self.assertIn("does not exist", str(none := messages(daemon, f"{folder}one.{kind}")))
                        self.assertNotEqual(none, other)
                        self.put(f"{folder}two.{kind}", text)
                        self.assertEqual(messages(daemon, f"{folder}two.{kind}"), own)
                        self.assertEqual(messages(daemon, f"{folder}one.{kind}"), other)

    def test_a_reference_that_reads_like_a_path(self):
        """It stays as written, also where the model's own path has the same letters: a copy elsewhere has the same message."""
        self.put("sub/two.obj", text := obj_text(1, mtl="sub/two.obj"))
        with self.serve() as daemon:
            daemon.sync()
            self.put("v1/two.obj", text)
            daemon.sync()
            notes = [[note["text"] for note in daemon.get(f"/a/art/{name}?output=report").json()["notes"]] for name in ("sub/two.obj", "v1/two.obj")]
            self.assertEqual(*notes)
            self.assertIn("'sub/two.obj' does not exist; 'this file' beside the model is used", str(notes))

    def test_copies_and_strangers_are_no_moves(self):
        self.put("a.obj", obj_text(2))
        self.put("same1.obj", obj_text(5))
        self.put("same2.obj", obj_text(5))
        with self.serve() as daemon:
            ids = self.ids(daemon)
            shutil.copy(self.art / "a.obj", self.art / "b.obj")
            now = self.ids(daemon)
            self.assertEqual(now["a.obj"], ids["a.obj"])
            self.assertNotEqual(now["b.obj"], ids["a.obj"])
            os.unlink(self.art / "same1.obj")
            os.unlink(self.art / "same2.obj")
            daemon.sync()
            self.put("other.obj", obj_text(9))
            self.put("which.obj", obj_text(5))
            now = self.ids(daemon)
            self.assertNotIn(now["other.obj"], ids.values())
            self.assertNotIn(now["which.obj"], ids.values(), "either could be meant")

    def test_a_folder_of_many_with_one_edited_on_the_way(self):
        for i in range(MANY):
            self.put(f"old/m{i:05}.obj", obj_text(1, i))
        with self.serve() as daemon:
            before = self.ids(daemon)
            cooked = daemon.cooked()
            self.move("old", "new/place")
            with open(self.art / "new/place/m00007.obj", "a", encoding="utf-8") as file:
                file.write("# edited\n" + obj_text(2))
            moved = {name.replace("old/", "new/place/"): identity for name, identity in before.items()}
            until(lambda: sorted(self.ids(daemon)) == sorted(moved), "the moved folder")
            self.assertEqual(self.ids(daemon), moved)
            self.assertLessEqual(daemon.cooked() - cooked, 1, "only the one that was edited")
            for name in sorted(before)[::max(1, MANY // 20)]:
                self.assertEqual(daemon.get(f"/a/art/{name}").status, 200)

    def test_many_moved_in_every_way_at_once(self):
        """A folder renamed, one of its files edited meanwhile, `git mv` and edits, names in another case, another root."""
        other, each = self.folder / "more", MANY // 4
        other.mkdir()
        for kind, folder in enumerate(("renamed", "tracked", "letters", "across")):
            for i in range(each):
                self.put(f"{folder}/m{i:05}.obj", obj_text(1, kind * each + i))
                if i % 10 == 0:
                    self.put(f"{folder}/m{i:05}.obj.cook.json", json.dumps({"scale": 2 + i}))
        git = ["git", "-C", str(self.art), "-c", "user.name=test", "-c", "user.email=test@localhost"]
        for arguments in (["init", "-q"], ["add", "tracked"], ["commit", "-qm", "all"]):
            subprocess.run([*git, *arguments], check=True)
        with Daemon([self.art, other], self.cache) as daemon:
            ask = self.asker(daemon)

            def ids():
                daemon.sync()
                found, cursor = {}, ""
                while True:
                    page = json.loads(ask(f"/api/v1/assets?limit=1000{cursor}"))
                    found.update((f"{item['root']}/{item['path']}", item["id"]) for item in page["items"])
                    if not page["next"]:
                        return found
                    cursor = f"&cursor={page['next']}"

            def jobs_of(identity):
                return [job["job"] for job in json.loads(ask(f"/api/v1/assets/{identity}/history"))["items"]]

            before = ids()
            self.assertEqual(len(before), 4 * each)
            jobs = {name: jobs_of(identity) for name, identity in before.items()}
            logged = len(daemon.log)
            os.rename(self.art / "renamed", self.art / "in a place")
            subprocess.run([*git, "mv", "tracked", "kept"], check=True)
            edited = ["in a place/m00007.obj", *(f"kept/m{i:05}.obj" for i in range(0, each, 20))]
            for name in edited:
                with open(self.art / name, "a", encoding="utf-8") as file:
                    file.write(obj_text(2))
            for i in range(each):
                self.move(f"letters/m{i:05}.obj", f"letters/M{i:05}.OBJ")
            os.rename(self.art / "across", other / "across")
            places = {"art/renamed/": "art/in a place/", "art/tracked/": "art/kept/", "art/across/": "more/across/"}
            moved = {}
            for name in before:
                folder = name[:name.rindex("/") + 1]
                moved[name] = (places[folder] + name[len(folder):] if folder in places
                               else "art/letters/" + name[len(folder):].upper())
            wanted = {moved[name]: identity for name, identity in before.items()}
            until(lambda: ids().keys() == wanted.keys(), "all in their new places")
            for _ in range(0, each, 10):  # of the models with changed case
                daemon.wait_log(" went with it to ")
            self.assertEqual(ids(), wanted)
            again = {found[1] for line in daemon.log[logged:] if (found := re.search(r" cooked (.*\.(?:obj|OBJ))  ", line))}
            self.assertLessEqual(again, {*(f"art/{name}" for name in edited), *(name for name in wanted if name[-5] == "0")},
                                 "nothing else was cooked")
            ask = self.asker(daemon)
            for name, identity in before.items():
                new = moved[name]
                now = json.loads(ask(f"/api/v1/assets/{identity}"))
                number = int(name[-9:-4])
                self.assertEqual((now["name"], now["moved_from"], now["settings"]["scale"]),
                                 (new, name, 1 if number % 10 else 2 + number))
                self.assertEqual(jobs_of(identity)[-len(jobs[name]):], jobs[name], name)
                self.assertEqual(ask(f"/a/{quote(name)}"), ask(f"/a/{quote(new)}"), name)
            self.put("letters/last.obj", obj_text(3))
            daemon.wait_event("asset", lambda change: change["asset"] == "art/letters/last.obj")
            events = [change for kind, change in daemon.past if kind == "asset"]
            came = {change["asset"]: (change["id"], change["moved_from"]) for change in events if "moved_from" in change}
            gone = {change["asset"]: change["moved_to"] for change in events if "moved_to" in change}
            self.assertEqual(came, {new: (before[name], name) for name, new in moved.items()})
            self.assertEqual(gone, moved)


class References(Scenario):
    """`hob refs`: references to a moved file, and references inside it."""

    def refs(self, *words, code=0):
        done = subprocess.run([HOB, "refs", str(self.art), *words], capture_output=True, text=True, timeout=DEADLINE)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout.splitlines(), done.stderr

    def gltf(self, uri):
        return ('{ "asset": {"version": "2.0", "generator": "uri of tex/wood a.png"},\n  "images": [ {"uri" : ' + json.dumps(uri) +
                '},\n {"uri":"data:image/png;base64,AA=="}], "textures": [{"source": 0}],\n "materials": [{"pbrMetallicRoughness":'
                '{"baseColorTexture": {"index": 0}}}] }')

    def setUp(self):
        super().setUp()
        self.put("tex/wood a.png", png(1, 2, 3))
        self.put("tex/stone.png", png(4, 5, 6))
        self.put("props/a.gltf", self.gltf("../tex/wood%20a.png"))
        self.put("props/b.obj", obj_text(2, mtl="b.mtl"))
        self.put("props/b.mtl", "# map_Kd ../tex/wood a.png\r\nnewmtl m\r\n  map_Kd -s 2 2 1 ..\\tex\\wood a.png  \r\nbump ../tex/stone.png\n")
        self.put("all.merge", '{"// of": "props/b.obj", "scenes": [{"file": "props/b.obj", "scale": 2}, "props/b.obj"]}')

    def text(self, name):
        return (self.art / name).read_bytes().decode()

    def test_a_texture_that_moved(self):
        os.makedirs(self.art / "pictures/new")
        os.rename(self.art / "tex/wood a.png", self.art / "pictures/new/oak #1.png")
        before = {path: path.read_bytes() for path in self.art.rglob("*") if path.is_file()}
        told = json.loads("".join(self.refs("tex/wood a.png", "pictures/new/oak #1.png", "--json")[0]))
        self.assertEqual([(one["file"], one["line"], one["to"]) for one in told.pop("references")],
                         [("props/a.gltf", 2, "../pictures/new/oak%20%231.png"), ("props/b.mtl", 3, "../pictures/new/oak #1.png")])
        self.assertEqual(told, {"files": 2, "looked_at": 4, "fixed": False})
        dry, _ = self.refs("tex/wood a.png", "pictures/new/oak #1.png")
        self.assertEqual(dry, ['props/a.gltf:2: "../tex/wood%20a.png" -> "../pictures/new/oak%20%231.png"',
                               "props/b.mtl:3: ..\\tex\\wood a.png -> ../pictures/new/oak #1.png",
                               "2 references in 2 files; --fix changes them"])
        self.assertEqual({path: path.read_bytes() for path in self.art.rglob("*") if path.is_file()}, before)
        mode = os.stat(self.art / "props/b.mtl").st_mode
        gltf, mtl = self.text("props/a.gltf"), self.text("props/b.mtl")
        fixed, _ = self.refs("--fix", "tex/wood a.png", "pictures/new/oak #1.png")
        self.assertEqual(fixed, dry[:2] + ["2 references in 2 files changed"])
        self.assertEqual(self.text("props/a.gltf"), gltf.replace("../tex/wood%20a.png", "../pictures/new/oak%20%231.png"))
        self.assertEqual(self.text("props/b.mtl"), mtl.replace("..\\tex\\wood a.png", "../pictures/new/oak #1.png"))
        self.assertEqual(os.stat(self.art / "props/b.mtl").st_mode, mode)
        again, _ = self.refs("--fix", "tex/wood a.png", "pictures/new/oak #1.png")
        self.assertEqual(again, ["no file names 'tex/wood a.png' in vain (4 looked at)"])
        self.assertEqual(sorted(path.name for path in self.art.rglob(".*")), [])
        with self.serve() as daemon:
            daemon.sync()
            deps = daemon.get(f"/api/v1/assets/{daemon.assets()['art/props/b.obj']['id']}/deps").json()
            self.assertNotIn('"missing": true', json.dumps(deps))

    def test_a_folder_of_models_that_moved(self):
        """The merge refers to them; they refer to pictures that do not move, and to each other, which still works."""
        os.makedirs(self.art / "sets/x")
        os.rename(self.art / "props", self.art / "sets/x/props")
        found, _ = self.refs("props", "sets/x/props", "--fix")
        self.assertEqual([line.split(" -> ")[-1] for line in found],
                         ['"sets/x/props/b.obj"', '"sets/x/props/b.obj"', '"../../../tex/wood%20a.png"', "../../../tex/wood a.png",
                          "../../../tex/stone.png", "5 references in 3 files changed"])
        self.assertIn('{"// of": "props/b.obj",', self.text("all.merge"), "a comment is nobody's reference")
        with self.serve() as daemon:
            daemon.sync()
            self.assertEqual({item["state"] for name, item in daemon.assets().items() if name != "art/sets/x/props/a.gltf"}, {"fresh"})

    def test_a_name_that_leads_somewhere_stays(self):
        os.rename(self.art / "props/b.mtl", self.art / "props/c.mtl")
        self.put("tex/stone.png", png(7, 7, 7))
        self.assertEqual(self.refs("props/b.mtl", "props/c.mtl")[0],
                         ["props/b.obj:1: b.mtl -> c.mtl", "1 reference in 1 file; --fix changes them"])
        os.rename(self.art / "tex/stone.png", self.art / "tex/rock.png")
        self.put("tex/stone.png", png(8, 8, 8))
        self.assertIn("still there", self.refs("tex/stone.png", "tex/rock.png", code=2)[1])
        self.assertIn("there is no", self.refs("tex/gone.png", "tex/no.png", code=2)[1])
        self.assertIn("leaves", self.refs("../x", "tex/rock.png", code=2)[1])
        self.put("bad.gltf", "{")
        os.symlink(self.folder, self.art / "out")
        os.unlink(self.art / "tex/stone.png")
        lines, errors = self.refs("tex/stone.png", "tex/rock.png", code=1)
        self.assertEqual(lines, ["props/c.mtl:4: ../tex/stone.png -> ../tex/rock.png", "1 reference in 1 file; --fix changes them"])
        self.assertEqual(errors, "hob refs: 'bad.gltf' is not JSON\n")


if __name__ == "__main__":
    main()
