"""Every route and every declared answer of schema/openapi.json, from a real daemon. hobtest checks each against the document; the
last test lists declared answers that were never seen."""
import hashlib
import json
import os
import shutil
import signal
import sqlite3
import struct
import subprocess
import unittest

import contract
from hobtest import HOB, SETTINGS_SCHEMA, Daemon, Scenario, children, kept_blobs, obj_text, record_text, until

JSON = {"Content-Type": "application/json"}
# Answers that cannot be provoked from outside at a chosen moment; tests/unit/srv_http covers them.
BUNDLED = {("GET", "/web/{file}", status) for status in (200, 304)}  # tests/browser; a program without a dashboard has none
# Pictures drawn by a separate process, if OpenGL ES is available; the scenarios of thumbnails cover them.
DRAWN = {("GET", "/api/v1/assets/{id}/thumbnail", status) for status in (200, 202, 204, 304)}
DRAWN |= {("GET", "/api/v1/assets/{id}/compare/picture", status) for status in (200, 304)}  # integration.compare
BUNDLED |= DRAWN
BUNDLED |= {(m, p, s) for m, p, s in contract.unseen() if p.startswith("/api/v1/mirrors/")}  # integration.mirror
BUNDLED |= {("PUT", "/blobs/{sha256}", 409)}  # integration.mirror
BUNDLED |= {(m, p, s) for m, p, s in contract.unseen() if p.startswith(("/api/v1/commits", "/api/v1/git/"))}  # integration.commits
BUNDLED |= {("GET", "/a/{root}/{path}", 302)}
ELSEWHERE = BUNDLED | {(m, p, 503) for m, p, s in contract.unseen() if s == 503} | {
    ("GET", "/api/v1/assets/{id}/compare/picture", 422),
    ("GET", "/api/v1/assets/{id}/compare", 422),  # the limit of every derived output: covered by unit.srv_http and output=glb
    ("PUT", "/api/v1/live/{user}/{path}", 201), ("PUT", "/api/v1/live/{user}/{path}", 507),  # these four: test_live
    ("DELETE", "/api/v1/live/{user}/{path}", 200), ("DELETE", "/api/v1/live/{user}", 200),
    ("GET", "/a/{root}/{path}", 507),  # a disk that fills up between a cook and a derived output
    ("GET", "/api/v1/assets/{id}/bundle", 409)}  # only between a save and its cook; jobs' bundles are refused alike
NO_HASH = "0" * 64


def sha(data):
    return hashlib.sha256(data).hexdigest()


def fill(path, values):
    for name, value in values.items():
        path = path.replace("{" + name + "}", str(value))
    return path


