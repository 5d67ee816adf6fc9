"""Derived forms of blobs: encoded ones and cuts at a level of detail, made once each."""
import gzip
import hashlib
import json
import os
import random
import shutil
import socket
import struct
import subprocess
import unittest
import zlib

from hobtest import DEADLINE, HOB, PROJECT, Daemon, Scenario, bumpy_grid, kept_blobs, main, until

NODE = shutil.which("node")


def made(daemon, kind, result="made"):
    return daemon.counters()[f'hob_derived_total{{kind="{kind}",result="{result}"}}']


def tag(answer):
    return answer.headers["etag"]


def noise(side):
    """An incompressible PNG."""
    bits = random.Random(1)
    rows = b"".join(b"\0" + bits.randbytes(side * 3) for _ in range(side))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


class Forms(Scenario):
    NAME = "/a/art/grid.obj"

    def setUp(self):
        super().setUp()
        self.put("grid.obj", "mtllib grid.mtl\nusemtl m\n" + bumpy_grid(24))
        self.put("grid.mtl", "newmtl m\nmap_Kd noise.png\n")
        self.put("noise.png", noise(64))
        self.put("flat.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")

    def begin(self, daemon):
        daemon.sync()
        self.whole = daemon.blob("art/grid.obj")
        self.sha = hashlib.sha256(self.whole).hexdigest()
        self.name = "/a/art/grid.obj"

    def form(self, daemon, coding, target=None, **more):
        return daemon.get(target or self.name, Accept_Encoding=coding, Prefer="encoded", **more)

    def test_a_form_is_made_once(self):
        with self.serve() as daemon:
            self.begin(daemon)
            self.assertNotIn("content-encoding", daemon.get(self.name).headers)
            self.assertEqual(made(daemon, "gzip"), 0, "nobody has asked")
            first = self.form(daemon, "gzip")
            self.assertEqual(first.headers["content-encoding"], "gzip")
            self.assertEqual(gzip.decompress(first.body), self.whole)
            self.assertLess(len(first.body), 0.9 * len(self.whole))
            self.assertEqual(first.headers["vary"], "Accept-Encoding")
            for target in (self.name, f"/blobs/{self.sha}"):
                again = daemon.get(target, Accept_Encoding="gzip")
                self.assertEqual((again.body, tag(again)), (first.body, tag(first)))
                head = daemon.request("HEAD", target, headers={"Accept-Encoding": "gzip"})
                self.assertEqual((int(head.headers["content-length"]), tag(head)), (len(first.body), tag(first)))
            self.assertEqual(made(daemon, "gzip"), 1)
            # A request that does not wait gets the plain form, and orders the other one.
            plain = daemon.get(f"/blobs/{self.sha}", Accept_Encoding="zstd")
            self.assertEqual(plain.body, self.whole)
            self.assertEqual(self.form(daemon, "zstd").headers["content-encoding"], "zstd")
            self.assertEqual(made(daemon, "zstd"), 1)
            self.assertGreater(daemon.counters()['hob_http_encoded_blobs_total{coding="gzip"}'], 2)
        with self.serve() as daemon:
            daemon.sync()
            again = daemon.get(self.name, Accept_Encoding="gzip")
            self.assertEqual((again.body, tag(again)), (first.body, tag(first)), "kept over a restart")
            self.assertEqual(made(daemon, "gzip"), 0)

    def test_what_is_wanted_most(self):
        with self.serve() as daemon:
            self.begin(daemon)
            both = [self.form(daemon, coding) for coding in ("zstd", "gzip")]
            tags = {"zstd": tag(both[0]), "gzip": tag(both[1]), None: f'"{self.sha}"'}
            self.assertEqual(len(set(tags.values())), 3)
            for field, wanted in (
                    ("gzip, deflate, br, zstd", "zstd"), ("gzip, deflate", "gzip"), ("x-gzip", "gzip"), ("*", "zstd"),
                    ("br", None), ("", None), ("identity", None), ("zstd;q=0.5, gzip", "gzip"), ("gzip;q=0", None),
                    ("zstd;q=0, *", "gzip"), ("zstd;q=0.5, identity;q=0.8", None), ("ZSTD;Q=1.000", "zstd"),
                    ("zstd;q=0.8, identity;q=0.5", "zstd"), ("gzip;q=0.001", "gzip"), ("zstd;q=2, gzip;q=0.1", "gzip"),
                    ("gzip;q=0.5, zstd;q=0.5", "zstd"), ("identity;q=0, gzip", "gzip"), ("*;q=0, zstd", "zstd")):
                answer = daemon.get(self.name, Accept_Encoding=field)
                self.assertEqual((answer.headers.get("content-encoding"), tag(answer)), (wanted, tags[wanted]), field)
            refused = daemon.get(self.name, Accept_Encoding="identity;q=0, br")
            self.assertEqual(refused.status, 406)
            self.assertTrue(refused.json()["hint"])

    def test_conditions_and_parts(self):
        with self.serve() as daemon:
            self.begin(daemon)
            encoded = self.form(daemon, "gzip")
            plain = f'"{self.sha}"'
            for field, named, wanted in (
                    ("gzip", tag(encoded), (304, tag(encoded))), ("gzip", plain, (304, plain)), ("", plain, (304, plain)),
                    ("", tag(encoded), (200, plain)), ("zstd", tag(encoded), (200, plain)),
                    ("gzip", '"other"', (200, tag(encoded)))):
                answer = daemon.get(self.name, Accept_Encoding=field, If_None_Match=named)
                self.assertEqual((answer.status, tag(answer)), wanted, (field, named))
            part = daemon.get(self.name, Accept_Encoding="gzip", Range="bytes=10-19")
            self.assertEqual((part.status, part.body, tag(part)), (206, self.whole[10:20], plain))
            self.assertNotIn("content-encoding", part.headers)
            for name, whole in ((tag(encoded), encoded.body), (plain, self.whole)):
                part = daemon.get(self.name, Accept_Encoding="gzip", Range="bytes=10-19", If_Range=name)
                self.assertEqual((part.status, part.body, tag(part)), (206, whole[10:20], name))
                self.assertEqual(part.headers["content-range"], f"bytes 10-19/{len(whole)}")
            stale = daemon.get(self.name, Accept_Encoding="gzip", Range="bytes=10-19", If_Range='"other"')
            self.assertEqual((stale.status, stale.body), (200, self.whole))

    def test_what_does_not_pay_is_tried_once(self):
        with self.serve() as daemon:
            self.begin(daemon)
            texture = "/a/art/grid.obj?output=textures/0"
            plain = daemon.get(texture)
            for _ in range(3):
                answer = self.form(daemon, "zstd", texture)
                self.assertEqual((answer.body, tag(answer)), (plain.body, tag(plain)))
                self.assertNotIn("content-encoding", answer.headers)
            self.assertEqual((made(daemon, "zstd"), made(daemon, "zstd", "useless")), (0, 1))
            small = self.form(daemon, "zstd", "/a/art/flat.obj?output=materials")
            self.assertEqual("content-encoding" in small.headers, len(small.body) >= 1024)
        with self.serve() as daemon:
            daemon.sync()
            self.form(daemon, "zstd", texture)
            self.assertEqual(made(daemon, "zstd", "useless"), 0, "known after a restart")

    def test_a_damaged_form_is_made_again(self):
        with self.serve() as daemon:
            self.begin(daemon)
            first = self.form(daemon, "gzip")
            beginning = tag(first)[-17:-1]
            digest, kept = next(item for item in kept_blobs(self.cache).items() if item[0].startswith(beginning))
            daemon.get(f"/blobs/{digest}")
        kept.write(first.body[:-1] + bytes([first.body[-1] ^ 1]))
        with self.serve() as daemon:
            daemon.sync()
            job = daemon.post("/api/v1/verify").json()["job"]
            until(lambda: daemon.get(f"/api/v1/jobs/{job}").json()["state"] in ("done", "finished"), "the end of verify")
            self.assertEqual(daemon.get(f"/api/v1/jobs/{job}").json()["damaged"], 1)
            plain = daemon.get(self.name, Accept_Encoding="gzip")
            self.assertEqual(plain.body, self.whole)
            again = self.form(daemon, "gzip")
            self.assertEqual((again.body, tag(again)), (first.body, tag(first)))
            until(lambda: made(daemon, "gzip") == 1, "the count of a form that was made again")

    def test_a_damaged_cut_or_file_is_made_again_at_once(self):
        targets = [f"{self.NAME}?{query}" for query in ("lod=1", "output=glb", "output=classic.meshes", "output=classic.scene")]
        with self.serve() as daemon:
            self.begin(daemon)
            first = {target: daemon.get(target) for target in targets}
        for damage in ("cut", "changed", "gone"):
            for answer in first.values():
                sha = hashlib.sha256(answer.body).hexdigest()
                kept = kept_blobs(self.cache)[sha]
                if damage == "gone":
                    kept.unlink()
                else:
                    kept.write(answer.body[:-1] + b"?" * (damage == "changed"))
            with self.serve() as daemon:
                daemon.sync()
                for target, answer in first.items():
                    again = daemon.get(target)
                    self.assertEqual((again.status, again.body == answer.body), (200, True), (target, damage, again.body[:300]))
                    place = daemon.get(f"{target}&redirect=1").headers["location"]
                    self.assertEqual(daemon.get(place).body, answer.body)
                self.assertEqual((made(daemon, "lod"), made(daemon, "glb")), (1, 1), damage)

    def test_what_is_made_of_too_much_is_refused(self):
        with self.serve("--derived-limit", "1000") as daemon:
            self.begin(daemon)
            for query in ("lod=1", "output=glb", "output=classic.meshes"):
                problem = daemon.get(f"{self.name}?{query}")
                self.assertEqual(problem.status, 422, query)
                told = problem.json()
                self.assertEqual((told["type"], told["code"]), ("/problems/derived-too-large", "cook.limit"))
                self.assertIn("1000", told["detail"])
                self.assertIn("derived_limit", told["hint"])
            plain = self.form(daemon, "gzip")
            self.assertEqual((plain.status, plain.body == self.whole, "content-encoding" in plain.headers), (200, True, False))
        with self.serve("--derived-limit", "0") as daemon:
            daemon.sync()
            self.assertEqual(daemon.get(f"{self.name}?lod=1").status, 200, "no limit")

    def large_blobs(self, daemon, count):
        """Blobs that take a while to encode."""
        noise_, hashes = random.Random(7).randbytes(1 << 20), []
        for i in range(count):
            body = b"%d" % i + noise_ + bytes(noise_[:1 << 19].hex(), "ascii") * 2
            hashes.append(hashlib.sha256(body).hexdigest())
            self.assertEqual(daemon.request("PUT", f"/blobs/{hashes[-1]}", body).status, 201)
        return hashes

    def want(self, daemon, sha, agent):
        wire = socket.create_connection(("127.0.0.1", daemon.port), timeout=DEADLINE)
        wire.sendall(f"GET /blobs/{sha} HTTP/1.1\r\nHost: localhost\r\nUser-Agent: {agent}\r\nAccept-Encoding: gzip\r\n"
                     "Prefer: encoded\r\n\r\n".encode())
        return wire

    def test_what_nobody_waits_for_any_more_is_not_made(self):
        count = 24
        with self.serve("--log-level", "debug") as daemon:
            hashes = self.large_blobs(daemon, count)
            wires = [self.want(daemon, sha, "leaves") for sha in hashes]
            stays = self.want(daemon, hashes[-1], "stays")
            asked = [daemon.wait_log("waited for") for _ in range(count + 1)]
            self.assertEqual(len(asked), count + 1)
            for wire in wires:
                wire.close()
            self.assertTrue(stays.recv(100).startswith(b"HTTP/1.1 200"))
            stays.close()
            while made(daemon, "gzip") + made(daemon, "gzip", "cancelled") < count:
                daemon.wait_log("gzip of")
            self.assertGreater(made(daemon, "gzip", "cancelled"), 0)
            until(lambda: any(f"gzip of {hashes[-1][:16]}: made" in line for line in daemon.log), "the one that is waited for")
            again = daemon.get(f"/blobs/{hashes[0]}", Accept_Encoding="gzip", Prefer="encoded")
            self.assertEqual((again.status, again.headers["content-encoding"]), (200, "gzip"), "asked for again it is made")

    def test_clients_take_turns(self):
        count = 16
        with self.serve("--log-level", "debug") as daemon:
            hashes = self.large_blobs(daemon, count + 1)
            many = [self.want(daemon, sha, "many") for sha in hashes[:-1]]
            few = self.want(daemon, hashes[-1], "few")
            for wire in [few, *many]:
                self.assertTrue(wire.recv(100).startswith(b"HTTP/1.1 200"))
                wire.close()
            while sum("gzip of" in line and ": made" in line for line in daemon.log) <= count:
                daemon.wait_log("gzip of")
            lines = [line for line in daemon.log if "gzip of" in line]
            mine = [i for i, line in enumerate(lines) if hashes[-1][:16] in line]
            between = [line for line in lines[mine[0]:mine[1]] if ": made" in line]
            self.assertLessEqual(len(between), 3, "two that ran, and at most one of the same turn\n" + "\n".join(lines))

    @unittest.skipUnless(shutil.which("curl"), "there is no curl")
    def test_curl(self):
        with self.serve() as daemon:
            self.begin(daemon)
            url = f"http://127.0.0.1:{daemon.port}{self.name}"
            told = "%{http_code} %{size_download} %header{content-encoding} "
            for coding in ("zstd", "gzip"):
                size = len(self.form(daemon, coding).body)
                done = subprocess.run(["curl", "-sf", "--compressed", "-H", f"Accept-Encoding: {coding}", "-w", told, "-o",
                                       str(self.folder / "got"), url], capture_output=True, timeout=DEADLINE, check=True)
                self.assertEqual(done.stdout.decode().split(), ["200", str(size), coding])
                self.assertEqual((self.folder / "got").read_bytes(), self.whole)
            kept = self.folder / "tag"
            for wanted in ("200", "304"):
                done = subprocess.run(["curl", "-s", "--compressed", "-o", os.devnull, "-w", "%{http_code}", "--etag-compare",
                                       str(kept), "--etag-save", str(kept), url], capture_output=True, timeout=DEADLINE)
                self.assertEqual(done.stdout.decode(), wanted)

    @unittest.skipUnless(NODE, "there is no node")
    def test_node(self):
        with self.serve() as daemon:
            self.begin(daemon)
            self.form(daemon, "gzip")
            program = """
                import { HobClient } from 'CLIENT';
                const answer = await fetch(process.argv[1] + 'a/art/grid.obj');
                const bytes = new Uint8Array(await answer.arrayBuffer());
                const own = await new HobClient(process.argv[1]).get('art/grid.obj');
                console.log(JSON.stringify({ coding: answer.headers.get('content-encoding'), size: bytes.length,
                    same: Buffer.compare(bytes, own.bytes) === 0, hash: own.hash }));
            """.replace("CLIENT", (PROJECT / "web/client/hob.js").as_uri())
            done = subprocess.run([NODE, "--input-type=module", "-e", program, f"http://127.0.0.1:{daemon.port}/"],
                                  capture_output=True, text=True, timeout=DEADLINE)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(json.loads(done.stdout),
                             {"coding": "gzip", "size": len(self.whole), "same": True, "hash": self.sha})

    def test_levels_of_detail(self):
        with self.serve() as daemon:
            self.begin(daemon)
            count = next(item for item in daemon.assets().values() if item["path"] == "grid.obj")["stats"]["lods"]
            self.assertGreater(count, 2)
            cut, sizes = self.folder / "cut.meshes", []
            for level in range(count):
                answer = daemon.get(f"{self.name}?lod={level}")
                self.assertEqual(answer.status, 200)
                sha = hashlib.sha256(answer.body).hexdigest()
                self.assertEqual(tag(answer), f'"{sha}"')
                self.assertEqual(answer.headers["content-location"], f"/blobs/{sha}")
                self.assertEqual(answer.headers["cook-state"], "fresh")
                cut.write_bytes(answer.body)
                subprocess.run([HOB, "inspect", "--validate", str(cut)], check=True, capture_output=True, timeout=DEADLINE)
                told = json.loads(subprocess.run([HOB, "inspect", "--json", str(cut)], check=True, capture_output=True,
                                                 timeout=DEADLINE).stdout)
                records = told["records"]
                drawn = [(lod["index_count"], lod["vertex_prefix"], lod["error"]) for lod in records["LODS"]]
                if level == 0:
                    self.assertEqual(answer.body, self.whole)
                    all_levels = drawn
                self.assertEqual(drawn, all_levels[level:])
                self.assertEqual(records["MDSC"][0]["vertex_count"], drawn[0][1])
                sizes.append(len(answer.body))
            self.assertEqual(sizes, sorted(sizes, reverse=True))
            self.assertEqual(len(set(sizes)), count)
            self.assertEqual(daemon.get(f"/blobs/{sha}").body, answer.body)
            self.assertEqual(daemon.get(f"{self.name}?lod={level}", If_None_Match=f'"{sha}"').status, 304)
            self.assertEqual(daemon.get(f"{self.name}?lod={level}&redirect=1").headers["location"], f"/blobs/{sha}")
            part = daemon.get(f"{self.name}?lod={level}", Range="bytes=-9")
            self.assertEqual((part.status, part.body), (206, answer.body[-9:]))
            encoded = self.form(daemon, "gzip", f"{self.name}?lod=1")
            self.assertEqual(gzip.decompress(encoded.body), daemon.get(f"{self.name}?lod=1").body)
            self.assertEqual(made(daemon, "lod"), count - 1, "each once")
            for query, status, words in ((f"lod={count}", 404, f"levels 0 to {count - 1}"), ("lod=-1", 400, "0 to 255"),
                                         ("lod=1&output=scene", 404, "only the output 'meshes'")):
                refused = daemon.get(f"{self.name}?{query}")
                self.assertEqual((refused.status, words in refused.json()["detail"]), (status, True), refused.body)
                self.assertTrue(refused.json()["hint"])
            self.assertIn("no levels", daemon.get("/a/art/flat.obj?lod=1").json()["detail"])
        with self.serve() as daemon:
            daemon.sync()
            self.assertEqual(daemon.get(f"{self.name}?lod={level}").body, answer.body)
            self.assertEqual(made(daemon, "lod"), 0, "kept over a restart")

    def test_binary_gltf(self):
        with self.serve() as daemon:
            self.begin(daemon)
            target = f"{self.name}?output=glb"
            first = daemon.get(target)
            sha = hashlib.sha256(first.body).hexdigest()
            self.assertEqual((first.status, first.headers["content-type"], tag(first)), (200, "model/gltf-binary", f'"{sha}"'))
            self.assertEqual((first.headers["content-location"], first.headers["cook-state"]), (f"/blobs/{sha}", "fresh"))
            exported = self.folder / "exported.glb"
            subprocess.run([HOB, "export", "art/grid.obj", "--url", f"http://127.0.0.1:{daemon.port}", "-o", str(exported)],
                           check=True, capture_output=True, timeout=DEADLINE)
            self.assertEqual(first.body, exported.read_bytes(), "what hob export writes")
            self.assertEqual(daemon.get(target, If_None_Match=tag(first)).status, 304)
            self.assertEqual(made(daemon, "glb"), 1)
            self.assertEqual(daemon.get(f"{target}&lod=1").status, 404)
            self.assertIn("glb", daemon.get(f"{self.name}?output=none").json()["hint"])
            self.put("grid.mtl", "newmtl m\nKd 1 0 0\n")
            daemon.sync()
            self.assertNotEqual(tag(daemon.get(target)), tag(first), "of the newest cook")
            self.check_gltf(exported)

    def check_gltf(self, path):
        validator = PROJECT / "tests/gltf/node_modules/gltf-validator"
        if not NODE or not validator.exists():
            return
        program = """
            const validator = require(process.argv[1]);
            validator.validateBytes(new Uint8Array(require('fs').readFileSync(process.argv[2])))
                .then((report) => console.log(JSON.stringify(report.issues)));"""
        done = subprocess.run([NODE, "-e", program, str(validator), str(path)], capture_output=True, text=True, timeout=DEADLINE)
        self.assertEqual(done.returncode, 0, done.stderr)
        issues = json.loads(done.stdout)
        self.assertEqual((issues["numErrors"], issues["numWarnings"]), (0, 0), issues)


