"""The release before, beside this one: HOB_OTHER names its build/release/hob, in its sources. Its cache is used on, its clients
(command line, C, JavaScript, Python) read what this daemon serves, and it may stand above.

    git worktree add ../earlier 3518de33 && (cd ../earlier && ./dev build)       # 0.2.0
    HOB_OTHER=$PWD/../earlier/build/release/hob HOB=$PWD/build/release/hob python3 tests/integration/test_earlier.py
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

from hobtest import DEADLINE, MODELS, Daemon, Scenario, main, until

OTHER = os.environ.get("HOB_OTHER", "")
SOURCES = pathlib.Path(OTHER).resolve().parents[2] if OTHER else None
FETCH = """
import { HobClient } from SOURCE;
import { Pack } from FORMAT;
const client = new HobClient(process.argv[2]), wanted = process.argv[3];
const { bytes, hash } = await client.get(wanted, 'meshes');
const rows = (blob) => new Pack(blob.bytes.slice().buffer).rows('MDSC').length;
console.log(hash, rows({ bytes }));
client.watch('**', async ({ kind, data }) => {
	const output = kind === 'asset' && data.asset === wanted && data.outputs?.find(({ name }) => name === 'meshes');
	if (!output || output.hash === hash) return;
	const blob = await client.blob(output.hash, { older: { bytes, hash } });
	console.log(blob.hash ?? output.hash, rows(blob));
	process.exit(0);
});
"""
WATCH = """
import sys
import hob
client = hob.Client(sys.argv[1])
blob = client.get(sys.argv[2], "meshes", wait=60)
print(blob.hash, len(list(client.assets(state="fresh"))), flush=True)
for event in client.watch("**"):
    for output in event.data.get("outputs", []):
        if event.data["asset"] == sys.argv[2] and output["name"] == "meshes" and output["hash"] != blob.hash:
            print(client.blob(output["hash"], older=blob).hash, flush=True)
            sys.exit()