class Contract(Scenario):
    def setUp(self):
        super().setUp()
        self.put("props/a.obj", obj_text(3, mtl="a.mtl"))
        self.put("props/a.mtl", "newmtl m\nKd 1 0 0\nmap_Kd none.png\n")
        self.put("bad.obj", "v 1\nf 1 2 3\n")
        self.daemon = self.enterContext(self.serve()) if hasattr(self, "enterContext") else self.serve()
        self.daemon.sync()
        self.id = self.daemon.assets()["art/props/a.obj"]["id"]
        self.bad = self.daemon.assets()["art/bad.obj"]["id"]

    def ask(self, status, method, target, body=None, **headers):
        answer = self.daemon.request(method, target, body, {k.replace("_", "-"): v for k, v in headers.items()})
        self.assertEqual(answer.status, status, (method, target, answer.body[:400]))
        if status >= 400 and method != "HEAD" and "json" in answer.headers["content-type"]:
            self.assertTrue(answer.json()["hint"], answer.body)
        return answer

    def values(self):
        return {"sha256": self.hash("meshes"), "key": self.key(), "root": "art", "path": "props/a.obj", "id": self.id,
                "rev": "latest", "file": "settings.json", "slug": "not-found", "page": "assets"}

    def hash(self, output):
        outputs = self.ask(200, "GET", f"/api/v1/assets/{self.id}").json()["outputs"]
        return next(o["hash"] for o in outputs if o["name"] == output)

    def key(self):
        return self.ask(200, "GET", f"/api/v1/assets/{self.id}").json()["record"]

    def test_1_answers_that_every_route_has(self):
        job = self.ask(200, "GET", "/api/v1/jobs").json()["items"][0]["id"]
        for path, operations in contract.DOCUMENT["paths"].items():
            values = dict(self.values(), **({"id": job} if "/jobs/" in path else {}))
            values["file"] = "hob-three.js" if "/client/" in path else values["file"]
            for method, operation in operations.items():
                asked = path + "?file={root}/a.png" * path.endswith("what-if") + "?from=latest" * ("/compare" in path)
                method, target, statuses = method.upper(), fill(asked, values), set(operation["responses"])
                statuses -= {str(s) for m, p, s in BUNDLED if (m, p) == (method, path)}
                with self.subTest(operation["operationId"]):
                    self.ask(421, method, target, Host="evil.example")
                    if path.startswith(("/api/", "/a/", "/records/", "/blobs:")):
                        more = {} if method == "GET" else JSON
                        refused = self.ask(400, method, target + ("&" if "?" in target else "?") + "outptu=x", **more).json()
                        self.assertIn("'outptu'", refused["detail"])
                        taken = [p["name"] for p in map(contract.resolve, operation.get("parameters", [])) if p["in"] == "query"]
                        self.assertLessEqual(set(taken), set(refused["hint"].replace(",", "").split()), "it names the known ones")
                    elif method == "GET" and "200" in statuses:
                        self.ask(200, "GET", target + "?t=1732271", Accept="*/*")
                    if "406" in statuses:
                        self.ask(406, method, target + "?since=0" * (path == "/api/v1/changes"), Accept="image/png",
                                 Accept_Encoding="br, *;q=0")
                    if "403" in statuses and "/source/" not in path and "/bundle" not in path:
                        self.ask(403, method, target, None if method == "GET" else b"{}", Origin="http://evil.example",
                                 **JSON)
                    if "413" in statuses and path != "/blobs/{sha256}":
                        self.ask(413, method, target, b"", Content_Length=str(2 << 20), **JSON)
                    if "415" in statuses and path != "/blobs/{sha256}":
                        self.ask(415, method, target, b"x", Content_Type="text/plain")
                    if "304" in statuses:
                        etag = self.ask(200, method, target).headers["etag"]
                        self.ask(304, method, target, If_None_Match=etag)
                        if "412" in statuses and method == "GET":
                            self.ask(200, method, target, If_Match=f'"none", {etag}')
                            self.ask(206, method, target, If_Match=etag, Range="bytes=0-1")
                            self.ask(412, method, target, If_Match='"none"')
                    if method == "GET" and path != "/api/v1/events":
                        self.ask(200, "HEAD", target) if "200" in statuses and path != "/api/v1/changes" else None
                    if "404" in statuses:
                        values_of_none = {"sha256": NO_HASH, "key": NO_HASH, "id": 999999999, "rev": 999999999, "root": "none",
                                          "file": "none", "slug": "none"}
                        body, more = None, {}
                        if method == "PATCH":
                            body, more = {}, {"If_Match": "*"}
                        if method == "DELETE" and "settings" in path:
                            more = {"If_Match": "*"}
                        self.ask(404, method, fill(fill(asked, values_of_none), values), body, **more)

    def test_2_blobs(self):
        blob, new = self.hash("meshes"), b"bytes of somebody else" * 50
        whole = self.ask(200, "GET", f"/blobs/{blob}").body
        self.assertEqual(self.ask(206, "GET", f"/blobs/{blob}", Range="bytes=4-9").body, whole[4:10])
        self.ask(206, "GET", "/a/art/props/a.obj", Range="bytes=-5")
        self.ask(416, "GET", f"/blobs/{blob}", Range="bytes=99999999-")
        self.ask(416, "GET", "/a/art/props/a.obj", Range="bytes=99999999-")
        # Several ranges: the whole, which RFC 9110 allows.
        self.assertEqual(self.ask(200, "GET", f"/blobs/{blob}", Range="bytes=0-1,4-5").body, whole)
        self.ask(400, "GET", "/blobs/xyz")
        self.ask(400, "PUT", "/blobs/xyz", new)
        self.ask(400, "PUT", f"/blobs/{NO_HASH}", new)
        self.ask(404, "GET", f"/blobs/{sha(new)}")
        self.ask(201, "PUT", f"/blobs/{sha(new)}", new)
        self.ask(204, "PUT", f"/blobs/{sha(new)}", new)
        self.assertEqual(self.ask(200, "GET", f"/blobs/{sha(new)}").body, new)
        self.ask(415, "PUT", f"/blobs/{NO_HASH}", b"x", Content_Encoding="br")
        self.ask(413, "PUT", f"/blobs/{NO_HASH}", b"x", Content_Encoding="zstd", X_Digest_SizeBytes="9999999999999")
        self.ask(400, "PUT", f"/blobs/{NO_HASH}", b"not zstd", Content_Encoding="zstd", X_Digest_SizeBytes="8")
        self.chunked_upload_needs_a_length()
        # One run-length block of zstd; the frame's head selects the window size, which is memory of the daemon.
        zeros = bytes(100_000)
        for window_log, status in ((27, 400), (24, 400), (23, 201)):
            frame = b"\x28\xb5\x2f\xfd\0" + bytes([(window_log - 10) << 3]) + (len(zeros) << 3 | 3).to_bytes(3, "little") + b"\0"
            self.ask(status, "PUT", f"/blobs/{sha(zeros)}", frame, Content_Encoding="zstd", X_Digest_SizeBytes=str(len(zeros)))
        zstd = shutil.which("zstd")
        if zstd:
            other = b"and other bytes, many of them alike " * 5000
            packed = subprocess.run([zstd, "-qc"], input=other, capture_output=True, check=True).stdout
            self.assertLess(len(packed), len(other) // 10)
            self.ask(400, "PUT", f"/blobs/{sha(other)}", packed, Content_Encoding="zstd", X_Digest_SizeBytes="7")
            self.ask(400, "PUT", f"/blobs/{sha(other)}", packed[:-3], Content_Encoding="zstd",
                     X_Digest_SizeBytes=str(len(other)))
            self.ask(201, "PUT", f"/blobs/{sha(other)}", packed, Content_Encoding="zstd",
                     X_Digest_SizeBytes=str(len(other)))
            self.assertEqual(self.ask(200, "GET", f"/blobs/{sha(other)}").body, other)
        hashes = [sha(new), NO_HASH, blob]
        batch = self.ask(200, "POST", "/blobs:batch", {"hashes": hashes}).body
        for name, bytes_ in zip(hashes, [new, None, whole]):
            digest, size = struct.unpack("<32sQ", batch[:40])
            self.assertEqual(digest.hex(), name)
            if bytes_ is None:
                self.assertEqual(size, 2**64 - 1)
                size = 0
            else:
                self.assertEqual(batch[40:40 + size], bytes_)
            batch = batch[40 + size:]
        self.assertEqual(batch, b"")
        self.ask(400, "POST", "/blobs:batch", {"hashes": ["x"]})
        self.ask(400, "POST", "/blobs:batch", {})

    def chunked_upload_needs_a_length(self):
        import http.client
        connection = http.client.HTTPConnection("127.0.0.1", self.daemon.port)
        connection.putrequest("PUT", f"/blobs/{NO_HASH}")
        connection.putheader("Transfer-Encoding", "chunked")
        connection.endheaders()  # refused before the body: whether that could still be sent is a race
        answer = connection.getresponse()
        headers = {name.lower(): value for name, value in answer.getheaders()}
        body = answer.read()
        self.assertEqual(answer.status, 411, body)
        contract.check("PUT", f"/blobs/{NO_HASH}", 411, headers, body)
        connection.close()

    def test_3_quota(self):
        self.daemon.stop()
        with Daemon([self.art], self.folder / "small", "--max-size", "1", "--no-sources") as self.daemon:
            self.ask(403, "GET", f"/api/v1/assets/{self.id}/source/props/a.obj")
            self.ask(403, "GET", f"/api/v1/assets/{self.id}/bundle")
            self.ask(403, "GET", "/api/v1/jobs/1/bundle")
            self.ask(507, "PUT", f"/blobs/{NO_HASH}", b"x", Content_Encoding="zstd", X_Digest_SizeBytes="2000000000")

    def test_4_records(self):
        key = self.key()
        record = self.ask(200, "GET", f"/records/{key}").json()
        self.assertEqual(record["key"], key)
        self.assertIn("a.mtl", [d["path"] for d in record["deps"]])
        self.assertIn(None, [d["sha256"] for d in record["deps"]])
        text = self.ask(200, "GET", f"/records/{key}").body.decode()
        self.assertEqual(record_text(record), text)
        self.ask(200, "PUT", f"/records/{key}", text)
        self.ask(400, "PUT", f"/records/{key}", record)  # the same with spaces
        self.ask(400, "PUT", f"/records/{NO_HASH}", record_text(record, key=NO_HASH))
        self.ask(400, "PUT", f"/records/{NO_HASH}", text)
        self.ask(400, "PUT", f"/records/{key}", record_text(record, lookup=NO_HASH))
        self.ask(409, "PUT", f"/records/{key}", record_text(record, outputs=record["outputs"][:1]))
        self.ask(400, "GET", "/records/none")
        found = self.ask(200, "POST", "/records:batch", {"lookups": [NO_HASH, record["lookup"]], "via": []}).body.decode()
        self.assertEqual(found, text)
        self.ask(400, "POST", "/records:batch", {"lookups": ["none"]})
        epoch = self.ask(200, "GET", "/api/v1").json()["epoch"]
        self.ask(508, "POST", "/records:batch", {"lookups": [], "via": ["ab", epoch]})
        with Daemon([self.art], self.folder / "other") as other:
            # A record is sent after its blobs, and then the other daemon has nothing to cook.
            mine, self.daemon = self.daemon, other
            other.sync()
            cooked = other.cooked()
            self.ask(200, "PUT", f"/records/{key}", text)
            self.put("later/a.obj", obj_text(5))
            mine.sync()
            item = mine.assets()["art/later/a.obj"]
            later = mine.get(f"/records/{mine.get('/api/v1/assets/' + item['id']).json()['record']}").json()
            other.sync()
            self.assertEqual(other.cooked(), cooked + 1)
            self.daemon = mine
        (self.folder / "empty").mkdir()
        with Daemon([self.folder / "empty"], self.folder / "third") as third:
            self.daemon = third
            third.sync()
            self.ask(409, "PUT", f"/records/{later['key']}", record_text(later))
            for output in later["outputs"] + later["run"]["outputs"]:
                data = mine.get(f"/blobs/{output['sha256']}").body
                self.ask(201, "PUT", f"/blobs/{output['sha256']}", data)
            self.ask(201, "PUT", f"/records/{later['key']}", record_text(later))
            (self.folder / "empty/a.obj").write_bytes((self.art / "later/a.obj").read_bytes())
            third.sync()
            self.assertEqual(third.cooked(), 0)
            self.assertEqual(third.assets()["empty/a.obj"]["state"], "fresh")
            self.daemon = mine

    def test_5_assets_and_data(self):
        get = lambda status, target, **more: self.ask(status, "GET", target, **more)
        for query in ("sort=size", "state=none", "fields=none", "cursor=!", "limit=0", "format=xml"):
            get(400, f"/api/v1/assets?{query}")
        for order in ("-textures", "textures"):
            items = get(200, f"/api/v1/assets?sort={order}&fields=path,bytes,outputs").json()["items"]
            sums = [sum(output["size"] for output in item["outputs"] if output["name"].startswith("textures/")) for item in items]
            self.assertEqual([item["bytes"]["textures"] for item in items], sums)
            self.assertEqual(sums, sorted(sums, reverse=order[0] == "-"))
            self.assertGreater(max(sums), 0)
        page = get(200, "/api/v1/assets?limit=1&count=1&sort=-bytes").json()
        self.assertEqual((page["total"], len(page["items"])), (2, 1))
        self.assertEqual(len(get(200, "/api/v1/assets?limit=5&cursor=" + page["next"] + "&sort=-bytes").json()["items"]), 1)
        lines = get(200, "/api/v1/assets?format=ndjson&fields=id,path").body.decode().splitlines()
        self.assertEqual({json.loads(line)["path"] for line in lines}, {"props/a.obj", "bad.obj"})
        more = get(200, "/api/v1/assets?expand=outputs,deps,settings").json()["items"]
        self.assertTrue(all(item["name"] and "outputs" in item and "deps" in item and item["settings"]["lods"] for item in more), more)
        some = get(200, f"/api/v1/assets/{self.id}?fields=id&expand=deps").json()
        self.assertEqual(set(some), {"id", "deps"})
        get(400, f"/api/v1/assets/{self.id}?expand=none")
        get(400, f"/api/v1/assets/{self.id}?fields=none")
        get(400, f"/api/v1/assets/{self.id}/thumbnail?size=x")
        get(307, "/a/art/props/a.obj?redirect=1")
        get(400, "/a/art/props/a.obj?redirect=maybe")
        get(400, "/a/art/props/a.obj?lod=x")
        self.assertIn("no levels", get(404, "/a/art/props/a.obj?lod=1").json()["detail"])
        problem = get(422, "/a/art/bad.obj").json()
        self.assertEqual(problem["location"]["file"], "bad.obj")
        group = get(200, "/api/v1/errors").json()["items"][0]
        self.assertEqual(group["location"]["file"], "bad.obj")
        deps = get(200, f"/api/v1/assets/{self.id}/deps?depth=3").json()["items"]
        self.assertLessEqual({("props/a.mtl", False), ("props/none.png", True)}, {(d["path"], d["missing"]) for d in deps})
        self.assertIn({"root": "art", "path": "props/a.obj"}, [d["via"] for d in deps])
        get(400, f"/api/v1/assets/{self.id}/deps?direction=up")
        get(200, f"/api/v1/assets/{self.id}/deps?direction=in")
        get(200, f"/api/v1/assets/{self.id}/log")
        self.assertEqual(get(200, f"/api/v1/assets/{self.bad}/why").json()["verdict"], "failed")
        rev = self.daemon.assets()["art/props/a.obj"]["rev"]
        self.put("props/a.obj", obj_text(5, mtl="a.mtl"))
        self.daemon.sync()
        changed = get(200, f"/api/v1/assets/{self.id}/why?rev={rev}").json()["changed"]
        self.assertEqual([c["input"] for c in changed], ["a.obj"])
        get(400, f"/api/v1/assets/{self.id}/why?rev=x")
        get(404, f"/api/v1/assets/{self.id}/why?rev=99999999")
        history = get(200, f"/api/v1/assets/{self.id}/history?limit=1").json()
        self.assertEqual(history["items"][0]["stats"]["triangles"], 5)
        older = get(200, f"/api/v1/assets/{self.id}/history?cursor=" + history["next"]).json()["items"]
        self.assertEqual(next(v["stats"] for v in older if v["stats"])["triangles"], 3)
        get(400, f"/api/v1/assets/{self.id}/history?limit=x")
        get(400, f"/api/v1/assets/{self.id}/compare?from=yesterday")
        get(400, f"/api/v1/assets/{self.id}/compare/picture?view=under")
        get(200, "/api/v1")
        schema = get(200, "/api/v1/schema/settings.json").json()
        if contract.jsonschema:
            contract.jsonschema.Draft202012Validator.check_schema(schema)
            valid = contract.jsonschema.Draft202012Validator(schema).is_valid
            self.assertTrue(valid({"lods": {"max": 3}, "// why": 1, "encode": "meshopt", "scale": 2}))
            for wrong in ({"lods": {"max": 99}}, {"lod": {}}, {"encode": "zip"}, {"meshlets": 1}):
                self.assertFalse(valid(wrong), wrong)
            schema = get(200, "/api/v1/schema/config.json").json()
            contract.jsonschema.Draft202012Validator.check_schema(schema)
            valid = contract.jsonschema.Draft202012Validator(schema).is_valid
            self.assertTrue(valid({"sources": [{"path": "art", "options": {"lods": {"max": 3}}}]}))
            self.assertFalse(valid({"sources": [{"path": "art", "options": {"lods": {"max": 99}}}]}))
        get(404, "/api/v1/schema/other.json")

    def test_6_cooks_and_jobs(self):
        self.ask(400, "POST", f"/api/v1/assets/{self.id}/cook", {"force": 1})
        place = self.ask(202, "POST", f"/api/v1/assets/{self.id}/cook", {"force": True}).headers["location"]
        self.daemon.sync()
        job = self.ask(200, "GET", place).json()
        self.assertEqual((job["state"], job["result"], job["reason"]), ("done", "cooked", [{"kind": "forced"}]))
        self.ask(409, "DELETE", place)
        self.ask(200, "GET", place + "/log")
        self.ask(200, "POST", f"/api/v1/assets/{self.id}/cook", {}, Prefer="wait=60")
        self.ask(422, "POST", f"/api/v1/assets/{self.bad}/cook", {}, Prefer="wait=60")
        ids = lambda asset: [item["id"] for item in self.ask(200, "GET", f"/api/v1/jobs?asset={asset}&state=done").json()["items"]]
        self.assertIn(job["id"], ids(self.id))
        self.assertEqual(ids(self.id), ids(job["asset"]))
        # Names are bytes; in a query as well.
        self.put("bell\x07 \n.obj", obj_text(1))
        self.daemon.sync()
        named = "art/bell%07%20%0A.obj"
        self.assertEqual(len(ids(named)), 1)
        self.assertEqual(self.ask(200, "GET", f"/api/v1/what-if?file={named}").json()["count"], 1)
        self.ask(200, "GET", f"/a/{named}?output=meshes")
        self.ask(400, "GET", "/api/v1/assets?q=bell%07")
        (self.art / "bell\x07 \n.obj").unlink()
        self.daemon.sync()
        for query in ("limit=0", "state=good", "since=yesterday", "cursor=x"):
            self.ask(400, "GET", f"/api/v1/jobs?{query}")
        for bundle in (place + "/bundle", f"/api/v1/assets/{self.id}/bundle"):
            whole = self.ask(200, "GET", bundle)
            self.assertEqual(self.ask(206, "GET", bundle, Range="bytes=512-1023").body, whole.body[512:1024])
            self.ask(416, "GET", bundle, Range="bytes=99999999-")
        self.put("props/a.mtl", "newmtl m\nKd 1 0 1\n")
        self.daemon.sync()
        self.ask(409, "GET", place + "/bundle")
        failed = self.ask(200, "GET", "/api/v1/jobs?state=failed").json()["items"]
        self.assertEqual({j["asset"] for j in failed}, {"art/bad.obj"})
        later = self.ask(200, "GET", f"/api/v1/jobs?asset=art/props/a.obj&since={job['finished_at']}").json()["items"]
        self.assertGreaterEqual(min(j["finished_at"] for j in later), job["finished_at"])
        events = self.ask(200, "GET", f"/api/v1/trace?asset=art/props/a.obj&since={job['finished_at']}").json()["traceEvents"]
        self.assertEqual({j["id"] for j in later}, {e["args"]["job"] for e in events if e["ph"] == "X"})
        self.ask(400, "GET", "/api/v1/trace?since=yesterday")
        first = self.ask(200, "GET", "/api/v1/jobs?limit=1").json()
        second = self.ask(200, "GET", f"/api/v1/jobs?limit=1&cursor={first['next']}").json()
        self.assertLess(second["items"][0]["id"], first["items"][0]["id"])
        self.ask(400, "POST", "/api/v1/sync", {"timeout_ms": -1})
        self.ask(400, "GET", "/api/v1/log?limit=x")
        self.ask(400, "GET", "/api/v1/changes?wait=x")
        self.ask(403, "GET", "/api/v1/changes", Origin="http://evil.example")
        self.ask(204, "GET", "/api/v1/changes")
        self.assertTrue(self.ask(200, "GET", "/api/v1/changes?since=0").json()["reset"])
        self.ask(400, "GET", "/api/v1/events?asset=")
        self.ask(403, "GET", "/api/v1/events", Origin="http://evil.example")

    def test_7_jobs_can_be_cancelled(self):
        self.daemon.stop()
        with self.serve("--jobs", "1") as self.daemon:
            self.daemon.sync()
            (worker,) = children(self.daemon.process.pid)
            os.kill(worker, signal.SIGSTOP)  # the first job is still in progress when it is cancelled
            for i in range(6):
                self.put(f"many{i}.obj", obj_text(3, shift=i))
            cooking = self.daemon.wait_event("job", lambda job: job["state"] == "cooking")
            self.ask(504, "POST", "/api/v1/sync", {"timeout_ms": 1})
            waiting = lambda: self.ask(200, "GET", "/api/v1/jobs?state=queued,checking").json()["items"]
            queued = until(lambda: len(found := waiting()) == 5 and found, "the others in the queue")
            self.assertEqual(self.ask(202, "GET", f"/a/{queued[-1]['asset']}").json()["state"], "queued")
            # A job whose source is being hashed continues.
            queued = [job for job in reversed(queued)
                      if self.daemon.request("DELETE", f"/api/v1/jobs/{job['id']}").status == 202][:1]
            self.assertEqual(len(queued), 1)
            self.ask(202, "DELETE", f"/api/v1/jobs/{cooking['id']}")
            self.daemon.wait_event("job", lambda job: job["id"] == cooking["id"] and job["state"] == "cancelled")
            self.daemon.sync()
            for job in (queued[-1], cooking):
                state = self.daemon.assets()[job["asset"]]
                # A preview may have been published before, and a late event of the save may have requested it again.
                if state["state"] != "fresh":
                    self.assertIn(state["state"], ("failed", "stale"))
                    self.assertEqual(state["error"]["code"], "cook.cancelled")
                self.assertEqual(self.ask(200, "GET", f"/api/v1/jobs/{job['id']}").json()["result"], "cancelled")
            self.ask(202, "POST", f"/api/v1/assets/{state['id']}/cook", {})
            self.daemon.sync()
            self.assertEqual(self.daemon.assets()[cooking["asset"]]["state"], "fresh")

    def test_8_settings(self):
        target = f"/api/v1/assets/{self.id}/settings"
        self.put("props/cook.json", '{"lods": {"max": 3}}')
        self.daemon.sync()
        first = self.ask(200, "GET", target)
        self.assertEqual(first.json()["settings"]["lods"]["max"], 3)
        self.assertEqual(first.json()["origins"]["lods.max"], "props/cook.json")
        self.assertEqual(first.json()["origins"]["scale"], "default")
        self.assertEqual(first.headers["etag"], '"none"')
        self.ask(428, "PATCH", target, {"scale": 2})
        self.ask(412, "PATCH", target, {"scale": 2}, If_Match="*")
        self.ask(400, "PATCH", target, b"[1]", If_Match='"none"', **JSON)
        wrong = self.ask(422, "PATCH", target, {"lods": {"maxx": 2}}, If_Match='"none"').json()
        self.assertIn("lods.max", wrong["detail"])
        for change, words in (({"lods": {"max": 99}}, ("'lods.max'", "1 to 7", "not 99")), ({"encode": "zip"}, ("'encode'", "raw, meshopt", '"zip"')),
                              ({"meshlets": 1}, ("'meshlets'", "true or false", "not 1")), ({"scale": "ü" * 99}, ("'scale'", '"üü', "ü..."))):
            wrong = self.ask(422, "PATCH", target, change, If_Match='"none"').json()
            self.assertEqual((wrong["type"], wrong["code"]), ("/problems/settings-invalid", "config.invalid"))
            for word in words:
                self.assertIn(word, wrong["detail"])
        self.assertFalse((self.art / "props/a.obj.cook.json").exists())
        changed = self.ask(200, "PATCH", target, b'{"lods": {"max": 1}, "scale": 2}', If_Match='"none"',
                           Content_Type="application/merge-patch+json")
        self.assertEqual(changed.json()["settings"]["scale"], 2)
        self.assertEqual(changed.json()["origins"]["lods.max"], "props/a.obj.cook.json")
        self.assertEqual(json.loads((self.art / "props/a.obj.cook.json").read_text()), SETTINGS_SCHEMA | {"lods": {"max": 1}, "scale": 2})
        self.assertEqual(sorted(p.name for p in (self.art / "props").iterdir()),
                         ["a.mtl", "a.obj", "a.obj.cook.json", "cook.json"])
        self.daemon.sync()
        asset = self.ask(200, "GET", f"/api/v1/assets/{self.id}").json()
        self.assertEqual((asset["settings"]["scale"], asset["stats"]["lods"]), (2, 1))
        self.ask(412, "PATCH", target, {"scale": 3}, If_Match='"none"')
        again = self.ask(200, "PATCH", target, {"lods": None}, If_Match=changed.headers["etag"])
        self.assertEqual(again.json()["sidecar"]["value"], SETTINGS_SCHEMA | {"scale": 2})
        self.assertIn(b'"error":0.1,', again.body, "as it was written, not as the float prints at full length")
        self.ask(428, "DELETE", target)
        self.ask(412, "DELETE", target, If_Match=changed.headers["etag"])
        self.ask(204, "DELETE", target, If_Match=again.headers["etag"])
        for wrong in ("props/b/cook.json", "props/a.obj", "/cook.json", "props/../cook.json", "other.obj.cook.json"):
            self.ask(404, "GET", f"{target}?file={wrong}")
            self.ask(404, "PATCH", f"{target}?file={wrong}", {"scale": 3}, If_Match='"none"')
        folder = f"{target}?file=props/cook.json"
        found = self.ask(200, "GET", folder)
        self.assertEqual(found.json()["sidecar"], {"path": "props/cook.json", "exists": True, "value": {"lods": {"max": 3}}})
        self.ask(412, "PATCH", folder, {"scale": 3}, If_Match='"none"')
        changed = self.ask(200, "PATCH", folder, {"scale": 3}, If_Match=found.headers["etag"])
        self.assertEqual((changed.json()["settings"]["scale"], changed.json()["origins"]["scale"]), (3, "props/cook.json"))
        self.assertEqual(json.loads((self.art / "props/cook.json").read_text()), {"lods": {"max": 3}, "scale": 3})
        self.daemon.sync()
        self.assertEqual(self.ask(200, "GET", f"/api/v1/assets/{self.id}").json()["settings"]["scale"], 3)
        self.ask(204, "DELETE", folder, If_Match=changed.headers["etag"])
        outer = self.ask(200, "PATCH", f"{target}?file=cook.json", {"scale": 4}, If_Match='"none"')
        self.assertEqual((outer.json()["origins"]["scale"], (self.art / "props/cook.json").exists()), ("cook.json", False))
        self.ask(204, "DELETE", f"{target}?file=cook.json", If_Match=outer.headers["etag"])
        self.daemon.sync()
        self.assertEqual(self.ask(200, "GET", target).json()["settings"]["scale"], 1)
        self.put("props/cook.json", '{"lods": \n{"max": "many"}}')
        self.daemon.sync()
        error = self.ask(200, "GET", f"/api/v1/assets/{self.id}").json()["error"]
        self.assertEqual(error["location"]["file"], "props/cook.json")

    def test_9_scenes_of_one_rev(self):
        before = self.ask(200, "GET", "/api/v1/revs/latest/manifest?root=art/props").json()
        self.assertEqual([a["asset"] for a in before["assets"]], ["art/props/a.obj"])
        self.assertIn(self.hash("meshes"), before["hashes"])
        self.put("props/b.obj", obj_text(4))
        self.daemon.sync()
        self.put("props/a.obj", obj_text(9))
        self.daemon.sync()
        self.assertNotIn(self.hash("meshes"), before["hashes"])
        self.assertEqual(self.ask(200, "GET", f"/api/v1/revs/{before['rev']}/manifest?root=art/props").json(), before)
        (self.art / "props/a.obj").unlink()
        self.daemon.sync()
        self.assertEqual(self.ask(200, "GET", f"/api/v1/revs/{before['rev']}/manifest?root=art/props").json(), before)
        now = self.ask(200, "GET", "/api/v1/revs/latest/manifest?root=art").json()
        self.assertEqual([a["asset"] for a in now["assets"]], ["art/bad.obj", "art/props/b.obj"])
        old = self.daemon.assets()["art/props/b.obj"]
        key = self.ask(200, "GET", f"/api/v1/assets/{old['id']}").json()["record"]
        self.put("props/b.obj", obj_text(6))
        self.daemon.sync()
        self.daemon.stop()
        kept_blobs(self.cache)[before["hashes"][0]].unlink()
        index = sqlite3.connect(self.cache / "index.db")
        index.execute("DELETE FROM record WHERE key = ?", (bytes.fromhex(key),))
        index.commit()
        index.close()
        with self.serve() as self.daemon:
            self.daemon.sync()
            self.ask(410, "GET", f"/api/v1/assets/{old['id']}/why?rev={old['rev']}")
            self.ask(410, "GET", f"/api/v1/assets/{old['id']}/compare?from={old['rev']}")
            self.ask(410, "GET", f"/api/v1/assets/{old['id']}/compare/picture?from={old['rev']}")
            self.ask(410, "GET", f"/api/v1/revs/{before['rev']}/manifest?root=art/props")

    def test_10_housekeeping(self):
        blob = self.hash("meshes")
        kept = kept_blobs(self.cache)[blob]
        kept.write(b"x" * kept.size)

        def run(target, body):
            place = self.ask(202, "POST", target, body).headers["location"]
            number = int(place.rsplit("/", 1)[1])
            self.daemon.wait_event("job", lambda job: job["id"] == number and job["state"] == "done")
            return self.ask(200, "GET", place).json()

        dry = run("/api/v1/verify", {"dry_run": True})
        self.assertEqual((dry["damaged"], dry["checked"]), (1, dry["total"]))
        self.assertEqual(run("/api/v1/verify", {})["damaged"], 1)
        self.daemon.wait_asset("art/props/a.obj", "fresh")
        self.daemon.sync()  # a preview may have come first
        self.assertEqual(sha(self.ask(200, "GET", f"/blobs/{blob}").body), blob)
        self.assertEqual(run("/api/v1/verify?dry_run=1", None)["damaged"], 0)
        self.assertEqual(run("/api/v1/gc", {"dry_run": True})["freed_bytes"], 0)
        self.assertEqual(run("/api/v1/gc", None)["result"], "done")
        self.assertGreater(run("/api/v1/gc", {"dry_run": True, "max_bytes": 1})["over_bytes"], 0)
        self.ask(400, "POST", "/api/v1/gc", {"max_bytes": 0})
        large = bytes(96 << 20)
        self.ask(201, "PUT", f"/blobs/{sha(large)}", large)

        def begin():
            return self.daemon.post("/api/v1/verify")

        # A fast machine may finish one before the next request.
        until(lambda: begin().status == 202 and begin().status == 409, "a second one that is refused")
        until(lambda: (answer := begin()).status == 202 and self.ask(200, "GET", answer.headers["location"]).json()["state"] == "running",
              "one that runs")
        for path in ("gc", "verify"):
            self.ask(400, "POST", f"/api/v1/{path}", {"dry_run": 1})

    def test_10_the_page_by_any_of_its_addresses(self):
        page = self.ask(200, "GET", "/")
        for path in ("/ui", "/ui/", "/ui?q=a", "/ui/textures"):
            answer = self.ask(200, "GET", path)
            self.assertEqual((answer.body, answer.headers["etag"]), (page.body, page.headers["etag"]), path)
        self.assertEqual(self.daemon.get("/uiassets").status, 404)

    def test_11_who_listens(self):
        clients = self.ask(200, "GET", "/api/v1/clients").json()
        self.assertEqual((clients["count"], clients["items"][0]["address"]), (1, "127.0.0.1"))
        for path in ("roots", "config", "stats", "what-if?file=art/cook.json", "assets?nondeterministic=true"):
            self.ask(200, "GET", f"/api/v1/{path}")
        for status, query in ((400, ""), (400, "?file=art/../../x"), (404, "?file=nowhere/x")):
            self.ask(status, "GET", "/api/v1/what-if" + query)
        flags = {v["key"]: v["origin"] for v in self.ask(200, "GET", "/api/v1/config").json()["values"]}
        self.assertEqual((flags["server.listen"], flags["cache.dir"], flags["cook.jobs"]), ("--listen", "--cache", "default"))
        stream = self.daemon.open_events()
        self.assertEqual(stream.status, 200)
        stream.close()
        for path in ("livez", "healthz", "readyz"):
            self.assertIn(b"ok http", self.ask(200, "GET", f"/{path}?verbose").body)

    def test_11_the_loader_and_all_that_it_imports_are_served(self):
        import re
        names, done = {"hob.js", "hob-three.js", "hob-overlay.js"}, set()
        while names - done:
            name = (names - done).pop()
            text = self.ask(200, "GET", f"/client/{name}").body.decode()
            names |= set(re.findall(r"""(?:from |URL\()['"]\./([\w.-]+)['"]""", text))
            done.add(name)
        files = {file.name for file in (contract.pathlib.Path(__file__).parents[2] / "web/client").glob("*.js")}
        self.assertEqual(done, files - {"vite-plugin-hob.js"})  # runs in Node

    def test_12_metrics_are_what_the_table_says(self):
        text = self.ask(200, "GET", "/metrics").body.decode()
        table = (contract.pathlib.Path(__file__).resolve().parents[2] / "schema/counters.def").read_text()
        names = [line.split('"')[1] for line in table.splitlines() if line.startswith("COUNTER(")]
        self.assertGreater(len(names), 30)
        for name in names:
            self.assertEqual(text.count(f"# TYPE {name} "), 1, name)
        self.assertEqual(text.count("# TYPE "), len(names))
        promtool = shutil.which("promtool")
        if not promtool:
            self.skipTest("there is no promtool (Debian: prometheus)")
        result = subprocess.run([promtool, "check", "metrics"], input=text, capture_output=True, text=True, check=False)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))

    def test_13_a_browser_signs_in_and_out(self):
        self.assertEqual(self.ask(200, "GET", "/api/v1/session").json()["scope"], "write")
        tokens = str(self.folder / "tokens")
        made = subprocess.run([HOB, "token", "create", "me", "--token-file", tokens], capture_output=True, text=True, check=True)
        with Daemon([self.art], self.folder / "closed", "--token-file", tokens, wait_ready=False) as self.daemon:
            self.daemon.wait_banner()
            self.ask(400, "POST", "/api/v1/session", {})
            signed = self.ask(200, "POST", "/api/v1/session", {"token": made.stdout.strip()})
            self.ask(204, "DELETE", "/api/v1/session", Cookie=signed.headers["set-cookie"].split(";")[0])
            self.ask(401, "POST", "/api/v1/session", {"token": "no"})
            # Ten per minute, at any speed of the machine.
            until(lambda: self.daemon.request("POST", "/api/v1/session", {"token": "no"}).status == 429, "a refusal of guesses")
            self.ask(429, "GET", "/api/v1/session", Cookie=f"hob_{self.daemon.port}=no")

    def test_98_a_root_that_is_away(self):
        away = self.folder / "away"
        self.art.rename(away)
        self.daemon.wait_asset("art/props/a.obj", "missing")
        place = f"/api/v1/assets/{self.id}/settings"
        self.ask(409, "POST", f"/api/v1/assets/{self.id}/cook", {})
        self.ask(409, "GET", place)
        self.ask(409, "PATCH", place, {"lods": {"max": 1}}, If_Match="*")
        self.ask(409, "DELETE", place, If_Match="*")
        self.ask(200, "GET", "/a/art/props/a.obj")
        away.rename(self.art)
        self.daemon.wait_asset("art/props/a.obj", "fresh")

    def test_99_nothing_declared_was_left_out(self):
        missing = set(contract.unseen()) - ELSEWHERE
        self.assertFalse(missing, "declared in openapi.json and never seen here:\n" + "\n".join(map(str, sorted(missing))))


class InOrder(unittest.TestLoader):
    """The last test checks the results of all others."""

    def getTestCaseNames(self, case):
        return sorted(super().getTestCaseNames(case), key=lambda name: int(name.split("_")[1]))


if __name__ == "__main__":
    unittest.main(verbosity=2, testLoader=InOrder())
