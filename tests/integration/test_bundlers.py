"""web/examples in fresh npm projects with the packed client: strict TypeScript, a single three, the bundler's build, the page in
a browser. Needs npm's registry and Chromium; skipped without them."""
import functools
import http.server
import json
import os
import re
import shutil
import socket
import subprocess
import threading
import unittest
import urllib.error
import urllib.request

from hobtest import DEADLINE, MODELS, PROJECT, Scenario, main

SHOWS = PROJECT / "tests/browser/shows.mjs"


class Bundlers(Scenario):
    def run_in(self, folder, *command):
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=DEADLINE, check=False,
                              env=dict(os.environ, npm_config_audit="false", npm_config_fund="false", npm_config_loglevel="error"))

    def install(self, folder, *packages):
        installed = self.run_in(folder, "npm", "install", *packages, "--fetch-timeout=20000", "--fetch-retries=0")
        if installed.returncode != 0 and any(word in installed.stderr for word in ("ENOTFOUND", "ETIMEDOUT", "EAI_AGAIN", "ECONNREFUSED", "network")):
            self.skipTest("npm's registry cannot be reached")
        self.assertEqual(installed.returncode, 0, installed.stderr)

    def build(self, example):
        """A copy of the example, built with the packed client."""
        if not shutil.which("npm") or not shutil.which("node"):
            self.skipTest("there is no npm")
        fresh = self.folder / "fresh"
        shutil.copytree(PROJECT / "web/examples" / example, fresh, ignore=shutil.ignore_patterns("node_modules", "dist"))
        packed = self.run_in(fresh, "npm", "pack", "--silent", str(PROJECT / "web/client"))
        self.assertEqual(packed.returncode, 0, packed.stderr)
        package = fresh / "package.json"
        package.write_text(package.read_text().replace("file:../../client", "file:./" + packed.stdout.split()[-1]))
        self.install(fresh)
        copies = [path for path in (fresh / "node_modules").rglob("three/package.json") if "@types" not in path.parts]
        self.assertEqual(len(copies), 1, copies)
        built = self.run_in(fresh, "npm", "run", "build")
        self.assertEqual(built.returncode, 0, built.stdout + built.stderr)
        return fresh

    def assert_shows(self, folder, page=None):
        """A page that uses the daemon in its query; or `page`, with the documentation's address replaced."""
        browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
        if not browser:
            self.skipTest("there is no Chromium")
        if not (SHOWS.parent / "node_modules").exists():
            self.skipTest("npm ci --prefix tests/browser fetches what drives the browser")
        shutil.copy(MODELS / "simple/spot.obj", self.art)
        handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(folder))
        handler.log_message = lambda *_: None
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as pages:
            threading.Thread(target=pages.serve_forever, daemon=True).start()
            origin = f"http://127.0.0.1:{pages.server_port}"
            with self.serve("--cors-origin", origin) as daemon:
                daemon.sync()
                if page:
                    (folder / "index.html").write_text(page.replace("127.0.0.1:7780", f"127.0.0.1:{daemon.port}"))
                os.environ["HOB_CHROMIUM"] = browser
                shown = self.run_in(self.folder, "node", str(SHOWS), f"{origin}/?hob=127.0.0.1:{daemon.port}&asset=art/spot.obj",
                                    "art/spot.obj")
            self.assertEqual(shown.returncode, 0, shown.stdout + shown.stderr[-2000:])
            pages.shutdown()

    def test_the_page_of_the_documentation(self):
        """docs/start-threejs.md verbatim, as plain ES modules."""
        if not shutil.which("npm") or not shutil.which("node"):
            self.skipTest("there is no npm")
        fresh = self.folder / "page"
        (fresh / "path/to").mkdir(parents=True)
        self.assertEqual(self.run_in(fresh / "path/to", "npm", "pack", "--silent", str(PROJECT / "web/client")).returncode, 0)
        blocks = dict(re.findall(r"^```(\w*)\n(.*?)^```$", (PROJECT / "docs/start-threejs.md").read_text(), re.M | re.S))
        self.assertEqual(blocks[""].split()[:2], ["npm", "install"])
        (fresh / "package.json").write_text("{}")
        self.install(fresh, *blocks[""].split()[2:])
        self.assertEqual(len([path for path in (fresh / "node_modules").rglob("three/package.json")]), 1)
        modules = {"three": "three/build/three.module.js", "three/addons/": "three/examples/jsm/",
                   "hob-client/three": "hob-client/hob-three.js", "hob-client/overlay": "hob-client/hob-overlay.js"}
        imports = json.dumps({"imports": {name: f"/node_modules/{file}" for name, file in modules.items()}})
        code = blocks["js"].replace("'http://127.0.0.1:7780/a/'", "`http://${new URLSearchParams(location.search).get('hob')}/a/`")
        (fresh / "index.html").write_text(f"""<!doctype html><script type="importmap">{imports}</script><script type="module">
            import * as THREE from 'three';
            const scene = new THREE.Scene(), render = () => {{}};
            {code}
            document.body.dataset.shown = model.isObject3D && scene.children.includes(model) && 'art/spot.obj';
        </script><body></body>""")
        self.assert_shows(fresh)

    def test_the_page_without_a_build_step(self):
        """The page of docs/start-threejs.md verbatim except for its addresses: three.js comes from npm, the loader from the
        daemon."""
        if not shutil.which("npm"):
            self.skipTest("there is no npm")
        fresh = self.folder / "plain"
        fresh.mkdir()
        (page,) = re.findall(r"^```html\n(.*?)^```$", (PROJECT / "docs/start-threejs.md").read_text(), re.M | re.S)
        (mirror, package), *_ = re.findall(r"(https://\S+?/(three@[\d.]+)/)", page)
        (fresh / "package.json").write_text("{}")
        self.install(fresh, package)
        self.assertIn("\n\tloader.watch(model", page)
        page = page.replace(mirror, "/node_modules/three/").replace("\n\tloader.watch(model", "\n\tdocument.body.dataset.shown = "
                            "model.isObject3D && scene.children.includes(model) && 'art/spot.obj'; loader.watch(model")
        self.assert_shows(fresh, page)

    def test_vite_and_three(self):
        fresh = self.build("vite")
        self.assertTrue(list((fresh / "dist/assets").glob("hob-events-worker-*.js")), "the worker is a file of its own")
        self.assert_shows(fresh / "dist")

    def test_vite_plugin(self):
        """Vite's own server with vite-plugin-hob: the daemon behind /hob without CORS, 503 while it is away, its errors in the
        overlay."""
        fresh = self.build("vite")
        browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
        if not browser:
            self.skipTest("there is no Chromium")
        shutil.copy(MODELS / "simple/spot.obj", self.art)
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        with self.serve() as daemon:
            daemon.sync()
            vite = subprocess.Popen(["node", "node_modules/vite/bin/vite.js", "--port", str(port), "--strictPort", "--host", "127.0.0.1"], cwd=fresh,
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=dict(os.environ, HOB_URL=f"127.0.0.1:{daemon.port}", NO_COLOR="1"))
            try:
                said = ""
                while "Local:" not in said:
                    line = vite.stdout.readline()
                    self.assertTrue(line, said)
                    said += line
                os.environ["HOB_CHROMIUM"] = browser
                shown = self.run_in(self.folder, "node", str(SHOWS), f"http://127.0.0.1:{port}/?asset=art/spot.obj", "art/spot.obj", str(self.art / "spot.obj"))
                self.assertEqual(shown.returncode, 0, shown.stdout + shown.stderr[-2000:])
                self.assertIn("the OBJ file holds no vertex", shown.stdout)
                daemon.stop()
                with self.assertRaises(urllib.error.HTTPError) as away:
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/hob/api/v1/stats", timeout=DEADLINE)
                self.assertEqual(away.exception.code, 503)
                self.assertIn("start one with 'hob serve DIR'", json.load(away.exception)["detail"])
            finally:
                vite.terminate()
                vite.wait()
                vite.stdout.close()

    def test_webpack_and_react_three_fiber(self):
        fresh = self.build("react")
        self.assertTrue(list((fresh / "dist").glob("[0-9]*.main.js")), "the worker is a file of its own")
        self.assert_shows(fresh)


if __name__ == "__main__":
    main()
