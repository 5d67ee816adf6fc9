"""Typical mistakes: on the command line, in hob.json, settings, HTTP and the Python client. Each answer must name the fault, its
place and the remedy, and its exit code the cause. The whole conversation is in mistakes.txt beside this file; HOB_WRITE=1
rewrites it."""
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import unittest

from hobtest import DEADLINE, HOB, PROJECT, Scenario, main, obj_text

TRANSCRIPT = pathlib.Path(__file__).with_name("mistakes.txt")

# Lines typed in a folder with art/duck.obj, the exit code, and words required in the answer.
TYPED = [
    ("hob cok art", 2, ["no command 'cok'", "did you mean 'cook'"]),
    ("hob", 2, ["hob serve art/", "hob help COMMAND"]),
    ("hob --halp", 2, ["'--halp'", "--help"]),
    ("hob cook", 2, ["at least one model", "Usage: hob cook"]),
    ("hob cook gone.glb", 2, ["'gone.glb' cannot be opened"]),
    ("hob cook art --otu build", 2, ["unknown option '--otu'", "did you mean '--out'", "Usage: hob cook"]),
    ("hob cook art --output build", 2, ["unknown option '--output'", "did you mean '--out'"]),
    ("hob cook art build", 2, ["'build' cannot be opened", "named with -o"]),
    ("hob serve art --port 8080", 2, ["unknown option '--port'", "did you mean '--listen'"]),
    ("hob cook --hepl", 2, ["did you mean '--help'"]),
    ("hob frobnicate", 2, ["there is no command 'frobnicate'. Run 'hob help'"]),
    ("hob open", 3, ["no daemon answers", "hob serve DIR"]),
    ("hob stop", 3, ["no daemon of '.' runs", "its cache"]),
    ("hob stop art", 3, ["no daemon of 'art' runs"]),
    ("hob sync --wait 601", 2, ["--wait takes 0 to 600 seconds"]),
    ("hob recook", 2, ["at least one asset", "'hob ls'"]),
    ("hob ls -lz", 2, ["unknown option '-z'"]),
    ("hob inspect art", 2, ["'art' is a folder", "name a file in it"]),
    ("hob why --job 7", 2, ["use 'hob log JOB'"]),
    ("hob cook art -o build --wait-writer soon", 2, ["'--wait-writer' needs a whole number"]),
    ("hob cook art -o build --settings '{\"lods\":3}'", 2, ["'lods' is a group of settings: lods.max, lods.ratio"]),
    ("hob list", 2, ["there is no command 'list'; did you mean 'ls'?"]),
    ("hob cook art --out", 2, ["'--out' needs a value", "DIR"]),
    ("hob cook empty", 2, ["no model was found in", ".glb"]),
    ("hob cook art -o build --format xml", 2, ["json, junit or github, not 'xml'"]),
    ("hob cook art -o build --settings '{\"lods\":{\"max\":3},}'", 2, ["--settings", "line 1, column 19"]),
    ("hob cook art -o build --settings '{\"lods\":{\"mx\":3}}'", 2, ["unknown setting 'lods.mx'", "did you mean 'lods.max'"]),
    ("hob cook art -o build --settings '{\"lods\":{\"max\":30}}'", 2, ["from 1 to 7, not 30"]),
    ("hob cook art -o build --settings '{\"zzzzzz\":1}'", 2, ["no known setting", "man hob.json"]),
    ("hob cook art -o build --settings gone.json", 2, ["'gone.json' cannot be read"]),
    ("hob cook art -o build --budget gone.json", 2, ["--budget takes a JSON object or a file", "'gone.json'"]),
    ("hob cook art -o build --budget '{\"triangels\":1}'", 2, ["did you mean 'budget.triangles'"]),
    ("hob cook art -o build --budget '{\"triangles\":1}'", 4, ["duck.obj", "over the budget of 1"]),
    ("hob cook art -o art/duck.obj/x", 2, ["duck.obj/x' cannot be written", "Not a directory"]),
    ("hob cook art -o build --keep-going --fail-fast", 2, ["contradict each other"]),
    ("hob cook art -o build --jobs many", 2, ["--jobs", "whole number", "'many'"]),
    ("hob cook art -o build --report art/duck.obj", 2, ["not a report of hob cook", "choose another name"]),
    ("hob cook broken -o build", 1, ["bad.gltf", "JSON"]),
    ("hob cook stray -q -o build", 0, ["Fox.cook.json has no effect", "Fox.obj.cook.json"]),
    ("hob cook list.json", 1, ["gone.glb", "list.json"]),
    ("hob cook wrong.json", 2, ["wrong.json: entry 0", "'input_scene' is missing"]),
    ("hob inspect gone.meshes", 2, ["'gone.meshes' cannot be opened"]),
    ("hob inspect notes.txt", 1, ["notes.txt"]),
    ("hob diff gone.meshes art/duck.obj", 2, ["'gone.meshes' is no cooked file here", "hob get ASSET -o FILE"]),
    ("hob diff art/duck.obj --output meshes", 2, ["use 'hob get ASSET OUTPUT'"]),
    ("hob export gone.glb -o x.glb", 2, ["no file 'gone.glb' here"]),
    ("hob export art", 2, ["-o FILE.glb or -o DIR"]),
    ("hob bundle replay gone.tar", 2, ["'gone.tar' cannot be opened"]),
    ("hob replay gone.tar", 2, ["use 'hob bundle replay FILE'", "'gone.tar' cannot be opened"]),
    ("hob serve gone", 2, ["folder", "gone' cannot be opened", "mount or create it"]),
    ("hob serve art --listen 7780", 2, ["'7780' is not HOST:PORT", "127.0.0.1:7780"]),
    ("hob serve art --listen :7780", 2, ["':7780' is not an address", "127.0.0.1:7780"]),
    ("hob serve art --listen 127.0.0.1:99999", 2, ["99999': ports go up to 65535", "127.0.0.1:7780"]),
    ("hob serve art --listen example.invalid:7780", 2, ["is not an address"]),
    ("hob serve art --listen 192.0.2.1:7780 --trust-network", 2, ["192.0.2.1:7780"]),
    ("hob serve art --listen 0.0.0.0:0 --token-file gone", 2, ["'gone'", "hob token create"]),
    ("hob serve art --listen 127.0.0.1:TAKEN", 2, ["in use by another program", "--listen"]),
    ("hob serve art --listen 0.0.0.0:0", 2, ["tokens", "hob token create"]),
    ("hob serve art --log yaml", 2, ["--log", "text, json", "'yaml'"]),
    ("hob serve art art --listen 127.0.0.1:0", 2, ["art"]),
    ("hob status", 3, ["no daemon answers at", "hob serve DIR", "--url"]),
    ("hob status --watch", 2, ["use 'watch -n 1 hob status'"]),
    ("hob serve --once-ready make", 2, ["use 'hob status --ready'"]),
    ("hob init --from list.json", 2, ["use 'hob cook LIST'"]),
    ("hob healthcheck", 3, ["use 'hob status --live'", "no daemon answers at"]),
    ("hob status --url 127.0.0.1:99999", 2, ["from 1 to 65535"]),
    ("hob status --url unix:", 2, ["names no socket", "unix:/path"]),
    ("hob status --url ftp://x", 2, ["HOST:PORT"]),
    ("hob ls --state faild", 2, ["did you mean 'failed'"]),
    ("hob get art/duck.obj --all", 2, ["--all takes a folder"]),
    ("hob set art/duck.obj lods.max", 2, ["not KEY=VALUE", "lods.max=3"]),
    ("hob token crate me", 2, ["did you mean 'create'"]),
    ("hob completion tcsh", 2, ["bash"]),
    ("hob config --check gone.json", 2, ["'gone.json' cannot be read"]),
    ("hob config --check c/comma.json", 2, ["not valid JSON near line 3, column 1"]),
    ("hob config --check c/listen.json", 2, ["unknown key 'listne'", "did you mean 'server.listen'"]),
    ("hob config --check c/place.json", 2, ["'lods' is a cook setting", "defaults"]),
    ("hob config --check c/exclude.json", 2, ["'exclude' is a key of a source"]),
    ("hob config --check c/far.json", 2, ["no known key"]),
    ("hob config --check c/folders.json", 2, ["twice", "gone' of 'sources' cannot be opened"]),
    ("hob config --check c/exposed.json", 2, ["0.0.0.0:7780", "server.token_file", "server.trust_network"]),
    ("hob config --check c/tls.json", 2, ["server.tls_cert also needs server.tls_key"]),
    ("hob config --check c/size.json", 2, ["cache.max_size", "20 GiB"]),
    ("HOB_LISTN=x hob config --check c/good.json", 2, ["Hob does not use HOB_LISTN", "HOB_LISTEN"]),
    ("HOB_UPSTREAM_TOKEN=x hob config --check c/good.json", 0, ["no mistakes found"]),
    ("hob config --check c/good.json", 0, ["no mistakes found"]),
    ("hob server art", 2, ["did you mean 'serve'"]),
    ("hob start art", 2, ["did you mean 'serve'"]),
    ("hob build art", 2, ["did you mean 'cook'"]),
    ("hob help cok", 2, ["did you mean 'cook'"]),
    ("hob cook art -o build --jobs", 2, ["'--jobs' needs a value"]),
    ("hob cook art -o build -j -1", 2, ["'-1'"]),
    ("hob cook art -o build --timeout 1h", 2, ["--timeout", "1h"]),
    ("hob cook art -o build --memory lots", 2, ["lots"]),
    ("hob cook art -o build --sandbox maybe", 2, ["best-effort, require, off", "'maybe'"]),
    ("hob cook art -o build --push sometimes", 2, ["'sometimes'"]),
    ("hob cook art -o build --depfile-format yaml", 2, ["yaml"]),
    ("hob cook art -o build --settings '[]'", 2, ["--settings"]),
    ("hob cook art -o build --settings '{\"texture\":{\"encoding\":\"bc9\"}}'", 2, ["texture.encoding", "bc9"]),
    ("hob cook art -o build --settings '{\"lods\":{\"max\":\"3\"}}'", 2, ["lods.max", "whole number from 1 to 7"]),
    ("hob cook art -o build --settings '{\"scale\":0}'", 2, ["'scale'"]),
    ("hob cook art -o build --config gone.json", 2, ["gone.json"]),
    ("hob cook art -o build --format sarif", 2, ["not 'sarif'"]),
    ("hob cook art -o build --verbose", 2, ["unknown option '--verbose'"]),
    ("hob cook art -o build --threads 4", 2, ["did you mean '--jobs'"]),
    ("hob check art --format xml", 2, ["xml"]),
    ("hob check art --explain mesh.opeen", 2, ["there is no rule 'mesh.opeen'", "mesh.open"]),
    ("hob check gone", 2, ["'gone'"]),
    ("hob check art --update-baseline", 2, ["--baseline"]),
    ("hob inspect", 2, ["Usage: hob inspect"]),
    ("hob inspect art/duck.obj --jsno", 2, ["did you mean '--json'"]),
    ("hob formats doc", 2, ["no reader knows 'doc'", "'hob formats' lists all"]),
    ("hob docs nothing", 2, ["hob docs"]),
    ("hob set art/duck.obj", 2, ["name an asset and what to set", "lods.max=3"]),
    ("hob set art/duck.obj lods.max=3", 3, ["no daemon answers", "hob serve DIR"]),
    ("hob get", 2, ["name an asset", "'hob ls'"]),
    ("hob get art/duck.obj -o", 2, ["needs a value"]),
    ("hob sync --wait soon", 2, ["needs a whole number"]),
    ("hob gc --max-size huge", 2, ["'huge' is not a size", "20GiB"]),
    ("hob gc --max-size 0", 2, ["begins at 1 byte"]),
    ("hob verify --cook --dry-run", 2, ["--cook changes nothing"]),
    ("hob token", 2, ["create NAME, list or revoke NAME"]),
    ("hob token create me", 2, ["--token-file FILE or set HOB_TOKEN_FILE"]),
    ("hob token list me --token-file t", 2, ["list takes no name"]),
    ("hob farm status", 2, ["no farm is configured", "farm.metadata"]),
    ("hob farm statsu", 2, ["status"]),
    ("hob refs art gone.png tex.png", 2, ["there is no 'tex.png'"]),
    ("hob init art one two --out", 2, ["needs a value"]),
    ("hob config --schema --bogus", 2, ["unknown option '--bogus'"]),
    ("hob serve art --jobs 0x10", 2, ["--jobs", "whole number"]),
    ("hob serve art/duck.obj", 2, ["duck.obj"]),
    ("hob serve art --watch sometimes", 2, ["--watch", "'sometimes'"]),
    ("hob -x", 2, ["no option '-x' before a command"]),
    ("hob --version --jsno", 2, ["'--jsno'"]),
]