"""


def facts(daemon):
    return {name: (item["state"], {output["name"]: output["hash"] for output in item["outputs"]})
            for name, item in daemon.assets("&fields=root,path,state,outputs").items()}


@unittest.skipUnless(OTHER, "HOB_OTHER names no hob of the release before")
class Earlier(Scenario):
    def setUp(self):
        super().setUp()
        shutil.copytree(MODELS / "simple", self.art, dirs_exist_ok=True)
        self.wanted = f"{self.art.name}/SimpleSkin.gltf"
        self.started = []
        self.addCleanup(lambda: [process.kill() for process in self.started])

    def earlier(self, cache=None):
        daemon = Daemon([self.art], cache or self.cache, program=(OTHER,))
        self.addCleanup(daemon.kill)
        return daemon

    def client(self, *command, **more):
        started = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ, **more))
        self.started.append(started)
        return started

    def said(self, *command, code=0):
        ran = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=DEADLINE, check=False,
                             env=dict(os.environ, NO_COLOR="1"))
        self.assertEqual(ran.returncode, code, f"{command}: {ran.stdout[-800:]}{ran.stderr[-800:]}")
        return ran.stdout

    def assert_calm(self, daemon):
        self.assertEqual([line for line in daemon.log if "error" in line or "failed" in line], [], "\n".join(daemon.log))

    def test_its_cache_is_used_on(self):
        with self.earlier() as old:
            old.sync()
            before = facts(old)
            (item,) = [item for name, item in old.assets().items() if name == self.wanted]
        self.assertEqual({state for state, _ in before.values()}, {"fresh"})
        with self.serve() as daemon:
            daemon.sync()
            now = facts(daemon)
            self.assertEqual((set(now), {state for state, _ in now.values()}), (set(before), {"fresh"}))
            self.assertEqual([asset["id"] for name, asset in daemon.assets().items() if name == self.wanted], [item["id"]])
            self.assert_calm(daemon)
            why = daemon.get(f"/api/v1/assets/{item['id']}/why").body.decode()
            self.assertTrue(daemon.cooked() == 0 or "cook_version" in why, why)
            print(f"{daemon.cooked()} of {len(before)} cooked again", file=sys.stderr)
            for sha256 in before[self.wanted][1].values():  # what a client holds can still be asked for
                self.assertIn(daemon.get("/blobs/" + sha256).status, (200, 410))
        with self.serve() as daemon:
            daemon.sync()
            self.assertEqual((facts(daemon), daemon.cooked()), (now, 0))
        refused = subprocess.run([OTHER, "serve", str(self.art), "--cache", str(self.cache), "--listen", "127.0.0.1:0"], capture_output=True,
                                 text=True, timeout=DEADLINE, check=False)
        self.assertNotEqual(refused.returncode, 0)
        print(refused.stderr.strip().splitlines()[-1], file=sys.stderr)

    def test_its_clients_go_on(self):
        with self.serve() as daemon:
            daemon.sync()
            url, now = f"http://127.0.0.1:{daemon.port}", facts(daemon)
            for name, (_, outputs) in now.items():
                for output, sha256 in outputs.items():
                    if output not in ("meshes", "materials", "scene", "anims", "animations"):
                        continue
                    file = self.folder / f"got.{output}"
                    self.said(OTHER, "get", name, output, "-o", file, "--url", url)
                    self.assertEqual(file.read_bytes(), daemon.get("/blobs/" + sha256).body, name)
                    self.said(OTHER, "inspect", "--validate", file)
            listed = self.said(OTHER, "ls", "--url", url)
            self.assertEqual([name for name in now if name not in listed], [])
            for command in (["status"], ["log", self.wanted], ["why", self.wanted]):
                self.said(OTHER, *command, "--url", url)
            fetch = self.folder / "fetch"
            self.said(*os.environ.get("CC", "cc").split(), "-O1", "-D_GNU_SOURCE", "-o", fetch, SOURCES / "core/client/examples/hob_fetch.c",
                      *sorted((SOURCES / "core/client").glob("*.c")))
            script = self.folder / "fetch.mjs"
            script.write_text(FETCH.replace("SOURCE", json.dumps(str(SOURCES / "web/client/hob.js"))).replace("FORMAT", json.dumps(str(SOURCES / "web/client/hob-format.js"))))
            clients = [self.client(sys.executable, "-c", WATCH, url, self.wanted, PYTHONPATH=str(SOURCES / "web/python")),
                       self.client(fetch, url, self.wanted, "meshes")]
            if shutil.which("node"):
                clients.append(self.client("node", script, url, self.wanted))
            mine = now[self.wanted][1]["meshes"]
            for client in clients:
                line = client.stdout.readline()
                self.assertIn(mine, line, line or client.stderr.read())
            del clients[1]  # fetches once
            until(lambda: len(daemon.get("/api/v1/clients").json()["items"]) >= len(clients), "clients that listen")
            self.put("SimpleSkin.gltf.cook.json", '{"scale": 2}')
            daemon.sync()
            changed = facts(daemon)[self.wanted][1]["meshes"]
            self.assertNotEqual(changed, mine)
            for client in clients:
                line = client.stdout.readline()
                self.assertIn(changed, line, line or client.stderr.read())
                self.assertEqual(client.wait(timeout=DEADLINE), 0)
            self.assert_calm(daemon)

    def test_it_is_an_upstream(self):
        """0.2.0 has no upstream of its own and keeps no records for others, so what is asked for there is cooked here."""
        with self.earlier(cache=self.folder / "above") as above, self.serve("--upstream", f"http://127.0.0.1:{above.port}") as daemon:
            above.sync()
            daemon.sync()
            self.assertEqual({name: state for name, (state, _) in facts(daemon).items()}, dict.fromkeys(facts(above), "fresh"))
            self.assert_calm(daemon)
            print(f"{daemon.cooked()} of {len(facts(above))} cooked below", file=sys.stderr)


if __name__ == "__main__":
    main()
