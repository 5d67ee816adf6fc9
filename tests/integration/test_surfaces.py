"""One vocabulary: every surface reports the same standing and the same counts, however an asset got there. Each row of SITUATIONS
is a model and its expected standing; checked are the API, the list, sync, statistics, metrics, events, headers and the command
line."""
import itertools
import json
import os
import re
import signal
import struct
import subprocess

from hobtest import HOB, Scenario, children, main, obj_text, until

FAIL = '{"budget": {"triangles": 5, "fail": true}}'
PLY = """ply
format ascii 1.0
element vertex 3
property float x
property float y
property float z
element face 1
property list uchar int vertex_indices
end_header
0 0 0
1 0 0
0 1 0
3 0 1 2
"""
BIN = struct.pack("<9f", 0, 0, 0, 1, 0, 0, 0, 1, 0)


def triangle(uri):
    return json.dumps({"asset": {"version": "2.0"}, "buffers": [{"uri": uri, "byteLength": 36}], "bufferViews": [{"buffer": 0, "byteLength": 36}],
                       "accessors": [{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3", "min": [0, 0, 0], "max": [1, 1, 0]}],
                       "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}], "nodes": [{"mesh": 0}], "scenes": [{"nodes": [0]}]})


LFS = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize 1234\n"
# path: (files in order of saving, standing, whether a good version is served)
SITUATIONS = {
    "plain.obj": ([("plain.obj", obj_text(2))], "fresh", True),
    "warned.obj": ([("warned.obj", obj_text(3, mtl="gone.mtl"))], "fresh", True),
    "list.merge": ([("part.obj", obj_text(2)), ("list.merge", '{"scenes": ["part.obj"]}')], "fresh", True),
    "part.obj": ([], "fresh", True),
    "again.obj": ([("again.obj", "f 1 2 3\n"), ("again.obj", obj_text(2))], "fresh", True),
    "later.obj": ([("later.obj", obj_text(9)), ("later.obj.cook.json", FAIL)], "broken", True),
    "over.obj": ([("over.obj.cook.json", FAIL), ("over.obj", obj_text(9))], "broken", False),
    "bad.obj": ([("bad.obj", "f 1 2 3\n")], "broken", False),
    "half.gltf": ([("half.gltf", '{"asset": {"version": "2.0"}, "meshes": [')], "broken", False),
    "turned.obj": ([("turned.obj", obj_text(4)), ("turned.obj", "f 1 2 3\n")], "broken", True),
    "typo.obj": ([("typo.obj", obj_text(2)), ("typo.obj.cook.json", '{"lods": ')], "broken", True),
    "shrunk.obj": ([("shrunk.obj.cook.json", '{"shrunk": "fail"}'), ("shrunk.obj", obj_text(90)), ("shrunk.obj", obj_text(2))], "broken", True),
    "strict.obj": ([("strict.obj.cook.json", '{"strict": true}'), ("strict.obj", obj_text(3, mtl="gone.mtl"))], "broken", False),
    "waits.merge": ([("waits.merge", '{"scenes": ["bad.obj"]}')], "blocked", False),
    "waits2.merge": ([("waits2.merge", '{"scenes": ["plain.obj", "waits.merge"]}')], "blocked", False),
    "served.merge": ([("served.merge", '{"scenes": ["part.obj"]}'), ("served.merge", '{"scenes": ["part.obj", "bad.obj"]}')], "blocked", True),
    "sky.hdr": ([("sky.hdr", "#?RADIANCE\n")], "skipped", False),
    "scene.max": ([("scene.max", "max")], "skipped", False),
    # Readers.
    "empty.obj": ([("empty.obj", "")], "broken", False),
    "other.off": ([("other.off", "OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n")], "fresh", True),
    "short.off": ([("short.off", "OFF\n3 2 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n")], "broken", False),
    "lies.ply": ([("lies.ply", PLY.replace("vertex 3", "vertex 4"))], "broken", False),
    "UPPER.PLY": ([("UPPER.PLY", PLY)], "fresh", True),
    "pointer.obj": ([("pointer.obj", LFS)], "broken", False),
    "buffer.gltf": ([("buffer.gltf", triangle("no.bin"))], "broken", False),
    "nothing.gltf": ([("nothing.gltf", '{"asset": {"version": "2.0"}}')], "broken", False),
    # Files of a model come, go and break.
    "library.obj": ([("library.mtl", "newmtl m\nKd 1 0 0\n"), ("library.obj", obj_text(4, mtl="library.mtl")), ("library.mtl", None)], "fresh", True),
    "bufferless.gltf": ([("some.bin", BIN), ("bufferless.gltf", triangle("some.bin")), ("some.bin", None)], "broken", True),
    "late.gltf": ([("late.gltf", triangle("late.bin")), ("late.bin", BIN)], "fresh", True),
    # Merges.
    "alone.merge": ([("alone.merge", '{"scenes": ["nobody.obj"]}')], "broken", False),
    "ring1.merge": ([("ring1.merge", '{"scenes": ["ring2.merge"]}')], "broken", False),
    "ring2.merge": ([("ring2.merge", '{"scenes": ["ring1.merge"]}')], "broken", False),
    "three1.merge": ([("three1.merge", '{"scenes": ["three2.merge"]}')], "broken", False),
    "three2.merge": ([("three2.merge", '{"scenes": ["three3.merge"]}')], "broken", False),
    "three3.merge": ([("three3.merge", '{"scenes": ["three1.merge"]}')], "broken", False),
    "outside.merge": ([("outside.merge", '{"scenes": ["ring1.merge"]}')], "blocked", False),
    "healed.merge": ([("heal.obj", "f 1 2 3\n"), ("healed.merge", '{"scenes": ["heal.obj"]}'), ("heal.obj", obj_text(2))], "fresh", True),
    "heal.obj": ([], "fresh", True),
    # Settings of a model and of a folder.
    "lifted.obj": ([("lifted.obj.cook.json", FAIL), ("lifted.obj", obj_text(9)), ("lifted.obj.cook.json", None)], "fresh", True),
    "unknown.obj": ([("unknown.obj.cook.json", '{"lodz": 1}'), ("unknown.obj", obj_text(2))], "broken", False),
    "below/one.obj": ([("below/one.obj", obj_text(2)), ("below/cook.json", '{"lods": ')], "broken", True),
    "below/two.obj": ([("below/x", ""), ("below/y", ""), ("below/two.obj", obj_text(3))], "broken", False),
    "again/one.obj": ([("again/cook.json", "{"), ("again/one.obj", obj_text(2)), ("again/cook.json", "{}")], "fresh", True),
    "rule.obj": ([("rule.obj.cook.json", '{"rules": {"mesh.triangles": {"level": "error", "max": 5}}}'), ("rule.obj", obj_text(9))], "broken", False),
    "lost.obj": ([("lost.obj", obj_text(3)), ("lost.obj", None)], "removed", False),
}
PROBLEMS = {"broken", "blocked", "interrupted"}
OLD = {"fresh": {"fresh"}, "updating": {"stale"}, "waiting": {"queued", "cooking"}, "broken": {"failed", "quarantined", "stale"},
       "blocked": {"blocked", "stale"}, "interrupted": {"interrupted", "stale"}, "missing": {"missing"}}


class Surfaces(Scenario):
    maxDiff = None

    def hob(self, daemon, *words):
        return subprocess.run([HOB, *words, "--url", f"http://127.0.0.1:{daemon.port}"], capture_output=True, text=True, check=False,
                              env=dict(os.environ, NO_COLOR="1"))

    def wait_for(self, daemon, wanted):
        """Waits until an event has reported each asset with its wanted standing."""
        left = dict(wanted)
        while left:
            data = daemon.wait_event("asset", lambda data: left.get(data["asset"]) == data["standing"])
            del left[data["asset"]]

    def check_assets(self, daemon, wanted, served):
        """wanted: {full name: standing} of all assets; served: those with a good version."""
        items = daemon.assets()
        self.assertEqual({name: item["standing"] for name, item in items.items()}, wanted)
        for name, item in items.items():
            self.assertIn(item["state"], OLD[item["standing"]], name)
            answer = daemon.get(f"/a/{name}")
            if name in served:
                self.assertEqual((answer.status, answer.headers["cook-standing"]), (200, wanted[name]), name)
                self.assertEqual(answer.headers["cook-state"], "fresh" if wanted[name] == "fresh" else "stale", name)
            else:
                self.assertEqual(answer.status, {"broken": 422, "waiting": 202}.get(wanted[name], 503), name)
                self.assertEqual(answer.json()["standing"], wanted[name], name)
        for standing in OLD:
            these = {name for name, item in wanted.items() if item == standing}
            self.assertEqual(set(daemon.assets(f"&standing={standing}")), these)
            listed = self.hob(daemon, "ls", "--state", standing).stdout
            self.assertEqual(set(re.findall(rf"^{standing} +(\S.*)$", listed, re.M)), these)
        listed = dict(reversed(line.split(None, 1)) for line in self.hob(daemon, "ls").stdout.splitlines() if line[0] != " ")
        self.assertEqual(listed, wanted)

    def check_counts(self, daemon, wanted):
        count = {standing: list(wanted.values()).count(standing) for standing in OLD}
        problems = {name for name, standing in wanted.items() if standing in PROBLEMS}
        stats, metrics = daemon.get("/api/v1/stats").json(), daemon.counters()
        self.assertEqual(stats["standings"], count)
        self.assertEqual({standing: int(metrics[f'hob_assets_standing{{standing="{standing}"}}']) for standing in OLD}, count)
        told = dict(reversed(found) for found in re.findall(r"^ +(\d+)  (\w+)(?:   hob ls --state \w+)?$", self.hob(daemon, "status").stdout, re.M))
        self.assertEqual({standing: int(number) for standing, number in told.items()}, {standing: n for standing, n in count.items() if n})
        self.assertEqual(stats["errors"], len(problems))
        self.assertEqual(daemon.get("/api/v1/errors").json()["assets"], len(problems))
        self.assertEqual(set(daemon.assets("&problem=true")), problems)
        return problems

    def check_get(self, daemon, wanted, served):
        got = self.hob(daemon, "get", "--all", "-o", str(self.folder / "got"))
        behind = dict(reversed(line.replace(" (its last good version is taken)", "").split(None, 1)) for line in got.stderr.splitlines()[:-1])
        self.assertEqual(behind, {name: standing for name, standing in wanted.items() if standing != "fresh"})
        self.assertEqual(got.returncode, 1 if behind else 0)
        self.assertEqual({str(path.relative_to(self.folder / "got"))[:-7] for path in (self.folder / "got").rglob("*.meshes")}, set(served))

    def check(self, daemon, wanted, served):
        self.check_assets(daemon, wanted, served)
        problems = self.check_counts(daemon, wanted)
        self.check_get(daemon, wanted, served)
        return problems

    def test_every_situation_at_rest(self):
        steps = max(len(files) for files, _, _ in SITUATIONS.values())
        wanted = {f"art/{name}": standing for name, (_, standing, _) in SITUATIONS.items() if standing not in ("skipped", "removed")}
        served = {f"art/{name}" for name, (_, _, good) in SITUATIONS.items() if good}
        with self.serve() as daemon:
            for step in range(steps):
                for files, _, _ in SITUATIONS.values():
                    for path, text in files[step:step + 1]:
                        if text is None:
                            os.unlink(self.art / path)
                        else:
                            self.put(path, text)
                failed = set(daemon.sync()["failed"])
            self.assertEqual(self.check(daemon, wanted, served), failed)
            last = {}
            for kind, data in [*daemon.past, *list(daemon.events.queue)]:
                if kind == "asset":
                    last[data["asset"]] = data["standing"]
            self.assertEqual(last, wanted | {"art/sky.hdr": "skipped", "art/lost.obj": "removed"})
            skipped = self.hob(daemon, "ls", "--skipped").stdout
            self.assertEqual(set(re.findall(r"^skipped +(\S+)$", skipped, re.M)), {"art/sky.hdr", "art/scene.max"})
            self.assertEqual(self.hob(daemon, "ls", "--state", "skipped").stdout, skipped)
        with self.serve() as daemon:
            self.assertEqual(set(daemon.sync()["failed"]), failed, "after a restart")
            self.check(daemon, wanted, served)
        # A build of the same folder, without an earlier version: only broken and blocked models fail.
        report = self.folder / "report.json"
        cook = subprocess.run([HOB, "cook", self.art, "-o", self.folder / "out", "--report", report], capture_output=True, text=True, check=False)
        self.assertEqual(cook.returncode, 1, cook.stderr)
        told = {f"art/{asset['path']}" for asset in json.loads(report.read_text())["assets"] if asset["state"] == "failed"}
        self.assertEqual(told, failed - {"art/shrunk.obj"})

    def test_events_carry_numbers(self):
        """The numbers that differ, before and after. On a crowded machine a preview may come between."""
        size = lambda event: sum(output["size"] for output in event["outputs"])
        self.put("a.obj", obj_text(9))
        with self.serve() as daemon:
            daemon.sync()
            rev = daemon.assets()["art/a.obj"]["rev"]
            heard = lambda: [data for kind, data in [*daemon.past, *list(daemon.events.queue)] if kind == "asset"]
            until(lambda: rev in [data["rev"] for data in heard()], "the event of the version that stays")
            self.assertNotIn("numbers", heard()[0], "there was no version before")
            before = heard()[-1]
            self.put("a.obj", obj_text(4, mtl="gone.mtl"))
            event = daemon.wait_asset("art/a.obj", "fresh")
            self.assertEqual((event["numbers"]["triangles"], event["numbers"]["warnings"]), ([9, 4], [0, 2]))
            self.assertEqual(event["numbers"]["bytes"], [size(before), size(event)])

    def hold_a_cook(self, daemon):
        """Stops the only cook process in the middle of large.obj; returns the processes to continue."""
        for shift in itertools.count():
            cooked = daemon.cooked()
            self.put("large.obj", obj_text(60000, shift))
            until(lambda: daemon.counters()["hob_jobs_running"] == 1 or daemon.cooked() > cooked, "a cook of large.obj")
            workers = children(daemon.process.pid)
            for worker in workers:
                os.kill(worker, signal.SIGSTOP)
            if daemon.counters()["hob_jobs_running"] == 1:
                return workers
            for worker in workers:
                os.kill(worker, signal.SIGCONT)

    def test_while_it_is_being_cooked(self):
        """A stopped cook process delays a new save of a good model, one of a broken model, and a new model."""
        self.put("good.obj", obj_text(2))
        self.put("bad.obj", "f 1 2 3\n")
        with self.serve("--jobs", "1") as daemon:
            daemon.sync()
            workers = self.hold_a_cook(daemon)
            try:
                for name, triangles in (("good.obj", 5), ("bad.obj", 6), ("new.obj", 7)):
                    self.put(name, obj_text(triangles))
                wanted = {"art/good.obj": "updating", "art/bad.obj": "waiting", "art/new.obj": "waiting", "art/large.obj": "waiting"}
                until(lambda: set(daemon.assets("&standing=updating,waiting")) == set(wanted), "four that wait")
                wanted["art/large.obj"] = daemon.assets()["art/large.obj"]["standing"]  # updating if it was saved twice
                served = {name for name, standing in wanted.items() if standing == "updating"}
                self.check_assets(daemon, wanted, served)
                stats = daemon.get("/api/v1/stats").json()
                self.assertEqual(stats["standings"], {**dict.fromkeys(OLD, 0), "updating": len(served), "waiting": 4 - len(served)})
                self.assertEqual((stats["errors"], set(daemon.assets("&problem=true"))), (1, {"art/bad.obj"}), "its error stands until the new cook ends")
                self.check_get(daemon, wanted, served)
            finally:
                for worker in workers:
                    os.kill(worker, signal.SIGCONT)
            self.assertEqual(daemon.sync()["failed"], [])
            self.check(daemon, dict.fromkeys(wanted, "fresh"), set(wanted))

    def test_cooks_that_are_killed_from_outside(self):
        """Each kill doubles the pause before the next try: after five there is time to ask every surface."""
        self.put("good.obj", obj_text(2))
        with self.serve("--jobs", "1") as daemon:
            daemon.sync()
            deaths = lambda: daemon.counters()["hob_worker_interrupted_total"]
            workers = [self.hold_a_cook(daemon)]
            for _ in range(5):
                before = deaths()
                for i in range(2):  # an interrupted cook is tried again at once, then after a pause
                    if not workers:
                        until(lambda: daemon.counters()["hob_jobs_running"] == 1, "the next cook")
                        workers = [children(daemon.process.pid)]
                    for worker in workers.pop():
                        os.kill(worker, signal.SIGKILL)
                    until(lambda i=i: deaths() > before + i, "its death")
            wanted = {"art/good.obj": "fresh", "art/large.obj": "interrupted"}
            until(lambda: daemon.assets()["art/large.obj"]["standing"] == "interrupted", "the pause")
            served = set(wanted) if daemon.cooked() > 1 else {"art/good.obj"}
            self.assertEqual(self.check(daemon, wanted, served), {"art/large.obj"})
            self.assertEqual(daemon.sync()["failed"], ["art/large.obj"])
            daemon.wait_asset("art/large.obj", "fresh")
            self.check(daemon, dict.fromkeys(wanted, "fresh"), set(wanted))

    def test_a_folder_that_is_away(self):
        self.put("good.obj", obj_text(2))
        self.put("bad.obj", "f 1 2 3\n")
        with self.serve() as daemon:
            daemon.sync()
            self.art.rename(self.folder / "away")
            self.wait_for(daemon, {"art/good.obj": "missing", "art/bad.obj": "missing"})
            self.assertEqual(daemon.sync()["failed"], [], "the folder is the problem, not its models")
            self.check(daemon, {"art/good.obj": "missing", "art/bad.obj": "missing"}, {"art/good.obj"})
            (self.folder / "away").rename(self.art)
            daemon.wait_event("root", lambda data: data["state"] != "missing")
            self.assertEqual(daemon.sync()["failed"], ["art/bad.obj"])
            self.check(daemon, {"art/good.obj": "fresh", "art/bad.obj": "broken"}, {"art/good.obj"})


if __name__ == "__main__":
    main()
