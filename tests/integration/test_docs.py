"""docs/: every code block is run, every link has a target, generated pages are up to date."""
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

from hobtest import DEADLINE, HOB, MODELS, PROJECT, fresh_folder, main, obj_text

DOCS = PROJECT / "docs"
BUILD = pathlib.Path(HOB).resolve().parent
# Blocks in these languages are run or parsed here; blocks without a language are pictures, messages and commands of
# administrators. test_bundlers covers the HTML pages, test_gates the rules of ninja and CMake.
LANGUAGES = {"sh", "c", "python", "js", "html", "json", "yaml", "groovy", "nginx", "ninja", "cmake", ""}


def blocks(page):
    return [(language, re.sub(r"^ {4}", "", body, flags=re.M) if indent else body) for indent, language, body in
            re.findall(r"^( *)```(\w*)\n(.*?)^\1```$", page.read_text(), re.M | re.S)]


def free_address():
    with socket.create_server(("127.0.0.1", 0)) as free:
        return f"127.0.0.1:{free.getsockname()[1]}"


def anchors(page):
    heads = re.findall(r"^#+ (.*)$", page.read_text(), re.M)
    return {re.sub(r"[^\w -]", "", head.lower()).strip().replace(" ", "-") for head in heads}


class Docs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.prefix = fresh_folder("docs")
        cls.addClassCleanup(shutil.rmtree, cls.prefix)
        if shutil.which("cmake") and (BUILD / "cmake_install.cmake").exists():
            subprocess.run(["cmake", "--install", str(BUILD), "--prefix", str(cls.prefix), "--component", "dev"], check=True,
                           capture_output=True, timeout=DEADLINE)
        library = BUILD / "libhob_client.a"
        code = library.read_bytes() if library.exists() else b""
        cls.sanitize = "-fsanitize=address,undefined" if b"__asan_init" in code else "-fsanitize=thread" if b"__tsan_init" in code else ""

    def run_script(self, folder, address, script, **more):
        """Exit code and output; started daemons are killed."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("HOB_")}
        if address:
            environment.update(HOB_LISTEN=address, HOB_URL=address)
        environment.update(PATH=f"{BUILD}:{os.environ['PATH']}", HOME=str(folder), NO_COLOR="1",
                           PYTHONPATH=str(PROJECT / "web/python"), CFLAGS=self.sanitize,
                           PKG_CONFIG_PATH=str(next(self.prefix.rglob("pkgconfig"), "")), **more)
        with tempfile.TemporaryFile() as said:  # not a pipe, which could fill up and which a background daemon keeps open
            ran = subprocess.Popen(["bash", "-c", script], cwd=folder, env=environment, stdout=said, stderr=subprocess.STDOUT, start_new_session=True)
            try:
                code = ran.wait(timeout=DEADLINE)
            finally:
                try:
                    os.killpg(ran.pid, signal.SIGKILL)  # it has nothing to save
                except ProcessLookupError:
                    pass
            said.seek(0)
            return code, said.read().decode("utf-8", "replace")

    def page_folder(self):
        folder = fresh_folder("page")
        self.addCleanup(shutil.rmtree, folder)
        shutil.copytree(PROJECT / "examples/art", folder / "art", dirs_exist_ok=True)
        shutil.copy(MODELS / "simple/BoxVertexColors.glb", folder / "art")
        return folder

    def script_of(self, page, folder, address="127.0.0.1:7780"):
        """The commands of a page. The daemon that its blocks start answers at `address`."""
        script = []
        for language, body in blocks(page):
            self.assertIn(language, LANGUAGES, page.name)
            body = body.replace("127.0.0.1:7780", address).replace("/tmp/", f"{folder}/")
            if language == "sh":
                script.append(body)
            elif language == "c":
                script.append(f"cat > program.c <<'END-OF-BLOCK'\n{body}END-OF-BLOCK")
            elif language == "python":
                if ".watch(" in body:  # the block waits for a change: changes settings repeatedly
                    script.append("for i in $(seq 500); do hob set art/spot.obj scale=1.$i; hob get art/spot.obj --wait 60 -o saved.meshes; done &")
                script.append(f"python3 - <<'END-OF-BLOCK'\n{body}END-OF-BLOCK")
                if ".watch(" in body:
                    script.append("kill $!")
            elif language == "json":
                json.loads(body)
                is_file = page.name == "operations.md"
                script.append(f"cat > hob.json <<'END-OF-BLOCK'\n{body}END-OF-BLOCK\nhob config --check hob.json" if is_file else "true")
            elif language in ("yaml", "groovy"):
                recipe = re.findall(r"(?:- run: |- |sh ')(hob [^'\n]*)", body)
                self.assertTrue(recipe, f"{page.name}: a recipe without hob")
                script += recipe
        if self.sanitize:
            script = [part.replace("cc program.c", f"cc program.c {self.sanitize}") for part in script]
        return script

    def run_page(self, page, first=()):
        folder, address = self.page_folder(), free_address()
        script = ["set -e", *first, *self.script_of(page, folder, address)]
        if any("hob stop" in part for part in script):
            script.append("! hob status")  # no daemon is left behind
        code, said = self.run_script(folder, address, "\n".join(script))
        self.assertEqual(code, 0, f"{page.name}:\n{said[-3000:]}")
        self.assertNotIn("Sanitizer", said)

    def test_start_pages_in_one_shell(self):
        """Each page in a folder of its own, with a model of its own, while the daemons of the pages before still run."""
        folders, script = [], ["set -e"]
        for name in ("c", "python", "artists", "ci", "c"):
            if name == "c" and not next(self.prefix.rglob("pkgconfig"), None):
                continue
            folder = self.page_folder()
            folders.append(folder)
            spot = (folder / "art/spot.obj").read_text().splitlines()
            (folder / "art/spot.obj").write_text("\n".join(spot[:-len(folders)]))
            page = [part.replace("hob stop\n", "") for part in self.script_of(DOCS / f"start-{name}.md", folder)]
            script += [f"cd {folder}", *page,
                       "hob sync; hob get art/spot.obj -o got.meshes", "hob cook art -o own --quiet; cmp got.meshes own/spot.obj.meshes",
                       "python3 -c 'import hob; open(\"python.meshes\", \"wb\").write(hob.Client().get(\"art/spot.obj\", \"meshes\"))'",
                       "cmp python.meshes got.meshes", "[ ! -f program ] || ./program 20 | grep $(sha256sum got.meshes | cut -c1-12)", "echo page $PWD"]
        code, said = self.run_script(folders[0], None, "\n".join(script))
        self.assertEqual((code, re.findall(r"^page (.*)$", said, re.M)), (0, [str(folder) for folder in folders]), said[-3000:])

    def test_every_block_runs(self):
        pages = sorted(DOCS.glob("*.md"))
        self.assertGreater(len(pages), 10)
        for page in pages:
            if page.name == "commits.md" and not (BUILD / "hob-git").exists():
                continue  # built only where libgit2 is installed
            with self.subTest(page.name):
                if any(language == "c" for language, _ in blocks(page)) and not next(self.prefix.rglob("pkgconfig"), None):
                    self.skipTest("no build folder of CMake")
                self.run_page(page)

    def test_the_first_five_minutes(self):
        """README starts the daemon and shows its output; the other blocks query it."""
        self.run_page(PROJECT / "README.md", ["hob serve art/ &", "hob get art/lantern.gltf --wait 60 -o first.meshes"])

    def test_every_command_is_listed(self):
        ran = subprocess.run([HOB, "help"], capture_output=True, text=True, timeout=DEADLINE, check=True,
                             env=dict(os.environ, NO_COLOR="1"))
        commands = set(re.findall(r"^  ([a-z]+)  +\w", ran.stdout, re.M))
        self.assertGreater(len(commands), 20)
        text = (DOCS / "commands.md").read_text()
        self.assertEqual(set(re.findall(r"`hob ([a-z]+)", text)) - commands - {"help"}, set(), "commands that do not exist")
        self.assertEqual({name for name in commands if f"`hob {name}" not in text}, set(), "commands that the page leaves out")

    def test_each_page_says_what_its_readers_look_for(self):
        def text(name):
            return (DOCS / name).read_text()

        for name in ("start-artists.md", "start-c.md", "start-threejs.md", "start-python.md", "start-ci.md", "concepts.md"):
            self.assertLessEqual(len(text(name).splitlines()), 150, f"{name} is longer than a page")
        for name, words in (("concepts.md", ["─►"]), ("start-ci.md", ["## GitHub", "## GitLab", "## Jenkins"]),
                            ("operations.md", ["systemctl", "## Docker", "proxy_pass", "hob token create", "## Backup", "## Monitoring", "## Sizing"]),
                            ("comparison.md", ["gltfpack", "glTF-Transform", "sccache"]), ("runtime.md", ["hob_runtime.h"])):
            self.assertEqual([word for word in words if word not in text(name)], [], name)
        head = (PROJECT / "CHANGELOG.md").read_text().partition("\n## ")[0]
        self.assertEqual([word for word in ("HTTP", "Cooked files", "cache", "Settings") if word not in head], [])

    @unittest.skipUnless(shutil.which("git") and shutil.which("curl"), "there is no git or no curl")
    def test_the_report_of_a_pull_request(self):
        folder = fresh_folder("branch")
        self.addCleanup(shutil.rmtree, folder)
        address = free_address()
        (block,) = [body for _, body in blocks(DOCS / "start-ci.md") if "hob diff --from" in body]
        (folder / "tools").mkdir()
        (folder / "tools/asset-diff.sh").write_text(block.replace("127.0.0.1:7780", address).replace(" --pictures changed", ""))
        (folder / ".gitignore").write_text("/.hob\n/changed*\n")

        def git(*words):
            return subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=folder, check=True, timeout=DEADLINE,
                                  capture_output=True, text=True).stdout.strip()

        def commit(triangles):
            (folder / "art").mkdir(exist_ok=True)
            (folder / "art/a.obj").write_text(obj_text(triangles))
            git("add", "-A")
            git("commit", "-q", "-m", str(triangles))
            return git("rev-parse", "HEAD")

        git("init", "-q")
        few, same, many = commit(100), commit(101), commit(200)
        for base, head, wanted in ((few, same, 0), (same, many, 1)):
            with self.subTest(wanted=wanted):
                code, said = self.run_script(folder, address, "sh tools/asset-diff.sh", BASE=base, HEAD=head)
                self.assertEqual(code, wanted, said)
                self.assertIn("art/a.obj", (folder / "changed.md").read_text(), said)
                shutil.rmtree(folder / ".hob")

    def test_javascript_is_javascript(self):
        if not shutil.which("node"):
            self.skipTest("there is no node")
        for page in DOCS.glob("*.md"):
            for language, body in blocks(page):
                if language == "js":
                    imported = set(re.findall(r"from 'hob-client(/?\w*)'", body))
                    exports = json.loads((PROJECT / "web/client/package.json").read_text())["exports"]
                    self.assertLessEqual({"." + name for name in imported}, set(exports))
                    ran = subprocess.run(["node", "--input-type=module", "--check"], input=body, text=True, capture_output=True,
                                         timeout=DEADLINE, check=False)
                    self.assertEqual(ran.returncode, 0, ran.stderr)

    def test_every_link_leads_somewhere(self):
        dead = []
        for page in [*DOCS.glob("*.md"), PROJECT / "README.md"]:
            text = re.sub(r"```.*?```", "", page.read_text(), flags=re.S)
            for target in re.findall(r"\]\(([^)\s]+)\)", text):
                if re.match(r"https?:", target):
                    continue
                name, _, part = target.partition("#")
                file = (page.parent / name).resolve() if name else page
                if not file.exists() or (part and part not in anchors(file)):
                    dead.append(f"{page.name}: {target}")
        self.assertEqual(dead, [])
        named = set(re.findall(r"\]\(([\w-]+\.md)\)", (DOCS / "README.md").read_text()))
        self.assertEqual({page.name for page in DOCS.glob("*.md")} - named, {"README.md"}, "pages that nobody finds")

    def test_files_that_are_named_exist(self):
        lost = []
        for page in DOCS.glob("*.md"):
            if page.name in ("http.md", "settings.md", "formats.md", "metrics.md"):
                continue
            for name in re.findall(r"`((?:core|docker|schema|server|tests|web)/[\w./-]+)`", page.read_text()):
                if not (PROJECT / name).exists():
                    lost.append(f"{page.name}: {name}")
        self.assertEqual(lost, [])

    def test_messages_of_troubleshooting_are_in_the_program(self):
        sources = "".join(file.read_text(errors="replace") for folder in ("core", "server", "schema") for file in (PROJECT / folder).rglob("*.[ch]*"))
        sources = re.sub(r'"\s*\n\s*"', "", sources).replace("\\\"", '"') + (PROJECT / "schema/problems.def").read_text()
        lost = []
        for row in re.findall(r"^\| (`.*?) \|", (DOCS / "troubleshooting.md").read_text(), re.M):
            for message in re.findall(r"`([^`]+)`", row):
                words = re.split(r"'[^']*'|\bhttp\S+|\b\d+\b|Fox\S*", message)
                if "CORS" not in message and not all(part.strip(" ,;") in sources for part in words if len(part) > 3):
                    lost.append(message)
        self.assertEqual(lost, [])

    def test_the_site_builds_without_a_dead_link(self):
        folder = fresh_folder("site")
        self.addCleanup(shutil.rmtree, folder)
        ran = subprocess.run([sys.executable, str(DOCS / "site.py"), str(folder)], capture_output=True, text=True, timeout=DEADLINE, check=False)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        pages = {page.name: page.read_text() for page in (folder / "site").glob("*.html")}
        left_out = {page.name for page in DOCS.glob("*.md") if page.name != "README.md"} - {f"{name.removesuffix('.html')}.md" for name in pages}
        self.assertEqual(left_out, set(), "pages that the site leaves out")
        for name, text in pages.items():
            body = re.sub(r"<pre>.*?</pre>|<code>.*?</code>|<script>.*?</script>", "", text, flags=re.S)
            self.assertNotRegex(body, r"```|\*\*\w|\]\(|^#+ ", name)


if __name__ == "__main__":
    main()
