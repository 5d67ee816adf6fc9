"""The result of `cmake --install`: relocatable programs, manual pages, and libraries for other projects."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest
import zipfile

from hobtest import HOB, MODELS, Scenario, main, obj_text

BUILD = pathlib.Path(HOB).resolve().parent
ROOT = pathlib.Path(__file__).resolve().parents[2]

CLIENT = """#include <hob_client.h>
int main(void) { hobc_client *c = 0; hobc_options o = {0}; o.url = "http://127.0.0.1:1";
  if (hobc_open(&o, &c) != HOBC_OK) return 1; hobc_close(c); return 0; }
"""
RUNTIME = """#include <hob_runtime.h>
int main(void) { return sizeof(hob_rt_asset *) == 0; }
"""
LISTS = """cmake_minimum_required(VERSION 3.20)
project(stranger C)
find_package(hob-client REQUIRED)
find_package(hob-runtime REQUIRED)
add_executable(client client.c)
target_link_libraries(client hob::client)
add_executable(runtime runtime.c)
target_link_libraries(runtime hob::runtime)
"""


def is_release():
    cache = BUILD / "CMakeCache.txt"
    return cache.exists() and "CMAKE_BUILD_TYPE:STRING=Release" in cache.read_text()


@unittest.skipUnless((BUILD / "cmake_install.cmake").exists() and shutil.which("cmake"), "no build folder of CMake")
class Install(Scenario):
    def run_in(self, *command, cwd=None, **environment):
        done = subprocess.run(command, cwd=cwd or self.folder, capture_output=True, text=True, check=False,
                              env=dict(os.environ, NO_COLOR="1", **environment))
        self.assertEqual(done.returncode, 0, f"{command}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
        return done.stdout

    def test_programs_manual_and_libraries(self):
        prefix = self.folder / "prefix"
        self.run_in("cmake", "--install", str(BUILD), "--prefix", str(prefix))
        units = prefix / "lib/systemd/system"
        self.assertIn(f"ExecStart={prefix}/bin/hob serve --config {prefix}/etc/hob/hob.json", (units / "hob.service").read_text())
        # SECURITY.md says why there are no namespaces, and what stands in for them.
        unit = (units / "hob.service").read_text().splitlines()
        for line in ("RestrictNamespaces=yes", "ProtectSystem=strict", "PrivateTmp=yes", "PrivateDevices=yes", "NoNewPrivileges=yes"):
            self.assertIn(line, unit)
        if shutil.which("systemd-analyze"):
            checked = subprocess.run(["systemd-analyze", "verify", "--man=no", str(units / "hob.service"), str(units / "hob.socket")],
                                     capture_output=True, text=True, check=False)
            self.assertFalse([line for line in checked.stderr.splitlines() if "hob." in line], checked.stderr)
            exposed = subprocess.run(["systemd-analyze", "security", "--offline=yes", str(units / "hob.service")],
                                     capture_output=True, text=True, check=False).stdout
            self.assertLessEqual(float(re.search(r"exposure level for hob.service: ([0-9.]+)", exposed).group(1)), 2.0)
        for file in ("etc/hob/hob.json", "lib/sysusers.d/hob.conf", "share/doc/hob/FORMATS.md", "share/doc/hob/openapi.json",
                     "share/doc/hob/copyright", "share/doc/hob/examples/art/spot.obj",
                     "share/doc/hob/examples/art/lantern.gltf", "share/man/man1/hob-worker.1"):
            self.assertTrue((prefix / file).stat().st_size > 0, file)
        hob = str(prefix / "bin/hob")
        self.assertIn('"$schema"', (prefix / "etc/hob/hob.json").read_text())
        self.pages(prefix, hob)
        self.run_in(hob, "cook", str(MODELS / "simple/spot.obj"), "-o", "out")
        self.assertTrue((self.folder / "out/spot.obj.meshes").stat().st_size > 0)
        manual = (prefix / "share/man/man1/hob.1").read_text()
        for command in self.run_in(hob, "help").split("Everyday")[1].split("Run 'hob")[0].splitlines():
            if command.startswith("  "):
                self.assertIn(".SS hob " + command.split()[0] + "\n", manual)
        daemon = (prefix / "share/man/man8/hob.8").read_text()
        for text in ("HOB_CACHE_MAX_SIZE     cache.max_size", "SIGUSR1"):
            self.assertIn(text, daemon)
        for file in ("bash-completion/completions/hob", "zsh/site-functions/_hob", "fish/vendor_completions.d/hob.fish"):
            self.assertIn("__complete", (prefix / "share" / file).read_text())
        if shutil.which("groff"):
            for page in (prefix / "share/man").rglob("hob*.*"):
                checked = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z", str(page)], capture_output=True, text=True, check=False)
                self.assertEqual(checked.stderr, "", page)
        page = (prefix / "share/man/man5/hob.json.5").read_text()
        schema = json.loads(self.run_in(hob, "config", "--schema"))
        self.assertNotIn('"properties"', page, "for people")
        for group in ("server", "cache", "cook", "watch", "reproducibility", "log"):
            for key in schema["properties"][group]["properties"]:
                self.assertIn(f".B {group}.{key}\n", page)
        for text in (".B cache.max_size\n", "\\-\\-max\\-size, HOB_CACHE_MAX_SIZE)", ".B lods.max\n", "(whole number from 1 to 7, default 7)",
                     "(one of rgba8 bc astc source png; default bc)"):
            self.assertIn(text, page)
        listed = self.run_in(hob, "help", "environment")
        for variable in ("HOB_URL", "HOB_TOKEN", "HOB_CACERT", "HOB_CONFIG", "HOB_LISTEN", "HOB_DERIVED_LIMIT", "HOB_ASSET", "NO_COLOR"):
            self.assertIn(f"  {variable} ", listed)
            self.assertIn(variable, manual)
        library = (BUILD / "libhob_client.a").read_bytes()
        sanitize = ["-fsanitize=address,undefined"] if b"__asan_init" in library else []
        sanitize += ["-fsanitize=thread"] if b"__tsan_init" in library else []
        (self.folder / "client.c").write_text(CLIENT)
        (self.folder / "runtime.c").write_text(RUNTIME)
        (self.folder / "CMakeLists.txt").write_text(LISTS)
        found = str(next(prefix.rglob("pkgconfig")))
        for part in ("client", "runtime"):
            flags = self.run_in("pkg-config", "--cflags", "--libs", f"hob-{part}", PKG_CONFIG_PATH=found).split()
            self.run_in(os.environ.get("CC", "gcc"), f"{part}.c", *sanitize, *flags, "-o", f"own-{part}")
            self.run_in(str(self.folder / f"own-{part}"))
        flags = self.run_in("pkg-config", "--cflags", "hob-client", "hob-runtime", PKG_CONFIG_PATH=found).split()
        for example in ("client/examples/hob_fetch.c", "client/examples/hob_small.c", "client/examples/hob_draw.c", "runtime/examples/draw.c"):
            self.run_in("gcc", "-fsyntax-only", str(prefix / "share/doc/hob/core" / example), *flags)
        self.run_in("cmake", "-B", "b", f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_C_FLAGS=" + " ".join(sanitize))
        self.run_in("cmake", "--build", "b")
        self.run_in(str(self.folder / "b/client"))

    def pages(self, prefix, hob):
        """The pages as HTML and Markdown, every file that they name, and `hob docs`, which shows them."""
        place = prefix / "share/doc/hob"
        for page in (ROOT / "docs").glob("*.md"):
            self.assertEqual((place / "docs" / page.name).read_bytes(), page.read_bytes())
        lost = []
        for page in place.rglob("*.md"):
            text = re.sub(r"```.*?```", "", page.read_text(), flags=re.S)
            if page.parent.name == "docs":
                lost += [f"{page.name}: {name}" for name in re.findall(r"`((?:core|docker|docs|schema|tests|web)/[\w./-]+)`", text) if not (place / name).exists()]
                lost += [f"{page.name}: {name}" for name in re.findall(r"\]\(([^):#\s]+)", text) if not (page.parent / name).exists()]
        self.assertEqual(lost, [])
        for words, name in (((), "index"), (("troubleshooting",), "troubleshooting")):
            shown = json.loads(self.run_in(hob, "docs", "--json", *words, DISPLAY="", WAYLAND_DISPLAY=""))["url"]
            self.assertEqual(pathlib.Path(shown.removeprefix("file://")), (place / f"html/{name}.html").resolve())
            self.assertIn("<h1", pathlib.Path(shown.removeprefix("file://")).read_text())
        wrong = subprocess.run([hob, "docs", "../index"], capture_output=True, text=True, check=False)
        self.assertEqual((wrong.returncode, "there is no page '../index'" in wrong.stderr), (2, True))

    def test_documents_that_the_headers_name_come_with_them(self):
        prefix = self.folder / "dev"
        self.run_in("cmake", "--install", str(BUILD), "--prefix", str(prefix), "--component", "dev")
        headers = list((prefix / "include/hob").glob("hob_*.h"))
        self.assertEqual(len(headers), 2)
        self.assertEqual(sorted(path.name for path in (prefix / "include/hob").iterdir()),
                         ["formats", "hob_client.h", "hob_runtime.h", "pack_layout.h"])
        named = {name for header in headers for name in re.findall(r"[\w./-]+\.(?:md|json)\b", header.read_text())}
        self.assertEqual(named, {"FORMATS.md", "openapi.json"})
        self.assertEqual({name for name in named if not (prefix / "share/doc/hob" / name).exists()}, set())

    def test_uninstalled_without_a_trace_but_for_what_was_edited(self):
        prefix = self.folder / "prefix"
        uninstall = ("cmake", f"-DMANIFEST={self.folder}/manifest", f"-DCONFIGURATION={ROOT}/docker/hob.json",
                     "-P", str(ROOT / "docker/uninstall.cmake"))
        for edited in (True, False):
            self.run_in("cmake", "--install", str(BUILD), "--prefix", str(prefix))
            listed = (BUILD / "install_manifest.txt").read_text()
            configuration = prefix / "etc/hob/hob.json"
            if edited:
                configuration.write_text("{}")
            (self.folder / "manifest").write_text(listed if edited else listed + f"\n{configuration}\n")
            self.run_in(*uninstall)
            left = [path for path in prefix.rglob("*") if path.is_file()]
            self.assertEqual(left, [configuration] if edited else [])
            if edited:
                self.assertEqual(configuration.read_text(), "{}")
                configuration.unlink()
        self.assertEqual([path for path in prefix.rglob("hob*")], [])

    def test_one_version_everywhere(self):
        version = json.loads(self.run_in(HOB, "--version", "--json"))["hob"]
        self.assertEqual(json.loads((ROOT / "web/client/package.json").read_text())["version"], version)
        self.assertIn(f'"version": ({version.replace(".", ", ")})', (ROOT / "web/blender/hob_link.py").read_text())
        self.assertIn(f"## {version} (", (ROOT / "CHANGELOG.md").read_text())
        self.assertIn(f'"version": "{version}"', (ROOT / "schema/openapi.json").read_text())

    def test_wheel_and_add_on(self):
        first, again = self.folder / "first", self.folder / "again"
        for out in (first, again):
            out.mkdir()
            self.run_in(sys.executable, str(ROOT / "docker/wheel.py"), str(ROOT), "1.2.3", str(out))
        wheel, addon = first / "hob_client-1.2.3-py3-none-any.whl", first / "hob-blender-1.2.3.zip"
        for file in (wheel, addon):
            self.assertEqual(file.read_bytes(), (again / file.name).read_bytes(), "the same bytes each time")
        self.assertEqual(zipfile.ZipFile(addon).namelist(), ["hob_link.py"])
        self.run_in(sys.executable, "-c", f"import sys; sys.path.insert(0, {str(wheel)!r}); import hob; hob.Client")
        if subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True, check=False).returncode == 0:
            self.run_in(sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--target", str(self.folder / "site"), str(wheel))
            self.assertTrue((self.folder / "site/hob.py").exists())

    @unittest.skipUnless(shutil.which("dpkg-shlibdeps") and shutil.which("npm") and is_release(), "packages are made of a release build: HOB=build/release/hob")
    def test_packages_are_the_same_bytes_each_time(self):
        sums = []
        for number, mask in enumerate(("022", "077")):
            out = self.folder / f"packages{number}"
            self.run_in("sh", "-c", f'umask {mask} && exec "$0" "$@"', str(ROOT / "docker/package.sh"), str(BUILD), str(out),
                        TZ=("UTC", "Asia/Tokyo")[number], LC_ALL=("C", "C.UTF-8")[number])
            sums.append((out / "SHA256SUMS").read_text())
        self.assertEqual(sums[0], sums[1])
        git = ["hob-git", "hob-lfs"] if (BUILD / "hob-git").exists() else []  # built only where libgit2 is installed
        self.assertEqual(len([line for line in sums[0].splitlines() if line.endswith(".deb")]), 4 + bool(git))
        for program in ("hob", "hob-worker", "hob-exporter", "hob-thumbnail", *git):
            self.run_in("strip", "-o", str(self.folder / program), str(BUILD / program))
            self.assertNotIn(str(ROOT).encode(), (self.folder / program).read_bytes(), program)

    def complete(self, *words, **environment):
        script = ("source <(\"$HOB\" completion bash); hob() { \"$HOB\" \"$@\"; }; COMP_WORDS=(hob \"$@\"); COMP_CWORD=$#; _hob; "
                  "printf '%s\\n' \"${COMPREPLY[@]}\"")
        return self.run_in("bash", "-c", script, "x", *words, HOB=HOB, **environment).split("\n")[:-1]

    def test_completion_offers_what_there_is(self):
        self.put("one.obj", obj_text(2))
        for words, found in ((["se"], ["serve", "set"]), (["help", "ver"], ["verify"]), (["serve", "--lis"], ["--listen"]),
                             (["serve", "--sandbox", "re"], ["require"]), (["serve", "--log", "=", "te"], ["text"]),
                             (["ls", "--state", "fresh,bro"], ["fresh,broken"]), (["token", "cr"], ["create"]),
                             (["completion", ""], ["bash", "zsh", "fish"]), (["serve", "a"], ["art"]),
                             (["cook", "art/o"], ["art/one.obj"]), (["status", ""], [""]), (["nonsense", "x"], [""]),
                             (["why", "art/"], [""])):
            self.assertEqual(self.complete(*words, HOB_URL="127.0.0.1:1"), found, words)
        for shell, check in (("fish", "hob completion fish | source; complete -C 'hob se'"), ("zsh", "source <(hob completion zsh)")):
            if shutil.which(shell):
                options = ["-f"] if shell == "zsh" else []
                said = self.run_in(shell, *options, "-c", ("autoload -U compinit; compinit -u -D; " if options else "") + check,
                                   PATH=f"{BUILD}:{os.environ['PATH']}", HOME=str(self.folder))
                self.assertIn("serve" if shell == "fish" else "", said)


if __name__ == "__main__":
    main()