class Variants(Scenario):
    def test_the_same_folder_with_other_options(self):
        self.put("grid.obj", bumpy_grid(24))
        config = self.folder / "hob.json"
        config.write_text(json.dumps({"sources": [
            {"name": "art", "path": "art"}, {"name": "art@mobile", "path": "art", "options": {"lods": {"max": 2}}}]}))
        told = subprocess.run([HOB, "doctor", "--config", str(config)], capture_output=True, text=True, timeout=DEADLINE)
        self.assertNotIn("given twice", told.stdout + told.stderr)
        with Daemon([], self.cache, "--config", str(config)) as daemon:
            daemon.sync()
            items = daemon.assets()
            self.assertEqual({name: item["stats"]["lods"] for name, item in items.items()},
                             {"art/grid.obj": 5, "art@mobile/grid.obj": 2})
            whole, small = (daemon.get(f"/a/art/grid.obj?profile={name}") for name in ("default", "mobile"))
            self.assertEqual(tag(whole), tag(daemon.get("/a/art/grid.obj")))
            self.assertEqual(tag(small), tag(daemon.get("/a/art@mobile/grid.obj")))
            self.assertLess(len(small.body), len(whole.body))
            none = daemon.get("/a/art/grid.obj?profile=vr")
            self.assertEqual((none.status, none.json()["profiles"]), (404, ["default", "mobile"]))
            self.assertIn("art@vr", none.json()["hint"])
            self.put("grid.obj", bumpy_grid(23))
            profiles = {}
            while len(profiles) < 2:
                data = daemon.wait_event("asset", lambda data: data["state"] == "fresh")
                profiles[data["asset"]] = data["profile"]
            self.assertEqual(profiles, {"art/grid.obj": "default", "art@mobile/grid.obj": "mobile"})
            daemon.sync()
            place = f"/api/v1/assets/{items['art/grid.obj']['id']}/cook"
            cooked = daemon.request("POST", place, {"force": True, "profile": "mobile"}, {"Prefer": "wait=60"})
            self.assertEqual((cooked.status, cooked.json()["root"]), (200, "art@mobile"))
            self.assertEqual(daemon.post(place, {"profile": "vr"}).status, 404)
            self.assertEqual(daemon.post(place, {"profile": 1}).status, 400)

    def test_a_folder_given_twice_is_refused(self):
        done = subprocess.run([HOB, "serve", str(self.art), str(self.art), "--cache", str(self.cache)], capture_output=True,
                              text=True, timeout=DEADLINE)
        self.assertEqual(done.returncode, 2)
        self.assertIn("art@NAME", done.stderr)


if __name__ == "__main__":
    main()