# Requests to a daemon: method, target, body, status, words.
ASKED = [
    ("GET", "/a/art/duk.obj", None, 404, ["duk.obj"]),
    ("GET", "/a/art/duck.obj?output=mesh", None, 404, ["mesh"]),
    ("GET", "/a/art/duck.obj?outptu=meshes", None, 400, ["outptu"]),
    ("GET", "/api/v1/assets?state=faild", None, 400, ["faild", "failed"]),
    ("GET", "/api/v1/assets?sort=size", None, 400, ["'size'", "bytes"]),
    ("GET", "/api/v1/assets/none", None, 404, ["none"]),
    ("GET", "/blobs/abc", None, 400, ["'abc' is not a SHA-256", "64"]),
    ("POST", "/a/art/duck.obj", "{}", 405, ["POST"]),
    ("GET", "/api/v2/assets", None, 404, ["/api/v2/assets"]),
    ("POST", "/api/v1/sync", "{", 400, ["JSON"]),
]


@unittest.skipIf("HOB_URL" in os.environ, "a daemon is named in the environment")
class Mistakes(Scenario):
    maxDiff = None

    def prepare(self):
        self.put("duck.obj", obj_text(2))
        folder = self.folder
        for name in ("empty", "broken", "stray", "c"):
            (folder / name).mkdir()
        (folder / "broken/bad.gltf").write_text("{")
        (folder / "stray/Fox.obj").write_text(obj_text(1))
        (folder / "stray/Fox.cook.json").write_text("{}")
        (folder / "notes.txt").write_text("nothing")
        entry = {"output_mesh": "a", "output_scene": "b", "output_materials": "c"}
        (folder / "list.json").write_text(json.dumps([dict(entry, input_scene="gone.glb")]))
        (folder / "wrong.json").write_text(json.dumps([entry]))
        art = str(self.art)
        for name, text in (("comma", '{\n  "sources": [],\n}'), ("listen", '{"listne": "x"}'), ("place", '{"lods": {"max": 3}}'),
                           ("exclude", '{"exclude": ["**/wip/**"]}'), ("far", '{"frobnicate": 1}'),
                           ("folders", json.dumps({"sources": [{"path": art}, {"path": art}, {"path": "gone"}]})),
                           ("exposed", '{"server": {"listen": "0.0.0.0:7780"}}'), ("tls", '{"server": {"tls_cert": "/dev/null"}}'),
                           ("size", '{"cache": {"max_size": "20 GB of disk"}}'), ("good", json.dumps({"sources": [{"path": art}]}))):
            (folder / f"c/{name}.json").write_text(text)

    def plain(self, text, *ports):
        for port in ports:
            text = text.replace(str(port), "PORT")
        text = text.replace(str(self.folder.resolve()), "/studio").replace(str(self.folder), "/studio")
        return re.sub(r"\d+(\.\d+)? (ms|µs|s)\b", "N ms", text)

    def test_each_answer_says_what_where_and_what_to_do(self):
        self.prepare()
        said, wrong = [], []
        with socket.create_server(("127.0.0.1", 0)) as taken, socket.create_server(("127.0.0.1", 0)) as closed:
            port, nobody = taken.getsockname()[1], closed.getsockname()[1]
            closed.close()
            environment = dict(os.environ, NO_COLOR="1", COLUMNS="80", HOB_URL=f"127.0.0.1:{nobody}", HOME=str(self.folder),
                               PATH=f"{pathlib.Path(HOB).resolve().parent}:{os.environ['PATH']}")
            environment = {name: value for name, value in environment.items()
                           if not name.startswith("HOB_") or name == "HOB_URL"}
            for line, code, words in TYPED:
                ran = subprocess.run(["sh", "-c", line.replace("TAKEN", str(port))], cwd=self.folder, env=environment,
                                     capture_output=True, text=True, timeout=DEADLINE, check=False)
                answer = self.plain(ran.stdout + ran.stderr, port, nobody)
                said.append(f"$ {line}\n{answer}[{ran.returncode}]\n")
                if ran.returncode != code or any(word not in answer for word in words) or "Sanitizer" in answer:
                    wrong.append((line, ran.returncode, answer))
        with self.serve() as daemon:
            daemon.sync()
            for method, target, body, status, words in ASKED:
                got = daemon.request(method, target, body)
                problem = got.json()
                answer = "  ".join(str(problem.get(key, "")) for key in ("title", "detail", "hint") if problem.get(key))
                said.append(f"$ curl -X {method} {target}\n{self.plain(answer, daemon.port)}\n[{got.status}]\n")
                if got.status != status or any(word not in answer for word in words) or len(problem.get("hint", "")) < 8:
                    wrong.append((method, target, got.status, problem))
            script = ("import sys; sys.path.insert(0, sys.argv[1]); import hob\n"
                      "try: hob.Client(sys.argv[2]).get(sys.argv[3], sys.argv[4])\n"
                      "except hob.Error as e: print(type(e).__name__ + ':', e, '|', e.hint)")
            for url, asset, output, words in ((f"127.0.0.1:{daemon.port}", "art/duk.obj", "meshes", ["duk.obj"]),
                                              (f"http://127.0.0.1:{daemon.port}", "art/duck.obj", "mesh", ["mesh"]),
                                              (f"127.0.0.1:{nobody}", "art/duck.obj", "meshes", ["127.0.0.1"]),
                                              ("ftp://x", "art/duck.obj", "meshes", ["ftp://x"])):
                ran = subprocess.run([sys.executable, "-c", script, str(PROJECT / "web/python"), url, asset, output],
                                     capture_output=True, text=True, timeout=DEADLINE, check=False)
                answer = self.plain(ran.stdout + ran.stderr, daemon.port, nobody)
                said.append(f">>> hob.Client({self.plain(url, daemon.port, nobody)!r}).get({asset!r}, {output!r})\n{answer}")
                if ran.returncode != 0 or any(word not in answer for word in words):
                    wrong.append((url, asset, answer))
        self.assertEqual(wrong, [])
        if os.environ.get("HOB_WRITE"):
            TRANSCRIPT.write_text("\n".join(said))
        kept = re.findall(r"^(?:\$|>>>) .*$", TRANSCRIPT.read_text(), re.M)
        self.assertEqual(kept, [line.split("\n")[0] for line in said], "HOB_WRITE=1 writes mistakes.txt anew")


if __name__ == "__main__":
    main()
