"""./dev: its checks before it installs anything, and its build without npm. Every tool that it calls is a stub."""
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOLS = ("bash", "cat", "dirname", "env", "grep", "id", "mkdir", "nproc", "rm", "sed")
STUBS = {"dpkg-query": "echo ii", "apt-get": "exit 1", "ninja": "", "cmake": "mkdir -p build/release && : >build/release/build.ninja"}


class Dev(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="hob-test-"))
        self.addCleanup(shutil.rmtree, self.folder)
        shutil.copy(ROOT / "dev", self.folder)
        (self.folder / "bin").mkdir()
        for tool in TOOLS:
            (self.folder / "bin" / tool).symlink_to(shutil.which(tool))
        for name, does in STUBS.items():
            self.stub(name, does)

    def stub(self, name, does):
        path = self.folder / "bin" / name
        path.write_text(f'#!{shutil.which("bash")}\necho "{name} $*" >>{self.folder}/calls\n{does}\n')
        path.chmod(0o755)

    def dev(self, *words, code=0, cwd=None):
        calls = self.folder / "calls"
        calls.write_text("")
        done = subprocess.run([self.folder / "dev", *words], capture_output=True, text=True, check=False, cwd=cwd or self.folder,
                              env={"PATH": f"{self.folder}/bin:/nonexistent", "HOME": str(self.folder)})
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.calls = [line.split()[0] for line in calls.read_text().splitlines()]
        return [line for line in done.stderr.splitlines() if line.startswith("dev: ")]

    def test_up_looks_at_the_folder_first(self):
        (self.folder / "model.obj").write_text("")
        for word, said in (("missing", "there is no folder 'missing'"), ("model.obj", "name the folder that holds it: ./dev up .")):
            lines = self.dev("up", word, code=2)
            self.assertEqual((len(lines), self.calls), (1, []), lines)
            self.assertIn(said, lines[0])

    def test_folders_are_those_of_the_caller(self):
        (self.folder / "else/art").mkdir(parents=True)
        (self.folder / "build/release").mkdir(parents=True)
        hob = self.folder / "build/release/hob"
        hob.write_text(f'#!{shutil.which("bash")}\necho "$@" >"{self.folder}/served"\n')
        hob.chmod(0o755)
        self.dev("up", "art", "--listen", "art", cwd=self.folder / "else")
        self.assertEqual((self.folder / "served").read_text(), f"serve {self.folder}/else/art --listen art\n")

    def test_without_npm_the_page_is_left_out_unless_it_is_there(self):
        lines = self.dev("build")
        self.assertEqual([line for line in lines if "page" in line],
                         ["dev: building without the page in the browser: web/dist is not here, nor npm and esbuild; ./dev install page brings them"])
        self.assertNotIn("apt-get", self.calls)
        (self.folder / "web/dist").mkdir(parents=True)
        (self.folder / "web/dist/index.html").write_text("")
        self.assertEqual([line for line in self.dev("build") if "page" in line], [])

    def test_with_npm_it_is_fetched(self):
        self.stub("esbuild", "")
        self.stub("npm", "mkdir -p web/node_modules/preact")
        self.dev("build")
        self.assertIn("npm", self.calls)
        self.dev("build")
        self.assertNotIn("npm", self.calls)

    def test_the_page_is_built_once_it_can_be(self):
        self.dev("build")
        (self.folder / "build/release/CMakeCache.txt").write_text("HOB_WEB_READY:INTERNAL=\n")
        self.dev("build")
        self.assertNotIn("cmake", self.calls)
        (self.folder / "web/dist").mkdir(parents=True)
        (self.folder / "web/dist/index.html").write_text("")
        self.dev("build")
        self.assertIn("cmake", self.calls)


if __name__ == "__main__":
    unittest.main()
